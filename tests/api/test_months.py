"""A month is its first day wherever a date is typed."""

import pytest

import forecast

RECORD = {
    "start": 2025, "until": 2030, "step": "month",
    "quantities": {"x": {"p05": 1, "p95": 4, "unit": "FLOP"}, "z": {"expression": "x*exp(t - 2025)"}},
    "questions": {"q": {"when": "z >= 9"}},
}  # fmt: skip


def at_start(**changes):
    return forecast.project({**RECORD, "step": "1/12", **changes}, draws=20).time.astype(str).tolist()


READERS = {
    "TOML start": lambda date: at_start(start=date),
    "TOML until": lambda date: at_start(until=date),
    "start=": lambda date: forecast.project({**RECORD, "step": "1/12"}, start=date, draws=20).time.tolist(),
    "until=": lambda date: forecast.project({**RECORD, "step": "1/12"}, until=date, draws=20).time.tolist(),
    "schedule": lambda date: forecast.project(
        {**RECORD, "quantities": {"s": {"schedule": [[2025, 1], [date, 2]], "as": "level", "unit": ""}},
         "questions": {}},
        draws=20, keep=20, paths=("s",),
    ).worlds["s"].values.tolist(),
    "as_of=": lambda date: forecast.project("brain-parity", as_of=date.replace("2027", "2024"), draws=20).years[0],
    ".at": lambda date: forecast.scenario(RECORD).z.at(date).sample(n=20, at=2029).tolist(),
    "what_if": lambda date: (
        forecast.scenario(RECORD).what_if("z", since=date, growth="0.1*").ask(draws=99).quantile(0.99)
    ),
    "probability": lambda date: forecast.scenario(RECORD).ask(draws=200).probability(by=date),
    "needed": lambda date: forecast.scenario(RECORD).ask(draws=200).needed("x", by=date),
    "sample": lambda date: forecast.scenario(RECORD).z.sample(n=20, at=date).tolist(),
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_a_month_is_its_first_day_and_no_other(reader):
    read = READERS[reader]
    assert read("2027-03") == read("2027-03-01") != read("2027-08-15")
    with pytest.raises(forecast.errors.ForecastError, match="expected a date such as 2030, 2030-12 or 2030-12-31"):
        read("2027-13")
