from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date as _Day
from os import PathLike
from typing import Any, Callable, Literal, Optional, Protocol, SupportsIndex, TypeVar, Union, final, overload

import numpy as np
from numpy.typing import NDArray

from ._types import Cluster, Comparison, Found, Hit, Id, Inserted, Match, Near, Pair, Schemes, Sketches

__version__: str
__all__ = [
    "__version__",
    "Engine",
    "SimHasher",
    "MinHasher",
    "Signature",
    "SdrEncoder",
    "Sdr",
    "Corpus",
    "Matches",
    "HammingIndex",
    "BandIndex",
    "simhash",
    "hamming",
    "distance_to_similarity",
    "match_type",
    "encode_sketch",
    "decode_sketch",
    "compare",
    "fingerprint_pairs",
    "fingerprint_groups",
    "tokenize",
    "shingle",
    "normalize",
    "_dedup",
    "_pairs",
    "_cluster",
    "_known_suffix",
    "_config_toml",
    "_bins",
    "_components",
    "_star_counts",
    "_stars",
    "_hamming_buckets",
    "_hamming_keys",
    "_ranks",
    "_report",
    "_length_classes",
    "_Steps",
    "_Centers",
    "_Needed",
]

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

_Arrow = Union[_ArrowStream, _ArrowArray]
# Bytes are accepted if the settings are `lossy`, as those of the preset `web` are.
_Text = Union[str, bytes, Iterable[str]]
_Texts = Union[Iterable[str], Iterable[bytes], _Arrow]
_Ids = Union[Iterable[Id], _Arrow]
_Date = Union[str, _Day, np.datetime64]
_Dates = Union[Iterable[Optional[_Date]], _Arrow]
_Bytes = Union[bytes, bytearray, memoryview]
_Fingerprint = Union[SupportsIndex, str]
_Fingerprints = Union[NDArray[np.uint64], Iterable[SupportsIndex]]
_Integers32 = Union[NDArray[np.uint32], Iterable[SupportsIndex]]
_SignatureLike = Union["Signature", NDArray[np.uint32], Iterable[SupportsIndex]]
_Progress = Callable[[int, int], object]
_Config = Union[str, Mapping[str, Any]]
_Preset = Literal["wire", "articles", "sdr", "headlines", "web", "copies"]
_Linkage = Literal["greedy", "components", "cohesive", "online"]
_Settings = Optional[Mapping[str, Any]]
_T = TypeVar("_T")

