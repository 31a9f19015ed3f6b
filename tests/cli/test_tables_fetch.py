"""``forecast tables fetch``: files of described tables, verified, recorded and updated."""

import json
from pathlib import Path

import pytest

from forecast.tables.remote import snapshots
from forecast.tables.remote.download import cache_folder
from toolkit import copied, digest, package, remote

DAY = "2026-01-31"
ONE = b"date,v\n2020-01-01,1\n2021-01-01,2\n2022-01-01,4\n2023-01-01,8.5\n"
TWO = ONE + b"2024-01-01,15\n"
OTHER = b"date,w\n2020-01-01,3\n"
FIELDS = [{"name": "date", "type": "date"}, {"name": "v", "type": "number", "unit": "FLOP/s"}]
PLUGIN = """
def forecast_tables():
    yield TableSpec(name="speeds", descriptor={one!r}, title="Speeds", reference="them")
    yield TableSpec(name="several", descriptor={two!r}, title="Several", reference="them")
"""
SCENARIO = """
title = "How fast?"
until = 2026
[quantities.speed]
shape = "trends/exponential"
data = "demo/speeds"
x = "date"
y = "v"
unit = "FLOP/s"
[quantities.goal]
value = 20
unit = "FLOP/s"
[questions.fast]
when = "speed >= goal"
"""


@pytest.fixture
def site(fake_plugins, upstream, here, monkeypatch):
    """A plugin with a table of one recorded file, and one of a recorded and a published file; the server gives ONE."""
    monkeypatch.setattr(snapshots, "today", lambda: DAY)
    upstream.pages["/speeds.csv"] = upstream.pages["/a.csv"] = ONE
    upstream.pages["/b.csv"] = OTHER
    for name in ("one", "two"):
        (here / name).mkdir()
    one = package(here / "one", "speeds", remote("speeds", f"{upstream.url}/speeds.csv", FIELDS))
    fields = [FIELDS[0], FIELDS[1] | {"name": "w"}]
    published = remote("b", f"{upstream.url}/b.csv", fields, hash=digest(OTHER))
    two = package(here / "two", "several", remote("a", f"{upstream.url}/a.csv", FIELDS), published)
    fake_plugins.add("demo", PLUGIN.format(one=str(one), two=str(two)))
    return upstream


def test_end_to_end(site, fake_plugins, here):
    def run(verb, *words):
        env = {**fake_plugins.env, "NO_COLOR": "1"}
        return copied("tables", verb, "--allow-host", "127.0.0.1", *words, cwd=here, env=env)

    done = run("fetch", "speeds")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "speeds: 1 file, 4 rows, recorded today."
    assert f"  hash     {digest(ONE)}" in lines
    assert "  size     61 bytes, 4 rows" in lines
    assert "  licence  CC-BY-4.0" in lines
    file = next(line for line in lines if line.startswith("  file ")).split()[1]
    assert Path(file).read_bytes() == ONE
    site.pages["/speeds.csv"] = TWO
    done = run("fetch", "speeds")
    assert done.stdout.startswith("speeds: 1 file, 4 rows, recorded on 20")
    done = run("fetch", "demo/speeds", "--update")
    lines = done.stdout.splitlines()
    assert lines[0] == "speeds: 1 file, 5 rows, updated today."
    assert any(line.startswith(f"  before   {digest(ONE)} (recorded on 20") for line in lines)
    assert lines[-1] == "compare: forecast tables diff demo/speeds@earlier demo/speeds"
    done = run("diff", "demo/speeds@earlier", "demo/speeds")
    assert done.stdout.startswith("1 row added, 0 removed, 0 changed (4 rows before, 5 after)")
    site.pages.clear()
    done = run("fetch", "speeds", "--hash", digest(ONE))
    assert done.stdout.startswith("speeds: 1 file, 4 rows, taken back, recorded on 20")
    assert site.asked == ["/speeds.csv", "/speeds.csv"]


