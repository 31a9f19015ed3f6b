"""The engine: seeds, prefixes, crossings, and models that fail."""

from __future__ import annotations

import json
import random
import sys

import numpy as np
import pytest

import forecast
from forecast.dates import decimal_year
from forecast.errors import DataError, ForecastError, PluginError, UnknownNameError, UsageError
from forecast.results import content_hash
from forecast.scenario import Scenario

#: Small and with everything random in it: trends with and without a break, formulas, priors, a mixture.
PARITY = {"start": 2025, "until": 2060}


def parity(**options):
    return forecast.project("brain-parity", **{**PARITY, "draws": 500, **options})


def values(tree, path):
    return {name: data.values for name, data in tree[path].to_dataset().data_vars.items()}


def assert_bitwise(found, expected):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def assert_same(a, b):
    """The same to the last bit: every group, variable, coordinate and attribute."""
    assert [n.path for n in a.subtree] == [n.path for n in b.subtree]
    for one, other in zip(a.subtree, b.subtree, strict=True):
        assert one.attrs == other.attrs
        left, right = one.to_dataset(inherit=False), other.to_dataset(inherit=False)
        assert list(left.variables) == list(right.variables)
        for name in left.variables:
            assert left[name].dims == right[name].dims
            assert left[name].attrs == right[name].attrs
            if left[name].dtype.kind == "U":
                assert left[name].values.tolist() == right[name].values.tolist()
            else:
                assert_bitwise(left[name].values, right[name].values)


# --- seeds and prefixes -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many():
    return parity(draws=3000)


@pytest.mark.bad_input(56)
@pytest.mark.parametrize("draws", [1, 7, 1000, 1024, 1025, 3000])
def test_bad_input_056_fewer_draws_are_a_bitwise_prefix_of_more(many, draws):
    few = parity(draws=draws)
    for name, level in values(few, "projection").items():
        assert level.shape[1] == draws
        assert_bitwise(level, np.ascontiguousarray(values(many, "projection")[name][:, :draws]))
    assert_bitwise(
        values(few, "questions")["parity_date"], np.ascontiguousarray(values(many, "questions")["parity_date"][:draws])
    )
    posteriors = [n.path for n in few["posterior"].subtree if n.data_vars]
    assert len(posteriors) == 4 + 4 + 3  # machines, estimates, and the members of the pooled one
    for path in posteriors:
        for name, drawn in values(few, path).items():
            assert_bitwise(drawn, values(many, path)[name][:draws])


def test_a_longer_horizon_keeps_the_earlier_steps():
    short, long = parity(until=2040), parity(until=2100)
    for name, level in values(short, "projection").items():
        assert_bitwise(level, values(long, "projection")[name][: len(level)])
    early, late = (values(t, "questions")["parity_date"] for t in (short, long))
    crossed = ~np.isnat(early)
    assert crossed.any()
    assert (early[crossed] == late[crossed]).all()


@pytest.mark.bad_input(56)
@pytest.mark.parametrize("workers", [2, 8])
def test_bad_input_056_any_number_of_workers_gives_the_same_bits(many, workers):
    assert_same(parity(draws=3000, workers=workers), many)


def test_another_seed_gives_other_worlds():
    a, b = parity(seed=1), parity(seed=2)
    assert content_hash(a) == content_hash(parity(seed=1))
    assert (values(a, "projection")["machine"] != values(b, "projection")["machine"]).all()


@pytest.mark.bad_input(58)
def test_bad_input_058_global_random_states_are_not_touched():
    random.seed(3)
    np.random.seed(3)
    before = random.getstate(), np.random.get_state()[1].tolist()
    parity(draws=10)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


@pytest.mark.bad_input(57)
@pytest.mark.parametrize("seed", [-1, 2**128, "abc", True, 1.5])
def test_bad_input_057_what_is_no_seed_is_refused(seed):
    with pytest.raises(UsageError, match="seed: expected an integer"):
        parity(seed=seed)


