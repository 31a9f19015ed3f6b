"""Answers: the result of a question in every draw, with the questions that can follow it."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from forecast.api.issue_warnings import issue
from forecast.api.options import GRID_KEYS, RUN_KEYS
from forecast.api.quantity import (
    Quantity,
    QuantityCondition,
    as_quantity,
    condition as read_condition,
    quantities_in,
    quantity,
)
from forecast.api.scenario import DEFAULT_QUESTION, Scenario, collect_quantities, plain_value, run_scenario, scenario_of
from forecast.api.scenario_quantities import (
    at_home,
    line_of,
    name_within,
    quantity_of_text,
    shares_worlds,
    source_scenarios,
)
from forecast.base.dates import from_decimal_year, parse_year
from forecast.base.lazy import xr
from forecast.base.number_checks import is_real
from forecast.base.other_words import OtherWords
from forecast.base.quantiles import QUANTILES
from forecast.errors import ChangedDataWarning, EmptyDataError, ResultError, UsageError, first_names, nearest, printable
from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache
from forecast.projection.result import (
    AnswerDistribution,
    DateAnswer,
    FirstAnswer,
    ProjectedAnswer,
    Projection,
    RankingAnswer,
    ValueAnswer,
)
from forecast.scenarios.graph import ScenarioGraph, build
from forecast.scenarios.question_text import words_for_names
from forecast.scenarios.settings.replacements import model_record
from forecast.scenarios.settings.setting_targets import correlated_with, with_dependencies

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from forecast.models import Model


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer(OtherWords):
    """The answer to a question. Made by ``(x >= y).when(until=2045)``, by `forecast.ask` and by `Scenario.ask`.

    Its numbers are those of its sentence: of the first definitions, pooled over rivals by their weights. `by_choice`
    has every combination of choices.

    Parameters
    ----------
    question : mapping
        The question, as `forecast.ask` takes it; empty for a question of a scenario.
    run : Projection
        The projection behind it.
    options : mapping
        Keywords of the scenario and of the run, as `forecast.ask` takes them.
    conditions : tuple of QuantityCondition
        The conditions under which it holds.
    replaced : mapping of str to Quantity
        The quantities that replace those of these names.
    base : Scenario, optional
        The scenario that has the question.
    name : str
        The name of the question.
    saved : Projection, optional
        The file's, where the answer was loaded.
    folder : path, optional
        Where that file stands: what its scenario names must lie there too.
    cache : RunCache
        The fits and draws that it shares with the answers made from it, so that only changes are drawn again.

    Examples
    --------
    >>> import forecast
    >>> spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    >>> answer = (spend >= 2e8).when(start=2025, until=2030, draws=1000)
    >>> answer.already + answer.never == 1, answer.with_(spend=3e8).already
    (True, 1.0)
    """

    question: Mapping[str, Any]
    run: Projection
    options: Mapping[str, Any]
    conditions: tuple[QuantityCondition, ...] = ()
    replaced: Mapping[str, Quantity] = field(default_factory=dict)
    base: Scenario | None = None
    name: str = DEFAULT_QUESTION
    saved: Projection | None = None
    folder: Path | None = None
    cache: RunCache = field(default_factory=partial(RunCache, SHARED_BYTES), repr=False)

    @classmethod
    def _to(cls, question: Mapping[str, Any], options: Mapping[str, Any], **fields: Any) -> Self:
        """Return the answer to a question, with its projection."""
        asked = cls(question=question, options=options, run=Projection({}, {}), **fields)
        return asked._check_given_values()._answered()

    @classmethod
    def _from_projection(cls, run: Projection, folder: Path) -> Answer:
        """Return the answer that a projection opens with; it is run again from the scenario that the file holds.

        The file may be a stranger's: its scenario reaches what lies in the file's folder, and nothing else.
        """
        assert run.opening is not None
        options = {key: getattr(run.settings, key) for key in ("draws", "seed", "as_of", *GRID_KEYS)}
        options |= {"with_": {**run.settings.set, **run.settings.swap}}
        return cls(question={}, run=run, options=options, name=run.opening.name, saved=run, folder=folder)

    def _answered(self) -> Self:
        # what is asked alone leaves no draws behind: they take as much memory as the answer
        is_alone = "projection" not in self.run and not self.cache.n_bytes
        cache = self.cache.without_draws() if is_alone else self.cache
        run = run_scenario(self._run_scenario, **self._run_options, cache=cache)
        before = () if self.saved is None else self.saved.given
        if self.saved is not None and (changed := [n for n, h in run.data.items() if self.saved.data.get(n) != h]):
            issue([ChangedDataWarning(names=tuple(changed))])
        run = run.conditioned([*before, *(each.text for each in self.conditions)])
        issue(run.warnings, before=self.run.warnings if "projection" in self.run else ())
        return replace(self, run=run)

    @property
    def _run_options(self) -> dict[str, Any]:
        taken = (*RUN_KEYS, *(() if self._base is None else GRID_KEYS))
        options = {key: each for key, each in self.options.items() if key in taken}
        # what an answer says is computed from its worlds, so that all of them are kept
        return {"keep": options["draws"], **options} if "draws" in options else options

    # --- the question -----------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """The kind of the question: ``"when"``, ``"value"`` (of growth too), ``"first"`` or ``"rank"``."""
        return self.result.kind

    @property
    def result(self) -> ProjectedAnswer:
        """The answer in the projection, with its numbers."""
        return self.run.answer(self.name)

    @cached_property
    def _own_scenario(self) -> Scenario | None:
        """The scenario that was asked, or the one in the file."""
        if self.base is not None or self.saved is None:
            return self.base
        if not self.saved.scenario_text:
            raise ResultError(
                "the file holds no scenario that can be run again: it was made of Python's objects, or of files named "
                "by where they stand on one machine"
            )
        return Scenario.from_text(self.saved.scenario_text, name=self.saved.scenario, folder=self.folder)

    @cached_property
    def _base(self) -> Scenario | None:
        """The same with this question alone, and with what is changed from a date on."""
        scenario = self._own_scenario if self.base is None else _single_question_scenario(self.base, self.name)
        return scenario and scenario.changed(self.options.get("changes", ()))

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario of the question, with its settings; ``answer.scenario.to_toml()`` is its text.

        Settings of inputs and of parameters of models are no part of a scenario: a run takes them, ``with_=``.
        """
        scenario = self._run_scenario
        own = {key: value for key, value in self._settings.items() if key in (*scenario.quantities, *scenario.choices)}
        return scenario.with_(**own) if own else scenario

    @cached_property
    def _run_scenario(self) -> Scenario:
        """The scenario that runs, without the settings of the run."""
        base = self._base
        if base is not None and not self.conditions and not self.replaced:
            return base
        told = {name: plain_value(each) for name, each in self.replaced.items()}
        if base is None:
            return replace(Scenario.from_dict(self._scenario_record), with_values={**self._source_values, **told})
        scenario = replace(base.restated(self._scenario_record), with_values={**base.with_values, **told})
        names = [name for name in self.replaced if name in base.quantities]
        return replace(scenario, alone=correlated_with(build(base), names)) if base.correlations and names else scenario

    @property
    def _source_values(self) -> dict[str, object]:
        """What the scenarios whose quantities the question names were given by their `with_`, by the names here."""
        values = dict[str, object]()
        for alias, own in source_scenarios(self.question).items():
            for name, each in own.with_values.items():
                stated = own.stated.get("quantities", {}).get(name, {})
                unit = stated.get("unit", "") if isinstance(stated, Mapping) else ""
                values[f"{alias}.{name}"] = f"{each:g} {unit}".strip() if is_real(each) else each
        return values

    def _check_given_values(self) -> Self:
        """Return the answer; raise if something that a scenario was given by its `with_` moves nothing asked."""
        given = self._source_values if self.base is None else self.base.with_values
        for name in given:
            if name not in (*self.depends_on, *self._run_scenario.choices):
                raise self._not_of(name, "with_")
        return self

    @property
    def _scenario_record(self) -> dict[str, Any]:
        changed: dict[str, Any] = {"conditions": self.conditions, "swapped": self.replaced}
        if (base := self._base) is not None:
            return scenario_of(self.question, base=base.stated, **changed)
        keys = {key: each for key, each in self.options.items() if key not in RUN_KEYS}
        return scenario_of(self.question, **changed, **keys)

    @cached_property
    def depends_on(self) -> tuple[str, ...]:
        """The names of the quantities behind the answer."""
        if self._base is None and not source_scenarios(self.question):
            return tuple(collect_quantities(quantities_in(self.question), self.replaced))
        quantities = self._run_scenario.quantities
        graph = build(self._run_scenario, self._settings)
        return tuple(name for name in with_dependencies(graph, self._parts(graph)) if name in quantities)

    def _parts(self, graph: ScenarioGraph) -> list[str]:
        """Return the names in the question, as a scenario has it."""
        scenario = graph.scenario
        parts: list[str] = []
        for name in scenario.firsts[self.name].first if self.name in scenario.firsts else (self.name,):
            if name in scenario.questions:
                parts += scenario.questions[name].when.names
            elif name in scenario.figures:
                parts += scenario.figures[name].of.names
            else:
                ranking = scenario.rankings[name]
                parts += [*ranking.rank.names, *(n for each in ranking.among for n in each.names)]
        return [name for name in parts if name in graph.nodes]

    @property
    def newest(self) -> dict[str, str]:
        """The date of the newest datum behind the run by table or file, ISO; what states no date is not listed."""
        return self.run.newest

    @cached_property
    def _settable_names(self) -> dict[str, None]:
        """Return the names that can be set: quantities behind the answer, formulas in them, and inputs of models."""
        names = dict.fromkeys(self.depends_on)
        left = list(quantities_in(self.question))
        while left:
            each = left.pop()
            names |= dict.fromkeys([each.name] if each.stated else [])
            left += each._needs
        graph = build(self._run_scenario)
        models = {m.name for name in names if name in graph.nodes for m in graph.nodes[name].models.values()}
        inputs = [name for name in graph.inputs if name.rpartition(".")[0] in models]
        return names | dict.fromkeys([*inputs, *graph.scenario.choices])

    # --- what it says -----------------------------------------------------------------------------------------------

    @property
    def distribution(self) -> AnswerDistribution:
        """The answer of the sentence: quantiles, *already* and *never*.

        Raises
        ------
        UsageError
            Where there is no one number: rivals have no weights, something is swept, or every combination failed.
        """
        if self.kind in ("first", "rank"):
            raise UsageError(f"the question asks {self.kind}: its answer has shares, and no median")
        found = self.result.headline
        if found is None:
            raise UsageError(f"there is no answer: {'; '.join(self.run.failures) or 'every combination failed'}")
        if found.medians is not None:
            free = [d for d in self.result.choices if d not in self.result.default and d not in self.result.rivals]
            first = self.result.values(free[0])[0]
            raise UsageError(
                f"there is no one number over {' and '.join(free)}: {self.sentence} Choose with .with_({free[0]}="
                f"{first!r}), give weights in the scenario, or read .by_choice"
            )
        return found

    @property
    def median(self) -> float:
        """The date by which it is so in half of the worlds, a decimal year, +inf where that is never; or the value."""
        return self.distribution.median

    @property
    def date(self) -> datetime | None:
        """The median date; None where that is never."""
        self._only("date", "when")
        if not math.isfinite(self.median):
            return None
        date: datetime = from_decimal_year([self.median])[0].astype("datetime64[s]").item()
        return date

    @property
    def never(self) -> float:
        """The probability that it does not come by the horizon."""
        self._only("never", "when")
        return self.distribution.never

    @property
    def already(self) -> float:
        """The probability that it is so at the first step."""
        self._only("already", "when")
        return self.distribution.already

    def quantile(self, q: float) -> float:
        """Return a quantile: of dates a decimal year, +inf inside the never mass; or of values.

        Parameters
        ----------
        q : float
            Above 0 and up to 1.
        """
        if not is_real(q) or not 0 < q <= 1:
            raise UsageError(f"quantile: expected one probability above 0 and up to 1, got {printable(q, 40)}")
        _ = self.distribution  # there is one
        return self.result.quantile(q)

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Return the ends of the interval that holds with a probability, equal tails on both sides."""
        if not is_real(level) or not 0 < level < 1:
            raise UsageError(f"interval: expected one probability between 0 and 1, got {printable(level, 40)}")
        _ = self.distribution
        return self.result.interval(level)

    def probability(self, by: float | str) -> float:
        """Return the probability that it is so by a date: 2030.5, ``"2030-07"``."""
        self._only("probability", "when")
        year = parse_year(by, "probability")
        _ = self.distribution
        assert isinstance(self.result, DateAnswer)
        return self.result.probability(year)

    @property
    def by_choice(self) -> xr.Dataset:
        """The answer in every combination of choices, none of them pooled.

        Returns
        -------
        xarray.Dataset
            Of dates ``quantiles`` (decimal years, +inf inside the never mass), ``never``, ``already`` and ``error``; of
            values ``quantiles`` along ``date``; of first events ``share`` along ``event``; of a ranking ``share``
            and ``quantiles`` along the choice that is ranked. What failed is NaN.
        """
        result = self.result
        if isinstance(result, (FirstAnswer, RankingAnswer)):
            return self.shares.to_dataset(name="share")
        at: Sequence[ProjectedAnswer] = result.at if isinstance(result, ValueAnswer) else [result]
        dims, levels = result.choices, list(QUANTILES)
        sizes = tuple(len(result.values(d)) for d in dims)
        coords: dict[str, Any] = {d: self._labels(d) for d in dims} | {"quantile": levels}
        rows = [[row.distribution for row in each.rows if row.weights is None] for each in at]
        nothing = (math.nan,) * len(levels)
        numbers = np.array([[nothing if d is None else d.quantiles for d in row] for row in rows])
        numbers = np.moveaxis(numbers.reshape(len(at), *sizes, len(levels)), -1, 1)
        if isinstance(result, ValueAnswer):
            coords["date"] = np.array(result.dates, dtype="datetime64[s]")
            data = xr.DataArray(numbers, dims=("date", "quantile", *dims), coords=coords, attrs={"units": result.unit})
            return data.transpose("quantile", "date", ...).to_dataset(name="quantiles")
        parts: dict[str, Any] = {"quantiles": (("quantile", *dims), numbers[0], {"units": "year"})}
        for part in ("never", "already", "error"):
            shares = [math.nan if d is None else getattr(d, part) for d in rows[0]]
            parts[part] = tuple(dims), np.reshape(shares, sizes)
        return xr.Dataset(parts, coords=coords)

    def _labels(self, dim: str) -> list[str] | list[float]:
        """Return the values along a choice, as numbers if it is swept over numbers."""
        values = self.result.values(dim)
        if dim not in self.run.swept:
            return values
        try:
            return [float(value) for value in values]
        except ValueError:
            return values

    @property
    def dates(self) -> xr.DataArray:
        """The date in every world as a decimal year, +inf where never, NaN where a model fails; (draw, choices)."""
        self._only("dates", "when")
        named = self.result.worlds.rename("date")
        named.attrs = {"long_name": self.result.text, "units": "year"}
        return named

    @property
    def values(self) -> xr.DataArray:
        """The value, or its growth, in every draw at the dates of the question; (draw, date, choices)."""
        self._only("values", "value")
        assert isinstance(self.result, ValueAnswer)
        return self.result.every

    @property
    def shares(self) -> xr.DataArray:
        """How likely each comes first, of conditions or of the values of a choice.

        Of conditions along ``event``, of which ``together`` and ``none`` are two; of a choice along it.
        """
        self._only("shares", "first", "rank")
        result = self.result
        if isinstance(result, RankingAnswer):
            return self.run.dataset("rankings")[f"{self.name}_first"].rename("share")
        assert isinstance(result, FirstAnswer)
        parts = []
        for row in result.table:
            shares = {**row.first, "together": row.together, "none": row.none}
            array = xr.DataArray(
                [low for low, _ in shares.values()], dims="event", coords={"event": list(shares)}, name="share"
            )
            parts.append(array.expand_dims({dim: [each] for dim, each in row.choices.items()}).to_dataset())
        return xr.combine_by_coords(parts, join="exact")["share"] if len(parts) > 1 else parts[0]["share"].squeeze()

    def _only(self, what: str, *kinds: str) -> None:
        other = {"when": "dates", "value": "values", "first": "shares", "rank": "shares"}
        if self.kind not in kinds:
            raise UsageError(f"{what}: the question asks {self.kind}: its answer has {other[self.kind]}")

    @property
    def _each(self) -> xr.DataArray:
        """The answer of every world."""
        return self.values if self.kind == "value" else self.dates

    @property
    def weights(self) -> xr.DataArray:
        """The weight of every world, in sum 1; (draw), and the choices on which it depends."""
        worlds, weights = self._each.sizes["draw"], self.run.weights
        return xr.DataArray([1 / worlds] * worlds, dims="draw") if weights is None else weights

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as ``--json`` prints it: plain data, in which a quantile inside the never mass is None.

        Returns
        -------
        dict
            ``command``, ``result`` (see `forecast.report.result_data.projection_data`), ``warnings`` and
            ``provenance``.
        """
        from forecast.report.result_data import projection_data

        provenance = {"versions": {}, "plugins": [], "command": "", **self.run.provenance}
        warned = [*self.run.failures, *map(str, self.run.warnings)]
        return {"command": "ask", "result": projection_data(self.run), "warnings": warned, "provenance": provenance}

    def to_json(self) -> str:
        """Return `to_dict` as the text of JSON."""
        from forecast.base.json_text import to_json

        return to_json(self.to_dict())

    def to_pandas(self) -> pd.Series[float]:
        """Return what every world says as a series: dates as decimal years, +inf for never, values, or shares."""
        return (self.shares if self.kind in ("first", "rank") else self._each).to_series()

    def to_polars(self) -> Any:
        """Return the same as a frame of polars, with a column for each dimension."""
        import narwhals as nw

        frame = self.to_pandas().reset_index()
        return nw.from_dict({str(name): frame[name].to_list() for name in frame}, backend="polars").to_native()

    def to_xarray(self) -> xr.Dataset:
        """Return the answer as a Dataset: what every world says, its weight, and `by_choice`.

        Its attributes are those of the run as Python has them: lists, mappings and numbers, not the text of files.
        """
        parts: dict[str, Any] = {str(name): each for name, each in self.by_choice.data_vars.items()}
        if self.kind in ("when", "value"):
            name = "date" if self.kind == "when" else "value"
            parts = {name: self._each, "weight": self.weights, **parts}
        return xr.Dataset(parts, attrs=self.run.attributes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.float64]:
        """Return what every world says: dates as decimal years, +inf for never, values, or shares."""
        return np.asarray((self.shares if self.kind in ("first", "rank") else self._each).values, dtype=dtype)

    # --- further questions ------------------------------------------------------------------------------------------

    def given(self, condition: QuantityCondition | str) -> Answer:
        """Return the answer in those worlds in which a condition holds; no world changes.

        Parameters
        ----------
        condition : QuantityCondition or str
            ``spend >= 2e8``; as a text it names quantities, ``"spend >= 2e8"``, those of the answer or any that
            `forecast.ask` knows, and may end in a date: ``"largest-run >= 1e28 FLOP at 2030"``.

        Raises
        ------
        UsageError
            For a condition that shares nothing uncertain with the answer, that holds in no world, or on a quantity that
            changes with time, without a date.

        Warns
        -----
        FewWorldsWarning
            Where fewer than 200 worlds are left, with their number.
        """
        parsed = self._read_condition(condition) if isinstance(condition, str) else condition
        if not isinstance(parsed, QuantityCondition):
            raise UsageError(f"given: expected a condition such as spend >= 2e8, got {type(condition).__name__}")
        own: QuantityCondition = at_home(replace(parsed, typed=parsed.typed or line_of(parsed)), self._own_scenario)
        behind = set(self.depends_on)
        own_names = set(collect_quantities(own._sides))
        present = {*own_names, *(() if self._base is None else self._base.quantities)}
        names = {*own_names, *(n for side in own._sides for n in side._leaves)}
        is_behind = not behind.isdisjoint(names)
        if not is_behind and present.isdisjoint(names) and not source_scenarios(own):
            raise self._not_of(own.text, "given")
        scenario, sides = self._with_sides(own)
        if not is_behind and not shares_worlds(build(scenario, self._settings), behind, sides):
            raise self._not_of(own.text, "given")
        self._check_steady(own, scenario, sides)
        try:
            return replace(self, conditions=(*self.conditions, own))._answered()
        except EmptyDataError:
            worlds = f"none of the {self.run.settings.draws:,} worlds that were drawn"
            raise UsageError(f"given '{own.text}': it holds in {worlds}: ask for less, or draw more") from None

    def _read_condition(self, text: str) -> QuantityCondition:
        """Return a condition of names in the answer, and of others as `forecast.ask` reads them."""
        own = {*self._settable_names, *(() if self._base is None else self._base.quantities)}
        formula, names = words_for_names(text, own)
        known = {word: quantity_of_text(each, self._own_scenario) for word, each in names.items()}
        return replace(read_condition(formula, known, where="given"), typed=text.strip())

    def _with_sides(self, condition: QuantityCondition) -> tuple[Scenario, dict[str, Quantity]]:
        """Return the scenario without its questions, in which each side of a condition is a quantity, by its name."""
        sides = {f"side_{place}": side for place, side in enumerate(condition._sides)}
        scenario = replace(self, conditions=())._scenario_record
        scenario = {key: each for key, each in scenario.items() if key not in ("questions", "update", "title", "sweep")}
        named = [Quantity(stated={"expression": side}, name=name) for name, side in sides.items()]
        scenario = scenario_of({"subject_to": named}, base=scenario, swapped=self.replaced)
        scenario.pop("questions", None)
        return Scenario.from_dict(scenario) if self._base is None else self._base.restated(scenario), sides

    def _check_steady(self, condition: QuantityCondition, scenario: Scenario, sides: Mapping[str, Quantity]) -> None:
        """Raise if a condition is on a quantity that changes with time: a draw needs one truth value."""
        stays = ("with_", "seed", "as_of", "data", *GRID_KEYS)
        run = {key: each for key, each in self._run_options.items() if key in stays}
        worlds = run_scenario(scenario, **run, draws=100, cache=self.cache).worlds
        for name, side in sides.items():
            level = worlds[name]
            first = level.isel(time=0)
            if not bool(((level == first) | (level.isnull() & first.isnull())).all()):
                way = f"name a date, such as {side.name}.at(2028)"
                raise UsageError(f"given '{condition.text}': '{side.name}' changes with time: {way}")

    def _name_of(self, quantity: Quantity | Model | str) -> str:
        """Return the name that a quantity has in the answer."""
        return name_within(self._own_scenario, quantity)

    def with_(self, settings: Mapping[Any, object] | None = None, /, **values: object) -> Answer:
        """Return the answer with other values, or other quantities, in place of those it depends on.

        Every other quantity draws what it drew.

        Parameters
        ----------
        settings : mapping, optional
            A name that is no word of Python, or a quantity itself: ``{"machine.growth": 0.2, scenario.brain: 1e16}``.
        **values
            By the name of a quantity, of a model's input or parameter, or of a choice: a number in its unit, a text
            with a unit (``"1 EFLOP/s"``, ``"1e13..1e17"``), a distribution as a dict, a quantity, a model or its name;
            of a choice one of its values.

        Raises
        ------
        UsageError
            For a name on which the answer does not depend.
        """
        formulas, quantities, set_values = self._formulas, dict(self.replaced), dict(self._settings)
        for name, value in self._by_name(settings, values, "with_").items():
            other = self._replacing_quantity(name, value, formulas)
            if other is None:
                set_values[name] = value
            elif "." in name:
                raise UsageError(f"with_ '{name}': expected a number or a distribution, not another quantity")
            else:
                quantities[name] = other
        return replace(self, options={**self.options, "with_": set_values}, replaced=quantities)._answered()

    def _by_name(self, settings: Mapping[Any, Any] | None, values: Mapping[str, Any], verb: str) -> dict[str, Any]:
        """Return what is to be set by its name in the answer, which depends on it."""
        found = {self._name_of(key): each for key, each in {**(settings or {}), **values}.items()}
        for name in found:
            if name not in self._settable_names and not self._settable(name):
                raise self._not_of(name, verb)
        return found

    def _replacing_quantity(self, name: str, value: object, formulas: set[str]) -> Quantity | None:
        """Return the quantity that replaces another; None if the run sets a value."""
        from forecast.models import Model
        from forecast.scenarios.settings.setting_values import names_model

        if isinstance(value, Quantity):
            if not value.is_model:
                return value
            value = value.record["model"]
        if isinstance(value, Model) or (
            isinstance(value, str) and name not in self._run_scenario.choices and names_model(value)
        ):
            return quantity(**model_record(self._run_scenario, name, value))
        return as_quantity(value).named(name) if name in formulas else None

    def _settable(self, name: str) -> bool:
        """Return True if a name is that of a fitted parameter of a model behind the answer."""
        owner, dot, _ = name.rpartition(".")
        return bool(dot) and (owner in self._settable_names or owner in self.run.models)

    @property
    def _settings(self) -> Mapping[str, Any]:
        return dict(self.options.get("with_") or {})

    def what_if(
        self,
        of: Quantity | Model | str,
        *,
        since: float | str,
        growth: float | str | None = None,
        value: object = None,
        until: float | str | None = None,
    ) -> Answer:
        """Return the answer with one quantity changed from a date on: ``growth="0.5*", since=2028``.

        Parameters
        ----------
        of : Quantity, Model or str
        since, until : float or str
            Dates: 2028.5, ``"2028-07"``.
        growth : float or str, optional
            The factor on the growth of its logarithm, ``"0.5*"``.
        value : object, optional
            The value that replaces it: a number, or a text with a unit.
        """
        name = self._name_of(of)
        if name not in self.depends_on:
            raise self._not_of(name, "what if")
        keys = {"growth": growth, "value": value, "since": since, "until": until}
        change = {"of": name, **{key: each for key, each in keys.items() if each is not None}}
        options = {**self.options, "changes": [*self.options.get("changes", ()), change]}
        return replace(self, options=options)._answered()

    def sweep(
        self, settings: Mapping[Any, Sequence[object] | str] | None = None, /, **values: Sequence[object] | str
    ) -> Answer:
        """Return the answer with something set to each of several values, which stand side by side in `by_choice`.

        Parameters
        ----------
        settings : mapping, optional
            A name that is no word of Python, or a quantity itself: ``{"brain/power.watts": [10, 20]}``.
        **values
            By the name of a quantity, of a model's input, or of a choice: the values; ``"*"`` are all values of a
            choice.

        Examples
        --------
        >>> import forecast
        >>> spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
        >>> answer = (spend >= 2e8).when(start=2025, until=2030, draws=100)
        >>> answer.sweep(spend=[1e8, 3e8]).by_choice["already"].values.tolist()
        [0.0, 1.0]
        """
        along = self._by_name(settings, values, "sweep")
        if not along:
            raise UsageError(f"sweep: expected values for one of {first_names(list(self.depends_on))}")
        first = {name: as_quantity(each[0]).named(name) for name, each in along.items() if name in self._formulas}
        options = {**self.options, "sweep": {**self.options.get("sweep", {}), **along}}
        return replace(self, options=options, replaced={**self.replaced, **first})._answered()

    @cached_property
    def _formulas(self) -> set[str]:
        """Return the names of formulas that stand in others, which a run cannot set."""
        return {name for name in self._settable_names if "." not in name} - {
            *self.depends_on,
            *self._run_scenario.choices,
            *self._run_scenario.quantities,
        }

    def needed(
        self,
        name: str | Quantity,
        *,
        by: float | str,
        probability: float = 0.5,
        within: tuple[float, float] | None = None,
    ) -> float:
        """Return the value of one assumption that makes it so; see `forecast.api.answer_sensitivity.required_value`.

        Parameters
        ----------
        name : str or Quantity
            The assumption: a quantity behind the answer, or an input of a model.
        by : float or str
            The date by which it should be so.
        probability : float
            How likely.
        within : (float, float), optional
            The numbers between which to look.

        Returns
        -------
        float
            In the unit of the assumption.
        """
        from forecast.api.answer_sensitivity import required_value

        return required_value(self, self._name_of(name), by=by, probability=probability, within=within)

    def sensitivity(self, *, total: bool = False) -> pd.DataFrame:
        """Return what moves the answer; see `forecast.api.answer_sensitivity.sensitivity`."""
        from forecast.api.answer_sensitivity import sensitivity

        return sensitivity(self, total=total)

    @overload
    def plot(self, to: Axes | None = None, *, panel: str | None = None, titled: bool = False) -> Axes: ...
    @overload
    def plot(
        self, to: str | os.PathLike[str], *, panel: str | None = None, width: str = "page", titled: bool = False
    ) -> Path: ...
    def plot(
        self,
        to: Axes | str | os.PathLike[str] | None = None,
        *,
        panel: str | None = None,
        width: str = "page",
        titled: bool = False,
    ) -> Axes | Path:
        """Draw the answer into axes of matplotlib, by default new ones, or the figure of ``--plot`` into a file.

        Parameters
        ----------
        to : matplotlib.axes.Axes or path-like, optional
            A file ends in ``.svg``, ``.png`` or ``.pdf``.
        panel : {"dates", "values", "path", "drivers", "ranking"}, optional
            One panel alone. Without one a file has all of the answer, and axes how likely it is by each date, the
            values, or the shares.
        width : {"page", "column"}
            Of a file: 183 mm, or 89 mm.
        titled : bool
            With the title, and in a file with the sentence; a caption has them otherwise.

        Returns
        -------
        matplotlib.axes.Axes or pathlib.Path
        """
        from forecast.api.answer_plot import plot_answer
        from forecast.report import figures

        if isinstance(to, (str, os.PathLike)):
            return figures.plot_projection(self.run, to, panel=panel, width=width, titled=titled)
        return plot_answer(self, to, panel=panel, titled=titled)

    @overload
    def report(self) -> str: ...
    @overload
    def report(self, path: str | os.PathLike[str], *, lever_draws: int = 1024) -> Path: ...
    def report(self, path: str | os.PathLike[str] | None = None, *, lever_draws: int = 1024) -> str | Path:
        """Write the answer on one page that people read, steer and send; without a path, return it as text.

        Parameters
        ----------
        path : path-like, optional
            Ends in ``.html``: one file that needs no connection, see `forecast.report.page`.
        lever_draws : int
            Joint samples at each of five places of every lever, which the page lets a reader move; 0 for none.

        Returns
        -------
        pathlib.Path or str
        """
        from forecast.api import answer_plot
        from forecast.report import page
        from forecast.report.page.lever_controls import lever_answers

        if path is None:
            return answer_plot.page(self)
        page.check_format(path)
        answers = lever_answers(self.run, self._run_scenario, draws=lever_draws) if self.run.levers else None
        return page.write_page(
            self.run, path, toml=answer_plot.scenario_text(self), lever_answers=answers, lead=self._lead()
        )

    def _lead(self) -> tuple[str, list[list[str]]] | None:
        """Return the sentence and the table that open its page, where it is more than the answer of its scenario."""
        return None

    def record(self, to: str | Path, *, on: str, by: Iterable[str] = (), source: str = "") -> list[dict[str, Any]]:
        """Add the answer to a ledger of forecasts; see `forecast.evaluation.ledger_entries.record`.

        Parameters
        ----------
        to : str or path
            A file of JSON lines, made where there is none; ``forecast resolve`` reads it.
        on : str
            The date of the forecast, or ``"today"``.
        by : iterable of str
            Dates by which the ledger states the probability, beside those of the question.
        source : str
            The table or page that decides it, where the question does not say it under `resolves`.

        Returns
        -------
        list of dict
            The new lines.
        """
        from forecast.evaluation.ledger_entries import record

        return record(self.run, to, on=on, questions=[self.name], by=list(by), source=source)

    def _not_of(self, what: str, verb: str) -> UsageError:
        near = nearest(what, self.depends_on) if what.isidentifier() else None
        hint = f"did you mean '{near}'?" if near else f"it depends on {first_names(list(self.depends_on))}"
        return UsageError(f"{verb} '{printable(what, 80)}': the answer does not depend on it; {hint}")

    @property
    def sentence(self) -> str:
        """The answer in one plain sentence."""
        from forecast.report.headline import opening_sentence

        return opening_sentence(self.run)

    def __repr__(self) -> str:
        """Return the answer in one plain sentence, with its warnings."""
        from forecast.base.warning_lines import with_warnings

        return with_warnings("\n".join([self.sentence, *self.run.read]), self.run.warnings)

    def _repr_html_(self) -> str:
        from forecast.report import notebook

        return notebook.answer_html(self.run, self.plot, self._lead())


def _single_question_scenario(scenario: Scenario, question: str) -> Scenario:
    """Return a scenario that asks one of its questions, with those that it and its sentences name."""
    stated = scenario.stated["questions"]
    sentences = " ".join(map(str, scenario.stated.get("says", {}).get(question, {}).values()))
    named = {slot.rpartition(" of ")[2] for slot in re.findall(r"{([^{}]*)}", sentences)}
    names = [question, *(stated[question].get("first", ())), *(each for each in stated if each in named - {question})]
    if names == list(stated):
        return scenario
    return scenario.restated({**scenario.stated, "questions": {name: stated[name] for name in names}})
