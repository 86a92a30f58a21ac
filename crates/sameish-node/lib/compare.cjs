// Two texts side by side.
'use strict';

const check = require('./check.cjs');
const { engineOf } = require('./settings.cjs');

const MIN_TOKENS = 5;
const MOST = 0xffff_ffff;

/** Engines of presets as they are, made once. */
const engines = new Map();

function engineFor(preset, overrides) {
  if (overrides !== undefined) return engineOf(preset, overrides);
  if (!engines.has(preset)) engines.set(preset, engineOf(preset));
  return engines.get(preset);
}

/** What was asked, checked: an engine, two texts and the fewest words of a passage. */
function asked(a, b, options) {
  const { preset, overrides, minTokens } = check.options(options, ['preset', 'overrides', 'minTokens']);
  return [engineFor(preset, overrides), ...texts(a, b), fewest(minTokens)];
}

function texts(a, b) {
  return [check.text(a, 'a'), check.text(b, 'b')];
}

function fewest(minTokens = MIN_TOKENS) {
  return check.integer(minTokens, 'minTokens', 1, MOST);
}

/** Adds the words of each passage, as they stand in the first text. */
function withWords(comparison, a) {
  const text = typeof a === 'string' ? a : a.join(' ');
  for (const passage of comparison.passages) passage.text = text.slice(passage.aStart, passage.aEnd);
  return comparison;
}

function compare(a, b, options) {
  const [engine, ...question] = asked(a, b, options);
  return withWords(engine.compare(...question), a);
}

async function compareAsync(a, b, options) {
  const [engine, ...question] = asked(a, b, options);
  return withWords(await engine.compareAsync(...question), a);
}

module.exports = { compare, compareAsync };
