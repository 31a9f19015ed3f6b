import json

import pytest

from forecast.contract.registry import get_registry
from toolkit import command, json_of, spawn

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


def test_a_full_name_finds_the_same(capsys):
    assert run(capsys, "hardware/parity-2037")[1] == run(capsys, "parity-2037")[1]


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


def test_json_of_one(capsys):
    _, out, _ = run(capsys, "parity-2037", "--json")
    result = json.loads(out)["result"]
    assert result["solved"]["value"] == pytest.approx(22 / 21)


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
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_failed_claim_is_listed_and_warned_of(fake_plugins, capsys):
    fake_plugins.add(
        "demo",
        "from forecast import ClaimSpec, hookimpl\n"
        "@hookimpl\n"
        "def forecast_claims():\n"
        "    yield ClaimSpec(name='bad', group='demo', statement='s', stated='3', formula='n*m', values={'n': 3},\n"
        "                    reference='r')\n",
    )
    code, out, err = run(capsys)
    assert code == 0
    assert "1 failed" in out.splitlines()[0]
    shipped = len([r for r in get_registry().records("claim") if r.plugin.name != "demo"])
    assert f"{shipped + 1} claims" in out.splitlines()[0]
    assert "claim 'bad' failed" in err
    assert "no value for 'm'" in err


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
    assert lines[0] == answer["headline"]
    assert lines[2].startswith(f"date: {kinds['date']['hits']} of {kinds['date']['decided']} came true (")
    assert "Brier score" in lines[4]


def test_one_dated_forecast_and_the_rest_of_the_claims(capsys):
    code, out, _ = run(capsys, "first-100-petaflops")
    assert code == 0
    assert out.splitlines()[0] == "first-100-petaflops: late (stated 2015.5, computed 2018.45)"
    said = run(capsys, "first-100-petaflops", "--forecasts")
    assert "--forecasts: is about all of them" in said.refused()
    none = run(capsys, "--group", "parity", "--forecasts", "--json").json["result"]
    assert none == {"headline": "No dated forecast has an outcome that counts.", "kinds": [], "claims": []}


def test_the_record_of_others_in_a_process_of_its_own():
    done = spawn("claims", "--forecasts")
    assert (done.returncode, done.stderr) == (0, "")
    assert "dated forecasts whose outcome is known came true" in done.stdout.splitlines()[0]
