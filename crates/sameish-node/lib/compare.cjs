// Two texts side by side.
'use strict';

const check = require('./check.cjs');
const { asked, askedLater } = require('./native.cjs');
const { gather, items } = require('./slices.cjs');
const { configOf, engineOf } = require('./settings.cjs');

const MIN_TOKENS = 5;

/** Engines of presets as they are, made once. */
const engines = new Map();

/** An engine, and whether its settings are lossy. */
function engineFor(preset, overrides) {
  const known = overrides === undefined || overrides === null ? engines.get(preset) : undefined;
  if (known !== undefined) return known;
  const engine = engineOf(preset, overrides);
  const made = [engine, configOf(engine).text.lossy];
  if (overrides === undefined || overrides === null) engines.set(preset, made);
  return made;
}

/** What was asked, checked: an engine, two texts and the fewest words of a passage. */
function question(a, b, options) {
  const { preset, overrides, minTokens } = check.options(options, ['preset', 'overrides', 'minTokens']);
  const [engine, lossy] = engineFor(preset, overrides);
  const fewest = check.integer(minTokens ?? MIN_TOKENS, 'minTokens', 1, check.MOST);
  return [engine, check.text(a, 'a', lossy), check.text(b, 'b', lossy), fewest];
}

/** The passages of a comparison, each with its words as they stand in the first text. */
function* passages(list, a) {
  for (const passage of items(list)) {
    const words = a.slice(passage.aStart, passage.aEnd);
    yield { ...passage, text: typeof words === 'string' ? words : words.join(' ') };
  }
}

function compare(a, b, options) {
  const [engine, ...texts] = question(a, b, options);
  const list = asked(() => engine.compare(...texts));
  return { ...list.measures, passages: [...passages(list, texts[0])] };
}

async function compareAsync(a, b, options) {
  const [engine, ...texts] = question(a, b, options);
  const list = await askedLater(() => engine.compareAsync(...texts));
  return { ...list.measures, passages: await gather(passages(list, texts[0])) };
}

module.exports = { compare, compareAsync };