@final
class Engine:
    """A collection of documents that can be searched for near-duplicates.

    The settings are those of a preset, changed by `config` and then by keywords. A setting that is
    not given has the value of the preset; None removes an optional setting. Threads can share an
    engine: reads run in parallel, and writes wait for earlier calls.

    Args:
        preset: Name of the preset; default `"copies"`.
            `copies`: verified near-duplicates in any corpus (MinHash, Jaccard similarity >= 0.8).
            `articles`: full articles (SimHash and MinHash, Jaccard similarity >= 0.5, verified).
            `headlines`: headlines in online clusters (MinHash, Jaccard similarity >= 0.75).
            `wire`: news agency articles by 64-bit FNV-1a SimHash, at most 3 differing bits.
            `web`: web pages by SimHash of rolling windows, at most 3 differing bits.
            `sdr`: sparse codes, overlap >= 0.5.
        config: Configuration file in TOML, or a mapping with its contents; default None. Its key
            `preset` replaces the argument `preset`.
        threshold: Minimum similarity of a match, inclusive; greater than 0 and at most 1.
        recall: Minimum probability that the index finds a pair at the threshold; greater than 0
            and less than 1. It determines the bands unless they are set in `minhash`.
        limit: Maximum number of matches that a search returns, at least 1; 10 in all presets.
        verify: Whether candidates are verified by comparing the features of the documents.
        linkage: How matches are clustered: `"cohesive"`, `"greedy"`, `"components"` or `"online"`.
        templates: Whether documents with the same wording but different names or numbers are
            kept in separate clusters (`"keep"`, the default) or clustered like other matches
            (`"merge"`).
        unverified: Whether short texts also match by their fingerprints alone, and whether matches
            that were not verified join clusters; default False. Has no effect without `verify`.
        tokenizer: `"unicode"`, `"ascii-words"` or `"whitespace"`.
        stop_words: Words that are removed: those of a language, as a two-letter code such as `"en"`, or
            a list of words.
        min_words: Minimum number of words, without stop words. A document with fewer words has
            the status `too_short`.
        lossy: Whether texts may be bytes, with invalid UTF-8 replaced by U+FFFD.
        fold_accents: Whether accents, Arabic vowel signs and Hebrew points are removed before texts are
            compared.
        html: Whether texts are HTML, whose markup is removed before texts are compared.
        text: Other settings of the section `text` of a configuration file, as a mapping.
        simhash: Settings of SimHash fingerprints, as a mapping; None computes no fingerprints.
        minhash: Settings of MinHash signatures, as a mapping such as `{"rows": 256}`; None
            computes no signatures.
        sdr: Settings of sparse codes, as a mapping; None computes no codes.
        matching: Other settings of the section `matching` of a configuration file, as a mapping.

    Raises:
        SettingError: A setting is out of range or inconsistent with others.
        WrongType: A setting is unknown or has the wrong type.

    Examples:
        >>> from sameish import Engine
        >>> engine = Engine("copies", threshold=0.6)
        >>> text = "The council voted on Monday to close the old bridge over the river for repairs until next spring."
        >>> engine.add("bridge", text)
        Inserted(status='ok', replaced=False, cluster=None)
        >>> [(m.id, m.match_type, m.verified) for m in engine.search(text.replace("Monday", "Tuesday"))]
        [('bridge', 'similar', True)]
        >>> len(engine), "bridge" in engine, engine.remove("bridge")
        (1, True, True)
    """
    def __new__(
        cls,
        preset: Optional[_Preset] = None,
        *,
        config: Optional[_Config] = None,
        threshold: float = ...,
        recall: float = ...,
        limit: int = ...,
        verify: bool = ...,
        linkage: _Linkage = ...,
        templates: Literal["keep", "merge"] = ...,
        unverified: bool = ...,
        tokenizer: Literal["unicode", "ascii-words", "whitespace"] = ...,
        stop_words: Union[str, Iterable[str], None] = ...,
        min_words: int = ...,
        lossy: bool = ...,
        fold_accents: bool = ...,
        html: bool = ...,
        text: _Settings = ...,
        simhash: _Settings = ...,
        minhash: _Settings = ...,
        sdr: _Settings = ...,
        matching: _Settings = ...,
    ) -> Engine: ...
    @property
    def config(self) -> str:
        """All settings, as a configuration file in TOML."""
    @property
    def expected_recall(self) -> Optional[float]:
        """Recall at the threshold: the probability that the index finds a pair exactly at the threshold, 0 to 1.

        None if only fingerprints are compared; their index misses no match.
        """
    @property
    def schemes(self) -> Schemes:
        """The schemes of the sketches, as a `Schemes`.

        A scheme identifies the settings that determine the bytes of a sketch. Other interfaces require it with a
        sketch in place of a text, and `encode_sketch` stores it.
        """
    def add(self, id: Id, text: _Text, *, published_at: Optional[_Date] = None) -> Inserted:
        """Adds a document, or replaces the document with the same id.

        Args:
            id: Integer from -2**63 to 2**64 - 1, or a str. `7` and `"7"` are different ids.
            text: A str, or a list of tokens. Also bytes if the settings are `lossy`.
            published_at: Publication date: ISO 8601 str, `datetime`, `date`, NumPy or pandas
                timestamp; default None. Used by the linkage `greedy` and for the `relation` of pairs and matches.

        Returns:
            An `Inserted`.
        """
    def add_many(
        self,
        ids: _Ids,
        texts: _Texts,
        *,
        published_at: Optional[_Dates] = None,
        threads: Optional[int] = None,
        progress: Optional[_Progress] = None,
    ) -> int:
        """Adds many documents. Documents with the same ids are replaced.

        All documents are read and prepared before the first is added, so an invalid document
        raises an exception and none is added. If the call is interrupted, the documents added so
        far remain.

        Args:
            ids: Distinct ids, as a list or an Arrow column of integers or strings.
            texts: One text per id, as a list or an Arrow column. A null counts as an empty text.
            published_at: One publication date per id, as a list or an Arrow column; default None.
            threads: Number of threads, 1 to 1024; default: one per processor.
            progress: Called as `progress(done, total)` about 20 times per second, in documents;
                default None. An exception that it raises ends the call.

        Returns:
            Number of added documents that are too short for the settings.
        """
    def remove(self, id: Id) -> bool:
        """Removes a document.

        Args:
            id: Id of the document.

        Returns:
            True if the engine contained the document.
        """
    def search(
        self, text: _Text, *, limit: Optional[int] = None, min_similarity: Optional[float] = None
    ) -> Found[Match]:
        """Finds the documents that match a text.

        Args:
            text: A str, or a list of tokens. Also bytes if the settings are `lossy`.
            limit: Maximum number of matches, at least 1; default: the setting `limit`.
            min_similarity: Minimum similarity, 0 to 1; default: the setting `threshold`. Below
                that, the search compares all sketches if the index would miss matches.

        Returns:
            A list (`Found`) of `Match`, the most similar first.
        """
    def search_id(
        self, id: Id, *, limit: Optional[int] = None, min_similarity: Optional[float] = None
    ) -> Found[Match]:
        """Finds the other documents that match a document of the engine.

        Args:
            id: Id of the document.
            limit: Maximum number of matches, at least 1; default: the setting `limit`.
            min_similarity: Minimum similarity, 0 to 1; default: the setting `threshold`.

        Returns:
            A list (`Found`) of `Match`, the most similar first.

        Raises:
            UnknownId: No document has the id.
        """
    def pairs(self, *, limit: Optional[int] = None, progress: Optional[_Progress] = None) -> Found[Pair]:
        """Finds all matching pairs.

        Args:
            limit: Maximum number of pairs, at least 0; default None, no limit.
            progress: Called as `progress(done, total)` about 20 times per second, in documents;
                default None. An exception that it raises ends the call.

        Returns:
            A list (`Found`) of `Pair`, ordered by the later document, then by the earlier one.
        """
    def clusters(self, *, progress: Optional[_Progress] = None) -> Found[Cluster]:
        """Clusters all documents with the linkage of the settings.

        Args:
            progress: Called as `progress(done, total)` about 20 times per second, in documents;
                default None. An exception that it raises ends the call.

        Returns:
            A list (`Found`) of `Cluster`, including clusters of one document.
        """
    def sketch(self, text: _Text) -> Sketches:
        """Computes the sketches of a text. Every interface of sameish computes the same bytes.

        Args:
            text: A str, or a list of tokens. Also bytes if the settings are `lossy`.

        Returns:
            A `Sketches`.
        """
    def compare(
        self,
        a: _Text,
        b: _Text,
        *,
        min_tokens: int = 5,
        published_at_a: Optional[_Date] = None,
        published_at_b: Optional[_Date] = None,
    ) -> Comparison:
        """Compares two texts with the settings of the engine.

        Args:
            a: First text: a str, or a list of tokens. Also bytes if the settings are `lossy`.
            b: Second text, of the same types as `a`.
            min_tokens: Minimum length of a shared passage in words, at least 1; default 5.
            published_at_a: Publication date of the first text; default None. With both dates, `relation`
                can be `"update_of"` or `"updated_by"`.
            published_at_b: Publication date of the second text; default None.

        Returns:
            A `Comparison`.
        """
    def save(self, path: Union[str, PathLike[str]]) -> None:
        """Writes the engine to a file atomically: if the call fails, an existing file is unchanged.

        The file contains settings, sketches and features, but no texts.

        Args:
            path: Path of the file.

        Raises:
            OSError: The file cannot be written.
        """
    @staticmethod
    def load(path: Union[str, PathLike[str]]) -> Engine:
        """Reads an engine from a file that `save` wrote.

        Args:
            path: Path of the file.

        Returns:
            The engine.

        Raises:
            CorruptFile: The file is damaged or truncated.
            VersionError: Another version of sameish wrote the file.
            OSError: The file cannot be read.
        """
    def to_bytes(self) -> bytes:
        """Returns the bytes that `save` writes."""
    @staticmethod
    def from_bytes(bytes: _Bytes) -> Engine:
        """Restores an engine from bytes that `to_bytes` returned.

        Args:
            bytes: The stored engine: bytes, bytearray or memoryview. A checksum is verified.

        Returns:
            The engine.

        Raises:
            CorruptFile: The bytes are damaged or truncated.
            VersionError: Another version of sameish stored the engine.
        """
    def __len__(self) -> int: ...
    def __contains__(self, id: Id, /) -> bool: ...

