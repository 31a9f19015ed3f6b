"""The accounts: what ties capital expenditure to the largest training run, one ratio a link and a year.

Each ratio is computed from tables of `forecast_datasets` as they stood at a date. None is left out for not fitting:
where two ways to the same figure can be compared, the ratio of the two says whether the accounts close.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from forecast.errors import DataError, EmptyDataError, UnknownNameError
from forecast.tables import decimal_year, series

if TYPE_CHECKING:
    from forecast.tables.columns import Columns


__all__ = ["CLOSES_WITHIN", "RATIOS", "Link", "Ratio", "Tables", "accounts", "pooled_spread", "read_ratios", "summed"]

#: Two figures agree if they differ by no more than this factor.
CLOSES_WITHIN = 1.2
#: Companies whose capital expenditure the accounts start from, and those of whose chips there is a count.
FOUR = ("Alphabet", "Amazon", "Meta", "Microsoft")
FIVE = (*FOUR, "Oracle")
OWNER = {"Alphabet": "Google"}
#: The laboratory of which most is known.
LAB = "OpenAI"
HOURS_A_YEAR = 8766.0
#: Editions of the sites, whose costs were estimated anew; all that is not compared is of the last.
EDITIONS = ("2026-05", "2026-09")
RUNS_EDITION = EDITIONS[-1]


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """One ratio of one year.

    Parameters
    ----------
    link : str
        A key of `RATIOS`.
    year : int
    value : float
    over : str
        What was divided by what, with the figures.
    plan : bool
        It rests on a plan or a forecast of the party concerned.
    """

    link: str
    year: int
    value: float
    over: str
    plan: bool = False


@dataclass(frozen=True, kw_only=True)
class Link:
    """What a ratio is.

    Parameters
    ----------
    title : str
    unit : str
        ``""`` for a share or a factor.
    read : callable
        Tables to year, value, text of the division, and whether a plan is in it.
    compares : bool
        Both sides say the same thing: at 1 the accounts close.
    most : float
        No ratio is larger.
    """

    title: str
    read: Callable[[Tables], Iterator[tuple[int, float, str, bool]]]
    unit: str = ""
    compares: bool = False
    most: float = np.inf


@dataclass
class Tables:
    """The tables of the accounts as they stood before a date, each read once."""

    as_of: float | None = None
    _read: dict[tuple[object, ...], Columns | None] = field(default_factory=dict)

    def rows(self, table: str, date: str, **where: str) -> Columns | None:
        """Return the rows of a table, or None where none was there yet."""
        key = (table, date, *sorted(where.items()))
        if key not in self._read:
            try:
                self._read[key] = series.rows_as_of(
                    f"datasets/{table}", where=where, as_of=self.as_of, name="accounts", date=date
                )
            except EmptyDataError:
                self._read[key] = None
        return self._read[key]

    def spent(
        self, what: str = "capital expenditure", span: str = "year", plan: str = "no"
    ) -> dict[tuple[str, str], float]:
        """Return what a company spent in a period, USD."""
        rows = self.rows("company-spending", "ends", what=what, span=span, plan=plan)
        if rows is None:
            return {}
        low, high = rows.numeric("amount_low"), rows.numeric("amount_high")
        middle = np.where(np.isfinite(rows.numeric("amount")), rows.numeric("amount"), (low + high) / 2)
        return dict(
            zip(
                zip(map(str, rows.column("company")), map(str, rows.column("period")), strict=True), middle, strict=True
            )
        )

    def capex(self) -> dict[int, float]:
        """Return the capital expenditure of the four companies by year, USD; of a half year the whole that it makes."""
        yearly = _summed(self.spent())
        halves = _halves(self)
        shares = [yearly[year] / half for year, half in halves.items() if year in yearly]
        for year, half in halves.items():
            if year not in yearly and shares:
                yearly[year] = half * float(np.mean(shares))
        return yearly

    def stock(self) -> dict[int, float]:
        """Return the AI chips of all owners at the end of a year, H100 equivalents."""
        return self._at_year_ends("chip-stock", "h100_equivalents", role="world")

    def chips_of(self, role: str, holder: str) -> dict[int, float]:
        """Return the chips of an owner or a user at the end of a year, H100 equivalents."""
        return self._at_year_ends("chip-stock", "h100_equivalents", role=role, holder=holder, designer="all")

    def tracked(self, column: str) -> dict[int, float]:
        """Return a sum over the tracked sites at the end of a year."""
        return self._at_year_ends("data-centre-totals", column, plan="no")

    def _at_year_ends(self, table: str, column: str, **where: str) -> dict[int, float]:
        rows = self.rows(table, "date", **where)
        if rows is None:
            return {}
        dates = decimal_year(rows.column("date"))
        return {
            int(date): float(value) for date, value in zip(dates, rows.numeric(column), strict=True) if date % 1 > 0.99
        }

    def site_price(self, year: int, edition: str = "") -> float:
        """Return the median all-in capital cost of tracked sites of a year, USD per H100 equivalent."""
        rows = self.rows("data-centres", "date", edition=edition or RUNS_EDITION, plan="no")
        if rows is None:
            return np.nan
        size, cost = rows.numeric("h100_equivalents"), rows.numeric("cost")
        used = (size > LEAST_SITE) & np.isfinite(cost) & (decimal_year(rows.column("date")).astype(int) == year)
        return float(np.median(cost[used] / size[used])) if used.any() else np.nan

    def largest_runs(self) -> list[tuple[str, float, float, float]]:
        """Return the largest run of each year: name, date, FLOP and USD, by what a FLOP cost where none is stated."""
        rows = self.rows("training-runs-2026", "date", frontier="yes")
        if rows is None:
            return []
        dates, flop, cost = (decimal_year(rows.column("date")), rows.numeric("training_compute"), rows.numeric("cost"))
        priced = (cost > LEAST_COST) & (dates >= FIRST_RUN_YEAR) & np.isfinite(flop)
        if priced.sum() < 5:
            return []
        slope, level = np.polyfit(dates[priced] - 2025, np.log10(flop[priced] / cost[priced]), 1)
        found = []
        for year in range(int(FIRST_RUN_YEAR), int(dates.max()) + 1):
            of_year = np.flatnonzero(
                (dates.astype(int) == year) & np.isfinite(flop) & (rows.column("domain") != "games")
            )
            if len(of_year):
                i = of_year[np.argmax(flop[of_year])]
                stated = cost[i] if cost[i] > 0 else flop[i] / 10 ** (level + slope * (dates[i] - 2025))
                found.append((str(rows.column("name")[i]), float(dates[i]), float(flop[i]), float(stated)))
        return found


#: H100 equivalents: smaller sites are parts of others. USD: cheaper runs are experiments. First is the year of GPT-3.
LEAST_SITE, LEAST_COST, FIRST_RUN_YEAR = 20_000, 1e5, 2020.0


def summed(spent: dict[tuple[str, str], float], companies: tuple[str, ...] = FOUR) -> dict[str, float]:
    """Return what companies spent together, by period; only where each of them is known."""
    periods = sorted({period for _, period in spent})
    return {
        period: sum(spent[company, period] for company in companies)
        for period in periods
        if all((company, period) in spent for company in companies)
    }


def _summed(spent: dict[tuple[str, str], float], companies: tuple[str, ...] = FOUR) -> dict[int, float]:
    return {int(period): usd for period, usd in summed(spent, companies).items() if period.isdigit()}


def _halves(tables: Tables) -> dict[int, float]:
    """Return the capital expenditure of the four companies in first half years, USD."""
    spent = tables.spent(span="quarter")
    years = {int(period[:4]) for _, period in spent}
    wanted = {year: [(c, f"{year}Q{n}") for c in FOUR for n in (1, 2)] for year in years}
    return {year: sum(spent[key] for key in keys) for year, keys in wanted.items() if all(key in spent for key in keys)}


def _bn(usd: float) -> str:
    return f"{usd / 1e9:.4g} bn USD"


def _count(number: float) -> str:
    return f"{number:,.0f}"


# --- The links --------------------------------------------------------------------------------------------------------


_Rows = Iterator[tuple[int, float, str, bool]]


def _over_figure(
    top: Mapping[int, float],
    bottom: Mapping[int, float],
    say: Callable[[float], str] = _count,
    *,
    label: str = "",
    unit: str = "",
    plans: Collection[int] = (),
) -> _Rows:
    """Walk the ratios of two figures, in every year that has both."""
    for year, value in top.items():
        if year in bottom:
            yield year, value / bottom[year], f"{label}{say(value)} over {say(bottom[year])}{unit}", year in plans


def _year_before(figures: Mapping[int, float]) -> dict[int, float]:
    """Return the figure of the year before, by year."""
    return {year + 1: value for year, value in figures.items()}


def _capex_growth(tables: Tables) -> _Rows:
    capex, whole = tables.capex(), _summed(tables.spent())
    return _over_figure(capex, _year_before(capex), _bn, plans=capex.keys() - whole.keys())


def _year_over_half(tables: Tables) -> _Rows:
    return _over_figure(_summed(tables.spent()), _halves(tables), _bn)


def _guidance(tables: Tables) -> _Rows:
    plans, capex = tables.spent(plan="yes"), tables.capex()
    for (who, period), planned in plans.items():
        year = int(period)
        if who == TOGETHER and year in capex:
            yield (
                year,
                planned / capex[year],
                f"guidance {_bn(planned)} over {_bn(capex[year])} by the first half",
                True,
            )


#: What the table calls the four companies together.
TOGETHER = "Amazon, Alphabet, Meta and Microsoft"


def _chips_bought(tables: Tables) -> _Rows:
    capex = _summed(tables.spent(), FIVE)
    stocks = [tables.chips_of("owner", OWNER.get(each, each)) for each in FIVE]
    for edition in EDITIONS:
        for year, spent in capex.items():
            price = tables.site_price(year, edition)
            if all(year in stock for stock in stocks) and np.isfinite(price):
                added = sum(stock[year] - stock.get(year - 1, 0.0) for stock in stocks)
                over = f"{_bn(spent)} at {price:,.0f} USD each (edition {edition}), over {added:,.0f} added"
                yield year, spent / price / added, over, False


def _chips_of_all(tables: Tables) -> _Rows:
    capex, stock = tables.capex(), tables.stock()
    for year in stock:
        price = tables.site_price(year)
        if year - 1 in stock and year in capex and np.isfinite(price):
            added, bought = stock[year] - stock[year - 1], capex[year] / price
            yield (
                year,
                added / bought,
                f"{added:,.0f} added over {bought:,.0f} that four companies' {_bn(capex[year])} buy",
                False,
            )


def _tracked(tables: Tables) -> _Rows:
    return _over_figure(tables.tracked("h100_equivalents"), tables.stock())


def _power_growth(tables: Tables) -> _Rows:
    power = tables.tracked("power")
    return _over_figure(power, _year_before(power), unit=" MW")


def _site_growth(tables: Tables) -> _Rows:
    rows = tables.rows("data-centres", "date", edition=RUNS_EDITION, plan="no")
    if rows is None:
        return iter(())
    dates, power = decimal_year(rows.column("date")), rows.numeric("power")
    last = int(dates.max()) if tables.as_of is None else int(tables.as_of)
    at = {
        year: float(power[dates < year + 1].max()) for year in range(int(dates.min()), last) if (dates < year + 1).any()
    }
    return _over_figure(at, _year_before(at), unit=" MW")


def _lab_stock(tables: Tables) -> _Rows:
    return _over_figure(tables.chips_of("user", LAB), tables.stock(), label=f"{LAB}: ")


def _lab_hours(tables: Tables) -> _Rows:
    """The laboratory's bill for an hour of an H100 equivalent, over what an hour of an H100 rents for."""
    lab, quotes = tables.chips_of("user", LAB), tables.rows("compute-prices", "date")
    bills = _bills(tables)
    if quotes is None:
        return
    rents, dates = quotes.numeric("rental"), decimal_year(quotes.column("date")).astype(int)
    h100 = np.array([str(each).startswith("h100") for each in quotes.column("device")]) & np.isfinite(rents)
    for year in lab:
        of_year = h100 & (dates == year)
        if year - 1 in lab and year in bills and of_year.any():
            mean = (lab[year] - lab[year - 1]) / np.log(lab[year] / lab[year - 1])
            hour, rent = bills[year] / mean / HOURS_A_YEAR, float(np.median(rents[of_year]))
            yield (
                year,
                hour / rent,
                f"{LAB}: {_bn(bills[year])} for {mean:,.0f} all year, {hour:.2f}, over {rent:.2f} USD/h",
                False,
            )


