"""Kurzweil, Moravec, Merkle, AI Impacts, Drexler, Cotra: figures and formulas, each in the unit of its author."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import EstimateSpec, UnitSpec
from forecast_brain.brain_inputs import (
    AI_IMPACTS,
    BRAIN_ESSAY,
    KURZWEIL,
    MEMORY,
    MERKLE,
    MORAVEC,
    OURS,
    compute,
    fixed,
    one_number,
    spread,
)

__all__ = ["BRAIN_UNITS", "models"]

BRAIN_UNITS = (
    UnitSpec(
        name="instruction",
        definition="instruction = [instruction]",
        title="A machine instruction: not a floating-point operation",
        reference=MORAVEC,
    ),
    UnitSpec(
        name="mips",
        definition="MIPS = 1e6 * instruction / second",
        title="A million instructions a second",
        reference=MORAVEC,
    ),
)

_FLOP_PER_OP = spread(
    "flop_per_op",
    "FLOP/synaptic_op",
    {"low": 1.0, "high": 100.0, "family": "loguniform"},
    f"{OURS}; 1 to 100 FLOP for a spike through a synapse is Carlsmith's, {MEMORY}",
    "what one synaptic operation is worth: the conversion that has to be stated",
)
_RETINA = (
    fixed("detections", "", 1e6, f"{MORAVEC}: a million edge and motion detections, one a ganglion cell"),
    fixed("instructions", "instruction", 100.0, f"{MORAVEC}: about 100 instructions a detection in robot vision"),
    fixed("images", "1/s", 10.0, f"{MORAVEC}: about ten images a second"),
    fixed("retinas", "", 1e5, f"{MORAVEC}: the brain is about 100,000 times as large as the retina"),
)
_TEPS = spread(
    "teps",
    "TEPS",
    {"low": 1.8e13, "high": 6.4e14, "family": "loguniform"},
    f"{AI_IMPACTS}: 0.18 to 6.4e14 TEPS; no central figure, taken as loguniform",
)
_SYNAPSES = (
    fixed("synapses", "", 1e15, f"{MERKLE}: roughly 1e15 synapses"),
    fixed("rate", "1/s", 10.0, f"{MERKLE}: about 10 impulses a second"),
    fixed("op_per_impulse", "synaptic_op", 1.0, "by definition: one operation an impulse and synapse"),
)


def models() -> Iterator[EstimateSpec]:
    """Bring the estimates of these authors."""
    yield one_number(
        "kurzweil-2005",
        "Functional scaling of brain regions",
        {"value": 1e16},
        f"{KURZWEIL}: 1e16 calculations per second, taken as FLOP/s",
        note="a point: the range of 1e14 to 1e19 given elsewhere could not be verified and is not used",
    )
    yield compute(
        "kurzweil-2005-synapses",
        "Neurons × synapses × 200 Hz, the rule as the essay tells it",
        "neurons*synapses_per_neuron*firing_rate*flop_per_event",
        (
            fixed("neurons", "", 8.6e10, f"{BRAIN_ESSAY}: 86 billion neurons"),
            spread(
                "synapses_per_neuron",
                "",
                {"low": 116.0, "high": 21250.0, "family": "loguniform"},
                f"{BRAIN_ESSAY}: from its total of 1e13 synapses (116 a neuron) to its counts by neuron (¾·25,000 + "
                "¼·10,000)",
            ),
            fixed("firing_rate", "1/s", 200.0, f"{BRAIN_ESSAY}: 200 spikes/s"),
            fixed("flop_per_event", "FLOP", 1.0, f"{BRAIN_ESSAY}: one calculation an event, taken as FLOP"),
        ),
        f"{KURZWEIL}, as told by {BRAIN_ESSAY}",
        note="the essay prints no result; its two counts of synapses are 183 times apart",
    )
    yield one_number(
        "kurzweil-2005-range",
        "Functional scaling of brain regions, the whole range",
        {"low": 1e14, "high": 1e19, "family": "loguniform"},
        f"{KURZWEIL}: {MEMORY}; calculations per second taken as FLOP/s",
        note=f"{MEMORY}; not pooled",
    )
    yield from _moravec()
    yield from _merkle()
    yield from _ai_impacts()
    yield one_number(
        "drexler-2018",
        "Comparison by task: an upper limit",
        {"value": 1e15},
        "Drexler, K. E. (2018), Reframing Superintelligence, as summarised by AI Impacts: less than 1e15 FLOP/s",
        note="only an upper limit, and for tasks that machines do; not pooled",
    )
    yield one_number(
        "cotra-2020",
        "Carlsmith's median and one order more for trained models",
        {"value": 1e16},
        f"Cotra, A. (2020), Forecasting TAI with biological anchors (draft): {MEMORY}",
        note=f"{MEMORY}; not pooled",
    )


def _moravec() -> Iterator[EstimateSpec]:
    mips = "detections*instructions*images*retinas"
    yield compute(
        "moravec-1997-mips",
        "The retina scaled up to the brain, in the author's MIPS",
        mips,
        _RETINA,
        MORAVEC,
        unit="MIPS",
        quantity="brain.instructions",
        note="instructions, not floating-point operations",
    )
    yield compute(
        "moravec-1997",
        "The retina scaled up to the brain, 100 million MIPS as FLOP/s",
        f"flop_at_one_mips*({mips}/one_mips)**exponent",
        (
            *_RETINA,
            fixed("flop_at_one_mips", "MFLOP/s", 2.3, "AI Impacts, Brain performance in FLOPS: MFLOPS = 2.3·MIPS^0.89"),
            fixed("exponent", "", 0.89, "AI Impacts, Brain performance in FLOPS: MFLOPS = 2.3·MIPS^0.89"),
            fixed("one_mips", "MIPS", 1.0, "the unit of the conversion"),
        ),
        MORAVEC,
        note="a point: 1e14 as an upper figure could not be verified",
    )


def _merkle() -> Iterator[EstimateSpec]:
    yield compute(
        "merkle-1989-synapses",
        "Synapses × impulses a second",
        "synapses*rate*op_per_impulse",
        _SYNAPSES,
        MERKLE,
        unit="synaptic_op/s",
        quantity="brain.synaptic_operations",
        note="synapse operations are not FLOP",
    )
    yield one_number(
        "merkle-1989-energy",
        "What the energy of nerve impulses allows",
        {"low": 1e13, "high": 1e15, "family": "loguniform"},
        f"{MERKLE}: {MEMORY}",
        unit="synaptic_op/s",
        quantity="brain.synaptic_operations",
        note=f"{MEMORY}; synapse operations are not FLOP",
    )
    yield compute(
        "merkle-1989-as-flop",
        "Synapses × impulses a second, at a stated number of FLOP an operation",
        "synapses*rate*op_per_impulse*flop_per_op",
        (*_SYNAPSES, _FLOP_PER_OP),
        MERKLE,
        note="the factor from synaptic operations to FLOP is ours: the author gives none",
    )


def _ai_impacts() -> Iterator[EstimateSpec]:
    yield compute(
        "ai-impacts-2015-teps",
        "Communication between neurons, in TEPS",
        "teps",
        (_TEPS,),
        AI_IMPACTS,
        unit="TEPS",
        quantity="brain.traversed_edges",
        note="edges traversed, not floating-point operations",
    )
    yield compute(
        "ai-impacts-2015",
        "Communication between neurons in TEPS, converted at 1.7 GTEPS per TFLOP/s",
        "teps/teps_per_flop",
        (
            _TEPS,
            fixed(
                "teps_per_flop",
                "GTEPS*s/TFLOP",
                1.7,
                f"{AI_IMPACTS}: 1.7 GTEPS per TFLOP/s; its printed FLOP/s (0.9 to 33.7e16) need 1.9",
                "traversed edges for each floating-point operation, of machines on both lists",
            ),
        ),
        f"{AI_IMPACTS}: 1.8e13 to 6.4e14 TEPS; own arithmetic, the source prints 0.9e16 to 33.7e16",
        note="the conversion from TEPS is the source's, and its printed range disagrees with it",
    )