@final
class SimHasher:
    """Computes 64-bit SimHash fingerprints of texts.

    Args:
        shingle: Features of a text: `"words:N"`, `"chars:N"` or `"windows:N"` with N from 1 to 64, or
            `"letters"`; default `"words:1"`.
        tokenizer: `"unicode"` (the default), `"ascii-words"` or `"whitespace"`.
        hash: Hash function of tokens: `"xxh3"` (the default) or `"fnv1a"`, which requires the shingle
            `"words:1"`.
        weighting: Weight of a feature: its number of occurrences (`"frequency"`, the default) or 1
            (`"uniform"`).
        stop_words: Words that are removed: those of a language, as a two-letter code such as `"en"`, or
            a list of words; default None.

    Examples:
        >>> from sameish import SimHasher
        >>> hasher = SimHasher()
        >>> a, b = hasher.sketch("storm hits the coast"), hasher.sketch("STORM hits the coast")
        >>> a == b
        True
        >>> hasher.sketch_many(["storm hits the coast", ""]).tolist() == [a, 0]
        True
    """
    def __new__(
        cls,
        *,
        shingle: str = "words:1",
        tokenizer: Literal["unicode", "ascii-words", "whitespace"] = "unicode",
        hash: Literal["xxh3", "fnv1a"] = "xxh3",
        weighting: Literal["uniform", "frequency"] = "frequency",
        stop_words: Union[str, Iterable[str], None] = None,
    ) -> SimHasher: ...
    def sketch(self, text: _Text) -> int:
        """Computes the fingerprint of a text.

        Args:
            text: A str, or a list of tokens.

        Returns:
            The fingerprint, 0 to 2**64 - 1; 0 if the text has no words.
        """
    def sketch_many(
        self, texts: _Texts, *, threads: Optional[int] = None, progress: Optional[_Progress] = None
    ) -> NDArray[np.uint64]:
        """Computes the fingerprints of many texts in parallel.

        Args:
            texts: A list of str, or an Arrow column of strings.
            threads: Number of threads, 1 to 1024; default: one per processor. It does not affect the
                result.
            progress: Called as `progress(done, total)` about 20 times per second, in texts; default
                None. An exception that it raises ends the call.

        Returns:
            An array of uint64 with one fingerprint per text; 0 for a null or a text without words.
        """
    @staticmethod
    def sketch_features(
        features: _Fingerprints, weights: Optional[Union[Sequence[float], NDArray[np.float64]]] = None
    ) -> int:
        """Computes the fingerprint of features that the caller has hashed.

        Args:
            features: 64-bit hashes: a list of integers, or an array of uint64.
            weights: One weight per feature, 0 to 1,000,000; default None: every feature has weight 1.

        Returns:
            The fingerprint, 0 to 2**64 - 1; 0 if there are no features.
        """

@final
class MinHasher:
    """Computes MinHash signatures of texts.

    The fraction of equal rows of two signatures estimates the Jaccard similarity of the texts'
    shingles.

    Args:
        rows: Number of rows of a signature, 1 to 1024; default 128. A row takes 4 bytes.
        shingle: Features of a text: `"words:N"`, `"chars:N"` or `"windows:N"` with N from 1 to 64, or
            `"letters"`; default `"words:3"`.
        tokenizer: `"unicode"` (the default), `"ascii-words"` or `"whitespace"`.
        counting: Whether a repeated feature counts once (`"set"`, the default) or as often as it occurs
            (`"multiset"`).
        stop_words: Words that are removed: those of a language, as a two-letter code such as `"en"`, or
            a list of words; default None.
        min_words: Minimum number of words, without stop words; default 1. A text with fewer words has
            no signature.

    Examples:
        >>> from sameish import MinHasher
        >>> hasher = MinHasher(rows=256)
        >>> a = hasher.sketch("the quick brown fox jumps over the lazy dog near the bank of the river")
        >>> b = hasher.sketch("the quick brown fox jumps over the lazy dog near the bank of the canal")
        >>> round(a.estimate(b), 1)
        0.9
        >>> hasher.sketch_many(["one two three four", ""]).shape
        (2, 256)
    """
    def __new__(
        cls,
        rows: int = 128,
        *,
        shingle: str = "words:3",
        tokenizer: Literal["unicode", "ascii-words", "whitespace"] = "unicode",
        counting: Literal["set", "multiset"] = "set",
        stop_words: Union[str, Iterable[str], None] = None,
        min_words: int = 1,
    ) -> MinHasher: ...
    @property
    def rows(self) -> int:
        """Number of rows of a signature."""
    def sketch(self, text: _Text) -> Optional[Signature]:
        """Computes the signature of a text.

        Args:
            text: A str, or a list of tokens.

        Returns:
            A `Signature`, or None if the text has too few words.
        """
    def sketch_many(
        self, texts: _Texts, *, threads: Optional[int] = None, progress: Optional[_Progress] = None
    ) -> NDArray[np.uint32]:
        """Computes the signatures of many texts in parallel.

        Args:
            texts: A list of str, or an Arrow column of strings.
            threads: Number of threads, 1 to 1024; default: one per processor. It does not affect the
                result.
            progress: Called as `progress(done, total)` about 20 times per second, in texts; default
                None. An exception that it raises ends the call.

        Returns:
            An array of uint32 with one signature per row. For a null or a text with too few words, all
            values of the row are 2**32 - 1. That is not a signature: `BandIndex.insert_bulk` skips such
            rows, and other functions raise `SettingError`.
        """
    def signature(self, stored: Union[bytes, NDArray[np.uint32], Iterable[SupportsIndex]]) -> Signature:
        """Restores a stored signature of this hasher, or of one with equal parameters.

        Args:
            stored: A row of `sketch_many`, or bytes that `Signature.to_bytes` returned.

        Returns:
            The `Signature`.

        Raises:
            SchemeMismatch: The signature has another number of rows.
        """
    def sketch_features(self, features: _Fingerprints) -> Optional[Signature]:
        """Computes the signature of features that the caller has hashed.

        The scheme differs from that of `sketch`, because the way the features were hashed is unknown.

        Args:
            features: 64-bit hashes with well-mixed bits: a list of integers, or an array of uint64.

        Returns:
            A `Signature`, or None if there are no features.
        """

