"""Reading the text of a unit, name by name: pint sees single names only."""

from __future__ import annotations

import functools
import re
from threading import RLock
from typing import Any, NoReturn

from forecast.errors import PluginError, UnitError, nearest, printable
from forecast.units.definitions import DEFINITIONS

MAX_UNIT_CHARACTERS = 80
MAX_UNIT_POWER = 9
_TOKEN = re.compile(
    r"\s*(?:(?P<name>[A-Za-z][A-Za-z0-9_]{0,39})|(?P<op>\*\*|[*/()])|"
    r"(?P<number>-?\d{1,2}(?:\.\d{1,6})?)(?![\w.]))",
    re.ASCII,
)
_DEFINITION = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_]{0,39})\s*=\s*[A-Za-z0-9_.\[][A-Za-z0-9_.\[\] */+()=-]{0,120}", re.ASCII
)
#: What people write instead of this grammar's signs.
_SPELLINGS: dict[str, str | int | None] = {
    "^": "**",
    "·": "*",
    "×": "*",
    "²": "**2",
    "³": "**3",
    "µ": "u",
    "μ": "u",
    "%": "percent",
    "$": "USD",
}
_WORD_UNITS = {
    "FLOPS": "FLOP/s",
    "FLOPs": "FLOP",
    "dollar": "USD",
    "dollars": "USD",
    "tokens": "token",
    "parameters": "param",
    "sec": "s",
    "hours": "h",
}
#: ``a year``, ``USD an hour``, ``tokens per second``.
_RATE_WORD = re.compile(r"(^|\s+)(?:an?|per)\s+(?=[A-Za-z])")
#: No rate stands here: it changes by the day.
_CURRENCIES = frozenset({"EUR", "GBP", "JPY", "CNY", "CHF", "INR", "KRW", "CAD", "AUD", "€", "£", "¥", "euro", "euros"})


class UnitRegistry:
    """One pint registry, to which the plugins' units are added when a name is met that it does not know."""

    def __init__(self) -> None:
        import pint

        self.pint: Any = pint.UnitRegistry(DEFINITIONS, cache_folder=None)
        self.registry: object = None
        self.lock = RLock()
        self.broken: dict[str, str] = {}
        #: How many base units one of a unit is. Definitions are added, and none is ever changed.
        self.scales: dict[Any, float] = {}

    def find(self, name: str) -> Any:
        """Return the unit of that name, or None."""
        import pint

        with self.lock:  # another thread may be adding the plugins' units just now
            for attempt in (0, 1):
                try:
                    return self.pint.parse_units(name)
                except (pint.errors.PintError, AttributeError, ValueError, TypeError):
                    if attempt or not self._ask_plugins():
                        return None
            return None

    def _ask_plugins(self) -> bool:
        from forecast.contract.registry import get_registry

        plugins = get_registry()
        if plugins is self.registry:
            return False
        self.registry = plugins
        for record in plugins.records("unit"):
            definition = record.spec.definition
            try:
                name = check_definition(definition, where=f"unit {record.full_name}")
                if name not in self.pint:
                    self.pint.define(definition)
            except UnitError as error:  # the others go on; whoever uses this one hears of it
                self.broken[str(definition).partition("=")[0].strip()] = str(error)
            except Exception as error:  # pint's own complaints are of many kinds
                self.broken[name] = f"unit {record.full_name}: {type(error).__name__}: {printable(error)}"
        return True


_ONE = RLock()


@functools.cache
def registry() -> UnitRegistry:
    """Return the one registry of this process: units of two cannot be compared."""
    with _ONE:  # of two threads that come here first, one makes it
        return _new_registry()


@functools.cache
def _new_registry() -> UnitRegistry:
    return UnitRegistry()


def fail(reason: str, where: str) -> NoReturn:
    """Raise the error that says where it was."""
    raise UnitError(f"{where + ': ' if where else ''}{reason}") from None


def check_definition(definition: str, *, where: str = "") -> str:
    """Return the name that a line of pint's grammar defines (``"wafer = [wafer]"`` gives ``"wafer"``).

    Raises
    ------
    UnitError
        If it is no such line, or the name is one of this package's own units.
    """
    match = _DEFINITION.fullmatch(definition) if isinstance(definition, str) else None
    if not match or re.search(r"\*\*\s*\d{2}", definition):
        expected = "expected 'name = [dimension]' or 'name = 3 * m'"
        fail(f"'{printable(definition, 60)}' is no definition of a unit; {expected}", where)
    own = {word.strip() for line in DEFINITIONS for word in line.split(";")[0].split("=")[:1]}
    if match["name"] in own:
        fail(f"the unit '{match['name']}' is this package's own and cannot be defined again", where)
    return match["name"]


