// SPDX-License-Identifier: Apache-2.0
// Curves over the last two minutes, drawn anew whenever a sample comes.
import { element, svg } from "./text.js";

export const WINDOW_MS = 120_000;
const HEIGHT = 130, TOP = 10, BOTTOM = 18, LEFT = 2, RIGHT = 58;

/** The least of 1, 2, 5, 10, 20, ... (times a power of ten) that is not below the value. */
function ceiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 5]) if (value <= step * power) return step * power;
  return 10 * power;
}

/** Points of runs of samples that have the value. */
function runs(samples, value, x, y) {
  const found = [];
  let open = null;
  for (const sample of samples) {
    const number = value(sample);
    if (!Number.isFinite(number)) {
      open = null;
      continue;
    }
    if (!open) found.push((open = []));
    open.push([x(sample.at), y(number)]);
  }
  return found;
}

/** A path through the points; one alone is a dot. */
const line = (points) =>
  `M${points.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L")}${points.length > 1 ? "" : "h0.01"}`;

export class Plot {
  /** series: {name, className ("first", "second"), value(sample)}; text: a number as it is written. */
  constructor(title, series, text) {
    Object.assign(this, { title, series, text, samples: [], cursor: null });
    this.output = element("output", {}, "-");
    const keys = series.length < 2 ? [] : series.map(({ name, className }) =>
      element("span", { class: "key" }, element("i", { class: className, "aria-hidden": "true" }), name));
    this.svg = svg("svg", { role: "img", height: HEIGHT });
    this.svg.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.svg.addEventListener("pointerleave", () => this.point(null));
    this.figure = element("figure", { class: "plot" },
      element("figcaption", {}, element("span", {}, title), ...keys, this.output), this.svg);
  }

  point(x) {
    this.cursor = x;
    this.draw(this.samples, this.now ?? Date.now());
  }

  draw(samples, now) {
    this.samples = samples;
    this.now = now;
    const width = Math.max(160, this.svg.clientWidth || 300);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const values = samples.flatMap((sample) => this.series.map(({ value }) => value(sample))).filter(Number.isFinite);
    const top = ceiling(Math.max(0, ...values));
    const x = (at) => LEFT + (1 - (now - at) / WINDOW_MS) * (width - LEFT - RIGHT);
    const y = (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
    const parts = [];
    for (const share of [0, 0.5, 1]) {
      const at = y(top * share);
      parts.push(svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: at, y2: at }),
        svg("text", { x: width - RIGHT + 5, y: at + 4 }, this.text(top * share)));
    }
    parts.push(svg("text", { x: LEFT, y: HEIGHT - 4 }, "2 min ago"),
      svg("text", { x: width - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, "now"));
    for (const { className, value } of this.series) {
      for (const points of runs(samples, value, x, y)) {
        const [first, last] = [points[0], points[points.length - 1]];
        parts.push(
          svg("path", { class: `area ${className}`, d: `${line(points)}L${last[0]} ${y(0)}L${first[0]} ${y(0)}Z` }),
          svg("path", { class: `curve ${className}`, d: line(points) }));
      }
    }
    const shown = this.shown(x);
    if (shown && this.cursor !== null)
      parts.push(svg("line", { class: "cursor", x1: x(shown.at), x2: x(shown.at), y1: TOP, y2: HEIGHT - BOTTOM }));
    this.svg.replaceChildren(...parts);
    this.label(shown, values);
  }

  /** The sample under the pointer, else the last one. */
  shown(x) {
    if (this.cursor === null || !this.samples.length) return this.samples[this.samples.length - 1];
    return this.samples.reduce((best, sample) =>
      Math.abs(x(sample.at) - this.cursor) < Math.abs(x(best.at) - this.cursor) ? sample : best);
  }

  label(shown, values) {
    const now = this.series.map(({ value }) => (shown ? value(shown) : NaN));
    this.output.textContent = now.map((value) => (Number.isFinite(value) ? this.text(value) : "-")).join(" / ");
    const most = values.length ? this.text(Math.max(...values)) : "nothing";
    const label = `${this.title}: now ${this.output.textContent}, at most ${most} in two minutes`;
    this.svg.setAttribute("aria-label", label);
  }
}

/** A small curve without axes. */
export function sparkline(samples, value, now) {
  const [width, height] = [300, 34];
  const top = ceiling(Math.max(0, ...samples.map(value).filter(Number.isFinite)));
  const points = runs(samples, value, (at) => (1 - (now - at) / WINDOW_MS) * width,
    (number) => 2 + (1 - number / top) * (height - 4));
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    ...points.map((run) => svg("path", { class: "curve first", d: line(run), "vector-effect": "non-scaling-stroke" })));
}
