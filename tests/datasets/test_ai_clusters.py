from __future__ import annotations

import pytest

import forecast
from forecast.errors import QualifierError

#: Dense 16-bit, TFLOP/s a chip: tensor units, P100 vector units (NVIDIA, AMD and Google data sheets).
DENSE = {
    "NVIDIA P100 PCIe": 19.05, "NVIDIA V100": 125, "NVIDIA V100 SXM2": 125, "NVIDIA A100": 312,
    "NVIDIA A100 SXM4 40 GB": 312, "NVIDIA A100 SXM4 80 GB": 312, "NVIDIA H100 SXM5 80GB": 989.4,
    "NVIDIA H200 SXM": 989.5, "NVIDIA GH200": 989.5, "NVIDIA GB200": 2500, "AMD MI250X": 383, "AMD MI300A": 980.6,
    "AMD MI300X": 1307.4, "Google TPU v3": 123, "Google TPU v4": 275, "Google TPU v5p": 459,
}  # fmt: skip


@pytest.fixture(scope="module")
def clusters(shipped):
    return shipped("ai-clusters").by_key("ai-clusters")


def test_peak_is_chips_times_the_dense_rate(clusters):
    """A slip to sparse, 8-bit or vector rates would be a factor of two or more."""
    for name, row in clusters.items():
        peak = row["chips"] * DENSE[row["chip"]]
        if row["other_chips"]:
            count, _, chip = row["other_chips"].partition(" ")
            peak += int(count) * DENSE[chip]
        assert row["peak"] == pytest.approx(peak * 1e12, rel=2e-3), name


def test_vector_and_tensor_rates_make_no_series():
    asked = {"shape": "trends/exponential", "x": "date", "y": "peak", "unit": "FLOP/s"}
    with pytest.raises(QualifierError, match=r"tensor.*vector|vector.*tensor"):
        forecast.trend("datasets/ai-clusters", **asked).fit()
    fitted = forecast.trend("datasets/ai-clusters", where={"path": "tensor"}, **asked).fit()
    assert 0.3 < fitted.describe().facts["doubling_years"] < 3
