"""``forecast tables refresh``: tables fetched anew or tried, and how far the forecasts move by what changed."""

from pathlib import Path

import pytest

import forecast
from forecast.base import access
from forecast.contract.registry import get_registry
from forecast.report import result_data
from forecast.tables.remote import snapshots
from forecast.tables.remote.download import cache_folder
from toolkit import digest, package, remote, resource

ONE = b"date,v\n2020-01-01,1\n2021-01-01,2\n2022-01-01,4\n2023-01-01,8.5\n"
TWO = ONE + b"2024-01-01,30\n"
COSTS = "date,cost\n2020-01-01,9\n2021-01-01,7\n2022-01-01,5\n2023-01-01,4.2\n"
FIELDS = [{"name": "date", "type": "date"}, {"name": "v", "type": "number", "unit": "FLOP/s"}]
PRICED = [FIELDS[0], {"name": "cost", "type": "number", "unit": "USD"}]
PLUGIN = """
def forecast_tables():
    for name, descriptor in {tables!r}.items():
        yield TableSpec(name=name, descriptor=descriptor, title=name, reference="them")
def forecast_scenarios():
    for name, path in {scenarios!r}.items():
        yield ScenarioSpec(name=name, path=path, title=name, reference="us")
"""
SPEED = """
title = "How fast?"
start = 2024
until = 2040
[quantities.speed]
shape = "trends/exponential"
data = "demo/speeds"
x = "date"
y = "v"
unit = "FLOP/s"
[questions.fast]
when = "speed >= 1000 FLOP/s"
title = "it is fast"
"""
COST = """
start = 2024
until = 2030
[quantities.cost]
shape = "trends/exponential"
data = "demo/costs"
x = "date"
y = "cost"
unit = "USD"
[questions.price]
value = "cost"
dates = [2028]
title = "the price"
"""
BOTH = SPEED + COST.partition("until = 2030\n")[2]
NEITHER = 'start = 2024\nuntil = 2026\n[quantities.x]\nexpression = "t"\n[questions.late]\nwhen = "x >= 2025"\n'
QUICK = ("--draws", "64")
MINE = tuple(word for name in ("speed", "cost", "both", "neither") for word in ("--scenario", f"demo/{name}"))


@pytest.fixture
def site(fake_plugins, upstream, here, monkeypatch):
    """A table that is downloaded, one that is shipped, and scenarios that rest on either, both and neither."""
    monkeypatch.setattr(snapshots, "today", lambda: "2026-01-31")
    upstream.pages["/speeds.csv"] = ONE
    tables, scenarios = {}, {}
    for name, made in {
        "speeds": lambda _: remote("speeds", f"{upstream.url}/speeds.csv", FIELDS),
        "costs": lambda folder: resource(folder, "costs", COSTS, PRICED, "date"),
    }.items():
        (here / name).mkdir()
        tables[name] = str(package(here / name, name, made(here / name)))
    for name, text in {"speed": SPEED, "cost": COST, "both": BOTH, "neither": NEITHER}.items():
        path = here / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        scenarios[name] = str(path)
    fake_plugins.add("demo", PLUGIN.format(tables=tables, scenarios=scenarios))
    return upstream


@pytest.fixture
def refreshed(site, said):
    """Refresh in this process with few worlds and the four scenarios, and return the result with the exit code."""

    def run(*words):
        done = said("tables", "refresh", *words, *QUICK, *MINE, "--json")
        return done.json["result"], done.code

    return run


def by_name(rows, key="scenario"):
    return {row[key].removeprefix("demo/"): row for row in rows}


