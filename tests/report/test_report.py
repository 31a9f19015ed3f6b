"""Sentences, tables and figures from a projection."""

from __future__ import annotations

import json

import numpy as np
import pytest

import forecast
from forecast import save
from forecast.report import figures, result_data
from forecast.report.brief import brief
from forecast.report.headline import opening_sentence
from toolkit import growing, parity, small

# --- sentences --------------------------------------------------------------------------------------------------------


def test_one_combination_is_a_date_with_its_interval():
    said = opening_sentence(small(growing({"value": 2.0**30.5})))
    assert said == ("X reaches its limit in July 2030; no uncertainty is stated.")


def test_already_and_never_are_said_in_words():
    assert opening_sentence(small(growing({"value": 1.0}))) == "X reaches its limit already."
    assert opening_sentence(small(growing({"value": 1e30}))) == (
        "The probability that x reaches its limit by January 2040 is under 1 %."
    )


def test_no_question_is_said_too():
    assert opening_sentence(small(growing({"value": 1.0}), when="")) == (
        "X is 3.4e7 FLOP in 2025 and 1.1e12 FLOP in 2040."
    )


def test_rivals_with_weights_give_one_answer_and_what_moves_it(run):
    said = opening_sentence(run)
    assert "that the fastest supercomputer matches a brain by January 2027 (HPCG), and" in said
    assert "pooled" not in said  # each choice has one rival that holds all the weight
    moves = brief(run).drivers
    assert moves[0][0] == "whose estimate of the brain"


def test_what_moves_nothing_is_not_blamed():
    made = parity(with_={"estimate": "kurzweil-2005,carlsmith-2020", "metric": "linpack"})
    assert not {"metric", "how machines are measured"} & dict(brief(made).drivers).keys()


def test_combinations_that_failed_do_not_count():
    then = forecast.project("brain-parity", draws=100, until=2100, as_of=2015.0)  # HPCG had hardly begun
    said = opening_sentence(then)
    assert "(LINPACK)" in said
    failed = [r for r in result_data.date_rows(then) if r["choices"]["metric"] != "linpack"]
    assert all(v is None for r in failed for v in r["crossing"].values())
    # the metric cannot move the date where all of its values but one failed
    moves = dict(brief(then).drivers)
    assert not {"metric", "how machines are measured"} & moves.keys()
    assert moves["whose estimate of the brain"] > 0.1


def test_where_everything_failed_it_cannot_be_said():
    made = {"start": 2025, "until": 2030, "quantities": {"x": {"low": -2, "high": -1, "unit": ""},
            "z": {"value": 1, "unit": ""}}, "questions": {"q": {"when": "log(x) >= z"}}}  # fmt: skip
    tree = forecast.project(made, draws=5)
    assert opening_sentence(tree) == "It cannot be said when 'log(x) >= z' holds: every combination of choices failed."


# --- plain data -------------------------------------------------------------------------------------------------------


def test_bad_input_055_masses_are_probabilities_and_quantiles_monotone(run):
    for row in result_data.date_rows(run):
        crossing = row["crossing"]
        assert set(crossing) == {"p05", "p25", "p50", "p75", "p95", "never", "already", "error"}
        assert 0 <= crossing["never"] <= 1
        assert 0 <= crossing["already"] <= 1
        assert crossing["never"] + crossing["already"] <= 1 + 1e-9
        dates = [crossing[q] for q in ("p05", "p25", "p50", "p75", "p95")]
        known = [d for d in dates if d is not None]
        assert known == sorted(known)
        assert dates == known + [None] * (5 - len(known))
        for share, date in zip((0.05, 0.25, 0.5, 0.75, 0.95), dates, strict=True):
            assert (date is None) == (crossing["never"] > 1 - share + 1e-9)


def test_quantiles_of_quantities_are_those_of_the_draws(run):
    rows = result_data.quantity_rows(run)
    assert len(rows) == 18 + 4 + 1
    for row in rows:
        assert len(row["time"]) == 74
        bands = np.array([row[q] for q in ("p05", "p25", "p50", "p75", "p95")], dtype=float)
        assert (np.diff(bands, axis=0) >= 0).all()
    (row,) = [r for r in rows if r["name"] == "machine" and r["choices"] == {"metric": "hpcg", "trend": "exponential"}]
    drawn = run["projection"]["machine"].sel(metric="hpcg", trend="exponential").values
    assert row["p50"] == pytest.approx(np.median(drawn, axis=1))
    assert row["unit"] == "TFLOP/s"
    assert row["time"][0] == "2027-01-01"


@pytest.mark.slow
def test_a_loaded_projection_gives_the_same_answers(run, tmp_path):
    back = forecast.load(save(run, tmp_path / "a.nc")).run
    assert opening_sentence(back) == opening_sentence(run)
    assert result_data.date_rows(back) == result_data.date_rows(run)
    assert result_data.quantity_rows(back) == result_data.quantity_rows(run)
    assert (
        figures.plot_projection(back, tmp_path / "a.svg").read_bytes()
        == figures.plot_projection(run, tmp_path / "b.svg").read_bytes()
    )


def test_attributes_are_json_text(run):
    assert run.attributes["seed"] == 0
    assert all(json.loads(v) is not ... for v in run.to_xarray().attrs.values())
