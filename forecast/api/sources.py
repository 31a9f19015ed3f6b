"""Quantities that are not made of others: numbers, distributions, draws and paths of one's own, functions of Python."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from forecast.api import automatic_names as names
from forecast.api.options import DistributionKeys
from forecast.api.quantity import Quantity, as_quantity, finite, named_as, quantity
from forecast.base.arrays import Array
from forecast.contract.specs import Input
from forecast.errors import UnknownNameError, UsageError
from forecast.models.protocol import Description, Model, Unfitted
from forecast.scenarios.settings.setting_values import parse_measured

if TYPE_CHECKING:
    from forecast.base.streams import Streams


def uncertain(
    frozen: object = None, /, *, unit: str = "", name: str = "", **distribution: Unpack[DistributionKeys]
) -> Quantity:
    """Make an uncertain number, by any form of a distribution that a scenario takes, or by one of scipy's.

    Parameters
    ----------
    frozen : frozen distribution of scipy.stats, optional
        Or any object with a method ``ppf``. A normal, lognormal, uniform, loguniform or triangular one becomes that
        form of the language, and can be written to a file; any other is drawn through its ``ppf``.
    unit : str
        Of the numbers; by default that of the first text that has one.
    name : str
        Its draws depend on seed, name and world alone, so that it needs one before it is used: here, or by
        `Quantity.named`.
    **distribution
        ``p05=1e8, p95=4e8``; ``normal=[1.4, 2.4], width=0.8``; ``quantiles={0.05: 1, 0.5: 2}``; ``low=1, high=4``; ...
        A text may have a unit: ``p05="1 EFLOP/s"``.

    Raises
    ------
    ScenarioError
        For what makes no distribution.
    UnitError
        Where a text has a unit of another kind.

    Examples
    --------
    >>> uncertain(normal=[0, 1], width=0.8, name="g")
    Quantity g: normal=[0, 1], width=0.8, unit=''
    >>> uncertain(p05="1 EFLOP/s", p95="2 ZFLOP/s", name="machine")
    Quantity machine: p05=1.0, p95=2000.0, unit='EFLOP/s'
    """
    from forecast.base.distributions import distribution as read

    record: dict[str, Any] = {**(_scipy_record(frozen) if frozen is not None else {}), **distribution}
    if isinstance(record.get("quantiles"), Mapping):
        record["quantiles"] = {str(key): each for key, each in record["quantiles"].items()}
    where = name or "uncertain"
    unit = unit or next((each for value in record.values() for each in _units_of_texts(value)), "")
    record = {key: _convert_numbers(value, unit, f"{where}.{key}") for key, value in record.items()}
    read(record, where=where)
    return quantity(name, **record, unit=unit)


def _units_of_texts(value: Any) -> Iterator[str]:
    """Yield the units of the texts among the numbers of a distribution."""
    if isinstance(value, str) and (found := parse_measured(value)) is not None:
        yield found[1]
    elif isinstance(value, (Mapping, list, tuple)):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _units_of_texts(each)


def _convert_numbers(value: Any, unit: str, where: str) -> Any:
    """Return numbers of a distribution in a unit; those without one are in it."""
    from forecast import units

    if isinstance(value, str) and (found := parse_measured(value)) is not None:
        return float(units.convert(found[0], found[1], unit, where=where))
    if isinstance(value, Mapping):
        return {key: _convert_numbers(each, unit, where) for key, each in value.items()}
    return [_convert_numbers(each, unit, where) for each in value] if isinstance(value, (list, tuple)) else value


def _scipy_record(frozen: Any) -> dict[str, Any]:
    """Return the record of a frozen distribution: a form of the language where it is one, else the object."""
    family = getattr(getattr(frozen, "dist", None), "name", "")
    family = {"norm": "normal", "lognorm": "lognormal", "reciprocal": "loguniform"}.get(family, family)
    if not callable(getattr(frozen, "ppf", None)):
        expected = "a frozen distribution of scipy.stats, such as norm(0, 1)"
        raise UsageError(f"uncertain: expected {expected}, or a form such as p05=1, p95=2; got {type(frozen).__name__}")
    low, high = map(float, frozen.ppf([0.0, 1.0]))
    if family == "normal" or (family == "lognormal" and low == 0):
        return {family: [float(end) for end in frozen.ppf([0.05, 0.95])]}
    if family in ("uniform", "loguniform"):
        return {family: [low, high]}
    if family == "triang":
        # the mean of a triangular distribution is that of its three points
        return {"triangular": [low, 3 * float(frozen.mean()) - low - high, high]}
    return {"ppf": frozen}


def value(number: float | str, unit: str = "", *, name: str = "") -> Quantity:
    """Make a number with a unit, which a text has behind it.

    Examples
    --------
    >>> value(20, "token/param").name, value("20 token/param").name
    ('value_20_token_param', 'value_20_token_param')
    """
    if isinstance(number, str) and not unit and (found := parse_measured(number)) is not None:
        number, unit = found
    finite_number = finite(number, "value")
    return quantity(name or names.value_name(finite_number, unit), value=finite_number, unit=unit)


@overload
def draws(
    values: Mapping[str, ArrayLike], /, *, unit: str | Mapping[str, str] = "", name: str
) -> dict[str, Quantity]: ...
@overload
def draws(values: ArrayLike, /, *, unit: str = "", name: str) -> Quantity: ...
def draws(values: Any, /, *, unit: str | Mapping[str, str] = "", name: str) -> Quantity | dict[str, Quantity]:
    """Make a quantity of draws of your own, or several of the columns of one posterior.

    Parameters
    ----------
    values : array, or mapping of str to array
        One draw a row; of a mapping (a dict, a data frame, a Dataset of one dimension) each column is a quantity.
        A world takes one row, the same one in all of them, so that they stay joint.
    unit : str, or mapping of str to str
        Of the numbers; of several columns a unit each.
    name : str
        Chooses the rows, with the seed. An array's quantity is called so, those of columns as their columns are.

    Returns
    -------
    Quantity, or dict of str to Quantity

    Examples
    --------
    >>> growth = draws([1.2, 1.4, 1.5], name="growth", unit="1/year")
    >>> joint = draws({"alpha": [0.3, 0.4], "beta": [0.3, 0.2]}, name="posterior")
    >>> growth.name, list(joint)
    ('growth', ['alpha', 'beta'])
    """
    from forecast.scenarios.kinds.own_draws import DrawTable

    if hasattr(values, "keys") and not isinstance(values, Mapping):
        values = {key: values[key] for key in values.keys()}  # noqa: SIM118  # a data frame, a Dataset
    several = isinstance(values, Mapping)
    columns = {str(key): np.asarray(each, dtype=float) for key, each in (values if several else {name: values}).items()}
    rows = DrawTable(name=name, columns=columns)
    units = unit if isinstance(unit, Mapping) else dict.fromkeys(columns, unit)
    quantities = {key: quantity(key, draws=rows, column=key, unit=units.get(key, "")) for key in columns}
    return quantities if several else quantities[name]


def path(times: ArrayLike, values: ArrayLike, /, *, unit: str = "", name: str, between: str = "linear") -> Quantity:
    """Make a quantity of values over time.

    Parameters
    ----------
    times : array
        Decimal years or dates, increasing. Before the first the first value holds, after the last the last.
    values : array
        At these times, (time,): a schedule. Or (time, draw): each world follows one column.
    unit : str
    name : str
    between : {"linear", "log", "step"}
        How it goes from one time to the next.

    Examples
    --------
    >>> path([2025, 2030], [1e14, 1.2e14], unit="USD", name="gdp").record["as"]
    'level'
    """
    from forecast.base.dates import decimal_year

    when, levels = np.asarray(times), np.asarray(values, dtype=float)
    years = np.asarray(when if when.dtype.kind in "iuf" else decimal_year(when.astype("datetime64[s]")), dtype=float)
    if years.ndim != 1 or levels.ndim not in (1, 2) or len(levels) != len(years):
        raise UsageError(
            f"path '{name}': expected times (time,) and values (time,) or (time, draw), got {years.shape} and "
            f"{levels.shape}"
        )
    if levels.ndim == 2:
        return quantity(name, model=paths_model(years, levels, unit=unit, name=name, between=between))
    points = [[float(year), float(level)] for year, level in zip(years, levels, strict=True)]
    return quantity(name, schedule=points, as_="level", between=between, unit=unit)


def function(*, unit: str, along: str = "", **inputs: str) -> Callable[[Callable[..., Any]], Callable[..., Quantity]]:
    """Make a Python function one of quantities.

    Parameters
    ----------
    unit : str
        Of its result.
    along : {"", "time"}
        Nothing: each element of the result depends on the elements at its place. ``"time"``: of its own world's
        path up to its date, as a cumulative sum is. Anything else is refused at the first call.
    **inputs
        Argument to unit: in it the function is handed plain arrays, (time, draw), and returns one of that shape. An
        argument ``t``, which is no input, is handed the dates, as decimal years.

    Raises
    ------
    UsageError
        For ``along="draw"``: worlds are drawn and reduced in blocks, so that no function sees all of them.

    Examples
    --------
    >>> import forecast
    >>> @forecast.function(unit="FLOP/s", rate="FLOP/s", chips="")
    ... def cluster(rate, chips):
    ...     return 0.4 * rate * chips
    >>> cluster(rate=forecast.value(1e15, "FLOP/s", name="peak"), chips=1e4).name
    'cluster_of_peak_and_value_10000'

    What adds up over time says so, and weighs by the time from one step to the next:

    >>> import numpy as np
    >>> @forecast.function(unit="FLOP", along="time", rate="FLOP/year")
    ... def spent(rate, t):
    ...     return np.cumsum(rate * np.diff(t, axis=0, prepend=t[:1]), axis=0)
    """
    from forecast.models.functions import check_along

    check_along(along, "forecast.function")

    def of_quantities(call: Callable[..., Any]) -> Callable[..., Quantity]:
        label = getattr(call, "__name__", type(call).__name__)
        options = {"along": along} if along else {}

        def called(**operands: Any) -> Quantity:
            wired = {key: as_quantity(each) for key, each in operands.items()}
            record = {"function": plain, "unit": unit, "inputs": dict(inputs), **options, **wired}
            return named_as(label if label.isidentifier() else "function", Quantity(stated=record, automatic=True))

        functools.update_wrapper(called, call)
        called.__name__, plain = label, _Plain(called)
        return called

    return of_quantities


class _Plain:
    """The function of arrays behind one of quantities; it is pickled as the latter, which its module knows by name."""

    def __init__(self, of_quantities: Callable[..., Quantity]) -> None:
        self._of_quantities = of_quantities
        functools.update_wrapper(self, of_quantities.__wrapped__)  # type: ignore[attr-defined]

    def __call__(self, **arrays: Any) -> Any:
        return self._of_quantities.__wrapped__(**arrays)  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        return _Plain, (self._of_quantities,)


_INTERPOLATIONS = ("linear", "log", "step")


def paths_model(years: Array, values: Array, *, unit: str, name: str, between: str = "linear") -> Model:
    """Make a model of paths.

    Parameters
    ----------
    years : ndarray
        Decimal years, increasing, (time,). Before the first the first value holds, after the last the last.
    values : ndarray
        (time, path).
    unit, name : str
    between : {"linear", "log", "step"}

    Raises
    ------
    UsageError

    Examples
    --------
    >>> made = paths_model(np.array([2025.0, 2030.0]), np.array([[1.0, 2.0], [3.0, 4.0]]), unit="FLOP", name="mine")
    >>> made.describe().summary
    '2 given paths from 2025 to 2030'
    """
    if between not in _INTERPOLATIONS:
        raise UnknownNameError("word", between, _INTERPOLATIONS, where=f"path '{name}': between")
    if not (np.diff(years) > 0).all() or not np.isfinite(values).all() or not values.size:
        raise UsageError(f"path '{name}': expected times that increase, and finite numbers")
    if between == "log" and (values <= 0).any():
        raise UsageError(f"path '{name}': expected values above 0 where a logarithm is taken")
    row = Input(name="row", unit="", distribution={"uniform": [0, 1]}, source="which of the given paths holds")
    return _SamplePaths(name=name, unit=unit, inputs={"row": row}, years=years, values=values, between=between)


@dataclass(frozen=True, kw_only=True, eq=False)
class _SamplePaths(Unfitted):
    years: Array = field(repr=False)
    values: Array = field(repr=False)
    between: str

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        paths = self.values.shape[1]
        row = np.minimum((inputs["row"] * paths).astype(np.intp), paths - 1)
        before = np.clip(np.searchsorted(self.years, time, side="right") - 1, 0, len(self.years) - 1)
        after = np.minimum(before + 1, len(self.years) - 1)
        width = np.where(after > before, self.years[after] - self.years[before], 1.0)
        share = np.clip((time - self.years[before]) / width, 0.0, 1.0)[:, None]
        if self.between == "step":
            share = np.zeros_like(share)
        values = np.log(self.values) if self.between == "log" else self.values
        between = values[before][:, row] * (1 - share) + values[after][:, row] * share
        return np.asarray(np.exp(between) if self.between == "log" else between)

    def describe(self) -> Description:
        first, last = self.years[0], self.years[-1]
        return Description(summary=f"{self.values.shape[1]} given paths from {first:.10g} to {last:.10g}")
