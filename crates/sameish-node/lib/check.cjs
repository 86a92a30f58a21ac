// What may JavaScript hand in?
//
// Everything is looked at here, before it reaches the engine: a wrong type is a TypeError with the code
// ERR_INVALID_ARG_TYPE, a number outside of its range a RangeError with ERR_OUT_OF_RANGE. Messages name the argument, what it
// is, and what would be right. Types are known by what they are and not by their constructor, which is another in other realms.
'use strict';

const { types } = require('node:util');
const { fileURLToPath } = require('node:url');

/** Largest number that crosses as one: 32 bits. */
const MOST = 0xffff_ffff;

/** Names of classes that are shown; what somebody else calls a class may be anything. */
const CLASS_NAME = /^[\w$]{1,40}$/;
/** Most letters of a value that a message shows. */
const SHOWN = 40;
/** Half of a surrogate pair; whole ones are one character to this expression. */
const HALF = /\p{Surrogate}/u;

/** What a value is, in words; never what is in it. */
function kind(value) {
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

/** A value in a message, cut where it is long. */
function shown(value) {
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, SHOWN + 1)) : String(value);
  return text.length > SHOWN + 2 ? `${text.slice(0, SHOWN)}… and more` : text;
}

function wrong(Wrong, code, message) {
  return Object.assign(new Wrong(message), { code });
}

function wrongType(what, value, expected) {
  return wrong(TypeError, 'ERR_INVALID_ARG_TYPE', `\`${what}\` is ${kind(value)}: must be ${expected}`);
}

function outOfRange(what, value, expected) {
  return wrong(RangeError, 'ERR_OUT_OF_RANGE', `\`${what}\` is ${shown(value)}: must be ${expected}`);
}

function string(value, what) {
  if (typeof value !== 'string') throw wrongType(what, value, 'a string');
  return value;
}

/** A string that has a UTF-8 form. Half of a surrogate pair has none. */
function wellFormed(value, what) {
  // Node 20 and later know by themselves, and faster.
  if (string(value, what).isWellFormed?.()) return value;
  const at = value.search(HALF);
  if (at === -1) return value;
  const remedy = 'must be well-formed, as `Buffer.from(text).toString()` makes it';
  throw wrong(TypeError, 'ERR_SAMEISH_LONE_SURROGATE', `\`${what}\` has half of a surrogate pair at position ${at}: ${remedy}`);
}

/**
 * A text or a list of tokens. Under settings that are lossy, halves of surrogate pairs become U+FFFD. Tokens are copied: whatever
 * the list is and becomes, the addon gets the strings that were looked at.
 */
function text(value, what, lossy = false) {
  const one = lossy ? string : wellFormed;
  if (typeof value === 'string') return one(value, what);
  if (!Array.isArray(value)) throw wrongType(what, value, 'a string, or an array of strings that are taken as tokens');
  const tokens = [];
  for (let i = 0; i < value.length; i += 1) tokens.push(one(value[i], `${what}[${i}]`));
  return tokens;
}

const LEAST_ID = -(2n ** 63n);
const ID_END = 2n ** 64n;

function id(value, what = 'id') {
  if (typeof value === 'string') return wellFormed(value, what);
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return value;
    throw outOfRange(what, value, 'a safe integer, a BigInt or a string');
  }
  if (typeof value === 'bigint') {
    if (value >= LEAST_ID && value < ID_END) return value;
    throw outOfRange(what, value, 'at least -2^63 and below 2^64');
  }
  throw wrongType(what, value, 'a string, an integer or a BigInt');
}

/** Milliseconds since 1970 of a Date. */
function milliseconds(value, what) {
  if (!types.isDate(value)) throw wrongType(what, value, 'a string or a Date');
  const time = Date.prototype.getTime.call(value);
  if (Number.isNaN(time)) throw wrong(RangeError, 'ERR_OUT_OF_RANGE', `\`${what}\` is an invalid Date: must be a valid one`);
  return time;
}

/** Milliseconds since 1970 of a Date, or of a text as `Date` reads it. */
function moment(value, what) {
  if (typeof value !== 'string') return milliseconds(value, what);
  const time = Date.parse(value);
  if (!Number.isNaN(time)) return time;
  const expected = 'a date that `Date` reads, such as 2024-01-31 or 2024-01-31T12:00:00Z';
  throw wrong(Error, 'ERR_SAMEISH_INVALID_FIELD', `\`${what}\` is ${shown(value)}: must be ${expected}`);
}

/** A date as a text that the engine reads, if there is one. */
function date(value, what) {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? wellFormed(value, what) : new Date(milliseconds(value, what)).toISOString();
}

function number(value, what, least, most) {
  if (typeof value !== 'number') throw wrongType(what, value, 'a number');
  if (value >= least && value <= most) return value;
  throw outOfRange(what, value, most === Infinity ? `a number, at least ${least}` : `a number from ${least} to ${most}`);
}

function integer(value, what, least, most) {
  number(value, what, least, most);
  if (!Number.isInteger(value)) throw outOfRange(what, value, 'a whole number');
  return value;
}

/** An object with options, of which only these are known: a misspelled one would be silently without effect. */
function options(value, known, what = 'options') {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw wrongType(what, value, 'an object');
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    throw wrong(TypeError, 'ERR_INVALID_ARG_VALUE', `\`${what}\` has no key ${shown(key)}: choose among ${known.join(', ')}`);
  }
  return value;
}

/** A typed array of one class, such as `Uint32Array`. */
function array(value, what, name) {
  if (!types[`is${name}`](value)) throw wrongType(what, value, `a ${name}`);
  return value;
}

/** The path of a file, given as a text or as a URL. */
function file(value, what = 'path') {
  if (typeof value === 'string') return wellFormed(value, what);
  if (value === null || typeof value !== 'object' || value.protocol !== 'file:') throw wrongType(what, value, 'a string or a file: URL');
  return fileURLToPath(value.href);
}

module.exports = { MOST, array, date, file, id, integer, moment, number, options, string, text, wellFormed, wrong, wrongType };
