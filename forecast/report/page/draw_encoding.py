"""The joint draws behind an answer in few bytes: what every world took, and what it says under every choice.

A reader who narrows an assumption keeps the worlds whose rank lies in a range of it, and asks those that remain. The
page does that in its script; `EncodedDraws` does it here from the same codes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.lazy import xr
from forecast.models.mixtures import MEMBER_INPUT
from forecast.projection.result import ProjectedAnswer, Projection, ValueAnswer
from forecast.report.page.encoding import EncodedRanks, EncodedValues, between, encode_codes, to_base64
from forecast.report.page.rank_encoding import Order
from forecast.sensitivity.first_order import uncertain

Array = NDArray[np.float64]


__all__ = ["EncodedDraws"]

#: A page carries at most so many worlds, their paths at so many dates, and all of it in so many bytes of text.
MAX_PAGE_DRAWS, MAX_PAGE_DATES, MAX_PAGE_BYTES = 4096, 24, 500_000
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
    >>> int(worlds.remain({"x": [50, 100]}).sum())
    500
    """

    def __init__(self, run: Projection, limit: int = MAX_PAGE_BYTES) -> None:
        self.run, self._stays = run, dict[str, bool]()
        self.drawn = run.settings.draws
        self.kept = int(run.worlds.sizes.get("draw", 1))
        self.choices = {name: list(choice.values) for name, choice in run.choices.items()}
        members = dict(_mixture_members(run))
        self.labels = {name: labels for name, (_, labels) in members.items()} | dict(_regime_labels(run))
        self.draws = {
            name: members[name][0] if name in members else number.draws
            for name, number in uncertain(run).items()
            if number.moves
        }
        self.count, self.dates, self._paths = self._sized(limit)

    # --- what fits --------------------------------------------------------------------------------------------------

    def _sized(self, limit: int) -> tuple[int, int, list[str]]:
        """Leave out dates, then worlds, until the rest fits; paths that are not needed come where there is room."""
        wanted, more = self._leading()
        every = min(self.kept, MAX_PAGE_DRAWS)
        fewer = [every]
        while fewer[-1] > MIN_PAGE_DRAWS:
            fewer.append(max(fewer[-1] // 2, MIN_PAGE_DRAWS))
        dates = (MAX_PAGE_DATES, 16, MIN_PAGE_DATES)
        sizes = [(worlds, d) for worlds in fewer for d in dates]
        count, most = next((size for size in sizes if self._bytes(*size, wanted) <= limit), sizes[-1])
        if (count, most) == sizes[0]:
            for name in more:
                if self._bytes(count, most, [*wanted, name]) <= limit:
                    wanted.append(name)
        return count, most, wanted

    def _bytes(self, count: int, dates: int, paths: Sequence[str]) -> float:
        """Return how much text the codes of so many worlds take."""
        along = float(len(self.draws) + len(self.run.rivals))
        along += sum(2 * math.prod(len(each.values(d)) for d in each.choices) for each in self.answers.values())
        along += sum(Order.size(data) for data in self._ranked().values())
        if self.run.weights is not None:
            along += 4 * math.prod(self.run.weights.shape[1:])
        for name in paths:
            data = self._level(name)
            steps = 1 if self._still(name) else min(dates, data.sizes["time"])
            along += steps * math.prod(data.sizes[d] for d in data.dims if d not in ("time", "draw"))
        return count * along * 4 / 3

    def _leading(self) -> tuple[list[str], list[str]]:
        """Return the quantities whose paths the opening question needs, and others that one would look at."""
        known = self.run.numeric
        names = sorted(
            {name: None for name, _ in self.answers}, key=lambda name: self.run.answers[name] is not self.run.opening
        )
        sides = [self._sides(name) for name in names]
        shown = self.run.shown if self.run.shown is not None else [] if sides else known
        more = [n for each in sides[1:] for n in each]
        first = sides[0] if sides else [n for n in shown[:1] if n in known and not self._still(n)]
        rest = dict.fromkeys(n for n in (*more, *shown) if n in known and n not in first)
        return list(dict.fromkeys(first)), [n for n in rest if not self._still(n)]

    def _sides(self, question: str) -> list[str]:
        """Return the quantities that a question compares, or the one whose value it asks for."""
        from forecast.formula import parse_condition

        answer = self.run.answers[question]
        if isinstance(answer, ValueAnswer):
            of: Sequence[str] = [answer.text]
        else:  # the number of a choice is a name here
            when = parse_condition(re.sub("[{}]", "", answer.text))
            of = [*when.greater_side.names, *when.lesser_side.names]
        return [name for name in dict.fromkeys(of) if name in self.run.numeric]

    def sides(self, question: str) -> list[str]:
        """Return those of them whose paths are here."""
        return [name for name in self._sides(question) if name in self._paths]

    # --- what is in it ----------------------------------------------------------------------------------------------

    def _level(self, name: str) -> xr.DataArray:
        data = self.run.worlds[name]
        return data.transpose(*(d for d in data.dims if d not in ("time", "draw")), "time", "draw")

    def _still(self, name: str) -> bool:
        """Tell whether a quantity stays what it is."""
        if name not in self._stays:
            values = self._level(name).values
            self._stays[name] = bool((values == values[..., :1, :]).all())
        return self._stays[name]

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
                out[answer.name, place] = between(
                    np.asarray(data.values, dtype=float),
                    np.uint16,
                    0.0,
                    name=answer.name,
                    kind="value",
                    dims=tuple(str(d) for d in data.dims[:-1]),
                    unit=answer.unit,
                )
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
            if not self._still(name):
                steps = np.unique(np.linspace(0, len(years) - 1, min(self.dates, len(years))).round().astype(int))
            out[name] = between(
                np.asarray(data.isel(time=steps).values, dtype=float),
                np.uint8,
                _ENCODED_TAIL_SHARE,
                name=name,
                kind="path",
                dims=tuple(str(d) for d in data.dims[:-2]),
                unit=str(data.attrs["units"]),
                times=tuple(float(year) for year in years[steps]),
            )
        return out

    # --- what remains -----------------------------------------------------------------------------------------------

    def remain(self, narrowed: Mapping[str, Sequence[int]]) -> NDArray[np.bool_]:
        """Tell which worlds remain where assumptions are narrowed.

        Parameters
        ----------
        narrowed : mapping of str to sequence of int
            By the name of an assumption: see `EncodedRanks.kept`.
        """
        out = np.ones(self.count, dtype=bool)
        for name, said in narrowed.items():
            out &= self.inputs[name].kept(said)
        return out

    def said(self, of: EncodedValues, chosen: Mapping[str, str]) -> Array:
        """Return what every world says under these values of choices, those that have weights drawn; (..., draw)."""
        worlds = np.arange(self.count)
        place = tuple(
            np.full(self.count, self.choices[d].index(chosen[d])) if d in chosen else self.rival_of_draw[d]
            for d in of.dims
        )
        values = of.values()
        if of.kind == "path":
            return np.asarray(np.moveaxis(values[(*place, slice(None), worlds)], 0, -1))
        return np.asarray(values[(*place, worlds)])

    def called(self, name: str, place: int) -> str:
        """Return what one of the few values of an assumption is called."""
        value = self.inputs[name].values[place]
        return self.labels[name][int(value)] if name in self.labels else f"{value:.3g}"

    # --- on the page ------------------------------------------------------------------------------------------------

    def packed(self) -> dict[str, Any]:
        """Return it as plain data, codes as base64 of little-endian bytes."""
        return {
            "count": self.count,
            "drawn": self.drawn,
            "inputs": {
                n: {
                    "ranks": to_base64(d.codes),
                    "values": [float(f"{v:.5g}") for v in d.values],
                    "few": d.has_few_values,
                }
                for n, d in self.inputs.items()
            },
            "held": {name: to_base64(places.astype(np.uint8)) for name, places in self.rival_of_draw.items()},
            "weights": None
            if self.weights is None
            else {
                "dims": [str(d) for d in self.weights.dims[:-1]],
                "data": to_base64(np.nan_to_num(self.weights.values).astype("<f4")),
            },
            "questions": {name: encode_codes(each) for name, each in self.questions.items()},
            "values": [
                {"name": name, "place": place, **encode_codes(each)} for (name, place), each in self.values.items()
            ],
            "orders": [each.packed() for each in self.orders.values()],
            "paths": {name: encode_codes(each) for name, each in self.paths.items()},
        }


def _mixture_members(run: Projection) -> Iterator[tuple[str, tuple[Array, list[str]]]]:
    """Walk the mixtures: which member each world takes, by its place, and what the members are called."""
    for node in run["posterior"].leaves if "posterior" in run else ():
        data = node.to_dataset()
        stated = [str(name) for name in data.data_vars if str(name).startswith("weight_")]
        if MEMBER_INPUT in data and len(stated) > 1:
            edges = np.cumsum([data[name].values for name in stated], axis=0)
            taken = (edges <= data[MEMBER_INPUT].values * edges[-1]).sum(axis=0).astype(float)
            labels = [name.removeprefix("weight_").replace("_", "-") for name in stated]
            yield f"{node.path.removeprefix('/posterior/')}.{MEMBER_INPUT}", (taken, labels)


def _regime_labels(run: Projection) -> Iterator[tuple[str, list[str]]]:
    for name, drawn in run.worlds.data_vars.items():
        if drawn.attrs.get("kind") == "regime":
            yield str(name), drawn.attrs["flag_meanings"].split()
