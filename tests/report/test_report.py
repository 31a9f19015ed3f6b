"""Sentences, tables and figures from a projection."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import forecast
from forecast.base.netcdf import save
from forecast.errors import ForecastError, UsageError
from forecast.report import figures, summary

SVG = "{http://www.w3.org/2000/svg}"


def parity(**options):
    return forecast.project("brain-parity", **{"until": 2100, "draws": 200, **options})


@pytest.fixture(scope="module")
def run():
    return parity()


# --- sentences --------------------------------------------------------------------------------------------------------


def small(quantities, when="x >= limit", **options):
    made = {"title": "When?", "start": 2025, "until": 2040, "quantities": quantities}
    if when:
        made["questions"] = {"q": {"when": when, "title": "x reaches its limit"}}
    return forecast.project(made, **{"draws": 400, **options})


def growing(limit):
    data = {"t": [2000.0, 2001.0, 2002.0, 2003.0], "v": [1.0, 2.0, 4.0, 8.0]}
    model = forecast.trend(data, x="t", y="v", unit="FLOP", shape="trends/exponential", name="x")
    return {"x": {"model": model}, "limit": {**limit, "unit": "FLOP"}}


def test_one_combination_is_a_date_with_its_interval():
    said = summary.headline(small(growing({"value": 2.0**30.5})))
    assert said == (
        "In the median draw x reaches its limit in 2030 (90 %: 2030 to 2030; probability of never by 2040: 0.0%)."
    )


def test_already_and_never_are_said_in_words():
    assert summary.headline(small(growing({"value": 1.0}))) == (
        "It is already so at the first step (2025) in 100.0% of the draws that x reaches its limit."
    )
    assert summary.headline(small(growing({"value": 1e30}))) == (
        "More likely than not x reaches its limit never by 2040 (probability of never: 100.0%)."
    )


def test_no_question_is_said_too():
    assert summary.headline(small(growing({"value": 1.0}), when="")) == (
        "When? No question is asked; the quantiles of every quantity follow."
    )


def test_rivals_with_weights_give_one_answer_and_what_moves_it(run):
    said = summary.headline(run)
    assert said.startswith("When the fastest supercomputer matches the brain, with metric = hpcg: ")
    assert "pooled over trend × estimate by their stated weights" in said
    assert "the choice of estimate moves it most" in said


def test_what_moves_nothing_is_not_blamed():
    made = parity(set={"estimate": "kurzweil-2005,carlsmith-2020", "metric": "linpack"})
    assert "moves it most" not in summary.headline(made)


def test_combinations_that_failed_do_not_count():
    then = forecast.project("brain-parity", draws=100, until=2100, as_of=2015.0)  # HPCG had hardly begun
    said = summary.headline(then)
    assert "with metric = linpack" in said
    failed = [r for r in summary.questions(then) if r["choices"]["metric"] != "linpack"]
    assert all(v is None for r in failed for v in r["crossing"].values())
    # the metric cannot move the date where all of its values but one failed
    moves = summary._what_moves(
        then["questions"].to_dataset()["parity"], then["questions"].to_dataset()["parity_never"], 2100
    )
    assert moves["metric"] == 0.0
    assert moves["estimate"] > 5


def test_where_everything_failed_it_cannot_be_said():
    made = {"start": 2025, "until": 2030, "quantities": {"x": {"low": -2, "high": -1, "unit": ""},
            "z": {"value": 1, "unit": ""}}, "questions": {"q": {"when": "log(x) >= z"}}}  # fmt: skip
    tree = forecast.project(made, draws=5)
    assert summary.headline(tree) == "It cannot be said when 'log(x) >= z' holds: every combination of choices failed."


# --- plain data -------------------------------------------------------------------------------------------------------


@pytest.mark.bad_input(55)
def test_bad_input_055_masses_are_probabilities_and_quantiles_monotone(run):
    for row in summary.questions(run):
        crossing = row["crossing"]
        assert set(crossing) == {"p05", "p25", "p50", "p75", "p95", "never", "already", "error"}
        assert 0 <= crossing["never"] <= 1
        assert 0 <= crossing["already"] <= 1
        assert crossing["never"] + crossing["already"] <= 1 + 1e-9
        dates = [crossing[q] for q in ("p05", "p25", "p50", "p75", "p95")]
        known = [d for d in dates if d is not None]
        assert known == sorted(known)
        assert dates == known + [None] * (5 - len(known))
        for share, date in zip((0.05, 0.25, 0.5, 0.75, 0.95), dates, strict=True):
            assert (date is None) == (crossing["never"] > 1 - share + 1e-9)


def test_quantiles_of_quantities_are_those_of_the_draws(run):
    rows = summary.quantities(run)
    assert len(rows) == 12 + 4
    for row in rows:
        assert len(row["time"]) == 74
        bands = np.array([row[q] for q in ("p05", "p25", "p50", "p75", "p95")], dtype=float)
        assert (np.diff(bands, axis=0) >= 0).all()
    (row,) = [r for r in rows if r["name"] == "machine" and r["choices"] == {"metric": "hpcg", "trend": "exponential"}]
    drawn = run["projection"]["machine"].sel(metric="hpcg", trend="exponential").values
    assert row["p50"] == pytest.approx(np.median(drawn, axis=1))
    assert row["unit"] == "TFLOP/s"
    assert row["time"][0] == "2027-01-01"


def test_a_loaded_projection_gives_the_same_answers(run, tmp_path):
    back = forecast.load(save(run, tmp_path / "a.nc"))
    assert summary.headline(back) == summary.headline(run)
    assert summary.questions(back) == summary.questions(run)
    assert summary.quantities(back) == summary.quantities(run)
    assert figures.plot(back, tmp_path / "a.svg").read_bytes() == figures.plot(run, tmp_path / "b.svg").read_bytes()


def test_infinite_levels_are_null():
    made = {
        "start": 2025,
        "until": 2026,
        "quantities": {"x": {"value": 1e6, "unit": ""}, "y": {"expression": "exp(x)"}},
    }
    (row,) = [r for r in summary.quantities(forecast.project(made, draws=3)) if r["name"] == "y"]
    assert row["p50"] == [None, None]


# --- figures ----------------------------------------------------------------------------------------------------------


def texts(path):
    return [t for e in ET.parse(path).iter(f"{SVG}text") if (t := "".join(e.itertext()).strip())]


def test_a_figure_has_panels_points_medians_and_bands(run, tmp_path):
    path = figures.plot(run, tmp_path / "a.svg")
    shown = texts(path)
    for metric in ("hpcg", "linpack", "ai-cluster"):
        for trend in ("pool", "exponential", "changepoint", "random-walk"):
            assert f"metric = {metric}, trend = {trend}" in shown
    assert shown.count("observed") == 12
    assert "machine" in shown
    assert "brain dettmers-2015" in shown
    assert "FLOP/s" in shown
    assert any(t.startswith("1e1") for t in shown)  # a log axis
    bands = [e for e in ET.parse(path).iter(f"{SVG}g") if (e.get("id") or "").startswith("FillBetween")]
    assert len(bands) == 12 * 5 * 2  # twelve panels, machine and four estimates, 50 and 90 %


def test_an_axis_of_few_decades_is_labelled_in_plain_text(tmp_path):
    """matplotlib's own labels between powers of ten are TeX, which figures do not write."""
    narrow = {
        "start": 2025, "until": 2026, "questions": {"q": {"when": "x >= y"}},
        "quantities": {"x": {"low": 20, "high": 70, "unit": ""}, "y": {"low": 11, "high": 60, "unit": ""}},
    }  # fmt: skip
    shown = texts(figures.plot(forecast.project(narrow, draws=200), tmp_path / "line.svg"))
    assert not [t for t in shown if "$" in t or "mathdefault" in t]
    assert {"20", "50"} <= set(shown)
    chosen = {"memory": 24, "budget": 3000}
    shown = texts(figures.plot(forecast.project("gpu-choice", draws=100, set=chosen), tmp_path / "choice.svg"))
    assert not [t for t in shown if "$" in t or "mathdefault" in t]
    assert {"0.1", "0.5"} <= set(shown)


