"""The quantities of ``model-capability``: series of the frontier, rival links between them, and the scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import EstimateSpec, MixtureSpec, ModelSpec, ScenarioSpec, TrendSpec, records_from

__all__ = ["models", "scenarios"]

HERE = Path(__file__).parent
INDEX = "Epoch AI, Epoch Capabilities Index (CC-BY 4.0), edition 2026-08, as compiled in datasets/capability-editions"


def models() -> Iterator[ModelSpec]:
    """Bring series, numbers, pooled links, and the links that are code."""
    yield from records_from(HERE / "trends.toml", TrendSpec)
    yield from records_from(HERE / "numbers.toml", EstimateSpec)
    yield from records_from(HERE / "pools.toml", MixtureSpec)
    for name, target, who, note in (
        (
            "pace-from-index", "pace", "models with an index",
            "undisclosed compute is a latent, which lies below the frontier as the disclosed does: nobody says so",
        ),
        (
            "pace-from-disclosed", "disclosed", "models with an index and disclosed compute",
            "what models with known compute show: mostly open ones; the frontier states none",
        ),
    ):  # fmt: skip
        yield ModelSpec(
            name=name,
            title=f"Orders of magnitude of compute that algorithms save a year, from index, compute and date of {who}",
            quantity="capability.algorithmic_pace",
            unit="1/year",
            target=f"forecast_capability.quantities.index:{target}",
            note=note,
            reference=f"{INDEX}; Frisch 1934, Statistical confluence analysis, for regressions both ways; Little & "
            "Rubin 2019, Statistical Analysis with Missing Data, chapter 11",
        )
    yield ModelSpec(
        name="horizon-from-index",
        title="Time horizon at 50 % success from the capability index, by models in both tables",
        quantity="capability.time_horizon",
        unit="min",
        keeps="positive",
        target="forecast_capability.quantities.index:horizon_at_index",
        note="a horizon above 16 h says that it is at least that; both rest on some of the same benchmarks of code",
        reference=f"METR, time horizons TH1.1; {INDEX}",
    )
    yield ModelSpec(
        name="horizon-80-from-horizon",
        title="Time horizon at 80 % success of the best model so far, from that at 50 %",
        quantity="capability.time_horizon_80",
        unit="min",
        keeps="frontier",
        table="datasets/time-horizons",
        target="forecast_capability.quantities.reliable_horizon:reliable",
        note="by the factor between both horizons of one model, which moved neither with date nor with length",
        reference="METR, time horizons TH1.1, as compiled in datasets/time-horizons",
    )


#: ``model-capability``, its parts, and what a run trains: each is a scenario of its own, in the file of its name.
SCENARIOS = {
    "model-capability": "When do training runs, models and machines reach their next marks, and what binds first?",
    "model-hardware": "What does compute cost, in dollars, watts and devices?",
    "model-money": "What is spent on compute, and what may one training run cost?",
    "model-limits": "How large a training run do money, power, chips and data allow?",
    "model-compute": "How large is the largest training run?",
    "model-algorithms": "How much compute are better algorithms worth?",
    "model-abilities": "What can models do, and for how long at a time?",
    "model-tokens": "What do tokens of a given quality cost?",
    # by laws of Besiroglu et al. 2024, Muennighoff et al. 2023 and Dettmers et al. 2022
    "model-loss": "What does the largest run train: how large a model, at what loss?",
}
#: Those whose forecasts as of dates in the past ship with them; the others are parts, whose quantities are asked for.
RECORDED = ("model-capability", "model-limits")


def quantity_scenarios() -> Iterator[ScenarioSpec]:
    """Bring ``model-capability``, its parts, what a run trains, and what is asked of them that others decide."""
    for name, title in SCENARIOS.items():
        yield ScenarioSpec(
            name=name,
            title=title,
            path=str(HERE.parent / "scenarios" / f"{name}.toml"),
            record=str(HERE.parent / "scenarios" / "record" / f"{name}.csv") if name in RECORDED else "",
            part=name not in RECORDED,
            synonyms=("what limits training runs", "what limits progress") if name == "model-limits" else (),
            reference="tables of datasets to 2026-09 (Epoch AI: CC-BY 4.0); limits after Sevilla et al. 2024 and "
            "Barnett & Besiroglu 2023; each number and law states its own",
        )
    yield ScenarioSpec(
        name="model-statements",
        title="What do the models of capability say that somebody will decide, and by when?",
        path=str(HERE.parent / "scenarios" / "model-statements.toml"),
        ledger=str(HERE.parent / "scenarios" / "statements.jsonl"),
        reference="as model-capability, on tables of datasets to 2026-09 (Epoch AI: CC-BY 4.0); each question names "
        "who decides",
    )
