"""The answers of a projection: each number of them is derived here, once, for whoever writes, draws or sends it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from forecast.base.arrays import AnyArray, Array
from forecast.base.dates import decimal_year
from forecast.base.lazy import xr
from forecast.base.netcdf import quantiles
from forecast.base.notebook_html import HtmlText
from forecast.base.quantiles import QUANTILES
from forecast.errors import UsageError
from forecast.formula import parse_expression
from forecast.projection.answers.crossing_dates import DateDraws, earliest, has_answer
from forecast.projection.crossing import date_quantiles, weighted_quantiles
from forecast.projection.likelihood_weights import select, value_quantiles, weighted_share
from forecast.projection.result.combinations import combinations

if TYPE_CHECKING:
    from forecast.projection.result.projection import Projection


@dataclass(frozen=True, kw_only=True)
class AnswerDistribution:
    """Quantiles of an answer, or the range of the medians where rivals have no weights.

    Parameters
    ----------
    quantiles : tuple of float
        At 5, 25, 50, 75 and 95 %: decimal years, +inf inside the never mass; or values.
    never, already : float
        Probabilities, of dates; it is *already* so where the newest rows meet it.
    at_start : float
        The probability that it is so at the first step, which may come after the newest rows.
    error : float
        The Monte Carlo error of a median date in years; NaN where it is not known.
    by : tuple of float
        The probabilities by the dates that the question states.
    medians, nevers : (float, float), optional
        The lowest and the highest of several answers that are not pooled; `quantiles` are then of no use.
    count : int
        How many answers those are.
    """

    quantiles: tuple[float, float, float, float, float]
    never: float = 0.0
    already: float = 0.0
    at_start: float = 0.0
    error: float = math.nan
    by: tuple[float, ...] = ()
    medians: tuple[float, float] | None = None
    nevers: tuple[float, float] = (0.0, 0.0)
    count: int = 1

    @property
    def median(self) -> float:
        """The middle one."""
        return self.quantiles[2]

    @staticmethod
    def over(several: list[AnswerDistribution]) -> AnswerDistribution | None:
        """Return the range of several answers, or the only one."""
        if len(several) < 2:
            return several[0] if several else None
        medians, nevers = [s.median for s in several], [s.never for s in several]
        ends = (min(medians), max(medians))
        return AnswerDistribution(
            quantiles=(ends[0], ends[0], math.nan, ends[1], ends[1]), medians=ends, nevers=(min(nevers), max(nevers)),
            never=max(nevers), already=min(s.already for s in several), at_start=min(s.at_start for s in several),
            count=len(several),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AnswerRow:
    """An answer under values of choices.

    Parameters
    ----------
    choices : dict of str to str
    distribution : AnswerDistribution or None
        None where it failed.
    weights : dict, optional
        Of the rivals that are pooled, by choice.
    """

    choices: dict[str, str]
    distribution: AnswerDistribution | None
    weights: dict[str, tuple[float, ...]] | None = None


class ProjectedAnswer(HtmlText):
    """What every world answers to one question, along the choices.

    Parameters
    ----------
    run : Projection
    name : str
        Of the question.
    question : mapping
        The question as files hold it.
    place : int
        Of the date of a value; by default the last one, which the sentence is about.
    """

    __slots__ = ("run",)
    kind: ClassVar[Literal["when", "value", "first", "rank"]]
    _pooled: tuple[Hashable, tuple[Array, Array | None]] | None = None

    def __init__(self, run: Projection, name: str, question: Mapping[str, Any], place: int = -1) -> None:
        self.run = run
        self.__dict__ = run.derived[name, place]  # all but the projection itself
        self.name, self._question, self.place = name, question, place
        self._distributions: dict[Hashable, AnswerDistribution | None] = run.distributions.setdefault(name, {})

    def __repr__(self) -> str:
        """Return its question, and its median where it has one."""
        found = None if self.kind in ("first", "rank") else self.headline
        median = "" if found is None or found.medians is not None else f"; median {found.median:.6g}"
        return f"{type(self).__name__} {self.name}: {self.text}{median}"

    @property
    def _key(self) -> int:
        """What tells it from others of its question."""
        return 0

    @property
    def title(self) -> str:
        """What the question calls it, with names in braces; empty where it has no title."""
        return str(self._question["title"])

    @property
    def text(self) -> str:
        """The question, as the scenario states it."""
        raise NotImplementedError

    @property
    def resolves(self) -> str:
        """The table or page that decides it; empty where none is stated."""
        return str(self._question.get("resolves", ""))

    @property
    def dates(self) -> list[str]:
        """The dates that the question states, ISO."""
        return list(self._question.get("dates", ()))

    @property
    def unit(self) -> str:
        """The unit of the answer; ``year`` of dates."""
        raise NotImplementedError

    # --- choices ------------------------------------------------------------------------------------------------------

    @property
    def worlds(self) -> xr.DataArray:
        """What every stored world says, (draw, choices)."""
        raise self._no_numbers()

    @property
    def _data(self) -> xr.Dataset:
        """The group that holds it."""
        raise self._no_numbers()

    @cached_property
    def choices(self) -> list[str]:
        """The choices on which the answer depends."""
        raise NotImplementedError

    def _no_numbers(self) -> UsageError:
        """Return the error of a question that asks which, of whose worlds none says a number."""
        return UsageError(f"'{self.name}': the question asks {self.kind}: its answer has shares, which stand in .table")

    @cached_property
    def definitions(self) -> list[str]:
        """Those of them that stand side by side: what is swept, and definitions."""
        return [d for d in self.run.definitions if d in self.choices]

    @cached_property
    def rivals(self) -> dict[str, tuple[float, ...]]:
        """The weights of those that are pooled."""
        every = self.run.rivals
        return {d: every[d] for d in self.choices if d in every}

    def values(self, choice: str) -> list[str]:
        """Return the values of one of them."""
        return _choice_values(self._data, choice)

    @cached_property
    def default(self) -> dict[str, str]:
        """The definitions, but for what is swept, that the sentence is about: the first that give an answer."""
        own = [d for d in self.definitions if d not in self.run.swept]
        every = self.combinations(own)
        return next((each for each in every if self.over(each) is not None), {d: self.values(d)[0] for d in own})

    def combinations(self, choices: Sequence[str]) -> Iterator[dict[str, str]]:
        """Yield every combination of the values of choices."""
        values = itertools.product(*map(self.values, choices))
        return (dict(zip(choices, each, strict=True)) for each in values)

    @cached_property
    def pooled_over(self) -> dict[str, tuple[float, ...]]:
        """The weights of all rivals that it depends on; empty where one of them has none, or there are none."""
        own = [d for d in self.choices if d not in self.definitions]
        return {d: self.rivals[d] for d in own} if own and all(d in self.rivals for d in own) else {}

    # --- numbers ------------------------------------------------------------------------------------------------------

    def distribution(self, chosen: Mapping[str, str]) -> AnswerDistribution | None:
        """Return the answer under values of choices, all others pooled by their weights; None where it failed."""
        key = self._key, *sorted(chosen.items())
        if key not in self._distributions:
            self._distributions[key] = self._distribution(dict(chosen))
        return self._distributions[key]

    def _distribution(self, chosen: dict[str, str]) -> AnswerDistribution | None:
        raise self._no_numbers()

    def over(self, chosen: Mapping[str, str]) -> AnswerDistribution | None:
        """Return the answer under these values, pooled over weighted rivals; of several others the range of medians."""
        free = [d for d in self.choices if d not in chosen and d not in self.rivals]
        several = [self.distribution({**chosen, **each}) for each in self.combinations(free)]
        return AnswerDistribution.over([each for each in several if each is not None])

    @property
    def headline(self) -> AnswerDistribution | None:
        """The answer of the sentence: under the first definitions, pooled over rivals by their weights."""
        return self.over(self.default)

    def quantile(self, q: float) -> float:
        """Return a quantile of the sentence's answer: of dates a decimal year, inf inside *never*.

        The five that `AnswerDistribution` has are those; any other is of the stored worlds.
        """
        levels = list(QUANTILES)
        found = self.headline
        if found is None or found.medians is not None:
            return math.nan
        return found.quantiles[levels.index(q)] if q in levels else float(self.quantiles([q])[0])

    def quantiles(self, levels: Sequence[float]) -> Array:
        """Return quantiles of the stored worlds under the choices of the sentence."""
        values, weights = self.pooled_draws(self.default)
        if weights is not None:
            return weighted_quantiles(values, weights, levels)
        return date_quantiles(values, levels) if self.kind == "when" else quantiles(values[~np.isnan(values)], levels)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval that holds with a probability, equal tails on both sides."""
        tail = round((1 - level) / 2, 12)
        return self.quantile(tail), self.quantile(round(1 - tail, 12))

    def of_worlds(self, values: Array, weights: Array | None = None) -> AnswerDistribution | None:
        """Return what some worlds say together, by what each says and counts; None where there is no answer."""
        raise self._no_numbers()

    @cached_property
    def rows(self) -> list[AnswerRow]:
        """The answer in every combination of choices, and then pooled over rivals for every definition."""
        return [*self._rows(self.choices), *self.pooled_rows]

    def _rows(self, choices: Sequence[str], weights: dict[str, tuple[float, ...]] | None = None) -> list[AnswerRow]:
        every = self.combinations(choices)
        return [AnswerRow(choices=c, distribution=self.distribution(c), weights=weights) for c in every]

    @cached_property
    def row_count(self) -> int:
        """How many `rows` there are, of which none is computed for that."""
        left = [d for d in self.choices if d not in self.pooled_over]
        kept = math.prod(len(self.values(d)) for d in left) if self.pooled_over else 0
        return math.prod(len(self.values(d)) for d in self.choices) + kept

    @cached_property
    def pooled_rows(self) -> list[AnswerRow]:
        """The answer pooled over rivals, for every combination of the definitions; none where there are no weights."""
        if not self.pooled_over:
            return []
        return self._rows([d for d in self.choices if d not in self.pooled_over], self.pooled_over)

    @cached_property
    def side_by_side(self) -> list[AnswerRow]:
        """The answer pooled over the choices that have weights, in every combination of those that have none."""
        return self._rows([d for d in self.choices if d not in self.rivals], self.rivals or None)

    def pooled_draws(self, chosen: Mapping[str, str]) -> tuple[Array, Array | None]:
        """Return what every stored world says, one rival of each choice drawn in each, and what it counts; (draw,)."""
        key = tuple(sorted(chosen.items()))
        if self._pooled is None or self._pooled[0] != key:  # the last alone: they are as many as worlds
            self._pooled = key, self._pool_draws(chosen)
        return self._pooled[1]

    def same_as(self, other: ProjectedAnswer) -> bool:
        """Whether it is the other one, in a variation of its projection that does not reach the question."""
        return self._distributions is other._distributions

    def _pool_draws(self, chosen: Mapping[str, str]) -> tuple[Array, Array | None]:
        rivals = [d for d in self.rivals if d not in chosen]
        worlds = self._data.sizes["draw"]
        places: dict[str, Any] = {choice: self.values(choice).index(value) for choice, value in chosen.items()}
        places |= {choice: self.run.rival_of_draw(choice, worlds) for choice in rivals}
        first = np.arange(worlds) if rivals else slice(None)
        values = self._worlds_at((first, *(places.get(choice, slice(None)) for choice in self.choices)))
        weights = self.run.pooled_weights(chosen, rivals)
        return np.asarray(values, dtype=float), None if weights is None else weights.values

    def _worlds_at(self, place: tuple[Any, ...]) -> Array:
        """Return what every stored world says at an index of (draw, choices)."""
        return np.asarray(self.worlds.values[place])


