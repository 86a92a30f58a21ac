// Types of the package `sameish`. What is told here in a sentence is told in full in docs/node.md.

/** Names a document. `7` and `"7"` are two documents, `7` and `7n` are one. Comes back as a number where that is exact. */
export type DocId = string | number | bigint;

/** A text or, for those who split text themselves, its tokens. */
export type Text = string | readonly string[];

// ------------------------------------------------------------------------------- as in news-db-pure-analysis

/** How close two fingerprints are. */
export type MatchType = 'exact' | 'near' | 'similar' | 'different';

/** An article. Grouping looks at these fields and comparing at `simHash` alone; whatever else is there, is of no matter. */
export interface ArticleInput<Id extends DocId = string> {
  id: Id;
  /** Fingerprint: 16 hex digits. */
  simHash: string;
  /** A `Date`, or a date as `Date` reads it, such as `2024-01-01T12:00:00Z`. */
  publishedAt: string | Date;
  headline?: string;
  sourceDomain?: string;
}

/** Articles that belong together. */
export interface ArticleGroup<Id extends DocId = string> {
  /** `cluster-1`, `cluster-2` and so on. */
  id: string;
  /** The newest article. */
  centerArticleId: Id;
  /** All articles of the group, the newest first, so the center comes first. */
  memberIds: Id[];
  /** How many bits the others differ from the center on average; 0 if there are none. */
  averageDistance: number;
}

/** FNV-1a, 64 bits, of the UTF-8 bytes of a string. */
export function fnv1a64(str: string): bigint;

/** The fingerprint of a text: 16 hex digits; 16 zeros where it has no words. */
export function computeSimHash(text: string): string;

/** In how many bits two fingerprints differ, 0 to 64. */
export function hammingDistance(a: string, b: string): number;

/** The same, for input from outside: throws `Hashes must be 16-character hex strings`; the error's `path` tells which. */
export function calculateHammingDistance(hashA: string, hashB: string): number;

/** Whether two fingerprints differ in at most `threshold` bits, 3 unless given. */
export function isNearDuplicate(a: string, b: string, threshold?: number | null): boolean;

/** 1 - distance / 64. */
export function distanceToSimilarity(distance: number): number;

/** 0 is exact, up to 3 near, up to 10 similar, beyond that different. */
export function getMatchType(distance: number): MatchType;

/** Whether the fingerprints of two articles differ in at most `threshold` bits, 3 unless given. */
export function areArticlesSimilar<A extends Pick<ArticleInput, 'simHash'>, B extends Pick<ArticleInput, 'simHash'>>(
  a: A,
  b: B,
  threshold?: number | null,
): boolean;

/** Groups articles around the newest. In time that grows with their number, not with its square. */
export function groupArticlesBySimilarity<A extends Pick<ArticleInput<DocId>, 'id' | 'simHash' | 'publishedAt'>>(
  articles: readonly A[],
  threshold?: number | null,
): ArticleGroup<A['id']>[];

/** The same, beside the event loop. */
export function groupArticlesBySimilarityAsync<A extends Pick<ArticleInput<DocId>, 'id' | 'simHash' | 'publishedAt'>>(
  articles: readonly A[],
  threshold?: number | null,
): Promise<ArticleGroup<A['id']>[]>;

// ---------------------------------------------------------------------------------------------------- settings

/** Named settings. */
export type Preset = 'copies' | 'articles' | 'headlines' | 'wire' | 'web' | 'sdr';

/** What a feature is: so many words or characters in a row, and so on. */
export type Shingle = `words:${number}` | `chars:${number}` | `windows:${number}` | 'letters';

export type Tokenizer = 'unicode' | 'ascii-words' | 'whitespace';

