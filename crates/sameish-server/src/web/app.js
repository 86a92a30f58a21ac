// The frame: router, collection selector, search, theme, keys and the banner of a lost connection.
//
// An address is `#/COLLECTION/VIEW/...`. A view is a function of its place that returns nodes; it fills panels when answers arrive.
import { byId, chance, fixed, h, head, hint, s } from "./dom.js";
import { connection, get, idPath, typedPath, url } from "./api.js";
import { empty, problem } from "./states.js";
import { clusters } from "./clusters.js";
import { cluster } from "./cluster.js";
import { documentView } from "./document.js";
import { compareView } from "./compare.js";
import { overview } from "./overview.js";
import { live } from "./live.js";
import { lab } from "./lab.js";
import { sources } from "./sources.js";
import { edits } from "./edits.js";

const main = byId("main");
const VIEWS = [
  { path: "", name: "Overview", key: "o", icon: "M2 13V8h3v5M6.5 13V3h3v10M11 13V6h3v7", show: overview },
  { path: "live", name: "Live", key: "l", icon: "M1 8h3l2-5 4 10 2-5h3", show: live },
  { path: "clusters", name: "Clusters", key: "c", icon: "M5 2h9v9M2 5h9v9H2z", show: (place) => (place.parts[0] ? cluster(place) : clusters(place)) },
  { path: "compare", name: "Compare", key: "v", icon: "M2 3h5v10H2zM9 3h5v10H9z", show: compareView },
  { path: "lab", name: "Threshold lab", key: "t", icon: "M1 13c5 0 5-10 14-10M8 2v12", show: lab },
  { path: "sources", name: "Who copies whom", key: "w", icon: "M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z", show: sources },
  { path: "doc", show: documentView, under: "clusters" },
  { path: "edits", show: edits, under: "clusters" },
];

let collections = new Map();
// Whether the key, or a service without keys, permits writing.
let mayEdit = false;
let current = { collection: null, view: undefined };
let cleanups = [];

// The collections are read once, and again when a name is not among them.
async function readCollections() {
  const answer = await get("/api/v1");
  collections = new Map(answer.collections.map((c) => [c.name, c]));
  mayEdit = answer.permits === "write" || answer.permits === "admin";
  const options = [...collections.keys()].map((name) => h("option", { value: name }, name));
  byId("collection").replaceChildren(...options);
}

function readAddress() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  const [collection = "", view = "", ...parts] = path.split("/").map(decodeURIComponent);
  return { collection, view, parts, query: new URLSearchParams(search) };
}

const address = (collection, ...parts) => "#/" + [collection, ...parts].map(encodeURIComponent).join("/");

// What a view receives: its address, functions that create addresses, and functions that register its cleanup.
function makePlace(read, signal) {
  const { collection } = read;
  return {
    ...read, signal, main, mayEdit,
    settings: collections.get(collection),
    href: (...parts) => address(collection, ...parts),
    doc: (id, ...other) => address(collection, "doc", idPath(id), ...other.map(idPath)),
    api: (...parts) => url(collection, ...parts),
    get: (path) => get(path, signal),
    leave: (action) => cleanups.push(action),
    keys: (action) => { current.keys = action; },
    // A view that can show another address without being built again returns true for it.
    moves: (action) => { current.moves = action; },
    replace: (hash) => { history.replaceState(history.state, "", hash); current.hash = hash; },
  };
}

// Where each entry of the history was scrolled to, so that going back, or an edit, shows the same position again.
history.scrollRestoration = "manual";
const positions = new Map();
let entry = null;
let entries = Date.now();
function turn() {
  if (entry !== null) positions.set(entry, scrollY);
  const known = history.state?.entry;
  entry = known ?? ++entries;
  if (known === undefined) history.replaceState({ entry }, "");
  return positions.get(known);
}

