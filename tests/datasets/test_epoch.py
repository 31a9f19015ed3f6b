"""Epoch AI's databases as tables: fetched from a server of our own, recorded, and read in both of their layouts."""

from __future__ import annotations

import csv
import io
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import forecast
import forecast_datasets
from forecast.errors import BasisError, DataError, DownloadError
from forecast.series import states
from forecast.tables import columns, file_hash
from forecast_datasets import adapters, epoch, readers

SHELF = Path(forecast_datasets.__file__).parent
#: The first line of ml_hardware.csv as of 2026-03.
HEADER = (
    "Hardware name,Manufacturer,Type,Notes,Release date,Release price (USD),Tensor-FP16/BF16 performance (FLOP/s),"
    "FP8 performance (FLOP/s),FP4 performance (FLOP/s),Memory (bytes),Memory bandwidth (byte/s),"
    "Intranode bandwidth (byte/s),Internode bandwidth (bit/s),TDP (W),FP64 (double precision) performance (FLOP/s),"
    "FP32 (single precision) performance (FLOP/s),TF32 (TensorFloat-32) performance (FLOP/s),"
    "FP16 (half precision) performance (FLOP/s),INT16 performance (OP/s),INT8 performance (OP/s),"
    "INT4 performance (OP/s),Foundry,Die Size (mm^2),Base clock (MHz),Boost clock (MHz),Memory clock (MHz),"
    "Memory bus (bit),Tensor cores,Process size (nm),Transistors (millions),Link to datasheet,Source for the price,"
    "ML models,Last modified,Max performance,Energy efficiency,Total processing performance (bit-OP/s),"
    "Price-performance,ML OP/s"
)


def row(**cells: str) -> str:
    """Return a line under HEADER; a column is named by how it begins."""
    names = HEADER.split(",")
    found = {next(n for n in names if n.startswith(start.replace("_", " "))): cell for start, cell in cells.items()}
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([found.get(n, "") for n in names])
    return line.getvalue()


H100 = row(
    Hardware_name="H100", Manufacturer="NVIDIA", Type="GPU", Release_date="2022-09-21", Release_price="$30,000.00",
    Memory_="80000000000", Tensor="989400000000000", Internode="400000000000", Transistors="80000",
)  # fmt: skip


@pytest.fixture
def served(upstream, tmp_path):
    """Serve a file in the place of a table's own, and return the folder of the table's descriptor."""

    def serve(name: str, content: bytes) -> Path:
        package = json.loads((SHELF / name / "datapackage.json").read_text(encoding="utf-8"))
        (resource,) = package["resources"]
        assert resource["hash"] == "recorded"
        assert resource["path"].startswith("https://")
        upstream.pages[f"/{name}"] = content
        resource["path"] = f"{upstream.url}/{name}"
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "datapackage.json").write_text(json.dumps(package), encoding="utf-8")
        return folder

    return serve


def test_one_reader_serves_the_table_and_the_adapter():
    for name in ("epoch_hardware", "epoch_models", "epoch_prices"):
        assert getattr(adapters, name) is getattr(epoch, name)
    for name in ("epoch-hardware", "epoch-models", "epoch-prices"):
        package = json.loads((SHELF / name / "datapackage.json").read_text(encoding="utf-8"))
        assert package["resources"][0]["parser"] == f"forecast_datasets.epoch:{name.replace('-', '_')}"
        assert package["licenses"][0]["name"] == package["resources"][0]["licenses"][0]["name"] == "CC-BY-4.0"
        assert [path.name for path in (SHELF / name).iterdir()] == ["datapackage.json"]


