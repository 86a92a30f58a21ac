// The public names of the package `sameish`.
'use strict';

module.exports = {
  ...require('./lib/wire.cjs'),
  ...require('./lib/engine.cjs'),
  ...require('./lib/compare.cjs'),
  ...require('./lib/hashers.cjs'),
};
