"""Tables that are described and not shipped: from the authors' file to our columns."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import forecast
import forecast_datasets
from forecast.errors import DataError, DownloadError, TableError
from forecast.tables import columns, decimal_year, descriptor, file_hash
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
    for resource in descriptor.read(HERE / name / "datapackage.json").resources:
        shutil.copy(folder / FILES[resource.name], cache / f"{resource.hash[7:19]}-{resource.name}.data")


@pytest.mark.parametrize("name", ["gpu-trends", "microprocessors"])
def test_nothing_is_shipped_and_each_file_is_pinned(name):
    assert [path.name for path in (HERE / name).iterdir()] == ["datapackage.json"]
    for resource in descriptor.read(HERE / name / "datapackage.json").resources:
        assert resource.remote
        assert resource.licenses in ("Apache-2.0", "CC-BY-4.0")
        commit = resource.path.split("/")[5]
        assert len(commit) == 40, "a branch can change under its hash"


@pytest.mark.parametrize("name", ["gpu-trends", "microprocessors"])
def test_the_described_hash_is_that_of_the_reference_file(name, reference_data):
    for resource in descriptor.read(HERE / name / "datapackage.json").resources:
        assert file_hash(reference_data / "hardware" / FILES[resource.name]) == resource.hash


def test_gpu_trends_reproduce_the_published_doubling(cache, reference_data):
    """Hobbhahn & Besiroglu: FP32 peak doubles in 2.3 years; the line over all cards, 2.34, n = 1848."""
    fill(cache, "gpu-trends", reference_data / "hardware")
    gpus = columns("datasets/gpu-trends")
    time, speed = decimal_year(gpus["date"]), np.log2(gpus["peak_fp32"])
    assert len(time) == 1848
    assert 1 / np.polyfit(time, speed, 1)[0] == pytest.approx(2.34, abs=0.01)
    assert (~np.isnan(gpus["price"])).sum() > 400


def test_the_limit_regression_is_reproduced(cache, reference_data):
    """Hobbhahn & Besiroglu 2022: log F = 10.084 - 0.412 log nm + 0.920 log cores, R² 0.950."""
    fill(cache, "gpu-trends", reference_data / "hardware")
    gpus = columns("datasets/gpu-trends")
    cores = np.where(gpus["cores"] > 0, gpus["cores"], np.nan)
    known = ~np.isnan(gpus["peak_fp32"]) & ~np.isnan(cores)
    design = np.column_stack([np.ones(known.sum()), np.log10(gpus["process"][known]), np.log10(cores[known])])
    target = np.log10(gpus["peak_fp32"][known])
    found, residual, *_ = np.linalg.lstsq(design, target, rcond=None)
    assert found == pytest.approx([10.084, -0.412, 0.920], abs=0.02)
    assert 1 - residual[0] / np.sum((target - target.mean()) ** 2) == pytest.approx(0.950, abs=0.003)


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


def test_offline_the_error_says_where_to_put_the_file(cache):
    with pytest.raises(DownloadError, match=r"microprocessors.*transistors.*karlrupp.*put the file by hand"):
        forecast.table("datasets/microprocessors")


def test_readers_refuse_another_file(tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"other\.csv: column 'gpu' is missing"):
        readers.gpu_trends(other)
    with pytest.raises(DataError, match=r"other\.csv:1: expected a year and a value, got 'a,b'"):
        readers.processor_power(other)


def test_a_table_with_an_undated_gpu_is_read_without_it(tmp_path):
    header = ",product,date," + ",".join(theirs for theirs, _ in readers._GPU.values())
    file = tmp_path / "gpus.csv"
    cells = "," * (len(readers._GPU) - 1)
    file.write_text(f"{header}\n0,One,2016-10-30 12:00:00,{cells}\n1,Two,,{cells}\n", encoding="utf-8")
    assert readers.gpu_trends(file)["gpu"] == ["0"]


def test_another_file_in_the_cache_is_not_taken(cache):
    resource = descriptor.read(HERE / "gpu-trends/datapackage.json").resources[0]
    (cache / f"{resource.hash[7:19]}-{resource.name}.data").write_text("a\n", encoding="utf-8")
    with pytest.raises((DownloadError, TableError), match="gpu-trends"):
        forecast.table("datasets/gpu-trends")
