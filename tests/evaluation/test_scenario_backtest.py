"""A whole scenario as of dates in the past: what it is scored against, beside whom, and that nothing later leaks."""

import csv
import json

import numpy as np
import pytest
import xarray as xr

import forecast
from forecast.errors import DataError, UnknownNameError, UsageError
from forecast.evaluation.whole import scenario_scores
from forecast_capability import make_scenario_record as record
from tests.toolkit import command

run = command("backtest")
YEARS = np.arange(2000.0, 2026.0, 0.5)
WOBBLE = 0.1 * np.random.default_rng(0).standard_normal(len(YEARS))
RECORD = np.maximum.accumulate(np.exp(0.4 * (YEARS - 2000) + WOBBLE))
PLAIN = np.exp(0.2 * (YEARS - 2000) + WOBBLE)


def trend(value, time=YEARS, *, name, unit="FLOP/s", **options):
    return forecast.trend(
        {"t": time, "y": value}, shape="trends/exponential", x="t", y="y", unit=unit, name=name, **options
    ).model


def scenario(record=RECORD, plain=PLAIN, **more):
    quantities = {
        "machine": {"model": trend(record, name="machine", frontier=True, keeps="frontier")},
        "price": {"model": trend(plain, name="price")},
        "index": {"expression": "100 + 10*log(odds)", "unit": "", "observed": "seen"},
        "seen": {"expression": "100 + 10*log(odds)", "unit": ""},
        "odds": {"model": trend(record[-30:] / record[-30], YEARS[-30:], name="odds", unit="", frontier=True)},
        "guess": {"p05": 1, "p95": 4, "unit": ""},
    }
    return {"until": 2030, "quantities": quantities, **more}


def asked(**options):
    return forecast.Scenario.from_dict(scenario(**options), name="mine")


@pytest.fixture(scope="module")
def found():
    return forecast.backtest_scenario(asked(), draws=200)


def test_the_quantities_that_are_observed_are_scored_and_no_other(found):
    # the series that a quantity takes for its own is its rival, and so is what that is a formula of
    assert found["quantity"].values.tolist() == ["machine", "price", "index"]
    assert found["scale"].values.tolist() == ["log10", "log10", "unit"]
    assert found["origin"].values.tolist() == [2022.0, 2022.5, 2023.0, 2023.5, 2024.0, 2024.5, 2025.0]
    assert found["model"].values.tolist() == ["mine", "own trend", "extrapolate", "last value"]


def test_a_record_is_compared_with_the_record_and_a_series_with_what_was_seen_near(found):
    at = {"origin": 2023.0, "ahead": 2.0}
    was = RECORD[YEARS <= 2025.0].max()
    assert found["observed"].sel(quantity="machine", **at) == pytest.approx(np.log10(was))
    assert found["observed"].sel(quantity="price", **at) == pytest.approx(np.log10(PLAIN[YEARS == 2025.0][0]))
    # 2025.5 is the last row: of 2027 nobody knows
    assert np.isnan(found["observed"].sel(origin=2025.0, ahead=2.0)).all()


def test_scores_are_those_of_a_calculation_by_hand(found):
    each = found.sel(quantity="index", origin=2023.5, ahead=1.0, model="mine")
    low, lower, middle, upper, high = each["forecast"].values
    y = float(each["observed"])
    by_hand = abs(y - middle) / 2
    for share, one, two in ((0.5, lower, upper), (0.1, low, high)):
        by_hand += share / 2 * (two - one + 2 / share * (max(one - y, 0) + max(y - two, 0)))
    assert float(each["weighted-interval"]) == pytest.approx(by_hand / 2.5)
    assert float(each["width"]) == pytest.approx(high - low)
    assert bool(each["coverage"]) == (low <= y <= high)
    assert bool(each["half"]) == (lower <= y <= upper)


def test_the_forecast_is_that_of_a_run_as_of_the_date(found):
    run = forecast.project(asked(), as_of=2023.0, start=2023.0, until=2025.0, step="1/2", draws=200)
    drawn = np.log10(run.worlds["price"].isel(time=2).values)
    said = found["forecast"].sel(quantity="price", origin=2023.0, ahead=1.0, model="mine").values
    inside = [(drawn <= level).mean() for level in said]
    np.testing.assert_allclose(inside, found["quantile"].values, atol=0.006)


