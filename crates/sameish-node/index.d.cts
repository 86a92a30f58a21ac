// Type declarations of the package `sameish`. The guide is docs/node.md.

/**
 * The id of a document: a string, a safe integer, or a BigInt from -2^63 to 2^64 - 1. `7` and `"7"` are different ids; `7` and `7n`
 * are the same id. Results contain integers as numbers if they are safe integers, otherwise as BigInts.
 */
export type DocId = string | number | bigint;

/** A text, or the tokens of a text from the caller's own tokenizer. Tokens are used without normalization. */
export type Text = string | readonly string[];

/** A `URL` with the protocol `file:`. */
export interface FileUrl {
  readonly href: string;
  readonly protocol: string;
}

// Functions of the FNV-1a SimHash news grouper `news-db-pure-analysis`

/**
 * How close two texts are.
 *
 * - `exact`: equal normalized texts; for `getMatchType`, equal fingerprints.
 * - `near`: Jaccard similarity of at least 0.8, or fingerprints that differ in at most 3 bits.
 * - `similar`: any other match; for `getMatchType`, fingerprints that differ in at most 10 bits.
 * - `different`: no match.
 */
export type MatchType = 'exact' | 'near' | 'similar' | 'different';

/**
 * How one text relates to another one: they are the `same`, except for small changes; it `contains` the other one, an excerpt; it is
 * `contained_in` the other one, which has more; it is a later version (`update_of`) or an earlier one (`updated_by`); or it only
 * `overlaps` with it.
 */
export type Relation = 'same' | 'contains' | 'contained_in' | 'update_of' | 'updated_by' | 'overlaps';

/**
 * An article. `areArticlesSimilar` uses only `simHash`; grouping uses `id`, `simHash` and `publishedAt`. Other fields are
 * ignored.
 */
export interface ArticleInput<Id extends DocId = string> {
  /** Id of the article. The ids of a list must be unique. */
  id: Id;
  /** Fingerprint: 16 hex digits, upper or lower case. */
  simHash: string;
  /** Publication date: a `Date`, or a string that `Date` parses, such as `2024-01-01T12:00:00Z`. */
  publishedAt: string | Date;
  /** Not used. */
  headline?: string;
  /** Not used. */
  sourceDomain?: string;
}

/** A group of similar articles. */
export interface ArticleGroup<Id extends DocId = string> {
  /** `cluster-1`, `cluster-2` and so on. */
  id: string;
  /** Id of the newest article, which is the center of the group. */
  centerArticleId: Id;
  /** Ids of all articles of the group, newest first, so the center is first. */
  memberIds: Id[];
  /** Mean Hamming distance between the center and the other articles in bits; 0 if there are no others. */
  averageDistance: number;
}

/**
 * Computes the 64-bit FNV-1a hash of the UTF-16 code units of a string, like `news-db-pure-analysis`. It equals {@link fnv1a64Utf8} for
 * ASCII strings only.
 */
export function fnv1a64(str: string): bigint;

/**
 * Computes the 64-bit FNV-1a hash of the UTF-8 bytes of a string, like most other implementations and the Rust crate. Lone surrogates
 * are hashed as U+FFFD.
 */
export function fnv1a64Utf8(str: string): bigint;

/**
 * Computes the 64-bit SimHash fingerprint of a text.
 * @returns 16 hex digits, most significant first; 16 zeros if the text has no words.
 */
export function computeSimHash(text: string): string;

/**
 * Returns the number of bits in which two fingerprints differ, 0 to 64.
 * @throws `ERR_SAMEISH_HEX` if an argument is not a string of 16 hex digits. The message says what is wrong with it.
 */
export function hammingDistance(a: string, b: string): number;

/**
 * Returns the number of bits in which two fingerprints differ, 0 to 64.
 * @throws `ERR_SAMEISH_HEX` with the message `Hashes must be 16-character hex strings` if an argument is not a string of 16 hex digits.
 * The property `path` of the error is the name of the argument.
 */
export function calculateHammingDistance(hashA: string, hashB: string): number;

/**
 * Returns `true` if two fingerprints differ in at most `threshold` bits.
 * @param threshold Maximum distance in bits, inclusive. Default: 3.
 */
export function isNearDuplicate(a: string, b: string, threshold?: number | null): boolean;

/** Returns 1 - distance / 64. The distance can be an average. */
export function distanceToSimilarity(distance: number): number;

/** Returns the match type of a Hamming distance. A fractional distance is rounded up. */
export function getMatchType(distance: number): MatchType;

/**
 * Returns `true` if the fingerprints of two articles differ in at most `threshold` bits.
 * @param threshold Maximum distance in bits, inclusive. Default: 3.
 * @throws `ERR_SAMEISH_HEX` if an article has no valid fingerprint; see {@link calculateHammingDistance}.
 */
export function areArticlesSimilar<A extends Pick<ArticleInput, 'simHash'>, B extends Pick<ArticleInput, 'simHash'>>(
  a: A,
  b: B,
  threshold?: number | null,
): boolean;

/**
 * Groups articles by Hamming distance. The newest ungrouped article becomes the center of a group and takes all ungrouped articles
 * within the threshold. The time grows almost linearly with the number of articles.
 * @param threshold Maximum distance from the center in bits, inclusive. Default: 3.
 * @throws `ERR_SAMEISH_REPEATED_ID` if two articles have the same id.
 */
export function groupArticlesBySimilarity<A extends Pick<ArticleInput<DocId>, 'id' | 'simHash' | 'publishedAt'>>(
  articles: readonly A[],
  threshold?: number | null,
): ArticleGroup<A['id']>[];

/** Like {@link groupArticlesBySimilarity}, without blocking the event loop. */
export function groupArticlesBySimilarityAsync<A extends Pick<ArticleInput<DocId>, 'id' | 'simHash' | 'publishedAt'>>(
  articles: readonly A[],
  threshold?: number | null,
): Promise<ArticleGroup<A['id']>[]>;

// Words and shingles, for teaching and debugging

/** Settings of {@link tokenize}, {@link shingle} and {@link normalize}. */
export interface InspectOptions extends SettingOptions {
  /** Preset whose settings are used. Default: `copies`. */
  preset?: Preset | null | undefined;
  /** Configuration file in TOML. */
  config?: string | null | undefined;
}

/** Returns the words of a text on which similarity is measured, in order, without stop words. */
export function tokenize(text: Text, options?: InspectOptions | null): string[];

