"""The charts of "Which GPU(s) to Get for Deep Learning" (2023-01-30), recomputed from our tables as of its date.

Performance is the geometric mean of the dense 16-bit rate and the bandwidth. In 8 bits NVIDIA's devices from Ada and
Hopper on have twice the rate. Inference adds up in FP16, at which GeForce RTX cards run twice as fast as with FP32.
Cost is the mean of new and used, a share of a host, and five years of electricity at 15 % use. A price is the newest
quote of the two years before; where nobody quotes a card, it is the estimate of `hardware/device-price` for the date by
all quotes, later ones too, in worlds whose quantiles are the figure's interval. A launch price is none: a figure that
takes one says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from forecast.models import Array, Description, Unfitted
from forecast.tables import decimal_year
from forecast_hardware.gpu import ACCELERATORS_TABLE

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["build"]

_DATE, _TWO_YEARS_BEFORE, _ADA = (np.datetime64(day) for day in ("2023-01-30", "2021-01-30", "2022-09-20"))
#: USD for each device: of a desktop, and of a server; USD for each watt in five years at 15 % and 0.175 USD/kWh.
_DESKTOP, _SERVER, _PER_WATT = 1000.0, 2000.0, 5 * 365.25 * 24 * 0.15 * 0.175 / 1000
#: GB that a device of a server has at least.
_SERVER_MEMORY = 48
_R3080, _R3090, _R4070TI, _R4090 = (f"geforce-rtx-{each}" for each in ("3080", "3090", "4070-ti", "4090"))
_H100, _ADA_6000 = "h100-sxm5", "rtx-6000-ada"


@dataclass(frozen=True, kw_only=True)
class _GuideEssay(Unfitted):
    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        return np.full((len(time), streams.draws), _Guide().share(_R4090, _H100))

    def describe(self) -> Description:
        guide = _Guide()
        figures: dict[str, Callable[[], float | Array]] = {
            "rtx_4090_of_h100": lambda: guide.share(_R4090, _H100),
            "rtx_4070_ti_over_3090": lambda: guide.per_dollar(_R4070TI) / guide.per_dollar(_R3090),
            "rtx_3080_training": lambda: guide.index(_R3080, bits=16),
            "rtx_4070_ti_inference": lambda: guide.index(_R4070TI),
            "server_cards_rank": guide.server_cards_rank,
            "rtx_3090_price": guide.price_of_a_3090,
            "host_of_a_4070_ti": guide.host_of_a_4070_ti,
        }
        facts: dict[str, float] = {}
        for fact, figure in figures.items():
            ends = np.quantile(figure(), [0.5, 0.05, 0.95])
            facts |= dict(zip((fact, f"{fact}_p05", f"{fact}_p95"), ends.tolist(), strict=True))
        return Description(
            summary=f"performance of {len(guide.devices)} devices by {_DATE}, quotes of {len(guide.quotes)} and "
            f"estimated prices of {len(guide.prices) - len(guide.quotes)}",
            sources=self.sources, facts=facts,
        )  # fmt: skip


#: Builds the model: a number without any uncertainty, and facts.
build = _GuideEssay.from_spec


@dataclass(frozen=True)
class _Device:
    called: str
    rate: float
    rate_8bit_inference: float
    bandwidth: float
    memory: float
    power: float
    launch_price: float

    def performance(self, bits: int) -> float:
        return float(np.sqrt((self.rate_8bit_inference if bits == 8 else self.rate) * self.bandwidth))


class _Guide:
    """Devices that were out by the date, and their quotes of the two years before."""

    @cached_property
    def devices(self) -> Mapping[str, _Device]:
        """The devices whose dense 16-bit rate, bandwidth and power are known."""
        from forecast import tables

        rows = tables.to_columns(ACCELERATORS_TABLE)
        kept = (rows["sparsity"] == "dense") & np.isin(rows["precision"], ["bf16", "fp16"])
        kept &= (rows["evidence"] == "released") & (rows["release_date"] <= _DATE) & np.isfinite(rows.numeric("peak"))
        found = {}
        launch, memory = rows.numeric("launch_price"), rows.numeric("memory")
        last_tensor = np.argsort(rows["path"][kept] == "tensor", kind="stable")  # it replaces a vector rate
        for i in np.flatnonzero(kept)[last_tensor]:
            rate, bandwidth, power = (float(rows.numeric(each)[i]) for each in ("peak", "bandwidth", "tdp"))
            if not np.isfinite(rate + bandwidth + power):
                continue
            name = str(rows["device"][i])
            by_format = 2 if rows["vendor"][i] == "NVIDIA" and rows["release_date"][i] >= _ADA else 1
            by_sums = 2 if name.startswith("geforce-rtx") else 1  # their rates in the table add up in FP32
            found[name] = _Device(
                str(rows["name"][i]), rate, rate * by_format * by_sums, bandwidth, float(memory[i]), power,
                float(launch[i]),
            )  # fmt: skip
        return found

    @cached_property
    def quotes(self) -> Mapping[str, float]:
        """Newest quote by device, the mean of new and used where there are both."""
        return {name: float(np.mean(list(prices.values()))) for name, prices in self._quoted(launch=False).items()}

    @cached_property
    def prices(self) -> Mapping[str, float | Array]:
        """The quotes, and a price in each world of the other cards that have an estimate, the mean of new and used."""
        from forecast_hardware.prices import price_worlds

        others = [name for name in self.devices if name not in self.quotes]
        return {**self.quotes, **price_worlds(others, float(decimal_year([_DATE])[0]), seed=0)}

    @cached_property
    def launch_prices(self) -> Mapping[str, float]:
        """Price that the maker set, by device."""
        stated = {n: d.launch_price for n, d in self.devices.items() if np.isfinite(d.launch_price)}
        return stated | {n: prices["new"] for n, prices in self._quoted(launch=True).items()}

    def _quoted(self, *, launch: bool) -> Mapping[str, dict[str, float]]:
        from forecast import tables

        found: dict[str, dict[str, float]] = {}
        bought, other = (tables.to_columns(f"datasets/{each}") for each in ("accelerator-prices", "compute-prices"))
        for rows, price, is_launch, condition in (
            (other, other.numeric("purchase"), other["kind"] == "launch", None),
            (bought, bought.numeric("price"), bought["channel"] == "launch", bought["condition"]),
        ):
            kept = (is_launch == launch) & np.isfinite(price) & (rows["status"] == "verified")
            kept &= (rows["date"] <= _DATE) & (rows["date"] > _TWO_YEARS_BEFORE)
            for i in np.flatnonzero(kept)[np.argsort(rows["date"][kept], kind="stable")]:
                device = str(rows["device"][i])
                if device in self.devices:
                    found.setdefault(device, {})[str(condition[i]) if condition is not None else "new"] = float(
                        price[i]
                    )
        return found

    def share(self, device: str, other: str, bits: int = 8) -> float:
        return self.devices[device].performance(bits) / self.devices[other].performance(bits)

    def cost(self, device: str, price: float | Array, host: float = _DESKTOP) -> float | Array:
        """Return the cost of owning a device, in USD."""
        return price + host + _PER_WATT * self.devices[device].power

    def per_dollar(
        self, device: str, price: float | Array | None = None, bits: int = 8, host: float = _DESKTOP
    ) -> float | Array:
        cost = self.cost(device, self.prices[device] if price is None else price, host)
        return self.devices[device].performance(bits) / cost

    def index(self, device: str, bits: int = 8) -> Array:
        """Return the performance per dollar in each world, in percent of the best of the devices that have a price."""
        every = np.broadcast_arrays(*(self.per_dollar(each, bits=bits) for each in self.prices))
        return np.asarray(100 * self.per_dollar(device, bits=bits) / np.max(every, axis=0))

    def server_cards_rank(self) -> int:
        """Return the lower rank of RTX 6000 Ada and H100, at launch prices, among quoted devices of 48 GB."""
        large: Iterable[str] = (n for n, d in self.devices.items() if d.memory >= _SERVER_MEMORY)
        prices = {n: self.quotes[n] for n in large if n in self.quotes}
        prices |= {n: self.launch_prices[n] for n in (_ADA_6000, _H100)}
        order = sorted(prices, key=lambda each: -self.per_dollar(each, prices[each], host=_SERVER))
        return 1 + max(order.index(_ADA_6000), order.index(_H100))

    def price_of_a_3090(self) -> float:
        """Return the price at which a 4070 Ti at its launch price does twice as much per dollar as a 3090, in USD."""
        target = 2 * self.cost(_R4070TI, self.launch_prices[_R4070TI]) / self.share(_R4070TI, _R3090)
        return float(target - self.cost(_R3090, 0.0))

    def host_of_a_4070_ti(self) -> float:
        """Return the host share, in USD, at which 4070 Ti and 4090 are equal per dollar, at launch prices."""
        ratio = self.share(_R4070TI, _R4090)
        own, other = (self.cost(each, self.launch_prices[each], host=0.0) for each in (_R4070TI, _R4090))
        return float((ratio * other - own) / (1 - ratio))
