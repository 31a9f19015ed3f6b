"""The keywords of questions, so that type checkers know each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from forecast.errors import UnknownNameError
from forecast.projection.source_tables import OwnRows


class RunOptions(TypedDict, total=False):
    """The options of a run beside its scenario; see `forecast.project`."""

    draws: int
    seed: int | None
    with_: Mapping[str, object]
    as_of: float | str | None
    data: OwnRows | None
    sweep: Mapping[str, Any]
    keep: int
    workers: int
    client: Any
    progress: Callable[[int, int], None] | None


class GridOptions(TypedDict, total=False):
    """The dates of the steps."""

    until: float | str
    start: float | str
    step: float | str


class ScenarioAskOptions(RunOptions, GridOptions, total=False):
    """The options with which a question of a scenario is asked."""

    preset: str


class ScenarioOptions(GridOptions, total=False):
    """What is stated of a scenario as a whole, as in TOML."""

    title: str
    choices: Mapping[str, Any]
    correlations: Sequence[Mapping[str, Any]]
    what_if: Sequence[Mapping[str, Any]]


class SeriesOptions(TypedDict, total=False):
    """The options with which a column of a file is read."""

    x: str
    where: Mapping[str, str]
    reading: Mapping[str, str]
    scale: str
    floor: float
    ceiling: float


class LineOptions(SeriesOptions, total=False):
    """The options of a question in one line."""

    model: str
    compare: bool


class AskOptions(ScenarioOptions, ScenarioAskOptions, LineOptions, total=False):
    """All of them, with the keys of a question."""

    dates: Sequence[float | str]
    resolves: str
    update: Mapping[str, Any]  # of the scenario; pyright takes an inherited key of this name for the method of a dict


RUN_KEYS, GRID_KEYS, SERIES_KEYS = (tuple(each.__annotations__) for each in (RunOptions, GridOptions, SeriesOptions))
LINE_KEYS = ("dates", *SERIES_KEYS, "model", "compare")
SCENARIO_KEYS = (*ScenarioOptions.__annotations__, "update")


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


#: Options of the command line that Python calls otherwise.
_COMMAND_WORDS = {"at": "dates", "set": "with_"}


def check_keywords(keywords: Mapping[str, object], valid: Sequence[str], where: str) -> None:
    """Raise if a keyword does not exist, with the nearest that does.

    Raises
    ------
    UnknownNameError
    """
    for name in keywords:
        if name not in valid:
            own = _COMMAND_WORDS.get(name)
            note = f"the command's --{name} is '{own}' in Python" if own in valid else ""
            raise UnknownNameError("option", name, valid, where=where, note=note)
