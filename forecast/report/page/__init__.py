"""One page that holds an answer: to read, to steer by conditioning on its worlds, and to send.

The page is one file that opens from a folder: its style and its script stand in it and are named by their hashes in its
Content-Security-Policy, its images are in it, and it asks nothing of anyone. Text from files is escaped by the template
and is only ever the text of a node in the script. Without a script it is a report.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.base.files import safe_output, write_atomic
from forecast.base.json_text import to_json
from forecast.errors import UsageError, printable

if TYPE_CHECKING:
    from jinja2 import Environment

    from forecast.projection.result import Projection
    from forecast.report.page.draw_encoding import EncodedDraws

__all__ = ["Live", "Served", "check_format", "html", "live", "part", "write"]

_HERE = Path(__file__).parent
#: The ideas of the script, in the order in which they stand in it; the last one draws.
_SCRIPT = (
    "elements", "words", "worlds", "address", "sentences", "axes", "answer_figure", "path_figure", "tables", "rankings",
    "races", "moves", "controls", "page",
)  # fmt: skip
_ENDINGS = (".html", ".htm")


def check_format(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose ending names no page.

    Raises
    ------
    UsageError
    """
    if Path(path).suffix.lower() not in _ENDINGS:
        raise UsageError(f"{printable(Path(path).name)}: expected a page that ends in {' or '.join(_ENDINGS)}")


def write(run: Projection, path: str | os.PathLike[str], *, toml: str = "") -> Path:
    """Write the page of a projection's answer.

    Parameters
    ----------
    run : Projection
    path : path-like
        Ends in ``.html``.
    toml : str
        The scenario that repeats the answer, which stands in an appendix.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    UsageError
        For another ending.

    Examples
    --------
    >>> import tempfile, forecast
    >>> run = forecast.project({"start": 2025, "until": 2060, "quantities": {
    ...     "x": {"p05": 1, "p95": 100, "unit": "FLOP"}, "y": {"p05": 9, "p95": 11, "unit": "FLOP"}},
    ...     "questions": {"q": {"when": "x >= y"}}}, draws=1000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(run, Path(folder) / "answer.html").name
    'answer.html'
    """
    check_format(path)
    return write_atomic(safe_output(path), html(run, toml=toml))


@dataclass(frozen=True, kw_only=True)
class Live:
    """What stands in a page that is served, beside what stands in every page.

    Parameters
    ----------
    script, style : str
    data : mapping
        What the script reads, as JSON from the element ``live``.
    """

    script: str
    style: str
    data: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Served:
    """A page, and the Content-Security-Policy that it is served with."""

    html: str
    policy: str


def html(run: Projection, *, toml: str = "") -> str:
    """Return the page of a projection's answer; see `write`."""
    return _made(run, toml, None).html


def live(run: Projection, more: Live, *, toml: str = "") -> Served:
    """Return the page of a projection's answer as a server gives it: it may ask that server, and nobody else."""
    return _made(run, toml, more)


def part(name: str, run: Projection, worlds: EncodedDraws, *, toml: str = "") -> str:
    """Return what stands around an answer on its page, for who draws the answer anew.

    Parameters
    ----------
    name : {"about", "appendices"}
    run : Projection
    worlds : EncodedDraws
    toml : str
        The scenario that repeats the answer.
    """
    from forecast.report.page.appendices import about, appendices

    told = about(run, worlds) if name == "about" else appendices(run, toml)
    return _templates().get_template(f"{name}.html.j2").render(**told)


@functools.cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _made(run: Projection, toml: str, more: Live | None) -> Served:
    from forecast.report.page.draw_encoding import EncodedDraws
    from forecast.report.page.page_data import answer, contents

    worlds = EncodedDraws(run)
    style, script = _text("page.css"), _script()
    scripts, styles = ([script], [style]) if more is None else ([script, more.script], [style, more.style])
    own = "" if more is None else "connect-src 'self'; "
    policy = (
        f"default-src 'none'; script-src {_hashed(scripts)}; style-src {_hashed(styles)}; img-src data:; "
        f"{own}base-uri 'none'; form-action 'none'"
    )
    text = (
        _templates()
        .get_template("page.html.j2")
        .render(
            **contents(run, worlds, toml),
            policy=policy,
            styles=styles,
            scripts=scripts,
            data=_json(answer(run, worlds)),
            live=None if more is None else _json(more.data),
        )
    )
    return Served(html=text, policy=policy)


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _script() -> str:
    """Return the script of a page: what its files define is known to all of them, and to nobody else."""
    parts = "\n".join(_text(f"script/{name}.js") for name in _SCRIPT)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def _json(value: Any) -> str:
    """Return JSON for the inside of a script: as its text nothing may end it."""
    return to_json(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hashed(texts: Sequence[str]) -> str:
    """Return the sources of a policy that lets these texts be; those of the page's own files end no element."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
