// What wrong arguments get: a TypeError or RangeError with a code, or the engine's own message.
'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const sameish = require('sameish');
const { Engine, MinHasher, SimHasher } = sameish;

const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
const RANGE = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };
const HASH = '0123456789abcdef';

test('what is no string is a TypeError that says what it is', () => {
  const kinds = [
    [undefined, 'undefined'], [null, 'null'], [3, 'a number'], [3n, 'a bigint'], [true, 'a boolean'], [[], 'an array'],
    [{}, 'an object of class Object'], [Object.create(null), 'an object of class unknown'], [{ constructor: { name: '\u001b[31m' } }, 'an object of class unknown'], [Symbol('s'), 'a symbol'],
    [() => {}, 'a function'], [new String('text'), 'an object of class String'], [Buffer.from('text'), 'an object of class Buffer'],
  ];
  for (const [value, kind] of kinds) {
    const wrong = { ...TYPE, message: `\`text\` is ${kind}: must be a string` };
    assert.throws(() => sameish.computeSimHash(value), wrong);
    assert.throws(() => sameish.fnv1a64(value), { ...TYPE, message: `\`str\` is ${kind}: must be a string` });
    assert.throws(() => sameish.hammingDistance(HASH, value), { ...TYPE, message: `\`b\` is ${kind}: must be a string` });
    assert.throws(() => sameish.calculateHammingDistance(HASH, value), { name: 'TypeError', message: 'Hashes must be 16-character hex strings' });
  }
});

test('numbers have their ranges', () => {
  for (const call of [sameish.distanceToSimilarity, sameish.getMatchType, (d) => sameish.isNearDuplicate(HASH, HASH, d), (d) => sameish.groupArticlesBySimilarity([], d)]) {
    assert.throws(() => call(-1), RANGE);
    assert.throws(() => call(NaN), RANGE);
    assert.throws(() => call('3'), TYPE);
    call(Infinity);
    call(64.5);
  }
  assert.throws(() => new Engine().search('text', { limit: 1.5 }), RANGE);
  assert.throws(() => new Engine().search('text', { limit: -1 }), RANGE);
  assert.throws(() => new Engine().search('text', { minSimilarity: 2 }), RANGE);
  assert.throws(() => new Engine().pairs({ limit: 2 ** 32 }), RANGE);
  assert.throws(() => sameish.compare('a', 'b', { minTokens: 0 }), RANGE);
  assert.throws(() => new MinHasher({ rows: 1025 }), RANGE);
});

test('ids', () => {
  const engine = new Engine();
  for (const id of [1.5, NaN, Infinity, 2 ** 53, 2n ** 64n, -(2n ** 63n) - 1n]) assert.throws(() => engine.add(id, 'text'), RANGE);
  for (const id of [undefined, null, {}, [], true, Symbol('s')]) assert.throws(() => engine.add(id, 'text'), TYPE);
  assert.throws(() => engine.has('\ud800'), { code: 'ERR_SAMEISH_LONE_SURROGATE' });
});

describe('half of a surrogate pair', () => {
  const half = 'cut in the middle of a smile \ud83d';
  test('is U+FFFD to the functions of the seed, as it is to TextEncoder', () => {
    assert.equal(sameish.fnv1a64('\ud83d'), sameish.fnv1a64('\ufffd'));
    assert.equal(sameish.computeSimHash(half), sameish.computeSimHash('cut in the middle of a smile \ufffd'));
  });
  test('is refused by an engine, with its place and the remedy', () => {
    const wrong = {
      name: 'TypeError',
      code: 'ERR_SAMEISH_LONE_SURROGATE',
      message: '`text` has half of a surrogate pair at position 29: must be well-formed, as `toWellFormed()` makes it',
    };
    assert.throws(() => new Engine().add(1, half), wrong);
    assert.throws(() => new Engine().search(['smile', '\udc00']), { message: /^`text\[1\]` has half of a surrogate pair at position 0/ });
    assert.throws(() => sameish.compare('a', half), { code: 'ERR_SAMEISH_LONE_SURROGATE' });
    assert.throws(() => new Engine().addMany([[1, half]]), { message: /^`documents\[0\]\[1\]` has half/ });
  });
  test('is U+FFFD where the settings are lossy', () => {
    const engine = new Engine('web');
    assert.equal(engine.add(1, half).status, 'ok');
    assert.equal(engine.search(half.toWellFormed()).matches[0].distance, 0);
  });
});

