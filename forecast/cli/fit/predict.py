"""``forecast predict``: what a fit says at given points, with both of its bands."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from forecast.cli import completion, render
from forecast.cli.allowed import access_options
from forecast.cli.catalogue.listing import json_option
from forecast.cli.output_files import out_option
from forecast.errors import UsageError, printable

if TYPE_CHECKING:
    import xarray as xr

    from forecast.fit.solution import Fit
    from forecast.tables.columns import Columns

__all__ = ["predict"]

COMMAND = "predict"
_MOST_SHOWN = 50


@click.command(context_settings={"ignore_unknown_options": False})
@click.argument("fit", metavar="LAW@PUBLISHED|FIT.nc", shell_complete=completion.names("law", files=True))
@click.argument("values", nargs=-1, metavar="[VARIABLE=NUMBER[,NUMBER...]]...")
@click.option("--data", metavar="TABLE|FILE", help="Points to predict: a table's name, or a .csv or .parquet file.")
@click.option("--let", multiple=True, metavar='"N = FORMULA"', help="A variable as a formula over columns of --data.")
@click.option("--level", type=float, default=0.9, show_default=True, help="Of both bands.")
@click.option("--statistic", type=click.Choice(["median", "mean"]), default="median", show_default=True, help="Centre.")
@out_option("csv", "Write the points and predictions.")
@access_options
@json_option
@click.pass_context
def predict(
    ctx: click.Context,
    fit: str,
    values: tuple[str, ...],
    data: str | None,
    let: tuple[str, ...],
    level: float,
    statistic: str,
    out: str | None,
    as_json: bool,
) -> None:
    """Predict at points: the law, the confidence band of the law, and the band of one observation.

    Exits with 1 where the law can be computed at none of the points.

    \b
    forecast predict scaling/chinchilla@besiroglu2024 N=7e10 D=1.4e12
    forecast predict fit.nc N=1e9,1e10,1e11 D=1e12 --json
    forecast predict fit.nc --data planned.csv --out predicted.csv
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.cli.fit import asked

    if out is not None and not out.lower().endswith(".csv"):
        raise UsageError(f"--out: '{printable(out, 60)}': expected a file that ends in .csv")
    asked.outputs([("--out", out)], data)
    fitted, plugins = asked.fit_of(fit)
    columns: Columns | None = None
    source: dict[str, str] = {}
    if data is not None:
        columns, source = asked.data_of(data, COMMAND)
    points = _points(fitted, values, columns, asked.formulas(let, "--let"))
    answer = fitted.predict(level=level, statistic=statistic, **points)
    rows = _rows(fitted, answer)
    centre = "mean" if statistic == "mean" else "median"
    result = {
        "fit": answer.attrs["fit"],
        "headline": _headline(fitted, rows, answer, centre),
        "level": level,
        "unit": fitted.law.unit,
        "points": rows,
        "no_interval": answer.attrs.get("no_interval"),
        "bands": answer.attrs.get("bands"),
        "mean_by": answer.attrs.get("mean_by"),
        "extrapolation_decades": answer.attrs.get("extrapolation_decades"),
        "converged": fitted.converged,
        "verdict": fitted.verdict,
        "reference": fitted.published.reference if fitted.published else fitted.law.reference,
    }
    render.emit(
        result,
        json=as_json,
        command=COMMAND,
        text=lambda: _text(fitted, result),
        warnings=[line for line in answer.attrs["warnings"].splitlines() if line],
        provenance=render.provenance(plugins, computed=True, **({"data": source} if source else {})),
        files={} if out is None else {out: partial(_write, out, columns, fitted, answer)},
    )
    if not any(row[centre] is not None for row in rows):
        ctx.exit(1)


