"""A model by its name: ``brain/power``, or a series and the shape beside it, ``hardware/hpcg@changepoint``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from forecast.contract.plugin_calls import call_guarded
from forecast.contract.registry import Record, get_registry, import_target
from forecast.contract.specs import (
    EstimateSpec,
    FunctionSpec,
    MixtureSpec,
    ModelSpec,
    RelationSpec,
    SeriesShape,
    TrendSpec,
)
from forecast.errors import ForecastError, PluginContractError, PluginError, UsageError, printable
from forecast.models import estimates, functions, mixtures, relations, trends
from forecast.models.check_output import checked_model
from forecast.models.protocol import Broken, Model, ModelRecord
from forecast.models.scales import Bounds
from forecast.units import qualifiers

#: The pool of the shapes to which a series gives weights, where a shape is named: ``hardware/gpu-bandwidth@pooled``.
POOLED_SHAPE = "pooled"


@dataclass(frozen=True, kw_only=True)
class FoundModel:
    """The meaning of a model's name: a record and, of a series, a shape.

    Parameters
    ----------
    record : Record
    shape : str
        The full name of a shape, or `POOLED_SHAPE`; of a model for each of several things, which one it is of.
    """

    record: Record
    shape: str = ""

    @property
    def spec(self) -> ModelSpec:
        """The record that the plugin hands in."""
        assert isinstance(self.record.spec, ModelSpec)
        return self.record.spec

    @property
    def name(self) -> str:
        """The one name of the model, which says the shape: names its random streams, its inputs and its results."""
        if not self.shape:
            return self.record.full_name
        if not isinstance(self.spec, TrendSpec):
            return f"{self.record.full_name}@{self.shape}"
        bare = self.shape.rpartition("/")[2]
        # decided by the record alone: what else is installed changes no name, and so no draw
        rivals = [full for full in _named_shapes(self.spec) if full != self.shape and full.rpartition("/")[2] == bare]
        return f"{self.record.full_name}@{self.shape if rivals else bare}"

    def beside(self) -> SeriesShape:
        """Return the series' settings for the shape, with the options of its own shape."""
        assert isinstance(self.spec, TrendSpec)
        series_shape = next((s for s in self.spec.shapes if s.name == self.shape), SeriesShape(name=self.shape))
        return (
            replace(series_shape, options={**self.spec.options, **series_shape.options})
            if self.shape == self.spec.shape
            else series_shape
        )

    def members(self) -> list[tuple[FoundModel, float]]:
        """Return the trends of a pool and their weights."""
        assert isinstance(self.spec, TrendSpec)
        return [(FoundModel(record=self.record, shape=s.name), s.weight) for s in self.spec.shapes if s.weight]


def _named_shapes(spec: TrendSpec) -> list[str]:
    """Return the shapes that a series names."""
    return list(dict.fromkeys([*filter(None, [spec.shape]), *(beside.name for beside in spec.shapes)]))


def find_model(name: str, *, shape: str = "", where: str = "") -> FoundModel:
    """Find the model of a name: ``plugin/series@shape``, or a series with its default shape.

    Raises
    ------
    UnknownNameError, AmbiguousNameError, ConflictError
        If the model or the shape does not resolve.
    UsageError
        If a shape is named beside something that is no series, or twice.
    """
    at = f"{where}: " if where else ""
    if not isinstance(shape, str):
        raise UsageError(f"{at}expected the name of a shape, got {type(shape).__name__}")
    series, marked, suffix = name.partition("@") if isinstance(name, str) else (name, "", "")
    if marked and shape:
        raise UsageError(
            f"{at}model '{printable(name, 80)}' names a shape, and '{printable(shape, 60)}' is another: give one"
        )
    if marked and not suffix:
        raise UsageError(f"{at}model '{printable(name, 80)}': expected the name of a shape after '@'")
    record = get_registry().find("model", series, where=where, near=_trend_names)
    shape_name = suffix or shape
    if not isinstance(record.spec, TrendSpec):
        if isinstance(record.spec, ModelSpec) and record.spec.each:
            return FoundModel(record=record, shape=shape_name)
        if shape_name:
            beside = printable(shape_name, 60)
            raise UsageError(
                f"{at}model '{record.full_name}' is no series: the shape '{beside}' cannot stand beside it"
            )
        return FoundModel(record=record)
    return FoundModel(record=record, shape=_select_shape(record, record.spec, shape_name, where))


