"""Every public name works first in a process of its own, and every public attribute of what people hold in their hands.

What cannot be had says so in a sentence: an error of ours, and none of Python's from the inside of the package.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forecast
from forecast.errors import ForecastError, UsageError

ROOT = Path(__file__).parents[1]


def run_alone(code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **options)


# --- the front door ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code", ["import forecast; forecast.scores.crps", "from forecast import *; scores.crps; project; ForecastWarning"]
)
def test_names_come_in_a_fresh_process(code):
    out = run_alone(code)
    assert out.returncode == 0, out.stderr


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("part", range(4))
def test_every_name_comes_first_in_a_process_of_its_own(part):
    names = sorted(forecast.__all__)[part::4]
    code = f"""
import os, forecast
for name in {names!r}:
    child = os.fork()
    if not child:
        getattr(forecast, name)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
"""
    out = run_alone(code)
    assert out.returncode == 0, out.stderr


def test_a_question_takes_the_options_of_a_run_and_their_types():
    from forecast.api.options import GridOptions, RunOptions

    taken = inspect.signature(forecast.project).parameters
    for options in (RunOptions, GridOptions):
        for name, hint in options.__annotations__.items():
            stated = hint.__forward_arg__.replace("object", "Any")
            assert taken[name].annotation.removesuffix(" | None") == stated.removesuffix(" | None"), name


def test_every_attribute_of_a_public_class_says_what_it_is():
    for kind in (each for name in forecast.__all__ if inspect.isclass(each := getattr(forecast, name))):
        own = [each for each in kind.__mro__ if each.__module__.partition(".")[0] == "forecast"]
        said = " ".join(filter(None, (each.__doc__ for each in own)))
        for name in {name for each in own for name in vars(each) if not name.startswith("_")}:
            found = inspect.getattr_static(kind, name)
            described = inspect.isroutine(found) or hasattr(type(found), "__get__")  # else its doc is that of its type
            assert re.search(rf"\b{name}\b", said) or (described and found.__doc__), (kind, name)


# --- what people hold in their hands ----------------------------------------------------------------------------------


def simple_objects() -> Iterator[tuple[str, Any]]:
    """Walk objects that are soon made."""
    spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    span = {"start": 2025, "until": 2030, "draws": 100}
    reached = spend >= 2e8
    answers = {
        "when": reached.when(**span),
        "value": forecast.ask(value=spend, dates=[2026], **span),
        "first": forecast.ask(first={"low": reached, "high": spend >= 3e8}, **span),
    }
    ranked = forecast.scenario(
        {
            "start": 2025, "until": 2027, "choices": {"e": ["dettmers-2015", "carlsmith-2020"]},
            "quantities": {"x": {"model": "brain/{e}"}}, "questions": {"best": {"rank": "x", "over": "e"}},
        }
    )  # fmt: skip
    answers["rank"] = ranked.ask("best", draws=100)
    yield "quantity", spend
    yield "condition", reached
    yield "scenario", ranked
    answers["sweep"] = answers["when"].sweep(spend=[1e8, 3e8])
    yield "quantity of a projection", answers["when"].run.quantities["spend"]
    yield "what a model says of itself", forecast.model("brain/dettmers-2015").fit().describe()
    for kind, answer in answers.items():
        yield f"answer, {kind}", answer
        yield f"result, {kind}", answer.result
        yield f"projection, {kind}", answer.run
    law = forecast.law("scaling/chinchilla")
    yield "law", law
    yield "published fit", law.published("besiroglu2024")
    yield "catalogue", forecast.catalogue("law")
    estimate = forecast.model("brain/dettmers-2015")
    yield from (("estimate", estimate), ("its model", estimate.model), ("its fitted model", estimate.fit()))
    x = np.linspace(1, 9, 9)
    yield "fit", forecast.Law("a + b*x", variables=["x"]).fit({"x": x, "y": 2 * x}, y="y")
    yield "quantity of the world", forecast.quantity("largest-run")


def larger_objects() -> Iterator[tuple[str, Any]]:
    """Walk those that are fitted or drawn from data."""
    x = np.geomspace(1, 100, 20)
    y = 2 + 3 * x**-0.5 * np.exp(0.02 * np.random.default_rng(0).standard_normal(20))
    law = forecast.Law("E + A*x**-a", variables=["x"])
    yield "fit", law.fit({"x": x, "y": y}, y="y")
    curves = {"x": np.tile(x, 2), "y": np.concatenate([y, 1.1 * y]), "curve": np.repeat(["p", "q"], 20)}
    yield "fits", law.fit(curves, y="y", by="curve")
    yield "extrapolation", forecast.extrapolate(x, y, 1e4)
    run = forecast.project("brain-parity", draws=64)
    yield "projection", run
    yield "result", run.answers["parity"]
    yield "scenario", forecast.scenario("brain-parity")
    for name in ("hardware/hpcg", "brain/dettmers-2015"):
        yield f"model {name}", forecast.model(name)
        yield f"fitted model {name}", forecast.model(name).fit()
    users = {"date": 2000 + np.arange(20.0), "users": 2.0 ** np.arange(20)}
    yield "trend", forecast.trend(users, x="date", y="users", shape="trends/exponential")
    yield "protocol", forecast.protocol("besiroglu2024")
    scored, plan = forecast.backtest(users, x="date", y="users"), forecast.plan(budget="20M USD", draws=128)
    assert not scored.sel(model="drift").sentence
    for each in (scored, plan):
        shown = repr(each), each._repr_html_().removeprefix("<p><strong>")
        assert all(text.startswith(each.sentence) for text in shown)
    yield "plan", plan


def needs_nothing(call: Callable[..., Any]) -> bool:
    """Tell whether something can be called as it stands."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except ValueError:
        return False
    given = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(each.default is not each.empty or each.kind in given for each in parameters)


