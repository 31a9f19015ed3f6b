"""A question in words, read as a line of ``forecast ask`` or ``run``: by the words that these have, and by units.

No model of language: a quantity of the world has a title, a name and synonyms, and a question names the quantity with
whose words it shares most, rare words counting more. Numbers with units say a level, or what a quantity is times; a
year says when. What does not stand out is not read.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from forecast.base.dates import MONTH_STARTS, today
from forecast.contract.registry import get_registry
from forecast.contract.specs import QuantitySpec, ScenarioSpec
from forecast.errors import ForecastError
from forecast.formula.numbers import POWERS_OF_TEN

#: How much a quantity must share of the rarity of a question's words to be meant; and how much of it one of its names
#: must have, and how far the next must lie behind, without a level in its unit and with one, which is evidence too.
CLEAR_SHARE, NAME_CLEAR, LEVEL_CLEAR = 0.45, (0.7, 1.15), (0.4, 1.8)
#: What shares less is about something else; and a scenario that has its title alone.
LEAST_SHARE, LEAST_TITLE_SHARE = 0.1, 0.3
_ASKED_WORD_PATTERN = re.compile(r"[a-z0-9]+(?:/[a-z]+)?")
_DATE_WORDS_PATTERN = re.compile(
    r"\b(?:(?:in|by|until|of|before|at|the) )*(?:(?P<part>end of|late|mid|middle of)[ -]|"
    r"(?:(?P<day>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)? (?:of )?)?"
    rf"(?P<month>{'|'.join(MONTH_STARTS)})\w*(?: (?P<after>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?)?,? )?"
    r"(?P<year>20[2-9]\d)(?:-(?P<number>0[1-9]|1[0-2])(?:-(?P<last>[0-3]\d))?)?\b"
    r"|\b(?:in|within) (?:the next )?(?P<years>\w+) years?\b(?: from now| time)?"
    r"|\b(?P<years_from>\w+) years? from (?:now|today)\b|\b(?P<next>next year)\b"
)
#: The day that a part of a year means.
_YEAR_PARTS = {"end of": "-12-31", "late": "-12-31", "mid": "-06-30", "middle of": "-06-30"}
_NUMBER_WORDS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "ten": 10, "twenty": 20, "fifty": 50}
_WHEN_PATTERN = re.compile(r"\b(?:when|how soon|(?:what|which) year|how long until)\b")
#: What asks how likely a level is.
_CHANCE_PATTERN = re.compile(
    r"\b(?:chance|odds|likel|probab|possible|more than|over|above|at least|reach|exceed|surpass|pass|cross|hit)"
)
#: What asks for a level from above.
_FALL_PATTERN = re.compile(r"\b(?:less than|below|under|cheaper than|falls? to|drops? to|down to|at most)\b")
#: And from below, of what one waits for to fall.
_RISE_PATTERN = re.compile(
    r"\b(?:more than|over|above|at least|exceeds?|surpass|rises? to|climbs? to|up to|doubles?)\b"
)
#: What asks for a share.
_ASKED_SHARE_PATTERN = re.compile(r"\b(?:what|which) (?:share|fraction|percentage|proportion|part)|\bproportion of")
_PER = {"hr": "hour", "h": "hour", "yr": "year", "annum": "year", "million token": "Mtoken", "kwh": "kWh"}
#: Formats of numbers, as quantities and people call them.
_FORMAT_PATTERN = re.compile(
    r"\b(?:(?P<bits>4|8|16|32)[ -]?bits?|bf(?P<brain>16)|int(?P<whole>4|8)|(?P<single>single) precision"
    r"|(?P<half>half) precision)\b"
)
_POWERS = {name.lower(): power for name, power in POWERS_OF_TEN.items()}
_UNIT_WORDS = {
    "dollar": "USD", "usd": "USD", "$": "USD", "watt": "W", "kilowatt": "kW", "megawatt": "MW", "gigawatt": "GW",
    "kw": "kW", "mw": "MW", "gw": "GW", "hour": "hour", "day": "day", "month": "month", "year": "year",
    "token": "token", "parameter": "param", "param": "param", "bit": "bit", "mb": "MB", "gb": "GB", "tb": "TB",
    "megabyte": "MB", "gigabyte": "GB", "terabyte": "TB", "cent": "cent",
    "nanometre": "nm", "nm": "nm", "flop": "FLOP", "gb/s": "GB/s", "tb/s": "TB/s", "pb/s": "PB/s", "%": "%",
    **{
        f"{word}flop{end}": f"{sign}FLOP/s"
        for word, sign in (("giga", "G"), ("tera", "T"), ("peta", "P"), ("exa", "E"), ("zetta", "Z"))
        for end in ("", "/s")
    },
    **{f"{sign.lower()}flop{end}": f"{sign}FLOP/s" for sign in "GTPEZ" for end in ("s", "/s")},
}  # fmt: skip
#: What a stretch of work takes, in hours of work: 40 a week, 2,000 a year.
_WORK_HOURS = {"hour": 1, "day": 8, "week": 40, "month": 167, "year": 2000}
_STRETCH = r"(hour|day|week|month|year)"
_WORK_PATTERN = re.compile(
    rf"\b(?:an?|one) {_STRETCH}(?:'s)? of (?:human )?work\b|\b{_STRETCH}[- ]long\b"
    rf"|\bworks? (?:alone )?(?:for )?(?:an?|one) (?:whole )?{_STRETCH}\b"
    rf"|\b(?:takes?|needs?) (?:an? )?(?:humans?|people|persons?|experts?) (?:an?|one) (?:full )?(?:work(?:ing)? )?"
    rf"{_STRETCH}\b"
)
#: A word that a device may be called by: letters and digits, or four digits.
_DEVICE_PATTERN = re.compile(r"\b(?!fp\d)(?:[a-z]+\d\w*?|\d{4,}\w*?)(?=s?\b)")
_AMOUNT_PATTERN = re.compile(
    r"(?<![\w.-])(?P<dollar>\$\s*)?(?P<number>\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*"
    r"(?P<multiple>thousand|million|billion|trillion|[kmbt](?![a-z/]))?\s*(?P<unit>(?!(?:per|an?)\b)[a-z$]+(?:/[a-z]+)?|%)?"
    r"(?:\s*(?:per|an?|/)\s*(?P<per>hour|hr|h|year|yr|annum|million token|kwh)s?\b)?"
    r"|\b(?:an?|one) (?P<one>dollar|token|[a-z]*watt(?![ -]hour)|[a-z]+flop)\b"
)
_BIG = r"(?:thousand|million|billion|trillion)\b"
#: What is typed in several ways, and the one that is read; numbers in words where a word after them makes them one.
_SPELLINGS: tuple[tuple[str, Any], ...] = (
    (r"(?:\b(\d[\d.]*) ?[x*×] ?)?\b10 ?(?:\^|\*\*) ?(\d+)\b", lambda m: f"{m[1] or 1}e{m[2]}"),
    (r"\b(\d[\d.,]*) ?(?:percent|per cent)\b", r"\1 %"), (r"(?<=\d)bn\b", " billion"), (r"(?<=\d)tn\b", " trillion"),
    (r"\b(?:u\.s\.|us) ?(dollars?\b|\$)", r"\1"), (r"\b1m tokens?\b", "million tokens"),
    (r"(?<!per )(?:\b(?:an?|one|1) )?\bmillion tokens?\b"
     r"(.*?\b(?:costs?|sells?)\b.*?(?:\d ?(?:cents?|dollars?|usd)\b|\$ ?\d[\d.]*))",
     r"tokens\1 per million tokens"),
    (r"(\btokens?\b.*) per (?:1m|million)\b(?! tokens?\b)", r"\1 per million tokens"),
    (r"\b(?:comput(?:e|ing)|processing) power\b", "compute"), (r"\br ?& ?d\b", "research"),
    (rf"\b({'|'.join(_NUMBER_WORDS)}) hundred\b", lambda m: f"{100 * _NUMBER_WORDS[m[1]]}"),
    (rf"\bhalf an?\b(?= {_BIG})", "0.5"), (rf"\b(?:an?|one)\b(?= {_BIG}(?! tokens?\b))", "1"),
    (rf"\b({'|'.join([*_NUMBER_WORDS][2:])})\b(?= (?:{_BIG}|(?:\w+watts|\w+flops?|dollars|hours|days|weeks|months)\b))",
     lambda m: f"{_NUMBER_WORDS[m[1]]}"),
    (r"\b(?:an?|one) (?:quarter|fourth)\b(?= of)", "25 %"), (r"\bthree (?:quarters|fourths)\b(?= of)", "75 %"),
    (r"\b(?:an?|one) third\b(?= of)", "33 %"), (r"\btwo thirds\b(?= of)", "67 %"),
    (r"\b(?:an? |one )?half\b(?= (?:of|the))", "50 %"),
)  # fmt: skip
_STOP_WORDS = frozenset(
    re.findall(
        r"[a-z']+",
        "a about all an and any are at be been become before big billion by can chance did do does end exceed for "
        "from get give gives go good had has have hit how i if in is it it's its large likely many most much need "
        "of on one or our pass probability reach should so still than that the their then there they this to up us use "
        "used was we what when where which who why will with would until year million thousand trillion s below "
        "cheaper drop fall less under above cross least likelihood made make more odds over per "
        "single someone surpass",
    )
)
#: Words that mean the same in questions about machines and what they cost; the first stands for all of its line.
_SYNONYMS = {
    word: line.split()[0]
    for line in (
        "gpu accelerator card",
        "speed fast fastest performance peak rate quick",
        "cost price expensive dear cheap costly cheaper pricey priciest",
        "reliable reliably reliability",
        "behind trail lag gap",
        "power electricity energy",
        "largest biggest best top frontier leading",
        "ai model llm",
        "centre center",
        "train pretrain",
        "utilisation utilization",
        "spend spent expenditure invest investment",
        "duration long last take",
    )
    for word in line.split()
}
#: What plans a training run, by the unit of what is given.
_PLANNED = {"USD": "budget", "FLOP": "compute", "day": "days", "param": "size", "token": "tokens", "MW": "power"}
_PLAN_PATTERN = re.compile(r"\b(?:what|which|how (?:big|large))\b.*\b(?:can|could)\b.*\btrain\b")


@dataclass(frozen=True)
class Reading:
    """A line that a question in words may mean.

    Parameters
    ----------
    text : str
        A question of ``forecast ask``, or the name of a scenario.
    at : str
        The date that it asks at; empty where it says none.
    clear : bool
        Whether the quantity stands out, so that the question can be answered as this.
    setting : str
        What is set, if anything is: of a scenario, or of which one of a quantity is asked.
    command : str
        That answers it: ``ask``, ``run``, ``plan``, or ``quantities show`` of what nothing here forecasts.
    """

    text: str
    at: str = ""
    clear: bool = False
    setting: str = ""
    command: str = "ask"

    @property
    def line(self) -> str:
        """The command to copy."""
        quoted = f'"{self.text}"' if " " in self.text and self.command == "ask" else self.text
        given = f" --set {self.setting}" if self.setting else ""
        return f"forecast {self.command} {quoted}{given}" + (f" --at {self.at}" if self.at else "")


def readings(question: str, most: int = 5) -> list[Reading]:
    """Return the lines that a question in words may mean, the likeliest first.

    Parameters
    ----------
    question : str
    most : int

    Examples
    --------
    >>> readings("when will a training run reach 1e29 FLOP")[0].line
    'forecast ask "largest-run >= 1e29 FLOP"'
    >>> readings("how tall is the Eiffel tower")
    []
    """
    text = _FORMAT_PATTERN.sub(_format, question.casefold().replace("’", "'"))
    for pattern, read in _SPELLINGS:
        text = re.sub(pattern, read, text)
    at, rest = _take_date(text)
    is_past, at = bool(at) and at < today(), "" if at < today() else at  # of which nothing is forecast
    asked = (_WHEN_PATTERN, _FALL_PATTERN, _RISE_PATTERN, _CHANCE_PATTERN)
    dated, falls, rises, chance = (pattern.search(text) is not None for pattern in asked)
    found: list[tuple[Reading, _Match]] = []
    for match in _ranked(rest, dated=dated, at=at):
        spec = match.spec
        amounts = match.amounts
        if isinstance(spec, ScenarioSpec):
            found.append((Reading(text=spec.name, setting=_setting_of_amount(spec, amounts), command="run"), match))
        elif not spec.forecast:
            found.append((Reading(text=spec.name, command="quantities show"), match))
        elif (
            formula := _formula(spec, amounts, asked=dated or chance or falls, dated=dated,
                                falls=falls or (spec.falls and not rises))
        ) is not None:  # fmt: skip
            found.append((Reading(text=formula, at=at, setting=match.setting), match))
    title = _take_date(question.casefold())[1].strip(" ?.,")  # which is what is meant, whatever else has its words
    found.sort(key=lambda each: each[1].spec.title.casefold() != title)
    if found and found[0][0].command == "ask":  # of a scenario the line is proposed
        first, match = found[0]
        ahead = match.share / found[1][1].share if len(found) > 1 else math.inf
        rules = (NAME_CLEAR, LEVEL_CLEAR) if match.amounts else (NAME_CLEAR,)
        clear = match.share >= CLEAR_SHARE and any(match.cover >= c and ahead >= lead for c, lead in rules)
        clear &= not match.astray and (not match.amounts or " " in first.text)  # every number has a place
        clear = not is_past and (clear or match.spec.title.casefold() == title)
        found[0] = (replace(first, clear=clear), match)
    return [*_plan_readings(rest, at), *(reading for reading, _ in found)][:most]


def _plan_readings(text: str, at: str) -> Iterator[Reading]:
    """Return the plan of a training run that a question of what can be trained asks for."""
    if _PLAN_PATTERN.search(text):
        for number, unit in _take_amounts(text)[0]:
            if unit in _PLANNED:
                by = f" --by {at}" if at and unit != "day" else ""
                yield Reading(text=f'--{_PLANNED[unit]} "{number} {unit}"{by}', command="plan")
                return


@dataclass(frozen=True)
class _Match:
    """How a quantity or a scenario goes with a question.

    Of the rarity of the question's words `share` counts what words of one of its names are not in the question,
    `cover` does not. `amounts` are its numbers with their units, and `setting` is the device that it names. Words with
    a number in them that none of the names has are `astray`.
    """

    spec: QuantitySpec | ScenarioSpec
    share: float
    cover: float
    amounts: list[tuple[str, str]]
    setting: str
    astray: bool


def _take_device(spec: QuantitySpec | ScenarioSpec, text: str, known: set[str]) -> tuple[str, str]:
    """Return a question without the device that it names, of which the quantity is asked, and what is set for it.

    Words that are `known` stand in the quantity's own names.
    """
    marks = set(_DEVICE_PATTERN.findall(text)) - known
    if not (marks and isinstance(spec, QuantitySpec) and any(map(_DEVICE_PATTERN.search, spec.settings.values()))):
        return text, ""
    from forecast.scenarios.scenario import Scenario

    choices = Scenario.load(spec.forecast.partition(".")[0]).choices
    for key, default in spec.settings.items():
        parts = {value: set(re.split(r"\W+", value)) for value in choices[key].values}
        fitting = [value for value, its in parts.items() if its & marks]
        if fitting:
            said = set(_ASKED_WORD_PATTERN.findall(text))
            own = max(fitting, key=lambda v: (len(parts[v] & said), -len(parts[v] - said), v == default))
            rest = re.sub(rf"\b(?:{'|'.join(map(re.escape, sorted(parts[own])))})s?\b", " ", text)
            return rest, "" if own == default else f"{key}={own}"
    return text, ""


def _setting_of_amount(spec: ScenarioSpec, amounts: Sequence[tuple[str, str]]) -> str:
    """Return what the first amount of a question sets in a scenario; empty for nothing."""
    for number, unit in amounts:
        for own, quantity in spec.amounts.items():
            if unit and _same_unit(unit, own):
                return f'{quantity}="{number} {unit}"'
    return ""


def _take_date(text: str) -> tuple[str, str]:
    """Return the date of a question, and the text without it."""
    found = _DATE_WORDS_PATTERN.search(text)
    if found is None:
        return "", text
    rest = text[: found.start()] + " " + text[found.end() :]
    if found["year"]:
        month = found["number"] or (f"{MONTH_STARTS.index(found['month']) + 1:02}" if found["month"] else "")
        month += f"-{int(day):02}" if (day := found["day"] or found["after"] or found["last"]) else ""
        part = found["part"] or ("end of" if found[0].startswith("by ") else "")  # by a year is by its end
        return found["year"] + (f"-{month}" if month else _YEAR_PARTS.get(part, "")), rest
    told = "1" if found["next"] else found["years"] or found["years_from"]
    years = int(told) if told.isdecimal() and len(told) < 3 else _NUMBER_WORDS.get(told)
    if years is None:
        return "", text
    year, month = today().split("-")[:2]
    return f"{int(year) + years}{'' if found['next'] else f'-{month}'}", rest


def _format(found: re.Match[str]) -> str:
    bits = found["bits"] or found["brain"] or found["whole"] or ("32" if found["single"] else "16")
    return f"fp{bits}"


def _take_amounts(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Return numbers with their units, as one line has them, and the words that are left."""
    amounts: list[tuple[str, str]] = []

    def of_work(found: re.Match[str]) -> str:
        amounts.append((f"{_WORK_HOURS[next(filter(None, found.groups()))]}", "h"))
        return " work "

    def of_number(found: re.Match[str]) -> str:
        word = found["one"] or found["unit"] or ""
        unit = "USD" if found["dollar"] else _UNIT_WORDS.get(word) or _UNIT_WORDS.get(word.removesuffix("s"), "")
        if found["one"] and not unit:
            return found[0]
        multiple, per, number = found["multiple"] or "", found["per"], (found["number"] or "1").replace(",", "")
        number, unit = (f"{float(number) / 100:g}", "USD") if unit == "cent" else (number, unit)
        amounts.append((_as_typed(number, multiple), f"{unit}/{_PER.get(per, per)}" if unit and per else unit))
        return " " if unit and not found["one"] else f" {word} "

    text = _WORK_PATTERN.sub(of_work, text)
    return amounts, _stemmed_words(_AMOUNT_PATTERN.sub(of_number, text))


