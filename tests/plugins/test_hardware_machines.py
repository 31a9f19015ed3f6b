"""What a machine delivers and costs: the essays' cases, and what follows from the formulas alone."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import forecast
import forecast_hardware
from forecast import Scenario
from forecast.report import result_data
from forecast_hardware import cluster


def value(name, draws=8, **settings):
    """Return an estimate's value, at fixed inputs, in its own unit."""
    fixed = {f"hardware/{name}.{key}": number for key, number in settings.items()}
    record = {"start": 2025, "until": 2026, "quantities": {"x": {"model": f"hardware/{name}"}}}
    drawn = forecast.project(record, draws=draws, with_=fixed)["projection"]["x"].values[0]
    assert np.ptp(drawn) <= 1e-9 * abs(drawn[0]), "an input is left uncertain"
    return float(drawn[0])


def draws(name, **settings):
    fixed = {f"hardware/{name}.{key}": number for key, number in settings.items()}
    record = {"start": 2025, "until": 2026, "quantities": {"x": {"model": f"hardware/{name}"}}}
    return forecast.project(record, draws=2000, with_=fixed)["projection"]["x"].values[0]


# One device ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "essay", "corrected"), [("plain", 504, 684), ("tensor", 235, 415), ("asynchronous", 200, 380)]
)
def test_cycles_of_a_matrix_multiplication(kernel, essay, corrected):
    assert value(f"matmul-cycles-{kernel}") == essay
    assert value(f"matmul-cycles-{kernel}-global") == corrected


def test_a_copy_hides_only_the_work_there_is():
    assert value("matmul-cycles-asynchronous", memory_latency=20) == 35


def test_tensor_core_operations():
    assert value("tensor-core-operations") == 512
    assert value("tensor-core-operations", core_side=8) == 64


def test_the_roofline_bends_where_arithmetic_meets_memory():
    assert value("roofline", intensity=100) == pytest.approx(155.5)
    assert value("roofline", intensity=1e4) == 312
    assert value("roofline", intensity=312e3 / 1555) == pytest.approx(312)


def test_a_cache_lifts_the_roofline_between_memory_and_itself():
    low, high = value("cache-roofline", hit_share=0, intensity=10), value("cache-roofline", hit_share=1, intensity=10)
    assert low == pytest.approx(value("roofline", intensity=10))
    assert high == pytest.approx(72.19)
    half = value("cache-roofline", hit_share=0.5, intensity=10)
    assert half == pytest.approx(2 / (1 / low + 1 / high))


def test_the_law_of_the_batch_is_the_essays():
    law = forecast.law("hardware/batch-throughput")
    rate = law.published("dettmers2023").predict(batch=np.array([1.0, 2.0, 8.0]))["median"].values
    assert rate[1] / rate[0] == pytest.approx(1.136, abs=5e-4)
    assert rate[2] / rate[0] == pytest.approx(1.466, abs=1e-3)


@pytest.mark.parametrize(("rows", "share"), [(64, 1.0), (32, 0.5), (65, 65 / 128), (128, 1.0), (1, 1 / 64)])
def test_work_is_lost_to_whole_tiles(rows, share):
    assert value("tile-efficiency", rows=rows, columns=1024) == pytest.approx(share)


def test_work_is_lost_to_whole_waves():
    assert value("wave-efficiency", blocks=82) == 1
    assert value("wave-efficiency", blocks=83) == pytest.approx(83 / 164)


# Many devices -------------------------------------------------------------------------------------------------------


def test_the_transfers_of_2014():
    assert value("gradient-transfer") == pytest.approx(0.745, abs=5e-4)
    assert value("gradient-transfer", bandwidth=40e9 / 2**30) == pytest.approx(0.80)
    assert [value("node-exchange", nodes=n) for n in (1, 2, 4)] == [0, 6.75, 20.25]


def test_what_data_and_model_parallelism_send():
    data = value("data-parallel-elements")
    one, other = value("model-parallel-elements"), value("model-parallel-elements-split")
    assert (data, one, other) == (500_000, 128_000, 160_000)
    assert (round(data / one, 1), round(data / other, 1)) == (3.9, 3.1)


