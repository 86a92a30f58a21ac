// The functions `dedup`, `pairs` and `cluster`, over documents in memory and in files.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { gzipSync } = require('node:zlib');
const { after, describe, test } = require('node:test');
const { cluster, compare, dedup, Engine, pairs } = require('sameish');
const { generateTexts } = require('./support/data.cjs');

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'sameish-functions-'));
after(() => fs.rmSync(directory, { recursive: true }));
const pathOf = (name) => path.join(directory, name);

function write(name, content) {
  fs.writeFileSync(pathOf(name), content);
  return pathOf(name);
}

const texts = generateTexts(300, 30);
const documents = texts.map((text, i) => ({ id: `doc-${i}`, text, source: i % 2 ? 'north' : 'south' }));
const dateOf = (i) => `2024-01-${10 + (i % 20)}`;
const jsonl = documents.map((document, i) => `${JSON.stringify({ ...document, published_at: dateOf(i) })}\n`).join('');
const file = write('news.jsonl', jsonl);
const kept = texts.map((_, row) => row).filter((row) => row % 5 !== 4);
const [OLD, COPY, OTHER] = ['the old bridge over the river is closed', 'The old bridge over the river is closed!', 'markets were calm on monday morning'];

describe('answers', () => {
  test('of all functions are those of an engine', async () => {
    const engine = new Engine();
    engine.addMany(documents);
    const { pairs: expected } = engine.pairs();
    assert.equal(expected.length, 60);
    assert.deepEqual((await pairs(documents)).pairs, expected);
    assert.deepEqual((await pairs(file, { idField: 'id' })).pairs, expected);
    assert.deepEqual((await cluster(documents)).clusters, engine.clusters().clusters);
    assert.deepEqual((await cluster(file, { idField: 'id' })).clusters, engine.clusters().clusters);
    assert.deepEqual((await cluster(documents, { minSize: 2 })).clusters.length, 60);
  });

  test('of dedup are the kept rows, and take selects them', async () => {
    for (const data of [texts, documents, file, new Set(texts)]) {
      const found = await dedup(data);
      assert.deepEqual(found.kept, kept);
      assert.deepEqual([found.removed.length, found.known, found.unused], [60, [], []]);
      assert.deepEqual(found.take(texts), kept.map((row) => texts[row]));
      assert.deepEqual([found.summary.documents, found.summary.kept, found.summary.removed, found.summary.clusters], [300, 240, 60, 60]);
      assert.equal(found.clusters[0].members.length, 2);
    }
  });

  test('contain ids if documents have them, and rows otherwise', async () => {
    assert.deepEqual((await dedup([OLD, OTHER, COPY])).removedIds, [2]);
    assert.deepEqual((await dedup([{ id: 7n, text: OLD }, { id: 'b', text: COPY }])).removedIds, ['b']);
    assert.deepEqual((await dedup([{ id: 7n, text: OLD }, { id: 'b', text: COPY }])).clusters[0].members, [7, 'b']);
    assert.deepEqual((await dedup(file)).removedIds[0], 4);
    assert.deepEqual((await dedup(file, { idField: 'id' })).removedIds[0], 'doc-4');
    assert.deepEqual((await pairs([OLD, COPY])).pairs.map(({ a, b }) => [a, b]), [[0, 1]]);
  });

  test('are the same for every format, and for paths in every form', async () => {
    const rows = documents.map(({ id, text }) => `${id};${text}\n`).join('');
    const files = [
      pathToFileURL(file), write('news.jsonl.gz', gzipSync(jsonl)), write('news.txt', texts.join('\n')), pathOf('news.*.gz'),
      { paths: [write('a.jsonl', jsonl.slice(0, jsonl.indexOf('{"id":"doc-100"'))), write('b.jsonl', jsonl.slice(jsonl.indexOf('{"id":"doc-100"')))] },
    ];
    for (const data of files) assert.deepEqual((await dedup(data)).kept, kept);
    const table = write('news.csv', `id;text\n${rows}`);
    assert.deepEqual((await dedup(table, { delimiter: ';' })).kept, kept);
    await assert.rejects(dedup(table), { code: 'ERR_SAMEISH_INPUT', message: /no column `text`.*set the separator with `delimiter`/ });
  });

  test('read iterables that wait, tokens, and keys of other names', async () => {
    async function* stream() {
      for (const text of [OLD, OTHER, COPY]) yield { body: text };
    }
    assert.deepEqual((await dedup(stream(), { textField: 'body' })).kept, [0, 1]);
    assert.deepEqual((await dedup([{ tokens: OLD.split(' ') }, { tokens: OLD.split(' ') }])).kept, [0]);
  });
});

