"""Reads the parts of a scenario, key by key: every failure names the file and the key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from forecast import formula, units
from forecast.base.dates import iso_date, parse_year
from forecast.base.distributions import MAX_MAGNITUDE
from forecast.base.number_checks import is_real
from forecast.contract import track_record
from forecast.contract.fields import is_number
from forecast.contract.inputs import below
from forecast.errors import ForecastError, FormulaError, ScenarioError, UnknownNameError, printable
from forecast.formula import Condition, Formula
from forecast.scenarios import registered
from forecast.scenarios.kinds import KINDS
from forecast.scenarios.kinds.chosen import with_choice_names, with_placeholders
from forecast.scenarios.quantities.node import QuantityKind
from forecast.scenarios.spec import Choice, DateQuestion, RankQuestion, TableChoice, choices_in_braces
from forecast.units import qualifiers

#: Names that results use beside the choices and the questions.
RESERVED_DIMENSIONS = ("date", "quantile", "value")


class ScenarioReader:
    """Checks one scenario; `where` is the file it came from, `folder` its folder, None for the user's own mapping."""

    def __init__(self, where: str, folder: Path | None = None) -> None:
        self.where, self.folder = where, folder
        #: Names of what stands in scenarios that are used; those with a name in front hold a dot.
        self.used: Collection[str] = ()

    def fail(self, key: str, reason: str) -> ScenarioError:
        """Return the error that names the file and the key."""
        return ScenarioError(f"{printable(self.where)}: {printable(key, 120)}: {reason}")

    def only(self, record: object, valid_names: tuple[str, ...], key: str) -> None:
        """Refuse a key that is not known."""
        if not isinstance(record, Mapping):
            raise self.fail(key or "top", f"expected a table, got {type(record).__name__}")
        for name in record:
            if name not in valid_names:
                raise UnknownNameError("key", name, valid_names, where=f"{self.where}: {key}" if key else self.where)

    def count(self, stated: object, most: int, key: str) -> None:
        """Refuse a list or a table that is longer than what one can mean."""
        if isinstance(stated, (Mapping, list, tuple)) and len(stated) > most:
            raise self.fail(key, f"{len(stated):,} of them; at most {most:,} are taken")

    def text(self, record: Mapping[str, Any], name: str, key: str, *, default: str | None = None) -> str:
        """Return a text."""
        value = record.get(name, default)
        at = f"{key}.{name}" if key else name
        if value is None:
            raise self.fail(at, "is missing")
        if not isinstance(value, str):
            raise self.fail(at, f"expected text, got {printable(value, 40)}")
        return value

    def word(
        self,
        record: Mapping[str, Any],
        name: str,
        key: str,
        known: Collection[str],
        *,
        what: str,
        default: str | None = None,
    ) -> Any:
        """Return a text that is one of several words, or the default, which need not be one of them."""
        text = self.text(record, name, key, default=default)
        if text not in known and text != default:
            raise UnknownNameError(what, text, known, where=f"{self.where}: {key}.{name}")
        return text

    def source(self, record: Mapping[str, Any], name: str, key: str, choices: Mapping[str, Any] | None = None) -> str:
        """Return what data are read from: a table's name, or a path that a scenario in a file may reach.

        With `choices` it may hold some in braces: it then stays as it is, and is checked when they are made.
        """
        return self._named(registered.data_of, record, name, key, choices)

    def file(self, record: Mapping[str, Any], name: str, key: str, choices: Mapping[str, Any]) -> str:
        """Return a file that a scenario may reach; one with choices in braces as in `source`."""
        return self._named(registered.file_of, record, name, key, choices)

    def _named(
        self,
        find: Callable[..., str],
        record: Mapping[str, Any],
        name: str,
        key: str,
        choices: Mapping[str, Any] | None,
    ) -> str:
        """Return what a text names, or the text with the choices in braces that it may hold."""
        text, at = self.text(record, name, key), f"{key}.{name}"
        if choices is not None and self.filled(text, choices, at):
            return text
        return find(text, self.folder, where=f"{printable(self.where)}: {printable(at, 120)}")

    def texts_by_name(self, record: Mapping[str, Any], name: str, key: str) -> dict[str, str]:
        """Return a table of texts."""
        stated = self.mapping(record, name, key)
        for each, value in stated.items():
            if not isinstance(value, (str, bool)):
                raise self.fail(f"{key}.{name}.{each}", f"expected text, true or false, got {printable(value, 40)}")
        return {each: str(value).lower() if isinstance(value, bool) else value for each, value in stated.items()}

    def reading(self, record: Mapping[str, Any], key: str, options: tuple[str, ...]) -> dict[str, str]:
        """Return how a file is read where it does not tell: ``{ dates = "dmy", reduce = "median" }``."""
        stated, at = self.mapping(record, "reading", key), f"{key}.reading"
        self.only(stated, options, at)
        return {name: self.text(stated, name, at) for name in stated}

    def year(self, record: Mapping[str, Any], key: str) -> float | None:
        """Return a date as a decimal year, or None where it is absent."""
        return None if record.get(key) is None else self.decimal_year(record[key], key)

    def name(self, value: str, key: str) -> str:
        """Return a name that the grammar of formulas allows, or one in a scenario that is used."""
        if value in self.used:
            return value
        try:
            return formula.check_name(value, where=f"{self.where}: {printable(key, 80)}")
        except FormulaError as error:
            raise ScenarioError(str(error)) from error

    def tables(self, record: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
        """Walk the named tables of a group."""
        for name, value in self.mapping(record, key, "").items():
            self.name(name, key)
            if not isinstance(value, Mapping):
                raise self.fail(f"{key}.{name}", f"expected a table, got {type(value).__name__}")
            yield name, value

    def swept(self, record: Mapping[str, Any], key: str = "sweep") -> Iterator[tuple[str, Any]]:
        """Walk what is swept and its values; TOML may write ``machine.growth`` as a table in a table."""
        for name, values in self.mapping(record, "sweep", "").items() if key == "sweep" else record.items():
            at = f"{key}.{name}"
            if isinstance(values, Mapping):
                yield from ((f"{name}.{inner}", each) for inner, each in self.swept(values, at))
            elif values == "*" or (isinstance(values, (list, tuple)) and values):
                yield name, values
            else:
                raise self.fail(at, "expected a list of values, or '*' for all values of a choice")

    def choices(self, record: Mapping[str, Any]) -> Iterator[tuple[str, Choice | TableChoice]]:
        """Walk the choices; the values of those of a table are read later."""
        for name, values in self.mapping(record, "choices", "").items():
            self.name(name, "choices")
            key = f"choices.{name}"
            if name in RESERVED_DIMENSIONS:
                raise self.fail(key, "the name is taken: results use it")
            yield name, self.choice(values if isinstance(values, Mapping) else {"values": values}, key)

    def choice(self, record: Mapping[str, Any], key: str) -> Choice | TableChoice:
        """Return one choice: its values, what kind of fork it is, and the weights of rivals."""
        kind = self.word(record, "kind", key, ("rival", "definition"), what="kind of choice", default="rival")
        if "table" in record:
            self.only(record, ("table", "column", "where", "requires", "kind"), key)
            return TableChoice(
                table=self.source(record, "table", key),
                column=self.text(record, "column", key),
                where={
                    c: self.cell_texts(v, f"{key}.where.{c}") for c, v in self.mapping(record, "where", key).items()
                },
                known=self.texts(record.get("requires", ()), f"{key}.requires") if "requires" in record else (),
                kind=kind,
            )
        self.only(record, ("values", "kind", "weights"), key)
        if "values" not in record:
            raise self.fail(key, "expected a list of texts, such as ['low', 'high'], or values, kind and weights")
        values = self.texts(record["values"], key)
        if len(set(values)) < len(values):
            raise self.fail(key, "a value stands there twice")
        weights = self.weights(record["weights"], values, f"{key}.weights") if "weights" in record else None
        if weights is not None and kind == "definition":
            raise self.fail(
                f"{key}.weights", "a definition says what is asked, and is never pooled: only rivals have weights"
            )
        return Choice(values=values, kind=kind, weights=weights)

    def weights(self, stated: object, values: tuple[str, ...], key: str) -> tuple[float, ...]:
        """Return the weights of rivals, in sum 1."""
        if stated == "equal":
            return (1 / len(values),) * len(values)
        if stated == "track-record":
            try:
                return track_record.record_weights(values)
            except ForecastError as problem:
                raise self.fail(key, f"'track-record' weighs shapes by their past forecasts: {problem}") from problem
        if not isinstance(stated, (list, tuple)) or len(stated) != len(values) or not all(map(is_number, stated)):
            raise self.fail(key, f"expected 'equal', or {len(values)} numbers, one for each value")
        if min(stated) < 0 or not abs(sum(stated) - 1) <= 1e-9:
            raise self.fail(key, f"expected weights from 0 to 1 in sum 1, got {sum(stated):.12g} in sum")
        return tuple(float(weight) for weight in stated)

    def texts(self, values: object, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        if not isinstance(values, (list, tuple)) or not values or not all(isinstance(v, str) for v in values):
            raise self.fail(key, "expected a list of texts, such as ['low', 'high']")
        return tuple(values)

    def cell_texts(self, value: object, key: str) -> tuple[str, ...]:
        """Return the texts that a cell may have: one text, ``true`` or ``false``, or several texts."""
        if isinstance(value, bool):
            return ("true" if value else "false",)
        return (value,) if isinstance(value, str) else self.texts(value, key)

    def mapping(self, record: Mapping[str, Any], name: str, key: str) -> Mapping[str, Any]:
        """Return a table, empty where it is absent."""
        value = record.get(name, {})
        if not isinstance(value, Mapping):
            raise self.fail(f"{key}.{name}" if key else name, f"expected a table, got {type(value).__name__}")
        return value

    def labels(self, record: Mapping[str, Any]) -> dict[str, str]:
        """Return what quantities, choices and values of choices are called for people."""
        found = self.mapping(record, "labels", "")
        for name, label in found.items():
            if not isinstance(label, str) or not label.strip():
                raise self.fail(f"labels.{name}", f"expected a text, got '{printable(label, 40)}'")
        return dict(found)

    def qualifiers(self, record: Mapping[str, Any], key: str) -> dict[str, str]:
        """Return the qualifiers that are stated."""
        return qualifiers.check(self.mapping(record, "qualifiers", key), where=f"{self.where}: {key}")

    def published(self, record: Mapping[str, Any], key: str) -> str:
        """Return when what a quantity states was published; nothing where it does not say."""
        if "earlier" in record and "published" not in record:
            raise self.fail(f"{key}.earlier", "states what stood before a date: say which, by 'published'")
        return self.date(record["published"], f"{key}.published") if "published" in record else ""

    def quantity(self, name: str, record: Mapping[str, Any], choices: Mapping[str, Any]) -> QuantityKind:
        """Return a quantity of the first kind that says that the record is its own."""
        key = f"quantities.{name}"
        for kind in KINDS:
            if kind.told(record):
                return kind.read(self, record, key, choices)
        *forms, last = (kind.FORM for kind in KINDS if kind.FORM)
        raise self.fail(key, f"expected {', '.join(forms)} or {last}")

    def finite(self, value: object, key: str) -> float:
        """Return a number."""
        if not is_real(value) or not abs(value) <= MAX_MAGNITUDE:
            raise self.fail(key, f"expected a finite number, got '{printable(value, 40)}'")
        return float(value)

    def decimal_year(self, value: object, key: str) -> float:
        """Return a decimal year: of a number, a date, or text of a year, a month or a day."""
        return parse_year(value, f"{printable(self.where)}: {printable(key, 120)}", ScenarioError)

    def flag(self, record: Mapping[str, Any], name: str, key: str) -> bool:
        """Return true or false; false where it is absent."""
        value = record.get(name, False)
        if not isinstance(value, bool):
            raise self.fail(f"{key}.{name}", f"expected true or false, got {printable(value, 40)}")
        return value

    def number(self, record: Mapping[str, Any], name: str, key: str) -> float:
        """Return a number, which may be infinite."""
        value = record[name]
        if not is_number(value):
            raise self.fail(f"{key}.{name}", f"expected a number, got {printable(value, 40)}")
        return float(value)

    def lower(self, record: Mapping[str, Any], key: str) -> float:
        """Return what a quantity may not be set below."""
        value = self.number(record, "lower", key)
        if (low := below({k: v for k, v in record.items() if k != "lower"}, value)) is not None:
            raise self.fail(f"{key}.lower", f"the quantity itself holds {low:g}, below {value:g}")
        return value

    def filled(self, template: str, choices: Mapping[str, Any], key: str) -> list[str]:
        """Return the choices that a text names in braces, all of which are there."""
        names = choices_in_braces(template, where=f"{printable(self.where)}: {key}")
        for used in names:
            if used not in choices:
                raise UnknownNameError("choice", used, choices, where=f"{self.where}: {key}")
        return names

    def unit(self, record: Mapping[str, Any], key: str) -> str:
        """Return the text of a unit that parses."""
        text = self.text(record, "unit", key)
        units.unit(text, where=f"{self.where}: {key}.unit")
        return text

    def formula(self, text: str, key: str) -> Formula:
        """Return a formula."""
        text, names = with_placeholders(text)
        return with_choice_names(formula.parse_expression(text, where=f"{self.where}: {key}"), names)

    def condition(self, text: str, key: str) -> Condition:
        """Return a condition."""
        text, names = with_placeholders(text)
        result = formula.parse_condition(text, where=f"{self.where}: {key}")
        left, right = (with_choice_names(side, names) for side in (result.left, result.right))
        return Condition(left, result.op, right)

    def updates(self, record: Mapping[str, Any]) -> Iterator[tuple[str, Formula]]:
        """Walk the likelihoods by which worlds are weighed; the name says of which quantity something is known."""
        for name, stated in self.tables(record, "update"):
            key = f"update.{name}"
            self.only(stated, ("log_likelihood",), key)
            yield name, self.formula(self.text(stated, "log_likelihood", key), f"{key}.log_likelihood")

    def question(self, name: str, record: Mapping[str, Any], choices: Mapping[str, Any]) -> DateQuestion | RankQuestion:
        """Return a question about a date or an order."""
        key = f"questions.{name}"
        if "rank" in record:
            return self.ranking(record, key, choices)
        self.only(record, ("when", "title", "dates", "resolves", "comparable_as"), key)
        when = self.condition(self.text(record, "when", key), f"{key}.when")
        if when.op == "==":
            raise self.fail(f"{key}.when", "a date is when one side passes the other: write >= or <=")
        dates = record.get("dates", [])
        if not isinstance(dates, (list, tuple)):
            raise self.fail(f"{key}.dates", f"expected a list of dates, got {printable(dates, 40)}")
        return DateQuestion(
            when=when,
            title=self.text(record, "title", key, default=""),
            dates=tuple(self.date(given, f"{key}.dates") for given in dates),
            resolves=self.text(record, "resolves", key, default=""),
            shared=self.sharing(record, key),
        )

    def sharing(self, record: Mapping[str, Any], key: str) -> dict[str, dict[str, str]]:
        """Return the shared questions that a question answers, each with the values of choices under which it does."""
        if not isinstance(record.get("comparable_as", {}), Mapping):
            return {self.text(record, "comparable_as", key): {}}
        found = {}
        for name, under in self.mapping(record, "comparable_as", key).items():
            where = f"{key}.comparable_as.{name}"
            if not isinstance(under, Mapping) or not all(isinstance(value, str) for value in under.values()):
                raise self.fail(where, "expected values of choices, such as { metric = 'hpcg' }, or {}")
            found[name] = dict(under)
        return found

    def date(self, given: object, key: str) -> str:
        """Return a date, a TOML date, a year, or text of a year, a month or a day, as YYYY-MM-DD."""
        if (year := self.decimal_year(given, key)) < 1000:
            raise self.fail(key, f"expected a year from 1000 to 9999, got '{printable(given, 40)}'")
        return iso_date(year)

    def ranking(self, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]) -> RankQuestion:
        """Return a question about an order."""
        self.only(record, ("rank", "over", "subject_to", "best", "ordered", "title"), key)
        over = self.text(record, "over", key)
        if over not in choices:
            raise UnknownNameError("choice", over, choices, where=f"{self.where}: {key}.over")
        among = self.texts(record["subject_to"], f"{key}.subject_to") if "subject_to" in record else ()
        return RankQuestion(
            rank=self.formula(self.text(record, "rank", key), f"{key}.rank"),
            over=over,
            among=tuple(self.condition(text, f"{key}.subject_to") for text in among),
            best=self.word(record, "best", key, ("highest", "lowest"), what="order", default="highest"),
            ordered=self.flag(record, "ordered", key),
            title=self.text(record, "title", key, default=""),
        )
