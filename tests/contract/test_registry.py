from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

import forecast
from forecast.contract import hookspecs, registry
from forecast.contract.registry import HOOKS, Registry, get_registry, import_target
from forecast.errors import AmbiguousNameError, ConflictError, PluginError, UnknownNameError, UsageError

GOOD = '''"""A plugin for tests."""
from forecast import LawSpec, hookimpl

@hookimpl
def forecast_laws():
    yield LawSpec(name="{law}", variables={{"x": ""}}, expression="a*x", reference="test")
'''
HEAD = "from forecast import LawSpec, hookimpl\n@hookimpl\n"


def good(law="line"):
    return GOOD.format(law=law)


def plugin(name):
    (found,) = get_registry().plugin(name)
    return found


def test_every_hook_has_a_record_and_every_record_a_hook():
    declared = {n for n, v in vars(hookspecs).items() if hasattr(v, "forecast_spec")}
    assert set(HOOKS) == declared
    kinds = Counter(spec.kind for spec in HOOKS.values())
    assert {kind: hooks for kind, hooks in kinds.items() if hooks > 1} == {"model": 2}  # a function is a model too


def test_a_plugin_is_listed_with_its_distribution_and_title(fake_plugins):
    fake_plugins.add("demo", good(), distribution="fake-demo", version="2.5")
    demo = plugin("demo")
    assert (demo.status, demo.distribution, demo.version, demo.title) == (
        "loaded",
        "fake-demo",
        "2.5",
        "A plugin for tests.",
    )
    assert get_registry().find("law", "demo/line").full_name == "demo/line"


def test_a_bare_name_works_while_it_is_unique(fake_plugins):
    fake_plugins.add("one", good("rare-name"))
    assert get_registry().find("law", "rare-name").full_name == "one/rare-name"
    fake_plugins.add("two", good("rare-name"))
    get_registry.cache_clear()
    with pytest.raises(AmbiguousNameError, match="one/rare-name, two/rare-name"):
        get_registry().find("law", "rare-name")


def test_bad_input_015_a_taken_full_name_resolves_to_neither_and_names_both(fake_plugins):
    fake_plugins.add("demo", good(), distribution="first-maker")
    fake_plugins.add("demo", good(), distribution="second-maker")
    found = get_registry()
    assert "demo/line" not in found.names("law")
    for name in ("demo/line", "line"):
        with pytest.raises(ConflictError, match="first-maker and second-maker"):
            found.find("law", name)


def test_bad_input_015_a_stranger_cannot_shadow_an_installed_law(fake_plugins):
    installed = Registry().names("law")
    if not installed:
        pytest.skip("no law is installed")
    owner, _, law = installed[0].partition("/")
    fake_plugins.add(owner, good(law), distribution="intruder")
    with pytest.raises(ConflictError, match="intruder"):
        get_registry().find("law", installed[0])


BROKEN = {
    "import": ("import no_such_module_anywhere", "ModuleNotFoundError: No module named 'no_such_module_anywhere'"),
    "syntax": ("def :", "SyntaxError"),
    "hook": (HEAD + "def forecast_laws():\n    raise RuntimeError('boom')", "RuntimeError: boom"),
    "late": (HEAD + "def forecast_laws():\n    yield LawSpec(name='a', variables={}, expression='a', reference='r')"
             "\n    1/0", "ZeroDivisionError"),
    "exit": ("import sys; sys.exit(0)", "SystemExit"),
    "mute": ("class Mute(Exception):\n    def __str__(self):\n        raise RuntimeError\nraise Mute", "Mute"),
    "memory": ("raise MemoryError", "MemoryError"),
    "exit-in-hook": (HEAD + "def forecast_laws():\n    raise SystemExit(0)", "SystemExit"),
    "recursion": (HEAD + "def forecast_laws():\n    return forecast_laws()", "RecursionError"),
}  # fmt: skip


