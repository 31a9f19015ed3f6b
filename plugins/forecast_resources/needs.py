"""What progress needs, what there is, and what stops it: the inputs of the scenario scaling-ends, each with its source.

Every width that no source states is ours and says so.
"""

from __future__ import annotations

from forecast import EstimateSpec, Input, ModelSpec

__all__ = ["MODELS", "STARTS"]

ESSAY = "Dettmers 2025-12-10, Why AGI Will Not Happen"
SEVILLA = "Sevilla et al. 2024-08-20, Can AI scaling continue through 2030?, Epoch AI"
HOBBHAHN = "Hobbhahn & Besiroglu 2022, Trends in GPU price-performance, Epoch AI"
CLUSTERS = "Epoch AI, AI supercomputers (CC-BY 4.0), as compiled in datasets/ai-clusters"
COSTS = "Epoch AI, cost of training (CC-BY 4.0), epoch-research/training-cost-trends@263c40a"
COMPOUND = "forecast_resources.compounding:compounding"
RUNS = "Epoch AI, notable machine learning models (CC-BY 4.0), as compiled in datasets/training-runs"
INDEX = "Epoch AI, Epoch Capabilities Index (CC-BY 4.0), as compiled in datasets/capability"


def _rate(name: str, title: str, distribution: dict[str, float | str], source: str, note: str = "") -> EstimateSpec:
    asked = Input(name="growth", unit="1/year", distribution=distribution, source=source, title=title)
    return EstimateSpec(
        name=name, title=title, quantity=f"resources.{name.replace('-', '_')}", unit="1/year", expression="growth",
        inputs=(asked,), note=note, reference=source,
    )  # fmt: skip


def _dollars(unit: str) -> dict[str, str]:
    return {"dollars": "nominal"} if unit == "USD" else {}


def _start(
    name: str, title: str, unit: str, start: dict[str, float | str], date: float, source: str
) -> tuple[ModelSpec, tuple[Input, Input]]:
    spec = ModelSpec(
        name=name, title=title, quantity=f"resources.{name.replace('-', '_')}", unit=unit, target=COMPOUND,
        reference=source, qualifiers=_dollars(unit),
    )  # fmt: skip
    return spec, (
        Input(
            name="start",
            unit=unit,
            distribution=start,
            source=source,
            title=title,
            qualifiers=_dollars(unit),
            lower=0.0,
        ),
        Input(name="date", unit="year", distribution={"value": date}, source=source, title="of the start"),
    )


def _ceiling(name: str, title: str, unit: str, distribution: dict[str, float | str], source: str) -> EstimateSpec:
    asked = Input(
        name="most", unit=unit, distribution=distribution, source=source, title=title, qualifiers=_dollars(unit)
    )  # fmt: skip
    return EstimateSpec(
        name=f"ceiling-{name}", title=title, quantity=f"resources.ceiling_{name}", unit=unit, expression="most",
        inputs=(asked,), reference=source,
    )  # fmt: skip


