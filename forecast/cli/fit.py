"""``forecast fit``: a law, a table, and everything that can be said about how they meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from forecast.cli import render
from forecast.cli.catalogue import json_option
from forecast.errors import FitError, UsageError, printable

if TYPE_CHECKING:
    from forecast.fit.result import Fit

__all__ = ["fit"]

COMMAND = "fit"


@click.command()
@click.argument("law")
@click.option("--data", required=True, metavar="TABLE|FILE", help="A table's name, or a .csv or .parquet file.")
@click.option("--let", multiple=True, metavar='"N = FORMULA"', help="A variable as a formula over columns.")
@click.option("--y", metavar="COLUMN", help="The column, or formula, that the law explains.  [default: its output]")
@click.option("--variables", multiple=True, metavar="NAMES", help="The variables of a formula: x or N,D.")
@click.option("--where", multiple=True, metavar="CONDITION", help='Rows to keep: "params_b > 0.1", "kind is dense".')
@click.option("--objective", metavar="NAME", help="What is minimised.  [default: the law's own]")
@click.option("--start", multiple=True, metavar='"a=1,b=2"', help="Solve from here and nowhere else.")
@click.option("--weights", metavar="COLUMN", help="Weight of each row, a column or formula.")
@click.option("--sigma", metavar="COLUMN", help="Known standard deviation of each row, a column or formula.")
@click.option("--bootstrap", type=click.IntRange(1), metavar="N", help="Refit N resamples for the intervals.")
@click.option("--protocol", metavar="NAME", help="Fit as a publication did.")
@click.option("--select", is_flag=True, help="Also choose the rows as --protocol did.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal bytes.")
@click.option("--out", metavar="FILE.nc", help="Save the fit, for predict and allocate.")
@click.option("--plot", "figure", metavar="FILE.svg", help="Draw it (.svg, .png or .pdf).")
@json_option
@click.pass_context
def fit(
    ctx: click.Context,
    law: str,
    data: str,
    let: tuple[str, ...],
    y: str | None,
    variables: tuple[str, ...],
    where: tuple[str, ...],
    objective: str | None,
    start: tuple[str, ...],
    weights: str | None,
    sigma: str | None,
    bootstrap: int | None,
    protocol: str | None,
    select: bool,
    level: float,
    seed: int,
    out: str | None,
    figure: str | None,
    as_json: bool,
) -> None:
    """Fit LAW, a registered name or a formula in quotes, to data.

    Prints one sentence, the parameters with their intervals, the verdict, and warnings. Exits with 1 where the fit did
    not converge; what was found is still printed.

    \b
    forecast fit scaling/chinchilla --data runs.csv --let "N = params_b*1e9" --let "D = tokens" --y loss --out fit.nc
    forecast fit "a + b*x" --variables x --data runs.csv --y score --where "x > 0" --plot fit.svg --json
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.cli import asked
    from forecast.files import safe_output
    from forecast.report import figures, fit_figure

    targets = [safe_output(path) for path in (out, figure) if path is not None]  # refuse before the work
    if len(set(targets)) < len(targets):
        raise UsageError(f"{printable(targets[0].name)}: --out and --plot name the same file")
    if figure is not None:
        figures.check_format(figure)
    if select and protocol is None:
        raise UsageError("--select chooses rows as a protocol did: name it with --protocol")
    found, plugins = asked.law_of(law, variables)
    lets = asked.formulas(let, "--let")
    begun = asked.numbers(start, "--start") if start else None
    columns, source = asked.data_of(data, found.name or "fit")
    rows, note = asked.kept(columns, where)
    notes = [note] if note else []
    chosen: Any = rows
    if select:
        import forecast

        chosen = forecast.protocol(protocol).select(rows)  # type: ignore[arg-type]
    with render.progress("refitting") as report:
        fitted = found.fit(
            chosen, objective=objective, start=begun, let=lets or None, y=y, weights=weights, sigma=sigma,
            bootstrap=bootstrap, protocol=protocol, seed=seed, level=level, progress=report,
        )  # fmt: skip
    if out is not None:
        fitted.save(out)
    if figure is not None:
        fit_figure.plot(fitted, figure, chosen, let=lets, y=y)
    result = answer(fitted, level)
    render.emit(
        result,
        json=as_json,
        command=COMMAND,
        text=lambda: _text(result),
        warnings=[*notes, *fitted.warnings],
        provenance=render.provenance(plugins, seed=seed, data=source),
    )
    if fitted.converged is False:
        ctx.exit(1)


