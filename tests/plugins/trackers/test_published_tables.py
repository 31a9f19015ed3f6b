"""Tables of METR, TOP500 and Epoch as they are published."""

import numpy as np
import pytest

import forecast
from forecast.errors import DataError
from toolkit import command

HORIZONS = {"wee_1": ("2023-03-01", 4.0), "wee_2": ("2024-03-01", 16.0), "vast_1": ("2025-03-01", 64.0)}


def horizons(path, *, agents=False, tag=""):
    """Write METR's file in version 1.1, or in version 1 with an agent between model and metric."""
    lines = ["benchmark_name: METR-Horizon", "doubling_time_in_days:", "  from_2023_on:", "    ci_high: 200.5",
             "    point_estimate: 182.5", "results:"]  # fmt: skip
    for name, (date, value) in HORIZONS.items():
        head, pad = ("    agents:\n      modular:", "  ") if agents else ("    metrics:", "")
        lines += [f"  {name}:", *head.split("\n"), f"{pad}      average_score:", f"{pad}        estimate: 0.25",
                  f"{pad}      is_sota: true", f"{pad}      p50_horizon_length:", f"{pad}        ci_high: {2 * value}",
                  f"{pad}        ci_low: {value / 2}", f"{pad}        estimate: {tag}{value}",
                  f"    release_date: {date}", "    scaffolds:", "    - agents/one"]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("agents", [False, True])
def test_horizons_are_in_minutes(tmp_path, agents):
    data = forecast.read(horizons(tmp_path / "x.yaml", agents=agents))
    assert data.notes.line().startswith("Read x.yaml as METR's time horizons: 3 rows")
    assert data["name"].tolist() == list(HORIZONS)
    assert data["metrics.p50_horizon_length.estimate"].tolist() == [4, 16, 64]
    assert data["metrics.p50_horizon_length.ci_low"].tolist() == [2, 8, 32]
    assert data.units["metrics.p50_horizon_length.estimate"] == "min"
    assert data["metrics.average_score.estimate"].tolist() == [0.25] * 3
    assert data.column("results.*.metrics.p50_horizon_length.estimate").tolist() == [4, 16, 64]
    assert data.kind("release_date") == "time"
    assert ("agent" in data) == agents


def test_the_published_horizons_are_asked(reference_data, capsys):
    """An hour is 60 minutes, and the newest record is the last one of the file."""
    path = reference_data / "hardware" / "metr_benchmark_results_1_1.yaml"
    data = forecast.read(path)
    assert data.rows == 24
    where = ["--where", "metrics.is_sota is true"]
    said = command("ask")(capsys, f"{path}:metrics.p50_horizon_length.estimate", "--at", "2027", *where)
    assert said.code == 0, said.err
    assert "17 of 24 rows" in said.out + said.err


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system [exit] ", "!!python/name:os.system ", "!run "])
def test_tags_of_yaml_build_nothing(tmp_path, tag):
    with pytest.raises(DataError, match="YAML") as caught:
        forecast.read(horizons(tmp_path / "x.yaml", tag=tag))
    assert "\n" not in str(caught.value)


def test_a_file_like_metrs_without_horizons_is_refused(tmp_path):
    text = horizons(tmp_path / "x.yaml").read_text().replace("p50_horizon_length", "p50_score")
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(DataError, match=r"^x\.yaml: expected time horizons of models under 'results'$"):
        forecast.read(tmp_path / "x.yaml")


# --- TOP500 -----------------------------------------------------------------------------------------------------------

EARLY = ("Rank", "Site", "Manufacturer", "Computer", "Country", "Year", "Processors", "RMax", "RPeak", "Nmax", "Nhalf")
MIDDLE = ("Rank", "Name", "Site", "Country", "Year", "Total Cores", "Rmax", "Rpeak", "Nmax", "Power", "Mflops/Watt")
LATE = ("Rank", "Name", "Site", "Country", "Year", "Rmax [TFlop/s]", "Rpeak [TFlop/s]", "Nmax", "HPCG [TFlop/s]",
        "Power (kW)", "Power Source", "Power Effeciency [GFlops/Watts]", "Processor Speed (MHz)")  # fmt: skip


def top500(path, header, *rows):
    path.write_text("\n".join("\t".join(map(str, row)) for row in (header, *rows)) + "\n")
    return path


def test_early_lists_are_in_gigaflops(tmp_path):
    rows = [(1, "Invented", "Maker", "M-1", "Nowhere", 1993, 1024, 59.5, 131, 52224, 24064),
            (2, '"Invented, too"', "Maker", "M-2", "Nowhere", 1992, 16, 13.75, 15.25, 0, 0)]  # fmt: skip
    data = forecast.read(top500(tmp_path / "TOP500_199306.tsv", EARLY, *rows))
    assert data.notes.line().startswith("Read TOP500_199306.tsv as a TOP500 list: 2 rows")
    assert (data["RMax"].tolist(), data.units["RMax"]) == ([59.5, 13.75], "GFLOP/s")
    assert np.array_equal(data["Nmax"], [52224, np.nan], equal_nan=True)
    assert data["Site"].tolist() == ["Invented", "Invented, too"]


