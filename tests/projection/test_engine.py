"""The engine: seeds, prefixes, one world for every quantity, and crossings."""

import random

import numpy as np
import pytest

import forecast
from forecast.base.dates import decimal_year
from forecast.base.netcdf import content_hash
from forecast.errors import UsageError
from toolkit import assert_bitwise, sample

#: Small and with everything random in it: trends with and without a break, formulas, priors, a mixture.
PARITY = {"start": 2025, "until": 2060}


def parity(**options):
    return forecast.project("brain-parity", **{**PARITY, "draws": 128, **options})


def values(tree, path):
    return {name: data.values for name, data in tree[path].to_dataset().data_vars.items()}


def assert_same(a, b):
    """The same to the last bit: every group, variable, coordinate and attribute."""
    assert [n.path for n in a.to_xarray().subtree] == [n.path for n in b.to_xarray().subtree]
    for one, other in zip(a.to_xarray().subtree, b.to_xarray().subtree, strict=True):
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
    return parity(draws=2100)


@pytest.mark.parametrize("draws", [1025, *sample([7, 1, 1000, 1024, 2100], 0, 2)])
def test_bad_input_056_fewer_draws_are_a_bitwise_prefix_of_more(many, draws):
    few = parity(draws=draws)
    for name, level in values(few, "projection").items():
        assert level.shape[1] == draws
        assert_bitwise(level, np.ascontiguousarray(values(many, "projection")[name][:, :draws]))
    assert_bitwise(
        values(few, "questions")["parity_date"], np.ascontiguousarray(values(many, "questions")["parity_date"][:draws])
    )
    posteriors = [n.path for n in few["posterior"].subtree if n.data_vars]
    assert len(posteriors) == 18 + 4 + 3  # machines, estimates, and the members of the pooled one
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


@pytest.mark.parametrize("workers", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_bad_input_056_any_number_of_workers_gives_the_same_bits(many, workers):
    assert_same(parity(draws=2100, workers=workers), many)


def test_another_seed_gives_other_worlds():
    a, b = parity(seed=1), parity(seed=2)
    assert content_hash(a.to_xarray()) == content_hash(parity(seed=1).to_xarray())
    one, two = (t["projection"]["machine"] for t in (a, b))
    # a frontier starts at the record, which every seed shares, and where it stands in both it is the same; growth that
    # a tenth of the worlds of HPCG do not see leaves a fifth of its pairs there
    assert float((one != two).isel(time=-1).mean()) > 0.75


def test_bad_input_058_global_random_states_are_not_touched():
    random.seed(3)
    np.random.seed(3)
    before = random.getstate(), np.random.get_state()[1].tolist()
    parity(draws=10)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_bad_input_057_a_fresh_seed_is_recorded_and_repeats_the_run():
    first = parity(draws=20, seed=None)
    again = parity(draws=20, seed=first.attributes["seed"])
    assert_same(first, again)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"draws": 0}, "draws: expected a whole number from 1"),
        ({"draws": 2.5}, "draws: expected a whole number"),
        ({"draws": True}, "draws: expected a whole number"),
        ({"draws": 10**8, "keep": 10**8}, "draws: .* GiB is the limit"),
        (
            {"until": 9999, "step": "month", "draws": 999},
            "GiB is the limit, which FORECAST_MAX_MEMORY sets: fewer steps",
        ),
        ({"workers": 0}, "workers: expected a whole number"),
        ({"until": 10_000}, "until: expected a year from 1 to 9999"),
        ({"until": "soon"}, "until: expected a date"),
        ({"until": 0}, "until: expected a year from 1"),
        ({"start": 0}, "start: expected a year from 1"),
        ({"with_": "x"}, "with_: expected names with what each is set to, got 'x'"),
        ({"sweep": "x"}, "sweep: expected names with what each is set to, got 'x'"),
        ({"what_if": "nonsense"}, "what_if: expected changes such as .*, got 'nonsense'"),
        ({"step": "week"}, "step: expected 'year', 'month', or years such as .*, got 'week'"),
    ],
)
def test_settings_of_a_run_that_cannot_be(options, says):
    with pytest.raises(UsageError, match=says):
        parity(**options)


