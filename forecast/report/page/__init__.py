"""One page that holds an answer: to read, to steer by conditioning on its worlds, and to send.

The page is one file that opens from a folder: its style and its script stand in it and are named by their hashes in its
Content-Security-Policy, its images are in it, and it asks nothing of anyone. Text from files is escaped by the template
and is only ever the text of a node in the script. Without a script it is a report.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from forecast.base.files import safe_output, write_atomic
from forecast.base.json_text import to_json
from forecast.errors import UsageError, printable

if TYPE_CHECKING:
    from jinja2 import Environment

    from forecast.projection.result import Projection
    from forecast.report.page.draw_encoding import EncodedDraws
    from forecast.report.page.lever_controls import LeverAnswers

__all__ = [
    "Served",
    "check_format",
    "html",
    "image_address",
    "live",
    "page_part",
    "policy",
    "style",
    "template_environment",
    "write_page",
]

#: A sentence, and a table of texts with its head first.
Lead: TypeAlias = tuple[str, Sequence[Sequence[str]]]

_HERE = Path(__file__).parent
#: The ideas of the script, in the order in which they stand in it: the last one draws. That of the engine is served.
_SCRIPT = (
    "elements", "words", "worlds", "address", "sentences", "axes", "pointer", "answer_figure", "path_figure", "tables",
    "rankings", "races", "moves", "levers", "controls", "engine", "take", "page",
)  # fmt: skip
#: What a page needs no bytes for: comments that have lines of their own, and indentation.
_COMMENTS = re.compile(r"^ *(?:/\*(?s:.*?)\*/\n|//.*\n)?|^\n", re.MULTILINE)
_ENDINGS = (".html", ".htm")


def check_format(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose ending names no page.

    Raises
    ------
    UsageError
    """
    if Path(path).suffix.lower() not in _ENDINGS:
        raise UsageError(f"{printable(Path(path).name)}: expected a page that ends in {' or '.join(_ENDINGS)}")


def write_page(
    run: Projection, path: str | os.PathLike[str], *, toml: str = "", lever_answers: LeverAnswers | None = None,
    lead: Lead | None = None,
) -> Path:  # fmt: skip
    """Write the page of a projection's answer.

    Parameters
    ----------
    run : Projection
    path : path-like
        Ends in ``.html``.
    toml : str
        The scenario that repeats the answer, which stands in an appendix.
    lever_answers : LeverAnswers, optional
        The answers at places of its levers, which the page then lets a reader move: see `lever_answers`.
    lead : Lead, optional
        A sentence and a table of texts, its head first, that stand above the answer.

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
    ...     write_page(run, Path(folder) / "answer.html").name
    'answer.html'
    """
    check_format(path)
    return write_atomic(safe_output(path), html(run, toml=toml, lever_answers=lever_answers, lead=lead))


@dataclass(frozen=True, kw_only=True)
class Served:
    """A page, and the Content-Security-Policy that it is served with."""

    html: str
    policy: str


def html(
    run: Projection, *, toml: str = "", lever_answers: LeverAnswers | None = None,
    lead: Lead | None = None,
) -> str:  # fmt: skip
    """Return the page of a projection's answer; see `write_page`."""
    return _fill_template(run, toml, lever_answers=lever_answers, lead=lead).html


def live(run: Projection, engine: Mapping[str, Any], units_of: Mapping[str, str], *, toml: str = "") -> Served:
    """Return the page of a projection's answer as a server gives it: it may ask that server, and nobody else.

    Parameters
    ----------
    run : Projection
    engine : mapping
        What its script needs to ask: it reads it as JSON from the element ``engine``.
    units_of : mapping of str to str
        What can be set: see `forecast.report.page.page_data.settable`.
    toml : str
        The scenario that repeats the answer.
    """
    return _fill_template(run, toml, engine, units_of)


