// A list of rows of equal height of which only the visible ones have elements. Pages are loaded as the end comes near.
import { h } from "./dom.js";

const MARGIN = 10;

// `height()` is the height of a row, `row(item, index)` makes its element, `more()` loads the next page if there is one.
export function virtualList(place, { label, height, row, more, total }) {
  const list = h("ul", { class: "list vlist", "aria-label": label });
  let items = [];
  let shown = [-1, -1];
  function draw(force) {
    const size = height();
    const top = list.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-top / size) - MARGIN);
    const last = Math.min(items.length, Math.ceil((innerHeight - top) / size) + MARGIN);
    if (last > items.length - 3 * MARGIN) more();
    if (!force && first === shown[0] && last === shown[1]) return;
    shown = [first, last];
    list.style.setProperty("--rows", items.length);
    list.style.setProperty("--row", size + "px");
    const focused = list.contains(document.activeElement) ? document.activeElement.closest("li") : null;
    const held = focused && { at: focused.dataset.at, tag: document.activeElement.localName };
    list.replaceChildren(...items.slice(first, last).map((item, offset) => {
      const at = first + offset;
      const node = row(item, at);
      node.style.setProperty("--at", at);
      node.dataset.at = at;
      node.setAttribute("aria-setsize", total() ?? -1);
      node.setAttribute("aria-posinset", at + 1);
      return node;
    }));
    if (held) list.querySelector(`li[data-at="${held.at}"] ${held.tag}`)?.focus({ preventScroll: true });
  }
  let frame = 0;
  const later = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => draw(false));
  };
  const resized = () => draw(true);
  addEventListener("scroll", later, { passive: true });
  addEventListener("resize", resized);
  place.leave(() => {
    removeEventListener("scroll", later);
    removeEventListener("resize", resized);
  });
  return { list, show: (all) => { items = all; draw(true); } };
}
