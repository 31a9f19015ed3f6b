from __future__ import annotations

import re

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, UnitError, UnknownNameError

#: What feeds the relation: parameters that grow tenfold a year from 1e9.
SCENARIO = {
    "start": 2020,
    "until": 2023,
    "quantities": {
        "params": {"expression": "size"},
        "size": {"p05": 1e9, "p95": 1e10, "unit": "param"},
        "ppl": {"model": "resources/perplexity-from-parameters", "inputs": {"x": "params"}},
    },
}


def scenario(**quantities):
    kept = SCENARIO["quantities"]
    return {**SCENARIO, "quantities": {**kept, **quantities}}


def unit_of_input():
    return next(iter(forecast.model("resources/perplexity-from-parameters").model.inputs.values())).unit


def test_a_relation_is_wired_to_another_quantity_and_follows_its_law():
    made = scenario(size={"p05": 1e9, "p95": 1e10, "unit": unit_of_input()})
    run = forecast.project(made, draws=50)
    x, y = (run["projection"][n].values for n in ("params", "ppl"))
    assert y.shape == x.shape
    drawn = run["posterior/resources/perplexity-from-parameters"].to_dataset()
    expected = drawn["a"].values + drawn["b"].values * np.log(x)
    assert y == pytest.approx(expected, rel=1e-9)
    assert np.unique(y).size > 10  # the draws of its parameters and of its input both reach it


def test_its_parameters_centre_on_the_fit():
    made = scenario(size={"value": 1e9, "unit": unit_of_input()})
    run = forecast.project(made, draws=4000)
    from forecast.laws import law
    from forecast.tables.series import rows_as_of

    table = rows_as_of("datasets/outlier-features", where={"family": "FSEQ"}, as_of=None, name="test")
    fitted = law("resources/log-linear").fit(table, let={"x": "params"}, y="ppl_c4")
    drawn = run["posterior/resources/perplexity-from-parameters"].to_dataset()
    for name in ("a", "b"):
        centre = float(fitted.params[name])
        assert float(drawn[name].median()) == pytest.approx(centre, rel=0.02)


def test_a_wire_to_nothing_names_the_nearest_quantity():
    wired = {"model": "resources/perplexity-from-parameters", "inputs": {"x": "parms"}}
    with pytest.raises(UnknownNameError, match=r"quantities\.ppl\.model .*'parms'; did you mean 'params'"):
        forecast.project(scenario(ppl=wired), draws=1)


def test_an_input_that_nothing_feeds_is_named():
    bare = {"model": "resources/perplexity-from-parameters"}
    with pytest.raises(UnknownNameError, match=r"quantities\.ppl\.model needs an input: unknown quantity 'x'"):
        forecast.project(scenario(ppl=bare), draws=1)


def test_an_input_it_does_not_have_is_named():
    wired = {"model": "resources/perplexity-from-parameters", "inputs": {"z": "params"}}
    with pytest.raises(UnknownNameError, match="unknown input 'z'"):
        forecast.project(scenario(ppl=wired), draws=1)


def test_the_unit_of_a_wire_must_balance():
    with pytest.raises(UnitError, match=r"quantities\.ppl: input 'x' .* from 'params'.*USD") as caught:
        forecast.project(scenario(size={"value": 1, "unit": "USD"}), draws=1)
    assert "\n" not in str(caught.value)


def test_a_table_without_dates_cannot_be_read_as_of_a_date():
    model = forecast.model("resources/perplexity-from-parameters").model
    with pytest.raises(DataError, match="vintage"):
        model.fit(as_of=2020.0)


# --- far outside the data ---------------------------------------------------------------------------------------------

CHIPS = {
    "start": 2025,
    "until": 2026,
    "quantities": {
        "S": {"value": 2.0, "unit": ""},
        "A": {"value": 1e8, "unit": ""},
        "growth": {"model": "resources/chip-progress-from-effort"},
    },
}


def warned(run):
    return [*map(str, run.warnings)]


def test_bad_input_046_researchers_where_1e5_researchers_are_meant_are_warned_of_with_both_ranges():
    """The law takes S in 1e5 researchers; a series in researchers balances its units and is five decades out."""
    wired = {**CHIPS["quantities"], "S": {"model": "resources/chip-research"}}
    (said,) = warned(forecast.project({**CHIPS, "quantities": wired}, draws=50))
    assert said.startswith("growth: resources/chip-progress-from-effort: S is ")
    assert re.search(r"S is \d\.\d+e\+05 .* in the median draw, 5\.\d decades outside the data .*\(0\.439 to 4\)", said)


def test_inside_the_data_and_a_little_outside_nothing_is_said():
    assert warned(forecast.project(CHIPS, draws=50)) == []
    assert warned(forecast.project(CHIPS, draws=50, with_={"S": 10.0})) == []  # 0.4 decades


def test_far_below_is_as_far_as_far_above():
    (said,) = warned(forecast.project(CHIPS, draws=50, with_={"S": 0.1}))
    assert "S is 0.1 in the median draw, 0.6 decades outside" in said


def test_the_warning_does_not_depend_on_the_number_of_draws_or_workers():
    runs = [forecast.project(CHIPS, draws=n, workers=w, with_={"S": 1e5}) for n, w in ((10, 1), (3000, 1), (3000, 3))]
    assert warned(runs[0])
    assert len({str(warned(run)) for run in runs}) == 1


@pytest.mark.parametrize("name", ["S", "A"])
def test_bad_input_046_a_negative_input_is_refused_where_the_law_requires_it_above_zero(name):
    with pytest.raises(DataError, match=rf"chip-progress-from-effort: .*: expected {name} > 0, got -1"):
        forecast.project(CHIPS, draws=50, with_={name: -1.0})
