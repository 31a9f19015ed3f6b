"""What the pages show of the program is made when they are built, so that it cannot grow stale.

The directive ``forecast`` runs a command line in a folder of the pages' own and shows what it prints; ``file`` shows a
file and writes it there; ``command-reference`` writes the help of every command; ``claims`` judges every claim;
``drawn`` runs a command and shows its figure, ``gallery`` those of every scenario. A page that would fetch anything
from the net is a warning, which the build turns into an error.
"""

from __future__ import annotations

import html
import multiprocessing
import os
import shlex
import shutil
import sys
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from catalogue_page import CatalogueTable
from docutils import nodes
from docutils.parsers.rst import directives
from plain import WIDTH, fetched, picked, wrapped
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext

logger = logging.getLogger(__name__)


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Return the folder in which the pages' commands run; removed when the build ends."""
    return tempfile.TemporaryDirectory()


PRELOADED = ("dask.array", "forecast.cli.ask.run", "forecast.projection.engine", "pint", "scipy.optimize", "xarray")


@cache
def started() -> ForkServerContext:
    """Return what starts processes that have imported what most commands need, and have done nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


@cache
def run(line: str) -> tuple[str, int]:
    """Run ``forecast LINE`` in a process of its own and return what a reader would see, with the exit code."""
    with tempfile.TemporaryDirectory() as aside:
        files = [Path(aside) / name for name in ("stderr", "stdout")]
        process = started().Process(target=_command, args=(shlex.split(line), folder().name, *map(str, files)))
        process.start()
        process.join(120)
        if process.is_alive():
            process.kill()
            raise TimeoutError(f"forecast {line}: has not ended after 120 s")
        code = process.exitcode
        assert code is not None
        return "".join(file.read_text(encoding="utf-8") for file in files), code


def _command(words: list[str], where: str, stderr: str, stdout: str) -> NoReturn:
    from forecast.cli import main

    for number, name in ((1, stdout), (2, stderr)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
    for name in [name for name in os.environ if name.startswith("FORECAST_")]:
        del os.environ[name]
    # PATH as in an activated environment, so that what a command says to type names no folder of this machine
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    os.environ.update(COLUMNS=str(WIDTH), NO_COLOR="1", PATH=path)
    os.chdir(where)
    sys.exit(main(words))


class Forecast(SphinxDirective):
    """Run a command and show it with its output, or some lines of it (``:lines: 1-8, 12``, ``:match: hardware/``).

    ``:with: runs.csv`` puts a file of ``_static`` beside it.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True  # ignored: MyST wants to be able to pass it
    option_spec: ClassVar = {
        "lines": directives.unchanged,
        "match": directives.unchanged,
        "exit": directives.nonnegative_int,
        "with": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        line = self.arguments[0]
        for file in self.options.get("with", "").split():  # of _static, where a reader finds it too
            shutil.copy(Path(self.env.srcdir) / "_static" / file, folder().name)
        output, code = run(line)
        if code != self.options.get("exit", 0):
            raise self.error(f"forecast {line}: exit code {code}: {output[-500:]}")
        shown = output.rstrip().splitlines()
        if "lines" in self.options:
            shown = picked(shown, self.options["lines"])
        if "match" in self.options:
            shown = ["...", *(s for s in shown if self.options["match"] in s), "..."]
        text = "\n".join([f"$ forecast {line}", *map(wrapped, shown)])
        block = nodes.literal_block(text, text, language="console")
        return [block]


class File(SphinxDirective):
    """Show a file and write it where the commands of the page run; with ``:add:`` what is shown is added at its end."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"add": directives.flag}

    def run(self) -> list[nodes.Node]:
        name, text = self.arguments[0], "\n".join(self.content)
        path = Path(folder().name, name)
        path.parent.mkdir(exist_ok=True)
        with path.open("a" if "add" in self.options else "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
        run.cache_clear()  # the same command may now answer something else
        language = {".toml": "toml", ".json": "json"}.get(path.suffix, "text")
        shown = nodes.literal_block(text, text, language=language)
        rest = [nodes.Text(", at its end")] if "add" in self.options else []
        title = nodes.caption("", "", nodes.literal(name, name), *rest)
        return [nodes.container("", title, shown, literal_block=True, classes=["literal-block-wrapper"])]


class CommandReference(SphinxDirective):
    """The help of every command, a section each."""

    def run(self) -> list[nodes.Node]:
        import click

        from forecast.cli import cli

        text: list[str] = []

        def walk(command: click.Command, path: str, parent: click.Context | None) -> None:
            context = click.Context(command, info_name=path.rpartition(" ")[2], parent=parent, terminal_width=WIDTH)
            text.extend([f"## `{path}`", "", "```text", command.get_help(context), "```", ""])
            if isinstance(command, click.Group):
                for name in command.list_commands(context):
                    found = command.get_command(context, name)
                    assert found is not None
                    walk(found, f"{path} {name}", context)

        walk(cli, "forecast", None)
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)


class Claims(SphinxDirective):
    """Every claim with its formula and its verdict, computed now."""

    def run(self) -> list[nodes.Node]:
        from forecast import claim_verdicts as claims
        from forecast.contract.registry import get_registry

        records = sorted(get_registry().records("claim"), key=lambda r: (r.spec.group, r.spec.name))
        text: list[str] = []
        group = None
        for record, found in zip(records, claims.evaluate_all(records), strict=True):
            if found["group"] != group:
                group = found["group"]
                text += [f"## {group.capitalize()}", ""]
            text += _claim(record.spec, found)
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)


def _claim(spec: Any, found: Any) -> list[str]:
    from forecast import claim_verdicts as claims

    computed = "none" if found["computed"] is None else f"{found['computed']:.6g}"
    unit = f" {found['unit']}" if found["unit"] not in ("", "date") else ""
    if found["verdict"] == "compatible":
        low, high = claims.interval(spec)
        unit += f" (90 %: {low:.3g} to {high:.3g})"
    lines = [f"### {found['id']}", "", f"> {found['statement']}", ""]
    lines += ["| stated | computed | verdict |", "|---|---|---|"]
    lines += [f"| {found['stated'] or 'nothing'} | {computed}{unit} | **{found['verdict']}** |", ""]
    if spec.formula:
        values = [f"{name} = {value:g}" for name, value in spec.values.items()]
        values += [f"{name} = {fact}" for name, fact in spec.facts.items()]
        lines += ["```text", spec.formula, *values, "```", ""]
    lines += [found["note"], ""] if found["note"] else []
    return [*lines, f"Source: {found['source']}", ""]


#: Worlds of a figure of the gallery: enough to see what a figure is like, few enough to draw them all.
_WORLDS = 128


class Drawn(SphinxDirective):
    """Run a command with ``--plot`` and show the figure below its line."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        line, file = self.arguments[0], f"{sha256(self.arguments[0].encode()).hexdigest()[:12]}.png"
        output, code = run(f"{line} --plot {file}")
        if code:
            raise self.error(f"forecast {line}: exit code {code}: {output[-500:]}")
        shutil.copy(Path(folder().name) / file, gallery(self.env) / file)
        return self.parse_text_to_nodes("\n".join(picture(self.env, f"{line} --plot figure.pdf", file)))


class Gallery(SphinxDirective):
    """The figure of every shipped scenario, drawn now by the program's own plot; a variant of one looks like it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        import forecast
        from forecast.contract.registry import get_registry
        from forecast.report import figures

        text: list[str] = []
        records = {each.full_name: each for each in get_registry().records("scenario", parts=False)}
        for record in [records[name] for name in sorted(records)]:
            if any(record.full_name.startswith(f"{name}-") for name in records):
                continue
            file = f"{record.full_name.replace('/', '-')}.png"
            figures.plot_projection(forecast.project(record.full_name, draws=_WORLDS), gallery(self.env) / file)
            name = record.full_name.partition("/")[2]
            text += [f"### {name}", "", *picture(self.env, f"run {name} --plot figure.pdf", file)]
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)


def gallery(env: Any) -> Path:
    """Return the folder of the figures that are made with the pages."""
    made = Path(env.app.outdir) / "_gallery"
    made.mkdir(parents=True, exist_ok=True)
    return made


def picture(env: Any, line: str, file: str) -> list[str]:
    """Return a command line and its figure as Markdown."""
    source = f"{'../' * env.docname.count('/')}_gallery/{file}"
    shown = html.escape(f"The figure of: forecast {line}")
    image = f'<img src="{source}" alt="{shown}" loading="lazy" class="gallery">'
    return ["```console", f"$ forecast {line}", "```", "", "```{raw} html", image, "```", ""]


class Soft(SphinxRole):
    """What numpydoc puts between single backticks: a link to an object of ours, else code."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        shown = nodes.literal(self.rawtext, self.text.lstrip("~"), classes=["xref", "py"])
        reference = addnodes.pending_xref(
            self.rawtext,
            shown,
            refdomain="py",
            reftype="obj",
            reftarget=self.text.lstrip("~"),
            soft=True,
            refwarn=False,
        )
        reference["refdoc"] = self.env.docname
        reference["py:module"] = self.env.ref_context.get("py:module")
        reference["py:class"] = self.env.ref_context.get("py:class")
        return [reference], []


def _unresolved(app: Sphinx, env: Any, node: addnodes.pending_xref, shown: nodes.TextElement) -> nodes.Node | None:
    return shown if node.get("soft") else None


def _colon(app: Sphinx, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """Give a property its first sentence back: napoleon takes what stands before a colon for a type."""
    if what == "property" and lines and lines[-1].startswith(":type: "):
        lines[0] = f"{lines.pop().removeprefix(':type: ')}: {lines[0]}"


def _finish(app: Sphinx, problem: Exception | None) -> None:
    folder().cleanup()
    folder.cache_clear()
    if problem is not None:
        return
    for page in sorted([*Path(app.outdir).rglob("*.html"), *Path(app.outdir).rglob("*.css")]):
        for what in fetched(page.read_text(encoding="utf-8", errors="replace")):
            logger.warning("%s would fetch from the net: %s", page.relative_to(app.outdir), what[:120])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything with Sphinx."""
    app.add_directive("forecast", Forecast)
    app.add_directive("file", File)
    app.add_directive("command-reference", CommandReference)
    app.add_directive("claims", Claims)
    app.add_directive("catalogue", CatalogueTable)
    app.add_js_file("catalogue.js")
    app.add_directive("drawn", Drawn)
    app.add_directive("gallery", Gallery)
    app.add_role("soft", Soft())
    app.connect("autodoc-process-docstring", _colon, priority=600)
    app.connect("missing-reference", _unresolved)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
