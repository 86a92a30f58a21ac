// The public names of the package `sameish` for `import`.
import sameish from './index.cjs';

export const {
  areArticlesSimilar,
  calculateHammingDistance,
  compare,
  compareAsync,
  computeSimHash,
  distanceToSimilarity,
  Engine,
  fnv1a64,
  getMatchType,
  groupArticlesBySimilarity,
  groupArticlesBySimilarityAsync,
  hammingDistance,
  isNearDuplicate,
  MinHasher,
  SimHasher,
} = sameish;
export default sameish;
