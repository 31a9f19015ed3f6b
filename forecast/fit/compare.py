"""Rival laws on the same data: information criteria, and what each would have forecast from the smaller points."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import __version__, tables
from forecast.base import budgets
from forecast.base.arrays import Array
from forecast.base.json_text import strict_json, to_json
from forecast.base.lazy import xr
from forecast.base.record_list import RecordList
from forecast.base.saved_records import (
    COUNT,
    FLAG,
    NUMBER,
    TEXT,
    ListSchema,
    MappingSchema,
    ObjectSchema,
    OptionalSchema,
    RefinedSchema,
    ValueSchema,
    check_record,
)
from forecast.errors import DataError, FitError, ForecastError, ResultError, UnknownNameError, UsageError, printable
from forecast.fit import objectives
from forecast.fit.data.observations import _compute

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from forecast.fit.fit import Fit
    from forecast.laws import Law
    from forecast.tables.columns import Columns


CRITERIA = ("aic", "aicc", "bic")
#: The shares of the points, smallest first, from which the others are forecast.
ORIGIN_SHARES = (0.5, 0.6, 0.7, 0.8, 0.9)
#: What the file of a comparison is, and the figures in it that other programs read.
COMPARISON_KIND, COMPARISON_FORMAT = "comparison", "1"
_MEASURES = ("parameters", "points", "objective", *CRITERIA, "rollout", "origins", "origins_tried")
#: Figures that differ by this share, or criteria by this much, differ by how far the solver went.
_TIE_RTOL = 1e-6


class Comparison(RecordList):
    """Rival laws on the same data: a record a law, and a sentence about them. Made by `forecast.compare`.

    Parameters
    ----------
    rows : sequence of dict
        One a law: ``law``, ``parameters``, ``converged``, ``verdict``, ``warnings``, ``objective``, ``aic``, ``aicc``,
        ``bic``, ``rollout`` (root mean square of the error on what lies beyond each origin, of logarithms under a log
        objective), ``origins`` (how many could be fitted), ``without`` (of each measure that is None, the reason),
        ``opposed`` where the law cannot go where the data go, so that it is never the best, and ``failed`` (the reason)
        where the law cannot be compared by any measure; it then has none.
    about : dict
        ``objective``, ``by``, ``points``, ``origins``, ``seed``; and ``data``, hashes by name, where a file was read.
    """

    def __init__(self, rows: Sequence[dict[str, Any]], about: dict[str, Any]) -> None:
        headline = _comparison_headline(rows, about)
        super().__init__(rows, headline=headline, columns=("law", "parameters", *CRITERIA, "rollout"))
        self.about = about

    def __reduce__(self) -> Any:
        return type(self), (list(self), self.about)

    @property
    def best(self) -> dict[str, tuple[str, ...]]:
        """The law with the lowest figure by each measure; see `best_laws`."""
        return best_laws(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save it as netCDF, whole or not at all; see `forecast.base.netcdf.save`.

        The file holds ``/`` (attributes: JSON text) and ``/laws`` (the figures, for other tools).

        Raises
        ------
        ResultError
            If it cannot be written.
        """
        from forecast.base import netcdf

        rows = strict_json(to_json(list(self)), where=COMPARISON_KIND)  # as whoever loads it will see it
        attrs = {
            "kind": to_json(COMPARISON_KIND), "format": to_json(COMPARISON_FORMAT),
            "versions": to_json({"lawcast": __version__}),
            COMPARISON_KIND: to_json({"data": {}, **self.about, "laws": rows}),
        }  # fmt: skip
        figures = xr.Dataset(_measure_arrays(rows), coords={"law": [row["law"] for row in rows]})
        return netcdf.save(xr.DataTree.from_dict({"/": xr.Dataset(attrs=attrs), "/laws": figures}), path)


