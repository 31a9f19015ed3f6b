"""Published figures, recomputed. The verdict is computed, never declared by who states the figure.

``agrees`` within 0.5 % (a date within 0.1 y), or within the claim's own tolerance where it has one; ``rounds`` if the
computed figure rounds to the stated one at the stated figure's digits; ``compatible`` if the stated figure is an
estimate and lies in the computed 90 % interval; ``about`` if the source hedges it and it is within 6 %; else
``disagrees``. Declared are only ``not derivable``, ``constant``, ``scenario`` and ``ours`` (a figure the source does
not state). A claim is ``not derivable``, too, if a table lacks a row that its formula takes. One that cannot be
computed is ``failed``. The note says why.

A claim may be a dated forecast instead: it is judged by what happened (`forecast.evaluation.outcomes`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from forecast import formula
from forecast.base import budgets
from forecast.contract.registry import Record, Registry, get_registry
from forecast.contract.specs import ClaimSpec
from forecast.errors import EmptyDataError, ForecastError, FormulaError, UnknownNameError, printable
from forecast.evaluation import outcomes
from forecast.projection.result import Projection

FAILED, NOT_DERIVABLE = "failed", "not derivable"
CLAIM_VERDICTS = (
    "agrees", "rounds", "compatible", "about", "disagrees", *ClaimSpec.DECLARED, *outcomes.FORECAST_VERDICTS, FAILED,
)  # fmt: skip

#: How near is near: as a share of the stated figure, of one that is hedged, and in years.
VERDICT_RTOL, HEDGED_RTOL, DATE_ATOL_YEARS = 0.005, 0.06, 0.1
DATE = "date"

_STATED_PATTERN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", re.ASCII)
_PLURAL = {
    "agrees": "agree", "rounds": "round", "disagrees": "disagree", "constant": "constants", "scenario": "scenarios",
    "hit": "hits",
}  # fmt: skip
_PERIODS = ("years", "months", "days", "hours", "seconds", "percent")


def _parse_stated(text: str) -> Decimal:
    if not _STATED_PATTERN.fullmatch(text.strip()):
        raise FormulaError(f"stated: expected one number like '2053' or '1.075e21', got '{printable(text, 60)}'")
    return Decimal(text.strip())


def judge(
    computed: float,
    stated: str,
    unit: str = "",
    tolerance: float | None = None,
    *,
    hedged: bool = False,
    interval: tuple[float, float] | None = None,
) -> str:
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
    hedged : bool
        Whether the source hedges it.
    interval : pair of float, optional
        The computed 90 % interval, of a figure that is an estimate itself.

    Examples
    --------
    >>> judge(2078.0, "2078", "date"), judge(2052.8, "2053", "date"), judge(20.72, "21"), judge(1.9, "3")
    ('agrees', 'rounds', 'rounds', 'disagrees')
    >>> judge(103.5, "100", hedged=True), judge(2.35, "2.3", interval=(2.15, 2.60))
    ('about', 'compatible')
    """
    figure = _parse_stated(stated)
    apart = abs(computed - float(figure))

    def within(allowed: float) -> bool:
        # decimal figures are not exact in binary: a distance of 0.1 y must count as 0.1 y
        return apart <= allowed * (1 + 1e-9) + 1e-12 * abs(float(figure))

    if tolerance is not None:
        return "agrees" if within(tolerance) else "disagrees"
    if within(DATE_ATOL_YEARS if unit == DATE else VERDICT_RTOL * abs(float(figure))):
        return "agrees"
    if _agrees_when_rounded(computed, figure):
        return "rounds"
    if interval is not None and interval[0] <= float(figure) <= interval[1]:
        return "compatible"
    return "about" if hedged and within(HEDGED_RTOL * abs(float(figure))) else "disagrees"


def _agrees_when_rounded(computed: float, figure: Decimal) -> bool:
    digit = Decimal(1).scaleb(int(figure.as_tuple().exponent))
    try:
        rounded = Decimal(repr(float(computed))).quantize(digit, rounding=ROUND_HALF_UP)
    except InvalidOperation:  # further digits than a decimal carries: far from any stated figure
        return False
    return rounded == figure


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
            stated, computed = outcomes.verdict_text(spec.forecast), spec.forecast.outcome
            verdict = outcomes.judge(spec.forecast)
        else:
            computed = _compute(spec) if spec.formula else None
            verdict = spec.declared or judge(
                _require_value(computed), spec.stated, spec.unit, spec.tolerance,
                hedged=bool(spec.hedge), interval=interval(spec),
            )  # fmt: skip
    except EmptyDataError as problem:
        computed, verdict, note = None, NOT_DERIVABLE, f"Cannot be checked: {problem}. {note}".rstrip()
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


