"""The command line: a group that imports a command only when it is called.

Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted, 141 the reader closed the pipe, 143 terminated.
Every error is one line on stderr; ``--debug`` anywhere on the line adds the traceback. The limits of a command,
``--max-seconds`` and ``--max-memory``, and ``--plugin`` may stand anywhere on it too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

import forecast
from forecast.base import budgets
from forecast.cli import render
from forecast.errors import ForecastError, PluginContractError, UnknownNameError, UsageError, join_lines, printable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["Terminated", "cli", "main"]

#: Our own commands: name to target, in `forecast.cli`, and the line that ``--help`` shows without importing it.
COMMANDS = {
    "run": ("ask.run:run", "Run a scenario: when does it happen, and how likely is never?"),
    "ask": ("ask.ask:ask", "Ask about anything by name: when is a level reached, or what is it by then?"),
    "show": ("show:show", "Open a saved projection, fit or comparison again: print, draw or export it."),
    "sweep": ("ask.run:sweep", "Run a scenario at several values of one or more settings."),
    "explore": ("explore.command:explore", "Change a scenario in the browser, and see its answer follow."),
    "mcp": ("agents.command:mcp", "Serve tools to an agent, by the Model Context Protocol."),
    "extrapolate": (
        "ask.extrapolate:extrapolate",
        "Extrapolate a curve or a series, and say how such forecasts have done.",
    ),
    "backtest": ("ask.backtest:backtest", "Test forecasts on the past: what would they have said?"),
    "record": ("ask.ledger:record", "Add a dated forecast to a tamper-evident ledger."),
    "resolve": ("ask.ledger:resolve", "Score the forecasts in a ledger, and list those that are due."),
    "scorecard": (
        "ask.ledger:scorecard",
        "Show what was said of public statements: what is due, what is open, and the scores so far.",
    ),
    "fit": ("fit.fit:fit", "Fit a law to data: parameters, intervals, and a verdict on both."),
    "compare": (
        "fit.compare:compare",
        "Compare laws on the same data, by information criteria and by extrapolation error.",
    ),
    "predict": ("fit.predict:predict", "Predict from a fit, with the bands of the law and of one observation."),
    "plan": ("ask.plan:plan", "Plan a training run: from money, time or a goal to a model, cards and days."),
    "allocate": ("fit.allocate:allocate", "Split a compute budget between parameters and data."),
    "claims": ("ask.claims:claims", "Recompute published figures, and say whether they hold."),
    "published": (
        "ask.published:published",
        "Compare published forecasts, rebuilt as scenarios, on the questions they share.",
    ),
    "quantities": (
        "catalogue.quantities:quantities",
        "List quantities of the world or show one: its definition, bounds, forecast and rivals.",
    ),
    "find": ("catalogue.find:find", "Search laws, models, tables and scenarios."),
    "laws": ("catalogue.laws:laws", "List laws or show one: its formula, units and published parameters."),
    "models": ("catalogue.models:models", "List models or show one: its unit, inputs and sources."),
    "tables": ("catalogue.tables:tables", "List tables or show one: its columns, units, licence and sources."),
    "scenarios": ("catalogue.scenarios:scenarios", "List scenarios or show one: its choices and questions."),
    "plugins": ("catalogue.plugins:plugins", "List, show, check or start plugins."),
}

#: Options with a value that hold for every command, and may stand anywhere on the line.
LIMIT_OPTIONS = ("--max-seconds", "--max-memory")
PLUGIN_OPTION = "--plugin"
#: The variable by which a shell asks what to offer after TAB, and for the script that asks so.
COMPLETION_VARIABLE = "_FORECAST_COMPLETE"


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP. A KeyboardInterrupt, so that nobody takes it for a failure."""


