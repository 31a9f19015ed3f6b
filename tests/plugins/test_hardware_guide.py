"""Which GPUs to get: prices of now, as many cards as hold the model, no launch price in the place of a price."""

import re
from pathlib import Path

import numpy as np
import pytest

import forecast
import forecast_datasets
from forecast import tables
from forecast.errors import AbsentValueError, ForecastError, UnknownNameError, UsageError
from forecast.report.headline import Labels, opening_sentence
from forecast.tables import editions, read
from forecast.tables.schema import descriptor
from forecast_hardware import prices
from tests.toolkit import command

PRICES = Path(forecast_datasets.__file__).parent / "accelerator-prices" / "accelerator-prices.csv"


@pytest.fixture(scope="module")
def guide():
    return forecast.project("gpu-guide", draws=64, with_={"use": ["inference-8bit"]})


@pytest.fixture(scope="module")
def left_out():
    """Log errors of all quotes of consumer cards, each told by the seven eighths of the cards without its own."""
    everything = prices.market_prices()
    own = np.array([everything.devices[each].market == "consumer" for each in everything.quotes.device])
    quotes, logs = everything.quotes.kept(own), np.log(everything.prices[own])
    cards = np.random.default_rng(0).permutation(np.unique(quotes.device))
    error, sd = np.empty(len(logs)), np.empty(len(logs))
    for eighth in np.array_split(cards, 8):
        out = np.isin(quotes.device, eighth)
        market = prices.Market.of(quotes.kept(~out), np.exp(logs[~out]))
        mean, sd[out], _ = market.log_prices(quotes.kept(out))
        error[out] = logs[out] - mean
    return error, sd


def test_a_price_that_nobody_quotes_is_estimated_within_a_fifth_and_its_interval_holds_what_it_says(left_out):
    error, sd = left_out
    assert np.expm1(np.median(np.abs(error))) < 0.2
    assert 0.75 <= np.mean(np.abs(error) < 1.645 * sd) <= 0.9
    assert 0.4 <= np.mean(np.abs(error) < 0.674 * sd) <= 0.6
    launched = prices.market_prices()
    kept = [launched.devices[each] for each in ("geforce-rtx-5090", "titan-xp")]
    assert prices.device_price("geforce-rtx-5090", 2026.75).low > 1.5 * kept[0].launch  # no launch price of 2025
    assert prices.device_price("titan-xp", 2026.75).high < 0.6 * kept[1].launch  # nor that of 2017
    assert [prices.device_price(each, 2026.75).estimated for each in ("geforce-rtx-5090", "titan-xp")] == [False, True]


def test_where_estimates_are_too_far_off_what_nobody_quotes_has_no_price(left_out, guide):
    everything = prices.market_prices()
    factors = {each: everything.market(each, np.inf).left_out_factor for each in ("consumer", "data centre")}
    # in eighths, each with scales of its own; here device by device, in closed form
    assert factors["consumer"] == pytest.approx(np.exp(np.quantile(np.abs(left_out[0]), 0.8)), rel=0.05)
    assert factors["consumer"] <= prices.MAX_ESTIMATE_FACTOR < factors["data centre"]
    with pytest.raises(AbsentValueError, match="no price of tesla-m40 is known: nobody quotes it in the two years"):
        prices.device_price("tesla-m40", 2026.75)
    assert "nobody quotes it" in forecast.model("hardware/device-price@tesla-m40").fit().describe().summary
    words = Labels(guide)
    estimated = [each for each in guide.choices["device"].values if words(each).endswith("(est.)")]
    assert {everything.devices[each].market for each in estimated} == {"consumer"}
    # in a scenario it is said where its figure would stand, and nothing failed
    run = forecast.project("gpu-cluster", draws=16, with_={"device": ["h100-sxm5"]}, as_of=2023.08, start=2026.75)
    assert run.failures == []
    assert run.absent({"device": "h100-sxm5"}) == "no price known"


