"""Limits in projections: against closed forms, and which bind, when, in how many worlds."""

import numpy as np
import pytest
from scipy.stats import norm

import forecast
from forecast import save
from forecast.base.dates import decimal_year
from forecast.errors import DataError, ResultError
from forecast.projection.paths.apply_limits import limited
from forecast.report import result_data
from forecast.report.brief import limit_sentence

#: A growth rate whose distribution function is known: normal, median 0.2, 5 % below 0.1.
SCORE = norm.isf(0.05)
RATE = norm(0.2, 0.1 / SCORE)


def project(*, draws=2000, start=2025, until=2050, more=(), **stated):
    quantities = {
        "rate": {"normal": [0.1, 0.3], "unit": ""},
        "cap": {"value": 20, "unit": "USD"},
        "first": {"value": 1, "unit": "USD"},
        "free": {"expression": "first*exp(rate*(t - start))"},
        "spend": {"expression": "first*exp(rate*(t - start))", **stated},
        "twice": {"expression": "2*spend"},
        **dict(more),
    }
    return forecast.project({"start": start, "until": until, "quantities": quantities}, draws=draws)


def paths(tree):
    data = tree["projection"].to_dataset()
    return {str(name): values.values for name, values in data.items()}


def test_a_hard_limit_is_the_smaller_and_what_follows_sees_it():
    drawn = paths(project(limit="cap/2 + cap/2", at_least="2 USD"))
    assert np.array_equal(drawn["spend"], np.clip(drawn["free"], 2, 20))
    assert np.array_equal(drawn["twice"], 2 * drawn["spend"])


def test_a_saturating_limit_has_its_closed_form():
    drawn = paths(project(limit="cap", how="saturating"))
    np.testing.assert_allclose(drawn["spend"], 20 * (1 - np.exp(-drawn["free"] / 20)), rtol=1e-12)


def test_a_soft_limit_tends_to_the_hard_one_from_below():
    hard = paths(project(limit="cap"))["spend"]
    off = []
    for sharpness in (2, 8, 32, 128, 512):
        soft = paths(project(limit="cap", how="softmin", sharpness=sharpness))["spend"]
        assert (soft <= hard).all()
        off.append(float((hard / soft).max()))
        assert off[-1] <= 2 ** (1 / sharpness) * (1 + 1e-12)  # where value and limit are equal
    assert off == sorted(off, reverse=True)
    assert off[-1] < 1.002


def test_limits_of_no_use_leave_the_path():
    value = np.array([[0.0], [1.0], [np.inf]])
    for how in ("hard", "saturating", "softmin"):
        free = limited(value, np.full((3, 1), np.inf), how, 8.0)
        np.testing.assert_array_equal(free, value)


def test_a_soft_limit_of_what_is_negative_is_an_error():
    with pytest.raises(DataError, match=r"quantities\.spend\.limit: saturating: \d+ of \d+ values are negative"):
        project(limit="cap - 21 * first", how="saturating")


def test_the_share_that_binds_is_that_of_the_closed_form():
    tree = project(limit="cap", draws=20_000)
    (row,) = result_data.limit_rows(tree)
    years = np.arange(1, 26)
    # the limit takes more than 1 % off where the rate is above log(20/0.99)/years
    wanted = RATE.sf(np.log(20 / 0.99) / years)
    error = 4 * np.sqrt(wanted * (1 - wanted) / 20_000) + 1e-4
    assert (np.abs(np.array(row["binds"][1:]) - wanted) < error).all()
    assert row["binds"][0] == 0
    assert row["ever"] == row["binds"][-1]  # rates are positive but for 5e-4 of them
    # median date among those: 2025 + log(20/0.99)/rate, at the rate that halves the tail
    middle = RATE.isf(wanted[-1] / 2)
    first = float(decimal_year(np.datetime64(row["first"]["p50"])))
    assert first == pytest.approx(2025 + np.log(20 / 0.99) / middle, abs=0.15)


def test_it_is_said_in_one_line_and_a_floor_too():
    limit, floor = project(limit="cap", at_least=3, draws=200).limits
    assert limit_sentence(limit, 2050).startswith("limit of spend binds by January 2050 in ")
    assert limit_sentence(floor, 2050).endswith("binds by January 2050 in 100 % of worlds, first in 2025 (median)")
    assert floor.probability[0] == 1
    (never,) = project(limit="1e9 USD", draws=200).limits
    assert limit_sentence(never, 2050) == "limit of spend does not bind by January 2050"


