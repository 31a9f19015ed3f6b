"""A trend of two versions of a table, figure by figure."""

from forecast.evaluation.trend_changes import compare_figures


def test_figures_carry_their_intervals():
    before = {"n": 5.0, "doubling_years": 2.0, "doubling_p05": 1.0, "doubling_p95": float("inf"), "break": 2010.0}
    after = {"n": 6.0, "doubling_years": 0.5, "doubling_p05": 0.4, "doubling_p95": 0.7}
    figures = {figure.name: figure for figure in compare_figures(before, after)}
    assert list(figures) == ["n", "doubling_years", "break"]
    doubling, broken = figures["doubling_years"], figures["break"]
    assert doubling.interval_before == {"p05": 1.0, "p95": None}
    assert (doubling.outside, doubling.relative) == (True, -0.75)
    assert (broken.after, broken.relative, broken.outside) == (None, None, None)
