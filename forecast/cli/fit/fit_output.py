"""What ``forecast fit`` says of a fit, and of many: as plain data, and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from forecast.base.json_text import none_if_not_finite
from forecast.cli import render
from forecast.cli.output_files import columns_of, emit_files
from forecast.errors import FitError, UncertaintyError, printable
from forecast.report.words.number_text import format_or_dash

if TYPE_CHECKING:
    from forecast.fit.fit import Fit, Fits
    from forecast.laws import Law

#: Fits that are judged one by one, which takes the time of an interval for each; of more only the outcome is said.
MAX_JUDGED_FITS = 100
#: Parameters named in a headline.
MAX_NAMED_PARAMETERS = 6
#: Reasons of failures that are listed.
MAX_LISTED_REASONS = 10


def _formula_text(law: Law) -> str:
    return law.text if hasattr(law, "text") else f"{law.output} = {law.expression}"


def show_fit(
    fit: Fit | Fits,
    *,
    level: float,
    title: str = "",
    notes: Sequence[str] = (),
    provenance: Mapping[str, Any],
    **outputs: Any,
) -> bool:
    """Write a fit, or many, new or loaded, and every requested file; tell whether all of it converged.

    Parameters
    ----------
    fit : Fit or Fits
    level : float
        Of the intervals.
    title : str
        What to call a single fit.  [default: its name]
    notes : sequence of str
        Warnings beside those of the fit.
    provenance : mapping
    **outputs
        The files, plots and JSON of `emit_files`.
    """
    from forecast.fit.fit import Fit
    from forecast.report.figures import fit_figure

    one = isinstance(fit, Fit)
    plot: Any = fit_figure.plot_fit if one else fit_figure.plot_many_fits
    result = fit_data(fit, level, title or fit.name) if isinstance(fit, Fit) else fits_data(fit, level)
    emit_files(
        result,
        text=partial(write_one if one else write_many, result),
        table=partial(_parameter_columns, result),
        draw=partial(plot, fit),
        save=fit.save,
        **outputs,
        read=[fit.read if isinstance(fit, Fit) else fit.solutions.curves.read],
        warnings=[*notes, *fit.warnings],
        provenance=provenance,
    )
    return fit.converged is not False if isinstance(fit, Fit) else bool(fit.converged.values.all())


def _parameter_columns(result: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the parameters as columns: a row for each, of every fit."""
    rows = []
    for fit in result.get("fits", (result,)):
        about = {key: fit[key] for key in ("points", "converged", "verdict")}
        label = {result["by"]: fit["name"]} if "by" in result else {}
        for parameter in fit["parameters"]:
            figures = {key: none_if_not_finite(parameter[key]) for key in ("value", "stderr", "lower", "upper")}
            rows.append({**label, "parameter": parameter["name"], **figures, **about})
    return columns_of(rows)


# One fit --------------------------------------------------------------------------------------------------------------


def fit_data(fit: Fit, level: float, title: str) -> dict[str, Any]:
    """Return a fit, called by a title, as plain data."""
    from forecast.fit.inference.interval import origin

    try:
        names, table = fit._covariance
        covariance: dict[str, Any] | None = {"names": names, "matrix": table.tolist()}
        why = None
    except FitError as problem:
        covariance, why = None, str(problem)
    parameters = [_parameter_record(fit, name, level) for name in fit.values]
    return {
        "law": fit.law.name,
        "formula": _formula_text(fit.law),
        "headline": _fit_headline(fit, title, parameters, level),
        "points": fit.n,
        "objective": {"name": fit.objective_name, "value": fit.objective, "delta": fit.delta},
        "converged": fit.converged,
        "starts": {"agree": fit.starts[0], "of": fit.starts[1]},
        "verdict": fit.verdict,
        "level": level,
        "intervals": origin(fit, level) or None,
        "parameters": parameters,
        "covariance": covariance,
        "no_covariance": why,
        "residual_scale": fit.residual_scale,
        "ranges": {n: list(pair) for n, pair in fit.ranges.items()},
    }


def _parameter_record(fit: Fit, name: str, level: float) -> dict[str, Any]:
    row = {"name": name, "value": fit.values[name], "stderr": fit._stderr.get(name)}
    try:
        low, high = fit.interval(name, level)
    except UncertaintyError as problem:
        identified = False if problem.unidentified else None
        why = f"no {problem.what}: {problem.reason}"
        return {**row, "lower": None, "upper": None, "identified": identified, "why": why}
    ridge = fit.diagnostics.unidentified.get(name)  # an interval alone does not say so: it may run along a ridge
    return {**row, "lower": low, "upper": high, "identified": ridge is None, "why": ridge}


def _fit_headline(fit: Fit, title: str, parameters: list[dict[str, Any]], level: float) -> str:
    sentences = [_parameter_text(row) for row in parameters[:MAX_NAMED_PARAMETERS]] + (
        ["…"] if len(parameters) > MAX_NAMED_PARAMETERS else []
    )
    begin = "" if fit.converged else "Not converged: "
    return f"{begin}{title} on {fit.n} points: {', '.join(sentences)} ({100 * level:g} % intervals)."


