// The public names of the package `sameish` for `import`.
import sameish from './index.cjs';

export const {
  areArticlesSimilar,
  calculateHammingDistance,
  cluster,
  compare,
  compareAsync,
  computeSimHash,
  dedup,
  distanceToSimilarity,
  Engine,
  fnv1a64,
  getMatchType,
  groupArticlesBySimilarity,
  groupArticlesBySimilarityAsync,
  hammingDistance,
  isNearDuplicate,
  MinHasher,
  pairs,
  SimHasher,
} = sameish;
export default sameish;
