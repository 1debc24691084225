// An item: who has it, what goes with it, which tastes it serves, and what brings it.

import { get } from "./service.js";
import { readings, shares } from "./bars.js";
import { el, link, section } from "./dom.js";
import { count, number, percent, several } from "./format.js";
import { findItems, leadingTo } from "./search.js";
import { tastes } from "./tastes.js";

/** The view of one item, or of none yet. */
export async function item(query, { signal, model }) {
  const id = query.get("id");
  const field = leadingTo("item", { label: "Find an item", find: findItems, hint: "name or id" });
  if (id === null) return popular(field, await findItems("", signal, 24));
  const found = await get("api/item", { id }, signal);
  return {
    title: found.name,
    nodes: [
      field,
      el("h1", found.name),
      summary(found),
      el(
        "div.columns",
        el("div", section("Who has it", listeners(found)), serves(found)),
        el("div", goesWith(found, model), brings(found)),
      ),
    ],
  };
}

function popular(field, { options }) {
  return {
    title: "Items",
    nodes: [
      field,
      el("h1", "Items"),
      el("p.lede", "Search for one by its name or id, or take one that many users have."),
      el(
        "ul.tiles",
        options.map((one) => el("li", link("item", { id: one.id }, el("b", one.label), el("small", one.note)))),
      ),
    ],
  };
}

function summary(found) {
  const told = [found.name === String(found.id) ? null : `id ${found.id}`];
  if (found.users !== null) told.push(`${several(found.users, "user")}, a count of ${count(found.total)} in all`);
  told.push(`${number(found.expected_sessions)} sessions expected of all users`);
  return el(
    "p.lede",
    `${told.filter(Boolean).join(" · ")}. `,
    link("what-if", { item: found.id, count: 10 }, "What if somebody had just this?"),
  );
}

function listeners({ listeners: found, users }) {
  if (!found.length) return el("p.empty", "The model file has no training counts, or nobody has this item.");
  const rows = found.map((one) => ({ ...one, link: link("user", { id: one.user }, String(one.user)) }));
  const few =
    rows.length < users ? `The ${count(rows.length)} users with the largest counts.` : "Everybody who has it.";
  return [el("p", few), readings(rows, { what: "user", first: 20 })];
}

function serves({ components, excited }) {
  if (!components.length) return null;
  const about = excited
    ? `Other items bring ${percent(excited)} of the sessions with this item. Where the others come from, among tastes.`
    : "Where the sessions with this item come from, among tastes.";
  return section("The tastes it serves", tastes(components, about));
}

function goesWith({ similar }, { neighbors }) {
  if (!similar.length) return section("What goes with it", el("p.empty", "Nothing that the model has found."));
  const rows = similar.map((one) => ({ content: link("item", { id: one.item }, one.name), share: one.similarity }));
  const by = neighbors
    ? "By how much either of the two brings the other."
    : "By how alike the tastes are that they serve.";
  return section("What goes with it", el("p", by), shares(rows, { format: number }));
}

function brings({ excited_by: sources }) {
  if (!sources.length) return null;
  return section(
    "What brings it",
    el("p", "Whoever has one of these is more likely to come to this item: by so many expected sessions."),
    shares(
      sources.map((one) => ({ content: link("item", { id: one.item }, one.name), share: one.strength })),
      { format: number },
    ),
  );
}
