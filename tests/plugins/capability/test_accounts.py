"""The accounts of money and compute, and the largest run that they pay for: ratios, courses, levers, bounds, dates."""

import json
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import gamma, spearmanr

import forecast
from forecast import tables, units
from forecast.errors import DataError, UnknownNameError
from forecast.streams import Streams
from forecast_capability.accounts.drawn import GROWTHS, SHARES_AND_FACTORS
from forecast_capability.accounts.ratios import RATIOS, Tables, pooled_spread, read_ratios
from toolkit import command, sample

accounts = command("accounts")
USUAL = {"variant": "trends continue"}


class Worlds:
    """The worlds of a scenario in one variant, (time, draw)."""

    def __init__(self, name, draws, **asked):
        self.run = forecast.project({"extends": name}, draws=draws, **asked)
        self.data = self.run["projection"]
        time = self.data["time"]
        self.years = (time.dt.year + (time.dt.dayofyear - 1) / 365.25).values

    def __call__(self, name, unit=""):
        data = self.data[name]
        data = data.isel(dict.fromkeys(set(data.dims) - {"time", "draw"}, 0))
        values = data.transpose(..., "draw").values
        return units.convert(values, data.attrs["units"], unit, where=name) if unit else values

    def at(self, year):
        return int(np.abs(self.years - year).argmin())

    def reached(self, flop):
        """Return the year in which each world's largest run takes this, and infinity where none does."""
        there = self("run", "FLOP") >= flop
        return np.where(there.any(axis=0), self.years[there.argmax(axis=0)], np.inf)


@lru_cache
def worlds(name="model-compute", draws=2048, what_if=(), **settings):
    return Worlds(name, draws, with_=USUAL | settings, what_if=[dict(each) for each in what_if])


# --- Ratios -----------------------------------------------------------------------------------------------------------


def test_every_ratio_is_printed_and_the_failing_ones_are_called_so(capsys):
    told = accounts(capsys).out
    for link, about in RATIOS.items():
        assert about.title in told, link
    assert "FAILS" in told
    assert "closes" in told
    rows = json.loads(accounts(capsys, "--json").out)["result"]
    assert {row["link"] for row in rows} == set(RATIOS)
    compared = [row for row in rows if RATIOS[row["link"]].compares]
    assert all(row["closes"] == (1 / 1.2 <= row["value"] <= 1.2) for row in compared)
    assert told.startswith(
        f"Of {len(compared)} figures that can be had in two ways, {sum(r['closes'] for r in compared)} "
    )
    assert all(row["closes"] is None for row in rows if row not in compared)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        # capital expenditure over price and count of chips, worked by hand from the rows of the tables
        ("chips-bought", {2023: 2.00, 2024: 0.74, 2025: 0.83}),
        ("research-of-capex", {2024: 5.0 / 228.34, 2025: 8.3 / 376.05}),
        ("run-of-capex", {2024: 0.0528854 / 228.34, 2025: 0.387843 / 376.05}),
        ("final-of-research", {2024: 0.096}),
        ("lab-of-chips", {2025: 1743440 / 20926382}),
    ],
)
def test_ratios_are_those_of_the_rows(link, expected):
    found = {}
    for ratio in read_ratios(link, Tables()):
        found.setdefault(ratio.year, ratio.value)
    for year, value in expected.items():
        assert found[year] == pytest.approx(value, rel=5e-3), year


def test_a_ratio_needs_all_that_it_is_made_of_by_the_date(capsys):
    rows = json.loads(accounts(capsys, "--as-of", "2025.5", "--json").out)["result"]
    assert rows
    assert max(row["year"] for row in rows) <= 2025
    # published in March 2026, of 2024
    assert not any(row["link"] in ("final-of-research", "one-of-final") for row in rows)
    assert "nothing known" in accounts(capsys, "--as-of", "2025.5").out
    assert not [row for row in rows if row["link"] == "research-of-capex" and row["year"] > 2024]


def test_an_unknown_link_is_named():
    with pytest.raises(UnknownNameError, match="did you mean 'tracked'"):
        read_ratios("trakced", Tables())


