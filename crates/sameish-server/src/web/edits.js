// Editorial decisions: what they send, how they are taken back, and the list of those that were not undone.
import { chip, clock, count, day, h, head, plural, toast } from "./dom.js";
import { idPath, idText, post, query, remove } from "./api.js";
import { forgetLists } from "./clusters.js";
import { empty, fill } from "./states.js";

// Maximum number of edits that one action sends, one after the other.
const MAX_AT_ONCE = 20;
const NAMES = { split: "Split off", merge: "Merged", same: "Same cluster", different: "Not a duplicate" };

// Shows the view again: an edit can change every part of it.
function changed() {
  forgetLists();
  dispatchEvent(new Event("edited"));
}

// One action runs at a time, so that a second click on a button does not send an edit twice. If an action fails, the message says
// why, and everything on the page stays.
let isRunning = false;
async function attempt(action) {
  if (isRunning) return;
  isRunning = true;
  try {
    await action();
  } catch (error) {
    toast(error.message);
  } finally {
    isRunning = false;
  }
}

const takeBack = (place, edits) => attempt(async () => {
  for (const edit of [...edits].reverse()) await remove(place.api("edits", String(edit)));
  changed();
  toast("Undone.");
});
export const undo = (place, edit) => takeBack(place, [edit]);

// Sends edits one after the other, and offers to undo those that were made, also if a later one fails. `follow` receives the result
// of the last one.
export const decide = (place, edits, text, follow) => attempt(async () => {
  const done = [];
  let last = null;
  let failure = null;
  try {
    for (const edit of edits) {
      last = await post(place.api("edits"), edit);
      done.push(last.edit);
    }
  } catch (error) {
    failure = error;
  }
  if (!done.length) throw failure;
  follow?.(last);
  changed();
  const message = failure ? `${done.length} of ${edits.length} edits were made. The next one failed: ${failure.message}` : text;
  toast(message, () => takeBack(place, done));
});

// Checkboxes for the documents of a cluster, and the bar of actions for the chosen ones.
export function choice(place, cluster, centerId) {
  const chosen = new Map();
  const said = h("span", { class: "small", role: "status" });
  const act = (name, run) => h("button", { class: "btn", type: "button", onclick: () => run([...chosen.values()]) }, name);
  // Each document leaves the cluster on its own. `different` would move the later one of the two, which can be the center.
  const apart = act("Not a duplicate of the center", (ids) => decide(place, ids.map((id) => ({ kind: "split", cluster: cluster.id, documents: [id] })), `${plural(ids.length, "document")} marked as no duplicate of the center.`));
  const bar = h("div", { class: "bulk", hidden: true, role: "toolbar", "aria-label": "With the chosen documents" }, said,
    act("Split off", (ids) => decide(place, [{ kind: "split", cluster: cluster.id, documents: ids }], `${plural(ids.length, "document")} split off into a new cluster.`)), apart);
  const isChosen = (m) => chosen.has(idPath(m.id));
  const box = (m) => h("input", { type: "checkbox", "aria-label": `Choose ${idText(m.id)}`, checked: isChosen(m), disabled: idPath(m.id) === idPath(centerId), onchange: (event) => {
    if (event.target.checked) chosen.set(idPath(m.id), m.id);
    else chosen.delete(idPath(m.id));
    event.target.closest("li").classList.toggle("sel", event.target.checked);
    bar.hidden = !chosen.size;
    apart.disabled = chosen.size > MAX_AT_ONCE;
    said.textContent = `${plural(chosen.size, "document")} chosen${apart.disabled ? `; at most ${MAX_AT_ONCE} can be marked as no duplicate at once` : ""}`;
  } });
  return { bar, box, isChosen };
}

// The form that merges a cluster with another one.
export function mergeForm(place, cluster) {
  const field = h("input", { class: "field", id: "merge", type: "text", inputmode: "numeric", pattern: "#?[0-9]+", required: true, placeholder: "#number", size: 9, autocomplete: "off" });
  const submit = (event) => {
    event.preventDefault();
    const other = Number(field.value.trim().replace("#", ""));
    decide(place, [{ kind: "merge", clusters: [cluster.id, other] }], `Merged with #${other}.`, (edit) => place.replace(place.href("clusters", edit.clusters[0])));
  };
  return h("form", { class: "row", onsubmit: submit }, h("label", { class: "small", for: "merge" }, "Merge with"), field, h("button", { class: "btn" }, "Merge"));
}

// Decisions on two documents that are shown side by side.
export function pairActions(place, a, b) {
  if (!place.mayEdit) return [];
  const send = (kind, text) => decide(place, [{ kind, a: a.id, b: b.id }], text);
  const isOne = a.cluster !== null && a.cluster === b.cluster;
  return [isOne ? h("button", { class: "btn", type: "button", onclick: () => send("different", "The two documents are in different clusters.") }, "Not a duplicate")
    : h("button", { class: "btn", type: "button", onclick: () => send("same", "The two documents are in one cluster.") }, "Same cluster")];
}

function line(place, e) {
  const documents = e.documents.slice(0, 6).map((id) => [h("a", { class: "mono plain", href: place.doc(id) }, h("bdi", {}, idText(id))), " "]);
  const clusters = e.clusters.slice(0, 6).map((id) => [h("a", { class: "mono", href: place.href("clusters", id) }, "#" + id), " "]);
  return h("tr", { class: "go" }, h("td", { class: "num nw tm" }, day(e.at), h("div", { class: "sub" }, clock(e.at))),
    h("td", {}, h("b", {}, NAMES[e.kind] || e.kind), h("div", { class: "sub" }, documents, e.documents.length > 6 ? `and ${e.documents.length - 6} more` : ""),
      e.active ? null : chip("not in force"), e.pending ? chip("being applied") : null),
    h("td", { class: "nw hide-s" }, clusters),
    h("td", { class: "n" }, place.mayEdit ? h("button", { class: "btn", type: "button", "aria-label": `Undo edit ${e.edit}`, onclick: () => undo(place, e.edit) }, "Undo") : null));
}

export function edits(place) {
  const panel = h("section", { class: "panel" });
  fill(panel, async () => {
    const page = await place.get(place.api("edits") + query({ limit: 100, cursor: place.query.get("cursor") }));
    if (!page.edits.length) return empty("No edits", "Decisions to split or merge clusters are listed here until they are undone.");
    const names = [["When", ""], ["Edit", ""], ["Clusters now", "hide-s"]].map(([name, cls]) => h("th", { scope: "col", class: cls || null }, name));
    return [h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, names, h("th", {}, h("span", { class: "vh" }, "Undo")))), h("tbody", {}, page.edits.map((e) => line(place, e))))),
      h("p", { class: "pad small mut" }, `The edits refer to ${plural(page.named, "document")}; the limit is ${count(page.max_named)}.`),
      page.next ? h("p", { class: "pad small" }, h("a", { href: place.href("edits") + query({ cursor: page.next }) }, "Earlier edits")) : null];
  }, "The list of edits", 6);
  return [head("Edits", "Decisions that change the clusters that the engine forms. They stay in force until they are undone. If two contradict each other, the later one takes precedence.", h("a", { href: place.href("clusters") }, "Clusters")), panel];
}
