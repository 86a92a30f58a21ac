// HammingIndex, BandIndex, stored sketches, words and shingles, lists of stop words.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { BandIndex, compare, computeSimHash, decodeSketch, encodeSketch, Engine, fnv1a64, fnv1a64Utf8, HammingIndex, MinHasher, normalize, shingle, tokenize } = require('sameish');

const hex = (bits) => bits.toString(16).padStart(16, '0');
const TEXT = 'the council voted on monday to close the old bridge over the river for repairs until spring';

test('fnv1a64 hashes UTF-16 code units, fnv1a64Utf8 bytes', () => {
  // U+00E9 is one code unit, 0xE9, and two bytes, 0xC3 0xA9.
  const step = (hash, value) => BigInt.asUintN(64, (hash ^ value) * 0x100000001b3n);
  const basis = 0xcbf29ce484222325n;
  assert.equal(fnv1a64('\u00e9'), step(basis, 0xe9n));
  assert.equal(fnv1a64Utf8('\u00e9'), step(step(basis, 0xc3n), 0xa9n));
  assert.equal(fnv1a64('hello'), fnv1a64Utf8('hello'));
});

test('HammingIndex finds every document within a radius', () => {
  const index = new HammingIndex({ radius: 3 });
  const codes = Array.from({ length: 300 }, (_, i) => BigInt.asUintN(64, BigInt(i >> 2) * 0x9e3779b97f4a7c15n) ^ (1n << BigInt(i % 64)));
  assert.equal(index.insertMany(BigUint64Array.from(codes), Uint32Array.from(codes.keys())), 300);
  const distance = (a, b) => [...(a ^ b).toString(2)].filter((bit) => bit === '1').length;
  for (const query of codes.slice(0, 40)) {
    const expected = codes.map((code, doc) => ({ doc, distance: distance(code, query) })).filter((hit) => hit.distance <= 3);
    expected.sort((a, b) => a.distance - b.distance || a.doc - b.doc);
    assert.deepEqual(index.findAll(hex(query)), expected);
    assert.deepEqual(index.findAll(hex(query), 0), expected.filter((hit) => hit.distance === 0));
    assert.ok(index.findFirst(hex(query)).distance <= 3);
  }
  const again = HammingIndex.fromBytes(index.toBytes());
  assert.deepEqual(again.findAll(hex(codes[0])), index.findAll(hex(codes[0])));
  assert.equal(again.remove(hex(codes[0]), 0), true);
  assert.deepEqual([again.size, index.size, again.radius], [299, 300, 3]);
  assert.equal(new HammingIndex().findFirst(hex(1n)), null);
  assert.throws(() => index.findAll(hex(1n), 4), { code: 'ERR_OUT_OF_RANGE' });
  assert.throws(() => index.insert('x', 1), { code: 'ERR_SAMEISH_HEX' });
  assert.throws(() => HammingIndex.fromBytes(Buffer.from('x')), { code: 'ERR_SAMEISH_CORRUPT' });
});

test('BandIndex finds documents that share a band, with the probability of the formula', () => {
  const hasher = new MinHasher({ rows: 100 });
  const index = new BandIndex({ rows: 100, bands: { count: 20, rows: 5 } });
  const [a, b, c] = [TEXT, TEXT.replace('spring', 'summer'), 'nothing in common with the others at all'].map((text) => hasher.sketch(text));
  [a, b, c].forEach((signature, doc) => index.insert(doc, signature));
  const found = index.search(a, 0.5);
  assert.deepEqual(found.hits.map(({ doc }) => doc), [0, 1]);
  assert.equal(found.hits[0].estimate, 1);
  for (const similarity of [0, 0.3, 0.5, 0.75, 0.9, 1]) {
    assert.ok(Math.abs(index.probability(similarity) - (1 - (1 - similarity ** 5) ** 20)) < 1e-12);
  }
  const [x, y] = [index.keys(a), index.keys(b)];
  assert.ok(x instanceof Uint32Array && x.length === 20);
  for (let band = 0; band < 20; band += 1) {
    const rows = (signature) => [...signature.slice(5 * band, 5 * band + 5)].join();
    assert.equal(x[band] === y[band], rows(a) === rows(b));
  }
  assert.deepEqual([index.remove(1), index.remove(1), index.has(0), index.size], [true, false, true, 2]);
  assert.deepEqual([index.bands, index.rows], [{ count: 20, rows: 5 }, 100]);
  assert.throws(() => index.insert(2 ** 32 - 1, a), { code: 'ERR_OUT_OF_RANGE' });
  assert.throws(() => index.search(a.slice(1)), { code: 'ERR_OUT_OF_RANGE' });
  assert.throws(() => new BandIndex({ rows: 10, bands: { count: 20, rows: 5 } }), { code: 'ERR_SAMEISH_INVALID_FIELD' });
});

test('a band index with a scheme accepts signatures of this scheme only', () => {
  const engine = new Engine('articles');
  const { minhash } = engine.sketch(`${TEXT} ${TEXT} ${TEXT} ${TEXT}`);
  const scheme = engine.schemes.minhash;
  const index = new BandIndex({ scheme });
  index.insert(0, { minhash, scheme });
  assert.equal(index.scheme, scheme);
  assert.deepEqual(index.search({ minhash, scheme }).hits, [{ doc: 0, estimate: 1 }]);
  assert.equal(index.keys({ minhash, scheme }).length, index.bands.count);
  const other = new Engine('headlines').schemes.minhash;
  for (const call of [() => index.insert(1, { minhash, scheme: other }), () => index.search({ minhash, scheme: other })]) {
    assert.throws(call, { code: 'ERR_SAMEISH_SCHEME' });
  }
  assert.throws(() => index.insert(1, minhash), { code: 'ERR_INVALID_ARG_TYPE', message: /has a scheme/ });
  assert.throws(() => new BandIndex({ scheme: 'x' }), RangeError);
  assert.equal(new BandIndex().scheme, null);
});

