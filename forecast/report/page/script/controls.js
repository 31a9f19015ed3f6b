/* The controls: the question, the choices, and every assumption. */

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
