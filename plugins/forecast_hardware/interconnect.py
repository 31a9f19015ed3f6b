"""Many devices: what data, tensor and pipeline parallelism send, how long it takes, and how fast the links grow."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import EstimateSpec, TrendSpec
from forecast_hardware.hardware_inputs import CLUSTER, DATA_PARALLEL, JUDGED, MODEL_PARALLEL, between, fixed

__all__ = ["models"]

_RING = "Patarasuk & Yuan 2009, Bandwidth optimal all-reduce algorithms, doi:10.1016/j.jpdc.2008.09.002"
_THAKUR = "Thakur, Rabenseifner, Gropp 2005, Optimization of Collective Communication Operations in MPICH"
_MEGATRON = "Shoeybi et al. 2019, Megatron-LM, arXiv:1909.08053: two all-reduces a layer forward and two backward"
_GPIPE = "Huang et al. 2019, GPipe, arXiv:1811.06965; the bubble is (p - 1)/(m + p - 1) of the time"


def _ring() -> Iterator[EstimateSpec]:
    devices = fixed("devices", "", 8.0, JUDGED, lower=1.0)
    size = fixed("size", "GB", 2.0, "the 16-bit gradients of a billion parameters")
    bandwidth = fixed(
        "bandwidth", "GB/s", 450.0, "table datasets/interconnects, nvlink-4: half of 900 two-way", direction="one-way"
    )
    latency = between("latency", "us", 2.0, 20.0, f"a step of a ring; {JUDGED}")
    for name, title, factor, reference in (
        ("all-reduce-time", "Time to add up gradients over a ring of devices", "2*", _RING),
        ("all-gather-time", "Time to collect the shards of weights over a ring of devices", "", _THAKUR),
    ):
        yield EstimateSpec(
            name=name,
            title=title,
            quantity=f"hardware.{name.replace('-', '_')}",
            unit="ms",
            expression=f"{factor}(devices - 1)*(latency + size/(devices*bandwidth))",
            inputs=(devices, size, bandwidth, latency),
            note="the bandwidth is one-way: a link's two-way figure would halve the time wrongly",
            reference=reference,
        )
    yield EstimateSpec(
        name="tensor-parallel-time",
        title="Time a step spends on the all-reduces of tensor parallelism",
        quantity="hardware.tensor_parallel_time",
        unit="ms",
        expression="4*layers*2*(devices - 1)*(latency + tokens*hidden*width/(devices*bandwidth))",
        inputs=(
            devices,
            fixed("layers", "", 32.0, JUDGED),
            fixed("tokens", "", 4096.0, f"of the batch on these devices; {JUDGED}"),
            fixed("hidden", "", 4096.0, JUDGED),
            fixed("width", "B", 2.0, "16-bit activations"),
            bandwidth,
            latency,
        ),
        reference=f"{_MEGATRON}; {_RING}",
    )
    yield EstimateSpec(
        name="pipeline-bubble",
        scale="share",
        title="Share of the time that the stages of a pipeline wait",
        quantity="hardware.pipeline_bubble",
        unit="",
        expression="(stages - 1)/(microbatches + stages - 1)",
        inputs=(fixed("stages", "", 8.0, JUDGED, lower=1.0), fixed("microbatches", "", 32.0, JUDGED, lower=1.0)),
        reference=_GPIPE,
    )
    yield EstimateSpec(
        name="overlap-efficiency",
        scale="share",
        title="Share of a step spent computing when communication hides behind a part of it",
        quantity="hardware.overlap_efficiency",
        unit="",
        expression="computing/(computing + communicating*(1 - hidden_share))",
        inputs=(
            fixed("computing", "ms", 100.0, JUDGED),
            fixed("communicating", "ms", 30.0, JUDGED),
            between(
                "hidden_share",
                "",
                0.0,
                0.2,
                f"{DATA_PARALLEL}: RMSProp hides 0 to 20 % of the communication",
                family="uniform",
            ),
        ),
        reference=DATA_PARALLEL,
    )


def _essays() -> Iterator[EstimateSpec]:
    layer = f"{DATA_PARALLEL}: a layer of 1000 x 1000"
    yield EstimateSpec(
        name="gradient-transfer",
        title="Time to send the gradient of one layer",
        quantity="hardware.gradient_transfer",
        unit="ms",
        expression="rows*columns*width/bandwidth",
        inputs=(
            fixed("rows", "", 1000.0, layer),
            fixed("columns", "", 1000.0, layer),
            fixed("width", "B", 4.0, f"{DATA_PARALLEL}: 32-bit floating point"),
            fixed(
                "bandwidth", "Gibit/s", 40.0, f"{DATA_PARALLEL}: 40 Gbit/s, counted with 1024**3", direction="one-way"
            ),
        ),
        note=f"0.80 ms at 40 Gbit/s in SI; {CLUSTER} counts 4 GB/s (8b/10b coding), which is 1.0 ms",
        reference=DATA_PARALLEL,
    )
    yield EstimateSpec(
        name="node-exchange",
        title="Time in which nodes exchange gradients one after another: 6.75 (n - 1) ms",
        quantity="hardware.node_exchange",
        unit="ms",
        expression="messages*transfer_time*(nodes - 1)",
        inputs=(
            fixed("messages", "", 9.0, f"{DATA_PARALLEL}: nine messages between two nodes of three cards"),
            fixed("transfer_time", "ms", 0.75, f"{DATA_PARALLEL}: one gradient"),
            fixed("nodes", "", 4.0, DATA_PARALLEL, lower=1.0),
        ),
        note="4 nodes take 20.25 ms as the essay says; its 7.75 ms for 2 nodes is a typo of 6.75",
        reference=DATA_PARALLEL,
    )
    batch = fixed("batch", "", 128.0, f"{MODEL_PARALLEL}: a batch of 128")
    rows = fixed("inputs", "", 1000.0, f"{MODEL_PARALLEL}: a layer from 1000 to 500")
    outputs = fixed("outputs", "", 500.0, f"{MODEL_PARALLEL}: a layer from 1000 to 500")
    for name, says, expression, inputs in (
        ("data-parallel-elements", "data parallelism sends: the gradient", "inputs*outputs", (rows, outputs)),
        ("model-parallel-elements", "model parallelism sends: outputs, twice", "2*batch*outputs", (batch, outputs)),
        (
            "model-parallel-elements-split",
            "model parallelism sends when the layer is split the other way",
            "batch*outputs/2 + batch*inputs",
            (batch, rows, outputs),
        ),
    ):
        yield EstimateSpec(
            name=name,
            title=f"Elements that {says}",
            quantity="hardware.elements_sent",
            unit="",
            expression=expression,
            inputs=inputs,
            reference=MODEL_PARALLEL,
        )


def _links() -> Iterator[TrendSpec]:
    """Bring the bandwidth of each family of links, by the date of its first product, one-way."""
    for family, says, basis in (
        ("nvlink", "NVLink of one GPU", "marketed"),
        ("pcie", "PCI Express, 16 lanes", "data"),
        ("infiniband", "InfiniBand, 4 lanes", "data"),
        ("ethernet", "Ethernet port", "data"),
    ):
        yield TrendSpec(
            name=f"{family}-bandwidth",
            title=f"Bandwidth of {says}, one way",
            quantity="hardware.link_bandwidth",
            unit="GB/s",
            keeps="frontier",  # of the newest generation: no family got slower
            shape="trends/pool",
            table="datasets/interconnects",
            x="date",
            y="bandwidth",
            where={"family": family, "direction": "one-way", "basis": basis},
            note="generations are few and their dates uneven; rows from memory are in the table and marked",
            reference="table datasets/interconnects, its rows' sources",
        )


def models() -> Iterator[EstimateSpec | TrendSpec]:
    """Bring the estimates and the trends of links."""
    yield from _ring()
    yield from _essays()
    yield from _links()
