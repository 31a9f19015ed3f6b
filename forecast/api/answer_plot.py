"""An answer as a figure, and on one page of text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from forecast.base import plot_style
from forecast.base.lazy import xr
from forecast.errors import ScenarioError, UsageError, printable
from forecast.report.plain_data import attribute, combinations

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.api.answer import Answer

__all__ = ["draw", "draw_fan", "draw_tornado", "page", "scenario_text"]

#: More combinations of choices than this are not drawn: nobody could tell them apart.
MOST_LINES = 7
WIDTH = 100
#: A driver that explains less is not worth a line.
MIN_SHARE = 0.02


def draw(answer: Answer, ax: Axes | None = None) -> Axes:
    """Draw an answer: how likely it is by each date, values with their intervals, or shares as bars."""
    with plot_style.style():
        ax = plot_style.new_axes() if ax is None else ax
        {"when": _dates, "value": _values}.get(answer.kind, _shares)(answer, ax)
        title = attribute(answer.run, "title") or _asked(answer)
        ax.set_title(textwrap.fill(printable(title, 200), 70), loc="left")
    return ax


def draw_fan(answer: Answer, ax: Axes | None = None) -> Axes:
    """Draw the trajectories behind an answer."""
    from forecast.report.figures import fan_chart

    made = fan_chart.fans(answer.run, answer.asked, answer.kind, 1)
    if not made:
        raise UsageError(f"'{printable(answer.asked, 60)}': nothing to draw: what is asked is no number over time")
    with plot_style.style():
        ax = plot_style.new_axes() if ax is None else ax
        label = fan_chart.draw(ax, made[0], span=made[0].span, window=made[0].window(made[0].span))
        ax.set_title("")
        plot_style.legend(ax)
        plot_style.laid_out(ax)
        label()
    return ax


def draw_tornado(answer: Answer, ax: Axes | None = None) -> Axes:
    """Draw what moves an answer."""
    from forecast.report.figures import tornado

    made = tornado.tornado(answer.run, answer.asked)
    if made is None:
        raise UsageError(f"'{printable(answer.asked, 60)}': nothing to draw: nothing moves it")
    with plot_style.style():
        ax = plot_style.new_axes() if ax is None else ax
        tornado.draw(ax, made)
        ax.set_title("")
        plot_style.legend(ax)
    return ax


def _asked(answer: Answer) -> str:
    """Return what was asked, in its own words where it has some."""
    stated = answer.scenario.stated["questions"][answer.asked]
    told = stated.get("title") or next(
        str(stated[key]) for key in ("when", "value", "growth", "first", "rank") if key in stated
    )
    return f"{told}, given {' and '.join(each.text for each in answer.conditions)}" if answer.conditions else told


def _pooled(answer: Answer) -> tuple[xr.DataArray, xr.DataArray]:
    """Return dates and weights over rivals pooled by their stated weights; others stay side by side."""
    from forecast.projection.answers.pooling import pooled

    dates = answer.dates
    weights = answer.weights.broadcast_like(dates).transpose(*dates.dims)
    rivals = attribute(answer.run, "rivals") if "rivals" in answer.run.attrs else {}
    seed = attribute(answer.run, "seed")
    return pooled(dates, rivals, seed=seed), pooled(weights, rivals, seed=seed)


def _dates(answer: Answer, ax: Axes) -> None:

    from forecast.base.dates import decimal_year

    time = decimal_year(answer.run["projection"].to_dataset()["time"].values)
    dates, weights = _pooled(answer)
    lines = list(combinations(dates, ("draw",)))
    for (chosen, each), colour, line in zip(lines, plot_style.COLOURS, plot_style.LINES, strict=False):
        counts = weights.sel(chosen).values
        order = np.argsort(each.values, kind="stable")
        years, reached = each.values[order], np.cumsum(counts[order]) / np.nansum(counts)
        shown = np.isfinite(years)
        years, reached = years[shown], reached[shown]
        # the last probability holds up to the last step: the rest is never
        top = float(reached[-1]) if len(reached) else 0.0
        label = f"{', '.join(chosen.values()) or 'by the date'} (never: {max(1 - top, 0.0):.0%})"
        at, share = [time[0], *years, time[-1]], [0.0, *reached, top]
        ax.step(at, share, where="post", color=colour, linestyle=line, lw=1.8, label=label, clip_on=False)
        if top >= 0.5:
            middle = float(years[reached >= 0.5][0])
            ax.plot([middle], [0.5], "o", color=colour, ms=5, clip_on=False)
            if len(lines) == 1:
                told = f"median {middle:.1f}"
                ax.annotate(told, (middle, 0.5), xytext=(8, -4), textcoords="offset points", fontsize=8)
    ax.set(xlim=(time[0], time[-1]), ylim=(0, 1), ylabel="probability that it is so", xlabel="year")
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    left = f"the first {MOST_LINES} of {len(lines)}" if len(lines) > MOST_LINES else None
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), title=left)


def _values(answer: Answer, ax: Axes) -> None:

    from forecast.base.dates import decimal_year
    from forecast.projection.crossing import QUANTILES

    levels = answer.quantiles(*QUANTILES.values())
    years = decimal_year(levels["date"].values)
    rows = list(combinations(levels, ("quantile", "date")))[:MOST_LINES]
    width = 0.12 * (np.diff(years).min() if len(years) > 1 else 1.0)
    for place, ((chosen, each), colour, mark) in enumerate(
        zip(rows, plot_style.COLOURS, plot_style.MARKS, strict=False)
    ):
        low, lower, middle, upper, high = each.transpose("quantile", "date").values
        at = years + width * (place - (len(rows) - 1) / 2)
        ax.vlines(at, low, high, color=colour, lw=1.5)
        ax.vlines(at, lower, upper, color=colour, lw=5, alpha=0.5)
        ax.plot(at, middle, mark, color=colour, ms=5, label=", ".join(chosen.values()) or None)
    if float(levels.min()) > 0 and float(levels.max()) > 30 * float(levels.min()):
        ax.set_yscale("log")
    ax.set(xlabel="year", ylabel=answer.values.attrs["units"] or "value", xticks=years)
    ax.set_xticklabels([f"{year:.10g}" for year in years.round(2)])
    if len(rows) > 1:
        ax.legend(frameon=False)


def _shares(answer: Answer, ax: Axes) -> None:

    shares = answer.shares.to_series()
    labels = [", ".join(map(str, key)) if isinstance(key, tuple) else str(key) for key in shares.index]
    ax.barh(labels[::-1], shares.to_numpy()[::-1], color=plot_style.COLOURS[0])
    ax.set(xlim=(0, 1), xlabel="probability")
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")


def page(answer: Answer) -> str:
    """Write an answer on one page: the sentence, the quantiles, what moves it, warnings, and how to repeat it."""
    from forecast.report.result_data import data_ages, warnings

    parts = [textwrap.fill(answer.sentence, WIDTH), "", *_table(answer)]
    if answer.kind in ("when", "value"):
        moves = answer.sensitivity()
        told = moves[(moves["first"] >= MIN_SHARE) & (moves["kind"] != "constant")]
        parts += ["", "What moves it (the share of its variance that each explains alone)", ""]
        parts += [f"  {share:6.1%}  {name}" for name, share in told["first"].items()] or [
            "  nothing: it is the same in every world"
        ]
        parts += ["", *textwrap.wrap(moves.attrs["note"], WIDTH)] if "note" in moves.attrs else []
    told_of = [line for text in warnings(answer.run) for line in textwrap.wrap(f"warning: {text}", WIDTH)]
    parts += ["", *told_of] if told_of else []
    ages = data_ages(answer.run)
    parts += ["", *textwrap.wrap(ages, WIDTH)] if ages else []
    parts += [
        "",
        f"{attribute(answer.run, 'draws'):,} worlds, seed {attribute(answer.run, 'seed')}",
        "",
        *scenario_text(answer).splitlines(),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _table(answer: Answer) -> list[str]:
    """Write the quantiles as rows, a column each; or the shares."""
    if answer.kind in ("first", "rank"):
        return [f"  {share:6.1%}  {event}" for event, share in answer.shares.to_series().items()]
    levels = answer.quantiles()
    form = (lambda x: "never" if np.isposinf(x) else f"{x:.1f}") if answer.kind == "when" else (lambda x: f"{x:.4g}")
    rows = [["", *(f"{float(q):.0%}" for q in levels["quantile"].values)]]
    rows[0] += ["already", "never"] if answer.kind == "when" else []
    for chosen, each in combinations(levels, ("quantile",)):
        label = ", ".join(str(v).removesuffix(" 00:00:00").partition("T")[0] for v in chosen.values())
        row = [label or _asked(answer), *map(form, each.values)]
        if answer.kind == "when":
            masses = (answer.already, answer.never)
            row += [f"{float(m.sel(chosen) if chosen else m):.1%}" for m in masses]
        rows.append(row)
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
