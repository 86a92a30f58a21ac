// The class Engine: add, remove, search, pairs, clusters.
'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { Engine } = require('sameish');
const { generateTexts, records } = require('./support/data.cjs');

const BRIDGE = 'The council voted on Monday to close the old bridge over the river for repairs until next spring.';

test('search finds an edited copy until it is removed', () => {
  const engine = new Engine();
  assert.deepEqual(engine.add('bridge', BRIDGE), { status: 'ok', replaced: false });
  const { matches, candidates, capped } = engine.search(BRIDGE.replace('The council', 'Councillors'));
  assert.equal(matches.length, 1);
  const [{ id, similarity, matchType, verified, template }] = matches;
  assert.deepEqual([id, matchType, verified, template], ['bridge', 'near', true, false]);
  assert.ok(similarity > 0.8 && similarity < 1);
  assert.deepEqual([candidates, capped], [1, 0]);
  assert.equal(engine.has('bridge'), true);
  assert.equal(engine.remove('bridge'), true);
  assert.equal(engine.remove('bridge'), false);
  assert.deepEqual([engine.size, engine.has('bridge')], [0, false]);
  assert.deepEqual(engine.search(BRIDGE).matches, []);
});

test('fingerprints alone join no cluster unless unverified matches are allowed', () => {
  // Two short texts without a common word whose fingerprints differ in 5 bits.
  const texts = ['New hospital backs joint strike east', 'National river halts national water soon'];
  for (const unverified of [false, true]) {
    const engine = new Engine('articles', { matching: { unverified } });
    texts.forEach((text, id) => engine.add(id, text));
    const members = engine.clusters().clusters.map((cluster) => cluster.members);
    assert.deepEqual(members, unverified ? [[0, 1]] : [[0], [1]]);
    assert.deepEqual(engine.searchId(0).matches.map((match) => match.verified), unverified ? [false] : []);
  }
});

test('a document replaces an earlier one with the same id', () => {
  const engine = new Engine();
  engine.add(1, BRIDGE);
  assert.equal(engine.add(1, 'something else entirely, about the weather').replaced, true);
  assert.equal(engine.size, 1);
  assert.deepEqual(engine.addMany([[1, BRIDGE], [1, BRIDGE]]), { added: 2, replaced: 2, tooShort: 0 });
  assert.equal(engine.size, 1);
});

test('ids keep their type, and integers beyond 2^53 their value', () => {
  const engine = new Engine();
  const ids = [7, '7', -7, 0, 2n ** 64n - 1n, -(2n ** 63n), Number.MAX_SAFE_INTEGER, 2n ** 53n, '', 'ä'];
  engine.addMany(ids.map((id) => [id, BRIDGE]));
  assert.equal(engine.size, ids.length);
  assert.deepEqual(engine.search(BRIDGE, { limit: 100 }).matches.map(({ id }) => id), ids);
  assert.equal(engine.has(7n), true);
  assert.equal(engine.remove(2n ** 64n - 1n), true);
  assert.equal(engine.has(2n ** 64n - 2n), false);
  assert.equal(engine.has(-0), true);
});

test('searchId excludes the document itself and returns null for an unknown id', () => {
  const engine = new Engine();
  engine.addMany([['a', BRIDGE], ['b', `${BRIDGE} `], ['c', 'nothing of the kind stands in this text']]);
  assert.deepEqual(engine.searchId('a').matches.map(({ id, matchType }) => [id, matchType]), [['b', 'exact']]);
  assert.equal(engine.searchId('none'), null);
});

test('limit and minSimilarity restrict a search', () => {
  const engine = new Engine();
  engine.addMany([[1, BRIDGE], [2, BRIDGE.replace('The council', 'Councillors')], [3, BRIDGE]]);
  assert.deepEqual(engine.search(BRIDGE).matches.map(({ id }) => id), [1, 3, 2]);
  assert.deepEqual(engine.search(BRIDGE, { limit: 2 }).matches.map(({ id }) => id), [1, 3]);
  assert.deepEqual(engine.search(BRIDGE, { minSimilarity: 1 }).matches.map(({ id }) => id), [1, 3]);
  assert.equal(engine.search(BRIDGE, { limit: 0 }).matches.length, 0);
});

