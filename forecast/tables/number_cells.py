"""A column of numbers as people write them: separators, decimal commas, currencies, percent, multipliers, units.

What a comma or a point means is decided for the column as a whole. What cannot be decided is an error that gives both
readings and the option that chooses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from forecast import units
from forecast.errors import DataError, ForecastError, printable

_MARKS = {**dict.fromkeys("'’", "apostrophes"), "_": "underscores", **dict.fromkeys(" \xa0\u202f\u2009", "blanks")}
_CURRENCY_SIGNS = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW",
                   "R$": "BRL", "C$": "CAD", "A$": "AUD", "HK$": "HKD", "S$": "SGD", "NT$": "TWD"}  # fmt: skip
#: Codes of ISO 4217 that may stand before an amount: other capitals before a number are a name ("RTX 4090").
_CODES = "USD|EUR|GBP|JPY|CNY|RMB|CHF|CAD|AUD|NZD|INR|KRW|TWD|HKD|SGD|SEK|NOK|DKK|PLN|CZK|ILS|BRL|MXN|ZAR|TRY|RUB"
CURRENCIES = frozenset(_CODES.split("|"))
#: Currencies of countries that separate thousands by a comma.
_POINT_CURRENCIES = {"USD", "GBP"}
_MULTIPLIERS = {
    "k": 3, "K": 3, "M": 6, "B": 9, "G": 9, "T": 12, "thousand": 3, "million": 6, "mn": 6, "billion": 9, "bn": 9,
    "trillion": 12, "tn": 12,
}  # fmt: skip
_CELL_PATTERN = re.compile(
    r"(?P<open>\()?\s*(?:[~≈∼]|ca?\.(?=\s*\d)|about|approx\.?)?\s*(?P<sign>[-+−–])?\s*"
    rf"(?P<money>(?:[A-Z]{{1,2}})?\$|[€£¥₹₩]|(?:{_CODES})(?=[\s\d]))?\s*"
    r"(?P<sign2>[-+−–])?(?P<number>\d{1,3}(?:[ \xa0\u202f\u2009]\d{3})+(?![\d])(?:[.,]\d+)?|\d[\d.,_'’]*|[.,]\d+)"
    r"(?:(?P<exponent>[eE][-+]?\d{1,6}|[dD][-+]\d{1,3})"
    r"|\s*[x×·*]\s*10(?:(?:\^|\*\*)(?P<power>[-+−]?\d{1,3})|(?P<raised>⁻?[⁰¹²³⁴-⁹]{1,3})))?(?P<behind>-)?"
    r"(?P<error>\s*(?:±|\+/-)\s*[\d.,]+|\s*[(\[][^()\[\]]*\d[^()\[\]]*[)\]])?"
    r"\s*(?P<tail>(?![x×T]\s?\d)[^\d\s()\[\]*†‡.,;:+–<>=±^-][^()\[\]*†‡<>=±]{0,30}?)?\s*"
    r"(?P<close>\))?\s*(?:[*†‡]+|\[\w{1,4}\])?"
)  # fmt: skip
#: A power of ten alone, which is once itself.
_BARE_POWER_PATTERN = re.compile(r"^(\W?)10(?=\^|\*\*|[⁻⁰¹²³⁴-⁹])")
#: Groups of three digits, and those of the Indian system: 12,34,567.
_THREES_PATTERN = re.compile(r"\d{1,3}(\D\d{3})+|\d{1,2}(,\d{2})+,\d{3}")
_DECIMAL_COMMA_PATTERN = re.compile(r"[-+]?(\d+,\d{1,2}|\d+,\d{4,}|0,\d+|[\d.]+\.\d{3},\d+)")
_PLAIN_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")


class NumberCells(NamedTuple):
    """Numbers of a column, their unit if they have one, and how they were read if that could be doubted."""

    values: list[float]
    unit: str
    notes: tuple[str, ...]


class _Parts(NamedTuple):
    """A cell taken apart."""

    sign: str
    number: str
    exponent: str
    power: int
    unit: str
    left_out: str


def could_be_number(text: str) -> bool:
    """Return True if a cell has the form of a number, in whatever spelling.

    Examples
    --------
    >>> [could_be_number(text) for text in ("1,234", "$5M", "(3)", "~12 GB", "RTX 4090", "2024-06", "1-2")]
    [True, True, True, True, False, False, False]
    """
    return len(text) < 80 and _take_apart(text) is not None


def has_decimal_comma(text: str) -> bool:
    """Return True if a comma in a cell can be nothing else than a decimal one."""
    return _DECIMAL_COMMA_PATTERN.fullmatch(text) is not None


def _take_apart(text: str) -> _Parts | None:
    if "\\" in text or (len(text) > 1 and text[0] == text[-1] == "$"):  # of LaTeX
        plain = re.sub(r"\\(?:times|cdot)", "×", text.strip("$")).replace("\\pm", "±")
        text = re.sub(r"\\[,;! ]?|[{}]", "", plain)
    match = _CELL_PATTERN.fullmatch(_BARE_POWER_PATTERN.sub(r"\g<1>1×10", text))
    if not match or bool(match["open"]) != bool(match["close"]) or (match["sign"] and match["sign2"]):
        return None
    sign = match["sign"] or match["sign2"] or ""
    negative = (sign in "-−–" and sign != "") ^ bool(match["open"]) ^ bool(match["behind"])
    tail, power = (match["tail"] or "").strip(), 0
    tail = "" if tail in ("st", "nd", "rd", "th") else tail
    word, _, rest = tail.partition(" ")
    if word in _MULTIPLIERS or (word.lower() in _MULTIPLIERS and len(word) > 1):
        power, tail = _MULTIPLIERS.get(word, _MULTIPLIERS.get(word.lower(), 0)), rest.strip()
    elif match["money"] and tail[:1] in _MULTIPLIERS and len(tail) == 1:
        power, tail = _MULTIPLIERS[tail], ""
    money, tail = _CURRENCY_SIGNS.get(match["money"] or "", match["money"] or ""), _CURRENCY_SIGNS.get(tail, tail)
    tail = re.sub(r"^per ", "/", tail)
    unit = (
        f"{money}{tail}" if money and tail.startswith("/") else f"{money} {tail}" if money and tail else money or tail
    )
    raised = match["power"] or match["raised"]
    exponent = match["exponent"] or (f"e{raised.translate(_PLAIN_DIGITS)}" if raised else "")
    error = (match["error"] or "").strip()
    left_out = ("in brackets" if error[0] in "([" else "behind ±") if error else ""
    return _Parts("-" if negative else "", match["number"], exponent, power, unit, left_out)


def parse_number_cells(
    texts: Sequence[str], decimal: str, hint: str, where: str, at: Callable[[int], str]
) -> NumberCells:
    """Return the numbers of a column.

    Parameters
    ----------
    texts : sequence of str
        The cells that hold something, each `could_be_number`.
    decimal : str
        ``"comma"`` or ``"point"``. Default: decided by the column.
    hint : str
        What the file suggests where the column does not decide: ``"comma"``, ``"point"`` or nothing.
    where : str
        The column, for messages.
    at : callable
        From the position of a text to its place in the file, for messages.

    Raises
    ------
    DataError
        If the column cannot be read one way, or in two.
    UnitError
        If its cells are in units that do not convert.

    Examples
    --------
    >>> parse_number_cells(["$1,200", "$34,001.50"], "", "", "price", str)
    NumberCells(values=[1200.0, 34001.5], unit='USD', notes=('separators of thousands',))
    >>> parse_number_cells(["1.5k", "2M"], "", "", "params", str).values
    [1500.0, 2000000.0]
    >>> parse_number_cells(["2,5", "3"], "", "", "loss", str).notes
    ('decimal commas',)
    """
    cells = [part for text in texts if (part := _take_apart(text)) is not None]
    if any(part.power for part in cells):  # beside 12k, 3.4m is in millions and no length
        cells = [part._replace(unit="", power=_MULTIPLIERS[part.unit.upper()]) if part.unit in ("m", "b") else part
                 for part in cells]  # fmt: skip
    bodies, mark = _without_marks([part.number for part in cells], list(texts), where)
    comma, notes = _decimal_comma(bodies, decimal, hint, where, [part.unit for part in cells])
    notes = (*((f"{mark} between thousands",) if mark else ()), *notes)
    notes += tuple(f"what stands {place} left out" for place in sorted({part.left_out for part in cells} - {""}))
    notes += ("minus signs behind numbers",) if any(text.endswith("-") for text in texts) else ()
    values = []
    for i, (part, body, text) in enumerate(zip(cells, bodies, texts, strict=True)):
        thousands, point = (".", ",") if comma else (",", ".")
        whole, dot, fraction = body.partition(point) if body.count(point) < 2 else (body, "", "")
        if thousands in fraction or (thousands in whole and not _THREES_PATTERN.fullmatch(whole)) or point in whole:
            mark = "commas" if comma else "points"
            raise DataError(f"{at(i)}: '{printable(text, 60)}': expected a number with decimal {mark}")
        exponent = int(part.exponent[1:] or 0) + part.power if part.exponent else part.power
        number = f"{part.sign}{whole.replace(thousands, '') or '0'}{'.' if dot else ''}{fraction}"
        value = float(f"{number}e{exponent}" if exponent else number)
        if value in (float("inf"), float("-inf")) or (value == 0 and any(c in "123456789" for c in number)):
            raise DataError(f"{at(i)}: '{printable(text, 60)}': the number is outside the range of double precision")
        values.append(value)
    words = {word for text in texts[:1000] for word in re.findall(r"[A-Za-z]+", text) if word in _MULTIPLIERS}
    powers = {part.power for part in cells}
    notes += tuple(f"{word} = 1e{_MULTIPLIERS[word]}" for word in sorted(words) if _MULTIPLIERS[word] in powers)
    values, unit, more = _numbers_in_one_unit(values, [part.unit for part in cells], texts, where, at)
    return NumberCells(values, unit, (*notes, *more))


def _without_marks(bodies: list[str], texts: list[str], where: str) -> tuple[list[str], str]:
    """Take out separators of thousands that are neither comma nor point."""
    found, mark = [], ""
    for body, text in zip(bodies, texts, strict=True):
        used = {c for c in body if c in _MARKS}
        if used:
            whole = re.split("[.,]", body)[0]
            if used != {"_"} and not _THREES_PATTERN.fullmatch(whole):
                raise DataError(f"{where}: '{printable(text, 60)}': expected a number")
            mark = _MARKS[min(used)]
            body = "".join(c for c in body if c not in _MARKS)
        found.append(body)
    return found, mark


def _decimal_comma(
    bodies: Sequence[str], decimal: str, hint: str, where: str, units: Sequence[str] = ()
) -> tuple[bool, tuple[str, ...]]:
    """Decide what commas and points mean: by what only one reading allows, else by the option, the file, or not."""
    commas = [body for body in bodies if "," in body]
    if decimal:
        return decimal == "comma", (f"decimal {decimal}s",) if decimal == "comma" or commas else ()
    both = [body for body in bodies if "," in body and "." in body]
    only_comma = [b for b in both if b.rindex(",") > b.rindex(".")] + [b for b in bodies if b.count(".") > 1]
    only_comma += [b for b in commas if "." not in b and has_decimal_comma(b)]
    only_point = [b for b in both if b.rindex(",") < b.rindex(".")] + [b for b in commas if b.count(",") > 1]
    points = [b for b in bodies if b.count(".") == 1 and "," not in b]
    only_point += [b for b in points if not re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", b)]
    if only_comma and only_point:
        one, other = only_point[0], only_comma[0]
        raise DataError(
            f"{where}: '{one}' has a decimal point and '{other}' a decimal comma: say --decimal comma or point"
        )
    if only_comma:
        return True, ("decimal commas",)
    signs = {unit.partition("/")[0] for unit in units}
    # losses have three decimals, prices do not
    doubtful = points and (hint in ("comma", "either") or (len(signs) == 1 and signs <= CURRENCIES))
    if only_point or (not commas and not doubtful):
        return False, ("separators of thousands",) if commas else ()
    if not commas:
        body = points[0]
        raise DataError(f"{where}: '{body}' is {float(body):g} or {float(body.replace('.', '')):g}: say --decimal "
                        "point or --decimal comma")  # fmt: skip
    plain = [int(b) for b in bodies if b.isdigit()]
    # whole numbers beside them that are all below 1,000 are those that need no separator
    if hint == "point" or (plain and max(plain) < 1000 and len(set(plain)) > 1 and hint != "comma"):
        return False, ("separators of thousands",)
    if hint == "comma" and any(int(b.split(",")[0]) >= 0 for b in commas):
        return True, ("decimal commas, as in other columns",)
    # prices have two decimals or none: three digits behind the sign of a currency that writes a point are thousands
    if len(signs) == 1 and signs <= _POINT_CURRENCIES:
        return False, (f"separators of thousands, as {signs.pop()} has them",)
    body = commas[0]
    raise DataError(f"{where}: '{body}' is {float(body.replace(',', '')):g} or {float(body.replace(',', '.')):g}: say "
                    "--decimal point or --decimal comma")  # fmt: skip


def _numbers_in_one_unit(
    values: list[float], names: list[str], texts: Sequence[str], where: str, at: Callable[[int], str]
) -> tuple[list[float], str, tuple[str, ...]]:
    """Return the values in the unit that most cells have."""
    counts = Counter(names)
    bare = counts.pop("", 0)
    unit = counts.most_common(1)[0][0] if counts else ""
    others = [name for name in counts if name != unit]
    if not others and not (bare and unit):
        return values, unit, ()
    odd = unit not in _CURRENCY_SIGNS.values() and (2 * bare > len(names) or unit == "%" or not is_unit(unit))
    if bare and (odd or others):
        i = next(i for i, name in enumerate(names) if bool(name) == (2 * bare > len(names)))
        expected = "expected a number without a unit" if names[i] else f"expected a number in {printable(unit, 40)}"
        raise DataError(f"{at(i)}: '{printable(texts[i], 60)}': {expected}, as the other cells are")
    if not others:
        return values, unit, (f"{unit} (stated in {len(values) - bare:,} of {len(values):,} cells)",)

    factors = {"": 1.0, unit: 1.0}
    for name in others:
        factors[name] = units.factor(
            name, unit, where=f"{where}: '{printable(name, 40)}' beside '{printable(unit, 40)}'"
        )
    shown = ", ".join(map(str, others))
    return [v * factors[n] for v, n in zip(values, names, strict=True)], unit, (f"{shown} converted to {unit}",)


def is_unit(text: str) -> bool:
    """Return True if text is a unit of this program."""
    try:
        units.unit(text)
    except ForecastError:
        return False
    return bool(text)
