// Values of other realms, which test runners create, and unusual arrays.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const path = require('node:path');
const vm = require('node:vm');
const sameish = require('sameish');
const { Engine, MinHasher, SimHasher } = sameish;

const foreignValue = (code) => vm.runInNewContext(code);
const WORDS = ['one', 'two', 'three', 'four', 'five'];

test('typed arrays, dates and arrays of another realm are accepted', () => {
  const hasher = new MinHasher({ rows: 4 });
  const signature = hasher.sketch(WORDS);
  const foreign = foreignValue(`Uint32Array.from([${signature}])`);
  assert.ok(!(foreign instanceof Uint32Array));
  assert.equal(hasher.similarity(foreign, signature), 1);
  assert.deepEqual(hasher.fromBytes(foreignValue(`Uint8Array.from([${hasher.toBytes(foreign)}])`)), signature);
  assert.equal(new SimHasher().sketch(foreignValue('BigUint64Array.of(1n, 2n)'), foreignValue('Float64Array.of(1, 3)')), '0000000000000002');
  const publishedAt = foreignValue('new Date("2024-01-01")');
  assert.equal(sameish.groupArticlesBySimilarity([{ id: 'a', simHash: '0'.repeat(16), publishedAt }]).length, 1);
  assert.equal(new Engine('wire').add('a', foreignValue('["one", "two"]'), { publishedAt }).status, 'ok');
  assert.throws(() => hasher.similarity(foreignValue('new Int32Array(4)'), signature), { code: 'ERR_INVALID_ARG_TYPE' });
});

test('the package creates errors and arrays of the realm in which it is loaded', async () => {
  const modules = new Map();
  const context = vm.createContext({ Buffer, setImmediate, URL });
  /** Loads a file like a test runner: in the realm, except for modules of Node and addons. */
  const load = (file) => {
    if (modules.has(file)) return modules.get(file);
    const module = { exports: {} };
    const requireInRealm = (name) => {
      const resolved = name.startsWith('.') ? path.join(path.dirname(file), name) : name;
      return path.isAbsolute(resolved) && resolved.endsWith('.cjs') ? load(resolved) : require(resolved);
    };
    const source = require('node:fs').readFileSync(file, 'utf8');
    vm.runInContext(`(function (module, require, __dirname) {${source}\n})`, context)(module, requireInRealm, path.dirname(file));
    modules.set(file, module.exports);
    return module.exports;
  };
  context.sameish = load(require.resolve('sameish'));
  const run = (code) => vm.runInContext(code, context);
  assert.equal(run('new sameish.MinHasher().sketch("one two three") instanceof Uint32Array'), true);
  assert.equal(run('new sameish.MinHasher().sketch(BigUint64Array.of(1n)) instanceof Uint32Array'), true);
  assert.equal(run('new sameish.Engine().toBytes() instanceof Uint8Array'), true);
  const caught = 'catch (error) { [error instanceof Error, error.code] }';
  assert.deepEqual([...run(`try { sameish.hammingDistance('a', 'b') } ${caught}`)], [true, 'ERR_SAMEISH_HEX']);
  assert.deepEqual([...run(`try { new sameish.Engine('wires') } ${caught}`)], [true, 'ERR_SAMEISH_UNKNOWN_PRESET']);
  const later = run(`sameish.Engine.loadAsync('none').catch((error) => [error instanceof Error, error.code])`);
  assert.deepEqual([...(await later)], [true, 'ENOENT']);
});

test('tokens are read once and copied', async () => {
  const engine = new Engine();
  assert.equal(engine.add('proxy', new Proxy(WORDS, {})).status, 'ok');
  assert.equal(engine.addMany([['many', new Proxy(WORDS, {})]]).added, 1);
  const changing = [...WORDS];
  let reads = 0;
  Object.defineProperty(changing, 1, { get: () => (reads++ === 0 ? 'two' : 5) });
  assert.equal(engine.add('changing', changing).status, 'ok');
  const overwritten = [...WORDS];
  const pending = [engine.addManyAsync([['x', 'other words than those are here']]), engine.searchAsync(overwritten)];
  overwritten[0] = 5;
  assert.deepEqual((await pending[1]).matches.map(({ id }) => id), ['proxy', 'many', 'changing']);
  assert.throws(() => engine.add('hole', ['a', , 'b']), { code: 'ERR_INVALID_ARG_TYPE', message: /^`text\[1\]` is undefined/ });
  assert.throws(() => engine.add('k', { get constructor() { throw new Error('no name'); } }), { message: /^`text` is an object of class unknown/ });
});
