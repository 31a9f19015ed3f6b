/* The engine behind a page that is served: what is set, swapped, uploaded or edited is asked of it, and `show` draws what
   it answers. One question is under way at a time; while it is, only the latest waits. */
engine = (() => {
  /** Milliseconds without a change after which what stands around an answer is renewed. */
  const REST = 400, MOST_BYTES = 10000000;
  const { token, library, shapes, ...first } = JSON.parse(at("engine").textContent);
  const unchanged = (name) => ({ scenario: name, set: {}, swap: {}, changes: [], data: {} });
  let { scenario, settable } = first, levers = [], question = unchanged(scenario.name), file = "";
  let underWay = false, waiting = null, stale = false, resting = 0;

  const post = async (path, body) => {
    const answered = await fetch(path, { method: "POST", headers: { "X-Forecast-Token": token }, body });
    let told = {};
    try { told = await answered.json(); } catch { told = { error: `the program answered ${answered.status}` }; }
    if (!answered.ok) throw new Error(told.error || `the program answered ${answered.status}`);
    return told;
  };
  const tell = (words, problem) => {
    at("engine-status").textContent = problem ? "" : words;
    at("engine-problem").textContent = problem ? words : "";
  };
  const attempt = async (work) => {
    try { await work(); } catch (problem) { tell(problem instanceof TypeError ? "The program no longer answers: start it again." : problem.message, true); }
  };
  const ask = async () => {
    waiting = JSON.stringify(question);
    if (underWay) return;
    underWay = true;
    while (waiting !== null) {
      const body = waiting, begun = performance.now();
      waiting = null;
      await attempt(async () => {
        const told = await post("/answer", body);
        if (waiting !== null) return;
        settable = told.settable;
        show(told.answer);
        settle();
        tell(`Drawn again in ${Math.round(performance.now() - begun)} ms.${told.warnings.length ? ` ${told.warnings.join(" ")}` : ""}`);
      });
    }
    underWay = false;
  };
  const change = (part, key, value) => {
    if (value === "" || value === null) delete question[part][key];
    else question[part][key] = value;
    ask();
  };

  /** What stands around an answer: its ages and warnings come once nothing changes, appendices once one is opened. */
  const settle = () => {
    stale = true;
    clearTimeout(resting);
    resting = setTimeout(() => attempt(async () => {
      await renew("about", "/about");
      await appendices();
    }), REST);
  };
  const renew = async (id, path) => {
    const body = JSON.stringify(question), told = await post(path, body);
    if (body !== JSON.stringify(question)) return false;
    // the page's own template, with all text escaped; what is parsed so runs nothing
    const parsed = new DOMParser().parseFromString(told.html, "text/html"), node = at(id);
    const open = [...node.querySelectorAll("details")].map((each) => each.open);
    parsed.querySelectorAll("details").forEach((each, i) => { each.open = Boolean(open[i]); });
    node.replaceChildren(...parsed.body.childNodes);
    return true;
  };
  const appendices = async () => {
    if (!stale || underWay || !at("appendices").querySelector("details[open]")) return;
    stale = false;
    at("appendices").setAttribute("aria-busy", "true");
    try { stale = !await renew("appendices", "/appendices"); } catch (problem) { stale = true; throw problem; } finally { at("appendices").removeAttribute("aria-busy"); }
  };

  /** Where a lever stands: null as it is stated, -1 where it is set to something between its stops. */
  const ofLever = (lever) => (change2) => lever.stops.some((stop) => stop.change === change2);
  const place = (lever) => {
    const set = lever.changes ? question.changes.find(ofLever(lever)) : question.set[lever.name];
    return set === undefined ? null : lever.stops.findIndex((stop) => (lever.changes ? stop.change : stop.value) === set);
  };
  const move = (lever, stop) => {
    if (!lever.changes) { change("set", lever.name, stop.value || ""); return; }
    question.changes = [...question.changes.filter((each) => !ofLever(lever)(each)), ...(stop.change ? [stop.change] : [])];
    ask();
  };

  /** The field in the row of an assumption that sets it, to anything that `--set` takes. */
  const field = ({ name, title, unit }) => {
    const own = make("input", { type: "text", id: `set-${name}`, size: 6, autocomplete: "off", "aria-label": `${title}: set to` });
    const back = make("button", { type: "button", id: `stated-${name}`, "aria-label": `${title}: as stated` }, "as stated");
    const set = () => { back.hidden = own.value.trim() === ""; change("set", name, own.value.trim()); };
    own.value = question.set[name] || "";
    back.hidden = own.value === "";
    own.addEventListener("change", set);
    back.addEventListener("click", () => { own.value = ""; own.focus(); set(); });
    return make("p", { class: "set" }, make("label", { for: own.id }, "set to"), own, make("span", {}, unit), back);
  };
  const options = (id, values) => at(id).replaceChildren(...values.map((each) => make("option", { value: each }, each)));
  const quantity = () => scenario.quantities.find((each) => each.name === at("column-of").value);
  /** The controls of a scenario, beside those of every answer. */
  const fillIn = () => {
    document.querySelector("h1").textContent = document.title = scenario.title;
    at("scenario").value = scenario.name;
    at("toml").value = scenario.toml;
    at("model-list").replaceChildren(...scenario.quantities.filter(({ models }) => models.length).map(({ name, models }) =>
      choosing(name, `model-${name}`, [["", "as stated"], ...models.map((each) => [each, each])], "", (value) => change("swap", name, value))));
    options("column-of", scenario.quantities.map(({ name }) => name));
    at("column-unit").value = quantity() ? quantity().unit : "";
  };
  const open = async (what) => {
    scenario = await post("/scenario", JSON.stringify(what));
    question = { ...unchanged(scenario.name), ...(what.toml ? { toml: what.toml } : {}) };
    at("find").value = "";
    fillIn();
    await ask();
  };
  const upload = async () => {
    const [chosen] = at("file").files;
    if (!chosen) return;
    if (chosen.size > MOST_BYTES) throw new Error("A file has at most 10 MB.");
    const name = chosen.name.replace(/[^A-Za-z0-9._-]/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(-60);
    const told = await post(`/upload?name=${encodeURIComponent(name)}`, await chosen.arrayBuffer());
    file = told.name;
    options("column-x", told.columns);
    options("column-y", told.columns);
    at("column-y").selectedIndex = Math.min(1, told.columns.length - 1);
    at("column").hidden = false;
    tell(`${file} has ${told.columns.length} columns.`);
  };
  const column = () => ({ data: file, ...Object.fromEntries(["x", "y", "unit", "shape"].map((key) => [key, at(`column-${key}`).value])) });

  const wire = (id, event, work) => at(id).addEventListener(event, () => attempt(work));
  wire("scenario", "change", () => open({ scenario: at("scenario").value }));
  wire("toml-use", "click", () => open({ scenario: scenario.name, toml: at("toml").value }));
  wire("file", "change", upload);
  wire("column-of", "change", () => { at("column-unit").value = quantity().unit; });
  wire("column-use", "click", () => change("data", quantity().name, column()));
  wire("column-drop", "click", () => change("data", quantity().name, null));
  // a toggle does not bubble
  at("appendices").addEventListener("toggle", () => attempt(appendices), true);
  at("scenario").replaceChildren(...library.map(({ name, title }) => make("option", { value: name }, title)));
  options("column-shape", shapes);
  if (shapes.includes("trends/pool")) at("column-shape").value = "trends/pool";
  fillIn();

  return {
    field,
    place,
    move,
    /** The levers as they stand where nothing is changed. */
    levers: () => levers,
    drawn: (given) => { if (!question.changes.length && !Object.keys(question.set).length) levers = given.levers; },
    told: ({ name }) => question.set[name],
    settable: () => settable,
    sets: (name) => name in question.set,
    changed: () => JSON.stringify(question) !== JSON.stringify(unchanged(scenario.name)),
    reset: () => attempt(() => open({ scenario: scenario.name })),
  };
})();
