"""Backtests of laws: fitted to the lower part of the points, against the upper part; or to all groups but one.

A law is frozen by fitting it to the rows on one side of a cut. What is scored is the band that `forecast.Fit.predict`
gives an observation on the other side, so that the record is of what people are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import tables
from forecast.base.arrays import Array, BoolArray
from forecast.errors import DataError, FitError, ForecastError, UnknownNameError, UsageError, join_lines, printable
from forecast.evaluation import rolling_origin as rolling
from forecast.evaluation.extrapolate import forecast_quantiles
from forecast.fit.data.observations import _compute
from forecast.fit.fit import Fit
from forecast.laws import Law, law
from forecast.tables.column_names import columns_in
from forecast.tables.columns import Columns
from forecast.tables.same_place import check_one_curve

if TYPE_CHECKING:
    from forecast.evaluation.backtest_datasets import Backtest

#: What a curve is tried with where no law is named: the laws that learning curves are extrapolated with.
DEFAULT_LAWS = (
    "scaling/power", "scaling/saturating-power", "scaling/shifted-power", "scaling/m3", "scaling/m4",
    "scaling/broken-power",
)  # fmt: skip
#: The name of what `forecast.extrapolate` says, beside laws of one variable.
POOL_NAME = "extrapolate"
#: Shares at which a forecast is tabulated: `numpy.quantile` of these gives back its quantiles to 1e-3 of their share.
_PROBABILITIES = np.linspace(0.0005, 0.9995, 401)


def backtest_laws(
    laws: Sequence[Law] = (),
    data: Any = None,
    *,
    let: Mapping[str, str] | None = None,
    y: str | None = None,
    along: str | None = None,
    leave_out: str | None = None,
    objective: str | None = None,
    name: str = "",
    scores: Sequence[str] = rolling.DEFAULT_SCORES,
    most_origins: int = 6,
    most_targets: int = 10,
    seed: int = 0,
    workers: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> Backtest:
    """Fit laws to the lower part of the points from several origins, and score what they say of the upper part.

    The origins come after eight different places and 40 % of them. Beside the laws stand the last value and a straight
    line in logarithms through it, each with the interval of a walk, and, of laws of one variable, the pool that
    `forecast.extrapolate` uses.

    Parameters
    ----------
    laws : sequence of forecast.Law
        Default: `DEFAULT_LAWS`.
    data : table
        As in `forecast.Law.fit`.
    let : mapping of str to str, optional
        Variables as formulas over columns.
    y : str, optional
        The column, or formula, that the laws explain. Default: the output of the first.
    along : str, optional
        The column or formula by which points are low or high: compute, steps. Default: the first variable of the first
        law.
    leave_out : str, optional
        A column: each of its groups is forecast from all others, in place of the upper part from the lower.
    objective : str, optional
        Of every law. Default: ``least_squares_log`` where what is fitted is positive, else ``least_squares``.
    name : str
        Of the data.
    scores, most_origins, most_targets, seed, workers, progress
        As in `forecast.evaluation.rolling_origin.backtest`.

    Returns
    -------
    Backtest
        As `forecast.evaluation.rolling_origin.backtest` does; in place of ``years`` it has ``ahead``: decades of
        `along` beyond what was fitted (its difference where it is not positive). The origin is the last place that was
        fitted, or the group that was left out.

    Raises
    ------
    DataError
        If there are too few places to be cut, or too few groups.
    UnknownNameError, FormulaError
        If a column does not exist, or a formula cannot be read.

    Examples
    --------
    >>> import forecast, numpy as np
    >>> from forecast.evaluation.rolling_origin import score_rows
    >>> x = np.geomspace(1e3, 1e6, 24)
    >>> noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(24))
    >>> data = {"x": x, "loss": (1.7 + 40 * x**-0.4) * noise}
    >>> found = backtest_laws([forecast.law("scaling/saturating-power")], data, y="loss", most_origins=2)
    >>> rows = {row["model"]: row for row in score_rows([found])}
    >>> rows["scaling/saturating-power"]["skill_last_value"] > 0
    True
    """
    from forecast.fit.solve.parallel import check_workers

    check_workers(workers, "backtest")
    chosen = list(laws) or [law(each) for each in DEFAULT_LAWS]
    names = [each.name or each.expression or str(each) for each in chosen]
    if len(set(names)) < len(names):
        raise UsageError("backtest: a law is named twice")
    columns = _with_variables(tables.to_columns(data, where="backtest"), chosen, dict(let or {}))
    explained = y if y is not None else chosen[0].output
    order = along if along is not None else next(iter(chosen[0].variables))
    used = [order, *(variable for each in chosen for variable in each.variables)]
    names_used = [name for text in used for name in columns_in(text, columns)]
    columns = columns.complete(names_used)
    place = _compute(order, columns, "backtest: along")
    if leave_out is None and columns.from_file:
        check_one_curve(columns, place[None], names_used, "backtest", by=False)
    columns.from_file = False  # the groups of a file are fitted together, but for the one that is left out
    if not np.isfinite(place).all():
        raise DataError("backtest: along: a value is missing or infinite")
    cuts: list[rolling.Origin] = []
    pieces: list[tuple[Any, ...]] = []
    curves = all(len(each.variables) == 1 for each in chosen) and all(
        np.array_equal(_compute(variable, columns, "backtest"), place) for each in chosen for variable in each.variables
    )
    pooled = leave_out is None and place.min() > 0 and curves
    walks = [*rolling.REFERENCE_SHAPES] if leave_out is None and place.min() > 0 else []
    for at, fitted, targeted in (
        _scale_origins(place, most_origins, most_targets, name)
        if leave_out is None
        else _group_splits(columns.column(leave_out), place, most_targets, leave_out)
    ):
        before, after = columns.take(fitted), columns.take(targeted)
        observed = _compute(explained, after, "backtest: y")
        cuts.append(
            rolling.Origin(
                at=at, ahead=_beyond(place, fitted, targeted), observed=observed, place=np.arange(int(targeted.sum()))
            )
        )
        pieces += [(each, before, after, explained, objective, seed) for each in chosen]
        curve = (place[fitted], _compute(explained, before, "backtest: y"), place[targeted])
        pieces += [(each, *curve) for each in ([POOL_NAME] if pooled else []) + walks]
    names = [*names, *([POOL_NAME] if pooled else []), *walks]
    found = rolling.score_origins(
        _draws_or_reason, pieces, cuts, names, scores=scores, workers=workers, progress=progress
    )
    return found.assign_attrs(name=name, unit="", along=leave_out or order)


def compare_with_pool(fit: Fit, to: float) -> dict[str, float] | None:
    """Hold a fit of a curve and `forecast.extrapolate` against the last points, from as far back as `to` lies ahead.

    The law is fitted anew to the earlier points.

    Parameters
    ----------
    fit : forecast.Fit
    to : float
        Beyond the data.

    Returns
    -------
    dict or None
        ``from`` (the last x of the earlier points), ``points`` (the later ones), and the root mean square errors of log
        y: ``law`` and ``extrapolate``. None of what is no curve, has too few points so far back, or does not converge
        there.

    Examples
    --------
    >>> import forecast, numpy as np
    >>> x = np.geomspace(1e3, 1e6, 30)
    >>> fit = forecast.law("scaling/power").fit({"x": x, "y": 1.7 + 40 * x**-0.4})
    >>> found = compare_with_pool(fit, 3e6)
    >>> found["law"] > 3 * found["extrapolate"]
    True
    """
    from forecast.fit.pool.law_pool import MIN_CURVE_POINTS, forecast_curve
    from forecast.fit.predict import beyond

    curve = None if fit.solutions is None else beyond(fit.solutions, 0, np.array([float(to)]))
    if curve is None:
        return None
    count = int(np.searchsorted(curve.x, curve.x[-1] ** 2 / to, side="right"))
    if count < max(MIN_CURVE_POINTS, len(fit.law.parameters) + 1):
        return None
    (name,), later = fit.law.variables, np.log(curve.y[count:])
    try:
        data = {name: curve.x[:count], fit.law.output: curve.y[:count]}
        earlier = fit.law.fit(data, y=fit.law.output, objective=fit.objective_name)
        pooled = forecast_curve(curve.x[:count], curve.y[:count], curve.x[count:]).quantile(0.5)
    except ForecastError:
        return None
    with np.errstate(all="ignore"):
        law = np.log(np.asarray(earlier(**{name: curve.x[count:]}), dtype=float))
    errors = [float(np.sqrt(np.mean((each - later) ** 2))) for each in (law, pooled)]
    if not earlier.converged or not np.isfinite(errors).all():
        return None
    return {"from": float(curve.x[count - 1]), "points": later.size, "law": errors[0], "extrapolate": errors[1]}


def _with_variables(columns: Columns, laws: Sequence[Law], lets: Mapping[str, str]) -> Columns:
    """Return the columns with the variables that formulas say, read, so that other processes can be handed them."""
    everywhere = {variable for each in laws for variable in each.variables}
    result = {}
    for variable, text in lets.items():
        if variable not in everywhere:
            raise UnknownNameError("variable", variable, everywhere, where="backtest: let")
        where = f"backtest: let '{printable(variable, 60)}'"
        result[variable] = columns[text] if text in columns else _compute(text, columns, where)
    return columns.replaced(result, {name: columns.units.get(lets[name], "") for name in result}).read_whole()


def _scale_origins(place: Array, most_origins: int, most_targets: int, name: str) -> Any:
    """Yield the origins: the last place of the fitted rows, the mask of these, and the mask of the target rows."""
    distinct, row = np.unique(place, return_inverse=True)
    rank = row.astype(float)
    cuts = rolling.choose_origins(rank, most=most_origins)
    if not len(cuts):
        raise DataError(
            f"{printable(name, 60) or 'backtest'}: too short to be cut: expected a point after eight different places, "
            f"got {distinct.size} places"
        )
    upward = np.argsort(rank, kind="stable")
    for cut in cuts:
        targeted = np.zeros(place.size, dtype=bool)
        targeted[upward[rolling.choose_targets(rank[upward], cut, years=np.inf, most=most_targets)]] = True
        yield float(distinct[int(cut)]), rank <= cut, targeted


def _group_splits(labels: Any, place: Array, most_targets: int, column: str) -> Any:
    """Yield the groups: the label, the mask of all other rows, and the mask of the target rows of the group."""
    shown = np.array([str(label) for label in labels])
    groups = [str(label) for label in np.unique(shown) if label not in ("", "nan")]
    if len(groups) < 2:
        raise DataError(f"backtest: leave_out: expected at least two groups in '{printable(column, 60)}'")
    for group in groups:
        own = np.flatnonzero(shown == group)
        own = own[np.argsort(place[own], kind="stable")]
        targeted = np.zeros(place.size, dtype=bool)
        targeted[own[rolling.choose_targets(np.arange(1.0, own.size + 1), 0.0, years=np.inf, most=most_targets)]] = True
        yield group, shown != group, targeted


def _beyond(place: Array, fitted: BoolArray, targeted: BoolArray) -> Array:
    """Return the distances of the target rows beyond the fitted ones, in decades or as differences."""
    last = place[fitted].max()
    return np.asarray(np.log10(place[targeted] / last) if place.min() > 0 else place[targeted] - last)


# One forecast ---------------------------------------------------------------------------------------------------------


def _draws_or_reason(what: Law | str, *given: Any) -> Array | str:
    """Return draws of observations, (row, draw), of a law, the pool or a reference; or why there are none."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same at every origin; a fit that fails says so
            drawn = _curve_draws(what, *given) if isinstance(what, str) else _draw_law(what, *given)
    except ForecastError as problem:
        return join_lines(problem)
    if not np.isfinite(drawn).all() or (drawn <= 0).any():
        return "its forecasts are not all positive and finite"
    return drawn


