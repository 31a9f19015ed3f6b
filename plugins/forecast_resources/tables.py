"""The laws fitted to tables: capability and time horizons against compute and time, machines against power."""

from __future__ import annotations

from forecast import ModelSpec, RelationSpec, TrendSpec

__all__ = ["TABLE_MODELS"]

INDEX = "Epoch AI, Epoch Capabilities Index (CC-BY 4.0), edition 2026-08, as compiled in datasets/capability-editions"
EDITION = {"edition": "2026-08"}
METR_TABLE_SOURCE = "METR, time horizons, as compiled in datasets/time-horizons"
NOTABLE = "Epoch AI, notable machine learning models (CC-BY 4.0), as compiled in datasets/training-runs"
LISTS = "TOP500 lists (top500.org), as compiled in datasets/supercomputers"

RELATIONS = (
    RelationSpec(
        name="capability-from-compute",
        title="Capability index from training compute",
        quantity="resources.capability",
        unit="",
        law="resources/log-linear",
        table="datasets/capability-editions",
        where=EDITION,
        let={"x": "training_compute"},
        y="eci",
        note="it leaves time out, so that what better algorithms gave is counted as compute's; "
        "resources/progress-per-compute keeps the two apart",
        reference=INDEX,
    ),
    RelationSpec(
        name="capability-sigmoid",
        title="Capability index from training compute over 1e24 FLOP, between a floor and a ceiling",
        quantity="resources.capability",
        unit="",
        law="resources/sigmoid",
        table="datasets/capability-editions",
        where=EDITION,
        let={"x": "training_compute/1e24"},
        y="eci",
        note="it leaves time out: its ceiling is that of the algorithms so far, not of compute",
        reference=INDEX,
    ),
    RelationSpec(
        name="capability-ceiling",
        title="Capability index from training compute over 1e24 FLOP, towards a ceiling",
        quantity="resources.capability",
        unit="",
        law="resources/power-ceiling",
        table="datasets/capability-editions",
        where=EDITION,
        let={"x": "training_compute/1e24"},
        y="eci",
        note="it leaves time out: its ceiling is that of the algorithms so far, not of compute",
        reference=INDEX,
    ),
    RelationSpec(
        name="horizon-from-compute",
        title="METR time horizon from training compute over 1e24 FLOP",
        quantity="resources.time_horizon",
        unit="min",
        law="resources/power",
        table="datasets/time-horizons",
        let={"x": "training_compute/1e24"},
        y="horizon",
        where={"version": "TH1.1"},
        note="most newer models state no compute; time and compute rose together, and it cannot tell them apart",
        reference=f"{METR_TABLE_SOURCE}; compute by Epoch AI",
    ),
    RelationSpec(
        name="horizon-floor",
        title="METR time horizon from training compute over 1e25 FLOP, from a floor",
        quantity="resources.time_horizon",
        unit="min",
        law="resources/power-floor",
        objective="least_squares_log",
        table="datasets/time-horizons",
        let={"x": "training_compute/1e25"},
        y="horizon",
        where={"version": "TH1.1"},
        note="the floor rests on the two smallest models; time and compute rose together, and what bends may be time",
        reference=f"{METR_TABLE_SOURCE}; compute by Epoch AI",
    ),
    RelationSpec(
        name="linpack-from-power",
        title="LINPACK of the fastest machine from its power in MW",
        quantity="resources.linpack",
        unit="TFLOP/s",
        law="resources/power",
        table="datasets/supercomputers",
        let={"x": "power_top1/1000"},
        y="rmax_top1",
        where={"status": "verified"},
        note="power and time rose together: it cannot tell them apart",
        reference=LISTS,
    ),
)


def _horizon(name: str, title: str, version: str, since: str = "") -> TrendSpec:
    return TrendSpec(
        name=name,
        title=title,
        quantity="resources.time_horizon",
        unit="min",
        shape="trends/pool",
        table="datasets/time-horizons",
        x="release_date",
        y="horizon",
        where={"version": version, "frontier": "yes", "censored": "no"},
        since=since,
        note="only models that set the state of the art; horizons above 16 hours, which METR holds unreliable, left "
        "out; the intervals of single horizons are not weighed",
        reference=METR_TABLE_SOURCE,
    )


TRENDS = (
    _horizon("horizon-th1-0", "METR time horizon, TH1.0", "TH1.0"),
    _horizon("horizon-th1-1", "METR time horizon, TH1.1, from 2023", "TH1.1", "2023-01-01"),
    _horizon("horizon-th1-1-all", "METR time horizon, TH1.1, all dates", "TH1.1"),
    TrendSpec(
        name="training-compute-notable",
        title="Training compute of notable models from 2010",
        quantity="resources.training_compute_notable",
        unit="FLOP",
        shape="trends/pool",
        table="datasets/training-runs",
        x="date",
        y="training_compute",
        since="2010-01-01",
        note="all domains together, to 2025-04: the mean of notable models, a hundredth of the largest and less",
        reference=NOTABLE,
    ),
)

TABLE_MODELS: tuple[ModelSpec, ...] = (*RELATIONS, *TRENDS)