@pytest.mark.parametrize("how", BROKEN)
def test_bad_input_063_a_broken_plugin_is_listed_as_failed_and_the_rest_goes_on(fake_plugins, how):
    source, reason = BROKEN[how]
    fake_plugins.add("broken", source)
    fake_plugins.add("sound", good())
    broken = plugin("broken")
    assert (broken.status, broken.specs) == ("failed", ())
    assert broken.reason.startswith(reason)
    assert "Traceback" in broken.traceback
    assert get_registry().find("law", "sound/line")


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("None", "forecast_laws: expected an iterable of LawSpec, got NoneType"),
        ("'text'", "forecast_laws: expected an iterable of LawSpec, got str"),
        ("3", "forecast_laws: expected an iterable of LawSpec, got int"),
        ("{}", "forecast_laws: expected an iterable of LawSpec, got dict"),
        ("[None]", r"forecast_laws\[0\]: expected LawSpec, got NoneType"),
        ("[ok, 1j]", r"forecast_laws\[1\]: expected LawSpec, got complex"),
        ("[other]", r"forecast_laws\[0\]: expected LawSpec, got ShapeSpec"),
        ("[ok, ok]", "law 'a' is offered twice by this plugin"),
        ("(x for x in [None])", r"forecast_laws\[0\]: expected LawSpec, got NoneType"),
    ],
)
def test_bad_input_064_rubbish_from_a_hook_names_hook_and_place(fake_plugins, returned, reason):
    source = (
        "from forecast import LawSpec, ShapeSpec, hookimpl\n"
        "ok = LawSpec(name='a', variables={'x': ''}, expression='a*x', reference='r')\n"
        "other = ShapeSpec(name='s', target='a:b', reference='r')\n"
        f"@hookimpl\ndef forecast_laws():\n    return {returned}\n"
    )
    fake_plugins.add("rubbish", source)
    with pytest.MonkeyPatch.context() as strict:
        strict.setenv("FORECAST_STRICT", "1")
        with pytest.raises(PluginError, match=reason):
            Registry()
    assert plugin("rubbish").status == "failed"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "@hookimpl\ndef forecast_lawz():\n    return []",
            "unknown hook 'forecast_lawz'; did you mean 'forecast_laws'?",
        ),
        ("def forecast_laws():\n    return []", "forecast_laws: looks like a hook but is not marked with @hookimpl"),
        ("@hookimpl\ndef forecast_laws(config):\n    return []", "config"),
        ("FORECAST_INTERFACE = 99", "written for interface 99 of plugins, and this lawcast has 1"),
        ("FORECAST_INTERFACE = 'new'", "written for interface new"),
    ],
)
def test_bad_input_069_a_hook_of_a_wrong_name_or_signature_is_refused_at_load(fake_plugins, source, reason):
    fake_plugins.add("wrong", "from forecast import hookimpl\n" + source)
    wrong = plugin("wrong")
    assert wrong.status == "failed"
    assert reason in wrong.reason


def test_bad_input_069_a_record_of_another_version_names_the_field(fake_plugins):
    source = HEAD + "def forecast_laws():\n    yield LawSpec(name='a', formula='x', reference='r')"
    fake_plugins.add("old", source)
    assert "formula" in plugin("old").reason


def test_bad_input_071_of_a_hundred_plugins_one_is_broken(fake_plugins):
    for i in range(99):
        fake_plugins.add(f"p{i:02}", good(), distribution=f"maker-{i:02}")
    fake_plugins.add("bad", "raise ImportError('nope')")
    mine = [p for p in get_registry().plugins if p.distribution.startswith(("maker-", "fake-"))]
    assert sum(p.status == "loaded" for p in mine) == 99
    assert [(p.name, p.reason) for p in mine if p.status == "failed"] == [("bad", "ImportError: nope")]


def test_two_plugins_of_one_name_in_one_file_are_both_seen(fake_plugins):
    fake_plugins.add("demo", good("a"), distribution="fake-demo", module="first_module")
    fake_plugins.add("demo", good("b"), distribution="fake-demo", module="second_module")
    assert sorted(p.value for p in get_registry().plugin("demo")) == ["first_module", "second_module"]
    assert {"demo/a", "demo/b"} <= set(get_registry().names("law"))


def test_a_failed_plugin_is_rolled_back_whole(fake_plugins):
    fake_plugins.add("half", good() + "@hookimpl\ndef forecast_tables():\n    raise OSError('disk')\n")
    assert plugin("half").status == "failed"
    assert "half/line" not in get_registry().names("law")


HALF = good() + "@hookimpl\ndef forecast_claims():\n    raise OSError('disk')\n"