def _draw_law(
    law: Law, fit_columns: Columns, target_columns: Columns, y: str, objective: str | None, seed: int
) -> Array:
    """Fit a law, and return its prediction intervals at the target rows as draws."""
    if objective is None:
        observed = _compute(y, fit_columns, "backtest: y")
        objective = "least_squares_log" if (observed[np.isfinite(observed)] > 0).all() else "least_squares"
    fit = law.fit(fit_columns, y=y, objective=objective, seed=seed)
    if fit.converged is False:
        raise FitError("the fit did not converge")
    there: dict[str, Any] = {
        v: target_columns.column(v) if v in law.levels else _compute(v, target_columns, "backtest")
        for v in law.variables
    }
    band = fit.predict(level=0.9, **there)
    if "no_interval" in band.attrs:
        raise FitError(band.attrs["no_interval"])
    assert fit.uncertainty is not None
    # the band of an observation is Student's t about the median (in logarithms under a log objective)
    quantile = fit.uncertainty.quantile
    apart = np.array([float(quantile(share)[0]) for share in _PROBABILITIES]) / float(quantile(0.95)[0])
    middle, upper = (band[each].values[:, None] for each in ("median", "observed_upper"))
    return np.asarray(middle * (upper / middle) ** apart if fit.log else middle + (upper - middle) * apart)


def _curve_draws(what: str, x: Array, y: Array, to: Array) -> Array:
    """Return what the pool, or a reference, says of a curve."""
    if what == POOL_NAME:
        places, row = np.unique(to, return_inverse=True)
        return forecast_quantiles(x, y, places, _PROBABILITIES)[row]
    from forecast.base.streams import Streams

    if not (np.isfinite(y) & (y > 0)).all():
        raise DataError("a value has no logarithm")
    walk = rolling.REFERENCE_SHAPES[what].fit(np.log(x), y)
    return walk.sample(np.log(to), Streams(seed=0, node=f"backtest/{what}", block=0))[:, : _PROBABILITIES.size]