def test_nothing_after_a_vintage_leaks():
    later = YEARS >= 2023.0
    options = {"draws": 100, "vintages": [2023.0], "scales": {"index": "unit"}}
    clean = forecast.backtest_scenario(asked(), **options)
    other = forecast.backtest_scenario(
        asked(record=np.where(later, RECORD * 50, RECORD), plain=np.where(later, PLAIN / 9, PLAIN)), **options
    )
    xr.testing.assert_identical(
        clean["forecast"].drop_vars("scale").sel(quantity=["machine", "price"]),
        other["forecast"].drop_vars("scale").sel(quantity=["machine", "price"]),
    )
    assert not clean["observed"].equals(other["observed"])


def test_a_record_that_stands_still_is_held_by_what_never_falls():
    still = np.where(YEARS > 2022.0, RECORD[YEARS == 2022.0], RECORD)
    found = forecast.backtest_scenario(asked(record=still), draws=100, quantities=["machine"], vintages=[2023.0])
    for model in found["model"].values[[0, 2, 3]]:
        one = found.sel(quantity="machine", origin=2023.0, ahead=1.0, model=model)
        assert (one["forecast"] >= one["observed"]).all()
    last = found.sel(model="last value")
    assert (last["forecast"].sel(quantile=0.05) == last["observed"]).where(last["observed"].notnull(), True).all()
    assert last["coverage"].min() == 1


def test_a_rival_without_data_costs_its_own_quantity_nothing_and_no_other(tmp_path):
    """Two rivals, of which one has late data for one quantity: that rests on the other, the second quantity on both."""
    for name, first, growth in (
        ("one-early", 2000, 2.0),
        ("one-late", 2023, 9.0),
        ("two-early", 2000, 2.0),
        ("two-late", 2000, 9.0),
    ):
        rows = [f"{year}-01-01,{growth ** (year - first)}" for year in range(first, 2026)]
        (tmp_path / f"{name}.csv").write_text("date,y\n" + "\n".join(rows) + "\n")
    series = 'shape = "trends/exponential"\nx = "date"\ny = "y"\nunit = ""\n'
    (tmp_path / "mine.toml").write_text(
        'until = 2030\n[choices.route]\nvalues = ["early", "late"]\nkind = "rival"\nweights = "equal"\n'
        f'[quantities.one]\ndata = "one-{{route}}.csv"\n{series}[quantities.two]\ndata = "two-{{route}}.csv"\n{series}'
        '[questions.q]\nwhen = "one*two >= 1e9"\n'
    )
    found = forecast.backtest_scenario(tmp_path / "mine.toml", vintages=[2022.0], draws=400)
    said = found["forecast"].sel(origin=2022.0, ahead=1.0, model="mine")
    np.testing.assert_allclose(said.sel(quantity="one"), np.log10(2.0**23), atol=0.1)
    wide = said.sel(quantity="two").values
    np.testing.assert_allclose([wide[0], wide[-1]], [np.log10(2.0**23), np.log10(9.0**23)], atol=0.1)


def test_what_cannot_be_scored_is_said():
    nothing = {"start": 2024, "until": 2030, "quantities": {"x": {"p05": 1, "p95": 4, "unit": "FLOP"}}}
    with pytest.raises(
        UsageError, match="nothing of it is observed: no quantity is a trend, or names one by 'observed'"
    ):
        forecast.backtest_scenario(forecast.Scenario.from_dict(nothing))
    with pytest.raises(UnknownNameError, match="unknown observed quantity 'machin'"):
        forecast.backtest_scenario(asked(), quantities=["machin"])
    with pytest.raises(UnknownNameError, match="unknown scale 'log3'"):
        forecast.backtest_scenario(asked(), scales={"index": "log3"})
    with pytest.raises(UsageError, match="ahead: expected years ahead, multiples of half a year"):
        forecast.backtest_scenario(asked(), ahead=[0.3])
    late = forecast.backtest_scenario(asked(), vintages=[2001.0, 2024.0], draws=100, quantities=["index"])
    assert "no data then" in late.attrs["failures"]["mine: index"]["2001-01"]
    assert late["forecast"].sel(model="mine", origin=2024.0).notnull().all()


