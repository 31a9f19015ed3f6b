"""`gpu-delivered`: from the peak of a device to a cluster, step by step."""

from pathlib import Path

import numpy as np
import pytest

import forecast
import forecast_hardware


@pytest.fixture(scope="module")
def run():
    return forecast.project("gpu-delivered", draws=1000, seed=0, with_={"device": "h100-sxm5"})


def test_the_steps_multiply_to_the_share(run):
    table = run["projection"].to_dataset().squeeze("device")
    product = table["roofline"] / table["peak"] * table["tiles"] * table["waves"] * table["kernel"]
    product = product * table["overlap"] * (1 - table["bubble"]) * table["availability"]
    assert np.allclose(product.broadcast_like(table["share"]), table["share"])


def test_it_is_near_what_whole_runs_measured(run):
    """Built up from parts the share is no lower than what runs reached, and within their 90 % range in the middle."""
    table = run["projection"].to_dataset().squeeze("device")
    low, middle, high = table["measured"].isel(time=0).quantile([0.05, 0.5, 0.95], dim="draw").values
    built = float(table["share"].isel(time=0).median("draw"))
    assert low < middle < built < high


def test_a_narrow_multiplication_waits_for_memory_and_half_a_tile_is_wasted():
    at = {"device": "h100-sxm5", "rows": 32, "hit_share": 0, "hardware/training-16bit-intensity.side": 64}
    table = (
        forecast.project("gpu-delivered", draws=50, with_=at)["projection"]
        .to_dataset()
        .squeeze("device")
        .isel(time=0, draw=0)
    )
    assert float(table["tiles"]) == pytest.approx(0.5)
    # 2 n**3 FLOP over 3 n**2 numbers of two bytes: n/3 FLOP a byte, times 3352 GB/s
    assert float(table["roofline"]) == pytest.approx(64 / 3 * float(table["bandwidth"]) / 1e3, rel=1e-6)


def test_a_slow_link_costs_what_cannot_be_hidden():
    fast = {"device": "h100-sxm5", "hidden_share": 0}
    slow = {**fast, "link": 1.0}
    shares = [
        float(forecast.project("gpu-delivered", draws=200, with_=s)["projection"]["share"].median())
        for s in (fast, slow)
    ]
    assert shares[1] < 0.5 * shares[0]


def test_gradients_go_over_the_link_of_the_device():
    """NVLink 4 was taken for every device, so that a card on PCIe lost nothing to its slot."""
    asked = {"hidden_share": 0, "latency": 5}
    level = forecast.project("gpu-delivered", draws=8, with_=asked)["projection"].isel(time=0, draw=0)
    links = forecast.tables.to_columns(Path(forecast_hardware.__file__).parent / "scenarios/links/datapackage.json")
    stated = dict(zip(links.column("device"), links.numeric("bandwidth"), strict=True))
    assert set(level["device"].values) <= set(stated)
    for device in ("h100-sxm5", "h100-pcie", "l40s", "b200"):
        assert float(level["link"].sel(device=device)) == stated[device]
        fixed = {"devices": 8, "size": 2, "bandwidth": stated[device], "latency": 5}
        given = {f"hardware/all-reduce-time.{name}": number for name, number in fixed.items()}
        ring = {"start": 2026, "until": 2027, "quantities": {"ring": {"model": "hardware/all-reduce-time"}}}
        expected = float(forecast.project(ring, draws=8, with_=given)["projection"]["ring"][0, 0])
        assert float(level["communicating"].sel(device=device)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("use", ["training-16bit", "inference-8bit"])
def test_no_draw_uses_more_than_the_whole(use):
    """The ranges are lognormal, and their tails go beyond one."""
    record = {"start": 2026, "until": 2027, "quantities": {"used": {"model": f"hardware/{use}-utilisation"}}}
    drawn = forecast.project(record, draws=20_000)["projection"]["used"]
    assert float(drawn.min()) > 0
    assert float(drawn.max()) <= 1


def test_sparse_weights_gain_what_communication_leaves(run):
    table = run["projection"]
    gain, speedup = table["sparse_gain"], table["sparse_speedup"]
    step = table["computing"] + (1 - table["hidden_share"]) * table["communicating"]
    sparse = table["computing"] / gain + (1 - table["hidden_share"]) * table["communicating"]
    assert np.allclose(speedup, (step / sparse).transpose(*speedup.dims), rtol=1e-9)
    assert (speedup >= 1 - 1e-12).all()
    assert (speedup <= gain + 1e-12).all()
