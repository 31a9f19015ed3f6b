"""How limits act on a path, and when they bind.

A limit *binds* where it takes more than 1 % off the value that would be without it; a floor, where it adds more than
1 %.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forecast.base.arrays import Array, BoolArray, accumulate
from forecast.base.dates import iso_date
from forecast.errors import DataError
from forecast.formula.functions import implementation
from forecast.models.scales import Scale
from forecast.projection.crossing import find_crossing

#: The share of the unlimited value from which on a limit binds.
BINDS = 0.01


def limited(value: Array, limit: Array, how: str, sharpness: float) -> Array:
    """Return a path under a limit; NaN for a soft limit of what is negative, or by what is not above 0.

    Parameters
    ----------
    value, limit : ndarray
        (time, draw), in one unit.
    how : {"hard", "saturating", "softmin"}
    sharpness : float
        Of ``softmin``.

    Examples
    --------
    >>> value, limit = np.array([[0.1], [1.0], [1e9]]), np.full((3, 1), 1.0)
    >>> limited(value, limit, "hard", 8.0).ravel().tolist()
    [0.1, 1.0, 1.0]
    >>> limited(value, limit, "saturating", 8.0).ravel().round(6).tolist()
    [0.095163, 0.632121, 1.0]
    """
    if how == "hard":
        return np.minimum(value, limit)
    without = (value < 0) | (limit <= 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        if how == "saturating":
            soft = np.where(np.isinf(limit), value, implementation("saturate")(value, limit))
            return np.where(without, np.nan, soft)
        soft = implementation("softmin")(value, limit, sharpness)
    # by rounding alone could it lie above either
    soft = np.minimum(np.where(np.isinf(value) & np.isinf(limit), value, soft), np.minimum(value, limit))
    return np.where(without, np.nan, soft)


def binding(time: Array, free: Array, constrained: Array, *, floor: bool = False) -> tuple[BoolArray, Array]:
    """Tell where a limit binds, (time, draw), and when it first does.

    Parameters
    ----------
    time : ndarray
        Decimal years, (time,).
    free, constrained : ndarray
        The path without the limit and with it, (time, draw). For a hard limit the limit itself can stand in for the
        constrained path: between two steps it is then met where both paths cross.
    floor : bool
        The limit is a lower one.

    Examples
    --------
    >>> binds, first = binding(np.array([2025.0, 2026.0]), np.array([[1.0], [4.0]]), np.array([[2.0], [2.0]]))
    >>> binds.ravel().tolist(), first.round(2).tolist()
    ([False, True], [2025.51])
    """
    with np.errstate(invalid="ignore"):
        share = BINDS * np.abs(free)
        greater, lesser = (constrained, free + share) if floor else (free - share, constrained)
        greater = np.where(np.isposinf(free) & ~floor, np.inf, greater)
    return greater > lesser, find_crossing(time, greater, lesser, strict=True)


def hold_record(path: Array, record: float) -> tuple[Array, float]:
    """Return a path that never falls and starts at a record, and the share of its values that had to be raised.

    Examples
    --------
    >>> made, raised = hold_record(np.array([[1.0], [3.0], [2.0]]), 1.5)
    >>> made.ravel().tolist(), round(raised, 2)
    ([1.5, 3.0, 3.0], 0.67)
    """
    result = np.maximum(accumulate(np.maximum, path), record)
    return result, float((result > path).mean())


def check_kept(time: Array, path: Array, keeps: str, scale: Scale, at_most: float, *, where: str) -> None:
    """Refuse a path that leaves what it should keep, or the ends of its scale.

    Raises
    ------
    DataError
        Naming the first date, and in how many worlds.
    """
    if not scale.is_plain:
        _refuse(time, path, f"scale: expected {scale.ends}", lambda: scale.is_beyond(path), where=where)
    if keeps == "positive":
        _refuse(time, path, "keeps: expected values above 0", lambda: path <= 0, where=where)
    if at_most < np.inf:
        _refuse(time, path, f"at_most: expected at most {at_most:g}", lambda: path > at_most, where=where)


def _refuse(time: Array, path: Array, expected: str, outside: Callable[[], BoolArray], *, where: str) -> None:
    bad = outside()
    if not bad.any():
        return
    first = int(bad.any(axis=1).argmax())
    when = iso_date(time[first])
    value = path[first, int(bad[first].argmax())]
    worlds = f"{int(bad.any(axis=0).sum()):,} of {path.shape[1]:,} worlds"
    raise DataError(f"{where}.{expected}, got {value:g} on {when}, the first date; {worlds} leave it")
