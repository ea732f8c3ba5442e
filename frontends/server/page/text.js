// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, and elements of the page.

function scaled(value, base, units) {
  let unit = 0;
  for (; Math.abs(value) >= base && unit + 1 < units.length; ++unit) value /= base;
  if (unit === 0) return `${Math.round(value * 10) / 10}${units[0]}`;
  return `${value.toFixed(Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0)}${units[unit]}`;
}

export const bytesText = (bytes) => scaled(bytes, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
export const countText = (count) => scaled(count, 1000, ["", " K", " M", " G", " T"]);
export const shapeText = (shape) => (shape.length ? shape.map((d) => (d < 0 ? "?" : d)).join("x") : "scalar");

export function msText(ms) {
  if (!Number.isFinite(ms)) return "-";
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms >= 1) return `${ms.toFixed(ms >= 100 ? 0 : 2)} ms`;
  return `${(ms * 1000).toFixed(0)} us`;
}

export function numberText(value) {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6 ? value.toPrecision(6) : value.toExponential(3);
}

/** An element with attributes and children; functions listen to events. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

export const byId = (id) => document.getElementById(id);
