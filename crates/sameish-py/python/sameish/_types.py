"""What is given back. Named tuples: they compare, pickle and become rows of a frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, List, Literal, NamedTuple, Optional, TypeVar, Union

if TYPE_CHECKING:
    from ._sameish import Sdr, Signature

__all__ = ["Cluster", "Comparison", "Found", "Hit", "Inserted", "Match", "Near", "Pair", "Passage", "Sketches"]

Id = Union[int, str]
_Item = TypeVar("_Item")


class Found(List[_Item]):
    """A list of what was found, and how far one looked for it."""

    __slots__ = ("candidates", "capped")

    #: How many candidates were judged.
    candidates: int
    #: How many limits were hit: where it is not 0, something may be missing.
    capped: int

    def __init__(self, items: Iterable[_Item] = (), candidates: int = 0, capped: int = 0) -> None:
        super().__init__(items)
        self.candidates = candidates
        self.capped = capped

    def __reduce__(self) -> "tuple[type[Found[_Item]], tuple[list[_Item], int, int]]":
        return Found, (list(self), self.candidates, self.capped)


class Inserted(NamedTuple):
    """What became of a document that was added."""

    status: Literal["ok", "too_short"]
    replaced: bool
    cluster: Optional[int]


class Match(NamedTuple):
    """A document that matches."""

    id: Id
    similarity: float
    match_type: Literal["exact", "near", "similar"]
    verified: bool
    distance: Optional[int]
    facts: Optional[float]
    template: bool


class Pair(NamedTuple):
    """Two documents that match; `a` came first."""

    a: Id
    b: Id
    similarity: float
    match_type: Literal["exact", "near", "similar"]
    verified: bool
    distance: Optional[int]
    facts: Optional[float]
    template: bool


class Cluster(NamedTuple):
    """Documents that belong together; `members` begins with the center."""

    center: Id
    members: list[Id]
    mean_similarity: Optional[float]
    average_distance: Optional[float]


class Passage(NamedTuple):
    """A passage that stands in both texts, as positions for slices: `a[p.a_start:p.a_end]`."""

    a_start: int
    a_end: int
    b_start: int
    b_end: int
    tokens: int


class Comparison(NamedTuple):
    """Everything that can be said of two texts side by side."""

    similarity: float
    containment: float
    containment_a: float
    containment_b: float
    simhash_distance: int
    minhash_similarity: Optional[float]
    match_type: Literal["exact", "near", "similar", "different"]
    too_short: bool
    words_a: int
    words_b: int
    passages: list[Passage]
    coverage_a: float
    coverage_b: float


class Sketches(NamedTuple):
    """What a preset makes of a text."""

    status: Literal["ok", "too_short"]
    words: int
    simhash: Optional[int]
    minhash: Optional[Signature]
    sdr: Optional[Sdr]


class Hit(NamedTuple):
    """A document of a `HammingIndex` within the radius."""

    doc: int
    distance: int


class Near(NamedTuple):
    """A document of a `BandIndex` that shares a band."""

    doc: int
    estimate: float
