"use strict";
// Counts, a box to search with, and matches with the shared passages marked.

const counts = document.querySelector("#counts tbody");
const choice = document.getElementById("collection");
const matches = document.getElementById("matches");

async function showCounts() {
  const stats = await ask("/api/v1/stats");
  const rows = Object.values(stats.collections).map((c) => {
    const figures = [c.documents, c.too_short, c.clusters, c.clustered, c.largest_cluster];
    return element("tr", {}, element("td", {}, c.name), element("td", {}, c.preset),
      ...figures.map((figure) => element("td", { class: "n" }, figure.toLocaleString("en"))));
  });
  fill(counts, ...rows);
  const chosen = choice.value;
  fill(choice, ...Object.keys(stats.collections).map((name) => element("option", { value: name }, name)));
  if (chosen) choice.value = chosen;
}

// Offsets are bytes of UTF-8, and strings here are not.
function marked(text, spans) {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const piece = (from, to) => decoder.decode(bytes.subarray(from, to));
  const sorted = spans.slice().sort((x, y) => x[0] - y[0]);
  const parts = [];
  let at = 0;
  for (const [start, end] of sorted) {
    if (end <= at) continue;
    const from = Math.max(start, at);
    parts.push(piece(at, from), element("mark", {}, piece(from, end)));
    at = end;
  }
  parts.push(piece(at, bytes.length));
  return element("div", { class: "text" }, ...parts);
}

async function card(collection, match) {
  const id = typeof match.id === "string" ? JSON.stringify(match.id) : String(match.id);
  const path = `/api/v1/${encodeURIComponent(collection)}/${encodeURIComponent(id)}`;
  const stored = await ask(path);
  const percent = (share) => Math.round(100 * share) + " %";
  const about = [match.host, match.published_at, "id " + JSON.stringify(match.id)].filter(Boolean).join(" · ");
  const passages = match.evidence ? match.evidence.passages : [];
  const verdict = `${match.match_type}, similarity ${match.similarity_score.toFixed(3)}` +
    (match.verified ? ", verified" : ", not verified") +
    (match.template ? ", a form with other facts" : "") +
    (match.evidence ? `; ${percent(match.evidence.coverage_b)} of it stands in your text` : "");
  return element("article", {},
    element("h3", {}, match.title || "without a title"),
    element("p", {}, verdict), element("p", { class: "about" }, about),
    marked(stored.text, passages.map((p) => [p.b_start, p.b_end])));
}

document.getElementById("search").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = document.getElementById("text").value;
  const collection = choice.value;
  fill(matches, element("p", {}, "searching"));
  try {
    const found = await ask(`/api/v1/${encodeURIComponent(collection)}/query?evidence=true`, { text });
    const cards = await Promise.all(found.similar.map((match) => card(collection, match)));
    const words = found.similar.length === 0 ? "Nothing here is like it." : `${found.similar.length} like it, best first:`;
    fill(matches, element("p", {}, words), ...cards);
  } catch (error) {
    fill(matches, failed(error));
  }
});

showCounts().catch((error) => fill(matches, failed(error)));