describe('options', () => {
  test('keep, perSource and against select documents', async () => {
    const dated = [
      { id: 1, text: OLD, publishedAt: '2024-01-01', source: 'a' },
      { id: 2, text: COPY, publishedAt: new Date('2024-03-01'), source: 'a' },
      { id: 3, text: `${OLD}.....`, publishedAt: '2024-02-01', source: 'b' },
    ];
    assert.deepEqual((await dedup(dated)).keptIds, [1]);
    assert.deepEqual((await dedup(dated, { keep: 'newest' })).keptIds, [2]);
    assert.deepEqual((await dedup(dated, { keep: 'longest' })).keptIds, [3]);
    assert.deepEqual((await dedup(dated, { perSource: true })).keptIds, [1, 3]);
    const found = await dedup([OTHER, COPY], { against: [OLD] });
    assert.deepEqual([found.kept, found.known, found.summary.known], [[0], [1], 1]);
    assert.deepEqual((await dedup(file, { keep: 'newest', dateField: 'published_at' })).removed[0], 3);
    assert.equal((await dedup(file, { perSource: true })).kept.length, 300, 'copies have another source');
  });

  test('settings can be flat, in sections, or in a configuration file', async () => {
    const near = [OLD, 'the old bridge over the river is open'];
    assert.equal((await pairs(near)).pairs.length, 0);
    for (const options of [{ threshold: 0.5 }, { matching: { threshold: 0.5 } }, { config: '[matching]\nthreshold = 0.5\n' }]) {
      assert.equal((await pairs(near, options)).pairs.length, 1);
      assert.equal(new Engine(options).config.matching.threshold, 0.5);
      assert.equal(new Engine('copies', options).config.matching.threshold, 0.5);
    }
    assert.equal(new Engine({ preset: 'headlines', stopWords: null, minWords: 7 }).config.text.min_words, 7);
    assert.equal(new Engine({ preset: 'headlines', stopWords: null }).config.text.stop_words, undefined);
    assert.deepEqual(new Engine({}).config, new Engine().config);
    assert.equal(compare(OLD, COPY, { minhash: null, simhash: { radius: 3, shingle: 'words:1', hash: 'fnv1a', weighting: 'frequency' }, verify: false }).minhashSimilarity, undefined);
    assert.throws(() => new Engine({ threshold: 0.5, matching: { threshold: 0.6 } }), { code: 'ERR_INVALID_ARG_VALUE', message: /has both `threshold` and `matching.threshold`/ });
  });

  test('HTML and accents can be removed, and offsets refer to the original text', async () => {
    const [html, plain] = ['<p>Le caf&eacute; du <b>port</b> est ouvert ce soir', 'Le cafe du port est ouvert ce soir'];
    const options = { html: true, foldAccents: true };
    const comparison = compare(html, plain, options);
    assert.equal(comparison.matchType, 'exact');
    assert.equal(html.slice(comparison.passages[0].aStart, comparison.passages[0].aEnd), html.slice(3));
    assert.equal((await pairs([html, plain], options)).pairs.length, 1);
    assert.equal((await pairs([html, plain])).pairs.length, 0);
    assert.equal(new Engine(options).config.text.fold_accents, true);
    assert.equal(new Engine().config.text.html, undefined);
  });

  test('an unknown option is an error that names the nearest known one', async () => {
    const unknown = (key, name) => ({ name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE', message: new RegExp(`unknown key "${key}": did you mean \`${name}\``) });
    await assert.rejects(dedup(texts, { treshold: 0.7 }), unknown('treshold', 'threshold'));
    await assert.rejects(dedup(texts, { max_removed: 1 }), unknown('max_removed', 'maxRemoved'));
    await assert.rejects(cluster(texts, { min_size: 1 }), unknown('min_size', 'minSize'));
    assert.throws(() => new Engine({ min_words: 3 }), unknown('min_words', 'minWords'));
    assert.throws(() => new Engine('copies', { tresholds: 3 }), unknown('tresholds', 'threshold'));
    await assert.rejects(dedup(texts, { colour: 'red' }), { message: /unknown key "colour": expected one of keep, / });
  });

  test('limitPairs stops early', async () => {
    const { pairs: found, complete } = await pairs(texts, { limitPairs: 3 });
    assert.deepEqual([found.length, complete], [3, false]);
    assert.equal((await pairs(texts, { limitPairs: 60 })).complete, true);
  });

  test('threads and memory do not change the answer', async () => {
    const { kept: found } = await dedup(file, { threads: 1, maxMemory: 64 << 20, tempDir: directory });
    assert.deepEqual(found, kept);
  });
});

describe('output', () => {
  test('contains the kept records byte for byte, and is replaced only if that is allowed', async () => {
    const output = pathOf('kept.jsonl');
    const found = await dedup(file, { output });
    const lines = fs.readFileSync(output, 'utf8');
    assert.equal(lines, found.take(jsonl.trimEnd().split('\n')).map((line) => `${line}\n`).join(''));
    await assert.rejects(dedup(file, { output }), { code: 'EEXIST', message: /pass `overwrite: true`/ });
    await dedup(file, { output, overwrite: true, threshold: 0.99 });
    assert.equal(fs.readFileSync(output, 'utf8'), jsonl, 'only equal texts match');
    await assert.rejects(dedup(file, { output, overwrite: true, maxRemoved: 0.1 }), { code: 'ERR_SAMEISH_LIMIT', message: /^20\.0 % of the documents/ });
    assert.equal(fs.readFileSync(output, 'utf8'), jsonl);
    await assert.rejects(dedup(file, { output: file, overwrite: true }), { code: 'ERR_SAMEISH_OPTION', message: /is also the input/ });
    await assert.rejects(dedup(file, { output: pathOf('kept.csv') }), { code: 'ERR_SAMEISH_OPTION', message: /suffix of CSV/ });
    await assert.rejects(dedup(file, { output: pathOf('missing/kept.jsonl') }), { code: 'ENOENT' });
    await assert.rejects(dedup(texts, { output }), { code: 'ERR_SAMEISH_OPTION', message: /use `take` of the result/ });
    await assert.rejects(dedup(file, { output: '-' }), { code: 'ERR_SAMEISH_OPTION', message: /`output` is `-`/ });
  });

  test('of a call that fails or is aborted is not written', async () => {
    const before = fs.readdirSync(directory);
    const bad = write('bad.jsonl', `${jsonl}{"id":\n`);
    await assert.rejects(dedup(bad, { output: pathOf('new.jsonl') }), { code: 'ERR_SAMEISH_RECORD', message: /line 301.*or pass `onBad: 'skip'`/ });
    assert.equal((await dedup(bad, { onBad: 'skip' })).summary.rejected, 1);
    assert.deepEqual((await dedup(bad, { onBad: 'skip' })).unused, [300]);
    const controller = new AbortController();
    const call = dedup(file, { output: pathOf('new.jsonl'), signal: controller.signal });
    controller.abort(new Error('enough'));
    await assert.rejects(call, { message: 'enough' });
    assert.deepEqual(fs.readdirSync(directory).sort(), [...before, 'bad.jsonl'].sort());
  });
});

describe('mistakes', () => {
  const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };

  test('in the data are errors that say what to pass', async () => {
    const cases = [
      [['a.jsonl', 'b.jsonl'], { code: 'ERR_INVALID_ARG_VALUE', message: /array of paths.*pass `\{ paths: \[\.\.\.\] \}`/ }],
      [{ a: OLD }, { ...TYPE, message: /pass the values of an object as `Object.values\(data\)`/ }],
      [new Map([['a', OLD]]), { ...TYPE, message: /^`data\[0\]` is an array: must be a string, or an object with `text`/ }],
      [undefined, { ...TYPE, message: /^`data` is undefined/ }],
      [[OLD, null], { ...TYPE, message: /^`data\[1\]` is null/ }],
      [[{ id: 1, body: OLD }], { ...TYPE, message: /^`data\[0\].text` is undefined.*the keys are `id`, `body`: name the text with `textField`/ }],
      [[{ id: 1, text: OLD }, { text: COPY }], { message: /`data\[1\]` has no id, but earlier documents have one/ }],
      [[{ text: OLD }, { id: 1, text: COPY }], { message: /`data\[1\]` has an id, but earlier documents have none/ }],
      [[{ id: 1, text: OLD }, { id: 1, text: COPY }], { code: 'ERR_SAMEISH_REPEATED_ID' }],
      [[{ id: 1, text: OLD, published_at: '2024-01-01' }], { message: /use `publishedAt`, or pass `dateField: 'published_at'`/ }],
      [pathOf('missing.jsonl'), { code: 'ENOENT', message: /missing\.jsonl/ }],
      [OLD, { code: 'ENOENT', message: /no such file.*a string is a path: pass an array to compare texts/ }],
      [pathOf('missing/*.jsonl'), { message: /missing/ }],
    ];
    for (const [data, error] of cases) await assert.rejects(dedup(data), error);
  });

  test('in options are errors that name the option', async () => {
    const cases = [
      [{ textField: 'abstract' }, { code: 'ERR_SAMEISH_OPTION', message: /no field `abstract`.*change `textField`/ }],
      [{ idField: 'key' }, { code: 'ERR_SAMEISH_OPTION', message: /change `idField`/ }],
      [{ keep: 'newest' }, { code: 'ERR_SAMEISH_OPTION', message: /`dateField`/ }],
      [{ keep: 'best' }, { code: 'ERR_SAMEISH_OPTION', message: '`keep` is `best`: must be `first`, `longest` or `newest`' }],
      [{ format: 'xml' }, { code: 'ERR_SAMEISH_OPTION', message: /^`format` is `xml`: must be `jsonl`/ }],
      [{ delimiter: ';;' }, { code: 'ERR_SAMEISH_OPTION', message: /^`delimiter` is `;;`/ }],
      [{ onBad: 'reject' }, { code: 'ERR_SAMEISH_OPTION', message: /^`onBad` is `reject`/ }],
      [{ maxMemory: 1000 }, { code: 'ERR_SAMEISH_OPTION', message: /^`maxMemory` must be at least 67108864 bytes/ }],
      [{ maxRemoved: 90 }, { code: 'ERR_OUT_OF_RANGE' }],
      [{ threads: 0 }, { code: 'ERR_OUT_OF_RANGE' }],
      [{ preset: 'sdr' }, { code: 'ERR_SAMEISH_OPTION', message: /does not support this configuration/ }],
      [{ signal: true }, TYPE],
      [{ onProgress: true }, TYPE],
      [{ perSource: 'yes' }, TYPE],
      [{ against: [OLD] }, { code: 'ERR_SAMEISH_OPTION', message: /`against` must be of the same kind/ }],
      [{ against: pathOf('missing.jsonl') }, { code: 'ENOENT' }],
    ];
    for (const [options, error] of cases) await assert.rejects(dedup(file, options), error);
    await assert.rejects(dedup(texts, { format: 'csv' }), { message: /^`format` is for files/ });
    await assert.rejects(dedup(texts, { keep: 'newest' }), { message: /no document has a `publishedAt`/ });
    await assert.rejects(dedup(texts, { perSource: true }), { message: /no document has a `source`/ });
    await assert.rejects(dedup(pathOf('news.txt'), { perSource: true }), { code: 'ERR_SAMEISH_OPTION', message: /no record has a source/ });
  });

  test('a text field that was chosen is announced by a warning', async () => {
    const warned = new Promise((resolve) => process.once('warning', resolve));
    await dedup(write('body.jsonl', `${JSON.stringify({ body: OLD })}\n`));
    const { name, message } = await warned;
    assert.deepEqual([name, message], ['SameishWarning', 'no `text` field; using `body`']);
  });
});

describe('long calls', () => {
  const long = generateTexts(20_000, 150);

  test('report their progress, and do not block the event loop', async () => {
    const reports = [];
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 5);
    await dedup(long, { threads: 1, onProgress: (done, total) => reports.push([done, total]) });
    clearInterval(timer);
    assert.ok(turns > 5, `${turns}`);
    assert.deepEqual(reports.at(-1), [20_000, 20_000]);
    assert.ok(reports.length > 2 && reports.every(([done, total], i) => done <= total && (i === 0 || done >= reports[i - 1][0])), `${reports}`);
  });

  test('end if they are aborted, or if onProgress throws', async () => {
    const big = write('long.jsonl', long.map((text) => `${JSON.stringify({ text })}\n`).join(''));
    for (const data of [long, big]) {
      await assert.rejects(dedup(data, { threads: 1, signal: AbortSignal.timeout(30) }), { name: 'TimeoutError' });
      const thrown = new RangeError('mine');
      await assert.rejects(dedup(data, { threads: 1, onProgress: () => { throw thrown; } }), (error) => error === thrown);
    }
    await assert.rejects(pairs(texts, { signal: AbortSignal.abort() }), { name: 'AbortError' });
    assert.deepEqual(fs.readdirSync(directory).filter((name) => name.startsWith('.')), []);
  });
});

