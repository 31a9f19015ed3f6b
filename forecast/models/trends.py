"""Shape + column = trend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forecast.errors import PluginContractError, printable
from forecast.models.protocol import Description, FittedModel, FittedShape, Model, Need, Observations, Shape
from forecast.registry import get_registry, resolve
from forecast.specs import TrendSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.streams import Streams

    Array = NDArray[np.float64]

__all__ = ["from_spec", "shape", "trend"]


def from_spec(name: str, spec: TrendSpec) -> Model:
    """Build the model a `TrendSpec` describes."""
    return _Trend(
        name=name,
        unit=spec.unit,
        shape=spec.shape,
        data=spec.table,
        x=spec.x,
        y=spec.y,
        frontier=spec.frontier,
        where=spec.where,
        sources=(spec.reference,),
        note=spec.note,
    )


@dataclass(frozen=True, kw_only=True)
class _FittedTrend(FittedModel):
    shape: FittedShape
    points: Observations
    sources: tuple[str, ...]
    note: str

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        return self.shape.sample(time, streams, observed=observed)

    def central(self, time: Array) -> Array:
        """Return the level at the fitted parameters, (time,)."""
        return self.shape.central(time)

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        return self.shape.posterior(streams)

    def observed(self) -> Observations:
        return self.points

    def describe(self) -> Description:
        said = self.shape.describe()
        return Description(
            summary=said.summary + (f"; {self.note}" if self.note else ""),
            assumptions=said.assumptions,
            sources=(*said.sources, *self.sources),
            facts=said.facts,
        )


@dataclass(frozen=True, kw_only=True)
class _Trend(Model):
    name: str
    unit: str
    shape: str
    data: Any
    x: str
    y: str
    frontier: bool = False
    where: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    note: str = ""
    inputs: Mapping[str, Need] = field(default_factory=dict)

    def fit(self, *, before: float | None = None, seed: int = 0) -> FittedModel:
        from forecast import series, units

        time, value, unit = series.read(self.data, x=self.x, y=self.y, where=self.where, before=before, name=self.name)
        if unit is not None:
            value = units.convert(value, unit, self.unit, where=f"{self.name}: column '{printable(self.y, 60)}'")
        fitted = shape(self.shape).fit(time, value, frontier=self.frontier, seed=seed)
        if not isinstance(fitted, FittedShape):
            raise PluginContractError(f"shape '{self.shape}': fit returned {type(fitted).__name__}, not a FittedShape")
        points = Observations(time=time, value=value, unit=self.unit)
        return _FittedTrend(shape=fitted, points=points, sources=self.sources, note=self.note)


def shape(name: str | Shape) -> Shape:
    """Return a shape by name: ``trends/exponential``.

    Raises
    ------
    UnknownNameError, PluginError
    """
    if isinstance(name, Shape):
        return name
    record = get_registry().find("shape", name)
    made = resolve(record.spec.target, what=f"shape '{record.full_name}'")()  # type: ignore[attr-defined]
    if not isinstance(made, Shape):
        raise PluginContractError(
            f"shape '{record.full_name}': expected a forecast.models.Shape, got {type(made).__name__}"
        )
    return made


def trend(
    data: Any,
    *,
    shape: str,
    x: str,
    y: str,
    unit: str,
    frontier: bool = False,
    where: Mapping[str, str] | None = None,
    name: str = "trend",
) -> Model:
    """Make a trend from a shape and a column.

    Parameters
    ----------
    data : str, path, Dataset, DataFrame or dict of arrays
        The name of a table, a CSV file, or anything `forecast.tables.columns` reads.
    shape : str
        A shape by name: ``"trends/exponential"``.
    x, y : str
        The columns for time (dates, or decimal years) and value.
    unit : str
        Of the quantity; a column with another unit of the same dimension is converted.
    frontier : bool
        The column is a running maximum.
    where : mapping of str to str
        Keep the rows whose column has this value.
    name : str
        Names its random streams.

    Returns
    -------
    Model

    Examples
    --------
    >>> import forecast
    >>> machine = forecast.trend({"year": [2000, 2005, 2010, 2015], "speed": [1.0, 9.0, 110.0, 900.0]},
    ...                          shape="trends/exponential", x="year", y="speed", unit="TFLOP/s")
    >>> round(machine.fit().describe().facts["doubling_years"], 1)
    1.5
    """
    return _Trend(name=name, unit=unit, shape=shape, data=data, x=x, y=y, frontier=frontier, where=where or {})