def test_a_ring_sends_twice_what_a_gather_sends():
    link = {"devices": 8, "size": 2, "bandwidth": 450, "latency": 0}
    reduce, gather = value("all-reduce-time", **link), value("all-gather-time", **link)
    assert reduce == pytest.approx(1000 * 2 * 7 / 8 * 2 / 450)
    assert reduce == pytest.approx(2 * gather)
    assert value("all-reduce-time", **{**link, "devices": 1}) == 0
    many = value("all-reduce-time", **{**link, "devices": 10_000})
    assert many == pytest.approx(1000 * 2 * 2 / 450, rel=1e-3)  # never more than twice the size


def test_the_laws_of_the_ring_are_the_estimates():
    law = forecast.law("hardware/ring-all-reduce")
    seconds = law.value({"latency": 5e-6, "bandwidth": 450e9}, n=8.0, size=2e9)
    assert 1000 * float(seconds) == pytest.approx(value("all-reduce-time", latency=5))


def test_tensor_parallelism_is_four_all_reduces_a_layer():
    one = value("all-reduce-time", devices=4, size=4096 * 4096 * 2 / 1e9, bandwidth=450, latency=10)
    whole = value("tensor-parallel-time", devices=4, layers=32, bandwidth=450, latency=10)
    assert whole == pytest.approx(4 * 32 * one)


@pytest.mark.parametrize(("stages", "microbatches", "bubble"), [(1, 8, 0), (8, 1, 7 / 8), (8, 32, 7 / 39)])
def test_the_bubble_of_a_pipeline(stages, microbatches, bubble):
    assert value("pipeline-bubble", stages=stages, microbatches=microbatches) == pytest.approx(bubble)


def test_hidden_communication():
    assert value("overlap-efficiency", hidden_share=0) == pytest.approx(100 / 130)
    assert value("overlap-efficiency", hidden_share=1) == 1


def test_links_grow_one_way_and_say_so():
    for family in ("nvlink", "pcie", "infiniband", "ethernet"):
        model = forecast.model(f"hardware/{family}-bandwidth").model
        assert model.qualifiers["direction"] == "one-way"
        assert 1.5 < model.fit().describe().facts["doubling_years"] < 5


# A cluster ----------------------------------------------------------------------------------------------------------


def test_a_cluster_delivers_a_product_of_shares():
    shares = {"chips": 1000, "peak": 1000, "utilisation": 0.5, "scaling_efficiency": 0.8, "availability": 0.9}
    assert value("effective-cluster", **shares) == pytest.approx(360)
    drawn = draws("effective-cluster")
    assert np.quantile(drawn, 0.95) < 1024 * 0.9894 * 0.65  # well below the peak, whatever is drawn


@pytest.mark.parametrize("name", ["sparse-training-gain", "quantised-training-gain", "quantised-inference-gain"])
def test_efficiency_is_a_multiplier_with_a_range(name):
    drawn = draws(name)
    assert 1 <= drawn.min() < drawn.max() <= 2
    assert "never compute growth" in forecast.model(f"hardware/{name}").fit().describe().summary


# Cost ---------------------------------------------------------------------------------------------------------------


def test_electricity_of_a_card():
    assert value("electricity-cost") == pytest.approx(103.48, rel=1e-3)  # a year of 365.25 days


def test_cost_of_ownership():
    owned = value("ownership-cost", desktop=500)
    assert owned == pytest.approx(1599 + 500 + 5 * value("electricity-cost"))
    work = 165.2e12 * 0.5 * 0.15 * 5 * 365.25 * 86400
    assert value("flop-cost", desktop=500, utilisation=0.5) == pytest.approx(owned / work * 1e18)


def test_the_desktop_against_the_cloud():
    assert value("cloud-break-even") == pytest.approx(292.96, abs=0.01)
    power = 0.45 * 0.15 * 8760
    assert power == pytest.approx(591.3)
    assert (2200 + 0.12 * power) / (24 * 0.15 * 2.14) == pytest.approx(294.8, abs=0.05)
    assert value("cloud-break-even", cloud=4.28) < 150


def test_a_power_supply():
    assert value("psu-size") == pytest.approx(1375)
    assert value("psu-size", other_power=0) == pytest.approx(1265)


def test_carbon_is_energy_times_what_the_grid_emits():
    energy = 0.45 * 0.15 * 5 * 8766
    assert value("carbon", pue=1, carbon_intensity=0.4) == pytest.approx(0.4 * energy)
    assert value("carbon", pue=1.5, carbon_intensity=0.4) == pytest.approx(0.6 * energy)


