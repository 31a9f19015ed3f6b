import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

import forecast
from forecast import ClaimSpec
from forecast.claim_verdicts import (
    FAILED,
    evaluate,
    evaluate_all,
    interval,
    judge,
    required_value,
    verdict_counts_sentence,
)
from forecast.contract.registry import get_registry
from forecast.errors import FormulaError, PluginContractError


def claim(**changes):
    base = {
        "name": "demo", "group": "g", "statement": "s", "stated": "12", "formula": "n*4", "values": {"n": 3},
        "reference": "r",
    }  # fmt: skip
    return ClaimSpec(**{**base, **changes})


def shipped(name):
    return get_registry().find("claim", name).spec


@pytest.mark.parametrize(
    ("computed", "stated", "unit", "verdict"),
    [
        (100.5, "100", "", "agrees"),
        (99.5, "100", "", "agrees"),
        (100.51, "100", "", "disagrees"),
        (100.49, "100.0", "", "agrees"),
        (20.72, "21", "", "rounds"),
        (21.5, "21", "", "disagrees"),
        (20.49, "21", "", "disagrees"),
        (20.72, "21.0", "", "disagrees"),
        (1.0754e21, "1.08e21", "", "agrees"),
        (0.0977, "0.1", "", "rounds"),
        (-3.2, "-3", "", "rounds"),
        (0.0, "0", "", "agrees"),
        (2052.8, "2053", "date", "rounds"),
        (2053.1, "2053", "date", "agrees"),
        (2052.49, "2053", "date", "disagrees"),
        (2053.3, "2053.2", "date", "agrees"),
        (2046.5, "2037", "date", "disagrees"),
        (2046.5, "2037", "", "agrees"),  # 0.5 % of a calendar year is a decade: hence the unit "date"
    ],
)
def test_the_rule(computed, stated, unit, verdict):
    assert judge(computed, stated, unit) == verdict


@given(st.decimals(min_value="0.001", max_value=1_000_000, places=3))
def test_a_figure_agrees_with_itself(figure):
    assert judge(float(figure), str(figure)) == "agrees"
    assert judge(float(figure), str(figure), "date") == "agrees"


@pytest.mark.parametrize("stated", ["about 3", "3-4", "1,000", "", "nan", "inf", "3 %"])
def test_a_stated_figure_is_one_number(stated):
    with pytest.raises(FormulaError, match="expected one number"):
        judge(3.0, stated)


def test_a_claim_has_exactly_the_fields_of_the_contract():
    found = evaluate(claim())
    assert list(found) == ["id", "group", "statement", "stated", "computed", "unit", "verdict", "note", "source"]
    assert found["computed"] == 12.0
    assert found["verdict"] == "agrees"


@pytest.mark.parametrize("verdict", ClaimSpec.DECLARED)
def test_declared_verdicts_pass_through_and_are_computed_where_there_is_a_formula(verdict):
    found = evaluate(claim(declared=verdict, stated=""))
    assert (found["verdict"], found["computed"]) == (verdict, 12.0)
    empty = evaluate(claim(declared=verdict, stated="", formula="", values={}))
    assert (empty["verdict"], empty["computed"]) == (verdict, None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"formula": "n*m"}, "no value for 'm'"),
        ({"formula": "log(n - 3)"}, "no finite value"),
        ({"formula": "__import__('os').system('true')"}, "formula"),
        ({"stated": "a dozen"}, "expected one number"),
        ({"values": {"__import__('os')": 1.0, "n": 3}}, "name"),
    ],
)
def test_a_claim_that_cannot_be_computed_is_failed_with_its_reason(changes, reason):
    found = evaluate(claim(note="kept", **changes))
    assert found["verdict"] == FAILED
    assert found["computed"] is None
    assert reason in found["note"]
    assert found["note"].endswith("kept")


@pytest.mark.parametrize(
    ("computed", "stated", "hedged", "interval", "verdict"),
    [
        (103.5, "100", True, None, "about"),
        (106, "100", True, None, "about"),
        (94, "100", True, None, "about"),
        (106.1, "100", True, None, "disagrees"),
        (103.5, "100", False, None, "disagrees"),
        (100.5, "100", True, None, "agrees"),
        (9.76, "10", True, None, "rounds"),
        (0.6, "0", True, None, "disagrees"),
        (120, "100", False, (90, 150), "compatible"),
        (120, "100", False, (100, 150), "compatible"),
        (120, "100", False, (100.1, 150), "disagrees"),
        (120, "100", False, (90, math.inf), "compatible"),
        (103.5, "100", True, (90, 150), "compatible"),  # the interval says more than a word does
        (103.5, "100", True, (101, 150), "about"),
        (100.2, "100", True, (90, 150), "agrees"),
    ],
)
def test_a_hedge_and_an_estimate_are_judged_after_the_digits(computed, stated, hedged, interval, verdict):
    assert judge(computed, stated, hedged=hedged, interval=interval) == verdict


