"""Thousands of data sets fitted at once: ``law.fit(curves, by="curve")``.

Curves of different lengths are padded with points of weight 0. A curve that cannot be fitted is marked, with the
reason, and raises nothing; what the batch does not settle is searched as a single fit is. Curves are worked on in
chunks of a fixed size, so that the results are the same for any number of workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.base import budgets
from forecast.base.streams import check_seed
from forecast.errors import ForecastError, UsageError, printable
from forecast.fit.data.observations import no_counts
from forecast.fit.data.padded import Padded, pad
from forecast.fit.fits import Fits, Setting, Solutions
from forecast.fit.inference.bootstrap import Resampling, bootstrap
from forecast.fit.inference.covariance import uncertainties
from forecast.fit.inference.resample import check as check_resampling
from forecast.fit.inference.uncertainty import Uncertainties, joined
from forecast.fit.objectives.objective import Objective
from forecast.fit.options import Request
from forecast.fit.problem.coordinates import coordinates, given_start
from forecast.fit.problem.target import Target
from forecast.fit.solve import batch_solver, newton
from forecast.fit.solve.multistart import agreeing, is_optimum, outcome, search
from forecast.fit.solve.parallel import Progress, Workers, share

if TYPE_CHECKING:
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.problem.coordinates import Coordinates
    from forecast.fit.problem.problem import Problem
    from forecast.fit.solve.newton import NewtonResult
    from forecast.laws import Law

__all__ = ["Fits", "bootstrapped", "fit_over"]

Array: TypeAlias = NDArray[np.float64]

#: Points of the curves in a chunk, and curves of one whose bootstraps are done together.
POINTS, CURVES = 200_000, 8
#: Options that may come from the data of each curve.
OWN = ("delta", "width")


def fit_over(
    law: Law, data: Any, request: Request, *, objective: Objective, options: Mapping[str, Any], name: str
) -> Fits:
    """Fit a law to every curve of a data set; the function behind ``law.fit(..., by=)``.

    Parameters
    ----------
    data : xarray.Dataset, or long columns
        A Dataset with the dimension ``request.by`` (nan pads curves of different lengths), or any table with a
        column of that name.
    request : Request
    objective, options, name
        As read from the request.
    """
    by = str(request.by)
    if request.bootstrap is not None and request.resample == "cluster":
        raise UsageError(f"{name}: by= does not take resample='cluster': fit one curve at a time")
    if law.levels:
        raise UsageError(f"{name}: by= takes no law with groups: fit one curve at a time")
    seen = pad(law, data, by, request, objective=objective, name=name, options=options)
    plain = {o: v for o, v in options.items() if v is not None and o not in seen.options}
    setting = Setting(law=law, objective=objective, options=plain, coordinates=coordinates(law, name), name=name)
    reasons = np.array(seen.reasons, dtype=object)
    n, k = (seen.weights > 0).sum(axis=1), len(setting.coordinates.free)
    reasons[(reasons == "") & (n < k)] = f"not fitted: fewer than {k} points"
    usable = np.flatnonzero(reasons == "")
    begun = _begun(setting, seen.take(usable), usable, request.start) if usable.size else None
    parts = _shared(setting, seen, usable, begun, request) if usable.size else []
    made = _joined(setting, seen, usable, parts, reasons, request.start is not None)
    if request.bootstrap is not None:
        made = replace(made, repeated=_repeated(made, request))
    notes = []
    if not made.converged.all():
        first = str(seen.labels[int(np.flatnonzero(~made.converged)[0])])
        lost = int((~made.converged).sum())
        notes.append(f"{name}: {lost} of {made.settled.size} fits failed, the first is {by} {printable(first, 40)}")
    if (counts := no_counts(objective, seen.y, seen.weights)) != "":
        notes.append(f"{name}: {counts}")
    return Fits(by=by, level=request.level, warnings=tuple(notes), made=made)


def _begun(setting: Setting, seen: Padded, rows: NDArray[np.int64], start: Mapping[str, Any] | None) -> Array | None:
    """Return the start that was given, (k, B): one for all curves, or one a curve."""
    if start is None:
        return None
    problem = setting.problem(seen, 0)
    if all(np.ndim(v) == 0 for v in start.values()):
        return np.repeat(given_start(problem, start, setting.name)[:, None], len(rows), axis=1)
    each = {p: np.asarray(v)[rows] if np.ndim(v) else np.full(rows.size, v) for p, v in start.items()}
    some = [given_start(problem, {p: v[b] for p, v in each.items()}, setting.name) for b in range(rows.size)]
    return np.array(some).T


@dataclass(frozen=True)
class _Part:
    """A chunk of curves, fitted: arrays over its curves, and the options that came from the data."""

    q: Array
    value: Array
    settled: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    starts: NDArray[np.int64]
    known: Uncertainties
    options: Mapping[str, Array]


def _shared(
    setting: Setting, seen: Padded, usable: NDArray[np.int64], begun: Array | None, request: Request
) -> list[_Part]:
    """Fit the usable curves chunk by chunk."""
    size = max(64, POINTS // seen.y.shape[1])
    chunks = [usable[i : i + size] for i in range(0, usable.size, size)]
    reached = 0

    def done(i: int) -> None:
        nonlocal reached
        reached += chunks[i].size
        if request.progress is not None and request.bootstrap is None:
            request.progress(reached, usable.size)

    pieces, first = [], 0
    for rows in chunks:
        own = None if begun is None else begun[:, first : first + rows.size]
        pieces.append((setting, seen.take(rows), own, request.seed))
        first += rows.size
    return share(_fitted, pieces, request.workers, where=setting.name, done=done)


def _fitted(setting: Setting, part: Padded, begun: Array | None, seed: int) -> _Part:
    """Fit the curves of a chunk."""
    target, solved, bread, starts = batch_solver.solve_batch(
        setting.law, part, setting.coordinates, setting.target(part), begun
    )
    target = _searched(setting, part, target, solved, starts, begun, seed)
    options = {o: np.ravel(target.options[o]) for o in OWN if o in target.options and np.ndim(target.options[o]) == 2}
    _polish(target, solved, setting.coordinates, bread)
    known = uncertainties(
        setting.law, target, solved.q, setting.coordinates,
        lambda b: setting.problem(part, b, {o: float(v[b]) for o, v in options.items()}),
        scale_known=part.scale_known, settled=solved.settled, solved=None if bread is None else (bread, solved.value),
    )  # fmt: skip
    vague = np.zeros(solved.value.shape, dtype=bool)
    vague[list(known.unidentified)] = True
    exact = solved.value <= target.rounding() if vague.any() else False
    converged = solved.settled & is_optimum(starts[0], starts[1], vague, exact)
    return _Part(solved.q, solved.value, solved.settled, converged, starts, known, options)


def _searched(
    setting: Setting,
    part: Padded,
    target: Target,
    solved: NewtonResult,
    starts: NDArray[np.int64],
    begun: Array | None,
    seed: int,
) -> Target:
    """Search for the optimum of each curve that did not settle as for that of a single fit."""
    options = {o: np.array(v) for o, v in target.options.items()}
    for b in map(int, np.flatnonzero(~solved.settled)):
        problem = setting.problem(part, b)
        if problem.n < problem.k:
            continue
        try:
            problem, solutions = search(problem, None if begun is None else begun[:, b], seed)
        except (ForecastError, ArithmeticError, ValueError, np.linalg.LinAlgError):
            budgets.check_time("fits one by one", b, solved.settled.size, "curves")
            continue
        if solutions and np.isfinite(solutions[0].value) and solutions[0].settled:
            solved.q[:, b], solved.value[b], solved.settled[b] = solutions[0].at, solutions[0].value, True
            starts[:, b] = agreeing(problem, solutions), len(solutions)
            for option in OWN:
                if option in options and options[option].ndim == 2:
                    options[option][b] = problem.options[option]
    return replace(target, options=options)


def _polish(target: Target, solved: NewtonResult, coordinates: Coordinates, bread: Array | None) -> None:
    """Take one step more: where the objective has stopped falling, parameters may be off by a share of their errors."""
    open_ = np.arange(solved.value.size) if bread is None else np.flatnonzero(np.isnan(bread[0, 0]))
    if not open_.size:
        return
    some = open_[solved.settled[open_]]
    if some.size:
        at = newton.refined(
            target.take(some), solved.q[:, some], coordinates.lower, coordinates.upper, coordinates.logs
        )
        solved.q[:, some], solved.value[some] = at, target.take(some).value(at)


def _joined(
    setting: Setting, seen: Padded, usable: NDArray[np.int64], parts: list[_Part], reasons: NDArray[Any], given: bool
) -> Solutions:
    """Put the chunks in their places among all curves; nan where a curve was not fitted."""
    k, count = len(setting.coordinates.free), reasons.size
    q, value = np.full((k, count), np.nan), np.full(count, np.nan)
    settled, converged = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    starts = np.zeros((2, count), dtype=np.int64)
    options: dict[str, Array] = {}
    if parts:
        settled[usable] = np.concatenate([p.settled for p in parts])
        converged[usable] = np.concatenate([p.converged for p in parts])
        starts[:, usable] = np.concatenate([p.starts for p in parts], axis=1)
        q[:, usable] = np.concatenate([p.q for p in parts], axis=1)
        value[usable] = np.concatenate([p.value for p in parts])
        for option in parts[0].options:
            options[option] = np.full(count, np.nan)
            options[option][usable] = np.concatenate([p.options[option] for p in parts])
    q[:, ~settled] = value[~settled] = np.nan
    known = joined([p.known for p in parts], usable, setting.coordinates.free, (seen.weights > 0).sum(axis=1) - k)
    reasons[usable] = "not converged"
    for agree, total in {*zip(*starts[:, settled].tolist(), strict=True)}:
        alike = settled & (starts[0] == agree) & (starts[1] == total)
        for sure in (True, False):
            reasons[alike & (converged == sure)] = outcome(sure, (agree, total), given, {})
    for b in np.flatnonzero(settled & known.sides.any(axis=0)):
        reasons[b] = outcome(
            bool(converged[b]), (int(starts[0, b]), int(starts[1, b])), given, known.one(int(b)).bounds
        )
    return Solutions(
        setting=setting,
        curves=seen,
        q=q,
        value=value,
        settled=settled,
        converged=converged,
        starts=starts,
        known=known,
        options=options,
        outcome=reasons.astype(str),
        given=given,
    )


def _repeated(made: Solutions, request: Request) -> tuple[Replicates | None, ...]:
    """Bootstrap every curve that was fitted."""
    asked = Resampling(
        replicates=request.bootstrap or 0, resample=request.resample, seed=request.seed, fresh=request.start is None
    )
    good = np.flatnonzero(made.settled)
    chunks = [good[i : i + CURVES] for i in range(0, good.size, CURVES)]
    reached = 0

    def done(i: int) -> None:
        nonlocal reached
        reached += chunks[i].size * asked.replicates
        if request.progress is not None:
            request.progress(reached, good.size * asked.replicates)

    pieces = [(tuple(made.problem(int(b)) for b in rows), made.q[:, rows], asked) for rows in chunks]
    found: list[Replicates | None] = [None] * made.settled.size
    some = share(_bootstrapped, pieces, request.workers, where=made.setting.name, done=done)
    for b, repeated in zip(good, (r for part in some for r in part), strict=True):
        found[b] = repeated
    return tuple(found)


def bootstrapped(
    fits: Fits, replicates: int, *, resample: str, seed: int, groups: Any, workers: Workers, progress: Progress
) -> Fits:
    """Return fits with a bootstrap of each; the function behind `forecast.Fits.resample`.

    Raises
    ------
    UsageError
    """
    check_resampling(replicates, resample, False, fits.made.setting.objective, fits.name)
    check_seed(seed)
    if groups is not None or resample == "cluster":
        raise UsageError(f"{fits.name}: by= does not take resample='cluster': fit one curve at a time")
    asked = Request(bootstrap=replicates, resample=resample, seed=seed, workers=workers, progress=progress)
    return replace(fits, made=replace(fits.made, repeated=_repeated(fits.made, asked)))


def _bootstrapped(problems: tuple[Problem, ...], at: Array, asked: Resampling) -> list[Replicates]:
    return [bootstrap(problem, at[:, i], asked) for i, problem in enumerate(problems)]
