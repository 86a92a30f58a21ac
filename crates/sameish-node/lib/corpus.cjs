// The data of `dedup`, `pairs` and `cluster`: documents in memory, or paths of files.
'use strict';

const { asyncIterable } = require('./analyzer.cjs');
const check = require('./check.cjs');
const { native } = require('./native.cjs');

/** Maximum number of keys of a document that a message lists. */
const MAX_KEYS = 8;
const EXPECTED = 'an array or another iterable of texts or documents, a path, or { paths: [...] }';

/** Returns `{ paths }` or `{ documents }`. `name` is the name of the argument. */
function readData(value, name) {
  if (typeof value === 'string' || value?.protocol === 'file:') return { paths: [check.file(value, name)] };
  if (value === null || typeof value !== 'object') throw check.invalidType(name, value, EXPECTED);
  if (value.paths !== undefined) {
    const { paths } = check.options(value, ['paths'], name);
    if (!Array.isArray(paths) || paths.length === 0) throw check.invalidType(`${name}.paths`, paths, 'an array of paths, at least one');
    return { paths: paths.map((path, i) => check.file(path, `${name}.paths[${i}]`)) };
  }
  if (!(Symbol.iterator in value) && !(Symbol.asyncIterator in value)) {
    throw check.invalidType(name, value, `${EXPECTED}; pass the values of an object as \`Object.values(${name})\``);
  }
  if (Array.isArray(value)) refusePaths(value, name);
  return { documents: asyncIterable(value, name) };
}

/** A list of strings consists of texts. If all of them look like paths, that is a mistake. */
function refusePaths(items, name) {
  const isPath = (item) => item?.protocol === 'file:' || (typeof item === 'string' && item.length < 4096 && native.isDataFile(item));
  if (items.length === 0 || !items.every(isPath)) return;
  const message = `\`${name}\` is an array of paths, which would be compared as texts: pass \`{ paths: [...] }\` to read the files`;
  throw check.errorWithCode(TypeError, 'ERR_INVALID_ARG_VALUE', message);
}

/** Reads documents in memory. */
class DocumentReader {
  /** Whether documents have ids; `undefined` before the first document. */
  #hasIds;
  #analyzer;
  #fields;
  #name;
  /** Whether a document has a date, and whether one has a source. */
  hasDates = false;
  hasSources = false;

  /** `fields` are the options that name fields. */
  constructor(analyzer, fields, name) {
    this.#analyzer = analyzer;
    this.#fields = fields;
    this.#name = name;
  }

  /** Checks a document. Returns its id, text, date and source. */
  read(value, position) {
    const name = `${this.#name}[${position}]`;
    const document = typeof value === 'string' ? this.#readText(value, name) : this.#readObject(value, name);
    this.#checkId(document.id, name);
    this.hasDates ||= document.date !== undefined;
    this.hasSources ||= document.source !== undefined;
    return document;
  }

  #readText(value, name) {
    return { id: undefined, text: this.#analyzer.text(value, name), date: undefined, source: undefined };
  }

  #readObject(value, name) {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      throw check.invalidType(name, value, 'a string, or an object with `text` or `tokens`');
    }
    const { textField, idField = 'id', dateField = 'publishedAt', sourceField = 'source' } = this.#fields;
    if (dateField === 'publishedAt' && value.published_at !== undefined) {
      const message = `\`${name}\` has the unknown key "published_at": use \`publishedAt\`, or pass \`dateField: 'published_at'\``;
      throw check.errorWithCode(TypeError, 'ERR_INVALID_ARG_VALUE', message);
    }
    const text = textField === undefined ? value.text ?? value.tokens ?? value.title : value[textField];
    if (text === undefined || text === null) throw this.#missingText(value, name);
    const id = value[idField] ?? undefined;
    return {
      id: id === undefined && this.#fields.idField === undefined ? undefined : check.id(id, `${name}.${idField}`),
      text: this.#analyzer.text(text, `${name}.${textField ?? 'text'}`),
      date: check.date(value[dateField], `${name}.${dateField}`),
      source: check.optional(value[sourceField], check.string, `${name}.${sourceField}`),
    };
  }

  #missingText(value, name) {
    const { textField = 'text' } = this.#fields;
    const keys = Object.keys(value).slice(0, MAX_KEYS).map((key) => `\`${key.slice(0, 40)}\``).join(', ') || 'none';
    const expected = `a string or an array of strings (tokens); the keys are ${keys}: name the text with \`textField\``;
    return check.invalidType(`${name}.${textField}`, value[textField], expected);
  }

  #checkId(id, name) {
    const hasId = id !== undefined;
    this.#hasIds ??= hasId;
    if (hasId === this.#hasIds) return;
    const problem = hasId ? 'has an id, but earlier documents have none' : 'has no id, but earlier documents have one';
    throw check.errorWithCode(TypeError, 'ERR_INVALID_ARG_VALUE', `\`${name}\` ${problem}: give all documents an id, or none`);
  }
}

/** Returns documents as columns for the addon. */
function columns(documents) {
  const ids = documents.filter(({ id }) => id !== undefined).map(({ id }) => id);
  const column = (name) => documents.map((document) => document[name]);
  return { ids, texts: column('text'), dates: column('date'), sources: column('source') };
}

module.exports = { DocumentReader, columns, readData };
