"""Plugins that look sound and are not: each is caught, with words that say what is wrong."""

from __future__ import annotations

import pytest

from forecast.testing import run_checks


def failures(plugin: str) -> dict[str, str]:
    return {o.label: o.message for o in run_checks(plugin) if not o.ok}


SHAPE = """
import numpy as np
from forecast.models import Description, FittedShape, Shape

class Line(FittedShape):
    def __init__(self, time, value):
        self.origin = time.mean()
        x = time - self.origin
        self.growth, self.level = np.polyfit(x, np.log(value), 1)
        self.scatter = np.std(np.log(value) - self.level - self.growth * x, ddof=2)
        self.error = self.scatter / len(x)**0.5, self.scatter / (x @ x)**0.5

    def posterior(self, streams):
        z = streams("parameters").standard_normal((2, streams.draws))
        return {"level": self.level + self.error[0] * z[0], "growth": self.growth + self.error[1] * z[1]}

    def sample(self, time, streams, *, observed=False):
        drawn = self.posterior(streams)
        level = drawn["level"] + drawn["growth"] * (time[:, None] - self.origin)
        if observed:
            level = level + self.scatter * streams("noise").standard_normal(level.shape)
        return np.exp(level)

    def central(self, time):
        return np.exp(self.level + self.growth * (time - self.origin))

    def describe(self):
        return Description(summary="a line")

class Constant(Line):
    def sample(self, time, streams, *, observed=False):
        return np.full((len(time), streams.draws), 42.0)

class WideConstant(Line):
    def sample(self, time, streams, *, observed=False):
        return np.exp(20 * streams("noise").standard_normal((len(time), streams.draws)))

class Certain(Line):
    def __init__(self, time, value):
        super().__init__(time, value)
        self.scatter, self.error = 1e-9, (1e-9, 1e-9)

class Narrowing(Line):
    def __init__(self, time, value):
        super().__init__(time, value)
        self.last = time[-1]

    def sample(self, time, streams, *, observed=False):
        level = np.log(super().sample(time, streams))
        if observed:
            beyond = np.where(time[:, None] > self.last, 0.01, 1.0)
            level = level + self.scatter * beyond * streams("noise").standard_normal(level.shape)
        return np.exp(level)

    def posterior(self, streams):
        return {"level": np.full(streams.draws, self.level), "growth": np.full(streams.draws, self.growth)}

class Negative(Line):
    def sample(self, time, streams, *, observed=False):
        return super().sample(time, streams, observed=observed) - 1e20

class Raising(Line):
    def __init__(self, time, value):
        raise ArithmeticError("no line")

class Fits(Shape):
    def __init__(self, how):
        self.how = how

    def fit(self, time, value, *, frontier=False, seed=0):
        return self.how(time, value)
"""


@pytest.fixture
def shape(fake_plugins):
    """Install a shape of this class beside the sound one."""

    def add(name: str, more: str = "") -> dict[str, str]:
        made = f"class Made(Fits):\n    def __init__(self):\n        self.how = {name}\n"
        (fake_plugins.folder / "kit_shape.py").write_text(SHAPE + made)
        fake_plugins.modules.append("kit_shape")
        fake_plugins.add(
            "kit",
            f"def forecast_shapes():\n    yield ShapeSpec(name='s', target='kit_shape:Made', reference='r')\n{more}",
        )
        return failures("kit")

    return add


def test_a_sound_shape_passes(shape):
    assert shape("Line") == {}


@pytest.mark.parametrize(
    ("name", "check", "says"),
    [
        ("Constant", "its band holds what it saw", "holds 0 of the last 10 observations of its own series"),
        ("Constant", "reads its series", "draws the same numbers whatever series it is fitted to"),
        ("WideConstant", "reads its series", "draws the same numbers whatever series it is fitted to"),
        ("Certain", "its band holds what it saw", "holds 0 of the last 10 observations of its own series"),
    ],
)
def test_a_shape_whose_band_is_none_is_caught(shape, name, check, says):
    assert says in shape(name)[f"shape s: {check}"]