def _bills(tables: Tables) -> dict[int, float]:
    """Return what the laboratory spent on compute by year, USD: the whole, or else its parts."""
    parts = [tables.spent("research compute"), tables.spent("inference compute")]
    both = {int(p): parts[0][w, p] + parts[1][w, p] for w, p in parts[0] if w == LAB and (w, p) in parts[1]}
    whole = {int(period): usd for (who, period), usd in tables.spent("compute").items() if who == LAB}
    return both | whole


def _research_of_compute(tables: Tables) -> _Rows:
    research, serving = tables.spent("research compute"), tables.spent("inference compute")
    for (who, period), usd in research.items():
        if (who, period) in serving:
            whole = usd + serving[who, period]
            yield int(period), usd / whole, f"{who}: {_bn(usd)} over {_bn(whole)}", False


def _research(tables: Tables) -> dict[int, tuple[float, bool]]:
    """Return the laboratory's R&D compute by year, USD, and whether it is a forecast of the company's."""
    spent = {int(p): (usd, False) for (w, p), usd in tables.spent("research compute").items() if w == LAB}
    planned = {int(p): (usd, True) for (w, p), usd in tables.spent("training compute", plan="yes").items() if w == LAB}
    return planned | spent


def _research_of_capex(tables: Tables) -> _Rows:
    research = _research(tables)
    spent = {year: usd for year, (usd, _) in research.items()}
    plans = {year for year, (_, plan) in research.items() if plan}
    return _over_figure(spent, tables.capex(), _bn, label=f"{LAB}: ", plans=plans)


