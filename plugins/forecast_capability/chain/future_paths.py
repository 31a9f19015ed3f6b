"""The chain from a date on: paths of compute and algorithms, and the index and horizon that they give.

A world is a row of the joint draws (`worlds`): its numbers, and the state at the date from which it goes on. Given its
row a world needs nothing else of the past, since level and slope of a line with walks are all that its future depends
on. Which row a world has say two quantities that all models of a scenario share: `form`, the code of the rivals that it
has, and `posterior`, its place among the draws of that form (`world`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast import Input, ModelSpec
from forecast.base.arrays import accumulate
from forecast.errors import EmptyDataError, NoDataAtDateError, UsageError
from forecast.models import Array, Description, FittedModel, Model, ModelRecord, Observations, OtherQuantity, Unfitted
from forecast_capability.chain.likelihood import (
    ALGORITHMS,
    COMPUTE,
    FORMS,
    HORIZONS,
    INDEX_OF_ANCHOR,
    LABOUR_GROWTH,
    LABOUR_SHARE,
    PLAIN,
    Form,
    worth,
)
from forecast_capability.chain.records import largest_runs
from forecast_capability.chain.rows import ANCHOR_LOG10_FLOP
from forecast_capability.chain.worlds import ALONE_FORM, WORLD_DATE_ATOL_YEARS, Estimates, estimates
from forecast_capability.quantities.index import HORIZON_TABLE, INDEX_TABLE, horizon_version

if TYPE_CHECKING:
    from forecast.streams import Streams

#: Orders of magnitude that a path gains at most: numbers end at 308.
MOST = 250.0
#: Of the forms with a break: breaks a year from the date on, and by how many orders a year one moves the pace. Ours.
BREAKS_A_YEAR, BREAK_SIZE = 0.3, 0.5
#: Where research drives algorithms their pace is at least this, and shocks to it count in paces of at least this.
LEAST_PACE, LEAST_SHOCKED_PACE = 0.02, 0.3
#: Orders by which shocks and research move a pace at most.
MOST_SHOCK, MOST_RESEARCH = 3.0, 6.0
#: Of each code: whether research drives algorithms, and whether their pace breaks.
DRIVEN_CODES = np.array([form.driven for form in FORMS])
BREAKING_CODES = np.array([form.algorithms.endswith("break") for form in FORMS])

__all__ = [
    "algorithms",
    "bend",
    "beta",
    "elasticity",
    "horizon",
    "index",
    "index_alone",
    "pace",
    "points",
    "run",
    "world",
]


@dataclass(frozen=True, kw_only=True)
class _OfPosterior(ModelRecord):
    """A model that reads the joint draws: of the forms, or of the index alone."""

    alone: bool = False
    #: It means something only where models with an index are among the rows.
    rated: bool = True

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        drawn = estimates(as_of, alone=self.alone)
        if self.rated and not drawn.rows.rated.any():
            raise EmptyDataError(f"{self.name}: no model with an index is dated before {drawn.now:.2f}")
        return self.fitted(drawn, as_of)

    @abstractmethod
    def fitted(self, drawn: Estimates, as_of: float | None) -> FittedModel:
        """Return the model with these draws."""


@dataclass(frozen=True, kw_only=True)
class _Fitted(FittedModel):
    model: _OfPosterior
    drawn: Estimates = field(repr=False)

    @property
    def described_forms(self) -> tuple[Form, ...]:
        """The forms whose quantiles a description states."""
        return (ALONE_FORM,) if self.model.alone else tuple(replace(PLAIN, compute=each) for each in COMPUTE)

    def worlds(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Return the row of every world."""
        place = inputs["posterior"][0]
        return self.drawn.of(ALONE_FORM).at(place) if self.model.alone else self.drawn.at(_codes(inputs), place)

    def once(
        self,
        time: Array,
        inputs: Mapping[str, Array],
        streams: Streams,
        make: Callable[[], tuple[Array, ...]],
        *,
        observed: bool = False,
    ) -> tuple[Array, ...]:
        """Return what follows from the dates and from which worlds they are, drawn once for all other inputs."""
        worlds = (inputs[name][0].tobytes() for name in FORM if name in inputs)
        return streams.once(self, (time.tobytes(), observed, *worlds), make)

    def described(self, name: str) -> str:
        """Return the quantiles of a column, straight and bent."""
        told = []
        for form in self.described_forms:
            low, middle, high = np.quantile(self.drawn.of(form).columns[name], [0.05, 0.5, 0.95])
            which = "" if self.model.alone else f"{form.compute}; "
            told.append(f"{middle:.3g} ({which}90 %: {low:.3g} to {high:.3g})")
        return " or ".join(told)

    def said(self, summary: str, *assumptions: str) -> Description:
        """Return a description with what every part of the chain assumes."""
        count = len(self.drawn.of(self.described_forms[0]))
        drawn = f"{count} joint draws{'' if self.model.alone else ' of each form'}"
        return Description(
            summary=f"{summary}; {drawn} from {len(self.drawn.rows)} rows",
            assumptions=(
                *assumptions,
                "how fast slopes change is mostly the prior's: what lies beyond five years rests on it",
            ),
            sources=self.model.sources,
        )


