"""The middle of the chain, estimated at once: training compute, algorithms, the capability index and time horizons."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import CommandSpec, ModelSpec, ScenarioSpec, TableSpec

__all__ = ["commands", "models", "scenarios", "tables"]

HERE = Path(__file__).parent
REFERENCE = (
    "Epoch AI (CC-BY 4.0), training runs and Epoch Capabilities Index, and METR, time horizons TH1.1, as compiled in "
    "datasets; Cornuet et al. 2012, Scandinavian Journal of Statistics 39(4), 798-812, for the draws"
)
#: The tables whose rows are observations of a model.
OBSERVED = {
    "run": "datasets/training-runs-2026",
    "index": "datasets/capability-editions",
    "horizon": "datasets/time-horizons",
}
#: Code of a model, its title, the quantity, its unit, and what it keeps.
CHAIN_MODELS = {
    "points": ("Points of the index per order of magnitude of compute, at 1e25 FLOP", "index_points", "", ""),
    "pace": ("Orders of magnitude of compute a year that algorithms give now", "algorithmic_pace", "1/year", ""),
    "elasticity": ("By which power of its input research finds more, where it drives algorithms", "elasticity", "", ""),
    "beta": ("Orders that make the next order harder to find, where research drives algorithms", "returns", "", ""),
    "bend": ("By which share an order of compute is worth less an order further on", "index_bend", "", ""),
    "run": ("Training compute of a frontier run", "training_compute", "FLOP", "positive"),
    "algorithms": ("What is left of the index beside compute, over that at the start", "algorithms", "", "positive"),
    "index": (
        "Capability index of the best model so far, from the compute of a frontier run and algorithms",
        "index",
        "",
        "frontier",
    ),
    "horizon": (
        "Time horizon at 50 % success of the best model so far, from the capability index",
        "time_horizon",
        "min",
        "frontier",
    ),
}


def models() -> Iterator[ModelSpec]:
    """Bring every part of the chain: each world has one rival of compute, of algorithms and of the horizon."""
    for name, (title, quantity, unit, keeps) in CHAIN_MODELS.items():
        yield ModelSpec(
            name=f"chain-{name}",
            title=f"{title}, of one joint estimate",
            quantity=f"capability.{quantity}",
            unit=unit,
            keeps=keeps,
            table=OBSERVED.get(name, ""),
            target=f"forecast_capability.chain.future_paths:{name}",
            note="algorithms are all that is left of the index beside training compute: data, post-training, inference",
            reference=REFERENCE,
        )
    yield ModelSpec(
        name="chain-world",
        title="Which joint draw of the chain a world has, ordered by how fast the index rises",
        quantity="capability.chain_world",
        unit="",
        target="forecast_capability.chain.future_paths:world",
        note="all parts of a chain read it, so that a world is one draw in each of them",
        reference=REFERENCE,
    )
    yield ModelSpec(
        name="largest-run",
        title="The largest training run so far",
        quantity="capability.training_compute",
        unit="FLOP",
        keeps="positive",
        table=OBSERVED["run"],
        target="forecast_capability.chain.records:largest",
        note="as it is at the date from which a forecast goes on",
        reference=REFERENCE,
    )
    yield ModelSpec(
        name="record-age",
        title="For how long the largest training run has stood at a date",
        quantity="capability.record_age",
        unit="year",
        keeps="positive",
        table=OBSERVED["run"],
        target="forecast_capability.chain.records:age",
        note="what the frontier can do is seen as a record when somebody does it",
        reference=REFERENCE,
    )
    yield ModelSpec(
        name="chain-index-alone",
        title="Capability index of the best model so far, by its own trend: the rival that knows no compute",
        quantity="capability.index",
        unit="",
        keeps="frontier",
        table=OBSERVED["index"],
        target="forecast_capability.chain.future_paths:index_alone",
        note="of the same models of the frontier and with the same priors as the chain",
        reference=REFERENCE,
    )


def tables() -> Iterator[TableSpec]:
    """Bring the joint draws that the models read."""
    of = {"worlds": "the chain from compute to horizon, in every form", "alone": "the index by its own trend"}
    for name, what in of.items():
        yield TableSpec(
            name=f"chain-{name}",
            title=f"Joint draws of {what}",
            descriptor=str(HERE / "draws" / f"chain-{name}" / "datapackage.json"),
            reference=REFERENCE,
        )


def commands() -> Iterator[CommandSpec]:
    """Bring the estimate, as a command."""
    yield CommandSpec(
        name="chain",
        target="forecast_capability.chain.command:chain",
        title="Estimate what compute and algorithms are worth on the capability index",
        reference=REFERENCE,
    )


def scenarios() -> Iterator[ScenarioSpec]:
    """Bring the scenario that asks the chain."""
    yield ScenarioSpec(
        name="chain",
        title="When does the index reach its next marks, as algorithms and compute go on or stop?",
        path=str(HERE.parent / "scenarios" / "chain.toml"),
        reference=f"{REFERENCE}; tables of datasets to 2026-09 (Epoch AI: CC-BY 4.0)",
    )
