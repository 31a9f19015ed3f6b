"""``forecast run``: a relation that is carried far outside its data is warned of, and the answer stands."""

from __future__ import annotations

import json
import re

SCENARIO = """
start = 2025
until = 2026
[quantities.S]
model = "resources/chip-research"
[quantities.A]
value = 1e8
unit = ""
[quantities.growth]
model = "resources/chip-progress-from-effort"
"""


def test_bad_input_046_is_a_warning_on_stderr_and_in_json(said, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(SCENARIO)
    code, out, err = said("run", str(path), "--draws", "50", "--show", "quantities")
    assert code == 0
    assert "forecast: warning: growth: resources/chip-progress-from-effort: S is " in err
    assert "decades outside the data" in err
    assert re.search(r"^growth +.* a year", out, re.MULTILINE)
    code, out, err = said("run", str(path), "--draws", "50", "--json")
    assert (code, err) == (0, "")
    assert any("decades outside the data" in line for line in json.loads(out)["warnings"])
