// What if: a history put together by hand, from nothing or from a user's, and what would follow from it.
// The address holds the user to start from and what was changed: item=7&count=40, or count=0 for an item taken away.

import { get, post } from "./service.js";
import { axis, grid, head, legend, moveBar, readingBar, sessionsText, unfolding } from "./bars.js";
import { address, el, link, section } from "./dom.js";
import { listed, several } from "./format.js";
import { recommendations } from "./recommendations.js";
import { findItems, findUsers, leadingTo, search } from "./search.js";

const PAUSE = 80; // milliseconds of quiet before the service is asked
const MOST = 2 ** 31 - 1; // the largest count that the model takes
const FIRST = 10; // the count of an item that was just added
const STEPS = 1000; // of the slider
const FOLD = 20; // items of a long history that are shown at first

/** The view of a history that is being put together. */
export async function whatIf(query, { signal, model }) {
  const user = query.get("user");
  const [items, counts] = [query.getAll("item"), query.getAll("count").map(asCount)];
  const changes = new Map(items.map((item, j) => [item, counts[j] ?? FIRST]));
  const start = user === null ? [] : (await get("api/user", { id: user, n: 1000 }, signal)).history;
  const base = new Map([...start].sort((a, b) => b.count - a.count).map((one) => [String(one.item), one]));
  const trial = new Trial({ user, base, changes, scale: axis(model.data.largest), signal });
  await trial.begin();
  return {
    title: user === null ? "What if" : `What if: user ${user}`,
    nodes: [
      el("h1", user === null ? "What if somebody had …" : `What if user ${user} had …`),
      el(
        "p.lede",
        "Add an item, drag its bar, take one away: the recommendations follow at once. Nothing here is kept, and ",
        "the model stays as it is.",
      ),
      el(
        "div.fields",
        search({
          label: "Add an item",
          find: findItems,
          choose: (one) => trial.add(one),
          clear: true,
          hint: "name or id",
        }),
        leadingTo("what-if", { label: "Start from a user", find: findUsers, hint: "user id", key: "user" }),
        el("a.button", { href: address("what-if") }, "Start from nothing"),
      ),
      el(
        "div.columns.lively",
        section("The history", trial.history),
        section("What would be recommended", trial.told, trial.list),
      ),
    ],
  };
}

/** A history on trial: its rows, and the list that goes with it. */
class Trial {
  constructor({ user, base, changes, scale, signal }) {
    Object.assign(this, { user, base, changes, scale, signal });
    this.rows = new Map(); // the row of each item by its id
    this.names = new Map(); // of items that were added
    this.before = null; // the ranks without any change
    this.asked = 0;
    this.folded = true;
    this.history = el("div.trial", { style: grid(scale) });
    this.list = el("div", { "aria-busy": "false" });
    this.told = el("p.unseen", { role: "status" });
  }

  /** Draw the history and wait for its first list. */
  async begin() {
    this.draw();
    if (this.user !== null && this.changes.size) {
      const plain = await this.recommend([...this.base.values()], 0);
      this.before = ranks(plain.items);
    }
    this.answer(await this.recommend(this.now(), 4));
    this.before ??= this.user === null ? null : ranks(this.latest);
  }

  /** The history as it stands: the user's, with what was changed; what was added comes first. */
  now() {
    const added = [...this.changes].filter(([item, count]) => count > 0 && !this.base.has(item)).reverse();
    const kept = [...this.base.values()].map((one) => ({
      ...one,
      count: this.changes.get(String(one.item)) ?? one.count,
    }));
    return [...added.map(([item, count]) => ({ item, count })), ...kept.filter((one) => one.count > 0)];
  }

  add({ id, label }) {
    const item = String(id);
    if (!this.rows.has(item)) {
      this.names.set(item, label);
      if (this.base.has(item)) this.changes.delete(item);
      else this.changes.set(item, FIRST);
      this.changed({ rows: true });
    }
    if (!this.rows.get(item).node.isConnected) this.unfold();
    this.rows.get(item).field.select();
  }

  set(item, count) {
    if (this.base.get(item)?.count === count) this.changes.delete(item);
    else this.changes.set(item, count);
    this.changed();
  }

  remove(item) {
    const next = this.rows.get(item).node.nextElementSibling?.querySelector("button");
    if (this.base.has(item)) this.changes.set(item, 0);
    else this.changes.delete(item);
    this.changed({ rows: true });
    (next ?? document.getElementById("main")).focus();
  }

