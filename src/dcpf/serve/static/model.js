// The model: the law of a session, what a count is read as, whether it fits, how it was learned, and from what.

import { get } from "./service.js";
import { sessionsAt, sessionsText } from "./bars.js";
import { chart } from "./chart.js";
import { el, section } from "./dom.js";
import { count, fineTick, listed, number, percent, several, size } from "./format.js";

const AGAIN = 1500; // milliseconds until the check is asked for again, while it is computed

/** The view of the model. */
export async function model(query, { signal, model: card }) {
  return {
    title: "The model",
    nodes: [
      el("h1", "What the model has learned"),
      el("p.lede", lede(card)),
      el(
        "div.essay",
        section("How much one session adds", ...law(card)),
        section("From a count to sessions", ...curve(card)),
        section("Does it fit the data?", await check(signal)),
        section("How it was learned", ...learning(card)),
        section("The data, and the file", facts(card)),
      ),
    ],
  };
}

function lede({ meaning, sessions_per_count: each, data }) {
  if (each === null) return meaning;
  const mean = number(data.total / data.entries);
  return `${meaning} The mean count, ${mean}, is read as about ${each.toFixed(2)} sessions.`;
}

function law(card) {
  const comes = "A user comes to an item in sessions, and each session adds at least one to the count. ";
  if (!card.pmf || card.pmf.x.length < 2) {
    const limit = card.pmf
      ? "Here each session adds exactly one, so that sessions are counts and there is no law to draw."
      : "Here a count is one session, however large, so that there is no law to draw.";
    return [el("p", comes, "How many it adds is usually learned."), el("p.empty", limit)];
  }
  const about = el(
    "p",
    comes,
    "How many it adds is left to chance, by a law whose parameters are learned from the counts. ",
    `Here it is the ${named(card)}. ${halfway(card.pmf)}The longer the tail of the picture, the less a repeat says.`,
  );
  return [about, lawChart(card)];
}

function named({ element, parameters }) {
  const values = Object.entries(parameters).map(([name, one]) => `${name}\u00a0=\u00a0${Number(one.toPrecision(4))}`);
  return element.replaceAll("-", " ") + (values.length ? ` with ${listed(values)}` : "");
}

function lawChart({ pmf, mean }) {
  const points = pmf.x.map((x, j) => [x, pmf.probability[j]]);
  const last = pmf.x.at(-1);
  const few = last <= 60; // then each has a bar, else there are points on a line
  const bars = { kind: "bars", class: "model", points: points.map(([x, p]) => [x - 0.5, x + 0.5, p]) };
  const near = ([x, p]) => `a session adds ${count(x)}: ${percent(p)}`;
  const marks = few
    ? [bars, { kind: "line", class: "none", points, near }]
    : [{ kind: "line", class: "model", points, near }];
  if (mean < last) marks.push({ kind: "rule", class: "model", at: mean, text: `mean ${number(mean)}` });
  return chart({
    x: few
      ? { label: "added by one session", from: 0.4, to: last + 0.6, format: count }
      : { label: "added by one session (logarithmic)", log: true, from: 1, to: last },
    y: { label: "probability", from: 0, to: Math.max(...pmf.probability) * 1.08, format: percent },
    marks,
    summary: `What one session adds: 1 with probability ${percent(pmf.probability[0])}, ${number(mean)} on average.`,
  });
}

/** What half of all sessions add at most. */
function halfway(pmf) {
  const x = pmf?.x.find((_, j) => pmf.at_most[j] >= 0.5);
  return x > 1 ? `Half of all sessions add no more than about ${count(x)}. ` : "";
}

function curve(card) {
  const { count: counts, sessions } = card.curve;
  const points = counts.map((y, j) => [y, sessions[j]]);
  const largest = Math.max(10, counts[counts.length - 1]);
  const high = Math.max(...sessions);
  const top = Math.max(high * 1.5, 12);
  const voted = Math.min(largest, top); // where the line of votes leaves the picture
  const steps = [10, 100, 1000, 10_000, 100_000].filter((y) => y <= counts.at(-1));
  const examples = (steps.length ? steps : [counts.at(-1)]).map((y) => [y, sessionsAt(card.curve, y)]);
  const read = examples.map(([y, n], j) => `${count(y)} ${j ? "as" : "is read as"} ${sessionsText(n)}`);
  const told = `a count of ${listed(read)}`;
  return [
    el(
      "p",
      "If every unit of a count were a vote, there would be as many sessions as counts: the rising line. If only ",
      "having or not having mattered, there would be one: the flat line. The model lies where the data put it: ",
      `${told}. This is for a typical pair; who is expected to come more often is read as having come more often.`,
    ),
    chart({
      x: { label: "count (logarithmic)", log: true, from: 1, to: largest },
      y: { log: true, from: 0.9, to: top, label: "expected sessions (logarithmic)" },
      marks: [
        {
          kind: "line",
          class: "data dashed",
          name: "each one a vote",
          points: [
            [1, 1],
            [voted, voted],
          ],
        },
        {
          kind: "line",
          class: "data",
          name: "yes or no",
          points: [
            [1, 1],
            [largest, 1],
          ],
        },
        {
          kind: "line",
          class: "model",
          name: "the model",
          points,
          near: ([y, n]) => `a count of ${count(y)}: ${n.toFixed(2)} sessions`,
        },
      ],
      summary: `Expected sessions against the count: ${told}.`,
    }),
  ];
}

