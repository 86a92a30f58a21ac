// Who comes when: calls that return promises, walks, and calls in between.
'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const v8 = require('node:v8');
const vm = require('node:vm');
const { Engine } = require('sameish');

const BRIDGE = 'The council voted on Monday to close the old bridge over the river for repairs until next spring.';
const MARKET = 'Farmers bring apples, cheese and bread to the market square on Saturdays, whatever the weather.';
const BUSY = { code: 'ERR_SAMEISH_BUSY' };

const breath = () => new Promise((resolve) => setImmediate(resolve));

describe('async calls are carried out in the order in which they came', () => {
  test('however long the first takes to read its input', async () => {
    const engine = new Engine();
    let proceed;
    const gate = new Promise((resolve) => (proceed = resolve));
    async function* slow() {
      yield ['x', BRIDGE];
      await gate;
      yield ['y', BRIDGE];
    }
    const calls = [
      engine.addManyAsync(slow()), engine.addManyAsync([['x', MARKET]]), engine.searchAsync(MARKET), engine.removeAsync('x'),
      engine.hasAsync('x'), engine.searchIdAsync('y'), engine.addAsync('z', MARKET), engine.searchIdAsync('gone'), engine.clustersAsync(),
    ];
    await breath();
    assert.equal(engine.size, 0, 'all wait for the first');
    proceed();
    const [first, second, found, removed, has, others, added, none, { clusters }] = await Promise.all(calls);
    assert.deepEqual([first, second], [{ added: 2, replaced: 0, tooShort: 0 }, { added: 1, replaced: 1, tooShort: 0 }]);
    assert.deepEqual(found.matches.map(({ id }) => id), ['x']);
    assert.deepEqual([removed, has, others.matches, none], [true, false, [], null]);
    assert.deepEqual(added, { status: 'ok', replaced: false });
    assert.deepEqual(clusters.map(({ members }) => members), [['y'], ['z']]);
  });

  test('a search that is called after an addition finds it', async () => {
    for (let round = 0; round < 20; round += 1) {
      const engine = new Engine();
      const [, { matches }] = await Promise.all([engine.addManyAsync([['a', BRIDGE]]), engine.searchAsync(BRIDGE)]);
      assert.equal(matches.length, 1);
    }
  });

  test('an input that breaks off lets the next call in', async () => {
    const engine = new Engine();
    async function* broken() {
      yield ['x', BRIDGE];
      throw new Error('the source broke');
    }
    const calls = [engine.addManyAsync(broken()), engine.addManyAsync([['y', BRIDGE]])];
    const [first, second] = await Promise.allSettled(calls);
    assert.deepEqual([first.reason.message, second.value.added, engine.size], ['the source broke', 1, 1]);
  });
});

describe('calls without promise', () => {
  test('that change something are told while an async call is under way, and which form may wait', async () => {
    const engine = new Engine();
    engine.add('a', BRIDGE);
    const pending = engine.searchAsync(BRIDGE);
    const told = (form) => ({ ...BUSY, message: `an async call of this engine is under way: await it first, or use \`${form}\`` });
    assert.throws(() => engine.remove('a'), told('removeAsync'));
    assert.throws(() => engine.add('b', BRIDGE), told('addAsync'));
    assert.throws(() => engine.addMany([['b', BRIDGE]]), told('addManyAsync'));
    assert.equal(engine.has('a'), true, 'reading beside a reader');
    await pending;
    assert.equal(engine.remove('a'), true);
  });

  test('that read are told while the engine is being changed, and not while an input is being read', async () => {
    const engine = new Engine();
    engine.add('a', BRIDGE);
    const seen = [];
    async function* input() {
      await breath();
      if (!engine.has('b')) yield ['b', BRIDGE];
      seen.push(engine.search(BRIDGE).matches.length, engine.searchId('a').matches.length);
    }
    assert.equal((await engine.addManyAsync(input())).added, 1);
    assert.deepEqual(seen, [1, 0]);
    const pending = engine.removeAsync('b');
    await null;
    assert.throws(() => engine.has('a'), { ...BUSY, message: /or use `hasAsync`$/ });
    assert.throws(() => engine.search(BRIDGE), { ...BUSY, message: /or use `searchAsync`$/ });
    assert.throws(() => engine.searchId('a'), { ...BUSY, message: /or use `searchIdAsync`$/ });
    assert.equal(await pending, true);
    assert.equal(engine.has('b'), false);
  });

  test('an input can not wait for the engine that waits for it', async () => {
    const [engine, other] = [new Engine(), new Engine()];
    const late = [];
    let ended;
    const end = new Promise((resolve) => (ended = resolve));
    async function* input(ask) {
      await breath();
      late.push(end.then(() => engine.hasAsync('a')));
      await other.addManyAsync([['fine', BRIDGE]]);
      yield [1, (await ask()) ? BRIDGE : MARKET];
    }
    const walk = async () => {
      for await (const pair of engine.eachPair()) assert.fail(pair);
    };
    for (const ask of [() => engine.hasAsync('a'), () => engine.addManyAsync([]), walk]) {
      await assert.rejects(engine.addManyAsync(input(ask)), { ...BUSY, message: /^the input of an async call of this engine can not wait/ });
    }
    ended();
    assert.deepEqual(await Promise.all(late), [false, false, false], 'what the input started may ask when the input has ended');
  });
});