def test_the_spread_of_the_ratios_is_what_is_drawn():
    spread, dof = pooled_spread(Tables(), SHARES_AND_FACTORS)
    by_hand = [np.log([r.value for r in read_ratios(link, Tables())]) for link in SHARES_AND_FACTORS]
    assert dof == sum(len(each) - 1 for each in by_hand)
    assert spread == pytest.approx(np.sqrt(sum(((e - e.mean()) ** 2).sum() for e in by_hand) / dof))
    model = forecast.model("capability/accounts-research-of-capex").fit()
    drawn = np.log(model.sample(np.array([2027.0]), {}, Streams(0, "r", 0))[0])
    rows = read_ratios("research-of-capex", Tables())
    assert np.median(drawn) == pytest.approx(np.mean(np.log([r.value for r in rows])), abs=0.02)
    # a Student t, wider by the error of a mean of so many
    low, high = np.quantile(drawn, [0.05, 0.95])
    from scipy.stats import t

    assert high - low == pytest.approx(2 * t.ppf(0.95, dof) * spread * np.sqrt(1 + 1 / len(rows)), rel=0.05)
    share = forecast.model("capability/accounts-one-of-final").fit().sample(np.array([2027.0]), {}, Streams(0, "s", 0))
    assert share.max() == 1.0
    assert (share > 0).all()


@pytest.mark.slow
def test_the_share_that_is_tracked_is_that_of_the_last_year():
    """One place: what `forecast accounts` prints of the link is what the chips that are planned are divided by."""
    last = read_ratios("tracked", Tables())[-1]
    assert (last.year, last.value) == (2025, pytest.approx(5735148 / 20926382))
    np.testing.assert_array_equal(worlds()("tracked_share"), last.value)
    earlier = forecast.model("capability/accounts-tracked-now").fit(as_of=2025.5).describe().facts
    assert (earlier["year"], earlier["value"]) == (2024, read_ratios("tracked", Tables())[-2].value)
    with pytest.raises(DataError, match="accounts-tracked-now: no year of the accounts has it"):
        forecast.model("capability/accounts-tracked-now").fit(as_of=2023.0)


def test_without_two_years_nothing_is_drawn():
    with pytest.raises(DataError, match="accounts-research-of-capex: no year of the accounts has it"):
        forecast.model("capability/accounts-research-of-capex").fit(as_of=2023.0)
    with pytest.raises(DataError, match="accounts-planned-site: plans are those of 2026"):
        forecast.model("capability/accounts-planned-site").fit(as_of=2025.0)
    with pytest.raises(DataError, match="accounts-share-gain: expected two years"):
        forecast.model("capability/accounts-share-gain").fit(as_of=2021.5)


def test_spending_at_the_start_goes_on_from_the_last_quarter():
    said = forecast.model("capability/accounts-capex-now").fit().describe().facts
    assert said["last"] == pytest.approx(4 * 165.05e9, rel=1e-3)
    assert said["growth"] == pytest.approx(np.log(165.05 / 88.246), rel=1e-3)
    # the year 2022 was published 40 days after it ended
    for date, last in ((2023.0, 127.6e9), (2023.2, 151.08e9)):
        earlier = forecast.model("capability/accounts-capex-now").fit(as_of=date).describe().facts
        assert earlier["last"] == pytest.approx(last, rel=1e-3), date
    # guidance of July 2026 for the whole year, and the rate of October that goes with it
    now = worlds()("capex", "USD/year")[0]
    low, high = np.quantile(now, [0.05, 0.95])
    assert low < 2 * (732.5e9 - 294.8e9) < high


# --- Money and the largest run ----------------------------------------------------------------------------------------


def test_the_cost_of_the_largest_run_does_not_fall_while_spending_rises():
    of = worlds()
    cost, capex = np.median(of("spending", "USD"), axis=1), np.median(of("capex", "USD/year"), axis=1)
    run = np.median(of("run", "FLOP"), axis=1)
    assert (np.diff(capex) > -0.005 * capex[:-1]).all()
    assert (np.diff(run) > 0).all()
    assert (np.diff(cost) >= -0.02 * cost[:-1]).all()  # medians of 2,048 worlds
    assert cost[of.at(2039)] > cost[of.at(2031)] > 2 * cost[0]


def test_a_run_of_2028_is_seldom_cheaper_than_today_s():
    of = worlds()
    capex, at = of("capex", "USD/year"), of.at(2028)
    goes_on = capex[at] >= capex[0]
    assert 0.1 < (~goes_on).mean() < 0.5
    cost = of("spending", "USD")
    assert (cost[at] < cost[0] * (1 - 1e-9))[goes_on].mean() <= 0.07