def _as_typed(number: str, multiple: str) -> str:
    """Return a number as one line has it, close to how it was typed: ``20M``, ``10e9``.

    Examples
    --------
    >>> _as_typed("20", "m"), _as_typed("10", "billion"), _as_typed("1e29", "")
    ('20M', '10e9', '1e29')
    """
    if multiple in ("k", "m", "b", "t"):
        return number + {"k": "k"}.get(multiple, multiple.upper())
    return f"{number}e{_POWERS[multiple]}" if multiple and "e" not in number else number


def _stemmed_words(text: str) -> list[str]:
    plain = re.sub(r"(\d+) ?(?:%|percent\b|per cent\b)", r"\1pct", _FORMAT_PATTERN.sub(_format, text.casefold()))
    plain = plain.replace("kilowatt-hour", "kwh").replace("kilowatt hour", "kwh")
    words = (w for w in _ASKED_WORD_PATTERN.findall(plain.replace("-", " ")) if w not in _STOP_WORDS)
    return [_SYNONYMS.get(word, _SYNONYMS.get(stem := _stem_word(word), stem)) for word in words]


def _stem_word(word: str) -> str:
    """Return a word without the endings of plurals and verbs.

    Examples
    --------
    >>> [_stem_word(word) for word in ("tokens", "costs", "training", "bits", "class")]
    ['token', 'cost', 'train', 'bit', 'class']
    """
    for ending in ("ing", "ed", "est", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word


def _ranked(text: str, *, dated: bool, at: str) -> list[_Match]:
    """Return the quantities and scenarios that share words with a question, those that share most first."""
    records = (each.spec for kind in ("quantity", "scenario") for each in get_registry().records(kind, parts=False))
    specs = [spec for spec in records if isinstance(spec, (QuantitySpec, ScenarioSpec))]
    texts = {spec.name: (spec.name.replace("-", " "), spec.title, *spec.synonyms) for spec in specs}
    phrases = {name: [set(_stemmed_words(each)) for each in group] for name, group in texts.items()}
    by_title = [spec.name for spec in specs if isinstance(spec, ScenarioSpec) and not spec.synonyms]
    counts = Counter(word for name, group in phrases.items() if name not in by_title for word in set().union(*group))
    rarity = {word: math.log((1 + len(phrases)) / (0.5 + count)) for word, count in counts.items()}
    unknown = math.log((1 + len(phrases)) / 0.5)

    def rarity_of(words: set[str]) -> float:
        return sum(rarity.get(word, unknown) for word in words)

    @functools.cache
    def read(rest: str) -> tuple[list[tuple[str, str]], list[str]]:
        """Read what is the same for every quantity of whose devices the question names none."""
        amounts, words = _take_amounts(rest)
        return amounts, [_spelt(word, counts) for word in words]

    found = []
    for spec in specs:
        known: set[str] = set().union(*phrases[spec.name])
        rest, setting = _take_device(spec, text, known)
        amounts, words = read(rest)
        if not (isinstance(spec, QuantitySpec) and spec.scale == "share"):  # a share of tasks, say: no level of it
            words = [*words, *(f"{number}pct" for number, unit in amounts if unit == "%")]
            amounts = [each for each in amounts if each[1] != "%"]
        whole = rarity_of(set(words))
        share = cover = 0.0
        for phrase in phrases[spec.name]:
            shared, size = rarity_of(phrase & set(words)), rarity_of(phrase)
            if whole and size:
                share = max(share, shared / whole * (0.5 + 0.5 * shared / size))
                cover = max(cover, shared / whole)
        if not share:
            continue
        level_units = [unit for _, unit in amounts]
        astray = any(any(map(str.isdigit, word)) and word not in known for word in words)
        share *= 0.6 if astray else 1.0
        if isinstance(spec, QuantitySpec):
            hinted = [unit for word in words if (unit := _UNIT_WORDS.get(word))]
            share *= 1.5 if any(_same_unit(unit, spec.unit) for unit in hinted) else 1.0
            share *= 1.5 if spec.scale == "share" and _ASKED_SHARE_PATTERN.search(text) else 1.0
            share *= _fit_of_units(spec, level_units, dated=dated)
            share *= 1.0 if spec.forecast or not (dated or level_units) else 0.7  # which can be shown, and not asked
        elif level_units:
            share *= 1.5 if not dated and _setting_of_amount(spec, [("1", unit) for unit in level_units]) else 0.5
        share *= 0.7 if at and isinstance(spec, ScenarioSpec) else 1.0  # whose line has no place for a date
        few = max(len(phrase & set(words)) for phrase in phrases[spec.name]) < 2  # words in common
        if share >= (LEAST_SHARE if spec.name not in by_title else 1.0 if few else LEAST_TITLE_SHARE):
            found.append(_Match(spec, share, cover, amounts, setting, astray))
    # a scenario that says no other words for its title is proposed after those that do
    return sorted(found, key=lambda match: (match.spec.name in by_title, -match.share))


def _spelt(word: str, known: Mapping[str, int]) -> str:
    """Return a word as some name has it, where it is one but for a letter or two."""
    if len(word) < 7 or word in known:
        return word
    return next(iter(difflib.get_close_matches(word, known, 1, 0.87)), word)


def _fit_of_units(spec: QuantitySpec, level_units: Sequence[str], *, dated: bool) -> float:
    """Return how well the numbers of a question go with a quantity: more than 1 where a level is one of it."""
    if not level_units:
        return 1.0
    if _is_level(spec, level_units) or _is_factor(spec, level_units):
        return 1.5
    return 0.5 if dated else 0.8


def _is_level(spec: QuantitySpec, level_units: Sequence[str]) -> bool:
    return len(level_units) == 1 and bool(_level_unit(spec, level_units[0]))


def _level_unit(spec: QuantitySpec, unit: str) -> str:
    """Return the unit in which a number is a level of a quantity, a bare one's own; empty where it is none.

    Of what flows the time may be left out: dollars of a spending a year.
    """
    if _same_unit(unit, spec.unit):
        return unit or "1"
    flow = re.search(r"/(?:hour|year)$", spec.unit)
    return unit + flow[0] if flow and unit and _same_unit(unit + flow[0], spec.unit) else ""


def _is_factor(spec: QuantitySpec, level_units: Sequence[str]) -> bool:
    """Tell whether a quantity times the first number is what the second is of, or something else that has a unit."""
    if not level_units[0] or "/" not in spec.unit or _same_unit(level_units[0], "hour"):
        return False
    product = f"({spec.unit})*({level_units[0]})"
    if len(level_units) == 2:
        return _same_unit(product, level_units[1])
    # it cancels
    return len(level_units) == 1 and any(_same_unit(part, level_units[0]) for part in spec.unit.split("/")[1:])


def _same_unit(one: str, other: str) -> bool:
    from forecast import units

    with contextlib.suppress(ForecastError):
        return bool(units.same_dimension(one or "1", other or "1"))
    return False


def _formula(
    spec: QuantitySpec, amounts: Sequence[tuple[str, str]], *, asked: bool, dated: bool, falls: bool
) -> str | None:
    """Return the question of a quantity with the numbers that stand in words; None where they do not go together."""
    level_units = [unit for _, unit in amounts]
    levels = [f"{number} {unit}".strip() for number, unit in amounts]
    if len(amounts) == 1 and (_is_level(spec, level_units) or (dated and not level_units[0])):
        # a bare number is in the quantity's unit
        level = f"{amounts[0][0]} {_level_unit(spec, level_units[0]) if level_units[0] else spec.unit}".strip()
        level = f"{float(amounts[0][0]) / 100:g}" if level_units[0] == "%" else level
        return f"{spec.name} {'<=' if falls else '>='} {level}" if asked else spec.name
    if amounts and _is_factor(spec, level_units):
        if len(amounts) == 2:
            return f"{spec.name} * {levels[0]} >= {levels[1]}"
        return spec.name if amounts[0][0] == "1" else f"{levels[0]} * {spec.name}"
    return None if dated else spec.name
