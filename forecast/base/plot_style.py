"""How figures look on paper: widths, colours, marks, ticks in plain text, and how one is written into a file.

A figure reads no TeX, so that foreign names stay as they are, and equal answers give equal files. Series differ by
colour, line and mark at once: they are told apart with any colour vision, and in grey.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.base.files import replace_atomically, safe_output
from forecast.errors import ForecastError, UsageError, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

FIGURE_SUFFIXES = (".svg", ".png", ".pdf")
#: Inches: one column of a journal's page, 89 mm, and the page, 183 mm.
WIDTH_INCHES = {"column": 89 / 25.4, "page": 183 / 25.4}
#: Okabe & Ito (2008): told apart with any colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (1, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
BLACK, GREY = "#222222", "#767676"
#: Decades below which a logarithmic axis has labels between the powers of ten.
_MAX_LABELLED_DECADES = 1.5
#: Digits of a place on a figure, as a share of it.
_COORDINATE_DIGITS = 5
#: Texts are measured so many times larger: letters of few pixels are moved to whole ones.
_MEASURE_SCALE = 10
#: Dots an inch of a figure that is made of pixels.
_DPI = 200

_FONT = "DejaVu Sans"
_STYLE = {
    "text.parse_math": False, "text.hinting": "none",
    "svg.hashsalt": "lawcast", "svg.fonttype": "none", "pdf.fonttype": 42,
    "font.family": [_FONT], "font.size": 8.0, "axes.titlesize": 8.0, "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0, "ytick.labelsize": 7.0, "legend.fontsize": 7.0, "legend.frameon": False,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6, "lines.linewidth": 1.3,
    "axes.titlelocation": "left", "axes.axisbelow": True, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    "xtick.minor.size": 0.0, "ytick.minor.size": 0.0, "axes.edgecolor": BLACK, "hatch.linewidth": 0.6,
    "figure.constrained_layout.h_pad": 0.03, "figure.constrained_layout.w_pad": 0.03,
}  # fmt: skip


def style() -> contextlib.AbstractContextManager[Any]:
    """Return the settings of matplotlib under which a figure is made and written."""
    import matplotlib as mpl

    return mpl.rc_context(_STYLE)


def sheet(width: float, height: float) -> Figure:
    """Return an empty figure, in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_axes(height: float = 3.0) -> Axes:
    """Return axes of a new figure of pyplot, which a notebook shows."""
    from matplotlib import pyplot as plt

    axis: Axes = plt.subplots(figsize=(5.5, height), layout="constrained")[1]
    return axis


def check_format(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose ending names no figure format.

    Raises
    ------
    UsageError
    """
    if Path(path).suffix.lower() not in FIGURE_SUFFIXES:
        raise UsageError(
            f"{printable(Path(path).name)}: expected a figure file that ends in {', '.join(FIGURE_SUFFIXES)}"
        )


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure whole or not at all; without a clock in it, so that equal figures are equal files."""
    target = safe_output(path)
    finish_layout(figure)
    form = target.suffix[1:].lower()
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
    with replace_atomically(target) as temporary:
        try:
            figure.savefig(temporary, format=form, metadata=metadata, dpi=_DPI)
        except ValueError as error:  # more pixels than the format holds
            raise ForecastError(f"{printable(target)}: {printable(error)}") from error
    return target


def laid_out(axis: Axes) -> None:
    """Lay out the figure of these axes: what is measured then is where it will be."""
    figure = axis.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()


def lay_out(figure: Figure) -> None:
    """Lay out a figure of `sheet`, whose engine sets its ticks and places without drawing what they hold."""
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.execute(figure)


def finish_layout(figure: Figure) -> None:
    """Lay a figure out for good, at round places: the solver of layouts leaves rounding errors of either sign."""
    lay_out(figure)
    figure.set_layout_engine(None)  # with "none" matplotlib draws a figure once more before it saves it
    parts: list[Any] = [figure]
    while parts:
        part = parts.pop()
        for inner in part.subfigs:
            inner.bbox_relative.p0, inner.bbox_relative.p1 = (
                [round(float(x), _COORDINATE_DIGITS) + 0.0 for x in p]
                for p in (inner.bbox_relative.p0, inner.bbox_relative.p1)
            )
            parts.append(inner)
        for text in part.texts:
            text.set_position([round(float(x), _COORDINATE_DIGITS) + 0.0 for x in text.get_position()])
    for axis in figure.axes:
        axis.set_position([round(float(x), _COORDINATE_DIGITS) + 0.0 for x in axis.get_position().bounds])  # type: ignore[arg-type]


def legend(axis: Axes) -> None:
    """Put a legend above the data, in one row or two; without one where it would say nothing."""
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        columns = 2 if sum(map(len, labels)) > 60 or len(labels) > 3 else len(labels)
        axis.legend(
            handles, labels, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, borderaxespad=0.2,
            handlelength=1.8, columnspacing=1.2,
        )  # fmt: skip


def add_heading(figure: Figure, text: str, width: str) -> None:
    """Put a heading above a figure, cut to one line."""
    figure.suptitle(printable(text, 84 if width == "page" else 40), fontsize=9, weight="bold", x=0.01, ha="left")


def legend_below(figure: Figure, columns: int) -> None:
    """Put one legend under a figure: what its panels share is said once."""
    named: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    if named:
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=min(columns, len(named)))


