"""What a device costs at a date: its quotes carried forward by its market, and an estimate for what nobody quotes.

Log prices of a market (consumer cards; workstations and data centres) are one Gaussian process (Rasmussen and Williams
2006, Gaussian Processes for Machine Learning, 2.7): a line in what the device is, a random walk of the market, what
sets the device and its condition apart, which is forgotten over years, and the scatter of one quote. A quote is so
carried forward by what all cards of its market did since, in an interval that grows with its age; a device that nobody
quotes has the line and the walk alone. A launch price says what a device is, and is no quote.

Leaving devices out, in eighths (318 quotes to 2026-10): of consumer cards the median error is 15 %, four of five quotes
are within a factor of 1.3, and 89 % lie in the 90 % interval, 52 % in that of 50 %. Bandwidth, for which cards are
bought since models run on them, has a price that changes by year: without it the quotes are 4 times less likely, and
91 % lie in the 90 % interval. Of the other market these are 79 %, 2.5, 83 % and 43 %:
there nothing but a quote tells a price, and a device that nobody quotes has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecast import ModelSpec
from forecast.base.arrays import Array, BoolArray
from forecast.errors import AbsentValueError, DataError, UnknownNameError
from forecast.models import Description, FittedModel, ModelRecord, OtherQuantity
from forecast_hardware.gpu import ACCELERATORS_TABLE

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.streams import Streams
    from forecast.tables import Columns


__all__ = ["DevicePrice", "Market", "device_price", "make_device_price", "market_prices", "price_worlds"]

PRICES_TABLE = "datasets/accelerator-prices"
#: A device is quoted if the newest quote is no older; else its price is an estimate.
QUOTED_YEARS = 2.0
#: A market's estimates stand while they are within this factor of four of five quotes of devices that are left out.
MAX_ESTIMATE_FACTOR = 1.67
#: Kinds of `datasets/compute-prices` that are prices of a device one buys.
_BOUGHT = ("purchase", "list", "average", "median")
#: A quote that is so many times off the median of its card in these years is no price of it; asks of others are.
MAX_APART = 10.0
#: Older devices are sold to collectors.
MAX_AGE_YEARS = 10.0
#: Standard deviations of the line's coefficients before any quote, weak, so that few quotes do. Level; logarithms of
#: launch price, FP32 rate and bandwidth, and whether each is stated nowhere; memory; memory and bandwidth by year; age,
#: used, used by age; AMD, another maker than NVIDIA and AMD; a workstation's; asked and not sold.
_COEFFICIENT_SDS = np.array([10, 1, 0.5, 0.5, 1, 1, 1, 0.5, 0.1, 0.1, 0.3, 0.5, 0.2, 0.3, 0.3, 0.5, 0.7])
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

    def kept(self, mask: BoolArray) -> _Quotes:
        return _Quotes(*(column[mask] for column in self))


class _OwnQuote(NamedTuple):
    time: float
    price: float
    used: float


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
        figures, years = np.log([self.launch / (60 * self.memory), self.fp32 / 30, self.bandwidth / 600]), time - 2026
        launch, fp32, bandwidth = np.nan_to_num(figures).tolist()
        return [
            1.0, launch, fp32, bandwidth, *np.isnan(figures).astype(float).tolist(), memory, memory * max(years, -8.0),
            bandwidth * max(years, -8.0), age, used, used * age, float(self.vendor == "AMD"),
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
    devices : mapping of str to _Device
        All of the market.
    """

    quotes: _Quotes
    logs: Array
    scales: Array
    devices: Mapping[str, _Device] = field(default_factory=dict, repr=False)
    _middles: dict[float, tuple[_Quotes, Array, float]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, quotes: _Quotes, prices: Array, devices: Mapping[str, _Device] | None = None) -> Market:
        """Find the likeliest scales, held near where the search begins."""
        from scipy.optimize import minimize

        logs = np.log(prices) - _CENTRE
        line, since, same, alike, apart = _shared(quotes, quotes)

        def loss(scales: Array) -> tuple[float, Array]:
            """Return minus the log of the posterior density, but for a constant, and its gradient."""
            (walk, device, condition, noise), years = np.exp(2 * scales[[0, 1, 2, 4]]), np.exp(scales[3])
            forgotten = np.exp(-apart / years)
            own, stated = device * same * forgotten, condition * alike * forgotten
            among = line + walk * since + own + stated + noise * np.eye(len(logs))
            root, inverse = np.linalg.cholesky(among), np.linalg.inv(among)
            weights, away = inverse @ logs, (scales - _SCALES) / _SCALE_SD
            value = float(logs @ weights / 2 + np.log(np.diag(root)).sum() + away @ away / 2)
            slope = inverse - np.outer(weights, weights)
            moved = [walk * since, own, stated, (own + stated) * apart / years / 2]  # half of what each scale changes
            slopes = [float((slope * each).sum()) for each in moved] + [noise * float(np.trace(slope))]
            return value, np.array(slopes) + away / _SCALE_SD

        far = 3 * _SCALE_SD  # beyond it nothing can be solved
        bounds = [(start - far, start + far) for start in _SCALES]
        scales = np.asarray(minimize(loss, _SCALES, jac=True, method="L-BFGS-B", bounds=bounds).x)
        return cls(quotes, logs, scales, devices or {})

    @cached_property
    def _inverse(self) -> Array:
        among = _covariance(self.quotes, self.quotes, self.scales) + np.exp(2 * self.scales[4]) * np.eye(len(self.logs))
        return np.linalg.inv(among)

    @cached_property
    def left_out_factor(self) -> float:
        """The factor within which four of five quotes are told by the quotes of all other devices."""
        told, errors = self._inverse @ self.logs, np.full(len(self.logs), np.inf)
        for device in np.unique(self.quotes.device):
            own = self.quotes.device == device
            errors[own] = np.linalg.solve(self._inverse[np.ix_(own, own)], told[own])
        return float(np.exp(np.quantile(np.abs(errors), 0.8))) if len(errors) else np.inf

    def log_prices(self, asked: _Quotes, since: _Quotes | None = None) -> Array:
        """Return means, standard deviations and shares of log prices, not of single quotes, or of what they gained.

        Each is computed as if it were asked alone. The share is the part of the deviation that goes with the market,
        the mean of all its devices.
        """
        found = []
        for row in range(len(asked.time)):
            one, *before = (each.kept(np.arange(len(asked.time)) == row) for each in (asked, since) if each is not None)

            def gained(others: _Quotes, one: _Quotes = one, before: list[_Quotes] = before) -> Array:
                [now], then = (
                    _covariance(one, others, self.scales),
                    (_covariance(b, others, self.scales) for b in before),
                )
                return np.asarray(now - sum(then, np.zeros((1, len(now))))[0])

            own = gained(self.quotes)
            weights = own @ self._inverse
            variance = float((gained(one) - (gained(before[0]) if before else 0.0))[0] - weights @ own)
            share = 0.0
            if self.devices:
                everything, market, spread = self._middle(float(one.time[0]))
                share = float(gained(everything).mean() - weights @ market) / spread
            level = 0.0 if before else _CENTRE
            found.append((level + weights @ self.logs, np.sqrt(max(variance, 0.0)), share))
        means, deviations, shares = np.array(found).T
        return np.array([means, deviations, np.clip(shares, -deviations, deviations)])

    def _middle(self, time: float) -> tuple[_Quotes, Array, float]:
        """Return all devices of the market, used, at a time; what their mean shares with the quotes; its deviation."""
        if time not in self._middles:
            line = np.array([each.terms(time, 1.0) for each in self.devices.values()])
            count = len(line)
            rows = _Quotes(line, np.full(count, time), np.array([*self.devices]), np.ones(count))
            shared = _covariance(rows, self.quotes, self.scales).mean(axis=0)
            variance = _covariance(rows, rows, self.scales).mean() - shared @ self._inverse @ shared
            self._middles[time] = rows, shared, float(np.sqrt(max(variance, 1e-12)))
        return self._middles[time]


