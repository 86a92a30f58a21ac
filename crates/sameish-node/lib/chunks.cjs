// Transfer of large data between JavaScript and the addon without blocking the event loop.
//
// Data is transferred in chunks of a limited number of items and characters. Functions that return promises let the event
// loop run between two chunks.
'use strict';

const CHUNK_ITEMS = 1000;
const CHUNK_CHARACTERS = 1 << 20;

/** Collects items until a chunk is full. */
class Chunker {
  #convert;
  #measure;
  #position = 0;
  #characters = 0;
  #items = [];

  /** `convert` gets an item and its position. `measure` returns the number of characters of a converted item. */
  constructor(convert, measure = () => 0) {
    this.#convert = convert;
    this.#measure = measure;
  }

  /** Adds an item. Returns a chunk if it is full, otherwise an empty array. */
  add(item) {
    const converted = this.#convert(item, this.#position);
    this.#position += 1;
    this.#characters += this.#measure(converted);
    this.#items.push(converted);
    return this.#items.length >= CHUNK_ITEMS || this.#characters >= CHUNK_CHARACTERS ? this.rest() : [];
  }

  /** Returns the remaining items. */
  rest() {
    const items = this.#items;
    this.#items = [];
    this.#characters = 0;
    return items;
  }
}

/** Divides the converted items of an iterable into chunks. */
function* chunks(iterable, convert, measure) {
  const chunker = new Chunker(convert, measure);
  for (const item of iterable) {
    const chunk = chunker.add(item);
    if (chunk.length > 0) yield chunk;
  }
  yield chunker.rest();
}

/** Divides the converted items of a synchronous or asynchronous iterable into chunks. The event loop runs after each one. */
async function* chunksAsync(iterable, convert, measure) {
  const chunker = new Chunker(convert, measure);
  for await (const item of iterable) {
    const chunk = chunker.add(item);
    if (chunk.length === 0) continue;
    yield chunk;
    await nextTurn();
  }
  yield chunker.rest();
}

/** Returns the number of characters of a text or of all tokens. */
function textLength(text) {
  return typeof text === 'string' ? text.length : text.reduce((sum, token) => sum + token.length, 0);
}

/** Takes all items of a native list, chunk by chunk. */
function* takeAll(list) {
  for (let more = true; more; ) {
    const chunk = list.take(CHUNK_ITEMS);
    yield* chunk;
    more = chunk.length === CHUNK_ITEMS;
  }
}

/** Divides the members of a native list of clusters. `create` gets the members, the position and the spread of a cluster. */
function* clusters(list, members, create) {
  const { sizes, spreads } = list;
  let start = 0;
  for (let i = 0; i < sizes.length; i += 1) {
    const end = start + sizes[i];
    yield create(members.slice(start, end), i, spreads[i]);
    start = end;
  }
}

/** Collects the items of an iterable into an array. The event loop runs after each chunk. */
async function collect(iterable) {
  const items = [];
  for (const item of iterable) {
    items.push(item);
    if (items.length % CHUNK_ITEMS === 0) await nextTurn();
  }
  return items;
}

/** Lets the event loop run once. */
function nextTurn() {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

module.exports = { chunks, chunksAsync, clusters, collect, takeAll, textLength };
