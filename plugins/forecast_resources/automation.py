"""Automation as estimates: whether it pays, how many take up what is there, and what data for robots cost."""

from __future__ import annotations

from forecast import EstimateSpec, Input

__all__ = ["AUTOMATION_MODELS"]

AGENTS = "Dettmers 2026-01-13, Use Agents or Be Left Behind"
AUTOMATION_ESSAY = "Dettmers 2025-12-10, Why AGI Will Not Happen"
BICK = "Bick, Blandin & Deming 2024, The Rapid Adoption of Generative AI"
FISHER = "Fisher & Pry 1971, Technological Forecasting and Social Change 3, 75-88"
DROID = "Khazatsky et al. 2024, DROID, arXiv:2403.12945"
JUDGED = "our judgement, not a measurement"

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

_TAKEN_UP = (
    Input(
        name="share",
        unit="",
        distribution={"value": 0.39},
        source=f"{BICK}: nearly 40 % of adults in the United States, 18 to 64, had used it by August 2024",
        title="that uses it at a date",
        lower=0.0,
    ),
    Input(
        name="span",
        unit="year",
        distribution={"p05": 5.0, "p95": 30.0},
        source=f"{JUDGED}; {BICK}: the internet had 20 % after two years, the personal computer 20 % after three",
        title="from 10 % to 90 % of those who could use it",
        lower=0.0,
    ),
    Input(name="years", unit="year", distribution={"value": 5.0}, source="our example", title="after that date"),
)
#: Odds grow 81-fold from 10 % to 90 %.
_ODDS = "(1/share - 1)*exp(-log(81)/span*years)"

ADOPTION = (
    EstimateSpec(
        name="adoption",
        scale="share",
        title="Share of those who could use a capability that does, years after its share was known",
        quantity="resources.adoption",
        unit="",
        expression=f"1/(1 + {_ODDS})",
        inputs=_TAKEN_UP,
        note="logistic; what a capability is worth grows with those who use it, and not with an index",
        reference=f"{FISHER}; {AUTOMATION_ESSAY} (adoption against capability)",
    ),
    EstimateSpec(
        name="adoption-growth",
        title="Growth of use that adoption alone gives, at a capability that stays what it is",
        quantity="resources.adoption_growth",
        unit="1/year",
        expression=f"log(81)/span*(1 - 1/(1 + {_ODDS}))",
        inputs=_TAKEN_UP,
        note="to set beside the growth of a capability: the logarithmic derivative of resources/adoption",
        reference=f"{FISHER}; {AUTOMATION_ESSAY} (adoption against capability)",
    ),
)

ROBOTS = EstimateSpec(
    name="robot-data-cost",
    title="What demonstrations for robots cost: people, and the robots that they steer",
    quantity="resources.robot_data_cost",
    unit="USD",
    expression="hours*(wage + robot/life)/kept",
    inputs=(
        Input(
            name="hours",
            unit="hour",
            distribution={"value": 350.0},
            source=f"{DROID}: 76,000 demonstrations, 350 hours, by 50 people over 12 months",
            title="of demonstrations that are kept",
            lower=0.0,
        ),
        Input(
            name="wage",
            unit="USD/hour",
            distribution={"p05": 15.0, "p95": 60.0},
            source=f"of an operator, with what comes on top; {JUDGED}",
            lower=0.0,
            qualifiers={"dollars": "nominal"},
        ),
        Input(
            name="robot",
            unit="USD",
            distribution={"p05": 1e4, "p95": 5e4},
            source=f"an arm with cameras and a computer; {JUDGED}",
            lower=0.0,
            qualifiers={"dollars": "nominal"},
        ),
        Input(
            name="life",
            unit="hour",
            distribution={"p05": 2000.0, "p95": 10000.0},
            source=f"that it is steered, in one to five years; {JUDGED}",
            lower=0.0,
        ),
        Input(
            name="kept",
            unit="",
            distribution={"low": 0.1, "high": 0.6, "family": "uniform"},
            source=f"share of the paid time that ends as data: scenes are set up, attempts fail; {JUDGED}",
            lower=0.0,
        ),
    ),
    note="linear in hours: nothing is copied from the web, so that what needs ten times the data costs ten times",
    reference=f"{AUTOMATION_ESSAY} (robotics: data are too expensive to collect); {DROID}",
    qualifiers={"dollars": "nominal"},
)

AUTOMATION_MODELS = (AUTOMATION, *ADOPTION, ROBOTS)
