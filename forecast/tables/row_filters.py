"""What a condition on a column asks for, read as the column is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from forecast.base.dates import parse_year
from forecast.errors import UsageError, printable
from forecast.formula.tree import COMPARISON_FUNCTIONS
from forecast.tables.schema import cells

if TYPE_CHECKING:
    from forecast.base.arrays import AnyArray

_COMPARISON_PATTERN = re.compile(r"\s*(<=|>=|==|<|>)\s*(\S.*?)\s*")


def comparison_mask(values: AnyArray, text: str, where: str) -> AnyArray | None:
    """Return the rows of a column that meet comparisons with numbers or dates; None if the text is no comparison.

    Raises
    ------
    UsageError
        If the column is text, or one side of the comparison is no number or date.

    Examples
    --------
    >>> import numpy as np
    >>> comparison_mask(np.array([1.0, 2.0, 3.0]), "> 1 and <= 2", "where").tolist()
    [False, True, False]
    """
    import numpy as np

    matches = [_COMPARISON_PATTERN.fullmatch(part) for part in text.split(" and ")]
    if not all(matches):
        return None
    if values.dtype.kind == "U":
        raise UsageError(f"{where}: the column is text; compare it by 'COLUMN is VALUE'")
    keep = np.ones(values.shape, dtype=bool)
    for operator, limit in (match.groups() for match in matches if match):
        with np.errstate(invalid="ignore"):
            keep &= COMPARISON_FUNCTIONS[operator](values, wanted_value(values, limit, where))
    # a missing cell meets no comparison
    return keep & ~(np.isnat(values) if values.dtype.kind == "M" else np.isnan(values))


def wanted_value(values: AnyArray, text: str | bool, where: str) -> Any:
    """Return what a cell of a column must equal to match `text`, read in the column's own grammar.

    A column of truth values, kept as 0 and 1, is matched by ``true`` and ``false``, and by the numbers.

    Raises
    ------
    UsageError
        If the text is no number, date or truth value where the column holds these.
    """
    import numpy as np

    text = {True: "true", False: "false"}[text] if isinstance(text, bool) else text
    truths = values.dtype.kind == "f" and bool(np.isin(values[~np.isnan(values)], (0, 1)).all())
    try:
        if truths and text in ("true", "false", "1", "0"):
            return float(text in ("true", "1"))
        if values.dtype.kind == "f":
            if "-" in text and cells.is_date(text):  # beside a column of years
                return parse_year(text, where)
            try:
                return cells.parse_cell_number(text)
            except ValueError as error:
                raise ValueError(f"{error}, true or false" if truths else str(error)) from None
        if values.dtype.kind == "M":
            return np.datetime64(cells.date(text), "s")
    except ValueError as error:
        raise UsageError(f"{where}: '{printable(text, 60)}': {error}") from error
    return cells.normalise_text(text)