/** Returns the shingles of a text on which similarity is measured, in order, with repetitions. */
export function shingle(text: Text, options?: InspectOptions | null): string[];

/** Returns a text in the form whose equality makes a match `exact`: normalized, with one space between words. */
export function normalize(text: string, options?: InspectOptions | null): string;

// Indexes of numbered documents

/** Options of {@link HammingIndex}. */
export interface HammingIndexOptions {
  /** Maximum number of differing bits, inclusive; 0 to 64. Default: 3. */
  radius?: number | null | undefined;
  /** Number of blocks of the 64 bits, greater than the radius. It affects speed, not results. Default: chosen by `capacity`. */
  blocks?: number | null | undefined;
  /** Expected number of documents. Default: 1,000,000. */
  capacity?: number | null | undefined;
}

/** A document that a {@link HammingIndex} found. */
export interface HammingHit {
  /** Number of the document. */
  doc: number;
  /** Hamming distance to the query in bits. */
  distance: number;
}

/** The documents that a {@link HammingIndex} found for many queries. Those of query `i` are at `offsets[i]` to `offsets[i + 1]`. */
export interface HammingHits {
  docs: Uint32Array;
  distances: Uint8Array;
  offsets: Float64Array;
}

/**
 * An index of documents by 64-bit fingerprint. The search is exact. Fingerprints are strings of 16 hex digits; documents are numbers
 * from 0 to 2^32 - 1. A fingerprint can have many documents.
 */
export class HammingIndex {
  /** Creates an empty index. */
  constructor(options?: HammingIndexOptions | null);
  /** Restores an index from the bytes that `toBytes` returned. */
  static fromBytes(bytes: Uint8Array): HammingIndex;
  /** Maximum number of differing bits, inclusive. */
  readonly radius: number;
  /** Number of documents. */
  readonly size: number;
  /** Adds a document. Returns `true` if the index did not contain it under this fingerprint. */
  insert(hash: string, doc: number): boolean;
  /** Adds many documents. Returns the number of new ones. */
  insertMany(hashes: BigUint64Array, docs: Uint32Array): number;
  /** Removes a document. Returns `true` if the index contained it under this fingerprint. */
  remove(hash: string, doc: number): boolean;
  /** Removes many documents. Returns the number of those that the index contained under their fingerprints. */
  removeMany(hashes: BigUint64Array, docs: Uint32Array): number;
  /** Returns some document within the radius, or `null`. */
  findFirst(query: string): HammingHit | null;
  /** Returns all documents within a radius, at most that of the index, by ascending distance, then by number. */
  findAll(query: string, radius?: number | null): HammingHit[];
  /** Returns what `findAll` returns for each of many queries, as columns. */
  findAllMany(queries: BigUint64Array, radius?: number | null): HammingHits;
  /** Returns the index as bytes, with a checksum. */
  toBytes(): Uint8Array;
}

/** Options of {@link BandIndex}. */
export interface BandIndexOptions {
  /** Number of rows of a signature. Default: 128. */
  rows?: number | null | undefined;
  /** Number of bands and rows per band. Default: derived from `threshold` and `recall`. */
  bands?: { count: number; rows: number } | null | undefined;
  /** Similarity at which `recall` must be reached. Default: 0.8. */
  threshold?: number | null | undefined;
  /** Minimum probability that a pair at the threshold shares a band. Default: 0.99. */
  recall?: number | null | undefined;
  /**
   * Scheme of the signatures, such as `engine.schemes.minhash`. If it is given, every signature is passed with its scheme, and one of
   * another scheme throws `ERR_SAMEISH_SCHEME`.
   */
  scheme?: string | null | undefined;
}

/** A signature with its scheme, for a {@link BandIndex} with a scheme. */
export interface SchemedSignature {
  minhash: Uint32Array;
  scheme: string;
}

/** The result of {@link BandIndex.search}. */
export interface BandIndexSearch {
  /** Documents by descending estimated similarity, then by number. */
  hits: { doc: number; estimate: number }[];
  /** Number of distinct candidates. */
  candidates: number;
  /** Number of limits reached. If it is not 0, documents may be missing. */
  capped: number;
}

/** An index of documents by MinHash signature: two documents are candidates if they share all rows of some band. */
export class BandIndex {
  /** Creates an empty index. */
  constructor(options?: BandIndexOptions | null);
  /** Number of rows of a signature. */
  readonly rows: number;
  /** Scheme of the signatures, or `null` if the index does not check it. */
  readonly scheme: string | null;
  /** Number of bands and rows per band. */
  readonly bands: { count: number; rows: number };
  /** Number of documents. */
  readonly size: number;
  /** Returns `true` if the index contains the document. */
  has(doc: number): boolean;
  /** Adds a document, or replaces the one with the same number. Documents should be numbered consecutively from 0. */
  insert(doc: number, signature: Uint32Array | SchemedSignature): void;
  /** Removes a document. Returns `true` if the index contained it. */
  remove(doc: number): boolean;
  /** Returns the documents that share a band with a signature and whose estimated similarity is at least `threshold`, default 0.8. */
  search(signature: Uint32Array | SchemedSignature, threshold?: number | null): BandIndexSearch;
  /** Returns the probability that two documents of this similarity share a band. */
  probability(similarity: number): number;
  /** Returns the key of each band of a signature: signatures that share a band have an equal key in it, in every process and version. */
  keys(signature: Uint32Array | SchemedSignature): Uint32Array;
}

// Stored sketches

/** One sketch: a fingerprint, a signature, or a sparse code with its size in bits. */
export type StoredSketch = { simhash: string } | { minhash: Uint32Array } | { sdr: Uint32Array; size: number };

/** Encodes a sketch in the format of every interface, which carries its kind, its scheme and a checksum. */
export function encodeSketch(sketch: StoredSketch, scheme: string): Uint8Array;

/**
 * Decodes a stored sketch.
 * @throws `ERR_SAMEISH_SCHEME` if the sketch has another scheme, and `ERR_SAMEISH_CORRUPT` if it is damaged.
 */
export function decodeSketch(bytes: Uint8Array, scheme: string): { simhash?: string; minhash?: Uint32Array; sdr?: Uint32Array; size?: number };

// Settings

/**
 * The name of a set of settings.
 *
 * - `copies`: verified near-duplicates in any corpus. The default.
 * - `articles`: full articles; ranked, verified matches from SimHash and MinHash.
 * - `headlines`: headlines, clustered online.
 * - `wire`: news agency articles; the fingerprints of `computeSimHash`, clustered around the newest article.
 * - `web`: web pages; SimHash of windows of 3 words within 3 bits.
 * - `sdr`: sparse codes as input for machine learning.
 */
