"""What progress needs, what there is, and what stops it: the inputs of the scenario scaling-ends, each with its source.

Every width that no source states is ours and says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from forecast import EstimateSpec, Input, ModelSpec

__all__ = ["MODELS", "STARTS"]

ESSAY = "Dettmers 2025-12-10, Why AGI Will Not Happen"
SEVILLA = "Sevilla et al. 2024-08-20, Can AI scaling continue through 2030?, Epoch AI"
HOBBHAHN = "Hobbhahn & Besiroglu 2022, Trends in GPU price-performance, Epoch AI"
SITES = "Epoch AI, Frontier data centers (CC-BY 4.0), edition of 2026-09-27, as compiled in datasets/data-centres"
DIRECT = "Barnett & Besiroglu 2023, The direct approach, epoch-research/timelines-direct-approach@01ffd90 (Apache-2.0)"
COMPOUND = "forecast_resources.compounding:compounding"
RUNS = (
    "Epoch AI, notable AI models (CC-BY 4.0), editions 2026-05 and 2026-09, as compiled in datasets/training-runs-2026"
)
INDEX = "Epoch AI, Epoch Capabilities Index (CC-BY 4.0), edition 2026-08, as compiled in datasets/capability-editions"


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


def _ceiling(name: str, title: str, unit: str, distribution: Mapping[str, object], source: str) -> EstimateSpec:
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
        "run-compute",
        "Compute of the largest training run",
        "FLOP",
        {"p05": 5e26, "p50": 1e27, "p95": 2e27},
        2026.67,
        f"{RUNS}: GPT-6 Astra, 'likely'; no less than Grok 4, and a factor of 2 either way is ours",
    ),
    _start(
        "run-flop-per-dollar",
        "Training compute that a dollar buys, hardware amortised, with energy",
        "FLOP/USD",
        {"p05": 1e18, "p95": 3e18},
        2026.45,
        f"{RUNS}: 1e18 of the dearest runs of 2025; {SITES}: Colossus 2 at 3.1e10 FLOP/s a dollar, over 4 to 9 years "
        "at a third of the peak: 2e18 to 3e18; the two taken as the ends of a range",
    ),
    _start(
        "run-rate-per-watt",
        "Dense 16-bit peak of the largest data centres for a watt of their power",
        "FLOP/s/W",
        {"p05": 6e11, "p95": 9e11},
        2026.45,
        f"{SITES}: New Carlisle 6.2e11, Colossus 2 8.6e11, Fairwater Atlanta 8.9e11, cooling in the power",
    ),
    _start(
        "run-rate-per-chip",
        "Dense 16-bit peak of a chip of the largest training run",
        "TFLOP/s",
        {"p05": 989.5, "p95": 2500.0},
        2026.45,
        "table datasets/accelerators: from an H100 to a B300; runs mix them",
    ),
)

#: What each quantity that compounds starts from: its level and the date of it.
STARTS = {spec.name: inputs for spec, inputs in _BEGUN}

CEILINGS = (
    EstimateSpec(
        name="ceiling-dollars",
        title="What one training run can cost at most",
        quantity="resources.ceiling_dollars",
        unit="USD",
        expression="share*output",
        inputs=(
            Input(
                name="share",
                unit="",
                distribution={"lognormal": [0.00004, 0.05], "width": 0.95},
                source=f"{DIRECT}: 0.004 to 5 % of the world's output",
                lower=0.0,
            ),
            Input(
                name="output",
                unit="USD",
                distribution={"value": 1.3e14},
                source=f"{DIRECT}: 1.17e14 in 2022, growing by 2.6 % a year, in 2026",
                qualifiers=_dollars("USD"),
                lower=0.0,
            ),
        ),
        reference=DIRECT,
    ),
    _ceiling(
        "power",
        "Power that one training run can have by about 2030",
        "MW",
        {"lognormal": [2000.0, 45000.0], "width": 0.8},
        f"{SEVILLA}: 2 to 45 GW over a network of sites, read here as 80 %; a single campus has 1 to 5 GW; Epoch AI "
        "and EPRI say in 2025 that a run takes 4 to 16 GW in 2030",
    ),
    _ceiling(
        "chips",
        "Chips that one training run can have by about 2030, as H100",
        "",
        {"lognormal": [2e7, 4e8], "width": 0.8},
        f"{SEVILLA}: 20 to 400 million H100-equivalents, read here as 80 %",
    ),
    _ceiling(
        "tokens",
        "Tokens there are to train on by about 2030",
        "token",
        {"lognormal": [4e14, 2e16], "width": 0.8},
        f"{SEVILLA}: 400 trillion to 20 quadrillion effective tokens, read here as 80 %",
    ),
)


def _number(
    name: str, title: str, unit: str, distribution: Mapping[str, object], source: str, keeps: str = ""
) -> EstimateSpec:
    asked = Input(name="value", unit=unit, distribution=distribution, source=source, title=title, lower=0.0)
    return EstimateSpec(
        name=name, title=title, quantity=f"resources.{name.replace('-', '_')}", unit=unit, expression="value",
        inputs=(asked,), reference=source, keeps=keeps,
    )  # fmt: skip


RUN = (
    _number(
        "run-utilisation",
        "Share of the peak rate that a large training run uses",
        "",
        {"normal": [0.25, 0.45], "width": 0.9, "truncate": [0.05, 0.7]},
        f"{RUNS}: 0.34 (GPT-4), 0.41 (Nemotron-4), 0.40 (Llama 3.1 405B), 0.19 (GPT-3); that it stays so is ours",
        keeps="share",
    ),
    _number(
        "run-duration",
        "How long the largest training run takes",
        "day",
        {"lognormal": [70, 150], "width": 0.9},
        f"{RUNS}: 89 days (Llama 3.1 405B), 90 (Grok 3), 95 (GPT-4), 100 (Gemini Ultra); the width is ours",
    ),
    _number(
        "precision-now",
        "Rate of the precision that the largest runs train in, over that of 16 bits",
        "",
        {"low": 1.0, "high": 2.0, "family": "uniform"},
        "from all in 16 bits to all in 8, which is twice as fast (DeepSeek-V3, arXiv:2412.19437, trained in FP8, not "
        "throughout): our judgement",
    ),
    _number(
        "precision-continues",
        "Rate of the precision that runs come to train in about 2029, over that of 16 bits",
        "",
        {"low": 2.0, "high": 4.0, "family": "uniform"},
        "from all in 8 bits to all in 4 (NVIDIA 2025, arXiv:2509.25149, 12B parameters): our judgement",
    ),
    _number(
        "precision-ends",
        "No precision lower than today's",
        "",
        {"value": 1.0},
        f"{ESSAY}: fewer bits are a one-off feature, and used up",
    ),
    _number(
        "tokens-per-parameter",
        "Tokens for each parameter that a run trains on",
        "token/param",
        {"lognormal": [15, 60], "width": 0.9},
        "Hoffmann et al. 2022, arXiv:2203.15556: 20 for the least loss; 38 in Llama 3.1 405B; the width is ours",
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
        note="of the largest runs, by resources/training-compute@exponential, whatever progress it brings",
        reference=RUNS,
    ),
)

MODELS = (*PROGRESS, *RATES, *RUN, *GROWTH, *(spec for spec, _ in _BEGUN), *CEILINGS)
