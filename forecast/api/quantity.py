"""Quantities as objects: arithmetic on uncertain numbers, before anything is computed.

An object holds a record of the language of scenarios, under the same keys as a TOML file, and the quantities that stand
in it. Asking a question gathers the records into a scenario: the same graph, by another spelling.

Operations, functions of the language and comparisons of objects make formulas, which hold the quantities themselves.
Written into a scenario, one that has no name of its own stands where it is used, as a person would write it:
``60e6*(1 + g)**(t - start)`` is one expression, not five quantities.
"""

from __future__ import annotations

import datetime
import functools
import keyword
import math
import numbers
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Unpack

from forecast.api import automatic_names as names
from forecast.base.dates import parse_year
from forecast.base.notebook_html import HtmlText
from forecast.base.number_checks import is_real
from forecast.base.operators import Operators
from forecast.base.other_words import OtherWords
from forecast.errors import ScenarioError, UsageError, printable
from forecast.formula import (
    FUNCTIONS,
    SCENARIO_FUNCTIONS,
    Binary,
    Call,
    Comparison,
    Formula,
    Measured,
    Name,
    Node,
    Sequence as Listed,
    Text,
    Unary,
    check_name,
    parse_condition,
    tree,
)
from forecast.formula.tree import MIRRORED_OPERATORS

if TYPE_CHECKING:
    from forecast.api.answer import Answer
    from forecast.api.options import AskOptions, ConstraintKeys
    from forecast.api.scenario import Scenario
    from forecast.base.arrays import Array
    from forecast.fit.fit import Fit
    from forecast.models import FittedModel, Model


#: A formula of more parts than this is a quantity of its own: formulas stay ones that can be read.
MAX_FORMULA_PARTS = 60

Compared = Literal[">=", ">", "<=", "<", "=="]

#: numpy's functions that have a word in the grammar, and those that are an operation or a comparison.
_FUNCTIONS = {"absolute": "abs", **{f.numpy: name for name, f in FUNCTIONS.items() if f.numpy}}
_OPERATIONS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "negative": "-"}
_COMPARISON_OPERATORS: Mapping[str, Compared] = {"greater_equal": ">=", "greater": ">", "less_equal": "<=", "less": "<"}


#: A condition of the values at a date.
_AT_DATE_PATTERN = re.compile(r"(?P<condition>.*\S)\s+at\s+(?P<date>\d{4}[-\d.]*)\s*", re.DOTALL)


@dataclass(frozen=True, eq=False)
class QuantityFormula:
    """A formula of quantities.

    Parameters
    ----------
    root : Node
        In which ``#0``, ``#1`` … stand for the quantities.
    of : tuple of Quantity
    """

    root: Node
    of: tuple[Quantity, ...] = ()

    @functools.cached_property
    def size(self) -> int:
        """How many parts it has, with those of the formulas that stand in it."""
        return sum(1 for _ in tree.walk(self.root)) + sum(each._size for each in self.of)

    def _tree(self, own_names: Collection[str] = ()) -> Node:
        """Return the formula with the names of quantities; those `own_names` have a name wherever they stand."""
        stands = {f"#{place}": each._tree(own_names) for place, each in enumerate(self.of)}

        return tree.rewrite(self.root, lambda node: stands.get(node.name, node) if isinstance(node, Name) else node)


class _FormulaBuilder:
    """Turns operands, one after the other, into nodes of a formula."""

    def __init__(self, where: str) -> None:
        self.where, self.of, self.words, self.labels = where, list[Any](), list[str](), list[str]()

    def node(self, operand: Any) -> Node:
        if isinstance(operand, (list, tuple)):
            return Listed(tuple(map(self.node, operand)))
        if isinstance(operand, numbers.Real):
            number = finite(operand, self.where)
            self.words.append(names.number_as_word(number))
            return tree.number_node(number)

        quantity = as_quantity(operand)
        self.words.append(quantity._its_name)
        self.labels += quantity._labels
        self.of.append(quantity)
        return Name(f"#{len(self.of) - 1}")

    def quantity(self, root: Node, name: str) -> Quantity:

        record = {"expression": QuantityFormula(root, tuple(self.of))}
        return Quantity(stated=record, name=name, automatic=True, depth=self.depth)

    @property
    def depth(self) -> int:
        return 1 + max((each.depth for each in self.of), default=0)


