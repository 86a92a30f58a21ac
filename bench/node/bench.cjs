// Benchmark of the Node package. Prints medians of several rounds; compare figures only within one run.
'use strict';

const os = require('node:os');
const path = require('node:path');

const PACKAGE = path.join(__dirname, '..', '..', 'crates', 'sameish-node');
const sameish = require(PACKAGE);
const plain = require(path.join(PACKAGE, 'test', 'support', 'plain.cjs'));
const { generateTexts, numbers, records } = require(path.join(PACKAGE, 'test', 'support', 'data.cjs'));

const SMALLEST = Number(process.argv[2] ?? 2500);

function median(values) {
  return [...values].sort((a, b) => a - b)[values.length >> 1];
}

/** Returns the median time of a call in milliseconds, over `rounds` rounds of `calls` calls each. */
function timed(rounds, calls, call) {
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < calls; i += 1) call();
    times.push(Number(process.hrtime.bigint() - start) / 1e6 / calls);
  }
  return median(times);
}

/** Returns the time of one call in milliseconds. */
async function once(call) {
  globalThis.gc?.();
  const start = process.hrtime.bigint();
  await call();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

function row(...cells) {
  console.log(`| ${cells.join(' | ')} |`);
}

function fingerprints() {
  // English text of the demo corpus, 500 words, as in the published figure of the original implementation.
  const words = records('testdata', 'demo', 'articles.jsonl').map(({ text }) => text).join(' ').split(/\s+/);
  const text = words.slice(0, 500).join(' ');
  if (sameish.computeSimHash(text) !== plain.computeSimHash(text)) throw new Error('fingerprints differ');
  const slow = timed(15, 20, () => plain.computeSimHash(text));
  const fast = timed(15, 20_000, () => sameish.computeSimHash(text));
  console.log(`\n### Fingerprint of ${words.slice(0, 500).length} words, ${text.length} characters\n`);
  row('computeSimHash', 'us per call');
  row('---', '---');
  row('plain JavaScript with BigInt', (slow * 1000).toFixed(0));
  row('sameish', (fast * 1000).toFixed(2));
  console.log(`\n${(slow / fast).toFixed(0)} times as fast as plain JavaScript.`);
  console.log(`${(6.8 / fast).toFixed(0)} times as fast as the published 6.8 ms of the original implementation.`);
  const small = timed(9, 200_000, () => sameish.hammingDistance('a1b2c3d4e5f6a7b8', 'a1b2c3d4e5f6a7b9'));
  console.log(`\`hammingDistance\` takes ${(small * 1e6).toFixed(0)} ns per call, most of it for the call into the addon.`);
}

async function documents() {
  const sizes = [1, 4, 16].map((times) => times * SMALLEST);
  const texts = generateTexts(sizes[2], 300);
  console.log('\n### Engine, preset `copies`, generated texts of 300 words, one in five an edited copy\n');
  row('documents', 'MB', 'addMany, ms', 'documents/s', 'addManyAsync, ms', 'pairs, ms', 'pairs found', 'clusters, ms');
  row('---', '---', '---', '---', '---', '---', '---', '---');
  for (const size of sizes) {
    const some = texts.slice(0, size).map((text, id) => ({ id, text }));
    const megabytes = some.reduce((sum, { text }) => sum + text.length, 0) / 1e6;
    const engine = new sameish.Engine();
    engine.addMany(some);
    const syncEngine = new sameish.Engine();
    const sync = await once(() => syncEngine.addMany(some));
    const asyncEngine = new sameish.Engine();
    const async = await once(() => asyncEngine.addManyAsync(some));
    let pairCount;
    const pairs = await once(() => (pairCount = engine.pairs().pairs.length));
    const clusters = await once(() => engine.clusters());
    const ms = [sync, async, pairs, clusters].map((time) => time.toFixed(0));
    row(size, megabytes.toFixed(1), ms[0], ((size / sync) * 1000).toFixed(0), ms[1], ms[2], pairCount, ms[3]);
  }
}

async function groups() {
  const sizes = [4, 16, 64].map((times) => times * SMALLEST);
  const random = numbers(7);
  const word = () => random.next().value & 0xffff;
  const hex = (parts) => parts.map((part) => part.toString(16).padStart(4, '0')).join('');
  const articles = [];
  for (let i = 0; i < sizes[2]; i += 1) {
    const near = i % 3 === 2 ? articles[i - 1].parts.with(3, articles[i - 1].parts[3] ^ 5) : [word(), word(), word(), word()];
    const publishedAt = new Date(1.7e12 + (word() << 16)).toISOString();
    articles.push({ id: `article-${i}`, parts: near, simHash: hex(near), publishedAt });
  }
  console.log('\n### groupArticlesBySimilarity, one article in three close to another\n');
  row('articles', 'synchronous, ms', 'asynchronous, ms', 'groups', 'plain JavaScript, ms');
  row('---', '---', '---', '---', '---');
  for (const size of sizes) {
    const some = articles.slice(0, size);
    let groupCount;
    const sync = await once(() => (groupCount = sameish.groupArticlesBySimilarity(some).length));
    const async = await once(() => sameish.groupArticlesBySimilarityAsync(some));
    // Plain JavaScript compares all pairs, so it gets only 400 articles.
    const few = some.slice(0, 400);
    const slow = size === sizes[0] ? `${(await once(() => plain.groupArticlesBySimilarity(few))).toFixed(0)} for 400 articles` : '';
    row(size, sync.toFixed(0), async.toFixed(0), groupCount, slow);
  }
}

async function main() {
  console.log(`Node ${process.version}, ${os.cpus()[0].model}, ${os.cpus().length} cores, ${new Date().toISOString().slice(0, 10)}`);
  fingerprints();
  await documents();
  await groups();
}

main();
