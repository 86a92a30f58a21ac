// Sketches in their stored form, which carries its kind, its scheme and a checksum.
'use strict';

const check = require('./check.cjs');
const { callNative, localArray, native } = require('./native.cjs');

const KINDS = ['simhash', 'minhash', 'sdr'];

function checkSketch(sketch) {
  const { simhash, minhash, sdr, size } = check.options(sketch, [...KINDS, 'size'], 'sketch');
  const given = KINDS.filter((kind) => sketch?.[kind] !== undefined && sketch[kind] !== null);
  if (given.length !== 1) throw check.invalidType('sketch', sketch, 'an object with one of `simhash`, `minhash` and `sdr`');
  switch (given[0]) {
    case 'simhash':
      return { simhash: check.string(simhash, 'sketch.simhash') };
    case 'minhash':
      return { minhash: check.typedArray(minhash, 'sketch.minhash', 'Uint32Array') };
    default:
      return { sdr: check.typedArray(sdr, 'sketch.sdr', 'Uint32Array'), size: check.integer(size, 'sketch.size', 1, check.MAX_U32) };
  }
}

function encodeSketch(sketch, scheme) {
  const args = [checkSketch(sketch), check.scheme(scheme)];
  return localArray(callNative(() => native.encodeSketch(...args)), Uint8Array);
}

function decodeSketch(bytes, scheme) {
  check.typedArray(bytes, 'bytes', 'Uint8Array');
  const checked = check.scheme(scheme);
  const sketch = callNative(() => native.decodeSketch(bytes, checked));
  if (sketch.minhash) sketch.minhash = localArray(sketch.minhash);
  if (sketch.sdr) sketch.sdr = localArray(sketch.sdr);
  return sketch;
}

module.exports = { decodeSketch, encodeSketch };
