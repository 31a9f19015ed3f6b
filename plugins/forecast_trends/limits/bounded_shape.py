"""Growth towards a cap: logistic and Gompertz, with a cap that physics states, people judge, or the data show.

Below its cap a series looks exponential, and the cap is not identified. So the cap is never a best guess: it is a
number, a distribution, or a profile over all caps that the data allow, the highest included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.errors import FitError, UsageError
from forecast.models import Anchored, Description, FittedShape, Shape
from forecast.streams import choice
from forecast_trends.autoregression import Regressions, ScatteredShape, jointly, regressions
from forecast_trends.evidence import first_of_each_record, log_series
from forecast_trends.points import LARGEST

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["Capped", "FittedCapped", "Gompertz", "Logistic"]

#: A cap that nobody states is looked for up to this factor above the largest value, evenly in its logarithm.
REACH = 1e6
#: How many caps are looked at, and how often the row of caps is drawn closer around those that fit.
CAPS, REFINED = 61, 6
#: Steps of a fit below one cap, at most.
ITERATIONS = 100
#: Steps in a row that gain nothing, after which a fit stands still: one such step may be a damped one.
STILL = 3
#: Times that a drawn step is halved at most.
HALVINGS = 60
#: For so many blocks of draws the curves below given caps are kept: as many as a run has by default.
LATELY = 8
#: Points without which three parameters are not looked for.
FEWEST = 5


class Capped(Shape):
    """A curve in log value below a cap, log y = log K + s(a + r·t); a subclass says which.

    For each cap the two other parameters are fitted by least squares on log y. A cap given as a number is taken as it
    is. A cap given as a distribution is judged and not learned: each draw has its own, and the curve fitted below it.
    Without one, caps from the largest value to a million times it are weighed by how well the curve below them fits,
    all alike before the data are seen, and where the highest fit as well as any the answer says that the data show no
    cap.

    Parameters
    ----------
    cap : float, optional
        In the unit of the series; a distribution in a trend's options.
    """

    uncertain = ("cap",)
    needs_level = True
    title = ""
    reference = ""

    def __init__(self, cap: float | None = None) -> None:
        if cap is not None and not 0 < cap < float("inf"):
            raise UsageError(f"cap: expected a positive number, got {cap:g}")
        self.cap = cap

    def curve(self, z: Array) -> Array:
        """Return log(y/K) at z = a + r·t: rises from minus infinity to 0."""
        raise NotImplementedError

    def slope(self, z: Array) -> Array:
        """Return its derivative."""
        raise NotImplementedError

    def line(self, below: Array) -> Array:
        """Return z where the curve is at log(y/K) = `below`, which is negative."""
        raise NotImplementedError

    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Fit the curve below each cap of the grid, or below the given one."""
        time, y = log_series(time, value, frontier=frontier)
        top, origin = float(y.max()), float(time.mean())
        if self.cap is not None and np.log(self.cap) < top - 0.3 * float(np.ptp(y)):
            raise FitError(f"the cap {self.cap:g} lies far below the largest value, {np.exp(top):g}")
        if self.cap is None and len(y) < FEWEST:
            raise FitError(f"a curve with a cap to be found needs at least {FEWEST} points, got {len(y)}: give the cap")
        records = first_of_each_record(y) if frontier else None
        # noise lifts the largest value above the cap of a series that has reached it
        grid = np.linspace(top - 0.3 * float(np.ptp(y)), top + np.log(REACH), CAPS)
        shown, weights, curves = True, np.ones(1), None
        if self.cap is not None:
            curves = fit_below_caps(self, time - origin, y, np.array([np.log(self.cap)]))
        for _ in range(0 if self.cap is not None else REFINED):
            curves = fit_below_caps(self, time - origin, y, grid)
            found = curves.regressions(records)
            likelihood = np.logaddexp.reduce(found.likelihood, axis=1)
            likelihood -= likelihood.max()
            weights = np.exp(likelihood)
            if grid[-1] >= top + np.log(REACH) - 1e-9:
                # the highest cap fits worse than a 95 % interval allows, and few draws come near it
                near = weights[grid > grid[-1] - np.log(10)].sum() / weights.sum()
                shown = bool(likelihood[-1] < -1.92 and near < 0.05)
            inside = np.flatnonzero(weights > 1e-4)
            if inside.size > CAPS // 3:
                break
            grid = np.linspace(grid[max(inside[0] - 1, 0)], grid[min(inside[-1] + 1, CAPS - 1)], CAPS)
        assert curves is not None
        found = curves.regressions(records)
        return FittedCapped(
            shape=self,
            curves=curves,
            noise=found,
            weights=weights / weights.sum(),
            best=int(np.argmax(weights)),
            shown=shown,
            time=time,
            y=y,
            origin=origin,
            records=records,
            apart=float(np.ptp(time)) / max(found.size - 1, 1.0),
            last=(float(time[-1]), float(y[-1])),
        )