def test_a_quote_is_carried_forward_in_an_interval_that_grows_with_its_age():
    spread = []
    for date in (2023.1, 2024.0, 2025.0):
        price = prices.device_price("geforce-rtx-3090", date, as_of=2023.0)
        spread.append(np.log(price.high / price.low))
    assert spread[0] < spread[1] < spread[2]
    # what is known now says more of 2025 than what was known in 2023
    known = prices.device_price("geforce-rtx-3090", 2025.0)
    assert np.log(known.high / known.low) < spread[2]
    with pytest.raises(UnknownNameError, match="geforce-rtx-3090"):
        prices.device_price("geforce-rtx-309", 2026.75)


def test_at_least_forty_quoted_devices_are_compared_and_the_others_say_that_they_are_estimated(guide):
    devices, words = guide.choices["device"].values, Labels(guide)
    estimated = {each for each in devices if words(each).endswith("(est.)")}
    unpriced = {each for each in devices if guide.absent({"device": each})}
    assert len(set(devices) - estimated - unpriced) >= 40
    assert estimated
    assert not estimated & unpriced
    rows = read(PRICES)
    recent = (rows.years("date") >= 2024.75) & (rows["kind"] == "purchase") & (rows["channel"] != "launch")
    quoted = set(rows["device"][recent].tolist())
    assert not estimated & quoted
    others = read(PRICES.parents[1] / "compute-prices" / "compute-prices.csv")
    assert set(devices) - estimated - unpriced <= quoted | set(others["device"].tolist())


def test_a_launch_price_never_stands_for_that_of_now(guide):
    price = guide.worlds["price"].sel(device="geforce-rtx-5090")
    assert float(price.median()) > 1.5 * 1999  # what it was sold for first
    assert float(price.max() / price.min()) > 1.05  # in an interval


def test_tiers_part_only_what_the_worlds_part(guide):
    [row] = guide.answers["best"].table
    tiers = [each.tier for each in row.taking_part]
    assert tiers == sorted(tiers)
    assert tiers[0] == 1
    value = guide.answers["best"].contests["value"].isel(use=0, missing_dims="ignore")
    began = {}
    for each in row.taking_part:
        own = value.sel(device=each.name).values
        worse = np.mean(own < began[each.tier]) if each.tier in began else 0.0
        assert worse < 0.9
        began.setdefault(each.tier, own)
    for tier in range(2, max(tiers) + 1):
        assert np.mean(began[tier] < began[tier - 1]) >= 0.9


def test_as_many_cards_are_bought_as_hold_what_is_needed_and_a_module_pays_its_board():
    run = forecast.project("gpu-guide", draws=64, with_={"use": ["inference-8bit"], "memory": "80 GiB"})
    cards = run.worlds["needed"]
    assert (float(cards.sel(device="geforce-rtx-3090").max()), float(cards.sel(device="h100-sxm5").max())) == (4, 1)
    board = run.worlds["board"]
    assert (board.sel(device="geforce-rtx-3090").max(), board.sel(device="h100-sxm5").max()) == (0, 3000)


def test_buying_has_paid_after_the_hours_in_which_rent_exceeds_electricity():
    """By hand from the newest quotes: 37,500 USD new in 2026-02, a board of 3,000, rent of 2.69 USD/h in 2026-10."""
    settings = {"device": ["h100-sxm5"], "rented_from": ["specialised"], "price": "37500 USD", "desktop": 500}
    run = forecast.project("rent-or-buy", draws=16, with_=settings)
    hours = (37_500 + 3_000 + 500) / (2.69 - 0.7 * 0.175)
    assert run.answers["break_even"].headline.median == pytest.approx(hours, rel=1e-6)

    def years(run):
        return run.answers["paid"].headline.median - 2026.75

    assert years(run) == pytest.approx(hours / (0.15 * 24 * 365.25), abs=0.01)
    busier = forecast.project("rent-or-buy", draws=16, with_={**settings, "busy": 0.3})
    assert years(busier) == pytest.approx(years(run) / 2, abs=0.01)
    assert busier.answers["break_even"].headline.median == pytest.approx(hours, rel=1e-6)
    resold = forecast.project("rent-or-buy", draws=16, with_={**settings, "resale": 0.5})
    assert resold.answers["break_even"].headline.median == pytest.approx((18_750 + 3_500) / (2.69 - 0.1225), rel=1e-6)
    # where renting costs no more than the electricity of a device of one's own, no number of hours is an answer
    dear = {**settings, "electricity": "5 USD/kWh"}
    never = forecast.project("rent-or-buy", draws=16, with_=dear)
    assert never.answers["paid"].headline.never == 1
    assert "does not beat renting" in opening_sentence(never)