# Memory -------------------------------------------------------------------------------------------------------------


def test_memory_of_a_model():
    weights = value("inference-8bit-memory", tokens=0, overhead=1)
    assert weights == pytest.approx(7e9 / 2**30)
    cached = value("inference-8bit-memory", overhead=1) - weights
    assert cached == pytest.approx(2)  # 2 x 32 layers x 4096 x 4096 tokens x 2 B = 2 GiB
    assert value("training-16bit-memory", tokens=0, overhead=1) == pytest.approx(16e9 / 2**30)


# The choice of a device ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chosen():
    return forecast.project("gpu-choice", draws=400, start=2025.25, until=2026.25, with_={"memory": 24, "budget": 3000})


def ranking(tree, use):
    return next(r for r in result_data.ranking_rows(tree) if r["choices"] == {"use": use})


@pytest.mark.parametrize("use", ["inference-8bit", "training-16bit"])
def test_only_devices_that_fit_take_part(chosen, use):
    taking = {e["name"] for e in ranking(chosen, use)["order"] if e["among"] == 1}
    level = chosen["projection"].isel(time=0, draw=0)
    fits = (level["device_memory"] >= 24) & (level["price"] <= 3000)
    assert taking == set(level["device"].values[fits.values].tolist())
    assert "geforce-rtx-4090" in taking
    assert "geforce-rtx-5080" not in taking  # 16 GiB


def test_the_order_is_that_of_work_for_a_dollar(chosen):
    row = ranking(chosen, "training-16bit")
    taking = [e for e in row["order"] if e["among"] == 1]
    assert [e["p50"] for e in taking] == sorted((e["p50"] for e in taking), reverse=True)
    assert sum(e["first"] for e in taking) == pytest.approx(1)
    level = chosen["projection"].sel(device="geforce-rtx-4090", use="training-16bit").isel(time=0)
    owned = level["price"] + level["desktop"] + 5 * 365.25 * 24 * 0.15 * 0.175 * level["power"] / 1000
    assert level["ownership"].values == pytest.approx(owned.values)
    assert level["peak"].values == pytest.approx(165.2)
    work = level["delivered"] * 1e12 * 0.15 * 5 * 365.25 * 86400 / 1e18
    assert level["work_per_dollar"].values == pytest.approx((work / owned).values)


def test_decoding_waits_for_memory_and_training_for_arithmetic(chosen):
    level = chosen["projection"].sel(device="geforce-rtx-4090").isel(time=0)
    share = level["delivered"] / (level["utilisation"] * level["peak"])
    assert float(share.sel(use="training-16bit").median()) == pytest.approx(1)
    assert float(share.sel(use="inference-8bit").median()) < 0.2


def test_without_settings_a_small_model_is_what_is_asked_for():
    run = forecast.project("gpu-choice", draws=50)
    need = run["projection"]["memory"].isel(time=0).median("draw")
    assert 8 < float(need.sel(use="inference-8bit")) < 12
    assert 15 < float(need.sel(use="training-16bit")) < 22


# A training run on rented devices -----------------------------------------------------------------------------------


def test_a_training_run():
    run = forecast.project("gpu-cluster", draws=200)
    level = run["projection"].isel(time=0).sel(device="h100-sxm5")
    assert level["peak"].values == pytest.approx(989.4, rel=1e-3)
    effective = 1024 * level["peak"] * level["utilisation"] * level["scaling_efficiency"] * level["availability"] / 1e3
    assert level["effective"].values == pytest.approx(effective.values)
    days = 1e24 / (effective.values * 1e15) / 86400
    assert level["duration"].values == pytest.approx(days)
    assert level["cost"].values == pytest.approx(1024 * 24 * days * level["rent"].values)
    kilowatts = 1024 * level["power"].values * level["pue"].values / 1000
    assert level["energy"].values == pytest.approx(kilowatts * 24 * days / 1000)
    assert level["carbon"].values == pytest.approx((level["energy"] * level["carbon_intensity"]).values)
    row = result_data.ranking_rows(run)[0]
    costs = [entry["p50"] for entry in row["order"] if entry["among"] == 1]
    assert costs == sorted(costs)
    assert len(costs) >= 5


