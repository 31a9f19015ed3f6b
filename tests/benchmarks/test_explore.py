"""How soon the page of ``forecast explore`` is drawn again after a change."""

import json
import statistics
import time

import pytest

from forecast.cli.explore import server
from forecast.cli.explore.session import Session

#: Seconds of CPU for an answer of brain-parity with 2,048 draws once something is changed: half of all changes.
REDRAW = 0.15


@pytest.fixture(scope="module")
def warm():
    with Session("brain-parity") as session:
        session.answer({})
        yield session


def seconds(session, asked):
    """Return the seconds of CPU that an answer takes, as it is sent."""
    begun = time.process_time()
    server._json(session.answer(asked))
    return time.process_time() - begun


#: What a reader moves, and moves on: a new value each time.
MOVES = {
    "input": lambda n: {"set": {"brain/dettmers-2015.firing_rate": str(100 + n)}},
    "quantity": lambda n: {"set": {"brain": f"{1 + n}e15"}},
    "rival": lambda n: {"set": {"trend": ("exponential", "changepoint", "random-walk", "pool")[n % 4]}},
    "definition": lambda n: {"set": {"metric": ("hpcg", "linpack", "ai-cluster")[n % 3]}},
    "back": lambda n: {},
    "swap": lambda n: {"swap": {"brain": ("brain/moravec-1997", "brain/cotra-2020", "brain/drexler-2018")[n % 3]}},
}


def test_half_of_all_changes_are_drawn_again_within_150_ms(warm, slowness, say):
    turns = []
    for turn in range(12):  # a busy machine may need another try
        turns.append({name: seconds(warm, move(turn)) for name, move in MOVES.items()})
        if turn and statistics.median(turns[-1].values()) < REDRAW * slowness:
            break
    best = min(turns, key=lambda spent: statistics.median(spent.values()))
    told = ", ".join(f"{name} {1000 * each:.0f}" for name, each in best.items())
    middle = statistics.median(best.values())
    say(f"explore: an answer is drawn again in {1000 * middle:.0f} ms of CPU at {slowness:.1f} times slower: {told}")
    assert middle < REDRAW * slowness


def test_a_fitted_parameter_draws_everything_of_its_quantity_again(warm, slowness, say):
    spent = [seconds(warm, {"set": {"machine.growth": f"0.{31 + n}"}}) for n in range(2)]
    say(f"explore: a changed growth is drawn again in {1000 * min(spent):.0f} ms of CPU")
    assert min(spent) < 1.5 * slowness


def test_what_is_sent_fits_the_page(warm):
    assert len(json.dumps(warm.answer({})["answer"])) < 3_000_000
