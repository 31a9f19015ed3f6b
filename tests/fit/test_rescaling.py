"""Units of the data do not change what a fit finds."""

import numpy as np
import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast.fit.problem.rescaling import find_rescaling
from forecast.laws import Law
from toolkit import sample

FAR = (1e24, 1e-24)


def factors(text, variables=("x",), **values):
    law = Law(text, variables=list(variables))
    seen = {v: np.array([10.0, 1000.0]) for v in variables}
    return find_rescaling(law, seen, np.array([4.0, 9.0])), law


# What cannot be measured in another unit, and why.
SHARE = "a share, between constants of the law"
COUNT = "a count, from which the law takes 1, or a number of bits"
COMPARED = "compared with another column: both have one unit"
LOGARITHM = "a power of its logarithm, or a logarithm that must be positive: another unit is another law"
YEAR = "the law counts from a calendar year"
TIED = {
    ("brain/knowledge", "share"): SHARE,
    ("emergence/compute-sigmoid", "score"): SHARE,
    ("emergence/effective-parameters", "N"): COMPARED,
    ("emergence/effective-parameters", "effective"): COMPARED,
    ("emergence/exact-match", "accuracy"): SHARE,
    ("emergence/finetuned-elbow", "D"): LOGARITHM,
    ("emergence/logistic-in-parameters", "share"): SHARE,
    ("emergence/perplexity-in-parameters", "perplexity"): LOGARITHM,
    ("emergence/rounding-error", "bits"): COUNT,
    ("emergence/token-edits", "n"): COMPARED,
    ("emergence/token-edits", "edits"): COMPARED,
    ("hardware/all-gather", "n"): COUNT,
    ("hardware/ring-all-reduce", "n"): COUNT,
    ("resources/compute-and-time", "t"): YEAR,
    ("resources/contention", "n"): COUNT,
    ("resources/overlapping-ideas", "n"): COUNT,
    ("scaling/bits-per-model", "k"): COUNT,
    ("scaling/data-constrained", "D"): COMPARED,
    ("scaling/data-constrained", "U"): COMPARED,
    ("scaling/lagged-wright", "Q"): COMPARED,
    ("scaling/lagged-wright", "q"): COMPARED,
    ("scaling/observational", "score"): SHARE,
    ("scaling/passuntil", "pass_rate"): SHARE,
    ("scaling/sparsity", "S"): SHARE,
    ("scaling/repeated-sampling", "coverage"): SHARE,
}
#: Laws whose optimum the search does not find for sure in any unit, and says so (or which are code, and have no text).
UNSURE = {"scaling/distillation", "scaling/farseer", "scaling/filtering"}
#: How far the unit of the output goes where a small exponent makes 1e24 leave the range of numbers.
NEARER = {"scaling/kaplan": (1e12, 1e-12), "scaling/kaplan-steps": (1e12, 1e-12)}
#: Whose break is looked for where the data of all curves lie, so that curves in units 48 decades apart go one by one.
APART = {"emergence/broken-line"}
#: Laws of the quick run: each kind of formula once, and those that were found to depend on units.
QUICK = (
    "scaling/m4", "scaling/shifted-power", "scaling/broken-power", "scaling/logistic", "scaling/mmf",
    "emergence/broken-line", "scaling/kaplan", "scaling/kaplan-steps", "hardware/roofline", "scaling/passuntil",
    "scaling/saturating-power", "resources/sigmoid", "brain/knowledge", "emergence/exact-match", "scaling/goddard",
)  # fmt: skip


def data_of(name, seed=3):
    spec = get_registry().find("law", name).spec
    rng = np.random.default_rng(seed)
    law = forecast.law(name)
    points = {}
    for variable, (low, high) in spec.domain.items():
        u = rng.random(40)
        points[variable] = low * (high / low) ** u if low > 0 and high / low > 10 else low + (high - low) * u
    y = law.value(spec.example, **points)
    return law, {**points, law.output: y * (1 + 0.01 * rng.standard_normal(y.shape))}


def moves(name, law, first):
    """Yield each column and a factor by which it may be multiplied: up and down by turns, from the first on."""
    for i, column in enumerate((*law.variables, law.output), start=first):
        if (name, column) not in TIED:
            yield column, (NEARER.get(name, FAR) if column == law.output else FAR)[i % 2]


def check(name):
    law, data = data_of(name)
    fit = law.fit(data)
    before = law.value(fit.values, **{v: data[v] for v in law.variables})
    for column, far in moves(name, law, 0):
        moved = {**data, column: data[column] * far}
        again = law.fit(moved)
        after = law.value(again.values, **{v: moved[v] for v in law.variables})
        assert again.converged == fit.converged, (column, far)
        scale = far if column == law.output else 1.0
        close = 1e-6 * np.abs(before).max()
        np.testing.assert_allclose(after / scale, before, rtol=0, atol=close, err_msg=f"{column} * {far:g}")


def check_many(name):
    """Fit curves side by side, one in the units of the catalogue, the others moved where `check` does not."""
    law, data = data_of(name)
    factors = [("", 1.0), *moves(name, law, 1)]
    if name in APART:
        for move in factors[1:]:
            side_by_side(law, data, [move, move])
    else:
        side_by_side(law, data, factors)


def side_by_side(law, data, factors):
    """Hold curves, each in units of its own, against the fit of one."""
    columns = {
        c: np.concatenate([data[c] * (far if c == column else 1.0) for column, far in factors])
        for c in (*law.variables, law.output)
    }
    size = data[law.output].size
    fits = law.fit({**columns, "curve": np.repeat(np.arange(len(factors)), size)}, by="curve")
    alone = law.fit(data)
    assert (fits.converged.values == alone.converged).all(), fits.verdict.values
    expected = law.value(alone.values, **{v: data[v] for v in law.variables})
    close = 1e-6 * np.abs(expected).max()
    for i, (column, far) in enumerate(factors):
        rows = slice(i * size, (i + 1) * size)
        values = {p: float(fits.params[p][i]) for p in law.parameters}
        found = law.value(values, **{v: columns[v][rows] for v in law.variables})
        found = found / (far if column == law.output else 1.0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=close, err_msg=f"{column} * {far:g}")


@pytest.mark.parametrize("how", [check, check_many])
@pytest.mark.parametrize("name", sample(QUICK, 3, 2))
def test_a_law_of_the_catalogue_does_not_depend_on_units(name, how):
    how(name)


@pytest.mark.parametrize("how", [check, check_many])
@pytest.mark.parametrize("name", sample(sorted({*forecast.catalogue("law")} - {*QUICK} - UNSURE), 0, 8))
def test_no_law_of_the_catalogue_depends_on_units(name, how):
    if not get_registry().find("law", name).spec.domain:
        pytest.skip("gives no domain")
    how(name)


def test_every_exception_is_a_law_and_a_column_of_its_own():
    for name, column in TIED:
        law = forecast.law(name)
        assert column in (*law.variables, law.output)
    assert {*UNSURE, *QUICK, *NEARER} <= set(forecast.catalogue("law"))
