// Analyzers: settings, sketches and comparisons without documents.
'use strict';

const check = require('./check.cjs');
const { chunks, chunksAsync, textLength } = require('./chunks.cjs');
const { callNative, callNativeAsync, localArray, native } = require('./native.cjs');

const DEFAULT_PRESET = 'copies';
/** Maximum depth of settings. They are two levels deep; deeper objects are probably cyclic. */
const MAX_DEPTH = 8;

class Analyzer {
  #native;
  #lossy;

  constructor(nativeAnalyzer) {
    this.#native = nativeAnalyzer;
    this.#lossy = this.config.text.lossy;
  }

  /**
   * `settings` are sections with settings that override the preset and `config`, a configuration file as text. `argument` is the name of
   * the argument with the settings.
   */
  static create(preset, settings, config, argument = 'options') {
    const name = check.string(preset ?? DEFAULT_PRESET, 'preset');
    const file = check.optional(config, check.wellFormed, 'config');
    const overrides = check.optional(settings, settingsJson, argument);
    return new Analyzer(callNative(() => new native.NativeAnalyzer(name, file, overrides)));
  }

  get native() {
    return this.#native;
  }

  get config() {
    return JSON.parse(callNative(() => this.#native.settings()));
  }

  get expectedRecall() {
    return this.#native.expectedRecall();
  }

  get schemes() {
    return { ...this.#native.schemes };
  }

  /** Checks a text or tokens. */
  text(value, name = 'text') {
    return check.text(value, name, this.#lossy);
  }

  sketch(text) {
    const checked = this.text(text);
    return localSketch(callNative(() => this.#native.sketch(checked)));
  }

  sketchMany(texts) {
    const sketches = [];
    for (const chunk of chunks(iterable(texts, 'texts'), this.#checkTexts(), textLength)) {
      for (const sketch of callNative(() => this.#native.sketchMany(chunk))) sketches.push(localSketch(sketch));
    }
    return sketches;
  }

  async sketchManyAsync(texts) {
    const sketches = [];
    for await (const chunk of chunksAsync(asyncIterable(texts, 'texts'), this.#checkTexts(), textLength)) {
      for (const sketch of await callNativeAsync(() => this.#native.sketchManyAsync(chunk))) sketches.push(localSketch(sketch));
    }
    return sketches;
  }

  #checkTexts() {
    return (text, position) => this.text(text, `texts[${position}]`);
  }
}

function localSketch(sketch) {
  if (sketch.minhash) sketch.minhash = localArray(sketch.minhash);
  if (sketch.sdr) sketch.sdr = localArray(sketch.sdr);
  return sketch;
}

function settingsJson(settings, argument) {
  return JSON.stringify(plainData(settings, argument));
}

/** Copies settings as plain data. `null` becomes `"none"`, which removes a setting in a config file. */
function plainData(value, name, depth = 0) {
  if (value === null) return 'none';
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value;
    throw check.outOfRange(name, value, 'a finite number');
  }
  if (typeof value !== 'object') throw check.invalidType(name, value, 'plain data');
  if (depth === MAX_DEPTH) throw check.invalidType(name, value, `at most ${MAX_DEPTH} levels deep`);
  if (Array.isArray(value)) return Array.from(value, (item, i) => plainData(item, `${name}[${i}]`, depth + 1));
  const entries = Object.keys(value).map((key) => [key, value[key]]).filter(([, setting]) => setting !== undefined);
  return Object.fromEntries(entries.map(([key, setting]) => [key, plainData(setting, `${name}.${key.slice(0, 40)}`, depth + 1)]));
}

/** Checks an iterable. Strings are iterable, too, but a string in place of a list is a mistake. */
function iterable(value, name) {
  if (value !== null && typeof value === 'object' && Symbol.iterator in value) return value;
  throw check.invalidType(name, value, 'an array or another iterable');
}

/** Checks a synchronous or asynchronous iterable. */
function asyncIterable(value, name) {
  if (value !== null && typeof value === 'object' && Symbol.asyncIterator in value) return value;
  return iterable(value, name);
}

module.exports = { Analyzer, asyncIterable, iterable };