def compare(
    laws: Sequence[Law | str],
    data: Any,
    *,
    objective: str | None = None,
    let: Mapping[str, str] | None = None,
    y: str | None = None,
    by: str | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Fit every law to the same points under the same objective.

    Parameters
    ----------
    laws : sequence of Law or str
        Laws, or their registered names.
    data : table
    objective : str, optional
        Of every law: criteria of different objectives cannot be compared. Default: ``least_squares_log`` where all of y
        is positive, else ``least_squares``.
    let, y : optional
        As in `forecast.Law.fit`; a variable that a law lacks does not concern it.
    by : str, optional
        The column or formula along which the rollout goes from small to large. Default: the first variable of the
        first law.
    seed : int
    progress : callable, optional
        Called with (fits done, fits in all): each law has one, and one from each origin.

    Returns
    -------
    Comparison

    Raises
    ------
    ForecastError
        If every law fails for what is wrong with the question or the data: the first one's reason.

    Examples
    --------
    >>> import numpy as np, forecast
    >>> x = np.geomspace(1, 100, 20)
    >>> forecast.compare(["scaling/power", "scaling/saturating-power"], {"x": x, "y": 1 + x**-0.5}).best["rollout"]
    ('scaling/saturating-power',)
    """
    from forecast.laws import law as law_of
    from forecast.tables.column_names import columns_in
    from forecast.tables.same_place import check_one_curve

    if not laws or isinstance(laws, str) or not isinstance(laws, Sequence):
        found = "none" if not laws else type(laws).__name__
        raise UsageError(f"compare: expected a list of laws first, then the data, got {found}")
    rivals = [law_of(each) if isinstance(each, str) else each for each in laws]
    columns = tables.to_columns(data, where="compare")
    lets = dict(let or {})
    everywhere = {v for law in rivals for v in law.variables}
    for name in lets:
        if name not in everywhere:
            raise UnknownNameError("variable", name, everywhere, where="compare: let")
    used = [
        y,
        by,
        *(lets.get(v, v) for law in rivals for v in law.variables),
        *(law.output for law in rivals if y is None),
    ]
    names = [name for text in used if text is not None for name in columns_in(text, columns)]
    columns = columns.complete([name for name in names if columns.meaning(name).problem is None])
    seen = _compute(y, columns, "compare: y") if y is not None else None
    if objective is None:
        known = [seen] if seen is not None else [columns.numeric(law.output) for law in rivals if law.output in columns]
        positive = all(bool((values[np.isfinite(values)] > 0).all()) for values in known)
        objective = "least_squares_log" if positive else "least_squares"
    chosen = objectives.find_objective(objective, where="compare")
    first = next(iter(rivals[0].variables))
    order = by if by is not None else lets.get(first, first)
    along = _compute(order, columns, "compare: by")
    if columns.from_file:
        variables = [lets.get(v, v) for v in rivals[0].variables]
        numeric = [text for text in variables if text not in columns or columns.meaning(text).kind != "text"]
        places = np.array([_compute(text, columns, "compare") for text in numeric])
        check_one_curve(columns, places, names, "compare", by=False)
    if not np.isfinite(along).all():
        raise DataError("compare: by: a value is missing or infinite")
    rows: list[dict[str, Any]] = []
    problems: list[ForecastError] = []
    each = 1 + len(ORIGIN_SHARES)
    for place, law in enumerate(rivals):

        def told(done: int, before: int = place * each) -> None:
            if progress is not None:
                progress(before + done, len(rivals) * each)

        options: dict[str, Any] = {
            "objective": chosen.name,
            "let": {k: v for k, v in lets.items() if k in law.variables},
            "y": y,
        }
        row: dict[str, Any] = {"law": law.name or law.expression or str(law), "parameters": len(law.parameters)}
        try:
            fit = law.fit(columns, seed=seed, **options)
            told(1)
            verdict = fit.outcome if fit.converged is False else fit.verdict  # no end, nothing to judge
            opposed = "" if fit.converged is False else fit.diagnostics.opposed
            row |= {"converged": fit.converged, "verdict": verdict, "objective": fit.objective, "points": fit.n}
            row["warnings"] = list(fit.notes)
            if fit.converged is False:
                row["failed"] = "the fit did not converge"
            else:
                if opposed:
                    row["opposed"] = opposed
                row |= _law_measures(law, fit, columns, along, {**options, "seed": seed}, told)
        except ForecastError as problem:
            budgets.check_time("comparing", len(rows), len(rivals), "laws")
            problems.append(problem)
            row["failed"] = str(problem)
        told(each)
        rows.append(row)
    if len(problems) == len(rivals) and not all(isinstance(problem, FitError) for problem in problems):
        raise problems[0]
    about = {"objective": chosen.name, "by": order, "points": columns.rows, "origins": list(ORIGIN_SHARES)}
    return Comparison(rows, {**about, "seed": seed, "read": columns.read_line})


def _law_measures(
    law: Law, fit: Fit, columns: Columns, along: Array, options: Mapping[str, Any], report: Callable[[int], None]
) -> dict[str, Any]:
    """Return the measures of a fit that converged, and the reasons of those it lacks."""
    found: dict[str, Any] = criteria(fit)
    found |= _forecast_origins(law, columns, along, options, report)
    why = found["without"] = _no_criteria(fit, found)
    if found["rollout"] is None:
        nothing, tried = "no point lies beyond another", found["origins_tried"]
        why["rollout"] = f"no fit to the smallest points gave a forecast (origins: {tried})" if tried else nothing
    if all(found[measure] is None for measure in (*CRITERIA, "rollout")):
        found["failed"] = "; ".join(dict.fromkeys(why.values()))
    return found


def _no_criteria(fit: Fit, found: Mapping[str, float | None]) -> dict[str, str]:
    """Return why a fit lacks criteria, by criterion."""
    objective, n, k = objectives.find_objective(fit.objective_name), fit.n or 0, _n_parameters(fit)
    if found["aic"] is not None:
        least = k + 2 + objective.estimates_scale
        return {} if found["aicc"] is not None else {"aicc": f"{k} parameters take at least {least} points, got {n}"}
    if not objective.is_likelihood:
        reason = f"the objective '{objective.name}' is no likelihood"
    elif n <= k:
        reason = f"{n} points leave no error to judge {k} parameters by"
    else:
        reason = "the law goes through every point: there is no error to judge it by"
    return dict.fromkeys(CRITERIA, reason)


def _n_parameters(fit: Fit) -> int:
    """Return how many parameters were fitted."""
    return len(fit.uncertainty.names) if fit.uncertainty is not None else len(fit.values)


def criteria(fit: Fit) -> dict[str, float | None]:
    """Return AIC, AICc and BIC; None where the objective is no likelihood. A scale that is estimated is a parameter.

    None too where it cannot be estimated, because there are no more points than parameters.

    Examples
    --------
    >>> from forecast import Law
    >>> fit = Law("a*x", variables=["x"]).fit({"x": [1.0, 2.0, 3.0], "y": [1.1, 1.9, 3.2]})
    >>> found = criteria(fit)
    >>> round(found["bic"] - found["aic"], 6)  # two parameters, three points
    -1.802775
    """
    objective, value = objectives.find_objective(fit.objective_name), fit.objective
    n, k = fit.n or 0, _n_parameters(fit)
    loss = None
    if value is not None and n > (k if objective.estimates_scale else 0):
        loss = objective.minus_log_likelihood(value, n)
    if loss is None:
        return dict.fromkeys(CRITERIA)
    k += objective.estimates_scale
    aic = 2 * loss + 2 * k
    small = aic + 2 * k * (k + 1) / (n - k - 1) if n > k + 1 else None
    return {"aic": aic, "aicc": small, "bic": 2 * loss + k * math.log(n)}


def _forecast_origins(
    law: Law, columns: Columns, along: Array, options: Mapping[str, Any], report: Callable[[int], None]
) -> dict[str, Any]:
    """Forecast what lies beyond each origin from what lies before it."""
    places = np.unique(along)
    squares, done, tried = [], 0, 0
    for place, share in enumerate(ORIGIN_SHARES, start=1):
        report(place)
        cut = places[min(max(math.ceil(share * places.size) - 1, 0), places.size - 1)]
        before = along <= cut
        if before.all():
            continue
        tried += 1
        try:
            fit = law.fit(columns.take(before), **options)
            if fit.converged is False:
                continue
            error = _hindcast_errors(fit, columns.take(~before), options)
        except ForecastError:
            budgets.check_time("extrapolating from earlier points", done, len(ORIGIN_SHARES), "origins")
            continue
        if np.isfinite(error).all():
            squares.append(float(np.mean(error**2)))
            done += 1
    return {"rollout": math.sqrt(float(np.mean(squares))) if done else None, "origins": done, "origins_tried": tried}


def _hindcast_errors(fit: Fit, columns: Columns, options: Mapping[str, Any]) -> Array:
    lets, y = options["let"], options["y"]
    values = {v: _compute(lets.get(v, v), columns, v) for v in fit.law.variables}
    seen = _compute(y if y is not None else fit.law.output, columns, "y")
    predicted = fit.law.value(fit.values, **values)
    with np.errstate(all="ignore"):
        return np.asarray(np.log(predicted) - np.log(seen) if fit.log else predicted - seen)


def best_laws(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the law with the lowest figure by each measure; by rollout among those that did most origins.

    Not a law that cannot go where the data go. There is none where no law has the measure, and more than one where
    they differ by rounding: one law written twice.
    """
    found: dict[str, tuple[str, ...]] = {}
    good = [row for row in rows if "failed" not in row and "opposed" not in row]
    for measure in (*CRITERIA, "rollout"):
        known = [row for row in good if row.get(measure) is not None]
        if measure == "rollout" and known:
            most = max(row["origins"] for row in known)
            known = [row for row in known if row["origins"] == most]
        least = min((row[measure] for row in known), default=math.nan)
        close = _TIE_RTOL * (least if measure == "rollout" else max(abs(least), 1.0))
        found[measure] = tuple(row["law"] for row in known if row[measure] <= least + close)
    return found


def _comparison_headline(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> str:
    """Return the sentence of a comparison."""
    best, count = best_laws(rows), len(rows)
    judged = [row["law"] for row in rows if "failed" not in row]
    points = "the one point" if about["points"] == 1 else f"the {about['points']} points"
    if len(judged) == 1 and count == 1:
        return f"{judged[0]} is alone on {points}: name another law to compare it with."
    if len(judged) == 1:
        return f"Only {judged[0]} can be judged on {points}: there is nothing to compare it with."
    explains, forecasts = best["aicc"] or best["aic"], best["rollout"]
    alike = explains == forecasts
    parts = []
    if explains:
        sentence = f"{_subject_and_verb(explains, 'explain')} {points} best ({'AICc' if best['aicc'] else 'AIC'})"
        parts.append(sentence if alike else sentence + _tie_note(explains))
    if forecasts:
        link = (
            f"and also {_subject_and_verb(forecasts, 'forecast', named=False)}"
            if alike
            else _subject_and_verb(forecasts, "forecast")
        )
        parts.append(f"{link} the larger ones best from the smaller ones{_tie_note(forecasts)}")
    nothing = "No law goes where these data go." if judged else "No law can be judged on these data."
    return ", ".join(parts) + "." if parts else nothing


def _subject_and_verb(laws: tuple[str, ...], verb: str, *, named: bool = True) -> str:
    """Return "A explains", or "A, B and C explain"."""
    verb += "" if len(laws) > 1 else "s"
    return f"{' and '.join(filter(None, (', '.join(laws[:-1]), laws[-1])))} {verb}" if named else verb


def _tie_note(laws: tuple[str, ...]) -> str:
    return " (they cannot be told apart)" if len(laws) > 1 else ""


# Saved ----------------------------------------------------------------------------------------------------------------


def _measure_arrays(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, Array]]:
    return {
        name: ("law", np.array([math.nan if (found := row.get(name)) is None else float(found) for row in rows]))
        for name in _MEASURES
    }


def is_comparison(tree: xr.DataTree) -> bool:
    """Tell whether a loaded result is a comparison of laws."""
    return bool(tree.attrs.get("kind") == to_json(COMPARISON_KIND))


def comparison_of(tree: xr.DataTree, path: str | os.PathLike[str]) -> Comparison:
    """Return the comparison that a loaded result holds; `path` is where it was.

    Raises
    ------
    ResultError
        If it holds anything else. The copies for other programs in /laws are not read.
    """
    where = printable(path)
    read = {str(k): strict_json(text, where=f"{where}: {k}", error=ResultError) for k, text in tree.attrs.items()}
    if set(read) != {"kind", "format", "versions", COMPARISON_KIND}:
        raise ResultError(f"{where}: comparison: attributes: expected kind, format, versions and comparison")
    if read["format"] != COMPARISON_FORMAT:
        reads = f"{COMPARISON_FORMAT}, what this version of forecast reads"
        raise ResultError(f"{where}: comparison: format: expected {reads}")
    about = read[COMPARISON_KIND]
    check_record(about, _ABOUT, where=f"{where}: comparison")
    rows = about.pop("laws")
    objectives.find_objective(about["objective"], where=where)
    return Comparison(rows, about)


_BY_NAME = MappingSchema(TEXT)
#: What a saved comparison holds of each law, and what it is about.
_LAW_ROW = RefinedSchema(
    ObjectSchema(
        {"law": TEXT, "parameters": COUNT},
        {
            **dict.fromkeys(("objective", *CRITERIA, "rollout"), OptionalSchema(NUMBER)),
            **dict.fromkeys(("points", "origins", "origins_tried"), COUNT),
            **dict.fromkeys(("verdict", "failed", "opposed"), TEXT),
            "converged": OptionalSchema(FLAG),
            "warnings": ListSchema(TEXT),
            "without": _BY_NAME,
        },
    ),
    "its measures, or why it failed",
    lambda row: "failed" in row or {*CRITERIA, "rollout", "origins", "converged"} <= set(row),
)
_ABOUT = ObjectSchema(
    {
        "objective": TEXT,
        "by": TEXT,
        "points": COUNT,
        "origins": ValueSchema("those of this version", lambda value: value == list(ORIGIN_SHARES)),
        "seed": COUNT,
        "data": _BY_NAME,
        "laws": ListSchema(_LAW_ROW, 1, 10_000),
    },
    {"read": TEXT},
)
