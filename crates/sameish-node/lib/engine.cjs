// The class `Engine`: documents and searches.
'use strict';

const { Analyzer, asyncIterable, iterable } = require('./analyzer.cjs');
const check = require('./check.cjs');
const { chunks, chunksAsync, clusters, collect, takeAll, textLength } = require('./chunks.cjs');
const { callNative, callNativeAsync, localArray, native } = require('./native.cjs');
const { PairWalk } = require('./pairs.cjs');
const { CallQueue } = require('./queue.cjs');
const { SETTINGS, sections } = require('./settings.cjs');

const DEFAULT_PAIR_LIMIT = 1_000_000;

class Engine {
  #native;
  #analyzer;
  #queue = new CallQueue();
  #memoryReported = false;

  constructor(preset, overrides) {
    if (preset instanceof native.NativeEngine) {
      this.#native = preset;
      this.#analyzer = new Analyzer(callNative(() => preset.analyzer()));
    } else {
      this.#analyzer = createAnalyzer(preset, overrides);
      this.#native = callNative(() => new native.NativeEngine(this.#analyzer.native));
    }
    if (this.size > 0) this.#reportMemory();
  }

  static load(path) {
    const file = check.file(path);
    return new Engine(callNative(() => native.NativeEngine.load(file)));
  }

  static async loadAsync(path) {
    const file = check.file(path);
    return new Engine(await callNativeAsync(() => native.NativeEngine.loadAsync(file)));
  }

  static fromBytes(bytes) {
    check.typedArray(bytes, 'bytes', 'Uint8Array');
    return new Engine(callNative(() => native.NativeEngine.fromBytes(bytes)));
  }

  static async fromBytesAsync(bytes) {
    check.typedArray(bytes, 'bytes', 'Uint8Array');
    return new Engine(await callNativeAsync(() => native.NativeEngine.fromBytesAsync(bytes)));
  }

  get config() {
    return this.#analyzer.config;
  }

  get expectedRecall() {
    return this.#analyzer.expectedRecall;
  }

  get schemes() {
    return this.#analyzer.schemes;
  }

  get size() {
    return this.#native.size();
  }

  has(id) {
    const checked = check.id(id);
    return this.#read('hasAsync', (engine) => engine.has(checked));
  }

  async hasAsync(id) {
    const checked = check.id(id);
    return this.#readAsync((engine) => engine.hasAsync(checked));
  }

  add(id, text, options) {
    const args = this.#addArguments(id, text, options);
    return this.#write('addAsync', (engine) => engine.insert(...args));
  }

  async addAsync(id, text, options) {
    const args = this.#addArguments(id, text, options);
    return this.#writeAsync((engine) => engine.insertAsync(...args));
  }

  remove(id) {
    const checked = check.id(id);
    return this.#write('removeAsync', (engine) => engine.remove(checked));
  }

  async removeAsync(id) {
    const checked = check.id(id);
    return this.#writeAsync((engine) => engine.removeAsync(checked));
  }

