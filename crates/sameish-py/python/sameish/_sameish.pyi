from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date as _Day
from os import PathLike
from typing import Any, Callable, Literal, Optional, Protocol, SupportsIndex, TypeVar, Union, final, overload

import numpy as np
from numpy.typing import NDArray

from ._types import Cluster, Comparison, Found, Hit, Id, Inserted, Match, Near, Pair, Sketches

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
    "Dedup",
    "simhash",
    "hamming",
    "compare",
    "dedup",
    "pairs",
    "cluster",
]

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

_Arrow = Union[_ArrowStream, _ArrowArray]
# Bytes where the settings are lossy, as those of `web` are.
_Text = Union[str, bytes, Iterable[str]]
_Texts = Union[Iterable[str], Iterable[bytes], _Arrow]
_Ids = Union[Iterable[Id], _Arrow]
_Date = Union[str, _Day, np.datetime64]
_Dates = Union[Iterable[Optional[_Date]], _Arrow]
_Data = Union[Iterable[str], Iterable[bytes], _Arrow, "PathLike[str]"]
_Stored = Union[bytes, bytearray, memoryview]
_Print = Union[SupportsIndex, str]
_Prints = Union[NDArray[np.uint64], Iterable[SupportsIndex]]
_Docs = Union[NDArray[np.uint32], Iterable[SupportsIndex]]
_Rows = Union["Signature", NDArray[np.uint32], Iterable[SupportsIndex]]
_Progress = Callable[[int, int], object]
_Config = Union[str, Mapping[str, Any]]
_Preset = Literal["wire", "articles", "sdr", "headlines", "web", "copies"]
_Linkage = Literal["greedy", "components", "cohesive", "online"]
_Section = Optional[Mapping[str, Any]]
_T = TypeVar("_T")

@final
class Engine:
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
        tokenizer: Literal["unicode", "ascii-words", "whitespace"] = ...,
        stop_words: Optional[str] = ...,
        min_words: int = ...,
        lossy: bool = ...,
        text: _Section = ...,
        simhash: _Section = ...,
        minhash: _Section = ...,
        sdr: _Section = ...,
        matching: _Section = ...,
    ) -> Engine: ...
    @property
    def config(self) -> str: ...
    @property
    def expected_recall(self) -> Optional[float]: ...
    def add(self, id: Id, text: _Text, *, published_at: Optional[_Date] = None) -> Inserted: ...
    def add_many(
        self,
        ids: _Ids,
        texts: _Texts,
        *,
        published_at: Optional[_Dates] = None,
        threads: Optional[int] = None,
        progress: Optional[_Progress] = None,
    ) -> int: ...
    def remove(self, id: Id) -> bool: ...
    def search(
        self, text: _Text, *, limit: Optional[int] = None, min_similarity: Optional[float] = None
    ) -> Found[Match]: ...
    def search_id(
        self, id: Id, *, limit: Optional[int] = None, min_similarity: Optional[float] = None
    ) -> Found[Match]: ...
    def pairs(self, *, limit: Optional[int] = None, progress: Optional[_Progress] = None) -> Found[Pair]: ...
    def clusters(self, *, progress: Optional[_Progress] = None) -> Found[Cluster]: ...
    def sketch(self, text: _Text) -> Sketches: ...
    def compare(self, a: _Text, b: _Text, *, min_tokens: int = 5) -> Comparison: ...
    def save(self, path: Union[str, PathLike[str]]) -> None: ...
    @staticmethod
    def load(path: Union[str, PathLike[str]]) -> Engine: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: _Stored) -> Engine: ...
    def __len__(self) -> int: ...
    def __contains__(self, id: Id, /) -> bool: ...

