"""The answers of a projection as plain data: what ``--json`` prints and `Answer.to_dict` returns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from forecast.base.dates import iso_date_or_none, year_of
from forecast.base.json_text import none_if_not_finite
from forecast.base.quantiles import DEFAULT_LEVEL, QUANTILE_NAMES
from forecast.contract.track_record import record_sentence as track_record
from forecast.errors import printable
from forecast.evaluation.whole.scenario_scores import record_sentences
from forecast.projection.result import DateAnswer, FirstAnswer, ProjectedAnswer, Projection, RankingAnswer, ValueAnswer
from forecast.projection.result.combinations import finite_or_none, iso
from forecast.projection.result.observed_values import last_observation
from forecast.projection.result.projected_answers import AnswerDistribution, AnswerRow, FirstRow
from forecast.report.headline import Labels, opening_sentence
from forecast.report.words.date_text import age, day_text
from forecast.sensitivity.first_order import first_order, uncertain


def projection_data(
    run: Projection, *, only: Collection[str] | None = None, level: float = DEFAULT_LEVEL, full: bool = True
) -> dict[str, Any]:
    """Return all of a projection's answers.

    Parameters
    ----------
    run : Projection
    only : collection of str, optional
        The quantities whose quantiles over time are among it; by default all.
    level : float
        Of an interval of the headline's answer, which stands under ``answer`` where it is not 90 %.
    full : bool
        With what is behind the answers step by step and model by model: ``quantities``, ``limits``, ``regimes`` and
        ``models``. Else only ``sources``, those of the models, each once, and the ``quantities`` of `only`.

    Returns
    -------
    dict
        ``scenario``, ``headline``, ``answer`` (the numbers of the headline), ``today`` (what the questions are about as
        last observed), ``questions``, ``drivers``, ``quantities`` and ``models``; and ``pooled``, ``rankings``,
        ``update``, ``values``, ``first``, ``limits``, ``regimes``, ``failing``, ``record`` and ``newest`` where there
        are any.
    """
    out: dict[str, Any] = {
        "scenario": run.scenario,
        "headline": opening_sentence(run),
        "answer": None if run.opening is None else answer_data(run.opening, level),
        "today": last_observation_rows(run),
        "differences": [each.plain for each in run.differences],
        "questions": date_rows(run),
        "pooled": pooled_rows(run),
        "drivers": driver_rows(run),
        "rankings": ranking_rows(run),
        "update": update_rows(run),
        "values": value_answers(run),
        "first": first_answers(run),
        "failing": run.failing,
        "record": record_sentences(run.scenario, run.labels) or track_record(run.models),
        "newest": run.newest,
    }
    out |= {
        "limits": limit_rows(run),
        "regimes": regime_rows(run),
        "models": [{"name": name, **described} for name, described in run.models.items()],
    } if full else {"sources": model_sources(run)}  # fmt: skip
    out["quantities"] = quantity_rows(run, only=only if full else only or ())
    always = ("scenario", "headline", "questions", "drivers", "quantities", "models")
    return {key: each for key, each in out.items() if each or key in always}


def model_sources(run: Projection) -> list[str]:
    """Return the sources of the models behind a projection, each once."""
    return list(dict.fromkeys(text for described in run.models.values() for text in described.get("sources", ())))


# --- Answers ----------------------------------------------------------------------------------------------------------


def answer_data(answer: ProjectedAnswer, level: float = DEFAULT_LEVEL) -> dict[str, Any]:
    """Return the numbers that an answer's sentence says.

    Returns
    -------
    dict
        ``name``, ``kind``, ``asks``, ``unit``, ``choices`` and, of a date, ``crossing`` as in `date_rows`; of a value
        ``p05`` to ``p95`` at the ``date``; of what comes first and of rankings their rows. ``medians`` are the lowest
        and the highest where rivals have no weights.
    """
    about: dict[str, Any] = {"name": answer.name, "kind": answer.kind, "asks": answer.text, "unit": answer.unit}
    if isinstance(answer, FirstAnswer):
        row = answer.sentence_row
        return {**about, "choices": {} if row is None else row.choices, **_event_probabilities(answer, row)}
    if isinstance(answer, RankingAnswer):
        return {**about, "rows": list(_ranking_answer_rows(answer))}
    found = answer.headline
    about["choices"] = answer.default
    if found is not None and found.medians is not None:
        nevers = {"never": list(found.nevers)} if answer.kind == "when" else {}
        return {**about, "medians": _ends(answer, found.medians), **nevers}
    if level != DEFAULT_LEVEL and found is not None:
        low, high = _ends(answer, answer.interval(level))
        about["interval"] = {"level": level, "low": low, "high": high}
    if isinstance(answer, DateAnswer):
        return {**about, "crossing": _date_row(found)}
    assert isinstance(answer, ValueAnswer)
    return {**about, "date": answer.date, **_quantile_dict(found)}


def _ends(answer: ProjectedAnswer, ends: tuple[float, float]) -> list[float | str | None]:
    """Return the ends of an interval: of dates ISO, None inside *never*."""
    return [iso_date_or_none(end) if answer.kind == "when" else none_if_not_finite(end) for end in ends]


def _quantile_dict(found: AnswerDistribution | None) -> dict[str, float | None]:
    return dict(zip(QUANTILE_NAMES, [None] * 5 if found is None else finite_or_none(found.quantiles), strict=True))


def _date_row(found: AnswerDistribution | None) -> dict[str, Any]:
    """Return a date: ISO quantiles, None inside the never mass, and probabilities; None throughout where it failed."""
    if found is None:
        return dict.fromkeys([*QUANTILE_NAMES, "never", "already", "error"])
    masses = {"never": found.never, "already": found.already, "error": none_if_not_finite(found.error)}
    return {**dict(zip(QUANTILE_NAMES, map(iso_date_or_none, found.quantiles), strict=True)), **masses}


def date_rows(run: Projection) -> list[dict[str, Any]]:
    """Return every date in every combination of choices.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``when``, ``choices``, and ``crossing``: ISO dates ``p05`` to ``p95`` (None inside the
        never mass), the probabilities ``already`` and ``never``, and ``error``, the Monte Carlo error of the median in
        years (None where worlds are too few to tell, or it is never). An unanswered one has None throughout. A question
        with dates also has ``dates``: each ``date`` with the ``probability`` that it is so by then.
    """
    words = Labels(run)
    return [_date_answer_row(each, row, words) for each in run.dates for row in each.rows if row.weights is None]


def pooled_rows(run: Projection) -> list[dict[str, Any]]:
    """Return each question's date over rivals that are pooled by their stated weights, for every definition.

    Returns
    -------
    list of dict
        As `date_rows`, with the weights by choice under ``weights``; of questions all of whose rivals have weights. A
        question that no rival touches is not repeated here.
    """
    words = Labels(run)
    return [_date_answer_row(each, row, words) for each in run.dates for row in each.pooled_rows]


def _weights(row: AnswerRow) -> dict[str, Any]:
    """Return the weights by choice of a row that is pooled."""
    if row.weights is None:
        return {}
    return {"weights": {choice: list(weights) for choice, weights in row.weights.items()}}


def _date_answer_row(answer: DateAnswer, row: AnswerRow, words: Labels) -> dict[str, Any]:
    found = row.distribution
    about = {"name": answer.name, "title": words.title(answer.title, row.choices), "when": answer.text}
    out: dict[str, Any] = {**about, "choices": row.choices, "crossing": _date_row(found)}
    if answer.dates:
        by = [None] * len(answer.dates) if found is None else map(none_if_not_finite, found.by)
        out["dates"] = [{"date": date, "probability": share} for date, share in zip(answer.dates, by, strict=True)]
    return out | _weights(row)


def last_observation_rows(run: Projection) -> list[dict[str, Any]]:
    """Return what the questions are about as it was last observed, for those that somebody observes.

    Returns
    -------
    list of dict
        ``name`` of the question, ``of`` (the formula), ``value``, ``unit``, ``date``, and ``row``, what the observation
        is called.
    """
    every = ((each.name, last_observation(each)) for each in (*run.dates, *run.values))
    return [{"name": name, **asdict(found)} for name, found in every if found is not None]


def value_answers(run: Projection) -> list[dict[str, Any]]:
    """Return the answers to value questions, in every combination of choices, and pooled over weighted rivals.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``value`` or ``growth`` (the expression), ``unit``, ``choices``, and ``dates``: each
        ``date`` with the quantiles ``p05`` to ``p95``, None where it failed. Over rivals there is a row for every
        definition, with the ``weights`` by choice; where worlds are counted, it is of those that are kept.
    """
    out = []
    for answer in run.values:
        formula = {"growth" if answer.growth else "value": answer.text}
        about = {"name": answer.name, "title": answer.title, **formula, "unit": answer.unit}
        for rows in zip(*(each.rows for each in answer.at), strict=True):
            dates = [
                {"date": date, **_quantile_dict(row.distribution)} for date, row in zip(answer.dates, rows, strict=True)
            ]
            out.append({**about, "choices": rows[0].choices, "dates": dates, **_weights(rows[0])})
    return out


def first_answers(run: Projection) -> list[dict[str, Any]]:
    """Return which of several questions' dates comes first, in every combination of choices.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``choices``, ``first``: each question with the probability that its date comes before
        those of all others; ``together`` (several of them on the same first date, as where more than one is so
        already) and ``none`` (none by the last step). None where one of them failed.
    """
    return [
        {"name": answer.name, "title": answer.title, "choices": row.choices, **_event_probabilities(answer, row)}
        for answer in run.firsts
        for row in answer.table
    ]


def _event_probabilities(answer: FirstAnswer, row: FirstRow | None) -> dict[str, Any]:
    if row is None:
        return {"first": dict.fromkeys(answer.events), "together": None, "none": None}
    first = {event: _probability_or_range(ends) for event, ends in row.first.items()}
    return {"first": first, "together": _probability_or_range(row.together), "none": _probability_or_range(row.none)}


def _probability_or_range(ends: tuple[float, float]) -> float | list[float] | None:
    """Return a probability, or the lowest and the highest where rivals have no weights."""
    return list(ends) if ends[0] < ends[1] else none_if_not_finite(ends[0])


def ranking_rows(run: Projection) -> list[dict[str, Any]]:
    """Return every ranking in every combination of the other choices.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``rank``, ``over``, ``best``, ``among`` (the conditions), ``unit``, ``choices``, and
        ``order``: best median first, each with its ``name``, the quantiles ``p05`` to ``p95``, the probability
        ``first`` of being the best, ``among`` of taking part at all, and its ``tier`` (0: none). Those that seldom take
        part come last; where the question says ``ordered``, only those that never do.
    """
    return [row for answer in run.rankings for row in _ranking_answer_rows(answer)]


def _ranking_answer_rows(answer: RankingAnswer) -> Iterator[dict[str, Any]]:
    about = {
        "name": answer.name, "title": answer.title, "rank": answer.text, "over": answer.over_choice,
        "best": answer.best, "among": answer.conditions, "unit": answer.unit,
    }  # fmt: skip
    for row in answer.table:
        order = [
            {"name": each.name, **_quantile_dict(each), "first": each.first, "among": each.among, "tier": each.tier}
            for each in row.order
        ]
        yield {**about, "choices": row.choices, "order": order}


# --- What moves it, limits --------------------------------------------------------------------------------------------


def driver_rows(run: Projection, *, least: float = 0.02, only: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return what moves each question's date: its ``name``, and ``drivers`` with a share of at least `least`.

    ``note`` says so where of what is drawn a number comes first that somebody stated, and no data were fitted to.
    """
    among, out = uncertain(run), []
    for name in [each.name for each in run.dates] if only is None else only:
        rows = [row for row in first_order(run, name, among=among) if row["share"] >= least]
        first = next((row["name"] for row in rows if row["kind"] == "number"), "")
        note = _assumption_row(run, first) if first else ""
        out.append({"name": name, "drivers": rows, **({"note": note} if note else {})})
    return out


