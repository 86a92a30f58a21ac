// Validation of arguments.
//
// Everything is checked here before it reaches the addon. A wrong type is a TypeError with the code ERR_INVALID_ARG_TYPE, a
// number out of range a RangeError with ERR_OUT_OF_RANGE. Messages name the argument, its value or type, and the valid ones.
// Classes are detected without `instanceof`, because objects of another realm have other constructors.
'use strict';

const { types } = require('node:util');
const { fileURLToPath } = require('node:url');

/** Maximum integer argument of the addon. */
const MAX_U32 = 0xffff_ffff;

/** Class names that are safe to show in a message. */
const CLASS_NAME = /^[\w$]{1,40}$/;
/** Maximum number of characters of a value in a message. */
const MAX_QUOTED = 40;
/** A lone surrogate; the flag `u` makes the expression skip surrogate pairs. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Describes the type of a value, never its content. */
function typeName(value) {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  if (typeof value !== 'object') return `a ${typeof value}`;
  return `an object of class ${className(value)}`;
}

function className(value) {
  try {
    const { name } = value.constructor;
    return typeof name === 'string' && CLASS_NAME.test(name) ? name : 'unknown';
  } catch {
    return 'unknown';
  }
}

/** Formats a value for a message, shortened. */
function quoted(value) {
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, MAX_QUOTED + 1)) : String(value);
  return text.length > MAX_QUOTED + 2 ? `${text.slice(0, MAX_QUOTED)}…` : text;
}

function errorWithCode(ErrorClass, code, message) {
  return Object.assign(new ErrorClass(message), { code });
}

function invalidType(name, value, expected) {
  return errorWithCode(TypeError, 'ERR_INVALID_ARG_TYPE', `\`${name}\` is ${typeName(value)}: must be ${expected}`);
}

function outOfRange(name, value, expected) {
  return errorWithCode(RangeError, 'ERR_OUT_OF_RANGE', `\`${name}\` is ${quoted(value)}: must be ${expected}`);
}

function string(value, name) {
  if (typeof value !== 'string') throw invalidType(name, value, 'a string');
  return value;
}

/** Checks a string without lone surrogates, which have no UTF-8 encoding. */
function wellFormed(value, name) {
  // Node 20 and later have a fast method.
  if (string(value, name).isWellFormed?.()) return value;
  const position = value.search(LONE_SURROGATE);
  if (position === -1) return value;
  const remedy = 'must be well-formed; `Buffer.from(text).toString()` replaces lone surrogates';
  throw errorWithCode(TypeError, 'ERR_SAMEISH_LONE_SURROGATE', `\`${name}\` has a lone surrogate at position ${position}: ${remedy}`);
}

/**
 * Checks a text or an array of tokens. If the settings are lossy, lone surrogates are allowed; the addon replaces them by U+FFFD.
 * Tokens are copied, so that the addon gets the strings that were checked even if the array changes or has getters.
 */
function text(value, name, lossy = false) {
  const check = lossy ? string : wellFormed;
  if (typeof value === 'string') return check(value, name);
  if (!Array.isArray(value)) throw invalidType(name, value, 'a string or an array of strings (tokens)');
  const tokens = [];
  for (let i = 0; i < value.length; i += 1) tokens.push(check(value[i], `${name}[${i}]`));
  return tokens;
}

const MIN_ID = -(2n ** 63n);
const ID_END = 2n ** 64n;

function id(value, name = 'id') {
  if (typeof value === 'string') return wellFormed(value, name);
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return value;
    throw outOfRange(name, value, 'a safe integer, a BigInt or a string');
  }
  if (typeof value === 'bigint') {
    if (value >= MIN_ID && value < ID_END) return value;
    throw outOfRange(name, value, 'at least -2^63 and less than 2^64');
  }
  throw invalidType(name, value, 'a string, an integer or a BigInt');
}

