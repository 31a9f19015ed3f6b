"""What people type for a law, a fit, numbers and rows of data, read once for every command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.contract.registry import Plugin, get_registry
from forecast.errors import DataError, EmptyDataError, ForecastError, UnknownNameError, UsageError, printable
from forecast.formula.numbers import POWERS_OF_TEN, parse_number as read_number
from forecast.formula.tree import COMPARISON_FUNCTIONS
from forecast.laws import Law, law
from forecast.tables.column_names import meant, unquoted

if TYPE_CHECKING:
    from forecast.fit.fit import Fit, Fits
    from forecast.tables.columns import Columns

_CONDITION_PATTERN = re.compile(r"(?P<column>\s*\S.*?)(?P<operator> is |<=|>=|==|<|>)(?P<value>.*\S\s*)", re.DOTALL)
#: A date beside a column, and no difference of numbers.
_DATE_PATTERN = re.compile(r"\s*\d{4}-\d{2}(-\d{2})?\s*")
#: How what ``--set`` takes is written.
SETTING_FORM = "KEY=VALUE"
_NAME_PATTERN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)?")


def fit_of(text: str) -> tuple[Fit, list[Plugin]]:
    """Return the fit that ``LAW@PUBLISHED`` or a saved file names, and the plugins behind it."""
    from forecast.fit.fit import Fits

    found, plugins = fits_of(text)
    if isinstance(found, Fits):
        raise UsageError(f"{printable(text, 80)}: holds {len(found)} fits over '{printable(found.by, 60)}', not one")
    return found, plugins


def fits_of(text: str) -> tuple[Fit | Fits, list[Plugin]]:
    """Return the fit, or the many, that ``LAW@PUBLISHED`` or a saved file names, and the plugins behind them."""
    shown = printable(text, 80)
    if text.endswith(".nc") and "@" not in text:
        from forecast.base import netcdf
        from forecast.fit.save import fit_of as saved_fit

        fit = saved_fit(netcdf.load(text), text)
        return fit, plugins_of(fit.law)
    law_name, at, published = text.partition("@")
    if not at or not law_name or not published:
        raise UsageError(
            f"'{shown}': expected a law and its published parameters, like scaling/chinchilla@besiroglu2024, "
            f"or a saved fit (.nc)"
        )
    record = get_registry().find("law", law_name)
    return law(record.full_name).published(published), [record.plugin]


def is_name(text: str) -> bool:
    """Tell whether a word is the name of a registered law."""
    if not _NAME_PATTERN.fullmatch(text):
        return False
    try:
        get_registry().find("law", text)
    except ForecastError:
        return "/" not in text and not re.search(r"[.-]", text)
    return True


def law_of(text: str, variables: Sequence[str], output: str = "y") -> tuple[Law, list[Plugin]]:
    """Return the law that a registered name or a formula names, and the plugins behind it.

    It is a formula if it cannot be a name, or if its variables are given.
    """
    if not text.strip():
        raise UsageError("LAW: expected the name of a law or a formula, got nothing")
    if not variables and _NAME_PATTERN.fullmatch(text):
        record = get_registry().find("law", text)
        return law(record.full_name), [record.plugin]
    names = [v.strip() for words in variables for v in words.split(",")]
    if not names:
        raise UsageError(f"'{printable(text, 80)}': a formula needs its variables: --variables x")
    return Law(text, variables=names, output=output), []


def plugins_of(law: Law) -> list[Plugin]:
    """Return the plugin that brings a law; none where it is a formula, or not here."""
    try:
        return [get_registry().find("law", law.name).plugin] if law.name else []
    except ForecastError:
        return []


def parse_numbers(words: Iterable[str], what: str) -> dict[str, float]:
    """Read ``a=1,b=2`` or several such words as names and numbers."""
    texts = parse_formulas((part for word in words for part in word.split(",")), what, "NAME=NUMBER")
    return {name: parse_option_number(text, f"{what}: '{printable(name, 60)}'") for name, text in texts.items()}


def parse_option_number(text: str, what: str) -> float:
    """Read one number as people or Python write it, ``70B``, ``nan`` and ``inf`` included."""
    try:
        if "_" in text or not text.isascii():
            raise ValueError
        return read_number(text.strip()) if text.strip()[-1:] in POWERS_OF_TEN else float(text)
    except ValueError:
        raise UsageError(f"{what}: expected a number, got '{printable(text, 40)}'") from None


def parse_settings(words: Iterable[str], what: str) -> dict[str, float | str]:
    """Read words like ``tau=0.9`` and ``trials=n``: a number where it is one, else a column or formula."""
    values: dict[str, float | str] = {}
    for name, text in parse_formulas(words, what, "NAME=NUMBER or NAME=COLUMN").items():
        try:
            values[name] = parse_option_number(text, what)
        except UsageError:
            values[name] = text
    return values


def parse_names(words: Iterable[str]) -> tuple[str, ...]:
    """Read ``E,A``, or several such words, as names."""
    return tuple(part.strip() for word in words for part in word.split(","))


def parse_formulas(words: Iterable[str], what: str, form: str = "VARIABLE = FORMULA") -> dict[str, str]:
    """Read words like ``N = params_b*1e9`` as names and formulas, each name once."""
    by_name: dict[str, str] = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        if not equals or not name or not text or text.startswith("="):
            raise UsageError(f"{what}: expected {form}, got '{printable(word, 60)}'")
        if name in by_name:
            way = f"; values of a choice go in one: {name}=a,b" if form == SETTING_FORM else ""
            raise UsageError(f"{what}: '{printable(name, 60)}' is given twice{way}")
        by_name[name] = text
    return by_name


def parse_conditions(conditions: Iterable[str]) -> dict[str, str]:
    """Read words like ``precision is fp16`` and ``size > 3`` as columns, quoted or not, and what they must be."""
    by_name: dict[str, str] = {}
    for text in conditions:
        match = _CONDITION_PATTERN.fullmatch(text)
        if match is None:
            expected = "expected 'COLUMN is VALUE' or 'COLUMN > NUMBER'"
            raise UsageError(f"--where: {expected}, got '{printable(text, 60)}'")
        column, value = (re.sub(r"""^(['"])(.+)\1$""", r"\2", match[part].strip()) for part in ("column", "value"))
        value = value if match["operator"] == " is " else f"{match['operator']} {value}"
        by_name[column] = f"{by_name[column]} and {value}" if column in by_name else value
    return by_name


def data_of(source: str, where: str, reading: Mapping[str, Any] | None = None) -> tuple[Columns, dict[str, str]]:
    """Return the columns of a file or a table, and its name and hash for the provenance."""
    from forecast import tables
    from forecast.base import files

    if not source.strip():
        raise UsageError("--data: expected a table or a file, got nothing")
    columns = tables.read(source, **reading) if reading else tables.to_columns(source, where=where)
    if columns.from_file:
        return columns, {Path(source).name: files.file_hash(source)}
    dataset = tables.table(source)
    return columns, {str(dataset.attrs.get("name", "") or Path(source).name): tables.cited_hashes(dataset)}


def with_formula_columns(columns: Columns, lets: Mapping[str, str], allowed: Iterable[str] | None) -> Columns:
    """Return the columns with those that formulas over them say; they stand in for columns of the same name.

    Parameters
    ----------
    columns : Columns
    lets : mapping of str to str
        Name and formula, or name and column.
    allowed : iterable of str, optional
        The names that may be said. Default: any.
    """
    from forecast.fit.data.observations import _compute

    result = {}
    for name, text in lets.items():
        if allowed is not None and name not in allowed:
            raise UnknownNameError("variable", name, allowed, where="--let")
        result[name] = columns[text] if text in columns else _compute(text, columns, f"--let '{printable(name, 60)}'")
    return columns.replaced(result, {name: columns.units[lets[name]] for name in result if lets[name] in columns.units})


def write_outputs(columns: Columns, conditions: Sequence[str]) -> tuple[Columns, str]:
    """Return the rows that meet every condition, and a sentence about the others.

    A condition is a comparison of the safe grammar over columns (``params_b > 0.1``), or ``COLUMN is VALUE`` for text.
    A row with a missing cell in it does not meet it.
    """
    rows = columns
    for text in conditions:
        match = _CONDITION_PATTERN.fullmatch(text)
        named = match is not None and unquoted(match["column"].strip(), rows) in rows
        if match is not None and (match["operator"] == " is " or (named and _DATE_PATTERN.fullmatch(match["value"]))):
            ((name, value),) = parse_conditions([text]).items()
            rows = rows.where(name, value, f"--where '{printable(text, 60)}'")
        else:
            keep = _condition_mask(rows, text)
            rows = rows if keep.all() else rows.take(keep, f"not {printable(text, 60)}")
        if not rows.rows:
            condition_text = " and ".join(printable(c, 60) for c in conditions)
            raise EmptyDataError(f"{columns.label}: no row of {columns.rows} meets --where {condition_text}")
    return rows, f"--where keeps {rows.rows} of {columns.rows} rows" if conditions else ""


def _condition_mask(columns: Columns, text: str) -> Any:

    from forecast.formula import parse_row_condition
    from forecast.tables import decimal_year

    condition = parse_row_condition(unquoted(text, columns), where="--where")
    known: dict[str, Any] = {}
    for name in condition.names:
        column = meant(name, columns, f"{columns.label}: --where")
        values = columns[column]
        if values.dtype.kind == "U":
            raise DataError(f"{columns.label}: --where: column '{name}' is text; write '{name} is VALUE'")
        known[name] = decimal_year(values) if values.dtype.kind == "M" else values
    left, right = condition.left.evaluate(known), condition.right.evaluate(known)
    with np.errstate(invalid="ignore"):
        holds = COMPARISON_FUNCTIONS[condition.op](left, right)
    return np.broadcast_to(holds, (columns.rows,))
