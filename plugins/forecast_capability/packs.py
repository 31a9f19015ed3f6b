"""The published models: which source each reproduces, and under which licence. What they say stands in ``published``.

A preset or a variant of the source's extends the model that it changes, so that it is nothing but settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import ScenarioSpec

__all__ = ["PACKS", "scenarios"]

PUBLISHED_FOLDER = Path(__file__).with_name("published")

_METR = (
    "METR/eval-analysis-public@52d6b56 and peterhurford/metr_graph@dde102f (no licence: rebuilt from their figures; "
    "no code copied)"
)

_AI_2027 = (
    "Lifland & Jurkovic 2025, AI 2027 Timelines Forecast (April 2025): uvafan/timelines-takeoff-ai-2027@1356db7, "
    "2025-09-07 (no licence: rebuilt from its formulas; no code copied)"
)

_COTRA = "Cotra 2020, Forecasting TAI with biological anchors (draft report; its spreadsheet is not readable offline)"

_FTM_REFERENCE = (
    "Davidson 2023, What a compute-centric framework says about takeoff speeds: epoch-research/ftm@99dc907, 2025-06-02 "
    "(MIT; rebuilt from its equations, no code copied)"
)
_KWA = (
    "Kwa 2026, a simple model of AI takeoff: tkwa/ai-takeoff-model@a814779, metr.org/notes/2026-02-10 (no licence: "
    "rebuilt from its formulas; no code copied)"
)
_FUTURES = (
    "The public ancestor of the AI Futures Model (AI Futures Project 2025): brendanhalstead/ai-progress-rates@786c665, "
    "2025-10-15, with the series of @99a95cf (no licence: figures and equations; no code copied)"
)
_ECONOMY = (
    "ai-economy-timelines 2026: spiceoogway/ai-economy-timelines@b405b37, 2026-05-03 (no licence: figures and "
    "formulas; no code copied)"
)

#: File under ``published``, title, and what it reproduces.
PACKS: tuple[tuple[str, str, str], ...] = (
    ("metr-2025", "METR 2025: when does the time horizon of language models reach a month of work?", _METR),
    (
        "variants/metr-2025-superexponential",
        "METR 2025, drawn as growth that speeds up until a doubling takes a month",
        f"{_METR}; the superexponential variant of metr_graph",
    ),
    (
        "variants/metr-2025-piecewise",
        "METR 2025, drawn as the last piece of a trend in two",
        f"{_METR}; the piecewise variant of metr_graph",
    ),
    (
        "epoch-limits",
        "Epoch AI 2024: how large a training run do power, chips, data and latency allow by 2030?",
        "Sevilla et al. 2024, Can AI scaling continue through 2030? epoch.ai, 2024-08-20 (no code; CC-BY, from memory)",
    ),
    (
        "ho-2024",
        "Ho et al. 2024: how fast does the compute for a given loss fall?",
        "Ho et al. 2024, Algorithmic progress in language models, arXiv 2403.05812: "
        "epoch-research/lm-algorithmic-progress@29c7d85 (MIT; its data are not public, so nothing is refitted)",
    ),
    (
        "gpu-limits",
        "Hobbhahn & Besiroglu 2022: where does the growth of one graphics card end?",
        "Hobbhahn & Besiroglu 2022, Predicting GPU performance, Epoch AI; lines and priors as in "
        "epoch-research/timelines-direct-approach@01ffd90 (Apache-2.0; rebuilt, no code copied)",
    ),
    (
        "direct-approach",
        "Direct approach 2023: when does one training run suffice for transformative AI?",
        "Barnett & Besiroglu 2023, The direct approach; Atkinson et al. 2023: "
        "epoch-research/timelines-direct-approach@01ffd90, 2024-10-01 (Apache-2.0; rebuilt, no code copied)",
    ),
    (
        "cotra-2020",
        "Cotra 2020: when is transformative AI affordable, by biological anchors (table)?",
        f"{_COTRA}; the CDF of 77 years in epoch-research/ftm@99dc907 (MIT)",
    ),
    (
        "variants/cotra-2020-reconstructed",
        "Cotra 2020, reconstructed: spreads and caps are fitted, and not hers",
        f"{_COTRA}; medians as in Epoch AI's summary of 2022-06-06; spreads and caps fitted to ftm's CDF",
    ),
    ("ai-2027-a", "AI 2027, horizon extension (Lifland): when is there a superhuman coder?", _AI_2027),
    ("variants/ai-2027-a-nikola", "AI 2027, horizon extension (Jurkovic)", _AI_2027),
    (
        "variants/ai-2027-c",
        "AI 2027, horizon extension (Lifland), update of May 2025",
        "Lifland 2025, AI 2027 Timelines Forecast, update of May 2025: uvafan/timelines-takeoff-ai-2027@1356db7, "
        "2025-09-07 (no licence: rebuilt from its formulas; no code copied)",
    ),
    ("ai-2027-b", "AI 2027, benchmarks and gaps (Lifland): when is there a superhuman coder?", _AI_2027),
    ("variants/ai-2027-b-nikola", "AI 2027, benchmarks and gaps (Jurkovic)", _AI_2027),
    ("variants/ai-2027-b-futuresearch", "AI 2027, benchmarks and gaps (FutureSearch)", _AI_2027),
    ("ftm-2023", "Full takeoff model 2023: when can machines do every task?", _FTM_REFERENCE),
    ("variants/ftm-2023-conservative", "Full takeoff model 2023, conservative ends", _FTM_REFERENCE),
    ("variants/ftm-2023-aggressive", "Full takeoff model 2023, aggressive ends", _FTM_REFERENCE),
    ("kwa-2026", "Kwa 2026: when is 99 % of AI research automated?", _KWA),
    ("variants/kwa-2026-midpoints", "Kwa 2026, at the midpoints of its parameters", _KWA),
    ("ai-futures-2025", "AI Futures Model 2025 (public ancestor): when is there an automated coder?", _FUTURES),
    ("variants/ai-futures-2025-defaults", "AI Futures Model 2025 (public ancestor), at its defaults", _FUTURES),
    ("ai-economy-2026", "ai-economy-timelines 2026: how much compute is usable, and how large is a run?", _ECONOMY),
)


def scenarios() -> Iterator[ScenarioSpec]:
    """Bring every published model as a scenario."""
    for file, title, reference in PACKS:
        name = file.rpartition("/")[2]
        yield ScenarioSpec(name=name, title=title, path=str(PUBLISHED_FOLDER / f"{file}.toml"), reference=reference)
