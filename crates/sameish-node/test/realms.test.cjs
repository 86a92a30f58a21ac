// Values of another realm, as test runners hand them in, and odd arrays.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const path = require('node:path');
const vm = require('node:vm');
const sameish = require('sameish');
const { Engine, MinHasher, SimHasher } = sameish;

const other = (code) => vm.runInNewContext(code);
const WORDS = ['one', 'two', 'three', 'four', 'five'];

test('typed arrays, dates and lists of another realm are what they are', () => {
  const hasher = new MinHasher({ rows: 4 });
  const signature = hasher.sketch(WORDS);
  const foreign = other(`Uint32Array.from([${signature}])`);
  assert.ok(!(foreign instanceof Uint32Array));
  assert.equal(hasher.similarity(foreign, signature), 1);
  assert.deepEqual(hasher.fromBytes(other(`Uint8Array.from([${hasher.toBytes(foreign)}])`)), signature);
  assert.equal(new SimHasher().sketch(other('BigUint64Array.of(1n, 2n)'), other('Float64Array.of(1, 3)')), '0000000000000002');
  const publishedAt = other('new Date("2024-01-01")');
  assert.equal(sameish.groupArticlesBySimilarity([{ id: 'a', simHash: '0'.repeat(16), publishedAt }]).length, 1);
  assert.equal(new Engine('wire').add('a', other('["one", "two"]'), { publishedAt }).status, 'ok');
  assert.throws(() => hasher.similarity(other('new Int32Array(4)'), signature), { code: 'ERR_INVALID_ARG_TYPE' });
});

test('the package itself may be loaded in another realm: its errors and arrays are of that one', async () => {
  const files = new Map();
  const context = vm.createContext({ Buffer, setImmediate, URL });
  /** As test runners do: files are run in the realm, what is Node's own or an addon is loaded outside. */
  const load = (file) => {
    if (files.has(file)) return files.get(file);
    const module = { exports: {} };
    const inside = (name) => {
      const found = name.startsWith('.') ? path.join(path.dirname(file), name) : name;
      return path.isAbsolute(found) && found.endsWith('.cjs') ? load(found) : require(found);
    };
    const source = require('node:fs').readFileSync(file, 'utf8');
    vm.runInContext(`(function (module, require, __dirname) {${source}\n})`, context)(module, inside, path.dirname(file));
    files.set(file, module.exports);
    return module.exports;
  };
  context.sameish = load(require.resolve('sameish'));
  const inside = (code) => vm.runInContext(code, context);
  assert.equal(inside('new sameish.MinHasher().sketch("one two three") instanceof Uint32Array'), true);
  assert.equal(inside('new sameish.MinHasher().sketch(BigUint64Array.of(1n)) instanceof Uint32Array'), true);
  assert.equal(inside('new sameish.Engine().toBytes() instanceof Uint8Array'), true);
  const caught = 'catch (error) { [error instanceof Error, error.code] }';
  assert.deepEqual([...inside(`try { sameish.hammingDistance('a', 'b') } ${caught}`)], [true, 'ERR_SAMEISH_HEX']);
  assert.deepEqual([...inside(`try { new sameish.Engine('wires') } ${caught}`)], [true, 'ERR_SAMEISH_UNKNOWN_PRESET']);
  const later = inside(`sameish.Engine.loadAsync('none').catch((error) => [error instanceof Error, error.code])`);
  assert.deepEqual([...(await later)], [true, 'ENOENT']);
});

test('tokens are copied and looked at once', async () => {
  const engine = new Engine();
  assert.equal(engine.add('proxy', new Proxy(WORDS, {})).status, 'ok');
  assert.equal(engine.addMany([['many', new Proxy(WORDS, {})]]).added, 1);
  const lying = [...WORDS];
  let reads = 0;
  Object.defineProperty(lying, 1, { get: () => (reads++ === 0 ? 'two' : 5) });
  assert.equal(engine.add('lying', lying).status, 'ok');
  const changed = [...WORDS];
  const pending = [engine.addManyAsync([['x', 'other words than those are here']]), engine.searchAsync(changed)];
  changed[0] = 5;
  assert.deepEqual((await pending[1]).matches.map(({ id }) => id), ['proxy', 'many', 'lying']);
  assert.throws(() => engine.add('hole', ['a', , 'b']), { code: 'ERR_INVALID_ARG_TYPE', message: /^`text\[1\]` is undefined/ });
  assert.throws(() => engine.add('k', { get constructor() { throw new Error('no name'); } }), { message: /^`text` is an object of class unknown/ });
});