@final
class SimHasher:
    def __new__(
        cls,
        *,
        shingle: str = "words:1",
        tokenizer: Literal["unicode", "ascii-words", "whitespace"] = "unicode",
        hash: Literal["xxh3", "fnv1a"] = "xxh3",
        weighting: Literal["uniform", "frequency"] = "frequency",
        stop_words: Optional[str] = None,
    ) -> SimHasher: ...
    def sketch(self, text: _Text) -> int: ...
    def sketch_many(
        self, texts: _Texts, *, threads: Optional[int] = None, progress: Optional[_Progress] = None
    ) -> NDArray[np.uint64]: ...
    @staticmethod
    def sketch_features(
        features: _Prints, weights: Optional[Union[Sequence[float], NDArray[np.float64]]] = None
    ) -> int: ...

@final
class MinHasher:
    def __new__(
        cls,
        rows: int = 128,
        *,
        shingle: str = "words:3",
        tokenizer: Literal["unicode", "ascii-words", "whitespace"] = "unicode",
        counting: Literal["set", "multiset"] = "set",
        stop_words: Optional[str] = None,
        min_words: int = 1,
    ) -> MinHasher: ...
    @property
    def rows(self) -> int: ...
    def sketch(self, text: _Text) -> Optional[Signature]: ...
    def sketch_many(
        self, texts: _Texts, *, threads: Optional[int] = None, progress: Optional[_Progress] = None
    ) -> NDArray[np.uint32]: ...
    def signature(self, stored: Union[bytes, NDArray[np.uint32], Iterable[SupportsIndex]]) -> Signature: ...
    def sketch_features(self, features: _Prints) -> Optional[Signature]: ...

@final
class Signature:
    @property
    def rows(self) -> NDArray[np.uint32]: ...
    @property
    def scheme(self) -> str: ...
    def estimate(self, other: Signature) -> float: ...
    def to_bytes(self) -> bytes: ...
    def to_hex(self) -> str: ...
    def __len__(self) -> int: ...

@final
class SdrEncoder:
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
    def size(self) -> int: ...
    @property
    def active_bits(self) -> int: ...
    def encode(self, text: _Text) -> Sdr: ...

@final
class Sdr:
    def __new__(cls, size: int, active: _Docs) -> Sdr: ...
    @property
    def size(self) -> int: ...
    @property
    def sparse(self) -> NDArray[np.uint32]: ...
    @property
    def dense(self) -> NDArray[np.bool_]: ...
    def overlap(self, other: Sdr) -> int: ...

@final
class Corpus:
    def __new__(cls, num_blocks: int, diff_bits: int) -> Corpus: ...
    @property
    def num_blocks(self) -> int: ...
    @property
    def diff_bits(self) -> int: ...
    def insert(self, hash: _Print) -> bool: ...
    def remove(self, hash: _Print) -> bool: ...
    def find_first(self, query: _Print) -> Optional[int]: ...
    def find_all(self, query: _Print) -> list[int]: ...
    def insert_bulk(self, hashes: _Prints, *, progress: Optional[_Progress] = None) -> int: ...
    def remove_bulk(self, hashes: _Prints, *, progress: Optional[_Progress] = None) -> int: ...
    @overload
    def find_first_bulk(  # type: ignore[overload-overlap]
        self, queries: NDArray[np.uint64], *, progress: Optional[_Progress] = None
    ) -> np.ma.MaskedArray[tuple[int], np.dtype[np.uint64]]: ...
    @overload
    def find_first_bulk(
        self, queries: Iterable[SupportsIndex], *, progress: Optional[_Progress] = None
    ) -> list[Optional[int]]: ...
    @overload
    def find_all_bulk(  # type: ignore[overload-overlap]
        self, queries: NDArray[np.uint64], *, progress: Optional[_Progress] = None
    ) -> Matches: ...
    @overload
    def find_all_bulk(
        self, queries: Iterable[SupportsIndex], *, progress: Optional[_Progress] = None
    ) -> list[list[int]]: ...
    def to_array(self) -> NDArray[np.uint64]: ...
    def __len__(self) -> int: ...
    def __contains__(self, hash: _Print, /) -> bool: ...

@final
class Matches:
    @property
    def values(self) -> NDArray[np.uint64]: ...
    @property
    def offsets(self) -> NDArray[np.int64]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> NDArray[np.uint64]: ...
    def __iter__(self) -> Iterator[NDArray[np.uint64]]: ...

