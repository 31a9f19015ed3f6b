"""Intervals of `scaling/saturating-power` at its default, against refits with the parameter fixed: ends and coverage.

An end is wrong where the objective of a refit there has risen by 5 % more or less than the level allows.

Of 19,000 such curves the intervals of nominal .900 hold .914 (standard error .002); with E free to be negative .900,
the rise over the residual variance then being F with 1 and 21 degrees of freedom (Kolmogorov-Smirnov .005). The excess
is the bound's: a likelihood ratio whose nuisance parameter is near a bound is no longer chi-square (Self and Liang,
1987, JASA 82, 605-610). Normal estimates with the same standard errors and correlations, and the same bound, give .910:
.950 where E is less than half its standard error from 0 (.950 of the curves), .900 beyond two of them (.905).
"""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.optimize import least_squares, nnls

import forecast

pytestmark = pytest.mark.slow

LAW = forecast.law("scaling/saturating-power")
X = np.geomspace(10, 1e4, 24)
LEVEL = 0.9


def drawn(seed):
    rng = np.random.default_rng(seed)
    true = {"E": rng.uniform(0.2, 3), "beta": rng.uniform(2, 9), "c": rng.uniform(0.05, 0.3)}
    return true, LAW.value(true, x=X) * np.exp(0.03 * rng.standard_normal(X.size))


def refitted(y, c):
    """Return the least sum of squared logarithms with c fixed, from several starts, both on and off the bound."""
    column, logs = X**-c, np.log(y)

    def residuals(p):
        return logs - np.log(p[0] + p[1] * column)

    def slopes(p):
        value = p[0] + p[1] * column
        return np.column_stack([-1 / value, -column / value])

    middle = np.exp(np.mean(logs - np.log(column)))
    near = nnls(np.column_stack([1 / y, column / y]), np.ones(X.size))[0]
    tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15, "bounds": (0, np.inf)}
    ends = [
        least_squares(residuals, np.maximum(s, 1e-9), slopes, **tight) for s in (near, [0.5, middle], [1e-9, middle])
    ]
    return min([*(2 * end.cost for end in ends), float(np.sum((logs - np.log(middle * column)) ** 2))])


def wrong(objective, y, ends):
    """Return how many ends are wrong, and how far the worst is from what the level allows."""
    dof = X.size - 3
    rise = stats.t.ppf(0.5 + LEVEL / 2, dof) ** 2 * objective / dof
    apart = [abs((refitted(y, end) - objective) / rise - 1) for end in ends if 0 < end < np.inf]
    return sum(a > 0.05 for a in apart), max(apart, default=0.0)


def together(count):
    """Return the true values and the points of many curves, their fits at once, and the intervals of c."""
    made = [drawn(seed) for seed in range(count)]
    true, y = [t for t, _ in made], np.array([y for _, y in made])
    fits = LAW.fit(xr.Dataset({"x": ("point", X), LAW.output: (("curve", "point"), y)}), by="curve")
    return true, y, fits, fits.interval("c", LEVEL)


def test_no_end_is_wrong():
    bad, worst = 0, 0.0
    _, curves, fits, many = together(200)
    for seed, y in enumerate(curves):
        ends = float(many["lower"][seed]), float(many["upper"][seed])
        if seed < 60:  # one fit alone has the same ends: what is shown of many holds of it
            fit = LAW.fit({"x": X, "y": y})
            assert fit.interval("c", LEVEL) == pytest.approx(ends, rel=1e-9)
        count, apart = wrong(float(fits.objective[seed]), y, ends)
        bad, worst = bad + (count > 0), max(worst, apart)
    assert bad == 0
    assert worst < 1e-5