describe('evidence', () => {
  test('differences are those of all interfaces, in UTF-16 units', () => {
    const cases = JSON.parse(fs.readFileSync(path.join(__dirname, '../../../testdata/differences.json'), 'utf8'));
    for (const { a, b, differences } of cases) {
      const shown = compare(a, b).differences.map((found) => ({
        kind: found.kind,
        a: a.slice(found.aStart, found.aEnd),
        b: b.slice(found.bStart, found.bEnd),
      }));
      assert.deepEqual(shown, differences);
    }
  });

  test('of recall is an estimate with an interval', async () => {
    const town = texts.slice(0, 40).map((_, i) => `${OLD} for repairs until the next spring in the town number ${i}`);
    const results = [await pairs(town), await cluster(town, { templates: 'merge' }), (await dedup(town, { templates: 'merge' })).summary];
    for (const { expectedRecall, expectedRecallInterval: [low, high], omitted, capped } of results) {
      assert.ok(low > 0.9 && low <= expectedRecall && expectedRecall <= high && high <= 1);
      assert.deepEqual([omitted, capped], [0, 0]);
    }
    const none = await pairs([OLD, OTHER]);
    assert.deepEqual([none.expectedRecall, none.expectedRecallInterval], [new Engine().expectedRecall, null]);
    assert.equal((await pairs(town, { preset: 'wire' })).expectedRecall, null);
  });
});