class _UnitReader:
    """Reads ``product := power (('*' | '/' | ' ') power)*``; ``power := (name|1|'(' product ')') ['**' number]``."""

    def __init__(self, text: object, where: str) -> None:
        self.where = where
        if not isinstance(text, str):
            fail(f"expected a unit as text, got {type(text).__name__}", where)
        self.text = text
        text = _RATE_WORD.sub(lambda found: "/" if found[1] else "1/", text.translate(str.maketrans(_SPELLINGS)))
        if len(text) > MAX_UNIT_CHARACTERS:
            self.fail(f"has {len(text)} characters; the limit is {MAX_UNIT_CHARACTERS}")
        self.tokens: list[str] = []
        position = 0
        while position < len(text.rstrip()):
            token = _TOKEN.match(text, position)
            if not token:
                self.fail(f"'{printable(text[position:].lstrip()[:1])}' is outside the grammar of units")
            self.tokens.append(token[0].strip())
            position = token.end()
        self.tokens.reverse()  # a stack

    def fail(self, reason: str) -> NoReturn:
        fail(f"unit '{printable(self.text, 60)}': {reason}", self.where)

    def read(self) -> Any:
        if not self.tokens:
            return registry().pint.Unit("")
        parsed = self.product()
        if self.tokens:
            self.fail(f"'{self.tokens[-1]}' is out of place")
        if any(abs(power) > MAX_UNIT_POWER for power in parsed._units.values()):
            self.fail(f"a power is beyond {MAX_UNIT_POWER}")
        if "degree_Celsius" in parsed._units and dict(parsed._units) != {"degree_Celsius": 1}:
            self.fail("degC has a zero of its own and cannot be part of a product; write K")
        return parsed

    def product(self) -> Any:
        product = self.power()
        while self.tokens and self.tokens[-1] != ")":
            op = self.tokens.pop() if self.tokens[-1] in "*/" else "*"
            product = product / self.power() if op == "/" else product * self.power()
        return product

    def power(self) -> Any:
        base = self.atom()
        if self.tokens and self.tokens[-1] == "**":
            self.tokens.pop()
            exponent = self.tokens.pop() if self.tokens else ""
            if not re.fullmatch(r"-?\d(\.\d+)?", exponent):
                self.fail(f"expected a power from -{MAX_UNIT_POWER} to {MAX_UNIT_POWER} after **")
            base = base ** (float(exponent) if "." in exponent else int(exponent))
        return base

    def atom(self) -> Any:
        word = self.tokens.pop() if self.tokens else ""
        if word == "(":
            inner = self.product()
            if not self.tokens or self.tokens.pop() != ")":
                self.fail("a parenthesis is not closed")
            return inner
        if word == "1":
            return registry().pint.Unit("")
        if not word or not word[0].isalpha():
            self.fail(f"expected the name of a unit, got '{word}'" if word else "ends where a name was expected")
        found_unit = registry().find(word)
        if found_unit is None:
            if word in registry().broken:
                raise PluginError(registry().broken[word])
            if word in _CURRENCIES:
                self.fail(f"unknown unit '{word}': amounts are in USD; convert them by the rate of the day")
            near = _WORD_UNITS.get(word) or nearest(word, [str(n) for n in registry().pint])
            self.fail(f"unknown unit '{word}'" + (f"; did you mean '{near}'?" if near else ""))
        return found_unit


@functools.lru_cache(maxsize=1024)
def _read_unit(text: str) -> Any:
    return _UnitReader(text, "").read()


def unit(text: str, *, where: str = "") -> Any:
    """Read a unit (a `pint.Unit`).

    Parameters
    ----------
    text : str
        Names joined by ``*`` and ``/``, with whole powers; ``""`` is dimensionless, and so is ``"-"``.
    where : str
        Where it was written, for the message.

    Raises
    ------
    UnitError
        If it does not read, with the nearest known name.

    Examples
    --------
    >>> unit("TFLOP/s").dimensionality == unit("FLOP/day").dimensionality
    True
    """
    try:
        if type(text) is str and text.strip() == "-":  # as tables on the screen show it
            text = ""
        if type(text) is str:  # anything else may not even hash, and is refused below
            return _read_unit(text)
    except UnitError as error:
        fail(str(error), where)
    return _UnitReader(text, where).read()