test('bulk calls of a Hamming index equal single ones', () => {
  const hashes = BigUint64Array.from({ length: 300 }, (_, i) => BigInt.asUintN(64, (BigInt(i >> 2) * 0x9e3779b97f4a7c15n) ^ BigInt(i % 4)));
  const docs = Uint32Array.from(hashes, (_, i) => i);
  const index = new HammingIndex({ radius: 3 });
  index.insertMany(hashes, docs);
  const hex = (hash) => hash.toString(16).padStart(16, '0');
  for (const radius of [0, 3]) {
    const found = index.findAllMany(hashes, radius);
    assert.equal(found.offsets.length, hashes.length + 1);
    hashes.forEach((hash, i) => {
      const [from, to] = [found.offsets[i], found.offsets[i + 1]];
      const hits = [...found.docs.slice(from, to)].map((doc, at) => ({ doc, distance: found.distances[from + at] }));
      assert.deepEqual(hits, index.findAll(hex(hash), radius));
    });
  }
  assert.throws(() => index.findAllMany(hashes, 4), { code: 'ERR_OUT_OF_RANGE' });
  assert.equal(index.removeMany(hashes.slice(0, 100), docs.slice(0, 100)), 100);
  assert.equal(index.removeMany(hashes.slice(0, 101), docs.slice(0, 101)), 1);
  assert.equal(index.size, 199);
  assert.throws(() => index.removeMany(hashes, docs.slice(1)), { code: 'ERR_OUT_OF_RANGE' });
});

test('stored sketches carry their scheme', () => {
  const engine = new Engine('articles');
  const { simhash, minhash } = engine.sketch(`${TEXT} ${TEXT} ${TEXT} ${TEXT}`);
  for (const [kind, sketch] of [['simhash', simhash], ['minhash', minhash]]) {
    const bytes = encodeSketch({ [kind]: sketch }, engine.schemes[kind]);
    assert.equal(Buffer.from(bytes.slice(0, 4)).toString(), 'SAME');
    assert.deepEqual(decodeSketch(bytes, engine.schemes[kind])[kind], sketch);
    assert.throws(() => decodeSketch(bytes, '0123456789abcdef'), { code: 'ERR_SAMEISH_SCHEME' });
    bytes[25] ^= 1;
    assert.throws(() => decodeSketch(bytes, engine.schemes[kind]), { code: 'ERR_SAMEISH_CORRUPT' });
  }
  const sdr = Uint32Array.of(3, 70, 399);
  const decoded = decodeSketch(encodeSketch({ sdr, size: 400 }, '0123456789abcdef'), '0123456789abcdef');
  assert.deepEqual(decoded, { sdr, size: 400 });
  assert.throws(() => encodeSketch({}, '0123456789abcdef'), TypeError);
  assert.throws(() => encodeSketch({ simhash }, 'x'), RangeError);
});

test('tokenize, shingle and normalize return what is compared', () => {
  assert.deepEqual(tokenize('The OLD bridge is closed', { preset: 'headlines' }), ['old', 'bridge', 'closed']);
  assert.deepEqual(shingle('The old bridge is closed'), ['the old bridge', 'old bridge is', 'bridge is closed']);
  assert.deepEqual(shingle('ab cd', { minhash: { shingle: 'chars:4' } }), ['ab c', 'b cd']);
  assert.equal(normalize('  The \uff2f\uff2c\uff24\tBridge. '), 'the old bridge.');
  assert.deepEqual(tokenize(['Given', 'Tokens']), ['Given', 'Tokens']);
  assert.throws(() => normalize(['x']), TypeError);
});

test('stop words can be a list, which is part of the scheme', () => {
  assert.deepEqual(tokenize('The old bridge', { stopWords: ['the', 'OLD'] }), ['bridge']);
  const schemes = [['the'], ['the', 'of'], 'en', null].map((stopWords) => new Engine('headlines', { stopWords }).schemes.minhash);
  assert.equal(new Set(schemes).size, 4);
  assert.equal(new Engine({ stopWords: ['of', 'The'] }).schemes.minhash, new Engine({ stopWords: ['the', 'of'] }).schemes.minhash);
  assert.equal(compare('the old bridge', 'old bridge', { stopWords: ['the'] }).similarity, 1);
  assert.throws(() => new Engine({ stopWords: ['new york'] }), { code: 'ERR_SAMEISH_INVALID_FIELD', message: /must be one word/ });
});

test('a minimum similarity below the threshold searches more widely', () => {
  const other = 'the council voted on monday to build a new tunnel under the river for traffic before winter';
  for (const preset of ['wire', 'web', 'sdr', 'copies']) {
    const engine = new Engine(preset);
    engine.add(1, TEXT);
    assert.equal(engine.search(other).matches.length, 0, preset);
    assert.equal(engine.search(other, { minSimilarity: 0.05 }).matches.length, 1, preset);
  }
  assert.equal(computeSimHash(''), '0000000000000000');
});
