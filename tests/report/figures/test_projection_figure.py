"""The figure of a projection: what is drawn where, in which order, and what a hostile name may not do."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import forecast
from forecast import units
from forecast.base import plot_style
from forecast.errors import ForecastError, ForecastWarning, UsageError
from forecast.projection.result import Projection
from forecast.projection.result.observed_values import observed_points
from forecast.report import figures
from forecast.report.brief import brief
from forecast.report.figures import fan_chart, interval_rows, projection_figure
from forecast.report.figures.projection_figure import compose
from forecast.report.headline import driver_labels, opening_sentence
from forecast.report.words.number_text import percent, scale_of
from toolkit import growing, parity, small

SVG = "{http://www.w3.org/2000/svg}"


def uncertain(low, high):
    return {"x": {"expression": "a*(t - 2024)", "unit": ""}, "a": {"p05": low, "p95": high, "unit": ""}}


def texts(path):
    return [t for e in ET.parse(path).iter(f"{SVG}text") if (t := "".join(e.itertext()).strip())]


def axes_of(tree, **options):
    with plot_style.style():
        return compose(tree, **options).axes


# --- what is drawn ----------------------------------------------------------------------------------------------------


def test_a_figure_has_answers_trajectories_and_what_moves_them(run, tmp_path):
    shown = texts(figures.plot_projection(run, tmp_path / "a.svg"))
    for label in ("metric", "trend", "changepoint", "estimate", "Dettmers 2015", "already"):
        assert label in shown
    assert [text for text in shown if text.startswith("not by ")] == ["not by 2100"]
    # of the answer, and of the trajectories
    assert [shown.count(panel) for panel in ("HPCG", "LINPACK", "AI 16-bit peak")] == [1, 2, 2]
    for once in ("median, 50, 90 % of worlds", "50 and 90 % band", "brain", "observed", "median date"):
        assert shown.count(once) == 1
    assert shown.count("the fastest supercomputer") == 1
    assert "FLOP/s" in shown
    assert "share of variance" in shown
    assert run.title not in " ".join(shown)
    assert opening_sentence(run) not in " ".join(shown)


@pytest.mark.slow
def test_a_panel_alone_is_that_of_the_whole(run):
    whole = axes_of(run)
    for panel, place in (("dates", slice(0, 1)), ("path", slice(1, 4)), ("drivers", slice(4, 5))):
        for alone, beside in zip(axes_of(run, panel=panel), whole[place], strict=True):
            assert [[*line.get_xdata()] for line in alone.lines] == [[*line.get_xdata()] for line in beside.lines]
            assert alone.get_title("left").strip() == beside.get_title("left").strip()


def test_the_dots_are_those_of_the_text_in_its_order(run):
    (group,) = brief(run).groups
    axis = axes_of(run)[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == [row.label for row in group.rows]
    places = [float(place) for place in axis.get_yticks()]
    marks = {line.get_ydata()[0]: line.get_xdata()[0] for line in axis.lines if line.get_marker() in ("o", "D")}
    assert marks == {place: row.spread.median for place, row in zip(places, group.rows, strict=True)}
    headings = [text.get_text() for text in axis.texts if text.get_style() == "italic"]
    assert headings == ["the fastest supercomputer matches the brain on HPCG", "metric", "trend", "estimate"]
    never = next(beside for beside in interval_rows.share_columns(group) if beside.name.startswith("not by "))
    assert list(never.told) == [percent(row.spread.never).replace("under ", "<") for row in group.rows]


def test_a_range_of_medians_has_ends_and_no_dot():
    made = {
        "title": "t", "start": 2025, "until": 2060, "questions": {"q": {"when": "x >= 12"}},
        "choices": {"c": {"values": ["1", "2"], "kind": "rival"}},
        "quantities": {"x": {"expression": "{c}*(t - 2024)", "unit": ""}},
    }  # fmt: skip
    axis = axes_of(forecast.project(made, draws=20))[0]
    place = axis.get_yticks()[0]
    own = [line for line in axis.lines if set(line.get_ydata()) == {place}]
    assert [list(line.get_xdata()) for line in own if line.get_marker() == "|"] == [[2030, 2036]]
    assert not [line for line in own if line.get_marker() in ("o", "D")]


def test_a_fan_is_what_the_worlds_say_rivals_pooled(run):
    panels = fan_chart.fan_panels(run.answers["parity"], 6)
    assert [panel.title for panel in panels] == ["HPCG", "LINPACK", "AI 16-bit peak"]
    machine, brain = panels[1].lines
    drawn = run["projection"]["machine"].sel(metric="linpack", trend="pool").values
    drawn = units.convert(drawn, run.quantities["machine"].unit, panels[1].unit)  # that of what it is compared with
    assert machine.levels[2] == pytest.approx(np.median(drawn, axis=1), rel=1e-9)
    assert brain.label == "brain"
    assert machine.dates.min() < 1994
    assert machine.dates.size == machine.values.size > 20
    assert panels[1].answer.median == brief(run).groups[0].rows[1].spread.median


@pytest.mark.slow
def test_the_fitted_past_is_drawn_up_to_the_first_step_and_explained_once(run, tmp_path):
    with plot_style.style():
        figure = compose(run)
    panels = [axis for axis in figure.axes if axis.get_title("left") in ("HPCG", "LINPACK", "AI 16-bit peak")]
    assert len(panels) == 3
    for axis in panels:
        (past,) = (line for line in axis.lines if line.get_label() == "fitted past")
        (path,) = (line for line in axis.lines if line.get_label() == "the fastest supercomputer")
        assert past.get_color() == path.get_color()
        assert past.get_linewidth() < path.get_linewidth()
        joined = [(line.get_xdata()[end], line.get_ydata()[end]) for line, end in ((past, -1), (path, 0))]
        assert joined[0] == pytest.approx(joined[1])
        # a record stands until the next: the line is level or upright
        x, y = past.get_xdata()[:-1], past.get_ydata()[:-1]
        assert ((np.diff(x) == 0) | (np.diff(y) == 0)).all()
        (seen,) = (line for line in axis.lines if line.get_label() == "observed")
        assert set(np.round(np.log(y), 9)) <= set(np.round(np.log(seen.get_ydata()), 9))
    assert texts(figures.plot_projection(run, tmp_path / "a.svg")).count("fitted past") == 1


@pytest.mark.slow
def test_a_saved_projection_is_drawn_with_its_past_and_a_formula_without(tmp_path):
    made = growing({"value": 100})
    made["twice"] = {"expression": "2*x"}
    tree = small(made, draws=64, start=2005)
    again = forecast.load(forecast.save(tree, tmp_path / "p.nc")).run
    files = [figures.plot_projection(each, tmp_path / f"{i}.svg").read_bytes() for i, each in enumerate((tree, again))]
    assert files[0] == files[1]
    (fan,) = fan_chart.fan_panels(again.answers["q"], 6)
    assert fan.lines[0].past.levels[2] == pytest.approx([1, 2, 4, 8])
    (fan,) = fan_chart.fan_panels(small(made, when="twice >= limit", draws=64, start=2005).answers["q"], 6)
    assert fan.lines[0].past is None


def test_rivals_that_are_pooled_have_a_past_where_one_has_all_the_weight():
    made = {
        "title": "t", "start": 2027, "until": 2040, "questions": {"q": {"when": "x >= 10000"}},
        "choices": {"s": {"values": ["exponential", "random-walk"], "kind": "rival", "weights": [1, 0]}},
        "quantities": {"x": {"model": "hardware/gpu-per-watt-fp32", "shape": "trends/{s}"}},
    }  # fmt: skip
    (fan,) = fan_chart.fan_panels(forecast.project(made, draws=64).answers["q"], 6)
    assert fan.lines[0].past is not None
    made["choices"]["s"]["weights"] = "equal"
    (fan,) = fan_chart.fan_panels(forecast.project(made, draws=64).answers["q"], 6)
    assert fan.lines[0].past is None


def test_the_window_holds_what_is_to_be_reached_and_not_all_that_comes_after():
    tree = small({"x": {"expression": "2**(3*(t - 2025))", "unit": ""}}, when="x >= 8")
    (fan,) = fan_chart.fan_panels(tree.answers["q"], 6)
    assert fan.threshold == 8
    assert fan.answer.median == pytest.approx(2026, abs=0.01)
    low, high, log = fan.window(fan.span)
    assert log
    assert low < 1 < 8 < high < 100
    assert fan.span[1] < 2034  # of 2040


def test_a_condition_of_formulas_is_drawn_as_its_sides():
    tree = small(
        {"x": {"expression": "t - 2025", "unit": ""}, "y": {"value": 2, "unit": ""}}, when="2*x + y >= y**2 + 4"
    )
    (fan,) = fan_chart.fan_panels(tree.answers["q"], 6)
    assert fan.lines[0].label == "2*x + y"
    assert fan.lines[0].levels[2] == pytest.approx(2 * (fan.years - 2025) + 2, abs=1e-6)
    assert fan.threshold == 8


def test_a_tornado_is_the_answer_where_a_number_is_low_and_high():
    tree = small(uncertain(1, 10), when="x >= 12", draws=1000)
    made = projection_figure.tornado(tree, "q")
    assert [bar.label for bar in made.bars] == ["a"]
    assert made.dates
    a = (
        tree["projection"]["a"].isel(time=0).values
        if "time" in tree["projection"]["a"].dims
        else tree["projection"]["a"].values
    )
    date = tree["questions"]["q_date"].values
    years = np.where(np.isnat(date), np.inf, forecast.base.dates.decimal_year(date))
    low, high = np.quantile(a, [0.2, 0.8])
    for end, kept in zip(made.bars[0].ends, (a <= low, a >= high), strict=True):
        ordered = np.sort(years[kept])
        assert end == ordered[-(-len(ordered) // 2) - 1]
    assert made.bars[0].ends[0] > made.base > made.bars[0].ends[1]


def test_where_most_worlds_never_get_there_a_tornado_is_of_probabilities():
    made = projection_figure.tornado(small(uncertain(0.1, 1), when="x >= 12", draws=1000), "q")
    assert not made.dates
    assert made.says == "probability by January 2040"
    assert made.bars[0].ends[0] == 0
    assert made.bars[0].ends[1] > made.base


def test_correlated_numbers_are_one_bar_from_early_to_late():
    record = {
        "title": "t", "start": 2025, "until": 2060, "questions": {"q": {"when": "x >= 20"}},
        "quantities": {
            "x": {"expression": "(a + b)*(t - 2024)", "unit": ""}, "a": {"low": 1, "high": 3, "unit": ""},
            "b": {"low": 1, "high": 3, "unit": ""},
        },
        "correlations": [{"of": ["a", "b"], "rho": 0.9}],
    }  # fmt: skip
    made = projection_figure.tornado(forecast.project(record, draws=1000), "q")
    assert [bar.label for bar in made.bars] == ["a with b"]
    assert made.bars[0].ends[0] < made.base < made.bars[0].ends[1]


@pytest.mark.slow
def test_what_moves_an_answer_is_called_by_its_lever_or_the_title_of_its_model():
    run = forecast.project("gpu-capability", draws=64)
    growth = "hardware/gpu-per-dollar-fp32@{}.growth"
    names = ["shape", growth.format("local-linear"), growth.format("pool"), "hardware/gpu-peak-fp32@pool.log_level"]
    peak = "every device's peak rate per launch dollar"
    assert driver_labels(run, names) == [
        "shape of the trend", f"growth: {peak} (local linear)", f"growth: {peak} (ensemble)",
        "level: peak rate of the best device so far",
    ]  # fmt: skip
    assert driver_labels(run, names[1:2]) == [f"growth: {peak}"]
    assert driver_labels(run, ["nobody/knows.a_number"]) == ["a number (knows)"]


def test_a_race_is_drawn_as_shares(tmp_path):
    made = {
        "title": "Who is first?", "start": 2025, "until": 2030,
        "questions": {"race": {"first": ["low", "high"]}, "low": {"when": "x >= 4"}, "high": {"when": "2*x >= 9"}},
        "quantities": {"x": {"expression": "a*(t - 2024)"}, "a": {"low": 1, "high": 2, "unit": ""}},
    }  # fmt: skip
    tree = forecast.project(made, draws=64)
    (axis,) = axes_of(tree)
    assert [label.get_text() for label in axis.get_yticklabels()] == ["low", "high", "none"]
    assert sum(bar.get_width() for bar in axis.patches) == pytest.approx(1)
    assert "what comes first" in texts(figures.plot_projection(tree, tmp_path / "a.svg"))


def test_what_is_swept_has_a_panel_each():
    tree = forecast.project("metr-2025", draws=32, sweep={"window": ["2023", "2019"]})
    assert [fan.title for fan in fan_chart.fan_panels(tree.answers["month"], 6)] == [
        "2023, at 50 % success",
        "2019, at 50 % success",
    ]


def test_series_differ_in_grey_too(run):
    panel = next(axis for axis in axes_of(run) if axis.get_title("left") == "LINPACK")
    lines = [line for line in panel.lines if line.get_label() in ("the fastest supercomputer", "brain")]
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 2
    assert len({line.get_linestyle() for line in lines}) == 2


def test_long_labels_are_wrapped_at_words_and_never_cut():
    def lines(text, width):
        return plot_style.wrap_text(text, width, 7.0).splitlines()

    assert lines("the time horizon reaches a week of work (40 h)", 100.0) == [
        "the time horizon reaches a", "week of work (40 h)",
    ]  # fmt: skip
    assert lines("a rate of 1 PFLOP/s", 40.0) == ["a rate of", "1 PFLOP/s"]
    assert lines("hardware/gpu-peak-fp8@random-walk.growth", 90.0) == ["hardware/gpu-peak-fp8@", "random-walk.growth"]
    for text in ("word " * 20, "x" * 200, "process-size@exponential.autocorrelation"):
        made = lines(text.strip(), 40.0)
        assert "".join(made).replace(" ", "") == text.replace(" ", "")
        assert all(plot_style.text_width(line, 7.0) <= 40.0 for line in made)


def test_panels_are_along_the_choice_that_moves_the_answer_most():
    made = {
        "title": "t", "start": 2025, "until": 2060,
        "choices": {c: {"values": ["1", "2"], "kind": "definition"} for c in ("a", "b")},
        "quantities": {"x": {"expression": "({a} + 100*{b})*(t - 2024)", "unit": ""}},
        "questions": {"q": {"when": "x >= 1000"}},
    }  # fmt: skip
    made["choices"]["b"]["values"] = ["3", "4"]
    answer = forecast.project(made, draws=8).answers["q"]
    first, _ = fan_chart.fan_panels(answer, 3)
    assert first.title == "3"
    assert [fan.title for fan in fan_chart.fan_panels(answer, 6)] == ["3, 1", "3, 2", "4, 1", "4, 2"]


@pytest.mark.slow
def test_what_is_a_formula_of_something_observed_was_observed_with_it():
    answer = forecast.project("gpu-goal", draws=32).answers["dollars"]
    (fan,) = fan_chart.fan_panels(answer, 6)
    (line,) = fan.lines
    dates, values, names = observed_points(answer, "per_dollar", "PFLOP/s/USD", answer.default)
    assert line.dates.size > 10
    assert list(line.dates) == list(dates)
    assert line.values == pytest.approx(1000 * values)
    assert len(line.names) == len(names)
    # of what was set, nothing was observed
    answer = forecast.project("gpu-goal", draws=32, with_={"for_money": "2 PFLOP/s"}).answers["dollars"]
    assert not observed_points(answer, "for_money", "PFLOP/s", answer.default)[0].size


@pytest.mark.parametrize(
    ("values", "unit", "scaled"),
    [([2e6, 3e6], "USD", (1e6, "million USD")), ([0.01, 0.02], "USD", (0.01, "cents")), ([5.0], "USD", (1.0, "USD")),
     ([0.1], "1/yr", (1.0, "a year")), ([2e3], "MW", (1e3, "GW"))],
)  # fmt: skip
def test_an_axis_is_in_units_of_people(values, unit, scaled):
    assert scale_of(values, unit) == scaled


def test_an_axis_of_few_decades_is_labelled_in_plain_text(tmp_path):
    """matplotlib's own labels between powers of ten are TeX, which figures do not write."""
    chosen = {"memory": 24, "budget": 3000}
    shown = texts(
        figures.plot_projection(forecast.project("gpu-choice", draws=100, with_=chosen), tmp_path / "choice.svg")
    )
    assert not [t for t in shown if "$" in t or "mathdefault" in t]
    assert {"20", "100"} <= set(shown) or {"10", "100"} <= set(shown)


