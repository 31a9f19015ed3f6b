/* What a reader takes away: a picture, the numbers, and the address of what is picked. */

/** What is drawn now: the question, the rows of its table, and what the other tables hold. */
let shown = { asked: null, rows: [], other: () => null, ranks: [], races: () => null };

const slug = () => (document.title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "answer");
const download = (blob, name) => {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
};

/** Several lines of at most so many characters. */
const wrapped = (words, most) => words.split(/[ \n]+/).reduce((lines, word) => {
  const last = lines[lines.length - 1];
  if (last && last.length + word.length < most) lines[lines.length - 1] = `${last} ${word}`;
  else lines.push(word);
  return lines;
}, []);
/** The figures in sight with the sentence above them, as one drawing that needs nothing else. */
const sheet = () => {
  const figures = ["answer", "paths"].map((name) => [at(`live-${name}`), at(name === "answer" ? "answer-box" : "paths")])
    .filter(([node, box]) => node.querySelector("svg") && !box.hidden);
  const tables = figures.length ? [] : [...at("orders").querySelectorAll("section")].filter((each) => each.querySelector("svg"));
  const width = SHEET_WIDTH, parts = [];
  let y = 14;
  for (const line of wrapped(at("sentence").textContent, Math.floor(width / 10))) parts.push(text(12, (y += 20), line, { class: "said" }));
  for (const line of at("note").hidden ? [] : wrapped(at("note").textContent, Math.floor(width / 7))) parts.push(text(12, (y += 17), line, {}));
  for (const [node, box] of figures) {
    const own = node.querySelector("svg").cloneNode(true), height = own.viewBox.baseVal.height;
    own.querySelectorAll(".pointer").forEach((each) => each.remove());
    const caption = box.querySelector("figcaption"), select = caption.querySelector("select");
    const words = select ? `Over time: ${select.selectedOptions[0].textContent}` : caption.textContent;
    parts.push(text(12, (y += 32), words, { class: "mark" }));
    own.setAttribute("y", y + 8);
    y += height + 8;
    y += 14;
    let x = 12;
    for (const each of box.querySelector(".key").children) {
      if (x > 12 && !each.matches(".swatch") && x + 6.6 * each.textContent.length > width) { x = 12; y += 17; }
      if (each.matches(".swatch")) parts.push(draw("path", { d: `M${x},${y - 4}h18`, class: `curve ${each.className.replace("swatch", "")}` }));
      else parts.push(text(x, y, each.textContent, {}));
      x += each.matches(".swatch") ? 24 : 16 + 6.6 * each.textContent.length;
    }
    parts.push(own);
  }
  for (const table of tables) {
    y += 10;
    for (const line of wrapped(table.querySelector("h2").textContent, Math.floor(width / 8))) parts.push(text(12, (y += 17), line, { class: "mark" }));
    for (const row of [...table.querySelectorAll("tbody tr")].filter((each) => each.querySelector("svg"))) {
      const own = row.querySelector("svg").cloneNode(true);
      for (const [key, value] of Object.entries({ x: 200, y: (y += 24) - 12, width: 220, height: 16 })) own.setAttribute(key, value);
      const words = [...row.querySelectorAll("th, td")].map((each) => each.textContent);
      parts.push(text(12, y, words[0], { class: "mark" }), own, text(440, y, `${words[2]}${words[3] ? ` (${words[3]})` : ""}, best in ${words[4]}`, {}));
    }
    y += 8;
  }
  parts.push(text(12, (y += 26), `lawcast · ${document.title}`, {}));
  const height = y + 14, whole = draw("svg", { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, width, height });
  // never part of the page, whose policy allows no style but its own
  const style = document.querySelector("style").textContent.replace(/@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g, "");
  whole.append(draw("style", {}, style), draw("rect", { width, height, fill: "#fff" }), ...parts);
  return { width, height, source: new XMLSerializer().serializeToString(whole) };
};
/** It is as wide on every screen. */
const SHEET_WIDTH = 760;
const takePicture = () => new Promise((done, failed) => {
  drawnWidth = SHEET_WIDTH;
  drawAll();
  const { width, height, source } = sheet();
  drawnWidth = 0;
  drawAll();
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = make("canvas", { width: 2 * width, height: 2 * height }), context = canvas.getContext("2d");
    context.scale(2, 2);
    context.drawImage(image, 0, 0, width, height);
    canvas.toBlob((blob) => (blob ? done(download(blob, `${slug()}.png`)) : failed(new Error("no picture"))), "image/png");
  });
  image.addEventListener("error", () => failed(new Error("no picture")));
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
});

const isoDate = (year) => {
  const whole = Math.floor(year), first = Date.UTC(whole, 0, 1), next = Date.UTC(whole + 1, 0, 1);
  return new Date(first + Math.round((year - whole) * (next - first))).toISOString().slice(0, 10);
};
/** The answers in sight as a table: a row an answer, dates as dates, nothing where it never comes. */
const csvRows = () => {
  const note = at("note").textContent, rows = [["question", "of", "answer", "p05", "p25", "p50", "p75", "p95", "already", "never", "probability", "unit", "state"]];
  const number = (value) => (Number.isFinite(value) ? Number(value.toPrecision(6)) : "");
  const answered = (asked, row) => {
    const dates = asked.kind === "date", one = row.one, level = one && (one.each || one.medians) ? [one.medians[0], "", "", "", one.medians[1]] : one ? one.q : Array(5).fill("");
    rows.push([`${clause(asked, state.lever ? {} : state.picks)}${dates ? "" : atDate(asked)}`, row.of, row.label, ...level.map((each) => (each === "" ? "" : dates ? (Number.isFinite(each) ? isoDate(each) : "") : number(each))),
      dates && one ? number(one.already) : "", dates && one ? number(one.never) : "", "", dates ? "date" : asked.unit, note]);
  };
  for (const row of shown.rows) answered(shown.asked, row);
  for (const each of everyAsked().filter((asked) => numeric(asked) && (!shown.asked || asked.key !== shown.asked.key))) {
    const one = shown.other(each);
    if (one) answered(each, { of: "", label: "", one });
  }
  for (const { asked, found } of shown.ranks) for (const { title, given, order } of found) for (const each of order) rows.push([title, given, each.label, ...each.q.map(number), "", "", number(each.first), asked.values.unit, note]);
  for (const each of data.firsts.map(raced)) {
    const found = shown.races(each);
    if (found) each.labels.forEach((label, i) => rows.push([found.title, "", label, "", "", "", "", "", "", "", number(found.shares[i]), "", note]));
  }
  return rows;
};
/** A table as text: what a spreadsheet would compute is marked as words. */
const csvText = (rows) => rows.map((row) => row.map((cell) => {
  const words = typeof cell === "string" && /^[=+\-@\t]/.test(cell) ? `'${cell}` : String(cell);
  return /[",\n\r]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
}).join(",")).join("\r\n");

const takes = {
  picture: async () => { await takePicture(); return "Saved as a picture."; },
  csv: async () => { download(new Blob([`${csvText(csvRows())}\r\n`], { type: "text/csv" }), `${slug()}.csv`); return "Saved as a table."; },
  link: async () => {
    at("link").value = location.href;
    try { await navigator.clipboard.writeText(location.href); } catch { at("link").hidden = false; at("link").select(); return "Copy it:"; }
    return "Its address is copied; send it with the file.";
  },
};
for (const [name, work] of Object.entries(takes)) {
  at(`take-${name}`).addEventListener("click", async () => {
    try { at("taken").textContent = await work(); } catch (problem) { at("taken").textContent = `It could not be made: ${problem.message}.`; }
  });
}
