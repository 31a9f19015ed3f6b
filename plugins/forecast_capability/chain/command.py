"""``forecast chain``: points per order of compute, the pace of algorithms, and what of them the prior makes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from forecast.base.dates import check_has_come
from forecast_capability.chain.estimate import (
    ESTIMATE_CASES,
    QUANTITIES,
    Case,
    Estimate,
    estimate,
    evidences,
    interval_coverage,
)
from forecast_capability.chain.likelihood import ALGORITHMS, COMPUTE, FORMS, HORIZONS, Form
from forecast_capability.chain.rows import Rows, observed

__all__ = ["chain"]

#: What a line shows; `--json` has all.
SHOWN = ("points", "points_far", "pace", "points_a_year", "doublings")
#: What of the rows an evidence is of.
EVIDENCE = ("all_rows", "frontier_given_disclosed")


@click.command()
@click.option("--form", type=click.Choice([*COMPUTE, "both"]), default="both", show_default=True, help="Of compute.")
@click.option(
    "--algorithms", type=click.Choice(ALGORITHMS), default=ALGORITHMS[0], show_default=True, help="How they move."
)
@click.option("--as-of", type=float, help="Rows dated before this year alone, such as 2025.5.")
@click.option(
    "--edition", type=click.Choice(["then", "today"]), default="then", show_default=True,
    help="As of a date: the index by the scores known then, or that of today's edition.",
)  # fmt: skip
@click.option(
    "--worth", type=click.FloatRange(20, 20000), default=250, show_default=True,
    help="Of how many independent draws an estimate is to be worth.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Equal seeds, equal draws."
)
@click.option(
    "--coverage", "chains", type=click.IntRange(1, 10000),
    help="Instead: simulate so many chains, and count how often the 90 % intervals hold the truth.",
)  # fmt: skip
@click.option("--evidence", is_flag=True, help="Instead: the evidence of every rival, by all rows and of the frontier.")
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
def chain(
    form: str, algorithms: str, as_of: float | None, edition: str, worth: float, seed: int, chains: int | None,
    evidence: bool, as_json: bool,
) -> None:  # fmt: skip
    """Estimate what compute and algorithms are worth on the capability index.

    One likelihood of training runs, the Epoch Capabilities Index and METR's time horizons, in a straight and a bent
    form. It is estimated from all rows, without models of disclosed compute, and with the prior of points per order
    of compute centred at 5 and at 20 in place of 10: what moves then is what the prior makes. Takes some minutes.
    """
    forms = [Form(compute=each, algorithms=algorithms) for each in (COMPUTE if form == "both" else (form,))]
    if as_of is not None:
        check_has_come(as_of, "--as-of")
    rows = observed(as_of, rescore=edition == "then")
    if evidence:
        each = {rival: evidences(rows, rival, worth=worth, seed=seed) for rival in _rivals(form)}
        result: dict[str, Any] = {rival.name: dict(zip(EVIDENCE, found, strict=True)) for rival, found in each.items()}
        lines = [*_evidence_lines(each)]
    elif chains is not None:
        held = {each.compute: _held(rows, each, chains, worth, seed) for each in forms}
        result = {"chains": chains, "coverage": held}
        lines = [line for each in forms for line in _coverage_lines(each, held[each.compute], chains)]
    else:
        found = {each.compute: [(case, estimate(rows, each, case, worth=worth, seed=seed)) for case in ESTIMATE_CASES]
                 for each in forms}  # fmt: skip
        result = {name: [_row(case, one) for case, one in made] for name, made in found.items()}
        lines = [line for each in forms for line in _estimate_lines(each, found[each.compute])]
    if as_json:
        provenance = {"rows": rows.hash, "worth": worth, "seed": seed, "as_of": as_of, "edition": edition}
        told = {"command": "chain", "result": result, "warnings": [], "provenance": provenance}
        click.echo(json.dumps(told, indent=2, allow_nan=False))
        return
    for line in lines:
        click.echo(line)


def _rivals(form: str) -> Iterator[Form]:
    """Walk the forms whose evidence is compared: every rival of algorithms, and every one of the horizon beside it."""
    for rival in FORMS:
        if form in (rival.compute, "both") and HORIZONS[0] == rival.horizon:
            yield rival
    yield from (
        Form(compute=each, horizon=other) for each in COMPUTE if form in (each, "both") for other in HORIZONS[1:]
    )


def _evidence_lines(found: dict[Form, tuple[float, float]]) -> Iterator[str]:
    """Walk a table of log evidences, each less that of the first form."""
    (whole, frontier), *_ = found.values()
    yield "Log evidence over that of the first line: of all rows, and of the frontier given the disclosed models."
    yield "A difference of 3 is a factor of 20."
    for form, (of_all, given) in found.items():
        yield f"  {form.name:<34} {of_all - whole:+7.1f} {given - frontier:+7.1f}"


def _row(case: Case, found: Estimate) -> dict[str, object]:
    return {
        "case": case.title,
        "evidence": found.evidence,
        "rows": found.rows,
        "correlation": found.correlation,
        "quantities": {
            name: dict(zip(("p05", "p50", "p95"), found.quantiles(name), strict=True)) for name in QUANTITIES
        },
    }


def _estimate_lines(form: Form, found: list[tuple[Case, Estimate]]) -> Iterator[str]:
    """Walk the lines on one form: a sentence, and a table of a block for each case."""
    whole = found[0][1]
    low, middle, high = whole.quantiles("points")
    pace = whole.quantiles("pace")
    yield (
        f"{form.compute.capitalize()}: an order of magnitude of compute is worth {middle:.1f} points of the index "
        f"(90 %: {low:.1f} to {high:.1f}), and algorithms give {pace[1]:.2f} orders a year "
        f"({pace[0]:.2f} to {pace[2]:.2f}); their correlation is {whole.correlation:.2f}."
    )
    moved = [one.quantiles("points")[1] for case, one in found if case.centre != ESTIMATE_CASES[0].centre]
    yield (
        f"A prior centred at 5 or at 20 in place of 10 moves points per order from {min(moved):.2f} to "
        f"{max(moved):.2f}, {max(moved) / min(moved) - 1:.0%}."
    )
    for case, one in found:
        yield f"  {case.title} ({one.rows} rows, correlation {one.correlation:.2f})"
        for name in SHOWN:
            if name == "points_far" and form.compute == "straight":
                continue  # as much everywhere
            low, middle, high = one.quantiles(name)
            yield f"    {QUANTITIES[name]:<62} {middle:6.2f}  [{low:.2f}, {high:.2f}]"
    yield ""


def _held(rows: Rows, form: Form, chains: int, worth: float, seed: int) -> dict[str, float]:
    each = list(interval_coverage(rows, form, chains=chains, worth=worth, seed=seed))
    return {name: sum(one[name] for one in each) / len(each) for name in QUANTITIES}


def _coverage_lines(form: Form, held: dict[str, float], chains: int) -> Iterator[str]:
    yield f"{form.compute.capitalize()}: of {chains} simulated chains the 90 % interval holds the truth in"
    for name, share in held.items():
        yield f"    {QUANTITIES[name]:<62} {share:6.1%}"
    yield ""
