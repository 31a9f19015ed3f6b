"""The one protocol behind every model and every shape. The engine draws; models transform.

A model names the uncertain numbers it needs (`Model.inputs`) and is handed their draws, so that fixing, sweeping,
correlating and blaming an input asks nothing of the model.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from forecast.base.arrays import Array
from forecast.base.notebook_html import HtmlText
from forecast.base.operators import Operators
from forecast.contract.specs import Input, ModelSpec
from forecast.errors import ForecastError, ForecastWarning
from forecast.models.scales import LEVEL, UNBOUNDED, Bounds, Scale

if TYPE_CHECKING:
    from forecast.base.streams import Streams


@dataclass(frozen=True, kw_only=True)
class OtherQuantity:
    """A model's need for another quantity of the scenario, in this unit and with these qualifiers."""

    unit: str
    title: str = ""
    qualifiers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OtherModel:
    """A model's need for the quantity of another model, or of a quantity that is one."""

    model: Model

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", as_model(self.model))


Need = Input | OtherQuantity | OtherModel


def _no_numbers() -> Array:
    import numpy as np

    return np.empty(0)


@dataclass(frozen=True, kw_only=True)
class Observations:
    """The points behind a fit, or none.

    Parameters
    ----------
    time : ndarray
        Decimal years.
    value : ndarray
        In `unit`.
    unit : str
    names : tuple of str
        What each point is called, if it is: ``"El Capitan"``.
    """

    time: Array = field(default_factory=_no_numbers)
    value: Array = field(default_factory=_no_numbers)
    unit: str = ""
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return how many points there are."""
        return len(self.time)

    def __repr__(self) -> str:
        """Return how many there are, of which years and in which unit."""
        years = f" from {self.time.min():.1f} to {self.time.max():.1f}" if len(self.time) else ""
        return f"Observations: {len(self.time)} points{years} [{self.unit}]"


@dataclass(frozen=True, kw_only=True)
class Description(HtmlText):
    """The assumptions, sources and figures of a fitted model.

    Parameters
    ----------
    summary : str
        One sentence with the figures that matter.
    assumptions, sources : tuple of str
    facts : mapping of str to float
        Figures by name: ``n``, ``n_effective``, ``doubling_years``.
    gaps : mapping of str to str
        Figures that the data do not give, each with the reason: a claim that takes one is not derivable.
    """

    summary: str
    assumptions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    facts: Mapping[str, float] = field(default_factory=dict)
    read: str = ""
    gaps: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "; ".join([self.summary, *self.sources])


class FittedModel(HtmlText, abc.ABC):
    """A model that has read its data.

    Attributes
    ----------
    settable : mapping of str to str
        The parameters of `posterior` that a user may set, and the unit of each.
    scale : Scale
        On which it is straight, in the model's unit.
    """

    settable: Mapping[str, str] = MappingProxyType({})
    scale: Scale = LEVEL

    @abc.abstractmethod
    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        """Return draws of the level, shape (time, draw), in the model's unit.

        Parameters
        ----------
        time : ndarray
            Decimal years, increasing.
        inputs : mapping
            Draws of what `Model.inputs` names: (draw,) for an `Input`, (time, draw) for another quantity or model.
            Read-only.
        streams : Streams
            ``streams("parameters")`` and ``streams("noise")`` are separate generators; `streams.draws` says how many.
        observed : bool
            Add the scatter of one observation to the level.
        """

    @abc.abstractmethod
    def describe(self) -> Description:
        """Describe its assumptions and sources."""

    def __repr__(self) -> str:
        """Return its figures and sources in a line."""
        return f"Fitted: {self.describe()!r}"

    def with_inputs(self, inputs: Mapping[str, Input]) -> FittedModel:
        """Return the model that describes itself with these inputs, which a user has set, instead of its own.

        Only `describe` of the result is called. By default it is the model itself: its description needs no input.
        """
        return self

    def with_draws(self, inputs: Mapping[str, Array]) -> FittedModel:
        """Return the model whose `posterior` is that of `sample` under these draws of its inputs, (draw,) each.

        Itself by default, where its parameters rest on no input.
        """
        return self

    def with_parameters(self, parameters: Mapping[str, Array]) -> FittedModel:
        """Return the model with these draws, (draw,) each, of parameters that are `settable`, in their units.

        The other parameters follow conditionally on these, as far as the model knows their joint distribution. The keys
        of `parameters` are names in `settable`.
        """
        return self

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return the joint draws of the fitted parameters that `sample` uses, (draw,) each; none by default."""
        return {}

    def observed(self) -> Observations:
        """Return the points behind the fit; by default none."""
        return Observations()

    def warnings(self, inputs: Mapping[str, Array]) -> Sequence[ForecastWarning | str]:
        """Return warnings for the reader under these inputs (as for `sample`); none by default.

        Each is a sentence, or a warning of `forecast.errors`, which needs no subject. They are those of a projection;
        the draws stay as they are.
        """
        return ()


