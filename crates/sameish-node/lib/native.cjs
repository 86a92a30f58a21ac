// The addon itself.
'use strict';

const path = require('node:path');

const ADDON = path.join(__dirname, '..', 'sameish.node');

function load() {
  try {
    return require(ADDON);
  } catch (cause) {
    const message = `the addon ${ADDON} can not be loaded: run \`npm rebuild sameish\``;
    throw Object.assign(new Error(message, { cause }), { code: 'ERR_SAMEISH_ADDON' });
  }
}

module.exports = load();
