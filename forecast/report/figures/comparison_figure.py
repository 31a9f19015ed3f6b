"""Rivals beside one another: laws that were compared on the same data, and models that were tested on the past."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from forecast.base import plot_style
from forecast.base.json_text import nan_if_none
from forecast.errors import printable

#: So many rivals are drawn, the best ones.
_MAX_RIVALS = 24


class _Measure(NamedTuple):
    """One panel: a number of each rival, NaN where it has none."""

    name: str
    values: Sequence[float]
    reference: float | None = None


def plot_comparison(result: Mapping[str, Any], path: str | os.PathLike[str], *, width: str = "page") -> Path:
    """Draw a comparison of laws: what each explains less than the best, and its error of forecasts by rollout.

    Parameters
    ----------
    result : mapping
        ``laws``, each with ``law``, ``aicc`` and ``rollout`` (None where there is none), and ``headline``.
    path : path-like
    width : {"page", "column"}
    """
    rows = result["laws"][:_MAX_RIVALS]
    scores = [nan_if_none(row["aicc"]) for row in rows]
    least = min((s for s in scores if not math.isnan(s)), default=math.nan)
    measures = [
        _Measure("AICc above the best", [score - least for score in scores]),
        _Measure("error of extrapolation", [nan_if_none(row["rollout"]) for row in rows]),
    ]
    return _plot_panels(result["headline"], [row["law"] for row in rows], measures, path, width)


def plot_backtest(result: Mapping[str, Any], path: str | os.PathLike[str], *, width: str = "page") -> Path:
    """Plot a backtest: the score of each model, and the coverage of its 90 % intervals.

    Parameters
    ----------
    result : mapping
        ``models``, each with ``model``, ``weighted-interval`` and ``coverage``, and ``headline``.
    path : path-like
    width : {"page", "column"}
    """
    rows = result["models"][:_MAX_RIVALS]
    measures = [
        _Measure("score (lower is better)", [nan_if_none(row.get("weighted-interval")) for row in rows]),
        _Measure("90 % intervals that held", [nan_if_none(row.get("coverage")) for row in rows], 0.9),
    ]
    return _plot_panels(result["headline"], [row["model"] for row in rows], measures, path, width)


def _plot_panels(
    headline: str, names: Sequence[str], measures: Sequence[_Measure], path: str | os.PathLike[str], width: str
) -> Path:
    plot_style.check_format(path)
    across = 72 * plot_style.WIDTH_INCHES[width]
    labels = [plot_style.wrap_text(printable(name, 80), across / 3, 7.0) for name in names]
    title = plot_style.wrap_text(printable(headline, 300), across - 10, 8.0)
    with plot_style.style():
        figure = plot_style.sheet(
            plot_style.WIDTH_INCHES[width], 0.24 * max(len(names), 2) + 1.0 + 0.17 * title.count("\n")
        )
        axes = figure.subplots(1, len(measures), sharey=True)
        for axis, measure in zip(axes, measures, strict=True):
            shown = [value for value in measure.values if not math.isnan(value)]
            most = max([*shown, measure.reference or 0.0, 1e-300])
            for place, value in enumerate(measure.values):
                if math.isnan(value):
                    axis.text(0.02, place, "failed", transform=axis.get_yaxis_transform(), va="center", fontsize=6.5)
                    continue
                axis.plot([0.0, value], [place, place], color=plot_style.GREY, linewidth=1.0)
                axis.plot([value], [place], "o", color=plot_style.COLOURS[0], ms=4.4, clip_on=False)
                axis.text(1.02, place, f"{value:.3g}", transform=axis.get_yaxis_transform(), va="center", fontsize=6.5)
            if measure.reference is not None:
                axis.axvline(measure.reference, color=plot_style.COLOURS[1], linestyle="--", linewidth=1.1)
            axis.set(xlim=(0.0, 1.06 * most), xlabel=measure.name, ylim=(len(names) - 0.4, -0.6))
            axis.xaxis.set_major_locator(plot_style.few_ticks(axis.xaxis))
            axis.xaxis.set_major_formatter(lambda value, _: plot_style.format_tick(value))
            axis.grid(axis="x", color="#dddddd", linewidth=0.5)
            axis.tick_params(axis="y", length=0)
        axes[0].set_yticks(range(len(names)), labels)
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
        return plot_style.save_figure(figure, path)