def test_kinds_of_cloud_stand_side_by_side_and_one_that_does_not_rent_a_device_says_so(capsys):
    told = command("run")(capsys, "rent-or-buy", "--draws", "64")
    for kind in ("a specialised cloud", "a marketplace of", "a large cloud"):
        assert kind in told.out
    run = forecast.project("rent-or-buy", draws=16, with_={"price": "37500 USD", "desktop": 500})
    hours = run.answers["break_even"]
    # by hand: 6.88 USD/h at Amazon in 2026-09, the lowest of the large clouds
    large = hours.over({"device": "h100-sxm5", "rented_from": "hyperscaler"}).median
    assert large == pytest.approx(41_000 / (6.88 - 0.7 * 0.175), rel=1e-6)
    assert hours.over({"device": "b200", "rented_from": "hyperscaler"}) is None
    assert (run.failures, told.code) == ([], 0)  # nothing failed
    told = command("run")(capsys, "rent-or-buy", "--set", "rented_from=hyperscaler", "--draws", "64")
    assert re.search(r"B200 +not rented there", told.out)
    # as of a date: what was quoted then; what nobody quoted or rented out is marked
    told = command("run")(capsys, "rent-or-buy", "--as-of", "2023-01-30", "--draws", "64")
    assert "Buying one A100 SXM4 80 GB beats" in told.out
    assert re.search(r"H100 SXM5 +no price known", told.out)


def test_what_waiting_buys_is_set_against_the_work_that_is_lost_meanwhile(capsys):
    settings = {"market": 1, "markup": 1.5, "desktop": 500}
    run = forecast.project("wait-or-buy", draws=256, with_=settings)
    gain, pays = run.answers["buys"], run.answers["pays"]
    medians = {months: gain.over({"months": months}).median for months in ("6", "12", "24")}
    assert 1 < medians["6"] < medians["12"] < medians["24"]
    # GPUs bought now that run less than the share that is said do as much work in five years as those of a year later
    share, busy, years, wait = pays.over({"months": "12"}).median, 0.15, 5, 1
    assert share * wait + busy * (years - wait) == pytest.approx(medians["12"] * busy * (years - wait), rel=1e-6)
    # by hand, in every world: the price of a rate now over that of a year later, electricity of five and of four years
    rate, dollar, watt = (run.worlds[n].sel(time=["2026-10-01", "2027-10-01"], method="nearest").values
                          for n in ("rate", "per_dollar", "per_watt"))  # fmt: skip
    per_kilowatt_year = 0.175 * 0.15 * 24 * 365.25 / 1000 * np.array([[5.0], [4.0]])
    price = 1.5 / dollar + 500 / (1000 * rate) + per_kilowatt_year / watt
    assert medians["12"] == pytest.approx(np.median(price[0] / price[1]), rel=0.02)
    dearer = forecast.project("wait-or-buy", draws=256, with_={**settings, "market": 1.5}).answers["buys"]
    assert dearer.over({"months": "12"}).median < 0.8 * medians["12"]
    told = command("run")(capsys, "wait-or-buy", "--draws", "64")
    assert "Waiting 12 months buys 1." in told.out
    assert "it pays above 1.25 times" in " ".join(told.out.split())
    assert len(told.out.splitlines()) < 24
    with pytest.raises(UsageError, match=r"2\.5"):
        forecast.project("wait-or-buy", draws=16, with_={"years": "1 year"})


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("device,date,condition,price_eur\ngeforce-rtx-4090,2026-09-20,used,2100", "price_eur'; did you mean 'price'"),
        ("device,date,condition,price\ngeforce-rtx-4090,2026-09-20,used,2100 EUR", "amounts are in USD; convert them"),
        ("device,condition,price\ngeforce-rtx-4090,used,2100", "a quote of geforce-rtx-4090 has no date"),
        ("device,date,condition,price\ngeforce-rtx-4091,2026-09-20,used,2100", "did you mean 'geforce-rtx-4090'"),
        (
            "device,date,condition,price\ngeforce-rtx-4090,2026-09-20,used,9",
            "of geforce-rtx-4090 of 9 USD is over 10 times off",
        ),
    ],
    ids=["another currency", "another behind the number", "no date", "an unknown device", "no price of it"],
)
def test_a_quote_of_ones_own_that_cannot_be_read_is_refused_by_what_it_lacks(tmp_path, rows, expected):
    file = own_quotes(tmp_path, rows)
    with pytest.raises(ForecastError, match=re.escape(expected)):
        forecast.project("gpu-guide", draws=16, data={"accelerator-prices": file})


