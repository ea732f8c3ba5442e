// SPDX-License-Identifier: Apache-2.0
// The calls of the Open Inference Protocol that the page makes. What fails is an Error in the server's words.

const encoded = encodeURIComponent;

async function call(method, path, { body, headers, signal } = {}) {
  let response;
  try {
    response = await fetch(path, { method, body, headers, signal, cache: "no-store" });
  } catch (error) {
    throw new Error(error.name === "AbortError" ? "cancelled" : "the server does not answer");
  }
  const text = await response.text();
  if (response.ok) return text;
  let message = `${response.status} ${response.statusText}`;
  try {
    message = JSON.parse(text).error ?? message;
  } catch {
    // the status says it
  }
  throw new Error(message);
}

const json = async (method, path, options) => JSON.parse((await call(method, path, options)) || "null");

export const server = () => json("GET", "v2");
export const index = () => json("POST", "v2/repository/index", { body: "{}" });
export const statistics = async () => (await json("GET", "v2/models/stats")).model_stats;
export const metrics = () => call("GET", "metrics");
export const metadata = (model) => json("GET", `v2/models/${encoded(model)}`);
export const describe = (model) => json("GET", `v2/models/${encoded(model)}/describe`);
export const load = (model) => call("POST", `v2/repository/models/${encoded(model)}/load`, { body: "{}" });
export const unload = (model) => call("POST", `v2/repository/models/${encoded(model)}/unload`, { body: "{}" });

export async function isReady() {
  try {
    await call("GET", "v2/health/ready");
    return true;
  } catch {
    return false;
  }
}

/** Inputs: {name, datatype, shape} and either `data`, for JSON, or `bytes`, little-endian, behind it. */
export async function infer(model, inputs) {
  const pieces = [];
  const described = inputs.map(({ bytes, ...input }) => {
    if (!bytes) return input;
    pieces.push(bytes);
    return { ...input, parameters: { binary_data_size: bytes.byteLength } };
  });
  const header = new TextEncoder().encode(JSON.stringify({ inputs: described }));
  const begin = performance.now();
  const answer = await json("POST", `v2/models/${encoded(model)}/infer`, {
    body: new Blob([header, ...pieces]),
    headers: {
      "Content-Type": pieces.length ? "application/octet-stream" : "application/json",
      ...(pieces.length ? { "Inference-Header-Content-Length": String(header.length) } : {}),
    },
  });
  return { answer, milliseconds: performance.now() - begin };
}
