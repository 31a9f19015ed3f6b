"""``forecast explore``: who may ask, what may be asked, and that an answer is that of a fresh projection."""

import asyncio
import json
import os
import re
import signal
import socket
import sys
import threading
import time
import tomllib

import httpx
import pytest

from forecast import Scenario
from forecast.base import access
from forecast.cli.explore import server
from forecast.cli.explore.session import MAX_UPLOAD_BYTES, MAX_UPLOADS, Session
from forecast.errors import ForecastError, UsageError
from forecast.projection.engine import project
from forecast.report.page import page_part
from forecast.report.page.draw_encoding import EncodedDraws
from forecast.report.page.page_data import answer_data
from toolkit import started

PORT, TOKEN = 8765, "the-token-of-the-test"
HOME = f"http://127.0.0.1:{PORT}"
ROWS = "date,speed\n" + "".join(f"{2012 + i}-01-01,{2**i}\n" for i in range(8))
SCENARIO = """
title = "When is it fast?"
start = 2021
until = 2040
[choices]
trend = { values = ["exponential", "random-walk"], kind = "rival", weights = [0.5, 0.5] }
[quantities.machine]
shape = "trends/{trend}"
data = "speed.csv"
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explore")
    (folder / "speed.csv").write_text(ROWS)
    (folder / "fast.toml").write_text(SCENARIO)
    (folder.parent / "secret.csv").write_text(ROWS)
    return folder


@pytest.fixture(scope="module")
def session(folder):
    with Session(str(folder / "fast.toml"), draws=64) as session:
        yield session


@pytest.fixture
def ask(session):
    """Ask the server as our page does, but for what is said; several requests are made at the same time."""

    def ask(*asked, **said):
        async def every():
            served = server.app(session, PORT, TOKEN)
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(app=served), base_url=HOME, timeout=120
            ) as client:
                return await asyncio.gather(*(client.request(**{**ours, **each}) for each in asked or [{}]))

        ours = {"method": "POST", "url": "/answer", "headers": {server.TOKEN_HEADER: TOKEN}, "content": b"{}", **said}
        answers = asyncio.run(every())
        return answers if asked else answers[0]

    return ask


# --- who may ask -----------------------------------------------------------------------------------------------------


def test_our_own_page_is_answered(ask):
    told = ask(headers={server.TOKEN_HEADER: TOKEN, "origin": HOME, "sec-fetch-site": "same-origin"})
    assert told.status_code == 200
    assert told.json()["answer"]["count"] == 64


@pytest.mark.parametrize(
    "host",
    ["localhost:8765", "127.0.0.1", "127.0.0.1:80", "evil.example:8765", "127.0.0.1.evil.example:8765", "[::1]:8765"],
)
@pytest.mark.parametrize("asked", [{}, {"method": "GET", "url": "/"}])
def test_another_host_is_refused(ask, host, asked):
    refused = ask(**asked, headers={server.TOKEN_HEADER: TOKEN, "host": host})
    assert refused.status_code == 421
    assert "answer" not in refused.text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8765", "http://127.0.0.1:8766"])
def test_another_origin_is_refused(ask, origin):
    assert ask(headers={server.TOKEN_HEADER: TOKEN, "origin": origin}).status_code == 403
    assert ask(method="GET", url="/", headers={"origin": origin}).status_code == 403


def test_another_site_is_refused(ask):
    assert ask(headers={server.TOKEN_HEADER: TOKEN, "sec-fetch-site": "cross-site"}).status_code == 403


@pytest.mark.parametrize(
    "headers", [{}, {server.TOKEN_HEADER: ""}, {server.TOKEN_HEADER: TOKEN[:-1]}, {server.TOKEN_HEADER: TOKEN + "x"}]
)
@pytest.mark.parametrize("url", ["/answer", "/scenario", "/upload?name=a.csv", "/about", "/appendices"])
def test_without_the_token_nothing_is_asked(ask, headers, url):
    assert ask(url=url, headers=headers).status_code == 403


def test_without_the_token_there_is_no_page(ask):
    for url in ("/", "/?token=", f"/?token={TOKEN[:-1]}", f"/?token={TOKEN}&token={TOKEN}", "/nowhere", "/favicon.ico"):
        for method in ("GET", "HEAD"):
            refused = ask(method=method, url=url, headers={})
            assert refused.status_code == 403, url
            assert TOKEN not in refused.text
    assert "open the whole address" in ask(method="GET", url="/", headers={}).text
    assert ask(url=f"/answer?token={TOKEN}", headers={}).status_code == 403  # an address asks for the page alone


def test_what_changes_anything_is_a_post(ask):
    for url in ("/answer", "/scenario", "/upload", "/about", "/appendices"):
        assert ask(method="GET", url=url).status_code == 405
    for method in ("PUT", "DELETE", "OPTIONS"):
        assert ask(method=method, url="/").status_code in (403, 405)


def test_every_answer_forbids_what_a_page_does_not_need(ask):
    for told in (ask(), ask(method="GET", url="/nowhere"), ask(headers={})):
        assert told.headers["x-content-type-options"] == "nosniff"
        assert told.headers["x-frame-options"] == "DENY"
        assert told.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in told.headers


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_page_may_ask_its_server_and_nobody_else(ask):
    page = ask(method="GET", url=f"/?token={TOKEN}", headers={})
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "; connect-src 'self';" in policy
    assert policy.endswith("; frame-ancestors 'none'")
    assert "unsafe" not in policy
    (own,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page.text)
    assert policy.startswith(own.replace("&#39;", "'"))
    assert not re.search(r'\sstyle="|\son\w+="|(?:src|href)="http', page.text.split("<footer>")[0])
    told = engine(page.text)
    assert told["token"] == TOKEN
    assert told["scenario"]["title"] == "When is it fast?"
    names = [each["name"] for each in told["library"]]
    assert names[0].endswith("fast.toml")
    assert len(names) > 10
    assert {each["name"]: each["unit"] for each in told["settable"]} == {
        "goal": "FLOP/s",
        "machine@exponential.log_level": "",
        "machine@exponential.growth": "1/year",
        "machine@random-walk.growth": "1/year",
        "machine.log_level": "",
        "machine.growth": "1/year",
    }
    machine, goal = told["scenario"]["quantities"]
    assert "hardware/linpack" in machine["models"]
    assert goal == {"name": "goal", "unit": "FLOP/s", "models": []}


def engine(page):
    """What the script of a page needs to ask."""
    return json.loads(re.search(r'id="engine">(.*?)</script>', page, re.DOTALL)[1])


@pytest.mark.slow
def test_foreign_text_on_the_page_ends_no_script(folder):
    hostile = "</script><script>alert(1)</script><!--"
    (folder / "hostile.toml").write_text(SCENARIO.replace("When is it fast?", hostile))
    with Session(str(folder / "hostile.toml"), draws=16) as session:
        page = server.served_page(session, TOKEN).html
    assert hostile not in page
    assert page.count("<script") == 3


# --- what is asked ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, {}),
        ({"set": {"goal": "1e7"}}, {"with_": {"goal": "1e7"}}),
        (
            {"set": {"trend": "random-walk", "machine.growth": "0.2"}},
            {"with_": {"trend": "random-walk", "machine.growth": "0.2"}},
        ),
        ({"swap": {"machine": "hardware/linpack@exponential"}}, {"with_": {"machine": "hardware/linpack@exponential"}}),
        (
            {"changes": ["machine.growth*0.5 since 2028"]},
            {"what_if": [{"of": "machine", "growth": "0.5*", "since": 2028}]},
        ),
        ({"scenario": ""}, {}),
    ],
)
def test_an_answer_is_that_of_a_fresh_projection(ask, folder, asked, told):
    fresh = project(folder / "fast.toml", draws=64, **told)
    if told:  # a change is told beside what it was
        fresh = fresh.beside(project(folder / "fast.toml", draws=64))
    for _ in range(2):  # drawn, and held
        given = ask(content=json.dumps(asked)).json()
        assert given["answer"] == json.loads(json.dumps(answer_data(fresh, EncodedDraws(fresh))))


def test_what_stands_around_an_answer_is_that_of_the_answer(ask, folder):
    asked = {"set": {"goal": "3e3..4e3"}, "swap": {"machine": "hardware/linpack"}}
    base, replaced = folder / "fast.toml", {"goal": "3e3..4e3", "machine": "hardware/linpack"}
    fresh = project(base, draws=64, with_=replaced).beside(project(base, draws=64))
    worlds, toml = EncodedDraws(fresh), Scenario.load(folder / "fast.toml").to_toml()
    parts = {name: page_part(name, fresh, worlds, toml=toml) for name in ("about", "appendices")}
    assert "3 kFLOP/s to 3.9 kFLOP/s" in parts["appendices"]
    assert "--swap machine=hardware/linpack" in parts["appendices"]
    assert "Newest data" in parts["about"]
    for before in ({}, asked):  # drawn for it, and the last that was drawn
        ask(content=json.dumps(before))
        for name, wanted in parts.items():
            assert ask(url=f"/{name}", content=json.dumps(asked)).json() == {"html": wanted}
    edited = ask(url="/appendices", content=json.dumps({"toml": SCENARIO.replace("is fast", "is <b>fast")})).json()
    assert "is &lt;b&gt;fast" in edited["html"]
    assert "<b>" not in edited["html"]


@pytest.mark.slow
def test_the_library_is_there(ask):
    given = ask(url="/scenario", content=json.dumps({"scenario": "brain/evidence"})).json()
    assert "unknown scenario 'brain/evidence'" in given["error"]
    names = [each["name"] for each in engine(ask(method="GET", url="/").text)["library"]]
    assert "brain/brain-parity" in names
    asked = {"content": json.dumps({"scenario": "brain/brain-parity"})}
    quantities = ask(url="/scenario", **asked).json()["quantities"]
    assert {each["name"] for each in quantities} == {"machine", "brain", "ceiling"}
    settable = [each["name"] for each in ask(**asked).json()["settable"]]
    assert len(settable) == len(set(settable))
    for name in ("brain/dettmers-2015.firing_rate", "hardware/hpcg@pool.growth", "machine.growth"):
        assert name in settable


@pytest.mark.parametrize(
    ("asked", "more"),
    [
        ({}, {"machine@exponential.growth", "machine.growth"}),
        ({"set": {"goal": "1e4", "machine@exponential.growth": "0.3"}}, {"machine@exponential.growth"}),
        ({"swap": {"machine": "hardware/linpack@exponential"}}, {"hardware/linpack@exponential.growth"}),
    ],
)
def test_every_assumption_can_be_set_and_those_that_are_drawn_have_ranges(ask, asked, more):
    given = ask(content=json.dumps(asked)).json()
    drawn = {each["name"] for each in given["answer"]["inputs"]}
    numbers = {each["name"]: each["values"] for each in given["settable"]}
    assert {"goal"} | more <= numbers.keys()
    assert {name for name, values in numbers.items() if values}.isdisjoint(drawn)
    for name, value in asked.get("set", {}).items():
        assert numbers[name] == [pytest.approx(float(value))]


def test_an_edited_scenario_is_answered(ask):
    text = SCENARIO.replace("p95 = 1e5", "p95 = 1e9")
    given = ask(content=json.dumps({"toml": text})).json()
    assert given["answer"]["sentence"] != ask().json()["answer"]["sentence"]
    edited = ask(url="/scenario", content=json.dumps({"toml": text})).json()
    assert tomllib.loads(edited["toml"])["quantities"]["goal"]["p95"] == 1e9


def test_a_column_of_an_uploaded_file_is_a_quantity(ask, session):
    rows = ROWS.replace(",128", ",4096")
    told = ask(url="/upload?name=mine.csv", content=rows).json()
    assert told == {"name": "mine.csv", "columns": ["date", "speed"]}
    column = {"data": "mine.csv", "x": "date", "y": "speed", "unit": "FLOP/s", "shape": "trends/exponential"}
    given = ask(content=json.dumps({"data": {"machine": column}})).json()
    assert given["answer"]["sentence"] != ask().json()["answer"]["sentence"]
    assert [path.name for path in session.folder.iterdir()] == ["mine.csv"]


# --- what a stranger writes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "toml",
    [
        SCENARIO.replace('"speed.csv"', '"/etc/passwd"'),
        SCENARIO.replace('"speed.csv"', '"../secret.csv"'),
        SCENARIO.replace('"speed.csv"', '"https://example.org/speed.csv"'),
        SCENARIO.replace('"speed.csv"', '"file:///etc/passwd"'),
        'extends = "../fast.toml"\n' + SCENARIO,
        'until = 2030\n[quantities.x]\nmodel = "os:system"\n',
        'until = 2030\n[quantities.x]\nfunction = "os:system"\nunit = "FLOP"\n',
        "until = 2030\n[quantities.x]\nexpression = \"__import__('os')\"\n",
        "until = 2030\n[quantities",
        "a" * 2_000_000,
    ],
)
def test_what_is_edited_obeys_the_rules_for_a_strangers_file(ask, toml):
    refused = ask(content=json.dumps({"toml": toml}))
    assert refused.status_code in (400, 413), refused.text[:200]
    assert set(refused.json()) == {"error"}
    assert "root:" not in refused.text


@pytest.mark.parametrize(
    "asked",
    [
        {"scenario": "/etc/passwd.toml"}, {"scenario": "../fast.toml"}, {"nothing": 1}, {"set": []},
        {"set": {"goal": {"draws": "/etc/passwd"}}}, {"set": {"nope": 1}}, {"swap": {"machine": "os:system"}},
        {"swap": {"machine": {"data": "/etc/passwd"}}}, {"changes": [{"of": "machine"}]},
        {"changes": ["__import__('os')"]},
        {"data": {"machine": {"data": "../secret.csv", "x": "date", "y": "speed", "unit": "FLOP/s"}}},
        {"data": {"machine": {"data": "/etc/passwd"}}}, {"data": {"machine": {"function": "os:system"}}},
        {"data": {"nope": {"data": "mine.csv"}}}, {"data": {"machine": "mine.csv"}},
    ],
)  # fmt: skip
def test_what_no_page_of_ours_asks_is_refused(ask, asked):
    refused = ask(content=json.dumps(asked))
    assert refused.status_code == 400
    assert set(refused.json()) == {"error"}


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"set": NaN}', b"\xff", b'{"a": 1, "a": 2}', b"[" * 100_000])
def test_what_is_no_question_is_refused(ask, body):
    assert ask(content=body).status_code == 400


def test_an_upload_has_a_size_a_name_and_columns(ask, session):
    assert ask(url="/upload?name=a.csv", content=b"a" * (MAX_UPLOAD_BYTES + 1)).status_code == 413

    async def endless():
        for _ in range(MAX_UPLOAD_BYTES // 100_000 + 2):
            yield b"1,2\n" * 25_000

    assert ask(url="/upload?name=a.csv", content=endless()).status_code == 413  # says no length
    for name in ("", "a.toml", "../a.csv", "a/b.csv", ".csv", "a.csv%00", "x" * 80 + ".csv"):
        assert ask(url=f"/upload?name={name}", content=ROWS).status_code == 400, name
    assert ask(url="/upload?name=b.csv", content=b"\xff\xfe\x00").status_code == 400
    assert not (session.folder / "b.csv").exists()


def test_so_many_files_are_kept(folder):
    with Session(str(folder / "fast.toml"), draws=16) as session:
        for number in range(MAX_UPLOADS):
            session.upload(f"{number}.csv", ROWS.encode())
        with pytest.raises(UsageError, match="20 files"):
            session.upload("more.csv", ROWS.encode())
        session.upload("3.csv", ROWS.encode())
        kept = session.folder
    assert not kept.exists()


def test_what_the_user_has_allowed_holds_and_no_more(folder):
    (folder / "out.toml").write_text(SCENARIO.replace('"speed.csv"', f'"{(folder.parent / "secret.csv").as_posix()}"'))
    with access.allow(paths=[folder.parent]), Session(str(folder / "out.toml"), draws=16) as session:
        assert session.answer({})["answer"]["count"] == 16
    with Session(str(folder / "out.toml"), draws=16) as session, pytest.raises(ForecastError, match="--allow-path"):
        session.answer({})
    assert access.current() == access.Access()


# --- many, and gone --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_hundred_questions_at_once_are_answered_each_as_asked(ask):
    asked = [{"content": json.dumps({"set": {"goal": str(10 ** (3 + number % 4))}})} for number in range(100)]
    given = ask(*asked)
    assert {each.status_code for each in given} == {200}
    said = [each.json()["answer"]["questions"] for each in given]
    assert all(said[number] == said[number % 4] for number in range(100))
    assert said[0] != said[3]


def test_who_has_gone_is_not_answered(session, monkeypatch):
    asked = []
    monkeypatch.setattr(session, "answer", lambda body: asked.append(body) or {})
    served, sent = server.app(session, PORT, TOKEN), []
    messages = [{"type": "http.request", "body": b"{}", "more_body": False}, {"type": "http.disconnect"}]

    async def receive():
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    headers = [(b"host", f"127.0.0.1:{PORT}".encode()), (server.TOKEN_HEADER.encode(), TOKEN.encode())]
    scope = {"type": "http", "method": "POST", "path": "/answer", "query_string": b"", "headers": headers}
    asyncio.run(served(scope, receive, send))
    assert asked == []


def test_a_request_over_its_budget_is_told_so_and_the_server_lives_on(session):
    async def asked(budget, **given):
        served = server.app(session, PORT, TOKEN, budget)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=served), base_url=HOME, timeout=120) as client:
            ours = {"method": "POST", "url": "/answer", "headers": {server.TOKEN_HEADER: TOKEN}, "content": b"{}"}
            over = await client.request(**{**ours, **given})
        served = server.app(session, PORT, TOKEN, server.Budget(seconds=60))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=served), base_url=HOME, timeout=120) as client:
            return over, await client.request(**{**ours, "url": "/scenario"})

    slow = {"content": json.dumps({"set": {"goal": "7e3"}})}
    over, after = asyncio.run(asked(server.Budget(seconds=1e-9), **slow))
    assert over.status_code == 503
    # told by what is computed, or by the server that waits for it, whichever comes first
    assert re.search(r"1e-09 s(?: is the limit)?, which --request-seconds sets", over.json()["error"])
    assert after.status_code == 200
    wide = {"content": json.dumps({"set": {"goal": "8e3"}})}
    over, after = asyncio.run(asked(server.Budget(memory="1kB"), **wide))
    assert over.status_code == 400
    assert "the limit, which --request-memory sets" in over.json()["error"]
    over, _ = asyncio.run(asked(server.Budget(seconds=1e-9), method="GET", url=f"/?token={TOKEN}"))
    assert over.status_code == 503
    assert "--request-seconds" in over.text


def test_code_that_never_looks_at_its_time_is_not_waited_for(session, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(server, "_WAIT_SECONDS", 0.0)
    monkeypatch.setattr(session, "answer", lambda body: released.wait(30) and {})
    served = server.app(session, PORT, TOKEN, server.Budget(seconds=0.05))

    async def asked():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=served), base_url=HOME) as client:
            return await client.post("/answer", headers={server.TOKEN_HEADER: TOKEN}, content=b"{}")

    try:
        over = asyncio.run(asked())
    finally:
        released.set()
    assert over.status_code == 503
    assert "no answer after 0.05 s" in over.json()["error"]


def test_one_slow_request_does_not_block_the_others(session, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(session, "answer", lambda body: {"came": released.wait(30)})
    served = server.app(session, PORT, TOKEN)

    async def asked():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=served), base_url=HOME, timeout=120) as client:
            token = {server.TOKEN_HEADER: TOKEN}
            slow = asyncio.create_task(client.post("/answer", headers=token, content=b"{}"))
            quick = await client.post("/scenario", headers=token, content=b"{}")
            waited = slow.done()
            released.set()
            return waited, quick, await slow

    waited, quick, slow = asyncio.run(asked())
    assert not waited
    assert quick.json()["title"] == "When is it fast?"
    assert slow.json() == {"came": True}


# --- the command -----------------------------------------------------------------------------------------------------


def serving(*words):
    process = started("explore", *words, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return process, process.stdout.readline().strip()


@pytest.mark.slow
def test_it_starts_answers_outlives_a_killed_reader_and_ends_with_ctrl_c(folder):
    process, address = serving(str(folder / "fast.toml"), "--port", "0", "--no-browser", "--draws", "64")
    try:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", address), process.stderr.read()
        whole, address = address, address.partition("?")[0]
        assert httpx.get(address, timeout=120).status_code == 403
        page = httpx.get(whole, timeout=120)
        token = engine(page.text)["token"]
        assert len(token) > 30
        assert whole.endswith(f"?token={token}")
        port = int(address.rsplit(":", 1)[1].strip("/"))
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", port)) as gone:
                body = b'{"set": {"goal": "1e6"}}'
                said = f"POST /answer HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{server.TOKEN_HEADER}: {token}\r\n"
                head = f"{said}Content-Length: {len(body)}\r\n\r\n"
                gone.sendall(head.encode() + body)
        given = httpx.post(f"{address}answer", headers={server.TOKEN_HEADER: token}, content=b"{}", timeout=120)
        assert given.json()["answer"]["sentence"]
        assert httpx.post(f"{address}answer", content=b"{}").status_code == 403
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert out == ""
    assert err == "forecast: note: Ctrl-C ends it\n"


@pytest.mark.slow
def test_ctrl_c_does_not_wait_for_what_is_being_computed():
    process, address = serving("brain-parity", "--port", "0", "--no-browser", "--draws", "4096")
    try:
        port = int(re.search(r":(\d+)/", address)[1])
        with socket.create_connection(("127.0.0.1", port)) as reader:
            reader.sendall(f"GET /?{address.partition('?')[2]} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            time.sleep(0.5)  # it draws
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, "", "forecast: note: Ctrl-C ends it\n")


def test_a_port_that_is_taken_is_refused():
    with server.listen(0) as taken:
        taken.listen()
        with pytest.raises(UsageError, match=r"--port \d+: cannot listen there: .*--port 0"):
            server.listen(taken.getsockname()[1])


def test_without_what_it_needs_it_says_what_to_install(monkeypatch, said):
    monkeypatch.setitem(sys.modules, "starlette", None)
    for name in [name for name in sys.modules if name.startswith(("starlette.", "forecast.cli.explore.server"))]:
        monkeypatch.delitem(sys.modules, name)
    assert (
        said("explore", "brain-parity").refused(2).endswith("explore: needs starlette: pip install 'lawcast[explore]'")
    )


def test_a_scenario_that_cannot_be_drawn_is_refused_at_once(said, tmp_path):
    assert "unknown scenario 'brain-party'" in said("explore", "brain-party", "--port", "0").refused(2)


@pytest.mark.slow
def test_what_is_sent_fits_the_page():
    with Session("brain-parity") as session:
        assert len(json.dumps(session.answer({})["answer"])) < 3_000_000
