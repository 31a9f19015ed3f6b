"""What every shipped scenario shows: one screen of whole words, and a figure judged by the boxes of what is drawn."""

import itertools
import math
import re

import pytest
from matplotlib.text import Text

import forecast
from forecast.base import plot_style
from forecast.contract.registry import get_registry
from forecast.report.brief import brief
from forecast.report.figures.projections import compose
from forecast.report.headline import Words
from forecast.report.rows import ranking_groups
from forecast.report.screen import HEIGHT, lines
from forecast.sensitivity.first_order import uncertain

#: Scenarios that stand for the others in the default tier: choices and dates, a ranking.
REPRESENTATIVE = {"brain/brain-parity", "hardware/gpu-choice"}
SCENARIOS = [
    pytest.param(name, marks=[] if name in REPRESENTATIVE else pytest.mark.slow)
    for name in sorted(record.full_name for record in get_registry().records("scenario"))
]
#: Pixels by which boxes may touch.
SLACK = 1.0


@pytest.fixture(scope="module", params=SCENARIOS)
def run(request):
    return forecast.project(request.param, draws=64)


def parts_of(figure):
    yield figure
    for inner in figure.subfigs:
        yield from parts_of(inner)


def box(artist):
    return artist.get_window_extent()


def overlap(one, other):
    return (
        min(one.x1, other.x1) - max(one.x0, other.x0) > SLACK and min(one.y1, other.y1) - max(one.y0, other.y0) > SLACK
    )


def seen(texts):
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def ticks(axis):
    """Return the labels of the ticks that are in view."""
    out = []
    for each in (axis.xaxis, axis.yaxis):
        low, high = sorted(each.get_view_interval())
        shown = [t.label1 for t in each.get_major_ticks() if low <= t.get_loc() <= high]
        out.append(seen(shown) if each.get_visible() else [])
    return out


def faults(figure):
    """Say what a reader would hold against a figure."""
    plot_style.settle(figure)
    whole = figure.bbox
    legends = [legend for part in parts_of(figure) for legend in part.legends]
    for axis in figure.axes:
        drawn = [*axis.lines, *axis.patches, *axis.collections]
        if not any(artist.get_visible() for artist in drawn):
            yield f"an empty panel: {axis.get_title('left')}"
        for low, high in (axis.get_xlim(), axis.get_ylim()):
            if not abs(high - low) > 0:
                yield "an axis of no length"
        for labels in ticks(axis):
            for one, other in itertools.pairwise(labels):
                if overlap(box(one), box(other)):
                    yield f"tick labels overlap: {one.get_text()!r}, {other.get_text()!r}"
        if not ticks(axis)[0] and axis.get_xticks().size and axis.xaxis.get_tick_params().get("labelbottom", True):
            yield f"no date or value can be read off: {axis.get_title('left')}"
        for legend in legends:
            if overlap(box(legend), box(axis)):
                yield "the legend lies on the data"
        yield from written_on(axis)
    texts = [text for part in parts_of(figure) for text in seen([*part.texts, part._suptitle or _NONE])]
    headings = list(texts)
    for axis in figure.axes:
        own = [axis.title, axis._left_title, axis.xaxis.label, axis.yaxis.label]
        texts += seen([*own, *axis.texts, *itertools.chain(*ticks(axis))])
        headings += seen([axis._left_title, *itertools.chain(*ticks(axis))])
    for legend in legends:
        texts += legend.get_texts()
    for text in dict.fromkeys(texts):
        inside = box(text)
        if inside.x0 < -SLACK or inside.y0 < -SLACK or inside.x1 > whole.x1 + SLACK or inside.y1 > whole.y1 + SLACK:
            yield f"clipped: {text.get_text()!r}"
    for one, other in itertools.combinations(dict.fromkeys(headings), 2):
        if overlap(box(one), box(other)):
            yield f"one lies on another: {one.get_text()!r}, {other.get_text()!r}"


def written_on(axis):
    """Say which labels of a panel of points lie on a point, or on one another."""
    observed = [line for line in axis.lines if line.get_label() == "observed"]
    labels = seen(axis.texts) if observed else []
    for one, other in itertools.combinations(labels, 2):
        if overlap(Text.get_window_extent(one), Text.get_window_extent(other)):
            yield f"one label lies on another: {one.get_text()!r}, {other.get_text()!r}"
    for label, line in itertools.product(labels, observed):
        x, y = axis.transData.transform(line.get_xydata()).T
        own = Text.get_window_extent(label)  # without its line
        if ((own.x0 < x) & (x < own.x1) & (own.y0 < y) & (y < own.y1)).any():
            yield f"a label lies on a point: {label.get_text()!r}"


class _None:
    def get_visible(self):
        return False


_NONE = _None()


@pytest.mark.slow
@pytest.mark.parametrize("width", ["page", "column"])
def test_its_figure_can_be_printed(run, width):
    with plot_style.style():
        figure = compose(run, width=width)
        assert sorted(set(faults(figure))) == []
    assert figure.get_size_inches()[0] == plot_style.WIDTHS[width]
    assert figure.axes


@pytest.mark.parametrize("width", [80, 120])
def test_it_is_one_screen_without_a_broken_word(run, width):
    found = brief(run, today="2026-11-22")
    out = lines(found, width)
    assert len(out) <= HEIGHT
    assert max(map(len, out)) <= width
    words = set(" ".join(out).split())
    assert set(found.sentence.split()) <= words | {"%"}  # none is cut, and a percentage keeps its sign
    assert not [line for line in out if line.lstrip().startswith("% ")]
    assert any(char.isdigit() for char in found.sentence)
    assert found.sentence.endswith(".")
    assert not re.search(r"\d{7,}|\bnan\b|\binf\b|\{|\}", found.sentence)


def test_at_80_columns_charts_have_their_width_and_labels_are_whole(run):
    found = brief(run, today="2026-11-22")
    out = lines(found, 80)
    axes = [line for line in out if re.search(r"\S {2,}\S.* median", line) and " " * 4 in line]
    for axis in axes:
        ends = re.sub(r"^\[[^]]*\]", "", axis[: axis.index("median")]).strip()
        if ends:
            assert len(ends) >= 24, axis
    first = found.groups[0]
    leading = next((row for row in first.rows if row.spread is not None), None)
    if leading is not None and first.kind != "text" and first.ends[1] > first.ends[0]:
        assert any(any(mark in line for mark in "─━●▶") for line in out), "no chart"
    assert not [line for line in out if "…" in line]
    assert not [line for line in out if re.match(r"answer\b", line.strip())]


def test_where_nothing_is_drawn_no_row_has_a_probability(run):
    found = brief(run)
    moving = any(number.moves for number in uncertain(run).values())
    rows = [row for group in found.groups for row in group.rows if not row.is_heading]
    if not moving:
        assert not [row.cells[2] for row in rows if any(row.cells[2:])]
    for answer in run.rankings:
        for table in answer.table:
            fixed = all(each.quantiles[0] == each.quantiles[4] for each in table.taking_part)
            if fixed and all(each.first in (0, 1) for each in table.taking_part):
                assert not [row for group in ranking_groups(answer, Words(run), most=math.inf) for row in group.rows
                            if len(answer.table) == 1 and any(row.cells[2:])]  # fmt: skip
