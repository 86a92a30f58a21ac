// Large work leaves the event loop to others.
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { Worker } = require('node:worker_threads');
const sameish = require('sameish');
const { gather, letters, slices, slicesAsync } = require('../lib/slices.cjs');
const { Turns } = require('../lib/turns.cjs');
const { madeTexts } = require('./support/data.cjs');

const { Engine } = sameish;

/** How often the event loop went round until the promise was settled. */
async function turnsDuring(promise) {
  let [turns, settled] = [0, false];
  const end = () => (settled = true);
  promise.then(end, end);
  while (!settled) {
    turns += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await promise;
  return turns;
}

test('the event loop goes round while large work is done', async () => {
  const texts = madeTexts(10_000, 100);
  const engine = new Engine();
  const documents = texts.map((text, id) => ({ id, text }));
  // If the work were done on the loop, it would go round once or twice.
  assert.ok((await turnsDuring(engine.addManyAsync(documents))) > 20);
  assert.ok((await turnsDuring(engine.pairsAsync())) > 20);
  assert.ok((await turnsDuring(engine.clustersAsync())) > 20);
  assert.ok((await turnsDuring(engine.sketchManyAsync(texts))) > 20);
  const articles = Array.from({ length: 40_000 }, (_, i) => ({
    id: `${i}`,
    simHash: sameish.fnv1a64(`${i}`).toString(16).padStart(16, '0'),
    publishedAt: '2024-01-01',
  }));
  assert.ok((await turnsDuring(sameish.groupArticlesBySimilarityAsync(articles))) > 100);
});

test('what crosses leaves the loop to others, a thousand items at a time', async () => {
  function* range(end) {
    for (let i = 0; i < end; i += 1) yield i;
  }
  const read = (item) => item;
  assert.ok((await turnsDuring(gather(range(20_000)))) >= 20);
  const all = [];
  const taken = async () => {
    for await (const slice of slicesAsync(range(20_500), read)) all.push(...slice);
  };
  assert.ok((await turnsDuring(taken())) >= 20);
  assert.deepEqual(all, [...range(20_500)]);
  // By letters too: the fourth text makes a mebibyte full.
  const sizes = [...slices(Array(10).fill('x'.repeat(300_000)), read, letters)].map((slice) => slice.length);
  assert.deepEqual(sizes, [4, 4, 2]);
});

test('long answers come a thousand items at a time', async () => {
  const engine = new Engine('wire');
  engine.addMany(Array.from({ length: 20_000 }, (_, id) => [id, 'storm hits the coast']));
  const limit = { limit: 20_000 };
  const found = engine.searchAsync('storm hits the coast', limit);
  assert.ok((await turnsDuring(found)) >= 20);
  assert.deepEqual(await found, engine.search('storm hits the coast', limit));
  assert.equal((await found).matches.length, 20_000);
  assert.equal(engine.search('storm hits the coast', { limit: 1000 }).matches.length, 1000);
  assert.equal((await engine.searchIdAsync(7, limit)).matches.length, 19_999);
  // Two texts that share every sentence, but not what stands between them.
  const [a, b] = ['x', 'y'].map((mark) => Array.from({ length: 5000 }, (_, i) => `a${i} b${i} c${i} d${i} e${i} ${mark}${i}`).join(' '));
  const compared = sameish.compareAsync(a, b);
  assert.ok((await turnsDuring(compared)) >= 5);
  const { passages } = await compared;
  assert.equal(passages.length, 5000);
  assert.deepEqual(passages.at(-1).text, 'a4999 b4999 c4999 d4999 e4999');
  assert.deepEqual(sameish.compare(a, b), await compared);
});

test('turns: readers together, a writer alone, in order', async () => {
  const turns = new Turns();
  const [log, ends] = [[], []];
  const work = (name) => () => {
    log.push(`${name} begins`);
    return new Promise((resolve) => ends.push(() => resolve(name)));
  };
  const calls = [turns.read(work('a')), turns.read(work('b')), turns.write(work('c')), turns.read(work('d'))];
  const breath = () => new Promise((resolve) => setImmediate(resolve));
  await breath();
  assert.deepEqual(log, ['a begins', 'b begins']);
  ends[1]();
  await breath();
  assert.equal(log.length, 2, 'a still reads');
  ends[0]();
  await breath();
  assert.deepEqual(log.slice(2), ['c begins']);
  ends[2]();
  await breath();
  assert.deepEqual(log.slice(3), ['d begins']);
  ends[3]();
  assert.deepEqual(await Promise.all(calls), ['a', 'b', 'c', 'd']);
  await assert.rejects(turns.write(() => Promise.reject(new Error('no'))), { message: 'no' });
  assert.equal(await turns.write(() => 'still open'), 'still open');
});

test('worker threads have engines of their own', async () => {
  const answers = await Promise.all(
    [1, 2, 3].map(() => new Promise((resolve, reject) => {
      const worker = new Worker(path.join(__dirname, 'support', 'worker.cjs'));
      worker.once('message', resolve).once('error', reject);
    })),
  );
  assert.deepEqual(answers, Array(3).fill(['f10893b1083a30a2', 1]));
});
