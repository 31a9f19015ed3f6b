"""What the quantities of a scenario state beside their units, along its choices, and where that does not match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from forecast.formula import Condition
from forecast.scenarios.quantities.node import Combination, Node
from forecast.scenarios.scenario import Scenario
from forecast.scenarios.spec import RankQuestion
from forecast.scenarios.templates import combinations
from forecast.units.qualifiers import Qualifiers, infer, meet


def at(
    nodes: Mapping[str, Node], names: Sequence[str], dims: tuple[str, ...], combination: Combination
) -> dict[str, Qualifiers]:
    """Return what quantities state under these values of the choices `dims`."""
    chosen = dict(zip(dims, combination, strict=True))
    return {n: nodes[n].stated_in(chosen) for n in names}


def _walk_nodes(
    scenario: Scenario, nodes: Mapping[str, Node], names: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], Combination]]:
    """Walk the combinations along which any of these quantities states something."""
    depends_on = {d for n in names if nodes[n].bases for d in nodes[n].dims}
    dims = tuple(c for c in scenario.choices if c in {d for n in names for d in nodes[n].dims})
    if any(nodes[n].bases for n in names) and depends_on <= set(dims):
        for values in combinations(scenario.choices, dims):
            yield dims, values


def of_node(scenario: Scenario, node: Node, nodes: Mapping[str, Node], key: str) -> dict[Combination, Qualifiers]:
    """Return what a quantity states in every combination of its choices; empty where it never states anything.

    Raises
    ------
    QualifierError
        Where it mixes what must not be mixed, or is fed what it does not ask for.
    """
    if node.fixed is not None:
        return {}
    if node.figures:
        return dict(node.bases)
    stated: dict[Combination, Qualifiers] = {}
    for values in combinations(scenario.choices, node.dims):
        stated[values] = node.quantity.qualifiers_in(node, dict(zip(node.dims, values, strict=True)), nodes, key)
        if len(stated) == 1 and not stated[values] and not _may_state(node, nodes):
            return {}
    return stated if any(stated.values()) else {}


def _may_state(node: Node, nodes: Mapping[str, Node]) -> bool:
    """Tell whether any combination can state something; most scenarios never do and are not walked."""
    if any(nodes[n].bases for n in node.sources) or any(made.qualifiers for made in node.models.values()):
        return True
    return node.quantity.states_qualifiers


def check_condition(scenario: Scenario, nodes: Mapping[str, Node], when: Condition, key: str) -> None:
    """Refuse a comparison of two sides that state different things, in any combination of the choices.

    Raises
    ------
    QualifierError
    """
    names = [n for n in when.names if n in nodes]
    for dims, values in _walk_nodes(scenario, nodes, names):
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
    for dims, values in _walk_nodes(scenario, nodes, names):
        index = dims.index(ranking.over)
        stated = infer(ranking.rank, at(nodes, names, dims, values), where=key)
        other, as_of = first.setdefault((*values[:index], *values[index + 1 :]), (values[index], stated))
        meet(as_of, stated, left=other, right=values[index], where=key)
