/* Numbers, dates and texts, as Python writes them. */

const even = (x) => { const r = Math.round(x); return Math.abs(x % 1) === 0.5 && r % 2 ? r - 1 : r; };
/** A text of the patterns that Python reads too: the first rule whose flags all hold is filled. */
const say = (name, flags, texts = {}) => {
  const held = (flag) => (flag[0] === "!" ? !flags[flag.slice(1)] : Boolean(flags[flag]));
  const rule = data.patterns.texts[name].find((each) => (each.if || []).every(held));
  return rule.text.replace(/\{(\w+)\}/g, (_, key) => texts[key]);
};
const percent = (share) => {
  const unknown = share === null || Number.isNaN(share), { hardly, surely } = data.patterns;
  return say("percent", { unknown, hardly: share < hardly, surely: share > surely }, { number: even(100 * share) });
};
const plain = (value, digits = data.patterns.digits) => {
  if (value === null || Number.isNaN(value)) return "-";
  if (!Number.isFinite(value)) return value > 0 ? "infinite" : "-infinite";
  if (value === 0) return "0";
  const size = Number(value.toPrecision(digits));
  if (Math.abs(size) >= 1e-3 && Math.abs(size) < 1e6) {
    return Math.abs(size) >= 10 ** (digits - 1) && Number.isInteger(size) ? size.toLocaleString("en-US") : String(size);
  }
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  return `${mantissa.includes(".") ? mantissa.replace(/0+$/, "").replace(/\.$/, "") : mantissa}e${Number(power)}`;
};
const scaleOf = (value, scales) => {
  const size = Math.abs(Number(value.toPrecision(data.patterns.digits)));
  return scales.reduce((found, each) => (size >= each[0] ? each : found), scales[0]);
};
const amount = (value, scales) => {
  if (value === null || !Number.isFinite(value) || !scales) return plain(value);
  const [, factor, called] = scaleOf(value, scales);
  return `${plain(value / factor)} ${called}`.trim();
};
/** The ends of an interval: the unit once, behind the upper one, where both share it, which is that of what lies between. */
const amount_range = (low, high, scales, about = high) => {
  if (![low, high].every(Number.isFinite) || !scales) return [amount(low, scales), amount(high, scales)];
  const [, factor, called] = scaleOf(Number.isFinite(about) ? about : high, scales);
  let ends = [plain(low / factor), plain(high / factor)], name = called;
  if (ends.some((each) => each.includes("e"))) {
    const [one, other] = [low, high].map((each) => scaleOf(each, scales));
    if (one[2] !== other[2]) return [amount(low, scales), amount(high, scales)];
    ends = [plain(low / other[1]), plain(high / other[1])];
    name = other[2];
  }
  const whole = `${ends[1]} ${name}`.trim();
  return ends[0] === ends[1] ? [whole, whole] : [ends[0], whole];
};
const narrow = (low, high) => Number.isFinite(high) && high - low < data.patterns.fine_years;
const short_span = () => data.until - data.start < 3 * data.patterns.fine_years;
const said = (year, fine, short) => {
  const whole = Math.floor(year), begin = Date.UTC(whole, 0);
  if (!fine || !Number.isFinite(year)) return String(whole);
  // the first day of a month is of that month, of which the twelfths of a year know nothing
  const day = new Date(begin + Math.round((year - whole) * (Date.UTC(whole + 1, 0) - begin) / 1000) * 1000);
  const first = day.toISOString().endsWith("-01T00:00:00.000Z") && day.getUTCFullYear() === whole;
  const month = first ? day.getUTCMonth() : Math.min(Math.floor((year - whole) * 12 + 1e-6), 11);
  return short ? `${whole}-${String(month + 1).padStart(2, "0")}` : `${data.patterns.months[month]} ${whole}`;
};
const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
const count = (number) => number.toLocaleString("en-US");
const unique = (list) => [...new Set(list)];
const range = ([low, high]) => say("range", { same_text: low === high }, { low, high });
