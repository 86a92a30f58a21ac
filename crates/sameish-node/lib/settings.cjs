// Settings given as options: a setting by its own name (`threshold: 0.7`), or in its section (`matching: { threshold: 0.7 }`).
//
// The names in sections are those of a configuration file, such as `min_words`; the flat names are `minWords` and so on.
'use strict';

const check = require('./check.cjs');
const { native } = require('./native.cjs');

/** Settings that can be given without their section, by their name as an option. */
const FLAT = new Map(native.flatSettings().map((setting) => [camelCase(setting.name), setting]));
const SECTIONS = native.settingSections();
const SETTINGS = [...FLAT.keys(), ...SECTIONS];

/** Settings that `null` removes. For others, `null` means the value of the preset. */
const REMOVABLE = new Set(['stopWords', 'simhash', 'minhash', 'sdr']);

function camelCase(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}

/** Returns the settings among options, in their sections; `undefined` if there are none. */
function sections(options, name = 'options') {
  const settings = {};
  const given = SETTINGS.filter((key) => options[key] !== undefined && (options[key] !== null || REMOVABLE.has(key)));
  for (const key of given.filter((key) => SECTIONS.includes(key))) settings[key] = options[key];
  for (const key of given.filter((key) => FLAT.has(key))) {
    const setting = FLAT.get(key);
    const section = settings[setting.section] ?? {};
    if (typeof section !== 'object' || Array.isArray(section)) {
      throw check.invalidType(`${name}.${setting.section}`, section, 'an object of settings');
    }
    if (section[setting.name] !== undefined) {
      const message = `\`${name}\` has both \`${key}\` and \`${setting.section}.${setting.name}\`: pass one of them`;
      throw check.errorWithCode(TypeError, 'ERR_INVALID_ARG_VALUE', message);
    }
    settings[setting.section] = { ...section, [setting.name]: options[key] };
  }
  return Object.keys(settings).length === 0 ? undefined : settings;
}

module.exports = { SETTINGS, sections };
