"""What a file from a stranger may name: nothing outside its folder, and nothing that tells what stands there."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import forecast
from forecast import Scenario
from forecast.base import access
from forecast.errors import ForecastError, ScenarioError, TableError, UnknownNameError, UsageError
from forecast.tables import file_hash

BODY = "date,price\n2020-01-01,8\n2021-01-01,4\n2022-01-01,2\n2023-01-01,1\n"

#: Every spelling of a way out that was tried; {out} is the absolute path of a folder beside the stranger's.
WAYS = (
    "{out}/price.csv", "../out/price.csv", "sub/../../out/price.csv", "./../out/price.csv", "link.csv", "way/price.csv",
    "absent/../../out/price.csv", "/etc/passwd", "/etc/passwd.csv", "~/price.csv", "~root/price.csv",
    "file://{out}/price.csv", "http://127.0.0.1/price.csv", "C:\\price.csv", "C:price.csv",
    "\\\\host\\share\\price.csv", "//host/../..{out}/price.csv", "a\0.csv", "price.csv\n", " ../out/price.csv",
    "/proc/self/fd/0", "/proc/self/cwd/price.csv", "/dev/stdin", "/dev/zero.csv",
    "..", "../out", "{out}", "way", "../out/", "{out}/datapackage.json", "way/datapackage.json", "/", "..//../",
)  # fmt: skip


KEYS = ("quantities.x.data", "quantities.x.table", "quantities.x.fallback.table", "choices.c.table")


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, described) -> tuple[Path, Path]:
    """A stranger's folder, and one beside it with a file of ours; the program runs in a third."""
    mine, out, here = (tmp_path / name for name in ("mine", "out", "here"))
    for folder in (mine, out, here):
        folder.mkdir()
        (folder / "price.csv").write_text(BODY)
        described(folder)
    (mine / "sub").mkdir()
    (mine / "sub" / "price.csv").write_text(BODY)
    (mine / "link.csv").symlink_to(out / "price.csv")
    (mine / "way").symlink_to(out)
    (here / "near").mkdir()
    (here / "near" / "price.csv").write_text(BODY)
    described(here / "near")
    monkeypatch.chdir(here)
    return mine, out


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("way", WAYS)
def test_no_path_in_a_scenario_leaves_its_folder(places, key, way, monkeypatch, naming):
    mine, out = places
    opened = []
    real = os.open
    monkeypatch.setattr(
        os, "open", lambda path, *rest, **more: (opened.append(str(path)), real(path, *rest, **more))[1]
    )
    (mine / "s.toml").write_text(naming(key, way.format(out=out)))
    with pytest.raises((ScenarioError, UnknownNameError)) as caught:
        forecast.project(mine / "s.toml", draws=10)
    said = str(caught.value)
    assert f"s.toml: {key}: " in said
    assert "\n" not in said
    assert "root:" not in said
    assert not [
        path for path in opened if "out" in Path(path).parts or path.startswith(("/etc/pass", "/dev", "/proc/self"))
    ]


@pytest.mark.parametrize("key", KEYS[:2])
@pytest.mark.parametrize("there", ["{out}/price.csv", "{out}/absent.csv", "/etc/absent.csv", "/root/.x/y.csv"])
def test_a_refusal_does_not_say_what_stands_outside(places, key, there, naming):
    mine, out = places
    text = there.format(out=out)
    (mine / "s.toml").write_text(naming(key, text))
    with pytest.raises(ScenarioError) as caught:
        forecast.project(mine / "s.toml", draws=10)
    assert str(caught.value) == (
        f"{mine}/s.toml: {key}: '{text}' leaves the scenario's folder; expected a relative path in it "
        "(the user may allow another folder: --allow-path DIR)"
    )


@pytest.mark.parametrize(
    "way", ["price.csv", "./price.csv", "sub/price.csv", "sub/../price.csv", "datapackage.json", "./"]
)
def test_what_lies_in_the_folder_is_read_from_there(places, way, naming):
    mine, _ = places
    (mine / "s.toml").write_text(naming(KEYS[0], way))
    run = forecast.project(mine / "s.toml", draws=10)
    assert run.data  # the bytes behind it are cited
    assert run["projection"]["x"].sizes["time"] == 3


def test_a_parquet_file_lies_beside_its_scenario_too(places, naming):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    mine, out = places
    frame = pandas.read_csv(mine / "price.csv", parse_dates=["date"])
    for folder in (mine, out):
        frame.to_parquet(folder / "price.parquet")
    (mine / "s.toml").write_text(naming(KEYS[0], "price.parquet"))
    run = forecast.project(mine / "s.toml", draws=10)
    assert run.data == {"price.parquet": file_hash(mine / "price.parquet")}
    (mine / "s.toml").write_text(naming(KEYS[0], "../out/price.parquet"))
    with pytest.raises(ScenarioError, match="leaves the scenario's folder"):
        forecast.project(mine / "s.toml", draws=10)