test('a document is compared by its text, else its tokens, else its title', () => {
  const engine = new Engine();
  const tokens = ['one', 'two', 'three', 'four', 'five'];
  const title = 'one two three four five';
  engine.addMany([
    { id: 1, tokens },
    { id: 2, title },
    { id: 3, text: 'other words are here', title },
    { id: 4, tokens: ['other', 'words', 'are', 'here'], title },
  ]);
  assert.deepEqual(engine.search(tokens).matches.map(({ id }) => id), [1, 2]);
});

test('a document that is too short is stored and matches equal texts, but not in headlines', () => {
  const engine = new Engine('headlines');
  assert.equal(engine.add(1, 'Breaking news').status, 'too_short');
  assert.deepEqual(engine.addMany([[2, 'Short']]), { added: 1, replaced: 0, tooShort: 1 });
  assert.deepEqual(engine.search('breaking NEWS').matches, []);
  const copies = new Engine('copies');
  copies.add(1, 'Breaking news');
  assert.equal(copies.search('breaking NEWS').matches[0].matchType, 'exact');
});

test('headlines assigns clusters online', () => {
  const engine = new Engine('headlines');
  const first = engine.add('a', 'SpaceX acquires artificial intelligence company xAI for two billion dollars');
  const second = engine.add('b', 'SpaceX acquires artificial intelligence company xAI for two billion dollars today');
  const third = engine.add('c', 'Farmers protest against new rules on milk prices in Brussels');
  assert.equal(typeof first.cluster, 'number');
  assert.equal(first.cluster, second.cluster);
  assert.notEqual(first.cluster, third.cluster);
  const { clusters } = engine.clusters();
  assert.deepEqual(clusters.map(({ members }) => members), [['a', 'b'], ['c']]);
});

test('wire clusters around the newest document, by distance', () => {
  const engine = new Engine('wire');
  engine.addMany([
    { id: 'old', text: 'storm hits the coast', publishedAt: '2024-01-01' },
    { id: 'new', text: 'Storm hits the coast', publishedAt: new Date('2024-01-02') },
    { id: 'far', text: 'markets calm after a quiet week', publishedAt: '2024-01-03' },
  ]);
  const { clusters } = engine.clusters();
  assert.deepEqual(clusters, [
    { center: 'far', members: ['far'], averageDistance: 0 },
    { center: 'new', members: ['new', 'old'], averageDistance: 0 },
  ]);
  const { pairs, complete } = engine.pairs();
  assert.equal(complete, true);
  assert.deepEqual(pairs, [{ a: 'old', b: 'new', similarity: 1, matchType: 'exact', verified: false, simhashDistance: 0, facts: null, template: false, relation: null }]);
});

test('searchId and pairs return the same verdict', () => {
  const [, , , original, edited] = generateTexts(5, 60);
  const keys = ['facts', 'matchType', 'relation', 'simhashDistance', 'similarity', 'template', 'verified'];
  for (const [preset, hasFacts] of [['headlines', false], ['articles', true], ['wire', false]]) {
    const engine = new Engine(preset);
    engine.addMany([['a', original], ['b', preset === 'wire' ? original : edited]]);
    const [{ id, ...match }] = engine.searchId('a').matches;
    const [{ a, b, ...pair }] = engine.pairs().pairs;
    assert.deepEqual([id, a, b, pair.relation !== null], ['b', 'a', 'b', pair.verified]);
    assert.deepEqual(match, pair, preset);
    assert.deepEqual(Object.keys(pair).sort(), keys, preset);
    assert.equal(pair.facts !== null, hasFacts, preset);
  }
});

test('overrides change only the given settings, and null removes one', () => {
  const engine = new Engine('headlines', { matching: { threshold: 0.6 }, text: { stop_words: null } });
  const { text, matching } = engine.config;
  assert.deepEqual([matching.threshold, matching.recall, text.stop_words, text.min_words], [0.6, 0.99, undefined, 5]);
  assert.ok(engine.expectedRecall > 0.5 && engine.expectedRecall < 1);
  assert.equal(new Engine('wire').expectedRecall, null);
  assert.equal(new Engine('sdr', { sdr: { active_bits: 40 } }).sketch('one two three').sdr.length, 40);
});