def _trend_names() -> list[str]:
    """Return every series with every shape, as names to be near to."""
    registry = get_registry()
    shapes = [POOLED_SHAPE, *(full.rpartition("/")[2] for full in registry.names("shape"))]
    series = [r.full_name for r in registry.records("model") if isinstance(r.spec, TrendSpec)]
    return [f"{name}@{shape}" for name in series for shape in shapes]


def _select_shape(record: Record, spec: TrendSpec, shape_name: str, where: str) -> str:
    if not shape_name:
        return spec.shape or POOLED_SHAPE
    shapes = _named_shapes(spec)
    for full in shapes:  # as the record writes it
        if shape_name in (full, full.rpartition("/")[2]):
            return full
    registry = get_registry()
    if shape_name.rpartition("/")[2] == POOLED_SHAPE and shape_name not in registry.names("shape"):
        if not any(beside.weight for beside in spec.shapes):
            at = f"{where}: " if where else ""
            raise UsageError(f"{at}model '{record.full_name}': gives its shapes no weights: it has no pool of them")
        return POOLED_SHAPE
    at = f"{where}: model '{record.full_name}'" if where else f"model '{record.full_name}'"
    full = registry.find("shape", shape_name, where=at).full_name
    bare = full.rpartition("/")[2]
    # a record may write a shape by its bare name
    return bare if bare in shapes and registry.find("shape", bare).full_name == full else full


def model(name: str, *, shape: str = "", options: Mapping[str, Any] | None = None, where: str = "") -> Model:
    """Return a registered model by name.

    Parameters
    ----------
    name : str
        ``brain/power``, or a bare name while unique. A trend is a series with a shape beside it,
        ``hardware/hpcg@changepoint``; without one it has the series' own shape, or its pool of shapes.
    shape : str
        The shape beside a series, where `name` holds none: ``"trends/changepoint"``. ``"pooled"`` is the pool.
    options : mapping, optional
        Of the shape, beside those that the series states: ``{"cap": 1e15}``.
    where : str
        Where the name was written, for the error.

    Raises
    ------
    UnknownNameError, AmbiguousNameError, ConflictError
        If a name does not resolve.
    UsageError
        If the shape cannot stand beside it, or lacks an option.
    PluginError
        If the plugin's code fails or returns something else than a model.

    Examples
    --------
    >>> import forecast
    >>> forecast.model("hardware/linpack", shape="trends/changepoint").model.name
    'hardware/linpack@changepoint'
    """
    return _build(find_model(name, shape=shape, where=where), options or {}, where=where)


def attempt(name: str, *, shape: str = "", options: Mapping[str, Any] | None = None, where: str = "") -> Model:
    """Return a registered model; one whose plugin cannot make it fails when it is fitted, so that the rest goes on."""
    entry = find_model(name, shape=shape, where=where)
    try:
        return _build(entry, options or {}, where=where)
    except PluginError as error:
        return Broken(name=entry.name, unit=entry.spec.unit, error=error, qualifiers=entry.spec.qualifiers)


def is_registered(model: Model) -> bool:
    """Return True if a model equals the registered one of its name.

    Examples
    --------
    >>> from dataclasses import replace
    >>> machine = model("hardware/linpack")
    >>> is_registered(machine), is_registered(replace(machine, at_most=1e21))
    (True, False)
    """
    if "/" not in model.name:
        return False
    try:
        return is_same_model(attempt(model.name), model)
    except ForecastError:
        return False


def title_of(model: Model) -> str:
    """Return the title of a model that a plugin registered under its name, or its note.

    Examples
    --------
    >>> title_of(model("hardware/hpcg@exponential"))
    'best HPCG result of each TOP500 list'
    """
    try:
        title = find_model(model.name).spec.title if "/" in model.name else ""
    except ForecastError:
        title = ""
    return title or str(getattr(model, "note", ""))


def is_same_model(one: Model, other: Model) -> bool:
    """Return True if two models are one, or equal; those that cannot be compared are not."""
    try:
        return one is other or bool(one == other)
    except Exception:  # foreign code, or arrays in a record
        return False


