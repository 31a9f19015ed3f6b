"""Every law of the catalogue is recovered from its own data: 0.01 % noise on 200 points over its domain."""

import numpy as np
import pytest

import forecast
from forecast.registry import get_registry

LAWS = [r.spec.name for r in get_registry().records("law") if r.plugin.name == "scaling"]
#: Laws whose optimum the search does not find by itself, and why.
NOT_FOUND = dict.fromkeys(
    ("data-constrained", "loss-threshold"),
    "the search takes the law for linear where, at its trial parameters, max() or min() hides the dependence",
)
NOISE = 1e-4


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.xfail(strict=True, reason=NOT_FOUND[n])) if n in NOT_FOUND else n for n in LAWS],
)
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
