"""``forecast mcp``: what a client of the protocol is told, and what it is refused."""

import contextlib
import json
import os
import socket
import subprocess
import sys

import pytest

import forecast
from forecast.base.json_text import to_json
from forecast.cli.request_limits import Budget
from forecast.report.result_data import answer_data
from forecast.scenarios.registered import MAX_SCENARIO_BYTES
from toolkit import started

anyio = pytest.importorskip("anyio")
mcp = pytest.importorskip("mcp")

ROWS = "date,speed\n" + "".join(f"{2012 + i}-01-01,{2**i}\n" for i in range(8))
SCENARIO = """
title = "When is it fast?"
start = 2021
until = 2040
[quantities.machine]
shape = "trends/exponential"
data = "FILE"
x = "date"
y = "speed"
unit = "FLOP/s"
[quantities.goal]
p05 = 1e3
p95 = 1e5
unit = "FLOP/s"
[questions.fast]
when = "machine >= goal"
title = "the machine is fast"
"""
RUN = {"scenario": "fast.toml", "draws": 64}
CURVE = {"data": "curve.csv", "y": "loss"}
ASKED = {"question": "run-price-performance", "at": ["2035"], "draws": 64}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agents")
    folder.joinpath("speed.csv").write_text(ROWS)
    folder.joinpath("curve.csv").write_text(
        "steps,loss\n" + "".join(f"{x},{1 + 9 * x**-0.5:.6f}\n" for x in range(10, 400, 9))
    )
    folder.joinpath("fast.toml").write_text(SCENARIO.replace("FILE", "speed.csv"))
    folder.joinpath("reaching.toml").write_text(SCENARIO.replace("FILE", "link.csv"))
    folder.joinpath("big.toml").write_text("#" * (MAX_SCENARIO_BYTES + 1))
    outside = folder.parent / "outside"
    outside.mkdir()
    for name in ("secret.csv", "a secret.csv"):
        (outside / name).write_text(ROWS.replace("speed", "SECRET"))
    (outside / "secret.toml").write_text(SCENARIO.replace("FILE", "secret.csv"))
    for name in ("csv", "toml"):
        (folder / f"link.{name}").symlink_to(outside / f"secret.{name}")
    (folder / "elsewhere").symlink_to(outside)
    return folder


@pytest.fixture
def agent(folder, monkeypatch):
    """Call tools one after another, as one client of a server in this process."""
    from forecast.cli.agents.server import tool_server

    monkeypatch.chdir(folder)

    def calls(*asked, budget=Budget(), mode="auto"):  # noqa: B008
        async def ask():
            async with mcp.Client(tool_server(folder, budget), mode=mode) as client:
                return [await (client.call_tool(*each) if each else client.list_tools()) for each in asked]

        return anyio.run(ask)

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
    if isinstance(value, dict):
        return [each for item in value.values() for each in numbers(item)]
    return (
        [each for item in value for each in numbers(item)]
        if isinstance(value, list)
        else [value] * isinstance(value, float)
    )


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_each_tool_says_what_it_takes_and_changes_nothing(agent, mode):
    (listed,) = agent((), mode=mode)
    assert {each.name for each in listed.tools} == {"ask", "run", "quantities", "fit", "extrapolate", "plan", "find"}
    for tool in listed.tools:
        assert tool.annotations.read_only_hint
        assert not tool.annotations.open_world_hint
        assert {name for name in tool.input_schema["properties"] if name not in tool.description} == set(), tool.name


def test_answers_are_those_of_the_front_door(agent):
    when = {"question": "when will a training run reach 1e29 FLOP", "draws": 64, "level": 0.8}
    value, date = map(told, agent(("ask", ASKED), ("ask", when)))
    expected = forecast.ask(ASKED["question"], dates=["2035"], draws=64)
    assert value["sentence"] == expected.sentence
    assert numbers(value["answer"]) == pytest.approx(numbers(expected.to_dict()["result"]["answer"]), rel=1e-12)
    assert [value["interval"][end] for end in ("low", "high")] == pytest.approx(expected.interval(0.9), rel=1e-12)
    asked = forecast.ask("largest-run >= 1e29 FLOP", draws=64)
    assert date["answer"]["crossing"] == json.loads(asked.to_json())["result"]["answer"]["crossing"]
    assert date["interval"]["level"] == 0.8
    assert date["sources"]
    assert "90 % intervals" in date["record"]
    assert {"exponential", "damped-trend"} <= {each["name"] for each in date["rivals"]}
    assert "1e29 FLOP" in date["read"][0]
    assert "limits" in date["left_out"]["characters"]
    assert len(to_json(date)) < 30_000