def test_worlds_are_weighed():
    record = {
        "start": 2025,
        "until": 2027,
        "quantities": {"x": {"draw": {"a": 0.5, "b": 0.5}}, "y": {"expression": 'where(x == "a", 1, 3)', "limit": 2}},
        "update": {"y": {"log_likelihood": "where(y > 1.5, log(3), 0)"}},
    }
    tree = forecast.project(record, draws=4000)
    (row,) = result_data.limit_rows(tree)
    share = float((tree["projection"]["x"].values[0] == 1).mean())
    assert row["binds"][0] == pytest.approx(3 * share / (3 * share + 1 - share), rel=1e-9)


def test_fewer_draws_are_a_prefix_and_other_quantities_stay():
    few, many = project(limit="cap", draws=100), project(limit="cap", draws=300)
    assert np.array_equal(paths(few)["spend"], paths(many)["spend"][:, :100])
    assert np.array_equal(paths(few)["rate"], paths(project(draws=100))["rate"])


def test_it_is_kept_in_files_and_a_changed_one_is_refused(tmp_path):
    tree = project(limit="cap", draws=50)
    assert forecast.load(save(tree, tmp_path / "p.nc")).identical(tree)
    assert tree.attributes["limits"] == {"spend": {"limit": "cap", "how": "hard"}}
    lacking = tree.to_xarray().copy()
    del lacking.attrs["limits"]
    with pytest.raises(ResultError, match="/limits/spend: none of a projection's groups"):
        forecast.load(save(lacking, tmp_path / "r.nc"))


# --- what a quantity keeps -------------------------------------------------------------------------------------------

TABLE = "date,speed\n" + "".join(f"{2000 + i},{speed}\n" for i, speed in enumerate([1, 4, 3, 9, 30, 20, 80, 900, 250]))


def trend(tmp_path, **stated):
    (tmp_path / "mine.csv").write_text(TABLE, encoding="utf-8")
    made = {"shape": "trends/exponential", "data": "mine.csv", "x": "date", "y": "speed", "unit": "FLOP/s"}
    record = {"start": 2009, "until": 2012, "step": "month", "quantities": {"peak": {**made, **stated}}}
    record["quantities"]["peak"]["data"] = str(tmp_path / "mine.csv")
    return forecast.project(record, draws=300)


def test_a_frontier_never_falls_and_starts_at_the_last_record(tmp_path):
    tree = trend(tmp_path, keeps="frontier")
    kept = tree["projection"]["peak"].values
    assert (np.diff(kept, axis=0) >= 0).all()
    assert (kept[0] >= 900).all()
    assert (kept[-1] > kept[0]).mean() > 0.5
    assert tree.warnings == []  # by construction: nothing was raised
    assert tree.attributes["limits"] == {"peak": {"keeps": "frontier"}}


def test_a_running_maximum_of_draws_is_warned_of():
    up = {"expression": "where(t < 2030, t - start, 5 - (t - 2030))", "keeps": "frontier"}
    falling = {"up": up}  # 20 of 26 steps
    (text,) = project(more=falling.items(), draws=20).warnings
    assert str(text).startswith("up: keeps: 76.9% of the values of the first worlds")
    assert "had to be raised by a running maximum" in str(text)
    rising = project(more={"up": {"expression": "t - start", "keeps": "frontier"}}.items(), draws=20)
    assert rising.warnings == []


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"expression": "(t - 2027)/5", "keeps": "positive"}, "keeps: expected values above 0, got -0.4 on 2025-01-01"),
        ({"expression": "(t - 2024)/5", "scale": "share"}, "scale: expected shares from 0 to 1, got 1.2 on 2030-01-01"),
        ({"expression": "t - start", "at_most": 5}, "at_most: expected at most 5, got 6 on 2031-01-01, the first date"),
    ],
)
def test_what_is_not_kept_is_an_error_with_the_first_date_and_the_number_of_worlds(stated, says):
    with pytest.raises(DataError) as raised:
        project(more={"x": stated}.items())
    assert f"quantities.x.{says}" in str(raised.value)
    assert "2,048 of 2,048 worlds leave it" in str(raised.value)


def test_worlds_are_counted():
    stated = {"expression": "rate*(t - start)/6"}
    free = paths(project(more={"x": stated}.items(), draws=256))["x"]
    first = 2025 + int((free > 0.8).any(axis=1).argmax())
    with pytest.raises(DataError, match=rf"on {first}-01-01, .*; {(free > 0.8).any(axis=0).sum()} of 256 worlds"):
        project(more={"x": {**stated, "at_most": 0.8}}.items(), draws=10)
