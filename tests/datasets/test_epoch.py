"""Epoch AI's databases as tables: fetched from a server of our own, recorded, and read in both of their layouts."""

from __future__ import annotations

import csv
import io
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import forecast
import forecast_datasets
from forecast.contract.registry import get_registry
from forecast.errors import DownloadError, QualifierError
from forecast.tables import file_hash, to_columns
from forecast.tables.series import common_qualifiers
from forecast_datasets import adapters, epoch

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
    for name in ("epoch_hardware", "epoch_index", "epoch_models", "epoch_prices"):
        assert getattr(adapters, name) is getattr(epoch, name)
    for name in ("epoch-hardware", "epoch-index", "epoch-models", "epoch-prices"):
        package = json.loads((SHELF / name / "datapackage.json").read_text(encoding="utf-8"))
        assert package["resources"][0]["parser"] == f"datasets/{name}"
        spec = get_registry().find("reader", f"datasets/{name}").spec
        assert spec.target == f"forecast_datasets.epoch:{name.replace('-', '_')}"
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
    # the trap that the description names: matrix rates in a column of vector rates are left out
    half = {
        d: float(table["peak_fp16"].sel(device=d)) for d in ("AMD Instinct MI300X", "NVIDIA B200", "Huawei Ascend 910")
    }
    assert all(np.isnan(rate) for rate in half.values())
    assert float(table["peak_fp16"].sel(device="NVIDIA A100 SXM4 80 GB")) == pytest.approx(78e12, rel=0.01)
    assert float(np.nanmax(table["peak_fp16"] / table["peak_fp32"])) < 4.1
    assert int((~np.isnan(table["peak_fp16"])).sum()) == 81  # of 108


def test_hardware_of_2026(served):
    table = forecast.table(served("epoch-hardware", f"{HEADER}\n{H100}".encode()))
    h100 = table.sel(device="H100")
    assert (float(h100["memory"]), float(h100["internode"]), float(h100["transistors"])) == (80, 400, 80e9)
    assert float(h100["price"]) == 30_000
    assert table["price"].attrs["unit"] == "USD"
    assert table["peak_int8"].attrs["unit"] == "OP/s"
    assert json.loads(table["peak_tensor_fp16"].attrs["qualifiers"])["sparsity"] == "dense"


def test_columns_say_what_their_unit_cannot(served, reference_data):
    folder = served("epoch-hardware", (reference_data / "hardware/epoch_ml_hardware_2025-06.csv").read_bytes())
    assert json.loads(forecast.table(folder)["price"].attrs["qualifiers"]) == {"dollars": "nominal"}
    with pytest.raises(QualifierError, match=r"fp32.*fp16|fp16.*fp32"):
        common_qualifiers(str(folder), "peak_fp32 + peak_tensor_fp16")
    asked = {"shape": "trends/exponential", "x": "date", "unit": "FLOP/s"}
    said = forecast.trend(str(folder), y="peak_tensor_fp16", **asked).fit().describe()
    assert 1 < said.facts["doubling_years"] < 4
    assert said.summary.endswith("; 1 row without a date left out")
    dated = forecast.trend(str(folder), y="peak_tensor_fp16", since="2008-01-01", **asked).fit().describe()
    assert dated.facts == said.facts


@pytest.mark.slow
def test_the_whole_chip_list_is_told_apart_by_numbers(reference_data):
    found = adapters.epoch_hardware(reference_data / "hardware/epoch_chips_all_2025-06.csv")
    assert len(found["device"]) == len(set(found["device"])) == 5774  # of 5775 one has no name
    assert "AMD Radeon RX 7900 XTX (2)" in found["device"]


def test_models_hold_our_training_runs(served, reference_data):
    folder = served("epoch-models", (reference_data / "hardware/epoch_all_models_2025-06.csv").read_bytes())
    found, ours = to_columns(folder), to_columns("datasets/training-runs")
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


#: The first lines of eci_scores.csv as of 2026-08-11, and the two that set the scale.
INDEX = """\
Model,Display name,eci,eci_ci_low,eci_ci_high,date,Organization,Country (of organization),Model accessibility,\
Accessibility group,model_versions
GPT-5.6 Sol,GPT-5.6 Sol,161.65,159.11,164.85,2026-07-09,OpenAI,United States of America,API access,Closed weights,
Kimi K3,Kimi K3,157.01,154.75,159.64,2026-07-16,Moonshot,China,Open weights (non-commercial),Open weights,
GPT-5,GPT-5,150.0,,,2025-08-07,OpenAI,United States of America,API access,Closed weights,
Claude 3.5 Sonnet,Claude 3.5 Sonnet,130.0,,,2024-06-20,Anthropic,United States of America,API access,Closed weights,
"""


