// What may JavaScript hand in?
//
// Everything is looked at here, before it reaches the engine: a wrong type is a TypeError with the code
// ERR_INVALID_ARG_TYPE, a number outside of its range a RangeError with ERR_OUT_OF_RANGE. Messages name the argument, what it
// is, and what would be right.
'use strict';

/** Names of classes that are shown; what somebody else calls a class may be anything. */
const CLASS_NAME = /^[\w$]{1,40}$/;

/** What a value is, in words; never what is in it. */
function kind(value) {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const name = value.constructor?.name;
  return `an object of class ${typeof name === 'string' && CLASS_NAME.test(name) ? name : 'unknown'}`;
}

function wrongType(what, value, expected) {
  const error = new TypeError(`\`${what}\` is ${kind(value)}: must be ${expected}`);
  return Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
}

function outOfRange(what, value, expected) {
  const error = new RangeError(`\`${what}\` is ${value}: must be ${expected}`);
  return Object.assign(error, { code: 'ERR_OUT_OF_RANGE' });
}

function string(value, what) {
  if (typeof value !== 'string') throw wrongType(what, value, 'a string');
  return value;
}

/** A string that has a UTF-8 form. Half of a surrogate pair has none. */
function wellFormed(value, what) {
  if (string(value, what).isWellFormed()) return value;
  const at = value.search(/\p{Surrogate}/u);
  const remedy = `must be well-formed, as \`toWellFormed()\` makes it`;
  const error = new TypeError(`\`${what}\` has half of a surrogate pair at position ${at}: ${remedy}`);
  throw Object.assign(error, { code: 'ERR_SAMEISH_LONE_SURROGATE' });
}

/** A text or a list of tokens. Under settings that are lossy, halves of surrogate pairs become U+FFFD. */
function text(value, what, lossy = false) {
  const one = lossy ? string : wellFormed;
  if (typeof value === 'string') return one(value, what);
  if (!Array.isArray(value)) throw wrongType(what, value, 'a string, or an array of strings that are taken as tokens');
  for (let i = 0; i < value.length; i += 1) one(value[i], `${what}[${i}]`);
  return value;
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

/** A date as a text, if there is one. */
function date(value, what) {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return wellFormed(value, what);
  if (!(value instanceof Date)) throw wrongType(what, value, 'a string or a Date');
  if (Number.isNaN(value.getTime())) throw outOfRange(what, 'an invalid Date', 'a valid one');
  return value.toISOString();
}

function number(value, what, least, most) {
  if (typeof value !== 'number') throw wrongType(what, value, 'a number');
  if (!(value >= least && value <= most)) {
    throw outOfRange(what, value, most === Infinity ? `at least ${least}` : `${least} to ${most}`);
  }
  return value;
}

function integer(value, what, least, most) {
  number(value, what, least, most);
  if (!Number.isInteger(value)) throw outOfRange(what, value, 'a whole number');
  return value;
}

/** An object with options, of which only these are known: a misspelled one would be silently without effect. */
function options(value, known, what = 'options') {
  if (value === undefined) return {};
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw wrongType(what, value, 'an object');
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    const error = new TypeError(`\`${what}\` has no key ${JSON.stringify(key.slice(0, 40))}: choose among ${known.join(', ')}`);
    throw Object.assign(error, { code: 'ERR_INVALID_ARG_VALUE' });
  }
  return value;
}

function instance(value, what, type) {
  if (!(value instanceof type)) throw wrongType(what, value, `a ${type.name}`);
  return value;
}

module.exports = { date, id, instance, integer, number, options, string, text, wellFormed, wrongType };
