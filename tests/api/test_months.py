"""A month is its first day wherever a date is typed."""

import pytest

from forecast import project, scenario as load
from forecast.errors import ForecastError

PARTS = {"x": {"p05": 1, "p95": 4, "unit": "FLOP"}, "z": {"expression": "x*exp(t - 2025)"}}
RECORD = {"start": 2025, "until": 2030, "step": "1/12", "quantities": PARTS, "questions": {"q": {"when": "z >= 9"}}}
READERS = {
    "start": lambda date: project({**RECORD, "start": date}, draws=20).years.tolist(),
    "until": lambda date: project({**RECORD, "until": date}, draws=20).years.tolist(),
    "schedule": lambda date: load(
        {"until": 2030, "quantities": {"s": {"as": "level", "unit": "", "schedule": [[2025, 1], [date, 2]]}}}
    ).quantities["s"].points,
    "as_of=": lambda date: project("brain-parity", as_of=date.replace("2027", "2024"), draws=20).years[0],
    ".at": lambda date: load(RECORD).z.at(date).sample(n=20, at=2029).tolist(),
    "what_if": lambda date: load(RECORD).what_if("z", since=date, growth="0.1*").ask(draws=99).quantile(0.99),
    "probability": lambda date: load(RECORD).ask(draws=200).probability(by=date),
    "needed": lambda date: load(RECORD).ask(draws=200).needed("x", by=date),
    "sample": lambda date: load(RECORD).z.sample(n=20, at=date).tolist(),
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_month_is_its_first_day_and_no_other(reader):
    assert reader("2027-03") == reader("2027-03-01") != reader("2027-08-15")
    with pytest.raises(ForecastError, match="expected a date such as 2030, 2030-12 or 2030-12-31"):
        reader("2027-13")
