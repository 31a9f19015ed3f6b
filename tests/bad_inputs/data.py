"""Bad inputs: data, fits, forecasts, seeds, files and surroundings."""

from __future__ import annotations

import decimal
import json
import os

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import forecast
from bad_inputs.table import Case, Row
from forecast.errors import DataError, ForecastError, ResultError, UsageError
from toolkit import json_of, saturating

POWER = ("fit", "scaling/power", "--data", "runs.csv")
GOOD = "x,y\n" + "".join(f"{x},{5 * x**-0.3!r}\n" for x in (1, 2, 4, 8, 16, 32, 64))
GROWING = {
    "start": 2025,
    "until": 2035,
    "quantities": {
        "rate": {"normal": [0.1, 0.5], "unit": "1/year"},
        "x": {"expression": "exp(rate*(t - start))"},
        "goal": {"p05": 2, "p95": 9, "unit": ""},
    },
    "questions": {"there": {"when": "x >= goal"}},
}


def with_cell(text: str, row: int = 2) -> str:
    """Return the table with another value of y in one row (counted from 0 below the header)."""
    lines = GOOD.splitlines()
    lines[row + 1] = f"{lines[row + 1].partition(',')[0]},{text}"
    return "\n".join(lines) + "\n"


def refused(number: int, what: str, text: str | bytes, *names: str, exit_code: int = 1) -> Row:
    """A CSV file that ``forecast fit`` refuses, naming the file, and leaves as it was."""
    return Row(
        number, what, files={"runs.csv": text}, command=POWER, exit_code=exit_code, names=("runs.csv", *names),
        after={"runs.csv": text},
    )  # fmt: skip


def power(data: object, **options: object) -> forecast.Fit:
    return forecast.law("scaling/power").fit(data, **options)


def like_floats(change):
    """Fit data in another form, and hold the parameters to those of plain floats."""

    def call(case: Case) -> None:
        plain = saturating(12, 0.01)
        expected = dict(power(plain).values)
        found = dict(power(change({k: v.copy() for k, v in plain.items()})).values)
        assert found == pytest.approx(expected, rel=1e-5)

    return call


def great_integers(case: Case) -> None:
    x = np.array([10**k + 1 for k in range(1, 18)], dtype=np.int64)
    y = 5.0 * x.astype(float) ** -0.3
    assert power({"x": x, "y": y}).values["c"] == pytest.approx(0.3, rel=1e-6)


def refused_data(change):
    def call(case: Case) -> None:
        power(change(saturating(12, 0.01)))

    return call


def project(**more: object) -> xr.DataTree:
    return forecast.project({**GROWING, **more}, draws=64, seed=0)


def state_of_random_numbers(case: Case) -> None:
    import random

    before = np.random.get_state()[1].copy(), random.getstate()
    project()
    power(saturating(12, 0.01), bootstrap=5)
    assert (np.random.get_state()[1] == before[0]).all()
    assert random.getstate() == before[1]


def many_chunks(case: Case) -> None:
    few, many = forecast.project(GROWING, draws=100, seed=0), forecast.project(GROWING, draws=2500, seed=0)
    for name, values in few["projection"].to_dataset().items():
        np.testing.assert_array_equal(values.values, many["projection"][name].values[..., :100], strict=True)


def shuffled(case: Case) -> None:
    data = saturating(30, 0.02)
    order = np.random.default_rng(1).permutation(30)
    one, two = (forecast.law("scaling/saturating-power").fit(d) for d in (data, {k: v[order] for k, v in data.items()}))
    assert dict(one.values) == pytest.approx(dict(two.values), rel=1e-9)


def scaled(case: Case) -> None:
    data = saturating(30, 0.02)
    law = forecast.law("scaling/power")
    one = law.fit(data)
    two = law.fit({"x": data["x"] * 1e30, "y": data["y"] * 1e-12})
    assert two.values["c"] == pytest.approx(one.values["c"], rel=1e-6)
    assert two.values["beta"] == pytest.approx(one.values["beta"] * 1e-12 * 1e30 ** one.values["c"], rel=1e-6)


def replicates(case: Case) -> str:
    data = saturating(12, 0.02)
    return str(power({k: np.tile(v, 100) for k, v in data.items()}).warnings)


def constant(case: Case) -> None:
    fit = power({"x": np.geomspace(1, 100, 12), "y": 3 * (1 + 1e-3 * np.sin(np.arange(12)))})
    low, high = fit.interval("c", 0.9)
    assert low == 0 < high  # no slope is inside, and its end is the bound


