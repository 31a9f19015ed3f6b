"""Functions over time, taken out of formulas: each becomes a quantity of its own, and so does a formula it reads.

Such a quantity is hidden: its name is the text of what it stands for, so that equal ones are one, and the formula that
is left reads as it was written. What reads the path of a quantity then always reads the path of a node.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from forecast.errors import UnknownNameError
from forecast.formula import SCENARIO_FUNCTIONS, TIME_NAMES, Call, Condition, Formula, Name, Node, tree
from forecast.formula.tree import Comparison, Text
from forecast.scenarios.kinds.chosen import Chosen, with_choice_names
from forecast.scenarios.kinds.expression import Expression
from forecast.scenarios.kinds.over_time import OverTime
from forecast.scenarios.kinds.stock import UPDATE_RULES, Stock
from forecast.scenarios.quantities.node import QuantityKind
from forecast.scenarios.scenario import Scenario

#: Marks a hidden formula whose rates are plain numbers a year, because the formula it stands in uses t, start or dt.
_RATES = " [rates a year]"


@dataclass(frozen=True)
class Hidden:
    """The quantities that stand for functions over time, and for the formulas these read.

    Parameters
    ----------
    quantities : dict of str to QuantityKind
    owners : dict of str to str
        The key of the formula for which each was made first, for messages.
    """

    quantities: dict[str, QuantityKind] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)

    def replace_functions(self, formula: Formula, owner: str, *, rates: bool) -> Formula:
        """Return a formula with names in the place of its functions over time.

        Parameters
        ----------
        formula : Formula
        owner : str
            Where it stands, for messages.
        rates : bool
            It uses time, so that quantities in 1/time are plain numbers a year in it.
        """

        def swapped(node: Node) -> Node:
            return Name(self._function(node, owner, rates=rates)) if _over_time(node) else node

        return Formula(tree.rewrite(formula.root, swapped))

    def whole(self, formula: Formula, owner: str) -> Formula:
        """Return a formula as the name of one quantity, whose history before the first step can be read too."""
        return Formula(Name(self._part(formula.root, owner, rates=False)))

    def _function(self, call: Call, owner: str, *, rates: bool) -> str:
        """Return the name of what stands for a function over time."""
        path, *rest = call.args
        of = self._part(path, owner, rates=rates)
        argument: float | str | None = None
        if rest:
            plain = tree.constant(rest[0])
            argument = float(tree.evaluate(rest[0], {})) if plain else self._part(rest[0], owner, rates=rates)
            rest = [Name(argument)] if isinstance(argument, str) else rest
        text = tree.to_text(Call(call.function, (Name(of), *rest)))
        return self._kept(text, OverTime(function=call.function, of=of, argument=argument), owner)

    def _part(self, node: Node, owner: str, *, rates: bool) -> str:
        """Return the name of what stands for an argument: its own, if it is the name of a quantity."""
        if isinstance(node, Name) and node.name not in TIME_NAMES:
            return node.name
        result = Formula(node)
        marked = rates and bool(result.names) and not _uses_time(node)
        name = result.text + _RATES if marked else result.text
        return self._kept(name, Expression(tree=result, rates=True if marked else None), owner)

    def number(self, name: str, scenario: Scenario, owner: str, quantity: Chosen) -> str:
        """Return the name of the number of a choice: one more where the same has another unit."""
        if quantity.choice not in scenario.choices:
            raise UnknownNameError("choice", quantity.choice, scenario.choices, where=f"{scenario.where}: {owner}")
        while self.quantities.get(name, quantity) != quantity:
            name = f"{name}'"
        return self._kept(name, quantity, owner)

    def _kept(self, name: str, quantity: QuantityKind, owner: str) -> str:
        self.quantities.setdefault(name, quantity)
        self.owners.setdefault(name, owner)
        return name


def _over_time(node: Node) -> TypeGuard[Call]:
    return isinstance(node, Call) and SCENARIO_FUNCTIONS[node.function].over_time


def _uses_time(*nodes: Node) -> bool:
    """Tell whether trees use time, beside the arguments of functions over time: these are formulas of their own."""
    return any(
        (isinstance(node, Name) and node.name in TIME_NAMES)
        or (not _over_time(node) and _uses_time(*tree.children(node)))
        for node in nodes
    )


def _with_stock_rates(formula: Formula, scenario: Scenario, key: str) -> Formula:
    """Return a formula with a stock's own in the place of ``log_rate(S)`` and ``rate(S)``."""

    def swapped(made: Node) -> Node:
        if not (isinstance(made, Call) and made.function in UPDATE_RULES):
            return made
        stock = scenario.quantities.get(made.args[0].name) if isinstance(made.args[0], Name) else None
        if not isinstance(stock, Stock) or stock.move != made.function:
            named = [n for n, q in scenario.quantities.items() if isinstance(q, Stock) and q.move == made.function]
            raise UnknownNameError(
                f"stock with a {made.function}", tree.to_text(made.args[0]), named, where=f"{scenario.where}: {key}"
            )
        return stock.change.root

    return Formula(tree.rewrite(formula.root, swapped))


