"""``forecast predict``: what a fit says at given points, with both of its bands."""

from __future__ import annotations

import contextlib
import math
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import click
import numpy as np

from forecast.base.lazy import xr
from forecast.base.number_checks import is_real
from forecast.cli import completion, render
from forecast.cli.fit.fit_options import FitOptions, let_option, output_options
from forecast.cli.output_files import TABLE_SUFFIXES, emit_files
from forecast.cli.reading_options import level_option, reading_options
from forecast.errors import FitError, UncertaintyError, UnknownNameError, UsageError, printable
from forecast.report.words.number_text import written

if TYPE_CHECKING:
    from forecast.fit.fit import Fit, Fits
    from forecast.tables.columns import Columns

_MAX_PRINTED_ROWS = 50
#: Fits whose own warnings are repeated; the others are counted.
_MAX_WARNED_FITS = 10


@click.command(context_settings={"ignore_unknown_options": False})
@click.argument("fit", metavar="LAW@PUBLISHED|FIT.nc", shell_complete=completion.complete_names("law", files=True))
@click.argument("values", nargs=-1, metavar="[VARIABLE=NUMBER[,NUMBER...]]...")
@click.option("--data", metavar="TABLE|FILE", help="Points to predict: a table's name, or a file.")
@reading_options
@let_option("A variable as a formula over columns of --data.")
@level_option("Of both bands.")
@click.option("--statistic", type=click.Choice(["median", "mean"]), default="median", show_default=True, help="Centre.")
@output_options(TABLE_SUFFIXES, "Write the points and predictions.")
@click.pass_context
def predict(ctx: click.Context, fit: str, values: tuple[str, ...], statistic: str, options: FitOptions) -> None:
    """Predict at points: the law, the confidence band of the law, and the band of one observation.

    A file of many fits ('forecast fit --by') predicts each point by the fit that the point names, in a column of --data
    or as a word, and by every fit where it names none. Exits with 1 where the law can be computed at none of the
    points.

    \b
    forecast predict scaling/chinchilla@besiroglu2024 N=7e10 D=1.4e12
    forecast predict fit.nc N=1e9,1e10,1e11 D=1e12 --json
    forecast predict fit.nc --data planned.csv --out predicted.csv --plot predicted.svg
    forecast predict families.nc family=dense N=1e10 D=1e12
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.cli.fit import fit_arguments
    from forecast.fit.fit import Fits
    from forecast.report.figures.fit_figure import plot_predictions

    options.check_outputs()
    fitted, plugins = fit_arguments.fits_of(fit)
    if options.plots and isinstance(fitted, Fits):
        raise UsageError("--plot: many fits are drawn by 'forecast show FILE.nc --plot'")
    columns, source = (None, {}) if options.data is None else options.columns("predict")
    level, points = options.level, _parse_points(fitted, values, columns, options.lets)
    if isinstance(fitted, Fits):
        answer = _predict_by_fits(fitted, points, level, statistic)
    else:
        answer = fitted.predict(level=level, statistic=statistic, **points)
    rows = _prediction_rows(fitted, answer)
    centre = "mean" if statistic == "mean" else "median"
    result = {
        "fit": answer.attrs["fit"],
        "headline": _prediction_headline(fitted, rows, answer, centre),
        "level": level,
        "unit": fitted.law.unit,
        "points": rows,
        "no_interval": answer.attrs.get("no_interval"),
        "bands": answer.attrs.get("bands"),
        "mean_by": answer.attrs.get("mean_by"),
        "extrapolation_decades": answer.attrs.get("extrapolation_decades"),
        "beside_extrapolate": _hindcast_scores(fitted, points),
        "converged": bool(fitted.converged.values.all()) if isinstance(fitted, Fits) else fitted.converged,
        "verdict": fitted.summary().splitlines()[0] if isinstance(fitted, Fits) else fitted.verdict,
        "reference": fitted.published.reference if fitted.published else fitted.law.reference,
    }
    emit_files(
        result,
        text=lambda: _print_predictions(fitted, result),
        table=lambda: _prediction_columns(columns, fitted, answer),
        draw=partial(plot_predictions, cast("Fit", fitted), rows, level=level),
        **options.files,
        read=[] if columns is None else [columns.read_line],
        warnings=[line for line in answer.attrs["warnings"].splitlines() if line],
        provenance=render.provenance(plugins, computed=True, **({"data": source} if source else {})),
    )
    if not any(row[centre] is not None for row in rows):
        ctx.exit(1)


def _hindcast_scores(fit: Fit | Fits, points: dict[str, Any]) -> dict[str, float] | None:
    """Return how the law and `forecast.extrapolate` would have done on the last points of a curve; None of others."""
    if _by(fit) or fit.solutions is None or len(fit.law.variables) != 1:
        return None
    from forecast.evaluation.law_rolling import compare_with_pool

    (places,) = points.values()
    return compare_with_pool(fit, float(np.max(places)))  # type: ignore[arg-type]


def _key_columns(fit: Fit | Fits) -> list[str]:
    """Return what names a point: the variables of the law, after the label of a fit among many."""
    return [*_by(fit), *fit.law.variables]


def _by(fit: Fit | Fits) -> list[str]:
    from forecast.fit.fit import Fits

    return [fit.by] if isinstance(fit, Fits) else []


def _parse_points(
    fit: Fit | Fits, words: tuple[str, ...], columns: Columns | None, lets: dict[str, str]
) -> dict[str, Any]:
    """Return the values of the variables, and the labels of fits where they are named, (points,) each."""
    from forecast.cli.fit import fit_arguments
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
        named = name.strip() in (*fit.law.levels, *_by(fit))  # a group, or a fit, is named by its label
        points[name.strip()] = np.array(
            parts if named else [fit_arguments.parse_option_number(part, where) for part in parts]
        )
    if columns is None:
        if lets:
            raise UsageError("--let: needs --data, whose columns it is a formula over")
    else:
        for name in _key_columns(fit):
            if name in points:
                continue
            if name in (*fit.law.levels, *_by(fit)) and name in columns:
                points[name] = columns[name]
            elif name in fit.law.variables:
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


def _predict_by_fits(fits: Fits, points: dict[str, Any], level: float, statistic: str) -> xr.Dataset:
    """Predict every point by the fit that it names, else by all of them, one after the other; (point,)."""
    variables = {n: v for n, v in points.items() if n != fits.by}
    if fits.by not in points:
        whole = fits.predict(level=level, statistic=statistic, **variables)
        count = len(fits)
        size = next((v.size for v in variables.values()), 1)
        columns = {str(n): v.values.ravel() for n, v in whole.data_vars.items()}
        names = {fits.by: np.repeat(fits.labels, size), **{n: np.tile(v, count) for n, v in variables.items()}}
        return xr.Dataset(
            {n: ("point", v) for n, v in columns.items()}, {n: ("point", v) for n, v in names.items()}, whole.attrs
        )
    labels = _match_labels(fits, points[fits.by])
    predicted: dict[str, Any] = {}
    notes: list[list[str]] = []
    attrs: dict[str, Any] = {"level": level, "fit": fits.name}
    with render.progress_bar("predicting") as report:
        distinct = list(dict.fromkeys(labels.tolist()))
        for done, label in enumerate(distinct):
            report(done, len(distinct))
            rows = labels == label
            try:
                part = fits.select(label).predict(
                    level=level, statistic=statistic, **{n: v[rows] for n, v in variables.items()}
                )
            except FitError as problem:  # of this fit alone
                notes.append([str(problem)])
                continue
            notes.append(
                [f"{fits.by} {_format_label(label)}: {line}" for line in part.attrs["warnings"].splitlines() if line]
            )
            far = part.attrs.get("extrapolation_decades", 0.0)
            attrs["extrapolation_decades"] = max(far, attrs.get("extrapolation_decades", 0.0))
            for name, values in part.data_vars.items():
                predicted.setdefault(str(name), np.full(labels.size, np.nan))[rows] = values.values
    lines = [line for each in notes[:_MAX_WARNED_FITS] for line in each]
    if more := sum(map(bool, notes[_MAX_WARNED_FITS:])):
        lines.append(f"{fits.name}: {more} more fits warn")
    names = {fits.by: labels, **variables}
    attrs["warnings"] = "\n".join(lines)
    predicted.setdefault("mean" if statistic == "mean" else "median", np.full(labels.size, np.nan))
    return xr.Dataset(
        {n: ("point", v) for n, v in predicted.items()}, {n: ("point", v) for n, v in names.items()}, attrs
    )


def _match_labels(fits: Fits, labels: Any) -> Any:
    """Return labels as the fits have them: 7, 7.0 and "7" are one number."""
    index_of = {_format_label(label): place for place, label in enumerate(fits.labels.tolist())}
    numeric, places = fits.labels.dtype.kind in "iuf", []
    for each in labels.tolist():
        text = str(each)
        if numeric:
            with contextlib.suppress(ValueError):
                text = _format_label(float(text))
        if text not in index_of:
            raise UnknownNameError(fits.by, printable(text, 60), list(index_of), where=fits.name)
        places.append(index_of[text])
    return fits.labels[np.array(places, dtype=int)]


def _format_label(label: Any) -> str:
    """Return a label as people write it."""
    return f"{label:.12g}" if is_real(label) else str(label)


def _prediction_rows(fit: Fit | Fits, answer: xr.Dataset) -> list[dict[str, Any]]:
    columns = {n: answer[n].values for n in (*_key_columns(fit), *map(str, answer.data_vars))}
    count = answer.sizes["point"]
    return [{n: _json_value(v[i]) for n, v in columns.items()} for i in range(count)]


def _json_value(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)
    if not hasattr(value, "dtype") or value.dtype.kind not in "biuf":
        return str(value)  # a date
    return float(value) if math.isfinite(value) else None


def _prediction_columns(columns: Columns | None, fit: Fit | Fits, answer: xr.Dataset) -> dict[str, Any]:
    """Return the points, with the other columns of the data, and what is predicted there."""
    table: dict[str, Any] = {}
    keys = _key_columns(fit)
    if columns is not None and columns.rows == answer.sizes["point"]:
        table |= {n: columns[n] for n in columns if n not in answer.data_vars and n not in keys}
    for name in (*keys, *map(str, answer.data_vars)):
        values = answer[name].values
        table[name] = np.where(np.isfinite(values), values, np.nan) if values.dtype.kind == "f" else values
    return table


def _prediction_headline(fit: Fit | Fits, rows: list[dict[str, Any]], answer: xr.Dataset, centre: str) -> str:
    row = rows[0]
    label = "".join(f"{by} {_format_label(row[by])}: " for by in _by(fit))
    at = label + ", ".join(
        f"{n} = {'nan' if row[n] is None else _format_prediction(row[n])} {unit}".rstrip()
        for n, unit in fit.law.variables.items()
    )
    many = "" if len(rows) == 1 else f" (the first of {len(rows)} points)"
    begin = "Not converged: " if fit.converged is False else ""
    output = f"{fit.law.output} = {_format_prediction(row[centre])} {fit.law.unit}".rstrip()
    if row[centre] is None:
        because = f": {why}" if (why := answer.attrs.get("lost")) else ""
        return f"{begin}{fit.name} cannot be computed at {at}{many}{because}."
    if row.get("lower") is None or row.get("upper") is None:
        from forecast.fit.fit import Fits
        from forecast.fit.predict import band_origin

        stated = isinstance(fit, Fits) or "no_interval" not in answer.attrs
        origin = "" if stated else band_origin(cast("Fit", fit), answer.attrs["level"])
        why = origin.reason if isinstance(origin, UncertaintyError) else "none at this point"
        return f"{begin}{fit.name} predicts {output} at {at}{many}; no interval: {why}."
    band = f"the law lies in {_format_prediction(row['lower'])} to {_format_prediction(row['upper'])}"
    one = (
        f"one observation in {_format_prediction(row['observed_lower'])} to {_format_prediction(row['observed_upper'])}"
    )
    sure = f"{100 * answer.attrs['level']:g} %"
    return f"{begin}{fit.name} predicts {output} at {at}{many}; with {sure} probability {band}, {one}."


def _print_predictions(fit: Fit | Fits, result: dict[str, Any]) -> None:
    render.write_headline(result["headline"])
    rows = result["points"]
    names = list(rows[0])
    render.write_table(names, [[_format_prediction(row[n]) for n in names] for row in rows[:_MAX_PRINTED_ROWS]])
    if len(rows) > _MAX_PRINTED_ROWS:
        render.write(f"… {len(rows) - _MAX_PRINTED_ROWS} more points: --out FILE.csv or --json")
    render.write()
    far, beside = result["extrapolation_decades"], result["beside_extrapolate"]
    better = None
    if beside is not None and beside["extrapolate"] < beside["law"]:
        (name,) = fit.law.variables
        errors = f"{100 * beside['law']:.2g} %, forecast extrapolate by {100 * beside['extrapolate']:.2g} %"
        better = f"from {name} = {beside['from']:.4g}, as far back as this goes ahead, the law missed by {errors}"
    render.write_details(
        {
            "unit": result["unit"],
            "mean": result["mean_by"],
            "bands": result["bands"],
            "extrapolation": None if far is None else f"{far:.2f} decades beyond the data",
            "better": better,
            "parameters from": result["reference"]
            if fit.published
            else result["verdict"]
            if _by(fit)
            else f"{fit.n} points: {fit.verdict}",
        }
    )


def _format_prediction(value: Any) -> str:
    return value if isinstance(value, str) else "-" if value is None else written(value, 5)
