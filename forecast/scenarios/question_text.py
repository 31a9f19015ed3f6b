"""A question in one line, about anything that has a name, as the scenario that asks it.

::

    largest-run >= 1e29 FLOP                              # a quantity of the world, as the house forecasts it
    run-price-performance                                 # a trend or an estimate: its value, at dates
    run-price-performance * 1M USD >= 2.1e25 FLOP         # arithmetic, with numbers that have units
    model-capability.power                                # a quantity of a scenario
    mine.csv:"Units shipped" >= 5000                      # a column of a file, beside its column of dates

Names of the catalogue are read whole before anything else: ``training-compute`` is one name, and a minus stands between
blanks. What follows is a formula of scenarios, read as one.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from forecast.base import access
from forecast.base.dates import parse_year
from forecast.contract.registry import Record, get_registry
from forecast.contract.specs import EstimateSpec, QuantitySpec, RivalForecast, TrendSpec
from forecast.errors import ForecastError, UnknownNameError, UsageError, first_names, nearest, printable
from forecast.formula import SCENARIO_FUNCTIONS, TIME_NAMES, Comparison, Name, Node, parse_expression
from forecast.formula.numbers import NUMBER_PATTERN
from forecast.formula.reader import RESERVED_NAMES

if TYPE_CHECKING:
    from forecast.scenarios.scenario import Scenario
    from forecast.tables.columns import Columns

#: What the question is called in its scenario.
QUESTION_NAME = "question"
#: The shape of a column of a file; it stands beside a series' own where that pools none.
DEFAULT_SHAPE = "trends/pool"
#: Where nothing else is said: dates of values, and the last date of what is waited for.
DEFAULT_DATES, DEFAULT_UNTIL = (2030, 2040), 2050
#: Of what is waited for: it begins soon after the newest observation, so that what this meets is so already.
DEFAULT_STEP = "1/4"
MAX_QUESTION_CHARACTERS = 1000
#: A date within this share of a step of one is at it.
_ROUNDING = Fraction(1, 10**6)
#: Columns that differ by no more than a day, and a zone, tell the same dates.
MAX_SAME_DATE_YEARS = 2 / 365
#: What shapes are called for people; others by their names, with blanks.
_SHAPES = {
    "pool": "ensemble",
    "pooled": "mixture of shapes",
    "pool-at-least": "ensemble, at least",
    "walk-at-least": "random walk, at least",
}

#: A file before a column of it: a path with an ending, or one in quotes.
_FILE_PATTERN = re.compile(r"""(?P<quote>["'])(?P<quoted>[^"']+)(?P=quote):|(?P<path>[^\s:*()<>='"]+\.\w{1,10}):""")
_AFTER_COLUMN_PATTERN = re.compile(r"\s*($|[-+*/<>=!),])")
#: A number takes the unit that follows it, so that no part of one is looked up: ``1 EFLOP/s``, ``3 FLOP/(s*USD)``.
_MEASURED_TEXT = rf"(?<![\w.]){NUMBER_PATTERN}(?: +(?:1/|(?:an?|per) +)?[A-Za-z(][\w*/().]*(?: +(?:an?|per) +\w+)?)?"
_WORD = re.compile(rf"(?P<number>{_MEASURED_TEXT})|(?P<name>[A-Za-z_][\w./:@-]*)|(?P<other>.)", re.ASCII | re.DOTALL)
#: What begins a level that is waited for.
_LEVEL_PATTERN = re.compile(r"\s*[<>=]")
_NOT_IN_NAMES = re.compile(r"\W+")


def in_words(text: str) -> bool:
    """Tell whether a text is a question in words: two names with nothing but a blank between them.

    Examples
    --------
    >>> in_words("when does a supercomputer match the brain"), in_words("x * 1M USD >= 2 FLOP")
    (True, False)
    """
    if _find_file(text, 0) is not None:
        return False
    before = ""
    for part in _WORD.finditer(text):
        if part["other"] is None or not part[0].isspace():
            if before == part.lastgroup == "name":
                return True
            before = part.lastgroup or ""
    return text.rstrip().endswith("?")


def read_question(
    text: str,
    *,
    at: Sequence[float | str] = (),
    until: float | None = None,
    shapes: Sequence[str] | None = None,
    series: Mapping[str, Any] | None = None,
    rival: str = "",
    settings: Mapping[str, object] | None = None,
) -> Scenario:
    """Return the scenario that a question in one line asks.

    Parameters
    ----------
    text : str
        A name, arithmetic over names, or a comparison of these.
    at : sequence of float or str
        Dates of a value, or by which a comparison may hold. A value without any is asked for in 2030 and 2040.
    until : float, optional
        The last date; 2050 where a comparison is waited for.
    shapes : sequence of str
        Full names of shapes that stand beside that of a trend as rivals. Default: those that it pools, all of them; the
        ensemble beside a shape that pools none.
    series : mapping, optional
        What a column of a file is read with, as a scenario has it: ``x``, ``where``, ``reading``, ``scale``, ``floor``
        and ``ceiling``.
    rival : str
        The rival of that name, or of its words, in place of the house's forecast of a quantity.
    settings : mapping, optional
        Of which one of a quantity is asked, ``{"device": "b200"}``; see `read_line`.

    Returns
    -------
    Scenario
        Its one question is called ``question``.

    Raises
    ------
    UsageError, UnknownNameError, FormulaError, UnitError, DataError
        If the text is no such question.

    Examples
    --------
    >>> read_question("capability/training-compute >= 1e29 FLOP").questions["question"].when.text
    'training_compute >= 1e29 FLOP'
    """
    from forecast.scenarios.scenario import Scenario

    if not isinstance(text, str) or not text.strip():
        raise UsageError("ask: expected a question, such as 'largest-run >= 1e29 FLOP', got nothing")
    check_length(text)
    if in_words(text):
        raise UsageError(f"ask: '{printable(text, 80)}' is a question in words: 'forecast find' looks for them")
    names = _Names(shapes, series or {}, rival, settings or {})
    formula = "".join(names.read(text.strip()))
    if rival and not names.rival_used:
        known = [each.name for spec in names.world.values() for each in spec.rivals]
        raise UnknownNameError("rival", rival, known, where=f"ask: {', '.join(names.world) or text.strip()}")
    if not names.used and not names.quantities:
        raise UsageError(f"ask: '{printable(text, 80)}' names nothing of the catalogue: there is nothing to forecast")
    root = parse_expression(formula, where="ask").root
    question: dict[str, Any] = {"when" if isinstance(root, Comparison) else "value": formula}
    record: dict[str, Any] = {
        "title": text.strip(),
        **({"use": names.used} if names.used else {}),
        "choices": names.choices,
        "labels": names.labels,
        "quantities": names.quantities,
        "questions": {QUESTION_NAME: {**question, "title": question_title(root, text.strip(), names.labels)}},
    }
    # a scenario that is used has dates and a step of its own
    last = DEFAULT_UNTIL if names.until is None else step_at(names.until, names.start, names.step)
    dates = _date_list(at)
    if "value" in question and not dates:
        dates = [*default_dates(last)[: None if names.moving else 1]]
    record["questions"][QUESTION_NAME] |= {"dates": dates} if dates else {}
    latest = max((parse_year(date, "--at") for date in dates), default=last)
    if names.until is None:
        record["step"] = DEFAULT_STEP if "when" in question and names.moving else "year"
        record["until"] = until if until is not None else math.ceil(latest)
    elif until is not None or latest > last:
        record["until"] = until if until is not None else step_at(latest, names.start, names.step, after=True)
    if "when" in question and names.last_rows and len(names.last_rows) == len(names.quantities) and not names.used:
        record["start"] = max(names.last_rows)  # what is so already is so in a row
        if until is None:
            record["until"] = step_at(record["until"], record["start"], record["step"], after=True)
    if not names.moving:
        record["start"] = math.floor(min(parse_year(date, "--at") for date in dates)) - 1 if dates else last - 1
    return Scenario.from_dict(record, name="question", where="ask", folder=names.folder)


def check_length(text: str) -> None:
    """Refuse a question of more characters than anybody types.

    Raises
    ------
    UsageError
    """
    if len(text) > MAX_QUESTION_CHARACTERS:
        raise UsageError(f"ask: the question has {len(text):,} characters; the limit is {MAX_QUESTION_CHARACTERS:,}")


def world_quantity(text: str) -> QuantitySpec | None:
    """Return the one quantity of the world that a question names; None where it names several, or none.

    Examples
    --------
    >>> [each.name for each in world_quantity("largest-run >= 1e29 FLOP").rivals][:2]
    ['exponential', 'damped-trend']
    """
    found = _world_quantities(text)
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class AskedLine:
    """A question in one line as it is asked, from the command or from Python.

    Parameters
    ----------
    scenario : Scenario
        That asks it.
    settings : dict
        What is left to be set in a run of it, by its names there.
    quantity : QuantitySpec, optional
        The quantity of the world whose values it asks for.
    rivals : sequence of (RivalForecast, callable)
        The other forecasts of the one quantity that it names, with what makes the scenario of each.
    read_as : str
        Which rival of a quantity is asked by a name that is no quantity's; empty for none.
    """

    scenario: Scenario
    settings: dict[str, object]
    quantity: QuantitySpec | None
    rivals: Sequence[tuple[RivalForecast, Callable[[], Scenario]]]
    read_as: str


def read_line(
    text: str,
    *,
    at: Sequence[float | str] = (),
    until: float | None = None,
    compare: bool = False,
    series: Mapping[str, Any] | None = None,
    rival: str = "",
    settings: Mapping[str, object] | None = None,
) -> AskedLine:
    """Read a question in one line with all that is given with it; see `read_question`.

    Parameters
    ----------
    compare : bool
        Put every shape of trends beside that of a series.
    settings : mapping, optional
        Those that say of which one a quantity of the world is asked, ``{"device": "b200"}``, are the question's; a
        choice or a quantity of the scenario behind it is named by its own name, ``variant``, where one has it.

    Raises
    ------
    UsageError, UnknownNameError, FormulaError, UnitError, DataError

    Examples
    --------
    >>> read_line("largest-run", settings={"variant": "data-limited"}).settings
    {'model_capability.variant': 'data-limited'}
    """
    settings, read_as = settings or {}, rival_line(text)
    left = _LEVEL_PATTERN.split(text.strip())[0]
    values = {str(key).rpartition(".")[2]: str(value) for key, value in settings.items()}
    for record, door in () if rival else _doors(left):
        if door.settings.items() <= values.items() and (door.settings or not is_name(left)):
            text = record.spec.name + text.strip().removeprefix(left)
            settings = {key: each for key, each in settings.items() if key.rpartition(".")[2] not in door.settings}
            rival, read_as = "", ""
            if isinstance(door, RivalForecast):
                rival, read_as = door.name, _rival_phrase(left, record.spec, door)
            break
    keys = {key for spec in _world_quantities(text) for key in spec.settings}
    own = {key: value for key, value in settings.items() if key in keys}
    read = partial(read_question, text, series=series, settings=own)
    scenario = read(at=at, until=until, rival=rival, shapes=every_shape() if compare else None)
    names = [*scenario.choices, *scenario.quantities]
    rest = {_full_name(key, names, keys): value for key, value in settings.items() if key not in own}
    of = world_quantity(text)
    at, until = at or scenario.stated["questions"][QUESTION_NAME].get("dates", ()), until or scenario.until
    rivals = [
        (each, partial(read, at=at, until=until, rival=each.name, shapes=()))
        for each in (() if of is None or rival or read_as else of.rivals)
    ]
    return AskedLine(scenario, rest, of if is_name(text.strip()) else None, rivals, read_as)


def _full_name(key: Any, names: Sequence[str], others: Collection[str]) -> Any:
    """Return the name in a scenario of what is set by its own name; any other as it is, which a run may know.

    Raises
    ------
    UnknownNameError
    """
    if not isinstance(key, str) or key in names:
        return key
    used, dot, own = key.rpartition(".")
    found = [n for n in names if n == f"{quantity_name(used)}.{own}" or (not dot and n.rpartition(".")[2] == key)]
    if len(found) == 1:
        return found[0]
    if not dot and nearest(key, others):
        raise UnknownNameError("choice, quantity or input", key, others, where="set")
    return key


def _world_quantities(text: str) -> list[QuantitySpec]:
    named = [part["name"] for part in _WORD.finditer(text) if part["name"] and _find_file(text, 0) is None]
    records = (_quantity_and_rival(name)[0] for name in named)
    found = {record.full_name: record.spec for record in records if record is not None}
    return [spec for spec in found.values() if isinstance(spec, QuantitySpec)]


def words_for_names(text: str, own: Collection[str]) -> tuple[str, dict[str, str]]:
    """Return a formula with a word for each name of the catalogue, and these by their words; names that are `own` stay.

    Examples
    --------
    >>> words_for_names("largest-run/run >= 1e28 FLOP", {"run"})
    ('largest_run/run >= 1e28 FLOP', {'largest_run': 'largest-run'})
    """
    found: dict[str, str] = {}

    def word(part: re.Match[str]) -> str:
        head, slash, rest = (part["name"] or "").partition("/")
        model = head.partition("@")[0]
        scenario = head.partition(".")[0] if "." in head else "/"
        kinds = (("quantity", head), ("model", model), ("scenario", scenario))
        if not head or head in own or not any(get_registry().get(kind, name) for kind, name in kinds):
            return part[0]
        mine = quantity_name(head)
        found[mine := mine + "_" * (mine in own)] = head
        return mine + slash + rest

    return _WORD.sub(word, text), found


def is_name(text: str) -> bool:
    """Tell a name of the catalogue, or of a scenario's quantity, from a formula.

    Examples
    --------
    >>> is_name("model-capability.run"), is_name("model-capability.site / model-capability.per_watt")
    (True, False)
    """
    match = _WORD.fullmatch(text)
    return match is not None and match["name"] is not None


def check_is_whole(name: str) -> None:
    """Raise if a scenario is a part of others, which is used and extended, and asked for its quantities, and not run.

    Raises
    ------
    UsageError
        With what to ask, and what to run instead.
    """
    from forecast.scenarios.scenario import Scenario

    record = None if name.lower().endswith(".toml") else get_registry().get("scenario", name)
    if record is None or not getattr(record.spec, "part", False):
        return
    part = record.spec.name
    doors = [f"{part}.{n}" for figure in Scenario.load(record.full_name).figures.values() for n in figure.of.names]
    first, *more = dict.fromkeys(door if (s := world_quantity(door)) is None else s.name for door in doors)
    others = f" (or {first_names(more, 4)})" if more else ""
    raise UsageError(
        f"scenario '{part}' is a part that others use, and is not run: ask for what is in it, 'forecast ask {first}'"
        f'{others}, or run a scenario with extends = "{part}"'
    )


def rival_line(text: str) -> str:
    """Say what is asked by a name that is no quantity's: a rival of one, a trend of it, or an input; else nothing.

    Examples
    --------
    >>> rival_line("hpcg@exponential")
    'hpcg@exponential is another forecast of supercomputer-hpcg: one exponential.'
    >>> rival_line("capability/training-compute")
    'capability/training-compute is one trend alone. The full forecast of that quantity: forecast ask largest-run'
    """
    for part in _WORD.finditer(text) if _find_file(text, 0) is None else ():
        name = part["name"] or "/"
        record, rival = _quantity_and_rival(name)
        if record is not None and not rival:
            same = (each for each in get_registry().records("quantity") if each.spec.name == record.spec.name)
            for other in (each for each in same if each.full_name != record.full_name):
                own = "forecast" if record.spec.limits == other.spec.limits else "forecast and bounds"
                return f"{record.full_name} is one plugin's {own}. There is another: forecast ask {other.full_name}"
            continue
        for each, door in _doors(name):
            if isinstance(door, RivalForecast) and not door.settings and door.name == (rival or door.name):
                return f"{_rival_phrase(name, each.spec, door)} {_input_line(name)}".strip()
        model = get_registry().get("model", name.partition("@")[0]) if "/" in name else None
        if model is not None and (of := _quantity_of_trend(model)) is not None and name != of.forecast:
            return f"{name} is one trend alone. The full forecast of that quantity: forecast ask {of.name}"
        if not any(_doors(name)) and (line := _input_line(name)):  # of no quantity the forecast
            return line
    told = [
        f"with {choice} = {value} of {record.spec.name} ({door.differs})"
        for record, door in _doors(text.strip()) if isinstance(door, RivalForecast)
        for choice, value in door.settings.items()
    ]  # fmt: skip
    return f"{text.strip()} is another forecast: {'; '.join(told)}." if told else ""


def _doors(text: str) -> Iterator[tuple[Record, QuantitySpec | RivalForecast]]:
    """Yield the quantities of the world that a text asks for, and which forecast it is: the house's, or a rival's."""
    for record in get_registry().records("quantity"):
        for door in (record.spec, *record.spec.rivals):
            if text and text in (door.forecast, _bare_name(door.forecast), *door.also):
                yield record, door


def _rival_phrase(name: str, spec: QuantitySpec, rival: RivalForecast) -> str:
    return f"{name} is another forecast of {spec.name}: {rival.differs}."


def _bare_name(text: str) -> str:
    """Return a name of the catalogue without its plugin, and a formula as it is."""
    return text.rpartition("/")[2] if is_name(text) else text


def _input_line(name: str) -> str:
    """Say of which scenarios an estimate is an input, and where it comes from; empty for anything else."""
    models = list(_models_of_scenarios()) if "." in name or get_registry().get("model", name) else []
    named = next((model for scenario, quantity, model in models if name == f"{scenario}.{quantity}"), name)
    model = get_registry().get("model", named.partition("@")[0])
    if model is None or not isinstance(model.spec, EstimateSpec):
        return ""
    users = dict.fromkeys(user for user, _, each in models if each in (model.full_name, model.spec.name))
    told = f"an assumption, and no forecast. Source: {model.spec.reference}"
    return f"{name} is an input of {first_names(users, 4)}: {told}" if users else ""


def _models_of_scenarios() -> Iterator[tuple[str, str, str]]:
    """Yield each registered scenario, and the quantities that its file states by a model, with the model's name."""
    from forecast.scenarios.registered import read_registered

    for record in get_registry().records("scenario"):
        with contextlib.suppress(ForecastError):  # which a run of it tells
            for name, stated in read_registered(record).get("quantities", {}).items():
                if isinstance(stated, Mapping) and isinstance(stated.get("model"), str):
                    yield record.spec.name, name, stated["model"]


def every_shape() -> tuple[str, ...]:
    """Return the shapes whose forecasts of other series have a record, by full name."""
    from forecast.contract.track_record import of_shape

    named = (name for name in get_registry().names("shape") if name.startswith("trends/"))
    return tuple(name for name in named if of_shape(name))


def at_dates(scenario: Scenario, at: Sequence[float | str]) -> Scenario:
    """Return a scenario whose questions ask at other dates: for values then, and how likely a date is by then.

    Raises
    ------
    UsageError
        If it has no question that may ask at dates.
    """
    dates = _date_list(at)
    stated = scenario.stated.get("questions", {})
    questions = {
        name: {**each, "dates": dates} if {"value", "growth", "when"} & set(each) else each
        for name, each in stated.items()
    }
    if questions == stated:
        raise UsageError(f"--at: scenario '{scenario.name}' asks neither for a value nor for a date")
    last = max(parse_year(date, "--at") for date in dates)
    end = scenario.until and step_at(scenario.until, scenario.start, scenario.step)
    reached = end is not None and last <= end
    longer = {} if reached else {"until": step_at(last, scenario.start, scenario.step, after=True)}
    return scenario.restated({**scenario.stated, "questions": questions, **longer})


def default_dates(last: float) -> list[float]:
    """Return the dates at which a value is asked for where nobody names any, up to the last step."""
    return [date for date in DEFAULT_DATES if date <= last] or [last]


def step_at(year: float, start: float | None, step: float | str, *, after: bool = False) -> float:
    """Return the last step up to a date, or the first from it on, as a year; whole ones as whole numbers.

    Examples
    --------
    >>> step_at(2040, 2026.75, "year"), step_at(2040, 2026.75, "year", after=True), step_at(2040, None, "1/12")
    (2039.75, 2040.75, 2040)
    """
    try:
        width = Fraction(1 if step in ("year", "month") else str(step))
        steps = (Fraction(year) - (first := Fraction(math.floor(year) if start is None else start))) / width
    except (ValueError, ZeroDivisionError):  # the run refuses such a step
        return year
    count = math.ceil(steps - _ROUNDING) if after else math.floor(steps + _ROUNDING)
    found = float(first + count * width)
    return int(found) if found == int(found) else found


def _date_list(at: Sequence[float | str] | float | str) -> list[float | str]:
    dates = [at] if isinstance(at, (int, float, str)) else list(at)
    return [int(date) if isinstance(date, str) and date.strip().isdigit() else date for date in dates]


class _Names:
    """The names of a question: what each is, as a scenario has it."""

    def __init__(
        self, shapes: Sequence[str] | None, series: Mapping[str, Any], rival: str, given: Mapping[str, object]
    ) -> None:
        self.shapes, self.series, self.rival, self.given = shapes, dict(series), rival, given
        self.world: dict[str, QuantitySpec] = {}  # quantities of the world, by full name
        self.rival_used = False  # one stands in place of the house's forecast
        self._within: list[str] = []
        self._settings: Mapping[str, str] = {}
        self._published = False  # what was read last is a rebuilt publication's
        self.bounds = {key: series[key] for key in ("scale", "floor", "ceiling") if series.get(key) not in (None, "")}
        self.quantities: dict[str, Any] = {}
        self.choices: dict[str, dict[str, Any]] = {}
        self.labels: dict[str, str] = {}
        self.used: dict[str, Any] = {}
        self.folder: Path | None = None
        # of the first scenario that is used and states it
        self.until: float | None = None
        self.start: float | None = None
        self.step: float | str = "year"
        self.moving = False  # something has a date of its own
        self.last_rows: list[float] = []  # the date of the last row of each column of a file

    def read(self, text: str) -> Iterator[str]:
        """Yield the formula in pieces, with names of its own grammar for columns and for names of the catalogue."""
        done = 0
        while (found := _find_file(text, done)) is not None:
            start, end, path = found
            columns = self.columns(path)
            column, length = _column_after(text[end:], columns)
            yield from self.read_names(text[done:start])
            yield self.column(path, column, columns)
            done = end + length
        yield from self.read_names(text[done:])

    def read_names(self, text: str) -> Iterator[str]:
        """Yield a piece without columns of files."""
        for part in _WORD.finditer(text):
            if part["name"] and not text[part.end() :].startswith("("):
                yield self.name(part[0])
            else:
                yield part[0]

    def name(self, name: str) -> str:
        """Return what stands for a name: the longest part of it that is one, before a division without blanks."""
        head = name
        while head:
            if (known := self.known(head)) is not None:
                rest = name[len(head) + 1 :]
                return f"{known}/{self.name(rest) if rest[:1].isalpha() else rest}" if rest else known
            head = head.rpartition("/")[0]
        registry = get_registry()
        scenarios = [each.partition("/")[2] for each in registry.names("scenario")]
        if name in scenarios:
            is_part = registry.find("scenario", name).spec.part
            runs = "" if is_part else f"'forecast run {name}' answers its questions, and "
            raise UsageError(f"ask: '{name}' is a scenario: {runs}'{name}.QUANTITY' is one of its quantities")
        from forecast.scenarios.question_words import readings

        names = [*registry.names("quantity"), *registry.names("model")]
        quantity = "".join(name.partition(".")[1:])  # of a scenario whose name is nearly right
        of_scenarios = (f"{each}{quantity}" for each in scenarios if quantity)
        every = [*names, *(each.partition("/")[2] for each in names), *of_scenarios]
        told = next(iter(readings(name.replace("-", " "), most=1)), None) if nearest(name, every) is None else None
        note = f"its words are nearest to: {told.line}" if told else ""
        raise UnknownNameError("name", name, every, where="ask", note=note)

    def known(self, name: str) -> str | None:
        """Return the name in the formula of what a name of the catalogue stands for, or None."""
        if name in TIME_NAMES or name in SCENARIO_FUNCTIONS or name == "pi":
            return name
        registry = get_registry()
        quantity, rival = _quantity_and_rival(name, doors=not self._within)
        if quantity is not None:
            return self.of_the_world(quantity, name, rival)
        bare, at, shape = name.partition("@")
        if (model := get_registry().get("model", bare)) is not None:
            is_trend = isinstance(model.spec, TrendSpec)
            for record, door in () if self._within or not is_trend else _doors(f"1/{model.spec.name}"):
                way = f"forecast ask {record.spec.name}, and for that trend alone --model {door.name}"
                raise UsageError(f"ask: '{name}' is one over a price: ask for the price, {way}")
            mine = quantity_name(name.partition("/")[2] or name)
            if at:
                beside = {"shape": registry.find("shape", shape).full_name}
            else:
                beside = self.shaped(model.full_name) if is_trend else {}
            # of a quantity of the world that rests on it, the bounds are that quantity's
            spec = None if self._within else _quantity_of_trend(model)
            bounds = {**_limits_of(spec), **self.bounds} if beside else {}
            self.quantities[mine] = {"model": model.full_name, **beside, **bounds}
            self.labels[mine] = model.spec.title or mine
            self.moving = self.moving or bool(beside)
            return mine
        head, dot, of = name.partition(".")
        if dot and (scenario := get_registry().get("scenario", head)) is not None:
            return self.of_scenario(scenario.full_name, head, of)
        return None

    def of_the_world(self, record: Record, name: str, rival: str = "") -> str:
        """Return the name in the formula of a quantity of the world: its house's forecast, or the rival asked for."""
        spec = record.spec
        full = record.full_name
        if full in self._within:
            raise UsageError(f"ask: the forecast of '{full}' rests on itself: {' -> '.join([*self._within, full])}")
        chosen: QuantitySpec | RivalForecast = spec
        if not self._within:
            self.world[full] = spec
            wanted = quantity_name((self.rival or rival).lower())  # by its name, or by its words, as screens show it
            chosen = next((each for each in spec.rivals if quantity_name(each.name.lower()) == wanted), spec)
            self.rival_used = self.rival_used or (chosen is not spec and bool(self.rival))
        if not chosen.forecast:
            raise UsageError(f"ask: nothing here forecasts '{name}' ({spec.title}): forecast quantities show {name}")
        given = {key: str(self.given[key]) for key in chosen.settings if key in self.given}
        outer, self._settings = self._settings, {**chosen.settings, **given}
        published, self._published = self._published, False
        self._within.append(full)
        formula = "".join(self.read_names(chosen.forecast))
        self._within.pop()
        self._settings = outer
        alone = isinstance(root := parse_expression(formula, where=f"quantity '{full}'").root, Name)
        if (
            spec.keeps
            and not self._published
            and isinstance(root, Name)
            and "model" in self.quantities.get(root.name, ())
        ):
            self.quantities[root.name]["keeps"] = spec.keeps
        bounds = {} if self._published else _limits_of(spec)  # a publication is told as it was published
        self._published = published or self._published
        if not alone or bounds or isinstance(chosen, RivalForecast):  # what has a unit of its own is told in its
            mine = quantity_name(spec.name if "/" in name else name)
            mine += "_" * (mine in self.quantities)  # a model of its name
            unit = {} if alone and chosen is spec else {"unit": spec.unit}
            self.quantities[mine] = {"expression": formula, **(unit if spec.unit else {}), **bounds}
            if isinstance(root, Name) and root.name in self.labels:
                self.labels[mine] = self.labels.pop(root.name)
            formula = mine
        self.labels[formula] = spec.title
        return formula

    def of_scenario(self, full: str, head: str, quantity: str) -> str:
        """Return the name in the formula of a scenario's quantity."""
        from forecast.scenarios.scenario import Scenario

        scenario = Scenario.load(full)
        if quantity not in scenario.quantities:
            raise UsageError(str(UnknownNameError("quantity", quantity, scenario.quantities, where=f"ask: {head}")))
        self._published = self._published or "published_on" in scenario.stated
        alias = quantity_name("_".join([head.rpartition("/")[2], *self._settings.values()]))
        self.used[alias] = full
        if self._settings:
            choices = scenario.stated.get("choices", {})
            for choice, value in self._settings.items():
                if choice not in choices:
                    raise UsageError(str(UnknownNameError("choice", choice, choices, where=f"ask: {head}")))
                if value not in (known := scenario.choices[choice].values):
                    raise UnknownNameError(f"value of choice '{choice}'", value, known, where=f"ask: {head}")
            fixed = {c: {**_choice_record(choices[c]), "values": [value]} for c, value in self._settings.items()}
            self.used[alias] = {"extends": full, "choices": fixed}
        self.until = scenario.until if self.until is None else self.until
        self.start = scenario.start if self.start is None else self.start
        self.step = scenario.step if self.step == "year" else self.step
        self.moving = True
        if title := scenario.labels.get(quantity):
            self.labels[f"{alias}.{quantity}"] = title
        return f"{alias}.{quantity}"

    def shaped(self, series: str = "", *, is_record: bool = False) -> dict[str, str]:
        """Return the shape of a series, beside its rivals without weight; series of one shape share the choice."""
        own, members = _shape_and_members(series, is_record=is_record)
        names = dict.fromkeys([own, *(members if self.shapes is None else self.shapes)])
        plugins = {name.rpartition("/")[0] for name in names} - {""}
        values = [name.rpartition("/")[2] for name in names]
        alike = (choice for choice, stated in self.choices.items() if stated["values"] == values)
        choice = next(alike, "shape" if not self.choices else f"shape_{len(self.choices) + 1}")
        self.labels |= {each: words for each in values if (words := _SHAPES.get(each, each.replace("-", " "))) != each}
        if choice != "shape":
            self.labels[choice] = f"shape of {series.partition('/')[2] or 'the column'}"
        self.choices[choice] = {"values": values, "kind": "rival", "weights": [1, *[0] * (len(values) - 1)]}
        return {"shape": f"{plugins.pop()}/{{{choice}}}" if len(plugins) == 1 else f"{{{choice}}}"}

    def columns(self, path: str) -> Columns:
        """Return the columns of a file, read as was asked for."""
        from forecast import tables

        reading = {key: value for key, value in self.series.get("reading", {}).items() if key != "reduce"}
        columns = tables.read(access.check_named(path), **reading)
        for name, value in self.series.get("where", {}).items():
            columns = columns.where(name, value, f"ask: {printable(name, 60)}")
        return columns

    def column(self, path: str, column: str, columns: Columns) -> str:
        """Return what stands in the formula for a column of a file."""
        from forecast.models.shapes import record_sign
        from forecast.tables.same_place import read_points

        folder = Path(path).parent
        if self.folder is not None and folder.resolve() != self.folder.resolve():
            raise UsageError("ask: files in two folders; put them beside each other")
        self.folder = folder
        columns.numeric(column)  # names the columns where this is none
        mine = quantity_name(column)
        x = self.series.get("x") or find_date_column(columns, Path(path).name)
        rule = str(self.series.get("reading", {}).get("reduce", ""))
        points = read_points(columns, x, column, rule, columns.label, by=False, dated=True)
        percent = columns.kind(column) == "percent"
        self.last_rows.append(float(points.place.max()))
        self.quantities[mine] = {
            "data": Path(path).name,
            "x": x,
            "y": column,
            "of_rows": True,
            "unit": "percent" if percent else columns.units.get(column, ""),
            **{key: self.series[key] for key in ("where", "reading") if self.series.get(key)},
            **self.bounds,
            **self.shaped(is_record=record_sign(points.place, points.value) != 0),
        }
        self.labels[mine] = column
        self.moving = True
        return mine


def _shape_and_members(series: str, *, is_record: bool) -> tuple[str, list[str]]:
    """Return the shape of a series, or of a column, and what that pools; the ensemble where it pools none."""
    from forecast.models.model_lookup import POOLED_SHAPE, find_model

    found = find_model(series) if series else None
    if found is not None and found.shape == POOLED_SHAPE:
        return POOLED_SHAPE, [member.shape for member, _ in found.members()]
    record = get_registry().find("shape", DEFAULT_SHAPE if found is None else found.shape)
    members = [*record.spec.members, *(record.spec.record_members if is_record else ())]
    return record.full_name, members or [DEFAULT_SHAPE]


def _limits_of(spec: QuantitySpec | None) -> dict[str, str]:
    """Return the bounds of a quantity as a scenario states them."""
    ends = () if spec is None else zip(("at_least", "limit"), spec.limits, strict=True)
    return {key: f"{value!r} {spec.unit}".strip() for key, value in ends if spec and value is not None}


def _quantity_of_trend(model: Record) -> QuantitySpec | None:
    """Return the quantity of the world that a trend alone forecasts, in whichever shape; None for any other."""
    registry, mine = get_registry(), (model.full_name, model.full_name.partition("/")[2])
    for record in registry.records("quantity"):
        spec = record.spec
        doors = (spec.forecast, *(each.forecast for each in spec.rivals), *spec.also)
        for name in {each.partition("@")[0] for each in doors}.intersection(mine):
            if (found := registry.get("model", name)) is not None and found.full_name == model.full_name:
                return cast(QuantitySpec, spec)
    return None


def _quantity_and_rival(name: str, *, doors: bool = True) -> tuple[Record | None, str]:
    """Return the quantity of the world that a name asks for, and the rival that it asks for.

    A quantity is asked by its name and, with `doors`, by its name with the plugin before a model of that name, by what
    forecasts it and by names that are read as it, and a rival by its forecast.
    """
    found = get_registry().get("quantity", name) if doors or "/" not in name else None
    if found is not None or not doors or "/" in name:
        return found, ""
    records = [(each, door) for each, door in _doors(name) if not door.settings or name in door.also]
    house = next((record for record, door in records if door is record.spec), None)
    rivals = records if house is None and ("." in name or "@" in name) else []
    return next(((record, door.name) for record, door in rivals), (house, ""))


def _choice_record(stated: Any) -> dict[str, Any]:
    """Return a choice without what is said of each of its values."""
    return {key: each for key, each in stated.items() if key == "kind"} if isinstance(stated, Mapping) else {}


def _find_file(text: str, start: int) -> tuple[int, int, str] | None:
    """Return where a file before a column begins and ends in a text, and its path; None if there is no further one."""
    head, colon, _ = text[start:].partition(":")
    path = head.lstrip()
    with contextlib.suppress(OSError, ValueError):
        if colon and access.may_name(path) and ((" " in path and Path(path).is_file()) or Path(path).is_dir()):
            return start + len(head) - len(path), start + len(head) + 1, path
    match = _FILE_PATTERN.search(text, start)
    return None if match is None else (match.start(), match.end(), match["quoted"] or match["path"])


def split_file_column(text: str) -> tuple[str, str]:
    """Return the file and the column of a text such as ``"costs.csv:cost"``; no column where it names none.

    Examples
    --------
    >>> split_file_column("costs.csv:cost"), split_file_column("costs.csv"), split_file_column("hardware/linpack")
    (('costs.csv', 'cost'), ('costs.csv', ''), ('hardware/linpack', ''))
    """
    found = _find_file(text, 0)
    return (text, "") if found is None or found[0] else (found[2], text[found[1] :].strip("'\""))


def _column_after(text: str, columns: Columns) -> tuple[str, int]:
    """Return the column that a text begins with, and its length: the longest that is one before an operator."""
    if text[:1] in ("'", '"') and (end := text.find(text[0], 1)) > 0:
        return text[1:end], end + 1
    fitting = [n for n in columns.spellings() if text.startswith(n) and _AFTER_COLUMN_PATTERN.match(text, len(n))]
    if fitting:
        return (longest := max(fitting, key=len)), len(longest)
    match = re.match(r".*?(?=\s+[-+*/<>=]|[<>=)]|$)", text, re.DOTALL)
    name = match[0] if match else text
    return name, len(name)


def quantity_name(name: str) -> str:
    """Return a name of a formula that a name of the catalogue becomes."""
    result = _NOT_IN_NAMES.sub("_", name)[:64]
    return f"{result}_" if result in RESERVED_NAMES or result in TIME_NAMES or result == "shape" else result


def find_date_column(columns: Columns, name: str) -> str:
    """Return the column of dates of a file."""
    from forecast.tables.date_cells import TIME_NAME_PATTERN

    named = [each for each in columns if TIME_NAME_PATTERN.search(each) and columns.kind(each) == "time"]
    dated = named or [each for each in columns if columns.kind(each) == "time"]
    for tried in (dated, [each for each in columns if columns.meaning(each).kind == "date"]):
        if len(tried) == 1:
            return tried[0]
    if (finest := _finest_date_column(columns, dated)) is not None:
        return finest
    if dated:
        listed = " or ".join(f"--x '{printable(each, 60)}'" if " " in each else f"--x {each}" for each in dated[:6])
        raise UsageError(f"{printable(name, 60)} has more than one column of dates: say {printable(listed, 200)}")
    listed = printable(", ".join(columns), 120)
    raise UsageError(f"{printable(name, 60)} has no column of dates: {listed}; name it with x (--x)")


def _finest_date_column(columns: Columns, names: Sequence[str]) -> str | None:
    """Return the column of which the others are the years, or the same dates again; None if they tell others."""
    import numpy as np

    years = {name: columns.years(name) for name in names}
    for name, finest in years.items():
        others = np.stack([finest, *(each for other, each in years.items() if other != name)])
        same = (abs(others - finest) < MAX_SAME_DATE_YEARS) | (others == np.floor(finest)) | np.isnan(others + finest)
        if same.all() and len(names) > 1:
            return name
    return None


def question_title(root: Node, text: str, labels: Mapping[str, str]) -> str:
    """Return what the sentence calls the question: by a label where it is about one name, else as it was typed."""
    plain = text.replace("{", "(").replace("}", ")")
    if isinstance(root, Name):
        return labels.get(root.name, plain)
    if not isinstance(root, Comparison):
        return plain
    if isinstance(root.left, Name) and root.left.name in labels and root.op != "==":
        verb = "reaches" if root.op in (">=", ">") else "falls to"
        return f"{labels[root.left.name]} {verb} {plain.partition(root.op)[2].strip()}"
    return f"'{plain}' holds"