def _condition_for_side(
    condition: Condition, scenario: Scenario, hidden: Hidden, key: str
) -> tuple[Condition, list[str]]:
    """Return a condition in which the number of a choice that is a whole side knows the other, and its names."""
    sides, names = [condition.left, condition.right], []
    for i, side in enumerate(sides):
        if not (isinstance(side.root, Name) and side.root.name.startswith("{")):
            continue
        other, choice = sides[1 - i], side.root.name.strip("{}")
        of = (
            other.root.name if isinstance(other.root, Name) and key.startswith(f"quantities.{other.root.name}.") else ""
        )
        stated = scenario.quantities.get(of)
        like = stated.tree if isinstance(stated, Expression) and stated.unit is None else None if of else other
        number = Chosen(choice=choice, like=like, of="" if like else of)
        names.append(hidden.number(side.root.name, scenario, key, number))
        sides[i] = Formula(Name(names[-1]))
    return Condition(sides[0], condition.op, sides[1]), names


def _check_texts(formula: Formula, scenario: Scenario, key: str) -> None:
    """Refuse to compare a regime with a text that it never is."""
    for node in tree.walk(formula.root):
        if isinstance(node, Comparison):
            sides = {type(side): side for side in (node.left, node.right)}
            text, name = sides.get(Text), sides.get(Name)
            regime = scenario.quantities.get(name.name) if isinstance(name, Name) else None
            if isinstance(text, Text) and regime is not None and regime.labels and text.value not in regime.labels:
                what = f"value of '{name.name}'" if isinstance(name, Name) else "value"
                raise UnknownNameError(what, text.value, regime.labels, where=f"{scenario.where}: {key}")


def hide_functions(scenario: Scenario) -> tuple[Scenario, Mapping[str, str]]:
    """Return a scenario without functions over time in its formulas, and the owners of the quantities it hides.

    Raises
    ------
    UnknownNameError
        For a name in a formula that is no quantity.
    """
    hidden = Hidden()

    def formula(formula: Formula, key: str, what: str = "", known: Collection[str] = ()) -> Formula:
        formula = _with_stock_rates(formula, scenario, key)
        free = [name for name in formula.names if name.startswith("{") and name not in known]
        formula = with_choice_names(
            formula, {n: hidden.number(n, scenario, key, Chosen(choice=n.strip("{}"))) for n in free}
        )
        for name in formula.names:
            if name.startswith("{"):
                continue
            if name not in scenario.quantities and name not in TIME_NAMES:
                raise UnknownNameError("quantity", name, scenario.quantities, where=f"{scenario.where}: {key}{what}")
        _check_texts(formula, scenario, key)
        return hidden.replace_functions(formula, key, rates=_uses_time(formula.root))

    def condition(condition: Condition, key: str) -> Condition:
        condition, known = _condition_for_side(condition, scenario, hidden, key)
        left, right = tree.children(formula(condition.formula, key, known=known).root)
        return Condition(Formula(left), condition.op, Formula(right))

    quantities = {name: made.mapped(formula, condition, name) for name, made in scenario.quantities.items()}
    limits = {name: bound.mapped(condition, f"quantities.{name}") for name, bound in scenario.limits.items()}
    changes = tuple(each.mapped(condition, f"changes[{n}]") for n, each in enumerate(scenario.changes, 1))
    figures = {
        name: replace(question, of=hidden.whole(formula(question.of, f"questions.{name}"), f"questions.{name}"))
        for name, question in scenario.figures.items()
    }
    questions = {
        name: replace(question, when=condition(question.when, f"questions.{name}.when"))
        for name, question in scenario.questions.items()
    }
    updates = {
        name: formula(likelihood, f"update.{name}.log_likelihood") for name, likelihood in scenario.updates.items()
    }
    rankings = {
        name: replace(
            question,
            rank=formula(question.rank, f"questions.{name}.rank"),
            among=tuple(condition(each, f"questions.{name}.subject_to") for each in question.among),
        )
        for name, question in scenario.rankings.items()
    }
    made = replace(
        scenario,
        quantities={**quantities, **hidden.quantities},
        limits=limits,
        changes=changes,
        figures=figures,
        questions=questions,
        rankings=rankings,
        updates=updates,
    )
    return made, hidden.owners