@pytest.mark.bad_input(57)
def test_bad_input_057_a_fresh_seed_is_recorded_and_repeats_the_run():
    first = parity(draws=20, seed=None)
    again = parity(draws=20, seed=json.loads(first.attrs["seed"]))
    assert_same(first, again)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"draws": 0}, "draws: expected a whole number from 1"),
        ({"draws": 2.5}, "draws: expected a whole number"),
        ({"draws": True}, "draws: expected a whole number"),
        ({"draws": 10**8}, "draws: .* GiB is the limit"),
        ({"until": 9999, "step": "month", "draws": 1}, "GiB is the limit: fewer steps"),
        ({"workers": 0}, "workers: expected a whole number"),
        ({"until": 10_000}, "until: expected a whole number from 1 to 9999"),
        ({"until": "2030"}, "until: expected a whole number"),
        ({"until": 0}, "until: expected a whole number from 1"),
        ({"start": 0}, "start: expected a whole number from 1"),
        ({"step": "week"}, "step: expected 'year' or 'month', got 'week'"),
    ],
)
def test_settings_of_a_run_that_cannot_be(options, says):
    with pytest.raises(UsageError, match=says):
        parity(**options)


@pytest.mark.bad_input(53)
@pytest.mark.parametrize("until", [2025, 2024, 1990])
def test_bad_input_053_a_horizon_before_its_start_says_why(until):
    with pytest.raises(UsageError, match=f"until: expected a year after the first one, 2025, got {until}"):
        parity(until=until)


# --- one world --------------------------------------------------------------------------------------------------------

TREND = {"shape": "trends/exponential", "data": "datasets/supercomputers", "x": "date", "y": "hpcg_best",
         "unit": "TFLOP/s", "frontier": True}  # fmt: skip


def test_a_quantity_used_twice_is_the_same_world():
    run = forecast.project(
        {
            "start": 2025, "until": 2035,
            "quantities": {
                "x": TREND,
                "nothing": {"expression": "x - x"},
                "one": {"expression": "x / x"},
                "prior": {"p05": 1, "p95": 9, "unit": "TFLOP/s"},
                "none": {"expression": "(x + prior) - x - prior"},
            },
        },
        draws=1500,
    )  # fmt: skip
    data = run["projection"]
    assert (data["nothing"].values == 0).all()
    assert (data["one"].values == 1).all()
    assert abs(data["none"] / data["x"]).max() < 1e-12
    assert np.unique(data["x"].values).size > 1000


def test_two_quantities_on_one_model_are_the_same_world():
    quantities = {n: {"model": "hardware/hpcg-exponential"} for n in "ab"} | {
        n: {"model": "brain/pooled"} for n in "cd"
    }
    data = forecast.project({"start": 2025, "until": 2030, "quantities": quantities}, draws=100)["projection"]
    assert_bitwise(data["a"].values, data["b"].values)
    assert_bitwise(data["c"].values, data["d"].values)


def test_a_member_of_the_pooled_estimate_is_the_world_of_the_member_itself():
    quantities = {"pooled": {"model": "brain/pooled"}, "own": {"model": "brain/carlsmith-2020"}}
    made = {"start": 2025, "until": 2026, "quantities": quantities}
    # fix the pick inside the third of the six equal shares: Carlsmith
    data = forecast.project(made, draws=100, set={"brain/pooled.member": 2.5 / 6})["projection"]
    assert_bitwise(data["pooled"].values, data["own"].values)


def test_two_series_of_ones_own_are_independent():
    data = forecast.project({"start": 2030, "until": 2031, "quantities": {"a": TREND, "b": TREND}}, draws=5000)
    a, b = (np.log(data["projection"][n].values[0]) for n in "ab")
    ranks = [np.argsort(np.argsort(v)) for v in (a, b)]
    assert abs(np.corrcoef(ranks)[0, 1]) < 4 / np.sqrt(5000 / 2)


# --- crossings --------------------------------------------------------------------------------------------------------

MINE = {"t": [2000.0, 2001.0, 2002.0, 2003.0], "v": [1.0, 2.0, 4.0, 8.0]}


def asked(quantities, when, **options):
    made = {"start": 2005, "until": 2020, "quantities": quantities, "questions": {"q": {"when": when}}}
    return forecast.project(made, **{"draws": 200, **options})


def mine(values, name="mine"):
    return {"model": forecast.trend({**MINE, "v": values}, x="t", y="v", unit="FLOP/s", shape="trends/exponential",
                                    name=name)}  # fmt: skip


def years(tree, name="q"):
    return decimal_year(tree["questions"][name].values)


