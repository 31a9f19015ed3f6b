/* Everything is drawn from the joint draws that the page carries. `lawcast.show(data)` is the one entry point: it takes
   what `forecast.report.page.page_data.answer_data` returns. Whatever a reader narrows is answered by the worlds that
   remain; nothing is computed anew and nothing is approximated beyond their number. */

const FEWEST = 200;

const drawAll = () => {
  const keep = remaining(state.ranges), worlds = listed(keep), all = Uint32Array.from({ length: model.count }, (_, w) => w);
  const asked = everyAsked().find((each) => each.key === state.question), moved = asked && movedLever();
  if (moved) { drawMoved(asked, moved); return; }
  for (const id of ["orders", "races"]) at(id).hidden = false;
  const conditions = Object.entries(state.ranges).map(([name, range]) => `${model.input.get(name).title} ${narrowed(model.input.get(name), range)}`);
  const note = at("note");
  const drawn = data.count < data.drawn ? ` (the first of ${count(data.drawn)})` : "";
  const asStated = !conditions.length && !Object.keys(state.picks).length, untouched = asStated && state.question === opening().key;
  // how many worlds there are is told below, as long as nothing is picked
  note.hidden = untouched;
  note.textContent = conditions.length ? `${count(worlds.length)} of ${count(model.count)} worlds remain${drawn}: ${conditions.join("; ")}.` : `${count(model.count)} worlds${drawn}.`;
  at("few").hidden = worlds.length >= FEWEST;
  at("few").textContent = `Fewer than ${FEWEST} worlds remain: widen an assumption, or draw more.`;
  at("count").textContent = `${count(worlds.length)} of ${count(model.count)} worlds`;
  at("reset").disabled = untouched && !(engine && engine.changed());
  const measures = asked && numeric(asked);
  at("rivals").hidden = at("answer-box").hidden = !measures;
  const now = measures && worlds.length ? answer(asked, state.picks, worlds) : null;
  // of all worlds that were drawn, where this page carries fewer
  const whole = data.count < data.drawn && worlds.length === model.count && !Object.keys(state.picks).length;
  const ranks = worlds.length ? model.orders.map((each) => ({ asked: each, found: whole ? movedOrders(each, data.stated) : orders(each, state.picks, worlds) })) : [];
  const raceOf = (each) => (whole ? movedRace(each, data.stated) : race(each, worlds)), answerOf = (each) => answer(each, state.picks, worlds);
  const told = () => asked.kind === "rank" ? rankSentence(asked, state.picks, ranks.find((each) => each.asked.name === asked.name).found)
    : asked.kind === "first" ? raceSentence(asked, raceOf(asked)) : sentence(asked, state.picks, now);
  const words = !asked || untouched ? data.sentence : worlds.length ? `${data.given}${told().slice(0, -1)}${data.changed}.` : "No world remains: what was picked never comes together.";
  const rows = measures && worlds.length ? rowsOf(asked, state.picks, (picks) => answer(asked, picks, worlds)) : [];
  layOut(words, asStated ? data.stated : null, now, worlds.length, { asked, rows, other: answerOf, ranks, races: raceOf });
  if (measures) {
    const span = answerFigure(asked, now, answer(asked, state.picks, all));
    byDate(asked, now);
    pathFigure(asked, state.picks, keep, span, now);
  } else {
    pathFigure(null, state.picks, keep, [data.start, data.until]);
  }
  const rest = untouched && data.tornado.rows.length;
  tornado(asked, now, rest ? data.tornado : now && !now.each ? moves(asked, now.fixed, now, keep, worlds) : { measure: "median", rows: [] });
};
let lawcastNow = {};
/** Lay out what is said: the sentence, what a change makes of it, and the tables. */
const layOut = (words, changes, now, worlds, tables) => {
  at("sentence").textContent = words.replaceAll(" %", "\u00a0%");
  lawcastNow = { worlds, median: now && now.q && !now.each ? now.q[2] : null, already: now && now.already, never: now && now.never,
    orders: tables.ranks.map(({ found }) => found.map(({ every }) => every.map((each) => each.first))) };
  shown = tables;
  differences(changes);
  orderTables(tables.ranks);
  races(tables.races);
  others(tables.other, tables.titles);
  if (tables.asked && numeric(tables.asked)) rowTable(tables.asked, tables.rows);
};

/** Take an answer, and draw everything; a reader's picks stay where the new answer knows them. */
const show = (given) => {
  const kept = state ? written() : location.hash.slice(1);
  data = given;
  if (engine) engine.drawn(given);
  model = unpack(given);
  state = read(kept);
  document.documentElement.classList.add("alive");
  const paths = at("path-of"), looked = model.paths.find((each) => each.name === paths.value);
  paths.replaceChildren(...[make("option", { value: "" }, "what is asked"), ...model.paths.map((each) => make("option", { value: each.name }, each.label))]);
  paths.value = looked ? looked.name : "";
  at("path-box").hidden = model.paths.length < 2;
  controls();
  drawAll();
};
globalThis.lawcast = { show, now: () => ({ ...lawcastNow }) };
/** What the page carries, as JSON; a browser that cannot unpack it leaves the page as it was printed. */
const carried = async () => {
  const packed = new Blob([bytes(at("data").textContent)]).stream();
  return new Response(packed.pipeThrough(new DecompressionStream("deflate"))).json();
};
carried().then((given) => {
  show(given);
  at("other-box").open = everyAsked().filter(numeric).length <= 6;
  at("assumption-box").open = !data.levers.length || Object.keys(state.ranges).length > 0;
  at("steer-box").open = matchMedia("(min-width: 960px)").matches;
  at("question-of").addEventListener("change", (event) => { state.question = event.target.value; at("by-year").value = ""; at("path-of").value = ""; controls(); changed(); });
  at("reset").addEventListener("click", () => { state = blank(); at("by-year").value = ""; controls(); changed(); if (engine) engine.reset(); });
  at("every").addEventListener("click", () => { at("every").setAttribute("aria-pressed", String(at("every").getAttribute("aria-pressed") !== "true")); controls(); });
  at("find").addEventListener("input", () => controls());
  at("other-box").addEventListener("toggle", () => drawAll());
  at("by-year").addEventListener("input", () => drawAll());
  at("path-of").addEventListener("change", () => drawAll());
  globalThis.addEventListener("hashchange", () => { if (location.hash.slice(1) !== written()) { state = read(location.hash.slice(1)); controls(); drawAll(); } });
  globalThis.addEventListener("resize", () => { cancelAnimationFrame(redraw); redraw = requestAnimationFrame(drawAll); });
});
