"""Models that fail: they are listed, and the others answer."""

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.errors import DataError, ForecastError, PluginError, UnknownNameError

TREND = {"shape": "trends/exponential", "data": "datasets/supercomputers", "x": "date", "y": "hpcg_best",
         "unit": "TFLOP/s", "frontier": True}  # fmt: skip


PLUGIN = """
KINDS = ("good", "fit", "sample", "exit", "exit-0", "keyboard", "recursion", "none", "text", "shape", "nan", "complex",
         "list", "generator", "writes", "prints", "unfitted", "objects", "make", "made", "masked", "observed",
         "observed-text", "posterior", "posterior-shape", "describe", "describe-none", "buffer-1", "buffer-3",
         "unshowable")
buffer = None

def forecast_models():
    for kind in KINDS:
        yield ModelSpec(name=kind, unit="FLOP/s", target="fake_bad:make", reference="a test")

class Unshowable(Exception):
    def __str__(self):
        raise ValueError("not even this")

def make(name, spec):
    import sys
    import numpy as np
    from forecast.models import Description, FittedModel, Model, Observations
    from forecast.contract.specs import Input

    kind = spec.name
    print("made", kind)
    if kind == "make":
        raise ValueError("cannot make it")
    if kind == "made":
        return "no model"

    class Fitted(FittedModel):
        def sample(self, time, inputs, streams, *, observed=False):
            level = np.full((len(time), streams.draws), 2.0) * inputs["scale"]
            if kind == "sample":
                raise RuntimeError("went wrong\\nin two lines \\x1b[2J")
            if kind == "unshowable":
                raise Unshowable
            if kind == "exit":
                sys.exit("bye")
            if kind == "exit-0":
                sys.exit(0)
            if kind == "keyboard":
                raise KeyboardInterrupt
            if kind == "recursion":
                return self.sample(time, inputs, streams)
            if kind == "writes":
                inputs["scale"][:] = 0
            if kind == "nan":
                level[0, 0] = np.nan
            if kind == "prints":
                print("hello from sample")
            if kind.startswith("buffer"):
                global buffer
                buffer = level if buffer is None else buffer
                buffer[:] = float(kind[-1])
                return buffer
            return {"none": None, "text": "2.0", "shape": level.T, "complex": level + 0j, "list": level.tolist(),
                    "generator": (row for row in level), "objects": level.astype(object),
                    "masked": np.ma.masked_array(level, mask=True)}.get(kind, level)

        def describe(self):
            if kind == "describe":
                raise RuntimeError("speechless")
            return None if kind == "describe-none" else Description(summary=f"{kind} it is")

        def observed(self):
            if kind == "observed":
                raise RuntimeError("saw nothing")
            return "points" if kind == "observed-text" else None

        def posterior(self, streams):
            if kind == "posterior":
                raise RuntimeError("no parameters")
            return {"a": np.ones(3)} if kind == "posterior-shape" else {}

    class Made(Model):
        def __init__(self):
            self.name, self.unit = name, "FLOP/s"
            self.inputs = {"scale": Input(name="scale", unit="", distribution={"p05": 1, "p95": 2}, source="a test")}

        def fit(self, *, as_of=None, seed=0):
            if kind == "fit":
                raise ValueError("cannot fit this")
            return object() if kind == "unfitted" else Fitted()

    return Made()
"""