@final
class HammingIndex:
    def __new__(cls, radius: int = 3, *, blocks: Optional[int] = None, capacity: int = 1_000_000) -> HammingIndex: ...
    @property
    def radius(self) -> int: ...
    def insert(self, hash: _Print, doc: SupportsIndex) -> bool: ...
    def remove(self, hash: _Print, doc: SupportsIndex) -> bool: ...
    def insert_bulk(self, hashes: _Prints, docs: _Docs) -> int: ...
    def remove_bulk(self, hashes: _Prints, docs: _Docs) -> int: ...
    def find_first(self, query: _Print) -> Optional[Hit]: ...
    def find_all(self, query: _Print, radius: Optional[int] = None) -> list[Hit]: ...
    def find_all_bulk(
        self, queries: _Prints
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: _Stored) -> HammingIndex: ...
    def __len__(self) -> int: ...

@final
class BandIndex:
    def __new__(
        cls,
        rows: int = 128,
        *,
        bands: Optional[tuple[int, int]] = None,
        threshold: float = 0.8,
        recall: float = 0.99,
    ) -> BandIndex: ...
    @property
    def bands(self) -> tuple[int, int]: ...
    @property
    def rows(self) -> int: ...
    def probability(self, similarity: float) -> float: ...
    def insert(self, doc: SupportsIndex, signature: _Rows) -> None: ...
    def insert_bulk(self, signatures: NDArray[np.uint32], first: int = 0) -> int: ...
    def remove(self, doc: SupportsIndex) -> bool: ...
    def search(self, signature: _Rows, threshold: float = 0.8) -> Found[Near]: ...
    def __len__(self) -> int: ...
    def __contains__(self, doc: SupportsIndex, /) -> bool: ...

@final
class Dedup:
    @property
    def kept(self) -> NDArray[np.int64]: ...
    @property
    def removed(self) -> NDArray[np.int64]: ...
    @property
    def mask(self) -> NDArray[np.bool_]: ...
    @property
    def centers(self) -> NDArray[np.int64]: ...
    @property
    def clusters(self) -> Found[Cluster]: ...
    @property
    def summary(self) -> dict[str, Any]: ...
    def take(self, data: _T) -> _T: ...
    def __len__(self) -> int: ...

def simhash(text: _Text, preset: Literal["wire", "articles", "web"] = "wire") -> int: ...
def hamming(a: _Print, b: _Print) -> int: ...
def compare(
    a: _Text,
    b: _Text,
    *,
    preset: Optional[_Preset] = None,
    min_tokens: int = 5,
    config: Optional[_Config] = None,
    **overrides: Any,
) -> Comparison: ...
def dedup(
    data: _Data,
    *,
    text: str = "text",
    id: Optional[Union[str, _Ids]] = None,
    date: Optional[Union[str, _Dates]] = None,
    keep: Literal["first", "longest", "newest"] = "first",
    preset: Optional[_Preset] = None,
    config: Optional[_Config] = None,
    threads: Optional[int] = None,
    progress: Optional[_Progress] = None,
    **overrides: Any,
) -> Dedup: ...
def pairs(
    data: _Data,
    *,
    text: str = "text",
    id: Optional[Union[str, _Ids]] = None,
    date: Optional[Union[str, _Dates]] = None,
    preset: Optional[_Preset] = None,
    config: Optional[_Config] = None,
    limit_pairs: Optional[int] = None,
    threads: Optional[int] = None,
    progress: Optional[_Progress] = None,
    **overrides: Any,
) -> Found[Pair]: ...
def cluster(
    data: _Data,
    *,
    text: str = "text",
    id: Optional[Union[str, _Ids]] = None,
    date: Optional[Union[str, _Dates]] = None,
    preset: Optional[_Preset] = None,
    config: Optional[_Config] = None,
    min_size: int = 1,
    threads: Optional[int] = None,
    progress: Optional[_Progress] = None,
    **overrides: Any,
) -> Found[Cluster]: ...