def touch(name: str, thing: Any) -> Iterator[str]:
    """Read every public attribute, call what needs no argument, and yield what raises an error that is not ours."""
    for attribute in [a for a in dir(thing) if not a.startswith("_")]:
        try:
            value = getattr(thing, attribute)
            if inspect.ismethod(value) and needs_nothing(value):
                value()
        except ForecastError as error:
            if not str(error).strip():
                yield f"{name}.{attribute}: an error without a sentence"
        except Exception as error:
            yield f"{name}.{attribute}: {type(error).__name__}: {error}"
    if re.search(r" at 0x|array\(|^\w+\(\w+=", repr(thing)):
        yield f"{name}: shows its fields and not what it says: {repr(thing)[:200]}"
    for show in (repr, str, lambda each: getattr(each, "_repr_html_", str)()):
        try:
            show(thing)
        except Exception as error:
            yield f"{name}: cannot be shown: {type(error).__name__}: {error}"


def main(which: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    warnings.simplefilter("error", RuntimeWarning)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        objects = simple_objects() if which == "simple" else larger_objects()
        found = [line for name, thing in objects for line in touch(name, thing)]
        os.chdir(ROOT)
    sys.exit("\n".join(found) or 0)


@pytest.mark.parametrize("which", ["simple", pytest.param("larger", marks=pytest.mark.slow)])
def test_every_public_attribute_works_or_says_why_not(which):
    out = subprocess.run([sys.executable, __file__, which], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr


def undocumented(owner: type) -> Iterator[str]:
    """Walk the public attributes of a class that neither have a docstring nor stand in that of a class."""
    ours = [each for each in owner.__mro__ if each.__module__.startswith("forecast")]
    told = "\n".join(inspect.getdoc(each) or "" for each in ours)
    for name in {n for each in ours for n in (*vars(each), *vars(each).get("__annotations__", {}))}:
        member = inspect.getattr_static(owner, name, None)
        member = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
        stands = re.search(rf"^(?:\w+, )*{name}(?:, \w+)*(?: : |$)", told, re.M) or f"`{name}`" in told
        if not name.startswith("_") and not stands and not (callable(member) and member.__doc__):
            yield f"{owner.__name__}.{name}"


def test_every_public_attribute_is_documented():
    owners = [each for each in (getattr(forecast, name) for name in forecast.__all__) if inspect.isclass(each)]
    assert len(owners) > 30
    assert not sorted({line for owner in owners for line in undocumented(owner)})


def test_a_word_of_another_library_is_answered_with_ours():
    spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    said = {
        "conf_int": (fit, "write fit.interval"), "evaluate": (fit.law, "write law.value"),
        "plot": (spend, "write forecast.ask"), "median": (spend >= 2e8, "CONDITION.when"),
        "allocat": (fit, "did you mean 'allocate'"), "curve_fit": (forecast, "write forecast.law"),
        "parity": (forecast.scenario("brain-parity"), "write scenario.ask"),
    }  # fmt: skip
    for word, (thing, ours) in said.items():
        with pytest.raises(AttributeError, match=f"'{word}'.*{ours}"):
            getattr(thing, word)


def test_one_number_is_asked_for_at_a_time():
    spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    answer = (spend >= 2e8).when(start=2025, until=2030, draws=100)
    for ask in (answer.quantile, answer.interval, answer.probability):
        for wrong in ([0.1, 0.9], "half", None, True):
            with pytest.raises(UsageError, match=r"expected (?:one|a date)"):
                ask(wrong)


def test_a_budget_may_be_given_without_its_name():
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    assert float(fit.allocate(1e24).N) == float(fit.allocate(compute=1e24).N)
    with pytest.raises(UsageError, match="expected a fit to compare with, got str"):
        fit.speedup("scaling/chinchilla", compute=1e24)


if __name__ == "__main__":
    main(sys.argv[1])
