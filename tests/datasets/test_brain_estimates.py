from __future__ import annotations

import csv
import math

import pytest

COLUMNS = {
    "FLOP/s": ("low", "central", "high"),
    "synaptic_op/s": ("central_synaptic_op",),
    "TEPS": ("low_teps", "high_teps"),
    "bit_erasure/s": ("central_bit_erasure",),
}


@pytest.fixture(scope="module")
def estimates(shipped):
    return shipped("brain-estimates").by_key("brain-estimates")


def test_known_answers(estimates):
    assert estimates["dettmers-2015"]["low"] == 1.075e21
    assert estimates["dettmers-2015"]["kind"] == "lower bound"
    assert estimates["kurzweil-2005"]["central"] == 1e16
    carlsmith = estimates["carlsmith-2020"]
    assert (carlsmith["low"], carlsmith["central"], carlsmith["high"]) == (1e13, 1e15, 1e17)
    assert estimates["carlsmith-2020-landauer"]["central_bit_erasure"] == pytest.approx(
        20 / (1.380649e-23 * 310 * math.log(2)), rel=1e-3
    )


def test_converted_teps_follow_from_their_row(estimates):
    teps, flops = estimates["ai-impacts-2015-teps"], estimates["ai-impacts-2015-flops"]
    per = 1e12 / 1.7e9
    assert flops["low"] == pytest.approx(teps["low_teps"] * per, rel=5e-3)
    assert flops["high"] == pytest.approx(teps["high_teps"] * per, rel=5e-3)
    assert "disagrees" in flops["note"]


def test_overlap_with_the_reference_data(estimates, reference_data, differences):
    """Every figure of the reference table is one of ours; kinds differ (Drexler's is a limit, Dettmers' no central)."""
    with (reference_data / "hardware" / "brain_compute_estimates.csv").open(encoding="utf-8", newline="") as file:
        reference = list(csv.DictReader(file))
    ours: dict[str, set[float]] = {}
    for row in estimates.values():
        author = str(row["author"]).split()[0]
        ours.setdefault(author, set()).update(row[c] for cs in COLUMNS.values() for c in cs if row[c] is not None)
    pairs = []
    for row in reference:
        author = row["author"].split()[0]
        for column in ("low", "central", "high"):
            if row[column]:
                value = float(row[column])
                nearest = min(ours[author], key=lambda x: abs(math.log(x / value)))
                pairs.append((f"{row['author']}.{column}", nearest, value))
    assert differences(pairs, 1e-6) == []
