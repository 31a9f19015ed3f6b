/* Levers: numbers that a page carries at several places each, one moved at a time; an engine sets them for real. */

/** An answer as a page carries it without its worlds: one distribution, or the range of several medians. */
const unpacked = (told, asked) => {
  if (!told) return null;
  const far = farther(asked);
  if (Array.isArray(told)) return { q: told[0].map(far), never: told[1] || 0, already: told[2] || 0, at_start: told[3] || 0 };
  return { ...told, medians: told.medians.map(far) };
};
/** Dates are carried as years from the start; what never comes has none. */
const farther = (asked) => (value) => (value === null ? Infinity : asked.kind === "date" ? data.start + value : value);
/** The answer as Python has derived it: under its own definitions; that of the sentence under a value of one choice too. */
const carriedAnswer = (from, asked, picks) => {
  const picked = asked.dims.filter((dim) => dim in picks && !(asked.own.includes(dim) && picks[dim] === firstOf(dim)));
  if (!picked.length) return unpacked(from.answers[keyOf(asked)], asked);
  const rows = keyOf(asked) === opening().key ? from.rows[picked[0]] : null;
  return picked.length === 1 && rows ? unpacked(rows[picks[picked[0]]], asked) : null;
};

/** The levers that are numbers, and where one of them stands: a place among its stops, or null as it is stated. */
const leverNumbers = () => (engine ? engine.levers() : data.levers).filter((each) => each.stops && (engine || each.answers));
const leverPlace = (lever) => {
  if (engine) return engine.place(lever);
  return state.lever && state.lever[0] === lever.name ? state.lever[1] : null;
};
const moveLever = (lever, place) => {
  const stop = place === null ? {} : lever.stops[place];
  if (engine) engine.move(lever, stop);
  else { state.lever = stop.value ? [lever.name, place] : null; changed(); }
};
/** The lever that is moved in this file, with what is carried there; null where none is. */
const movedLever = () => {
  const lever = state.lever && data.levers.find((each) => each.name === state.lever[0]);
  return lever ? { lever, stop: lever.stops[state.lever[1]], told: lever.answers[state.lever[1]] } : null;
};
const leverControl = (lever) => {
  const own = make("input", { type: "range", min: 0, max: lever.stops.length - 1, step: 1, id: `lever-${lever.name}`, "aria-label": lever.label });
  const told = make("output", { for: own.id }), back = make("button", { type: "button", "aria-label": `${lever.label}: as stated` }, "as stated");
  const update = (place) => {
    const at1 = place === null ? lever.at : place, free = place !== null && !lever.stops[place];
    if (!free) own.value = at1;
    const moved = place !== null && (free || Boolean(lever.stops[place].value));
    told.textContent = free ? engine.told(lever) : moved ? lever.stops[place].label : `${lever.stated || "its models"}, as stated`;
    own.setAttribute("aria-valuetext", told.textContent);
    back.hidden = !moved;
  };
  // an engine is asked once it is let go: its answer renews these controls
  own.addEventListener("input", () => { update(Number(own.value)); if (!engine) letGo(lever); });
  const letGo = () => { keepOne(lever); moveLever(lever, Number(own.value)); };
  if (engine) own.addEventListener("change", letGo);
  back.addEventListener("click", () => { update(null); own.focus(); moveLever(lever, null); });
  update(leverPlace(lever));
  return make("div", { class: "assumption lever", role: "group", "aria-label": lever.label },
    make("p", { class: "named" }, lever.label), own, make("p", { class: "worth" }, told, " ", back), lever.about ? make("p", { class: "quiet" }, lever.about) : null);
};
/** A file carries one lever at a time: the one that was moved before goes back. */
const keepOne = (lever) => {
  if (engine || !state.lever || state.lever[0] === lever.name) return;
  const before = at(`lever-${state.lever[0]}`);
  state.lever = null;
  if (before) before.closest(".lever").replaceWith(leverControl(data.levers.find((each) => `lever-${each.name}` === before.id)));
};

/* What the page shows where a lever is moved. */