class DateAnswer(ProjectedAnswer):
    """When a condition first holds."""

    kind = "when"

    @property
    def text(self) -> str:
        """The condition."""
        return str(self._question["when"])

    @property
    def unit(self) -> str:
        """The unit of decimal years."""
        return "year"

    @property
    def _data(self) -> xr.Dataset:
        return self.run.dataset("questions")

    @cached_property
    def choices(self) -> list[str]:
        """The choices on which the date depends."""
        return [str(d) for d in self._data.variables[f"{self.name}_date"].dims if d != "draw"]

    def probability(self, by: float) -> float:
        """Return the probability that it is so by a date, a decimal year, under the choices of the sentence."""
        dates, weights = self.pooled_draws(self.default)
        counts = np.where(np.isnan(dates), 0.0, 1.0 if weights is None else weights)
        return float((counts * (dates <= by)).sum() / counts.sum())

    @cached_property
    def failing(self) -> xr.DataArray:
        """The worlds in which it fails though others answer it, (draw, choices)."""
        data, name, dates = self._data, f"{self.name}_failing", self.unmasked
        # asking xarray for it would look for names like it
        return data[name] == 1 if name in data.variables else dates.copy(data=np.zeros(dates.shape, bool))

    @cached_property
    def unmasked(self) -> xr.DataArray:
        """The date in every stored world as a decimal year, +inf where never, and where the world alone fails.

        Under values of choices that have no answer it is NaN; (draw, choices).
        """
        data, dims = self._data, ("draw", *self.choices)
        coords = {d: data.variables[d] for d in dims if d in data.variables}
        return xr.DataArray(self._years_at(...), coords, dims, name=f"{self.name}_date")

    @cached_property
    def worlds(self) -> xr.DataArray:
        """The date in every stored world as a decimal year: +inf where never, NaN where it fails; (draw, choices)."""
        return self.unmasked.copy(data=self._worlds_at(...))

    def _years_at(self, place: Any) -> Array:
        """Return `unmasked` at an index."""
        dates = self._data.variables[f"{self.name}_date"].transpose("draw", *self.choices).values
        never = self._data.variables[f"{self.name}_never"].transpose(*self.choices).values
        answered, found = ~np.isnan(np.broadcast_to(never, dates.shape)[place]), dates[place]
        return np.where(answered, np.where(np.isnat(found), np.inf, decimal_year(found)), np.nan)

    def _worlds_at(self, place: Any) -> Array:
        years, failing = self._years_at(place), self._data.variables.get(f"{self.name}_failing")
        return years if failing is None else np.where(failing.transpose("draw", ...).values[place] == 1, np.nan, years)

    def _distribution(self, chosen: dict[str, str]) -> AnswerDistribution | None:
        from forecast.projection.result.observed_values import share_met_by_rows

        found = self._of_all_worlds(chosen)
        met = share_met_by_rows(self, chosen) if found is not None and found.at_start else 0.0
        return found and replace(found, already=found.at_start * met)

    def _of_all_worlds(self, chosen: dict[str, str]) -> AnswerDistribution | None:
        for group in ("questions", "pooled"):  # of all worlds, where they are more than those stored
            if group not in self.run or self.name not in (data := self.run.dataset(group)).variables:
                continue
            if set(chosen) == {str(d) for d in data.variables[self.name].dims if d != "quantile"}:
                return self._read(data, chosen)
        return self.of_worlds(*self.pooled_draws(chosen))

    def _read(self, data: xr.Dataset, chosen: dict[str, str]) -> AnswerDistribution | None:
        never = float(_select_variable(data, f"{self.name}_never", chosen))
        if math.isnan(never):
            return None
        dates = _select_variable(data, self.name, chosen)
        by = _select_variable(data, f"{self.name}_by", chosen) if "dates" in self._question else ()
        return AnswerDistribution(
            quantiles=_five(np.where(np.isnat(dates), np.inf, decimal_year(dates))),
            never=never,
            at_start=float(_select_variable(data, f"{self.name}_already", chosen)),
            error=float(_select_variable(data, f"{self.name}_error", chosen)[2]),
            by=tuple(map(float, by)),
        )

    def of_worlds(self, values: Array, weights: Array | None = None) -> AnswerDistribution | None:
        """Return what some worlds say together, by what each says and counts; None where too many fail."""
        if not has_answer(values) or (weights is not None and not np.nansum(weights) > 0):
            return None
        by = decimal_year(np.array(self.dates, dtype="datetime64[s]")) if self.dates else ()
        counts = None if weights is None else weights / weights.sum()
        dates = DateDraws(values, self.run.span[0], by, counts)  # type: ignore[arg-type]
        return AnswerDistribution(
            quantiles=_five(dates.quantiles(QUANTILES)),
            never=float(dates.never),
            at_start=float(dates.already),
            by=tuple(dates.reached),
        )


