"""How good forecasts of real curves are: in sample, one source left out at a time, and with each number changed.

The numbers of `forecast.fit.pool.law_pool` were chosen on these curves. What leaving out a source shows is what
the choice is worth: each source is scored with what the *other* sources choose from `GRID`, by the mean logarithmic
score. ``python -m tests.benchmarks curves`` prints it; CONTRIBUTING.md says where the data are.
"""

from __future__ import annotations

import csv
import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gammaln

from forecast.fit.pool import law_pool
from forecast.fit.pool.law_pool import FARTHEST_DECADES, TUNING, Tuning, pool

from .timing import NotHereError, reference

#: What was left out in turn, and how many curves each has. The other half of each source was never looked at.
CURVES_PER_SOURCE = {
    "AP": 24, "APB": 20, "LC0": 47, "LC1": 50, "NG": 37, "PYT": 44, "PYZ": 57,
    "bird": 11, "c": 11, "cal": 9, "inet": 4, "LM": 5, "ADD4": 1,
}  # fmt: skip
#: Kinds of the curves of `extrapolation_steps`, and the two sets of the other file that hold several sources or curves.
KINDS, SETS = ("flat", "noisy", "short", "smooth", "step"), ("IC", "LM")
#: Settings that a left-out source is scored with are chosen from these.
GRID = {
    ("pool", "last_value", "drift"): ((1.0, 0.0, 0.0), (1.0, 1.0, 1.0), (2.0, 1.0, 1.0), (5.0, 2.0, 3.0)),
    ("trust",): ((0.0,), (0.4,), (0.8,)),
    ("stretch",): ((0.4,), (0.6,), (0.8,)),
    ("freedom",): ((2.0,), (2.75,), (4.0,)),
}
#: Each number is made smaller and larger by this share, to see what that does.
CHANGE = 0.3
#: Cells of the record: points before a forecast, and decades that it goes.
POINTS, DECADES = ((6, 8), (9, 15), (16, 10**9)), ((0.0, 0.45), (0.45, FARTHEST_DECADES))
#: Scores of one curve, in the order of the columns of `scores`.
SCORES = ("rmsle", "coverage", "interval score", "log score")


@dataclass(frozen=True)
class Curve:
    """A curve: what was known, and what came later."""

    source: str
    kind: str
    x: np.ndarray
    y: np.ndarray
    to: np.ndarray
    later: np.ndarray

    @property
    def last_value(self) -> float:
        """Return the error of the last value."""
        return float(np.sqrt(np.mean(np.log(self.later / self.y[-1]) ** 2)))

    @property
    def decades(self) -> float:
        """Return how far the forecast goes."""
        return float(np.log10(self.to.max() / self.x[-1]))


def paths() -> tuple[Path, Path]:
    """Return the two files of reference data."""
    return reference("extrapolation_steps", "curves_steps_dev.csv"), reference("extrapolation", "curves_dev.csv")


def load(files: Iterable[Path]) -> list[Curve]:
    """Return the curves of at least five points; a source is all of a benchmark, or all image sets of one name."""
    rows = defaultdict(list)
    for path in files:
        with path.open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                key = (row["domain"], row["task"], row["curve_id"], row.get("kind") or row["domain"])
                rows[key].append((float(row["x"]), float(row["y"]), row["split"] == "train"))
    found = []
    for (domain, task, _, kind), points in rows.items():
        x, y, known = (np.array(column) for column in zip(*points, strict=True))
        before, place = np.unique(x[known], return_index=True)  # some curves stand there several times
        later = np.argsort(x[~known], kind="stable")
        source = task.split("_")[0] if domain == "IC" else domain
        if before.size >= 5:
            found.append(Curve(source, kind, before, y[known][place], x[~known][later], y[~known][later]))
    return found


@contextmanager
def pools_kept() -> Any:
    """Compute each pool of laws once, however often the numbers beside it change."""
    kept: dict[Any, Any] = {}

    def once(x: Any, y: Any, to: Any, tuning: Tuning) -> Any:
        own = (tuning.recency, tuning.worth, tuning.most, tuning.carried)
        key = (x.tobytes(), y.tobytes(), to.tobytes(), own)
        if key not in kept:
            kept[key] = pool(x, y, to, tuning)
        return kept[key]

    law_pool.pool = once
    try:
        yield
    finally:
        law_pool.pool = pool


def scores(curves: Sequence[Curve], tuning: Tuning = TUNING) -> np.ndarray:
    """Return the scores of each curve, (curves, `SCORES`), of log y and 90 % intervals."""
    return np.array([_scores(curve, tuning) for curve in curves])


