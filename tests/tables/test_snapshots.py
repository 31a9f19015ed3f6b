"""Files without a published hash: recorded at the first fetch, and held to that from then on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from forecast import tables
from forecast.errors import DownloadError, TableError, UnknownNameError, UsageError
from forecast.tables import cited_hashes, diff, file_formats, table
from forecast.tables.remote import snapshots, trust_on_first_use
from forecast.tables.remote.download import cache_folder
from forecast.tables.remote.snapshots import Snapshot
from toolkit import digest, package, remote

ONE = b"run,loss\na,2.5\nb,2.25\n"
TWO = b"run,loss\na,2.5\nb,2.0\nc,1.75\n"
DAY = "2026-01-31"


@pytest.fixture(autouse=True)
def day(monkeypatch):
    monkeypatch.setattr(snapshots, "today", lambda: DAY)


@pytest.fixture
def runs(upstream, tmp_path):
    """A described table whose hash nobody published; the server gives ONE."""
    upstream.pages["/runs.csv"] = ONE
    fields = [{"name": "run", "type": "string"}, {"name": "loss", "type": "number", "unit": ""}]
    return package(tmp_path, "runs", remote("runs", f"{upstream.url}/runs.csv", fields))


def cached() -> list[str]:
    return sorted(p.name for p in cache_folder().iterdir() if p.name[0] != "." and "snapshots" not in p.name)


def take(runs: Path, **how: object) -> trust_on_first_use.Copy:
    url = json.loads(runs.read_text())["resources"][0]["path"]
    return trust_on_first_use.take(url, "runs.csv", where="demo", **how)


def test_the_first_fetch_records_and_the_second_is_offline(runs, upstream):
    first = table(runs)
    assert first["loss"].values.tolist() == [2.5, 2.25]
    upstream.pages.clear()
    assert table(runs).identical(first)
    assert upstream.asked == ["/runs.csv"]
    record = json.loads((cache_folder() / "snapshots.json").read_text())
    entry = {"hash": digest(ONE), "bytes": len(ONE), "fetched": DAY, "file": f"{digest(ONE)[7:19]}-runs.csv"}
    assert record == {"schema": 1, "snapshots": {f"{upstream.url}/runs.csv": {"current": entry, "earlier": []}}}
    assert cached() == [entry["file"]]


def test_the_table_says_its_hash_and_the_day_and_never_the_word(runs):
    attrs = table(runs).attrs
    assert attrs["hash"] == digest(ONE)
    assert attrs["recorded"] == DAY
    assert cited_hashes(table(runs)) == f"{digest(ONE)} (recorded {DAY})"
    assert diff.read_version(runs).hash == f"{digest(ONE)} (recorded {DAY})"
    assert cited_hashes(table("datasets/supercomputers")) == table("datasets/supercomputers").attrs["hash"]


def test_an_altered_file_in_the_cache_is_fetched_again_and_never_used(runs, upstream):
    path = take(runs).path
    path.write_bytes(TWO)
    assert table(runs)["loss"].values.tolist() == [2.5, 2.25]
    assert path.read_bytes() == ONE
    path.write_bytes(TWO)
    del upstream.pages["/runs.csv"]
    says = rf"404; the file recorded on {DAY} \({digest(ONE)}\) is not in the cache, or altered there: run 'forecast"
    with pytest.raises(DownloadError, match=says):
        table(runs)
    assert path.read_bytes() == TWO  # what somebody put there is left alone


def test_another_file_at_the_source_is_refused_with_both_hashes_and_what_to_do(runs, upstream):
    take(runs).path.unlink()
    upstream.pages["/runs.csv"] = TWO
    with pytest.raises(DownloadError) as caught:
        table(runs)
    message = str(caught.value)
    assert f"it has {digest(TWO)}, recorded on {DAY} was {digest(ONE)}" in message
    assert f"'forecast tables fetch {runs} --update'" in message
    assert "\n" not in message
    assert cached() == []
    upstream.pages["/runs.csv"] = ONE
    assert table(runs).attrs["hash"] == digest(ONE)


def test_an_update_keeps_the_earlier_snapshot(runs, upstream, monkeypatch):
    assert take(runs, update=True).how == "recorded"
    assert take(runs, update=True).how == "unchanged"
    upstream.pages["/runs.csv"] = TWO
    monkeypatch.setattr(snapshots, "today", lambda: "2026-02-28")
    assert take(runs).how == "cached"
    found = take(runs, update=True)
    assert (found.how, found.snapshot.hash, found.snapshot.fetched) == ("updated", digest(TWO), "2026-02-28")
    assert (found.before.hash, found.before.fetched) == (digest(ONE), DAY)
    assert table(runs)["loss"].sizes == {"run": 3}
    assert len(cached()) == 2
    upstream.pages.clear()
    back = take(runs, expected=digest(ONE))  # without a network
    assert (back.how, back.snapshot.fetched, back.before.hash) == ("chosen", DAY, digest(TWO))
    assert table(runs)["loss"].sizes == {"run": 2}
    record = snapshots.read_snapshots(cache_folder())[f"{upstream.url}/runs.csv"]
    assert [s.hash for s in record.earlier] == [digest(TWO)]


def test_two_snapshots_of_one_table_are_compared(runs, upstream):
    with pytest.raises(UnknownNameError, match="unknown snapshot 'earlier'; nothing of it was updated"):
        tables.snapshot(runs, "earlier")
    take(runs)
    upstream.pages["/runs.csv"] = TWO
    take(runs, update=True)
    (part,) = diff.compare_versions(diff.read_version(f"{runs}@earlier"), diff.read_version(runs))
    assert (part.before, part.after, part.added) == (2, 3, ({"run": "c"},))
    assert [(c.column, c.before, c.after) for c in part.changed] == [("loss", 2.25, 2.0)]
    assert diff.read_version(f"{runs}@{digest(ONE)[:15]}").hash == f"{digest(ONE)} (recorded {DAY})"
    with pytest.raises(UsageError, match="2 snapshots begin with 'sha256:'"):
        diff.read_version(f"{runs}@sha256:")
    with pytest.raises(UnknownNameError, match="table 'runs': unknown snapshot 'sha256:00000'"):
        diff.read_version(f"{runs}@sha256:00000")
    (cache_folder() / f"{digest(ONE)[7:19]}-runs.csv").write_bytes(TWO)
    with pytest.raises(DownloadError, match=f"recorded on {DAY} .{digest(ONE)}. is altered in the cache: put a copy"):
        diff.read_version(f"{runs}@earlier")


def test_the_expected_hash_is_the_only_one_that_is_taken(runs, upstream):
    with pytest.raises(DownloadError, match=f"has {digest(ONE)}, expected is {digest(TWO)}"):
        take(runs, expected=digest(TWO))
    assert snapshots.read_snapshots(cache_folder()) == {}
    assert cached() == []
    assert take(runs, expected=digest(ONE)).how == "recorded"
    upstream.pages["/runs.csv"] = TWO
    found = take(runs, expected=digest(TWO))  # a colleague's: named, so no --update is needed
    assert (found.how, found.before.hash) == ("updated", digest(ONE))


def test_a_file_given_by_hand(runs, upstream, tmp_path):
    upstream.pages.clear()
    mine = tmp_path / "mine.csv"
    mine.write_bytes(ONE)
    assert take(runs, file=mine).how == "recorded"
    assert table(runs)["loss"].values.tolist() == [2.5, 2.25]
    take(runs).path.unlink()
    assert take(runs, file=mine).how == "restored"
    mine.write_bytes(TWO)
    with pytest.raises(DownloadError, match=r"mine\.csv is another file than the recorded one") as caught:
        take(runs, file=mine)
    assert str(caught.value).endswith("to take the new one: 'forecast tables fetch NAME --update --file PATH'")
    assert take(runs, file=mine, update=True).how == "updated"
    with pytest.raises(DownloadError, match="no such file"):
        take(runs, file=tmp_path / "absent.csv")
    with pytest.raises(DownloadError, match="is a folder"):
        take(runs, file=tmp_path)
    assert upstream.asked == []


@pytest.mark.parametrize(
    ("page", "says"),
    [
        (b"<html>log in to the network</html>", r"runs\.csv: a web page"),
        (b"log in to the network\nor not\n", "run: the column is missing"),
        (b"run,los\na,1\n", r"los: the schema has no such field; did you mean 'loss'\?"),
        (b"run,loss\na,much\n", r"runs\.csv:2:loss: 'much': expected a number"),
    ],
)
def test_what_is_not_the_table_is_not_recorded(runs, upstream, page, says):
    upstream.pages["/runs.csv"] = page
    with pytest.raises(DownloadError, match=f"is not this table, and is not recorded: .*{says}"):
        table(runs)
    assert [p for p in cache_folder().iterdir() if p.name != "snapshots.json.lock"] == []


def test_nothing_recorded_and_no_server_names_the_command(runs, upstream):
    upstream.pages.clear()
    with pytest.raises(DownloadError) as caught:
        table(runs)
    assert str(caught.value) == (
        f"table 'runs', resource 'runs': cannot fetch {upstream.url}/runs.csv: the server answers 404; it has not been "
        f"fetched yet: run 'forecast tables fetch {runs}' where there is a network, or "
        f"'forecast tables fetch {runs} --file PATH' with a copy of the file"
    )
    upstream.pages["/runs.csv"] = ONE
    table(runs)
    upstream.pages.clear()
    with pytest.raises(DownloadError, match=f"404; the file recorded on {DAY} .* stays in use"):
        take(runs, update=True)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda text: text[:40], "not JSON"),
        (lambda text: text.replace('"schema": 1', '"schema": 2'), "schema: expected 1, got 2"),
        (lambda text: text.replace('"bytes": 22', '"bytes": "22"'), "bytes: expected a count, got '22'"),
        (lambda text: text.replace("-runs.csv", "-../../x"), "file: expected a name in the cache, got"),
        (lambda text: text.replace(DAY, "yesterday"), "fetched: expected a date YYYY-MM-DD, got 'yesterday'"),
        (lambda text: text.replace(DAY, "2026-13-99"), "fetched: expected a date YYYY-MM-DD, got '2026-13-99'"),
        (lambda text: text.replace('"schema": 1', '"schema": true'), "schema: expected 1, got True"),
        (lambda text: text.replace("sha256:", "md5:"), "hash: expected 'sha256:' and 64 digits, got 'md5:"),
        (lambda text: text.replace('"earlier": []', '"earlier": {}'), "earlier: expected a list, got"),
        (lambda text: text.replace('"fetched"', '"day"'), "fetched: is missing"),
    ],
)
def test_a_damaged_record_is_an_error_that_names_it_and_is_left_alone(runs, damage, says):
    table(runs)
    record = cache_folder() / "snapshots.json"
    wrong = damage(record.read_text())
    assert wrong != record.read_text()
    record.write_text(wrong)
    for again in (lambda: table(runs), lambda: take(runs, update=True)):
        with pytest.raises(DownloadError, match=r"snapshots\.json: the record of what was downloaded is dam") as caught:
            again()
        assert says in str(caught.value)
    assert record.read_text() == wrong


def test_the_lock_is_no_link(runs, tmp_path):
    cache_folder().mkdir(parents=True)
    (cache_folder() / "snapshots.json.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DownloadError, match=r"cannot be locked by 'snapshots\.json\.lock': .* symbolic link"):
        take(runs)
    assert not (tmp_path / "elsewhere").exists()


def test_an_earlier_snapshot_that_is_lost_says_what_to_do(runs, upstream):
    earlier = take(runs).path
    upstream.pages["/runs.csv"] = TWO
    take(runs, update=True)
    earlier.write_bytes(TWO)
    put = rf"put a copy of it at {earlier}, or compare with another snapshot"
    with pytest.raises(DownloadError, match=f"recorded on {DAY} .{digest(ONE)}. is altered in the cache: {put}"):
        tables.snapshot(str(runs), "earlier")
    earlier.unlink()
    with pytest.raises(DownloadError, match="is not in the cache any more: put a copy of it at"):
        tables.snapshot(str(runs), "earlier")
    earlier.write_bytes(ONE)
    assert tables.snapshot(str(runs), "earlier")["loss"].values.tolist() == [2.5, 2.25]


@pytest.mark.slow
def test_a_file_too_large_for_a_table_is_named_as_it_was_given(runs, tmp_path):
    large = tmp_path / "large.csv"
    with large.open("wb") as stream:
        stream.truncate(file_formats.MAX_FILE_BYTES + 1)
    with pytest.raises(DownloadError, match=r"large\.csv is not this table.*: runs\.csv: .* bytes; at most") as caught:
        take(runs, file=large, check=lambda path: file_formats.read_file(path))
    assert ".part" not in str(caught.value)
    assert cached() == []


def test_a_local_file_needs_its_hash(runs, upstream, tmp_path):
    (tmp_path / "runs.csv").write_bytes(ONE)
    runs.write_text(runs.read_text().replace(f"{upstream.url}/", ""))
    with pytest.raises(TableError, match=r"resources\[0\]\.hash: 'recorded' is for downloads") as caught:
        table(runs)
    assert f"the file's is {digest(ONE)}" in str(caught.value)


def test_the_second_of_two_processes_is_told_what_the_first_recorded(tmp_path):
    first = Snapshot(hash=digest(ONE), bytes=1, fetched=DAY, file=f"{digest(ONE)[7:19]}-a")
    other = Snapshot(hash=digest(TWO), bytes=1, fetched=DAY, file=f"{digest(TWO)[7:19]}-a")
    assert snapshots.keep(tmp_path, "u", first).current == first
    assert snapshots.keep(tmp_path, "u", other).current == first


def test_processes_at_once_lose_nothing(tmp_path):
    code = (
        "import sys, pathlib\n"
        "from forecast.tables.remote.snapshots import Snapshot, keep\n"
        "for i in range(20):\n"
        "    s = Snapshot(hash='sha256:' + 64 * '0', bytes=i, fetched='2026-01-31', file='000000000000-a')\n"
        "    keep(pathlib.Path(sys.argv[1]), f'{sys.argv[2]}/{i}', s)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("a", "b", "c")]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    assert len(snapshots.read_snapshots(tmp_path)) == 60


def test_the_loser_of_two_first_fetches_is_told_of_its_own_file_and_leaves_nothing(runs, tmp_path, monkeypatch):
    mine = tmp_path / "mine.csv"
    mine.write_bytes(TWO)
    keep = snapshots.keep

    def beaten(folder, url, snapshot, **how):
        if snapshot.hash == digest(TWO):  # the other process records between our look and ours
            (folder / "000000000000-runs.csv").write_bytes(ONE)
            keep(folder, url, Snapshot(hash=digest(ONE), bytes=len(ONE), fetched=DAY, file="000000000000-runs.csv"))
        return keep(folder, url, snapshot, **how)

    monkeypatch.setattr(snapshots, "keep", beaten)
    with pytest.raises(DownloadError, match=r"demo: mine\.csv is another file than the recorded one"):
        take(runs, file=mine)
    assert cached() == ["000000000000-runs.csv"]


def test_a_shipped_table_has_no_snapshots():
    with pytest.raises(UnknownNameError, match="it is shipped and has no snapshots"):
        tables.snapshot("datasets/accelerators", "earlier")