def _split(tables: Tables, part: str, whole: str) -> _Rows:
    rows = tables.rows("compute-splits", "published", part=part, whole=whole, plan="no")
    if rows is None:
        return
    for i, who in enumerate(map(str, rows.column("who"))):
        for name, end in (("share", ""), ("share_low", ", low end"), ("share_high", ", high end")):
            if np.isfinite(value := rows.numeric(name)[i]):
                yield int(str(rows.column("year")[i])), float(value), f"{who}{end}", False


def _final_of_research(tables: Tables) -> _Rows:
    yield from _split(tables, "final runs", "R&D compute")


def _compute_of_spending(tables: Tables) -> _Rows:
    yield from _split(tables, "all compute", "operating expense")


def _one_of_final(tables: Tables) -> _Rows:
    """The largest run of a laboratory over all final runs of its year before, when it was trained."""
    shares = {year: share for year, share, who, _ in _final_of_research(tables) if who == LAB}
    research, runs = _research(tables), tables.rows("training-runs-2026", "date", frontier="yes", organisation=LAB)
    if runs is None:
        return
    dates, cost = decimal_year(runs.column("date")), runs.numeric("cost")
    for year, share in shares.items():
        trained = (dates >= year + 0.1) & (dates < year + 1.25) & np.isfinite(cost)
        if year in research and trained.any():
            dearest = float(cost[trained].max())
            final = share * research[year][0]
            yield year, dearest / final, f"{LAB}: {_bn(dearest)} over {_bn(final)}", False