@pytest.mark.parametrize(("ending", "other"), [("svg", "SVG"), ("png", "png"), ("pdf", "pdf")])
def test_equal_projections_give_equal_files(tmp_path, ending, other):
    options = {"draws": 40, "set": {"metric": "hpcg", "trend": "exponential,changepoint"}}
    a, b = (figures.plot(parity(**options), tmp_path / n).read_bytes() for n in (f"a.{ending}", f"b.{other}"))
    assert a == b
    assert len(a) > 5000


@pytest.mark.bad_input(24)
def test_bad_input_023_024_hostile_names_are_text_in_a_figure(tmp_path):
    title = '<script>alert(1)</script>"><img src=x onerror=alert(1)> $x^$ \\frac{ \x1b[2J \u202e %'
    made = {
        "title": title,
        "start": 2025,
        "until": 2030,
        "choices": {"c": ["kurzweil-2005", "carlsmith-2020"]},
        "quantities": {"x": {"model": "brain/{c}"}, "y": {"value": 1e15, "unit": "FLOP/s"}},
        "questions": {"q": {"when": "x >= y", "title": title}},
    }
    run = forecast.project(made, draws=10)
    # a choice value may be any text once a plugin offers a model of that name
    coords = {"c": ["<script>alert(2)</script>", "$\\alpha_{$ ]]> &amp;"]}
    for group in ("projection", "questions"):
        run[group] = run[group].to_dataset().assign_coords(coords)
    path = figures.plot(run, tmp_path / "a.svg")
    raw = path.read_text()
    assert "<script" not in raw
    assert "<img" not in raw
    assert "\x1b" not in raw
    assert "\u202e" not in raw
    shown = " ".join(texts(path))  # it parses, and the text is what was written
    assert "<script>alert(1)</script>" in shown
    assert "$x^$" in shown
    assert "c = <script>alert(2)</script>" in shown
    assert "$\\alpha_{$" in shown
    assert "\\x1b[2J" in shown


