"""Whether automating a task pays, as an estimate."""

from __future__ import annotations

from forecast import EstimateSpec, Input

__all__ = ["MODELS"]

AGENTS = "Dettmers 2026-01-13, Use Agents or Be Left Behind"

AUTOMATION = EstimateSpec(
    name="automation-gain",
    title="Hours gained by automating a task: uses times saving, less what it costs to build",
    quantity="resources.automation_gain",
    unit="hour",
    expression="uses*saving - building",
    inputs=(
        Input(
            name="uses",
            unit="",
            distribution={"p05": 3000.0, "p95": 30000.0},
            source="our example: mails of one person in one to ten years",
        ),
        Input(
            name="saving",
            unit="hour",
            distribution={"value": 30 / 3600},
            source=f"{AGENTS}: 30 seconds a mail",
            lower=0.0,
        ),
        Input(
            name="building",
            unit="hour",
            distribution={"value": 100.0},
            source=f"{AGENTS}: more than 100 hours",
            lower=0.0,
        ),
    ),
    note="it pays where uses × saving > cost: here from 12,000 uses on",
    reference=AGENTS,
)

MODELS = (AUTOMATION,)