def _require_value(value: float | None) -> float:
    if value is None:
        raise FormulaError("no formula to compute it with")
    return value


def _compute(spec: ClaimSpec) -> float:
    where = f"claim '{spec.name}'"
    return _evaluate_formula(spec, {**_read_facts(spec, where), **_read_answers(spec, where)})


def _evaluate_formula(spec: ClaimSpec, read: Mapping[str, float], *, finite: bool = True) -> float:
    """Evaluate the formula with the figures that were read."""
    where = f"claim '{spec.name}'"
    parsed = formula.parse(spec.formula, where=where)
    for name in (*spec.values, *read):
        formula.check_name(name, where=where)
    value = float(parsed.evaluate({**spec.values, **read}))
    if math.isnan(value) or (finite and math.isinf(value)):
        raise FormulaError(f"{where}: '{printable(parsed.text, 80)}' has no finite value")
    return value


def interval(spec: ClaimSpec) -> tuple[float, float] | None:
    """Compute the 90 % interval of a claim's figure: its formula at the ends of what goes in.

    Returns
    -------
    pair of float or None
        (low, high), which may be infinite; None of a claim that is no estimate.

    Examples
    --------
    >>> spec = ClaimSpec(name="peak", group="demo", statement="it doubles in 2.3 years", stated="2.3", estimate=True,
    ...                  formula="doubling", facts={"doubling": "hardware/gpu-peak-fp32@exponential.doubling_years"},
    ...                  reference="demo")
    >>> low, high = interval(spec)
    >>> low < 2.3 < high
    True
    """
    if not spec.estimate:
        return None
    where = f"claim '{spec.name}'"
    ends = []
    for level in ("p05", "p95"):
        facts = {name: _fact(_endpoint_key(text, level), f"{where}: facts.{name}") for name, text in spec.facts.items()}
        quantile_texts = {
            name: _with_level(text, level, f"{where}: answers.{name}") for name, text in spec.answers.items()
        }
        ends.append(_evaluate_formula(spec, {**facts, **_read_answers(spec, where, quantile_texts)}, finite=False))
    return min(ends), max(ends)


def _endpoint_key(fact: str, level: str) -> str:
    """Name the end of a fact's interval: that of ``doubling_years`` and ``growth_per_year`` has no unit in its name."""
    return f"{fact.removesuffix('_years').removesuffix('_per_year')}_{level}"


def _with_level(answer: str, level: str, where: str) -> str:
    words = answer.split()
    if len(words) < 2 or words[1] != "p50":
        raise FormulaError(f"{where}: an estimate reads a median, as 'spend p50 2030', got '{printable(answer, 60)}'")
    return " ".join([words[0], level, *words[2:]])


def _read_facts(spec: ClaimSpec, where: str) -> dict[str, float]:
    """Read what a claim takes from fitted models."""
    return {name: _fact(text, f"{where}: facts.{name}") for name, text in spec.facts.items()}


def _read_answers(spec: ClaimSpec, where: str, texts: Mapping[str, str] | None = None) -> dict[str, float]:
    """Return the numbers that a claim reads from the answers of its scenario; `texts` replaces those of the claim."""
    if not spec.answers:
        return {}
    from forecast.projection.claim_values import read_claim_value

    run = _run_scenario(get_registry(), spec.scenario, tuple(spec.settings.items()), spec.draws)
    wanted = spec.answers if texts is None else texts
    return {name: read_claim_value(run, text, where=f"{where}: answers.{name}") for name, text in wanted.items()}


#: Runs that claims share: those of one source alternate between a few scenarios, and a run may hold 10,000 worlds.
_MAX_SHARED_RUNS = 4


@lru_cache(maxsize=_MAX_SHARED_RUNS)
def _run_scenario(registry: Registry, scenario: str, settings: tuple[tuple[str, str], ...], draws: int) -> Projection:
    """Run a scenario; claims that are near one another share its run, while plugins stay what they are."""
    from forecast.projection.engine import project

    return project(scenario, with_=dict(settings), draws=draws, keep=draws)


