"""The one-off features of the staircases: each says where it is from, and what it says of the table is so."""

import numpy as np
import pytest

import forecast
from forecast.tables import decimal_year
from forecast_hardware.gpu import FORMATS, MEMORY_STEPS


@pytest.fixture(scope="module")
def peaks():
    """Verified dense rates, (device, precision, path) to date and rate."""
    rows = forecast.tables.to_columns("datasets/accelerators")
    keep = (rows["sparsity"] == "dense") & (rows["peak_status"] == "verified") & (rows["status"] == "verified")
    keep &= ~np.isnan(rows["peak"]) & ~np.isnat(rows["release_date"].astype("datetime64[D]"))
    found = {}
    for i in np.flatnonzero(keep):
        key = (str(rows["device"][i]), str(rows["precision"][i]), str(rows["path"][i]))
        found[key] = (str(rows["release_date"][i].astype("datetime64[D]")), float(rows["peak"][i]))
    return found


def first(peaks, precisions, path):
    """Return the devices with a format, the oldest first."""
    return list(dict.fromkeys((date, device) for (device, precision, way), (date, _) in
                              sorted(peaks.items(), key=lambda item: item[1][0])
                              if precision in precisions and way == path))  # fmt: skip


def year(date):
    return float(decimal_year(np.array([date], dtype="datetime64[D]"))[0])


def test_every_feature_says_where_it_is_from_and_the_model_repeats_it():
    for name, features in (("gpu-best", FORMATS), ("gpu-bandwidth", MEMORY_STEPS)):
        said = forecast.model(f"hardware/{name}@staircase").fit().describe()
        for feature, record in features.items():
            assert record["source"] in said.sources
            (line,) = [a for a in said.assumptions if a.startswith(f"{feature}: ")]
            assert line.endswith(f"({record['source']})")
            assert "our judgement" in record["source"]


def test_16_bit_dates_from_the_first_device_with_twice_its_rate(peaks):
    plain = {device: (date, peak) for (device, *way), (date, peak) in peaks.items() if way == ["fp16", "vector"]}
    twice = [(date, name) for name, (date, peak) in plain.items() if peak > 1.5 * peaks[name, "fp32", "vector"][1]]
    assert min(twice) == ("2016-04-05", "tesla-p100-sxm2")
    assert FORMATS["16-bit"]["date"] == pytest.approx(year("2016-04-05"), abs=0.05)


def test_tensor_cores_date_from_between_the_first_two(peaks):
    found = first(peaks, ("fp16", "bf16"), "tensor")
    assert found[:2] == [("2017-05-01", "tpu-v2"), ("2017-06-21", "tesla-v100-pcie-16gb")]
    assert year("2017-05-01") < FORMATS["tensor-cores"]["date"] < year("2017-06-21")
    volta = [peaks["tesla-v100-pcie-16gb", "fp16", path][1] for path in ("tensor", "vector")]
    assert volta[0] / volta[1] == pytest.approx(4, rel=0.02)


def test_8_bit_dates_from_between_the_first(peaks):
    found = first(peaks, ("fp8",), "tensor")
    assert found[0] == ("2022-05-10", "gaudi-2")
    assert {("2022-09-20", "geforce-rtx-4090"), ("2022-09-20", "h100-sxm5")} <= set(found[1:4])
    assert year("2022-05-10") < FORMATS["8-bit"]["date"] < year("2022-09-20")
    for device, half in (("gaudi-2", "bf16"), ("geforce-rtx-4090", "fp16"), ("h100-sxm5", "fp16")):
        assert peaks[device, "fp8", "tensor"][1] / peaks[device, half, "tensor"][1] == pytest.approx(2, rel=0.01)


def test_4_bit_dates_from_between_the_first_and_nothing_goes_below(peaks):
    found = first(peaks, ("fp4",), "tensor")
    assert found[0] == ("2024-03-18", "b200")
    assert ("2025-01-30", "geforce-rtx-5090") in found[1:3]
    assert year("2024-03-18") < FORMATS["4-bit"]["date"] < year("2025-01-30")
    assert peaks["b200", "fp4", "tensor"][1] / peaks["b200", "fp8", "tensor"][1] == pytest.approx(2, rel=0.01)
    bits = {precision.lstrip("abcdefinpt") for _, precision, _ in peaks}
    assert min(int(b) for b in bits) == 4


def test_hbm_dates_from_the_first_device_that_has_it():
    rows = forecast.tables.to_columns("datasets/accelerators")
    dated = ~np.isnat(rows["release_date"].astype("datetime64[D]"))
    stacked = np.array(["HBM" in str(kind) for kind in rows["memory_type"]]) & dated
    at = min(np.flatnonzero(stacked), key=lambda i: rows["release_date"][i])
    assert str(rows["device"][at]) == "radeon-r9-fury-x"
    assert MEMORY_STEPS["HBM"]["date"] == pytest.approx(year(str(rows["release_date"][at])[:10]), abs=0.05)
