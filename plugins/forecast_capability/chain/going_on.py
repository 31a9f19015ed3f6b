"""The chain from a date on: paths of compute and algorithms, and the index and horizon that they give.

A world is a row of the joint draws (`worlds`): its numbers, and the state at the date from which it goes on. Given its
row a world needs nothing else of the past, since level and slope of a line with walks are all that its future depends
on. Which row a world has say two quantities that all models of a scenario share: `bends`, of which form it is, and
`posterior`, its place among the draws of that form (`world`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast import Input, ModelSpec
from forecast.errors import EmptyDataError, NoDataAtDateError
from forecast.models import Description, FittedModel, Model, ModelRecord, Observations, OtherQuantity, Unfitted
from forecast_capability.chain.likelihood import BENT, INDEX_OF_ANCHOR, STRAIGHT, worth
from forecast_capability.chain.records import largest_runs
from forecast_capability.chain.rows import ANCHOR_LOG10_FLOP
from forecast_capability.chain.worlds import SPAN, WORLD_DATE_ATOL_YEARS, Worlds, worlds
from forecast_capability.quantities.index import HORIZON_TABLE, INDEX_TABLE, VERSION

if TYPE_CHECKING:
    from forecast.streams import Streams

Array = NDArray[np.float64]
Needs = Mapping[str, OtherQuantity]
#: Of the straight and of the bent form, or of the index alone.
Drawn = tuple[Worlds, ...]

#: Orders of magnitude that a path gains at most: numbers end at 308.
MOST = 250.0

__all__ = ["algorithms", "growth", "horizon", "index", "index_alone", "pace", "points", "run", "world"]


@dataclass(frozen=True, kw_only=True)
class _OfPosterior(ModelRecord):
    """A model that reads the joint draws: of both forms, or of the index alone."""

    forms: tuple[str, ...] = (STRAIGHT.name, BENT.name)
    #: It means something only where models with an index are among the rows.
    rated: bool = True

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        drawn = tuple(worlds(form, as_of) for form in self.forms)
        if self.rated and not drawn[0].rows.rated.any():
            raise EmptyDataError(f"{self.name}: no model with an index is dated before {drawn[0].now:.2f}")
        return self.fitted(drawn, as_of)

    @abstractmethod
    def fitted(self, drawn: Drawn, as_of: float | None) -> FittedModel:
        """Return the model with these draws."""


@dataclass(frozen=True, kw_only=True)
class _Fitted(FittedModel):
    model: _OfPosterior
    drawn: Drawn = field(repr=False)

    def worlds(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Return the row of every world."""
        rows = [each.at(inputs["posterior"][0]) for each in self.drawn]
        if len(rows) == 1:
            return rows[0]
        straight, bent = rows
        return {name: np.where(inputs["bends"][0] > 0.5, bent[name], straight[name]) for name in straight}

    def described(self, name: str) -> str:
        """Return the quantiles of a column, in each form."""
        told = []
        for each in self.drawn:
            low, middle, high = np.quantile(each.columns[name], [0.05, 0.5, 0.95])
            form = f"{each.form}; " if len(self.drawn) > 1 else ""
            told.append(f"{middle:.3g} ({form}90 %: {low:.3g} to {high:.3g})")
        return " or ".join(told)

    def said(self, summary: str, *assumptions: str) -> Description:
        """Return a description with what every part of the chain assumes."""
        drawn = f"{len(self.drawn[0])} joint draws{' of each form' if len(self.drawn) > 1 else ''}"
        return Description(
            summary=f"{summary}; {drawn} from {len(self.drawn[0].rows)} rows",
            assumptions=(
                *assumptions,
                "how fast slopes change is mostly the prior's: what lies beyond five years rests on it",
            ),
            sources=self.model.sources,
        )


