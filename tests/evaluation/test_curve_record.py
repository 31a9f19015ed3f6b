"""How curves are extrapolated: real ones by kind, warned of or not, and what is printed of how such have done."""

from dataclasses import asdict

import numpy as np
import pytest

import forecast
from benchmarks import curves as scored
from benchmarks.curves import CURVES_PER_SOURCE
from forecast.evaluation.curve_record import RECORD


@pytest.fixture(scope="module")
def curves(reference_data) -> list[scored.Curve]:
    files = ("extrapolation_steps/curves_steps_dev.csv", "extrapolation/curves_dev.csv")
    return scored.load([reference_data / name for name in files])


@pytest.fixture(scope="module")
def found(curves) -> dict[str, np.ndarray]:
    """What the front door says of each curve: error, the last value's, coverage, interval score, whether warned."""
    rows = []
    for curve in curves:
        answer, seen = forecast.extrapolate(curve.x, curve.y, curve.to), np.log(curve.later)
        low, middle, high = (np.log(getattr(answer, name)) for name in ("lower", "median", "upper"))
        outside = np.maximum(low - seen, 0) + np.maximum(seen - high, 0)
        error = np.sqrt(np.mean((middle - seen) ** 2))
        score, warned = np.mean(high - low + 20 * outside), bool(answer.warnings)
        rows.append((error, curve.last_value, np.mean(outside == 0), score, warned))
    return dict(zip(("error", "last", "coverage", "score", "warned"), np.array(rows).T, strict=True))


@pytest.mark.slow
def test_curves_of_every_kind_lie_in_their_intervals_and_are_not_missed_by_more_than_the_last_value(curves, found):
    of = scored.groups(curves)
    for kind in scored.KINDS:
        own = of[kind]
        assert (0.82 if kind == "step" else 0.85) <= found["coverage"][own].mean() <= (0.97 if kind == "flat" else 0.95)
        assert found["error"][own].mean() <= 1.02 * found["last"][own].mean()
    assert found["score"][of["all kinds"]].mean() <= 0.6
    assert found["error"][of["all kinds"]].mean() <= 0.096
    assert found["error"][of["IC"]].mean() <= 0.0315
    assert found["error"][of["LM"]].mean() <= 0.0008


@pytest.mark.slow
def test_those_warned_are_missed_by_far_more_than_those_not(curves, found):
    own, warned = scored.groups(curves)["all kinds"], found["warned"] > 0
    silent = own & ~warned
    assert silent.sum() >= 0.6 * own.sum()
    assert found["coverage"][silent].mean() >= 0.85
    assert found["error"][own & warned].mean() >= 2 * found["error"][silent].mean()


def test_sources_are_counted(curves):
    names = [curve.source for curve in curves]
    assert {name: names.count(name) for name in set(names)} == CURVES_PER_SOURCE


@pytest.mark.xslow
def test_the_record_is_of_each_source_with_what_the_others_choose(curves):
    with scored.pools_kept():
        left_out = scored.left_out(curves)
    assert [asdict(each) for each in RECORD] == [
        {name: pytest.approx(value, rel=0.01) for name, value in row.items()} for row in scored.record(curves, left_out)
    ]
    of = scored.groups(curves)
    inside = scored.scores(curves)
    assert left_out[of["all kinds"], 0].mean() <= 1.04 * inside[of["all kinds"], 0].mean()
    assert 0.85 <= left_out[of["all kinds"], 1].mean() <= 0.95
    assert left_out[of["all kinds"], 2].mean() <= 0.625
