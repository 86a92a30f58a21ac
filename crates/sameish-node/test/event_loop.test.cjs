// Async methods do not block the event loop.
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { Worker } = require('node:worker_threads');
const sameish = require('sameish');
const { chunks, chunksAsync, collect, textLength } = require('../lib/chunks.cjs');
const { native } = require('../lib/native.cjs');
const { CallQueue } = require('../lib/queue.cjs');
const { generateTexts } = require('./support/data.cjs');

const { Engine } = sameish;

/** Number of turns of the event loop that `turnsDuring` has counted. */
let turn = 0;

/** Returns the number of turns of the event loop until a promise is settled. */
async function turnsDuring(promise) {
  const start = turn;
  let settled = false;
  const end = () => (settled = true);
  promise.then(end, end);
  while (!settled) {
    turn += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await promise;
  return turn - start;
}

/** Runs an async call and returns the turns in which it took chunks from a native list of a class. */
async function turnsOfChunks(Class, call) {
  const { take } = Class.prototype;
  const turns = [];
  Class.prototype.take = function recorded(count) {
    turns.push(turn);
    return take.call(this, count);
  };
  try {
    await turnsDuring(call());
  } finally {
    Class.prototype.take = take;
  }
  return turns;
}

test('the event loop runs during long calls', async () => {
  const texts = generateTexts(10_000, 100);
  const documents = texts.map((text, id) => ({ id, text }));
  const articles = Array.from({ length: 40_000 }, (_, i) => ({
    id: `${i}`,
    simHash: sameish.fnv1a64(`${i}`).toString(16).padStart(16, '0'),
    publishedAt: '2024-01-01',
  }));
  const engine = new Engine();
  // The chunks alone give at most 120 turns: 40 of articles, 40 of ids and 40 of groups. The others are made while other threads
  // work; typically 20,000.
  assert.ok((await turnsDuring(engine.addManyAsync(documents))) > 1000);
  assert.ok((await turnsDuring(engine.pairsAsync())) > 1000);
  assert.ok((await turnsDuring(engine.clustersAsync())) > 1000);
  assert.ok((await turnsDuring(engine.sketchManyAsync(texts))) > 1000);
  assert.ok((await turnsDuring(sameish.groupArticlesBySimilarityAsync(articles))) > 1000);
});

test('the event loop runs after every 1000 items', async () => {
  function* range(end) {
    for (let i = 0; i < end; i += 1) yield i;
  }
  const identity = (item) => item;
  assert.ok((await turnsDuring(collect(range(20_000)))) >= 20);
  const items = [];
  const readAll = async () => {
    for await (const chunk of chunksAsync(range(20_500), identity)) items.push(...chunk);
  };
  assert.ok((await turnsDuring(readAll())) >= 20);
  assert.deepEqual(items, [...range(20_500)]);
});

test('a chunk has at most 1000 items, and ends with the item that reaches 2^20 characters', () => {
  const sizes = (items, measure) => [...chunks(items, (item) => item, measure)].map((chunk) => chunk.length);
  assert.deepEqual(sizes(Array(2500).fill('x'), textLength), [1000, 1000, 500]);
  assert.deepEqual(sizes(Array(10).fill('x'.repeat(300_000)), textLength), [4, 4, 2]);
  assert.deepEqual(sizes(Array(10).fill(['x'.repeat(150_000), 'y'.repeat(150_000)]), textLength), [4, 4, 2]);
});

test('long results are taken in chunks of 1000 items, one per turn of the event loop', async () => {
  const engine = new Engine('wire');
  engine.addMany(Array.from({ length: 5_000 }, (_, id) => [id, 'storm hits the coast']));
  // Two texts that share every run of five words, but not the words in between.
  const [a, b] = ['x', 'y'].map((mark) => Array.from({ length: 5000 }, (_, i) => `a${i} b${i} c${i} d${i} e${i} ${mark}${i}`).join(' '));
  const calls = [
    [native.MatchList, () => engine.searchAsync('storm hits the coast', { limit: 5000 })],
    [native.MatchList, () => engine.searchIdAsync(7, { limit: 5000 })],
    [native.PairList, () => engine.pairsAsync({ limit: 5000 })],
    [native.ClusterList, () => engine.clustersAsync()],
    [native.ComparisonResult, () => sameish.compareAsync(a, b)],
  ];
  for (const [Class, call] of calls) {
    const turns = await turnsOfChunks(Class, call);
    assert.ok(turns.length >= 5, `${call}: ${turns.length} chunks`);
    assert.equal(new Set(turns).size, turns.length, `${call}: ${turns}`);
  }
});

test('long results are complete', async () => {
  const engine = new Engine('wire');
  engine.addMany(Array.from({ length: 20_000 }, (_, id) => [id, 'storm hits the coast']));
  const found = await engine.searchAsync('storm hits the coast', { limit: 20_000 });
  assert.equal(found.matches.length, 20_000);
  assert.deepEqual(found, engine.search('storm hits the coast', { limit: 20_000 }));
  assert.equal(engine.search('storm hits the coast', { limit: 1000 }).matches.length, 1000);
  assert.equal((await engine.searchIdAsync(7, { limit: 20_000 })).matches.length, 19_999);
  const [a, b] = ['x', 'y'].map((mark) => Array.from({ length: 5000 }, (_, i) => `a${i} b${i} c${i} d${i} e${i} ${mark}${i}`).join(' '));
  const compared = await sameish.compareAsync(a, b);
  assert.equal(compared.passages.length, 5000);
  assert.equal(compared.passages.at(-1).text, 'a4999 b4999 c4999 d4999 e4999');
  assert.deepEqual(sameish.compare(a, b), compared);
});

test('CallQueue runs readers together and writers alone, in order', async () => {
  const queue = new CallQueue();
  const log = [];
  const finish = {};
  const work = (name) => () => {
    log.push(name);
    return new Promise((resolve) => (finish[name] = () => resolve(name)));
  };
  const calls = [queue.read(work('a')), queue.read(work('b')), queue.write(work('c')), queue.read(work('d'))];
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
  const startedAfter = async (name) => {
    finish[name]?.();
    await nextTurn();
    return log.splice(0);
  };
  assert.deepEqual(await startedAfter(), ['a', 'b']);
  assert.deepEqual(await startedAfter('b'), []);
  assert.deepEqual(await startedAfter('a'), ['c']);
  assert.deepEqual(await startedAfter('c'), ['d']);
  assert.deepEqual(await startedAfter('d'), []);
  assert.deepEqual(await Promise.all(calls), ['a', 'b', 'c', 'd']);
  await assert.rejects(queue.write(() => Promise.reject(new Error('no'))), { message: 'no' });
  assert.equal(await queue.write(() => 'next'), 'next');
});

test('worker threads can use the package at the same time', async () => {
  const run = () => new Promise((resolve, reject) => {
    const worker = new Worker(path.join(__dirname, 'support', 'worker.cjs'));
    worker.once('message', resolve).once('error', reject);
  });
  const results = await Promise.all([run(), run(), run()]);
  assert.deepEqual(results, Array(3).fill(['f10893b1083a30a2', 1]));
});
