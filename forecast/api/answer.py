"""Answers: when a condition first holds, in every world, with what can be asked of it further."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from forecast.api.quantity import Condition, Quantity, as_quantity, records, value
from forecast.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import xarray as xr
    from numpy.typing import NDArray

    from forecast.models import Model
    from forecast.scenarios.scenario import Scenario

__all__ = ["Answer", "ask", "scenario_of"]

#: The name of the question.
ASKED = "reached"
#: What a run takes beside its scenario.
_RUN = ("draws", "seed", "set", "as_of", "workers", "progress")
#: What is stated of a scenario as a whole, as in TOML.
_SCENARIO = ("title", "until", "start", "step", "choices", "correlations", "changes")


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """When a condition first holds. Made by ``(x >= y).when(until=2045)``.

    Parameters
    ----------
    condition : Condition
        What was asked.
    run : xarray.DataTree
        The projection behind it, as `forecast.project` returns it.
    options : mapping
        What it was asked with.
    conditions : tuple of Condition
        What it is conditioned on.
    swapped : mapping of str to Quantity
        What stands in place of a quantity of this name.

    Examples
    --------
    >>> import forecast
    >>> spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    >>> answer = (spend >= 2e8).when(start=2025, until=2030, draws=1000)
    >>> bool(answer.already + answer.never == 1)
    True
    """

    condition: Condition
    run: xr.DataTree
    options: Mapping[str, Any]
    conditions: tuple[Condition, ...] = ()
    swapped: Mapping[str, Quantity] = field(default_factory=dict)

    @property
    def dates(self) -> xr.DataArray:
        """The date in every world as a decimal year, +inf where never, NaN where a model fails; (draw, choices)."""
        import numpy as np

        from forecast.base.dates import decimal_year

        asked = self.run["questions"].to_dataset()
        stamps, failed = asked[f"{ASKED}_date"], asked[f"{ASKED}_never"].isnull()
        years = stamps.copy(data=np.where(np.isnat(stamps.values), np.inf, decimal_year(stamps.values)))
        named = years.where(~failed).transpose("draw", ...).rename("date")
        named.attrs = {"long_name": self.condition.text, "units": "year"}
        return named

    @property
    def weights(self) -> xr.DataArray:
        """What every world counts, in sum 1; (draw), and the choices on which that depends."""
        import xarray as xr

        from forecast.projection.weights import weights_of

        worlds, stated = self.run["questions"].sizes["draw"], weights_of(self.run)
        return xr.DataArray([1 / worlds] * worlds, dims="draw") if stated is None else stated

    @property
    def never(self) -> Any:
        """The probability that it does not come by the horizon: a number, or an array along the choices."""
        return self._plain(self.run["questions"].to_dataset()[f"{ASKED}_never"])

    @property
    def already(self) -> Any:
        """The probability that it is so at the first step: a number, or an array along the choices."""
        return self._plain(self.run["questions"].to_dataset()[f"{ASKED}_already"])

    def quantiles(self, *levels: float) -> xr.DataArray:
        """Return quantiles of the date as decimal years, +inf inside the never mass; (quantile, choices).

        Parameters
        ----------
        *levels : float
            By default 0.05, 0.25, 0.5, 0.75 and 0.95.
        """
        import xarray as xr

        from forecast.projection.crossing import QUANTILES, weighted_quantiles

        shares = levels or tuple(QUANTILES.values())
        for share in shares:
            if not 0 < share <= 1:
                raise UsageError(f"quantiles: expected probabilities above 0 and up to 1, got {share:g}")
        dates, weights = xr.broadcast(self.dates, self.weights)
        dates = dates.transpose("draw", ...)
        worth = weights.transpose(*dates.dims)
        found = weighted_quantiles(dates.values, worth.values, shares)
        rest = {dim: dates[dim] for dim in dates.dims[1:]}
        return xr.DataArray(found, dims=("quantile", *dates.dims[1:]), coords={"quantile": list(shares), **rest})

    def median(self) -> Any:
        """Return the date by which it is so in half of the worlds, +inf where it is not by the horizon."""
        return self._plain(self.quantiles(0.5).isel(quantile=0, drop=True))

    def to_pandas(self) -> pd.Series[float]:
        """Return the date in every world as a series: decimal years, +inf for never."""
        return self.dates.to_series()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.float64]:
        """Return the dates as decimal years, +inf for never."""
        import numpy as np

        return np.asarray(self.dates.values, dtype=dtype)

    @property
    def scenario(self) -> Scenario:
        """The scenario that was asked; ``answer.scenario.to_toml()`` is its text."""
        from forecast.scenarios.scenario import Scenario

        return Scenario.from_dict(self._mapping)

    @property
    def _mapping(self) -> dict[str, Any]:
        stated = {key: each for key, each in self.options.items() if key in _SCENARIO}
        return scenario_of(self.condition, conditions=self.conditions, swapped=self.swapped, **stated)

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The quantities that the answer was made of."""
        return tuple(_made(self.condition, self.swapped))

    def given(self, condition: Condition) -> Answer:
        """Return the answer in those worlds in which a condition holds; every world stays what it is.

        Raises
        ------
        UsageError
            For a condition on what the answer does not depend on, or on what changes with time without a date.
        """
        if not isinstance(condition, Condition):
            raise UsageError(f"given: expected a condition such as spend >= 2e8, got {type(condition).__name__}")
        mentioned = records(condition.sides)
        if not set(mentioned) & set(self.depends_on):
            raise self._not_of(condition.text, "given")
        self._check_steady(condition)
        return _answered(replace(self, conditions=(*self.conditions, condition)))

    def _check_steady(self, condition: Condition) -> None:
        """Refuse a condition on what changes with time: worlds are chosen by one number each."""
        both = {**replace(self, conditions=())._mapping, "quantities": _made(self.condition, self.swapped, condition)}
        run = {key: each for key, each in self.options.items() if key in ("set", "seed", "as_of")}
        seen = _projected(both, {**run, "draws": 100})["projection"].to_dataset()
        for side in condition.sides:
            level = seen[side.name]
            if not bool((level == level.isel(time=0)).all()):
                way = f"name a date, such as {side.name}.at(2028)"
                raise UsageError(f"given '{condition.text}': '{side.name}' changes with time: {way}")

    def swap(self, old: Quantity | Model | str, new: Quantity | Model | float) -> Answer:
        """Return the answer with one quantity, or one model, in place of another; every other one draws what it drew.

        Raises
        ------
        UsageError
            For what the answer does not depend on.
        """
        name = old if isinstance(old, str) else as_quantity(old).name
        if name not in self.depends_on:
            raise self._not_of(name, "swap")
        other = value(new, self._unit(name), name=name) if isinstance(new, (int, float)) else as_quantity(new)
        return _answered(replace(self, swapped={**self.swapped, name: other}))

    def sweep(self, **values: Iterable[float]) -> xr.Dataset:
        """Return the answer with quantities fixed to each of several numbers, in their units.

        Returns
        -------
        xarray.Dataset
            ``quantiles``, ``never`` and ``already``, along each of the swept quantities; none of them is pooled.
        """
        import xarray as xr

        for name in values:
            if name not in self.depends_on:
                raise self._not_of(name, "sweep")
        if not values:
            raise UsageError(f"sweep: expected numbers for one of {', '.join(self.depends_on)}")
        points = []
        for chosen in itertools.product(*values.values()):
            at = dict(zip(values, chosen, strict=True))
            options = {**self.options, "set": {**(self.options.get("set") or {}), **at}}
            made = _answered(replace(self, options=options))
            asked = made.run["questions"]
            parts = {"quantiles": made.quantiles()}
            parts |= {part: asked[f"{ASKED}_{part}"].drop_attrs() for part in ("never", "already")}
            points.append(xr.Dataset(parts).expand_dims({name: [number] for name, number in at.items()}))
        return xr.combine_by_coords(points, join="exact", combine_attrs="drop")  # type: ignore[return-value]

    def _unit(self, name: str) -> str:
        return str(self.run["projection"][name].attrs["units"])

    def _not_of(self, what: str, verb: str) -> UsageError:
        known = ", ".join(self.depends_on)
        return UsageError(f"{verb} '{what}': the answer does not depend on it; it depends on {known}")

    @staticmethod
    def _plain(data: xr.DataArray) -> Any:
        return data.item() if data.ndim == 0 else data

    def __repr__(self) -> str:
        """Answer in one plain sentence."""
        from forecast.report.summary import headline

        said = headline(self.run)
        if not self.conditions:
            return said
        return f"Given {' and '.join(each.text for each in self.conditions)}: {said}"


