"""Dense and sparse, FP32 and FP16 on tensor cores, HPL and HPCG, nominal and real, one way and two: never mixed."""

import pytest

import forecast
from forecast import EstimateSpec, Input, RelationSpec, Scenario
from forecast.errors import PluginContractError, QualifierError, UnitError, UsageError
from forecast.models.estimates import from_spec
from forecast.models.mixtures import from_spec as mixture
from forecast.scenarios.graph import build
from forecast.tables.series import of_column
from forecast.units.qualifiers import ATTRIBUTES, check, infer, meet, of_record, of_rows, qualifiers_text

#: What the five pairs of the issue are: unit, attribute, two values of it.
PAIRS = {
    "dense with sparse": ("TFLOP/s", {"sparsity": "dense"}, {"sparsity": "sparse"}),
    "FP32 with FP16 tensor": (
        "TFLOP/s", {"precision": "fp32", "path": "vector"}, {"precision": "fp16", "path": "tensor"}
    ),
    "HPL with HPCG": ("PFLOP/s", {"basis": "linpack"}, {"basis": "hpcg"}),
    "nominal with real dollars": ("USD", {"dollars": "nominal"}, {"dollars": "real 2020"}),
    "one-way with two-way": ("GB/s", {"direction": "one-way"}, {"direction": "two-way"}),
}  # fmt: skip


def scenario(unit="TFLOP/s", first=None, second=None, **more):
    quantities = {
        "first": {"value": 2.0, "unit": unit, **({"qualifiers": first} if first else {})},
        "second": {"value": 1.0, "unit": unit, **({"qualifiers": second} if second else {})},
    }
    record = {"start": 2020, "until": 2022, "quantities": {**quantities, **more.pop("quantities", {})}, **more}
    return Scenario.from_dict(record, where="mine.toml")


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("way", ["first + second", "first - second", "min(first, second)", "max(second, first)"])
def test_what_differs_is_not_added(pair, way):
    unit, first, second = PAIRS[pair]
    made = scenario(unit, first, second, quantities={"mixed": {"expression": way}})
    with pytest.raises(QualifierError) as caught:
        build(made)
    said = str(caught.value)
    assert said.startswith("mine.toml: quantities.mixed.expression: in '")
    for name, side in (("first", first), ("second", second)):
        assert f"'{name}' is " in said
        assert all(f"{attribute} {value}" in said for attribute, value in side.items())


@pytest.mark.parametrize("pair", PAIRS)
def test_what_differs_is_not_compared(pair):
    unit, first, second = PAIRS[pair]
    with pytest.raises(
        QualifierError, match=r"mine.toml: questions.when_.when: qualifiers do not match: 'first' is .*'second'"
    ):
        build(scenario(unit, first, second, questions={"when_": {"when": "first >= second"}}))


@pytest.mark.parametrize("pair", PAIRS)
def test_a_ratio_compares_and_must_say_what_it_is(pair):
    unit, first, second = PAIRS[pair]
    with pytest.raises(QualifierError, match=r"where the ratio is meant, state what it is: qualifiers = \{"):
        build(scenario(unit, first, second, quantities={"ratio": {"expression": "first / second"}}))
    stated = {n: f"{first[n]} / {second[n]}" for n in first}
    made = scenario(unit, first, second, quantities={"ratio": {"expression": "first / second", "qualifiers": stated}})
    assert build(made).nodes["ratio"].bases == {(): stated}


@pytest.mark.parametrize("pair", PAIRS)
def test_the_same_basis_and_no_basis_go_through(pair):
    unit, first, _ = PAIRS[pair]
    more = {"quantities": {"sum": {"expression": "first + second"}}, "questions": {"q": {"when": "first >= second"}}}
    for second in (first, None):
        assert build(scenario(unit, first, second, **more)).nodes["sum"].bases == {(): first}
        more = {k: dict(v) for k, v in more.items()}
    assert build(scenario(unit, None, None, **more)).nodes["sum"].bases == {}


def test_a_basis_error_is_a_unit_error():
    assert issubclass(QualifierError, UnitError)


def test_gigabytes_and_gibibytes_convert():
    made = {"start": 2020, "until": 2021, "quantities": {
        "a": {"value": 1.0, "unit": "GiB"}, "b": {"value": 1.0, "unit": "GB"},
        "c": {"expression": "a + b", "unit": "GB"},
    }}  # fmt: skip
    run = forecast.project(made, draws=2)
    assert float(run["projection"]["c"][0, 0]) == pytest.approx(1.073741824 + 1)