export type Preset = 'copies' | 'articles' | 'headlines' | 'wire' | 'web' | 'sdr';

/**
 * Which parts of a text are features. Lengths are 1 to 64.
 *
 * - `words:N`: N consecutive words.
 * - `chars:N`: N consecutive characters of the words joined by one space.
 * - `windows:N`: N consecutive words, hashed with a rolling hash. A shorter text has no features.
 * - `letters`: each word and each character of each word.
 */
export type Shingle = `words:${number}` | `chars:${number}` | `windows:${number}` | 'letters';

/**
 * Rules for splitting a text into words.
 *
 * - `unicode`: normalizes the text and splits it at Unicode word boundaries.
 * - `ascii-words`: runs of at least two of `a-z 0-9 _` after conversion to lower case.
 * - `whitespace`: splits at ASCII whitespace and does not change the words.
 */
export type Tokenizer = 'unicode' | 'ascii-words' | 'whitespace';

/** Stop words: those of a language, as a two-letter code such as `en`, or a list in which each entry is one word. */
export type StopWords = string | readonly string[];

/** The 64-bit hash function of tokens. `fnv1a` requires the shingle `words:1`. */
export type TokenHash = 'fnv1a' | 'xxh3';

/** The weight of a feature in a fingerprint: 1 per distinct feature (`uniform`), or 1 per occurrence (`frequency`). */
export type Weighting = 'uniform' | 'frequency';

/** Whether a repeated feature counts once (`set`) or as often as it occurs (`multiset`). */
export type Counting = 'set' | 'multiset';

/**
 * How matches are clustered.
 *
 * - `cohesive`: in the order of insertion, the first unassigned document becomes a center and takes all unassigned documents that
 *   match it.
 * - `greedy`: like `cohesive`, but from the newest document to the oldest, by `publishedAt`.
 * - `components`: connected components of the matches. Long chains can produce very large clusters.
 * - `online`: each new document joins the cluster of its best match or starts a new one.
 */
export type Linkage = 'greedy' | 'components' | 'cohesive' | 'online';

/**
 * All settings of an engine. The names are those of a configuration file. At least one of `simhash`, `minhash` and `sdr` is
 * present.
 */
export interface Config {
  /** How texts are split into words. */
  text: {
    /** Rules for splitting a text into words. In preset `copies`: `unicode`. */
    tokenizer: Tokenizer;
    /** Words that are removed: those of a language, as a two-letter code such as `en`, or a list of words. Default: absent. */
    stop_words?: StopWords;
    /** Minimum number of words, without stop words. A document with fewer words is `too_short`. In preset `copies`: 3. */
    min_words: number;
    /** Whether lone surrogates are replaced by U+FFFD. If `false`, texts that contain one are rejected. Default: `false`. */
    lossy: boolean;
    /** Whether accents, Arabic vowel signs and Hebrew points are removed before texts are compared. Default: absent, `false`. */
    fold_accents?: boolean;
    /** Whether texts are HTML, whose markup is removed before texts are compared. Default: absent, `false`. */
    html?: boolean;
  };
  /** Settings of SimHash fingerprints. If absent, no fingerprints are computed. */
  simhash?: {
    /** Rules for splitting a text into the words of the fingerprint. In preset `articles`: `ascii-words`. Default: `text.tokenizer`. */
    tokenizer?: Tokenizer;
    /** Features of the fingerprint. */
    shingle: Shingle;
    /** Hash function of tokens. */
    hash: TokenHash;
    /** Weight of the features. */
    weighting: Weighting;
    /** Maximum Hamming distance of two candidates, 0 to 64 bits, inclusive. */
    radius: number;
    /**
     * Blocks of the Hamming index: `total` (1 to 64), and the number in which two candidates may differ (less than `total`, at least
     * the radius). Default: chosen by the size of the index.
     */
    blocks?: { total: number; differing: number };
  };
  /** Settings of MinHash signatures. If absent, no signatures are computed. */
  minhash?: {
    /** Features of the signature; matches are verified on the same features. In preset `copies`: `words:3`. */
    shingle: Shingle;
    /** How repeated features are counted. In preset `copies`: `set`. */
    counting: Counting;
    /** Number of rows of a signature, 1 to 1024; each takes 4 bytes. In preset `copies`: 128. */
    rows: number;
    /** Bands of the index; `count * rows` is at most the rows of the signature. Default: derived from threshold and recall. */
    bands?: { count: number; rows: number };
  };
  /** Settings of sparse codes. If absent, no codes are computed. */
  sdr?: {
    /** Number of bits of a code, 2 to 16,384. In preset `sdr`: 2048. */
    size: number;
    /** Number of set bits, 1 to 2,048 and less than `size`. Exactly one of `active_bits` and `sparsity` is present. */
    active_bits?: number;
    /** Fraction of the bits that are set, 0 to 1. In preset `sdr`: 0.02. */
    sparsity?: number;
    /** Whether upper and lower case ASCII letters are different. Default: `false`. */
    case_sensitivity: boolean;
    /** Whether tokens with common letters have overlapping codes. Default: `false`. */
    token_similarity: boolean;
    /** Tokens and their weights. If absent, every token has weight 1. Default: absent. */
    vocabulary?: Record<string, number>;
    /** Whether tokens that are not in the vocabulary are encoded with weight 1. Default: `false`. */
    encode_orphans: boolean;
    /** Tokens that are ignored. Default: none. */
    excludes?: readonly string[];
    /** Number of initial occurrences of each token that are ignored. Default: 0. */
    frequency_floor: number;
    /** Occurrences of a token from this number on, counted from 1, are ignored; 0 means no limit. Default: 0. */
    frequency_ceiling: number;
  };
  /** When two documents match, and how matches are clustered. */
  matching: {
    /** Minimum similarity of a match, inclusive; greater than 0 and at most 1. In preset `copies`: 0.8. */
    threshold: number;
    /** Minimum probability that the index finds a pair at the threshold; between 0 and 1. In preset `copies`: 0.99. */
    recall: number;
    /** Maximum number of matches that a search returns, at least 1. Default: 10. */
    limit: number;
    /** Whether candidates are verified on the features of the documents. In preset `copies`: `true`. */
    verify: boolean;
    /** How matches are clustered. In preset `copies`: `cohesive`. */
    linkage: Linkage;
    /** Whether templates are kept in separate clusters (`keep`) or clustered like other matches (`merge`). Default: `keep`. */
    templates: 'keep' | 'merge';
    /**
     * Whether short texts also match by their fingerprints alone, and whether matches that were not verified join clusters. Has no
     * effect without `verify`. Default: `false`.
     */
    unverified: boolean;
  };
}

