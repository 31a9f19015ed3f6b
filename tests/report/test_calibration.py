"""The chart and the figure of a record: what came beside what was said."""

import pytest

from forecast.report.figures.calibration import chart, plot_calibration

ROW = {
    "kind": "all", "horizon": "all", "series": 22, "forecasts": 808, "score": 0.5, "held": 0.8, "half": 0.44,
    "deciles": [0.3, 0.0, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.1, 0.1], "over_last_value": 0.5,
}  # fmt: skip


def test_the_chart_says_every_share_in_eighty_columns():
    lines = chart(ROW)
    assert max(map(len, lines)) <= 80
    assert lines[0] == "calibration: 808 forecasts of 22 series (# what came, | what was said)"
    assert lines[1].split("%  ")[1].count("#") == 22  # 44 % of fifty
    assert lines[1].index("|") - lines[2].index("|") == 25 - 45
    assert lines[4].split()[:5] == ["0", "to", "10", "%", "30"]
    assert [line.count("#") for line in lines[4:]] == [15, 0, 5, 5, 5, 5, 2, 2, 5, 5]
    assert all(line.count("|") == 1 for line in lines[1:3] + lines[4:])


def test_a_record_without_deciles_has_no_chart():
    assert chart({key: value for key, value in ROW.items() if key != "deciles"}) == []


def test_the_figure_draws_levels_and_tenths():
    from matplotlib.figure import Figure

    left, right = Figure().subplots(1, 2)
    plot_calibration({"one": [ROW], "two": [{**ROW, "held": 0.95}]}, (left, right))
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["one", "two"]
    assert list(left.lines[0].get_ydata()) == [0, 0.44, 0.8, 1]
    assert list(right.patches[0].get_data().values) == pytest.approx(ROW["deciles"])