def _parameter_text(row: dict[str, Any]) -> str:
    between = "no interval" if row["lower"] is None else f"{row['lower']:.4g} to {row['upper']:.4g}"
    return f"{row['name']} = {row['value']:.4g} ({between})"


def write_one(result: dict[str, Any]) -> None:
    """Write what `fit_data` returned."""
    render.write_headline(result["headline"])
    rows = []
    for row in result["parameters"]:
        ends = [format_or_dash(row["lower"]), format_or_dash(row["upper"])]
        rows.append(
            [row["name"], format_or_dash(row["value"], 8), format_or_dash(row["stderr"]), *ends, row["identified"]]
        )
    percent = f"{result['level']:.0%}"
    render.write_table(["parameter", "value", "std error", f"{percent} lower", "upper", "identified"], rows)
    render.write()
    objective = result["objective"]
    delta = "" if objective["delta"] is None else f" (delta {objective['delta']:.4g})"
    render.write_details(
        {
            "formula": result["formula"],
            "points": result["points"],
            **({"intervals": result["intervals"]} if result["intervals"] else {}),
            "objective": f"{objective['name']}{delta} = {objective['value']:.10g}",
            "converged": result["converged"],
            "verdict": result["verdict"],
        }
    )


# Many fits ------------------------------------------------------------------------------------------------------------


def fits_data(fits: Fits, level: float) -> dict[str, Any]:
    """Return the fits of ``--by`` as plain data: each of them, and what they have in common."""
    names = list(fits.law.parameters)
    ends = {name: fits.interval(name, level) for name in names}
    columns = {
        name: {
            "value": fits.params[name].values.tolist(),
            "stderr": fits.stderr[name].values.tolist(),
            "lower": ends[name]["lower"].values.tolist(),
            "upper": ends[name]["upper"].values.tolist(),
        }
        for name in names
    }
    verdicts = fits.verdict if len(fits) <= MAX_JUDGED_FITS else fits.outcome
    shown = (fits.converged[fits.by], fits.n, fits.converged, fits.objective, verdicts)
    rows = [
        {
            "name": label,
            "points": points,
            "converged": converged,
            "objective": objective,
            "verdict": verdict,
            "parameters": [{"name": n, **{key: values[i] for key, values in columns[n].items()}} for n in names],
        }
        for i, (label, points, converged, objective, verdict) in enumerate(
            zip(*(array.values.tolist() for array in shown), strict=True)
        )
    ]
    common = _quantile_rows(fits, names)
    good = int(fits.converged.sum())
    title = fits.law.name or _formula_text(fits.law)
    middle = [f"median {row['name']} = {row['p50']:.4g}" for row in common[:MAX_NAMED_PARAMETERS]]
    count = f"all {len(rows)} converged" if good == len(rows) else f"{good} of {len(rows)} converged"
    return {
        "law": fits.law.name,
        "formula": _formula_text(fits.law),
        "headline": f"{title} over '{printable(fits.by, 60)}': {'; '.join([count, *middle])}.",
        "by": fits.by,
        "count": len(rows),
        "converged": good,
        "objective": fits.objective_name,
        "level": level,
        "parameters": common,
        "fits": rows,
    }


def _quantile_rows(fits: Fits, names: list[str]) -> list[dict[str, Any]]:
    """Return quantiles of each parameter over the fits that converged."""
    from forecast.base.netcdf import quantiles

    good = fits.converged.values
    if not good.any():
        return []
    rows = []
    for name in names:
        low, middle, high = (float(q) for q in quantiles(fits.params[name].values[good], [0.05, 0.5, 0.95]))
        rows.append({"name": name, "p05": low, "p50": middle, "p95": high})
    return rows


def write_many(result: dict[str, Any]) -> None:
    """Write what `fits_data` returned, without the single fits."""
    render.write_headline(result["headline"])
    if result["parameters"]:
        cells = [
            [row["name"], *(format_or_dash(row[q]) for q in ("p50", "p05", "p95"))] for row in result["parameters"]
        ]
        render.write_table(["parameter", "median of fits", "5 %", "95 %"], cells)
        render.write()
    reasons: dict[str, list[str]] = {}
    for row in result["fits"]:
        if row["verdict"] != "converged":
            reasons.setdefault(row["verdict"], []).append(render.cell(row["name"]))
    if reasons:
        shown = sorted(reasons.items(), key=lambda pair: -len(pair[1]))[:MAX_LISTED_REASONS]
        render.write_table(["fits", "verdict", "the first"], [[len(who), why, who[0]] for why, who in shown])
        if len(reasons) > MAX_LISTED_REASONS:
            render.write(f"… {len(reasons) - MAX_LISTED_REASONS} more verdicts: --json")
        render.write()
    render.write_details(
        {
            "formula": result["formula"],
            "fits": f"{result['converged']} of {result['count']} converged; --json lists them",
            "objective": result["objective"],
        }
    )
