"""A staircase of one-off features: steady growth, and steps that each come once.

Sixteen-bit arithmetic doubles a rate once; it cannot be halved again for ever. A trend through such steps takes them
for growth that goes on. Here each step has a date, an adoption curve and a gain, and a list that is used up is used up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.distributions import Distribution, distribution
from forecast.errors import FitError, UnknownNameError, UsageError, printable
from forecast.models import Array, Description, FittedShape, Shape, condition_draws
from forecast_trends.autoregression import Mixture, ScatteredShape, regressions
from forecast_trends.evidence import first_of_each_record, from_record, log_series
from forecast_trends.points import LARGEST

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["Feature", "FittedStaircase", "Staircase", "adoption"]

#: Years in which adoption goes from 10 % to 90 %, where nobody says.
YEARS = 2.0
_ROUNDS = 50
_KEYS = ("date", "gain", "years", "probability", "source")


@dataclass(frozen=True, kw_only=True)
class Feature:
    """One step.

    Parameters
    ----------
    name : str
    date : Distribution
        Decimal year at which a tenth of the effect is there.
    gain : Distribution
        The factor it is worth in the end.
    years : float
        From a tenth to nine tenths of the effect.
    probability : float
        That it comes at all.
    source : str
        Where these are from; empty where nobody says.
    """

    name: str
    date: Distribution
    gain: Distribution
    years: float = YEARS
    probability: float = 1.0
    source: str = ""

    @classmethod
    def read(cls, name: str, record: object) -> Feature:
        """Make a feature of its record.

        Raises
        ------
        UsageError, UnknownNameError, ScenarioError
        """
        where = f"features.{printable(name, 60)}"
        if not isinstance(record, Mapping):
            raise UsageError(f"{where}: expected a table with a date and a gain, got {type(record).__name__}")
        for key in record:
            if key not in _KEYS:
                raise UnknownNameError("key", key, _KEYS, where=where)
        for key in ("date", "gain"):
            if key not in record:
                raise UsageError(f"{where}: '{key}' is missing")
        result = cls(
            name=name,
            date=_distribution(record["date"], f"{where}.date"),
            gain=_distribution(record["gain"], f"{where}.gain"),
            years=float(record.get("years", YEARS)),
            probability=float(record.get("probability", 1.0)),
            source=record.get("source", ""),
        )
        if not isinstance(result.source, str):
            raise UsageError(f"{where}.source: expected text, got {type(result.source).__name__}")
        if not result.years > 0:
            raise UsageError(f"{where}.years: expected a positive number, got {result.years:g}")
        if not 0 <= result.probability <= 1:
            raise UsageError(f"{where}.probability: expected a number from 0 to 1, got {result.probability:g}")
        if not result.gain.median() > 0:
            raise UsageError(f"{where}.gain: expected a positive factor, got {result.gain.median():g}")
        return result

    def prior(self) -> tuple[float, float]:
        """Return mean and standard deviation of the log gain."""
        low, middle, high = np.log(np.maximum(self.gain.ppf(np.array([0.05, 0.5, 0.95])), 1e-300))
        return float(middle), float((high - low) / 3.289707253902945)

    def said(self) -> str:
        """Say what is stated of it, and by whom."""
        return (
            f"{self.name}: a tenth of it is there at {self.date}, nine tenths {self.years:g} years later; gain "
            f"{self.gain}; probability {self.probability:.0%} ({self.source or 'given'})"
        )


def _distribution(value: object, where: str) -> Distribution:
    record: Any = value if isinstance(value, Mapping) else {"value": value}
    return distribution(record, where=where)


def adoption(time: Array, date: Array | float, years: Array | float) -> Array:
    """Return the share of a step's effect (in log value) that is there: a tenth at `date`, nine tenths `years` later.

    Examples
    --------
    >>> import numpy as np
    >>> adoption(np.array([2010.0, 2011.0, 2012.0]), 2010.0, 2.0).round(3).tolist()
    [0.1, 0.5, 0.9]
    """
    from scipy.special import expit

    return np.asarray(expit(2 * np.log(9) * (np.asarray(time) - date - np.asarray(years) / 2) / years))


class Staircase(Shape):
    """log y = a + g·t + Σ log(gain)·adoption: steady growth g, and features that each come once.

    The gain of a feature that has come is learned from the series, starting from what its record says (a normal prior
    in log gain); that of a feature still to come is drawn from its record, with its date and the probability that it
    comes at all. After the last feature only the steady growth is left: the staircase is exhausted.

    Parameters
    ----------
    features : mapping of str to mapping
        ``{"tensor-cores": {"date": 2017.5, "gain": {"p05": 2, "p95": 8}, "years": 2, "probability": 1, "source":
        "the first card that has them"}}``; a date or a gain is a number or a distribution. Default: none, and the
        growth is steady throughout.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.arange(2000.0, 2020.0)
    >>> y = 1.1 ** (t - 2000) * np.where(t < 2010, 1.0, 4.0)
    >>> steps = {"doubling-twice": {"date": 2009.4, "gain": {"p05": 2, "p95": 8}, "years": 0.2}}
    >>> facts = Staircase(features=steps).fit(t, y).describe().facts
    >>> round(facts["gain_doubling-twice"], 2), round(facts["growth_per_year"], 3)
    (4.0, 0.095)
    """

    needs_level = True

    def __init__(self, features: Mapping[str, object] | None = None) -> None:
        if features is not None and (not isinstance(features, Mapping) or not features):
            raise UsageError("features: expected a table of features, each with a date and a gain")
        self.features = tuple(Feature.read(str(name), record) for name, record in (features or {}).items())

    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Learn the steady growth, and the gains of the features that have come, by Bayesian least squares."""
        time, y = log_series(time, value, frontier=frontier)
        last, origin = float(time.max()), float(time.mean())
        come = tuple(f for f in self.features if f.date.median() <= last)
        x = design(time, origin, come)
        prior = np.array([f.prior() for f in come]).reshape(-1, 2)
        if len(y) < 3:
            raise FitError(f"a staircase needs at least 3 points, got {len(y)}")
        # The priors are rows of their own, weighed against the noise, which is estimated in turn. A gain that is stated
        # as one number is taken as it is.
        spread = np.maximum(prior[:, 1], 1e-6)
        rows = np.hstack([np.zeros((len(come), 2)), np.eye(len(come))])
        scale = max(float(np.std(y - np.polyval(np.polyfit(time - origin, y, 1), time - origin))), 1e-9)
        for _ in range(_ROUNDS):
            weight = scale / spread
            full = np.vstack([x, rows * weight[:, None]])
            target = np.concatenate([y, prior[:, 0] * weight])
            q, r = np.linalg.qr(full)
            beta = np.linalg.solve(r, q.T @ target)
            residuals = y - x @ beta
            fresh = max(float(np.sqrt(residuals @ residuals / max(len(y) - 2, 1))), 1e-9)
            if abs(fresh - scale) <= 1e-9 * scale:
                break
            scale = fresh
        records = first_of_each_record(y) if frontier else None
        back = np.linalg.inv(r)[None]
        found = regressions(q[None], (target - full @ beta)[None], back, records=records, alone=len(come))
        weights = found.shares()
        size, rho = found.counted(weights)
        return FittedStaircase(
            come=come,
            ahead=tuple(f for f in self.features if f not in come),
            beta=beta,
            stairs=Mixture.of(found, beta[None], weights),
            size=size,
            autocorrelation=rho,
            origin=origin,
            span=(float(time.min()), last),
            apart=float(np.ptp(time)) / max(found.size - 1, 1.0),
            last=(last, float(y[-1])),
            residuals=residuals,
        )