@final
class Signature:
    """A MinHash signature with the scheme under which it was computed."""
    @property
    def rows(self) -> NDArray[np.uint32]:
        """The rows, as an array of uint32."""
    @property
    def scheme(self) -> str:
        """Identifier of the settings that determine the signature, as 16 hex digits."""
    def estimate(self, other: Signature) -> float:
        """Estimates the Jaccard similarity of two texts by the fraction of equal rows.

        Args:
            other: A signature with the same scheme.

        Returns:
            The estimate, 0 to 1.

        Raises:
            SchemeMismatch: The signatures have different schemes.
        """
    def to_bytes(self) -> bytes:
        """Returns the rows as bytes: 4 bytes per row, little endian."""
    def to_hex(self) -> str:
        """Returns the bytes of `to_bytes` as hex digits."""
    def __len__(self) -> int: ...

@final
class SdrEncoder:
    """Encodes texts as sparse binary codes (SDRs) with SHAKE256.

    Texts with common tokens have overlapping codes. The parameters are those of the sparse document
    encoder that the preset `sdr` implements. Exactly one of `active_bits` and `sparsity` must be
    given.

    Args:
        size: Number of bits of a code, 2 to 2**24; default 2048.
        active_bits: Number of set bits, at least 1 and less than `size`; default None.
        sparsity: Fraction of the bits that are set, 0 to 1; default None.
        case_sensitivity: Whether upper and lower case ASCII letters differ; default False.
        token_similarity: Whether the bytes of each token are also encoded, so that tokens with common
            letters have overlapping codes; default False.
        vocabulary: Tokens and their weights, 0 to 2**32 - 1. Other tokens are ignored unless
            `encode_orphans` is set. Default None: every token has weight 1.
        encode_orphans: Whether tokens that are not in the vocabulary are encoded with weight 1; default
            False. Requires `vocabulary`.
        excludes: Tokens that are ignored; default None.
        frequency_floor: Number of initial occurrences of each token that are ignored, 0 to 2**32 - 1;
            default 0.
        frequency_ceiling: Occurrences of a token from this number on, counted from 1, are ignored;
            greater than `frequency_floor`. Default 0: no limit.

    Examples:
        >>> from sameish import SdrEncoder
        >>> encoder = SdrEncoder(400, active_bits=21)
        >>> sky = encoder.encode("The sky is beautiful today")
        >>> sun = encoder.encode(["the", "sun", "is", "beautiful", "today"])
        >>> len(sky.sparse), sky.dense.shape, sky.overlap(sun) > 5
        (21, (400,), True)
    """
    def __new__(
        cls,
        size: int = 2048,
        active_bits: Optional[int] = None,
        sparsity: Optional[float] = None,
        *,
        case_sensitivity: bool = False,
        token_similarity: bool = False,
        vocabulary: Optional[Mapping[str, int]] = None,
        encode_orphans: bool = False,
        excludes: Optional[Iterable[str]] = None,
        frequency_floor: int = 0,
        frequency_ceiling: int = 0,
    ) -> SdrEncoder: ...
    @property
    def size(self) -> int:
        """Number of bits of a code."""
    @property
    def active_bits(self) -> int:
        """Number of set bits of a code."""
    def encode(self, text: _Text) -> Sdr:
        """Encodes a text.

        Args:
            text: A str, which is split at whitespace, or a list of tokens.

        Returns:
            An `Sdr`.
        """

@final
class Sdr:
    """A sparse binary code: a few set bits out of many.

    Args:
        size: Number of bits, 1 to 2**24.
        active: Positions of the set bits, in ascending order: a list of integers, or an array of uint32.
    """
    def __new__(cls, size: int, active: _Integers32) -> Sdr: ...
    @property
    def size(self) -> int:
        """Number of bits."""
    @property
    def sparse(self) -> NDArray[np.uint32]:
        """Positions of the set bits in ascending order, as an array of uint32."""
    @property
    def dense(self) -> NDArray[np.bool_]:
        """All bits, as an array of bool."""
    def overlap(self, other: Sdr) -> int:
        """Returns the number of bits that are set in both codes.

        Args:
            other: A code of the same size.

        Returns:
            Number of common set bits.

        Raises:
            SchemeMismatch: The codes have different sizes.
        """