def operation(op: str, *operands: Any) -> Quantity:
    """Return an operation of quantities and numbers: ``+ - * / **``, and the minus sign alone."""
    former = _FormulaBuilder(op)
    parts = [former.node(each) for each in operands]
    if len(parts) == 1:
        name = names.operation_name("minus", former.words, former.depth, former.labels)
        return former.quantity(Unary("-", parts[0]), name)
    return former.quantity(Binary(op, *parts), names.infix(op, former.words, former.depth, former.labels))


def call(function: str, *arguments: Any) -> Quantity:
    """Return a function of the language, of quantities, conditions and numbers."""
    signature = SCENARIO_FUNCTIONS[function]
    if not signature.least <= len(arguments) <= signature.most:
        count = str(signature.least) if signature.least == signature.most else f"{signature.least} to {signature.most}"
        raise UsageError(f"{function}: expected {count} argument{'s' if count != '1' else ''}, got {len(arguments)}")
    for place, each in enumerate(arguments):
        if (place in signature.lists) != isinstance(each, (list, tuple)):
            expected = "a list" if place in signature.lists else "a quantity or a number"
            raise UsageError(f"{function}: argument {place + 1}: expected {expected}, got {type(each).__name__}")
    if function == "at" and isinstance(arguments[1], (str, datetime.date)):
        arguments = (arguments[0], parse_year(arguments[1], "at"))
    former = _FormulaBuilder(function)
    root = Call(function, tuple(former.node(each) for each in arguments))
    return former.quantity(root, names.operation_name(function, former.words, former.depth, former.labels))


def make_comparison(left: Any, op: str, right: Any) -> QuantityCondition:
    """Return a comparison; a text is a number with a unit, ``"1 EFLOP/s"``, or by ``==`` the label of a regime."""
    if isinstance(right, str):
        side: Any = Text(right) if op == "==" else _parse_measured(right)
    else:
        side = finite(right, op) if isinstance(right, numbers.Real) else as_quantity(right)
    level = right.strip() if isinstance(right, str) and op != "==" else ""
    return QuantityCondition(as_quantity(left), op, side, level=level)  # type: ignore[arg-type]


def _parse_measured(text: str) -> Measured:
    found = parse_condition(f"x >= {text}", where="comparison").right.root
    if not isinstance(found, Measured):
        raise UsageError(f"expected a number with a unit, such as '1 EFLOP/s', got '{printable(text, 40)}'")
    return found


def formula_of(formula: Formula, quantities: Mapping[str, Quantity]) -> Quantity | QuantityFormula:
    """Return a formula with quantities in place of its names; of a name alone the quantity."""
    if isinstance(formula.root, Name):
        return quantities[formula.root.name]
    places = {name: Formula(Name(f"#{place}")) for place, name in enumerate(quantities)}
    return QuantityFormula(formula.substitute(places).root, tuple(quantities.values()))


def condition(text: str, known: Mapping[str, Quantity], *, where: str) -> QuantityCondition:
    """Return a condition that is written as in a scenario, or ends in a date: ``run >= 1e28 FLOP at 2030``.

    Its names are those of `known` quantities, and of others in the scenario.
    """
    dated = _AT_DATE_PATTERN.fullmatch(text)
    read = parse_condition(dated["condition"] if dated else text, where=where)

    def side(formula: Formula) -> Any:
        if isinstance(formula.root, (Measured, Text)):
            return formula.root
        quantities = {name: known.get(name, Quantity(stated={}, name=name)) for name in formula.names}
        formed = formula_of(formula, quantities)
        if isinstance(formed, QuantityFormula):
            formed = Quantity(stated={"expression": formed}, name=names.plain_word(formula.text), automatic=True)
        return call("at", formed, dated["date"]) if dated and quantities else formed

    left, right = side(read.left), side(read.right)
    if not isinstance(left, Quantity):
        raise UsageError(f"{where}: '{printable(text, 80)}': write the quantity first, the number after it")
    return QuantityCondition(left, read.op, right)


