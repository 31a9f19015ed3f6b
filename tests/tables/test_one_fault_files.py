"""Seventy files with one ordinary fault each: their values come out right, or the error gives both readings."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import forecast
from forecast.errors import DataError
from forecast.tables.columns import Columns

DAYS = np.array(["2021-03-30", "2021-06-30", "2022-09-13"], dtype="datetime64[s]")
MONTHS = np.array(["2021-03-01", "2021-06-01", "2022-09-01"], dtype="datetime64[s]")
QUARTERS = np.array(["2021-01-01", "2021-04-01", "2022-07-01"], dtype="datetime64[s]")
HALVES = np.array(["2021-01-01", "2021-07-01", "2022-07-01"], dtype="datetime64[s]")
YEARS = np.array(["2021-01-01", "2022-01-01", "2023-01-01"], dtype="datetime64[s]")


def read(folder: Path, content: str | bytes, name: str = "a.csv", **options: str) -> Columns:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return forecast.read(path, **options)


DATES = {
    "ISO": (["2021-03-30", "2021-06-30", "2022-09-13"], DAYS),
    "with a time": (["2021-03-30 00:00:00", "2021-06-30 00:00:00", "2022-09-13 00:00:00"], DAYS),
    "with a zone": (["2021-03-30T02:00:00+02:00", "2021-06-30T00:00Z", "2022-09-13T00:00:00.000Z"], DAYS),
    "months": (["2021-03", "2021-06", "2022-09"], MONTHS),
    "years and months": (["2021-03", "2021-06-01", "2022-09"], MONTHS),
    "slashes, year first": (["2021/03/30", "2021/06/30", "2022/9/13"], DAYS),
    "month first": (["3/30/2021", "6/30/2021", "9/13/2022"], DAYS),
    "month first, short year": (["03/30/21", "06/30/21", "09/13/22"], DAYS),
    "day first": (["30/3/2021", "30/6/2021", "13/9/2022"], DAYS),
    "points": (["30.03.2021", "30.06.2021", "13.09.2022"], DAYS),
    "month names": (["30 March 2021", "30 June 2021", "13 Sept 2022"], DAYS),
    "American month names": (['"Mar 30, 2021"', '"June 30th, 2021"', '"September 13, 2022"'], DAYS),
    "dashes and names": (["30-Mar-21", "30-Jun-21", "13-Sep-22"], DAYS),
    "month and year": (["Mar 2021", "June 2021", "Sep-22"], MONTHS),
    "quarters": (["2021Q1", "2021-Q2", "Q3 2022"], QUARTERS),
    "fiscal years": (["FY2021", "FY22", "FY2023"], YEARS),
    "half years": (["2021-H1", "H2 2021", "2022H2"], HALVES),
    "seasons": (["2021/22", "2022/23", "2023/24"], YEARS),
    "numbers of months": (["202103", "202106", "202209"], MONTHS),
    "numbers of days": (["20210330", "20210630", "20220913"], DAYS),
    "Unix seconds": (["1617062400", "1625011200", "1663027200"], DAYS),
    "Unix milliseconds": (["1617062400000", "1625011200000", "1663027200000"], DAYS),
    "days of a spreadsheet": (["44285", "44377", "44817"], DAYS),
    "weeks": (["2021-W13-2", "2021-W26-3", "2022-W37-2"], DAYS),
    "months of an agency": (["2021M03", "2021M06", "2022M09"], MONTHS),
    "short quarters": (["1Q21", "2Q21", "3Q22"], QUARTERS),
    "mail dates": (['"Tue, 30 Mar 2021 00:00:00 +0000"', "30 June 2021", "13th of September 2022"], DAYS),
    "footnoted dates": (["2021-03-30*", "2021-06-30", "2022-09-13†"], DAYS),
    "digits of a clock": (["20210330000000", "20210630000000", "20220913000000"], DAYS),
    "German": (["30. März 2021", "30. Juni 2021", "13. September 2022"], DAYS),
    "Spanish": (["30 de marzo de 2021", "30 de junio de 2021", "13 de septiembre de 2022"], DAYS),
    "days of a year": (["2021-089", "2021-181", "2022-256"], DAYS),
    "digits and a zone": (["20210330T000000Z", "20210630T000000Z", "20220913T000000Z"], DAYS),
    "quarters in words": (["1st quarter 2021", "2nd quarter 2021", "3rd quarter of 2022"], QUARTERS),
    "short halves": (["1H21", "2H21", "2H22"], HALVES),
    "estimates": (["2021A", "2022A", "2023E"], YEARS),
    "points and blanks": (["30. 3. 2021", "30. 6. 2021", "13. 9. 2022"], DAYS),
    "a program's clock": (["Tue Mar 30 00:00:00 UTC 2021", "30/Jun/2021:00:00:00 +0000", "13SEP2022:00:00:00"], DAYS),
    "no blanks": (["30MAR2021", "30JUN2021", "13SEP2022"], DAYS),
    "remarks": (["c. March 2021", "June 2021", "September 2022 (est.)"], MONTHS),
    "month and year in digits": (["03-2021", "06-2021", "09-2022"], MONTHS),
    "years and months as numbers": (["2021.03", "2021.06", "2022.09"], MONTHS),
    "decimal years": (["2021.25", "2021.5", "2022.75"], None),
}


@pytest.mark.parametrize("kind", DATES)
def test_dates(kind: str, tmp_path: Path) -> None:
    cells, days = DATES[kind]
    table = read(tmp_path, "date,y\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells)))
    assert table.kind("date") == "time"
    wanted = [2021.25, 2021.5, 2022.75] if days is None else forecast.tables.decimal_year(days)
    np.testing.assert_allclose(table.years("date"), wanted, atol=1e-6)


def test_dates_that_could_be_two_are_refused_with_both(tmp_path: Path) -> None:
    text = "when,y\n3/4/2021,1\n5/6/2021,2\n"
    with pytest.raises(DataError, match=r"'3/4/2021' is 3 Apr 2021 or 4 Mar 2021: say --dates dmy or --dates mdy"):
        read(tmp_path, text).years("when")
    assert str(read(tmp_path, text, dates="mdy")["when"][0])[:10] == "2021-03-04"
    assert str(read(tmp_path, text, dates="dmy")["when"][0])[:10] == "2021-04-03"
    for day, readings in (("30", "13 Mar 2030 or 30 Mar 2013"), ("15", "13 Mar 2015 or 15 Mar 2013")):
        text = f"when,y\n13-03-{day},1\n12-06-{day},2\n"
        with pytest.raises(DataError, match=f"is {readings}: say --dates dmy or --dates ymd"):
            read(tmp_path, text).years("when")
        assert str(read(tmp_path, text, dates="ymd")["when"][0])[:10] == f"2013-03-{day}"
    with pytest.raises(DataError, match="18630 is 1951-01-02 in a spreadsheet, 2021-01-03 counted from 1970"):
        read(tmp_path, "when,y\n18630,1\n18700,2\n").years("when")
    assert str(read(tmp_path, "when,y\n99-12-31,1\n13-03-30,1\n").years("when")[0])[:4] == "1999"
    with pytest.raises(DataError, match="has the day first"):
        read(tmp_path, "when\n30/4/2021\n4/30/2021\n").years("when")


@pytest.mark.parametrize(
    "cells", [["0021-01-01", "0022-01-01"], ["9021-01-01", "9022-01-01"], ["5", "7"], ["1e300", "2"]]
)
def test_dates_out_of_range(cells: list[str], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="1000"):
        read(tmp_path, "date\n" + "\n".join(cells) + "\n").years("date")


NUMBERS = {
    "commas": (['"1,234"', '"12,345,678"', "5"], [1234, 12345678, 5], ""),
    "commas alone": (['"1,234"', '"12,345"', '"1,005"'], [1234, 12345, 1005], ""),
    "blanks": (["1 234", "12 345 678", "5"], [1234, 12345678, 5], ""),
    "apostrophes": (["1'234", "12'345", "5"], [1234, 12345, 5], ""),
    "underscores": (["1_234", "12_345", "5"], [1234, 12345, 5], ""),
    "money": (['"$1,200"', "$34.5", "-$3"], [1200, 34.5, -3], "USD"),
    "money behind": (["1200 USD", "34.5 USD", "3 USD"], [1200, 34.5, 3], "USD"),
    "percent": (["2.4%", "35 %", "-1%"], [2.4, 35, -1], "%"),
    "suffixes": (["1.5k", "70B", "0.3M"], [1500, 70e9, 3e5], ""),
    "words": (["1.5 million", "2 billion", "3 thousand"], [1.5e6, 2e9, 3e3], ""),
    "parentheses": (["(1.5)", "2", "(3)"], [-1.5, 2, -3], ""),
    "about": (["~5", "≈6.5", "7"], [5, 6.5, 7], ""),
    "a unit": (["12 GB", "80 GB", "141 GB"], [12, 80, 141], "GB"),
    "two units": (["512 GB", "2 TB", "1 TB"], [0.512, 2, 1], "TB"),
    "Unicode minus": (["−1.5", "2", "−3"], [-1.5, 2, -3], ""),
    "footnotes": (["5*", "6†", "7"], [5, 6, 7], ""),
    "blanks around": ([" 5 ", "6", " 7"], [5, 6, 7], ""),
    "times ten": (["3.2×10^5", "4 x 10^6", "5×10⁻³"], [3.2e5, 4e6, 5e-3], ""),
    "errors": (["45.3 ± 0.2", "46.1±0.3", "7"], [45.3, 46.1, 7], ""),
    "lakhs": (['"12,34,567"', '"1,00,000"', "5"], [1234567, 100000, 5], ""),
    "millions beside thousands": (["12k", "3.4m", "5k"], [12000, 3.4e6, 5000], ""),
    "LaTeX": ([r"$1.2\times10^{5}$", r'"3\,400"', r"$5$"], [1.2e5, 3400, 5], ""),
    "a minus behind": (["1.5-", "2", "3-"], [-1.5, 2, -3], ""),
    "Fortran": (["1.5D+05", "2.5D-01", "7"], [1.5e5, 0.25, 7], ""),
    "powers alone": (["10^20", "3*10**21", "10⁶"], [1e20, 3e21, 1e6], ""),
    "errors in brackets": (["45.3 (0.2)", "46.1(3)", '"7 [6, 8]"'], [45.3, 46.1, 7], ""),
    "guarded from a spreadsheet": (['"=""5.5"""', "6", '"=""7"""'], [5.5, 6, 7], ""),
    "fill values": (["5", "-9999", "7"], [5, np.nan, 7], ""),
    "exponents": (["1e3", "2.5E-2", "7"], [1000, 0.025, 7], ""),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers(kind: str, tmp_path: Path) -> None:
    cells, wanted, unit = NUMBERS[kind]
    table = read(tmp_path, "k,y\n" + "".join(f"r,{cell}\n" for cell in cells))
    np.testing.assert_array_equal(table.numeric("y"), wanted)
    assert table.units.get("y", "") == unit


