"""What plugins bring, by words of its names, titles, units and sources; and the quantities of the world."""

from __future__ import annotations

import contextlib
import functools
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from forecast.base.dates import today
from forecast.base.record_list import RecordList
from forecast.contract.registry import Record, get_registry
from forecast.contract.specs import (
    EstimateSpec,
    LawSpec,
    ModelSpec,
    QuantitySpec,
    RelationSpec,
    ScenarioSpec,
    TableSpec,
    TrendSpec,
)
from forecast.errors import DataError, ForecastError, UsageError, nearest, printable
from forecast.scenarios.registered import read_scenario

#: The kinds that are searched, in the order in which equals are listed.
SEARCHED_KINDS = ("quantity", "scenario", "model", "law", "table")
#: A word counts so much in a name, in a title and elsewhere; half of it where it is only a part of a word there.
NAME_SCORE, TITLE_SCORE, OTHER_SCORE = 100.0, 10.0, 1.0
_WORD_PATTERN = re.compile(r"[^\W_]+")
#: Most words of one search, each of which is looked for in every record.
MAX_SEARCH_WORDS = 50


def find(words: str) -> RecordList:
    """Find quantities, scenarios, models, laws and tables by words of their names, titles, units and sources.

    Parameters
    ----------
    words : str
        Every one must stand in the name, the title, a unit, a column or the reference.

    Returns
    -------
    RecordList
        ``kind``, ``name``, ``title``, ``unit`` and who brings it, the best first.

    Examples
    --------
    >>> import forecast
    >>> forecast.find("linpack top500")[0]["name"]
    'hardware/supercomputer-hpl'
    """
    _, rows, nothing = find_records([words])
    return RecordList(rows, headline=nothing, columns=("kind", "name", "title"))


def quantities(name: str = "", *, values: bool = False) -> RecordList:
    """List the quantities of the world that can be asked for, or describe one: definition, bounds, forecast, rivals.

    Parameters
    ----------
    name : str
        Of one; by default all are listed.
    values : bool
        List what each stands at today and its forecast for 2030 too, which takes half a minute.

    Returns
    -------
    RecordList

    Examples
    --------
    >>> import forecast
    >>> forecast.quantities("largest-run")[0]["unit"]
    'FLOP'
    """
    registry = get_registry().complete()
    if name:
        return RecordList([record_details(registry.find("quantity", name), describe_quantity)])
    columns = QUANTITY_COLUMNS | (QUANTITY_VALUES if values else {})
    return RecordList(record_rows(registry.records("quantity"), columns), columns=("name", *columns, "title"))


def find_records(words: Iterable[str]) -> tuple[list[Record], list[dict[str, Any]], str]:
    """Return the records that match all words, the best first; these as plain data; and a sentence if there are none.

    Raises
    ------
    UsageError
        If there is no word, or there are too many.
    """
    search_words = [*dict.fromkeys(word for text in words for word in text.casefold().split())]
    if not 0 < len(search_words) <= MAX_SEARCH_WORDS:
        raise UsageError(f"expected 1 to {MAX_SEARCH_WORDS} different words to look for, got {len(search_words):,}")
    registry = get_registry().complete()
    records = [r for kind in SEARCHED_KINDS for r in registry.records(kind, parts=False)]
    # parsing the files of all tables and scenarios takes longer than the rest: those that lack a word are left out
    texts = {(r.spec.kind, r.full_name): (r, _search_texts(r)) for r in records if _may_hold(r, search_words)}
    worths = {key: _match_score(search_words, searched) for key, (_, searched) in texts.items()}

    def order(key: tuple[str, str]) -> tuple[bool, float, int, str]:  # what can be asked by these words is first
        called = " ".join(texts[key][1][:2])
        asked = key[0] == "quantity" and all(word in called for word in search_words)
        return not asked, -worths[key], SEARCHED_KINDS.index(key[0]), key[1]

    found = [texts[key][0] for key in sorted((key for key, worth in worths.items() if worth), key=order)]
    result = [
        {"kind": r.spec.kind, "name": r.full_name, "title": r.spec.title, "unit": _record_unit(r), **record_origin(r)}
        for r in found
    ]
    return found, result, "" if found else _no_match_text(search_words, [_search_texts(r) for r in records])