def test_the_index_is_that_of_our_edition(served):
    found, ours = to_columns(served("epoch-index", INDEX.encode())), to_columns("datasets/capability-editions")
    august = ours["edition"] == "2026-08"
    index = dict(zip(ours["name"][august], ours["eci"][august], strict=True))
    assert [index[model] for model in found["model"]] == found["eci"].tolist()
    assert found["weights"].tolist() == ["closed", "open", "closed", "closed"]
    assert np.isnan(found["eci_low"]).tolist() == [False, False, True, True]


def test_prices_keep_bought_and_rented_apart(served, reference_data):
    found = to_columns(served("epoch-prices", (reference_data / "hardware/epoch_hardware_prices.csv").read_bytes()))
    assert found.rows == 591
    bought, rented = ~np.isnan(found["purchase"]), ~np.isnan(found["on_demand"])
    assert (bought.sum(), rented.sum(), (bought & rented).sum()) == (122, 465, 0)
    assert found.units["purchase"] == "USD"
    assert found.units["on_demand"] == "USD/hour"
    assert np.nanmedian(found["on_demand"]) == pytest.approx(2.1, abs=1)
    assert np.nanmedian(found["purchase"]) > 1_000


def test_one_wrong_row_of_a_living_table_is_left_out_and_named(served):
    wrong = row(Hardware_name="Slip", Release_date="2024-01-01", FP32="19.5")
    content = f"{HEADER}\n{H100}{row(Hardware_name='A', FP32='1e13')}{wrong}{row(Hardware_name='B', FP32='2e13')}"
    with pytest.warns(
        UserWarning, match=r"'epoch-hardware'.*: the row device = Slip is left out: .*in GFLOP/s, TFLOP/s"
    ):
        table = forecast.table(served("epoch-hardware", content.encode()))
    assert list(table["device"].values) == ["H100", "A", "B"]


def test_a_file_in_another_unit_is_refused_and_not_recorded(served, tmp_path):
    content = f"{HEADER}\n" + "".join(row(Hardware_name=f"D{i}", FP32=f"{i + 10}.5") for i in range(4))
    with pytest.raises(DownloadError, match=r"not recorded: .*check 'peak-fp32': .*\(10\.5 against 1e\+09\)"):
        forecast.table(served("epoch-hardware", content.encode()))
    assert not (tmp_path / "cache/snapshots.json").exists()


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        ("epoch-models", "Slip,2020-06-01,3640,x", "PFLOP/s-days"),
        ("epoch-models", "Slip,2023-03-14,0.21,x", "powers of FLOP"),
        ("epoch-index", "Slip,2026-01-01,0.71,,", "a share or a logit"),
        ("epoch-index", "Slip,2026-01-01,150,151,155", "of another edition"),
        ("epoch-prices", "Slip,2023-01-01,0,,,,", "a price is above 0"),
        ("epoch-prices", "Slip,2023-01-01,,-2.5,,,", "a price is above 0"),
        ("epoch-prices", "Slip,2023-01-01,,30000,,,", "of a month, or of buying"),
    ],
)
def test_figures_in_another_unit_are_left_out(served, name, line, says):
    header, good = {
        "epoch-index": ("Model,date,eci,eci_ci_low,eci_ci_high", "GPT-5,2025-08-07,150,,"),
        "epoch-models": ("Model,Publication date,Training compute (FLOP),Notability criteria",
                         "Theseus,1950-07-02,40,x"),
        "epoch-prices": ("Hardware model,Price date,Price (hardware purchase),Price per chip-hour (on-demand),"
                         "Price per chip-hour (1-year CUD),Price per chip-hour (3-year CUD),Number of GPUs",
                         "H100,2023-01-01,30000,2.5,,,8"),
    }[name]  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = to_columns(served(name, f"{header}\n{good}\n{line}\n".encode()))
    assert found.rows == 1
    assert sum("is left out" in str(w.message) and says in str(w.message) for w in caught) >= 1


def test_the_shipped_snapshots_break_no_check(served, reference_data):
    for name, file in {"epoch-hardware": "epoch_ml_hardware_2025-06", "epoch-models": "epoch_all_models_2025-06",
                       "epoch-prices": "epoch_hardware_prices"}.items():  # fmt: skip
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*is left out")
            to_columns(served(name, (reference_data / f"hardware/{file}.csv").read_bytes()))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("epoch-hardware", HEADER.replace("Hardware name", "Chip"), "column 'Hardware name' is missing"),
        ("epoch-hardware", HEADER.replace("Release date", "Date"), "column 'Release date' is missing"),
        ("epoch-models", "Model,Publication date,Notability criteria\nX,2020-01-01,\n",
         r"column 'Training compute \(FLOP\)' is missing"),
        ("epoch-prices", "Hardware model,Price date\nX,2020-01-01\n", "column 'Price .hardware purchase.' is missing"),
        ("epoch-index", "Model,date,index\nX,2026-01-01,150\n", "column 'eci' is missing"),
        ("epoch-models", "<html><body>busy</body></html>\n<p>\n", "a web page or other markup"),
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