def test_decimal_commas_are_decided_for_the_column(tmp_path: Path) -> None:
    assert read(tmp_path, "x;y\n1;2,5\n2;1.234,5\n3;7\n")["y"].tolist() == [2.5, 1234.5, 7.0]
    assert read(tmp_path, "x;y\n1.5;2.345\n2;1.234\n")["y"].tolist() == [2.345, 1.234]  # by another column
    for text, readings, comma, point in (
        ("x\ty\n1\t1,234\n2\t2,345\n", "'1,234' is 1234 or 1.234", [1.234, 2.345], [1234, 2345]),
        ("x;y\n1;1.234\n2;2.345\n", "'1.234' is 1.234 or 1234", [1234, 2345], [1.234, 2.345]),
        ('x,y\n"2,5","1,234"\n"3,5","2,345"\n', "'1,234' is 1234 or 1.234", [1.234, 2.345], [1234, 2345]),
        ("x,y\n1,€1.234\n2,€2.345\n", "'1.234' is 1.234 or 1234", [1234, 2345], [1.234, 2.345]),
    ):
        with pytest.raises(DataError, match=f"{readings}: say --decimal point or --decimal comma"):
            read(tmp_path, text).numeric("y")
        assert read(tmp_path, text, decimal="comma")["y"].tolist() == comma
        assert read(tmp_path, text, decimal="point")["y"].tolist() == point
    with pytest.raises(DataError, match=r"a\.csv:4:y: '5': expected a number in GB, as the other cells are"):
        read(tmp_path, "x,y\n1,3 GB\n2,2 TB\n3,5\n").numeric("y")
    with pytest.raises(DataError, match="has a decimal point and"):
        read(tmp_path, "x;y\n1;2,55\n2;3.55\n").numeric("y")


