// SPDX-License-Identifier: Apache-2.0
// A form with a field for every input of a model: a drawing or an image where the shape is one's, else elements.
import { element, shapeText } from "./text.js";
import {
  PIXEL_SCALES, count, dataInput, imageInput, imageLayout, parseShape, randomText, takesPixels,
} from "./tensor.js";

const DRAWING = 280, PEN = 22, MOST_ELEMENTS = 4096;
const LARGEST_DRAWN = 64;  // models of images larger than this are for photographs

let serial = 0;
const freshId = (name) => `${name}-${++serial}`;

function button(text, click, attributes = {}) {
  return element("button", { type: "button", click, ...attributes }, text);
}

/** White on black, by pointer; arrow keys and space do the same without one. */
function drawing(changed) {
  const canvas = element("canvas", { width: DRAWING, height: DRAWING, class: "drawing", tabindex: 0, role: "img",
    "aria-label": "Drawing area. Draw by pointer, or move by arrow keys while holding shift to draw." });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  let last = null, pen = [DRAWING / 2, DRAWING / 4];
  const clear = () => {
    context.fillStyle = "#000";
    context.fillRect(0, 0, DRAWING, DRAWING);
    last = null;
  };
  const stroke = (from, to) => {
    Object.assign(context, { strokeStyle: "#fff", lineWidth: PEN, lineCap: "round", lineJoin: "round" });
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    changed();
  };
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * DRAWING / box.width, (event.clientY - box.top) * DRAWING / box.height];
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = at(event);
    stroke(last, last);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    const next = at(event);
    stroke(last, next);
    last = next;
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (last = null));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-12, 0], ArrowRight: [12, 0], ArrowUp: [0, -12], ArrowDown: [0, 12] }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = pen.map((value, i) => Math.min(DRAWING, Math.max(0, value + step[i])));
    if (event.shiftKey) stroke(pen, next);
    pen = next;
  });
  clear();
  return { canvas, clear };
}

/** The field of an image: drawn where the model is small, else a file. */
function imageField(info, layout) {
  const isDrawn = Math.max(layout.width, layout.height) <= LARGEST_DRAWN;
  let source = null, isFile = false;
  const pad = isDrawn ? drawing(() => (isFile = false)) : null;
  const preview = element("img", { class: "preview", alt: "The chosen image", hidden: true });
  const scale = element("select", { "aria-label": "Values of pixels" },
    ...Object.keys(PIXEL_SCALES).map((name) => element("option", {}, name)));
  if (layout.channels === 1) scale.lastChild.remove();
  const file = element("input", { type: "file", accept: "image/*", id: freshId("file"), change: async () => {
    if (!file.files.length) return;
    const bitmap = await createImageBitmap(file.files[0]).catch(() => null);
    if (!bitmap) return file.setCustomValidity("this is no image that the browser reads");
    file.setCustomValidity("");
    if (preview.src) URL.revokeObjectURL(preview.src);
    preview.src = URL.createObjectURL(file.files[0]);
    preview.hidden = false;
    [source, isFile] = [bitmap, true];
  } });
  const rows = [element("legend", {}, info.name, " ", element("small", { class: "soft" },
    `${info.datatype} ${layout.width} x ${layout.height}, ${layout.channels === 1 ? "grey" : "color"}`))];
  if (pad) {
    rows.push(pad.canvas, element("div", { class: "row" }, button("Clear", () => {
      pad.clear();
      preview.hidden = true;
      file.value = "";
      isFile = false;
    })));
  }
  const row = (...children) => rows.push(element("div", { class: "row" }, ...children));
  row(element("label", { for: file.id }, isDrawn ? "or a file" : "File"), file);
  rows.push(preview);
  if (info.datatype !== "UINT8") row(element("label", {}, "Pixels from", scale));
  return {
    node: element("fieldset", {}, ...rows),
    read() {
      if (!file.checkValidity()) throw new Error(file.validationMessage);
      const canvas = isFile ? source : pad?.canvas;
      if (!canvas) throw new Error(`input '${info.name}': choose an image first`);
      return imageInput(info, layout, canvas, scale.value);
    },
  };
}

/** The field of elements: their shape, and themselves. */
function dataField(info) {
  const shape = info.shape.map((size) => (size < 0 ? 1 : size));
  const [shapeId, dataId] = [freshId("shape"), freshId("data")];
  const isFixed = !info.shape.some((size) => size < 0);
  const shapeBox = element("input", { id: shapeId, class: "shape", value: shape.join("x"), readonly: isFixed });
  const box = element("textarea", { id: dataId, spellcheck: "false", "aria-label": `Elements of ${info.name}` });
  const fill = (text) => () => {
    try {
      box.value = text(parseShape(shapeBox.value));
    } catch (error) {
      box.value = error.message;
    }
  };
  const zero = info.datatype === "BYTES" ? "" : info.datatype === "BOOL" ? "false" : "0";
  if (count(shape) <= MOST_ELEMENTS) box.value = randomText(info.datatype, shape);
  const separator = info.datatype === "BYTES" ? "\n" : ", ";
  return {
    node: element("fieldset", {},
      element("legend", {}, info.name, " ",
        element("small", { class: "soft" }, `${info.datatype} ${shapeText(info.shape)}`)),
      element("div", { class: "row" }, element("label", { for: shapeId }, "Shape"), shapeBox,
        button("Random", fill((sizes) => randomText(info.datatype, sizes))),
        button("Zeros", fill((sizes) => Array(count(sizes)).fill(zero).join(separator)))),
      box),
    read: () => dataInput(info, shapeBox.value, box.value),
  };
}

/** Fills the form; `send` is called with the inputs, `refuse` with an Error where they are wrong. */
export function fillForm(form, inputs, send, refuse) {
  const fields = inputs.map((info) => {
    const layout = takesPixels(info.datatype) ? imageLayout(info.shape) : null;
    return layout ? imageField(info, layout) : dataField(info);
  });
  const submit = element("button", { class: "main", type: "submit" }, "Send");
  form.replaceChildren(...fields.map(({ node }) => node), element("div", { class: "row" }, submit));
  form.onsubmit = async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      await send(fields.map((field) => field.read()));
    } catch (error) {
      refuse(error);
    } finally {
      submit.disabled = false;
    }
  };
}
