// Compares two texts that are pasted or dropped. Nothing is stored.
import { fixed, h, head, toast } from "./dom.js";
import { compare } from "./api.js";
import { empty, problem } from "./states.js";
import { evidence } from "./evidence.js";
import { verdict } from "./verdict.js";

const PRESETS = ["articles", "headlines", "copies", "web", "wire"];
const EXAMPLE = [
  "The council of Brookfield voted on Monday to close the old stone bridge for 3 weeks of repairs. Buses will use the northern road until the work is finished, and the town will pay half of the costs.",
  "The council of Brookfield voted on Monday to close the old stone bridge for 5 weeks of repairs. The town will pay half of the costs, and buses will use the northern road until the work is finished.",
];

// Texts stay while the page is open, also in other views.
const texts = ["", ""];
// Empty: the settings of the collection.
let preset = "";
// A request has at most 8 MiB by default, and a service can permit more; a larger file is surely not a text to read.
const LARGEST_FILE = 16 * 2 ** 20;

export function compareView(place) {
  place.main.classList.add("wide");
  const output = h("div", { class: "stack" });
  // A screen reader hears the result, not both texts.
  const spoken = h("p", { class: "vh", role: "status" });
  let cleanups = [];
  let running = null;
  let timer = 0;

  const area = (at) => {
    const name = at ? "Second text" : "First text";
    const input = h("textarea", { id: "text-" + at, dir: "auto", spellcheck: "false", placeholder: "Paste a text, or drop a file", value: texts[at], oninput: () => { texts[at] = input.value; soon(); } });
    return input;
  };
  const areas = [area(0), area(1)];
  function set(values) {
    values.forEach((value, at) => { texts[at] = areas[at].value = value; });
    run();
  }
  function soon() {
    clearTimeout(timer);
    timer = setTimeout(run, 250);
  }

  async function run() {
    running?.abort();
    const isFilled = texts.every((text) => text.trim());
    place.main.classList.toggle("filled", isFilled);
    if (!isFilled) {
      const example = h("button", { class: "btn", type: "button", onclick: () => set(EXAMPLE) }, "Show an example");
      return output.replaceChildren(h("section", { class: "panel" }, empty("Two texts, every measure", "Paste or drop one text on each side. Shared passages, differing facts and all measures appear here as you type. Nothing is stored.", example)));
    }
    running = new AbortController();
    const [a, b] = texts;
    output.failed = null;
    try {
      const comparison = await compare({ a, b, ...(preset ? { preset } : { collection: place.collection }) }, running.signal);
      cleanups.splice(0).forEach((clean) => clean());
      const inner = { ...place, leave: (action) => cleanups.push(action) };
      output.replaceChildren(...evidence(inner, { text: a, title: "First text" }, { text: b, title: "Second text" }, comparison).filter(Boolean));
      spoken.textContent = `${verdict(comparison)[0]}, similarity ${fixed(comparison.similarity)}`;
    } catch (error) {
      if (error.name === "AbortError") return;
      output.failed = error.status ? null : run;
      output.replaceChildren(h("section", { class: "panel" }, problem(error, error.status === 401 ? () => dispatchEvent(new Event("keyed")) : run, "Compare")));
    }
  }

  // One file fills its side, two files fill both.
  async function read(list, at) {
    const files = [...list].slice(0, 2);
    const large = files.find((file) => file.size > LARGEST_FILE);
    if (large) return toast(`\`${large.name}\` has ${Math.ceil(large.size / 2 ** 20)} MiB; a text can have at most ${LARGEST_FILE / 2 ** 20} MiB.`);
    const contents = await Promise.all(files.map((file) => file.text()));
    if (contents.length === 2) set(contents);
    else if (contents.length === 1) set(at ? [texts[0], contents[0]] : [contents[0], texts[1]]);
  }
  function dropped(event, at) {
    event.preventDefault();
    event.currentTarget.classList.remove("over");
    read(event.dataTransfer.files, at);
  }
  function picker(at) {
    const input = h("input", { type: "file", hidden: true, multiple: true, accept: "text/*,.txt,.md,.html,.json,.csv", "aria-label": at ? "Second file" : "First file", onchange: () => { read(input.files, at); input.value = ""; } });
    return [input, h("button", { class: "btn sm", type: "button", onclick: () => input.click() }, "Choose file…")];
  }
  const box = (at) => h("div", {
    class: "drop", ondrop: (event) => dropped(event, at), ondragleave: (event) => event.currentTarget.classList.remove("over"),
    ondragover: (event) => { event.preventDefault(); event.currentTarget.classList.add("over"); },
  }, h("div", { class: "row between" }, h("label", { class: "small mut", for: "text-" + at }, at ? "Second text" : "First text"), picker(at)), areas[at]);

  const choose = h("select", { onchange: (event) => { preset = event.target.value; run(); } }, 
    h("option", { value: "", selected: !preset }, `as ${place.collection}`), PRESETS.map((name) => h("option", { value: name, selected: name === preset }, name)));
  place.leave(() => { running?.abort(); clearTimeout(timer); cleanups.splice(0).forEach((clean) => clean()); });
  queueMicrotask(run);
  return [h("div", { class: "row between" }, head("Compare", "Compare two texts with each other. Nothing is stored."),
    h("div", { class: "row" }, h("label", { class: "row small mut" }, "Settings ", choose), h("button", { class: "btn", type: "button", onclick: () => { set(["", ""]); areas[0].focus(); } }, "Clear"))),
  h("div", { class: "cols even" }, box(0), box(1)), output, spoken];
}
