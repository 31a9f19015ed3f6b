"""A new kind of quantity is one class and one line: it is read, checked, drawn, saved and changed as any other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import forecast
from forecast.errors import ScenarioError, UnitError
from forecast.scenarios import parse
from forecast.scenarios.kinds import KINDS
from forecast.scenarios.quantities.node import Node, QuantityKind


@dataclass(frozen=True, kw_only=True)
class Lookup(QuantityKind):
    """Values by year, each off by a factor that a world draws once: the error of who wrote the table."""

    KIND, IDENTIFYING_KEYS, FORM = "lookup", ("lookup",), "a lookup"

    points: tuple[tuple[float, float], ...]
    spread: float
    unit: str

    @classmethod
    def read(cls, reader: Any, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]) -> "Lookup":
        reader.only(record, ("lookup", "spread", "unit"), key)
        stated = reader.mapping(record, "lookup", key)
        if not stated:
            raise reader.fail(f"{key}.lookup", "expected values by year, such as { 2025 = 3, 2030 = 5 }")
        at = f"{key}.lookup"
        points = sorted((reader.finite(float(year), at), reader.finite(value, at)) for year, value in stated.items())
        return cls(
            points=tuple(points), spread=reader.finite(record.get("spread", 0), key), unit=reader.unit(record, key)
        )

    def node(self, scenario: Any, name: str, tables: Any) -> Node:
        return Node(name=name, unit=self.unit, dims=(), quantity=self)

    @property
    def one_uniform(self) -> bool:
        return self.spread > 0

    def lower(self, plan: Any, node: Node, combination: tuple[str, ...]) -> int:
        uniforms = [plan.uniform(node.name)] if self.spread else []
        stated = self.points, self.spread
        return plan.add("path_of_dates", uniforms, self.values, stated=stated, dated=True, of=node.name)

    def values(self, time: Any, *uniforms: Any) -> Any:
        from scipy.special import ndtri

        path = np.interp(time, *np.array(self.points).T)
        return path[:, None] * np.exp(self.spread * ndtri(uniforms[0])) if uniforms else path


TEXT = """
start = 2025
until = 2030

[quantities.capacity]
lookup = { 2025 = 10, 2027 = 20, 2030 = 80 }
spread = 0.5
unit = "GW"

[quantities.cost]
lognormal = [1, 4]
unit = "GUSD/GW"

[quantities.spent]
expression = "capacity*cost"

[questions.large]
when = "capacity >= 40 GW"

[[correlations]]
of = ["capacity", "cost"]
rho = 0.9
"""


@pytest.fixture(autouse=True)
def _lookup(monkeypatch):
    monkeypatch.setattr(parse, "KINDS", (Lookup, *KINDS))


@pytest.fixture
def scenario():
    from forecast import Scenario

    return Scenario.from_text(TEXT)


def test_it_is_drawn_as_it_says(scenario):
    run = forecast.project(scenario, draws=4000)
    capacity = run.quantities["capacity"].worlds
    assert run["projection"]["capacity"].attrs["kind"] == "lookup"
    middle = capacity.median("draw").values
    assert middle == pytest.approx([10, 15, 20, 40, 60, 80], rel=0.02)
    assert np.log(capacity.isel(time=0)).std() == pytest.approx(0.5, rel=0.05)
    np.testing.assert_allclose(run.quantities["spent"].worlds, capacity * run.quantities["cost"].worlds, rtol=1e-12)
    # it moves together with another number, as whatever is drawn through one uniform can
    cost = run.quantities["cost"].worlds.values.ravel()[-4000:]
    first = capacity.isel(time=0).values
    assert np.corrcoef(first.argsort().argsort(), cost.argsort().argsort())[0, 1] == pytest.approx(0.9, abs=0.03)
    assert 2027 < run.answers["large"].headline.median < 2030


def test_it_is_set_swept_limited_and_used_elsewhere(scenario):
    assert float(forecast.project(scenario.with_(capacity="50 GW"), draws=20).quantities["capacity"].worlds.max()) == 50
    limited = scenario.with_(capacity={"lookup": {"2025": 5, "2026": 20}, "unit": "GW", "limit": "8 GW"})
    assert float(forecast.project(limited, draws=20).quantities["capacity"].worlds.max()) == 8
    both = forecast.scenario(use={"grid": scenario}, quantities={"twice": "2*grid.capacity"})
    run = forecast.project(both, draws=20, start=2025, until=2030)
    home = forecast.project(scenario, draws=20).quantities["capacity"].worlds
    assert (run.quantities["grid.capacity"].worlds.values == home.values).all()


def test_it_is_written_saved_and_loaded(scenario, tmp_path):
    from forecast import Scenario

    again = Scenario.from_text(scenario.to_toml())
    assert again.quantities == scenario.quantities
    run = forecast.project(scenario, draws=20)
    loaded = forecast.load(forecast.save(run, tmp_path / "lookup.nc"))
    assert loaded.run.quantities["capacity"].worlds.equals(run.quantities["capacity"].worlds)
    assert (loaded.with_(capacity="20 GW").run.quantities["capacity"].worlds == 20).all()


@pytest.mark.parametrize(
    ("line", "error", "says"),
    [
        ("lookup = {}", ScenarioError, "quantities.capacity.lookup: expected values by year"),
        ("lookup = { 2025 = true }", ScenarioError, "expected a finite number"),
        ("lookup = { 2025 = 1 }\nshape = 2", forecast.ForecastError, "unknown key 'shape'"),
        ("lookup = { 2025 = 1 }", UnitError, "capacity"),
    ],
)
def test_what_is_wrong_with_it_is_said(line, error, says):
    from forecast import Scenario
    from forecast.scenarios.graph import build

    unit = "kg" if error is UnitError else "GW"
    head = f'start = 2025\nuntil = 2030\n[quantities.capacity]\n{line}\nunit = "{unit}"\n'
    with pytest.raises(error, match=says):
        build(Scenario.from_text(f'{head}[questions.q]\nwhen = "capacity >= 1 GW"\n'))


def test_an_empty_record_is_told_of_it(scenario):
    with pytest.raises(ScenarioError, match="expected a lookup, a model"):
        scenario.with_(capacity={"unit": "GW"})
