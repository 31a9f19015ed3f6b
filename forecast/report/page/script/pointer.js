/* What stands under the pointer of a figure: a line, the values there, and a dot on each curve. */

/** Let a drawing tell its values: `at` gives, for a place along it, where the line stands, what is told, and the dots. */
const pointer = (drawing, { left, right, top, bottom, at: told }) => {
  const layer = draw("g", { class: "pointer", "aria-hidden": "true" });
  drawing.append(layer);
  const leave = () => layer.replaceChildren();
  const move = (event) => {
    const box = drawing.getBoundingClientRect(), width = drawing.viewBox.baseVal.width;
    const place = ((event.clientX - box.left) * width) / box.width;
    const found = place >= left && place <= right ? told(place) : null;
    if (!found) { leave(); return; }
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
};
