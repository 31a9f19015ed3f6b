"""Many writers of one ledger, writers that are killed, and ledgers that were published: nothing is lost or hidden."""

import errno
import fcntl
import multiprocessing
import os
import signal
import time

import pytest

from forecast.base import budgets, files
from forecast.errors import BudgetError, DataError, ResultError, UsageError
from forecast.evaluation import ledger, ledger_entries
from toolkit import VALUE, every, forked

FORK = multiprocessing.get_context("fork")


def run_all(target, *arguments):
    """Run a function in a process for each of these arguments, and return how they ended."""
    processes = [FORK.Process(target=target, args=each) for each in zip(*arguments, strict=True)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(300)
    return [process.exitcode for process in processes]


def add_many(path, writer, count):
    for number in range(count):
        ledger.append(path, [{**VALUE, "question": f"{writer}.{number}"}])


def check_all_there(path, writers, each):
    assert run_all(add_many, [path] * writers, range(writers), [each] * writers) == [0] * writers
    found = [record["question"] for record in ledger.read_ledger(path)]
    assert sorted(found) == sorted(f"{w}.{n}" for w in range(writers) for n in range(each))
    for writer in range(writers):  # in the order in which each added them
        own = [name for name in found if name.startswith(f"{writer}.")]
        assert own == [f"{writer}.{n}" for n in range(each)]
    assert {each.name for each in path.parent.iterdir()} - {f"{path.name}.lock"} == {path.name}


def test_what_several_processes_add_is_all_there(tmp_path):
    check_all_there(tmp_path / "one.jsonl", 6, 5)


def test_six_commands_at_once(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'start = 2026\nuntil = 2030\n[quantities.x]\nnormal = [1, 2]\nunit = ""\n'
        '[questions.size]\nvalue = "x"\ndates = [2029]\nresolves = "the yearbook"\n'
    )
    words = ("record", "mine.toml", "--ledger", "one.jsonl", "--as-of", "2026-01-01", "--draws", "64", "--seed")
    processes = [forked(tmp_path, *words, seed) for seed in range(6)]
    for process in processes:
        process.join(300)
    assert [process.exitcode for process in processes] == [0] * 6
    assert sorted(record["seed"] for record in ledger.read_ledger(tmp_path / "one.jsonl")) == list(range(6))


def test_an_addition_during_another_one_follows_it(tmp_path):
    path = tmp_path / "one.jsonl"

    def slow():
        ledger.append(path, [{**VALUE, "question": "theirs"}])
        yield VALUE

    ledger.append(path, slow())
    assert [record["question"] for record in ledger.read_ledger(path)] == ["theirs", "v"]


def test_whoever_names_a_link_adds_to_the_file(tmp_path):
    (tmp_path / "link.jsonl").symlink_to("one.jsonl")
    ledger.append(tmp_path / "link.jsonl", [VALUE])
    (tmp_path / "one.jsonl").chmod(0o640)
    ledger.append(tmp_path / "link.jsonl", [VALUE])
    assert len(ledger.read_ledger(tmp_path / "one.jsonl")) == 2
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "one.jsonl").stat().st_mode & 0o777 == 0o640


def add_without_end(path):
    for number in range(100_000):
        ledger.append(path, [{**VALUE, "question": str(number)}])


def kill_writers(path, times):
    for _ in range(times):
        before = path.stat().st_size if path.exists() else 0
        process = FORK.Process(target=add_without_end, args=(path,))
        process.start()
        while not (path.exists() and path.stat().st_size > before):
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        known = len(ledger.read_ledger(path))  # whole, whenever its writer ended
        ledger.append(path, [VALUE])  # what the dead left behind holds nobody up
        assert len(ledger.read_ledger(path)) == known + 1
    assert {each.name for each in path.parent.iterdir()} - {f"{path.name}.lock"} == {path.name}


def test_a_killed_writer_leaves_a_whole_ledger(tmp_path):
    kill_writers(tmp_path / "one.jsonl", 3)


@pytest.mark.parametrize("number", ["ENOLCK", "EOPNOTSUPP"])
def test_where_there_are_no_locks_nothing_is_written(tmp_path, monkeypatch, number):
    def none(handle, how):
        if how != fcntl.LOCK_UN:
            raise OSError(getattr(errno, number), os.strerror(getattr(errno, number)))

    path = tmp_path / "one.jsonl"
    ledger.append(path, [VALUE])
    before = path.read_bytes()
    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(ResultError, match=r"one\.jsonl: cannot be locked by .* keep it on a file system with locks"):
        ledger.append(path, [VALUE])
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert len(ledger.read_ledger(path)) == 1


def test_who_waits_too_long_is_told_for_what(tmp_path, monkeypatch):
    path = tmp_path / "one.jsonl"
    with files.exclusive_lock(path):
        with (
            pytest.raises(BudgetError, match=r"one\.jsonl: waiting for another writer stopped"),
            budgets.resource_limits(seconds=0.02),
        ):
            ledger.append(path, [VALUE])
        monkeypatch.setattr(files, "MAX_WAIT_SECONDS", 0.02)
        with pytest.raises(ResultError, match=r"another process has been writing it .*'one\.jsonl\.lock' is locked"):
            ledger.append(path, [VALUE])
    ledger.append(path, [VALUE])
    (tmp_path / "one.jsonl.lock").unlink(missing_ok=True)
    (tmp_path / "one.jsonl.lock").symlink_to("elsewhere")
    with pytest.raises(ResultError, match=r"cannot be locked by 'one\.jsonl\.lock': .* symbolic link"):
        ledger.append(path, [VALUE])
    assert not (tmp_path / "elsewhere").exists()


# --- dates ------------------------------------------------------------------------------------------------------------


