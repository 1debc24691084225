// A list of recommendations: what is expected of each, and why it is there.

import { shares } from "./bars.js";
import { el, link } from "./dom.js";
import { count, listed, number, percent } from "./format.js";
import { called } from "./tastes.js";

/** Rows of the service's answer; `before` maps items to the ranks they had, to tell what has moved. */
export function recommendations(items, before = null) {
  const rows = items.map((one, j) => row(one, j, before));
  return el(
    "div",
    el(
      "div.recommended.head",
      { "aria-hidden": "true" },
      el("span"),
      el("span"),
      el("span.figure", "expected sessions"),
      el("span.figure", "expected count"),
      el("span.figure", "probability of any"),
    ),
    el("ol.recommended", rows),
  );
}

function row(one, rank, before) {
  const style = { "--share": `${(100 * one.probability).toFixed(2)}%` };
  const line = [
    el("span.rank", { "aria-hidden": "true" }, String(rank + 1)),
    el("span.name", link("item", { id: one.item }, one.name), moved(one.item, rank, before)),
    figure(number(one.sessions), "sessions"),
    figure(number(one.count), "expected"),
    figure(percent(one.probability), "likely", "strong"),
    el("span.chance", { style, "aria-hidden": "true" }),
  ];
  return el("li", { "data-item": String(one.item) }, el("div.line", line), one.why ? why(one) : null);
}

/** A number, with its unit for readers of a narrow screen and of none. */
const figure = (text, unit, weight = "") => el("span", { class: `figure ${weight}` }, text, el("small", ` ${unit}`));

function moved(item, rank, before) {
  if (!before?.size) return null;
  const old = before.get(String(item));
  if (old === undefined) return el("span.moved", "new");
  if (old === rank) return null;
  const by = Math.abs(old - rank);
  return el("span.moved", { title: `${old > rank ? "up" : "down"} by ${by}` }, `${old > rank ? "↑" : "↓"}${by}`);
}

/** The reasons in a line, and opened the parts that add up to the score. */
function why({ why: { history, components, excited, prior, rest }, sessions, name }) {
  const part = (value) => value / sessions;
  const first = history.filter((one) => part(one.part) >= 0.02).slice(0, 3);
  const short = first.length
    ? `because of ${listed(first.map((one) => `${one.name} (${Math.round(100 * part(one.part))}%)`))}`
    : "popular with all users";
  const byHistory = history.map((one) => ({
    content: [
      link("item", { id: one.item }, one.name),
      el("small", ` ${count(one.count)} → ${one.sessions.toFixed(1)}`),
    ],
    share: part(one.part),
  }));
  if (part(rest) >= 0.005) byHistory.push({ content: el("em", "all other items"), share: part(rest) });
  if (part(prior) >= 0.005) byHistory.push({ content: el("em", "without any history"), share: part(prior) });
  const told = components.filter((one) => part(one.part) >= 0.005);
  const others = told.reduce((left, one) => left - one.part, sessions - excited);
  const byTaste = told.map((one) => ({
    content: link("component", { number: one.number }, called(one)),
    share: part(one.part),
  }));
  if (part(others) >= 0.005) byTaste.push({ content: el("em", "all other tastes"), share: part(others) });
  if (part(excited) >= 0.005) byTaste.push({ content: el("em", "single items that bring it"), share: part(excited) });
  return el(
    "details",
    el("summary", { "aria-label": `Why ${name}: ${short}` }, short),
    el(
      "div.why",
      el("div", el("h3", "By item of the history"), shares(byHistory)),
      byTaste.length ? el("div", el("h3", "By taste"), shares(byTaste)) : null,
      el("p.aside", `Each column adds up to the score, ${number(sessions)} expected sessions.`),
    ),
  );
}
