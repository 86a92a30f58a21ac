// SimHasher, MinHasher and compare.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { compare, compareAsync, computeSimHash, fnv1a64, MinHasher, SimHasher } = require('sameish');

test('MinHasher estimates the Jaccard similarity of two sets', () => {
  const features = (from, to) => BigUint64Array.from({ length: to - from }, (_, i) => mix(BigInt(from + i)));
  const hasher = new MinHasher({ rows: 256 });
  const [a, b] = [hasher.sketch(features(0, 900)), hasher.sketch(features(100, 1000))];
  // The similarity is 0.8. With 256 rows, the standard error is 0.025.
  assert.ok(Math.abs(hasher.similarity(a, b) - 0.8) < 0.1);
  assert.equal(hasher.similarity(a, a), 1);
  assert.ok(a instanceof Uint32Array && a.length === 256 && hasher.rows === 256);
  assert.equal(hasher.sketch(new BigUint64Array()), null);
});

/** The mixing function of SplitMix64. */
function mix(x) {
  const mask = (1n << 64n) - 1n;
  let z = (x * 0x9e3779b97f4a7c15n + 0x1234567n) & mask;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
  return z ^ (z >> 31n);
}

test('signatures round-trip through bytes', () => {
  const hasher = new MinHasher({ rows: 5 });
  const signature = hasher.sketch('a few words are enough');
  const bytes = hasher.toBytes(signature);
  assert.equal(bytes.length, 20);
  assert.equal(new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true), signature[0]);
  assert.deepEqual(hasher.fromBytes(bytes), signature);
  assert.deepEqual(hasher.fromBytes(Buffer.from(bytes)), signature);
});

test('hashers accept texts, tokens and options', () => {
  const hasher = new MinHasher({ rows: 16, shingle: 'words:2' });
  assert.deepEqual(hasher.sketch('One two, three!'), hasher.sketch(['one', 'two', 'three']));
  assert.equal(hasher.sketch(' .'), null);
  assert.notDeepEqual(hasher.sketch('one two three'), new MinHasher({ rows: 16 }).sketch('one two three'));
  assert.equal(new MinHasher({ rows: 16, stopWords: 'en' }).sketch('the and of'), null);
  const simHasher = new SimHasher({ shingle: 'words:3', hash: 'xxh3', tokenizer: 'unicode' });
  assert.match(simHasher.sketch('eins zwei drei vier'), /^[0-9a-f]{16}$/);
  assert.equal(simHasher.similarity('0000000000000000', '0000000000000003'), 1 - 2 / 64);
  assert.equal(simHasher.distance('0000000000000000', '0000000000000003'), 2);
});

test('SimHasher computes the same fingerprint from hashed words as from the text', () => {
  const words = ['storm', 'hits', 'the', 'coast', 'the'];
  const features = BigUint64Array.from(words.map(fnv1a64));
  const hasher = new SimHasher();
  assert.equal(hasher.sketch(features), computeSimHash(words.join(' ')));
  assert.equal(hasher.sketch(features, new Float64Array(5).fill(2.5)), computeSimHash(words.join(' ')));
  assert.equal(hasher.sketch(BigUint64Array.of(1n, 2n), Float64Array.of(1, 3)), '0000000000000002');
});

test('compare and compareAsync return every measure', async () => {
  const [a, b] = ['dog', 'cat'].map((last) => `The quick brown fox jumps over the lazy ${last}`);
  const result = compare(a, b, { preset: 'articles' });
  assert.deepEqual([result.similarity, result.simhashDistance, result.wordsA], [0.75, 9, 9]);
  assert.deepEqual(result.passages, [{ aStart: 0, aEnd: 39, bStart: 0, bEnd: 39, tokens: 8, text: 'The quick brown fox jumps over the lazy' }]);
  assert.deepEqual(await compareAsync(a, b, { preset: 'articles' }), result);
  assert.equal(compare(a, a).matchType, 'exact');
  assert.equal(compare(a, 'nothing in common with it').matchType, 'different');
  assert.equal(compare(a, b, { overrides: { minhash: { shingle: 'words:1' } } }).similarity, 7 / 9);
  assert.deepEqual(compare(a, b, { minTokens: 9 }).passages, []);
  assert.equal(compare('', '').tooShort, true);
});

test('offsets of passages count UTF-16 units, or tokens', () => {
  const a = '😀😀 é the old bridge is closed';
  const { passages } = compare(a, '東京 the old bridge is closed 😀');
  assert.deepEqual(passages, [{ aStart: 7, aEnd: a.length, bStart: 3, bEnd: 27, tokens: 5, text: 'the old bridge is closed' }]);
  const tokens = compare(['😀', 'one', 'two', 'three'], ['one', 'two', 'three'], { minTokens: 3 }).passages;
  assert.deepEqual(tokens, [{ aStart: 1, aEnd: 4, bStart: 0, bEnd: 3, tokens: 3, text: 'one two three' }]);
});
