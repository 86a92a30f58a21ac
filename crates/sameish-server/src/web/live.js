// Live: documents as they are committed, with the cluster that each one joined.
import { bdi, chip, count, duration, fixed, h, head, plural, s } from "./dom.js";
import { idText, parse } from "./api.js";
import { chart, ticks } from "./charts.js";
import { follow } from "./events.js";
import { empty, problem } from "./states.js";
import { matchName } from "./verdict.js";

const KEPT = 500;
const PER_FRAME = 10;
const SECONDS = 60;

// The events of each collection stay while the page is open; the stream continues after the last one.
const histories = new Map();

export function live(place) {
  const history = histories.get(place.collection) || { events: [], last: null };
  histories.set(place.collection, history);
  const list = h("ol", { class: "list feed", "aria-label": "Newest documents first" });
  const waiting = empty("Waiting for documents", "Documents appear here as they are stored. None has been stored since the stream started.");
  const panel = h("section", { class: "panel" }, waiting);
  const status = h("span", { class: "small mut" }, "connecting");
  const spoken = h("p", { class: "vh", role: "status" });
  const rate = new Array(SECONDS).fill(0);
  let held = [];
  let paused = false;
  let frame = 0;
  let unspoken = 0;

  const showHeld = h("button", { class: "btn main", type: "button", hidden: true, onclick: () => { scrollTo(0, 0); release(held.length); } });
  const pauseButton = h("button", { class: "btn", type: "button", onclick: () => setPaused(!paused) }, "Pause");

  function setPaused(value) {
    paused = value;
    pauseButton.textContent = paused ? "Resume" : "Pause";
    if (!paused) release(held.length);
  }
  const isHolding = () => paused || scrollY > 260;
  function refresh() {
    showHeld.hidden = !held.length || !isHolding();
    showHeld.textContent = `Show ${count(held.length)} new`;
  }
  function add(event, isFresh) {
    list.prepend(eventRow(place, event, isFresh));
    if (!panel.contains(list)) panel.replaceChildren(list);
  }
  // Shows waiting events, at most a few per frame unless the user asks for all of them.
  function release(limit) {
    for (const event of held.splice(0, limit)) add(event, true);
    while (list.childElementCount > KEPT) list.lastChild.remove();
    refresh();
  }
  function soon() {
    if (frame) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      if (isHolding()) return refresh();
      release(PER_FRAME);
      if (held.length) soon();
    });
  }

  function received(event) {
    history.events.push(event);
    if (history.events.length > KEPT) history.events.shift();
    history.last = event.position;
    held.push(event);
    if (held.length > KEPT) held.shift();
    // Past events come at once when the stream begins; they are not part of the rate.
    if (Date.now() - new Date(event.at) < 10000) rate[SECONDS - 1] += 1;
    unspoken += 1;
    soon();
  }
  // Stands in the feed where events are missing.
  function lost() {
    const gap = { isGap: true, at: new Date().toISOString() };
    if (!history.events.length || history.events.at(-1).isGap) return;
    history.events.push(gap);
    held.push(gap);
    soon();
  }
  const told = (state) => {
    if (state === "open") status.textContent = "connected";
    else if (state === "closed") status.textContent = "reconnecting";
    else if (state === "lost") lost();
    else panel.replaceChildren(problem(state, () => dispatchEvent(new Event("keyed")), "Live"));
  };

  history.events.forEach((event) => add(event, false));
  follow(place.api("events"), history.last, place.signal, { event: received, told, parse });
  const spark = rateChart(rate);
  const tick = setInterval(() => {
    rate.shift();
    rate.push(0);
    spark.redraw();
  }, 1000);
  // A screen reader gets a number from time to time, not each row.
  const speak = setInterval(() => {
    if (unspoken) spoken.textContent = plural(unspoken, "new event");
    unspoken = 0;
  }, 15000);
  const scrolled = () => (held.length && !isHolding() ? soon() : refresh());
  addEventListener("scroll", scrolled, { passive: true });
  place.leave(() => {
    clearInterval(tick);
    clearInterval(speak);
    cancelAnimationFrame(frame);
    removeEventListener("scroll", scrolled);
  });
  return [h("div", { class: "row between" }, head("Live", "Documents as they are stored, and the cluster that each one joined."), h("div", { class: "row" }, showHeld, pauseButton)),
    h("section", { class: "panel" }, h("header", {}, h("h2", {}, "Documents per second"), status), h("div", { class: "pad" }, spark)), panel, spoken];
}

function rateChart(rate) {
  return chart(96, "Documents per second over the last minute", (g, width, H) => {
    const levels = ticks(Math.max(...rate, 2), 2);
    const y = (value) => 12 + (H - 34) * (1 - value / levels.at(-1));
    for (const v of levels) g.append(s("line", { class: v ? "grid" : "axis", x1: 32, x2: width, y1: y(v), y2: y(v) }), s("text", { x: 24, y: y(v) + 4, "text-anchor": "end" }, count(v)));
    const step = (width - 32) / SECONDS;
    rate.forEach((value, at) => value && g.append(s("rect", { class: "a", x: 32 + at * step, width: Math.max(1, step - 1.5), y: y(value), height: y(0) - y(value) })));
    g.append(s("text", { x: 32, y: H - 4 }, "60 s ago"), s("text", { x: width, y: H - 4, "text-anchor": "end" }, "now"));
  });
}

const KINDS = { deleted: ["Deleted", ""], replaced: ["Replaced", ""], moved: ["Moved", ""] };

function outcome(place, event) {
  const to = event.cluster ? h("a", { href: place.href("clusters", event.cluster) }, "#" + event.cluster) : null;
  if (event.kind === "deleted") return [chip(...KINDS.deleted)];
  const changed = KINDS[event.kind] ? chip(...KINDS[event.kind]) : null;
  if (!to) return [changed || chip("First seen")];
  // A template is in the cluster only if the collection merges templates.
  if (event.template) {
    const others = event.size > 1 ? `, now ${plural(event.size, "document")}` : "";
    return [changed, changed ? " " : null, chip("Template", "fact"), h("span", { class: "sub num" }, ` of another, ${fixed(event.similarity)}; in `, to, others)];
  }
  if (event.size === 1) return [changed, changed ? " " : null, chip("New"), h("span", { class: "sub num" }, " alone in ", to)];
  const size = plural(event.size, "document");
  if (!event.lead_seconds) return [changed, changed ? " " : null, chip("First seen"), h("span", { class: "sub num" }, " first in ", to, `, now ${size}`)];
  const isCompared = typeof event.similarity === "number";
  const [name, tone] = isCompared ? matchName(event) : ["Joined", ""];
  const similarity = isCompared ? ` ${fixed(event.similarity)}` : "";
  return [changed, changed ? " " : null, chip(name, tone), h("span", { class: "sub num" }, `${similarity} in `, to, ` of ${size}, `, h("span", { class: "nw" }, `+${duration(event.lead_seconds)}`))];
}

function eventRow(place, event, isFresh) {
  if (event.isGap) return h("li", { class: "missing" }, h("p", { class: "warn" }, "Documents are missing here: the service no longer has the events after the last one that this page received."));
  const name = bdi(event.title || idText(event.id));
  const title = event.kind === "deleted" ? h("span", { class: "t" }, name) : h("a", { class: "t plain", href: place.doc(event.id) }, name);
  return h("li", { class: isFresh ? "fresh" : null }, h("time", { class: "mut", datetime: event.at }, new Date(event.at).toISOString().slice(11, 19)),
    h("bdi", { class: "mut one" }, event.host || "no source"), title, h("span", {}, outcome(place, event)));
}
