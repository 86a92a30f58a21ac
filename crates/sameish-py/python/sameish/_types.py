"""Result types. Named tuples can be compared and pickled, and become rows of a data frame."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, List, Literal, NamedTuple, Optional, TypeVar, Union

if TYPE_CHECKING:
    from ._sameish import Sdr, Signature

__all__ = ["Cluster", "Comparison", "Difference", "Found", "Hit", "Inserted", "Match", "Near", "Pair", "Passage", "Schemes", "Sketches"]

Id = Union[int, str]
Relation = Literal["same", "contains", "contained_in", "update_of", "updated_by", "overlaps"]
_Item = TypeVar("_Item")


class Found(List[_Item]):
    """A list of results that also reports how complete it is.

    Attributes:
        candidates: Number of candidates that were examined.
        capped: Number of limits reached. If it is not 0, results may be missing.
        omitted: Number of candidates that were not compared because of limits; 0 in the results of engines and indexes.
        expected_recall: Estimated share of the pairs at or above the threshold that were found. If no match was found, the
            recall at the threshold: the probability that the index finds a pair exactly at the threshold. None if only fingerprints are compared, and in the
            results of engines and indexes.
        expected_recall_interval: 99 % interval of `expected_recall`, or None. It ends at 1 where limits make the estimate a lower
            bound.
    """

    __slots__ = ("candidates", "capped", "expected_recall", "expected_recall_interval", "omitted", "_item_type")

    candidates: int
    capped: int
    omitted: int
    expected_recall: Optional[float]
    expected_recall_interval: Optional[tuple[float, float]]

    def __init__(
        self,
        items: Iterable[_Item] = (),
        candidates: int = 0,
        capped: int = 0,
        item_type: Optional[type] = None,
        omitted: int = 0,
        expected_recall: Optional[float] = None,
        expected_recall_interval: Optional[tuple[float, float]] = None,
    ) -> None:
        super().__init__(items)
        self.candidates = candidates
        self.capped = capped
        self.omitted = omitted
        self.expected_recall = expected_recall
        self.expected_recall_interval = expected_recall_interval
        self._item_type = item_type

    def to_frame(self, library: Optional[Literal["pandas", "polars", "pyarrow"]] = None) -> Any:
        """Converts the results to a data frame with one row per result and one column per field.

        Args:
            library: `"pandas"`, `"polars"` or `"pyarrow"`; default: the first of them that is installed.

        Returns:
            A pandas or Polars data frame, or a pyarrow table.

        Raises:
            ImportError: The library is not installed.
        """
        item_type = self._item_type or (type(self[0]) if self else None)
        names: tuple[str, ...] = getattr(item_type, "_fields", ())
        columns = {name: [getattr(item, name) for item in self] for name in names}
        for name in ("pandas", "polars", "pyarrow") if library is None else (library,):
            try:
                return _make_frame(name, columns)
            except ModuleNotFoundError as error:
                if error.name != name or library is not None:
                    raise
        raise ImportError("a data frame requires pandas, Polars or pyarrow: run `pip install pandas`")

    def __reduce__(self) -> "tuple[type[Found[_Item]], tuple[Any, ...]]":
        estimate = (self.omitted, self.expected_recall, self.expected_recall_interval)
        return Found, (list(self), self.candidates, self.capped, self._item_type, *estimate)


def _make_frame(library: str, columns: dict[str, list[Any]]) -> Any:
    module = importlib.import_module(library)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


class Inserted(NamedTuple):
    """The result of adding a document.

    Attributes:
        status: `"ok"`, or `"too_short"` if the text has too few words for the settings.
        replaced: Whether the document replaced one with the same id.
        cluster: Number of the cluster that the document joined or started, with the linkage
            `online`; otherwise None.
    """

    status: Literal["ok", "too_short"]
    replaced: bool
    cluster: Optional[int]


class Match(NamedTuple):
    """A document that matches a query.

    Attributes:
        id: Id of the document.
        similarity: Similarity from 0 to 1: the exact Jaccard similarity of the shingles if `verified`,
            otherwise an estimate from the sketches.
        match_type: `"exact"` (equal normalized text), `"near"` (Jaccard similarity >= 0.8, or at
            most 3 differing bits) or `"similar"`.
        verified: Whether the features of the two documents were compared.
        simhash_distance: Hamming distance of the fingerprints in bits, 0 to 64; None without fingerprints.
        facts: Agreement of the names and numbers of the two texts, 0 to 1; None unless `verified`, and for
            short texts and shingles of characters.
        template: Whether the match is a template: the same wording with different names or numbers.
        relation: How the query relates to the document, if the match is verified: `"same"`, `"contains"` (the
            document is an excerpt), `"contained_in"` (the document has more), `"update_of"` (the document is an
            earlier version), `"updated_by"` (a later version) or `"overlaps"`. Updates require the dates of both,
            so only `search_id` finds them. None unless `verified`.
    """

    id: Id
    similarity: float
    match_type: Literal["exact", "near", "similar"]
    verified: bool
    simhash_distance: Optional[int]
    facts: Optional[float]
    template: bool
    relation: Optional[Relation]


class Pair(NamedTuple):
    """Two documents that match.

    Attributes:
        a: Id of the earlier document.
        b: Id of the later document.
        similarity: Similarity from 0 to 1: the exact Jaccard similarity of the shingles if `verified`,
            otherwise an estimate from the sketches.
        match_type: `"exact"` (equal normalized text), `"near"` (Jaccard similarity >= 0.8, or at
            most 3 differing bits) or `"similar"`.
        verified: Whether the features of the two documents were compared.
        simhash_distance: Hamming distance of the fingerprints in bits, 0 to 64; None without fingerprints.
        facts: Agreement of the names and numbers of the two texts, 0 to 1; None unless `verified`, and for
            short texts and shingles of characters.
        template: Whether the match is a template: the same wording with different names or numbers.
        relation: How `a` relates to `b`, if the match is verified: `"same"`, `"contains"` (`b` is an
            excerpt), `"contained_in"` (`b` has more), `"update_of"` (`a` is a later version), `"updated_by"`
            (an earlier version) or `"overlaps"`. Updates require dates. None unless `verified`.
    """

    a: Id
    b: Id
    similarity: float
    match_type: Literal["exact", "near", "similar"]
    verified: bool
    simhash_distance: Optional[int]
    facts: Optional[float]
    template: bool
    relation: Optional[Relation]


class Cluster(NamedTuple):
    """A cluster of documents.

    Attributes:
        center: Id of the center, which represents the cluster.
        members: Ids of all documents, the center first.
        mean_similarity: Mean similarity of the other members to the center, 0 to 1; 1 for a single
            document; None if only fingerprints are compared.
        average_distance: Mean Hamming distance of the other members to the center in bits; 0 for a
            single document; None unless only fingerprints are compared.
    """

    center: Id
    members: list[Id]
    mean_similarity: Optional[float]
    average_distance: Optional[float]


class Passage(NamedTuple):
    """A passage that two texts share.

    The positions are those of Python slices, `a[p.a_start:p.a_end]`: characters of a str, or items
    of a list of tokens.

    Attributes:
        a_start: Start in the first text.
        a_end: End in the first text, exclusive.
        b_start: Start in the second text.
        b_end: End in the second text, exclusive.
        tokens: Length in words.
    """

    a_start: int
    a_end: int
    b_start: int
    b_end: int
    tokens: int


class Difference(NamedTuple):
    """A part in which two texts with common wording differ: a number, a name or other text.

    The positions are those of Python slices, `a[d.a_start:d.a_end]`: characters of a str, or items
    of a list of tokens. The range is empty where the other text has additional words.

    Attributes:
        a_start: Start in the first text.
        a_end: End in the first text, exclusive.
        b_start: Start in the second text.
        b_end: End in the second text, exclusive.
        kind: `"number"`, `"name"` or `"text"`.
    """

    a_start: int
    a_end: int
    b_start: int
    b_end: int
    kind: Literal["number", "name", "text"]


class Comparison(NamedTuple):
    """The result of comparing two texts with every measure.

    Attributes:
        similarity: Exact Jaccard similarity of the shingles, 0 to 1.
        containment: The larger of `containment_a` and `containment_b`.
        containment_a: Fraction of the shingles of the first text that the second contains, 0 to 1.
        containment_b: Fraction of the shingles of the second text that the first contains, 0 to 1.
        simhash_distance: Hamming distance of the SimHash fingerprints in bits, 0 to 64.
        minhash_similarity: Similarity estimated from the signatures, 0 to 1; None if either text has no
            signature.
        match_type: `"exact"`, `"near"`, `"similar"` or `"different"`.
        too_short: Whether either text has too few words for the settings.
        words_a: Number of words of the first text.
        words_b: Number of words of the second text.
        passages: Shared passages, in the order of the first text.
        coverage_a: Fraction of the words of the first text that are in a shared passage, 0 to 1.
        coverage_b: Fraction of the words of the second text that are in a shared passage, 0 to 1.
        facts: How far the names and numbers agree, 0 to 1; None for short texts and for shingles of
            characters.
        template: Whether the match is a template: the same wording with different names or numbers.
        differences: Parts in which the two texts differ between passages that they share, in the
            order of the texts; at most 1,000.
        relation: How the first text relates to the second: `"same"`, `"contains"`, `"contained_in"`,
            `"update_of"`, `"updated_by"` or `"overlaps"`, as in `Pair`; None if they do not match.
    """

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
    facts: Optional[float]
    template: bool
    differences: list[Difference]
    relation: Optional[Relation]


class Sketches(NamedTuple):
    """The sketches of a text.

    Attributes:
        status: `"ok"`, or `"too_short"` if the text has too few words for the settings.
        words: Number of words, without stop words if the settings remove them.
        simhash: 64-bit SimHash fingerprint, 0 for a text without features; None if the settings
            compute none.
        minhash: MinHash signature; None if the settings compute none or the text is too short.
        sdr: Sparse code; None if the settings compute none.
    """

    status: Literal["ok", "too_short"]
    words: int
    simhash: Optional[int]
    minhash: Optional[Signature]
    sdr: Optional[Sdr]


class Schemes(NamedTuple):
    """The schemes of the sketches that an engine computes.

    A scheme identifies the settings that determine the bytes of a sketch.

    Attributes:
        simhash: Scheme of fingerprints, as 16 hex digits; None if the settings compute none.
        minhash: Scheme of signatures; None if the settings compute none.
        sdr: Scheme of sparse codes; None if the settings compute none.
    """

    simhash: Optional[str]
    minhash: Optional[str]
    sdr: Optional[str]


class Hit(NamedTuple):
    """A document that a `HammingIndex` found.

    Attributes:
        doc: Number of the document.
        distance: Hamming distance to the query in bits, 0 to 64.
    """

    doc: int
    distance: int


class Near(NamedTuple):
    """A document that a `BandIndex` found.

    Attributes:
        doc: Number of the document.
        estimate: Estimated Jaccard similarity to the query, 0 to 1.
    """

    doc: int
    estimate: float
