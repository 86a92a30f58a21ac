// Comparison of two texts.
'use strict';

const { Analyzer } = require('./analyzer.cjs');
const check = require('./check.cjs');
const { collect, takeAll } = require('./chunks.cjs');
const { callNative, callNativeAsync } = require('./native.cjs');
const { SETTINGS, sections } = require('./settings.cjs');

const DEFAULT_MIN_TOKENS = 5;
const OPTIONS = ['preset', 'config', 'overrides', 'minTokens', 'publishedAtA', 'publishedAtB'];

/** Analyzers of presets without overrides. */
const analyzers = new Map();

function analyzerFor(preset, settings, config) {
  if (settings !== undefined || (config !== undefined && config !== null)) return Analyzer.create(preset, settings, config);
  if (!analyzers.has(preset)) analyzers.set(preset, Analyzer.create(preset));
  return analyzers.get(preset);
}

/** Checks the arguments. Returns a native analyzer and the arguments of its method `compare`. */
function prepare(a, b, options) {
  const { preset, config, overrides, minTokens, publishedAtA, publishedAtB, ...settings } = check.options(options, [...OPTIONS, ...SETTINGS]);
  const own = sections(settings);
  const nested = sections(check.options(overrides, SETTINGS, 'overrides'), 'overrides');
  if (own && nested) throw check.invalidType('overrides', overrides, 'absent, because settings are also given as options');
  const analyzer = analyzerFor(preset, own ?? nested, config);
  const min = check.integer(minTokens ?? DEFAULT_MIN_TOKENS, 'minTokens', 1, check.MAX_U32);
  const dates = [check.date(publishedAtA, 'publishedAtA'), check.date(publishedAtB, 'publishedAtB')];
  return { analyzer: analyzer.native, args: [analyzer.text(a, 'a'), analyzer.text(b, 'b'), min, ...dates] };
}

/** Takes the passages of a comparison and adds the text of each one. `a` is the first text or its tokens. */
function* passages(result, a) {
  for (const passage of takeAll(result)) {
    const words = a.slice(passage.aStart, passage.aEnd);
    yield { ...passage, text: typeof words === 'string' ? words : words.join(' ') };
  }
}

function compare(a, b, options) {
  const { analyzer, args } = prepare(a, b, options);
  const result = callNative(() => analyzer.compare(...args));
  return { ...result.measures, passages: [...passages(result, args[0])] };
}

async function compareAsync(a, b, options) {
  const { analyzer, args } = prepare(a, b, options);
  const result = await callNativeAsync(() => analyzer.compareAsync(...args));
  return { ...result.measures, passages: await collect(passages(result, args[0])) };
}

module.exports = { analyzerFor, compare, compareAsync };
