// Engines in files and bytes.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { after, describe, test } = require('node:test');
const { Engine } = require('sameish');
const { madeTexts } = require('./support/data.cjs');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'sameish-node-'));
after(() => fs.rmSync(folder, { recursive: true }));
const place = (name) => path.join(folder, name);

const documents = madeTexts(300, 30).map((text, id) => ({ id, text, publishedAt: `2024-01-${10 + (id % 20)}` }));

function filled(preset, overrides) {
  const engine = new Engine(preset, overrides);
  engine.addMany(documents);
  return engine;
}

for (const preset of ['copies', 'articles', 'headlines', 'wire', 'web', 'sdr']) {
  test(`${preset}: what was saved answers as before, and can be added to`, async () => {
    const engine = filled(preset, { matching: { limit: 7 } });
    const file = place(preset);
    engine.save(file);
    const bytes = engine.toBytes();
    assert.deepEqual(fs.readFileSync(file), Buffer.from(bytes));
    assert.deepEqual(await engine.toBytesAsync(), bytes);
    await engine.saveAsync(pathToFileURL(`${file} 2`));
    const again = [
      Engine.load(file), await Engine.loadAsync(file), Engine.load(pathToFileURL(`${file} 2`)), Engine.fromBytes(bytes), await Engine.fromBytesAsync(bytes),
    ];
    for (const one of again) {
      assert.ok(one instanceof Engine);
      assert.deepEqual([one.size, one.config], [engine.size, engine.config]);
      assert.deepEqual(one.pairs(), engine.pairs());
      assert.deepEqual(one.clusters(), engine.clusters());
    }
    const [one] = again;
    for (const changed of [engine, one]) changed.add('new', documents[3].text);
    assert.deepEqual(one.search(documents[3].text), engine.search(documents[3].text));
    assert.equal(one.remove(0), true);
  });
}

describe('files', () => {
  const engine = filled('wire');

  test('an old file is replaced, and keeps its mode; a new one has that of the umask', { skip: process.platform === 'win32' }, () => {
    const [old, fresh] = [place('old'), place('fresh')];
    fs.writeFileSync(old, 'something else');
    fs.chmodSync(old, 0o640);
    engine.save(old);
    assert.equal(fs.statSync(old).mode & 0o777, 0o640);
    assert.equal(Engine.load(old).size, 300);
    const umask = process.umask(0o027);
    engine.save(fresh);
    process.umask(umask);
    assert.equal(fs.statSync(fresh).mode & 0o777, 0o640);
    assert.deepEqual(fs.readdirSync(folder).filter((name) => name.endsWith('.partial')), []);
  });

  test('a symbolic link stays, and its target is written', { skip: process.platform === 'win32' }, () => {
    fs.mkdirSync(place('elsewhere'));
    fs.symlinkSync(path.join('elsewhere', 'target'), place('link'));
    fs.symlinkSync('link', place('second'));
    // Once to a target that is not there yet, once to one that is.
    for (let round = 0; round < 2; round += 1) engine.save(place('second'));
    assert.ok(fs.lstatSync(place('link')).isSymbolicLink() && fs.lstatSync(place('second')).isSymbolicLink());
    assert.equal(Engine.load(place('elsewhere/target')).size, 300);
    fs.symlinkSync('round', place('round'));
    assert.throws(() => engine.save(place('round')), { code: 'ERR_SAMEISH_FILE', message: /round: can not be written: too many symbolic links/ });
  });

  test('errors name the file', async () => {
    const missing = place('no/such/folder');
    assert.throws(() => engine.save(missing), { code: 'ENOENT', message: new RegExp(`^${missing}: can not be written: `) });
    await assert.rejects(engine.saveAsync(missing), { code: 'ENOENT' });
    assert.throws(() => Engine.load(missing), { code: 'ENOENT', message: new RegExp(`^${missing}: can not be read: `) });
    await assert.rejects(Engine.loadAsync(folder), { message: new RegExp(`^${folder}: can not be read`) });
    assert.throws(() => engine.save(folder), { code: 'EISDIR' });
    const bytes = engine.toBytes();
    for (const wrong of [bytes.slice(0, 100), new Uint8Array(), Uint8Array.from([...bytes, 0]), bytes.map((byte, i) => (i === 500 ? byte ^ 1 : byte))]) {
      fs.writeFileSync(place('damaged'), wrong);
      assert.throws(() => Engine.load(place('damaged')), { code: 'ERR_SAMEISH_CORRUPT', message: /damaged: invalid stored engine: / });
      assert.throws(() => Engine.fromBytes(wrong), { code: 'ERR_SAMEISH_CORRUPT', message: /^invalid stored engine: / });
    }
    const newer = bytes.slice();
    newer[8] = 99;
    assert.throws(() => Engine.fromBytes(newer), { code: 'ERR_SAMEISH_VERSION', message: /^stored engine has format version 99/ });
    for (const wrong of [undefined, 3, {}, new URL('http://localhost/x')]) {
      assert.throws(() => engine.save(wrong), { code: 'ERR_INVALID_ARG_TYPE', message: /^`path` is .*: must be a string or a file: URL$/ });
    }
    assert.throws(() => Engine.fromBytes('text'), { code: 'ERR_INVALID_ARG_TYPE' });
    assert.throws(() => engine.save('\u0000'), { code: 'ERR_SAMEISH_FILE', message: /^\\u\{0\}: can not be written/ });
  });

  test('what is saved is what was there when it was asked', async () => {
    const own = filled('copies');
    await Promise.all([own.saveAsync(place('before')), own.addManyAsync([['new', 'one more text']]), own.saveAsync(place('after'))]);
    assert.deepEqual([Engine.load(place('before')).size, Engine.load(place('after')).size], [300, 301]);
  });
});
