// What the engine sees of a text: its words, its shingles and its normalized form. For teaching and debugging.
'use strict';

const check = require('./check.cjs');
const { analyzerFor } = require('./compare.cjs');
const { callNative } = require('./native.cjs');
const { SETTINGS, sections } = require('./settings.cjs');

function analyzer(options) {
  const { preset, config, ...settings } = check.options(options, ['preset', 'config', ...SETTINGS]);
  return analyzerFor(preset, sections(settings), config);
}

function tokenize(text, options) {
  const chosen = analyzer(options);
  const checked = chosen.text(text);
  return callNative(() => chosen.native.tokenize(checked));
}

function shingle(text, options) {
  const chosen = analyzer(options);
  const checked = chosen.text(text);
  return callNative(() => chosen.native.shingle(checked));
}

function normalize(text, options) {
  const chosen = analyzer(options);
  const checked = chosen.text(check.string(text, 'text'));
  return callNative(() => chosen.native.normalize(checked));
}

module.exports = { normalize, shingle, tokenize };
