"""The estimates of the brain's compute, against the table they come from."""

import math

import numpy as np
import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast.contract.specs import EstimateSpec, MixtureSpec
from forecast_brain.emulation_levels import LEVELS
from forecast_brain.evidence import PUBLISHED

#: One an author: those that are pooled.
POOLED = ["ai-impacts-2015", "carlsmith-2020", "dettmers-2015", "kurzweil-2005", "moravec-1997",
          "sandberg-bostrom-2008"]  # fmt: skip

#: Model to the row of the table, and the figures of the model's one number that must be the row's.
ROWS = {
    "kurzweil-2005": ("kurzweil-2005", {"value": "central"}),
    "drexler-2018": ("drexler-2018", {"value": "high"}),
    "kurzweil-2005-range": ("kurzweil-2005-range", {"low": "low", "high": "high"}),
    "carlsmith-2020": ("carlsmith-2020", {"p05": "low", "p50": "central", "p95": "high"}),
    "carlsmith-2020-retina": ("carlsmith-2020-retina", {"low": "low", "high": "high"}),
    "carlsmith-2020-retina-network": ("carlsmith-2020-retina-network", {"low": "low", "high": "high"}),
    "carlsmith-2020-image-classifier": ("carlsmith-2020-image-classifier", {"low": "low", "high": "high"}),
    "ai-impacts-2015-teps": ("ai-impacts-2015-teps", {"low": "low_teps", "high": "high_teps"}),
    **{f"sandberg-bostrom-2008-{name}": (f"sandberg-bostrom-2008-{name}", {"value": "central"})
       for name, _, _, _ in LEVELS},
}  # fmt: skip

#: Models with a figure from memory: each says so, and none of them is pooled or in a choice of a scenario.
FROM_MEMORY = [
    "carlsmith-2020-mechanistic", "cotra-2020", "device-mass", "kurzweil-2005-range", "landauer", "mass",
    "merkle-1989-as-flop", "merkle-1989-energy", "power",
    *(f"sandberg-bostrom-2008-{name}" for name, _, _, read in LEVELS if "memory" in read),
]  # fmt: skip


def spec(name):
    return get_registry().find("model", f"brain/{name}").spec


def models():
    return [n.partition("/")[2] for n in forecast.catalogue("model") if n.startswith("brain/")]


def draws(name, count=1000, **settings):
    made = {"start": 2025, "until": 2026, "quantities": {"brain": {"model": f"brain/{name}"}}}
    run = forecast.project(made, draws=count, with_=settings)
    level = run["projection"]["brain"].values
    assert (level[0] == level[1]).all()
    return level[0]


@pytest.fixture(scope="module")
def table():
    data = forecast.table("brain-estimates")
    names = data["estimate"].values.tolist()

    def row(name):
        return {k: data[k].values[names.index(name)] for k in data.data_vars}

    return row


@pytest.mark.parametrize("name", ROWS)
def test_the_figures_of_a_model_are_those_of_its_row(table, name):
    row, figures = ROWS[name]
    found = table(row)
    (given,) = spec(name).inputs
    assert (found["status"] == "verified") == (name not in FROM_MEMORY)
    numbers = {k: v for k, v in given.distribution.items() if k != "family"}
    assert numbers == {key: float(found[column]) for key, column in figures.items()}


@pytest.mark.parametrize(("name", "row", "column"), [
    ("merkle-1989-synapses", "merkle-1989-synapses", "central_synaptic_op"),
    ("landauer", "carlsmith-2020-landauer", "central_bit_erasure"),
    ("moravec-1997", "moravec-1997", "low"),
    ("cotra-2020", "cotra-2020", "central"),
])  # fmt: skip
def test_a_formula_without_uncertain_numbers_gives_its_row(table, name, row, column):
    level = draws(name, 3)
    assert level == pytest.approx([float(table(row)[column])] * 3, rel=0.011)  # the row rounds 3.03e13 to 3e13


def test_the_range_of_the_roadmap_is_two_verified_rows(table):
    (given,) = spec("sandberg-bostrom-2008").inputs
    rows = [table(f"sandberg-bostrom-2008-{r}") for r in ("l4-spiking", "l5-electrophysiology")]
    assert [float(r["central"]) for r in rows] == [given.distribution["low"], given.distribution["high"]]
    assert {r["status"] for r in rows} == {"verified"}
    assert table("dettmers-2015")["status"] == "verified"
    assert float(table("dettmers-2015")["low"]) == 1.075e21