def _may_hold(record: Record, words: Iterable[str]) -> bool:
    """Tell whether the words may stand in what is searched of a record, by the text of its file, unread as such."""
    spec = record.spec
    if not isinstance(spec, (TableSpec, ScenarioSpec)):
        return True
    file = Path(spec.descriptor if isinstance(spec, TableSpec) else spec.path)
    try:
        whole = f"{record.full_name} {spec.title} {spec.kind} {spec.reference} {file.read_text('utf-8')}".casefold()
    except (OSError, ValueError):
        return True
    # what is not plain may be written otherwise in a file
    return all(word in whole or re.fullmatch(r"[\w.-]+", word, re.ASCII) is None for word in words)


def _search_texts(record: Record) -> tuple[str, str, str]:
    """Return the texts of a record that are searched: its name, its title, and all the rest."""
    spec = record.spec
    rest = [spec.kind, spec.reference, *_other_texts(record)]
    titles = [spec.title, *(spec.synonyms if isinstance(spec, QuantitySpec) else ())]
    return record.full_name.casefold(), "\n".join(titles).casefold(), "\n".join(filter(None, rest)).casefold()


def _other_texts(record: Record) -> Iterator[str]:
    spec = record.spec
    if isinstance(spec, LawSpec):
        yield from (spec.unit, spec.output, spec.expression or "", *spec.variables, *spec.variables.values())
        yield from (text for fit in spec.published for text in (fit.name, fit.reference))
    elif isinstance(spec, QuantitySpec):
        yield from (spec.unit, spec.definition)
    elif isinstance(spec, ModelSpec):
        yield from (spec.unit, spec.quantity, *spec.qualifiers.values())
        if isinstance(spec, (TrendSpec, RelationSpec)):
            yield spec.table
        if isinstance(spec, EstimateSpec):
            yield from (text for each in spec.inputs for text in (each.name, each.title, each.unit, each.source))
    elif isinstance(spec, TableSpec):
        yield from _table_texts(spec)
    elif isinstance(spec, ScenarioSpec):
        yield from _question_texts(spec)


def _table_texts(spec: TableSpec) -> Iterator[str]:
    """Walk a table's description and columns; a descriptor that cannot be read does not hide the others."""
    from forecast.tables.schema import descriptor

    try:
        package = descriptor.read_descriptor(Path(spec.descriptor))
    except DataError:
        return
    yield package.description or package.title
    for resource in package.resources:
        yield from (text for field in resource.fields for text in (field.name, field.title, field.unit))


def _question_texts(spec: ScenarioSpec) -> Iterator[str]:
    """Walk the title of a scenario, and those of its questions and its labels."""
    try:
        raw = read_scenario(Path(spec.path))
    except ForecastError:
        return
    questions, labels = raw.get("questions"), raw.get("labels")
    yield str(raw.get("title", ""))
    if isinstance(questions, dict):
        yield from (str(each.get("title", "")) for each in questions.values() if isinstance(each, dict))
    if isinstance(labels, dict):
        yield from (str(label) for label in labels.values())


def _match_score(words: Iterable[str], texts: tuple[str, str, str]) -> float:
    """Return how well a record matches: 0 unless every word stands somewhere in it."""
    worths = []
    for word in words:
        weighed = zip(texts, (NAME_SCORE, TITLE_SCORE, OTHER_SCORE), strict=True)
        here = ((weight, _has_whole_word(word, text)) for text, weight in weighed if word in text)
        worths.append(next((weight * (1.0 if whole else 0.5) for weight, whole in here), 0.0))
    return sum(worths) if all(worths) else 0.0


def _has_whole_word(word: str, text: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text) is not None


def _record_unit(record: Record) -> str:
    return record.spec.unit if isinstance(record.spec, (LawSpec, ModelSpec, QuantitySpec)) else ""


def shortest_name(row: dict[str, Any]) -> str:
    """Return the shortest name that the other commands take: bare while it is unique."""
    bare = row["name"].partition("/")[2]
    several = sum(name.partition("/")[2] == bare for name in get_registry().names(row["kind"])) > 1
    return printable(row["name"] if several else bare, 60)


