"""``forecast run``: project a scenario and answer its questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from forecast.cli import completion, render
from forecast.cli.ask.result_output import NARROWING, Narrowing, RivalAnswer, show_projection
from forecast.cli.output_files import (
    RESULT_SUFFIXES,
    add_options,
    check_outputs,
    figure_keywords,
    figure_option,
    out_option,
    report_option,
)
from forecast.cli.reading_options import access_options, level_option, parse_date_option
from forecast.errors import ForecastError, UsageError, join_lines, printable

if TYPE_CHECKING:
    from forecast.contract.specs import QuantitySpec, RivalForecast
    from forecast.projection.evaluate import StepCost
    from forecast.projection.result import Projection
    from forecast.scenarios.scenario import Scenario

own_rows_option = click.option(
    "--data", "rows", multiple=True, metavar="[TABLE=]FILE.csv",
    help="Rows of your own beside those of a table that is read, in its columns and units.",
)  # fmt: skip
_SCENARIO = click.argument("scenario", shell_complete=completion.complete_names("scenario", files=True))
#: What every command that draws a scenario takes, in the order in which ``--help`` shows it.
_DRAW_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        shell_complete=completion.complete_settings,
        help="Narrow a choice; set a quantity, an input or a parameter: 3, '1 EFLOP/s', 1e13..1e17, "
        "'{lognormal=[1,4]}'.",
    ),
    click.option("--preset", metavar="NAME", help="Its settings of this name; forecast scenarios show lists them."),
    click.option("--swap", "swaps", multiple=True, metavar="NAME=MODEL", help="Another model for a quantity."),
    click.option(
        "--what-if",
        "changes",
        multiple=True,
        metavar="CHANGE",
        help="Change a quantity from a date on: machine.growth*0.5 since 2028.",
    ),
    click.option(
        "--until",
        metavar="DATE",
        callback=parse_date_option,
        help="Last date: 2040.5, 2040-07. Later dates of values are left out.",
    ),
    click.option("--start", metavar="DATE", callback=parse_date_option, help="First date."),
    click.option("--step", metavar="STEP", help="Grid: year, month, or years such as 1/12."),
    click.option("--draws", type=int, default=2048, show_default=True, metavar="N", help="Joint samples."),
    click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal bytes."),
)
#: What ``run``, ``sweep`` and ``ask`` take.
RUN_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    *_DRAW_OPTIONS,
    click.option(
        "--as-of",
        metavar="DATE",
        callback=lambda ctx, param, given: None if given is None else parse_past_year(given, "--as-of"),
        help="Use only what was known before this date: 2024-01-01; 2024-03 is its first day.",
    ),
    click.option(
        "--keep-draws",
        "keep",
        type=int,
        default=10_000,
        show_default=True,
        metavar="N",
        help="Keep up to so many worlds one by one; more are counted.",
    ),
    click.option(
        "--workers", type=int, default=1, show_default=True, metavar="N", help="Processes; the result is the same."
    ),
    click.option("--cluster", "client", metavar="ADDRESS", help="A dask scheduler whose workers draw."),
    click.option("--resume", is_flag=True, help="Go on where a run with the same --out was ended."),
    click.option(
        "--at",
        multiple=True,
        metavar="DATE",
        callback=lambda ctx, param, given: [part.strip() for text in given for part in text.split(",")],
        help="Ask at these dates instead: 2035, 2030-12-31. Several may stand beside each other.",
    ),
    level_option("Tell the interval of this level too: 80, or 0.8."),
    own_rows_option,
    *NARROWING,
    out_option(RESULT_SUFFIXES, "Save the whole projection, or its answer as data or a table."),
    figure_option,
    report_option,
    click.option(
        "--lever-draws",
        type=click.IntRange(0),
        metavar="N",
        help="Of --report: joint samples at each of five places of every lever, which take most of its time; 0 carries "
        "none.  [default: 1024]",
    ),
    access_options,
    click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
)


def scenario_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command what ``run`` and ``sweep`` take: a scenario and its options."""
    return add_options((_SCENARIO, *RUN_OPTIONS), command)


def draw_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command a scenario, and what says how its worlds are drawn."""
    return add_options((_SCENARIO, *_DRAW_OPTIONS), command)


@click.command()
@scenario_options
@click.option("--steps", is_flag=True, help="Print the steps of the computation and what each takes, and no answer.")
@click.pass_context
def run(ctx: click.Context, /, settings: tuple[str, ...], **options: Any) -> None:
    """Run SCENARIO: a registered name (brain-parity) or a TOML file.

    Prints the answer on one screen: a sentence, a chart of definitions, rivals and other questions, what moves it, how
    old the data are, and how such forecasts have done. Exits with 1 where a model failed in some combination of
    choices; the others are still answered. As of a date what had no data yet is left out and named.

    \b
    forecast run brain-parity
    forecast run brain-parity --split trend
    forecast run brain-parity --show answers
    forecast run brain-parity --as-of 2024-01-01
    forecast run brain-parity --set trend=changepoint --set brain=1.075e21 --until 2100
    forecast run brain-parity --what-if "machine.growth*0.5 since 2028 until 2032"
    forecast run brain-parity --report answer.html
    forecast run mine.toml --draws 20000 --out mine.nc --plot mine.svg --json
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    project_and_write(ctx, settings=parse_key_values(settings, "--set"), sweep={}, **options)