def test_a_living_table_that_grew_moves_what_rests_on_it(site, said, refreshed):
    said("tables", "fetch", "speeds")
    told = forecast.project("demo/speed", draws=64)
    site.pages["/speeds.csv"] = TWO
    result, code = refreshed("speeds")
    assert code == 0
    (table,) = result["tables"]
    assert (table["name"], table["state"], table["error"]) == ("demo/speeds", "updated today", None)
    assert [row["key"] for row in table["parts"][0]["added"]] == [{"date": "2024-01-01"}]
    assert result["headline"] == "1 table: 1 changed, 2 of 4 scenarios moved."
    rows = by_name(result["scenarios"])
    assert {name: row["rests_on"] for name, row in rows.items()} == {
        "speed": ["demo/speeds"], "cost": [], "both": ["demo/speeds"], "neither": [],
    }  # fmt: skip
    (answer,) = rows["speed"]["answers"]
    assert answer["moved"]
    # the very worlds of a plain run, with either edition: what is printed is their difference
    for side, run in (("before", told), ("after", forecast.project("demo/speed", draws=64))):
        asked = run["questions"].to_dataset()
        for quantile, level in ((0.05, "p05"), (0.5, "p50"), (0.95, "p95")):
            date = asked["fast"].sel(quantile=quantile).values.astype("datetime64[D]")
            assert answer[side][level] == str(date)
    assert answer["after"]["p50"] < answer["before"]["p50"]
    assert rows["speed"]["newest"] == [{"table": "demo/speeds", "before": "2023-01-01", "after": "2024-01-01"}]
    assert rows["both"]["answers"][0]["name"] == answer["name"]  # with draws of its own
    assert [each["moved"] for each in rows["both"]["answers"]] == [True, False]
    assert rows["both"]["alone"] == {}


def test_what_moved_it_is_said_in_a_sentence(site, said):
    said("tables", "fetch", "speeds")
    site.pages["/speeds.csv"] = TWO
    done = said("tables", "refresh", "speeds", *QUICK, *MINE)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "1 table: 1 changed, 2 of 4 scenarios moved."
    assert "demo/speeds: updated today; 1 row added, 0 removed, 0 changed (4 rows before, 5 after)" in lines
    (line,) = [line for line in lines if line.startswith("demo/speed: ")]
    assert line.startswith("demo/speed: it is fast: the forecast moved from 20")
    assert (
        " years earlier, because demo/speeds has 1 row added (2024-01-01); its newest datum is of 2024-01-01, " in line
    )
    assert line.endswith("it was of 2023-01-01.")
    assert lines[-1] == "rest on nothing that changed: demo/cost, demo/neither"


def test_nothing_is_run_where_nothing_changed(site, said, refreshed, monkeypatch):
    monkeypatch.setenv("FORECAST_PLUGINS", "demo,trends")  # the tables of others lie on the public net
    get_registry.cache_clear()
    for state in ("recorded today", "unchanged since 2026-01-31"):
        result, code = refreshed()
        assert code == 0
        assert [(row["name"], row["state"]) for row in result["tables"]] == [("demo/speeds", state)]
        assert (result["headline"], result["scenarios"]) == ("1 table: 0 changed.", [])


def test_one_table_that_cannot_be_fetched_costs_no_other(site, said, fake_plugins, here):
    (here / "gone").mkdir()
    descriptor = str(package(here / "gone", "gone", remote("gone", f"{site.url}/gone.csv", FIELDS)))
    said("tables", "fetch", "speeds")
    site.pages["/speeds.csv"] = TWO
    done = said("tables", "refresh", descriptor, "speeds", *QUICK, *MINE, "--json")
    assert done.code == 1
    gone, speeds = done.json["result"]["tables"]
    assert gone["state"] == "failed"
    assert "the server answers 404" in gone["error"]
    assert speeds["state"] == "updated today"
    assert done.json["result"]["headline"] == "2 tables: 1 changed, 1 could not be had, 2 of 4 scenarios moved."
    done = said("tables", "refresh", descriptor, *QUICK, *MINE)
    assert done.code == 1
    assert f"{descriptor}: failed: " in done.out


def test_a_file_is_tried_in_the_place_of_a_shipped_table(site, said, refreshed, here):
    said("tables", "fetch", "speeds")
    (here / "mine.csv").write_text(COSTS.replace("4.2", "2.1") + "2024-06-01,2\n", encoding="utf-8")
    result, code = refreshed("--file", "costs=mine.csv")
    assert code == 0
    (table,) = result["tables"]
    assert table["state"] == "tried, nothing is kept"
    assert [row["key"] for row in table["parts"][0]["added"]] == [{"date": "2024-06-01"}]
    (changed,) = table["parts"][0]["changed"]
    assert (changed["before"], changed["after"]) == (4.2, 2.1)
    rows = by_name(result["scenarios"])
    (answer,) = rows["cost"]["answers"]
    assert answer["after"]["p50"] < answer["before"]["p50"]
    assert answer["at"] == "2028-01-01"
    assert rows["cost"]["newest"] == [{"table": "demo/costs", "before": "2023-01-01", "after": "2024-06-01"}]
    assert site.asked == ["/speeds.csv"]
    assert float(forecast.table("demo/costs")["cost"].max()) == 9
    assert forecast.table("demo/costs").sizes["date"] == 4


