// Test data: files of the repository and generated texts.
'use strict';

const { readFileSync } = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..', '..', '..');

/** Reads a file of the repository. */
function read(...parts) {
  return readFileSync(path.join(ROOT, ...parts), 'utf8');
}

/** Reads a JSONL file of the repository. */
function records(...parts) {
  return read(...parts).split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

/** Yields pseudorandom integers below 2^24 from a linear congruential generator. */
function* numbers(seed) {
  let state = seed >>> 0;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state >>> 8;
  }
}

/** Generates `count` texts of `words` words. Every fifth text is the previous one with one word changed. */
function generateTexts(count, words, seed = 1) {
  const random = numbers(seed);
  const next = () => random.next().value;
  const texts = [];
  for (let i = 0; i < count; i += 1) {
    const edited = i % 5 === 4;
    const text = edited ? [...texts[i - 1]] : Array.from({ length: words }, () => `w${next() % 20000}`);
    if (edited) text[next() % words] = 'edited';
    texts.push(text);
  }
  return texts.map((text) => text.join(' '));
}

module.exports = { generateTexts, numbers, read, records };
