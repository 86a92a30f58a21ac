// Checked by the TypeScript compiler, never run: every export with its types, and uses that must not compile.
import sameish, {
  areArticlesSimilar, calculateHammingDistance, cluster, compare, compareAsync, computeSimHash, dedup, distanceToSimilarity, Engine, fnv1a64,
  getMatchType, groupArticlesBySimilarity, groupArticlesBySimilarityAsync, hammingDistance, isNearDuplicate, MinHasher, pairs as pairsOf, SimHasher,
} from 'sameish';
import type { Added, ArticleGroup, ArticleInput, Clusters, Comparison, CorpusClusters, CorpusPairs, Dedup, DocId, MatchedPair, MatchType, Overrides, Pairs, Search, Sketch, Verdict } from 'sameish';

const hash: bigint = fnv1a64('hello');
const fingerprint: string = computeSimHash('text');
const bits: number = hammingDistance(fingerprint, fingerprint) + calculateHammingDistance(fingerprint, fingerprint);
const near: boolean = isNearDuplicate(fingerprint, fingerprint) && isNearDuplicate(fingerprint, fingerprint, 3);
const similarity: number = distanceToSimilarity(bits);
const matchType: MatchType = getMatchType(bits);
const article: ArticleInput = { id: '1', headline: '...', simHash: fingerprint, publishedAt: '2024-01-01', sourceDomain: 'a.com' };
const near3: boolean = areArticlesSimilar(article, article, 3);
const groups: ArticleGroup[] = groupArticlesBySimilarity([article]);
const groupsLater: Promise<ArticleGroup[]> = groupArticlesBySimilarityAsync([article], 3);
const numbered: ArticleGroup<number>[] = groupArticlesBySimilarity([{ id: 7, simHash: fingerprint, publishedAt: new Date() }]);

// Articles with additional fields, and articles of a type of the caller.
const literal: ArticleGroup[] = groupArticlesBySimilarity([
  { id: 'a1', headline: '...', simHash: 'aaaaaaaaaaaaaaaa', publishedAt: '2024-01-01T12:00:00Z', sourceDomain: 'x.com', words: 3 },
]);
const similar: boolean = areArticlesSimilar({ id: '1', simHash: fingerprint }, { id: 2, headline: '...', simHash: fingerprint, sourceDomain: 'b.com' }, null);
interface OwnArticle { id: string; simHash: string; publishedAt: string }
const own = (articles: readonly OwnArticle[]): ArticleGroup[] => groupArticlesBySimilarity(articles, 3);
const mixed: ArticleGroup<string | number>[] = groupArticlesBySimilarity([{ id: 7 as string | number, simHash: fingerprint, publishedAt: new Date() }]);

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
const comparisonLater: Promise<Comparison> = compareAsync('a', 'b');
const signature: Uint32Array | null = new MinHasher({ rows: 64, shingle: 'words:3' }).sketch('text');
const weighted: string = new SimHasher({ hash: 'xxh3' }).sketch(new BigUint64Array(2), new Float64Array(2));
async function* stream(): AsyncGenerator<[number, string]> { yield [1, 'a']; }
const streamed: Promise<Added> = engine.addManyAsync(stream());
const same: typeof Engine = sameish.Engine;

const iteration = engine.eachPair();
for await (const pair of iteration) ids.push(pair.a, pair.b, pair.matchType, iteration.effort?.capped ?? 0);
const verdict = (pair: MatchedPair): Verdict => pair;

declare const signal: AbortSignal;
interface AbortSignal { readonly aborted: boolean; readonly reason: any; throwIfAborted(): void; addEventListener(type: string, listener: () => void): void; removeEventListener(type: string, listener: () => void): void }
const flat = new Engine({ preset: 'articles', threshold: 0.7, stopWords: null, text: { min_words: 3 } });
const settings = new Engine('copies', { threshold: 0.7, config: '' });
const deduplicated: Promise<Dedup> = dedup(['a', 'b'], { threshold: 0.7, keep: 'longest', signal, onProgress: (done, total) => ids.push(done, total) });
const written: Promise<Dedup> = dedup({ paths: ['a.jsonl', new URL('file:///b.jsonl')] }, { output: 'kept/', overwrite: true, idField: 'id', delimiter: ';', maxMemory: 1e9 });
const ownDocuments: { key: number; body: string }[] = [];
const taken = async (): Promise<{ key: number; body: string }[]> => (await dedup(ownDocuments, { textField: 'body' })).take(ownDocuments);
const corpusPairs: Promise<CorpusPairs> = pairsOf('news/*.jsonl.zst', { limitPairs: 10 });
const corpusClusters: Promise<CorpusClusters> = cluster(stream(), { linkage: 'components', minSize: 2, matching: { threshold: 0.6 } });

// @ts-expect-error unknown option
dedup(['a'], { treshold: 0.7 });
// @ts-expect-error dedup has its own linkage
dedup(['a'], { linkage: 'online' });
// @ts-expect-error unknown option
new Engine({ min_words: 3 });
// @ts-expect-error a number is no corpus
pairsOf(3);
// @ts-expect-error the text must be a string
computeSimHash(3);
// @ts-expect-error unknown preset
new Engine('wires');
// @ts-expect-error unknown setting
new Engine('wire', { matching: { treshold: 0.6 } });
// @ts-expect-error the fingerprint is missing
groupArticlesBySimilarity([{ id: '1', publishedAt: '2024-01-01' }]);
// @ts-expect-error null in an array
overrides.sdr = { excludes: [null] };
// @ts-expect-error the threshold is required
overrides.matching = { threshold: null };
// @ts-expect-error the name is publishedAt
engine.addMany([{ id: 1, text: 'a', published_at: '2024-01-01' }]);
// @ts-expect-error unknown option
engine.search('text', { limits: 3 });
// @ts-expect-error the size is read-only
engine.size = 3;
// @ts-expect-error the signature can be null
signature.length;
// @ts-expect-error the id is missing
engine.addMany([{ text: 'a' }]);

export {
  corpusClusters, corpusPairs, deduplicated, flat, settings, taken, written,
  added, bytes, clusters, code, comparison, comparisonLater, groups, groupsLater, hash, ids, literal, matchType, mixed, near, near3, numbered, others, othersLater,
  own, pairs, removed, same, similar, similarity, stored, streamed, verdict, weighted,
};
