// Components: the tastes that users share. All of them, and one in detail.

import { get } from "./service.js";
import { shares } from "./bars.js";
import { el, link, section } from "./dom.js";
import { count, percent, several } from "./format.js";
import { called } from "./tastes.js";

/** All components, the largest first. */
export async function components(query, { signal, model }) {
  const { components: found } = await get("api/components", {}, signal);
  const top = Math.max(...found.map((one) => one.share));
  const used = found.filter((one) => one.users > 0);
  const rest = found.filter((one) => !one.users);
  const cards = (some) => el("ol.cards", ...some.map((one) => tile(one, top)));
  return {
    title: "Components",
    nodes: [
      el("h1", "Tastes that users share"),
      el(
        "p.lede",
        `The model has found ${several(found.length, "component")}. Each is a taste: items that the same users come `,
        "back to. Nobody named them; the items that most of their sessions go to say what they are.",
      ),
      el("p.aside", about(model)),
      cards(used),
      ...folded(rest, cards),
    ],
  };
}

/** Those that nobody leans on, out of the way. */
function folded(rest, cards) {
  if (!rest.length) return [];
  return [el("details", el("summary", `${count(rest.length)} more that no user leans on`), cards(rest))];
}

function about(model) {
  const bars =
    "The bar is a component's part of all sessions that come from tastes. " +
    "A user leans on the component that most of theirs come from.";
  if (!model.neighbors) return bars;
  const share = percent(1 - model.excited);
  return `${bars} Tastes bring ${share} of all expected sessions here. Single items bring the others.`;
}

function tile(one, top) {
  return el(
    "li",
    { style: { "--share": `${((100 * one.share) / top).toFixed(2)}%` } },
    el("h2", link("component", { number: one.number }, `Component ${one.number}`)),
    el("p.measure", el("b.model", percent(one.share)), ` · ${several(one.users, "user")}`),
    el(
      "p",
      one.items.flatMap((it, j) => [j ? ", " : "", link("item", { id: it.item }, it.name)]),
    ),
  );
}

/** One component. */
export async function component(query, { signal }) {
  const found = await get("api/component", { number: query.get("number") ?? 0, n: 40 }, signal);
  return {
    title: `Component ${found.number}`,
    nodes: [
      el("p", link("components", {}, "← All components")),
      el("h1", `Component ${found.number}`),
      el(
        "p.lede",
        `${called(found)}, and what goes with them. `,
        `${percent(found.share)} of the sessions that come from tastes. `,
        `${several(found.users, "user")} lean on it more than on any other.`,
      ),
      section(
        `The ${count(found.items.length)} items that most of its sessions go to`,
        el(
          "div.two",
          shares(found.items.map((one) => ({ content: link("item", { id: one.item }, one.name), share: one.share }))),
        ),
      ),
    ],
  };
}
