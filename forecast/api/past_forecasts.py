"""Claims of others and forecasts of one's own, judged by computation and by outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from forecast import claim_verdicts
from forecast.base.record_list import RecordList
from forecast.contract.registry import Record, Registry, get_registry
from forecast.errors import AmbiguousNameError, UnknownNameError, UsageError, printable
from forecast.evaluation import ledger as lines, outcomes
from forecast.evaluation.table_outcomes import table_outcomes
from forecast.report.words.number_text import amount


class ClaimList(RecordList):
    """Claims with their verdicts; `by_kind` has how dated forecasts of each kind have done, if they were asked for."""

    by_kind: Sequence[Mapping[str, Any]] = ()


def claims(
    name: str = "",
    *,
    group: str | None = None,
    forecasts: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ClaimList:
    """Recompute published figures and judge them, and judge dated forecasts by what happened.

    Parameters
    ----------
    name : str
        One claim, or the name that several claims of one statement share; by default all.
    group : str, optional
        Only the claims of these groups, joined by commas.
    forecasts : bool
        Only dated forecasts.
    progress : callable, optional
        Called with (claims done, claims in all).

    Returns
    -------
    ClaimList
        ``id``, ``statement``, ``stated``, ``computed``, ``unit``, ``verdict``, ``note`` and others of each.

    Raises
    ------
    UnknownNameError, AmbiguousNameError

    Examples
    --------
    >>> import forecast
    >>> forecast.claims("parity-2037")[0]["verdict"]
    'disagrees'
    """
    return evaluated_claims(claim_records(name, group=group, forecasts=forecasts), forecasts, progress)


def evaluated_claims(
    records: Iterable[Record], forecasts: bool = False, progress: Callable[[int, int], None] | None = None
) -> ClaimList:
    """Return claims with their verdicts, and a sentence that counts these."""
    records = list(records)
    rows = claim_verdicts.evaluate_all(records, progress=progress)
    done = outcomes.summary_by_kind(r.spec.forecast for r in records) if forecasts else []
    headline = outcomes.hit_rate_sentence(done) if forecasts else claim_verdicts.verdict_counts_sentence(rows)
    found = ClaimList(rows, headline=headline, columns=("id", "verdict", "stated", "computed", "unit", "statement"))
    found.by_kind = done
    return found


def claim_records(name: str, *, group: str | None = None, forecasts: bool = False) -> list[Record] | tuple[Record]:
    """Return the claims that are meant: a list, or one claim by itself."""
    registry = get_registry().complete()
    if name:
        if forecasts:
            raise UsageError("--forecasts: is about all of them, not about one claim")
        found = _find_claims(registry, name)
        for record in found if group is not None else ():
            _parse_groups(str(group), _groups_of(record.spec), where=f"claim '{record.full_name}'")
        return found
    records = _all(registry)
    if group is not None:
        wanted = _parse_groups(group, {g for r in records for g in _groups_of(r.spec)})
        records = [r for r in records if wanted & _groups_of(r.spec)]
    return [r for r in records if not forecasts or getattr(r.spec, "forecast", None) is not None]


def _all(registry: Registry) -> list[Record]:
    resolve = set(registry.names("claim"))
    return [r for r in registry.records("claim") if r.full_name in resolve]


def _find_claims(registry: Registry, name: str) -> list[Record] | tuple[Record]:
    """Return the claims of one statement as a list, where the name is of a statement, or one claim by itself."""
    of: dict[str, list[Record]] = {}
    for record in _all(registry):
        if alias := getattr(record.spec, "alias", ""):
            of.setdefault(f"{record.plugin.name}/{alias}", []).append(record)
    full = [name] if name in of else [each for each in of if each.partition("/")[2] == name]
    if not full:
        return (registry.find("claim", name, near=lambda: of),)
    full += [each for each in registry.names("claim") if "/" not in name and each.partition("/")[2] == name]
    if len(full) > 1:
        who = ", ".join(full)
        raise AmbiguousNameError(f"claim '{printable(name, 80)}' is offered by several plugins: {who}")
    # as the plugin tells them: 20, 80, 200 by name would be 20, 200, 80
    return sorted(of[full[0]], key=lambda record: record.plugin.specs.index(record.spec))


def _groups_of(spec: Any) -> set[str]:
    return {spec.group, *spec.also}


def _parse_groups(text: str, valid_names: set[str], where: str = "") -> set[str]:
    """Read names joined by commas; each must be the name of a group."""
    wanted = {name.strip() for name in text.split(",")}
    for name in sorted(wanted - valid_names):
        raise UnknownNameError("group of claims", name, valid_names, where=where)
    return wanted


def resolve(
    ledger: str | Path,
    name: str = "",
    outcome: str | None = None,
    *,
    on: str | None = None,
    source: str = "",
    expect: Iterable[str] = (),
    statement: bool = False,
    tables: bool = False,
) -> dict[str, Any]:
    """Say what became of the forecasts in a ledger, and score them; with an outcome, add it first.

    Parameters
    ----------
    ledger : str or path
        A file of JSON lines, as `Answer.record` and ``forecast record`` write it.
    name : str
        The forecast that has the outcome, by the first digits of its hash.
    outcome : str, optional
        What happened: a value, a date, or ``"never"`` for not by `on`.
    on : str, optional
        When that was known; without an outcome, forecasts due by then are marked. A date, or ``"today"``.
    source : str
        Where it was read, if not in the source that the forecast names.
    expect : iterable of str
        Published hashes that the ledger must hold; see `forecast.evaluation.ledger.parse_published_hashes`.
    statement : bool
        It is the outcome of all forecasts of the same source and threshold.
    tables : bool
        Also look up the open ones in the tables, up to `on`.

    Returns
    -------
    dict
        ``forecasts``, ``scores``, ``records``, ``head`` (the last hash); ``scored`` where an outcome was added,
        ``published`` with `expect`, ``tables`` with `tables`.

    Raises
    ------
    UsageError, DataError

    Examples
    --------
    >>> import pathlib, tempfile, forecast
    >>> spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    >>> answer = (spend >= 2e8).when(start=2025, until=2030, draws=1000)
    >>> file = pathlib.Path(tempfile.mkdtemp(), "ledger.jsonl")
    >>> _ = answer.record(file, on="2025-01-02", by=["2028-01-01"], source="the annual report")
    >>> len(forecast.resolve(file)["forecasts"])
    1
    """
    beside = [option for option, given in (("id", name), ("source", source), ("statement", statement)) if given]
    if outcome is None and beside:
        raise UsageError(f"--{beside[0]}: goes with an --outcome")
    if tables and on is None:
        raise UsageError("--tables: rows up to when? --on DATE")
    added = None
    if outcome is not None:
        if not name or on is None:
            raise UsageError(f"--outcome: {'of which forecast? --id' if not name else 'known when? --on DATE'}")
        how: dict[str, Any] = {"on": on, "source": source, "expect": expect, "alike": statement}
        added = lines.resolve_forecast(ledger, name, outcome, **how)
    day = None if on is None else lines.past(on, "--on")
    records, hashes = lines.read_ledger(ledger), lines.parse_published_hashes(expect)
    fixed = lines.verify_chain(records, hashes, where=printable(ledger))
    rows = lines.forecast_rows(records, day)
    head = records[-1]["sha256"] if records else None
    result: dict[str, Any] = {"ledger": printable(Path(ledger).name, 200), "head": head, "records": len(records)}
    result |= {"published": fixed} if hashes else {}
    result |= {} if added is None else {"scored": added}
    result |= {"scores": lines.mean_scores(rows), "forecasts": rows}
    if tables and day is not None:
        result["tables"] = table_outcomes(records, day, partial(amount, digits=3), Path(ledger).parent)
    return result