@pytest.mark.parametrize(
    "word", ["", "NA", "n/a", "nan", "NULL", "none", "-", "—", "?", "TBD", "unknown", "#N/A", "...", "inf"]
)
def test_words_for_missing(word: str, tmp_path: Path) -> None:
    table = read(tmp_path, f"x,y\n1,2.5\n2,{word}\n3,4\n")
    np.testing.assert_array_equal(table.numeric("y"), [2.5, np.nan, 4.0])
    assert table.complete(["y"]).notes.line() == "Read a.csv: 2 of 3 rows (1 without y)."
    with pytest.raises(DataError, match="row 2 of 3 has no 'y'"):
        read(tmp_path, f"x,y\n1,2.5\n2,{word}\n3,4\n", missing="error").complete(["y"])


def test_further_words_for_missing(tmp_path: Path) -> None:
    text = "x,y\n1,2.5\n2,withdrawn\n3,4\n"
    with pytest.raises(DataError, match=r"a\.csv:3:y: 'withdrawn': expected a number or a missing cell"):
        read(tmp_path, text).numeric("y")
    np.testing.assert_array_equal(read(tmp_path, text, missing="withdrawn").numeric("y"), [2.5, np.nan, 4.0])


PLAIN = "x,y\n1,2.5\n2,3.5\n3,4.5\n4,5.5\n"
ROWS = [{"x": i, "y": i + 1.5} for i in range(1, 5)]
STRUCTURES: dict[str, str | bytes] = {
    "plain": PLAIN,
    "tabs": PLAIN.replace(",", "\t"),
    "semicolons": PLAIN.replace(",", ";"),
    "bars": PLAIN.replace(",", "|"),
    "blanks": PLAIN.replace(",", "  "),
    "remarks behind blanks": PLAIN.replace(",", "  ").replace("5\n", "5   # so\n"),
    "aligned blanks": "   x     y\n   1   2.5\n   2   3.5\n   3   4.5\n   4   5.5\n",
    "remarks": "# made up\n# twice\n" + PLAIN,
    "a header in a remark": "# " + PLAIN,
    "a remark between rows": PLAIN.replace("3,", "# half\n3,"),
    "byte-order mark": "\ufeff" + PLAIN,
    "UTF-16": PLAIN.encode("utf-16"),
    "UTF-16 without a mark": PLAIN.encode("utf-16-le"),
    "UTF-32": PLAIN.encode("utf-32"),
    "Latin-1": ("x,y,café\n" + "".join(f"{i},{i + 1.5},é\n" for i in range(1, 5))).encode("latin-1"),
    "CR": PLAIN.replace("\n", "\r"),
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "ends of several kinds": PLAIN.replace("1,2.5\n", '"1",2.5\r\n').removesuffix("\n") + "\r",
    "gzip": gzip.compress(PLAIN.encode()),
    "lines above": "Results of the year\nSource: us\n\n" + PLAIN,
    "commas above": "Results of the year,\n,\n" + PLAIN,
    "units below": PLAIN.replace("x,y\n", "x,y\n(s),(m)\n"),
    "a footer": PLAIN + "\nMean,3\n",
    "a footer of one cell": PLAIN + "Source: us\n",
    "a sum in German": "n,x,y\n" + "".join(f"so,{i},{i + 1.5}\n" for i in range(1, 5)) + "Summe,10,16\n",
    "an index": "\n".join(f"{i - 1 if i else ''},{line}" for i, line in enumerate(PLAIN.splitlines())),
    "trailing commas": PLAIN.replace("\n", ",\n"),
    "blanks round names": PLAIN.replace("x,y", " x , y "),
    "blank lines": PLAIN.replace("\n", "\n\n"),
    "a header again": PLAIN + "x,y\n",
    "a name given twice": "\n".join(f"{line},{'z' if not i else 7},{'z' if not i else 8}" for i, line in
                                      enumerate(PLAIN.splitlines())),
    "LaTeX": "\\hline\n" + PLAIN.replace(",", " & ").replace("\n", " \\\\\n\\hline\n"),
    "an underlined header": PLAIN.replace(",", "  ").replace("y\n", "y\n==  ===\n"),
    "psql": PLAIN.replace(",", " | ").replace("y\n", "y\n--+----\n") + "(4 rows)\n",
    "org": "|" + PLAIN.replace(",", " | ").replace("\n", "|\n|").replace("y|\n", "y|\n|---+---|\n").removesuffix("|"),
    "whole lines in quotes": "".join(f'"{line}"\n' for line in PLAIN.splitlines()),
    "quotes behind backslashes": "".join(f'{line},"the \\"big\\" one, so"\n' for line in PLAIN.splitlines()),
    "a printed frame": "   x    y\n" + "".join(f"{i}  {row['x']}  {row['y']}\n" for i, row in enumerate(ROWS)),
    "a printed frame with blanks in a name": "   x  my y    y\n" + "".join(
        f"{i}  {row['x']}     0  {row['y']}\n" for i, row in enumerate(ROWS)),
    "places of columns": "a name     x    y  z\n" + "".join(
        f"{'' if i else 'of all':<11}{row['x']}  {row['y']}  {i or ''}\n" for i, row in enumerate(ROWS)),
    "places below dashes": "a  x   y\n-- - ---\n" + "".join(
        f"{'' if i else 'u':<2} {row['x']} {row['y']}\n" for i, row in enumerate(ROWS)),
    "lines around cells": "┌─┬─┐\n│x│y│\n╞═╪═╡\n" + "".join(f"│{i}┆{i + 1.5}│\n" for i in range(1, 5)) + "└─┴─┘\n",
    "a bar in a cell": "| n | x | y |\n|:--|---|--:|\n" + "".join(f"|a \\| b|{i}|{i + 1.5}|\n" for i in range(1, 5)),
    "levels of names": ",y,y\n,so,or\nx,,\n" + "".join(f"{i},{i + 1.5},0\n" for i in range(1, 5)),
    "levels of numbers": ",y,y\nlr,0.1,0.2\nx,,\n" + "".join(f"{i},{i + 1.5},0\n" for i in range(1, 5)),
    "a series": ",y\n" + "".join(f"{i},{i + 1.5}\n" for i in range(1, 5)),
    "a web page": "<html><!-- <table><tr> --><table><tr><td>menu</table><TABLE border=1><tr><th>x<th>y</tr>" + "".join(
        f"<tr><td><a href=a>{i}</a></td><td>&nbsp;{i + 1.5}</td></tr>" for i in range(1, 5)) + "</table></html>",
    "row names of R": '"x" "y"\n' + "".join(f'"{i}" {row["x"]} {row["y"]}\n' for i, row in enumerate(ROWS)),
    "blanks without width": PLAIN.replace("x,y", "\xa0x,\u200by"),
    "documents in a row": "\n".join(json.dumps(row, indent=1) for row in ROWS),
    "a frame with labels": json.dumps({name: {f"r{row['x']}": row.get(name, "so") for row in ROWS} for name in "xyz"}),
    "records": json.dumps(ROWS),
    "a split frame": json.dumps({"columns": ["x", "y"], "data": [[i, i + 1.5] for i in range(1, 5)]}),
    "a frame by index": json.dumps({n: {str(i): r[n] for i, r in enumerate(ROWS)} for n in ("x", "y")}),
    "records beside a part": json.dumps({"meta": {"n": 4}, "data": {"rows": ROWS}}),
    "records with commas": ",\n".join(map(json.dumps, ROWS)),
    "YAML in a line": "x: [1, 2, 3, 4]\ny: [2.5, 3.5, 4.5, 5.5]\n",
    "a frame of a database": "+-+-+\n|x|y|\n+-+-+\n" + "".join(f"|{i}|{i + 1.5}|\n" for i in range(1, 5)) + "+-+-+\n",
    "single quotes": PLAIN.replace("x,y", "'x','y'"),
    "quotes behind blanks": "".join('{}, "{}"\n'.format(*line.split(",")) for line in PLAIN.splitlines()),
    "names beside rows": json.dumps({"n": 4, "columns": ["x", "y"], "rows": [[i, i + 1.5] for i in range(1, 5)]}),
    "rows without names": json.dumps([[i, i + 1.5] for i in range(1, 5)]),
    "rows in records": json.dumps([{"run": "a", "log": [[i, i + 1.5] for i in range(1, 5)]}]),
    "a series by index": json.dumps({"y": {str(i): i + 1.5 for i in range(1, 5)}}),
    "a split series": json.dumps({"columns": ["y"], "index": [1, 2, 3, 4], "data": [[i + 1.5] for i in range(1, 5)]}),
    "columns": json.dumps({"x": [1, 2, 3, 4], "y": [2.5, 3.5, 4.5, 5.5]}),
    "nested records": json.dumps({"title": "made up", "runs": ROWS}),
    "JSON lines": "\n".join(map(json.dumps, ROWS)),
    "YAML": "runs:\n" + "".join(f"  - x: {row['x']}\n    y: {row['y']}\n" for row in ROWS),
    "one file in a zip": b"",
}  # fmt: skip