def test_a_noiseless_trend_crosses_where_its_closed_form_does():
    # doubles every year from 1 in 2000: 2**10.5 in mid-2010
    limit = {"value": 2.0**10.5, "unit": "FLOP/s"}
    for step in ("year", "month"):
        run = asked({"x": mine(MINE["v"]), "limit": limit}, "x >= limit", step=step)
        assert years(run) == pytest.approx([2010.5] * 5, abs=1e-6)
        assert float(run["questions"]["q_never"]) == float(run["questions"]["q_already"]) == 0


@pytest.mark.bad_input(54)
def test_bad_input_054_a_declining_trend_gives_never():
    limit = {"value": 100.0, "unit": "FLOP/s"}
    run = asked({"x": mine([8.0, 4.0, 2.0, 1.0]), "limit": limit}, "x >= limit")
    assert float(run["questions"]["q_never"]) == 1.0
    assert np.isnat(run["questions"]["q"].values).all()
    assert np.isnat(run["questions"]["q_date"].values).all()


@pytest.mark.bad_input(54)
def test_bad_input_054_a_threshold_already_exceeded_gives_already():
    limit = {"value": 2.0, "unit": "FLOP/s"}
    run = asked({"x": mine(MINE["v"]), "limit": limit}, "x >= limit")
    assert float(run["questions"]["q_already"]) == 1.0
    assert years(run).tolist() == [2005.0] * 5


@pytest.mark.bad_input(54)
@pytest.mark.bad_input(55)
def test_bad_input_054_055_masses_are_counted_draws_and_quantiles_monotone(many):
    data = many["questions"].to_dataset()
    dates = data["parity_date"].values
    n = len(dates)
    never = np.isnat(dates).sum(axis=0)
    assert never.any()
    assert data["parity_never"].values * n == pytest.approx(never)
    first = np.datetime64("2025-01-01", "s")
    level = many["projection"].to_dataset().isel(time=0)
    holds = level["machine"] * 1e12 >= level["brain"]  # TFLOP/s against FLOP/s
    already = holds.transpose(*data["parity_date"].dims).values
    assert data["parity_already"].values * n == pytest.approx(already.sum(axis=0))
    assert (dates[already] == first).all()
    quantiles = data["parity"].values
    for percent, found in zip((5, 25, 50, 75, 95), quantiles, strict=True):
        assert (np.isnat(found) == (100 * never > (100 - percent) * n)).all()
    known = ~np.isnat(quantiles)
    assert (np.diff(quantiles.astype("int64"), axis=0)[known[1:]] >= 0).all()


OWN = ["hardware/hpcg-exponential", "hardware/hpcg-changepoint",
       "hardware/linpack-exponential", "hardware/linpack-changepoint"]  # fmt: skip
BRAIN = 1.075e21


@pytest.mark.parametrize("step", ["year", "month"])
@pytest.mark.parametrize("name", OWN)
def test_the_median_crossing_is_the_fitted_trends_own_date(name, step):
    fitted = forecast.model(name).fit()
    grid = np.linspace(2025, 2150, 125_001)
    own = float(np.interp(np.log(BRAIN / 1e12), np.log(fitted.central(grid)), grid))
    metric, _, trend = name.partition("/")[2].partition("-")
    run = forecast.project("brain-parity", step=step, set={"metric": metric, "trend": trend, "brain": BRAIN})
    median = float(decimal_year(run["questions"]["parity"].sel(quantile=0.5).values).squeeze())
    print(f"{name}, {step}: median {median:.3f}, own date {own:.3f}, difference {median - own:+.3f}")
    assert abs(median - own) < 0.2


# --- what a result holds ----------------------------------------------------------------------------------------------


def test_a_horizon_past_2262_comes_back_bitwise(tmp_path):
    run = parity(until=2600, draws=64)
    assert str(run["projection"]["time"].values[-1]).startswith("2600-01-01")
    from forecast.results import save

    back = forecast.load(save(run, tmp_path / "far.nc"))
    assert_same(run, back)
    assert back["questions"]["parity"].dtype == "datetime64[s]"


def test_a_result_without_questions_and_choices_comes_back_too(tmp_path):
    from forecast.results import save

    run = forecast.project({"start": 2025, "until": 2030, "quantities": {"x": {"value": 1, "unit": ""}}}, draws=3)
    assert_same(run, forecast.load(save(run, tmp_path / "small.nc")))


