// Calls do not leak memory.
'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const v8 = require('node:v8');
const vm = require('node:vm');
const sameish = require('sameish');
const { generateTexts } = require('./support/data.cjs');

v8.setFlagsFromString('--expose-gc');
const gc = vm.runInNewContext('gc');

/** Tolerated growth in bytes, because allocators and V8 keep some memory. A leak of 65 bytes in 100,000 calls exceeds it. */
const MAX_GROWTH = 6 * 2 ** 20;

const [text] = generateTexts(1, 30);
const engine = new sameish.Engine('articles');
const hasher = new sameish.MinHasher();
const articles = [{ id: 'a', simHash: '00000000000000ff', publishedAt: '2024-01-01' }];
const repeatedIds = [articles[0], articles[0]];
const twoCopies = new sameish.Engine();
twoCopies.addMany([[1, text], [2, text]]);

/** Fast calls, repeated 100,000 times. */
const quick = {
  fnv1a64: () => sameish.fnv1a64(text),
  computeSimHash: () => sameish.computeSimHash(text),
  hammingDistance: () => sameish.hammingDistance('a1b2c3d4e5f6a7b8', 'a1b2c3d4e5f6a7b9'),
  'error of the engine': () => assert.throws(() => sameish.hammingDistance('x', 'y')),
  'MinHasher.sketch, text': () => hasher.similarity(hasher.sketch(text), hasher.sketch(text)),
  'MinHasher.sketch, tokens': () => hasher.sketch([text, 'another']),
  'add, search, remove': (i) => engine.add(i, text) && engine.search(text) && engine.remove(i),
  groupArticlesBySimilarity: () => sameish.groupArticlesBySimilarity(articles),
};

/** Slower calls, repeated 10,000 times. */
const slow = {
  compare: () => sameish.compare(text, text),
  'new Engine, one sketch': () => new sameish.Engine('wire').add(1, text),
  'new Engine, two sketches': () => new sameish.Engine('articles').add(1, text),
  addManyAsync: () => engine.addManyAsync([['b', text]]),
  clustersAsync: () => engine.clustersAsync(),
  'toBytes, fromBytes': () => sameish.Engine.fromBytes(engine.toBytes()),
  'eachPair, left early': async () => {
    for await (const pair of twoCopies.eachPair()) return pair;
    return assert.fail('no pair');
  },
  'rejected document': () => assert.rejects(engine.addManyAsync([[1, 3]])),
  'error on a worker thread': () => assert.rejects(sameish.groupArticlesBySimilarityAsync(repeatedIds)),
};

async function run(call, times) {
  for (let i = 0; i < times; i += 1) {
    const result = call(i);
    if (result instanceof Promise) await result;
    // Node releases references of the addon between two turns of the event loop.
    else if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Collects garbage and returns the resident memory in bytes. */
async function residentMemory() {
  for (let i = 0; i < 4; i += 1) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return process.memoryUsage().rss;
}

for (const [times, calls] of [[100_000, quick], [10_000, slow]]) {
  describe(`${times} calls do not leak memory`, () => {
    for (const [name, call] of Object.entries(calls)) {
      test(name, async () => {
        // A leak grows in every round; a heap that reaches its final size late does not.
        const growth = [];
        await run(call, times / 4);
        while (growth.length < 8 && !growth.some((bytes) => bytes < MAX_GROWTH)) {
          const before = await residentMemory();
          await run(call, times);
          growth.push((await residentMemory()) - before);
        }
        assert.ok(growth.at(-1) < MAX_GROWTH, `growth per round in bytes: ${growth}`);
      });
    }
  });
}
