// The order of async calls, iterations over pairs and synchronous calls.
'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const v8 = require('node:v8');
const vm = require('node:vm');
const { Engine } = require('sameish');

const BRIDGE = 'The council voted on Monday to close the old bridge over the river for repairs until next spring.';
const MARKET = 'Farmers bring apples, cheese and bread to the market square on Saturdays, whatever the weather.';
const BUSY = { code: 'ERR_SAMEISH_BUSY' };

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('async calls run in the order in which they were made', () => {
  test('while the first one reads its input', async () => {
    const engine = new Engine();
    let openGate;
    const gate = new Promise((resolve) => (openGate = resolve));
    async function* slow() {
      yield ['x', BRIDGE];
      await gate;
      yield ['y', BRIDGE];
    }
    const calls = [
      engine.addManyAsync(slow()), engine.addManyAsync([['x', MARKET]]), engine.searchAsync(MARKET), engine.removeAsync('x'),
      engine.hasAsync('x'), engine.searchIdAsync('y'), engine.addAsync('z', MARKET), engine.searchIdAsync('gone'), engine.clustersAsync(),
    ];
    await nextTurn();
    assert.equal(engine.size, 0, 'all calls wait for the first one');
    openGate();
    const [first, second, found, removed, has, others, added, none, { clusters }] = await Promise.all(calls);
    assert.deepEqual([first, second], [{ added: 2, replaced: 0, tooShort: 0 }, { added: 1, replaced: 1, tooShort: 0 }]);
    assert.deepEqual(found.matches.map(({ id }) => id), ['x']);
    assert.deepEqual([removed, has, others.matches, none], [true, false, [], null]);
    assert.deepEqual(added, { status: 'ok', replaced: false });
    assert.deepEqual(clusters.map(({ members }) => members), [['y'], ['z']]);
  });

  test('a search finds the documents of an earlier addManyAsync', async () => {
    for (let round = 0; round < 20; round += 1) {
      const engine = new Engine();
      const [, { matches }] = await Promise.all([engine.addManyAsync([['a', BRIDGE]]), engine.searchAsync(BRIDGE)]);
      assert.equal(matches.length, 1);
    }
  });

  test('after a failed input, the next call runs', async () => {
    const engine = new Engine();
    async function* failing() {
      yield ['x', BRIDGE];
      throw new Error('the source failed');
    }
    const calls = [engine.addManyAsync(failing()), engine.addManyAsync([['y', BRIDGE]])];
    const [first, second] = await Promise.allSettled(calls);
    assert.deepEqual([first.reason.message, second.value.added, engine.size], ['the source failed', 1, 1]);
  });
});

describe('synchronous calls', () => {
  test('cannot change the engine while an async call runs, and name the async method', async () => {
    const engine = new Engine();
    engine.add('a', BRIDGE);
    const pending = engine.searchAsync(BRIDGE);
    const busy = (name) => ({ ...BUSY, message: `an async call on this engine is in progress: await it first, or use \`${name}\`` });
    assert.throws(() => engine.remove('a'), busy('removeAsync'));
    assert.throws(() => engine.add('b', BRIDGE), busy('addAsync'));
    assert.throws(() => engine.addMany([['b', BRIDGE]]), busy('addManyAsync'));
    assert.equal(engine.has('a'), true, 'readers run together');
    await pending;
    assert.equal(engine.remove('a'), true);
  });

  test('cannot read while the engine is being changed, but can while an input is being read', async () => {
    const engine = new Engine();
    engine.add('a', BRIDGE);
    const counts = [];
    async function* input() {
      await nextTurn();
      if (!engine.has('b')) yield ['b', BRIDGE];
      counts.push(engine.search(BRIDGE).matches.length, engine.searchId('a').matches.length);
    }
    assert.equal((await engine.addManyAsync(input())).added, 1);
    assert.deepEqual(counts, [1, 0]);
    const pending = engine.removeAsync('b');
    await null;
    assert.throws(() => engine.has('a'), { ...BUSY, message: /or use `hasAsync`$/ });
    assert.throws(() => engine.search(BRIDGE), { ...BUSY, message: /or use `searchAsync`$/ });
    assert.throws(() => engine.searchId('a'), { ...BUSY, message: /or use `searchIdAsync`$/ });
    assert.equal(await pending, true);
    assert.equal(engine.has('b'), false);
  });

  test('an input cannot wait for the engine that waits for it', async () => {
    const [engine, other] = [new Engine(), new Engine()];
    const late = [];
    let endInput;
    const end = new Promise((resolve) => (endInput = resolve));
    async function* input(call) {
      await nextTurn();
      late.push(end.then(() => engine.hasAsync('a')));
      await other.addManyAsync([['fine', BRIDGE]]);
      yield [1, (await call()) ? BRIDGE : MARKET];
    }
    const iterate = async () => {
      for await (const pair of engine.eachPair()) assert.fail(pair);
    };
    for (const call of [() => engine.hasAsync('a'), () => engine.addManyAsync([]), iterate]) {
      await assert.rejects(engine.addManyAsync(input(call)), { ...BUSY, message: /^the input of an async call cannot wait/ });
    }
    endInput();
    assert.deepEqual(await Promise.all(late), [false, false, false], 'after the input has ended, code that it started can wait');
  });
});

