"""Shape + column = trend."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import units
from forecast.base.arrays import Array
from forecast.base.distributions import distribution, scale_record
from forecast.contract.fields import KEEPS
from forecast.contract.plugin_calls import call_guarded
from forecast.contract.registry import Record, get_registry, import_target
from forecast.contract.specs import Input, SeriesShape, TrendSpec
from forecast.errors import (
    ForecastWarning,
    PluginContractError,
    RaisedPathsWarning,
    UnknownNameError,
    UsageError,
    printable,
)
from forecast.models.protocol import Description, FittedModel, FittedShape, Model, ModelRecord, Observations, Shape
from forecast.models.relations import left_out
from forecast.models.scales import LEVEL, Bounds, Scale, find_scale
from forecast.models.shapes import OnScale, Raised, Rows, frontier, record_sign, row_gap
from forecast.units import qualifiers as bases

if TYPE_CHECKING:
    from forecast.base.streams import Streams
    from forecast.tables.series import Series


def from_spec(name: str, spec: TrendSpec, beside: SeriesShape | Shape | None = None) -> Model:
    """Build a series with a shape beside it, registered or not; with its own by default."""
    unregistered = SeriesShape(name=type(beside).__name__.lower()) if isinstance(beside, Shape) else None
    series_shape = unregistered or beside or SeriesShape(name=spec.shape, options=spec.options)
    assert isinstance(series_shape, SeriesShape)
    return _build_trend(
        name=name,
        unit=spec.unit,
        shape=beside if unregistered else series_shape.name,
        data=spec.table,
        x=spec.x,
        y=spec.y,
        frontier=spec.frontier,
        records=spec.records,
        yearly=spec.yearly if series_shape.yearly is None else series_shape.yearly,
        since=spec.since,
        where=spec.where,
        options=series_shape.options,
        sources=tuple(filter(None, (spec.reference, series_shape.reference))),
        note="; ".join(filter(None, (spec.note, series_shape.note))),
        keeps=spec.keeps,
        bounds=Bounds(scale=spec.scale, floor=spec.floor, ceiling=spec.ceiling),
        at_most=spec.at_most,
        qualifiers=bases.of_record(spec.where, spec.qualifiers, where=f"model '{name}'"),
    )


@dataclass(frozen=True, kw_only=True)
class _FittedTrend(FittedModel):
    shape: FittedShape
    points: Observations
    sources: tuple[str, ...]
    note: str
    inputs: Mapping[str, Input]
    fixed: Mapping[str, Array] = field(default_factory=dict)
    read: str = ""
    scale: Scale = LEVEL

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        return self.shape.settable

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        fitted = self.shape.given(inputs) if inputs else self.shape
        return self._conditioned(fitted).sample(time, streams, observed=observed)

    def _conditioned(self, fitted: FittedShape) -> FittedShape:
        return fitted.with_parameters(self.fixed) if self.fixed else fitted

    def with_parameters(self, parameters: Mapping[str, Array]) -> FittedModel:
        return replace(self, fixed=parameters)

    def warnings(self, inputs: Mapping[str, Array]) -> tuple[ForecastWarning, ...]:
        below = self.shape.shape if isinstance(self.shape, OnScale) else self.shape
        return (RaisedPathsWarning(),) if isinstance(below, Raised) else ()

    def with_draws(self, inputs: Mapping[str, Array]) -> FittedModel:
        return replace(self, shape=self.shape.given(inputs)) if inputs else self

    def central(self, time: Array) -> Array:
        """Return the level at the fitted parameters, (time,)."""
        return self.shape.central(time)

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        return self._conditioned(self.shape).posterior(streams)

    def observed(self) -> Observations:
        return self.points

    def with_inputs(self, inputs: Mapping[str, Input]) -> FittedModel:
        return replace(self, inputs={**self.inputs, **inputs})

    def describe(self) -> Description:
        inputs = [(i, distribution(i.distribution, where=i.name)) for i in self.inputs.values()]
        middle = {i.name: np.array([dist.median()]) for i, dist in inputs}
        description = (self.shape.given(middle) if middle else self.shape).describe()
        wide = [(i, *dist.ppf(np.array([0.05, 0.95]))) for i, dist in inputs if dist.family != "fixed"]
        ranges = [f"{i.name} from {low:.4g} to {high:.4g} {i.unit} (90 %; {i.source})" for i, low, high in wide]
        return Description(
            summary="; ".join(filter(None, [description.summary, *ranges, self.note])),
            assumptions=(*description.assumptions, *(each.as_line() for each, _ in inputs)),
            sources=tuple(dict.fromkeys((*description.sources, *self.sources, *(i.source for i, _ in inputs)))),
            facts=description.facts,
            read=self.read,
        )


@dataclass(frozen=True, kw_only=True)
class _Trend(ModelRecord):
    shape: str | Shape
    data: Any
    x: str
    y: str
    frontier: bool = False
    records: bool = False
    yearly: bool = False
    since: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Input] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    of_rows: bool = False

    def keeping(self, keeps: str) -> Model:
        return replace(self, keeps=keeps)

    def on_scale(self, bounds: Bounds) -> Model:
        return replace(self, bounds=bounds)

    def _read(self, shape: Shape, as_of: float | None, *, yearly: bool) -> tuple[Series, Array]:
        """Return the series, and its values in the model's unit."""
        from forecast.tables import series

        read = series.read_columns(
            self.data, x=self.x, y=self.y, covariates=shape.columns, where=self.where, as_of=as_of, name=self.name,
            qualifiers=self.qualifiers, since=self.since, records=self.records, yearly=yearly,
            reading=self.reading,
        )  # fmt: skip
        value = read.value
        if read.unit is not None:
            value = units.convert(value, read.unit, self.unit, where=f"{self.name}: column '{printable(self.y, 60)}'")
        return read, value

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        series_shape = shape(self.shape, self.options).beside(self.name)
        read, value = self._read(series_shape, as_of, yearly=self.yearly)
        covariates: dict[str, Any] = {"columns": read.covariates} if read.covariates else {}
        scale, level = self._scale_and_values(series_shape, read, value)
        sign = record_sign(read.time, level) if self.of_rows and not self.keeps else 0
        if sign:
            scale = replace(scale, record=sign)
            level = level if sign > 0 else 1 / level  # exp(-z): a running maximum too
        of_records = self.frontier or self.records or sign != 0
        fitted = series_shape.fit(read.time, level, frontier=of_records, seed=seed, **covariates)
        if not isinstance(fitted, FittedShape):
            raise PluginContractError(f"shape '{self.shape}': fit returned {type(fitted).__name__}, not a FittedShape")
        if sign or self.keeps == "frontier":
            stood = read.time, level
            if self.yearly and not sign:  # that the record of a year still stands at its end is known too
                whole, whole_value = self._read(series_shape, as_of, yearly=False)
                stood = whole.time, scale.to_level(whole_value)
            fitted = frontier(fitted, *stood, of_records=of_records, inferred=sign != 0)
        elif self.of_rows and not self.keeps:
            last = level[read.time == read.time[-1]]
            mean = float(np.exp(np.log(last).mean())) if last.size > 1 else float(last[0])
            fitted = Rows(shape=fitted, last=float(read.time[-1]), value=mean, gap=row_gap(read.time))
        fitted = fitted if scale.is_plain else OnScale(shape=fitted, scale=scale)
        points = Observations(time=read.time, value=value, unit=self.unit, names=read.names)
        note = "; ".join(filter(None, [left_out(read.undated, "date"), left_out(read.empty), self.note]))
        said = scale.line if scale.doubt or not scale.is_plain else ""
        if sign:
            way = "higher" if sign > 0 else "lower"
            said = "; ".join(filter(None, (said, f"a record, {way} is better: it has never gone back")))
        line = " ".join(filter(None, (read.read, said and f"{printable(self.y, 60)}: {said}.")))
        return _FittedTrend(
            shape=fitted, points=points, sources=self.sources, note=note, inputs=self.inputs, read=line, scale=scale
        )

    def _scale_and_values(self, shape: Shape, read: Series, value: Array) -> tuple[Scale, Array]:
        """Return the scale of the series, and the positive values on it that a shape in logs takes."""
        where = f"{self.name}: column '{printable(self.y, 60)}'"
        if shape.needs_level:
            if self.bounds:
                shown = printable(self.shape, 60)
                raise UsageError(f"{where}: the shape '{shown}' is of a level, in the column's unit: it takes no scale")
            return LEVEL, value
        source = self.unit if read.unit is None else read.unit
        limits = (None if end is None else units.convert(end, source, self.unit, where=where) for end in read.limits)
        scale = find_scale(value, name=self.y, unit=self.unit, declared=self.bounds, limits=tuple(limits), where=where)
        if scale.is_plain and not self.bounds:  # the shape says which value has no logarithm
            return scale, value
        value, scale = scale.inside(value, where)
        return scale, scale.to_level(value)