def of_numpy(name: str, inputs: Sequence[Any]) -> Any:
    """Return a function of numpy of quantities; NotImplemented if the language has none."""
    # numpy hands a number of its own over as an array without dimensions
    operands = [float(each) if getattr(each, "shape", None) == () else each for each in inputs]
    if name in _OPERATIONS:
        return operation(_OPERATIONS[name], *operands)
    if name in _COMPARISON_OPERATORS:
        first, last = operands
        turned = isinstance(first, numbers.Real)
        return (
            make_comparison(last, MIRRORED_OPERATORS[_COMPARISON_OPERATORS[name]], first)
            if turned
            else make_comparison(first, _COMPARISON_OPERATORS[name], last)
        )
    return call(_FUNCTIONS[name], *operands) if name in _FUNCTIONS else NotImplemented


def finite(number: object, where: str) -> float:
    """Return a finite number."""
    if not is_real(number) or not math.isfinite(float(number)):
        raise UsageError(f"{where}: expected a quantity or a finite number, got '{printable(number, 40)}'")
    return float(number)


def quantities_in(part: Any) -> Iterator[Quantity]:
    """Yield the quantities in a record, a formula or a condition."""
    if isinstance(part, Quantity):
        yield part
    elif isinstance(part, QuantityFormula):
        yield from part.of
    elif isinstance(part, QuantityCondition):
        yield from part._sides
    elif isinstance(part, (Mapping, list, tuple)):
        each: Iterable[Any] = part.values() if isinstance(part, Mapping) else part
        for value in each:
            yield from quantities_in(value)


#: Keys under which a formula stands; under all others a quantity stands by its name.
FORMULA_KEYS = (
    "expression", "limit", "at_least", "ceiling", "initial", "log_rate", "rate", "next", "so", "log_likelihood",
    "when", "value", "growth", "rank", "subject_to",
)  # fmt: skip


def fed_by_name(part: Any, key: str = "") -> Iterator[Quantity]:
    """Yield the quantities that a record holds by name, not in a formula."""
    if isinstance(part, Mapping):
        for name, each in part.items():
            yield from fed_by_name(each, name)
    elif isinstance(part, (list, tuple)):
        for each in part:
            yield from fed_by_name(each, key)
    elif isinstance(part, Quantity) and key and key not in FORMULA_KEYS:
        yield part


def to_record(part: Any, own_names: Collection[str] = (), key: str = "") -> Any:
    """Return a record as a file has it: quantities by their names, or in formulas."""
    if isinstance(part, Quantity):
        return tree.to_text(part._tree(own_names)) if key in FORMULA_KEYS else part._its_name
    if isinstance(part, (QuantityFormula, QuantityCondition)):
        return tree.to_text(part._tree(own_names))
    if isinstance(part, Mapping):
        return {name: to_record(each, own_names, name) for name, each in part.items()}
    return [to_record(each, own_names, key) for each in part] if isinstance(part, (list, tuple)) else part


