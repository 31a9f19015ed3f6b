"""``forecast compare``: information criteria beside extrapolation error, and what failed."""

import json
from pathlib import Path

import pytest

import forecast
from forecast.tables import csv_format
from toolkit import command, json_of, saturating

LAWS = ("scaling/power", "scaling/saturating-power")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv_format.write_csv(tmp_path / "curve.csv", saturating(40, 0.01, seed=1))
    return "curve.csv"


run = command("compare")


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


def test_laws_that_differ_by_rounding_cannot_be_told_apart(capsys, data):
    words = ("a*x**b", "c*x**d", "--variables", "x", "--data", data)
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert out.splitlines()[0] == (
        "a*x**b and c*x**d explain the 40 points best (AICc), and also forecast the larger ones best from the smaller "
        "ones (they cannot be told apart)."
    )
    assert out.count("*\n") + out.count(" * ") >= 8
    found = json.loads(run(capsys, *words, "--json")[1])["result"]
    assert set(found["best"].values()) == {None}
    assert found["tied"]["aicc"] == ["a*x**b", "c*x**d"]


def test_the_warnings_of_the_fits_are_said(capsys, data):
    words = ("a*x**b", LAWS[1], "--variables", "x", "--data", data, "--objective", "poisson")
    code, _, err = run(capsys, *words)
    assert code == 0
    assert err.count("objective 'poisson' expects counts") == 2
    assert "forecast: warning: a*x**b: objective 'poisson'" in err
    found = json.loads(run(capsys, *words, "--json")[1])
    assert "expects counts" in found["result"]["laws"][0]["warnings"][0]
    assert any("expects counts" in line for line in found["warnings"])


def test_one_law_wins_nothing(capsys, data):
    code, out, _ = run(capsys, LAWS[0], "--data", data)
    assert code == 0
    assert out.splitlines()[0] == f"{LAWS[0]} is alone on the 40 points: name another law to compare it with."


def test_json_is_a_list_of_laws(capsys, data):
    code, out, _ = run(capsys, *LAWS, "--data", data, "--json")
    found = json_of(out)
    assert code == 0
    assert list(found) == ["command", "result", "read", "warnings", "provenance"]
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


def few(points):
    Path("few.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in points))
    return "few.csv"


POINTS = ((10, 3.1), (20, 2.6), (40, 2.3), (80, 2.2))


def test_too_few_points_to_compare_anything_is_a_failure_with_reasons(capsys, data):
    words = (*LAWS, "a + b*log(x)", "--variables", "x", "--data", few(POINTS[:2]))
    code, out, err = run(capsys, *words, "--json")
    found = json.loads(out)
    assert (code, err) == (1, "")
    reasons = {row["law"]: row["failed"] for row in found["result"]["laws"]}
    assert reasons[LAWS[0]].startswith("2 points leave no error to judge 2 parameters by; no fit to the smallest")
    assert "2 points cannot determine 3 parameters" in reasons[LAWS[1]]
    assert set(found["result"]["best"].values()) == {None}
    assert all(row[m] is None for row in found["result"]["laws"] for m in ("aic", "aicc", "bic", "rollout"))
    assert len(found["warnings"]) == 3
    assert not any(line.count(f"{LAWS[1]}:") > 1 for line in found["warnings"])
    code, out, err = run(capsys, *words)
    assert code == 1
    assert out.splitlines()[0] == "No law can be judged on these data."
    assert all(reason in out for reason in reasons.values())
    assert "*  " not in out.split("objective")[0]
    assert err.count("forecast: warning: ") == 3


def test_what_one_law_lacks_is_said_and_the_others_are_compared(capsys, data):
    words = (*LAWS, "a + b*log(x)", "--variables", "x", "--data", few(POINTS[:3]))
    code, out, _ = run(capsys, *words, "--json")
    found = json.loads(out)["result"]
    assert code == 0
    assert [bool(row["failed"]) for row in found["laws"]] == [False, True, False]
    assert found["laws"][0]["without"] == {"aicc": "2 parameters take at least 5 points, got 3"}
    assert (found["best"]["aic"], found["best"]["aicc"]) == (LAWS[0], None)
    assert "explains the 3 points best (AIC)," in found["headline"]
    assert "2 parameters take at least 5 points, got 3" in run(capsys, *words)[1]


def test_the_only_law_that_can_be_judged_is_best_of_nothing(capsys, data):
    code, out, _ = run(capsys, *LAWS, "--data", few(POINTS[:3]))
    assert code == 1
    assert out.splitlines()[0] == f"Only {LAWS[0]} can be judged on the 3 points: there is nothing to compare it with."


def test_a_fit_that_did_not_converge_has_no_criterion_and_no_rank(capsys, data, monkeypatch):
    whole = forecast.Law.fit

    def fit(law, *given, **options):
        found = whole(law, *given, **options)
        found.solutions.converged[:] = law.name != LAWS[1]
        return found

    monkeypatch.setattr(forecast.Law, "fit", fit)
    code, out, _ = run(capsys, *LAWS, "a + b*log(x)", "--variables", "x", "--data", data, "--json")
    found = json.loads(out)["result"]
    failed = found["laws"][1]
    assert (code, failed["failed"], failed["converged"]) == (0, "the fit did not converge", False)
    assert [failed[m] for m in ("aic", "aicc", "bic", "rollout")] == [None] * 4
    assert LAWS[1] not in found["best"].values()


def test_an_objective_that_is_no_likelihood_says_so(capsys, data):
    code, out, _ = run(capsys, *LAWS, "--data", data, "--objective", "huber_log")
    assert code == 0
    assert out.count("the objective 'huber_log' is no likelihood") == 2


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
    assert says in run(capsys, *words, "--data", data).refused()


@pytest.mark.slow
def test_a_law_that_cannot_follow_is_never_the_best(capsys, reference_data):
    data = str(reference_data / "own_files" / "17-rising.csv")
    words = ("--data", data, "--let", "x=tokens", "--y", "accuracy")
    code, out, _ = run(capsys, *LAWS, "resources/log-linear", *words, "--json")
    found = json_of(out)["result"]
    assert code == 0
    assert set(found["best"].values()) == {"resources/log-linear"}
    assert [row["opposed"] for row in found["laws"]] == ["accuracy rises with tokens, this law only falls"] * 2 + [None]
    code, out, _ = run(capsys, *LAWS, *words)
    assert out.startswith("No law goes where these data go.")
    assert out.count("cannot follow") == 2
    assert "*" not in out.partition("objective")[0]