/** The predictive check takes a while when it is first asked for: it fills in its place when it is there. */
async function check(signal) {
  const place = el("div.check", el("p.empty", "Counts are being drawn from the model…"));
  const fill = async () => {
    const found = await get("api/check", {}, signal);
    if (found.state === "computing") return void setTimeout(() => signal.aborted || fill().catch(fail), AGAIN);
    if (found.state === "unavailable")
      return place.replaceChildren(el("p.empty", `There is no check: ${found.reason}.`));
    place.replaceChildren(...checked(found));
  };
  const fail = (error) => signal.aborted || place.replaceChildren(el("p.empty", error.message));
  await fill().catch(fail);
  return place;
}

function checked(found) {
  const middle = ({ low, high }) => Math.sqrt(low * (high + 1));
  const ranges = found.ranges;
  const top = Math.max(...ranges.flatMap((one) => [one.data, one.most]));
  const spelt = ({ low, high }) => (low === high ? count(low) : `${count(low)} to ${count(high)}`);
  const drawn = ranges.filter((one) => one.mean > 0);
  const near = ([x]) => {
    const one = ranges.find((each) => middle(each) === x);
    return `counts of ${spelt(one)}: ${count(one.data)} in the data, ${number(one.mean)} drawn`;
  };
  return [
    el(
      "p",
      `Counts were drawn anew from the model ${several(found.draws, "time")}, for ${several(found.users, "user")} `,
      `and ${several(found.items, "item")}. If they look like the data, the model has understood how `,
      "counts come about.",
    ),
    chart({
      x: { label: "count (logarithmic)", log: true, from: 1, to: ranges[ranges.length - 1].high + 1 },
      y: { label: "entries (logarithmic)", log: true, from: 0.7, to: top * 1.6 },
      marks: [
        {
          kind: "bars",
          class: "data",
          name: "entries of the data",
          points: ranges.map((one) => [one.low, one.high + 1, one.data]),
        },
        {
          kind: "band",
          class: "model",
          points: drawn.map((one) => [middle(one), Math.max(one.least, 0.7), one.most]),
        },
        { kind: "line", class: "model", points: drawn.map((one) => [middle(one), one.mean]) },
        {
          kind: "dots",
          class: "model",
          name: "drawn from the model",
          points: drawn.map((one) => [middle(one), one.mean]),
          near,
        },
      ],
      summary: found.findings.join(" "),
    }),
    el(
      "ul.findings",
      found.findings.map((one) => el("li", one)),
    ),
  ];
}

function learning({ bounds = [] }) {
  const points = bounds.map((value, j) => [j + 1, value]);
  if (points.length < 2)
    return [el("p.empty", "The model was not learned by passes over all data, so there is no bound to draw.")];
  const [low, high] = [Math.min(...bounds), Math.max(...bounds)];
  const room = (high - low) * 0.06 || 1;
  return [
    el(
      "p",
      `The model passed over the data ${several(bounds.length, "time")}. After each pass a bound says how well it `,
      "explains the counts at least. It may only rise, and learning ends when it hardly does.",
    ),
    chart({
      x: { label: "iteration", from: 0, to: bounds.length + 1, format: count },
      y: { label: "bound", format: fineTick, from: low - room, to: high + room },
      marks: [
        { kind: "line", class: "model", points, near: ([j, value]) => `after iteration ${j}: ${count(value)}` },
      ],
      summary: `In ${bounds.length} iterations the bound rose from ${count(bounds[0])} to ${count(bounds.at(-1))}.`,
    }),
  ];
}

function facts(card) {
  const { data, file } = card;
  const cells = data.users * data.items;
  const rows = [
    ["users × items", `${count(data.users)} × ${count(data.items)}`],
    ["counts", `${count(data.entries)} (${percent(data.entries / cells)} of all pairs)`],
    ["largest count", count(data.largest)],
    ["all counts together", count(data.total)],
    ["expected sessions, all users with all items", number(card.sessions)],
    ["components", count(card.components)],
    card.neighbors ? ["brought by items that users have", `${percent(card.excited)} of all expected sessions`] : null,
    ["training counts in the file", card.has_history ? "yes" : "no"],
    ["file", `${file.name}, ${size(file.bytes)}, dcpf ${file.dcpf}`],
    ["revision", `${card.revision}, since ${new Date(card.loaded_at).toLocaleString("en-GB")}`],
  ];
  return el(
    "dl",
    rows.filter(Boolean).map(([name, value]) => el("div", el("dt", name), el("dd", value))),
  );
}
