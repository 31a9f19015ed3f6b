"""Where in a formula a name matters only in some worlds: in the branches of ``where``."""

from __future__ import annotations

from forecast.formula import Call, Comparison, Name, Node
from forecast.formula.tree import children, walk

__all__ = ["only_in_branches"]


def only_in_branches(node: Node, name: str, *, inside: bool = False) -> bool:
    """Tell whether a name stands in branches of ``where`` alone, and is compared with nothing.

    Examples
    --------
    >>> from forecast.formula import parse_expression
    >>> tree = parse_expression("where(a > 1, b, c) + c").root
    >>> [only_in_branches(tree, each) for each in "abc"]
    [False, True, False]
    """
    if isinstance(node, Name):
        return inside or node.name != name
    if isinstance(node, Comparison):
        return all(only_in_branches(each, name) for each in children(node)) and not _contains_name(node, name)
    if isinstance(node, Call) and node.function == "where":
        condition, *branches = children(node)
        return not _contains_name(condition, name) and all(
            only_in_branches(each, name, inside=True) for each in branches
        )
    return all(only_in_branches(each, name, inside=inside) for each in children(node))


def _contains_name(node: Node, name: str) -> bool:
    return any(isinstance(each, Name) and each.name == name for each in walk(node))