class Model(HtmlText, abc.ABC):
    """Anything that produces a quantity.

    Attributes
    ----------
    name, unit : str
        Full name, and the unit of what `FittedModel.sample` returns.
    inputs : mapping of str to Input, OtherQuantity or OtherModel
        Its inputs by name.
    qualifiers : mapping of str to str
        What its unit cannot say (see `forecast.units.qualifiers`).
    keeps : {"", "frontier", "positive"}
        What its draws keep.
    bounds : Bounds
        Its declared scale, in `unit`.
    at_most : float or None
        Their upper bound, in `unit`.
    """

    name: str
    unit: str
    inputs: Mapping[str, Need]
    qualifiers: Mapping[str, str] = MappingProxyType({})
    keeps: str = ""
    bounds: Bounds = UNBOUNDED
    at_most: float | None = None

    def __repr__(self) -> str:
        """Return its name, title, unit and sources in a line."""
        from forecast.models.model_lookup import title_of

        told = filter(None, [title_of(self), *getattr(self, "sources", ())])
        return f"Model {self.name}{f' [{self.unit}]' if self.unit else ''}: {'; '.join(told) or 'your own'}"

    def keeping(self, keeps: str) -> Model:
        """Return the model that keeps this by construction, or nothing where it is empty; itself where it has no way.

        A trend has one for a frontier.
        """
        return self

    def on_scale(self, bounds: Bounds) -> Model:
        """Return the model on another scale, between these ends; itself where it has no way. A trend has one."""
        return self

    def rests_on(self) -> Model:
        """Return the model whose observations are also its own: itself, or a member of a pool of one series."""
        return self

    @abc.abstractmethod
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        """Read the tables as they stood before a date (decimal year) and fit; deterministic."""


def as_model(model: Model | Operators[Any]) -> Model:
    """Return a model, or the model that a quantity is.

    Raises
    ------
    UsageError
        For a quantity that is no model.
    """
    return model.model if isinstance(model, Operators) else model


@dataclass(frozen=True, kw_only=True)
class ModelRecord(Model):
    """A model as a record; a subclass defines `fit`.

    Parameters
    ----------
    name, unit : str
    inputs : mapping of str to Input, OtherQuantity or OtherModel
    note : str
        A caveat for the reader.
    sources : tuple of str
        Its sources.
    qualifiers : mapping of str to str
        What its unit cannot say (see `forecast.units.qualifiers`).
    keeps, bounds, at_most
        See `Model`.
    """

    name: str
    unit: str
    inputs: Mapping[str, Need] = field(default_factory=dict)
    note: str = ""
    sources: tuple[str, ...] = ()
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    keeps: str = ""
    bounds: Bounds = UNBOUNDED
    at_most: float | None = None

    @classmethod
    def from_spec(cls, name: str, spec: ModelSpec, **own: Any) -> Self:
        """Return the model of a record: with its unit, note, reference and qualifiers, and fields of its own.

        A record whose target it is needs no other code. What a record says of `keeps`, bounds and `at_most` its model
        has anyway.
        """
        sources, qualifiers = (spec.reference,), spec.qualifiers
        return cls(name=name, unit=spec.unit, note=spec.note, sources=sources, qualifiers=qualifiers, **own)


@dataclass(frozen=True, kw_only=True)
class Unfitted(ModelRecord, FittedModel):
    """A model that reads no data: it is its own fitted model, and says how to `sample` and `describe`.

    Parameters
    ----------
    name, unit, inputs, note, sources, qualifiers
        See `ModelRecord`; so are `keeps`, `bounds` and `at_most`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from forecast.models import Description, OtherQuantity, Unfitted
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Half(Unfitted):
    ...     def sample(self, time, inputs, streams, *, observed=False):
    ...         return inputs["whole"] / 2
    ...     def describe(self):
    ...         return Description(summary="half of another quantity", sources=self.sources)
    >>> half = Half(name="half", unit="FLOP/s", inputs={"whole": OtherQuantity(unit="FLOP/s")}, sources=("a book",))
    >>> half.fit(as_of=2020.0) is half
    True
    >>> from forecast import ModelSpec
    >>> record = ModelSpec(name="half", title="Half", unit="FLOP/s", reference="a book", target="plugin:half")
    >>> Half.from_spec("half", record, inputs=half.inputs) == half
    True
    """

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        """Return the model itself."""
        return self

    def with_inputs(self, inputs: Mapping[str, Input]) -> FittedModel:
        """Return the same model with these inputs instead of its own."""
        return replace(self, inputs={**self.inputs, **inputs})


