// The package as users get it: both module systems, the packed files, the types, and the examples of the documentation.
'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { readdirSync } = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const sameish = require('sameish');
const { read } = require('./support/data.cjs');

const NAMES = [
  'BandIndex', 'Engine', 'HammingIndex', 'MinHasher', 'SimHasher', 'areArticlesSimilar', 'calculateHammingDistance', 'cluster', 'compare',
  'compareAsync', 'computeSimHash', 'decodeSketch', 'dedup', 'distanceToSimilarity', 'encodeSketch', 'fnv1a64', 'fnv1a64Utf8', 'getMatchType',
  'groupArticlesBySimilarity', 'groupArticlesBySimilarityAsync', 'hammingDistance', 'isNearDuplicate', 'normalize', 'pairs', 'shingle', 'tokenize',
];

test('import and require provide the same names', async () => {
  const imported = await import('sameish');
  assert.deepEqual(Object.keys(sameish).sort(), NAMES);
  assert.deepEqual(Object.keys(imported).sort(), [...NAMES, 'default'].sort());
  for (const name of NAMES) assert.equal(imported[name], sameish[name]);
  assert.equal(imported.default, sameish);
});

test('every name is declared in index.d.cts', () => {
  const types = read('crates', 'sameish-node', 'index.d.cts');
  const methods = ['BandIndex', 'Engine', 'HammingIndex', 'MinHasher', 'SimHasher'].flatMap((name) => [
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

test('npm pack includes the licenses and no sources, and links stay inside the package', () => {
  const directory = path.join(__dirname, '..');
  const packed = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: directory, encoding: 'utf8', shell: process.platform === 'win32' });
  const names = JSON.parse(packed.stdout)[0].files.map((file) => file.path);
  for (const name of ['LICENSE-APACHE', 'LICENSE-MIT', 'README.md', 'index.cjs', 'index.d.cts', 'index.d.mts', 'index.mjs', 'sameish.node', 'lib/queue.cjs']) {
    assert.ok(names.includes(name), `${name} among ${names}`);
  }
  assert.deepEqual(names.filter((name) => /^(src|test)/.test(name)), []);
  for (const [, link] of read('crates', 'sameish-node', 'README.md').matchAll(/\]\(([^)]*)\)/g)) {
    assert.ok(names.includes(link) || /^https?:/.test(link), link);
  }
});

test('the documentation recommends no function that Node 18 lacks', () => {
  for (const file of [['crates', 'sameish-node', 'index.d.cts'], ['crates', 'sameish-node', 'README.md'], ['docs', 'node.md']]) {
    assert.doesNotMatch(read(...file), /toWellFormed/, file.join('/'));
  }
});

/** Returns the JavaScript examples of a document. */
function examples(...file) {
  return [...read(...file).matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
}

for (const file of [['docs', 'node.md'], ['docs', 'presets.md'], ['README.md'], ['crates', 'sameish-node', 'README.md']]) {
  test(`the examples of ${file.join('/')} print what their comments say`, () => {
    const programs = examples(...file);
    assert.ok(programs.length > 0);
    for (const code of programs) {
      const expected = [...code.matchAll(/console\.log\(.*\);? \/\/ (.*)$/gm)].map(([, line]) => line);
      assert.ok(expected.length > 0, `no output to check:\n${code}`);
      const run = spawnSync(process.execPath, ['--input-type=module', '-e', code], { cwd: path.join(__dirname, '..'), encoding: 'utf8' });
      assert.equal(run.stderr, '', code);
      assert.deepEqual(run.stdout.trimEnd().split('\n'), expected, code);
    }
  });
}
