"""``forecast compare``: information criteria beside extrapolation error, and what failed."""

import json

import numpy as np
import pytest

from forecast.cli import main
from forecast.tables import csvfile

LAWS = ("scaling/power", "scaling/saturating-power")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.geomspace(10, 1e4, 40)
    y = (1.7 + 8 * x**-0.35) * np.exp(0.01 * np.random.default_rng(1).standard_normal(40))
    csvfile.write(tmp_path / "curve.csv", {"x": x, "y": y})
    return "curve.csv"


def run(capsys, *words):
    code = main(["compare", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_winner_by_each_measure_is_said(capsys, data):
    code, out, err = run(capsys, *LAWS, "a + b*log(x)", "--variables", "x", "--data", data)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == (
        "scaling/saturating-power explains the 40 points best (AICc), "
        "and also forecasts the larger ones best from the smaller ones."
    )
    row = next(line for line in lines[1:] if line.startswith("scaling/saturating-power "))
    assert row.count("*") == 4
    assert "5 of 5" in row


def test_one_law_wins_nothing(capsys, data):
    code, out, _ = run(capsys, LAWS[0], "--data", data)
    assert code == 0
    assert out.splitlines()[0] == f"{LAWS[0]} is alone on the 40 points: name another law to compare it with."


def test_json_is_a_list_of_laws(capsys, data):
    code, out, _ = run(capsys, *LAWS, "--data", data, "--json")
    found = json.loads(out, parse_constant=pytest.fail)
    assert code == 0
    assert list(found) == ["command", "result", "warnings", "provenance"]
    assert [row["law"] for row in found["result"]["laws"]] == list(LAWS)
    assert found["result"]["best"] == dict.fromkeys(("aic", "aicc", "bic", "rollout"), LAWS[1])
    for row in found["result"]["laws"]:
        assert row["aicc"] > row["aic"]
        assert row["failed"] is None


def test_a_law_that_fails_is_listed_and_the_others_are_answered(capsys, data):
    many = " + ".join(f"a{i}*x**{i}" for i in range(8))
    words = ("--variables", "x", "--data", data, "--where", "x <= 25", "--json")
    code, out, _ = run(capsys, LAWS[0], many, *words)
    found = json.loads(out)
    assert code == 1
    assert "cannot determine 8 parameters" in found["result"]["laws"][1]["failed"]
    assert found["result"]["laws"][0]["failed"] is None
    assert any("cannot determine 8 parameters" in line for line in found["warnings"])


@pytest.mark.bad_input(79)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "Missing argument"),
        (["scaling/powr"], "did you mean 'scaling/power'"),
        ([*LAWS, "--objective", "least"], "unknown objective 'least'"),
        ([*LAWS, "--by", "z"], "unknown column 'z'"),
        ([*LAWS, "--y", "z"], "unknown column 'z'"),
        (["a + b*x"], "needs its variables"),
    ],
)
def test_bad_input_079_wrong_usage_is_one_line(capsys, data, words, says):
    code, out, err = run(capsys, *words, "--data", data)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1
