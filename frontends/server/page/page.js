// SPDX-License-Identifier: Apache-2.0
// The status page: looks at the server every second and shows what it serves, how fast, and what a model answers.
import * as api from "./api.js";
import { showAnswer, showRefusal } from "./answer.js";
import { fillForm } from "./form.js";
import { History, pendingOf } from "./history.js";
import { columnsPicture, factsOf } from "./picture.js";
import { Plot, sparkline } from "./plot.js";
import { byId, bytesText, countText, element, msText, shapeText } from "./text.js";

const EVERY_MS = 1000;

const histories = new Map();
const state = { models: [], chosen: null, shownVersion: null, refusal: "" };

const plots = [
  new Plot("Inferences a second", [{ name: "rate", className: "first", value: ({ rate }) => rate }], countText),
  new Plot("Mean latency", [
    { name: "whole", className: "first", value: ({ latency }) => latency },
    { name: "queue", className: "second", value: ({ queue }) => queue }], msText),
  new Plot("Samples a run", [{ name: "batch", className: "first", value: ({ batch }) => batch }], countText),
  new Plot("Waiting and failed", [
    { name: "waiting", className: "first", value: ({ pending }) => pending },
    { name: "failed a second", className: "second", value: ({ failures }) => failures }], countText),
];

function setBadge(badge, text, kind) {
  if (badge.textContent !== text) badge.textContent = text;
  badge.dataset.state = kind;
}

function badgeKind({ state: name }) {
  return name === "READY" ? "good" : name === "UNAVAILABLE" ? "bad" : "wait";
}

