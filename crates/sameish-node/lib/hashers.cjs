// Fingerprints and signatures of texts, of tokens, and of features that the caller hashed.
'use strict';

const { types } = require('node:util');
const { Analyzer } = require('./analyzer.cjs');
const check = require('./check.cjs');
const { callNative, localArray, native } = require('./native.cjs');
const { distanceToSimilarity, hammingDistance } = require('./wire.cjs');

const TEXT_OPTIONS = ['tokenizer', 'stopWords'];
/** Maximum weight of a feature. */
const MAX_WEIGHT = 1_000_000;
const MAX_ROWS = 1024;

/** Returns the options that are present. `null` counts as absent. */
function presentOptions(options, known) {
  const entries = Object.entries(check.options(options, known)).filter(([, value]) => value !== null);
  return Object.fromEntries(entries);
}

function textSettings({ tokenizer, stopWords }) {
  return { tokenizer, stop_words: stopWords, min_words: 1 };
}

class SimHasher {
  #analyzer;

  constructor(options) {
    const { shingle, hash, weighting, ...text } = presentOptions(options, ['shingle', 'hash', 'weighting', ...TEXT_OPTIONS]);
    this.#analyzer = Analyzer.create('wire', { text: textSettings(text), simhash: { shingle, hash, weighting } });
  }

  sketch(input, weights) {
    const weighted = weights !== undefined && weights !== null;
    if (types.isBigUint64Array(input)) return sketchFeatures(input, weighted ? weights : undefined);
    if (weighted) throw check.invalidType('weights', weights, 'absent for a text: only features have weights');
    return this.#analyzer.sketch(input).simhash;
  }

  sketchMany(texts) {
    return this.#analyzer.sketchMany(texts).map((sketch) => sketch.simhash);
  }

  async sketchManyAsync(texts) {
    return (await this.#analyzer.sketchManyAsync(texts)).map((sketch) => sketch.simhash);
  }

  distance(a, b) {
    return hammingDistance(a, b);
  }

  similarity(a, b) {
    return distanceToSimilarity(this.distance(a, b));
  }
}

function sketchFeatures(features, weights) {
  if (weights !== undefined) {
    check.typedArray(weights, 'weights', 'Float64Array');
    checkLength(weights, 'weights', features.length, 'one per feature');
    weights.forEach((weight, i) => check.number(weight, `weights[${i}]`, 0, MAX_WEIGHT));
  }
  return callNative(() => native.simHashFeatures(features, weights));
}

function checkLength(value, name, length, reason) {
  if (value.length !== length) throw check.outOfRange(`${name}.length`, value.length, `${length}, ${reason}`);
}

class MinHasher {
  #analyzer;
  #rows;

  constructor(options) {
    const { rows, shingle, counting, ...text } = presentOptions(options, ['rows', 'shingle', 'counting', ...TEXT_OPTIONS]);
    if (rows !== undefined) check.integer(rows, 'rows', 1, MAX_ROWS);
    // There is no index; these bands are valid for any number of rows.
    const bands = { count: 1, rows: 1 };
    this.#analyzer = Analyzer.create('copies', { text: textSettings(text), minhash: { rows, shingle, counting, bands } });
    this.#rows = this.#analyzer.config.minhash.rows;
  }

  get rows() {
    return this.#rows;
  }

  sketch(input) {
    if (types.isBigUint64Array(input)) return localArray(callNative(() => native.minHashFeatures(this.#rows, input)));
    return this.#analyzer.sketch(input).minhash ?? null;
  }

  sketchMany(texts) {
    return this.#analyzer.sketchMany(texts).map((sketch) => sketch.minhash ?? null);
  }

  async sketchManyAsync(texts) {
    return (await this.#analyzer.sketchManyAsync(texts)).map((sketch) => sketch.minhash ?? null);
  }

  similarity(a, b) {
    const signatures = [this.#signature(a, 'a'), this.#signature(b, 'b')];
    return callNative(() => native.minHashSimilarity(...signatures));
  }

  toBytes(signature) {
    this.#signature(signature, 'signature');
    return localArray(callNative(() => native.minHashToBytes(signature)), Uint8Array);
  }

  fromBytes(bytes) {
    checkLength(check.typedArray(bytes, 'bytes', 'Uint8Array'), 'bytes', this.#rows * 4, '4 bytes per row');
    return localArray(callNative(() => native.minHashFromBytes(bytes)));
  }

  #signature(value, name) {
    checkLength(check.typedArray(value, name, 'Uint32Array'), name, this.#rows, 'the number of rows of this hasher');
    return value;
  }
}

module.exports = { MinHasher, SimHasher };
