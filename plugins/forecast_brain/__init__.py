"""How much compute matches a brain: published estimates as formulas over uncertain inputs.

The inputs carry the disagreement, so that people can argue about inputs instead of conclusions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import EstimateSpec, Input, MixtureSpec, ModelSpec, ScenarioSpec, hookimpl

_ESSAY = "Dettmers, T. (2015-07-27), The Brain vs Deep Learning Part I: Computational Complexity"
_CARLSMITH = (
    "Carlsmith, J. (2020), How Much Computational Power Does It Take to Match the Human Brain?, Open Philanthropy"
)
_KURZWEIL = "Kurzweil, R. (2005), The Singularity Is Near"
_AI_IMPACTS = "AI Impacts (2015), Brain performance in TEPS, and in FLOPS"
_WBE = "Sandberg, A. & Bostrom, N. (2008), Whole Brain Emulation: A Roadmap, table 9, as quoted by AI Impacts"
_MORAVEC = "Moravec, H. (1997), When will computer hardware match the human brain?, as converted by AI Impacts"


def _fixed(name: str, unit: str, value: float, source: str, title: str = "") -> Input:
    return Input(name=name, unit=unit, distribution={"value": value}, source=source, title=title)


#: Reconstruction A of the lost formula: 2 FLOP × 200 Hz × (10·1000·5) × [5e10·(15·5) + 1e8·(1e5·5)] = 1.075e21 exactly.
_DETTMERS = (
    _fixed("flop_per_connection", "FLOP", 2.0, f"{_ESSAY}: a multiplication and an addition (reconstructed)"),
    Input(
        name="firing_rate",
        unit="1/s",
        distribution={"p05": 50.0, "p50": 200.0, "p95": 1000.0},
        source=f"{_ESSAY}: 200 spikes/s, with 50 to 1000 elsewhere in the text, taken here as a 90 % range",
        title="spikes per second; cortical averages of 0.1 to 2 (Lennie 2003, from memory) would lower the answer by "
        "two to three orders",
    ),
    _fixed("filter_inputs", "", 10.0, f"{_ESSAY}: Purkinje filter 10 × 1000 × 5"),
    _fixed("filter_dendrites", "", 1000.0, f"{_ESSAY}: Purkinje filter 10 × 1000 × 5"),
    Input(
        name="time_steps",
        unit="",
        distribution={"p05": 2.4, "p50": 5.0, "p95": 6.0},
        source=f"{_ESSAY}: 5 steps at 30 frames/s; 80 to 200 ms are 2.4 to 6 steps, taken here as a 90 % range",
        title="time dimension of the convolution",
    ),
    _fixed("granule_cells", "", 5e10, f"{_ESSAY}: 50 billion cerebellar granule cells"),
    _fixed("granule_inputs", "", 15.0, f"{_ESSAY}: granule input 15 × 5"),
    _fixed("purkinje_cells", "", 1e8, f"{_ESSAY}: 100 million Purkinje cells"),
    Input(
        name="purkinje_inputs",
        unit="",
        distribution={"p05": 5e4, "p50": 1e5},
        source=f"{_ESSAY}: 100,000 inputs; its own counts (5e10·100/1e8) give 50,000, taken here as the 5 % quantile",
        title="inputs of one Purkinje cell",
    ),
)


@hookimpl
def forecast_models() -> Iterator[ModelSpec]:
    """Bring one estimate an author, and their mixture."""
    yield EstimateSpec(
        name="dettmers-2015",
        title="Extended LNP cascade as a convolution, cerebellum only (reconstruction A)",
        quantity="brain.compute",
        unit="FLOP/s",
        expression=(
            "flop_per_connection*firing_rate*filter_inputs*filter_dendrites*time_steps"
            "*(granule_cells*granule_inputs*time_steps + purkinje_cells*purkinje_inputs*time_steps)"
        ),
        inputs=_DETTMERS,
        note="a lower bound by the author's own words; the formula is a reconstruction, the original was a picture and "
        "is lost",
        reference=_ESSAY,
    )
    yield _one_number(
        "kurzweil-2005",
        "Functional scaling of brain regions",
        {"value": 1e16},
        f"{_KURZWEIL}: 1e16 calculations per second, taken as FLOP/s",
        note="a point: the range of 1e14 to 1e19 given elsewhere could not be verified and is not used",
    )
    yield _one_number(
        "carlsmith-2020",
        "Mechanistic: spikes through synapses, firing decisions, learning",
        {"p05": 1e13, "p50": 1e15, "p95": 1e17},
        f"{_CARLSMITH}: 1e13 to 1e17, with 1e15 more likely than not enough; the range taken here as 90 %",
    )
    yield _one_number(
        "ai-impacts-2015",
        "Communication between neurons in TEPS, converted at 1.7 GTEPS per TFLOP/s",
        {"low": 1.06e16, "high": 3.76e17, "family": "loguniform"},
        f"{_AI_IMPACTS}: 1.8e13 to 6.4e14 TEPS; own arithmetic, the source prints 0.9e16 to 33.7e16",
        note="the conversion from TEPS is the source's, and its printed range disagrees with it",
    )
    yield _one_number(
        "sandberg-bostrom-2008",
        "Whole-brain emulation, from spiking networks to electrophysiology",
        {"low": 1e18, "high": 1e22, "family": "loguniform"},
        f"{_WBE}: spiking network 1e18, electrophysiology 1e22",
        note="two levels of detail taken as the ends of a range",
    )
    yield _one_number(
        "moravec-1997",
        "The retina scaled up to the brain",
        {"value": 3e13},
        f"{_MORAVEC}: 100 million MIPS, MFLOPS = 2.3·MIPS^0.89",
        note="a point: 1e14 as an upper figure could not be verified",
    )
    yield MixtureSpec(
        name="pooled",
        title="One vote an author",
        quantity="brain.compute",
        unit="FLOP/s",
        weights={
            f"brain/{name}": 1.0
            for name in (
                "dettmers-2015",
                "kurzweil-2005",
                "carlsmith-2020",
                "ai-impacts-2015",
                "sandberg-bostrom-2008",
                "moravec-1997",
            )
        },
        note="equal weights are a choice, not a measurement",
        reference="the estimates of the table brain-estimates that state FLOP/s and could be verified, one an author",
    )


def _one_number(
    name: str, title: str, distribution: dict[str, float | str], source: str, *, note: str = ""
) -> EstimateSpec:
    return EstimateSpec(
        name=name,
        title=title,
        quantity="brain.compute",
        unit="FLOP/s",
        expression="compute",
        inputs=(Input(name="compute", unit="FLOP/s", distribution=distribution, source=source, title=title),),
        note=note,
        reference=source,
    )


@hookimpl
def forecast_scenarios() -> Iterator[ScenarioSpec]:
    """Bring the founding question."""
    yield ScenarioSpec(
        name="brain-parity",
        title="When does the fastest supercomputer match the brain, and how likely is never?",
        path=str(Path(__file__).with_name("brain-parity.toml")),
        reference=_ESSAY,
    )
