"use strict";
/* The page of an answer, redrawn from the joint draws that it carries. `lawcast.show(data)` is the one entry point:
   it takes what `forecast.report.page.contents.answer` returns, and draws everything. Whatever a reader narrows is
   answered by the worlds that remain; nothing is computed anew and nothing is approximated beyond their number. */
globalThis.lawcast = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const FEWEST = 200, FAILING = 1000, FIFTH = 5, MOST_MOVES = 8, LEAST = 0.01, SURE = 4, PER_BIN = 25, BINS = 32;
  const LEVELS = [5, 25, 50, 75, 95];
  const LINES = ["line-0", "line-1", "line-2", "line-3", "line-4", "line-5", "line-6"];

  /* --- elements: text from a file is only ever the text of a node ------------------------------------------------ */

  const fill = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === true) node.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
    }
    node.append(...children.filter((each) => each !== null && each !== undefined));
    return node;
  };
  const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const at = (id) => document.getElementById(id);

  /* --- words ----------------------------------------------------------------------------------------------------- */

  const even = (x) => { const r = Math.round(x); return Math.abs(x % 1) === 0.5 && r % 2 ? r - 1 : r; };
  /** A text of the patterns that Python reads too: the first rule whose flags all hold is filled. */
  const say = (name, flags, texts = {}) => {
    const held = (flag) => (flag[0] === "!" ? !flags[flag.slice(1)] : Boolean(flags[flag]));
    const rule = data.patterns.texts[name].find((each) => (each.if || []).every(held));
    return rule.text.replace(/\{(\w+)\}/g, (_, key) => texts[key]);
  };
  const percent = (share) => {
    const unknown = share === null || Number.isNaN(share), { hardly, surely } = data.patterns;
    return say("percent", { unknown, hardly: share < hardly, surely: share > surely }, { number: even(100 * share) });
  };
  const plain = (value, digits = data.patterns.digits) => {
    if (value === null || Number.isNaN(value)) return "-";
    if (!Number.isFinite(value)) return value > 0 ? "infinite" : "-infinite";
    if (value === 0) return "0";
    const size = Number(value.toPrecision(digits));
    if (Math.abs(size) >= 1e-3 && Math.abs(size) < 1e6) {
      return Math.abs(size) >= 10 ** (digits - 1) && Number.isInteger(size) ? size.toLocaleString("en-US") : String(size);
    }
    const [mantissa, power] = value.toExponential(digits - 1).split("e");
    return `${mantissa.includes(".") ? mantissa.replace(/0+$/, "").replace(/\.$/, "") : mantissa}e${Number(power)}`;
  };
  const scaleOf = (value, scales) => {
    const size = Math.abs(Number(value.toPrecision(data.patterns.digits)));
    return scales.reduce((found, each) => (size >= each[0] ? each : found), scales[0]);
  };
  const amount = (value, scales) => {
    if (value === null || !Number.isFinite(value) || !scales) return plain(value);
    const [, factor, called] = scaleOf(value, scales);
    return `${plain(value / factor)} ${called}`.trim();
  };
  const narrow = (low, high) => Number.isFinite(high) && high - low < data.patterns.fine_years;
  const short_span = () => data.until - data.start < 3 * data.patterns.fine_years;
  const said = (year, fine, short) => {
    const whole = Math.floor(year), month = Math.min(Math.floor((year - whole) * 12 + 1e-6), 11);
    if (!fine) return String(whole);
    return short ? `${whole}-${String(month + 1).padStart(2, "0")}` : `${data.patterns.months[month]} ${whole}`;
  };
  const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
  const count = (number) => number.toLocaleString("en-US");
  const unique = (list) => [...new Set(list)];
  const range = ([low, high]) => say("range", { same_text: low === high }, { low, high });

  /* --- the worlds ------------------------------------------------------------------------------------------------ */

  const bytes = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const words16 = (text) => new Uint16Array(bytes(text).buffer);

  let data, model, state, redraw = 0;

  const unpack = (given) => {
    const choices = new Map(given.choices.map((each) => [each.name, each]));
    const sized = (asked) => {
      const strides = {};
      let stride = 1;
      for (const dim of [...asked.dims].reverse()) { strides[dim] = stride; stride *= choices.get(dim).values.length; }
      return { ...asked, strides, cells: stride };
    };
    const inputs = given.inputs.map((each) => {
      const ranks = words16(each.ranks);
      // worlds in the order of their ranks, those of one rank in their own
      const order = Uint32Array.from(ranks.keys()).sort((a, b) => ranks[a] - ranks[b] || a - b);
      return { ...each, ranks, order, title: each.of ? `${each.label} (${each.of})` : each.label };
    });
    return {
      choices, inputs, count: given.count,
      input: new Map(inputs.map((each) => [each.name, each])),
      held: Object.fromEntries(Object.entries(given.held).map(([name, text]) => [name, bytes(text)])),
      weights: given.weights && sized({ ...given.weights, data: new Float32Array(bytes(given.weights.data).buffer) }),
      questions: given.questions.map((each) => ({ ...sized(each), kind: "date", codes: words16(each.codes), top: 65534 })),
      values: given.values.map((each) => ({ ...sized(each), kind: "value", codes: words16(each.codes), top: 65534 })),
      orders: given.orders.map((each) => ({
        ...sized(each), kind: "rank", own: [], rivals: [], best: (each.wide ? words16 : bytes)(each.best), takes: bytes(each.takes),
        values: { ...sized(each.values), kind: "value", codes: words16(each.values.codes), top: 65534 },
      })),
      paths: given.paths.map((each) => ({ ...sized(each), kind: "path", codes: bytes(each.codes), top: 254 })),
      failing: new Map(),
    };
  };

  /** The worlds that remain. */
  const remaining = (ranges) => {
    const keep = new Uint8Array(model.count).fill(1);
    for (const [name, range] of Object.entries(ranges)) {
      const { ranks, few } = model.input.get(name);
      for (let w = 0; w < keep.length; w++) {
        if (few ? !range.includes(ranks[w]) : ranks[w] * 100 < range[0] * keep.length || ranks[w] * 100 >= range[1] * keep.length) keep[w] = 0;
      }
    }
    return keep;
  };
  const listed = (keep) => Uint32Array.from(keep.keys()).filter((w) => keep[w]);

  /** The place of what a world says in the codes: fixed values of choices, and the rivals that hold in it. */
  const placing = (asked, fixed) => {
    let base = 0;
    const drawn = [];
    for (const dim of asked.dims) {
      if (dim in fixed) base += asked.strides[dim] * fixed[dim];
      else drawn.push([asked.strides[dim], model.held[dim]]);
    }
    return (w) => drawn.reduce((sum, [stride, held]) => sum + stride * held[w], base);
  };
  const decoded = (asked, code, cell) => {
    if (code > asked.top) return NaN;
    if (code === asked.top) return Infinity;
    const low = asked.low[cell], high = asked.high[cell];
    if (code === 0) return asked.kind === "date" ? -Infinity : asked.log ? Math.exp(low) : low;
    const value = low + ((code - 0.5) / (asked.top - 1)) * (high - low);
    return asked.log ? Math.exp(value) : value;
  };
  /** What some worlds say: dates, -Infinity for already and Infinity for never, or values; NaN where one fails. */
  const says = (asked, fixed, worlds) => {
    const place = placing(asked, fixed), out = new Float64Array(worlds.length);
    for (let i = 0; i < worlds.length; i++) {
      const cell = place(worlds[i]);
      out[i] = decoded(asked, asked.codes[cell * model.count + worlds[i]], cell);
    }
    return out;
  };
  const weighed = (fixed, worlds) => {
    if (!model.weights) return null;
    const known = {};
    for (const dim of model.weights.dims) if (dim in fixed || !(dim in model.held)) known[dim] = fixed[dim] || 0;
    const place = placing(model.weights, known);
    return Float64Array.from(worlds, (w) => model.weights.data[place(w) * model.count + w]);
  };
  /** Whether too many of all worlds fail for an answer. */
  const fails = (asked, fixed) => {
    const key = JSON.stringify([asked.kind, asked.name, asked.place, fixed]);
    if (!model.failing.has(key)) {
      const all = says(asked, fixed, Uint32Array.from({ length: model.count }, (_, w) => w));
      const lost = all.reduce((sum, each) => sum + Number.isNaN(each), 0);
      model.failing.set(key, lost === all.length || (asked.kind === "date" ? lost * FAILING > all.length : false));
    }
    return model.failing.get(key);
  };

  const quantiles = (values, weights, kind) => {
    const known = [...values.keys()].filter((i) => !Number.isNaN(values[i]) && (!weights || weights[i] > 0));
    if (!known.length) return null;
    if (weights) {
      known.sort((a, b) => values[a] - values[b]);
      const total = known.reduce((sum, i) => sum + weights[i], 0);
      return LEVELS.map((level) => {
        let reached = 0;
        for (const i of known) { reached += weights[i]; if (reached >= (level / 100) * total * (1 - 1e-12)) return values[i]; }
        return values[known[known.length - 1]];
      });
    }
    const sorted = Float64Array.from(known, (i) => values[i]).sort(), n = sorted.length;
    if (kind === "date") return LEVELS.map((level) => sorted[Math.floor((n * level + 99) / 100) - 1]);
    return LEVELS.map((level) => {
      const place = (level / 100) * (n - 1), low = Math.floor(place), share = place - low;
      const a = sorted[low], b = sorted[Math.min(low + 1, n - 1)];
      return a === b || share === 0 ? a : a + (b - a) * share;
    });
  };
  /** The place of the rival that has all the weight of its choice, or -1. */
  const sole = ({ weights }) => (weights && weights.filter((w) => w > 0).length === 1 ? weights.findIndex((w) => w > 0) : -1);
  /** The answer in some worlds under fixed values of choices, the others pooled. */
  const spread = (asked, fixed, worlds) => {
    if (fails(asked, fixed)) return null;
    const values = says(asked, fixed, worlds), weights = weighed(fixed, worlds);
    const found = quantiles(values, weights, asked.kind);
    if (!found) return null;
    let total = 0, already = 0, never = 0;
    for (let i = 0; i < values.length; i++) {
      if (Number.isNaN(values[i])) continue;
      const weight = weights ? weights[i] : 1;
      total += weight;
      if (values[i] === -Infinity) already += weight;
      if (values[i] === Infinity) never += weight;
    }
    const q = asked.kind === "date" ? found.map((year) => Math.max(year, data.start)) : found;
    return { q, already: already / total, never: never / total, values, weights };
  };
  /** The values of the choices on which an answer depends: of every combination of those that nobody has weighed. */
  const combinations = (asked, picks) => {
    let out = [Object.fromEntries(asked.dims.filter((dim) => dim in picks).map((dim) => [dim, picks[dim]]))];
    for (const dim of asked.dims) {
      if (dim in picks || asked.rivals.includes(dim)) continue;
      if (asked.own.includes(dim)) out = out.map((each) => ({ ...each, [dim]: 0 }));
      else out = out.flatMap((each) => model.choices.get(dim).values.map((_, i) => ({ ...each, [dim]: i })));
    }
    return out;
  };
  /** The answer under some picks: one spread, or the range of several medians. */
  const answer = (asked, picks, worlds) => {
    const each = combinations(asked, picks).map((fixed) => [fixed, spread(asked, fixed, worlds)]);
    const known = each.filter(([, one]) => one);
    if (!known.length) return null;
    if (each.length === 1) return { ...known[0][1], fixed: known[0][0] };
    const medians = known.map(([, one]) => one.q[2]), nevers = known.map(([, one]) => one.never);
    return {
      each: known, medians: [Math.min(...medians), Math.max(...medians)], nevers: [Math.min(...nevers), Math.max(...nevers)],
      already: Math.min(...known.map(([, one]) => one.already)), never: Math.max(...nevers),
    };
  };

  /* --- orders ------------------------------------------------------------------------------------------------------ */

  /** What is ranked in some worlds, the other choices fixed: best median first of those that mostly take part. */
  const ranked = (asked, fixed, worlds) => {
    const row = placing(asked, fixed)(0) * model.count, failed = asked.sets.length, bits = Math.ceil(model.count / 8);
    const every = model.choices.get(asked.over).values.map(({ label }, i) => {
      const own = { ...fixed, [asked.over]: i }, weights = weighed(own, worlds), values = says(asked.values, own, worlds);
      const byte = placing(asked.values, own)(0) * bits;
      let first = 0, compared = 0, takes = 0, known = 0;
      worlds.forEach((w, k) => {
        const weight = weights ? weights[k] : 1, code = asked.best[row + w];
        if (code !== failed) {
          compared += weight;
          // those that tie share a world
          if (asked.sets[code].includes(i)) first += weight / asked.sets[code].length;
        }
        if (Number.isNaN(values[k])) return;
        known += weight;
        if ((asked.takes[byte + (w >> 3)] >> (w & 7)) & 1) takes += weight;
      });
      return { place: i, label, first: compared ? first / compared : 0, among: known ? takes / known : 0, q: quantiles(values, weights, "value") };
    });
    const order = every.filter((each) => each.among >= 0.5 && each.q).sort((a, b) => (a.q[2] - b.q[2]) * (asked.lowest ? 1 : -1));
    const best = order.reduce((found, each) => (!found || each.first > found.first ? each : found), null);
    return { every, order, best, second: order.find((each) => each !== best) };
  };
  /** A ranking under every combination of its other choices that the picks leave. */
  const orders = (asked, picks, worlds) => asked.said.map((title, cell) => {
    const fixed = Object.fromEntries(asked.dims.map((dim) => [dim, Math.floor(cell / asked.strides[dim]) % model.choices.get(dim).values.length]));
    return { title, given: asked.given[cell], fixed };
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

  /* --- what moves it --------------------------------------------------------------------------------------------- */

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
    const measure = asked.kind !== "date" ? "median" : one.already >= 0.5 ? "already" : one.q[2] === Infinity ? "by" : "median";
    const rows = first.slice(0, MOST_MOVES).map((i) => {
      const input = model.inputs[i], order = input.order.filter((w) => keep[w]);
      const number = Math.ceil(order.length / FIFTH);
      const parts = input.few
        ? unique([...order].map((w) => input.ranks[w])).map((rank) => [order.filter((w) => input.ranks[w] === rank), spelt(input, rank)])
        : [[order.slice(0, number), ""], [order.slice(-number), ""]];
      const told = parts.map(([each, label]) => ({ one: spread(asked, fixed, each), label }));
      if (input.few) told.sort((a, b) => measured(asked, measure, a.one) - measured(asked, measure, b.one));
      const [low, high] = [told[0], told[told.length - 1]];
      return { input, share: explained[i], low, high };
    });
    return { measure, rows };
  };

  /* --- the state, which is also the address ---------------------------------------------------------------------- */

  const blank = () => ({ question: opening().key, picks: {}, ranges: {} });
  /** What comes first, as a question: its choices are those of the questions among which it comes first. */
  const raced = (race) => {
    const among = race.events.map((name) => model.questions.find((each) => each.name === name));
    const [dims, own, rivals] = ["dims", "own", "rivals"].map((key) => unique(among.flatMap((each) => each[key])));
    return { ...race, kind: "first", short: race.title, among, dims, own, rivals };
  };
  const keyOf = (asked) => (asked.kind === "value" ? `${asked.name}.${asked.place}` : asked.name);
  const everyAsked = () => [...model.questions, ...model.values, ...model.orders, ...data.firsts.map(raced)].map((each) => ({ ...each, key: keyOf(each) }));
  const numeric = (asked) => asked.kind === "date" || asked.kind === "value";
  const opening = () => {
    const every = everyAsked(), own = every.filter((each) => each.name === data.opens.name);
    return own[own.length - 1] || every[0] || { key: "" };
  };
  const written = () => {
    const out = new URLSearchParams();
    if (state.question !== opening().key) out.set("q", state.question);
    for (const [name, place] of Object.entries(state.picks)) out.set(`c.${name}`, model.choices.get(name).values[place].name);
    for (const [name, range] of Object.entries(state.ranges)) out.set(`a.${name}`, range.join(model.input.get(name).few ? "," : "-"));
    return out.toString();
  };
  const read = (text) => {
    const out = blank();
    for (const [key, value] of new URLSearchParams(text)) {
      const name = key.slice(2), numbers = value.split(/[-,]/).map(Number);
      if (key === "q" && everyAsked().some((each) => each.key === value)) out.question = value;
      if (key.startsWith("c.") && model.choices.has(name)) {
        const place = model.choices.get(name).values.findIndex((each) => each.name === value);
        if (place >= 0) out.picks[name] = place;
      }
      if (!key.startsWith("a.") || !model.input.has(name) || !numbers.every(Number.isInteger)) continue;
      const { few, values } = model.input.get(name);
      if (few && numbers.every((each) => each >= 0 && each < values.length)) out.ranges[name] = numbers;
      if (!few && numbers.length === 2 && numbers[0] >= 0 && numbers[0] < numbers[1] && numbers[1] <= 100) out.ranges[name] = numbers;
    }
    return out;
  };
  const changed = () => {
    const text = written();
    if (location.hash.slice(1) !== text) history.replaceState(null, "", `#${text}`);
    cancelAnimationFrame(redraw);
    redraw = requestAnimationFrame(drawAll);
  };

  /* --- texts of an answer ---------------------------------------------------------------------------------------- */

  const date = (one, year, level, fine, short) => say(short ? "date_in_row" : "date",
    { never: year === Infinity, already: year !== Infinity && one.already >= level }, { until: said(data.until), date: said(year, fine, short) });
  const clause = (asked, picks) => {
    const sizes = asked.own.map((dim) => model.choices.get(dim).values.length);
    return asked.said[asked.own.reduce((sum, dim, i) => sum * sizes[i] + (picks[dim] || 0), 0)];
  };
  const over = (asked, picks) => {
    const weighedRivals = asked.rivals.filter((d) => !(d in picks) && model.choices.get(d).weights.filter((w) => w > 0).length > 1);
    return say("pooled", { none: !weighedRivals.length }, { choices: weighedRivals.map((d) => model.choices.get(d).label).join(" and ") });
  };
  const sentence = (asked, picks, one) => {
    const what = clause(asked, picks);
    const others = asked.dims.filter((d) => d in picks && !asked.own.includes(d))
      .map((d) => `${model.choices.get(d).label}: ${model.choices.get(d).values[picks[d]].label}`);
    const texts = { what, What: capital(what), given: others.length ? ` (${others.join(", ")})` : "", pooled: over(asked, picks) };
    return `${asked.kind === "value" ? valueText(asked, one, texts) : dateText(asked, picks, one, texts)}.`;
  };
  const valueText = (asked, one, texts) => {
    const on = asked.on, flags = { failed: !one, several: one && one.each, opens: true, same: one && !one.each && one.q[0] === one.q[4] };
    if (!one) return capital(say("value", flags, { ...texts, on }));
    if (one.each) return capital(say("value", flags, { ...texts, on, medians: range(one.medians.map((m) => amount(m, asked.scales))), count: one.each.length }));
    const [low, , median, , high] = one.q.map((each) => amount(each, asked.scales));
    return capital(say("value", flags, { ...texts, on, low, median, high }));
  };
  const dateText = (asked, picks, one, texts) => {
    const until = said(data.until), start = said(data.start);
    if (!one) return say("when", { failed: true }, texts);
    if (one.each) {
      const free = asked.dims.filter((d) => !(d in picks) && !asked.own.includes(d) && !asked.rivals.includes(d));
      const [low, high] = one.medians, fine = narrow(low, high);
      return say("when", { several: true, same: low === high, never_low: low === Infinity, never_high: high === Infinity, already_low: low <= data.start }, {
        ...texts, until, start, free: free.map((d) => model.choices.get(d).label).join(" and "),
        chances: range([...one.nevers].reverse().map((each) => percent(1 - each))), nevers: range(one.nevers.map(percent)),
        begin: say("begin", { already: low <= data.start }, { start, date: said(low, fine) }), end: date({ already: 0 }, high, 1, fine),
      });
    }
    const [low, , median, , high] = one.q, fine = narrow(low, high), by = percent(1 - one.never), already = percent(one.already);
    return say("when", {
      same: low === high, dated: one.never === 0, never_low: low === Infinity, never_median: median === Infinity,
      already_some: one.already >= 0.05, already_half: one.already >= 0.5, already_most: one.already >= 0.95, already_all: by === already,
    }, {
      ...texts, until, start, by, already, never: percent(one.never), low: date(one, low, 0.05, fine), high: date(one, high, 0.95, fine),
      low_month: said(low, true), low_year: said(low), median: said(median, fine),
    });
  };
  /** Who is best, and where: combinations of choices that have the same best one are said together. */
  const rankSentence = (asked, picks, found) => {
    const alike = new Map();
    for (const each of found) alike.set(each.best ? each.best.place : -1, [...(alike.get(each.best ? each.best.place : -1) || []), each]);
    const groups = [...alike.values()], alone = groups.length === 1;
    const told = groups.slice(0, data.most_said).map((own) => bestSentence(asked, picks, own, alone));
    const left = groups.slice(data.most_said).reduce((sum, own) => sum + own.length, 0);
    return `${say("rank", { more: left > 0 }, { What: capital(found[0].title), best: told.join("; "), left })}.`;
  };
  const bestSentence = (asked, picks, own, alone) => {
    const [{ best, second, every }] = own, where = under(asked, picks, own, alone);
    if (!best) return say("best", { none: true }, { count: every.length, conditions: asked.meets, where });
    const likely = own.filter((each) => each.best).map((each) => each.best.first).sort((a, b) => a - b);
    const next = own.length === 1 && alone && second;
    return say("best", { second: next }, { label: best.label, where, second: next ? second.label : "", chances: range([likely[0], likely[likely.length - 1]].map(percent)) });
  };
  /** Under which choices these rows of a ranking stand. */
  const under = (asked, picks, own, alone) => {
    if (!asked.dims.length) return say("where", { nowhere: true });
    const label = (dim) => model.choices.get(dim).label, free = asked.dims.filter((dim) => !(dim in picks));
    const given = (dims, { fixed }) => dims.map((dim) => `${label(dim)}: ${model.choices.get(dim).values[fixed[dim]].label}`).join(", ");
    if (alone && own.length > 1) {
      const picked = free.length < asked.dims.length ? ` (${given(asked.dims.filter((dim) => dim in picks), own[0])})` : "";
      return say("where", { everywhere: true }, { choices: free.map(label).join(" and "), given: picked });
    }
    const [only] = asked.dims, one = asked.dims.length === 1;
    const each = own.map((row) => one ? model.choices.get(only).values[row.fixed[only]].label : row.given);
    const more = each.length > data.most_named, named = each.slice(0, more ? data.most_named - 1 : each.length);
    return say("where", { more }, { stem: one ? `${label(only)}: ` : "", named: named.join(", "), left: each.length - named.length });
  };
  /** What comes first of several questions, and how likely none does. */
  const raceSentence = (asked, found) => {
    if (!found) return `${say("first", { failed: true }, { What: capital(asked.title) })}.`;
    const count = asked.labels.length, [several, none] = found.shares.slice(count);
    const order = asked.labels.map((label, i) => [label, found.shares[i]]).sort((a, b) => b[1] - a[1]);
    const told = [...order, ...(several ? [[say("several_at_once", {}), several]] : []), [say("none_of_them", {}), none]]
      .map(([label, share]) => say("share", {}, { label, percent: percent(share) }));
    return `${say("first", {}, { What: capital(found.title), given: found.given ? ` (${found.given})` : "", until: said(data.until), shares: told.join(", ") })}.`;
  };
  const interval = (low, high, begin, end) => say("interval", { same: low === high, same_text: begin === end }, { low: begin, high: end });
  const cells = (asked, one) => {
    if (!one) return ["failed", "", ""];
    if (asked.kind === "value") {
      if (one.each) return [range(one.medians.map((each) => amount(each, asked.scales))), "", ""];
      const told = one.q.map((each) => amount(each, asked.scales));
      return [told[2], interval(one.q[0], one.q[4], told[0], told[4]), ""];
    }
    const fine = short_span(), text = (year, level) => date(one, year, level, fine, true);
    if (one.each) return [range(one.medians.map((year) => text(year, 0.5))), "", range(one.nevers.map(percent))];
    return [text(one.q[2], 0.5), interval(one.q[0], one.q[4], text(one.q[0], 0.05), text(one.q[4], 0.95)), percent(one.never)];
  };
  const worth = (input, share) => {
    const place = (share / 100) * (input.values.length - 1), low = Math.floor(place);
    const a = input.values[low], b = input.values[Math.min(low + 1, input.values.length - 1)];
    return a + (b - a) * (place - low);
  };
  const spelt = (input, place) => (input.labels && input.labels[input.values[place]]) || amount(input.values[place], input.scales);
  const narrowed = (input, range) => {
    if (input.few) return range.map((place) => spelt(input, place)).join(" or ");
    if (range[0] === 0 && range[1] === 100) return `any (90 %: ${amount(worth(input, 5), input.scales)} to ${amount(worth(input, 95), input.scales)})`;
    return `${amount(worth(input, range[0]), input.scales)} to ${amount(worth(input, range[1]), input.scales)}`;
  };

  /* --- axes ------------------------------------------------------------------------------------------------------ */

  const nice = (low, high, most) => {
    const raw = (high - low) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
    const out = [];
    for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) out.push(Number(tick.toPrecision(12)));
    return out;
  };
  const linear = (low, high, from, to) => (value) => from + ((Math.min(Math.max(value, low), high) - low) / (high - low || 1)) * (to - from);
  const logs = (low, high, most) => {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first + 1) / most)), out = [];
    for (let power = first; power <= last; power += step) out.push(10 ** power);
    return out.length > 1 ? out : nice(low, high, most).filter((each) => each > 0);
  };
  const text = (x, y, words, more) => draw("text", { x, y, ...more }, words);
  const picture = (width, height, label, ...parts) =>
    draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...parts);
  const widthOf = (node) => Math.max(Math.min(Math.floor(node.clientWidth || 640), 900), 240);

  /* --- the figure of the answer: how likely it is by each date, or up to each value -------------------------------- */

  /** Points of the share of the worlds that have said so up to there. */
  const reached = (one) => {
    const known = [...one.values.keys()].filter((i) => !Number.isNaN(one.values[i])).sort((a, b) => one.values[a] - one.values[b]);
    const weight = (i) => (one.weights ? one.weights[i] : 1);
    const total = known.reduce((sum, i) => sum + weight(i), 0);
    let sum = 0;
    return known.map((i) => [one.values[i], (sum += weight(i)) / total]);
  };
  const stepped = (points, x, y, from, to) => {
    let path = "", last = 0;
    for (const [value, share] of points) {
      if (value === Infinity || value > to) break;
      const here = x(Math.max(value, from));
      path += path ? `H${here.toFixed(1)}V${y(share).toFixed(1)}` : `M${x(from).toFixed(1)},${y(value <= from ? share : 0).toFixed(1)}H${here.toFixed(1)}V${y(share).toFixed(1)}`;
      last = share;
    }
    return path ? `${path}H${x(to).toFixed(1)}` : `M${x(from).toFixed(1)},${y(last).toFixed(1)}H${x(to).toFixed(1)}`;
  };
  const ends = (asked, ones) => {
    const finite = ones.flatMap((one) => [...one.values]).filter(Number.isFinite).sort((a, b) => a - b);
    if (asked.kind === "date") {
      const far = finite.length ? finite[Math.ceil(finite.length * 0.99) - 1] : data.until;
      return [data.start, Math.min(data.until, Math.max(far + 1, data.start + 3))];
    }
    if (!finite.length) return [0, 1];
    return [finite[Math.floor(finite.length * 0.005)], finite[Math.ceil(finite.length * 0.995) - 1]];
  };
  const answerFigure = (asked, now, whole) => {
    const node = at("live-answer"), width = widthOf(node), height = 250, dates = asked.kind === "date";
    const ones = now ? (now.each ? now.each.slice(0, LINES.length) : [[now.fixed, now]]) : [];
    const all = whole ? (whole.each ? [] : [whole]) : [];
    const [from, to] = ends(asked, [...all, ...(all.length ? [] : ones.map(([, one]) => one))]);
    const log = !dates && from > 0 && to / from > 10;
    const side = dates ? 58 : 0, left = 46 + side, right = width - 14 - side, top = 18, bottom = height - 34;
    const y = linear(0, 1, bottom, top), rawX = log ? linear(Math.log(from), Math.log(to), left, right) : linear(from, to, left, right);
    const x = log ? (value) => rawX(Math.log(Math.max(value, 1e-300))) : rawX;
    const parts = [];
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      parts.push(draw("line", { x1: left, x2: right, y1: y(share), y2: y(share), class: "grid" }));
      parts.push(text(42, y(share) + 4, `${100 * share} %`, { class: "tick", "text-anchor": "end" }));
    }
    const [, factor, called] = dates ? [0, 1, ""] : scaleOf(now && !now.each ? now.q[2] : to, asked.scales);
    const ticks = dates ? nice(from, to, Math.floor((right - left) / 70)).filter(Number.isInteger)
      : (log ? logs(from / factor, to / factor, 6) : nice(from / factor, to / factor, 6)).map((each) => each * factor);
    for (const tick of ticks) {
      parts.push(draw("line", { x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4, class: "axis" }));
      // beside the axis stand the words of what is already so and what never is
      if (dates && (x(tick) < left + 18 || x(tick) > right - 18)) continue;
      parts.push(text(x(tick), bottom + 17, dates ? String(tick) : plain(tick / factor), { class: "tick", "text-anchor": "middle" }));
    }
    if (called) parts.push(text(right, bottom + 31, called, { class: "tick", "text-anchor": "end" }));
    const narrowedNow = Object.keys(state.ranges).length > 0;
    if (narrowedNow) for (const one of all) parts.push(draw("path", { d: stepped(reached(one), x, y, from, to), class: "before" }));
    ones.forEach(([fixed, one], i) => {
      const d = stepped(reached(one), x, y, from, to);
      if (ones.length === 1) parts.push(draw("path", { d: `${d}V${bottom}H${left}Z`, class: "area" }));
      parts.push(draw("path", { d, class: `curve ${ones.length > 1 ? LINES[i] : "line-0"}` }));
    });
    if (now && !now.each) {
      const [low, , middle, , high] = now.q;
      const inside = Number.isFinite(middle) && !(dates && now.already >= 0.5);
      if (inside) {
        const fine = dates && Number.isFinite(high) && high - low < data.patterns.fine_years;
        const label = `median ${dates ? said(middle, fine, true) : amount(middle, asked.scales)}`, right2 = x(middle) > (left + right) / 2;
        parts.push(draw("line", { x1: x(middle), x2: x(middle), y1: y(0.5), y2: bottom, class: "drop" }));
        parts.push(draw("circle", { cx: x(middle), cy: y(0.5), r: 4.5, class: "dot" }));
        parts.push(text(x(middle) + (right2 ? -9 : 9), y(0.5) + (right2 ? -6 : 14), label, { class: "mark", "text-anchor": right2 ? "end" : "start" }));
      }
      if (dates) {
        const bars = [["already", 52, 0, now.already, all[0] && all[0].already], ["never", right + 16, 1 - now.never, 1, all[0] && 1 - all[0].never]];
        for (const [word, at0, low2, high2, old] of bars) {
          parts.push(draw("rect", { x: at0, y: top, width: 36, height: bottom - top, class: "well" }));
          parts.push(draw("rect", { x: at0, y: y(high2), width: 36, height: Math.max(y(low2) - y(high2), 0), class: word }));
          if (narrowedNow && old !== undefined) parts.push(draw("line", { x1: at0, x2: at0 + 36, y1: y(old), y2: y(old), class: "before" }));
          parts.push(text(at0 + 18, bottom + 17, word, { class: "tick", "text-anchor": "middle" }));
          parts.push(text(at0 + 18, top - 5, percent(word === "already" ? now.already : now.never).replace("under ", "<").replace("over ", ">"), { class: "mark", "text-anchor": "middle" }));
        }
      }
    }
    const told = now ? sentence(asked, state.picks, now) : "no answer";
    node.replaceChildren(picture(width, height, told, ...parts));
    const key = at("key-answer");
    key.replaceChildren();
    if (ones.length > 1) {
      ones.forEach(([fixed], i) => {
        const named = Object.entries(fixed).filter(([d]) => !(d in state.picks) && !asked.own.includes(d)).map(([d, v]) => model.choices.get(d).values[v].label);
        key.append(make("span", { class: `swatch ${LINES[i]}` }), make("span", {}, named.join(", ")));
      });
      if (now.each.length > ones.length) key.append(make("span", {}, `and ${now.each.length - ones.length} more`));
    } else if (narrowedNow) {
      key.append(make("span", { class: "swatch line-0" }), make("span", {}, "worlds that remain"),
        make("span", { class: "swatch before" }), make("span", {}, "all worlds"));
    }
    at("title-answer").textContent = dates ? "How likely it is by each date" : `How likely it is up to each value, ${asked.on}`;
    return [from, to];
  };
  const byDate = (asked, now) => {
    const box = at("by-box");
    box.hidden = !now || Boolean(now.each) || asked.kind !== "date";
    if (box.hidden) return;
    const input = at("by-year");
    input.min = Math.ceil(data.start);
    input.max = Math.floor(data.until);
    if (!input.value) input.value = Math.round(Math.min(data.until, Math.max(data.start + 5, now.q[2] === Infinity ? data.until : now.q[2])));
    const year = Number(input.value);
    let sum = 0, total = 0;
    now.values.forEach((value, i) => {
      if (Number.isNaN(value)) return;
      const weight = now.weights ? now.weights[i] : 1;
      total += weight;
      if (value <= year) sum += weight;
    });
    at("by-share").textContent = percent(sum / total);
  };

  /* --- quantities over time --------------------------------------------------------------------------------------- */

  const fan = (path, picks, keep) => {
    const fixed = {};
    for (const dim of path.dims) {
      const choice = model.choices.get(dim);
      if (dim in picks) fixed[dim] = picks[dim];
      else if (choice.kind !== "rival") fixed[dim] = 0;
    }
    const place = placing(path, fixed), steps = path.times.length, worlds = listed(keep), weights = weighed(fixed, worlds);
    return path.times.map((year, t) => {
      const values = new Float64Array(worlds.length);
      for (let i = 0; i < worlds.length; i++) {
        const cell = place(worlds[i]) * steps + t;
        values[i] = decoded(path, path.codes[cell * model.count + worlds[i]], cell);
      }
      return [year, quantiles(values, weights, "value")];
    }).filter(([, q]) => q);
  };
  /** The fitted past of a quantity under these choices: that of all worlds, and of no other rival than was fitted. */
  const pastOf = (path, picks, keep) => {
    const other = (dim) => { const choice = model.choices.get(dim); return choice.kind === "rival" && dim in picks && picks[dim] !== sole(choice); };
    if (!keep.every((each) => each) || path.dims.some(other)) return [];
    return path.past.filter(([, , of]) => Object.entries(of).every(([dim, name]) => {
      const choice = model.choices.get(dim), one = dim in picks ? picks[dim] : choice.kind === "rival" ? sole(choice) : 0;
      return one >= 0 && choice.values[one].name === name;
    }));
  };
  const pathFigure = (asked, picks, keep, span) => {
    const section = at("paths"), select = at("path-of");
    section.hidden = !model.paths.length;
    if (section.hidden) return;
    const sides = model.paths.filter((each) => asked && (asked.sides || []).includes(each.name));
    const first = model.paths.find((each) => each.name === select.value) || sides[0] || model.paths[0];
    const together = [first, ...sides.filter((each) => sides.includes(first) && each !== first && each.factor && first.factor && each.dimension === first.dimension)];
    const series = together.map((path) => ({ path, scale: path === first ? 1 : path.factor / first.factor, fan: fan(path, picks, keep), past: pastOf(path, picks, keep) })).filter((each) => each.fan.length);
    const node = at("live-paths"), width = widthOf(node), height = 300, left = 64, right = width - 18, top = 14, bottom = height - 30;
    if (!series.length) { node.replaceChildren(make("p", {}, "It failed in these worlds.")); return; }
    const points = first.points.filter(([, , of]) => Object.entries(of).every(([dim, name]) => {
      const choice = model.choices.get(dim);
      return !choice || choice.values[picks[dim] || 0].name === name;
    }));
    const moving = series.some((each) => each.fan.length > 1);
    const until = moving && asked && asked.kind === "date" && sides.includes(first) ? Math.max(span[1], data.start + 1) : data.until;
    const seen = points.map(([year]) => year);
    const from = Math.min(data.start, ...(seen.length ? [Math.max(Math.min(...seen), data.start - Math.max(until - data.start, 8))] : []));
    const log = first.log && series.every((each) => each.path.log);
    const heights = [];
    for (const { fan: each, scale, path } of series) {
      const among = each.filter(([year]) => year <= until || each.length === 1);
      // what it is compared with decides how high the axis must go
      const shown = path === first && series.length > 1 ? among.slice(0, 1) : among;
      // the tails of one quantity alone may leave the axis
      for (const [, q] of shown) heights.push(q[0] * scale, q[series.length > 1 || !log ? 4 : 3] * scale);
    }
    for (const [year, value] of points) if (year >= from) heights.push(value);
    const threshold = asked && asked.threshold && asked.threshold.of === first.name ? asked.threshold.value : null;
    if (threshold !== null) heights.push(threshold);
    const known = heights.filter((each) => Number.isFinite(each) && (!log || each > 0));
    let low = Math.min(...known), high = Math.max(...known);
    if (log) { low /= 1.5; high *= 3; } else { const room = (high - low || Math.abs(high) || 1) * 0.06; low -= room; high += room; }
    const x = linear(from, until, left, right);
    // what lies beyond the axis is cut off, not bent to its edge
    const scaled = log ? (value) => Math.log(Math.max(value, 1e-300)) : (value) => value;
    const y = (value) => bottom + Math.min(Math.max((scaled(value) - scaled(low)) / (scaled(high) - scaled(low)), -9), 9) * (top - bottom);
    const parts = [];
    const middle = log ? Math.sqrt(low * high) : Math.max(Math.abs(low), Math.abs(high)) / 2;
    const [, factor, called] = scaleOf(middle, first.scales);
    const ticks = (log ? logs(low / factor, high / factor, 6) : nice(low / factor, high / factor, 5)).filter((each) => each * factor >= low && each * factor <= high);
    for (const tick of ticks) {
      parts.push(draw("line", { x1: left, x2: right, y1: y(tick * factor), y2: y(tick * factor), class: "grid" }));
      parts.push(text(left - 6, y(tick * factor) + 4, plain(tick), { class: "tick", "text-anchor": "end" }));
    }
    for (const tick of nice(from, until, Math.floor((right - left) / 70)).filter(Number.isInteger)) {
      parts.push(draw("line", { x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4, class: "axis" }));
      parts.push(text(x(tick), bottom + 17, String(tick), { class: "tick", "text-anchor": "middle" }));
    }
    const inner = draw("svg", { x: left, y: top, width: right - left, height: bottom - top, viewBox: `${left} ${top} ${right - left} ${bottom - top}` });
    parts.push(inner);
    series.forEach(({ path, scale, fan: own, past }, i) => {
      const drawn = own.length > 1 ? own.filter(([year], t) => year <= until || (t > 0 && own[t - 1][0] < until)) : [[data.start, own[0][1]], [until, own[0][1]]];
      const whole = [...past, ...drawn];
      const band = (a, b) => `M${whole.map(([year, q]) => `${x(year).toFixed(1)},${y(q[b] * scale).toFixed(1)}`).join("L")}L${[...whole].reverse().map(([year, q]) => `${x(year).toFixed(1)},${y(q[a] * scale).toFixed(1)}`).join("L")}Z`;
      inner.append(draw("path", { d: band(0, 4), class: `band outer fill-${i}` }), draw("path", { d: band(1, 3), class: `band inner fill-${i}` }));
      if (past.length) inner.append(draw("path", { d: `M${[...past, drawn[0]].map(([year, q]) => `${x(year).toFixed(1)},${y(q[2] * scale).toFixed(1)}`).join("L")}`, class: `curve fitted line-${i}` }));
      inner.append(draw("path", { d: `M${drawn.map(([year, q]) => `${x(year).toFixed(1)},${y(q[2] * scale).toFixed(1)}`).join("L")}`, class: `curve line-${i}` }));
    });
    for (const [year, value] of points) if (year >= from && value >= low && value <= high) parts.push(draw("circle", { cx: x(year).toFixed(1), cy: y(value).toFixed(1), r: 2.4, class: "point" }));
    if (threshold !== null) {
      const words = `threshold ${amount(threshold, first.scales)}`;
      parts.push(draw("line", { x1: left, x2: right, y1: y(threshold), y2: y(threshold), class: "threshold" }));
      parts.push(text(right - 4, y(threshold) - 5, words, { class: "mark", "text-anchor": "end" }));
    }
    node.replaceChildren(picture(width, height, `${first.label} over time: median, 50 and 90 % of the worlds that remain`, ...parts));
    const key = at("key-paths");
    key.replaceChildren(...series.flatMap(({ path }, i) => [make("span", { class: `swatch line-${i}` }), make("span", {}, path.label)]),
      make("span", { class: "quiet" }, `median, 50 and 90 % of worlds${series.some(({ past }) => past.length) ? "; thin line: fitted past" : ""}${points.length ? "; dots: data" : ""}${called ? `; in ${called}` : ""}`));
  };

  /* --- the table of rivals, and the tornado ------------------------------------------------------------------------ */

  const rowsOf = (asked, picks, worlds) => {
    const own = {};
    for (const dim of asked.own) own[dim] = picks[dim] || 0;
    for (const dim of asked.rivals) if (sole(model.choices.get(dim)) >= 0) own[dim] = sole(model.choices.get(dim));
    for (const dim of asked.dims) if (dim in picks) own[dim] = picks[dim];
    const pools = asked.rivals.some((dim) => !(dim in own));
    const label = unique([...asked.dims.filter((dim) => dim in own).sort((a, b) => asked.own.includes(b) - asked.own.includes(a)).map((dim) => model.choices.get(dim).values[own[dim]].label), ...(pools ? ["pooled"] : [])]).join(", ") || "answer";
    const rows = [{ label, of: "", asked, leads: true, one: answer(asked, picks, worlds) }];
    const order = [...asked.dims].sort((a, b) => asked.own.includes(b) - asked.own.includes(a));
    for (const dim of order) {
      const choice = model.choices.get(dim);
      if (choice.values.length < 2) continue;
      choice.values.forEach((value, place) => {
        if (own[dim] !== place) rows.push({ label: value.label, of: choice.label, asked, one: answer(asked, { ...picks, [dim]: place }, worlds) });
      });
    }
    return rows;
  };
  const place = (asked, span, log, width) => {
    const raw = log ? linear(Math.log(span[0]), Math.log(span[1]), 3, width - 3) : linear(span[0], span[1], 3, width - 3);
    return log ? (value) => (value === Infinity ? width : raw(Math.log(Math.max(value, 1e-300)))) : (value) => (value === Infinity ? width : raw(value));
  };
  const bar = (asked, one, span, log, leads) => {
    const width = 200, height = 16, x = place(asked, span, log, width), parts = [];
    if (one && one.each) parts.push(draw("line", { x1: x(one.medians[0]), x2: x(one.medians[1]), y1: 8, y2: 8, class: "whole" }));
    else if (one) {
      const [a, b, c, d, e] = one.q.map(x);
      parts.push(draw("line", { x1: a, x2: e, y1: 8, y2: 8, class: "whole" }), draw("line", { x1: b, x2: Math.max(d, b + 0.01), y1: 8, y2: 8, class: leads ? "half leads" : "half" }));
      // a point of its own width, however far the drawing is stretched
      if (Number.isFinite(one.q[2])) parts.push(draw("path", { d: `M${c},8h0.01`, class: leads ? "middle leads" : "middle" }));
      if (one.q[4] === Infinity) parts.push(draw("path", { d: `M${width - 4},4L${width},8L${width - 4},12`, class: "more" }));
    }
    return draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "bar", "aria-hidden": "true", preserveAspectRatio: "none" }, ...parts);
  };
  const rowLine = (row, shape) => {
    const told = cells(row.asked, row.one);
    const head = row.of ? [make("span", { class: "of" }, `${row.of} `), row.label] : [row.label];
    return make("tr", { class: row.leads ? "leads" : false }, make("th", { scope: "row" }, ...head), make("td", { class: "chart" }, shape),
      make("td", {}, told[0]), make("td", {}, told[1]), make("td", {}, told[2]));
  };
  /** The other questions in the same worlds; while nobody looks they are not computed. */
  const others = (asked, worlds) => {
    const every = everyAsked().filter((each) => numeric(each) && each.key !== asked.key && (each.kind === "date" || each.last)), box = at("other-box");
    at("others").hidden = !every.length;
    at("other-count").textContent = `(${every.length})`;
    if (!box.open) return;
    at("other-body").replaceChildren(...every.map((each) => {
      const one = answer(each, state.picks, worlds), shape = each.kind === "date" ? bar(each, one, [data.start, data.until], false, false) : null;
      return rowLine({ label: each.short || `${each.said[0]}, ${each.on}`, of: "", asked: each, one }, shape);
    }));
  };
  const rowTable = (asked, rows) => {
    const body = at("row-body"), dated = asked.kind === "date";
    const scaled = dated ? null : rows.flatMap((row) => (row.one ? row.one.each ? row.one.medians : [row.one.q[0], row.one.q[4]] : [])).filter(Number.isFinite);
    const span = dated ? [data.start, data.until] : [Math.min(...scaled), Math.max(...scaled)];
    const log = !dated && span[0] > 0 && span[1] / span[0] > 10;
    body.replaceChildren(...rows.map((row) => rowLine(row, bar(row.asked, row.one, span, log, row.leads))));
    at("row-note").textContent = dated ? "never" : "";
    at("row-axis").textContent = dated ? `${said(span[0])} to ${said(span[1])}` : `${amount(span[0], asked.scales)} to ${amount(span[1], asked.scales)}`;
  };
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
  const races = (worlds) => {
    at("races").replaceChildren(...data.firsts.map(raced).map((each) => {
      const result = race(each, worlds), found = result && result.shares, named = each.among.map((q) => q.short);
      const rows = [...named, say("several_at_once", {}), say("none_of_them", {})].map((label, i) => make("tr", {}, make("th", { scope: "row" }, label),
        make("td", { class: "chart" }, draw("svg", { viewBox: "0 0 200 16", class: "bar", "aria-hidden": "true", preserveAspectRatio: "none" },
          draw("rect", { x: 0, y: 3, width: 200 * (found ? found[i] : 0), height: 10, class: "high" }))),
        make("td", {}, found ? percent(found[i]) : "failed")));
      return make("section", { class: "rows" }, make("h2", {}, `${capital(result ? result.title : each.title)}${result && result.given ? ` (${result.given})` : ""}`),
        make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, make("span", { class: "hidden" }, "What")), make("th", { scope: "col", class: "chart" }), make("th", { scope: "col" }, "share of worlds"))), make("tbody", {}, ...rows)));
    }));
  };
  /** Every ranking in the worlds that remain: who takes part in each, or the best ones of one that is asked many times. */
  const orderTables = (every) => {
    at("orders").replaceChildren(...every.flatMap(({ asked, found }) => {
      if (asked.said.length > data.most_orders) {
        const rows = found.map((each) => make("tr", {}, make("th", { scope: "row" }, each.given), make("td", {}, each.best ? each.best.label : say("none_of_them", {})),
          make("td", {}, each.best ? percent(each.best.first) : "")));
        return [section(capital(asked.short), [column("What", true), column(""), column("best in")], rows)];
      }
      return found.map(({ order, title, given }) => {
        const heading = `${capital(title)}${given ? ` (${given})` : ""}`;
        if (!order.length) return make("section", { class: "rows" }, make("h2", {}, heading), make("p", {}, `None of ${model.choices.get(asked.over).values.length} meets ${asked.meets}.`));
        const middles = order.map((each) => each.q[2]).filter((each) => Number.isFinite(each) && each).sort((a, b) => Math.abs(a) - Math.abs(b));
        const [, factor, called] = middles.length ? scaleOf(middles[Math.floor(middles.length / 2)], asked.scales) : asked.scales[0];
        const ends2 = order.flatMap((each) => [each.q[0], each.q[4]]).filter(Number.isFinite), span = [Math.min(...ends2), Math.max(...ends2)];
        const log = span[0] > 0 && span[1] / span[0] > 10, short = (value) => plain(value / factor);
        const rows = order.map((each) => make("tr", {}, make("th", { scope: "row" }, each.label), make("td", { class: "chart" }, bar(asked.values, each, span, log, false)),
          make("td", {}, short(each.q[2])), make("td", {}, each.q[0] === each.q[4] ? "" : `${short(each.q[0])} to ${short(each.q[4])}`), make("td", {}, percent(each.first))));
        const axis = `${short(span[0])} to ${short(span[1])}`;
        return section(`${heading}${called ? ` [${called}]` : ""}`, [column("What", true), column(axis, false, "chart"), column("median"), column("90 %"), column("best in")], rows);
      });
    }));
  };
  const column = (words, hidden, kind) => make("th", { scope: "col", class: kind || false }, hidden ? make("span", { class: "hidden" }, words) : words);
  const section = (heading, columns, rows) => make("section", { class: "rows" }, make("h2", {}, heading),
    make("table", {}, make("thead", {}, make("tr", {}, ...columns)), make("tbody", {}, ...rows)));
  const measured = (asked, measure, one) => {
    if (!one) return Infinity;
    return measure === "already" ? one.already : measure === "by" ? 1 - one.never : one.q[2];
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
    const { measure, rows } = found;
    const told = { median: "The median", already: `The probability that it is so already in ${said(data.start)}`, by: `The probability that it is so by ${said(data.until)}` };
    at("move-about").textContent = rows.length ? `${told[measure]} where an assumption is in its lowest fifth of worlds, and where it is in its highest.` : "No single assumption moves it in these worlds.";
    const numbers = rows.flatMap((row) => [row.low, row.high].map((each) => measured(asked, measure, each.one)));
    const base = measured(asked, measure, now), finite = [...numbers, base].filter(Number.isFinite);
    const dates = asked.kind === "date" && measure === "median";
    let span = [Math.min(...finite), Math.max(...finite)];
    if (span[0] === span[1]) span = [span[0] - 1, span[1] + 1];
    const log = asked.kind === "value" && span[0] > 0 && span[1] / span[0] > 10;
    const fine = short_span();
    const worded = ({ one, label }) => make("td", {}, bare(one), label ? make("span", { class: "of block" }, label) : null);
    const bare = (one) => {
      if (!one) return "-";
      return asked.kind === "value" ? amount(one.q[2], asked.scales) : dates ? date(one, one.q[2], 0.5, fine, true) : percent(measured(asked, measure, one));
    };
    body.replaceChildren(...rows.map((row) => {
      const width = 200, x = place(asked, span, log, width), [a, b] = [row.low, row.high].map((each) => x(measured(asked, measure, each.one)));
      const middle = x(base), parts = [draw("line", { x1: middle, x2: middle, y1: 0, y2: 16, class: "base" })];
      if (Number.isFinite(a)) parts.push(draw("rect", { x: Math.min(a, middle), width: Math.abs(a - middle), y: 3, height: 10, class: "low" }));
      if (Number.isFinite(b)) parts.push(draw("rect", { x: Math.min(b, middle), width: Math.abs(b - middle), y: 3, height: 10, class: "high" }));
      const shape = draw("svg", { viewBox: `0 0 ${width} 16`, class: "bar", "aria-hidden": "true", preserveAspectRatio: "none" }, ...parts);
      return make("tr", {}, make("th", { scope: "row" }, row.input.label, row.input.of ? make("span", { class: "of" }, ` ${row.input.of}`) : null), worded(row.low), make("td", { class: "chart" }, shape), worded(row.high),
        make("td", {}, percent(row.share)));
    }));
  };

  /* --- steering ---------------------------------------------------------------------------------------------------- */

  const control = (input) => {
    const name = input.title;
    if (input.few) {
      const boxes = input.values.map((_, i) => {
        const box = make("input", { type: "checkbox", value: i });
        box.checked = !(input.name in state.ranges) || state.ranges[input.name].includes(i);
        return make("label", { class: "tag" }, box, ` ${spelt(input, i)}`);
      });
      const group = make("fieldset", { class: "assumption" }, make("legend", {}, input.label, " ", make("span", { class: "of" }, input.of)), ...boxes);
      group.addEventListener("change", () => {
        const chosen = [...group.querySelectorAll("input")].filter((box) => box.checked).map((box) => Number(box.value));
        if (chosen.length === 0 || chosen.length === input.values.length) delete state.ranges[input.name];
        else state.ranges[input.name] = chosen;
        if (!chosen.length) for (const box of group.querySelectorAll("input")) box.checked = true;
        changed();
      });
      return group;
    }
    const [low, high] = state.ranges[input.name] || [0, 100];
    const told = make("output", {}), filled = draw("rect", { y: 0, height: 6, class: "chosen" });
    const thumb = (word, value) => make("input", { type: "range", min: 0, max: 100, step: 1, value, "aria-label": `${name}: ${word}` });
    const lower = thumb("lowest", low), upper = thumb("highest", high);
    const track = make("div", { class: "track" }, draw("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" }, draw("rect", { width: 100, height: 6, class: "well" }), filled), lower, upper);
    const update = () => {
      const ends2 = [Number(lower.value), Number(upper.value)];
      told.textContent = narrowed(input, ends2);
      filled.setAttribute("x", ends2[0]);
      filled.setAttribute("width", ends2[1] - ends2[0]);
      lower.setAttribute("aria-valuetext", amount(worth(input, ends2[0]), input.scales));
      upper.setAttribute("aria-valuetext", amount(worth(input, ends2[1]), input.scales));
      track.classList.toggle("right", ends2[0] > 50);
    };
    const moved = (mine, other, least) => () => {
      if (least ? Number(mine.value) >= Number(other.value) : Number(mine.value) <= Number(other.value)) mine.value = Number(other.value) + (least ? -1 : 1);
      update();
      const range = [Number(lower.value), Number(upper.value)];
      if (range[0] === 0 && range[1] === 100) delete state.ranges[input.name];
      else state.ranges[input.name] = range;
      changed();
    };
    lower.addEventListener("input", moved(lower, upper, true));
    upper.addEventListener("input", moved(upper, lower, false));
    update();
    return make("div", { class: "assumption", role: "group", "aria-label": name },
      make("p", { class: "named" }, make("span", {}, input.label), " ", make("span", { class: "of" }, input.of)), track, make("p", { class: "worth" }, told));
  };
  const controls = () => {
    const panel = at("steer");
    const every = everyAsked();
    panel.hidden = !every.length;
    if (panel.hidden) return;
    const select = at("question-of");
    at("question-box").hidden = every.length < 2;
    select.replaceChildren(...every.map((each) => make("option", { value: each.key, selected: each.key === state.question }, each.short || `${each.said[0]}, ${each.on}`)));
    select.value = state.question;
    const asked = every.find((each) => each.key === state.question);
    at("choice-list").replaceChildren(...asked.dims.filter((dim) => model.choices.get(dim).values.length > 1).map((dim) => {
      const choice = model.choices.get(dim), id = `choice-${dim}`;
      const first = asked.own.includes(dim) ? [] : [make("option", { value: "" }, asked.rivals.includes(dim) ? sole(choice) >= 0 ? choice.values[sole(choice)].label : "pooled by their weights" : "all, side by side")];
      const list = make("select", { id }, ...first, ...choice.values.flatMap((value, i) => (first.length && i === sole(choice) ? [] : [make("option", { value: i }, value.label)])));
      list.value = dim in state.picks ? String(state.picks[dim]) : first.length ? "" : "0";
      list.addEventListener("change", () => {
        if (list.value === "" || (!first.length && list.value === "0")) delete state.picks[dim];
        else state.picks[dim] = Number(list.value);
        changed();
      });
      return make("div", { class: "field" }, make("label", { for: id }, choice.label), list);
    }));
    assumptions(asked);
  };
  const assumptions = (asked) => {
    const wanted = at("find").value.trim().toLowerCase(), keep = new Uint8Array(model.count).fill(1), worlds = listed(keep);
    const one = numeric(asked) ? answer(asked, state.picks, worlds) : asked.kind === "rank" ? leading(asked, state.picks, worlds) : null;
    const explained = one && !one.each ? shares(one, worlds) : model.inputs.map(() => 0);
    const order = [...model.inputs.keys()].sort((a, b) => explained[b] - explained[a]);
    const every = at("every").getAttribute("aria-pressed") === "true";
    const shown = order.map((i) => model.inputs[i]).filter((input, i) => (wanted
      ? `${input.name} ${input.title}`.toLowerCase().includes(wanted)
      : every || (i < MOST_MOVES && explained[order[i]] > 0) || i < 3 || input.name in state.ranges));
    at("assumption-list").replaceChildren(...shown.map(control));
    at("every").hidden = model.inputs.length <= 3;
    at("every").textContent = every ? "Show those that move it most" : `Show all ${model.inputs.length}`;
    at("found").textContent = wanted ? `${shown.length} of ${model.inputs.length}` : "";
  };

  /* --- everything -------------------------------------------------------------------------------------------------- */

  const drawAll = () => {
    const keep = remaining(state.ranges), worlds = listed(keep), all = Uint32Array.from({ length: model.count }, (_, w) => w);
    const asked = everyAsked().find((each) => each.key === state.question);
    const conditions = Object.entries(state.ranges).map(([name, range]) => `${model.input.get(name).title} ${narrowed(model.input.get(name), range)}`);
    const note = at("note");
    const drawn = data.count < data.drawn ? ` (the first of ${count(data.drawn)})` : "";
    const untouched = !conditions.length && !Object.keys(state.picks).length && state.question === opening().key;
    const every = drawn && untouched ? ` The sentence is of all ${count(data.drawn)}.` : "";
    note.textContent = conditions.length ? `${count(worlds.length)} of ${count(model.count)} worlds remain${drawn}: ${conditions.join("; ")}.` : `${count(model.count)} worlds${drawn}.${every}`;
    at("few").hidden = worlds.length >= FEWEST;
    at("few").textContent = `Fewer than ${FEWEST} worlds remain: widen an assumption, or draw more.`;
    at("count").textContent = `${count(worlds.length)} of ${count(model.count)} worlds`;
    at("reset").disabled = untouched;
    const measures = asked && numeric(asked);
    at("rivals").hidden = at("answer-box").hidden = !measures;
    const now = measures && worlds.length ? answer(asked, state.picks, worlds) : null;
    const ranks = worlds.length ? model.orders.map((each) => ({ asked: each, found: orders(each, state.picks, worlds) })) : [];
    lawcastNow = { worlds: worlds.length, median: now && !now.each ? now.q[2] : null, already: now && now.already, never: now && now.never,
      orders: ranks.map(({ found }) => found.map(({ every }) => every.map((each) => each.first))) };
    if (asked) {
      const told = () => asked.kind === "rank" ? rankSentence(asked, state.picks, ranks.find((each) => each.asked.name === asked.name).found)
        : asked.kind === "first" ? raceSentence(asked, race(asked, worlds)) : sentence(asked, state.picks, now);
      const words = untouched ? data.sentence : worlds.length ? `${data.given}${told().slice(0, -1)}${data.changed}.` : "No world remains: what was picked never comes together.";
      at("sentence").textContent = words.replaceAll(" %", "\u00a0%");
    }
    orderTables(ranks);
    races(worlds);
    if (asked) others(asked, worlds);
    if (measures) {
      const span = answerFigure(asked, now, answer(asked, state.picks, all));
      byDate(asked, now);
      pathFigure(asked, state.picks, keep, span);
      rowTable(asked, rowsOf(asked, state.picks, worlds));
    } else {
      pathFigure(null, state.picks, keep, [data.start, data.until]);
    }
    tornado(asked, now, now && !now.each ? moves(asked, now.fixed, now, keep, worlds) : { measure: "median", rows: [] });
  };
  let lawcastNow = {};

  const wire = () => {
    at("question-of").addEventListener("change", (event) => { state.question = event.target.value; at("by-year").value = ""; at("path-of").value = ""; controls(); changed(); });
    at("reset").addEventListener("click", () => { state = blank(); at("by-year").value = ""; controls(); changed(); });
    at("every").addEventListener("click", () => { at("every").setAttribute("aria-pressed", String(at("every").getAttribute("aria-pressed") !== "true")); controls(); });
    at("find").addEventListener("input", () => controls());
    at("other-box").addEventListener("toggle", () => drawAll());
    at("by-year").addEventListener("input", () => drawAll());
    at("path-of").addEventListener("change", () => drawAll());
    globalThis.addEventListener("hashchange", () => { if (location.hash.slice(1) !== written()) { state = read(location.hash.slice(1)); controls(); drawAll(); } });
    globalThis.addEventListener("resize", () => { cancelAnimationFrame(redraw); redraw = requestAnimationFrame(drawAll); });
    wire.done = true;
  };

  /** Take an answer, and draw everything; a reader's picks stay where the new answer knows them. */
  const show = (given) => {
    const kept = state ? written() : location.hash.slice(1);
    data = given;
    model = unpack(given);
    state = read(kept);
    if (!wire.done) {
      wire();
      at("other-box").open = everyAsked().filter(numeric).length <= 6;
      at("steer-box").open = matchMedia("(min-width: 960px)").matches;
    }
    document.documentElement.classList.add("alive");
    const paths = at("path-of");
    paths.replaceChildren(...[make("option", { value: "" }, "what is asked"), ...model.paths.map((each) => make("option", { value: each.name }, each.label))]);
    at("path-box").hidden = model.paths.length < 2;
    controls();
    drawAll();
  };
  return { show, now: () => ({ ...lawcastNow }) };
})();
lawcast.show(JSON.parse(document.getElementById("data").textContent));
