// A native engine from a preset and what is laid over it.
'use strict';

const { asked, native } = require('./native.cjs');
const check = require('./check.cjs');

const DEFAULT_PRESET = 'copies';
/** Settings are two objects deep; whatever is much deeper goes round in a circle. */
const DEEPEST = 8;

/** Settings as plain data, where `null` takes a setting away as `"none"` does in a config file. */
function plain(value, what, depth = 0) {
  if (value === null) return 'none';
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value;
    throw check.wrong(RangeError, 'ERR_OUT_OF_RANGE', `\`${what}\` is ${value}: must be a finite number`);
  }
  if (typeof value !== 'object') throw check.wrongType(what, value, 'plain data');
  if (depth === DEEPEST) throw check.wrongType(what, value, 'less deep: no setting is here');
  if (Array.isArray(value)) return Array.from(value, (one, i) => plain(one, `${what}[${i}]`, depth + 1));
  const known = Object.keys(value).map((key) => [key, value[key]]).filter(([, setting]) => setting !== undefined);
  return Object.fromEntries(known.map(([key, setting]) => [key, plain(setting, `${what}.${key.slice(0, 40)}`, depth + 1)]));
}

function written(overrides) {
  if (overrides === undefined || overrides === null) return undefined;
  if (typeof overrides !== 'object' || Array.isArray(overrides)) throw check.wrongType('overrides', overrides, 'an object');
  return JSON.stringify(plain(overrides, 'overrides'));
}

function engineOf(preset, overrides) {
  const settings = [check.string(preset ?? DEFAULT_PRESET, 'preset'), written(overrides)];
  return asked(() => new native.NativeEngine(...settings));
}

/** The settings of a native engine, whole. */
function configOf(engine) {
  return JSON.parse(asked(() => engine.settings()));
}

module.exports = { configOf, engineOf };
