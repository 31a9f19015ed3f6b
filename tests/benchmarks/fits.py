"""The fitting core against scipy: what a user would write by hand, with derivatives where that is faster."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import brentq, curve_fit, least_squares, minimize

import forecast
from forecast.fit.compare import compare
from forecast.fit.inference.bootstrap import resampled_row_counts

from .timing import Benchmark, Cost, cpu, reference

DELTA = {"delta": 1e-3}


# --- the 240 points of Chinchilla -------------------------------------------------------------------------------------


def points() -> dict[str, Any]:
    """Return the 240 points that Besiroglu et al. 2024 fit."""
    with reference("scaling", "chinchilla_epoch", "svg_extracted_data.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    n, flop, loss = (np.array([float(r[c]) for r in rows]) for c in ("Model Size", "Training FLOP", "loss"))
    keep = loss < np.sort(loss)[-5]
    return {"N": n[keep], "D": flop[keep] / (6 * n[keep]), "loss": loss[keep]}


class Chinchilla:
    """The published objective by hand: residuals, Jacobian, gradient, over log A, log B, log E, alpha, beta."""

    def __init__(self, data: dict[str, Any], counts: Any = None) -> None:
        rows = np.arange(data["N"].size)
        rows = rows if counts is None else np.repeat(rows, counts.astype(int))
        self.n, self.d, self.y = (np.log(data[k])[rows] for k in ("N", "D", "loss"))

    def parts(self, p: Any) -> tuple[Any, Any, Any]:
        return np.exp(p[0] - p[3] * self.n), np.exp(p[1] - p[4] * self.d), np.exp(p[2])

    def residuals(self, p: Any) -> Any:
        u, v, e = self.parts(p)
        return np.log(u + v + e) - self.y

    def jacobian(self, p: Any) -> Any:
        u, v, e = self.parts(p)
        s = u + v + e
        return np.stack([u / s, v / s, e / s, -self.n * u / s, -self.d * v / s], axis=1)

    def value(self, p: Any) -> Any:
        with np.errstate(all="ignore"):
            r = np.abs(self.residuals(p))
            got = np.sum(np.where(r <= 1e-3, r * r / 2, 1e-3 * (r - 5e-4)))
            return got if np.isfinite(got) else 1e10

    def gradient(self, p: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.nan_to_num(np.clip(self.residuals(p), -1e-3, 1e-3) @ self.jacobian(p))

    def refit(self, p: Any) -> Any:
        return least_squares(self.residuals, p, jac=self.jacobian, loss="huber", f_scale=1e-3, x_scale="jac")


def bootstrap() -> tuple[Cost, Cost]:
    data, law = points(), forecast.law("scaling/chinchilla")
    p = law.fit(data, options=DELTA).values
    begin = np.array([np.log(p["A"]), np.log(p["B"]), np.log(p["E"]), p["alpha"], p["beta"]])
    counts = resampled_row_counts("pairs", 0, 240, 40)
    return (
        cpu(lambda: law.fit(data, options=DELTA, bootstrap=4000)),
        cpu(lambda: [Chinchilla(data, c).refit(begin) for c in counts], 40 / 4000),
    )


def global_fit() -> tuple[Cost, Cost]:
    data, law = points(), forecast.law("scaling/chinchilla")
    hand = Chinchilla(data)
    grid = np.stack(np.meshgrid([0, 5, 10, 15, 20], [0, 5, 10, 15, 20], [0.0], [0, 0.5], [0.5, 1.0]), -1).reshape(-1, 5)
    starts = grid[::4].astype(float)
    return (
        cpu(lambda: law.fit(data, options=DELTA)),
        cpu(lambda: [minimize(hand.value, p, jac=hand.gradient, method="BFGS") for p in starts], 0.25),
    )


# --- many curves at once ----------------------------------------------------------------------------------------------

#: Form as a user of curve_fit writes it, a start, and spans of the parameters.
FORMS: dict[str, tuple[Callable[..., Any], tuple[float, ...], tuple[tuple[float, float], ...]]] = {
    "scaling/power": (lambda x, b, c: b * x**-c, (1, 0.5), ((1, 5), (0.1, 1))),
    "scaling/saturating-power": (lambda x, e, b, c: e + b * x**-c, (1, 1, 0.5), ((0.2, 2), (1, 5), (0.1, 1))),
}


def curves(name: str) -> tuple[Cost, Cost]:
    x, rng = np.geomspace(1, 1e4, 20), np.random.default_rng(1)
    form, begin, spans = FORMS[name]
    law = forecast.law(name)
    y = form(x, *(rng.uniform(*span, (10_000, 1)) for span in spans))
    y *= 1 + 0.01 * rng.standard_normal((10_000, 20))
    data = xr.Dataset({"x": ("point", x), law.output: (("curve", "point"), y)})

    def theirs() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for row in y[:200]:
                curve_fit(form, x, row, p0=begin, maxfev=5000)

    return cpu(lambda: law.fit(data, by="curve", objective="least_squares")), cpu(theirs, 200 / 10_000)


# --- laws from text ---------------------------------------------------------------------------------------------------


def from_text(replicates: int = 4000) -> tuple[Cost, Cost]:
    law = forecast.Law(
        "E + A*(x + d)**-b*exp(-k*x)", variables=["x"], positive=["E", "A", "d", "b", "k"],
        objective="least_squares_log",
    )  # fmt: skip
    x = np.geomspace(1, 1000, 100)
    true = {"E": 1.0, "A": 5.0, "d": 3.0, "b": 0.5, "k": 1e-3}
    y = law.value(true, x=x) * np.exp(0.01 * np.random.default_rng(0).standard_normal(100))
    fit = law.fit({"x": x, "y": y})
    begin, counts = np.log([fit.values[n] for n in true]), resampled_row_counts("pairs", 0, 100, 40)

    def refit(count: Any) -> Any:
        root = np.sqrt(count)

        def parts(u: Any) -> Any:
            e, a, d, b, k = np.exp(u)
            return e, d, b, k, a * (x + d) ** -b * np.exp(-k * x)

        def residuals(u: Any) -> Any:
            e, *_, term = parts(u)
            return root * (np.log(e + term) - np.log(y))

        def jacobian(u: Any) -> Any:
            e, d, b, k, term = parts(u)
            share = term / (e + term)
            columns = [1 - share, share, -b * share * d / (x + d), -b * share * np.log(x + d), -k * x * share]
            return root[:, None] * np.stack(columns, axis=1)

        return least_squares(residuals, begin, jac=jacobian, x_scale="jac")

    return cpu(lambda: fit.resample(replicates)), cpu(lambda: [refit(c) for c in counts], 40 / replicates)


# --- laws that points hardly tell -------------------------------------------------------------------------------------


#: A curve that bends a little, as every law of `LAWS` may be asked to follow.
CURVE_X = np.geomspace(1, 1e4, 30)
CURVE = (0.3 + 2 * CURVE_X**-0.3 * (1 + (CURVE_X / 300) ** 2) ** -0.1) * np.exp(
    0.02 * np.random.default_rng(0).standard_normal(30)
)
LAWS = ("power", "saturating-power", "m3", "m4", "broken-power", "hill")


def _log_broken(p: Any) -> Any:
    a, b, c0, c1, d1, f1 = p
    bend = np.logaddexp(0.0, (np.log(CURVE_X) - d1) / f1)
    return np.log(np.abs(a) + np.exp(b - c0 * np.log(CURVE_X) - c1 * f1 * bend)) - np.log(CURVE)


def _by_scipy(times: int = 1) -> Cost:
    """Return what the broken power costs by least_squares from 24 starts: as many as ours are before they agree."""
    starts = [(0.3, 0.7, c, 0.2, d, f) for c in (0.1, 0.3, 0.6, 1.0) for d in (2.0, 5.0, 8.0) for f in (0.2, 1.0)]

    def theirs() -> None:
        with np.errstate(all="ignore"):
            for start in starts * times:
                least_squares(lambda p: np.nan_to_num(_log_broken(p), nan=1e3, posinf=1e3), start, x_scale="jac")

    return cpu(theirs)


def hard_law() -> tuple[Cost, Cost]:
    """A law of six parameters, one of which a curve of 30 points hardly tells."""
    law = forecast.law("scaling/broken-power")
    return cpu(lambda: law.fit({"x": CURVE_X, law.output: CURVE})), _by_scipy()


def six_laws() -> tuple[Cost, Cost]:
    """Six laws side by side: each is fitted to the curve and to five beginnings of it."""
    laws = [forecast.law(f"scaling/{name}") for name in LAWS]
    return cpu(lambda: compare(laws, {"x": CURVE_X, "y": CURVE}, y="y")), _by_scipy(6)


# --- one fit ----------------------------------------------------------------------------------------------------------

X = np.geomspace(10, 1e4, 24)
Y = (1 + 5 * X**-0.2) * np.exp(0.03 * np.random.default_rng(0).standard_normal(X.size))


def _form(x: Any, e: float, b: float, c: float) -> Any:
    return e + b * x**-c


def single() -> tuple[Cost, Cost]:
    law = forecast.law("scaling/saturating-power")
    data = {"x": X, law.output: Y}
    return (
        cpu(lambda: law.fit(data, objective="least_squares")),
        cpu(lambda: [curve_fit(_form, X, Y, p0=(e, 4, c)) for e in (0.1, 1) for c in (0.1, 0.3, 1)]),
    )


def intervals() -> tuple[Cost, Cost]:
    """The profile interval of an exponent; theirs by root finding on refits with it fixed."""
    law = forecast.law("scaling/saturating-power")
    fit = law.fit({"x": X, law.output: Y}, objective="least_squares")
    best, middle = fit.objective, fit.values["c"]
    level = best * (1 + 1.72**2 / (X.size - 3))

    def risen(c: float) -> float:
        column = X**-c
        rest = least_squares(lambda p: p[0] + p[1] * column - Y, (1, 5), lambda p: np.column_stack([X**0, column]))
        return float(2 * rest.cost) - level

    return (
        cpu(lambda: _anew(fit).interval("c", 0.9)),
        cpu(lambda: [brentq(risen, middle, end, xtol=1e-6) for end in (0.01, 1.5)]),
    )


def _anew(fit: forecast.Fit) -> forecast.Fit:
    """Return a fit that keeps nothing of what was computed of it."""
    assert fit.solutions is not None
    return replace(fit, solutions=replace(fit.solutions))


def verdict() -> tuple[Cost, Cost]:
    """What is said of a break that is not there, against as many curve_fits as a profile of each parameter has."""
    law, x = forecast.law("scaling/broken-power"), np.geomspace(1, 1e4, 60)
    y = (1 + 3 * x**-0.3) * np.exp(0.02 * np.random.default_rng(0).standard_normal(60))
    fit = law.fit({"x": x, law.output: y}, objective="least_squares_log")
    peer = cpu(lambda: [curve_fit(_form, x, y, p0=(1, 3, 0.3)) for _ in range(120)])
    return cpu(lambda: _anew(fit).verdict), peer


def extrapolation() -> tuple[Cost, Cost]:
    """A curve carried on by the pool of laws, with an interval; theirs is one law by curve_fit, a hundred times."""
    return (
        cpu(lambda: forecast.extrapolate(X, Y, np.array([3e4, 1e5]))),
        cpu(lambda: [curve_fit(_form, X, Y, p0=(1, 4, 0.3)) for _ in range(100)]),
    )


DERIVATIVES = "scipy least_squares with derivatives"
BENCHMARKS = [
    Benchmark("fits/4,000 refits of 240 points", DERIVATIVES, 19, bootstrap, 3),
    Benchmark("fits/global fit of 240 points", "100 starts of scipy BFGS", 40, global_fit, 3),
    Benchmark("fits/10,000 curves, with a floor", "scipy curve_fit", 44, lambda: curves("scaling/saturating-power")),
    Benchmark("fits/4,000 refits of a law from text", DERIVATIVES, 10, from_text, 2),
    Benchmark("fits/one curve of 24 points", "scipy curve_fit from 6 starts", 0.1, single),
    Benchmark("fits/profile interval of an exponent", "brentq on scipy's refits", 0.3, intervals),
    Benchmark("fits/broken-power, 30 points", "24 starts of scipy least_squares", 12, hard_law),
    Benchmark("fits/compare six laws, 30 points", "a broken power by scipy: 144 starts", 6, six_laws, 3),
    Benchmark("fits/verdict on a break that is not there", "120 fits by scipy curve_fit", 0.015, verdict, 2),
    Benchmark("fits/extrapolation of a curve", "100 fits by scipy curve_fit", 0.5, extrapolation, 3),
]
