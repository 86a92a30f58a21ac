// Charts in SVG, drawn for the width at hand. Every axis has a unit.
import { count, day, h, hint, s } from "./dom.js";

// A chart draws itself again when its width changes. `label` is what a screen reader reads.
export function chart(height, label, draw) {
  const svg = s("svg", { class: "chart", height, role: "img", "aria-label": label, tabindex: 0 });
  let width = 0;
  svg.redraw = () => {
    if (width <= 40) return;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    draw(svg, width, height);
  };
  const observer = new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now === width) return;
    width = now;
    svg.redraw();
  });
  observer.observe(svg);
  return svg;
}

// Ticks at 1, 2, 2.5 and 5 times a power of ten.
export function ticks(max, steps = 4) {
  const raw = Math.max(1, max) / steps;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max(1, [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) * power);
  return Array.from({ length: Math.ceil(Math.max(1, max) / step) + 1 }, (_, at) => at * step);
}

// Stacked bars per day: rows are `{ date, ... }`. Arrow keys walk through them.
export function bars(rows, { height = 232, unit, series, label }) {
  const [L, T, B] = [44, 26, 24];
  let at = -1;
  let step = 1;
  const sum = (row) => series.reduce((total, one) => total + row[one.key], 0);
  const svg = chart(height, label, (g, width, H) => {
    const levels = ticks(Math.max(...rows.map(sum)), height < 160 ? 2 : 4);
    const y = (value) => T + (H - T - B) * (1 - value / levels.at(-1));
    step = (width - L) / rows.length;
    const bar = Math.max(1, Math.min(28, step * 0.68));
    // A date needs 64 px.
    const every = Math.max(1, Math.ceil(64 / step));
    g.append(s("text", { x: 0, y: 12 }, unit));
    for (const v of levels) g.append(s("line", { class: v ? "grid" : "axis", x1: L, x2: width, y1: y(v), y2: y(v) }), s("text", { x: L - 8, y: y(v) + 4, "text-anchor": "end" }, count(v)));
    rows.forEach((row, i) => {
      const x = L + step * i + (step - bar) / 2;
      if (i === at) g.append(s("rect", { class: "hot", x: L + step * i, y: T, width: step, height: H - T - B }));
      let base = 0;
      for (const one of series) {
        const top = y(base + row[one.key]);
        g.append(s("rect", { class: one.cls, x, width: bar, y: top, height: Math.max(0, y(base) - top) }));
        base += row[one.key];
      }
      const isEnd = i === rows.length - 1;
      if ((rows.length - 1 - i) % every === 0 && x > L + 14 && (isEnd || width - x > 88)) g.append(s("text", { x: isEnd ? width : x + bar / 2, y: H - 6, "text-anchor": isEnd ? "end" : "middle" }, day(row.date)));
    });
  });
  const show = (i, x, y) => {
    if (i !== at) { at = i; svg.redraw(); }
    if (i < 0) hint();
    else hint([day(rows[i].date), ...series.map((one) => `${one.name}: ${count(rows[i][one.key])}`)].join("\n"), x, y);
  };
  svg.addEventListener("pointermove", (event) => {
    const i = Math.floor((event.clientX - svg.getBoundingClientRect().left - L) / step);
    show(i >= 0 && i < rows.length ? i : -1, event.clientX, event.clientY);
  });
  svg.addEventListener("pointerleave", () => show(-1));
  svg.addEventListener("blur", () => show(-1));
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const i = Math.max(0, Math.min(rows.length - 1, at < 0 ? rows.length - 1 : at + by));
    const box = svg.getBoundingClientRect();
    show(i, box.left + L + step * i, box.top + 60);
  });
  return svg;
}

// A chart in a panel, with a button that shows the same numbers as a table.
export function figure(title, svg, names, rows, extra) {
  const cell = (tag, value, i, more) => h(tag, { class: i ? "n" : null, ...more }, value);
  const table = h("div", { class: "scroll", hidden: true, tabindex: 0, role: "region", "aria-label": title }, h("table", {},
    h("thead", {}, h("tr", {}, names.map((name, i) => cell("th", name, i, { scope: "col" })))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value, i) => cell("td", value, i)))))));
  const body = h("div", { class: "pad" }, svg, extra);
  const toggle = () => {
    const showTable = table.hidden;
    table.hidden = !showTable;
    body.hidden = showTable;
    button.setAttribute("aria-pressed", showTable);
  };
  const button = h("button", { class: "btn ghost", type: "button", "aria-pressed": "false", onclick: toggle }, "Table");
  return h("section", { class: "panel" }, h("header", {}, h("h2", {}, title), button), body, table);
}
