"""Numbers and probabilities in the units people use: 10 cents, 1.2 GW, 3e26 FLOP."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from forecast.report.words.patterns import fill, load_patterns

#: Units that take a prefix, and those prefixes; a rate beyond them keeps its power of ten (1.1e21 FLOP/s).
_PREFIX_FACTORS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_SCALED = re.compile(r"(?P<prefix>[kMGTPE]?)(?P<unit>FLOP/s|FLOP|W|Wh|TEPS|Hz|bit/s|B/s|J)(?P<rest>/.*)?", re.ASCII)
#: A kilobyte is rarely meant where bytes are counted in binary; only bytes a second are scaled above.
_MONEY = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_LARGEST_MONEY = 1e16
#: Units that are named otherwise than the reader of units spells them.
_SPOKEN_UNITS = {
    "hour": "h",
    "minute": "min",
    "year": "years",
    "yr": "years",
    "token": "tokens",
    "parameter": "parameters",
    "day": "days",
    "percent": "%",
}
#: More minutes than this are hours.
_MAX_MINUTES = 120
#: A mass is counted in tonnes; one of a brain in kilograms.
_TONNES = {"kg": 1e-3, "Mg": 1.0, "t": 1.0}
_MASSES = ((1e6, "Mt"), (1e3, "kt"), (1.0, "t"), (1e-3, "kg"))
#: A growth rate, as scenarios and as results spell its unit.
_A_YEAR = ("1/year", "1/yr")
_SEVERAL = re.compile(r"^(cent|year|token|parameter|day)s\b", re.ASCII)


def percent(share: float | None) -> str:
    """Say a probability; what no world of some thousands shows is not impossible.

    Examples
    --------
    >>> percent(0.1), percent(0.0004), percent(0.0), percent(0.9996), percent(None)
    ('10 %', 'under 1 %', 'under 1 %', 'over 99 %', '-')
    """
    if share is None or math.isnan(share):
        return fill("percent", "unknown")
    rules = load_patterns()
    extreme = "hardly" if share < rules["hardly"] else "surely" if share > rules["surely"] else ""
    return fill("percent", extreme, number=f"{100 * share:.0f}")


def in_signs(text: str) -> str:
    """Return a probability, or several, with a sign for each word, for where there is little room.

    Examples
    --------
    >>> in_signs(percent(0.0004)), in_signs("12 % to over 99 %")
    ('<1 %', '12 % to >99 %')
    """
    return text.replace("under ", "<").replace("over ", ">")


def format_number(value: float | None, digits: int | None = None) -> str:
    """Write a number with few digits: ordinary size in full, others by a power of ten.

    Examples
    --------
    >>> [format_number(value) for value in (0.0953, 12.34, 123456.0, 3.04e26, -2e-9, None)]
    ['0.095', '12', '120,000', '3e26', '-2e-9', '-']
    >>> format_number(0.1, 6), format_number(1024.0, 6)
    ('0.1', '1,024')
    """
    digits = load_patterns()["digits"] if digits is None else digits
    if value is None or not math.isfinite(value):
        return "-" if value is None or math.isnan(value) else ("infinite" if value > 0 else "-infinite")
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    size = abs(float(text))
    if 1e-3 <= size < 1e6:
        whole = float(text).is_integer() and size >= min(10 ** (digits - 1), 1000)
        return f"{float(text):,.0f}" if whole else f"{float(text):g}"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(power)}"


def format_or_dash(value: float | None, digits: int = 5) -> str:
    """Return a number with so many digits, as Python writes it; a dash for None.

    Examples
    --------
    >>> format_or_dash(2 / 3), format_or_dash(2 / 3, 3), format_or_dash(None)
    ('0.66667', '0.667', '-')
    """
    return "-" if value is None else f"{value:.{digits}g}"


def written(value: float, digits: int = 4) -> str:
    """Write a number with so many digits, as it is typed: a power of ten without sign and zeros.

    Examples
    --------
    >>> written(3.1731e11), written(2056.05, 6), written(2e-9), written(0.35)
    ('3.173e11', '2056.05', '2e-9', '0.35')
    """
    return re.sub(r"e([+-])0*", lambda power: "e-" if power[1] == "-" else "e", f"{value:.{digits}g}")


def amount(value: float | None, unit: str = "", digits: int | None = None) -> str:
    """Say a quantity with its unit, at the size at which it is spoken of.

    Examples
    --------
    >>> amount(0.01, "USD"), amount(1.0, "year"), amount(95.0, "percent"), amount(2.5, "-")
    ('1 cent', '1 year', '95 %', '2.5')
    >>> amount(0.1, "USD"), amount(3.2e10, "USD"), amount(1.2e3, "MW"), amount(3.04e26, "FLOP")
    ('10 cents', '32 billion USD', '1.2 GW', '3e26 FLOP')
    >>> amount(22000.0, "TFLOP/s"), amount(1.1e9, "TFLOP/s"), amount(0.42, "TFLOP/s/W"), amount(2.5, "")
    ('22 PFLOP/s', '1.1e21 FLOP/s', '420 GFLOP/s/W', '2.5')
    """
    if value is None or not math.isfinite(value):
        return format_number(value)
    digits = load_patterns()["digits"] if digits is None else digits
    factor, named = _unit_scale(value, unit, digits)
    return _with_unit(format_number(value / factor, digits), named)


def amount_range(low: float, high: float, unit: str = "", about: float | None = None) -> tuple[str, str]:
    """Say the ends of an interval: the unit once, behind the upper one, where both share it.

    They share the unit in which `about`, which lies between them, is spoken of, unless one of them is too large or too
    small to be written in it. Ends that are written alike are one text.

    Examples
    --------
    >>> amount_range(190.0, 120e3, "TFLOP/s", 2300.0), amount_range(1.5e27, 1.2e30, "FLOP")
    (('0.19', '120 PFLOP/s'), ('1.5e27', '1.2e30 FLOP'))
    >>> amount_range(46e6, 48e9, "USD", 2.3e9), amount_range(30.0, 2.9e9, "TFLOP/s", 1e4)
    (('0.046', '48 billion USD'), ('30 TFLOP/s', '2.9e21 FLOP/s'))
    """
    ends = (low, high)
    if not all(map(math.isfinite, ends)):
        return amount(low, unit), amount(high, unit)
    digits = load_patterns()["digits"]
    factor, named = _unit_scale(high if about is None or not math.isfinite(about) else about, unit, digits)
    begin, end = (format_number(value / factor) for value in ends)
    if "e" in begin + end:
        factor, named = _unit_scale(high, unit, digits)
        if _unit_scale(low, unit, digits)[1] != named:
            return amount(low, unit), amount(high, unit)
        begin, end = (format_number(value / factor) for value in ends)
    whole = _with_unit(end, named)
    return (whole if begin == end else begin), whole


def range_text(texts: Sequence[str]) -> str:
    """Write the lowest and the highest of several texts, or the one text that both are.

    Examples
    --------
    >>> range_text(["3 %", "4 %", "5 %"]), range_text(["3 %", "3 %"])
    ('3 % to 5 %', '3 %')
    """
    low, high = texts[0], texts[-1]
    return fill("range", "same_text" if low == high else "", low=low, high=high)


def interval_text(low: float, high: float, begin: str, end: str) -> str:
    """Write the ends of an interval, of which `begin` and `end` are the texts; nothing if they are one number."""
    flags = ("same" if low == high else "", "same_text" if begin == end else "")
    return fill("interval", *flags, low=begin, high=end)


def _unit_scale(value: float, unit: str, digits: int) -> tuple[float, str]:
    return scale_of([float(f"{value:.{digits}g}")], unit)


def _with_unit(number: str, named: str) -> str:
    one = _SEVERAL.sub(r"\1", named) if number == "1" else named
    return f"{number} {one}".rstrip()


def scale_of(values: Sequence[float], unit: str) -> tuple[float, str]:
    """Return by what values in a unit are divided to be spoken of together, and what the unit is then called.

    Examples
    --------
    >>> scale_of([0.06, 0.04], "EFLOP/USD"), scale_of([1.2e3, 4e3], "MW"), scale_of([1.0], "1/yr")
    ((0.001, 'PFLOP/USD'), (1000.0, 'GW'), (1.0, 'a year'))
    >>> scale_of([1.7e6, 2.2e6], "USD"), scale_of([0.03], "USD")
    ((1000000.0, 'million USD'), (0.01, 'cents'))
    >>> scale_of([2400.0], "kg"), scale_of([3e3], "Mg"), scale_of([1.4], "kg")
    ((1000.0, 't'), (1000.0, 'kt'), (1.0, 'kg'))
    """
    from forecast import units

    if unit == "USD" or unit.startswith("USD/"):
        return _money(values, unit.removeprefix("USD"))
    if (scaled := _SCALED.fullmatch(unit)) is not None and (scaled["unit"] != "FLOP" or scaled["rest"]):
        own = _PREFIX_FACTORS.get(scaled["prefix"], 1.0)
        sizes = [abs(value) * own for value in values if math.isfinite(value) and value]
        middle = sorted(sizes)[len(sizes) // 2] if sizes else own
        prefix, factor = next(((p, f) for p, f in reversed(_PREFIX_FACTORS.items()) if middle >= f), ("", 1.0))
        if middle >= 1e21:
            prefix, factor = "", 1.0
        rest = scaled["rest"] or ""
        return factor / own, f"{prefix}{scaled['unit']}{units.label('1' + rest)[1:] if rest else ''}"
    if unit in _TONNES:
        sizes = sorted(abs(value) * _TONNES[unit] for value in values if math.isfinite(value))
        size = sizes[len(sizes) // 2] if sizes else 1.0
        factor, named = next((each for each in _MASSES if size >= each[0]), _MASSES[-1])
        return factor / _TONNES[unit], named
    if unit in _A_YEAR:
        return 1.0, "a year"
    if unit in ("min", "minute") and any(abs(value) >= _MAX_MINUTES for value in values if math.isfinite(value)):
        return 60.0, "h"
    text = units.label(unit) if unit and unit != "-" else ""  # as tables show what has none
    return 1.0, _SPOKEN_UNITS.get(text, text)


def _money(values: Sequence[float], rest: str) -> tuple[float, str]:
    sizes = sorted(abs(value) for value in values if math.isfinite(value))
    size = sizes[len(sizes) // 2] if sizes else 0.0
    if 0 < size < 1:
        return 0.01, f"cents{rest}"
    if size < _LARGEST_MONEY:
        return next(((factor, f"{word} USD{rest}") for factor, word in _MONEY if size >= factor), (1.0, f"USD{rest}"))
    return 1.0, f"USD{rest}"


def short_zeros(text: str) -> str:
    """Return a condition with its long round numbers as they are typed.

    Examples
    --------
    >>> short_zeros("run/bee >= 1000000000000")
    'run/bee >= 1e12'
    >>> short_zeros("run >= 20300 EFLOP")
    'run >= 20300 EFLOP'
    """
    return re.sub(r"(?<![\w.])([1-9])(0{5,})(?![\w.])", lambda found: f"{found[1]}e{len(found[2])}", text)
