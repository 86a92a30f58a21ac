// A native engine from a preset and what is laid over it.
'use strict';

const native = require('./native.cjs');
const check = require('./check.cjs');

const DEFAULT_PRESET = 'copies';

/** Settings as JSON, where `null` takes a setting away as `"none"` does in a config file. */
function written(overrides) {
  if (overrides === undefined) return undefined;
  if (overrides === null || typeof overrides !== 'object' || Array.isArray(overrides)) {
    throw check.wrongType('overrides', overrides, 'an object');
  }
  try {
    return JSON.stringify(overrides, setting);
  } catch (error) {
    throw error.code === undefined ? check.wrongType('overrides', overrides, 'plain data, which JSON can write') : error;
  }
}

function setting(key, value) {
  if (value === null) return 'none';
  if (typeof value === 'number') return check.number(value, key, -Number.MAX_VALUE, Number.MAX_VALUE);
  if (typeof value === 'bigint') throw check.wrongType(key, value, 'a number');
  return value;
}

function engineOf(preset = DEFAULT_PRESET, overrides = undefined) {
  return new native.NativeEngine(check.string(preset, 'preset'), written(overrides));
}

module.exports = { engineOf };
