// A document next to its matches; selecting a match shows both texts side by side.
import { bdi, chip, count, duration, fixed, h, head, moment, plural, tipped } from "./dom.js";
import { compare, get, idPath, idText } from "./api.js";
import { empty, fill } from "./states.js";
import { evidence } from "./evidence.js";
import { pairActions } from "./edits.js";
import { renderText, scriptOf } from "./text.js";
import { matchName } from "./verdict.js";

const dateOf = (d) => d.published_at || d.arrived_at;
const languageOf = (d) => (typeof d.metadata?.lang === "string" ? d.metadata.lang : typeof d.metadata?.language === "string" ? d.metadata.language : null);

// The view keeps its heading and its list of matches while the user goes from one match to the next: only the evidence changes.
export function documentView(place) {
  const [id] = place.parts;
  place.main.classList.add("wide");
  const view = h("div", { class: "stack" }, h("h1", { tabindex: -1, class: "vh" }, "Document"));
  let otherId = place.parts[1];
  let show = null;
  place.moves((read) => {
    if (read.parts[0] !== id || !show) return false;
    otherId = read.parts[1];
    show(otherId);
    return true;
  });
  fill(view, async () => {
    const document = await place.get(place.api(id));
    if (document.arrived_at === undefined) throw Object.assign(new Error(`\`${id}\` is not a document`), { status: 404, title: "Not found" });
    const parts = layout(place, document);
    show = parts.show;
    show(otherId);
    return parts.nodes;
  }, "This document", 8);
  return [view];
}

