"""Trends as state spaces: what the damped trend and the local linear trend share.

Every set of parameters is filtered and smoothed at once; what is uncertain is weighed here, and statsmodels finds the
maximum of the likelihood for who asks for the central path. The model moves in even steps of its own, chosen
from the series, and cells without an observation are missing: the filter bridges them. A projection by years or by
months reads the same paths, straight in logs between two steps, so that both agree at every date they share.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.models import Anchored, Array, Description, FittedShape
from forecast_trends.points import LARGEST, Path, growth_facts, mirrored, quantile
from forecast_trends.student_mixture import StudentMixture
from forecast_trends.walks.filtering import StateSpaces, filtered

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["Cells", "FittedStates", "Point", "cells", "maximise", "weigh"]

#: Lengths of a step, in years.
_STEP_YEARS = (1.0, 1 / 2, 1 / 4, 1 / 12)
_STEP_NAMES = dict(zip(_STEP_YEARS, ("a year", "half a year", "a quarter", "a month"), strict=True))

#: Support points whose weight is a smaller share of the largest are left out.
_NEGLIGIBLE = 1e-4

#: Steps whose shocks are drawn together, which fit the processor's caches.
_TOGETHER = 16


@dataclass(frozen=True, kw_only=True)
class Cells:
    """A series on an even grid that ends with the last observation, or with the middle of the span of the last mean.

    Parameters
    ----------
    y : ndarray
        Log value of each cell, NaN where there is no observation.
    step : float
        Years.
    last : float
        Decimal year of the last cell.
    moved : float
        Years by which an observation was moved at most.
    """

    y: Array
    step: float
    last: float
    moved: float

    @property
    def time(self) -> Array:
        """Decimal year of each cell."""
        return self.last - self.step * np.arange(len(self.y) - 1, -1, -1.0)

    @property
    def counted(self) -> int:
        """Cells with an observation."""
        return int(np.isfinite(self.y).sum())

    def said(self) -> str:
        """Say what was done, for the assumptions."""
        missing = int(np.isnan(self.y).sum())
        name = _STEP_NAMES.get(self.step, f"{self.step:g} years")
        gaps = f", {missing} of {len(self.y)} without an observation, which the filter bridges" if missing else ""
        moved = f"; observations were moved by at most {self.moved * 12:.1f} months" if self.moved > 1e-3 else ""
        return f"the model moves in steps of {name}{gaps}{moved}"


def cells(seen: Path, average: float = 0.0) -> Cells:
    """Put a series on an even grid: by the span of its means, else the longest step not above its median spacing."""
    spacing = float(np.median(np.diff(seen.time)))
    step = average or next((s for s in _STEP_YEARS if s <= spacing * 1.01), _STEP_YEARS[-1])
    last = float(seen.time[-1])
    if average:  # a mean stands in the middle of its span, wherever its dates are: else two may share a cell
        last = float(np.floor(last / average + 1e-9) + 0.5) * average
        place = (np.floor(seen.time / average + 1e-9) - np.floor(last / average)).astype(int)
    else:
        place = np.rint((seen.time - last) / step).astype(int)
    y = np.full(-place[0] + 1, np.nan)
    for i in np.unique(place):
        y[i - place[0]] = seen.y[place == i].mean()
    moved = np.abs(seen.time - last - step * place).max()
    return Cells(y=y, step=step, last=last, moved=float(moved))


@dataclass(frozen=True, kw_only=True)
class Point:
    """One set of parameters, with what the filter knows at the last cell; variances are in units of the scale.

    Parameters
    ----------
    parameters : mapping of str to float
    transition, selection : ndarray
        Of the state: T, and R, such that the state's noise is R·z.
    level, growth : ndarray
        Which combinations of the state are the level, and its growth in one step.
    state, root : ndarray
        Mean of the state at the last cell, and a root of its covariance.
    scatter : float
        Standard deviation of one observation around the level.
    scale, likelihood : float
        Estimated scale, and log likelihood with the scale integrated out.
    past, past_spread : ndarray
        Smoothed level at each cell and its standard deviation.
    """

    parameters: Mapping[str, float]
    transition: Array
    selection: Array
    level: Array
    growth: Array
    state: Array
    root: Array
    scatter: float
    scale: float
    likelihood: float
    past: Array
    past_spread: Array

    @classmethod
    def of_all(
        cls, y: Array, spaces: StateSpaces, parameters: Mapping[str, Array], *, level: Array, growth: Array
    ) -> list[Point]:
        """Filter and smooth state spaces, one for each set of parameters; `growth` is of each."""
        found = filtered(y, spaces, level)
        roots, scale = _root(found.covariance), np.sqrt(found.squares / found.free)
        return [
            cls(
                parameters={name: float(each[i]) for name, each in parameters.items()},
                transition=spaces.transition[i],
                selection=spaces.selection[i],
                level=level,
                growth=growth[i],
                state=found.state[i],
                root=roots[i],
                scatter=float(spaces.observed[i]),
                scale=float(scale[i]),
                likelihood=float(found.likelihood[i]),
                past=found.past[:, i],
                past_spread=found.past_spread[:, i],
            )
            for i in range(len(roots))
        ]

    @classmethod
    def of(cls, ssm: Any, parameters: Mapping[str, float], *, level: int, growth: Any, scatter: float) -> Point:
        """Filter and smooth a state space whose two first cells settle its diffuse states."""
        found = ssm.smooth()
        seen = (found.nmissing == 0) & (np.arange(found.nobs) >= found.nobs_diffuse)
        variance = np.where(seen, found.forecasts_error_cov[0, 0], 1.0)
        error = np.where(seen, found.forecasts_error[0], 0.0)
        squares, free = float(np.sum(error**2 / variance)), int(seen.sum())
        exact = float(np.sum(found.llf_obs)) + 0.5 * squares
        pick = np.zeros(len(found.filtered_state))
        pick[level] = 1.0
        spread = np.einsum("i,ijt,j->t", pick, found.smoothed_state_cov, pick)
        return cls(
            parameters=parameters,
            transition=np.array(found.transition[..., -1]),
            selection=np.array(found.selection[..., -1]) @ _root(found.state_cov[..., -1]),
            level=pick,
            growth=np.asarray(growth, dtype=float),
            state=np.array(found.filtered_state[:, -1]),
            root=_root(found.filtered_state_cov[..., -1]),
            scatter=scatter,
            scale=(squares / free) ** 0.5,
            likelihood=exact - 0.5 * free * float(np.log(max(squares, 1e-300))),
            past=pick @ found.smoothed_state,
            past_spread=np.sqrt(np.maximum(spread, 0.0)),
        )


def _root(covariance: Array) -> Array:
    """Return roots of covariances that may be singular."""
    values, vectors = np.linalg.eigh((covariance + np.swapaxes(covariance, -1, -2)) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])


def weigh(points: Iterable[Point], proposed: Array | float = 0.0) -> tuple[tuple[Point, ...], Array]:
    """Return the points that matter, the likeliest first, and their weights: likelihood on a flat prior.

    Parameters
    ----------
    points : iterable of Point
    proposed : ndarray
        Logarithm of how densely the points lie, where that is not the same everywhere.
    """
    found = list(points)
    likelihood = np.array([p.likelihood for p in found])
    weights = np.exp(likelihood - proposed - (likelihood - proposed).max())
    order = np.argsort(-likelihood, kind="stable")
    order = order[weights[order] > _NEGLIGIBLE * weights.max()]
    return tuple(found[i] for i in order), weights[order] / weights[order].sum()


def maximise(model: Any, start: Array) -> Any:
    """Fit by maximum likelihood; what went wrong is one warning, and nothing is printed."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = model.fit(start, disp=False, maxiter=500)
    said = [] if found.mle_retvals.get("converged", False) else ["the likelihood's maximum was not reached"]
    said += [str(w.message).splitlines()[0] for w in caught if "converge" not in str(w.message)]
    if said:
        warnings.warn(f"central path: {'; '.join(dict.fromkeys(said))}", stacklevel=2)
    return found


