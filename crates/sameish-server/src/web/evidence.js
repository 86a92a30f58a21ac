// Two texts side by side: shared passages in the same color on both sides, differing facts, coverage and all measures.
import { bdi, chip, count, h, moment, s, tipped } from "./dom.js";
import { disjoint, renderText, scriptOf } from "./text.js";
import { measures, verdict } from "./verdict.js";

const KINDS = { number: "Number", name: "Name", text: "Wording" };
const motion = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");
const other = (side) => (side === "a" ? "b" : "a");

// `a` and `b` are `{ text, title, host, at, href, lang }`; `c` is the answer of the compare route with UTF-16 offsets. `place` has
// `leave` and `keys`. With `aside`, the measures are a panel of their own.
export function evidence(place, a, b, c, aside) {
  const texts = { a, b };
  const marks = { a: new Map(), b: new Map() };
  const facts = { a: new Map(), b: new Map() };
  const differences = c.differences.filter((d) => d.kind !== "text");
  const boxes = { a: textBox("a"), b: textBox("b") };
  const gutter = h("div", { class: "gut" }, s("svg", { "aria-hidden": "true" }));
  let lit = -1;
  let at = -1;

  function spansOf(side) {
    const passages = c.passages.map((p, k) => ({ start: p[side + "_start"], end: p[side + "_end"], k }));
    const facts = differences.map((d, i) => ({ start: d[side + "_start"], end: d[side + "_end"], i }));
    return disjoint([...passages, ...facts]);
  }

  function textBox(side) {
    const { text, lang } = texts[side];
    const box = h("div", { class: "txt", dir: "auto", lang: lang || scriptOf(text), tabindex: 0, role: "region", "aria-label": `Text ${side.toUpperCase()}` });
    return renderText(box, text, spansOf(side), (span, part, isFirst) =>
      (span.k === undefined ? factMark(side, span, part) : passageMark(side, span, part, isFirst)));
  }

  // The number of a passage stands after the space with which the passage begins, if it does, and on one line with its first word.
  function passageMark(side, { k }, part, isFirst) {
    const label = `Passage ${k + 1} of ${c.passages.length}, ${c.passages[k].tokens} words in both texts. Go to its counterpart.`;
    const [, space, word] = /^(\s*)(\S{0,16})/.exec(part);
    const number = () => h("span", { class: "nw" }, h("button", { class: "pn", type: "button", "aria-label": label }, k + 1), word);
    const mark = h("mark", { class: `p c${k % 6}`, "data-k": k, onclick: () => goTo(side, k), onpointerenter: () => light(k), onpointerleave: () => light(-1) }, isFirst ? [space, number(), part.slice(space.length + word.length)] : part);
    if (!marks[side].has(k)) marks[side].set(k, []);
    marks[side].get(k).push(mark);
    return mark;
  }

  function factMark(side, { i }, part) {
    const d = differences[i];
    const twin = texts[other(side)].text.slice(d[other(side) + "_start"], d[other(side) + "_end"]);
    const mark = h("mark", { class: "d", "data-i": i, onpointerenter: () => lightFact(i, true), onpointerleave: () => lightFact(i, false) }, part);
    facts[side].set(i, mark);
    return tipped(mark, twin ? `${KINDS[d.kind]} differs: “${twin}” in ${other(side).toUpperCase()}` : `Only in ${side.toUpperCase()}`);
  }

  function light(k) {
    if (lit === k) return;
    for (const side of "ab") {
      for (const [index, list] of marks[side]) if (index === k || index === lit) for (const mark of list) mark.classList.toggle("on", index === k);
    }
    lit = k;
    draw();
  }

  function lightFact(i, on) {
    for (const side of "ab") facts[side].get(i)?.classList.toggle("on", on);
  }

  // Scrolls the other side until the passages are level; where it ends, the clicked side scrolls the rest.
  function goTo(side, k) {
    const mine = boxes[side];
    const theirs = boxes[other(side)];
    const twin = marks[other(side)].get(k)?.[0];
    if (!twin) return;
    const distance = twin.getBoundingClientRect().top - marks[side].get(k)[0].getBoundingClientRect().top;
    const target = Math.max(0, Math.min(theirs.scrollHeight - theirs.clientHeight, theirs.scrollTop + distance));
    const rest = distance - (target - theirs.scrollTop);
    light(k);
    theirs.scrollTo({ top: target, behavior: motion() });
    if (Math.abs(rest) > 1) mine.scrollBy({ top: -rest, behavior: motion() });
    twin.querySelector("button")?.focus({ preventScroll: innerWidth > 820 });
  }

  // Where a passage is in its pane, limited to the visible part. A block out of view is not laid out for this.
  function extent(side, k, top) {
    const pane = boxes[side].getBoundingClientRect();
    const list = marks[side].get(k);
    if (!list) return null;
    const limit = (y) => Math.max(pane.top, Math.min(pane.bottom, y)) - top;
    const edge = (mark, isEnd) => {
      const block = mark.parentNode.getBoundingClientRect();
      if (block.bottom < pane.top || block.top > pane.bottom) return block.top;
      const lines = mark.getClientRects();
      return isEnd ? lines[lines.length - 1].bottom : lines[0].top;
    };
    return [limit(edge(list[0], false)), limit(edge(list[list.length - 1], true))];
  }

  let frame = 0;
  function draw() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(drawNow);
  }
  function drawNow() {
    const { top, width } = gutter.getBoundingClientRect();
    if (!width) return;
    const half = width / 2;
    const bands = [];
    for (let k = 0; k < c.passages.length; k++) {
      const x = extent("a", k, top);
      const y = extent("b", k, top);
      if (!x || !y || (x[1] - x[0] < 1 && y[1] - y[0] < 1)) continue;
      const d = `M0 ${x[0]}C${half} ${x[0]} ${half} ${y[0]} ${width} ${y[0]}V${y[1]}C${half} ${y[1]} ${half} ${x[1]} 0 ${x[1]}Z`;
      bands.push(s("path", { class: `c${k % 6}${k === lit ? " on" : ""}`, d, onclick: () => goTo("a", k) }));
    }
    gutter.firstChild.replaceChildren(...bands);
  }

  function step(by) {
    if (!c.passages.length) return;
    at = (at + by + c.passages.length) % c.passages.length;
    light(at);
    for (const side of "ab") {
      const mark = marks[side].get(at)?.[0];
      const box = boxes[side];
      if (mark) box.scrollTo({ top: box.scrollTop + mark.getBoundingClientRect().top - box.getBoundingClientRect().top - 12, behavior: motion() });
    }
    position.textContent = `${at + 1} of ${c.passages.length}`;
  }

  const position = h("span", { class: "num", "aria-live": "polite" }, c.passages.length === 1 ? "1 passage" : `${count(c.passages.length)} passages`);
  for (const side of "ab") boxes[side].addEventListener("scroll", draw, { passive: true });
  const observer = new ResizeObserver(draw);
  observer.observe(gutter);
  observer.observe(boxes.a);
  place.leave(() => observer.disconnect());
  place.keys((event) => (event.key === "]" ? step(1) : event.key === "[" ? step(-1) : null));

  const [name, why] = verdict(c);
  const tools = h("div", { class: "tools" },
    h("span", { class: "row" }, h("button", { class: "btn sm", type: "button", onclick: () => step(-1), "aria-label": "Previous passage" }, "‹"), position,
      h("button", { class: "btn sm", type: "button", onclick: () => step(1), "aria-label": "Next passage" }, "›")),
    h("span", { class: "legend" }, h("span", {}, h("i", { class: "sw p" }), "in both"),
      differences.length ? h("span", {}, h("i", { class: "sw f" }), "fact that differs") : null, h("span", {}, "no color: in no shared passage")),
    h("span", { class: "tip-line end" }, "Click a passage to see its counterpart"));
  const panel = h("section", { class: "panel evp", "aria-label": "Evidence" },
    h("div", { class: "verdict" }, h("div", { class: "row" }, h("h2", {}, name), chip(c.match_type), c.template ? chip("template", "fact") : null), h("p", { class: "big mut" }, why)),
    aside ? null : h("dl", { class: "meas" }, measureItems(c).map((item) => h("div", {}, item))),
    tools, c.capped ? h("p", { class: "warn note" }, "The texts share more passages than a response may contain. The longest ones are shown.") : null,
    h("div", { class: "ev" }, pane("a", texts.a, boxes.a), gutter, pane("b", texts.b, boxes.b)),
    factTable(texts, differences, lightFact));
  return [panel, aside ? h("section", { class: "panel me" }, h("header", {}, h("h2", {}, "Measures")), h("dl", { class: "pad" }, measureItems(c))) : null];
}

