"""The joint draws behind an answer in few bytes: what every world took, and what it says under every choice.

A reader who narrows an assumption keeps the worlds whose rank lies in a range of it, and asks those that remain: the
script of the page does that from these codes.
"""

from __future__ import annotations

import base64
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.lazy import xr
from forecast.models.mixtures import MEMBER_INPUT
from forecast.projection.answers.ranking import best_shares
from forecast.projection.result import ProjectedAnswer, Projection, ValueAnswer
from forecast.sensitivity.first_order import uncertain

Codes = NDArray[np.uint8] | NDArray[np.uint16]


#: A number of at most so many values is chosen by its values, any other by a range.
MAX_DISTINCT_VALUES = 12
#: Quantiles by which a page says what a rank of an assumption is worth.
_N_QUANTILE_KNOTS = 101
#: Steps of ranks on a page: two a percent, so that a range of whole percents keeps just the worlds that lie in it.
_RANK_STEPS = 200


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedRanks:
    """An assumption: the rank of every world.

    Parameters
    ----------
    name : str
    ranks : ndarray of uint16
        (draw,): how many worlds have less; of a number of few values the place of its value among them.
    values : ndarray
        Those few values, or `_N_QUANTILE_KNOTS` quantiles.
    has_few_values : bool
        It has few values.
    """

    name: str
    ranks: NDArray[np.uint16]
    values: Array
    has_few_values: bool

    @classmethod
    def of(cls, name: str, draws: Array) -> EncodedRanks:
        """Rank the draws of a number."""
        several, place, count = np.unique(draws, return_inverse=True, return_counts=True)
        few = len(several) <= MAX_DISTINCT_VALUES
        ranks = place if few else (np.cumsum(count) - count)[place]
        values = several if few else np.quantile(draws, np.linspace(0, 1, _N_QUANTILE_KNOTS))
        return cls(name=name, ranks=ranks.astype(np.uint16), values=values, has_few_values=few)

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The ranks in 8 bits: in steps of half a percent of the worlds, or the places of few values."""
        steps = self.ranks.astype(np.int64) * _RANK_STEPS // len(self.ranks)
        return (self.ranks if self.has_few_values else steps).astype(np.uint8)

    def packed(self) -> dict[str, Any]:
        """Return it as plain data, codes as base64."""
        values = [float(f"{value:.5g}") for value in self.values]
        return {"ranks": to_base64(self.codes), "values": values, "few": self.has_few_values}


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedValues:
    """What every world says, as codes between the ends of a range.

    Parameters
    ----------
    name : str
    kind : {"date", "value", "path"}
    dims : tuple of str
        The choices along which it extends.
    codes : ndarray
        (choices, draw), of paths (choices, time, draw). From 1: between the ends; 0: below; the last but one that there
        is: above or never; the last: failed.
    low, high : ndarray
        The ends, as `codes` without worlds.
    log : bool
        They are logarithms.
    times : tuple of float
        The dates of a path.
    unit : str
    """

    name: str
    kind: str
    dims: tuple[str, ...]
    codes: Codes
    low: Array
    high: Array
    log: bool = False
    times: tuple[float, ...] = ()
    unit: str = ""

    @classmethod
    def of(cls, values: Array, low: Array, high: Array, dtype: type[np.unsignedinteger], **about: Any) -> EncodedValues:
        """Write values, (..., draw), in codes between ends, (...)."""
        top = int(np.iinfo(dtype).max) - 1
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            width = np.where(high > low, high - low, 1.0)[..., None]
            place = np.floor((values - low[..., None]) / width * (top - 1))
            np.nan_to_num(place, copy=False, posinf=top, neginf=0.0)
        codes = (np.clip(place, 0, top - 2, out=place) + 1).astype(dtype)
        codes[values < low[..., None]] = 0
        codes[values > high[..., None]] = top
        codes[np.isnan(values)] = top + 1
        return cls(codes=codes, low=low, high=high, **about)


def between(values: Array, dtype: type[np.unsignedinteger], beyond: float, **about: Any) -> EncodedValues:
    """Write values, (..., draw), in codes between their own ends, of their logarithms where all are positive."""
    finite = np.isfinite(values)
    log = bool(finite.any() and (values[finite] > 0).all())
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(values) if log else values
    if np.isfinite(values).all():
        low, high = np.quantile(values, [beyond, 1 - beyond], axis=-1)
        return EncodedValues.of(values, low, high, dtype, log=log, **about)
    low, high = np.zeros(values.shape[:-1]), np.zeros(values.shape[:-1])
    for index in itertools.product(*map(range, values.shape[:-1])):
        own = values[index][np.isfinite(values[index])]
        if len(own):
            low[index], high[index] = np.quantile(own, [beyond, 1 - beyond])
    return EncodedValues.of(values, low, high, dtype, log=log, **about)


def to_base64(codes: NDArray[Any]) -> str:
    """Return codes as base64 of little-endian bytes."""
    return base64.b64encode(codes.astype(codes.dtype.newbyteorder("<")).tobytes()).decode("ascii")


def encode_codes(each: EncodedValues, sent: NDArray[np.bool_] | None = None) -> dict[str, Any]:
    """Return codes as plain data: those of equal cells once, with their place among them; -1 for a cell not `sent`."""
    cells = np.ascontiguousarray(each.codes.reshape(-1, each.codes.shape[-1]))
    kept: dict[bytes, int] = {}
    wanted = np.ones(len(cells), dtype=bool) if sent is None else sent.ravel()
    places = [kept.setdefault(c.tobytes(), len(kept)) if use else -1 for c, use in zip(cells, wanted, strict=True)]
    codes = cells[[places.index(place) for place in range(len(kept))]]
    ends = {"low": each.low.ravel().tolist(), "high": each.high.ravel().tolist()}
    more = {"log": each.log, "unit": each.unit} if each.kind != "date" else {}
    times = {"times": list(each.times)} if each.times else {}
    return {"dims": list(each.dims), "codes": to_base64(codes), "cells": places, **ends, **more, **times}


def shorter(record: Any) -> Any:
    """Return plain data with its numbers rounded to what codes of 16 bits can tell."""
    if isinstance(record, float):
        return float(f"{record:.7g}")
    if isinstance(record, dict):
        return {key: shorter(each) for key, each in record.items()}
    if isinstance(record, list):
        return [shorter(each) for each in record]
    return record


@dataclass(frozen=True, eq=False, kw_only=True)
class Order:
    """A ranking: who is best in every world, who takes part in it, and with what.

    Parameters
    ----------
    name : str
    over : str
        The choice whose values are ranked.
    dims : tuple of str
        The other choices along which it extends.
    sets : list of list of int
        Those that are best together, by their places: mostly one alone, several where they tie, none where none takes
        part.
    best : ndarray
        (choices, draw): which of the sets, in 8 bits if they suffice; their number where the world cannot be compared.
    takes : ndarray of bool
        (choices, over, draw).
    values : EncodedValues
        What is compared, in 16 bits, along the choices and then `over`.
    leads : ndarray of bool
        (choices, over): whose worlds a page carries: the `MAX_PAGE_CONTESTANTS` best, and all that are ever best.
    """

    name: str
    over: str
    dims: tuple[str, ...]
    sets: list[list[int]]
    best: Codes
    takes: NDArray[np.bool_]
    values: EncodedValues
    leads: NDArray[np.bool_]

    @classmethod
    def of(cls, name: str, over: str, data: xr.Dataset, *, lowest: bool, count: int) -> Order:
        """Rank in the first worlds of a projection.

        Parameters
        ----------
        name, over : str
        data : xarray.Dataset
            ``value`` and ``takes``, along draw, the choices and `over`.
        lowest : bool
            The lowest is the best.
        count : int
            How many worlds.
        """
        kept = data.transpose("draw", ..., over)
        value, takes = np.asarray(kept["value"].values, dtype=float), kept["takes"].values.astype(bool)
        shares, left = (each[:count] for each in best_shares(value, takes, lowest=lowest))
        rows = np.ascontiguousarray(np.packbits(shares > 0, axis=-1))
        # as opaque bytes, rows are compared whole
        _, first, kinds = np.unique(rows.view(f"V{rows.shape[-1]}").ravel(), return_index=True, return_inverse=True)
        of = shares.reshape(-1, shares.shape[-1])[first]
        codes = np.moveaxis(np.where(left, kinds.reshape(left.shape), len(first)), 0, -1)
        unit = str(kept["value"].attrs["units"])
        dims = tuple(str(d) for d in kept["value"].dims[1:])
        costs = np.where(np.isnan(value) | ~takes, np.inf, value if lowest else -value)
        place = np.argsort(np.argsort(np.median(costs, axis=0), axis=-1, kind="stable"), axis=-1)
        return cls(
            name=name,
            over=over,
            leads=(place < MAX_PAGE_CONTESTANTS) | (shares > 0).any(axis=0),
            dims=dims[:-1],
            sets=[np.flatnonzero(each).tolist() for each in of],
            best=codes.astype(np.uint8) if len(first) < 256 else codes.astype(np.uint16),
            takes=np.moveaxis(takes[:count], 0, -1),
            values=between(
                np.moveaxis(value[:count], 0, -1), np.uint16, 0.0, name=name, kind="value", dims=dims, unit=unit
            ),
        )

    @staticmethod
    def size(data: xr.Dataset) -> float:
        """Return how many bytes a world takes, at most."""
        each = math.prod(n for d, n in data["value"].sizes.items() if d != "draw")
        return (2 + 2 + 1 / 8) * each

    def packed(self) -> dict[str, Any]:
        """Return it as plain data, codes as base64 of little-endian bytes; `takes` is one bit a world."""
        return {
            "name": self.name,
            "over": self.over,
            "dims": list(self.dims),
            "sets": self.sets,
            "best": to_base64(self.best),
            "wide": self.best.dtype == np.uint16,
            "takes": to_base64(np.packbits(self.takes, axis=-1, bitorder="little")),
            "values": encode_codes(self.values, self.leads),
        }


Array = NDArray[np.float64]


#: A page carries at most so many worlds, their paths at so many dates, and all of it in so many bytes of text.
MAX_PAGE_DRAWS, MAX_PAGE_DATES, MAX_PAGE_BYTES = 4096, 24, 500_000
#: Of what is ranked under one combination of choices, so many have their worlds on a page.
MAX_PAGE_CONTESTANTS = 25
#: To keep to the bytes, dates and then worlds are left out, but never below these.
MIN_PAGE_DRAWS, MIN_PAGE_DATES = 1024, 12
#: The range of a path's codes leaves out this share of the worlds at either end; they lie beyond it.
_ENCODED_TAIL_SHARE = 0.001
#: The code of what does not come by the last date.
_NEVER_CODE = 65534


class EncodedDraws:
    """The joint draws of a projection, as many as a page carries.

    Parameters
    ----------
    run : Projection
    limit : int
        Bytes of text that they may take.

    Attributes
    ----------
    drawn, kept, count : int
        How many worlds were drawn, how many the projection has one by one, and how many are here.
    dates : int
        At how many dates there are paths, at most.
    draws : dict of str to ndarray
        Every assumption that differs between worlds, as the projection has it.
    labels : dict of str to list of str
        What the values 0, 1, ... of a number stand for: of a regime, or of a mixture that takes one of its members.

    Examples
    --------
    >>> import forecast
    >>> run = forecast.project({"start": 2025, "until": 2060, "quantities": {
    ...     "x": {"p05": 1, "p95": 100, "unit": "FLOP"}, "y": {"p05": 9, "p95": 11, "unit": "FLOP"}},
    ...     "questions": {"q": {"when": "x >= y"}}}, draws=1000)
    >>> worlds = EncodedDraws(run)
    >>> worlds.count, list(worlds.inputs)
    (1000, ['x', 'y'])
    """

    def __init__(self, run: Projection, limit: int = MAX_PAGE_BYTES) -> None:
        self.run = run
        self.drawn = run.settings.draws
        self.kept = int(run.worlds.sizes.get("draw", 1))
        members = dict(_mixture_members(run))
        self.labels = {name: labels for name, (_, labels) in members.items()} | dict(_regime_labels(run))
        self.draws = {
            name: members[name][0] if name in members else number.draws
            for name, number in uncertain(run).items()
            if number.moves
        }
        self.count, self.dates, self._paths = self._fit_size(limit)

    # --- what fits --------------------------------------------------------------------------------------------------

    def _fit_size(self, limit: int) -> tuple[int, int, list[str]]:
        """Leave out dates, then worlds, until the rest fits; paths that are not needed come where there is room."""
        wanted, more = self._leading_paths()
        every = min(self.kept, MAX_PAGE_DRAWS)
        fewer = [every]
        while fewer[-1] > MIN_PAGE_DRAWS:
            fewer.append(max(fewer[-1] // 2, MIN_PAGE_DRAWS))
        dates = (MAX_PAGE_DATES, 16, MIN_PAGE_DATES)
        sizes = [(worlds, d) for worlds in fewer for d in dates]
        count, most = next((size for size in sizes if self._encoded_bytes(*size, wanted) <= limit), sizes[-1])
        if (count, most) == sizes[0]:
            for name in more:
                if self._encoded_bytes(count, most, [*wanted, name]) <= limit:
                    wanted.append(name)
        return count, most, wanted

    def _encoded_bytes(self, count: int, dates: int, paths: Sequence[str]) -> float:
        """Return how much text the codes of so many worlds take."""
        along = float(len(self.draws) + len(self.run.rivals))
        along += sum(2 * math.prod(len(each.values(d)) for d in each.choices) for each in self.answers.values())
        along += sum(Order.size(data) for data in self._ranked().values())
        if self.run.weights is not None:
            along += 4 * math.prod(self.run.weights.shape[1:])
        for name in paths:
            data = self._level(name)
            steps = 1 if self.run.quantities[name].still else min(dates, data.sizes["time"])
            along += steps * math.prod(data.sizes[d] for d in data.dims if d not in ("time", "draw"))
        return count * along * 4 / 3

    def _leading_paths(self) -> tuple[list[str], list[str]]:
        """Return the quantities whose paths the opening question needs, and others that one would look at."""
        known = self.run.numeric
        opens = None if self.run.opening is None else self.run.opening.name
        names = sorted({name: None for name, _ in self.answers}, key=lambda name: name != opens)
        sides = [self._compared_quantities(name) for name in names]
        asks = sides or self.run.rankings
        shown = self.run.shown if self.run.shown is not None else [] if asks else known
        more = [n for each in sides[1:] for n in each]
        first = sides[0] if sides else [n for n in shown[:1] if n in known and not self.run.quantities[n].still]
        rest = dict.fromkeys(n for n in (*more, *shown) if n in known and n not in first)
        return list(dict.fromkeys(first)), [n for n in rest if not self.run.quantities[n].still]

    def _compared_quantities(self, question: str) -> list[str]:
        """Return the quantities that a question compares, or the one whose value it asks for."""
        from forecast.formula import parse_condition

        answer = self.run.answer(question)
        if isinstance(answer, ValueAnswer):
            of: Sequence[str] = [answer.text]
        else:  # the number of a choice is a name here
            when = parse_condition(re.sub("[{}]", "", answer.text))
            of = [*when.greater_side.names, *when.lesser_side.names]
        return [name for name in dict.fromkeys(of) if name in self.run.numeric]

    def sides(self, question: str) -> list[str]:
        """Return those of them whose paths are here."""
        return [name for name in self._compared_quantities(question) if name in self._paths]

    # --- what is in it ----------------------------------------------------------------------------------------------

    def _level(self, name: str) -> xr.DataArray:
        data = self.run.worlds[name]
        return data.transpose(*(d for d in data.dims if d not in ("time", "draw")), "time", "draw")

    @cached_property
    def answers(self) -> dict[tuple[str, int], ProjectedAnswer]:
        """The questions for a date and the values, by name and the place of the date of a value."""
        dates: dict[tuple[str, int], ProjectedAnswer] = {(each.name, 0): each for each in self.run.dates}
        return {**dates, **{(each.name, place): at for each in self.run.values for place, at in enumerate(each.at)}}

    @cached_property
    def inputs(self) -> dict[str, EncodedRanks]:
        """Every assumption that differs between worlds, by its name."""
        return {name: EncodedRanks.of(name, draws[: self.count]) for name, draws in self.draws.items()}

    @cached_property
    def rival_of_draw(self) -> dict[str, NDArray[np.int64]]:
        """Which value of a choice that has weights holds in every world, by its place."""
        return {name: self.run.rival_of_draw(name, self.count) for name in self.run.rivals}

    @cached_property
    def weights(self) -> xr.DataArray | None:
        """What every world counts, (choices, draw); None where all count alike."""
        if self.run.weights is None:
            return None
        return self.run.weights.isel(draw=slice(self.count)).transpose(..., "draw")

    @cached_property
    def questions(self) -> dict[str, EncodedValues]:
        """The date of every question in every world, in 16 bits."""
        first, last = self.run.span
        # a step is a part of a month, so that a date comes back in the month that it is in
        low = math.floor(12 * first) / 12
        parts = (_NEVER_CODE - 1) // (math.ceil(12 * last) - math.floor(12 * first))
        out = {}
        for answer in self.run.dates:
            name = answer.name
            data = answer.worlds.isel(draw=slice(self.count)).transpose(..., "draw")
            years = np.where(data.values <= first, -np.inf, data.values)  # already
            begin = np.full(data.shape[:-1], low)
            dims = tuple(str(d) for d in data.dims[:-1])
            out[name] = EncodedValues.of(
                years, begin, begin + (_NEVER_CODE - 1) / parts / 12, np.uint16, name=name, kind="date", dims=dims
            )
        return out

    @cached_property
    def values(self) -> dict[tuple[str, int], EncodedValues]:
        """What is asked for at dates, in 16 bits, by its name and the place of its date."""
        out = {}
        for (_, place), answer in self.answers.items():
            if isinstance(answer, ValueAnswer):
                data = answer.worlds.isel(draw=slice(self.count)).transpose(..., "draw")
                about = {"name": answer.name, "kind": "value", "dims": tuple(map(str, data.dims[:-1]))}
                values = np.asarray(data.values, dtype=float)
                out[answer.name, place] = between(values, np.uint16, 0.0, unit=answer.unit, **about)
        return out

    def _ranked(self) -> dict[str, xr.Dataset]:
        """Return what the stored worlds say to every ranking."""
        every = {each.name: each.contests for each in self.run.rankings}
        return {name: worlds for name, worlds in every.items() if worlds is not None}

    @cached_property
    def orders(self) -> dict[str, Order]:
        """Who is best in every world, by the name of the ranking."""
        rankings = {each.name: each for each in self.run.rankings}
        return {
            name: Order.of(
                name, rankings[name].over_choice, data, lowest=rankings[name].best == "lowest", count=self.count
            )
            for name, data in self._ranked().items()
        }

    @cached_property
    def paths(self) -> dict[str, EncodedValues]:
        """The paths of quantities in 8 bits."""
        years, out = self.run.years, {}
        for name in self._paths:
            data = self._level(name).isel(draw=slice(self.count))
            steps = np.array([0])
            if not self.run.quantities[name].still:
                steps = np.unique(np.linspace(0, len(years) - 1, min(self.dates, len(years))).round().astype(int))
            about: dict[str, Any] = {"name": name, "kind": "path", "dims": tuple(map(str, data.dims[:-2]))}
            about |= {"unit": str(data.attrs["units"]), "times": tuple(map(float, years[steps]))}
            values = np.asarray(data.isel(time=steps).values, dtype=float)
            out[name] = between(values, np.uint8, _ENCODED_TAIL_SHARE, **about)
        return out

    def called(self, name: str, place: int) -> str:
        """Return what one of the few values of an assumption is called."""
        value = self.inputs[name].values[place]
        return self.labels[name][int(value)] if name in self.labels else f"{value:.3g}"


def _mixture_members(run: Projection) -> Iterator[tuple[str, tuple[Array, list[str]]]]:
    """Walk the mixtures: which member each world takes, by its place, and what the members are called."""
    for model, data in run.groups_in("posterior"):
        stated = [str(name) for name in data.data_vars if str(name).startswith("weight_")]
        if MEMBER_INPUT in data and len(stated) > 1:
            edges = np.cumsum([data[name].values for name in stated], axis=0)
            taken = (edges <= data[MEMBER_INPUT].values * edges[-1]).sum(axis=0).astype(float)
            labels = [name.removeprefix("weight_").replace("_", "-") for name in stated]
            yield f"{model}.{MEMBER_INPUT}", (taken, labels)


def _regime_labels(run: Projection) -> Iterator[tuple[str, list[str]]]:
    for name, drawn in run.worlds.data_vars.items():
        if drawn.attrs.get("kind") == "regime":
            yield str(name), drawn.attrs["flag_meanings"].split()
