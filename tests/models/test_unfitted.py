"""Models that read no data share one record."""

import ast
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import forecast
from forecast.models import Description, FittedModel, Model, OtherQuantity, Unfitted
from forecast.models.check_output import checked_model
from forecast.streams import DRAWS_PER_BLOCK, Streams

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Half(Unfitted):
    def sample(self, time, inputs, streams, *, observed=False):
        return inputs["whole"] / 2

    def describe(self):
        return Description(summary=f"half; {self.note}", sources=self.sources)


def test_a_subclass_says_how_to_sample_and_is_a_whole_model():
    half = Half(name="half", unit="FLOP/s", inputs={"whole": OtherQuantity(unit="FLOP/s")}, note="of what there is")
    assert checked_model(half, "test") is half
    assert isinstance(half, Model)
    assert isinstance(half, FittedModel)
    assert half.fit(as_of=2020.0, seed=3) is half
    assert not len(half.observed().time)
    assert dict(half.posterior(Streams(0, "half", 0))) == {}
    assert (half.sources, dict(half.qualifiers)) == ((), {})
    whole = forecast.estimate(
        "a", inputs={"a": {"low": 1, "high": 3, "unit": "FLOP/s"}}, unit="FLOP/s", name="whole"
    ).model
    run = forecast.project(
        {"start": 2025, "until": 2026, "quantities": {"whole": {"model": whole}, "half": {"model": half}}},
        draws=DRAWS_PER_BLOCK,
    )
    drawn = run["projection"]
    np.testing.assert_allclose(drawn["half"].values, np.broadcast_to(drawn["whole"].values / 2, drawn["half"].shape))


def test_it_cannot_be_made_without_saying_how():
    with pytest.raises(TypeError, match="abstract"):
        Unfitted(name="a", unit="")


@pytest.mark.parametrize(
    "name",
    [
        "brain/dettmers-2015", "brain/pooled", "brain/evidence", "resources/compute-growth-as-needed",
        "trends/growth", "emergence/rounding-error-absmax", "emergence/token-cost", "emergence/vector-error",
    ],
)  # fmt: skip
def test_every_kind_of_it_is_one(name):
    made = forecast.model(name).model
    assert isinstance(made, Unfitted)
    assert made.fit() is made


def test_a_date_before_which_it_stood_makes_another_of_the_same():
    made = forecast.model("brain/evidence").model
    early = made.fit(as_of=2010.0)
    assert (early.name, early.inputs, early.sources, early.as_of) == (made.name, made.inputs, made.sources, 2010.0)


def test_no_other_class_restates_it():
    restated = []
    for file in [*(ROOT / "forecast").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]:
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "def fit(" in text else ():
            if isinstance(node, ast.ClassDef) and node.name != "Unfitted":
                for part in node.body:
                    if isinstance(part, ast.FunctionDef) and part.name == "fit":
                        restated += [node.name] if ast.unparse(part.body[-1:]) == "return self" else []
    assert restated == []
