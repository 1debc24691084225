// The picture of the paper: a grey bar as long as the count, and in colour what the model reads into it.
// Grey is what was counted, colour is what the model believes, here and everywhere on the page.

import { el } from "./dom.js";
import { count, number, percent, tick } from "./format.js";

const LINEAR_UP_TO = 100; // larger counts need a logarithmic axis
const START = 0.5; // of a logarithmic axis, so that a bar of 1 can be seen

/** An axis for bars of counts: where a value lies, as a share of the width, and its ticks. */
export function axis(largest) {
  const top = Math.max(largest, 10);
  if (top <= LINEAR_UP_TO) {
    const step = [2, 5, 10, 20].find((one) => top / one <= 6);
    const ticks = Array.from({ length: Math.floor(top / step) + 1 }, (_, j) => j * step);
    return { place: (value) => value / top, ticks, logarithmic: false };
  }
  const span = Math.log(top / START);
  const decades = Math.floor(Math.log10(top)) + 1;
  const step = Math.ceil(decades / 7);
  const ticks = Array.from({ length: decades }, (_, j) => 10 ** j).filter((_, j) => j % step === 0);
  return { place: (value) => Math.log(Math.max(value, START) / START) / span, ticks, logarithmic: true };
}

/** One pair of bars: the count behind, the sessions in front, which start as long as the count and shrink. */
export function readingBar(scale, of, sessions) {
  const style = { "--count": share(scale.place(of)), "--sessions": share(scale.place(sessions)) };
  return el("span.reading", { style, "aria-hidden": "true" }, el("i.counted"), el("i.read"));
}

/** Set the bars of a row anew. */
export function moveBar(bar, scale, of, sessions) {
  bar.style.setProperty("--count", share(scale.place(of)));
  bar.style.setProperty("--sessions", share(scale.place(sessions)));
}

/** The ticks of the axis above the bars. */
function axisRow(scale) {
  const ticks = scale.ticks.map((value) => {
    const place = scale.place(value);
    return el("span", { class: place > 0.96 ? "tick last" : "tick", style: { left: share(place) } }, tick(value));
  });
  return el("span.axis", { "aria-hidden": "true" }, ticks);
}

/** Rows of {link, count, sessions} with their bars under one axis, the first `first` of them at first. */
export function readings(rows, { what, first = 16, wide = false }) {
  const scale = axis(Math.max(...rows.map((row) => row.count)));
  const list = el("ol.readings");
  const made = (row, j) =>
    el(
      "li",
      { style: { "--delay": `${Math.min(j, 24) * 18}ms` } },
      row.link,
      readingBar(scale, row.count, row.sessions),
      el("span.figure.counted-figure", count(row.count)),
      el("span.unseen", "read as"),
      el("span.figure.read-figure", sessionsText(row.sessions)),
      el("span.unseen", "sessions"),
    );
  const more = unfolding(
    list,
    rows.map((row, j) => () => made(row, j)),
    first,
  );
  return el("div", { class: wide ? "wide" : null, style: grid(scale) }, legend(scale), head(scale, what), list, more);
}

/** What stands above the bars: the axis, and what the numbers are. */
export function head(scale, what, ...more) {
  return el(
    "div.readings.head",
    { "aria-hidden": "true" },
    el("span", what),
    axisRow(scale),
    el("span.figure.counted-figure", "count"),
    el("span.figure.read-figure", "sessions"),
    ...more,
  );
}

/** Put the first rows into a list, and give a button for all others, if there are any. */
export function unfolding(list, rows, first) {
  list.append(...rows.slice(0, first).map((make) => make()));
  if (rows.length <= first) return null;
  const all = el("button.plain", `Show all ${count(rows.length)}`);
  all.addEventListener("click", () => {
    list.append(...rows.slice(first).map((make) => make()));
    list.children[first].querySelector("a")?.focus();
    all.remove();
  });
  return all;
}

/** The lines of the axis behind the bars, as a background that all rows share. */
export function grid(scale) {
  const line = (value) =>
    `linear-gradient(var(--rule), var(--rule)) ${share(scale.place(value))} 0 / 1px 100% no-repeat`;
  return { "--grid": scale.ticks.map(line).join(", ") };
}

/** What grey and colour mean. */
export function legend(scale) {
  return el(
    "p.legend",
    el("span", el("i.key.counted"), "what was counted"),
    el("span", el("i.key.read"), "the sessions read into it"),
    scale.logarithmic ? el("span.aside", "logarithmic scale") : null,
  );
}

/** Sessions below ten are told to a hundredth. */
export const sessionsText = (value) => (value < 9.995 ? value.toFixed(2) : number(value));

/** How many sessions the curve of the model expects behind a count; beyond its end, those at its end. */
export function sessionsAt({ count: counts, sessions }, wanted) {
  const after = counts.findIndex((one) => one >= wanted);
  if (after <= 0) return after < 0 ? sessions.at(-1) : sessions[0];
  const way = Math.log(wanted / counts[after - 1]) / Math.log(counts[after] / counts[after - 1]);
  return sessions[after - 1] + way * (sessions[after] - sessions[after - 1]);
}

/** A list of {content, share} with bars in the colour of the model; the longest fills the width. */
export function shares(rows, { format = percent, top = Math.max(...rows.map((row) => row.share)) } = {}) {
  return el(
    "ol.shares",
    rows.map((row) =>
      el(
        "li",
        { style: { "--share": share(top > 0 ? Math.max(0, row.share) / top : 0) } },
        el("span.name", row.content),
        el("span.figure", format(row.share)),
      ),
    ),
  );
}

const share = (value) => `${(100 * Math.min(1, Math.max(0, value))).toFixed(2)}%`;
