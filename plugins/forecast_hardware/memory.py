"""What a model needs on its device for a stated use: memory, and FLOP for each byte that is moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from forecast import EstimateSpec, Input
from forecast_hardware.hardware_inputs import JUDGED, between, fixed

__all__ = ["models"]

_ZERO_REFERENCE = (
    "Rajbhandari et al. 2020, ZeRO, arXiv:1910.02054: 2 + 2 + 12 bytes a parameter with Adam in mixed precision"
)
_CHECKPOINTS = (
    "Korthikanti et al. 2022, Reducing Activation Recomputation, arXiv:2205.05198: 2 bytes x tokens x width a layer"
)
_KV = (
    "Pope et al. 2022, Efficiently Scaling Transformer Inference, arXiv:2211.05102: a key and a value a layer and token"
)


def _size(parameters: float, layers: float, hidden: float, says: str) -> tuple[Input, ...]:
    return (
        fixed("parameters", "param", parameters, says),
        fixed("layers", "", layers, says),
        fixed("hidden", "", hidden, says, "width of a token"),
    )


def models() -> Iterator[EstimateSpec]:
    """Bring the estimates, named after the use: ``inference-8bit``, ``-16bit``, ``training-16bit``, ``fine-tuning``."""
    overhead = between("overhead", "", 1.02, 1.2, f"buffers and fragments; {JUDGED}")
    for bits in (8, 16):
        yield EstimateSpec(
            name=f"inference-{bits}bit-memory",
            title=f"Memory to serve a model with {bits}-bit weights",
            quantity="hardware.memory_needed",
            unit="GiB",
            expression="overhead*(parameters*weight_width + 2*layers*kv_hidden*tokens*kv_width)",
            inputs=(
                *_size(7e9, 32.0, 4096.0, "a model of seven billion parameters, as Llama 7B (from memory)")[:2],
                fixed("kv_hidden", "", 4096.0, "width of keys and values; less with grouped queries"),
                fixed("weight_width", "B/param", bits / 8, f"{bits} bits"),
                fixed("kv_width", "B", 2.0, "16 bits"),
                fixed("tokens", "", 4096.0, f"sequences times their length; {JUDGED}"),
                overhead,
            ),
            reference=_KV,
        )
    training = EstimateSpec(
        name="training-16bit-memory",
        title="Memory to train a model in 16 bits with Adam, activations recomputed",
        quantity="hardware.memory_needed",
        unit="GiB",
        expression=(
            "overhead*(parameters*(weight_width + gradient_width + optimiser_width)"
            " + layers*hidden*tokens*activation_width)"
        ),
        inputs=(
            *_size(1e9, 24.0, 2048.0, f"a model of a billion parameters; {JUDGED}"),
            fixed("weight_width", "B/param", 2.0, _ZERO_REFERENCE),
            fixed("gradient_width", "B/param", 2.0, _ZERO_REFERENCE),
            fixed("optimiser_width", "B/param", 12.0, _ZERO_REFERENCE),
            fixed("activation_width", "B", 2.0, _CHECKPOINTS),
            fixed("tokens", "", 8192.0, f"of a step on this device; {JUDGED}"),
            overhead,
        ),
        note="all on one device; sharding over n devices divides the first part by n",
        reference=f"{_ZERO_REFERENCE}; {_CHECKPOINTS}",
    )
    yield training
    adapters = fixed("trained", "", 0.01, "Hu et al. 2021, LoRA, arXiv:2106.09685: up to a hundredth", "trained share")
    large = _size(7e9, 32.0, 4096.0, "a model of seven billion parameters, as Llama 7B (from memory)")
    yield replace(
        training,
        name="fine-tuning-memory",
        title="Memory to fine-tune a model in 16 bits by adapters, with Adam, activations recomputed",
        expression=(
            "overhead*(parameters*(weight_width + trained*(gradient_width + optimiser_width))"
            " + layers*hidden*tokens*activation_width)"
        ),
        inputs=(*large, *training.inputs[3:], adapters),
        note="of the weights only the adapters have gradients and moments",
    )
    for bits in (8, 16):
        yield EstimateSpec(
            name=f"inference-{bits}bit-intensity",
            title=f"FLOP for each byte read when tokens are decoded with {bits}-bit weights",
            quantity="hardware.intensity",
            unit="FLOP/B",
            expression="work*batch/weight_width",
            inputs=(
                fixed("work", "FLOP/param", 2.0, "a multiplication and an addition a weight and token"),
                between("batch", "", 1.0, 16.0, f"sequences decoded together at home or in a laboratory; {JUDGED}"),
                fixed("weight_width", "B/param", bits / 8, f"{bits} bits"),
            ),
            reference=_KV,
        )
    moved = EstimateSpec(
        name="training-16bit-intensity",
        title="FLOP for each byte moved in the square matrix multiplications of training",
        quantity="hardware.intensity",
        unit="FLOP/B",
        expression="work*side/(3*width)",
        inputs=(
            fixed("work", "FLOP", 2.0, "a multiplication and an addition"),
            between("side", "", 1024.0, 8192.0, f"of the matrices; {JUDGED}"),
            fixed("width", "B", 2.0, "16 bits"),
        ),
        note="each of three matrices moved once",
        reference="a product of n x n matrices: 2 n**3 FLOP over 3 n**2 numbers",
    )
    title = moved.title.replace("training", "fine-tuning")
    yield from (moved, replace(moved, name="fine-tuning-intensity", title=title))