#: Kind to what its failure says.
FAILING = {
    "fit": "PluginError: model 'bad/fit': fit: ValueError: cannot fit this",
    "sample": r"model 'bad/sample': sample: RuntimeError: went wrong",
    "unshowable": "model 'bad/unshowable': sample: Unshowable",
    "exit": "model 'bad/exit': sample: SystemExit: bye",
    "exit-0": "model 'bad/exit-0': sample: SystemExit: 0",
    "recursion": "model 'bad/recursion': sample: RecursionError",
    "none": "model 'bad/none': sample: expected an array of shape (time, draw), got NoneType",
    "text": "model 'bad/text': sample: expected an array of shape (time, draw), got str",
    "list": "model 'bad/list': sample: expected an array of shape (time, draw), got list",
    "generator": "model 'bad/generator': sample: expected an array of shape (time, draw), got generator",
    "shape": "model 'bad/shape': sample: expected shape (time, draw) = (6, 256), got (256, 6)",
    "nan": "model 'bad/nan': sample: 1 of 1536 values are NaN",
    "masked": "model 'bad/masked': sample: 1536 of 1536 values are NaN",
    "complex": "model 'bad/complex': sample: expected real numbers, got complex128",
    "objects": "model 'bad/objects': sample: expected real numbers, got object",
    "writes": "model 'bad/writes': sample: ValueError: assignment destination is read-only",
    "unfitted": "model 'bad/unfitted': fit returned object, not a FittedModel",
    "make": "model 'bad/make': ValueError: cannot make it",
    "made": "model 'bad/made': expected a forecast.models.Model, got str",
}


#: What fails beside the level: the answer is there, and so is the failure.
BESIDE = {
    "observed": "model 'bad/observed': observed: RuntimeError: saw nothing",
    "observed-text": "model 'bad/observed-text': observed: expected Observations, got str",
    "posterior": "model 'bad/posterior': posterior: RuntimeError: no parameters",
    "posterior-shape": "model 'bad/posterior-shape': posterior: 'a': expected shape (draw,) = (256,), got (3,)",
    "describe": "model 'bad/describe': describe: RuntimeError: speechless",
    "describe-none": "model 'bad/describe-none': describe: expected a Description, got NoneType",
}


BAD = {
    "start": 2025,
    "until": 2030,
    "quantities": {"x": {"model": "bad/{kind}"}, "limit": {"value": 1.0, "unit": "FLOP/s"},
                   "twice": {"expression": "2*x"}},
    "questions": {"q": {"when": "twice >= limit"}},
}  # fmt: skip


@pytest.fixture
def bad(fake_plugins):
    fake_plugins.add("bad", PLUGIN, module="fake_bad")

    def run(*kinds, **options):
        return forecast.project({**BAD, "choices": {"kind": list(kinds)}}, **{"draws": 20, **options})

    return run


@pytest.mark.parametrize("kind", FAILING)
def test_bad_input_063_064_066_a_failing_model_is_listed_and_the_others_are_answered(bad, kind):
    run = bad(kind, "good")
    failures = run.failures
    says = FAILING[kind].removeprefix("PluginError: ")
    assert len(failures) == 2  # the quantity and the expression over it; the question is not blamed
    assert failures[1].startswith(f"x (kind = {kind}): {says}")
    assert all(line.isprintable() for line in failures)
    data = run["projection"].to_dataset()
    assert np.isnan(data["x"].sel(kind=kind).values).all()
    assert (data["twice"].sel(kind="good").values >= 2).all()
    questions = run["questions"].to_dataset()
    assert np.isnan(questions["q_never"].sel(kind=kind))
    assert np.isnan(questions["q_already"].sel(kind=kind))
    assert np.isnat(questions["q"].sel(kind=kind).values).all()
    assert float(questions["q_already"].sel(kind="good")) == 1.0


def test_bad_input_063_where_nothing_is_left_the_failure_is_raised(bad):
    with pytest.raises(PluginError, match="model 'bad/fit': fit: ValueError: cannot fit this"):
        bad("fit")


@pytest.mark.parametrize("kind", BESIDE)
def test_bad_input_064_what_fails_beside_the_level_is_listed_and_the_level_stands(bad, kind):
    run = bad(kind, "good")
    assert run.failures == [BESIDE[kind]]
    assert np.isfinite(run["projection"]["x"].values).all()
    assert (run["questions"]["q_already"].values == 1).all()


def test_bad_input_066_an_interrupt_is_an_interrupt_whoever_raises_it(bad):
    with pytest.raises(KeyboardInterrupt):
        bad("keyboard", "good")