class ValueAnswer(ProjectedAnswer):
    """A value, or a growth, at one of the dates of the question."""

    kind = "value"

    @property
    def _key(self) -> int:
        return self.place % len(self.dates)

    @property
    def growth(self) -> bool:
        """Whether it is the growth over the year before."""
        return "growth" in self._question

    @property
    def text(self) -> str:
        """The expression whose value or growth the question is for."""
        return str(self._question["growth" if self.growth else "value"])

    @property
    def date(self) -> str:
        """The date, ISO."""
        return str(self.dates[self.place])

    @cached_property
    def undated(self) -> bool:
        """Whether it is the same at all dates: it is for quantities alone, which are the same at all steps."""
        if self.growth or "{" in self.text:  # of a sweep each value has a quantity
            return False
        names = parse_expression(self.text).names
        return bool(names) and all(name in self.run.numeric and self.run.quantities[name].still for name in names)

    @property
    def at(self) -> list[ValueAnswer]:
        """The same at each of the dates."""
        return [ValueAnswer(self.run, self.name, self._question, place) for place in range(len(self.dates))]

    @property
    def _data(self) -> xr.Dataset:
        return self.run.dataset(f"values/{self.name}")

    @cached_property
    def choices(self) -> list[str]:
        """The choices on which the value depends."""
        return [str(d) for d in self._data.variables["value"].dims if d not in ("draw", "date")]

    @property
    def unit(self) -> str:
        """The unit of the value."""
        return str(self._data["value"].attrs["units"])

    @property
    def every(self) -> xr.DataArray:
        """What every stored world says at all dates, (draw, date, choices)."""
        return self._data["value"].transpose("draw", "date", ...)

    @cached_property
    def worlds(self) -> xr.DataArray:
        """What every stored world says at the date, (draw, choices)."""
        return self.every.isel(date=self.place, drop=True).reset_coords(drop=True)

    def _worlds_at(self, place: Any) -> Array:
        return np.asarray(self._data.variables["value"].transpose("draw", "date", ...).values[:, self.place][place])

    def _distribution(self, chosen: dict[str, str]) -> AnswerDistribution | None:
        if "quantiles" not in self._data or set(chosen) != set(self.choices):
            return self.of_worlds(*self.pooled_draws(chosen))
        levels = self._data["quantiles"].isel(date=self.place).sel(chosen).values
        return None if np.isnan(levels).any() else AnswerDistribution(quantiles=_five(levels))

    def of_worlds(self, values: Array, weights: Array | None = None) -> AnswerDistribution | None:
        """Return what some worlds say together, by what each says and counts; None where all fail."""
        levels = value_quantiles(values[:, None], weights)[:, 0]
        return None if np.isnan(levels).any() else AnswerDistribution(quantiles=_five(levels))


