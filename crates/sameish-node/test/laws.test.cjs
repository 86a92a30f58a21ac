// Properties over random input, compared with the reference implementation in plain JavaScript.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const fc = require('fast-check');
const sameish = require('sameish');
const plain = require('./support/plain.cjs');

// The seed is fixed, so every run checks the same cases. FC_RUNS sets their number.
fc.configureGlobal({ seed: 20261116, numRuns: Number(process.env.FC_RUNS ?? 500) });

const hash = fc.bigInt(0n, 2n ** 64n - 1n).map((bits) => bits.toString(16).padStart(16, '0'));
const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.lorem({ maxCount: 60 }));
const words = fc.array(fc.oneof(fc.stringMatching(/^[A-Za-z0-9_]{1,12}$/), anyText), { maxLength: 60 });
const text = words.map((all) => all.join(' '));

test('fnv1a64 and fnv1a64Utf8 equal the references', () => {
  fc.assert(
    fc.property(text, (str) => {
      assert.equal(sameish.fnv1a64(str), plain.fnv1a64(str));
      assert.equal(sameish.fnv1a64Utf8(str), plain.fnv1a64Utf8(str));
    }),
  );
});

test('computeSimHash equals the reference', () => {
  fc.assert(fc.property(text, (str) => assert.equal(sameish.computeSimHash(str), plain.computeSimHash(str))));
});

test('fnv1a64 hashes lone surrogates; fnv1a64Utf8 and computeSimHash treat them as U+FFFD', () => {
  const units = fc.array(fc.integer({ min: 0, max: 0xffff })).map((codes) => String.fromCharCode(...codes));
  fc.assert(
    fc.property(units, (str) => {
      assert.equal(sameish.fnv1a64(str), plain.fnv1a64(str));
      assert.equal(sameish.fnv1a64Utf8(str), plain.fnv1a64Utf8(str));
      assert.equal(sameish.computeSimHash(str), sameish.computeSimHash(Buffer.from(str).toString()));
    }),
  );
});

test('hammingDistance equals the reference, is symmetric, and is zero only for equal fingerprints', () => {
  // Random fingerprints differ in about 32 bits, so some pairs are made close.
  const flips = fc.array(fc.integer({ min: 0, max: 63 }), { maxLength: 5 });
  const near = fc.tuple(hash, flips).map(([a, bits]) => [a, bits.reduce((code, bit) => code ^ (1n << BigInt(bit)), BigInt(`0x${a}`))]);
  const pair = fc.oneof(fc.tuple(hash, hash), near.map(([a, b]) => [a, b.toString(16).padStart(16, '0')]));
  fc.assert(
    fc.property(pair, ([a, b]) => {
      const distance = sameish.hammingDistance(a, b);
      assert.equal(distance, plain.hammingDistance(a, b));
      assert.equal(distance, sameish.calculateHammingDistance(b.toUpperCase(), a));
      assert.equal(distance === 0, a === b);
      assert.equal(sameish.isNearDuplicate(a, b, distance), true);
      if (distance > 0) assert.equal(sameish.isNearDuplicate(a, b, distance - 1), false);
      assert.equal(sameish.distanceToSimilarity(distance), 1 - distance / 64);
    }),
  );
});

test('strings other than 16 hex digits are rejected', () => {
  const anyString = fc.string({ unit: 'binary' });
  const oneWrongDigit = fc.tuple(hash, fc.nat(15), fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }));
  const replaced = oneWrongDigit.map(([digits, i, character]) => digits.slice(0, i) + character + digits.slice(i + 1));
  const invalid = fc.oneof(anyString, replaced).filter((str) => !/^[0-9a-f]{16}$/i.test(str));
  fc.assert(
    fc.property(invalid, hash, (a, b) => {
      assert.throws(() => sameish.calculateHammingDistance(a, b), { message: 'Hashes must be 16-character hex strings' });
      assert.throws(() => sameish.hammingDistance(a, b), { code: 'ERR_SAMEISH_HEX' });
    }),
  );
});

