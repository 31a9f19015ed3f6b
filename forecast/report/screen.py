"""An answer on one screen: a brief answer as lines of text for a width and a height."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence

from forecast.report.brief import Brief
from forecast.report.rows import COLUMNS, ReportRow, RowGroup
from forecast.report.words.date_text import as_text
from forecast.report.words.number_text import format_number, in_signs, percent, scale_of
from forecast.report.words.patterns import fill
from forecast.sensitivity.first_order import MIN_DRIVER_SHARE

#: Lines of a screen that shows all of an answer in brief.
HEIGHT = 24
#: Columns for which the height is meant: a narrower terminal takes as many more lines as the same text needs there.
_FULL_WIDTH = 80
#: Lines of the tables, at least, where the sentences fill the height.
_MIN_BODY_LINES = 4
#: What is said before the sentences of races, drivers and levers, and after them.
_DETAILS = ("level", "dates", "today"), ("memory", "observed")
#: Lines of the texts below tables that are always shown.
_MAX_NOTES = 4
#: So many rows say what a change moves, and so many lines what it does not.
_MAX_CHANGES, _MAX_UNMOVED = 6, 2
#: Columns of the chart, at least where the terminal has its full width and where it is narrower, and at most.
_MIN_CHART_WIDTH, _MIN_NARROW_CHART_WIDTH, _MAX_CHART_WIDTH = 24, 10, 60
#: Columns of the labels, at least and beside a chart at most, and the lines into which one is broken before it is cut.
_MIN_LABEL_WIDTH, _MAX_LABEL_WIDTH, _MAX_LABEL_LINES = 16, 44, 3
_UNICODE = {"line": "─", "box": "━", "dot": "●", "more": "▶", "tick": "┬", "left": "◀"}
_ASCII = {"line": "-", "box": "=", "dot": "o", "more": ">", "tick": "|", "left": "<"}


def brief_lines(
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
    said = _wrap_text(brief.sentence, width)
    foot = [line for text in _foot_lines(brief, width) for line in _wrap_text(text, width, hanging=2)]
    said += ["", *_wrap_text(brief.differs, width)] if brief.differs else []
    below = (
        min(sum(len(_wrap_text(text, width, hanging=2)) for text in brief.notes) + 1, _MAX_NOTES) if brief.notes else 0
    )
    for most, less in ((_MAX_CHANGES, 0), (_MAX_CHANGES, 1), (3, 1), (1, 1)):  # fewer lines where all would be too high
        changes, least = _change_lines(brief, width, most), _MIN_BODY_LINES - less
        head = [*said, *(["", *changes] if changes else [])]
        room = max(height - len(head) - len(foot) - 4, least)  # two blank lines, and two for what is not shown
        body, missing, key = list[str](), 0, list[str]()
        for _ in range(2 if brief.groups else 0):  # the key of the marks takes lines from the tables
            body, missing = _body_lines(brief, width, room - below - len(key), marks if charts else None)
            key = [] if room <= _MIN_BODY_LINES else _wrap_text(_key_of_marks(brief, body, marks), width, hanging=2)
        more = [f"{missing} more row{'s' * (missing > 1)}"] if missing else []
        left = ", ".join([*more, *brief.left])
        body += key
        notes, unread = _fitting_notes(brief.notes, width, room - len(body))
        left = ", ".join([*([f"{unread} more lines"] if unread else []), *([left] if left else [])])
        tail = _wrap_text(f"More with --show: {left}. Exact values: --json.", width, hanging=2)
        out = [*head, *(["", *body] if body else []), *(["", *notes] if notes else []), "", *foot, *tail]
        if len(out) <= height:
            break
    return [line.replace("…", ".") for line in out] if ascii_only else out


def _key_of_marks(brief: Brief, body: Sequence[str], marks: dict[str, str]) -> str:
    """Explain the marks that the tables have; empty where they have none."""
    drawn, texts = "".join(body), []
    if any(group.columns == COLUMNS["rank"] and group.kind == "text" for group in brief.groups):
        texts = ["a percentage is the share of worlds in which it is best", "a tier has those too close to tell apart"]
        texts += ["(est.) estimated, as its price"] if "(est.)" in drawn else []
    elif any(group.kind != "text" for group in brief.groups):
        meanings = {marks["dot"]: "median", marks["box"]: "middle half", marks["line"]: "90 %"}
        texts = [f"{mark} {meaning}" for mark, meaning in meanings.items() if mark in drawn]
    for start, end in [group.ends for group in brief.groups if group.kind == "date"][:1]:
        after = " ".join(mark for mark in (marks["more"], f">{as_text(end)}") if mark in drawn)
        texts += [f"{after} after {as_text(end, fine=True)}, or never"] if after else []
        texts += [f"≤{as_text(start, fine=True, short=True)} by then or earlier"] if "≤" in drawn else []
    return f"Marks: {'; '.join(texts)}." if texts else ""


def _change_lines(brief: Brief, width: int, most: int) -> list[str]:
    """Return the table of what a change moves, of `most` rows, and what it does not move in one line."""
    shown = brief.changes.rows[:most]
    out = []
    if shown:
        heads, cells = brief.changes.columns, [row.cells for row in shown]
        sizes = [max(_width(text) for text in column) for column in zip(heads, *cells, strict=True)]
        free = max(width - sum(sizes) - 2 * len(sizes), _MIN_LABEL_WIDTH)
        for label, texts in zip(["", *(row.label for row in shown)], [heads, *cells], strict=True):
            row = "".join(f"  {_pad_text(text, size, right=True)}" for text, size in zip(texts, sizes, strict=True))
            out.append(f"{_pad_text(_truncate(label, free), free)}{row}".rstrip())
    if len(brief.changes.rows) > len(shown):
        out.append(f"{len(brief.changes.rows) - len(shown)} more move: --json has them.")
    if brief.unmoved:
        out += _wrap_text(f"Not moved: {'; '.join(brief.unmoved)}.", width, hanging=2)[:_MAX_UNMOVED]
    return out


def _fitting_notes(notes: Sequence[str], width: int, room: int) -> tuple[list[str], int]:
    """Return the texts that there is room for, the first one whole, and how many are missing."""
    out: list[str] = []
    for place, text in enumerate(notes):
        more = _wrap_text(text, width, hanging=2)
        if out and len(out) + len(more) > room:
            return out, len(notes) - place
        out += more
    return out, 0


def _body_lines(brief: Brief, width: int, room: int, marks: dict[str, str] | None) -> tuple[list[str], int]:
    """Return the tables that there is room for, the first group before the others, and how many rows are missing."""
    body: list[str] = []
    missing = 0
    for place, group in enumerate(brief.groups):
        # what comes after keeps a few lines, so that the first does not take all
        saved = min(3, room // 2, sum(len(later.rows) + 2 for later in brief.groups[place + 1 :]))
        free = room - len(body) - (1 if body else 0) - saved if place else max(room - saved, min(room, _MIN_BODY_LINES))
        lines, left = _group_table(group, width, free, marks, brief.choices)
        body += ([""] if body and lines else []) + lines
        missing += left
    return body, missing


def _foot_lines(brief: Brief, width: int) -> list[str]:
    before, after = ([brief.details.get(name, "") for name in names] for names in _DETAILS)
    out = [*before, *(f"{text}." for text in brief.races)]
    if brief.drivers:
        out.append(_sensitivity_lines(brief, width))
    if brief.levers:
        out.append(_lever_line(brief, width))
    rests_on = " ".join(filter(None, (brief.details.get(name) for name in ("data", "record"))))
    return [text for text in (*out, *after, rests_on) if text]


#: Of what explains less of the variance, the names tell a reader little.
LARGE_DRIVER_SHARE = 0.1


def _sensitivity_lines(brief: Brief, width: int) -> str:
    """Say what moves the answer, on two lines at most."""
    together = f"; several together {percent(brief.together)}" if brief.together >= MIN_DRIVER_SHARE else ""
    name, most = brief.drivers[0]
    if most < LARGE_DRIVER_SHARE:
        return f"Nothing moves it much by itself (most: {name}, {percent(most)} of the variance){together}."
    shares = [f"{name} {percent(share)}" for name, share in brief.drivers]
    shares[:1] = [f"{each} of the variance" for each in shares[:1]]
    for count in range(len(shares), 0, -1):
        text = f"Most sensitive to: {', '.join(shares[:count])}{together}."
        if len(_wrap_text(text, width, hanging=2)) <= 2:
            break
    return text


def _lever_line(brief: Brief, width: int) -> str:
    """Say what is typed to change it, on one line where one fits there."""
    for count in range(len(brief.levers), 0, -1):
        text = f"Change it: {'  '.join(brief.levers[:count])}"
        if _width(text) <= width:
            return text
    return text


def _wrap_text(text: str, width: int, hanging: int = 0) -> list[str]:
    # a number keeps its unit, and a percentage its sign
    text = text.replace(" %", "\u00a0%")
    result = textwrap.wrap(text, width, subsequent_indent=" " * hanging, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in result]


def _group_table(
    group: RowGroup, width: int, room: int, marks: dict[str, str] | None, choices: Mapping[str, float]
) -> tuple[list[str], int]:
    """Return the rows of a group that there is room for, with a chart where it fits, and how many rows are missing.

    Rows are left out before the chart is, or a label is cut: those along choices that move the answer least first.
    Rows with the numbers of the leading one are named below.
    """
    alike = [row for row in group.rows if row.repeats]
    rows = [row for row in group.rows if not row.repeats]
    same = _wrap_text(_same_under(alike), width, hanging=2) if alike else []
    most = min(len(rows), max(room, 0) + sum(not row.label.strip() for row in rows))  # a label takes a line or more
    for below in (same, []) if same else ([],):
        for count in range(most, 0, -1):
            chosen = _first_rows(rows, count, choices)
            if all(row.is_heading for row in chosen):
                break
            out = _chart_lines(group, chosen, width, marks)
            if len(out) + len(below) <= room:
                return [*out, *below], len(rows) - count + (0 if below else len(alike))
    return [], len(group.rows)


def _same_under(rows: Sequence[ReportRow]) -> str:
    """Say under which values of choices an answer has the numbers that it leads with."""
    by_choice: dict[str, list[str]] = {}
    for row in rows:
        by_choice.setdefault(row.of, []).append(row.label)
    texts = [f"{choice}: {', '.join(values)}" for choice, values in by_choice.items()]
    return f"The same under {'; '.join(texts)}."


def _chart_lines(group: RowGroup, rows: Sequence[ReportRow], width: int, marks: dict[str, str] | None) -> list[str]:
    """Return rows as lines: labels, a chart where one fits, and columns of numbers, each in one unit."""
    spans = any(row.spread is not None for row in rows) and group.kind != "text"
    cells, factor, unit = _cells_in_one_unit(group, rows)
    heads = group.columns if spans else [""] * len(group.columns)
    if width <= _FULL_WIDTH:  # as the cells have it, and the key explains
        heads = [name.replace("not by ", ">") for name in heads]
    used = [i for i in range(len(heads)) if any(cell[i] for cell in cells)]
    widths = {i: max(_width(heads[i]), *(_width(cell[i]) for cell in cells)) for i in used}
    free = width - sum(widths.values()) - 2 * len(used)
    stem = max((_width(row.of) for row in rows), default=0)  # the choice stands before the first of its values
    longest = max((_width(row.label) + (stem + 1 if row.of else 0) for row in rows if not row.is_heading), default=0)
    if free < min(longest, _MIN_LABEL_WIDTH):  # each row takes two lines or more
        return _stacked_rows(group, rows, width)
    # an axis needs two ends, and a chart its columns beside labels that can still be read
    beside = free - 2 - (_MIN_CHART_WIDTH if width >= _FULL_WIDTH else _MIN_NARROW_CHART_WIDTH)
    if marks is None or not spans or not group.ends[1] > group.ends[0] or beside < min(longest, _MIN_LABEL_WIDTH):
        marks = None
    shared = f"[{unit}]" if unit else ""
    stubs, longest = _label_stubs(rows, free if marks is None else min(_MAX_LABEL_WIDTH, beside))
    longest = max(longest, min(_width(shared), free if marks is None else beside))
    chart = 0 if marks is None else min(free - 2 - longest, _MAX_CHART_WIDTH)

    out = [
        line for row in rows if row.is_heading for line in _wrap_text(row.label, width, hanging=2)
    ]  # the whole width
    head = "".join(f"  {_pad_text(heads[i], widths[i], right=True)}" for i in used)
    if marks is not None:
        scale = _axis_line(group, chart, longest + 2, factor)
        out.append(f"{_pad_text(shared, longest)}{scale[longest:]}{head}".rstrip())
    elif head.strip() or shared:
        out.append(f"{_pad_text(shared, longest)}{head}".rstrip())
    for row, stub, cell in zip(rows, stubs, cells, strict=True):
        if row.is_heading:
            continue
        text = "".join(f"  {_pad_text(cell[i], widths[i], right=True)}" for i in used)
        bar = "" if marks is None else f"  {_interval_bar(group, row, chart, marks)}"
        *above, beside_numbers = stub[0]
        out += above
        out.append(f"{_pad_text(beside_numbers, longest)}{bar}{text}".rstrip())
        out += stub[1]
    return out


def _cells_in_one_unit(group: RowGroup, rows: Sequence[ReportRow]) -> tuple[list[tuple[str, ...]], float | None, str]:
    """Return the numbers of rows, by what they are divided, and the unit that a heading is to name.

    Values on one axis share a unit. Of a row's probability two words become a sign.
    """
    texts = [(*cells[:2], *map(in_signs, cells[2:])) for cells in map(group.cells, rows)]
    middles = [row.spread.median if row.spread.medians is None else row.spread.medians[1]
               for row in rows if row.spread is not None]  # fmt: skip
    if group.kind != "value" or group.factor is not None or not middles:
        return texts, group.factor, ""
    factor, unit = scale_of(middles, group.unit)
    out = []
    for row, (text, interval, *more) in zip(rows, texts, strict=True):
        if row.spread is None:
            out.append((text, interval, *more))
            continue
        low, median, high = (format_number(row.spread.quantiles[i] / factor) for i in (0, 2, 4))
        span = fill("range", "same_text" if low == high else "", low=low, high=high)
        several = row.spread.medians is not None
        out.append((span, "", *more) if several else (median, span if interval else "", *more))
    return out, factor, unit


def _stacked_rows(group: RowGroup, rows: Sequence[ReportRow], width: int) -> list[str]:
    """Return rows whose numbers stand below their labels: a table for a terminal that has no room for columns."""
    out = []
    for row in rows:
        out += _wrap_text(" ".join(filter(None, (row.of, row.label.strip()))), width)
        text, *more = group.cells(row)
        beside = [": ".join(filter(None, each)) for each in zip(group.columns[1:], more, strict=True) if each[1]]
        numbers = f"{text} ({'; '.join(beside)})" if beside else text
        out += _wrap_text(f"  {numbers}", width, hanging=2) if numbers else []
    return out


def _first_rows(rows: Sequence[ReportRow], count: int, choices: Mapping[str, float]) -> list[ReportRow]:
    """Return so many rows: other questions are not crowded out by the values of choices."""
    own = [row for row in rows if not row.of]
    along = sorted((row for row in rows if row.of), key=lambda row: -choices.get(row.of, 0.0))
    chosen = own[: max(count - min(len(along), count // 2), 1)]
    chosen += along[: count - len(chosen)]
    return [row for row in rows if any(row is each for each in chosen)]


def _label_stubs(rows: Sequence[ReportRow], room: int) -> tuple[list[tuple[list[str], list[str]]], int]:
    """Return the labels of rows in lines, and how wide they are: lines to the one beside the numbers, and those below.

    The choice stands before the first of its values, or on a line above them where that takes fewer lines.
    """
    stem = max((_width(row.of) for row in rows), default=0)
    layouts = []
    for above in (False, True):
        out: list[tuple[list[str], list[str]]] = []
        before = ""
        for row in rows:
            if row.is_heading:
                out.append(([], []))
                continue
            indent = 0 if not row.of else 2 if above else stem + 1
            first, *below = _break_label(row.label, room - indent)
            title = row.of if row.of != before else ""
            lead = [f"{title}:"] if above and title else []
            start = f"{'' if above else title:<{indent}}" if row.of else ""
            out.append(([*lead, f"{start}{first}"], [f"{' ' * indent}{line}" for line in below]))
            before = row.of
        layouts.append(out)

    def cost(out: list[tuple[list[str], list[str]]]) -> tuple[bool, int, int]:
        every = [line for lead, below in out for line in (*lead, *below)]
        return any("…" in line for line in every), len(every), sum(len(below) for _, below in out)

    best = min(layouts, key=cost)
    longest = max((_width(line) for lead, below in best for line in (lead[-1:] + below)), default=0)
    return best, min(longest, room)


def _break_label(label: str, width: int) -> list[str]:
    """Break a label into as many lines as it may have, and cut what is longer."""
    if _width(label) <= width:
        return [label]
    bare = label.lstrip()
    own = len(label) - len(bare)
    result = textwrap.wrap(
        bare, max(width, 4), initial_indent=" " * own, subsequent_indent=" " * (own + 2),
        break_on_hyphens=False, max_lines=_MAX_LABEL_LINES, placeholder=" …",
    )  # fmt: skip
    return [_truncate(line, max(width, 4)) for line in result] or [_truncate(label, width)]


def _position(group: RowGroup, value: float, chart: int) -> int:
    low, high = group.ends
    if group.log:
        low, high, value = math.log(low), math.log(high), math.log(max(value, 1e-300))
    if not math.isfinite(value):
        return chart
    share = (value - low) / (high - low) if high > low else 0.5
    return min(max(round(share * (chart - 1)), 0), chart - 1)


def _interval_bar(group: RowGroup, row: ReportRow, chart: int, marks: dict[str, str]) -> str:
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


def _axis_line(group: RowGroup, chart: int, before: int, factor: float | None) -> str:
    """Return the axis, behind so many columns of labels: its ends, and what lies between where there is room."""
    low, high = group.ends
    dated = group.kind == "date"
    left, right = (as_text(end) if dated else format_number(end / (factor or 1.0)) for end in (low, high))
    between = max(chart - len(left) - len(right), 2)
    line = list(f"{left}{' ' * between}{right}".rjust(before + chart))
    middle = as_text((low + high) / 2) if dated else ""
    at = before + chart // 2 - len(middle) // 2
    if middle and between >= len(middle) + 8 and high - low >= 2:
        line[at : at + len(middle)] = middle
    return "".join(line)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def _truncate(text: str, width: int) -> str:
    """Cut a text at a word."""
    if _width(text) <= width:
        return text
    result = textwrap.shorten(text.strip(), max(width, 4), placeholder=" …")
    if len(result) > 3:
        return (text[: len(text) - len(text.lstrip())] + result)[:width]
    return f"{text[: width - 1]}…"


def _pad_text(text: str, width: int, *, right: bool = False) -> str:
    result = _truncate(text, width)
    pad = " " * (width - _width(result))
    return pad + result if right else result + pad
