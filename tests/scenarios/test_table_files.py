"""A figure that a scenario reads in an ordinary file beside it, by the rules of every other verb."""

import pytest

import forecast
from forecast import tables
from forecast.errors import DataError, ScenarioError, UnknownNameError
from forecast.scenarios.table_values import Tables, TableValue

CARDS = 'Card,Price (USD),Date\nRTX 4090,"$1,899",12/31/2025\nRTX 3090,$700,12/30/2025\nH100,"$25,000",11/30/2025\n'
SCENARIO = """
title = "What do four cards cost?"
start = 2026
until = 2030
[quantities.price]
table = "{file}"
column = "{column}"
where = {{ Card = "{card}" }}
{more}
[quantities.four]
expression = "4*price"
[questions.cost]
value = "four"
dates = [2027]
"""


def write(folder, text=CARDS, file="cards.csv", column="Price (USD)", card="RTX 4090", more=""):
    if text:
        (folder / "cards.csv").write_text(text)
    path = folder / "s.toml"
    path.write_text(SCENARIO.format(file=file, column=column, card=card, more=more))
    return path


def cost(path):
    return float(forecast.project(path, draws=32).answers["cost"].worlds.values[0])


def test_a_table_that_cannot_be_read_is_read_once(monkeypatch):
    tried = []

    def fail(name, **_):
        tried.append(name)
        raise DataError("no table")

    monkeypatch.setattr(tables, "shared_table", fail)
    read = Tables("test")
    for card in ("RTX 4090", "RTX 3090"):
        with pytest.raises(DataError, match="no table"):
            read.figure(TableValue(table="mine/cards", column="price", where={"card": (card,)}), {}, "price")
    assert tried == ["mine/cards"]


def test_it_is_read_as_every_file_is(tmp_path):
    assert cost(write(tmp_path)) == 4 * 1899
    run = forecast.project(write(tmp_path), draws=32)
    assert run.answers["cost"].unit == "USD"
    assert run.read == ("Read cards.csv: 3 rows, separators of thousands, USD.",)
    assert list(run.provenance["data"]) == ["cards.csv"]
    run.save(tmp_path / "run.nc")
    assert forecast.load(tmp_path / "run.nc").run.read == run.read


def test_what_the_file_does_not_tell_the_scenario_says(tmp_path):
    text = "Card;Price;Loss\nA;1.234;2,5\nB;2.345;3,5\n"
    with pytest.raises(DataError, match=r"'1.234' is 1.234 or 1234"):
        forecast.project(write(tmp_path, text, column="Price", card="A"), draws=32)
    read = write(tmp_path, text, column="Price", card="A", more='reading = { decimal = "comma" }')
    assert cost(read) == 4 * 1234


def test_an_edited_file_is_read_anew(tmp_path):
    path = write(tmp_path)
    first = cost(path)
    (tmp_path / "cards.csv").write_text(CARDS.replace("1,899", "2,099"))
    assert (first, cost(path)) == (7596, 8396)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"column": "Price"}, UnknownNameError, r"unknown column 'Price'; did you mean 'Price \(USD\)'"),
        ({"card": "RTX 4080"}, DataError, "cards.csv has no 'Price .USD.' where Card = RTX 4080"),
        ({"file": "../cards.csv"}, ScenarioError, "leaves the scenario's folder"),
        ({"file": "card.csv"}, DataError, "card.csv: no such file"),
        ({"more": 'reading = { reduce = "mean" }'}, UnknownNameError, "reduce"),
    ],
)
def test_a_wrong_table_is_one_sentence(tmp_path, change, error, match):
    with pytest.raises(error, match=match):
        forecast.project(write(tmp_path, **change), draws=32)