def test_only_what_is_marked_is_about():
    near = claim(stated="12.5", statement="about 12 and a half")
    assert evaluate(near)["verdict"] == "disagrees"
    assert evaluate(replace(near, hedge="about"))["verdict"] == "about"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hedge": "more than"}, "hedge: expected one of about, almost, approximately, .* got 'more than'"),
        ({"hedge": "about"}, "hedge: 'about' does not stand in the statement"),
        ({"hedge": "about", "statement": "roundabout 3"}, "hedge: 'about' does not stand in the statement"),
        ({"hedge": "about", "statement": "about 2050", "unit": "date"}, "hedge: a share of a calendar year"),
        ({"hedge": "about", "statement": "about 3", "tolerance": 1}, "hedge: is part of the general rule"),
        ({"hedge": "about", "statement": "about 3", "declared": "scenario"}, "hedge: is part of the general rule"),
        ({"estimate": True}, "estimate: expected one fact or answer"),
        ({"estimate": True, "facts": {"a": "m.a", "b": "m.b"}}, "estimate: expected one fact or answer"),
        ({"estimate": True, "facts": {"a": "m.a"}, "tolerance": 1}, "estimate: is part of the general rule"),
        ({"estimate": "yes"}, "estimate: expected true or false"),
        ({"alias": "demo"}, "alias: expected lower case letters, digits and hyphens, and not the name"),
        ({"alias": "g"}, "alias: expected lower case letters"),
        ({"alias": "Two words"}, "alias: expected lower case letters"),
    ],
)
def test_marks_that_cannot_be_are_refused(changes, reason):
    with pytest.raises(PluginContractError, match=f"ClaimSpec 'demo': {reason}"):
        claim(**changes)


def test_the_interval_is_the_formula_at_the_ends_of_what_goes_in():
    facts = forecast.model("hardware/linpack@exponential").fit().describe().facts
    fact = {"x": "hardware/linpack@exponential.doubling_years"}
    falling = claim(formula="n/x", facts=fact, estimate=True)
    assert interval(falling) == pytest.approx((3 / facts["doubling_p95"], 3 / facts["doubling_p05"]), rel=1e-9)
    rate = claim(formula="x", facts={"x": "hardware/linpack@exponential.growth_per_year"}, values={}, estimate=True)
    assert interval(rate) == pytest.approx((facts["growth_p05"], facts["growth_p95"]), rel=1e-9)
    assert interval(claim()) is None


def test_the_interval_of_an_answer_is_that_of_its_worlds():
    asked = of_scenario(scenario="capability/kwa-2026", draws=256, stated="2035", estimate=True)
    ends = [
        evaluate(replace(asked, estimate=False, answers={"x": f"automation {level}"}))["computed"]
        for level in ("p5", "p95")
    ]
    assert interval(asked) == pytest.approx(ends, rel=1e-9)
    assert ends[0] < 2035 < ends[1]
    assert evaluate(asked)["verdict"] == "compatible"
    assert evaluate(replace(asked, estimate=False))["verdict"] == "disagrees"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"facts": {"x": "hardware/linpack@exponential.n"}}, "unknown fact 'n_p05'"),
        ({"scenario": "capability/kwa-2026-midpoints", "draws": 1, "answers": {"x": "automation by 2030"}},
         "answers.x: an estimate reads a median, as 'spend p50 2030', got 'automation by 2030'"),
    ],
)  # fmt: skip
def test_an_estimate_without_an_interval_is_a_failed_claim(changes, reason):
    found = evaluate(claim(formula="x", values={}, estimate=True, **changes))
    assert found["verdict"] == FAILED
    assert reason in found["note"]


def test_solved_for_the_nearest_value():
    answer = required_value(claim(stated="20", solve_for="n"))
    assert answer["value"] == pytest.approx(5.0)
    square = required_value(claim(formula="n**2 + m", values={"n": -3, "m": 1}, stated="26", solve_for="n"))
    assert square["value"] == pytest.approx(-5.0)  # of two solutions the one nearest to what was used
    nothing = required_value(claim(formula="exp(n)", stated="-1", solve_for="n"))
    assert nothing["value"] is None
    assert nothing["sentence"] == "-1 would be true with no value of n"
    assert required_value(claim()) is None


def test_headline_counts():
    assert verdict_counts_sentence([]) == "0 claims: nothing to compute"
    assert verdict_counts_sentence([{"verdict": "failed"}]) == "1 claim: 1 failed"


@pytest.mark.parametrize(
    ("name", "change", "noted"),
    [
        ("hpc-21-doublings", {"brain_flops": 1.075e21}, "20.82"),
        ("parity-2037", {"from_year": 2013}, "2044.5"),
        ("parity-2053", {"from_year": 2013}, "2050.8"),
        ("parity-2078", {"from_year": 2013}, "2076.0"),
        ("hpcg-backtest", {"from_year": 2014.46}, "2.24"),
    ],
)
def test_the_variants_in_the_notes_are_what_they_compute(name, change, noted):
    from forecast.formula import parse

    spec = shipped(name)
    value = parse(spec.formula).evaluate({**spec.values, **change})
    assert f"{value:.{len(noted.partition('.')[2])}f}" == noted
    assert noted in spec.note