  /** Something was changed: the address tells it, and the list follows. */
  changed({ rows = false } = {}) {
    const query = new URLSearchParams(this.user === null ? {} : { user: this.user });
    for (const [item, count] of this.changes) {
      query.append("item", item);
      query.append("count", count);
    }
    const text = query.toString();
    history[rows ? "pushState" : "replaceState"]({ seen: true }, "", `#/what-if${text ? `?${text}` : ""}`);
    if (rows) this.draw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PAUSE);
  }

  async ask() {
    const turn = (this.asked += 1);
    this.list.setAttribute("aria-busy", "true");
    try {
      const answer = await this.recommend(this.now(), 4);
      if (turn === this.asked && !this.signal.aborted) this.answer(answer); // an older answer may come later
    } catch (error) {
      if (turn !== this.asked || this.signal.aborted) return;
      const again = el("button", { click: () => this.ask() }, "Try again");
      this.list.replaceChildren(el("p.empty", `${error.message} `, again));
    } finally {
      if (turn === this.asked) this.list.setAttribute("aria-busy", "false");
    }
  }

  recommend(history, why) {
    const given = history.map(({ item, count }) => ({ item, count }));
    return post("api/recommend", { history: given, n: 12, why }, this.signal);
  }

  /** Show the list, and the sessions that were read into each count. */
  answer({ items, history: read = [], unknown_items: unknown }) {
    for (const one of read) this.rows.get(String(one.item))?.tell(one);
    for (const item of unknown) this.rows.get(String(item))?.miss();
    const open = new Set([...this.list.querySelectorAll("li:has(details[open])")].map((node) => node.dataset.item));
    const places = new Map(
      [...this.list.querySelectorAll("ol > li[data-item]")].map((node) => [node.dataset.item, node.offsetTop]),
    );
    this.list.replaceChildren(
      items.length ? recommendations(items, this.before) : el("p.empty", "Nothing is left to recommend."),
    );
    for (const node of this.list.querySelectorAll("li[data-item]")) {
      const details = node.querySelector("details");
      if (details) details.open = open.has(node.dataset.item);
      if (places.has(node.dataset.item)) glide(node, places.get(node.dataset.item) - node.offsetTop);
    }
    this.latest = items;
    if (!this.rows.size) this.draw();
    this.told.textContent = items.length
      ? `Recommended first: ${listed(items.slice(0, 3).map((one) => one.name))}.`
      : "";
  }

  draw() {
    const history = this.now();
    const old = this.rows;
    this.rows = new Map(history.map((one) => [String(one.item), old.get(String(one.item)) ?? this.row(one)]));
    if (!history.length) return this.history.replaceChildren(...this.beginnings());
    const list = el("ol.readings");
    const more = unfolding(
      list,
      [...this.rows.values()].map((row) => () => row.node),
      this.folded ? FOLD : Infinity,
    );
    more?.addEventListener("click", () => this.unfold());
    const above = [legend(this.scale), head(this.scale, several(history.length, "item"), el("span"))];
    this.history.replaceChildren(...above, list, ...(more ? [more] : []));
  }

  unfold() {
    this.folded = false;
    this.draw();
  }

  /** What to do with nothing: take something that many have. */
  beginnings() {
    const take = (one) => el("button", { click: () => this.add({ id: one.item, label: one.name }) }, one.name);
    return [
      el(
        "p.empty",
        "Nothing yet: this is somebody of whom nothing is known. Add an item above, or take one of these.",
      ),
      el("div.chips", (this.latest ?? []).slice(0, 8).map(take)),
    ];
  }

  row(one) {
    const item = String(one.item);
    const name = link("item", { id: item }, one.name ?? this.names.get(item) ?? item);
    const field = el("input", { type: "number", min: 1, max: MOST, value: one.count, "aria-label": "Count" });
    const slider = el("input", {
      type: "range",
      min: 0,
      max: STEPS,
      value: this.place(one.count),
      tabindex: -1,
      "aria-hidden": "true",
    });
    const bar = readingBar(this.scale, one.count, one.sessions ?? 1);
    const sessions = el("span.figure.read-figure", one.sessions === undefined ? "" : sessionsText(one.sessions));
    let told = one.sessions ?? 1;
    const move = (count) => {
      moveBar(bar, this.scale, count, told);
      this.set(item, count);
    };
    field.addEventListener("input", () => {
      if (!field.checkValidity() || field.value === "") return;
      slider.value = this.place(Number(field.value));
      move(asCount(field.value));
    });
    slider.addEventListener("input", () => {
      field.value = this.value(Number(slider.value));
      move(Number(field.value));
    });
    const remove = el("button.remove", { click: () => this.remove(item) }, "×");
    const called = (text) => {
      name.textContent = text;
      field.setAttribute("aria-label", `Count of ${text}`);
      remove.setAttribute("aria-label", `Take ${text} away`);
    };
    called(name.textContent);
    return {
      node: el("li", name, el("span.drag", bar, slider), field, sessions, remove),
      field,
      tell: (read) => {
        told = read.sessions;
        called(read.name);
        sessions.textContent = sessionsText(told);
        moveBar(bar, this.scale, Number(field.value), told);
      },
      miss: () => (sessions.textContent = "unknown"),
    };
  }

  place(count) {
    return Math.round(STEPS * this.scale.place(count));
  }

  /** The count at a place of the slider. */
  value(place) {
    let [low, high] = [1, MOST];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (STEPS * this.scale.place(middle) < place) low = middle + 1;
      else high = middle;
    }
    return low > 20 ? Number(low.toPrecision(2)) : low;
  }
}

const asCount = (text) => Math.min(MOST, Math.max(0, Math.round(Number(text)) || 0));

const ranks = (items) => new Map(items.map((one, j) => [String(one.item), j]));

/** Let a row slide from where it was. */
function glide(node, by) {
  if (!by || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  node.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: 250, easing: "ease-out" });
}