def test_a_result_holds_what_it_takes_to_repeat_it():
    run = parity(draws=10, set={"trend": "changepoint", "brain": np.float64(1e18)})
    said = {k: json.loads(v) for k, v in run.attrs.items()}
    assert said["scenario"] == "brain/brain-parity"
    assert (said["seed"], said["draws"], said["start"], said["until"], said["step"]) == (0, 10, 2025, 2060, "year")
    assert said["set"] == {"trend": "changepoint", "brain": 1e18}
    assert {"lawcast", "numpy", "python", "scipy", "xarray"} == set(said["versions"])
    assert {p["name"] for p in said["plugins"]} == {"brain", "hardware"}
    assert list(said["data"]) == ["datasets/supercomputers"]
    assert len(said["data"]["datasets/supercomputers"]) > 20
    assert said["failures"] == []
    assert all(isinstance(v, str) for v in run.attrs.values())


def test_an_unused_choice_is_no_dimension():
    made = {
        "start": 2025,
        "until": 2026,
        "choices": {"unused": ["a", "b"]},
        "quantities": {"x": {"value": 1, "unit": ""}},
    }
    run = forecast.project(made, draws=5)
    assert run["projection"]["x"].dims == ("time", "draw")
    assert "unused" not in run["projection"].coords


def test_the_first_year_is_that_of_the_last_observation():
    run = forecast.project({"until": 2040, "quantities": {"x": TREND}}, draws=5)
    assert str(run["projection"]["time"].values[0]) == "2025-01-01T00:00:00"
    with pytest.raises(UsageError, match="start: is missing, and no quantity has observations"):
        forecast.project({"until": 2040, "quantities": {"x": {"value": 1, "unit": ""}}}, draws=5)
    with pytest.raises(UsageError, match="until: is missing"):
        forecast.project({"start": 2040, "quantities": {"x": {"value": 1, "unit": ""}}}, draws=5)


def test_observations_stand_beside_the_quantity_in_its_unit():
    run = parity(draws=5)
    seen = run["observed/machine"].to_dataset()
    assert seen["value"].attrs["units"] == "TFLOP/s"
    assert set(seen.coords) == {"date", "metric"}  # the trend does not change them
    assert dict(zip(*np.unique(seen["metric"].values, return_counts=True), strict=True)) == {"hpcg": 15, "linpack": 66}


def test_only_what_was_known_before_a_date_is_used():
    now = forecast.project("brain-parity", draws=5, until=2060)
    then = forecast.project("brain-parity", draws=5, until=2060, before=2015.0)
    assert json.loads(then.attrs["before"]) == 2015.0
    assert decimal_year(then["observed/machine"]["date"].values).max() < 2015
    assert decimal_year(now["observed/machine"]["date"].values).max() > 2025
    # HPCG began later: those combinations fail, are listed, and the others are answered
    failures = json.loads(then.attrs["failures"])
    assert any("hardware/hpcg-exponential" in f for f in failures)
    never = then["questions"]["parity_never"]
    assert never.sel(metric="hpcg").isnull().all()
    assert never.sel(metric="linpack").notnull().all()


def test_a_users_own_csv_is_a_quantity(tmp_path):
    (tmp_path / "my.csv").write_text("when,speed\n2000-01-01,1\n2001-01-01,2\n2002-01-01,4\n2003-01-01,8\n")
    (tmp_path / "mine.toml").write_text(
        'until = 2015\n[quantities.x]\nshape = "trends/exponential"\ndata = "my.csv"\nx = "when"\ny = "speed"\n'
        'unit = "GFLOP/s"\n[quantities.limit]\nvalue = 1.024\nunit = "TFLOP/s"\n[questions.q]\nwhen = "x >= limit"\n'
    )
    run = forecast.project(str(tmp_path / "mine.toml"), draws=10)
    assert years(run) == pytest.approx([2010.0] * 5, abs=0.01)
    data = json.loads(run.attrs["data"])
    assert list(data) == ["my.csv"]
    assert data["my.csv"].startswith("sha256:")
    assert str(tmp_path) not in json.dumps(dict(run.attrs))


