// The public names of the package `sameish`.
'use strict';

module.exports = {
  ...require('./lib/wire.cjs'),
  Engine: require('./lib/engine.cjs').Engine,
  ...require('./lib/functions.cjs'),
  ...require('./lib/compare.cjs'),
  ...require('./lib/hashers.cjs'),
};