def _run_of_capex(tables: Tables) -> _Rows:
    capex = tables.capex()
    for name, date, _, cost in tables.largest_runs():
        yield from _over_figure({int(date): cost}, capex, _bn, label=f"{name}: ")


def _run_growth(tables: Tables) -> _Rows:
    shares = {year: share for year, share, _, _ in _run_of_capex(tables)}
    return _over_figure(shares, _year_before(shares), "{:.4%}".format)


def _run_forward(tables: Tables) -> _Rows:
    """What R&D, final runs and one of them give for the largest run of a year, over what it cost."""
    ones, finals = ([row[1] for row in read(tables)] for read in (_one_of_final, _final_of_research))
    costs = {int(date): (name, cost) for name, date, _, cost in tables.largest_runs()}
    for year, (usd, plan) in sorted(_research(tables).items()):
        if ones and finals and year in costs:
            name, cost = costs[year]
            given = usd * finals[0] * float(np.mean(ones))
            yield year, given / cost, f"{_bn(given)} by {LAB}'s R&D, over {_bn(cost)} ({name})", plan


def _record_runs(tables: Tables, column: str) -> Iterator[tuple[str, str, float, float]]:
    """Walk the largest runs so far of which a figure is known: name, organisation, date and figure."""
    rows = tables.rows("training-runs-2026", "date", frontier="yes", record="yes")
    if rows is None:
        return
    names, makers = (map(str, rows.column(each)) for each in ("name", "organisation"))
    dates, figures = decimal_year(rows.column("date")).tolist(), rows.numeric(column).tolist()
    yield from (row for row in zip(names, makers, dates, figures, strict=True) if np.isfinite(row[3]))


def _run_of_lab(tables: Tables) -> _Rows:
    """Chips of the largest run over those that its laboratory had at the end of the year before."""
    for name, who, date, chips in _record_runs(tables, "chips"):
        had = _year_before(tables.chips_of("user", USER.get(who, who)))
        yield from _over_figure({int(date): chips}, had, label=f"{name}: ")


#: A laboratory under the name that the counts of chips have.
USER = {"xAI": "SpaceXAI"}


def _run_of_site(tables: Tables) -> _Rows:
    """Power of the largest run over that of the largest site when it was published."""
    sites = tables.rows("data-centres", "date", edition=RUNS_EDITION, plan="no")
    if sites is None:
        return
    built, largest = decimal_year(sites.column("date")), sites.numeric("power")
    for name, _, date, power in _record_runs(tables, "power"):
        if (there := built <= date).any():
            site = float(largest[there].max())
            yield int(date), power / site, f"{name}: {power:,.0f} over {site:,.0f} MW", False


