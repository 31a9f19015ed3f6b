"""What a notebook shows of an answer, a fit and a scenario: a sentence, a small figure and a table, below 30 kB."""

from __future__ import annotations

import base64
import html
import io
import itertools
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.errors import ForecastError, UncertaintyError, printable
from forecast.report.warning_lines import warning_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.fit.fit import Fit
    from forecast.projection.result import Projection
    from forecast.report.rows import RowGroup
    from forecast.scenarios.graph import ScenarioGraph
    from forecast.scenarios.scenario import Scenario

__all__ = ["MAX_BYTES", "answer_html", "fit", "projection", "scenario"]

#: Most bytes of it all: a notebook keeps every output.
MAX_BYTES = 30_000
#: Most bytes of a figure, as it stands in the page, and the resolutions that are tried until one has no more.
_MAX_IMAGE_BYTES, _RESOLUTIONS = 20_000, (110, 80, 60)
#: Inches of a figure, rows of a table, and characters of a cell.
_FIGURE_INCHES, _MAX_TABLE_ROWS, _MAX_CELL = (5.6, 3.0), 12, 80
#: Points of a curve, and observations beside it.
_N_CELL_CURVE_POINTS, _MAX_CELL_POINTS = 120, 500
#: Quantities in the figure of a scenario: columns, and rows of each.
_MAX_LAYERS, _MAX_PER_LAYER = 5, 10


def answer_html(run: Projection, draw: Callable[[Axes], object]) -> str:
    """Return an answer as HTML: what it says, its figure, its rivals, and what moves it.

    Parameters
    ----------
    run : Projection
    draw : callable
        Draws it into axes.
    """
    from forecast.report.brief import brief
    from forecast.report.words.number_text import percent

    short = brief(run)
    columns, rows = _columns_and_rows(short.groups)
    told = [f"{name} {percent(share)}" for name, share in short.drivers]
    notes = [f"What moves it, each alone: {', '.join(told)} of the variance." if told else ""]
    notes += [f"{said}." for said in (*short.races, short.data and f"Newest data: {short.data}", short.record) if said]
    notes += warning_lines([*run.failures, *run.warnings])
    return _page(short.sentence, _inline_image(draw, short.sentence), columns, rows, notes)


def projection(run: Projection) -> str:
    """Return a projection as HTML: its sentence, every answer by its choices, and its quantities at the last date."""
    from forecast.report import sections

    parts = [sections.section(run, name) for name in ("answers", "quantities")]
    columns, rows = _columns_and_rows([group for part in parts for group in part.groups])
    told = warning_lines([*run.failures, *run.warnings])
    return _page(parts[0].sentence, "", columns, rows, told)


def fit(fit: Fit) -> str:
    """Return a fit as HTML: its law and verdict, the curve among its points, and its parameters."""
    said = f"{fit.name}: {fit.law.text}" if fit.law.name else fit.law.text
    judged = f"published in {fit.published.reference}" if fit.published else f"{fit.n} points; {fit.verdict}"
    rows = []
    for name, number in fit.values.items():
        try:
            low, high = fit.interval(name, fit.level)
            span = f"{low:.4g} to {high:.4g}"
        except UncertaintyError as problem:
            span = "none: " + problem.reason
        rows.append([name, f"{number:.6g}", span])
    drawn = _inline_image(lambda ax: _plot_law(fit, ax), said) if fit.ranges else ""
    return _page(f"{said}; {judged}", drawn, ["parameter", "value", f"{fit.level:.0%} interval"], rows, fit.warnings)


def scenario(scenario: Scenario) -> str:
    """Return a scenario as HTML: its title, what its quantities are made of, its choices and its questions."""
    from forecast.scenarios.graph import build

    said = scenario.title or scenario.name or "A scenario"
    rows = [["choice", name, ", ".join(choice.values)] for name, choice in scenario.choices.items()]
    rows += [["when", name, question.title or question.when.text] for name, question in scenario.questions.items()]
    rows += [["value", name, question.title or question.of.text] for name, question in scenario.figures.items()]
    rows += [["first", name, question.title or ", ".join(question.first)] for name, question in scenario.firsts.items()]
    rows += [["rank", name, question.title or question.rank.text] for name, question in scenario.rankings.items()]
    try:
        layers = [*_dependency_layers(build(scenario)), _questions_and_quantities(scenario)]
        drawn = _inline_image(lambda ax: _graph(layers, ax), "What its quantities are made of")
    except ForecastError as problem:  # what it names may not be installed here
        return _page(said, "", ["", "", ""], rows, [f"It cannot be run here: {problem}"])
    return _page(said, drawn, ["", "name", "what"], rows, [])


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


# --- The page ---------------------------------------------------------------------------------------------------------


def _escape(said: object, most: int = 600) -> str:
    return html.escape(printable(said, most))


def _page(
    sentence: str, figure: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]
) -> str:
    used = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    head = "".join(f"<th>{_escape(columns[i])}</th>" for i in used)
    body = [
        f"<tr>{''.join(f'<td>{_escape(row[i], _MAX_CELL)}</td>' for i in used)}</tr>" for row in rows[:_MAX_TABLE_ROWS]
    ]
    left = len(rows) - len(body)
    parts = [f"<p><strong>{_escape(sentence)}</strong></p>", figure]
    parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>" if body else "")
    parts.append(f"<p>{left} more rows.</p>" if left > 0 else "")
    parts += [f"<p>{_escape(note, 300)}</p>" for note in notes[:8] if note]
    return "".join(parts)