def test_summaries_compare_on_what_both_forecast(found):
    rows = {
        (row["quantity"], row["model"], row["ahead"]): row
        for row in scenario_scores.quantity_scores(found, by_ahead=True)
    }
    own = rows["machine", "mine", None]
    assert (
        own["forecasts"] == own["both"] == sum(rows["machine", "mine", years]["forecasts"] for years in (0.5, 1.0, 2.0))
    )
    assert own["mine"] == own["beside"] == own["score"]
    rival = rows["machine", "last value", None]
    scores = found["weighted-interval"].sel(quantity="machine", model=["mine", "last value"])
    assert (rival["beside"], rival["mine"]) == pytest.approx(tuple(scores.mean(["origin", "ahead"]).values))


def test_rows_of_a_table_are_scored_as_they_were(found, tmp_path):
    scenario_scores.write_record(found, tmp_path / "mine.csv")
    with (tmp_path / "mine.csv").open(encoding="utf-8", newline="") as file:
        again = scenario_scores.of_rows(list(csv.DictReader(file)), "mine", {})
    for one, two in zip(*map(scenario_scores.quantity_scores, (found, again)), strict=True):
        assert one.keys() == two.keys()
        for key, value in one.items():
            assert two[key] == (pytest.approx(value, rel=2e-3) if isinstance(value, float) else value), key
    with pytest.raises(DataError, match="a row of past forecasts: KeyError"):
        scenario_scores.of_rows([{"quantity": "x"}], "mine", {})


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_says_scores_rivals_and_limits(capsys):
    words = ("brain-parity", "--whole", "--vintage", "2023-01-01", "--vintage", "2024", "--draws", "100")
    said = run(capsys, *words)
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].startswith("As of 2 dates from 2023-01 to 2024-01, ")
    assert "scored in" in said.out
    assert "- Rows are chosen by their dates, and hold the values of today's editions" in said.out
    result = run(capsys, *words, "--json").json["result"]
    assert {row["vintage"] for row in result["forecasts"]} == {"2023-01-01", "2024-01-01"}
    assert {row["ahead"] for row in result["quantities"]} == {None, 0.5, 1.0, 2.0}
    assert result["headline"] == lines[0] or " ".join(lines[:2]).startswith(result["headline"][:60])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("brain-parity", "--whole", "--years", "3"), "--years: not of a scenario that is tested as a --whole"),
        (("brain-parity", "--whole", "--origins", "3"), "--origins: not of a scenario"),
        (("brain-parity", "--draws", "100"), "--draws: only of a scenario that is tested as a --whole"),
        (("brain-parity", "--whole", "--vintage", "soon"), "--vintage: expected a date"),
        (("file.csv", "--whole"), "expected a scenario to test as a --whole, got the file"),
        (("ai-2027-a", "--whole"), "nothing of it is observed"),
    ],
)
def test_what_says_nothing_here_is_refused(capsys, words, says):
    said = run(capsys, *words)
    assert said.code == 2
    assert says in said.err


# --- the record that ships --------------------------------------------------------------------------------------------


def test_the_shipped_record_is_of_the_scenario_and_the_tables_as_they_are():
    stated = json.loads((record.FOLDER / "made-from.json").read_text("utf-8"))
    why = "the scenario or its tables changed: run python -m forecast_capability.make_scenario_record"
    assert stated == record.made_from(), why


def test_intervals_of_runs_hold_what_is_due_to_them_where_their_law_is_true():
    """A part of the width that counts twice makes them hold more, one that is left out makes them hold less."""
    held, due = np.loadtxt(record.OWN_WORLDS, delimiter=",", skiprows=1).T
    off = held - due
    assert abs(off.mean()) < 2.5 * off.std() / np.sqrt(off.size)
    # no less than a half, and no more than three in four, of an interval that begins at the record that stands
    assert 0.5 < due.min() <= due.max() < 0.75


@pytest.mark.slow
def test_worlds_of_the_law_of_runs_are_what_the_script_draws():
    shipped = np.loadtxt(record.OWN_WORLDS, delimiter=",", skiprows=1)
    drawn = np.array(list(record.own_worlds(3)))
    np.testing.assert_allclose(drawn, shipped[:3], atol=0.07)  # one interval of 17 may turn on a rounding
    assert len(np.unique(shipped[:, 0])) > 5