describe('async methods', () => {
  const texts = generateTexts(2500, 40);
  // Exact copies, because one changed word of forty is too much for the 3 bits of `web`.
  const documents = [...texts, ...texts.slice(0, 100)].map((text, id) => ({ id, text }));

  test('return the results of the synchronous ones, for every preset', async () => {
    for (const preset of ['copies', 'articles', 'headlines', 'wire', 'web', 'sdr']) {
      const [sync, async] = [new Engine(preset), new Engine(preset)];
      assert.deepEqual(await async.addManyAsync(documents), sync.addMany(documents), preset);
      assert.equal(async.size, documents.length);
      const pairs = sync.pairs();
      assert.ok(pairs.pairs.length > 100, preset);
      assert.deepEqual(await async.pairsAsync(), pairs, preset);
      assert.deepEqual(await async.clustersAsync(), sync.clusters(), preset);
      const found = sync.search(texts[4]);
      assert.equal(found.matches[0].id, 4, preset);
      assert.deepEqual(await async.searchAsync(texts[4]), found, preset);
    }
  });

  test('accept synchronous and asynchronous iterables', async () => {
    const engine = new Engine();
    async function* stream() {
      for (const { id, text } of documents) yield [id, text];
    }
    assert.equal((await engine.addManyAsync(stream())).added, documents.length);
    assert.equal((await engine.addManyAsync(new Map([['x', BRIDGE]]))).added, 1);
    assert.equal(engine.addMany(new Set([['y', BRIDGE]])).added, 1);
    assert.equal(engine.size, documents.length + 2);
  });

  test('leave the engine unchanged if the input fails', async () => {
    const engine = new Engine();
    engine.add('here', BRIDGE);
    function* failing() {
      yield* documents;
      throw new RangeError('the source failed');
    }
    assert.throws(() => engine.addMany(failing()), { message: 'the source failed' });
    await assert.rejects(engine.addManyAsync(failing()), { message: 'the source failed' });
    await assert.rejects(engine.addManyAsync([...documents, { id: 1 }]), { message: /^`documents\[2600\].text` is undefined/ });
    const wire = new Engine('wire');
    const invalid = [...documents, { id: 'last', text: BRIDGE, publishedAt: 'soon' }];
    const error = { message: /^`documents\[2600\].publishedAt` is "soon"/, code: 'ERR_SAMEISH_INVALID_FIELD' };
    await assert.rejects(wire.addManyAsync(invalid), error);
    assert.throws(() => wire.addMany(invalid), error);
    assert.deepEqual([engine.size, wire.size], [1, 0]);
  });

  test('make synchronous changes fail while they run', async () => {
    const engine = new Engine();
    engine.addMany(documents);
    let busy = 0;
    let settled = false;
    const pairs = engine.pairsAsync().finally(() => (settled = true));
    while (!settled) {
      try {
        engine.remove('none');
      } catch (error) {
        assert.equal(error.code, 'ERR_SAMEISH_BUSY');
        assert.equal(error.message, 'an async call on this engine is in progress: await it first, or use `removeAsync`');
        busy += 1;
      }
      assert.equal(engine.size, documents.length);
      assert.equal(engine.searchId(504).matches[0].id, 503);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(busy > 0);
    assert.deepEqual(await pairs, engine.pairs());
    assert.equal(engine.remove(0), true);
  });
});

test('add and addMany create equal engines', () => {
  const texts = generateTexts(500, 40);
  const [single, many] = [new Engine(), new Engine()];
  for (const [id, text] of texts.entries()) single.add(id, text);
  many.addMany(texts.entries());
  assert.equal(single.pairs().pairs.length, 100);
  assert.deepEqual(single.toBytes(), many.toBytes());
});

test('pairs reports whether the limit was reached', () => {
  const engine = new Engine();
  engine.addMany(Array.from({ length: 100 }, (_, id) => [id, BRIDGE]));
  const all = engine.pairs();
  assert.deepEqual([all.pairs.length, all.complete], [4950, true]);
  const some = engine.pairs({ limit: 10 });
  assert.deepEqual([some.pairs, some.complete], [all.pairs.slice(0, 10), false]);
  assert.equal(engine.pairs({ limit: 4950 }).complete, true);
});

for (const [name, expected] of [['gesetze_rev.jsonl', 39], ['msdocs_aw.jsonl', 70]]) {
  test(`pairs of ${name} are in the labeled clusters`, () => {
    const corpus = records('testdata', 'corpora', name);
    const engine = new Engine();
    engine.addMany(corpus.map(({ text }, id) => [id, text]));
    const { pairs } = engine.pairs();
    assert.equal(pairs.length, expected);
    for (const { a, b } of pairs) assert.equal(corpus[a].cluster, corpus[b].cluster, `${a} ${b}`);
  });
}
