/* What is asked and picked, which the address holds. */

let state, redraw = 0;

const blank = () => ({ question: opening().key, picks: {}, ranges: {}, lever: null });
/** What comes first, as a question: its choices are those of the questions among which it comes first. */
const raced = (race) => {
  const among = race.events.map((name) => model.questions.find((each) => each.name === name));
  const [dims, own, rivals] = ["dims", "own", "rivals"].map((key) => unique(among.flatMap((each) => each[key])));
  return { ...race, kind: "first", short: race.title, among, dims, own, rivals };
};
const keyOf = (asked) => (asked.kind === "value" ? `${asked.name}.${asked.place}` : asked.name);
const everyAsked = () => [...model.questions, ...model.values, ...model.orders, ...data.firsts.map(raced)].map((each) => ({ ...each, key: keyOf(each) }));
const numeric = (asked) => asked.kind === "date" || asked.kind === "value";
const opening = () => {
  const every = everyAsked(), own = every.filter((each) => each.name === data.opens.name);
  return own[own.length - 1] || every[0] || { key: "" };
};
const written = () => {
  const out = new URLSearchParams();
  if (state.question !== opening().key) out.set("q", state.question);
  for (const [name, place] of Object.entries(state.picks)) out.set(`c.${name}`, model.choices.get(name).values[place].name);
  for (const [name, range] of Object.entries(state.ranges)) out.set(`a.${name}`, range.join(model.input.get(name).few ? "," : "-"));
  if (state.lever) out.set(`l.${state.lever[0]}`, state.lever[1]);
  return out.toString();
};
const read = (text) => {
  const out = blank();
  for (const [key, value] of new URLSearchParams(text)) {
    const name = key.slice(2), numbers = value.split(/[-,]/).map(Number);
    if (key === "q" && everyAsked().some((each) => each.key === value)) out.question = value;
    if (key.startsWith("c.") && model.choices.has(name)) {
      const place = model.choices.get(name).values.findIndex((each) => each.name === value);
      if (place >= 0) out.picks[name] = place;
    }
    const lever = key.startsWith("l.") && data.levers.find((each) => each.name === name && each.answers);
    if (lever && lever.stops[value] && lever.stops[value].value) out.lever = [name, Number(value)];
    if (!key.startsWith("a.") || !model.input.has(name) || !numbers.every(Number.isInteger)) continue;
    const { few, values } = model.input.get(name);
    if (few && numbers.every((each) => each >= 0 && each < values.length)) out.ranges[name] = numbers;
    if (!few && numbers.length === 2 && numbers[0] >= 0 && numbers[0] < numbers[1] && numbers[1] <= 100) out.ranges[name] = numbers;
  }
  return out;
};
const changed = () => {
  const text = written();
  if (location.hash.slice(1) !== text) history.replaceState(null, "", `#${text}`);
  cancelAnimationFrame(redraw);
  redraw = requestAnimationFrame(drawAll);
};