describe('eachPair', () => {
  const engine = new Engine();
  engine.addMany(Array.from({ length: 150 }, (_, id) => [id, BRIDGE]));

  test('yields all pairs in order and reports the effort', async () => {
    const walk = engine.eachPair();
    assert.equal(walk.effort, null);
    const pairs = [];
    for await (const pair of walk) pairs.push(pair);
    const { pairs: expected, complete, ...effort } = engine.pairs();
    assert.deepEqual([pairs.length, complete], [11175, true]);
    assert.deepEqual(pairs, expected);
    assert.deepEqual(walk.effort, effort);
    for await (const pair of new Engine().eachPair()) assert.fail(pair);
  });

  test('allows reads and rejects changes', async () => {
    const busy = { ...BUSY, message: 'an iteration over `eachPair` is in progress: finish it or leave the loop first' };
    let steps = 0;
    for await (const { a, b } of engine.eachPair()) {
      steps += 1;
      if (steps > 1) continue;
      assert.deepEqual([a, b], [0, 1]);
      assert.equal(engine.searchId(a, { limit: 1 }).matches[0].id, b);
      assert.equal((await engine.searchAsync(BRIDGE)).matches.length, 10);
      assert.throws(() => engine.remove(0), busy);
      await assert.rejects(engine.addManyAsync([['x', BRIDGE]]), busy);
    }
    assert.equal((await engine.addManyAsync([['x', BRIDGE]])).added, 1);
    assert.equal(engine.remove('x'), true);
  });

  test('can be left after any number of pairs', async () => {
    for (const last of [1, 999, 1000, 1001, 5000, 11175]) {
      let steps = 0;
      for await (const pair of engine.eachPair()) {
        assert.ok(pair.a < pair.b);
        steps += 1;
        if (steps === last) break;
      }
      assert.equal(steps, last);
      assert.equal(engine.remove('none'), false, 'the engine can be changed again');
    }
    await assert.rejects(async () => {
      for await (const pair of engine.eachPair()) throw new Error(`no ${pair.a}`);
    }, { message: 'no 0' });
    assert.equal(engine.remove('none'), false);
  });

  test('waits for an earlier addManyAsync', async () => {
    const engineOf50 = new Engine();
    engineOf50.addMany(Array.from({ length: 50 }, (_, id) => [id, BRIDGE]));
    for (let round = 0; round < 50; round += 1) {
      const added = engineOf50.addManyAsync([['x', BRIDGE]]);
      for (let i = 0; i < round % 5; i += 1) await null;
      let steps = 0;
      for await (const pair of engineOf50.eachPair()) {
        if (steps === 0) assert.equal((await added).added, 1, `${pair.a}`);
        steps += 1;
      }
      assert.equal(steps, (51 * 50) / 2);
      engineOf50.remove('x');
    }
  });

  test('rejects changes until the end, even if all pairs fit into one chunk', async () => {
    for (const count of [2, 50, 100]) {
      const few = new Engine();
      few.addMany(Array.from({ length: count }, (_, id) => [id, BRIDGE]));
      for await (const { a } of few.eachPair()) {
        await nextTurn();
        assert.throws(() => few.add('x', BRIDGE), BUSY, `${count} documents, at ${a}`);
        await assert.rejects(few.removeAsync(0), BUSY);
        assert.equal(few.has(0) && (await few.hasAsync(0)), true);
      }
      assert.equal(few.add('x', BRIDGE).replaced, false);
    }
  });

  test('ends when its iterator is garbage collected', async () => {
    v8.setFlagsFromString('--expose-gc');
    const gc = vm.runInNewContext('gc');
    await (async () => {
      const { done } = await engine.eachPair()[Symbol.asyncIterator]().next();
      assert.equal(done, false);
    })();
    assert.throws(() => engine.remove('none'), BUSY);
    let ended = false;
    for (let tries = 0; tries < 100 && !ended; tries += 1) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 10));
      ended = await engine.removeAsync('none').then(() => true, () => false);
    }
    assert.ok(ended);
  });
});