def _days(tables: Tables) -> _Rows:
    for name, _, date, hours in _record_runs(tables, "duration"):
        if date >= FIRST_RUN_YEAR:
            yield int(date), hours / 24, name, False


RATIOS: dict[str, Link] = {
    "capex-growth": Link(
        title="Capital expenditure of four companies over that of the year before", read=_capex_growth
    ),
    "year-over-half": Link(title="Capital expenditure of a year over that of its first half", read=_year_over_half),
    "guidance": Link(title="Guidance over what the first half of the year makes", read=_guidance, compares=True),
    "chips-bought": Link(
        title="Chips that all capital expenditure of five companies buys, over those that they added",
        read=_chips_bought,
        compares=True,
    ),
    "chips-of-all": Link(
        title="Chips that all owners added, over those that four companies' expenditure buys", read=_chips_of_all
    ),
    "tracked": Link(title="Chips of tracked sites over those of all owners", read=_tracked, most=1.0),
    "tracked-power-growth": Link(title="Power of tracked sites over that of the year before", read=_power_growth),
    "site-power-growth": Link(title="Power of the largest site over that of the year before", read=_site_growth),
    "lab-of-chips": Link(title="Chips of the largest laboratory over those of all owners", read=_lab_stock, most=1.0),
    "lab-hour": Link(
        title="Its bill for an hour of a chip over what an H100 rents for", read=_lab_hours, compares=True
    ),
    "research-of-compute": Link(title="R&D compute over R&D and serving", read=_research_of_compute, most=1.0),
    "compute-of-spending": Link(title="Compute over all spending of a laboratory", read=_compute_of_spending, most=1.0),
    "research-of-capex": Link(
        title="R&D compute of the largest laboratory over capital expenditure", read=_research_of_capex, most=1.0
    ),
    "final-of-research": Link(title="Final training runs over R&D compute", read=_final_of_research, most=1.0),
    "one-of-final": Link(title="The largest run over all final runs", read=_one_of_final, most=1.0),
    "run-of-capex": Link(
        title="Cost of the largest run of the year over capital expenditure", read=_run_of_capex, most=1.0
    ),
    "run-share-growth": Link(title="That share over that of the year before", read=_run_growth),
    "run-forward": Link(
        title="The largest run by R&D, final runs and one of them, over its cost", read=_run_forward, compares=True
    ),
    "run-of-lab-chips": Link(title="Chips of the largest run over those of its laboratory", read=_run_of_lab),
    "run-of-site-power": Link(
        title="Power of the largest run over that of the largest tracked site", read=_run_of_site
    ),
    "run-days": Link(title="How long the largest run took", read=_days, unit="day"),
}


def read_ratios(link: str, tables: Tables) -> list[Ratio]:
    """Return the ratios of one link, the earliest first.

    Examples
    --------
    >>> [(ratio.year, round(ratio.value, 2)) for ratio in of_link("chips-bought", Tables())]
    [(2023, 2.0), (2023, 3.66), (2024, 0.74), (2024, 1.06), (2025, 0.83), (2025, 1.01)]
    """
    if link not in RATIOS:
        raise UnknownNameError("link", link, RATIOS, where="accounts")
    found = [
        Ratio(link=link, year=y, value=float(v), over=over, plan=plan) for y, v, over, plan in RATIOS[link].read(tables)
    ]
    return sorted(found, key=lambda ratio: ratio.year)


def accounts(as_of: float | None = None) -> list[Ratio]:
    """Return every ratio of every year that was known before a date."""
    tables = Tables(as_of)
    return [ratio for link in RATIOS for ratio in read_ratios(link, tables)]


def pooled_spread(tables: Tables, links: tuple[str, ...]) -> tuple[float, int]:
    """Return how far the logarithm of a ratio is from its link's mean (a standard deviation), and degrees of freedom.

    A link has one to three years. One spread for all of them says how far a ratio is from its own mean,
    where each alone would say next to nothing.

    Raises
    ------
    DataError
        Where no link has two ratios.
    """
    logs = [np.log([ratio.value for ratio in read_ratios(link, tables)]) for link in links]
    dof = sum(len(each) - 1 for each in logs if len(each) > 1)
    if not dof:
        raise DataError("accounts: no link has two ratios yet, so that nothing says how far they spread")
    return float(np.sqrt(sum(((each - each.mean()) ** 2).sum() for each in logs if len(each) > 1) / dof)), dof
