// Sketches by themselves: of texts, of tokens, or of features that the caller hashed.
'use strict';

const native = require('./native.cjs');
const check = require('./check.cjs');
const { Engine } = require('./engine.cjs');
const seed = require('./seed.cjs');

const TEXT_KEYS = ['tokenizer', 'stopWords'];

/** Settings of an engine that makes one kind of sketch. */
function lane(name, settings, { tokenizer, stopWords }) {
  const text = { tokenizer, stop_words: stopWords, min_words: 1 };
  return { text, [name]: settings };
}

class SimHasher {
  #engine;

  constructor(options) {
    const { shingle, hash, weighting, ...text } = check.options(options, ['shingle', 'hash', 'weighting', ...TEXT_KEYS]);
    this.#engine = new Engine('wire', lane('simhash', { shingle, hash, weighting }, text));
  }

  sketch(input, weights) {
    if (!(input instanceof BigUint64Array)) return this.#engine.sketch(input).simhash;
    if (weights !== undefined && check.instance(weights, 'weights', Float64Array).length !== input.length) {
      check.integer(weights.length, 'weights.length', input.length, input.length);
    }
    return native.simHashOf(input, weights);
  }

  sketchMany(texts) {
    return this.#engine.sketchMany(texts).map((sketch) => sketch.simhash);
  }

  async sketchManyAsync(texts) {
    return (await this.#engine.sketchManyAsync(texts)).map((sketch) => sketch.simhash);
  }

  distance(a, b) {
    return seed.hammingDistance(a, b);
  }

  similarity(a, b) {
    return seed.distanceToSimilarity(this.distance(a, b));
  }
}

class MinHasher {
  #engine;
  #rows;

  constructor(options) {
    const { rows, shingle, counting, ...text } = check.options(options, ['rows', 'shingle', 'counting', ...TEXT_KEYS]);
    if (rows !== undefined) check.integer(rows, 'rows', 1, 1024);
    this.#engine = new Engine('copies', lane('minhash', { rows, shingle, counting, bands: { count: 1, rows: 1 } }, text));
    this.#rows = this.#engine.config.minhash.rows;
  }

  get rows() {
    return this.#rows;
  }

  sketch(input) {
    if (input instanceof BigUint64Array) return native.minHashOf(this.#rows, input);
    return this.#engine.sketch(input).minhash ?? null;
  }

  sketchMany(texts) {
    return this.#engine.sketchMany(texts).map((sketch) => sketch.minhash ?? null);
  }

  async sketchManyAsync(texts) {
    return (await this.#engine.sketchManyAsync(texts)).map((sketch) => sketch.minhash ?? null);
  }

  similarity(a, b) {
    return native.minHashSimilarity(check.instance(a, 'a', Uint32Array), check.instance(b, 'b', Uint32Array));
  }

  toBytes(signature) {
    return native.minHashToBytes(check.instance(signature, 'signature', Uint32Array));
  }

  fromBytes(bytes) {
    return native.minHashFromBytes(check.instance(bytes, 'bytes', Uint8Array));
  }
}

module.exports = { MinHasher, SimHasher };