def ask(condition: Condition, **options: Any) -> Answer:
    """Answer when a condition first holds.

    Parameters
    ----------
    condition : Condition
    **options
        Of a scenario: `title`, `until`, `start`, `step`, `choices`, `correlations`, `changes`. Of a run: `draws`,
        `seed`, `set`, `as_of`, `workers`, `progress`; see `forecast.project`.

    Raises
    ------
    UnknownNameError, ScenarioError, UnitError, UsageError
        If what was asked cannot be.
    """
    known = (*_SCENARIO, *_RUN)
    for name in options:
        if name not in known:
            raise UnknownNameError("option", name, known, where="when")
    import xarray as xr

    return _answered(Answer(condition=condition, run=xr.DataTree(), options=options))


def scenario_of(
    condition: Condition,
    *,
    conditions: Iterable[Condition] = (),
    swapped: Mapping[str, Quantity] | None = None,
    **stated: Any,
) -> dict[str, Any]:
    """Return the scenario that a question makes, as a TOML file would hold it.

    Examples
    --------
    >>> import forecast
    >>> rate = forecast.value(2, "FLOP/s", name="rate")
    >>> scenario_of(rate >= 1, until=2030)["questions"]
    {'reached': {'when': 'rate >= 1'}}
    """
    asked: dict[str, Any] = {"when": condition.text}
    if "title" in stated:
        asked["title"] = stated["title"]
    conditions = tuple(conditions)
    made = _made(condition, swapped or {}, *conditions)
    scenario: dict[str, Any] = {**stated, "quantities": made, "questions": {ASKED: asked}}
    if conditions:
        # a condition is a likelihood of 1 or 0: the worlds stay, and count or do not
        weighed = " + ".join(f"log(where({each.text}, 1, 0))" for each in conditions)
        scenario["update"] = {conditions[0].left.name: {"log_likelihood": weighed}}
    return scenario


def _made(
    condition: Condition, swapped: Mapping[str, Quantity], *conditions: Condition
) -> dict[str, Mapping[str, Any]]:
    return records([side for each in (condition, *conditions) for side in each.sides], swapped)


def _answered(asked: Answer) -> Answer:
    """Return the answer with its projection."""
    run = {key: each for key, each in asked.options.items() if key in _RUN}
    return replace(asked, run=_projected(asked._mapping, run))


def _projected(scenario: Mapping[str, Any], run: Mapping[str, Any]) -> xr.DataTree:
    from forecast.projection.engine import project

    return project(scenario, **run)