PLACE = {"posterior": OtherQuantity(unit="", title="place among the joint draws, from 0 to 1")}
FORM = {"bends": OtherQuantity(unit="", title="1 where an order of compute is worth less beyond 1e25 FLOP, else 0")}


def _made(of: type[_OfPosterior], name: str, spec: ModelSpec, needs: Needs, **more: Any) -> Model:
    return of(
        name=name,
        unit=spec.unit,
        inputs={**PLACE, **needs},
        note=spec.note,
        sources=(spec.reference,),
        keeps=spec.keeps,
        **more,
    )


# --- Which world it is ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _World(Unfitted):
    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        return np.broadcast_to(inputs["place"], (len(time), len(inputs["place"]))).copy()

    def describe(self) -> Description:
        return Description(summary="every joint draw of the estimate is as likely as another", sources=self.sources)


def world(name: str, spec: ModelSpec) -> Model:
    """Build the model of which joint draw a world has: one number for all parts of the chain, in either form."""
    place = Input(
        name="place",
        unit="",
        distribution={"low": 0.0, "high": 1.0, "family": "uniform"},
        source=spec.reference,
        title="place among the joint draws, ordered by how fast the index rises",
    )
    return _World(name=name, unit=spec.unit, inputs={"place": place}, note=spec.note, sources=(spec.reference,))


# --- What does not change with time ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Column(_OfPosterior):
    column: str
    what: str

    def fitted(self, drawn: Drawn, as_of: float | None) -> FittedModel:
        return _FittedColumn(model=self, drawn=drawn)


@dataclass(frozen=True, kw_only=True)
class _FittedColumn(_Fitted):
    model: _Column

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        drawn = self.worlds(inputs)[self.model.column]
        return np.broadcast_to(drawn, (len(time), len(drawn))).copy()

    def describe(self) -> Description:
        return self.said(f"{self.model.what}: {self.described(self.model.column)}")


def points(name: str, spec: ModelSpec) -> Model:
    """Build the model of points per order of compute (at 1e25 FLOP)."""
    return _made(_Column, name, spec, FORM, column="points", what="points of the index per order of compute")


def pace(name: str, spec: ModelSpec) -> Model:
    """Build the model of the pace of algorithms, with which their path goes on."""
    what = "orders of magnitude of compute a year that algorithms give at the end of the rows"
    return _made(_Column, name, spec, FORM, column="algorithms_slope", what=what)


def growth(name: str, spec: ModelSpec) -> Model:
    """Build the model of the growth of the largest run so far."""
    what = f"orders of magnitude a year that the largest run grew over {SPAN:g} years"
    return _made(_Column, name, spec, FORM, column="growth", what=what, rated=False)


# --- Paths ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _FittedPath(_Fitted):
    """A line with a random walk and an integrated one, from level and slope at the date on, stepped exactly."""

    def gained(self, time: Array, slope: Array, of: str, world: dict[str, Array], streams: Streams) -> Array:
        """Return what a path gains from the date to each time; `of` begins the names of its columns."""
        now, wander, turn_a_year = self.drawn[0].now, world[f"{of}walk"], world[f"{of}turn"]
        if time[0] < now - WORLD_DATE_ATOL_YEARS:
            told = f"{self.model.name}: the chain goes on from {now:g}, got a first step at {time[0]:g}"
            raise NoDataAtDateError(told)
        step = np.maximum(np.diff(time, prepend=now), 0)[:, None]
        walk, turn, inside = (
            streams(part).standard_normal((len(time), streams.draws)) for part in ("walk", "turn", "inside a step")
        )
        turned = turn_a_year * np.sqrt(step) * turn  # what the slope gains in a step
        slope = slope + np.cumsum(turned, axis=0) - turned  # at the start of each step
        # the integral of a walk over a step: half of what the walk gains, and what it does within
        bent = step / 2 * turned + turn_a_year * np.sqrt(step**3 / 12) * inside
        each = step * slope + bent + wander * np.sqrt(step) * walk
        return np.asarray(np.cumsum(each, axis=0))

    def moving(self, what: str, of: str) -> Description:
        """Return the description of a path."""
        return self.said(
            f"{what} gains {self.described(f'{of}_slope')} orders of magnitude a year at {self.drawn[0].now:g}",
            "a straight line, a random walk and an integrated one",
        )