class LazyGroup(click.Group):
    """A click group whose commands are imported when called; plugins add theirs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *_plugin_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name][0].partition(":")
            command = getattr(import_module(f"forecast.cli.{module}"), attribute)
            assert isinstance(command, click.Command)
            return command
        return None if cmd_name.startswith("-") else _plugin_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, rows in (
            ("Commands", [(name, line) for name, (_, line) in COMMANDS.items()]),
            ("Commands of plugins", list(_plugin_commands().items())),
        ):
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands without importing them, and click's own options."""
        from click.shell_completion import CompletionItem

        offered = {name: line for name, (_, line) in COMMANDS.items()} | _plugin_commands()
        found = [CompletionItem(name, help=line) for name, line in offered.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


def _plugin_commands() -> dict[str, str]:
    """Return the plugins' commands and their titles, under the shortest name that reaches each."""
    from forecast.contract.registry import get_registry

    try:
        registry = get_registry()
        names = registry.names("command")
    except ForecastError as problem:  # help must come whatever the plugins do
        render.warn(problem)
        return {}
    commands = {}
    for full in names:
        bare = full.partition("/")[2]
        unique = sum(n.partition("/")[2] == bare for n in names) == 1
        name = bare if unique and bare not in COMMANDS else full
        record = registry.find("command", full)
        commands[name] = printable(record.spec.title or record.spec.reference, 100)
    return commands


def _plugin_command(ctx: click.Context, name: str) -> click.Command:
    from forecast.contract.registry import get_registry, import_target

    registry = get_registry()
    try:
        record = registry.find("command", name)
    except UnknownNameError as problem:
        # our own commands are candidates too
        raise UnknownNameError("command", name, [*COMMANDS, *_plugin_commands()]) from problem
    what = f"command {record.full_name} of {record.plugin.distribution}"
    command = import_target(record.spec.target, what=what)
    if not isinstance(command, click.Command):
        raise PluginContractError(f"{what}: expected a click command, got {type(command).__name__}")
    ctx.ensure_object(dict)["foreign"] = what
    return command


def _version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        render.write(f"forecast {forecast.__version__} (lawcast)")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    epilog="Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted, 141 closed pipe, 143 terminated.",
)
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
@click.option("--max-seconds", metavar="SECONDS", expose_value=False, help="Stop with an error after this long.")
@click.option("--max-memory", metavar="SIZE", expose_value=False, help="Refuse to use more memory than this: 8GiB.")
@click.option(
    "--plugin", metavar="FILE", multiple=True, expose_value=False, help="Also load your own plugin: ./mine.py."
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Scaling laws and forecasts from plugins, each with an interval, a source and a record of past accuracy."""
    if ctx.invoked_subcommand is None:
        render.write(ctx.get_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing is raised.

    Parameters
    ----------
    argv : sequence of str, optional
        Default: the arguments of this process.

    Examples
    --------
    >>> main(["laws", "show", "no-such-law"])
    2
    """
    words = line = list(sys.argv[1:] if argv is None else argv)
    own = words[: words.index("--")] if "--" in words else words
    debug = "--debug" in own
    own, stated = _split_global_options([w for w in own if w != "--debug"])
    limits = {name: value for name, value in stated if name in LIMIT_OPTIONS}
    files = [value for name, value in stated if name == PLUGIN_OPTION]
    words = own + words[words.index("--") :] if "--" in words else own
    _tolerant_streams()
    context: dict[str, Any] = {"argv": words, "debug": debug, "line": line}
    render.written.clear()
    with _install_signal_handlers(), _one_line_warnings():
        try:
            with (
                _local_plugins(files),
                budgets.of_command_line(limits.get("--max-memory"), limits.get("--max-seconds")),
            ):
                code = _run_command(words, context)
            if sys.stdout is not None:
                sys.stdout.flush()
        except BaseException as problem:
            code = _print_failure(problem, context)
    return code


def _split_global_options(words: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Take the options of every command out of its words; one without its value is left for click to refuse."""
    rest, stated = [], []
    left = iter(words)
    for word in left:
        name, sign, value = word.partition("=")
        if name not in (*LIMIT_OPTIONS, PLUGIN_OPTION):
            rest.append(word)
            continue
        given = value if sign else next(left, None)
        if given is None:
            return [word], []
        if name == PLUGIN_OPTION and "list" in rest and not {"/", "."} & set(given):
            rest += [name, given]  # the name of an installed plugin, whose records are listed
        else:
            stated.append((name, given))
    return rest, stated


@contextlib.contextmanager
def _local_plugins(files: Sequence[str]) -> Iterator[None]:
    """Have the local plugins in these files beside the others, in this process and those that it starts."""
    if not files:
        yield
        return
    from forecast.contract.local_plugins import is_path
    from forecast.contract.registry import get_registry

    if clash := next((file for file in files if "," in file), None):
        raise UsageError(f"{PLUGIN_OPTION}: '{printable(clash)}': a path with a comma cannot be told from two")
    before = os.environ.get("FORECAST_PLUGINS")
    paths = [file if is_path(file) else f"./{file}" for file in files]
    os.environ["FORECAST_PLUGINS"] = ",".join([*filter(None, [before]), *paths])
    get_registry.cache_clear()
    try:
        yield
    finally:
        if before is None:
            del os.environ["FORECAST_PLUGINS"]
        else:
            os.environ["FORECAST_PLUGINS"] = before
        get_registry.cache_clear()


def _run_command(words: list[str], context: dict[str, Any]) -> int:
    if instruction := os.environ.get(COMPLETION_VARIABLE):  # a shell asks
        from click.shell_completion import shell_complete

        return shell_complete(cli, {"obj": context}, "forecast", COMPLETION_VARIABLE, instruction)
    try:
        with cli.make_context("forecast", words, obj=context) as ctx:
            cli.invoke(ctx)
    except click.exceptions.Exit as done:
        return done.exit_code
    return 0


def _print_failure(problem: BaseException, context: dict[str, Any]) -> int:
    """Write one line about what ended the command, and return the exit code."""
    if isinstance(problem, BrokenPipeError):
        _drop_stdout()
        return 141
    if isinstance(problem, Terminated):
        render.error(f"terminated; {_resume_hint(problem)}")
        return 143
    if isinstance(problem, (KeyboardInterrupt, click.Abort)):
        render.error(f"interrupted; {_resume_hint(problem)}")
        return 130
    if isinstance(problem, SystemExit) and "foreign" in context and isinstance(problem.code, (int, type(None))):
        return problem.code or 0  # a command of a plugin says how it ended
    if context["debug"]:
        render.traceback_of(problem)
    if isinstance(problem, click.UsageError):
        path = problem.ctx.command_path if problem.ctx else "forecast"
        render.error(f"{join_lines(problem.format_message()).rstrip('.')}; see '{path} --help'")
        return problem.exit_code
    if isinstance(problem, click.ClickException):
        render.error(join_lines(problem.format_message()))
        return problem.exit_code
    if isinstance(problem, ForecastError):
        render.error(join_lines(problem))
        return problem.exit_code
    what = join_lines(f"{type(problem).__name__}: {problem}")
    if isinstance(problem, OSError) and sys.stdout is not None and _stdout_is_full():
        render.error(f"cannot write to standard output: {join_lines(problem.strerror)}")
    elif isinstance(problem, SystemExit):
        render.error(join_lines(problem.code))
    elif "foreign" in context:
        render.error(f"{context['foreign']}: {what} (its traceback: --debug)")
    else:
        render.error(f"unexpected {what}; please report this (its traceback: --debug)")
    return 1


def _resume_hint(problem: BaseException) -> str:
    """Say what an interrupt has not cost: what can be gone on with, and files that are whole."""
    parts = [printable(note, 120) for note in getattr(problem, "__notes__", ())]
    names = ", ".join(printable(name, 80) for name in render.written)
    files = f"{names} {'was' if len(render.written) == 1 else 'were'} written" if names else ""
    kept = f"kept: {', '.join(parts)}; --resume goes on" if parts else ""
    return "; ".join(filter(None, [files, kept])) or "nothing was written"


def _stdout_is_full() -> bool:
    """Tell whether what is left in stdout's buffer cannot be written; if so drop it, or Python complains at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _drop_stdout()
        return True
    return False


def _drop_stdout() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _tolerant_streams() -> None:
    """Show what a locale cannot encode as an escape, instead of failing halfway through an answer."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            with contextlib.suppress(OSError, ValueError):
                stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def _one_line_warnings() -> Iterator[None]:
    before = warnings.showwarning
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: object, **more: object) -> None:
        line = join_lines(message)
        if line not in shown:  # a table that two quantities read is read twice
            shown.add(line)
            render.warn(line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


@contextlib.contextmanager
def _install_signal_handlers() -> Iterator[None]:
    """Turn signals that end us into exceptions, as SIGINT is one, so that ``finally`` removes what is half written."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before: dict[int, Any] = {}
    with contextlib.suppress(ValueError):  # not the main thread: the program that calls us owns the signals
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
