// SPDX-License-Identifier: Apache-2.0
// The plan of a model as columns, as `colonnade explain --html` draws it: from the JSON of /describe.
import { bytesText, countText, shapeText, svg } from "./text.js";

const TOP = 64, HEIGHT = 220, LEFT = 16, PADDING = 14, GAP = 9, BETWEEN = 12;
const MIN_BAR = 7, MAX_BAR = 30, MOST_STRETCH = 4, LONGEST_LABEL = 22, LABEL_SLOPE = 5.4, NARROWEST_TITLE = 90;
const MIDDLE = TOP + HEIGHT / 2;

const rowsOf = (item) => Math.max(1, item.rows ?? 1);
const bytesOf = (item) => Math.max(1, item.bytes ?? 1);
const shortened = (text) => (text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 2)}..` : text);

function scaleOf(segments) {
  const items = segments.flatMap((segment) => segment.operators);
  const bytes = items.map(bytesOf);
  const least = Math.min(...bytes), most = Math.max(...bytes), mostRows = Math.max(1, ...items.map(rowsOf));
  return {
    width: (item) => (most <= least ? (MIN_BAR + MAX_BAR) / 2
      : MIN_BAR + (MAX_BAR - MIN_BAR) * Math.log2(bytesOf(item) / least) / Math.log2(most / least)),
    height: (item) => Math.max(12, HEIGHT * Math.sqrt(rowsOf(item) / mostRows)),
  };
}

/** Groups of bars, a segment each, with their places. */
function place(segments, stretch) {
  const scale = scaleOf(segments);
  let x = LEFT;
  return segments.map((segment) => {
    const group = { segment, x, bars: [] };
    x += PADDING;
    for (const item of segment.operators) {
      const live = segment.kind === "columns" && item.ring_rows > 0 ? Math.min(1, item.ring_rows / rowsOf(item)) : 1;
      group.bars.push({ item, live, x, width: scale.width(item) * stretch, height: scale.height(item) });
      x += (scale.width(item) + GAP) * stretch;
    }
    x += PADDING - (segment.operators.length ? GAP * stretch : 0);
    group.width = x - group.x;
    x += BETWEEN;
    return group;
  });
}

const endOf = (groups) => (groups.length ? groups[groups.length - 1].x + groups[groups.length - 1].width : 0);

/** Few operators take the room that there is. */
function stretched(segments, room) {
  const plain = place(segments, 1);
  const fixed = segments.length * (2 * PADDING + BETWEEN) + LEFT, moving = endOf(plain) - fixed;
  if (moving <= 0 || endOf(plain) >= room) return plain;
  return place(segments, Math.min(MOST_STRETCH, Math.max(1, (room - fixed) / moving)));
}

/** Top and height of the live rows: a third of the way down the tensor, so that columns are seen to line up. */
function liveBand(bar) {
  const band = Math.max(3, bar.height * bar.live);
  return [MIDDLE - bar.height / 2 + (bar.height - band) * 0.38, band];
}

function barTitle({ item, live }) {
  const lines = [item.node || "(unnamed)", `${item.op}  ${item.shape ? shapeText(item.shape) : ""}`];
  lines.push(live < 1 ? `live rows ${item.ring_rows} of ${item.rows} (${(100 * live).toFixed(1)} %)`
    : `whole: ${item.rows ?? "?"} rows`);
  const kept = live < 1 ? `, ${bytesText(item.bytes * live)} live` : "";
  lines.push(`${bytesText(item.bytes ?? 0)} as a whole tensor${kept}`);
  if (item.flop > 0) lines.push(`${countText(item.flop)}flop`);
  return lines.join("\n");
}

function drawBar(bar, kind) {
  const [top, band] = liveBand(bar);
  const style = kind === "island" ? "isle" : bar.live < 1 ? "live" : "whole";
  const anchor = `translate(${bar.x + bar.width / 2 - 3} ${TOP + HEIGHT + 18}) rotate(60)`;
  return svg("g", { class: "tensor" }, svg("title", {}, barTitle(bar)),
    svg("rect", { class: "ghost", x: bar.x, y: MIDDLE - bar.height / 2, width: bar.width, height: bar.height, rx: 2 }),
    svg("rect", { class: style, x: bar.x, y: top, width: bar.width, height: band, rx: 2 }),
    svg("text", { transform: anchor }, shortened(bar.item.op ?? "?")));
}

function flow(from, to) {
  const [top, band] = liveBand(from), [nextTop, nextBand] = liveBand(to), right = from.x + from.width;
  return svg("path", { class: "flow",
    d: `M${right} ${top}L${to.x} ${nextTop}L${to.x} ${nextTop + nextBand}L${right} ${top + band}Z` });
}

/** Row counts where they change. */
function rowLabels(bars) {
  return bars.filter(({ item }, i) => item.rows && item.rows !== bars[i - 1]?.item.rows).map((bar) =>
    svg("text", { class: "rows", x: bar.x + bar.width / 2, y: MIDDLE - bar.height / 2 - 5 }, String(bar.item.rows)));
}

function groupTitle({ segment, bars }) {
  const lines = [`segment ${segment.index}: ${segment.kind}, ${bars.length} operators`];
  if (segment.kind === "columns") lines.push(`${segment.columns} columns, ${segment.rows_per_step} rows a step`);
  lines.push(`rings ${bytesText(segment.ring_bytes ?? 0)}, weights ${bytesText(segment.weights_bytes ?? 0)}`);
  if (segment.ends_because) lines.push(`ends because ${segment.ends_because}`);
  return lines.join("\n");
}

function drawGroup(group) {
  const { segment, bars } = group;
  const kind = ["columns", "island"].includes(segment.kind) ? segment.kind : "layer";
  const label = group.width >= NARROWEST_TITLE ? `${segment.index} \u00b7 ${segment.kind}` : String(segment.index);
  const flows = kind === "columns" ? bars.slice(1).map((bar, i) => flow(bars[i], bar)) : [];
  return svg("g", { class: kind }, svg("title", {}, groupTitle(group)),
    svg("rect", { class: "frame", x: group.x, y: TOP - 44, width: group.width, height: HEIGHT + 56, rx: 8 }),
    svg("text", { class: "name", x: group.x + 9, y: TOP - 26 }, label),
    ...flows, ...bars.map((bar) => drawBar(bar, kind)), ...rowLabels(bars));
}

/** An SVG of the plan; `room` is the width that few operators are stretched to. */
export function columnsPicture(plan, room) {
  const groups = stretched(plan.segments ?? [], room);
  const longest = Math.max(4, ...groups.flatMap(({ bars }) => bars.map(({ item }) => shortened(item.op ?? "").length)));
  const labels = 30 + LABEL_SLOPE * longest;
  const width = Math.ceil(endOf(groups) + Math.max(LEFT, labels / 2 - 30)), height = Math.ceil(TOP + HEIGHT + labels);
  const count = groups.reduce((sum, { bars }) => sum + bars.length, 0);
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": `${count} tensors of the plan in ${groups.length} segments` }, ...groups.map(drawGroup));
}

/** [value, meaning] of what a plan amounts to. */
export function factsOf(plan) {
  const segments = plan.segments ?? [];
  const columns = segments.filter(({ kind }) => kind === "columns");
  const ringed = columns.flatMap(({ operators }) => operators).filter((item) => item.ring_rows > 0);
  const facts = [[segments.length, "segments"],
    [segments.reduce((sum, { operators }) => sum + operators.length, 0), "operators"],
    [(plan.islands ?? []).length, "islands"], [`${countText(plan.flop ?? 0)}flop`, "a run"],
    [bytesText(plan.weights_bytes ?? 0), "weights"], [bytesText(plan.arena_bytes ?? 0), "arena"]];
  if (ringed.length) {
    const rings = columns.reduce((sum, segment) => sum + (segment.ring_bytes ?? 0), 0);
    facts.push([bytesText(rings), `in rings, for ${bytesText(ringed.reduce((sum, item) => sum + bytesOf(item), 0))}`]);
  }
  return facts;
}