def test_a_shape_that_is_surer_of_what_comes_than_of_what_it_saw_is_caught(shape):
    found = shape("Narrowing")
    assert list(found) == ["shape s: recovers what it simulates"]
    says = "fitted to 20 series that it simulates itself, its band of one observation (90 %) holds the next one of "
    assert says in found["shape s: recovers what it simulates"]


def test_an_exception_in_a_shape_says_file_and_line(shape, fake_plugins):
    found = shape("Raising")
    code = fake_plugins.folder / "kit_shape.py"
    (line,) = (n for n, text in enumerate(code.read_text().splitlines(), 1) if "no line" in text)
    assert set(found.values()) == {f"ArithmeticError: no line ({code}, line {line})"}


def test_an_exception_at_import_says_file_and_line(fake_plugins):
    module = fake_plugins.add("kit", "import os\n\n1/0")
    assert failures("kit")["loads"].endswith(f"division by zero ({fake_plugins.folder / module}.py, line 3)")


def test_an_exception_in_a_target_at_import_says_file_and_line(fake_plugins):
    code = fake_plugins.folder / "kit_broken.py"
    code.write_text("x = 1\ndef :")
    fake_plugins.modules.append("kit_broken")
    fake_plugins.add(
        "kit",
        "def forecast_scores():\n    yield ScoreSpec(name='c', target='kit_broken:f', reference='r')\n",
    )
    assert failures("kit")["score c: its code loads"].endswith(f"({code}, line 2)")


SERIES = """
def forecast_models():
    yield TrendSpec(name="bandwidth", unit="TFLOP/s", table="datasets/supercomputers", x="date", y="rmax_top1",
                    shape="kit/s", reference="r")
"""


@pytest.mark.filterwarnings("ignore:invalid value encountered in log")  # it is fitted to its own draws
@pytest.mark.parametrize(("name", "sound"), [("Line", True), ("Negative", False)])
def test_a_model_of_a_positive_series_that_draws_negative_values_is_caught(shape, name, sound):
    found = shape(name, SERIES)
    assert (
        "model bandwidth: keeps what it declares" not in found
        if sound
        else ("everything it observed is positive: 0 at the least" in found["model bandwidth: keeps what it declares"])
    )


SCENARIO = """
from pathlib import Path

def make(name, spec):
    raise LookupError("no such machine")

def forecast_models():
    yield ModelSpec(name="bad", unit="FLOP/s", target=f"{__name__}:make", reference="r")

def forecast_scenarios():
    yield ScenarioSpec(name="s", path=str(Path(__file__).parent / "s.toml"), reference="r")
"""


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("hardware/linpack", None),
        ("hardware/linpak", "unknown model 'hardware/linpak'; did you mean 'hardware/linpack'?"),
        ("kit/bad", "model 'kit/bad': LookupError: no such machine"),
        ("{m}", "1 of its parts cannot be had: x (m = kit/bad): model 'kit/bad': LookupError: no such machine"),
    ],
)
def test_every_scenario_is_run(fake_plugins, model, says):
    choices = '[choices]\nm = ["hardware/linpack", "kit/bad"]\n' if "{" in model else ""
    body = f'start = 2026\nuntil = 2030\n{choices}[quantities.x]\nmodel = "{model}"\n'
    (fake_plugins.folder / "s.toml").write_text(body)
    fake_plugins.add("kit", SCENARIO)
    found = failures("kit")
    found = {label: message for label, message in found.items() if label.startswith("scenario")}
    assert found == {} if says is None else says in found["scenario s: runs at 64 worlds"], found


CLAIM = """
def forecast_claims():
    yield ClaimSpec(name="dozen", group="demo", statement="a dozen is 14", stated="14", formula="n*{times}",
                    values={{"n": 3}}, note="{note}", reference="r")
"""


@pytest.mark.parametrize(
    ("times", "note", "says"),
    [
        ("4", "", "computes 12 where 14 is stated, and its note does not say why"),
        ("4", "a baker's dozen has one more", None),
        ("k", "", "cannot be computed"),
    ],
)
def test_a_claim_that_disagrees_says_so(fake_plugins, times, note, says):
    fake_plugins.add("kit", CLAIM.format(times=times, note=note))
    found = failures("kit")
    assert found == {} if says is None else says in found["claim dozen: computes, and says where it disagrees"]
