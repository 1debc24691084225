// Elements are made here and nowhere else. What comes as a string goes in as text: a name is never markup.

/**
 * An HTML element, such as el("p.lede", { id: "first" }, "text", child). Attributes may be left out. Those that are
 * functions listen; `style` is set property by property, as the content policy asks.
 */
export function el(kind, ...given) {
  const [tag, ...classes] = kind.split(".");
  const [attributes, ...children] = isAttributes(given[0]) ? given : [{}, ...given];
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(" ");
  return filled(node, attributes, children);
}

const isAttributes = (value) => value?.constructor === Object;

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** A link to a view: the address is the state. */
export function link(view, query, ...children) {
  return el("a", { href: address(view, query) }, ...children);
}

/** The address of a view, such as #/user?id=alice. */
export function address(view, query = {}) {
  const text = new URLSearchParams(query).toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

/** A section with a heading. */
export function section(title, ...children) {
  return el("section", el("h2", title), ...children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