def test_a_product_keeps_what_its_parts_state():
    sides = {"peak": {"precision": "fp16"}, "price": {"dollars": "nominal"}, "share": {}}
    assert infer("share*peak/price", sides) == {"precision": "fp16", "dollars": "nominal"}
    assert infer("-peak**2", sides) == {"precision": "fp16"}
    assert infer("peak/price", sides, qualifiers={"dollars": ""}) == {"precision": "fp16"}


def test_a_stated_basis_does_not_excuse_a_sum():
    sides = {"a": {"sparsity": "dense"}, "b": {"sparsity": "sparse"}}
    with pytest.raises(QualifierError, match="in 'a \\+ b'"):
        infer("2*(a + b)", sides, qualifiers={"sparsity": "both"})


def test_the_third_of_three_is_named():
    sides = {"a": {}, "b": {"direction": "one-way"}, "c": {"direction": "two-way"}}
    with pytest.raises(QualifierError, match="'b' is direction one-way, 'c' is direction two-way"):
        infer("max(a, b, c)", sides)


def test_words():
    assert qualifiers_text({"precision": "fp16", "path": ""}) == "precision fp16"
    assert qualifiers_text({}) == "no qualifiers"
    assert of_rows({"sparsity": "dense", "status": "verified"}) == {"sparsity": "dense"}
    assert of_record({"sparsity": "dense"}, {"sparsity": ""}) == {}
    assert meet({}, {"path": "tensor"}, left="a", right="b") == {"path": "tensor"}


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"precison": "fp16"}, "did you mean 'precision'"),
        ({"zzzz": "x"}, "known: basis"),
        ({"path": 3}, "expected text"),
    ],
)
def test_a_wrong_basis_is_refused(stated, says):
    with pytest.raises(UsageError, match=says):
        check(stated, where="mine.toml")
    with pytest.raises(UsageError, match=says):
        scenario(first=stated)


def test_it_is_checked_along_choices():
    """Only the combination that mixes is named; where both sides follow one choice, nothing mixes."""
    record = {
        "start": 2024,
        "until": 2026,
        "choices": {"metric": ["hpcg", "linpack"]},
        "quantities": {
            "machine": {"model": "hardware/{metric}@exponential"},
            "again": {"model": "hardware/{metric}@changepoint"},
            "goal": {"value": 1e18, "unit": "FLOP/s", "qualifiers": {"basis": "linpack"}},
        },
        "questions": {"same": {"when": "machine >= again"}},
    }
    assert build(Scenario.from_dict(record)).nodes["machine"].bases[("hpcg",)]["basis"] == "hpcg"
    record["questions"]["mixed"] = {"when": "machine >= goal"}
    with pytest.raises(
        QualifierError, match=r"questions.mixed.when: .*'machine' is basis hpcg, 'goal' is basis linpack"
    ):
        build(Scenario.from_dict(record))
    build(Scenario.from_dict(record), {"metric": "linpack"})


def test_fixing_a_quantity_takes_its_basis_away():
    made = scenario("USD", {"dollars": "nominal"}, {"dollars": "real"}, questions={"q": {"when": "first >= second"}})
    assert build(made, {"first": 3}).nodes["first"].bases == {}


def estimate(expression, qualifiers, *inputs):
    return EstimateSpec(
        name="x", unit="TFLOP/s", expression=expression, reference="r", qualifiers=qualifiers,
        inputs=tuple(
            Input(name=n, unit="TFLOP/s", distribution={"value": 1.0}, source="s", qualifiers=b) for n, b in inputs
        ),
    )  # fmt: skip


def test_an_estimate_is_checked_when_it_is_made():
    dense, sparse = ("a", {"sparsity": "dense"}), ("b", {"sparsity": "sparse"})
    with pytest.raises(QualifierError, match="demo/x: in 'a \\+ b'"):
        from_spec("demo/x", estimate("a + b", {}, dense, sparse))
    assert from_spec("demo/x", estimate("a", {}, dense)).qualifiers == {"sparsity": "dense"}
    assert from_spec("demo/x", estimate("a*b/b", {"sparsity": "x"}, dense, sparse)).qualifiers == {"sparsity": "x"}
    with pytest.raises(UsageError, match="unknown attribute"):
        from_spec("demo/x", estimate("a", {"sparsty": "x"}, dense))