def _level_of(level: Array, both: Array) -> Array:
    """Return the level of states, (which of the two, draw)."""
    return np.asarray(level @ both.reshape(len(level), -1)).reshape(both.shape[1:])


def _variance(along: Array, covariance: Array) -> Array:
    """Return the variance of a combination of the state, of each point."""
    return np.asarray(np.sum((covariance @ along[..., None])[..., 0] * along, axis=-1))


def _carried(covariance: Array, move: tuple[Array, Array]) -> Array:
    """Return the covariance of a state after a move: a transition, and the covariance of the shocks on its way."""
    transition, shocks = move
    return transition @ covariance @ np.swapaxes(transition, 1, 2) + shocks


def _moves(step: tuple[Array, Array], count: int) -> tuple[Array, Array]:
    """Return so many moves of one step as one, by doubling."""
    if count == 1:
        return step
    half = _moves(step, count // 2)
    parts = (half, half, step) if count % 2 else (half, half)
    transition, shocks = parts[0]
    for part in parts[1:]:
        transition, shocks = part[0] @ transition, _carried(shocks, part)
    return transition, shocks


def _reached(
    steps: NDArray[np.int_], state: Array, covariance: Array, step: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Return the mean of the state and its covariance after numbers of steps that do not fall, (number, point, …).

    From one number to the next it is one move, however many steps lie between: a horizon of a century has more than a
    thousand months.
    """
    states, covariances = np.empty((len(steps), *state.shape)), np.empty((len(steps), *covariance.shape))
    known: dict[int, tuple[Array, Array]] = {}
    for i, count in enumerate(np.diff(steps, prepend=0).tolist()):
        if count:
            if count not in known:
                known[count] = _moves(step, count)
            state = (known[count][0] @ state[..., None])[..., 0]
            covariance = _carried(covariance, known[count])
        states[i], covariances[i] = state, covariance
    return states, covariances


def _interpolate(when: Array, grid: Array, values: Array) -> Array:
    """Return what `np.interp` does of every column of values, (date, column)."""
    place = np.clip(np.searchsorted(grid, when, side="right") - 1, 0, len(grid) - 2)
    low, start = values[place], grid[place]
    slope = (values[place + 1] - low) / (grid[place + 1] - start)[:, None]
    out = slope * (when - start)[:, None] + low
    out[when < grid[0]], out[when >= grid[-1]] = values[0], values[-1]
    return np.asarray(out)


@dataclass(frozen=True, kw_only=True)
class FittedStates(FittedShape):
    """A state space that has seen its series.

    Parameters
    ----------
    grid : Cells
    points : tuple of Point
        Support of the parameters.
    weights : ndarray
        Share of draws that take each point.
    climb : callable
        Finds the point at the maximum of the likelihood, for who asks for the central path: no draw needs it.
    dof : float
        Degrees of freedom of the scale.
    summarise : callable
        Makes the description.
    """

    grid: Cells
    points: tuple[Point, ...]
    weights: Array
    climb: Callable[[], Point]
    dof: float
    summarise: Callable[[FittedStates], Description]
    _known: dict[int, Array] = field(default_factory=dict, repr=False, compare=False)

    @functools.cached_property
    def best(self) -> Point:
        """The point at the maximum of the likelihood."""
        return self.climb()

    def _half(self, streams: Streams) -> tuple[NDArray[np.intp], Array, Array]:
        """Return which point, the scale and the state's deviation at the last cell, for every other draw."""
        rng, size = streams("parameters"), streams.draws // 2
        pick = rng.choice(len(self.points), size=size, p=self.weights)
        scale = np.array([p.scale for p in self.points])[pick] * np.sqrt(self.dof / rng.chisquare(self.dof, size))
        roots = np.stack([p.root for p in self.points])[pick]
        return pick, scale, np.einsum("dij,jd->id", roots, rng.standard_normal((roots.shape[1], size)))

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw the level and growth at the last observation, the scale, and the parameters."""
        pick, scale, away = self._half(streams)
        level, growth, mean = (
            np.stack([getattr(p, name) for p in self.points])[pick] for name in ("level", "growth", "state")
        )
        state = np.repeat(mean.T, 2, axis=1) + mirrored(scale * away)
        out = {
            "log_level": np.einsum("id,di->d", state, np.repeat(level, 2, axis=0)),
            "growth": np.einsum("id,di->d", state, np.repeat(growth, 2, axis=0)) / self.grid.step,
            "scale": mirrored(scale, 1.0),
        }
        for name in self.points[0].parameters:
            out[name] = mirrored(np.array([p.parameters[name] for p in self.points])[pick], 1.0)
        return out

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """Level and growth at the last observation."""
        return {"log_level": "", "growth": "1/year"}

    def log_level(self, time: Array, parameters: Mapping[str, Array]) -> Array:
        """Return what level and growth at the last observation add after it, and before it nothing."""
        told = {n: each for n, each in parameters.items() if n in self.points[0].parameters}
        near = [
            sum(abs(told[n] - p.parameters[n]) for n in told) + np.zeros(len(parameters["growth"])) for p in self.points
        ]
        pick = np.argmin(near, axis=0)
        ahead = (np.asarray(time, dtype=float) - self.grid.last) / self.grid.step
        reach = int(np.ceil(ahead.max(initial=0.0)))
        steps = self._gained(reach)
        whole = np.minimum(np.maximum(ahead, 0.0).astype(int), max(reach - 1, 0))
        share = np.clip(ahead - whole, 0.0, 1.0)[:, None, None]
        gained = (1 - share) * steps[whole] + share * steps[np.minimum(whole + 1, reach)]
        gained[ahead < 0] = 0.0
        level, growth = parameters["log_level"], parameters["growth"] * self.grid.step
        return np.asarray(gained[:, pick, 0] * level + gained[:, pick, 1] * growth)

    def _gained(self, reach: int) -> Array:
        """Return what level and growth, each by one, add after so many steps, (step, point, 2)."""
        if reach not in self._known:
            steps = np.empty((reach + 1, len(self.points), 2))
            for i, point in enumerate(self.points):
                # the smallest change of the state that changes level, and growth in a step, by one
                state = np.linalg.pinv(np.stack([point.level, point.growth]))
                for k in range(reach + 1):
                    steps[k, i], state = point.level @ state, point.transition @ state
            self._known[reach] = steps
        return self._known[reach]

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw paths of the level; with `observed`, one observation's scatter around it."""
        time = np.asarray(time, dtype=float)
        pick, scale, away = self._half(streams)
        transition, selection, mean = (
            np.stack([getattr(p, name) for p in self.points], axis=-1).take(pick, axis=-1)
            for name in ("transition", "selection", "state")
        )
        level, shape = self.points[0].level, (2, len(pick))
        # the middle and the deviation of every pair of draws: (state, which of the two, draw)
        both = np.stack([mean, scale * away], axis=1)

        ends = np.empty((len(time), *shape))
        ahead = (time - self.grid.last) / self.grid.step
        done, k = int(np.sum(ahead < 0)), 0
        now = _level_of(level, both)
        if done:
            ends[:done] = self._past(time[:done], pick, *now)
        rng = streams("noise")
        while done < len(time):
            if k % _TOGETHER == 0:
                shocks = rng.standard_normal((_TOGETHER, selection.shape[1], len(pick)))
                moves = scale * np.einsum("ijd,kjd->kid", selection, shocks)
            last = both
            both = np.einsum("ijd,jbd->ibd", transition, both)
            both[:, 1] += moves[k % _TOGETHER]
            if ahead[done] <= k + 1:  # most steps pass between two dates
                before, now = _level_of(level, last), _level_of(level, both)
            while done < len(time) and ahead[done] <= k + 1:
                share = ahead[done] - k
                ends[done] = (1 - share) * before + share * now
                done += 1
            k += 1
        centre, spread = ends[:, 0], ends[:, 1]
        out = np.repeat(centre, 2, axis=1) + mirrored(spread)
        if observed:
            size = scale * np.array([p.scatter for p in self.points])[pick]
            out += mirrored(size, 1.0) * streams("scatter").standard_normal(out.shape)
        return np.exp(np.clip(out, -LARGEST, LARGEST))

    def marginals(self, time: Array, *, observed: bool = False) -> StudentMixture:
        """Return the distribution of the log level at each date, or of one observation's: that of `sample`."""
        time = np.asarray(time, dtype=float)
        transition, selection, root, state = (
            np.stack([getattr(p, name) for p in self.points]) for name in ("transition", "selection", "root", "state")
        )
        level, ahead = self.points[0].level, (time - self.grid.last) / self.grid.step
        covariance, shocks = (each @ np.swapaxes(each, 1, 2) for each in (root, selection))
        centres, variances = np.empty((2, len(time), len(self.points)))
        done = int(np.sum(ahead < 0))
        if done:
            centres[:done], ratio = self._past_levels(time[:done])
            variances[:done] = ratio**2 * _variance(level, covariance)
        whole = np.maximum(np.ceil(ahead[done:]) - 1, 0).astype(int)
        states, covariances = _reached(whole, state, covariance, (transition, shocks))
        share = (ahead[done:] - whole)[:, None]
        # what a state is to the level on the way to the next step
        along = (1 - share)[..., None] * level + share[..., None] * (level @ transition)
        centres[done:] = np.sum(along * states, axis=-1)
        variances[done:] = _variance(along, covariances) + share**2 * _variance(level, shocks)
        if observed:
            variances += np.square([p.scatter for p in self.points])
        scale = np.array([p.scale for p in self.points])
        return StudentMixture(
            centres=centres, widths=scale * np.sqrt(np.maximum(variances, 0.0)), dof=self.dof, weights=self.weights
        )

    def _past(self, when: Array, pick: NDArray[np.intp], level: Array, away: Array) -> Array:
        """Return centre and deviation at dates before the last cell, (date, which of the two, draw).

        The smoothed level of the draw's own parameters; draws that are high at the last cell are high before it.
        """
        centre, ratio = self._past_levels(when)
        return np.stack([centre[:, pick], away * ratio[:, pick]], axis=1)

    def _past_levels(self, when: Array) -> tuple[Array, Array]:
        """Return every point's smoothed level at dates before the last cell, and its deviation over the last one's."""
        grid, past, spread = self.grid.time, self._smoothed[0], self._smoothed[1]
        at, wide = (_interpolate(when, grid, each) for each in (past, spread))
        last = spread[-1]
        ratio = np.where(last > 0, wide / np.where(last > 0, last, 1.0), 0.0)
        back = (past[1] - past[0]) / self.grid.step
        return at + back * np.minimum(when - grid[0], 0.0)[:, None], ratio

    @functools.cached_property
    def _smoothed(self) -> Array:
        """The smoothed level of every point at every cell, and its spread, (which of the two, cell, point)."""
        every = [[getattr(p, name) for p in self.points] for name in ("past", "past_spread")]
        return np.ascontiguousarray(np.swapaxes(every, 1, 2))

    def central(self, time: Array) -> Array:
        """Return the smoothed level and, beyond the last observation, statsmodels' forecast."""
        time = np.asarray(time, dtype=float)
        ahead = np.maximum((time - self.grid.last) / self.grid.step, 0.0)
        steps = int(np.ceil(ahead.max(initial=0.0)))
        state, path = self.best.state, [self.best.level @ self.best.state]
        for _ in range(steps):
            state = self.best.transition @ state
            path.append(self.best.level @ state)
        out = np.interp(ahead, np.arange(steps + 1), path)
        grid = self.grid.time
        before = np.interp(time, grid, self.best.past)
        before += (self.best.past[1] - self.best.past[0]) / self.grid.step * np.minimum(time - grid[0], 0.0)
        return np.asarray(np.exp(np.clip(np.where(time < self.grid.last, before, out), -LARGEST, LARGEST)))

    def anchored(self, time: Array, record: Array) -> FittedShape:
        """Return the same from the last record on."""
        return Anchored(shape=self, time=time, record=record)

    def describe(self) -> Description:
        """Say what was found and what is assumed."""
        return self.summarise(self)

    def growth_facts(self) -> dict[str, float]:
        """Return the growth at the last observation as it is drawn, with its 90 % interval, and the counts behind."""
        low, growth, high = (self.quantile_of_growth(q) / self.grid.step for q in (0.05, 0.5, 0.95))
        return growth_facts(growth, low, high) | {
            "n": float(self.grid.counted),
            "n_effective": self.dof + 2,
            "degrees_of_freedom": self.dof,
            "step_years": self.grid.step,
        }

    def quantile_of_growth(self, q: float, factors: Array | float = 1.0) -> float:
        """Return a quantile of the growth in one step, over all points: times a factor of each."""
        centres = factors * np.array([p.growth @ p.state for p in self.points])
        widths = factors * np.array([p.scale * float(np.linalg.norm(p.growth @ p.root)) for p in self.points])
        return quantile(q, centres, widths, self.dof, self.weights)