// The text is shown at once. Finding the matches and their passages takes longer; they appear when they are known.
function layout(place, d) {
  const actions = h("div", { class: "row" });
  const list = h("nav", { class: "panel ms", "aria-label": "Matches" });
  let found = null;
  let shownId;
  fill(list, async () => {
    found = await place.get(place.api(idPath(d.id), "similar") + "?evidence=offsets&limit=50&offsets=utf16");
    requestAnimationFrame(() => mark(shownId));
    if (body.classList.contains("solo")) {
      const top = panels.querySelector(".txt")?.scrollTop;
      panels.replaceChildren(textPanel(d, found));
      panels.querySelector(".txt").scrollTop = top;
    }
    return matchList(place, d, found);
  }, "This list", 5);
  const panels = h("div", { class: "stack evs" });
  const aside = h("div", { class: "stack me" });
  const body = h("div", { class: "doc" }, list, panels, aside);
  let leave = () => {};
  place.leave(() => leave());

  function mark(otherId) {
    for (const link of list.querySelectorAll("a")) {
      if (link.dataset.id === otherId) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    const current = list.querySelector("[aria-current]");
    const row = current?.parentNode;
    if (row) row.scrollLeft = current.offsetLeft - row.offsetLeft - 24;
  }

  function show(otherId) {
    leave();
    const abort = new AbortController();
    const cleanups = [() => abort.abort()];
    leave = () => cleanups.splice(0).forEach((clean) => clean());
    place.keys(null);
    body.classList.toggle("solo", otherId === undefined);
    shownId = otherId;
    mark(otherId);
    panels.failed = null;
    if (otherId === undefined) {
      if (actions.contains(globalThis.document.activeElement)) place.main.querySelector("h1")?.focus({ preventScroll: true });
      actions.replaceChildren();
      panels.replaceChildren(textPanel(d, found));
      aside.replaceChildren();
      return;
    }
    const inner = { ...place, leave: (action) => cleanups.push(action) };
    const close = h("a", { class: "btn", href: place.doc(d.id) }, "Close match");
    actions.replaceChildren(close);
    fill(panels, async () => {
      const twin = await get(place.api(otherId), abort.signal);
      const dates = d.published_at && twin.published_at ? { published_at_a: d.published_at, published_at_b: twin.published_at } : {};
      const comparison = await compare({ a: d.text ?? "", b: twin.text ?? "", collection: place.collection, ...dates }, abort.signal);
      close.before(...pairActions(place, d, twin));
      const [evidencePanel, measures] = evidence(inner, side(place, d), side(place, twin), comparison, true);
      aside.replaceChildren(measures);
      return evidencePanel;
    }, "This comparison", 6);
  }
  return { nodes: [heading(place, d, actions), body], show };
}

const side = (place, d) => ({ text: d.text ?? "", title: d.title || idText(d.id), host: d.host, at: dateOf(d), lang: languageOf(d), href: place.doc(d.id) });

function heading(place, d, actions) {
  const crumb = [h("a", { href: place.href("clusters") }, "Clusters"), " / ", d.cluster ? [h("a", { href: place.href("clusters", d.cluster) }, "#" + d.cluster), " / "] : null, "Document"];
  const about = h("p", { class: "row loose sub" }, d.host && h("bdi", {}, d.host), h("time", {}, moment(dateOf(d)) + " UTC"), h("bdi", { class: "mono" }, idText(d.id)),
    h("span", {}, plural(d.words, "word")), d.cluster ? null : h("span", {}, "in no cluster"), d.url && h("bdi", { class: "mono one" }, d.url));
  return h("div", { class: "row between" }, head(bdi(d.title || idText(d.id), languageOf(d)), null, crumb, about), actions);
}

function matchList(place, d, found) {
  const line = (m) => {
    const apart = m.published_at && d.published_at ? (new Date(m.published_at) - new Date(d.published_at)) / 1000 : null;
    return h("a", { href: place.doc(d.id, m.id), "data-id": idPath(m.id) }, h("b", {}, fixed(m.similarity)), h("span", { class: "t" }, bdi(m.title || idText(m.id))), h("span"),
      h("span", { class: "sub one" }, h("bdi", {}, m.host || "no source")), h("span"),
      h("span", { class: "row sub" }, chip(...matchName(m)), apart === null ? null : h("span", { class: "num nw" }, `${apart < 0 ? "−" : "+"}${duration(apart)}`)));
  };
  const none = found.too_short ? "The text is too short to be compared." : "No stored document is similar to this one.";
  return [h("header", {}, h("h2", {}, "Matches"), h("span", { class: "small mut num" }, `${count(found.similar.length)}, similarity ≥ ${fixed(place.settings.threshold)}`)),
    found.capped ? h("p", { class: "warn note" }, "The search reached a limit. Matches may be missing.") : null,
    h("div", { class: "ml" }, found.similar.length ? found.similar.map(line) : empty("No matches", none))];
}

// How many matches share each part of the text, as disjoint spans. None are known before the matches are.
function shared(found) {
  if (!found) return [];
  const changes = new Map();
  const add = (at, by) => changes.set(at, (changes.get(at) || 0) + by);
  for (const match of found.similar) {
    for (const p of match.evidence?.passages || []) {
      add(p.a_start, 1);
      add(p.a_end, -1);
    }
  }
  const spans = [];
  let depth = 0;
  let from = 0;
  for (const [at, by] of [...changes].sort((x, y) => x[0] - y[0])) {
    if (depth > 0 && at > from) spans.push({ start: from, end: at, depth });
    depth += by;
    from = at;
  }
  return spans;
}

function textPanel(d, found) {
  if (d.text === undefined) return empty("No text", "This document consists of sketches that were computed elsewhere. Its matches are not verified.");
  const box = h("div", { class: "txt solo", dir: "auto", lang: languageOf(d) || scriptOf(d.text) });
  renderText(box, d.text, shared(found), (span, part) =>
    tipped(h("span", { class: span.depth > 2 ? "heat2" : "heat1" }, part), `In ${plural(span.depth, "other document")}`));
  const legend = h("span", { class: "legend" }, h("span", { class: "heat1" }, "in 1 or 2 others"), h("span", { class: "heat2" }, "in 3 or more"));
  return h("article", { class: "panel" }, h("header", {}, h("h2", {}, "Text"), found?.similar.length ? legend : null), box);
}