def test_the_members_of_a_mixture_must_agree():
    from forecast.contract.specs import MixtureSpec

    spec = MixtureSpec(name="m", unit="TFLOP/s", weights={"demo/a": 1, "demo/b": 1}, reference="r")
    made = {
        f"demo/{n}": from_spec(f"demo/{n}", estimate("a", {}, ("a", {"sparsity": v})))
        for n, v in (("a", "dense"), ("b", "sparse"))
    }
    with pytest.raises(QualifierError, match="'demo/a' is sparsity dense, 'demo/b' is sparsity sparse"):
        mixture("demo/m", spec, made)
    alike = {"demo/a": made["demo/a"], "demo/b": from_spec("demo/b", estimate("a", {}, ("a", {})))}
    assert mixture("demo/m", spec, alike).qualifiers == {"sparsity": "dense"}


def test_a_trend_takes_its_basis_from_its_rows_and_refuses_to_mix():
    data = {
        "year": [2000, 2005, 2010, 2015], "speed": [1.0, 9.0, 110.0, 900.0], "sparsity": ["dense"] * 3 + ["sparse"],
    }  # fmt: skip
    options = {"shape": "trends/exponential", "x": "year", "y": "speed", "unit": "TFLOP/s"}
    with pytest.raises(QualifierError, match="column 'speed' mixes sparsity dense and sparse; keep one: where = "):
        forecast.trend(data, **options).fit()
    one = forecast.trend(data, where={"sparsity": "dense"}, **options).model
    assert one.fit().observed().value.tolist() == [1.0, 9.0, 110.0]


def test_a_table_column_is_judged_by_its_own_dimensions_only():
    """The precision of a peak says nothing of the price, which has no such dimension."""
    common = {"shape": "trends/exponential", "x": "release_date", "unit": "TFLOP/s", "since": "2006-01-01"}
    from forecast.contract.specs import TrendSpec

    def fit(y, unit, **where):
        spec = TrendSpec(
            name="t", table="datasets/accelerators", y=y, reference="r", where=where, **{**common, "unit": unit}
        )
        from forecast.models.trends import from_spec as trend

        return trend("demo/t", spec)

    with pytest.raises(QualifierError, match="column 'peak' mixes"):
        fit("peak", "TFLOP/s").fit()
    made = fit("peak", "TFLOP/s", precision="fp16", path="tensor", sparsity="dense")
    assert made.qualifiers == {"precision": "fp16", "path": "tensor", "sparsity": "dense"}
    made.fit()
    fit("launch_price", "USD").fit()


def test_a_model_that_asks_for_a_basis_is_not_fed_another():
    from forecast.models import Description, FittedModel, Model, OtherQuantity

    class Twice(Model, FittedModel):
        name, unit = "twice", "TFLOP/s"
        inputs = {"rate": OtherQuantity(unit="TFLOP/s", qualifiers={"sparsity": "dense"})}  # noqa: RUF012
        qualifiers = {"sparsity": "dense"}  # noqa: RUF012

        def fit(self, *, as_of=None, seed=0):
            return self

        def sample(self, time, inputs, streams, *, observed=False):
            return 2 * inputs["rate"]

        def describe(self):
            return Description(summary="twice")

    made = {"twice": {"model": Twice(), "inputs": {"rate": "first"}}}
    assert build(scenario(first={"sparsity": "dense"}, quantities=made)).nodes["twice"].bases == {(): Twice.qualifiers}
    with pytest.raises(QualifierError, match=r"input 'rate' of model 'twice': .*'rate' is sparsity dense, 'first' is"):
        build(scenario(first={"sparsity": "sparse"}, quantities=made))


def test_a_plugin_model_carries_the_basis_of_its_record(fake_plugins):
    fake_plugins.add(
        "demo",
        "from forecast import estimate\n"
        "def make(name, spec):\n"
        "    return estimate('x', inputs={'x': 1.0}, unit='', name=name)\n"
        "def forecast_models():\n"
        "    yield ModelSpec(name='m', unit='', target='fake_demo_fake_demo:make', qualifiers={'path': 'tensor'},\n"
        "                    reference='r')\n",
    )
    with pytest.raises(PluginContractError, match=r"the record states path tensor, the model no qualifiers"):
        forecast.model("demo/m")