def _codes(inputs: Mapping[str, Array]) -> NDArray[np.intp]:
    """Return the form of every world, by its code."""
    codes = np.asarray(np.round(inputs["form"][0]), dtype=np.intp)
    if codes.min() < 0 or codes.max() >= len(FORMS):
        raise UsageError(f"chain: expected codes of forms from 0 to {len(FORMS) - 1}, got {inputs['form'][0].max():g}")
    return codes


PLACE = {"posterior": OtherQuantity(unit="", title="place among the joint draws, from 0 to 1")}
FORM = PLACE | {
    "form": OtherQuantity(
        unit="",
        title=f"which rivals a world has: the place among {', '.join(COMPUTE)}, plus {len(COMPUTE)} times that among "
        f"{', '.join(ALGORITHMS)}, plus {len(COMPUTE) * len(ALGORITHMS)} times that among {', '.join(HORIZONS)}",
    )
}


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
    return _World.from_spec(name, spec, inputs={"place": place})


# --- What does not change with time ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Column(_OfPosterior):
    column: str
    what: str

    def fitted(self, drawn: Estimates, as_of: float | None) -> FittedModel:
        return _FittedColumn(model=self, drawn=drawn)


@dataclass(frozen=True, kw_only=True)
class _FittedColumn(_Fitted):
    model: _Column

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        drawn = self.worlds(inputs)[self.model.column]
        return np.broadcast_to(drawn, (len(time), len(drawn))).copy()

    def describe(self) -> Description:
        return self.said(f"{self.model.what}: {self.described(self.model.column)}")


def _column_model(column: str, what: str) -> Callable[[str, ModelSpec], Model]:
    """Return what builds the model of a column of the draws: one number a world."""

    def build(name: str, spec: ModelSpec) -> Model:
        return _Column.from_spec(name, spec, inputs=FORM, column=column, what=what)

    return build


points = _column_model("points", "points of the index per order of compute")
bend = _column_model("bend", "share by which an order of compute is worth less an order further on")
pace = _column_model("algorithms_slope", "orders of magnitude a year that algorithms give at the end of the rows")
elasticity = _column_model("elasticity", "power of its input by which the pace of algorithms rises; 0 where not driven")
beta = _column_model("beta", "orders that make the next order harder to find; 0 where research drives nothing")


