"""A scenario: choices, quantities and questions, read from TOML and checked key by key.

::

    title = "When does the fastest supercomputer match the brain?"
    until = 2150
    [choices]                         # each is a dimension of its own name
    metric = ["hpcg", "linpack"]
    [quantities.machine]
    model = "hardware/{metric}-exponential"
    [quantities.brain]
    p05 = 1e15                        # a prior from quantiles
    p95 = 1e21
    unit = "FLOP/s"
    [questions.parity]
    when = "machine >= brain"

What a quantity may be: ``model`` (with ``inputs`` to wire a relation to other quantities), ``expression`` (with an
optional ``unit``), ``shape`` + ``data`` + ``x`` + ``y`` + ``unit`` (a trend of your own), or a distribution with a
``unit``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forecast import formula
from forecast.distributions import Distribution, distribution
from forecast.errors import FormulaError, ScenarioError, UnknownNameError, printable

__all__ = ["Expression", "ModelRef", "Prior", "Quantity", "Question", "Scenario", "SeriesRef"]

#: A scenario file larger than this is refused unread.
LIMIT_BYTES = 1 << 20

_TOP = ("title", "start", "until", "step", "choices", "quantities", "questions")
_STEPS = ("year", "month")

#: Names that results use beside the choices and the questions.
_TAKEN = ("date", "quantile", "value")
_PARTS = ("already", "date", "never")


@dataclass(frozen=True, kw_only=True)
class ModelRef:
    """A registered model, by a name that may hold choices in braces, or a model object."""

    model: Any
    inputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Expression:
    """A formula over other quantities."""

    tree: formula.Formula
    unit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Prior:
    """An uncertain (or fixed) number."""

    distribution: Distribution
    unit: str


@dataclass(frozen=True, kw_only=True)
class SeriesRef:
    """Shape + column of the user's own data."""

    shape: str
    data: str
    x: str
    y: str
    unit: str
    frontier: bool = False


Quantity = ModelRef | Expression | Prior | SeriesRef


