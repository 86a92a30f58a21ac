// The addon itself.
//
// What it throws and gives was made in the realm in which Node loaded it. Test runners run this file in realms of their own, whose
// `instanceof` knows nothing of that one.
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

/** What a call of the addon gives; what it throws is an error of this realm, with a code of ours. */
function asked(call) {
  try {
    return call();
  } catch (error) {
    throw ours(error);
  }
}

/** The same for calls that give promises. */
async function askedLater(call) {
  try {
    return await call();
  } catch (error) {
    throw ours(error);
  }
}

function ours({ code, message }) {
  // The binding gives this code to a panic in a call without promise.
  return Object.assign(new Error(message), { code: code === 'GenericFailure' ? 'ERR_SAMEISH_INTERNAL' : code });
}

/** Numbers that the addon gave, as an array of this realm. */
function here(array, Kind = Uint32Array) {
  return array instanceof Kind || !array ? array : new Kind(array);
}

module.exports = { asked, askedLater, here, native: load() };