#: What the columns are called in files that do not say it, or say more.
CALLED = {
    "a series": ("index", "y"), "a series by index": ("index", "y"), "a split series": ("index", "y"),
    "levels of names": ("x", "y.so"), "levels of numbers": ("x", "y.0.1"),
    "rows without names": ("column 1", "column 2"), "rows in records": ("log.1", "log.2"),
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n2018,1,234\n2019,2,345\n",
        "n,y\na,1,234\nb,2,345\n",
        "x,y\n1,1,2\n2,2,3\n",
        "x y\n2018 1 234\n2019 2 345\n",
    ],
)
def test_separators_in_numbers_move_no_column(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="one cell more than the header: name the first column, or put numbers"):
        read(tmp_path, text)


def test_scalars_of_yaml_and_a_row_without_values_are_what_they_show(tmp_path: Path) -> None:
    table = read(tmp_path, "- {t: 1:30, n: 010, c: no, y: 2.5}\n- {t: 2:30, n: 011, c: yes, y: 3}\n", "a.yaml")
    assert [table.texts(name) for name in "tnc"] == [["1:30", "2:30"], ["010", "011"], ["no", "yes"]]
    assert table["y"].tolist() == [2.5, 3]
    assert read(tmp_path, "k,y\na,-\nb,3\nc,4\n").rows == 3  # no row of units


