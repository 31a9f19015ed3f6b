"""Published figures, recomputed. The verdict is computed, never declared by who states the figure.

``agrees`` within 0.5 % (a date within 0.1 y), or within the claim's own tolerance where it has one; ``rounds`` if the
computed figure rounds to the stated one at the stated figure's digits, else ``disagrees``. Declared are only ``not
derivable``, ``constant``, ``scenario`` and ``ours`` (a figure the source does not state). A claim that cannot be
computed is ``failed``, and its note says why.

A claim may be a dated forecast instead: it is judged by what happened (`forecast.evaluation.outcomes`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from forecast import formula
from forecast.base import budgets
from forecast.contract.registry import Record, Registry
from forecast.contract.specs import ClaimSpec
from forecast.errors import ForecastError, FormulaError, UnknownNameError, printable
from forecast.evaluation import outcomes

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["FAILED", "VERDICTS", "evaluate", "evaluate_all", "headline", "judge", "needed", "sentence"]

FAILED = "failed"
VERDICTS = ("agrees", "rounds", "disagrees", *ClaimSpec.DECLARED, *outcomes.VERDICTS, FAILED)

#: How near is near: as a share of the stated figure, and in years.
SHARE, YEARS = 0.005, 0.1
DATE = "date"

_STATED = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", re.ASCII)
_PERIODS = ("years", "months", "days", "hours", "seconds", "percent")


def _figure(text: str) -> Decimal:
    if not _STATED.fullmatch(text.strip()):
        raise FormulaError(f"stated: expected one number like '2053' or '1.075e21', got '{printable(text, 60)}'")
    return Decimal(text.strip())


def judge(computed: float, stated: str, unit: str = "", tolerance: float | None = None) -> str:
    """Return the verdict on a computed figure.

    Parameters
    ----------
    computed : float
    stated : str
        As the source prints it: its digits count.
    unit : str
        ``"date"`` is a decimal year.
    tolerance : float, optional
        What it may be off, instead of the general rule.

    Examples
    --------
    >>> judge(2078.0, "2078", "date"), judge(2052.8, "2053", "date"), judge(20.72, "21"), judge(1.9, "3")
    ('agrees', 'rounds', 'rounds', 'disagrees')
    """
    figure = _figure(stated)
    apart = abs(computed - float(figure))
    # decimal figures are not exact in binary: a distance of 0.1 y must count as 0.1 y
    allowed = (YEARS if unit == DATE else SHARE * abs(float(figure))) if tolerance is None else tolerance
    if apart <= allowed * (1 + 1e-9) + 1e-12 * abs(float(figure)):
        return "agrees"
    if tolerance is not None:
        return "disagrees"
    digit = Decimal(1).scaleb(int(figure.as_tuple().exponent))
    try:
        rounded = Decimal(repr(float(computed))).quantize(digit, rounding=ROUND_HALF_UP)
    except InvalidOperation:  # further digits than a decimal carries: far from any stated figure
        return "disagrees"
    return "rounds" if rounded == figure else "disagrees"


def evaluate(spec: ClaimSpec) -> dict[str, Any]:
    """Recompute one claim.

    Returns
    -------
    dict
        ``id, group, statement, stated, computed, unit, verdict, note, source``; `computed` is None where there is no
        formula or it failed.

    Examples
    --------
    >>> dozen = ClaimSpec(name="dozen", group="demo", statement="a dozen is 12", stated="12", formula="n*4",
    ...                   values={"n": 3}, reference="common knowledge")
    >>> claim = evaluate(dozen)
    >>> claim["computed"], claim["verdict"]
    (12.0, 'agrees')
    """
    computed: float | None = None
    note, stated = spec.note, spec.stated
    try:
        if spec.forecast is not None:
            stated, computed = outcomes.said(spec.forecast), spec.forecast.outcome
            verdict = outcomes.judge(spec.forecast)
        else:
            computed = _compute(spec) if spec.formula else None
            verdict = spec.declared or judge(_number(computed), spec.stated, spec.unit, spec.tolerance)
    except ForecastError as problem:
        budgets.check_time(f"claim {spec.name}")
        computed, verdict = None, FAILED
        note = f"{problem}; {note}" if note else str(problem)
    return {
        "id": spec.name,
        "group": spec.group,
        "statement": spec.statement,
        "stated": stated,
        "computed": computed,
        "unit": spec.unit,
        "verdict": verdict,
        "note": note,
        "source": spec.reference,
    }


def _number(value: float | None) -> float:
    if value is None:
        raise FormulaError("no formula to compute it with")
    return value


def _compute(spec: ClaimSpec) -> float:
    where = f"claim '{spec.name}'"
    parsed = formula.parse(spec.formula, where=where)
    for name in (*spec.values, *spec.facts, *spec.answers):
        formula.check_name(name, where=where)
    value = float(parsed.evaluate({**spec.values, **_facts(spec, where), **_answers(spec, where)}))
    if not math.isfinite(value):
        raise FormulaError(f"{where}: '{printable(parsed.text, 80)}' has no finite value")
    return value


def _facts(spec: ClaimSpec, where: str) -> dict[str, float]:
    """Read what a claim takes from fitted models."""
    return {name: _fact(text, f"{where}: facts.{name}") for name, text in spec.facts.items()}


def _answers(spec: ClaimSpec, where: str) -> dict[str, float]:
    """Read what a claim takes from a scenario."""
    if not spec.answers:
        return {}
    from forecast.contract.registry import get_registry
    from forecast.projection.reading import figure

    tree = _run(get_registry(), spec.scenario, tuple(spec.settings.items()), spec.draws)
    return {name: figure(tree, text, where=f"{where}: answers.{name}") for name, text in spec.answers.items()}


@lru_cache(maxsize=1)
def _run(registry: Registry, scenario: str, settings: tuple[tuple[str, str], ...], draws: int) -> xr.DataTree:
    """Run a scenario; claims that follow one another share its run, while plugins stay what they are."""
    from forecast.projection.engine import project

    return project(scenario, set=dict(settings), draws=draws, keep=draws)


def _fact(text: str, where: str) -> float:
    from forecast.contract.plugin_calls import guarded
    from forecast.models import model

    name, dot, key = text.rpartition(".")
    if not dot:
        raise FormulaError(f"{where}: expected 'plugin/model.fact', got '{printable(text, 60)}'")
    made = model(name, where=where)
    facts = guarded(where, lambda: made.fit().describe().facts)
    if key not in facts:
        raise UnknownNameError("fact", key, facts, where=f"{where}: model '{made.name}'")
    return float(facts[key])


def evaluate_all(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Recompute claims of several plugins; a bare name that two of them use is shown in full."""
    evaluated = [(record, evaluate(record.spec)) for record in records if isinstance(record.spec, ClaimSpec)]
    shared = Counter(r.spec.name for r, _ in evaluated)
    return [{**claim, "id": r.full_name if shared[r.spec.name] > 1 else claim["id"]} for r, claim in evaluated]


