"""What a machine costs: power and cooling, ownership, the cloud, the power supply, carbon."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import EstimateSpec
from forecast_hardware.hardware_inputs import GPU, GUIDE, JUDGED, between, fixed

__all__ = ["models"]

_OWNED = f"{GPU}: a card, its share of a desktop, and five years of electricity at 0.175 $/kWh and 15 % use"
_CLOUD = f"{GPU}: cloud against desktop"

POWER = fixed("power", "W", 450.0, "table datasets/accelerators, row geforce-rtx-4090")
USE_SHARE = fixed("use", "", 0.15, f"{GPU}: 15 % use of a desktop; commonly 5 to 10", "share of the time it works")
PRICE = fixed("electricity", "USD/kWh", 0.175, _OWNED, "price of electricity", dollars="nominal")
OWNED_YEARS = fixed("years", "year", 5.0, _OWNED, "years of ownership")
COOLING = between(
    "pue", "", 1.1, 1.6, "1.1 in large data centres, 1.58 on average (Uptime Institute 2023); from memory, unverified",
    "power drawn for each watt at the device", family="uniform",
)  # fmt: skip
AT_HOME = fixed("pue", "", 1.0, "a desktop has no cooling of its own; 1.1 to 1.6 in a data centre", lower=1.0)


def _owned() -> Iterator[EstimateSpec]:
    card = fixed(
        "card", "USD", 1599.0, "table datasets/accelerators, row geforce-rtx-4090: launch price", dollars="nominal"
    )
    desktop = between("desktop", "USD", 300.0, 1000.0, f"share of a desktop for one card; {JUDGED}")
    yield EstimateSpec(
        name="electricity-cost",
        title="Electricity of a device a year",
        quantity="hardware.electricity_cost",
        unit="USD/year",
        expression="power*pue*use*electricity",
        inputs=(POWER, AT_HOME, USE_SHARE, PRICE),
        reference=_OWNED,
    )
    yield EstimateSpec(
        name="ownership-cost",
        title="Cost of owning one card with its share of a desktop",
        quantity="hardware.ownership_cost",
        unit="USD",
        expression="card + desktop + years*power*pue*use*electricity",
        inputs=(card, desktop, OWNED_YEARS, POWER, AT_HOME, USE_SHARE, PRICE),
        reference=_OWNED,
    )
    yield EstimateSpec(
        name="flop-cost",
        title="Cost of ownership of a useful FLOP",
        quantity="hardware.flop_cost",
        unit="USD/EFLOP",
        expression="(card + desktop + years*power*pue*use*electricity)/(years*use*min(1, utilisation)*peak)",
        inputs=(
            card,
            desktop,
            OWNED_YEARS,
            POWER,
            AT_HOME,
            USE_SHARE,
            PRICE,
            between("utilisation", "", 0.30, 0.65, f"{GPU}: 30 % for BERT to 65 % at the size of GPT-3"),
            fixed(
                "peak", "TFLOP/s", 165.2, "table datasets/accelerators, row geforce-rtx-4090: FP32 accumulation",
                "dense 16-bit tensor peak", precision="fp16", path="tensor", sparsity="dense",
            ),
        ),
        reference=_OWNED,
    )  # fmt: skip


def _rented() -> Iterator[EstimateSpec]:
    draw = fixed("power", "W", 450.0, f"{_CLOUD}: 350 W of the card and 100 W of the rest")
    rate = fixed("electricity", "USD/kWh", 0.12, f"{_CLOUD}: 0.12 $/kWh", dollars="nominal")
    yield EstimateSpec(
        name="cloud-break-even",
        title="Days after which a desktop of one's own is cheaper than the cloud",
        quantity="hardware.cloud_break_even",
        unit="day",
        expression="desktop/(use*(cloud - power*electricity))",
        inputs=(
            fixed("desktop", "USD", 2200.0, f"{_CLOUD}: $2,200", dollars="nominal"),
            USE_SHARE,
            fixed("cloud", "USD/h", 2.14, f"{_CLOUD}: 2.14 $/h, said to be both spot and on-demand", dollars="nominal"),
            draw,
            rate,
        ),
        note="293 days when the desktop pays electricity for these days; 295 when, as in the essay, for a whole year",
        reference=_CLOUD,
    )
    yield EstimateSpec(
        name="psu-size",
        title="Power supply that a machine with several cards needs",
        quantity="hardware.psu_size",
        unit="W",
        expression="(cards*card_power + processor_power + other_power)*margin",
        inputs=(
            fixed("cards", "", 4.0, GUIDE),
            fixed("card_power", "W", 250.0, GUIDE),
            fixed("processor_power", "W", 150.0, GUIDE),
            fixed("other_power", "W", 100.0, f"{GUIDE}: its 10 % for other components is 100 W, not 115"),
            fixed("margin", "", 1.1, GUIDE),
        ),
        note="1375 W, sold as 1400; the essay's short rule (total times 1.1) gives 1265",
        reference=GUIDE,
    )
    yield EstimateSpec(
        name="carbon",
        title="Carbon dioxide of a device's electricity over its years",
        quantity="hardware.carbon",
        unit="kg",
        expression="power*pue*use*years*carbon_intensity",
        inputs=(
            POWER,
            COOLING,
            USE_SHARE,
            OWNED_YEARS,
            between(
                "carbon_intensity",
                "kg/kWh",
                0.03,
                0.70,
                "from hydro and nuclear to coal, world about 0.48 (Ember 2023); from memory, unverified",
            ),
        ),
        note="of the electricity; making the device comes on top",
        reference="energy times the carbon of a kilowatt-hour where it is drawn",
    )


def models() -> Iterator[EstimateSpec]:
    """Bring the estimates."""
    yield from _owned()
    yield from _rented()