@pytest.mark.parametrize("kind", STRUCTURES)
def test_structures(kind: str, tmp_path: Path) -> None:
    content = STRUCTURES[kind]
    if kind == "one file in a zip":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("a.csv", PLAIN)
        content = stream.getvalue()
    for name in ("a.csv", "a.data"):  # the format is told by content
        table = read(tmp_path, content, name)
        x, y = CALLED.get(kind, ("x", "y"))
        assert table[x].tolist() == [1, 2, 3, 4]
        assert table[y].tolist() == [2.5, 3.5, 4.5, 5.5]
        assert table.rows == 4


def test_decisions_are_said_in_one_line(tmp_path: Path) -> None:
    text = "Price list\n\nwhen;price\n(date);(USD)\n3/30/2021;1,5\n6/30/2021;TBD\n9/13/2022;2,5\n\nMean;2\n"
    table = read(tmp_path, text).complete(["price"])
    assert table["when"].size == table["price"].size == 2
    assert table.notes.line() == (
        "Read a.csv: 2 of 3 rows (1 without price), columns separated by semicolons, 1 line above the header left out, "
        "1 line below the table left out, dates month/day/year, decimal commas, USD."
    )


def test_nested_names_may_be_written_in_full(tmp_path: Path) -> None:
    content = json.dumps({"results": {"a": {"m": {"loss": 2.5}}, "b": {"m": {"loss": 3}}}})
    table = read(tmp_path, content, "a.json")
    assert table["name"].tolist() == ["a", "b"]
    assert table.column("results.*.m.loss").tolist() == [2.5, 3.0]


