"""The published models, rebuilt in the language of scenarios alone, print what their authors' code prints."""

import csv

import numpy as np
import pytest

import forecast
from forecast.claim_verdicts import FAILED, evaluate_all
from forecast.contract.registry import get_registry
from forecast.projection.claim_values import read_claim_value
from toolkit import sample

#: What does not reproduce, and is said so: a verdict is never tuned. Each has a note that says why.
DISAGREE = {
    "ai-futures-median",
    "ai-2027-b-futuresearch-printed-p50",
    "ai-2027-b-printed",
    "direct-algorithms-2050-p90",
    "direct-effective-2050-p90",
    "direct-readme-2030",
    "direct-readme-2050",
    "direct-readme-2100",
    "economy-text-run-2025",
    "economy-text-usable-2030",
    "direct-readme-p10",
    "direct-readme-p50",
    "epoch-likely",
    "gpu-first-year",
    "gpu-last-year",
    "ho-high-90",
    "ho-low-90",
    "metr-interval",
    "metr-interval-high",
    # on rows that mixed two states of METR's file; METR prints what the claim `metr-doubling-stitched` holds
    "metr-doubling-2019",
    "metr-day-2019",
    "metr-week-2019",
    "metr-month-2019",
    "metr-year-2019",
    "metr-doubling-2019-p80",
}
#: Packs of claims that take seconds each.
OTHERS = (
    "direct-approach", "epoch-limits", "ho-2024", "ai-economy-2026", "kwa-2026", "cotra-2020", "ai-2027", "ftm-2023",
    "ai-futures-2025",
)  # fmt: skip


def read(run, text):
    return read_claim_value(run, text, where="test")


#: The packs whose worlds are stepped through time take seconds each.
@pytest.mark.parametrize("group", ["metr-2025", "gpu-limits", *sample(OTHERS, 0)])
def test_each_pack_prints_its_reference(group):
    records = [r for r in get_registry().records("claim") if r.plugin.name == "capability" and r.spec.group == group]
    own = {claim["id"]: claim for claim in evaluate_all(records)}
    assert len(own) >= 9
    assert [claim["note"] for claim in own.values() if claim["verdict"] == FAILED] == []
    off = {name for name, claim in own.items() if claim["verdict"] == "disagrees"}
    assert off == {name for name in DISAGREE if name in own}
    assert all(own[name]["note"] for name in off)


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "n", "days", "r2"),
    [("2023", 14, 128.744, 0.9337), ("2024", 13, 102.176, 0.9807),
     ("2023-p80", 14, 133.405, 0.903), ("2024-p80", 13, 102.481, 0.958)],
)  # fmt: skip
def test_the_trends_of_metr_are_fitted_to_the_rows_they_were_fitted_to(link, n, days, r2):
    facts = forecast.model(f"capability/horizon-{link}").fit().describe().facts
    assert facts["n"] == n
    assert facts["doubling_days"] == pytest.approx(days, abs=0.01)
    assert facts["r2"] == pytest.approx(r2, abs=1e-3)


def test_a_trend_of_metr_can_be_asked_as_of_a_date():
    before = forecast.model("capability/horizon-2023").fit(as_of=2026.0).describe().facts
    assert before["n"] == 13
    assert before["doubling_days"] == pytest.approx(133.988, abs=0.01)  # without the models of 2026-02
    with pytest.raises(forecast.errors.DataError, match="at least three models that led, got 2"):
        forecast.model("capability/horizon-2024").fit(as_of=2024.4)


def test_the_regression_of_the_gpu_pack_is_that_of_its_source(reference_data):
    rows = list(csv.DictReader((reference_data / "hardware" / "hobbhahn_gpu_trends_factors.csv").open()))
    columns = ("process_size_in_nm", "num_cores", "FP32_flops")
    table = np.array([[float(row[c] or "nan") for c in columns] for row in rows])
    known = table[np.isfinite(table).all(axis=1)]
    x = np.column_stack([np.ones(len(known)), np.log10(known[:, :2])])
    found = np.linalg.lstsq(x, np.log10(known[:, 2]), rcond=None)[0]
    np.testing.assert_allclose(found, [10.084357, -0.41175061, 0.91987187], atol=1e-6)


# --- swaps ------------------------------------------------------------------------------------------------------------


def date(scenario, question="coder", **options):
    return read(forecast.project(f"capability/{scenario}", **options), f"{question} p50")


@pytest.mark.slow
def test_a_link_of_one_model_moves_the_date_of_another():
    own = date("ai-2027-a")
    faster = date("ai-2027-a", with_={"doubling": "capability/horizon-2024"})  # 102 days instead of 4.7 months
    slower = date("ai-2027-a", with_={"doubling": "capability/horizon-2019"})  # 185 days
    assert faster < own - 0.3 < own + 0.2 < slower
    run = forecast.project("capability/ai-2027-a", with_={"doubling": "capability/horizon-2024"}, draws=64)
    assert "capability/ai-2027-doubling.months" in str(run.warnings)
    assert "drawn on its own" in str(run.warnings)
    # nothing else is drawn anew: not even what moved together with the link that is gone
    before = forecast.project("capability/ai-2027-a", draws=64)
    for name in ("extra", "kind", "goal", "delay"):
        np.testing.assert_array_equal(run["projection"][name].values, before["projection"][name].values)


def test_utilisation_of_our_own_rows_moves_the_largest_run():
    own = forecast.project("capability/ai-economy-2026", draws=256)
    other = forecast.project("capability/ai-economy-2026", with_={"busy": "capability/utilisation"}, draws=256)
    assert read(own, "run p05 2030") == read(own, "run p95 2030")  # the source has no spread
    for part in ("p05", "p50", "p95"):
        expected = read(own, "run p50 2030") * read(other, f"busy {part}") / 0.5
        assert read(other, f"run {part} 2030") == pytest.approx(expected, rel=1e-9)
    assert read(other, "run p05 2030") < 0.8 * read(other, "run p95 2030")


# --- what binds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("supply", ["base", "chip-bottleneck", "power-bottleneck", "capex-rich"])
@pytest.mark.parametrize("use", ["base", "training-race"])
def test_no_more_compute_is_used_than_every_limit_leaves(supply, use):
    run = forecast.project("capability/ai-economy-2026", with_={"supply": supply, "use": use}, draws=1)["projection"]
    limits = [run[name].values for name in ("by_chips", "by_power", "by_room", "by_capital")]
    np.testing.assert_array_equal(run["chips"].values, np.min(limits, axis=0))
    binding = sum(run[name].values for name in ("chips_bind", "power_binds", "room_binds", "capital_binds"))
    np.testing.assert_array_equal(binding, np.ones_like(binding))  # one at a time
    assert (run["run"].values < run["usable"].values).all()


# --- quirks are settings ----------------------------------------------------------------------------------------------


def test_the_exponent_of_the_direct_approach_is_a_choice():
    quirk, textbook = (
        forecast.project("capability/direct-approach", until=2031, draws=4096, with_={"textbook": value})
        for value in ("0", "1")
    )
    assert abs(read(quirk, "raw p50") - read(textbook, "raw p50")) > 0.5


def test_the_form_of_growth_matters_more_than_its_interval():
    window = {"window": "2023"}
    straight = date("metr-2025", "year", with_=window)
    bent = date("metr-2025-superexponential", "year", with_=window)
    assert straight - bent > 1


def test_power_at_one_campus_is_a_choice():
    run = forecast.project("capability/epoch-limits", with_={"site": "campus"})
    assert read(run, "power_binds mean") > 0.7