def shape(name: str | Shape, options: Mapping[str, Any] | None = None) -> Shape:
    """Return a shape by name: ``trends/exponential``.

    Parameters
    ----------
    name : str or Shape
    options : mapping, optional
        Of the shape.

    Raises
    ------
    UnknownNameError, UsageError, PluginError
    """
    if isinstance(name, Shape):
        return _check_shape(name, f"shape {type(name).__name__}")
    record = get_registry().find("shape", name)
    target = _shape_class(record)
    _check_options(target, options or {}, f"shape '{record.full_name}'")
    result = call_guarded(f"shape '{record.full_name}'", lambda: target(**dict(options or {})))
    if not isinstance(result, Shape):
        raise PluginContractError(
            f"shape '{record.full_name}': expected a forecast.models.Shape, got {type(result).__name__}"
        )
    return _check_shape(result, f"shape '{record.full_name}'")


def _shape_class(record: Record) -> Any:
    """Return the class behind a registered shape."""
    return import_target(record.spec.target, what=f"shape '{record.full_name}'")


def check_options(name: str, options: Mapping[str, Any], *, where: str) -> None:
    """Raise if a shape lacks one of the options, or an option that it needs is missing.

    Raises
    ------
    UnknownNameError, UsageError, PluginError
    """
    record = get_registry().find("shape", name, where=where)
    _check_options(_shape_class(record), options, f"{where}: shape '{record.full_name}'")