def test_a_prior_from_quantiles_has_these_quantiles():
    quantities = {"x": {"p05": 1e13, "p50": 1e15, "p95": 1e16, "unit": "FLOP/s"}}
    drawn = forecast.project({"start": 2025, "until": 2026, "quantities": quantities}, draws=20_000)["projection"]["x"]
    n = 20_000
    for share, value in ((0.05, 1e13), (0.5, 1e15), (0.95, 1e16)):
        below = int((drawn.values[0] <= value).sum())
        assert abs(below - share * n) < 4 * np.sqrt(n * share * (1 - share))
    assert (drawn.values[0] == drawn.values[1]).all()


def test_several_questions_share_the_draws():
    quantities = {"x": TREND, "a": {"value": 1e20, "unit": "FLOP/s"}, "b": {"value": 1e22, "unit": "FLOP/s"}}
    questions = {"near": {"when": "x >= a"}, "far": {"when": "x >= b"}, "also": {"when": "a <= x"}}
    made = {"start": 2025, "until": 2150, "quantities": quantities, "questions": questions}
    data = forecast.project(made, draws=500)["questions"].to_dataset()
    near, far = data["near_date"].values, data["far_date"].values
    both = ~np.isnat(far)
    assert (near[both] <= far[both]).all()
    assert (np.isnat(near) <= np.isnat(far)).all()
    assert_bitwise(near, data["also_date"].values)


def test_settings_fix_numbers_and_nothing_else():
    free, fixed = parity(draws=50), parity(draws=50, set={"brain/dettmers-2015.firing_rate": 200})
    same = [e for e in free["projection"]["estimate"].values if e not in ("dettmers-2015", "pooled")]
    a, b = (t["projection"]["brain"].sel(estimate=same).values for t in (free, fixed))
    assert_bitwise(a, b)
    ratio = (fixed["projection"]["brain"] / free["projection"]["brain"]).sel(estimate="dettmers-2015").values[0]
    rates = free["posterior/brain/dettmers-2015"]["firing_rate"].values
    assert ratio * rates / 200 == pytest.approx(np.ones(50))
    assert_bitwise(free["projection"]["machine"].values, fixed["projection"]["machine"].values)


# --- models that fail -------------------------------------------------------------------------------------------------