/** An answer with the curve that is carried of it, which stands for as many worlds as it has points. */
const withCurve = (asked, told) => {
  const one = carriedAnswer(told, asked, {});
  if (!one || one.medians || keyOf(asked) !== opening().key || !told.curve.length) return null;
  return { ...one, values: Float64Array.from(told.curve, farther(asked)), weights: null };
};
const asRow = (one) => (one && one.medians ? { ...one, each: Array(one.count).fill([{}, null]) } : one);
const movedRows = (asked, told) => {
  const opens = keyOf(asked) === opening().key, left = (dims) => dims.filter((dim) => !opens || dim in told.rows);
  // a choice of what is set is no choice any more
  const rows = rowsOf({ ...asked, ...Object.fromEntries(["dims", "own", "rivals"].map((key) => [key, left(asked[key])])) }, {}, (picks) => asRow(carriedAnswer(told, asked, picks)));
  return opens ? rows : rows.slice(0, 1);
};
const movedOrders = (asked, told) => {
  const values = model.choices.get(asked.over).values;
  return told.orders[asked.name].map(({ at: fixed, rows, best, seldom }) => {
    const order = rows.map(([place, first, q, tier]) => ({ place, label: values[place].label, first, among: 1, q, tier }));
    const cell = asked.dims.reduce((sum, dim) => sum + asked.strides[dim] * fixed[dim], 0), leads = order.find((each) => each.place === best) || null;
    return { title: asked.said[cell], given: asked.given[cell], fixed, every: values.map((_, place) => ({ place, first: (order.find((each) => each.place === place) || { first: 0 }).first })), order, best: leads, seldom, tied: order.filter(({ tier }) => tier === 1).length, second: order.find((each) => each !== leads) };
  }).filter(({ fixed }) => asked.dims.every((dim) => !(dim in state.picks) || state.picks[dim] === fixed[dim]));
};
const movedRace = (each, told) => {
  const shares = told.firsts[each.name], now = race(each, Uint32Array.from({ length: model.count }, (_, w) => w));
  return shares && now ? { ...now, shares } : null;
};
/** What else was changed, for which a file carries no answer together with a lever; rankings have all their choices. */
const besides = () => {
  const ranks = everyAsked().every((each) => each.kind === "rank");
  return [...Object.keys(state.ranges).map((name) => model.input.get(name).title), ...(ranks ? [] : Object.keys(state.picks).map((dim) => choiceLabel(dim)))];
};
const choiceLabel = (dim) => { const lever = data.levers.find((each) => each.choice && each.name === dim); return lever ? lever.label : model.choices.get(dim).label; };

/** What a change makes of each question, as Python has derived it; nothing where none is carried. */
const differences = (told) => {
  const { changes, unmoved } = told || { changes: [], unmoved: [] };
  at("changes").hidden = !changes.length && !unmoved.length;
  at("change-body").replaceChildren(...changes.map(([label, ...cells2]) => make("tr", {}, make("th", { scope: "row" }, label), ...cells2.map((each) => make("td", {}, each)))));
  at("change-body").closest("table").hidden = !changes.length;
  at("unmoved").textContent = unmoved.length ? `Not moved: ${unmoved.join("; ")}.` : "";
};

const drawMoved = (asked, { lever, stop, told }) => {
  const others2 = besides(), known = told && typeof told === "object" && !others2.length, measures = known && numeric(asked);
  const where = `${lever.label}: ${stop.label}${lever.stated ? ` instead of ${lever.stated}` : ""}`;
  at("note").textContent = known ? `${where}. Of ${count(data.moved_draws)} worlds, with this lever moved alone; figures over time and what moves it are of the answer as stated.` : `${where}.`;
  at("note").hidden = false;
  at("few").textContent = typeof told === "string" ? told : "";
  at("few").hidden = !at("few").textContent;
  at("count").textContent = others2.length ? `${1 + others2.length} moved` : "1 lever moved";
  at("reset").disabled = false;
  const result = !known ? null : measures ? carriedAnswer(told, asked, {}) : null;
  const own = asked.key === opening().key && !Object.keys(state.picks).length;
  const orders2 = known ? model.orders.map((each) => ({ asked: each, found: movedOrders(each, told) })) : [];
  const renamed = known && told.titles[asked.key] ? { ...asked, said: asked.said && asked.said.map(() => told.titles[asked.key]) } : asked;
  const words = !known ? typeof told === "string" ? "It cannot stand there." : `Moved together with ${others2.join(" and ")} it takes the engine: put one back, or open this scenario in forecast explore.`
    : own ? told.sentence : `${data.given}${(asked.kind === "rank" ? rankSentence(asked, state.picks, orders2.find((each) => each.asked.name === asked.name).found)
      : asked.kind === "first" ? raceSentence(asked, movedRace(asked, told)) : sentence(renamed, {}, asRow(result))).slice(0, -1)}${told.changed}.`;
  const curve = measures ? withCurve(asked, told) : null, all = Uint32Array.from({ length: model.count }, (_, w) => w);
  at("paths").hidden = at("moves").hidden = true;
  at("answer-box").hidden = !curve;
  at("rivals").hidden = !measures;
  for (const id of ["orders", "races", "others"]) at(id).hidden = !known;
  layOut(words, known ? told : null, result, known ? data.moved_draws : 0, { asked, rows: measures ? movedRows(asked, told) : [], ranks: orders2,
    other: (each) => (known ? asRow(carriedAnswer(told, each, {})) : null), races: (each) => (known ? movedRace(each, told) : null), titles: known ? told.titles : {} });
  if (curve) { answerFigure(asked, curve, answer(asked, {}, all)); byDate(asked, curve); }
};
