"""Columns whose rows must not be mixed: technologies in units of their own, editions that are measured differently.

A schema names them (``"separate": ["technology"]``). Whoever fits to rows of several values of such a column is told to
keep one; a fit for each of them (``by=``), or one that knows them (``groups=``), mixes nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from forecast.errors import QualifierError, printable

if TYPE_CHECKING:
    from forecast.tables.columns import Columns


#: How to keep the rows of one value, where a condition is given as a mapping.
KEEP_ONE_HINT = 'keep one: where = {{ {column} = "{first}" }}'


def check_not_mixed(
    rows: Columns, where: str, *, told_apart: Collection[str] = (), advice: str = KEEP_ONE_HINT
) -> None:
    """Refuse rows that differ in a column whose rows must not be mixed.

    Parameters
    ----------
    rows : Columns
    where : str
        For messages: who asks.
    told_apart : collection of str
        Columns by which the asker tells the rows apart.
    advice : str
        What to do, with ``{column}`` and ``{first}`` in the place of the column and of one of its values.

    Raises
    ------
    QualifierError
        Naming two of the values, and what to do.

    Examples
    --------
    >>> from forecast.tables.intake import to_columns
    >>> rows = to_columns({"technology": ["DRAM", "Beer"], "cost": [1.0, 2.0]})
    >>> check_not_mixed(rows, "mine")
    >>> rows.separate = ("technology",)
    >>> check_not_mixed(rows, "mine")
    Traceback (most recent call last):
    forecast.errors.QualifierError: mine: mixes technology Beer and DRAM; keep one: where = { technology = "Beer" }
    """
    for column in rows.separate:
        if column in told_apart or column not in rows:
            continue
        if says := describe_mixture(rows, column, advice):
            raise QualifierError(f"{where}: {says}")


def describe_mixture(rows: Columns, column: str, advice: str = KEEP_ONE_HINT) -> str:
    """Return which values of a column the rows mix, and what to do; empty if they have one at most."""
    values = sorted({str(v) for v in rows.column(column)} - {""})
    if len(values) < 2:
        return ""
    first, second = (printable(v, 40) for v in values[:2])
    more = f" and {len(values) - 2} more" if len(values) > 2 else ""
    says = advice.format(column=printable(column, 60), first=first)
    return f"mixes {printable(column, 60)} {first} and {second}{more}; {says}"
