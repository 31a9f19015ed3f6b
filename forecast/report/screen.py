"""An answer on one screen: a brief answer as lines of text for a width and a height."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Sequence

from forecast.report.brief import Brief, Group, Row
from forecast.report.words.date_text import as_text
from forecast.report.words.number_text import amount, percent, plain

__all__ = ["HEIGHT", "lines"]

#: Lines of a screen that shows all of an answer in brief.
HEIGHT = 24
#: Columns for which the height is meant: a narrower terminal takes as many more lines as the same text needs there.
_FULL_WIDTH = 80
#: Lines of the tables, at least, where the sentences fill the height.
_LEAST_BODY = 4
#: So many numbers from memory are named.
_MAX_MEMORY = 3
#: Lines of the texts below tables that are always shown.
_MAX_NOTES = 4
#: So many rows say what a change moves, and so many lines what it does not.
_MAX_CHANGES, _MAX_UNMOVED = 6, 2
#: Columns of the chart, and of its labels, at most and at least.
_LEAST_CHART, _MOST_CHART, _LEAST_LABEL, _MOST_LABEL = 10, 60, 16, 44
_UNICODE = {"line": "─", "box": "━", "dot": "●", "more": "▶", "tick": "┬", "left": "◀"}
_ASCII = {"line": "-", "box": "=", "dot": "o", "more": ">", "tick": "|", "left": "<"}


def lines(
    brief: Brief, width: int = 80, height: int = HEIGHT, *, ascii_only: bool = False, charts: bool = True
) -> list[str]:
    """Return a brief answer as lines of at most `width` columns, but for longer words, and at most `height` of them.

    On less than 80 columns the same text takes more lines, and so does the answer: what a wider terminal shows is not
    left out on a narrow one, which is scrolled. The first rows are shown even where the sentences fill the height. A
    chart is left out where it does not fit, and a row whose numbers do not fit beside its label has them below it.

    Parameters
    ----------
    brief : Brief
    width, height : int
    ascii_only : bool
        Draw without characters that some terminals lack.
    charts : bool
        False leaves every chart out.
    """
    marks = _ASCII if ascii_only else _UNICODE
    height = max(height, math.ceil(height * _FULL_WIDTH / width))
    head = _wrapped(brief.sentence, width)
    foot = [line for text in _foot(brief, width) for line in _wrapped(text, width, hanging=2)]
    changes = _changes(brief, width)
    head += ["", *changes] if changes else []
    room = max(height - len(head) - len(foot) - 4, _LEAST_BODY)  # two blank lines, and two for what is not shown
    below = (
        min(sum(len(_wrapped(text, width, hanging=2)) for text in brief.notes) + 1, _MAX_NOTES) if brief.notes else 0
    )
    body, missing = _body(brief.groups, width, room - below, marks if charts else None) if brief.groups else ([], 0)
    left = ", ".join([*([f"{missing} more rows"] if missing > 1 else ["1 more row"] if missing else []), *brief.left])
    notes, unread = _notes(brief.notes, width, room - len(body))
    left = ", ".join([*([f"{unread} more lines"] if unread else []), *([left] if left else [])])
    tail = _wrapped(f"More with --show: {left}. Exact values: --json.", width, hanging=2)
    out = [*head, *(["", *body] if body else []), *(["", *notes] if notes else []), "", *foot, *tail]
    return [line.replace("…", ".") for line in out] if ascii_only else out


def _changes(brief: Brief, width: int) -> list[str]:
    """Return the table of what a change moves, and what it does not move in one line."""
    shown = brief.changes[:_MAX_CHANGES]
    out = []
    if shown:
        heads = ("as it was", "changed", "difference")
        cells = [(row.before, row.after, row.difference) for row in shown]
        sizes = [max(_width(text) for text in column) for column in zip(heads, *cells, strict=True)]
        free = max(width - sum(sizes) - 2 * len(sizes), _LEAST_LABEL)
        for label, texts in zip(["", *(row.label for row in shown)], [heads, *cells], strict=True):
            row = "".join(f"  {_padded(text, size, right=True)}" for text, size in zip(texts, sizes, strict=True))
            out.append(f"{_padded(_cut(label, free), free)}{row}".rstrip())
    if len(brief.changes) > len(shown):
        out.append(f"{len(brief.changes) - len(shown)} more move: --json has them.")
    if brief.unmoved:
        out += _wrapped(f"Not moved: {'; '.join(brief.unmoved)}.", width, hanging=2)[:_MAX_UNMOVED]
    return out


def _notes(notes: Sequence[str], width: int, room: int) -> tuple[list[str], int]:
    """Return the texts that there is room for, the first one whole, and how many are missing."""
    out: list[str] = []
    for place, text in enumerate(notes):
        more = _wrapped(text, width, hanging=2)
        if out and len(out) + len(more) > room:
            return out, len(notes) - place
        out += more
    return out, 0


def _body(groups: Sequence[Group], width: int, room: int, marks: dict[str, str] | None) -> tuple[list[str], int]:
    """Return the tables that there is room for, the first group before the others, and how many rows are missing."""
    body: list[str] = []
    missing = 0
    for place, group in enumerate(groups):
        # what comes after keeps a few lines, so that the first does not take all
        kept = min(3, room // 2, sum(len(later.rows) + 2 for later in groups[place + 1 :]))
        free = room - len(body) - (1 if body else 0) - kept
        drawn, left = _table(group, width, free, marks)
        body += ([""] if body and drawn else []) + drawn
        missing += left
    return body, missing


def _foot(brief: Brief, width: int) -> list[str]:
    out = [f"{brief.level}."] if brief.level else []
    out += [f"{said}." for said in brief.races]
    if brief.drivers:
        out.append(_moves(brief, width))
    if brief.levers:
        out.append(_levers(brief, width))
    if brief.memory:
        named = ", ".join(brief.memory[:_MAX_MEMORY])
        more = f" and {len(brief.memory) - _MAX_MEMORY} more" if len(brief.memory) > _MAX_MEMORY else ""
        out.append(f"From memory, not checked: {named}{more}.")
    if brief.today:
        out.append(f"Last observed: {brief.today}.")
    if brief.data:
        out.append(f"Newest data: {brief.data}.")
    if brief.record:
        out.append(f"{brief.record}.")
    return out


def _moves(brief: Brief, width: int) -> str:
    """Say what moves the answer, on two lines at most."""
    together = f"; several together {percent(brief.together)}" if brief.together >= 0.02 else ""
    for count in range(len(brief.drivers), 0, -1):
        told = ", ".join(f"{name} {percent(share)}" for name, share in brief.drivers[:count])
        text = f"What moves it (share of the variance, each alone): {told}{together}."
        if len(_wrapped(text, width, hanging=2)) <= 2:
            break
    return text


def _levers(brief: Brief, width: int) -> str:
    """Say what is typed to change it, on one line where one fits there."""
    for count in range(len(brief.levers), 0, -1):
        text = f"Change it: {'  '.join(brief.levers[:count])}"
        if _width(text) <= width:
            return text
    return text


def _wrapped(text: str, width: int, hanging: int = 0) -> list[str]:
    # a number keeps its unit, and a percentage its sign
    kept = text.replace(" %", "\u00a0%")
    made = textwrap.wrap(kept, width, subsequent_indent=" " * hanging, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in made]


def _table(group: Group, width: int, room: int, marks: dict[str, str] | None) -> tuple[list[str], int]:
    """Return the rows of a group that there is room for, with a chart where it fits, and how many rows are missing."""
    numbers = any(row.spread is not None for row in group.rows) and group.kind != "text"
    rows = _first_rows(group.rows, room - numbers)
    cells = [(row.text, row.interval, row.note) for row in rows]
    heads = ("median", "90 %", group.note) if numbers else ("", "", "")
    used = [i for i in range(3) if any(cell[i] for cell in cells)]
    widths = {i: max(_width(heads[i]), *(_width(cell[i]) for cell in cells)) for i in used}
    free = width - sum(widths.values()) - 2 * len(used)
    labels = _labels(rows)
    longest = max((_width(label) for row, label in zip(rows, labels, strict=True) if not _heads(row)), default=0)
    if free < min(longest, _LEAST_LABEL):  # each row takes two lines or more
        rows = _first_rows(group.rows, room // 2)
        return _stacked(rows, group.note, width), len(group.rows) - len(rows)
    missing = len(group.rows) - len(rows)
    if not rows or all(_heads(row) for row in rows):
        return [], len(group.rows)
    # an axis needs two ends, and a chart its columns beside labels that can still be read
    fits = free - 2 - _LEAST_CHART >= min(longest, _LEAST_LABEL)
    if marks is None or not numbers or not group.ends[1] > group.ends[0] or not fits:
        marks = None
    longest = min(longest, free if marks is None else min(_MOST_LABEL, free - 2 - _LEAST_CHART))
    labels = _shortened(labels, longest)
    chart = 0 if marks is None else min(free - 2 - longest, _MOST_CHART)

    out = [_cut(row.label, width) for row in rows if _heads(row)]  # over the whole width
    head = "".join(f"  {_padded(heads[i], widths[i], right=True)}" for i in used)
    if marks is not None:
        out.append(f"{_scale(group, chart, longest + 2)}{head}".rstrip())
    elif head.strip():
        out.append(f"{' ' * longest}{head}".rstrip())
    for row, label, cell in zip(rows, labels, cells, strict=True):
        if _heads(row):
            continue
        text = "".join(f"  {_padded(cell[i], widths[i], right=True)}" for i in used)
        bar = "" if marks is None else f"  {_bar(group, row, chart, marks)}"
        out.append(f"{_padded(label, longest)}{bar}{text}".rstrip())
    return out, missing


def _stacked(rows: Sequence[Row], note: str, width: int) -> list[str]:
    """Return rows whose numbers stand below their labels: a table for a terminal that has no room for columns."""
    out = []
    for row in rows:
        out += _wrapped(" ".join(filter(None, (row.of, row.label.strip()))), width)
        beside = [f"90 %: {row.interval}"] if row.interval else []
        beside += [f"{note}: {row.note}" if note else row.note] if row.note else []
        numbers = f"{row.text} ({'; '.join(beside)})" if beside else row.text
        out += _wrapped(f"  {numbers}", width, hanging=2) if numbers else []
    return out


def _heads(row: Row) -> bool:
    """Tell whether a row is a heading."""
    return row.spread is None and not row.text


def _shortened(labels: Sequence[str], width: int) -> list[str]:
    """Cut what is too long: the words that several begin with, so that what tells them apart stays."""
    long = [label for label in labels if _width(label) > width]
    if len(long) < 2:
        return list(labels)
    stems = [label.split(" ") for label in long]
    out = []
    for label in labels:
        words = label.split(" ")
        shared = max((_common(words, other) for other in stems if other != words), default=0)
        # no more words than must go
        ends = (f"… {' '.join(words[cut:])}" for cut in range(1, min(shared, len(words) - 1) + 1))
        fitting = next((end for end in ends if _width(end) <= width), "")
        least = f"… {' '.join(words[shared:])}" if 0 < shared < len(words) else label
        out.append(label if _width(label) <= width else fitting or least)
    return out


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _first_rows(rows: Sequence[Row], room: int) -> list[Row]:
    """Return the rows that there is room for: other questions are not crowded out by the values of choices."""
    if len(rows) <= room:
        return list(rows)
    if room < 1:
        return []
    own = [row for row in rows if not row.of]
    along = [row for row in rows if row.of]
    kept = own[: max(room - min(len(along), room // 2), 1)]
    kept += along[: room - len(kept)]
    return [row for row in rows if any(row is each for each in kept)]


def _labels(rows: Sequence[Row]) -> list[str]:
    """Put the choice before the first of its values."""
    stem = max((_width(row.of) for row in rows), default=0)
    out, before = [], ""
    for row in rows:
        if row.of:
            out.append(f"{row.of if row.of != before else '':<{stem}} {row.label}")
        else:
            out.append(row.label)
        before = row.of
    return out


def _position(group: Group, value: float, chart: int) -> int:
    low, high = group.ends
    if group.log:
        low, high, value = math.log(low), math.log(high), math.log(max(value, 1e-300))
    if not math.isfinite(value):
        return chart
    share = (value - low) / (high - low) if high > low else 0.5
    return min(max(round(share * (chart - 1)), 0), chart - 1)


def _bar(group: Group, row: Row, chart: int, marks: dict[str, str]) -> str:
    if row.spread is None:
        return " " * chart
    places = [_position(group, value, chart) for value in row.spread.quantiles if not math.isnan(value)]
    line = [" "] * chart
    for place in range(places[0], min(places[-1], chart - 1) + 1):
        line[place] = marks["line"]
    if row.spread.medians is None:
        for place in range(places[1], min(places[3], chart - 1) + 1):
            line[place] = marks["box"]
    if places[-1] >= chart:
        line[chart - 1] = marks["more"]
    if row.spread.medians is None and places[2] < chart:
        line[places[2]] = marks["dot"]
    return "".join(line)


def _scale(group: Group, chart: int, before: int) -> str:
    """Return the axis, behind so many columns of labels: its ends, and what lies between where there is room.

    Ends that are wider than the chart begin over the labels; where even these leave no room, they lose their units.
    """
    low, high = group.ends
    if group.kind == "date":
        left, right = as_text(low), as_text(high)
    elif group.factor is None:
        left, right = amount(low, group.unit), amount(high, group.unit)
    else:
        left, right = plain(low / group.factor), plain(high / group.factor)
    if len(left) + len(right) + 2 > before + chart:
        left, right = f"{low:.0e}", f"{high:.0e}"
    between = max(chart - len(left) - len(right), 2)
    line = list(f"{left}{' ' * between}{right}".rjust(before + chart))
    middle = as_text((low + high) / 2) if group.kind == "date" else ""
    at = before + chart // 2 - len(middle) // 2
    if middle and between >= len(middle) + 8 and high - low >= 2:
        line[at : at + len(middle)] = middle
    return "".join(line)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def _cut(text: str, width: int) -> str:
    """Cut a text at a word."""
    if _width(text) <= width:
        return text
    made = textwrap.shorten(text.strip(), max(width, 4), placeholder=" …")
    if len(made) > 3:
        return (text[: len(text) - len(text.lstrip())] + made)[:width]
    return f"{text[: width - 1]}…"


def _padded(text: str, width: int, *, right: bool = False) -> str:
    made = _cut(text, width)
    pad = " " * (width - _width(made))
    return pad + made if right else made + pad
