// The functions of seed 000, with its names, types and messages.
'use strict';

const native = require('./native.cjs');
const check = require('./check.cjs');
const { gather, groups, items, slices, slicesAsync } = require('./slices.cjs');

const HASH = /^[0-9a-fA-F]{16}$/;
const HASH_MESSAGE = 'Hashes must be 16-character hex strings';
const DEFAULT_THRESHOLD = 3;

function fnv1a64(str) {
  return native.fnv1a64(check.string(str, 'str'));
}

function computeSimHash(text) {
  return native.computeSimHash(check.string(text, 'text'));
}

function hammingDistance(a, b) {
  return native.hammingDistance(check.string(a, 'a'), check.string(b, 'b'));
}

function calculateHammingDistance(hashA, hashB) {
  return native.hammingDistance(hash(hashA), hash(hashB));
}

function isNearDuplicate(a, b, threshold = DEFAULT_THRESHOLD) {
  return hammingDistance(a, b) <= check.number(threshold, 'threshold', 0, Infinity);
}

function distanceToSimilarity(distance) {
  return native.distanceToSimilarity(check.number(distance, 'distance', 0, Infinity));
}

function getMatchType(distance) {
  return native.getMatchType(check.number(distance, 'distance', 0, Infinity));
}

function areArticlesSimilar(a, b, threshold = DEFAULT_THRESHOLD) {
  const [hashA, hashB] = [article(a, 'a').simHash, article(b, 'b').simHash];
  return calculateHammingDistance(hashA, hashB) <= check.number(threshold, 'threshold', 0, Infinity);
}

function groupArticlesBySimilarity(articles, threshold = DEFAULT_THRESHOLD) {
  const gathered = new native.Articles();
  const radius = radiusOf(threshold);
  for (const slice of slices(list(articles), columns)) push(gathered, slice);
  const found = gathered.group(radius);
  return [...groups(found, [...items(found)], articleGroup)];
}

async function groupArticlesBySimilarityAsync(articles, threshold = DEFAULT_THRESHOLD) {
  const gathered = new native.Articles();
  const radius = radiusOf(threshold);
  for await (const slice of slicesAsync(list(articles), columns)) push(gathered, slice);
  const found = await gathered.groupAsync(radius);
  return gather(groups(found, await gather(items(found)), articleGroup));
}

function articleGroup(memberIds, number, averageDistance) {
  return { id: `cluster-${number + 1}`, centerArticleId: memberIds[0], memberIds, averageDistance };
}

function push(gathered, slice) {
  gathered.push(slice.map((one) => one.id), slice.map((one) => one.simHash), slice.map((one) => one.publishedAt));
}

function columns(value, position) {
  const what = `articles[${position}]`;
  const { id, simHash, publishedAt } = article(value, what);
  if (typeof simHash !== 'string' || !HASH.test(simHash)) throw wrongHash(simHash, `: \`${what}.simHash\` is not one`);
  const date = check.date(publishedAt, `${what}.publishedAt`);
  if (date === undefined) throw check.wrongType(`${what}.publishedAt`, publishedAt, 'a string or a Date');
  return { id: check.id(id, `${what}.id`), simHash, publishedAt: date };
}

function article(value, what) {
  if (value === null || typeof value !== 'object') throw check.wrongType(what, value, 'an article');
  return value;
}

function list(articles) {
  if (!Array.isArray(articles)) throw check.wrongType('articles', articles, 'an array');
  return articles;
}

function hash(value) {
  if (typeof value === 'string' && HASH.test(value)) return value;
  throw wrongHash(value, '');
}

/** The documented message; a TypeError where the value is no string at all. */
function wrongHash(value, where) {
  const Wrong = typeof value === 'string' ? Error : TypeError;
  return Object.assign(new Wrong(HASH_MESSAGE + where), { code: 'ERR_SAMEISH_HEX' });
}

/** Bits as the engine takes them: whole, and at most as many as there are. */
function radiusOf(threshold) {
  return Math.min(64, Math.floor(check.number(threshold, 'threshold', 0, Infinity)));
}

module.exports = {
  areArticlesSimilar,
  calculateHammingDistance,
  computeSimHash,
  distanceToSimilarity,
  fnv1a64,
  getMatchType,
  groupArticlesBySimilarity,
  groupArticlesBySimilarityAsync,
  hammingDistance,
  isNearDuplicate,
};