/** Settings that override those of a preset. `null` removes an optional setting; `undefined` has no effect. */
export type Overrides<T = Config> = {
  [Key in keyof T]?: Override<NonNullable<T[Key]>> | (Record<never, never> extends Pick<T, Key> ? null : never) | undefined;
};

/** Arrays and vocabularies are replaced as a whole, other objects setting by setting. */
type Override<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? string extends keyof Value ? Value : Overrides<Value>
    : Value;

/**
 * Settings as options: each setting by its own name (`threshold: 0.7`), or in its section with the names of a configuration file
 * (`matching: { threshold: 0.7 }`). A setting that is given in both ways is an error. `null` removes `stopWords`, `simhash`,
 * `minhash` or `sdr`; for other settings it means the value of the preset.
 */
export interface SettingOptions extends Overrides {
  /** Minimum similarity of a match, inclusive; greater than 0 and at most 1. In preset `copies`: 0.8. */
  threshold?: number | null | undefined;
  /** Minimum probability that the index finds a pair at the threshold; between 0 and 1. In preset `copies`: 0.99. */
  recall?: number | null | undefined;
  /** Maximum number of matches that a search returns, at least 1. Default: 10. */
  limit?: number | null | undefined;
  /** Whether candidates are verified on the features of the documents. In preset `copies`: `true`. */
  verify?: boolean | null | undefined;
  /** How matches are clustered. In preset `copies`: `cohesive`. */
  linkage?: Linkage | null | undefined;
  /** Whether templates are kept in separate clusters (`keep`) or clustered like other matches (`merge`). Default: `keep`. */
  templates?: 'keep' | 'merge' | null | undefined;
  /**
   * Whether short texts also match by their fingerprints alone, and whether matches that were not verified, such as those of documents
   * with sketches and no text, join clusters and cause removals. Has no effect without `verify`. Default: `false`.
   */
  unverified?: boolean | null | undefined;
  /** Rules for splitting a text into words. In preset `copies`: `unicode`. */
  tokenizer?: Tokenizer | null | undefined;
  /** Words that are removed: those of a language, as a two-letter code such as `en`, or a list; `null` removes no words. */
  stopWords?: StopWords | null | undefined;
  /** Minimum number of words, without stop words. A document with fewer words is `too_short`. In preset `copies`: 3. */
  minWords?: number | null | undefined;
  /** Whether lone surrogates in texts, and invalid UTF-8 in files, are replaced by U+FFFD. Default: `false`. */
  lossy?: boolean | null | undefined;
  /** Whether accents, Arabic vowel signs and Hebrew points are removed before texts are compared. Default: `false`. */
  foldAccents?: boolean | null | undefined;
  /** Whether texts are HTML, whose markup is removed before texts are compared. Offsets refer to the original text. Default: `false`. */
  html?: boolean | null | undefined;
}

/** Options that select a preset and change its settings. */
export interface EngineOptions extends SettingOptions {
  /** Preset whose settings are used. Default: `copies`. */
  preset?: Preset | null | undefined;
  /** Contents of a configuration file in TOML. Other options override it. */
  config?: string | null | undefined;
}

// Sketches

/** The sketches of a text. Which ones are present depends on the settings. */
export interface Sketch {
  /** `too_short` if the text has fewer words than the settings require. */
  status: 'ok' | 'too_short';
  /** Number of words, without stop words. */
  words: number;
  /** SimHash fingerprint: 16 hex digits. */
  simhash?: string;
  /** MinHash signature: one number per row. Absent if the text is too short. */
  minhash?: Uint32Array;
  /** Sparse code: the positions of the set bits, ascending. */
  sdr?: Uint32Array;
}

/** Options of a {@link SimHasher}. */
export interface SimHasherOptions {
  /** Features of the fingerprint. Default: `words:1`. */
  shingle?: Shingle | null | undefined;
  /** Hash function of tokens. Default: `fnv1a`, which requires `words:1`. */
  hash?: TokenHash | null | undefined;
  /** Weight of the features. Default: `frequency`. */
  weighting?: Weighting | null | undefined;
  /** Rules for splitting a text into words. Default: `ascii-words`. */
  tokenizer?: Tokenizer | null | undefined;
  /** Words that are removed: those of a language, as a two-letter code such as `en`, or a list. Default: none. */
  stopWords?: StopWords | null | undefined;
}

/** Computes SimHash fingerprints. Without options, they are those of {@link computeSimHash}. */
export class SimHasher {
  constructor(options?: SimHasherOptions | null);
  /** Computes the fingerprint of a text or tokens: 16 hex digits, all zero if there are no words. */
  sketch(text: Text): string;
  /**
   * Computes the fingerprint of features that the caller hashed.
   * @param weights One weight per feature, 0 to 1,000,000. Default: 1 each.
   */
  sketch(features: BigUint64Array, weights?: Float64Array | null): string;
  /** Computes the fingerprints of many texts on all cores. */
  sketchMany(texts: Iterable<Text>): string[];
  /** Computes the fingerprints of many texts on all cores, without blocking the event loop. */
  sketchManyAsync(texts: Iterable<Text> | AsyncIterable<Text>): Promise<string[]>;
  /** Returns the number of bits in which two fingerprints differ, 0 to 64. */
  distance(a: string, b: string): number;
  /** Returns 1 - distance / 64. */
  similarity(a: string, b: string): number;
}

/** Options of a {@link MinHasher}. */
export interface MinHasherOptions {
  /** Number of rows of a signature, 1 to 1024. Default: 128. */
  rows?: number | null | undefined;
  /** Features of the signature. Default: `words:3`. */
  shingle?: Shingle | null | undefined;
  /** How repeated features are counted. Default: `set`. */
  counting?: Counting | null | undefined;
  /** Rules for splitting a text into words. Default: `unicode`. */
  tokenizer?: Tokenizer | null | undefined;
  /** Words that are removed: those of a language, as a two-letter code such as `en`, or a list. Default: none. */
  stopWords?: StopWords | null | undefined;
}

