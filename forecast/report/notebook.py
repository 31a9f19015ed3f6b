"""Answers, projections and scenarios as HTML for a notebook: a sentence, a small figure and a table."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from forecast.base.notebook_html import inline_image, page
from forecast.base.warning_lines import warning_lines
from forecast.errors import ForecastError, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.projection.result import Projection
    from forecast.report.rows import RowGroup
    from forecast.scenarios.graph import ScenarioGraph
    from forecast.scenarios.scenario import Scenario

#: Quantities in the figure of a scenario: columns, and rows of each.
_MAX_LAYERS, _MAX_PER_LAYER = 5, 10


def answer_html(
    run: Projection, draw: Callable[[Axes], object], lead: tuple[str, list[list[str]]] | None = None
) -> str:
    """Return an answer as HTML: what it says, its figure, its rivals, and what moves it.

    Parameters
    ----------
    run : Projection
    draw : callable
        Draws it into axes.
    lead : tuple of str and list of list of str, optional
        Of what is more than the answer of its scenario: its sentence and table.
    """
    from forecast.report.brief import brief
    from forecast.report.words.number_text import percent

    short = brief(run)
    columns, rows = _columns_and_rows(short.groups)
    shares = [f"{name} {percent(share)}" for name, share in short.drivers]
    notes = [f"What moves it, each alone: {', '.join(shares)} of the variance." if shares else ""]
    notes += [f"{race}." for race in short.races] + [
        short.details[name] for name in ("data", "record") if name in short.details
    ]
    notes += [*run.read, *warning_lines([*run.failures, *run.warnings])]
    sentence, (columns, *rows) = lead or (short.sentence, [columns, *rows])
    return page(sentence, inline_image(draw, sentence), columns, rows, notes)


def projection(run: Projection) -> str:
    """Return a projection as HTML: its sentence, every answer by its choices, and its quantities at the last date."""
    from forecast.report.brief import section

    parts = [section(run, name) for name in ("answers", "quantities")]
    columns, rows = _columns_and_rows([group for part in parts for group in part.groups])
    notes = [*run.read, *warning_lines([*run.failures, *run.warnings])]
    return page(parts[0].sentence, "", columns, rows, notes)


def scenario(scenario: Scenario) -> str:
    """Return a scenario as HTML: its title, what its quantities are made of, its choices and its questions."""
    from forecast.scenarios.graph import build

    title, rows = scenario.title or scenario.name or "A scenario", choices_and_questions(scenario)
    try:
        layers = [*_dependency_layers(build(scenario)), _questions_and_quantities(scenario)]
        image = inline_image(lambda ax: _plot_graph(layers, ax), "What its quantities are made of")
    except ForecastError as problem:  # what it names may not be installed here
        return page(title, "", ["", "", ""], rows, [f"It cannot be run here: {problem}"])
    return page(title, image, ["", "name", "what"], rows, [])


def choices_and_questions(scenario: Scenario) -> list[list[str]]:
    """Return a row for each choice and question of a scenario: its kind, its name, and its values or title."""
    rows = [["choice", name, ", ".join(choice.values)] for name, choice in scenario.choices.items()]
    rows += [["when", name, question.title or question.when.text] for name, question in scenario.questions.items()]
    rows += [["value", name, question.title or question.of.text] for name, question in scenario.figures.items()]
    rows += [["first", name, question.title or ", ".join(question.first)] for name, question in scenario.firsts.items()]
    return [*rows, *(["rank", name, each.title or each.rank.text] for name, each in scenario.rankings.items())]


def _columns_and_rows(groups: Sequence[RowGroup]) -> tuple[list[str], list[list[str]]]:
    """Return the heads of one table of all groups, those of the first that has each, and its rows."""
    heads = [next(filter(None, each), "") for each in itertools.zip_longest(*(group.columns for group in groups))]
    rows = []
    for group in groups:
        for row in group.rows:
            cells = group.cells(row)
            label = f"{row.of}: {row.label}" if row.of else row.label
            rows.append([label, *cells, *[""] * (len(heads) - len(cells))])
    return ["", *heads], rows


def _dependency_layers(graph: ScenarioGraph) -> list[list[tuple[str, list[str]]]]:
    """Sort what a scenario is made of by how much has to be known first: each name with the names it is made of."""
    made_of: dict[str, dict[str, None]] = {}
    depth: dict[str, int] = {}
    layers: dict[int, list[tuple[str, list[str]]]] = {}
    for name, node in graph.nodes.items():  # what a node is made of comes before it, but in a cycle
        sources = [source for source in node.sources if source in made_of]
        parts = [made_of[s] if graph.nodes[s].hidden else {s: None} for s in sources]
        made_of[name] = {each: None for part in parts for each in part}
        if not node.hidden:
            depth[name] = 1 + max((depth[source] for source in made_of[name]), default=-1)
            layers.setdefault(depth[name], []).append((name, list(made_of[name])))
    return [layers[level] for level in sorted(layers)]


def _questions_and_quantities(scenario: Scenario) -> list[tuple[str, list[str]]]:
    """Return the names of the questions, each with the quantities that it names."""
    questions = [(name, question.when.names) for name, question in scenario.questions.items()]
    questions += [(name, figure.of.names) for name, figure in scenario.figures.items()]
    questions += [(name, ranking.rank.names) for name, ranking in scenario.rankings.items()]
    return [(f"{name}?", list(names)) for name, names in questions]


def _plot_graph(layers: Sequence[Sequence[tuple[str, list[str]]]], ax: Axes) -> None:
    """Plot the last layers from left to right: quantities, and the questions about them."""
    ax.set_axis_off()
    every = sum(map(len, layers))
    shown = layers[-_MAX_LAYERS:]
    places: dict[str, tuple[float, float]] = {}
    for column, layer in enumerate(shown):
        for row, (name, _) in enumerate(layer[:_MAX_PER_LAYER]):
            places[name] = (float(column), -(row + 0.5) / min(len(layer), _MAX_PER_LAYER))
    for name, sources in itertools.chain(*shown):
        for source in sources if name in places else ():
            if source in places:
                ax.plot(*zip(places[source], places[name], strict=True), color="0.8", lw=0.8, zorder=1)
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "0.6", "linewidth": 0.6}
    for name, (x, y) in places.items():
        label = textwrap.shorten(printable(name, 24).replace("_", " "), 20, placeholder="…")
        ax.text(x, y, label, ha="center", va="center", bbox=box, zorder=2, fontsize=7)
    if every > len(places):
        ax.set_title(f"the last {len(places)} of {every} quantities and questions", fontsize=8)
    ax.set(xlim=(-0.6, max(len(shown) - 0.4, 0.6)), ylim=(-1.05, 0.05))
