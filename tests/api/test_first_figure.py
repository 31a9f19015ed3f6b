"""The figure of what comes first: a bar a combination where they are few, else what the sentence says."""

import pytest

import forecast


@pytest.mark.parametrize(("values", "bars"), [(3, 12), (30, 4)])
def test_bars_can_be_told_apart(values, bars):
    scenario = forecast.scenario(
        start=2025,
        until=2035,
        choices={"by": {"values": [str(each) for each in range(1, values + 1)], "kind": "rival", "weights": "equal"}},
        quantities={
            "a": {"lognormal": [1, 4], "unit": ""},
            "x": {"expression": "a*{by}*(t - start)"},
            "y": {"expression": "5*(t - start)"},
        },
        questions={
            "which": {"first": ["far", "near"]},
            "far": {"when": "x >= 20", "title": "x is far"},
            "near": {"when": "y >= 20"},
        },
    )
    answer = scenario.ask("which", draws=64)
    axes = answer.plot()
    widths = [bar.get_width() for bar in axes.containers[-1]]
    assert len(widths) == bars
    if bars == 4:
        row = answer.result.sentence_row
        assert widths[::-1] == [row.first["far"][0], row.first["near"][0], row.together[0], row.none[0]]
        assert [each.get_text() for each in axes.get_yticklabels()][::-1] == [
            "x is far",
            "near",
            "several at once",
            "none",
        ]