def _covariance(one: _Quotes, other: _Quotes, scales: Array) -> Array:
    walk, device, condition, years, _ = np.exp(scales)
    line, since, same, alike, apart = _shared(one, other)
    forgotten = np.exp(-apart / years)
    return np.asarray(line + walk**2 * since + (device**2 * same + condition**2 * alike) * forgotten)


def _shared(one: _Quotes, other: _Quotes) -> tuple[Array, Array, BoolArray, BoolArray, Array]:
    """Return what quotes share whatever the scales: line, years of the market, device and condition; years apart."""
    here, there = one.time[:, None], other.time
    line = (one.line * _COEFFICIENT_SDS**2) @ other.line.T
    same = one.device[:, None] == other.device
    alike = same & (one.used[:, None] == other.used)
    return line, np.minimum(here, there) - _FIRST_YEAR, same, alike, np.abs(here - there)


@dataclass(frozen=True, eq=False)
class _Prices:
    """Every device, the quotes of both markets, and the user's own."""

    devices: Mapping[str, _Device]
    quotes: _Quotes
    prices: Array
    own: _Quotes
    own_prices: Array
    sources: NDArray[np.str_]
    rents: Mapping[str, Sequence[tuple[Any, ...]]] = field(default_factory=dict)
    _markets: dict[tuple[str, float], Market] = field(default_factory=dict, repr=False)

    def market(self, name: str, before: float) -> Market:
        """Return a market as its quotes before a date have it."""
        if (name, before) not in self._markets:
            its = {called: each for called, each in self.devices.items() if each.market == name}
            mask = np.isin(self.quotes.device, [*its]) & (self.quotes.time < before)
            its = {called: each for called, each in its.items() if each.released < before}
            self._markets[name, before] = Market.of(self.quotes.kept(mask), self.prices[mask], its)
        return self._markets[name, before]

    def own_quote(self, device: str, *, used: bool, before: float = np.inf, since: float = -np.inf) -> _OwnQuote | None:
        """Return the user's newest quote of a device, the median of its day; of a used or a new one first, as asked."""
        for condition in (used, not used):
            its = (self.own.device == device) & (self.own.used == condition)
            its &= (self.own.time < before) & (self.own.time >= since)
            if its.any():
                day = self.own.time[its].max()
                price = np.median(self.own_prices[its & (self.own.time == day)])
                return _OwnQuote(float(day), float(price), float(condition))
        return None

    def told(self, device: str, before: float) -> str:
        """Say how many quotes of a device there are before a date, and the newest with its source, or one's own."""
        if (mine := self.own_quote(device, used=True, before=before)) is not None:
            return f"your own quote of {_day(mine.time)} carried forward"
        its = np.flatnonzero((self.quotes.device == device) & (self.quotes.time < before))
        last = its[np.argmax(self.quotes.time[its])]
        used, count = "used" if self.quotes.used[last] else "new", f"{len(its)} quote{'s' * (len(its) > 1)}"
        return (
            f"{count} carried forward, the newest {self.prices[last]:,.0f} USD {used} on "
            f"{_day(self.quotes.time[last])} ({self.sources[last]})"
        )

    def rented(self, device: str, before: float) -> str:
        """Say the newest rent on demand of each kind of cloud, the lowest of its day, with its provider and source."""
        newest: dict[str, tuple[float, float, str]] = {}
        for _, time, rent, kind, channel, provider, source in self.rents.get(device, ()):
            told = float(time), -float(rent), f"{rent:.3g} USD/h ({channel}, {provider}, {_day(time)}: {source})"
            if kind == "on-demand" and time < before:
                newest[channel] = max(newest.get(channel, told), told)
        return "".join(f"; rented at {text}" for _, _, text in newest.values())

    def find(self, device: str) -> _Device:
        """Return a device by its name, or raise with the nearest one."""
        if device not in self.devices:
            raise UnknownNameError("device", device, self.devices, where=ACCELERATORS_TABLE)
        return self.devices[device]