@pytest.mark.parametrize("name", ["a.txt", "a", "a.svg.nc", ".svg", "a.jpg", "svg"])
def test_another_ending_is_refused(run, tmp_path, name):
    with pytest.raises(UsageError, match=r"expected a figure file that ends in \.svg, \.png, \.pdf"):
        figures.plot(run, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_figure_is_written_whole_or_not_at_all(run, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    path = tmp_path / "a.svg"
    path.write_text("what was here")

    def fails(self, target, **options):
        target.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fails)
    with pytest.raises(ForecastError, match=r"a\.svg: cannot write: no space left"):
        figures.plot(run, path)
    assert path.read_text() == "what was here"
    assert [p.name for p in tmp_path.iterdir()] == ["a.svg"]


def test_figures_of_odd_projections(tmp_path, recwarn):
    failed = forecast.project("brain-parity", draws=20, until=2040, as_of=2015.0)
    far = parity(draws=20, until=3000, set={"metric": "linpack"})
    negative = small({"x": {"low": -1, "high": 1, "unit": "FLOP"}, "limit": {"value": 0, "unit": "FLOP"}})
    none = small(growing({"value": 1.0}), when="")
    numbers = small({"x": {"low": 1, "high": 2, "unit": ""}}, when="x >= 1.5")
    endless = {
        "start": 2025,
        "until": 2026,
        "quantities": {"x": {"value": 1e6, "unit": ""}, "y": {"expression": "exp(x)"}},
        "questions": {"q": {"when": "y >= x"}},
    }
    infinite = forecast.project(endless, draws=5)
    for i, tree in enumerate((failed, far, negative, none, numbers, infinite)):
        ET.parse(figures.plot(tree, tmp_path / f"{i}.svg"))
    assert [str(w.message) for w in recwarn] == []


def test_the_settings_of_matplotlib_are_left_alone(tmp_path):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    figures.plot(small({"x": {"low": 1, "high": 2, "unit": ""}}, when="x >= 1.5"), tmp_path / "a.svg")
    assert dict(mpl.rcParams) == before


def test_attributes_are_json_text(run):
    assert summary.attribute(run, "seed") == 0
    assert all(json.loads(v) is not ... for v in run.attrs.values())
