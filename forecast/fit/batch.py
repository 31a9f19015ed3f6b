"""Thousands of data sets fitted at once: ``law.fit(curves, by="curve")``.

Curves of different lengths are padded with points of weight 0. A curve that cannot be fitted is marked, with the
reason, and raises nothing. Curves are worked on in chunks of a fixed size (`forecast.fit.curves`), so that the results
are the same for any number of workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.base.streams import check_seed
from forecast.errors import UsageError, printable
from forecast.fit.curves import SolvedCurves, fit_curves
from forecast.fit.data.observations import no_counts
from forecast.fit.data.padded import Padded, pad
from forecast.fit.fits import Fits, Solutions
from forecast.fit.inference.bootstrap import Resampling, bootstrap
from forecast.fit.inference.resample import check as check_resampling
from forecast.fit.inference.uncertainty import joined
from forecast.fit.objectives.objective import Objective
from forecast.fit.options import Request
from forecast.fit.problem.coordinates import coordinates, given_start
from forecast.fit.problem.setting import Setting
from forecast.fit.solve.multistart import outcome
from forecast.fit.solve.parallel import Progress, Workers, share

if TYPE_CHECKING:
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.problem.problem import Problem
    from forecast.laws import Law

__all__ = ["Fits", "bootstrapped", "fit_over"]

Array: TypeAlias = NDArray[np.float64]

#: Points of the curves in a chunk, and curves of one whose bootstraps are done together.
POINTS, CURVES = 200_000, 8


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


def _shared(
    setting: Setting, seen: Padded, usable: NDArray[np.int64], begun: Array | None, request: Request
) -> list[SolvedCurves]:
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
    return share(fit_curves, pieces, request.workers, where=setting.name, done=done)


def _joined(
    setting: Setting,
    seen: Padded,
    usable: NDArray[np.int64],
    parts: list[SolvedCurves],
    reasons: NDArray[Any],
    given: bool,
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