describe('templates', () => {
  test('are listed as requested', async () => {
    const words = Array.from({ length: 60 }, (_, i) => `word${i}`);
    const notice = (cents, day, record) =>
      `Northern Steel Corp sets its regular quarterly dividend of ${cents} cents a share, payable on April ${day} to holders of record on April ${record}`;
    const data = [words.join(' '), words.with(30, 'other').join(' '), notice(10, 15, 2), notice(35, 28, 9)];
    const listed = async (options) => (await pairs(data, { threshold: 0.3, ...options })).pairs.map(({ a, b }) => `${a}-${b}`);
    assert.deepEqual(await listed({}), ['0-1', '2-3']);
    assert.deepEqual(await listed({ templates: 'include' }), ['0-1', '2-3']);
    assert.deepEqual(await listed({ templates: 'exclude' }), ['0-1']);
    assert.deepEqual(await listed({ templates: 'only' }), ['2-3']);
    await assert.rejects(listed({ templates: 'keep' }), { code: 'ERR_SAMEISH_OPTION' });
  });
});

describe('dates', () => {
  test('are read only where the result depends on them', async () => {
    const dated = [{ text: OLD, publishedAt: 'soon' }, { text: COPY, publishedAt: 'late' }];
    assert.deepEqual((await dedup(dated)).kept, [0]);
    assert.equal((await pairs(dated)).pairs.length, 1);
    assert.equal((await pairs(dated, { preset: 'wire' })).complete, true);
    assert.equal((await cluster(dated)).clusters.length, 1);
    await assert.rejects(dedup(dated, { keep: 'newest' }), /data\[0\]\.publishedAt/);
    await assert.rejects(cluster(dated, { linkage: 'greedy' }), /data\[0\]\.publishedAt/);
  });
});