def far(case: Case) -> None:
    fit = forecast.law("scaling/saturating-power").fit(saturating(30, 0.02))
    near, away = (fit.predict(x=x, level=0.9) for x in (1e5, 1e10))
    widths = [float(d["observed_upper"] / d["observed_lower"]) for d in (near, away)]
    assert widths[1] >= widths[0]
    assert "decades" in str(away.attrs) or "decades" in str(away)


def shape_kept(case: Case) -> None:
    fit = forecast.law("scaling/power").fit(saturating(12, 0.01))
    assert fit.predict(x=[], level=0.9)["median"].shape == (0,)
    assert fit.predict(x=[10.0, 20.0, 30.0], level=0.9)["median"].shape == (3,)


def at_a_negative_place(case: Case) -> str:
    found = power(saturating(12, 0.01)).predict(x=[-1.0, 5.0])
    assert np.isnan(found["median"]).values.tolist() == [True, False]
    return str(found.attrs)


def saturating_without_slope(case: Case) -> str:
    x = np.geomspace(1, 1e4, 20)
    y = 3 * np.exp(0.01 * np.random.default_rng(2).standard_normal(20))
    return forecast.law("scaling/saturating-power").fit({"x": x, "y": y}).verdict


def collinear(case: Case) -> str:
    n = np.geomspace(1e8, 1e11, 25)
    law = forecast.law("scaling/chinchilla")
    loss = law.value(law.published("besiroglu2024").values, N=n, D=20 * n)
    loss = loss * np.exp(0.003 * np.random.default_rng(0).standard_normal(25))
    return law.fit({"N": n, "D": 20 * n, "loss": loss}).verdict


def units_of_dates(case: Case) -> None:
    years = np.arange(2015.0, 2027.0)
    stamps = np.array([f"{int(y)}-01-01" for y in years], dtype="datetime64[s]")
    value = 3.0 * 1.4 ** (years - 2015)
    growths = []
    for x in (stamps, stamps.astype("datetime64[ns]"), years):
        trend = forecast.trend({"t": x, "v": value}, x="t", y="v", unit="FLOP", shape="trends/exponential", name="x")
        growths.append(trend.fit().describe().facts["growth_per_year"])
    assert growths[:2] == pytest.approx([growths[0]] * 2, rel=1e-9)
    assert growths[2] == pytest.approx(growths[0], rel=2e-3)  # a decimal year is a year of 365 or of 366 days


def outlier(case: Case) -> None:
    data = saturating(30, 0.0, gain=1.0)
    data["y"] = 5 * data["x"] ** -0.3
    spoilt = {**data, "y": data["y"].copy()}
    spoilt["y"][15] *= 1e6
    assert power(spoilt, objective="huber_log").values["c"] == pytest.approx(0.3, rel=0.05)


def crossing_that_never_comes(case: Case) -> None:
    run = forecast.project(
        {**GROWING, "quantities": {**GROWING["quantities"], "x": {"expression": "exp(-rate*(t - start))"}}}, draws=64
    )
    assert float(run["questions"]["there_never"]) == pytest.approx(1.0)


def crossing_that_has_come(case: Case) -> None:
    run = forecast.project(
        {**GROWING, "quantities": {**GROWING["quantities"], "goal": {"value": 0.5, "unit": ""}}}, draws=64
    )
    assert float(run["questions"]["there_already"]) == pytest.approx(1.0)


def quantiles_in_order(case: Case, _: object) -> None:
    crossing = json_of((case.folder / "out.json").read_text())["result"]["questions"][0]["crossing"]
    known = [crossing[k] for k in ("p05", "p25", "p50", "p75", "p95") if crossing[k] is not None]
    assert known == sorted(known)
    assert 0 <= crossing["already"] + crossing["never"] <= 1


def written_as_json(case: Case) -> None:
    (case.folder / "a.json").write_text(json.dumps(GROWING))
    (case.folder / "a.toml").write_text(forecast.Scenario.from_dict(GROWING).to_toml())
    said = case.run("run", "a.toml", "--draws", "64", "--json")
    assert said.code == 0
    (case.folder / "out.json").write_text(said.out)


def netcdf(content: bytes):
    def call(case: Case) -> None:
        (case.folder / "a.nc").write_bytes(content)
        forecast.load(case.folder / "a.nc")

    return call


def truncated(case: Case) -> None:
    whole = (power(saturating(12, 0.01)).save(case.folder / "whole.nc")).read_bytes()
    for share in (0.1, 0.5, 0.9, 0.999):
        (case.folder / "a.nc").write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ResultError, match=r"a\.nc"):
            forecast.load(case.folder / "a.nc")