/** Computes MinHash signatures. */
export class MinHasher {
  constructor(options?: MinHasherOptions | null);
  /** Number of rows of a signature. */
  readonly rows: number;
  /**
   * Computes the signature of a text, of tokens, or of features that the caller hashed. Hashes must be well mixed. Returns `null` if
   * there are no features.
   */
  sketch(input: Text | BigUint64Array): Uint32Array | null;
  /** Computes the signatures of many texts on all cores. */
  sketchMany(texts: Iterable<Text>): (Uint32Array | null)[];
  /** Computes the signatures of many texts on all cores, without blocking the event loop. */
  sketchManyAsync(texts: Iterable<Text> | AsyncIterable<Text>): Promise<(Uint32Array | null)[]>;
  /**
   * Returns the fraction of rows in which two signatures agree, an estimate of the Jaccard similarity. Both must have the number of
   * rows of this hasher. The caller must ensure that both were computed with the same options; a signature does not contain them.
   */
  similarity(a: Uint32Array, b: Uint32Array): number;
  /** Converts a signature to bytes for storage: 4 little-endian bytes per row. */
  toBytes(signature: Uint32Array): Uint8Array;
  /** Converts bytes that `toBytes` returned to a signature. */
  fromBytes(bytes: Uint8Array): Uint32Array;
}

// Comparison of two texts

/**
 * A passage that occurs in both texts. Offsets count UTF-16 units, so `a.slice(aStart, aEnd)` is the passage. If tokens were compared,
 * they count tokens.
 */
export interface Passage {
  /** Start in the first text. */
  aStart: number;
  /** End in the first text, exclusive. */
  aEnd: number;
  /** Start in the second text. */
  bStart: number;
  /** End in the second text, exclusive. */
  bEnd: number;
  /** Length in words. */
  tokens: number;
  /** The passage as it appears in the first text. */
  text: string;
}

/**
 * A part in which two texts with common wording differ: a number, a name or other text. Offsets count UTF-16 units; if tokens
 * were compared, they count tokens. The range is empty where the other text has additional words.
 */
export interface Difference {
  /** Start in the first text. */
  aStart: number;
  /** End in the first text, exclusive. */
  aEnd: number;
  /** Start in the second text. */
  bStart: number;
  /** End in the second text, exclusive. */
  bEnd: number;
  /** What differs. */
  kind: 'number' | 'name' | 'text';
}

/** The result of a comparison. Fractions are from 0 to 1. */
export interface Comparison {
  /** Exact Jaccard similarity of the shingles, 0 to 1. */
  similarity: number;
  /** The larger of `containmentA` and `containmentB`. */
  containment: number;
  /** Fraction of the first text's shingles that the second text contains. */
  containmentA: number;
  /** Fraction of the second text's shingles that the first text contains. */
  containmentB: number;
  /** Hamming distance of the fingerprints in bits, 0 to 64. */
  simhashDistance: number;
  /** Similarity estimated from the signatures, 0 to 1. Present if both texts have a signature. */
  minhashSimilarity?: number;
  /** How close the texts are. */
  matchType: MatchType;
  /**
   * How far the names and numbers agree, 0 to 1. `null` if the texts differ and are short, or if shingles of characters are compared,
   * because the measure is not reliable there.
   */
  facts: number | null;
  /** Whether the match is a template: the same wording with different names or numbers. */
  template: boolean;
  /** How the first text relates to the second; `null` if they do not match. */
  relation: Relation | null;
  /** Whether either text has too few words for the settings. */
  tooShort: boolean;
  /** Number of words in the first text. */
  wordsA: number;
  /** Number of words in the second text. */
  wordsB: number;
  /** Fraction of the first text's words that are in a shared passage. */
  coverageA: number;
  /** Fraction of the second text's words that are in a shared passage. */
  coverageB: number;
  /** The maximal shared passages, in the order of the first text. */
  passages: Passage[];
  /** Parts in which the two texts differ between passages that they share, in the order of the texts; at most 1,000. */
  differences: Difference[];
}

/** Options of {@link compare}. */
export interface CompareOptions extends EngineOptions {
  /** Settings that override those of the preset; an alternative to settings among the other options. */
  overrides?: SettingOptions | null | undefined;
  /** Minimum length of a passage in words, at least 1. Default: 5. */
  minTokens?: number | null | undefined;
  /** Publication date of the first text. With both dates, `relation` can be `update_of` or `updated_by`. */
  publishedAtA?: string | Date | null | undefined;
  /** Publication date of the second text. */
  publishedAtB?: string | Date | null | undefined;
}

/** Compares two texts with every measure and finds the passages that they share. */
export function compare(a: Text, b: Text, options?: CompareOptions | null): Comparison;

/** Like {@link compare}, without blocking the event loop. */
export function compareAsync(a: Text, b: Text, options?: CompareOptions | null): Promise<Comparison>;

// Documents

/** A document. One of `text`, `tokens` and `title` is compared: the first that is present. Other fields are ignored. */
export interface Document<Id extends DocId = DocId> {
  /** Id. A document replaces an earlier one with the same id. */
  id: Id;
  /** Text or tokens. */
  text?: Text | null | undefined;
  /** Tokens, compared if `text` is absent. */
  tokens?: readonly string[] | null | undefined;
  /** Title, compared if `text` and `tokens` are absent. */
  title?: string | null | undefined;
  /**
   * Publication date, used by linkage `greedy` and for the relations of pairs and matches: a `Date` or a string such as `2024-01-31`,
   * `2024-01-31T12:00:00Z` or `Wed, 31 Jan 2024 12:00:00 GMT`. Without an offset, a time is UTC.
   */
  publishedAt?: string | Date | null | undefined;
  /** Rejected to prevent mistakes: the name is `publishedAt`. */
  published_at?: undefined;
}

/** A document, or a pair of id and text. */
export type DocumentInput = Document | readonly [DocId, Text];

/** Options of `Engine.add`. */
export interface AddOptions {
  /** Publication date, used by linkage `greedy` and for the relations of pairs and matches; see {@link Document}. */
  publishedAt?: string | Date | null | undefined;
}

/** The outcome of adding a document. */
export interface Inserted {
  /** `too_short` if the text has fewer words than the settings require. Such a document is also stored. */
  status: 'ok' | 'too_short';
  /** Whether the document replaced one with the same id. */
  replaced: boolean;
  /** Number of the cluster that the document joined or started. Present with linkage `online`. */
  cluster?: number;
}

/** The outcome of adding many documents. */
export interface Added {
  /** Number of documents added. */
  added: number;
  /** Number of added documents that replaced a document with the same id. */
  replaced: number;
  /** Number of added documents that have fewer words than the settings require. */
  tooShort: number;
}