PLUGIN = """
from forecast import ModelSpec, hookimpl

KINDS = ("good", "fit", "sample", "exit", "exit-0", "keyboard", "recursion", "none", "text", "shape", "nan", "complex",
         "list", "generator", "writes", "prints", "unfitted", "objects", "make", "made", "masked", "observed",
         "observed-text", "posterior", "posterior-shape", "describe", "describe-none", "buffer-1", "buffer-3",
         "unshowable")
buffer = None

@hookimpl
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
    from forecast.specs import Input

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

        def fit(self, *, before=None, seed=0):
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
    "shape": "model 'bad/shape': sample: expected shape (time, draw) = (6, 1024), got (1024, 6)",
    "nan": "model 'bad/nan': sample: 1 of 6144 values are NaN",
    "masked": "model 'bad/masked': sample: 6144 of 6144 values are NaN",
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
    "observed-text": "model 'bad/observed-text': observed: expected Observations or None, got str",
    "posterior": "model 'bad/posterior': posterior: RuntimeError: no parameters",
    "posterior-shape": "model 'bad/posterior-shape': posterior: 'a': expected shape (draw,) = (1024,), got (3,)",
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


@pytest.mark.bad_input(14)
@pytest.mark.bad_input(63)
@pytest.mark.bad_input(64)
@pytest.mark.bad_input(66)
@pytest.mark.parametrize("kind", FAILING)
def test_bad_input_063_064_066_a_failing_model_is_listed_and_the_others_are_answered(bad, kind):
    run = bad(kind, "good")
    failures = json.loads(run.attrs["failures"])
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


@pytest.mark.bad_input(63)
def test_bad_input_063_where_nothing_is_left_the_failure_is_raised(bad):
    with pytest.raises(PluginError, match="model 'bad/fit': fit: ValueError: cannot fit this"):
        bad("fit")


@pytest.mark.bad_input(64)
@pytest.mark.parametrize("kind", BESIDE)
def test_bad_input_064_what_fails_beside_the_level_is_listed_and_the_level_stands(bad, kind):
    run = bad(kind, "good")
    assert json.loads(run.attrs["failures"]) == [BESIDE[kind]]
    assert np.isfinite(run["projection"]["x"].values).all()
    assert (run["questions"]["q_already"].values == 1).all()


@pytest.mark.bad_input(66)
def test_bad_input_066_an_interrupt_is_an_interrupt_whoever_raises_it(bad):
    with pytest.raises(KeyboardInterrupt):
        bad("keyboard", "good")


@pytest.mark.bad_input(68)
@pytest.mark.parametrize("workers", [1, 8])
def test_bad_input_068_what_a_model_prints_goes_to_stderr_and_stdout_comes_back(bad, capsys, workers):
    before = sys.stdout
    bad("prints", "good", draws=20_000, workers=workers)
    assert sys.stdout is before
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "hello from sample" in captured.err
    assert "made prints" in captured.err


@pytest.mark.bad_input(14)
def test_bad_input_014_a_buffer_that_models_use_again_changes_nothing(bad):
    quantities = {"a": {"model": "bad/buffer-1"}, "b": {"model": "bad/buffer-3"}, "c": {"expression": "b - a"}}
    data = forecast.project({"start": 2025, "until": 2030, "quantities": quantities}, draws=20)["projection"]
    assert [np.unique(data[n].values).tolist() for n in "abc"] == [[1.0], [3.0], [2.0]]


def test_failures_are_the_same_for_any_number_of_workers():
    # the share that fails differs by block; the first block's message is the one that stays
    made = {
        "start": 2025,
        "until": 2030,
        "quantities": {"x": {"low": -1, "high": 1000, "unit": ""}, "z": {"value": 1, "unit": ""}},
        "questions": {"q": {"when": "log(x) >= z"}},
    }
    runs = [forecast.project(made, draws=20_000, workers=w) for w in (1, 8, 8)]
    failures = [json.loads(r.attrs["failures"]) for r in runs]
    assert failures[0] == failures[1] == failures[2]
    assert len(failures[0]) == 1
    assert failures[0][0].startswith("q: questions.q.when: 'log(x)': ")


@pytest.mark.bad_input(76)
def test_bad_input_076_a_formula_that_leaves_the_numbers_is_an_error_that_names_it():
    made = {"start": 2025, "until": 2030, "quantities": {"x": {"value": 1e6, "unit": ""}}}
    made["quantities"]["y"] = {"expression": "exp(x) - exp(x)"}
    with pytest.raises(DataError, match=r"quantities\.y: 'exp\(x\) - exp\(x\)': .* are not numbers"):
        forecast.project(made, draws=3)


@pytest.mark.bad_input(76)
def test_bad_input_076_an_overflow_leaves_a_crossing_and_no_warning(recwarn):
    made = {
        "start": 2025,
        "until": 2030,
        "quantities": {"x": {"value": 1e6, "unit": ""}, "one": {"value": 1, "unit": ""}},
    }
    made["quantities"]["y"] = {"expression": "exp(x)"}
    made["questions"] = {"q": {"when": "y >= one"}}
    run = forecast.project(made, draws=3)
    assert float(run["questions"]["q_already"]) == 1.0
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_a_fit_that_fails_for_its_data_names_model_and_column():
    wrong = {**TREND, "y": "hpcg_bets"}
    with pytest.raises(UnknownNameError, match=r"model 'x': .*unknown column 'hpcg_bets'; did you mean 'hpcg_best'"):
        forecast.project({"start": 2025, "until": 2030, "quantities": {"x": wrong}}, draws=3)


def test_a_table_that_is_not_there_fails_its_model_alone(fake_plugins):
    source = (
        "from forecast import TrendSpec, hookimpl\n@hookimpl\ndef forecast_models():\n"
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
    (failure,) = json.loads(run.attrs["failures"])
    assert failure.startswith("x (c = lost): model 'lost/lost': ")
    assert "unknown table 'datasets/supercomputer'; did you mean 'datasets/supercomputers'?" in failure
    assert np.isfinite(run["projection"]["x"].sel(c="good").values).all()
    assert list(json.loads(run.attrs["data"])) == ["datasets/supercomputers"]


def test_errors_are_ours():
    for scenario in ("nope", {"quantities": {}}, 3, None, {"quantities": {"x": {"value": 1, "unit": ""}}}):
        with pytest.raises(ForecastError):
            forecast.project(scenario, draws=1)
    assert isinstance(Scenario.from_dict({"quantities": {"x": {"value": 1, "unit": ""}}}), Scenario)
