"""What somebody types first at a file of their own: the same rule at every door."""

import datetime
import json

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, TableError
from forecast.tables import diff
from toolkit import call

YEARS = range(2010, 2021)
#: The first day of each year, as spreadsheets count days.
DAYS = {year: (datetime.date(year, 1, 1) - datetime.date(1899, 12, 30)).days for year in YEARS}


def median(*words):
    """Return the median that ``ask`` or ``extrapolate`` answers."""
    code, out, err = call(*words, "--json")
    assert code == 0, err
    result = json.loads(out)["result"]
    return (result["answer"]["p50"] if words[0] == "ask" else result["points"][0]["median"]), result


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def shares(path):
    return write(path, "year,share", *(f"{year},{50 + 3 * (year - 2010)}%" for year in YEARS))


def test_a_share_has_one_value_and_unit_at_both_doors(tmp_path):
    path = shares(tmp_path / "share.csv")
    asked, result = median("ask", f"{path}:share", "--at", "2022")
    assert result["answer"]["unit"] == "percent"
    assert asked == pytest.approx(84.3, abs=0.5)
    assert median("extrapolate", path, "--x", "year", "--y", "share", "--to", "2022")[0] == pytest.approx(asked)
    assert median("ask", f"{path}:share", "--at", "2060")[0] <= 100


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Shares of users, by year", "year,share"),
        ("Shares of users, by year\n", "year,share"),
        ("Shares, users, a survey", "year,share"),
        ("Shares,v3", "year,share"),
    ],
)
def test_a_title_with_commas_is_no_header(tmp_path, title, names):
    path = write(tmp_path / "share.csv", title, names, *(f"{year},{year - 2000}" for year in YEARS))
    columns = forecast.read(path)
    assert columns["share"].tolist() == [year - 2000 for year in YEARS]
    assert columns.notes.file == ("1 line above the header left out",)


def test_a_title_and_prices_with_commas_do_not_make_commas_separators(tmp_path):
    rows = (f'{year};"${year - 2008},200"' for year in YEARS)
    columns = forecast.read(write(tmp_path / "prices.txt", "GPU list, by year", "year;price", *rows))
    assert columns["price"][:2].tolist() == [2200, 3200]


def test_a_cell_of_words_below_a_header_is_no_header(tmp_path):
    path = write(tmp_path / "gpus.csv", "gpu,price", "A100,on request", "H100,30000", "B200,40000", "C300,50000")
    assert list(forecast.read(path)) == ["gpu", "price"]
    assert forecast.read(path).rows == 4


def test_where_compares_at_every_door(tmp_path):
    path = write(tmp_path / "a.csv", "year,users,share", *(f"{y},{y - 2005},{2 * y - 4000}" for y in YEARS))
    for condition in ("users > 7", "users >= 8", "year >= 2013"):
        for words in (("ask", f"{path}:share"), ("extrapolate", path, "--x", "year", "--y", "share", "--to", "2022")):
            code, out, err = call(*words, "--where", condition, "--json")
            assert code == 0, err
            assert "8 of 11 rows" in json.loads(out)["read"][0]
    code, out, _ = call("ask", f"{path}:share", "--where", "users > 5", "--where", "users<14", "--json")
    assert (code, "8 of 11 rows" in out) == (0, True)
    assert "expected 'COLUMN is VALUE' or 'COLUMN > NUMBER'" in call("ask", f"{path}:share", "--where", "users")[2]


@pytest.mark.parametrize("sign", ["$", "US$", "£"])
def test_the_sign_of_a_currency_tells_thousands(tmp_path, sign):
    path = write(tmp_path / "prices.txt", "year;price", *(f"{year};{sign}{year - 2008},200" for year in YEARS))
    columns = forecast.read(path)
    assert columns["price"][:2].tolist() == [2200, 3200]
    assert "separators of thousands, as" in columns.notes.line()