def market_prices() -> _Prices:
    """Return all devices and quotes of the tables, those that a user added among them."""
    from forecast import tables

    names = PRICES_TABLE, "datasets/compute-prices", ACCELERATORS_TABLE
    looked = [tables.look(name).attrs for name in names]
    key = tuple(str(attrs["hash"]) for attrs in looked)
    if key not in _cache:
        _cache.clear()
        _cache[key] = _read_prices(*map(tables.to_columns, names), json.loads(looked[0].get("beside", "[]")))
    return _cache[key]


#: The prices that were read last, by the hashes of the tables as they stood.
_cache: dict[tuple[str, ...], _Prices] = {}


def _read_prices(own: Columns, others: Columns, devices: Columns, beside: Sequence[str]) -> _Prices:
    from forecast.tables import decimal_year

    names = set(devices["device"].tolist())
    [now] = decimal_year(np.array([np.datetime64("today")]))

    def quotes(table: Columns, price: str, *texts: str) -> Iterator[tuple[Any, ...]]:
        columns = table["device"], decimal_year(table["date"]), table.numeric(price), *(table[each] for each in texts)
        return (row for row in zip(*columns, strict=True) if np.isfinite(row[2]))

    every = [*quotes(own, "price", "condition", "channel", "source", "quote")]
    if launched := [str(each[6]) for each in every if each[4] == "launch" and each[6] in beside]:
        raise DataError(
            f"{PRICES_TABLE}: {launched[0]}: a launch price, which is no quote: say another channel, or none"
        )
    rows = [each for each in every if each[4] != "launch"]
    for name in own["device"][np.isin(own["quote"], beside)].tolist():  # of a rent, too
        if name not in names:
            raise UnknownNameError("device", name, names, where=f"{PRICES_TABLE}: a quote")
    rows += [
        (*each, "") for each in quotes(others, "purchase", "scope", "kind", "source")
        if each[3] == "board" and each[4] in _BOUGHT
    ]  # fmt: skip
    for name, time, *_ in rows:
        if name not in names:
            raise UnknownNameError("device", str(name), names, where=f"{PRICES_TABLE}: a quote")
        if not np.isfinite(time):
            raise DataError(f"{PRICES_TABLE}: a quote of {name} has no date: a price counts from its day on")
        if time > now:
            raise DataError(f"{PRICES_TABLE}: a quote of {name} is of {_day(time)}, which has not come")
    rents: dict[str, list[tuple[Any, ...]]] = {}
    listed = quotes(others, "rental", "kind", "provider", "source")
    every_rent = [(*each[:4], "list price", *each[4:]) for each in listed]
    every_rent += quotes(own, "rent", "kind", "channel", "provider", "source")
    for each in every_rent:
        rents.setdefault(each[0], []).append(each)
    first = {str(name): float(time) for name, time, *_ in sorted(rows, key=lambda each: -each[1])}
    known = _devices(devices, first)
    rows = [each for each in rows if each[0] in known and each[1] - known[each[0]].released <= MAX_AGE_YEARS]
    device, time, paid, condition, channel, source, called = (np.array(column) for column in zip(*rows, strict=True))
    for name, at, price in zip(device, time, paid, strict=True):
        usual = float(np.median(paid[(device == name) & (np.abs(time - at) <= QUOTED_YEARS)]))
        if known[name].market == "consumer" and not 1 / MAX_APART <= price / usual <= MAX_APART:
            raise DataError(
                f"{PRICES_TABLE}: a quote of {name} of {price:,.4g} USD is over {MAX_APART:g} times off what it is "
                f"quoted at, {usual:,.0f} USD"
            )
    used, asked = (condition == "used").astype(float), ((channel == "list") & (condition != "board")).astype(float)
    line = np.array([known[each].terms(*about) for each, *about in zip(device, time, used, asked, strict=True)])
    everything, mine = _Quotes(line, time, device, used), np.isin(called, beside)
    return _Prices(known, everything.kept(~mine), paid[~mine], everything.kept(mine), paid[mine], source[~mine], rents)


