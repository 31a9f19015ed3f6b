"""An answer as a figure, and on one page of text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from forecast.base import plot_style
from forecast.base.quantiles import QUANTILES
from forecast.errors import ScenarioError, printable
from forecast.projection.result import FirstAnswer, ValueAnswer
from forecast.report.words.number_text import short_zeros
from forecast.report.words.patterns import fill
from forecast.sensitivity.first_order import MIN_DRIVER_SHARE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.api.answer import Answer

#: More combinations of choices than this are not drawn: nobody could tell them apart.
MAX_PLOTTED_LINES = 7
PAGE_WIDTH = 100
#: More bars than this are not drawn: their labels would lie over each other.
MAX_BARS = 24


def plot_answer(answer: Answer, ax: Axes | None = None, *, panel: str | None = None, titled: bool = False) -> Axes:
    """Draw an answer: how likely it is by each date, values with their intervals, or shares as bars; or one panel."""
    from forecast.report.figures import projection_figure

    run = answer.run
    if panel is not None:
        projection_figure.check_panel(run, panel)
    with plot_style.style():
        ax = plot_style.new_axes() if ax is None else ax
        if panel is None:
            {"when": _plot_dates, "value": _plot_values}.get(answer.kind, _plot_shares)(answer, ax)
        else:
            projection_figure.draw_panel(run, panel, ax)
            plot_style.legend(ax)
        if titled:
            ax.set_title(textwrap.fill(printable(run.title or _question_title(answer), 200), 70), loc="left")
    return ax


def _question_title(answer: Answer) -> str:
    """Return the title of the question, or its formula if it has none."""
    record = answer.scenario.stated["questions"][answer.name]
    title = record.get("title") or next(
        str(record[key]) for key in ("when", "value", "growth", "first", "rank") if key in record
    )
    title = f"{title}, given {' and '.join(each.text for each in answer.conditions)}" if answer.conditions else title
    return short_zeros(title)


def _plot_dates(answer: Answer, ax: Axes) -> None:
    result, (start, until) = answer.result, answer.run.span
    lines = result.side_by_side
    for row, colour, line in zip(lines, plot_style.COLOURS, plot_style.LINE_STYLES, strict=False):
        dates, weights = result.pooled_draws(row.choices)
        counts = np.ones(len(dates)) if weights is None else weights
        counts = np.where(np.isnan(dates), 0.0, counts)
        order = np.argsort(dates, kind="stable")
        years, reached = dates[order], np.cumsum(counts[order]) / np.nansum(counts)
        shown = np.isfinite(years)
        years, reached = years[shown], reached[shown]
        # the last probability holds up to the last step: the rest is never
        top = float(reached[-1]) if len(reached) else 0.0
        never = "failed" if row.distribution is None else f"never: {row.distribution.never:.0%}"
        label = f"{', '.join(row.choices.values()) or 'by the date'} ({never})"
        at, share = [start, *years, until], [0.0, *reached, top]
        ax.step(at, share, where="post", color=colour, linestyle=line, lw=1.8, label=label, clip_on=False)
        if row.distribution is not None and np.isfinite(middle := row.distribution.median):
            ax.plot([middle], [0.5], "o", color=colour, ms=5, clip_on=False)
            if len(lines) == 1:
                note = f"median {middle:.1f}"
                ax.annotate(note, (middle, 0.5), xytext=(8, -4), textcoords="offset points", fontsize=8)
    ax.set(xlim=(start, until), ylim=(0, 1), ylabel="probability that it is so", xlabel="year")
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    left = f"the first {MAX_PLOTTED_LINES} of {len(lines)}" if len(lines) > MAX_PLOTTED_LINES else None
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), title=left)


def _plot_values(answer: Answer, ax: Axes) -> None:

    from forecast.base.dates import decimal_year

    assert isinstance(answer.result, ValueAnswer)
    years = decimal_year(np.array(answer.result.dates, dtype="datetime64[s]"))
    rows = list(zip(*(at.side_by_side for at in answer.result.at), strict=True))[:MAX_PLOTTED_LINES]
    width = 0.12 * (np.diff(years).min() if len(years) > 1 else 1.0)
    plotted = []
    for place, (row, colour, mark) in enumerate(zip(rows, plot_style.COLOURS, plot_style.MARKERS, strict=False)):
        nothing = (np.nan,) * 5
        levels = np.array([nothing if r.distribution is None else r.distribution.quantiles for r in row]).T
        low, lower, middle, upper, high = levels
        at = years + width * (place - (len(rows) - 1) / 2)
        ax.vlines(at, low, high, color=colour, lw=1.5)
        ax.vlines(at, lower, upper, color=colour, lw=5, alpha=0.5)
        ax.plot(at, middle, mark, color=colour, ms=5, label=", ".join(row[0].choices.values()) or None)
        plotted.append(levels)
    least, most = float(np.nanmin(plotted)), float(np.nanmax(plotted))
    if least > 0 and most > 30 * least:
        ax.set_yscale("log")
    ax.set(xlabel="year", ylabel=answer.result.unit or "value", xticks=years)
    ax.set_xticklabels([f"{year:.10g}" for year in years.round(2)])
    if len(rows) > 1:
        ax.legend(frameon=False)


def _plot_shares(answer: Answer, ax: Axes) -> None:
    shares = answer.shares.to_series()
    if len(shares) > MAX_BARS and isinstance(answer.result, FirstAnswer) and (row := answer.result.sentence_row):
        from forecast.report.headline import Labels, contestant

        # what the sentence says: rivals pooled by their weights, and a range over those that have none
        called = Labels(answer.run)
        labels = [textwrap.shorten(contestant(answer.run, n, called), 60, placeholder=" …") for n in row.first]
        labels += [fill("several_at_once"), fill("none_of_them")]
        low, high = np.array([*row.first.values(), row.together, row.none]).T
        places = range(len(labels))
        ax.barh(places, high[::-1], color=plot_style.COLOURS[0], alpha=0.35)
        ax.barh(places, low[::-1], color=plot_style.COLOURS[0])
        ax.set_yticks(places, labels[::-1])
    else:
        shown = shares.iloc[:MAX_BARS]
        labels = [", ".join(map(str, key)) if isinstance(key, tuple) else str(key) for key in shown.index]
        ax.barh(labels[::-1], shown.to_numpy()[::-1], color=plot_style.COLOURS[0])
        if len(shares) > MAX_BARS:
            ax.set_ylabel(f"the first {MAX_BARS} of {len(shares)}")
    ax.set(xlim=(0, 1), xlabel="probability")
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")


def page(answer: Answer) -> str:
    """Write an answer on one page: the sentence, the quantiles, what moves it, warnings, and how to repeat it."""
    from forecast.report.result_data import newest_data

    parts = [textwrap.fill(answer.sentence, PAGE_WIDTH), "", *_quantile_lines(answer)]
    if answer.kind in ("when", "value"):
        moves = answer.sensitivity()
        drivers = moves[(moves["first"] >= MIN_DRIVER_SHARE) & (moves["kind"] != "constant")]
        parts += ["", "What moves it (the share of its variance that each explains alone)", ""]
        parts += [f"  {share:6.1%}  {name}" for name, share in drivers["first"].items()] or [
            "  nothing: it is the same in every world"
        ]
        parts += ["", *textwrap.wrap(moves.attrs["note"], PAGE_WIDTH)] if "note" in moves.attrs else []
    warning_lines = [line for text in answer.run.warnings for line in textwrap.wrap(f"warning: {text}", PAGE_WIDTH)]
    parts += ["", *warning_lines] if warning_lines else []
    ages = newest_data(answer.run)
    parts += ["", *textwrap.wrap(ages, PAGE_WIDTH)] if ages else []
    parts += [
        "",
        f"{answer.run.settings.draws:,} worlds, seed {answer.run.settings.seed}",
        "",
        *scenario_text(answer).splitlines(),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _quantile_lines(answer: Answer) -> list[str]:
    """Write the quantiles as rows, a column each; or the shares."""
    if answer.kind in ("first", "rank"):
        return [f"  {share:6.1%}  {event}" for event, share in answer.shares.to_series().items()]
    result, dated = answer.result, answer.kind == "when"
    at = result.at if isinstance(result, ValueAnswer) else [result]
    form = (lambda x: "never" if np.isposinf(x) else f"{x:.1f}") if dated else (lambda x: f"{x:.4g}")
    rows = [["", *(f"{q:.0%}" for q in QUANTILES), *(["already", "never"] if dated else [])]]
    for each in at:
        date = [each.date[:10]] if isinstance(each, ValueAnswer) else []
        for row in each.side_by_side:
            found = row.distribution
            label = ", ".join([*date, *row.choices.values()]) or _question_title(answer)
            cells = ["failed"] * 5 if found is None else [*map(form, found.quantiles)]
            masses = [] if found is None or not dated else [f"{found.already:.1%}", f"{found.never:.1%}"]
            rows.append([label, *cells, *(masses or [""] * (len(rows[0]) - 6))])
    rows = [[printable(row[0], 40), *row[1:]] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]


def scenario_text(answer: Answer) -> str:
    """Return the scenario as a file has it, or why no file can hold it."""
    try:
        return answer.scenario.to_toml()
    except ScenarioError as error:
        return f"# no file holds the scenario: {error}\n"
