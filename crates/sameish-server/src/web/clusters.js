// Clusters: search, sort, filter.
import { ago, bdi, count, day, duration, h, head, plural, s, tipped } from "./dom.js";
import { idText, query } from "./api.js";
import { empty, loading, problem } from "./states.js";
import { virtualList } from "./virtual.js";

const FILTERS = ["sort", "source", "since", "until", "q", "min_size"];
const SORTS = ["newest", "largest", "active"];
// A request examines a limited number of clusters, so that a page can be empty although later clusters match. After so many empty
// pages in a row, the search waits until the user continues it.
const EMPTY_PAGES = 20;

// Documents of a cluster as ticks over its time span.
export function arrivals(c) {
  const times = (c.arrivals || []).map((at) => +new Date(at));
  if (!times.length) return h("span", { class: "strip" });
  const first = times[0];
  const span = times[times.length - 1] - first;
  const x = (t) => 2 + 196 * (span ? (t - first) / span : 0);
  const ticks = times.map((t) => s("line", { x1: x(t), x2: x(t), y1: 2, y2: 13 }));
  const picture = s("svg", { class: "ticks strip", viewBox: "0 0 200 14", preserveAspectRatio: "none", "aria-hidden": "true" }, s("path", { d: "M0 13.5H200" }), ticks);
  return tipped(picture, `${plural(c.size, "document")} within ${duration(span / 1000)}`);
}

export const clusterTitle = (c) => c.title || idText(c.center ?? "(no title)");
const seconds = (from, to) => (new Date(to) - new Date(from)) / 1000;
const named = (value, name) => [value, h("span", { class: "narrow sub" }, " " + name)];

function clusterRow(place, c) {
  const about = [`first ${c.first_source || c.host || "unknown source"}`, day(c.first || c.published_at || c.arrived_at)].join(", ");
  return h("li", { class: "cl" },
    h("div", {}, h("a", { class: "t plain one", href: place.href("clusters", c.id) }, bdi(clusterTitle(c), c.lang)),
      h("p", { class: "sub one" }, h("span", { class: "mono" }, "#" + c.id), " · ", h("bdi", {}, about), c.pending ? " · being assigned again" : "")),
    arrivals(c), h("span", { class: "n num" }, named(count(c.size), "docs")),
    h("span", { class: "n num" }, named(c.sources === undefined ? "–" : count(c.sources), "sources")),
    h("span", { class: "n mut num" }, named(c.first ? duration(seconds(c.first, c.last)) : "–", "span")),
    h("span", { class: "n mut num" }, named(ago(c.last || c.arrived_at), "last")));
}

// The loaded rows of the latest list, so that going back shows them at the same position.
let kept = { address: null, rows: [], next: undefined, scroll: 0 };

// Edits change lists, so they are loaded again.
export function forgetLists() {
  kept = { address: null, rows: [], next: undefined, scroll: 0 };
}

