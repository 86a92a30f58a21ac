// Laws over random input, held against the definition in plain JavaScript.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const fc = require('fast-check');
const sameish = require('sameish');
const plain = require('./support/plain.cjs');

// The same cases each time; FC_RUNS asks for more.
fc.configureGlobal({ seed: 20261116, numRuns: Number(process.env.FC_RUNS ?? 500) });

const hash = fc.bigInt(0n, 2n ** 64n - 1n).map((bits) => bits.toString(16).padStart(16, '0'));
const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.lorem({ maxCount: 60 }));
const words = fc.array(fc.oneof(fc.stringMatching(/^[A-Za-z0-9_]{1,12}$/), anyText), { maxLength: 60 });
const text = words.map((all) => all.join(' '));

test('fnv1a64 is the definition', () => {
  fc.assert(fc.property(text, (str) => sameish.fnv1a64(str) === plain.fnv1a64(str)));
});

test('computeSimHash is the definition', () => {
  fc.assert(
    fc.property(text, (str) => {
      assert.equal(sameish.computeSimHash(str), plain.computeSimHash(str));
    }),
  );
});

test('any string of UTF-16 has a fingerprint: halves of pairs count as U+FFFD', () => {
  const units = fc.array(fc.integer({ min: 0, max: 0xffff })).map((codes) => String.fromCharCode(...codes));
  fc.assert(
    fc.property(units, (str) => {
      assert.equal(sameish.fnv1a64(str), plain.fnv1a64(str));
      assert.equal(sameish.computeSimHash(str), sameish.computeSimHash(Buffer.from(str).toString()));
    }),
  );
});

test('distance is the definition, symmetric, and zero for equals alone', () => {
  fc.assert(
    fc.property(hash, hash, (a, b) => {
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

test('what is not 16 hex digits is refused with the documented message', () => {
  const wrong = fc.string({ unit: 'binary' }).filter((str) => !/^[0-9a-f]{16}$/i.test(str));
  fc.assert(
    fc.property(wrong, hash, (a, b) => {
      assert.throws(() => sameish.calculateHammingDistance(a, b), { message: 'Hashes must be 16-character hex strings' });
      assert.throws(() => sameish.hammingDistance(a, b), { code: 'ERR_SAMEISH_HEX' });
    }),
  );
});

test('groups are those of comparing all with all, sync and async', async () => {
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

test('passages are where they say, in any script', () => {
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
      assert.ok(passages.some((passage) => passage.text.includes(shared.slice(0, -1)) && b.slice(passage.bStart, passage.bEnd).includes(shared)));
    }),
    { numRuns: 200 },
  );
});

test('whatever is handed in, only errors with a code come out', () => {
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
  fc.assert(
    fc.property(fc.constantFrom(...calls), fc.array(value, { maxLength: 4 }), (call, args) => {
      try {
        call(...args);
      } catch (error) {
        assert.ok(error instanceof Error, 'an Error');
        assert.match(error.code ?? `none: ${error.stack}`, /^ERR_(SAMEISH|INVALID_ARG|OUT_OF_RANGE)/);
        assert.notEqual(error.code, 'ERR_SAMEISH_INTERNAL', error.message);
      }
    }),
    { numRuns: 3000 },
  );
});
