// Sketch vectors that every interface must reproduce: see testdata/sketches/README.md.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Engine, MinHasher, SimHasher } = require('sameish');
const { records } = require('./support/data.cjs');

const ids = records('testdata', 'sketches', 'texts.jsonl').map(({ id }) => id);
const texts = records('testdata', 'sketches', 'texts.jsonl').map(({ text }) => text);

/** Returns a record as `sameish fingerprint` writes it. */
function record(id, sketch, hasher) {
  const fields = { id, status: sketch.status };
  if (sketch.simhash !== undefined) fields.simhash = sketch.simhash;
  if (sketch.minhash !== undefined) fields.minhash = Buffer.from(hasher.toBytes(sketch.minhash)).toString('hex');
  if (sketch.sdr !== undefined) fields.sdr = [...sketch.sdr];
  return fields;
}

for (const preset of ['wire', 'articles', 'sdr', 'headlines', 'web', 'copies']) {
  test(`Engine reproduces the sketch vectors of ${preset}`, async () => {
    const engine = new Engine(preset);
    const expected = records('testdata', 'sketches', `${preset}.jsonl`);
    assert.equal(expected.length, texts.length);
    const hasher = new MinHasher({ rows: engine.config.minhash?.rows });
    const results = [texts.map((text) => engine.sketch(text)), engine.sketchMany(texts), await engine.sketchManyAsync(texts)];
    for (const sketches of results) {
      assert.deepEqual(sketches.map((sketch, i) => record(ids[i], sketch, hasher)), expected);
    }
  });
}

test('SimHasher reproduces the fingerprints of wire', async () => {
  const expected = records('testdata', 'sketches', 'wire.jsonl').map(({ simhash }) => simhash);
  const hasher = new SimHasher();
  assert.deepEqual(texts.map((text) => hasher.sketch(text)), expected);
  assert.deepEqual(hasher.sketchMany(texts), expected);
  assert.deepEqual(await hasher.sketchManyAsync(texts), expected);
});

test('MinHasher reproduces the signatures of copies', async () => {
  const hasher = new MinHasher();
  const signatures = hasher.sketchMany(texts);
  let compared = 0;
  for (const [i, { status, minhash }] of records('testdata', 'sketches', 'copies.jsonl').entries()) {
    // `copies` gives no signature to a text of fewer than 3 words; the hasher does.
    if (status !== 'ok') continue;
    assert.equal(Buffer.from(hasher.toBytes(signatures[i])).toString('hex'), minhash);
    compared += 1;
  }
  assert.ok(compared > texts.length / 2, `${compared} of ${texts.length}`);
  assert.deepEqual(texts.map((text) => hasher.sketch(text)), signatures);
  assert.deepEqual(await hasher.sketchManyAsync(texts), signatures);
});
