"""A stranger's scenario and table, through the commands: nothing runs, nothing outside is read, nobody is asked."""

from __future__ import annotations

import json
import socket

import pytest

from forecast.base import access
from forecast.tables import file_hash
from forecast.tables.remote.download import cache_folder

KEYS = ("quantities.x.data", "quantities.x.table", "quantities.x.fallback.table", "choices.c.table")
CSV = b"date,price\n2020-01-01,8\n2021-01-01,4\n2022-01-01,2\n2023-01-01,1\n"


@pytest.fixture
def evil(here, described):
    """A folder whose description names code to read its file with."""
    folder = here / "stranger"
    folder.mkdir()
    (folder / "evil.dat").write_text(f"import pathlib\npathlib.Path({str(here / 'ran')!r}).touch()\n")
    described(folder, "evil.dat", parser="runpy:run_path", format="data")
    return folder


@pytest.fixture
def alone(upstream):
    """A server that would answer, and a user who has allowed nothing."""
    access.use(access.Access())
    upstream.pages["/price.csv"] = CSV
    return upstream


@pytest.mark.parametrize("parser", ["runpy:run_path", "os:system", "subprocess:run"])
@pytest.mark.parametrize(
    "words",
    [
        ("fit", "scaling/power", "--data", "stranger/datapackage.json"),
        ("fit", "scaling/power", "--data", "stranger/"),
        ("compare", "scaling/power", "--data", "stranger/datapackage.json"),
        ("predict", "scaling/chinchilla@besiroglu2024", "--data", "stranger/datapackage.json"),
        ("tables", "diff", "stranger/", "datasets/fabs"),
        ("tables", "fetch", "stranger/"),
        ("run", "s.toml"),
        ("run", "cell.toml"),
        ("run", "choice.toml"),
    ],
)
def test_no_command_runs_what_a_file_names(evil, here, said, parser, words, naming):
    text = (evil / "datapackage.json").read_text()
    (evil / "datapackage.json").write_text(text.replace("runpy:run_path", parser))
    for name, key in (("s", KEYS[0]), ("cell", KEYS[1]), ("choice", KEYS[3])):
        (here / f"{name}.toml").write_text(naming(key, "stranger/datapackage.json"))
    line = said(*words).refused(1)
    assert f"stranger/datapackage.json: resources[0].parser: '{parser}': a file names 'csv' or a reader" in line
    assert not (here / "ran").exists()


@pytest.mark.parametrize(
    "text", ["os:system", "runpy:run_path", "../x", "/etc/passwd", "__import__('os')", "os.system"]
)
@pytest.mark.parametrize(
    "body",
    [
        "[quantities.x]\nmodel = {}\n",
        '[quantities.x]\nshape = {}\ndata = "price.csv"\nx = "date"\ny = "price"\nunit = "USD"\n',
        "[quantities.x]\nexpression = {}\n",
        "[quantities.x]\nvalue = 1\nunit = {}\n",
        '[quantities.x]\nvalue = 1\nunit = ""\n[questions.q]\nwhen = {}\n',
        '[quantities.x]\nshape = "trends/exponential"\ndata = "price.csv"\nx = "date"\ny = {}\nunit = "USD"\n',
        '[choices]\nc = ["a"]\n[quantities.x]\nmodel = "{{c}}"\n[questions.q]\nrank = {}\nover = "c"\n',
    ],
)
def test_no_other_text_of_a_scenario_names_code_or_a_file(here, said, monkeypatch, body, text):
    import importlib

    (here / "price.csv").write_bytes(CSV)
    (here / "s.toml").write_text(f"start = 2024\nuntil = 2026\n{body.format(json.dumps(text))}")
    real = importlib.import_module
    asked: list[str] = []
    monkeypatch.setattr(importlib, "import_module", lambda name, *rest: (asked.append(name), real(name, *rest))[1])
    said("run", "s.toml", "--draws", "10").refusal  # noqa: B018 - one line, and not a word from elsewhere
    assert not {"os", "runpy"} & set(asked)


