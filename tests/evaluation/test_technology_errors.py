"""Forecast errors of technologies' costs, as Farmer and Lafond (2016) normalise them, by the backtest and by hand.

Farmer, J. D. & Lafond, F. (2016), How predictable is technological progress?, Research Policy 45(3), 647-665: of a
random walk with drift whose growth mu and noise K are those of the last m = 5 steps, the error tau years ahead over
K*sqrt(tau + tau**2/m) is Student's t with m - 1 degrees of freedom (their noise without a moving average).
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import stdtrit

import forecast
from forecast.evaluation.rolling_origin import backtest
from forecast.models import Description, FittedShape, Shape
from forecast.tables import to_columns

M, AHEAD = 5, 20
LEVELS = (0.5, 0.9)


@dataclass(frozen=True)
class Walk(Shape):
    def fit(self, time, value, *, frontier=False, seed=0):
        steps = np.diff(np.log(value))[-M:]
        return FittedWalk(last=time[-1], level=np.log(value[-1]), steps=tuple(steps))


@dataclass(frozen=True, kw_only=True)
class FittedWalk(FittedShape):
    last: float
    level: float
    steps: tuple

    def posterior(self, streams):
        return {}

    def sample(self, time, streams, *, observed=False):
        ahead = (np.asarray(time) - self.last)[:, None]
        noise = stdtrit(M - 1, np.linspace(1e-6, 1 - 1e-6, 20_001))
        return np.exp(self.level + np.mean(self.steps) * ahead + spread(self.steps, ahead) * noise)

    def central(self, time):
        return np.exp(self.level + np.mean(self.steps) * (np.asarray(time) - self.last))

    def describe(self):
        return Description(summary="the last five steps")


def spread(steps, ahead):
    return np.std(steps, ddof=1) * np.sqrt(ahead + ahead**2 / M)


@pytest.fixture(scope="module")
def technologies(reference_data):
    """Yearly costs, by technology: those without a gap and long enough for an error."""
    table = to_columns(reference_data / "technology" / "experience_curves_dev.csv", where="test")
    found = {}
    for name in np.unique(table["tech"]):
        own = table["tech"] == name
        year, cost = table["year"][own], table["cost"][own]
        if len(year) > M + 1 and (np.diff(year) == 1).all() and (np.diff(np.log(cost))[:M] != 0).any():
            found[str(name)] = year, cost
    assert len(found) >= 12
    return found


@pytest.mark.slow
def test_coverages_are_those_of_a_direct_calculation(technologies):
    inside, errors = {level: [] for level in LEVELS}, []
    for year, cost in technologies.values():
        model = forecast.trend({"t": year, "y": cost}, shape=Walk(), x="t", y="y", unit="").model
        many = {"most_origins": 10**6, "most_targets": 10**6, "years": AHEAD, "dates": M + 1, "share": 0.0}
        found = backtest({"walk": model}, scores=["coverage"], **many).sel(model="walk")
        low, high = (found["forecast"].sel(quantile=q) for q in (0.25, 0.75))
        inside[0.9].append(found["coverage"].values.ravel())
        half = ((low <= found["observed"]) & (found["observed"] <= high)).where(
            low.notnull() & found["observed"].notnull()
        )
        inside[0.5].append(half.values.ravel())
        z = np.log(cost)
        for t in range(M, len(z) - 1):
            steps = np.diff(z[t - M : t + 1])
            for tau in range(1, min(AHEAD, len(z) - 1 - t) + 1):
                errors.append((z[t + tau] - z[t] - steps.mean() * tau) / spread(steps, tau))
    size = np.abs(errors)
    for level in LEVELS:
        made = np.concatenate(inside[level])
        made = made[np.isfinite(made)]
        assert made.size == size.size
        assert made.mean() == pytest.approx((size <= stdtrit(M - 1, 0.5 + level / 2)).mean(), abs=1e-3)
    assert size.size > 1000
