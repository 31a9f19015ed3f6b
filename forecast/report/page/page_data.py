"""What the page of an answer holds, as plain data: what a reader reads, and what the script draws from."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import units
from forecast.base.dates import decimal_year
from forecast.errors import ForecastError
from forecast.projection.result import DateAnswer, FirstAnswer, ProjectedAnswer, Projection, RankingAnswer, ValueAnswer
from forecast.projection.result.observed_values import threshold
from forecast.projection.result.projected_answers import WORSE_SHARE
from forecast.report.brief import brief
from forecast.report.headline import (
    MAX_NAMED,
    MAX_SENTENCE_COMBINATIONS,
    MIN_CLEAR_PROBABILITY,
    MIN_SELDOM_SHARE,
    Labels,
    authored_sentences,
    contestant,
    event,
    is_at_bound,
    now_of,
    on_date,
    opening_sentence,
    settings_sentence,
    value_title,
)
from forecast.report.page import image_address
from forecast.report.page.appendices import AssumptionLabels, about, appendices, foreign
from forecast.report.page.draw_encoding import EncodedDraws, EncodedValues, encode_codes, shorter, to_base64
from forecast.report.page.lever_controls import LeverAnswers, answer_titles, carried_answer, lever_controls
from forecast.report.page.tornado_data import tornado_data
from forecast.report.rows import COLUMNS, MAX_RANKING_COMBINATIONS, date_columns, question_label, race_group
from forecast.report.words.number_text import amount, percent, scale_of
from forecast.report.words.patterns import fill, load_patterns
from forecast.scenarios.authored_sentences import CONTENDER_SLOT, SLOT, SLOTS
from forecast.scenarios.quantities.levers import Lever
from forecast.sensitivity.first_order import certain, uncertain
from forecast.sensitivity.lever_points import computed_points

if TYPE_CHECKING:
    from forecast.base.lazy import xr
    from forecast.scenarios.scenario import Scenario

#: What follows the events of a race: several of them at once, and none.
_TOGETHER_OR_NONE = ("several_at_once", "none_of_them")


def page_contents(run: Projection, worlds: EncodedDraws, data: Mapping[str, Any], toml: str = "") -> dict[str, Any]:
    """Return what the page says, for its template.

    Parameters
    ----------
    run : Projection
    worlds : EncodedDraws
    data : mapping
        What its script draws from: see `answer_data`.
    toml : str
        The scenario that repeats the answer.
    """
    short, words = brief(run), Labels(run)
    return {
        "title": foreign(run.title or run.scenario),
        "brief": short,
        "replaced": _is_steerable(run, worlds),
        "races": [race_group(each, words) for each in run.firsts],
        "moves": data["tornado"],
        "levers": [
            (foreign(each.label), foreign(each.span), each.choice, foreign(each.command())) for each in run.levers
        ],
        "figure": _image_address(run),
        **about(run, worlds),
        **appendices(run, toml),
        "percent": percent,
        "version": run.provenance["versions"]["lawcast"],
    }


def _is_steerable(run: Projection, worlds: EncodedDraws) -> bool:
    """Tell whether the script answers what the sentence says."""
    opening = run.opening
    return opening is not None and (opening.kind != "rank" or opening.name in worlds.orders)


def _image_address(run: Projection) -> str:
    """Return the figure of the answer as the address of an image; nothing where there is nothing to draw."""
    from forecast.report.figures import plot_projection

    try:
        return image_address(functools.partial(plot_projection, run))
    except ForecastError:
        return ""


# --- What the script draws from ---------------------------------------------------------------------------------------


def answer_data(run: Projection, worlds: EncodedDraws, lever_answers: LeverAnswers | None = None) -> dict[str, Any]:
    """Return what the script draws from: the worlds, what everything in them is called, and the patterns of sentences.

    ``lawcast.show`` of the page takes it as it is.

    Parameters
    ----------
    run : Projection
    worlds : EncodedDraws
    lever_answers : LeverAnswers, optional
        The answers at places of its levers, where no engine gives them.
    """
    words, weights = Labels(run), worlds.weights
    first, last = run.span
    described, opening = _Assumptions(run, worlds), run.opening
    return {
        "count": worlds.count,
        "drawn": worlds.drawn,
        "inputs": [described(name) | shorter(ranks.packed()) for name, ranks in worlds.inputs.items()],
        "held": {name: to_base64(places.astype(np.uint8)) for name, places in worlds.rival_of_draw.items()},
        "weights": None if weights is None else {
            "dims": [str(d) for d in weights.dims[:-1]], "data": to_base64(np.nan_to_num(weights.values).astype("<f4")),
        },
        "orders": [shorter(_ranking_data(run, words, each.packed())) for each in worlds.orders.values()],
        "paths": list(_path_data(run, words, worlds.paths)),
        "patterns": load_patterns(),
        "given": f"Given {foreign(' and '.join(run.given))}: " if run.given else "",
        "sentence": opening_sentence(run),
        "changed": settings_sentence(run, words),
        "opens": {"name": "" if opening is None else opening.name, "kind": "" if opening is None else opening.kind},
        "winners": {name: run.choices[name].values.index(value) for name, value in run.winners.items()},
        "start": first,
        "observed": bool(run.newest),
        "certain": certain(run),
        "clear": MIN_CLEAR_PROBABILITY,
        "worse": WORSE_SHARE,
        "seldom": MIN_SELDOM_SHARE,
        "until": last,
        "choices": list(_choice_data(run, words)),
        "levers": list(_lever_data(run, lever_answers)),
        "tornado": tornado_data(run, worlds),
        "stated": carried_answer(run, run, answer_titles(run)),
        "moved_draws": 0 if lever_answers is None else lever_answers.draws,
        "questions": [
            _question_row(worlds.answers[name, 0], words) | {"sides": worlds.sides(name)} | encode_codes(each)
            for name, each in worlds.questions.items()
        ],
        "firsts": [_contest_row(each, words) for each in run.firsts],
        "columns": COLUMNS | {"date": date_columns(last)},
        "most_orders": MAX_RANKING_COMBINATIONS,
        "most_said": MAX_SENTENCE_COMBINATIONS,
        "most_named": MAX_NAMED,
        "values": [
            shorter(
                {"name": name, "place": place, **encode_codes(each)} | _question_row(worlds.answers[name, place], words)
                | {"sides": worlds.sides(name), "scales": unit_scales(each.unit)}
            )
            for (name, place), each in worlds.values.items()
        ],
    }  # fmt: skip


def paths_read(scenario: Scenario) -> set[str] | None:
    """Return the quantities whose paths `answer_data` reads; None where these are all."""
    if not scenario.shown:
        return None
    groups: tuple[Mapping[str, Any], ...] = (scenario.questions, scenario.figures, scenario.rankings)
    needed = {name for group in groups for question in group.values() for name in question.needs}
    levers = {lever.name for lever in scenario.levers}
    return scenario.quantities.keys() & {*scenario.shown, *levers, *needed}


def _lever_data(run: Projection, lever_answers: LeverAnswers | None) -> Iterator[dict[str, Any]]:
    """Walk the levers: choices by their names, and numbers with the places at which they can stand."""
    places = Lever.points if lever_answers is None else functools.partial(computed_points, run)
    controls = {each.name: each for each in lever_controls(run, places)}
    for lever in run.levers:
        if lever.choice and lever.name in run.choices:
            yield {"name": lever.name, "label": foreign(lever.label), "about": foreign(lever.about), "choice": True}
        if lever.name not in controls:
            continue
        control = controls[lever.name]
        points = {} if lever_answers is None else lever_answers.points.get(lever.name, {})
        answers = [points.get(stop.value) for stop in control.stops]
        yield control.plain | ({"answers": answers} if points else {})


def settable(run: Projection, worlds: EncodedDraws, units_of: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the assumptions that an engine behind the page can set, as `answer_data` has those that it can narrow.

    Parameters
    ----------
    run : Projection
    worlds : EncodedDraws
    units_of : mapping of str to str
        The units in which they are set, by what ``--set`` calls them: assumptions of the projection, or a fitted
        parameter of all models of a quantity, ``QUANTITY.PARAMETER``.
    """
    described, numbers = _Assumptions(run, worlds), uncertain(run)
    out = []
    for name, unit in units_of.items():
        if name in numbers:
            values = [] if numbers[name].moves else [float(numbers[name].draws[0])]
        elif name.rpartition(".")[0] in run.quantities:
            values = []
        else:  # no answer depends on it
            continue
        out.append(described(name, unit) | {"unit": unit, "values": values})
    return out