def test_a_zero_is_a_missing_measurement(tmp_path):
    rows = [(1, "Vast", "Site", "Nowhere", 2013, 3120000, 33862700, 54902400, 9960000, 17808, 1901.5),
            (2, "Wee", "Site", "Nowhere", 2012, 560640, 17590000, 27112550, 0, 0, "")]  # fmt: skip
    data = forecast.read(top500(tmp_path / "x.tsv", MIDDLE, *rows))
    assert (data["Rmax"].tolist(), data.units["Rmax"]) == ([33862700, 17590000], "GFLOP/s")
    assert np.array_equal(data["Power"], [17808, np.nan], equal_nan=True)
    assert (data.units["Power"], data.kind("Year")) == ("kW", "time")
    assert (data["Mflops/Watt"][0], data.units["Mflops/Watt"]) == (1901.5, "MFLOP/s/W")


def test_later_lists_state_their_units(tmp_path):
    rows = [(1, "Vast", "Site", "Nowhere", 2018, 143500, 200794.88, 16693248, 2925.75, 9783, "Submitted", 14.668, 3070),
            (2, "Wee", "Site", "Nowhere", 2018, 94640, 125712, "", "", "", "", "", 3100)]  # fmt: skip
    data = forecast.read(top500(tmp_path / "x.tsv", LATE, *rows))
    assert data["Rmax [TFlop/s]"].tolist() == [143500, 94640]
    units = {"Rmax [TFlop/s]": "TFLOP/s", "HPCG [TFlop/s]": "TFLOP/s", "Power (kW)": "kW",
             "Power Effeciency [GFlops/Watts]": "GFLOP/s/W", "Processor Speed (MHz)": "MHz"}  # fmt: skip
    assert all(data[name].size for name in units)
    assert {name: data.units[name] for name in units} == units
    assert data["Power Source"].tolist() == ["Submitted", ""]


# --- Epoch ------------------------------------------------------------------------------------------------------------

#: Headers as downloaded, in part, and a row.
TABLES = {
    "models": (
        "Model,Organization,Publication date,Parameters,Parameters notes,Training compute (FLOP),"
        "Training compute notes,Link,Reference,Authors,Abstract,Country (of organization)",
        'Wee,Invented AI,2024-03-01,1e9,stated,2.5e21,6ND,https://example.org,"On, wee",A. Author,"Of\nwords",Nowhere',
        [
            "Model",
            "Organization",
            "Publication date",
            "Parameters",
            "Training compute (FLOP)",
            "Country (of organization)",
        ],
    ),
    "hardware": (
        "Hardware name,Manufacturer,Type,Notes,Release date,Release price (USD),TDP (W),Link to datasheet,"
        "Source for the price,Last modified,Energy efficiency",
        "C1,Invented,GPU,,2022-05-01,9000.0,400.0,https://example.org,,2026-03-18 12:56:18+00:00,1e12",
        [
            "Hardware name", "Manufacturer", "Type", "Release date", "Release price (USD)", "TDP (W)",
            "Energy efficiency",
        ],
    ),
    "benchmark scores": (
        "Model version,mean_score,Release date,Organization,Country,Training compute notes,stderr,Log viewer,Logs,"
        "Started at,Notes,id",
        "wee-1,0.25,2023-03-01,Invented AI,Nowhere,,0.02,https://a.org,https://a.org/a.eval,2025-01-01T01:02:03.000Z,,rec1",
        ["Model version", "mean_score", "Release date", "Organization", "Country", "stderr"],
    ),
    "data centers": (
        "Date,Construction status,Power (MW),H100 equivalents,Data center,Thumbnail",
        "2024-01-01,\"Building 1 runs, at last\",100.0,65000.0,Invented Site,\"[{'id': 'att1', 'size': 9}]\"",
        ["Date", "Construction status", "Power (MW)", "H100 equivalents", "Data center"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_an_epoch_table_keeps_what_is_measured(tmp_path, kind):
    header, row, kept = TABLES[kind]
    path = tmp_path / "x.csv"
    path.write_text(f"\ufeff{header}\n{row}\n", encoding="utf-8")
    data = forecast.read(path)
    assert data.notes.line() == f"Read x.csv as Epoch's {kind}: 1 row."
    assert list(data) == kept
    assert [name for name in data if data.kind(name) == "time"] == [kept[n] for n in (0, 2, 3) if "ate" in kept[n]]


def test_cumulative_counts_of_chips_have_one_date(reference_data, capsys):
    """They begin on one day; with two dates a forecast would ask which."""
    path = reference_data / "hardware" / "epoch_chipcount_nvidia_cumulative_totals.csv"
    data = forecast.read(path)
    assert [name for name in data if data.kind(name) == "time"] == ["End date"]
    said = command("ask")(capsys, f"{path}:Number of units (median)", "--at", "2028")
    assert said.code == 0, said.err
    assert "as Epoch's chip counts: 17 rows" in said.out + said.err


@pytest.mark.parametrize(
    ("file", "kind", "rows"),
    [("epoch_all_models_2025-06", "models", 1892), ("epoch_ml_hardware_2025-06", "hardware", 161),
     ("epoch_capabilities_index", "benchmark scores", 585),
     ("epoch_chipcount_amd_cumulative_totals", "chip counts", 8)],
)  # fmt: skip
def test_tables_as_downloaded_are_told_by_their_columns(reference_data, file, kind, rows):
    data = forecast.read(reference_data / "hardware" / f"{file}.csv")
    assert f"as Epoch's {kind}: {rows:,} rows" in data.notes.line()