/** How two documents match. */
export interface Verdict {
  /** Similarity from 0 to 1: the exact Jaccard similarity if `verified`, otherwise an estimate from the sketches. */
  similarity: number;
  /** How close the documents are. */
  matchType: Exclude<MatchType, 'different'>;
  /** Whether the features of the two documents were compared. If `false`, only their sketches were compared. */
  verified: boolean;
  /** Hamming distance of the fingerprints in bits; null unless both documents have a fingerprint. */
  simhashDistance: number | null;
  /**
   * Agreement of the names and numbers of the two texts, 0 to 1. `null` if the match is not verified, and for short texts and shingles
   * of characters.
   */
  facts: number | null;
  /** Whether the match is a template: the same wording with different names or numbers. */
  template: boolean;
}

/** A document that matches a query. */
export interface Match extends Verdict {
  /** Id of the document. */
  id: DocId;
  /**
   * How the query relates to the document; `null` unless the match is verified. Updates require the dates of both, so only `searchId`
   * finds them.
   */
  relation: Relation | null;
}

/** Two documents that match. */
export interface MatchedPair extends Verdict {
  /** Id of the document that was added first. */
  a: DocId;
  /** Id of the document that was added later. */
  b: DocId;
  /** How `a` relates to `b`; `null` unless the match is verified. Updates require dates. */
  relation: Relation | null;
}

/** Options of a search. */
export interface SearchOptions {
  /** Maximum number of matches, 0 to 2^32 - 1. Default: `matching.limit` of the settings, which is 10 in all presets. */
  limit?: number | null | undefined;
  /**
   * Minimum similarity of a match, 0 to 1. Default: `matching.threshold` of the settings. Below that, the search compares all
   * sketches if the index would miss matches.
   */
  minSimilarity?: number | null | undefined;
}

/** The result of a search. */
export interface Search {
  /** Matches by descending similarity; equally similar ones in the order of insertion. */
  matches: Match[];
  /** Number of distinct candidates that were examined. */
  candidates: number;
  /** Number of limits reached. If it is not 0, matches may be missing. */
  capped: number;
}

/** The work done to compute all pairs or clusters. */
export interface Effort {
  /** Number of documents whose matches were computed. */
  asked: number;
  /** Number of candidates that were examined. */
  candidates: number;
  /** Number of limits reached. If it is not 0, matches may be missing. */
  capped: number;
}

/** Options of `Engine.pairs`. */
export interface PairOptions {
  /** Maximum number of pairs, 0 to 2^32 - 1. Default: 1,000,000. */
  limit?: number | null | undefined;
}

/** The matching pairs of an engine. */
export interface Pairs extends Effort {
  /** Pairs, ordered by the later document, then by the earlier one. */
  pairs: MatchedPair[];
  /** `false` if there are more pairs than the limit. */
  complete: boolean;
}

/** An iteration over all pairs of an engine, for `for await`. */
export interface PairWalk extends AsyncIterable<MatchedPair> {
  /** The work done; `null` before the end. */
  readonly effort: Effort | null;
}

/** A cluster of documents. */
export interface Cluster {
  /** Id of the center, which represents the cluster. */
  center: DocId;
  /** Ids of all documents of the cluster, the center first. */
  members: DocId[];
  /**
   * Mean Hamming distance between the center and the other members in bits. Present if only fingerprints are compared (`wire`,
   * `web`).
   */
  averageDistance?: number;
  /**
   * Mean similarity between the center and the other members, 0 to 1; 1 if there are no others. Absent if only fingerprints are
   * compared.
   */
  meanSimilarity?: number;
}

/** The clusters of an engine. */
export interface Clusters extends Effort {
  /** Clusters in the order of their centers; with linkage `online` in the order in which they were started. */
  clusters: Cluster[];
  /** Number of matches between documents of different clusters. */
  cut: number;
}

/**
 * A collection of documents that can be searched for near-duplicates.
 *
 * Methods that end in `Async` do not block the event loop; they run in the order in which they were called. The other methods throw
 * `ERR_SAMEISH_BUSY` if they would have to wait for an async call.
 */
