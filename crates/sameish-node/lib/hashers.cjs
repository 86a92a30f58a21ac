// Sketches by themselves: of texts, of tokens, or of features that the caller hashed.
'use strict';

const { types } = require('node:util');
const { asked, here, native } = require('./native.cjs');
const check = require('./check.cjs');
const { Engine } = require('./engine.cjs');
const { distanceToSimilarity, hammingDistance } = require('./seed.cjs');

const TEXT_KEYS = ['tokenizer', 'stopWords'];

/** Options, where `null` counts as absent. */
function given(options, known) {
  const present = Object.entries(check.options(options, known)).filter(([, value]) => value !== null);
  return Object.fromEntries(present);
}

/** Settings of an engine that makes one kind of sketch. */
function lane(name, settings, { tokenizer, stopWords }) {
  const text = { tokenizer, stop_words: stopWords, min_words: 1 };
  return { text, [name]: settings };
}

class SimHasher {
  #engine;

  constructor(options) {
    const { shingle, hash, weighting, ...text } = given(options, ['shingle', 'hash', 'weighting', ...TEXT_KEYS]);
    this.#engine = new Engine('wire', lane('simhash', { shingle, hash, weighting }, text));
  }

  sketch(input, weights) {
    const weighted = weights !== undefined && weights !== null;
    if (types.isBigUint64Array(input)) return ofFeatures(input, weighted ? weights : undefined);
    if (weighted) throw check.wrongType('weights', weights, 'absent beside a text: they are for features');
    return this.#engine.sketch(input).simhash;
  }

  sketchMany(texts) {
    return this.#engine.sketchMany(texts).map((sketch) => sketch.simhash);
  }

  async sketchManyAsync(texts) {
    return (await this.#engine.sketchManyAsync(texts)).map((sketch) => sketch.simhash);
  }

  distance(a, b) {
    return hammingDistance(a, b);
  }

  similarity(a, b) {
    return distanceToSimilarity(this.distance(a, b));
  }
}

function ofFeatures(features, weights) {
  if (weights !== undefined) {
    check.array(weights, 'weights', 'Float64Array');
    sameLength(weights, 'weights', features.length, 'as many as there are features');
    weights.forEach((weight, i) => check.number(weight, `weights[${i}]`, 0, MOST_WEIGHT));
  }
  return asked(() => native.simHashOf(features, weights));
}

/** The largest weight that the engine takes. */
const MOST_WEIGHT = 1_000_000;

function sameLength(value, what, length, why) {
  if (value.length === length) return;
  throw check.wrong(RangeError, 'ERR_OUT_OF_RANGE', `\`${what}.length\` is ${value.length}: must be ${length}, ${why}`);
}

class MinHasher {
  #engine;
  #rows;

  constructor(options) {
    const { rows, shingle, counting, ...text } = given(options, ['rows', 'shingle', 'counting', ...TEXT_KEYS]);
    if (rows !== undefined) check.integer(rows, 'rows', 1, 1024);
    this.#engine = new Engine('copies', lane('minhash', { rows, shingle, counting, bands: { count: 1, rows: 1 } }, text));
    this.#rows = this.#engine.config.minhash.rows;
  }

  get rows() {
    return this.#rows;
  }

  sketch(input) {
    if (types.isBigUint64Array(input)) return here(asked(() => native.minHashOf(this.#rows, input)));
    return this.#engine.sketch(input).minhash ?? null;
  }

  sketchMany(texts) {
    return this.#engine.sketchMany(texts).map((sketch) => sketch.minhash ?? null);
  }

  async sketchManyAsync(texts) {
    return (await this.#engine.sketchManyAsync(texts)).map((sketch) => sketch.minhash ?? null);
  }

  similarity(a, b) {
    const signatures = [this.#signature(a, 'a'), this.#signature(b, 'b')];
    return asked(() => native.minHashSimilarity(...signatures));
  }

  toBytes(signature) {
    this.#signature(signature, 'signature');
    return here(asked(() => native.minHashToBytes(signature)), Uint8Array);
  }

  fromBytes(bytes) {
    sameLength(check.array(bytes, 'bytes', 'Uint8Array'), 'bytes', this.#rows * 4, 'four a row');
    return here(asked(() => native.minHashFromBytes(bytes)));
  }

  #signature(value, what) {
    sameLength(check.array(value, what, 'Uint32Array'), what, this.#rows, 'as many as this hasher has rows');
    return value;
  }
}

module.exports = { MinHasher, SimHasher };
