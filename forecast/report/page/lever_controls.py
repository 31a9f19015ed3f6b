"""The levers of a scenario as a page offers them: what each is called, where it can stand, and where it stands now."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import units
from forecast.projection.result import DateAnswer, Projection, ValueAnswer
from forecast.projection.result.projected_answers import FirstRow, RankingRow
from forecast.report.changes import moved_and_unmoved
from forecast.report.headline import Labels, event, on_date, opening_sentence, settings_sentence, value_title
from forecast.report.page.appendices import AssumptionLabels, foreign
from forecast.report.words.number_text import amount, percent
from forecast.report.words.patterns import fill
from forecast.scenarios.quantities.changes import as_phrase
from forecast.scenarios.quantities.levers import Lever
from forecast.scenarios.settings.setting_values import parse_measured
from forecast.sensitivity.lever_points import N_DRAWS, lever_points, movable

if TYPE_CHECKING:
    from forecast.scenarios.scenario import Scenario

#: Digits of a number that somebody sets, or that is stated.
_STOP_DIGITS = 4


@dataclass(frozen=True, kw_only=True)
class LeverStop:
    """A place at which a lever can stand.

    Parameters
    ----------
    value : str
        What is set there; empty where it stands as the answer has it.
    label : str
        For people, with its unit.
    size : float
        The number; NaN of words.
    command_text : str
        The option of ``forecast run`` that sets it.
    change : str
        What is changed there from a date on, as ``--what-if`` takes it.
    """

    value: str
    label: str
    size: float = math.nan
    command_text: str = ""
    change: str = ""

    @property
    def plain(self) -> dict[str, str]:
        """The same as plain data."""
        texts = {"value": self.value, "label": self.label, "typed": self.command_text, "change": self.change}
        return {key: foreign(text) for key, text in texts.items() if text}


@dataclass(frozen=True, kw_only=True)
class LeverControl:
    """A lever that is a number.

    Parameters
    ----------
    name, label, about : str
    stops : tuple of LeverStop
        From one end to the other; one has no value where the answer has one of these numbers.
    at : int
        The stop nearest to where it stands in the answer.
    stated : str
        Where it stands there, for people.
    changes : bool
        It changes growth from a date on, where others set a number.
    """

    name: str
    label: str
    about: str
    stops: tuple[LeverStop, ...]
    at: int
    stated: str
    changes: bool

    @property
    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        stops = [each.plain for each in self.stops]
        about = {"name": self.name, "label": foreign(self.label), "about": foreign(self.about)}
        return {**about, "stops": stops, "at": self.at, "stated": foreign(self.stated), "changes": self.changes}


def lever_controls(run: Projection, points: Callable[[Lever], Iterable[str]] = Lever.points) -> list[LeverControl]:
    """Return the levers of a projection that are numbers, in the order of its scenario, each with its `points`.

    Examples
    --------
    >>> import forecast
    >>> run = forecast.project({"start": 2025, "until": 2030, "quantities": {
    ...     "x": {"p05": 1, "p95": 4, "unit": "FLOP"}, "goal": {"value": 2.25, "unit": "FLOP"}},
    ...     "questions": {"q": {"when": "x >= goal"}},
    ...     "levers": {"goal": {"label": "Goal", "range": [1, 3]}}}, draws=64)
    >>> [(each.label, each.at, each.stops[each.at].label) for each in lever_controls(run)]
    [('Goal', 6, '2.25 FLOP')]
    """
    words, called = Labels(run), AssumptionLabels(run)
    return [_lever_control(run, lever, points(lever), words, called) for lever in movable(run)]


def _lever_control(
    run: Projection, lever: Lever, points: Iterable[str], words: Labels, called: AssumptionLabels
) -> LeverControl:
    changes = lever.since is not None
    unit, numbers = ("", np.array([1.0])) if changes else _unit_and_default(run, lever.name, called)
    stops = [_lever_stop(lever, value, unit, words) for value in points]
    middle = float(np.median(numbers)) if len(numbers) else math.nan
    if shares := _label_shares(run, lever):
        texts = [fill("share", label=words(label), percent=percent(share)) for label, share in shares.items()]
        likely = max(shares, key=lambda label: shares[label])
        at, position = list(shares).index(likely), ", ".join(texts) if shares[likely] < 1 else words(likely)
    elif not len(numbers) or np.min(numbers) != np.max(numbers) or any(math.isnan(each.size) for each in stops):
        at, position = _nearest_stop(stops, middle), _interval_text(numbers, unit)
    else:
        own = LeverStop(value="", label=_stop_text(lever, middle, unit), size=middle)
        stops = _with(stops, own)
        at, position = stops.index(own), own.label
    about: dict[str, Any] = {"name": lever.name, "label": lever.label, "about": lever.about, "changes": changes}
    return LeverControl(stops=tuple(stops), at=at, stated=position, **about)


def _label_shares(run: Projection, lever: Lever) -> dict[str, float]:
    """Return how likely each label is where a lever is one of several labels a world; else nothing."""
    quantity = run.quantities.get(lever.name)
    if quantity is None or quantity.kind != "regime" or lever.since is not None:
        return {}
    return quantity.probabilities(quantity.cells[0])


def _with(stops: list[LeverStop], own: LeverStop) -> list[LeverStop]:
    """Return the stops with that of the answer, in place of one of the same number."""
    others = [each for each in stops if not math.isclose(each.size, own.size, rel_tol=1e-9)]
    rises = stops[-1].size > stops[0].size
    return sorted([*others, own], key=lambda each: each.size if rises else -each.size)


def _unit_and_default(run: Projection, name: str, called: AssumptionLabels) -> tuple[str, np.ndarray[Any, Any]]:
    """Return the unit of what is set, and what it is in every world at the first step, as the sentence takes it."""
    if name in run.numeric:
        data = run.pooled(run.worlds[name], run.rivals)
        named = run.opening.default if isinstance(run.opening, (DateAnswer, ValueAnswer)) else run.winners
        own = {d: named.get(d, run.choices[d].values[0]) for d in run.definitions if d in data.dims}
        first = data.sel(own).isel(time=0) if "time" in data.dims else data.sel(own)
        return str(data.attrs["units"]), np.asarray(first.values, dtype=float).ravel()
    if name in run.uncertain:
        return called(name)[2], np.asarray(run.uncertain[name], dtype=float).ravel()
    return "", np.array([])


def _lever_stop(lever: Lever, value: str, unit: str, words: Labels) -> LeverStop:
    typed = lever.command(value)
    if lever.since is not None:
        size = float(value.removesuffix("*"))
        change = as_phrase({"of": lever.name, "growth": size, "since": lever.since})
        return LeverStop(value=value, label=_stop_text(lever, size, ""), size=size, command_text=typed, change=change)
    found = parse_measured(value)
    try:
        size, own = (float(value), unit) if found is None else found
    except ValueError:
        return LeverStop(value=value, label=words(value), command_text=typed)
    if unit and own != unit:
        size = float(units.convert(size, own, unit))
    return LeverStop(value=value, label=_stop_text(lever, size, unit or own), size=size, command_text=typed)


def _stop_text(lever: Lever, size: float, unit: str) -> str:
    return f"{size:.3g} × since {lever.since:.10g}" if lever.since is not None else amount(size, unit, _STOP_DIGITS)


def _interval_text(numbers: np.ndarray[Any, Any], unit: str) -> str:
    """Say where an uncertain number lies."""
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return ""
    low, middle, high = (amount(float(each), unit) for each in np.quantile(finite, [0.05, 0.5, 0.95]))
    return f"{middle} ({low} to {high})"


def _nearest_stop(stops: list[LeverStop], size: float) -> int:
    """Return the place of the stop that is nearest, by ratio where all are positive."""
    sizes = np.array([each.size for each in stops])
    far = np.abs(np.log(sizes / size) if size > 0 and (sizes > 0).all() else sizes - size)
    return int(np.nan_to_num(far, nan=math.inf).argmin())


# --- Answers at places of levers --------------------------------------------------------------------------------------
# The answers that a page carries at places of each lever, so that a reader moves a fixed number without an engine.


#: Of the curve of the sentence's answer: each of so many points stands for an equal share of the worlds.
_N_SENTENCE_CURVE_POINTS = 50
#: Of what is ranked where a lever is moved, those that a page has.
_MAX_MOVED_ROWS = 30


@dataclass(frozen=True, kw_only=True)
class LeverAnswers:
    """The answers at places of each lever.

    Parameters
    ----------
    draws : int
        How many worlds were drawn at each.
    points : mapping of str to mapping of str to dict or str
        By lever and by what is set, as `carried_answer` has it; a text where it cannot be set to that, which says why.
    """

    draws: int
    points: Mapping[str, Mapping[str, dict[str, Any] | str]] = field(default_factory=dict)


def lever_answers(
    run: Projection,
    scenario: str | Path | Scenario,
    *,
    draws: int = N_DRAWS,
    progress: Callable[[int, int], None] | None = None,
) -> LeverAnswers:
    """Return the answers of a projection at places of each of its levers, one moved at a time.

    Parameters
    ----------
    run : Projection
    scenario : str, path or Scenario
        Of which it is one.
    draws : int
        At every place; 0 for none.
    progress : callable, optional
        Called with (places done, places in all).
    """
    points: dict[str, dict[str, dict[str, Any] | str]] = {}
    titles = answer_titles(run)
    for point in lever_points(run, scenario, draws=draws, progress=progress):
        answer = point.problem if point.run is None else carried_answer(point.run, run, titles)
        points.setdefault(point.lever.name, {})[point.value] = answer
    return LeverAnswers(draws=min(draws, run.settings.draws), points=points)


def carried_answer(run: Projection, page: Projection, page_titles: Mapping[str, str]) -> dict[str, Any]:
    """Return all that a page says of a projection without its worlds.

    Parameters
    ----------
    run : Projection
    page : Projection
        What the page is of: a value of a choice is its place there.
    page_titles : mapping of str to str
        Its `answer_titles`.

    Returns
    -------
    dict
        ``sentence`` and how it ends, ``changed``; ``answers`` to every question, and at every date of a value, under
        their own definitions; ``titles`` that are not those of the page; ``rows``, the sentence's answer under each
        value of each choice, and its ``curve``; ``orders`` and ``firsts``; ``changes`` and ``unmoved``. Dates are years
        from the start of the page, and None is what never comes.
    """
    words, opening, start, (moved, unmoved) = Labels(run), run.opening, page.span[0], moved_and_unmoved(run)
    choices = {name: list(choice.values) for name, choice in page.choices.items()}
    rows: dict[str, list[Any]] = {}
    curve: list[float | None] = []
    if isinstance(opening, (DateAnswer, ValueAnswer)):
        rows = {
            choice: [_encode(opening, {**opening.default, choice: value}, start) for value in opening.values(choice)]
            for choice in opening.choices
        }
        curve = [_round_for_page(each, start if opening.kind == "when" else 0.0) for each in _sentence_curve(opening)]
    return {
        "sentence": opening_sentence(run),
        "changed": settings_sentence(run, words),
        "answers": {_answer_key(each): _encode(each, _default(each), start) for each in _numeric(run)},
        "titles": {key: title for key, title in answer_titles(run).items() if page_titles.get(key) != title},
        "rows": rows,
        "curve": curve,
        "orders": {
            each.name: [_encode_ranking(row, each.over_choice, choices) for row in each.table] for each in run.rankings
        },
        "firsts": {
            each.name: None if each.sentence_row is None else _encode_first(each.sentence_row) for each in run.firsts
        },
        "changes": [[row.label, *row.cells] for row in moved.rows],
        "unmoved": unmoved,
    }


def _numeric(run: Projection) -> list[DateAnswer | ValueAnswer]:
    return [*run.dates, *(at for each in run.values for at in each.at)]


def answer_titles(run: Projection) -> dict[str, str]:
    """Return what the answers of a projection are called, by their keys."""
    words, rankings = Labels(run), run.rankings
    titles = {_answer_key(each): _answer_title(each, words) for each in _numeric(run)}
    return titles | {each.name: words.title(each.title or f"the {each.best} {each.text}", {}) for each in rankings}


def _default(answer: DateAnswer | ValueAnswer) -> dict[str, str]:
    """Return the definitions of an answer: those of the winner that the headline names, or else the first ones."""
    return {name: answer.run.winners.get(name, value) for name, value in answer.default.items()}


def _answer_key(answer: DateAnswer | ValueAnswer) -> str:
    return answer.name if isinstance(answer, DateAnswer) else f"{answer.name}.{answer.place}"


def _answer_title(answer: DateAnswer | ValueAnswer, words: Labels) -> str:
    if isinstance(answer, DateAnswer):
        return event(answer, {}, words, short=True)
    return f"{value_title(answer, _default(answer), words)}, {on_date(answer.date)}"


def _sentence_curve(answer: DateAnswer | ValueAnswer) -> tuple[float, ...]:
    found = answer.headline
    if found is None or found.medians is not None:
        return ()
    levels = [(place + 0.5) / _N_SENTENCE_CURVE_POINTS for place in range(_N_SENTENCE_CURVE_POINTS)]
    return tuple(map(float, answer.quantiles(levels)))


def _round_for_page(value: float, start: float = 0.0) -> float | None:
    """Return a number with the digits that a page tells apart: a date, in years from the start, to some hours."""
    if not math.isfinite(value):
        return None
    return round(value - start, 3) if start else float(f"{value:.4g}")


def _encode(answer: DateAnswer | ValueAnswer, chosen: Mapping[str, str], first: float) -> Any:
    """Return an answer under values of choices: its quantiles and shares, or the range of several medians."""
    found, start = answer.over(chosen), first if answer.kind == "when" else 0.0
    if found is None:
        return None
    shares = [_round_for_page(each) for each in (found.never, found.already, found.at_start)]
    if found.medians is None:
        return [[_round_for_page(each, start) for each in found.quantiles], *(shares if start else [])]
    nevers = [_round_for_page(each) for each in found.nevers]
    medians = [_round_for_page(each, start) for each in found.medians]
    masses = dict(zip(("never", "already", "at_start"), shares, strict=True))
    return {"medians": medians, "nevers": nevers, **masses, "count": found.count}


def _encode_ranking(row: RankingRow, over: str, choices: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return a ranking: under which values, the first of those that take part by their medians, and the best."""
    place = choices[over].index
    rows = [
        [place(each.name), _round_for_page(each.first), [_round_for_page(q) for q in each.quantiles], each.tier]
        for each in row.taking_part[:_MAX_MOVED_ROWS]
    ]
    at = {name: choices[name].index(value) for name, value in row.choices.items()}
    seldom = _round_for_page(row.seldom)
    return {"at": at, "rows": rows, "seldom": seldom, "best": None if row.best is None else place(row.best.name)}


def _encode_first(row: FirstRow) -> list[float | None] | None:
    """Return the probabilities of what comes first, then of several at once, and of none; None where it failed."""
    return None if row.failed else [_round_for_page(ends[0]) for ends in (*row.first.values(), row.together, row.none)]
