"""The goals of the fitting core in one table: ``python tests/benchmarks/goals.py [WORDS]`` prints goal and measurement.

Nothing is asserted here; the tests beside hold floors. Both sides of a ratio are timed in turn in one process, in CPU
time, and the median of some rounds counts. Run with ``OPENBLAS_NUM_THREADS=1``. A peer that is not installed leaves
its rows out.
"""

from __future__ import annotations

import csv
import os
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import curve_fit, least_squares, minimize
from test_fit import DELTA, FORMS, TIGHT, Chinchilla, start_of

import forecast
from forecast.fit.inference.bootstrap import resampled

ROUNDS = 7
Work = Callable[[], Any]
Row = tuple[str, str, str]


def seconds(*works: Work, rounds: int = ROUNDS) -> list[float]:
    """Return the median CPU time of each, timed in turn."""
    spent: list[list[float]] = [[] for _ in works]
    for work in works:
        work()
    for _ in range(rounds):
        for work, times in zip(works, spent, strict=True):
            begun = time.process_time()
            work()
            times.append(time.process_time() - begun)
    return [statistics.median(times) for times in spent]


def ratio(ours: Work, theirs: Work, share: float = 1.0, rounds: int = ROUNDS) -> str:
    """Return how many times as long theirs takes, which does that share of our work."""
    one, two = seconds(ours, theirs, rounds=rounds)
    two /= share
    return f"{two / one:.1f}x ({one * 1e3:.1f} ms, theirs {two * 1e3:.1f} ms)"


def points() -> dict[str, Any]:
    """Return the 240 points that Besiroglu et al. 2024 fit."""
    path = Path(os.environ["FORECAST_TEST_DATA"]) / "scaling" / "chinchilla_epoch" / "svg_extracted_data.csv"
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    n, flop, loss = (np.array([float(r[c]) for r in rows]) for c in ("Model Size", "Training FLOP", "loss"))
    keep = loss < np.sort(loss)[-5]
    return {"N": n[keep], "D": flop[keep] / (6 * n[keep]), "loss": loss[keep]}


def chinchilla() -> Iterator[Row]:
    """Bootstrap and global fit of the 240 points."""
    data, law = points(), forecast.law("scaling/chinchilla")
    fit = law.fit(data, options=DELTA)
    begin, counts = start_of(fit), resampled("pairs", 0, 240, 40)
    for how, tight in (("tolerance 1e-10", TIGHT), ("its defaults", {})):
        yield (
            f"4,000 refits of 240 points with the fit, against least_squares at {how}",
            "25x",
            ratio(
                lambda: law.fit(data, options=DELTA, bootstrap=4000),
                lambda tight=tight: [Chinchilla(data, c).refit(begin, **tight) for c in counts],
                40 / 4000,
            ),
        )
    hand = Chinchilla(data)
    grid = np.stack(np.meshgrid([0, 5, 10, 15, 20], [0, 5, 10, 15, 20], [0.0], [0, 0.5], [0.5, 1.0]), -1).reshape(-1, 5)
    yield (
        "global fit of 240 points, against 100 starts of BFGS",
        "50x",
        ratio(
            lambda: law.fit(data, options=DELTA),
            lambda: [minimize(hand.value, p, jac=hand.gradient, method="BFGS") for p in grid[:25].astype(float)],
            _share_of_starts(hand, grid),
        ),
    )


def _share_of_starts(hand: Chinchilla, grid: Any) -> float:
    """Return how much of the work of all starts the first 25 are."""
    calls = [minimize(hand.value, p, jac=hand.gradient, method="BFGS").nfev for p in grid.astype(float)]
    return sum(calls[:25]) / sum(calls)


