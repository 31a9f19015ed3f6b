"""Connections to public machines alone: every address is checked, and the connection goes to the checked one.

A URL stands in a file that a stranger may have written. Without a check it would reach what only this machine can: a
service on the loopback, a router, the metadata of a cloud's machine. So each connection, the first and one after every
redirect, resolves the name once, refuses addresses that are not public, and connects to exactly an address that was
checked: a name that resolves to another address a moment later gains nothing. A host that the user named
(`forecast.base.access`) may have any address.

A proxy that the user has configured (``HTTPS_PROXY``, ...) is the user's own and may stand anywhere. It resolves names
itself, so that through it only what is known here is checked: addresses in the URL, and names that resolve here.

`requests` is imported with this module, which is imported when something is downloaded.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.utils import select_proxy
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NameResolutionError, NewConnectionError

from forecast.base import access
from forecast.errors import printable
from forecast.tables.remote.download import RefusedError, checked_host

#: Where an IPv6 address stands for an IPv4 address: the prefix, and how many bits stand after that.
_EMBEDDED_IPV4 = (("::ffff:0:0/96", 0), ("64:ff9b::/96", 0), ("2002::/16", 80))


def public(address: str) -> bool:
    """Tell whether an address is one of the public internet.

    Examples
    --------
    >>> [public(a) for a in ("93.184.215.14", "2606:4700::1111", "64:ff9b::93.184.215.14")]
    [True, True, True]
    >>> [public(a) for a in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1")]
    [False, False, False, False, False, False]
    >>> [public(a) for a in ("::1", "fe80::1%2", "fc00::1", "::ffff:127.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1")]
    [False, False, False, False, False, False]
    """
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        for prefix, shift in _EMBEDDED_IPV4:
            if ip in ipaddress.ip_network(prefix):
                return public(str(ipaddress.IPv4Address(int(ip) >> shift & 0xFFFFFFFF)))
        if ip.is_site_local:
            return False
    # the older ::a.b.c.d, and whatever else is reserved, is nobody's public address either
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)


def _allowed_addresses(host: str, port: int | None) -> list[str]:
    """Return the addresses of a host, all of them allowed.

    The resolver of the system reads every spelling there is (``0``, ``0x7f.1``, ``2130706433``): what it finds counts.
    """
    name = host.removeprefix("[").removesuffix("]").rstrip(".").lower()
    try:
        known = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise RefusedError(f"'{printable(host, 80)}' is no name of a machine") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in known))
    named = access.current().hosts
    for address in addresses:
        if not public(address) and name not in named and address not in named:
            at = "" if address == name else f" ({address})"
            raise RefusedError(
                f"'{printable(name, 80)}'{at} is a private, local or reserved address; "
                f"the user may allow it: --allow-host {printable(name, 80)}"
            )
    return addresses


class _CheckedConnection(HTTPConnection):
    """A connection that asks an address that was checked, whatever its name resolves to a moment later."""

    def _new_conn(self) -> socket.socket:
        host = self.host
        try:
            addresses = _allowed_addresses(host, self.port)
        except socket.gaierror as error:
            raise NameResolutionError(host, self, error) from error
        failed: NewConnectionError | None = None
        try:
            for address in addresses:
                self.host = address  # the name comes back before anything is sent: certificates are for names
                try:
                    return super()._new_conn()
                except NewConnectionError as error:
                    failed = error
        finally:
            self.host = host
        raise failed or NewConnectionError(self, "the name has no address")


class _CheckedTLS(_CheckedConnection, HTTPSConnection):
    """The same, encrypted."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _CheckedConnection


class _PoolTLS(HTTPSConnectionPool):
    ConnectionCls = _CheckedTLS


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _PoolTLS}

    def send(self, request: Any, *args: Any, **options: Any) -> Any:
        """Send a request; each of a row of redirects comes through here."""
        host = checked_host(str(request.url))
        # a proxy finds the address itself: what is known here of the name is all that can be checked
        if select_proxy(str(request.url), options.get("proxies")):
            with contextlib.suppress(socket.gaierror):
                _allowed_addresses(host, None)
        return super().send(request, *args, **options)


class _Session(requests.Session):
    """A session that follows redirects to public web addresses, and hands nobody a password."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        target = super().get_redirect_target(resp)
        if target is not None:
            try:
                whole = urljoin(str(resp.url), target)
            except ValueError:
                whole = target
            checked_host(whole)
            if urlsplit(str(resp.url)).scheme == "https" and urlsplit(whole).scheme != "https":
                raise RefusedError(f"the server redirects from https to '{printable(whole, 120)}'")
        return target

    def rebuild_auth(self, prepared_request: Any, response: Any) -> None:
        """Take along no password, and look for none in ``.netrc``."""
        prepared_request.headers.pop("Authorization", None)


@contextlib.contextmanager
def session() -> Iterator[requests.Session]:
    """Give a session whose every connection is checked.

    Raises
    ------
    RefusedError
        From a request to an address that is not allowed.
    """
    with _Session() as made:
        made.auth = lambda request: request  # none: requests would look for a password in the user's .netrc
        made.mount("http://", _Adapter())
        made.mount("https://", _Adapter())
        yield made
