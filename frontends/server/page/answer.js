// SPDX-License-Identifier: Apache-2.0
// Shows what a model answered: the largest of classes, a picture, or elements.
import { element, msText, numberText, shapeText } from "./text.js";
import { count, imageLayout } from "./tensor.js";

const MOST_CLASSES = 100_000, SHOWN_CLASSES = 5, SHOWN_ELEMENTS = 64;

const isFloat = ({ datatype }) => datatype.startsWith("FP") || datatype === "BF16";

/** All but one axis of size 1, and enough elements to choose from. */
function isScores(output) {
  const sizes = output.shape.filter((size) => size !== 1);
  return isFloat(output) && sizes.length === 1 && sizes[0] >= 3 && sizes[0] <= MOST_CLASSES;
}

/** The values where they are shares already, else their softmax. */
function sharesOf(values) {
  const sum = values.reduce((total, value) => total + value, 0);
  if (values.every((value) => value >= 0) && Math.abs(sum - 1) < 1e-3) return values;
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const raised = values.map((value) => Math.exp(value - most));
  const total = raised.reduce((a, b) => a + b, 0);
  return raised.map((value) => value / total);
}

function classTable({ data }) {
  const shares = sharesOf(data);
  const best = data.map((value, index) => ({ value, index, share: shares[index] }))
    .sort((a, b) => b.value - a.value).slice(0, SHOWN_CLASSES);
  const rows = best.map(({ value, index, share }) => {
    const bar = element("span", { class: "share", "aria-hidden": "true" });
    bar.style.width = `${(100 * share).toFixed(1)}%`;
    return element("tr", {}, element("td", { class: "number" }, String(index)),
      element("td", { class: "number" }, numberText(value)),
      element("td", { class: "number" }, `${(100 * share).toFixed(1)} %`), element("td", { class: "wide" }, bar));
  });
  const heads = ["class", "value", "share"].map((text) => element("th", { scope: "col", class: "number" }, text));
  return element("table", { "data-best": best[0].index },
    element("thead", {}, element("tr", {}, ...heads, element("td"))), element("tbody", {}, ...rows));
}

/** Values spread over black to white. */
function picture({ name, shape, data }) {
  const { channels, height, width, last } = imageLayout(shape);
  const [least, most] = data.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  const canvas = element("canvas", { width, height, class: "preview", role: "img", "aria-label": `Output ${name}` });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let pixel = 0; pixel < width * height; ++pixel) {
    for (let color = 0; color < 3; ++color) {
      const channel = channels === 3 ? color : 0;
      const value = data[last ? pixel * channels + channel : channel * width * height + pixel];
      image.data[4 * pixel + color] = most > least ? 255 * (value - least) / (most - least) : 0;
    }
    image.data[4 * pixel + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function elements({ data }) {
  const shown = data.slice(0, SHOWN_ELEMENTS).map(numberText).join(", ");
  return element("pre", { tabindex: 0, "aria-label": "Elements" },
    data.length > SHOWN_ELEMENTS ? `${shown}, ... (${data.length} elements)` : shown || "no elements");
}

function shown(output) {
  const layout = isFloat(output) && imageLayout(output.shape);
  const body = isScores(output) ? classTable(output)
    : layout && layout.width * layout.height >= 256 && count(output.shape) > 0 ? picture(output) : elements(output);
  return element("section", { class: "output" }, element("p", {}, element("strong", {}, output.name), " ",
    element("small", { class: "soft" }, `${output.datatype} ${shapeText(output.shape)}`)), body);
}

export function showAnswer(place, answer, milliseconds) {
  const outputs = answer.outputs.map((output) => shown({ ...output, data: (output.data ?? []).flat(Infinity) }));
  place.replaceChildren(...outputs, element("p", { class: "soft" },
    `Version ${answer.model_version ?? "?"} answered after ${msText(milliseconds)}, the way there and back included.`));
}

export function showRefusal(place, error) {
  place.replaceChildren(element("p", { class: "trouble" }, error.message));
}