@final
class Corpus:
    """A set of 64-bit fingerprints that can be searched by Hamming distance.

    The parameters are those of the block-permuted index of Manku, Jain and Das Sarma (2007). The
    search is exact: it returns each fingerprint within `diff_bits` bits of a query exactly once.
    `num_blocks` does not affect the results; the tables are chosen by the number of fingerprints.

    Fingerprints are integers from 0 to 2**64 - 1 or strings of 16 hex digits. The `_bulk` methods
    take lists of integers or NumPy arrays of uint64.

    Args:
        num_blocks: Number of blocks into which the 64 bits are divided: greater than `diff_bits`,
            at most 64.
        diff_bits: Maximum number of differing bits of a match, inclusive; 0 to 63.

    Examples:
        >>> from sameish import Corpus
        >>> corpus = Corpus(6, 3)
        >>> corpus.insert_bulk([0xABCD, 0xABCE, 0xFFFF0000])
        3
        >>> corpus.find_all(0xABCF)
        [43981, 43982]
        >>> corpus.find_first_bulk([0xABCD ^ (3 << 40), 0x1234_5678_9ABC])
        [43981, None]
        >>> corpus.remove(0xABCD), len(corpus), 0xABCE in corpus
        (True, 2, True)
    """
    def __new__(cls, num_blocks: int, diff_bits: int) -> Corpus: ...
    @property
    def num_blocks(self) -> int:
        """Number of blocks into which the 64 bits are divided."""
    @property
    def diff_bits(self) -> int:
        """Maximum number of differing bits of a match, inclusive."""
    def insert(self, hash: _Fingerprint) -> bool:
        """Adds a fingerprint.

        Args:
            hash: The fingerprint.

        Returns:
            True if the set did not contain the fingerprint.
        """
    def remove(self, hash: _Fingerprint) -> bool:
        """Removes a fingerprint.

        Args:
            hash: The fingerprint.

        Returns:
            True if the set contained the fingerprint.
        """
    def find_first(self, query: _Fingerprint) -> Optional[int]:
        """Finds any one fingerprint within `diff_bits` bits of a query.

        Args:
            query: The fingerprint to compare with.

        Returns:
            A fingerprint, or None if there is no match.
        """
    def find_all(self, query: _Fingerprint) -> list[int]:
        """Finds all fingerprints within `diff_bits` bits of a query.

        Args:
            query: The fingerprint to compare with.

        Returns:
            A list of fingerprints by ascending distance, then by value.
        """
    def insert_bulk(self, hashes: _Fingerprints, *, progress: Optional[_Progress] = None) -> int:
        """Adds many fingerprints.

        If the call is interrupted, the fingerprints added so far remain. Insertion into an empty
        set adds all fingerprints or none.

        Args:
            hashes: A list of integers, or an array of uint64.
            progress: Called as `progress(done, total)` about 20 times per second, in fingerprints;
                default None. An exception that it raises ends the call.

        Returns:
            Number of new fingerprints.
        """
    def remove_bulk(self, hashes: _Fingerprints, *, progress: Optional[_Progress] = None) -> int:
        """Removes many fingerprints.

        Args:
            hashes: A list of integers, or an array of uint64.
            progress: Called as `progress(done, total)` about 20 times per second, in fingerprints;
                default None. An exception that it raises ends the call.

        Returns:
            Number of fingerprints removed.
        """
    @overload
    def find_first_bulk(  # type: ignore[overload-overlap]
        self, queries: NDArray[np.uint64], *, progress: Optional[_Progress] = None
    ) -> np.ma.MaskedArray[tuple[int], np.dtype[np.uint64]]:
        """Finds any one fingerprint within `diff_bits` bits of each query.

        Args:
            queries: A list of integers, or an array of uint64.
            progress: Called as `progress(done, total)` about 20 times per second, in queries;
                default None. An exception that it raises ends the call.

        Returns:
            For a list, a list of fingerprints with None where there is no match. For an array, a
            masked array of uint64, masked where there is no match.
        """
    @overload
    def find_first_bulk(
        self, queries: Iterable[SupportsIndex], *, progress: Optional[_Progress] = None
    ) -> list[Optional[int]]: ...
    @overload
    def find_all_bulk(  # type: ignore[overload-overlap]
        self, queries: NDArray[np.uint64], *, progress: Optional[_Progress] = None
    ) -> Matches:
        """Finds all fingerprints within `diff_bits` bits of each query.

        Args:
            queries: A list of integers, or an array of uint64.
            progress: Called as `progress(done, total)` about 20 times per second, in queries;
                default None. An exception that it raises ends the call.

        Returns:
            For a list, a list of lists; for an array, a `Matches`. The matches of a query are
            ordered by ascending distance, then by value.
        """
    @overload
    def find_all_bulk(
        self, queries: Iterable[SupportsIndex], *, progress: Optional[_Progress] = None
    ) -> list[list[int]]: ...
    def to_array(self) -> NDArray[np.uint64]:
        """Returns all fingerprints in ascending order, as an array of uint64."""
    def __len__(self) -> int: ...
    def __contains__(self, hash: _Fingerprint, /) -> bool: ...

