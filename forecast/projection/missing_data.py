"""What cannot be answered as of a date, because a model had no data then: left out and named, and nothing else with it.

A model that cannot be fitted to what was known (no row, too few, or a table that dates none) is *without data*. What
reads it is without data too, except that

* a formula that reads it in one branch of ``where`` alone is answered in the worlds of the other branches. Where a
  ``draw`` decides, the labels without data are not drawn, and the others keep their weights in proportion;
* of a choice whose values are pooled, those under which a question is without data are left out, where others are not;
* a limit that is without data does not bind.

What is left of the questions is answered; if nothing is, the reason is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import BoolArray
from forecast.base.dates import iso_date
from forecast.errors import AsOfWarning, ForecastError, ForecastWarning, NoDataAtDateError, printable
from forecast.formula import TIME_NAMES
from forecast.projection.failures import failed_mask
from forecast.scenarios.graph import ScenarioGraph
from forecast.scenarios.kinds.regime import Regime
from forecast.scenarios.quantities.limits import Limits
from forecast.scenarios.quantities.node import Combination

if TYPE_CHECKING:
    from forecast.projection.evaluate import Block
    from forecast.projection.model_fits import ModelFits

#: All worlds that hold a label are lost by chance where this is less likely.
BY_CHANCE = 1e-3
#: Some of the values of choices, or of the labels of what is drawn.
Rivals = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """What is not in a run as of a date.

    Parameters
    ----------
    quantities : tuple of str
    questions : tuple of str
    limits : tuple of (str, str)
        A quantity, and which of its bounds does not bind.
    rivals : mapping of str to tuple of str
        By choice whose values are pooled, those under which an answer has data, where others have none.
    drawn : mapping of str to tuple of str
        By quantity that is one of several labels a world, those with which others have data, where some have none.
    """

    quantities: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    limits: tuple[tuple[str, str], ...] = ()
    rivals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    drawn: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class _BlockTrial:
    """What one block of worlds could not compute."""

    block: Block
    reason: NoDataAtDateError | None = None
    rivals: dict[str, set[str]] = field(default_factory=dict)
    failed_masks: list[BoolArray] = field(default_factory=list)

    def answers(self, dims: tuple[str, ...], *lower: Callable[[Combination], int], required: bool = False) -> bool:
        """Compute some steps in every combination, and tell whether any of them has data.

        Of what is asked, values of pooled choices that have none are noted where others have some.
        """
        graph = self.block.plan.graph
        with_data = [c for c in graph.combinations(dims) if self._has_data([partial(each, c) for each in lower])]
        for place, choice in enumerate(dims if required and with_data else ()):
            stated = graph.scenario.choices[choice]
            if stated.weights is not None:
                lacking = set(stated.values) - {combination[place] for combination in with_data}
                self.rivals.setdefault(choice, set()).update(lacking)
        return bool(with_data)

    def _has_data(self, lower: Iterable[Callable[[], int]]) -> bool:
        try:
            _, faults = self.block.watched(lambda: [self.block.take(each()) for each in lower])
        except NoDataAtDateError as error:
            self.reason = self.reason or error
            return False
        except ForecastError:  # it fails for another reason, and is told where it is counted
            return True
        without = [fault for fault in faults if isinstance(fault.error, NoDataAtDateError)]
        if without:
            self.failed_masks.append(failed_mask(without, self.block.draws))
        return True

    def drawn(self) -> dict[str, tuple[str, ...]]:
        """Return the labels with which others have data, of what is drawn where some labels have none.

        A label has none where all worlds that hold it are lost to something, and not all others; of several the one
        that most worlds hold is taken first, and what it explains is not laid to another. A label that so few worlds
        hold that all may be lost by chance is left to a later look, at worlds without those that are explained.
        """
        block, plan = self.block, self.block.plan
        graph = plan.graph
        regimes = {
            name: node.quantity
            for name, node in graph.nodes.items()
            if isinstance(node.quantity, Regime) and not node.dims
        }
        labels = {name: each.labels for name, each in regimes.items()}
        codes = {name: block.take(plan.quantity(name, ()))[0] for name in labels}
        # a label of probability 0 as of the date is no rival to those without data
        possible = {name: [*compress(each.labels, each.shares(plan, name))] for name, each in regimes.items()}
        left, out = np.ones(block.draws, dtype=bool), {name: list(each) for name, each in possible.items()}
        while any((mask & left).any() for mask in self.failed_masks):
            found = [
                (int(holding.sum()), name, label)
                for name, each in labels.items()
                for code, label in enumerate(each)
                if (holding := left & (codes[name] == code)).any()
                and any(
                    mask[holding].all() and mask[left].mean() ** holding.sum() < BY_CHANCE for mask in self.failed_masks
                )
            ]
            if not found:
                break
            _, name, label = max(found)
            out[name].remove(label)
            left &= codes[name] != labels[name].index(label)
        return {name: tuple(each) for name, each in out.items() if each and len(each) < len(possible[name])}


def narrowed_scenario(
    graph: ScenarioGraph, block_of: Callable[[ScenarioGraph], Block], rebuilt: Callable[[Rivals], ScenarioGraph]
) -> tuple[ScenarioGraph, LeftOut]:
    """Return the graph of a run as of a date, with the rivals that have data, and what is left out of it.

    Parameters
    ----------
    graph : ScenarioGraph
    block_of : callable
        Makes one block of worlds of a graph.
    rebuilt : callable
        Makes the graph anew with choices cut to some of their values.

    Raises
    ------
    NoDataAtDateError
        If nothing is left to answer.
    """
    rivals: Rivals = {}
    drawn: Rivals = {}
    while True:  # fewer rivals every time
        found = _find_left_out(graph, block_of(_with_labels(graph, drawn)))
        if not found.rivals and not found.drawn:
            return graph, replace(found, rivals=rivals, drawn=drawn)
        drawn = {**drawn, **found.drawn}
        if found.rivals:
            rivals = {**rivals, **found.rivals}
            graph = rebuilt(rivals)


def _find_left_out(graph: ScenarioGraph, block: Block) -> LeftOut:
    """Tell what cannot be answered, by computing one block of worlds."""
    trial, scenario, plan = _BlockTrial(block), graph.scenario, block.plan
    quantities: list[str] = []
    limits: list[tuple[str, str]] = []
    questions: list[str] = []
    for name, node in graph.nodes.items():
        if not trial.answers(node.dims, partial(plan.quantity, name)):
            quantities.append(name)
        for part, condition in ({} if node.limits is None else node.limits.conditions).items():
            if not trial.answers(node.dims, partial(plan.bound, node, condition)):
                limits.append((name, part))
    for name, question in scenario.questions.items():
        dims = graph.dims(question.when.names)
        if not trial.answers(dims, partial(plan.crossed, name, dims), required=True):
            questions.append(name)
    values = {name: figure.of.names for name, figure in scenario.figures.items()}
    values |= {name: ranking.needs for name, ranking in scenario.rankings.items()}
    for name, needs in values.items():
        dims, names = graph.dims(needs), [n for n in needs if n not in TIME_NAMES]
        lower = [lambda at, n=n, dims=dims: plan.quantity(n, plan.restrict(n, dims, at)) for n in names]
        if not trial.answers(dims, *lower, required=True):
            questions.append(name)
    questions += [n for n, each in scenario.firsts.items() if not set(each.first) - set(questions)]
    every = {*scenario.questions, *scenario.figures, *scenario.rankings}
    left = every - set(questions) if every else set(graph.quantities) - set(quantities)
    if not left and trial.reason is not None:
        raise NoDataAtDateError(f"nothing is left to answer as of {iso_date(block.fits.as_of or 0)}: {trial.reason}")
    kept = {c: tuple(v for v in scenario.choices[c].values if v not in lacking) for c, lacking in trial.rivals.items()}
    return LeftOut(
        quantities=tuple(quantities),
        questions=tuple(questions),
        limits=tuple(limits),
        rivals={c: values for c, values in kept.items() if values and values != scenario.choices[c].values},
        drawn=trial.drawn(),
    )


def _with_labels(graph: ScenarioGraph, rivals: Rivals) -> ScenarioGraph:
    """Return the graph in which some of what is drawn holds only these labels, with their weights in proportion."""
    nodes = dict(graph.nodes)
    for name, labels in rivals.items():
        made = nodes[name].quantity
        assert isinstance(made, Regime)
        nodes[name] = replace(nodes[name], quantity=made.restricted_to(labels))
    return replace(graph, nodes=nodes)


def hidden(graph: ScenarioGraph, left_out: LeftOut) -> ScenarioGraph:
    """Return the graph of a run that tells nothing of what is left out."""
    if left_out == LeftOut():
        return graph
    graph = _with_labels(graph, left_out.drawn)
    out, gone, scenario = set(left_out.quantities), set(left_out.questions), graph.scenario
    kept: dict[str, Any] = {
        group: {name: each for name, each in getattr(scenario, group).items() if name not in gone}
        for group in ("questions", "figures", "rankings", "firsts", "says")
    }
    bounds = dict(scenario.limits)
    nodes = {name: replace(node, left_out=name in out) for name, node in graph.nodes.items()}
    for name, part in left_out.limits:
        stated = nodes[name].limits
        if stated is not None:
            nodes[name] = replace(nodes[name], limits=_unbound(stated, part))
            bounds[name] = _unbound(stated, part)
    for name, first in kept["firsts"].items():
        kept["firsts"][name] = replace(first, first=tuple(q for q in first.first if q not in gone))
    left = replace(
        scenario,
        **kept,
        shown=tuple(name for name in scenario.shown if name not in out),
        levers=tuple(each for each in scenario.levers if each.name not in out),
        opens="" if scenario.opens in gone else scenario.opens,
        limits=bounds,
    )
    return replace(graph, scenario=left, nodes=nodes)


def _unbound(limits: Limits, part: str) -> Limits:
    return replace(limits, limit=None) if part == "limit" else replace(limits, at_least=None)


def left_out_lines(graph: ScenarioGraph, fits: ModelFits, left_out: LeftOut) -> list[ForecastWarning]:
    """Say what is left out as of the date: the models with the reason, and what rests on them."""
    if fits.as_of is None:
        return []
    told = partial(AsOfWarning, date=iso_date(fits.as_of))
    lacking = [error for error in fits.refusals() if isinstance(error, NoDataAtDateError)]
    named = {
        "younger": [f"{name} ({published})" for name, published in sorted(fits.younger.items())],
        "quantities": [name for name in left_out.quantities if not graph.nodes[name].owner],
        "questions": left_out.questions,
        "limits": [name for name, _ in left_out.limits],
    }
    *most, limits = [told(what=what, names=tuple(names)) if names else None for what, names in named.items()]
    rivals = {**left_out.rivals, **left_out.drawn}.items()
    held = [told(what="rivals", reason=printable(name, 60), names=tuple(values)) for name, values in rivals]
    return [*(told(what="model", reason=str(error)) for error in lacking), *filter(None, (*most, *held, limits))]
