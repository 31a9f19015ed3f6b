"""Figures of fits, predictions, splits, comparisons and backtests; and the axes that people draw on themselves."""

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import forecast
from forecast.base import plot_style
from forecast.errors import UnknownNameError, UsageError
from forecast.report.figures import fit_figure
from toolkit import shared_main as main

SVG = "{http://www.w3.org/2000/svg}"
SIZES, TOKENS = (1e8, 3e8, 1e9, 3e9, 1e10), (1e9, 1e10, 1e11)


def texts(path):
    return [t for e in ET.parse(path).iter(f"{SVG}text") if (t := "".join(e.itertext()).strip())]


@pytest.fixture(scope="module")
def runs():
    noise = iter(np.random.default_rng(0).normal(0, 0.01, 15))
    rows = [(n, d, (1.7 + 400 * n**-0.34 + 410 * d**-0.28) * math.exp(next(noise))) for n in SIZES for d in TOKENS]
    return dict(zip(("N", "D", "loss"), np.array(rows).T, strict=True))


@pytest.fixture(scope="module")
def fit(runs):
    return forecast.law("scaling/chinchilla").fit(runs)


@pytest.fixture
def csv(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [",".join(runs), *(",".join(map(repr, map(float, row))) for row in zip(*runs.values(), strict=True))]
    (tmp_path / "runs.csv").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def test_a_fit_draws_itself_on_axes(fit):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert fit.plot(axes, variable="D") is axes
    points, law = axes.lines
    assert list(points.get_xdata()) == list(fit.data.variables["D"])
    held = float(np.median(fit.data.variables["N"]))
    said = fit.predict(N=np.full(200, held), D=law.get_xdata())
    assert list(law.get_ydata()) == list(said["median"].values)
    assert axes.get_xlabel() == "D [token]"
    assert axes.get_legend() is not None
    with pytest.raises(UnknownNameError, match="unknown variable 'X'"):
        fit.plot(variable="X")
    with pytest.raises(UsageError, match="nothing to draw"):
        forecast.law("scaling/chinchilla").published("besiroglu2024").plot()


@pytest.mark.slow
def test_the_figure_of_a_fit_has_one_legend_outside_its_panels(fit, runs, tmp_path):
    shown = texts(fit_figure.plot_fit(fit, tmp_path / "a.svg"))
    for once in ("law", "observed, moved along the law", "90% of observations", "90% confidence of the law"):
        assert shown.count(once) == 1
    assert fit_figure.plot_fit(fit, tmp_path / "b.svg").read_bytes() == (tmp_path / "a.svg").read_bytes()


def test_predictions_along_one_variable_are_a_curve_and_else_rows(fit, tmp_path):
    def rows(**points):
        answer = fit.predict(**points)
        names = ("N", "D", "median", "lower", "upper", "observed_lower", "observed_upper")
        return [{n: float(answer[n].values[i]) for n in names} for i in range(answer.sizes["point"])]

    curve = rows(N=np.geomspace(1e8, 1e10, 5), D=np.full(5, 1e10))
    assert "N [param]" in texts(fit_figure.plot_predictions(fit, curve, tmp_path / "a.svg", level=0.9))
    both = rows(N=np.array([1e8, 1e9]), D=np.array([1e10, 1e11]))
    shown = texts(fit_figure.plot_predictions(fit, both, tmp_path / "b.svg", level=0.9, width="column"))
    assert {"N = 1e8, D = 1e10", "N = 1e9, D = 1e11", "loss [nat/token]"} <= set(shown)
    lost = [{**row, "median": None} for row in both]
    with pytest.raises(UsageError, match="nothing to draw"):
        fit_figure.plot_predictions(fit, lost, tmp_path / "c.svg", level=0.9)


@pytest.mark.slow
def test_an_allocation_passes_through_the_split_at_the_budget(fit, tmp_path):
    best = fit.allocate(compute=1e22, draws=256)
    shown = texts(fit_figure.plot_allocation(fit, tmp_path / "a.svg", compute=1e22, level=0.9, draws=256, cost="6*N*D"))
    for name in ("N", "D", "loss"):
        assert plot_style.format_tick(float(f"{float(best[name]):.3g}")) in shown
    assert shown.count("the budget") == 1


def test_rivals_are_drawn_in_their_order_and_failures_are_named(tmp_path):
    laws = [{"law": "a", "aicc": 3.0, "rollout": 0.1}, {"law": "b", "aicc": 5.5, "rollout": None}]
    shown = texts(fit_figure.plot_comparison({"headline": "A explains best.", "laws": laws}, tmp_path / "a.svg"))
    assert {"A explains best.", "a", "b", "0", "2.5", "0.1", "failed"} <= set(shown)
    models = [{"model": "x", "weighted-interval": 0.3, "coverage": 0.8}]
    shown = texts(fit_figure.plot_backtest({"headline": "Fine.", "models": models}, tmp_path / "b.svg"))
    assert {"Fine.", "x", "0.3", "0.8"} <= set(shown)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("predict", "scaling/chinchilla@besiroglu2024", "N=1e9,1e10", "D=1e12"), marks=pytest.mark.xslow),
        pytest.param(
            ("compare", "scaling/chinchilla", "scaling/kaplan", "--data", "runs.csv"), marks=pytest.mark.xslow
        ),
        pytest.param(("allocate", "scaling/chinchilla@besiroglu2024", "--compute", "1e25"), marks=pytest.mark.slow),
        ("fit", "scaling/chinchilla", "--data", "runs.csv"),
        pytest.param(
            ("backtest", "hardware/linpack", "--shape", "exponential", "--origins", "1"), marks=pytest.mark.xslow
        ),
        pytest.param(("run", "metr-2025", "--draws", "32"), marks=pytest.mark.slow),
    ],
    ids=lambda words: words[0],
)
def test_every_command_that_answers_draws(words, csv, capsys):
    assert main([*words, "--plot", "two.svg", "--plot", "two.png"]) == 0
    assert main([*words, "--plot", "one.svg", "--width", "column"]) == 0
    assert capsys.readouterr().out
    widths = [float(ET.parse(csv / f"{name}.svg").getroot().get("width").removesuffix("pt")) for name in ("two", "one")]
    assert widths == pytest.approx([183 / 25.4 * 72, 89 / 25.4 * 72], abs=1e-3)
    assert (csv / "two.png").read_bytes().startswith(b"\x89PNG")
    assert main([*words, "--plot", "figure.jpg"]) == 2
    assert main([*words, "--plot", "figure.svg", "--width", "three"]) == 2
    assert not (csv / "figure.svg").exists()


