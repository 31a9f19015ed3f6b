"""The accounts of money and compute: capital expenditure, chips, laboratories, research, and the largest run."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import CommandSpec, ModelSpec

__all__ = ["commands", "models"]

ACCOUNTS_REFERENCE = (
    "SEC filings and Epoch AI (CC-BY 4.0), as compiled in datasets/company-spending, datasets/compute-splits, "
    "datasets/chip-stock, datasets/data-centres and datasets/training-runs-2026; forecast accounts prints each ratio"
)
#: Ratios that are drawn, and what each is of.
DRAWN = {
    "chips-of-all": "Chips that all owners add, over those that four companies' capital expenditure buys",
    "research-of-capex": "R&D compute of the largest laboratory over four companies' capital expenditure",
    "final-of-research": "Final training runs over R&D compute of a laboratory",
    "one-of-final": "The largest training run over all final runs of its laboratory",
    "research-of-compute": "R&D compute over all compute of a laboratory",
    "compute-of-spending": "Compute over all spending of a laboratory",
    "site-power-growth": "Power of the largest site over that of the year before",
}


def models() -> Iterator[ModelSpec]:
    """Bring what a scenario draws from the accounts."""
    at = "forecast_capability.accounts.drawn"
    for link, title in DRAWN.items():
        yield ModelSpec(
            name=f"accounts-{link}", title=title, quantity=f"capability.{link.replace('-', '_')}", unit="",
            keeps="positive", target=f"{at}:ratio", reference=ACCOUNTS_REFERENCE,
            note="one to three years a link: its spread is that of all links",
        )  # fmt: skip
    for name, title, unit, target, note in (
        ("capex-now", "Capital expenditure of four companies at the start, a year", "USD/year", "capex",
         "cash; finance leases left out; not all of it is for AI"),
        ("spending-walk", "How spending wanders around its course, in standard deviations of a year", "", "walk", ""),
        ("site-walk", "How sites wander besides, in standard deviations of a year", "", "walk", ""),
        ("growth-spread", "Spread of a year's growth of spending and of sites", "", "growth_spread", ""),
        ("share-gain", "The share of spending that the largest run costs, over that at the start", "", "share_gain",
         "seven years, from GPT-3 to GPT-6 Astra; of some the cost is by what a FLOP cost"),
        ("tracked-now", "Chips of tracked sites over those of all owners, at the end of the last year", "", "last",
         "more sites are tracked every year: the share is held as it stands"),
        ("planned-chips", "Chips of tracked sites, built and planned, H100 equivalents", "", "planned",
         "plans of 2026-09, to the end of 2028"),
        ("plan-delay", "How late tracked sites are, in the mean", "year", "plan_delay",
         "steps due between two editions of the sites, 2026-05 and 2026-09: the done ones and those that are not"),
        ("plan-growth", "Growth a year of the power that is planned at a site", "1/year", "plan_growth",
         "of the sites with a plan in both editions; those that the later one left out are unknown"),
        ("planned-research", "R&D compute of the largest laboratory, by its own forecast", "USD/year", "planned",
         "told to investors, as reported by the press; to 2028"),
        ("planned-site", "Power of the largest site, built and planned", "MW", "planned",
         "plans of 2026-09, to the end of 2028"),
    ):  # fmt: skip
        yield ModelSpec(
            name=f"accounts-{name}", title=title, quantity=f"capability.{name.replace('-', '_')}", unit=unit,
            keeps="" if target in ("walk", "plan_growth") else "positive", target=f"{at}:{target}", note=note,
            reference=ACCOUNTS_REFERENCE,
        )  # fmt: skip


def commands() -> Iterator[CommandSpec]:
    """Bring the accounts, as a command."""
    yield CommandSpec(
        name="accounts",
        target="forecast_capability.accounts.command:accounts_command",
        title="Print what ties capital expenditure to the largest training run, by year",
        reference=ACCOUNTS_REFERENCE,
    )
