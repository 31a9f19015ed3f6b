"""Results of evaluation programs: one row for a model, a task and a way of scoring."""

import io
import json
import zipfile

import pytest

import forecast
from forecast.errors import DataError

RESULTS = {
    "results": {
        "riddles": {"acc,none": 0.625, "acc_stderr,none": 0.0156, "acc_norm,none": 0.75,
                    "acc_norm_stderr,none": "N/A", "alias": " - riddles", "sample_len": 960},
        "sums": {"alias": "sums", "exact_match,strict-match": 0.25, "exact_match,flexible-extract": 0.375},
        "all": {"acc,none": 0.5, "alias": "all"},
    },
    "group_subtasks": {"riddles": [], "sums": [], "all": ["riddles", "sums"]},
    "configs": {"riddles": {"task": "riddles", "metric_list": [{"metric": "acc"}]}},
    "versions": {"riddles": 1.0, "sums": 3.0},
    "n-shot": {"riddles": 0, "sums": 5},
    "n-samples": {"riddles": {"original": 1000, "effective": 960}},
    "config": {"model": "hf", "model_args": "pretrained=invented/wee,dtype=float16", "limit": None},
    "date": 1735689600.5,
    "model_name": "invented/wee-1b",
}  # fmt: skip


def write(path, document):
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def records(data):
    """Rows without their missing cells."""
    columns = {name: data.texts(name) for name in data}
    return [{n: c[i] for n, c in columns.items() if c[i]} for i in range(data.rows)]


def test_lm_eval_has_a_row_for_each_task_and_filter(tmp_path):
    data = forecast.read(write(tmp_path / "results_2025-01-01T00-00-00.json", RESULTS))
    assert "as lm-evaluation-harness results: 4 rows" in data.notes.line()
    about = {"model": "invented/wee-1b", "date": "2025-01-01"}
    assert [row.items() >= about.items() for row in records(data)] == [True] * 4
    assert data["task"].tolist() == ["riddles", "sums", "sums", "all"]
    assert data["filter"].tolist() == ["", "strict-match", "flexible-extract", ""]
    assert data["acc"].tolist()[::3] == [0.625, 0.5]
    assert data["exact_match"].tolist()[1:3] == [0.25, 0.375]
    assert (data["subtasks"].tolist(), data["shots"].tolist()[:2]) == ([0, 0, 0, 2], [0, 5])
    assert "acc_norm_stderr" not in data
    assert "sample_len" not in data


def test_results_of_early_versions_name_the_model_in_its_arguments(tmp_path):
    old = {
        "results": {"sums": {"acc": 0.25, "acc_stderr": 0.0625}},
        "versions": {"sums": 0},
        "config": {"model": "hf-causal", "model_args": "pretrained=invented/wee,dtype=float16", "num_fewshot": 8},
    }
    (row,) = records(forecast.read(write(tmp_path / "old.json", old)))
    assert row == {"model": "invented/wee", "task": "sums", "shots": "8", "acc": "0.25",
                   "acc_stderr": "0.0625"}  # fmt: skip


def test_results_without_a_metric_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"^x\.json: no task has a metric under 'results'$"):
        forecast.read(write(tmp_path / "x.json", RESULTS | {"results": {"a": {"alias": "a"}}}))


# --- Inspect ----------------------------------------------------------------------------------------------------------


def score(name, **metrics):
    values = {metric: {"name": metric, "value": value, "params": {}} for metric, value in metrics.items()}
    return {"name": name, "scorer": name, "scored_samples": 64, "unscored_samples": 0, "metrics": values}


LOG = {
    "version": 2,
    "status": "success",
    "eval": {"created": "2025-01-01T12:00:00+00:00", "task": "riddles", "task_version": 0, "model": "invented/wee",
             "dataset": {"name": "riddles", "samples": 64, "sample_ids": [1, 2]}, "config": {"epochs": 1}},
    "plan": {"name": "plan", "steps": [{"solver": "generate", "params": {}}]},
    "results": {"total_samples": 64, "completed_samples": 64,
                "scores": [score("choice", accuracy=0.625, stderr=0.0625), score("judge", mean=7.5)]},
    "stats": {"model_usage": {"invented/wee": {"total_tokens": 1}}},
}  # fmt: skip


def archive(path, header, method=zipfile.ZIP_DEFLATED, **more):
    with zipfile.ZipFile(path, "w", method) as members:
        members.writestr("_journal/start.json", json.dumps({"version": 2}))
        for name in range(3):
            members.writestr(f"samples/{name}_epoch_1.json", json.dumps({"id": name}))
        for name, text in {"header.json": header, **more}.items():
            if text is not None:
                members.writestr(name, text if isinstance(text, (str, bytes)) else json.dumps(text))
    return path