# --- Paths ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _FittedPath(_Fitted):
    """A line with a random walk and an integrated one, from level and slope at the date on, stepped exactly."""

    def steps(self, time: Array) -> Array:
        """Return the lengths of the steps to each time, (time, 1)."""
        now = self.drawn.now
        if time[0] < now - WORLD_DATE_ATOL_YEARS:
            told = f"{self.model.name}: the chain goes on from {now:g}, got a first step at {time[0]:g}"
            raise NoDataAtDateError(told)
        return np.maximum(np.diff(time, prepend=now), 0)[:, None]

    def turned(self, step: Array, of: str, world: dict[str, Array], streams: Streams) -> Array:
        """Return what the slope gains in each step."""
        return world[f"{of}turn"] * np.sqrt(step) * streams("turn").standard_normal((len(step), streams.draws))

    def wandered(self, step: Array, of: str, world: dict[str, Array], streams: Streams) -> Array:
        """Return what the random walk gains in each step."""
        return world[f"{of}walk"] * np.sqrt(step) * streams("walk").standard_normal((len(step), streams.draws))

    def gained(self, time: Array, slope: Array, of: str, world: dict[str, Array], streams: Streams) -> Array:
        """Return what a path gains from the date to each time; `of` begins the names of its columns."""
        step = self.steps(time)
        turned = self.turned(step, of, world, streams)
        slope = slope + accumulate(np.add, turned) - turned  # at the start of each step
        each = step * slope + _bent(step, turned, of, world, streams) + self.wandered(step, of, world, streams)
        return accumulate(np.add, each)

    def moving(self, what: str, of: str) -> Description:
        """Return the description of a path."""
        return self.said(
            f"{what} gains {self.described(f'{of}_slope')} orders of magnitude a year at {self.drawn.now:g}",
            "a straight line, a random walk and an integrated one",
        )


def _bent(step: Array, turned: Array, of: str, world: dict[str, Array], streams: Streams) -> Array:
    """Return the integral of a walk over each step: half of what the walk gains, and what it does within."""
    inside = streams("inside a step").standard_normal(turned.shape)
    return np.asarray(step / 2 * turned + world[f"{of}turn"] * np.sqrt(step**3 / 12) * inside)


@dataclass(frozen=True, kw_only=True)
class _Run(_OfPosterior):
    def fitted(self, drawn: Estimates, as_of: float | None) -> FittedModel:
        return _FittedRun(model=self, drawn=drawn, points=largest_runs(self.name, as_of))


@dataclass(frozen=True, kw_only=True)
class _FittedRun(_FittedPath):
    points: Observations

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        world = self.worlds(inputs)
        gained = self.gained(time, world["compute_slope"], "compute_", world, streams)
        gained = np.clip(accumulate(np.maximum, gained), 0.0, MOST)
        return np.asarray(10.0 ** (world["compute"] + gained))

    def observed(self) -> Observations:
        return self.points

    def describe(self) -> Description:
        return self.moving("the compute of a frontier run", "compute")


@dataclass(frozen=True, kw_only=True)
class _Algorithms(_OfPosterior):
    def fitted(self, drawn: Estimates, as_of: float | None) -> FittedModel:
        return _FittedAlgorithms(model=self, drawn=drawn)


@dataclass(frozen=True, kw_only=True)
class _FittedAlgorithms(_FittedPath):
    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        step, pace = self.steps(time), inputs["pace"][0]
        shock, inside, wandered, beta = self.once(time, inputs, streams, lambda: self._shocks(step, inputs, streams))
        slope = pace + shock
        undriven = step * np.maximum(slope, 0) + np.where(slope > 0, inside, 0)
        driven = self._driven(step, shock, pace, beta, inputs)
        gained = np.where(DRIVEN_CODES[_codes(inputs)], driven, accumulate(np.add, undriven)) + wandered
        return np.asarray(10.0 ** np.clip(accumulate(np.maximum, gained), 0.0, MOST))  # nothing is unlearned

    def _shocks(self, step: Array, inputs: Mapping[str, Array], streams: Streams) -> tuple[Array, ...]:
        """Return what moves the pace by the middle of each step, what is found beside it, and the power of research."""
        world = self.worlds(inputs)
        turned = self.turned(step, "algorithms_", world, streams) + self._broken(step, _codes(inputs), streams)
        # within a step a slope bends too, but it is not unlearned what was found
        inside = _bent(step, turned, "algorithms_", world, streams) - step / 2 * turned
        wandered = accumulate(np.add, self.wandered(step, "algorithms_", world, streams))
        return accumulate(np.add, turned) - turned / 2, inside, wandered, world["beta"]

    def _broken(self, step: Array, codes: NDArray[np.intp], streams: Streams) -> Array:
        """Return what breaks of the pace add to it in each step."""
        shape = (len(step), streams.draws)
        count = streams("breaks").poisson(BREAKS_A_YEAR * step, shape)
        size = BREAK_SIZE * np.sqrt(count) * streams("size of breaks").standard_normal(shape)
        return np.where(BREAKING_CODES[codes], size, 0.0)

    def _driven(self, step: Array, shock: Array, pace: Array, beta: Array, inputs: Mapping[str, Array]) -> Array:
        """Return what research finds from the date on: its law, solved for a pace that is held over each step."""
        with np.errstate(divide="ignore"):
            research = np.log10(inputs["research"])
        labour = LABOUR_GROWTH * accumulate(np.add, step)
        orders = (1 - LABOUR_SHARE) * research + LABOUR_SHARE * labour
        middle = orders - np.diff(orders, axis=0, prepend=np.zeros((1, orders.shape[1]))) / 2
        moved = np.exp(np.clip(shock / np.maximum(pace, LEAST_SHOCKED_PACE), -MOST_SHOCK, MOST_SHOCK))
        helped = 10 ** np.clip(inputs["elasticity"][0] * middle, -MOST_RESEARCH, MOST_RESEARCH)
        found = accumulate(np.add, step * np.maximum(pace, LEAST_PACE) * moved * helped)
        beta = np.where(beta > 0, beta, 1.0)
        return np.asarray(np.log1p(beta * np.log(10) * found) / (beta * np.log(10)))

    def describe(self) -> Description:
        return self.said(
            f"what algorithms give, over those of the start, gains {self.described('algorithms_slope')} orders of "
            f"magnitude a year at {self.drawn.now:g}",
            "five rivals: a line with walks, a steadier one, one whose pace breaks, and two in which research compute "
            "and labour drive the pace and what is found makes the next harder to find; no evidence tells them apart",
        )