class _Assumptions:
    """What assumptions are called on the page, and how their values are written."""

    def __init__(self, run: Projection, worlds: EncodedDraws) -> None:
        self._called, self._words, self._labels = AssumptionLabels(run), Labels(run), worlds.labels

    def __call__(self, name: str, unit: str = "") -> dict[str, Any]:
        label, of, own_unit, _ = self._called(name)
        out = {"name": name, "label": label, "of": of, "scales": unit_scales(own_unit or unit)}
        if name in self._labels:
            out["labels"] = [self._words(each) for each in self._labels[name]]
        return out


def _path_data(run: Projection, words: Labels, paths: Mapping[str, EncodedValues]) -> Iterator[dict[str, Any]]:
    """Walk the quantities over time, with what makes those of one dimension comparable; none where all stand still."""
    if all(run.quantities[name].still for name in paths):
        return
    for name, codes in paths.items():
        unit = codes.unit
        base = next(each.unit for each in paths.values() if units.same_dimension(each.unit, unit))
        about = {"label": words(name), "scales": unit_scales(unit), "points": _observation_points(run, name)}
        about["past"] = list(_past_points(run, name))
        scale = {"dimension": base, "factor": float(units.convert(np.array([1.0]), unit, base)[0])}
        yield shorter({"name": name, **about, **scale, **encode_codes(codes)})


