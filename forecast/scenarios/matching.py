"""What a key of ``--set`` or ``--swap`` means in a graph: a choice, a quantity, an input, or a fitted parameter."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from forecast.errors import UnknownNameError, UsageError, printable
from forecast.formula import TIME
from forecast.models import FittedModel
from forecast.models.nesting import nested

if TYPE_CHECKING:
    from forecast.scenarios.graph import Graph

__all__ = [
    "apart",
    "asked_of",
    "behind",
    "check_asked",
    "check_no_model",
    "inputs",
    "listed",
    "meant",
    "models",
    "owners",
    "parameters",
]

#: An error names so many of what could be meant at most: they fit on three lines.
MOST_LISTED = 12


def apart(graph: Graph, swapped: Collection[str]) -> frozenset[str]:
    """Return what moved together with others and no longer does where these quantities are others.

    The others keep their draws, as if it were still there.
    """
    kept = {model.name for name, node in graph.nodes.items() if name not in swapped for model in node.models.values()}
    gone = {model.name for name in swapped for model in graph.nodes[name].models.values()} - kept
    named = {name for group in graph.scenario.correlations for name in group.of}
    return frozenset(n for n in named if n in swapped or n.rpartition(".")[0] in {*swapped, *gone})


def models(graph: Graph, quantity: str) -> list[str]:
    """Return the names of the models behind a quantity, and of those that these contain."""
    return list(dict.fromkeys(m.name for made in graph.nodes[quantity].models.values() for m in nested(made)))


def inputs(graph: Graph, key: str) -> list[str]:
    """Return the inputs that a key means: by full name, by the model's bare name, by series, or by quantity."""
    owner, _, name = str(key).rpartition(".")
    matches = [n for n in graph.inputs if n == key or (owner and n.partition("/")[2] == key)]
    if not matches and owner:  # of a series: on each shape that has it
        series = {n: f"{n.partition('@')[0]}.{n.rpartition('.')[2]}" for n in graph.inputs if "@" in n}
        matches = [n for n, short in series.items() if key in (short, short.partition("/")[2])]
    if not matches and owner in graph.nodes:
        inner = models(graph, owner)
        matches = [n for n in graph.inputs if n.rpartition(".")[0] in inner and n.rpartition(".")[2] == name]
    return matches


def owners(graph: Graph, key: str) -> list[str]:
    """Return the models whose fitted numbers a key may mean, ``QUANTITY.NUMBER`` or ``MODEL.NUMBER``; none for others.

    Whether these models have such a number shows when they are fitted.
    """
    owner, _, name = str(key).rpartition(".")
    if not owner or not name or inputs(graph, key):
        return []
    # what is never fitted says at once what can be set
    fitted = [n for n, each in graph.models.items() if not isinstance(each, FittedModel) or each.settable]
    return [n for n in models(graph, owner) if n in fitted] if owner in graph.nodes else _named(fitted, owner)


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Say some names, the first ones of many.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    rest = len(names) - most
    return ", ".join(printable(n, 80) for n in names[:most]) + (f" and {rest} more" if rest > 0 else "")


def parameters(graph: Graph, given: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Return what is set and is no input, by model and parameter.

    Whether these models have such parameters shows when they are fitted.

    Raises
    ------
    UnknownNameError
        For what names neither a quantity with a model nor a model.
    """
    out: dict[str, dict[str, object]] = {}
    for key, value in given.items():
        name = str(key).rpartition(".")[2]
        matches = owners(graph, key)
        if not matches:
            known = [*graph.scenario.choices, *graph.quantities, *graph.inputs]
            raise UnknownNameError("choice, quantity or input", key, known, where="set")
        for match in matches:
            out.setdefault(match, {})[name] = value
    return out


def _named(every: Iterable[str], owner: str) -> list[str]:
    """Return the models of a full or a bare name; those of a series, with whatever shape, where there are none."""
    if not owner:
        return []
    series = {n: n.partition("@")[0] for n in every}
    exact = [n for n in series if owner in (n, n.partition("/")[2])]
    return exact or [n for n, short in series.items() if owner in (short, short.partition("/")[2])]


def check_no_model(key: str, value: object) -> None:
    """Refuse a model as what a quantity is set to: it is swapped.

    Raises
    ------
    UsageError
    """
    from forecast.contract.registry import get_registry

    name = value.partition("@")[0] if isinstance(value, str) else ""
    known = get_registry().names("model") if name and not name[0].isdigit() else ()
    if any(name in (full, full.partition("/")[2]) for full in known):
        way = f"{printable(key, 80)}={printable(value, 80)}"
        raise UsageError(f"set {way}: a model is no value; swap it: --swap {way}, or swap= in Python")


def asked_of(graph: Graph, *, shown: bool = False) -> dict[str, None]:
    """Return the quantities on which what is asked depends; every one where nothing is.

    What the scenario names under ``shown`` is asked for too; where it names nothing, and `shown`, a run shows them all.
    """
    scenario = graph.scenario
    conditions = [q.when for q in scenario.questions.values()]
    conditions += [condition for ranking in scenario.rankings.values() for condition in ranking.among]
    formulas = [*(r.rank for r in scenario.rankings.values()), *(f.of for f in scenario.figures.values())]
    names = [*(n for c in conditions for n in c.names), *(n for f in formulas for n in f.names)]
    names = [*names, *scenario.shown] if names and (scenario.shown or not shown) else []
    return behind(graph, (*names, *graph.weighed_by) if names else list(graph.nodes))


def behind(graph: Graph, names: Iterable[str]) -> dict[str, None]:
    """Return these quantities, and those on which they depend."""
    left = [n for n in names if n not in TIME]
    found: dict[str, None] = {}
    while left:
        name = left.pop(0)
        if name not in found:
            found[name] = None
            left += graph.nodes[name].sources
    return found


def meant(graph: Graph, key: str) -> set[str]:
    """Return the quantities that a key sets, or whose models have what it sets.

    Raises
    ------
    UnknownNameError
    """
    if key in graph.nodes:
        return {key}
    owners = {each.rpartition(".")[0] for each in inputs(graph, key)} or set(parameters(graph, {key: None}))
    return {name for name in graph.nodes if not owners.isdisjoint(models(graph, name))}


def check_asked(graph: Graph, keys: Iterable[str], verb: str) -> None:
    """Refuse to set, to swap or to sweep what no answer depends on.

    What is set may also change what a run shows; what is swapped or swept must change what is asked. A choice may be
    narrowed that nothing depends on any more.

    Raises
    ------
    UsageError
        Listing what they depend on.
    """
    asked = asked_of(graph, shown=verb == "set")
    choices = graph.dims(list(asked))
    for key in keys:
        if key not in graph.scenario.choices and meant(graph, key).isdisjoint(asked):
            known = ", ".join((*choices, *(n for n in asked if not graph.nodes[n].hidden)))
            reason = f"no answer depends on it; what is asked depends on {printable(known, 600)}"
            raise UsageError(f"{verb} {printable(key, 80)}: {reason}")