def _fact(text: str, where: str) -> float:
    from forecast.contract.plugin_calls import call_guarded
    from forecast.models import model

    name, dot, key = text.rpartition(".")
    if not dot:
        raise FormulaError(f"{where}: expected 'plugin/model.fact', got '{printable(text, 60)}'")
    made = model(name, where=where)
    described = call_guarded(where, lambda: made.fit().describe())
    if key in described.gaps:
        raise EmptyDataError(described.gaps[key])
    if key not in described.facts:
        raise UnknownNameError("fact", key, described.facts, where=f"{where}: model '{made.name}'")
    return float(described.facts[key])


def evaluate_all(
    records: Iterable[Record], *, progress: Callable[[int, int], None] | None = None
) -> list[dict[str, Any]]:
    """Recompute claims of several plugins; a bare name that two of them use is shown in full.

    Parameters
    ----------
    records : iterable of Record
    progress : callable, optional
        Called with (claims done, claims in all).
    """
    claims = [(record, record.spec) for record in records if isinstance(record.spec, ClaimSpec)]
    verdicts: dict[int, dict[str, Any]] = {}
    by_run = sorted(enumerate(claims), key=lambda each: _run_of(each[1][1]))  # each run is made once
    for done, (place, (_, spec)) in enumerate(by_run, start=1):
        verdicts[place] = evaluate(spec)
        if progress is not None:
            progress(done, len(claims))
    shared = Counter(spec.name for _, spec in claims)
    return [
        {**verdicts[place], **({"id": record.full_name} if shared[spec.name] > 1 else {})}
        for place, (record, spec) in enumerate(claims)
    ]


def _run_of(spec: ClaimSpec) -> tuple[str, str, int]:
    """Return what tells the run from which a claim is read from those of others; empty of one that needs none."""
    return (spec.scenario, repr(dict(spec.settings)), spec.draws) if spec.answers else ("", "", 0)


def required_value(spec: ClaimSpec) -> dict[str, Any] | None:
    """Say which value of the name in `solve_for` would make the statement true.

    Returns
    -------
    dict or None
        ``name``, ``value`` (the solution nearest to the value that was used; None where there is none), ``used`` (the
        value that was used) and ``sentence``. None where the claim asks nothing.

    Examples
    --------
    >>> spec = ClaimSpec(name="parity", group="demo", statement="parity in 2037", stated="2037", unit="date",
    ...                  formula="from_year + 21*doubling_time_years", solve_for="doubling_time_years",
    ...                  values={"from_year": 2015, "doubling_time_years": 1.5}, reference="demo")
    >>> required_value(spec)["sentence"]
    '2037 would be true with a doubling time of 1.05 years (from 2015)'
    """
    if spec.solve_for is None or not (spec.formula and spec.stated):
        return None
    where = f"claim '{spec.name}'"
    parsed = formula.parse(spec.formula, where=where)
    if spec.solve_for not in parsed.names:
        raise FormulaError(f"{where}: solve_for: '{printable(spec.solve_for, 60)}' is not in the formula")
    target = float(_parse_stated(spec.stated))
    known = {**spec.values, **_read_facts(spec, where), **_read_answers(spec, where)}
    others = {n: float(v) for n, v in known.items() if n != spec.solve_for}
    used = float(spec.values[spec.solve_for])
    value = min(parsed.solve(spec.solve_for, target, others), key=lambda each: abs(each - used), default=None)
    answer = {"name": spec.solve_for, "value": value, "used": used}
    return {**answer, "sentence": claim_sentence(spec.stated, answer, others)}


def claim_sentence(stated: str, answer: Mapping[str, Any], others: Mapping[str, float]) -> str:
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


def verdict_counts_sentence(claims: Iterable[Mapping[str, Any]]) -> str:
    """Count the verdicts in one sentence.

    Examples
    --------
    >>> verdict_counts_sentence([{"verdict": "rounds"}, {"verdict": "agrees"}, {"verdict": "rounds"}])
    '3 claims: 1 agrees, 2 round'
    """
    counts = Counter(str(claim["verdict"]) for claim in claims)
    total = sum(counts.values())
    parts = [f"{counts[v]} {_PLURAL.get(v, v) if counts[v] > 1 else v}" for v in CLAIM_VERDICTS if counts[v]]
    return f"{total} claim{'' if total == 1 else 's'}: {', '.join(parts) if parts else 'nothing to compute'}"