def set_year_ticks(axis: Axis) -> None:
    """Label an axis of decimal years: by whole years, or by the month where it spans a few."""
    from matplotlib.ticker import MaxNLocator, MultipleLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    span, inches = high - low, _axis_inches(axis)
    if span > 4:
        axis.set_major_locator(MaxNLocator(nbins=max(2, min(6, int(inches / 0.5))), integer=True, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(lambda year, _: f"{year:.0f}")
    else:
        steps = [each for each in (1 / 12, 1 / 6, 1 / 4, 1 / 2, 1.0) if span / each > 1.2] or [1 / 12]
        step = next((each for each in steps if span / each <= max(2.0, inches / 0.65)), steps[-1])
        axis.set_major_locator(MultipleLocator(step))
        axis.set_major_formatter(lambda year, _: f"{year:.0f}" if step >= 1 else _month(year))
    axis.set_minor_formatter(NullFormatter())


def thin(axis: Axis) -> None:
    """Leave out every second label of an axis until none lies over another, once it is laid out."""
    ticks = [tick for tick in axis.get_major_ticks() if tick.label1.get_visible() and tick.label1.get_text()]
    low, high = sorted(axis.get_view_interval())
    shown = sorted((tick for tick in ticks if low <= tick.get_loc() <= high), key=lambda tick: float(tick.get_loc()))
    boxes = [tick.label1.get_window_extent() for tick in shown]
    room = 3.0 * axis.axes.figure.dpi / 72
    step = next(
        (n for n in range(1, len(boxes)) if all(a.x1 + room < b.x0 for a, b in itertools.pairwise(boxes[::n]))),
        len(boxes),
    )
    if step > 1:
        from matplotlib.ticker import FixedLocator

        axis.set_major_locator(FixedLocator([float(tick.get_loc()) for tick in shown][::step]))


def few_ticks(axis: Axis) -> Any:
    """Return a locator of as many ticks as an axis has room for."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=max(2, min(5, int(_axis_inches(axis) / 0.55))))


def logarithmic(axis: Axis, values: Any) -> None:
    """Make an axis logarithmic where its values are positive and span a decade, and label it either way."""
    if values.size and values.min() > 0 and values.max() > 10 * values.min():
        (axis.axes.set_yscale if axis is axis.axes.yaxis else axis.axes.set_xscale)("log")
        set_log_ticks(axis)
    else:
        axis.set_major_locator(few_ticks(axis))
        axis.set_major_formatter(lambda value, _: format_tick(value))


def _axis_inches(axis: Axis) -> float:
    """Return about how long an axis is, before the labels of others take their room."""
    box = axis.axes.get_window_extent()
    return float((box.height if axis is axis.axes.yaxis else box.width) / axis.axes.figure.dpi)


def _month(year: float) -> str:
    months = round(year * 12)
    return f"{months // 12}-{months % 12 + 1:02d}"


def set_log_ticks(axis: Axis) -> None:
    """Label a logarithmic axis: powers of ten, and 2 and 5 between them where it spans one or two."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low) if 0 < low < high < math.inf else math.inf
    between = (
        (1.0, 2.0, 5.0)
        if decades < _MAX_LABELLED_DECADES
        else (1.0, 3.0)
        if decades < 2 * _MAX_LABELLED_DECADES
        else (1.0,)
    )
    room = 6 if axis is axis.axes.yaxis else 5
    axis.set_major_locator(LogLocator(subs=between, numticks=room))
    axis.set_major_formatter(lambda value, _: format_log_tick(value))
    axis.set_minor_formatter(NullFormatter())  # matplotlib's own is TeX


@functools.lru_cache(maxsize=4096)
def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Return how wide a text stands on paper, in points, in the font of figures."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    font = FontProperties(family=_FONT, size=size, weight=weight)
    measure = RendererAgg(1, 1, 72 * _MEASURE_SCALE).get_text_width_height_descent
    return max(float(measure(line, font, False)[0]) for line in text.split("\n")) / _MEASURE_SCALE


def wrap_text(text: str, width: float, size: float, weight: str = "normal") -> str:
    """Break a text into lines of so many points, and leave nothing of it out.

    It is broken at spaces, but for those between a number and its unit; else behind the signs between the parts of a
    name, else anywhere.

    Examples
    --------
    >>> wrap_text("the time horizon reaches a week", 80.0, 7.0).splitlines()
    ['the time horizon', 'reaches a week']
    """

    def fits(part: str) -> bool:
        return text_width(part.rstrip(), size, weight) <= width

    lines = [""]
    for word in re.split(r"(?<=[^\d] )", text):
        parts = [word] if fits(word) else re.split(r"(?<=[-/.@_])", word)
        for part in (part for whole in parts for part in ([whole] if fits(whole) else whole)):
            if lines[-1] and not fits(lines[-1] + part):
                lines.append("")
            lines[-1] += part
    return "\n".join(line.strip() for line in lines)


def format_tick(value: float) -> str:
    """Write a tick of an axis that is not logarithmic.

    Examples
    --------
    >>> format_tick(1200.0), format_tick(0.25), format_tick(2.5e7), format_tick(-1e-9), format_tick(0.0)
    ('1,200', '0.25', '2.5e7', '-1e-9', '0')
    """
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return f"{value:,.6g}"
    mantissa, _, power = f"{value:.4g}".partition("e") if "e" in f"{value:.4g}" else f"{value:.3e}".partition("e")
    return f"{float(mantissa):g}e{int(power)}"


def format_log_tick(value: float) -> str:
    """Write a tick.

    Examples
    --------
    >>> tuple(map(format_log_tick, (1e6, 2e-6, 0.05, 1000.0, 0.0)))
    ('1e6', '2e-6', '0.05', '1000', '')
    """
    if not 0 < value < math.inf:
        return ""
    if 5e-3 < value < 9e3:
        return f"{value:.4g}"
    power = math.floor(math.log10(value) + 1e-9)
    return f"{value / 10.0**power:.3g}e{power}" if power > -300 else f"{value:.0e}"
