"""The chain from the end of its tables on: paths of compute and algorithms, and the index and horizon that they give.

The posterior is drawn beforehand (`make_draws`) and shipped as tables, ``capability/chain-straight`` and
``capability/chain-bent``: a row a world, with the state at `NOW` and how it goes on from there. Given its row a world
needs nothing else of the past, since level and slope of a line with walks are all that its future depends on.
Which row a world has says the quantity `posterior`, a uniform number that all models of one scenario share.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from forecast import ModelSpec
from forecast.errors import DataError
from forecast.models import Description, FittedModel, Model, ModelRecord, OtherQuantity
from forecast_capability.chain.estimate import NOW
from forecast_capability.chain.likelihood import INDEX_OF_ANCHOR, worth
from forecast_capability.chain.rows import ANCHOR_LOG10_FLOP

if TYPE_CHECKING:
    from forecast.streams import Streams

Array = NDArray[np.float64]

__all__ = ["algorithms", "horizon", "index", "pace", "points", "run"]

#: Dates this many years apart are one.
SAME_DATE = 1e-6


@dataclass(frozen=True, kw_only=True)
class _OfPosterior(ModelRecord):
    """A model that reads the shipped draws of a form."""

    form: str
    needs: ClassVar[tuple[str, ...]] = ()

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        from forecast import tables

        if as_of is not None and as_of < NOW - SAME_DATE:
            raise DataError(
                f"{self.name}: the posterior is drawn from tables to {NOW:g}: as of {as_of:.2f} it has to be "
                "estimated anew, with forecast chain --as-of"
            )
        read = tables.columns(f"capability/chain-{self.form}", where=self.name)
        return self.fitted({name: read.numeric(name) for name in read})

    @abstractmethod
    def fitted(self, rows: dict[str, Array]) -> FittedModel:
        """Return the model with the shipped draws."""


@dataclass(frozen=True, kw_only=True)
class _Fitted(FittedModel):
    model: _OfPosterior
    rows: dict[str, Array] = field(repr=False)

    def worlds(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Return the row of every world."""
        count = len(next(iter(self.rows.values())))
        row = np.minimum((inputs["posterior"][0] * count).astype(np.intp), count - 1)
        return {name: values[row] for name, values in self.rows.items()}

    def described(self, name: str) -> str:
        """Return the quantiles of a column."""
        low, middle, high = np.quantile(self.rows[name], [0.05, 0.5, 0.95])
        return f"{middle:.3g} (90 %: {low:.3g} to {high:.3g})"

    def said(self, summary: str, *assumptions: str) -> Description:
        """Return a description with what every part of the chain assumes."""
        return Description(
            summary=f"{summary}; {len(next(iter(self.rows.values())))} joint draws of the {self.model.form} form",
            assumptions=(
                *assumptions,
                "how fast the two slopes change is mostly the prior's: what lies beyond five years rests on it",
            ),
            sources=self.model.sources,
        )


def _made(of: type[_OfPosterior], name: str, spec: ModelSpec, **needs: OtherQuantity) -> Model:
    return of(
        name=name,
        unit=spec.unit,
        inputs={
            "posterior": OtherQuantity(unit="", title="which joint draw a world has, from 0 to 1, by points per order"),
            **needs,
        },
        note=spec.note,
        sources=(spec.reference,),
        keeps=spec.keeps,
        form=spec.name.rpartition("-")[2],
    )


# --- What does not change with time ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Column(_OfPosterior):
    column: ClassVar[str] = ""
    what: ClassVar[str] = ""

    def fitted(self, rows: dict[str, Array]) -> FittedModel:
        return _FittedColumn(model=self, rows=rows)


@dataclass(frozen=True, kw_only=True)
class _FittedColumn(_Fitted):
    model: _Column

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        drawn = self.worlds(inputs)[self.model.column]
        return np.broadcast_to(drawn, (len(time), len(drawn))).copy()

    def describe(self) -> Description:
        return self.said(f"{self.model.what}: {self.described(self.model.column)}")


@dataclass(frozen=True, kw_only=True)
class _Points(_Column):
    column, what = "points", "points of the index per order of compute"


@dataclass(frozen=True, kw_only=True)
class _Pace(_Column):
    column, what = "pace", "orders of magnitude of compute a year that algorithms gave, 2023.25 to 2026.75"


def points(name: str, spec: ModelSpec) -> Model:
    """Build the model of points per order of compute (at 1e25 FLOP)."""
    return _made(_Points, name, spec)


def pace(name: str, spec: ModelSpec) -> Model:
    """Build the model of the pace of algorithms so far."""
    return _made(_Pace, name, spec)