def test_relations_state_their_rows():
    spec = RelationSpec(
        name="r", unit="", law="resources/log-linear", table="datasets/outlier-features", let={"x": "params"},
        y="ppl_c4", where={"family": "FSEQ"}, qualifiers={"tokenizer": "fairseq"}, reference="r",
    )  # fmt: skip
    from forecast.models.relations import from_spec as relation

    assert relation("demo/r", spec).qualifiers == {"tokenizer": "fairseq"}


def test_every_attribute_is_explained():
    assert all(ATTRIBUTES.values())


# --- what a table states of its columns -------------------------------------------------------------------------------


def series(table, y, unit, **more):
    x = {"datasets/ai-clusters": "date", "datasets/fabs": "date", "datasets/supercomputers": "date"}[table]
    return {"shape": "trends/exponential", "data": table, "x": x, "y": y, "unit": unit, **more}


def asked(a, b):
    return {"start": 2025, "until": 2027, "quantities": {"a": a, "b": b}, "questions": {"q": {"when": "a >= b"}}}


LISTS, CLUSTERS = "datasets/supercomputers", "datasets/ai-clusters"


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        (
            series(LISTS, "rmax_top1", "TFLOP/s"), series(LISTS, "hpcg_best", "TFLOP/s"),
            "'a' is basis linpack, 'b' is basis hpcg",
        ),
        (
            series(CLUSTERS, "cost_nominal", "USD"), series(CLUSTERS, "cost_real", "USD"),
            "'a' is dollars nominal, 'b' is dollars real 2025",
        ),
        (
            series("datasets/fabs", "cost", "USD"),
            {"value": 1e9, "unit": "USD", "qualifiers": {"dollars": "real 2025"}},
            "'a' is dollars nominal, 'b' is dollars real 2025",
        ),
        (
            {"table": LISTS, "column": "rmax_top1", "where": {"list": "2025-06"}},
            {"table": LISTS, "column": "hpcg_best", "where": {"list": "2025-06"}},
            "'a' is basis linpack, 'b' is basis hpcg",
        ),
    ],
)  # fmt: skip
def test_columns_of_a_table_state_what_they_are(a, b, says):
    with pytest.raises(QualifierError, match=says):
        forecast.project(asked(a, b), draws=50)


def test_a_formula_over_columns_must_say_what_a_ratio_of_two_is():
    ratio = series(LISTS, "hpcg_best/rmax_top1", "")
    half = {"value": 0.5, "unit": ""}
    with pytest.raises(QualifierError, match=r"hpcg.*linpack"):
        forecast.project(asked(ratio, half), draws=50)
    forecast.project(asked({**ratio, "qualifiers": {"basis": "hpcg / linpack"}}, half), draws=50)


def test_a_cost_has_no_precision_and_a_users_own_word_is_left_alone():
    forecast.project(asked(series(CLUSTERS, "cost_real", "USD"), {"value": 1e9, "unit": "USD"}), draws=50)
    ds = forecast.table(LISTS)[["rmax_top1", "date"]]
    ds["rmax_top1"].attrs["qualifiers"] = "whatever"
    assert of_column(ds, "rmax_top1") == {}


def test_a_relation_measures_what_its_column_does():
    """LINPACK from power against HPCG: the table states what each column measures, and the relation inherits it."""
    assert forecast.model("resources/linpack-from-power").model.qualifiers == {"basis": "linpack"}
    quantities = {
        "x": {"value": 20, "unit": ""},
        "a": {"model": "resources/linpack-from-power"},
        "b": {"model": "hardware/hpcg@exponential"},
    }
    asked = {"start": 2024, "until": 2030, "quantities": quantities, "questions": {"r": {"when": "a >= b"}}}
    with pytest.raises(QualifierError, match=r"linpack.*hpcg"):
        forecast.project(asked)


def test_dollars_of_a_launch_price_are_those_of_the_day():
    real = {"value": 5, "unit": "GFLOP/s/USD", "qualifiers": {"dollars": "real 2020"}}
    quantities = {"a": {"model": "hardware/fp32-per-dollar@exponential"}, "b": real}
    asked = {"start": 2024, "until": 2030, "quantities": quantities, "questions": {"r": {"when": "a >= b"}}}
    with pytest.raises(QualifierError, match=r"nominal.*real 2020"):
        forecast.project(asked)
