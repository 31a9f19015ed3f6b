"""Checkpoints that were cut, altered or forged: one kind of error, before anything is taken up, or the same bytes."""

import hashlib
import io
import json
import tracemalloc

import numpy as np
import pytest

import forecast
from forecast.errors import DataError
from forecast.projection.streaming import batches
from forecast.projection.streaming.array_file import load_arrays, save_arrays
from toolkit import every, sample

SCENARIO = {
    "start": 2025,
    "until": 2028,
    "choices": {"pace": {"values": ["0.7", "1"], "weights": [0.25, 0.75]}},
    "quantities": {
        "growth": {"normal": [0.1, 0.4], "unit": "1/year"},
        "amount": {"expression": "exp({pace}*growth*(t - start)) - 1.2"},
        "goal": {"lognormal": [1, 3], "unit": "", "limit": "2.5", "how": "hard"},
    },
    "questions": {
        "there": {"when": "amount >= goal", "dates": [2027]},
        "soon": {"when": "amount >= 0.1"},
        "how_far": {"value": "amount", "dates": [2027]},
        "race": {"first": ["there", "soon"]},
    },
}
DRAWS = 2 * batches.DRAWS_PER_BATCH + 100


class Stop(Exception):
    pass


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return the place of a checkpoint after one of three batches, and its bytes."""
    place = tmp_path_factory.mktemp("kept") / "run.nc.part"

    def stop(done, of):
        if place.exists():
            raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "CHECKPOINT_SECONDS", 0)
        with pytest.raises(Stop):
            forecast.project(SCENARIO, draws=DRAWS, keep=300, checkpoint=place, progress=stop)
    return place, place.read_bytes()


def resumed(kept, content):
    """Go on from a checkpoint of these bytes, as far as the first batch after it."""
    place, _ = kept
    place.write_bytes(content)

    def stop(done, of):
        raise Stop

    forecast.project(SCENARIO, draws=DRAWS, keep=300, checkpoint=place, resume=True, progress=stop)


def refusal(kept, content):
    with pytest.raises(DataError) as refused:
        resumed(kept, content)
    text = str(refused.value)
    assert text.startswith("run.nc.part: ")
    assert text.isprintable()
    return text


MORE = {
    "plain": {},
    "worlds are weighed": {"update": {"goal": {"log_likelihood": "-(log(goal) - 0.5)**2/0.02"}}},
    "few worlds fail": {"quantities": {**SCENARIO["quantities"], "seldom": {"expression": "log(goal - 0.6)"}}},
    "all worlds fail": {"quantities": {**SCENARIO["quantities"], "no": {"expression": "log({pace} - 0.8 + 0*goal)"}}},
    "a ranking": {"questions": {**SCENARIO["questions"], "best": {"rank": "amount", "over": "pace"}}},
}


@pytest.mark.parametrize("name", sample(MORE, 3))
def test_a_whole_checkpoint_goes_on_to_the_same_result(tmp_path, monkeypatch, name):
    monkeypatch.setattr(batches, "CHECKPOINT_SECONDS", 0)
    place = tmp_path / "a.part"

    def stop(done, of):
        if place.exists():
            raise Stop

    given = {"scenario": {**SCENARIO, **MORE[name]}, "draws": DRAWS, "keep": 300, "checkpoint": place}
    once = forecast.project(**given)
    with pytest.raises(Stop):
        forecast.project(**given, progress=stop)
    went_on = forecast.project(**given, resume=True)
    assert went_on.attributes == once.attributes
    for node in once.to_xarray().subtree:
        assert node.to_dataset().identical(went_on[node.path].to_dataset()), node.path
    assert not place.exists()


def cuts(content, step):
    """Return places in the first line, in the header, at its end, between and inside arrays, and at the end."""
    header = content.index(b"\n", content.index(b"\n") + 1) + 1
    return sorted(
        {0, 1, 17, 50, 81, 82, 83, header - 1, header, header + 1, len(content) - 1, *range(0, len(content), step)}
    )


def check_cut(kept, step):
    with every() as case:
        for at in cuts(kept[1], step):
            with case(at):
                assert "checkpoint" in refusal(kept, kept[1][:at])
        with case("lengthened"):
            assert "was cut or altered" in refusal(kept, kept[1] + b"\0")


def check_flipped(kept, places):
    with every() as case:
        for at in places:
            with case(int(at)):
                content = bytearray(kept[1])
                content[at] ^= 1 << (int(at) % 8)
                assert "checkpoint" in refusal(kept, bytes(content))


def test_a_cut_checkpoint_is_refused(kept):
    check_cut(kept, len(kept[1]) // 10)


def test_a_checkpoint_with_a_flipped_bit_is_refused(kept):
    size, rng = len(kept[1]), np.random.default_rng(0)
    check_flipped(kept, [*range(0, 100, 9), *rng.integers(0, size, 20), size - 1])


@pytest.fixture
def forge(kept, tmp_path):
    """Return what writes a checkpoint with the right checksum whose parts were changed."""
    place = tmp_path / "forged.part"
    place.write_bytes(kept[1])
    about, arrays = load_arrays(place, what="checkpoint", check=lambda about, layout: None)

    def written(change):
        own = {name: np.array(each) for name, each in arrays.items()}
        said = json.loads(json.dumps(about))
        change(said, own)
        save_arrays(place, said, own)
        return place.read_bytes()

    return written, arrays


def test_a_checkpoint_of_another_run_is_refused(kept, forge):
    written, arrays = forge
    kept_levels = next(name for name in arrays if name.endswith("."))
    widths = next(name for name in arrays if name.endswith("positive_width") and arrays[name].any())
    changes = {
        "another run": (lambda about, own: about.update(of="0" * 32), "is of another run"),
        "an array is missing": (lambda about, own: own.__delitem__(kept_levels), "arrays of its quantities"),
        "bins of much memory": (lambda about, own: own[widths].__setitem__(0, 10**9), "that there are not"),
    }  # fmt: skip
    with every() as case:
        for name, (change, says) in changes.items():
            with case(name):
                assert says in refusal(kept, written(change))
        with case("nothing changed"), pytest.raises(Stop):
            resumed(kept, written(lambda about, own: None))


def sealed(header, payload=b""):
    """Return a file with the right checksum over a header of one's own."""
    rest = json.dumps(header).encode() + b"\n" + payload
    return b"lawcast arrays 1 " + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest


def test_what_says_that_it_is_large_takes_no_memory(kept, forge):
    """A header may promise what it likes, and a packed file of zeros is no checkpoint."""
    _, arrays = forge
    layout = [[name, each.dtype.str, list(each.shape)] for name, each in arrays.items()]
    about = json.loads(kept[1].split(b"\n")[1])["about"]
    grown = [[n, d, [1 << 40] if n.endswith("positive_counts") else s] for n, d, s in layout]
    packed = io.BytesIO()
    np.savez_compressed(packed, about=np.zeros(1, dtype=np.uint8), big=np.zeros(1 << 22))
    tracemalloc.start()
    try:
        assert "not of the size that its header says" in refusal(kept, sealed({"about": about, "arrays": grown}))
        assert "is no checkpoint, or one of another version" in refusal(kept, packed.getvalue())
        for strange in ([["x", "|O8", [1]]], [["x", "<f8", [-1]]], [["x", "<f8", [1.5]]], [["x", "<U4", [1]]], 5, [[]]):
            assert "the header of the checkpoint: arrays" in refusal(kept, sealed({"about": about, "arrays": strange}))
        assert tracemalloc.get_traced_memory()[1] < 32e6
    finally:
        tracemalloc.stop()


def test_the_budget_is_asked_before_arrays_are_read(tmp_path):
    place = tmp_path / "a.part"
    save_arrays(place, {}, {"x": np.zeros(200_000)})
    with (
        forecast.resource_limits(memory="1MB"),
        pytest.raises(DataError, match=r"a\.part: the checkpoint takes 1\.53 MiB; "),
    ):
        load_arrays(place, what="checkpoint", check=lambda about, layout: None)