@pytest.mark.parametrize("digest", ["recorded", f"sha256:{64 * '0'}"])
@pytest.mark.parametrize(
    "words",
    [
        ("fit", "scaling/power", "--data", "stranger/datapackage.json"),
        ("predict", "scaling/chinchilla@besiroglu2024", "--data", "stranger/"),
        ("tables", "diff", "stranger/", "stranger/"),
        ("run", "s.toml"),
    ],
)
def test_no_command_but_fetch_asks_the_network(alone, here, said, monkeypatch, digest, words, described, naming):
    (here / "stranger").mkdir()
    described(here / "stranger", f"{alone.url}/price.csv", parser="csv", hash=digest, licenses=[{"name": "CC0-1.0"}])
    (here / "s.toml").write_text(naming(KEYS[0], "stranger/"))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("a name was looked up"))
    line = said(*words).refused(1)
    assert (
        f"table 'price', resource 'price': {alone.url}/price.csv is not here yet: run 'forecast tables fetch " in line
    )
    assert "--allow-download" in line
    assert alone.asked == []


def test_fetch_asks_no_private_machine_that_was_not_named(alone, here, said, described, naming):
    described(here, f"{alone.url}/price.csv", parser="csv", hash="recorded", licenses=[{"name": "CC0-1.0"}])
    line = said("tables", "fetch", "./").refused(1)
    assert "'127.0.0.1' is a private, local or reserved address; the user may allow it: --allow-host 127.0.0.1" in line
    assert alone.asked == []
    assert said("tables", "fetch", "./", "--allow-host", "127.0.0.1").code == 0
    assert alone.asked == ["/price.csv"]
    (here / "s.toml").write_text(naming(KEYS[0], "datapackage.json"))
    assert said("run", "s.toml", "--draws", "10").code == 0  # it is here now
    assert alone.asked == ["/price.csv"]


def test_reading_may_be_allowed_to_download(alone, here, said, described, naming):
    described(here, f"{alone.url}/price.csv", parser="csv", hash="recorded", licenses=[{"name": "CC0-1.0"}])
    (here / "s.toml").write_text(naming(KEYS[0], "datapackage.json"))
    assert "is a private, local" in said("run", "s.toml", "--draws", "10", "--allow-download").refusal
    done = said("run", "s.toml", "--draws", "10", "--allow-download", "--allow-host", "127.0.0.1", "--json")
    assert done.json["provenance"]["data"]["price"].startswith("sha256:")
    assert len(list(cache_folder().glob("*-price.csv"))) == 1


def test_what_a_description_only_cites_is_never_opened(here, said, monkeypatch, described):
    """Every other key that can hold an address: none of them is one that the program follows."""
    (here / "price.csv").write_bytes(CSV)
    path = described(here, hash=file_hash(here / "price.csv"))
    package = json.loads(path.read_text())
    for address in ("http://127.0.0.1/x", "file:///etc/passwd", "/etc/passwd"):
        package |= {"$schema": address, "profile": address, "homepage": address, "id": address}
        package["sources"] = [{"title": "x", "path": address}]
        package["licenses"] = [{"name": "x", "path": address}]
        package["contributors"] = [{"title": "x", "path": address}]
        package["resources"][0] |= {"profile": address, "mediatype": address, "sources": [{"path": address}]}
        path.write_text(json.dumps(package))
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("a name was looked up"))
        asked = ("--variables", "date", "--y", "price*2", "--let", "date = price")
        assert said("fit", "a*date", "--data", "./", *asked).code == 0
    package["resources"][0]["schema"] = "/etc/passwd"
    path.write_text(json.dumps(package))
    assert "resources[0].schema: expected an object, got '/etc/passwd'" in said("tables", "diff", "./", "./").refused(1)
    package["resources"][0]["path"] = ["price.csv", "/etc/passwd"]
    path.write_text(json.dumps(package))
    assert "resources[0].path: expected text that is not empty, got ['price.csv'" in said(
        "tables", "diff", "./", "./"
    ).refused(1)