def test_a_figure_is_not_written_over_the_data(csv, capsys):
    (csv / "runs.csv").rename(csv / "runs.png")
    words = ("compare", "scaling/chinchilla", "scaling/kaplan", "--data", "runs.png", "--plot", "runs.png")
    assert main(list(words)) == 2
    assert "name the same file" in capsys.readouterr().err


def answer(**quantities):
    spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    rate = forecast.uncertain(p05=1.1, p95=1.6, unit="", name="rate")
    return ((spend * rate) >= 2e8).when(start=2025, until=2030, draws=400, **quantities)


def test_an_answer_draws_its_trajectories_and_what_moves_it():
    from matplotlib.figure import Figure

    given = forecast.scenario("metr-2025").ask("month", draws=64)
    axes = Figure().subplots()
    assert given.plot(axes, panel="path") is axes
    assert axes.get_ylabel() == "h"
    horizon = next(line for line in axes.lines if line.get_label() == "time horizon")
    drawn = given.run["projection"]["horizon"].sel(window="2023").values * 1.0
    assert np.asarray(horizon.get_ydata()) == pytest.approx(np.median(drawn, axis=1) / 60, rel=1e-9)
    axes = Figure().subplots()
    assert given.plot(axes, panel="drivers") is axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["start of the trend"]