@dataclass(frozen=True, kw_only=True)
class _Run(_OfPosterior):
    def fitted(self, drawn: Drawn, as_of: float | None) -> FittedModel:
        return _FittedRun(model=self, drawn=drawn, points=largest_runs(self.name, as_of))


@dataclass(frozen=True, kw_only=True)
class _FittedRun(_FittedPath):
    points: Observations

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        world = self.worlds(inputs)
        gained = self.gained(time, world["compute_slope"], "compute_", world, streams)
        gained = np.clip(np.maximum.accumulate(gained, axis=0), 0.0, MOST)
        return np.asarray(10.0 ** (world["compute"] + gained))

    def observed(self) -> Observations:
        return self.points

    def describe(self) -> Description:
        return self.moving("the compute of a frontier run", "compute")


@dataclass(frozen=True, kw_only=True)
class _Algorithms(_OfPosterior):
    def fitted(self, drawn: Drawn, as_of: float | None) -> FittedModel:
        return _FittedAlgorithms(model=self, drawn=drawn)


@dataclass(frozen=True, kw_only=True)
class _FittedAlgorithms(_FittedPath):
    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        gained = self.gained(time, inputs["pace"][0], "algorithms_", self.worlds(inputs), streams)
        return np.asarray(10.0 ** np.clip(np.maximum.accumulate(gained, axis=0), 0.0, MOST))  # nothing is unlearned

    def describe(self) -> Description:
        return self.moving("what algorithms give, over those of the start,", "algorithms")


def run(name: str, spec: ModelSpec) -> Model:
    """Build the path of the compute of a frontier run, which the records lie on, each on its day."""
    return _made(_Run, name, spec, FORM, rated=False)


def algorithms(name: str, spec: ModelSpec) -> Model:
    """Build the path of what algorithms give, over those at the date, which goes on at a pace."""
    needs = {"pace": OtherQuantity(unit="1/year", title="orders of magnitude a year")}
    return _made(_Algorithms, name, spec, FORM | needs)


# --- What they give -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Index(_OfPosterior):
    def fitted(self, drawn: Drawn, as_of: float | None) -> FittedModel:
        return _FittedIndex(model=self, drawn=drawn, points=_leaders(drawn, self.name))


def _leaders(drawn: Drawn, name: str) -> Observations:
    """Return the models that led the index."""
    rows, called = drawn[0].rows.leading, _called(INDEX_TABLE, "model", name)
    names = tuple(called.get(str(model), str(model)) for model in rows.model)
    return Observations(time=rows.date, value=rows.value, unit="", names=names)


def _called(table: str, key: str, name: str) -> dict[str, str]:
    """Return how models are called, by their name in a table."""
    from forecast import tables

    read = tables.to_columns(table, where=name)
    return dict(zip(map(str, read.column(key)), map(str, read.column("name")), strict=True))


@dataclass(frozen=True, kw_only=True)
class _FittedIndex(_Fitted):
    points: Observations

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        world = self.worlds(inputs)
        now, then = world["compute"] - ANCHOR_LOG10_FLOP, np.log10(inputs["run"]) - ANCHOR_LOG10_FLOP
        counted = worth(then, world["bend"]) - worth(now, world["bend"])
        level = world["level"] + inputs["points"] * (counted + np.log10(inputs["algorithms"]))
        return _best_so_far(level, world, self.points, streams, observed=observed)

    def observed(self) -> Observations:
        return self.points

    def describe(self) -> Description:
        return self.said(
            f"an order of magnitude of compute is worth {self.described('points')} points at 1e25 FLOP, and as much "
            f"where algorithms give it; the frontier stands at {self.described('level')} at {self.drawn[0].now:g}",
            "an order of compute is worth as much everywhere, or in the bent form less beyond 1e25 FLOP, by a law that "
            "four models there show",
        )


