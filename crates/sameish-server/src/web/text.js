// A text in blocks. The browser lays out only the blocks near the visible part (`content-visibility` in the style sheet), so that a
// document of 1 MB scrolls like a short one.
import { h } from "./dom.js";

const BLOCK = 4000;
const LONGEST = 16000;

// Cuts a text at line ends into parts of about 4,000 characters; a longer line is cut at a space.
export function blocks(text) {
  const starts = [0];
  for (let from = 0; text.length - from > BLOCK;) {
    const line = text.indexOf("\n", from + BLOCK) + 1;
    const isFar = line === 0 || line - from > LONGEST;
    const space = text.lastIndexOf(" ", from + LONGEST) + 1;
    const cut = !isFar ? line : text.length - from <= LONGEST ? text.length : space > from ? space : from + LONGEST;
    if (cut >= text.length) break;
    starts.push(cut);
    from = cut;
  }
  return starts.map((start, at) => ({ start, end: starts[at + 1] ?? text.length }));
}

// Spans sorted by start, without overlap: a later span is cut where an earlier one ends.
export function disjoint(spans) {
  const sorted = spans.filter((span) => span.end > span.start).sort((x, y) => x.start - y.start || y.end - x.end);
  const kept = [];
  let at = 0;
  for (const span of sorted) {
    if (span.end <= at) continue;
    kept.push({ ...span, start: Math.max(span.start, at) });
    at = span.end;
  }
  return kept;
}

// Fills `box` with a text. `spans` are disjoint and have offsets in UTF-16 units; `mark(span, part, isFirst)` makes the element of a
// span, or of its part in a block.
export function renderText(box, text, spans, mark) {
  let next = 0;
  for (const { start, end } of blocks(text)) {
    const block = h("div", { class: "blk", "--len": end - start });
    let at = start;
    while (next < spans.length && spans[next].start < end) {
      const span = spans[next];
      const from = Math.max(span.start, start);
      const to = Math.min(span.end, end);
      block.append(text.slice(at, from), mark(span, text.slice(from, to), from === span.start));
      at = to;
      if (span.end > end) break;
      next += 1;
    }
    block.append(text.slice(at, end));
    box.append(block);
  }
  return box;
}

// The language of the script, where it decides about font and line height.
export function scriptOf(text) {
  const start = text.slice(0, 2000);
  if (/[\u3040-\u30ff]/.test(start)) return "ja";
  if (/[\u4e00-\u9fff]/.test(start)) return "zh";
  if (/[\u0600-\u06ff]/.test(start)) return "ar";
  return null;
}