def test_a_panel_that_an_answer_does_not_have_is_refused_by_those_it_has(tmp_path):
    with pytest.raises(UsageError, match=r"panel 'path': .* has none; it has dates, drivers$"):
        answer().plot(panel="path")
    with pytest.raises(UnknownNameError, match="unknown panel 'tornado'"):
        answer().plot(tmp_path / "a.svg", panel="tornado")
    a = forecast.uncertain(p05=1, p95=2, unit="", name="a")
    shares = forecast.ask(first={"one": a >= 1.5, "two": a >= 1.8}, start=2025, until=2027)
    with pytest.raises(UsageError, match=r"panel 'drivers': .* it has ranking$"):
        shares.plot(panel="drivers")
    assert list(tmp_path.iterdir()) == []


def test_many_fits_are_drawn_on_one_axes_a_colour_each():
    x = np.arange(1.0, 9.0)
    long = {
        "x": np.tile(x, 3),
        "y": np.concatenate([2 * x, 3 * x, np.full(8, np.nan)]),
        "who": np.repeat(list("abc"), 8),
    }
    long["y"][:16] *= 1 + 0.01 * np.resize([1, -1], 16)
    fits = forecast.Law("a*x", variables=["x"]).fit(long, by="who")
    axes = fits.plot()
    lines = [line for line in axes.lines if line.get_label().startswith("who = ")]
    assert [line.get_label() for line in lines] == ["who = a", "who = b"]  # the third has no points
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 2
    with pytest.raises(forecast.errors.UnknownNameError, match="variable"):
        fits.plot(variable="z")


@pytest.mark.slow
def test_a_panel_for_a_column_of_a_journal(tmp_path, capsys):
    out, figure = tmp_path / "a.nc", tmp_path / "a.svg"
    run = ("run", "metr-2025", "--draws", "32")
    assert main([*run, "--out", str(out), "--plot", str(figure), "--panel", "dates", "--width", "column"]) == 0
    sentence = " ".join(capsys.readouterr().out.split("\n\n")[0].split())
    shown = " ".join(texts(figure))
    assert float(ET.parse(figure).getroot().get("width").removesuffix("pt")) == pytest.approx(252.3, abs=0.1)
    assert "40 h of work" in shown
    assert "share of variance" not in shown
    assert sentence not in shown
    # a saved answer is drawn alike, and says its sentence where that is asked for
    again = tmp_path / "b.svg"
    assert main(["show", str(out), "--plot", str(again), "--panel", "dates", "--width", "column"]) == 0
    assert again.read_bytes() == figure.read_bytes()
    assert main(["show", str(out), "--plot", str(again), "--titled"]) == 0
    assert sentence in " ".join(texts(again))
    capsys.readouterr()
    # what an answer does not have is refused before anything is written
    for words in (run, ("show", str(out))):
        assert main([*words, "--plot", str(tmp_path / "c.svg"), "--panel", "ranking"]) == 2
        assert "panel 'ranking'" in (said := capsys.readouterr()).err
        assert "it has dates, path, drivers" in said.err
        assert said.out == ""
        assert main([*words, "--panel", "path"]) == 2
        assert "--panel: of a figure, and no --plot FILE is given" in capsys.readouterr().err
    assert not (tmp_path / "c.svg").exists()


def test_a_fit_has_no_panels(csv, capsys):
    assert main(["fit", "scaling/chinchilla", "--data", "runs.csv", "--out", "fit.nc"]) == 0
    assert main(["show", "fit.nc", "--plot", "a.svg", "--panel", "path"]) == 2
    assert (
        "--panel: the file holds a fit: only an answer is narrowed and reported, and has panels"
        in capsys.readouterr().err
    )
