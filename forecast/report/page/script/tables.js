/* Tables: an answer under definitions and rivals, and the other questions. */

/** The rows of an answer: as it is picked, and under every value of each choice. */
const rowsOf = (asked, picks, told) => {
  const own = {};
  for (const dim of asked.own) own[dim] = picks[dim] ?? firstOf(dim);
  for (const dim of asked.rivals) if (sole(model.choices.get(dim)) >= 0) own[dim] = sole(model.choices.get(dim));
  for (const dim of asked.dims) if (dim in picks) own[dim] = picks[dim];
  const pools = asked.rivals.some((dim) => !(dim in own));
  const label = unique([...asked.dims.filter((dim) => dim in own).sort((a, b) => asked.own.includes(b) - asked.own.includes(a)).map((dim) => model.choices.get(dim).values[own[dim]].label), ...(pools ? ["pooled"] : [])]).join(", ") || asked.called;
  const rows = [{ label, of: "", asked, leads: true, one: told(picks) }];
  const order = [...asked.dims].sort((a, b) => asked.own.includes(b) - asked.own.includes(a));
  for (const dim of order) {
    const choice = model.choices.get(dim);
    if (choice.values.length < 2) continue;
    choice.values.forEach((value, place) => {
      if (own[dim] !== place) rows.push({ label: value.label, of: choice.label, asked, one: told({ ...picks, [dim]: place }) });
    });
  }
  return rows;
};
const place = (asked, span, log, width) => {
  const raw = log ? linear(Math.log(span[0]), Math.log(span[1]), 3, width - 3) : linear(span[0], span[1], 3, width - 3);
  return log ? (value) => (value === Infinity ? width : raw(Math.log(Math.max(value, 1e-300)))) : (value) => (value === Infinity ? width : raw(value));
};
/** What a bar shows: its middle, half of the worlds and 90 % of them. */
const barWords = (asked, one) => {
  if (!one) return "failed";
  const [middle, most] = cells(asked, one);
  if (one.each) return `medians ${middle}`;
  const half = cells(asked, { ...one, q: [one.q[1], one.q[1], one.q[2], one.q[3], one.q[3]] })[1];
  return `median ${middle}${half ? `; half of the worlds: ${half}` : ""}${most ? `; 90 %: ${most}` : ""}`;
};
const bar = (asked, one, span, log, leads) => {
  const width = 200, x = place(asked, span, log, width), parts = [];
  if (one && one.each) parts.push(draw("line", { x1: x(one.medians[0]), x2: x(one.medians[1]), y1: 8, y2: 8, class: "whole" }));
  else if (one) {
    const [a, b, c, d, e] = one.q.map(x);
    parts.push(draw("line", { x1: a, x2: e, y1: 8, y2: 8, class: "whole" }), draw("line", { x1: b, x2: Math.max(d, b + 0.01), y1: 8, y2: 8, class: leads ? "half leads" : "half" }));
    // a point of its own width, however far the drawing is stretched
    if (Number.isFinite(one.q[2])) parts.push(draw("path", { d: `M${c},8h0.01`, class: leads ? "middle leads" : "middle" }));
    if (one.q[4] === Infinity) parts.push(draw("path", { d: `M${width - 4},4L${width},8L${width - 4},12`, class: "more" }));
  }
  return rowBar(barWords(asked, one), ...parts);
};
/** The cells of a row, one a column of those that Python names. */
const cellNodes = (told) => data.columns.date.map((_, i) => make("td", {}, told[i] || ""));
const heads = (kind) => data.columns[kind].map((name) => column(name || "Note", !name));
const rowLine = (row, shape) => {
  const head = row.of ? [make("span", { class: "of" }, `${row.of} `), row.label] : [row.label];
  return make("tr", { class: row.leads ? "leads" : false }, make("th", { scope: "row" }, ...head), make("td", { class: "chart" }, shape), ...cellNodes(cells(row.asked, row.one)));
};
/** The other questions in the same worlds; while nobody looks they are not computed. */
const others = (told, titles = {}) => {
  const every = everyAsked().filter((each) => numeric(each) && each.key !== state.question && (each.kind === "date" || each.last)), box = at("other-box");
  at("others").hidden = !every.length;
  at("other-count").textContent = `(${every.length})`;
  if (!box.open) return;
  at("other-head").replaceChildren(column("What", true), column("Drawn", true, "chart"), ...heads(every.some(({ kind }) => kind === "date") ? "date" : "value"));
  at("other-body").replaceChildren(...every.map((each) => {
    const one = told(each), shape = each.kind === "date" ? bar(each, one, [data.start, data.until], false, false) : null;
    return rowLine({ label: titles[each.key] || each.short || `${clause(each, state.lever ? {} : state.picks)}${atDate(each)}`, of: "", asked: each, one }, shape);
  }));
  reachable(at("other-body"));
};
const rowTable = (asked, rows) => {
  const body = at("row-body"), dated = asked.kind === "date";
  const scaled = dated ? null : rows.flatMap((row) => (row.one ? row.one.each ? row.one.medians : [row.one.q[0], row.one.q[4]] : [])).filter(Number.isFinite);
  const span = dated ? [data.start, data.until] : [Math.min(...scaled), Math.max(...scaled)];
  const log = !dated && span[0] > 0 && span[1] / span[0] > 10;
  body.replaceChildren(...rows.map((row) => rowLine(row, bar(row.asked, row.one, span, log, row.leads))));
  reachable(body);
  const axis = dated ? `${said(span[0])} to ${said(span[1])}` : `${amount(span[0], asked.scales)} to ${amount(span[1], asked.scales)}`;
  at("row-head").replaceChildren(column("What", true), column(axis, false, "chart"), ...heads(asked.kind));
};
const column = (words, hidden, kind) => make("th", { scope: "col", class: kind || false }, hidden ? make("span", { class: "hidden" }, words) : words);
const section = (heading, columns, rows) => {
  const body = make("tbody", {}, ...rows);
  reachable(body);
  return make("section", { class: "rows" }, make("h2", {}, heading), make("table", {}, make("thead", {}, make("tr", {}, ...columns)), body));
};
