"""Stocks, which remember what they were, and numbers that are solved for: records, and how they are read from TOML.

::

    [stocks.S]
    initial = 1
    log_rate = "k*(L/(1-f))**a*C**z*S**(-b)"   # or rate = "...", or next = "S*(1-d)**dt + invest"
    method = "rk4"                             # or "euler"
    [solve.k]
    so = "log_rate(S) == log(5)"               # at the first step
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from forecast.contract.fields import number
from forecast.errors import UnknownNameError
from forecast.formula import Condition, Formula, Measured, parse_condition, parse_expression, tree

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader

__all__ = ["MOVES", "SolvedNumber", "Stock", "solved", "stocks"]

#: How a stock goes on: the derivative of its logarithm, its derivative, or what it is at the next step.
MOVES = ("log_rate", "rate", "next")
METHODS = ("rk4", "euler")


@dataclass(frozen=True, kw_only=True)
class Stock:
    """A quantity that goes on from what it was.

    Parameters
    ----------
    initial : Formula
        At the first step.
    move : {"log_rate", "rate", "next"}
    change : Formula
        A year, for rates; the next value, for ``next``.
    method : {"rk4", "euler"}
        For rates: classical Runge-Kutta of fourth order, or the rate at the beginning of a step.
    ceiling : Formula, optional
        What it never exceeds.
    unit : str
    """

    initial: Formula
    move: Literal["log_rate", "rate", "next"]
    change: Formula
    method: Literal["rk4", "euler"] = "rk4"
    ceiling: Formula | None = None
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class SolvedNumber:
    """A number a world for which an equation holds at the first step.

    Parameters
    ----------
    so : Condition
        With ``==``.
    unit : str
    """

    so: Condition
    unit: str = ""


def stocks(reader: ScenarioReader, record: Mapping[str, Any]) -> Iterator[tuple[str, Stock]]:
    """Walk the stocks of a scenario."""
    for name, given in reader.tables(record, "stocks"):
        key = f"stocks.{name}"
        reader.only(given, ("initial", *MOVES, "method", "ceiling", "unit"), key)
        moves = [move for move in MOVES if move in given]
        if len(moves) != 1:
            raise reader.fail(key, f"expected one of {', '.join(MOVES)}: how it goes on")
        if "initial" not in given:
            raise reader.fail(f"{key}.initial", "is missing: what it is at the first step")
        unit = reader.unit(given, key) if "unit" in given else ""
        method = reader.text(given, "method", key, default="rk4")
        if method not in METHODS:
            raise UnknownNameError("method", method, METHODS, where=f"{reader.where}: {key}.method")
        if moves == ["next"] and "method" in given:
            raise reader.fail(f"{key}.method", "is for rates: next says the value itself")
        yield (
            name,
            Stock(
                initial=_in(unit, _formula(reader, given["initial"], f"{key}.initial")),
                move=cast(Literal["log_rate", "rate", "next"], moves[0]),
                change=_formula(reader, given[moves[0]], f"{key}.{moves[0]}"),
                method=cast(Literal["rk4", "euler"], method),
                ceiling=_in(unit, _formula(reader, given["ceiling"], f"{key}.ceiling")) if "ceiling" in given else None,
                unit=unit,
            ),
        )


def solved(reader: ScenarioReader, record: Mapping[str, Any]) -> Iterator[tuple[str, SolvedNumber]]:
    """Walk the numbers that are solved for."""
    for name, given in reader.tables(record, "solve"):
        key = f"solve.{name}"
        reader.only(given, ("so", "at", "unit"), key)
        if reader.text(given, "at", key, default="start") != "start":
            raise reader.fail(f"{key}.at", "expected 'start': what is solved for holds from the first step on")
        so = parse_condition(reader.text(given, "so", key), where=f"{reader.where}: {key}.so")
        if so.op != "==":
            raise reader.fail(f"{key}.so", "expected an equation, such as 'log_rate(S) == log(5)'")
        yield name, SolvedNumber(so=so, unit=reader.unit(given, key) if "unit" in given else "")


def _in(unit: str, formula: Formula) -> Formula:
    """Return a bare number in the unit of the stock; other formulas bring theirs."""
    bare = bool(unit) and tree.constant(formula.root)
    return Formula(Measured(formula.evaluate({}), unit)) if bare else formula


def _formula(reader: ScenarioReader, given: object, key: str) -> Formula:
    """Return a formula, of which a number is one."""
    text = repr(float(given)) if number(given) else given
    return parse_expression(text, where=f"{reader.where}: {key}")
