// Histogram of similarities above the S-curve of the index, on one axis of similarity.
import { chance, count, fixed, plural, s, tipped } from "./dom.js";
import { chart } from "./charts.js";

// Probability that the index finds a pair of this similarity; null without a band index.
export function recallAt({ bands, rows }, similarity) {
  return bands ? 1 - (1 - similarity ** rows) ** bands : null;
}

const [R, T, H1] = [12, 30, 212];
const T2 = 288;
const H2 = 92;

// `threshold()` is the current value; `move(value)` is called while the user drags.
export function similarityChart(histogram, threshold, move) {
  const { bins, bin_width: size, threshold: now } = histogram;
  const low = Math.max(0, Math.round((now - 0.1) * 100) / 100);
  const hasCurve = histogram.bands !== null;
  const most = Math.max(...bins.map((bin) => bin.pairs));
  const powers = Math.max(1, Math.ceil(Math.log10(most + 1)));
  let full = 0;
  let L = 64;
  const isNarrow = () => full < 560;
  const x = (value) => L + (full - L - R) * (value - low) / (1 - low);
  // A logarithmic axis that begins below 1, so that a single pair is visible.
  const y = (pairs) => T + H1 * (1 - (pairs < 1 ? 0 : (Math.log10(pairs) + 0.3) / (powers + 0.3)));
  const bottom = hasCurve ? T2 + H2 : T + H1;

  function drawBars(g) {
    for (let power = 0; power <= powers; power++) {
      const at = y(10 ** power);
      g.append(s("line", { class: "grid", x1: L, x2: full - R, y1: at, y2: at }), s("text", { x: L - 8, y: at + 4, "text-anchor": "end" }, count(10 ** power)));
    }
    g.append(s("line", { class: "axis", x1: L, x2: full - R, y1: y(0), y2: y(0) }), s("text", { x: 0, y: 12 }, "pairs (logarithmic)"));
    // Templates are pairs of their own kind, so they have their own bars: on a logarithmic axis, parts of a bar say nothing.
    for (const bin of bins) {
      const end = Math.min(1, bin.from + size);
      const copies = bin.pairs - bin.templates;
      const width = Math.max(2, x(end) - x(bin.from) - 2);
      const isShared = copies > 0 && bin.templates > 0;
      const range = `similarity ${fixed(bin.from)} to ${fixed(end)}`;
      const bar = (cls, pairs, part, text) => {
        if (!pairs) return;
        const own = isShared ? width / 2 - 0.5 : width;
        g.append(tipped(s("rect", { class: cls, x: x(bin.from) + 1 + part * (width / 2 + 0.5), width: own, y: y(pairs), height: y(0) - y(pairs) }), `${range}\n${text}`));
      };
      bar(bin.from + size / 2 >= threshold() ? "a" : "b", copies, 0, plural(copies, "pair"));
      bar("t", bin.templates, isShared ? 1 : 0, plural(bin.templates, "template"));
    }
  }

  function drawCurve(g) {
    const at = (probability) => T2 + H2 * (1 - probability);
    g.append(s("text", { x: 0, y: T2 - 16 }, "probability that a pair is found"));
    for (const p of [0, 0.5, 1]) g.append(s("line", { class: p ? "grid" : "axis", x1: L, x2: full - R, y1: at(p), y2: at(p) }), s("text", { x: L - 8, y: at(p) + 4, "text-anchor": "end" }, p.toFixed(1)));
    const points = Array.from({ length: 101 }, (_, i) => low + (1 - low) * i / 100);
    g.append(s("path", { class: "curve", d: points.map((v, i) => `${i ? "L" : "M"}${x(v).toFixed(1)} ${at(recallAt(histogram, v)).toFixed(1)}`).join("") }));
    const value = threshold();
    const recall = recallAt(histogram, value);
    const isRight = x(value) > full - (isNarrow() ? 64 : 170);
    g.append(s("circle", { class: "pt", cx: x(value), cy: at(recall), r: 5 }),
      s("text", { class: "strong halo", x: x(value) + (isRight ? -10 : 10), y: at(recall) + 20, "text-anchor": isRight ? "end" : "start" }, chance(recall, 3) + (isNarrow() ? "" : " at the threshold")));
  }

  const label = "Histogram of the similarity of pairs on a logarithmic axis" + (hasCurve ? ", and below it the probability that a pair of that similarity is found" : "");
  const svg = chart(bottom + 32, label, (g, width, H) => {
    full = width;
    L = isNarrow() ? 40 : 64;
    // The slider below begins where the axis does.
    svg.parentNode?.style.setProperty("--axis", L + "px");
    const value = threshold();
    drawBars(g);
    if (Math.abs(value - now) > 0.004) {
      const side = value < now || x(now) - 70 < L ? 1 : -1;
      g.append(s("line", { class: "now", x1: x(now), x2: x(now), y1: T, y2: bottom }), s("text", { class: "halo", x: x(now) + 6 * side, y: T + 10, "text-anchor": side > 0 ? "start" : "end" }, "now " + fixed(now)));
    }
    const isRight = x(value) > width - 130;
    g.append(s("line", { class: "mark", x1: x(value), x2: x(value), y1: T - 10, y2: bottom }), s("circle", { class: "handle", cx: x(value), cy: T - 10, r: 6 }),
      s("text", { class: "strong halo", x: x(value) + (isRight ? -12 : 12), y: T - 6, "text-anchor": isRight ? "end" : "start" }, "threshold " + fixed(value)));
    if (hasCurve) drawCurve(g);
    if (!isNarrow()) g.append(s("text", { x: 0, y: H - 12 }, "similarity"));
    for (let v = Math.ceil(low * 10); v <= 10; v++) g.append(s("text", { x: x(v / 10), y: H - 12, "text-anchor": v === 10 ? "end" : v / 10 === low && !isNarrow() ? "start" : "middle" }, (v / 10).toFixed(1)));
  });
  svg.removeAttribute("tabindex");
  const drag = (event) => move(low + (1 - low) * (event.clientX - svg.getBoundingClientRect().left - L) / (full - L - R));
  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    svg.onpointermove = drag;
    drag(event);
  });
  for (const name of ["pointerup", "pointercancel"]) svg.addEventListener(name, () => { svg.onpointermove = null; });
  return svg;
}
