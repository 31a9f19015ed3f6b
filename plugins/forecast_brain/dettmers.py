"""Dettmers 2015: the brain as convolutions of an extended linear-nonlinear-Poisson cascade, cell by cell.

The essay's formula was a picture and is lost. Two products give its printed 1.075e21 FLOP/s exactly, and neither is
proven: reconstruction A is the default, B stands beside it. A third, with each cell's own filter as the text has them,
comes out 7 % lower. The number covers the cerebellum only and leaves much out: a lower bound by the author's own words.
"""

from __future__ import annotations

from collections.abc import Iterator

from forecast import EstimateSpec, Input
from forecast_brain.brain_inputs import BRAIN_ESSAY, OURS, compute, fixed, spread

__all__ = ["LEFT_OUT", "models"]

_LOWER = "a lower bound by the author's own words"
_LOST = "the formula is a reconstruction, the original was a picture and is lost"

_FLOP = fixed("flop_per_connection", "FLOP", 2.0, f"{BRAIN_ESSAY}: a multiplication and an addition (reconstructed)")
_RATE = spread(
    "firing_rate",
    "1/s",
    {"p05": 50.0, "p50": 200.0, "p95": 1000.0},
    f"{BRAIN_ESSAY}: 200 spikes/s, with 50 to 1000 elsewhere in the text, taken here as a 90 % range",
    "spikes per second; cortical averages of 0.1 to 2 (Lennie 2003, from memory) would lower the answer by two to "
    "three orders",
)
_TIME_STEPS = spread(
    "time_steps",
    "",
    {"p05": 2.4, "p50": 5.0, "p95": 6.0},
    f"{BRAIN_ESSAY}: 5 steps at 30 frames/s; 80 to 200 ms are 2.4 to 6 steps, taken here as a 90 % range",
    "time dimension of the convolution",
)
_GRANULE_CELLS = fixed("granule_cells", "", 5e10, f"{BRAIN_ESSAY}: 50 billion cerebellar granule cells")
_GRANULE_INPUTS = fixed("granule_inputs", "", 15.0, f"{BRAIN_ESSAY}: granule input 15 × 5")
_PURKINJE_CELLS = fixed("purkinje_cells", "", 1e8, f"{BRAIN_ESSAY}: 100 million Purkinje cells")
_PURKINJE_INPUTS = spread(
    "purkinje_inputs",
    "",
    {"p05": 5e4, "p50": 1e5},
    f"{BRAIN_ESSAY}: 100,000 inputs; its own counts (5e10·100/1e8) give 50,000, taken here as the 5 % quantile",
    "inputs of one Purkinje cell",
)
_CELLS = (_TIME_STEPS, _GRANULE_CELLS, _GRANULE_INPUTS, _PURKINJE_CELLS, _PURKINJE_INPUTS)

_FILTER = (
    fixed("filter_inputs", "", 10.0, f"{BRAIN_ESSAY}: Purkinje filter 10 × 1000 × 5"),
    fixed("filter_dendrites", "", 1000.0, f"{BRAIN_ESSAY}: Purkinje filter 10 × 1000 × 5"),
)
_GRANULE_FILTER = (
    fixed("granule_filter_inputs", "", 3.0, f"{BRAIN_ESSAY}: granule filter 3 × 4 × 5"),
    fixed("granule_filter_dendrites", "", 4.0, f"{BRAIN_ESSAY}: granule filter 3 × 4 × 5"),
)
_DENDRITES = (
    fixed("granule_dendrites", "", 4.0, f"{BRAIN_ESSAY}: 4 dendrites a granule cell"),
    fixed("purkinje_dendrites", "", 1000.0, f"{BRAIN_ESSAY}: 1000 dendrites in the Purkinje filter"),
)
_CORTEX = (
    fixed(
        "other_cells",
        "",
        3.59e10,
        f"{BRAIN_ESSAY}: 86 billion neurons less 50 billion granule and 0.1 billion Purkinje",
    ),
    spread(
        "other_inputs",
        "",
        {"p05": 5e3, "p95": 1.5e4},
        f"{BRAIN_ESSAY}: 5,000 to 15,000 synapses a cerebral neuron, taken here as a 90 % range",
    ),
)

_BRACKET = "(granule_cells*granule_inputs*time_steps + purkinje_cells*purkinje_inputs*time_steps)"
_A = f"flop_per_connection*firing_rate*filter_inputs*filter_dendrites*time_steps*{_BRACKET}"
_GRANULE = (
    "flop_per_connection*firing_rate*granule_filter_inputs*granule_filter_dendrites*time_steps"
    "*granule_cells*granule_inputs*time_steps"
)
_PURKINJE = (
    "flop_per_connection*firing_rate*filter_inputs*filter_dendrites*time_steps*purkinje_cells*purkinje_inputs"
    "*time_steps"
)
_SOMA = (
    "flop_per_connection*firing_rate*time_steps*(granule_cells*granule_dendrites + purkinje_cells*purkinje_dendrites)"
)
_OTHER = "flop_per_connection*firing_rate*filter_inputs*filter_dendrites*time_steps*other_cells*other_inputs*time_steps"
_SOMA_NOTE = "how the soma's 1 × 1 × 5 filter enters is a reading of ours: once for every dendrite"
_CORTEX_NOTE = (
    "not in the author's number; that cerebral neurons have a Purkinje cell's filter is an assumption of ours"
)

