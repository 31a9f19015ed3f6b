"""Tables that are described and not shipped: from the authors' file to our columns."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import forecast
import forecast_datasets
from forecast.errors import DataError, DownloadError, TableError
from forecast.tables import decimal_year, file_hash, to_columns
from forecast.tables.schema import descriptor
from forecast_datasets import readers

HERE = Path(forecast_datasets.__file__).parent
FILES = {
    "gpu-trends": "hobbhahn_gpu_trends_factors.csv", "transistors": "rupp50_transistors.dat",
    "frequency": "rupp50_frequency.dat", "power": "rupp50_watts.dat", "specint": "rupp50_specint.dat",
    "cores": "rupp50_cores.dat",
}  # fmt: skip


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FORECAST_DATA", str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # no network in tests
    return tmp_path


def fill(cache, name, folder):
    """Put the files of a table where its download would put them."""
    for resource in descriptor.read_descriptor(HERE / name / "datapackage.json").resources:
        shutil.copy(folder / FILES[resource.name], cache / f"{resource.hash[7:19]}-{resource.name}.data")


@pytest.mark.parametrize("name", ["gpu-trends", "microprocessors", "technologies"])
def test_nothing_is_shipped_and_each_file_is_pinned(name):
    assert [path.name for path in (HERE / name).iterdir()] == ["datapackage.json"]
    for resource in descriptor.read_descriptor(HERE / name / "datapackage.json").resources:
        assert resource.remote
        assert resource.licenses in ("Apache-2.0", "CC-BY-4.0", "MIT")
        commit = resource.path.split("/")[5]
        assert len(commit) == 40, "a branch can change under its hash"


@pytest.mark.parametrize("name", ["gpu-trends", "microprocessors"])
def test_the_described_hash_is_that_of_the_reference_file(name, reference_data):
    for resource in descriptor.read_descriptor(HERE / name / "datapackage.json").resources:
        assert file_hash(reference_data / "hardware" / FILES[resource.name]) == resource.hash


def test_gpu_trends_reproduce_the_published_doubling(cache, reference_data):
    """Hobbhahn & Besiroglu: FP32 peak doubles in 2.3 years; the line over all cards, 2.34, n = 1848."""
    fill(cache, "gpu-trends", reference_data / "hardware")
    gpus = to_columns("datasets/gpu-trends")
    time, speed = decimal_year(gpus["date"]), np.log2(gpus["peak_fp32"])
    assert len(time) == 1848
    assert 1 / np.polyfit(time, speed, 1)[0] == pytest.approx(2.34, abs=0.01)
    assert (~np.isnan(gpus["price"])).sum() > 400


def test_fp32_per_dollar_is_reproduced_within_its_interval(cache, reference_data):
    """Published: 2.46 years, 95 % from 2.24 to 2.72, n = 470; an ordinary line on the same file: 2.49, n = 413."""
    fill(cache, "gpu-trends", reference_data / "hardware")
    asked = {"shape": "trends/exponential", "x": "date", "y": "peak_fp32/price", "unit": "FLOP/s/USD"}
    found = forecast.trend("datasets/gpu-trends", **asked).fit().describe().facts
    assert found["n"] == 413
    assert found["doubling_years"] == pytest.approx(2.49, abs=0.01)
    assert 2.24 < found["doubling_years"] < 2.72
    assert found["doubling_p05"] < 2.46 < found["doubling_p95"]


def test_fp16_per_dollar_does_not_reproduce_because_its_column_holds_three_kinds(cache, reference_data):
    """Published: 2.30 years, 95 % from 1.69 to 3.62. A line through all gives half that; within one kind it agrees."""
    fill(cache, "gpu-trends", reference_data / "hardware")
    gpus = to_columns("datasets/gpu-trends")
    asked = {"shape": "trends/exponential", "x": "date", "y": "peak_fp16/price", "unit": "FLOP/s/USD"}
    found = forecast.trend("datasets/gpu-trends", **asked).fit().describe().facts
    assert found["n"] == 114
    assert found["doubling_years"] == pytest.approx(1.17, abs=0.01)
    assert found["doubling_years"] < 1.69
    rate, time = gpus["peak_fp16"] / gpus["peak_fp32"], decimal_year(gpus["date"])
    priced = ~np.isnan(gpus["peak_fp16"] / gpus["price"])
    kinds = {ratio: priced & (np.abs(rate / ratio - 1) < 0.05) for ratio in (1 / 64, 1, 2)}
    assert {ratio: int(keep.sum()) for ratio, keep in kinds.items()} == {1 / 64: 20, 1: 35, 2: 59}
    assert np.median(time[kinds[1 / 64]]) < np.median(time[kinds[2]])
    for keep in kinds.values():
        doubling = 1 / np.polyfit(time[keep], np.log2((gpus["peak_fp16"] / gpus["price"])[keep]), 1)[0]
        assert 1.69 < doubling < 3.62


def regression(rate, process, cores):
    """Return the coefficients of log rate on log process and log cores, their number of rows, and R²."""
    rate, process, cores = (np.asarray(column, dtype=float) for column in (rate, process, cores))
    known = (rate > 0) & (process > 0) & (cores > 0)
    design = np.column_stack([np.ones(known.sum()), np.log10(process[known]), np.log10(cores[known])])
    target = np.log10(rate[known])
    found, residual, *_ = np.linalg.lstsq(design, target, rcond=None)
    return found, int(known.sum()), 1 - residual[0] / np.sum((target - target.mean()) ** 2)


def test_the_limit_regression_is_reproduced_on_all_rows_of_the_file(reference_data):
    """Hobbhahn & Besiroglu 2022: log F = 10.084 - 0.412 log nm + 0.920 log cores, R² 0.950; rows without a date too."""
    with (reference_data / "hardware" / FILES["gpu-trends"]).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    read = ([float(row[name] or "nan") for row in rows] for name in ("FP32_flops", "process_size_in_nm", "num_cores"))
    found, count, explained = regression(*read)
    assert count == 1948
    assert found == pytest.approx([10.084, -0.412, 0.920], abs=5e-4)
    assert explained == pytest.approx(0.9503, abs=5e-5)
    fit = forecast.law("hardware/rate-from-features").published("hobbhahn2022").values
    assert [np.log10(fit["c"]), -fit["a"], fit["b"]] == pytest.approx(list(found), abs=5e-4)


def test_the_dated_rows_that_the_table_holds_give_another_regression(cache, reference_data):
    """Ours: 10.067, -0.397 and 0.919 with R² 0.9497, and not the published figures, which need the undated rows."""
    fill(cache, "gpu-trends", reference_data / "hardware")
    gpus = to_columns("datasets/gpu-trends")
    found, count, explained = regression(gpus["peak_fp32"], gpus["process"], gpus["cores"])
    assert count == 1848
    assert found == pytest.approx([10.067, -0.397, 0.919], abs=5e-4)
    assert explained == pytest.approx(0.9497, abs=5e-5)


def test_transistors_of_processors_double_in_two_years(cache, reference_data):
    fill(cache, "microprocessors", reference_data / "hardware")
    asked = {"shape": "trends/exponential", "x": "transistors_date", "y": "transistors", "unit": ""}
    assert forecast.trend("datasets/microprocessors", **asked).fit().describe().facts["doubling_years"] == (
        pytest.approx(2.0, abs=0.05)
    )
    table = forecast.table("datasets/microprocessors")
    assert float(table["transistors"].sel(point=1)) == pytest.approx(2308, abs=1)  # the 4004: 2,300
    assert table["frequency"].attrs["unit"] == "MHz"
    assert float(table["cores"].max()) == 272


def curve(*rows):
    """Return a file as the performance-curve database writes it."""
    return "\n".join(["Price (2005 USD/kbit),Time (Year),Yearly (Mil. Mbits),Previous (Mil. Mbits)", *rows]) + "\n"


def test_a_curve_is_read_into_cost_and_what_was_made_so_far(tmp_path):
    file = tmp_path / "dram.csv"
    file.write_text(curve("50,1971,1,NA", "33,1972,4,1", "NA,1973,8,5"), encoding="utf-8")
    assert readers.dram_curve(file) == {
        "year": [1971, 1972, 1973], "dram_cost": [50.0, 33.0, None], "dram_production": [1.0, 4.0, 8.0],
        "dram_cumulative": [None, 5.0, 13.0],
    }  # fmt: skip
    cents = readers.wind_curve(file)
    assert cents["wind_cost"][0] == 0.5
    assert cents["wind_cumulative"][1] == 5000.0
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"dram\.csv: expected price, time, yearly and previous production"):
        readers.hard_disk_curve(file)


def test_technologies_make_a_table_over_years_and_experience_curves(tmp_path):
    """The described schema, with files of our own in the place of the downloads."""
    made = np.cumsum(1.3 ** np.arange(30))
    rows = [f"{100 * q**-0.4:.8g},{1970 + i},{q - (made[i - 1] if i else 0):.8g},{made[i - 1] if i else 0:.8g}"
            for i, q in enumerate(made)]  # fmt: skip
    package = json.loads((HERE / "technologies/datapackage.json").read_text(encoding="utf-8"))
    for resource in package["resources"]:
        file = tmp_path / f"{resource['name']}.csv"
        file.write_text(curve(*rows), encoding="utf-8")
        resource |= {"path": file.name, "hash": file_hash(file)}
    (tmp_path / "datapackage.json").write_text(json.dumps(package), encoding="utf-8")
    table = forecast.table(tmp_path)
    assert table.sizes["year"] == 30
    assert table["dram_cost"].attrs["unit"] == "USD/kbit"
    fit = forecast.law("scaling/wright").fit(table, let={"Q": "dram_cumulative"}, y="dram_cost")
    assert fit.values["w"] == pytest.approx(0.4, abs=1e-5)


@pytest.mark.parametrize(
    ("line", "says"),
    [("0,1973,8,5", "a cost is above 0"), ("20,1973,8,-9", "holds what was made in it; columns are exchanged")],
)
def test_a_wrong_year_of_a_technology_is_left_out(upstream, tmp_path, line, says):
    package = json.loads((HERE / "technologies/datapackage.json").read_text(encoding="utf-8"))
    for resource in package["resources"]:
        bad = resource["name"] == "dram"
        upstream.pages[f"/{resource['name']}"] = curve("50,1971,1,1", "33,1972,4,2", *[line] * bad).encode()
        resource["path"] = f"{upstream.url}/{resource['name']}"
    (tmp_path / "datapackage.json").write_text(json.dumps(package), encoding="utf-8")
    with pytest.warns(UserWarning, match=rf"'technologies': the row year = 1973 is left out: .*{says}"):
        table = forecast.table(tmp_path)
    assert list(table["year"].values) == [1971, 1972]


@pytest.mark.parametrize("reader", [readers.dram_curve, readers.gpu_trends])
def test_an_empty_file_is_no_table(tmp_path, reader):
    file = tmp_path / "empty.csv"
    file.write_bytes(b"")
    with pytest.raises(DataError, match=r"empty\.csv: the file is empty; expected a header and rows"):
        reader(file)


def test_offline_the_error_says_where_to_put_the_file(cache):
    with pytest.raises(DownloadError, match=r"microprocessors.*transistors.*karlrupp.*put the file by hand"):
        forecast.table("datasets/microprocessors")


def test_readers_refuse_another_file(tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"other\.csv: column 'index' is missing"):
        readers.gpu_trends(other)
    with pytest.raises(DataError, match=r"other\.csv:1: expected a year and a value, got 'a,b'"):
        readers.processor_power(other)


def test_a_table_with_an_undated_gpu_is_read_without_it(tmp_path):
    header = ",product,date," + ",".join(theirs[0] for theirs, _ in readers._GPU.values())
    file = tmp_path / "gpus.csv"
    cells = "," * (len(readers._GPU) - 1)
    file.write_text(f"{header}\n0,One,2016-10-30 12:00:00,{cells}\n1,Two,,{cells}\n", encoding="utf-8")
    assert readers.gpu_trends(file)["gpu"] == ["0"]


def test_another_file_in_the_cache_is_not_taken(cache):
    resource = descriptor.read_descriptor(HERE / "gpu-trends/datapackage.json").resources[0]
    (cache / f"{resource.hash[7:19]}-{resource.name}.data").write_text("a\n", encoding="utf-8")
    with pytest.raises((DownloadError, TableError), match="gpu-trends"):
        forecast.table("datasets/gpu-trends")


def test_what_a_described_column_measures_is_stated():
    """Real dollars and precisions: no trend of theirs meets nominal dollars or another precision without a word."""
    from forecast.contract.registry import get_registry
    from forecast.tables.schema import descriptor

    def fields(name):
        package = descriptor.read_descriptor(Path(get_registry().find("table", f"datasets/{name}").spec.descriptor))
        return {f.name: dict(f.qualifiers) for r in package.resources for f in r.fields}

    gpus, curves = fields("gpu-trends"), fields("technologies")
    assert gpus["price"] == {"dollars": "real 2020"}
    assert gpus["peak_fp32"]["precision"] == "fp32"
    assert gpus["peak_fp16"]["precision"] == "fp16"
    assert {curves[name]["dollars"] for name in ("dram_cost", "hard_disk_cost", "wind_cost")} == {"real 2005"}
