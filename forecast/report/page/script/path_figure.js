/* Quantities over time. */

const fan = (path, picks, keep) => {
  const fixed = {};
  for (const dim of path.dims) {
    const choice = model.choices.get(dim);
    if (dim in picks) fixed[dim] = picks[dim];
    else if (choice.kind !== "rival") fixed[dim] = firstOf(dim);
  }
  const place = placing(path, fixed), steps = path.times.length, worlds = listed(keep), weights = weighed(fixed, worlds);
  return path.times.map((year, t) => {
    const values = new Float64Array(worlds.length);
    for (let i = 0; i < worlds.length; i++) {
      const cell = place(worlds[i]) * steps + t;
      values[i] = decoded(path, path.codes[path.cells[cell] * model.count + worlds[i]], cell);
    }
    return [year, quantiles(values, weights, "value")];
  }).filter(([, q]) => q);
};
/** The fitted past of a quantity under these choices: that of all worlds, and of no other rival than was fitted. */
const pastOf = (path, picks, keep) => {
  const other = (dim) => { const choice = model.choices.get(dim); return choice.kind === "rival" && dim in picks && picks[dim] !== sole(choice); };
  if (!keep.every((each) => each) || path.dims.some(other)) return [];
  return path.past.filter(([, , of]) => Object.entries(of).every(([dim, name]) => {
    const choice = model.choices.get(dim), one = dim in picks ? picks[dim] : choice.kind === "rival" ? sole(choice) : firstOf(dim);
    return one >= 0 && choice.values[one].name === name;
  }));
};
const pathFigure = (asked, picks, keep, span, now) => {
  const section = at("paths"), select = at("path-of");
  section.hidden = !model.paths.length;
  if (section.hidden) return;
  const sides = model.paths.filter((each) => asked && (asked.sides || []).includes(each.name));
  const first = model.paths.find((each) => each.name === select.value) || sides[0] || model.paths[0];
  const together = [first, ...sides.filter((each) => sides.includes(first) && each !== first && each.factor && first.factor && each.dimension === first.dimension)];
  const series = together.map((path) => ({ path, scale: path === first ? 1 : path.factor / first.factor, fan: fan(path, picks, keep), past: pastOf(path, picks, keep) })).filter((each) => each.fan.length);
  const node = at("live-paths"), width = widthOf(node), height = 300, left = 64, right = width - 18, top = 26, bottom = height - 30;
  if (!series.length) { node.replaceChildren(make("p", {}, "It failed in these worlds.")); return; }
  const points = first.points.filter(([, , of]) => Object.entries(of).every(([dim, name]) => {
    const choice = model.choices.get(dim);
    return !choice || choice.values[picks[dim] ?? firstOf(dim)].name === name;
  }));
  const moving = series.some((each) => each.fan.length > 1);
  const until = moving && asked && asked.kind === "date" && sides.includes(first) ? Math.max(span[1], data.start + 1) : data.until;
  const seen = points.map(([year]) => year);
  const from = Math.min(data.start, ...(seen.length ? [Math.max(Math.min(...seen), data.start - Math.max(until - data.start, 8))] : []));
  const log = first.log && series.every((each) => each.path.log);
  const heights = [];
  for (const { fan: each, scale } of series) {
    const among = each.filter(([year], t) => year <= until || (t > 0 && each[t - 1][0] < until) || each.length === 1);
    for (const [, q] of among) heights.push(q[0] * scale, q[4] * scale);
  }
  for (const [year, value] of points) if (year >= from) heights.push(value);
  const goal = asked && asked.threshold && asked.threshold.of === first.name ? asked.threshold : null, threshold = goal && goal.value;
  if (threshold !== null) heights.push(threshold);
  const known = heights.filter((each) => Number.isFinite(each) && (!log || each > 0));
  let low = Math.min(...known), high = Math.max(...known);
  if (log) { low /= 1.5; high *= 3; } else { const room = (high - low || Math.abs(high) || 1) * 0.06; low -= room; high += room; }
  // what lies beyond an axis is cut off, not bent to its edge
  const x = (year) => left + ((year - from) / (until - from || 1)) * (right - left);
  const scaled = log ? (value) => Math.log(Math.max(value, 1e-300)) : (value) => value;
  const y = (value) => bottom + Math.min(Math.max((scaled(value) - scaled(low)) / (scaled(high) - scaled(low)), -9), 9) * (top - bottom);
  const parts = [];
  // the unit of the sentence: that of the number which is to be reached, or of the value that is asked for
  const told = now && !now.each && asked.kind === "value" && asked.unit === first.unit && sides.length === 1 ? now.q[2] : null;
  const middle = threshold ? threshold : told ? told : log ? Math.sqrt(low * high) : Math.max(Math.abs(low), Math.abs(high)) / 2;
  const scales = goal ? goal.scales : first.scales, as = goal ? goal.factor : 1;
  const [, sized, called] = scaleOf(middle * as, scales), factor = sized / as;
  const ticks = (log ? logs : nice)(low / factor, high / factor, 6).filter((each) => each * factor >= low && each * factor <= high);
  for (const tick of ticks) {
    parts.push(draw("line", { x1: left, x2: right, y1: y(tick * factor), y2: y(tick * factor), class: "grid" }));
    parts.push(text(left - 6, y(tick * factor) + 4, plain(tick), { class: "tick", "text-anchor": "end" }));
  }
  if (called) parts.push(text(4, 14, called, { class: "unit" }));
  for (const [tick, words] of dated(from, until - ((until - from) * 8) / (right - left), right - left)) {
    parts.push(draw("line", { x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4, class: "axis" }));
    parts.push(text(x(tick), bottom + 17, words, { class: "tick", "text-anchor": "middle" }));
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
    const words = `threshold ${plain(threshold / factor, 4)} ${called}`.trim();
    parts.push(draw("line", { x1: left, x2: right, y1: y(threshold), y2: y(threshold), class: "threshold" }));
    parts.push(text(right - 4, y(threshold) - 5, words, { class: "mark", "text-anchor": "end" }));
  }
  const drawn = picture(width, height, `${first.label} over time: median, 50 and 90 % of the worlds that remain`, ...parts);
  node.replaceChildren(drawn);
  const inside = ([year]) => year >= from && year <= until;
  pointer(drawn, { left, right, top, bottom, at: (place) => {
    const year = from + ((place - left) / (right - left)) * (until - from);
    const near = (rows) => rows.filter(inside).reduce((best, row) => (!best || Math.abs(row[0] - year) < Math.abs(best[0] - year) ? row : best), null);
    const rows = series.map(({ path, scale, fan: own, past }) => ({ path, scale, row: own.length > 1 || past.length ? near([...past, ...own]) : [year, own[0][1]] })).filter(({ row }) => row);
    const dot = near(points), apart = (row) => (row ? Math.abs(row[0] - year) : Infinity), seen2 = dot ? [`data: ${plain(dot[1] / factor)} ${called}`.trim()] : [];
    if (dot && apart(dot) < apart(rows.length ? rows[0].row : null)) return { x: x(dot[0]), lines: [said(dot[0], true), ...seen2], dots: [y(dot[1])] };
    if (!rows.length) return null;
    const lines = rows.map(({ path, scale, row: [, q] }) => {
      const fixed = q[0] === q[4], [low2, , middle2, , high2] = q.map((each) => plain((each * scale) / factor, fixed ? 4 : undefined));
      return `${series.length > 1 ? `${path.label}: ` : ""}${middle2}${fixed ? "" : ` (${low2} to ${high2})`}${called ? ` ${called}` : ""}`;
    });
    return { x: x(rows[0].row[0]), lines: [said(rows[0].row[0], until - from < 15), ...lines, ...(apart(dot) === apart(rows[0].row) ? seen2 : [])], dots: rows.map(({ scale, row: [, q] }) => y(q[2] * scale)) };
  } });
  const key = at("key-paths");
  key.replaceChildren(...series.flatMap(({ path }, i) => [make("span", { class: `swatch line-${i}` }), make("span", {}, path.label)]),
    make("span", { class: "quiet" }, `median, 50 and 90 % of worlds${series.some(({ past }) => past.length) ? "; thin line: fitted past" : ""}${points.length ? "; dots: data" : ""}`));
};