def test_a_description_is_tried_too(site, refreshed, here):
    (here / "other").mkdir()
    text = COSTS.replace("4.2", "2.1")
    package(here / "other", "costs", resource(here / "other", "costs", text, PRICED, "date"), version="2")
    result, _ = refreshed("--file", "demo/costs=other")
    (answer,) = by_name(result["scenarios"])["cost"]["answers"]
    assert answer["moved"]


def test_a_downloaded_table_is_tried_and_its_record_stays(site, said, refreshed, here):
    said("tables", "fetch", "speeds")
    record = (cache_folder() / "snapshots.json").read_bytes()
    (here / "new.csv").write_bytes(TWO)
    result, _ = refreshed("--file", "speeds=new.csv")
    assert by_name(result["scenarios"])["speed"]["answers"][0]["moved"]
    assert (cache_folder() / "snapshots.json").read_bytes() == record
    assert site.asked == ["/speeds.csv"]


def test_a_file_that_says_the_same_moves_nothing(site, said, here):
    (here / "same.csv").write_text(COSTS + "\n", encoding="utf-8")
    done = said("tables", "refresh", "--file", "costs=same.csv", *QUICK, *MINE)
    assert done.code == 0
    assert done.out.startswith("1 table: 1 changed, 0 of 4 scenarios moved.")
    assert "rest on what changed, and did not move: demo/cost, demo/both\n" in done.out
    assert said("tables", "refresh", "costs", "--file", "same.csv", *QUICK, *MINE).out == done.out  # of one table


def test_an_earlier_snapshot_needs_no_network(site, said, refreshed):
    said("tables", "fetch", "speeds")
    site.pages["/speeds.csv"] = TWO
    first, _ = refreshed("speeds")
    site.pages.clear()
    asked = list(site.asked)
    for which in ("earlier", digest(ONE)[:20]):
        again, code = refreshed(f"speeds@{which}")
        assert code == 0
        assert again["scenarios"] == first["scenarios"]
    assert site.asked == asked


def test_of_two_tables_it_is_said_what_each_moves_alone(site, said, refreshed, here):
    said("tables", "fetch", "speeds")
    site.pages["/speeds.csv"] = TWO
    said("tables", "fetch", "speeds", "--update")
    (here / "mine.csv").write_text(COSTS.replace("4.2", "2.1"), encoding="utf-8")
    result, _ = refreshed("speeds@earlier", "--file", "costs=mine.csv")
    both = by_name(result["scenarios"])["both"]
    assert sorted(both["rests_on"]) == ["demo/costs", "demo/speeds"]
    answers = {each["name"]: each for each in both["answers"]}
    assert both["alone"] == {"demo/speeds": [answers["fast"]], "demo/costs": [answers["price"]]}
    done = said("tables", "refresh", "speeds@earlier", "--file", "costs=mine.csv", *QUICK, *MINE)
    assert "  demo/costs alone does not move it\n" in done.out
    assert "  demo/speeds alone moves it from 20" in done.out


def test_a_scenario_of_ones_own_is_run(site, said, here):
    Path("mine.csv").write_text(COSTS.replace("4.2", "2.1"), encoding="utf-8")
    Path("own.toml").write_text(COST, encoding="utf-8")
    done = said("tables", "refresh", "--file", "costs=mine.csv", "--scenario", "own.toml", *QUICK, "--json")
    (row,) = done.json["result"]["scenarios"]
    assert (row["scenario"], row["rests_on"]) == ("own.toml", ["demo/costs"])