def _choice_data(run: Projection, words: Labels) -> Iterator[dict[str, Any]]:
    """Walk the choices: those that stand side by side, those that are pooled, and those that nobody has weighed."""
    for name, choice in run.choices.items():
        values = [{"name": value, "label": words(value)} for value in choice.values]
        kind = "rival" if choice.weights is not None else "definition" if choice.kind == "definition" else "open"
        weights = {} if choice.weights is None else {"weights": choice.weights}
        yield {"name": name, "label": words(name), "values": values, "kind": kind, **weights}


def _question_row(answer: ProjectedAnswer, words: Labels) -> dict[str, Any]:
    """Return what is asked: its clause under every combination of the definitions, and which rivals are pooled."""
    own = list(answer.default)
    chosen = list(answer.combinations(own))
    if isinstance(answer, ValueAnswer):
        clauses = [value_title(answer, each, words) for each in chosen]
        more: dict[str, Any] = {"on": on_date(answer.date), "last": answer.place == len(answer.dates) - 1}
        more |= {"undated": True} if answer.undated else {}
        more |= {"bounded": True} if is_at_bound(answer) else {}
    else:
        assert isinstance(answer, DateAnswer)
        clauses = [event(answer, each, words) for each in chosen]
        more = {"short": event(answer, {}, words), **_threshold_record(answer)}
    for each in chosen if answer.name in answer.run.says else ():
        observed, now = now_of(answer, each)
        own_words = {"sentences": authored_sentences(answer, each, words), "observed": observed, "now": now}
        more.setdefault("authored", []).append(own_words)
    about = {"own": own, "said": clauses, "rivals": list(answer.rivals), "called": question_label(answer, {}, words)}
    return {"name": answer.name, **about, **more}


def _contest_row(answer: FirstAnswer, words: Labels) -> dict[str, Any]:
    """Return what is asked to come first, with its questions."""
    title = answer.title or "what comes first"
    return {
        "name": answer.name,
        "title": words.title(title, {}),
        "stated": foreign(title),
        "events": answer.events,
        "labels": [*(contestant(answer.run, each, words) for each in answer.events), *map(fill, _TOGETHER_OR_NONE)],
    }


