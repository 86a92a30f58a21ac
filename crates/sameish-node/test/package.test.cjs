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
  const methods = ['Engine', 'MinHasher', 'SimHasher'].flatMap((name) => [
    ...Object.getOwnPropertyNames(sameish[name]).filter((own) => typeof sameish[name][own] === 'function'),
    ...Object.getOwnPropertyNames(sameish[name].prototype),
  ]);
  assert.ok(methods.length > 40);
  for (const method of methods) assert.match(types, new RegExp(`^  (static |readonly )?${method}[<(:]`, 'm'));
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

test('what is packed has its licences, and no link that leads out of it', () => {
  const folder = path.join(__dirname, '..');
  const packed = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' });
  const names = JSON.parse(packed.stdout)[0].files.map((file) => file.path);
  for (const name of ['LICENSE-APACHE', 'LICENSE-MIT', 'README.md', 'index.cjs', 'index.d.cts', 'index.d.mts', 'index.mjs', 'sameish.node', 'lib/turns.cjs']) {
    assert.ok(names.includes(name), `${name} among ${names}`);
  }
  assert.deepEqual(names.filter((name) => /^(src|test)/.test(name)), []);
  for (const [, link] of read('crates', 'sameish-node', 'README.md').matchAll(/\]\(([^)]*)\)/g)) {
    assert.ok(names.includes(link) || /^https?:/.test(link), link);
  }
});

test('who reads the types or the documents meets no word of the workshop', () => {
  for (const file of [['crates', 'sameish-node', 'index.d.cts'], ['crates', 'sameish-node', 'README.md'], ['docs', 'node.md']]) {
    assert.doesNotMatch(read(...file), /seed 0|toWellFormed/, file.join('/'));
  }
});

/** The examples in JavaScript of a document. */
function examples(...file) {
  return [...read(...file).matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
}

for (const file of [['docs', 'node.md'], ['README.md'], ['crates', 'sameish-node', 'README.md']]) {
  test(`the examples of ${file.join('/')} print what they say`, () => {
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