def needed(spec: ClaimSpec) -> dict[str, Any] | None:
    """Say which value of the name in `solve_for` would make the statement true, solved symbolically.

    Returns
    -------
    dict or None
        ``name``, ``value`` (the solution nearest to the value that was used; None where there is none), ``formula``
        (the solution as text), ``used`` (the value that was used) and ``sentence``. None where the claim asks nothing.

    Examples
    --------
    >>> spec = ClaimSpec(name="parity", group="demo", statement="parity in 2037", stated="2037", unit="date",
    ...                  formula="from_year + 21*doubling_time_years", solve_for="doubling_time_years",
    ...                  values={"from_year": 2015, "doubling_time_years": 1.5}, reference="demo")
    >>> needed(spec)["sentence"]
    '2037 would be true with a doubling time of 1.05 years (from 2015)'
    """
    if spec.solve_for is None or not (spec.formula and spec.stated):
        return None
    where = f"claim '{spec.name}'"
    parsed = formula.parse(spec.formula, where=where)
    if spec.solve_for not in parsed.names:
        raise FormulaError(f"{where}: solve_for: '{printable(spec.solve_for, 60)}' is not in the formula")
    target = float(_figure(spec.stated))
    known = {**spec.values, **_facts(spec, where), **_answers(spec, where)}
    others = {n: float(v) for n, v in known.items() if n != spec.solve_for}
    used = float(spec.values[spec.solve_for])
    best: tuple[float, str] | None = None
    for solution in parsed.solve(spec.solve_for, target):
        if isinstance(solution, float):
            number, text = solution, repr(solution)
        else:
            number, text = float(solution.evaluate(others)), solution.text
        # a solution counts only if putting it in gives the stated figure
        again = float(parsed.evaluate({**others, spec.solve_for: number})) if math.isfinite(number) else math.nan
        if not math.isclose(again, target, rel_tol=1e-9):
            continue
        if best is None or abs(number - used) < abs(best[0] - used):
            best = (number, text)
    value, solved = best if best else (None, None)
    answer = {"name": spec.solve_for, "value": value, "formula": solved, "used": used}
    return {**answer, "sentence": sentence(spec.stated, answer, others)}


def sentence(stated: str, answer: Mapping[str, Any], others: Mapping[str, float]) -> str:
    """Say it in a sentence: a name ending in ``_years`` states its unit, one that begins with ``from_`` the origin."""
    words, unit = str(answer["name"]), ""
    for period in _PERIODS:
        if words.endswith(f"_{period}"):
            words, unit = words.removesuffix(f"_{period}"), f" {period}"
    words = words.replace("_", " ")
    article = "an" if words[:1].lower() in "aeiou" else "a"
    if answer["value"] is None:
        return f"{stated} would be true with no value of {words}"
    origin = ", ".join(f"{value:g}" for name, value in others.items() if name.startswith("from_"))
    value = f"{answer['value']:.2f}" if 0.1 <= abs(answer["value"]) < 100 else f"{answer['value']:.4g}"
    return f"{stated} would be true with {article} {words} of {value}{unit}" + (f" (from {origin})" if origin else "")


def headline(claims: Iterable[Mapping[str, Any]]) -> str:
    """Count the verdicts in one sentence.

    Examples
    --------
    >>> headline([{"verdict": "rounds"}, {"verdict": "agrees"}, {"verdict": "rounds"}])
    '3 claims: 1 agrees, 2 round'
    """
    counts = Counter(str(claim["verdict"]) for claim in claims)
    total = sum(counts.values())
    plural = {"agrees": "agree", "rounds": "round", "disagrees": "disagree", "hit": "hits"}
    parts = [f"{counts[v]} {plural.get(v, v) if counts[v] > 1 else v}" for v in VERDICTS if counts[v]]
    return f"{total} claim{'' if total == 1 else 's'}: {', '.join(parts) if parts else 'nothing to compute'}"
