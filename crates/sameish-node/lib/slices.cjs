// How does much data cross without holding up the event loop?
//
// In slices: so many items or so much text at a time, with a breath between two where the caller returns a promise.
'use strict';

const ITEMS = 1000;
const LETTERS = 1 << 20;

/** Gathers items until there are enough for a slice. */
class Slicer {
  #read;
  #weigh;
  #position = 0;
  #letters = 0;
  #items = [];

  /** `read` makes what is gathered of an item and its position, `weigh` tells how much text that is. */
  constructor(read, weigh = () => 0) {
    [this.#read, this.#weigh] = [read, weigh];
  }

  /** Takes an item; gives a slice when one is full. */
  add(item) {
    const made = this.#read(item, this.#position);
    this.#position += 1;
    this.#letters += this.#weigh(made);
    this.#items.push(made);
    return this.#items.length >= ITEMS || this.#letters >= LETTERS ? this.rest() : [];
  }

  /** What is left. */
  rest() {
    const items = this.#items;
    [this.#items, this.#letters] = [[], 0];
    return items;
  }
}

/** Cuts what `read` makes of each item into slices. */
function* slices(iterable, read, weigh) {
  const slicer = new Slicer(read, weigh);
  for (const item of iterable) {
    const slice = slicer.add(item);
    if (slice.length > 0) yield slice;
  }
  yield slicer.rest();
}

/** The same for iterables that may be asynchronous, with a breath behind each slice. */
async function* slicesAsync(iterable, read, weigh) {
  const slicer = new Slicer(read, weigh);
  for await (const item of iterable) {
    const slice = slicer.add(item);
    if (slice.length === 0) continue;
    yield slice;
    await breath();
  }
  yield slicer.rest();
}

/** How much text there is: that of a string, or of all tokens. */
function letters(text) {
  return typeof text === 'string' ? text.length : text.reduce((sum, token) => sum + token.length, 0);
}

/** Everything that a list of the addon still has, taken piece by piece. */
function* items(list) {
  for (let more = true; more; ) {
    const part = list.take(ITEMS);
    yield* part;
    more = part.length === ITEMS;
  }
}

/** Groups of a list of the addon: `make` is given the members of each, the number of the group and its spread. */
function* groups(list, members, make) {
  const { sizes, spreads } = list;
  let start = 0;
  for (let i = 0; i < sizes.length; i += 1) {
    const end = start + sizes[i];
    yield make(members.slice(start, end), i, spreads[i]);
    start = end;
  }
}

/** What an iterable gives, with a breath now and then. */
async function gather(iterable) {
  const all = [];
  for (const item of iterable) {
    all.push(item);
    if (all.length % ITEMS === 0) await breath();
  }
  return all;
}

/** Lets the event loop go round once. */
function breath() {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

module.exports = { gather, groups, items, letters, slices, slicesAsync };
