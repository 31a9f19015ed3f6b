"""Who is best in every world, in few bytes: what a page needs to rank again in the worlds that remain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.lazy import xr
from forecast.projection.answers.ranking import best_shares
from forecast.report.page.encoding import EncodedValues, between, encode_codes, to_base64

if TYPE_CHECKING:
    from forecast.report.page.encoding import Codes

__all__ = ["Order"]


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
    values : Coded
        What is compared, in 16 bits, along the choices and then `over`.
    """

    name: str
    over: str
    dims: tuple[str, ...]
    sets: list[list[int]]
    best: Codes
    takes: NDArray[np.bool_]
    values: EncodedValues

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
        rows = np.packbits(shares > 0, axis=-1)
        # as opaque bytes, rows are compared whole
        _, first, kinds = np.unique(rows.view(f"V{rows.shape[-1]}").ravel(), return_index=True, return_inverse=True)
        of = shares.reshape(-1, shares.shape[-1])[first]
        codes = np.moveaxis(np.where(left, kinds.reshape(left.shape), len(first)), 0, -1)
        unit = str(kept["value"].attrs["units"])
        dims = tuple(str(d) for d in kept["value"].dims[1:])
        return cls(
            name=name,
            over=over,
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
            "values": encode_codes(self.values),
        }
