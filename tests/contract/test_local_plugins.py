"""A plugin in one file that the user names."""

import hashlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from forecast.contract.local_plugins import local_plugin
from forecast.contract.registry import Registry, get_registry, import_target
from forecast.errors import PluginError, UsageError

SOURCE = '''"""Mine alone."""
from forecast import FunctionSpec, LawSpec, hookimpl

def twice(x):
    return 2 * x

@hookimpl
def forecast_laws():
    yield LawSpec(name="line", variables={"x": ""}, expression="a*x", reference="test")

@hookimpl
def forecast_functions():
    yield FunctionSpec(name="twice", unit="W", inputs={"x": "W"}, target="my_own:twice", reference="test")
'''


@pytest.fixture
def mine(fake_plugins, tmp_path, monkeypatch):
    """The path of a local plugin in the working directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    fake_plugins.modules += ["my_own", "broken_one"]
    path = folder / "my_own.py"
    path.write_text(SOURCE)
    return path


def test_a_value_with_a_slash_is_a_local_plugin_beside_the_others(mine, monkeypatch):
    monkeypatch.setenv("FORECAST_PLUGINS", "./my_own.py")
    (found,) = get_registry().plugin("my-own")
    digest = hashlib.sha256(mine.read_bytes()).hexdigest()[:12]
    assert (found.status, found.distribution, found.version) == ("loaded", "local", f"sha256:{digest}")
    assert (found.local, found.value, found.title) == (True, str(mine), "Mine alone.")
    assert get_registry().find("law", "my-own/line")
    assert import_target(get_registry().find("model", "twice").spec.target, what="test")(3) == 6
    others = [p for p in get_registry().plugins if p.name != "my-own"]
    assert others
    assert all(p.status == "loaded" and not p.local for p in others)


@pytest.mark.parametrize(("select", "others"), [("none,{}", set()), ("{},trends", {"trends"}), ("-trends,{}", None)])
def test_it_selects_nothing_among_the_others(mine, select, others):
    found = Registry(select=select.format(mine)).plugins
    names = {p.name for p in found if p.status == "loaded"}
    assert "my-own" in names
    if others is None:
        assert "trends" not in names
        assert len(names) > 3
    else:
        assert names == {"my-own", *others}


def test_nothing_is_loaded_that_nobody_names(mine):
    assert "my-own" not in {p.name for p in Registry().plugins}
    assert "my_own" not in sys.modules


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("./absent.py", "local plugin './absent.py': cannot be read: no such file or directory"),
        ("./notes.txt", "local plugin './notes.txt': expected a Python file, NAME.py"),
        ("../here/", "expected a Python file"),
        ("./x\0.py", "cannot be read: valueerror"),
    ],
)
def test_a_path_that_leads_to_no_plugin_is_an_error(mine, path, says):
    with pytest.raises(UsageError) as refused:
        Registry([], select=path)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("name", "source", "says"),
    [
        ("broken_one", "1/0", "ZeroDivisionError: division by zero"),
        ("broken_one", "import sys; sys.exit(0)", "SystemExit"),
        ("broken_one", SOURCE.replace("forecast_laws", "forecast_lawz"), "unknown hook 'forecast_lawz'"),
        ("json", SOURCE, "another module is called 'json': give the file a name of its own"),
        ("colorsys", SOURCE, "another module is called 'colorsys'"),  # one that is not imported yet
        ("forecast", SOURCE, "another module is called 'forecast'"),
        ("Mine", SOURCE, "the file's name: expected lower case letters, digits and hyphens"),
        ("my-own", SOURCE, "the file's name: expected letters, digits and underscores"),
    ],
)
def test_one_that_fails_is_listed_with_its_reason_and_the_rest_goes_on(mine, monkeypatch, name, source, says):
    mine.with_name(f"{name}.py").write_text(source)
    before = sys.modules.get(name)
    monkeypatch.setenv("FORECAST_PLUGINS", f"./{name}.py,./my_own.py")
    failed = next(p for p in get_registry().plugins if p.value.endswith(f"{name}.py"))
    assert (failed.status, failed.specs) == ("failed", ())
    assert says in failed.reason
    assert get_registry().find("law", "my-own/line").spec.expression == "a*x"
    assert name == "broken_one" or sys.modules.get(name) is before
    monkeypatch.setenv("FORECAST_STRICT", "1")
    with pytest.raises(PluginError, match=f"plugin {failed.name} "):
        Registry()


def test_a_local_plugin_of_an_installed_name_is_another_of_that_name(mine, monkeypatch):
    mine.with_name("trends.py").write_text(SOURCE)
    monkeypatch.setenv("FORECAST_PLUGINS", "./trends.py")
    assert [p.distribution for p in get_registry().plugin("trends")] == ["lawcast", "local"]
    sys.modules.pop("trends", None)


def test_one_that_fails_leaves_no_half_of_a_module(mine):
    mine.with_name("broken_one.py").write_text("1/0")
    Registry(select="./broken_one.py")
    assert "broken_one" not in sys.modules


def test_it_is_checked_as_others_are(mine, monkeypatch):
    from forecast.testing import run_checks

    monkeypatch.setenv("FORECAST_PLUGINS", "./my_own.py")
    outcomes = run_checks("my-own")
    assert [o for o in outcomes if not o.ok] == []
    assert len(outcomes) > 10


def test_a_second_thread_waits_until_the_file_is_whole(tmp_path, monkeypatch):
    (tmp_path / "slow_file_of_mine.py").write_text("import time\ntime.sleep(0.2)\nWHOLE = True\n", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "slow_file_of_mine", raising=False)
    plugin = local_plugin(str(tmp_path / "slow_file_of_mine.py"))
    with ThreadPoolExecutor(2) as pool:
        modules = pool.map(lambda wait: time.sleep(wait) or hasattr(plugin.load(), "WHOLE"), (0, 0.1))
        assert list(modules) == [True, True]
