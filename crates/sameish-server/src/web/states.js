// What a panel shows instead of content: no data, loading, a form for the key, or a problem.
import { byId, h, s } from "./dom.js";
import { hasKey, NoService, useKey } from "./api.js";

const ICONS = { empty: "M4 6h16v12H4zM4 10h16M9 14h6", bad: "M12 4 21 20H3zM12 10v5M12 17.5v.5" };
const icon = (name) => s("svg", { viewBox: "0 0 24 24", width: 32, height: 32, "aria-hidden": "true" }, s("path", { d: ICONS[name] }));

export function empty(title, text, ...actions) {
  return h("div", { class: "state" }, icon("empty"), h("h2", {}, title), h("p", {}, text),
    actions.length ? h("div", { class: "row" }, actions) : null);
}

export function loading(lines = 4) {
  const bars = (at) => [h("span", { class: "sk", "--v": 70 - 9 * (at % 4) }), h("span", { class: "sk", "--v": 32 + 6 * (at % 3) })];
  return h("div", { role: "status", class: "late" }, h("span", { class: "vh" }, "Loading"),
    h("ul", { class: "list", "aria-hidden": "true" }, Array.from({ length: lines }, (_, at) => h("li", { class: "skel" }, bars(at)))));
}

function keyForm(again, rejected) {
  const field = h("input", { class: "field", id: "key", type: "password", autocomplete: "off", required: true });
  const submit = (event) => {
    event.preventDefault();
    useKey(field.value);
    again();
  };
  return h("form", { class: "state", id: "key-form", onsubmit: submit }, h("h2", {}, "This service requires a key"),
    h("p", {}, rejected ? "The service does not accept this key. Enter another one." : "The key is kept in this tab until you close or reload it. It is never stored, and never part of an address."),
    h("div", { class: "row" }, h("label", { for: "key" }, "Key"), field, h("button", { class: "btn main" }, "Use key")));
}

// A view of a later version of the service, or a service without this route.
const missing = (what) => empty(`${what} is not available`, "This version of the service does not have the route that this view needs. The other views work.");

export function problem(error, again, what = "This view") {
  if (error instanceof NoService) return empty("Waiting for the service", "The service does not respond. This part loads as soon as it does.");
  if (error.status === 401) return keyForm(again, hasKey());
  if (isMissingRoute(error)) return missing(what);
  const about = [error.status, error.requestId && `request ${error.requestId}`].filter(Boolean).join(" · ");
  return h("div", { role: "alert" }, h("div", { class: "state" }, icon("bad"), h("h2", {}, error.title || "Something went wrong"),
    h("p", {}, error.message), about ? h("p", { class: "mono" }, about) : null,
    h("div", { class: "row" }, h("button", { class: "btn", type: "button", onclick: again }, "Try again"))));
}

// A path without a route gives 404 with such a text; an absent document or cluster gives 404 with another one.
export function isMissingRoute(error) {
  return (error.status === 404 && /no such path|reserved for a route/.test(error.message)) || error.status === 405;
}

// Fills `target` with the result of `load`: placeholder lines after 150 ms, then the content or the problem. The earlier content is
// kept until then.
export async function fill(target, load, what, lines = 4) {
  const again = () => fill(target, load, what, lines);
  target.failed = null;
  const timer = setTimeout(() => target.childElementCount || target.replaceChildren(loading(lines)), 150);
  try {
    const content = await load();
    clearTimeout(timer);
    const hadFocus = target.contains(document.activeElement);
    target.replaceChildren(...[content].flat(9).filter(Boolean));
    if (hadFocus) target.querySelector("h1")?.focus({ preventScroll: true });
  } catch (error) {
    clearTimeout(timer);
    if (error.name === "AbortError") return;
    if (!error.status && !(error instanceof NoService)) console.error(error);
    if (error instanceof NoService) target.failed = again;
    if (error.status === 401 && byId("key-form")) target.replaceChildren(empty("A key is required", "This part loads after you have entered a key."));
    else target.replaceChildren(problem(error, error.status === 401 ? () => dispatchEvent(new Event("keyed")) : again, what));
  }
}