// Scrolls as soon as the content is high enough, unless the user does something before.
function restore(top) {
  const mine = entry;
  const abort = new AbortController();
  for (const name of ["wheel", "touchstart", "keydown"]) addEventListener(name, () => abort.abort(), { signal: abort.signal, passive: true });
  setTimeout(() => abort.abort(), 3000);
  const step = () => {
    if (abort.signal.aborted || entry !== mine) return;
    if (document.documentElement.scrollHeight < top + innerHeight) return requestAnimationFrame(step);
    scrollTo(0, top);
    abort.abort();
  };
  step();
}

async function route() {
  const read = readAddress();
  const top = turn();
  const isSame = current.view && current.view.path === read.view && current.collection === read.collection;
  if (isSame && current.moves?.(read)) {
    current.hash = location.hash;
    return;
  }
  for (const clean of cleanups.splice(0)) clean();
  hint();
  const needsList = !collections.size || (read.collection && !collections.has(read.collection));
  if (needsList) await readCollections();
  if (!read.collection) {
    const first = collections.has("articles") ? "articles" : [...collections.keys()][0];
    if (first) return location.replace(address(first));
    return main.replaceChildren(noCollections());
  }
  const view = VIEWS.find((v) => v.path === read.view);
  if (!view || !collections.has(read.collection)) throw Object.assign(new Error(`No view has this address: ${location.hash}`), { title: "Not found", status: 404 });
  const abort = new AbortController();
  cleanups.push(() => abort.abort());
  const isOther = !isSame || current.part !== read.parts[0];
  const wasShown = current.view !== undefined;
  const held = document.activeElement?.dataset?.field;
  current = { view, collection: read.collection, part: read.parts[0], hash: location.hash, keys: null, moves: null };
  main.className = "";
  const place = makePlace(read, abort.signal);
  main.replaceChildren(...[view.show(place)].flat(9).filter(Boolean));
  showFrame(place, view);
  if (top !== undefined) restore(top);
  else if (isOther) scrollTo(0, 0);
  if (isOther && wasShown) main.querySelector("h1")?.focus({ preventScroll: true });
  else if (held) main.querySelector(`[data-field="${held}"]`)?.focus({ preventScroll: true });
}

function noCollections() {
  const text = "The service has no collection that this key may read. Create one with PUT /api/v1/NAME and store documents with POST /api/v1/NAME/bulk.";
  return h("div", { class: "stack" }, head("Overview"), h("section", { class: "panel" }, empty("No collections", text)));
}

function showFrame(place, view) {
  byId("collection").value = place.collection;
  document.querySelector(".brand").href = place.href();
  for (const link of byId("nav").querySelectorAll("a")) {
    link.href = link.dataset.path ? place.href(link.dataset.path) : place.href();
    const isCurrent = link.dataset.path === (view.under || view.path);
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    if (isCurrent) link.closest("nav").scrollLeft = link.offsetLeft - 40;
  }
  const { preset, threshold, expected_recall: recall } = place.settings;
  byId("ctx").replaceChildren("preset ", h("b", {}, preset), " · threshold ", h("b", {}, fixed(threshold)), ...(recall ? [" · recall at the threshold ", h("b", {}, chance(recall))] : []));
  setTitle();
}

function setTitle() {
  document.title = `${main.querySelector("h1")?.textContent || "sameish"} · sameish`;
}
new MutationObserver(setTitle).observe(main, { childList: true, subtree: true });

function start() {
  route().catch((error) => {
    const panel = h("section", { class: "panel" }, problem(error, () => (error.status === 401 ? dispatchEvent(new Event("keyed")) : start())));
    main.replaceChildren(h("h1", { tabindex: -1 }, error.title || "sameish"), panel);
    setTitle();
    if (!error.status) waiting = start;
  });
}

