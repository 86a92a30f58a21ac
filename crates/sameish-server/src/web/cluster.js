// A cluster: its members on a timeline, center, first publisher, lead times and similarity to the center.
import { bdi, chip, clock, count, day, duration, figures, fixed, h, head, moment, plural, s, tipped, toast } from "./dom.js";
import { idPath, idText, query } from "./api.js";
import { chart } from "./charts.js";
import { choice, mergeForm } from "./edits.js";
import { fill } from "./states.js";
import { matchName } from "./verdict.js";
import { virtualList } from "./virtual.js";

const PAGE = 100;
const ROW = 36;
const LANES = 20;
// Beyond this number of documents, lines and numbers in the timeline would cover each other.
const LABELED = 40;

const dateOf = (m) => m.date || m.published_at || m.arrived_at;
const hostOf = (m) => m.host || "unknown source";

export function cluster(place) {
  const [id] = place.parts;
  const view = h("div", { class: "stack" }, h("h1", { tabindex: -1, class: "vh" }, `Cluster #${id}`));
  fill(view, async () => content(place, await place.get(place.api("clusters", id) + query({ limit: PAGE }))), "This cluster", 8);
  return [view];
}

// What the parts of the view need of a cluster: its first page of members and how each relates to the others.
function describe(c) {
  const { members } = c;
  const first = members[0];
  const start = +new Date(dateOf(first));
  const isCenter = (m) => c.center !== null && c.center !== undefined && idPath(m.id) === idPath(c.center);
  const center = members.find(isCenter) || null;
  const nameOf = (m) => {
    if (isCenter(m)) return ["Center", "acc"];
    return typeof m.similarity === "number" ? matchName(m) : ["Member", ""];
  };
  return {
    ...c, first, start, nameOf, isCenter, title: center || first,
    centerId: c.center ?? first.id,
    lead: (m) => m.lead_seconds ?? (new Date(dateOf(m)) - start) / 1000,
  };
}

function content(place, answer) {
  const c = describe(answer);
  const { members, lead } = c;
  const isPart = Boolean(c.next);
  const leads = members.slice(1).map(lead).sort((x, y) => x - y);
  const known = members.filter((m) => !c.isCenter(m) && typeof m.similarity === "number");
  const mean = known.length ? known.reduce((sum, m) => sum + m.similarity, 0) / known.length : null;
  const sources = c.sources?.length ?? new Set(members.map((m) => m.host)).size;
  const last = c.last || dateOf(members.at(-1));
  const part = `among the first ${count(members.length)} documents`;
  const link = h("button", { class: "btn", type: "button", onclick: () => navigator.clipboard?.writeText(location.href).then(() => toast("The link is copied.")) }, "Copy link");
  const crumb = [h("a", { href: place.href("clusters") }, "Clusters"), " / ", h("span", { class: "mono" }, "#" + c.id)];
  return [
    h("div", { class: "row between" }, head(bdi(c.title.title || idText(c.title.id), c.title.lang), null, crumb), h("div", { class: "row" }, place.mayEdit ? mergeForm(place, c) : null, link)),
    c.pending ? h("p", { class: "warn" }, "Documents of this cluster are being assigned again after a deletion or an edit. It can still change.") : null,
    figures([["Documents", count(c.size), plural(sources, "source")], ["First publisher", h("bdi", { class: (c.first.host || "").length > 10 ? "fit" : null }, c.first.host || "unknown"), moment(dateOf(c.first))],
      ["Median lead", leads.length ? duration(leads[Math.floor(leads.length / 2)]) : "–", isPart ? part : "of the first over the others"],
      ["Span", duration((new Date(last) - c.start) / 1000), `until ${moment(last)}`],
      mean === null ? null : ["Mean similarity", fixed(mean), isPart ? part : "to the center"]]),
    timeline(place, c), memberList(place, c),
  ];
}

// The address of a member's link: the comparison with the center.
const target = (place, c, m) => (c.isCenter(m) ? place.doc(m.id) : place.doc(m.id, c.centerId));

// The symbol of a member: an update or a template is a triangle, an excerpt a ring, everything else a dot.
function symbol([name, tone], x, y) {
  if (tone === "fact") return s("path", { class: "pt up", d: `M${x} ${y - 8}l8 14h-16z` });
  const isPart = name === "Excerpt";
  return s("circle", { class: isPart ? "pt ex" : "pt", cx: x, cy: y, r: isPart ? 5.5 : 7 });
}

const HOURS = [0.25, 0.5, 1, 2, 4, 8, 12, 24, 48, 168, 720, 2160, 8760];

