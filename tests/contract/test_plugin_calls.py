from __future__ import annotations

import sys
import threading

import pytest

from forecast import law
from forecast.contract import plugin_calls
from forecast.errors import FitError, PluginContractError, PluginError


def raises(error):
    raise error


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(0), RecursionError(), MemoryError()])
def test_what_foreign_code_raises_names_it(error):
    with pytest.raises(PluginError, match=f"^model 'demo/x': {type(error).__name__}"):
        plugin_calls.call_guarded("model 'demo/x'", lambda: raises(error))


@pytest.mark.parametrize(("error", "says"), [(FitError("too few"), r"^too few$"), (KeyboardInterrupt(), r"^$")])
def test_our_own_errors_and_the_users_interrupt_pass(error, says):
    with pytest.raises(type(error), match=says):
        plugin_calls.call_guarded("model 'demo/x'", lambda: raises(error))


def test_bad_input_068_what_foreign_code_prints_goes_to_stderr(capsys):
    plugin_calls.call_guarded("x", lambda: print("hello"))
    assert capsys.readouterr() == ("", "hello\n")


@pytest.mark.parametrize("first_out", ["the other", "mine"])
def test_calls_of_two_threads_that_overlap_leave_stdout_where_it_was(capsys, first_out):
    """Each put back what it had found: the later one the stderr of the earlier one, and results went there."""
    inside, go_on = threading.Event(), threading.Event()

    def waits():
        inside.set()
        assert go_on.wait(20)

    other = threading.Thread(target=plugin_calls.call_guarded, args=("model 'demo/other'", waits))
    before = sys.stdout
    other.start()
    assert inside.wait(20)

    def mine():
        print("of the plugin")
        if first_out == "the other":
            go_on.set()
            other.join(20)

    plugin_calls.call_guarded("model 'demo/mine'", mine)
    go_on.set()
    other.join(20)
    assert sys.stdout is before
    print("a result")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("a result\n", "of the plugin\n")


RUBBISH = '''"""A plugin for tests."""
import numpy as np

def value(parameters, x):
    return {value}

def forecast_laws():
    yield LawSpec(name="odd", variables={{"x": ""}}, target=f"{{__name__}}:value", reference="test",
                  example={{"a": 1.0}}, domain={{"x": (1.0, 9.0)}})
'''


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("None", "object, expected real numbers"),
        ("'text'", "<U4, expected real numbers"),
        ("1j * x", "complex128, expected real numbers"),
        ("(i for i in x)", "object, expected real numbers"),
        ("x > 1", "bool, expected real numbers"),
        ("np.ones(7)", "an array of shape (7,), expected (3,)"),
    ],
)
def test_bad_input_064_what_a_laws_code_returns_is_held_to_the_contract(fake_plugins, value, said):
    fake_plugins.add("bad", RUBBISH.format(value=value))
    with pytest.raises(PluginContractError) as caught:
        law("bad/odd").value({"a": 1.0}, x=[1.0, 2.0, 3.0])
    assert str(caught.value) == f"law 'bad/odd': its code returned {said}"


@pytest.mark.parametrize(
    ("value", "said"), [("x.__imul__(2)", "ValueError: .*read-only"), ("bytearray(1 << 45)", "MemoryError")]
)
def test_what_a_laws_code_raises_in_a_fit_names_the_law(fake_plugins, value, said):
    fake_plugins.add("bad", RUBBISH.format(value=value))
    with pytest.raises(PluginError, match=f"^law 'bad/odd': its code: {said}"):
        law("bad/odd").fit({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.1]}, start={"a": 1.0})