def _best_so_far(
    level: Array, world: dict[str, Array], points: Observations, streams: Streams, *, observed: bool
) -> Array:
    # of the model that leads, luck is a part: one number a world, or of each observation its own
    luck = streams("one model").standard_normal(level.shape if observed else level.shape[1:])
    level = level + world["frontier_scatter"] * luck
    return level if observed else np.maximum(np.maximum.accumulate(level, axis=0), points.value.max())


@dataclass(frozen=True, kw_only=True)
class _IndexAlone(_OfPosterior):
    def fitted(self, drawn: Drawn, as_of: float | None) -> FittedModel:
        return _FittedIndexAlone(model=self, drawn=drawn, points=_leaders(drawn, self.name))


@dataclass(frozen=True, kw_only=True)
class _FittedIndexAlone(_FittedPath):
    points: Observations

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        world = self.worlds(inputs)
        level = world["level"] + self.gained(time, world["slope"], "", world, streams)
        return _best_so_far(level, world, self.points, streams, observed=observed)

    def observed(self) -> Observations:
        return self.points

    def describe(self) -> Description:
        return self.said(
            f"the index of the frontier gained {self.described('so_far')} points a year and gains "
            f"{self.described('slope')} at {self.drawn[0].now:g}, where it stands at {self.described('level')}",
            "a straight line, a random walk and an integrated one; compute and algorithms play no part",
        )


@dataclass(frozen=True, kw_only=True)
class _Horizon(_OfPosterior):
    def fitted(self, drawn: Drawn, as_of: float | None) -> FittedModel:
        from forecast.tables import series

        read = series.read_columns(
            HORIZON_TABLE, x="release_date", y="horizon", covariates={}, where={"version": VERSION, "frontier": "yes"},
            as_of=as_of, name=self.name,
        )  # fmt: skip
        points = Observations(time=read.time, value=read.value, unit="min", names=read.names)
        return _FittedHorizon(model=self, drawn=drawn, points=points)


@dataclass(frozen=True, kw_only=True)
class _FittedHorizon(_Fitted):
    points: Observations

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        world = self.worlds(inputs)
        logs = world["anchor"] + world["doublings"] * (inputs["index"] - INDEX_OF_ANCHOR)
        luck = streams("one model").standard_normal(logs.shape if observed else logs.shape[1:])
        logs = logs + world["horizon_scatter"] * luck
        minutes = np.exp2(np.clip(logs, -600.0, 600.0))
        return minutes if observed else np.maximum(np.maximum.accumulate(minutes, axis=0), self.points.value.max())

    def observed(self) -> Observations:
        return self.points

    def describe(self) -> Description:
        return self.said(f"the horizon doubles {self.described('doublings')} times a point of the index")


def index(name: str, spec: ModelSpec) -> Model:
    """Build the index of the best model so far, that compute and algorithms give."""
    needs = {
        "run": OtherQuantity(unit="FLOP", title="the compute of a frontier run"),
        "algorithms": OtherQuantity(unit="", title="what algorithms give, over those at the start"),
        "points": OtherQuantity(unit="", title="points of the index per order of compute, at 1e25 FLOP"),
    }
    return _made(_Index, name, spec, FORM | needs)


def index_alone(name: str, spec: ModelSpec) -> Model:
    """Build the index of the best model so far by its own trend, from the same rows of the frontier."""
    return _made(_IndexAlone, name, spec, {}, forms=("alone",))


def horizon(name: str, spec: ModelSpec) -> Model:
    """Build the time horizon at an index."""
    return _made(_Horizon, name, spec, FORM | {"index": OtherQuantity(unit="", title="capability index (ECI)")})