def test_twice_the_chips_take_a_little_more_than_half_the_time():
    """Gradients cross twice as many nodes for half as many tokens each."""
    one, two = (
        forecast.project("gpu-cluster", draws=50, with_={"chips": n, "device": "h100-sxm5"}) for n in (512, 1024)
    )
    ratio = one["projection"]["duration"] / two["projection"]["duration"]
    assert 1.5 < float(ratio.min()) < float(ratio.max()) < 2
    assert (two["projection"]["cost"] > one["projection"]["cost"]).all()
    alone = {"chips": 8, "device": "h100-sxm5"}
    assert float(forecast.project("gpu-cluster", draws=50, with_=alone)["projection"]["across_nodes"].max()) == 0


def test_what_a_link_costs_is_what_a_ring_sends_over_it():
    at = {"chips": 1024, "width": 8192, "batch": 4e6, "utilisation": 0.4, "hidden_share": 0, "exposed_share": 1}
    level = forecast.project("gpu-cluster", draws=8, with_=at)["projection"].isel(time=0, draw=0)
    for device, link in {"h100-sxm5": 450.0, "l40s": 31.5}.items():
        of = level.sel(device=device)
        ring = 1e3 * value("all-reduce-time", devices=8, size=8192 * 2 / 1e9, bandwidth=link, latency=0)
        assert float(of["within_node"]) == pytest.approx(4 * ring)
        gradients = 12 * 8192**2 / 8 * 2 / 1e9
        between = 1e3 * value("all-reduce-time", devices=128, size=gradients, bandwidth=min(link, 50), latency=0)
        assert float(of["across_nodes"]) == pytest.approx(between / (4e6 / 128))
        computing = 6 * 12 * 8192**2 / 8 / (float(of["peak"]) * 1e12 * 0.4) * 1e6
        assert float(of["computing"]) == pytest.approx(computing)
        sent = float(of["within_node"] + of["across_nodes"])
        assert float(of["scaling_efficiency"]) == pytest.approx(computing / (computing + sent))


# What is on sale ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scenario", "kinds", "column", "years", "start"), [
    ("gpu-choice", ("purchase", "list"), "purchase", 2.0, 2021.0),
    pytest.param("gpu-choice", ("purchase", "list"), "purchase", 2.0, None, marks=pytest.mark.slow),
    pytest.param("gpu-cluster", ("on-demand",), "rental", 1.0, 2024.5, marks=pytest.mark.slow),
    ("gpu-cluster", ("on-demand",), "rental", 1.0, None),
])  # fmt: skip
def test_a_device_is_offered_at_a_price_of_the_years_before(scenario, kinds, column, years, start):
    run = forecast.project(scenario, draws=8, start=start, until=None if start is None else start + 1)
    asked = start if start is not None else Scenario.load(scenario).start
    assert result_data.ranking_rows(run)[0]["order"]
    offers = forecast.tables.to_columns("datasets/compute-prices")
    when = forecast.tables.decimal_year(offers.column("date"))
    recent = (when <= asked) & (when >= asked - years) & np.isin(offers.column("kind"), kinds)
    devices = forecast.table("datasets/accelerators")
    born = dict(zip(devices["device"].values.tolist(), devices["release_date"].values, strict=True))
    paid = run["projection"]["price" if column == "purchase" else "rent"].isel(time=0, draw=0)
    for device in paid["device"].values:
        of = recent & (offers.column("device") == device)
        if of.any():
            assert float(paid.sel(device=device)) in offers.numeric(column)[of]
        else:
            assert scenario == "gpu-choice"
            assert asked - years <= forecast.tables.decimal_year(born[device]) <= asked
        if scenario == "gpu-choice":  # shops of 2025 still list a card of 2018, and nobody makes it
            assert forecast.tables.decimal_year(born[device]) >= asked - 4


def test_what_nobody_sells_any_more_is_not_named():
    """A card of 2019 was the best by its launch price; it is for whoever asks in 2021, and not today."""
    today, before = (
        set(forecast.project("gpu-choice", draws=8, start=start, until=start + 1)["projection"]["device"].values)
        for start in (2026.75, 2021.0)
    )
    assert {"geforce-rtx-5090", "arc-b580"} <= today
    assert not today & {"radeon-vii", "geforce-rtx-2080-ti", "geforce-rtx-3090", "geforce-rtx-4090", "tesla-k20x"}
    assert "radeon-vii" in before
    assert "geforce-rtx-5090" not in before