/** All settings of an engine, with the names that a config file has. */
export interface Config {
  text: { tokenizer: Tokenizer; stop_words?: string; min_words: number; lossy: boolean };
  simhash?: {
    shingle: Shingle;
    hash: 'fnv1a' | 'xxh3';
    weighting: 'uniform' | 'frequency';
    radius: number;
    blocks?: { total: number; differing: number };
  };
  minhash?: {
    shingle: Shingle;
    counting: 'set' | 'multiset';
    rows: number;
    bands?: { count: number; rows: number };
  };
  sdr?: {
    size: number;
    active_bits?: number;
    sparsity?: number;
    case_sensitivity: boolean;
    token_similarity: boolean;
    vocabulary?: Record<string, number>;
    encode_orphans: boolean;
    excludes?: readonly string[];
    frequency_floor: number;
    frequency_ceiling: number;
  };
  matching: {
    threshold: number;
    recall: number;
    limit: number;
    verify: boolean;
    linkage: 'greedy' | 'components' | 'cohesive' | 'online';
    templates: 'keep' | 'merge';
  };
}

/** Settings to lay over a preset. `null` takes one away that may be absent. */
export type Overrides<T = Config> = {
  [Key in keyof T]?: Override<NonNullable<T[Key]>> | (Record<never, never> extends Pick<T, Key> ? null : never) | undefined;
};

/** Lists and vocabularies are replaced whole, other objects setting by setting. */
type Override<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? string extends keyof Value ? Value : Overrides<Value>
    : Value;

// ---------------------------------------------------------------------------------------------------- sketches

/** What an engine makes of a text. */
export interface Sketch {
  /** Whether the text was long enough for the preset. */
  status: 'ok' | 'too_short';
  /** How many words it has, without stop words. */
  words: number;
  /** Fingerprint: 16 hex digits. */
  simhash?: string;
  /** MinHash signature. */
  minhash?: Uint32Array;
  /** Positions of the set bits of the sparse code, ascending. */
  sdr?: Uint32Array;
}

export interface SimHasherOptions {
  shingle?: Shingle | null | undefined;
  hash?: 'fnv1a' | 'xxh3' | null | undefined;
  weighting?: 'uniform' | 'frequency' | null | undefined;
  tokenizer?: Tokenizer | null | undefined;
  stopWords?: string | null | undefined;
}

/** Makes fingerprints: unless told otherwise, those of `computeSimHash`. */
export class SimHasher {
  constructor(options?: SimHasherOptions | null);
  /** The fingerprint of a text or of tokens. */
  sketch(text: Text): string;
  /** The fingerprint of features that you hashed, each as loud as its weight. */
  sketch(features: BigUint64Array, weights?: Float64Array | null): string;
  sketchMany(texts: Iterable<Text>): string[];
  sketchManyAsync(texts: Iterable<Text> | AsyncIterable<Text>): Promise<string[]>;
  distance(a: string, b: string): number;
  similarity(a: string, b: string): number;
}

export interface MinHasherOptions {
  /** 1 to 1024; 128 unless given. */
  rows?: number | null | undefined;
  /** `words:3` unless given. */
  shingle?: Shingle | null | undefined;
  counting?: 'set' | 'multiset' | null | undefined;
  tokenizer?: Tokenizer | null | undefined;
  stopWords?: string | null | undefined;
}

/** Makes MinHash signatures. */
export class MinHasher {
  constructor(options?: MinHasherOptions | null);
  readonly rows: number;
  /** The signature of a text, of tokens, or of features that you hashed well; `null` where there are none. */
  sketch(input: Text | BigUint64Array): Uint32Array | null;
  sketchMany(texts: Iterable<Text>): (Uint32Array | null)[];
  sketchManyAsync(texts: Iterable<Text> | AsyncIterable<Text>): Promise<(Uint32Array | null)[]>;
  /**
   * The share of rows in which two signatures agree: an estimate of the Jaccard similarity. Both must have as many rows as this
   * hasher; that both were made with the same options is yours to see to, because nothing in them tells.
   */
  similarity(a: Uint32Array, b: Uint32Array): number;
  /** The bytes to store: four a row, the lowest first. */
  toBytes(signature: Uint32Array): Uint8Array;
  fromBytes(bytes: Uint8Array): Uint32Array;
}

