"""The tables of the catalogue: a row for every record with its title, unit, source and figure, and a search box.

Figures are drawn when the page is built, from the records themselves: a law along its first variable, a model that
needs nothing else over time or as a distribution, a table as its numbers along its dates.
"""

from __future__ import annotations

import html
import math
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.util import logging

logger = logging.getLogger(__name__)

#: Of a figure, in pixels; worlds of a distribution, and the years of a trend.
WIDE, HIGH, DRAWS, YEARS = 120, 36, 256, (2026, 2036)
HEADS = {
    "law": ("law", "what it says", "gives", "its source", "along its first variable"),
    "model": ("model", "what it gives", "unit", "its source", "2026 to 2036, or its distribution"),
    "table": ("table", "what it holds", "", "its source", "its numbers"),
    "scenario": ("scenario", "what it asks", "", "its source", ""),
}


class CatalogueTable(Directive):
    """Every record of a kind as a table that can be searched."""

    required_arguments = 1
    has_content = True  # ignored: MyST wants to be able to pass it
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        from forecast.contract.registry import get_registry

        kind = self.arguments[0]
        if kind not in HEADS:
            raise self.error(f"catalogue: expected one of {', '.join(HEADS)}, got {kind}")
        records = get_registry().records(kind)
        used = [place for place, head in enumerate(HEADS[kind]) if head]
        head = "".join(f'<th scope="col">{HEADS[kind][place]}</th>' for place in used)
        rows = []
        for record in records:
            cells = (_name(record), _text(record.spec.title), _text(_unit(record)), _text(record.spec.reference), "")
            cells = (*cells[:4], figure(record) if HEADS[kind][4] else "")
            rows.append(f"<tr>{''.join(f'<td>{cells[place]}</td>' for place in used)}</tr>")
        text = (
            f'<label class="catalogue-search">Search {len(records)} {kind}s: <input type="search"></label>'
            f'<table class="catalogue"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
        )
        return [nodes.raw("", text, format="html")]


def _text(said: str) -> str:
    return html.escape(said if len(said) <= 160 else f"{said[:159].rstrip()}…")


def _name(record: Any) -> str:
    """Return the name, with a link to the page of its plugin where there is one."""
    plugin, _, bare = record.full_name.partition("/")
    page = Path(__file__).parent.parent / "plugins" / f"{plugin}.md"
    shown = f"<code>{html.escape(bare)}</code>"
    where = f'<a href="../plugins/{plugin}.html">{html.escape(plugin)}</a>' if page.exists() else html.escape(plugin)
    return f"{shown}<br>{where}"


def _unit(record: Any) -> str:
    return getattr(record.spec, "unit", "")


# --- Figures ----------------------------------------------------------------------------------------------------------


def figure(record: Any) -> str:
    """Return a small figure as SVG; empty where there is nothing to draw without asking for more."""
    from forecast.errors import ForecastError

    draw = {"law": _law, "model": _model, "table": _table}[record.spec.kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return draw(record)
        except ForecastError as problem:  # it needs other quantities, or data that are not here
            logger.debug("no figure of %s: %s", record.full_name, problem)
            return ""


def _law(record: Any) -> str:
    import forecast

    spec = record.spec
    given = dict(spec.example) or dict(next(iter(spec.published)).parameters if spec.published else {})
    if not spec.domain or not given or next(iter(spec.variables)) not in spec.domain:
        return ""
    first = next(iter(spec.variables))
    low, high = spec.domain[first]
    along = np.geomspace(low, high, 60) if low > 0 and high > 10 * low else np.linspace(low, high, 60)
    at = {first: along}
    for name, (least, most) in spec.domain.items():
        if name != first:
            at[name] = np.full(60, math.sqrt(least * most) if least > 0 else (least + most) / 2)
    if set(at) != set(spec.variables):
        return ""
    law = forecast.law(record.full_name)
    return _svg([(along, np.asarray(law.value({name: given[name] for name in law.parameters}, **at), dtype=float))])


def _model(record: Any) -> str:
    import forecast
    from forecast.contract.specs import TrendSpec

    model = {"model": record.full_name}
    if isinstance(record.spec, TrendSpec):
        model["shape"] = "trends/exponential"  # the pool of shapes takes seconds each
    start, until = YEARS
    run = forecast.project({"start": start, "until": until, "quantities": {"x": model}}, draws=DRAWS)
    levels = run["projection"]["x"].transpose("time", "draw").values
    if np.ptp(levels, axis=0).max() > 0:
        low, middle, high = np.nanquantile(levels, [0.05, 0.5, 0.95], axis=1)
        return _svg([(np.arange(len(middle)), middle)], band=(low, high))
    drawn = levels[0][np.isfinite(levels[0])]
    if not drawn.size or np.ptp(drawn) == 0:
        return ""
    scaled = np.log(drawn) if drawn.min() > 0 and drawn.max() > 10 * drawn.min() else drawn
    counts, edges = np.histogram(scaled, bins=20)
    return _svg([(np.repeat(edges, 2), np.concatenate([[0], np.repeat(counts, 2), [0]]))])


def _table(record: Any) -> str:
    import forecast

    held = forecast.table(record.full_name)
    dates = next((held[n].values for n in held.data_vars if np.issubdtype(held[n].dtype, np.datetime64)), None)
    for name in held.data_vars:
        values = held[name].values
        if dates is None or values.dtype.kind != "f" or values.shape != dates.shape:
            continue
        known = np.isfinite(values) & ~np.isnat(dates)
        if known.sum() >= 5:
            return _svg([(dates[known].astype("datetime64[D]").astype(float), values[known])], points=True)
    return ""


def _svg(lines: Sequence[tuple[Any, Any]], *, band: tuple[Any, Any] | None = None, points: bool = False) -> str:
    """Draw lines or points into a box without axes; up is more, by powers of ten where values span many."""
    (x, y) = lines[0]
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    every = np.concatenate([y, *band]) if band else y
    every = every[np.isfinite(every)]
    if not every.size:
        return ""
    log = every.min() > 0 and every.max() > 10 * every.min()
    rising = (lambda v: np.log(v)) if log else (lambda v: v)
    low, high = float(np.min(rising(every))), float(np.max(rising(every)))
    ends = (math.log(x.min()), math.log(x.max())) if x.min() > 0 and x.max() > 10 * x.min() else (x.min(), x.max())
    right = np.log(x) if ends[0] != x.min() else x

    def place(values: Any) -> Iterable[str]:
        across = 2 + (WIDE - 4) * (right - ends[0]) / ((ends[1] - ends[0]) or 1)
        up = HIGH - 2 - (HIGH - 4) * (rising(np.asarray(values, dtype=float)) - low) / ((high - low) or 1)
        return [f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True) if math.isfinite(a) and math.isfinite(b)]

    parts = []
    if band:
        there = " ".join([*place(band[0]), *reversed(list(place(band[1])))])
        parts.append(f'<polygon points="{there}" fill="currentColor" opacity="0.2"></polygon>')
    if points:
        dots = (pair.split(",") for pair in list(place(y))[:200])
        parts += [f'<circle cx="{a}" cy="{b}" r="1.2" fill="currentColor"></circle>' for a, b in dots]
    else:
        parts.append(f'<polyline points="{" ".join(place(y))}" fill="none" stroke="currentColor"></polyline>')
    return f'<svg width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" aria-hidden="true">{"".join(parts)}</svg>'
