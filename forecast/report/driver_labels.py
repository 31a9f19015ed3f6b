"""What moves an answer, called for people: no two alike, none by a raw name where better is known."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forecast.contract.registry import get_registry
from forecast.errors import ForecastError, printable
from forecast.projection.result import Projection
from forecast.report.headline import Labels

__all__ = ["driver_labels", "in_line"]

#: A number of a mixture says which of its models a world has: the title of the mixture says nothing of it.
_MEMBER_INPUTS = {"member"}
#: Of many numbers that move together only the first is named.
_CORRELATED_SUFFIX = "with {} more that move together"


def driver_labels(run: Projection, names: Sequence[str]) -> list[str]:
    """Return a label for each driver: as short as keeps it apart from the others.

    A lever is called by its label; a number of a model that has no label by what the title of the model says of it,
    with the shape of a trend where two differ in that alone.
    """
    words, levers = Labels(run), {lever.name: lever.label for lever in run.levers if not lever.since}
    ways = [_label_candidates(run, words, levers, name) for name in names]
    longest = max(map(len, ways), default=0)
    told = [each[0] for each in ways]
    for depth in range(1, longest):
        told = [ways[i][min(depth, len(ways[i]) - 1)] if told.count(text) > 1 else text for i, text in enumerate(told)]
    return told


def _label_candidates(run: Projection, words: Labels, levers: dict[str, str], name: str) -> list[str]:
    """Return how a driver may be called, from short to long."""
    first, *others = name.split(", ")
    if others:
        beside = (
            f"with {_label_candidates(run, words, levers, others[0])[0]}"
            if len(others) == 1
            else _CORRELATED_SUFFIX.format(len(others))
        )
        return [f"{each} {beside}" for each in _label_candidates(run, words, levers, first)]
    if first in levers:
        return [in_line(levers[first]), words.driver(first)]
    owner, dot, parameter = first.rpartition(".")
    series, _, shape = owner.rpartition("/")[2].partition("@")
    title = _model_title(owner.partition("@")[0]) if dot else ""
    if not title or parameter in _MEMBER_INPUTS or words(first) != first or words(series) != series:
        return [words.driver(first).replace("_", " ")]
    return _label_by_title(words.driver(first).partition(" (")[0], title, words(shape) if shape else "")


def _label_by_title(said: str, title: str, shape: str) -> list[str]:
    """Say a number of a model by the title of the model: without what is behind a comma, with its shape, whole."""
    short = re.split(r"[,:;] ", title)[0]
    made = []
    for text, of in ((short, ""), (short, shape), (title, shape)):
        named = in_line(text)
        stated = named if named.startswith(said) else f"{said}: {named}"
        made.append(f"{stated} ({of})" if of else stated)
    return list(dict.fromkeys(made))


def _model_title(name: str) -> str:
    """Return the title of a model; empty where it is not installed, or has none."""
    try:
        return printable(get_registry().find("model", name, where="figure").spec.title, 200)
    except ForecastError:
        return ""


def in_line(label: str) -> str:
    """Write a label that begins a line without its capital, where it is no name: ``Power``, and not ``AI``."""
    return label[:1].lower() + label[1:] if label[1:2].islower() or label[1:2] == " " else label