def test_json(site, said):
    found = said("tables", "fetch", "several", "--json").json
    assert list(found) == ["command", "result", "warnings", "provenance"]
    assert found["command"] == "tables fetch"
    result = found["result"]
    assert result["headline"] == "several: 2 files, 5 rows, recorded today; verified against the published hash."
    recorded, published = result["resources"]
    assert recorded["name"] == "a"
    assert (recorded["hash"], recorded["recorded"], recorded["before"]) == (digest(ONE), DAY, None)
    assert (recorded["rows"], recorded["bytes"], recorded["licence"]) == (4, len(ONE), "CC-BY-4.0")
    assert recorded["url"] == f"{site.url}/a.csv"
    assert (published["state"], published["recorded"]) == ("verified against the published hash", None)
    assert found["provenance"]["data"] == {"a": digest(ONE), "b": published["hash"]}
    assert found["provenance"]["plugins"][0]["name"] == "demo"
    site.pages["/a.csv"] = TWO
    recorded, published = said("tables", "fetch", "several", "--update", "--json").json["result"]["resources"]
    assert (recorded["state"], recorded["hash"]) == ("updated today", digest(TWO))
    assert recorded["before"] == {"hash": digest(ONE), "recorded": DAY}
    assert published["state"] == "verified against the published hash"
    recorded, _ = said("tables", "fetch", "several", "--update", "--json").json["result"]["resources"]
    assert recorded["state"] == f"unchanged since {DAY}"


def test_list_and_show_say_what_is_recorded(site, said):
    def listed():
        return {row["name"]: row["data"] for row in said("tables", "list", "--json").json["result"]}

    assert listed()["demo/speeds"] == "not fetched yet"
    assert listed()["demo/several"] == "not fetched yet; published hash"
    assert listed()["datasets/supercomputers"] == "shipped"
    (row,) = said("tables", "show", "speeds", "--json").json["result"]["resources"]
    assert (row["hash"], row["state"], row["recorded"]) == (None, "not fetched yet", None)
    said("tables", "fetch", "speeds")
    assert listed()["demo/speeds"] == f"recorded on {DAY}"
    (row,) = said("tables", "show", "speeds", "--json").json["result"]["resources"]
    assert (row["hash"], row["state"], row["recorded"]) == (digest(ONE), f"recorded on {DAY}", DAY)
    assert f"recorded on {DAY}" in said("tables", "show", "speeds").out
    (row,) = said("tables", "show", "datasets/gpu-trends", "--json").json["result"]["resources"]
    assert (row["hash"][:7], row["state"]) == ("sha256:", "published hash")


def test_a_damaged_record_is_no_listing_lost(site, said):
    said("tables", "fetch", "speeds")
    (cache_folder() / "snapshots.json").write_text("{")
    rows = {row["name"]: row["data"] for row in said("tables", "list", "--json").json["result"]}
    assert rows["demo/speeds"] == "cannot be read"
    assert rows["datasets/supercomputers"] == "shipped"
    assert "snapshots.json: the record of what was downloaded is damaged" in said("tables", "show", "speeds").refusal


def test_results_carry_the_hash_and_its_day(site, said, here):
    said("tables", "fetch", "speeds")
    cited = f"{digest(ONE)} (recorded {DAY})"
    (here / "s.toml").write_text(SCENARIO)
    assert said("run", "s.toml", "--draws", "100", "--json").json["provenance"]["data"] == {"demo/speeds": cited}
    fitted = said("fit", "scaling/power", "--data", "demo/speeds", "--let", "x=v", "--y", "2*v", "--json")
    assert fitted.json["provenance"]["data"] == {"speeds": cited}
    found = said("tables", "diff", "demo/speeds", "demo/speeds", "--json").json
    assert found["provenance"]["data"] == {"before": cited, "after": cited}


def test_a_scenario_on_a_table_that_cannot_be_fetched_names_the_command(site, said, here):
    site.pages.clear()
    (here / "s.toml").write_text(SCENARIO)
    refused = said("run", "s.toml", "--draws", "100")
    assert refused.code == 1
    assert "'forecast tables fetch demo/speeds'" in refused.refusal
    assert "it has not been fetched yet" in refused.refusal
    refused = said("fit", "scaling/power", "--data", "demo/speeds", "--let", "x=v", "--y", "2*v")
    assert refused.code == 1
    assert "'forecast tables fetch demo/speeds'" in refused.refusal


