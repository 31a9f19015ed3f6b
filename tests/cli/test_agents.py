"""``forecast mcp``: what a client of the protocol is told, and what it is refused."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys

import pytest

import forecast
from forecast.base.json_text import to_json
from forecast.report.result_data import answer_data
from forecast.scenarios.registered import MAX_SCENARIO_BYTES
from toolkit import started

mcp = pytest.importorskip("mcp")
server = pytest.importorskip("forecast.cli.agents.tools")
explore = pytest.importorskip("forecast.cli.explore.server")

ROWS = "date,speed\n" + "".join(f"{2012 + i}-01-01,{2**i}\n" for i in range(8))
SCENARIO = """
title = "When is it fast?"
start = 2021
until = 2040
[quantities]
machine = { shape = "trends/exponential", data = "FILE", x = "date", y = "speed", unit = "FLOP/s" }
goal = { p05 = 1e3, p95 = 1e5, unit = "FLOP/s" }
[questions.fast]
when = "machine >= goal"
title = "the machine is fast"
"""
RUN = {"scenario": "fast.toml", "draws": 64}
ASKED = {"question": "run-price-performance", "at": ["2035"], "draws": 64}
LINE = {"law": "a + b*x**-c", "variables": "x", "let": ["x = steps"], "data": "curve.csv", "y": "loss"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, outside = tmp_path_factory.mktemp("agents"), tmp_path_factory.mktemp("outside")
    folder.joinpath("speed.csv").write_text(ROWS)
    points = "".join(f"{x},{1 + 9 * x**-0.5:.6f}\n" for x in range(10, 400, 9))
    folder.joinpath("curve.csv").write_text(f"steps,loss\n{points}")
    folder.joinpath("fast.toml").write_text(SCENARIO.replace("FILE", "speed.csv"))
    folder.joinpath("reaching.toml").write_text(SCENARIO.replace("FILE", "link.csv"))
    folder.joinpath("big.toml").write_text("#" * (MAX_SCENARIO_BYTES + 1))
    for name in ("secret.csv", "a secret.csv"):
        outside.joinpath(name).write_text(ROWS.replace("speed", "SECRET"))
    outside.joinpath("secret.toml").write_text(SCENARIO.replace("FILE", "secret.csv"))
    for name in ("csv", "toml"):
        (folder / f"link.{name}").symlink_to(outside / f"secret.{name}")
    (folder / "elsewhere").symlink_to(outside)
    return folder, outside


@pytest.fixture
def folder(files, monkeypatch):
    """The folder of the server, which is the current one."""
    monkeypatch.chdir(files[0])
    return files[0]


@pytest.fixture
def agent(folder):
    """Call tools of one server in this process, with one client after another, or with all at once."""

    def calls(*asked, mode="auto", at_once=False, **budget):
        async def one(tools, name, given):
            async with mcp.Client(tools, mode=mode) as client:
                return await (client.call_tool(name, given) if name else client.list_tools())

        async def every():
            tools = server.tool_server(folder, explore.Budget(**budget))
            if at_once:
                return await asyncio.gather(*(one(tools, *each) for each in asked))
            return [await one(tools, *each) for each in asked]

        return asyncio.run(every())

    return calls


def told(result):
    """Return what a tool answers: the same as text and as data."""
    (content,) = result.content
    assert not result.is_error, content.text
    assert json.loads(content.text) == result.structured_content
    return result.structured_content


def refusal(result):
    """Return the sentence of a refusal."""
    (content,) = result.content
    assert result.is_error
    assert content.text.isprintable()
    assert "Traceback" not in content.text
    return content.text


def numbers(value):
    """Return the numbers in plain data, in their order."""
    return [float(each) for each in re.findall(r"-?\d+\.\d+(?:e[+-]?\d+)?", to_json(value))]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_each_tool_says_what_it_takes_and_changes_nothing(agent, mode):
    (listed,) = agent(("", {}), mode=mode)
    assert {each.name for each in listed.tools} == {"ask", "run", "quantities", "fit", "extrapolate", "plan", "find"}
    for tool in listed.tools:
        assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (True, False)
        assert [name for name in tool.input_schema["properties"] if name not in tool.description] == [], tool.name


def test_answers_are_those_of_the_front_door(agent):
    whole = {key: each for key, each in ASKED.items() if key != "draws"}
    few = {"question": "largest-run >= 1e29 FLOP", "level": 0.8, "draws": 64}
    value, date = map(told, agent(("ask", whole), ("ask", few)))
    expected = forecast.ask(ASKED["question"], dates=["2035"])
    assert value["sentence"] == expected.sentence
    assert numbers(value["answer"]) == pytest.approx(numbers(expected.to_dict()["result"]["answer"]), rel=1e-12)
    assert [value["interval"][end] for end in ("low", "high")] == pytest.approx(expected.interval(0.9), rel=1e-12)
    asked = json.loads(forecast.ask("largest-run >= 1e29 FLOP", draws=64).to_json())["result"]
    assert date["answer"]["crossing"] == asked["answer"]["crossing"]
    assert date["record"] == asked["record"]
    assert date["interval"]["level"] == 0.8
    assert "Epoch AI" in " ".join(date["sources"])
    assert {"exponential", "damped-trend"} <= {each["name"] for each in date["rivals"]}
    assert "limits" in date["left_out"]["characters"]
    assert len(to_json(date)) < 30_000


def test_a_scenario_runs_and_is_changed_and_tells_more_when_asked(agent, folder):
    more = {"settings": {"goal": "1e6 FLOP/s"}, "quantities": ["machine"], "sections": ["models"]}
    by_text = {"toml": folder.joinpath("fast.toml").read_text(), "draws": 64}
    short, long, own = map(told, agent(("run", RUN), ("run", {**RUN, **more}), ("run", by_text)))
    expected = answer_data(forecast.project("fast.toml", draws=64).opening)
    assert short["answer"] == own["answer"] == json.loads(to_json(expected))
    assert "quantities" not in short
    assert [row["name"] for row in long["quantities"]] == ["machine"]
    assert long["models"][0].keys() > {"name", "summary", "sources"}
    assert long["differences"]
    assert long["answer"]["crossing"]["p50"] > short["answer"]["crossing"]["p50"]


@pytest.mark.slow
def test_quantities_find_and_plan(agent):
    asked = ("quantities", {}), ("quantities", {"name": "largest-run"}), ("find", {"words": "gpu price"})
    every, one, found, plan = map(told, agent(*asked, ("plan", {"budget": "20M USD", "days": 90, "draws": 64})))
    assert one["name"] in [row["name"] for row in every["quantities"]]
    assert one["unit"] == "FLOP"
    assert len(found["found"]) == min(20, len(forecast.find("gpu price")))
    expected = forecast.plan(budget="20M USD", days=90, draws=64)
    assert plan["sentence"] == expected.sentence
    assert numbers(plan["plans"]) == pytest.approx(numbers(expected.to_record()["plans"]), rel=1e-12)


def test_a_file_below_the_folder_is_fitted_and_extrapolated(agent):
    curve, series = {"data": "curve.csv", "x": "steps", "y": "loss", "to": 1e4}, {"data": "speed.csv", "x": "date"}
    reached = ("extrapolate", {**series, "y": "speed", "threshold": 1e6})
    fitted, beyond, dated = map(told, agent(("fit", LINE), ("extrapolate", curve), reached))
    assert {row["name"]: round(row["value"], 3) for row in fitted["parameters"]} == {"a": 1, "b": 9, "c": 0.5}
    assert fitted["provenance"]["data"]["curve.csv"].startswith("sha256:")
    columns = forecast.read("curve.csv")
    expected = forecast.extrapolate(columns["steps"], columns["loss"], to=1e4, names=("steps", "loss"))
    assert beyond["sentence"] == expected.sentence
    assert beyond["points"][0]["median"] == pytest.approx(float(expected.median[0]), rel=1e-12)
    assert beyond["record"]
    assert dated["when"]


OUTSIDE, WITHIN, SECRET = "leaves the folder", "leaves the scenario's folder", {"x": "date", "y": "SECRET"}
REFUSED = [
    ("extrapolate", {"data": "/etc/passwd", "x": "a", "y": "b"}, OUTSIDE),
    ("extrapolate", {"data": "link.csv", **SECRET}, OUTSIDE),
    ("extrapolate", {"data": "~/secret.csv", **SECRET}, OUTSIDE),
    ("fit", {**LINE, "data": "../outside/secret.csv"}, OUTSIDE),
    ("fit", {**LINE, "data": "elsewhere/secret.csv"}, OUTSIDE),
    ("run", {"scenario": "../outside/secret.toml"}, OUTSIDE),
    ("run", {"scenario": "link.toml"}, OUTSIDE),
    ("run", {"scenario": "reaching.toml"}, WITHIN),
    ("run", {"toml": SCENARIO.replace("FILE", "../outside/secret.csv")}, WITHIN),
    ("run", {**RUN, "settings": {"machine": "{data = 'link.csv', x = 'date', y = 'SECRET'}"}}, "unknown key 'data'"),
    ("ask", {"question": "link.csv:SECRET >= 1e9"}, OUTSIDE),
    ("ask", {"question": "'OUT/a secret.csv':SECRET >= 1e9"}, OUTSIDE),
    ("ask", {"question": "elsewhere/a secret.csv:SECRET >= 1e9"}, "secret.csv: no such file"),
    ("ask", {"question": "OUT/a secret.csv:SECRET >= 1e9"}, "secret.csv: no such file"),
    ("ask", {"question": "speed.csv:speed/OUT/a secret.csv:SECRET >= 1e9"}, "secret.csv: no such file"),
    ("ask", {"question": "larget-run >= 1e29 FLOP"}, "did you mean 'largest-run'?"),
    ("ask", {**ASKED, "draws": 10**9}, "forecast ask … --draws 1000000000"),
    ("ask", {"question": "x" * 10**6}, "the limit is 1,000"),
    ("find", {"words": " ".join(map(str, range(10**5)))}, "1 to 50 different words"),
    ("run", {"scenario": "big.toml"}, "at most 1,048,576 are read"),
    ("run", {"toml": "#" * (MAX_SCENARIO_BYTES + 1)}, "larger than 1,048,576 bytes"),
    ("run", {}, "expected either a scenario"),
    ("run", {**RUN, "draws": 10**9}, "expected 1 to 4,096 in one call, got 1,000,000,000"),
    ("run", {**RUN, "draws": "many"}, "run: draws: "),
    ("run", {**RUN, "drawz": 64}, "unknown argument 'drawz'; did you mean 'draws'?"),
    ("run", {**RUN, "quantities": ["machina"]}, "did you mean 'machine'?"),
    ("plan", {"budget": 1e7, "draws": 10**9}, "expected 1 to 4,096"),
    ("fit", {**LINE, "bootstrap": 10**9}, "bootstrap: expected 1 to 4,096"),
    ("pln", {}, "unknown tool 'pln'; did you mean 'plan'?"),
]


def test_what_is_refused_is_refused_in_one_sentence(agent, files):
    outside = str(files[1])
    asked = [(name, json.loads(json.dumps(given).replace("OUT", outside)), words) for name, given, words in REFUSED]
    refused = list(map(refusal, agent(*(each[:2] for each in asked))))
    assert [text for text, (_, _, words) in zip(refused, asked, strict=True) if words not in text] == []
    # neither where a link leads nor what is there
    named = [text for text, (_, given, _) in zip(refused, asked, strict=True) if outside not in to_json(given)]
    assert outside not in " ".join(named)


@pytest.mark.parametrize(("name", "limit"), [("seconds", 1e-9), ("memory", "1kB")])
def test_a_call_has_its_seconds_and_its_memory(agent, name, limit):
    over, after = agent(("run", {**RUN, "seed": 7}), ("quantities", {"name": "largest-run"}), **{name: limit})
    assert f"--request-{name}" in refusal(over)
    assert told(after)["unit"] == "FLOP"


def test_clients_of_one_server_have_their_own_answers_at_once(agent):
    asked = [("run", {**RUN, "seed": seed}) for seed in range(6)]
    alone = [told(each)["answer"] for each in agent(*asked)]
    assert [told(each)["answer"] for each in agent(*asked, at_once=True)] == alone
    assert alone[0] != alone[1]


@pytest.mark.slow
def test_two_hosts_start_programs_of_their_own(folder):
    words = {"command": sys.executable, "args": ["-m", "forecast", "mcp"], "cwd": folder, "env": dict(os.environ)}

    async def one(seed):
        async with mcp.Client(mcp.StdioServerParameters(**words)) as client:
            assert len((await client.list_tools()).tools) == 7
            assert OUTSIDE in refusal(await client.call_tool("run", {"scenario": "link.toml"}))
            return told(await client.call_tool("run", {**RUN, "seed": seed}))["answer"]["crossing"]["never"]

    async def both():
        return await asyncio.gather(one(0), one(1))

    never = [forecast.project("fast.toml", draws=64, seed=seed).opening.headline.never for seed in (0, 1)]
    assert asyncio.run(both()) == never


@pytest.mark.slow
def test_only_the_protocol_is_on_standard_output_and_ctrl_c_ends_it(folder):
    warned = {"name": "run", "arguments": {"scenario": "gpu-cluster", "draws": 64}}
    begun, asked = (
        {"id": 1, "method": "initialize", "params": HELLO},
        {"id": 2, "method": "tools/call", "params": warned},
    )
    with started("mcp", stdin=subprocess.PIPE) as program:
        for each in (begun, {"method": "notifications/initialized"}, asked):
            program.stdin.write(json.dumps({"jsonrpc": "2.0", **each}) + "\n")
        program.stdin.flush()
        answers = [json.loads(program.stdout.readline()) for _ in range(2)]
        program.send_signal(signal.SIGINT)  # while its input is open
        rest, errors = program.communicate()
    assert [each["id"] for each in answers] == [1, 2]
    assert answers[1]["result"]["structuredContent"]["warnings"]
    assert "forecast: warning: " in errors
    assert (rest, program.returncode) == ("", 0)


def test_without_the_package_it_says_what_to_install(monkeypatch, said):
    monkeypatch.setitem(sys.modules, "mcp", None)
    for name in [name for name in sys.modules if name.startswith(("mcp.", "forecast.cli.agents.tools"))]:
        monkeypatch.delitem(sys.modules, name)
    assert said("mcp").refused(1).endswith("mcp: needs mcp: pip install 'lawcast[mcp]'")


def test_what_it_cannot_serve_in_is_refused_before_it_serves(said, monkeypatch):
    assert "--request-memory: expected a size" in said("mcp", "--request-memory", "much").refused(2)
    monkeypatch.chdir("/")
    assert "mcp: started in '/', below which every file is" in said("mcp").refused(2)
