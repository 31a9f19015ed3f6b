"""Quantities as objects: arithmetic on uncertain numbers, before anything is computed.

An object holds a record of the language of scenarios, under the same keys as a TOML file, and the quantities that stand
in it. Asking a question gathers the records into a scenario: the same graph, by another spelling.
"""

from __future__ import annotations

import functools
import keyword
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Unpack

from forecast.api import automatic_names as names
from forecast.api.quantity_formulas import (
    MAX_FORMULA_PARTS,
    QuantityFormula,
    call,
    make_comparison,
    of_numpy,
    operation,
    quantities_in,
    to_record,
)
from forecast.base.dates import parse_year
from forecast.base.notebook_html import HtmlText
from forecast.base.operators import Operators
from forecast.base.other_words import OtherWords
from forecast.errors import ScenarioError, UsageError, printable
from forecast.formula import Comparison, Measured, Name, Node, Text, check_name, tree

if TYPE_CHECKING:
    from forecast.api.answer import Answer
    from forecast.api.options import AskOptions, ConstraintKeys
    from forecast.api.scenario import Scenario
    from forecast.base.arrays import Array
    from forecast.fit.fit import Fit
    from forecast.models import FittedModel, Model

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
        from forecast.api.build_scenario import scenario_of
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