def test_nothing_is_known_on_a_day_that_has_not_come(tmp_path):
    path = tmp_path / "one.jsonl"
    (added,) = ledger.append(path, [VALUE])
    before = path.read_bytes()
    run = {"attrs": {}}
    with every() as case:
        for name, call in {
            "append": lambda: ledger.append(path, [{**VALUE, "on": "2099-01-01"}]),
            "resolve": lambda: ledger.resolve_forecast(path, added["sha256"], 2.0, on="2099-01-01"),
            "record": lambda: ledger_entries.forecast_entries(
                run, on="2099-01-01"
            ),  # before anything of the run is read
        }.items():
            with case(name), pytest.raises(UsageError, match="2099-01-01: comes after today, "):
                call()
    assert path.read_bytes() == before
    assert ledger.past(ledger.today(), "--on") == ledger.today() == ledger.past("today", "--on")


# --- what was published -----------------------------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path):
    """Return a ledger of five forecasts, its hashes, and one that was rewritten from the third on, with its hashes."""
    path, other = tmp_path / "one.jsonl", tmp_path / "rewritten.jsonl"
    lines = [{**VALUE, "question": f"q{n}"} for n in range(1, 6)]
    hashes = [record["sha256"] for record in ledger.append(path, lines)]
    lines[2] |= {"points": [1.0, 2.0, 40.0]}
    return path, hashes, other, [record["sha256"] for record in ledger.append(other, lines)]


def test_a_published_hash_fixes_everything_before_it(book):
    path, hashes, _, _ = book
    records = ledger.read_ledger(path, expect=hashes[3])
    for expect, fixed in ((hashes[3], 4), (f"4:{hashes[3].upper()}", 4), ([hashes[1], f"1:{hashes[0]}"], 2), ([], 0)):
        assert ledger.verify_chain(records, ledger.parse_published_hashes(expect), where="x") == fixed


def test_what_was_rewritten_is_found_as_closely_as_the_hashes_tell(book, tmp_path):
    path, hashes, other, new = book
    (tmp_path / "published.txt").write_text(f"# from the journal\n2:{hashes[1]}\n\n3:{hashes[2]}\n")
    differs = f"record 3 differs: its hash is {new[2]}, expected {hashes[2]}; records 1 to 2 are as published"
    told = {
        "every record": ([f"{n}:{each}" for n, each in enumerate(hashes, 1)], differs),
        "the one and the one before": ([hashes[1], f"3:{hashes[2]}"], differs),
        "a file": ([str(tmp_path / "published.txt")], differs),
        "an earlier copy": (str(path), differs),
        "a later one": (
            [hashes[0], f"5:{hashes[4]}"],
            f"record 5 differs: its hash is {new[4]}, expected {hashes[4]}; record 1 is as published, so the first "
            "change is in one of the records 2 to 5",
        ),
        "the last alone": (f"5:{hashes[4]}", "the first change is in one of the records 1 to 5: which, only"),
        "a hash alone": (
            hashes[4],
            f"no record has the hash {hashes[4]}; it ends with record 5, {new[4]}. It was changed or cut off before "
            "that hash; any may be the first: which record, only hashes with numbers",
        ),
        "hashes without numbers": (
            [hashes[1], hashes[4]], "records 1 to 2 are as published, so the first change is at record 3 or later",
        ),
        "another number": (f"1:{new[1]}", f"the hash expected of record 1, {new[1]}, is that of record 2"),
        "two ledgers": ([f"3:{hashes[2]}", new[3]], "records 1 to 4 are as published: two ledgers"),
    }  # fmt: skip
    with every() as case:
        for name, (expect, says) in told.items():
            with case(name):
                with pytest.raises(DataError) as refused:
                    ledger.read_ledger(other, expect=expect)
                assert "rewritten.jsonl: is not what was published: " in str(refused.value)
                assert says in str(refused.value)


def test_what_was_cut_off_is_found(book):
    path, hashes, _, _ = book
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    with pytest.raises(DataError, match=f"record 5 is missing: expected {hashes[4]}, and it ends with record 3; "):
        ledger.read_ledger(path, expect=[hashes[2], f"5:{hashes[4]}"])
    with pytest.raises(DataError, match="records 1 to 3 are as published: what followed was cut off"):
        ledger.read_ledger(path, expect=[hashes[2], hashes[4]])
    path.write_text("")
    with pytest.raises(DataError, match=f"no record has the hash {hashes[4]}, and it is empty"):
        ledger.read_ledger(path, expect=hashes[4])


def test_nothing_is_added_to_what_is_not_what_was_published(book):
    _, hashes, other, new = book
    before = other.read_bytes()
    with pytest.raises(DataError, match="record 3 differs"):
        ledger.resolve_forecast(other, new[0], 2.0, on="2026-01-01", expect=[hashes[1], f"3:{hashes[2]}"])
    assert other.read_bytes() == before


def test_what_is_no_hash_is_refused(tmp_path, book):
    path, hashes, _, _ = book
    with every() as case:
        for text in (hashes[0][:8], f"0:{hashes[0]}", f"-1:{hashes[0]}", "", "x" * 5000, "a\0b"):
            with case(text), pytest.raises(UsageError, match="--expect: expected a hash of 64 digits"):
                ledger.read_ledger(path, expect=[text])
    (tmp_path / "p.txt").write_text("# none\n")
    with pytest.raises(DataError, match=r"p\.txt: holds no hash"):
        ledger.read_ledger(path, expect=[str(tmp_path / "p.txt")])
    (tmp_path / "p.txt").write_text(f"{hashes[0]}\nhello\n")
    with pytest.raises(DataError, match=r"p\.txt:2: expected a hash of 64 digits or N:HASH, got hello"):
        ledger.read_ledger(path, expect=[str(tmp_path / "p.txt")])
