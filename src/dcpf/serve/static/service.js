// Talks to the service: the token, errors as they are told, and whether another model is served by now.

const KEY = "dcpf-token";
const PATIENCE = 400; // milliseconds for other tabs to answer
const siblings = new BroadcastChannel(KEY); // a link opened in a new tab finds the token in the old one

/** What went wrong. Its kind is the service's, or "gone" when nothing answers. */
export class Problem extends Error {
  constructor(kind, message, status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

/** Take the token out of the address, where it would be shared and remembered. */
export function takeToken() {
  const found = /^#token=(.*)$/s.exec(location.hash);
  if (!found) return;
  keepToken(decoded(found[1]));
  history.replaceState(null, "", location.pathname);
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // cut off or mistyped; the service will say so
  }
}

/** Keep the token for as long as this tab lives. */
export function keepToken(token) {
  sessionStorage.setItem(KEY, token.trim());
}

/** Ask the other tabs of this page for the token; true if one of them gave another than we have. */
export function borrowToken() {
  return new Promise((resolve) => {
    const end = (found) => {
      clearTimeout(timer);
      siblings.onmessage = answerSibling;
      resolve(found);
    };
    const timer = setTimeout(end, PATIENCE, false);
    siblings.onmessage = ({ data: { token } }) => {
      if (!token) return; // a tab that asks as we do
      const another = token !== sessionStorage.getItem(KEY);
      keepToken(token);
      end(another);
    };
    siblings.postMessage({ wanted: true });
  });
}

function answerSibling({ data }) {
  const token = sessionStorage.getItem(KEY);
  if (data.wanted && token) siblings.postMessage({ token });
}
siblings.onmessage = answerSibling;

let revision = null;
let swapped = () => {};

/** Call this when the service has come to serve another model. */
export function onSwap(callback) {
  swapped = callback;
}

/** GET a path of the service; what is null or undefined in the query is left out. */
export function get(path, query = {}, signal = undefined) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const text = new URLSearchParams(given).toString();
  return ask(text ? `${path}?${text}` : path, { signal });
}

/** POST JSON to a path of the service. */
export function post(path, body, signal = undefined) {
  const headers = { "Content-Type": "application/json" };
  return ask(path, { method: "POST", body: JSON.stringify(body), headers, signal });
}

async function ask(path, { headers = {}, ...rest }) {
  const token = sessionStorage.getItem(KEY);
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { ...rest, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("gone", "The service does not answer.");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    const told = answer.error ?? {};
    throw new Problem(
      told.kind ?? "error",
      told.message ?? `The service answered ${response.status}.`,
      response.status,
    );
  }
  notice(response.headers.get("X-Model-Revision"));
  return answer;
}

function notice(current) {
  const before = revision;
  revision = current ?? revision;
  if (before !== null && current !== null && before !== current) swapped();
}