export function clusters(place) {
  const values = Object.fromEntries(FILTERS.map((name) => [name, place.query.get(name) || ""]));
  const address = place.href("clusters") + query(values);
  const state = kept.address === address ? kept : { address, rows: [], next: undefined, scroll: 0 };
  kept = state;
  const go = (name, value) => { location.hash = place.href("clusters") + query({ ...values, [name]: value }); };
  const isFiltered = FILTERS.slice(1).some((name) => values[name]);
  const panel = h("section", { class: "panel" });
  const foot = h("p", { class: "small mut", role: "status" });
  let busy = false;
  let emptyPages = 0;
  let isWaiting = false;

  async function more() {
    if (busy || isWaiting || state.next === null) return;
    busy = true;
    try {
      const page = await place.get(place.api("clusters") + query({ ...values, limit: 100, cursor: state.next }));
      emptyPages = page.clusters.length ? 0 : emptyPages + 1;
      state.rows.push(...page.clusters);
      state.next = page.next;
      isWaiting = state.next !== null && emptyPages >= EMPTY_PAGES;
      busy = false;
      show();
      if (emptyPages) more();
    } catch (error) {
      busy = false;
      if (error.name === "AbortError") return;
      if (!state.rows.length) panel.replaceChildren(problem(unsupported(error), error.status === 401 ? () => dispatchEvent(new Event("keyed")) : more, "This list"));
      panel.failed = error.status ? null : more;
    }
  }

  // A service without filters rejects their parameters.
  function unsupported(error) {
    if (error.status === 422 && (isFiltered || values.sort)) error.message += ". If the service does not know this filter, clear the filters.";
    return error;
  }

  const view = virtualList(place, {
    label: "Clusters", more, row: (c) => clusterRow(place, c),
    height: () => (innerWidth <= 820 ? 124 : 62), total: () => (state.next === null ? state.rows.length : null),
  });
  const names = ["Cluster", "Documents over time", "Docs", "Sources", "Span", "Last"];
  const header = h("div", { class: "cl cl-head", "aria-hidden": "true" }, names.map((name, at) => h("span", { class: at > 1 ? "n" : null }, name)));

  function proceed() {
    emptyPages = 0;
    isWaiting = false;
    show();
    more();
  }

  // Says how a search stands that has examined many clusters without a match.
  function progress() {
    const button = h("button", { class: "btn", type: "button", onclick: proceed }, "Continue search");
    if (state.rows.length) {
      foot.replaceChildren(`${plural(state.rows.length, "cluster")} found. `, ...(isWaiting ? ["More clusters have not been examined yet. ", button] : ["Searching for more."]));
    } else if (isWaiting) panel.replaceChildren(empty("No match so far", "Many clusters have been examined, but not all of them.", button, clear()));
    else if (emptyPages && !panel.querySelector(".searching")) panel.replaceChildren(h("p", { class: "pad mut searching", role: "status" }, "Searching. None of the clusters examined so far matches."), loading(6));
  }

  function show() {
    if (!state.rows.length && state.next) return progress();
    if (!state.rows.length) {
      panel.replaceChildren(isFiltered ? noHit() : empty("No clusters yet", "A cluster appears when two stored documents match."));
      foot.textContent = "";
      return;
    }
    if (!panel.contains(view.list)) panel.replaceChildren(header, view.list);
    view.show(state.rows);
    const all = isFiltered ? null : place.settings.clusters;
    if (emptyPages && state.next) return progress();
    foot.textContent = state.next === null ? `${plural(state.rows.length, "cluster")}, complete list` : `${count(state.rows.length)} loaded${all ? ` of ${count(all)}` : ""}. More load as you scroll.`;
  }

  const clear = () => h("a", { class: "btn", href: place.href("clusters") }, "Clear filters");
  function noHit() {
    const named = [values.q && `words “${values.q}”`, values.source && `source ${values.source}`, values.min_size && `at least ${values.min_size} documents`,
      values.since && `active since ${values.since}`, values.until && `active until ${values.until}`].filter(Boolean);
    return empty("No cluster matches these filters", `No cluster has all of: ${named.join(", ")}.`, clear());
  }

  const field = (label, input, cls) => h("label", { class: cls }, label, input);
  const changed = (name) => ({ "data-field": name, value: values[name], onchange: (event) => go(name, event.target.value.trim()) });
  const choice = h("input", { class: "field", type: "text", list: "source-names", placeholder: "all sources", ...changed("source") });
  const options = h("datalist", { id: "source-names" });
  place.get(place.api("sources")).then((found) => options.append(...found.sources.filter((x) => x.source).slice(0, 200).map((x) => h("option", { value: x.source }))), () => {});
  place.leave(() => { state.scroll = scrollY; });
  if (!state.rows.length) panel.append(loading(6));
  queueMicrotask(() => {
    if (state.rows.length) show();
    else more();
    if (state.scroll) scrollTo(0, state.scroll);
  });
  const sort = values.sort || "newest";
  return [h("div", { class: "row between" }, head("Clusters"),
    h("div", { class: "row" }, h("a", { class: "btn", href: place.href("edits") }, "Edits"), h("div", { class: "seg", role: "group", "aria-label": "Order" }, SORTS.map((name) =>
      h("button", { type: "button", "aria-pressed": name === sort, "data-field": `sort-${name}`, onclick: () => go("sort", name === "newest" ? "" : name) }, name[0].toUpperCase() + name.slice(1)))))),
  h("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
    field("Words", h("input", { class: "field", type: "text", placeholder: "in the title", ...changed("q") }), "grow"),
    field("Source", [choice, options]), field("Min. size", h("input", { type: "number", min: 2, max: 99999, placeholder: "2", ...changed("min_size") })),
    field("Since", h("input", { type: "date", ...changed("since") })), field("Until", h("input", { type: "date", ...changed("until") }))), panel, foot];
}