function timeline(place, c) {
  const { members, start, lead } = c;
  const lanes = [...new Set(members.map(hostOf))].slice(0, LANES);
  const inLanes = members.filter((m) => lanes.includes(hostOf(m)));
  const span = Math.max(6e5, +new Date(dateOf(members.at(-1))) - start);
  const isLabeled = inLanes.length <= LABELED;
  const center = inLanes.find(c.isCenter);
  const label = `Timeline of ${plural(inLanes.length, "document")} of ${plural(lanes.length, "source")} over ${duration(span / 1000)}`;
  const svg = chart(44 + lanes.length * ROW, label, (g, width, H) => {
    const isNarrow = width < 560;
    const [L, R, T, B] = [isNarrow ? 104 : 184, isNarrow ? 48 : 64, 8, 30];
    const x = (m) => L + 16 + (width - L - R - 16) * (new Date(dateOf(m)) - start) / span;
    const y = (m) => T + ROW * (lanes.indexOf(hostOf(m)) + 0.5);
    const hours = HOURS.find((k) => span / (k * 36e5) <= (isNarrow ? 3 : 8)) || 87600;
    const step = hours * 36e5;
    for (let t = Math.ceil(start / step) * step; t <= start + span; t += step) {
      const at = L + 16 + (width - L - R - 16) * (t - start) / span;
      g.append(s("line", { class: "grid", x1: at, x2: at, y1: T, y2: H - B }), s("text", { x: at, y: H - B + 18, "text-anchor": "middle", class: t % 864e5 ? null : "strong" }, t % 864e5 ? clock(t) : day(t)));
    }
    lanes.forEach((lane, i) => {
      const at = T + ROW * (i + 0.5);
      const limit = isNarrow ? 14 : 26;
      const name = lane.length > limit ? lane.slice(0, limit - 1) + "…" : lane;
      g.append(s("line", { class: "lane", x1: L, x2: width - R + 36, y1: at, y2: at }), s("text", { class: i ? "" : "strong", x: L - 12, y: at + 4, "text-anchor": "end" }, name));
    });
    if (center && isLabeled) for (const m of inLanes) if (m !== center) g.append(s("path", { class: "link", d: bend(x(center), y(center), x(m), y(m)) }));
    for (const m of inLanes) g.append(point(place, c, m, x(m), y(m)));
    if (isLabeled) for (const m of inLanes) g.append(number(c, m, x(m), y(m), inLanes.some((other) => other !== m && hostOf(other) === hostOf(m) && x(other) > x(m) && x(other) - x(m) < 62)));
  });
  svg.setAttribute("role", "group");
  svg.removeAttribute("tabindex");
  const shown = inLanes.length < c.size ? ` ${count(inLanes.length)} of ${count(c.size)} documents are drawn: those of the first ${plural(lanes.length, "source")} among the first ${count(members.length)}.` : "";
  const part = c.next ? h("span", { class: "small mut num" }, `the first ${count(members.length)} of ${plural(c.size, "document")}`) : null;
  return h("section", { class: "panel" }, h("header", {}, h("h2", {}, "Who published when"), part, legend(c, inLanes, isLabeled)),
    h("div", { class: "pad" }, svg, h("p", { class: "small mut" }, "Date of publication in UTC, or of arrival where it is unknown.", shown)));
}

// A line from the center to a member: it leaves the center vertically and reaches the member along its lane.
function bend(x0, y0, x1, y1) {
  const side = x1 < x0 ? -1 : 1;
  const end = Math.abs(x1 - x0) < 24 ? x1 : x1 - 9 * side;
  const turn = x0 + Math.min(24, Math.abs(end - x0)) * side;
  return `M${x0} ${y0}C${turn} ${y1} ${turn} ${y1} ${end} ${y1}`;
}

function legend(c, members, isLabeled) {
  const samples = new Map();
  for (const m of members) {
    const [name, tone] = c.nameOf(m);
    const kind = tone === "fact" ? name.toLowerCase() : name === "Excerpt" ? "excerpt" : c.isCenter(m) ? "center" : "copy";
    if (!samples.has(kind)) samples.set(kind, [name, tone]);
  }
  const order = ["center", "copy", "excerpt"];
  const kinds = [...samples.keys()].sort((x, y) => (order.indexOf(x) + 9) % 9 - (order.indexOf(y) + 9) % 9);
  const items = kinds.map((kind) => h("span", {}, s("svg", { class: "chart sym", viewBox: "0 0 24 24", "aria-hidden": "true" }, kind === "center" ? s("circle", { class: "ring", cx: 12, cy: 12, r: 11 }) : null, symbol(samples.get(kind), 12, 12)), kind));
  return h("span", { class: "legend" }, items, isLabeled ? h("span", {}, "number: similarity to the center") : null);
}

