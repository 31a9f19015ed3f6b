"""What the essay says about the brain, and what the other estimates print, recomputed."""

from __future__ import annotations

from collections.abc import Mapping

from forecast import ClaimSpec
from forecast_brain.figures import AI_IMPACTS, ESSAY, MEMORY, MORAVEC

__all__ = ["CLAIMS"]

_BRACKET = "granule_cells*granule_inputs*steps + purkinje_cells*purkinje_inputs*steps"
_LISTS = "table datasets/supercomputers, lists of June and November 2025"


def _claim(
    name: str,
    statement: str,
    stated: str,
    formula: str,
    unit: str = "",
    source: str = ESSAY,
    *,
    note: str = "",
    declared: str | None = None,
    facts: Mapping[str, str] | None = None,
    **values: float,
) -> ClaimSpec:
    return ClaimSpec(
        name=name,
        group="brain",
        statement=statement,
        stated=stated,
        formula=formula,
        values=values,
        facts=facts or {},
        unit=unit,
        declared=declared,
        reference=source,
        note=note,
    )


_SAID = "The brain needs at least 1.075e21 FLOP/s"
_STEP = "At 30 frames a second a time step is 33 ms: {} ms are {} of it"

_ESSAY = (
    _claim(
        "brain-flops", f"{_SAID} (reconstruction A: a Purkinje cell's filter everywhere)", "1.075e21",
        f"flop*rate*filter*({_BRACKET})", "FLOP/s",
        note="A lower bound by the author's own words, for the cerebellum only. His formula was a picture and is lost; "
        "this product gives it exactly and is not proven to be his.",
        flop=2, rate=200, filter=50000, granule_cells=5e10, granule_inputs=15,
        purkinje_cells=1e8, purkinje_inputs=1e5, steps=5,
    ),
    _claim(
        "brain-flops-b", f"{_SAID} (reconstruction B: a flat 100,000 FLOP a connection)", "1.075e21",
        f"rate*flop*({_BRACKET})", "FLOP/s",
        note="As exact as reconstruction A, and no more proven.", flop=1e5, rate=200,
        granule_cells=5e10, granule_inputs=15, purkinje_cells=1e8, purkinje_inputs=1e5, steps=5,
    ),
    _claim(
        "brain-flops-own-filters", f"{_SAID} (each kind of cell with its own filter)", "1.075e21",
        "flop*rate*(granule_cells*granule_filter*granule_inputs*steps + purkinje_cells*filter*purkinje_inputs*steps)",
        "FLOP/s", note="7 % lower: granule filter 3 × 4 × 5, Purkinje filter 10 × 1000 × 5.",
        flop=2, rate=200, filter=50000, granule_filter=60, granule_cells=5e10, granule_inputs=15,
        purkinje_cells=1e8, purkinje_inputs=1e5, steps=5,
    ),
    _claim(
        "synapse-total", "The brain has 10 trillion synapses", "1e13",
        "neurons*(share*cerebellar + (1 - share)*cerebral)", "",
        note="From its own counts: cerebellar neurons (three quarters) have 25,000 synapses each, cerebral 5,000 to "
        "15,000. 183 times as many; 1e13 is 116 a neuron.",
        neurons=8.6e10, share=0.75, cerebellar=25000, cerebral=10000,
    ),
    _claim(
        "purkinje-inputs", "A Purkinje cell has 100,000 inputs", "100000", "granule_cells*synapses/purkinje_cells", "",
        note="A granule cell makes 100 synapses, and there are 5e10 of them on 1e8 Purkinje cells.",
        granule_cells=5e10, synapses=100, purkinje_cells=1e8,
    ),
    _claim(
        "dendrite-count", "The brain has 300 billion dendrites", "3e11", "granule_cells*four + purkinje_cells*thousand",
        "", note="Granule and Purkinje cells only: 4 and 1000 dendrites each.",
        granule_cells=5e10, four=4, purkinje_cells=1e8, thousand=1000,
    ),
    _claim(
        "child-dendrites", "A child, with far more neurons, has in excess of 150 billion dendrites", "1.5e11",
        "granule_cells*four + purkinje_cells*thousand", "",
        note="Computed: the adult's, 3e11. Internally inconsistent: the child's figure is below the adult's.",
        granule_cells=5e10, four=4, purkinje_cells=1e8, thousand=1000,
    ),
    _claim(
        "cerebellum-share", "The cerebellum has three quarters of all neurons", "75", "100*cerebellar/neurons",
        "percent", note="Against its own counts: 50.1 of 86 billion.", cerebellar=5.01e10, neurons=8.6e10,
    ),
    _claim(
        "kurzweil-rule", "Kurzweil's rule is neurons × synapses × 200 Hz", "", "synapses*rate", "1/s",
        note="No result is printed. 1e13 synapses give 2e15; the 1.83e15 of its counts give 3.7e17.",
        declared="not derivable", synapses=1e13, rate=200,
    ),
    _claim(
        "neuroscience-doubling", "Knowledge doubles every year, so 2005 knew 0.098 % of what 2015 knows", "0.098",
        "100*2**(-years/doubling)", "percent",
        note="2 to the power of minus 10, 0.0977 %.", years=10, doubling=1,
    ),
    _claim(
        "neuroscience-doubling-two-years", "2005 knew way below 1 % of what 2015 knows", "1",
        "100*2**(-years/doubling)", "percent",
        note="With its other doubling time, two years: 3.1 %, not way below 1 %.", years=10, doubling=2,
    ),
    _claim(
        "vision-steps-20", _STEP.format(20, 0.6), "0.6", "seconds*rate", "", seconds=0.02, rate=30,
    ),
    _claim(
        "vision-steps-80", _STEP.format(80, 2.4), "2.4", "seconds*rate", "", seconds=0.08, rate=30,
    ),
    _claim(
        "vision-steps-200", _STEP.format(200, 6), "6", "seconds*rate", "", seconds=0.2, rate=30,
    ),
)  # fmt: skip