# --- What comes first -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FirstRow:
    """How likely each of several events is the first, under values of choices.

    Parameters
    ----------
    choices : dict of str to str
    first : dict of str to (float, float)
        By event: the probability that its date comes before those of all others; the lowest and the highest where
        rivals have no weights.
    together, none : (float, float)
        Of several events on the same first date, as where more than one is so already; and of none by the last step.
    """

    choices: dict[str, str]
    first: dict[str, tuple[float, float]]
    together: tuple[float, float]
    none: tuple[float, float]

    @property
    def failed(self) -> bool:
        """Whether one of the events failed."""
        return math.isnan(self.none[0])


class FirstAnswer(ProjectedAnswer):
    """Which of several questions' dates comes first."""

    kind = "first"

    @property
    def text(self) -> str:
        """The events, by the names of their questions."""
        return ", ".join(self.events)

    @property
    def unit(self) -> str:
        """Probabilities have no unit."""
        return ""

    @property
    def events(self) -> list[str]:
        """The names of the questions that are compared."""
        return list(self._question["first"])

    @cached_property
    def choices(self) -> list[str]:
        """The choices on which the answer depends."""
        return list(dict.fromkeys(choice for row in self.table for choice in row.choices))

    @cached_property
    def table(self) -> list[FirstRow]:
        """The answer in every combination of choices."""
        counted = "first" in self.run
        return [_first_row(self.events, *each) for each in (self._counted() if counted else self._compared())]

    def _counted(self) -> Iterator[tuple[dict[str, str], Array]]:
        data = self.run.dataset("first")[self.name]
        yield from ((chosen, each.values) for chosen, each in combinations(data, (f"{self.name}_event",)))

    def _compared(self) -> Iterator[tuple[dict[str, str], Array]]:
        """Compare the dates of every world."""
        data, weights = self.run.dataset("questions"), self.run.weights
        dims = dict.fromkeys(d for each in self.events for d in data.variables[f"{each}_date"].dims if d != "draw")
        failing = [f"{each}_failing" for each in self.events if f"{each}_failing" in data.variables]
        for values in itertools.product(*(_choice_values(data, d) for d in dims)):
            chosen = dict(zip(map(str, dims), values, strict=True))
            failed = any(np.isnan(_select_variable(data, f"{each}_never", chosen)) for each in self.events)
            stamps = np.stack([_select_variable(data, f"{each}_date", chosen) for each in self.events])
            years = np.where(np.isnat(stamps), np.inf, stamps.astype("datetime64[s]").astype(float))
            left_out = np.zeros(years.shape[1], dtype=bool)
            for own in failing:
                left_out |= _select_variable(data, own, chosen) == 1
            shares = [float(weighted_share(holds, select(weights, chosen), left_out)) for holds in earliest(years)]
            yield chosen, np.full(len(shares), np.nan) if failed else np.array(shares)

    @cached_property
    def sentence_row(self) -> FirstRow | None:
        """The answer under the first definitions, pooled over rivals by their weights; None where it failed."""
        rows = [row for row in self.table if not row.failed]
        if not rows:
            return None
        chosen = {choice: value for choice, value in rows[0].choices.items() if choice in self.run.definitions}
        groups: dict[tuple[str, ...], list[tuple[float, FirstRow]]] = {}
        for row in rows:
            if all(row.choices[choice] == value for choice, value in chosen.items()):
                weight, free = self._weight({c: v for c, v in row.choices.items() if c not in chosen})
                groups.setdefault(free, []).append((weight, row))
        several = [_mean_probabilities(own) for own in groups.values() if sum(weight for weight, _ in own) > 0]
        if not several:
            return None
        ends = [(min(each), max(each)) for each in zip(*several, strict=True)]
        *first, together, none = ends
        by_event = dict(zip(self.events, first, strict=True))
        return FirstRow(choices=chosen, first=by_event, together=together, none=none)

    def _weight(self, chosen: Mapping[str, str]) -> tuple[float, tuple[str, ...]]:
        """Return the weight of these values of rivals, and those of choices that have none."""
        choices, rivals = self.run.choices, self.run.rivals
        weight = math.prod(rivals[c][choices[c].values.index(v)] for c, v in chosen.items() if c in rivals)
        return weight, tuple(value for choice, value in chosen.items() if choice not in rivals)


