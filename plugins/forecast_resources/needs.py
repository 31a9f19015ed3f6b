"""What progress needs: the inputs of the scenario scaling-ends that are not those of model-capability."""

from __future__ import annotations

from forecast import EstimateSpec, Input, ModelSpec

__all__ = ["NEEDS_MODELS"]

NEEDS_ESSAY = "Dettmers 2025-12-10, Why AGI Will Not Happen"
RUNS = (
    "Epoch AI, notable AI models (CC-BY 4.0), editions 2026-05 and 2026-09, as compiled in datasets/training-runs-2026"
)
BLOOM = "Bloom, Jones, Van Reenen & Webb 2020, Are Ideas Getting Harder to Find?, American Economic Review 110(4)"
INDEX = "Epoch AI, Epoch Capabilities Index (CC-BY 4.0), edition 2026-08, as compiled in datasets/capability-editions"

PROGRESS = (
    ModelSpec(
        name="progress-per-compute",
        title="Points of the capability index for each factor e in training compute, at one date",
        quantity="resources.progress_per_compute",
        unit="",
        target="forecast_resources.progress:per_compute",
        note="across makers: it holds what better makers do with more compute too; a range between two regressions",
        reference=INDEX,
    ),
    ModelSpec(
        name="progress-per-year",
        title="Points of the capability index a year, at one training compute",
        quantity="resources.progress_per_year",
        unit="1/year",
        target="forecast_resources.progress:per_year",
        note="algorithms, data, training after training and compute spent at use, all in one",
        reference=INDEX,
    ),
    ModelSpec(
        name="frontier-progress",
        title="Points of the capability index a year by which the best model so far has risen",
        quantity="resources.frontier_progress",
        unit="1/year",
        target="forecast_resources.progress:frontier",
        reference=INDEX,
    ),
    ModelSpec(
        name="open-lag",
        title="Years by which the best open model comes after the best closed one",
        quantity="resources.open_lag",
        unit="year",
        target="forecast_resources.progress:open_lag",
        note="Epoch AI has 3.5 months [90 %: 1.1, 5.3] in October 2025 and 4 since January 2026",
        reference="Epoch AI, Epoch Capabilities Index (CC-BY 4.0), as compiled in datasets/capability-editions; "
        "Emberson 2025-10-30, Open-weight models lag state-of-the-art by around 3 months on average, Epoch AI",
    ),
)


def _switch(name: str, title: str, share: float, source: str) -> EstimateSpec:
    number = Input(name="share", unit="", distribution={"value": share}, source=source, title=title)
    return EstimateSpec(
        name=name, title=title, quantity="resources.hardware_goes_on", unit="", expression="share", inputs=(number,),
        reference=source,
    )  # fmt: skip


HARDWARE = (
    _switch(
        "hardware-continues",
        "Hardware improves as it has: the share of its growth that goes on",
        1.0,
        "the trends of hardware and of data centres, as the scenario model-capability carries them on",
    ),
    _switch(
        "hardware-ends",
        "Hardware improves no more: the share of its growth that goes on",
        0.0,
        f"{NEEDS_ESSAY}: performance per cost had its maximum in 2018, what followed were one-off features, used up",
    ),
)

GROWTH = (
    ModelSpec(
        name="compute-growth-as-needed",
        title="Growth of training compute that the progress asked for needs",
        quantity="resources.compute_growth",
        unit="1/year",
        target="forecast_resources.compute_growth:as_needed",
        note="progress asked for, less what comes without compute, over what a factor e of compute brings: far less "
        "than compute has grown by (resources/compute-growth-as-measured)",
        reference=f"{NEEDS_ESSAY} (linear progress needs exponential resources)",
    ),
    ModelSpec(
        name="compute-growth-as-measured",
        title="Growth of training compute, if it goes on as it has",
        quantity="resources.compute_growth",
        unit="1/year",
        target="forecast_resources.compute_growth:as_measured",
        note="of the largest runs, by capability/training-compute@exponential, whatever progress it brings",
        reference=RUNS,
    ),
)

RESEARCH = ModelSpec(
    name="research-effort",
    title="By how much research effort on chips must grow to keep a rate of progress",
    quantity="resources.research_effort",
    unit="",
    target="forecast_resources.effort:needed",
    note="exp(beta·growth·years), with beta from resources/chip-progress-from-effort; the source has 18.3 for 1971 "
    "to 2014 from what was spent",
    reference=BLOOM,
)

NEEDS_MODELS = (*PROGRESS, *HARDWARE, *GROWTH, RESEARCH)
