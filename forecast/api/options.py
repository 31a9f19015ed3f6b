"""The keywords with which questions are asked, so that type checkers know each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from forecast.errors import UnknownNameError

__all__ = ["GRID", "RUN", "STATED", "AskOptions", "GridOptions", "RunOptions", "check_keywords"]

#: What a run takes beside its scenario; its time grid; and what is stated of a scenario as a whole, as in TOML.
RUN = ("draws", "seed", "with_", "as_of", "workers", "progress")
GRID = ("until", "start", "step")
STATED = ("title", *GRID, "choices", "correlations", "update", "what_if")


class RunOptions(TypedDict, total=False):
    """What a run takes beside its scenario; see `forecast.project`."""

    draws: int
    seed: int | None
    with_: Mapping[str, object]
    as_of: float | None
    workers: int
    progress: Callable[[int, int], None] | None


class GridOptions(RunOptions, total=False):
    """The same, with the dates of the steps."""

    until: float
    start: float
    step: float | str


class AskOptions(GridOptions, total=False):
    """The same, with what is stated of a scenario as a whole and of a question."""

    title: str
    choices: Mapping[str, Any]
    correlations: Sequence[Mapping[str, Any]]
    update: Mapping[str, Any]
    what_if: Sequence[Mapping[str, Any]]
    dates: Sequence[float | str]
    resolves: str


def check_keywords(keywords: Mapping[str, object], valid: Sequence[str], where: str) -> None:
    """Refuse a keyword that does not exist, with the nearest that does.

    Raises
    ------
    UnknownNameError
    """
    for name in keywords:
        if name not in valid:
            raise UnknownNameError("option", name, valid, where=where)
