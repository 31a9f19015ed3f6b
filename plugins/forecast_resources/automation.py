"""Whether automating a task pays, and what research takes to stand still: two small calculations as estimates."""

from __future__ import annotations

from forecast import EstimateSpec, Input

__all__ = ["MODELS"]

AGENTS = "Dettmers 2026-01-13, Use Agents or Be Left Behind"
BLOOM = "Bloom, Jones, Van Reenen & Webb 2020, Are Ideas Getting Harder to Find?, American Economic Review 110(4)"

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
        ),
        Input(name="building", unit="hour", distribution={"value": 100.0}, source=f"{AGENTS}: more than 100 hours"),
    ),
    note="it pays where uses × saving > cost: here from 12,000 uses on",
    reference=AGENTS,
)

EFFORT = EstimateSpec(
    name="research-effort",
    title="By how much research effort must grow to keep a rate of progress",
    quantity="resources.research_effort",
    unit="",
    expression="exp(decline*years)",
    inputs=(
        Input(
            name="decline",
            unit="1/year",
            distribution={"value": 0.068},
            source=f"{BLOOM}: research productivity behind Moore's law fell by 6.8 % a year",
        ),
        Input(name="years", unit="year", distribution={"value": 43.0}, source=f"{BLOOM}: 1971 to 2014"),
    ),
    note="18.6 over the 43 years of the source, which says 'more than 18 times'",
    reference=BLOOM,
)

MODELS = (AUTOMATION, EFFORT)
