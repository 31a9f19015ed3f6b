"""What the engine puts into a result: everything it takes to repeat it, and nothing else."""

import json

import numpy as np
import pytest

import forecast
from forecast.base.dates import decimal_year
from forecast.errors import DataError, UnknownNameError, UsageError
from toolkit import assert_bitwise

#: Small and with everything random in it: trends with and without a break, formulas, priors, a mixture.
PARITY = {"start": 2025, "until": 2060}


def parity(**options):
    return forecast.project("brain-parity", **{**PARITY, "draws": 500, **options})


TREND = {"shape": "trends/exponential", "data": "datasets/supercomputers", "x": "date", "y": "hpcg_best",
         "unit": "TFLOP/s", "frontier": True}  # fmt: skip


def years(tree, name="q"):
    return decimal_year(tree["questions"][name].values)


def test_a_result_holds_what_it_takes_to_repeat_it():
    run = parity(draws=10, with_={"trend": "changepoint", "brain": np.float64(1e18)})
    said = {k: json.loads(v) for k, v in run.to_xarray().attrs.items()}
    assert said["scenario"] == "brain/brain-parity"
    assert (said["seed"], said["draws"], said["start"], said["until"], said["step"]) == (0, 10, 2025, 2060, "year")
    assert said["set"] == {"trend": "changepoint", "brain": 1e18}
    assert {"lawcast", "numpy", "python", "scipy", "xarray"} == set(said["versions"])
    assert {p["name"] for p in said["plugins"]} == {"brain", "hardware"}
    assert list(said["data"]) == ["datasets/data-centres", "datasets/supercomputers"]
    assert len(said["data"]["datasets/supercomputers"]) > 20
    assert said["failures"] == []
    assert all(isinstance(v, str) for v in run.to_xarray().attrs.values())


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


def test_without_a_start_what_is_asked_wrongly_stays_a_wrong_use():
    wrong = {"until": 2040, "quantities": {"x": {**TREND, "options": {"foo": 3}}}}
    for start in ({}, {"start": 2025}):
        with pytest.raises(UnknownNameError, match=r"^model 'x': shape 'trends/exponential': unknown option 'foo'"):
            forecast.project({**wrong, **start}, draws=5)
    few = forecast.trend({"year": [2020.0], "x": [5.0]}, shape="trends/pool", x="year", y="x", name="few")
    with pytest.raises(DataError, match=r"^scenario: model 'few': a trend needs at least 3 points, got 1$"):
        forecast.project({"until": 2030, "quantities": {"x": {"model": few}}}, draws=5)


def test_the_first_year_is_that_of_the_last_observation():
    run = forecast.project({"until": 2040, "quantities": {"x": TREND}}, draws=5)
    assert str(run["projection"]["time"].values[0]) == "2026-01-01T00:00:00"
    with pytest.raises(UsageError, match="start: is missing, and no quantity has observations"):
        forecast.project({"until": 2040, "quantities": {"x": {"value": 1, "unit": ""}}}, draws=5)
    with pytest.raises(UsageError, match="until: is missing"):
        forecast.project({"start": 2040, "quantities": {"x": {"value": 1, "unit": ""}}}, draws=5)


def test_observations_stand_beside_the_quantity_in_its_unit():
    run = parity(draws=5)
    seen = run["observed/machine"].to_dataset()
    assert seen["value"].attrs["units"] == "TFLOP/s"
    assert set(seen.coords) == {"date", "metric"}  # the trend does not change them
    counts = dict(zip(*np.unique(seen["metric"].values, return_counts=True), strict=True))
    assert counts == {"hpcg": 16, "linpack": 67, "ai-cluster": 15}


def test_a_few_points_have_the_names_of_their_rows(tmp_path):
    rows = [
        ("2000-01-01", 1, "Aa"),
        ("2001-01-01", 9, "<b>Bb</b>"),
        ("2002-01-01", 8, "Cc"),
        ("2003-01-01", 30, "D" * 99),
    ]
    (tmp_path / "my.csv").write_text("when,speed,name\n" + "".join(f"{d},{v},{n}\n" for d, v, n in rows))
    (tmp_path / "mine.toml").write_text(
        'until = 2015\n[quantities.x]\nshape = "trends/exponential"\ndata = "my.csv"\nx = "when"\ny = "speed"\n'
        'unit = ""\n'
    )
    run = forecast.project(str(tmp_path / "mine.toml"), draws=10)
    (aa, bb, cc, dd) = run["observed/x"]["row"].values.tolist()
    assert (aa, bb, cc) == ("Aa", "<b>Bb</b>", "")  # the third is no record
    assert len(dd) == 40
    assert dd.endswith("…")
    assert "row" not in parity(draws=5, with_={"metric": "linpack"})["observed/machine"]  # its rows are called by date