test('documents and texts are iterables of the right things', async () => {
  const engine = new Engine();
  for (const wrong of [undefined, null, 3, 'text', {}]) {
    assert.throws(() => engine.addMany(wrong), TYPE);
    await assert.rejects(engine.addManyAsync(wrong), TYPE);
    assert.throws(() => engine.sketchMany(wrong), TYPE);
    await assert.rejects(engine.sketchManyAsync(wrong), TYPE);
  }
  assert.throws(() => engine.addMany([['a', 'text'], null]), { ...TYPE, message: /^`documents\[1\]` is null/ });
  assert.throws(() => engine.addMany([{ id: 1, text: 'x', publishedAt: 3 }]), { ...TYPE, message: /^`documents\[0\].publishedAt` is a number/ });
  assert.throws(() => engine.addMany([{ id: 1, text: 'x', publishedAt: new Date(NaN) }]), RANGE);
  assert.throws(() => engine.sketchMany(['a', ['b', 3]]), { ...TYPE, message: /^`texts\[1\]\[1\]` is a number/ });
  assert.equal(engine.size, 0);
});

test('options and settings that nobody knows are named', () => {
  assert.throws(() => new Engine().search('text', { limits: 3 }), { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE', message: '`options` has no key "limits": choose among limit, minSimilarity' });
  assert.throws(() => new Engine('wires'), { name: 'Error', code: 'ERR_SAMEISH_UNKNOWN_PRESET', message: 'no preset is named `wires`: choose one of wire, articles, sdr, headlines, web, copies' });
  assert.throws(() => new Engine('wire', { matching: { threshold: 1.5 } }), { code: 'ERR_SAMEISH_INVALID_FIELD', message: '`matching.threshold` is 1.5: must be more than 0 and at most 1' });
  assert.throws(() => new Engine('copies', { minhash: { row: 5 } }), { code: 'ERR_SAMEISH_CONFIG', message: /unknown field `row`/ });
  assert.throws(() => new Engine('copies', { minhash: { rows: 'many' } }), { code: 'ERR_SAMEISH_CONFIG' });
  assert.throws(() => new Engine('copies', { minhash: { rows: NaN } }), RANGE);
  assert.throws(() => new Engine('copies', { text: { stop_words: 'xx' } }), { code: 'ERR_SAMEISH_UNKNOWN_LANGUAGE' });
  assert.throws(() => new Engine('copies', 'threshold = 1'), TYPE);
  assert.throws(() => new Engine(7), TYPE);
  const round = {};
  round.round = round;
  assert.throws(() => new Engine('copies', round), { ...TYPE, message: '`overrides` is an object of class Object: must be plain data, which JSON can write' });
  const deep = JSON.parse('{"a":'.repeat(50_000) + '1' + '}'.repeat(50_000));
  assert.throws(() => new Engine('copies', deep), { code: /^ERR_/ });
  assert.throws(() => new Engine('\u001b[31mred'), { message: /^no preset is named `\\u\{1b\}\[31mred`/ });
  assert.throws(() => Engine(), { name: 'TypeError' });
});

test('sketches of other sizes do not compare, and impossible ones are refused', () => {
  const [five, six] = [new MinHasher({ rows: 5 }), new MinHasher({ rows: 6 })];
  const [a, b] = [five.sketch('one two three'), six.sketch('one two three')];
  assert.throws(() => five.similarity(a, b), { code: 'ERR_SAMEISH_MISMATCH', message: /^signature rows of 6 can not be compared with 5/ });
  assert.throws(() => five.similarity(a, [...a]), TYPE);
  assert.throws(() => five.similarity(new Uint32Array(), new Uint32Array()), { code: 'ERR_SAMEISH_CORRUPT' });
  assert.throws(() => five.fromBytes(new Uint8Array(7)), { code: 'ERR_SAMEISH_CORRUPT' });
  const features = BigUint64Array.of(1n, 2n);
  assert.throws(() => new SimHasher().sketch(features, Float64Array.of(1, NaN)), { code: 'ERR_SAMEISH_INVALID_WEIGHT' });
  assert.throws(() => new SimHasher().sketch(features, Float64Array.of(1)), RANGE);
  assert.throws(() => new SimHasher().sketch(features, [1, 2]), TYPE);
});

test('an engine works on after an error', () => {
  const engine = new Engine('wire');
  assert.throws(() => engine.add(1, 'storm hits the coast', { publishedAt: 'soon' }));
  engine.add(1, 'storm hits the coast');
  assert.equal(engine.search('Storm hits the coast').matches.length, 1);
});
