// Saving and loading engines.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { after, describe, test } = require('node:test');
const { Engine } = require('sameish');
const { generateTexts } = require('./support/data.cjs');

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'sameish-node-'));
after(() => fs.rmSync(directory, { recursive: true }));
const pathOf = (name) => path.join(directory, name);

const documents = generateTexts(300, 30).map((text, id) => ({ id, text, publishedAt: `2024-01-${10 + (id % 20)}` }));

function filled(preset, overrides) {
  const engine = new Engine(preset, overrides);
  engine.addMany(documents);
  return engine;
}

for (const preset of ['copies', 'articles', 'headlines', 'wire', 'web', 'sdr']) {
  test(`${preset}: a loaded engine returns the same results and can be changed`, async () => {
    const engine = filled(preset, { matching: { limit: 7 } });
    const file = pathOf(preset);
    engine.save(file);
    const bytes = engine.toBytes();
    assert.deepEqual(fs.readFileSync(file), Buffer.from(bytes));
    assert.deepEqual(await engine.toBytesAsync(), bytes);
    await engine.saveAsync(pathToFileURL(`${file} 2`));
    const loaded = [
      Engine.load(file), await Engine.loadAsync(file), Engine.load(pathToFileURL(`${file} 2`)), Engine.fromBytes(bytes), await Engine.fromBytesAsync(bytes),
    ];
    for (const one of loaded) {
      assert.ok(one instanceof Engine);
      assert.deepEqual([one.size, one.config], [engine.size, engine.config]);
      assert.deepEqual(one.pairs(), engine.pairs());
      assert.deepEqual(one.clusters(), engine.clusters());
    }
    const [one] = loaded;
    for (const changed of [engine, one]) changed.add('new', documents[3].text);
    assert.deepEqual(one.search(documents[3].text), engine.search(documents[3].text));
    assert.equal(one.remove(0), true);
  });
}

describe('files', () => {
  const engine = filled('wire');

  test('saving keeps the mode of an existing file; a new file gets the mode of the umask', { skip: process.platform === 'win32' }, () => {
    const [old, fresh] = [pathOf('old'), pathOf('fresh')];
    fs.writeFileSync(old, 'something else');
    fs.chmodSync(old, 0o640);
    engine.save(old);
    assert.equal(fs.statSync(old).mode & 0o777, 0o640);
    assert.equal(Engine.load(old).size, 300);
    const umask = process.umask(0o027);
    try {
      engine.save(fresh);
    } finally {
      process.umask(umask);
    }
    assert.equal(fs.statSync(fresh).mode & 0o777, 0o640);
    const hidden = fs.readdirSync(directory).filter((name) => name.startsWith('.'));
    assert.deepEqual(hidden, [], 'no temporary files remain');
  });

  test('saving to a symbolic link writes its target', { skip: process.platform === 'win32' }, () => {
    fs.mkdirSync(pathOf('subdirectory'));
    fs.symlinkSync(path.join('subdirectory', 'target'), pathOf('link'));
    fs.symlinkSync('link', pathOf('second'));
    // The target does not exist in the first round.
    for (let round = 0; round < 2; round += 1) engine.save(pathOf('second'));
    assert.ok(fs.lstatSync(pathOf('link')).isSymbolicLink() && fs.lstatSync(pathOf('second')).isSymbolicLink());
    assert.equal(Engine.load(pathOf('subdirectory/target')).size, 300);
    fs.symlinkSync('cycle', pathOf('cycle'));
    assert.throws(() => engine.save(pathOf('cycle')), { code: 'ERR_SAMEISH_FILE', message: /^cannot write `.*cycle`: .*symbolic links/ });
  });

  test('errors name the file and have a code', async () => {
    const missing = pathOf('no/such/directory');
    assert.throws(() => engine.save(missing), { code: 'ENOENT', message: new RegExp(`^cannot write \`${missing}\`: `) });
    await assert.rejects(engine.saveAsync(missing), { code: 'ENOENT' });
    assert.throws(() => Engine.load(missing), { code: 'ENOENT', message: new RegExp(`^cannot read \`${missing}\`: `) });
    await assert.rejects(Engine.loadAsync(directory), { code: 'EISDIR', message: new RegExp(`^cannot read \`${directory}\`: `) });
    assert.throws(() => engine.save(directory), { code: 'EISDIR' });
    const bytes = engine.toBytes();
    for (const damaged of [bytes.slice(0, 100), new Uint8Array(), Uint8Array.from([...bytes, 0]), bytes.map((byte, i) => (i === 500 ? byte ^ 1 : byte))]) {
      fs.writeFileSync(pathOf('damaged'), damaged);
      assert.throws(() => Engine.load(pathOf('damaged')), { code: 'ERR_SAMEISH_CORRUPT', message: /damaged`: invalid stored engine: / });
      assert.throws(() => Engine.fromBytes(damaged), { code: 'ERR_SAMEISH_CORRUPT', message: /^invalid stored engine: / });
    }
    const newer = bytes.slice();
    newer[8] = 99;
    assert.throws(() => Engine.fromBytes(newer), { code: 'ERR_SAMEISH_VERSION', message: /^stored engine has format version 99/ });
    for (const invalid of [undefined, 3, {}, new URL('http://localhost/x')]) {
      assert.throws(() => engine.save(invalid), { code: 'ERR_INVALID_ARG_TYPE', message: /^`path` is .*: must be a string or a file: URL$/ });
    }
    assert.throws(() => Engine.fromBytes('text'), { code: 'ERR_INVALID_ARG_TYPE' });
    assert.throws(() => engine.save('\u0000'), { code: 'ERR_SAMEISH_FILE', message: /^cannot write `\\u\{0\}`: / });
  });

  test('saveAsync saves the state at the time of the call', async () => {
    const own = filled('copies');
    await Promise.all([own.saveAsync(pathOf('before')), own.addManyAsync([['new', 'one more text']]), own.saveAsync(pathOf('after'))]);
    assert.deepEqual([Engine.load(pathOf('before')).size, Engine.load(pathOf('after')).size], [300, 301]);
  });
});
