// Documents that stay, and those that match.
'use strict';

const check = require('./check.cjs');
const { asked, askedLater, here, native } = require('./native.cjs');
const { gather, groups, items, letters, slices, slicesAsync } = require('./slices.cjs');
const { configOf, engineOf } = require('./settings.cjs');
const { Turns } = require('./turns.cjs');
const { PairWalk } = require('./walk.cjs');

const MOST_PAIRS = 1_000_000;

class Engine {
  #native;
  #turns = new Turns();
  #lossy;
  #weighed = false;

  constructor(preset, overrides) {
    this.#native = preset instanceof native.NativeEngine ? preset : engineOf(preset, overrides);
    this.#lossy = this.config.text.lossy;
    if (this.size > 0) this.#weigh();
  }

  static load(path) {
    const file = check.file(path);
    return new Engine(asked(() => native.NativeEngine.load(file)));
  }

  static async loadAsync(path) {
    const file = check.file(path);
    return new Engine(await askedLater(() => native.NativeEngine.loadAsync(file)));
  }

  static fromBytes(bytes) {
    check.array(bytes, 'bytes', 'Uint8Array');
    return new Engine(asked(() => native.NativeEngine.fromBytes(bytes)));
  }

  static async fromBytesAsync(bytes) {
    check.array(bytes, 'bytes', 'Uint8Array');
    return new Engine(await askedLater(() => native.NativeEngine.fromBytesAsync(bytes)));
  }

