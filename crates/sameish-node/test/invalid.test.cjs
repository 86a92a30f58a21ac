// Errors for invalid arguments: a TypeError or a RangeError with a code, or the message of the engine.
'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const sameish = require('sameish');
const { Engine, MinHasher, SimHasher } = sameish;

const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
const RANGE = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };
const HASH = '0123456789abcdef';

test('a value that is not a string is a TypeError that names its type', () => {
  const cases = [
    [undefined, 'undefined'], [null, 'null'], [3, 'a number'], [3n, 'a bigint'], [true, 'a boolean'], [[], 'an array'],
    [{}, 'an object of class Object'], [Object.create(null), 'an object of class unknown'], [{ constructor: { name: '\u001b[31m' } }, 'an object of class unknown'], [Symbol('s'), 'a symbol'],
    [() => {}, 'a function'], [new String('text'), 'an object of class String'], [Buffer.from('text'), 'an object of class Buffer'],
  ];
  for (const [value, type] of cases) {
    assert.throws(() => sameish.computeSimHash(value), { ...TYPE, message: `\`text\` is ${type}: must be a string` });
    assert.throws(() => sameish.fnv1a64(value), { ...TYPE, message: `\`str\` is ${type}: must be a string` });
    assert.throws(() => sameish.hammingDistance(HASH, value), { ...TYPE, message: `\`b\` is ${type}: must be a string` });
    assert.throws(() => sameish.calculateHammingDistance(HASH, value), { name: 'TypeError', message: 'Hashes must be 16-character hex strings' });
  }
});

