// SPDX-License-Identifier: Apache-2.0
// What the form holds as inputs of a request.

export const count = (shape) => shape.reduce((product, size) => product * size, 1);

/** Where rows, columns and channels of an image lie in a shape; nothing for other shapes. */
export function imageLayout(shape) {
  const open = (size, fallback) => (size > 0 ? size : fallback);
  const usual = 224;
  if (shape.length !== 4 && shape.length !== 3) return null;
  const batched = shape.length === 4;
  if (batched && shape[0] > 1) return null;
  const [a, b, c] = batched ? shape.slice(1) : shape;
  const isChannels = (size) => size === 1 || size === 3;
  const isSide = (size) => size < 0 || size >= 8;
  if (isChannels(a) && isSide(b) && isSide(c))
    return { batched, channels: a, height: open(b, usual), width: open(c, usual), last: false };
  if (isChannels(c) && isSide(a) && isSide(b))
    return { batched, channels: c, height: open(a, usual), width: open(b, usual), last: true };
  return null;
}

export const PIXEL_SCALES = {
  "0 to 1": () => (value) => value / 255,
  "0 to 255": () => (value) => value,
  "-1 to 1": () => (value) => value / 127.5 - 1,
  "ImageNet's mean and deviation": (channel) => (value) =>
    (value / 255 - [0.485, 0.456, 0.406][channel]) / [0.229, 0.224, 0.225][channel],
};

const VIEWS = { FP32: Float32Array, FP64: Float64Array, INT8: Int8Array, UINT8: Uint8Array, INT16: Int16Array,
  UINT16: Uint16Array, INT32: Int32Array, UINT32: Uint32Array };

export const takesPixels = (datatype) => ["FP32", "UINT8"].includes(datatype);

/** The pixels of a canvas as an input of the layout. */
export function imageInput({ name, datatype }, layout, canvas, scaleName) {
  const { channels, height, width, last, batched } = layout;
  const small = document.createElement("canvas");
  small.width = width;
  small.height = height;
  const context = small.getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  context.drawImage(canvas, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const values = new VIEWS[datatype](channels * height * width);
  const scaleNamed = PIXEL_SCALES[datatype === "UINT8" ? "0 to 255" : scaleName];
  const scales = [0, 1, 2].map(scaleNamed);
  for (let pixel = 0; pixel < height * width; ++pixel) {
    const [r, g, b] = data.subarray(4 * pixel, 4 * pixel + 3);
    const colors = channels === 3 ? [r, g, b] : [0.299 * r + 0.587 * g + 0.114 * b];
    for (let c = 0; c < channels; ++c)
      values[last ? pixel * channels + c : c * height * width + pixel] = scales[c](colors[c]);
  }
  const shape = last ? [height, width, channels] : [channels, height, width];
  return { name, datatype, shape: batched ? [1, ...shape] : shape, bytes: values };
}

/** Sizes like 1x3x4, 1,3,4 or [1, 3, 4]. */
export function parseShape(text) {
  const words = text.trim().replace(/^\[|\]$/g, "").split(/[x,\s]+/).filter((word) => word);
  for (const word of words) if (!/^\d{1,9}$/.test(word)) throw new Error(`'${word}' is not a size of a dimension`);
  return words.map(Number);
}

function parseNumber(word, datatype) {
  const lower = word.toLowerCase();
  if (datatype === "BOOL") {
    if (["true", "1"].includes(lower)) return true;
    if (["false", "0"].includes(lower)) return false;
    throw new Error(`'${word}' is neither true nor false`);
  }
  const value = Number(word);
  if (word === "" || Number.isNaN(value)) throw new Error(`'${word}' is not a number`);
  return value;
}

/** Text between commas, blanks and brackets; for strings a line each. */
export function dataInput({ name, datatype }, shapeText, text) {
  const shape = parseShape(shapeText);
  const data = datatype === "BYTES" ? (count(shape) === 1 ? [text] : text.split("\n").slice(0, count(shape)))
    : text.split(/[\s,[\]]+/).filter((word) => word).map((word) => parseNumber(word, datatype));
  if (data.length !== count(shape))
    throw new Error(`input '${name}': ${shape.join("x") || "a scalar"} takes ${count(shape)} elements, ` +
      `found ${data.length}`);
  return { name, datatype, shape, data };
}

/** Elements to start from: small whole numbers for integers, between 0 and 1 for others. */
export function randomText(datatype, shape) {
  const one = datatype.includes("INT") ? () => Math.floor(Math.random() * 10)
    : datatype === "BOOL" ? () => (Math.random() < 0.5 ? "true" : "false")
    : datatype === "BYTES" ? () => "text" : () => Math.random().toFixed(3);
  return Array.from({ length: count(shape) }, one).join(datatype === "BYTES" ? "\n" : ", ");
}
