// The public names of the package `sameish`.
'use strict';

module.exports = {
  ...require('./lib/wire.cjs'),
  Engine: require('./lib/engine.cjs').Engine,
  ...require('./lib/functions.cjs'),
  compare: require('./lib/compare.cjs').compare,
  compareAsync: require('./lib/compare.cjs').compareAsync,
  ...require('./lib/hashers.cjs'),
  ...require('./lib/indexes.cjs'),
  ...require('./lib/inspect.cjs'),
  ...require('./lib/stored.cjs'),
};
