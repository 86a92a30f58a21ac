// Indexes of numbered documents: `HammingIndex` for fingerprints, `BandIndex` for signatures.
'use strict';

const check = require('./check.cjs');
const { callNative, localArray, native } = require('./native.cjs');

const BITS = 64;
const DEFAULT_RADIUS = 3;
const DEFAULT_CAPACITY = 1_000_000;
const DEFAULT_ROWS = 128;
const DEFAULT_THRESHOLD = 0.8;
const DEFAULT_RECALL = 0.99;
/** Maximum memory, in bytes, that a band index may reserve for unused document numbers. */
const MAX_UNUSED = 2 ** 30;

function checkColumns(hashes, docs) {
  check.typedArray(hashes, 'hashes', 'BigUint64Array');
  check.typedArray(docs, 'docs', 'Uint32Array');
  if (docs.length !== hashes.length) throw check.outOfRange('docs.length', docs.length, `${hashes.length}, one per fingerprint`);
}

function checkDoc(doc, name = 'doc') {
  return check.integer(doc, name, 0, check.MAX_U32);
}

class HammingIndex {
  #native;

  constructor(options) {
    if (options instanceof native.NativeHammingIndex) {
      this.#native = options;
      return;
    }
    const { radius, blocks, capacity } = check.options(options, ['radius', 'blocks', 'capacity']);
    const args = [
      check.integer(radius ?? DEFAULT_RADIUS, 'radius', 0, BITS),
      check.optional(blocks, check.integer, 'blocks', 1, BITS),
      check.integer(capacity ?? DEFAULT_CAPACITY, 'capacity', 0, check.MAX_U32),
    ];
    this.#native = callNative(() => new native.NativeHammingIndex(...args));
  }

  static fromBytes(bytes) {
    check.typedArray(bytes, 'bytes', 'Uint8Array');
    return new HammingIndex(callNative(() => native.NativeHammingIndex.fromBytes(bytes)));
  }

  get radius() {
    return this.#native.radius;
  }

  get size() {
    return this.#native.size;
  }

  insert(hash, doc) {
    const args = [check.string(hash, 'hash'), checkDoc(doc)];
    return callNative(() => this.#native.insert(...args));
  }

  insertMany(hashes, docs) {
    checkColumns(hashes, docs);
    return callNative(() => this.#native.insertMany(hashes, docs));
  }

  remove(hash, doc) {
    const args = [check.string(hash, 'hash'), checkDoc(doc)];
    return callNative(() => this.#native.remove(...args));
  }

  removeMany(hashes, docs) {
    checkColumns(hashes, docs);
    return callNative(() => this.#native.removeMany(hashes, docs));
  }

  findFirst(query) {
    check.string(query, 'query');
    return callNative(() => this.#native.findFirst(query)) ?? null;
  }

  findAll(query, radius) {
    const args = [check.string(query, 'query'), check.integer(radius ?? this.radius, 'radius', 0, this.radius)];
    return callNative(() => this.#native.findAll(...args));
  }

  findAllMany(queries, radius) {
    check.typedArray(queries, 'queries', 'BigUint64Array');
    const checked = check.integer(radius ?? this.radius, 'radius', 0, this.radius);
    const { docs, distances, offsets } = callNative(() => this.#native.findAllMany(queries, checked));
    return { docs: localArray(docs), distances: localArray(distances, Uint8Array), offsets: localArray(offsets, Float64Array) };
  }

  toBytes() {
    return localArray(callNative(() => this.#native.toBytes()), Uint8Array);
  }
}

class BandIndex {
  #native;
  #rows;
  #scheme;

  constructor(options) {
    const { rows, bands, threshold, recall, scheme } = check.options(options, ['rows', 'bands', 'threshold', 'recall', 'scheme']);
    this.#scheme = check.optional(scheme, check.scheme) ?? null;
    this.#rows = check.integer(rows ?? DEFAULT_ROWS, 'rows', 1, check.MAX_U32);
    const args = [
      this.#rows,
      check.optional(bands, checkBands),
      check.number(threshold ?? DEFAULT_THRESHOLD, 'threshold', 0, 1),
      check.number(recall ?? DEFAULT_RECALL, 'recall', 0, 1),
    ];
    this.#native = callNative(() => new native.NativeBandIndex(...args));
  }

  get rows() {
    return this.#rows;
  }

  get scheme() {
    return this.#scheme;
  }

  get bands() {
    return { ...this.#native.bands };
  }

  get size() {
    return this.#native.size;
  }

  has(doc) {
    return this.#native.has(checkDoc(doc));
  }

  insert(doc, signature) {
    const most = Math.max(Math.floor(MAX_UNUSED / (this.#rows * 4)), 8 * this.size);
    if (checkDoc(doc) >= most) throw check.outOfRange('doc', doc, `below ${most}; number documents consecutively from 0`);
    const args = [doc, this.#signature(signature)];
    callNative(() => this.#native.insert(...args));
  }

  remove(doc) {
    const checked = checkDoc(doc);
    return callNative(() => this.#native.remove(checked));
  }

  search(signature, threshold) {
    const args = [this.#signature(signature), check.number(threshold ?? DEFAULT_THRESHOLD, 'threshold', 0, 1)];
    return callNative(() => this.#native.search(...args));
  }

  probability(similarity) {
    return this.#native.probability(check.number(similarity, 'similarity', 0, 1));
  }

  keys(signature) {
    const checked = this.#signature(signature);
    return localArray(callNative(() => this.#native.keys(checked)));
  }

  #signature(value) {
    const rows = this.#scheme === null ? value : this.#rowsOf(value);
    check.typedArray(rows, 'signature', 'Uint32Array');
    if (rows.length !== this.#rows) throw check.outOfRange('signature.length', rows.length, `${this.#rows}, the number of rows`);
    return rows;
  }

  /** Returns the rows of a signature with a scheme. */
  #rowsOf(value) {
    const isObject = typeof value === 'object' && value !== null && !ArrayBuffer.isView(value);
    if (!isObject) throw check.invalidType('signature', value, 'an object `{ minhash, scheme }`, because the index has a scheme');
    const { minhash, scheme } = check.options(value, ['minhash', 'scheme'], 'signature');
    const found = check.scheme(scheme, 'signature.scheme');
    if (found === this.#scheme) return minhash;
    const message = `sketch has scheme ${found}; this index uses ${this.#scheme}`;
    throw check.errorWithCode(Error, 'ERR_SAMEISH_SCHEME', message);
  }
}

function checkBands(bands) {
  const { count, rows } = check.options(bands, ['count', 'rows'], 'bands');
  return { count: check.integer(count, 'bands.count', 1, check.MAX_U32), rows: check.integer(rows, 'bands.rows', 1, check.MAX_U32) };
}

module.exports = { BandIndex, HammingIndex };