def test_a_hook_is_called_when_its_kind_is_asked_for(fake_plugins):
    fake_plugins.add("half", HALF)
    found = get_registry()
    assert found.find("law", "half/line").plugin.status == "loaded"
    assert found.names("shape")
    assert [p.status for p in found.installed if p.name == "half"] == ["loaded"]
    assert "half/line" in found.names("law")


def test_a_plugin_that_fails_later_takes_along_what_it_brought(fake_plugins):
    fake_plugins.add("half", HALF)
    found = get_registry()
    assert found.find("law", "half/line")
    assert not [name for name in found.names("claim") if name.startswith("half/")]
    with pytest.raises(UnknownNameError, match=r"plugin half \(fake-half 1.0\) is failed: OSError: disk"):
        found.find("law", "half/line")
    assert (plugin("half").status, plugin("half").specs) == ("failed", ())


def test_a_listing_shows_nothing_of_a_plugin_that_it_calls_failed(fake_plugins, command_copied):
    fake_plugins.add("half", HALF)
    done = command_copied("laws", "list", "--json")
    assert "half/line" not in done.stdout
    assert "plugin half (fake-half 1.0) failed: OSError: disk" in done.stdout


def test_strict_calls_every_hook_at_once(fake_plugins, monkeypatch):
    fake_plugins.add("half", HALF)
    monkeypatch.setenv("FORECAST_STRICT", "1")
    with pytest.raises(PluginError, match=r"plugin half \(fake-half 1.0\): OSError: disk"):
        get_registry()


def test_a_hook_that_asks_for_its_own_kind_fails_and_the_rest_goes_on(fake_plugins):
    ask = "    import forecast\n    return [forecast.law('{}')] and []\n"
    fake_plugins.add("circle", HEAD + "def forecast_laws():\n" + ask.format("sound/line"))
    fake_plugins.add("onward", HEAD + "def forecast_shapes():\n" + ask.format("sound/line"))
    fake_plugins.add("sound", good())
    assert get_registry().find("law", "sound/line")
    assert plugin("circle").reason.endswith("asks for every law while its own are not known yet")
    assert plugin("onward").status == "loaded"