def test_traversed_edges_convert_at_the_stated_factor(table):
    row = table("ai-impacts-2015-flops")
    level = draws("ai-impacts-2015", 20_000)
    assert level.min() == pytest.approx(float(row["low"]), rel=0.01)
    assert level.max() == pytest.approx(float(row["high"]), rel=0.01)
    assert draws("ai-impacts-2015", 2, **{"brain/ai-impacts-2015.teps": 1.7e13}) == pytest.approx([1e16] * 2)
    # the printed range needs 1.9
    printed = {"brain/ai-impacts-2015.teps": 6.4e14, "brain/ai-impacts-2015.teps_per_flop": 1.9}
    assert draws("ai-impacts-2015", 2, **printed) == pytest.approx([33.7e16] * 2, rel=0.001)


def test_moravec_counts_a_hundred_million_mips_and_converts_them():
    assert draws("moravec-1997-mips", 2) == pytest.approx([1e8, 1e8])
    assert draws("moravec-1997", 2) == pytest.approx([2.3e6 * 1e8**0.89] * 2)
    assert draws("moravec-1997", 2, **{"brain/moravec-1997.retinas": 1e4}) == pytest.approx([2.3e6 * 1e7**0.89] * 2)


def test_kurzweils_rule_with_the_essays_two_counts():
    for each, whole in ((1e13 / 8.6e10, 2e15), (21250.0, 3.655e17)):
        level = draws("kurzweil-2005-synapses", 2, **{"brain/kurzweil-2005-synapses.synapses_per_neuron": each})
        assert level == pytest.approx([whole] * 2)


def test_carlsmiths_overall_credence_is_elicited_from_two_statements_and_a_tail_of_ours():
    level = draws("carlsmith-2020-overall", 20_000)
    assert (level <= 1e13).mean() == pytest.approx(0.1, abs=0.01)
    assert "is ours" in spec("carlsmith-2020-overall").note
    assert (level <= 1e15).mean() == pytest.approx(0.5, abs=0.015)
    assert (level <= 1e21).mean() == pytest.approx(0.9, abs=0.01)


def test_the_rate_alone_moves_the_mechanistic_answer_by_two_to_three_orders():
    rate = "brain/carlsmith-2020-mechanistic.firing_rate"
    slow, fast = (np.median(draws("carlsmith-2020-mechanistic", 2000, **{rate: r})) for r in (0.1, 200.0))
    assert math.log10(fast / slow) == pytest.approx(math.log10(2000.0))
    cortical = np.median(draws("carlsmith-2020-mechanistic", 2000))
    assert 2.0 < math.log10(fast / cortical) < 3.0


# --- what rests on memory ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", models())
def test_a_figure_from_memory_is_marked_and_every_input_has_a_source(name):
    record = spec(name)
    sources = [i.source for i in getattr(record, "inputs", ())]
    assert all(sources)
    assert any("from memory" in text for text in (*sources, record.note)) == (name in FROM_MEMORY)


def test_nothing_from_memory_is_pooled_or_chosen_by_a_scenario():
    assert not set(FROM_MEMORY) & set(POOLED)
    for scenario in ("brain-parity", "brain-evidence", "brain-efficiency"):
        assert not set(FROM_MEMORY) & set(
            forecast.Scenario.load(scenario).choices["estimate"].values if scenario != "brain-evidence" else ()
        )


# --- pooled -----------------------------------------------------------------------------------------------------------


def test_what_cannot_be_converted_or_is_an_upper_limit_is_not_pooled():
    weights = spec("pooled").weights
    assert sorted(weights) == [f"brain/{n}" for n in POOLED] == sorted(PUBLISHED)
    assert set(weights.values()) == {1.0}
    assert {spec(n).unit for n in POOLED} == {"FLOP/s"}
    assert all(isinstance(spec(n), EstimateSpec) for n in POOLED)


def test_the_pooled_estimate_says_that_its_weights_are_a_choice():
    assert isinstance(spec("pooled"), MixtureSpec)
    said = forecast.model("brain/pooled").fit().describe()
    assert "equal weights are a choice, not a measurement" in said.summary
    assert "weights are ours" in said.assumptions[0]
    assert "--set brain/pooled.weight_" in said.assumptions[1]