@final
class Matches:
    """The matches of many queries: a sequence with one array of uint64 per query.

    Returned by `Corpus.find_all_bulk`. `matches[i]` contains the matches of query `i`.
    """
    @property
    def values(self) -> NDArray[np.uint64]:
        """The matches of all queries, concatenated, as an array of uint64."""
    @property
    def offsets(self) -> NDArray[np.int64]:
        """Start of the matches of each query in `values`, then the length of `values`, as an array of int64."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> NDArray[np.uint64]: ...
    def __iter__(self) -> Iterator[NDArray[np.uint64]]: ...

@final
class HammingIndex:
    """An index of numbered documents by 64-bit fingerprint, searched by Hamming distance.

    The search is exact: it returns each document within `radius` bits of a query exactly once.
    Fingerprints are integers from 0 to 2**64 - 1 or strings of 16 hex digits; documents are
    integers from 0 to 2**32 - 1. A fingerprint can have many documents.

    Args:
        radius: Maximum number of differing bits, inclusive; 0 to 64, default 3.
        blocks: Number of blocks into which the 64 bits are divided: greater than `radius`, at most
            64. Default None: chosen by `capacity`. It affects speed and memory, not the results.
        capacity: Expected number of documents, at least 0; default 1,000,000.

    Examples:
        >>> from sameish import HammingIndex
        >>> index = HammingIndex(3)
        >>> index.insert(0xABCD, 1), index.insert(0xABCE, 2)
        (True, True)
        >>> index.find_all(0xABCF)
        [Hit(doc=1, distance=1), Hit(doc=2, distance=1)]
    """
    def __new__(cls, radius: int = 3, *, blocks: Optional[int] = None, capacity: int = 1_000_000) -> HammingIndex: ...
    @property
    def radius(self) -> int:
        """Maximum number of differing bits, inclusive."""
    @property
    def part(self) -> tuple[int, int]:
        """Which part of a divided index this is, as `(index, of)` with the index from 0; `(0, 1)` for a whole index."""
    def parts(self, count: int) -> list[HammingIndex]:
        """Divides the index into parts by key range, for several processes or machines.

        Together, the parts find exactly what this index finds, each document once. `to_bytes` and
        pickling keep what part an index is.

        Args:
            count: Number of parts, 1 to 65,536.

        Returns:
            A list of `HammingIndex`.

        Raises:
            SettingError: This index is itself a part.

        Examples:
            >>> from sameish import HammingIndex
            >>> index = HammingIndex(3)
            >>> index.insert_bulk([0xABCD, 0xABCE, 0xFFFF0000], [1, 2, 3])
            3
            >>> parts = index.parts(4)
            >>> sorted(hit for part in parts for hit in part.find_all(0xABCF))
            [Hit(doc=1, distance=1), Hit(doc=2, distance=1)]
        """
    def parts_for(self, query: _Fingerprint) -> list[int]:
        """Returns the parts that can contain documents within the radius of a query.

        Args:
            query: The fingerprint to compare with.

        Returns:
            The indexes of the parts, from 0, in ascending order; the same list for every part.
        """
    def insert(self, hash: _Fingerprint, doc: SupportsIndex) -> bool:
        """Adds a document.

        Args:
            hash: Fingerprint of the document.
            doc: Number of the document.

        Returns:
            True if the index did not contain the document under this fingerprint.
        """
    def remove(self, hash: _Fingerprint, doc: SupportsIndex) -> bool:
        """Removes a document.

        Args:
            hash: Fingerprint under which the document was inserted.
            doc: Number of the document.

        Returns:
            True if the index contained the document under this fingerprint.
        """
    def insert_bulk(self, hashes: _Fingerprints, docs: _Integers32) -> int:
        """Adds many documents. If the call is interrupted, the documents added so far remain.

        Args:
            hashes: Fingerprints: a list of integers, or an array of uint64.
            docs: One document number per fingerprint: a list of integers, or an array of uint32.

        Returns:
            Number of new documents.
        """
    def remove_bulk(self, hashes: _Fingerprints, docs: _Integers32) -> int:
        """Removes many documents. If the call is interrupted, some documents are already removed.

        Args:
            hashes: Fingerprints: a list of integers, or an array of uint64.
            docs: One document number per fingerprint: a list of integers, or an array of uint32.

        Returns:
            Number of documents removed.
        """
    def find_first(self, query: _Fingerprint) -> Optional[Hit]:
        """Finds any one document within the radius.

        Args:
            query: The fingerprint to compare with.

        Returns:
            A `Hit`, or None if there is no match.
        """
    def find_all(self, query: _Fingerprint, radius: Optional[int] = None) -> list[Hit]:
        """Finds all documents within a radius.

        Args:
            query: The fingerprint to compare with.
            radius: Maximum number of differing bits, 0 to the radius of the index; default: the radius
                of the index.

        Returns:
            A list of `Hit` by ascending distance, then by document number.
        """
    def find_all_bulk(
        self, queries: _Fingerprints
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]:
        """Finds all documents within the radius of each query.

        Args:
            queries: A list of integers, or an array of uint64.

        Returns:
            Three arrays: the documents of all queries (uint32), their distances in bits (uint32), and
            the start of each query's hits followed by the total number of hits (int64). The hits of
            query `i` are `docs[offsets[i]:offsets[i + 1]]`.
        """
    def to_bytes(self) -> bytes:
        """Returns the index as bytes, with a checksum."""
    @staticmethod
    def from_bytes(bytes: _Bytes) -> HammingIndex:
        """Restores an index from bytes that `to_bytes` returned.

        Args:
            bytes: The stored index: bytes, bytearray or memoryview. A checksum is verified.

        Returns:
            The index.

        Raises:
            CorruptFile: The bytes are damaged or truncated.
        """
    def __len__(self) -> int: ...

@final
class BandIndex:
    """An index of numbered documents by MinHash signature, searched by shared bands.

    A signature is divided into bands. Documents that share all rows of some band are candidates;
    the search returns the candidates whose estimated Jaccard similarity reaches a threshold.

    Documents should be numbered consecutively from 0, because memory is reserved up to the largest
    number.

    Args:
        rows: Number of rows of a signature, at least 1; default 128.
        bands: Number of bands and rows per band, as `(count, rows)`; their product is at most `rows`.
            Default None: derived from `threshold` and `recall`.
        threshold: Similarity at which `recall` must be reached, 0 to 1; default 0.8.
        recall: Minimum probability that a pair at the threshold shares a band, 0 to 1; default 0.99.

    Examples:
        >>> from sameish import BandIndex, MinHasher
        >>> hasher = MinHasher(rows=128)
        >>> index = BandIndex(128, threshold=0.8, recall=0.99)
        >>> index.insert(7, hasher.sketch("the council voted on monday to close the old bridge"))
        >>> index.search(hasher.sketch("the council voted on monday to close the old bridge"), 0.8)
        [Near(doc=7, estimate=1.0)]
    """
    def __new__(
        cls,
        rows: int = 128,
        *,
        bands: Optional[tuple[int, int]] = None,
        threshold: float = 0.8,
        recall: float = 0.99,
    ) -> BandIndex: ...
    @property
    def bands(self) -> tuple[int, int]:
        """Number of bands and rows per band, as a tuple."""
    @property
    def rows(self) -> int:
        """Number of rows of a signature."""
    def probability(self, similarity: float) -> float:
        """Returns the probability that two signatures share a band.

        Args:
            similarity: Jaccard similarity of the two documents, 0 to 1.

        Returns:
            A probability, 0 to 1.
        """
    def insert(self, doc: SupportsIndex, signature: _SignatureLike) -> None:
        """Adds a document, or replaces the document with the same number.

        Args:
            doc: Number of the document, 0 to 2**32 - 1.
            signature: A `Signature`, or its rows as a list or an array of uint32.

        Raises:
            SchemeMismatch: The signature has a different scheme or number of rows than the index.
            NumberError: The number is far larger than the number of documents in the index.
        """
    def insert_bulk(self, signatures: NDArray[np.uint32], first: int = 0) -> int:
        """Adds one document per row of an array. Rows that are not signatures are skipped.

        Args:
            signatures: Array of uint32 with one signature per row, as `MinHasher.sketch_many` returns.
            first: Document number of the first row, 0 to 2**32 - 1; default 0. The other rows are numbered
                consecutively.

        Returns:
            Number of documents added.
        """
    def remove(self, doc: SupportsIndex) -> bool:
        """Removes a document.

        Args:
            doc: Number of the document.

        Returns:
            True if the index contained the document.
        """
    def search(self, signature: _SignatureLike, threshold: float = 0.8) -> Found[Near]:
        """Finds the documents that share a band with a signature.

        Args:
            signature: A `Signature`, or its rows as a list or an array of uint32.
            threshold: Minimum estimated similarity, inclusive; 0 to 1, default 0.8.

        Returns:
            A list (`Found`) of `Near`, the most similar first.

        Raises:
            SchemeMismatch: The signature has a different scheme or number of rows than the index.
        """
    def keys(self, signature: _SignatureLike) -> NDArray[np.uint32]:
        """Returns the key of each band of a signature: 32 bits of a hash of the rows of the band.

        Two signatures that share a band have an equal key in it. Keys are the same in every process and
        version, so they can be stored and joined elsewhere.

        Args:
            signature: A `Signature`, or its rows as a list or an array of uint32.

        Returns:
            An array of uint32 with one key per band.

        Raises:
            SchemeMismatch: The signature has a different scheme or number of rows than the index.
        """
    def __len__(self) -> int: ...
    def __contains__(self, doc: SupportsIndex, /) -> bool: ...

def simhash(text: _Text, preset: Literal["wire", "articles", "web"] = "wire") -> int:
    """Computes the 64-bit SimHash fingerprint of a text under a preset.

    Args:
        text: A str, or a list of tokens. Also bytes if `preset` is `"web"`.
        preset: `"wire"` (the default), `"articles"` or `"web"`.

    Returns:
        The fingerprint, 0 to 2**64 - 1; 0 if the text has no words.

    Examples:
        >>> import sameish
        >>> f"{sameish.simhash('Breaking news: Major earthquake hits city'):016x}"
        'f10893b1083a30a2'
    """
def hamming(a: _Fingerprint, b: _Fingerprint) -> int:
    """Returns the Hamming distance of two fingerprints: the number of bits in which they differ.

    Args:
        a: First fingerprint: an integer from 0 to 2**64 - 1, or a str of 16 hex digits.
        b: Second fingerprint.

    Returns:
        The distance in bits, 0 to 64.

    Examples:
        >>> import sameish
        >>> sameish.hamming("a1b2c3d4e5f6a7b8", 0xa1b2c3d4e5f6a7b9)
        1
    """
def distance_to_similarity(distance: float) -> float:
    """Returns the similarity of two fingerprints with a Hamming distance: 1 - distance / 64.

    Args:
        distance: Distance in bits, 0 to 64; an average may have a fraction.

    Returns:
        The similarity, 0 to 1.

    Examples:
        >>> import sameish
        >>> sameish.distance_to_similarity(3)
        0.953125
    """
def match_type(distance: float) -> Literal["exact", "near", "similar", "different"]:
    """Classifies a Hamming distance of two fingerprints.

    Args:
        distance: Distance in bits, 0 to 64; a fraction is rounded up.

    Returns:
        `"exact"` for 0, `"near"` for up to 3, `"similar"` for up to 10, otherwise `"different"`.

    Examples:
        >>> import sameish
        >>> [sameish.match_type(distance) for distance in (0, 2, 7, 15)]
        ['exact', 'near', 'similar', 'different']
    """
def encode_sketch(sketch: Union[_Fingerprint, Signature, Sdr], scheme: str) -> bytes:
    """Encodes a sketch in the stored form of every interface, which carries its kind, its scheme and a checksum.

    Args:
        sketch: A fingerprint (an integer from 0 to 2**64 - 1, or a str of 16 hex digits), a `Signature`
            or an `Sdr`.
        scheme: Scheme of the sketch, as 16 hex digits: `Engine.schemes` has the schemes of an engine.

    Returns:
        The stored sketch, as bytes.

    Raises:
        SchemeMismatch: The signature has another scheme.

    Examples:
        >>> import sameish
        >>> engine = sameish.Engine("wire")
        >>> stored = sameish.encode_sketch(engine.sketch("storm hits the coast").simhash, engine.schemes.simhash)
        >>> sameish.decode_sketch(stored, engine.schemes.simhash) == sameish.simhash("storm hits the coast")
        True
    """
def decode_sketch(stored: _Bytes, scheme: str) -> Union[int, Signature, Sdr]:
    """Decodes a sketch that `encode_sketch`, or another interface, has encoded.

    Args:
        stored: The stored sketch: bytes, bytearray or memoryview. A checksum is verified.
        scheme: Expected scheme, as 16 hex digits.

    Returns:
        The fingerprint as an integer, the `Signature`, or the `Sdr`.

    Raises:
        SchemeMismatch: The sketch has another scheme.
        CorruptFile: The bytes are damaged or truncated.
    """
def compare(
    a: _Text,
    b: _Text,
    *,
    preset: Optional[_Preset] = None,
    min_tokens: int = 5,
    published_at_a: Optional[_Date] = None,
    published_at_b: Optional[_Date] = None,
    config: Optional[_Config] = None,
    threshold: float = ...,
    tokenizer: Literal["unicode", "ascii-words", "whitespace"] = ...,
    stop_words: Union[str, Iterable[str], None] = ...,
    min_words: int = ...,
    lossy: bool = ...,
    fold_accents: bool = ...,
    html: bool = ...,
    text: _Settings = ...,
    simhash: _Settings = ...,
    minhash: _Settings = ...,
    sdr: _Settings = ...,
    matching: _Settings = ...,
) -> Comparison:
    """Compares two texts with every measure and finds the passages they share.

    Args:
        a: First text: a str, or a list of tokens. Also bytes if the settings are `lossy`.
        b: Second text, of the same types as `a`.
        preset: Name of the preset; default `"copies"`. See `Engine`.
        min_tokens: Minimum length of a shared passage in words, at least 1; default 5.
        published_at_a: Publication date of the first text: ISO 8601 str, `datetime`, `date`, NumPy or
            pandas timestamp; default None. With both dates, `relation` can be `"update_of"` or `"updated_by"`.
        published_at_b: Publication date of the second text; default None.
        config: Configuration file in TOML, or a mapping with its contents; default None.
        threshold: Minimum similarity of a match, greater than 0 and at most 1. Default: that of the preset.
        tokenizer: `"unicode"`, `"ascii-words"` or `"whitespace"`. Default: that of the preset.
        stop_words: Words that are removed: those of a language, as a two-letter code such as `"en"`, or
            a list of words; or None.
        min_words: Minimum number of words, without stop words; a text with fewer words is too short.
        lossy: Whether texts may be bytes, with invalid UTF-8 replaced by U+FFFD.
        fold_accents: Whether accents, Arabic vowel signs and Hebrew points are removed before texts are
            compared.
        html: Whether texts are HTML, whose markup is removed before texts are compared.
        text: Other settings of the section `text` of a configuration file, as a mapping.
        simhash: Settings of SimHash fingerprints, as a mapping, or None.
        minhash: Settings of MinHash signatures, as a mapping, or None.
        sdr: Settings of sparse codes, as a mapping, or None.
        matching: Other settings of the section `matching` of a configuration file, as a mapping.

    Returns:
        A `Comparison`.

    Examples:
        >>> import sameish
        >>> a = "The council voted on Monday to close the old bridge for repairs until spring."
        >>> b = "The council voted on Tuesday to close the old bridge for repairs until spring."
        >>> comparison = sameish.compare(a, b)
        >>> comparison.match_type
        'similar'
        >>> comparison.relation
        'overlaps'
        >>> [a[p.a_start:p.a_end] for p in comparison.passages]
        ['to close the old bridge for repairs until spring']
    """
def fingerprint_pairs(
    hashes: _Fingerprints, radius: int = 3, limit_pairs: Optional[int] = None
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Finds all pairs of fingerprints within a Hamming distance.

    The search is exact. Fingerprint zero is treated like any other value: leave out texts without
    words before. Nothing is verified on texts, because there are none.

    Args:
        hashes: Fingerprints: a list of integers, or an array of uint64.
        radius: Maximum number of differing bits, inclusive; 0 to 64, default 3.
        limit_pairs: Maximum number of pairs, the first ones of the order below; default None, no
            limit. If there are as many, there may be more.

    Returns:
        Three arrays of uint32: the positions `a` and `b` of the fingerprints of each pair, with
        `a < b`, and their distances in bits. Pairs are ordered by `b`, then by `a`.

    Examples:
        >>> import sameish
        >>> a, b, distance = sameish.fingerprint_pairs([0b0111, 0b1111_0000, 0b0001])
        >>> a.tolist(), b.tolist(), distance.tolist()
        ([0], [2], [2])
    """