  addMany(documents) {
    // `#write` checks again after the input, which can call this engine. This check avoids reading it in vain.
    this.#queue.checkSyncWrite('addManyAsync');
    const batch = this.#analyzer.native.batch();
    for (const chunk of chunks(iterable(documents, 'documents'), this.#readDocuments(), documentLength)) {
      callNative(() => batch.push(columns(chunk)));
    }
    return this.#write('addManyAsync', (engine) => engine.insertBatch(batch));
  }

  async addManyAsync(documents) {
    const batch = this.#analyzer.native.batch();
    const input = chunksAsync(asyncIterable(documents, 'documents'), this.#readDocuments(), documentLength);
    const readInput = async () => {
      for await (const chunk of input) await callNativeAsync(() => batch.pushAsync(columns(chunk)));
    };
    return this.#writeAsync((engine) => engine.insertBatchAsync(batch), readInput);
  }

  search(text, options) {
    const args = [this.#analyzer.text(text), searchLimits(options)];
    return searchResult(this.#read('searchAsync', (engine) => engine.search(...args)));
  }

  async searchAsync(text, options) {
    const args = [this.#analyzer.text(text), searchLimits(options)];
    return searchResultAsync(await this.#readAsync((engine) => engine.searchAsync(...args)));
  }

  searchId(id, options) {
    const args = [check.id(id), searchLimits(options)];
    return searchResult(this.#read('searchIdAsync', (engine) => engine.searchId(...args)));
  }

  async searchIdAsync(id, options) {
    const args = [check.id(id), searchLimits(options)];
    return searchResultAsync(await this.#readAsync((engine) => engine.searchIdAsync(...args)));
  }

  pairs(options) {
    const limit = pairLimit(options);
    const list = this.#read('pairsAsync', (engine) => engine.pairs(limit));
    return { pairs: [...takeAll(list)], complete: list.complete, ...list.effort };
  }

  async pairsAsync(options) {
    const limit = pairLimit(options);
    const list = await this.#readAsync((engine) => engine.pairsAsync(limit));
    return { pairs: await collect(takeAll(list)), complete: list.complete, ...list.effort };
  }

  eachPair() {
    return new PairWalk(this.#native, this.#queue);
  }

  clusters() {
    const list = this.#read('clustersAsync', (engine) => engine.clusters());
    return { clusters: [...clusters(list, [...takeAll(list)], clusterCreator(list))], cut: list.cut, ...list.effort };
  }

  async clustersAsync() {
    const list = await this.#readAsync((engine) => engine.clustersAsync());
    const members = await collect(takeAll(list));
    return { clusters: await collect(clusters(list, members, clusterCreator(list))), cut: list.cut, ...list.effort };
  }

  sketch(text) {
    return this.#analyzer.sketch(text);
  }

  sketchMany(texts) {
    return this.#analyzer.sketchMany(texts);
  }

  async sketchManyAsync(texts) {
    return this.#analyzer.sketchManyAsync(texts);
  }

  save(path) {
    const file = check.file(path);
    this.#read('saveAsync', (engine) => engine.save(file));
  }

  async saveAsync(path) {
    const file = check.file(path);
    await this.#readAsync((engine) => engine.saveAsync(file));
  }

  toBytes() {
    return localArray(this.#read('toBytesAsync', (engine) => engine.toBytes()), Uint8Array);
  }

  async toBytesAsync() {
    return localArray(await this.#readAsync((engine) => engine.toBytesAsync()), Uint8Array);
  }

  #read(asyncName, call) {
    this.#queue.checkSyncRead(asyncName);
    return callNative(() => call(this.#native));
  }

  #readAsync(call) {
    return this.#queue.read(() => callNativeAsync(() => call(this.#native)));
  }

  #write(asyncName, call) {
    this.#queue.checkSyncWrite(asyncName);
    this.#reportMemory();
    return callNative(() => call(this.#native));
  }

  #writeAsync(call, readInput) {
    this.#reportMemory();
    return this.#queue.write(() => callNativeAsync(() => call(this.#native)), readInput);
  }

  /** Reports the memory of the engine to the garbage collector, once. An engine without documents needs little. */
  #reportMemory() {
    if (this.#memoryReported) return;
    this.#memoryReported = true;
    callNative(() => this.#native.reportMemory());
  }

  #addArguments(id, text, options) {
    const { publishedAt } = check.options(options, ['publishedAt']);
    return [check.id(id), this.#analyzer.text(text), check.date(publishedAt, 'publishedAt')];
  }

  #readDocuments() {
    return (value, position) => readDocument(value, `documents[${position}]`, this.#analyzer);
  }
}

/** Creates the analyzer of an engine from a preset and settings, or from options with both. */
function createAnalyzer(preset, overrides) {
  if (preset === undefined || preset === null || typeof preset !== 'object') {
    const { config, ...settings } = check.options(overrides, ['config', ...SETTINGS], 'overrides');
    return Analyzer.create(preset, sections(settings, 'overrides'), config, 'overrides');
  }
  if (overrides !== undefined && overrides !== null) throw check.invalidType('preset', preset, 'a string, because `overrides` is given');
  const options = check.options(preset, ['preset', 'config', ...SETTINGS]);
  return Analyzer.create(options.preset, sections(options), options.config);
}

/** Checks a document of `addMany`. */
function readDocument(value, name, analyzer) {
  if (Array.isArray(value)) {
    const [id, text] = value;
    return { id: check.id(id, `${name}[0]`), text: analyzer.text(text, `${name}[1]`), date: undefined };
  }
  if (value === null || typeof value !== 'object') throw check.invalidType(name, value, 'a document or [id, text]');
  const { id, text, tokens, title, publishedAt } = value;
  if (value.published_at !== undefined) {
    // This is the name in all other interfaces. Ignoring it would silently change the order of the documents.
    const message = `\`${name}\` has the unknown key "published_at": use \`publishedAt\``;
    throw check.errorWithCode(TypeError, 'ERR_INVALID_ARG_VALUE', message);
  }
  return {
    id: check.id(id, `${name}.id`),
    text: analyzer.text(text ?? tokens ?? title, `${name}.text`),
    date: check.date(publishedAt, `${name}.publishedAt`),
  };
}

function documentLength(document) {
  return textLength(document.text);
}

function columns(documents) {
  return { ids: documents.map(({ id }) => id), texts: documents.map(({ text }) => text), dates: documents.map(({ date }) => date) };
}

function searchLimits(options) {
  const { limit, minSimilarity } = check.options(options, ['limit', 'minSimilarity']);
  return {
    limit: check.optional(limit, check.integer, 'limit', 0, check.MAX_U32),
    minSimilarity: check.optional(minSimilarity, check.number, 'minSimilarity', 0, 1),
  };
}

/** Creates the result of a search from a native list, or `null` if the document that was searched for does not exist. */
function searchResult(list) {
  return list && { matches: [...takeAll(list)], candidates: list.candidates, capped: list.capped };
}

async function searchResultAsync(list) {
  return list && { matches: await collect(takeAll(list)), candidates: list.candidates, capped: list.capped };
}

function pairLimit(options) {
  const { limit } = check.options(options, ['limit']);
  return check.integer(limit ?? DEFAULT_PAIR_LIMIT, 'limit', 0, check.MAX_U32);
}

/** Returns a function that creates the clusters of a native list. */
function clusterCreator(list) {
  const measure = list.byDistance ? 'averageDistance' : 'meanSimilarity';
  return (members, position, spread) => ({ center: members[0], members, [measure]: spread });
}

module.exports = { clusterCreator, Engine };
