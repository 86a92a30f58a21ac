// The package as others get it: both module systems, and the examples of the documents.
'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { readdirSync } = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const sameish = require('sameish');
const { read } = require('./support/data.cjs');

const NAMES = [
  'Engine', 'MinHasher', 'SimHasher', 'areArticlesSimilar', 'calculateHammingDistance', 'compare', 'compareAsync', 'computeSimHash',
  'distanceToSimilarity', 'fnv1a64', 'getMatchType', 'groupArticlesBySimilarity', 'groupArticlesBySimilarityAsync', 'hammingDistance',
  'isNearDuplicate',
];

test('import and require give the same things', async () => {
  const imported = await import('sameish');
  assert.deepEqual(Object.keys(sameish).sort(), NAMES);
  assert.deepEqual(Object.keys(imported).sort(), [...NAMES, 'default'].sort());
  for (const name of NAMES) assert.equal(imported[name], sameish[name]);
  assert.equal(imported.default, sameish);
});

test('every name has a type', () => {
  const types = read('crates', 'sameish-node', 'index.d.cts');
  for (const name of NAMES) assert.match(types, new RegExp(`export (class|function) ${name}\\b`));
});

test('every function of the addon catches panics', () => {
  const files = readdirSync(path.join(__dirname, '..', 'src'));
  let functions = 0;
  for (const file of files) {
    const source = read('crates', 'sameish-node', 'src', file);
    for (const [, attribute] of source.matchAll(/#\[napi(.*)\]\n(?:\s*#\[.*\]\n)*\s*pub fn/g)) {
      functions += 1;
      assert.match(attribute, /catch_unwind/, `${file}: #[napi${attribute}]`);
    }
  }
  assert.ok(functions > 30, `${functions}`);
});

/** The examples in JavaScript of a document. */
function examples(...file) {
  return [...read(...file).matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
}

for (const file of [['docs', 'node.md'], ['README.md']]) {
  test(`the examples of ${file.at(-1)} print what they say`, () => {
    const all = examples(...file);
    assert.ok(all.length > 0);
    for (const code of all) {
      const said = [...code.matchAll(/console\.log\(.*\);? \/\/ (.*)$/gm)].map(([, line]) => line);
      assert.ok(said.length > 0, `an example that shows nothing:\n${code}`);
      const ran = spawnSync(process.execPath, ['--input-type=module', '-e', code], { cwd: path.join(__dirname, '..'), encoding: 'utf8' });
      assert.equal(ran.stderr, '', code);
      assert.deepEqual(ran.stdout.trimEnd().split('\n'), said, code);
    }
  });
}