@pytest.mark.slow
def test_the_flagship_prints_its_own_record_with_its_size_and_limits(capsys):
    found = scenario_scores.of_scenario(record.SCENARIO)
    own = {row["quantity"]: row for row in scenario_scores.quantity_scores(found) if row["model"] == "model-capability"}
    assert {"run", "index", "horizon"} <= set(own)
    words = ("model-capability", "--draws", "100", "--set", "variant=trends continue")
    screen = " ".join(command("run")(capsys, *words).out.split())
    assert "Record as of 7 dates from 2023 (at most 4 independent): 90 % intervals held" in screen
    for name in ("run", "index", "horizon"):
        assert f"{round(own[name]['held'] * own[name]['forecasts'])} of {own[name]['forecasts']}" in screen
    behind = command("run")(capsys, *words, "--json").json["result"]["record"]
    assert "values of today's editions where no older one is kept" in behind[0]
    for rival in ("own trend", "extrapolate", "last value", "direct-approach"):
        assert rival in " ".join(behind)


@pytest.mark.slow
def test_limits_print_how_what_they_rest_on_was_forecast(capsys):
    """Of capital expenditure all misses since 2023 are from above: what money allows was too little."""
    found = scenario_scores.of_scenario("capability/model-limits").sel(model="model-limits")
    own = {row["quantity"]: row for row in scenario_scores.quantity_scores(found.expand_dims("model"))}
    screen = " ".join(command("run")(capsys, "model-limits", "--draws", "100").out.split())
    for name in ("capex_by_quarter", "stock", "site_trend"):
        assert f"{round(own[name]['held'] * own[name]['forecasts'])} of {own[name]['forecasts']}" in screen
    said = " ".join(command("run")(capsys, "model-limits", "--draws", "100", "--json").json["result"]["record"])
    assert "record of the power of a device: 50 % intervals held" in said
    capex = found.sel(quantity="capex_by_quarter")
    missed = capex.where((capex["coverage"] == 0) & (capex["origin"] > 2023), drop=True)
    assert int(missed["observed"].notnull().sum()) >= 2
    assert not (missed["observed"] < missed["forecast"].sel(quantile=0.05)).any()


PLUGIN = """
def forecast_scenarios():
    yield ScenarioSpec(name="mine", path={path!r}, title="mine", reference="us", record={record!r})
"""


MINE = """
start = 2024
until = 2030
[quantities.x]
expression = "t - 2020"
unit = ""
[questions.q]
when = "x >= 6"
title = "x is large"
"""


@pytest.mark.parametrize("content", [None, b"", b"quantity,unit\nx,", b"\0", b"\xff\xfe", b"quantity,model"])
def test_a_record_that_cannot_be_read_costs_no_answer(capsys, fake_plugins, tmp_path, content):
    (tmp_path / "mine.toml").write_text(MINE, "utf-8")
    kept = tmp_path / "record.csv"
    if content is not None:
        kept.write_bytes(content)
    fake_plugins.add("kept", PLUGIN.format(path=str(tmp_path / "mine.toml"), record=str(kept)))
    told = " ".join(command("run")(capsys, "kept/mine").out.split())
    assert "X is large in January 2026" in told
    assert "No record: scenario 'kept/mine': its record of past forecasts cannot be read" in told


def test_published_models_count_from_the_day_they_appeared():
    found = scenario_scores.of_scenario(record.SCENARIO)
    on = found.attrs["published"]
    assert on["direct-approach"] == "2024-10-01"
    for name, day in on.items():
        made = found["forecast"].sel(model=name).notnull().any(["quantity", "ahead", "quantile"])
        assert made.any()
        first = float(found["origin"].values[made.values][0])
        assert first >= int(day[:4]) + (int(day[5:7]) - 1) / 12


@pytest.mark.xslow
def test_the_shipped_record_is_what_its_script_makes():
    """One vintage anew; the others are as long again each."""
    shipped = scenario_scores.of_scenario(record.SCENARIO)
    found = forecast.backtest_scenario(
        record.SCENARIO,
        vintages=record.RECORDS[record.SCENARIO].vintages[-1:],
        scales=record.RECORDS[record.SCENARIO].scales,
        draws=record.N_RECORD_DRAWS,
        seed=record.SEED,
    )
    one, two = (each.isel(origin=-1)["forecast"].sel(model="model-capability", ahead=0.5) for each in (shipped, found))
    one = one.dropna("quantity")  # what is known today
    assert {"run", "index", "horizon"} <= set(one["quantity"].values)
    np.testing.assert_allclose(one, two.sel(quantity=one["quantity"].values).transpose(*one.dims), rtol=1e-6)