describe('a walk over pairs', () => {
  const engine = new Engine();
  engine.addMany(Array.from({ length: 150 }, (_, id) => [id, BRIDGE]));

  test('gives all of them, in their order, and tells what it took', async () => {
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

  test('leaves the engine to readers, and writers are told', async () => {
    const busy = { ...BUSY, message: 'a walk with `eachPair` is under way: end it or leave it first' };
    let steps = 0;
    for await (const { a, b } of engine.eachPair()) {
      steps += 1;
      // Whoever takes the first pair has not let the walk come to its end.
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

  test('can be left at any step', async () => {
    for (const last of [1, 999, 1000, 1001, 5000, 11175]) {
      let steps = 0;
      for await (const pair of engine.eachPair()) {
        steps += 1;
        if (steps === last) break;
        assert.ok(pair);
      }
      assert.equal(engine.remove('none'), false, 'free again');
    }
    await assert.rejects(async () => {
      for await (const pair of engine.eachPair()) throw new Error(`no ${pair.a}`);
    }, { message: 'no 0' });
    assert.equal(engine.remove('none'), false);
  });

  test('an addition that came before ends first', async () => {
    const busyOnes = new Engine();
    busyOnes.addMany(Array.from({ length: 50 }, (_, id) => [id, BRIDGE]));
    for (let round = 0; round < 50; round += 1) {
      const added = busyOnes.addManyAsync([['x', BRIDGE]]);
      for (let i = 0; i < round % 5; i += 1) await null;
      let steps = 0;
      for await (const pair of busyOnes.eachPair()) {
        if (steps === 0) assert.equal((await added).added, 1, `${pair.a}`);
        steps += 1;
      }
      assert.equal(steps, (51 * 50) / 2);
      busyOnes.remove('x');
    }
  });

  test('holds the engine until it is left, however few pairs there are', async () => {
    for (const count of [2, 50, 100]) {
      const few = new Engine();
      few.addMany(Array.from({ length: count }, (_, id) => [id, BRIDGE]));
      for await (const { a } of few.eachPair()) {
        await breath();
        assert.throws(() => few.add('x', BRIDGE), BUSY, `${count} documents, at ${a}`);
        await assert.rejects(few.removeAsync(0), BUSY);
        assert.equal(few.has(0) && (await few.hasAsync(0)), true);
      }
      assert.equal(few.add('x', BRIDGE).replaced, false);
    }
  });

  test('that nobody has any more is left', async () => {
    v8.setFlagsFromString('--expose-gc');
    const gc = vm.runInNewContext('gc');
    await (async () => {
      const { done } = await engine.eachPair()[Symbol.asyncIterator]().next();
      assert.equal(done, false);
    })();
    assert.throws(() => engine.remove('none'), BUSY);
    let free = false;
    for (let tries = 0; tries < 100 && !free; tries += 1) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 10));
      free = await engine.removeAsync('none').then(() => true, () => false);
    }
    assert.ok(free);
  });
});