def test_a_mapping_of_names_to_dates_is_a_column(tmp_path: Path) -> None:
    text = "date:\n  Wee 1: 2024-03-31\n  Wee-2 (new): 2024-06-30\n  vast+: 2025-03-31\n"
    table = read(tmp_path, text, "a.yaml")
    assert table["name"].tolist() == ["Wee 1", "Wee-2 (new)", "vast+"]
    assert table.kind("date") == "time"
    assert table["date"].astype("datetime64[D]").astype(str).tolist() == ["2024-03-31", "2024-06-30", "2025-03-31"]


def test_a_filter_by_a_word_for_missing_finds_the_cells_of_that_word(tmp_path: Path) -> None:
    table = read(tmp_path, "mode,x\nnone,1\nsome,2\nnone,3\n,4\n")
    assert table.where("mode", "none", "here")["x"].tolist() == [1, 3]


def test_labels_are_cells_as_written(tmp_path: Path) -> None:
    table = read(tmp_path, "size,loss\n7B,2\n13B,3\n7B,4\n")
    assert table["size"].tolist() == [7e9, 13e9, 7e9]
    assert table.labels("size").tolist() == ["7B", "13B", "7B"]
    assert table.where("size", "7B", "here").rows == table.where("size", "7e9", "here").rows == 2


def test_spreadsheets(tmp_path: Path) -> None:
    calamine = pytest.importorskip("python_calamine")
    assert calamine
    cells = [["Prices", None, None], ["when", "price", "note"], [44285, 1.5, "=1+1"], [44377, 2, "b"], [44817, 4, None]]
    table = read(tmp_path, workbook(cells), "a.xlsx")
    assert table["price"].tolist() == [1.5, 2, 4]
    assert table.texts("note") == ["=1+1", "b", ""]
    np.testing.assert_allclose(table.years("when"), forecast.tables.decimal_year(DAYS), atol=1e-6)


def workbook(rows: list[list[object]], at: str = "", quote: str = '"') -> bytes:
    """Return the smallest XLSX file of some cells; `at` places a further one; without a quote none has a place."""

    def cell(value: object, column: int, row: int) -> str:
        name = f'r="{chr(65 + column)}{row}"' if quote else ""
        if isinstance(value, str):
            return f'<c {name} t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c {name}><v>{value}</v></c>"

    lines = "".join(
        f'<row r="{i}">{"".join(cell(v, j, i) for j, v in enumerate(row) if v is not None)}</row>'
        for i, row in enumerate(rows, start=1)
    )
    far = f"<c r={quote}{at}{quote}>" if quote else "<c>"
    lines += f'<row r="{at.lstrip("ABCDEFX")}">{far}<v>1</v></c></row>' if at else ""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="xml" ContentType='
        '"application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type='
        f'"{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="S" sheetId="1" r:id="r1"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type='
        f'"{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>',
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return stream.getvalue()