def _first_row(events: list[str], chosen: dict[str, str], shares: Array) -> FirstRow:
    *first, together, none = ((float(each), float(each)) for each in shares)
    return FirstRow(choices=chosen, first=dict(zip(events, first, strict=True)), together=together, none=none)


def _mean_probabilities(rows: list[tuple[float, FirstRow]]) -> list[float]:
    """Return the probabilities of every event, of several together and of none, averaged by weight."""
    whole = sum(weight for weight, _ in rows)
    every = [(weight, [*row.first.values(), row.together, row.none]) for weight, row in rows]
    return [sum(weight * own[i][0] for weight, own in every) / whole for i in range(len(every[0][1]))]


# --- Orders -----------------------------------------------------------------------------------------------------------


#: What is worse than another in this share of the worlds is of a lower tier.
WORSE_SHARE = 0.9


@dataclass(frozen=True, kw_only=True)
class Contestant(AnswerDistribution):
    """One of those that are ranked, with the distribution of what is compared.

    Parameters
    ----------
    name : str
        The value of the choice.
    first : float
        The probability of being the best.
    among : float
        The probability of taking part at all.
    tier : int
        From 1 on; 0 where it takes part in few worlds, or no world is stored. The best median begins the first tier,
        and whatever is worse than what began a tier in 90 % of the worlds begins the next one.
    """

    name: str
    first: float
    among: float
    tier: int = 0

    @property
    def takes_part(self) -> bool:
        """Whether it takes part in half of the worlds, or more."""
        return self.among >= 0.5