# --- Paths ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Path(_OfPosterior):
    state: ClassVar[str] = ""
    what: ClassVar[str] = ""

    def fitted(self, rows: dict[str, Array]) -> FittedModel:
        return _FittedPath(model=self, rows=rows)


@dataclass(frozen=True, kw_only=True)
class _FittedPath(_Fitted):
    """A line with a random walk and an integrated one, from level and slope at `NOW` on, stepped exactly."""

    model: _Path

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        if time[0] < NOW - SAME_DATE:
            raise DataError(f"{self.model.name}: the chain goes on from {NOW:g}, got a first step at {time[0]:g}")
        world, of = self.worlds(inputs), self.model.state
        step = np.maximum(np.diff(time, prepend=NOW), 0)[:, None]
        walk, turn, inside = (
            streams(part).standard_normal((len(time), streams.draws)) for part in ("walk", "turn", "inside a step")
        )
        turned = world[f"{of}_turn"] * np.sqrt(step) * turn  # what the slope gains in a step
        slope = world[f"{of}_slope"] + np.cumsum(turned, axis=0) - turned  # at the start of each step
        # the integral of a walk over a step: half of what the walk gains, and what it does within
        bent = step / 2 * turned + world[f"{of}_turn"] * np.sqrt(step**3 / 12) * inside
        gained = step * slope + bent + world[f"{of}_walk"] * np.sqrt(step) * walk
        level = world.get(of, 0.0)
        return np.asarray(10.0 ** np.clip(level + np.cumsum(gained, axis=0), -300.0, 300.0))

    def describe(self) -> Description:
        slope = self.described(f"{self.model.state}_slope")
        return self.said(
            f"{self.model.what} gains {slope} orders of magnitude a year at {NOW:g}",
            "a straight line, a random walk and an integrated one",
        )


@dataclass(frozen=True, kw_only=True)
class _Run(_Path):
    state, what = "compute", "the largest training run"


@dataclass(frozen=True, kw_only=True)
class _Algorithms(_Path):
    state, what = "algorithms", "what algorithms give, over those of the start,"


def run(name: str, spec: ModelSpec) -> Model:
    """Build the path of the largest training run."""
    return _made(_Run, name, spec)


def algorithms(name: str, spec: ModelSpec) -> Model:
    """Build the path of what algorithms give, over those at `NOW`."""
    return _made(_Algorithms, name, spec)


# --- What they give -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Index(_OfPosterior):
    def fitted(self, rows: dict[str, Array]) -> FittedModel:
        return _FittedIndex(model=self, rows=rows)


@dataclass(frozen=True, kw_only=True)
class _FittedIndex(_Fitted):
    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        world = self.worlds(inputs)
        now = worth(world["compute"] - ANCHOR_LOG10_FLOP, world["bend"])
        then = worth(np.log10(inputs["run"]) - ANCHOR_LOG10_FLOP, world["bend"])
        level = world["level"] + world["points"] * (then - now + np.log10(inputs["algorithms"]))
        if observed:
            level = level + world["frontier_scatter"] * streams("one model").standard_normal(level.shape)
        return np.asarray(level)

    def describe(self) -> Description:
        return self.said(
            f"an order of magnitude of compute is worth {self.described('points')} points at 1e25 FLOP, and as much "
            f"where algorithms give it; the frontier stands at {self.described('level')} at {NOW:g}",
            "an order of compute is worth as much everywhere"
            if self.model.form == "straight"
            else "an order of compute is worth less beyond 1e25 FLOP, by a law that four models there show",
        )


@dataclass(frozen=True, kw_only=True)
class _Horizon(_OfPosterior):
    def fitted(self, rows: dict[str, Array]) -> FittedModel:
        return _FittedHorizon(model=self, rows=rows)


@dataclass(frozen=True, kw_only=True)
class _FittedHorizon(_Fitted):
    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        world = self.worlds(inputs)
        logs = world["anchor"] + world["doublings"] * (inputs["index"] - INDEX_OF_ANCHOR)
        if observed:
            logs = logs + world["horizon_scatter"] * streams("one model").standard_normal(logs.shape)
        return np.asarray(np.exp2(np.clip(logs, -600.0, 600.0)))

    def describe(self) -> Description:
        return self.said(f"the horizon doubles {self.described('doublings')} times a point of the index")


def index(name: str, spec: ModelSpec) -> Model:
    """Build the index that compute and algorithms give."""
    return _made(
        _Index, name, spec, run=OtherQuantity(unit="FLOP", title="the largest training run"),
        algorithms=OtherQuantity(unit="", title="what algorithms give, over those at the start"),
    )  # fmt: skip


def horizon(name: str, spec: ModelSpec) -> Model:
    """Build the time horizon at an index."""
    return _made(_Horizon, name, spec, index=OtherQuantity(unit="", title="capability index (ECI)"))
