"""Quantities as objects: arithmetic on what is uncertain, before anything is computed.

An object holds a record of the language of scenarios, under the same keys as a TOML file, and the quantities whose
names stand in it. Asking a question gathers the records into a scenario: the same graph, by another spelling.
"""

from __future__ import annotations

import hashlib
import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from forecast.errors import ScenarioError, UsageError, printable
from forecast.fit.solution import Argument, Fit
from forecast.formula import Binary, Call, Name, check_name, tree

if TYPE_CHECKING:
    from forecast.api.answer import Answer

__all__ = ["Condition", "Quantity", "as_quantity", "function", "quantity", "records", "uncertain", "value"]

#: numpy's functions that have a word in the grammar, and those that are an operation or a comparison.
_FUNCTIONS = {"exp": "exp", "log": "log", "log10": "log10", "sqrt": "sqrt", "minimum": "min", "maximum": "max"}
_OPERATIONS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**"}
_COMPARED: Mapping[str, tuple[Literal[">=", ">", "<=", "<"], Literal[">=", ">", "<=", "<"]]] = {
    "greater_equal": (">=", "<="), "greater": (">", "<"), "less_equal": ("<=", ">="), "less": ("<", ">"),
}  # fmt: skip

_WORDS = {"+": "plus", "-": "minus", "*": "times", "/": "over", "**": "to"}
#: The longest name that the grammar of formulas takes.
LONGEST = 64
#: Records with one of these keys draw by the name of their quantity.
_DRAWS = ("draw", "draws", "fitted", "data")
_KINDS = ("model", "function", "law", "expression", "table", "shape", "schedule", *_DRAWS)


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantity(Argument):
    """A quantity of a scenario that is still to be computed. Made by `forecast.quantity` and its sisters.

    Parameters
    ----------
    record : mapping of str to object
        What stands under its name in a scenario, with the same keys.
    needs : tuple of Quantity
        Those whose names stand in the record.
    name : str
        Empty where it has none yet.
    depth : int
        How many operations its name is made of.

    Examples
    --------
    >>> import forecast
    >>> spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    >>> price = forecast.uncertain(p05=2e4, p95=5e4, unit="USD", name="price")
    >>> (spend / price).name, (2 * spend).record
    ('spend_over_price', {'expression': '2*spend'})
    """

    record: Mapping[str, Any]
    needs: tuple[Quantity, ...] = ()
    name: str = ""
    depth: int = 0

    __hash__ = object.__hash__

    def named(self, name: str) -> Quantity:
        """Return the quantity under another name; an uncertain one is then another draw.

        Raises
        ------
        FormulaError
            For what is no name.
        """
        return replace(self, name=check_name(name, where="named"), depth=0)

    def at(self, year: float) -> Quantity:
        """Return what it is at a date, a decimal year, in every world."""
        return _of("at", (self, _number(year, "at")))

    def under(self, fit: Fit, variables: Mapping[str, Any]) -> Quantity:
        """Return a law with its parameters, of quantities: what ``fit(N=size, D=tokens)`` is."""
        wired = {name: as_quantity(each) for name, each in variables.items()}
        return quantity(law=_stated(fit), **wired)

    @property
    def uncertain(self) -> bool:
        """Whether its name says what it draws."""
        if any(key in self.record for key in _DRAWS):
            return True
        return not any(key in self.record for key in _KINDS) and "value" not in self.record

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Answer numpy: ``np.minimum(spend, budget)`` and ``np.float64(2)*spend`` are quantities."""
        name = ufunc.__name__
        # numpy hands a number of its own over as an array without dimensions
        inputs = tuple(float(each) if getattr(each, "shape", None) == () else each for each in inputs)
        if method != "__call__" or options:
            return NotImplemented
        if name in _OPERATIONS:
            return _operation(_OPERATIONS[name], *inputs)
        if name in _COMPARED:
            first, last = inputs
            as_is, turned = _COMPARED[name]
            return _condition(first, as_is, last) if isinstance(first, Quantity) else _condition(last, turned, first)
        return _of(_FUNCTIONS[name], inputs) if name in _FUNCTIONS else NotImplemented

    def __add__(self, other: Any) -> Quantity:
        return _operation("+", self, other)

    def __radd__(self, other: Any) -> Quantity:
        return _operation("+", other, self)

    def __sub__(self, other: Any) -> Quantity:
        return _operation("-", self, other)

    def __rsub__(self, other: Any) -> Quantity:
        return _operation("-", other, self)

    def __mul__(self, other: Any) -> Quantity:
        return _operation("*", self, other)

    def __rmul__(self, other: Any) -> Quantity:
        return _operation("*", other, self)

    def __truediv__(self, other: Any) -> Quantity:
        return _operation("/", self, other)

    def __rtruediv__(self, other: Any) -> Quantity:
        return _operation("/", other, self)

    def __pow__(self, other: Any) -> Quantity:
        return _operation("**", self, other)

    def __rpow__(self, other: Any) -> Quantity:
        return _operation("**", other, self)

    def __neg__(self) -> Quantity:
        return _operation("*", -1.0, self)

    def __ge__(self, other: Any) -> Condition:
        return _condition(self, ">=", other)

    def __gt__(self, other: Any) -> Condition:
        return _condition(self, ">", other)

    def __le__(self, other: Any) -> Condition:
        return _condition(self, "<=", other)

    def __lt__(self, other: Any) -> Condition:
        return _condition(self, "<", other)

    def __eq__(self, other: object) -> NoReturn:
        raise UsageError(f"{self.name or 'quantity'} == …: numbers that vary meet in no world: write <= or >=")

    def __ne__(self, other: object) -> NoReturn:
        raise UsageError(f"{self.name or 'quantity'} != …: numbers that vary meet in no world: write <= or >=")

    def __bool__(self) -> NoReturn:
        raise UsageError(f"{self.name or 'a quantity'} has no truth value before it is computed: ask (x >= y).when(…)")

    def __repr__(self) -> str:
        """Say what it is."""
        said = ", ".join(f"{key}={value!r}" for key, value in self.record.items())
        return f"Quantity {self.name or '(without a name)'}: {printable(said, 200)}"


@dataclass(frozen=True, eq=False)
class Condition:
    """A comparison of two quantities: what can be asked for, and no truth value.

    Parameters
    ----------
    left : Quantity
    op : {">=", ">", "<=", "<"}
    right : Quantity or float
        A plain number has the unit of the other side.
    """

    left: Quantity
    op: Literal[">=", ">", "<=", "<"]
    right: Quantity | float

    @property
    def text(self) -> str:
        """The condition as a scenario states it."""
        right = _name(self.right) if isinstance(self.right, Quantity) else tree.text(tree.signed(self.right))
        return f"{_name(self.left)} {self.op} {right}"

    @property
    def sides(self) -> tuple[Quantity, ...]:
        """The quantities that it compares."""
        return (self.left, self.right) if isinstance(self.right, Quantity) else (self.left,)

    def when(self, **options: Any) -> Answer:
        """Answer when it first holds; see `forecast.api.answer.ask` for what `options` may be.

        Parameters
        ----------
        **options
            `until`, and `start` where no quantity has observations to start from; `draws`, `seed`, `step`, `set`,
            `as_of`, and the keys of a scenario: `choices`, `correlations`, `changes`.

        Returns
        -------
        Answer
        """
        from forecast.api.answer import ask

        return ask(self, **options)

    def __bool__(self) -> NoReturn:
        raise UsageError(
            f"'{self.text}' has no truth value: it holds in some worlds. Ask when: (x >= y).when(until=2045). Instead "
            "of 'a and b' and of a <= x <= b ask one given the other: (x >= a).when(until=2045).given(y <= b)"
        )

    def __repr__(self) -> str:
        """Return the text."""
        return f"Condition {self.text}"


def quantity(name: str = "", /, **record: Any) -> Quantity:
    """Make a quantity of any kind: the keys are those that a scenario has under its name.

    Parameters
    ----------
    name : str
        A model, a law or a function that is registered may do without one.
    **record
        As in TOML: ``model="hardware/gpu-peak-fp16"``, ``law="scaling/chinchilla@besiroglu2024", N=size, D=tokens``,
        ``schedule=[[2026, 2.6], [2029, 2.0]]``. Where TOML names a quantity, a quantity may stand.

    Examples
    --------
    >>> quantity(model="hardware/gpu-peak-fp16").name
    'gpu_peak_fp16'
    """
    needs: list[Quantity] = []

    def plain(value: Any) -> Any:
        if isinstance(value, Quantity):
            needs.append(value)
            return _name(value)
        return {key: plain(each) for key, each in value.items()} if isinstance(value, Mapping) else value

    stated = {key: plain(each) for key, each in record.items()}
    if name:
        return Quantity(record=stated, needs=tuple(needs), name=check_name(name, where="quantity"))
    what = next((stated[key] for key in ("model", "law", "function") if key in stated), None)
    text = what if isinstance(what, str) else getattr(what, "name", getattr(what, "__name__", ""))
    return replace(_called(_short(text), needs), record=stated) if text else Quantity(record=stated, needs=tuple(needs))


def uncertain(*, unit: str = "", name: str = "", **distribution: Any) -> Quantity:
    """Make an uncertain number, by any form of a distribution that a scenario takes.

    Parameters
    ----------
    unit : str
    name : str
        What it draws depends on seed, name and world alone, so that it needs one before it is used: here, or by
        `Quantity.named`.
    **distribution
        ``p05=1e8, p95=4e8``; ``normal=[1.4, 2.4], width=0.8``; ``quantiles={0.05: 1, 0.5: 2}``; ``low=1, high=4``; ...

    Raises
    ------
    ScenarioError
        For what makes no distribution.

    Examples
    --------
    >>> uncertain(normal=[0, 1], width=0.8, name="g")
    Quantity g: normal=[0, 1], width=0.8, unit=''
    """
    from forecast.base.distributions import distribution as read

    if isinstance(distribution.get("quantiles"), Mapping):
        distribution["quantiles"] = {str(key): each for key, each in distribution["quantiles"].items()}
    read(distribution, where=name or "uncertain")
    return quantity(name, **distribution, unit=unit)


def value(number: float, unit: str = "", *, name: str = "") -> Quantity:
    """Make a number with a unit.

    Examples
    --------
    >>> value(20, "token/param").name
    'value_20_token_param'
    """
    made = _number(number, "value")
    words = _cut(re.sub(r"\W+", "_", f"value_{_word(made)}_{unit}").strip("_"))
    return quantity(name or words, value=made, unit=unit)


def function(*, unit: str, **inputs: str) -> Callable[[Callable[..., Any]], Callable[..., Quantity]]:
    """Make a Python function one of quantities.

    Parameters
    ----------
    unit : str
        Of what it returns.
    **inputs
        Argument to unit: in it the function is handed plain arrays, (time, draw), and returns one of that shape.

    Examples
    --------
    >>> import forecast
    >>> @forecast.function(unit="FLOP/s", rate="FLOP/s", chips="")
    ... def cluster(rate, chips):
    ...     return 0.4 * rate * chips
    >>> cluster(rate=forecast.value(1e15, "FLOP/s", name="peak"), chips=1e4).name
    'cluster_of_peak_and_value_10000'
    """

    def of_quantities(call: Callable[..., Any]) -> Callable[..., Quantity]:
        label = getattr(call, "__name__", type(call).__name__)

        def called(**given: Any) -> Quantity:
            made = {key: as_quantity(each) for key, each in given.items()}
            called_with = _called(label if label.isidentifier() else "function", made.values())
            wired = {key: _name(each) for key, each in made.items()}
            return replace(called_with, record={"function": call, "unit": unit, "inputs": dict(inputs), **wired})

        called.__name__, called.__doc__, called.__wrapped__ = label, call.__doc__, call  # type: ignore[attr-defined]
        return called

    return of_quantities


def records(asked: Iterable[Quantity], swapped: Mapping[str, Quantity] | None = None) -> dict[str, Mapping[str, Any]]:
    """Return the records of quantities and of all that they need, by name, each after what it needs.

    Parameters
    ----------
    asked : iterable of Quantity
    swapped : mapping of str to Quantity, optional
        What stands in place of a quantity of this name.

    Raises
    ------
    ScenarioError
        For two uncertain quantities of one name, two different ones, or an uncertain one without a name.
    """
    instead = {name: _instead(name, each) for name, each in (swapped or {}).items()}
    made: dict[str, Quantity] = {}
    within: set[str] = set()
    left = [(each, False) for each in reversed(list(asked))]
    while left:
        each, needed = left.pop()
        name = _name(each)
        each = instead.get(name, each)
        if needed:
            made[name] = each
            within.discard(name)
        elif name in made:
            if made[name] is not each and not _alike(made[name], each):
                kind = "uncertain" if each.uncertain else "different"
                raise ScenarioError(
                    f"two {kind} quantities have the name '{name}'; use one object, or give another name"
                )
        elif name in within:
            raise ScenarioError(f"'{name}' is made of a quantity of its own name: give one of the two another name")
        else:
            within.add(name)
            left += [(each, True), *((need, False) for need in reversed(each.needs))]
    return {name: each.record for name, each in made.items()}


def _instead(name: str, new: Quantity) -> Quantity:
    """Return what a quantity of this name becomes: the other one, which keeps its own name and draws."""
    if _name(new) == name:
        return new
    return Quantity(record={"expression": new.name}, needs=(new,), name=name)


def _stated(fit: Fit) -> str | Fit:
    """Return a fit as a file would state it, where it is the published one of a registered law; else the fit."""
    from forecast.laws import law

    if fit.published is None or not fit.law.name:
        return fit
    known = law(fit.law.name)
    same = known.text == fit.law.text and fit.published in known.published_fits
    return fit.name if same else fit


def _alike(one: Quantity, other: Quantity) -> bool:
    """Tell whether two objects are one quantity: they draw nothing by their name, and hold the same record."""

    def same(a: Any, b: Any) -> bool:
        return a is b or (isinstance(a, (str, int, float, list, tuple, dict)) and type(a) is type(b) and a == b)

    if one.uncertain or one.record.keys() != other.record.keys():
        return False
    return all(same(each, other.record[key]) for key, each in one.record.items())


def _name(made: Quantity) -> str:
    if not made.name:
        what = "an uncertain quantity" if made.uncertain else "a quantity"
        raise ScenarioError(f"{what} has no name, and draws by its name: give name=, or .named('…'): {made!r}")
    return made.name


def as_quantity(given: Any) -> Quantity:
    """Return a quantity, a model or a number as a quantity."""
    from forecast.models import Model

    if isinstance(given, Quantity):
        return given
    return quantity(model=given) if isinstance(given, Model) else value(given)


def _number(given: object, where: str) -> float:
    if isinstance(given, bool) or not isinstance(given, numbers.Real) or not math.isfinite(float(given)):
        raise UsageError(f"{where}: expected a quantity or a finite number, got '{printable(given, 40)}'")
    return float(given)


def _condition(left: Quantity, op: Literal[">=", ">", "<=", "<"], other: Any) -> Condition:
    plain = isinstance(other, numbers.Real)
    return Condition(left, op, _number(other, op) if plain else as_quantity(other))


def _operation(op: str, *operands: Any) -> Quantity:
    parts, words, needs = [], [], []
    for each in operands:
        if isinstance(each, numbers.Real):
            number = _number(each, op)
            parts.append(tree.signed(number))
            words.append(_word(number))
            continue
        made = as_quantity(each)
        parts.append(Name(_name(made)))
        words.append(_name(made))
        needs.append(made)
    depth = 1 + max(each.depth for each in needs)
    # as many underscores as operations within: a - (b - c) and (a - b) - c have names of their own
    name = f"{'_' * depth}{_WORDS[op]}{'_' * depth}".join(words)
    name = name if name[0].isalpha() else f"n{name}"
    text = tree.text(Binary(op, *parts))
    return Quantity(record={"expression": text}, needs=tuple(dict.fromkeys(needs)), name=_cut(name), depth=depth)


def _of(word: str, operands: Iterable[Any]) -> Quantity:
    """Return a function of the grammar, of quantities and numbers."""
    given = [_number(each, word) if isinstance(each, numbers.Real) else as_quantity(each) for each in operands]
    parts = [Name(_name(each)) if isinstance(each, Quantity) else tree.signed(each) for each in given]
    made = _called(
        word, [each for each in given if isinstance(each, Quantity)], [e for e in given if isinstance(e, float)]
    )
    return replace(made, record={"expression": tree.text(Call(word, tuple(parts)))})


def _called(word: str, needs: Iterable[Quantity], given: Iterable[float] = ()) -> Quantity:
    """Return a quantity, still without a record, that is named as a function of others."""
    needs = tuple(needs)
    if not needs:
        return Quantity(record={}, name=_cut(word))
    depth = 1 + max(each.depth for each in needs)
    bar = "_" * depth
    words = [*(_name(each) for each in needs), *map(_word, given)]
    name = _cut(f"{word}{bar}of{bar}" + f"{bar}and{bar}".join(words))
    return Quantity(record={}, needs=tuple(dict.fromkeys(needs)), name=name, depth=depth)


def _short(text: str) -> str:
    """Return a word for a registered name or a formula: ``scaling/chinchilla@besiroglu2024`` is ``chinchilla``."""
    plain = re.sub(r"\W+", "_", text.rpartition("/")[2].partition("@")[0]).strip("_")
    return plain if plain[:1].isalpha() else f"n{plain}"


def _word(number: float) -> str:
    text = tree.number(abs(number)).replace(".", "p").replace("e-", "em")
    return f"minus{text}" if number < 0 else text


def _cut(name: str) -> str:
    """Return a name of a length that formulas take; a cut one ends with a digest of the whole."""
    if len(name) <= LONGEST:
        return name
    digest = hashlib.blake2b(name.encode(), digest_size=4).hexdigest()
    return f"{name[: LONGEST - 9].rstrip('_')}_{digest}"
