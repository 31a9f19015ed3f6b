"""Carlsmith 2020: the mechanistic, functional and limit methods, and an overall credence.

No figure of his fourth method, communication, could be read; `brain/ai-impacts-2015` is another author's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forecast import EstimateSpec
from forecast_brain.brain_inputs import CARLSMITH, MEMORY, compute, fixed, one_number, spread

__all__ = ["models"]

_RANGE_NOTE = "a range without a central figure, taken as loguniform"


def models() -> Iterator[EstimateSpec]:
    """Bring the methods and the overall credence."""
    yield one_number(
        "carlsmith-2020",
        "Mechanistic: spikes through synapses, firing decisions, learning",
        {"p05": 1e13, "p50": 1e15, "p95": 1e17},
        f"{CARLSMITH}: 1e13 to 1e17, with 1e15 more likely than not enough; the range taken here as 90 %",
    )
    yield compute(
        "carlsmith-2020-mechanistic",
        "Mechanistic, from its parts: synapses × rate × FLOP for each spike through a synapse",
        "synapses*firing_rate*flop_per_spike",
        (
            spread("synapses", "", {"low": 1e14, "high": 1e15, "family": "loguniform"}, f"{CARLSMITH}: {MEMORY}"),
            spread(
                "firing_rate",
                "1/s",
                {"low": 0.1, "high": 2.0, "family": "loguniform"},
                f"Lennie, P. (2003), The cost of cortical computation, Current Biology 13: {MEMORY}",
                "average over cortical neurons; Dettmers 2015 takes 200",
            ),
            spread(
                "flop_per_spike", "FLOP", {"low": 1.0, "high": 100.0, "family": "loguniform"}, f"{CARLSMITH}: {MEMORY}"
            ),
        ),
        CARLSMITH,
        note=f"inputs {MEMORY}; against the 200 Hz of Dettmers 2015 the rate alone moves the answer by two to three "
        "orders",
    )
    for name, title, low, high in (
        ("retina", "Functional: Moravec's retina scaled to the brain", 1e12, 1e15),
        ("retina-network", "Functional: the retina as a deep network, scaled to the brain", 1e16, 1e20),
        ("image-classifier", "Functional: an image classifier (EfficientNet-B2) scaled to the brain", 1e13, 3e17),
    ):
        source = f"{CARLSMITH}: {low:.0e} to {high:.0e}, read in its summary on the EA Forum"
        made: Mapping[str, float | str] = {"low": low, "high": high, "family": "loguniform"}
        yield one_number(f"carlsmith-2020-{name}", title, made, source, note=_RANGE_NOTE)
    yield one_number(
        "carlsmith-2020-overall",
        "Overall credence in what is enough",
        {"p10": 1e13, "p50": 1e15, "p90": 1e21},
        f"{CARLSMITH}: 1e15 more likely than not enough, less than 10 % that more than 1e21 is needed",
        note="elicited: the two statements taken as the median and the 90 % quantile, which they only bound; that 10 % "
        "lie below the low end of his mechanistic range, 1e13, is ours",
    )
    yield compute(
        "landauer",
        "Limit: bit erasures a second that a brain's power can pay for",
        "power/(boltzmann*temperature*log(2))*erasure",
        (
            fixed("power", "W", 20.0, f"power of a human brain, {MEMORY}"),
            fixed("temperature", "K", 310.0, "temperature of a human body"),
            fixed("boltzmann", "J/K", 1.380649e-23, "SI Brochure, 9th edition: exact by definition"),
            fixed("erasure", "bit_erasure", 1.0, "by definition: the bound is for one bit"),
        ),
        f"Landauer, R. (1961), Irreversibility and heat generation in the computing process, IBM J. 5(3); {CARLSMITH}",
        unit="bit_erasure/s",
        quantity="brain.bit_erasures",
        note="an upper limit of another kind: erasures are not FLOP, and converting needs a stated number of erasures "
        "for each",
    )