@dataclass(frozen=True, kw_only=True)
class Broken(ModelRecord):
    """Stands for a model that its plugin could not make; to fit it raises why."""

    error: ForecastError

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        """Raise the error that stopped the plugin."""
        raise self.error


class FittedShape(abc.ABC):
    """A shape that has seen its series.

    Attributes
    ----------
    settable : mapping of str to str
        The parameters of `posterior` that a user may set, and the unit of each: those of which `log_level` says what
        they do.
    """

    settable: Mapping[str, str] = MappingProxyType({})

    @abc.abstractmethod
    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return joint draws of the parameters, (draw,) each."""

    @abc.abstractmethod
    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Return draws of the level, (time, draw); with the scatter of one observation where `observed`."""

    @abc.abstractmethod
    def central(self, time: Array) -> Array:
        """Return the level at the fitted parameters, (time,)."""

    @abc.abstractmethod
    def describe(self) -> Description:
        """Describe its figures and assumptions."""

    def anchored(self, time: Array, record: Array) -> FittedShape | None:
        """Return the shape as a frontier, whose paths start at the last record and never fall; None where it has none.

        `forecast.models.Anchored` makes one from any shape whose paths move as a frontier does. Without one a trend
        that keeps a frontier raises its draws to their running maximum, and warns of it.

        Parameters
        ----------
        time, record : ndarray
            Dates, not decreasing, and the highest value observed up to each; at the last date the last record stands.
        """
        return None

    def as_record(self, time: Array, record: Array) -> FittedShape | None:
        """Return the shape of rows that keep their best so far; by default as `anchored`.

        A shape that knows more of records, such as how long they stand, says it here.
        """
        return self.anchored(time, record)

    def log_level(self, time: Array, parameters: Mapping[str, Array]) -> Array:
        """Return what draws of the parameters add to the logarithm of the level, noise aside, (time, draw).

        Asked only of a shape with `settable` parameters: where one is set, draws of `sample` are moved by what this
        gains, so that all noise stays as it was drawn.
        """
        raise NotImplementedError

    def with_parameters(self, parameters: Mapping[str, Array]) -> FittedShape:
        """Return the shape with draws, (draw,) each, of parameters that are `settable`."""
        from forecast.models.shapes import Conditioned

        return Conditioned(shape=self, fixed=parameters)

    def conditional(self, drawn: Mapping[str, Array], fixed: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return draws of all parameters if some are fixed at other values than their draws.

        By default the others keep their draws. A shape that knows the covariance of its parameters moves the others by
        their regression on the fixed ones: for jointly normal parameters this is the conditional distribution.
        """
        return {**drawn, **fixed}

    def given(self, options: Mapping[str, Array]) -> FittedShape:
        """Return the shape with draws, (draw,) each, of the options that were given as distributions.

        Only shapes with `Shape.uncertain` options get this call. For `describe` it has one draw, the median.
        """
        return self


class Shape(abc.ABC):
    """A law in time with a noise law; fits any series of any plugin.

    Its options are the keyword arguments of its class.

    Attributes
    ----------
    uncertain : tuple of str, or mapping of str to str
        The options that may be distributions. The shape is made with their medians, in the unit of the series or, in a
        mapping, in the unit named; the fitted shape is handed their draws by `FittedShape.given`.
    needs_level : bool
        It has ends or gains of its own in the unit of the series, which only a level has.
    columns : mapping of str to str
        Covariates that the shape needs: a name of its own, and the column or formula over columns that
        its options say: ``{"cumulative": "units_sold"}``. Only a shape that names some is handed them, in `fit`'s
        further argument ``columns``: name to array, (point,), row by row with `time` and `value`, in any unit. A row
        that lacks one is left out.
    """

    uncertain: tuple[str, ...] | Mapping[str, str] = ()
    needs_level: bool = False
    columns: Mapping[str, str] = MappingProxyType({})

    def beside(self, series: str) -> Shape:
        """Return the shape that fits the series of this name; itself by default.

        Only a shape that keeps a record of series needs to know: so that it judges none by its own past.
        """
        return self

    @abc.abstractmethod
    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Fit a series.

        Parameters
        ----------
        time : ndarray
            Decimal years, not decreasing.
        value : ndarray
            Positive and finite where the shape works in logs.
        frontier : bool
            The series is a running maximum: only its distinct values are evidence.
        seed : int
            For shapes that simulate (a changepoint test).
        """
