"""Which column a name in a formula means: people's columns have blanks in their names, formulas have not."""

from __future__ import annotations

import re
from collections.abc import Iterable

from forecast.errors import AmbiguousNameError, UnknownNameError, printable

__all__ = ["identifier_of", "meant"]


def identifier_of(column: str) -> str:
    """Return a column's name as a formula spells it: whatever is no letter, digit or underscore is an underscore.

    Examples
    --------
    >>> spelled("Model Size"), spelled("Price (USD)"), spelled("loss")
    ('Model_Size', 'Price_USD', 'loss')
    """
    return re.sub(r"[^0-9A-Za-z_]+", "_", column).strip("_")


def meant(name: str, columns: Iterable[str], where: str) -> str:
    """Return the column that a name in a formula means: the one of that name, else the only one spelled so.

    Parameters
    ----------
    name : str
    columns : iterable of str
        The columns there are.
    where : str
        Where the name stands, for messages.

    Raises
    ------
    UnknownNameError
        If there is none; it says how a formula spells the nearest.
    AmbiguousNameError
        If several are spelled so.

    Examples
    --------
    >>> meant("Model_Size", ["Model Size", "loss"], "let")
    'Model Size'
    """
    known = list(columns)
    if name in known:
        return name
    matching = [column for column in known if identifier_of(column) == name]
    if len(matching) == 1:
        return matching[0]
    if matching:
        both = " and ".join(f"'{printable(column, 60)}'" for column in matching)
        raise AmbiguousNameError(f"{where}: column '{name}' may be {both}: rename one")
    raise UnknownNameError("column", name, [identifier_of(column) or column for column in known], where=where)
