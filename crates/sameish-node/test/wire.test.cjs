// The functions of the FNV-1a SimHash news grouper `news-db-pure-analysis`: golden vectors and the examples of its documentation.
'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const sameish = require('sameish');
const { read } = require('./support/data.cjs');

const golden = JSON.parse(read('testdata', 'golden', 'wire_simhash.json'));

describe('golden vectors', () => {
  test('fnv1a64', () => {
    for (const { in: text, out } of golden.fnv1a64) assert.equal(sameish.fnv1a64(text), BigInt(out), text);
  });
  test('computeSimHash', () => {
    for (const { in: text, out } of golden.simhash) assert.equal(sameish.computeSimHash(text), out, text);
  });
  test('hammingDistance and calculateHammingDistance', () => {
    for (const { a, b, out } of golden.hamming) {
      assert.equal(sameish.hammingDistance(a, b), out);
      assert.equal(sameish.calculateHammingDistance(a, b), out);
    }
  });
  test('getMatchType', () => {
    for (const { in: distance, out } of golden.match_type) assert.equal(sameish.getMatchType(distance), out);
  });
  for (const { name, articles, threshold, out } of golden.groups) {
    test(`groupArticlesBySimilarity: ${name}`, async () => {
      const args = threshold === null ? [articles] : [articles, threshold];
      assert.deepEqual(sameish.groupArticlesBySimilarity(...args), out);
      assert.deepEqual(await sameish.groupArticlesBySimilarityAsync(...args), out);
    });
  }
});

describe('examples of the original documentation', () => {
  test('fnv1a64 returns a BigInt', () => {
    assert.equal(sameish.fnv1a64('hello'), 11831194018420276491n);
  });
  test('computeSimHash returns 16 hex digits, and zeros for a blank text', () => {
    assert.match(sameish.computeSimHash('The president announced new trade policies today'), /^[0-9a-f]{16}$/);
    assert.equal(sameish.computeSimHash(''), '0000000000000000');
    assert.equal(sameish.computeSimHash(' \t\n'), '0000000000000000');
  });
  test('hammingDistance', () => {
    assert.equal(sameish.hammingDistance('aaaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaa'), 0);
    assert.equal(sameish.hammingDistance('aaaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaab'), 1);
    assert.equal(sameish.hammingDistance('0000000000000000', 'ffffffffffffffff'), 64);
  });
  test('calculateHammingDistance throws the documented error', () => {
    assert.equal(sameish.calculateHammingDistance('a1b2c3d4e5f6a7b8', 'a1b2c3d4e5f6a7b9'), 1);
    const documented = { name: 'Error', message: 'Hashes must be 16-character hex strings', code: 'ERR_SAMEISH_HEX' };
    const invalid = ['short', 'toolong', '', '0123456789abcde', '0123456789abcdef0', '0x23456789abcdef', 'g123456789abcdef', '０123456789abcde', '0123456789abcde\n'];
    for (const hash of invalid) {
      assert.throws(() => sameish.calculateHammingDistance(hash, 'a1b2c3d4e5f6a7b8'), documented, hash);
      assert.throws(() => sameish.calculateHammingDistance('a1b2c3d4e5f6a7b8', hash), documented, hash);
    }
    assert.equal(sameish.calculateHammingDistance('A1B2C3D4E5F6A7B8', 'a1b2c3d4e5f6a7b8'), 0);
  });
  test('isNearDuplicate has an inclusive threshold of 3 bits by default', () => {
    assert.equal(sameish.isNearDuplicate('a1b2c3d4e5f6a7b8', 'a1b2c3d4e5f6a7b9'), true);
    assert.equal(sameish.isNearDuplicate('a1b2c3d4e5f6a7b8', 'ffffffffffffffff', 3), false);
    assert.equal(sameish.isNearDuplicate('0000000000000000', '0000000000000007'), true);
    assert.equal(sameish.isNearDuplicate('0000000000000000', '000000000000000f'), false);
    assert.equal(sameish.isNearDuplicate('0000000000000000', '000000000000000f', 4), true);
    assert.equal(sameish.isNearDuplicate('0000000000000000', '0000000000000001', 0), false);
    assert.equal(sameish.isNearDuplicate('0000000000000000', 'ffffffffffffffff', 64), true);
  });
  test('distanceToSimilarity', () => {
    const similarities = [0, 3, 32, 64, 1.5].map(sameish.distanceToSimilarity);
    assert.deepEqual(similarities, [1, 0.953125, 0.5, 0, 0.9765625]);
  });
  test('getMatchType', () => {
    const types = [0, 2, 7, 15, 1, 3, 4, 10, 11].map(sameish.getMatchType);
    assert.deepEqual(types, ['exact', 'near', 'similar', 'different', 'near', 'near', 'similar', 'similar', 'different']);
  });
  test('areArticlesSimilar', () => {
    const articleA = { id: '1', headline: '...', simHash: 'a1b2c3d4e5f6a7b8', publishedAt: '2024-01-01', sourceDomain: 'a.com' };
    const articleB = { id: '2', headline: '...', simHash: 'a1b2c3d4e5f6a7b9', publishedAt: '2024-01-01', sourceDomain: 'b.com' };
    assert.equal(sameish.areArticlesSimilar(articleA, articleB), true);
    assert.equal(sameish.areArticlesSimilar(articleA, articleB, 0), false);
    const documented = { message: 'Hashes must be 16-character hex strings' };
    assert.throws(() => sameish.areArticlesSimilar(articleA, { ...articleB, simHash: 'a1' }), documented);
    assert.throws(() => sameish.areArticlesSimilar({ id: '1' }, articleB), { name: 'TypeError', ...documented });
  });
  test('groupArticlesBySimilarity', async () => {
    const articles = [
      { id: 'a1', headline: '...', simHash: 'aaaaaaaaaaaaaaaa', publishedAt: '2024-01-01T12:00:00Z', sourceDomain: 'x.com' },
      { id: 'a2', headline: '...', simHash: 'aaaaaaaaaaaaaaab', publishedAt: '2024-01-01T11:00:00Z', sourceDomain: 'y.com' },
      { id: 'a3', headline: '...', simHash: 'ffffffffffffffff', publishedAt: '2024-01-01T10:00:00Z', sourceDomain: 'z.com' },
    ];
    const expected = [
      { id: 'cluster-1', centerArticleId: 'a1', memberIds: ['a1', 'a2'], averageDistance: 1 },
      { id: 'cluster-2', centerArticleId: 'a3', memberIds: ['a3'], averageDistance: 0 },
    ];
    assert.deepEqual(sameish.groupArticlesBySimilarity(articles), expected);
    assert.deepEqual(await sameish.groupArticlesBySimilarityAsync([...articles].reverse()), expected);
  });
});

