"""The first table that is described and not shipped: no licence is stated, so its file comes from its authors."""

import shutil
from pathlib import Path

import pytest

import forecast
import forecast_datasets
from forecast.errors import DownloadError
from forecast.tables.schema import descriptor

HERE = Path(forecast_datasets.__file__).parent / "chinchilla-points"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FORECAST_DATA", str(tmp_path))
    return tmp_path


def in_cache(cache):
    resource = descriptor.read_descriptor(HERE / "datapackage.json").resources[0]
    return cache / f"{resource.hash[7:19]}-{resource.name}.data"


def test_nothing_of_it_is_shipped():
    assert [path.name for path in HERE.iterdir()] == ["datapackage.json"]
    assert descriptor.read_descriptor(HERE / "datapackage.json").resources[0].remote


def test_the_described_file_is_read_into_our_schema(reference_data, cache):
    shutil.copy(reference_data / "scaling/chinchilla_epoch/svg_extracted_data.csv", in_cache(cache))
    table = forecast.table("chinchilla-points")
    assert dict(table.sizes) == {"run": 245}
    assert table["compute"].attrs["unit"] == "FLOP"
    first = table.sel(run=1)
    assert float(first["params"]) == 6795600349.289497
    assert float(first["loss"]) == 5.005581996196243


def test_another_file_in_its_place_is_not_taken(cache, monkeypatch):
    in_cache(cache).write_text("Model Size,Training FLOP,loss\n1,2,3\n")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # no network in tests
    with pytest.raises(DownloadError, match=r"chinchilla-points.*raw\.githubusercontent\.com.*put the file by hand"):
        forecast.table("chinchilla-points")
