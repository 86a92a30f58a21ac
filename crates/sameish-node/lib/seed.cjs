// The functions of `news-db-pure-analysis`, with its names, types and messages.
'use strict';

const { asked, askedLater, native } = require('./native.cjs');
const check = require('./check.cjs');
const { gather, groups, items, slices, slicesAsync } = require('./slices.cjs');

const HASH = /^[0-9a-fA-F]{16}$/;
const HASH_MESSAGE = 'Hashes must be 16-character hex strings';
const DEFAULT_THRESHOLD = 3;

function fnv1a64(str) {
  return native.fnv1a64(check.string(str, 'str'));
}

function computeSimHash(text) {
  check.string(text, 'text');
  return asked(() => native.computeSimHash(text));
}

function hammingDistance(a, b) {
  const hashes = [check.string(a, 'a'), check.string(b, 'b')];
  return asked(() => native.hammingDistance(...hashes));
}

function calculateHammingDistance(hashA, hashB) {
  return native.hammingDistance(hash(hashA, 'hashA'), hash(hashB, 'hashB'));
}

function isNearDuplicate(a, b, threshold) {
  return hammingDistance(a, b) <= bits(threshold);
}

function distanceToSimilarity(distance) {
  return native.distanceToSimilarity(check.number(distance, 'distance', 0, Infinity));
}

function getMatchType(distance) {
  return native.getMatchType(check.number(distance, 'distance', 0, Infinity));
}

function areArticlesSimilar(a, b, threshold) {
  const hashes = [hash(article(a, 'a').simHash, 'a.simHash'), hash(article(b, 'b').simHash, 'b.simHash')];
  return native.hammingDistance(...hashes) <= bits(threshold);
}

function groupArticlesBySimilarity(articles, threshold) {
  const gathered = new native.Articles();
  const radius = radiusOf(threshold);
  for (const slice of slices(list(articles), columns)) push(gathered, slice);
  const found = asked(() => gathered.group(radius));
  return [...groups(found, [...items(found)], articleGroup)];
}

async function groupArticlesBySimilarityAsync(articles, threshold) {
  const gathered = new native.Articles();
  const radius = radiusOf(threshold);
  for await (const slice of slicesAsync(list(articles), columns)) push(gathered, slice);
  const found = await askedLater(() => gathered.groupAsync(radius));
  return gather(groups(found, await gather(items(found)), articleGroup));
}

function articleGroup(memberIds, number, averageDistance) {
  return { id: `cluster-${number + 1}`, centerArticleId: memberIds[0], memberIds, averageDistance };
}

function push(gathered, slice) {
  const column = (name) => slice.map((one) => one[name]);
  asked(() => gathered.push(column('id'), column('simHash'), column('publishedAt')));
}

function columns(value, position) {
  const what = `articles[${position}]`;
  const { id, simHash, publishedAt } = article(value, what);
  return {
    id: check.id(id, `${what}.id`),
    simHash: hash(simHash, `${what}.simHash`),
    publishedAt: check.moment(publishedAt, `${what}.publishedAt`),
  };
}

function article(value, what) {
  if (value === null || typeof value !== 'object') throw check.wrongType(what, value, 'an article');
  return value;
}

function list(articles) {
  if (!Array.isArray(articles)) throw check.wrongType('articles', articles, 'an array');
  return articles;
}

/** A fingerprint, or the documented message; a TypeError where the value is no string at all. Its `path` tells which it was. */
function hash(value, path) {
  if (typeof value === 'string' && HASH.test(value)) return value;
  const Wrong = typeof value === 'string' ? Error : TypeError;
  throw Object.assign(check.wrong(Wrong, 'ERR_SAMEISH_HEX', HASH_MESSAGE), { path });
}

function bits(threshold) {
  return check.number(threshold ?? DEFAULT_THRESHOLD, 'threshold', 0, Infinity);
}

/** Bits as the engine takes them: whole, and at most as many as there are. */
function radiusOf(threshold) {
  return Math.min(64, Math.floor(bits(threshold)));
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
