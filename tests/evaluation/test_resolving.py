"""Outcomes: what each kind of forecast scores, up to which date, and how the scores of a ledger add up."""

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import trapezoid

from forecast.errors import UnknownNameError, UsageError
from forecast.evaluation import ledger, scores
from toolkit import DATE, VALUE

UNIFORM = {
    **DATE,
    "points": [2026 + 10 * (i + 0.5) / 100 for i in range(100)],
    "quantiles": {
        "p05": "2026-07-02",
        "p25": "2028-07-02",
        "p50": "2031-01-01",
        "p75": "2033-07-02",
        "p95": "2035-07-02",
    },
    "by": [{"date": "2028-01-01", "probability": 0.2}, {"date": "2031-01-01", "probability": 0.5}],
}


@pytest.fixture(autouse=True)
def later(monkeypatch):
    """Let the dates of these tests have come."""
    monkeypatch.setattr(ledger, "today", lambda: "2046-01-01")


@pytest.fixture
def book(tmp_path):
    """Return a ledger of a date that is uniform over ten years, one that may never come, and a value."""
    path = tmp_path / "ledger.jsonl"
    ledger.append(path, [UNIFORM, DATE, VALUE])
    return path, [record["sha256"] for record in ledger.read_ledger(path)]


def uniform_crps(y: float, cut: float = 10.0) -> float:
    """Return the integral of the squared distance between the two distribution functions, up to a cut."""
    t = np.linspace(0, cut, 200_001)
    return float(trapezoid((t / 10 - (t >= y)) ** 2, t))


def test_a_date_that_came(book):
    path, ids = book
    found = ledger.resolve_forecast(path, ids[0][:8], "2030-01-01", on="2030-02-01")
    assert found["final"]
    assert found["held"] is True
    assert found["crps"] == pytest.approx(uniform_crps(4.0), abs=1e-3)
    levels = np.array([0.5, 2.5, 5.0, 7.5, 9.5])
    exact = 2 * np.mean([(4 - q) * (tau - (q > 4)) for q, tau in zip(levels, scores.QUANTILES, strict=True)])
    assert found["wis"] == pytest.approx(exact, abs=2e-3)
    early, late = found["by"]
    assert (early["came"], late["came"]) == (False, True)
    assert early["brier"] == pytest.approx(0.04, abs=1e-12)
    assert early["log_loss"] == pytest.approx(-np.log(0.8), abs=1e-12)
    assert late["log_loss"] == pytest.approx(np.log(2), abs=1e-12)
    assert found["replaces"] is None


def test_what_has_not_come_is_scored_up_to_that_date_alone(book):
    path, ids = book
    found = ledger.resolve_forecast(path, ids[0], "never", on="2029-01-01")
    assert not found["final"]
    assert found["held"] is None
    assert found["crps"] == pytest.approx(uniform_crps(np.inf, cut=3.0), abs=1e-3)
    assert [row["date"] for row in found["by"]] == ["2028-01-01"]
    # what a forecast says beyond that date does not count yet
    beyond = {**UNIFORM, "points": [min(p, 2029.0) if p < 2029 else 2035.9 for p in UNIFORM["points"]]}
    told = {"outcome": "never", "on": "2029-01-01"}
    same = ledger.score_forecast({**beyond, "sha256": "0" * 64}, told)
    assert same["crps"] == pytest.approx(found["crps"], abs=1e-12)


def test_an_interval_that_can_hold_no_more_has_failed_before_the_event(book):
    path, ids = book
    sure = ledger.score_forecast({**UNIFORM, "sha256": "0" * 64}, {"outcome": "never", "on": "2035-09-01"})
    assert (sure["final"], sure["held"]) == (False, False)
    path, ids = book
    open_ended = ledger.resolve_forecast(path, ids[1], "never", on="2029-01-01")
    assert (open_ended["final"], open_ended["held"]) == (False, True)  # 5 % lie behind, and 95 % is never


def test_never_by_the_horizon_is_final(book):
    path, ids = book
    found = ledger.resolve_forecast(path, ids[0], "never", on="2036-01-01")
    assert (found["final"], found["held"]) == (True, False)
    assert found["crps"] == pytest.approx(uniform_crps(np.inf), abs=1e-3)
    assert ledger.resolve_forecast(path, ids[1], "never", on="2040-01-01")["held"] is True
    # one that came after the horizon was never by it
    late = ledger.resolve_forecast(path, ids[0], "2039-01-01", on="2040-01-01")
    assert late["crps"] == pytest.approx(found["crps"], abs=1e-12)
    assert late["replaces"] == "never"


