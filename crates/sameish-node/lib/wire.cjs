// The functions of the FNV-1a SimHash news grouper `news-db-pure-analysis`, with its names, types and messages.
'use strict';

const check = require('./check.cjs');
const { chunks, chunksAsync, clusters, collect, takeAll } = require('./chunks.cjs');
const { callNative, callNativeAsync, native } = require('./native.cjs');

const HASH = /^[0-9a-fA-F]{16}$/;
const HASH_MESSAGE = 'Hashes must be 16-character hex strings';
const DEFAULT_THRESHOLD = 3;
const FINGERPRINT_BITS = 64;

function fnv1a64(str) {
  return native.fnv1a64(check.string(str, 'str'));
}

function fnv1a64Utf8(str) {
  return native.fnv1a64Utf8(check.string(str, 'str'));
}

function computeSimHash(text) {
  check.string(text, 'text');
  return callNative(() => native.computeSimHash(text));
}

function hammingDistance(a, b) {
  const hashes = [check.string(a, 'a'), check.string(b, 'b')];
  return callNative(() => native.hammingDistance(...hashes));
}

function calculateHammingDistance(hashA, hashB) {
  return native.hammingDistance(checkHash(hashA, 'hashA'), checkHash(hashB, 'hashB'));
}

function isNearDuplicate(a, b, threshold) {
  return hammingDistance(a, b) <= checkThreshold(threshold);
}

function distanceToSimilarity(distance) {
  return native.distanceToSimilarity(check.number(distance, 'distance', 0, Infinity));
}

function getMatchType(distance) {
  return native.getMatchType(check.number(distance, 'distance', 0, Infinity));
}

function areArticlesSimilar(a, b, threshold) {
  const hashes = [checkHash(checkArticle(a, 'a').simHash, 'a.simHash'), checkHash(checkArticle(b, 'b').simHash, 'b.simHash')];
  return native.hammingDistance(...hashes) <= checkThreshold(threshold);
}

function groupArticlesBySimilarity(articles, threshold) {
  const list = new native.Articles();
  const radius = toRadius(threshold);
  for (const chunk of chunks(checkArray(articles), readArticle)) push(list, chunk);
  const result = callNative(() => list.group(radius));
  return [...clusters(result, [...takeAll(result)], createGroup)];
}

async function groupArticlesBySimilarityAsync(articles, threshold) {
  const list = new native.Articles();
  const radius = toRadius(threshold);
  for await (const chunk of chunksAsync(checkArray(articles), readArticle)) push(list, chunk);
  const result = await callNativeAsync(() => list.groupAsync(radius));
  return collect(clusters(result, await collect(takeAll(result)), createGroup));
}

function createGroup(memberIds, position, averageDistance) {
  return { id: `cluster-${position + 1}`, centerArticleId: memberIds[0], memberIds, averageDistance };
}

/** Appends a chunk of articles to a native list, as columns. */
function push(list, chunk) {
  const column = (name) => chunk.map((article) => article[name]);
  callNative(() => list.push(column('id'), column('simHash'), column('publishedAt')));
}

/** Checks an article and returns the fields that are used. */
function readArticle(value, position) {
  const name = `articles[${position}]`;
  const { id, simHash, publishedAt } = checkArticle(value, name);
  return {
    id: check.id(id, `${name}.id`),
    simHash: checkHash(simHash, `${name}.simHash`),
    publishedAt: check.timestamp(publishedAt, `${name}.publishedAt`),
  };
}

function checkArticle(value, name) {
  if (value === null || typeof value !== 'object') throw check.invalidType(name, value, 'an article');
  return value;
}

function checkArray(articles) {
  if (!Array.isArray(articles)) throw check.invalidType('articles', articles, 'an array');
  return articles;
}

/** Checks a fingerprint. The message is the one of the original library; the property `path` of the error names the argument. */
function checkHash(value, path) {
  if (typeof value === 'string' && HASH.test(value)) return value;
  const ErrorClass = typeof value === 'string' ? Error : TypeError;
  throw Object.assign(check.errorWithCode(ErrorClass, 'ERR_SAMEISH_HEX', HASH_MESSAGE), { path });
}

function checkThreshold(threshold) {
  return check.number(threshold ?? DEFAULT_THRESHOLD, 'threshold', 0, Infinity);
}

/** Converts a threshold to a radius in whole bits. */
function toRadius(threshold) {
  return Math.min(FINGERPRINT_BITS, Math.floor(checkThreshold(threshold)));
}

module.exports = {
  areArticlesSimilar,
  calculateHammingDistance,
  computeSimHash,
  distanceToSimilarity,
  fnv1a64,
  fnv1a64Utf8,
  getMatchType,
  groupArticlesBySimilarity,
  groupArticlesBySimilarityAsync,
  hammingDistance,
  isNearDuplicate,
};
