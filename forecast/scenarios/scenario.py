"""A scenario: choices, quantities and questions, read from TOML and checked key by key.

::

    title = "When does the fastest supercomputer match the brain?"
    until = 2150
    [choices]                         # each is a dimension of its own name
    metric = ["hpcg", "linpack"]
    [quantities.machine]
    model = "hardware/{metric}"
    shape = "trends/exponential"      # beside a series; may hold choices too
    [quantities.brain]
    p05 = 1e15                        # a prior from quantiles
    p95 = 1e21
    unit = "FLOP/s"
    [questions.parity]
    when = "machine >= brain"

What a quantity may be: ``model`` (with ``shape`` and its ``options`` beside a series, with ``inputs`` to wire a
relation to other quantities), ``expression`` (with an optional ``unit``), ``table`` + ``column`` + ``where`` (a figure
read in a table), ``shape`` + ``data`` + ``x`` + ``y`` + ``unit`` (a trend of your own), ``law`` with a quantity for
each of its variables (`forecast.scenarios.kinds.law_ref`), a distribution with a ``unit``, or an input of
`forecast.scenarios.kinds`: ``draw``, ``schedule``, ``draws``, ``fitted``. A question asks
``when`` or for a ``rank`` over a choice.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from forecast.base.operators import Operators
from forecast.contract.fields import is_number
from forecast.errors import ScenarioError, UnknownNameError, UsageError, printable
from forecast.formula import TIME_NAMES, Formula
from forecast.scenarios import authored_sentences, questions as asking, registered, stream_names, used_scenarios
from forecast.scenarios.kinds.solved_number import SolvedNumber
from forecast.scenarios.kinds.stock import Stock
from forecast.scenarios.kinds.table_value import TableValue
from forecast.scenarios.parse import RESERVED_DIMENSIONS, ScenarioReader
from forecast.scenarios.quantities import changes, levers, limits
from forecast.scenarios.quantities.changes import Change
from forecast.scenarios.quantities.correlation import Correlation, read_correlations
from forecast.scenarios.quantities.levers import Lever
from forecast.scenarios.quantities.limits import Limits
from forecast.scenarios.quantities.node import QuantityKind
from forecast.scenarios.questions import FirstQuestion, ValueQuestion
from forecast.scenarios.settings import presets as settings_by_name
from forecast.scenarios.settings.presets import Preset
from forecast.scenarios.spec import Choice, DateQuestion, RankQuestion, TableChoice
from forecast.scenarios.table_values import Tables, resolve_choices
from forecast.scenarios.toml_text import toml_text

_TOP_KEYS = (
    "title", "extends", "use", "published_on", "issued_on", "start", "until", "step", "show", "labels", "choices",
    "quantities", "stocks", "solve", "correlations", "update", "questions", "changes", "sweep", "levers", "says",
    "presets", "preset", "home",
)  # fmt: skip

#: Keys that a quantity of any kind may have.
COMMON_KEYS = ("lower", "before", *limits.LIMIT_KEYS)

#: What a file may state of each at most, many times what a shipped scenario does: what it states is counted first.
MAX_PARTS = {
    "choices": 500, "quantities": 5000, "stocks": 1000, "solve": 100, "correlations": 500, "update": 200,
    "questions": 1000, "changes": 200, "sweep": 100, "levers": 500, "presets": 500,
}  # fmt: skip

_RESERVED_SUFFIXES = ("already", "date", "failing", "never")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Choices, quantities with their models, a horizon, and questions. Made by `Scenario.load` or `Scenario.from_dict`.

    Parameters
    ----------
    name, title : str
    where : str
        The file it was read from, for messages.
    choices : mapping of str to Choice
        Each is a dimension of its own name.
    quantities : mapping of str to QuantityKind
    questions : mapping of str to DateQuestion
    rankings : mapping of str to RankQuestion
        The questions that ask who is best.
    figures : mapping of str to ValueQuestion
        The questions that ask for values at dates.
    firsts : mapping of str to FirstQuestion
        The questions that ask what comes first.
    opens : str
        The question that the answer opens with, if it is one of the last two kinds.
    until : float or None
        The last date, as a decimal year.
    start : float or None
        The first date; by default the year of the last observation behind any of its trends.
    step : {"year", "month"}, float or str
        Years from one step to the next, such as ``"1/12"``; a ``"month"`` is that of the calendar.
    lower : mapping of str to float
        What a quantity may not be set below, in its unit.
    before : mapping of str to float
        What a quantity was before the first step, in its unit, where nobody observed it.
    limits : mapping of str to Limits
        What bounds a quantity.
    shown : tuple of str
        The quantities that an answer for people shows, in this order; the others are in its files. None: all.
    labels : mapping of str to str
        What quantities, choices and their values, and numbers of models, are called in answers and figures: ``"hpcg"``
        is ``"HPCG"``.
    correlations : tuple of Correlation
        What moves together.
    alone : frozenset of str
        What stands in `correlations` and no longer moves together with the others: it was swapped.
    updates : mapping of str to Formula
        By which worlds are weighed: the logarithm of a likelihood, under the quantity of which something is known.
    changes : tuple of Change
        What if: growth and values of quantities changed from a date on, in this order.
    swept : mapping of str to list or str
        What is set to each of several values, side by side; ``"*"`` are all values of a choice.
    levers : tuple of Lever
        What a reader should be able to move, in the order in which it is offered.
    presets : tuple of Preset
        Settings that somebody published together, by name.
    says : mapping of str to mapping
        The sentences that its author wrote for the answer to a question, by its case.
    streams : mapping of str to str
        The names by which quantities and choices draw that are at home in a registered scenario.
    used : frozenset of str
        Quantities of other scenarios, with a name in front, of which only those that are needed are drawn.
    folder : Path or None
        The folder of the file it was read from, which its paths may not leave; None for the user's own mapping.
    stated : mapping
        What it was read from, with what it extends, under the keys of a file.
    with_values : mapping of str to object
        What was set by `forecast.Scenario.with_`, which `stated` has: answers say it.
    """

    name: str
    where: str
    title: str = ""
    choices: Mapping[str, Choice] = field(default_factory=dict)
    quantities: Mapping[str, QuantityKind] = field(default_factory=dict)
    questions: Mapping[str, DateQuestion] = field(default_factory=dict)
    rankings: Mapping[str, RankQuestion] = field(default_factory=dict)
    figures: Mapping[str, ValueQuestion] = field(default_factory=dict)
    firsts: Mapping[str, FirstQuestion] = field(default_factory=dict)
    opens: str = ""
    until: float | None = None
    start: float | None = None
    step: float | str = "year"
    lower: Mapping[str, float] = field(default_factory=dict)
    before: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, Limits] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    correlations: tuple[Correlation, ...] = ()
    alone: frozenset[str] = frozenset()
    updates: Mapping[str, Formula] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    swept: Mapping[str, Any] = field(default_factory=dict)
    levers: tuple[Lever, ...] = ()
    presets: tuple[Preset, ...] = ()
    says: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    streams: Mapping[str, str] = field(default_factory=dict)
    used: frozenset[str] = frozenset()
    folder: Path | None = None
    stated: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    with_values: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def load(cls, name: str | Path) -> Self:
        """Read a scenario by its registered name, or from a TOML file.

        Raises
        ------
        UnknownNameError
            If there is neither such a scenario nor such a file.
        ScenarioError
            Naming file and key.
        """
        from forecast.contract.registry import get_registry

        if isinstance(name, Path) or str(name).lower().endswith(".toml"):
            path = Path(name)
            return cls.from_dict(registered.read_scenario(path), name=path.stem, where=str(path), folder=path.parent)
        origin = get_registry().find("scenario", name)
        path, stated = registered.path_of(origin), registered.read_registered(origin)
        return cls.from_dict(stated, name=origin.full_name, where=path.name, folder=path.parent)

    @property
    def _nameable(self) -> list[str]:
        """What a label may name."""
        values = (value for each in self.choices.values() for value in each.values)
        labels = (label for each in self.quantities.values() for label in each.labels)
        return [*self.quantities, *self.choices, *values, *labels, *self.asked]

    @property
    def asked(self) -> dict[str, DateQuestion | RankQuestion | ValueQuestion | FirstQuestion]:
        """Its questions, whatever they ask: for dates, an order, values, and what comes first."""
        return {**self.questions, **self.rankings, **self.figures, **self.firsts}

    @classmethod
    def from_dict(
        cls, record: Mapping[str, Any], *, name: str = "scenario", where: str = "scenario", folder: Path | None = None
    ) -> Self:
        """Check a scenario given as nested mappings: what the TOML file would hold; a model may be an object.

        A label that the record states must name something; one that it inherits from what it extends need not.

        Examples
        --------
        >>> s = Scenario.from_dict({"until": 2030, "quantities": {"x": {"value": 3, "unit": "FLOP/s"}}})
        >>> s.quantities["x"].unit
        'FLOP/s'
        """
        result = cls.remade(record, name=name, where=where, folder=folder)
        if lost := [each for each in record.get("labels", {}) if each not in result.labels]:
            # what a table lists at another date is no mistake
            known = [*result._nameable, *_table_choice_values(ScenarioReader(where, folder), result.stated)]
            what = "quantity, choice, value of a choice, label of a draw or question"
            if unknown := next((each for each in lost if each not in known), None):
                raise UnknownNameError(what, unknown, known, where=f"{where}: labels")
        levers.check_levers(record, result.quantities, result.choices, where)
        settings_by_name.check_presets(ScenarioReader(where, folder), record, result.quantities, result.choices)
        authored_sentences.check_sentences(record, result.asked, where)
        _check_sharing(record, result, where)
        return result

    @classmethod
    def remade(
        cls, record: Mapping[str, Any], *, name: str = "scenario", where: str = "scenario", folder: Path | None = None
    ) -> Self:
        """Check what was made of a scenario, as `from_dict` does; labels of what is there no more are dropped."""
        reader = ScenarioReader(where, folder)
        record = used_scenarios.extend_scenario(record, reader, _TOP_KEYS)
        for key, most in MAX_PARTS.items():
            reader.count(record.get(key, ()), most, key)
        if "preset" in record:
            base = cls.remade({k: v for k, v in record.items() if k != "preset"}, name=name, where=where, folder=folder)
            return base._with_preset(reader.text(record, "preset", ""))
        record = _plain_record(record)
        for key in ("published_on", "issued_on"):  # read by who compares forecasts
            if key in record:
                reader.date(record[key], key)
        until, start = (reader.year(record, key) for key in ("until", "start"))
        step = record.get("step", "year")
        if not isinstance(step, str) and not is_number(step):
            raise reader.fail("step", f"expected 'year', 'month', or years such as '1/12', got '{printable(step, 40)}'")
        used = used_scenarios.read_used(reader, record.get("use", ()))
        reader.used = {*used.quantities, *used.choices}
        until = used.until if until is None else until
        start = used.start if start is None else start
        step = record.get("step", used.step)
        stated_choices = {**used.choices, **dict(reader.choices(record))}
        given = dict(reader.tables(record, "quantities"))
        lower = {key: reader.lower(value, f"quantities.{key}") for key, value in given.items() if "lower" in value}
        before = {
            key: reader.number(value, "before", f"quantities.{key}")
            for key, value in given.items()
            if "before" in value
        }
        bounds = {key: limits.read_limits(reader, value, key) for key, value in given.items()}
        quantities = {
            key: reader.quantity(key, {k: v for k, v in value.items() if k not in COMMON_KEYS}, stated_choices)
            for key, value in given.items()
        }
        moving: dict[str, QuantityKind] = {
            **dict(Stock.walk(reader, record)),
            **dict(SolvedNumber.walk(reader, record)),
        }
        for key, made in moving.items():
            if key in quantities:
                raise ScenarioError(
                    f"{where}: quantities.{key}: a stock, or a number that is solved for, has the same name"
                )
            quantities[key] = made
        own = dict.fromkeys(quantities)
        quantities = {**used.quantities, **quantities}
        for clash in sorted(set(quantities) & set(TIME_NAMES)):
            raise reader.fail(
                f"quantities.{clash}", f"the name is taken: {', '.join(TIME_NAMES)} are time in expressions"
            )
        if not quantities:
            raise ScenarioError(f"{where}: quantities: expected at least one [quantities.NAME]")
        shown = reader.texts(record["show"], "show") if "show" in record else ()
        for each in shown:
            if each not in quantities:
                raise UnknownNameError("quantity", each, quantities, where=f"{where}: show")
        if len(set(shown)) < len(shown):
            raise reader.fail("show", "a quantity stands there twice")
        cells = {name: part for name, part in quantities.items() if isinstance(part, TableValue)}
        choices = resolve_choices(stated_choices, cells, Tables(where, start))
        for clash in sorted(set(quantities) & set(choices)):
            raise ScenarioError(f"{where}: quantities.{clash}: a choice has the same name")
        questions = asking.read_questions(reader, dict(reader.tables(record, "questions")), choices)
        for kind, names in (("quantity", quantities), ("choice", choices)):
            for clash in sorted(set(questions) & set(names)):
                raise ScenarioError(f"{where}: questions.{clash}: a {kind} has the same name")
        for clash in sorted(
            set(questions)
            & {*RESERVED_DIMENSIONS, *(f"{name}_{part}" for name in questions for part in _RESERVED_SUFFIXES)}
        ):
            raise ScenarioError(f"{where}: questions.{clash}: the name is taken: results use it")
        if used.used and "show" not in record:
            shown = tuple(own) or tuple(
                dict.fromkeys(n for each in questions.values() for n in each.needs if n in quantities)
            )

        def beside(group: str, stated: Mapping[str, Any]) -> dict[str, Any]:
            """Return what is used and not stated anew, and what is stated."""
            return {**{key: each for key, each in getattr(used, group).items() if key not in own}, **stated}

        return cls(
            name=name,
            where=where,
            title=reader.text(record, "title", "", default=""),
            choices=choices,
            quantities=quantities,
            questions={name: part for name, part in questions.items() if isinstance(part, DateQuestion)},
            rankings={name: part for name, part in questions.items() if isinstance(part, RankQuestion)},
            figures={name: part for name, part in questions.items() if isinstance(part, ValueQuestion)},
            firsts={name: part for name, part in questions.items() if isinstance(part, FirstQuestion)},
            opens=next(
                (name for name in list(questions)[:1] if isinstance(questions[name], (ValueQuestion, FirstQuestion))),
                "",
            ),
            until=until,
            start=start,
            step=step,
            lower=beside("lower", lower),
            before=beside("before", before),
            limits=beside("limits", {key: bound for key, bound in bounds.items() if bound is not None}),
            shown=shown,
            labels={**used.labels, **reader.labels(record)},
            correlations=(*used.correlations, *read_correlations(reader, record)),
            alone=used.alone
            | {n for group in used.correlations for n in group.of if {n, n.rpartition(".")[0]} & own.keys()},
            updates={**used.updates, **dict(reader.updates(record))},
            changes=(*used.changes, *changes.read_changes(reader, record.get("changes", ()))),
            swept=dict(reader.swept(record)),
            levers=tuple(
                levers.read_levers(reader, record, quantities, choices, {**used.labels, **reader.labels(record)})
            ),
            presets=(*used.presets, *settings_by_name.read_presets(reader, record, quantities, choices)),
            says=authored_sentences.read_sentences(reader, record, questions, [*quantities, *choices]),
            streams={**used.streams, **stream_names.read_stream_names(reader, record, {*quantities, *choices})},
            used=used.used - own.keys(),
            folder=folder,
            stated=record,
        )._prune()

    @classmethod
    def from_text(cls, text: str, *, name: str = "scenario", folder: Path | None = None) -> Self:
        """Read a scenario from the text of a TOML file.

        Raises
        ------
        ScenarioError
        """
        return cls.from_dict(registered.parse_scenario(text, name), name=name, where=name, folder=folder)

    def preset(self, name: str) -> Preset:
        """Return one of its presets.

        Raises
        ------
        UnknownNameError

        Examples
        --------
        >>> import forecast
        >>> forecast.scenario("ai-2027-a").preset("nikola").settings["faster_then"]
        {'lognormal': [1, 20], 'width': 0.8}
        """
        return settings_by_name.find_preset(self.presets, name, where=f"scenario '{self.name}'")

    def _with_preset(self, name: str) -> Self:
        """Return the scenario that states the settings of a preset, without presets of its own."""
        from forecast.scenarios.settings.replacements import with_settings

        preset = settings_by_name.find_preset(self.presets, name, where=f"{self.where}: preset")
        stated = with_settings(self, preset.settings).stated
        return self.restated({key: value for key, value in stated.items() if key != "presets"})

    def restated(self, stated: Mapping[str, Any]) -> Self:
        """Return the scenario of another record under the same name and in the same folder: its paths stay valid."""
        remade = type(self).remade(stated, name=self.name, where=self.where, folder=self.folder)
        return replace(remade, with_values=self.with_values)

    @property
    def record(self) -> dict[str, Any]:
        """What it was read from, as a file holds it: scenarios that it uses are names, or what they state."""
        use = {"use": used_scenarios.to_record(self.stated["use"])} if "use" in self.stated else {}
        return {**self.stated, **use}

    def to_toml(self) -> str:
        """Return the scenario as the text of a TOML file; what it extends is written out, paths stay as they were.

        A path beside a registered scenario is written with the scenario's name,
        ``capability/model-limits:switches/datapackage.json``: it holds in any folder.

        Raises
        ------
        ScenarioError
            Naming the key of what only Python holds: a function, a model, a fit.

        Examples
        --------
        >>> s = Scenario.from_dict({"until": 2030, "quantities": {"x": {"value": 3, "unit": "FLOP/s"}}})
        >>> print(s.to_toml())
        until = 2030
        <BLANKLINE>
        [quantities.x]
        value = 3
        unit = "FLOP/s"
        <BLANKLINE>
        """
        return toml_text(self.record)

    @property
    def reads_dated_tables(self) -> bool:
        """Whether a figure of it is read in a table as of the years before its start."""
        return any(part.dated for part in self.quantities.values() if isinstance(part, TableValue))

    def starting(self, start: float | None) -> Self:
        """Return the scenario as of another start: what a table says of the years before it is read again."""
        if start is None or start == self.start or not self.reads_dated_tables:
            return self
        return replace(self.restated({**self.stated, "start": start}), swept=self.swept)

    def changed(self, stated: object) -> Self:
        """Return the scenario with more changes, each as a table of ``[[changes]]`` would hold it."""
        reader = ScenarioReader("what if")
        reader.used = self.quantities
        more = tuple(changes.read_changes(reader, stated))
        if not more:
            return self
        told = [*self.stated.get("changes", ()), *stated]  # type: ignore[misc]
        return replace(self, changes=(*self.changes, *more), stated={**self.stated, "changes": told})

    def asking(self, names: Collection[str]) -> Self:
        """Return the scenario with some of its questions for dates and values: what they do not need is not drawn.

        Their answers are the same; where the scenario states no first date, which its trends tell, all of these stay.
        """
        return replace(
            self,
            questions={name: each for name, each in self.questions.items() if name in names},
            figures={name: each for name, each in self.figures.items() if name in names},
            rankings={},
            firsts={},
            opens="",
            shown=(),
            used=self.used if self.start is None else frozenset(self.quantities),
        )

    def narrowed(self, choice: str, values: tuple[str, ...]) -> Self:
        """Return the scenario with one choice cut to some of its values, or to those of rows: ``vendor is AMD``."""
        tables = Tables(self.where)
        each_met = (tables.chosen(self.choices[choice], value, f"choice '{choice}'") for value in values)
        values = tuple(dict.fromkeys(itertools.chain.from_iterable(each_met)))
        for value in values:
            if value not in self.choices[choice].values:
                if lacks := self.choices[choice].left_out.get(value):
                    known = ", ".join(printable(each, 60) for each in self.choices[choice].values)
                    raise UsageError(
                        f"choice '{choice}': '{printable(value, 60)}': {lacks}; with all that is needed: {known}"
                    )
                raise UnknownNameError(f"value of choice '{choice}'", value, self.choices[choice].values)
        kept = self.choices[choice].narrowed(values)
        weights = {} if kept.weights is None else {"weights": list(kept.weights)}
        told = {"values": list(kept.values), "kind": kept.kind, **weights}
        stated = {**self.stated, "choices": {**self.stated.get("choices", {}), choice: told}}
        if "quantities" in stated:
            rows = stated["quantities"].items()
            stated["quantities"] = {name: _keep_rows(row, self.choices[choice].values, values) for name, row in rows}
        moving = (each if each.name != choice else replace(each, ends=kept.values) for each in self.levers)
        several = tuple(each for each in moving if len(each.ends) > 1)
        return replace(self, choices={**self.choices, choice: kept}, levers=several, stated=stated)._prune()

    def _prune(self) -> Self:
        """Return the scenario without what names something that is not there: it was narrowed, or inherits it.

        These are labels, the sentences of questions, and the values of choices under which a question is shared.
        """
        known, stated = set(self._nameable), dict(self.stated)
        labels = {name: label for name, label in self.labels.items() if name in known or _of_model(name)}
        if len(labels) < len(self.labels) and "labels" in stated:
            # a table that lacks a value now may have it as of another start
            named = {*labels, *(value for each in self.choices.values() for value in each.left_out)}
            stated["labels"] = {name: label for name, label in stated["labels"].items() if name in named}
        if "says" in stated:
            stated["says"] = {n: each for n, each in stated["says"].items() if isinstance(each, str) or n in known}
        questions, figures = dict(self.questions), dict(self.figures)
        groups: tuple[dict[str, Any], ...] = (questions, figures)
        for group in groups:
            for name, question in group.items():
                shared = {each: under for each, under in question.shared.items() if self._has(under)}
                if len(shared) < len(question.shared):
                    group[name] = replace(question, shared=shared)
                    told = {**stated["questions"][name], "comparable_as": shared}
                    stated["questions"] = {**stated["questions"], name: told}
        return replace(self, labels=labels, questions=questions, figures=figures, stated=stated)

    def _has(self, chosen: Mapping[str, str]) -> bool:
        """Tell whether these values of choices are there."""
        return all(choice in self.choices and value in self.choices[choice].values for choice, value in chosen.items())