def test_a_bare_comma_keeps_both_readings(tmp_path):
    path = write(tmp_path / "prices.txt", "year;price", *(f"{year};{year - 2008},200" for year in YEARS))
    with pytest.raises(DataError, match=r"'2,200' is 2200 or 2\.2: say --decimal point or --decimal comma"):
        forecast.read(path).numeric("price")
    path = write(tmp_path / "more.txt", "year;price", "2010;1,234", "2011;1,234,567", "2012;2,345,678")
    assert forecast.read(path)["price"].tolist() == [1234, 1234567, 2345678]


def test_a_name_given_twice_is_one_error_everywhere(tmp_path):
    path = write(tmp_path / "a.csv", "year,y,y", *(f"{year},{year - 2000},{year}" for year in YEARS))
    says = "column 'y' is given 2 times: say 'y (1)' or 'y (2)'"
    with pytest.raises(TableError):
        forecast.read(path).column("y")
    for words in (
        ("ask", f"{path}:y"),
        ("fit", "a + b*year", "--variables", "year", "--data", path),
        ("extrapolate", path, "--x", "year", "--y", "y", "--to", "2030"),
    ):
        assert says in call(*words)[2]


def test_a_folder_and_a_column_without_dates_are_one_sentence(tmp_path):
    path = write(tmp_path / "a.csv", "start,y", "a,1", "b,2", "c,3")
    (tmp_path / "mine").mkdir()
    for words in (
        ("ask", f"{tmp_path}/mine:y"),
        ("fit", "a + b*x", "--variables", "x", "--data", tmp_path / "mine"),
        ("extrapolate", tmp_path / "mine", "--x", "x", "--y", "y", "--to", "3"),
    ):
        assert "mine/datapackage.json: no such file: a folder is no file of data" in call(*words)[2]
    says = "forecast: error: a.csv: column 'start': expected dates (2024-06-30, 2024Q2, Jun 2024, years), got text\n"
    assert call("ask", f"{path}:y", "--x", "start") == (1, "", says)


@pytest.mark.parametrize(
    ("name", "cells", "form"),
    [
        ("date", [(DAYS[year] - 25569) * 86400 for year in YEARS], "Unix seconds"),
        ("timestamp", [(DAYS[year] - 25569) * 86400000 for year in YEARS], "Unix milliseconds"),
        ("when", [DAYS[year] for year in YEARS], "days of a spreadsheet"),
        ("month", [100 * year + 1 for year in YEARS], "YYYYMM"),
    ],
)
def test_python_gives_the_dates_that_the_command_line_reads(tmp_path, name, cells, form):
    path = write(tmp_path / "a.csv", f"{name},y", *(f"{cell},{i + 2}" for i, cell in enumerate(cells)))
    for columns in (forecast.read(path), forecast.read({name: cells, "y": np.arange(2.0, 13.0)})):
        assert [str(date)[:10] for date in columns[name]] == [f"{year}-01-01" for year in YEARS]
        assert columns.kind(name) == "time"
        assert f"'{name}' as {form}" in columns.notes.line()
        assert columns.where(name, str(cells[1]), "where")["y"].tolist() == [3.0]
    code, out, err = call("extrapolate", path, "--x", name, "--y", "y", "--to", "2025", "--json")
    assert code == 0, err
    assert (code, json.loads(out)["read"]) == (0, [f"Read a.csv: 11 rows, '{name}' as {form}."])


def test_python_refuses_what_the_command_line_refuses(tmp_path):
    path = write(tmp_path / "a.txt", "day;cost;size", "1/2/2020;1,200;3", "3/4/2020;1,300;big", "5/6/2020;1,400;5")
    for name, says in (("day", "--dates dmy"), ("cost", "--decimal comma"), ("size", "a.txt:3:size: 'big'")):
        with pytest.raises(DataError, match=says):
            forecast.read(path)[name]
    assert forecast.read(path).where("size", "big", "where").rows == 1
    assert forecast.read(path).labels("day").tolist() == ["1/2/2020", "3/4/2020", "5/6/2020"]