# --- files and names --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_equal_projections_give_equal_files(tmp_path):
    options = {"draws": 40, "with_": {"metric": "hpcg", "trend": "exponential"}}
    one, two = parity(**options), parity(**options)
    for ending, other in [("svg", "SVG"), ("png", "png"), ("pdf", "pdf")]:
        a = figures.plot_projection(one, tmp_path / f"a.{ending}").read_bytes()
        assert a == figures.plot_projection(two, tmp_path / f"b.{other}").read_bytes()
        assert len(a) > 5000


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
    tree = run.to_xarray()
    tree.attrs["choices"] = json.dumps(coords)
    for group in ("projection", "questions"):
        tree[group] = tree[group].to_dataset().assign_coords(coords)
    path = figures.plot_projection(Projection.of_tree(tree), tmp_path / "a.svg")
    raw = path.read_text()
    assert "<script" not in raw
    assert "<img" not in raw
    assert "\x1b" not in raw
    assert "\u202e" not in raw
    shown = " ".join(texts(path))  # it parses, and the text is what was written
    assert "<script>alert(1)</script>" in shown
    assert "$x^$" in shown
    assert "<script>alert(2)</script>" in shown
    assert "$\\alpha_{$" in shown
    assert "\\x1b[2J" in shown


@pytest.mark.parametrize("name", ["a.txt", "a", "a.svg.nc", ".svg", "a.jpg", "svg"])
def test_another_ending_is_refused(run, tmp_path, name):
    with pytest.raises(UsageError, match=r"expected a figure file that ends in \.svg, \.png, \.pdf"):
        figures.plot_projection(run, tmp_path / name)
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
        figures.plot_projection(run, path)
    assert path.read_text() == "what was here"
    assert [p.name for p in tmp_path.iterdir()] == ["a.svg"]