def _inline_image(draw: Callable[[Axes], object], told: str) -> str:
    """Return a figure as an image in the page; none where it cannot be small."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image  # matplotlib's own

    # names from data and plugins are no TeX; a figure of its own leaves those of the notebook alone
    with mpl.rc_context({"text.parse_math": False, "font.size": 8.0}):
        made = Figure(figsize=_FIGURE_INCHES, layout="constrained")
        canvas = FigureCanvasAgg(made)
        draw(made.subplots())
        for resolution in _RESOLUTIONS:
            made.set_dpi(resolution)
            canvas.draw()
            buffer = io.BytesIO()
            # so few colours are drawn that a palette holds them, in a third of the bytes
            Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(32).save(
                buffer, "PNG", optimize=True
            )
            coded = base64.b64encode(buffer.getvalue()).decode("ascii")
            if len(coded) <= _MAX_IMAGE_BYTES:
                return f'<img alt="{_escape(told, 300)}" src="data:image/png;base64,{coded}">'
    return ""


# --- Figures ----------------------------------------------------------------------------------------------------------


def _plot_law(fit: Fit, ax: Axes) -> None:
    """Draw the law along its first variable, the others at the middle of their data, with the band of the law."""
    from forecast.report.figures import COLOURS
    from forecast.report.words.number_text import format_number

    name = next(iter(fit.ranges))
    low, high = fit.ranges[name]
    several = low > 0 and high > 10 * low
    grid = np.geomspace(low, high, _N_CELL_CURVE_POINTS) if several else np.linspace(low, high, _N_CELL_CURVE_POINTS)
    places: dict[str, Any] = {name: grid}
    fixed = {}
    for other, (least, most) in fit.ranges.items():
        if other != name:
            fixed[other] = float(np.sqrt(least * most) if least > 0 else (least + most) / 2)
            places[other] = np.full(_N_CELL_CURVE_POINTS, fixed[other])
    places |= {group: [labels[0]] * _N_CELL_CURVE_POINTS for group, labels in fit.law.levels.items()}
    said = fit.predict(**places)
    median = np.asarray(said["median"], dtype=float)
    if "lower" in said:
        ax.fill_between(grid, said["lower"], said["upper"], color=COLOURS[0], alpha=0.3, lw=0, label="90 % of the law")
    ax.plot(grid, median, color=COLOURS[0], label="the law")
    if fit.data is not None and not fixed and not fit.law.levels:  # of several variables points do not lie on a curve
        step = -(-len(fit.data.y) // _MAX_CELL_POINTS)
        x, y = np.asarray(fit.data.variables[name])[::step], np.asarray(fit.data.y)[::step]
        ax.plot(x, y, ".", color=COLOURS[1], label="observed")
        median = np.concatenate([median, y])
    shown = median[np.isfinite(median)]
    rises = bool(shown.size) and shown.min() > 0 and shown.max() > 10 * shown.min()
    ax.set(xscale="log" if several else "linear", yscale="log" if rises else "linear")
    for axis in [*([ax.xaxis] if several else []), *([ax.yaxis] if rises else [])]:
        axis.set_major_formatter(lambda value, _: format_number(value))  # powers of ten would be TeX
        axis.set_minor_formatter(lambda value, _: "")
    unit = fit.law.variables[name]
    ax.set_xlabel(printable(f"{name} ({unit})" if unit else name, 60))
    ax.set_ylabel(printable(f"{fit.law.output} ({fit.law.unit})" if fit.law.unit else fit.law.output, 60))
    ax.legend(frameon=False, title=", ".join(f"{other} = {value:.3g}" for other, value in fixed.items())[:60] or None)


def _dependency_layers(graph: ScenarioGraph) -> list[list[tuple[str, list[str]]]]:
    """Sort what a scenario is made of by how much has to be known first: each name with the names it is made of."""
    made_of: dict[str, dict[str, None]] = {}
    depth: dict[str, int] = {}
    layers: dict[int, list[tuple[str, list[str]]]] = {}
    for name, node in graph.nodes.items():  # what a node is made of comes before it, but in a cycle
        known = [source for source in node.sources if source in made_of]
        parts = [made_of[s] if graph.nodes[s].hidden else {s: None} for s in known]
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


def _graph(layers: Sequence[Sequence[tuple[str, list[str]]]], ax: Axes) -> None:
    """Plot the last layers from left to right: quantities, and the questions about them."""
    ax.set_axis_off()
    every = sum(map(len, layers))
    shown = layers[-_MAX_LAYERS:]
    places: dict[str, tuple[float, float]] = {}
    for column, layer in enumerate(shown):
        for row, (name, _) in enumerate(layer[:_MAX_PER_LAYER]):
            places[name] = (float(column), -(row + 0.5) / min(len(layer), _MAX_PER_LAYER))
    for name, sources in _present_sources(shown, places):
        for source in sources:
            (x, y), (to_x, to_y) = places[source], places[name]
            ax.plot([x, to_x], [y, to_y], color="0.8", lw=0.8, zorder=1)
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "0.6", "linewidth": 0.6}
    for name, (x, y) in places.items():
        label = textwrap.shorten(printable(name, 24).replace("_", " "), 20, placeholder="…")
        ax.text(x, y, label, ha="center", va="center", bbox=box, zorder=2, fontsize=7)
    if every > len(places):
        ax.set_title(f"the last {len(places)} of {every} quantities and questions", fontsize=8)
    ax.set(xlim=(-0.6, max(len(shown) - 0.4, 0.6)), ylim=(-1.05, 0.05))


def _present_sources(
    layers: Sequence[Sequence[tuple[str, list[str]]]], places: dict[str, tuple[float, float]]
) -> Iterator[tuple[str, list[str]]]:
    for layer in layers:
        yield from ((name, [s for s in sources if s in places]) for name, sources in layer if name in places)
