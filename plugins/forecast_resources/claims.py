"""The figures of the essays on resources and agents, recomputed."""

from __future__ import annotations

from forecast import ClaimSpec

__all__ = ["CLAIMS"]

AGENTS = "Dettmers 2026-01-13, Use Agents or Be Left Behind"
SERA = "Dettmers 2026-01-27, Building SERA"
ENDS = "Dettmers 2025-12-10, Why AGI Will Not Happen"
GROUP = "resources"

CLAIMS = (
    ClaimSpec(
        name="task-automation",
        group=GROUP,
        statement="A task of 10 hours takes 9 after 10 % more automation",
        stated="9",
        unit="hours",
        formula="(1 - share)*hours",
        values={"share": 0.1, "hours": 10},
        reference=AGENTS,
        note="Automate if uses × saving > cost.",
    ),
    ClaimSpec(
        name="task-automation-cost",
        group=GROUP,
        statement="Saving 30 s that costs 30 s saves 0 %",
        stated="0",
        unit="percent",
        formula="100*(saving - cost)/saving",
        values={"saving": 30, "cost": 30},
        reference=AGENTS,
    ),
    ClaimSpec(
        name="email-tool",
        group=GROUP,
        statement="After how many mails does a tool pay that took 100 hours and saves 30 s a mail?",
        formula="hours*3600/saving",
        values={"hours": 100, "saving": 30},
        unit="mails",
        declared="ours",
        reference=f"Our figure, from {AGENTS}",
        note="The essay says more than 100 hours, so this is the least.",
    ),
    ClaimSpec(
        name="post-time",
        group=GROUP,
        statement="1 hour, 10 minutes and about 2 hours make about 3 hours",
        stated="3",
        unit="hours",
        formula="first + minutes/60 + last",
        values={"first": 1, "minutes": 10, "last": 2},
        reference=AGENTS,
        note="3 h 10.",
    ),
    ClaimSpec(
        name="sera-bugs",
        group=GROUP,
        statement="51 types of bug times 1000 functions make 51,000 trajectories",
        stated="51000",
        formula="types*functions",
        values={"types": 51, "functions": 1000},
        reference=SERA,
        note="The baseline cost $500.",
    ),
    ClaimSpec(
        name="sera-bugs-rate",
        group=GROUP,
        statement="How many trajectories a GPU-day are 7,000 in 19 GPU-days?",
        formula="trajectories/days",
        values={"trajectories": 7000, "days": 19},
        unit="a GPU-day",
        declared="ours",
        reference=f"Our figure, from {SERA}",
    ),
    ClaimSpec(
        name="sera-2026",
        group=GROUP,
        statement="Academic labs at the level of the frontier on private code by the end of 2026",
        declared="scenario",
        reference=SERA,
        note="Dated, and to be scored after 2026-12-31.",
    ),
    ClaimSpec(
        name="graphcore",
        group=GROUP,
        statement="A chip 100 times faster trains ResNet-50 in 15 minutes: what did it take before?",
        formula="factor*minutes/60",
        values={"factor": 100, "minutes": 15},
        unit="hours",
        declared="ours",
        reference=f"Our figure, from {ENDS}",
        note="The statement implies a base of 25 hours, which it does not state.",
    ),
    ClaimSpec(
        name="training-compute-growth",
        group=GROUP,
        statement="Training compute of notable models grows 4.7-fold a year since 2010",
        stated="4.7",
        unit="a year",
        formula="exp(growth)",
        facts={"growth": "resources/training-compute.growth_per_year"},
        reference="Epoch AI, training compute of notable models (4.7 a year, 90 %: 4.3 to 5.2)",
        note="All domains together; language models grew about twice as fast.",
    ),
    ClaimSpec(
        name="metr-th1-1",
        group=GROUP,
        statement="The time horizon of language models doubles in 128.7 days from 2023 (TH1.1)",
        stated="128.7",
        unit="day",
        formula="365.25*years",
        facts={"years": "resources/horizon-th1-1.doubling_years"},
        reference="METR, time horizons TH1.1 (128.7 days, 95 %: 105 to 157)",
    ),
    ClaimSpec(
        name="metr-th1-0",
        group=GROUP,
        statement="The time horizon of language models doubles in 212 days (TH1.0)",
        stated="212",
        unit="day",
        formula="365.25*years",
        facts={"years": "resources/horizon-th1-0.doubling_years"},
        reference="Kwa et al. (METR) 2025, Measuring AI Ability to Complete Long Tasks, arXiv:2503.14499 (212 days, "
        "95 %: 171 to 249)",
        note="Computed with the three frontier models that came later; on the eleven of the source it is 213.0.",
    ),
)
