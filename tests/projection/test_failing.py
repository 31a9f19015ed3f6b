"""Worlds that fail: counted, left out, reported, and the end of a quantity only where they are many."""

import numpy as np
import pytest

import forecast
from forecast import save
from forecast.errors import DataError
from forecast.report import result_data
from tests.toolkit import assert_bitwise, command

run = command("run")

#: Of `x`, uniform, every 3,000th or so is negative: its logarithm is no number.
RECORD = {
    "start": 2025,
    "until": 2030,
    "quantities": {
        "x": {"low": -1, "high": 3000, "unit": ""},
        "late": {"expression": "log(x - where(t >= 2028, 1, -1))"},
        "y": {"expression": "where(late > 5, t - start, 7)"},
        "other": {"normal": [1, 2], "unit": ""},
    },
    "questions": {
        "q": {"when": "late >= 7", "dates": [2028]},
        "r": {"when": "other >= 1.5"},
        "race": {"first": ["q", "r"]},
        "v": {"value": "y", "dates": [2030]},
    },
}
DRAWS = 20_000


def project(draws=DRAWS, **more):
    return forecast.project({**RECORD, **more}, draws=draws, keep=DRAWS)


@pytest.fixture(scope="module")
def tree():
    return project()


@pytest.fixture(scope="module")
def bad(tree):
    """Which worlds fail: those in which x is not above 1 in 2028, whatever it was before."""
    x = tree["projection"]["x"].values[0]
    bad = x < 1
    assert 2 < bad.sum() < DRAWS / 1000
    return bad


def test_a_world_that_fails_is_out_as_a_whole_with_all_that_depends_on_it(tree, bad):
    data = tree["projection"].to_dataset()
    for name in ("late", "y"):  # `where` alone would have made a number of it
        assert np.isnan(data[name].values[:, bad]).all()
        assert np.isfinite(data[name].values[:, ~bad]).all()
    assert np.isfinite(data["other"].values).all()
    x, t = data["x"].values[:, ~bad], 2025 + np.arange(6.0)[:, None]
    np.testing.assert_array_equal(data["late"].values[:, ~bad], np.log(x - np.where(t >= 2028, 1, -1)))


def test_they_are_counted_with_the_first_date(tree, bad):
    rows = {row["name"]: row for row in tree.attributes["failing"]}
    assert set(rows) == {"late", "y", "q", "v"}
    assert tree.attributes["failures"] == []
    worst = (tree["projection"]["x"].values[0][bad] < -1).any()
    for row in rows.values():
        assert row["worlds"] == bad.sum()
        assert row["first"] == ("2025-01-01" if worst else "2028-01-01")
        assert row["reason"].startswith("quantities.late: 'log(x - where(t >= 2028, 1, -1))': ")


def test_they_are_left_out_of_quantiles_dates_and_shares(tree, bad):
    data, levels = tree["questions"].to_dataset(), tree["projection"]["late"].values
    low = levels < 7
    never = low.all(axis=0)[~bad]
    assert float(data["q_never"]) == never.mean()
    assert float(data["q_already"]) == (~low[0][~bad]).mean()
    np.testing.assert_array_equal(data["q_failing"].values == 1, bad)
    assert "r_failing" not in data
    row = next(r for r in result_data.quantity_rows(tree) if r["name"] == "late")
    assert row["p50"] == pytest.approx(np.quantile(levels[:, ~bad], 0.5, axis=1), rel=1e-12)
    (asked,) = (r for r in result_data.date_rows(tree) if r["name"] == "q")
    assert asked["dates"][0]["probability"] == (~low[:4].all(axis=0)[~bad]).mean()
    (race,) = result_data.first_answers(tree)
    assert sum(race["first"].values()) + race["together"] + race["none"] == pytest.approx(1, abs=1e-12)
    others = tree["projection"]["other"].values[0][~bad] >= 1.5
    assert race["none"] == (never & ~others).mean()
    (value,) = result_data.value_answers(tree)
    assert value["dates"][0]["p50"] == np.quantile(tree["projection"]["y"].values[-1][~bad], 0.5)


def test_fewer_are_a_prefix_and_workers_change_nothing(tree, tmp_path):
    few, again = project(5000), forecast.project(RECORD, draws=DRAWS, keep=DRAWS, workers=4)
    assert again.identical(tree)
    for name in ("x", "late", "y"):
        assert_bitwise(few["projection"][name].values, np.ascontiguousarray(tree["projection"][name].values[:, :5000]))


def test_worlds_that_were_not_asked_for_do_not_count(tree, bad):
    first = int(bad.argmax())
    assert "failing" not in project(first).to_xarray().attrs
    with pytest.raises(DataError, match="values are not numbers"):  # one of at most a thousand is too many
        forecast.project(
            {**RECORD, "quantities": {"x": {"value": -5, "unit": ""}, "y": {"expression": "log(x)"}}, "questions": {}},
            draws=3,
        )


def test_more_than_one_in_a_thousand_ends_the_quantity():
    quantities = {**RECORD["quantities"], "x": {"low": -1, "high": 900, "unit": ""}}
    with pytest.raises(DataError, match=r"quantities\.late: 'log\(x - .* values are not numbers \(NaN\)"):
        project(quantities=quantities)


def test_it_is_said_in_json_and_in_one_line(capsys, tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(
        "start = 2025\nuntil = 2030\n[quantities.x]\nlow = -1\nhigh = 3000\nunit = ''\n"
        "[quantities.y]\nexpression = 'log(x)'\n"
    )
    words = (str(path), "--draws", "20000")
    said = run(capsys, *words, "--json")
    assert said.code == 0
    ((name, worlds),) = [(row["name"], row["worlds"]) for row in said.json["result"]["failing"]]
    assert name == "y"
    (line,) = said.json["warnings"]
    assert line.startswith(f"worlds that fail are left out, of 20,000: y fails in {worlds}, from 2025-01-01 on: ")
    assert line in run(capsys, *words).err


def test_it_comes_back(tree, tmp_path):
    assert forecast.load(save(tree, tmp_path / "p.nc")).run.identical(tree)


WAYS = {
    "stock": {"stocks": {"s": {"initial": "x", "rate": "0*log(s)", "unit": ""}}},
    "limit": {"y": {"expression": "x + 0*t", "limit": "9", "how": "saturating"}},
    "model": {"y": {"model": forecast.estimate("log(a)", inputs={"a": {"low": -1, "high": 3000, "unit": ""}}, unit="",
                                               name="a-log")}},
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_it_may_be_a_walk_a_limit_or_a_model(way):
    record = {"start": 2025, "until": 2027, "quantities": {"x": {"low": -1, "high": 3000, "unit": ""}}}
    more = dict(WAYS[way])
    stocks = more.pop("stocks", {})
    record = {**record, "quantities": {**record["quantities"], **more}, "stocks": stocks}
    tree = forecast.project(record, draws=DRAWS, keep=DRAWS)
    name = "s" if stocks else "y"
    x = tree["projection"]["x"].values[0]
    if way == "model":
        x = tree["posterior"]["a-log"]["a"].values
    found = np.isnan(tree["projection"][name].values)
    np.testing.assert_array_equal(found.all(axis=0), x < 0)
    np.testing.assert_array_equal(found.any(axis=0), x < 0)