def test_nothing_is_downloaded_for_a_scenario(site, said, here):
    access.use(access.Access(hosts=("127.0.0.1",)))  # as on the command line, without what the server of tests allows
    Path("mine.csv").write_text(COSTS.replace("4.2", "2.1"), encoding="utf-8")
    done = said("tables", "refresh", "--file", "costs=mine.csv", *QUICK, *MINE, "--json")
    rows = by_name(done.json["result"]["scenarios"])
    assert done.code == 1
    assert "is not here yet" in rows["both"]["error"]
    assert rows["cost"]["answers"][0]["moved"]
    assert site.asked == []


def test_a_scenario_that_the_file_breaks_is_listed(site, said, here):
    Path("mine.csv").write_text("date,cost\n2020-01-01,9\n", encoding="utf-8")
    done = said("tables", "refresh", "--file", "costs=mine.csv", *QUICK, *MINE, "--json")
    assert done.code == 1
    rows = by_name(done.json["result"]["scenarios"])
    assert "cost" in rows["cost"]["error"]
    assert rows["neither"]["error"] is None
    done = said("tables", "refresh", "--file", "costs=mine.csv", *QUICK, *MINE)
    assert "demo/cost: failed: " in done.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["costs"],
            "table 'costs' is shipped: there is nothing to fetch; to try a file in its place: --file costs=PATH",
        ),
        (["speeds", "demo/speeds"], "table 'demo/speeds' is named twice"),
        (["speeds", "--file", "speeds=x.csv"], "'speeds' is named twice"),
        (["--file", "x.csv"], "--file: expected NAME=PATH, got 'x.csv'"),
        (["--file", "cost=x.csv"], "did you mean 'demo/costs'?"),
        (["--file", "costs:prices=x.csv"], "--file costs:prices: unknown resource 'prices'; known: costs"),
        (["--file", "costs:costs=."], "'.' describes a whole table: expected one file"),
        (["speed"], "did you mean 'demo/speeds'?"),
        (["speeds", "--scenario", "fast"], "unknown scenario 'fast'"),
    ],
)
def test_refusals(site, said, here, words, says):
    Path("x.csv").write_text(COSTS, encoding="utf-8")
    assert says in said("tables", "refresh", *words).refused(2)


def test_which_file_of_several_is_said(site, said, here):
    (here / "pair").mkdir()
    other = [{"name": "date", "type": "date"}, {"name": "w", "type": "number", "unit": ""}]
    files = [
        resource(here / "pair", "a", COSTS, PRICED, "date"),
        resource(here / "pair", "b", COSTS.replace("cost", "w"), other, "date"),
    ]
    package(here / "pair", "pair", *files)
    Path("b.csv").write_text("date,w\n2020-01-01,9\n", encoding="utf-8")
    refusal = said("tables", "refresh", "--file", "./pair=b.csv").refused(2)
    assert "which file? Say pair:RESOURCE=PATH, with one of a, b" in refusal
    done = said("tables", "refresh", "--file", "./pair:b=b.csv", "--scenario", "demo/neither", "--json")
    (table,) = done.json["result"]["tables"]
    assert len(table["parts"][0]["changed"]) == 3


# --- editions that a table holds itself -------------------------------------------------------------------------------

#: One file for each way in which a table holds two editions: rows told apart by the key, rows with a name of their own,
#: and columns. The older edition has no row of 2023, and the newer revised 2022.
OLD, NEW = {2020: 9, 2021: 7, 2022: 5}, {2020: 9, 2021: 7, 2022: 5.5, 2023: 4.2}
EDITION = {"name": "edition", "type": "string"}
NAMED = {"name": "row", "type": "string"}
DATE, PRICE = PRICED
BY_EDITION = {
    label: "".join(f"{label},{year}-01-01,{v},from {label}\n" for year, v in rows.items())
    for label, rows in (("2025", OLD), ("2026", NEW))
}
SOURCE = {"name": "source", "type": "string"}
HELD = {
    "keyed": (f"edition,date,cost,source\n{BY_EDITION['2025']}{BY_EDITION['2026']}",
              [EDITION, DATE, PRICE, SOURCE], ["edition", "date"], "2026=2025"),
    "named": ("row,edition,date,cost,source\n" + "".join(
                  f"r{number},{line}\n"
                  for number, line in enumerate((BY_EDITION["2025"] + BY_EDITION["2026"]).splitlines())),
              [NAMED, EDITION, DATE, PRICE, SOURCE], "row", "2026=2025"),
    "wide": ("date,cost,cost_2025\n" + "".join(f"{year}-01-01,{v},{OLD.get(year, '')}\n" for year, v in NEW.items()),
             [DATE, PRICE, {**PRICE, "name": "cost_2025"}], "date", "cost=cost_2025"),
}  # fmt: skip