def zstandard(path, header):
    """Write an archive as Inspect does since 2025: Python's own library cannot before 3.14."""
    pyarrow = pytest.importorskip("pyarrow")
    plain = json.dumps(header).encode()
    packed = pyarrow.Codec("zstd").compress(plain, asbytes=True)
    archive(path, packed, zipfile.ZIP_STORED)
    with zipfile.ZipFile(path) as members:
        info = members.getinfo("header.json")
        directory = members.start_dir
    data = bytearray(path.read_bytes())
    at = data.index(b"header.json", directory) - 46
    for field, value, size in ((10, 93, 2), (24, len(plain), 4)):
        data[at + field : at + field + size] = value.to_bytes(size, "little")
    data[info.header_offset + 8 : info.header_offset + 10] = (93).to_bytes(2, "little")
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "make"),
    [("a.eval", archive), ("a.EVAL", archive), ("z.eval", zstandard), ("a.json", lambda path, log: write(path, log))],
)
def test_an_inspect_log_has_a_row_for_each_score(tmp_path, name, make):
    data = forecast.read(make(tmp_path / name, LOG))
    assert f"Read {name} as an Inspect log: 2 rows" in data.notes.line()
    about = {"model": "invented/wee", "task": "riddles", "created": "2025-01-01T12:00:00+00:00", "dataset": "riddles",
             "samples": "64"}  # fmt: skip
    assert records(data) == [
        about | {"scorer": "choice", "accuracy": "0.625", "stderr": "0.0625"},
        about | {"scorer": "judge", "mean": "7.5"},
    ]
    assert data.kind("created") == "time"


def test_a_log_without_scores_says_how_the_evaluation_ended(tmp_path):
    failed = LOG | {"status": "error", "results": None}
    with pytest.raises(DataError, match=r"^a\.eval: the evaluation has no scores; its status is 'error'$"):
        forecast.read(archive(tmp_path / "a.eval", failed))


def test_a_log_of_an_evaluation_that_runs_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"^a\.eval: no header\.json in it; expected the log of an evaluation that has"):
        forecast.read(archive(tmp_path / "a.eval", None))


# --- hostile files ----------------------------------------------------------------------------------------------------


def test_an_archive_bomb_is_refused(tmp_path):
    """70 MB of blanks are 70 kB packed; so is a header that says it is small."""
    bomb = archive(tmp_path / "a.eval", " " * 70_000_000)
    assert bomb.stat().st_size < 200_000
    with pytest.raises(DataError, match=r"^a\.eval: unpacks to more than 67,108,864 bytes$"):
        forecast.read(bomb)


def test_an_archive_of_too_many_members_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("forecast_trackers.documents.MAX_MEMBERS", 3)
    with pytest.raises(DataError, match=r"^a\.eval: an archive of more than 3 files$"):
        forecast.read(archive(tmp_path / "a.eval", LOG))


def truncated(path):
    data = archive(path, LOG).read_bytes()
    path.write_bytes(data[: len(data) // 2])


def damaged(path):
    data = bytearray(archive(path, LOG).read_bytes())
    start = data.index(b"header.json") + 11
    data[start : start + 40] = bytes(40)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: archive(path, "[" * 100_000), "no JSON that can be read"),
        (lambda path: archive(path, "[1]"), "expected a JSON object, got list"),
        (lambda path: archive(path, LOG, zipfile.ZIP_LZMA), "packed in a way that Inspect does not use"),
        (lambda path: archive(path, {"eval": 1, "results": {"scores": 3}}), "expected an Inspect log"),
        (lambda path: archive(path, LOG | {"results": {"scores": 3}}), "has no scores"),
        (truncated, "an archive that cannot be read"),
        (damaged, "an archive that cannot be read"),
        (lambda path: path.write_bytes(b"\x80\x04pickle"), "no JSON that can be read"),
    ],
)
def test_a_broken_log_is_refused_in_one_sentence(tmp_path, make, message):
    make(tmp_path / "a.eval")
    with pytest.raises(DataError, match=message) as caught:
        forecast.read(tmp_path / "a.eval")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_nothing_is_unpacked_to_the_disk(tmp_path):
    """A member's name is never a path."""
    archive(tmp_path / "a.eval", LOG, **{"../evil.json": "{}", "/tmp/evil.json": "{}"})
    assert forecast.read(tmp_path / "a.eval").rows == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.eval"]


def test_a_log_too_deep_or_large_to_lay_out_is_read_for_its_scores(tmp_path):
    deep = 1
    for _ in range(100):
        deep = {"state": deep}
    wide = [{"notes": [{"text": "a"}] * 1000, **{f"k{i}": i for i in range(100)}} for _ in range(110)]
    path = write(tmp_path / "a.json", {**LOG, "samples": [deep], "reductions": wide})
    with pytest.raises(DataError, match="more than"):
        forecast.read(path, reader="none")
    assert forecast.read(path)["scorer"].tolist() == ["choice", "judge"]


def test_a_deep_document_is_refused(tmp_path):
    text = json.dumps(LOG)[:-1] + ', "samples": ' + "[" * 10_000 + "]" * 10_000 + "}"
    with pytest.raises(DataError, match="nested"):
        forecast.read(write(tmp_path / "a.json", text))


def test_zstandard_without_its_library_says_what_to_install(tmp_path, monkeypatch):
    path = zstandard(tmp_path / "z.eval", LOG)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(forecast.errors.UsageError, match=r"pip install 'lawcast\[parquet\]'"):
        forecast.read(path)


def test_a_gzip_bomb_under_a_reader_is_refused(tmp_path, monkeypatch):
    from forecast_trackers import documents, lm_eval_results

    buffer = io.BytesIO()
    import gzip

    with gzip.GzipFile(fileobj=buffer, mode="wb") as stream:
        stream.write(b" " * 2_000_000)
    (tmp_path / "x.json.gz").write_bytes(buffer.getvalue())
    monkeypatch.setattr(documents, "MAX_DOCUMENT_BYTES", 1_000_000)
    with pytest.raises(DataError, match=r"^x\.json\.gz: unpacks to more than 1,000,000 bytes$"):
        lm_eval_results.read_results(tmp_path / "x.json.gz")