def test_which_doubling_time_makes_2037_true():
    spec = shipped("parity-2037")
    answer = required_value(spec)
    assert answer["value"] == pytest.approx(22 / 21)
    assert answer["sentence"] == "2037 would be true with a doubling time of 1.05 years (from 2015)"
    earlier = required_value(claim(formula=spec.formula, values={**spec.values, "from_year": 2013}, stated="2037",
                           solve_for="doubling_time_years"))  # fmt: skip
    assert f"{earlier['value']:.2f}" == "1.14"
    assert "1.14" in spec.note


def test_inputs_from_memory_are_marked():
    assert "from memory" in shipped("hpcg-backtest").note


def test_one_failed_claim_leaves_the_rest(fake_plugins):  # every claim is judged in tests/cli and by its plugin's tests
    fake_plugins.add(
        "demo",
        "def forecast_claims():\n"
        "    for name, formula in (('bad', 'n*m'), ('good', 'n'), ('parity-2037', 'n')):\n"
        "        yield ClaimSpec(name=name, group='demo', statement='s', stated='3', formula=formula,\n"
        "                        values={'n': 3}, reference='r')\n",
    )
    records = [r for r in get_registry().records("claim") if r.spec.group in ("demo", "parity")]
    found = {c["id"]: c["verdict"] for c in evaluate_all(records)}
    assert found["bad"] == FAILED
    assert found["good"] == "agrees"
    assert found["demo/parity-2037"] == "agrees"  # a bare name that two plugins use is shown in full
    assert found["hardware/parity-2037"] == "disagrees"


def test_figures_are_read_from_fitted_models():
    fact = {"doubling": "hardware/linpack@exponential.doubling_years"}
    found = evaluate(claim(formula="n*doubling", facts=fact, stated="3.9"))
    years = forecast.model("hardware/linpack@exponential").fit().describe().facts["doubling_years"]
    assert found["computed"] == pytest.approx(3 * years, rel=1e-9)
    answer = required_value(claim(formula="n*doubling", facts=fact, stated="3.9", solve_for="n"))
    assert answer["value"] == pytest.approx(3.9 / years)


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        ("hardware/linpack@exponential.doubling_year", "did you mean 'doubling_years'"),
        ("hardware/linpack-exponentail.doubling_years", "did you mean 'hardware/linpack@exponential'"),
        ("doubling_years", "expected 'plugin/model.fact'"),
    ],
)
def test_a_fact_that_is_not_there_fails_the_claim(fact, reason):
    found = evaluate(claim(formula="n*x", facts={"x": fact}))
    assert found["verdict"] == FAILED
    assert reason in found["note"]
    assert "claim 'demo': facts.x" in found["note"]


# --- figures of scenarios ---------------------------------------------------------------------------------------------


def of_scenario(**changes):
    asked = {"scenario": "capability/kwa-2026-midpoints", "draws": 1, "formula": "x", "values": {}, "stated": "2033"}
    return claim(**{**asked, "answers": {"x": "automation p50"}, "unit": "date", **changes})


def test_a_claim_reads_the_answers_of_a_scenario():
    found = evaluate(of_scenario())
    assert found["computed"] == pytest.approx(2033.0645, abs=1e-4)
    assert found["verdict"] == "agrees"
    later = evaluate(of_scenario(settings={"f0": "0.3"}))
    assert later["computed"] > found["computed"]


def test_a_claim_may_state_its_tolerance():
    assert evaluate(of_scenario(tolerance=0.06))["verdict"] == "disagrees"
    assert evaluate(of_scenario(tolerance=0.065))["verdict"] == "agrees"
    assert judge(20.72, "21", tolerance=0.1) == "disagrees"  # it stands instead of rounding, too


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"answers": {"x": "automation"}}, "answers.x: expected 'QUESTION p50'"),
        ({"answers": {"x": "automaton p50"}}, "did you mean 'automation'"),
        ({"answers": {"x": "f p50"}}, "'f' changes with time: expected a year"),
        ({"answers": {"x": "automation by"}}, "by when?"),
        ({"answers": {"x": "automation median"}}, "got 'median'"),
        ({"scenario": "capability/kwa-2027"}, "did you mean 'capability/kwa-2026'"),
    ],
)
def test_what_cannot_be_read_is_a_failed_claim(changes, reason):
    found = evaluate(of_scenario(**changes))
    assert found["verdict"] == FAILED
    assert reason in found["note"]


def test_answers_and_a_scenario_go_together():
    with pytest.raises(PluginContractError, match="answers: a scenario, and what is read from its answers"):
        claim(answers={"x": "tai p50"})