def fingerprint_groups(hashes: _Fingerprints, radius: int = 3) -> NDArray[np.uint32]:
    """Groups fingerprints by Hamming distance.

    The first ungrouped fingerprint becomes the center of a group and takes all ungrouped fingerprints
    within the radius, like the linkage `greedy` of the preset `wire`. Pass the newest first to get the
    groups of that preset.

    Args:
        hashes: Fingerprints: a list of integers, or an array of uint64.
        radius: Maximum distance from the center in bits, inclusive; 0 to 64, default 3.

    Returns:
        An array of uint32 with the position of the center of each fingerprint. A center has its own
        position.

    Examples:
        >>> import sameish
        >>> sameish.fingerprint_groups([0b0111, 0b1111_0000, 0b0001]).tolist()
        [0, 1, 0]
    """
def tokenize(
    text: _Text,
    *,
    preset: Optional[_Preset] = None,
    config: Optional[_Config] = None,
    **settings: Any,
) -> list[str]:
    """Returns the words of a text on which similarity is measured, in order, without stop words.

    Args:
        text: A str, or a list of tokens, which are returned without stop words.
        preset: Name of the preset; default `"copies"`. See `Engine`.
        config: Configuration file in TOML, or a mapping with its contents; default None.
        settings: Settings as keywords, as in `compare`.

    Returns:
        A list of str.

    Examples:
        >>> import sameish
        >>> sameish.tokenize("The OLD bridge isn't closed")
        ['the', 'old', 'bridge', "isn't", 'closed']
        >>> sameish.tokenize("The OLD bridge isn't closed", preset="headlines")
        ['old', 'bridge', 'closed']
    """
