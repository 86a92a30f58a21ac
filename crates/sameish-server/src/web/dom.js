// Elements, number formats and the tooltip. Text is inserted only as text nodes, and sizes only as attributes or CSS variables, so
// stored content is never parsed as markup and the content security policy holds.

const SVG = "http://www.w3.org/2000/svg";

function append(node, children) {
  for (const child of children.flat(9)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

function assign(node, properties) {
  for (const [name, value] of Object.entries(properties || {})) {
    const isState = name.startsWith("aria-");
    if (value === null || value === undefined || (value === false && !isState)) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) node.style.setProperty(name, value);
    else if (name === "value" || name === "checked" || name === "selected") node[name] = value;
    else node.setAttribute(name, value === true && !isState ? "" : value);
  }
  return node;
}

export const h = (tag, properties, ...children) => append(assign(document.createElement(tag), properties), children);
export const s = (tag, properties, ...children) => append(assign(document.createElementNS(SVG, tag), properties), children);
export const byId = (id) => document.getElementById(id);

// Formats. Times are UTC.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
export const count = (value) => whole.format(value);
export const plural = (value, one, many = one + "s") => `${count(value)} ${value === 1 ? one : many}`;
export const fixed = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
// A probability that is not 1 is not shown as 1.
export const chance = (value, digits = 2) => (value < 1 && Number(value.toFixed(digits)) === 1 ? `> ${(1 - 10 ** -digits).toFixed(digits)}` : fixed(value, digits));
export const percent = (value, digits = 0) => (value * 100).toFixed(digits) + " %";
export const clock = (at) => new Date(at).toISOString().slice(11, 16);
export const isTime = (at) => !Number.isNaN(new Date(at).getTime());
export const day = (at) => {
  const date = new Date(at);
  const options = { day: "numeric", month: "short", timeZone: "UTC" };
  if (date.getUTCFullYear() !== new Date().getUTCFullYear()) options.year = "numeric";
  return date.toLocaleDateString("en-GB", options);
};
export const moment = (at) => (at && isTime(at) ? `${day(at)}, ${clock(at)}` : "");

export function duration(seconds) {
  const minutes = Math.round(Math.abs(seconds) / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")}`;
  return `${Math.round(minutes / 1440)} d`;
}

export function ago(at) {
  const minutes = Math.round((Date.now() - new Date(at)) / 6e4);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 2880) return `${Math.round(minutes / 60)} h ago`;
  return `${count(Math.round(minutes / 1440))} d ago`;
}

// Titles and names can be of any script, so each has its own direction.
export const bdi = (text, lang) => h("bdi", { lang: lang || null }, text);
export const chip = (text, tone = "") => h("span", { class: "chip " + tone }, text);

export function head(title, lead, crumb, ...more) {
  return h("div", { class: "head" }, crumb && h("p", { class: "crumb" }, crumb),
    h("h1", { tabindex: -1, dir: "auto" }, title), lead && h("p", { class: "lead" }, lead), more);
}

export const figures = (items) => h("dl", { class: "kpis" }, items.filter(Boolean).map(([name, value, note]) =>
  h("div", {}, h("dt", {}, name), h("dd", {}, value), h("dd", {}, note || ""))));

// One tooltip for the page; it also appears on focus.
const tip = byId("tip");
export function hint(text, x, y) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  const above = y - box.height - 12;
  tip.style.left = Math.max(8, Math.min(innerWidth - box.width - 8, x + 14)) + "px";
  tip.style.top = (above < 8 ? y + 18 : above) + "px";
}

export function tipped(node, text) {
  node.addEventListener("pointermove", (event) => hint(text, event.clientX, event.clientY));
  node.addEventListener("pointerleave", () => hint());
  node.addEventListener("focus", () => {
    const box = node.getBoundingClientRect();
    hint(text, box.left + box.width / 2, box.top);
  });
  node.addEventListener("blur", () => hint());
  return node;
}

export function toast(text, undo) {
  const box = byId("toast");
  const button = undo && h("button", { class: "btn", type: "button", onclick: () => { box.replaceChildren(); undo(); } }, "Undo");
  box.replaceChildren(h("span", {}, text), ...(button ? [button] : []));
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => box.replaceChildren(), 8000);
}