def project_and_write(
    ctx: click.Context,
    *,
    scenario: str | Scenario,
    settings: Mapping[str, Any],
    sweep: Mapping[str, Any],
    out: str | None,
    plots: tuple[str, ...],
    report: str | None,
    as_json: bool,
    steps: bool = False,
    rivals: Sequence[tuple[RivalForecast, Callable[[], Scenario]]] = (),
    of: QuantitySpec | None = None,
    read_as: str = "",
    full: bool = True,
    **options: Any,
) -> None:
    """Project a scenario, and write its answers, tables and files; or print the steps of it.

    All other `RUN_OPTIONS` are among the `options`. With `rivals`, what makes the scenario of each rival forecast: they
    stand beneath the answer, drawn as it is. With `of`, the quantity of the world whose value it is, whose bounds the
    answer is held to. `read_as` says how a question in words was understood. Where it is `full`, data
    has what is behind the answer, too.
    """
    from forecast.api.options import GRID_KEYS, RUN_KEYS
    from forecast.projection.engine import loaded, project
    from forecast.projection.evaluate import measured_steps
    from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache, cache_of_process
    from forecast.scenarios.quantities.changes import parse_change
    from forecast.scenarios.question_text import at_dates

    check_outputs(plots, {"SCENARIO": scenario if isinstance(scenario, str) else None}, out=out, report=report)
    as_of, lever_draws = options["as_of"], options["lever_draws"]
    if options["resume"] and out is None:
        raise UsageError("--resume: needs the --out of the run that was ended")
    figure_keywords(plots)
    if report is None and lever_draws is not None:
        raise UsageError("--lever-draws: is of the page that --report writes")
    stated = [parse_change(text) for text in options["changes"]]
    if at := options["at"]:
        scenario = at_dates(loaded(scenario), at)
    drawn = {key: options[key] for key in (*RUN_KEYS, *GRID_KEYS) if key in options}
    drawn |= {"data": parse_data_option(options["rows"])}
    replaced = merge_settings(settings, parse_key_values(options["swaps"], "--swap"))
    # the screen reads no path of a quantity: what lies between its ends is for files, figures and tables of steps
    on_screen = not (out or plots or report or as_json or options["shown"])
    costs: dict[int, StepCost] = {}
    with render.progress_bar("drawing") as drawing, measured_steps(costs) if steps else nullcontext():
        # a process that asks once keeps no draws for a second time
        is_changed = bool(replaced or stated or options["preset"])
        own = RunCache(SHARED_BYTES) if is_changed else cache_of_process().without_draws()
        cache = None if sweep else own
        projection = project(
            scenario,
            **drawn,
            checkpoint=None if out is None else f"{out}.part",
            resume=options["resume"],
            with_=replaced,
            preset=options["preset"],
            sweep=sweep,
            what_if=stated,
            progress=drawing,
            cache=cache,
            ends=on_screen,
        )
        if steps:
            _print_steps(costs)
            return
        if is_changed and not projection.swept:
            as_it_was = project(scenario, **drawn, progress=drawing, cache=cache, ends=True)
            projection = projection.beside(as_it_was)
        others = [] if replaced or stated else [_rival_answer(each, made, drawn) for each, made in rivals]
    pages = {} if report is None else {report: partial(_write_page, projection, scenario, report, lever_draws)}
    failed = show_projection(
        projection, Narrowing.of(options), level=options["level"], files=(out,), plots=plots, pages=pages,
        as_json=as_json, rivals=others, of=of, read_as=read_as, full=full,
    )  # fmt: skip
    # shapes that 'ask' puts beside that of a series weigh nothing: an answer without one of them is what was asked for,
    # and so is what is left as of a date
    answered = ctx.info_name == "ask" and projection.opening is not None and projection.opening.headline is not None
    if failed and as_of is None and not answered:
        ctx.exit(1)


def _rival_answer(rival: RivalForecast, made: Callable[[], Scenario], drawn: Mapping[str, Any]) -> RivalAnswer:
    """Run the scenario of a rival forecast."""
    from forecast.projection.engine import project

    try:
        return RivalAnswer(rival, project(made(), **drawn, ends=True).opening)
    except ForecastError as problem:
        if drawn["data"] is not None:  # the house's forecast could read these rows: this one has no use for them
            return _rival_answer(rival, made, {**drawn, "data": None})
        return RivalAnswer(rival, None, join_lines(problem))


