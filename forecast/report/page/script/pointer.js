/* What a figure tells under the pointer or to the keyboard: a line, the values there, and a dot on each curve; and of a
   bar in a row, what its ends and its middle are. */

/** Let a drawing tell its values: `at` gives, for a place along it, where the line stands, what is told, and the dots. */
const pointer = (drawing, { left, right, top, bottom, at: told }) => {
  const layer = draw("g", { class: "pointer", "aria-hidden": "true" });
  drawing.append(layer);
  const leave = () => layer.replaceChildren(), width = drawing.viewBox.baseVal.width;
  let key = 50;
  const move = (event) => {
    const box = drawing.getBoundingClientRect();
    tell(((event.clientX - box.left) * width) / box.width);
  };
  const tell = (place) => {
    const found = place >= left && place <= right ? told(place) : null;
    if (!found) { leave(); return; }
    fill(drawing, { "aria-valuenow": key, "aria-valuetext": found.lines.join("; ") }, []);
    const { x, lines, dots } = found, words = lines.map((line, i) => text(0, top + 18 + 16 * i, line, { class: i ? "mark" : "tick" }));
    const back = draw("rect", { y: top + 3, rx: 4, height: 16 * lines.length + 8, class: "paper" });
    layer.replaceChildren(draw("line", { x1: x, x2: x, y1: top, y2: bottom, class: "under" }),
      ...dots.filter((y) => y >= top && y <= bottom).map((y) => draw("circle", { cx: x, cy: y, r: 3.5, class: "dot" })), back, ...words);
    const wide = Math.max(...words.map((each) => each.getComputedTextLength())) + 16;
    const from = Math.max(Math.min(x + 8 + wide > right ? x - 8 - wide : x + 8, width - wide), 0);
    back.setAttribute("x", from);
    back.setAttribute("width", wide);
    for (const each of words) each.setAttribute("x", from + 8);
  };
  drawing.addEventListener("pointermove", move);
  drawing.addEventListener("pointerdown", move);
  drawing.addEventListener("pointerleave", leave);
  // the keyboard moves along it by hundredths
  fill(drawing, { tabindex: 0, role: "slider", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": key }, []);
  const walk = () => tell(left + ((right - left) * key) / 100);
  drawing.addEventListener("focus", () => { if (drawing.matches(":focus-visible")) walk(); });
  drawing.addEventListener("blur", leave);
  drawing.addEventListener("keydown", (event) => {
    const to = { ArrowRight: key + 1, ArrowUp: key + 1, ArrowLeft: key - 1, ArrowDown: key - 1, PageUp: key + 10, PageDown: key - 10, Home: 0, End: 100 }[event.key];
    if (event.key === "Escape") leave();
    if (to === undefined) return;
    event.preventDefault();
    key = Math.min(Math.max(to, 0), 100);
    walk();
  });
};

/** A bar in a row, which tells its numbers: the first of a table is reached by Tab, the others by arrows from there. */
const rowBar = (told, ...parts) => draw("svg", { viewBox: "0 0 200 16", class: "bar", role: "img", "aria-label": told, tabindex: -1, preserveAspectRatio: "none" }, ...parts);
const reachable = (body) => body.querySelectorAll("svg.bar").forEach((each, i) => each.setAttribute("tabindex", i ? -1 : 0));
const barOf = (event) => event.target.closest && event.target.closest("svg.bar[aria-label]");
const tip = make("div", { class: "tip", "aria-hidden": "true", hidden: true });
const tipOver = (bar) => {
  tip.hidden = !bar;
  if (!bar) return;
  tip.textContent = bar.getAttribute("aria-label");
  bar.parentNode.append(tip);
};
for (const name of ["pointerover", "focusin"]) document.addEventListener(name, (event) => tipOver(barOf(event) || barOf({ target: document.activeElement })));
document.addEventListener("focusout", () => tipOver(null));
document.addEventListener("keydown", (event) => {
  const bar = barOf(event), by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") tipOver(null);
  if (!bar || !by) return;
  const all = [...bar.closest("tbody").querySelectorAll("svg.bar[aria-label]")], next = all[all.indexOf(bar) + by];
  event.preventDefault();
  if (!next) return;
  bar.setAttribute("tabindex", -1);
  next.setAttribute("tabindex", 0);
  next.focus();
});