  get config() {
    return configOf(this.#native);
  }

  get expectedRecall() {
    return this.#native.expectedRecall();
  }

  get size() {
    return this.#native.size();
  }

  has(id) {
    const name = check.id(id);
    return this.#readNow('hasAsync', (engine) => engine.has(name));
  }

  async hasAsync(id) {
    const name = check.id(id);
    return this.#read((engine) => engine.hasAsync(name));
  }

  add(id, text, options) {
    const document = this.#document(id, text, options);
    return this.#writeNow('addAsync', (engine) => engine.insert(...document));
  }

  async addAsync(id, text, options) {
    const document = this.#document(id, text, options);
    return this.#write((engine) => engine.insertAsync(...document));
  }

  remove(id) {
    const name = check.id(id);
    return this.#writeNow('removeAsync', (engine) => engine.remove(name));
  }

  async removeAsync(id) {
    const name = check.id(id);
    return this.#write((engine) => engine.removeAsync(name));
  }

  addMany(documents) {
    // Before the input is read for nothing.
    this.#turns.now(true, 'addManyAsync');
    const batch = this.#native.batch();
    for (const slice of slices(iterable(documents, 'documents'), this.#reader(), weigh)) {
      asked(() => batch.push(...columns(slice)));
    }
    return this.#writeNow('addManyAsync', (engine) => engine.insertBatch(batch));
  }

  async addManyAsync(documents) {
    const batch = this.#native.batch();
    const all = slicesAsync(iterable(documents, 'documents', true), this.#reader(), weigh);
    const fill = async () => {
      for await (const slice of all) await askedLater(() => batch.pushAsync(...columns(slice)));
    };
    return this.#write((engine) => engine.insertBatchAsync(batch), fill);
  }

  search(text, options) {
    const question = [this.#text(text), ...narrowed(options)];
    return found(this.#readNow('searchAsync', (engine) => engine.search(...question)));
  }

  async searchAsync(text, options) {
    const question = [this.#text(text), ...narrowed(options)];
    return foundLater(await this.#read((engine) => engine.searchAsync(...question)));
  }

  searchId(id, options) {
    const question = [check.id(id), ...narrowed(options)];
    return found(this.#readNow('searchIdAsync', (engine) => engine.searchId(...question)));
  }

  async searchIdAsync(id, options) {
    const question = [check.id(id), ...narrowed(options)];
    return foundLater(await this.#read((engine) => engine.searchIdAsync(...question)));
  }

  pairs(options) {
    const limit = pairLimit(options);
    const list = this.#readNow('pairsAsync', (engine) => engine.pairs(limit));
    return { pairs: [...items(list)], complete: list.complete, ...list.work };
  }

  async pairsAsync(options) {
    const limit = pairLimit(options);
    const list = await this.#read((engine) => engine.pairsAsync(limit));
    return { pairs: await gather(items(list)), complete: list.complete, ...list.work };
  }

  eachPair() {
    return new PairWalk(this.#native, this.#turns);
  }

  clusters() {
    const list = this.#readNow('clustersAsync', (engine) => engine.clusters());
    return { clusters: [...groups(list, [...items(list)], cluster(list))], cut: list.cut, ...list.work };
  }

  async clustersAsync() {
    const list = await this.#read((engine) => engine.clustersAsync());
    const clusters = await gather(groups(list, await gather(items(list)), cluster(list)));
    return { clusters, cut: list.cut, ...list.work };
  }

  sketch(text) {
    const checked = this.#text(text);
    return sketchOf(asked(() => this.#native.sketch(checked)));
  }

  sketchMany(texts) {
    const all = [];
    for (const slice of slices(iterable(texts, 'texts'), this.#textReader(), letters)) {
      for (const sketch of asked(() => this.#native.sketchMany(slice))) all.push(sketchOf(sketch));
    }
    return all;
  }

  async sketchManyAsync(texts) {
    const all = [];
    for await (const slice of slicesAsync(iterable(texts, 'texts', true), this.#textReader(), letters)) {
      for (const sketch of await askedLater(() => this.#native.sketchManyAsync(slice))) all.push(sketchOf(sketch));
    }
    return all;
  }

  save(path) {
    const file = check.file(path);
    this.#readNow('saveAsync', (engine) => engine.save(file));
  }

  async saveAsync(path) {
    const file = check.file(path);
    await this.#read((engine) => engine.saveAsync(file));
  }

  toBytes() {
    return here(this.#readNow('toBytesAsync', (engine) => engine.toBytes()), Uint8Array);
  }

  async toBytesAsync() {
    return here(await this.#read((engine) => engine.toBytesAsync()), Uint8Array);
  }

  #readNow(form, call) {
    this.#turns.now(false, form);
    return asked(() => call(this.#native));
  }

  #writeNow(form, call) {
    this.#turns.now(true, form);
    this.#weigh();
    return asked(() => call(this.#native));
  }

  #read(call) {
    return this.#turns.read(() => askedLater(() => call(this.#native)));
  }

  #write(call, gatherFirst) {
    this.#weigh();
    return this.#turns.write(() => askedLater(() => call(this.#native)), gatherFirst);
  }

  /** An engine with documents holds memory that the garbage collector has to be told of; one that only sketches does not. */
  #weigh() {
    if (this.#weighed) return;
    this.#weighed = true;
    asked(() => this.#native.weigh());
  }

  #document(id, text, options) {
    const { publishedAt } = check.options(options, ['publishedAt']);
    return [check.id(id), this.#text(text), check.date(publishedAt, 'publishedAt')];
  }

  #text(text, what = 'text') {
    return check.text(text, what, this.#lossy);
  }

  #textReader() {
    return (text, position) => this.#text(text, `texts[${position}]`);
  }

  #reader() {
    return (value, position) => readDocument(value, `documents[${position}]`, this.#lossy);
  }
}

/** How a cluster is made of its members. */
function cluster(list) {
  const measure = list.byDistance ? 'averageDistance' : 'meanSimilarity';
  return (members, number, spread) => ({ center: members[0], members, [measure]: spread });
}

/** What a search found; nothing where there was nothing to search for. */
function found(list) {
  return list && { matches: [...items(list)], candidates: list.candidates, capped: list.capped };
}

async function foundLater(list) {
  return list && { matches: await gather(items(list)), candidates: list.candidates, capped: list.capped };
}

function sketchOf(sketch) {
  if (sketch.minhash) sketch.minhash = here(sketch.minhash);
  if (sketch.sdr) sketch.sdr = here(sketch.sdr);
  return sketch;
}

/** A document as the engine takes it. Its title is what is compared where there is no text. */
function readDocument(value, what, lossy) {
  if (Array.isArray(value)) {
    const [id, text] = value;
    return { id: check.id(id, `${what}[0]`), text: check.text(text, `${what}[1]`, lossy), date: undefined };
  }
  if (value === null || typeof value !== 'object') throw check.wrongType(what, value, 'a document or [id, text]');
  const { id, text, tokens, title, publishedAt } = value;
  if (value.published_at !== undefined) {
    // The other doors call it so. Overlooking it would put documents into a wrong order without a word.
    throw check.wrong(TypeError, 'ERR_INVALID_ARG_VALUE', `\`${what}\` has the key "published_at": must be \`publishedAt\``);
  }
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
    limit === undefined || limit === null ? undefined : check.integer(limit, 'limit', 0, check.MOST),
    minSimilarity === undefined || minSimilarity === null ? undefined : check.number(minSimilarity, 'minSimilarity', 0, 1),
  ];
}

function pairLimit(options) {
  const { limit } = check.options(options, ['limit']);
  return check.integer(limit ?? MOST_PAIRS, 'limit', 0, check.MOST);
}

module.exports = { Engine };
