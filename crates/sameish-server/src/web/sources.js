// Who copies whom: a matrix of later and earlier sources, and the pairs of one cell.
import { ago, bdi, count, duration, h, head, moment, plural, tipped } from "./dom.js";
import { idText } from "./api.js";
import { empty, fill } from "./states.js";

const COLUMNS = 10;
const LISTED = 20;
const EMPTY_PAGES = 20;
// Numbers that are reused for a while say how old they are.
const counted = (at) => (Date.now() - new Date(at) > 60000 ? `Counted ${ago(at)}.` : "");
const nameOf = (source) => (source === null || source === "" ? "no source" : source);
// In an address and in a parameter, the empty text stands for documents without a source.
const partOf = (source) => source ?? "";

export function sources(place) {
  const lead = h("p", { class: "lead" }, "Each cell counts the documents of the row's source whose cluster began with the column's source.");
  const table = h("section", { class: "panel" });
  const pairs = h("section", { class: "panel" });
  let chosen = [];

  // The matrix stays while the user goes from cell to cell.
  function mark() {
    for (const link of table.querySelectorAll("a[data-later]")) {
      if (link.dataset.later === chosen[0] && link.dataset.earlier === chosen[1]) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
  function choose(parts) {
    chosen = parts.length === 2 ? parts : [];
    mark();
    pairs.hidden = !chosen.length;
    pairs.replaceChildren();
    if (!chosen.length) return;
    fill(pairs, () => pairList(place, ...parts), "This list", 4);
    requestAnimationFrame(() => pairs.scrollIntoView({ block: "nearest" }));
  }
  place.moves((read) => {
    choose(read.parts);
    return true;
  });
  fill(table, async () => {
    const found = await place.get(place.api("sources"));
    if (found.matrix.length) lead.replaceChildren(...sentence(found.matrix));
    const draw = (size) => {
      requestAnimationFrame(mark);
      return matrix(place, found, size, (larger) => {
        table.replaceChildren(...draw(larger).filter(Boolean));
        table.querySelector("[role=region]")?.focus({ preventScroll: true });
      });
    };
    return draw(COLUMNS);
  }, "Who copies whom", 8);
  choose(place.parts);
  return [h("div", { class: "head" }, h("h1", { tabindex: -1 }, "Who copies whom"), lead), table, pairs];
}

function totals(cells, key) {
  const sums = new Map();
  for (const cell of cells) sums.set(cell[key], (sums.get(cell[key]) || 0) + cell.pairs);
  return sums;
}

function sentence(cells) {
  const [first, pairs] = [...totals(cells.filter((cell) => cell.later !== cell.earlier), "earlier")].sort((x, y) => y[1] - x[1])[0] || [];
  if (first === undefined) return ["All copies are from the source that published first."];
  return [h("b", {}, bdi(nameOf(first))), " published first in ", h("b", {}, plural(pairs, "pair")), " with another source. Each cell counts the documents of the row's source whose cluster began with the column's source."];
}

// `size` is the number of rows and columns; `more(size)` draws the matrix again with another one.
function matrix(place, found, size, more) {
  const { matrix: cells } = found;
  if (!cells.length) return empty("No copies yet", "A number appears when a document joins the cluster of an earlier document.");
  const later = totals(cells, "later");
  const earlier = totals(cells, "earlier");
  const weight = (source) => (later.get(source) || 0) + (earlier.get(source) || 0);
  const names = [...new Set(cells.flatMap((cell) => [cell.later, cell.earlier]))].sort((x, y) => weight(y) - weight(x));
  const shown = names.slice(0, size);
  const most = Math.max(...cells.map((cell) => cell.pairs));
  const by = new Map(cells.map((cell) => [JSON.stringify([cell.later, cell.earlier]), cell]));
  const link = (cell, cls, ...content) => h("a", { class: cls, href: place.href("sources", partOf(cell.later), partOf(cell.earlier)), "data-later": partOf(cell.later), "data-earlier": partOf(cell.earlier) }, content);
  const about = (cell) => `${nameOf(cell.later)} after ${nameOf(cell.earlier)}: ${plural(cell.pairs, "pair")}, median ${duration(cell.median_lead_seconds)} later`;
  const square = (row, column) => {
    const cell = by.get(JSON.stringify([row, column]));
    const cls = row === column ? "self" : null;
    if (!cell) return h("td", { class: cls }, h("span", { class: "mut" }, cls ? "" : "·"));
    const node = link(cell, null, count(cell.pairs), h("small", {}, duration(cell.median_lead_seconds)));
    node.style.setProperty("--v", Math.sqrt(cell.pairs / most));
    node.setAttribute("aria-label", about(cell));
    return h("td", { class: cls }, tipped(node, about(cell).replace(": ", "\n")));
  };
  const total = (value) => h("td", { class: "tot" }, h("span", {}, count(value || 0)));
  // A name may break before a dot, not in a word.
  const broken = (name) => nameOf(name).split(/(?=\.)/).map((part, at) => [at ? h("wbr") : null, part]);
  const heads = shown.map((name) => h("th", { scope: "col" }, h("bdi", {}, broken(name))));
  const rows = shown.map((row) => h("tr", {}, h("th", { scope: "row" }, bdi(nameOf(row))), shown.map((column) => square(row, column)), total(later.get(row))));
  const table = h("table", { class: "mx" }, h("caption", { class: "vh" }, "Pairs in which the source of the row published after the source of the column, with the median time between"),
    h("thead", {}, h("tr", {}, h("td", {}), heads, h("th", { scope: "col" }, "total copies"))),
    h("tbody", {}, rows, h("tr", {}, h("th", { scope: "row" }, "published first"), shown.map((name) => total(earlier.get(name))), h("td", {}))));
  const others = cells.filter((cell) => cell.later !== cell.earlier).sort((x, y) => y.pairs - x.pairs);
  const largest = others.slice(0, LISTED);
  const list = h("ul", { class: "list narrow" }, largest.map((cell) => h("li", { class: "lc" },
    link(cell, "plain t", bdi(nameOf(cell.later)), " after ", bdi(nameOf(cell.earlier))), h("span", { class: "n num" }, count(cell.pairs)), h("span", { class: "sub num" }, `median ${duration(cell.median_lead_seconds)} later`))));
  const hidden = names.length - shown.length;
  const next = hidden > 0 ? h("button", { class: "btn", type: "button", onclick: () => more(size + COLUMNS) }, `Show ${Math.min(hidden, COLUMNS)} more`) : null;
  const notes = [hidden > 0 ? h("span", { class: "wide-only" }, `The ${shown.length} of ${names.length} sources with the most pairs are shown.`) : "", found.total > found.sources.length ? `Pairs of the ${found.sources.length} sources with the most documents are counted.` : "", found.complete ? "" : `Only the newest ${count(found.examined)} documents are counted.`, counted(found.as_of)].filter(Boolean);
  if (others.length > LISTED) notes.unshift(h("span", { class: "narrow" }, `The ${LISTED} of ${count(others.length)} cells with the most pairs are listed.`));
  return [h("header", {}, h("h2", {}, "Row published after column"), h("span", { class: "small mut wide-only" }, "pairs and median lead time; a stronger tint means more pairs")),
    h("div", { class: "pad scroll wide-only", tabindex: 0, role: "region", "aria-label": "Matrix of sources" }, table), list, next && h("p", { class: "pad wide-only" }, next), notes.length ? h("p", { class: "small mut note" }, notes.map((note) => [note, " "])) : null];
}

async function pairList(place, later, earlier) {
  const load = (cursor) => place.get(place.api("sources") + "?" + new URLSearchParams({ later, earlier, limit: 50, ...(cursor ? { cursor } : {}) }));
  const body = h("tbody");
  const foot = h("p", { class: "pad small mut" });
  const button = h("button", { class: "btn", type: "button", onclick: more }, "Show more");
  let next = null;
  // A request examines a limited number of clusters: pages without a pair are skipped, but not for ever.
  async function add(cursor) {
    for (let at = 0; at < EMPTY_PAGES; at++) {
      const page = await load(cursor);
      body.append(...page.pairs.map((pair) => pairRow(place, pair)));
      cursor = next = page.next;
      if (page.pairs.length || !next) break;
    }
    button.textContent = body.childElementCount ? "Show more" : "Continue search";
    const found = plural(body.childElementCount, "pair");
    foot.replaceChildren(next ? `${found} found so far. ` : `${found}, complete list`, ...(next ? [button] : []));
  }
  async function more() {
    button.disabled = true;
    foot.append(" Searching.");
    try {
      await add(next);
    } catch (error) {
      if (error.name !== "AbortError") foot.replaceChildren(button, ` ${error.message}`);
    }
    button.disabled = false;
  }
  await add(null);
  const heading = h("header", {}, h("h2", {}, bdi(nameOf(later)), " after ", bdi(nameOf(earlier))), h("a", { href: place.href("sources") }, "Close"));
  if (!body.childElementCount && !next) return [heading, empty("No pairs", "No document of the first source is a copy of one of the second.")];
  const heads = ["First", "Later"].map((name) => h("th", { scope: "col" }, name));
  return [heading, h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, heads, h("th", { class: "n", scope: "col" }, "Lead"), h("th", { class: "n hide-s", scope: "col" }, "Cluster"))), body)), foot];
}

function pairRow(place, { cluster, lead_seconds: lead, later, earlier }) {
  const cell = (d, href) => h("td", {}, h("a", { class: "plain t", href }, bdi(d.title || idText(d.id))), h("div", { class: "sub num" }, moment(d.date)));
  return h("tr", { class: "go" }, cell(earlier, place.doc(earlier.id, later.id)), cell(later, place.doc(later.id, earlier.id)),
    h("td", { class: "n" }, duration(lead)), h("td", { class: "n hide-s" }, h("a", { href: place.href("clusters", cluster) }, "#" + cluster)));
}