def test_hardware_of_2025(served, reference_data):
    file = reference_data / "hardware/epoch_ml_hardware_2025-06.csv"
    folder = served("epoch-hardware", file.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # every column is there, under its former name
        table = forecast.table(folder)
    assert table.attrs["hash"] == file_hash(file)
    h100 = table.sel(device="NVIDIA H100 SXM5 80GB")
    assert float(h100["peak_tensor_fp16"]) == pytest.approx(989.4e12, rel=1e-3)
    assert float(h100["memory"]) == 80
    assert float(h100["intranode"]) == 900
    assert float(h100["transistors"]) == 80e9
    assert table.sizes == {"device": 161}
    # the trap that the description names: matrix rates in a column of vector rates
    ratio = {d: float(table.sel(device=d)["peak_fp16"] / table.sel(device=d)["peak_fp32"])
             for d in ("NVIDIA A100 SXM4 80 GB", "AMD Instinct MI300X", "NVIDIA B200")}  # fmt: skip
    assert [round(r) for r in ratio.values()] == [4, 8, 36]


def test_hardware_of_2026(served):
    table = forecast.table(served("epoch-hardware", f"{HEADER}\n{H100}".encode()))
    h100 = table.sel(device="H100")
    assert (float(h100["memory"]), float(h100["internode"]), float(h100["transistors"])) == (80, 400, 80e9)
    assert float(h100["price"]) == 30_000
    assert table["price"].attrs["unit"] == "USD"
    assert table["peak_int8"].attrs["unit"] == "OP/s"
    assert json.loads(table["peak_tensor_fp16"].attrs["basis"])["sparsity"] == "dense"


def test_columns_say_what_their_unit_cannot(served, reference_data):
    folder = served("epoch-hardware", (reference_data / "hardware/epoch_ml_hardware_2025-06.csv").read_bytes())
    assert json.loads(forecast.table(folder)["price"].attrs["basis"]) == {"dollars": "nominal"}
    with pytest.raises(BasisError, match=r"fp32.*fp16|fp16.*fp32"):
        states(str(folder), "peak_fp32 + peak_tensor_fp16")
    asked = {"shape": "trends/exponential", "x": "date", "unit": "FLOP/s", "since": "2008-01-01"}  # rows with a date
    facts = forecast.trend(str(folder), y="peak_tensor_fp16", **asked).fit().describe().facts
    assert 1 < facts["doubling_years"] < 4


def test_the_whole_chip_list_is_told_apart_by_numbers(reference_data):
    found = adapters.epoch_hardware(reference_data / "hardware/epoch_chips_all_2025-06.csv")
    assert len(found["device"]) == len(set(found["device"])) == 5774  # of 5775 one has no name
    assert "AMD Radeon RX 7900 XTX (2)" in found["device"]


def test_models_hold_our_training_runs(served, reference_data):
    folder = served("epoch-models", (reference_data / "hardware/epoch_all_models_2025-06.csv").read_bytes())
    found, ours = columns(folder), columns("datasets/training-runs")
    assert found.rows == 1892
    keep = (found["notable"] == 1) & ~np.isnan(found["training_compute"])
    keep &= found["date"] >= np.datetime64("2010-01-01")
    assert keep.sum() == ours.rows == 428
    theirs = dict(zip(found["run"][keep], found["training_compute"][keep], strict=True))
    shared = [(theirs[run], c) for run, c in zip(ours["run"], ours["training_compute"], strict=True) if run in theirs]
    assert len(shared) > 400
    assert all(a == pytest.approx(b, rel=1e-5) for a, b in shared)
    assert forecast.table(folder)["training_compute"].attrs["unit"] == "FLOP"
    assert "P-LLama3 (2)" in found["run"]


def test_prices_keep_bought_and_rented_apart(served, reference_data):
    found = columns(served("epoch-prices", (reference_data / "hardware/epoch_hardware_prices.csv").read_bytes()))
    assert found.rows == 591
    bought, rented = ~np.isnan(found["purchase"]), ~np.isnan(found["on_demand"])
    assert (bought.sum(), rented.sum(), (bought & rented).sum()) == (122, 465, 0)
    assert found.units["purchase"] == "USD"
    assert found.units["on_demand"] == "USD/hour"
    assert np.nanmedian(found["on_demand"]) == pytest.approx(2.1, abs=1)
    assert np.nanmedian(found["purchase"]) > 1_000


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("epoch-hardware", HEADER.replace("Hardware name", "Chip"), "column 'Hardware name' is missing"),
        ("epoch-hardware", HEADER.replace("Release date", "Date"), "column 'Release date' is missing"),
        ("epoch-models", "Model,Publication date,Notability criteria\nX,2020-01-01,\n",
         r"column 'Training compute \(FLOP\)' is missing"),
        ("epoch-prices", "Hardware model,Price date\nX,2020-01-01\n", "column 'Price .hardware purchase.' is missing"),
        ("epoch-models", "<html><body>busy</body></html>\n<p>\n", "column 'Model' is missing"),
        ("epoch-hardware", f"{HEADER}\n" + row(Hardware_name="X", TDP="much"), r"column 'TDP \(W\)': expected a num"),
    ],
)  # fmt: skip
def test_another_file_is_refused_and_not_recorded(served, name, content, says, tmp_path):
    content = content if "\n" in content else f"{content}\n{H100}"
    with pytest.raises(DownloadError, match=f"is not this table, and is not recorded.*{says}"):
        forecast.table(served(name, content.encode()))
    assert not (tmp_path / "cache/snapshots.json").exists()


def test_a_figure_whose_column_has_gone_is_empty_with_a_warning(tmp_path):
    file = tmp_path / "ml_hardware.csv"
    file.write_text(f"{HEADER.replace('TDP (W)', 'Power')}\n{H100}", encoding="utf-8")
    with pytest.warns(UserWarning, match=r"epoch_hardware: the file has no column 'TDP \(W\)': left empty"):
        assert adapters.epoch_hardware(file)["tdp"] == [None]


def test_a_row_without_a_name_is_no_device(tmp_path):
    file = tmp_path / "ml_hardware.csv"
    file.write_text(f"{HEADER}\n{row(Manufacturer='x')}{H100}{H100}", encoding="utf-8")
    assert adapters.epoch_hardware(file)["device"] == ["H100", "H100 (2)"]


def test_prices_are_read_by_the_same_rules_as_the_others(tmp_path):
    other = tmp_path / "wrong.csv"
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"wrong\.csv: column 'Hardware model' is missing"):
        adapters.epoch_prices(other)
    assert set(readers.__all__).isdisjoint(epoch.__all__)
    shutil.copy(other, tmp_path / "copy.pkl")
    with pytest.raises(DataError, match=r"copy\.pkl is a pickle"):
        adapters.epoch_prices(tmp_path / "copy.pkl")
