"""What a device costs at a date: its quotes carried forward by its market, and an estimate for what nobody quotes.

Log prices of a market (consumer cards; workstations and data centres) are one Gaussian process (Rasmussen and Williams
2006, Gaussian Processes for Machine Learning, 2.7): a line in what the device is, a random walk of the market, what
sets the device and its condition apart, which is forgotten over years, and the scatter of one quote. A quote is so
carried forward by what all cards of its market did since, in an interval that grows with its age; a device that nobody
quotes has the line and the walk alone. A launch price says what a device is, and is no quote.

Leaving devices out, in eighths (312 quotes to 2026-10): of consumer cards the median error is 16 %, four of five quotes
are within a factor of 1.3, and 91 % lie in the 90 % interval. Of the other market these are 67 %, 2.6 and 77 %: nothing
but a quote tells such a price.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecast import ModelSpec
from forecast.errors import DataError, UnknownNameError
from forecast.models import Description, FittedModel, ModelRecord, OtherQuantity
from forecast_hardware.gpu import ACCELERATORS_TABLE

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.streams import Streams
    from forecast.tables import Columns

Array = NDArray[np.float64]

__all__ = ["DevicePrice", "Market", "device_price", "make_device_price", "market_prices"]

PRICES_TABLE = "datasets/accelerator-prices"
#: A device is quoted if the newest quote is no older; else its price is an estimate.
QUOTED_YEARS = 2.0
#: Kinds of `datasets/compute-prices` that are prices of a device one buys.
_BOUGHT = ("purchase", "list", "average", "median")
#: A quote that is so many times off the median of its card in these years is no price of it; asks of others are.
MAX_APART = 10.0
#: Older devices are sold to collectors.
MAX_AGE_YEARS = 10.0
#: Standard deviations of the line's coefficients before any quote, weak, so that few quotes do. Level; logarithms of
#: launch price, FP32 rate and bandwidth, and whether each is stated nowhere; memory, and memory by year; age, used,
#: used by age; AMD, another maker than NVIDIA and AMD; a workstation's; asked and not sold.
_COEFFICIENT_SDS = np.array([10, 1, 0.5, 0.5, 1, 1, 1, 0.5, 0.1, 0.3, 0.5, 0.2, 0.3, 0.3, 0.5, 0.7])
#: Walk of the market in a year, device, condition, years in which these two are forgotten, one quote: where the search
#: for the likeliest begins, and how far from there it is held, both in logarithms.
_SCALES = np.log([0.15, 0.2, 0.1, 4.0, 0.12])
_SCALE_SD = 0.7
#: Log price about which the line is centred, and the year from which the walk goes on.
_CENTRE, _FIRST_YEAR = 6.5, 2010.0


class _Quotes(NamedTuple):
    """Rows of a market: what the line is in (quote, term), time, device, used (0 or 1)."""

    line: Array
    time: Array
    device: NDArray[np.str_]
    used: Array

    def kept(self, mask: NDArray[np.bool_]) -> _Quotes:
        return _Quotes(*(column[mask] for column in self))


class DevicePrice(NamedTuple):
    """A price in USD with the ends of its 90 % interval; `estimated` if nobody quoted it in the two years before."""

    price: float
    low: float
    high: float
    estimated: bool


@dataclass(frozen=True)
class _Device:
    released: float
    memory: float
    bandwidth: float
    launch: float
    kind: str
    vendor: str
    fp32: float

    def terms(self, time: float, used: float, asked: float = 0.0) -> list[float]:
        """Return what the line is in, of a quote at a date; what no source states is a term of its own."""
        age, memory = max(time - self.released, 0.0) - 4, float(np.log(self.memory / 12))
        figures = np.log([self.launch / (60 * self.memory), self.fp32 / 30, self.bandwidth / 600])
        return [
            1.0, *np.nan_to_num(figures).tolist(), *np.isnan(figures).astype(float).tolist(), memory,
            memory * max(time - 2026, -8.0), age, used, used * age, float(self.vendor == "AMD"),
            float(self.vendor not in ("AMD", "NVIDIA")), float(self.kind == "workstation"), asked,
        ]  # fmt: skip

    @property
    def market(self) -> str:
        return "consumer" if self.kind == "consumer" else "data centre"


@dataclass(frozen=True, eq=False)
class Market:
    """The quotes of a market, and what they say of any device.

    Parameters
    ----------
    quotes : _Quotes
    logs : ndarray
        Log prices, centred.
    scales : ndarray
        See `_SCALES`.
    """

    quotes: _Quotes
    logs: Array
    scales: Array

    @classmethod
    def of(cls, quotes: _Quotes, prices: Array) -> Market:
        """Find the likeliest scales, held near where the search begins."""
        from scipy.optimize import minimize

        logs = np.log(prices) - _CENTRE

        def loss(scales: Array) -> float:
            root = np.linalg.cholesky(_covariance(quotes, quotes, scales) + np.exp(2 * scales[4]) * np.eye(len(logs)))
            left = np.linalg.solve(root, logs)
            away = (scales - _SCALES) / _SCALE_SD
            return float(left @ left / 2 + np.log(np.diag(root)).sum() + away @ away / 2)

        far = 3 * _SCALE_SD  # beyond it nothing can be solved
        bounds = [(start - far, start + far) for start in _SCALES]
        return cls(quotes, logs, np.asarray(minimize(loss, _SCALES, method="L-BFGS-B", bounds=bounds).x))

    @cached_property
    def _inverse(self) -> Array:
        among = _covariance(self.quotes, self.quotes, self.scales) + np.exp(2 * self.scales[4]) * np.eye(len(self.logs))
        return np.linalg.inv(among)

    def log_prices(self, asked: _Quotes) -> tuple[Array, Array]:
        """Return means and standard deviations of log prices, not of single quotes; each as if it were asked alone."""
        found = []
        for row in range(len(asked.time)):
            one = asked.kept(np.arange(len(asked.time)) == row)
            [shared] = _covariance(one, self.quotes, self.scales)
            weights = shared @ self._inverse
            variance = _covariance(one, one, self.scales)[0, 0] - shared @ weights
            found.append((_CENTRE + weights @ self.logs, np.sqrt(max(variance, 0.0))))
        means, deviations = np.array(found).T
        return means, deviations


def _covariance(one: _Quotes, other: _Quotes, scales: Array) -> Array:
    walk, device, condition, years, _ = np.exp(scales)
    same = one.device[:, None] == other.device
    alike = same & (one.used[:, None] == other.used)
    forgotten = np.exp(-np.abs(one.time[:, None] - other.time) / years)
    line = (one.line * _COEFFICIENT_SDS**2) @ other.line.T
    common = walk**2 * (np.minimum(one.time[:, None], other.time) - _FIRST_YEAR)
    return np.asarray(line + common + (device**2 * same + condition**2 * alike) * forgotten)


@dataclass(frozen=True, eq=False)
class _Prices:
    """Every device, and the quotes of both markets."""

    devices: Mapping[str, _Device]
    quotes: _Quotes
    prices: Array
    _markets: dict[tuple[str, float], Market] = field(default_factory=dict, repr=False)

    def market(self, name: str, before: float) -> Market:
        """Return a market as its quotes before a date have it."""
        if (name, before) not in self._markets:
            own = np.array([self.devices[each].market == name for each in self.quotes.device], dtype=bool)
            mask = own & (self.quotes.time < before)
            self._markets[name, before] = Market.of(self.quotes.kept(mask), self.prices[mask])
        return self._markets[name, before]

    def find(self, device: str) -> _Device:
        """Return a device by its name, or raise with the nearest one."""
        if device not in self.devices:
            raise UnknownNameError("device", device, self.devices, where=ACCELERATORS_TABLE)
        return self.devices[device]


def market_prices() -> _Prices:
    """Return all devices and quotes of the tables, those that a user added among them."""
    from forecast import tables

    names = PRICES_TABLE, "datasets/compute-prices", ACCELERATORS_TABLE
    key = tuple(str(tables.look(name).attrs["hash"]) for name in names)
    if key not in _cache:
        _cache.clear()
        _cache[key] = _read_prices(*(tables.to_columns(name) for name in names))
    return _cache[key]


#: The prices that were read last, by the hashes of the tables as they stood.
_cache: dict[tuple[str, ...], _Prices] = {}


def _read_prices(own: Columns, others: Columns, devices: Columns) -> _Prices:
    from forecast.tables import decimal_year

    known, names = _devices(devices), set(devices["device"].tolist())

    def quotes(table: Columns, price: str, *texts: str) -> Iterator[tuple[Any, ...]]:
        columns = table["device"], decimal_year(table["date"]), table.numeric(price), *(table[each] for each in texts)
        return (row for row in zip(*columns, strict=True) if np.isfinite(row[2]))

    rows = [each for each in quotes(own, "price", "condition", "channel") if each[4] != "launch"]
    rows += [each for each in quotes(others, "purchase", "scope", "kind") if each[3] == "board" and each[4] in _BOUGHT]
    for name, time, *_ in rows:
        if name not in names:
            raise UnknownNameError("device", str(name), names, where=f"{PRICES_TABLE}: a quote")
        if not np.isfinite(time):
            raise DataError(f"{PRICES_TABLE}: a quote of {name} has no date: a price counts from its day on")
    rows = [each for each in rows if each[0] in known and each[1] - known[each[0]].released <= MAX_AGE_YEARS]
    device, time, paid, condition, channel = (np.array(column) for column in zip(*rows, strict=True))
    for name, at, price in zip(device, time, paid, strict=True):
        usual = float(np.median(paid[(device == name) & (np.abs(time - at) <= QUOTED_YEARS)]))
        if known[name].market == "consumer" and abs(np.log(price / usual)) > np.log(MAX_APART):
            raise DataError(
                f"{PRICES_TABLE}: a quote of {name} of {price:,.4g} USD is over {MAX_APART:g} times off what it is "
                f"quoted at, {usual:,.0f} USD"
            )
    used, asked = (condition == "used").astype(float), ((channel == "list") & (condition != "board")).astype(float)
    line = np.array([known[each].terms(*about) for each, *about in zip(device, time, used, asked, strict=True)])
    return _Prices(known, _Quotes(line, time, device, used), paid)


def _devices(rows: Columns) -> dict[str, _Device]:
    """Return the devices with a date and a memory."""
    from forecast.tables import decimal_year

    plain = (rows["precision"] == "fp32") & (rows["path"] == "vector") & (rows["sparsity"] == "dense")
    fp32 = dict(zip(rows["device"][plain], rows.numeric("peak")[plain], strict=True))
    figures = decimal_year(rows["release_date"]), *map(rows.numeric, ("memory", "bandwidth", "launch_price"))
    return {
        name: _Device(*about, float(fp32.get(name, np.nan)))
        for name, *about in zip(rows["device"], *figures, rows["kind"], rows["vendor"], strict=True)
        if np.isfinite(about[0]) and np.isfinite(about[1])
    }


def device_price(device: str, date: float, *, as_of: float | None = None, used: bool = True) -> DevicePrice:
    """Return what a device costs at a date.

    Parameters
    ----------
    device : str
        Of the table ``datasets/accelerators``.
    date : float
        Decimal year.
    as_of : float, optional
        Only quotes before it count.
    used : bool
        Used where a used one is quoted, else new; otherwise new in any case.

    Raises
    ------
    UnknownNameError
        If there is no such device.

    Examples
    --------
    >>> device_price("geforce-rtx-3090", 2026.75).estimated
    False
    """
    return _price(market_prices(), device, date, as_of, used=used)


def _price(prices: _Prices, device: str, date: float, as_of: float | None, *, used: bool = True) -> DevicePrice:
    [mean], [sd], estimated = _log_prices(prices, device, np.array([date]), as_of, used=used)
    low, price, high = np.exp(mean + sd * np.array([-1.645, 0.0, 1.645]))
    return DevicePrice(float(price), float(low), float(high), estimated)


def _log_prices(
    prices: _Prices, device: str, time: Array, as_of: float | None, *, used: bool
) -> tuple[Array, Array, bool]:
    """Return means and standard deviations of the log price by date, and whether it is an estimate at the first."""
    before = np.inf if as_of is None else as_of
    known, conditions = prices.find(device), [1.0, 0.0] if used else [0.0]
    quotes = prices.quotes
    recent = (quotes.device == device) & (quotes.time < before) & (np.abs(time[0] - quotes.time) <= QUOTED_YEARS)
    quoted = next((each for each in conditions if each in quotes.used[recent]), None)
    bought = np.repeat(conditions[0] if quoted is None else quoted, len(time))
    line = np.array([known.terms(*about) for about in zip(time, bought, strict=True)])
    asked = _Quotes(line, time, np.repeat(device, len(time)), bought)
    return *prices.market(known.market, before).log_prices(asked), quoted is None


def make_device_price(name: str, spec: ModelSpec) -> Model:
    """Build the model of one device's price."""
    device = name.partition("@")[2] or "geforce-rtx-4090"
    market_prices().find(device)
    used = OtherQuantity(unit="", title="1: used where a used one is quoted; 0: new")
    return _PriceModel(
        name=name, unit=spec.unit, inputs={"used": used}, device=device, sources=(spec.reference,),
        qualifiers=spec.qualifiers,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _PriceModel(ModelRecord):
    device: str

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        return _FittedPrice(model=self, as_of=as_of, prices=market_prices())


@dataclass(frozen=True, kw_only=True)
class _FittedPrice(FittedModel):
    """The price of one device: a world is as far from the middle at all dates."""

    model: _PriceModel
    as_of: float | None
    prices: _Prices = field(repr=False)

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        away = streams("parameters").standard_normal(streams.draws)
        out, is_used = np.empty((len(time), streams.draws)), inputs["used"][0] >= 0.5
        for used in np.unique(is_used):
            mean, sd, _ = _log_prices(self.prices, self.model.device, time, self.as_of, used=bool(used))
            out[:, is_used == used] = np.exp(mean[:, None] + sd[:, None] * away[is_used == used])
        return out

    def describe(self) -> Description:
        date = self.as_of or float(self.prices.quotes.time.max())
        price = _price(self.prices, self.model.device, date, self.as_of)
        how = "an estimate from what it is: nobody quotes it" if price.estimated else "its quotes, carried forward"
        return Description(
            summary=f"{price.price:,.0f} USD [90 %: {price.low:,.0f}, {price.high:,.0f}] in {date:.1f}, {how}",
            sources=self.model.sources,
            facts={"estimated": float(price.estimated)},
        )