def _assumption_row(run: Projection, number: str) -> str:
    """Say of an uncertain number that it is stated, with its range and source; nothing of one that is fitted."""
    kind = run.quantities[number].kind if number in run.quantities else ""
    if kind == "regime":
        return f"of what is drawn '{number}' comes first, whose probabilities are stated and not measured"
    if kind == "prior":
        return f"of what is drawn '{number}' comes first, which the scenario states and no data were fitted to"
    owner, _, short = number.rpartition(".")
    lines = run.models.get(owner, {}).get("assumptions", ())
    line = next((line for line in lines if line.startswith(f"{short} [")), "")
    return f"of what is drawn '{number}' comes first, a number that is stated and not fitted: {line}" if line else ""


def limit_rows(run: Projection) -> list[dict[str, Any]]:
    """Return where and when the limits of quantities bind, in every combination of choices.

    A limit binds where it takes more than 1 % off what the quantity would be without it.

    Returns
    -------
    list of dict
        ``name``, ``bound`` (``limit`` or ``at_least``), ``expression``, ``how`` (of a limit), ``choices``, ``time``
        (ISO dates), ``binds`` (the share of worlds at each of them), ``ever`` (the share in which it binds at all), and
        ``first``: when it first does, ISO dates ``p05`` to ``p95`` among those worlds, None where there are none.
    """
    stamps = [iso(t) for t in run.time] if run.limits else []
    return [
        {
            "name": each.name,
            "bound": each.bound,
            "expression": each.expression,
            **({"how": each.how} if each.how else {}),
            "choices": each.choices,
            "time": stamps,
            "binds": finite_or_none(each.probability),
            "ever": each.ever,
            "first": each.first,
        }
        for each in run.limits
    ]