const measureItems = (c) => measures(c).map(([name, value, unit]) => [h("dt", {}, name), h("dd", {}, value, unit ? h("small", {}, " " + unit) : null)]);

function pane(side, { title, href, host, at, lang }, box) {
  const heading = href ? h("a", { class: "t plain", href }, bdi(title, lang)) : h("span", { class: "t" }, title);
  const about = [host, moment(at)].filter(Boolean).join(" · ");
  return h("article", { class: "pane" }, h("header", {}, h("b", { "aria-hidden": "true" }, side.toUpperCase()), h("div", {}, heading, h("p", { class: "sub" }, h("bdi", {}, about)))), box);
}

// Equal rows are counted once.
function factTable(texts, differences, light) {
  const rows = new Map();
  differences.forEach((d, i) => {
    const a = texts.a.text.slice(d.a_start, d.a_end);
    const b = texts.b.text.slice(d.b_start, d.b_end);
    const key = JSON.stringify([d.kind, a, b]);
    const row = rows.get(key) || { kind: d.kind, a, b, times: 0, i };
    row.times += 1;
    rows.set(key, row);
  });
  if (!rows.size) return null;
  const shown = [...rows.values()].slice(0, 50);
  const cell = (text) => h("td", {}, text ? h("mark", { class: "d", dir: "auto" }, text) : h("span", { class: "mut" }, "none"));
  const heads = ["Facts that differ", "A", "B"].map((name) => h("th", { scope: "col" }, name));
  return h("div", { class: "diffs scroll", tabindex: 0, role: "region", "aria-label": "Facts that differ" }, h("table", {},
    h("thead", {}, h("tr", {}, heads, h("th", { class: "n", scope: "col" }, "Times"))),
    h("tbody", {}, shown.map((row) => h("tr", { class: "go", onpointerenter: () => light(row.i, true), onpointerleave: () => light(row.i, false) },
      h("td", { class: "mut" }, KINDS[row.kind]), cell(row.a), cell(row.b), h("td", { class: "n mut" }, row.times))))),
  rows.size > 50 ? h("p", { class: "warn note" }, `The first 50 of ${count(rows.size)} are listed.`) : null);
}