def test_the_fitted_past_is_that_of_the_worlds_at_the_dates_of_the_points():
    data = {"t": [2000.0, 2001.0, 2002.0, 2003.0, 2004.0], "v": [1.0, 2.2, 3.7, 8.4, 15.0]}
    line = forecast.trend(data, x="t", y="v", unit="GFLOP/s", shape="trends/exponential", name="x").model
    made = {"start": 2004, "until": 2010, "quantities": {"x": {"model": line}, "aside": {"model": line}}}
    made["questions"] = {"q": {"when": "x >= 1 TFLOP/s"}}
    run = forecast.project(made, draws=1000)
    past = run["past/x"].to_dataset()
    assert decimal_year(past["date"].values) == pytest.approx([2000, 2001, 2002, 2003])  # 2004 is the first step
    assert past["level"].attrs == {"units": "GFLOP/s", "keeps": ""}
    drawn = run["posterior/x"].to_dataset()
    level = drawn["log_level"].values + drawn["growth"].values * (np.arange(2000, 2004)[:, None] - 2002.0)
    assert past["level"].values == pytest.approx(
        np.exp(np.quantile(level, [0.05, 0.25, 0.5, 0.75, 0.95], axis=1)), rel=0.01
    )
    assert list(run["past"].children) == ["x"]  # nobody asks for the other


def test_the_past_of_a_frontier_is_its_record():
    run = parity(draws=20)
    past, seen = run["past/machine"].to_dataset(), run["observed/machine"].to_dataset()
    assert past["level"].attrs["keeps"] == "frontier"
    assert set(past.coords) == {"date", "quantile", "metric"}  # every shape has the same record
    for metric in ("hpcg", "linpack", "ai-cluster"):
        mine, points = past["metric"].values == metric, seen["metric"].values == metric
        early = seen["date"].values[points] < run["projection"]["time"].values[0]
        dates, last = np.unique(seen["date"].values[points][early][::-1], return_index=True)
        record = np.maximum.accumulate(seen["value"].values[points])[early][::-1][last]
        assert (past["date"].values[mine] == dates).all()
        assert past["level"].values[:, mine] == pytest.approx(np.tile(record, (5, 1)))


def test_what_is_not_pooled_or_is_weighed_or_not_fitted_has_no_past():
    growing = forecast.trend({"t": [2000.0, 2001.0, 2002.0, 2003.0], "v": [1.0, 2.2, 3.7, 8.4]}, x="t", y="v",
                             shape="trends/exponential", name="x").model  # fmt: skip
    record = {
        "start": 2004, "until": 2010, "questions": {"q": {"when": "x >= 100"}, "r": {"when": "y >= 100"}},
        "quantities": {"x": {"model": growing}, "y": {"expression": "2*x"}},
    }  # fmt: skip
    assert list(forecast.project(record, draws=64)["past"].children) == ["x"]
    weighed = {**record, "update": {"x": {"log_likelihood": "-x"}}}
    assert "past" not in forecast.project(weighed, draws=64).to_xarray().children
    (x,) = parity(draws=20, start=2010, with_={"metric": "linpack"})["past"].children.values()
    assert set(x.to_dataset().coords) == {"date", "quantile"}


def test_only_what_was_known_before_a_date_is_used():
    now = forecast.project("brain-parity", draws=5, until=2060)
    then = forecast.project("brain-parity", draws=5, until=2060, as_of=2015.0)
    assert then.attributes["as_of"] == 2015.0
    assert decimal_year(then["observed/machine"]["date"].values).max() < 2015
    assert decimal_year(now["observed/machine"]["date"].values).max() > 2025
    # HPCG began later: those combinations are left out and named, and the others are answered
    assert then.attributes["failures"] == []
    assert any("left out: model 'hardware/hpcg@exponential'" in f for f in map(str, then.warnings))
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
    data = run.attributes["data"]
    assert list(data) == ["my.csv"]
    assert data["my.csv"].startswith("sha256:")
    assert str(tmp_path) not in json.dumps(dict(run.to_xarray().attrs))