def _ranking_data(run: Projection, words: Labels, packed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ranking with its titles under every combination of its other choices."""
    ranking = next(each for each in run.rankings if each.name == packed["name"])
    title = ranking.title or f"the {ranking.best} {ranking.text}"
    chosen = list(ranking.combinations(packed["dims"]))
    authored: dict[str, Any] = {}
    if ranking.name in run.says:
        authored["authored"] = [authored_sentences(ranking, each, words) for each in chosen]
        authored["own"] = [_contender_texts(ranking, each, words) for each in chosen]
    return {
        **packed,
        "short": words.title(words.short(packed["name"], title), {}),
        "said": [words.title(title, each) for each in chosen],
        "given": [words.given(each) for each in chosen],
        **authored,
        "amounts": unit_scales(packed["values"]["unit"]),
        "slots": SLOTS["rank"],
        "lowest": ranking.best == "lowest",
        "meets": foreign(" and ".join(ranking.conditions) or "what is asked"),
        "scales": unit_scales(packed["values"]["unit"], together=True),
    }


def _contender_texts(ranking: RankingAnswer, chosen: Mapping[str, str], words: Labels) -> dict[str, list[str]]:
    """Return what an author's sentences say of a quantity of what is first or second, for each that is ranked."""
    written = " ".join(ranking.run.says[ranking.name].values())
    slots = dict.fromkeys(filter(CONTENDER_SLOT.search, SLOT.findall(written)))  # in their order, so equal bytes
    values = ranking.run.choices[ranking.over_choice].values
    over = [{**chosen, ranking.over_choice: value} for value in values]
    return {slot: [words.slot(CONTENDER_SLOT.sub("", slot), each) for each in over] for slot in slots}


def _threshold_record(answer: DateAnswer) -> dict[str, Any]:
    """Return the number that a question compares one quantity with: in the quantity's unit, and as the question has it.

    ``factor`` makes the quantity's unit that of the question, whose names are ``scales``.
    """
    found, quantities = threshold(answer), answer.run.quantities
    if found is None or found.of not in quantities:
        return {}
    own = quantities[found.of].unit
    value = units.convert(np.array([found.value]), found.unit, own)
    spoken = {"factor": float(units.convert(1.0, own, found.stated)), "scales": unit_scales(found.stated)}
    return {"threshold": {"of": found.of, "value": float(value[0]), **spoken}}


def _observation_points(run: Projection, name: str) -> list[list[Any]]:
    """Return the data behind a quantity: decimal year, value, and the choices that it belongs to."""
    if f"observed/{name}" not in run:
        return []
    data = run.dataset(f"observed/{name}")
    rows = zip(decimal_year(data["date"].values), data["value"].values, _point_choices(data), strict=True)
    return [[round(float(year), 3), float(f"{value:.5g}"), own] for year, value, own in rows]


def _point_choices(data: xr.Dataset) -> list[dict[str, str]]:
    """Return the values of choices to which each point belongs."""
    marks = [str(c) for c in data.coords if c != "date" and data[c].dims == ("point",)]
    return [{mark: str(data[mark].values[place]) for mark in marks} for place in range(data.sizes["point"])]


def _past_points(run: Projection, name: str) -> Iterator[list[Any]]:
    """Walk the fitted past of a quantity as it is drawn: decimal year, quantiles, and the choices it belongs to."""
    if f"past/{name}" not in run:
        return
    data = run.dataset(f"past/{name}")
    before: list[Any] = []
    years = decimal_year(data["date"].values)
    for year, levels, own in zip(years, data["level"].values.T, _point_choices(data), strict=True):
        row = [round(float(year), 3), [float(f"{each:.5g}") for each in levels], own]
        if before and before[2] == row[2] and data["level"].attrs["keeps"] == "frontier":
            yield [row[0], *before[1:]]  # a record stands until the next
        if before[1:] != row[1:]:
            yield row
        before = row


@functools.cache
def unit_scales(unit: str, *, together: bool = False) -> list[list[Any]]:
    """Return at what sizes a unit changes its name, what it is then worth and called: for whoever writes numbers.

    Parameters
    ----------
    unit : str
    together : bool
        Several numbers stand under one name of the unit, which is that of the middle one.

    Examples
    --------
    >>> unit_scales("USD")[:3]
    [[0.0, 0.01, 'cents'], [1.0, 1.0, 'USD'], [1000000.0, 1000000.0, 'million USD']]
    """
    out: list[list[Any]] = []
    for power in range(-12, 31):
        size = 10.0**power
        if together:
            factor, called = scale_of([2 * size], unit)
        else:
            number, _, called = amount(2 * size, unit).partition(" ")
            factor = float(f"{2 * size / float(number.replace(',', '')):.3g}")
        if not out or [factor, called] != out[-1][1:]:
            out.append([size if out else 0.0, factor, called])
    return out