def run(name: str, spec: ModelSpec) -> Model:
    """Build the path of the compute of a frontier run, which the records lie on, each on its day."""
    return _Run.from_spec(name, spec, inputs=FORM, rated=False)


def algorithms(name: str, spec: ModelSpec) -> Model:
    """Build the path of what algorithms give, over those at the date, which goes on at a pace."""
    needs = {
        "pace": OtherQuantity(unit="1/year", title="orders of magnitude a year at the date"),
        "elasticity": OtherQuantity(unit="", title="by which power of research compute and labour the pace rises"),
        "research": OtherQuantity(unit="", title="research compute, over that at the date"),
    }
    return _Algorithms.from_spec(name, spec, inputs=FORM | needs)


# --- What they give -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Index(_OfPosterior):
    def fitted(self, drawn: Estimates, as_of: float | None) -> FittedModel:
        return _FittedIndex(model=self, drawn=drawn, points=_leaders(drawn, self.name))


def _leaders(drawn: Estimates, name: str) -> Observations:
    """Return the models that led the index."""
    rows, called = drawn.rows.leading, _called(INDEX_TABLE, "model", name)
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
        def known() -> tuple[Array, ...]:
            world = self.worlds(inputs)
            now = worth(world["compute"] - ANCHOR_LOG10_FLOP, world["bend"])
            luck = _luck(world["frontier_scatter"], len(time), streams, observed=observed)
            return now, world["bend"], world["level"], luck

        now, bend, level, luck = self.once(time, inputs, streams, known, observed=observed)
        counted = worth(np.log10(inputs["run"]) - ANCHOR_LOG10_FLOP, bend) - now
        level = level + inputs["points"] * (counted + np.log10(inputs["algorithms"]))
        return _best_so_far(level + luck, self.points, observed=observed)

    def observed(self) -> Observations:
        return self.points

    def describe(self) -> Description:
        return self.said(
            f"an order of magnitude of compute is worth {self.described('points')} points at 1e25 FLOP, and as much "
            f"where algorithms give it; the frontier stands at {self.described('level')} at {self.drawn.now:g}",
            "an order of compute is worth as much everywhere, or in the bent form less beyond 1e25 FLOP, by a law that "
            "four models there show",
        )


def _luck(scatter: Array, n_dates: int, streams: Streams, *, observed: bool) -> Array:
    """Return the luck that is a part of the model that leads: one number a world, or of each observation its own."""
    shape = (n_dates, len(scatter)) if observed else len(scatter)
    return np.asarray(scatter * streams("one model").standard_normal(shape))


def _best_so_far(level: Array, points: Observations, *, observed: bool) -> Array:
    return level if observed else np.maximum(accumulate(np.maximum, level), points.value.max())


