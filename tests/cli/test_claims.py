import json

import pytest

from forecast import claim_verdicts as claims
from forecast.contract.registry import get_registry
from toolkit import command, json_of

run = command("claims")


def test_headline_then_table(capsys):
    code, out, err = run(capsys, "--group", "parity")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "5 claims: 1 agrees, 2 round, 1 disagrees, 1 ours"
    assert any(line.startswith("parity-2037") and "disagrees" in line for line in lines)
    assert err == ""


def test_one_claim_says_what_would_make_it_true(capsys):
    code, out, _ = run(capsys, "parity-2037")
    assert code == 0
    assert out.splitlines()[0] == "parity-2037: disagrees (stated 2037, computed 2046.5)"
    assert "2037 would be true with a doubling time of 1.05 years (from 2015)" in out


def test_json(capsys):
    _, out, err = run(capsys, "--group", "parity", "--json")
    answer = json_of(out)
    assert list(answer) == ["command", "result", "warnings", "provenance"]
    assert err == ""
    assert {c["id"] for c in answer["result"]} >= {"parity-2037", "hpcg-backtest"}
    for found in answer["result"]:
        assert set(found) == {
            "id", "group", "statement", "stated", "computed", "unit", "verdict", "note", "source",
        }  # fmt: skip


def test_without_a_group_all_are_judged(capsys, monkeypatch):
    every = get_registry().records("claim")
    monkeypatch.setattr(
        claims, "evaluate_all", lambda records, **options: [{"id": r.full_name, "verdict": "ours"} for r in records]
    )
    assert {row["id"] for row in run(capsys, "--json").json["result"]} == {r.full_name for r in every}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["party-2037"], "did you mean 'hardware/parity-2037'"),
        (["--group", "paritie"], "did you mean 'parity'"),
        (["parity-2037", "--group", "cost"], "unknown group"),
        (["--group", "parity,hardwear"], "did you mean 'hardware'"),
        (["--group", "parity,"], "unknown group of claims ''"),
        (["--grup", "x"], "No such option"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(capsys, words, says):
    assert says in run(capsys, *words).refused()


@pytest.mark.slow
def test_a_failed_claim_is_listed_and_warned_of(fake_plugins, capsys):
    fake_plugins.add(
        "demo",
        "def forecast_claims():\n"
        "    yield ClaimSpec(name='bad', group='demo', statement='s', stated='3', formula='n*m', values={'n': 3},\n"
        "                    reference='r')\n",
    )
    # those of the published models are judged in tests/plugins/capability
    judged = [r for r in get_registry().records("claim") if r.plugin.name != "capability"]
    code, out, err = run(capsys, "--group", ",".join({r.spec.group for r in judged}))
    assert code == 0
    opening = " ".join(out.partition("\n\n")[0].split())
    assert "1 failed" in opening
    assert f"{len(judged)} claims" in opening
    assert "claim 'bad' failed" in err
    assert "no value for 'm'" in err


@pytest.mark.slow
def test_groups_are_joined_and_a_claim_may_be_in_several(capsys):
    ids = [c["id"] for c in json.loads(run(capsys, "--group", "hardware,parity", "--json")[1])["result"]]
    assert len(ids) == len(set(ids))
    alone = {c["id"] for c in json.loads(run(capsys, "--group", "hardware", "--json")[1])["result"]}
    assert alone == set(ids) > {"parity-2037", "psu-rule"}
    assert json.loads(run(capsys, "parity-2037", "--group", "hardware", "--json")[1])["result"]["group"] == "parity"


def test_dated_forecasts_are_judged_and_added_up(capsys):
    answer = run(capsys, "--forecasts", "--json").json["result"]
    kinds = {row["kind"]: row for row in answer["kinds"]}
    assert set(kinds) == {"date", "value", "probability"}
    assert {claim["group"] for claim in answer["claims"]} == {"forecasts"}
    assert sum(row["n"] for row in kinds.values()) == len(answer["claims"])
    decided = sum(row["decided"] for row in kinds.values())
    hits = sum(claim["verdict"] == "hit" for claim in answer["claims"])
    assert answer["headline"].startswith(f"{hits} of {decided} dated forecasts whose outcome is known came true (")
    code, out, err = run(capsys, "--forecasts")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert " ".join(out.partition("\n\n")[0].split()) == answer["headline"]
    (line,) = [line for line in lines if line.startswith("date: ")]
    assert line.startswith(f"date: {kinds['date']['hits']} of {kinds['date']['decided']} came true (")
    assert any(line.startswith("probability: ") and "Brier score" in line for line in lines)


def test_one_dated_forecast_and_the_rest_of_the_claims(capsys):
    code, out, _ = run(capsys, "first-100-petaflops")
    assert code == 0
    assert out.splitlines()[0] == "first-100-petaflops: late (forecast 2015.5, outcome 2018.45)"
    said = run(capsys, "first-100-petaflops", "--forecasts")
    assert "--forecasts: is about all of them" in said.refused()
    none = run(capsys, "--group", "parity", "--forecasts", "--json").json["result"]
    assert none == {"headline": "No dated forecast has an outcome that counts.", "kinds": [], "claims": []}


# --- several claims of one statement ----------------------------------------------------------------------------------

STEPS = ["vision-steps-20", "vision-steps-80", "vision-steps-200"]


def test_an_alias_shows_every_claim_of_its_statement(capsys):
    code, out, err = run(capsys, "vision-steps")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "3 claims: 3 agree"
    assert [line.partition(":")[0] for line in lines if line.startswith("vision")] == STEPS
    result = run(capsys, "vision-steps", "--json").json["result"]
    assert [claim["id"] for claim in result] == STEPS
    assert result == [run(capsys, name, "--json").json["result"] for name in STEPS]
    assert run(capsys, "brain/vision-steps", "--group", "brain").out == out
    assert "unknown group of claims 'resources'" in run(capsys, "vision-steps", "--group", "resources").refused()
    assert "did you mean 'brain/vision-steps'" in run(capsys, "vision-stepz").refused()


SHARED = """
def forecast_claims():
    for name, alias, group in {claims!r}:
        yield ClaimSpec(name=name, alias=alias, group=group, statement='s', stated='3', formula='3', reference='r')
"""


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ([("a", "pair", "g"), ("pair", "", "g")], "claim 'a': alias: there is a claim 'pair' already"),
        ([("a", "pair", "g"), ("b", "", "pair")], "claim 'a': alias: there is a group of claims 'pair' already"),
    ],
)
def test_an_alias_that_means_something_else_already_is_refused(fake_plugins, claims, reason):
    fake_plugins.add("demo", SHARED.format(claims=claims))
    (plugin,) = get_registry().plugin("demo")
    assert plugin.status == "failed"
    assert reason in plugin.reason