def test_steps_that_were_due_and_not_done_make_plans_late_and_plans_grow():
    """By hand from the two editions: 8 sites had a step due between them, and 4 had done it, up to two months late."""
    delay, growth = (forecast.model(f"capability/accounts-plan-{each}").fit() for each in ("delay", "growth"))
    said = delay.describe().facts
    assert (said["n"], said["done"]) == (8, 4)
    # not done: Madison, New Carlisle, Colossus 2, Prometheus; done: Denton, Helios, Council Bluffs, Kansas City
    days = (9, 98, 137, 122, 3, 61, 27, 0)
    assert said["late"] == pytest.approx(sum(days) / 365.25, abs=0.02)
    drawn = worlds()("plan_delay", "year")[0]
    assert np.quantile(drawn, [0.05, 0.5, 0.95]) == pytest.approx(
        said["late"] / gamma(4).ppf([0.95, 0.5, 0.05]), rel=0.02
    )
    assert growth.describe().facts["n"] == 21
    assert growth.describe().facts["middle"] == pytest.approx(0.14, abs=0.01)
    for each in ("delay", "growth"):
        with pytest.raises(DataError, match="the later of two editions"):
            forecast.model(f"capability/accounts-plan-{each}").fit(as_of=2026.5)


def test_power_and_chips_are_what_is_built_and_planned_so_much_later_until_2028():
    of = worlds()
    sites = tables.to_columns("datasets/data-centres", where="test")
    planned = (sites.column("edition") == "2026-09") & (tables.decimal_year(sites.column("date")) < 2029)
    largest = sites.numeric("power")[planned].max() / 1000
    totals = tables.to_columns("datasets/data-centre-totals", where="test")
    share = 5735148 / 20926382
    until = of.years < 2029
    power, years = of("power", "GW"), of.years[until][:, None]
    late, growth = of("plan_delay", "year"), of("plan_growth", "1/year")
    grown = np.exp(growth[until] * np.maximum(years - late[until] - 2026.75, 0))
    # what is done today is always allowed: at today's largest site, whose rate for a watt is drawn
    standing = of("site", "FLOP/s")[0] / of("per_watt", "FLOP/s/W")[0] / 1e9
    assert (power[until] <= np.maximum(largest * np.maximum(grown, 1), standing) * (1 + 1e-9)).all()
    assert (power[0] <= standing * (1 + 1e-9)).all()
    dates = tables.decimal_year(totals.column("date"))
    on_time = np.exp(
        np.interp(np.maximum(years - late[until], 2026.75), dates, np.log(totals.numeric("h100_equivalents")))
    )
    # between two steps what was half a year ago lies on a line
    assert (of("stock")[until] <= on_time * grown / share * 1.06).all()
    assert np.median(of("stock")[of.at(2028)]) > 5e7


def test_power_and_chips_stay_inside_physical_bounds_after_2028():
    of = worlds()
    per_watt, h100 = of("per_watt", "FLOP/s/W"), 989.5e12
    world = 3364e9 * (1 + np.maximum(of("output_growth"), 0)) ** (of.years[:, None] - 2023)
    drawn_by_all = of("stock") * h100 / per_watt
    assert (drawn_by_all <= world * 1.001).all()
    assert np.quantile(of("stock")[of.at(2035)], 0.95) < 2e10
    power = np.median(of("power", "GW"), axis=1)
    assert (np.diff(power) >= -0.02 * power[:-1]).all()
    assert power[-1] > power[of.at(2031)]


def test_the_run_of_2030_spans_the_doubt_about_what_it_is_argued_from():
    """From spending that stops and a share that stands (10^27.5 to 10^28) to ten times that share (10^29) and more."""
    of = worlds()
    at = of.at(2031)

    def band(name):
        return np.quantile(np.log10(of(name, "FLOP"))[at], [0.05, 0.95])

    low, high = band("run")
    assert low < 28 < 29 < high
    # 2e29 FLOP, feasible by 2030 (Sevilla et al. 2024), is inside what money, power and chips allow, each
    for name in ("money_left", "power_allows", "chips_allow"):
        ends = band(name)
        assert ends[0] < np.log10(2e29) < ends[1], name
    price = np.log10(of("flop_per_usd", "FLOP/USD")[at])
    assert high - low > np.ptp(np.quantile(price, [0.05, 0.95]))
    assert high - low > np.ptp(band("chips_allow"))
    # what one run may cost, over what it costs today: ten times as much is inside
    gain = (of("share_allowed") / of("share_now"))[at]
    assert np.quantile(gain, 0.25) < 10 < np.quantile(gain, 0.95)


