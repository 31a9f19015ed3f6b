from __future__ import annotations

import csv

import pytest

import forecast
from forecast.errors import QualifierError


@pytest.fixture(scope="module")
def links(shipped):
    return shipped("interconnects").by_key("interconnects")


@pytest.mark.parametrize(
    ("link", "data", "signalling"),
    [
        ("pcie-1-x16", 4.0, 5.0), ("pcie-3-x16", 15.754, 16.0), ("pcie-5-x16", 63.015, 64.0),
        ("pcie-6-x16", 121.0, 128.0), ("infiniband-qdr-4x", 4.0, 5.0), ("infiniband-fdr-4x", 6.818, 7.03125),
        ("infiniband-edr-4x", 12.5, 12.890625), ("infiniband-xdr-4x", 100.0, 106.25),
    ],
)  # fmt: skip
def test_coding_takes_its_share(links, link, data, signalling):
    assert links[link, "one-way", "data"]["bandwidth"] == pytest.approx(data, rel=1e-4)
    assert links[link, "one-way", "signalling"]["bandwidth"] == signalling


def test_a_figure_follows_from_its_lanes(links):
    for (_, direction, basis), row in links.items():
        if row["lane_rate"] is None or basis == "marketed":
            continue
        share = row["coding_efficiency"] if basis == "data" else 1
        twice = 2 if direction == "two-way" else 1
        expected = row["links"] * row["lanes"] * row["lane_rate"] * share * twice / 8
        assert row["bandwidth"] == pytest.approx(expected)


def test_one_way_and_two_way_make_no_series():
    def fit(**where):
        asked = {"shape": "trends/exponential", "x": "date", "y": "bandwidth", "unit": "GB/s"}
        return forecast.trend("datasets/interconnects", where={"family": "nvlink", **where}, **asked).fit()

    with pytest.raises(QualifierError, match=r"one-way.*two-way"):
        fit(basis="marketed")
    doubling = fit(basis="marketed", direction="two-way").describe().facts["doubling_years"]
    assert doubling == pytest.approx(2.49, abs=0.1)  # own fit of the published figures: 2.49 years


def test_overlap_with_the_reference_data(links, reference_data):
    """The same bandwidths on other bases: NVLink two-way, InfiniBand as named, PCIe after coding (6.0: before)."""
    with (reference_data / "hardware/interconnect_generations.csv").open(encoding="utf-8", newline="") as file:
        reference = list(csv.DictReader(file))
    for row in reference:
        if row["family"] == "NVLink":
            found, scale = links[f"nvlink-{row['generation'][0]}", "two-way", "marketed"], 1
        elif row["family"] == "InfiniBand":
            found, scale = links[f"infiniband-{row['generation'].lower()}-4x", "one-way", "marketed"], 8
        else:
            basis = "signalling" if row["generation"] == "6.0" else "data"
            found, scale = links[f"pcie-{row['generation'][0]}-x16", "one-way", basis], 1
        assert found["bandwidth"] * scale == pytest.approx(float(row["bandwidth_value"]), rel=1e-3), row
    assert len(reference) == 19
