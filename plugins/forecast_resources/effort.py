"""Ideas that get harder to find: growth from research effort, fitted to a table, and what keeping a rate then takes.

Growth is a(t)' / a(t) = theta·S·A**-beta: the more has been found (A), the more researchers (S) the same growth needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forecast import Input, LawSpec, ModelSpec, RelationSpec, TrendSpec
from forecast.models import Description, FittedModel, Model, ModelRecord, Need

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.fit.solution import Fit
    from forecast.streams import Streams

    Array = NDArray[np.float64]

__all__ = ["LAWS", "MODELS", "needed"]

BLOOM = "Bloom, Jones, Van Reenen & Webb 2020, Are Ideas Getting Harder to Find?, American Economic Review 110(4)"
CHIPS = "resources/chip-progress-from-effort"

HARDER_IDEAS = LawSpec(
    name="harder-ideas",
    title="Growth of ideas from research effort, with twice the researchers worth twice the growth",
    expression="theta*S*A**-beta",
    variables={"S": "", "A": ""},
    output="growth",
    unit="1/year",
    positive=("theta",),
    objective="least_squares_log",
    example={"theta": 2.0, "beta": 0.2},
    domain={"S": (0.1, 10.0), "A": (1e3, 1e9)},
    requires={"S": "researchers", "A": "ideas found so far"},
    reference=f"{BLOOM} (lambda = 1); scaling/semi-endogenous leaves lambda free",
)

LAWS = (HARDER_IDEAS,)


def _relation(name: str, title: str, field: str, researchers: str, note: str) -> RelationSpec:
    return RelationSpec(
        name=name,
        title=title,
        quantity=f"resources.{name.replace('-', '_')}",
        unit="1/year",
        law="resources/harder-ideas",
        table="datasets/research-productivity",
        let={"S": f"effort/{researchers}", "A": "ideas"},
        y="growth",
        where={"field": field},
        note=f"S in {researchers} effective researchers; {note}",
        reference=f"{BLOOM}, as compiled in datasets/research-productivity",
    )


def _effort(name: str, title: str, field: str) -> TrendSpec:
    return TrendSpec(
        name=name,
        title=title,
        quantity=f"resources.{name.replace('-', '_')}",
        unit="",
        shape="trends/exponential",
        table="datasets/research-effort",
        x="year",
        y="spending/wage",
        where={"field": field},
        note="spending over what a researcher earns",
        reference=f"{BLOOM}, as compiled in datasets/research-effort",
    )


MODELS: tuple[ModelSpec, ...] = (
    _relation(
        "chip-progress-from-effort",
        "Growth of transistors on a chip from research effort and from how many there are",
        "semiconductors",
        "1e5",
        "A in transistors; the source takes growth as 35 % a year throughout, here it is that of the largest processor",
    ),
    _relation(
        "us-productivity-from-effort",
        "Growth of productivity in the United States from research effort and from what was reached",
        "united-states",
        "1e6",
        "A is 1 in 1930; the first two decades have their growth from another source",
    ),
    _effort("chip-research", "Effective researchers on semiconductors, world-wide", "semiconductors"),
    _effort("us-research", "Effective researchers in the United States", "united-states"),
    ModelSpec(
        name="research-effort",
        title="By how much research effort on chips must grow to keep a rate of progress",
        quantity="resources.research_effort",
        unit="",
        target="forecast_resources.effort:needed",
        note="exp(beta·growth·years), with beta from resources/chip-progress-from-effort; the source has 18.3 for 1971 "
        "to 2014 from what was spent",
        reference=BLOOM,
    ),
)


def needed(name: str, spec: ModelSpec) -> Model:
    """Build the factor by which effort must grow to keep `growth` for `years`: ``exp(beta*growth*years)``."""
    moore = f"{BLOOM}: Moore's law as a doubling in two years"
    inputs: dict[str, Need] = {
        "growth": Input(name="growth", unit="1/year", distribution={"value": 0.34657359027997264}, source=moore),
        "years": Input(name="years", unit="year", distribution={"value": 43.0}, source=f"{BLOOM}: 1971 to 2014"),
    }
    return _Needed(name=name, unit=spec.unit, inputs=inputs, note=spec.note, sources=(spec.reference,))


@dataclass(frozen=True, kw_only=True)
class _Needed(ModelRecord):
    def fit(self, *, before: float | None = None, seed: int = 0) -> FittedModel:
        import forecast

        relation = forecast.model(CHIPS).fit(before=before, seed=seed)
        return _FittedNeeded(model=self, fit=relation.fit)


@dataclass(frozen=True, kw_only=True)
class _FittedNeeded(FittedModel):
    model: _Needed
    fit: Fit

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw beta."""
        return {"beta": self.fit.sample_parameters(streams("parameters"), streams.draws)["beta"]}

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        import numpy as np

        rate = self.posterior(streams)["beta"] * inputs["growth"] * inputs["years"]
        return np.broadcast_to(np.exp(np.clip(rate, -600.0, 600.0)), (len(time), streams.draws)).copy()

    def describe(self) -> Description:
        low, high = self.fit.interval("beta", 0.9)
        beta = self.fit.values["beta"]
        return Description(
            summary=f"each per cent of growth takes {beta:.2f} per cent more researchers a year "
            f"[90 %: {low:.2f}, {high:.2f}]; {self.model.note}",
            assumptions=("twice the researchers find twice as much (lambda = 1)", *self.fit.notes),
            sources=self.model.sources,
            facts={"beta": beta, "beta_p05": float(low), "beta_p95": float(high)},
        )
