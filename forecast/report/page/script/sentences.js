/* The texts of an answer. */

/** The first and the last step by their months, as a year alone would be any day of it; in a row the last's year. */
const spanTexts = (short) => ({ start: said(data.start, true, short), until: said(data.until, !short) });

const date = (one, year, level, fine, short) => say(short ? "date_in_row" : "date",
  { never: year === Infinity, already: short && year !== Infinity && one.already >= level, at_start: year <= data.start },
  { ...spanTexts(short), date: said(year, fine, short) });
/** The value of a definition while none is picked: what is first in the ranking that opens the page, or the first one. */
const firstOf = (dim) => data.winners[dim] ?? 0;
/** The place of the definitions that are picked, or else of the first ones. */
const defined = (asked, picks) => {
  const sizes = asked.own.map((dim) => model.choices.get(dim).values.length);
  return asked.own.reduce((sum, dim, i) => sum * sizes[i] + (picks[dim] ?? firstOf(dim)), 0);
};
const clause = (asked, picks) => asked.said[defined(asked, picks)];
/** A sentence of the scenario's author with its slots filled; a part in brackets that holds an idle slot is left out. */
const filled = (authored, texts, idle) => authored
  .replace(/\[([^[\]]*)\]/g, (_, part) => ([...part.matchAll(/\{([^{}]*)\}/g)].some(([, slot]) => idle.includes(slot)) ? "" : part))
  .replace(/\{([^{}]*)\}/g, (brace, slot) => (slot in texts ? texts[slot] : brace))
  .replace(new RegExp(data.patterns.spoken_with_a_vowel, "g"), "$1n ");