def test_no_link_is_from_memory():
    """Thirteen of 25 were."""
    links = forecast.tables.to_columns(Path(forecast_hardware.__file__).parent / "scenarios/links/datapackage.json")
    assert set(links.column("status")) == {"verified"}
    assert not [source for source in links.column("source") if "memory" in source]
    # one generation of a link has one bandwidth, here and in the table of links over time
    general = forecast.tables.to_columns("datasets/interconnects")
    one_way = (general.column("direction") == "one-way") & np.isin(general.column("basis"), ("marketed", "data"))
    rates = dict(zip(general.column("link")[one_way], general.numeric("bandwidth")[one_way], strict=True))
    named = [pair for pair in zip(links.column("link"), links.numeric("bandwidth"), strict=True) if pair[0] in rates]
    assert {link for link, _ in named} >= {"nvlink-2", "nvlink-3", "nvlink-4", "nvlink-5", "pcie-4-x16"}
    for link, rate in named:
        if not link.startswith("ethernet"):  # of which a device has many
            assert rate == pytest.approx(rates[link], rel=1e-3), link


def test_a_cluster_like_those_that_report_their_mfu_has_it_whatever_its_links_take():
    """1,024 A100 are what the published shares are of: links are taken off them and put on again."""
    run = forecast.project("gpu-cluster", draws=256, with_={"device": "a100-sxm4-80gb"})
    level = run["projection"].isel(time=0).sel(device="a100-sxm4-80gb")
    reached = (level["utilisation"] * level["scaling_efficiency"]).values
    possible = level["utilisation"].values < 1
    assert possible.mean() > 0.95
    assert reached[possible] == pytest.approx(level["mfu"].values[possible])


def test_published_mfu_and_how_little_it_falls_with_the_number_of_devices_are_those_of_the_table():
    runs = forecast.tables.to_columns("datasets/training-runs-2026")
    chip = runs.column("chip")
    kept = np.array([str(each).startswith(("NVIDIA A100", "NVIDIA H100")) for each in chip])
    kept &= (runs.column("language") == "yes") & (runs.column("confidence") == "confident")
    mfu, chips = runs.numeric("utilisation"), runs.numeric("chips")
    kept &= np.isfinite(mfu)
    logit = np.log(mfu[kept] / (1 - mfu[kept]))
    assert (kept.sum(), np.nanmedian(chips[kept])) == (18, 1024)
    off = stats.t.ppf([0.05, 0.5, 0.95], len(logit) - 1) * logit.std(ddof=1) * np.sqrt(1 + 1 / len(logit))
    stated = cluster.PUBLISHED_MFU.distribution
    assert list(stated.values()) == pytest.approx(1 / (1 + np.exp(-logit.mean() - off)), rel=5e-3)
    # time of gradients over InfiniBand in units of computing at the peak, as gpu-cluster has it
    kept &= np.isfinite(chips)
    peak = np.where([str(each).startswith("NVIDIA H100") for each in chip[kept]], 989.4e12, 312e12)
    tokens = np.maximum(np.sqrt(2e6 * 1.6e7), 6144 * chips[kept] / 8) * 8 / chips[kept]
    across = 48 / 8 * (1 - 8 / chips[kept]) / 50e9 / tokens / (72 / (8 * peak))
    line = stats.linregress(across, 1 / mfu[kept])
    assert (line.slope, line.stderr) == pytest.approx((-0.45, 0.41), abs=0.01)
    cut = stats.truncnorm(-line.slope / line.stderr, (1 - line.slope) / line.stderr, line.slope, line.stderr)
    assert list(cluster.EXPOSED_SHARE.distribution.values()) == pytest.approx(cut.ppf([0.05, 0.5, 0.95]), abs=0.005)


def test_a_run_of_1024_chips_does_not_go_to_devices_without_a_fast_link():
    run = forecast.project("gpu-cluster", draws=512)
    order = result_data.ranking_rows(run)[0]["order"]
    assert order[0]["name"] not in ("l40s", "h100-pcie")
    level = run["projection"].isel(time=0)["scaling_efficiency"].median("draw")
    assert float(level.sel(device="l40s")) < 0.7 < float(level.sel(device="h100-sxm5"))