def _keep_rows(record: Any, values: Collection[str], kept: Collection[str]) -> Any:
    """Return the record of a quantity whose rows of a table, by the values of a choice, are those of some of them."""
    if not isinstance(record, Mapping) or "table" not in record:
        return record
    where = {
        column: {value: rows[value] for value in kept} if isinstance(rows, Mapping) and set(rows) == {*values} else rows
        for column, rows in record.get("where", {}).items()
    }
    other = {"fallback": _keep_rows(record["fallback"], values, kept)} if "fallback" in record else {}
    return {**record, **({"where": where} if where else {}), **other}


def _of_model(name: str) -> bool:
    """Tell whether a label is of a number of a model, which only a drawn scenario knows: ``brain/pooled.member``."""
    model, dot, number = name.rpartition(".")
    return bool(dot and number) and "/" in model


def _table_choice_values(reader: ScenarioReader, record: Mapping[str, Any]) -> Iterator[str]:
    """Walk the values that choices could take from tables, whatever rows are kept."""
    for name, choice in reader.choices(record):
        if isinstance(choice, TableChoice):
            yield from Tables(reader.where).values(replace(choice, where={}), f"choices.{name}")


def _plain_record(stated: Any, key: str = "") -> Any:
    """Return a copy of tables and lists, which the caller may change later; a quantity that is a model is the model."""
    if isinstance(stated, (str, float)):
        return stated
    if isinstance(stated, Mapping):
        return {name: _plain_record(value, name) for name, value in stated.items()}
    if isinstance(stated, (list, tuple)):
        return [_plain_record(value, key) for value in stated]
    is_model = key == "model" and isinstance(stated, Operators) and stated.is_model
    return stated.record["model"] if is_model else stated


def _check_sharing(record: Mapping[str, Any], scenario: Scenario, where: str) -> None:
    """Refuse a choice or a value that is not there, under which a question of the record's own asks what others ask."""
    for name, question in record.get("questions", {}).items():
        shared = question.get("comparable_as")
        for under in shared.values() if isinstance(shared, Mapping) else ():
            at = f"{where}: questions.{name}.comparable_as"
            for choice, value in under.items():
                if choice not in scenario.choices:
                    raise UnknownNameError("choice", choice, scenario.choices, where=at)
                if value not in scenario.choices[choice].values:
                    raise UnknownNameError(f"value of {choice}", value, scenario.choices[choice].values, where=at)
