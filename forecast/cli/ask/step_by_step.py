"""Quantities step by step, as text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from forecast.base.quantiles import QUANTILE_NAMES, QUANTILES
from forecast.cli import render
from forecast.errors import printable
from forecast.report.words.number_text import format_or_dash

__all__ = ["show_quantities"]

#: Heads of the columns of the quantiles.
_PERCENT_LABELS = [f"{q:.0%}".replace("%", " %") for q in QUANTILES]


def show_quantities(rows: Sequence[dict[str, Any]], only: Collection[str], every: int | None = None) -> None:
    """Show these quantities step by step, in every combination of choices."""
    for name, own in _by_name(rows).items():
        if name in only:
            _show_quantity(own, every or _stride(len(own[0]["time"])))


def _by_name(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    rows_of: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        rows_of.setdefault(row["name"], []).append(row)
    return rows_of


def _show_quantity(rows: Sequence[dict[str, Any]], every: int) -> None:
    """Show quantiles step by step; a quantity that does not change is shown once."""
    render.write(_head(rows[0]))
    if all(_is_constant(row) for row in rows):
        heads, figures = _quantile_columns([{q: row[q][0] for q in QUANTILE_NAMES} for row in rows])
        render.write_table(
            [*rows[0]["choices"], *heads], [[*r["choices"].values(), *f] for r, f in zip(rows, figures, strict=True)]
        )
    else:
        lines = []
        for row in rows:
            steps = len(row["time"])
            for i in [0] if _is_constant(row) else sorted({*range(0, steps, every), steps - 1}):
                when = "any" if _is_constant(row) else _format_step(row, i)
                lines.append([*row["choices"].values(), when, *(format_or_dash(row[q][i], 3) for q in QUANTILE_NAMES)])
        render.write_table([*rows[0]["choices"], "time", *_PERCENT_LABELS], lines)
    render.write()


def _head(row: dict[str, Any]) -> str:
    return printable(f"{row['name']} [{row['unit']}]" if row["unit"] else row["name"])


def _format_step(row: dict[str, Any], step: int) -> str:
    stamp = str(row["time"][step][:7])
    return stamp.removesuffix("-01") if _yearly(row) else stamp


def _stride(steps: int) -> int:
    """Return a round number of steps between those shown, so that they are about a dozen."""
    return next((n for n in (1, 2, 5, 10, 20, 50, 100) if steps <= 13 * n), 250)


def _is_constant(row: dict[str, Any]) -> bool:
    """Tell whether a quantity does not change with time."""
    return all(len(set(row[q])) == 1 for q in QUANTILE_NAMES)


def _quantile_columns(quantiles: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return heads and figures: a column a quantile, or a single one where no figure is uncertain."""
    if all(len({row[q] for q in QUANTILE_NAMES}) == 1 for row in quantiles):
        return ["value"], [[format_or_dash(row["p50"], 3)] for row in quantiles]
    return [*_PERCENT_LABELS], [[format_or_dash(row[q], 3) for q in QUANTILE_NAMES] for row in quantiles]


def _yearly(row: dict[str, Any]) -> bool:
    return all(stamp.endswith("-01-01") for stamp in row["time"][:3])
