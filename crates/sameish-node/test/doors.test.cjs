// The sketches that every door must give: see testdata/doors.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Engine, MinHasher, SimHasher } = require('sameish');
const { records } = require('./support/data.cjs');

const texts = records('testdata', 'doors', 'texts.jsonl');

/** A line as `sameish fingerprint` writes it. */
function line(id, sketch, hasher) {
  const made = { id, status: sketch.status };
  if (sketch.simhash !== undefined) made.simhash = sketch.simhash;
  if (sketch.minhash !== undefined) made.minhash = Buffer.from(hasher.toBytes(sketch.minhash)).toString('hex');
  if (sketch.sdr !== undefined) made.sdr = [...sketch.sdr];
  return made;
}

for (const preset of ['wire', 'articles', 'sdr', 'headlines', 'web', 'copies']) {
  test(`sketches of ${preset}`, async () => {
    const engine = new Engine(preset);
    const expected = records('testdata', 'doors', `${preset}.jsonl`);
    assert.equal(expected.length, texts.length);
    const all = texts.map(({ text }) => text);
    const hasher = new MinHasher({ rows: engine.config.minhash?.rows });
    const made = [all.map((text) => engine.sketch(text)), engine.sketchMany(all), await engine.sketchManyAsync(all)];
    for (const sketches of made) {
      assert.deepEqual(sketches.map((sketch, i) => line(texts[i].id, sketch, hasher)), expected);
    }
  });
}

test('hashers give the sketches of their presets', async () => {
  const all = texts.map(({ text }) => text);
  const wire = records('testdata', 'doors', 'wire.jsonl').map(({ simhash }) => simhash);
  const simHasher = new SimHasher();
  assert.deepEqual(all.map((text) => simHasher.sketch(text)), wire);
  assert.deepEqual(simHasher.sketchMany(all), wire);
  assert.deepEqual(await simHasher.sketchManyAsync(all), wire);
  const minHasher = new MinHasher();
  const signatures = minHasher.sketchMany(all);
  for (const [i, { status, minhash }] of records('testdata', 'doors', 'copies.jsonl').entries()) {
    if (status !== 'ok') continue;
    assert.equal(Buffer.from(minHasher.toBytes(signatures[i])).toString('hex'), minhash);
  }
  assert.deepEqual(await minHasher.sketchManyAsync(all), signatures);
});
