"""What a file from a stranger may reach: its own folder, and what the user has allowed.

A scenario, a table's description and everything they name are text that somebody wrote, perhaps a stranger. A path in
such a file lies in the folder of the file, symbolic links followed; the network is used by ``forecast tables fetch``
alone. `allow` (on the command line ``--allow-path``, ``--allow-download``, ``--allow-host``) says what may be reached
besides. What the user names is the user's own: a file on the command line, a path in Python, a scenario as a mapping.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

from forecast.errors import ScenarioError, UsageError, printable


@dataclass(frozen=True, kw_only=True)
class Access:
    """What the user has allowed.

    Parameters
    ----------
    paths : tuple of Path
        Folders, absolute, in which files may name files.
    downloads : bool
        Whether a table that is not here yet may be downloaded when it is read.
    hosts : tuple of str
        Names or addresses of machines that are allowed although they are not public.
    root : Path, optional
        The folder in which files must lie that are named in a call, beside `paths`; by default they may lie anywhere.
    """

    paths: tuple[Path, ...] = ()
    downloads: bool = False
    hosts: tuple[str, ...] = ()
    root: Path | None = None


_NO_ACCESS = Access()
_allowed: ContextVar[Access] = ContextVar("forecast_access")


def current() -> Access:
    """Return what is allowed here and now."""
    return _allowed.get(_NO_ACCESS)


def use(access: Access) -> None:
    """Take over what another thread was allowed; a new thread starts with nothing."""
    _allowed.set(access)


@contextlib.contextmanager
def allow(
    *, paths: Iterable[str | os.PathLike[str]] = (), downloads: bool = False, hosts: Iterable[str] = ()
) -> Iterator[None]:
    r"""Let the files that are read in this block reach more than their own folders; what was allowed before stays.

    Parameters
    ----------
    paths : sequence of path
        Folders in which the files that scenarios and table descriptions name may lie.
    downloads : bool
        Download a described table that is not here yet when it is read. Without it the error names the command that
        fetches it.
    hosts : sequence of str
        Machines that are allowed although they are private, loopback or link-local: names or addresses, as they stand
        in the URL.

    Raises
    ------
    UsageError
        If a path is no folder, or a host is not a bare name or address.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import forecast
    >>> mine, shared = pathlib.Path(tempfile.mkdtemp()), pathlib.Path(tempfile.mkdtemp())
    >>> _ = (shared / "price.csv").write_text("date,price\n2020-01-01,1\n2021-01-01,2\n2022-01-01,3\n")
    >>> _ = (mine / "price.toml").write_text(f'''
    ... until = 2025
    ... [quantities.price]
    ... shape = "trends/exponential"
    ... data = "{(shared / "price.csv").as_posix()}"
    ... x = "date"
    ... y = "price"
    ... unit = "USD"
    ... ''')
    >>> with forecast.allow(paths=[shared]):
    ...     run = forecast.project(mine / "price.toml", draws=10)
    >>> run["projection"]["price"].sizes["draw"]
    10
    """
    before = current()
    token = _allowed.set(
        replace(
            before,
            paths=(*before.paths, *_check_folders(paths)),
            downloads=before.downloads or bool(downloads),
            hosts=(*before.hosts, *_check_hosts(hosts)),
        )
    )
    try:
        yield
    finally:
        _allowed.reset(token)


def may_name(text: str) -> bool:
    """Return True if a call may name this path; whether anything is there is not looked at."""
    root = current().root
    return root is None or inside(root, text) is not None


def check_named(text: str) -> str:
    """Return a path that a call names, if it may.

    Raises
    ------
    UsageError
        If it leaves the root of what is allowed: of a program that asks in the place of the user, what it names is no
        more the user's own than a stranger's file.

    Examples
    --------
    >>> check_named("/etc/passwd")
    '/etc/passwd'
    >>> before = current()
    >>> use(replace(before, root=Path("mine")))
    >>> check_named("/etc/passwd")
    Traceback (most recent call last):
    forecast.errors.UsageError: '/etc/passwd' leaves the folder ...
    >>> use(before)
    """
    if not may_name(text):
        raise UsageError(
            f"'{printable(text)}' leaves the folder that the program was started in; expected a relative path below it "
            "(the user may allow another folder: --allow-path DIR)"
        )
    return text


def _check_folders(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Path]:
    if isinstance(paths, (str, os.PathLike)):
        raise UsageError(f"paths: expected a list of folders, got '{printable(paths, 80)}' alone")
    for path in paths:
        try:
            real = Path(path).resolve(strict=True)
            known = real.is_dir()
        except (OSError, RuntimeError, TypeError, ValueError):
            known = False
        if not known:
            raise UsageError(f"allowed path: '{printable(path, 120)}' is not a folder")
        yield Path(os.path.normpath(Path(path).absolute()))  # as the user writes it, and as it really is
        yield real


def _check_hosts(hosts: Iterable[str]) -> Iterator[str]:
    if not hosts:  # nearly always, and every command asks
        return
    import ipaddress

    if isinstance(hosts, str):
        raise UsageError(f"hosts: expected a list of names or addresses, got '{printable(hosts, 80)}' alone")
    for host in hosts:
        plain = str(host).strip().removeprefix("[").removesuffix("]").rstrip(".").lower()
        many = plain.count(":")  # an IPv6 address has two at least, a port one
        if not plain or many == 1 or any(c in "/@*?#\\" or c.isspace() or not c.isprintable() for c in plain):
            raise UsageError(
                f"allowed host: expected a bare name or address, such as 10.0.0.5, got '{printable(host, 80)}'"
            )
        try:
            yield str(ipaddress.ip_address(plain))  # an IPv6 address has several spellings
        except ValueError:
            yield plain


def inside(folder: Path, text: str) -> Path | None:
    """Return the path that a file in `folder` names, or None where it may not reach there.

    Whether something stands at a path that is out of reach makes no difference: it is not looked at.

    Parameters
    ----------
    folder : Path
        The folder of the file in which the path stands.
    text : str
        The path, as it stands there.

    Examples
    --------
    >>> inside(Path("mine"), "runs.csv").as_posix()
    'mine/runs.csv'
    >>> [inside(Path("mine"), text) for text in ("../x.csv", "/etc/passwd", "~/x.csv", "file:///etc/passwd")]
    [None, None, None, None]
    """
    # blanks at the ends are cut by some systems, colons make drives and streams, backslashes are separators on Windows
    strange = any(not c.isprintable() or c in "\\:" for c in text) or text != text.strip() or text.startswith("~")
    if not text or strange or len(text) > 4096:
        return None
    own = Path(os.path.normpath(Path(folder).absolute()))
    bases = (own, *current().paths)
    # '..' is taken away as text, before anything is looked up: what it climbs through is not touched
    plain = Path(os.path.normpath(own / text))
    if not any(plain.is_relative_to(base) for base in bases):
        return None
    try:
        real = plain.resolve()
        reached = any(real.is_relative_to(base.resolve()) for base in bases)
    except (OSError, RuntimeError, ValueError):  # a loop of links
        return None
    return Path(os.path.normpath(Path(folder) / text)) if reached else None


def outside(text: str, what: str) -> str:
    """Return why a path is refused, and how to allow it; `what` is the kind of file in which it stands."""
    return (
        f"'{printable(text)}' leaves the {what}'s folder; expected a relative path in it "
        "(the user may allow another folder: --allow-path DIR)"
    )


def within(folder: Path, text: str, *, where: str) -> Path:
    """Return the path that a scenario in `folder` names.

    Parameters
    ----------
    folder, text
        See `inside`.
    where : str
        The file and the key, for messages.

    Raises
    ------
    ScenarioError
        If the path may not be reached.

    Examples
    --------
    >>> within(Path("mine"), "/etc/passwd", where="a.toml: data")
    ... # doctest: +ELLIPSIS
    Traceback (most recent call last):
    forecast.errors.ScenarioError: a.toml: data: '/etc/passwd' leaves the scenario's folder; ...
    """
    path = inside(folder, text)
    if path is None:
        raise ScenarioError(f"{where}: {outside(text, 'scenario')}")
    return path
