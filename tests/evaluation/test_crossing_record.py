"""Levels by a date: what was stated, what came, and the record that ships."""

import json

import numpy as np
import pytest

import forecast
from forecast.contract.track_record import crossings_by_shape, of_crossings
from forecast.errors import PluginError
from forecast.evaluation import crossing_record, rolling_origin
from forecast_trends.pool import make
from tests.toolkit import command


def test_levels_are_of_the_best_so_far_in_the_direction_of_the_series():
    rising, falling = np.array([1.0, 2.0, 4.0]), np.array([4.0, 2.0, 1.0])
    paths = np.array([[4.0, 5.0, 9.0], [3.0, 3.0, 3.0]])  # the second date lies lower: what was reached stays reached
    stated, happened = crossing_record.reached_by(paths, np.array([5.0, 1.0]), rising)
    assert stated[:, 0].tolist() == [2 / 3, 2 / 3]
    assert stated[:, 3].tolist() == [1 / 3, 1 / 3]  # 8
    assert happened[:, :3].tolist() == [[1, 1, 0], [1, 1, 0]]
    mirrored, came = crossing_record.reached_by(4 / paths, 4 / np.array([5.0, 1.0]), falling)
    np.testing.assert_array_equal((mirrored, came), (stated, happened))


def test_probabilities_that_are_true_are_reliable_and_beat_climatology():
    rng = np.random.default_rng(0)
    stated = rng.random(20_000)
    rows = crossing_record.reliability_rows(stated, (rng.random(20_000) < stated).astype(float))
    assert rows[0]["brier"] == pytest.approx(1 / 6, abs=0.005)
    assert sum(row["count"] for row in rows[1:]) == rows[0]["count"] == 20_000
    for row in rows[1:]:
        assert row["happened"] == pytest.approx(row["stated"], abs=0.03)


def test_a_backtest_states_levels_as_its_draws_do():
    t = np.arange(1990.0, 2016.0)
    y = np.exp(0.2 * (t - 1990) + 0.05 * np.random.default_rng(1).standard_normal(t.size))
    models, _ = rolling_origin.benchmark_models(
        lambda shape: forecast.trend({"t": t, "y": y}, shape=shape, x="t", y="y", unit="W"), ["trends/exponential"]
    )
    found = rolling_origin.backtest(models, crossings=True)
    known = {float(origin): y[t <= origin].max() for origin in found["origin"].values}
    for origin, best in known.items():
        chosen = found.sel(origin=origin)
        for factor in found["level"].values[1:]:
            reached = np.maximum.accumulate(chosen["observed"].values) >= best * factor
            there = np.isfinite(chosen["observed"].values)
            np.testing.assert_array_equal(chosen["happened"].sel(level=factor).values[there], reached[there])
    stated = found["stated"].sel(model="trends/exponential")
    higher, later = stated.diff("level").values, stated.diff("horizon").values
    assert (higher[np.isfinite(higher)] <= 0).all()  # a higher level is never likelier
    assert (later[np.isfinite(later)] >= 0).all()
    assert "stated" not in rolling_origin.backtest(models)
    rows = list(crossing_record.tally_crossings([("one", found)], ["trends/exponential", "last-value"]))
    brier = {row["name"]: row["brier"] for row in rows if "brier" in row and row["kind"] == "one"}
    assert brier["trends/exponential"] < brier["last-value"]
    assert all("climatology" not in row for row in rows)  # there is no other series


def test_the_command_prints_what_it_returns(capsys):
    words = ["hardware/hpcg", "--shape", "trends/exponential", "--crossings", "--origins", "3"]
    rows = command("backtest")(capsys, *words, "--json").json["result"]["crossings"]
    whole = next(row for row in rows if row["statement"] == "level" and "brier" in row)
    text = command("backtest")(capsys, *words).out
    assert f"({whole['count']} statements)" in text
    assert f"{whole['model']} {whole['brier']:.3f}" in text
    assert "crossings" not in command("backtest")(capsys, *words[:-3], "--origins", "3", "--json").json["result"]


@pytest.mark.slow
def test_the_shipped_record_counts_what_the_backtests_state(monkeypatch):
    monkeypatch.setattr(make, "_series", lambda only=(): iter([{"series": "hardware/hpcg", "kind": "machine"}]))
    rows = [row for row in make.crossing_rows(make.backtests()) if row["shape"] == "trends/exponential"]
    found = rolling_origin.backtest("hardware/hpcg@exponential", crossings=True)
    whole = next(row for row in rows if row["brier"] and row["statement"] == "level")
    assert whole["count"] == int(found["stated"].sel(model="trends/exponential")[..., 1:].notnull().sum())
    for shape in ("trends/pool", "trends/exponential"):
        rows = [row for row in of_crossings(shape) if row["brier"] and row["statement"] == "level"]
        kinds = {row["kind"]: row["count"] for row in rows}
        assert kinds.pop("all") == sum(kinds.values()) > 4000


@pytest.mark.slow
def test_an_answer_cites_the_range_of_its_own_probability(capsys):
    answer = forecast.ask("hardware/linpack >= 1e19 FLOP/s")
    stated = answer.probability(by=2036)
    rows = crossings_by_shape(["hardware/linpack@pool", "a/model", "hardware/linpack@nope"], stated)
    assert [row["lower"] <= stated <= row["upper"] for row in rows.values()] == [True]
    text = " ".join(command("ask")(capsys, "hardware/linpack >= 1e19 FLOP/s").out.split())
    assert "past statements of" in text
    assert "% came true" in text


def test_a_record_that_cannot_be_read_names_its_shape(fake_plugins, tmp_path):
    path = tmp_path / "crossings.csv"
    path.write_text("shape,kind\nmine/line,all\n")
    source = f"""
def forecast_shapes():
    yield ShapeSpec(
        name="line", title="t", target="forecast_trends.lines.exponential:Exponential", reference="us",
        crossings={json.dumps(str(path))},
    )
"""
    fake_plugins.add("mine", source)
    with pytest.raises(PluginError, match="shape 'mine/line': its record of levels cannot be read"):
        of_crossings("mine/line")