def test_a_file_by_hand(site, said, here):
    site.pages.clear()
    (here / "mine.csv").write_bytes(ONE)
    (here / "other.csv").write_bytes(OTHER)
    assert said("tables", "fetch", "speeds", "--file", "mine.csv").out.startswith("speeds: 1 file, 4 rows, recorded to")
    line = said("tables", "fetch", "several", "--file", "mine.csv").refusal
    assert "--file: which file? Say RESOURCE=..., with one of a, b" in line
    assert "unknown resource 'c'" in said("tables", "fetch", "several", "--file", "c=mine.csv").refusal
    line = said("tables", "fetch", "several", "--file", "a=mine.csv", "--file", "b=mine.csv").refusal
    assert f"resource 'b': mine.csv has {digest(ONE)}, described is sha256:" in line
    done = said("tables", "fetch", "several", "--file", "a=mine.csv", "--file", "b=other.csv")
    assert (done.code, done.err) == (0, "")
    assert site.asked == []


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("datasets/supercomputers",), 2, "table 'supercomputers' is shipped: there is nothing to fetch"),
        (("datasets/gpu-trends", "--update"), 2, "has published hashes: there is nothing to update"),
        (("speed",), 2, "did you mean 'demo/speeds'?"),
        (("",), 2, "unknown table ''"),
        (("speeds", "--hash", "abc"), 2, "--hash: expected 'sha256:' and 64 hexadecimal digits, got 'abc'"),
        (("speeds", "--file", "a", "--file", "b"), 2, "--file: given twice for 'speeds'"),
        (("speeds", "--file", "absent.csv"), 1, "absent.csv: no such file"),
        (("speeds", "--file", "a\x1b[2J.csv"), 1, "a\\x1b[2J.csv: no such file"),
        (("speeds", "--hash", digest(TWO)), 1, f"has {digest(ONE)}, expected is {digest(TWO)}"),
        (("several", "--hash", f"b={digest(TWO)}"), 1, f"published hash is {digest(OTHER)}, expected is {digest(TWO)}"),
    ],
)
def test_wrong_use(site, said, words, code, says):
    done = said("tables", "fetch", *words, "--json")
    assert says in done.refusal
    assert done.code == code


def test_a_server_without_the_file(site, said):
    site.pages.clear()
    line = said("tables", "fetch", "speeds").refusal
    assert "the server answers 404; it has not been fetched yet: run 'forecast tables fetch demo/speeds' where" in line


def test_a_recorded_file_that_is_gone_is_said(site, said):
    said("tables", "fetch", "demo/speeds")
    for file in cache_folder().glob("*-speeds.csv"):
        file.unlink()
    gone = f"recorded on {DAY}, not in the cache"
    assert gone in said("tables", "list").out
    assert gone in said("tables", "show", "demo/speeds").out


def test_an_empty_file_is_said_to_be_another(site, said, here):
    empty = here / "empty.csv"
    empty.write_bytes(b"")
    done = said("tables", "fetch", "datasets/technologies", "--file", f"dram={empty}")
    assert done.out == ""
    assert "dram.data: the file is empty; expected a header and rows" in done.err
    assert "IndexError" not in done.err


def test_a_warning_is_said_once(site, fake_plugins, here, upstream):
    """A table with a row left out, read for two quantities."""
    schema = {"checks": [{"name": "above", "condition": "v > 0", "reason": "it is"}]}
    text = (here / "one" / "datapackage.json").read_text()
    made = json.loads(text)
    made["resources"][0]["schema"] |= schema
    (here / "one" / "datapackage.json").write_text(json.dumps(made))
    upstream.pages["/speeds.csv"] = ONE + b"2025-01-01,-1\n"
    series = SCENARIO[SCENARIO.index("shape") : SCENARIO.index("[quantities.goal]")]
    (here / "s.toml").write_text(f"{SCENARIO}[quantities.too]\n{series}")
    words = ("run", "s.toml", "--allow-download", "--allow-host", "127.0.0.1")
    done = copied(*words, env=fake_plugins.env, cwd=here)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the row date = 2025-01-01 is left out: ") == 1
