// Overview: documents per day and per source, the newest and the largest clusters, and what was not compared.
import { ago, bdi, chance, count, figures, fixed, h, head, percent, plural, tipped, day } from "./dom.js";
import { query } from "./api.js";
import { bars, figure } from "./charts.js";
import { arrivals, clusterTitle } from "./clusters.js";
import { empty, fill } from "./states.js";

const SHOWN_DAYS = 30;
const SHOWN_SOURCES = 12;

export function overview(place) {
  const top = h("div", { class: "stack" }, h("h1", { tabindex: -1 }, "Overview"));
  const days = h("div", {});
  const notes = h("section", { class: "panel" });
  const sources = h("div", {});
  const newest = h("div", {});
  const largest = h("div", {});
  const collection = place.get(place.api());
  const matrix = place.get(place.api("sources") + query({ limit: SHOWN_SOURCES }));
  fill(top, async () => summary(await collection), "The overview", 3);
  fill(days, async () => perDay((await collection).days || [], place.api("bulk")), "Documents per day", 6);
  fill(sources, async () => perSource(place, await matrix), "Copies per source", 6);
  fill(newest, () => clusterList(place, "newest"), "This list", 5);
  fill(largest, () => clusterList(place, "largest"), "This list", 5);
  fill(notes, async () => limits(await collection), "This table", 3);
  const all = (sort) => h("a", { href: place.href("clusters") + query({ sort }) }, "All");
  const panel = (title, body, link) => h("section", { class: "panel" }, h("header", {}, h("h2", {}, title), link), body);
  return [top, h("div", { class: "cols even" }, days, panel("Copies per source", sources)),
    h("div", { class: "cols even" }, panel("Newest clusters", newest, all("")), panel("Largest clusters", largest, all("largest"))), notes];
}

// A document repeats another one if it is in a cluster and not its first document.
function summary(c) {
  const repeated = c.clustered - c.clusters;
  const share = c.documents ? repeated / c.documents : 0;
  const lead = c.documents
    ? [h("b", {}, plural(c.documents, "document")), repeated === 1 ? " is stored; " : " are stored; ", h("b", {}, `${count(repeated)} (${percent(share, 1)})`), repeated === 1 ? " repeats" : " repeat", " one that was published before."]
    : "This collection has no documents yet.";
  const arrived = c.last_arrival ? `latest ${ago(c.last_arrival)}` : "none yet";
  return [head("Overview", lead), figures([
    ["Documents", count(c.documents), arrived], ["Clusters", count(c.clusters), "of two or more documents"],
    ["Copies", count(repeated), "not the first of their cluster"], ["Largest cluster", count(c.largest_cluster), "documents"],
    ["Threshold", fixed(c.threshold), c.expected_recall ? `recall at the threshold ${chance(c.expected_recall)}` : "minimum similarity"]])];
}

// Days without documents are part of the chart, so that its axis is even. It ends today at the latest if there are documents until
// then: a single date in the future would leave it empty.
export function lastDays(all, today = new Date().toISOString().slice(0, 10)) {
  const past = all.filter((row) => row.date <= today);
  const rows = past.length ? past : all;
  const known = new Map(rows.map((row) => [row.date, row]));
  const end = Date.parse(rows.at(-1).date);
  const length = Math.min(SHOWN_DAYS, Math.round((end - Date.parse(rows[0].date)) / 864e5) + 1);
  return Array.from({ length }, (_, at) => {
    const date = new Date(end - (length - 1 - at) * 864e5).toISOString().slice(0, 10);
    const { documents, copies, clusters } = known.get(date) || { documents: 0, copies: 0, clusters: 0 };
    return { date, copies, first: documents - copies, clusters };
  });
}