def design(time: Array, origin: float, features: tuple[Feature, ...]) -> Array:
    """Return the columns 1, t and the adoption of every feature, (point, column)."""
    steps = [adoption(time, f.date.median(), f.years) for f in features]
    return np.stack([np.ones_like(time), time - origin, *steps], axis=-1)


@dataclass(frozen=True, kw_only=True)
class FittedStaircase(ScatteredShape):
    """Steady growth, the features that have come, and those that may.

    Parameters
    ----------
    come, ahead : tuple of Feature
        Those dated within the series, and after it.
    beta : ndarray
        Level, growth and log gains.
    stairs : Mixture
        Of these, with noise that follows itself.
    size, autocorrelation : float
        The independent points that the series is worth, and ρ of the noise.
    origin : float
    span : (float, float)
        The first date and the last.
    residuals : ndarray
        Of log value, in the order of the dates.
    """

    come: tuple[Feature, ...]
    ahead: tuple[Feature, ...]
    beta: Array
    stairs: Mixture
    size: float
    autocorrelation: float
    origin: float
    span: tuple[float, float]
    residuals: Array

    @property
    def n(self) -> int:
        """Points."""
        return len(self.residuals)

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw level, growth and every gain, and the noise; of a feature ahead also its date, inf if it never comes."""
        drawn, scatter, pick = self.stairs.drawn(streams)
        out = {"log_level": drawn[0], "growth": drawn[1], "scatter": scatter, "autocorrelation": self.stairs.rho[pick]}
        out |= {f"log_gain_{_plain_name(f.name)}": row for f, row in zip(self.come, drawn[2:], strict=True)}
        for feature in self.ahead:
            chance, when, gain = streams.uniforms(f"ahead {feature.name}", 3)
            date = np.maximum(feature.date.ppf(when), self.span[1])
            out[f"log_gain_{_plain_name(feature.name)}"] = np.log(np.maximum(feature.gain.ppf(gain), 1e-300))
            out[f"date_{_plain_name(feature.name)}"] = np.where(chance < feature.probability, date, np.inf)
        return out

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """Level, growth, every gain, and the dates of features ahead."""
        gains = {f"log_gain_{_plain_name(f.name)}": "" for f in (*self.come, *self.ahead)}
        return {"log_level": "", "growth": "1/year", **gains, **{f"date_{_plain_name(f.name)}": "" for f in self.ahead}}

    def conditional(self, drawn: Mapping[str, Array], fixed: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return all parameters given some; what is to come does not vary with what was fitted."""
        names = ("log_level", "growth", *(f"log_gain_{_plain_name(f.name)}" for f in self.come))
        return condition_draws(drawn, fixed, names, self.stairs.covariance(0))

    def log_level(self, time: Array, parameters: Mapping[str, Array]) -> Array:
        """Return the staircase of these parameters."""
        drawn = parameters

        t = np.asarray(time, dtype=float)[:, None]
        level = drawn["log_level"] + drawn["growth"] * (t - self.origin)
        for feature in self.come:
            gain = drawn[f"log_gain_{_plain_name(feature.name)}"]
            level = level + gain * adoption(t, feature.date.median(), feature.years)
        for feature in self.ahead:
            date = drawn[f"date_{_plain_name(feature.name)}"]
            there = adoption(t, np.where(np.isfinite(date), date, 1e9), feature.years)
            level = level + drawn[f"log_gain_{_plain_name(feature.name)}"] * there
        return np.asarray(level)

    def central(self, time: Array) -> Array:
        """Return the staircase at the fitted parameters; a feature ahead counts if it is more likely than not."""
        drawn = {"log_level": self.beta[:1], "growth": self.beta[1:2]}
        drawn |= {f"log_gain_{_plain_name(f.name)}": self.beta[2 + i : 3 + i] for i, f in enumerate(self.come)}
        for f in self.ahead:
            drawn[f"log_gain_{_plain_name(f.name)}"] = np.log([f.gain.median()])
            drawn[f"date_{_plain_name(f.name)}"] = np.array([f.date.median() if f.probability > 0.5 else np.inf])
        return np.asarray(np.exp(np.clip(self.log_level(time, drawn)[:, 0], -LARGEST, LARGEST)))

    def anchored(self, time: Array, record: Array) -> FittedShape:
        """Return the same from the last record on, which comes back to the stairs as their residuals do."""
        return from_record(self, time, record, self.residuals)

    def describe(self) -> Description:
        """Say what was steady growth, what came in steps, and when the steps are used up."""
        gains = dict(zip((f.name for f in self.come), np.exp(self.beta[2:]), strict=True))
        growth = float(self.beta[1])
        change = growth * (self.span[1] - self.span[0])
        steps = float(
            sum(
                b * np.diff(adoption(np.array(self.span), f.date.median(), f.years))[0]
                for f, b in zip(self.come, self.beta[2:], strict=True)
            )
        )
        share = steps / (steps + change) if steps + change > 0 else float("nan")
        ends = [f.date.median() + f.years for f in (*self.come, *self.ahead)]
        facts = {
            "n": float(self.n),
            "n_effective": self.size,
            "autocorrelation": self.autocorrelation,
            "growth_per_year": growth,
            "share_of_steps": share,
            "exhausted": max(ends, default=self.span[1]),
            **{f"gain_{name}": float(gain) for name, gain in gains.items()},
        }
        listed = ", ".join(f"{name} ×{gain:.2f}" for name, gain in gains.items()) or "none yet"
        ahead = ", ".join(f"{f.name} ×{f.gain.median():.2g} ({f.probability:.0%})" for f in self.ahead) or "none"
        slower = f"doubles every {np.log(2) / growth:.2f} years" if growth > 0 else "does not grow"
        of_all = f", {share:.0%} of the growth" if np.isfinite(share) else ""  # a flat series has none to share
        return Description(
            summary=(
                f"apart from its steps it {slower}; steps so far: {listed}{of_all}; ahead: {ahead}; "
                f"exhausted by {facts['exhausted']:.1f} (from {self.n} points, effective n {self.size:.1f})"
            ),
            assumptions=(
                "no feature comes that is not listed: after the last only the steady growth is left",
                "a gain that has come starts from its record, a normal prior in its logarithm, and is learned; one "
                "ahead is its record",
                *(f.said() for f in (*self.come, *self.ahead)),
            ),
            sources=tuple(dict.fromkeys(f.source for f in (*self.come, *self.ahead) if f.source)),
            facts=facts,
        )


def _plain_name(name: str) -> str:
    """Return a feature's name as an identifier."""
    return "".join(c if c.isalnum() else "_" for c in name)
