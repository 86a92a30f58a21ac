// A worker thread that loads the package and posts its results.
'use strict';

const { parentPort } = require('node:worker_threads');
const { computeSimHash, Engine } = require('sameish');

async function main() {
  const engine = new Engine();
  await engine.addManyAsync([[1, 'one two three four'], [2, 'one two three four']]);
  parentPort.postMessage([computeSimHash('Breaking news: Major earthquake hits city'), engine.pairs().pairs.length]);
}

main();