def test_bad_input_014_a_buffer_that_models_use_again_changes_nothing(bad):
    quantities = {"a": {"model": "bad/buffer-1"}, "b": {"model": "bad/buffer-3"}, "c": {"expression": "b - a"}}
    data = forecast.project({"start": 2025, "until": 2030, "quantities": quantities}, draws=20)["projection"]
    assert [np.unique(data[n].values).tolist() for n in "abc"] == [[1.0], [3.0], [2.0]]


def test_bad_input_076_a_formula_that_leaves_the_numbers_is_an_error_that_names_it():
    made = {"start": 2025, "until": 2030, "quantities": {"x": {"value": 1e6, "unit": ""}}}
    made["quantities"]["y"] = {"expression": "exp(x) - exp(x)"}
    with pytest.raises(DataError, match=r"quantities\.y: 'exp\(x\) - exp\(x\)': .* are not numbers"):
        forecast.project(made, draws=3)


def test_bad_input_076_an_overflow_is_an_error_that_names_it_and_no_warning(recwarn):
    made = {"start": 2025, "until": 2030, "quantities": {"x": {"value": 1e6, "unit": ""}}}
    made["quantities"]["y"] = {"expression": "exp(x)"}
    made["questions"] = {"q": {"when": "y >= 1"}}
    with pytest.raises(DataError, match=r"quantities\.y: .* values are infinite"):
        forecast.project(made, draws=3)
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_a_fit_that_fails_for_its_data_names_model_and_column():
    wrong = {**TREND, "y": "hpcg_bets"}
    with pytest.raises(UnknownNameError, match=r"model 'x': .*unknown column 'hpcg_bets'; did you mean 'hpcg_best'"):
        forecast.project({"start": 2025, "until": 2030, "quantities": {"x": wrong}}, draws=3)


def test_a_table_that_is_not_there_fails_its_model_alone(fake_plugins):
    source = (
        "def forecast_models():\n"
        "    for name, table in (('good', 'datasets/supercomputers'), ('lost', 'datasets/supercomputer')):\n"
        "        yield TrendSpec(name=name, unit='TFLOP/s', shape='trends/exponential', table=table, x='date',\n"
        "                        y='hpcg_best', frontier=True, reference='a test')\n"
    )
    fake_plugins.add("lost", source)
    made = {
        "start": 2025,
        "until": 2030,
        "choices": {"c": ["good", "lost"]},
        "quantities": {"x": {"model": "lost/{c}"}},
    }
    run = forecast.project(made, draws=3)
    (failure,) = run.attributes["failures"]
    assert failure.startswith("x (c = lost): model 'lost/lost@exponential': ")
    assert "unknown table 'datasets/supercomputer'; did you mean 'datasets/supercomputers'?" in failure
    assert np.isfinite(run["projection"]["x"].sel(c="good").values).all()
    assert list(run.attributes["data"]) == ["datasets/supercomputers"]


def test_errors_are_ours():
    for scenario in ("nope", {"quantities": {}}, 3, None, {"quantities": {"x": {"value": 1, "unit": ""}}}):
        with pytest.raises(ForecastError):
            forecast.project(scenario, draws=1)
    assert isinstance(Scenario.from_dict({"quantities": {"x": {"value": 1, "unit": ""}}}), Scenario)


def test_a_condition_that_divides_by_zero_has_no_answer_in_one_sentence():
    stated = {
        "start": 2025, "until": 2030,
        "quantities": {"x": {"p05": 1, "p95": 4, "unit": "FLOP"}, "none": {"expression": "x - x"},
                       "some": {"expression": "max(x - 1.0001*x, 0*x) + where(t > 2026, x, 0*x)"}},
        "questions": {"always": {"when": "x/none >= 3"}, "at_first": {"when": "3*x/some >= 2"},
                      "elsewhere": {"when": "where(some > 0, x/some, 0) >= 0.5"}},
    }  # fmt: skip
    run = forecast.project(stated, draws=100)
    assert [run.answers[name].headline for name in ("always", "at_first")] == [None, None]
    assert run.answers["elsewhere"].headline.never == 0
    told = "a division by zero has no value"
    assert [line.partition(":")[0] for line in run.failures if f".when: {told}: " in line] == ["always", "at_first"]
