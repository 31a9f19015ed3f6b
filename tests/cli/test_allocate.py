import json

import pytest

import forecast
from toolkit import command, json_of, training_runs

FIT = "scaling/chinchilla@besiroglu2024"

run = command("allocate")


def test_headline_then_table(capsys):
    code, out, err = run(capsys, FIT, "--compute", "1e25")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == (
        f"With 1e25 FLOP, {FIT} reaches its best loss, 1.911 nat/token, at N = 3.173e11 param, D = 5.252e12 token "
        "(no intervals: the source states no uncertainty for this fit)."
    )
    assert lines[1] == ""
    assert any(line.startswith("tokens_per_parameter") and "16.55" in line for line in lines)
    assert err == ""


def test_json(capsys):
    code, out, _ = run(capsys, FIT, "--compute", "1e25", "--json")
    answer = json_of(out)
    assert code == 0
    assert list(answer) == ["command", "result", "warnings", "provenance"]
    result = answer["result"]
    assert 6 * result["N"] * result["D"] == pytest.approx(1e25, rel=1e-9)
    assert result["units"] == {"N": "param", "D": "token", "loss": "nat/token", "tokens_per_parameter": "token/param"}
    assert result["interval"] is None
    assert "states no uncertainty" in result["no_interval"]
    assert answer["provenance"]["plugins"][0]["name"] == "scaling"


def test_another_cost(capsys):
    _, out, _ = run(capsys, FIT, "--compute", "1e24", "--cost", "6*N*D + 2*N*1e13", "--json")
    result = json.loads(out)["result"]
    assert 6 * result["N"] * result["D"] + 2e13 * result["N"] == pytest.approx(1e24, rel=1e-9)


def test_rounded_sources_warn_on_stderr(capsys):
    code, out, err = run(capsys, "chinchilla@hoffmann2022", "--compute", "1e25")
    assert code == 0
    assert "rounded constants give biased forecasts" in err
    assert "biased" not in out.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["scaling/chinchila@besiroglu2024", "--compute", "1e25"], "did you mean 'scaling/chinchilla'"),
        (["scaling/chinchilla@besiroglu", "--compute", "1e25"], "did you mean 'besiroglu2024"),
        (["scaling/chinchilla", "--compute", "1e25"], "expected a law and its published parameters"),
        (["scaling/chinchilla@fit.nc", "--compute", "1e25"], "unknown published fit 'fit.nc'"),
        ([FIT, "--compute", "1e25", "--inference-tokens", "-1"], "inference_tokens: expected a positive number"),
        (["scaling/power@p", "--compute", "1e25"], "unknown published fit 'p'"),
        (["", "--compute", "1e25"], "expected a law and its published parameters"),
        ([FIT], "Missing option '--compute'"),
        ([FIT, "--compute", "lots"], "is not a valid float"),
        ([FIT, "--compute", "-1"], "expected a positive number"),
        ([FIT, "--compute", "nan"], "expected a positive number"),
        ([FIT, "--compute", "1e25", "--cost", "6*P*D"], "unknown variable 'P'"),
        ([FIT, "--compute", "1e25", "--cost", "6*N^D"], "write **"),
        ([FIT, "--compute", "1e25", "--cost", "__import__('os').system('true')"], "formula"),
    ],
)
def test_bad_input_079_wrong_usage_is_one_line_and_exit_2(capsys, words, says):
    assert says in run(capsys, *words).refused()


def test_no_best_split_fails_with_exit_1(capsys):
    assert "does not depend on 'D'" in run(capsys, FIT, "--compute", "1e25", "--cost", "6*N").refused(1)


@pytest.fixture(scope="module")
def fitted():
    return forecast.law("scaling/chinchilla").fit(training_runs(80))


@pytest.fixture
def saved(fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted.save("fit.nc")
    return fitted


def test_a_saved_fit_gives_intervals(capsys, saved):
    code, out, _ = run(capsys, "fit.nc", "--compute", "1e22", "--draws", "300", "--level", "0.8", "--json")
    result = json.loads(out)["result"]
    best = saved.allocate(compute=1e22, draws=300, level=0.8)
    assert code == 0
    assert result["no_interval"] is None
    assert result["interval"]["level"] == 0.8
    for name in ("N", "D", "loss", "tokens_per_parameter"):
        ends = {"lower": float(best[f"{name}_lower"]), "upper": float(best[f"{name}_upper"])}
        assert result["interval"][name] == ends
        assert ends["lower"] < result[name] < ends["upper"]
    code, out, _ = run(capsys, "fit.nc", "--compute", "1e22", "--inference-tokens", "1e12", "--draws", "300")
    assert code == 0
    assert out.splitlines()[0].endswith("(90 % intervals).")
    assert "1000000000000" in out


@pytest.mark.parametrize(("content", "says"), [(None, "no such file"), (b"", "fit.nc"), (b"not netcdf", "fit.nc")])
def test_a_file_that_is_no_fit_is_one_line(capsys, tmp_path, monkeypatch, content, says):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "fit.nc").write_bytes(content)
    assert says in run(capsys, "fit.nc", "--compute", "1e25").refused(1)
