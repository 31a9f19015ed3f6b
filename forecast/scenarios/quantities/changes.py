"""What if: a quantity's growth, or its value, changed from a date on.

::

    [[changes]]
    of = "machine"
    growth = "0.5*"
    since = 2028
    until = 2032

On the command line the same is ``--what-if "machine.growth*0.5 since 2028 until 2032"``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar

from forecast.base.dates import day_or_month, iso_date, year_of
from forecast.errors import UsageError, printable
from forecast.formula import Condition
from forecast.formula.numbers import NUMBER_PATTERN, parse_number
from forecast.scenarios.quantities.limits import read_comparison

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader

FACTOR_PATTERN = re.compile(rf"({NUMBER_PATTERN}) ?\*", re.ASCII)
#: What is changed, how, since when, and until when.
_WHAT_IF = re.compile(
    r"(?P<of>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*?)\s*"
    rf"(?:\.\s*growth\s*\*\s*(?P<growth>{NUMBER_PATTERN})|=\s*(?P<value>\S.*?))"
    r"\s+since\s+(?P<since>[\d.-]+)(?:\s+until\s+(?P<until>[\d.-]+))?",
    re.ASCII,
)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of one quantity.

    Parameters
    ----------
    of : str
    growth : float, optional
        Multiplies the increments of the path's logarithm.
    value : Condition, optional
        ``quantity == value``, which replaces the path; a bare number has the quantity's unit.
    since, until : float
        Decimal years: from the first on, up to the second. A value is in force before `until`; growth lost or gained
        by then stays so.
    """

    NAMES: ClassVar = ("of",)

    of: str
    growth: float | None = None
    value: Condition | None = None
    since: float
    until: float = math.inf

    @property
    def names(self) -> tuple[str, ...]:
        """The names on which the new value depends."""
        return () if self.value is None else self.value.right.names

    def mapped(self, change: Callable[[Condition, str], Condition], where: str) -> Change:
        """Return the change with its value changed by a function of it and its key."""
        return self if self.value is None else replace(self, value=change(self.value, f"{where}.value"))

    @property
    def plain(self) -> dict[str, Any]:
        """What is stated, as plain data."""
        how = {"growth": self.growth} if self.value is None else {"value": self.value.right.text}
        return {"of": self.of, **how, "since": self.since, **({"until": self.until} if self.until < math.inf else {})}


def as_phrase(stated: Mapping[str, Any]) -> str:
    """Say a change, given as plain data, as the command line takes it.

    Examples
    --------
    >>> as_phrase({"of": "machine", "growth": 0.5, "since": 2028.0, "until": 2032.5})
    'machine.growth*0.5 since 2028 until 2032.5'
    """
    how = f".growth*{stated['growth']:g}" if "growth" in stated else f" = {stated['value']}"
    until = f" until {_date_text(stated['until'])}" if "until" in stated else ""
    return f"{stated['of']}{how} since {_date_text(stated['since'])}{until}"


def _date_text(year: float) -> str:
    """Return a decimal year as it is typed: as a day of the calendar where that is shorter."""
    text, day = f"{year:.10g}", iso_date(year)
    return day if len(text) > len("2028.25") and math.isclose(year_of(day), year, abs_tol=1e-8, rel_tol=0) else text


def parse_change(text: str) -> dict[str, Any]:
    """Read a change as it is typed: ``NAME.growth*FACTOR since DATE until DATE``, or ``NAME = VALUE since DATE``.

    Raises
    ------
    UsageError

    Examples
    --------
    >>> parse_change("machine.growth*0.5 since 2028 until 2032-07-01")
    {'of': 'machine', 'growth': '0.5*', 'since': 2028.0, 'until': datetime.date(2032, 7, 1)}
    >>> parse_change("budget = 2e9 USD since 2028.5")
    {'of': 'budget', 'value': '2e9 USD', 'since': 2028.5}
    """
    read_as = _WHAT_IF.fullmatch(text.strip())
    if read_as is None:
        forms = "NAME.growth*FACTOR since DATE, or NAME = VALUE since DATE, and until DATE where it ends"
        raise UsageError(f"--what-if: expected {forms}; got '{printable(text, 80)}'")
    result: dict[str, Any] = {"of": read_as["of"]}
    result |= {"growth": f"{read_as['growth']}*"} if read_as["growth"] else {"value": read_as["value"]}
    return result | {key: _parse_date(read_as[key]) for key in ("since", "until") if read_as[key]}


def _parse_date(text: str) -> float | date:
    try:
        return float(text) if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII) else day_or_month(text)
    except ValueError:
        raise UsageError(
            f"--what-if: expected a date such as 2028, 2028-07 or 2028-07-01, got '{printable(text, 40)}'"
        ) from None


def read_changes(reader: ScenarioReader, stated: object) -> Iterator[Change]:
    """Read the changes of a scenario; whether their names are known is for the graph."""
    if not isinstance(stated, (list, tuple)):
        raise reader.fail("changes", "expected [[changes]], with two brackets: there may be several")
    for count, each in enumerate(stated, 1):
        key = f"changes[{count}]"
        reader.only(each, ("of", "growth", "value", "since", "until"), key)
        of = reader.name(reader.text(each, "of", key), f"{key}.of")
        if ("growth" in each) == ("value" in each):
            raise reader.fail(key, "expected growth, or a value, and not both")
        if "since" not in each:
            raise reader.fail(f"{key}.since", "is missing: the date from which it is so")
        since = reader.decimal_year(each["since"], f"{key}.since")
        until = reader.decimal_year(each["until"], f"{key}.until") if "until" in each else math.inf
        if not since < until:
            raise reader.fail(f"{key}.until", f"expected a date after {since:g}, got {until:g}")
        growth = factor(reader, each["growth"], f"{key}.growth") if "growth" in each else None
        value = read_comparison(reader, of, "==", each["value"], f"{key}.value") if "value" in each else None
        yield Change(of=of, growth=growth, value=value, since=since, until=until)


def factor(reader: ScenarioReader, stated: object, key: str) -> float:
    """Return the factor in ``"0.5*"``; the sign says that growth is multiplied and not replaced."""
    matched = FACTOR_PATTERN.fullmatch(stated.strip()) if isinstance(stated, str) else None
    factor = parse_number(matched[1]) if matched else math.nan
    if not factor < math.inf:
        raise reader.fail(key, f"expected a factor such as \"0.5*\", got '{printable(stated, 40)}'")
    return factor