def test_a_scenario_runs_and_is_changed_and_tells_more_when_asked(agent, folder):
    more = {"settings": {"goal": "1e6 FLOP/s"}, "quantities": ["machine"], "sections": ["models"]}
    text = folder.joinpath("fast.toml").read_text()
    short, long, own = map(told, agent(("run", RUN), ("run", {**RUN, **more}), ("run", {"toml": text, "draws": 64})))
    expected = answer_data(forecast.project("fast.toml", draws=64).opening)
    assert short["answer"] == own["answer"] == json.loads(to_json(expected))
    assert "quantities" not in short
    assert [row["name"] for row in long["quantities"]] == ["machine"]
    assert long["models"][0].keys() > {"name", "summary", "sources"}
    assert long["differences"]
    assert long["answer"]["crossing"]["p50"] > short["answer"]["crossing"]["p50"]


def test_quantities_find_and_plan(agent):
    asked = ("quantities", {}), ("quantities", {"name": "largest-run"}), ("find", {"words": "gpu price"})
    every, one, found, plan = map(told, agent(*asked, ("plan", {"budget": "20M USD", "days": 90, "draws": 64})))
    assert one["name"] in [row["name"] for row in every["quantities"]]
    assert one["unit"] == "FLOP"
    assert len(found["found"]) == 20
    assert "more" in found["left_out"]
    expected = forecast.plan(budget="20M USD", days=90, draws=64)
    assert plan["sentence"] == expected.sentence
    assert numbers(plan["plans"]) == pytest.approx(numbers(expected.to_record()["plans"]), rel=1e-12)
    assert plan["sources"]


def test_a_file_below_the_folder_is_fitted_and_extrapolated(agent):
    law = {"law": "a + b*x**-c", "variables": "x", "let": ["x = steps"]}
    fitted, beyond, dated = map(
        told,
        agent(
            ("fit", {**CURVE, **law}),
            ("extrapolate", {**CURVE, "x": "steps", "to": 1e4}),
            ("extrapolate", {"data": "speed.csv", "x": "date", "y": "speed", "threshold": 1e6}),
        ),
    )
    assert {row["name"]: round(row["value"], 3) for row in fitted["parameters"]} == {"a": 1, "b": 9, "c": 0.5}
    assert fitted["verdict"]
    assert fitted["provenance"]["data"]["curve.csv"].startswith("sha256:")
    columns = forecast.read("curve.csv")
    expected = forecast.extrapolate(columns["steps"], columns["loss"], to=1e4, names=("steps", "loss"))
    assert beyond["sentence"] == expected.sentence
    assert beyond["points"][0]["median"] == pytest.approx(float(expected.median[0]), rel=1e-12)
    assert beyond["record"]
    assert dated["when"]


OUTSIDE = "leaves the folder"
OWN = {"law": "a*x", "variables": "x", "y": "SECRET"}
REFUSED = [
    ("extrapolate", {"data": "/etc/passwd", "x": "a", "y": "b"}, OUTSIDE),
    ("extrapolate", {"data": "link.csv", "x": "date", "y": "SECRET"}, OUTSIDE),
    ("extrapolate", {"data": "~/secret.csv", "x": "date", "y": "SECRET"}, OUTSIDE),
    ("fit", {"data": "../outside/secret.csv", **OWN}, OUTSIDE),
    ("fit", {"data": "elsewhere/secret.csv", **OWN}, OUTSIDE),
    ("run", {"scenario": "../outside/secret.toml"}, OUTSIDE),
    ("run", {"scenario": "link.toml"}, OUTSIDE),
    ("run", {"scenario": "reaching.toml"}, "leaves the scenario's folder"),
    ("run", {"toml": SCENARIO.replace("FILE", "../outside/secret.csv")}, "leaves the scenario's folder"),
    ("run", {**RUN, "settings": {"machine": "{data = 'link.csv', x = 'date', y = 'SECRET'}"}}, "unknown key 'data'"),
    ("ask", {"question": "link.csv:SECRET >= 1e9"}, OUTSIDE),
    ("ask", {"question": "'../outside/a secret.csv':SECRET >= 1e9"}, OUTSIDE),
    ("ask", {"question": "elsewhere/a secret.csv:SECRET >= 1e9"}, "secret.csv: no such file"),
    ("ask", {"question": "OUT/a secret.csv:SECRET >= 1e9"}, "secret.csv: no such file"),
    ("ask", {"question": "speed.csv:speed/OUT/a secret.csv:SECRET >= 1e9"}, "secret.csv: no such file"),
    ("run", {"scenario": "big.toml"}, "at most 1,048,576 are read"),
    ("run", {"toml": "#" * (MAX_SCENARIO_BYTES + 1)}, "larger than 1,048,576 bytes"),
    ("run", {"toml": "a = "}, "not TOML"),
    ("run", {}, "expected either a scenario"),
    ("run", {**RUN, "draws": 10**9}, "expected 1 to 4,096 in one call, got 1,000,000,000"),
    ("ask", {**ASKED, "draws": 10**9}, "forecast ask … --draws 1000000000"),
    ("plan", {"budget": 1e7, "draws": 10**9}, "expected 1 to 4,096"),
    ("fit", {**CURVE, "law": "a*x", "variables": "x", "bootstrap": 10**9}, "bootstrap: expected 1 to 4,096"),
    ("run", {**RUN, "draws": "many"}, "run: draws: "),
    ("run", {**RUN, "drawz": 64}, "unknown argument 'drawz'; did you mean 'draws'?"),
    ("run", {**RUN, "quantities": ["machina"]}, "did you mean 'machine'?"),
    ("ask", {"question": "larget-run >= 1e29 FLOP"}, "did you mean 'largest-run'?"),
    ("ask", {"question": "which GPU should I buy for 3000 dollars"}, "forecast run gpu-guide"),
    ("pln", {}, "unknown tool 'pln'; did you mean 'plan'?"),
]


