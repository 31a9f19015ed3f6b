/* What moves an answer. */

const FIFTH = 5, MOST_MOVES = 8, LEAST = 0.01, SURE = 4, PER_BIN = 25, BINS = 32;

/** The share of the variance of an answer's ranks that each input explains alone: bins of equal numbers of worlds. */
const shares = (one, worlds) => {
  const { values } = one;
  const known = [...values.keys()].filter((i) => !Number.isNaN(values[i]) && (!one.weights || one.weights[i] > 0));
  const scale = one.weights ? known.length / known.reduce((sum, i) => sum + one.weights[i], 0) : 1;
  const weight = (i) => (one.weights ? one.weights[i] * scale : 1);
  known.sort((a, b) => values[a] - values[b]);
  const rank = new Float64Array(values.length).fill(NaN);
  let before = 0;
  for (let i = 0; i < known.length;) {
    let j = i, held = 0;
    while (j < known.length && values[known[j]] === values[known[i]]) held += weight(known[j++]);
    for (; i < j; i++) rank[known[i]] = (before + held / 2) / known.length;
    before += held;
  }
  let whole = 0, mean = 0, scatter = 0, squares = 0;
  for (const i of known) { whole += weight(i); mean += weight(i) * rank[i]; }
  mean /= whole;
  for (const i of known) { scatter += weight(i) * (rank[i] - mean) ** 2; squares += weight(i) ** 2; }
  const place = new Int32Array(model.count).fill(-1);
  worlds.forEach((w, i) => { place[w] = Number.isNaN(rank[i]) ? -1 : i; });
  const most = Math.min(BINS, Math.floor(known.length / PER_BIN));
  return model.inputs.map((input) => {
    if (scatter <= 0 || most < 2) return 0;
    const sums = new Float64Array(BINS), held = new Float64Array(BINS), own = new Float64Array(BINS);
    let n = 0;
    for (const w of input.order) {
      const i = place[w];
      if (i < 0) continue;
      const bin = input.few ? input.ranks[w] : Math.min(Math.floor((n * most) / known.length), most - 1);
      n += 1;
      sums[bin] += weight(i) * (rank[i] - mean);
      held[bin] += weight(i);
      own[bin] += weight(i) ** 2;
    }
    let between = 0, alike = 0;
    for (let bin = 0; bin < held.length; bin++) {
      if (held[bin] > 0) { between += sums[bin] ** 2 / held[bin]; alike += own[bin] / held[bin]; }
    }
    const free = whole - alike;
    if (free <= 0) return 0;
    const chance = (alike - squares / whole) * ((scatter - between) / free);
    const bins = input.few ? input.values.length : most, counted = (whole * whole) / squares;
    // of hundreds of assumptions none is shown that chance moves as far
    const least = Math.max(LEAST, (SURE * Math.sqrt(2 * Math.max(bins - 1, 1))) / Math.max(counted - bins, 1));
    const share = (between - chance) / scatter;
    return share < least ? 0 : share;
  });
};
const moves = (asked, fixed, one, keep, worlds) => {
  const explained = shares(one, worlds);
  const first = [...explained.keys()].filter((i) => explained[i] > 0).sort((a, b) => explained[b] - explained[a]);
  const measure = asked.kind !== "date" ? "median" : one.at_start >= 0.5 ? "at_start" : one.q[2] === Infinity ? "by" : "median";
  const rows = first.slice(0, MOST_MOVES).map((i) => {
    const input = model.inputs[i], order = input.order.filter((w) => keep[w]);
    const number = Math.ceil(order.length / FIFTH);
    const parts = input.few
      ? unique([...order].map((w) => input.ranks[w])).map((rank) => [order.filter((w) => input.ranks[w] === rank), spelt(input, rank)])
      : [[order.slice(0, number), ""], [order.slice(-number), ""]];
    const told = parts.map(([each, label]) => ({ one: spread(asked, fixed, each), label }));
    if (input.few) told.sort((a, b) => measured(asked, measure, a.one) - measured(asked, measure, b.one));
    const end = ({ one: part, label }) => ({ text: bare(asked, measure, part), size: measured(asked, measure, part), called: label });
    return { label: input.label, of: input.of, share: explained[i], low: end(told[0]), high: end(told[told.length - 1]) };
  });
  return { measure, rows, together: 0 };
};
const bare = (asked, measure, one) => {
  if (!one) return "-";
  if (asked.kind === "value") return amount(one.q[2], asked.scales);
  return measure === "median" ? date(one, one.q[2], 0.5, short_span(), true) : percent(measured(asked, measure, one));
};
const measured = (asked, measure, one) => {
  if (!one) return Infinity;
  return measure === "at_start" ? one.at_start : measure === "by" ? 1 - one.never : one.q[2];
};
const tornado = (asked, now, found) => {
  const section = at("moves"), body = at("move-body");
  section.hidden = !now;
  if (!now) return;
  if (now.each) {
    body.replaceChildren();
    at("move-about").textContent = "Rivals that nobody has weighed make a range; pick one of each choice to see what moves its answer.";
    return;
  }
  const { measure, rows, together } = found;
  const told = { median: "The median", at_start: `The probability that it is so by ${spanTexts().start}`, by: `The probability that it is so by ${spanTexts().until}` };
  at("move-about").textContent = rows.length ? `${told[measure]} where an assumption is in its lowest fifth of worlds, and where it is in its highest; of a choice, under its values.${together >= 0.02 ? ` Several together explain ${percent(together)} of the variance.` : ""}` : "No single assumption moves it in these worlds.";
  const sizes = rows.flatMap((row) => [row.low.size, row.high.size]);
  const base = measured(asked, measure, now), finite = [...sizes, base].filter(Number.isFinite);
  let span = [Math.min(...finite), Math.max(...finite)];
  if (span[0] === span[1]) span = [span[0] - 1, span[1] + 1];
  const log = asked.kind === "value" && span[0] > 0 && span[1] / span[0] > 10;
  const worded = (end) => make("td", {}, end.text, end.called ? make("span", { class: "of block" }, end.called) : null);
  body.replaceChildren(...rows.map((row) => {
    const width = 200, x = place(asked, span, log, width), [a, b] = [row.low, row.high].map((each) => x(each.size ?? Infinity));
    const middle = x(base), parts = [draw("line", { x1: middle, x2: middle, y1: 0, y2: 16, class: "base" })];
    if (Number.isFinite(a)) parts.push(draw("rect", { x: Math.min(a, middle), width: Math.abs(a - middle), y: 3, height: 10, class: "low" }));
    if (Number.isFinite(b)) parts.push(draw("rect", { x: Math.min(b, middle), width: Math.abs(b - middle), y: 3, height: 10, class: "high" }));
    const [low, high] = [row.low, row.high].map((each) => `${each.text}${each.called ? ` (${each.called})` : ""}`);
    const shape = rowBar(`where low: ${low}; where high: ${high}; line: ${bare(asked, measure, now)}, in all worlds`, ...parts);
    return make("tr", {}, make("th", { scope: "row" }, row.label, row.of ? make("span", { class: "of" }, ` ${row.of}`) : null), worded(row.low), make("td", { class: "chart" }, shape), worded(row.high),
      make("td", {}, percent(row.share)));
  }));
  reachable(body);
};