@pytest.mark.parametrize("key", KEYS)
def test_a_folder_where_the_program_runs_is_no_table_of_the_scenario(places, key, naming):
    mine, _ = places
    assert Path("near/datapackage.json").is_file()
    (mine / "s.toml").write_text(naming(key, "near"))
    with pytest.raises(UnknownNameError, match=f"{key}: unknown table 'near'"):
        forecast.project(mine / "s.toml", draws=10)


@pytest.mark.parametrize("key", KEYS[:2])
def test_a_folder_that_holds_a_link_out_is_no_way_out(places, key, naming):
    mine, out = places
    (mine / "sub" / "datapackage.json").symlink_to(out / "datapackage.json")
    for way in ("sub", "sub/", "./sub", "sub/datapackage.json"):
        (mine / "s.toml").write_text(naming(key, way))
        with pytest.raises(ScenarioError, match="leaves the scenario's folder"):
            forecast.project(mine / "s.toml", draws=10)


def test_a_registered_table_keeps_its_name(places, naming):
    mine, _ = places
    (mine / "datasets").mkdir()
    (mine / "datasets" / "fabs").mkdir()  # what lies there does not stand in for it
    (mine / "s.toml").write_text(naming("quantities.x.table", "datasets/fabs").replace('"price"', '"cost"'))
    assert forecast.project(mine / "s.toml", draws=10).data["datasets/fabs"].startswith("sha256:")


def test_a_registered_scenario_keeps_to_its_own_folder(places, fake_plugins, naming):
    mine, out = places
    (mine / "s.toml").write_text(naming(KEYS[0], f"{out}/price.csv"))
    fake_plugins.add(
        "demo",
        "def forecast_scenarios():\n"
        f"    yield ScenarioSpec(name='s', path={str(mine / 's.toml')!r}, reference='test')\n",
    )
    with pytest.raises(ScenarioError, match=r"s\.toml: quantities\.x\.data: .* leaves the scenario's folder"):
        forecast.project("demo/s", draws=10)


@pytest.mark.parametrize(
    "way", ["{out}/price.csv", "../out/price.csv", "link.csv", "way/price.csv", "{out}", "../out/", "way"]
)
def test_the_user_may_allow_a_folder(places, way, naming):
    mine, out = places
    (mine / "s.toml").write_text(naming(KEYS[0], way.format(out=out)))
    with forecast.allow(paths=[out]):
        forecast.project(mine / "s.toml", draws=10, workers=2)
    refused = (ScenarioError, UnknownNameError)  # what could be a name is said to be no table
    with forecast.allow(paths=[mine]), pytest.raises(refused):
        forecast.project(mine / "s.toml", draws=10)
    with pytest.raises(refused):
        forecast.project(mine / "s.toml", draws=10)


def test_what_the_user_names_is_the_users_own(places):
    _, out = places
    text = {"shape": "trends/exponential", "x": "date", "y": "price", "unit": "USD"}
    for data in (str(out / "price.csv"), "../out/price.csv", "near"):
        made = Scenario.from_dict({"start": 2024, "until": 2026, "quantities": {"x": {"data": data, **text}}})
        forecast.project(made, draws=10)
    assert forecast.table(out)["price"].size == 4
    assert forecast.table("../mine")["price"].size == 4


# --- descriptors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [w for w in WAYS if "://" not in w])
def test_no_path_in_a_descriptor_leaves_its_folder(places, way, described):
    mine, out = places
    digest = file_hash(out / "price.csv")
    path = described(mine, way.format(out=out), hash=digest)
    with pytest.raises(TableError, match=r"mine/datapackage\.json: resources\[0\]\.path: ") as caught:
        forecast.table(path)
    assert digest not in str(caught.value)


def test_a_missing_hash_is_not_told_of_a_file_outside(places, described):
    mine, out = places
    path = described(mine, str(out / "price.csv"), hash="")
    with pytest.raises(TableError, match=r"is missing; the file's is unknown$") as caught:
        forecast.table(path)
    assert file_hash(out / "price.csv") not in str(caught.value)


def test_a_table_outside_is_read_while_it_is_allowed_and_not_afterwards(places, described):
    mine, out = places
    path = described(mine, "../out/price.csv", hash=file_hash(out / "price.csv"))
    with forecast.allow(paths=[out]):
        assert forecast.table(path)["price"].size == 4
        assert forecast.table(path)["price"].size == 4
    with pytest.raises(TableError, match="leaves the descriptor's folder"):
        forecast.table(path)


def test_a_misspelt_reader_and_an_import_path_suggest_the_nearest(places, described):
    mine, _ = places
    path = described(mine, parser="gpu-trend", format="data")
    with pytest.raises(
        UnknownNameError, match=r"'price': parser: unknown reader 'gpu-trend'; did you mean 'datasets/gpu-trends'"
    ):
        forecast.table(path)
    path = described(mine, parser="forecast_datasets.readers:gpu_trends", format="data")
    with pytest.raises(TableError, match=r"parser: .*, never code; did you mean 'datasets/gpu-trends'\?"):
        forecast.table(path)


