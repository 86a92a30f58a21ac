// Pairs next to the threshold, which the user judges, and the precision and recall that follow from the judgments.
import { bdi, chip, fixed, h } from "./dom.js";
import { idText } from "./api.js";
import { labelLines, labelsOf, pairKey, quality } from "./labels.js";

export function edgePairs(place) {
  const labels = labelsOf(place.collection);
  const list = h("div", {});
  const results = h("div", { "aria-live": "polite" });
  const download = h("button", { class: "btn sm", type: "button", onclick: save }, "Download labels");
  let current = null;

  function judge(pair, same) {
    const key = pairKey(pair);
    if (labels.get(key)?.same === same) labels.delete(key);
    else labels.set(key, { a: pair.a.id, b: pair.b.id, similarity: pair.similarity, template: pair.template, same });
    for (const row of list.querySelectorAll(".pair")) row.refresh();
    measure();
  }

  function typed(event, pair) {
    const same = { y: true, n: false }[event.key.toLowerCase()];
    if (same === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation();
    judge(pair, same);
    const rows = [...list.querySelectorAll(".pair")];
    const next = rows[rows.indexOf(event.currentTarget) + 1];
    if (labels.has(pairKey(pair))) next?.focus();
  }

  function row(pair) {
    const side = (d) => h("p", {}, h("span", { class: "sub one" }, h("bdi", {}, d.host || "no source"), " · ", bdi(d.title || idText(d.id))), h("span", { class: "clip", dir: "auto" }, d.excerpt));
    const buttons = [[true, "Copy"], [false, "No copy"]].map(([same, text]) => [same, h("button", { class: "btn", type: "button", onclick: () => judge(pair, same) }, text)]);
    const node = h("div", { class: "pair", tabindex: 0, role: "group", "aria-label": `Pair of similarity ${fixed(pair.similarity)}. Press Y for copy, N for no copy.`, onkeydown: (event) => typed(event, pair) },
      h("div", {}, h("b", { class: "num" }, fixed(pair.similarity)), pair.template ? h("div", {}, chip("Template", "fact")) : null), side(pair.a), side(pair.b),
      h("div", { class: "say" }, buttons.map(([, button]) => button), h("a", { class: "btn ghost", href: place.doc(pair.a.id, pair.b.id) }, "Open")));
    node.refresh = () => {
      const label = labels.get(pairKey(pair));
      for (const [same, button] of buttons) button.setAttribute("aria-pressed", label?.same === same);
    };
    node.refresh();
    return node;
  }

  function measure() {
    const { pairs, precision, recall } = quality(labels, current.threshold);
    const item = (name, estimate, none) => h("div", {}, h("dt", {}, name), h("dd", {}, estimate ? fixed(estimate.value) : "–", h("small", {}, estimate ? ` ${fixed(estimate.low)} to ${fixed(estimate.high)}` : ` ${none}`)));
    results.replaceChildren(h("dl", { class: "meas" }, h("div", {}, h("dt", {}, "Labels"), h("dd", {}, String(pairs), h("small", {}, pairs === 1 ? " judged pair" : " judged pairs"))),
      item("Precision", precision, "no label above the threshold"), item("Recall", recall, "no pair labeled as a copy")));
    download.disabled = !pairs;
  }

  function save() {
    const address = URL.createObjectURL(new Blob([labelLines(labels)], { type: "application/x-ndjson" }));
    h("a", { href: address, download: `${place.collection}-labels.jsonl` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  function show(answer) {
    current = answer;
    const none = (text) => h("p", { class: "pad small mut" }, text);
    const held = list.contains(document.activeElement);
    const above = [...answer.above].sort((x, y) => y.similarity - x.similarity);
    const below = [...answer.below].sort((x, y) => y.similarity - x.similarity);
    list.replaceChildren(...(above.length ? above.map(row) : [none("No pair reaches this threshold.")]), h("div", { class: "cut" }, "threshold ", fixed(answer.threshold)),
      ...(below.length ? below.map(row) : [none("No pair is known below this threshold.")]));
    if (held) list.querySelector(".pair")?.focus({ preventScroll: true });
    measure();
  }

  const keys = h("span", { class: "small mut wide-only" }, h("kbd", {}, "Y"), " copy ", h("kbd", {}, "N"), " no copy");
  const panel = h("section", { class: "panel", "aria-label": "Pairs next to the threshold" }, h("header", {}, h("h2", {}, "Pairs next to the threshold"), keys, download,
    h("p", {}, "Your labels give precision and recall of the judged pairs, with 95 % confidence intervals. They stay in this tab and change no cluster. ", h("code", { class: "nw" }, "sameish tune --labels"), " reads the downloaded file.")), list, results);
  return { panel, show };
}
