from __future__ import annotations

import dataclasses

import pytest

from forecast.contract.specs import (
    ClaimSpec,
    EstimateSpec,
    FunctionSpec,
    Input,
    LawSpec,
    MixtureSpec,
    ModelSpec,
    PublishedFit,
    SeriesShape,
    ShapeSpec,
    TrendSpec,
)
from forecast.errors import PluginContractError

LAW = {"name": "power", "reference": "r", "variables": {"x": ""}, "expression": "a*x"}


def test_records_are_frozen_and_keyword_only():
    law = LawSpec(**LAW)
    with pytest.raises(dataclasses.FrozenInstanceError):
        law.name = "other"
    with pytest.raises(TypeError):
        LawSpec("power", "r")


def test_mappings_are_copied_and_read_only():
    variables = {"x": ""}
    law = LawSpec(**{**LAW, "variables": variables})
    variables["y"] = "m"
    assert dict(law.variables) == {"x": ""}
    with pytest.raises(TypeError):
        law.variables["y"] = "m"


@pytest.mark.parametrize("name", ["", "Power", "a b", "a/b", "-a", "a\n", "ä", "a" * 65, "a_b", "../x"])
def test_names_are_lower_case_letters_digits_and_hyphens(name):
    with pytest.raises(PluginContractError, match="name: expected lower case"):
        LawSpec(**{**LAW, "name": name})


CODE = {"reference": "r", "unit": "", "target": "a:b"}
TREND = {"reference": "r", "unit": "", "table": "t", "x": "x", "y": "y"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", None), ("title", 3), ("reference", " "), ("variables", "x"), ("variables", {"x": 1}),
        ("variables", {1: ""}), ("expression", 3), ("bounds", {"a": (0,)}), ("bounds", {"a": [0, 1]}),
        ("bounds", {"a": (float("nan"), 1)}), ("positive", "a"), ("example", {"a": float("nan")}),
        ("example", {"a": 1j}), ("example", {"a": True}), ("example", {"a": 10**400}),
        ("published", [PublishedFit(name="p", parameters={"a": 1}, reference="r")]), ("published", ("p",)),
    ],
)  # fmt: skip
def test_bad_input_064_a_wrong_field_is_named(field, value):
    with pytest.raises(PluginContractError, match=f"^LawSpec '.*': {field}: "):
        LawSpec(**{**LAW, field: value})


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: PublishedFit(name="p", parameters={"a": None}, reference="r"), "parameters"),
        (lambda: PublishedFit(name="p", parameters={}, reference="r", stderr=[1.0]), "stderr"),
        (lambda: Input(name="i", unit=None, distribution={"value": 1}, source="s"), "unit"),
        (lambda: Input(name="i", unit="", distribution=3, source="s"), "distribution"),
        (lambda: Input(name="i", unit="", distribution={"p05": float("nan")}, source="s"), "distribution"),
        (lambda: Input(name="i", unit="", distribution={"normal": [0, None]}, source="s"), "distribution"),
        (lambda: Input(name="i", unit="", distribution={"normal": [-1, 2]}, source="s", lower=0), "lower"),
        (lambda: EstimateSpec(name="e", reference="r", unit="", expression="a", inputs=[]), "inputs"),
        (lambda: MixtureSpec(name="m", reference="r", unit="", weights={"a": -1}), "weights"),
        (lambda: MixtureSpec(name="m", reference="r", unit="", weights={"a": 0}), "weights"),
        (lambda: MixtureSpec(name="m", reference="r", unit="", weights={}), "weights"),
        (lambda: ModelSpec(name="m", reference="r", unit=""), "target"),
        (lambda: FunctionSpec(name="f", reference="r", unit="", inputs={"x": ""}), "target"),
        (lambda: FunctionSpec(name="f", **CODE), "inputs"),
        (lambda: FunctionSpec(name="f", **CODE, inputs={"x": 1}), "inputs"),
        (lambda: FunctionSpec(name="f", **CODE, inputs={"no name": ""}), "inputs"),
        (lambda: FunctionSpec(name="f", **CODE, inputs={"unit": ""}), "inputs"),
        (lambda: FunctionSpec(name="f", **CODE, inputs={"x": ""}, domain={"y": (1, 2)}), "domain"),
        (lambda: FunctionSpec(name="f", **CODE, inputs={"x": ""}, domain={"x": (2, 1)}), "domain"),
        (lambda: ShapeSpec(name="s", reference="r", target="no colon"), "target"),
        (lambda: ShapeSpec(name="s", reference="r", target="os:system('x')"), "target"),
        (
            lambda: TrendSpec(name="t", reference="r", unit="", shape="s", table="t", x="x", y="y", frontier="yes"),
            "frontier",
        ),
        (lambda: TrendSpec(name="t", **TREND), "shape"),
        (lambda: TrendSpec(name="t", **TREND, shapes=(SeriesShape(name="s"),)), "shape"),
        (lambda: TrendSpec(name="t", **TREND, shapes=(SeriesShape(name="s", weight=1),), options={"a": 1}), "options"),
        (lambda: TrendSpec(name="t", **TREND, shape="s", shapes=(SeriesShape(name="s"),) * 2), "shapes"),
        (lambda: TrendSpec(name="t", **TREND, shape="s", shapes=({"name": "s"},)), "shapes"),
        (lambda: TrendSpec(name="t", **TREND, shape="s", shapes=(SeriesShape(name="s", refused="no"),)), "shape"),
        (lambda: SeriesShape(name="s", weight=-1), "weight"),
        (lambda: SeriesShape(name="s", weight=float("inf")), "weight"),
        (lambda: SeriesShape(name="s", weight=1, refused="it falls"), "refused"),
        (lambda: SeriesShape(name="s", needs="cap"), "needs"),
        (lambda: SeriesShape(name="s", yearly="yes"), "yearly"),
    ],
)
def test_bad_input_064_other_records_name_the_field_too(make, field):
    with pytest.raises(PluginContractError, match=f"'[a-z]': {field}: "):
        make()


def test_a_law_has_an_expression_or_a_target():
    with pytest.raises(PluginContractError, match="one of the two"):
        LawSpec(name="a", reference="r", variables={"x": ""})
    with pytest.raises(PluginContractError, match="one of the two"):
        LawSpec(**{**LAW, "target": "m:f"})


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"declared": "agrees"}, "declared"),
        ({}, "needs a formula and a stated figure"),
        ({"stated": "1", "formula": "n", "values": {"n": 1}, "solve_for": "m"}, "solve_for"),
    ],
)
def test_claims_declare_only_what_cannot_be_computed(more, why):
    with pytest.raises(PluginContractError, match=why):
        ClaimSpec(name="c", reference="r", group="g", statement="s", **more)


def test_messages_about_hostile_names_stay_printable():
    with pytest.raises(PluginContractError) as caught:
        LawSpec(**{**LAW, "name": "\x1b[2J\n" * 1000})
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_bad_input_050_bounds_of_a_record_are_low_and_high():
    with pytest.raises(PluginContractError, match=r"bounds: expected a mapping to \(low, high\)"):
        LawSpec(name="x", reference="r", variables={"x": ""}, expression="a*x", bounds={"a": (2.0, 1.0)})