def compound(cells: list[tuple[int, int, float]], rows: int = 0) -> bytes:
    """Return the smallest XLS file of some numbers by row and column; it claims to have `rows` of 256 columns."""

    def record(kind: int, content: bytes) -> bytes:
        return struct.pack("<HH", kind, len(content)) + content

    numbers = b"".join(record(0x203, struct.pack("<HHHd", row, column, 0, value)) for row, column, value in cells)
    begin, end = (lambda part: record(0x809, struct.pack("<HHHHII", 0x600, part, 0, 1997, 0, 6))), record(0x0A, b"")
    size = len(begin(5)) + 4 + 9 + len(end)
    sheet = begin(0x10) + record(0x200, struct.pack("<IIHHH", 0, rows, 0, 256 if rows else 0, 0)) + numbers + end
    stream = begin(5) + record(0x85, struct.pack("<IBBBB", size, 0, 0, 1, 0) + b"S") + end + sheet
    count = max(9, -(-len(stream) // 512))

    def entry(name: str, kind: int, child: int, start: int, length: int) -> bytes:
        text = (name + "\0").encode("utf-16-le")
        links = struct.pack("<BBIII", kind, 1, 2**32 - 1, 2**32 - 1, child)
        return (
            text.ljust(64, b"\0") + struct.pack("<H", len(text)) + links + bytes(36) + struct.pack("<IQ", start, length)
        )

    table = [2**32 - 3, 2**32 - 2, *range(3, count + 2), 2**32 - 2]
    free = struct.pack("<I", 2**32 - 1)
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 62, 3, 0xFFFE, 9, 6) + bytes(10)
    header += struct.pack("<8I", 1, 1, 0, 4096, 2**32 - 2, 0, 2**32 - 2, 0) + struct.pack("<I", 0) + free * 108
    entries = entry("Root Entry", 5, 1, 2**32 - 2, 0) + entry("Workbook", 2, 2**32 - 1, 2, count * 512) + bytes(256)
    return (
        header + struct.pack(f"<{len(table)}I", *table).ljust(512, b"\xff") + entries + stream.ljust(count * 512, b"\0")
    )


def open_document(body: str) -> bytes:
    """Return the smallest ODS file of some rows."""
    spaces = " ".join(f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in ("office", "table", "text"))
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("META-INF/manifest.xml", f'<m:manifest xmlns:m="{kind}"/>')
        archive.writestr("content.xml", f"<office:document-content {spaces}><office:body><office:spreadsheet>"
                         f'<table:table table:name="S">{body}</table:table></office:spreadsheet></office:body>'
                         "</office:document-content>")  # fmt: skip
    return stream.getvalue()


ODS_CELL = '<table:table-cell office:value-type="float" office:value="{}"{}/>'
ODS_ROW = f"<table:table-row{{}}>{ODS_CELL.format(1, '')}{ODS_CELL.format(2, '')}</table:table-row>"


def test_the_other_spreadsheets(tmp_path: Path) -> None:
    """A sheet that ends in empty rows and columns without number is no larger for them."""
    pytest.importorskip("python_calamine")
    cells = [(row, column, 10.0 * row + column) for row in range(3) for column in range(2)]
    assert {n: c.tolist() for n, c in read(tmp_path, compound(cells), "a.xls").items()} == {
        "column 1": [0, 10, 20], "column 2": [1, 11, 21]}  # fmt: skip
    empty = '<table:table-row table:number-rows-repeated="1048570"><table:table-cell table:number-columns-repeated='
    body = ODS_ROW.format("") * 3 + empty + '"16384"/></table:table-row>'
    assert [c.tolist() for c in read(tmp_path, open_document(body), "a.ods").values()] == [[1, 1, 1], [2, 2, 2]]


BAD = {
    "a far cell of XLS": (compound([(0, 0, 1.0), (65535, 65535, 1.0)]), "a sheet of 65,536 rows and 65,536 columns"),
    "a claim of XLS": (compound([(0, 0, 1.0)], rows=2**31), "a sheet of 2,147,483,648 rows and 256 columns"),
    "half an XLS": (compound([(0, 0, 1.0)])[:1200], "a spreadsheet that cannot be read"),
    "repeated rows of ODS": (
        open_document(ODS_ROW.format(' table:number-rows-repeated="9000000"')),
        "a sheet of 9,000,000 rows and 2 columns",
    ),
    "repeated cells of ODS": (
        open_document(
            "<table:table-row>" + ODS_CELL.format(1, ' table:number-columns-repeated="99999999"') + "</table:table-row>"
        ),
        "a sheet of 1 rows and 99,999,999 columns",
    ),
    "empty": (b"", "the file is empty"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, r"a picture \(PNG\)"),
    "a PDF": (b"%PDF-1.7\n%\xe2\xe3\n", "a PDF"),
    "a binary file": (bytes(range(256)) * 64, "binary file"),
    "a gzip bomb": (gzip.compress(bytes(2**22)) * 65, "unpacks to more than 268,435,456 bytes"),
    "half a gzip file": (gzip.compress(PLAIN.encode())[:12], "empty|unpacked"),
    "deep JSON": (b"[" * 10_000 + b"]" * 10_000, "nested more than 64 deep"),
    "deep records": (b'{"a":' * 500 + b"1" + b"}" * 500, "nested more than 64 deep"),
    "deep YAML": (b"a:\n" + b"".join(b" " * i + b"- k:\n" for i in range(200)), "deep|YAML"),
    "a bomb of aliases": (b"a: &a [x]\nb: &b\n" + b"".join(b"  - *a\n" for _ in range(2000)), "more than 1000 aliases"),
    "a web page": (b"<!doctype html>\n<html><body>x</body></html>", "a web page or other markup"),
    "zeros behind a table": (b"x,y\n1,2\n" + bytes(100_000), "a NUL byte: a binary file"),
    "no table": (b'"just text"', "without a row|no records"),
    "two files in a zip": (b"", "a zip archive of 2 files"),
    "a zip bomb": (b"", "unpacks to more than|larger than"),
    "a far cell": (b"", "a sheet of 1,048,576 rows"),
    "a far cell in other quotes": (b"", "a sheet of 1,048,576 rows"),
    "cells without places": (workbook([[1] * 20], at="A1048576", quote=""), "a sheet of 1,048,576 rows and 20 columns"),
    "a binary workbook": (b"", "a binary workbook .XLSB., which is not read; save it as XLSX"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_says_what_it_is_in_one_sentence(kind: str, tmp_path: Path) -> None:
    content, says = BAD[kind]
    if kind == "a far cell":
        pytest.importorskip("python_calamine")
        content = workbook([[1, 2]], at="XFD1048576")
    elif kind == "a far cell in other quotes":
        content = workbook([[1, 2]], at="XFD1048576", quote="'")
    elif ("zip" in kind or "binary workbook" in kind) and not content:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.csv", bytes(2**28 + 1) if kind == "a zip bomb" else PLAIN, compresslevel=1)
            if kind != "a zip bomb":
                archive.writestr("xl/workbook.bin" if "workbook" in kind else "b.csv", PLAIN)
        content = stream.getvalue()
    with pytest.raises(forecast.ForecastError, match=says) as caught:
        read(tmp_path, content, "a.bin")
    assert "\n" not in str(caught.value)


def test_a_gzip_bomb_is_counted_before_it_is_kept(tmp_path: Path) -> None:
    content = BAD["a gzip bomb"][0]
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="unpacks to more than"):
            read(tmp_path, content, "a.csv.gz")
        assert tracemalloc.get_traced_memory()[1] < 32 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["a.xlsx", "a.ods", "a.xls", "a.csv.gz"])
def test_a_limit_of_memory_holds_for_what_a_file_unpacks_to(name: str, tmp_path: Path) -> None:
    content = {
        "a.xlsx": workbook([["x", "y"], *([i, i] for i in range(4000))]),
        "a.ods": open_document("<table:table-row>" + ODS_CELL.format(1, ' table:number-columns-repeated="8000"')
                               + "</table:table-row>"),
        "a.xls": compound([(7999, 0, 1)]),
        "a.csv.gz": gzip.compress(b"x,y\n" + b"1,2\n" * 100_000),
    }[name]  # fmt: skip
    with forecast.resource_limits(memory="800kB"), pytest.raises(DataError, match="reading it takes up to"):
        read(tmp_path, content, name)


def test_a_workbook_of_empty_rows_is_read(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    content = workbook([["x", "y"], [1, 2], [3, 4]] + [[None, None]] * 100_000)
    assert read(tmp_path, content, "a.xlsx")["y"].tolist() == [2, 4]