// ---------------------------------------------------------------------------------------------------- comparing

/** A passage that both texts have. Places count as JavaScript counts, so `a.slice(aStart, aEnd)` is the passage; where tokens were
 * compared, they count tokens. */
export interface Passage {
  aStart: number;
  aEnd: number;
  bStart: number;
  bEnd: number;
  /** How many words long. */
  tokens: number;
  /** As it stands in the first text. */
  text: string;
}

export interface Comparison {
  /** Exact Jaccard similarity of the preset's shingles. */
  similarity: number;
  /** The share of the smaller side's shingles that the other has. */
  containment: number;
  containmentA: number;
  containmentB: number;
  simhashDistance: number;
  minhashSimilarity?: number;
  matchType: MatchType;
  tooShort: boolean;
  wordsA: number;
  wordsB: number;
  /** The share of each text's words that stand in a shared passage. */
  coverageA: number;
  coverageB: number;
  /** Longest shared passages, in the order of the first text. */
  passages: Passage[];
}

export interface CompareOptions {
  preset?: Preset | null | undefined;
  overrides?: Overrides | null | undefined;
  /** Fewest words of a passage; 5 unless given. */
  minTokens?: number | null | undefined;
}

/** Two texts side by side: every measure, and the passages they share. */
export function compare(a: Text, b: Text, options?: CompareOptions | null): Comparison;

/** The same, beside the event loop. */
export function compareAsync(a: Text, b: Text, options?: CompareOptions | null): Promise<Comparison>;

// ---------------------------------------------------------------------------------------------------- documents

/** A document to add; other fields are of no matter. Its title is compared only where there is neither text nor tokens. */
export interface Document<Id extends DocId = DocId> {
  id: Id;
  text?: Text | null | undefined;
  tokens?: readonly string[] | null | undefined;
  title?: string | null | undefined;
  /** A `Date`, or a date as the command line takes it. Matters to greedy clustering alone. */
  publishedAt?: string | Date | null | undefined;
  /** Refused, so that nobody believes it were read: it is `publishedAt` here. */
  published_at?: undefined;
}

/** What `addMany` takes. */
export type DocumentInput = Document | readonly [DocId, Text];

export interface Inserted {
  status: 'ok' | 'too_short';
  /** Whether a document of that id was there and has gone. */
  replaced: boolean;
  /** The cluster it joined or founded, under online clustering. */
  cluster?: number;
}

export interface Added {
  added: number;
  replaced: number;
  tooShort: number;
}

interface Judged {
  /** From 0 to 1: exact Jaccard similarity where `verified`, else what the sketches say. */
  similarity: number;
  matchType: Exclude<MatchType, 'different'>;
  /** Whether it was judged on the documents' own features. */
  verified: boolean;
  /** In how many bits the fingerprints differ, where both have one. */
  distance?: number;
  /** How far numbers and rare words agree, of a verified match. */
  facts?: number;
  /** Whether the two are of one form with other facts. */
  template: boolean;
}

export interface Match extends Judged {
  id: DocId;
}

export interface MatchedPair extends Judged {
  /** The one that came first. */
  a: DocId;
  /** The one that came later. */
  b: DocId;
}

export interface Effort {
  /** Documents that were asked for their matches. */
  asked: number;
  /** Candidates that were judged. */
  candidates: number;
  /** Limits that were hit: where it is not 0, matches may be missing. */
  capped: number;
}

export interface Search {
  /** The most similar first. */
  matches: Match[];
  candidates: number;
  capped: number;
}

export interface SearchOptions {
  limit?: number | null | undefined;
  minSimilarity?: number | null | undefined;
}

export interface PairOptions {
  /** A million unless given. */
  limit?: number | null | undefined;
}

export interface AddOptions {
  /** Matters to greedy clustering alone. */
  publishedAt?: string | Date | null | undefined;
}

export interface Pairs extends Effort {
  pairs: MatchedPair[];
  /** Whether these are all; otherwise there are more than the limit. */
  complete: boolean;
}

