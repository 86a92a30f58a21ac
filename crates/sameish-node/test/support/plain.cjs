// Reference implementation of the FNV-1a SimHash news grouper in plain JavaScript: slow, simple, and independent of the engine.
'use strict';

const MASK = (1n << 64n) - 1n;

/** Hashes numbers, one per step. */
function fnv1a(steps) {
  let hash = 0xcbf29ce484222325n;
  for (const step of steps) hash = ((hash ^ BigInt(step)) * 0x100000001b3n) & MASK;
  return hash;
}

function fnv1a64(text) {
  return fnv1a(Array.from({ length: text.length }, (_, i) => text.charCodeAt(i)));
}

function fnv1a64Utf8(text) {
  return fnv1a(new TextEncoder().encode(text));
}

/** Returns the words of at least two characters, in lower case. */
function words(text) {
  return text.toLowerCase().match(/[a-z0-9_]{2,}/g) ?? [];
}

function computeSimHash(text) {
  const sums = new Array(64).fill(0);
  for (const word of words(text)) {
    const hash = fnv1a64(word);
    for (let bit = 0; bit < 64; bit += 1) sums[bit] += (hash >> BigInt(bit)) & 1n ? 1 : -1;
  }
  const fingerprint = sums.reduce((bits, sum, bit) => (sum > 0 ? bits | (1n << BigInt(bit)) : bits), 0n);
  return fingerprint.toString(16).padStart(16, '0');
}

function hammingDistance(a, b) {
  let differing = BigInt(`0x${a}`) ^ BigInt(`0x${b}`);
  let count = 0;
  for (; differing > 0n; differing >>= 1n) count += Number(differing & 1n);
  return count;
}

/** Compares all pairs, starting with the newest article. */
function groupArticlesBySimilarity(articles, threshold = 3) {
  let rest = [...articles].sort((a, b) => Date.parse(b.publishedAt) - Date.parse(a.publishedAt));
  const groups = [];
  while (rest.length > 0) {
    const [center] = rest;
    const near = (article) => hammingDistance(article.simHash, center.simHash) <= threshold;
    const members = rest.filter(near);
    const total = members.reduce((sum, article) => sum + hammingDistance(article.simHash, center.simHash), 0);
    groups.push({
      id: `cluster-${groups.length + 1}`,
      centerArticleId: center.id,
      memberIds: members.map((article) => article.id),
      averageDistance: total / Math.max(1, members.length - 1),
    });
    rest = rest.filter((article) => !near(article));
  }
  return groups;
}

module.exports = { computeSimHash, fnv1a64, fnv1a64Utf8, groupArticlesBySimilarity, hammingDistance };