def test_what_is_refused_is_refused_in_one_sentence(agent, folder):
    outside = str(folder.parent / "outside")
    asked = [(name, json.loads(json.dumps(given).replace("OUT", outside)), words) for name, given, words in REFUSED]
    refused = list(map(refusal, agent(*(each[:2] for each in asked))))
    assert [text for text, (_, _, words) in zip(refused, asked, strict=True) if words not in text] == []
    # neither where it lies nor what is in it
    assert [
        t for t, (_, given, _) in zip(refused, asked, strict=True) if outside in t and outside not in to_json(given)
    ] == []


@pytest.mark.parametrize(
    ("budget", "words"), [(Budget(seconds=1e-9), "--request-seconds"), (Budget(memory="1kB"), "--request-memory")]
)
def test_a_call_has_its_seconds_and_its_memory(agent, budget, words):
    over, after = agent(
        ("run", {**RUN, "draws": 4096, "seed": 7}), ("quantities", {"name": "largest-run"}), budget=budget
    )
    assert words in refusal(over)
    assert told(after)["unit"] == "FLOP"


def test_two_clients_of_one_server_have_their_own_answers(folder, monkeypatch, agent):
    from forecast.cli.agents.server import tool_server

    asked = [("run", {**RUN, "seed": seed}) for seed in range(6)]
    alone = [told(each)["answer"] for each in agent(*asked)]
    found = {}

    async def both():
        server = tool_server(folder, Budget())

        async def one(place):
            async with mcp.Client(server) as client:
                found[place] = told(await client.call_tool(*asked[place]))["answer"]

        async with anyio.create_task_group() as group:
            for place in range(len(asked)):
                group.start_soon(one, place)

    anyio.run(both)
    assert [found[place] for place in range(len(asked))] == alone
    assert alone[0] != alone[1]


def test_no_connection_is_opened(agent, monkeypatch):
    def connect(*_):
        raise AssertionError("a connection")

    for name in ("connect", "connect_ex", "bind"):
        monkeypatch.setattr(socket.socket, name, connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
    every = agent(("run", RUN), ("ask", ASKED), ("plan", {"budget": "1M USD", "draws": 64}), ("find", {"words": "gpu"}))
    assert all(map(told, every))


def test_programs_of_their_own_answer_two_clients_at_once(folder):
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "forecast", "mcp"], cwd=folder, env=dict(os.environ)
    )
    found = {}

    async def one(seed):
        async with mcp.Client(server) as client:
            assert len((await client.list_tools()).tools) == 7
            found[seed] = told(await client.call_tool("run", {**RUN, "seed": seed}))["answer"]
            assert OUTSIDE in refusal(await client.call_tool("run", {"scenario": "link.toml"}))

    async def both():
        async with anyio.create_task_group() as group:
            group.start_soon(one, 0)
            group.start_soon(one, 1)

    anyio.run(both)
    with contextlib.chdir(folder):
        assert found[1]["crossing"]["never"] == forecast.project("fast.toml", draws=64, seed=1).opening.headline.never
    assert found[0] != found[1]


def test_only_the_protocol_is_on_standard_output(folder):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    warned = {"name": "run", "arguments": {"scenario": "gpu-cluster", "draws": 64}}
    sent = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": warned},
    ]
    with started("mcp", cwd=folder, stdin=subprocess.PIPE) as server:
        server.stdin.write("".join(f"{json.dumps(each)}\n" for each in sent))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        rest, errors = server.communicate(timeout=60)
    assert [each["id"] for each in answers] == [1, 2]
    assert answers[1]["result"]["structuredContent"]["warnings"]
    assert "forecast: warning: " in errors
    assert (rest, server.returncode) == ("", 0)


def test_without_the_package_it_says_what_to_install(monkeypatch, said):
    monkeypatch.setitem(sys.modules, "mcp", None)
    for name in [name for name in sys.modules if name.startswith(("mcp.", "forecast.cli.agents.server"))]:
        monkeypatch.delitem(sys.modules, name)
    assert said("mcp").refused(1).endswith("mcp: needs mcp: pip install 'lawcast[mcp]'")


def test_a_memory_that_is_no_size_is_refused_before_it_serves(said):
    assert "--request-memory: expected a size" in said("mcp", "--request-memory", "much").refused(2)
