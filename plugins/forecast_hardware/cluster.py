"""From a device's peak to the effective rate of a cluster; sparsity and low precision as efficiency, never growth."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import EstimateSpec, Input
from forecast_hardware.hardware_inputs import DATA_PARALLEL, GPU, JUDGED, SPARSE, between, fixed

__all__ = ["models"]

_MEASURED = (
    f"{GPU}: tensor cores are 45 to 65 % busy at the size of GPT-3; a reader's notes on its 2020 version: 30 % for BERT"
)
_BOX = f"{DATA_PARALLEL}: 3.74 times the speed on 4 GPUs (0.935 of 4) and 6.25 on 8 (0.78 of 8), taken as a 90 % range"
_UP = (
    "the failures of Llama 3's training left over 90 % of the time (from memory, unverified); the rest is our judgement"
)

UTILISATION = between("utilisation", "", 0.30, 0.65, f"{_MEASURED}, taken as a 90 % range", "of the dense 16-bit peak")

#: What one more run is expected to report, on the logit scale with the error of 18 (Student's t); a test holds the
#: numbers against the table.
PUBLISHED_MFU = Input(
    name="mfu", unit="", distribution={"p05": 0.19, "p50": 0.355, "p95": 0.564}, lower=0.0,
    source="table datasets/training-runs-2026: utilisation of the 18 language models on A100 and H100 whose compute is "
    "confidently known, 1,024 devices in the median", title="model FLOP over the peak of the whole cluster",
)  # fmt: skip

#: Slope of 1/MFU on the time between nodes, in units of computing at the full peak, over the 17 of these runs that say
#: how many devices they had: -0.45 with an error of 0.41, and no share is below 0. A test computes it from the table.
EXPOSED_SHARE = Input(
    name="exposed", unit="", distribution={"p05": 0.013, "p50": 0.16, "p95": 0.55}, lower=0.0,
    source="table datasets/training-runs-2026: MFU of 17 language models on 384 to 16,384 A100 or H100, which does not "
    "fall with their number; cut at 0", title="of the time that gradients take between nodes",
)  # fmt: skip


def _gain(name: str, title: str, low: float, mode: float, high: float, source: str, note: str) -> EstimateSpec:
    made = Input(
        name="gain", unit="", distribution={"low": low, "mode": mode, "high": high}, source=source, title="a factor"
    )
    return EstimateSpec(
        name=name,
        title=title,
        quantity=f"hardware.{name.replace('-', '_')}",
        unit="",
        expression="gain",
        inputs=(made,),
        note=f"a factor on what the same peak does, not on the peak: never compute growth; {note}",
        reference=source,
    )


def _share_estimate(name: str, title: str, share: Input, *, quantity: str, note: str = "") -> EstimateSpec:
    """Return the estimate of a share: a lognormal range has a tail beyond the whole."""
    expression = f"min(1, {share.name})"
    return EstimateSpec(
        name=name, title=title, quantity=quantity, unit="", scale="share", expression=expression, inputs=(share,),
        note=note, reference=share.source,
    )  # fmt: skip


def models() -> Iterator[EstimateSpec]:
    """Bring the estimates."""
    yield EstimateSpec(
        name="effective-cluster",
        title="Effective rate of a cluster that trains in 16 bits",
        quantity="hardware.effective_cluster",
        unit="PFLOP/s",
        expression="chips*peak*min(1, utilisation)*min(1, scaling_efficiency)*availability",
        inputs=(
            fixed("chips", "", 1024.0, JUDGED),
            fixed(
                "peak",
                "TFLOP/s",
                989.4,
                "table datasets/accelerators, row h100-sxm5",
                "dense 16-bit tensor peak",
                precision="fp16",
                path="tensor",
                sparsity="dense",
            ),
            UTILISATION,
            between("scaling_efficiency", "", 0.78, 0.935, _BOX, "what many devices keep of the sum of their rates"),
            between("availability", "", 0.90, 0.99, _UP, "share of the time that training goes on", family="uniform"),
        ),
        note="utilisation within a device and efficiency between devices are taken as independent",
        reference="a product of shares: each is cited at its input",
    )
    for use, utilisation in (
        ("training-16bit", UTILISATION),
        ("fine-tuning", UTILISATION),
        ("inference-8bit", _inference()),
        ("inference-16bit", _inference()),
    ):
        title = f"Share of the roofline that is reached: {use.replace('-', ', ')}"
        yield _share_estimate(f"{use}-utilisation", title, utilisation, quantity="hardware.utilisation")
    yield _share_estimate(
        "training-run-mfu", "Model FLOP over the dense 16-bit peak that training runs report, links within it",
        PUBLISHED_MFU, quantity="hardware.training_run_mfu",
        note="of the cluster as a whole while it runs: what links take is in it, interruptions are not",
    )  # fmt: skip
    yield _share_estimate(
        "exposed-share", "Share of the time over links between nodes that computing waits for",
        EXPOSED_SHARE, quantity="hardware.exposed_share",
        note="gradients overlap with computing, and a pipeline sends fewer; the essays of 2014 hid 0 to 20 %",
    )  # fmt: skip
    yield _gain(
        "sparse-training-gain",
        "What sparse weights gain in training on the same device",
        1.0,
        1.1,
        2.0,
        f"{GPU}: 2:4 sparsity doubles a matrix multiplication, the upper end; {SPARSE}: 3 to 12 times are possible, "
        f"none was reached on hardware; the most likely value is {JUDGED}",
        "20 % of the weights do for MNIST and 5 % for CIFAR-10, not on ImageNet",
    )
    yield _gain(
        "quantised-training-gain",
        "What 8 bits instead of 16 gain in training on the same device",
        1.0,
        1.4,
        2.0,
        f"{GPU}: 3 to 4 times; the peak ratio is 2, the upper end here; the most likely value is {JUDGED}",
        "where the device has no 8-bit tensor cores it is 1",
    )
    yield _gain(
        "quantised-inference-gain",
        "What 8 bits instead of 16 gain where weights are read from memory",
        1.0,
        1.7,
        2.0,
        f"half the bytes a weight, so at most 2; the most likely value is {JUDGED}",
        "small batches wait for memory; large ones for arithmetic",
    )


def _inference() -> Input:
    return between("utilisation", "", 0.40, 0.85, f"share of the bandwidth that decoding reaches; {JUDGED}")
