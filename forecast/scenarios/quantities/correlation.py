"""What moves together: numbers, inputs of models, and fitted numbers, by the names that an answer prints.

::

    [[correlations]]
    of = ["machine.growth", "cost", "brain/dettmers-2015.firing_rate"]
    rho = 0.7
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from forecast.base.arrays import Array
from forecast.base.distributions import distribution
from forecast.contract.specs import Input
from forecast.errors import ScenarioError, UnknownNameError, first_names, printable
from forecast.scenarios.settings import setting_targets

if TYPE_CHECKING:
    from forecast.scenarios.graph import ScenarioGraph
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.quantities.node import QuantityKind


#: More than so many do not move together in one group: its matrix has their square of numbers.
MAX_CORRELATED = 500


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """Quantities that move together: a Gaussian copula with these rank correlations (Spearman's rho).

    Parameters
    ----------
    of : tuple of str
        Quantities, or inputs of models by their full name; the first keeps the draws that it has without the others.
    matrix : tuple of tuple of float
        Rank correlations.
    """

    NAMES: ClassVar = ("of",)

    of: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]

    def factor(self, *, where: str = "") -> Array:
        """Return the weights of the normal scores of those up to each, a row each.

        Raises
        ------
        ScenarioError
            Where no numbers can be correlated like this.

        Examples
        --------
        >>> pair = Correlation(of=("a", "b"), matrix=((1.0, 0.5), (0.5, 1.0)))
        >>> pair.factor()[1].round(4).tolist()  # 2 sin(pi/12), and what is left of 1
        [0.5176, 0.8556]
        """
        pearson = 2 * np.sin(np.pi / 6 * np.array(self.matrix))
        np.fill_diagonal(pearson, 1.0)
        try:
            return np.asarray(np.linalg.cholesky(pearson))
        except np.linalg.LinAlgError:
            raise ScenarioError(
                f"{where}: the correlations contradict each other: their matrix is not positive definite"
            ) from None


def read_correlations(reader: ScenarioReader, record: Mapping[str, Any]) -> Iterator[Correlation]:
    """Read the groups of what moves together; whether those names are known is for the graph."""
    groups = record.get("correlations", ())
    if not isinstance(groups, (list, tuple)):
        raise reader.fail("correlations", "expected [[correlations]], with two brackets: there may be several")
    grouped: dict[str, int] = {}
    for number, group in enumerate(groups, 1):
        key = f"correlations[{number}]"
        reader.only(group, ("of", "rho", "matrix"), key)
        if "of" not in group:
            raise reader.fail(f"{key}.of", "is missing")
        reader.count(group["of"], MAX_CORRELATED, f"{key}.of")
        names = reader.texts(group["of"], f"{key}.of")
        if len(names) < 2:
            raise reader.fail(f"{key}.of", "expected two or more names")
        for name in names:
            if name in grouped:
                where = "twice" if grouped[name] == number else f"in group {grouped[name]} too: put both into one"
                raise reader.fail(f"{key}.of", f"'{printable(name, 80)}' stands there {where}")
            grouped[name] = number
        if ("rho" in group) == ("matrix" in group):
            raise reader.fail(key, "expected rho, or a matrix, and not both")
        made = Correlation(of=names, matrix=_read_matrix(reader, group, len(names), key))
        made.factor(where=f"{printable(reader.where)}: {key}")
        yield made


def _read_matrix(
    reader: ScenarioReader, group: Mapping[str, Any], size: int, key: str
) -> tuple[tuple[float, ...], ...]:
    if "rho" in group:
        rho = reader.finite(group["rho"], f"{key}.rho")
        if not -1 < rho < 1:
            raise reader.fail(f"{key}.rho", f"expected a rank correlation between -1 and 1, got {rho:g}")
        return tuple(tuple(1.0 if i == j else rho for j in range(size)) for i in range(size))
    at, rows = f"{key}.matrix", group["matrix"]
    listed = isinstance(rows, (list, tuple)) and all(isinstance(row, (list, tuple)) for row in rows)
    if not listed or len(rows) != size or any(len(row) != size for row in rows):
        raise reader.fail(at, f"expected {size} rows of {size} numbers, one for each of 'of'")
    matrix = tuple(tuple(reader.finite(value, at) for value in row) for row in rows)
    square = np.array(matrix)
    outside = (np.abs(square) > 1) | ((square != 1) & np.eye(size, dtype=bool))
    for i, j in np.argwhere(np.tril(outside | (square != square.T))).tolist():
        if matrix[i][j] != matrix[j][i]:
            raise reader.fail(at, f"expected the same both ways, got {matrix[i][j]:g} and {matrix[j][i]:g}")
        raise reader.fail(at, f"expected 1 on the diagonal and rank correlations beside it, got {matrix[i][j]:g}")
    return matrix


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
