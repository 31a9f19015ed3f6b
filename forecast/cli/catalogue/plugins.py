"""``forecast plugins``: what is installed, what failed and why, and how to write and check one."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from forecast.cli import render
from forecast.cli.catalogue.listing import json_option, listing_warnings, plural
from forecast.contract.registry import Plugin, get_registry
from forecast.errors import PluginError

#: Names the process in which a plugin is checked.
CHILD = "FORECAST_CHECKED"


@click.group("plugins", invoke_without_command=True)
@click.pass_context
def plugins(ctx: click.Context) -> None:
    """List, show, check or start plugins."""
    if ctx.invoked_subcommand is None:
        render.write(ctx.get_help())


def _plugin_row(plugin: Plugin) -> dict[str, Any]:
    brings: dict[str, int] = {}
    for spec in plugin.specs:
        brings[spec.kind] = brings.get(spec.kind, 0) + 1
    return {
        "name": plugin.name,
        "title": plugin.title,
        "status": plugin.status,
        "reason": plugin.reason,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "module": plugin.value,
        "local": plugin.local,
        "brings": brings,
    }


@plugins.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List every installed plugin with its status; failed ones too."""
    registry = get_registry()
    result = [_plugin_row(p) for p in registry.plugins]

    def text() -> None:
        if not result:
            render.write("no plugins")
            return
        rows = []
        for row in result:
            brings = ", ".join(f"{n} {kind if n == 1 else plural(kind)}" for kind, n in row["brings"].items())
            from_ = f"{row['distribution']} {row['module'] if row['local'] else row['version']}".strip()
            rows.append([row["name"], row["status"], from_, row["reason"] or brings, row["title"]])
        render.write_table(["name", "status", "distribution", "brings", "title"], rows)

    render.emit(
        result,
        json=as_json,
        text=text,
        warnings=listing_warnings(registry) if as_json else (),  # the table says it already
        provenance=render.provenance(p for p in registry.plugins if p.status == "loaded"),
    )


@plugins.command("show")
@click.argument("name")
@json_option
def show_plugin(name: str, as_json: bool) -> None:
    """Show one plugin: what it brings, or the traceback of its failure."""
    named = get_registry().plugin(name)
    shown = [_plugin_details(p) for p in named]
    # Two distributions may offer one name: both are shown, and the shape of the answer stays the same.
    result = shown[0] if len(shown) == 1 else {"name": name, "offers": shown}

    def text() -> None:
        for index, one in enumerate(shown):
            if index:
                render.write()
            render.write_details({k: v for k, v in one.items() if k != "traceback"})
            if one["traceback"]:
                render.write()
                render.verbatim(one["traceback"])

    render.emit(
        result, json=as_json, text=text, provenance=render.provenance(named)
    )  # fmt: skip


def _plugin_details(plugin: Plugin) -> dict[str, Any]:
    row = _plugin_row(plugin)
    row["brings"] = [
        {"kind": spec.kind, "name": f"{plugin.name}/{spec.name}", "title": spec.title, "reference": spec.reference}
        for spec in plugin.specs
    ]
    return {**row, "traceback": plugin.traceback}


@plugins.command("check")
@click.argument("name")
@json_option
@click.pass_context
def check_plugin(ctx: click.Context, name: str, as_json: bool) -> None:
    """Run the conformance kit on one plugin; exit 1 if a check fails.

    The plugin runs in a child process, so that one which ends its process is named all the same.
    """
    from forecast.conformance.kit import environment, run_checks

    if CHILD not in os.environ:
        words = [sys.executable, "-P", "-m", "forecast", *ctx.find_root().obj["line"]]
        env = environment(**{CHILD: "1"}, COLUMNS=str(shutil.get_terminal_size().columns))
        done = subprocess.run(words, env=env, stdout=subprocess.PIPE, check=False)  # noqa: S603 - our own words
        if done.stdout:
            render.write(done.stdout.decode("utf-8", "backslashreplace").removesuffix("\n"))
        elif done.returncode not in (1, 2):  # these have said why
            raise PluginError(f"plugin '{name}': it ends Python while it is checked: exit status {done.returncode}")
        ctx.exit(done.returncode)
    registry = get_registry()
    registry.plugin(name)  # an unknown name is a usage error, not a failed check
    with render.progress_bar(f"checking {name}") as report:
        outcomes = run_checks(name, report=report)
    count = {s: sum(o.status == s for o in outcomes) for s in ("passed", "failed", "skipped")}
    result = [{"name": o.label, "status": o.status, "message": o.message} for o in outcomes]

    def text() -> None:
        verdict = "meets" if not count["failed"] else "breaks"
        parts: Iterable[str] = (f"{n} {s}" for s, n in count.items() if n)
        render.write_headline(f"Plugin {name} {verdict} its contract: {', '.join(parts)}.")
        render.write_table(["check", "status", "message"], [[o.label, o.status, o.message] for o in outcomes])

    render.emit(result, json=as_json, text=text, provenance=render.provenance(registry.plugin(name)))
    if count["failed"]:
        ctx.exit(1)


@plugins.command("new")
@click.argument("name")
@json_option
def new(name: str, as_json: bool) -> None:
    """Start a plugin: write the folder forecast-NAME with a law, a table, a model, a scenario and its tests."""
    from forecast.conformance.scaffold import create

    folder, files = create(name)
    result = {"name": name, "folder": folder.name, "files": files}

    def text() -> None:
        render.write_headline(f"Wrote {folder.name}: a plugin with a law, a table, a model, a scenario and its tests.")
        for file in files:
            render.write(f"  {folder.name}/{file}")
        render.write()
        render.write("Next, install it beside lawcast and check it:")
        render.write(f"  {_find_pip()} install --editable {shlex.quote(f'./{folder.name}[test]')}")
        render.write(f"  forecast plugins check {name}")

    render.emit(result, json=as_json, text=text)


def _find_pip() -> str:
    """Return how to call the pip that installs into this environment: its own, or that of the Python that made it."""
    if importlib.util.find_spec("pip"):
        return f"{_python_command(Path(sys.executable))} -m pip"
    # venv keeps it here, because an environment's own interpreter may be a link to it
    base = Path(getattr(sys, "_base_executable", sys.executable))
    return f"{shlex.quote(str(base))} -m pip --python {shlex.quote(str(_relative_path(Path(sys.prefix))))}"


def _python_command(path: Path) -> str:
    """Return what to type for this interpreter: ``python`` where that is what an activated shell finds."""
    found = shutil.which("python")
    if found and sys.prefix != sys.base_prefix and Path(found).parent.resolve() == path.parent.resolve():
        return "python"
    return shlex.quote(str(_relative_path(path)))


def _relative_path(path: Path) -> Path:
    """Return a path as it is written from here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