@dataclass(frozen=True, kw_only=True)
class RankingRow:
    """A ranking under values of the other choices: best median first, those that seldom take part last."""

    choices: dict[str, str]
    order: tuple[Contestant, ...]

    @property
    def taking_part(self) -> list[Contestant]:
        """Those that take part in half of the worlds, or more."""
        return [each for each in self.order if each.takes_part]

    @property
    def seldom(self) -> float:
        """The probability that one is best which takes part in less than half of the worlds."""
        return sum(each.first for each in self.order if not each.takes_part)

    @property
    def best(self) -> Contestant | None:
        """The likeliest to be best of those that take part; None where none does."""
        return max(self.taking_part, key=lambda each: each.first, default=None)

    @property
    def first_tier(self) -> list[Contestant]:
        """Those that no world order sets apart from the best median."""
        return [each for each in self.order if each.tier == 1]


class RankingAnswer(ProjectedAnswer):
    """Which value of a choice is best at the last step."""

    kind = "rank"

    @property
    def text(self) -> str:
        """What is compared."""
        return str(self._question["rank"])

    @property
    def over_choice(self) -> str:
        """The choice whose values are ranked."""
        return str(self._question["over"])

    @property
    def best(self) -> str:
        """``lowest`` or ``highest``."""
        return str(self._question["best"])

    @property
    def conditions(self) -> list[str]:
        """What those that take part must meet."""
        return list(self._question["among"])

    @property
    def _data(self) -> xr.Dataset:
        return self.run.dataset("rankings")

    @property
    def unit(self) -> str:
        """The unit of what is compared."""
        return str(self._data[self.name].attrs["units"])

    @cached_property
    def choices(self) -> list[str]:
        """The choices on which it depends, but for the one that is ranked."""
        return [str(d) for d in self._data[self.name].dims if d not in ("quantile", self.over_choice)]

    @cached_property
    def table(self) -> list[RankingRow]:
        """The order under every combination of the other choices."""
        # where the question says `ordered`, only those that never take part come last
        least = np.nextafter(0.0, 1.0) if self._question.get("ordered") else 0.5
        out = []
        for chosen, levels in combinations(self._data[self.name], ("quantile", self.over_choice)):
            first, among = (self._data[f"{self.name}_{part}"].sel(chosen).values for part in ("first", "among"))
            columns = levels.transpose(self.over_choice, "quantile").values
            order = [
                Contestant(name=str(value), quantiles=_five(columns[i]), first=float(first[i]), among=float(among[i]))
                for i, value in enumerate(self._data[self.over_choice].values.tolist())
            ]
            order.sort(key=lambda each: self._place(each, least))
            out.append(RankingRow(choices=chosen, order=tuple(self._with_tiers(order, chosen))))
        return out

    def _with_tiers(self, order: list[Contestant], chosen: Mapping[str, str]) -> Iterator[Contestant]:
        """Yield those that are ranked, each with its tier."""
        if self.contests is None:
            yield from order
            return
        values = self.contests["value"].sel(chosen).transpose(..., self.over_choice)
        place = {str(name): i for i, name in enumerate(values[self.over_choice].values.tolist())}
        worlds = values.values
        sign, tier, began = -1.0 if self.best == "lowest" else 1.0, 0, None
        for each in order:
            if not each.takes_part or not math.isfinite(each.median):
                yield each
                continue
            own = sign * worlds[:, place[each.name]]
            if began is None or np.mean(own < began) >= WORSE_SHARE:
                tier, began = tier + 1, own
            yield replace(each, tier=tier)

    def _place(self, each: Contestant, least: float) -> tuple[bool, float]:
        """Sort by the median; those that take part in less than this share of the draws come last."""
        lowest = self.best == "lowest"
        middle = each.median if math.isfinite(each.median) else (math.inf if lowest else -math.inf)
        return each.among < least, middle if lowest else -middle

    @cached_property
    def contests(self) -> xr.Dataset | None:
        """What every stored world compares: ``value`` and ``takes``; None in a file that has no worlds here."""
        if f"{self.name}_value" not in self._data:
            return None
        kept = self._data[[f"{self.name}_value", f"{self.name}_takes"]]
        return kept.rename({f"{self.name}_value": "value", f"{self.name}_takes": "takes"})


def _choice_values(data: xr.Dataset, choice: Hashable) -> list[str]:
    """Return the values of a choice."""
    return [str(value) for value in data.variables[choice].values.tolist()]


def _select_variable(data: xr.Dataset, name: str, chosen: Mapping[str, str]) -> AnyArray:
    """Return what a variable holds under values of choices: as xarray selects it, for a fraction of its cost."""
    variable = data.variables[name]
    place = (_choice_values(data, d).index(chosen[str(d)]) if d in chosen else slice(None) for d in variable.dims)
    return np.asarray(variable.values[tuple(place)])


def _five(levels: Any) -> tuple[float, float, float, float, float]:
    p05, p25, p50, p75, p95 = (float(level) for level in levels)
    return p05, p25, p50, p75, p95