def _points(fit: Fit, words: tuple[str, ...], columns: Columns | None, lets: dict[str, str]) -> dict[str, Any]:
    """Return the values of the variables, (points,) each."""
    import numpy as np

    from forecast.cli.fit import asked
    from forecast.fit.data.observations import _compute

    points: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name.strip() or not text.strip():
            raise UsageError(f"expected VARIABLE=NUMBER, got '{printable(word, 60)}'")
        if name.strip() in points:
            raise UsageError(f"'{printable(name, 60)}' is given twice; several numbers go in one: {name}=1e9,1e10")
        where = f"'{printable(name.strip(), 60)}'"
        parts = [part.strip() for part in text.split(",")]
        named = name.strip() in fit.law.levels  # a group is named by its label
        points[name.strip()] = np.array(parts if named else [asked.number(part, where) for part in parts])
    if columns is None:
        if lets:
            raise UsageError("--let: needs --data, whose columns it is a formula over")
    else:
        for name in fit.law.variables:
            if name not in points and name in fit.law.levels and name in columns:
                points[name] = columns[name]
            elif name not in points:
                points[name] = _compute(lets.get(name, name), columns, f"variable '{name}'")
    for name, values in points.items():
        if values.dtype.kind == "f" and np.isinf(values).any():
            raise UsageError(f"'{printable(name, 60)}': expected finite numbers, got {values[np.isinf(values)][0]:g}")
    sizes = {n: v.size for n, v in points.items()}
    longest = max(sizes.values(), default=1)
    for name, size in sizes.items():
        if size not in (1, longest):
            raise UsageError(f"'{printable(name, 60)}' has {size} numbers, another variable has {longest}")
    return {n: np.broadcast_to(v, (longest,)) for n, v in points.items()}


def _rows(fit: Fit, answer: xr.Dataset) -> list[dict[str, Any]]:
    columns = {n: answer[n].values for n in (*fit.law.variables, *map(str, answer.data_vars))}
    count = answer.sizes["point"]
    return [{n: _plain(v[i]) for n, v in columns.items()} for i in range(count)]


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)
    return float(value) if math.isfinite(value) else None


def _write(out: str, columns: Columns | None, fit: Fit, answer: xr.Dataset) -> None:
    """Write the points, with the other columns of the data; text that a spreadsheet would run is guarded."""
    import numpy as np

    from forecast.tables import csv_format

    table: dict[str, Any] = {}
    if columns is not None:
        table |= {n: columns[n] for n in columns if n not in answer.data_vars and n not in fit.law.variables}
    for name in (*fit.law.variables, *map(str, answer.data_vars)):
        values = answer[name].values
        table[name] = values if values.dtype.kind == "U" else np.where(np.isfinite(values), values, np.nan)
    csv_format.write(out, table)


def _headline(fit: Fit, rows: list[dict[str, Any]], answer: xr.Dataset, centre: str) -> str:
    row = rows[0]
    at = ", ".join(
        f"{n} = {'nan' if row[n] is None else _number(row[n])} {unit}".rstrip() for n, unit in fit.law.variables.items()
    )
    many = "" if len(rows) == 1 else f" (the first of {len(rows)} points)"
    begin = "Not converged: " if fit.converged is False else ""
    output = f"{fit.law.output} {_number(row[centre])} {fit.law.unit}".rstrip()
    if row[centre] is None:
        return f"{begin}{fit.name} cannot be computed at {at}{many}{_because(answer)}."
    if row.get("lower") is None or row.get("upper") is None:
        why = answer.attrs.get("no_interval", "none at this point").removeprefix(f"{fit.name}: no interval: ")
        return f"{begin}{fit.name} says {output} at {at}{many}; no interval: {why}."
    band = f"{_number(row['lower'])} to {_number(row['upper'])}"
    one = f"one observation {_number(row['observed_lower'])} to {_number(row['observed_upper'])}"
    return f"{begin}{fit.name} says {output} at {at}{many}: the law {band}, {one} ({answer.attrs['level']:.0%})."


def _because(answer: xr.Dataset) -> str:
    why = answer.attrs.get("lost")
    return f": {why}" if why else ""


def _text(fit: Fit, result: dict[str, Any]) -> None:
    render.headline(result["headline"])
    rows = result["points"]
    names = list(rows[0])
    render.table(names, [[_number(row[n]) for n in names] for row in rows[:_MOST_SHOWN]])
    if len(rows) > _MOST_SHOWN:
        render.write(f"… {len(rows) - _MOST_SHOWN} more points: --out FILE.csv or --json")
    render.write()
    far = result["extrapolation_decades"]
    render.details(
        {
            "unit": result["unit"],
            "mean": result["mean_by"],
            "bands": result["bands"],
            "extrapolation": None if far is None else f"{far:.2f} decades beyond the data",
            "parameters from": result["reference"] if fit.published else f"{fit.n} points: {fit.verdict}",
        }
    )


def _number(value: Any) -> str:
    return value if isinstance(value, str) else "-" if value is None else f"{value:.5g}"