function perDay(rows, bulk) {
  if (!rows.length) return h("section", { class: "panel" }, h("header", {}, h("h2", {}, "Documents per day")), empty("No documents yet", `Documents that are stored with POST ${bulk} appear here.`));
  const days = lastDays(rows);
  const later = rows.filter((row) => row.date > days.at(-1).date).reduce((sum, row) => sum + row.documents, 0);
  const label = `Documents per day, ${day(days[0].date)} to ${day(days.at(-1).date)}`;
  const series = [{ key: "copies", name: "copies", cls: "a" }, { key: "first", name: "first published", cls: "b" }];
  const legend = h("p", { class: "legend" }, h("span", {}, h("i", { class: "sw a" }), "copies"), h("span", {}, h("i", { class: "sw" }), "first published"));
  const svg = bars(days, { unit: "documents", label, series });
  const begun = bars(days, { height: 124, unit: "clusters that began", label: "Clusters that began, per day", series: [{ key: "clusters", name: "clusters that began", cls: "a" }] });
  return figure("Documents and clusters per day", svg, ["Day", "Copies", "First published", "Clusters"],
    days.map((row) => [row.date, count(row.copies), count(row.first), count(row.clusters)]), [legend, h("div", { class: "gap" }, begun),
      later ? h("p", { class: "small mut gap" }, `${plural(later, "document")} ${later === 1 ? "has" : "have"} a later date, after today, and ${later === 1 ? "is" : "are"} not drawn.`) : null]);
}

function perSource(place, found) {
  const rows = found.sources;
  if (!rows.length) return empty("No sources yet", "The source of a document is its field host or source.");
  const most = rows[0].documents;
  const names = ["Source", "Documents", "Clusters", "Copies", "Share"];
  const head = names.map((name, at) => h("span", { class: at > 1 ? "hd n" : "hd" }, name));
  const line = (row) => {
    const name = row.source === null ? h("span", { class: "mut" }, "no source") : h("a", { class: "plain one", href: place.href("clusters") + query({ source: row.source }) }, bdi(row.source));
    const bar = h("span", { class: "bar" }, h("i", { "--v": 100 * row.copies / most }), h("i", { "--v": 100 * (row.documents - row.copies) / most }));
    const about = `${row.source ?? "no source"}\ncopies: ${count(row.copies)}\nfirst published: ${count(row.documents - row.copies)}`;
    return [name, tipped(bar, about), h("span", { class: "n num mut" }, count(row.clusters)), h("span", { class: "n num" }, count(row.copies)), h("span", { class: "n num mut nw" }, percent(row.copies / row.documents))];
  };
  const more = found.total - rows.length;
  return h("div", { class: "pad" }, h("div", { class: "hb" }, head, rows.map(line)), more > 0 ? h("p", { class: "small mut gap" }, `${plural(more, "more source")}.`) : null);
}

async function clusterList(place, sort) {
  const { clusters } = await place.get(place.api("clusters") + query({ sort: sort === "newest" ? "" : sort, limit: 5 }));
  if (!clusters.length) return empty("No clusters yet", "A cluster appears when two stored documents match.");
  return h("ul", { class: "list" }, clusters.map((c) => {
    const about = [c.sources ? plural(c.sources, "source") : null, c.first_source ? `first ${c.first_source}` : null, ago(c.last || c.arrived_at)].filter(Boolean);
    return h("li", { class: "lc" }, h("a", { class: "t plain", href: place.href("clusters", c.id) }, bdi(clusterTitle(c), c.lang)), h("span", { class: "n num" }, count(c.size)),
      h("span", { class: "sub" }, h("bdi", {}, about.join(" · "))), arrivals(c));
  }));
}

function limits(c) {
  const rows = [
    ["Too short", c.too_short, "Too few words for the preset: stored, but in most presets matched only if the normalized text is equal."],
    ["Rejected", c.rejected, "Refused with an error: malformed, too large, or in conflict with a stored document."],
    ["Capped", c.capped_assignments, "A search reached a limit when it chose a cluster, since the start of the service. Copies may be missing."],
    ["Being assigned again", c.pending_clusters, "Clusters whose documents are being assigned again after a deletion."],
  ];
  return [h("header", {}, h("h2", {}, "Limits")), h("div", { class: "scroll" }, h("table", { class: "limits" }, h("tbody", {}, rows.map(([name, value, text]) =>
    h("tr", {}, h("th", { class: "t nw", scope: "row" }, name), h("td", { class: "n" }, count(value)), h("td", { class: "mut" }, text))))))];
}