def test_a_rent_of_ones_own_counts_though_it_is_younger_than_the_start_and_is_of_no_day_to_come(tmp_path):
    def rent(date, **options):
        file = tmp_path / "rents.csv"
        file.write_text(f"device,date,kind,channel,rent\nh100-sxm5,{date},on-demand,specialised,1\n")
        asked = {"device": ["h100-sxm5"], "rented_from": ["specialised"]}
        run = forecast.project("rent-or-buy", draws=16, with_=asked, data={"accelerator-prices": str(file)}, **options)
        return float(run.worlds["rent"].max())

    assert rent("2026-10-01") == rent("2026-11-20") == rent("2026-03-01") == 1  # before newer ones of others, too
    with pytest.raises(ForecastError, match="of 2026-10-01, which was not known by 2024-06-01: leave it"):
        rent("2026-10-01", as_of="2024-06-01")
    with pytest.raises(ForecastError, match="a row of your own is of 2999-01-01, which has not come"):
        rent("2999-01-01")


@pytest.mark.xslow
def test_a_quote_that_nothing_reads_is_said_at_every_door_with_what_would_read_it(tmp_path, capsys):
    rows = {
        "rents": "geforce-rtx-4090,2026-10-15,on-demand,,0.05",
        "spot": "h100-sxm5,2026-10-15,spot,,0.05",
        "old": "h100-sxm5,2023-10-15,on-demand,,0.05",
        **dict.fromkeys(("prices", "launch"), "geforce-rtx-4090,2026-10-15,purchase,1500,"),
    }

    def told(door, *names):
        lines = [f"{rows[name]},{'launch' if name == 'launch' else 'marketplace'}" for name in names]
        (tmp_path / "mine.csv").write_text("\n".join(["device,date,kind,price,rent,channel", *lines]) + "\n")
        verb, *asked = door.split()
        found = command(verb)(capsys, *asked, "--data", f"accelerator-prices={tmp_path}/mine.csv", "--draws", "16")
        return found.code, " ".join(found.err.split())

    elsewhere = "'forecast plan --device' or 'forecast run rent-or-buy' would"
    for door in ("run gpu-guide --set use=inference-8bit", "ask device-price --at 2026-11"):
        assert told(door, "rents") == (2, f"forecast: error: nothing here reads mine.csv:2 (no price); {elsewhere}")
        assert told(door, "prices")[0] == 0
    for door in ("run gpu-cluster", "ask device-rent --at 2026-11", "plan --budget 1M --days 60"):
        code, said = told(door, "rents")
        assert (code, bool(re.search(rf"2 \(device = geforce-rtx-4090.*\); {elsewhere}", said))) == (0, True)
    assert "reads mine.csv:3 (no price)" in told("run gpu-guide --set use=inference-8bit", "prices", "rents")[1]
    assert "reads mine.csv:2 (kind = spot)" in told("run rent-or-buy", "spot")[1]
    assert "reads mine.csv:2 (of 2023-10-15, too old)" in told("run rent-or-buy", "old")[1]
    assert "nothing here" not in told("run rent-or-buy", "rents")[1]
    assert "a launch price, which is no quote" in told("ask device-price --at 2026-11", "launch")[1]


