"""One estimate of compute, algorithms, index and horizons, its shipped draws, and the scenario that uses them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import multivariate_normal, norm

import forecast
import toolkit
from forecast import tables
from forecast.errors import DataError, EmptyDataError, UsageError
from forecast.streams import Streams
from forecast_capability.chain.estimate import NOW, QUANTITIES, interval_coverage
from forecast_capability.chain.likelihood import FORMS, PLAIN, Asked, Chain, Form, driven, worth
from forecast_capability.chain.make_draws import made_from, n_draws
from forecast_capability.chain.posterior import log_density, sample, state
from forecast_capability.chain.rows import DISCLOSED, RUN, UNDISCLOSED, observed
from forecast_capability.chain.worlds import ALONE, ALONE_FORM, DRAWS_FOLDER, RIVALS, WORLD_COLUMNS, columns, estimates
from toolkit import command

chain = command("chain")
STRAIGHT, BENT, DRIVEN = PLAIN, Form(compute="bent"), Form(algorithms="research")


def medians(form: Form) -> dict[str, float]:
    return {each.name: each.median for each in form.numbers}


@lru_cache
def rows(as_of=None):
    return observed(as_of)


@lru_cache
def draws(form: Form) -> dict[str, np.ndarray]:
    return estimates().of(form).columns


# --- rows -----------------------------------------------------------------------------------------------------------


def test_the_rows_are_those_of_the_tables():
    found = rows()
    assert {name: found.value[found.model == name].tolist() for name in ("run gpt-6-astra",)} == {
        "run gpt-6-astra": [27.0]
    }
    assert found.model[found.at_least].tolist() == ["claude-mythos-preview"]
    assert found.value[found.at_least].tolist() == [np.log2(960)]
    # a model with a horizon has the compute, and the name, that it has beside its index
    both = set(found.model[found.horizon]) & set(found.model[~found.horizon])
    assert len(both) >= 20
    for name in both:
        of = found.take(found.model == name)
        assert len(set(of.compute)) == len(set(of.stated)) == len(set(of.organisation)) == 1
    assert not (found.undisclosed.compute == DISCLOSED).any()
    assert set(found.undisclosed.compute) == {RUN, UNDISCLOSED}


def test_rows_as_of_a_date_are_dated_before_it():
    assert rows(2025.5).date.max() < 2025.5
    assert 20 < len(rows(2025.5)) < len(rows())


def test_horizons_are_those_of_the_suite_that_stood_at_the_date():
    for as_of, minutes in ((2025.5, 5.35186), (2026.0, 5.35186), (2026.5, 3.98743), (None, 3.98743)):  # GPT-4's
        then = rows(as_of)
        assert np.exp2(then.value[then.horizon & (then.model == "gpt-4-mar-2023")]) == pytest.approx([minutes])
        if as_of in (2026.0, None):  # a fit as of each suite
            model = forecast.model("capability/chain-horizon").model.fit(as_of=as_of)
            assert minutes in np.round(model.observed().value, 5)
    with pytest.raises(EmptyDataError, match="no row is left"):
        observed(1990.0)
    assert observed(2023.25).rated.any()
    assert not observed(2023.0).rated.any()


# --- the likelihood -------------------------------------------------------------------------------------------------


def test_an_order_of_compute_is_worth_less_further_on_only_in_the_bent_form():
    x = np.linspace(-2, 3, 50)
    np.testing.assert_array_equal(worth(x, 0.0), x)
    np.testing.assert_allclose(worth(x, 1e-9), x, atol=1e-7)
    assert (np.diff(worth(x, 0.3), 2) < 0).all()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_slopes_are_the_derivatives_of_values(form):
    """Their covariances with anything are difference quotients of those of values; all blocks are quadratics."""
    h, dates = 1e-4, (2021.0, 2024.3, 2026.75)
    at = medians(form) | dict.fromkeys(("compute_walk", "algorithms_walk", "horizon_walk"), 0.0)
    for part in ("compute", "algorithms", "own"):
        near = tuple(Asked(part, date + side * h) for date in dates for side in (-1, 1))
        slopes = tuple(Asked(f"{part}_slope", date) for date in dates)
        _, covariance = Chain(rows=rows(), form=form, asked=near + slopes).moments(
            at | dict.fromkeys((f"{part}_walk", "horizon_walk"), 0.0)
        )
        differs = np.zeros((len(rows()) + 3, len(covariance)))
        differs[: len(rows()), : len(rows())] = np.eye(len(rows()))
        for i in range(3):
            differs[len(rows()) + i, [len(rows()) + 2 * i, len(rows()) + 2 * i + 1]] = -1 / (2 * h), 1 / (2 * h)
        taken = [*range(len(rows())), *range(len(rows()) + 6, len(covariance))]
        quotients = differs @ covariance @ differs.T
        np.testing.assert_allclose(quotients, covariance[np.ix_(taken, taken)], rtol=1e-4, atol=2e-4)


SIMULATED = (BENT, Form(algorithms="research-break", horizon="break"), Form(algorithms="break", horizon="square"))


@pytest.mark.parametrize("form", toolkit.sample(SIMULATED, 3), ids=lambda form: form.name)
def test_the_moments_are_those_of_worlds_that_are_simulated(form):
    """An undisclosed model with index and horizon, a run of its day, and a model of disclosed compute."""
    rng, n, at = np.random.default_rng(3), 100_000, {"bend": 0.0, "algorithms_turn": 0.0, **medians(form)}
    pick = np.array([
        np.flatnonzero(rows().compute == RUN)[-2],
        *np.flatnonzero(rows().model == "gemini-3-pro"),
        *np.flatnonzero(rows().model == "gpt-4.5"),
    ])  # fmt: skip
    few = rows().take(pick)
    mean, covariance = Chain(rows=few, form=form).moments(at)
    dates, steps = np.unique(few.date, return_inverse=True)

    def path(slope, start, middle, walk, turn):
        level = start + slope * (dates[:, None] - middle)
        w, b, integral, last = np.zeros(n), np.zeros(n), np.zeros(n), 2018.0
        for i, date in enumerate(dates):
            for _ in range(40):
                step = (date - last) / 40
                gained = np.sqrt(step) * rng.standard_normal(n)
                integral, b = integral + step * (b + gained / 2), b + gained
                w = w + np.sqrt(step) * rng.standard_normal(n)
            last = date
            level[i] += walk * w + turn * integral
        return level

    def normal(mean, sd):
        return mean + sd * rng.standard_normal(n)

    c = path(normal(0.6, 0.3), normal(22.5, 1.0), 2018.0, at["compute_walk"], at["compute_turn"])
    slope = np.zeros(n) if form.driven else normal(0.6, 0.5)
    a = path(slope, 0.0, 2025.0, at["algorithms_walk"], at["algorithms_turn"])
    after = np.maximum(dates - 2024.7, 0)[:, None]
    if form.driven:
        gained = driven(np.array([*dates, 2025.0]), at)[0]
        a = a + (gained[:-1] - gained[-1])[:, None]
    if form.algorithms.endswith("break"):
        a = a + normal(0, 0.7) * after
    beside = normal(0, 1.0) * after if form.horizon == "break" else np.zeros((len(dates), n))
    if form.horizon == "own":
        walked = np.sqrt(np.diff(np.maximum(dates - 2023, 0), prepend=0))[:, None] * rng.standard_normal(
            (len(dates), n)
        )
        beside = normal(0, 0.6) * (dates[:, None] - 2024) + at["horizon_walk"] * np.cumsum(walked, axis=0)
    rated = dict(zip(few.model[few.rated], few.value[few.rated], strict=True))
    curve = normal(0, 0.004) if form.horizon == "square" else np.zeros(n)
    base, lead, anchor = normal(130, 40), normal(0, 15), normal(5, 5)
    luck, drawn = {}, []
    for i in range(len(few)):
        if few.compute[i] == RUN:
            drawn.append(c[steps[i]] + normal(0, at["run_scatter"]))
            continue
        if few.compute[i] == DISCLOSED:
            off = at["points"] * np.exp(-at["bend"] * few.stated[i]) * few.stated_error[i]
            counted = worth(few.stated[i], at["bend"])
            own = luck.setdefault(few.model[i], normal(0, np.hypot(at["disclosed_scatter"], off)))
            own = own + luck.setdefault(few.organisation[i], normal(0, at["organisation_scatter"]))
        else:
            tangent = np.exp(-at["bend"] * 1.3)
            counted = worth(1.3, at["bend"]) + tangent * (c[steps[i]] - 26.3)
            own = luck.setdefault(few.model[i], normal(0, at["frontier_scatter"])) + lead
        index = base + at["points"] * (counted + a[steps[i]]) + own
        if few.horizon[i]:
            index = anchor + at["doublings"] * (index - 140) + normal(0, at["horizon_scatter"])
            index = index + beside[steps[i]] + curve * (rated[few.model[i]] - 140) ** 2
        drawn.append(index + normal(0, few.error[i]))
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(np.mean(drawn, axis=1), mean, atol=0.02 * sd.max())
    assert np.abs(np.corrcoef(drawn) - covariance / np.outer(sd, sd)).max() < 0.01
    np.testing.assert_allclose(np.std(drawn, axis=1), sd, rtol=0.01)


def test_a_censored_row_counts_as_the_probability_that_it_is_at_least_its_limit():
    """The density in the excess, integrated over it, is what a multivariate normal says of both."""
    few = rows().take(np.concatenate([np.flatnonzero(rows().horizon)[-6:], np.flatnonzero(rows().compute == RUN)[-3:]]))
    assert few.at_least.sum() == 1
    one = Chain(rows=few, form=STRAIGHT)
    theta = np.zeros(len(STRAIGHT.numbers))
    mean, covariance = one.moments(medians(STRAIGHT))
    sure, limit = ~few.at_least, few.value[few.at_least]
    known = multivariate_normal(mean[sure], covariance[np.ix_(sure, sure)])
    gain = np.linalg.solve(covariance[np.ix_(sure, sure)], covariance[np.ix_(sure, ~sure)])[:, 0]
    centre = mean[~sure] + gain @ (few.value[sure] - mean[sure])
    spread = np.sqrt(covariance[~sure, ~sure] - gain @ covariance[np.ix_(sure, ~sure)][:, 0])
    expected = known.logpdf(few.value[sure]) + norm.logsf((limit - centre) / spread)
    excess = np.linspace(-20, np.log(100), 20_001)
    places = np.hstack([np.tile(theta, (len(excess), 1)), excess[:, None]])
    found = trapezoid(np.exp(log_density(places, one)), excess)
    prior = -0.5 * len(theta) * np.log(2 * np.pi)
    assert np.log(found) - prior == pytest.approx(float(expected[0]), abs=1e-5)


def test_the_state_is_drawn_as_the_rows_say():
    """Given the numbers, what is asked has the conditional mean of a joint normal."""
    few = replace(rows(), at_least=np.zeros(len(rows()), dtype=bool))
    asked = (Asked("compute", NOW), Asked("algorithms_slope", NOW), Asked("level", NOW))
    one = Chain(rows=few, form=STRAIGHT, asked=asked)
    drawn = sample(Chain(rows=few.take(np.arange(12)), form=STRAIGHT), draws=1, worth=1, seed=1)
    drawn = replace(drawn, numbers={name: np.full(1500, value[0]) for name, value in drawn.numbers.items()},
                    beyond=np.zeros((1500, 0)))  # fmt: skip
    found = state(one, drawn, seed=2)
    mean, covariance = one.moments({name: value[0] for name, value in drawn.numbers.items()})
    n = len(few)
    gain = np.linalg.solve(covariance[:n, :n] + 1e-9 * np.eye(n), covariance[:n, n:])
    left = covariance[n:, n:] - covariance[n:, :n] @ gain
    off = (found.mean(axis=0) - mean[n:] - gain.T @ (few.value - mean[:n])) / np.sqrt(np.diag(left) / 1500)
    assert np.abs(off).max() < 4
    np.testing.assert_allclose(found.std(axis=0), np.sqrt(np.diag(left)), rtol=0.08)


def test_the_evidence_is_the_integral_over_the_numbers():
    """By a sum over tries from the prior, which is another way; and draws have the mean that these weights give."""
    few = rows().take(np.flatnonzero(rows().compute == RUN)[-5:])
    chain_of_runs, rng = Chain(rows=few, form=STRAIGHT), np.random.default_rng(0)
    found = sample(chain_of_runs, draws=2000, worth=1500, seed=1)
    tried = rng.standard_normal((6000, len(STRAIGHT.numbers)))
    prior = -0.5 * (tried**2).sum(axis=1) - 0.5 * tried.shape[1] * np.log(2 * np.pi)
    weight = np.exp(log_density(tried, chain_of_runs) - prior)
    assert found.evidence == pytest.approx(np.log(weight.mean()), abs=0.06)
    place = [each.name for each in STRAIGHT.numbers].index("run_scatter")
    drawn = np.log(found.numbers["run_scatter"] / 0.15) / 0.7
    assert drawn.mean() == pytest.approx(weight @ tried[:, place] / weight.sum(), abs=0.08)


def test_research_drives_algorithms_as_its_differential_equation_says():
    at = {"elasticity": 1.1, "beta": 0.7, "pace_then": 0.4, "research_growth": 0.5}
    dates = np.linspace(2023, 2030, 70_001)
    gained, pace = driven(dates, at)
    grown = 1.1 * (0.765 * 0.5 + 0.235 * 0.2) * (dates - 2023)
    np.testing.assert_allclose(pace, 0.4 * 10 ** (grown - 0.7 * gained), rtol=1e-12)
    np.testing.assert_allclose(np.gradient(gained, dates)[1:-1], pace[1:-1], rtol=1e-6)


# --- what is shipped ------------------------------------------------------------------------------------------------


def test_the_shipped_draws_are_of_the_tables_as_they_are():
    stated = json.loads((DRAWS_FOLDER / "chain-worlds" / "made-from.json").read_text("utf-8"))
    why = "the tables or the priors changed: run python -m forecast_capability.chain.make_draws"
    assert stated == made_from(rows(), FORMS), why
    with (DRAWS_FOLDER / "chain-worlds" / "chain-worlds.csv").open(encoding="utf-8") as file:
        assert tuple(csv.DictReader(file).fieldnames or ()) == (*RIVALS, *WORLD_COLUMNS)
    for form in FORMS:
        of = draws(form)
        rise = of["algorithms_slope"] + np.exp(-of["bend"] * (of["compute"] - 25)) * of["compute_slope"]
        rise = of["points"] * rise
        assert len(rise) == n_draws(form)
        assert (np.diff(rise) >= -1e-3 * abs(rise).max()).all()  # so that the place of a world has a meaning
        assert (of["bend"] == 0).all() == (form.compute == "straight")
        assert (of["beta"] > 0).all() == (of["elasticity"] > 0).all() == form.driven
        assert (of["own_walk"] > 0).all() == (form.horizon == "own")
        assert (of["curve"] == 0).all() == (form.horizon != "square")


def test_the_shipped_draws_of_the_index_alone_say_what_the_chain_says_of_its_pace():
    """One series has one pace: both gained as many points a year, by the same rows of the frontier."""
    stated = json.loads((DRAWS_FOLDER / "chain-alone" / "made-from.json").read_text("utf-8"))
    assert stated == made_from(rows().index_alone, (ALONE_FORM,))
    read = tables.to_columns("capability/chain-alone")
    assert tuple(read) == tuple(ALONE)
    low, alone, high = np.quantile(read.numeric("so_far"), [0.05, 0.5, 0.95])
    for form in (STRAIGHT, BENT):
        of = draws(form)
        far = of["points"] * np.exp(-of["bend"] * 1.3)
        chain = float(np.median(of["points"] * of["pace"] + far * of["growth"]))
        # the bent form takes a sixth off where most disclosed models lie
        assert abs(chain - alone) < (1 if form == STRAIGHT else 3) * (high - low) / 3.29


def test_the_shipped_draws_say_points_pace_and_that_only_their_sum_is_known():
    straight, bent = draws(STRAIGHT), draws(BENT)
    for of in (straight, bent):
        assert np.corrcoef(of["points"], of["pace"])[0, 1] <= -0.6
    low, middle = np.quantile(straight["points"], [0.05, 0.5])
    assert 7.9 < middle < 9.5  # 8.7 [7.2, 10.4] in the trial, which read the same rows elsewhere
    assert 1.15 < middle / low < 1.4
    assert 0.85 < np.median(straight["pace"]) < 1.25
    assert 0.14 < np.median(straight["doublings"]) < 0.22  # .21 without a line of its own
    # beyond 1e25 FLOP an order is worth less where the form may bend
    far = bent["points"] * np.exp(-1.3 * bent["bend"])
    assert np.median(far) < np.median(bent["points"]) < middle


@pytest.mark.parametrize("form", toolkit.sample([STRAIGHT, BENT, DRIVEN], 0, 3), ids=lambda form: form.name)
def test_drawn_anew_the_posterior_is_the_shipped_one(form):
    anew = columns(rows(), form, now=NOW, draws=1000, worth_of=500, seed=5).columns
    for name in ("points", "pace", "compute", "level", "doublings", "algorithms_slope", "elasticity", "beta"):
        spread = float(draws(form)[name].std())
        assert abs(np.median(anew[name]) - np.median(draws(form)[name])) <= 0.3 * spread, name
        assert anew[name].std() == pytest.approx(spread, rel=0.25), name


# --- the paths ------------------------------------------------------------------------------------------------------


def _path(part: str, form: Form, times: np.ndarray, pace: float = 1.0, **more: object) -> np.ndarray:
    model = forecast.model(f"capability/chain-{part}").model
    streams = [Streams(seed=0, node="demo", block=block) for block in range(8)]
    # one row of the draws, so that what varies is the walk
    given = {"posterior": np.full((len(times), streams[0].draws), 0.5)}
    for name, value in {"pace": pace, "form": form.code, "elasticity": 0, "research": 1, **more}.items():
        given[name] = np.broadcast_to(np.asarray(value, dtype=float).reshape(-1, 1), given["posterior"].shape)
    fitted = model.fit()
    return np.log10(np.concatenate([fitted.sample(times, given, each) for each in streams], axis=1))


def _world(form: Form) -> dict[str, float]:
    return {name: float(values[len(values) // 2]) for name, values in draws(form).items()}


AHEAD = np.arange(NOW, NOW + 6.01, 0.25)


def test_paths_wander_as_the_likelihood_says_whatever_the_steps():
    world, ahead = _world(BENT), 6.0
    variance = (
        world["algorithms_walk"] ** 2 * ahead + world["algorithms_turn"] ** 2 * ahead**3 / 3
    )  # t**3/3: integrated
    for times in (AHEAD, np.array([NOW, NOW + 2.5, NOW + 6])):
        end = _path("algorithms", BENT, times, pace=20.0)[-1]  # so fast that no world would fall
        assert end.mean() == pytest.approx(20 * ahead, abs=4 * np.sqrt(variance / len(end)))
        assert end.var() == pytest.approx(variance, rel=0.08)


def test_a_pace_that_breaks_wanders_by_its_breaks_too():
    form, ahead = Form(algorithms="break"), 6.0
    walk = _world(form)["algorithms_walk"] ** 2 * ahead
    end = _path("algorithms", form, np.arange(NOW, NOW + 6.001, 0.05), pace=20.0)[-1]
    # a compound Poisson process of the slope, .3 a year of .5 each, integrated
    assert end.var() == pytest.approx(walk + 0.3 * 0.25 * ahead**3 / 3, rel=0.1)


def test_compute_of_the_frontier_starts_where_the_estimate_puts_it_and_neither_it_nor_algorithms_fall():
    algorithms = _path("algorithms", BENT, AHEAD, pace=0.1)
    assert (algorithms[0] == 0).all()
    assert (np.diff(algorithms, axis=0) >= 0).all()
    path = _path("run", BENT, AHEAD)
    world = _world(BENT)
    assert path[0] == pytest.approx(np.full(path.shape[1], world["compute"]))
    assert (np.diff(path, axis=0) >= 0).all()
    assert np.median(path[-1]) == pytest.approx(world["compute"] + 6 * world["compute_slope"], abs=0.25)


@pytest.mark.slow
def test_where_research_drives_algorithms_its_compute_moves_them_and_nowhere_else():
    """More research finds more; frozen, what is found slows down; at elasticity 0 it moves nothing."""
    grown = 10 ** (0.5 * (AHEAD - NOW))
    for form in (DRIVEN, Form(algorithms="research-break")):
        frozen, growing = (
            np.median(_path("algorithms", form, AHEAD, elasticity=1, research=r), axis=1) for r in (1, grown)
        )
        assert growing[-1] > frozen[-1] + 1
        assert (np.diff(frozen, 2)[2:] < 0.02).all()  # ideas get harder
        still = [_path("algorithms", form, AHEAD, elasticity=0, research=r) for r in (1, grown)]
        np.testing.assert_array_equal(*still)
    for form in (STRAIGHT, Form(algorithms="steady"), Form(algorithms="break")):
        moved = [_path("algorithms", form, AHEAD, elasticity=e, research=r) for e, r in ((1, 1), (0, grown))]
        np.testing.assert_array_equal(*moved)


def test_the_path_ahead_is_that_of_the_differential_equation_in_any_steps():
    """Without shocks: against a solver's, to the error of steps of a quarter and of a hundredth of a year."""
    from scipy.integrate import solve_ivp

    world = _world(DRIVEN)
    beta, labour = world["beta"], 0.235 * 0.2
    law = solve_ivp(lambda t, a: 0.9 * 10 ** (0.8 * (0.765 * 0.4 + labour) * t - beta * a), (0, 6), [0.0], rtol=1e-9)
    for step, within in ((0.25, 5e-3), (0.01, 1e-5)):
        times = np.arange(NOW, NOW + 6.0001, step)
        model = forecast.model("capability/chain-algorithms").model.fit()
        quiet = {name: np.zeros_like(v) if name in ("algorithms_walk", "algorithms_turn") else v
                 for name, v in draws(DRIVEN).items()}  # fmt: skip
        world_of = {name: np.full(64, values[len(values) // 2]) for name, values in quiet.items()}
        given = {
            "elasticity": np.full((len(times), 64), 0.8),
            "research": 10 ** np.outer(0.4 * (times - NOW), np.ones(64)),
        }
        shock = np.zeros((len(times), 64))
        found = model._driven(model.steps(times), shock, np.full(64, 0.9), world_of["beta"], given)
        assert found[-1] == pytest.approx(np.full(64, law.y[0, -1]), abs=within)


def test_the_horizon_has_a_line_of_its_own_and_the_error_of_measuring():
    fitted = forecast.model("capability/chain-horizon").model.fit()
    assert 0.2 < fitted.measured < 1
    world, plain = _world(STRAIGHT), Form(horizon="none")
    for form, of in ((STRAIGHT, world), (plain, _world(plain))):
        logs = _path("horizon", form, AHEAD, index=190) * np.log2(10)
        middle = of["anchor"] + of["doublings"] * 50 + of["own"] + 6 * of["own_slope"]
        spread = np.sqrt(of["horizon_scatter"] ** 2 + fitted.measured**2 + 6 * of["own_walk"] ** 2)
        assert np.median(logs[-1]) == pytest.approx(max(middle, logs[0].min()), abs=0.35 + spread / 10)
    assert _world(plain)["own_slope"] == _world(plain)["own_walk"] == 0


def test_a_code_that_no_form_has_is_refused():
    with pytest.raises(UsageError, match="expected codes of forms from 0 to 39, got 40"):
        forecast.model("capability/chain-run").model.fit().worlds(
            {"form": np.full((1, 4), 40.0), "posterior": np.zeros((1, 4))}
        )


RECORDS = {
    "start": 2024.5,
    "until": 2028,
    "quantities": {"largest": {"model": "capability/largest-run"}, "age": {"model": "capability/record-age"}},
    "questions": {"old": {"title": "a record stands for a year", "when": "age >= age_asked"}},
}
RECORDS["quantities"]["age_asked"] = {"value": 1, "unit": "year"}


def test_a_record_stands_as_long_as_records_did():
    """Records of training compute since 2018 came at random: waits are exponential, and their rate is uncertain."""
    for as_of, largest, count in ((2024.5, 5e25, 12), (None, 1e27, 16)):
        run = forecast.project(RECORDS, draws=8192, as_of=as_of)
        assert np.unique(run.worlds["largest"]) == pytest.approx([largest])
        age = run.worlds["age"].isel(time=0).values
        years = (2026.75 if as_of is None else as_of) - 2018
        share, rate = (count + 0.5), years
        # an exponential whose rate is gamma is a Lomax
        assert (age > 1).mean() == pytest.approx((1 + 1 / rate) ** -share, abs=0.02)
        assert np.median(age) == pytest.approx(rate * (2 ** (1 / share) - 1), rel=0.05)
        assert (run.worlds["age"] == run.worlds["age"].isel(time=0)).all()


def test_the_chain_goes_on_from_the_end_of_its_tables():
    with pytest.raises(DataError, match=r"goes on from 2026\.75, got a first step at 2020"):
        _path("run", STRAIGHT, np.array([2020.0, 2021.0]))


# --- as of a date ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_as_of_an_earlier_date_the_chain_is_estimated_anew():
    """From what was known: the index starts at the record of that day, and the pace is that of the rows before."""
    run = forecast.project("chain", draws=256, as_of=2024.5, until=2028)
    index = run.worlds["index"].sel(variant="as estimated")
    assert str(run.worlds["time"].values[0])[:7] == "2024-07"
    assert 129 < float(index.isel(time=0).min()) < 140  # GPT-4o and Claude 3.5 Sonnet; 165 in 2026-09
    run_then = run.worlds["run"].sel(variant="as estimated").isel(time=0)
    assert 4e25 < float(run_then.median()) < 1.6e26  # Gemini Ultra's 5e25 was half a year old
    again = forecast.project("chain", draws=256, as_of=2024.5, until=2028)
    np.testing.assert_array_equal(run.worlds["index"], again.worlds["index"])


@pytest.mark.slow
def test_as_of_an_earlier_date_priors_that_were_set_in_sight_of_the_rows_are_wider():
    then = replace(BENT, known=2024.0)
    wider = {early.name: early.spread for early, late in zip(then.numbers, BENT.numbers, strict=True) if early != late}
    assert wider == {"points": 1.0, "doublings": 1.2}
    assert then.level("algorithms_slope") == (0.4, 0.5)
    assert replace(BENT, known=2024.5).level("algorithms_slope") == BENT.level("algorithms_slope")
    # few rows were there: what the prior says is seen in the draws
    few = estimates(2023.5)
    early, late = (columns(few.rows, form, now=2023.5, draws=200, worth_of=120.0) for form in (then, BENT))
    assert np.log(early.columns["points"]).std() > np.log(late.columns["points"]).std()


def test_before_any_model_had_an_index_the_chain_still_has_runs():
    part = {
        "start": 2026.75,
        "until": 2028,
        "quantities": {
            "posterior": {"uniform": [0, 1], "width": 1, "unit": ""},
            "form": {"value": 1, "unit": ""},
            "elasticity": {"model": "capability/chain-elasticity"},
            "research": {"value": 1, "unit": ""},
            "points": {"model": "capability/chain-points"},
            "pace": {"model": "capability/chain-pace"},
            "run": {"model": "capability/chain-run"},
            "algorithms": {"model": "capability/chain-algorithms"},
            "index": {"model": "capability/chain-index"},
        },
        "questions": {"run_25": {"when": "run >= 1e25"}, "index_130": {"when": "index >= 130"}},
    }
    run = forecast.project(part, draws=64, as_of=2023.0)
    assert list(run.answers) == ["run_25"]
    assert "as of 2023-01-01: questions without an answer: index_130" in map(str, run.warnings)
    assert any("no model with an index is dated before 2023.00" in text for text in map(str, run.warnings))


# --- the scenario ---------------------------------------------------------------------------------------------------


@lru_cache
def crossings() -> dict[tuple[str, str], float]:
    """Return the median of index 200 as a decimal year, by whether research drives algorithms, and variant."""
    run = forecast.project("chain", draws=4096)
    dates, drives = run.answers["index_200"].worlds, run.worlds["research_drives"].isel(time=0).values
    return {
        (name, variant): float(np.median(dates.sel(variant=variant).values[drives == code]))
        for code, name in enumerate(("no", "yes"))  # a regime is its place in the draw
        for variant in dates.coords["variant"].values.tolist()
    }


@pytest.mark.slow
def test_frozen_research_compute_matters_where_research_drives_algorithms_and_nowhere_else():
    frozen, both = ({drives: crossings()[drives, variant] for drives in ("no", "yes")}
                    for variant in ("compute frozen", "compute and research frozen"))  # fmt: skip
    assert both["no"] == frozen["no"]
    assert both["yes"] > frozen["yes"] + 1


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_says_what_the_prior_makes(capsys):
    said = chain(capsys, "--form", "straight", "--worth", "200", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)["result"]["straight"]
    by = {case["case"]: case for case in found}
    whole, bare = by["all rows"], by["without models of disclosed compute"]
    points = {title: case["quantities"]["points"] for title, case in by.items()}
    assert whole["correlation"] <= -0.7
    five, twenty = points["prior of points centred at 5"]["p50"], points["prior of points centred at 20"]["p50"]
    assert abs(twenty / five - 1) <= 0.1
    # without the models of disclosed compute the split is little more than the prior's
    assert bare["rows"] < whole["rows"]
    width = {title: np.log(of["p95"] / of["p05"]) for title, of in points.items()}
    assert width["without models of disclosed compute"] > 2 * width["all rows"]


@pytest.mark.parametrize(
    ("chains", "least", "most", "worst"), toolkit.sample([(3, 0.7, 1, 0), (15, 0.82, 0.97, 0.66)], 0, 2)
)
def test_intervals_hold_the_truth_of_simulated_chains(chains, least, most, worst):
    """Of fifteen chains the share of all quantities is known to some 4 points, of three to some 9."""
    held = list(interval_coverage(rows(), STRAIGHT, chains=chains, worth=100, seed=1))
    shares = [np.mean([one[name] for one in held]) for name in QUANTITIES]
    assert least <= np.mean(shares) <= most
    assert min(shares) >= worst  # 15 at .9: fewer than 10 in 1 of 450
