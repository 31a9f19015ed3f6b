"""Levers: what a reader of a scenario should be able to move, in the order in which they are offered.

::

    [levers.brain]                     # what --set takes: a quantity, an input, or a choice
    label = "Computing a brain needs"  # by default its label in the scenario
    range = ["1e14 FLOP/s", "1e18 FLOP/s"]
    [levers.metric]                    # a choice: its values are its range; a draw has its labels where no range stands
    label = "How machines are measured"
    [levers.machine]                   # growth from a date on, as --what-if takes it
    label = "Growth of supercomputers"
    growth = ["0.5*", "1.5*"]
    since = 2028

What `about` says beside them is what the lever stands for. A lever that moves nothing which the scenario shows is an
error of the scenario, and ``forecast scenarios check`` says so.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forecast import units
from forecast.contract.fields import is_number
from forecast.errors import UnknownNameError, printable
from forecast.scenarios.quantities import changes
from forecast.scenarios.settings.setting_values import names_target, parse_measured

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.quantities.node import QuantityKind
    from forecast.scenarios.spec import Choice

#: At so many places of its range a number is tried.
N_LEVER_POINTS = 9
#: A range of so many times its low end is tried in equal ratios, any other in equal steps.
_LOG_STEP_RATIO = 10.0
#: Digits of a place between the ends.
_LEVER_DIGITS = 2

_LEVER_KEYS = ("label", "range", "growth", "since", "about")
#: Words of a command that a shell takes as they are.
_UNQUOTED_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+/@:,")


@dataclass(frozen=True, kw_only=True)
class Lever:
    """One thing that a reader can move.

    Parameters
    ----------
    name : str
        What ``--set`` calls it, or the quantity whose growth is changed.
    label : str
        What it is called for people.
    ends : tuple of str
        What it is set to, from one end to the other: texts with units, values of a choice or a draw, or factors of
        growth such as ``"0.5*"``.
    since : float or None
        From when on growth is changed; None for what is set.
    choice : bool
        The ends are the values of a choice.
    about : str
        What it stands for.

    Examples
    --------
    >>> Lever(name="brain", label="Computing of a brain", ends=("1e14 FLOP/s", "1e18 FLOP/s")).command()
    '--set brain="1e14 FLOP/s"'
    >>> Lever(name="machine", label="Growth", ends=("0.5*", "1.5*"), since=2028.0).command()
    '--what-if "machine.growth*0.5 since 2028"'
    """

    name: str
    label: str
    ends: tuple[str, ...]
    since: float | None = None
    choice: bool = False
    about: str = ""

    @property
    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        beside = {"since": self.since, "choice": self.choice, "about": self.about}
        return {
            "name": self.name, "label": self.label, "ends": list(self.ends), **{k: v for k, v in beside.items() if v},
        }  # fmt: skip

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Lever:
        """Return the lever of plain data."""
        return cls(**{**plain, "ends": tuple(plain["ends"])})

    @property
    def span(self) -> str:
        """What it can be, in words."""
        if self.since is not None:
            factors = " to ".join(f"{end.removesuffix('*')} ×" for end in (self.ends[0], self.ends[-1]))
            return f"{factors} since {self.since:.10g}"
        words = self.choice or self.ends[0][:1].isalpha()
        return (", " if words else " to ").join(self.ends)

    def points(self, count: int = N_LEVER_POINTS, stands: tuple[float, str] | None = None) -> tuple[str, ...]:
        """Return what it is tried at from one end to the other, as texts like its ends; of a choice its values.

        Between two numbers these are so many places, in equal ratios where the range is wide and else in equal steps,
        rounded to two digits: of each, or of the range. Where it `stands`, at a number with its unit, is one of them
        if that lies between the ends: as many others lie on either side. There nothing is tried.

        Examples
        --------
        >>> Lever(name="x", label="x", ends=("1 USD", "100 USD")).points()
        ('1 USD', '1.8 USD', '3.2 USD', '5.6 USD', '10 USD', '18 USD', '32 USD', '56 USD', '100 USD')
        >>> Lever(name="x", label="x", ends=("0*", "2*"), since=2028.0).points()
        ('0*', '0.2*', '0.5*', '0.8*', '1*', '1.2*', '1.5*', '1.8*', '2*')
        >>> Lever(name="x", label="x", ends=("0*", "1.5*"), since=2028.0).points(5, (1.0, ""))
        ('0*', '0.5*', '1.2*', '1.5*')
        """
        numbers = None if self.choice else _parse_ends(self.ends)
        if numbers is None:
            return self.ends
        (low, high), unit = numbers
        ratios = low > 0 and high / low >= _LOG_STEP_RATIO
        own = math.nan if stands is None else stands[0]
        if stands is not None and unit.startswith(" "):
            own = float(units.convert(own, stands[1], unit.strip()))
        parts = [(low, own), (own, high)] if min(low, high) < own < max(low, high) else [(low, high)]
        steps = (count - 1) // len(parts)
        tried = [
            one * (other / one) ** (step / steps) if ratios else one + (other - one) * step / steps
            for one, other in parts
            for step in range(1, steps)
        ]
        told = [f"{_round_to_step(each, each if ratios else high - low)}{unit}" for each in tried]
        first, last = (() if at == own else (end,) for at, end in ((low, self.ends[0]), (high, self.ends[-1])))
        return tuple(dict.fromkeys((*first, *told, *last)))

    def moved(self, end: str) -> dict[str, Any]:
        """Return the keywords with which `forecast.project` has it at an end."""
        if self.since is None:
            return {"with_": {self.name: end}}
        return {"what_if": [{"of": self.name, "growth": end, "since": self.since}]}

    def command(self, end: str = "") -> str:
        """Return what is typed behind ``forecast run`` to move it, by default to its first end, or the second value."""
        end = end or self.ends[1 if self.choice else 0]
        if self.since is None:
            return f"--set {self.name}={_shell_quote(end)}"
        factor = float(end.removesuffix("*"))
        return f"--what-if {_shell_quote(changes.as_phrase({'of': self.name, 'growth': factor, 'since': self.since}))}"


def _parse_ends(ends: tuple[str, ...]) -> tuple[tuple[float, float], str] | None:
    """Return the numbers of two ends and what is written behind both of them; None where they are words.

    Examples
    --------
    >>> _parse_ends(("1 MW", "2 GW")), _parse_ends(("0.5*", "1.5*")), _parse_ends(("none", "some"))
    (((1.0, 2000.0), ' MW'), ((0.5, 1.5), '*'), None)
    """
    if len(ends) != 2:
        return None
    found = [parse_measured(end) for end in ends]
    if all(each is not None for each in found):
        (low, unit), (high, other) = (each for each in found if each is not None)
        return (low, float(units.convert(high, other, unit))), f" {unit}"
    factor = "*" if all(end.endswith("*") for end in ends) else ""
    try:
        low, high = (float(end.removesuffix(factor)) for end in ends)
    except ValueError:
        return None
    return (low, high), factor


def _round_to_step(value: float, size: float) -> str:
    """Return a number with as many digits as `size` has in its first two, as it is typed.

    Examples
    --------
    >>> [_round_to_step(*each) for each in ((5477.2, 5477.2), (0.09375, 0.35), (3.1623e16, 3.1623e16), (2000.125, 1.0))]
    ['5500', '0.09', '3.2e16', '2000.1']
    """
    place = math.floor(math.log10(abs(size))) - _LEVER_DIGITS + 1
    return re.sub(r"e\+?(-?)0*", r"e\1", f"{round(value / 10.0**place) * 10.0**place:.6g}")


def read_levers(
    reader: ScenarioReader,
    record: Mapping[str, Any],
    quantities: Mapping[str, QuantityKind],
    choices: Mapping[str, Choice],
    labels: Mapping[str, str],
) -> Iterator[Lever]:
    """Walk the levers that a scenario states; one of something that a change took away is left out.

    Raises
    ------
    ScenarioError, UnknownNameError
        Naming file and key.
    """
    for name, stated in reader.mapping(record, "levers", "").items():
        key = f"levers.{name}"
        reader.only(stated, _LEVER_KEYS, key)
        if not names_target(name, quantities, choices):
            continue
        label = reader.text(stated, "label", key, default=labels.get(name, "")).strip()
        if not label:
            raise reader.fail(f"{key}.label", "is missing: what the lever is called for people")
        labels_of = quantities[name].labels if name in quantities else ()
        since, ends = _read_ends(reader, stated, key, choices.get(name), labels_of)
        if len(ends) > 1:  # of a choice that was narrowed one value is left
            about = reader.text(stated, "about", key, default="")
            yield Lever(name=name, label=label, ends=ends, since=since, choice=name in choices, about=about)


def check_levers(record: Mapping[str, Any], quantities: Collection[str], choices: Collection[str], where: str) -> None:
    """Refuse a lever of something that is not there.

    Raises
    ------
    UnknownNameError
    """
    for name in record.get("levers", {}):
        if not names_target(name, quantities, choices):
            raise UnknownNameError("quantity or choice", name, [*quantities, *choices], where=f"{where}: levers")


def _read_ends(
    reader: ScenarioReader, stated: Mapping[str, Any], key: str, choice: Choice | None, drawn: tuple[str, ...]
) -> tuple[float | None, tuple[str, ...]]:
    """Return from when on it is moved, None for what is set, and its ends; `drawn` are the labels of a draw."""
    if ("growth" in stated) != ("since" in stated) or ("growth" in stated and "range" in stated):
        raise reader.fail(key, "expected range = [lowest, highest], or growth = ['0.5*', '1.5*'] with since = 2028")
    if "growth" in stated:
        given = _check_pair(reader, stated["growth"], f"{key}.growth")
        for end in given:
            changes.factor(reader, end, f"{key}.growth")
        return reader.decimal_year(stated["since"], f"{key}.since"), tuple(map(str, given))
    if choice is not None:
        if "range" in stated:
            raise reader.fail(f"{key}.range", "the range of a choice are its values")
        return None, choice.values
    if drawn and "range" not in stated:
        return None, drawn
    if "range" not in stated:
        raise reader.fail(f"{key}.range", "is missing: the lowest and the highest that it is set to")
    given = _check_pair(reader, stated["range"], f"{key}.range")
    for end in given:
        if not isinstance(end, str) and not is_number(end):
            raise reader.fail(f"{key}.range", f"expected numbers or texts with units, got {printable(end, 40)}")
    return None, tuple(each if isinstance(each, str) else f"{each:.10g}" for each in given)


def _check_pair(reader: ScenarioReader, value: object, key: str) -> tuple[Any, Any]:
    if not isinstance(value, (list, tuple)) or len(value) != 2 or value[0] == value[1]:
        raise reader.fail(key, f"expected a list of two different ends, got {printable(value, 40)}")
    return value[0], value[1]


def _shell_quote(text: str) -> str:
    """Quote what a shell would take apart."""
    return text if set(text) <= _UNQUOTED_CHARACTERS else json.dumps(text, ensure_ascii=False)
