// Components, which the page calls tastes: a name that needs no explanation.

import { shares } from "./bars.js";
import { el, link } from "./dom.js";

/** Components by their share, each called by its top items. */
export function tastes(components, about) {
  const few = components.filter((one) => one.share >= 0.01).slice(0, 8);
  return [
    el("p", about),
    shares(few.map((one) => ({ content: link("component", { number: one.number }, called(one)), share: one.share }))),
  ];
}

/** A component has no name; its first items say what it is. */
export const called = ({ items }) =>
  items
    .slice(0, 3)
    .map((one) => one.name)
    .join(", ");
