// The functions `dedup`, `pairs` and `cluster`: a whole corpus in one call, in memory or in files.
'use strict';

const { Analyzer } = require('./analyzer.cjs');
const check = require('./check.cjs');
const { chunksAsync, clusters, collect, takeAll, textLength } = require('./chunks.cjs');
const { DocumentReader, columns, readData } = require('./corpus.cjs');
const { Dedup } = require('./dedup.cjs');
const { clusterCreator } = require('./engine.cjs');
const { callNative, callNativeAsync, localArray, native } = require('./native.cjs');
const { SETTINGS, sections } = require('./settings.cjs');

const FIELDS = ['textField', 'idField', 'dateField', 'sourceField'];
const FILE_OPTIONS = ['format', 'delimiter', 'onBad'];
const RUN_OPTIONS = ['preset', 'config', ...FIELDS, ...FILE_OPTIONS, 'maxMemory', 'tempDir', 'threads', 'onProgress', 'signal'];
const DEDUP_OPTIONS = ['keep', 'perSource', 'against', 'output', 'overwrite', 'maxRemoved'];
/** `limit` is that of a search in an engine. */
const UNUSED_SETTINGS = ['limit'];

const MAX_THREADS = 1024;
const DEFAULT_MAX_REMOVED = 0.9;
/** Milliseconds between two calls of `onProgress`. */
const PROGRESS_INTERVAL = 50;

async function dedup(data, options) {
  const given = readOptions(options, DEDUP_OPTIONS, ['linkage']);
  const { keep, perSource, overwrite, maxRemoved } = given;
  const output = check.optional(given.output, check.file, 'output');
  if (output === '-') throw invalidOption('`output` is `-`, but records are written to files only: pass a path');
  check.optional(perSource, check.boolean, 'perSource');
  check.optional(overwrite, check.boolean, 'overwrite');
  const run = new Run(given, { keep: check.optional(keep, check.string, 'keep'), perSource: perSource ?? false, task: 'dedup' });
  const fraction = check.number(maxRemoved ?? DEFAULT_MAX_REMOVED, 'maxRemoved', 0, 1);
  const target = output === undefined ? undefined : { path: output, overwrite: overwrite ?? false };
  const source = readData(data, 'data');
  if (output !== undefined && source.paths === undefined) {
    throw invalidOption('`output` is written from files, but the data is in memory: omit it, and use `take` of the result');
  }
  if (keep === 'newest' && source.paths !== undefined && given.dateField === undefined) {
    throw invalidOption('`keep` is `newest`, which requires dates: name the date field with `dateField`');
  }
  const kept = await run.start(source, (batch) => batch.dedupAsync(target, fraction));
  return dedupResult(kept);
}

async function dedupResult(kept) {
  const ids = kept.hasIds ? await collect(takeAll(kept)) : null;
  const list = kept.takeClusters();
  const members = await collect(takeAll(list));
  const found = await collect(clusters(list, members, clusterCreator(list)));
  return new Dedup({ centers: localArray(kept.centers, Float64Array), ids, clusters: found, counts: kept.counts });
}

async function pairs(data, options) {
  const given = readOptions(options, ['limitPairs', 'templates'], ['linkage', 'templates']);
  const limit = check.optional(given.limitPairs, check.integer, 'limitPairs', 0, Number.MAX_SAFE_INTEGER);
  // Which pairs are listed, not the setting of this name.
  const { templates, ...settings } = given;
  const listed = check.optional(templates, check.string, 'templates');
  const run = new Run(settings, { perSource: false, task: 'pairs' });
  const list = await run.start(readData(data, 'data'), (batch) => batch.pairsAsync(limit, listed));
  const { candidates, capped } = list.effort;
  return { pairs: await collect(takeAll(list)), complete: list.complete, candidates, capped, ...list.estimate };
}

async function cluster(data, options) {
  const given = readOptions(options, ['minSize'], []);
  const minSize = check.integer(given.minSize ?? 1, 'minSize', 0, Number.MAX_SAFE_INTEGER);
  const run = new Run(given, { perSource: false, task: 'cluster' });
  const list = await run.start(readData(data, 'data'), (batch) => batch.clusterAsync(minSize));
  const { candidates, capped } = list.effort;
  const members = await collect(takeAll(list));
  return { clusters: await collect(clusters(list, members, clusterCreator(list))), candidates, capped, ...list.estimate };
}

/** Returns the options without those that are `null`, unless `null` removes a setting. */
function readOptions(options, own, unused) {
  const settings = SETTINGS.filter((name) => ![...UNUSED_SETTINGS, ...unused].includes(name));
  const others = [...own, ...RUN_OPTIONS];
  const given = check.options(options, [...others, ...settings]);
  const isPresent = ([name, value]) => value !== undefined && (value !== null || settings.includes(name));
  return Object.fromEntries(Object.entries(given).filter(isPresent));
}