@dataclass(frozen=True, kw_only=True)
class Question:
    """A date asked for: when a condition between quantities first holds."""

    when: formula.Condition
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Choices, quantities with their models, a horizon, and questions. Made by `Scenario.load` or `Scenario.from_dict`.

    Parameters
    ----------
    name, title : str
    where : str
        The file it was read from, for messages.
    choices : mapping of str to tuple of str
        Rival values; each choice is a dimension of its own name.
    quantities : mapping of str to Quantity
    questions : mapping of str to Question
    until : int or None
        The last year.
    start : int or None
        The first year; by default the year of the last observation behind any of its trends.
    step : {"year", "month"}
    """

    name: str
    where: str
    title: str = ""
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    questions: Mapping[str, Question] = field(default_factory=dict)
    until: int | None = None
    start: int | None = None
    step: str = "year"

    @classmethod
    def load(cls, name: str | Path) -> Scenario:
        """Read a scenario by its registered name, or from a TOML file.

        Raises
        ------
        UnknownNameError
            If there is neither such a scenario nor such a file.
        ScenarioError
            Naming file and key.
        """
        from forecast.registry import get_registry

        if isinstance(name, Path) or str(name).lower().endswith(".toml"):
            path = Path(name)
            return cls.from_dict(_read(path), name=path.stem, where=str(path), folder=path.parent)
        record = get_registry().find("scenario", name)
        path = Path(record.spec.path)  # type: ignore[attr-defined]
        return cls.from_dict(_read(path), name=record.full_name, where=path.name, folder=path.parent)

    @classmethod
    def from_dict(
        cls, record: Mapping[str, Any], *, name: str = "scenario", where: str = "scenario", folder: Path | None = None
    ) -> Scenario:
        """Check a scenario given as nested mappings: what the TOML file would hold; a model may be an object.

        Examples
        --------
        >>> s = Scenario.from_dict({"until": 2030, "quantities": {"x": {"value": 3, "unit": "FLOP/s"}}})
        >>> s.quantities["x"].unit
        'FLOP/s'
        """
        reader = _Reader(where)
        reader.only(record, _TOP, "")
        until, start = (reader.year(record, key) for key in ("until", "start"))
        step = reader.text(record, "step", "", default="year")
        if step not in _STEPS:
            raise UnknownNameError("step", step, _STEPS, where=f"{where}: step")
        choices = dict(reader.choices(record))
        quantities = {
            key: reader.quantity(key, value, choices, folder) for key, value in reader.tables(record, "quantities")
        }
        if not quantities:
            raise ScenarioError(f"{where}: quantities: expected at least one [quantities.NAME]")
        for clash in sorted(set(quantities) & set(choices)):
            raise ScenarioError(f"{where}: quantities.{clash}: a choice has the same name")
        questions = {key: reader.question(key, value) for key, value in reader.tables(record, "questions")}
        for kind, names in (("quantity", quantities), ("choice", choices)):
            for clash in sorted(set(questions) & set(names)):
                raise ScenarioError(f"{where}: questions.{clash}: a {kind} has the same name")
        for clash in sorted(set(questions) & {*_TAKEN, *(f"{name}_{part}" for name in questions for part in _PARTS)}):
            raise ScenarioError(f"{where}: questions.{clash}: the name is taken: results use it")
        return cls(
            name=name,
            where=where,
            title=reader.text(record, "title", "", default=""),
            choices=choices,
            quantities=quantities,
            questions=questions,
            until=until,
            start=start,
            step=step,
        )

    def narrowed(self, choice: str, values: tuple[str, ...]) -> Scenario:
        """Return the scenario with one choice cut to some of its values."""
        for value in values:
            if value not in self.choices[choice]:
                raise UnknownNameError(f"value of choice '{choice}'", value, self.choices[choice])
        return replace(self, choices={**self.choices, choice: values})


def _read(path: Path) -> dict[str, Any]:
    from forecast import files

    text = files.read_bytes(path, limit=LIMIT_BYTES, error=ScenarioError)
    try:
        return tomllib.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{printable(path)}: expected UTF-8 text: byte {error.start} is not") from error
    except (ValueError, RecursionError) as error:  # ValueError: also an integer of more digits than Python converts
        raise ScenarioError(f"{printable(path)}: not TOML: {printable(error)}") from error


class _Reader:
    """Checks one scenario; every failure names the file and the key."""

    def __init__(self, where: str) -> None:
        self.where = where

    def fail(self, key: str, reason: str) -> ScenarioError:
        return ScenarioError(f"{printable(self.where)}: {printable(key, 120)}: {reason}")

    def only(self, record: object, known: tuple[str, ...], key: str) -> None:
        if not isinstance(record, Mapping):
            raise self.fail(key or "top", f"expected a table, got {type(record).__name__}")
        for found in record:
            if found not in known:
                raise UnknownNameError("key", found, known, where=f"{self.where}: {key}" if key else self.where)

    def text(self, record: Mapping[str, Any], name: str, key: str, *, default: str | None = None) -> str:
        value = record.get(name, default)
        at = f"{key}.{name}" if key else name
        if value is None:
            raise self.fail(at, "is missing")
        if not isinstance(value, str):
            raise self.fail(at, f"expected text, got {printable(value, 40)}")
        return value

    def year(self, record: Mapping[str, Any], key: str) -> int | None:
        value = record.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 9999:
            raise self.fail(key, f"expected a year from 1 to 9999, got '{printable(value, 40)}'")
        return value

    def name(self, value: str, key: str) -> str:
        try:
            return formula.check_name(value, where=f"{self.where}: {printable(key, 80)}")
        except FormulaError as error:
            raise ScenarioError(str(error)) from error

    def tables(self, record: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
        group = record.get(key, {})
        if not isinstance(group, Mapping):
            raise self.fail(key, f"expected a table, got {type(group).__name__}")
        for name, value in group.items():
            self.name(name, key)
            if not isinstance(value, Mapping):
                raise self.fail(f"{key}.{name}", f"expected a table, got {type(value).__name__}")
            yield name, value

    def choices(self, record: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
        group = record.get("choices", {})
        if not isinstance(group, Mapping):
            raise self.fail("choices", f"expected a table, got {type(group).__name__}")
        for name, values in group.items():
            self.name(name, "choices")
            key = f"choices.{name}"
            if name in _TAKEN:
                raise self.fail(key, "the name is taken: results use it")
            if not isinstance(values, (list, tuple)) or not values or not all(isinstance(v, str) for v in values):
                raise self.fail(key, "expected a list of texts, such as ['low', 'high']")
            if len(set(values)) < len(values):
                raise self.fail(key, "a value stands there twice")
            yield name, tuple(values)

    def quantity(
        self, name: str, record: Mapping[str, Any], choices: Mapping[str, Any], folder: Path | None
    ) -> Quantity:
        key = f"quantities.{name}"
        if "model" in record:
            return self.model(record, key, choices)
        if "expression" in record:
            self.only(record, ("expression", "unit"), key)
            tree = self.formula(self.text(record, "expression", key), f"{key}.expression")
            return Expression(tree=tree, unit=self.unit(record, key) if "unit" in record else None)
        if "shape" in record or "data" in record:
            self.only(record, ("shape", "data", "x", "y", "unit", "frontier"), key)
            data = self.text(record, "data", key)
            if folder is not None and data.lower().endswith(".csv"):
                data = str(folder / data)
            frontier = record.get("frontier", False)
            if not isinstance(frontier, bool):
                raise self.fail(f"{key}.frontier", f"expected true or false, got {printable(frontier, 40)}")
            return SeriesRef(
                shape=self.text(record, "shape", key),
                data=data,
                x=self.text(record, "x", key),
                y=self.text(record, "y", key),
                unit=self.unit(record, key),
                frontier=frontier,
            )
        numbers = {k: v for k, v in record.items() if k != "unit"}
        if not numbers:
            raise self.fail(key, "expected a model, an expression, a shape with data, or a distribution")
        return Prior(distribution=distribution(numbers, where=f"{self.where}: {key}"), unit=self.unit(record, key))

    def model(self, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]) -> ModelRef:
        from forecast.models import Model
        from forecast.models.contract import checked_model

        self.only(record, ("model", "inputs"), key)
        wiring = record.get("inputs", {})
        if not isinstance(wiring, Mapping) or not all(isinstance(v, str) for v in wiring.values()):
            raise self.fail(f"{key}.inputs", "expected a table of input to quantity")
        if isinstance(record["model"], Model):
            checked_model(record["model"], f"{self.where}: {key}.model")
            return ModelRef(model=record["model"], inputs=dict(wiring))
        template = self.text(record, "model", key)
        for used in braces(template, where=f"{printable(self.where)}: {key}.model"):
            if used not in choices:
                raise UnknownNameError("choice", used, choices, where=f"{self.where}: {key}.model")
        return ModelRef(model=template, inputs=dict(wiring))

    def unit(self, record: Mapping[str, Any], key: str) -> str:
        from forecast import units

        text = self.text(record, "unit", key)
        units.unit(text, where=f"{self.where}: {key}.unit")
        return text

    def formula(self, text: str, key: str) -> formula.Formula:
        return formula.parse(text, where=f"{self.where}: {key}")

    def question(self, name: str, record: Mapping[str, Any]) -> Question:
        key = f"questions.{name}"
        self.only(record, ("when", "title"), key)
        when = formula.parse_condition(self.text(record, "when", key), where=f"{self.where}: {key}.when")
        return Question(when=when, title=self.text(record, "title", key, default=""))


def braces(template: str, *, where: str) -> list[str]:
    """Return the choices named in braces in a model's name.

    ``str.format`` is not used on purpose: its fields can reach attributes.

    Examples
    --------
    >>> braces("hardware/{metric}-{trend}", where="demo")
    ['metric', 'trend']
    """
    found: list[str] = []
    rest = template
    while "{" in rest or "}" in rest:
        before, opened, rest = rest.partition("{")
        inside, closed, rest = rest.partition("}")
        if "}" in before or not opened or not closed or "{" in inside or not inside:
            raise ScenarioError(f"{where}: braces do not match in '{printable(template, 80)}'")
        found.append(inside)
    return found


def fill(template: str, chosen: Mapping[str, str]) -> str:
    """Put the chosen values in the braces; a value that itself holds braces stays as it is.

    Examples
    --------
    >>> fill("hardware/{metric}-{trend}", {"metric": "hpcg", "trend": "{metric}"})
    'hardware/hpcg-{metric}'
    """
    return re.sub(r"\{([^{}]*)\}", lambda found: chosen[found[1]], template)
