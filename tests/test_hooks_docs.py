from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from forecast.contract import hookspecs
from forecast.contract.registry import HOOKS, get_registry

PAGE = (Path(__file__).parent.parent / "docs" / "hooks.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (forecast_\w+)\n(.*?)(?=^## )", PAGE, flags=re.MULTILINE | re.DOTALL))


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)


def test_every_hook_has_a_section_and_every_section_a_hook():
    assert list(SECTIONS) == list(HOOKS)
    assert set(HOOKS) == {n for n, v in vars(hookspecs).items() if hasattr(v, "forecast_spec")}


@pytest.mark.parametrize("hook", HOOKS)
def test_the_signature_on_the_page_is_the_hooks(hook):
    signature = str(inspect.signature(getattr(hookspecs, hook))).replace("'", "")
    assert blocks(SECTIONS[hook], "text") == [f"{hook}{signature}\n"]
    assert f"[{HOOKS[hook].__name__}]" in signature
    assert "()" in signature


@pytest.mark.parametrize("hook", HOOKS)
def test_the_example_on_the_page_is_a_plugin_that_loads(hook, fake_plugins):
    (source,) = blocks(SECTIONS[hook], "python")
    fake_plugins.add("example", source)
    (plugin,) = get_registry().plugin("example")
    assert (plugin.status, plugin.reason) == ("loaded", "")
    assert plugin.specs
    assert all(isinstance(spec, HOOKS[hook]) for spec in plugin.specs)


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_asks_a_question_and_has_an_example(hook):
    text = inspect.getdoc(getattr(hookspecs, hook))
    assert text.splitlines()[0].split("?")[0].startswith(("Which ", "What "))
    assert ">>> " in text