_OTHERS = (
    _claim(
        "teps-as-flops-low", "18 trillion TEPS are 0.9e16 FLOP/s", "0.9e16", "teps/ratio", "FLOP/s", AI_IMPACTS,
        note="At its 1.7 GTEPS per TFLOP/s; its printed range needs 1.9.", teps=1.8e13, ratio=1.7e-3,
    ),
    _claim(
        "teps-as-flops-high", "640 trillion TEPS are 33.7e16 FLOP/s", "33.7e16", "teps/ratio", "FLOP/s", AI_IMPACTS,
        note="At its 1.7 GTEPS per TFLOP/s; its printed range needs 1.9.", teps=6.4e14, ratio=1.7e-3,
    ),
    _claim(
        "moravec-mips", "The retina does the work of 1,000 MIPS, the brain of 100 million", "1e8",
        "1e-6*detections*instructions*images*retinas", "MIPS", MORAVEC,
        detections=1e6, instructions=100, images=10, retinas=1e5,
    ),
    _claim(
        "moravec-flops", "100 million MIPS are 3e13 FLOP/s", "3e13", "1e6*factor*mips**exponent", "FLOP/s",
        "AI Impacts, Brain performance in FLOPS: MFLOPS = 2.3·MIPS^0.89", factor=2.3, mips=1e8, exponent=0.89,
    ),
    _claim(
        "landauer", "How many bits can a brain erase a second?", "", "power/(boltzmann*temperature*log(2))",
        "bit_erasure/s", f"Landauer 1961; 20 W {MEMORY}", declared="ours",
        note="An upper limit of another kind: erasures are not FLOP.",
        power=20, boltzmann=1.380649e-23, temperature=310,
    ),
)  # fmt: skip

_SIMPLE = "When does {} reach 1.075e21 FLOP/s, as a straight line?"
_BASIS = "Point arithmetic without an interval; forecast run brain-parity has the intervals."
_PARITY = (
    _claim(
        "parity-ai-cluster", _SIMPLE.format("the largest AI cluster (16-bit peak)"), "",
        "at + log(brain/rate)/log(growth)", "date",
        "Pilz et al. 2025, arXiv:2504.16026: 2e22 FLOP/s in 2030, growing 2.5-fold a year", declared="ours",
        note=f"2026.8 on the published line, whose figures cannot be checked here. {_BASIS}",
        at=2030, brain=1.075e21, rate=2e22, growth=2.5,
    ),
    _claim(
        "parity-linpack", _SIMPLE.format("the fastest machine by LINPACK"), "",
        "at + doubling*log(brain/rate)/log(2)", "date", _LISTS, declared="ours",
        facts={"doubling": "hardware/linpack-changepoint.doubling_years"},
        note=f"At the doubling time since the break of 2013, from the list of June 2025. {_BASIS}",
        at=2025.45, brain=1.075e21, rate=1.742e18,
    ),
    _claim(
        "parity-hpcg", _SIMPLE.format("the best HPCG result"), "",
        "at + doubling*log(brain/rate)/log(2)", "date", _LISTS, declared="ours",
        facts={"doubling": "hardware/hpcg-exponential.doubling_years"},
        note=f"At the doubling time of a regression. The choice of metric moves the date by decades. {_BASIS}",
        at=2025.45, brain=1.075e21, rate=1.74069e16,
    ),
    _claim(
        "parity-hpcg-end-to-end", _SIMPLE.format("the best HPCG result, end to end,"), "",
        "at + (at - since)*log(brain/rate)/log(rate/first)", "date", f"{_LISTS}; 0.58 PFLOP/s in 2013: {ESSAY}",
        declared="ours",
        note=f"At the doubling time from the essay's 0.58 PFLOP/s of 2013.5 to the list of June 2025. {_BASIS}",
        at=2025.45, since=2013.5, brain=1.075e21, rate=1.74069e16, first=5.8e14,
    ),
)  # fmt: skip

CLAIMS: tuple[ClaimSpec, ...] = (*_ESSAY, *_OTHERS, *_PARITY)
