"""What a rebuilt publication gave for that which was to come by today."""

from __future__ import annotations

import re

import pytest

import forecast
from forecast.report.brief import brief
from toolkit import shared_main as main

DAY = "2026-11-26"


def by_today(run, day=DAY):
    return brief(run, today=day).details.get("today", "")


@pytest.fixture(scope="module")
def run():
    return forecast.project("ai-2027-a", draws=512)


def test_a_publication_says_what_it_gave_by_today_as_its_worlds_have_it(run):
    share = 100 * run.answers["coder"].probability(2026 + 329 / 365)
    said = by_today(run)
    assert re.match(r"Published on 3 April 2025: by today, 26 November 2026, it gave (\d+) %", said)
    assert float(
        re.match(r"Published on 3 April 2025: by today, 26 November 2026, it gave (\d+) %", said)[1]
    ) == pytest.approx(share, abs=1)
    assert said.count("; ") == len(run.dates) - 1


def test_more_of_it_has_gone_by_the_later_the_day_is(run):
    shares = [float(re.search(r"(\d+) %", by_today(run, f"{year}-06-01"))[1]) for year in (2026, 2028, 2035)]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


@pytest.mark.parametrize("day", ["", "2025-04-03", "2024-01-01"])
def test_nothing_is_said_without_a_day_or_before_it_was_published(run, day):
    assert by_today(run, day) == ""


def test_what_is_no_publication_or_no_longer_the_published_one_says_nothing():
    assert by_today(forecast.project("brain-parity", draws=64)) == ""
    assert by_today(forecast.project("ai-2027-a", draws=64, with_={"extra": 1.0})) == ""
    assert by_today(forecast.project("ftm-2023", draws=64)) == ""  # one run, no uncertainty
    assert by_today(forecast.project("epoch-limits", draws=64)) == ""  # it asks of 2030 on


def test_the_screen_prints_it_and_a_saved_answer_keeps_it(tmp_path, capsys):
    path = tmp_path / "cotra.nc"
    assert main(["run", "cotra-2020", "--draws", "256", "--out", str(path)]) == 0
    shown = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Published on "))
    assert main(["show", str(path)]) == 0
    assert shown in capsys.readouterr().out