def holding(here, kind):
    text, fields, key, instead = HELD[kind]
    (here / kind).mkdir()
    separate = {} if kind == "wide" else {"separate": ["edition"]}
    package(here / kind, kind, resource(here / kind, kind, text, fields, key, **separate))
    where = "" if kind == "wide" else 'where = { edition = "2026" }\n'
    own = COST.replace('data = "demo/costs"\n', f'data = "./{kind}"\n{where}')
    (here / f"{kind}.toml").write_text(own, encoding="utf-8")
    return f"./{kind}:{instead}", f"{kind}.toml"


@pytest.mark.parametrize("kind", sorted(HELD))
def test_an_edition_that_a_table_holds_is_compared_as_an_edition(site, said, here, kind):
    edition, scenario = holding(here, kind)
    done = said("tables", "refresh", "--edition", edition, "--scenario", scenario, *QUICK, "--json")
    assert done.code == 0
    result = done.json["result"]
    (table,) = result["tables"]
    this, _, other = edition.partition(":")[2].partition("=")
    assert table["state"] == f"{other} in the place of {this}, nothing is kept"
    (part,) = table["parts"]
    changed = {(c["key"]["date"], c["column"]): (c["before"], c["after"]) for c in part["changed"]}
    assert [row["key"] for row in part["removed"]] == [{"date": "2023-01-01"}]
    assert part["added"] == []
    assert changed == {("2022-01-01", "cost"): (5.5, 5.0)}
    # the same worlds as on a table that has the other edition alone
    (answer,) = result["scenarios"][0]["answers"]
    assert answer["moved"]
    (here / "alone").mkdir()
    text = "date,cost\n" + "".join(f"{year}-01-01,{v}\n" for year, v in OLD.items())
    package(here / "alone", "alone", resource(here / "alone", "alone", text, PRICED, "date"))
    (here / "alone.toml").write_text(COST.replace("demo/costs", "./alone"), encoding="utf-8")
    (told,) = result_data.value_answers(forecast.project("alone.toml", draws=64))
    for level in ("p05", "p50", "p95"):
        assert answer["after"][level] == pytest.approx(told["dates"][0][level], rel=1e-9)
    untouched = forecast.tables.to_columns(f"./{kind}")
    assert untouched.rows == (4 if kind == "wide" else 7)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("./keyed", "--edition: expected NAME:THIS=OTHER, got './keyed'"),
        ("./keyed:2026", "--edition: expected NAME:THIS=OTHER"),
        ("./keyed:=2025", "--edition: expected NAME:THIS=OTHER"),
        ("keyd:2026=2025", "unknown table 'keyd'"),
        ("./keyed:2026=2026", "--edition ./keyed:2026: '2026' stands in its own place already"),
        ("./keyed:cost=date", "the columns 'cost' and 'date' differ in type, unit or qualifiers"),
    ],
)
def test_an_edition_that_cannot_be_meant_is_refused(site, said, here, text, says):
    holding(here, "keyed")
    assert says in said("tables", "refresh", "--edition", text, *QUICK).refused(2)


@pytest.mark.parametrize(
    ("instead", "says"),
    [
        ("2026=2024", "table 'keyed': unknown edition '2024'; did you mean '2026'?"),
        ("2027=2025", "table 'keyed': unknown edition '2027'; did you mean '2026'?"),
        ("2026=cost", "table 'keyed': '2026' and 'cost' are no editions of one thing"),
    ],
)
def test_an_edition_that_the_table_does_not_hold_is_a_failure_of_that_table(site, said, here, instead, says):
    holding(here, "keyed")
    done = said("tables", "refresh", "--edition", f"./keyed:{instead}", *QUICK, "--json")
    assert done.code == 1
    assert says in done.json["result"]["tables"][0]["error"]
