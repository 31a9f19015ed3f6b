"""The keywords of questions, so that type checkers know each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from forecast.errors import UnknownNameError
from forecast.projection.source_tables import OwnRows

__all__ = [
    "GRID_KEYS", "RUN_KEYS", "SCENARIO_KEYS", "AskOptions", "ConstraintKeys", "DistributionKeys", "GridOptions",
    "RunOptions", "check_keywords",
]  # fmt: skip

#: The options of a run beside its scenario; its time grid; and what is stated of a scenario as a whole, as in TOML.
RUN_KEYS = ("draws", "seed", "with_", "as_of", "data", "workers", "progress")
GRID_KEYS = ("until", "start", "step")
SCENARIO_KEYS = ("title", *GRID_KEYS, "choices", "correlations", "update", "what_if")


class RunOptions(TypedDict, total=False):
    """The options of a run; see `forecast.project`."""

    draws: int
    seed: int | None
    with_: Mapping[str, object]
    as_of: float | str | None
    data: OwnRows
    workers: int
    progress: Callable[[int, int], None] | None


class GridOptions(RunOptions, total=False):
    """The same, with the dates of the steps and a preset of the scenario."""

    until: float | str
    start: float | str
    step: float | str
    preset: str


class AskOptions(GridOptions, total=False):
    """The same, with the keys of a scenario as a whole and of a question."""

    title: str
    choices: Mapping[str, Any]
    correlations: Sequence[Mapping[str, Any]]
    update: Mapping[str, Any]
    what_if: Sequence[Mapping[str, Any]]
    dates: Sequence[float | str]
    x: str
    where: Mapping[str, str]
    reading: Mapping[str, str]
    resolves: str


class DistributionKeys(TypedDict, total=False):
    """The forms of a distribution, as a scenario has them; other quantiles of two digits go into ``quantiles``."""

    value: float | str
    p01: float | str
    p05: float | str
    p10: float | str
    p25: float | str
    p50: float | str
    p75: float | str
    p90: float | str
    p95: float | str
    p99: float | str
    low: float | str
    mode: float | str
    high: float | str
    quantiles: Mapping[Any, float | str]
    normal: Sequence[float | str]
    lognormal: Sequence[float | str]
    uniform: Sequence[float | str]
    loguniform: Sequence[float | str]
    triangular: Sequence[float | str]
    width: float
    truncate: Sequence[float | str]


class ConstraintKeys(TypedDict, total=False):
    """The bounds of a quantity, as a scenario has them."""

    limit: object
    how: str
    sharpness: float
    at_least: object
    at_most: float
    keeps: str
    scale: str
    floor: float
    ceiling: float
    before: float
    unit: str
    lower: float


def check_keywords(keywords: Mapping[str, object], valid: Sequence[str], where: str) -> None:
    """Raise if a keyword does not exist, with the nearest that does.

    Raises
    ------
    UnknownNameError
    """
    for name in keywords:
        if name not in valid:
            raise UnknownNameError("option", name, valid, where=where)