def test_a_prior_from_quantiles_has_these_quantiles():
    quantities = {"x": {"p05": 1e13, "p50": 1e15, "p95": 1e16, "unit": "FLOP/s"}}
    drawn = forecast.project({"start": 2025, "until": 2026, "quantities": quantities}, draws=10_000)["projection"]["x"]
    n = 10_000
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
    free, fixed = parity(draws=50), parity(draws=50, with_={"brain/dettmers-2015.firing_rate": 200})
    same = [e for e in free["projection"]["estimate"].values if e not in ("dettmers-2015", "pooled")]
    a, b = (t["projection"]["brain"].sel(estimate=same).values for t in (free, fixed))
    assert_bitwise(a, b)
    ratio = (fixed["projection"]["brain"] / free["projection"]["brain"]).sel(estimate="dettmers-2015").values[0]
    rates = free["posterior/brain/dettmers-2015"]["firing_rate"].values
    assert ratio * rates / 200 == pytest.approx(np.ones(50))
    assert_bitwise(free["projection"]["machine"].values, fixed["projection"]["machine"].values)


def test_paths_that_nobody_asks_for_are_not_stored_and_answers_stay_the_same():
    record = {**PARITY, "quantities": {
        "growth": {"p05": 0.1, "p95": 0.4, "unit": ""}, "x": {"expression": "exp(growth*(t - start))"},
        "aside": {"expression": "x**2"}}, "questions": {"q": {"when": "x >= 100"}}}  # fmt: skip
    whole = forecast.project(record, draws=50)
    bare, one = (forecast.project(record, draws=50, paths=paths) for paths in ((), ("aside",)))
    assert [*whole.worlds] == ["growth", "x", "aside"]
    assert [*bare.worlds] == ["growth"]
    assert [*one.worlds] == ["growth", "aside"]
    assert bare["questions"].to_dataset().identical(whole["questions"].to_dataset())
    assert_bitwise(one.worlds["aside"].values, whole.worlds["aside"].values)
    with pytest.raises(UnknownNameError, match="asied"):
        forecast.project(record, draws=50, paths=("asied",))


#: What limits bind, what fails in some worlds, and numbers that stand still: all the time, or at both ends alone.
ENDS = {"start": 2025, "until": 2035, "choices": {"c": {"values": ["1", "2"], "kind": "rival", "weights": "equal"}},
        "quantities": {
            "rate": {"normal": [0.1, 0.3], "unit": ""},
            "spend": {"expression": "exp(rate*(t - start))", "limit": "4"},
            "path": {"expression": "{c}*spend"},
            "flat": {"expression": "7 + 0*(t - start)"},
            "hill": {"expression": "1 + (t - 2025)*(2035 - t)"},
            "aside": {"expression": "sqrt(rate)*t"}},
        "questions": {"q": {"when": "path >= 3"}, "v": {"value": "path", "dates": [2030]}}}  # fmt: skip


@pytest.mark.parametrize("options", [{"draws": 4000}, {"draws": 4000, "keep": 100}])
def test_of_quantities_stored_at_their_ends_these_and_all_answers_are_the_same(options):
    whole, ends = (forecast.project(ENDS, **options, ends=each) for each in (False, True))
    assert [*ends.worlds] == [*whole.worlds]
    assert [str(each)[:4] for each in ends.time] == ["2025", "2035"]
    for name, values in whole.worlds.data_vars.items():
        assert_bitwise(ends.worlds[name].values, values.isel(time=[0, -1]).values)
    for group in ("questions", "pooled", "values/v"):
        assert ends[group].to_dataset().identical(whole[group].to_dataset())
    assert whole.warnings
    assert (ends.warnings, ends.failing) == (whole.warnings, whole.failing)
    assert [(each.ever, each.first) for each in ends.limits] == [(each.ever, each.first) for each in whole.limits]
    cell = ends.quantities["path"].cells[0]
    assert_bitwise(ends.quantities["path"].quantiles(cell), whole.quantities["path"].quantiles(cell)[:, [0, -1]])


def test_the_ends_are_the_same_for_any_number_of_workers():
    many = {"draws": 70_000, "keep": 100, "ends": True}  # three batches
    one, two = (forecast.project(ENDS, **many, workers=workers) for workers in (1, 2))
    assert one.identical(two)


def test_what_moves_between_two_equal_ends_is_not_the_same_number_throughout():
    whole, ends = (forecast.project(ENDS, draws=50, ends=each) for each in (False, True))
    for run in (whole, ends):
        assert {name: each.fixed for name, each in run.quantities.items() if each.fixed is not None} == {"flat": 7.0}


def test_a_projection_of_ends_is_saved_and_loaded(tmp_path):
    run = forecast.project(ENDS, draws=50, ends=True)
    again = forecast.load(run.save(tmp_path / "ends.nc")).run
    assert again.identical(run)
    assert again.quantities["hill"].fixed is None
