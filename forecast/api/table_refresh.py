"""Tables and other editions of them: what changed, and how far the forecasts that rest on them move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forecast.contract.registry import get_registry
from forecast.evaluation import table_changes
from forecast.evaluation.table_changes import AnswerLabel, Refresh
from forecast.projection.result import Projection
from forecast.report import result_data


def refresh(
    *names: str,
    files: Mapping[str, str | Path] | Iterable[tuple[str, str]] = (),
    editions: Iterable[tuple[str, str, str]] = (),
    scenarios: Sequence[str] = (),
    draws: int = 2048,
    seed: int = 0,
    progress: table_changes.Progress | None = None,
) -> Refresh:
    """Fetch described tables anew, or try other editions, and say what changed and how far every forecast moves by it.

    Parameters
    ----------
    *names : str
        Tables that are downloaded; by default all of them. ``"epoch-models@earlier"`` fetches nothing: it is compared
        with what it was.
    files : mapping of str to path, optional
        Files to try in the place of tables, shipped ones too: ``{"supercomputers": "mine.csv"}``.
    editions : iterable of (str, str, str), optional
        A table, one of the editions that it holds, and the one to try in its place:
        ``("capability-editions", "2026-08", "2026-07")``.
    scenarios : sequence of str, optional
        Those to run; by default all that rest on a table that changed.
    draws, seed : int
        Of every run.
    progress : callable, optional
        Opens a progress bar.

    Returns
    -------
    Refresh
    """
    registry = get_registry()
    pairs = [(name, str(path)) for name, path in (files.items() if isinstance(files, Mapping) else files)]
    named = [(each, each.lower().endswith(".toml")) for each in scenarios]
    chosen = [each if is_file else registry.find("scenario", each).full_name for each, is_file in named]
    requests = table_changes.table_requests(names, pairs, editions)
    options: dict[str, Any] = {"draws": draws, "seed": seed} | ({} if progress is None else {"progress": progress})
    every = chosen or registry.names("scenario", parts=False)
    return table_changes.compare_editions(requests, every, read_answers=_labelled_answers_in_order, **options)


LabelledAnswer = tuple[AnswerLabel, Mapping[str, Any]]
_FIGURE_KEYS = ("p05", "p50", "p95", "never", "already", "best", "first")


def _labelled_answers_in_order(run: Projection) -> list[LabelledAnswer]:
    """Return the answers of a projection, its headline question first, and pooled rivals before each of them."""
    opens = run.opening
    return sorted(_labelled_answers(run), key=lambda answer: opens is None or answer[0].name != opens.name)


def _labelled_answers(run: Projection) -> Iterator[LabelledAnswer]:
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