/** A call of one of the functions. */
class Run {
  #options;
  #analyzer;
  #batch;
  #fields;
  #dedup;
  #error;

  constructor(options, { keep, perSource, task }) {
    checkSignal(options.signal);
    if (options.onProgress !== undefined && typeof options.onProgress !== 'function') {
      throw check.invalidType('onProgress', options.onProgress, 'a function');
    }
    this.#options = options;
    this.#dedup = { keep, perSource };
    this.#analyzer = Analyzer.create(options.preset, sections(options), options.config);
    this.#fields = Object.fromEntries(FIELDS.map((name) => [name, check.optional(options[name], check.wellFormed, name)]));
    const runOptions = {
      threads: check.optional(options.threads, check.integer, 'threads', 1, MAX_THREADS),
      maxMemory: check.optional(options.maxMemory, check.integer, 'maxMemory', 1, Number.MAX_SAFE_INTEGER),
      tempDir: check.optional(options.tempDir, check.file, 'tempDir'),
      onBad: check.optional(options.onBad, check.string, 'onBad'),
      keep,
      perSource,
      task,
    };
    this.#batch = callNative(() => new native.BatchRun(this.#analyzer.native, runOptions));
  }

  /** Loads the data and calls `work` with the native run. */
  async start(source, work) {
    const { signal, onProgress } = this.#options;
    signal?.throwIfAborted();
    const cancel = () => this.#batch.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    const timer = onProgress && setInterval(() => this.#report(onProgress), PROGRESS_INTERVAL);
    try {
      await this.#load(source);
      const result = await callNativeAsync(() => work(this.#batch));
      if (this.#error) throw this.#error.thrown;
      const { total } = this.#batch.progress;
      onProgress?.(total, total);
      return result;
    } catch (error) {
      if (this.#error) throw this.#error.thrown;
      throw signal?.aborted ? signal.reason : error;
    } finally {
      clearInterval(timer);
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Calls `onProgress`. An error that it throws ends the call. */
  #report(onProgress) {
    const { done, total } = this.#batch.progress;
    try {
      if (!this.#error) onProgress(done, total);
    } catch (thrown) {
      this.#error = { thrown };
      this.#batch.cancel();
    }
  }

  async #load(source) {
    const { against } = this.#options;
    const known = against === undefined ? undefined : readData(against, 'against');
    if (known !== undefined && (known.paths === undefined) !== (source.paths === undefined)) {
      throw invalidOption('`against` must be of the same kind as `data`: both paths, or both in memory');
    }
    if (source.paths !== undefined) return this.#openFiles(source.paths, known?.paths ?? []);
    for (const name of FILE_OPTIONS) {
      if (this.#options[name] !== undefined) throw invalidOption(`\`${name}\` is for files, but the data is in memory: omit it`);
    }
    if (known !== undefined) await this.#push(known.documents, 'against', true);
    const reader = await this.#push(source.documents, 'data', false);
    this.#checkDates(reader);
    return undefined;
  }

  async #openFiles(paths, against) {
    const { format, delimiter } = this.#options;
    const files = {
      paths,
      against,
      ...this.#fields,
      format: check.optional(format, check.string, 'format'),
      delimiter: check.optional(delimiter, check.string, 'delimiter'),
    };
    const warning = await callNativeAsync(() => this.#batch.openAsync(files)).catch((error) => {
      if (error.code === 'ENOENT') error.message += '; a string is a path: pass an array to compare texts';
      throw error;
    });
    if (warning !== null) process.emitWarning(warning, 'SameishWarning');
  }

  async #push(documents, name, isKnown) {
    const reader = new DocumentReader(this.#analyzer, this.#fields, name);
    const read = (value, position) => reader.read(value, position);
    for await (const chunk of chunksAsync(documents, read, ({ text }) => textLength(text))) {
      this.#options.signal?.throwIfAborted();
      if (this.#error) throw this.#error.thrown;
      callNative(() => this.#batch.push(columns(chunk), isKnown));
    }
    return reader;
  }

  #checkDates(reader) {
    const { keep, perSource } = this.#dedup;
    if (keep === 'newest' && !reader.hasDates) {
      throw invalidOption('`keep` is `newest`, but no document has a `publishedAt`: name the date with `dateField`');
    }
    if (perSource && !reader.hasSources) {
      throw invalidOption('`perSource` is set, but no document has a `source`: name the source with `sourceField`');
    }
  }
}

function checkSignal(signal) {
  if (signal === undefined) return;
  if (typeof signal !== 'object' || typeof signal.aborted !== 'boolean') throw check.invalidType('signal', signal, 'an AbortSignal');
}

function invalidOption(message) {
  return check.errorWithCode(Error, 'ERR_SAMEISH_OPTION', message);
}

module.exports = { cluster, dedup, pairs };