def _print_steps(costs: Mapping[int, StepCost]) -> None:
    """Print what a block of worlds computes, in the order in which it does, and what that takes."""
    from forecast.base.budgets import format_bytes

    rows = []
    for place, cost in sorted(costs.items()):
        step, reads = cost.step, " ".join(map(str, cost.step.inputs))
        name = f"{step.name} ({', '.join(step.combination)})" if step.combination else step.name
        rows.append((place, name, step.operation, reads, format_bytes(cost.value_bytes), round(1e3 * cost.seconds, 3)))
    render.write_table(("step", "of", "operation", "reads", "holds", "ms"), rows)
    render.write(f"{len(rows):,} steps, {1e3 * sum(cost.seconds for cost in costs.values()):.0f} ms")


def parse_past_year(text: str, option: str) -> float:
    """Read the date of an option as of which something was known: one that has come, or today."""
    from forecast.base.dates import check_has_come, parse_year, today

    return check_has_come(parse_year(today() if text == "today" else text, option), option)


def parse_data_option(given: Sequence[str]) -> str | dict[str, str] | None:
    """Read ``--data``: a file, or several with the table that each belongs to."""
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    return parse_key_values(given, "--data") or None


def _write_page(projection: Projection, scenario: str | Scenario, path: str, draws: int | None) -> None:
    """Write the page of an answer with what it carries of the levers."""
    from forecast.report import page
    from forecast.report.page.lever_controls import lever_answers
    from forecast.scenarios.scenario import Scenario

    chosen = {} if draws is None else {"draws": draws}
    with render.progress_bar("moving levers") as moving:
        moved = lever_answers(projection, scenario, progress=moving, **chosen)
    whole = Scenario.load(scenario) if isinstance(scenario, str) else scenario
    page.write_page(projection, path, toml=whole.to_toml(), lever_answers=moved)


def parse_key_values(settings: Sequence[str], option: str) -> dict[str, str]:
    """Read ``KEY=VALUE`` texts, each key once."""
    from forecast.cli.fit.fit_arguments import SETTING_FORM, parse_formulas

    return parse_formulas(settings, option, SETTING_FORM if option == "--set" else "NAME=MODEL")


def merge_settings(settings: Mapping[str, Any], swaps: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is set and what is swapped as one mapping; each option takes what it is for.

    Raises
    ------
    UsageError
        For a model that is set, or anything else that is swapped, or both of one name.
    """
    from forecast.contract.registry import get_registry
    from forecast.scenarios.settings.setting_values import names_model

    for key, value in settings.items():
        if key in swaps:
            raise UsageError(f"'{printable(key, 60)}' is both set and swapped; one of them is enough")
        if names_model(value):
            way = f"{printable(key, 60)}={printable(value, 80)}"
            raise UsageError(f"--set {way}: a model is no value; swap it: --swap {way}")
    out = dict(settings)
    for key, value in swaps.items():
        if not isinstance(value, str):
            raise UsageError(f"--swap {printable(key, 60)}: expected the name of a model, got {printable(value, 60)}")
        name, at, shape = value.partition("@")
        out[key] = f"{get_registry().find('model', name, where=f'--swap {key}').full_name}{at}{shape}"
    return out


# --- Sweeps -----------------------------------------------------------------------------------------------------------
# ``forecast sweep``: a scenario with something set to each of several values, side by side.


@click.command()
@scenario_options
@click.pass_context
def sweep(ctx: click.Context, /, settings: tuple[str, ...], **options: Any) -> None:
    """Run SCENARIO with something set to each of several values: what --set gives several of is swept.

    Each swept name is a dimension of the results; nothing is pooled over it, and everything else is drawn alike along
    it. Of a choice, * are all its values. A scenario may hold a sweep of its own, under [sweep].

    \b
    forecast sweep brain-parity --set brain=1e15,1e16,1e17
    forecast sweep brain-parity --set "trend=*" --set machine.growth=0.2,0.4 --set metric=hpcg
    forecast sweep brain-parity --set "brain=1e15..1e16,1e17..1e18" --out sweep.nc --json
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.projection.answers.variations import ALL_VALUES
    from forecast.scenarios.scenario import Scenario

    given = {key: _split_top_level(value) for key, value in parse_key_values(settings, "--set").items()}
    several = {
        key: ALL_VALUES if parts == [ALL_VALUES] else parts
        for key, parts in given.items()
        if len(parts) > 1 or ALL_VALUES in parts
    }
    for key, parts in given.items():
        if ALL_VALUES in parts and len(parts) > 1:
            raise UsageError(f"--set {printable(key, 60)}: '*' are all values: it stands alone")
        if not all(parts):
            raise UsageError(f"--set {printable(key, 60)}: expected values between commas, got an empty one")
    if not several and not Scenario.load(options["scenario"]).swept:
        raise UsageError("sweep: expected something to sweep: --set NAME=A,B,C, or a [sweep] in the scenario")
    alone = {key: parts[0] for key, parts in given.items() if key not in several}
    project_and_write(ctx, settings=alone, sweep=several, **options)


def _split_top_level(text: str) -> list[str]:
    """Split at commas, but for those inside brackets: of distributions."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "[{(") - (sign in ")}]")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]