/** Returns the milliseconds since 1970 of a Date. */
function milliseconds(value, name) {
  if (!types.isDate(value)) throw invalidType(name, value, 'a string or a Date');
  const time = Date.prototype.getTime.call(value);
  if (Number.isNaN(time)) throw errorWithCode(RangeError, 'ERR_OUT_OF_RANGE', `\`${name}\` is an invalid Date: must be a valid one`);
  return time;
}

/** Returns the milliseconds since 1970 of a Date, or of a string that `Date` parses. */
function timestamp(value, name) {
  if (typeof value !== 'string') return milliseconds(value, name);
  const time = Date.parse(value);
  if (!Number.isNaN(time)) return time;
  const expected = 'a date that `Date` parses, such as 2024-01-31 or 2024-01-31T12:00:00Z';
  throw errorWithCode(Error, 'ERR_SAMEISH_INVALID_FIELD', `\`${name}\` is ${quoted(value)}: must be ${expected}`);
}

/** Returns a date as a string that the engine parses. Returns `undefined` if it is absent. */
function date(value, name) {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? wellFormed(value, name) : new Date(milliseconds(value, name)).toISOString();
}

function number(value, name, min, max) {
  if (typeof value !== 'number') throw invalidType(name, value, 'a number');
  if (value >= min && value <= max) return value;
  throw outOfRange(name, value, max === Infinity ? `a number, at least ${min}` : `a number from ${min} to ${max}`);
}

function integer(value, name, min, max) {
  number(value, name, min, max);
  if (!Number.isInteger(value)) throw outOfRange(name, value, 'a whole number');
  return value;
}

function boolean(value, name) {
  if (typeof value !== 'boolean') throw invalidType(name, value, 'a boolean');
  return value;
}

/** Applies a check to a value unless it is absent. */
function optional(value, check, ...args) {
  return value === undefined || value === null ? undefined : check(value, ...args);
}

/** Returns the name that is most similar to a misspelled one, or `undefined`. */
function nearest(word, names) {
  if (word.length > MAX_QUOTED) return undefined;
  const plain = (text) => text.replace(/[_-]/g, '').toLowerCase();
  const distances = names.map((name) => editDistance(plain(word), plain(name)));
  const least = Math.min(...distances);
  return least <= Math.max(1, Math.floor(word.length / 3)) ? names[distances.indexOf(least)] : undefined;
}

/** Returns the number of characters to insert, remove or replace to turn one word into another. */
function editDistance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length];
}

/** Checks that an object has only known options, because a misspelled one would have no effect. */
function options(value, known, name = 'options') {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidType(name, value, 'an object');
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    const close = nearest(key, known);
    const expected = `expected one of ${known.join(', ')}`;
    const message = `\`${name}\` has the unknown key ${quoted(key)}: ${close ? `did you mean \`${close}\`? ` : ''}${expected}`;
    throw errorWithCode(TypeError, 'ERR_INVALID_ARG_VALUE', message);
  }
  return value;
}

/** Checks a typed array of a class, such as `Uint32Array`. */
function typedArray(value, name, className) {
  if (!types[`is${className}`](value)) throw invalidType(name, value, `a ${className}`);
  return value;
}

/** Checks the scheme of a sketch, in the form in which it is displayed. */
function scheme(value, name = 'scheme') {
  if (/^[0-9a-f]{16}$/.test(string(value, name))) return value;
  throw outOfRange(name, value, '16 lower-case hex digits, such as `engine.schemes.simhash`');
}

/** Returns the path of a file that is given as a path or as a URL. */
function file(value, name = 'path') {
  if (typeof value === 'string') return wellFormed(value, name);
  if (value === null || typeof value !== 'object' || value.protocol !== 'file:') throw invalidType(name, value, 'a string or a file: URL');
  return fileURLToPath(value.href);
}

module.exports = {
  MAX_U32, boolean, date, errorWithCode, file, id, integer, invalidType, number, optional, options, outOfRange, scheme, string, text, timestamp,
  typedArray, wellFormed,
};
