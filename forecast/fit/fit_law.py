"""Law + data = fit: choose the objective and the starts, solve, and judge the outcome."""

from __future__ import annotations

from typing import Any

import numpy as np

from forecast import tables
from forecast.base.arrays import Array
from forecast.contract.specs import PublishedFit
from forecast.errors import FitError, UsageError, printable
from forecast.fit import objectives
from forecast.fit.curves import fit_one
from forecast.fit.data import groups as grouping
from forecast.fit.data.column_units import in_order, in_units
from forecast.fit.data.observations import read_observations
from forecast.fit.fit import Fit
from forecast.fit.inference.bootstrap import Resampling, with_replicates
from forecast.fit.inference.resample import check_replicates as check_resampling
from forecast.fit.options import FitRequest
from forecast.fit.problem.coordinates import law_label, solver_coordinates, start_in_coordinates
from forecast.fit.problem.problem import Problem
from forecast.fit.problem.setting import Setting
from forecast.fit.solve.domain import check_domain
from forecast.fit.solve.estimated_scatter import with_scatter
from forecast.fit.solve.parallel import check_workers
from forecast.fit.solver_options import SolverOptions
from forecast.laws import Law
from forecast.tables.schema import separate


def fit_law(law: Law, data: Any, request: FitRequest) -> Any:
    """Fit a law to data; the function behind `forecast.Law.fit`.

    Parameters
    ----------
    law : forecast.Law
    data : xarray.Dataset, DataFrame, dict of arrays, path of a CSV, or name of a table
    request : Request

    Returns
    -------
    Fit, or Fits with ``by``

    Raises
    ------
    DataError, FitError, UsageError
        Naming the rows, the parameters or the option.
    """
    name = law_label(law)
    request.check(name)
    check_workers(request.workers, name, law)
    varying = grouping.check_varying(request, name)
    request = in_order(data, request, name)
    data = in_units(law.variables, {law.output: law.unit}, data, request, name)
    _check_mixed(law, data, request, name)
    if request.protocol is not None:
        from forecast.fit.protocols import fit_by

        return fit_by(fit_law, law, data, request)
    chosen = objectives.find_objective(request.objective or law.objective or "least_squares", where=name)
    options = chosen.resolve_options(request.options or {}, name)
    if request.bootstrap is None and request.resample != "pairs":
        raise UsageError(
            f"{name}: resample={request.resample!r} says what a bootstrap resamples: give bootstrap= with it"
        )
    if request.bootstrap is not None:
        check_resampling(request.bootstrap, request.resample, request.groups is not None, chosen, name)
    if request.by is not None:
        _check_by(law, request, name)
    seen = read_observations(law, data, request, objective=chosen, options=options, name=name)
    law, seen = grouping.of_groups(law, seen, varying, name)
    plain = {o: v for o, v in options.items() if v is not None and o not in seen.columns}
    setting = Setting(
        law=law, objective=chosen, options=plain, coordinates=solver_coordinates(law, name), name=name,
        solver=request.solver or SolverOptions(),
    )  # fmt: skip
    if request.by is None:
        observed = with_scatter(setting, seen, request)
        problem = setting.problem(observed)
        solutions = fit_one(setting, observed, problem, _start_vector(problem, request, name), request.seed)
    else:
        from forecast.fit.batch import fit_over

        solutions = fit_over(setting, seen, request)
    if request.bootstrap is not None:
        resampling = Resampling(
            replicates=request.bootstrap, resample=request.resample, seed=request.seed, fresh=request.start is None
        )
        solutions = with_replicates(
            solutions, resampling, labels=seen.groups, workers=request.workers, progress=request.progress
        )
    if request.by is None:
        return Fit(law=law, solutions=solutions, level=request.level)
    from forecast.fit.fits import Fits

    return Fits(by=request.by, level=request.level, solutions=solutions)


def _check_by(law: Law, request: FitRequest, name: str) -> None:
    """Refuse what many fits at once do not take."""
    if request.bootstrap is not None and request.resample == "cluster":
        raise UsageError(f"{name}: by= does not take resample='cluster': fit one curve at a time")
    if law.levels:
        raise UsageError(f"{name}: by= takes no law with groups: fit one curve at a time")
    if request.by in law.parameters:
        raise UsageError(f"{name}: by='{request.by}' is also a parameter of the law: give the column another name")


def _start_vector(problem: Problem, request: FitRequest, name: str) -> Array | None:
    """Return the start that was given, in the solver's coordinates; refuse what no start can fit."""
    if problem.n < problem.k:
        points = "1 point" if problem.n == 1 else f"{problem.n} points"
        raise FitError(
            f"{name}: {points} cannot determine {problem.k} parameters ({', '.join(problem.free)}); add points, or "
            "fix parameters with law.with_()"
        )
    _check_design(problem, name)
    begun = None
    if request.start is not None:
        begun = start_in_coordinates(problem, grouping.expand_start(problem.law, request.start) or {}, name)
    check_domain(problem, name, begun)
    return begun


def _check_mixed(law: Law, data: Any, request: FitRequest, name: str) -> None:
    """Refuse rows of a table that must not be mixed, unless the fit tells them apart."""
    if not isinstance(data, tables.Columns):  # a grid over `over`
        if not any(column.attrs.get("separate") for column in data.variables.values()):
            return
        data = tables.to_columns(data, where=name)
    told = {text for text in (request.by, request.groups) if isinstance(text, str)}
    told |= {(request.let or {}).get(variable, variable) for variable in law.levels}
    advice = "keep one (--where \"{column} is {first}\"), or fit each: by='{column}'"
    separate.check_not_mixed(data, name, told_apart=told, advice=advice)


def _check_design(problem: Problem, name: str) -> None:
    """Refuse rows that all stand at one place of the law: they tell one number, however many they are."""
    columns = [np.asarray(v, dtype=float).ravel() for v in problem.variables.values()]
    if problem.k < 2 or not columns or any(np.ptp(c) > 0 for c in columns):
        return
    at = ", ".join(f"{n} = {c[0]:g}" for n, c in zip(problem.variables, columns, strict=True))
    raise FitError(
        f"{name}: parameters {', '.join(problem.free)} are not identified: all {problem.n} rows have {at}; add rows at "
        "other values, or fix all parameters but one"
    )


def published_fit(law: Law, published: PublishedFit) -> Fit:
    """Return published parameters as a fit that needs no data; the function behind `forecast.Law.published`.

    Raises
    ------
    FitError
        If the parameters are not those of the law.
    """
    name = f"{law_label(law)}@{printable(published.name, 60)}"
    for parameter in law.parameters:
        if parameter not in published.parameters:
            raise FitError(f"{name}: the published parameters lack '{parameter}'")
    for parameter in {**published.parameters, **published.errors}:
        if parameter not in law.parameters:
            raise FitError(f"{name}: '{printable(parameter, 60)}' is no parameter of the law")
    return Fit(law=law, published=published)