#: What the author names and leaves out: (name, most it may multiply by, what it is). Only the first has a figure.
LEFT_OUT: tuple[tuple[str, float, str], ...] = (
    ("backpropagation", 2.0, "action potentials that run back into the dendrites; it may nearly double the number"),
    ("vesicles", 2.0, "vesicles of several transmitters"),
    ("dendrite_shape", 2.0, "the shape of dendrites"),
    ("spines", 10.0, "spines that compute on their own"),
    ("electrical_synapses", 1.1, "electrical synapses"),
    ("regulation", 10.0, "regulation of proteins and genes"),
    ("glia", 2.0, "glia"),
)


def _left_out() -> Iterator[Input]:
    """Make a multiplier and a switch of everything that was left out."""
    for name, most, what in LEFT_OUT:
        said = f"{BRAIN_ESSAY}: names it" + (
            ": at most a doubling" if name == "backpropagation" else f" without figure; {OURS}"
        )
        family = {"family": "loguniform"} if most > 2 else {}
        yield spread(name, "", {"low": 1.0, "high": most, **family}, said, f"factor for {what}")
        yield fixed(f"with_{name}", "", 1.0, "a switch of ours: 1 counts it, 0 leaves it out", f"counts {name}: 1 or 0")


def models() -> Iterator[EstimateSpec]:
    """Bring the reconstructions, the regions one by one, and what was left out."""
    yield compute(
        "dettmers-2015",
        "Extended LNP cascade as a convolution, cerebellum only (reconstruction A)",
        _A,
        (_FLOP, _RATE, *_FILTER, *_CELLS),
        BRAIN_ESSAY,
        note=f"{_LOWER}; {_LOST}",
    )
    yield compute(
        "dettmers-2015-b",
        "Extended LNP cascade, cerebellum only (reconstruction B: a flat 100,000 FLOP a connection)",
        f"flop_per_connection*firing_rate*{_BRACKET}",
        (fixed("flop_per_connection", "FLOP", 1e5, f"{BRAIN_ESSAY}: 100,000 (reconstructed)"), _RATE, *_CELLS),
        BRAIN_ESSAY,
        note=f"{_LOWER}; {_LOST}",
    )
    switches = (
        fixed(
            "with_soma", "", 0.0, "a switch of ours: 1 adds the somas, 0 leaves them out", "counts the somas: 1 or 0"
        ),
        fixed("with_cortex", "", 0.0, "a switch of ours: 1 adds the other neurons", "counts the cortex: 1 or 0"),
    )
    yield compute(
        "dettmers-2015-own-filters",
        "Extended LNP cascade, each kind of cell with its own filter; somas and cortex on request",
        f"{_GRANULE} + {_PURKINJE} + with_soma*{_SOMA} + with_cortex*{_OTHER}",
        (_FLOP, _RATE, *_FILTER, *_GRANULE_FILTER, *_CELLS, *_DENDRITES, *_CORTEX, *switches),
        BRAIN_ESSAY,
        note=f"7 % below the printed number at the medians; {_SOMA_NOTE}; cortex: {_CORTEX_NOTE}",
    )
    yield from _regions()
    factors = "*".join(f"(1 + with_{name}*({name} - 1))" for name, _, _ in LEFT_OUT)
    yield compute(
        "dettmers-2015-extended",
        "Reconstruction A times what its author left out, each a factor with a range and a switch",
        f"{_A}*{factors}",
        (_FLOP, _RATE, *_FILTER, *_CELLS, *_left_out()),
        BRAIN_ESSAY,
        note="only the factor of backpropagation has a figure in the source; the other ranges are ours",
    )


def _regions() -> Iterator[EstimateSpec]:
    """Make the regions one by one; each is a model with draws of its own."""
    common = (_FLOP, _RATE, _TIME_STEPS)
    granule = (*common, *_GRANULE_FILTER, _GRANULE_CELLS, _GRANULE_INPUTS)
    purkinje = (*common, *_FILTER, _PURKINJE_CELLS, _PURKINJE_INPUTS)
    soma = (*common, _GRANULE_CELLS, _PURKINJE_CELLS, *_DENDRITES)
    for name, title, expression, inputs, note in (
        ("granule", "Granule cells of the cerebellum, own filter 3 × 4 × 5", _GRANULE, granule, _LOWER),
        ("purkinje", "Purkinje cells of the cerebellum, filter 10 × 1000 × 5", _PURKINJE, purkinje, _LOWER),
        ("soma", "Somas of granule and Purkinje cells, filter 1 × 1 × 5", _SOMA, soma, _SOMA_NOTE),
        (
            "cortex",
            "All other neurons, with a Purkinje cell's filter",
            _OTHER,
            (*common, *_FILTER, *_CORTEX),
            _CORTEX_NOTE,
        ),
    ):
        yield compute(f"dettmers-2015-{name}", title, expression, inputs, BRAIN_ESSAY, note=note)