#: Records with one of these keys draw by the name of their quantity.
_DRAW_KEYS = ("draw", "draws", "fitted", "data")
_KIND_KEYS = (
    "model", "function", "law", "expression", "table", "shape", "schedule", "initial", "so", *_DRAW_KEYS,
)  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantity(HtmlText, OtherWords, Operators["QuantityCondition"]):
    """A quantity of a scenario that is still to be computed. Made by `forecast.quantity` and its sisters.

    Parameters
    ----------
    stated : mapping of str to object
        Its record in a scenario, with the same keys, in which quantities are objects. Without any it
        is the quantity that has this name elsewhere.
    name : str
        Empty where it has none yet.
    uses : tuple of Quantity
        Those that texts in it name.
    automatic : bool
        Its name is made of those of its operands. Such a formula is part of others; one that has a name of its own
        is a quantity of the scenario.
    depth : int
        How many operations its name is made of.
    label : str
        Its name within a longer automatic name, if it differs.
    scenario : Scenario, optional
        Where it stands, if it is a quantity of a scenario; its name then has the scenario's in front.
    text : str
        What `forecast.ask` calls it, if a text made it.

    Examples
    --------
    >>> import forecast
    >>> spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    >>> price = forecast.uncertain(p05=2e4, p95=5e4, unit="USD", name="price")
    >>> (spend / price).name, (2 * (spend / price)).record
    ('spend_over_price', {'expression': '2*(spend/price)'})
    """

    stated: Mapping[str, Any]
    name: str = ""
    uses: tuple[Quantity, ...] = ()
    automatic: bool = False
    depth: int = 0
    label: str = ""
    scenario: Scenario | None = None
    text: str = ""

    __hash__ = object.__hash__

    def named(self, name: str) -> Quantity:
        """Return the quantity under another name; an uncertain one is then another draw.

        Raises
        ------
        FormulaError
            For a text that is no name.
        """
        return replace(self, name=check_name(name, where="named"), depth=0, automatic=False, label="")

    def with_(self, **keys: Unpack[ConstraintKeys]) -> Quantity:
        """Return the quantity with more keys of the language: ``limit``, ``how``, ``at_least``, ``keeps``, ``before``.

        Examples
        --------
        >>> import forecast
        >>> spend, gdp = (forecast.value(n, "USD", name=name) for n, name in ((1e8, "spend"), (1e14, "gdp")))
        >>> (spend * 9).named("wish").with_(limit=0.01 * gdp, how="saturating").record
        {'expression': 'spend*9', 'limit': '0.01*gdp', 'how': 'saturating'}
        """
        return replace(self, stated={**self.stated, **_record_from_keywords(dict(keys))})

    def sample(self, n: int = 1000, *, at: float | str | None = None, seed: int = 0) -> Array:
        """Return draws of the quantity, (n,): those that it has under its name in every answer of this seed.

        Parameters
        ----------
        n : int
        at : float or str, optional
            The date, which a quantity that changes with time needs.
        seed : int

        Raises
        ------
        UsageError
            For a quantity that changes with time, without `at`.

        Examples
        --------
        >>> import forecast
        >>> x = forecast.uncertain(p05=1, p95=4, name="x")
        >>> (2 * x).sample(3).tolist() == (2 * x.sample(3)).tolist()
        True
        """
        import numpy as np

        from forecast.api.build_answer import ask
        from forecast.api.scenario import scenario_of
        from forecast.api.scenario_quantities import source_scenarios
        from forecast.projection.engine import project

        if source_scenarios(self):
            if at is None:
                raise UsageError(f"sample: '{self.name}' is of a scenario: give at=, a decimal year")
            values = ask(value=self, dates=[at], draws=n, seed=seed).values
            if set(values.dims) - {"date", "draw"}:
                raise UsageError(f"sample: '{self.name}' depends on a choice: ask for it, and read by_choice")
            return np.asarray(values.isel(date=0).values, dtype=float)
        name = "sampled" if self._inlined or not self.name else self.name
        own = self if name == self.name else Quantity(stated={"expression": self}, name=name)
        first = 2026.0 if at is None else parse_year(at, "at")
        record = scenario_of({"subject_to": [own]}, start=first, until=first + 1)
        record.pop("questions", None)
        levels = project(record, draws=n, keep=n, seed=seed, paths=(name,)).worlds[name]
        if at is None and not bool((levels == levels.isel(time=0)).all()):
            raise UsageError(f"sample: '{self.name or 'the quantity'}' changes with time: give at=, a decimal year")
        if set(levels.dims) - {"time", "draw"}:
            raise UsageError(f"sample: '{self.name}' depends on a choice: ask for it, and read by_choice")
        return np.asarray(levels.isel(time=0).values, dtype=float)

    @property
    def record(self) -> dict[str, Any]:
        """Its record in a scenario, with the same keys."""
        record: dict[str, Any] = to_record(self.stated)
        return record

    @property
    def model(self) -> Model:
        """The model that it is, if `forecast.model`, `forecast.trend` or `forecast.estimate` made it.

        Raises
        ------
        UsageError
            If it is no model.
        """
        from forecast.models import model

        if not self.is_model:
            raise UsageError(f"'{self.name or 'a quantity'}' is no model: it is {printable(self.record, 80)}")
        named = self.stated["model"]
        return model(named) if isinstance(named, str) else named

    @property
    def is_model(self) -> bool:
        """Whether it is a model and nothing else, under no name of its own."""
        return self.automatic and self.stated.keys() == {"model"}

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        """Fit the model that it is to its data.

        Parameters
        ----------
        as_of : float, optional
            Only data from before this decimal year.
        seed : int

        Raises
        ------
        UsageError
            If it is no model.

        Examples
        --------
        >>> import forecast
        >>> forecast.model("hardware/linpack@exponential").fit().observed().unit
        'TFLOP/s'
        """
        return self.model.fit(as_of=as_of, seed=seed)

    def _under(self, fit: Fit, variables: Mapping[str, Any]) -> Quantity:
        """Return the law of a fit at its parameters: ``fit(N=size, D=tokens)``."""
        wired = {name: as_quantity(each) for name, each in variables.items()}
        record = _record_from_keywords({"law": _fit_record(fit), **wired})
        return named_as(names.short(fit.law.name or "law"), Quantity(stated=record, automatic=True))

    @classmethod
    def _operation(cls, op: str, *operands: Any) -> Quantity:
        return operation(op, *operands)

    @classmethod
    def _call(cls, function: str, *arguments: Any) -> Quantity:
        return call(function, *arguments)

    @classmethod
    def _comparison(cls, left: Any, op: str, right: Any) -> QuantityCondition:
        return make_comparison(left, op, right)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Answer numpy: ``np.minimum(spend, budget)`` and ``np.float64(2)*spend`` are quantities."""
        return NotImplemented if method != "__call__" or options else of_numpy(ufunc.__name__, inputs)

    @functools.cached_property
    def _needs(self) -> tuple[Quantity, ...]:
        """The quantities that stand in it."""
        return tuple(dict.fromkeys((*quantities_in(self.stated), *self.uses)))

    @property
    def _its_name(self) -> str:
        """Its name, which what draws by it must have."""
        if not self.name:
            what = "an uncertain quantity" if self._uncertain else "a quantity"
            raise ScenarioError(f"{what} has no name, and draws by its name: give name=, or .named('…'): {self!r}")
        return self.name

    @functools.cached_property
    def _inlined(self) -> bool:
        """Whether it stands in other formulas as it is, and has no record of its own."""
        formed = self.stated.get("expression")
        return (
            self.automatic
            and len(self.stated) == 1
            and isinstance(formed, QuantityFormula)
            and formed.size <= MAX_FORMULA_PARTS
        )

    @property
    def _size(self) -> int:
        """How many parts it adds to a formula in which it stands."""
        return self.stated["expression"].size if self._inlined else 0

    @functools.cached_property
    def _leaves(self) -> tuple[str, ...]:
        """The names that stand in its formula; else its own."""
        if not self._inlined:
            return (self._its_name,)
        return tuple(dict.fromkeys(name for each in self.stated["expression"].of for name in each._leaves))

    @functools.cached_property
    def _labels(self) -> tuple[str, ...]:
        """Its names within a longer automatic name: those in its formula, or its own."""
        if not self._inlined:
            return (self.label or self._its_name,)
        return tuple(dict.fromkeys(label for each in self.stated["expression"].of for label in each._labels))

    def _tree(self, own_names: Collection[str] = ()) -> Node:
        """Return it as a node of a formula: its own one, or its name."""
        if self._inlined and self.name not in own_names:
            return self.stated["expression"]._tree(own_names)  # type: ignore[no-any-return]
        return Name(self._its_name)

    @property
    def _uncertain(self) -> bool:
        """Whether it draws by its name."""
        if any(key in self.stated for key in _DRAW_KEYS):
            return True
        return bool(self.stated) and not any(key in self.stated for key in (*_KIND_KEYS, "value"))

    def __eq__(self, other: object) -> QuantityCondition:  # type: ignore[override]
        if isinstance(other, str):
            return make_comparison(self, "==", other)
        raise UsageError(f"{self.name or 'quantity'} == …: numbers that vary meet in no world: write <= or >=")

    def __ne__(self, other: object) -> NoReturn:
        raise UsageError(f"{self.name or 'quantity'} != …: numbers that vary meet in no world: write <= or >=")

    def __bool__(self) -> NoReturn:
        raise UsageError(f"{self.name or 'a quantity'} has no truth value before it is computed: ask (x >= y).when(…)")

    def __repr__(self) -> str:
        """Return its name, and its record, its model or its scenario."""
        if self.scenario is not None:
            label = self.scenario.labels.get(self.name.partition(".")[2], "")
            return f"Quantity {self.name}: {label + ', ' if label else ''}of the scenario {self.scenario.name}"
        if self.is_model:
            return f"Quantity {self.name}: {self.model!r}"
        keys = ", ".join(f"{key}={value!r}" for key, value in self.record.items())
        return f"Quantity {self.name or '(without a name)'}: {printable(keys, 200)}"


@dataclass(frozen=True, eq=False)
class QuantityCondition(HtmlText, OtherWords):
    """A comparison of two quantities: a condition for a question, and no truth value.

    Parameters
    ----------
    left : Quantity
    op : {">=", ">", "<=", "<", "=="}
    right : Quantity, float or Node
        A plain number has the unit of the other side.
    typed : str
        The text that it was read from.
    level : str
        Its right side, if that is a number and was typed: ``"1B USD"``.
    """

    left: Quantity
    op: Literal[">=", ">", "<=", "<", "=="]
    right: Quantity | float | Measured | Text
    typed: str = ""
    level: str = ""

    @property
    def text(self) -> str:
        """The condition as it was typed, or as a scenario states it."""
        return self.typed or tree.to_text(self._tree())

    def _tree(self, own_names: Collection[str] = ()) -> Node:
        """Return the condition as a formula."""
        right = self.right._tree(own_names) if isinstance(self.right, Quantity) else self._written_level
        return Comparison(self.op, self.left._tree(own_names), right)

    @property
    def _written_level(self) -> Node:
        """The number or text to which it is compared, as a text has it: a number as it was typed."""
        return self.right if isinstance(self.right, Text) else Name(self.level or names.short_number(self.right))

    @property
    def _sides(self) -> tuple[Quantity, ...]:
        """The quantities that it compares."""
        return (self.left, self.right) if isinstance(self.right, Quantity) else (self.left,)

    def when(self, **options: Unpack[AskOptions]) -> Answer:
        """Answer when it first holds; see `forecast.ask` for what `options` may be.

        Parameters
        ----------
        **options
            ``until``, and ``start`` where no quantity has observations to start from; ``draws``, ``seed``, ``step``,
            ``with_``, ``as_of``, and the keys of a scenario: ``choices``, ``correlations``, ``update``, ``what_if``.

        Returns
        -------
        Answer
        """
        from forecast.api.build_answer import ask

        return ask(when=self, **options)

    def __and__(self, other: QuantityCondition) -> QuantityCondition:
        """Return that both hold: ``(a >= 1) & (b >= 2)``."""
        return make_comparison(call("min", self, other), ">=", 1)

    def __or__(self, other: QuantityCondition) -> QuantityCondition:
        """Return that one or both hold: ``(a >= 1) | (b >= 2)``."""
        return make_comparison(call("max", self, other), ">=", 1)

    def __bool__(self) -> NoReturn:
        raise UsageError(
            f"'{self.text}' has no truth value: it holds in some worlds. Ask when: (x >= y).when(until=2045). Instead "
            "of 'a and b' and of a <= x <= b write (x >= a) & (x <= b), or ask one given the other: "
            "(x >= a).when(until=2045).given(y <= b)"
        )

    def __repr__(self) -> str:
        """Return the text."""
        return f"Condition {self.text}"


def quantity(name: str = "", /, *, uses: tuple[Quantity, ...] | list[Quantity] = (), **record: Any) -> Quantity:
    """Make a quantity of any kind: the keys are those that a scenario has under its name.

    Parameters
    ----------
    name : str
        A model, a law, a function or an expression may do without one. A word of Python alone stands for the quantity
        that has it elsewhere: a stock in its own rate, or a quantity of the scenario that has the question. Any other
        name alone is read as by `forecast.ask`: ``"largest-run"``, ``"model-capability.power"``, ``"a.csv:users"``.
    uses : sequence of Quantity
        Those that a text names: ``expression="g*2", uses=[g]``.
    **record
        As in TOML: ``model="hardware/gpu-peak-fp16"``, ``law="scaling/chinchilla@besiroglu2024", N=size, D=tokens``,
        ``schedule=[[2026, 2.6], [2029, 2.0]], as_="level"``, ``initial=1, log_rate=k*S**-b`` (a stock),
        ``so="log_rate(S) == log(5)"`` (a number that is solved for). Where TOML names a quantity, a quantity may stand;
        where it has a formula, one of quantities.

    Examples
    --------
    >>> quantity(model="hardware/gpu-peak-fp16").name
    'gpu_peak_fp16'
    """
    if name and not record and not uses and not name.isidentifier():
        from forecast.api.scenario_quantities import quantity_of_text

        return quantity_of_text(name)
    stated = _record_from_keywords(record)
    if name:
        return Quantity(stated=stated, name=check_name(name, where="quantity"), uses=tuple(uses))
    formed = stated.get("expression")
    if isinstance(formed, Quantity):
        return replace(formed, stated={**formed.stated, **{k: v for k, v in stated.items() if k != "expression"}})
    what = next((stated[key] for key in ("model", "law", "function") if key in stated), None)
    text = what if isinstance(what, str) else getattr(what, "name", getattr(what, "__name__", ""))
    unnamed = Quantity(stated=stated, uses=tuple(uses), automatic=True)
    return named_as(names.short(text), unnamed) if text else unnamed


def named_as(function: str, quantity: Quantity) -> Quantity:
    """Return a quantity under the name of a function of its operands."""
    depth = 1 + max((each.depth for each in quantity._needs), default=-1)
    words, labels = [each._its_name for each in quantity._needs], [n for each in quantity._needs for n in each._labels]
    return replace(
        quantity, name=names.operation_name(function, words, max(depth, 1), labels), depth=depth, label=function
    )


def _record_from_keywords(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys as a file has them, without the underscore that Python asks of some, and models as quantities."""
    from forecast.models import Model

    def read(key: str, value: Any) -> Any:
        if key == "model" and isinstance(value, Quantity) and value.is_model:
            return value.stated["model"]
        if not isinstance(value, Model):
            return value
        return _model_record(value) if key == "model" else as_quantity(value)

    pairs = ((key[:-1] if keyword.iskeyword(key[:-1]) else key, value) for key, value in record.items())
    return {key: read(key, value) for key, value in pairs}


