"""Quantities step by step, as text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from forecast.cli import render
from forecast.errors import printable

__all__ = ["show_quantities"]

_PERCENT = {"p05": "5 %", "p25": "25 %", "p50": "50 %", "p75": "75 %", "p95": "95 %"}


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
    if all(_still(row) for row in rows):
        heads, figures = _columns([{q: row[q][0] for q in _PERCENT} for row in rows])
        render.table(
            [*rows[0]["choices"], *heads], [[*r["choices"].values(), *f] for r, f in zip(rows, figures, strict=True)]
        )
    else:
        lines = []
        for row in rows:
            steps = len(row["time"])
            for i in [0] if _still(row) else sorted({*range(0, steps, every), steps - 1}):
                when = "any" if _still(row) else _when(row, i)
                lines.append([*row["choices"].values(), when, *(_figure(row[q][i]) for q in _PERCENT)])
        render.table([*rows[0]["choices"], "time", *_PERCENT.values()], lines)
    render.write()


def _head(row: dict[str, Any]) -> str:
    return printable(f"{row['name']} [{row['unit']}]" if row["unit"] else row["name"])


def _when(row: dict[str, Any], step: int) -> str:
    stamp = str(row["time"][step][:7])
    return stamp.removesuffix("-01") if _yearly(row) else stamp


def _stride(steps: int) -> int:
    """Return a round number of steps between those shown, so that they are about a dozen."""
    return next((n for n in (1, 2, 5, 10, 20, 50, 100) if steps <= 13 * n), 250)


def _still(row: dict[str, Any]) -> bool:
    """Tell whether a quantity does not change with time."""
    return all(len(set(row[q])) == 1 for q in _PERCENT)


def _columns(quantiles: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return heads and figures: a column a quantile, or a single one where no figure is uncertain."""
    if all(len({row[q] for q in _PERCENT}) == 1 for row in quantiles):
        return ["value"], [[_figure(row["p50"])] for row in quantiles]
    return [*_PERCENT.values()], [[_figure(row[q]) for q in _PERCENT] for row in quantiles]


def _yearly(row: dict[str, Any]) -> bool:
    return all(stamp.endswith("-01-01") for stamp in row["time"][:3])


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
