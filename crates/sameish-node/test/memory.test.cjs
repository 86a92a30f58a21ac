// Calls leave no memory behind.
'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const v8 = require('node:v8');
const vm = require('node:vm');
const sameish = require('sameish');
const { madeTexts } = require('./support/data.cjs');

v8.setFlagsFromString('--expose-gc');
const gc = vm.runInNewContext('gc');

/** Growth that is no leak: allocators and V8 keep some of what they got. A leak of 65 bytes in each of 100,000 calls is more. */
const MOST = 6 * 2 ** 20;

const [text] = madeTexts(1, 30);
const engine = new sameish.Engine('articles');
const hasher = new sameish.MinHasher();
const articles = [{ id: 'a', simHash: '00000000000000ff', publishedAt: '2024-01-01' }];
const twice = [articles[0], articles[0]];
const walked = new sameish.Engine();
walked.addMany([[1, text], [2, text]]);

/** Calls that are quick, 100,000 times each. */
const quick = {
  fnv1a64: () => sameish.fnv1a64(text),
  computeSimHash: () => sameish.computeSimHash(text),
  hammingDistance: () => sameish.hammingDistance('a1b2c3d4e5f6a7b8', 'a1b2c3d4e5f6a7b9'),
  'an error of the engine': () => assert.throws(() => sameish.hammingDistance('x', 'y')),
  'a signature': () => hasher.similarity(hasher.sketch(text), hasher.sketch(text)),
  tokens: () => hasher.sketch([text, 'another']),
  'add, search, remove': (i) => engine.add(i, text) && engine.search(text) && engine.remove(i),
  groupArticlesBySimilarity: () => sameish.groupArticlesBySimilarity(articles),
};

/** Calls that take longer, 10,000 times each. */
const slow = {
  compare: () => sameish.compare(text, text),
  'a new engine': () => new sameish.Engine('wire').add(1, text),
  'a new engine of two sketches': () => new sameish.Engine('articles').add(1, text),
  addManyAsync: () => engine.addManyAsync([['b', text]]),
  clustersAsync: () => engine.clustersAsync(),
  'bytes and back': () => sameish.Engine.fromBytes(engine.toBytes()),
  'a walk that is left': async () => {
    for await (const pair of walked.eachPair()) return pair;
    return assert.fail('no pair');
  },
  'a refused document': () => assert.rejects(engine.addManyAsync([[1, 3]])),
  'an error on another thread': () => assert.rejects(sameish.groupArticlesBySimilarityAsync(twice)),
};

async function run(call, times) {
  for (let i = 0; i < times; i += 1) {
    const answer = call(i);
    if (answer instanceof Promise) await answer;
    // What the addon lent to JavaScript is given back between two turns of the event loop.
    else if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

async function settled() {
  for (let i = 0; i < 4; i += 1) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return process.memoryUsage().rss;
}

for (const [times, calls] of [[100_000, quick], [10_000, slow]]) {
  describe(`${times} calls leave nothing behind`, () => {
    for (const [name, call] of Object.entries(calls)) {
      test(name, async () => {
        // A leak grows in every round; a heap that found its size late does not.
        const grown = [];
        await run(call, times / 4);
        while (grown.length < 8 && !grown.some((bytes) => bytes < MOST)) {
          const before = await settled();
          await run(call, times);
          grown.push((await settled()) - before);
        }
        assert.ok(grown.at(-1) < MOST, `bytes more, round by round: ${grown}`);
      });
    }
  });
}
