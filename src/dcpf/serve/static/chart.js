// Charts in SVG, drawn anew at every width so that their text keeps its size.

import { el, svg } from "./dom.js";
import { tick } from "./format.js";

const EDGE = { top: 34, right: 18, bottom: 44, left: 58 };

/**
 * A figure with two axes. An axis is {label, log, from, to, format}. A mark is {kind, points, name, class}: a "line"
 * or "dots" through [x, y], "bars" of [from, to, y], a "band" between [x, low, high], or a "rule" at x with its text.
 * The first mark with `near` tells its values under the pointer, by `near(point)`.
 */
export function chart({ x, y, marks, summary }) {
  const box = el("div.chart");
  const told = el("output.told", { "aria-hidden": "true" });
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now && now !== width) box.replaceChildren(drawn((width = now), { x, y, marks, summary, told }), told);
  }).observe(box);
  return el("figure", key(marks), box);
}

function drawn(width, { x, y, marks, summary, told }) {
  const height = Math.round(Math.min(340, Math.max(230, width * 0.5)));
  const inner = { left: EDGE.left, right: width - EDGE.right, top: EDGE.top, bottom: height - EDGE.bottom };
  const px = scale(x, inner.left, inner.right);
  const py = scale(y, inner.bottom, inner.top);
  const across = ticks(x, width < 480 ? 5 : 8);
  const up = ticks(y, 5);
  const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": summary });
  for (const value of up) {
    root.append(
      svg("line", { class: "grid", x1: inner.left, x2: inner.right, y1: py(value), y2: py(value) }),
      svg(
        "text",
        { class: "tick", x: inner.left - 8, y: py(value) + 4, "text-anchor": "end" },
        (y.format ?? tick)(value),
      ),
    );
  }
  for (const value of across) {
    root.append(
      svg("line", { class: "notch", x1: px(value), x2: px(value), y1: inner.bottom, y2: inner.bottom + 5 }),
      svg(
        "text",
        { class: "tick", x: px(value), y: inner.bottom + 19, "text-anchor": "middle" },
        (x.format ?? tick)(value),
      ),
    );
  }
  root.append(
    svg("line", { class: "base", x1: inner.left, x2: inner.right, y1: inner.bottom, y2: inner.bottom }),
    svg("text", { class: "label", x: inner.right, y: height - 4, "text-anchor": "end" }, x.label),
    svg("text", { class: "label", x: 2, y: 14 }, y.label),
    ...marks.map((mark) => SHAPES[mark.kind](mark, px, py, inner)),
  );
  const probe = marks.find((mark) => mark.near);
  if (probe) root.append(pointer(probe, px, py, inner, told));
  return root;
}

const SHAPES = {
  line: ({ points, class: look }, px, py) =>
    svg("path", {
      class: `line ${look}`,
      d: `M${points.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join("L")}`,
    }),
  dots: ({ points, class: look }, px, py) =>
    svg(
      "g",
      { class: look },
      points.map(([a, b]) => svg("circle", { cx: px(a), cy: py(b), r: 3.5 })),
    ),
  bars: ({ points, class: look }, px, py, inner) =>
    svg(
      "g",
      { class: look },
      points.map(([from, to, value]) => {
        const [left, right] = [px(from) + 0.75, px(to) - 0.75];
        const top = Math.min(py(value), inner.bottom);
        return svg("rect", { x: left, width: Math.max(1, right - left), y: top, height: inner.bottom - top });
      }),
    ),
  rule: ({ at, text, class: look }, px, py, inner) => {
    const right = px(at) > (inner.left + inner.right) / 2;
    return svg(
      "g",
      { class: `rule ${look}` },
      svg("line", { x1: px(at), x2: px(at), y1: inner.top, y2: inner.bottom }),
      svg("text", { x: px(at) + (right ? -7 : 7), y: inner.top + 12, "text-anchor": right ? "end" : "start" }, text),
    );
  },
  band: ({ points, class: look }, px, py) => {
    const there = points.map(([a, low]) => `${px(a).toFixed(1)},${py(low).toFixed(1)}`);
    const back = points.map(([a, , high]) => `${px(a).toFixed(1)},${py(high).toFixed(1)}`).reverse();
    return svg("path", { class: `band ${look}`, d: `M${[...there, ...back].join("L")}Z` });
  },
};

/** The values at the point that is nearest to the pointer. */
function pointer(mark, px, py, inner, told) {
  const hair = svg("line", { class: "hair", y1: inner.top, y2: inner.bottom, visibility: "hidden" });
  const seen = svg("circle", { class: "hair", r: 5, visibility: "hidden" });
  const show = (event) => {
    const at = event.offsetX;
    const [a, b] = mark.points.reduce((best, one) =>
      Math.abs(px(one[0]) - at) < Math.abs(px(best[0]) - at) ? one : best,
    );
    for (const node of [hair, seen]) node.setAttribute("visibility", "visible");
    hair.setAttribute("x1", px(a));
    hair.setAttribute("x2", px(a));
    seen.setAttribute("cx", px(a));
    seen.setAttribute("cy", py(b));
    told.textContent = mark.near([a, b]);
  };
  const hide = () => {
    for (const node of [hair, seen]) node.setAttribute("visibility", "hidden");
    told.textContent = "";
  };
  const area = { x: inner.left, y: inner.top, width: inner.right - inner.left, height: inner.bottom - inner.top };
  return svg(
    "g",
    {},
    hair,
    seen,
    svg("rect", { class: "area", ...area, pointermove: show, pointerdown: show, pointerleave: hide }),
  );
}

function key(marks) {
  const named = marks.filter((mark) => mark.name);
  if (!named.length) return null;
  return el(
    "p.legend",
    named.map((mark) => el("span", el("i", { class: `key ${mark.kind} ${mark.class}` }), mark.name)),
  );
}

function scale({ log, from, to }, low, high) {
  const lift = log ? (value) => Math.log(Math.max(value, from)) : (value) => value;
  const [a, b] = [lift(from), lift(to)];
  return (value) => low + ((lift(value) - a) / (b - a || 1)) * (high - low);
}

/** Round values between the ends of an axis, at most so many. */
export function ticks({ log, from, to }, most) {
  if (log) {
    const powers = range(Math.ceil(Math.log10(from) - 1e-9), Math.floor(Math.log10(to) + 1e-9));
    const within = (value) => value >= from * 0.999 && value <= to * 1.001;
    if (powers.length < 3) {
      const fine = range(Math.floor(Math.log10(from)), Math.ceil(Math.log10(to))).flatMap((e) =>
        [1, 2, 5].map((m) => m * 10 ** e),
      );
      return fine.filter(within);
    }
    const step = Math.ceil(powers.length / most);
    return powers.filter((_, j) => j % step === 0).map((e) => 10 ** e);
  }
  const rough = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((m) => m * power).find((one) => one >= rough * 0.999);
  return range(Math.ceil(from / step - 1e-9), Math.floor(to / step + 1e-9)).map((j) =>
    Number((j * step).toPrecision(12)),
  );
}

const range = (from, to) => Array.from({ length: Math.max(0, to - from + 1) }, (_, j) => from + j);
