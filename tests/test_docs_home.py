"""The docs' home: the five questions of a newcomer are answered by its own commands, as they stand there."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from toolkit import copied

DOCS = Path(__file__).resolve().parent.parent / "docs"
HOME = (DOCS / "index.md").read_text(encoding="utf-8")
FIVE = HOME.partition("\n## Five questions, one command each\n")[2].partition("\n## ")[0]
#: Each question in bold, and the command under it.
ASKED = re.findall(r"^\*\*(.+?\?)\*\*.*?\n\n```(?:\{forecast\} |console\n\$ forecast )(.+?)\n", FIVE, re.M | re.S)


def answer(question: str, folder: Path) -> str:
    (command,) = [command for asked, command in ASKED if question in asked]
    for file in re.findall(r":with: (\S+)", FIVE):
        shutil.copy(DOCS / "_static" / file, folder)
    done = copied(*shlex.split(command), cwd=folder, env={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_five_questions_with_one_command_each():
    assert len(ASKED) == 5
    assert FIVE.count("```{forecast}") + FIVE.count("$ forecast") == 5


@pytest.mark.slow
def test_when_a_gpu_gives_a_rate_for_a_price(tmp_path):
    said = " ".join(answer("give 10 PFLOP/s for a kilowatt", tmp_path).split())
    when = r"by 20\d\d in the median forecast \(90 %: "
    assert re.match(rf"GPUs that draw 1 kW give 10 PFLOP/s \(16 bits\) {when}", said)
    assert "GPUs for 1,000 USD" in said
    assert "one GPU, " in said


def test_what_loss_a_larger_model_reaches(tmp_path):
    said = answer("What loss will my 30B model reach", tmp_path)
    found = re.match(
        r"loss is expected to be ([\d.]+) at params = 3e\+10 \(90 % interval: ([\d.]+) to ([\d.]+)\)", said
    )
    middle, low, high = map(float, found.groups())
    assert low < middle < high
    # what the rows were made of: 1.75 + 380*N**-0.34, with residuals of 0.3 % of the second term
    assert low < 1.75 + 380 * 3e10**-0.34 < high


@pytest.mark.slow
def test_how_a_date_moves_if_growth_stalls(tmp_path):
    said = " ".join(answer("if growth stalls in 2028", tmp_path).split())
    assert re.match(r"A supercomputer matches a brain by January 2150 \(HPCG\) with a chance of under 1 %", said)
    assert "with estimate: Dettmers 2015, machine.growth*0 since 2028, which moves the median from " in said
    without = copied("run", "brain-parity", "--set", "estimate=dettmers-2015").stdout
    stated = re.search(r"is matched in about (\d{4})", FIVE)[1]
    assert f"by {stated} in the median forecast" in " ".join(without.split())


@pytest.mark.slow
def test_which_assumption_matters_most(tmp_path):
    said = " ".join(answer("Which assumption matters most", tmp_path).split())
    assert re.search(r"Most sensitive to: \w[^:]* \d+ % of the variance", said)


@pytest.mark.slow
def test_it_is_sent_to_a_colleague_as_one_file(tmp_path):
    (command,) = [command for asked, command in ASKED if "colleague" in asked]
    words = shlex.split(command)
    name = words[words.index("--report") + 1]
    answer("colleague", tmp_path)
    page = (tmp_path / name).read_text(encoding="utf-8")
    assert "matches the brain on HPCG" in page
    assert not re.search(r"""(?:src=|<link[^>]*href=)["']?(?:https?:)?//""", page)  # sources may be followed


def test_installing_is_what_the_readme_says():
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\$ (python3 .+)$", HOME.partition("\n## Install\n")[2], re.M)
    assert len(lines) == 2
    assert " && ".join(lines) in readme