class Logistic(Capped):
    """y = K/(1 + exp(−(a + r·t))): growth falls in proportion to what has been reached (Verhulst 1838)."""

    title = "logistic"

    def curve(self, z: Array) -> Array:
        """Return −log(1 + exp(−z))."""
        return np.asarray(-np.logaddexp(0.0, -z))

    def slope(self, z: Array) -> Array:
        """Return 1/(1 + exp(z))."""
        from scipy.special import expit

        return np_float(expit(-z))

    def line(self, below: Array) -> Array:
        """Return the logit of y/K."""
        return np.asarray(-np.log(np.expm1(-below)))


class Gompertz(Capped):
    """y = K·exp(−exp(−(a + r·t))): growth falls exponentially in time (Gompertz 1825)."""

    title = "Gompertz"

    def curve(self, z: Array) -> Array:
        """Return −exp(−z)."""
        return np.asarray(-np.exp(np.minimum(-z, 300.0)))

    def slope(self, z: Array) -> Array:
        """Return exp(−z)."""
        return np_float(-self.curve(z))

    def line(self, below: Array) -> Array:
        """Return −log(−log(y/K))."""
        return np.asarray(-np.log(-below))


def np_float(values: object) -> Array:
    """Return values as an array of floats."""
    return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Curves fitted below caps.

    Parameters
    ----------
    caps : ndarray
        Their logarithms, (cap,).
    centre, basis, back : ndarray
        (cap, 2), (cap, point, 2) and (cap, 2, 2): a and r; orthonormal columns of what log value gains with them; and
        what makes coefficients on these columns a and r.
    residuals : ndarray
        (cap, point), of log value.
    """

    caps: Array
    centre: Array
    basis: Array
    back: Array
    residuals: Array

    def regressions(self, records: BoolArray | None) -> Regressions:
        """Weigh every ρ of the noise below every cap."""
        return regressions(self.basis, self.residuals, self.back, records=records)


def fit_below_caps(shape: Capped, time: Array, y: Array, caps: Array) -> Curves:
    """Fit (a, r) below every cap at once: damped Gauss-Newton from the straight line through the transformed data."""
    design = np.stack([np.ones_like(time), time], axis=1)
    # what reaches above the cap is noise about it: for the start only it is put just below
    start = shape.line(np.minimum(y - caps[:, None], -1e-2))
    p: Array = np.asarray(np.linalg.lstsq(design, start.T, rcond=None)[0].T, dtype=np.float64)

    def miss(p: Array, caps: Array) -> Array:
        return np.clip(caps[:, None] + shape.curve(p @ design.T), -LARGEST, LARGEST) - y

    found = miss(p, caps)
    cost, damping = np.sum(found**2, axis=1), np.full(caps.size, 1e-3)
    still, left = np.zeros(caps.size, dtype=np.int64), np.arange(caps.size)
    for _ in range(ITERATIONS):
        # a few caps take many times the steps of the rest: only those that still move are looked at
        at, was = p[left], cost[left]
        table = _gained(shape.slope(at @ design.T), time)
        turned = np.swapaxes(table, 1, 2)
        normal, gradient = turned @ table, turned @ found[left, :, None]
        diagonal = np.einsum("cii->ci", normal)
        trial = at - _solved(normal, damping[left, None] * diagonal + 1e-300, gradient[..., 0])
        new = miss(trial, caps[left])
        fresh = np.sum(new**2, axis=1)
        better = fresh <= was
        p[left[better]], found[left[better]], cost[left[better]] = trial[better], new[better], fresh[better]
        damping[left] = np.clip(np.where(better, damping[left] / 10, damping[left] * 10), 1e-14, 1e12)
        still[left] = np.where(np.abs(was - fresh) <= 1e-13 * was, still[left] + 1, 0)
        left = left[(still[left] < STILL) & (damping[left] < 1e12)]
        if not left.size:
            break
    table = _gained(shape.slope(p @ design.T), time)
    basis, singular, turned = np.linalg.svd(table, full_matrices=False)
    back = np.swapaxes(turned, 1, 2) / np.maximum(singular, 1e-8 * singular[:, :1] + 1e-300)[:, None, :]
    return Curves(caps=caps, centre=p, basis=basis, back=back, residuals=-found)


def _gained(slope: Array, time: Array) -> Array:
    """Return what log value gains with a and with r, (cap, point, 2)."""
    table = np.empty((*slope.shape, 2))
    table[..., 0] = slope
    np.multiply(slope, time, out=table[..., 1])
    return table


def _solved(normal: Array, added: Array, right: Array) -> Array:
    """Solve symmetric equations of two unknowns, (cap, 2, 2), with what is added to the diagonal, (cap, 2)."""
    across, down = normal[:, 0, 1], normal[:, 1, 0]
    first, second = (normal[:, i, i] + added[:, i] for i in range(2))
    size = np.maximum(first * second - across * down, 1e-300)
    solved = [second * right[:, 0] - across * right[:, 1], first * right[:, 1] - down * right[:, 0]]
    return np.asarray(np.stack(solved, axis=1) / size[:, None])


@dataclass(frozen=True, kw_only=True)
class FittedCapped(ScatteredShape):
    """Curves below a row of caps, with weights.

    Parameters
    ----------
    shape : Capped
    curves : Curves
    noise : Regressions
        What weighs every ρ of the noise below them.
    weights : ndarray
        Share of the draws that take each, where no cap is given.
    best : int
        The cap of the central line.
    shown : bool
        The data tell a cap from none.
    time, y : ndarray
        The points, in log value.
    origin : float
        The date of `a`.
    records : ndarray, optional
        Points of a running maximum that set a record.
    drawn : Curves, optional
        One a draw, below the caps that were given; `noise` is then of these.
    through : (float, float), optional
        A date and a log value through which every curve is moved in time; what lies above its cap stays at the cap.
    """

    shape: Capped
    curves: Curves
    noise: Regressions
    weights: Array
    best: int
    shown: bool
    time: Array
    y: Array
    origin: float
    records: BoolArray | None
    drawn: Curves | None = None
    through: tuple[float, float] | None = None
    #: The shape below caps that were given lately: levels are drawn below them, and then parameters.
    lately: dict[bytes, FittedShape] = field(init=False, default_factory=dict, repr=False, compare=False)

    def given(self, options: Mapping[str, Array]) -> FittedShape:
        """Return the shape with a cap, and the curve fitted below it, for each draw."""
        caps = np.asarray(options["cap"], dtype=float)
        if not (caps > 0).all():
            raise UsageError(f"cap: expected a positive number, got {caps.min():g}")
        key = caps.tobytes()
        if key not in self.lately:
            drawn = fit_below_caps(self.shape, self.time - self.origin, self.y, np.log(caps))
            while len(self.lately) >= LATELY:
                del self.lately[next(iter(self.lately))]
            self.lately[key] = replace(self, drawn=drawn, noise=drawn.regressions(self.records))
        return self.lately[key]

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw the curve, jointly with the cap where that is not given by draws already."""
        uniforms = streams.uniforms("parameters", 5)
        z, wider = jointly(uniforms[:-2], self.noise.dof)
        curves, pick = self.curves, choice(self.weights, uniforms[-2])
        if self.drawn is not None:
            curves, pick = self.drawn, np.arange(streams.draws)
        # of each draw's own cap
        each = np.exp(self.noise.likelihood - self.noise.likelihood.max(axis=1, keepdims=True))
        edges = np.cumsum(each, axis=1)[pick]
        rho = np.sum(edges[:, :-1] < uniforms[-1][:, None] * edges[:, -1:], axis=1)
        pairs, which = np.unique(pick * len(self.noise.rho) + rho, return_inverse=True)
        step = np.einsum("dij,jd->di", self.noise.roots(*np.divmod(pairs, len(self.noise.rho)))[which], z)
        rise = self._rise(curves.centre[pick], step)
        most = np.sum(curves.residuals[pick] ** 2, axis=1) + 4 * rise
        a, r = (curves.centre[pick] + self._shorten_step(curves.centre[pick], curves.caps[pick], step, most)).T
        # a curve that is at its cap wherever there are points has no rate that these tell: it stays there
        ends = np.array([self.time.min(), self.time.max()]) - self.origin
        there = (self.shape.curve(a[:, None] + r[:, None] * ends) > -0.01).all(axis=1)
        there |= curves.caps[pick] < self.y.mean()
        r = np.where(there, np.maximum(r, 0.0), r)
        noise = {"scatter": self.noise.scale[pick, rho] * wider, "autocorrelation": self.noise.rho[rho]}
        return {"offset": a, "rate": r, **noise} | ({"log_cap": curves.caps[pick]} if self.drawn is None else {})

    def _rise(self, centre: Array, step: Array) -> Array:
        """Return by how much a step raises the sum of squares, in the straight approximation."""
        time = self.time - self.origin
        slope = self.shape.slope(centre[:, :1] + centre[:, 1:] * time)
        return np.asarray(np.sum((slope * (step[:, :1] + step[:, 1:] * time)) ** 2, axis=1))

    def _shorten_step(self, centre: Array, caps: Array, step: Array, most: Array) -> Array:
        """Halve the steps whose curves lie further from the points than the straight approximation says.

        Near its cap a curve is flat, and the approximation takes any step there for a small one.
        """
        # a cap below the points has its curve at the cap, and their distance from it is no noise
        told = np.isfinite(step).all(axis=1) & (caps >= self.y.mean())
        step, far = np.where(told[:, None], step, 0.0), np.flatnonzero(told)
        time = self.time - self.origin
        for _ in range(HALVINGS):
            a, r = (centre[far] + step[far]).T
            level = caps[far][:, None] + self.shape.curve(a[:, None] + r[:, None] * time)
            cost = np.sum((np.clip(level, -LARGEST, LARGEST) - self.y) ** 2, axis=1)
            far = far[~(cost <= most[far])]
            if not far.size:
                return step
            step[far] /= 2
        step[far] = 0.0
        return step

    def anchored(self, time: Array, record: Array) -> FittedShape:
        """Return the same from the last record on, below the same caps."""
        moved = replace(self, through=(float(time[-1]), float(np.log(record[-1]))))
        return Anchored(shape=moved, time=time, record=record)

    def _moved(self, z: Array, a: Array, r: Array, caps: Array) -> Array:
        """Return what curves are a function of, moved so that they pass through the point that was given."""
        if self.through is None:
            return z
        date, value = self.through
        return np.asarray(z + self.shape.line(np.minimum(value - caps, -1e-12)) - (a + r * (date - self.origin)))

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """The curve, and the cap where that is not given."""
        return {"offset": "", "rate": "1/year"} | ({"log_cap": ""} if self.drawn is None else {})

    def log_level(self, time: Array, parameters: Mapping[str, Array]) -> Array:
        """Return the curves of these parameters."""
        offset, rate = parameters["offset"], parameters["rate"]
        caps = parameters["log_cap"] if self.drawn is None else self.drawn.caps
        z = self._moved(offset + rate * (np.asarray(time)[:, None] - self.origin), offset, rate, caps)
        return np.asarray(caps + self.shape.curve(z))

    def conditional(self, drawn: Mapping[str, Array], fixed: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return the curve below a fixed cap: as far from the best curve there as it was below its own cap."""
        out = {**drawn, **fixed}
        if "log_cap" in fixed:
            caps, place = np.unique(np.stack([drawn["log_cap"], fixed["log_cap"]]), return_inverse=True)
            best = fit_below_caps(self.shape, self.time - self.origin, self.y, caps).centre[place.reshape(2, -1)]
            moved = (best[1] - best[0]).T
            out |= {n: drawn[n] + each for n, each in zip(("offset", "rate"), moved, strict=True) if n not in fixed}
        return out

    def central(self, time: Array) -> Array:
        """Return the best curve, or the one below the given cap."""
        a, r = self.curves.centre[self.best]
        z, cap = a + r * (np.asarray(time, dtype=float) - self.origin), self.curves.caps[self.best]
        level = cap + self.shape.curve(self._moved(z, a, r, cap))
        return np.asarray(np.exp(np.clip(level, -LARGEST, LARGEST)))

    def describe(self) -> Description:
        """Say the cap, whether the data show it, and when growth ends."""
        curves, best = self.curves, self.best
        if self.drawn is not None:
            curves, best = self.drawn, int(np.argsort(self.drawn.caps)[self.drawn.caps.size // 2])
        (a, r), caps, n = curves.centre[best], curves.caps, self.y.size
        shares = np.cumsum(self.weights)
        at = (min(int(np.searchsorted(shares, p)), self.curves.caps.size - 1) for p in (0.05, 0.95))
        low, high = (float(np.exp(self.curves.caps[i])) for i in at)
        growth = float(r * self.shape.slope(np.array(a + r * (self.time.max() - self.origin))))
        size, rho = self.noise.counted(self.noise.shares())
        facts = {
            "n": float(n),
            "n_effective": size,
            "autocorrelation": rho,
            "growth_per_year": growth,
            "cap": float(np.exp(caps[best])),
            "cap_identified": float(self.shown),
            "share_of_cap": float(np.exp(self.y.max() - caps[best])),
        }
        name = self.shape.title
        if self.shape.cap is not None:
            said = f"{name} towards a given cap of {facts['cap']:.3g}"
            why = "the cap is given, and not learned from the data"
        elif self.shown:
            facts |= {"cap_p05": low, "cap_p95": high}
            said = f"{name} towards a cap of {facts['cap']:.3g} [90 %: {low:.3g}, {high:.3g}]"
            why = "before the data, caps up to a million times the largest value are alike in their logarithm"
        else:
            facts |= {"cap_p05": low}
            said = f"{name}; the data show no cap (not identified; a cap below {low:.3g} has 5 %)"
            why = (
                "the data show no cap: the draws spread over caps up to a million times the largest value, alike in "
                "their logarithm before the data are seen, and that spread is a choice"
            )
        rate = f"growth of {100 * np.expm1(growth):.0f} % a year at the last point"
        return Description(
            summary=f"{said}; {rate}, from {n} points (effective n {size:.1f})",
            assumptions=(f"growth follows a {name} curve to one cap, with Student-t scatter in log value", why),
            facts=facts,
        )