def test_the_readers_of_shipped_descriptions_are_registered():
    import forecast_datasets
    from forecast.tables.schema import descriptor

    found = forecast.catalogue("reader")
    assert "datasets/gpu-trends" in found
    shelf = Path(forecast_datasets.__file__).parent
    packages = [descriptor.read_descriptor(path) for path in shelf.glob("*/datapackage.json")]
    named = {resource.parser for package in packages for resource in package.resources} - {"csv"}
    assert named == {name for name in found if name.startswith("datasets/")}


def test_reading_a_descriptor_loads_no_plugin(places, described):
    import subprocess
    import sys

    mine, _ = places
    path = described(mine, parser="datasets/gpu-trends", format="data")
    code = (
        "import sys, pathlib, forecast.contract.registry as r\n"
        "r.get_registry = lambda: sys.exit('loaded')\n"
        "from forecast.tables.schema import descriptor\n"
        "print(descriptor.read_descriptor(pathlib.Path(sys.argv[1])).resources[0].parser)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("datasets/gpu-trends\n", 0), done.stderr


# --- what is allowed --------------------------------------------------------------------------------------------------


def test_what_is_allowed_adds_up_and_ends(tmp_path):
    with access.allow(paths=[tmp_path], hosts=["Data.Lab."]):
        with access.allow(downloads=True, hosts=["[0:0::1]"]):
            assert access.current().downloads
            assert access.current().hosts == ("data.lab", "::1")
            assert tmp_path.resolve() in access.current().paths
        assert not access.current().downloads
    assert access.current() == access.Access()


def test_a_thread_starts_with_nothing_until_it_takes_over():
    with access.allow(downloads=True):
        with ThreadPoolExecutor(1) as bare:
            assert not bare.submit(access.current).result().downloads
        with ThreadPoolExecutor(1, initializer=access.use, initargs=(access.current(),)) as own:
            assert own.submit(access.current).result().downloads


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"paths": "data"}, "paths: expected a list of folders, got 'data' alone"),
        ({"paths": ["no-such-folder"]}, "allowed path: 'no-such-folder' is not a folder"),
        ({"paths": ["a\0b"]}, "is not a folder"),
        ({"paths": [3]}, "allowed path: '3' is not a folder"),
        ({"hosts": "lab"}, "hosts: expected a list of names or addresses, got 'lab' alone"),
        ({"hosts": ["http://lab/"]}, "expected a bare name or address, such as 10.0.0.5, got 'http://lab/'"),
        ({"hosts": ["lab:80"]}, "expected a bare name or address"),
        ({"hosts": ["*"]}, "expected a bare name or address"),
        ({"hosts": [""]}, "expected a bare name or address"),
    ],
)
def test_what_cannot_be_allowed(asked, says):
    with pytest.raises(UsageError, match=says), access.allow(**asked):
        pass
    assert access.current() == access.Access()


def test_the_command_line_allows_and_forgets(places, capsys, naming):
    from forecast.cli import main

    mine, out = places
    (mine / "s.toml").write_text(naming(KEYS[0], "../out/price.csv"))
    words = ["run", str(mine / "s.toml"), "--draws", "10", "--json"]
    assert main(words) == 2
    assert "--allow-path DIR" in capsys.readouterr().err
    assert main([*words, "--allow-path", str(out)]) == 0
    assert access.current() == access.Access()
    assert main([*words, "--allow-path", str(out), "--until", "x"]) == 2
    assert main([*words, "--allow-path", "absent"]) == 2
    assert "allowed path: 'absent' is not a folder" in capsys.readouterr().err
    assert main(words) == 2


@pytest.mark.parametrize(
    "words",
    [
        "run", "fit", "compare", "predict", "claims", "tables show", "tables diff", "tables fetch", "models show",
        "models attribute",
    ],
)  # fmt: skip
def test_every_command_that_reads_tables_takes_the_options(words, capsys):
    from forecast.cli import main

    assert main([*words.split(), "--help"]) == 0
    said = capsys.readouterr().out
    assert all(option in said for option in ("--allow-path DIR", "--allow-download", "--allow-host HOST"))


# --- what is no ordinary file -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS[:2])
def test_a_fifo_or_device_in_the_folder_is_refused_at_once(places, key, described, naming):
    mine, _ = places
    os.mkfifo(mine / "fifo.csv")
    os.mkfifo(mine / "fifo.json")
    for way in ("fifo.csv", "fifo.json"):
        (mine / "s.toml").write_text(naming(key, way))
        with pytest.raises(ForecastError):
            forecast.project(mine / "s.toml", draws=10)
    os.mkfifo(mine / "price.fifo")
    with pytest.raises(ForecastError, match="is a device, pipe or socket"):
        forecast.table(described(mine, "price.fifo"))
    with pytest.raises(ForecastError, match="is a device, pipe or socket"):
        forecast.table(described(mine, "price.fifo", parser="datasets/gpu-trends", format="data"))