def many() -> Iterator[Row]:
    """Ten thousand fits at once."""
    x, rng = np.geomspace(1, 1e4, 20), np.random.default_rng(1)
    for name, (form, slopes, begin, spans) in FORMS.items():
        law = forecast.law(name)
        parameters = [rng.uniform(*span, (10_000, 1)) for span in spans]
        y = form(x, *parameters) * (1 + 0.01 * rng.standard_normal((10_000, 20)))
        curves = xr.Dataset({"x": ("point", x), law.output: (("curve", "point"), y)})

        def loop(y: Any = y, form: Any = form, begin: Any = begin, jac: Any = None) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for row in y[:100]:
                    curve_fit(form, x, row, p0=begin, jac=jac, maxfev=5000)

        for how, jac in (("without derivatives", None), ("with them", slopes)):
            yield (
                f"10,000 fits of {name}, against curve_fit {how}",
                "60x",
                ratio(
                    lambda law=law, curves=curves: law.fit(curves, by="curve", objective="least_squares"),
                    lambda loop=loop, jac=jac: loop(jac=jac),
                    0.01,
                    5,
                ),
            )


def broken() -> Iterator[Row]:
    """A power with one break."""
    path = Path(os.environ["FORECAST_TEST_DATA"]) / "scaling" / "bnsl" / "four_digit_addition.csv"
    with path.open(encoding="utf-8") as lines:
        rows = [r for r in csv.DictReader(lines) if r["split"] == "train"]
    x, y = (np.array([float(r[k]) for r in rows]) for k in ("x", "y"))
    text = "log(1 + a + b*x**-c0*(1 + (x/d1)**(1/f1))**(-c1*f1))"
    law = forecast.Law(text, variables=["x"], output="z", positive=["a", "b", "d1", "f1"])
    (spent,) = seconds(lambda: law.fit({"x": x, "z": np.log(y + 1)}))
    yield "broken power, 390 points", "100 ms", f"{spent * 1e3:.0f} ms"


def general() -> Iterator[Row]:
    """A law from text: bootstrap and single fit."""
    law = forecast.Law(
        "E + A*(x + d)**-b*exp(-k*x)", variables=["x"], positive=["E", "A", "d", "b", "k"],
        objective="least_squares_log",
    )  # fmt: skip
    x = np.geomspace(1, 1000, 100)
    true = {"E": 1.0, "A": 5.0, "d": 3.0, "b": 0.5, "k": 1e-3}
    y = law.value(true, x=x) * np.exp(0.01 * np.random.default_rng(0).standard_normal(100))
    data = {"x": x, "y": y}
    fit = law.fit(data)
    begin, counts = np.log([fit.values[n] for n in true]), resampled("pairs", 0, 100, 40)

    def refit(count: Any) -> Any:
        root = np.sqrt(count)

        def parts(u: Any) -> Any:
            e, a, d, b, k = np.exp(u)
            return e, d, b, k, a * (x + d) ** -b * np.exp(-k * x)

        def residuals(u: Any) -> Any:
            e, _, _, _, term = parts(u)
            return root * (np.log(e + term) - np.log(y))

        def jacobian(u: Any) -> Any:
            e, d, b, k, term = parts(u)
            share = term / (e + term)
            columns = [1 - share, share, -b * share * d / (x + d), -b * share * np.log(x + d), -k * x * share]
            return root[:, None] * np.stack(columns, axis=1)

        return least_squares(residuals, begin, jac=jacobian, x_scale="jac")

    for count, goal, how, ours in (
        (4000, "10x", "", lambda: fit.resample(4000)),
        (200, "5x", " without the fit", lambda: fit.resample(200)),
        (200, "5x", " with the fit", lambda: law.fit(data, bootstrap=200)),
    ):
        yield (
            f"law from text, 100 points, {count:,} refits{how}, against least_squares",
            goal,
            ratio(ours, lambda: [refit(c) for c in counts], 40 / count),
        )