def _model_record(model: Model) -> str | Model:
    """Return a model as a file would state it, where it is a registered one; else the model."""
    from forecast.models.model_lookup import is_registered

    return model.name if is_registered(model) else model


def _fit_record(fit: Fit) -> str | Fit:
    """Return a fit as a file would state it, where it is the published one of a registered law; else the fit."""
    from forecast.laws import law

    if fit.published is None or not fit.law.name:
        return fit
    registered = law(fit.law.name)
    same = registered.text == fit.law.text and fit.published in registered.published_fits
    return fit.name if same else fit


def as_quantity(operand: Any) -> Quantity:
    """Return a quantity, a condition, a model or a number as a quantity."""
    from forecast.api.sources import value
    from forecast.models import Model

    if isinstance(operand, Quantity):
        return operand
    if isinstance(operand, QuantityCondition):  # 1 where it holds, else 0
        words = [each._its_name for each in operand._sides]
        if not isinstance(side := operand.right, Quantity):  # the number or the text to which it is compared
            words.append(names.plain_word(side.value if isinstance(side, Text) else tree.to_text(_signed_side(side))))
        depth = 1 + max(each.depth for each in operand._sides)
        labels = [name for each in operand._sides for name in each._labels]
        spots = {id(each): Name(f"#{place}") for place, each in enumerate(operand._sides)}
        root = Comparison(operand.op, *(spots.get(id(e)) or operand._written_level for e in (operand.left, side)))
        name = names.infix(operand.op, words, depth, labels)
        record = {"expression": QuantityFormula(root, operand._sides)}
        return Quantity(stated=record, name=name, automatic=True, depth=depth)
    return quantity(model=operand) if isinstance(operand, Model) else value(operand)


def _signed_side(side: Any) -> Node:
    return side if isinstance(side, (Measured, Text)) else tree.number_node(side)