# --- Levers -----------------------------------------------------------------------------------------------------------

FREEZE = (("of", "capex"), ("growth", "0*"), ("since", 2028))


@pytest.mark.parametrize(
    ("name", "settings"),
    sample(
        [
            ("spending stops growing in 2028", {"what_if": (FREEZE,)}),
            ("export controls: a fifth of the chips", {"share_of_chips": 0.02}),
            ("power ten times dearer", {"dearer_power": 10}),
            ("a moratorium above 1e28", {"moratorium": "1e28 FLOP"}),
            ("spending falls and recovers", {"capex_course": "bust"}),
            ("one campus", {"power_far": "2 GW"}),
        ],
        3,
    ),
)
def test_a_policy_delays_the_run_of_1e29(name, settings):
    usual, held = worlds(draws=512).reached(1e29), worlds(draws=512, **settings).reached(1e29)
    later = np.mean(held > usual) - np.mean(held < usual)
    assert later > 0.03, name
    by = 2036
    assert np.mean(held <= by) < np.mean(usual <= by), name


def test_a_moratorium_stops_what_is_above_it_and_nothing_below():
    held, usual = worlds(draws=512, moratorium="1e28 FLOP"), worlds(draws=512)
    early = held.years < 2028
    np.testing.assert_array_equal(held("run", "FLOP")[early], usual("run", "FLOP")[early])
    ceiling = np.maximum(1e28, held("trained", "FLOP")[early][-1])  # what was done before is a record after
    assert (held("run", "FLOP") <= ceiling * (1 + 1e-12)).all()


@pytest.mark.slow
def test_spending_that_grows_faster_and_research_by_machines_bring_it_forward():
    usual = worlds(draws=512)
    faster = worlds(draws=512, what_if=((("of", "capex"), ("growth", "1.5*"), ("since", 2028)),))
    assert np.mean(faster.reached(1e29)) <= np.mean(usual.reached(1e29))
    assert np.mean(faster.reached(1e29) <= 2036) > np.mean(usual.reached(1e29) <= 2036)
    fed = worlds(draws=512, variant="R&D feedback")
    # where research drives algorithms anyway: elsewhere a world that does so has another joint draw
    driven = usual("drives")[0] > 0.5
    for name in ("run", "money_left"):
        more, before = fed(name)[:, driven], usual(name)[:, driven]
        assert (more >= before * (1 - 1e-12)).all(), name
        assert np.median(more[-1]) > 1.1 * np.median(before[-1]), name


# --- Growth that goes together ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", sample([0.0, 0.4, 0.7], 3))
def test_growth_of_sites_follows_spending_of_a_year_before_as_asked(asked):
    of = worlds(growth_together=asked, draws=1024)
    spending, site = of("spending_luck"), of("site_luck")
    found, same = [], []
    for year in range(2030, 2039):
        now, before, earlier = of.at(year), of.at(year - 1), of.at(year - 2)
        grown = site[now] - site[before]
        found.append(spearmanr(grown, spending[before] - spending[earlier]).statistic)
        same.append(spearmanr(grown, spending[now] - spending[before]).statistic)
    assert np.mean(found) == pytest.approx(asked, abs=0.03)
    assert np.mean(same) == pytest.approx(0.0, abs=0.03)


# --- Earlier dates ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_largest_run_is_forecast_as_of_an_earlier_date():
    run = forecast.project({"extends": "model-compute"}, as_of=2024.0, draws=256, with_=USUAL)
    path = run["projection"]["run"]
    path = path.isel(dict.fromkeys(set(path.dims) - {"time", "draw"}, 0)).transpose("time", "draw").values
    known = forecast.model("capability/training-compute@pool").fit(as_of=2024.0).observed()
    assert path[0].min() >= known.value[-1] * (1 - 1e-9)
    assert np.isfinite(path).all()


def test_capital_expenditure_is_dated():
    late, early = (read_ratios("capex-growth", Tables(as_of)) for as_of in (None, 2024.2))
    assert {r.year for r in early} == {r.year for r in late if r.year <= 2023}
    assert set(GROWTHS) <= set(RATIOS)
