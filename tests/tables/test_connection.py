"""Downloads ask public machines alone: addresses are checked after resolving, and after every redirect."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from forecast.base import access
from forecast.errors import DownloadError
from forecast.tables.remote import connection, download, trust_on_first_use
from forecast.tables.remote.connection import public
from forecast.tables.remote.download import RefusedError
from toolkit import digest, fetch

BODY = b"run,loss\na,2.5\n"
DIGEST = digest(BODY)

#: Hosts in every spelling that was tried, all of them this machine or its neighbours.
PRIVATE = (
    "127.0.0.1", "127.1", "0", "0.0.0.0", "2130706433", "0x7f.0.0.1", "0x7f000001", "0177.0.0.1", "127.0.0.1.",
    "localhost", "localhost.", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
    "[2002:7f00:1::]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]",
    "[fe80::1]", "[fc00::1]", "[fec0::1]", "[ff02::1]",
    "[2001:db8::1]", "[2001::1]", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "[fd00:ec2::254]",
    "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "１２７.0.0.1",
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("FORECAST_DATA", str(tmp_path / "cache"))
    with access.allow(downloads=True):
        yield


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The addresses that something connects to; none answers."""
    found: list[Any] = []

    def connect(_: socket.socket, address: Any) -> None:
        found.append(address[0])
        raise ConnectionRefusedError("nobody is there")

    monkeypatch.setattr(socket.socket, "connect", connect)
    return found


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Names with the addresses that they resolve to, one after the other at each question."""
    known: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def resolve(host: str, port: Any, *rest: Any, **more: Any) -> Any:
        if host in known:
            host = known[host].pop(0) if len(known[host]) > 1 else known[host][0]
            return [entry for part in host.split() for entry in real(part, port, *rest, **more)]
        return real(host, port, 0, 0, 0, socket.AI_NUMERICHOST)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return known


def refused(url: str) -> str:
    with pytest.raises(DownloadError) as caught:
        fetch(url, DIGEST, "a.csv")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("host", PRIVATE)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_private_address_is_asked(host: str, scheme: str, connected: list[Any]) -> None:
    said = refused(f"{scheme}://{host}/latest/meta-data")
    assert "is a private, local or reserved address" in said or "cannot fetch" in said
    assert connected == []


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "[::ffff:10.0.0.1]", "[64:ff9b::7f00:1]"])
def test_the_refusal_says_the_address_and_what_allows_it(host: str, connected: list[Any]) -> None:
    assert f"--allow-host {host.strip('[]')};" in refused(f"http://{host}/")


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "1.1.1.1", "2606:4700::1111", "2002:5db8:d70e::", "64:ff9b::5db8:d70e"]
)
def test_public_addresses(address: str, connected: list[Any]) -> None:
    assert public(address)
    shown = f"[{address}]" if ":" in address else address
    assert "no connection (offline?)" in refused(f"http://{shown}/a")
    assert connected == [address]


def test_a_name_that_resolves_to_a_private_address(names: dict[str, list[str]], connected: list[Any]) -> None:
    names["inside.example"] = ["10.1.2.3"]
    assert "'inside.example' (10.1.2.3) is a private, local or reserved address" in refused("https://inside.example/a")
    names["both.example"] = ["93.184.215.14 10.1.2.3"]  # one of two is enough
    assert "'both.example' (10.1.2.3) is a private" in refused("https://both.example/a")
    assert connected == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_address_that_was_checked_is_the_one_that_is_asked(
    scheme: str, names: dict[str, list[str]], connected: list[Any]
) -> None:
    """DNS rebinding: the second answer to the same question is the loopback."""
    names["rebinding.example"] = ["93.184.215.14", "127.0.0.1"]
    refused(f"{scheme}://rebinding.example/a")
    assert connected == ["93.184.215.14"]
    assert names["rebinding.example"] == ["127.0.0.1"]  # it was asked once


def test_all_addresses_of_a_name_are_tried(names: dict[str, list[str]], connected: list[Any]) -> None:
    names["two.example"] = ["93.184.215.14 93.184.215.15"]
    refused("http://two.example/a")
    assert connected == ["93.184.215.14", "93.184.215.15"]


@pytest.mark.parametrize("named", ["lab.example", "10.1.2.3", "LAB.example."])
def test_the_user_may_name_a_private_host(named: str, names: dict[str, list[str]], connected: list[Any]) -> None:
    names["lab.example"] = ["10.1.2.3"]
    with access.allow(hosts=[named]):
        assert "no connection (offline?)" in refused("http://lab.example/a")
    assert connected == ["10.1.2.3"]
    with access.allow(hosts=["other.example", "10.1.2.4"]):
        assert "is a private" in refused("http://lab.example/a")


# --- redirects --------------------------------------------------------------------------------------------------------


@pytest.fixture
def site(upstream: Any) -> Callable[[str], str]:
    """A server that is allowed by its address; return the URL of a page of it that sends people elsewhere."""
    upstream.pages["/a"] = BODY

    def to(target: str) -> str:
        place = target.format(base=upstream.url, port=upstream.url.rpartition(":")[2])
        upstream.pages["/to"] = (302, {"Location": place}, b"")
        return f"{upstream.url}/to"

    return to


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("http://[::1]:{port}/a", "'::1' is a private, local or reserved address"),
        ("http://2130706433:{port}/a", None),
        ("//169.254.169.254/latest/meta-data", "'169.254.169.254' is a private"),
        ("http://10.0.0.1/", "'10.0.0.1' is a private"),
        ("file:///etc/passwd", "'file:///etc/passwd': expected an http or https URL"),
        ("ftp://example.org/a", "expected an http or https URL"),
        ("gopher://127.0.0.1:25/x", "expected an http or https URL"),
        ("http://user:secret@127.0.0.1:{port}/a", "'127.0.0.1': a URL with a user name"),
        ("http://[::1/a", "is not a URL"),
    ],
)
def test_a_redirect_is_checked_as_the_first_address_was(
    site: Any, upstream: Any, target: str, says: str | None
) -> None:
    if says is None:  # another spelling of the address that was named
        assert fetch(site(target), DIGEST, "a.csv").read_bytes() == BODY
        return
    said = refused(site(target))
    assert says in said
    assert "secret" not in said
    assert upstream.asked == ["/to"]


def test_a_redirect_to_a_public_address_is_followed(site: Any, upstream: Any) -> None:
    assert fetch(site("{base}/a"), DIGEST, "a.csv").read_bytes() == BODY
    assert upstream.asked == ["/to", "/a"]


def test_no_redirect_from_https_to_http() -> None:
    answer = connection.requests.Response()
    answer.url, answer.status_code, answer.headers["location"] = "https://example.org/a", 302, "http://example.org/b"
    with connection.session() as made:
        with pytest.raises(RefusedError, match=r"redirects from https to 'http://example\.org/b'"):
            made.get_redirect_target(answer)
        answer.headers["location"] = "/b"
        assert made.get_redirect_target(answer) == "/b"


def test_no_password_of_the_user_goes_along(
    site: Any, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\ndefault login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    fetch(site("{base}/a"), DIGEST, "a.csv")
    assert [headers.get("authorization") for headers in upstream.headers] == [None, None]


def test_what_a_download_unpacks_to_is_bounded(upstream: Any) -> None:
    upstream.pages["/bomb"] = (200, {"Content-Encoding": "gzip"}, gzip.compress(bytes(50_000_000)))
    with pytest.raises(DownloadError, match="larger than the limit"):
        fetch(f"{upstream.url}/bomb", DIGEST, "a.csv", limit=1_000_000)


# --- proxies ----------------------------------------------------------------------------------------------------------


def test_through_a_proxy_private_addresses_are_refused_too(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]], connected: list[Any]
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://10.9.9.9:3128")
    monkeypatch.setenv("http_proxy", "http://10.9.9.9:3128")
    names["inside.example"] = ["192.168.1.1"]
    for host in ("127.0.0.1", "169.254.169.254", "[::1]", "inside.example"):
        assert "is a private, local or reserved address" in refused(f"http://{host}/a")
    assert connected == []
    refused("http://unknown-here.example/a")  # the proxy may know it
    refused("http://93.184.215.14/a")
    assert set(connected) == {"10.9.9.9"}  # the proxy is the user's own, wherever it stands


# --- when the network is used at all ----------------------------------------------------------------------------------


def test_reading_asks_nobody_unless_it_is_allowed(connected: list[Any]) -> None:
    access.use(access.Access())
    said = refused("https://example.org/a.csv")
    assert said.startswith(
        "demo: https://example.org/a.csv is not here yet: run 'forecast tables fetch NAME', allow the download "
        "(--allow-download, forecast.allow(downloads=True) in Python), or put the file by hand at "
    )
    assert download.transfer("http://93.184.215.14/a", download.cache_folder()) == "downloads are not allowed"
    with pytest.raises(DownloadError, match="is not here yet: run 'forecast tables fetch NAME', allow the download"):
        trust_on_first_use.take("https://example.org/a.csv", "a.csv", where="demo")
    assert connected == []