def fifo(case: Case) -> None:
    os.mkfifo(case.folder / "runs.csv")
    assert "runs.csv" in case.run(*POWER).refusal


def directory(case: Case) -> None:
    (case.folder / "runs.csv").mkdir()
    assert "runs.csv" in case.run(*POWER).refusal


def endless(case: Case) -> None:
    (case.folder / "runs.csv").symlink_to("/dev/zero")
    assert "runs.csv" in case.run(*POWER).refusal


def in_a_far_zone(case: Case) -> None:
    patch = case.request.getfixturevalue("monkeypatch")
    found = []
    for zone in ("UTC", "Pacific/Kiritimati"):
        patch.setenv("TZ", zone)
        import time

        time.tzset()
        found.append(project()["questions"]["there"].values.tobytes())
    patch.undo()
    time.tzset()
    assert found[0] == found[1]


#: There is no reader of YAML: whatever it says, it is no scenario and no table.
YAML = 'a: !!python/object/apply:os.system ["touch marker"]\n'
LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 10))

ROWS: tuple[Row, ...] = (
    *(
        Row(number, f"{what} as {use}", files={"c.yaml": text}, command=words, exit_code=2, names=("c.yaml",),
            after={"marker": None, "c.yaml": text})
        for number, what, text in ((9, "YAML that names a program", YAML), (10, "YAML that grows", LAUGHS))
        for use, words in (("a scenario", ("run", "c.yaml")), ("a table", ("fit", "scaling/power", "--data", "c.yaml")))
    ),
    refused(25, "NaN in y", with_cell("nan"), "4:y", "nan"),
    refused(25, "NaN in x", GOOD.replace("\n4,", "\nNaN,"), "4:x"),
    Row(25, "NaN in an array", call=refused_data(lambda d: {**d, "y": np.where(d["x"] > 5e3, np.nan, d["y"])}),
        raises=DataError, names=("row",)),
    refused(26, "a number beyond double precision", with_cell("1e400"), "4:y", "1e400"),
    refused(26, "an infinite number", with_cell("-inf"), "4:y"),
    Row(27, "zero in a law of logarithms", files={"runs.csv": GOOD.replace("\n1,", "\n0,")}, command=POWER, exit_code=1,
        names=("row 1", "scaling/power", "not positive")),
    Row(28, "y nearly constant", call=constant),
    Row(29, "all x the same", files={"runs.csv": "x,y\n" + "".join(f"3,{y}\n" for y in range(1, 8))}, command=POWER,
        exit_code=1, names=("not identified", "x = 3")),
    refused(30, "an empty file", "", "empty"),
    refused(30, "a header alone", "x,y\n", "without a row"),
    Row(31, "fewer points than parameters", files={"runs.csv": "x,y\n1,5\n"}, command=POWER, exit_code=1,
        names=("1 point cannot determine 2 parameters",)),
    Row(32, "rows repeated a hundred times", call=replicates, names=("1200 rows are only 12 different ones",)),
    Row(33, "rows in another order", call=shuffled),
    Row(34, "data scaled by thirty powers of ten", call=scaled),
    Row(35, "dates in three notations", call=units_of_dates),
    Row(36, "a day that is not", files={"a.csv": "date,v\n2023-02-29,1\n2024-02-29,2\n2025-02-28,3\n"},
        command=("backtest", "a.csv", "--x", "date", "--y", "v"), exit_code=1, names=("a.csv", "2023-02-29")),
    Row(36, "a day or a month", files={"a.csv": "date,v\n12/11/2024,1\n01/02/2025,2\n05/03/2026,3\n"},
        command=("backtest", "a.csv", "--x", "date", "--y", "v"), exit_code=1, names=("date", "YYYY-MM-DD")),
    *(refused(37, f"the cell {cell!a}".replace("/", " of "), with_cell(f'"{cell}"'), "4:y")
      for cell in ("1,234", "3,14", "1_000", "１２３", "٣", "5e", "0x10", "N/A", "TRUE")),
    Row(39, "one gross outlier", call=outlier),
    Row(40, "a negative sigma", call=lambda case: power(saturating(12, 0.01), sigma=np.full(12, -1.0)),
        raises=ForecastError, names=("sigma",)),
    Row(40, "a sigma too short", call=lambda case: power(saturating(12, 0.01), sigma=np.ones(3)), raises=ForecastError,
        names=("sigma",)),
    Row(41, "weights of nothing", call=lambda case: power(saturating(12, 0.01), weights=np.zeros(12)),
        raises=ForecastError, names=("weights",)),
    Row(42, "whole numbers that floats do not hold", call=great_integers),
    Row(43, "floats of 32 bits", call=like_floats(lambda d: {k: v.astype(np.float32) for k, v in d.items()})),
    Row(43, "complex numbers", call=refused_data(lambda d: {**d, "y": d["y"].astype(complex)}), raises=ForecastError),
    Row(43, "decimals", call=refused_data(
        lambda d: {**d, "y": np.array([[decimal.Decimal(1)] for _ in d["y"]], dtype=object)}), raises=ForecastError),
    Row(44, "labels that repeat", call=like_floats(lambda d: pd.DataFrame(d, index=[0] * 12))),
    Row(44, "pandas' own integers", call=like_floats(
        lambda d: pd.DataFrame(d).astype({"x": "Float64"}).set_index(pd.MultiIndex.from_product([[1, 2], range(6)])))),
    Row(45, "arrays backwards, read-only and of the other end", call=like_floats(
        lambda d: {k: np.asarray(v[::-1].astype(">f8")) for k, v in d.items()})),
    Row(46, "a place far beyond the data", call=far),
    Row(47, "predictions nowhere and at three places", call=shape_kept),
    Row(47, "predictions at a negative place and at another", call=at_a_negative_place, names=("'x' is not positive",)),
    Row(48, "a saturating law without a slope", call=saturating_without_slope, names=("identified",)),
    Row(50, "a start that is no number", call=lambda case: power(saturating(12, 0.01), start={"c": float("nan")}),
        raises=ForecastError, names=("start",)),
    Row(53, "a horizon before its start", call=lambda case: project(until=2020), raises=UsageError, names=("until",)),
    Row(54, "what falls away from its goal", call=crossing_that_never_comes),
    Row(54, "what is there already", call=crossing_that_has_come),
    Row(55, "quantiles in order", call=written_as_json, holds=quantiles_in_order),
    Row(56, "fewer draws than another", call=many_chunks),
    *(Row(57, f"the seed {seed!a}", command=("run", "brain-parity", "--seed", seed), exit_code=2, names=("seed",))
      for seed in ("-1", "abc", str(2**200))),
    Row(58, "random numbers of others", call=state_of_random_numbers),
    refused(59, "UTF-16", GOOD.encode("utf-16"), "UTF-8"),
    refused(59, "a header twice", GOOD.replace("x,y", "x,x"), "'x'"),
    refused(59, "a ragged row", GOOD + "1,2,3\n", "9"),
    Row(59, "a byte order mark", files={"runs.csv": "\ufeff" + GOOD}, command=(*POWER, "--json"), names=('"beta"',)),
    refused(60, "one text cell far down", "x,y\n" + "1,2\n" * 5000 + "1,two\n", "5002:y", "two"),
    Row(61, "JSON that is none", files={"fit.nc": '{"name": NaN}'}, command=("show", "fit.nc"), exit_code=1,
        names=("fit.nc",)),
    Row(62, "two spellings of one name", files={"runs.csv": "x,y,re\u0301,r\u00e9\n1,2,3,4\n"}, command=POWER,
        exit_code=1, names=("runs.csv",)),
    Row(72, "a truncated result", call=truncated),
    *(Row(72, what, call=netcdf(content), raises=ResultError, names=("a.nc",))
      for what, content in (("an empty result", b""), ("text for a result", b"hello"), ("a signature alone",
                                                                                        b"\x89HDF\r\n\x1a\n"))),
    Row(73, "a pipe for a table", call=fifo),
    Row(73, "a folder for a table", call=directory),
    Row(73, "a device that never ends", call=endless),
    Row(73, "a table that is not there", command=POWER, exit_code=1, names=("runs.csv",)),
    *(Row(79, f"the words {' '.join(words)}"[:50], command=words, exit_code=2)
      for words in (("run", "brain-parity", "--no-such"), ("run", "brain-parity", "--draws"),
                    ("run", "brain-parity", "--draws", "-5"), ("run", "brain-parity", "--until", "0"),
                    ("fit", "scaling/power", "--level", "1.5"), ("run", ""))),
    Row(82, "a key that nobody knows", files={"a.toml": "start = 2025\nuntil = 2030\nhorizen = 3\n"},
        command=("run", "a.toml"), exit_code=2, names=("a.toml", "horizen")),
    Row(82, "a key twice", files={"a.toml": "start = 2025\nstart = 2026\nuntil = 2030\n"}, command=("run", "a.toml"),
        exit_code=2, names=("a.toml",)),
    Row(85, "a far time zone", call=in_a_far_zone),
    Row(89, "tokens in proportion to parameters", call=collinear, names=("identified",)),
)  # fmt: skip
