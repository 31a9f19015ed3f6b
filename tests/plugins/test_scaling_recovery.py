"""Every law of the catalogue is recovered from its own data: 0.01 % noise on 200 points over its domain."""

import numpy as np
import pytest

import forecast
from forecast.contract.registry import get_registry
from toolkit import sample

#: What the default tier recovers: a law of each kind (powers, sums of powers, breaks, saturating data, curves in time).
REPRESENTATIVE = {"saturating-power", "chinchilla", "broken-power", "bass"}
LAWS = {r.spec.name for r in get_registry().records("law") if r.plugin.name == "scaling"}
NOISE = 1e-4


@pytest.mark.parametrize("name", [*sorted(REPRESENTATIVE), *sample(sorted(LAWS - REPRESENTATIVE), 0, 4)])
def test_a_law_is_recovered_from_its_own_data(name):
    record = get_registry().find("law", f"scaling/{name}")
    law, truth = forecast.law(record.full_name), dict(record.spec.example)
    rng = np.random.default_rng(7)
    data = {}
    for variable, (low, high) in record.spec.domain.items():
        u = rng.random(200)
        data[variable] = low * (high / low) ** u if low > 0 and high / low > 10 else low + (high - low) * u
    exact = law.value(truth, **data)
    assert np.isfinite(exact).all()
    fit = law.fit({**data, law.output: exact * (1 + NOISE * rng.standard_normal(200))})
    assert np.max(np.abs(law.value(fit.values, **data) / exact - 1)) < 10 * NOISE
    if not record.spec.ridge:  # where there is one, the record says why no data tell the parameters apart
        for parameter, value in truth.items():
            assert fit.values[parameter] == pytest.approx(value, rel=0.05)
