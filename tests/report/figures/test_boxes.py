"""Figures by the boxes of what they show: nothing lies over anything else or leaves the sheet, at either width."""

import itertools
import re

import pytest
from matplotlib.text import Text

import forecast
from forecast.base import plot_style
from forecast.contract.registry import get_registry
from forecast.errors import UsageError
from forecast.report.figures.projection_figure import PANELS, compose
from toolkit import sample

#: Pixels by which boxes may touch: letters do not fill theirs.
TOUCH = 1.5
FEW = ("brain/brain-parity", "hardware/gpu-choice")
SCENARIOS = get_registry().names("scenario", parts=False)


def parts_of(figure):
    yield figure
    for part in figure.subfigs:
        yield from parts_of(part)


def ticks(axis):
    low, high = sorted(axis.get_view_interval())
    for tick in axis.get_major_ticks():
        if tick.label1.get_visible() and low - 1e-9 * abs(low) <= tick.get_loc() <= high + 1e-9 * abs(high):
            yield tick.label1


def texts(figure):
    """Walk every text that is drawn."""
    for part in parts_of(figure):
        yield from part.texts
        yield from (text for legend in part.legends for text in legend.get_texts())
        yield from [part._suptitle] if getattr(part, "_suptitle", None) else []
    for axes in figure.axes:
        yield from axes.texts
        yield from (axes.title, axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label)
        yield from itertools.chain(ticks(axes.xaxis), ticks(axes.yaxis))


def boxes(figure):
    found = [(text.get_text(), text.get_window_extent()) for text in texts(figure) if text.get_text().strip()]
    marks = [handle for part in parts_of(figure) for legend in part.legends for handle in legend.legend_handles]
    return found + [("a mark of the legend", mark.get_window_extent()) for mark in marks if mark is not None]


def faults(figure):
    """Say what lies over what, and what leaves the sheet."""
    plot_style.finish_layout(figure)
    figure.draw_without_rendering()  # which puts the texts of a legend in their places
    sheet, found = figure.bbox, boxes(figure)
    out = [
        f"{text!r} leaves the sheet"
        for text, box in found
        if box.x0 < sheet.x0 - TOUCH
        or box.x1 > sheet.x1 + TOUCH
        or box.y0 < sheet.y0 - TOUCH
        or box.y1 > sheet.y1 + TOUCH
    ]
    for (one, a), (other, b) in itertools.combinations(found, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        if across > TOUCH and up > TOUCH:
            out.append(f"{one!r} and {other!r} overlap")
    return out


def unreadable(figure):
    """Say which panel is empty or has a legend on it, and which label lies on a point."""
    legends = [legend for part in parts_of(figure) for legend in part.legends]
    for axes in figure.axes:
        title = axes.get_title("left")
        if not any(artist.get_visible() for artist in (*axes.lines, *axes.patches, *axes.collections)):
            yield f"an empty panel: {title}"
        if any(low == high for low, high in (axes.get_xlim(), axes.get_ylim())):
            yield f"an axis of no length: {title}"
        for legend in legends:
            a, b = legend.get_window_extent(), axes.get_window_extent()
            if min(a.x1, b.x1) - max(a.x0, b.x0) > TOUCH and min(a.y1, b.y1) - max(a.y0, b.y0) > TOUCH:
                yield f"the legend lies on the data: {title}"
        observed = [line for line in axes.lines if line.get_label() == "observed"]
        labels = [text for text in axes.texts if text.get_visible() and text.get_text().strip()]
        for label, line in itertools.product(labels, observed):
            x, y = axes.transData.transform(line.get_xydata()).T
            own = Text.get_window_extent(label)  # without its line
            if ((own.x0 < x) & (x < own.x1) & (own.y0 < y) & (y < own.y1)).any():
                yield f"a label lies on a point: {label.get_text()!r}"


def drawn(run, **options):
    with plot_style.style():
        figure = compose(run, **options)
        return figure, [*faults(figure), *unreadable(figure)]


def looked_at(run, panels=(None, *PANELS)):
    for width, panel, titled in itertools.product(plot_style.WIDTH_INCHES, panels, (False, True)):
        if titled and panel is not None:
            continue
        try:
            figure, wrong = drawn(run, width=width, panel=panel, titled=titled)
        except UsageError:
            assert panel is not None
            continue
        assert not wrong, (width, panel, titled, wrong)
        assert figure.get_figwidth() == plot_style.WIDTH_INCHES[width]
        for axes in figure.axes:
            shown = [label.get_text() for label in ticks(axes.yaxis)]
            if not any(label and not re.fullmatch(r"[\d.,e+-]+( %)?", label) for label in shown):
                assert len(set(shown)) == len(shown)
        told = [text.get_text() for text in texts(figure)]
        assert not [text for text in told if "…" in text], "nothing is cut"


@pytest.mark.parametrize("name", sample(FEW, 2))
def test_nothing_overlaps_is_cut_or_leaves_the_sheet(name):
    looked_at(forecast.project(name, draws=64), (None,))


@pytest.mark.parametrize(("number", "name"), sample(enumerate(SCENARIOS), 0, 12))
def test_nothing_overlaps_is_cut_or_leaves_the_sheet_in_any_scenario(number, name):
    """Of every eighth each panel by itself, too."""
    looked_at(forecast.project(name, draws=64), (None,) if number % 8 else (None, *PANELS))
