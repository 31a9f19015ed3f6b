/* The controls: the question, the choices, and every assumption once, with all that can be done to it. */

/** What stands behind the page where it is served: its controls set what a file can only narrow. */
let engine = null;

const boxes = (input) => {
  const group = make("div", {}, ...input.values.map((_, i) => {
    const box = make("input", { type: "checkbox", value: i, id: `box-${i}-${input.name}` });
    box.checked = !(input.name in state.ranges) || state.ranges[input.name].includes(i);
    return make("label", { class: "tag" }, box, ` ${spelt(input, i)}`);
  }));
  group.addEventListener("change", () => {
    const chosen = [...group.querySelectorAll("input")].filter((box) => box.checked).map((box) => Number(box.value));
    if (chosen.length === 0 || chosen.length === input.values.length) delete state.ranges[input.name];
    else state.ranges[input.name] = chosen;
    if (!chosen.length) for (const box of group.querySelectorAll("input")) box.checked = true;
    changed();
  });
  return [group];
};
const slider = (input) => {
  const [low, high] = state.ranges[input.name] || [0, 100];
  const told = make("output", {}), filled = draw("rect", { y: 0, height: 6, class: "chosen" });
  const thumb = (word, value) => make("input", { type: "range", min: 0, max: 100, step: 1, value, id: `${word}-${input.name}`, "aria-label": `${input.title}: ${word}` });
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
  return [track, make("p", { class: "worth" }, told)];
};
/** What can be narrowed has a range or boxes, anything else the number that it is; what can be set has a field. */
const control = (input) => {
  const fixed = () => [make("p", { class: "worth" }, input.values.length ? spelt(input, 0) : "of all its models")];
  const parts = input.few ? boxes(input) : input.ranks ? slider(input) : fixed();
  return make("div", { class: "assumption", role: "group", "aria-label": input.title },
    make("p", { class: "named" }, make("span", {}, input.label), " ", make("span", { class: "of" }, input.of)), ...parts, engine && "unit" in input ? engine.field(input) : null);
};
/** A labelled list of values with their texts. */
const choosing = (label, id, values, value, chosen) => {
  const list = make("select", { id }, ...values.map(([each, words]) => make("option", { value: each }, words)));
  list.value = value;
  list.addEventListener("change", () => chosen(list.value));
  return make("div", { class: "field" }, make("label", { for: id }, label), list);
};
const choosingOf = (asked, dim) => {
  const choice = model.choices.get(dim), own = asked.own.includes(dim), alone = sole(choice);
  const pooled = asked.rivals.includes(dim) ? alone >= 0 ? choice.values[alone].label : "pooled by their weights" : "all, side by side";
  const values = choice.values.map((value, i) => [i, value.label]);
  return choosing(choiceLabel(dim), `choice-${dim}`, own ? values : [["", pooled], ...values.filter(([i]) => i !== alone)],
    dim in state.picks ? String(state.picks[dim]) : own ? String(firstOf(dim)) : "", (value) => {
      if (value === "" || (own && Number(value) === firstOf(dim))) delete state.picks[dim];
      else state.picks[dim] = Number(value);
      changed();
    });
};
/** Renew controls, and leave whoever types where they are. */
const keepingFocus = (renew) => {
  const { id, type, value } = document.activeElement;
  renew();
  const node = id && at(id);
  if (!node || node === document.activeElement) return;
  if (type === "text") node.value = value;
  node.focus({ preventScroll: true });
};
const controls = () => {
  const every = everyAsked(), asked = every.find((each) => each.key === state.question), select = at("question-of");
  at("steer").hidden = !every.length && !engine;
  at("question-box").hidden = every.length < 2;
  select.replaceChildren(...every.map((each) => make("option", { value: each.key }, each.short || `${clause(each, {})}${atDate(each)}`)));
  select.value = state.question;
  keepingFocus(() => {
    const dims = (asked ? asked.dims : []).filter((dim) => model.choices.get(dim).values.length > 1), every = leverNumbers();
    // levers stand in the order of the scenario, other choices behind them
    const own = data.levers.flatMap((lever) => (lever.choice ? dims.filter((dim) => dim === lever.name).map((dim) => choosingOf(asked, dim)) : every.filter(({ name }) => name === lever.name).map(leverControl)));
    const gone = every.filter(({ name }) => !data.levers.some((each) => each.name === name)).map(leverControl);
    at("lever-list").replaceChildren(...own, ...gone);
    at("lever-box").hidden = !own.length && !gone.length;
    at("choice-list").replaceChildren(...dims.filter((dim) => !data.levers.some((each) => each.name === dim)).map((dim) => choosingOf(asked, dim)));
    assumptions(asked);
  });
};
/** Every assumption: those that differ between worlds first, and what an engine can set of all others. */
const everyAssumption = () => {
  const every = new Map(model.inputs.map((each) => [each.name, each]));
  for (const each of engine ? engine.settable() : []) every.set(each.name, { ...titled(each), ...every.get(each.name), unit: each.unit });
  return [...every.values()];
};
const explainedBy = new Map();
const assumptions = (asked) => {
  const wanted = at("find").value.trim().toLowerCase(), keep = new Uint8Array(model.count).fill(1), worlds = listed(keep);
  const one = !asked ? null : numeric(asked) ? answer(asked, state.picks, worlds) : asked.kind === "rank" ? leading(asked, state.picks, worlds) : null;
  const explained = one && !one.each ? shares(one, worlds) : model.inputs.map(() => 0);
  model.inputs.forEach(({ name }, i) => explainedBy.set(name, explained[i]));
  const share = ({ name }) => explainedBy.get(name) || 0, set = ({ name }) => Boolean(engine) && engine.sets(name);
  const order = everyAssumption().sort((a, b) => share(b) - share(a)), all = at("every").getAttribute("aria-pressed") === "true";
  const shown = order.filter((input, i) => (wanted
    ? `${input.name} ${input.title}`.toLowerCase().includes(wanted)
    : all || (i < MOST_MOVES && share(input) > 0) || i < 3 || input.name in state.ranges || set(input) || (!input.of && !input.ranks)));
  at("assumption-list").replaceChildren(...shown.map(control));
  at("every").hidden = Boolean(wanted) || order.length <= 3;
  at("every").textContent = all ? "Show those that move it most" : `Show all ${order.length}`;
  at("found").textContent = wanted ? `${shown.length} of ${order.length}` : "";
};
