// SPDX-License-Identifier: Apache-2.0
// What the server's counters say of the time between two looks at them.
import { WINDOW_MS } from "./plot.js";

/** Samples of one model: a second's rate, latencies, failures, batch and queue. */
export class History {
  samples = [];
  #last = null;

  add(at, stats, pending) {
    const { success, fail, queue } = stats.inference_stats;
    const now = { at, version: stats.version, inferences: stats.inference_count, runs: stats.execution_count,
      answered: success.count, failed: fail.count, success_ns: success.ns, queue_ns: queue.ns };
    const last = this.#last;
    this.#last = now;
    // counters begin anew when a model is loaded again
    if (last && last.version === now.version && now.answered >= last.answered && at > last.at)
      this.samples.push(sampleOf(last, now, pending));
    while (this.samples.length && this.samples[0].at < at - WINDOW_MS) this.samples.shift();
  }

  get last() {
    return this.samples[this.samples.length - 1];
  }
}

function sampleOf(last, now, pending) {
  const seconds = (now.at - last.at) / 1000, answered = now.answered - last.answered, runs = now.runs - last.runs;
  const inferences = now.inferences - last.inferences;
  const mean = (key) => (answered > 0 ? (now[key] - last[key]) / answered / 1e6 : NaN);
  return { at: now.at, rate: inferences / seconds, failures: (now.failed - last.failed) / seconds, pending,
    latency: mean("success_ns"), queue: mean("queue_ns"), batch: runs > 0 ? inferences / runs : NaN };
}

/** Requests that wait, by model, of Prometheus' text. */
export function pendingOf(text) {
  const pending = new Map();
  for (const line of text.split("\n")) {
    const found = /^nv_inference_pending_request_count\{(.*)\} (\S+)/.exec(line);
    const model = found && /model="((?:[^"\\]|\\.)*)"/.exec(found[1]);
    if (!model) continue;
    const name = model[1].replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    pending.set(name, (pending.get(name) ?? 0) + Number(found[2]));
  }
  return pending;
}