def test_a_value_is_scored_in_its_unit_and_in_logarithms(book):
    path, ids = book
    found = ledger.resolve_forecast(path, ids[2], "3", on="2030-01-01", source="annual report")
    points, levels = xr.DataArray(VALUE["points"], dims="draw"), np.array(list(VALUE["quantiles"].values()))
    assert found["crps"] == pytest.approx(float(scores.crps(points, xr.DataArray(3.0))), abs=1e-12)
    apart = np.log(3) - np.log(levels)
    exact = 2 * np.mean(apart * (np.array(scores.QUANTILES) - (apart < 0)))
    assert found["wis"] == pytest.approx(exact, abs=1e-12)
    assert found["held"] is True
    assert ledger.read_ledger(path)[-1]["source"] == "annual report"
    below = ledger.resolve_forecast(path, ids[2], -1.0, on="2031-01-01")
    assert (below["wis"], below["held"], below["replaces"]) == (None, False, 3.0)


def test_a_probability_of_few_worlds_is_no_certainty():
    sure = {**UNIFORM, "sha256": "0" * 64, "draws": 50, "by": [{"date": "2028-01-01", "probability": 0.0}]}
    (row,) = ledger.score_forecast(sure, {"outcome": "2027-01-01", "on": "2027-02-01"})["by"]
    assert row["brier"] == 1.0
    assert row["log_loss"] == pytest.approx(np.log(100), abs=1e-12)


def test_what_is_open_and_what_is_due(book):
    path, ids = book
    rows = {row["id"]: row for row in ledger.forecast_rows(ledger.read_ledger(path))}
    assert [rows[each[:8]]["next"] for each in ids] == ["2028-01-01", "2030-01-01", "2030-01-01"]
    assert {row["due"] for row in rows.values()} == {None}
    due = [row["due"] for row in ledger.forecast_rows(ledger.read_ledger(path), "2029-12-31")]
    assert due == [True, False, False]
    ledger.resolve_forecast(path, ids[0], "never", on="2029-01-01")
    ledger.resolve_forecast(path, ids[2], 3, on="2030-01-01")
    first, second, third = ledger.forecast_rows(ledger.read_ledger(path), "2031-01-01")
    assert (first["next"], first["due"]) == ("2031-01-01", True)
    assert (second["next"], second["score"]) == ("2030-01-01", None)
    assert (third["next"], third["due"], third["score"]["held"]) == (None, False, True)
    ledger.resolve_forecast(path, ids[0], "never", on="2032-01-01")
    assert ledger.forecast_rows(ledger.read_ledger(path))[0]["next"] == "2036-01-01"


def test_the_scores_of_a_ledger_are_means_of_what_is_known(book):
    path, ids = book
    assert ledger.mean_scores(ledger.forecast_rows(ledger.read_ledger(path))) == []
    one = ledger.resolve_forecast(path, ids[0], "2030-01-01", on="2030-02-01")
    two = ledger.resolve_forecast(path, ids[1], "never", on="2027-01-01")
    ledger.resolve_forecast(path, ids[2], 30, on="2030-01-01")
    by, dates, values = ledger.mean_scores(ledger.forecast_rows(ledger.read_ledger(path)))
    assert (by["of"], by["n"]) == ("probabilities", 2)
    assert by["brier"] == pytest.approx((0.04 + 0.25) / 2, abs=1e-12)
    assert (dates["n"], dates["open"], dates["held"], dates["intervals"]) == (2, 1, 1, 1)
    assert dates["crps"] == pytest.approx((one["crps"] + two["crps"]) / 2, abs=1e-12)
    assert (values["n"], values["held"], values["intervals"]) == (1, 0, 1)
    assert (dates["low"], values["high"]) == (pytest.approx(0.05, abs=1e-9), pytest.approx(0.95, abs=1e-9))
    low, high = ledger.coverage_interval(9, 10)
    assert (low, high) == (pytest.approx(0.6058, abs=1e-4), pytest.approx(0.9949, abs=1e-4))


@pytest.mark.parametrize(
    ("place", "outcome", "on", "says"),
    [
        (0, "soon", "2030-01-01", "--outcome: expected a date"),
        (0, "2031-01-01", "2030-01-01", "comes after --on 2030-01-01"),
        (0, "never", "2025-01-01", "the forecast is of 2026-01-01"),
        (0, "never", "later", "--on: expected a date"),
        (2, "never", "2031-01-01", "expected a number in USD, got 'never'"),
        (2, "nan", "2031-01-01", "expected a number in USD"),
        (2, "3", "2029-01-01", "the forecast is about 2030-01-01"),
    ],
)
def test_outcomes_that_cannot_be(book, place, outcome, on, says):
    path, ids = book
    before = path.read_bytes()
    with pytest.raises(UsageError, match=says):
        ledger.resolve_forecast(path, ids[place], outcome, on=on)
    with pytest.raises(UnknownNameError):
        ledger.resolve_forecast(path, "no such", outcome, on=on)
    assert path.read_bytes() == before