@pytest.mark.slow
def test_a_horizon_past_2262_comes_back_bitwise(tmp_path):
    run = parity(until=2600, draws=64)
    assert str(run["projection"]["time"].values[-1]).startswith("2600-01-01")
    from forecast import save

    back = forecast.load(save(run, tmp_path / "far.nc"))
    assert_same(run, back.run)
    assert back.run["questions"]["parity"].dtype == "datetime64[s]"


def test_a_result_without_questions_and_choices_comes_back_too(tmp_path):
    from forecast import save

    run = forecast.project({"start": 2025, "until": 2030, "quantities": {"x": {"value": 1, "unit": ""}}}, draws=3)
    assert_same(run, forecast.load(save(run, tmp_path / "small.nc")))


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
    quantities = {n: {"model": "hardware/hpcg@exponential"} for n in "ab"} | {
        n: {"model": "brain/pooled"} for n in "cd"
    }
    data = forecast.project({"start": 2025, "until": 2030, "quantities": quantities}, draws=100)["projection"]
    assert_bitwise(data["a"].values, data["b"].values)
    assert_bitwise(data["c"].values, data["d"].values)


def test_a_member_of_the_pooled_estimate_is_the_world_of_the_member_itself():
    quantities = {"pooled": {"model": "brain/pooled"}, "varying": {"model": "brain/carlsmith-2020"}}
    made = {"start": 2025, "until": 2026, "quantities": quantities}
    # fix the pick inside the third of the six equal shares: Carlsmith
    data = forecast.project(made, draws=100, with_={"brain/pooled.member": 2.5 / 6})["projection"]
    assert_bitwise(data["pooled"].values, data["varying"].values)


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


def test_bad_input_054_a_declining_trend_gives_never():
    limit = {"value": 100.0, "unit": "FLOP/s"}
    run = asked({"x": mine([8.0, 4.0, 2.0, 1.0]), "limit": limit}, "x >= limit")
    assert float(run["questions"]["q_never"]) == 1.0
    assert np.isnat(run["questions"]["q"].values).all()
    assert np.isnat(run["questions"]["q_date"].values).all()


def test_bad_input_054_a_threshold_already_exceeded_gives_already():
    limit = {"value": 2.0, "unit": "FLOP/s"}
    run = asked({"x": mine(MINE["v"]), "limit": limit}, "x >= limit")
    assert float(run["questions"]["q_already"]) == 1.0
    assert years(run).tolist() == [2005.0] * 5


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


OWN = ["hardware/hpcg@exponential", "hardware/hpcg@changepoint",
       "hardware/linpack@exponential", "hardware/linpack@changepoint"]  # fmt: skip


BRAIN = 1.075e21


@pytest.mark.parametrize("step", ["year", pytest.param("month", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", OWN)
def test_the_median_crossing_is_the_fitted_trends_own_date(name, step):
    fitted = forecast.model(name).model.keeping("").fit()
    grid = np.linspace(2025, 2150, 125_001)
    own = float(np.interp(np.log(BRAIN / 1e12), np.log(fitted.central(grid)), grid))
    machine = {"model": name, "keeps": "nothing"}  # a frontier starts at the record, and not on the trend's own line
    record = {
        "start": 2025,
        "until": 2150,
        "step": step,
        "quantities": {"machine": machine, "brain": {"value": BRAIN, "unit": "FLOP/s"}},
        "questions": {"parity": {"when": "machine >= brain"}},
    }
    run = forecast.project(record, draws=10_000)
    median = float(decimal_year(run["questions"]["parity"].sel(quantile=0.5).values).squeeze())
    print(f"{name}, {step}: median {median:.3f}, own date {own:.3f}, difference {median - own:+.3f}")
    # the draws of a changepoint integrate over the date of the break, of which its line has the best; and the records
    # of HPCG are worth one free point, whose growth is drawn so wide that the median has an error of 0.2 years
    assert abs(median - own) < (1.0 if "changepoint" in name else 0.6 if "hpcg" in name else 0.2)
