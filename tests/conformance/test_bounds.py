"""What the kit finds of bounds: a frontier that falls or starts elsewhere, shares beyond the whole, limits passed."""

from __future__ import annotations

import contextlib
import unittest

import pytest

from forecast.testing import checks, run_checks
from toolkit import sample

ESTIMATE = """
def forecast_models():
    n = Input(name="n", unit="percent", distribution={{"low": 1.0, "high": {high}}}, source="s")
    yield EstimateSpec(name="m", unit="percent", expression="n", inputs=(n,), reference="r", {more})
"""
SERIES = """
import numpy as np
from forecast.models import Anchored, Description, FittedShape, Shape

class Fitted(FittedShape):
    def __init__(self, time, value):
        self.time, self.value = time, value
        self.growth, self.level = np.polyfit(time - time.mean(), np.log(value), 1)
    def posterior(self, streams):
        return {{}}
    def sample(self, time, streams, *, observed=False):
        level = self.level + self.growth * (time[:, None] - self.time.mean()) + np.zeros(streams.draws)
        return {scale} * np.exp(level + 0.5 * observed * streams("noise").standard_normal(level.shape))
    def central(self, time):
        return self.sample(time, None)
    def describe(self):
        return Description(summary="a line")
    def anchored(self, time, record):
        return {anchored}

class Line(Shape):
    def fit(self, time, value, *, frontier=False, seed=0):
        return Fitted(time, value)

def forecast_shapes():
    yield ShapeSpec(name="s", target=f"{{__name__}}:Line", reference="r", keeps="{keeps}")

def forecast_models():
    yield TrendSpec(name="m", unit="TFLOP/s", table="datasets/supercomputers", x="date", y="rmax_top1", frontier=True,
                    shape="kit/s", reference="r", {more})
"""
SOUND = {
    "scale": 1.0,
    "anchored": "Anchored(shape=self, time=time, record=record)",
    "keeps": "",
    "more": "keeps='frontier'",
}
KEEPS, GOES_ON = "model m: keeps what it declares", "model m: goes on where its observations end"


def failures(plugin: str) -> dict[str, str]:
    return {o.label: o.message for o in run_checks(plugin) if not o.ok}


@pytest.mark.parametrize(
    ("high", "more", "says"),
    [
        (99.0, "scale='share'", None),
        (118.0, "scale='share'", "model 'kit/m': is on a scale of shares from 0 to 100, and is 1"),
        (99.0, "at_most=50.0", "model 'kit/m': never exceeds 50, and is "),
    ],
)
def test_a_model_is_held_to_what_it_declares(fake_plugins, high, more, says):
    fake_plugins.add("kit", ESTIMATE.format(high=high, more=more))
    found = failures("kit")
    assert found == {} if says is None else says in found[KEEPS]
    assert says is None or found[KEEPS].endswith("percent on 2028-01-01")


@pytest.mark.parametrize(
    ("change", "label", "says"),
    sample(
        [
            ({}, None, None),
            ({"more": ""}, KEEPS, 'its series is a running maximum, and it does not declare keeps = "frontier"'),
            ({"anchored": "Fitted(time, record[::-1])"}, KEEPS, "keeps a frontier, and falls to"),
            ({"anchored": "Fitted(time, record)"}, GOES_ON, "its frontier starts at"),
            ({"scale": 1e-3, "anchored": "self"}, GOES_ON, "its last observation, 2.198e+06 TFLOP/s on 2026-06-"),
            (
                {"scale": -1.0, "keeps": "positive"},
                "shape s: keeps what it declares, and a record",
                "keeps = 'positive', and",
            ),
            (
                {"keeps": "frontier", "anchored": "None"},
                "shape s: keeps what it declares, and a record",
                "no anchored form",
            ),
            ({"anchored": "self"}, "shape s: keeps what it declares, and a record", "anchored at the record"),
        ],
        3,
    ),
)
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_a_series_is_held_to_its_observations(fake_plugins, change, label, says):
    fake_plugins.add("kit", SERIES.format(**{**SOUND, **change}))
    found = {name: text for name, text in failures("kit").items() if "keeps" in name or "goes on" in name}
    assert found == {} if label is None else says in found[label], found


def test_what_a_shipped_plugin_declares_it_keeps():
    asked = [c for c in checks("brain") if any(part in str(c) for part in (": keeps", ": goes on", ": runs at"))]
    assert len(asked) > 50
    for check in asked:
        with contextlib.suppress(unittest.SkipTest):
            check()
