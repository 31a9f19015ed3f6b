"""``forecast fit``: wrong usage is one line that says what was expected."""

import pytest

LAW = "scaling/saturating-power"


def test_weights_and_sigma_are_one_or_the_other(said, data):
    found = said("fit", LAW, "--data", data, "--weights", "x", "--sigma", "x")
    assert found.code == 2
    assert "not both" in found.refusal


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ("E=nan,beta=1,c=1", "'E': expected a finite number, got nan"),
        ("E=-1,beta=1,c=1", "'E' is outside its bounds"),
        ("E=1,beta=1,c=0", "'c': expected a positive number, got 0"),
        ("E=1e400,beta=1,c=1", "'E': expected a finite number, got inf"),
        ("E=1", "is missing"),
        ("E=1,beta=1,c=1,d=1", "unknown parameter 'd'"),
        ("E=1,E=2,beta=1,c=1", "'E' is given twice"),
        ("E", "expected NAME=NUMBER"),
        ("E=", "expected NAME=NUMBER"),
        ("E=one", "expected a number, got 'one'"),
        ("E=1_0,beta=1,c=1", "expected a number, got '1_0'"),
    ],
)
def test_bad_input_050_089_starts(said, data, start, says):
    found = said("fit", LAW, "--data", data, "--start", start)
    assert found.code == 2
    assert says in found.refusal


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["scaling/saturating-powr", "--data", "runs.csv"], "did you mean 'scaling/saturating-power'"),
        ([LAW], "Missing option '--data'"),
        ([LAW, "--data", "none.csv"], "no such file"),
        ([LAW, "--data", ""], "expected"),
        ([LAW, "--data", "runs.csv", "--objective", "least_square"], "did you mean 'least_squares'"),
        ([LAW, "--data", "runs.csv", "--level", "1.5"], "between 0 and 1"),
        ([LAW, "--data", "runs.csv", "--bootstrap", "-5"], "--bootstrap"),
        ([LAW, "--data", "runs.csv", "--seed", "-5"], "seed"),
        ([LAW, "--data", "runs.csv", "--y", "los"], "did you mean 'loss'"),
        ([LAW, "--data", "runs.csv", "--let", "x"], "expected VARIABLE = FORMULA"),
        ([LAW, "--data", "runs.csv", "--let", "x=__import__('os')"], "formula"),
        ([LAW, "--data", "runs.csv", "--let", "x=y^2"], "write **"),
        ([LAW, "--data", "runs.csv", "--where", "x"], "expected one comparison"),
        ([LAW, "--data", "runs.csv", "--where", "kind > 2"], "write 'kind is VALUE'"),
        ([LAW, "--data", "runs.csv", "--where", "z > 2"], "unknown column 'z'"),
        ([LAW, "--data", "runs.csv", "--where", "x > 1e9"], "no row of 40 meets"),
        ([LAW, "--data", "runs.csv", "--select"], "--protocol"),
        ([LAW, "--data", "runs.csv", "--plot", "a.txt"], ".svg"),
        ([LAW, "--data", "runs.csv", "--plot", "a.svg", "--out", "a.svg"], "expected a file that ends in .nc"),
        ([LAW, "--data", "runs.csv", "--out", "no/where.nc"], "no"),
        (["a + b*x", "--data", "runs.csv"], "needs its variables"),
        (["a + b*z", "--variables", "x", "--data", "runs.csv"], "'x' is not in"),
        (["", "--data", "runs.csv"], "expected the name of a law"),
        ([LAW, "--data", "runs.csv", "--let", "z = x"], "--let: unknown variable 'z'; known: x"),
        ([LAW, "--data", "runs.csv", "--let", "x = thousand"], "did you mean 'thousands'"),
        ([LAW, "--data", "runs.csv", "--option", "tau"], "expected NAME=NUMBER or NAME=COLUMN"),
        ([LAW, "--data", "runs.csv", "--objective", "quantile", "--option", "tou=0.9"], "did you mean 'tau'"),
        ([LAW, "--data", "runs.csv", "--objective", "quantile", "--option", "tau=2"], "between 0 and 1"),
        ([LAW, "--data", "runs.csv", "--objective", "quantile", "--option", "tau=nan"], "between 0 and 1"),
        ([LAW, "--data", "runs.csv", "--sigma", "x - 10"], "sigma: expected positive standard deviations"),
        ([LAW, "--data", "runs.csv", "--weights", "-x"], "weights: expected numbers of at least 0"),
        ([LAW, "--data", "runs.csv", "--sigma-x", "x"], "expected VARIABLE = FORMULA"),
        ([LAW, "--data", "runs.csv", "--sigma-x", "X = 1"], "did you mean 'x'"),
        ([LAW, "--data", "runs.csv", "--sigma-x", "x = -x"], "standard deviations"),
        ([LAW, "--data", "runs.csv", "--groups", "kin"], "did you mean 'kind'"),
        ([LAW, "--data", "runs.csv", "--varying", "E"], "groups"),
        ([LAW, "--data", "runs.csv", "--varying", "e", "--groups", "kind"], "did you mean 'E'"),
        ([LAW, "--data", "runs.csv", "--resample", "jackknife"], "--resample"),
        ([LAW, "--data", "runs.csv", "--bootstrap", "20", "--resample", "cluster"], "groups"),
        ([LAW, "--data", "runs.csv", "--workers", "0"], "--workers"),
        ([LAW, "--data", "runs.csv", "--by", "kin"], "did you mean 'kind'"),
        ([LAW, "--data", "runs.csv", "--plot", "./a.svg", "--plot", "a.svg"], "name the same file"),
    ],
)  # fmt: skip
def test_bad_input_079_wrong_usage_is_one_line(said, data, words, says):
    assert says in said("fit", *words).refusal


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--out", "runs.csv"), "--data and --out name the same file"),
        (("--plot", "./runs.csv"), "--data and --plot name the same file"),
        (("--out", "link.csv"), "--data and --out name the same file"),
        (("--out", "fit.dat"), "expected a file that ends in .nc, .csv, .parquet or .json"),
    ],
)
def test_the_data_are_not_overwritten_and_a_fit_can_be_found_again(said, data, here, words, says):
    (here / "link.csv").symlink_to("runs.csv")
    before = (here / "runs.csv").read_bytes()
    found = said("fit", LAW, "--data", data, *words)
    assert found.code == 2
    assert says in found.refusal
    assert (here / "runs.csv").read_bytes() == before


