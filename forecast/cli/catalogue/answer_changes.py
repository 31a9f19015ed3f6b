"""How far answers move when a table changes: the same worlds, drawn with either edition of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.errors import ForecastError

if TYPE_CHECKING:
    from forecast.projection.result import Projection
    from forecast.tables.editions import Edition

__all__ = ["Changed", "moves"]

#: What of an answer is compared.
_FIGURES = ("p05", "p50", "p95", "never", "already", "best", "first")


@dataclass(frozen=True, kw_only=True)
class Changed:
    """A table that changed: its editions, where None is what is read today."""

    name: str
    descriptor: Path
    before: Edition | None
    after: Edition | None


def moves(
    scenarios: Sequence[str], changed: Sequence[Changed], *, draws: int, seed: int, report: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    """Run scenarios with the editions before and after, at one seed, and compare what they answer.

    Parameters
    ----------
    scenarios : sequence of str
    changed : sequence of Changed
    draws, seed : int
    report : callable
        Called with (scenarios done, scenarios in all).

    Returns
    -------
    list of dict
        Of each ``scenario``: which of the tables it ``rests_on``, and where there is one its ``answers``, each with
        what it was ``before``, is ``after`` and whether it ``moved``; the last date that it knows of each table
        (``newest``); where it rests on several, the answers that each table moves ``alone``. ``error`` says why there
        is none of it.
    """
    out = []
    for number, name in enumerate(scenarios):
        report(number, len(scenarios))
        row: dict[str, Any] = {
            "scenario": name,
            "rests_on": [],
            "answers": [],
            "newest": [],
            "alone": {},
            "error": None,
        }
        try:
            row |= _moved(name, changed, draws=draws, seed=seed)
        except ForecastError as error:
            row["error"] = str(error)
        out.append(row)
    report(len(scenarios), len(scenarios))
    return out


def _moved(name: str, changed: Sequence[Changed], *, draws: int, seed: int) -> dict[str, Any]:
    after, read = _run(name, {each.descriptor: each.after for each in changed}, draws, seed)
    behind = [each for each in changed if each.descriptor in read]
    if not behind:
        return {}
    before, _ = _run(name, {each.descriptor: each.before for each in behind}, draws, seed)
    then, now = before.newest, after.newest
    alone = {}
    for one in behind if len(behind) > 1 else ():
        others = {each.descriptor: each.after if each is one else each.before for each in behind}
        by_one, _ = _run(name, others, draws, seed)
        alone[one.name] = [each for each in _compared(before, by_one) if each["moved"]]
    return {
        "rests_on": [each.name for each in behind],
        "answers": _compared(before, after),
        "newest": [{"table": each.name, "before": then.get(each.name), "after": now.get(each.name)} for each in behind],
        "alone": alone,
    }


def _run(name: str, stand: Mapping[Path, Edition | None], draws: int, seed: int) -> tuple[Projection, set[Path]]:
    """Project a scenario with these editions; return it with the tables that were read."""
    from forecast.projection.engine import project
    from forecast.tables.editions import standing

    with standing({path: edition for path, edition in stand.items() if edition is not None}) as read:
        return project(name, draws=draws, seed=seed), read


def _compared(before: Projection, after: Projection) -> list[dict[str, Any]]:
    """Compare every answer that either run gives, in the order of the later one."""
    was, now = ({_key(each): each for each in _answers(run)} for run in (before, after))
    out = []
    for key in dict.fromkeys([*now, *was]):
        one, two = (
            {n: side[key].get(n) for n in _FIGURES if n in side[key]} if key in side else None for side in (was, now)
        )
        about = now.get(key) or was[key]
        told = {n: about[n] for n in ("name", "title", "choices", "at", "unit")}
        out.append({**told, "before": one, "after": two, "moved": one != two})
    return out


def _key(answer: Mapping[str, Any]) -> tuple[Any, ...]:
    return answer["name"], tuple(answer["choices"].items()), answer["at"]


def _answers(run: Projection) -> Iterator[dict[str, Any]]:
    """Walk what a projection answers, the question that opens it first, and pooled rivals before each of them."""
    from forecast.report import result_data

    asked = [
        *_dates(result_data.pooled(run)),
        *_dates(result_data.questions(run)),
        *_orders(result_data.rankings(run)),
    ]
    asked += _values(sorted(result_data.value_answers(run), key=lambda row: "weights" not in row))
    asked += _firsts(result_data.first_answers(run))
    opens = run.opening
    yield from sorted(asked, key=lambda each: opens is None or each["name"] != opens.name)


def _dates(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        title = row["title"] or row["when"]
        yield {"name": row["name"], "title": title, "choices": row["choices"], "at": "", "unit": "date"} | row[
            "crossing"
        ]


def _orders(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        best = max((entry for entry in row["order"] if entry["among"] > 0), key=lambda e: e["first"], default=None)
        title = row["title"] or f"the {row['best']} {row['rank']}"
        about = {"name": row["name"], "title": title, "choices": row["choices"], "at": "", "unit": row["unit"]}
        told = {} if best is None else {n: best[n] for n in ("p05", "p50", "p95", "first")} | {"best": best["name"]}
        yield about | told


def _values(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        title = row["title"] or row.get("value") or f"growth of {row['growth']}"
        about = {"name": row["name"], "title": title, "choices": row["choices"], "unit": row["unit"]}
        yield from (
            {**about, "at": each["date"]} | {n: each[n] for n in ("p05", "p50", "p95")} for each in row["dates"]
        )


def _firsts(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        about = {
            "name": row["name"],
            "title": row["title"] or "what comes first",
            "choices": row["choices"],
            "unit": "",
        }
        told = {**row["first"], "together": row["together"], "none": row["none"]}
        yield from ({**about, "at": event, "first": part} for event, part in told.items())