def answer(fitted: Fit, level: float) -> dict[str, Any]:
    """Return a fit as plain data."""
    try:
        covariance: dict[str, Any] | None = {
            "names": [str(n) for n in fitted.covariance["parameter"].values],
            "matrix": fitted.covariance.values.tolist(),
        }
        why = None
    except FitError as problem:
        covariance, why = None, str(problem)
    shown = fitted.law.text if hasattr(fitted.law, "text") else f"{fitted.law.output} = {fitted.law.expression}"
    return {
        "law": fitted.law.name,
        "formula": shown,
        "headline": _headline(fitted, level),
        "points": fitted.n,
        "objective": {"name": fitted.objective_name, "value": fitted.objective, "delta": fitted.delta},
        "converged": fitted.converged,
        "starts": {"agree": fitted.starts[0], "of": fitted.starts[1]},
        "verdict": fitted.verdict,
        "level": level,
        "parameters": [_parameter(fitted, name, level) for name in fitted.values],
        "covariance": covariance,
        "no_covariance": why,
        "residual_scale": fitted.residual_scale,
        "ranges": {n: list(pair) for n, pair in fitted.ranges.items()},
    }


def _parameter(fitted: Fit, name: str, level: float) -> dict[str, Any]:
    error = float(fitted.stderr[name]) if name in fitted.stderr else None
    found = {"name": name, "value": fitted.values[name], "stderr": error}
    try:
        low, high = fitted.interval(name, level)
    except FitError as problem:
        why = str(problem).removeprefix(f"{fitted.name}: ")
        identified = False if "not identified" in why else None
        return {**found, "lower": None, "upper": None, "identified": identified, "why": why}
    return {**found, "lower": low, "upper": high, "identified": True, "why": None}


def _headline(fitted: Fit, level: float) -> str:
    rows = [_parameter(fitted, name, level) for name in fitted.values]
    said = [_said(row) for row in rows[:6]] + (["…"] if len(rows) > 6 else [])
    begin = "" if fitted.converged else "Not converged: "
    return f"{begin}{fitted.name} on {fitted.n} points: {', '.join(said)} ({level:.0%} intervals)."


def _said(row: dict[str, Any]) -> str:
    between = "no interval" if row["lower"] is None else f"{row['lower']:.4g} to {row['upper']:.4g}"
    return f"{row['name']} = {row['value']:.4g} ({between})"


def _text(result: dict[str, Any]) -> None:
    render.headline(result["headline"])
    rows = []
    for row in result["parameters"]:
        ends = [_number(row["lower"]), _number(row["upper"])]
        rows.append([row["name"], _number(row["value"], 8), _number(row["stderr"]), *ends, row["identified"]])
    percent = f"{result['level']:.0%}"
    render.table(["parameter", "value", "std error", f"{percent} lower", "upper", "identified"], rows)
    render.write()
    objective = result["objective"]
    delta = "" if objective["delta"] is None else f" (delta {objective['delta']:.4g})"
    render.details(
        {
            "formula": result["formula"],
            "points": result["points"],
            "objective": f"{objective['name']}{delta} = {objective['value']:.10g}",
            "converged": result["converged"],
            "verdict": result["verdict"],
        }
    )


def _number(value: float | None, digits: int = 5) -> str:
    return "-" if value is None else f"{value:.{digits}g}"
