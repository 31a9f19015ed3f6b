"""What the pages show of the program is made when they are built, so that it cannot grow stale.

The directive ``forecast`` runs a command line in an empty folder and shows what it prints; ``command-reference`` writes
the help of every command; ``scaffold`` shows a file of a new plugin; ``claims`` judges every claim. A page that would
fetch anything from the net is a warning, which the build turns into an error.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from plain import WIDTH, fetched, function, picked, wrapped
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

logger = logging.getLogger(__name__)


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Return the folder in which the pages' commands run; removed when the build ends."""
    return tempfile.TemporaryDirectory()


@cache
def run(line: str) -> tuple[str, int]:
    """Run ``forecast LINE`` and return what a reader would see, with the exit code."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith("FORECAST_")}
    done = subprocess.run(  # noqa: S603  # the pages' own commands
        [sys.executable, "-m", "forecast", *shlex.split(line)],
        cwd=folder().name,
        env={**settings, "COLUMNS": str(WIDTH), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stderr + done.stdout, done.returncode


class Forecast(SphinxDirective):
    """Run a command and show it with its output, or some lines of it (``:lines: 1-8, 12``, ``:match: hardware/``)."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True  # ignored: MyST wants to be able to pass it
    option_spec: ClassVar = {
        "lines": directives.unchanged,
        "match": directives.unchanged,
        "exit": directives.nonnegative_int,
    }

    def run(self) -> list[nodes.Node]:
        line = self.arguments[0]
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


@cache
def demo() -> dict[str, str]:
    """Return the files of a new plugin called demo."""
    from forecast.conformance.scaffold import create

    with tempfile.TemporaryDirectory() as parent:
        made, files = create("demo", parent=Path(parent))
        return {name: (made / name).read_text(encoding="utf-8") for name in files}


class Scaffold(Directive):
    """A file that ``forecast plugins new demo`` writes, or one function of it."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"function": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in demo():
            raise self.error(f"forecast plugins new writes no {name}; it writes {', '.join(demo())}")
        text = demo()[name]
        if "function" in self.options:
            text = function(text, self.options["function"])
        kinds = {".py": "python", ".toml": "toml", ".json": "json", ".md": "markdown"}
        text = text.rstrip("\n")
        block = nodes.literal_block(text, text, language=kinds.get(Path(name).suffix, "text"))
        caption = nodes.caption("", f"forecast-demo/{name}")
        return [nodes.container("", caption, block, literal_block=True, classes=["literal-block-wrapper"])]


class Claims(SphinxDirective):
    """Every claim with its formula and its verdict, computed now."""

    def run(self) -> list[nodes.Node]:
        from forecast import claims
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
    computed = "none" if found["computed"] is None else f"{found['computed']:.6g}"
    unit = f" {found['unit']}" if found["unit"] not in ("", "date") else ""
    lines = [f"### {found['id']}", "", f"> {found['statement']}", ""]
    lines += ["| stated | computed | verdict |", "|---|---|---|"]
    lines += [f"| {found['stated'] or 'nothing'} | {computed}{unit} | **{found['verdict']}** |", ""]
    if spec.formula:
        values = [f"{name} = {value:g}" for name, value in spec.values.items()]
        values += [f"{name} = {fact}" for name, fact in spec.facts.items()]
        lines += ["```text", spec.formula, *values, "```", ""]
    lines += [found["note"], ""] if found["note"] else []
    return [*lines, f"Source: {found['source']}", ""]


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
    app.add_directive("command-reference", CommandReference)
    app.add_directive("scaffold", Scaffold)
    app.add_directive("claims", Claims)
    app.add_role("soft", Soft())
    app.connect("autodoc-process-docstring", _colon, priority=600)
    app.connect("missing-reference", _unresolved)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