def _scores(curve: Curve, tuning: Tuning) -> list[float]:
    places, which = np.unique(curve.to, return_inverse=True)
    said, seen = law_pool.forecast_curve(curve.x, curve.y, places, tuning), np.log(curve.later)
    low, middle, high = (said.quantile(q)[which] for q in (0.05, 0.5, 0.95))
    outside = np.maximum(low - seen, 0.0) + np.maximum(seen - high, 0.0)
    nu, z = said.freedom, (seen - said.middle[which]) / said.scale[which]
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi)
    surprise = np.log(said.scale[which]) + (nu + 1) / 2 * np.log1p(z**2 / nu) - constant
    return [
        float(np.sqrt(np.mean((middle - seen) ** 2))), float(np.mean(outside == 0)),
        float(np.mean(high - low + 20 * outside)), float(np.mean(surprise)),
    ]  # fmt: skip


def groups(curves: Sequence[Curve]) -> dict[str, np.ndarray]:
    """Return which curves are of a kind, of a source, and of one file."""
    kinds, sources = (np.array([getattr(curve, name) for curve in curves]) for name in ("kind", "source"))
    found = {kind: kinds == kind for kind in (*KINDS, *SETS)} | {
        source: sources == source for source in CURVES_PER_SOURCE
    }
    return found | {"all kinds": np.isin(kinds, KINDS), "all": np.ones(len(curves), dtype=bool)}


def settings() -> list[Tuning]:
    """Return the settings of `GRID`."""
    found = []
    for values in itertools.product(*GRID.values()):
        named = {n: v for names, each in zip(GRID, values, strict=True) for n, v in zip(names, each, strict=True)}
        found.append(replace(TUNING, **named))
    return found


def left_out(curves: Sequence[Curve]) -> np.ndarray:
    """Return the scores of each curve with the settings that the other sources choose, (curves, `SCORES`)."""
    tables = [scores(curves, each) for each in settings()]
    sources, found = np.array([curve.source for curve in curves]), np.empty((len(curves), len(SCORES)))
    for source in np.unique(sources):
        own = sources == source
        found[own] = min(tables, key=lambda table: table[~own, 3].mean())[own]
    return found


def record(curves: Sequence[Curve], scored: np.ndarray) -> list[dict[str, Any]]:
    """Return the cells of the record: fields of `forecast.evaluation.curve_record.CurveTrackRecord`."""
    found = []
    for points, decades in itertools.product(POINTS, DECADES):
        own = [
            i for i, c in enumerate(curves)
            if points[0] <= c.x.size <= points[1] and decades[0] < c.decades <= decades[1]
        ]  # fmt: skip
        error, coverage = scored[own, 0].mean(), scored[own, 1].mean()
        last = np.mean([curves[i].last_value for i in own])
        found.append(
            {
                "points": points, "decades": decades, "curves": len(own),
                "sources": len({curves[i].source for i in own}), "error": float(f"{error:.3g}"),
                "last_value": float(f"{last:.3g}"), "coverage": float(f"{coverage:.3f}"),
            }
        )  # fmt: skip
    return found


def sensitivity(curves: Sequence[Curve], names: Sequence[str] = tuple(vars(TUNING))) -> dict[str, list[np.ndarray]]:
    """Return the mean scores with each of these numbers made smaller and larger by `CHANGE`."""
    found = {}
    for name in names:
        value = getattr(TUNING, name)
        near = [type(value)(round(value * (1 + sign * CHANGE), 6)) for sign in (-1, 1)]
        found[name] = [scores(curves, replace(TUNING, **{name: each})).mean(axis=0) for each in near]
    return found


def show() -> None:
    """Print all of it; nothing without the reference data."""
    try:
        curves = load(paths())
    except NotHereError as missing:
        print(f"scores of curves left out: {missing}")
        return
    with pools_kept():
        inside, outside = scores(curves), left_out(curves)
        print("curves: in sample / each source with what the others choose; then the last value")
        print(f"{'':16}{'curves':>7}" + "".join(f"{name:>20}" for name in SCORES) + f"{'last value':>12}")
        last = np.array([curve.last_value for curve in curves])
        for group, own in groups(curves).items():
            pairs = (f"{a:.3g} / {b:.3g}" for a, b in zip(inside[own].mean(0), outside[own].mean(0), strict=True))
            print(f"{group:16}{own.sum():7d}" + "".join(f"{pair:>20}" for pair in pairs) + f"{last[own].mean():12.3g}")
        print("\nthe record, with what the other sources choose:")
        for row in record(curves, outside):
            print("  " + ", ".join(f"{name}={value}" for name, value in row.items()))
        print(f"\neach number {CHANGE:.0%} smaller / larger: how the mean scores change")
        base = inside.mean(axis=0)
        for name, (low, high) in sensitivity(curves).items():
            cells = (f"{a - c:+.2g} / {b - c:+.2g}" for a, b, c in zip(low, high, base, strict=True))
            print(f"  {name:12} {getattr(TUNING, name):<6g}" + "".join(f"{cell:>20}" for cell in cells))
