// The shell: which view the address names, what is shown while it loads, and what when it cannot be shown.

import { borrowToken, get, keepToken, onSwap, takeToken } from "./service.js";
import { component, components } from "./components.js";
import { el, link } from "./dom.js";
import { several } from "./format.js";
import { item } from "./item.js";
import { model } from "./model.js";
import { user } from "./user.js";
import { whatIf } from "./what-if.js";

const VIEWS = { user, "what-if": whatIf, item, components, component, model };
const WATCH = 15_000; // milliseconds between looks at whether the model was replaced
const RETRY = 4_000; // and between attempts to reach a service that is gone

const main = document.getElementById("main");
const busy = document.getElementById("busy");
let card = null; // what the service says of its model, until that changes
let showing = new AbortController();
let retry;
const places = new Map(); // how far down each address was read, for those who come back

/** Show what the address names; after a move there, from its top or from where it was left. */
async function show({ moved = false } = {}) {
  takeToken();
  showing.abort();
  showing = new AbortController();
  const { signal } = showing;
  clearTimeout(retry);
  const [name, text = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const view = Object.hasOwn(VIEWS, name || "user") ? VIEWS[name || "user"] : nowhere;
  markView(name || "user");
  const wait = setTimeout(() => (busy.hidden = false), 150);
  let shown;
  try {
    card ??= await get("api/model", {}, signal);
    document.getElementById("served").textContent =
      `${card.file.name}: ${several(card.users, "user")} × ${several(card.items, "item")}`;
    shown = await view(new URLSearchParams(text), { signal, model: card });
  } catch (error) {
    if (signal.aborted) return;
    shown = await excuse(error);
    if (!shown) return;
  } finally {
    clearTimeout(wait);
    if (!signal.aborted) busy.hidden = true;
  }
  if (signal.aborted) return;
  main.replaceChildren(...shown.nodes.filter(Boolean));
  document.title = `${shown.title} · dcpf`;
  if (moved) {
    const heading = main.querySelector("h1");
    heading.tabIndex = -1; // so that readers of the screen start here
    heading.focus({ preventScroll: true });
    window.scrollTo(0, history.state?.seen ? (places.get(location.hash) ?? 0) : 0);
  }
  history.replaceState({ seen: true }, "");
}

function markView(name) {
  const of = { component: "components" }[name] ?? name;
  for (const anchor of document.querySelectorAll("nav a")) {
    if (anchor.hash === `#/${of}`) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
}

/** What to show instead of a view, and what to do about it. */
async function excuse(error) {
  if (error.status === 401) return (await borrowToken()) ? void show() : askForToken();
  if (error.kind === "gone" || error.status === 503) {
    retry = setTimeout(show, RETRY);
    const gone = error.kind === "gone";
    return {
      title: "No answer",
      nodes: [
        el("h1", gone ? "The service does not answer" : "The service is busy"),
        el("p.lede", gone ? "Is dcpf serve still running? Start it again in its terminal. " : `${error.message} `),
        el("p", "This page tries again every few seconds. ", el("button", { click: () => show() }, "Try now")),
      ],
    };
  }
  if (error.kind === "no_history") return withoutHistory();
  if (!(error.status > 0)) console.error(error);
  return {
    title: "Not found",
    nodes: [
      el("h1", error.status === 404 ? "The model does not know this one" : "That did not work"),
      el("p.lede", error.message.replace(/; \/api\/.*/, "")), // that was for programs
      el(
        "p",
        "Search among ",
        link("user", {}, "users"),
        " or ",
        link("item", {}, "items"),
        ", or ",
        link("what-if", {}, "start from nothing"),
        ".",
      ),
    ],
  };
}

function withoutHistory() {
  return {
    title: "No history",
    nodes: [
      el("h1", "This model has no history"),
      el(
        "p.lede",
        "The file was saved without the counts that the model was fitted to, so it cannot tell what a user had. ",
        link("what-if", {}, "Put a history together"),
        " to see recommendations, or fit again and keep the counts.",
      ),
    ],
  };
}

function askForToken() {
  const field = el("input", { id: "token", type: "password", autocomplete: "off", required: true });
  const submit = (event) => {
    event.preventDefault();
    keepToken(field.value);
    show({ moved: true });
  };
  return {
    title: "Token",
    nodes: [
      el("h1", "This page needs its token"),
      el(
        "p.lede",
        "Open the address that ",
        el("code", "dcpf serve"),
        " printed in the terminal: it carries the token. Or paste the token here.",
      ),
      el("form.token", { submit }, el("label", { for: "token" }, "Token"), field, el("button", "Open")),
    ],
  };
}

async function nowhere() {
  return {
    title: "Not found",
    nodes: [
      el("h1", "There is no such view"),
      el("p.lede", "The address may have been cut off. ", link("user", {}, "Start with a user"), "."),
    ],
  };
}

/** Tell of something in passing. */
function note(text) {
  const box = el("p.note", text, el("button", { "aria-label": "Close", click: () => box.remove() }, "×"));
  document.getElementById("notes").replaceChildren(box);
}

onSwap(() => {
  card = null;
  note("A newer model is served. What you see is from it.");
  show();
});
setInterval(() => {
  if (document.visibilityState === "visible" && card) get("api/users", { limit: 1 }).catch(() => {});
}, WATCH);
history.scrollRestoration = "manual"; // views load later than the browser would scroll
window.addEventListener("hashchange", ({ oldURL }) => {
  places.set(new URL(oldURL).hash, window.scrollY);
  show({ moved: true });
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address holds the view, not the place on the page
  main.focus();
});
show();