def shingle(
    text: _Text,
    *,
    preset: Optional[_Preset] = None,
    config: Optional[_Config] = None,
    **settings: Any,
) -> list[str]:
    """Returns the shingles of a text on which similarity is measured, in order, with repetitions.

    The Jaccard similarity of two texts is that of the sets of their shingles.

    Args:
        text: A str, or a list of tokens.
        preset: Name of the preset; default `"copies"`. See `Engine`.
        config: Configuration file in TOML, or a mapping with its contents; default None.
        settings: Settings as keywords, as in `compare`.

    Returns:
        A list of str.

    Examples:
        >>> import sameish
        >>> sameish.shingle("The old bridge is closed")
        ['the old bridge', 'old bridge is', 'bridge is closed']
        >>> sameish.shingle("ab cd", minhash={"shingle": "chars:4"})
        ['ab c', 'b cd']
    """
def normalize(
    text: _Text,
    *,
    preset: Optional[_Preset] = None,
    config: Optional[_Config] = None,
    **settings: Any,
) -> str:
    """Returns a text in the form whose equality makes a match `"exact"`: normalized, with one space between words.

    Args:
        text: A str.
        preset: Name of the preset; default `"copies"`. See `Engine`.
        config: Configuration file in TOML, or a mapping with its contents; default None.
        settings: Settings as keywords, as in `compare`; `html` and `fold_accents` change the result.

    Returns:
        A str.

    Examples:
        >>> import sameish
        >>> sameish.normalize("  The ＯＬＤ\tBridge. ")
        'the old bridge.'
    """
def _dedup(data: Any, fields: Any, args: Any, dedup: Any) -> dict[str, Any]: ...
def _pairs(data: Any, fields: Any, args: Any, templates: str, limit_pairs: Optional[int]) -> Any: ...
def _cluster(data: Any, fields: Any, args: Any, min_size: int) -> Any: ...
def _known_suffix(path: Union[str, PathLike[str]]) -> bool: ...
def _config_toml(preset: str, config: Any, keywords: dict[str, Any], dedup: bool) -> str: ...
def _bins(table: Any, pairs: int, bytes: int) -> Any: ...
def _components(table: Any) -> Any: ...
def _star_counts(table: Any) -> list[int]: ...
def _stars(table: Any) -> Any: ...
def _hamming_buckets(radius: int, limit: int, across: bool) -> Any: ...
def _hamming_keys(table: Any, radius: int) -> Any: ...
def _ranks(column: Any, dates: bool) -> Any: ...
def _report(config: str, run: str) -> str: ...
def _length_classes() -> list[int]: ...
@final
class _Steps:
    def __new__(cls, config: str, verbatim: bool) -> _Steps: ...
    def describe(self) -> dict[str, Any]: ...
    def sign(self, texts: Any, max_document: int) -> Any: ...
    def profiles(self, texts: Any) -> Any: ...
    def cells(self, across: bool) -> Any: ...
    def buckets(self, limit: int, across: bool) -> Any: ...
    def packer(self, parts: int, excluded: list[int]) -> Any: ...
    def packed(self, limit: int, across: bool, divided: Optional[int]) -> Any: ...
    def verifier(self) -> Any: ...
    def heads(self, table: Any) -> Any: ...
    def copies(self, fingerprint: Optional[int]) -> Any: ...
    def found(self) -> Any: ...
    def recall(
        self, sums: tuple[float, float, float], work: tuple[int, int, int]
    ) -> Optional[tuple[float, Optional[tuple[float, float]]]]: ...

@final
class _Centers:
    def __new__(cls) -> _Centers: ...
    def push(self, table: Any) -> Any: ...
    def finish(self) -> Any: ...

@final
class _Needed:
    def __new__(cls, rows: int, parts: int) -> _Needed: ...
    @staticmethod
    def from_parts(parts: list[bytes]) -> _Needed: ...
    def add(self, table: Any) -> None: ...
    def part(self, number: int) -> bytes: ...
    def contains(self, table: Any) -> Any: ...