def _build(entry: FoundModel, options: Mapping[str, Any], *, where: str = "", within: tuple[str, ...] = ()) -> Model:
    """Make a model; it keeps what its record declares."""
    result, spec = _build_model(entry, options, where=where, within=within), entry.spec
    bounds = Bounds(scale=spec.scale, floor=spec.floor, ceiling=spec.ceiling).check(f"model '{entry.name}'")
    at_most = result.at_most if spec.at_most is None else spec.at_most
    declared = (spec.keeps or result.keeps, bounds or result.bounds, at_most)
    if (result.keeps, result.bounds, result.at_most) == declared:
        return result
    if not isinstance(result, ModelRecord):
        raise PluginContractError(
            f"model '{entry.name}': its record declares keeps, a scale or at_most, and the model has none: say the "
            "same in both"
        )
    return replace(result, keeps=declared[0], bounds=declared[1], at_most=declared[2])


def _build_model(entry: FoundModel, options: Mapping[str, Any], *, where: str, within: tuple[str, ...]) -> Model:
    spec, name = entry.spec, entry.name
    if options and not (entry.shape and isinstance(spec, TrendSpec)):
        at = f"{where}: " if where else ""
        raise UsageError(f"{at}model '{name}' is no series: no shape beside it takes options")
    if isinstance(spec, FunctionSpec):
        return functions.from_spec(name, spec)
    if spec.target is not None:
        make = import_target(spec.target, what=f"model '{name}'")
        model = checked_model(call_guarded(f"model '{name}'", lambda: make(name, spec)), f"model '{name}'")
        if dict(model.qualifiers) != dict(spec.qualifiers):
            of_record, of_model = (qualifiers.qualifiers_text(side.qualifiers) for side in (spec, model))
            raise PluginContractError(
                f"model '{name}': qualifiers: the record states {of_record}, the model {of_model}"
            )
        return model
    if isinstance(spec, TrendSpec):
        return (
            _make_pool(entry, spec, options, where)
            if entry.shape == POOLED_SHAPE
            else _make_trend(entry, spec, options, where)
        )
    if isinstance(spec, EstimateSpec):
        return estimates.from_spec(name, spec)
    if isinstance(spec, RelationSpec):
        return relations.from_spec(name, spec)
    if isinstance(spec, MixtureSpec):
        if name in within:
            raise PluginContractError(f"model '{name}': the mixture contains itself: {' → '.join((*within, name))}")
        members = {
            member: _build(find_model(member, where=f"model '{name}'"), {}, within=(*within, name))
            for member in spec.weights
        }
        return mixtures.from_spec(name, spec, members)
    raise PluginContractError(f"model '{name}': no kind of model is made from {type(spec).__name__}")


def _make_trend(entry: FoundModel, spec: TrendSpec, options: Mapping[str, Any], where: str) -> Model:
    """Make a series with a shape beside it."""
    at = f"{where}: model '{entry.name}'" if where else f"model '{entry.name}'"
    beside = entry.beside()
    if beside.refused:
        raise UsageError(f"{at}: the shape '{entry.shape}' makes no sense beside it: {beside.refused}")
    beside = replace(beside, options={**beside.options, **options})
    for option in beside.needs:
        if option not in beside.options:
            raise UsageError(
                f"{at}: the shape '{entry.shape}' needs the option '{option}' here"
                f"{f' ({beside.note})' if beside.note else ''}: options = {{ {option} = … }}"
            )
    if entry.shape not in _named_shapes(spec) or options:  # nobody has tried these: what they lack is said at once
        trends.check_options(entry.shape, beside.options, where=at)
    return trends.from_spec(entry.name, spec, beside)


def _make_pool(entry: FoundModel, spec: TrendSpec, options: Mapping[str, Any], where: str) -> Model:
    """Make the pool of shapes beside a series: each world draws one."""
    if options:
        at = f"{where}: " if where else ""
        raise UsageError(
            f"{at}model '{entry.name}': options are those of one shape, and this is a pool: name the shape"
        )
    trends_of_shapes = {member.name: _make_trend(member, spec, {}, where) for member, _ in entry.members()}
    weights = {member.name: weight for member, weight in entry.members()}
    return mixtures.mixture(
        entry.name,
        trends_of_shapes,
        weights=weights,
        unit=spec.unit,
        note=spec.note,
        sources=(spec.reference,),
        of="shapes",
    )