def test_an_interrupt_while_loading_is_not_taken_for_a_failure(fake_plugins):
    fake_plugins.add("slow", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        get_registry()


def test_a_distribution_without_metadata_is_still_listed(fake_plugins):
    fake_plugins.add("bare", good())
    for file in fake_plugins.folder.glob("*.dist-info/METADATA"):
        file.unlink()
    assert plugin("bare").status == "loaded"
    assert plugin("bare").distribution == "?"


@pytest.mark.parametrize("how", ["folder", "latin-1"])
def test_a_distribution_whose_entry_points_cannot_be_read_is_listed(fake_plugins, how):
    fake_plugins.add("good", good())
    fake_plugins.add("broken", good())
    (entries,) = fake_plugins.folder.glob("fake_broken-*.dist-info/entry_points.txt")
    entries.unlink()
    if how == "folder":
        entries.mkdir()
    else:
        entries.write_bytes(b"[forecast.plugins]\nbr\xf6ken = x\n")
    assert plugin("good").status == "loaded"
    broken = plugin("fake_broken")
    assert broken.status == "failed"
    assert "entry_points.txt, cannot be read" in broken.reason


def test_the_name_of_an_entry_point_is_checked():
    found = Registry([EntryPoint("Bad Name\x1b[2J", "json", registry.ENTRY_POINT_GROUP)], select="").plugins
    assert found[0].status == "failed"
    assert "entry point's name" in found[0].reason


@pytest.mark.parametrize(
    ("select", "loaded"),
    [
        ("", {"a", "b", "c"}), (None, {"a", "b", "c"}), ("none", set()), ("a", {"a"}), ("a,b", {"a", "b"}),
        ("-a", {"b", "c"}), ("a,b,-a", {"b"}), (" a , b ", {"a", "b"}),
    ],
)  # fmt: skip
def test_bad_input_082_selection(monkeypatch, select, loaded):
    monkeypatch.delenv("FORECAST_PLUGINS", raising=False)
    entries = [EntryPoint(n, "json", registry.ENTRY_POINT_GROUP) for n in "abc"]
    found = Registry(entries, select=select).plugins
    assert {p.name for p in found if p.status == "loaded"} == loaded
    assert all(p.reason == "deselected by FORECAST_PLUGINS" for p in found if p.status == "off")


def test_bad_input_082_an_argument_goes_before_the_environment(monkeypatch):
    monkeypatch.setenv("FORECAST_PLUGINS", "a")
    entries = [EntryPoint(n, "json", registry.ENTRY_POINT_GROUP) for n in "abc"]
    assert [p.status for p in Registry(entries).plugins] == ["loaded", "off", "off"]
    assert [p.status for p in Registry(entries, select="-a").plugins] == ["off", "loaded", "loaded"]


@pytest.mark.parametrize("select", ["alfa", "-alfa", "alpha,alfa"])
def test_bad_input_082_a_misspelt_selection_names_variable_and_nearest(select):
    entries = [EntryPoint(n, "json", registry.ENTRY_POINT_GROUP) for n in ("alpha", "beta")]
    with pytest.raises(UnknownNameError, match=r"^FORECAST_PLUGINS: unknown plugin 'alfa'; did you mean 'alpha'\?"):
        Registry(entries, select=select)


def test_strict_raises_what_would_be_listed(fake_plugins, monkeypatch):
    fake_plugins.add("broken", "1/0")
    monkeypatch.setenv("FORECAST_STRICT", "1")
    with pytest.raises(PluginError, match=r"plugin broken \(fake-broken 1.0\): ZeroDivisionError"):
        get_registry()


def test_a_name_of_a_failed_plugin_says_why_it_is_absent(fake_plugins):
    fake_plugins.add("broken", "1/0")
    with pytest.raises(UnknownNameError, match=r"plugin broken .* is failed: ZeroDivisionError"):
        get_registry().find("law", "broken/line")


@pytest.mark.parametrize("name", [None, 3, ["a"], b"a"])
def test_a_name_that_is_no_text_is_a_usage_error(name):
    with pytest.raises(UsageError, match="expected the name of a law"):
        Registry([], select="").find("law", name)


def test_order_is_by_name_then_distribution(fake_plugins):
    for name, distribution in (("b", "x"), ("a", "y"), ("a", "x")):
        fake_plugins.add(name, good(), distribution=f"fake-{distribution}-{name}")
    mine = [(p.name, p.distribution) for p in get_registry().plugins if p.distribution.startswith("fake-")]
    assert mine == sorted(mine)
    assert len(mine) == 3


@pytest.mark.parametrize("target", ["no_such_module_x:y", "json:no_such_attribute"])
def test_a_target_that_cannot_be_loaded_names_what_wanted_it(target):
    with pytest.raises(PluginError, match=r"^shape trends/x: cannot load '"):
        import_target(target, what="shape trends/x")


def test_loading_a_target_keeps_stdout_clean(fake_plugins, capsys):
    (fake_plugins.folder / "talks.py").write_text("print('hello')\nvalue = 3\n")
    fake_plugins.modules.append("talks")
    assert import_target("talks:value", what="test") == 3
    assert capsys.readouterr().out == ""


def test_the_registry_is_loaded_once(fake_plugins):
    fake_plugins.add("demo", good())
    assert get_registry() is get_registry()
    assert "fake_demo_fake_demo" in sys.modules


def test_records_are_registered_without_a_module_and_a_script_is_called_as_its_file_is(tmp_path):
    law = forecast.LawSpec(name="half", title="Half", expression="a*x/2", variables={"x": ""}, reference="ours")
    quantity = forecast.QuantitySpec(name="speed", title="Speed", unit="m/s", definition="How fast.", reference="ours")
    try:
        assert forecast.register(law, quantity, name="halves") == ["halves/half", "halves/speed"]
        assert forecast.law("halves/half").text == "y = a*x/2"
        forecast.register(replace(law, expression="a*x/3"), name="halves")  # in the place of both
        assert forecast.law("halves/half").text == "y = a*x/3"
        with pytest.raises(UnknownNameError):
            get_registry().find("quantity", "halves/speed")
    finally:
        forecast.unregister("halves")
    for wrong in ((), (law, "no record"), (1, 2)):
        with pytest.raises(UsageError, match="expected one module, or records"):
            forecast.register(*wrong)
    script = tmp_path / "my_laws.py"
    script.write_text(
        "import __main__, forecast\n@forecast.hookimpl\ndef forecast_laws():\n    yield forecast.LawSpec(name='a', "
        "title='A', expression='a*x', variables={'x': ''}, reference='r')\nprint(forecast.register(__main__))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "['my-laws/a']\n"
