"""The tables on progress in AI to 2026: runs, the capability index, sites, chips, money, prices, limits, scores."""

from __future__ import annotations

__all__ = ["TABLES"]

_SITES = "Epoch AI, AI data centers (CC-BY 4.0), https://epoch.ai/data/ai-data-centers"
_INDEX = "Epoch AI, Epoch Capabilities Index (CC-BY 4.0), https://epoch.ai/benchmarks/eci"

#: Name (of the folder), title, reference.
TABLES: tuple[tuple[str, str, str], ...] = (
    (
        "training-runs-2026",
        "Training compute, cost, duration and power of AI models, 2010 to 2026-09",
        "Epoch AI, Data on AI models (CC-BY 4.0), editions 2026-05 and 2026-09, https://epoch.ai/data/ai-models",
    ),
    ("capability-editions", "The Epoch Capabilities Index by edition, 2026-02 to 2026-09", _INDEX),
    ("benchmark-difficulty", "Difficulty and slope of 57 benchmarks on the scale of the capability index", _INDEX),
    (
        "benchmark-scores",
        "Scores of language models on 57 benchmarks, 2023-02 to 2026-07",
        "Epoch AI, Benchmarking hub (CC-BY 4.0), https://epoch.ai/benchmarks",
    ),
    ("data-centres", "AI data-centre sites by date: power, H100 equivalents, 16-bit compute, two editions", _SITES),
    ("data-centre-totals", "Power and H100 equivalents of the data centres that Epoch AI follows", _SITES),
    (
        "chip-stock",
        "AI chips made and owned, 2022 to 2026-03: H100 equivalents by designer, owner and user",
        "Epoch AI, AI chip sales and AI chip owners (CC-BY 4.0), https://epoch.ai/data/ai-chip-sales",
    ),
    (
        "company-spending",
        "Capital expenditure of the largest buyers of AI compute, and what AI companies spend on compute",
        "SEC filings (payments to acquire property and equipment) and reports, each row with its own source",
    ),
    (
        "token-prices",
        "Prices of tokens of language models, 2021 to 2026: at a fixed score, and of flagships",
        "Epoch AI, LLM inference price trends (CC-BY 4.0), and vendors' prices",
    ),
    (
        "supply-limits",
        "What limits training by about 2030, as published: power, chips, data, latency",
        "Epoch AI 2024, Can AI scaling continue through 2030?, and later estimates, each row with its own source",
    ),
    (
        "published-rates",
        "Published rates of progress in AI: compute, algorithms, horizons, prices, cost, power",
        "Epoch AI, METR, Ho et al. 2024, Gundlach et al. 2026, each row with its own source",
    ),
    ("epoch-index", "The Epoch Capabilities Index (described, not shipped)", _INDEX),
    (
        "supercomputers-2026",
        "Number one of the TOP500 lists of 2025-11 and 2026-06",
        "TOP500 lists 2025-11 and 2026-06, each row with the page that was read",
    ),
)