PROGRESS = (
    ModelSpec(
        name="progress-per-compute",
        title="Points of the capability index for each factor e in training compute, at one date",
        quantity="resources.progress_per_compute",
        unit="",
        target="forecast_resources.progress:per_compute",
        note="across makers: it holds what better makers do with more compute too",
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

RATES = (
    _rate(
        "price-performance-continues",
        "Growth of FLOP/s per dollar, if it goes on",
        {"p05": 0.257, "p50": 0.2818, "p95": 0.3071},
        f"{HOBBHAHN}: FP32 per dollar doubles in 2.46 years (95 % 2.24 to 2.72, taken here as 90 %: 2.26 to 2.70)",
        "one precision; what lower precisions gave came once",
    ),
    _rate(
        "price-performance-ends",
        "No growth of FLOP/s per dollar",
        {"value": 0.0},
        f"{ESSAY}: performance per cost had its maximum in 2018, what followed were one-off features",
    ),
    _rate(
        "energy-efficiency-continues",
        "Growth of FLOP/s per watt, if it goes on",
        {"p05": 0.193, "p95": 0.247},
        f"{SEVILLA} (1.28 a year, 2010 to 2024) and an own fit to Epoch AI's ML hardware (doubling in 3.6 years); the "
        "two taken as the ends of a range",
    ),
    _rate(
        "energy-efficiency-ends",
        "No growth of FLOP/s per watt",
        {"value": 0.0},
        f"{ESSAY}: physical limits of the transistor and of memory",
    ),
    _rate(
        "chip-performance-continues",
        "Growth of FLOP/s per chip, if it goes on",
        {"p05": 0.296, "p95": 0.47},
        f"{HOBBHAHN} (FP32 peak doubles in 2.34 years) and Epoch AI, AI supercomputers (1.6 a year per chip); the two "
        "taken as the ends of a range",
    ),
    _rate("chip-performance-ends", "No growth of FLOP/s per chip", {"value": 0.0}, f"{ESSAY}: GPUs no longer improve"),
)

_BEGUN = (
    _start(
        "run-cost",
        "Cost of the dearest training run, amortised hardware and energy",
        "USD",
        {"p05": 2.5e8, "p50": 5.075e8, "p95": 1e9},
        2025.13,
        f"{COSTS}: Grok-3, 507 million; a factor of 2 either way is ours",
    ),
    _start(
        "run-power",
        "Power of the largest training cluster",
        "MW",
        {"p05": 250.0, "p50": 352.0, "p95": 450.0},
        2025.55,
        f"{CLUSTERS}: xAI Colossus, phase 3, an estimate; the width is ours",
    ),
    _start(
        "run-chips",
        "Chips of the largest training cluster",
        "",
        {"p05": 1.5e5, "p50": 2e5, "p95": 2.5e5},
        2025.55,
        f"{CLUSTERS}: xAI Colossus, phase 3, H100 and alike; the width is ours",
    ),
    _start(
        "run-tokens",
        "Tokens of the largest training set",
        "token",
        {"value": 1.5e13},
        2024.55,
        f"{SEVILLA}: 15 trillion tokens of public text",
    ),
)

#: What each quantity that compounds starts from: its level and the date of it.
STARTS = {spec.name: inputs for spec, inputs in _BEGUN}

CEILINGS = (
    _ceiling(
        "dollars",
        "What one training run can cost at most",
        "USD",
        {"p05": 1e10, "p95": 3e11},
        "our judgement: from a tenth to three times what the largest buyer spends on data centres in a year, about "
        "1e11 USD (from memory, unverified)",
    ),
    _ceiling(
        "power",
        "Power that one training run can have by about 2030",
        "MW",
        {"p05": 2000.0, "p95": 45000.0},
        f"{SEVILLA}: 2 to 45 GW over a network of sites, read here as 90 %; a single campus has 1 to 5 GW",
    ),
    _ceiling(
        "chips",
        "Chips that one training run can have by about 2030, as H100",
        "",
        {"p05": 2e7, "p95": 4e8},
        f"{SEVILLA}: 20 to 400 million H100-equivalents, read here as 90 %",
    ),
    _ceiling(
        "tokens",
        "Tokens there are to train on by about 2030",
        "token",
        {"p05": 4e14, "p95": 2e16},
        f"{SEVILLA}: 400 trillion to 20 quadrillion effective tokens, read here as 90 %",
    ),
)

GROWTH = (
    ModelSpec(
        name="compute-growth-asked",
        title="Growth of training compute that the progress asked for needs",
        quantity="resources.compute_growth",
        unit="1/year",
        target="forecast_resources.measured:asked",
        note="progress asked for, less what comes without compute, over what a factor e of compute brings: far less "
        "than compute has grown by (resources/compute-growth-as-measured)",
        reference=f"{ESSAY} (linear progress needs exponential resources)",
    ),
    ModelSpec(
        name="compute-growth-as-measured",
        title="Growth of training compute, if it goes on as it has",
        quantity="resources.compute_growth",
        unit="1/year",
        target="forecast_resources.measured:as_measured",
        note="of notable models, by resources/training-compute@exponential, whatever progress it brings",
        reference=RUNS,
    ),
)

MODELS = (*PROGRESS, *RATES, *GROWTH, *(spec for spec, _ in _BEGUN), *CEILINGS)
