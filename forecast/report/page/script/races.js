/* What comes first of several questions. */

/** Which of several questions' dates comes first in the worlds that remain. */
const race = ({ events, among: asked, stated }, worlds) => {
  const fixed = Object.assign({}, ...asked.map((each) => combinations(each, state.picks)[0]));
  const own = asked.map((each) => Object.fromEntries(Object.entries(fixed).filter(([dim]) => each.dims.includes(dim))));
  if (asked.some((each, i) => fails(each, own[i]))) return null;
  const dates = asked.map((each, i) => says(each, own[i], worlds)), weights = weighed(fixed, worlds);
  const shares = new Float64Array(events.length + 2);
  let total = 0;
  worlds.forEach((_, i) => {
    const here = dates.map((each) => each[i]);
    if (here.some(Number.isNaN)) return;
    const least = Math.min(...here), first = here.flatMap((each, k) => (each === least ? [k] : []));
    const weight = weights ? weights[i] : 1;
    total += weight;
    shares[least === Infinity ? events.length + 1 : first.length > 1 ? events.length : first[0]] += weight;
  });
  // pooled rivals are no condition, and what stands in the title is said there
  const label = (dim) => model.choices.get(dim).values[fixed[dim]].label;
  const title = stated.replace(/\{([^{}]*)\}/g, (whole, dim) => (dim in fixed ? label(dim) : whole));
  const rest = Object.keys(fixed).filter((dim) => (dim in state.picks || model.choices.get(dim).kind !== "rival") && !stated.includes(`{${dim}}`));
  const given = rest.map((dim) => `${model.choices.get(dim).label}: ${label(dim)}`).join(", ");
  return total ? { shares: [...shares].map((each) => each / total), given, title } : null;
};
const races = (told) => {
  at("races").replaceChildren(...data.firsts.map(raced).map((each) => {
    const result = told(each), found = result && result.shares;
    const rows = each.labels.map((label, i) => make("tr", {}, make("th", { scope: "row" }, label),
      make("td", { class: "chart" }, rowBar(found ? `${label}: ${percent(found[i])}` : "failed", draw("rect", { x: 0, y: 3, width: 200 * (found ? found[i] : 0), height: 10, class: "high" }))),
      make("td", {}, found ? percent(found[i]) : "failed")));
    return section(`${capital(result ? result.title : each.title)}${result && result.given ? ` (${result.given})` : ""}`, [column("What", true), column("Drawn", true, "chart"), column("share of worlds")], rows);
  }));
};
