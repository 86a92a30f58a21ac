// The native addon.
//
// Its errors and typed arrays belong to the realm in which Node loaded it. Test runners such as Jest run this package in
// realms of their own, where `instanceof` does not recognize them. The functions below convert them to the current realm.
'use strict';

const path = require('node:path');

const ADDON = path.join(__dirname, '..', 'sameish.node');

function load() {
  try {
    return require(ADDON);
  } catch (cause) {
    const message = `cannot load the addon \`${ADDON}\`: run \`npm rebuild sameish\``;
    throw Object.assign(new Error(message, { cause }), { code: 'ERR_SAMEISH_ADDON' });
  }
}

/** Returns the result of a call of the addon. Converts its errors. */
function callNative(call) {
  try {
    return call();
  } catch (error) {
    throw localError(error);
  }
}

/** Returns the result of a call of the addon that returns a promise. Converts its errors. */
async function callNativeAsync(call) {
  try {
    return await call();
  } catch (error) {
    throw localError(error);
  }
}

function localError({ code, message }) {
  // napi gives this code to a panic in a synchronous call.
  return Object.assign(new Error(message), { code: code === 'GenericFailure' ? 'ERR_SAMEISH_INTERNAL' : code });
}

/** Returns a typed array of the addon as one of the current realm. Returns `null` and `undefined` unchanged. */
function localArray(array, Kind = Uint32Array) {
  return array instanceof Kind || !array ? array : new Kind(array);
}

module.exports = { callNative, callNativeAsync, localArray, native: load() };