export interface PairWalk extends AsyncIterable<MatchedPair> {
  /** What it took; `null` before the end. */
  readonly effort: Effort | null;
}

export interface Cluster {
  center: DocId;
  /** All documents of the cluster, the center first. */
  members: DocId[];
  /** Under presets that judge by fingerprints. */
  averageDistance?: number;
  /** Under the others. */
  meanSimilarity?: number;
}

export interface Clusters extends Effort {
  clusters: Cluster[];
  /** Matches between clusters that were cut, because a document can be in one only. */
  cut: number;
}

/**
 * Holds documents and finds those that match. The forms that end in `Async` work beside the event loop, in the order in which they
 * were called; the others throw `ERR_SAMEISH_BUSY` where they would have to wait for those.
 */
export class Engine {
  /** With the settings of a preset, `copies` unless given, and what is laid over them. */
  constructor(preset?: Preset | null, overrides?: Overrides | null);
  /** The engine that was saved in a file. */
  static load(path: string | FileUrl): Engine;
  static loadAsync(path: string | FileUrl): Promise<Engine>;
  /** The engine that `toBytes` gave. */
  static fromBytes(bytes: Uint8Array): Engine;
  static fromBytesAsync(bytes: Uint8Array): Promise<Engine>;
  /** The settings, whole. */
  readonly config: Config;
  /** How likely a pair right at the threshold is found; `null` for presets that miss nothing within their radius. */
  readonly expectedRecall: number | null;
  /** How many documents there are. */
  readonly size: number;
  has(id: DocId): boolean;
  hasAsync(id: DocId): Promise<boolean>;
  /** Adds a document, in place of the one that has its id if there is one. */
  add(id: DocId, text: Text, options?: AddOptions | null): Inserted;
  addAsync(id: DocId, text: Text, options?: AddOptions | null): Promise<Inserted>;
  /** Adds many, or none if one of them is refused or the iterable throws. */
  addMany<D extends DocumentInput>(documents: Iterable<D>): Added;
  /** The same; its turn begins when it is called. The input can not wait for an async form of the same engine. */
  addManyAsync<D extends DocumentInput>(documents: Iterable<D> | AsyncIterable<D>): Promise<Added>;
  /** Takes a document out; tells whether it was there. */
  remove(id: DocId): boolean;
  removeAsync(id: DocId): Promise<boolean>;
  /** The documents that match a text. */
  search(text: Text, options?: SearchOptions | null): Search;
  searchAsync(text: Text, options?: SearchOptions | null): Promise<Search>;
  /** The other documents that match one; `null` if it is not there. */
  searchId(id: DocId, options?: SearchOptions | null): Search | null;
  searchIdAsync(id: DocId, options?: SearchOptions | null): Promise<Search | null>;
  /** Pairs that match, a million at most unless a limit is given. */
  pairs(options?: PairOptions | null): Pairs;
  pairsAsync(options?: PairOptions | null): Promise<Pairs>;
  /** All pairs, however many, found while you walk them. From the first step to the last the engine can be read but not changed. */
  eachPair(): PairWalk;
  /** All documents in clusters, by the linkage of the settings. */
  clusters(): Clusters;
  clustersAsync(): Promise<Clusters>;
  /** The sketches of a text, which is not added. */
  sketch(text: Text): Sketch;
  sketchMany(texts: Iterable<Text>): Sketch[];
  sketchManyAsync(texts: Iterable<Text> | AsyncIterable<Text>): Promise<Sketch[]>;
  /** Writes the engine into a file, which appears when it is whole. */
  save(path: string | FileUrl): void;
  saveAsync(path: string | FileUrl): Promise<void>;
  /** The engine as the bytes of that file. */
  toBytes(): Uint8Array;
  toBytesAsync(): Promise<Uint8Array>;
}

/** A `URL` of a file. */
interface FileUrl {
  readonly href: string;
  readonly protocol: string;
}