/** What is known today of what is asked, and the sentences that the scenario's author wrote for it. */
const authoredOf = (asked, picks) => ({ sentences: {}, now: {}, observed: null, ...(asked.authored ? asked.authored[defined(asked, picks)] : {}) });
const over = (asked, picks) => {
  const weighedRivals = asked.rivals.filter((d) => !(d in picks) && model.choices.get(d).weights.filter((w) => w > 0).length > 1);
  return say("pooled", { none: !weighedRivals.length }, { choices: weighedRivals.map((d) => model.choices.get(d).label).join(" and ") });
};
const sentence = (asked, picks, one) => {
  const what = clause(asked, picks);
  const others = asked.dims.filter((d) => d in picks && !asked.own.includes(d))
    .map((d) => `${model.choices.get(d).label}: ${model.choices.get(d).values[picks[d]].label}`);
  const texts = { what, What: capital(what), given: others.length ? ` (${others.join(", ")})` : "", pooled: over(asked, picks) };
  return `${asked.kind === "value" ? valueText(asked, picks, one, texts) : dateText(asked, picks, one, texts)}.`;
};
// the date of a value behind its clause; of what stays as it is, none
const atDate = (asked) => (asked.undated ? "" : `, ${asked.on}`);
const valueText = (asked, picks, one, texts) => {
  const on = asked.on, same = one && !one.each && one.q[0] === one.q[4];
  const flags = { failed: !one, several: one && one.each, same, bounded: same && asked.bounded, undated: asked.undated };
  if (!one) return capital(say("value", flags, { ...texts, on }));
  if (one.each) return capital(say("value", flags, { ...texts, on, medians: range(one.medians.map((m) => amount(m, asked.scales))), count: one.each.length }));
  const median = amount(one.q[2], asked.scales), [low, high] = amount_range(one.q[0], one.q[4], asked.scales, one.q[2]);
  const { sentences, now, observed } = authoredOf(asked, picks), own = sentences[flags.same ? "point" : "value"];
  if (own) {
    const ratio = observed && one.q[2] / observed > 0 ? { ratio: plain(one.q[2] / observed) } : {};
    const told = { on, value: median, low, high, interval: interval(one.q[0], one.q[4], low, high), ...ratio, ...now };
    return `${filled(own, told, ["now", "now_date", "ratio"].filter((slot) => !(slot in told)))}${texts.given}`;
  }
  return capital(say("value", flags, { ...texts, on, low, median, high }));
};
const dateText = (asked, picks, one, texts) => {
  const { start, until } = spanTexts();
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
  const [low, , median, , high] = one.q, fine = narrow(low, high), by = percent(1 - one.never), already = percent(one.at_start);
  const told = {
    ...texts, until, start, by, already, never: percent(one.never), low: date(one, low, 0.05, fine), high: date(one, high, 0.95, fine),
    low_month: said(low, true), low_year: said(low), median: said(median, fine),
  };
  const certain = low === high && ((low !== Infinity && one.at_start < 0.5) || data.certain), hardly = one.never < data.patterns.hardly;
  const kind = certain ? (low === Infinity ? "point_never" : "point") : one.at_start >= 0.5 ? "already" : median === Infinity ? "never" : "date";
  const { sentences, now } = authoredOf(asked, picks);
  if (sentences[kind]) {
    const all = { ...told, interval: say("interval", {}, { low: told.low, high: told.high }), ...now };
    return `${filled(sentences[kind], all, [...(hardly ? ["never"] : []), ...["now", "now_date"].filter((slot) => !(slot in now))])}${texts.given}`;
  }
  return say("when", {
    same: low === high, dated: one.never === 0, certain: certain && low === Infinity, never_low: low === Infinity, never_median: median === Infinity, never_hardly: hardly,
    already: one.already === 1 && data.observed, already_some: one.at_start >= 0.05, already_half: one.at_start >= 0.5, already_most: one.at_start >= 0.95, already_all: by === already,
  }, told);
};
/** Who is best, and where: combinations of choices that have the same best one are said together. */
const rankSentence = (asked, picks, found) => {
  const own = authoredRanking(asked, found[0]);
  if (own) return `${own}.`;
  const alike = new Map();
  for (const each of found) alike.set(each.best ? each.best.place : -1, [...(alike.get(each.best ? each.best.place : -1) || []), each]);
  const groups = [...alike.values()], alone = groups.length === 1;
  const told = groups.slice(0, data.most_said).map((own) => bestSentence(asked, picks, own, alone));
  const left = groups.slice(data.most_said).reduce((sum, own) => sum + own.length, 0);
  return `${say("rank", { more: left > 0 }, { What: capital(found[0].title), best: told.join("; "), left })}.`;
};
/** Who is best under the first combination of choices, where the scenario's author wrote a sentence for it. */
const authoredRanking = (asked, { best, every, order, left = 0, tied, seldom, sentences = {}, own: parts = {} }) => {
  const first = [...order].sort((a, b) => b.first - a.first);
  const own = sentences[!best ? "none" : order.every((each) => each.q[0] === each.q[4]) ? "point" : best.first >= data.clear || order.length < 2 ? "winner" : "tie"];
  if (!own) return "";
  const texts = { n: String(first.length + left || every.length), conditions: asked.meets, tier: tied > 1 ? String(tied) : "", p_others: seldom >= data.seldom ? percent(seldom) : "" };
  ["first", "second"].forEach((place, i) => { if (first[i]) Object.assign(texts, { [place]: first[i].label, [`p_${place}`]: percent(first[i].first) }); });
  for (const slot of Object.keys(parts)) if (first[slot.endsWith("first") ? 0 : 1]) texts[slot] = parts[slot][first[slot.endsWith("first") ? 0 : 1].place];
  if (first.length) {
    const [low, , middle, , high] = first[0].q;
    Object.assign(texts, { value: amount(middle, asked.amounts), interval: interval(low, high, ...amount_range(low, high, asked.amounts, middle)) });
  }
  return filled(own, texts, asked.slots.filter((slot) => !texts[slot]));
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
  if (!found) return `${say("first", { failed: true }, { What: capital(asked.title), reason: "failed" })}.`;
  const order = asked.labels.map((label, i) => [label, found.shares[i]]), last = order.splice(-2);
  const told = [...order.sort((a, b) => b[1] - a[1]), ...last.filter(([, share], i) => i || share >= data.patterns.hardly)]
    .map(([label, share]) => say("share", {}, { label, percent: percent(share) }));
  return `${say("first", {}, { What: capital(found.title), given: found.given ? ` (${found.given})` : "", until: spanTexts().until, shares: told.join(", ") })}.`;
};
const interval = (low, high, begin, end) => say("interval", { same: low === high, same_text: begin === end }, { low: begin, high: end });
const cells = (asked, one) => {
  if (!one) return ["failed"];
  if (asked.kind === "value") {
    if (one.each) return [range(amount_range(...one.medians, asked.scales))];
    const ends = amount_range(one.q[0], one.q[4], asked.scales, one.q[2]);
    return [amount(one.q[2], asked.scales), interval(one.q[0], one.q[4], ...ends)];
  }
  const fine = one.each ? short_span() : narrow(one.q[0], one.q[4]), text = (year, level) => date(one, year, level, fine, true);
  if (one.each) return [range(one.medians.map((year) => text(year, 0.5))), "", range(one.nevers.map(percent))];
  return [text(one.q[2], 0.5), interval(one.q[0], one.q[4], text(one.q[0], 0.05), text(one.q[4], 0.95)), certain(one) ? "" : percent(one.never)];
};
/** Whether all worlds give one date because nothing that differs between them moves it. */
const certain = ({ q, never }) => q[0] === q[4] && [0, 1].includes(never) && ((q[0] > data.start && q[0] < Infinity) || !model.inputs.length);
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
