"""A saved fit is a stranger's: every field has its type and shape, and what can be computed again is computed again.

The hash in a file is a checksum against accidents: whoever changes the file can make a new one. So each number is held
against the others. Where the data are in the file, the objective and all that is known of the parameters follow from
the law, the data and the parameters, and are compared with what the file says. What nothing in the file can tell (how
many starts there were, which replicates were audited, texts for people) has its type checked and changes no number.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from forecast.errors import ForecastError, ResultError, printable
from forecast.fit.problem.target import ROUNDING as LENGTH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forecast.fit.data.observations import Observed
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.inference.uncertainty import Uncertainty
    from forecast.fit.solution import Fit

    Array = NDArray[np.float64]
    Test = Callable[[Any], bool]

__all__ = ["VALUE_RTOL", "check_fields", "check_fit", "equal"]

#: Numbers that are computed again may differ by rounding: other processors sum in another order.
VALUE_RTOL = 1e-9
#: Of covariances, relative to the standard errors; and what rounding does to them, for each unit of condition.
NEAR, ROUNDING = 1e-6, 1e-13
#: The inverse of a matrix that is nearly a ridge is symmetric but for rounding, relative to the standard errors.
ASYMMETRIC = 1e-4
LONGEST_TEXT = 20_000


# Types ----------------------------------------------------------------------------------------------------------------


def _text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62


def _count(value: object) -> bool:
    return _whole(value) and value >= 0  # type: ignore[operator]


def _number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return _infinite(value) or abs(value) < 1 << 1023


def _infinite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _finite(value: object) -> bool:
    return _number(value) and not _infinite(value)


def _or_none(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _tuple(test: Test, length: int | None = None) -> Test:
    return lambda v: isinstance(v, tuple) and (length is None or len(v) == length) and all(map(test, v))


def _map(test: Test) -> Test:
    return lambda v: isinstance(v, Mapping) and all(_text(k) and test(e) for k, e in v.items())


def _array(kinds: str, ndim: int = 1) -> Test:
    return lambda v: (
        isinstance(v, np.ndarray) and v.dtype.kind in kinds and v.dtype.itemsize in (1, 8) and v.ndim == ndim
    )


def _record(name: str) -> Test:
    return lambda v: type(v).__name__ == name


def _bound(value: object) -> bool:
    return (
        isinstance(value, tuple) and len(value) == 2 and _number(value[0]) and _whole(value[1]) and abs(value[1]) == 1
    )


def _option(value: object) -> bool:
    return value is None or _finite(value) or _array("f")(value)


#: Of each record, what each of its fields is, and how to say that.
FIELDS: Mapping[str, Mapping[str, tuple[Test, str]]] = {
    "Fit": {
        "values": (_map(_finite), "finite numbers by parameter"),
        "objective_name": (_text, "text"),
        "outcome": (_text, "text"),
        "objective": (_or_none(_number), "a number or null"),
        "delta": (_or_none(lambda v: _finite(v) and v > 0), "a number above 0 or null"),
        "converged": (_or_none(_flag), "true, false or null"),
        "starts": (_tuple(_count, 2), "two counts"),
        "n": (_or_none(_count), "a count or null"),
        "residual_scale": (_or_none(lambda v: _finite(v) and v >= 0), "a finite number of at least 0, or null"),
        "uncertainty": (_or_none(_record("Uncertainty")), "a record Uncertainty or null"),
        "replicates": (_or_none(_record("Replicates")), "a record Replicates or null"),
        "data": (_or_none(_record("Observed")), "a record Observed or null"),
        "published": (_or_none(_record("PublishedFit")), "a record PublishedFit or null"),
        "ranges": (_map(_tuple(_finite, 2)), "pairs of finite numbers by variable"),
        "level": (lambda v: _finite(v) and 0 < v < 1, "a number between 0 and 1"),
        "notes": (_tuple(_text), "a list of texts"),
    },
    "Uncertainty": {
        "names": (_tuple(_text), "a list of texts"),
        "at": (_array("f"), "numbers in one dimension"),
        "logs": (_array("b"), "truth values in one dimension"),
        "covariance": (_array("f", 2), "numbers in two dimensions"),
        "unidentified": (_map(_text), "texts by parameter"),
        "bounds": (_map(_bound), "a number, and 1 or -1, by parameter"),
        "dof": (_whole, "a whole number"),
        "scale": (_number, "a number"),
        "scale_known": (_flag, "true or false"),
        "flaw": (_text, "text"),
        "exact": (_flag, "true or false"),
        "clusters": (_count, "a count"),
    },
    "Replicates": {
        "names": (_tuple(_text), "a list of texts"),
        "values": (_array("f", 2), "numbers in two dimensions"),
        "objective": (_array("f"), "numbers in one dimension"),
        "converged": (_array("b"), "truth values in one dimension"),
        "resample": (_text, "text"),
        "seed": (_count, "a count"),
        "audited": (_count, "a count"),
        "changed": (_count, "a count"),
        "degenerate": (_count, "a count"),
    },
    "Observed": {
        "variables": (_map(_array("f")), "numbers in one dimension by variable"),
        "y": (_array("f"), "numbers in one dimension"),
        "weights": (_array("f"), "numbers in one dimension"),
        "scale_known": (_flag, "true or false"),
        "options": (_map(_option), "numbers, columns or null by option"),
        "sigma_x": (_map(_array("f")), "numbers in one dimension by variable"),
        "groups": (_or_none(_array("iu")), "whole numbers in one dimension, or null"),
        "labels": (_tuple(_text), "a list of texts"),
        "by": (_text, "text"),
    },
    "PublishedFit": {
        "name": (_text, "text"),
        "parameters": (_map(_finite), "finite numbers by parameter"),
        "reference": (_text, "text"),
        "stderr": (_map(lambda v: _finite(v) and v >= 0), "finite numbers of at least 0 by parameter"),
        "covariance": (_map(_map(_finite)), "finite numbers by parameter and parameter"),
        "rounded": (_flag, "true or false"),
        "note": (_text, "text"),
    },
}


#: Fields that files written before them lack.
LATER = frozenset((("PublishedFit", "covariance"),))


def check_fields(record: str, fields: Mapping[str, Any], where: str) -> None:
    """Refuse fields of a record that are unknown, missing, or not of their type.

    Raises
    ------
    ResultError
        Naming the field.
    """
    known = FIELDS[record]
    for name in fields:
        if name not in known:
            raise ResultError(f"{where}: {record} has no field '{printable(name, 60)}'")
    for name, (test, expected) in known.items():
        if name not in fields and (record, name) not in LATER:
            raise ResultError(f"{where}: the field '{name}' of {record} is missing")
        if name in fields and not test(fields[name]):
            _refuse(where, f"{record}.{name}", expected, fields[name])


def _refuse(where: str, at: str, expected: str, got: object = None) -> NoReturn:
    if isinstance(got, np.ndarray):
        got = f"{got.dtype.name} of shape {got.shape}"
    elif isinstance(got, (Mapping, list, tuple)) or dataclasses.is_dataclass(got):
        got = f"a {type(got).__name__}" if not isinstance(got, tuple) else f"({', '.join(map(str, got))})"
    raise ResultError(f"{where}: {at}: expected {expected}, got {printable(got, 80)}")


def equal(one: float, other: float, tolerance: float = VALUE_RTOL) -> bool:
    """Tell whether two numbers are one but for rounding; infinities and nan equal themselves."""
    if not (math.isfinite(one) and math.isfinite(other)):
        return one == other or (math.isnan(one) and math.isnan(other))
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=1e-300)


# What must agree ------------------------------------------------------------------------------------------------------


def check_fit(fit: Fit, where: str) -> None:
    """Refuse a fit whose parts do not agree with each other.

    Raises
    ------
    ResultError
        Naming the field.
    """
    _check_values(fit, where)
    if fit.published is not None:
        _check_published(fit, where)
    elif fit.data is None and fit.objective is not None:
        _refuse(where, "Fit.objective", "null, of a fit without its data", fit.objective)
    elif fit.uncertainty is None:
        _refuse(where, "Fit.uncertainty", "a record, of a fit that is not published", "null")
    else:
        _check_outcome(fit, where)
        _check_uncertainty(fit, fit.uncertainty, where)
    if fit.replicates is not None:
        _check_replicates(fit, fit.replicates, where)
    if fit.data is not None:
        _check_data(fit, fit.data, where)
        try:
            _check_computed(fit, where)
        except ResultError:
            raise
        except ForecastError as problem:
            raise ResultError(f"{where}: {problem}") from problem


def _names(where: str, at: str, names: Sequence[str], expected: Sequence[str]) -> None:
    if list(names) != list(expected):
        _refuse(
            where, at, f"the names {', '.join(expected) or 'of nothing'}, in this order", ", ".join(names) or "none"
        )


def _check_values(fit: Fit, where: str) -> None:
    from forecast.fit.objectives.objective import OBJECTIVES

    _names(where, "Fit.values", list(fit.values), fit.law.parameters)
    for name, value in fit.values.items():
        low, high = fit.law.bounds.get(name, (-math.inf, math.inf))
        slack = VALUE_RTOL * max(abs(value), 1e-300)
        if not low - slack <= value <= high + slack:
            _refuse(where, f"Fit.values: {name}", f"a number within its bounds, {low:g} to {high:g}", value)
    if (fit.objective_name == "published") != (fit.published is not None):
        _refuse(where, "Fit.objective_name", "'published' for a published fit and for no other", fit.objective_name)
    if fit.published is None and fit.objective_name not in OBJECTIVES:
        _refuse(where, "Fit.objective_name", f"one of {', '.join(OBJECTIVES)}", fit.objective_name)
    if fit.starts[0] > fit.starts[1]:
        _refuse(where, "Fit.starts", "at most as many that agree as there were", fit.starts)
    places = [v for v in fit.law.variables if v not in fit.law.levels]
    _names(where, "Fit.ranges", sorted(fit.ranges), [] if fit.published else sorted(places))
    for variable, (low, high) in fit.ranges.items():
        if low > high:
            _refuse(where, f"Fit.ranges: {variable}", "the lower end first", (low, high))


def _check_published(fit: Fit, where: str) -> None:
    assert fit.published is not None
    for name in ("objective", "delta", "converged", "n", "residual_scale", "uncertainty", "replicates", "data"):
        if getattr(fit, name) is not None:
            _refuse(where, f"Fit.{name}", "null, of a published fit", getattr(fit, name))
    if {n: float(v) for n, v in fit.published.parameters.items()} != dict(fit.values):
        _refuse(where, "PublishedFit.parameters", "the numbers of Fit.values", "others")
    for name in fit.published.errors:
        if name not in fit.values:
            _refuse(where, "PublishedFit.stderr", f"parameters of the law ({', '.join(fit.values)})", name)
    # the texts that say what it is, and the warning that goes with figures that were rounded
    from forecast.fit import published_fit

    again = published_fit(fit.law, fit.published)
    if fit.outcome != again.outcome:
        _refuse(where, "Fit.outcome", f"'{again.outcome}'", fit.outcome)
    for line in again.notes:
        if line not in fit.notes:
            _refuse(where, "Fit.notes", f"among them '{line}'", f"{len(fit.notes)} others")


def _check_outcome(fit: Fit, where: str) -> None:
    said = not fit.outcome.startswith("not converged")
    if fit.converged is None or fit.converged != said or not fit.outcome.startswith(("converged", "not converged")):
        _refuse(where, "Fit.converged", f"what the outcome says ('{printable(fit.outcome, 60)}')", fit.converged)


def _check_uncertainty(fit: Fit, known: Uncertainty, where: str) -> None:
    at = "Uncertainty"
    free = [p for p in fit.law.parameters if len(set(fit.law.bounds.get(p, (0, 1)))) > 1]
    # what a group of a fit says has the names of the plain law, of which some may be fixed
    _names(where, f"{at}.names", known.names, free if fit.data is not None else [p for p in free if p in known.names])
    k = len(known.names)
    for name, shape in (("at", (k,)), ("logs", (k,)), ("covariance", (k, k))):
        if getattr(known, name).shape != shape:
            _refuse(where, f"{at}.{name}", f"the shape {shape}", getattr(known, name))
    for name in ("unidentified", "bounds"):
        for parameter in getattr(known, name):
            if parameter not in known.names:
                _refuse(where, f"{at}.{name}", f"parameters that were fitted ({', '.join(known.names)})", parameter)
    for i, name in enumerate(known.names):
        if name in known.bounds and known.logs[i]:
            _refuse(where, f"{at}.logs: {name}", "false, at a bound", True)
        if not equal(known.value(i), float(fit.values[name])):
            _refuse(where, f"{at}.at: {name}", f"the place of its value, {fit.values[name]:.9g}", known.value(i))
    good = np.array([not known.flaw and n not in known.unidentified for n in known.names], dtype=bool)
    table = known.covariance[np.ix_(good, good)]
    if not np.isfinite(table).all() or (np.diag(table) < 0).any():
        _refuse(where, f"{at}.covariance", "finite numbers, and none below 0 on the diagonal", "others")
    errors = np.sqrt(np.diag(table))
    if (np.abs(table - table.T) > ASYMMETRIC * np.outer(errors, errors)).any():
        _refuse(where, f"{at}.covariance", "a symmetric matrix", "another")
    if (np.abs(table) > np.outer(errors, errors) * (1 + ASYMMETRIC)).any():
        _refuse(where, f"{at}.covariance", "correlations between -1 and 1", "others")
    if known.scale < 0 or (fit.n is not None and known.dof != fit.n - k and fit.data is not None):
        _refuse(
            where, f"{at}.{'scale' if known.scale < 0 else 'dof'}", "points less parameters, and a scale from 0", ""
        )


def _check_replicates(fit: Fit, repeated: Replicates, where: str) -> None:
    from forecast.fit.inference.resample import SCHEMES

    at = "Replicates"
    _names(where, f"{at}.names", repeated.names, fit.uncertainty.names if fit.uncertainty is not None else ())
    k, count = len(repeated.names), repeated.converged.size
    for name, shape in (("values", (k, count)), ("objective", (count,))):
        if getattr(repeated, name).shape != shape:
            _refuse(where, f"{at}.{name}", f"the shape {shape}", getattr(repeated, name))
    if repeated.resample not in SCHEMES:
        _refuse(where, f"{at}.resample", f"one of {', '.join(SCHEMES)}", repeated.resample)
    if not repeated.changed <= repeated.audited <= count or repeated.degenerate > count:
        counts = (repeated.audited, repeated.changed, repeated.degenerate)
        _refuse(where, f"{at}.audited, changed, degenerate", f"counts of {count} replicates", counts)
    for name, row in zip(repeated.names, repeated.good, strict=True):
        low, high = fit.law.bounds.get(name, (-math.inf, math.inf))
        slack = VALUE_RTOL * np.abs(row)
        if not (np.isfinite(row) & (row >= low - slack) & (row <= high + slack)).all():
            _refuse(where, f"{at}.values: {name}", f"finite numbers within its bounds, {low:g} to {high:g}", "others")


def _check_data(fit: Fit, seen: Observed, where: str) -> None:
    from forecast.fit.objectives.objective import find

    at, law = "Observed", fit.law
    _names(where, f"{at}.variables", list(seen.variables), list(law.variables))
    columns = {
        **{f"variables: {n}": v for n, v in seen.variables.items()},
        **{f"sigma_x: {n}": v for n, v in seen.sigma_x.items()},
        **{f"options: {n}": v for n, v in seen.options.items() if isinstance(v, np.ndarray)},
        "y": seen.y,
        "weights": seen.weights,
        **({} if seen.groups is None else {"groups": seen.groups}),
    }
    for name, column in columns.items():
        if column.shape != seen.y.shape:
            _refuse(where, f"{at}.{name}", f"{seen.y.size} rows, as y has", f"{column.size}")
        if not np.isfinite(column).all():
            _refuse(where, f"{at}.{name}", "finite numbers", "others")
    if not seen.y.size:
        _refuse(where, f"{at}.y", "rows", "none")
    for name in ("weights", *(n for n in columns if n.startswith("sigma_x"))):
        if (columns[name] < 0).any() or not (columns[name] > 0).any():
            _refuse(where, f"{at}.{name}", "numbers of at least 0, not all of them 0", "others")
    for name in seen.sigma_x:
        if name not in law.variables or name in law.levels:
            _refuse(where, f"{at}.sigma_x", f"variables of the law ({', '.join(law.variables)})", name)
    places = {f"variables: {n}": len(labels) for n, labels in law.levels.items()}
    places |= {} if seen.groups is None else {"groups": len(seen.labels)}
    for name, most in places.items():
        if not np.isin(columns[name], np.arange(most)).all():
            _refuse(where, f"{at}.{name}", f"places among {most} labels", "others")
    if len(set(seen.labels)) < len(seen.labels) or (seen.by in law.levels and law.levels[seen.by] != seen.labels):
        _refuse(where, f"{at}.labels", "the groups, each once", seen.labels)
    objective = find(fit.objective_name)
    if (objective.log or objective.loss == "poisson") and not (seen.y >= 0 if not objective.log else seen.y > 0).all():
        _refuse(where, f"{at}.y", f"numbers of which '{objective.name}' can be computed", "others")
    _names(where, f"{at}.options", sorted(seen.options), sorted({*objective.options, *({"delta"} & {*seen.options})}))
    if objective.loss == "binomial":
        trials, chance = seen.options["trials"], seen.options["chance"]
        good = isinstance(trials, np.ndarray) and isinstance(chance, np.ndarray)
        if not good or not ((trials > 0) & (seen.y >= 0) & (seen.y <= trials) & (chance >= 0) & (chance < 1)).all():
            _refuse(where, f"{at}.options", "trials above 0, y of them, and chances from 0 to below 1", "others")
    if seen.options.get("delta") != fit.delta:
        _refuse(where, "Fit.delta", f"that of the options, {seen.options.get('delta')}", fit.delta)


# What is computed again -----------------------------------------------------------------------------------------------


def _check_computed(fit: Fit, where: str) -> None:
    """Compute what follows from the law, the data and the parameters, and compare."""
    from forecast.fit.fit_law import _scatter
    from forecast.fit.inference.covariance import assess
    from forecast.fit.inference.profile import problem_of_fit

    seen, known = fit.data, fit.uncertainty
    assert seen is not None
    assert known is not None
    problem = problem_of_fit(fit, "check")
    values = np.array([fit.values[n] for n in problem.free])
    # the coordinate itself where it is kept: a logarithm has more digits than its exponential
    with np.errstate(over="ignore"):
        at = np.where(
            known.logs & problem.logs,
            known.at,
            problem.internal(np.where(known.logs, np.exp(np.where(known.logs, known.at, 0.0)), values)),
        )
    if fit.n != problem.n:
        _refuse(where, "Fit.n", f"the rows that count, {problem.n}", fit.n)
    stated = problem.objective.stated(problem.value(at), float(seen.weights.sum()), problem.delta)
    if fit.objective is None or not _close(fit.objective, float(stated), VALUE_RTOL, problem.size() ** 2):
        _refuse(where, "Fit.objective", f"what the law and the data give, {float(stated):.12g}", fit.objective)
    for variable, (low, high) in fit.ranges.items():
        column = seen.variables[variable]
        if not (equal(low, float(column.min())) and equal(high, float(column.max()))):
            _refuse(where, f"Fit.ranges: {variable}", "the least and the largest of the data", (low, high))
    if seen.scale_known != known.scale_known:
        _refuse(where, "Uncertainty.scale_known", "that of the data", known.scale_known)
    again = assess(problem, at, scale_known=seen.scale_known, groups=seen.groups)
    _compare(known, again, problem.size(), where)
    scatter = _scatter(again, seen.weights)
    if (scatter is None) != (fit.residual_scale is None) or not _close(
        fit.residual_scale or 0.0, scatter or 0.0, NEAR, problem.size()
    ):
        _refuse(where, "Fit.residual_scale", f"what the law and the data give, {scatter}", fit.residual_scale)


def _close(one: float, other: float, tolerance: float, size: float) -> bool:
    """Tell whether two numbers are one but for rounding, of numbers of this size."""
    return equal(one, other, tolerance) or abs(one - other) <= 1e-12 * size


def _compare(known: Uncertainty, again: Uncertainty, size: float, where: str) -> None:
    """Compare what is said of the parameters with what the data say.

    Covariances may differ by what rounding does to them, which is much where parameters are nearly a ridge.
    """
    for name in ("dof", "clusters"):
        if getattr(known, name) != getattr(again, name):
            _refuse(where, f"Uncertainty.{name}", str(getattr(again, name)), getattr(known, name))
    if known.exact is not again.exact:
        _refuse(where, "Uncertainty.exact", str(again.exact), known.exact)
    if bool(known.flaw) != bool(again.flaw):
        _refuse(where, "Uncertainty.flaw", f"'{again.flaw}'", f"'{known.flaw}'")
    rounding = again.exact and not again.scale_known  # the length of residuals that other processors round otherwise
    close = 0 < known.scale <= LENGTH * size if rounding else equal(known.scale, again.scale, NEAR)
    if not known.flaw and not close:
        _refuse(where, "Uncertainty.scale", f"what the data give, {again.scale:.9g}", known.scale)
    for name, (bound, side) in known.bounds.items():
        if name not in again.bounds or again.bounds[name][1] != side or not equal(bound, again.bounds[name][0]):
            _refuse(where, f"Uncertainty.bounds: {name}", str(again.bounds.get(name, "none")), (bound, side))
    if known.flaw or set(known.bounds) != set(again.bounds):
        if set(known.bounds) != set(again.bounds):
            _refuse(where, "Uncertainty.bounds", ", ".join(again.bounds) or "none", ", ".join(known.bounds) or "none")
        return
    if not np.array_equal(known.logs, again.logs):
        _refuse(where, "Uncertainty.logs", "the coordinates of the fit", "others")
    if set(known.unidentified) != set(again.unidentified):
        lost = ", ".join(again.unidentified) or "every parameter is identified"
        _refuse(where, "Uncertainty.unidentified", lost, ", ".join(known.unidentified) or "none")
    keep = np.ix_(good := known.known(), good)
    expected = again.covariance[keep] * ((known.scale / again.scale) ** 2 if rounding else 1.0)
    errors = np.sqrt(np.diag(expected))
    if not errors.size:
        return
    scale = np.outer(errors, errors)
    with np.errstate(all="ignore"):
        strengths = np.linalg.eigvalsh(np.where(scale > 0, expected / scale, 0.0))
        condition = float(strengths[-1] / max(strengths[0], 1e-300))
    far = np.abs(known.covariance[keep] - expected) > (NEAR + ROUNDING * abs(condition)) * scale
    if far.any():
        i = int(np.argmax(far.any(axis=1)))
        name = [n for n, g in zip(known.names, good, strict=True) if g][i]
        _refuse(
            where,
            f"Uncertainty.covariance: {name}",
            f"what the law and the data give (a standard error of {errors[i]:.6g})",
            f"{math.sqrt(known.covariance[keep][i, i]):.6g}",
        )
