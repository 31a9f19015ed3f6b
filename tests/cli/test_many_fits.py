"""The fits of ``fit --by``, saved: predicted from by the label of each point, by all of them, and drawn."""

import csv
from pathlib import Path

import numpy as np
import pytest

import forecast
from forecast.tables import csv_format

WORDS = ("fit", "a*x**b", "--variables", "x", "--data", "runs.csv", "--by", "size", "--out", "fits.nc")


@pytest.fixture
def runs(said, here):
    """The file ``fits.nc``: fits over a column of numbers, the last of which has too few points."""
    x, rng = np.geomspace(1, 1000, 12), np.random.default_rng(3)
    sizes = np.repeat([7, 13, 70], 12)
    y = np.concatenate([gain * x**-0.3 for gain in (2, 3, 4)]) * np.exp(rng.normal(0, 0.02, 36))
    columns = {"x": np.tile(x, 3), "y": y, "size": sizes}
    csv_format.write_csv(
        "runs.csv", {n: np.append(c, [c[0]]) if n != "size" else np.append(c, 99) for n, c in columns.items()}
    )
    found = said(*WORDS)
    assert found.code == 1  # one did not converge
    return forecast.load("fits.nc")


def test_every_point_is_predicted_by_the_fit_that_it_names(said, runs):
    Path("planned.csv").write_text("who,size,x\n=A1,13,5\nb,7,2000\nc,13,50\n")
    found = said("predict", "fits.nc", "--data", "planned.csv", "--json", "--out", "out.csv").json
    points = found["result"]["points"]
    assert [point["size"] for point in points] == [13, 7, 13]
    for point in points:
        alone = runs.select(int(point["size"])).predict(x=point["x"])
        for name in ("median", "lower", "upper", "observed_lower", "observed_upper"):
            assert point[name] == pytest.approx(float(alone[name]), rel=1e-12)
    assert found["result"]["extrapolation_decades"] == pytest.approx(np.log10(2), rel=1e-9)
    with Path("out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["who"] for row in rows] == ["'=A1", "b", "c"]
    assert [float(row["median"]) for row in rows] == [point["median"] for point in points]


def test_labels_may_be_words_and_one_stands_for_all_points(said, runs):
    one = said("predict", "fits.nc", "size=7", "x=5,10", "--json").json["result"]
    assert [(point["size"], point["x"]) for point in one["points"]] == [(7, 5), (7, 10)]
    assert one["headline"].startswith("a*x**b predicts y = ")
    assert " at size 7: x = 5 (the first of 2 points)" in one["headline"]


def test_without_a_label_every_fit_says_what_it_expects(said, runs):
    points = said("predict", "fits.nc", "x=5,10", "--json").json["result"]["points"]
    assert [(point["size"], point["x"]) for point in points] == [(s, x) for s in (7, 13, 70, 99) for x in (5, 10)]
    whole = runs.predict(x=np.array([5.0, 10.0]))
    expected = whole["median"].values.ravel()
    assert [point["median"] for point in points[:6]] == pytest.approx(expected[:6].tolist(), rel=1e-12)
    assert [point["median"] for point in points[6:]] == [None, None]


def test_a_fit_that_failed_costs_only_its_own_points(said, runs):
    found = said("predict", "fits.nc", "size=99,7", "x=5", "--json").json
    assert [point["median"] is None for point in found["result"]["points"]] == [True, False]
    assert any("99" in line for line in found["warnings"])
    assert said("predict", "fits.nc", "size=99", "x=5").code == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("predict", "fits.nc", "size=8", "x=5"), "unknown size '8'"),
        (("predict", "fits.nc", "size=7"), "no value for the variable 'x'"),
        (("predict", "fits.nc", "siz=7", "x=5"), "unknown variable 'siz'"),
        (("predict", "fits.nc", "x=5", "--out", "a.nc"), "--out: 'a.nc': expected a file that ends in .csv"),
        (("allocate", "fits.nc", "--compute", "1e20"), "fits.nc: holds 4 fits over 'size', not one"),
    ],
)
def test_what_cannot_be_said_is_refused(said, runs, words, says):
    assert says in said(*words).refusal


@pytest.mark.slow
def test_many_fits_are_small_multiples_of_one_style(said, runs, monkeypatch):
    from matplotlib.figure import Figure

    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda self, file, **options: drawn.append(self) or Path(file).touch())
    assert said("show", "fits.nc", "--plot", "a.svg").code == 0
    (figure,) = drawn
    shown = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title(loc="left") for axes in shown] == ["size = 7", "size = 13", "size = 70"]
    assert len({axes.get_ylim() for axes in shown}) == len({axes.get_xlim() for axes in shown}) == 1
    assert [axes.get_legend() for axes in figure.axes] == [None] * 4
    assert len(figure.legends) == 1
    (failed,) = [axes for axes in figure.axes if not axes.axison]
    assert failed.get_title(loc="left") == "size = 99"
    assert failed.texts[0].get_text().startswith("not")
