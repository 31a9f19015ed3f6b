"""What the quantities of a scenario state beside their units, along its choices, and where that does not match."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from forecast.formula import Condition
from forecast.models.nesting import asks
from forecast.scenarios.quantities.choice_numbers import Chosen
from forecast.scenarios.quantities.dynamics import SolvedNumber, Stock
from forecast.scenarios.quantities.uncertain_inputs import MomentFit, OwnDraws, Regime, Schedule
from forecast.scenarios.scenario import Scenario
from forecast.scenarios.spec import Expression, OverTime, Prior, RankQuestion, SeriesRef, TableValue, fill
from forecast.tables.series import states
from forecast.units.qualifiers import Qualifiers, check, infer, meet, of_rows

if TYPE_CHECKING:
    from forecast.scenarios.graph import Combination, Node

__all__ = ["at", "check_condition", "check_ranking", "of_node"]

#: Kinds that state their qualifiers themselves, whatever they need.
_STATING = (Prior, Schedule, OwnDraws)


def at(
    nodes: Mapping[str, Node], names: Sequence[str], dims: tuple[str, ...], combination: Combination
) -> dict[str, Qualifiers]:
    """Return what quantities state under these values of the choices `dims`."""
    chosen = dict(zip(dims, combination, strict=True))
    return {n: nodes[n].bases.get(tuple(chosen[d] for d in nodes[n].dims), {}) for n in names}


def _walk(
    scenario: Scenario, nodes: Mapping[str, Node], names: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], Combination]]:
    """Walk the combinations along which any of these quantities states something."""
    depends_on = {d for n in names if nodes[n].bases for d in nodes[n].dims}
    dims = tuple(c for c in scenario.choices if c in {d for n in names for d in nodes[n].dims})
    if any(nodes[n].bases for n in names) and depends_on <= set(dims):
        for values in itertools.product(*(scenario.choices[d].values for d in dims)):
            yield dims, values


def of_node(scenario: Scenario, node: Node, known: Mapping[str, Node], key: str) -> dict[Combination, Qualifiers]:
    """Return what a quantity states in every combination of its choices; empty where it never states anything.

    Raises
    ------
    QualifierError
        Where it mixes what must not be mixed, or is fed what it does not ask for.
    """
    if node.fixed is not None:
        return {}
    if isinstance(node.quantity, TableValue):
        return dict(node.bases)
    stated: dict[Combination, Qualifiers] = {}
    for values in itertools.product(*(scenario.choices[d].values for d in node.dims)):
        stated[values] = _of(node, dict(zip(node.dims, values, strict=True)), known, key)
        if len(stated) == 1 and not stated[values] and not _may_state(node, known):
            return {}
    return stated if any(stated.values()) else {}


def _may_state(node: Node, known: Mapping[str, Node]) -> bool:
    """Tell whether any combination can state something; most scenarios never do and are not walked."""
    if any(known[n].bases for n in node.sources) or any(made.qualifiers for made in node.models.values()):
        return True
    return isinstance(node.quantity, (Expression, *_STATING)) and bool(node.quantity.qualifiers)


def _of(node: Node, chosen: Mapping[str, str], known: Mapping[str, Node], key: str) -> Qualifiers:
    quantity = node.quantity
    if isinstance(quantity, _STATING):
        return quantity.qualifiers
    if isinstance(quantity, (Chosen, Regime, Stock, SolvedNumber)):
        return {}
    if isinstance(quantity, SeriesRef):
        stated = {**of_rows(quantity.where), **quantity.qualifiers}
        data = node.models[tuple(chosen[c] for c in node.own)].data  # type: ignore[attr-defined]
        return states(data, quantity.y, stated=stated, where=f"{key}.y")
    sides = {n: known[n].bases.get(tuple(chosen[d] for d in known[n].dims), {}) for n in node.sources}
    if isinstance(quantity, (MomentFit, OverTime)):
        return sides[quantity.of]  # conditions have no qualifiers, and neither have since and once of a condition
    if isinstance(quantity, Expression):
        stated = {name: fill(value, chosen) for name, value in quantity.qualifiers.items()}
        return infer(quantity.tree, sides, stated=stated, where=f"{key}.expression")
    model = node.models[tuple(chosen[c] for c in node.own)]
    for need, needed in asks(model):
        source = node.source(need)
        where = f"{key}: input '{need}' of model '{model.name}'"
        left = f"{model.name}.{need}" if need == source else need
        meet(check(needed.qualifiers, where=where), sides[source], left=left, right=source, where=where)
    return model.qualifiers


def check_condition(scenario: Scenario, nodes: Mapping[str, Node], when: Condition, key: str) -> None:
    """Refuse a comparison of two sides that state different things, in any combination of the choices.

    Raises
    ------
    QualifierError
    """
    names = [n for n in when.names if n in nodes]
    for dims, values in _walk(scenario, nodes, names):
        sides = at(nodes, names, dims, values)
        left, right = (infer(side, sides, where=key) for side in (when.left, when.right))
        meet(left, right, left=when.left.text, right=when.right.text, where=key)


def check_ranking(scenario: Scenario, nodes: Mapping[str, Node], ranking: RankQuestion, key: str) -> None:
    """Refuse a ranking of values that state different things.

    Raises
    ------
    QualifierError
    """
    first: dict[Combination, tuple[str, Qualifiers]] = {}
    names = [n for n in ranking.rank.names if n in nodes]
    for dims, values in _walk(scenario, nodes, names):
        index = dims.index(ranking.over)
        stated = infer(ranking.rank, at(nodes, names, dims, values), where=key)
        other, as_of = first.setdefault((*values[:index], *values[index + 1 :]), (values[index], stated))
        meet(as_of, stated, left=other, right=values[index], where=key)