test('a number out of range is a RangeError', () => {
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

test('invalid ids are rejected', () => {
  const engine = new Engine();
  for (const id of [1.5, NaN, Infinity, 2 ** 53, 2n ** 64n, -(2n ** 63n) - 1n]) assert.throws(() => engine.add(id, 'text'), RANGE);
  for (const id of [undefined, null, {}, [], true, Symbol('s')]) assert.throws(() => engine.add(id, 'text'), TYPE);
  assert.throws(() => engine.has('\ud800'), { code: 'ERR_SAMEISH_LONE_SURROGATE' });
});

describe('a lone surrogate', () => {
  const cut = 'cut in the middle of a smile \ud83d';
  test('is treated as U+FFFD by fnv1a64Utf8 and computeSimHash, as by TextEncoder', () => {
    assert.equal(sameish.fnv1a64Utf8('\ud83d'), sameish.fnv1a64Utf8('\ufffd'));
    assert.equal(sameish.computeSimHash(cut), sameish.computeSimHash('cut in the middle of a smile \ufffd'));
  });
  test('is rejected by engines and compare, with its position and a remedy', () => {
    const error = {
      name: 'TypeError',
      code: 'ERR_SAMEISH_LONE_SURROGATE',
      message: '`text` has a lone surrogate at position 29: must be well-formed; `Buffer.from(text).toString()` replaces lone surrogates',
    };
    assert.throws(() => new Engine().add(1, cut), error);
    assert.throws(() => new Engine().search(['smile', '\udc00']), { message: /^`text\[1\]` has a lone surrogate at position 0/ });
    assert.throws(() => sameish.compare('a', cut), { code: 'ERR_SAMEISH_LONE_SURROGATE' });
    assert.throws(() => new Engine().addMany([[1, cut]]), { message: /^`documents\[0\]\[1\]` has a lone surrogate/ });
  });
  test('is replaced by U+FFFD if the settings are lossy', () => {
    const engine = new Engine('web');
    assert.equal(engine.add(1, cut).status, 'ok');
    assert.equal(engine.search(Buffer.from(cut).toString()).matches[0].simhashDistance, 0);
  });
});

test('documents and texts must be iterables of valid items', async () => {
  const engine = new Engine();
  for (const invalid of [undefined, null, 3, 'text', {}]) {
    assert.throws(() => engine.addMany(invalid), TYPE);
    await assert.rejects(engine.addManyAsync(invalid), TYPE);
    assert.throws(() => engine.sketchMany(invalid), TYPE);
    await assert.rejects(engine.sketchManyAsync(invalid), TYPE);
  }
  assert.throws(() => engine.addMany([['a', 'text'], null]), { ...TYPE, message: /^`documents\[1\]` is null/ });
  assert.throws(() => engine.addMany([{ id: 1, text: 'x', publishedAt: 3 }]), { ...TYPE, message: /^`documents\[0\].publishedAt` is a number/ });
  assert.throws(() => engine.addMany([{ id: 1, text: 'x', publishedAt: new Date(NaN) }]), RANGE);
  assert.throws(() => engine.sketchMany(['a', ['b', 3]]), { ...TYPE, message: /^`texts\[1\]\[1\]` is a number/ });
  assert.equal(engine.size, 0);
});

test('unknown options and settings are named', () => {
  assert.throws(() => new Engine().search('text', { limits: 3 }), { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE', message: '`options` has the unknown key "limits": did you mean `limit`? expected one of limit, minSimilarity' });
  assert.throws(() => new Engine('wires'), { name: 'Error', code: 'ERR_SAMEISH_UNKNOWN_PRESET', message: 'unknown preset `wires`: expected one of wire, articles, sdr, headlines, web, copies' });
  assert.throws(() => new Engine('wire', { matching: { threshold: 1.5 } }), { code: 'ERR_SAMEISH_INVALID_FIELD', message: '`matching.threshold` is 1.5: must be more than 0 and at most 1' });
  assert.throws(() => new Engine('copies', { minhash: { row: 5 } }), { code: 'ERR_SAMEISH_CONFIG', message: /unknown setting `row`/ });
  assert.throws(() => new Engine('copies', { minhash: { rows: 'many' } }), { code: 'ERR_SAMEISH_CONFIG' });
  assert.throws(() => new Engine('copies', { minhash: { rows: NaN } }), RANGE);
  assert.throws(() => new Engine('copies', { text: { stop_words: 'xx' } }), { code: 'ERR_SAMEISH_UNKNOWN_LANGUAGE' });
  assert.throws(() => new Engine('copies', 'threshold = 1'), TYPE);
  assert.throws(() => new Engine(7), TYPE);
  const cyclic = {};
  cyclic.self = cyclic;
  assert.throws(() => new Engine('copies', { sdr: cyclic }), { ...TYPE, message: /^`overrides.sdr(.self){7}` is an object of class Object: must be at most 8 levels deep/ });
  const deep = JSON.parse('{"a":'.repeat(50_000) + '1' + '}'.repeat(50_000));
  assert.throws(() => new Engine('copies', deep), { code: /^ERR_/ });
  assert.throws(() => new Engine('\u001b[31mred'), { message: /^unknown preset `\\u\{1b\}\[31mred`/ });
  assert.throws(() => Engine(), { name: 'TypeError' });
});

test('signatures of the wrong length and invalid weights are rejected', () => {
  const [five, six] = [new MinHasher({ rows: 5 }), new MinHasher({ rows: 6 })];
  const [a, b] = [five.sketch('one two three'), six.sketch('one two three')];
  assert.throws(() => five.similarity(a, b), { ...RANGE, message: '`b.length` is 6: must be 5, the number of rows of this hasher' });
  assert.throws(() => five.similarity(a, [...a]), TYPE);
  assert.throws(() => six.similarity(a, a), { ...RANGE, message: '`a.length` is 5: must be 6, the number of rows of this hasher' });
  assert.throws(() => six.toBytes(a), { ...RANGE, message: /^`signature.length` is 5/ });
  assert.throws(() => six.fromBytes(five.toBytes(a)), { ...RANGE, message: '`bytes.length` is 20: must be 24, 4 bytes per row' });
  // The value of an empty row, which no text has.
  assert.throws(() => five.toBytes(new Uint32Array(5).fill(0xffff_ffff)), { code: 'ERR_SAMEISH_CORRUPT' });
  assert.throws(() => five.fromBytes(new Uint8Array(7)), RANGE);
  const features = BigUint64Array.of(1n, 2n);
  assert.throws(() => new SimHasher().sketch(features, Float64Array.of(1, NaN)), { ...RANGE, message: '`weights[1]` is NaN: must be a number from 0 to 1000000' });
  assert.throws(() => new SimHasher().sketch(features, Float64Array.of(1)), { ...RANGE, message: '`weights.length` is 1: must be 2, one per feature' });
  assert.throws(() => new SimHasher().sketch('a text', Float64Array.of(1, 1)), { ...TYPE, message: /^`weights` is an object of class Float64Array: must be absent for a text/ });
  assert.throws(() => new SimHasher().sketch(features, [1, 2]), TYPE);
});

test('an engine works after an error', () => {
  const engine = new Engine('wire');
  assert.throws(() => engine.add(1, 'storm hits the coast', { publishedAt: 'soon' }));
  engine.add(1, 'storm hits the coast');
  assert.equal(engine.search('Storm hits the coast').matches.length, 1);
});

test('messages name the argument and are short', () => {
  const engine = new Engine();
  const cases = [
    [() => sameish.getMatchType(NaN), { ...RANGE, message: '`distance` is NaN: must be a number, at least 0' }],
    [() => engine.search('text', { minSimilarity: NaN }), { ...RANGE, message: '`minSimilarity` is NaN: must be a number from 0 to 1' }],
    [() => new Engine('wire', { matching: { threshold: NaN } }), { ...RANGE, message: '`overrides.matching.threshold` is NaN: must be a finite number' }],
    [() => engine.has(10n ** 1000n), { ...RANGE, message: `\`id\` is 1${'0'.repeat(39)}…: must be at least -2^63 and less than 2^64` }],
    [() => new Engine('wire', { matching: { threshold: '0.5' } }), { message: /^settings: invalid type: string "0.5", expected a number\nin `matching.threshold`/ }],
    [() => new Engine('wire', { matching: { limit: 1.5 } }), { message: /expected a whole number\nin `matching.limit`/ }],
    [() => new Engine('wire', { matching: 5 }), { message: /^settings: invalid type: number `5`, expected an object\n/ }],
    [() => new Engine('wire', { matching: { threshold: 1e300 } }), { message: /^`matching.threshold` is 10{59}…: must be more than 0/ }],
    [() => new Engine('x'.repeat(1e6)), { message: /^unknown preset `x{59}…`: expected one of/ }],
    [() => new Engine('x '.repeat(1e6)), { message: /^unknown preset `(x ){100}.{1,800}…$/ }],
    [() => new Engine('wire', { matching: { limit: () => 5 } }), { ...TYPE, message: '`overrides.matching.limit` is a function: must be plain data' }],
    [() => new Engine('wire', { matching: { limit: 5n } }), { ...TYPE, message: '`overrides.matching.limit` is a bigint: must be plain data' }],
    [() => engine.addMany([{ id: 1, text: 'a', published_at: '2024-01-01' }]), { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE', message: '`documents[0]` has the unknown key "published_at": use `publishedAt`' }],
    [() => new Engine('wire').add(1, 'storm hits', { publishedAt: 'soon' }), { code: 'ERR_SAMEISH_INVALID_FIELD', message: /^`publishedAt` is "soon": must be a date such as/ }],
  ];
  for (const [call, expected] of cases) assert.throws(call, expected);
});

test('errors of getters are not changed', () => {
  const failing = { get matching() { throw new RangeError('mine'); } };
  assert.throws(() => new Engine('copies', failing), { name: 'RangeError', message: 'mine' });
  assert.throws(() => sameish.areArticlesSimilar({ get simHash() { throw new RangeError('mine'); } }, {}), { message: 'mine' });
});

test('null counts as absent', () => {
  const engine = new Engine(null, null);
  assert.deepEqual(engine.config, new Engine().config);
  engine.addMany([[1, 'one two three four five'], [2, 'one two three four five']]);
  engine.add(3, 'one two three four six', null);
  engine.add(4, 'some other words are here', { publishedAt: null });
  assert.deepEqual(engine.search('one two three four five', null), engine.search('one two three four five'));
  assert.deepEqual(engine.searchId(1, { limit: null, minSimilarity: null }), engine.searchId(1));
  assert.deepEqual([engine.pairs(null), engine.pairs({ limit: null })], [engine.pairs(), engine.pairs()]);
  assert.deepEqual(sameish.compare('a', 'b', null), sameish.compare('a', 'b', { preset: null, overrides: null, minTokens: null }));
  assert.equal(new SimHasher(null).sketch('two words'), new SimHasher({ shingle: null, stopWords: null }).sketch('two words'));
  assert.equal(new MinHasher({ rows: null }).rows, 128);
});

test('compare accepts lone surrogates if the settings are lossy', () => {
  const [a, b] = ['\ud800 one two three four five six', 'one two three four five six \udc00'];
  const { passages } = sameish.compare(a, b, { preset: 'web' });
  assert.equal(passages[0].text, 'one two three four five six');
  assert.equal(sameish.compare(a, b, { overrides: { text: { lossy: true } } }).similarity, 1);
  assert.throws(() => sameish.compare(a, b), { code: 'ERR_SAMEISH_LONE_SURROGATE' });
});
