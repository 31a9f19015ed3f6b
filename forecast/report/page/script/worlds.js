/* The worlds: which remain, and what they say. */

const FAILING = 1000, RANK_STEPS = 200, LEVELS = [5, 25, 50, 75, 95];

const bytes = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
const words16 = (text) => new Uint16Array(bytes(text).buffer);

let data, model;

const titled = (input) => ({ ...input, title: input.of ? `${input.label} (${input.of})` : input.label });
const unpack = (given) => {
  const choices = new Map(given.choices.map((each) => [each.name, each]));
  const sized = (asked) => {
    const strides = {};
    let stride = 1;
    for (const dim of [...asked.dims].reverse()) { strides[dim] = stride; stride *= choices.get(dim).values.length; }
    return { ...asked, strides };
  };
  const inputs = given.inputs.map((each) => {
    const ranks = bytes(each.ranks);
    // worlds in the order of their ranks, those of one rank in their own
    const order = Uint32Array.from(ranks.keys()).sort((a, b) => ranks[a] - ranks[b] || a - b);
    return { ...titled(each), ranks, order };
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
      if (few ? !range.includes(ranks[w]) : ranks[w] * 100 < range[0] * RANK_STEPS || ranks[w] * 100 >= range[1] * RANK_STEPS) keep[w] = 0;
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
    // of what is far from the best the page carries no worlds
    out[i] = asked.cells[cell] < 0 ? NaN : decoded(asked, asked.codes[asked.cells[cell] * model.count + worlds[i]], cell);
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
  let total = 0, at_start = 0, never = 0;
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i])) continue;
    const weight = weights ? weights[i] : 1;
    total += weight;
    if (values[i] === -Infinity) at_start += weight;
    if (values[i] === Infinity) never += weight;
  }
  const q = asked.kind === "date" ? found.map((year) => Math.max(year, data.start)) : found;
  return { q, at_start: at_start / total, never: never / total, values, weights };
};
/** The values of the choices on which an answer depends: of every combination of those that nobody has weighed. */
const combinations = (asked, picks) => {
  let out = [Object.fromEntries(asked.dims.filter((dim) => dim in picks).map((dim) => [dim, picks[dim]]))];
  for (const dim of asked.dims) {
    if (dim in picks || asked.rivals.includes(dim)) continue;
    if (asked.own.includes(dim)) out = out.map((each) => ({ ...each, [dim]: firstOf(dim) }));
    else out = out.flatMap((each) => model.choices.get(dim).values.map((_, i) => ({ ...each, [dim]: i })));
  }
  return out;
};
/** The answer under some picks: one spread, or the range of several medians; of all worlds as Python has derived it. */
const answer = (asked, picks, worlds) => {
  const one = ofWorlds(asked, picks, worlds), told = one && carriedAnswer(data.stated, asked, picks);
  if (told && worlds.length === model.count) return { ...one, ...told };
  // of the worlds at the first step the newest rows meet as many as of all worlds
  return one && { ...one, already: told && told.at_start ? (one.at_start * told.already) / told.at_start : one.at_start };
};
const ofWorlds = (asked, picks, worlds) => {
  const each = combinations(asked, picks).map((fixed) => [fixed, spread(asked, fixed, worlds)]);
  const known = each.filter(([, one]) => one);
  if (!known.length) return null;
  if (each.length === 1) return { ...known[0][1], fixed: known[0][0] };
  const medians = known.map(([, one]) => one.q[2]), nevers = known.map(([, one]) => one.never);
  return {
    each: known, medians: [Math.min(...medians), Math.max(...medians)], nevers: [Math.min(...nevers), Math.max(...nevers)],
    at_start: Math.min(...known.map(([, one]) => one.at_start)), never: Math.max(...nevers),
  };
};