def page_part(name: str, run: Projection, worlds: EncodedDraws, *, toml: str = "") -> str:
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

    contents = about(run, worlds) if name == "about" else appendices(run, toml)
    return template_environment().get_template(f"{name}.html.j2").render(**contents)


@functools.cache
def template_environment() -> Environment:
    """Return what fills the templates of pages: all text is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _fill_template(
    run: Projection,
    toml: str,
    engine: Mapping[str, Any] | None = None,
    units_of: Mapping[str, str] = MappingProxyType({}),
    lever_answers: LeverAnswers | None = None,
    lead: Lead | None = None,
) -> Served:
    from forecast.report.page.draw_encoding import EncodedDraws
    from forecast.report.page.page_data import answer_data, page_contents, settable

    worlds = EncodedDraws(run)
    data = answer_data(run, worlds, lever_answers)
    script = _page_script(served=engine is not None)
    rules = policy(script, asks=engine is not None)
    text = (
        template_environment()
        .get_template("page.html.j2")
        .render(
            **page_contents(run, worlds, data, toml),
            lead=lead,
            moved_draws=0 if lever_answers is None or not lever_answers.points else lever_answers.draws,
            policy=rules,
            style=style(),
            script=script,
            data=_packed(data),
            engine=None if engine is None else _json({**engine, "settable": settable(run, worlds, units_of)}),
        )
    )
    return Served(html=text, policy=rules)


def _read_asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _page_script(*, served: bool) -> str:
    """Return the script of a page: what its files define is known to all of them, and to nobody else."""
    names = [name for name in _SCRIPT if served or name != "engine"]
    parts = "\n".join(_read_asset(f"script/{name}.js") for name in names)
    parts = _COMMENTS.sub("", parts)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def _packed(value: Any) -> str:
    """Return JSON for a script that unpacks it: worlds in neighbouring steps are alike, and a page is sent about."""
    return base64.b64encode(zlib.compress(to_json(value, compact=True).encode(), 9)).decode("ascii")


def _json(value: Any) -> str:
    """Return JSON for the inside of a script: as its text nothing may end it."""
    return to_json(value, compact=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# --- What a page may do -----------------------------------------------------------------------------------------------
# The Content-Security-Policy of a page: what may run, style and connect is named by its hash, and nothing else may.


def style() -> str:
    """Return the style of every page."""
    return _read_asset("page.css")


def policy(script: str = "", *, asks: bool = False) -> str:
    """Return the Content-Security-Policy of a page.

    Parameters
    ----------
    script : str
        The one that may run; none by default.
    asks : bool
        It may ask the server that it came from.
    """
    runs = f"script-src {_hash_source(script)}; " if script else ""
    connects = "connect-src 'self'; " if asks else ""
    return (
        f"default-src 'none'; {runs}style-src {_hash_source(style())}; img-src data:; {connects}base-uri 'none'; "
        "form-action 'none'"
    )


def _hash_source(text: str) -> str:
    """Return the source of a policy that lets this text be; those of the page's own files end no element."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


# --- The figure where no script draws one -----------------------------------------------------------------------------
# The figure of a page where no script draws one: an image that stands in the page.


#: Colours of a line drawing; with as few it takes a third of the bytes.
_COLOURS = 64
#: Effort of the lossless encoder, 0 to 100; more takes seconds and saves nothing.
_EFFORT_PERCENT = 80


def image_address(draw: Callable[[Path], Path]) -> str:
    """Return a drawing as the address of an image.

    Parameters
    ----------
    draw : callable
        Draws into the path of a PNG file, and returns it.
    """
    from PIL import Image

    result = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, Image.open(draw(Path(folder) / "figure.png")) as image:
        few = image.convert("RGB").quantize(_COLOURS).convert("RGB")
        few.save(result, format="webp", lossless=True, quality=_EFFORT_PERCENT)
    return f"data:image/webp;base64,{base64.b64encode(result.getvalue()).decode('ascii')}"
