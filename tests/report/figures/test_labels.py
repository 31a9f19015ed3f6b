"""Labels beside points: where they stand, what they may lie on, and which are left out."""

import numpy as np
import pytest
from matplotlib.text import Text

import forecast
from forecast.base import plot_style
from forecast.report.figures import fan_chart
from forecast.report.figures.fan_chart import Label, OccupiedAreas, place_labels
from forecast.report.figures.projection_figure import compose


@pytest.fixture
def axis():
    axis = plot_style.sheet(3.0, 2.0).subplots()
    axis.set(xlim=(0, 10), ylim=(0, 10))
    plot_style.laid_out(axis)
    return axis


def written(axis):
    return [text.get_text() for text in axis.texts if text.get_text()]


def test_a_label_stands_on_no_point_and_no_other_label(axis):
    points = np.array([[5.0, 5.0], [4.5, 5.6], [5.6, 4.4]])
    place_labels(axis, [Label(["one"], ((5, 5),)), Label(["two"], ((5, 5),))], OccupiedAreas(points), 9)
    boxes = [Text.get_window_extent(text) for text in axis.texts if text.get_text()]
    assert len(boxes) == 2
    assert not boxes[0].overlaps(boxes[1])
    for box in boxes:
        assert not any(box.contains(*place) for place in axis.transData.transform(points))


def test_what_does_not_fit_is_left_out_or_said_shorter(axis):
    full = OccupiedAreas(np.array([[x, y] for x in np.linspace(0, 10, 80) for y in np.linspace(0, 10, 80)]))
    place_labels(axis, [Label(["left out"], ((5, 5),))], full, 9)
    assert written(axis) == []
    place_labels(axis, [Label(["a date"], ((5, 5),), over=2)], full, 9)
    assert written(axis) == ["a date"]
    place_labels(axis, [Label(["too long for any panel " * 5, "short"], ((2, 2),))], OccupiedAreas(np.empty((0, 2))), 9)
    assert written(axis)[1:] == ["short"]


def test_the_newest_is_named_with_its_value_and_records_by_what_the_table_calls_them():
    run = forecast.project("metr-2025", draws=64, with_={"window": "2023"})
    with plot_style.style():
        figure = compose(run)
    (fan,) = fan_chart.fan_panels(run.answers["month"], 6)
    panel = next(axis for axis in figure.axes if any(line.get_label() == "observed" for line in axis.lines))
    shown = [text.get_text().replace("\n", ": ") for text in panel.texts]
    assert "Claude Opus 4.6: 12 h" in shown
    named = {name for name in fan.lines[0].names if name}
    assert len(named & set(shown)) >= 2
    assert len(named) <= 6
