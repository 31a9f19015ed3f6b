/* Axes, and what every drawing begins with. */

const nice = (low, high, most) => {
  const raw = (high - low) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
  const out = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) out.push(Number(tick.toPrecision(12)));
  return out;
};
const linear = (low, high, from, to) => (value) => from + ((Math.min(Math.max(value, low), high) - low) / (high - low || 1)) * (to - from);
const logs = (low, high, most) => {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / most)), out = [];
  for (let power = first; power <= last; power += step) out.push(10 ** power);
  return out.length > 1 ? out : nice(low, high, most).filter((each) => each > 0);
};
const text = (x, y, words, more) => draw("text", { x, y, ...more }, words);
const picture = (width, height, label, ...parts) =>
  draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...parts);
/** How wide figures are drawn, whatever the screen is; 0 while they follow it. */
let drawnWidth = 0;
const widthOf = (node) => drawnWidth || Math.max(Math.min(Math.floor(node.clientWidth || 640), 900), 240);