export class Engine {
  /**
   * Creates an empty engine.
   * @param options Preset and settings, such as `{ preset: 'articles', threshold: 0.7 }`.
   */
  constructor(options: EngineOptions);
  /**
   * Creates an empty engine.
   * @param preset Preset whose settings are used. Default: `copies`.
   * @param overrides Settings that override those of the preset.
   */
  constructor(preset?: Preset | null, overrides?: Omit<EngineOptions, 'preset'> | null);
  /** Loads an engine from a file. */
  static load(path: string | FileUrl): Engine;
  /** Loads an engine from a file, without blocking the event loop. */
  static loadAsync(path: string | FileUrl): Promise<Engine>;
  /** Restores an engine from the bytes that `toBytes` returned. */
  static fromBytes(bytes: Uint8Array): Engine;
  /** Restores an engine from the bytes that `toBytes` returned, without blocking the event loop. */
  static fromBytesAsync(bytes: Uint8Array): Promise<Engine>;
  /** All settings. */
  readonly config: Config;
  /**
   * Recall at the threshold: the probability that the index finds a pair exactly at the threshold, 0 to 1. `null` if only
   * fingerprints are compared, whose index finds every pair.
   */
  readonly expectedRecall: number | null;
  /** Schemes of the sketches, for `encodeSketch` and `decodeSketch`: 16 hex digits each. */
  readonly schemes: { simhash?: string; minhash?: string; sdr?: string };
  /** Number of documents. */
  readonly size: number;
  /** Returns `true` if there is a document with this id. */
  has(id: DocId): boolean;
  /** Resolves to `true` if there is a document with this id. */
  hasAsync(id: DocId): Promise<boolean>;
  /** Adds a document. Replaces the document with the same id, if any. */
  add(id: DocId, text: Text, options?: AddOptions | null): Inserted;
  /** Adds a document, without blocking the event loop. Replaces the document with the same id, if any. */
  addAsync(id: DocId, text: Text, options?: AddOptions | null): Promise<Inserted>;
  /** Adds many documents, or none if one of them is invalid or the iterable throws an error. */
  addMany<D extends DocumentInput>(documents: Iterable<D>): Added;
  /**
   * Adds many documents, or none if one of them is invalid or the iterable throws an error, without blocking the event loop. Later
   * async calls wait until the input has been read. The input must not wait for an async call on the same engine.
   */
  addManyAsync<D extends DocumentInput>(documents: Iterable<D> | AsyncIterable<D>): Promise<Added>;
  /** Removes a document. Returns `true` if the engine contained it. */
  remove(id: DocId): boolean;
  /** Removes a document, without blocking the event loop. Resolves to `true` if the engine contained it. */
  removeAsync(id: DocId): Promise<boolean>;
  /** Finds the documents that match a text. */
  search(text: Text, options?: SearchOptions | null): Search;
  /** Finds the documents that match a text, without blocking the event loop. */
  searchAsync(text: Text, options?: SearchOptions | null): Promise<Search>;
  /** Finds the other documents that match a stored one. Returns `null` if there is no document with this id. */
  searchId(id: DocId, options?: SearchOptions | null): Search | null;
  /**
   * Finds the other documents that match a stored one, without blocking the event loop. Resolves to `null` if there is no document
   * with this id.
   */
  searchIdAsync(id: DocId, options?: SearchOptions | null): Promise<Search | null>;
  /** Finds all matching pairs, up to a limit. */
  pairs(options?: PairOptions | null): Pairs;
  /** Finds all matching pairs, up to a limit, without blocking the event loop. */
  pairsAsync(options?: PairOptions | null): Promise<Pairs>;
  /**
   * Iterates over all matching pairs in bounded memory. From the first step until the end, or until the loop is left, the engine can be
   * read but not changed.
   */
  eachPair(): PairWalk;
  /** Clusters all documents with the linkage of the settings. */
  clusters(): Clusters;
  /** Clusters all documents with the linkage of the settings, without blocking the event loop. */
  clustersAsync(): Promise<Clusters>;
  /** Computes the sketches of a text without adding it to the engine. */
  sketch(text: Text): Sketch;
  /** Computes the sketches of many texts on all cores. */
  sketchMany(texts: Iterable<Text>): Sketch[];
  /** Computes the sketches of many texts on all cores, without blocking the event loop. */
  sketchManyAsync(texts: Iterable<Text> | AsyncIterable<Text>): Promise<Sketch[]>;
  /** Saves the engine to a file, atomically. */
  save(path: string | FileUrl): void;
  /** Saves the engine to a file, atomically, without blocking the event loop. */
  saveAsync(path: string | FileUrl): Promise<void>;
  /** Returns the bytes that `save` writes. */
  toBytes(): Uint8Array;
  /** Resolves to the bytes that `save` writes, without blocking the event loop. */
  toBytesAsync(): Promise<Uint8Array>;
}

// A whole corpus in one call

/** A document in memory for {@link dedup}, {@link pairs} and {@link cluster}. Options can name other keys. */
export interface CorpusDocument {
  /** Id. Either all documents have one, or none. Default: the position. */
  id?: DocId | null | undefined;
  /** Text or tokens. */
  text?: Text | null | undefined;
  /** Tokens, compared if `text` is absent. */
  tokens?: readonly string[] | null | undefined;
  /** Title, compared if `text` and `tokens` are absent. */
  title?: string | null | undefined;
  /** Publication date; see {@link Document}. Used by `keep: 'newest'` and by linkage `greedy`. */
  publishedAt?: string | Date | null | undefined;
  /** Source, such as the name of a newspaper. Used by `perSource`. */
  source?: string | null | undefined;
}

/** Several files, directories or patterns. */
export interface Paths {
  /** Paths; patterns can contain `*`, `?`, `[...]` and `**`. */
  paths: readonly (string | FileUrl)[];
}

/**
 * A corpus:
 *
 * - an array or another iterable of texts or documents, or an asynchronous iterable;
 * - the path of a file or directory, or a pattern such as `data/*.jsonl.zst`, as a string or a `file:` URL;
 * - `{ paths: [...] }` for several paths.
 *
 * Files are JSONL, CSV, TSV, Parquet, or text with one document per line, each plain, .gz or .zst. They may be larger than memory.
 */
export type Corpus = Iterable<string | CorpusDocument | object> | AsyncIterable<string | CorpusDocument | object> | string | FileUrl | Paths;

/** Options that {@link dedup}, {@link pairs} and {@link cluster} have in common. */
export interface CorpusOptions extends Omit<EngineOptions, 'limit'> {
  /**
   * Name of the field or key of the text. Default: `text`; files without it are read from `body`, `content`, `article` or `title`, with
   * a warning, and objects from `tokens` or `title`.
   */
  textField?: string | null | undefined;
  /** Name of the field or key of the id. Default: `id` for objects in memory; none for files, whose documents are identified by row. */
  idField?: string | null | undefined;
  /** Name of the field or key of the date. Default: `publishedAt` for objects in memory, none for files. */
  dateField?: string | null | undefined;
  /** Name of the field or key of the source. Default: `source`; in files also `host`. */
  sourceField?: string | null | undefined;
  /** Format of all files. Default: detected from the suffix or the first bytes of each file. */
  format?: 'jsonl' | 'csv' | 'tsv' | 'parquet' | 'text' | null | undefined;
  /** Separator of the values of CSV files: one ASCII character such as `;`, or `tab`. Default: a comma, or in TSV files a tab. */
  delimiter?: string | null | undefined;
  /**
   * What happens to a record of a file that is invalid, or has the id of an earlier record and a different text: `fail` rejects the
   * promise with `ERR_SAMEISH_RECORD`, `skip` leaves the record out and counts it. Default: `fail`.
   */
  onBad?: 'fail' | 'skip' | null | undefined;
  /**
   * Memory limit in bytes, at least 64 MiB. A run needs about 300 bytes per document (450 with fingerprints, as in
   * `articles`; up to 2 kB more for each document of a large group of similar ones), in addition to data in memory. Default: none.
   */
  maxMemory?: number | null | undefined;
  /** Directory for temporary files. Default: that of the system. */
  tempDir?: string | FileUrl | null | undefined;
  /** Number of threads, 1 to 1024. The result does not depend on it. Default: one per processor. */
  threads?: number | null | undefined;
  /** Called about 20 times per second; both numbers count documents, or for files bytes. An error that it throws ends the call. */
  onProgress?: ((done: number, total: number) => void) | null | undefined;
  /** Ends the call. The promise is rejected with the reason of the signal when all work has stopped. */
  signal?: AbortSignalLike | null | undefined;
}