test('verified pairs and comparisons have a relation', async () => {
  const base = 'The council voted on Monday to close the old bridge over the river for repairs until next spring';
  const excerpt = base.split(' ').slice(0, 9).join(' ');
  const update = `${base} after a long debate with the mayor`;
  assert.equal(compare(excerpt, base, { threshold: 0.3 }).relation, 'contained_in');
  assert.equal(compare(base, 'markets were calm').relation, null);
  const dates = { publishedAtA: new Date('2026-11-19'), publishedAtB: '2026-11-18' };
  assert.equal(compare(update, base, dates).relation, 'update_of');
  assert.equal(compare(update, base).relation, 'contains');
  assert.throws(() => compare(update, base, { publishedAtA: 'soon' }), { code: 'ERR_SAMEISH_INVALID_FIELD', message: /publishedAtA/ });
  const records = [[base, '2026-11-18'], [excerpt], [update, '2026-11-19'], [base.toUpperCase(), '2026-11-20']]
    .map(([text, publishedAt], id) => ({ id, text, publishedAt }));
  const engine = new Engine({ threshold: 0.3 });
  engine.addMany(records);
  const expected = ['0 1 contains', '0 2 updated_by', '0 3 same', '1 2 contained_in', '1 3 contained_in', '2 3 contains'];
  for (const found of [engine.pairs(), await pairs(records, { threshold: 0.3 })]) {
    assert.deepEqual(found.pairs.map(({ a, b, relation }) => `${a} ${b} ${relation}`).sort(), expected);
  }
  const relations = ({ matches }) => matches.map(({ id, relation }) => `${id} ${relation}`).sort();
  assert.deepEqual(relations(engine.searchId(2)), ['0 update_of', '1 contains', '3 contains']);
  assert.deepEqual(relations(engine.search(base)), ['0 same', '1 contains', '2 contained_in', '3 same']);
  const unverified = await pairs([base, base], { preset: 'wire' });
  assert.deepEqual(unverified.pairs.map(({ relation }) => relation), [null]);
});