@pytest.mark.slow
def test_what_seldom_fits_is_told_and_what_is_set_aside_has_its_label(capsys):
    asked = ("gpu-guide", "--draws", "64", "--set", "use=inference-16bit", "--set", "budget=1500 USD")
    found = command("run")(capsys, *asked, "--json").json["result"]
    [best] = [each for each in found["rankings"] if each["name"] == "best"]
    shares = {half: sum(o["first"] for o in best["order"] if (o["among"] >= 0.5) is half) for half in (True, False)}
    assert 0.1 < shares[False] < 1 - shares[True] + 1e-9
    assert f"; others that seldom fit: {100 * shares[False]:.0f} %" in found["headline"]
    told = command("run")(capsys, *asked, "--set", "device=vendor is AMD").out
    assert re.search(r"moves the first place from RTX 3080 Ti \(\d+ %\)", " ".join(told.split()))
    assert len(told.splitlines()) <= 24


def test_a_quote_of_ones_own_is_read_where_a_price_is_asked(tmp_path):
    quote = own_quotes(tmp_path, "device,date,condition,price\nh100-pcie,2026-10-01,used,9000")
    asked = {"with_": {"device": "h100-pcie"}, "dates": ["2026-11"], "draws": 64}
    assert forecast.ask("device-price", data=quote, **asked).median < 0.8 * forecast.ask("device-price", **asked).median


@pytest.mark.slow
def test_a_quote_of_ones_own_is_what_its_device_costs(tmp_path):
    """On its day exactly, whatever others paid; since then it goes with the market, and its neighbours stay."""
    asked = {"device": ["geforce-rtx-4090", "geforce-rtx-3090"], "use": ["inference-8bit"]}

    def told(*rows, **options):
        quotes = "\n".join(f"geforce-rtx-4090,{row}" for row in rows)
        data = {"accelerator-prices": own_quotes(tmp_path, f"device,date,condition,price\n{quotes}")} if rows else None
        return forecast.project("gpu-guide", draws=256, with_=asked, data=data, **options)

    def ends(run, device="geforce-rtx-4090"):
        return np.quantile(run.worlds["price"].sel(device=device), [0.05, 0.5, 0.95])

    plain, on_the_day = told(), told("2026-10-01,used,1500")
    assert ends(on_the_day) == pytest.approx([1500] * 3, rel=0.04)  # of some hours before the start
    assert ends(on_the_day, "geforce-rtx-3090") == pytest.approx(ends(plain, "geforce-rtx-3090"))
    # prices of 4090 rose by 26 % since March
    low, middle, high = ends(told("2026-03-20,used,1500"))
    assert 1500 < low < middle < high < 2400
    # the newest day counts, by its median; what is asked for a new one is another price
    several = told("2026-10-01,used,1500", "2026-10-01,used,1700", "2026-08-01,used,900", "2026-10-01,new,5000")
    assert ends(several)[1] == pytest.approx(1600, rel=0.01)
    # one that states no condition is followed too, and one of a new card goes before what others pay for a used one
    for unstated in ("2026-10-01,,1500", "2026-10-01,new,1500"):
        assert ends(told(unstated)) == pytest.approx([1500] * 3, rel=0.04)
    # later than the clock: it moves, and says so
    with pytest.warns(UserWarning, match="a quote of your own of 2026-11-20: all prices are of that day or later"):
        moved = told("2026-11-20,used,1500")
    assert ends(moved) == pytest.approx([1500] * 3, rel=1e-6)
    assert np.ptp(np.log(ends(moved, "geforce-rtx-3090"))) > 1.5 * np.ptp(np.log(ends(plain, "geforce-rtx-3090")))
    with pytest.raises(ForecastError, match="2099-11-20, which has not come"):
        told("2099-11-20,used,1500")
    with pytest.raises(ForecastError, match="2026-09-20, which was not known by 2023-01-30"):
        told("2026-09-20,used,1500", as_of="2023-01-30")
    # one too old to count is refused, unless a newer one counts
    assert ends(told("2023-11-20,used,900", "2026-10-01,used,1500")) == pytest.approx([1500] * 3, rel=0.04)
    with pytest.raises(ForecastError, match="is of 2023-11-20, which is over 2 years before 2026-10-01: leave it out"):
        told("2023-11-20,used,900")


