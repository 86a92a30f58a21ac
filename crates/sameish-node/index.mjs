// The public names of the package `sameish` for `import`.
import sameish from './index.cjs';

export const {
  areArticlesSimilar,
  BandIndex,
  calculateHammingDistance,
  cluster,
  compare,
  compareAsync,
  computeSimHash,
  decodeSketch,
  dedup,
  distanceToSimilarity,
  encodeSketch,
  Engine,
  fnv1a64,
  fnv1a64Utf8,
  getMatchType,
  groupArticlesBySimilarity,
  groupArticlesBySimilarityAsync,
  hammingDistance,
  HammingIndex,
  isNearDuplicate,
  MinHasher,
  normalize,
  pairs,
  shingle,
  SimHasher,
  tokenize,
} = sameish;
export default sameish;