/** An `AbortSignal`. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason: any;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Options of {@link dedup}. */
export interface DedupOptions extends Omit<CorpusOptions, 'linkage'> {
  /** Which document of a cluster is kept. `newest` requires dates. Default: `first`. */
  keep?: 'first' | 'longest' | 'newest' | null | undefined;
  /** Whether one document per source is kept in each cluster. Default: `false`. */
  perSource?: boolean | null | undefined;
  /** An existing corpus: documents that match one of its documents are also removed. Must be paths if the data consists of paths. */
  against?: Corpus | null | undefined;
  /**
   * File or directory for the kept records of files, which are copied byte for byte; a directory ends with `/` and gets one file per
   * input. The suffix may add .gz or .zst. Default: nothing is written.
   */
  output?: string | FileUrl | null | undefined;
  /** Whether `output` may replace existing files. Default: `false`. */
  overwrite?: boolean | null | undefined;
  /**
   * Maximum fraction of documents to remove if `output` is given, 0 to 1. If more would be removed, nothing is written and the promise
   * is rejected with `ERR_SAMEISH_LIMIT`. Default: 0.9.
   */
  maxRemoved?: number | null | undefined;
}

/** Options of the function {@link pairs}. */
export interface PairsOptions extends Omit<CorpusOptions, 'linkage' | 'templates'> {
  /** Maximum number of pairs. Default: no limit. */
  limitPairs?: number | null | undefined;
  /** Whether templates (the same wording with different names or numbers) are listed, or only they. Default: `'include'`. */
  templates?: 'include' | 'exclude' | 'only' | null | undefined;
}

/** Options of {@link cluster}. */
export interface ClusterOptions extends CorpusOptions {
  /** Minimum number of documents of a cluster. Default: 1. */
  minSize?: number | null | undefined;
}

/** Counts of {@link dedup}. */
export interface DedupSummary {
  /** Number of documents. */
  documents: number;
  /** Number of kept documents. */
  kept: number;
  /** Number of removed documents. */
  removed: number;
  /** Number of removed documents that match a document of `against`. */
  known: number;
  /** Number of clusters of at least two documents. */
  clusters: number;
  /** Number of documents of the largest cluster. */
  largestCluster: number;
  /** Number of documents that are too short for the settings. */
  tooShort: number;
  /** Number of records that could not be used. */
  rejected: number;
  /** Number of records that repeat an earlier record with the same id and text. */
  repeated: number;
  /** Number of candidates compared. */
  candidates: number;
  /** Number of verified matches. */
  verified: number;
  /** Number of verified matches that were kept apart as templates. */
  templates: number;
  /** Number of limits reached. If it is not 0, matches may be missing. */
  capped: number;
  /** Number of candidates that were not compared because of limits. */
  omitted: number;
  /**
   * Estimated share of the pairs at or above the threshold that were found; `null` if only fingerprints are compared. If no match was
   * found, the recall at the threshold: the probability that the index finds a pair exactly at the threshold.
   */
  expectedRecall: number | null;
  /** 99 % interval of `expectedRecall`, or `null` without any match. */
  expectedRecallInterval: [number, number] | null;
}

/**
 * The result of {@link dedup}. A row is the position of a document in the data: of an item in memory, or of a record in all files,
 * counted from 0.
 */
export interface Dedup {
  /**
   * The kept row of each row's cluster: for a kept row, the row itself; -1 for a row that matches a document of `against`; -2 for a row
   * that was not used, because its record was rejected or repeats an earlier record with the same id.
   */
  readonly centers: Float64Array;
  /** Kept rows in ascending order. */
  readonly kept: number[];
  /** Removed rows in ascending order. */
  readonly removed: number[];
  /** Removed rows that match a document of `against`, in ascending order. */
  readonly known: number[];
  /** Rows that are neither kept nor removed, in ascending order. Only data in files can have such rows. */
  readonly unused: number[];
  /** Ids of the kept documents in the order of `kept`; their rows if the documents have no ids. */
  readonly keptIds: DocId[];
  /** Ids of the removed documents in the order of `removed`; their rows if the documents have no ids. */
  readonly removedIds: DocId[];
  /** Clusters of at least two documents; the center is the kept document. Without documents that match one of `against`. */
  readonly clusters: Cluster[];
  /** Counts. */
  readonly summary: DedupSummary;
  /** Returns the items of the kept rows. The array must have one item per row, such as the data itself. */
  take<Item>(items: readonly Item[]): Item[];
}

/** The matching pairs of a corpus. */
export interface CorpusPairs {
  /** Pairs, ordered by the later document, then by the earlier one. */
  pairs: MatchedPair[];
  /** `false` if there are more pairs than `limitPairs`. */
  complete: boolean;
  /** Number of candidates that were examined. */
  candidates: number;
  /** Number of limits reached. If it is not 0, matches may be missing. */
  capped: number;
  /** Number of candidates that were not compared because of limits. */
  omitted: number;
  /**
   * Estimated share of the pairs at or above the threshold that were found; `null` if only fingerprints are compared. If no match was
   * found, the recall at the threshold: the probability that the index finds a pair exactly at the threshold.
   */
  expectedRecall: number | null;
  /** 99 % interval of `expectedRecall`, or `null` without any match. */
  expectedRecallInterval: [number, number] | null;
}

/** The clusters of a corpus. */
export interface CorpusClusters {
  /** Clusters in the order of their centers; with linkage `online` in the order in which they were started. */
  clusters: Cluster[];
  /** Number of candidates that were examined. */
  candidates: number;
  /** Number of limits reached. If it is not 0, matches may be missing. */
  capped: number;
  /** Number of candidates that were not compared because of limits. */
  omitted: number;
  /**
   * Estimated share of the pairs at or above the threshold that were found; `null` if only fingerprints are compared. If no match was
   * found, the recall at the threshold: the probability that the index finds a pair exactly at the threshold.
   */
  expectedRecall: number | null;
  /** 99 % interval of `expectedRecall`, or `null` without any match. */
  expectedRecallInterval: [number, number] | null;
}

/**
 * Selects one document to keep from each cluster of near-duplicates. Every removed document matches the kept document of its cluster.
 * The data is not changed: `take` of the result returns the kept items, and `output` writes the kept records of files.
 */
export function dedup(data: Corpus, options?: DedupOptions | null): Promise<Dedup>;

/** Finds all matching pairs of a corpus. */
export function pairs(data: Corpus, options?: PairsOptions | null): Promise<CorpusPairs>;

/** Clusters a corpus with the linkage of the settings. */
export function cluster(data: Corpus, options?: ClusterOptions | null): Promise<CorpusClusters>;
