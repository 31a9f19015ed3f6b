"""The record that extrapolations show, made anew from development curves; its numbers are chosen on other data sets.

What is tuned (`forecast.evaluation.law_pool.Tuning`) is chosen from a coarse grid for each data set by the *others*:
the lowest weighted interval score of the logarithm, in units of the last value's error, among the settings whose 90 %
intervals hold at least 90 % there. A data set is all curves of one task (bird, c, cal, inet), of language, or of
addition.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pytest

import forecast
from forecast.evaluation.extrapolate import RECORD
from forecast.evaluation.law_pool import TUNING, Tuning, pool
from forecast.tables import columns

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
RECENCIES, WORTHS, CARRIED, SPREADS = (1.0, 1.5, 2.0), (5.0, 10.0, 15.0), (0.7, 1.0), (1.0, 1.5, 2.0, 2.5, 3.0)


@dataclass(frozen=True)
class Curve:
    domain: str
    group: str
    x: np.ndarray
    y: np.ndarray
    to: np.ndarray
    later: np.ndarray

    @property
    def last_value(self) -> float:
        return float(np.sqrt(np.mean(np.log(self.later / self.y[-1]) ** 2)))


@pytest.fixture(scope="module")
def curves(reference_data) -> list[Curve]:
    path = reference_data / "extrapolation" / "curves_dev.csv"
    table = columns(path, where="test")
    names, x, y, split = (table[n] for n in ("curve_id", "x", "y", "split"))
    found = []
    for name in np.unique(names):
        domain, task, _ = str(name).split("|")
        mine = names == name
        before, after = mine & (split == "train"), mine & (split == "test")
        known, place = np.unique(x[before], return_index=True)  # some curves stand there several times
        group = task.split("_")[0] if domain == "IC" else domain
        found.append(Curve(domain, group, known, y[before][place], x[after], y[after]))
    return found


def mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


@pytest.fixture(scope="module")
def scores(curves) -> dict[Tuning, np.ndarray]:
    """For every setting, (curves, 3): interval score over the last value's error, RMSLE, share inside 90 %."""
    found: dict[Tuning, np.ndarray] = {}
    for recency, most, carried in itertools.product(RECENCIES, WORTHS, CARRIED):
        rows: dict[float, list[list[float]]] = {spread: [] for spread in SPREADS}
        for curve in curves:
            made = pool(curve.x, curve.y, curve.to, Tuning(recency=recency, most=most, carried=carried))
            seen, middle = np.log(curve.later), made.quantile(0.5, 1.0)
            apart = [made.quantile(q, 1.0) - middle for q in LEVELS]
            for spread in SPREADS:
                said = [middle + spread * each for each in apart]
                pinball = [
                    np.maximum(q * (seen - s), (q - 1) * (seen - s)).mean() for q, s in zip(LEVELS, said, strict=True)
                ]
                inside = float(np.mean((seen >= said[0]) & (seen <= said[-1])))
                error = float(np.sqrt(np.mean((seen - said[2]) ** 2)))
                rows[spread].append([2 * mean(pinball) / curve.last_value, error, inside])
        for spread in SPREADS:
            found[Tuning(recency=recency, most=most, carried=carried, spread=spread)] = np.array(rows[spread])
    return found


def test_what_is_in_use_does_as_the_record_says(curves):
    """It was chosen on all data sets at once, so that it differs a little from what the others chose for each."""
    for domain, record in zip(("IC", "LM"), RECORD, strict=True):
        mine = [curve for curve in curves if curve.domain == domain]
        errors, inside = [], []
        for curve in mine:
            made, seen = pool(curve.x, curve.y, curve.to), np.log(curve.later)
            middle = made.quantile(0.5, 1.0)
            low, high = (middle + TUNING.spread * (made.quantile(q, 1.0) - middle) for q in (0.05, 0.95))
            errors.append(np.sqrt(np.mean((seen - middle) ** 2)))
            inside.append(np.mean((low <= seen) & (seen <= high)))
        assert mean(errors) == pytest.approx(record.error, rel=0.015)
        assert mean(inside) == pytest.approx(record.coverage, abs=0.04)


def chosen(scores: dict[Tuning, np.ndarray], on: np.ndarray) -> Tuning:
    honest = {t: table[on] for t, table in scores.items() if table[on, 2].mean() >= 0.9}
    return min(honest, key=lambda t: honest[t][:, 0].mean())


@pytest.fixture(scope="module")
def left_out(curves, scores) -> np.ndarray:
    """Each curve scored with what the other data sets choose, (curves, 3)."""
    groups = np.array([curve.group for curve in curves])
    found = np.empty((len(curves), 3))
    for group in np.unique(groups):
        own = groups == group
        found[own] = scores[chosen(scores, ~own)][own]
    return found


@pytest.mark.slow
def test_the_numbers_in_use_are_those_that_all_data_sets_choose(curves, scores):
    assert chosen(scores, np.ones(len(curves), dtype=bool)) == TUNING


@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "most_error", "least", "most"), [("IC", 0.0320, 0.85, 0.95), ("LM", 0.0008, 0.80, 1.0)]
)
def test_curves_are_extrapolated_with_what_others_taught(curves, left_out, domain, most_error, least, most):
    of = np.array([curve.domain == domain for curve in curves])
    assert left_out[of, 1].mean() <= most_error
    assert least <= left_out[of, 2].mean() <= most
    assert left_out[of, 1].mean() < mean(c.last_value for c in curves if c.domain == domain)


@pytest.mark.slow
def test_the_record_says_what_was_measured(curves, left_out):
    for domain, record in zip(("IC", "LM"), RECORD, strict=True):
        of = np.array([curve.domain == domain for curve in curves])
        mine = [curve for curve in curves if curve.domain == domain]
        assert record.curves == len(mine)
        assert record.times == pytest.approx(float(np.median([c.to.max() / c.x[-1] for c in mine])), rel=0.025)
        assert record.error == pytest.approx(left_out[of, 1].mean(), rel=0.01)
        assert record.last_value == pytest.approx(mean(c.last_value for c in mine), rel=0.01)
        assert record.coverage == pytest.approx(left_out[of, 2].mean(), abs=0.005)


def test_answers_are_honest(curves):
    warned, held = [], []
    mine = [curve for curve in curves if curve.domain != "ADD4"]
    for curve in mine:
        answer = forecast.extrapolate(curve.x, curve.y, curve.to)
        place = np.searchsorted(answer.to, curve.to)
        assert np.isfinite(answer.upper / answer.lower).all()  # an interval on every answer
        held.append(mean((curve.later >= answer.lower[place]) & (curve.later <= answer.upper[place])))
        warned.append(bool(answer.warnings))
    for domain in ("IC", "LM"):
        of = np.array([curve.domain == domain for curve in mine])
        silent = of & ~np.array(warned)
        assert silent.sum() >= 0.6 * of.sum()
        assert np.array(held)[silent].mean() >= 0.85
