"""The founding question: the simple answers reproduced, what moves the date, and three commands end to end."""

import re

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, UnitError
from forecast.report.brief import brief
from forecast.sensitivity.first_order import first_order
from forecast_brain.evidence import PUBLISHED
from toolkit import command

BRAIN = 1.075e21


@pytest.fixture
def run_command(capsys):
    """Run ``forecast ...``, which warns of nothing: its stdout."""

    def run(*words):
        done = command()(capsys, *words)
        assert (done.code, done.err) == (0, "")
        return done.out

    return run


@pytest.fixture(scope="module")
def at_his_number():
    return forecast.project("brain-parity", draws=2000, seed=0, with_={"brain": BRAIN})


@pytest.fixture(scope="module")
def medians(at_his_number):
    date = at_his_number["questions"]["parity"].sel(quantile=0.5)
    return date.dt.year + (date.dt.dayofyear - 1) / 365.25


# --- the simple answers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "date", "within"),
    [
        ("parity-ai-cluster", 2026.8, 0.05),
        ("parity-linpack", 2042.4, 0.1),
        ("parity-hpcg", 2056.1, 0.1),  # the record of 2026 came after long, and the line is flatter for it
        ("parity-hpcg-end-to-end", 2064.3, 0.15),
    ],
)
def test_our_tables_and_fits_give_the_simple_answers(claim, date, within):
    from forecast import claim_verdicts as claims
    from forecast.contract.registry import get_registry

    found = claims.evaluate(get_registry().find("claim", f"brain/{claim}").spec)
    assert found["verdict"] == "ours"
    assert found["computed"] == pytest.approx(date, abs=within)


@pytest.mark.parametrize(
    ("metric", "trend", "date", "within"),
    [("ai-cluster", "local-linear", 2026.8, 1.0), ("ai-cluster", "exponential", 2026.8, 2.5),
     ("linpack", "changepoint", 2042.1, 1.5), ("hpcg", "exponential", 2053.2, 5.0)],
)  # fmt: skip
def test_the_scenario_agrees_with_the_simple_answers(medians, metric, trend, date, within):
    assert float(medians.sel(metric=metric, trend=trend)) == pytest.approx(date, abs=within)


# --- which choice moves the date --------------------------------------------------------------------------------------


def test_for_one_number_the_metric_moves_the_date_most(at_his_number):
    found = first_order(at_his_number, "parity")
    assert (found[0]["name"], found[0]["kind"]) == ("metric", "choice")
    assert found[0]["share"] > 0.4
    shares = {row["name"]: row["share"] for row in found}
    assert shares["metric"] > 3 * shares.get("trend", 0.0)
    assert brief(at_his_number).drivers[0][0] == "how machines are measured"


def test_over_all_authors_the_estimate_moves_the_date_most():
    run = forecast.project("brain-parity", draws=1000, seed=0)
    assert dict(run["questions"]["parity"].sizes) == {"quantile": 5, "metric": 3, "trend": 6, "estimate": 4}
    found = {row["name"]: row["share"] for row in first_order(run, "parity")}
    assert found["estimate"] > 0.4
    assert found["estimate"] == max(found.values())
    assert found["brain/pooled.member"] > found["metric"] > found.get("trend", 0.0)


def test_the_largest_data_centre_has_just_reached_his_number():
    """The last row is 2 % above 1.075e21 FLOP/s: *already* in every world, and not in 2028 as older data had it."""
    seen = forecast.model("hardware/ai-cluster").fit().observed()
    assert 1.0 < seen.value[-1] * 1e12 / BRAIN < 1.03
    run = forecast.project("brain-parity", draws=200, with_={"brain": BRAIN, "metric": "ai-cluster"}, until=2040)
    assert float(run["questions"]["parity_already"].min()) == 1
    before = forecast.project(
        "brain-parity", draws=200, with_={"brain": BRAIN, "metric": "ai-cluster"}, start=2026, until=2040
    )
    assert float(before["questions"]["parity_already"].max()) == 0
    from forecast import claim_verdicts as claims
    from forecast.contract.registry import get_registry

    reached = claims.evaluate(get_registry().find("claim", "brain/parity-ai-cluster-reached").spec)
    assert reached["computed"] == pytest.approx(seen.value[-1] * 1e12 / BRAIN)