@functools.cache
def _parameters_of(target: Any) -> dict[str, inspect.Parameter]:
    return {name: each for name, each in inspect.signature(target).parameters.items() if name != "self"}


def _check_options(target: Any, options: Mapping[str, Any], where: str) -> None:
    try:
        valid_names = _parameters_of(target)
    except ValueError:  # a class of the interpreter's own: it is found out when it is made
        return
    for option in options:
        if option not in valid_names:
            raise UnknownNameError("option", option, valid_names, where=where)
    for option, parameter in valid_names.items():
        named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if named and parameter.default is parameter.empty and option not in options:
            raise UsageError(f"{where}: needs the option '{option}': options = {{ {option} = … }}")


def _check_shape(shape: Shape, where: str) -> Shape:
    """Return a shape whose further columns are names to columns, and whose fit takes them."""
    columns: object = shape.columns
    if not isinstance(columns, Mapping) or not all(isinstance(text, str) for pair in columns.items() for text in pair):
        raise PluginContractError(
            f"{where}: columns: expected a mapping of name to column, got {printable(columns, 60)}"
        )
    takes = inspect.signature(shape.fit).parameters
    if columns and "columns" not in takes and not any(p.kind is p.VAR_KEYWORD for p in takes.values()):
        raise PluginContractError(f"{where}: names columns, but its fit takes no argument 'columns'")
    return shape


def _build_trend(**record: Any) -> _Trend:
    """Make a trend; options that are distributions become its inputs, and the shape is made with their medians."""
    name, unit, options = record["name"], record["unit"], dict(record["options"])
    inputs: dict[str, Input] = {}
    for option, value in options.items():
        if not isinstance(value, Mapping) or option not in (uncertain_units := _uncertain_options(record["shape"])):
            continue
        where = f"{name}: options.{printable(option, 40)}"
        own = unit if uncertain_units[option] is None else str(uncertain_units[option])
        records_by_option = {k: v for k, v in value.items() if k not in ("unit", "source")}
        option_unit = str(value.get("unit", own))
        units.check(option_unit, own, where=where)
        source = str(value.get("source", "; ".join(record.get("sources", ())) or "given with the trend"))
        scaled = scale_record(records_by_option, units.factor(option_unit, own, where=where))
        number = Input(name=option, unit=own, distribution=scaled, source=source)
        inputs[option], options[option] = number, distribution(number.distribution, where=where).median()
    return _Trend(
        **{
            **record,
            "options": options,
            "inputs": inputs,
            "keeps": record["keeps"] or _declared_constraint(record["shape"]),
        }
    )


def _declared_constraint(name: str | Shape) -> str:
    """Return what every trend of a shape keeps, by its record."""
    if isinstance(name, Shape):
        return ""
    return str(get_registry().find("shape", name).spec.keeps)


def _uncertain_options(name: str | Shape) -> dict[str, str | None]:
    """Return the options of a shape that may be distributions, and their unit where it is not that of the series."""
    target: Any = name
    if not isinstance(name, Shape):
        target = _shape_class(get_registry().find("shape", name))
    options = getattr(target, "uncertain", ())
    return dict(options) if isinstance(options, Mapping) else dict.fromkeys(options)


