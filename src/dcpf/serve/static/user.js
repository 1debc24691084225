// A user: what was counted, what the model reads into it, and what it would recommend.

import { get } from "./service.js";
import { readings, sessionsAt } from "./bars.js";
import { el, link, section } from "./dom.js";
import { count, number, percent, several } from "./format.js";
import { recommendations } from "./recommendations.js";
import { findUsers, leadingTo } from "./search.js";
import { tastes } from "./tastes.js";

/** The view of one user, or of none yet. */
export async function user(query, { signal, model }) {
  const id = query.get("id");
  const field = leadingTo("user", { label: "Find a user by id", find: findUsers, hint: "user id" });
  if (id === null) return welcome(field, model, await findUsers("", signal, 12));
  const [found, list, alike] = await Promise.all([
    get("api/user", { id, n: 1000 }, signal),
    get("api/recommend", { user: id, n: 15, why: 6 }, signal),
    get("api/similar/users", { user: id, n: 8 }, signal),
  ]);
  return {
    title: `User ${found.id}`,
    nodes: [
      field,
      el("h1", `User ${found.id}`),
      summary(found, id),
      section("What was counted, and what it is taken for", history(found)),
      el(
        "div.columns",
        section("What the model would recommend", recommendations(list.items)),
        el("div", tasteOf(found), section("Users who are alike", similar(alike))),
      ),
    ],
  };
}

function welcome(field, model, { options }) {
  const { data, curve } = model;
  const steps = data.largest >= 1000 ? [1, 10, 100, 1000, 10_000, 100_000] : [1, 2, 5, 10, 20, 50, 100];
  const examples = steps.filter((one) => one <= data.largest);
  const rows = examples.map((one) => ({
    link: el("span", `a count of ${count(one)}`),
    count: one,
    sessions: sessionsAt(curve, one),
  }));
  return {
    title: "Users",
    nodes: [
      field,
      el("h1", "Forty plays are not forty votes"),
      el(
        "p.lede",
        "Someone may have played a song forty times in one afternoon. This model has learned from ",
        `${count(data.entries)} counts of ${several(model.users, "user")} how much a repeat is worth, and reads `,
        el("b.model", "sessions"),
        " into each count: how often somebody came back.",
      ),
      section("What a count is taken for", readings(rows, { what: "", wide: true })),
      section(
        "Users with the most items",
        el(
          "ul.tiles",
          options.map((one) => el("li", link("user", { id: one.id }, el("b", one.label), el("small", one.note)))),
        ),
      ),
    ],
  };
}

function summary(found, id) {
  const ask = link("what-if", { user: id }, "What if there were others?");
  if (!found.history.length) return el("p.lede", "Nothing was counted for this user. ", ask);
  return el(
    "p.lede",
    `${several(found.entries, "item")} with a count of `,
    el("b.ink", count(found.total)),
    " in all, read as ",
    el("b.model", `${number(found.sessions)} sessions`),
    ". ",
    heaviest(found),
    ask,
  );
}

/** The item with the largest count, where that says more than its sessions do. */
function heaviest({ history: rows, total, sessions }) {
  const top = rows.reduce((best, one) => (one.count > best.count ? one : best));
  const [counted, taken] = [top.count / total, top.sessions / sessions];
  if (rows.length < 3 || counted < 1.5 * taken) return "";
  const name = top.name === String(top.item) ? `Item ${top.item}` : top.name;
  return `${name} has ${percent(counted)} of the count, and ${percent(taken)} of the sessions. `;
}

function tasteOf({ components }) {
  if (!components.length) return null;
  return section(
    "Tastes",
    tastes(components, "Where the sessions of this user come from, among the tastes that all share."),
  );
}

function history(found) {
  if (!found.history.length)
    return el("p.empty", "There is no history to show: what is recommended is what is popular.");
  const rows = [...found.history].sort((a, b) => b.count - a.count);
  return readings(
    rows.map((one) => ({ ...one, link: link("item", { id: one.item }, one.name) })),
    { what: "item", wide: true },
  );
}

function similar({ users }) {
  return el(
    "ul.tiles",
    users.map((one) =>
      el(
        "li",
        link("user", { id: one.user }, el("b", String(one.user)), el("small", `${percent(one.similarity)} alike`)),
      ),
    ),
  );
}
