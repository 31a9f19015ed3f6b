"""Worlds that fail: where a quantity is no number, its world is left out of the answer, counted and reported.

What is computed from such a quantity fails in the same worlds. So that nothing else is disturbed by values that are no
numbers, a world that failed goes on with the values of another one of its block, and is taken out at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.base.dates import iso_date
from forecast.errors import DataError, FitError, ForecastError

#: A quantity answers as long as at most one world in so many fails.
MIN_DRAWS_PER_FAILURE = 1000


def is_too_many(failing: Any, worlds: float) -> Any:
    """Tell whether so many of the worlds fail that there is no answer.

    Examples
    --------
    >>> is_too_many(2, 2000), is_too_many(3, 2000)
    (False, True)
    """
    return failing * MIN_DRAWS_PER_FAILURE > worlds


def is_lack_of_data(error: ForecastError) -> bool:
    """Tell whether a model cannot be fitted because of what was known, and not because of how it is written."""
    return isinstance(error, (DataError, FitError))


@dataclass(frozen=True, eq=False)
class Failure:
    """What went wrong in some worlds of a block.

    Parameters
    ----------
    first : ndarray of int
        The step from which on each world fails, (draw,); negative where it does not.
    error : ForecastError
        What is said where too many fail.
    """

    first: IntArray
    error: ForecastError


def fill_failed_draws(values: Array, failing: BoolArray) -> Array:
    """Return values, (time, draw), in which worlds that fail have those of the first one that does not.

    Examples
    --------
    >>> fill_failed_draws(np.array([[np.nan, 2.0, 3.0]]), np.array([True, False, False])).tolist()
    [[2.0, 2.0, 3.0]]
    """
    filled = np.array(values)
    filled[:, failing] = filled[:, [int(failing.argmin())]]
    return filled


def failed_mask(faults: Iterable[Failure], worlds: int) -> BoolArray:
    """Tell which of the first worlds of a block fail, (worlds,)."""
    out = np.zeros(worlds, dtype=bool)
    for fault in faults:
        out |= fault.first[:worlds] >= 0
    return out


@dataclass(frozen=True)
class BlockSlice:
    """Some worlds of a batch.

    Parameters
    ----------
    first : int
        The number of the first, the first one of a block.
    worlds : int
        How many draws of the block the run needs; a block is always drawn in full.
    kept : slice
        Where those that are kept one by one stand in the batch; the others are only counted.
    """

    first: int
    worlds: int
    kept: slice[int, int, None]

    @property
    def n_stored(self) -> int:
        """How many are kept."""
        return self.kept.stop - self.kept.start


#: Computes something of one block under a name and a combination of choices: its value, and a mask of the draws that
#: fail; None if every draw fails.
Attempt = Callable[[str, tuple[str, ...], Callable[[], Any]], tuple[Any, BoolArray] | None]


@dataclass
class FailureCounts:
    """How many worlds fail, from which step on, and why in the first block in which any does."""

    worlds: int = 0
    first: int = 2**62
    block: int = 2**62
    error: ForecastError | None = None


@dataclass
class FailureLog:
    """How many worlds fail, by what failed and the combination of choices; blocks may report in any order."""

    tallies: dict[Any, FailureCounts] = field(default_factory=dict)

    def add(self, of: Any, faults: Iterable[Failure], block: int, worlds: int) -> BoolArray:
        """Count the failing ones of the first `worlds` of a block, and return which they are."""
        told = [fault for fault in faults if (fault.first[:worlds] >= 0).any()]
        out = failed_mask(told, worlds)
        if told:
            first = min(int(f.first[:worlds][f.first[:worlds] >= 0].min()) for f in told)
            self.tally(of, FailureCounts(int(out.sum()), first, block, told[0].error))
        return out

    def tally(self, of: Any, other: FailureCounts) -> None:
        """Add what was counted of one thing."""
        tally = self.tallies.setdefault(of, FailureCounts())
        tally.worlds += other.worlds
        tally.first = min(tally.first, other.first)
        if other.block < tally.block:
            tally.block, tally.error = other.block, other.error

    def exceeding(self, draws: int) -> Iterator[tuple[Any, int, ForecastError]]:
        """Walk what fails in too many worlds, with the first block in which it does, and why."""
        for of, tally in self.tallies.items():
            if tally.error is not None and is_too_many(tally.worlds, draws):
                yield of, tally.block, tally.error

    def rows(
        self, computed: Iterable[tuple[Any, Mapping[str, str]]], years: Array, draws: int
    ) -> Iterator[dict[str, object]]:
        """Yield the tallies of values that fail in few draws, as JSON data.

        `computed` has the keys of the tallies in the order of the report, each with its selection of choices.
        """
        for of, chosen in computed:
            tally = self.tallies.get(of)
            if tally is None or is_too_many(tally.worlds, draws):
                continue
            date = iso_date(years[tally.first])
            yield {
                "name": of[0],
                "choices": dict(chosen),
                "worlds": tally.worlds,
                "first": date,
                "reason": str(tally.error),
            }


# --- Errors of values -------------------------------------------------------------------------------------------------


def in_brackets(chosen: Mapping[str, str]) -> str:
    """Return values of choices as they stand behind what they are of: `` (trend = pool)``; nothing where none is."""
    return f" ({', '.join(f'{choice} = {value}' for choice, value in chosen.items())})" if chosen else ""


def infinite_error(what: str, size: int, bad: int) -> DataError:
    """Return the error of values that are infinite."""
    return DataError(f"{what}: {bad} of {size} values are infinite")
