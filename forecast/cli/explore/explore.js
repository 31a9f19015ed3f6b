"use strict";
/* The controls of a page that is served: they ask the engine, and `lawcast.show` draws what it answers. One question is
   under way at a time; while it is, only the latest change waits. Text from a file is only ever the text of a node. */
(() => {
  const at = (id) => document.getElementById(id);
  const { token, library, opened: first } = JSON.parse(at("live").textContent);
  const make = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (typeof value === "function") node.addEventListener(name, value);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
    }
    node.append(...children);
    return node;
  };

  /** Milliseconds without a change after which what stands around an answer is renewed. */
  const REST = 400;
  let opened = first, asked = {}, underWay = false, waiting = null, stale = false, resting = 0;
  const blank = () => ({ scenario: opened.scenario, set: {}, swap: {}, changes: [], data: {} });
  asked = blank();

  /* --- asking ---------------------------------------------------------------------------------------------------- */

  const post = async (path, body) => {
    const answer = await fetch(path, { method: "POST", headers: { "X-Forecast-Token": token }, body });
    let told = {};
    try { told = await answer.json(); } catch { told = { error: `the program answered ${answer.status}` }; }
    if (!answer.ok) throw new Error(told.error || `the program answered ${answer.status}`);
    return told;
  };
  const say = (text, problem) => {
    at("explore-status").textContent = problem ? "" : text;
    at("explore-problem").textContent = problem ? text : "";
  };
  const attempt = async (work) => {
    try { await work(); } catch (problem) { say(problem instanceof TypeError ? "The program no longer answers: start it again." : problem.message, true); }
  };
  const redraw = async () => {
    waiting = JSON.stringify(asked);
    if (underWay) return;
    underWay = true;
    try {
      while (waiting !== null) {
        const question = waiting, begun = performance.now();
        waiting = null;
        await attempt(async () => {
          const told = await post("/answer", question);
          if (waiting !== null) return;
          lawcast.show(told.answer);
          settle();
          say(`Drawn again in ${Math.round(performance.now() - begun)} ms.${told.warnings.length ? ` ${told.warnings.join(" ")}` : ""}`);
        });
      }
    } finally { underWay = false; }
  };
  /** What stands around an answer: its ages and warnings come once nothing changes, appendices once one is opened. */
  const settle = () => {
    stale = true;
    clearTimeout(resting);
    resting = setTimeout(() => attempt(async () => {
      await renew("about", "/about");
      await opening();
    }), REST);
  };
  const renew = async (id, path) => {
    const question = JSON.stringify(asked), told = await post(path, question);
    if (question !== JSON.stringify(asked)) return false;
    // the page's own template, with all text escaped; what is parsed so runs nothing
    const parsed = new DOMParser().parseFromString(told.html, "text/html"), node = at(id);
    const opened = [...node.querySelectorAll("details")].map((each) => each.open);
    parsed.querySelectorAll("details").forEach((each, i) => { each.open = Boolean(opened[i]); });
    node.replaceChildren(...parsed.body.childNodes);
    return true;
  };
  const opening = async () => {
    if (!stale || underWay || !at("appendices").querySelector("details[open]")) return;
    stale = false;
    at("appendices").setAttribute("aria-busy", "true");
    try { stale = !await renew("appendices", "/appendices"); } catch (problem) { stale = true; throw problem; } finally { at("appendices").removeAttribute("aria-busy"); }
  };
  const put = (part, key, value) => {
    if (value === "" || value === null) delete asked[part][key];
    else asked[part][key] = value;
    redraw();
  };

  /* --- controls -------------------------------------------------------------------------------------------------- */

  const numberRow = (each) => {
    const id = `explore-${each.name}`, ends = each.log ? [Math.log(each.least), Math.log(each.most)] : [each.least, each.most];
    const value = (place) => { const x = ends[0] + (place / 1000) * (ends[1] - ends[0]); return Number((each.log ? Math.exp(x) : x).toPrecision(4)); };
    const place = (x) => 1000 * ((each.log ? Math.log(x) : x) - ends[0]) / (ends[1] - ends[0] || 1);
    const text = make("input", { type: "text", id, size: 10, inputmode: "decimal", placeholder: "as stated", autocomplete: "off" });
    const slider = make("input", { type: "range", min: 0, max: 1000, step: 1, value: Math.round(place(each.middle)), "aria-label": `${each.label} (slider)` });
    const label = make("label", { for: id }, each.label, make("span", { class: "of" }, ` ${[each.of, each.unit].filter(Boolean).join(", ")}`));
    const mark = () => { label.classList.toggle("changed", each.name in asked.set); back.hidden = !(each.name in asked.set); };
    const set = (given) => { put("set", each.name, given); mark(); };
    const back = make("button", { type: "button", hidden: true, "aria-label": `${each.label}: as stated`, click: () => { text.value = ""; slider.value = Math.round(place(each.middle)); set(""); } }, "as stated");
    slider.addEventListener("input", () => { text.value = String(value(Number(slider.value))); set(text.value); });
    text.addEventListener("change", () => { const x = Number(text.value); if (text.value && Number.isFinite(x) && (!each.log || x > 0)) slider.value = Math.round(place(x)); set(text.value.trim()); });
    return make("div", { class: "number", "data-name": `${each.name} ${each.label}`.toLowerCase() }, label, slider, text, back);
  };
  const choosing = (label, id, values, chosen) => {
    const list = make("select", { id, change: () => chosen(list.value) }, ...values.map(([value, text]) => make("option", { value }, text)));
    return make("div", { class: "field" }, make("label", { for: id }, label), list);
  };
  const box = (title, ...children) => make("details", {}, make("summary", {}, title), ...children);

  const controls = () => {
    const numbers = opened.numbers.filter((each) => each.least !== null && each.most !== null).map(numberRow);
    const find = make("input", { type: "search", id: "explore-find", autocomplete: "off", input: () => {
      for (const row of numbers) row.hidden = !row.dataset.name.includes(find.value.toLowerCase());
    } });
    const file = make("input", { type: "file", id: "explore-file", accept: ".csv,text/csv", change: () => attempt(sent) });
    const columns = make("div", {});
    const sent = async () => {
      const [chosen] = file.files;
      if (!chosen) return;
      if (chosen.size > 10000000) throw new Error("A file has at most 10 MB.");
      const name = chosen.name.replace(/[^A-Za-z0-9._-]/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(-60);
      const told = await post(`/upload?name=${encodeURIComponent(name)}`, await chosen.arrayBuffer());
      const given = { data: told.name, x: told.columns[0], y: told.columns[1] || told.columns[0], unit: opened.quantities[0].unit, shape: opened.shapes.includes("trends/pool") ? "trends/pool" : opened.shapes[0] };
      let quantity = opened.quantities[0].name;
      const unit = make("input", { type: "text", id: "explore-unit", value: given.unit, change: () => { given.unit = unit.value; } });
      const pairs = (values) => values.map((each) => [each, each]);
      columns.replaceChildren(
        choosing("stands for", "explore-quantity", pairs(opened.quantities.map((each) => each.name)), (name_) => { quantity = name_; given.unit = unit.value = opened.quantities.find((each) => each.name === name_).unit; }),
        choosing("dates", "explore-x", pairs(told.columns), (each) => { given.x = each; }),
        choosing("values", "explore-y", pairs([given.y, ...told.columns.filter((each) => each !== given.y)]), (each) => { given.y = each; }),
        make("div", { class: "field" }, make("label", { for: "explore-unit" }, "in"), unit),
        choosing("grows as", "explore-shape", pairs([given.shape, ...opened.shapes.filter((each) => each !== given.shape)]), (each) => { given.shape = each; }),
        make("button", { type: "button", click: () => put("data", quantity, { ...given }) }, "Use it"), " ",
        make("button", { type: "button", click: () => put("data", quantity, null) }, "Do without it"),
      );
      say(`${told.name} has ${told.columns.length} columns.`);
    };
    const toml = make("textarea", { id: "explore-toml", spellcheck: "false", "aria-label": "Edit the scenario, as TOML" });
    toml.value = opened.toml;
    at("explore").replaceChildren(
      make("div", { class: "field" }, make("label", { for: "explore-scenario" }, "Scenario"), (() => {
        const list = make("select", { id: "explore-scenario", change: () => attempt(() => open({ scenario: list.value })) }, ...library.map((each) => make("option", { value: each.name, selected: each.name === opened.scenario }, each.title)));
        return list;
      })(), make("button", { type: "button", id: "explore-reset", click: () => { asked = blank(); controls(); redraw(); } }, "Reset")),
      box(`Numbers (${numbers.length}), beyond what is sampled too`, make("div", { class: "field" }, make("label", { for: "explore-find" }, "Find one"), find), ...numbers),
      box("Choices", ...Object.entries(opened.choices).map(([name, values]) => choosing(name, `explore-choice-${name}`, [["", "all"], ...values.map((each) => [each, each])], (each) => put("set", name, each)))),
      box("Models", ...opened.models.map((each) => choosing(each.name, `explore-model-${each.name}`, [["", "as stated"], ...each.offered.map((name) => [name, name])], (chosen) => put("swap", each.name, chosen)))),
      box("Your data", make("div", { class: "field" }, make("label", { for: "explore-file" }, "A CSV file, up to 10 MB"), file), columns),
      box("The scenario as text", toml, make("button", { type: "button", click: () => attempt(() => open({ scenario: opened.scenario, toml: toml.value })) }, "Use this text")),
      make("p", { role: "status", id: "explore-status", class: "quiet" }),
      make("p", { role: "alert", id: "explore-problem" }),
    );
  };
  const open = async (what) => {
    const told = await post("/scenario", JSON.stringify(what));
    opened = told;
    asked = { ...blank(), ...(what.toml ? { toml: what.toml } : {}) };
    document.querySelector("h1").textContent = document.title = told.title;
    controls();
    await redraw();
  };
  // a toggle does not bubble
  at("appendices").addEventListener("toggle", () => attempt(opening), true);
  controls();
})();
