"use strict";
// Shows statistics, a search form, and matches with their shared passages marked.

const statisticsTable = document.querySelector("#counts tbody");
const collectionSelect = document.getElementById("collection");
const matches = document.getElementById("matches");

async function showStatistics() {
  const stats = await request("/api/v1/stats");
  const rows = Object.values(stats.collections).map((c) => {
    const counts = [c.documents, c.too_short, c.clusters, c.clustered, c.largest_cluster];
    return element("tr", {}, element("td", {}, c.name), element("td", {}, c.preset),
      ...counts.map((count) => element("td", { class: "n" }, count.toLocaleString("en"))));
  });
  replaceContent(statisticsTable, ...rows);
  const selected = collectionSelect.value;
  replaceContent(collectionSelect, ...Object.keys(stats.collections).map((name) => element("option", { value: name }, name)));
  if (selected) collectionSelect.value = selected;
}

// Marks passages in a text. Offsets are in bytes of UTF-8, so the text is encoded first.
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
  const path = `/api/v1/${encodeURIComponent(collection)}/${encodeURIComponent(idText(match.id))}`;
  const stored = await request(path);
  const percent = (fraction) => Math.round(100 * fraction) + " %";
  const about = [match.host, match.published_at, "id " + idText(match.id)].filter(Boolean).join(" · ");
  const passages = match.evidence ? match.evidence.passages : [];
  const verdict = `${match.match_type}, similarity ${match.similarity.toFixed(3)}` +
    (match.verified ? ", verified" : ", not verified") +
    (match.template ? ", template (same wording, different names or numbers)" : "") +
    (match.evidence ? `; ${percent(match.evidence.coverage_b)} of its words are in shared passages` : "");
  return element("article", {},
    element("h3", {}, match.title || "(no title)"),
    element("p", {}, verdict), element("p", { class: "about" }, about),
    marked(stored.text, passages.map((p) => [p.b_start, p.b_end])));
}

document.getElementById("search").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = document.getElementById("text").value;
  const collection = collectionSelect.value;
  replaceContent(matches, element("p", {}, "Searching…"));
  try {
    const found = await request(`/api/v1/${encodeURIComponent(collection)}/query?evidence=true`, { text });
    const cards = await Promise.all(found.similar.map((match) => card(collection, match)));
    const count = found.similar.length;
    const none = found.too_short ? "No similar documents. The text is too short to be compared." : "No similar documents.";
    const summary = count === 0 ? none : `Similar documents: ${count}, most similar first`;
    replaceContent(matches, element("p", {}, summary), ...cards);
  } catch (error) {
    replaceContent(matches, errorMessage(error));
  }
});

showStatistics().catch((error) => replaceContent(matches, errorMessage(error)));
