// A field that finds users or items as one types: a combobox, by keyboard or by hand.

import { get } from "./service.js";
import { address, el } from "./dom.js";
import { several } from "./format.js";

const PAUSE = 120; // milliseconds of quiet before the service is asked
let fields = 0;

/** A search field; `choose` gets the option that was taken, with its id. */
export function search({ label, find, choose, clear = false, hint = "" }) {
  const key = `search-${(fields += 1)}`;
  const input = el("input", {
    id: key,
    type: "text",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": `${key}-list`,
    "aria-autocomplete": "list",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    placeholder: hint,
  });
  const list = el("ul", { id: `${key}-list`, role: "listbox", "aria-label": label });
  const remark = el("p.none");
  const popup = el("div.popup", { hidden: true }, list, remark);
  const told = el("span.unseen", { role: "status" });
  let options = [];
  let active = -1;
  let timer;
  let asking = null;

  function close() {
    clearTimeout(timer);
    asking?.abort();
    popup.hidden = true;
    input.setAttribute("aria-expanded", "false");
    mark(-1);
  }

  function mark(place) {
    active = place;
    [...list.children].forEach((node, j) => {
      node.setAttribute("aria-selected", String(j === place));
      if (j === place) node.scrollIntoView({ block: "nearest" });
    });
    if (place < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `${key}-${place}`);
  }

  function take(option) {
    close();
    input.value = clear ? "" : option.label;
    choose(option);
  }

  async function look() {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    try {
      const found = await find(input.value.trim(), signal);
      if (signal.aborted) return; // an answer that comes late is of no use
      options = found.options;
      show(found.more);
    } catch (error) {
      if (error.name === "AbortError") return;
      options = [];
      list.replaceChildren();
      remark.textContent = error.message;
      popup.hidden = false;
    }
  }

  function show(more) {
    const rows = options.map((option, j) =>
      el(
        "li",
        { id: `${key}-${j}`, role: "option", "aria-selected": "false", click: () => take(option) },
        el("span.name", option.label),
        el("span.aside", option.note),
      ),
    );
    list.replaceChildren(...rows);
    remark.textContent = more
      ? "There are more: type on."
      : rows.length
        ? ""
        : `Nothing is called “${input.value.trim()}”.`;
    popup.hidden = false;
    input.setAttribute("aria-expanded", "true");
    told.textContent = `${several(options.length, "suggestion")}${more ? ", and more" : ""}`;
    mark(-1);
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE);
  }

  async function press(event) {
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (popup.hidden) return void look();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (options.length) mark((active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const typed = input.value.trim();
      if (!typed && active < 0) return void look(); // nothing was asked for yet
      if (active < 0) {
        clearTimeout(timer);
        await look(); // what stands in the field now, not what was asked for a moment ago
      }
      const exact = options.find((option) => String(option.id) === typed || option.label === typed);
      const chosen = options[active] ?? exact ?? options[0];
      if (chosen) take(chosen);
    }
  }

  input.addEventListener("input", later);
  input.addEventListener("click", () => popup.hidden && look());
  input.addEventListener("keydown", press);
  input.addEventListener("blur", close);
  popup.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
  return el("div.search", el("label", { for: key }, label), input, popup, told);
}

/** A search field that leads to the view of what was found. */
export function leadingTo(view, { key = "id", ...options }) {
  return search({ ...options, choose: (one) => (location.hash = address(view, { [key]: one.id })) });
}

/** Users by id; without a text, those with the most items. */
export async function findUsers(text, signal, limit = 8) {
  const { users, more } = await get("api/users", { search: text, limit }, signal);
  return {
    more,
    options: users.map((one) => ({
      ...one,
      label: String(one.id),
      note: one.entries === null ? "" : several(one.entries, "item"),
    })),
  };
}

/** Items by name or id; without a text, the most popular. */
export async function findItems(text, signal, limit = 8) {
  const { items, more } = await get("api/items", { search: text, limit }, signal);
  const options = items.map((one) => ({
    ...one,
    label: one.name ?? String(one.id),
    note: one.users === null ? "" : several(one.users, "user"),
  }));
  return { more, options };
}
