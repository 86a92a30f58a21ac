// Threshold lab: pairs and clusters at a threshold, and its precision and recall on pairs that the user has judged.
import { chance, count, figures, fixed, h, head } from "./dom.js";
import { empty, fill, problem } from "./states.js";
import { recallAt, similarityChart } from "./lab-chart.js";
import { edgePairs } from "./lab-pairs.js";

const STEP = 0.01;
const toStep = (value) => Math.round(value * 100) / 100;

export function lab(place) {
  const view = h("div", { class: "stack" }, h("div", { class: "head" }, h("h1", { tabindex: -1 }, "Threshold lab"), h("p", { class: "lead" }, "Move the threshold to see the pairs and clusters that it gives, and judge the pairs next to it. The collection does not change.")));
  const body = h("div", { class: "stack" });
  view.append(body);
  fill(body, async () => content(place, await place.get(place.api("histogram"))), "The threshold lab", 8);
  return [view];
}

// The interval of an estimate. Without an upper bound, a limit was reached.
const ranged = ({ low, high }) => (high === null ? `at least ${count(low)}` : low === high ? `estimated ${count(low)}` : `${count(low)} to ${count(high)}`);
const CAPPED = "Some documents have more matches than a search lists, so there may be more pairs.";

function content(place, histogram) {
  if (histogram.exact && !histogram.bins.some((bin) => bin.pairs)) return h("section", { class: "panel" }, empty("No pairs yet", "The threshold lab requires stored documents that are similar to each other."));
  const lowest = histogram.threshold;
  const limit = (value) => Math.max(Math.max(0, toStep(lowest - 0.1)), Math.min(1, toStep(value)));
  let threshold = limit(Number(place.query.get("t")) || lowest);
  const hasTemplates = histogram.bins.some((bin) => bin.templates);
  let base = null;
  const numbers = h("div", { "aria-live": "polite" });
  const output = h("output", { class: "num", for: "threshold" });
  const pairs = edgePairs(place);
  const svg = similarityChart(histogram, () => threshold, move);
  const slider = h("input", { id: "threshold", type: "range", min: limit(0), max: 1, step: STEP, value: threshold, "aria-describedby": "threshold-note", oninput: (event) => move(Number(event.target.value)) });

  // One request at a time; the newest value wins.
  let busy = false;
  let asked = null;
  async function preview() {
    asked = threshold;
    if (busy) return;
    busy = true;
    try {
      base ||= await place.get(place.api("preview") + `?threshold=${lowest}`);
      let answer = null;
      while (asked !== null) {
        const value = asked;
        asked = null;
        answer = value === lowest ? base : await place.get(place.api("preview") + `?threshold=${value}`);
      }
      show(answer);
    } catch (error) {
      if (error.name === "AbortError") return;
      numbers.failed = error.status ? null : preview;
      numbers.replaceChildren(h("section", { class: "panel" }, problem(error, preview, "The preview")));
    } finally {
      busy = false;
    }
  }

  function show(answer) {
    const item = (name, key) => {
      if (!answer.known) return [name, "–", "not known"];
      const difference = answer[key].value - base[key].value;
      const change = difference === 0 ? "as now" : `${difference > 0 ? "+" : "−"}${count(Math.abs(difference))} compared with now`;
      return [name, `${answer[key].high === null ? "≥ " : ""}${count(answer[key].value)}`, answer.exact ? change : ranged(answer[key])];
    };
    const recall = recallAt(histogram, answer.threshold);
    numbers.replaceChildren(figures([item("Pairs", "pairs"), item("Clusters", "clusters"), item("Copies", "copies"),
      ["Largest cluster", answer.largest_cluster === null ? "–" : count(answer.largest_cluster), answer.known ? "documents" : "not known"],
      recall === null ? null : ["Recall at the threshold", chance(recall, 3), `${histogram.bands} bands of ${histogram.rows} rows`]]));
    if (!answer.known) numbers.append(h("p", { class: "warn gap" }, answer.reason || `The collection finds matches of similarity ${fixed(lowest)} or more. The result of a lower threshold is not known.`));
    else if (!answer.exact) numbers.append(h("p", { class: "warn gap" }, `Estimated from a sample of ${count(answer.sampled)} of ${count(answer.documents)} documents, with 95 % confidence intervals. ${answer.capped ? CAPPED : ""}`));
    pairs.show(answer);
  }

  let timer = 0;
  function move(value) {
    threshold = limit(value);
    slider.value = threshold;
    output.textContent = fixed(threshold);
    svg.redraw();
    preview();
    clearTimeout(timer);
    timer = setTimeout(() => place.replace(place.href("lab") + `?t=${threshold}`), 300);
  }
  place.leave(() => clearTimeout(timer));
  output.textContent = fixed(threshold);
  preview();
  const legend = h("span", { class: "legend" }, h("span", {}, h("i", { class: "sw a" }), "reported"), h("span", {}, h("i", { class: "sw" }), "below the threshold"), hasTemplates ? h("span", {}, h("i", { class: "sw t" }), "templates") : null);
  const sample = histogram.exact ? "" : ` Estimated from a sample of ${count(histogram.sampled)} documents. ${histogram.capped ? CAPPED : ""}`;
  return [numbers, h("section", { class: "panel" }, h("header", {}, h("h2", {}, "Similarity of the pairs"), legend),
    h("div", { class: "pad" }, svg, h("div", { class: "slide" }, h("label", { class: "vh", for: "threshold" }, "Threshold ", output), slider),
      h("p", { class: "small mut", id: "threshold-note" }, `Similarity from 0 to 1. Drag in the chart, or use the arrow keys on the slider. Pairs below ${fixed(lowest)}, the threshold of this collection, are not known.${sample}`))), pairs.panel];
}