# --- Quantities -------------------------------------------------------------------------------------------------------


def quantity_rows(run: Projection, *, only: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return the quantiles of quantities at every step, in every combination of choices; for `regime_rows` see there.

    Parameters
    ----------
    run : Projection
    only : collection of str, optional
        Leave out all others.

    Returns
    -------
    list of dict
        ``name``, ``unit``, ``choices``, ``time`` (ISO dates) and the lists ``p05`` to ``p95``.
    """
    stamps, out = [iso(t) for t in run.time], []
    for name in run.numeric:
        quantity = run.quantities[name]
        for chosen in quantity.cells if only is None or name in only else ():
            rows = dict(zip(QUANTILE_NAMES, map(finite_or_none, quantity.quantiles(chosen)), strict=True))
            out.append({"name": name, "unit": quantity.unit, "choices": chosen, "time": stamps, **rows})
    return out


def regime_rows(run: Projection) -> list[dict[str, Any]]:
    """Return how likely each regime is, in every combination of the choices on which that depends.

    Returns
    -------
    list of dict
        ``name``, ``choices`` and ``shares``: each label with its share of the worlds.
    """
    return [
        {"name": name, "choices": chosen, "shares": quantity.probabilities(chosen)}
        for name, quantity in run.quantities.items()
        if quantity.kind == "regime"
        for chosen in quantity.cells
    ]


def update_rows(run: Projection) -> list[dict[str, Any]]:
    """Return how many worlds are effective under what is known besides, in every combination on which that depends.

    Returns
    -------
    list of dict
        ``of`` (the quantities of which something is known), ``choices``, ``draws`` and ``effective``; empty where
        worlds count alike.
    """
    about = {"of": run.updated_by, "draws": run.settings.draws}
    return [{**about, "choices": chosen, "effective": count} for chosen, count in run.effective()]


# --- Data -------------------------------------------------------------------------------------------------------------


def newest_data(run: Projection, today: str = "", most: int = 2) -> str:
    """Return how far the data behind a projection reach as a clause, the newest first; empty where no date is known.

    Parameters
    ----------
    run : Projection
    today : str
        ISO; by it the ages of data are said. Without it their dates are, so that it says the same on every day.
    most : int
        The number of tables that are named.
    """
    ages, words, texts = sorted(run.newest.items(), key=lambda item: item[1], reverse=True), Labels(run), []
    for name, date in ages[:most]:
        plugin, _, own = name.rpartition("/")  # a table, else a file or a quantity
        short = words(name) if name in words else printable(own.replace("-", " ") if plugin else own, 60)
        years = year_of((today or date)[:7]) - year_of(date[:7])  # by the months that are said
        texts.append(f"{short} {date[:7]} ({age(years) if years >= 0 else 'planned'})" if today else f"{short} {date}")
    more = f", and {len(ages) - len(texts)} more to {ages[-1][1][:7]}" if len(ages) > len(texts) else ""
    return f"Newest data{f' on {day_text(today)}' if today else ''}: {', '.join(texts)}{more}" if texts else ""


# --- As one table -----------------------------------------------------------------------------------------------------
# A projection as one table of plain columns, for spreadsheets, R and data frames.
#
# Every row is one answer or one step: of a *question* (its quantiles are dates as decimal years), of the same *pooled*
# over rivals, of the *probability* that it is so by a date, of a *value* at a date, of what comes *first*, of a
# *ranking*, of a *regime*, or of a *quantity* at a date. A cell that does not apply is empty; so is a
# quantile inside the never mass.


_LEADING_COLUMNS = ("kind", "name", "of", "unit")
_TRAILING_COLUMNS = ("date", *QUANTILE_NAMES, "probability", "already", "never")


def tidy_columns(run: Projection, *, only: Collection[str] = ()) -> dict[str, list[Any]]:
    """Return the table: ``kind``, ``name``, ``of``, ``unit``, a column for each choice, ``date``, and the figures.

    Parameters
    ----------
    run : Projection
    only : collection of str
        Only the steps of these quantities. Default: everything.

    Returns
    -------
    dict of list
        ``p05`` to ``p95``, ``probability``, ``already`` and ``never`` are numbers, or None. ``of`` is what a row speaks
        of beyond its name: a condition, one of several questions, one value of a ranking or of a regime. A choice over
        which a row is pooled, or on which it does not depend, is empty.
    """
    choices = list(run.choices)
    own_columns = (*_LEADING_COLUMNS, *_TRAILING_COLUMNS)
    heads = {name: f"{name} (choice)" if name in own_columns else name for name in choices}
    names = [*_LEADING_COLUMNS, *heads.values(), *_TRAILING_COLUMNS]
    table: dict[str, list[Any]] = {name: [] for name in names}
    for row, chosen in _step_rows(run, only) if only else _tidy_rows(run):
        whole = {**row, **{heads[c]: value for c, value in chosen.items()}}
        for name in names:
            table[name].append(whole.get(name))
    return table


Row = tuple[dict[str, Any], Mapping[str, str]]


def _tidy_rows(run: Projection) -> Iterator[Row]:
    for kind, rows in (("question", date_rows(run)), ("pooled", pooled_rows(run))):
        for row in rows:
            about = {"name": row["name"], "of": row["when"]}
            dates = {q: day and year_of(day) for q, day in row["crossing"].items() if q in QUANTILE_NAMES}
            yield {"kind": kind, **about, "unit": "year", **row["crossing"], **dates}, row["choices"]
            yield from (({"kind": "probability", **about, **by}, row["choices"]) for by in row.get("dates", ()))
    for row in value_answers(run):
        about = {"kind": "value", "name": row["name"], "of": row.get("value", row.get("growth")), "unit": row["unit"]}
        yield from (({**about, **at}, row["choices"]) for at in row["dates"])
    for row in first_answers(run):
        about = {"kind": "first", "name": row["name"]}
        for event, share in {**row["first"], "(together)": row["together"], "(none)": row["none"]}.items():
            yield {**about, "of": event, "probability": share}, row["choices"]
    for row in ranking_rows(run):
        about = {"kind": "ranking", "name": row["name"], "unit": row["unit"]}
        for entry in row["order"]:
            yield {**entry, **about, "of": entry["name"], "probability": entry["first"]}, row["choices"]
    for row in regime_rows(run):
        for label, share in row["shares"].items():
            yield {"kind": "regime", "name": row["name"], "of": label, "probability": share}, row["choices"]
    yield from _step_rows(run, None)


def _step_rows(run: Projection, only: Collection[str] | None) -> Iterator[Row]:
    for row in quantity_rows(run, only=only):
        about = {"kind": "quantity", "name": row["name"], "unit": row["unit"]}
        for i, date in enumerate(row["time"]):
            yield {**about, "date": date, **{q: row[q][i] for q in QUANTILE_NAMES}}, row["choices"]
