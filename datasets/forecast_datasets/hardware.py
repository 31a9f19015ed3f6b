"""The tables on hardware, clusters, capability and compute: their names, titles and references."""

from __future__ import annotations

__all__ = ["TABLES"]

#: Name (of the folder), title, reference.
TABLES: tuple[tuple[str, str, str], ...] = (
    (
        "accelerator-prices",
        "Prices of accelerators by condition and seller, bought and rented, 2014-2026",
        "Pages, surveys and repositories, each row with its own source",
    ),
    (
        "interconnects",
        "Interconnect generations: NVLink, PCIe, InfiniBand, Ethernet",
        "Makers' and standards' figures, each row with its own source",
    ),
    (
        "ai-clusters",
        "AI clusters and supercomputers, 2017-2025",
        "Epoch AI, Data on GPU clusters (CC-BY 4.0), https://epoch.ai/data/gpu-clusters; Pilz et al. 2025, "
        "arXiv:2504.16026",
    ),
    (
        "fabs",
        "Cost of semiconductor fabs by generation, 1966-2025",
        "Announcements of makers and reports, each row with its own source",
    ),
    (
        "capability",
        "A capability index and the training compute of the same models",
        "Epoch AI, Epoch Capabilities Index (CC-BY 4.0), https://epoch.ai/benchmarks",
    ),
    (
        "time-horizons",
        "Time horizons of language models (METR), by edition",
        "Kwa et al. (METR) 2025, Measuring AI Ability to Complete Long Tasks, arXiv:2503.14499; editions TH1.0, TH1.1",
    ),
    (
        "training-runs",
        "Training compute of notable models, 2010 to 2025-04",
        "Epoch AI, All ML Systems (CC-BY 4.0), epoch-research/training-cost-trends@263c40a",
    ),
    (
        "gpu-trends",
        "GPUs 2006-2021 with their factors (described, not shipped)",
        "Hobbhahn & Besiroglu 2022, Predicting GPU performance, https://epoch.ai/blog/predicting-gpu-performance",
    ),
    (
        "microprocessors",
        "Fifty years of microprocessors (described, not shipped)",
        "Rupp, Microprocessor trend data (CC-BY 4.0), https://github.com/karlrupp/microprocessor-trend-data",
    ),
    (
        "technologies",
        "Experience curves: DRAM, hard disks, wind electricity (described, not shipped)",
        "Nagy et al. 2013, PLoS ONE 8(2) e52669, https://doi.org/10.1371/journal.pone.0052669; performance-curve "
        "database, https://pcdb.santafe.edu",
    ),
    (
        "epoch-hardware",
        "Machine-learning hardware of Epoch AI (described, not shipped)",
        "Epoch AI, Data on Machine Learning Hardware (CC-BY 4.0), https://epoch.ai/data/machine-learning-hardware",
    ),
    (
        "epoch-models",
        "AI models of Epoch AI (described, not shipped)",
        "Epoch AI, Data on AI models (CC-BY 4.0), https://epoch.ai/data/ai-models",
    ),
    (
        "epoch-prices",
        "Prices of accelerators collected by Epoch AI (described, not shipped)",
        "Epoch AI, hardware prices (CC-BY 4.0), epoch-research/training-cost-trends@f2dc68a",
    ),
    (
        "performance-curves",
        "Experience curves of the performance-curve database (described, not shipped)",
        "Nagy et al. 2013, PLoS ONE 8(2) e52669, https://doi.org/10.1371/journal.pone.0052669; performance-curve "
        "database, https://pcdb.santafe.edu, as carnegie/clab_experience_curve@01516c5 keeps it (MIT)",
    ),
    (
        "research-effort",
        "Research spending, what a researcher costs, and what was found, by year, 1929-2015",
        "Bloom, Jones, Van Reenen & Webb 2020, Are Ideas Getting Harder to Find?, American Economic Review 110(4), "
        "https://doi.org/10.1257/aer.20180338",
    ),
    (
        "research-productivity",
        "Growth of what was found against research effort, by period, 1930-2014",
        "Computed from datasets/research-effort; Bloom, Jones, Van Reenen & Webb 2020, American Economic Review 110(4)",
    ),
)