def _no_match_text(words: list[str], texts: list[tuple[str, str, str]]) -> str:
    """Say that nothing matches, and which word stands nowhere, with the nearest that does."""
    absent = next(
        (word for word in words if not any(word in text for record_texts in texts for text in record_texts)), None
    )
    query = printable(" ".join(words), 80)
    if absent is None:
        return f"Nothing matches all of '{query}': try fewer words."
    words_of_names = {
        each for record_texts in texts for text in record_texts[:2] for each in _WORD_PATTERN.findall(text)
    }
    hint = nearest(absent, sorted(words_of_names))
    meant = f"; did you mean '{hint}'?" if hint else "."
    return textwrap.shorten(f"Nothing mentions '{printable(absent, 40)}'{meant}", 200)


def record_origin(record: Record) -> dict[str, str]:
    """Return who brings a record."""
    plugin = record.plugin
    return {"plugin": plugin.name, "distribution": plugin.distribution, "version": plugin.version}


def record_rows(records: Iterable[Record], columns: Mapping[str, Callable[[Record], Any]]) -> list[dict[str, Any]]:
    """Return a row of a list for each record: its name, title and columns, and who brings it."""
    return [
        {"name": r.full_name, "title": r.spec.title, **{c: of(r) for c, of in columns.items()}, **record_origin(r)}
        for r in records
    ]


def record_details(record: Record, describe: Callable[[Record], dict[str, Any]]) -> dict[str, Any]:
    """Return all about one record, and who brings it."""
    spec = record.spec
    return {
        "name": record.full_name, "title": spec.title, **describe(record), "reference": spec.reference,
        **record_origin(record),
    }  # fmt: skip


# --- Quantities of the world ------------------------------------------------------------------------------------------


def _forecast(record: Record) -> str:
    return _with_settings(record.spec) or "none"


def _with_settings(each: Any) -> str:
    settings = ", ".join(f"{choice} = {value}" for choice, value in each.settings.items())
    return f"{each.forecast} ({settings})" if settings else str(each.forecast)


def _bound(value: float | None, source: str, unit: str) -> str:
    return source if value is None else f"{value:g} {unit}".strip() + f": {source}"


def describe_quantity(record: Record) -> dict[str, Any]:
    """Return a quantity of the world as plain data."""
    spec = record.spec
    return {
        "definition": spec.definition,
        "unit": spec.unit,
        "scale": spec.scale,
        "keeps": spec.keeps,
        "floor": _bound(spec.floor, spec.floor_source, spec.unit),
        "ceiling": _bound(spec.ceiling, spec.ceiling_source, spec.unit),
        "at_most": dict(spec.at_most),
        "observed": spec.observed,
        "forecast": _forecast(record),
        "rivals": [{"name": r.name, "forecast": _with_settings(r), "differs": r.differs} for r in spec.rivals],
        "synonyms": list(spec.synonyms),
        "related": list(spec.related),
        "ask": f"forecast ask {spec.name}" if spec.forecast else "",
    }


#: The columns that a list of quantities shows beside their names and titles.
QUANTITY_COLUMNS: dict[str, Callable[[Record], Any]] = {"unit": lambda r: r.spec.unit, "forecast": _forecast}


@functools.lru_cache(maxsize=1)
def _values(name: str) -> dict[str, str]:
    """Return what a quantity stands at today and in 2030, as text; nothing where nothing answers for it."""
    from forecast.projection.engine import project
    from forecast.projection.paths.run_cache import cache_of_process
    from forecast.projection.result.observed_values import computed_median, last_observation
    from forecast.report.rows import table_cells
    from forecast.report.words.number_text import amount
    from forecast.scenarios.question_text import read_question

    with contextlib.suppress(ForecastError), warnings.catch_warnings(action="ignore"):
        question = read_question(name, at=[_LISTED_YEAR], shapes=())
        answer = project(question, draws=_LISTED_DRAWS, cache=cache_of_process()).opening
        if answer is not None and answer.headline is not None:
            now = last_observation(answer) or computed_median(answer, today())
            median, interval, *_ = table_cells(answer, answer.headline)
            told = median if interval in ("", "-") else f"{median} ({interval})"
            return {"today": "-" if now is None else amount(now.value, now.unit), "then": told}
    return {"today": "-", "then": "-"}


#: And what it shows with them once they are asked: each is a projection of so many worlds.
_LISTED_YEAR, _LISTED_DRAWS = 2030, 256
QUANTITY_VALUES: dict[str, Callable[[Record], Any]] = {
    "today": lambda r: _values(r.spec.name)["today"], str(_LISTED_YEAR): lambda r: _values(r.spec.name)["then"],
}  # fmt: skip
