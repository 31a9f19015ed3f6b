"""What the answers of a scenario must hold against its data and against one another, whatever they forecast.

- *pooled*: a row that is called pooled lies between the rows that it is the pool of, its median and its *never* alike.
- *observed*: where the forecast begins, its 90 % band contains the last observation; a running record starts at it.
- *already*: what the newest observation meets is so already, in every world.
- *nested*: a question that asks for more never comes before one that asks for less.
- *falls*: a series that rose through its history does not fall below its last observation in the median forecast.
- *levers*: each lever moves something that the scenario shows (`forecast.conformance.lever_checks`).

A rebuilt publication (``published_on``) is exempt of all but the last: it prints what was published.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from forecast import units
from forecast.base.dates import decimal_year
from forecast.formula import Comparison, Formula, Name, Node, parse_expression, tree
from forecast.projection.result import DateAnswer, ProjectedAnswer, Projection, ValueAnswer
from forecast.projection.result.observed_values import Standing, keeps_records, observed, standing
from forecast.report.words.date_text import as_text
from forecast.report.words.number_text import amount, percent

__all__ = ["RULES", "Breach", "breaches"]

RULES = ("pooled", "observed", "already", "nested", "falls", "levers")
#: Standard errors of a share of the worlds by which a pool may lie outside its rows.
MOST_ERRORS = 4.0
#: The first step is the date of the last observation where it lies within so many years of it.
NEAR = 1.0
#: Rounding of what is computed in two orders.
ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True)
class Breach:
    """A number of an answer that breaks a rule.

    Parameters
    ----------
    rule : str
        One of `RULES`.
    question : str
        Its name.
    message : str
        Which number it is, and what it was held against.
    """

    rule: str
    question: str
    message: str

    @property
    def plain(self) -> dict[str, str]:
        """The same as plain data."""
        return asdict(self)


def breaches(run: Projection) -> list[Breach]:
    """Return every number of a projection's answers that breaks a rule, question by question.

    Examples
    --------
    >>> import forecast
    >>> run = forecast.project({"start": 2025, "until": 2030, "quantities": {
    ...     "x": {"p05": 1, "p95": 4, "unit": "FLOP"}}, "questions": {
    ...     "one": {"when": "x >= 2"}, "two": {"when": "x >= 3"}}}, draws=64)
    >>> breaches(run)
    []
    """
    found: list[Breach] = []
    for answer in (*run.dates, *run.values):
        found += [*_pooled(answer), *_observed(answer), *_falls(answer)]
        if isinstance(answer, DateAnswer):
            found += _already(answer)
    return [*found, *_nested(run)]


def _pooled(answer: ProjectedAnswer) -> Iterator[Breach]:
    """Hold rows that are called pooled to those beside them."""
    labels = answer.run.labels
    for choice in answer.choices:
        values = answer.values(choice)
        called = [value for value in values if labels.get(value, value) == "pooled"]
        others = [value for value in values if value not in called]
        if not called or len(others) < 2:
            continue
        rows = [answer.over({**answer.default, choice: value}) for value in others]
        known = [row for row in rows if row is not None and row.medians is None]
        own = answer.over({**answer.default, choice: called[0]})
        if own is None or own.medians is not None or not known:
            continue
        low, high = min(row.median for row in known), max(row.median for row in known)
        if not low * (1 - ROUNDING) <= own.median <= high * (1 + ROUNDING):
            texts = [_shown(answer, value) for value in (own.median, low, high)]
            yield Breach(
                rule="pooled", question=answer.name,
                message=f"'{called[0]}' of {choice} is called pooled: its median is {texts[0]}, and those of the "
                f"others lie between {texts[1]} and {texts[2]}",
            )  # fmt: skip
        if isinstance(answer, DateAnswer):
            error = MOST_ERRORS * 0.5 / math.sqrt(answer.run.settings.draws)
            low, high = min(row.never for row in known), max(row.never for row in known)
            if not low - error <= own.never <= high + error:
                yield Breach(
                    rule="pooled", question=answer.name,
                    message=f"'{called[0]}' of {choice} is called pooled: it never comes with {percent(own.never)}, "
                    f"and the others with {percent(low)} to {percent(high)}",
                )  # fmt: skip


def _observed(answer: ProjectedAnswer) -> Iterator[Breach]:
    """Hold the first step of a quantity to its last observation."""
    name, quantities = _one_name(answer), answer.run.quantities
    last = _last(answer, name)
    if name is None or last is None:
        return
    start = answer.run.span[0]
    date = float(decimal_year([last.date])[0])
    if not 0 <= start - date <= NEAR:
        return
    levels = quantities[name].quantiles(_cell(answer, name))
    low, high = (float(units.convert(levels[i][0], quantities[name].unit, last.unit)) for i in (0, 4))
    if keeps_records(answer, name):
        rising = _rises(answer, name, last.unit)
        begins = low >= last.value * (1 - ROUNDING) if rising else high <= last.value * (1 + ROUNDING)
        what = "starts below its record" if rising else "starts above its record"
    else:
        begins, what = low <= last.value <= high, "starts apart from its last observation"
    if not begins:
        band = f"{amount(low, last.unit)} to {amount(high, last.unit)}"
        yield Breach(
            rule="observed", question=answer.name,
            message=f"{name} {what}, {amount(last.value, last.unit)} ({last.row or last.date[:7]}): {band} "
            f"in {start:.0f}",
        )  # fmt: skip


def _already(answer: DateAnswer) -> Iterator[Breach]:
    """Hold a question whose level the newest record meets to being so already."""
    name, found = _one_name(answer), answer.headline
    last = _last(answer, name)
    if name is None or last is None or found is None or not keeps_records(answer, name):
        return
    level = _threshold(answer)
    if level is None or found.already == 1 or float(decimal_year([last.date])[0]) > answer.run.span[0]:
        return
    op, value = level
    if (op in (">=", ">") and last.value >= value) or (op in ("<=", "<") and last.value <= value):
        yield Breach(
            rule="already", question=answer.name,
            message=f"{name} was {amount(last.value, last.unit)} in {last.date[:7]}, which meets {answer.text}: it is "
            f"so already with {percent(found.already)} only",
        )  # fmt: skip


def _nested(run: Projection) -> Iterator[Breach]:
    """Hold questions of one quantity to the order of their levels, in every world."""
    for one, other in itertools.permutations(run.dates, 2):
        first, second = _threshold(one), _threshold(other)
        same = first is not None and second is not None and _one_name(one) == _one_name(other) is not None
        if not same or first[0] != second[0] or one.worlds.dims != other.worlds.dims:  # type: ignore[index]
            continue
        more = first[1] > second[1] if first[0] in (">=", ">") else first[1] < second[1]  # type: ignore[index]
        if not more:
            continue
        late, soon = (np.nan_to_num(np.asarray(each.worlds.values, dtype=float), nan=np.inf) for each in (one, other))
        wrong = float(np.mean(late < soon - ROUNDING))
        if wrong:
            yield Breach(
                rule="nested", question=one.name,
                message=f"{one.text} comes before {other.text} in {percent(wrong)} of worlds",
            )  # fmt: skip


def _falls(answer: ProjectedAnswer) -> Iterator[Breach]:
    """Hold the median of a value to its last observation, against which the series has not gone so far."""
    if not isinstance(answer, ValueAnswer) or answer.growth:
        return
    name = _one_name(answer)
    last = _last(answer, name)
    if name is None or last is None:
        return
    rising = _rises(answer, name, last.unit)
    for each in answer.at:
        found = each.headline
        if found is None or found.medians is not None:
            continue
        back = found.median < last.value * (1 - ROUNDING) if rising else found.median > last.value * (1 + ROUNDING)
        if back:
            yield Breach(
                rule="falls", question=answer.name,
                message=f"{name} was {amount(last.value, last.unit)} in {last.date[:7]} after it "
                f"{'rose' if rising else 'fell'}; the median of {each.date[:4]} is {amount(found.median, last.unit)}",
            )  # fmt: skip


def _shown(answer: ProjectedAnswer, value: float) -> str:
    return as_text(value) if isinstance(answer, DateAnswer) else amount(value, answer.unit)


def _side(answer: ProjectedAnswer) -> tuple[Node, Comparison | None]:
    root = parse_expression(answer.text).root
    return (root.left, root) if isinstance(root, Comparison) else (root, None)


def _one_name(answer: ProjectedAnswer) -> str | None:
    """Return the one quantity that a question is about."""
    if "{" in answer.text:
        return None
    side, _ = _side(answer)
    return side.name if isinstance(side, Name) and side.name in answer.run.quantities else None


def _last(answer: ProjectedAnswer, name: str | None) -> Standing | None:
    """Return the last observation of the quantity that a question is about."""
    last = None if name is None else standing(answer)
    return last if last is not None and last.of == name else None


def _threshold(answer: ProjectedAnswer) -> tuple[str, float] | None:
    """Return the comparison of a question and its level, in the unit of the quantity, where that is a number."""
    name = _one_name(answer)
    _, root = _side(answer) if name is not None else (None, None)
    if name is None or root is None:
        return None
    level = root.right
    if any(isinstance(part, Name) for part in tree.walk(level)):
        return None
    unit = answer.run.quantities[name].unit
    bare = tree.constant(level)
    value: Any = tree.evaluate(level, {}) if bare else units.evaluate(Formula(level), {}, {}, target=unit)
    return root.op, float(value)


def _cell(answer: ProjectedAnswer, name: str) -> dict[str, str]:
    """Return the combination of a quantity's choices that the sentence is about, of rivals the one that weighs most."""
    cell = answer.run.quantities[name].cells[0]
    chosen = {}
    for choice, value in cell.items():
        weights = answer.run.rivals.get(choice)
        values = list(answer.run.choices[choice].values)
        heaviest = values[int(np.argmax(weights))] if weights else value
        chosen[choice] = answer.default.get(choice, heaviest)
    return chosen


def _rises(answer: ProjectedAnswer, name: str, unit: str) -> bool:
    """Tell whether what was observed of a quantity rose, from its first third to its last."""
    dates, values, _ = observed(answer, name, unit, answer.default)
    values = values[np.argsort(dates, kind="stable")]
    third = max(len(values) // 3, 1)
    return bool(np.median(values[-third:]) >= np.median(values[:third]))
