"""``forecast run``: project a scenario and answer its questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forecast.cli import completion, render
from forecast.cli.allowed import access_options
from forecast.cli.output_files import out_option, plot_option
from forecast.errors import UsageError, printable

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["answer", "asking", "drawing", "pairs", "run"]

_PERCENT = {"p05": "5 %", "p25": "25 %", "p50": "50 %", "p75": "75 %", "p95": "95 %"}

#: So many of a ranking, and of what moves an answer, are shown; --json has them all.
_MOST_RANKED, _MOST_DRIVERS = 15, 6

#: A quantity along more combinations of choices than this would bury the answer: it is shown at its first and its last
#: step, and along more than `_MOST_ENDS` not at all. One that does not change with time is shown along `_MOST_STILL`.
_MOST_COMBINATIONS, _MOST_ENDS, _MOST_STILL = 8, 40, 12
_ENDS = ("p05", "p50", "p95")


#: What every command that draws a scenario takes, in the order in which ``--help`` shows it.
_DRAWN: tuple[Callable[[Any], Any], ...] = (
    click.argument("scenario", shell_complete=completion.names("scenario", files=True)),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        shell_complete=completion.settings,
        help="Narrow a choice; set a quantity, an input or a parameter: 3, '1 EFLOP/s', 1e13..1e17, "
        "'{lognormal=[1,4]}'.",
    ),
    click.option(
        "--swap",
        "swaps",
        multiple=True,
        metavar="NAME=MODEL",
        help="Another model for a quantity.",
    ),
    click.option(
        "--what-if",
        "changes",
        multiple=True,
        metavar="CHANGE",
        help="Change a quantity from a date on: machine.growth*0.5 since 2028.",
    ),
    click.option("--until", type=float, metavar="YEAR", help="Last date: 2040, or 2040.5."),
    click.option("--start", type=float, metavar="YEAR", help="First date."),
    click.option("--step", metavar="STEP", help="Grid: year, month, or years such as 1/12."),
    click.option("--draws", type=int, default=2048, show_default=True, metavar="N", help="Joint samples."),
    click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal bytes."),
)
#: What ``run`` and ``sweep`` take.
_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    *_DRAWN,
    click.option(
        "--keep",
        type=int,
        default=10_000,
        show_default=True,
        metavar="N",
        help="Keep up to so many worlds one by one; more are counted.",
    ),
    click.option(
        "--workers", type=int, default=1, show_default=True, metavar="N", help="Processes; the result is the same."
    ),
    click.option("--cluster", metavar="ADDRESS", help="A dask scheduler whose workers draw."),
    click.option("--resume", is_flag=True, help="Go on where a run with the same --out was ended."),
    click.option(
        "--every",
        type=click.IntRange(1),
        metavar="N",
        help="Show every Nth step.  [default: as many as leave a dozen; --json and --out have all]",
    ),
    out_option("nc", "Save the whole projection."),
    plot_option,
    access_options,
    click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
)


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command what ``run`` and ``sweep`` take: a scenario and its options."""
    return _with(_OPTIONS, command)