def trend(
    data: Any,
    *,
    shape: str | Shape | Sequence[str],
    x: str,
    y: str,
    unit: str = "",
    frontier: bool = False,
    where: Mapping[str, str | bool] | None = None,
    options: Mapping[str, Any] | None = None,
    records: bool = False,
    yearly: bool = False,
    since: str = "",
    qualifiers: Mapping[str, str] | None = None,
    keeps: str = "",
    scale: str = "",
    floor: float | None = None,
    ceiling: float | None = None,
    name: str = "trend",
    reading: Mapping[str, Any] | None = None,
    of_rows: bool = False,
) -> Model:
    """Make a trend from a shape and a column.

    Parameters
    ----------
    data : str, path, Dataset, DataFrame or dict of arrays
        The name of a table, a file, or anything else that `forecast.read` reads.
    shape : str, Shape or sequence of str
        A shape by name: ``"trends/exponential"``. Of several each is right in an equal share of the worlds.
    x, y : str
        The columns for time (dates, or decimal years) and value.
    unit : str
        Of the quantity; a column with another unit of the same dimension is converted.
    frontier : bool
        The column is a running maximum.
    where : mapping of str to str or bool
        Keep the rows whose column has this value, such as ``{"precision": "fp16", "notable": True}``.
    options : mapping
        Of the shape: ``{"cap": 1e15}``.
    records : bool
        Keep the rows that set a record and the last date, and take them for a running maximum.
    yearly : bool
        Keep the largest value of each calendar year, with its date.
    since : str
        Leave out the rows before this date (YYYY-MM-DD).
    qualifiers : mapping of str to str
        Of the measurement in the rows, if `where` does not state them (see `forecast.units.qualifiers`).
    keeps : {"", "frontier", "positive"}
        What its draws keep: those of a frontier start at the last record and never fall.
    scale : {"", "level", "share", "percent", "linear", "signed", "count"}
        On which the series is straight: in logs, on the logit (of 0 to 1, of 0 to 100), as it is, or in arcsinh. By
        default its table, its unit or its name says it.
    floor, ceiling : float, optional
        The bound that it never reaches, in `unit`.
    name : str
        Names its random streams.
    reading : mapping, optional
        How a file is read: keywords of `forecast.read` (``{"dates": "dmy"}``), and ``reduce``, what becomes of several
        rows at one date: mean, median, min, max, last or best.
    of_rows : bool
        Draws are rows to come, each path from the last row on; a series that never goes back is read as a
        record, which starts at its last row and does not go back either. By default it is the level.

    Returns
    -------
    Model
        From `forecast.trend` the quantity that it is.

    Examples
    --------
    >>> import forecast
    >>> machine = forecast.trend({"year": [2000, 2005, 2010, 2015], "speed": [1.0, 9.0, 110.0, 900.0]},
    ...                          shape="trends/exponential", x="year", y="speed", unit="TFLOP/s")
    >>> round(machine.fit().describe().facts["doubling_years"], 1)
    1.5
    """
    if not isinstance(shape, (str, Shape)):
        from forecast.models.mixtures import mixture

        keywords = {key: each for key, each in locals().items() if key not in ("shape", "name", "mixture")}
        members = {each: trend(shape=each, name=f"{name}-{each.rpartition('/')[2]}", **keywords) for each in shape}
        return mixture(name, members, weights=dict.fromkeys(members, 1.0), unit=unit, note="", sources=(), of="shapes")
    if keeps not in ("", *KEEPS):
        raise UnknownNameError("word", keeps, KEEPS, where=f"{name}: keeps")
    conditions = {
        column: _option_text(value, f"{name}: where: {printable(column, 60)}")
        for column, value in (where or {}).items()
    }
    return _build_trend(
        name=name, unit=unit, shape=shape, data=data, x=x, y=y, frontier=frontier, where=conditions,
        options=options or {}, records=records, yearly=yearly, since=since,
        qualifiers=bases.of_record(conditions, qualifiers or {}, where=name), keeps=keeps,
        bounds=Bounds(scale=scale, floor=floor, ceiling=ceiling).check(f"{name}: scale"), of_rows=of_rows,
        reading=reading or {},
    )  # fmt: skip


def _option_text(value: object, where: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        raise UsageError(f"{where}: expected text, True or False, got {printable(value, 40)}")
    return value