def test_a_name_that_two_plugins_offer_is_named_in_full(fake_plugins, capsys):
    fake_plugins.add("demo", SHARED.format(claims=[("vision-steps", "", "g"), ("a", "teps-as-flops", "g")]))
    for name in ("vision-steps", "teps-as-flops"):
        said = run(capsys, name).refused()
        assert f"claim '{name}' is offered by several plugins: brain/{name}, demo/{name}" in said
    assert run(capsys, "demo/vision-steps").out.startswith("vision-steps: agrees")
    assert run(capsys, "demo/teps-as-flops").out.startswith("1 claim: 1 agrees")


# --- what is printed --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_line_fits_a_terminal_and_breaks_no_word(capsys):
    whole = run(capsys, "--group", "brain,resources,forecasts", "--json").json["result"]
    out = run(capsys, "--group", "brain,resources,forecasts").out
    assert max(map(len, out.splitlines())) <= 80
    told = " ".join(out.split())
    for claim in whole:
        assert f"{claim['id']}: {claim['verdict']} (" in told
        assert f") {' '.join(claim['statement'].split())}" in told
    for name in ("parity-hpcg-end-to-end", "fp16-per-dollar-doubling", "ai-2027-a-p50", "gpu-utilisation"):
        lines = run(capsys, name).out.splitlines()
        assert max(map(len, lines)) <= 80


def test_an_estimate_shows_its_interval_and_a_hedge_its_word(capsys):
    result = run(capsys, "fp32-doubling", "--json").json["result"]
    low, high = result["interval"]["p05"], result["interval"]["p95"]
    assert result["verdict"] == "compatible"
    assert low < 2.3 < high
    out = run(capsys, "fp32-doubling").out
    assert out.startswith("fp32-doubling: compatible (stated 2.3, computed ")
    assert f"\n90 % interval  {low:.6g} to {high:.6g}\n" in out
    listed = " ".join(run(capsys, "--group", "hardware").out.split())
    assert f"doubles in 2.3 years (computed, 90 %: {low:.3g} to {high:.3g}) " in listed
    assert "interval" not in run(capsys, "perf-per-dollar", "--json").json["result"]
    out = run(capsys, "perf-per-dollar").out
    assert out.startswith("perf-per-dollar: about (stated 100, computed 103.478 USD/year)")
    assert "\nhedge      about\n" in out


def test_a_dated_forecast_shows_its_outcome(capsys):
    assert run(capsys, "desktop-30-gigahertz").out.splitlines()[0].endswith("(forecast 30, outcome 5.2 GHz)")
    assert run(capsys, "brain-parity-dettmers-2015").out.splitlines()[0].endswith("(forecast 2037, no outcome yet)")
