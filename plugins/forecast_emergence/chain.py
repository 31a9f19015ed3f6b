"""From compute to cost: compute, size, perplexity, emergent feature, usable bits, memory, speed, cost a token.

Each link is a formula over quantities of a scenario and over inputs of its own. Links through measured data are
relations (`forecast_emergence.features.feature_specs`); devices, their bandwidth and price come from the plugin
``hardware`` and from whoever writes the scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from forecast import EstimateSpec, Input, RelationSpec
from forecast.errors import UsageError
from forecast_emergence.bits import CONSTANTS, TENSORS, least_bits
from forecast_emergence.links import Link, specs
from forecast_emergence.sources import INT8, KBIT, KUMAR

if TYPE_CHECKING:
    from forecast.models import Array


__all__ = ["LINKS", "MODELS"]


def _constants(*names: str) -> tuple[Input, ...]:
    source = f"{KUMAR}, table 2 (appendix K), without a stated uncertainty"
    return tuple(Input(name=n, unit="", distribution={"value": CONSTANTS[n]}, source=source) for n in names)


def _keeps_something(name: str, values: Mapping[str, Array]) -> None:
    """Refuse bits that keep nothing: N_eff would not be positive."""
    import numpy as np

    bits = 8.0 * np.asarray(values["P"], dtype=float)
    worst = max(TENSORS, key=least_bits)
    low = float(values[f"n_{worst}"].flat[0] * values[f"gamma_{worst}"].flat[0])
    if bits.min() <= low:
        raise UsageError(
            f"{name}: {bits.min():g} bits keep nothing of the parameters (N_eff <= 0): the law "
            f"needs more than {low:.2f} bits for {TENSORS[worst]}"
        )


_FACTORS = "*".join(f"(1 - exp(-8*P/gamma_{t} + n_{t}))" for t in TENSORS)
_ALL = tuple(f"{k}_{t}" for t in TENSORS for k in ("gamma", "n"))
_NARROW = (
    "its constants are of 30M to 220M parameters and at most 26e9 tokens: beyond it is an extrapolation of fits "
    "without stated errors"
)
_GAP_FORMULA = "exp(-bits/gamma_post + b_post)*C_T*tokens**gamma_D/N**gamma_N"

LINKS: Mapping[str, Link] = {
    "size-from-compute": Link(
        title="Parameters that a compute budget trains best",
        unit="param",
        expression="sqrt(compute/(6*ratio))",
        takes={"compute": "FLOP"},
        inputs=(
            Input(name="ratio", unit="token/param", distribution={"value": 20.0},
                  source="Hoffmann et al. 2022, arXiv:2203.15556: about 20 tokens a parameter"),
        ),
        note="compute = 6 N D with D = ratio N",
        reference="Hoffmann et al. 2022, Training Compute-Optimal Large Language Models, arXiv:2203.15556",
    ),
    "bits-plain-int8": Link(
        title="Bits a weight of 8-bit matrix multiplication without decomposition: 16 once the features are everywhere",
        unit="bit/param",
        expression="8 + 8*heaviside(layers - 99)",
        takes={"layers": "percent"},
        zero=("layers",),
        note="a rule, not a fit: vector-wise zeropoint loses at most 0.1 points of perplexity up to 6.7B and 1.0 at "
        "13B, absmax 0.8 at 6.7B and 4.0 at 13B (table 1)",
        reference=f"{INT8}, table 1 and section 4",
    ),
    "bits-llm-int8": Link(
        title="Bits a weight with the outlier dimensions kept in 16 bits",
        unit="bit/param",
        expression="8 + 8*min(1, count/width)",
        takes={"count": "", "width": ""},
        zero=("count",),
        note="about 0.1 % of the features: 8.01 bits",
        reference=f"{INT8}, section 3.2",
    ),
    "bits-four-bit": Link(
        title="Bits a weight in 4-bit blocks of 64 with a 16-bit constant each",
        unit="bit/param",
        expression="4 + 16/block",
        takes={},
        inputs=(Input(name="block", unit="", distribution={"value": 64.0}, source=f"{KBIT}: 16/64 = 0.25 bits more"),),
        note="only the weights are stored in 4 bits; products are in 16",
        reference=KBIT,
    ),
    "weight-memory": Link(
        title="Memory of the weights",
        unit="GB",
        expression="N*bits/8e9",
        takes={"N": "param", "bits": "bit/param"},
        reference="eight bits are a byte",
    ),
    "effective-rate": Link(
        title="Effective rate of a device: its 16-bit peak, what the usable precision adds to it, and how much is used",
        unit="TFLOP/s",
        expression="peak*speed*utilisation",
        takes={"peak": "TFLOP/s", "speed": ""},
        inputs=(
            Input(name="utilisation", unit="", distribution={"p05": 0.3, "p95": 0.65},
                  source="Dettmers 2023-01-30, Which GPU(s) to Get: 30 % for BERT to 65 % at GPT-3 size"),
        ),
        note="products in 8 bits count as as many FLOP as in 16",
        reference=f"{INT8}, table 5, for the speed",
    ),
    "token-time": Link(
        title="Time a token on one device's worth of bandwidth and arithmetic, whichever is slower",
        unit="s",
        expression="max(memory/bandwidth, batch*2*N/(effective*1e12))/batch",
        takes={"N": "param", "memory": "GB", "bandwidth": "GB/s", "effective": "TFLOP/s"},
        inputs=(
            Input(name="batch", unit="", distribution={"p05": 8.0, "p95": 128.0}, source="sequences decoded "
            "together; our judgement"),
        ),
        note="weights are read once a batch; keys and values are left out; split over devices the time a token "
        "falls and the cost stays",
        reference="Williams, Waterman, Patterson 2009, Roofline, doi:10.1145/1498765.1498785; Pope et al. 2022, "
        "arXiv:2211.05102",
    ),
    "token-cost": Link(
        title="Cost of a million tokens on a rented device",
        unit="USD",
        expression="1e6*per_token*rent/3600",
        takes={"per_token": "s", "rent": "USD/hour"},
        reference="time times rent",
    ),
    "training-loss": Link(
        title="Loss of a model trained in low precision (P bytes a number) whose weights fill a memory",
        unit="nat/token",
        expression=f"E + A*(memory*1e9/P*{_FACTORS})**-alpha + B*tokens**-beta",
        takes={"memory": "GB", "P": "B", "tokens": "token"},
        inputs=_constants("E", "A", "alpha", "B", "beta", *_ALL),
        check=_keeps_something,
        note=_NARROW,
        reference=f"{KUMAR}, eq. 3 and 4",
    ),
    "quantised-loss": Link(
        title="Loss of a model trained in full precision whose weights, quantised afterwards, fill a memory",
        unit="nat/token",
        expression="E + A*(memory*8e9/bits)**-alpha + B*tokens**-beta + "
        + _GAP_FORMULA.replace("N**", "(memory*8e9/bits)**"),
        takes={"memory": "GB", "bits": "bit", "tokens": "token"},
        inputs=_constants("E", "A", "alpha", "B", "beta", "C_T", "gamma_D", "gamma_N", "gamma_post", "b_post"),
        note=_NARROW,
        reference=f"{KUMAR}, eq. 1 and 2",
    ),
    "quantisation-loss": Link(
        title="Loss that quantising the weights after training adds",
        unit="nat/token",
        expression=_GAP_FORMULA,
        takes={"N": "param", "bits": "bit", "tokens": "token"},
        inputs=_constants("C_T", "gamma_D", "gamma_N", "gamma_post", "b_post"),
        note=_NARROW,
        reference=f"{KUMAR}, eq. 2",
    ),
    "critical-tokens": Link(
        title="Training tokens beyond which more of them make the quantised model worse",
        unit="token",
        expression="(beta*B*N**gamma_N*exp(bits/gamma_post - b_post)/(gamma_D*C_T))**(1/(gamma_D + beta))",
        takes={"N": "param", "bits": "bit"},
        inputs=_constants("beta", "B", "C_T", "gamma_D", "gamma_N", "gamma_post", "b_post"),
        note=_NARROW,
        reference=f"{KUMAR}, eq. 13",
    ),
}  # fmt: skip


_SPEED = {
    "int8_no_overhead": ("without the cost of quantising", "speed-int8"),
    "vectorwise": ("vector-wise", "speed-plain-int8"),
    "llm_int8": ("with decomposition", "speed-llm-int8"),
}
_TABLE_5 = (
    RelationSpec(
        name="width-from-size", title="Model dimension from parameters, GPT-3 sizes", quantity="emergence.width",
        unit="",
        law="emergence/power-in-parameters", table="datasets/int8-speed", let={"N": "params"}, y="model_dim",
        note="four sizes", reference=f"{INT8}, table 5",
    ),
    *(
        RelationSpec(
            name=name, title=f"Speed of 8-bit matrix multiplication against 16 bits, {says}",
            quantity="emergence.speed", unit="",
            law="emergence/saturating-speed", table="datasets/int8-speed", let={"width": "model_dim"}, y=column,
            note="one layer of eight sizes on one kind of device; table 6 of the paper shows no gain for a whole model",
            reference=f"{INT8}, table 5",
        )
        for column, (says, name) in _SPEED.items()
    ),
)  # fmt: skip

#: Widths that a choice can name; and no gain in speed where products stay in 16 bits.
_GIVEN = (
    *(
        EstimateSpec(
            name=f"width-{bits}-bit",
            title=f"{bits} bits",
            quantity="emergence.width_of_a_number",
            unit="bit",
            expression="bits",
            inputs=(Input(name="bits", unit="bit", distribution={"value": float(bits)}, source="chosen"),),
            reference="a choice",
        )
        for bits in (3, 4, 5, 6, 7, 8, 12, 16)
    ),
    EstimateSpec(
        name="speed-four-bit",
        title="Speed of products in 16 bits with weights stored in 4",
        quantity="emergence.speed",
        unit="",
        expression="gain",
        inputs=(
            Input(name="gain", unit="", distribution={"value": 1.0}, source=f"{KBIT}: inputs and products in 16 bits"),
        ),
        reference=KBIT,
    ),
)

MODELS = (*specs(LINKS), *_TABLE_5, *_GIVEN)
