// The package `sameish`: what others may use.
'use strict';

module.exports = {
  ...require('./lib/seed.cjs'),
  ...require('./lib/engine.cjs'),
  ...require('./lib/compare.cjs'),
  ...require('./lib/hashers.cjs'),
};
