// Documents that stay, and those that match.
'use strict';

const check = require('./check.cjs');
const { gather, groups, items, letters, slices, slicesAsync } = require('./slices.cjs');
const { engineOf } = require('./settings.cjs');
const { Turns } = require('./turns.cjs');

const MOST_PAIRS = 1_000_000;
const MOST = 0xffff_ffff;

class Engine {
  #native;
  #turns = new Turns();
  #lossy;

  constructor(preset, overrides) {
    this.#native = engineOf(preset, overrides);
    this.#lossy = this.config.text.lossy;
  }

  get config() {
    return JSON.parse(this.#native.settings());
  }

  get expectedRecall() {
    return this.#native.expectedRecall();
  }

  get size() {
    return this.#native.size();
  }

  has(id) {
    return this.#native.has(check.id(id));
  }

  add(id, text, options) {
    const { publishedAt } = check.options(options, ['publishedAt']);
    return this.#native.insert(check.id(id), this.#text(text), check.date(publishedAt, 'publishedAt'));
  }

  remove(id) {
    return this.#native.remove(check.id(id));
  }

  addMany(documents) {
    const batch = this.#native.batch();
    for (const slice of slices(iterable(documents, 'documents'), this.#reader(), weigh)) batch.push(...columns(slice));
    return this.#native.insertBatch(batch);
  }

  async addManyAsync(documents) {
    const batch = this.#native.batch();
    const all = slicesAsync(iterable(documents, 'documents', true), this.#reader(), weigh);
    for await (const slice of all) await batch.pushAsync(...columns(slice));
    return this.#turns.write(() => this.#native.insertBatchAsync(batch));
  }

  search(text, options) {
    return this.#native.search(this.#text(text), ...narrowed(options));
  }

  async searchAsync(text, options) {
    const question = [this.#text(text), ...narrowed(options)];
    return this.#turns.read(() => this.#native.searchAsync(...question));
  }

  searchId(id, options) {
    return this.#native.searchId(check.id(id), ...narrowed(options));
  }

  pairs(options) {
    const list = this.#native.pairs(pairLimit(options));
    return { pairs: [...items(list)], complete: list.complete, ...list.work };
  }

  async pairsAsync(options) {
    const limit = pairLimit(options);
    const list = await this.#turns.read(() => this.#native.pairsAsync(limit));
    return { pairs: await gather(items(list)), complete: list.complete, ...list.work };
  }

  eachPair() {
    return new PairWalk(this.#native);
  }

  clusters() {
    const list = this.#native.clusters();
    return { clusters: [...groups(list, [...items(list)], cluster(list))], cut: list.cut, ...list.work };
  }

  async clustersAsync() {
    const list = await this.#turns.read(() => this.#native.clustersAsync());
    const clusters = await gather(groups(list, await gather(items(list)), cluster(list)));
    return { clusters, cut: list.cut, ...list.work };
  }

  sketch(text) {
    return this.#native.sketch(this.#text(text));
  }

  sketchMany(texts) {
    const all = [];
    for (const slice of this.#texts(texts)) all.push(...this.#native.sketchMany(slice));
    return all;
  }

  async sketchManyAsync(texts) {
    const all = [];
    const read = (text, position) => this.#text(text, `texts[${position}]`);
    for await (const slice of slicesAsync(iterable(texts, 'texts', true), read, letters)) {
      all.push(...(await this.#native.sketchManyAsync(slice)));
    }
    return all;
  }

  #text(text, what = 'text') {
    return check.text(text, what, this.#lossy);
  }

  #texts(texts) {
    return slices(iterable(texts, 'texts'), (text, position) => this.#text(text, `texts[${position}]`), letters);
  }

  #reader() {
    return (value, position) => readDocument(value, `documents[${position}]`, this.#lossy);
  }
}

/** All pairs, however many, to be walked with `for await`. */
class PairWalk {
  /** What it took; `null` before the end. */
  effort = null;
  #native;

  constructor(engine) {
    this.#native = engine;
  }

  async *[Symbol.asyncIterator]() {
    const stream = this.#native.pairStream();
    try {
      for (let part = await stream.next(); part.length > 0; part = await stream.next()) yield* part;
      this.effort = stream.work;
    } finally {
      await stream.close();
    }
  }
}

/** How a cluster is made of its members. */
function cluster(list) {
  const measure = list.byDistance ? 'averageDistance' : 'meanSimilarity';
  return (members, number, spread) => ({ center: members[0], members, [measure]: spread });
}

/** A document as the engine takes it. Its title is what is compared where there is no text. */
function readDocument(value, what, lossy) {
  if (Array.isArray(value)) {
    const [id, text] = value;
    return { id: check.id(id, `${what}[0]`), text: check.text(text, `${what}[1]`, lossy), date: undefined };
  }
  if (value === null || typeof value !== 'object') throw check.wrongType(what, value, 'a document or [id, text]');
  const { id, text, tokens, title, publishedAt } = value;
  return {
    id: check.id(id, `${what}.id`),
    text: check.text(text ?? tokens ?? title, `${what}.text`, lossy),
    date: check.date(publishedAt, `${what}.publishedAt`),
  };
}

function columns(slice) {
  return [slice.map((one) => one.id), slice.map((one) => one.text), slice.map((one) => one.date)];
}

function weigh(document) {
  return letters(document.text);
}

function iterable(value, what, mayBeAsync = false) {
  const iterates = value !== null && typeof value === 'object';
  if (iterates && (Symbol.iterator in value || (mayBeAsync && Symbol.asyncIterator in value))) return value;
  throw check.wrongType(what, value, 'an array or another iterable');
}

function narrowed(options) {
  const { limit, minSimilarity } = check.options(options, ['limit', 'minSimilarity']);
  return [
    limit === undefined ? undefined : check.integer(limit, 'limit', 0, MOST),
    minSimilarity === undefined ? undefined : check.number(minSimilarity, 'minSimilarity', 0, 1),
  ];
}

function pairLimit(options) {
  const { limit = MOST_PAIRS } = check.options(options, ['limit']);
  return check.integer(limit, 'limit', 0, MOST);
}

module.exports = { Engine };