def drawing(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command a scenario, and what says how its worlds are drawn."""
    return _with(_DRAWN, command)


def _with(options: Sequence[Callable[[Any], Any]], command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@asking
@click.pass_context
def run(ctx: click.Context, /, settings: tuple[str, ...], **asked: Any) -> None:
    """Run SCENARIO: a registered name (brain-parity) or a TOML file.

    Prints one sentence, the crossing dates of every question along every choice, every ranking, and the quantiles of
    every quantity step by step. Exits with 1 where a model failed in some combination of choices; the others are still
    answered.

    \b
    forecast run brain-parity
    forecast run brain-parity --set trend=changepoint --set brain=1.075e21 --until 2100
    forecast run brain-parity --what-if "machine.growth*0.5 since 2028 until 2032"
    forecast run mine.toml --draws 20000 --out mine.nc --plot mine.svg --json
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    answer(ctx, "run", settings=pairs(settings, "--set"), sweep={}, **asked)


def answer(
    ctx: click.Context,
    command: str,
    *,
    scenario: str,
    settings: Mapping[str, str],
    sweep: Mapping[str, Any],
    swaps: tuple[str, ...],
    changes: tuple[str, ...],
    until: float | None,
    start: float | None,
    step: str | None,
    draws: int,
    seed: int,
    keep: int,
    workers: int,
    cluster: str | None,
    resume: bool,
    every: int | None,
    out: str | None,
    plots: tuple[str, ...],
    as_json: bool,
) -> None:
    """Project a scenario, and write its answers, tables and files."""
    from forecast.base.files import safe_output
    from forecast.base.netcdf import save
    from forecast.models.shapes.track_record import sentence
    from forecast.projection.engine import project
    from forecast.report import figures, summary
    from forecast.scenarios.quantities.changes import parse

    targets = [safe_output(path) for path in (out, *plots) if path is not None]  # refuse before the work
    for target in targets:
        if targets.count(target) > 1 or (target.exists() and Path(scenario).exists() and target.samefile(scenario)):
            raise UsageError(f"{printable(target.name)}: two of SCENARIO, --out and --plot name the same file")
    if resume and out is None:
        raise UsageError("--resume: needs the --out of the run that was ended")
    for path in plots:
        figures.check_format(path)
    stated = [parse(text) for text in changes]
    with render.progress("drawing") as report:
        tree = project(
            scenario,
            until=until,
            start=start,
            step=step,
            draws=draws,
            seed=seed,
            keep=keep,
            workers=workers,
            client=cluster,
            checkpoint=None if out is None else f"{out}.part",
            resume=resume,
            set=settings,
            swap=pairs(swaps, "--swap"),
            sweep=sweep,
            changes=stated,
            progress=report,
        )
    failures = summary.attribute(tree, "failures")
    shown = summary.attribute(tree, "shown") if "shown" in tree.attrs else None
    record_said = sentence(summary.attribute(tree, "models"))
    result = {
        "scenario": summary.attribute(tree, "scenario"),
        "headline": summary.headline(tree),
        "questions": summary.questions(tree),
        **({"pooled": total} if (total := summary.pooled(tree)) else {}),
        "drivers": summary.drivers(tree),
        **({"rankings": ranked} if (ranked := summary.rankings(tree)) else {}),
        **({"update": weighed} if (weighed := summary.updates(tree)) else {}),
        **({"values": figures_asked} if (figures_asked := summary.figures(tree)) else {}),
        **({"first": race} if (race := summary.firsts(tree)) else {}),
        **({"limits": bounds} if (bounds := summary.limits(tree)) else {}),
        **({"regimes": drawn} if (drawn := summary.regimes(tree)) else {}),
        **({"failing": failing} if (failing := summary.failing(tree)) else {}),
        "quantities": summary.quantities(tree, only=None if as_json or "sweep" in tree.attrs else shown),
        "models": [{"name": n, **described} for n, described in summary.attribute(tree, "models").items()],
        **({"record": record_said} if record_said else {}),
        **({"newest": dates} if (dates := summary.newest(tree)) else {}),
    }
    asked = ("seed", "draws", "start", "until", "step", "set", "data", "scenario_hash")
    more = {k: summary.attribute(tree, k) for k in asked}
    record = {**render.provenance(**more), "plugins": summary.attribute(tree, "plugins")}
    if "changes" in tree.attrs:
        record["changes"] = summary.attribute(tree, "changes")
    if "sweep" in tree.attrs:
        record["sweep"] = summary.attribute(tree, "sweep")
    if swaps:
        record["swap"] = summary.attribute(tree, "swap")
    record["versions"] = summary.attribute(tree, "versions")
    render.emit(
        result,
        json=as_json,
        command=command,
        text=lambda: _show_swept(tree, result) if "sweep" in tree.attrs else _show(tree, result, every),
        warnings=[*failures, *summary.warnings(tree)],
        provenance=record,
        files={
            **({} if out is None else {out: partial(save, tree, out)}),
            **{path: partial(figures.plot, tree, path) for path in plots},
        },
    )
    if failures:
        ctx.exit(1)


def pairs(settings: Sequence[str], option: str) -> dict[str, str]:
    """Read ``KEY=VALUE`` texts, each key once."""
    given: dict[str, str] = {}
    for key, value in (_pair(text, option) for text in settings):
        if key in given:
            way = f"; values of a choice go in one: {key}=a,b" if option == "--set" else ""
            raise UsageError(f"{option}: '{printable(key, 60)}' is given twice{way}")
        given[key] = value
    return given


def _pair(text: str, option: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise UsageError(
            f"{option}: expected {'KEY=VALUE' if option == '--set' else 'NAME=MODEL'}, got '{printable(text, 60)}'"
        )
    return key.strip(), value.strip()


def _show(tree: xr.DataTree, result: dict[str, Any], every: int | None) -> None:
    from forecast.evaluation.ledger import dated
    from forecast.report import summary
    from forecast.report.levels import Levels

    render.headline(result["headline"])
    for rows in _by_name(result["questions"]).values():
        _show_question(rows)
        moved = next(d["drivers"] for d in result["drivers"] if d["name"] == rows[0]["name"])
        if moved:
            shares = ", ".join(f"{printable(d['name'], 80)} {d['share']:.0%}" for d in moved[:_MOST_DRIVERS])
            render.write(f"what moves it (share of the variance, each alone): {shares}")
            render.write()
    for row in result.get("rankings", ()):
        _show_ranking(row)
    for row in result.get("update", ()):
        _show_update(row)
    for name in dict.fromkeys(row["name"] for key in ("values", "first") for row in result.get(key, ())):
        render.write(f"{printable(name)}: {printable(summary.asked_sentence(tree, name), 2000)}")
        render.write()
    for row in result.get("limits", ()):
        render.write(printable(summary.limit_sentence(row), 400))
    if "limits" in result:
        render.write()
    for row in result.get("regimes", ()):
        _show_regime(row)
    for model in result["models"]:
        render.write(f"{printable(model['name'])}: {printable(model['summary'], 600)}")
    if "record" in result:
        render.write(printable(result["record"], 600))
    if "newest" in result:
        render.write(printable(summary.data_ages(tree, dated("today", "today")), 600))
    if result["models"] or "newest" in result:
        render.write()
    left = []
    quantities = _by_name(result["quantities"])
    named = Levels(tree).names()
    shown = summary.attribute(tree, "shown") if "shown" in tree.attrs else named
    for name in shown:
        if name not in quantities:  # a regime, shown above
            continue
        rows = quantities[name]
        still = all(_still(row) for row in rows)
        if len(rows) <= (_MOST_STILL if still else _MOST_COMBINATIONS):
            _show_quantity(rows, every or _stride(len(rows[0]["time"])))
        elif not still and len(rows) <= _MOST_ENDS:
            _show_ends(rows)
        else:
            left.append(
                f"{printable(name)}: {len(rows)} combinations, {'' if still else 'year by year '}in --json and --out"
            )
    for line in left:
        render.write(line)
    if helpers := [printable(name, 80) for name in named if name not in shown]:
        render.write(f"in --json and --out alone: {', '.join(helpers)}")


def _show_swept(tree: xr.DataTree, result: dict[str, Any]) -> None:
    """Show what a sweep is for: every question along it, over rivals where these are pooled."""
    from forecast.report import summary

    render.headline(result["headline"])
    pooled = _by_name(result.get("pooled", ()))
    for name, rows in _by_name(result["questions"]).items():
        _show_question(pooled.get(name, rows))
    for row in result.get("rankings", ()):
        _show_ranking(row)
    for name in dict.fromkeys(row["name"] for key in ("values", "first") for row in result.get(key, ())):
        render.write(f"{printable(name)}: {printable(summary.asked_sentence(tree, name), 2000)}")
        render.write()
    if not result["questions"]:
        for rows in _by_name(result["quantities"]).values():
            if set(rows[0]["choices"]) & set(summary.swept(tree)):
                _show_ends(rows)
    render.write("every quantity and every combination: --json and --out")


def _by_name(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    rows_of: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        rows_of.setdefault(row["name"], []).append(row)
    return rows_of


def _show_question(rows: Sequence[dict[str, Any]]) -> None:
    render.write(f"{printable(rows[0]['name'])}: {printable(rows[0]['when'])}")
    lines = []
    for row in rows:
        crossing = row["crossing"]
        dates = [_date(crossing, q) for q in _PERCENT]
        by = [_share(asked["probability"]) for asked in row.get("dates", ())]
        lines.append([*row["choices"].values(), *dates, _share(crossing["never"]), _share(crossing["already"]), *by])
    asked_by = [f"by {asked['date']}" for asked in rows[0].get("dates", ())]
    render.table([*rows[0]["choices"], *_PERCENT.values(), "never", "already", *asked_by], lines)
    if errors := [row["crossing"]["error"] for row in rows if row["crossing"]["error"]]:
        most = f"{max(errors):.1g} years" if max(errors) >= 0.01 else "less than 0.01 years"
        render.write(
            f"Monte Carlo error of {'each' if len(rows) > 1 else 'the'} median: {'at most ' * (len(errors) > 1)}{most}"
        )
    render.write()


def _show_ranking(row: dict[str, Any]) -> None:
    """Show those that take part, the best ones; the others are counted."""
    given = "".join(f", {k} = {v}" for k, v in row["choices"].items())
    unit = f" [{row['unit']}]" if row["unit"] else ""
    asked = f", where {' and '.join(row['among'])}" if row["among"] else ""
    render.write(printable(f"{row['name']}: {row['best']} {row['rank']}{unit}{asked}{given}", 400))
    taking = [entry for entry in row["order"] if entry["among"] > 0]
    shown = taking[:_MOST_RANKED]
    heads, figures = _columns(shown)
    lines = [
        [entry["name"], *quantiles, _share(entry["first"]), _share(entry["among"])]
        for entry, quantiles in zip(shown, figures, strict=True)
    ]
    if lines:
        render.table([row["over"], *heads, "first", "takes part"], lines)
    left, out = len(taking) - len(lines), len(row["order"]) - len(taking)
    counted = [f"{left} more take part" if left else "", f"{out} do not meet the conditions" if out else ""]
    if any(counted):
        render.write("; ".join(filter(None, counted)))
    render.write()


def _show_update(row: dict[str, Any]) -> None:
    """Say how many worlds an answer rests on, where they count differently."""
    given = "".join(f", {k} = {v}" for k, v in row["choices"].items())
    count = "no world is possible"
    if row["effective"] is not None:
        count = f"{row['effective']:,.0f} of {row['draws']:,} worlds are effective"
    render.write(printable(f"weighed by what is known of {', '.join(row['of'])}{given}: {count}", 400))
    render.write()


def _show_regime(row: dict[str, Any]) -> None:
    given = "".join(f", {k} = {v}" for k, v in row["choices"].items())
    shares = ", ".join(f"{label} {_share(share)}" for label, share in row["shares"].items())
    render.write(printable(f"{row['name']}{given}: {shares}", 600))
    render.write()


def _date(crossing: dict[str, Any], quantile: str) -> str:
    """Show a year, ``never`` inside the never mass, ``already`` inside the already mass."""
    from forecast.projection.crossing import QUANTILES

    if crossing["never"] is None:
        return "failed"
    if crossing[quantile] is None:
        return "never"
    if crossing["already"] >= QUANTILES[quantile]:
        return "already"
    return str(crossing[quantile])[:7]


def _share(value: float | None) -> str:
    return "failed" if value is None else f"{value:.1%}"


def _show_quantity(rows: Sequence[dict[str, Any]], every: int) -> None:
    """Show quantiles step by step; a quantity that does not change is shown once."""
    render.write(_head(rows[0]))
    if all(_still(row) for row in rows):
        heads, figures = _columns([{q: row[q][0] for q in _PERCENT} for row in rows])
        render.table(
            [*rows[0]["choices"], *heads], [[*r["choices"].values(), *f] for r, f in zip(rows, figures, strict=True)]
        )
    else:
        lines = []
        for row in rows:
            steps = len(row["time"])
            for i in [0] if _still(row) else sorted({*range(0, steps, every), steps - 1}):
                when = "any" if _still(row) else _when(row, i)
                lines.append([*row["choices"].values(), when, *(_figure(row[q][i]) for q in _PERCENT)])
        render.table([*rows[0]["choices"], "time", *_PERCENT.values()], lines)
    render.write()


def _head(row: dict[str, Any]) -> str:
    return printable(f"{row['name']} [{row['unit']}]" if row["unit"] else row["name"])


def _show_ends(rows: Sequence[dict[str, Any]]) -> None:
    """Show a quantity at its first and its last step, a line for each combination of choices."""
    render.write(_head(rows[0]))
    heads = [f"{_when(rows[0], i)}: {_PERCENT[q]}" for i in (0, -1) for q in _ENDS]
    lines = [[*row["choices"].values(), *(_figure(row[q][i]) for i in (0, -1) for q in _ENDS)] for row in rows]
    render.table([*rows[0]["choices"], *heads], lines)
    render.write()


def _when(row: dict[str, Any], step: int) -> str:
    stamp = str(row["time"][step][:7])
    return stamp.removesuffix("-01") if _yearly(row) else stamp


def _stride(steps: int) -> int:
    """Return a round number of steps between those shown, so that they are about a dozen."""
    return next((n for n in (1, 2, 5, 10, 20, 50, 100) if steps <= 13 * n), 250)


def _still(row: dict[str, Any]) -> bool:
    """Tell whether a quantity does not change with time."""
    return all(len(set(row[q])) == 1 for q in _PERCENT)


def _columns(quantiles: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return heads and figures: a column a quantile, or a single one where no figure is uncertain."""
    if all(len({row[q] for q in _PERCENT}) == 1 for row in quantiles):
        return ["value"], [[_figure(row["p50"])] for row in quantiles]
    return [*_PERCENT.values()], [[_figure(row[q]) for q in _PERCENT] for row in quantiles]


def _yearly(row: dict[str, Any]) -> bool:
    return all(stamp.endswith("-01-01") for stamp in row["time"][:3])


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
