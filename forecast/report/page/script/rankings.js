/* Rankings: who is best in some worlds. */

/** What is ranked in some worlds, the other choices fixed: best median first of those that mostly take part. */
const ranked = (asked, fixed, worlds) => {
  const row = placing(asked, fixed)(0) * model.count, failed = asked.sets.length, bits = Math.ceil(model.count / 8);
  const every = model.choices.get(asked.over).values.map(({ label }, i) => {
    const own = { ...fixed, [asked.over]: i }, weights = weighed(own, worlds), values = says(asked.values, own, worlds);
    const cell = placing(asked.values, own)(0), byte = cell * bits, sent = asked.values.cells[cell] >= 0;
    let first = 0, compared = 0, takes = 0, known = 0;
    worlds.forEach((w, k) => {
      const weight = weights ? weights[k] : 1, code = asked.best[row + w];
      if (code !== failed) {
        compared += weight;
        // those that tie share a world
        if (asked.sets[code].includes(i)) first += weight / asked.sets[code].length;
      }
      if (sent && Number.isNaN(values[k])) return;
      known += weight;
      if ((asked.takes[byte + (w >> 3)] >> (w & 7)) & 1) takes += weight;
    });
    return { place: i, label, values, first: compared ? first / compared : 0, among: known ? takes / known : 0, q: quantiles(values, weights, "value") };
  });
  const order = every.filter((each) => each.among >= 0.5 && each.q).sort((a, b) => (a.q[2] - b.q[2]) * (asked.lowest ? 1 : -1));
  let tier = 0, began = null;
  for (const each of order) {
    const worse = began && each.values.filter((value, k) => (asked.lowest ? value > began[k] : value < began[k])).length;
    if (!began || worse >= data.worse * began.length) { tier++; began = each.values; }
    each.tier = tier;
  }
  const best = order.reduce((found, each) => (!found || each.first > found.first ? each : found), null);
  const left = every.filter((each) => each.among >= 0.5 && !each.q).length;
  const others = every.filter((each) => each.among < 0.5), seldom = others.reduce((sum, each) => sum + each.first, 0);
  return { every, order, left, best, seldom, others: others.filter((each) => each.first >= data.seldom).map((each) => each.label), tied: order.filter((each) => each.tier === 1).length, second: order.find((each) => each !== best) };
};
/** Whether fixed numbers are ranked, one the best in all worlds: being the best then has no probability. */
const decided = (order) => order.every(({ first, q }) => [0, 1].includes(first) && q[0] === q[4]);
/** A ranking under every combination of its other choices that the picks leave. */
const orders = (asked, picks, worlds) => asked.said.map((title, cell) => {
  const fixed = Object.fromEntries(asked.dims.map((dim) => [dim, Math.floor(cell / asked.strides[dim]) % model.choices.get(dim).values.length]));
  return { title, given: asked.given[cell], fixed, sentences: asked.authored ? asked.authored[cell] : {}, own: asked.own ? asked.own[cell] : {} };
}).filter(({ fixed }) => asked.dims.every((dim) => !(dim in picks) || picks[dim] === fixed[dim]))
  .map((each) => ({ ...each, ...ranked(asked, each.fixed, worlds) }));
/** In which worlds the best one is the best, as an answer whose variance assumptions explain. */
const leading = (asked, picks, worlds) => {
  const [{ fixed, best }] = orders(asked, picks, worlds), row = placing(asked, fixed)(0) * model.count;
  const values = Float64Array.from(worlds, (w) => {
    const set = asked.sets[asked.best[row + w]];
    return !set ? NaN : best && set.includes(best.place) ? 1 / set.length : 0;
  });
  return { values, weights: weighed(best ? { ...fixed, [asked.over]: best.place } : fixed, worlds) };
};
/** Every ranking in the worlds that remain: who takes part in each, or the best ones of one that is asked many times. */
const orderTables = (every) => {
  at("orders").replaceChildren(...every.flatMap(({ asked, found }) => {
    if (asked.said.length > data.most_orders) {
      const rows = found.map((each) => make("tr", {}, make("th", { scope: "row" }, each.given), make("td", {}, each.best ? each.best.label : say("none_of_them", {})),
        make("td", {}, each.best && !decided(each.order) ? say("tied", { none: each.tied < 2 }, { percent: percent(each.best.first), count: each.tied }) : "")));
      return [section(capital(asked.short), [column("What", true), column("Best", true), column(data.columns.rank[2])], rows)];
    }
    return found.map(({ order, title, given, left, seldom, others = [] }) => {
      const heading = `${capital(title)}${given ? ` (${given})` : ""}`;
      if (!order.length) return make("section", { class: "rows" }, make("h2", {}, heading), make("p", {}, `None of ${model.choices.get(asked.over).values.length} meets ${asked.meets}.`));
      const middles = order.map((each) => each.q[2]).filter((each) => Number.isFinite(each) && each).sort((a, b) => Math.abs(a) - Math.abs(b));
      const [, factor, called] = middles.length ? scaleOf(middles[Math.floor(middles.length / 2)], asked.scales) : asked.scales[0];
      const ends2 = order.flatMap((each) => [each.q[0], each.q[4]]).filter(Number.isFinite), span = [Math.min(...ends2), Math.max(...ends2)];
      const log = span[0] > 0 && span[1] / span[0] > 10, short = (value) => plain(value / factor);
      const rows = order.map((each) => make("tr", {}, make("th", { scope: "row" }, each.label), make("td", { class: "chart" }, bar({ ...asked.values, scales: asked.amounts }, each, span, log, false)),
        ...[short(each.q[2]), each.q[0] === each.q[4] ? "" : `${short(each.q[0])} to ${short(each.q[4])}`, ...(decided(order) ? ["", ""] : [percent(each.first), String(each.tier)])].map((cell) => make("td", {}, cell))));
      const names = `${others.slice(0, 2).join(", ")}${others.length > 2 ? ` and ${others.length - 2} more` : ""}`;
      if (seldom >= data.seldom) rows.push(make("tr", {}, make("th", { scope: "row" }, say("seldom", { named: names }, { names })), ...["", "", "", percent(seldom), ""].map((cell) => make("td", {}, cell))));
      if (left) rows.push(make("tr", {}, make("th", { scope: "row", colspan: 6 }, `and ${left} more, which are never best: this page carries no worlds of them`)));
      const axis = `${short(span[0])} to ${short(span[1])}`;
      return section(`${heading}${called ? ` [${called}]` : ""}`, [column("What", true), column(axis, false, "chart"), ...heads("rank")], rows);
    });
  }));
};