test('groupArticlesBySimilarity and its async form equal the reference', async () => {
  const near = fc.tuple(fc.integer({ min: 0, max: 3 }), fc.array(fc.integer({ min: 0, max: 63 }), { maxLength: 5 }));
  const article = fc.record({ near, day: fc.integer({ min: 10, max: 14 }) });
  const centers = [0n, 0xaaaaaaaaaaaaaaaan, 0x0123456789abcdefn, 0xffffffffffffffffn];
  await fc.assert(
    fc.asyncProperty(fc.array(article, { maxLength: 40 }), fc.integer({ min: 0, max: 8 }), async (list, threshold) => {
      const articles = list.map(({ near: [center, flips], day }, id) => {
        const bits = flips.reduce((code, bit) => code ^ (1n << BigInt(bit)), centers[center]);
        return { id: `${id}`, simHash: bits.toString(16).padStart(16, '0'), publishedAt: `2024-01-${day}` };
      });
      const expected = plain.groupArticlesBySimilarity(articles, threshold);
      assert.deepEqual(sameish.groupArticlesBySimilarity(articles, threshold), expected);
      assert.deepEqual(await sameish.groupArticlesBySimilarityAsync(articles, threshold), expected);
    }),
    { numRuns: 200 },
  );
});

test('offsets of passages are correct in any script', () => {
  const piece = fc.string({ unit: 'grapheme', maxLength: 12 });
  const shared = 'one 😀 two naïve three 東京 four e\u0301 five six';
  fc.assert(
    fc.property(fc.tuple(piece, piece, piece, piece), ([before, after, other, last]) => {
      const [a, b] = [`${before} . ${shared} . ${after}`, `${other} . ${shared} . ${last}`];
      const { passages } = sameish.compare(a, b, { minTokens: 4 });
      assert.ok(passages.length > 0);
      for (const passage of passages) {
        assert.equal(a.slice(passage.aStart, passage.aEnd), passage.text);
        assert.doesNotMatch(passage.text + b.slice(passage.bStart, passage.bEnd), /\p{Surrogate}/u);
      }
      assert.ok(passages.some((passage) => passage.text.includes(shared) && b.slice(passage.bStart, passage.bEnd).includes(shared)));
    }),
    { numRuns: 200 },
  );
});

test('any arguments give a result or an error with a code', () => {
  const calls = [
    sameish.fnv1a64, sameish.computeSimHash, sameish.hammingDistance, sameish.calculateHammingDistance,
    sameish.isNearDuplicate, sameish.distanceToSimilarity, sameish.getMatchType, sameish.areArticlesSimilar,
    sameish.groupArticlesBySimilarity, sameish.compare,
    (...args) => new sameish.Engine(...args), (...args) => new sameish.MinHasher(...args),
    (...args) => new sameish.Engine().add(...args), (...args) => new sameish.Engine().addMany(...args),
    (...args) => new sameish.Engine('wire').search(...args), (...args) => new sameish.Engine().searchId(...args),
    (...args) => new sameish.SimHasher().sketch(...args), (...args) => new sameish.MinHasher().similarity(...args),
  ];
  const value = fc.oneof(fc.anything({ withBigInt: true, withDate: true, withTypedArray: true }), hash, text);
  let results = 0;
  let errors = 0;
  fc.assert(
    fc.property(fc.constantFrom(...calls), fc.array(value, { maxLength: 4 }), (call, args) => {
      try {
        call(...args);
        results += 1;
      } catch (error) {
        assert.ok(error instanceof Error);
        assert.match(error.code ?? `none: ${error.stack}`, /^ERR_(SAMEISH|INVALID_ARG|OUT_OF_RANGE)/);
        assert.notEqual(error.code, 'ERR_SAMEISH_INTERNAL', error.message);
        errors += 1;
      }
    }),
    { numRuns: 3000 },
  );
  assert.ok(results > 100 && errors > 100, `${results} results, ${errors} errors`);
});