def errors_in_x() -> Iterator[Row]:
    """Twenty points with errors in x."""
    rng, x = np.random.default_rng(0), np.linspace(1, 10, 20)
    noisy = x + 0.05 * rng.standard_normal(20)
    for text in ("a + b*x", "a + b*x**c"):
        law = forecast.Law(text, variables=["x"])
        y = (1 + 2 * x ** (0.7 if "c" in text else 1)) + 0.05 * rng.standard_normal(20)
        data, wide = {"x": noisy, "y": y}, {"sigma_x": {"x": np.full(20, 0.05)}}
        for how, more in (("sigma known", {"sigma": np.full(20, 0.05)}), ("scatter unknown", {})):
            (spent,) = seconds(lambda law=law, more=more, data=data, wide=wide: law.fit(data, **wide, **more))
            yield f"sigma_x, 20 points, {text}, {how}", "10 ms", f"{spent * 1e3:.1f} ms"


def single() -> Iterator[Row]:
    """One small fit and its intervals, against lmfit."""
    rng, x = np.random.default_rng(0), np.geomspace(1, 1e4, 30)
    law = forecast.law("scaling/saturating-power")
    y = (1 + 5 * x**-0.4) * (1 + 0.01 * rng.standard_normal(30))
    data, begin = {"x": x, law.output: y}, {"E": 0.8, "beta": 4.0, "c": 0.5}
    if find_spec("lmfit") is None:
        return
    import lmfit

    model = lmfit.Model(lambda x, E, beta, c: E + beta * x**-c)

    def theirs() -> Any:
        return model.fit(y, model.make_params(**begin), x=x)

    options = {"objective": "least_squares"}
    for how, more, goal in (("start given", {"start": begin}, "1x"), ("from everywhere", {}, "")):
        yield (
            f"one fit of 30 points, {how}, against lmfit from a start",
            goal,
            ratio(lambda more=more: law.fit(data, **options, **more), theirs),
        )
    result, fit = theirs(), law.fit(data, **options)

    def intervals() -> None:
        fresh = replace(fit)  # what a fit has computed once it keeps
        for name in fresh.values:
            fresh.interval(name, 0.9)

    yield (
        "profile intervals of all parameters, against conf_interval",
        "10x",
        ratio(intervals, lambda: result.conf_interval(sigmas=[0.9])),
    )


#: What runs in a process of its own, after the imports in its first line.
PROCESSES = {
    "first fit in a process, beyond imports": (
        "150 ms",
        "import numpy, forecast, forecast.fit.fit_law, forecast.fit.solve.starts, forecast.laws",
        "x = numpy.geomspace(1, 1e4, 30)\n"
        "forecast.law('scaling/saturating-power').fit({'x': x, 'y': 1 + 5*x**-.4}, y='y')",
    ),
    "first allocation in a process, beyond xarray, which its answer is": (
        "40 ms",
        "import forecast, xarray; fit = forecast.law('scaling/chinchilla').published('besiroglu2024')",
        "fit.allocate(compute=1e25)",
    ),
}


def processes() -> Iterator[Row]:
    """What the first call of a process costs, compiled files at hand."""
    cached = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for what, (goal, before, work) in PROCESSES.items():
        code = f"import time\n{before}\nbegun = time.process_time()\n{work}\nprint(time.process_time() - begun)"
        spent = [float(subprocess.check_output([sys.executable, "-c", code], env=cached)) for _ in range(7)]
        yield what, goal, f"{min(spent) * 1e3:.0f} ms"
    for words, goal in (("--help", "120 ms"), ("allocate scaling/chinchilla@besiroglu2024 --compute 1e25", "")):
        spent = []
        for _ in range(7):
            begun = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-m", "forecast", *words.split()]
            subprocess.run(command, check=True, capture_output=True, env=cached)
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime)
        yield f"forecast {words}", goal, f"{min(spent) * 1e3:.0f} ms"


GROUPS = (chinchilla, many, broken, general, errors_in_x, single, processes)


def main(words: list[str]) -> None:
    """Print the rows of the groups whose names are given; of all without names."""
    print(f"{'':78s}  {'goal':18s}  measured")
    for group in GROUPS:
        if not words or group.__name__ in words:
            for what, goal, measured in group():
                print(f"{what:78s}  {goal:18s}  {measured}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
