"""Answers: what every world says to a question, with what can be asked of it further."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from forecast.api.build_scenario import ASKED, gathered, scenario_of
from forecast.api.quantity import Quantity, QuantityCondition, as_quantity, quantity
from forecast.api.quantity_formulas import condition as read_condition, quantities_in
from forecast.base.lazy import xr
from forecast.errors import UsageError
from forecast.projection.paths.run_cache import RunCache
from forecast.projection.weights import FEWEST
from forecast.report.plain_data import attribute

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from forecast.models import Model
    from forecast.scenarios.scenario import Scenario

__all__ = ["Answer"]

#: What a run takes beside its scenario, and what it may take instead of its scenario's.
_RUN = ("draws", "seed", "set", "as_of", "keep", "workers", "client", "progress")
_INSTEAD = ("until", "start", "step")
#: Bytes of draws that an answer shares with those made from it.
SHARED = 2**30


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """The answer to a question. Made by ``(x >= y).when(until=2045)``, by `forecast.ask` and by `Scenario.ask`.

    Parameters
    ----------
    question : mapping
        What was asked, as `forecast.ask` takes it; empty where a scenario asks it.
    run : xarray.DataTree
        The projection behind it, as `forecast.project` returns it.
    options : mapping
        What it was asked with.
    conditions : tuple of QuantityCondition
        What it is conditioned on.
    swapped : mapping of str to Quantity
        What stands in place of a quantity of this name.
    base : Scenario, optional
        The scenario that was asked.
    asked : str
        The name of the question.
    held : RunCache
        The fits and draws that it shares with the answers made from it, so that these draw only what is changed.

    Examples
    --------
    >>> import forecast
    >>> spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    >>> answer = (spend >= 2e8).when(start=2025, until=2030, draws=1000)
    >>> bool(answer.already + answer.never == 1)
    True
    """

    question: Mapping[str, Any]
    run: xr.DataTree
    options: Mapping[str, Any]
    conditions: tuple[QuantityCondition, ...] = ()
    swapped: Mapping[str, Quantity] = field(default_factory=dict)
    base: Scenario | None = None
    asked: str = ASKED
    held: RunCache = field(default_factory=partial(RunCache, SHARED), repr=False)

    @classmethod
    def made(cls, **asked: Any) -> Answer:
        """Return the answer to a question, with its projection."""
        return cls(run=xr.DataTree(), **asked)._answered()

    def _answered(self) -> Answer:
        return replace(self, run=_projected(self.scenario, {**self._run_options, "held": self.held}))

    @property
    def _run_options(self) -> dict[str, Any]:
        taken = _RUN if self.base is None else (*_RUN, *_INSTEAD)
        stated = {key: each for key, each in self.options.items() if key in taken}
        # what an answer says is computed from its worlds, so that all of them are kept
        return {"keep": stated["draws"], **stated} if "draws" in stated else stated

    # --- what was asked ---------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """What was asked for: ``"when"``, ``"value"`` (of growth too), ``"first"`` or ``"rank"``."""
        kinds = {"questions": "when", "values": "value", "first": "first", "rankings": "rank"}
        stated = ((key, attribute(self.run, key)) for key in kinds if key in self.run.attrs)
        return next(kinds[key] for key, names in stated if self.asked in names)

    @property
    def scenario(self) -> Scenario:
        """The scenario that was asked; ``answer.scenario.to_toml()`` is its text."""
        from forecast.scenarios.graph import build
        from forecast.scenarios.scenario import Scenario
        from forecast.scenarios.setting_targets import correlated_with

        if self.base is None:
            return Scenario.from_dict(self._mapping)
        if not self.conditions and not self.swapped:
            return self.base
        base = self.base
        made = base.restated(self._mapping)
        known = [name for name in self.swapped if name in base.quantities]
        return replace(made, alone=correlated_with(build(base), known)) if base.correlations and known else made

    @property
    def _mapping(self) -> dict[str, Any]:
        changed: dict[str, Any] = {"conditions": self.conditions, "swapped": self.swapped}
        if self.base is not None:
            return scenario_of(self.question, base=self.base.stated, **changed)
        stated = {key: each for key, each in self.options.items() if key not in _RUN}
        return scenario_of(self.question, **changed, **stated)

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The quantities that the answer is made of."""
        if self.base is None:
            return tuple(gathered(quantities_in(self.question), self.swapped))
        return tuple(name for name in self._behind() if name in self.base.quantities)

    def _behind(self) -> list[str]:
        """Walk the nodes behind the question of a scenario, the parts of formulas among them."""
        from forecast.scenarios.graph import build

        graph = build(self.scenario, self.options.get("set"))
        asked = graph.scenario
        parts: list[str] = []
        for name in asked.firsts[self.asked].first if self.asked in asked.firsts else (self.asked,):
            if name in asked.questions:
                parts += asked.questions[name].when.names
            elif name in asked.figures:
                parts += asked.figures[name].of.names
            else:
                ranking = asked.rankings[name]
                parts += [*ranking.rank.names, *(n for each in ranking.among for n in each.names)]
        seen: dict[str, None] = {}
        while parts:
            name = parts.pop()
            if name not in seen and name in graph.nodes:
                seen[name] = None
                parts += graph.nodes[name].sources
        return list(seen)

    @property
    def newest(self) -> dict[str, str]:
        """The date of the newest datum behind the run by table or file, ISO; what states no date is not listed."""
        from forecast.projection.source_tables import newest

        return newest(self.run)

    def _knobs(self) -> dict[str, None]:
        """Return what can be set: the quantities behind the answer, the formulas in them, and the inputs of models."""
        from forecast.scenarios.graph import build

        known = dict.fromkeys(self.depends_on)
        left = list(quantities_in(self.question))
        while left:
            each = left.pop()
            known |= dict.fromkeys([each.name] if each.stated else [])
            left += each.needs
        graph = build(self.scenario)
        models = {m.name for name in known if name in graph.nodes for m in graph.nodes[name].models.values()}
        inputs = [name for name in graph.inputs if name.rpartition(".")[0] in models]
        return known | dict.fromkeys([*inputs, *graph.scenario.choices])

    # --- what it says -----------------------------------------------------------------------------------------------

    @property
    def dates(self) -> xr.DataArray:
        """The date in every world as a decimal year, +inf where never, NaN where a model fails; (draw, choices)."""
        from forecast.base.dates import decimal_year

        self._only("dates", "when")
        asked = self.run["questions"].to_dataset()
        stamps, failed = asked[f"{self.asked}_date"], asked[f"{self.asked}_never"].isnull()
        years = stamps.copy(data=np.where(np.isnat(stamps.values), np.inf, decimal_year(stamps.values)))
        named = years.where(~failed).transpose("draw", ...).rename("date")
        named.attrs = {"long_name": attribute(self.run, "questions")[self.asked]["when"], "units": "year"}
        return named

    @property
    def values(self) -> xr.DataArray:
        """What it is in every world at the dates asked for, or its growth; (draw, date, choices)."""
        self._only("values", "value")
        return self.run["values"][self.asked].to_dataset()["value"].transpose("draw", "date", ...)

    @property
    def shares(self) -> xr.DataArray:
        """How likely each comes first, of conditions or of the values of a choice.

        Of conditions along ``event``, of which ``together`` and ``none`` are two; of a choice along it.
        """
        from forecast.report.value_text import first_answers

        self._only("shares", "first", "rank")
        if self.kind == "rank":
            return self.run["rankings"].to_dataset()[f"{self.asked}_first"].rename("share")
        parts = []
        for row in (row for row in first_answers(self.run) if row["name"] == self.asked):
            told = {**row["first"], "together": row["together"], "none": row["none"]}
            numbers = [float("nan") if share is None else share for share in told.values()]
            made = xr.DataArray(numbers, dims="event", coords={"event": list(told)}, name="share")
            parts.append(made.expand_dims({dim: [each] for dim, each in row["choices"].items()}).to_dataset())
        return xr.combine_by_coords(parts, join="exact")["share"] if len(parts) > 1 else parts[0]["share"].squeeze()

    def _only(self, what: str, *kinds: str) -> None:
        other = {"when": "dates", "value": "values", "first": "shares", "rank": "shares"}
        if self.kind not in kinds:
            raise UsageError(f"{what}: the question asks {self.kind}: its answer has {other[self.kind]}")

    @property
    def _each(self) -> xr.DataArray:
        """What every world says."""
        return self.values if self.kind == "value" else self.dates

    @property
    def weights(self) -> xr.DataArray:
        """What every world counts, in sum 1; (draw), and the choices on which that depends."""
        from forecast.projection.weights import weights_of

        worlds, stated = self._each.sizes["draw"], weights_of(self.run)
        return xr.DataArray([1 / worlds] * worlds, dims="draw") if stated is None else stated

    @property
    def never(self) -> Any:
        """The probability that it does not come by the horizon: a number, or an array along the choices."""
        self._only("never", "when")
        return _plain(self.run["questions"].to_dataset()[f"{self.asked}_never"])

    @property
    def already(self) -> Any:
        """The probability that it is so at the first step: a number, or an array along the choices."""
        self._only("already", "when")
        return _plain(self.run["questions"].to_dataset()[f"{self.asked}_already"])

    def probability(self, by: float) -> Any:
        """Return the probability that it is so by a date, a decimal year: a number, or an array along the choices."""
        dates, weights = self.dates, self.weights
        known = dates.notnull()
        return _plain(((dates <= by) * weights).where(known).sum("draw") / weights.where(known).sum("draw"))

    def quantiles(self, *levels: float) -> xr.DataArray:
        """Return quantiles: of dates as decimal years, +inf inside the never mass, or of values; (quantile, ...).

        Parameters
        ----------
        *levels : float
            By default 0.05, 0.25, 0.5, 0.75 and 0.95.
        """
        from forecast.projection.crossing import QUANTILES, weighted_quantiles

        shares = levels or tuple(QUANTILES.values())
        for share in shares:
            if not 0 < share <= 1:
                raise UsageError(f"quantiles: expected probabilities above 0 and up to 1, got {share:g}")
        worlds, weights = xr.broadcast(self._each, self.weights)
        worlds = worlds.transpose("draw", ...)
        worth = weights.transpose(*worlds.dims)
        found = weighted_quantiles(worlds.values, worth.values, shares)
        rest = {dim: worlds[dim] for dim in worlds.dims[1:]}
        return xr.DataArray(found, dims=("quantile", *worlds.dims[1:]), coords={"quantile": list(shares), **rest})

    def median(self) -> Any:
        """Return the date by which it is so in half of the worlds, +inf where that is never; or the middle value."""
        return _plain(self.quantiles(0.5).isel(quantile=0, drop=True))

    def to_pandas(self) -> pd.Series[float]:
        """Return what every world says as a series: dates as decimal years, +inf for never, values, or shares."""
        return (self.shares if self.kind in ("first", "rank") else self._each).to_series()

    def to_xarray(self) -> xr.Dataset:
        """Return the answer as a Dataset: what every world says, its weight, the quantiles and the probabilities.

        Its attributes are those of the run as Python has them: lists, mappings and numbers, not the text of files.
        """
        import json

        if self.kind in ("first", "rank"):
            parts: dict[str, Any] = {"share": self.shares}
        else:
            name = "date" if self.kind == "when" else "value"
            parts = {name: self._each, "weight": self.weights, "quantiles": self.quantiles()}
            parts |= {"never": self.never, "already": self.already} if self.kind == "when" else {}
        return xr.Dataset(parts, attrs={str(key): json.loads(text) for key, text in self.run.attrs.items()})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.float64]:
        """Return what every world says: dates as decimal years, +inf for never, values, or shares."""
        return np.asarray((self.shares if self.kind in ("first", "rank") else self._each).values, dtype=dtype)

    # --- what can be asked further ----------------------------------------------------------------------------------

    def given(self, condition: QuantityCondition | str) -> Answer:
        """Return the answer in those worlds in which a condition holds; every world stays what it is.

        Parameters
        ----------
        condition : QuantityCondition or str
            ``spend >= 2e8``; as a text it names quantities, ``"spend >= 2e8"``.

        Raises
        ------
        UsageError
            For a condition on what the answer does not depend on, or on what changes with time without a date.

        Warns
        -----
        UserWarning
            Where fewer than 200 worlds are left, with their number.
        """
        if isinstance(condition, str):
            condition = read_condition(condition, where="given")
        if not isinstance(condition, QuantityCondition):
            raise UsageError(f"given: expected a condition such as spend >= 2e8, got {type(condition).__name__}")
        known = set(self.depends_on)
        if not known & {*gathered(condition.sides), *(n for side in condition.sides for n in side.leaves)}:
            raise self._not_of(condition.text, "given")
        self._check_steady(condition)
        made = replace(self, conditions=(*self.conditions, condition))._answered()
        left = attribute(made.run, "effective_draws")
        if left < FEWEST:
            drawn = attribute(made.run, "draws")
            text = f"given '{condition.text}': {left:.0f} of {drawn:,} worlds are left, fewer than {FEWEST}: draw more"
            warnings.warn(text, stacklevel=2)
        return made

    def _check_steady(self, condition: QuantityCondition) -> None:
        """Refuse a condition on what changes with time: worlds are chosen by one number each."""
        sides = {f"side_{place}": side for place, side in enumerate(condition.sides)}
        asked = replace(self, conditions=())._mapping
        asked = {key: each for key, each in asked.items() if key not in ("questions", "update", "title")}
        named = {name: Quantity(stated={"expression": side}, name=name) for name, side in sides.items()}
        if any(side.stated for side in condition.sides):
            asked = scenario_of({"subject_to": list(named.values())}, base=asked, swapped=self.swapped)
        else:
            asked["quantities"] = {**asked["quantities"], **{name: each.record for name, each in named.items()}}
        asked.pop("questions", None)
        run = {key: each for key, each in self._run_options.items() if key in ("set", "seed", "as_of", *_INSTEAD)}
        made = asked if self.base is None else self.base.restated(asked)
        seen = _projected(made, {**run, "draws": 100, "held": self.held})["projection"].to_dataset()
        for name, side in sides.items():
            level = seen[name]
            if not bool((level == level.isel(time=0)).all()):
                way = f"name a date, such as {side.name}.at(2028)"
                raise UsageError(f"given '{condition.text}': '{side.name}' changes with time: {way}")

    def swap(self, old: Quantity | Model | str, new: Quantity | Model | float | str) -> Answer:
        """Return the answer with one quantity, or one model, in place of another; every other one draws what it drew.

        Parameters
        ----------
        old : Quantity, Model or str
            A quantity by its name, or itself.
        new : Quantity, Model, float or str
            A number is in the unit of the old one; a text is the name of a model.

        Raises
        ------
        UsageError
            For what the answer does not depend on.
        """
        name = old if isinstance(old, str) else as_quantity(old).its_name
        known = self._knobs()
        if name not in known or "." in name:
            raise self._not_of(name, "swap")
        if isinstance(new, (int, float)):
            from forecast.api.sources import value

            new = value(new, self._unit(name), name=name)
        elif isinstance(new, str):
            new = quantity(model=new)
        return replace(self, swapped={**self.swapped, name: as_quantity(new)})._answered()

    def what_if(self, of: Quantity | Model | str, **change: Any) -> Answer:
        """Return the answer with one quantity changed from a date on: ``growth="0.5*", since=2028``.

        Parameters
        ----------
        of : Quantity, Model or str
        **change
            The keys of ``[[changes]]``: `growth` or `value`, `since`, `until`.
        """
        name = of if isinstance(of, str) else as_quantity(of).its_name
        if name not in self.depends_on:
            raise self._not_of(name, "what if")
        told = {"of": name, **change}
        if self.base is not None:
            return replace(self, base=self.base.changed([told]))._answered()
        options = {**self.options, "changes": [*self.options.get("changes", ()), told]}
        return replace(self, options=options)._answered()

    def sweep(self, **values: Iterable[Any]) -> xr.Dataset:
        """Return the answer with quantities fixed to each of several numbers, in their units.

        Parameters
        ----------
        **values
            By the name of a quantity, of a model's input (``**{"brain/power.watts": [10, 20]}``), or of a choice.

        Returns
        -------
        xarray.Dataset
            ``quantiles``, and of dates ``never`` and ``already``, along each of the swept quantities; none of them is
            pooled.
        """
        known = self._knobs()
        for name in values:
            if name not in known:
                raise self._not_of(name, "sweep")
        if not values:
            raise UsageError(f"sweep: expected numbers for one of {', '.join(self.depends_on)}")
        points = []
        for chosen in itertools.product(*values.values()):
            at = dict(zip(values, chosen, strict=True))
            made = self.with_(**at)
            parts: dict[str, Any] = {"quantiles": made.quantiles()}
            if made.kind == "when":
                asked = made.run["questions"]
                parts |= {part: asked[f"{self.asked}_{part}"].drop_attrs() for part in ("never", "already")}
            swept = {name: [number] for name, number in at.items()}
            point = xr.Dataset(parts)
            # a choice is a dimension already, of the one value that it is narrowed to
            narrowed = [name for name in swept if name in point.dims]
            points.append(point.squeeze(narrowed, drop=True).expand_dims(swept))
        return xr.combine_by_coords(points, join="exact", combine_attrs="drop")  # type: ignore[return-value]

    def with_(self, **numbers: Any) -> Answer:
        """Return the answer with quantities, inputs or choices set, as ``set=`` of `forecast.project` takes them."""
        formulas = self._formulas()
        made = {name: as_quantity(number) for name, number in numbers.items() if name in formulas}
        kept = {name: number for name, number in numbers.items() if name not in formulas}
        options = {**self.options, "set": {**(self.options.get("set") or {}), **kept}}
        return replace(self, options=options, swapped={**self.swapped, **made})._answered()

    def _formulas(self) -> set[str]:
        """Return the names of formulas that stand in others, which a run cannot set."""
        return {name for name in self._knobs() if "." not in name} - {
            *self.depends_on,
            *self.scenario.choices,
            *self.scenario.quantities,
        }

    def needed(self, name: str | Quantity, *, dates: float | None = None, **options: Any) -> Any:
        """Return what one assumption would have to be; see `forecast.api.required_input.required`.

        Parameters
        ----------
        name : str or Quantity
            The assumption: a quantity behind the answer, or an input of a model.
        dates : float
            The decimal year by which it should be so.
        **options
            ``probability``, by default a half: how likely; ``within``, the numbers between which to look.

        Returns
        -------
        float or xarray.DataArray
            In the unit of the assumption; along the choices where there are any.
        """
        from forecast.api.required_input import required

        return required(self, name if isinstance(name, str) else as_quantity(name).its_name, by=dates, **options)

    def sensitivity(self, *, total: bool = False) -> pd.DataFrame:
        """Return what moves the answer; see `forecast.api.answer_sensitivity.sensitivity`."""
        from forecast.api.answer_sensitivity import sensitivity

        return sensitivity(self, total=total)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the answer into axes of matplotlib, by default new ones: how likely it is by each date, or the values.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from forecast.api.answer_plot import draw

        return draw(self, ax)

    def fan(self, ax: Axes | None = None) -> Axes:
        """Draw the trajectories behind a date or a value: observations, the median, bands, and what is to be reached.

        Rivals are pooled by their weights; of other choices it is the first values that give an answer.
        """
        from forecast.api.answer_plot import draw_fan

        self._only("fan", "when", "value")
        return draw_fan(self, ax)

    def tornado(self, ax: Axes | None = None) -> Axes:
        """Draw what moves a date: the answer where each uncertain number is low and high, and by each choice."""
        from forecast.api.answer_plot import draw_tornado

        self._only("tornado", "when")
        return draw_tornado(self, ax)

    @overload
    def report(self) -> str: ...
    @overload
    def report(self, path: str | os.PathLike[str]) -> Path: ...
    def report(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Write the answer on one page that people read, steer and send; without a path, return it as text.

        Parameters
        ----------
        path : path-like, optional
            Ends in ``.html``: one file that needs no connection, see `forecast.report.page`.

        Returns
        -------
        pathlib.Path or str
        """
        from forecast.api import answer_plot
        from forecast.report import page

        if path is None:
            return answer_plot.page(self)
        return page.write(self.run, path, toml=answer_plot.scenario_text(self), given=self._given)

    def record(self, to: str | Path, *, on: str, by: Iterable[str] = (), source: str = "") -> list[dict[str, Any]]:
        """Add the answer to a ledger of forecasts; see `forecast.evaluation.ledger_entries.record`.

        Parameters
        ----------
        to : str or path
            A file of JSON lines, made where there is none; ``forecast resolve`` reads it.
        on : str
            The date of the forecast, or ``"today"``.
        by : iterable of str
            Dates by which it is asked how likely it is, beside those of the question.
        source : str
            The table or page that decides it, where the question does not say it under `resolves`.

        Returns
        -------
        list of dict
            The new lines.
        """
        from forecast.evaluation.ledger_entries import record

        return record(self.run, to, on=on, questions=[self.asked], by=list(by), source=source)

    def _unit(self, name: str) -> str:
        projected = self.run["projection"].to_dataset()
        return str(projected[name].attrs["units"]) if name in projected else ""

    def _not_of(self, what: str, verb: str) -> UsageError:
        known = ", ".join(self.depends_on)
        return UsageError(f"{verb} '{what}': the answer does not depend on it; it depends on {known}")

    @property
    def sentence(self) -> str:
        """The answer in one plain sentence."""
        from forecast.report.headline import headline

        said = headline(self.run)
        if not self.conditions:
            return said
        return f"Given {self._given}: {said}"

    @property
    def _given(self) -> str:
        """What it is conditioned on, in words."""
        return " and ".join(each.text for each in self.conditions)

    def __repr__(self) -> str:
        """Answer in one plain sentence."""
        return self.sentence

    def _repr_html_(self) -> str:
        from forecast.report import notebook

        return notebook.answer(self.run, self.sentence, self.plot)


def _plain(data: xr.DataArray) -> Any:
    return data.item() if data.ndim == 0 else data


def _projected(scenario: Scenario | Mapping[str, Any], run: Mapping[str, Any]) -> xr.DataTree:
    from forecast.projection.engine import project

    return project(scenario, **run)