test('groupArticlesBySimilarity accepts Date objects and numeric ids', () => {
  const article = (id, date) => ({ id, simHash: '0000000000000001', publishedAt: new Date(date) });
  const [group] = sameish.groupArticlesBySimilarity([article(1, '2024-01-01'), article(2, '2024-01-03'), article(3n, '2024-01-02')]);
  assert.deepEqual(group.memberIds, [2, 3, 1]);
});

test('a fractional threshold is rounded down, and 64 bits include everything', () => {
  const articles = ['0000000000000000', '000000000000000f', 'ffffffffffffffff'].map((simHash, i) => ({ id: `${i}`, simHash, publishedAt: '2024-01-01' }));
  const sizes = (threshold) => sameish.groupArticlesBySimilarity(articles, threshold).map(({ memberIds }) => memberIds.length);
  assert.deepEqual([sizes(3.9), sizes(4), sizes(63), sizes(100), sizes(Infinity)], [[1, 1, 1], [2, 1], [2, 1], [3], [3]]);
});

test('errors name the position of an invalid article', async () => {
  const good = { id: 'a', simHash: '0000000000000001', publishedAt: '2024-01-01' };
  const cases = [
    [{ ...good, id: 'b', publishedAt: 'soon' }, /^`articles\[1\].publishedAt` is "soon": must be a date that `Date` parses, such as/],
    [{ ...good, id: 'b', publishedAt: undefined }, /^`articles\[1\].publishedAt` is undefined: must be a string or a Date$/],
    [good, /^duplicate id `a` at positions 0 and 1/],
    [null, /^`articles\[1\]` is null: must be an article$/],
    [{ ...good, id: {} }, /^`articles\[1\].id` is an object of class Object: must be a string, an integer or a BigInt$/],
  ];
  for (const [article, message] of cases) {
    assert.throws(() => sameish.groupArticlesBySimilarity([good, article]), { message });
    await assert.rejects(sameish.groupArticlesBySimilarityAsync([good, article]), { message });
  }
});

test('errors of an invalid fingerprint have the documented message and a path', async () => {
  const good = { id: 'a', simHash: '0000000000000001', publishedAt: '2024-01-01' };
  for (const simHash of ['zz', undefined, 7n]) {
    const error = { message: 'Hashes must be 16-character hex strings', code: 'ERR_SAMEISH_HEX', path: 'articles[1].simHash' };
    assert.throws(() => sameish.groupArticlesBySimilarity([good, { ...good, id: 'b', simHash }]), error);
    await assert.rejects(sameish.groupArticlesBySimilarityAsync([good, { ...good, id: 'b', simHash }]), error);
    assert.throws(() => sameish.areArticlesSimilar(good, { simHash }), { ...error, path: 'b.simHash' });
    assert.throws(() => sameish.calculateHammingDistance(simHash, good.simHash), { ...error, path: 'hashA' });
  }
});

test('groupArticlesBySimilarity orders all dates that `Date` parses', () => {
  const dates = [
    '9999-12-31', '2024', '2024-01', 'January 1, 2024', '2024-01-01T12:00:00', '2024-01-01T12:00:00Z', '2024-01-01 12:00', 'Mon, 01 Jan 2024 12:00:00 GMT',
    '+012024-01-01T00:00:00Z', '-000001-01-01', '2024-01-01T12:00:00+05:30', '1969-12-31T23:59:59.999Z', '2024-01-01T24:00:00Z',
  ];
  const articles = [...dates, new Date(8.64e15), new Date(-8.64e15)].map((publishedAt, i) => ({ id: i, simHash: '0000000000000001', publishedAt }));
  const expected = [...articles].sort((a, b) => new Date(b.publishedAt) - new Date(a.publishedAt)).map(({ id }) => id);
  assert.deepEqual(sameish.groupArticlesBySimilarity(articles).map(({ memberIds }) => memberIds), [expected]);
});

test('a threshold of null is the default', async () => {
  const [a, b] = [{ id: 'a', simHash: '0000000000000000', publishedAt: '2024-01-02' }, { id: 'b', simHash: '0000000000000007', publishedAt: '2024-01-01' }];
  assert.equal(sameish.isNearDuplicate(a.simHash, b.simHash, null), true);
  assert.equal(sameish.areArticlesSimilar(a, b, null), true);
  assert.equal(sameish.groupArticlesBySimilarity([a, b], null).length, 1);
  assert.equal((await sameish.groupArticlesBySimilarityAsync([a, b], null)).length, 1);
});
