"""What quantising costs: error against bits, by method and by data type, on hidden states with outlier features."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import xarray as xr

from forecast.errors import UnknownNameError, UsageError
from forecast_emergence.quantisation.datatypes import BLOCK, TYPES, quantise_blocks
from forecast_emergence.quantisation.hidden import Features, hidden_states, weights
from forecast_emergence.quantisation.primitives import THRESHOLD, Array, absmax, decompose, zeropoint
from forecast_emergence.quantisation.products import METHODS, product

__all__ = ["error_table", "kept_states", "report", "type_errors"]


def kept_states(x: Array, method: str, *, bits: int = 8, threshold: float = THRESHOLD) -> tuple[Array, float]:
    """Quantise hidden states by a method; return what is left of them, and bits a value.

    Parameters
    ----------
    x : array of float
        (token, feature).
    method : str
        One of `forecast_emergence.quantisation.products.METHODS`.
    bits : int
    threshold : float

    Examples
    --------
    >>> x = hidden_states(6.7e9, tokens=64, width=512)
    >>> [round(kept_states(x, m)[1], 2) for m in ("absmax", "absmax-vector-wise", "absmax-llm-int8")]
    [8.0, 8.03, 8.12]
    """
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS, where="kept_states")
    how = METHODS[method]
    if how.decomposed:
        split = decompose(x, bits=bits, threshold=threshold, zero_point=how.zero_point, row_wise=how.rows)
        return split.dequantised(), split.bits_per_value
    left = (zeropoint if how.zero_point else absmax)(x, bits=bits, axis=1 if how.rows else None)
    return left.dequantised(), left.bits_per_value


def error_table(
    of: float | Features = 6.7e9,
    *,
    bits: Iterable[int] = (8,),
    methods: Iterable[str] = tuple(METHODS),
    tokens: int = 128,
    width: int = 1024,
    outputs: int = 128,
    seed: int = 0,
) -> xr.Dataset:
    """Quantise generated hidden states and weights by every method; return the errors that are left.

    Parameters
    ----------
    of : float or Features
        Parameters of the model whose outlier features the hidden states have, or the features.
    bits : iterable of int
        Of hidden states and weights.
    methods : iterable of str
    tokens, width, outputs : int
        Of the product: (tokens, width) times (width, outputs).
    seed : int

    Returns
    -------
    xarray.Dataset
        Over (scheme, bits), the scheme being the method: ``product``, the error of the product over its size (root mean
        squares), which the large outliers dominate; ``features``, the same for the hidden states' other features, where
        1 means that nothing is left of them; ``removed``, the share of these that became 0; ``bits_per_value``.

    Examples
    --------
    >>> found = error_table(6.7e9, bits=(4, 8), methods=("absmax", "absmax-llm-int8"))
    >>> found["features"].round(3).values.tolist()
    [[0.999, 0.109], [0.141, 0.008]]
    """
    widths, names = tuple(bits), tuple(methods)
    if not widths or not names:
        raise UsageError(f"error_table: {'bits' if not widths else 'methods'}: expected at least one")
    x, w = hidden_states(of, tokens=tokens, width=width, seed=seed), weights(width, outputs, seed=seed)
    exact = x.astype(np.float64) @ w.astype(np.float64)
    other = (np.abs(x) < THRESHOLD).all(axis=0)
    normal = x[:, other].astype(np.float64)
    found = {name: np.zeros((len(names), len(widths))) for name in ("product", "features", "removed", "bits_per_value")}
    for i, method in enumerate(names):
        for j, width_of_one in enumerate(widths):
            left, cost = kept_states(x, method, bits=width_of_one)
            got = product(x, w, method, bits=width_of_one)
            found["product"][i, j] = np.linalg.norm(got - exact) / np.linalg.norm(exact)
            found["features"][i, j] = np.linalg.norm(left[:, other] - normal) / np.linalg.norm(normal)
            found["removed"][i, j] = ((left[:, other] == 0) & (normal != 0)).mean()
            found["bits_per_value"][i, j] = cost
    return xr.Dataset(
        {name: (("scheme", "bits"), values) for name, values in found.items()},
        coords={"scheme": list(names), "bits": list(widths)},
    )


def type_errors(
    *, types: Iterable[str] = TYPES, blocks: Iterable[int] = (BLOCK,), values: int = 2**16, seed: int = 0
) -> xr.DataArray:
    """Quantise normal weights to data types in blocks; return the error over their size (root mean squares).

    Examples
    --------
    >>> type_errors().sel(block=64).to_series().round(3).to_dict()
    {'nf4': 0.091, 'fp4-e2m1': 0.105, 'fp4-e3m0': 0.188, 'int4': 0.108}
    """
    w = weights(values, 1, seed=seed).ravel().astype(np.float64)
    names, lengths = tuple(types), tuple(blocks)
    found = [
        [np.linalg.norm(quantise_blocks(w, name, block=n).dequantised() - w) / np.linalg.norm(w) for n in lengths]
        for name in names
    ]
    return xr.DataArray(found, dims=("type", "block"), coords={"type": list(names), "block": list(lengths)})


def report(found: xr.Dataset) -> str:
    """Print a table of errors: a line for each method, two columns for each width (other features, product).

    Examples
    --------
    >>> print(report(error_table(6.7e9, methods=("absmax", "absmax-llm-int8"))))
    method                        8 bits: features  product
    absmax                                  0.1093   0.0410
    absmax-llm-int8                         0.0078   0.0040
    """
    heads = "".join(f"{f'{int(b)} bits: features':>18} {'product':>8}" for b in found["bits"].values)
    lines = [f"{'method':<28}{heads}"]
    for method in found["scheme"].values:
        row = found.sel(scheme=method)
        cells = "".join(
            f"{float(row['features'].sel(bits=b)):18.4f} {float(row['product'].sel(bits=b)):8.4f}"
            for b in found["bits"].values
        )
        lines.append(f"{method!s:<28}{cells}")
    return "\n".join(lines)