// The banner while the service does not respond. Nothing on the page is removed; parts that could not load are loaded afterwards.
let waiting = null;
function connectionLost() {
  const since = new Date().toISOString().slice(11, 19);
  const [dot, label] = byId("conn").children;
  dot.classList.add("off");
  label.textContent = "No connection";
  const text = h("span", {});
  const now = h("button", { class: "btn", type: "button" }, "Try now");
  byId("banner").replaceChildren(h("div", { class: "banner" }, h("span", { class: "dot off", "aria-hidden": "true" }), text, now));
  let left = 2;
  text.textContent = `The service does not respond. The page shows data from before ${since} UTC and tries again every 2 s.`;
  const attempt = () => get("/health/live").catch(() => {});
  now.onclick = attempt;
  const timer = setInterval(() => --left <= 0 && ((left = 2), attempt()), 1000);
  connection.addEventListener("up", () => {
    clearInterval(timer);
    byId("banner").replaceChildren();
    dot.classList.remove("off");
    label.textContent = "Connected";
    for (const node of main.querySelectorAll("*")) node.failed?.();
    waiting?.();
    waiting = null;
  }, { once: true });
}
connection.addEventListener("down", connectionLost);
addEventListener("keyed", () => { collections = new Map(); current.moves = null; start(); });
// An edit can change every part of a view, so it is built again.
addEventListener("edited", () => { current.moves = null; start(); });

// Frame controls.
for (const { path, name, icon } of VIEWS.filter((view) => view.name)) {
  const picture = s("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, s("path", { d: icon }));
  byId("nav").append(h("li", {}, h("a", { href: "#/", "data-path": path }, picture, name)));
}
byId("collection").addEventListener("change", (event) => {
  const { view } = readAddress();
  const keeps = ["live", "clusters", "compare", "lab", "sources", "edits"].includes(view);
  location.hash = keeps ? address(event.target.value, view) : address(event.target.value);
});
byId("search").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = byId("q").value.trim();
  const { collection } = current;
  if (/^#\d+$/.test(text)) location.hash = address(collection, "clusters", text.slice(1));
  else if (text && await get(url(collection, typedPath(text))).then((found) => found.arrived_at !== undefined, () => false)) location.hash = address(collection, "doc", typedPath(text));
  else location.hash = address(collection, "clusters") + (text ? "?" + new URLSearchParams({ q: text }) : "");
});

const media = matchMedia("(prefers-color-scheme: dark)");
let chosen = null;
function paint() {
  const dark = chosen === null ? media.matches : chosen;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = dark ? "Light" : "Dark";
  byId("theme").setAttribute("aria-pressed", dark);
}
byId("theme").onclick = () => { chosen = document.documentElement.dataset.theme !== "dark"; paint(); };
media.addEventListener("change", paint);
paint();

const SHORTCUTS = [["/", "search"], ...VIEWS.filter((v) => v.name).map((v) => ["g " + v.key, v.name]), ["[ ]", "previous, next passage"],
  ["Enter", "on the number of a passage: go to its counterpart"], ["y n", "on a pair in the lab: copy, no copy"], ["?", "this list"], ["Esc", "close"]];
const shortcutsOn = h("input", { type: "checkbox", checked: true });
byId("keys").append(h("h2", { id: "keys-h" }, "Keyboard shortcuts"),
  h("dl", {}, SHORTCUTS.map(([keys, text]) => [h("dt", { class: "row" }, keys.split(" ").map((key) => h("kbd", {}, key))), h("dd", {}, text)])),
  h("label", { class: "row" }, shortcutsOn, "Single-key shortcuts"),
  h("div", { class: "row between" }, h("span"), h("button", { class: "btn main", type: "button", onclick: () => byId("keys").close() }, "Close")));
byId("help").onclick = () => byId("keys").showModal();
let prefixAt = 0;
addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey || !shortcutsOn.checked) return;
  if (event.key === "/") {
    event.preventDefault();
    byId("q").focus();
  } else if (event.key === "?") byId("keys").showModal();
  else if (event.key === "g") prefixAt = Date.now();
  else if (Date.now() - prefixAt < 1200) {
    prefixAt = 0;
    const view = VIEWS.find((v) => v.key === event.key);
    if (view) location.hash = view.path ? address(current.collection, view.path) : address(current.collection);
  } else current.keys?.(event);
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => location.hash !== current.hash && start());
start();