@pytest.mark.slow
def test_figures_of_odd_projections(tmp_path, recwarn):
    failed = forecast.project("brain-parity", draws=20, until=2040, as_of=2015.0, with_={"trend": "exponential"})
    far = parity(draws=20, until=3000, with_={"metric": "linpack", "trend": "exponential"})
    negative = small({"x": {"low": -1, "high": 1, "unit": "FLOP"}, "limit": {"value": 0, "unit": "FLOP"}})
    none = small(growing({"value": 1.0}), when="")
    numbers = small({"x": {"low": 1, "high": 2, "unit": ""}}, when="x >= 1.5")
    for i, tree in enumerate((failed, far, negative, none, numbers)):
        ET.parse(figures.plot_projection(tree, tmp_path / f"{i}.svg"))
    assert [str(w.message) for w in recwarn if not issubclass(w.category, ForecastWarning)] == []


def test_the_settings_of_matplotlib_are_left_alone(tmp_path):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    figures.plot_projection(small({"x": {"low": 1, "high": 2, "unit": ""}}, when="x >= 1.5"), tmp_path / "a.svg")
    assert dict(mpl.rcParams) == before


@pytest.mark.slow
def test_a_change_stands_beside_what_was(tmp_path):
    before = forecast.project("gpu-goal", draws=128)
    after = forecast.project("gpu-goal", draws=128, with_={"budget": 2000}).beside(before)
    svg = figures.plot_projection(after, tmp_path / "a.svg", panel="dates", width="column").read_text(encoding="utf-8")
    assert "as it was" in re.sub(r"\s+", " ", re.sub(r"<[^>]+>|<!--|-->", " ", svg))
    plain = figures.plot_projection(before, tmp_path / "b.svg", panel="dates", width="column").read_text(
        encoding="utf-8"
    )
    assert "as it was" not in plain