def test_predictions_do_not_overwrite_their_points(said, data, here):
    assert said("fit", LAW, "--data", data, "--out", "fit.nc").code == 0
    before = (here / "runs.csv").read_bytes()
    assert "--data and --out name the same file" in said("predict", "fit.nc", "--data", data, "--out", data).refusal
    assert (here / "runs.csv").read_bytes() == before


def test_a_protocol_of_another_law_is_refused(said, data):
    line = said("fit", LAW, "--data", data, "--protocol", "scaling/chinchilla@besiroglu2024").refusal
    assert f"is of another law than '{LAW}'" in line


# --- odd files and names ----------------------------------------------------------------------------------------------

FILES = {
    "nul.csv": b"x,y\n1,\0\n2,3\n",
    "latin.csv": b"x,y\xe9\n1,2\n",
    "quote.csv": b'x,y\n"1,2\n',
    "twice.csv": b"x,x\n1,2\n",
    "nameless.csv": b",y\n1,2\n",
    "escape.csv": b"x\x1b[2J,y\n1,2\n",
    "digits.csv": b"x,y\n" + b"1" * 100_000 + b",2\n",
    "json.csv": b'{"x": 1}',
    "cut.parquet": b"PAR1junkPAR1",
    "empty.parquet": b"",
}
NAMES = ["folder.csv", "none.csv", "/dev/zero", "/dev/null", "/proc/self/mem", "a\0b.csv", "\udcff.csv",
         "x" * 300 + ".csv", "runs.csv/x.csv", "~", ".", "http://localhost/x.csv", "fit.nc", " "]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_odd_bytes_are_one_line(said, here, name):
    (here / name).write_bytes(FILES[name])
    for words in ((), ("--by", "y"), ("--where", "x > 0")):
        line = said("fit", "a + b*x", "--variables", "x", "--data", name, *words).refusal
        assert "unexpected" not in line
        assert line.isprintable()


@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name)[:20])
def test_odd_names_are_one_line(said, data, here, name):
    (here / "folder.csv").mkdir()
    for words in (("fit", LAW, "--data", name), ("compare", LAW, "--data", name), ("predict", name, "x=1"),
                  ("allocate", name, "--compute", "1e20")):  # fmt: skip
        line = said(*words).refusal
        assert "unexpected" not in line
        assert line.isprintable()


@pytest.mark.parametrize("number", ["nan", "inf", "-1", "0", "1e400", "1_0", "１", "0x1", "", "one"])
def test_odd_numbers_are_one_line(said, data, number):
    for words in (("fit", LAW, "--data", data, "--start", f"E=1,beta=1,c={number}"),
                  ("fit", LAW, "--data", data, "--level", number),
                  ("fit", LAW, "--data", data, "--objective", "quantile", "--option", f"tau={number}"),
                  ("allocate", "scaling/chinchilla@besiroglu2024", "--compute", number)):  # fmt: skip
        if number in ("１", "1_0") and words[0] == "allocate":
            continue  # Python's own reading of an option that is a number
        line = said(*words).refusal
        assert "unexpected" not in line
        assert line.isprintable()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--variables", "x,x"], "variables: 'x' is given twice"),
        (["--variables", "x", "--y", "x"], "y: the column 'x' is also the variable 'x'"),
        (["--variables", "x", "--let", "x = y"], "--let: 'y' is what the law explains, and the variable 'x'"),
    ],
)
def test_a_name_with_two_roles_is_refused(said, data, words, says):
    assert says in said("fit", "E + A*x**-a", "--data", data, *words).refused()