def test_what_a_market_does_is_one_draw_for_all_of_its_devices():
    far = {"device": ["geforce-rtx-2070", "geforce-rtx-2080", "geforce-rtx-3090", "a40"], "use": ["inference-8bit"]}
    change = {"quantities": {"ahead": {"expression": "at(street_price, start + 2)", "unit": "USD"}}}
    run = forecast.project({"extends": "gpu-guide", **change}, draws=2048, with_=far, until=2029.75)
    logs = np.log([run.worlds["ahead"].sel(device=each).values for each in far["device"]]).reshape(4, -1)
    found = np.corrcoef(logs)
    # by hand: walks of 0.29 in a year over two years, of deviations of 0.45 in all
    assert found[0, 1] > 0.6
    assert found[0, 2] > 0.6
    assert abs(found[0, 3]) < 0.1  # of another market


def test_every_price_that_is_quoted_names_the_quote_it_rests_on_and_its_source():
    both = [tables.to_columns(f"datasets/{name}") for name in ("accelerator-prices", "compute-prices")]
    sources = {str(source) for table in both for source in table["source"]}
    for device, as_of in (("a10", None), ("h100-sxm5", None), ("geforce-rtx-4090", 2026.0), ("geforce-rtx-4090", None)):
        told = forecast.model(f"hardware/device-price@{device}").fit(as_of=as_of).describe().summary
        told, *rented = told.split("; rented at ")
        newest = re.search(r"the newest [\d,]+ USD (?:used|new) on (\d{4}-\d\d-\d\d) \((.*)\)$", told)
        rents = [re.fullmatch(r"[\d.]+ USD/h \((.*?), .*, (\d{4}-\d\d-\d\d): (.*)\)", each) for each in rented]
        assert all(each[3] in sources and (each[2] < "2026-01" or as_of is None) for each in rents)
        assert len({each[1] for each in rents}) == 4 or device != "h100-sxm5"  # by kind of cloud, and as listed
        assert newest[2] in sources
        assert (newest[1] < "2026-01") == (as_of is not None)


def own_quotes(folder, rows):
    """Write purchases as rows of the table of prices."""
    header, *lines = rows.splitlines()
    file = folder / "mine.csv"
    file.write_text("\n".join([f"kind,{header}", *(f"purchase,{line}" for line in lines)]) + "\n")
    return str(file)


