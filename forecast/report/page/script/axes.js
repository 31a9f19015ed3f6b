/* Axes, and what every drawing begins with. */

const FEWEST_TICKS = 3;
const multiples = (low, high, step) => {
  const out = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) out.push(Number(tick.toPrecision(12)));
  return out;
};
/** Round numbers between two ends: at most so many, unless these were fewer than an axis needs. */
const nice = (low, high, most, steps = [0.1, 0.2, 0.4, 0.5, 1, 2, 4, 5, 10]) => {
  const raw = (high - low) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(raw)), every = steps.map((each) => each * power);
  const wide = every.findIndex((each) => each >= raw), found = every.slice(0, wide + 1).map((step) => multiples(low, high, step));
  return found.findLast((each) => each.length >= FEWEST_TICKS) || found[wide];
};
/** Dates on an axis, as years and what is written there: whole years, or months where these are too few. */
const dated = (low, high, room) => {
  const years = nice(low, high, Math.floor(room / 70)).filter(Number.isInteger);
  if (years.length >= FEWEST_TICKS) return years.map((each) => [each, String(each)]);
  const months = [6, 3, 2, 1].map((each) => multiples(low, high, each / 12));
  return (months.find((each) => each.length >= FEWEST_TICKS) || months[3]).map((each) => [each, said(each + 1e-6, true, true)]);
};
const linear = (low, high, from, to) => (value) => from + ((Math.min(Math.max(value, low), high) - low) / (high - low || 1)) * (to - from);
const logs = (low, high, most) => {
  const first = Math.floor(Math.log10(low) + 1e-9), last = Math.floor(Math.log10(high) + 1e-9), step = Math.max(1, Math.ceil((last - first) / most));
  const powers = Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => 10 ** (first + i * step));
  const found = [[1], [1, 3], [1, 2, 5]].map((each) => powers.flatMap((power) => each.map((of) => of * power)).filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)));
  return found.find((each) => each.length >= FEWEST_TICKS) || nice(low, high, most).filter((each) => each > 0);
};
const text = (x, y, words, more) => draw("text", { x, y, ...more }, words);
const picture = (width, height, label, ...parts) =>
  draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...parts);
/** How wide figures are drawn, whatever the screen is; 0 while they follow it. */
let drawnWidth = 0;
const widthOf = (node) => drawnWidth || Math.max(Math.min(Math.floor(node.clientWidth || 640), 900), 240);
