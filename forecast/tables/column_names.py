"""Which column a name in a formula means: people's columns have blanks in their names, formulas have not."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable

from forecast.errors import AmbiguousNameError, TableError, UnknownNameError, UsageError, printable


def identifier_of(column: str) -> str:
    """Return a column's name as a formula spells it: whatever is no letter, digit or underscore is an underscore.

    Examples
    --------
    >>> identifier_of("Model Size"), identifier_of("Price (USD)"), identifier_of("loss")
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
    check_named_once(name, known, where)
    matching = [column for column in known if identifier_of(column) == name]
    if len(matching) == 1:
        return matching[0]
    if matching:
        both = " and ".join(f"'{printable(column, 60)}'" for column in matching)
        raise AmbiguousNameError(f"{where}: column '{name}' may be {both}: rename one")
    raise UnknownNameError("column", name, [identifier_of(column) or column for column in known], where=where)


def check_named_once(name: str, columns: Collection[str], where: str) -> None:
    """Raise `TableError` if a file has several columns of a name, which are numbered.

    Examples
    --------
    >>> check_named_once("loss", ["loss (1)", "loss (2)"], "runs.csv")
    Traceback (most recent call last):
    forecast.errors.TableError: runs.csv: column 'loss' is given 2 times: say 'loss (1)' or 'loss (2)'
    """
    if name not in columns and f"{name} (1)" in columns:
        numbered = [each for each in columns if each.startswith(f"{name} (") and each[len(name) + 2 : -1].isdigit()]
        listed = " or ".join(f"'{printable(each, 60)}'" for each in numbered)
        raise TableError(f"{where}: column '{printable(name, 60)}' is given {len(numbered)} times: say {listed}")


_QUOTED_PATTERN = re.compile(r"""(["'])(.+?)\1""")


def unquoted(text: str, columns: Container[str]) -> str:
    """Return a formula with the names of columns in quotes as a formula spells them; one alone as it is.

    Examples
    --------
    >>> unquoted('log("ECI Score")', ["ECI Score"]), unquoted('"ECI Score"', ["ECI Score"])
    ('log(ECI_Score)', 'ECI Score')
    """
    if text in columns:
        return text
    alone = _QUOTED_PATTERN.fullmatch(text.strip())
    if alone and alone[2] in columns:
        return alone[2]
    return _QUOTED_PATTERN.sub(lambda match: identifier_of(match[2]), text)


def columns_in(text: str, columns: Collection[str]) -> list[str]:
    """Return the columns that a name, or a formula over columns, uses; what is no formula uses none.

    Examples
    --------
    >>> columns_in("6*N*D", ["N", "D", "loss"]), columns_in("val loss", ["val loss"])
    (['N', 'D'], ['val loss'])
    """
    from forecast import formula

    text = unquoted(text, columns)
    if text in columns:
        return [text]
    try:
        names = formula.parse(text).names
        return [meant(name, columns, "") for name in names]
    except UsageError:  # whoever computes it says what is wrong
        return []