function point(place, c, m, x, y) {
  const name = c.nameOf(m);
  const similarity = typeof m.similarity === "number" && !c.isCenter(m) ? `, similarity ${fixed(m.similarity)}` : "";
  const after = c.lead(m) ? `\n${duration(c.lead(m))} after the first` : ", first publisher";
  const text = `${moment(dateOf(m))}, ${hostOf(m)}\n${name[0]}${similarity}${after}`;
  const ring = c.isCenter(m) ? s("circle", { class: "ring", cx: x, cy: y, r: 11 }) : null;
  return tipped(s("a", { href: target(place, c, m), "aria-label": text.replaceAll("\n", ", ") }, ring, symbol(name, x, y)), text);
}

// The number beside a symbol, on its left where the next symbol of the lane is close.
function number(c, m, x, y, isTight) {
  const text = c.isCenter(m) ? clock(dateOf(m)) : typeof m.similarity === "number" ? fixed(m.similarity) : "";
  return s("text", { class: "strong halo", x: x + (isTight ? -16 : 16), y: y + 4, "text-anchor": isTight ? "end" : "start", "aria-hidden": "true" }, text);
}

function memberRow(place, c, m, edit) {
  const similarity = c.isCenter(m) ? 1 : m.similarity;
  const bar = typeof similarity === "number" ? h("span", { class: "sim num" }, h("i", { "--v": similarity * 100 }), h("span", { class: "vh" }, "similarity to the center "), fixed(similarity)) : h("span", { class: "mut" }, "–");
  const facts = c.isCenter(m) || m.facts === null || m.facts === undefined ? h("span", { class: "mut" }, "–") : [h("span", { class: "vh" }, "facts agree "), fixed(m.facts)];
  const edited = m.edited ? tipped(chip("edited"), "In this cluster because of an edit") : null;
  return h("li", { class: edit?.isChosen(m) ? "mb sel" : "mb" }, edit ? h("span", { class: "ck" }, edit.box(m)) : null,
    h("span", { class: "when num" }, h("time", {}, moment(dateOf(m))), h("span", { class: "sub" }, c.lead(m) ? "+" + duration(c.lead(m)) : "first")),
    h("span", { class: "what" }, h("a", { class: "t plain one", href: target(place, c, m) }, bdi(m.title || idText(m.id), m.lang)),
      h("span", { class: "sub one" }, h("bdi", {}, hostOf(m)), " · ", h("bdi", { class: "mono" }, idText(m.id)))),
    h("span", { class: "row rel" }, chip(...c.nameOf(m)), edited), bar, h("span", { class: "n num fa" }, facts));
}

// Only the visible rows have elements; further pages are loaded as the end comes near.
function memberList(place, c) {
  const edit = place.mayEdit ? choice(place, c, c.centerId) : null;
  const foot = h("p", { class: "pad small mut", role: "status" });
  let rows = c.members;
  let next = c.next;
  let busy = false;
  const say = (text) => foot.replaceChildren(text || (next ? `${count(rows.length)} of ${count(c.size)} documents loaded. More load as you scroll.` : `${plural(rows.length, "document")}, complete list`));
  async function more() {
    if (busy || !next) return;
    busy = true;
    foot.failed = null;
    try {
      const page = await place.get(place.api("clusters", c.id) + query({ limit: PAGE, cursor: next }));
      rows = rows.concat(page.members);
      next = page.next;
      busy = false;
      say();
      view.show(rows);
    } catch (error) {
      busy = false;
      if (error.name === "AbortError") return;
      const again = () => { say(); more(); };
      say(`The next documents could not be loaded: ${error.message}. `);
      foot.append(h("button", { class: "btn sm", type: "button", onclick: again }, "Try again"));
      foot.failed = error.status ? null : again;
    }
  }
  const view = virtualList(place, { label: "Documents", more, row: (m) => memberRow(place, c, m, edit), height: () => (innerWidth <= 820 ? 100 : 61), total: () => c.size });
  const names = [["Published"], ["Document"], ["Relation"], ["Similarity to center"], ["Facts agree", "n"]];
  const header = h("div", { class: "mb cl-head", "aria-hidden": "true" }, edit ? h("span") : null, names.map(([name, cls]) => h("span", { class: cls }, name)));
  say();
  queueMicrotask(() => view.show(rows));
  return h("section", { class: edit ? "panel members picks" : "panel members" }, h("header", {}, h("h2", {}, "Documents")), header, view.list, edit?.bar, foot);
}
