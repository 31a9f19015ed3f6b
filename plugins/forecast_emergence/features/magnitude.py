"""How large outliers are: two rival sets of figures, since the essay and the paper's table do not agree.

Both saturate by the law ``emergence/saturating-magnitude``. The essay's runs through its 15 at 6B and 60 at 13B. The
table's has two regimes: what its models before the shift have, and a curve through its 40 at 6.7B and 58 at 13B beyond;
that one says about 91 at 66B, of which it was told nothing but the range of the ceiling, and the essay 95.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from forecast import Input
from forecast.errors import UsageError
from forecast_emergence.links import Link, specs
from forecast_emergence.sources import ESSAY, INT8

if TYPE_CHECKING:
    from forecast.models import Array


__all__ = ["MAGNITUDE_LINKS", "MODELS"]

_WIDTH_NOTE = "the width is our judgement"
T4 = f"{INT8}, appendix C, table 4"

CEILING = Input(
    name="ceiling",
    unit="",
    distribution={"p05": 90.0, "p95": 130.0},
    source=f"{ESSAY}: about 95 for OPT-66B, and growth saturates; a curve through the essay's three figures ends at "
    f"95.5; {_WIDTH_NOTE}",
)
#: A draw in a hundred thousand has its ceiling below the magnitude it should bound; there it lies this much above.
_MIN_CEILING_RATIO = 1.01


def _hill(small: str, large: str, at_small: str, at_large: str) -> str:
    """Return the saturating curve through a magnitude at each of two sizes."""
    ceiling = f"max(ceiling, {_MIN_CEILING_RATIO}*{at_large})"
    power = f"log(({ceiling}/{at_small} - 1)/({ceiling}/{at_large} - 1))/log({large}/{small})"
    return f"{ceiling}/(1 + ({ceiling}/{at_large} - 1)*({large}/N)**({power}))"


def _bounded(factors: tuple[str, ...], name: str, values: Mapping[str, Array]) -> None:
    """Check that the ceiling bounds the magnitude at 13B, the product of these inputs, but for stray draws."""
    import numpy as np

    at = np.prod([np.asarray(values[name], dtype=float) for name in factors], axis=0)
    ceiling = np.asarray(values["ceiling"], dtype=float)
    if np.mean(ceiling <= at) > 0.01:
        said = f"{name}: ceiling: {np.median(ceiling):.3g} does not lie above the magnitude at 13B, {np.median(at):.3g}"
        raise UsageError(f"{said} ({' × '.join(factors)})")


MAGNITUDE_LINKS = {
    "magnitude-saturating": Link(
        title="Magnitude of outliers from parameters, saturating, through the essay's figures",
        unit="",
        expression=f"max(6, {_hill('6e9', '13e9', 'at_6b', 'at_13b')})",
        takes={"N": "param"},
        check=functools.partial(_bounded, ("at_13b",)),
        inputs=(
            Input(
                name="at_6b", unit="", distribution={"p05": 12.0, "p95": 18.0},
                source=f"{ESSAY}: about 15 at 6B; {_WIDTH_NOTE}",
            ),
            Input(
                name="at_13b", unit="", distribution={"p05": 54.0, "p95": 66.0},
                source=f"{ESSAY}: about 60 at 13B; {_WIDTH_NOTE}",
            ),
            CEILING,
        ),
        note="at least 6, what an outlier is by definition: it says 6 below 3B, where table 4 of the paper has medians "
        "of 6 to 25, and 19 at 6.7B, where it has 40",
        reference=ESSAY,
    ),
    "magnitude-two-regimes": Link(
        title="Magnitude of outliers from parameters: level up to the shift, then saturating, by the paper's table",
        unit="",
        expression=f"before + heaviside(N - shift)*({_hill('6.7e9', '13e9', 'at_6_7b', '(at_6_7b*growth)')} - before)",
        takes={"N": "param", "shift": "param"},
        check=functools.partial(_bounded, ("at_6_7b", "growth")),
        inputs=(
            Input(
                name="before", unit="", distribution={"p05": 16.0, "p95": 23.0},
                source=f"{T4}: medians of 23 (125M), 21 (1.3B), 16 (2.7B) and 17 (GPT-J 6B), without a trend; GPT-2 "
                "has 6 to 9",
            ),
            Input(
                name="at_6_7b", unit="", distribution={"p05": 35.0, "p95": 44.0},
                source=f"{T4}: median 40 at 6.7B, its quartiles as a 90 % range",
            ),
            Input(
                name="growth", unit="", distribution={"p05": 1.29, "p95": 1.63},
                source=f"{T4}: from 6.7B to 13B medians grow 1.45 times, from 40 to 58, and lower quartiles 1.29 "
                f"times; {_WIDTH_NOTE}",
            ),
            CEILING,
        ),
        note="fairseq models and GPT-J; two models beyond the shift, and a ceiling that only the essay speaks of",
        reference=T4,
    ),
}  # fmt: skip


MODELS = specs(MAGNITUDE_LINKS)
