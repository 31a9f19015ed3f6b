"""Who moves together with whom: numbers, inputs of models, and fitted numbers, by the names that an answer prints.

::

    [[correlations]]
    of = ["machine.growth", "cost", "brain/dettmers-2015.firing_rate"]
    rho = 0.7
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from forecast.base.distributions import distribution
from forecast.contract.specs import Input
from forecast.errors import ScenarioError, UnknownNameError, first_names, printable
from forecast.scenarios.settings import setting_targets

if TYPE_CHECKING:
    from forecast.scenarios.graph import ScenarioGraph
    from forecast.scenarios.quantities.correlation import Correlation
    from forecast.scenarios.quantities.kind import QuantityKind


def check_correlated_quantities(
    graph: ScenarioGraph, whole: Callable[[], object] | None
) -> tuple[dict[str, Correlation], dict[str, tuple[str, str]]]:
    """Check who moves together; return the groups of whose draws depend on others', and their fitted numbers, by model.

    Parameters
    ----------
    graph : ScenarioGraph
        Before anything in it is set.
    whole : callable or None
        Where choices are narrowed: builds the graph with all their values, of which what is left out may be named too.

    Raises
    ------
    UnknownNameError, ScenarioError
        Naming what could move together.
    """
    scenario = graph.scenario
    groups: dict[str, Correlation] = {}
    fitted: dict[str, tuple[str, str]] = {}
    for number, group in enumerate(scenario.correlations, 1):
        key = f"{scenario.where}: correlations[{number}]"
        for name in (n for n in group.of if n not in scenario.alone):
            if name in graph.nodes or name in graph.inputs:
                if not _is_one_uniform(graph.nodes[name].quantity if name in graph.nodes else graph.inputs[name], name):
                    raise ScenarioError(f"{key}.of: '{printable(name, 80)}' has no distribution of its own to be "
                                        f"drawn from; {_correlatable_instead(graph, name)}")  # fmt: skip
                continue
            found = setting_targets.fitted_models(graph, name)
            if not found and whole is not None:
                whole()  # where the name is known to nothing at all, this says so
            elif not found:
                offered = _correlatable_names(graph, graph.quantities)
                raise UnknownNameError("quantity, input or fitted number", name, offered, where=f"{key}.of")
            parameter = name.rpartition(".")[2]
            for owner in found:
                if owner in fitted:
                    others = " and ".join(f"'{printable(each, 80)}'" for each in (fitted[owner][1], name))
                    raise ScenarioError(
                        f"{key}.of: {others} are numbers of one fit, '{owner}', which vary together as it says: "
                        "expected one of each model at most"
                    )
                fitted[owner] = parameter, name
        groups |= dict.fromkeys(group.of[1:], group)
    return groups, fitted


def _correlatable_names(graph: ScenarioGraph, names: Iterable[str]) -> list[str]:
    """Return what may move together with others, of these quantities: numbers, inputs of models, growths of trends."""
    out: dict[str, None] = {}
    for name in names:
        node = graph.nodes[name]
        if _is_one_uniform(node.quantity, name):
            out[name] = None
        behind = setting_targets.model_names(graph, name)
        inputs = {
            key: uncertain_input for key, uncertain_input in graph.inputs.items() if key.rpartition(".")[0] in behind
        }
        out |= dict.fromkeys(key for key, uncertain_input in inputs.items() if _is_one_uniform(uncertain_input, key))
        if any(hasattr(graph.models[each], "shape") for each in behind):
            out[f"{name}.growth"] = None
    return list(out)


def _correlatable_instead(graph: ScenarioGraph, name: str) -> str:
    """Say what may move together with others instead of a quantity: of what stands behind it, the nearest first."""
    known = _correlatable_names(
        graph, [each for each in setting_targets.with_dependencies(graph, [name]) if not graph.nodes[each].hidden]
    )
    known = known or _correlatable_names(graph, graph.quantities)
    return f"what could be: {first_names(known)}" if known else "the scenario has nothing that could be"


def _is_one_uniform(stated: QuantityKind | Input, name: str) -> bool:
    """Tell whether something is drawn through one uniform of its own name."""
    if isinstance(stated, Input):
        return distribution(stated.distribution, where=name).family != "fixed"
    return stated.one_uniform
