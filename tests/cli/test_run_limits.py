"""``forecast run`` of quantities with limits: which bind, when, in how many worlds."""

from __future__ import annotations

TEXT = """
start = 2025
until = 2050
[quantities.rate]
normal = [0.1, 0.3]
unit = ""
[quantities.spend]
expression = "exp(rate*(t - start))"
limit = "20"
"""


def test_which_limit_binds_is_said_in_text_and_json(said, scenario):
    path = scenario(TEXT)
    code, out, err = said("run", path, "--draws", "500", "--show", "limits")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    (row,) = said("run", path, "--draws", "500", "--json").json["result"]["limits"]
    share, first = f"{100 * row['ever']:.0f}", row["first"]["p50"][:4]
    assert f"limit of spend binds by 2050 in {share} % of worlds, first in {first} (median)" in text
    assert 0.5 < row["ever"] < 1
    assert row["binds"] == sorted(row["binds"])  # a path that grows stays at its limit