def _day(time: float) -> str:
    from forecast.tables import from_decimal_year

    return str(from_decimal_year([time])[0].astype("datetime64[D]"))


def _devices(rows: Columns, first: Mapping[str, float]) -> dict[str, _Device]:
    """Return the devices with a memory and a date: of their release, else of their first quote."""
    from forecast.tables import decimal_year

    plain = (rows["precision"] == "fp32") & (rows["path"] == "vector") & (rows["sparsity"] == "dense")
    fp32 = dict(zip(rows["device"][plain], rows.numeric("peak")[plain], strict=True))
    quoted = np.array([first.get(name, np.nan) for name in rows["device"].tolist()])
    released = decimal_year(rows["release_date"])
    released = np.where(np.isnan(released), quoted, released)
    figures = released, *map(rows.numeric, ("memory", "bandwidth", "launch_price"))
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
        Used where a used one is quoted, else new; otherwise new. A quote of one's own goes before, whichever it is of.

    Raises
    ------
    UnknownNameError
        If there is no such device.
    AbsentValueError
        If nobody quotes it, and estimates of its market are too far off (`MAX_ESTIMATE_FACTOR`).

    Examples
    --------
    >>> device_price("geforce-rtx-3090", 2026.75).estimated
    False
    """
    return _price(market_prices(), device, date, as_of, used=used)


def price_worlds(devices: Sequence[str], date: float, *, seed: int, draws: int = 4096) -> dict[str, Array]:
    """Return prices at a date in worlds, the mean of new and used, of those of the devices that have one.

    All quotes count, later ones too. What a market does is one draw for all of its devices.
    """
    prices, rng, out = market_prices(), np.random.default_rng(seed), {}
    common = {market: rng.standard_normal(draws) for market in ("consumer", "data centre")}
    for device in devices:
        try:
            found = [_log_prices(prices, device, np.array([date]), None, used=used)[0] for used in (True, False)]
        except (AbsentValueError, UnknownNameError):  # no price, or no memory or date from which to tell one
            continue
        shared, own = common[prices.find(device).market], rng.standard_normal(draws)
        both = [np.exp(m + share * shared + np.sqrt(max(sd**2 - share**2, 0.0)) * own) for [m], [sd], [share] in found]
        out[device] = np.mean(both, axis=0)
    return out


def _price(prices: _Prices, device: str, date: float, as_of: float | None, *, used: bool = True) -> DevicePrice:
    [[mean], [sd], _], estimated = _log_prices(prices, device, np.array([date]), as_of, used=used)
    low, price, high = np.exp(mean + sd * np.array([-1.645, 0.0, 1.645]))
    return DevicePrice(float(price), float(low), float(high), estimated)


def _log_prices(prices: _Prices, device: str, time: Array, as_of: float | None, *, used: bool) -> tuple[Array, bool]:
    """Return means, deviations and market's shares of the log price by date; whether it is an estimate at the first.

    A quote of one's own that is later than a date moves it: all prices are then those of the day of the newest.
    """
    before = np.inf if as_of is None else as_of
    known, conditions = prices.find(device), [1.0, 0.0] if used else [0.0]
    quotes = prices.quotes
    for name in np.unique(prices.own.device):
        day = prices.own.time[prices.own.device == name].max()
        why = f"was not known by {_day(before)}: leave it out, or ask of a later date" if day >= before else ""
        if day < time[0] - QUOTED_YEARS:
            why = f"is over {QUOTED_YEARS:g} years before {_day(time[0])}: leave it out, or ask --as-of then"
        if why:
            raise DataError(f"{PRICES_TABLE}: a quote of your own of {name} is of {_day(day)}, which {why}")
    time = np.maximum(time, prices.own.time.max(initial=0.0))
    recent = (quotes.device == device) & (quotes.time < before) & (np.abs(time[0] - quotes.time) <= QUOTED_YEARS)
    mine = prices.own_quote(device, used=used, since=time[0] - QUOTED_YEARS)
    quoted = next((each for each in conditions if each in quotes.used[recent]), None)
    market = prices.market(known.market, before)
    if mine is None and not recent.any() and market.left_out_factor > MAX_ESTIMATE_FACTOR:
        raise AbsentValueError(
            f"no price of {device} is known: nobody quotes it in the two years before {_day(time[0])}, and estimates "
            f"of the {known.market} market are within a factor of {market.left_out_factor:.2g} for four of five "
            f"devices that are left out, over {MAX_ESTIMATE_FACTOR:g}"
        )
    bought = mine.used if mine is not None else conditions[0] if quoted is None else quoted

    def asked(dates: Array) -> _Quotes:
        line = np.array([known.terms(each, bought) for each in dates])
        return _Quotes(line, dates, np.repeat(device, len(dates)), np.repeat(bought, len(dates)))

    if mine is None:
        return market.log_prices(asked(time)), quoted is None
    gained = market.log_prices(asked(time), asked(np.repeat(mine.time, len(time))))
    return gained + np.array([[np.log(mine.price)], [0.0], [0.0]]), False


def make_device_price(name: str, spec: ModelSpec) -> Model:
    """Build the model of one device's price."""
    device = name.partition("@")[2] or "geforce-rtx-4090"
    market = market_prices().find(device).market
    inputs = {
        "used": OtherQuantity(unit="", title="1: used where a used one is quoted; 0: new"),
        f"{market.replace(' ', '_')}_market": OtherQuantity(unit="", title="from 0 to 1: where its market goes"),
    }
    return _PriceModel.from_spec(name, spec, inputs=inputs, device=device)


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
        from scipy.special import ndtri

        name = next(each for each in self.model.inputs if each != "used")
        common = ndtri(np.clip(inputs[name][0], 1e-9, 1 - 1e-9))
        away = streams("parameters").standard_normal(streams.draws)
        out, is_used = np.empty((len(time), streams.draws)), inputs["used"][0] >= 0.5
        for used in np.unique(is_used):
            try:
                rows, _ = _log_prices(self.prices, self.model.device, time, self.as_of, used=bool(used))
            except AbsentValueError:  # `describe` says why
                raise AbsentValueError("no price known") from None
            mean, sd, share = rows[:, :, None]
            worlds = is_used == used
            apart = np.sqrt(np.maximum(sd**2 - share**2, 0.0))
            out[:, worlds] = np.exp(mean + share * common[worlds] + apart * away[worlds])
        return out

    def warnings(self, inputs: Mapping[str, Array]) -> Iterator[str]:
        for used in dict.fromkeys(inputs["used"][0] >= 0.5):
            if (found := self.prices.own_quote(self.model.device, used=bool(used))) is not None:
                yield (
                    f"{self.model.device} costs {found.price:,.0f} USD {'used' if found.used else 'new'} by a quote of "
                    f"your own of {_day(found.time)}: all prices are of that day or later"
                )

    def describe(self) -> Description:
        date = self.as_of or float(self.prices.quotes.time.max())
        try:
            price = _price(self.prices, self.model.device, date, self.as_of)
        except AbsentValueError as problem:
            return Description(summary=str(problem), sources=self.model.sources, gaps={"estimated": str(problem)})
        how = "an estimate from what it is: nobody quotes it"
        if not price.estimated:
            how = self.prices.told(self.model.device, self.as_of or np.inf)
        how += self.prices.rented(self.model.device, self.as_of or np.inf)
        return Description(
            summary=f"{price.price:,.0f} USD [90 %: {price.low:,.0f}, {price.high:,.0f}] in {date:.1f}, {how}",
            sources=self.model.sources,
            facts={"estimated": float(price.estimated)},
        )
