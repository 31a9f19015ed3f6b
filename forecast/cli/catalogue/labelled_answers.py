"""The answers of a projection, each with its label and the figures that are compared when a table changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from forecast.evaluation.table_changes import AnswerLabel

if TYPE_CHECKING:
    from forecast.projection.result import Projection

__all__ = ["labelled_answers"]

LabelledAnswer = tuple[AnswerLabel, Mapping[str, Any]]
_FIGURE_KEYS = ("p05", "p50", "p95", "never", "already", "best", "first")


def labelled_answers(run: Projection) -> list[LabelledAnswer]:
    """Return the answers of a projection, its headline question first, and pooled rivals before each of them."""
    opens = run.opening
    return sorted(_labelled_answers(run), key=lambda answer: opens is None or answer[0].name != opens.name)


def _labelled_answers(run: Projection) -> Iterator[LabelledAnswer]:
    from forecast.report import result_data

    for row in (*result_data.pooled_rows(run), *result_data.date_rows(run)):
        yield _labelled_answer(row, row["crossing"], row["when"], unit="date")
    for row in result_data.ranking_rows(run):
        best = max((entry for entry in row["order"] if entry["among"] > 0), key=lambda e: e["first"], default=None)
        figures = {} if best is None else {**best, "best": best["name"]}
        yield _labelled_answer(row, figures, f"the {row['best']} {row['rank']}", unit=row["unit"])
    for row in sorted(result_data.value_answers(run), key=lambda row: "weights" not in row):
        title = row.get("value") or f"growth of {row.get('growth')}"
        for entry in row["dates"]:
            yield _labelled_answer(row, entry, title, unit=row["unit"], at=entry["date"])
    for row in result_data.first_answers(run):
        for event, share in {**row["first"], "together": row["together"], "none": row["none"]}.items():
            yield _labelled_answer(row, {"first": share}, "what comes first", unit="", at=event)


def _labelled_answer(
    row: Mapping[str, Any], figures: Mapping[str, Any], title: str, *, unit: str, at: str = ""
) -> LabelledAnswer:
    label = AnswerLabel(name=row["name"], title=row["title"] or title, choices=row["choices"], at=at, unit=unit)
    return label, {name: figures[name] for name in _FIGURE_KEYS if name in figures}
