"""Thousands of data sets fitted at once: ``law.fit(curves, by="curve")``.

Curves of different lengths are padded with points of weight 0. A curve that cannot be fitted is marked, with the
reason, and raises nothing. Curves are worked on in chunks of a fixed size (`forecast.fit.curves`), so that the results
are the same for any number of workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from forecast.base.arrays import Array, IntArray
from forecast.fit.curves import fit_curves
from forecast.fit.data.observations import Observations
from forecast.fit.inference.uncertainty import join_uncertainties, placed
from forecast.fit.options import FitRequest
from forecast.fit.problem.coordinates import start_in_coordinates
from forecast.fit.problem.setting import Setting
from forecast.fit.solutions import Solutions
from forecast.fit.solve.parallel import share

#: Points of the curves in a chunk.
CHUNK_POINTS = 200_000


def fit_over(setting: Setting, seen: Observations, request: FitRequest) -> Solutions:
    """Fit every curve of a data set; what ``law.fit(..., by=)`` does."""
    reasons = np.array(seen.reasons, dtype=object)
    n, k = (seen.weights > 0).sum(axis=1), len(setting.coordinates.free)
    reasons[(reasons == "") & (n < k)] = f"not fitted: fewer than {k} points"
    seen = replace(seen, reasons=tuple(reasons))
    usable = np.flatnonzero(reasons == "")
    begun = _start_array(setting, seen.take(usable), usable, request.start) if usable.size else None
    parts = _fit_chunks(setting, seen, usable, begun, request) if usable.size else []
    return _scatter_chunks(setting, seen, usable, parts, request.start is not None)


def _start_array(
    setting: Setting, observations: Observations, rows: IntArray, start: Mapping[str, Any] | None
) -> Array | None:
    """Return the start that was given, (k, B): one for all curves, or one a curve."""
    if start is None:
        return None
    problem = setting.problem(observations.one(0))
    if all(np.ndim(v) == 0 for v in start.values()):
        return np.repeat(start_in_coordinates(problem, start, setting.name)[:, None], len(rows), axis=1)
    each = {p: np.asarray(v)[rows] if np.ndim(v) else np.full(rows.size, v) for p, v in start.items()}
    some = [start_in_coordinates(problem, {p: v[b] for p, v in each.items()}, setting.name) for b in range(rows.size)]
    return np.array(some).T


def _fit_chunks(
    setting: Setting, observations: Observations, usable: IntArray, start: Array | None, request: FitRequest
) -> list[Solutions]:
    """Fit the usable curves chunk by chunk."""
    size = max(64, CHUNK_POINTS // observations.y.shape[1])
    chunks = [usable[i : i + size] for i in range(0, usable.size, size)]
    reached = 0

    def done(i: int) -> None:
        nonlocal reached
        reached += chunks[i].size
        if request.progress is not None and request.bootstrap is None:
            request.progress(reached, usable.size)

    starts = [None] * len(chunks) if start is None else np.split(start, range(size, usable.size, size), axis=1)
    pieces = [(setting, observations.take(rows), own, request.seed) for rows, own in zip(chunks, starts, strict=True)]
    return share(fit_curves, pieces, request.workers, where=setting.name, done=done)


def _scatter_chunks(
    setting: Setting, observations: Observations, usable: IntArray, parts: list[Solutions], given: bool
) -> Solutions:
    """Put the chunks in their places among all curves; nan where a curve was not fitted."""
    k, count = len(setting.coordinates.free), len(observations.reasons)
    known = join_uncertainties(
        [p.known for p in parts], usable, setting.coordinates.free, (observations.weights > 0).sum(axis=1) - k
    )
    return Solutions(
        setting=setting, curves=observations, given=given, assessed=known,
        q=placed([np.where(p.settled, p.q, np.nan) for p in parts], usable, np.full((k, count), np.nan)),
        settled=placed([p.settled for p in parts], usable, np.zeros(count, dtype=bool)),
        converged=placed([p.converged for p in parts], usable, np.zeros(count, dtype=bool)),
        starts=placed([p.starts for p in parts], usable, np.zeros((2, count), dtype=np.int64)),
        options={
            option: placed([p.options[option] for p in parts], usable, np.full(count, np.nan))
            for option in (parts[0].options if parts else ())
        },
    )  # fmt: skip
