"""The performance-curve database from its archive: nothing unpacked, nothing trusted, one bad file harms no other."""

from __future__ import annotations

import csv
import json
import struct
import warnings
import zipfile
from pathlib import Path

import pytest

import forecast
import forecast_datasets
from forecast.errors import DataError, DownloadError, QualifierError
from forecast.tables import to_columns
from forecast_datasets import adapters, curves
from forecast_trends.hindcast import hindcasts

SHELF = Path(forecast_datasets.__file__).parent
TOP = "clab_experience_curve-01516c5db7b9ab9f362b26e3259d1f0650b5b899"
DISKS = (
    "Price (2005 USD/Megabyte),Time (Year),Yearly Shipments (Terabytes),Previous Shipments (Terabytes)\n"
    "17.2279084,1988,NA,NA\n13.38268249,1989,2435.9,1769.9\n"
)


def archive(path: Path, **files: str | bytes) -> Path:
    """Write an archive as the repository's host does; the names are of technologies, or whole paths."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(f"{TOP}/README.md", "86 technologies")
        made.writestr(f"{TOP}/ExpCurves.csv", "not one of them")
        for name, content in files.items():
            made.writestr(name if "/" in name else f"{TOP}/expCurveData/{name}.csv", content)
    return path


def left_out(path: Path, says: str) -> dict[str, list[object]]:
    with pytest.warns(UserWarning, match=says):
        return curves.performance_curves_archive(path)


def test_a_technology_is_a_file(tmp_path):
    file = archive(
        tmp_path / "a.zip", Hard_Disk_Drive=DISKS, Fotovoltaica=DISKS.replace("Time (Year)", "Tiempo (Year)")
    )
    found = curves.performance_curves_archive(file)
    assert found["technology"] == ["Fotovoltaica", "Fotovoltaica", "Hard_Disk_Drive", "Hard_Disk_Drive"]
    assert found["cost"][2:] == [17.2279084, 13.38268249]
    assert found["cumulative"][2:] == [None, 2435.9 + 1769.9]
    assert found["cost_measure"][2] == "Price (2005 USD/Megabyte)"
    assert found["production_measure"][2] == "Yearly Shipments (Terabytes)"
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]  # nothing is unpacked


def test_the_reader_and_the_adapter_are_one(tmp_path):
    folder = tmp_path / "expCurveData"
    folder.mkdir()
    (folder / "Hard_Disk_Drive.csv").write_text(DISKS, encoding="utf-8")
    of_archive = curves.performance_curves_archive(archive(tmp_path / "a.zip", Hard_Disk_Drive=DISKS))
    of_folder = adapters.performance_curves(folder)
    shared = set(of_archive) & set(of_folder)
    assert shared == {"technology", "year", "date", "cost", "production", "cumulative"}
    assert {name: of_archive[name] for name in shared} == {name: of_folder[name] for name in shared}


def test_the_shared_technologies_come_back_through_the_table(tmp_path, upstream, reference_data):
    rows: dict[str, list[dict[str, str]]] = {}
    with (reference_data / "technology/experience_curves_dev.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            rows.setdefault(row["tech"], []).append(row)
    files = {}
    for technology, of in rows.items():
        lines = [f"{r['cost']},{r['year']},{r['prod']},{float(r['cum']) - float(r['prod'])!r}" for r in of]
        files[technology] = "\n".join([f"{of[0]['unit']},Time (Year),Yearly,Previous", *lines]) + "\n"
    upstream.pages["/zip"] = archive(tmp_path / "a.zip", **files).read_bytes()
    package = json.loads((SHELF / "performance-curves/datapackage.json").read_text(encoding="utf-8"))
    assert package["resources"][0]["path"].endswith("/zip/01516c5db7b9ab9f362b26e3259d1f0650b5b899")
    package["resources"][0]["path"] = f"{upstream.url}/zip"
    (tmp_path / "datapackage.json").write_text(json.dumps(package), encoding="utf-8")
    found, theirs = to_columns(tmp_path), to_columns(reference_data / "technology/experience_curves_dev.csv")
    assert found.rows == theirs.rows == 392
    key = {(t, y): i for i, (t, y) in enumerate(zip(found["technology"], found["year"], strict=True))}
    order = [key[pair] for pair in zip(theirs["tech"], theirs["year"], strict=True)]
    for ours, name in {"cost": "cost", "production": "prod", "cumulative": "cum"}.items():
        assert found[ours][order] == pytest.approx(theirs[name], rel=1e-9)
    assert list(found["cost_measure"][order]) == list(theirs["unit"])
    assert found.where("technology", "Wheat_(US)", "here").rows == 143
    asked = {"shape": "trends/exponential", "x": "date", "y": "cost", "unit": ""}
    with pytest.raises(QualifierError, match=r"mixes technology .* and 17 more; keep one: where = \{ technology = "):
        forecast.trend(str(tmp_path), **asked).fit()
    assert forecast.trend(str(tmp_path), where={"technology": "Wheat_(US)"}, **asked).fit().describe().facts["n"] == 143
    assert len(hindcasts(str(tmp_path), series="technology", x="year", y="cost").technologies) == 19
    disks = found["technology"] == "Hard_Disk_Drive"
    fit = forecast.law("scaling/wright").fit(
        {"Q": found["cumulative"][disks], "c": found["cost"][disks]}, y="c", seed=0
    )
    assert fit.values["w"] > 0.3


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a,b\n1,2\n", "'Bad' is left out: expected price, year, yearly and previous production"),
        (DISKS.replace("1989", "1988"), "'Bad' is left out: row 3: the year 1988 is given twice"),
        (DISKS.replace("1989", "1989.5"), r"'Bad' is left out: row 3: '1989\.5' is no year"),
        (DISKS.replace("17.2279084", "17,2279084"), "'Bad' is left out: row 2: 5 cells, expected 4"),
        (DISKS.replace("17.2279084", "cheap"), "'Bad' is left out: row 2: expected a number or NA, got 'cheap'"),
        (DISKS.replace("17.2279084", "-1"), "'Bad' is left out: row 2: '-1': expected a figure that is not negative"),
        (DISKS.replace("17.2279084", "inf"), "'Bad' is left out: row 2: expected a number or NA, got 'inf'"),
        (DISKS.replace("17.2279084", "1_000"), "'Bad' is left out: row 2: expected a number"),
        (DISKS.splitlines()[0] + "\n", "'Bad' is left out: no rows"),
        ("", "'Bad' is left out: expected price"),
        (DISKS.encode("utf-16"), "'Bad' is left out: "),
        (b"\x81\x8d\xff", "'Bad' is left out: "),
    ],
)
def test_one_bad_technology_does_not_take_the_rest_down(tmp_path, content, says):
    found = left_out(archive(tmp_path / "a.zip", Bad=content, Good=DISKS), says)
    assert set(found["technology"]) == {"Good"}


@pytest.mark.parametrize(
    ("content", "measure"),
    [
        ("\ufeff" + DISKS, "Price (2005 USD/Megabyte)"),
        (DISKS.replace("USD", "\u20ac").encode("cp1252"), "Price (2005 \u20ac/Megabyte)"),
        (DISKS.replace("USD", "\u20ac").encode(), "Price (2005 \u20ac/Megabyte)"),
        (DISKS.replace("\n", "\r\n"), "Price (2005 USD/Megabyte)"),
        (DISKS.replace("\n", ",,\n") + ",,,\n\n", "Price (2005 USD/Megabyte)"),
    ],
)
def test_files_of_many_hands(tmp_path, content, measure):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = curves.performance_curves_archive(archive(tmp_path / "a.zip", T=content))
    assert found["cost_measure"] == [measure] * 2
    assert found["cost"] == [17.2279084, 13.38268249]


def test_names_in_the_archive_are_no_paths(tmp_path):
    names = {f"{TOP}/expCurveData/deep/evil.csv": DISKS, f"{TOP}/expCurveData/._evil.csv": DISKS,
             f"{TOP}/expCurveData/e\x1b[2Jvil.csv": DISKS, "__MACOSX/x/expCurveData/evil.csv": DISKS,
             f"{TOP}/expCurveData/{'e' * 101}.csv": DISKS}  # fmt: skip
    found = curves.performance_curves_archive(archive(tmp_path / "a.zip", Good=DISKS, **names))
    assert set(found["technology"]) == {"Good"}
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


@pytest.mark.parametrize(
    "name",
    ["../expCurveData/evil.csv", f"{TOP}/expCurveData/../../../evil.csv", "/etc/expCurveData/evil.csv",
     "/etc/cron.d/evil", "x/..", "C:/expCurveData/evil.csv", "C:\\evil.csv",
     "a\\..\\..\\evil.csv", "\\\\host\\share/evil.csv"],
)  # fmt: skip
def test_bad_input_012_an_archive_that_would_be_unpacked_elsewhere_is_refused(tmp_path, name):
    with pytest.raises(DataError, match=r"a\.zip: '.*' would be unpacked outside the archive's folder: the archive is"):
        curves.performance_curves_archive(archive(tmp_path / "a.zip", Good=DISKS, **{name: DISKS}))
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_bad_input_012_a_symbolic_link_in_an_archive_is_refused(tmp_path):
    link = zipfile.ZipInfo(f"{TOP}/expCurveData/Link.csv")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(archive(tmp_path / "a.zip", Good=DISKS), "a") as made:
        made.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match=r"a\.zip: '.*Link\.csv' is a symbolic link: the archive is refused"):
        curves.performance_curves_archive(tmp_path / "a.zip")


def test_bad_input_013_a_bomb_that_states_a_small_size_is_refused(tmp_path):
    """What a member unpacks to is counted, not believed: its size is a field of the archive."""
    whole = archive(tmp_path / "a.zip", Bomb=b"0" * 50_000_000).read_bytes()
    assert len(whole) < 100_000
    (tmp_path / "a.zip").write_bytes(whole.replace(struct.pack("<L", 50_000_000), struct.pack("<L", 1_000)))
    with pytest.raises(DataError, match=r"a\.zip: (not a zip archive that can be read|'Bomb' is larger than)"):
        curves.performance_curves_archive(tmp_path / "a.zip")


def test_a_second_file_of_a_name_is_left_out(tmp_path):
    other = {"other/expCurveData/T.csv": DISKS.replace("17.2", "99.2")}
    found = left_out(archive(tmp_path / "a.zip", T=DISKS, **other), "'T' is left out: a second file of that name")
    assert len(found["cost"]) == 2


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    file = archive(tmp_path / "a.zip", Good=DISKS, Bomb=b"0" * (curves.LIMIT_BYTES + 1))
    assert file.stat().st_size < 10_000
    with pytest.raises(DataError, match=r"a\.zip: 'Bomb' is larger than 131,072 bytes"):
        curves.performance_curves_archive(file)
    monkeypatch.setattr(curves, "LIMIT_CURVES", 1)
    with pytest.raises(DataError, match="2 technologies; at most 1 are read"):
        curves.performance_curves_archive(file)
    monkeypatch.setattr(curves, "LIMIT_MEMBERS", 3)
    with pytest.raises(DataError, match="4 files; at most 3 are looked at"):
        curves.performance_curves_archive(file)
    monkeypatch.setattr(curves, "LIMIT_ARCHIVE", 10)
    with pytest.raises(DataError, match="bytes; at most 10 are read"):
        curves.performance_curves_archive(file)


def test_a_file_of_nothing_but_lines_is_left_out_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("csv.reader", lambda *_, **__: pytest.fail("read"))
    with pytest.raises(ValueError, match="100,000 lines; there are 2,000 at most, one a year"):
        curves.read_curve("Lines", b"\n" * 100_000)
    with pytest.raises(ValueError, match="3,000 lines"):
        curves.read_curve("Lines", b"\r" * 3_000)


def test_a_long_row_is_cut_in_one_piece():
    with pytest.raises(ValueError, match="expected price, year"):
        curves.read_curve("Wide", b"a," * 2 + b"," * (curves.LIMIT_BYTES - 10))


def test_a_long_list_of_files_is_refused_before_it_is_kept(tmp_path):
    count = 100_000
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    names = entry * count
    end = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(names), 0)
    end += struct.pack("<4sLQL", b"PK\6\7", 0, len(names), 1)
    end += struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    (tmp_path / "a.zip").write_bytes(names + end)
    with pytest.raises(DataError, match=r"a\.zip: a list of files of 4,700,000 bytes; at most 4,194,304 are read"):
        curves.performance_curves_archive(tmp_path / "a.zip")


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_ways_to_pack_are_refused(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as made:
        made.writestr(f"{TOP}/expCurveData/T.csv", DISKS)
    packed = bytearray((tmp_path / "a.zip").read_bytes())
    packed[packed.index(b"T.csv") + 15] ^= 0xFF
    (tmp_path / "a.zip").write_bytes(bytes(packed))
    with pytest.raises(DataError, match=r"a\.zip: not a zip archive that can be read: 'T' is packed in a way"):
        curves.performance_curves_archive(tmp_path / "a.zip")


def test_a_name_that_is_no_utf8_is_refused(tmp_path):
    whole = archive(tmp_path / "a.zip", **{"\u00e4": DISKS}).read_bytes()
    (tmp_path / "a.zip").write_bytes(whole.replace("\u00e4".encode(), b"\xc3\xff"))
    with pytest.raises(DataError, match=r"a\.zip: not a zip archive that can be read: .*utf-8"):
        curves.performance_curves_archive(tmp_path / "a.zip")


def test_what_is_no_archive_is_refused(tmp_path):
    file = tmp_path / "a.zip"
    file.write_bytes(b"<html>busy</html>")
    with pytest.raises(DataError, match=r"a\.zip: not a zip archive that can be read"):
        curves.performance_curves_archive(file)
    with pytest.raises(DataError, match=r"no file '\*/expCurveData/\*\.csv' in it: another archive\?"):
        curves.performance_curves_archive(archive(file))
    whole = archive(file, T=DISKS).read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"a\.zip: not a zip archive that can be read"):
        curves.performance_curves_archive(file)
    flipped = bytearray(archive(file, T=DISKS).read_bytes())
    place = flipped.index(b"T.csv") + 10  # in the packed bytes, whose checksum then fails
    flipped[place] ^= 0xFF
    file.write_bytes(bytes(flipped))
    with pytest.raises(DataError, match=r"a\.zip: not a zip archive that can be read"):
        curves.performance_curves_archive(file)


@pytest.mark.filterwarnings("ignore:performance-curves")
def test_an_archive_without_one_good_technology_is_refused(tmp_path):
    with pytest.raises(DataError, match="no technology in it could be read"):
        curves.performance_curves_archive(archive(tmp_path / "a.zip", T="a,b\n"))


def test_the_described_table_refuses_a_page_of_html(upstream, tmp_path):
    package = json.loads((SHELF / "performance-curves/datapackage.json").read_text(encoding="utf-8"))
    upstream.pages["/zip"] = b"<html>busy</html>"
    package["resources"][0]["path"] = f"{upstream.url}/zip"
    (tmp_path / "datapackage.json").write_text(json.dumps(package), encoding="utf-8")
    with pytest.raises(DownloadError, match=r"is not this table, and is not recorded: .*not a zip archive"):
        forecast.table(tmp_path)
    assert list((tmp_path / "cache").glob("*.json")) == []