@dataclass(frozen=True, kw_only=True)
class _IndexAlone(_OfPosterior):
    def fitted(self, drawn: Estimates, as_of: float | None) -> FittedModel:
        return _FittedIndexAlone(model=self, drawn=drawn, points=_leaders(drawn, self.name))


@dataclass(frozen=True, kw_only=True)
class _FittedIndexAlone(_FittedPath):
    points: Observations

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        world = self.worlds(inputs)
        level = world["level"] + self.gained(time, world["slope"], "", world, streams)
        level = level + _luck(world["frontier_scatter"], len(time), streams, observed=observed)
        return _best_so_far(level, self.points, observed=observed)

    def observed(self) -> Observations:
        return self.points

    def describe(self) -> Description:
        return self.said(
            f"the index of the frontier gained {self.described('so_far')} points a year and gains "
            f"{self.described('slope')} at {self.drawn.now:g}, where it stands at {self.described('level')}",
            "a straight line, a random walk and an integrated one; compute and algorithms play no part",
        )


@dataclass(frozen=True, kw_only=True)
class _Horizon(_OfPosterior):
    def fitted(self, drawn: Estimates, as_of: float | None) -> FittedModel:
        from forecast.tables import series

        read = series.read_columns(
            HORIZON_TABLE, x="release_date", y="horizon", covariates={},
            where={"version": horizon_version(as_of), "frontier": "yes"}, as_of=as_of, name=self.name,
        )  # fmt: skip
        points = Observations(time=read.time, value=read.value, unit="min", names=read.names)
        rows = drawn.rows.take(drawn.rows.horizon & np.isin(drawn.rows.date, read.time))
        return _FittedHorizon(model=self, drawn=drawn, points=points, measured=float(np.median(rows.error)))


@dataclass(frozen=True, kw_only=True)
class _FittedHorizon(_FittedPath):
    points: Observations
    #: Doublings, one standard deviation, by which the horizon of a model is measured off.
    measured: float

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        def known() -> tuple[Array, ...]:
            world, step = self.worlds(inputs), self.steps(time)
            wandered = accumulate(np.add, self.wandered(step, "own_", world, streams))
            own = world["own"] + world["own_slope"] * accumulate(np.add, step) + wandered
            # by how much the model that leads is measured off is luck too
            scatter = np.hypot(world["horizon_scatter"], self.measured)
            luck = _luck(scatter, len(time), streams, observed=observed)
            return world["anchor"], world["doublings"], world["curve"], own, luck

        anchor, doublings, curve, own, luck = self.once(time, inputs, streams, known, observed=observed)
        over = inputs["index"] - INDEX_OF_ANCHOR
        logs = anchor + doublings * over + curve * over**2 + own + luck
        minutes = np.exp2(np.clip(logs, -600.0, 600.0))
        return minutes if observed else np.maximum(accumulate(np.maximum, minutes), self.points.value.max())

    def observed(self) -> Observations:
        return self.points

    def describe(self) -> Description:
        return self.said(
            f"the horizon doubles {self.described('doublings')} times a point of the index, and "
            f"{self.described('own_slope')} times a year beside it",
            "a line in the index, and a line and a walk of its own",
        )


def index(name: str, spec: ModelSpec) -> Model:
    """Build the index of the best model so far, that compute and algorithms give."""
    needs = {
        "run": OtherQuantity(unit="FLOP", title="the compute of a frontier run"),
        "algorithms": OtherQuantity(unit="", title="what algorithms give, over those at the start"),
        "points": OtherQuantity(unit="", title="points of the index per order of compute, at 1e25 FLOP"),
    }
    return _Index.from_spec(name, spec, inputs=FORM | needs)


def index_alone(name: str, spec: ModelSpec) -> Model:
    """Build the index of the best model so far by its own trend, from the same rows of the frontier."""
    return _IndexAlone.from_spec(name, spec, inputs=PLACE, alone=True)


def horizon(name: str, spec: ModelSpec) -> Model:
    """Build the time horizon at an index."""
    needs = {"index": OtherQuantity(unit="", title="capability index (ECI)")}
    return _Horizon.from_spec(name, spec, inputs=FORM | needs)