LEVELS = [round(4 * 1.45**i, 2) for i in range(12)]
#: Of one series, in May of each year from 2012 on, and a row without a value: the file, and what is said of it.
AWKWARD = {
    "decimal commas": (
        ["A list", "", "when;level", *(f"5/14/{2012 + i};{v}".replace(".", ",") for i, v in enumerate(LEVELS)),
         "5/14/2024;n/a", "", "Mean;40"],
        "columns separated by semicolons, 1 line above the header left out, 1 line below the table left out, dates "
        "month/day/year, decimal commas.",
    ),
    "months and money": (
        ["when\tlevel", *(f"14. Mai {2012 + i}\t${v}M" for i, v in enumerate(LEVELS)), "14. Mai 2024\tTBD"],
        "columns separated by tabs, M = 1e6, USD.",
    ),
    "fill values": (
        [" when | level", "------+------", *(f"{2012 + i}0514|{v}" for i, v in enumerate(LEVELS)),
         "20240514|-9999", "(13 rows)"],
        "columns separated by bars, 1 line below the table left out, 'when' as YYYYMMDD, -9999 as missing.",
    ),
}  # fmt: skip
#: A question about the file, and one that reads its last value as a figure.
SCENARIO = """until = 2040
[quantities.now]
table = "a.txt"
column = "level"
latest = "when"
[quantities.users]
data = "a.txt"
x = "when"
y = "level"
unit = "{unit}"
shape = "trends/exponential"
[questions.q]
when = "users >= {threshold}"
dates = [2030]
resolves = "the list"
[questions.last]
value = "now"
dates = [2030]
"""


@pytest.mark.parametrize("kind", AWKWARD)
def test_an_awkward_file_is_one_thing_at_every_door(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    lines, says = AWKWARD[kind]
    write(tmp_path / "a.txt", *lines)
    scale = 1e6 if "USD" in says else 1
    values, unit = scale * np.array(LEVELS), "USD" if scale > 1 else ""
    threshold = f"{100 * scale:g} {unit}".strip()
    (tmp_path / "a.toml").write_text(SCENARIO.format(threshold=threshold, unit=unit))
    used = f"Read a.txt: 12 of 13 rows (1 without level), {says}"
    whole = f"Read a.txt: 13 rows, {says}"
    read = forecast.read("a.txt").complete(["when", "level"])
    np.testing.assert_allclose(read["level"], values)
    assert [str(day)[:10] for day in read["when"]] == [f"{2012 + i}-05-14" for i in range(12)]
    assert read.notes.line() == used
    doors = {
        ("ask", "a.txt:level", "--at", "2030"): [used],
        ("run", "a.toml"): [used, whole],
        ("extrapolate", "a.txt", "--x", "when", "--y", "level", "--to", "2030"): [used],
        ("backtest", "a.txt:level", "--shape", "exponential"): [used],
        ("fit", "a + b*t", "--variables", "t", "--let", "t=when", "--y", "level", "--data", "a.txt"): [used],
        ("tables", "show", "a.txt"): [whole],
        ("tables", "diff", "a.txt", "a.txt"): [whole, whole],
    }
    found = {}
    for words, expected in doors.items():
        code, out, err = call(*words, *(["--draws", "128"] if words[0] in ("ask", "run") else []), "--json")
        assert (code, json.loads(out or "{}").get("read")) == (0, expected), (words, err)
        found[words[0]] = json.loads(out)["result"]
    assert found["extrapolate"]["observations"] == 12
    assert found["tables"]["parts"][0]["changed"] == []
    (part,) = diff.read_version("a.txt").parts
    assert part.columns["level"] == [*values, None]
    model = forecast.trend("a.txt", shape="trends/exponential", x="when", y="level").fit()
    np.testing.assert_allclose(model.observed().value, values)
    np.testing.assert_array_equal(model.observed().time, read.years("when"))
    last = forecast.project("a.toml", draws=128).answers["last"]
    assert float(last.quantile(0.5)) == pytest.approx(values[-1])
    assert (
        call("record", "a.toml", "--ledger", "l.jsonl", "--as-of", "today", "--draws", "128", "--question", "q")[0] == 0
    )
    shown = json.loads(call("resolve", "l.jsonl", "--on", "today", "--tables", "--json")[1])["result"]["tables"]
    assert [(row["met"], row["value"]) for row in shown] == [("2021-05-14", pytest.approx(values[9]))]
