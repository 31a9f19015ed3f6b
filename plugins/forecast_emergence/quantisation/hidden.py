"""Hidden states with outlier features, as table 4 of LLM.int8() measured them in models of a stated size.

What the table does not say is ours: the other features are standard normal (the paper: usually within 3.5 of 0), a
feature's outliers spread evenly between its quartiles and as far beyond them, and the affected tokens are drawn
separately for each feature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast.errors import UsageError
from forecast_emergence.quantisation.primitives import THRESHOLD, Array

__all__ = ["Features", "features", "hidden_states", "weights"]

TABLE, FAMILY = "datasets/outlier-features", "FSEQ"


@dataclass(frozen=True, kw_only=True)
class Features:
    """Outlier features of a model of one size.

    Parameters
    ----------
    params : float
    count, one_sided : int
        Outlier features, and how many of them have values of one sign.
    layers, tokens : float
        Share of the layers, and of the sequence, that have them: 0 to 1.
    quartiles : tuple of float
        Of their values.
    """

    params: float
    count: int
    one_sided: int
    layers: float
    tokens: float
    quartiles: tuple[float, float, float]

    def total(self, *, sequence: int = 2048, layers: int = 32) -> float:
        """Return the outliers that a sequence has in all layers together.

        Examples
        --------
        >>> features(6.7e9).total()
        294912.0
        """
        return sequence * self.tokens * self.count * layers * self.layers


def features(params: float) -> Features:
    """Return the outlier features of a fairseq model with so many parameters.

    Between the five models that were measured it interpolates linearly in the logarithm of the parameters: between
    2.7e9 and 6.7e9, where the phase shift is, nobody has measured this family.

    Raises
    ------
    UsageError
        Where no model of that size was measured: below 125e6 and above 13e9 parameters.

    Examples
    --------
    >>> features(6.7e9)
    Features(params=6700000000.0, count=6, one_sided=6, layers=1.0, tokens=0.75, quartiles=(-44.0, -40.0, -35.0))
    >>> features(66e9)
    Traceback (most recent call last):
    ...
    forecast.errors.UsageError: features: 6.6e+10 parameters are outside what was measured, 1.25e+08 to 1.3e+10
    """
    from forecast import tables

    rows = tables.to_columns(TABLE)
    own = rows.column("family") == FAMILY
    size = rows.numeric("params")[own]
    order = np.argsort(size)
    if not size.min() * (1 - 1e-9) <= params <= size.max() * (1 + 1e-9):
        raise UsageError(
            f"features: {params:g} parameters are outside what was measured, {size.min():g} to {size.max():g}"
        )

    def at(column: str) -> float:
        values = rows.numeric(column)[own][order]
        return round(float(np.interp(np.log(params), np.log(size[order]), values)), 9)

    count = round(at("outlier_count"))
    return Features(
        params=float(params),
        count=count,
        one_sided=min(count, round(at("outlier_count_1sided"))),
        layers=at("layers_affected") / 100,
        tokens=at("seq_dims_affected") / 100,
        quartiles=(at("quartile1"), at("quartile2"), at("quartile3")),
    )


def _outliers(generator: np.random.Generator, shown: int, quartiles: tuple[float, float, float]) -> Array:
    """Draw values with these quartiles, none smaller than an outlier is by definition."""
    first, middle, third = quartiles
    drawn = np.interp(generator.random(shown), [0.0, 0.5, 1.0], [2 * first - middle, middle, 2 * third - middle])
    sign = np.sign(middle)
    return np.asarray(sign * np.maximum(sign * drawn, THRESHOLD))


def hidden_states(
    of: float | Features = 6.7e9, *, tokens: int = 256, width: int = 4096, seed: int = 0, outliers: bool = True
) -> Array:
    """Draw the hidden states of one affected layer.

    Parameters
    ----------
    of : float or Features
        Parameters of the model, or its features.
    tokens, width : int
    seed : int
    outliers : bool
        Without them what is left is normal.

    Returns
    -------
    array of float32
        (token, feature).

    Examples
    --------
    >>> x = hidden_states(6.7e9, tokens=200, width=512)
    >>> large = abs(x) >= 6
    >>> int(large.any(axis=0).sum()), int(large.sum()) == round(6 * 0.75 * 200)
    (6, True)
    """
    found = of if isinstance(of, Features) else features(of)
    if tokens < 1 or width <= found.count:
        raise UsageError(
            f"hidden_states: {found.count} outlier features need a width above that and at least a token, "
            f"got a width of {width} and {tokens} tokens"
        )
    body, places = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    states = body.standard_normal((tokens, width), dtype=np.float32)
    if not outliers:
        return states
    shown = max(1, round(found.tokens * tokens))
    for i, column in enumerate(places.choice(width, size=found.count, replace=False)):
        rows = places.choice(tokens, size=shown, replace=False)
        values = _outliers(places, shown, found.quartiles)
        if i >= found.one_sided:
            values = values * places.choice([-1.0, 1.0], size=shown)
        states[rows, column] = values
    return states


def weights(width: int = 4096, outputs: int = 256, *, seed: int = 0) -> Array:
    """Draw a layer's weights: normal, scaled so that a product is of the size of what goes in.

    Examples
    --------
    >>> weights(512, 64).shape
    (512, 64)
    """
    generator = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[2])
    return generator.standard_normal((width, outputs), dtype=np.float32) / np.float32(np.sqrt(width))