def test_peak_comes_before_linpack_and_linpack_before_hpcg(medians):
    for trend in ("pool", "exponential", "changepoint", "local-linear"):
        dates = [float(medians.sel(metric=m, trend=trend)) for m in ("ai-cluster", "linpack", "hpcg")]
        assert dates == sorted(dates)


# --- units stay apart -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "unit"),
    [("ai-impacts-2015-teps", "TEPS"), ("merkle-1989-synapses", "synaptic_op/s"), ("landauer", "bit_erasure/s"),
     ("moravec-1997-mips", "MIPS")],
)  # fmt: skip
def test_what_is_not_flops_is_not_compared_with_flops_and_both_sides_are_named(model, unit):
    asked = {"start": 2025, "until": 2030, "quantities": {
        "machine": {"model": "hardware/linpack@exponential"}, "brain": {"model": f"brain/{model}"}},
        "questions": {"parity": {"when": "machine >= brain"}}}  # fmt: skip
    with pytest.raises(UnitError) as caught:
        forecast.project(asked, draws=2)
    said = str(caught.value)
    assert "questions.parity" in said
    assert f"'machine' is [TFLOP/s], 'brain' is [{unit}]" in said
    assert "\n" not in said


# --- how the estimate moved -------------------------------------------------------------------------------------------


def test_the_evidence_is_what_had_been_published():
    table = forecast.table("brain-estimates")
    years = dict(zip(table["estimate"].values, table["year"].values, strict=True))
    years["sandberg-bostrom-2008"] = years["sandberg-bostrom-2008-l4-spiking"]
    years["ai-impacts-2015"] = years["ai-impacts-2015-flops"]
    assert {n: years[n.partition("/")[2]] for n in PUBLISHED} == PUBLISHED
    known = forecast.project("brain-evidence", draws=6000)["projection"]["known"]
    of = {y: known.sel(time=f"{y}-01-01").values for y in (1997, 2004, 2005, 2008, 2015, 2026)}
    assert np.unique(of[1997]) == pytest.approx([2.3e6 * 1e8**0.89])
    assert (of[1997] == of[2004]).all()
    assert (of[2005] == 1e16).mean() == pytest.approx(1 / 2, abs=0.03)
    assert (of[2008] == 1e16).mean() == pytest.approx(1 / 3, abs=0.03)
    assert (of[2015] == 1e16).mean() == pytest.approx(1 / 5, abs=0.03)
    assert (of[2026] == 1e16).mean() == pytest.approx(1 / 6, abs=0.03)


def test_evidence_knows_nothing_that_came_later_and_nothing_before_the_first():
    then = forecast.project("brain-evidence", draws=500, until=2026, as_of=2010.0)["projection"]["known"].values
    assert (then[-1] == then[11]).all()  # nothing after 2008 counts
    with pytest.raises(DataError, match=r"nothing was published by 1990.0; expected a start from 1997 on"):
        forecast.project("brain-evidence", draws=5, start=1990, until=2000)


# --- efficiency -------------------------------------------------------------------------------------------------------


def test_a_brain_does_more_for_a_watt_than_a_card_by_most_estimates():
    run = forecast.project("brain-efficiency", draws=4000)["projection"].to_dataset().isel(time=0)
    times = run["times_per_watt"].sel(device="geforce-rtx-4090").median("draw")
    card = 165.2e12 / 450
    assert float(times.sel(estimate="kurzweil-2005")) == pytest.approx(1e16 / 19.4 / card, rel=0.05)
    assert float(times.sel(estimate="dettmers-2015")) > 1e7
    assert run["brain_per_watt"].attrs["units"] == "FLOP/s/W"
    assert run["times_per_kilogram"].attrs["units"] == ""
    alike = run["brain_per_watt"] / run["brain_per_kilogram"] * run["brain_power"] / run["brain_mass"]
    assert alike.values == pytest.approx(1.0)  # the same brain in every draw


# --- as a user calls them ---------------------------------------------------------------------------------------------


def test_parity_end_to_end(run_command):
    few = "trend=exponential,changepoint"
    out = run_command("run", "brain-parity", "--set", f"brain={BRAIN}", "--set", few, "--show", "answers")
    assert out.startswith("The fastest supercomputer matches a brain by 20")
    assert len(re.findall(r"^(?:HPCG|LINPACK), (?:exponential|changepoint) .* 20\d\d ", out, re.M)) == 4
    assert len(re.findall(r"^AI 16-bit peak,.* already ", out, re.M)) >= 2, "a row of 2026 shows it"
