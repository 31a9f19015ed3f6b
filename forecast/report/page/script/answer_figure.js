/* The figure of the answer: how likely it is by each date, or up to each value. */

const LINES = ["line-0", "line-1", "line-2", "line-3", "line-4", "line-5", "line-6"];

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
  // beside the axis stand the words of what is already so and what never is
  const apart = ((to - from) * 5) / (right - left);
  const ticks = dates ? dated(from + apart, to - apart, right - left)
    : (log ? logs : nice)(from / factor, to / factor, 6).map((each) => [each * factor, plain(each)]);
  for (const [tick, words] of ticks) {
    parts.push(draw("line", { x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4, class: "axis" }));
    parts.push(text(x(tick), bottom + 17, words, { class: "tick", "text-anchor": "middle" }));
  }
  if (called) parts.push(text((left + right) / 2, bottom + 32, called, { class: "unit", "text-anchor": "middle" }));
  const narrowedNow = Object.keys(state.ranges).length > 0 || Boolean(state.lever);
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
        const below = word === "never" ? data.columns.date[2].split(/ (?=\d)/) : [word];
        below.forEach((line, i) => parts.push(text(at0 + 18, bottom + 17 + 13 * i, line, { class: "tick", "text-anchor": "middle" })));
        parts.push(text(at0 + 18, top - 5, percent(word === "already" ? now.already : now.never).replace("under ", "<").replace("over ", ">"), { class: "mark", "text-anchor": "middle" }));
      }
    }
  }
  const told = now ? sentence(asked, state.picks, now) : "no answer";
  const drawn = picture(width, height, told, ...parts), curves = ones.map(([fixed, one]) => [fixed, reached(one)]);
  node.replaceChildren(drawn);
  const back = (place) => { const share = (place - left) / (right - left); return log ? Math.exp(Math.log(from) + share * Math.log(to / from)) : from + share * (to - from); };
  pointer(drawn, { left, right, top, bottom, at: (place) => {
    const value = back(place), shares = curves.map(([, points]) => points.reduce((sum, [each, share]) => (each <= value ? share : sum), 0));
    const named = curves.map(([fixed]) => (curves.length > 1 ? `${Object.entries(fixed).filter(([d]) => !(d in state.picks) && !asked.own.includes(d)).map(([d, v]) => model.choices.get(d).values[v].label).join(", ")}: ` : ""));
    if (!curves.length) return null;
    return { x: place, lines: [dates ? `by ${said(value, to - from < 15)}` : `up to ${amount(value, asked.scales)}`, ...shares.map((share, i) => `${named[i]}${percent(share)}`)], dots: shares.map(y) };
  } });
  const key = at("key-answer");
  key.replaceChildren();
  if (ones.length > 1) {
    ones.forEach(([fixed], i) => {
      const named = Object.entries(fixed).filter(([d]) => !(d in state.picks) && !asked.own.includes(d)).map(([d, v]) => model.choices.get(d).values[v].label);
      key.append(make("span", { class: `swatch ${LINES[i]}` }), make("span", {}, named.join(", ")));
    });
    if (now.each.length > ones.length) key.append(make("span", {}, `and ${now.each.length - ones.length} more`));
  } else if (narrowedNow) {
    key.append(make("span", { class: "swatch line-0" }), make("span", {}, state.lever ? "with the lever moved" : "worlds that remain"),
      make("span", { class: "swatch before" }), make("span", {}, state.lever ? "as stated" : "all worlds"));
  }
  at("title-answer").textContent = dates ? "How likely it is by each date" : `How likely it is up to each value${atDate(asked)}`;
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