/** One entry a model: its newest version that is ready, else the newest. */
function newestOf(entries) {
  const models = new Map();
  for (const entry of entries) {
    const known = models.get(entry.name);
    const isBetter = !known || (entry.state === "READY") > (known.state === "READY") ||
      ((entry.state === "READY") === (known.state === "READY") && Number(entry.version) > Number(known.version));
    if (isBetter) models.set(entry.name, entry);
  }
  return [...models.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function look() {
  const [ready, index, statistics, metrics] = await Promise.all([api.isReady(), api.index(),
    api.statistics().catch(() => []), api.metrics().catch(() => "")]);
  const at = Date.now(), pending = pendingOf(metrics);
  state.models = newestOf(index ?? []);
  for (const stats of statistics) {
    const model = state.models.find(({ name, version }) => name === stats.name && version === stats.version);
    if (!model) continue;
    model.stats = stats;
    model.pending = pending.get(model.name) ?? 0;
    if (!histories.has(model.name)) histories.set(model.name, new History());
    histories.get(model.name).add(at, stats, model.pending);
  }
  setBadge(byId("health"), ready ? "ready" : "not ready", ready ? "good" : "bad");
  showTotals();
  showModels(at);
  await showChosen(at);
}

const sum = (values) => values.reduce((total, value) => total + (Number.isFinite(value) ? value : 0), 0);

function showTotals() {
  const served = state.models.filter(({ stats }) => stats);
  const ready = state.models.filter((model) => model.state === "READY");
  byId("total-models").textContent = `${ready.length} of ${state.models.length}`;
  byId("total-rate").textContent = countText(sum(served.map(({ name }) => histories.get(name)?.last?.rate)));
  byId("total-pending").textContent = countText(sum(served.map((m) => m.pending)));
  byId("total-success").textContent = countText(sum(served.map(({ stats }) => stats.inference_stats.success.count)));
  byId("total-failed").textContent = countText(sum(served.map(({ stats }) => stats.inference_stats.fail.count)));
  byId("no-models").hidden = state.models.length > 0;
}

const cards = new Map();

function cardOf(name) {
  if (!cards.has(name)) {
    const parts = { title: element("strong", {}, name), badge: element("span", { class: "badge" }),
      line: element("small", {}), curve: element("span", {}) };
    const button = element("button", { type: "button", class: "model", click: () => choose(name, true) },
      parts.title, parts.badge, parts.line, parts.curve);
    parts.item = element("li", {}, button);
    parts.button = button;
    cards.set(name, parts);
  }
  return cards.get(name);
}

function showModels(now) {
  const items = state.models.map((model) => {
    const card = cardOf(model.name), history = histories.get(model.name), last = history?.last;
    setBadge(card.badge, model.state.toLowerCase(), badgeKind(model));
    card.line.textContent = [`version ${model.version || "-"}`, ...(model.stats
      ? [`${countText(last?.rate ?? 0)}/s`, msText(last?.latency ?? NaN), `${model.pending} waiting`] : [])].join(", ");
    const curve = sparkline(history?.samples ?? [], ({ rate }) => rate, now);
    card.curve.replaceWith(curve);
    card.curve = curve;
    card.button.setAttribute("aria-current", String(model.name === state.chosen));
    return card.item;
  });
  const list = byId("models");
  if (items.length !== list.children.length || items.some((item, i) => item !== list.children[i]))
    list.replaceChildren(...items);
  const first = state.models.find((model) => model.state === "READY") ?? state.models[0];
  if (!state.chosen && first) choose(first.name);
}

function choose(name, focus = false) {
  Object.assign(state, { chosen: name, shownVersion: null, refusal: "" });
  for (const [other, { button }] of cards) button.setAttribute("aria-current", String(other === name));
  byId("answer").replaceChildren(element("p", { class: "soft" }, "Nothing was sent yet."));
  location.hash = new URLSearchParams({ model: name }).toString();
  if (focus) {
    byId("detail").hidden = false;
    byId("detail-title").textContent = name;
    byId("detail-title").focus();
    showChosen(Date.now());
  }
}

async function showChosen(now) {
  const model = state.models.find(({ name }) => name === state.chosen);
  byId("detail").hidden = !model;
  if (!model) return;
  const ready = model.state === "READY";
  if (byId("detail-title").textContent !== model.name) byId("detail-title").textContent = model.name;
  setBadge(byId("detail-state"), model.state.toLowerCase(), badgeKind(model));
  const reason = state.refusal || (ready ? "" : model.reason);
  byId("detail-reason").hidden = !reason;
  if (byId("detail-reason").textContent !== reason) byId("detail-reason").textContent = reason ?? "";
  byId("unload").disabled = !ready;
  const samples = histories.get(model.name)?.samples ?? [];
  for (const plot of plots) plot.draw(samples, now);
  const shown = ready ? `${model.version}` : "none";
  if (state.shownVersion === shown) return;
  state.shownVersion = shown;
  await (ready ? showLoaded(model.name) : showUnloaded());
}

function interfaceText({ inputs, outputs, parameters }) {
  const one = ({ name, datatype, shape }) => `${name} ${datatype} ${shapeText(shape)}`;
  const listed = (tensors) => tensors.map(one).join(", ");
  const memory = parameters?.memory_bytes ? `, ${bytesText(Number(parameters.memory_bytes))} of memory` : "";
  return `${listed(inputs)} \u2192 ${listed(outputs)}${memory}`;
}

async function showLoaded(name) {
  const metadata = await api.metadata(name);
  if (name !== state.chosen) return;
  byId("interface").textContent = interfaceText(metadata);
  const place = byId("answer");
  fillForm(byId("form"), metadata.inputs, async (inputs) => {
    const { answer, milliseconds } = await api.infer(name, inputs);
    if (name === state.chosen) showAnswer(place, answer, milliseconds);
  }, (error) => showRefusal(place, error));
  await showPlan(name);
}

async function showPlan(name) {
  const picture = byId("picture");
  try {
    const plan = await api.describe(name);
    if (name !== state.chosen) return;
    picture.replaceChildren(columnsPicture(plan, picture.clientWidth - 18));
    byId("facts").replaceChildren(...factsOf(plan).map(([value, meaning]) =>
      element("div", { class: "card" }, element("b", {}, String(value)), element("span", {}, meaning))));
  } catch (error) {
    picture.replaceChildren(element("p", { class: "soft" }, error.message));
    byId("facts").replaceChildren();
  }
}

function showUnloaded() {
  byId("interface").textContent = "";
  byId("form").replaceChildren(element("p", { class: "soft" }, "The model is not loaded."));
  byId("picture").replaceChildren(element("p", { class: "soft" }, "The model is not loaded."));
  byId("facts").replaceChildren();
}

async function control(action) {
  for (const id of ["load", "unload"]) byId(id).disabled = true;
  state.refusal = "";
  try {
    await action(state.chosen);
    state.shownVersion = null;
  } catch (error) {
    state.refusal = error.message;
  } finally {
    byId("load").disabled = false;
    await showChosen(Date.now());
  }
}

async function run() {
  byId("plots").replaceChildren(...plots.map(({ figure }) => figure));
  byId("load").addEventListener("click", () => control(api.load));
  byId("unload").addEventListener("click", () => control(api.unload));
  state.chosen = new URLSearchParams(location.hash.slice(1)).get("model");
  api.server().then(({ name, version }) => (byId("version").textContent = `${name} ${version}`)).catch(() => {});
  for (;;) {
    try {
      if (!document.hidden) await look();
      byId("trouble").hidden = true;
    } catch (error) {
      byId("trouble").textContent = error.message;
      byId("trouble").hidden = false;
      setBadge(byId("health"), "no answer", "bad");
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

run();
