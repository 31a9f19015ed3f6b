"""What the essay says about the brain: every figure recomputed here by hand, and its verdict."""

import math

import pytest

import forecast
from forecast import claim_verdicts as claims
from forecast.contract.registry import get_registry

#: Claim to what comes out and how it is judged. The figures are worked out by hand, not read from the plugin.
WORKED = {
    "brain-flops": (2 * 200 * 5e4 * (5e10 * 75 + 1e8 * 5e5), "agrees"),
    "brain-flops-b": (200 * 1e5 * (5e10 * 75 + 1e8 * 5e5), "agrees"),
    "brain-flops-own-filters": (400 * (5e10 * 60 * 75 + 1e8 * 5e4 * 5e5), "disagrees"),
    "synapse-total": (86e9 * (0.75 * 25000 + 0.25 * 10000), "disagrees"),
    "purkinje-inputs": (50_000, "disagrees"),
    "dendrite-count": (3e11, "agrees"),
    "child-dendrites": (3e11, "disagrees"),
    "cerebellum-share": (50.1 / 86 * 100, "disagrees"),
    "kurzweil-rule": (2e15, "not derivable"),
    "neuroscience-doubling": (100 / 1024, "agrees"),
    "neuroscience-doubling-two-years": (100 / 32, "disagrees"),
    "vision-steps-20": (0.6, "agrees"),
    "vision-steps-80": (2.4, "agrees"),
    "vision-steps-200": (6, "agrees"),
    "teps-as-flops-low": (1.8e13 / 1.7e-3, "disagrees"),
    "teps-as-flops-high": (6.4e14 / 1.7e-3, "disagrees"),
    "moravec-mips": (1e8, "agrees"),
    "moravec-flops": (2.3e6 * 1e8**0.89, "rounds"),
    "landauer": (20 / (1.380649e-23 * 310 * math.log(2)), "ours"),
}

#: Rows of the essay that are several claims.
ESSAY = {"brain-flops", "synapse-total", "purkinje-inputs", "dendrite-count", "child-dendrites", "cerebellum-share",
         "kurzweil-rule", "neuroscience-doubling", "vision-steps"}  # fmt: skip


def names():
    return [n.partition("/")[2] for n in forecast.catalogue("claim") if n.startswith("brain/")]


@pytest.mark.parametrize("name", WORKED)
def test_a_claim_is_what_the_arithmetic_says(name):
    found = claims.evaluate(get_registry().find("claim", f"brain/{name}").spec)
    computed, verdict = WORKED[name]
    assert found["computed"] == pytest.approx(computed, rel=1e-9)
    assert found["verdict"] == verdict
    assert found["group"] == "brain"
    assert found["source"]


def test_every_row_of_the_essay_is_there_and_every_claim_is_worked_out():
    assert all(any(n.startswith(row) for n in names()) for row in ESSAY)
    assert set(names()) == {
        *WORKED,
        "parity-ai-cluster",
        "parity-ai-cluster-reached",
        "parity-linpack",
        "parity-hpcg",
        "parity-hpcg-end-to-end",
    }
