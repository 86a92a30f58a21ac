// Read by the TypeScript compiler, never run: every export with its types, and uses that must not compile.
import sameish, {
  areArticlesSimilar, calculateHammingDistance, compare, compareAsync, computeSimHash, distanceToSimilarity, Engine, fnv1a64,
  getMatchType, groupArticlesBySimilarity, groupArticlesBySimilarityAsync, hammingDistance, isNearDuplicate, MinHasher, SimHasher,
} from 'sameish';
import type { Added, ArticleGroup, ArticleInput, Clusters, Comparison, DocId, MatchType, Overrides, Pairs, Search, Sketch } from 'sameish';

const hash: bigint = fnv1a64('hello');
const print: string = computeSimHash('text');
const bits: number = hammingDistance(print, print) + calculateHammingDistance(print, print);
const near: boolean = isNearDuplicate(print, print) && isNearDuplicate(print, print, 3);
const share: number = distanceToSimilarity(bits);
const word: MatchType = getMatchType(bits);
const article: ArticleInput = { id: '1', headline: '...', simHash: print, publishedAt: '2024-01-01', sourceDomain: 'a.com' };
const alike: boolean = areArticlesSimilar(article, article, 3);
const groups: ArticleGroup[] = groupArticlesBySimilarity([article]);
const later: Promise<ArticleGroup[]> = groupArticlesBySimilarityAsync([article], 3);
const numbered: ArticleGroup<number>[] = groupArticlesBySimilarity([{ id: 7, simHash: print, publishedAt: new Date() }]);

// Article literals as its users write them, with fields that nobody here knows, and an interface of theirs.
const literal: ArticleGroup[] = groupArticlesBySimilarity([
  { id: 'a1', headline: '...', simHash: 'aaaaaaaaaaaaaaaa', publishedAt: '2024-01-01T12:00:00Z', sourceDomain: 'x.com', words: 3 },
]);
const similar: boolean = areArticlesSimilar({ id: '1', simHash: print }, { id: 2, headline: '...', simHash: print, sourceDomain: 'b.com' }, null);
interface Mine { id: string; simHash: string; publishedAt: string }
const mine = (articles: readonly Mine[]): ArticleGroup[] => groupArticlesBySimilarity(articles, 3);
const mixed: ArticleGroup<string | number>[] = groupArticlesBySimilarity([{ id: 7 as string | number, simHash: print, publishedAt: new Date() }]);

const overrides: Overrides = { sdr: { excludes: ['the'], vocabulary: { a: 3 }, sparsity: null }, matching: { threshold: undefined }, text: { stop_words: null }, minhash: null };
const nullable: { id: string; text: string | null; title: string }[] = [];
const stored: Promise<Engine> = Engine.loadAsync('file');
const bytes: Uint8Array = Engine.load(new URL('file:///engine')).toBytes();

const engine = new Engine('headlines', { matching: { threshold: 0.6 }, text: { stop_words: null } });
const added: Added = engine.addMany([{ id: 1, text: 'a' }, [2n, 'b'], ['c', ['tokens']]]);
engine.addMany(nullable);
engine.addMany([{ id: 1, text: null, title: 'a', other: 3 }]);
engine.addMany(new Map([['a', 'b']]));
const removed: Promise<boolean> = engine.removeAsync(1);
const othersLater: Promise<Search | null> = engine.searchIdAsync(1, null);
const found: Search = engine.search('text', { limit: 3, minSimilarity: 0.5 });
const ids: DocId[] = found.matches.map(({ id }) => id);
const others: Search | null = engine.searchId(1);
const pairs: Promise<Pairs> = engine.pairsAsync({ limit: 10 });
const clusters: Clusters = engine.clusters();
const sketch: Sketch = engine.sketch(['tokens']);
const code: Uint32Array | undefined = sketch.sdr;
const comparison: Comparison = compare('a', 'b', { preset: 'articles', minTokens: 3 });
const soon: Promise<Comparison> = compareAsync('a', 'b');
const signature: Uint32Array | null = new MinHasher({ rows: 64, shingle: 'words:3' }).sketch('text');
const weighted: string = new SimHasher({ hash: 'xxh3' }).sketch(new BigUint64Array(2), new Float64Array(2));
async function* stream(): AsyncGenerator<[number, string]> { yield [1, 'a']; }
const streamed: Promise<Added> = engine.addManyAsync(stream());
const same: typeof Engine = sameish.Engine;

const walk = engine.eachPair();
for await (const { a, b, matchType } of walk) ids.push(a, b, matchType, walk.effort?.capped ?? 0);

// @ts-expect-error a text is a string
computeSimHash(3);
// @ts-expect-error no such preset
new Engine('wires');
// @ts-expect-error no such setting
new Engine('wire', { matching: { treshold: 0.6 } });
// @ts-expect-error an article has a fingerprint
groupArticlesBySimilarity([{ id: '1', publishedAt: '2024-01-01' }]);
// @ts-expect-error a list has no holes
overrides.sdr = { excludes: [null] };
// @ts-expect-error a threshold there must be
overrides.matching = { threshold: null };
// @ts-expect-error it is publishedAt
engine.addMany([{ id: 1, text: 'a', published_at: '2024-01-01' }]);
// @ts-expect-error no such option
engine.search('text', { limits: 3 });
// @ts-expect-error the size is what it is
engine.size = 3;
// @ts-expect-error it may be null
signature.length;
// @ts-expect-error a document has an id
engine.addMany([{ text: 'a' }]);

export { bytes, othersLater, literal, mine, mixed, removed, similar, stored, added, alike, clusters, code, comparison, groups, hash, ids, later, near, numbered, others, pairs, same, share, soon, streamed, weighted, word };