@pytest.mark.slow
def test_what_nothing_fits_says_by_how_much_and_every_lever_moves_what_it_should(guide, capsys):
    def told(**settings):
        run = forecast.project("gpu-guide", draws=64, with_={"use": ["inference-8bit"], **settings})
        return run, opening_sentence(run)

    assert "5,000 GiB takes 18 × the largest device (288 GiB)" in told(memory="5000 GiB")[1]
    run, poor = told(budget="50 USD", desktop=500)
    changed = command("run")(
        capsys, "gpu-guide", "--draws", "64", "--set", "use=inference-8bit", "--set", "budget=50 USD"
    )
    assert re.search(r"moves the first place from [^.]+ to none\.", " ".join(changed.out.split()))
    [row] = run.answers["cheapest"].table
    assert re.search(rf"the cheapest that holds it is \d+ × {re.escape(Labels(run)(row.best.name))} for \d+ USD", poor)
    # more cards than are needed, where they give more for the money; eight of them take a server
    card = {"device": ["geforce-rtx-5090"], "together": 1, "workstation": 9000, "server": 12000, "price": 4000}
    for desktop, cards, host in ((900, 2, 900), (4500, 8, 12000)):
        many = told(**card, desktop=desktop)[0].worlds
        assert (float(many["cards"].max()), float(many["host"].max())) == (cards, host)
        assert float(many["in_all"].max()) == cards * 4000 + host
    for refused, expected in (
        ({"busy": -0.1}, "at least 0"),
        ({"years": -1.0}, "at least 0"),
        ({"most_cards": 1e9}, "at most 1,024"),
    ):
        with pytest.raises(ForecastError, match=expected):
            told(**refused)
    with pytest.raises(ForecastError, match="unknown unit 'EUR': amounts are in USD; convert them"):
        told(budget="20000 EUR")
    run, sentence = told(memory="75 GiB", budget="20000 USD")
    [row] = run.answers["best"].table
    first = max(row.taking_part, key=lambda each: each.first).name
    cards = run.worlds["cards"].sel(device=first).values
    assert f"{cards.max():.0f} × {Labels(run)(first)}" in sentence
    paid = float(run.worlds["in_all"].sel(device=first).median())
    [stated] = re.findall(rf"{re.escape(Labels(run)(first))}(?: \(\d+ %\))? for ([\d,]+) USD", sentence)
    assert float(stated.replace(",", "")) == pytest.approx(paid, rel=0.05)  # two digits
    assert row.taking_part
    assert float((run.worlds["in_all"].sel(device=first) <= 20_000).mean()) > 0.5
    for lever, value, moved in (
        ("years", 2, "ownership"), ("busy", 0.9, "ownership"), ("electricity", 0.4, "ownership"),
        ("desktop", 2000, "in_all"), ("used", 0, "price"),
    ):  # fmt: skip
        here, there = (
            float(told(device=["geforce-rtx-4090"], most_cards=1, **change)[0].worlds[moved].median())
            for change in ({}, {lever: value})
        )
        assert (there < here) is (lever == "years")
    assert (
        told(use=["fine-tuning"], device=["geforce-rtx-4090"])[0].worlds["memory"].median() > 13
    )  # seven billion parameters in 16 bits


@pytest.mark.slow
def test_as_of_the_essays_day_nothing_later_counts_and_the_three_charts_are_there():
    run = forecast.project("gpu-guide", draws=64, as_of="2023-01-30")
    devices, words = run.choices["device"].values, Labels(run)
    assert {"geforce-rtx-4090", "geforce-rtx-4070-ti"} <= set(devices)
    assert not {"geforce-rtx-5090", "geforce-rtx-4060"} & set(devices)
    assert words("titan-v") == "Titan V (est.)"
    assert not words("a100-sxm4-40gb").endswith("(est.)")
    assert {each.name for each in run.rankings} == {"best", "per_price", "raw", "cheapest"}
    [row] = [each for each in run.answers["best"].table if each.choices["use"] == "training-16bit"]
    first = {each.name for each in row.first_tier}
    assert {"geforce-rtx-4090", "radeon-rx-7900-xtx"} <= first  # the first two of the essay's chart, recomputed


@pytest.mark.slow
def test_prices_are_those_of_the_tables_as_they_stand(tmp_path):
    package = descriptor.read_descriptor(tables.descriptor_of("datasets/accelerators"))
    own = next(each for each in package.resources if each.name == "accelerators")
    rows = (package.folder / own.path).read_text(encoding="utf-8").splitlines()
    (tmp_path / "same.csv").write_text("\n".join(rows), encoding="utf-8")
    wider = [re.sub(r"^(radeon-vii,.*,2019-02-07,released,,,7,1\.323e10,331,,)16,", r"\g<1>48,", row) for row in rows]
    assert wider != rows
    (tmp_path / "wider.csv").write_text("\n".join(wider), encoding="utf-8")
    found = {}
    for name in ("same", "wider"):  # the memory of one device alone differs
        edition = editions.try_file(package, str(tmp_path / f"{name}.csv"), "accelerators", where="test")
        with editions.use_editions({package.file: edition}):
            found[name] = prices.device_price("radeon-vii", 2026.75).price
    assert found["same"] == pytest.approx(prices.device_price("radeon-vii", 2026.75).price, rel=1e-12)
    assert found["wider"] > found["same"]
