// Judgments of pairs: whether two documents are copies of each other. They measure a threshold and change no cluster.
import { idPath, idText } from "./api.js";

// By collection; they stay while the page is open.
const judged = new Map();

export function labelsOf(collection) {
  if (!judged.has(collection)) judged.set(collection, new Map());
  return judged.get(collection);
}

export const pairKey = (pair) => JSON.stringify([idPath(pair.a.id), idPath(pair.b.id)].sort());

// Wilson's interval of 95 % for `hits` of `total`.
export function wilson(hits, total) {
  if (!total) return null;
  const z = 1.96;
  const share = hits / total;
  const scale = 1 + z * z / total;
  const middle = (share + z * z / (2 * total)) / scale;
  const half = z * Math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / scale;
  return { value: share, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

// Precision and recall of a threshold over the judged pairs. A template is never reported as a copy.
export function quality(labels, threshold) {
  const all = [...labels.values()];
  const reported = all.filter((label) => label.similarity >= threshold && !label.template);
  const right = reported.filter((label) => label.same).length;
  return { pairs: all.length, precision: wilson(right, reported.length), recall: wilson(right, all.filter((label) => label.same).length) };
}

// An id beyond 2^53 is a string with a marker in the page and an integer in JSON.
const idJson = (id) => (typeof id === "string" && idText(id) === id ? JSON.stringify(id) : idText(id));

// One line per pair, as `sameish tune --labels` reads it.
export const labelLines = (labels) => [...labels.values()].map(({ a, b, same }) => `{"a":${idJson(a)},"b":${idJson(b)},"same":${same}}\n`).join("");
