"""Buckets that are too large for comparing all their documents with each other.

A center takes every document that matches it, so a million near-copies of one text need a million comparisons, not a million
squared. In each round, the first undecided documents of every large bucket (its *heads*) are compared with all later documents of
the bucket.
The texts of the heads, of bounded size, are sent to the executors; the texts of the bucket are not moved. A document is decided
when it matches a center, or when all earlier documents of its buckets were heads or are members of clusters.

If a round decides less than a quarter of a bucket, the bucket does not consist of copies. Its undecided documents, such as the texts
of one template, are compared as a crowd. The result equals that of comparing all pairs, unless a crowd has too many documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _needed, _work
from ._centers import decisions
from ._components import components
from ._crowds import crowd_pairs
from ._documents import Documents
from ._session import Session, arrow_map, salted
from ._verify import Matches, distinct_candidates, verified

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["LargeBuckets", "is_sampled", "large_keys"]

# One of this many documents is counted to find large buckets of a large corpus.
_SAMPLE = 16
# Maximum number of large buckets.
_MAX_KEYS = 100_000
_SALTS = 32


def is_sampled(documents: Documents, size: int) -> bool:
    """Returns whether buckets of more than `size` documents are found by `large_keys`, before all others: in a large corpus. In other
    corpora, they are found while the others are processed, in a task that can hold them."""
    count = documents.counts["documents"]
    return count > documents.limits.counted or count * documents.plan.facts["keys"] > _MAX_KEYS * size


def large_keys(documents: Documents, size: int) -> list[int]:
    """Returns the keys of buckets of more than `size` documents, the largest first."""
    from pyspark.sql import functions as F

    every = 1 if documents.counts["documents"] <= documents.limits.counted else _SAMPLE
    sample = documents.leaders.filter(F.pmod(F.xxhash64("copy_key"), F.lit(every)) == 0)
    least = size + 1 if every == 1 else max(2, size // every // 2)
    sizes = sample.select(F.explode("keys").alias("key")).groupBy("key").agg(F.count("*").alias("size"))
    largest = sizes.filter(F.col("size") >= least).orderBy(F.desc("size"), "key").limit(_MAX_KEYS)
    return [row["key"] for row in largest.select("key").collect()]


class _Head(NamedTuple):
    """A first document of a large bucket, with the length of its text."""

    doc: int
    bytes: int


def _parts(first: dict[int, list[_Head]], limit: int) -> Iterator[dict[int, list[_Head]]]:
    """Divides the heads of buckets into parts whose texts together have at most `limit` bytes, or are a single text."""
    part: dict[int, list[_Head]] = {}
    docs: set[int] = set()
    size = 0
    for key, heads in first.items():
        for head in heads:
            added = 0 if head.doc in docs else head.bytes
            if part and size + added > limit:
                yield part
                part, docs, size, added = {}, set(), 0, head.bytes
            part.setdefault(key, []).append(head)
            docs.add(head.doc)
            size += added
    if part:
        yield part


def _plain(value: Any) -> Any:
    """Returns bytes in place of a byte array, which pyarrow does not take."""
    return bytes(value) if isinstance(value, bytearray) else value


@dataclass
class LargeBuckets:
    """The rounds over large buckets."""

    documents: Documents
    # The matches of the other buckets, to which those of large buckets are added.
    matches: Matches
    # Last head of each bucket that has more documents.
    last_head: dict[int, int]
    capped: int = 0
    left: int = 0
    # The documents that later rounds of the current buckets may compare, and their number.
    _texts_left: DataFrame | None = None
    _number_left: int = 0
    _undecided: dict[int, int] = field(default_factory=dict)
    _profiles: Any = None

    def run(self) -> None:
        """Adds the matches in large buckets."""
        members = self._members()
        texts = self._texts(members)
        number = texts.count()
        waiting = list(self.last_head)
        limits = self.documents.limits
        size = self._fitting_buckets()
        states: DataFrame | None = None
        for start in range(0, len(waiting), size):
            self._texts_left, self._number_left = texts, number
            for number in range(limits.rounds):
                keys = [key for key in waiting[start : start + size] if key in self.last_head]
                if not keys:
                    break
                states = self._round(members, texts, keys, min(4**number, limits.heads), states)
            keys = [key for key in waiting[start : start + size] if key in self.last_head]
            if keys:
                self._compare_crowds(self._still_undecided(members, keys, states), texts, keys)
                states = self._decide(members)

    def linked(self) -> DataFrame:
        """Compares all documents of the buckets with the first ones. Returns the groups that their matches connect: `doc`, `group`."""
        members = self._members()
        texts = self._texts(members)
        number = texts.count()
        waiting = list(self.last_head)
        size = self._fitting_buckets()
        for start in range(0, len(waiting), size):
            self._texts_left, self._number_left = texts, number
            keys = waiting[start : start + size]
            first = self._first(self._of_keys(members, keys), keys, self.documents.limits.heads)
            self._compare(members, first, None)
        edges = self.matches.table().filter("joins").select("a", "b")
        found = components(self._session, edges, self.matches.number, self.documents.limits.task_pairs)
        return found.withColumnRenamed("component", "group")

    def _fitting_buckets(self) -> int:
        """Returns the number of buckets that are processed together: about as many as have heads that are sent at once."""
        limits, counts = self.documents.limits, self.documents.counts
        text_bytes = max(1, counts["bytes"] // max(1, counts["documents"]))
        return max(1, min(limits.round_buckets, limits.head_bytes // (text_bytes * limits.heads)))

    @property
    def _session(self) -> Session:
        return self.documents.session

    def _members(self) -> DataFrame:
        """Returns the documents of large buckets: `doc`, `bytes` (of the text), and `key` for each of these buckets."""
        from pyspark.sql import functions as F

        rows = self.documents.leaders.select(F.explode("keys").alias("key"), "doc", "bytes")
        rows = rows.join(F.broadcast(self._bounds(list(self.last_head))), "key", "left_semi")
        return self.documents.narrowed(self._session.checkpoint(rows, "large-buckets"))

    def _texts(self, members: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        rows = members.groupBy("doc").agg(F.collect_list("key").alias("keys"))
        rows = rows.join(self.documents.table.select("doc", "outline"), "doc")
        found = self.documents.with_texts(rows)
        if self.documents.ambiguous:
            # Repeated records have the text of a document more than once.
            found = found.dropDuplicates(["doc"])
        return self._session.checkpoint(found, "large-texts")

    def _bounds(self, keys: list[int]) -> DataFrame:
        rows = [(key, self.last_head[key]) for key in keys]
        return self._session.spark.createDataFrame(rows, "key bigint, last bigint")

    def _after_heads(self, members: DataFrame, keys: list[int]) -> DataFrame:
        """Returns the documents of buckets after their last heads."""
        from pyspark.sql import functions as F

        return members.join(F.broadcast(self._bounds(keys)), "key").filter("doc > last").select("key", "doc", "bytes")

    def _still_undecided(self, members: DataFrame, keys: list[int], states: DataFrame | None) -> DataFrame:
        """Returns the documents after the last heads of their buckets that are not members of clusters."""
        undecided = self._after_heads(members, keys)
        if states is not None:
            undecided = undecided.join(states.filter("state = 2").select("doc"), "doc", "left_anti")
        return self.documents.narrowed(self._session.checkpoint(undecided, "undecided"))

    def _round(self, members: DataFrame, texts: DataFrame, keys: list[int], heads: int, states: DataFrame | None) -> DataFrame:
        undecided = self._still_undecided(members, keys, states)
        slow = self._slow_buckets(undecided, keys, heads)
        if slow:
            self._compare_crowds(self._of_keys(undecided, slow), texts, slow)
            keys = [key for key in keys if key in self.last_head]
            undecided = self._of_keys(undecided, keys) if keys else undecided.limit(0)
        first = self._first(undecided, keys, heads) if keys else {}
        for key in keys:
            docs = first.get(key, [])
            if len(docs) < heads:
                del self.last_head[key]
            else:
                self.last_head[key] = docs[-1].doc
        if first:
            self._compare(members, first, states)
        return self._decide(members)

    def _of_keys(self, members: DataFrame, keys: list[int]) -> DataFrame:
        from pyspark.sql import functions as F

        wanted = self._session.spark.createDataFrame([(key,) for key in keys], "key bigint")
        return members.join(F.broadcast(wanted), "key", "left_semi")

    def _slow_buckets(self, undecided: DataFrame, keys: list[int], heads: int) -> list[int]:
        """Returns the buckets of which the last round decided less than a quarter, and that are small enough for a crowd."""
        from pyspark.sql import functions as F

        limits = self.documents.limits
        sizes = {row["key"]: row["size"] for row in undecided.groupBy("key").agg(F.count("*").alias("size")).collect()}
        slow = []
        for key in keys:
            before, now = self._undecided.get(key), sizes.get(key, 0)
            fits = now <= 2 * limits.block or (heads == limits.heads and now <= limits.crowd)
            if before is not None and now > heads and 4 * now > 3 * before and fits:
                slow.append(key)
            self._undecided[key] = now
        return slow

    def _compare_crowds(self, undecided: DataFrame, texts: DataFrame, keys: list[int]) -> None:
        """Compares all undecided documents of buckets with each other. Nothing remains to be done for these buckets."""
        if self._profiles is None:
            found = arrow_map(texts.select("doc", "text"), _work.profiles(self.documents.plan), "doc bigint, profile binary")
            self._profiles = self._session.checkpoint(found, "profiles")
        crowds = crowd_pairs(self.documents, undecided, False, self._profiles)
        verified(distinct_candidates(crowds.pairs, self.documents), self.documents, self.matches, texts)
        self.capped += crowds.capped
        self.left += crowds.left
        for key in keys:
            del self.last_head[key]

    def _first(self, undecided: DataFrame, keys: list[int], heads: int) -> dict[int, list[_Head]]:
        """Returns the first documents of each bucket, in order. A bucket is divided, so that no task sorts all of it."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        parts = undecided.withColumn("salt", salted(0, _SALTS))
        by_part = Window.partitionBy("key", "salt").orderBy("doc")
        parts = parts.withColumn("place", F.row_number().over(by_part)).filter(F.col("place") <= heads)
        by_key = Window.partitionBy("key").orderBy("doc")
        first = parts.withColumn("place", F.row_number().over(by_key)).filter(F.col("place") <= heads)
        found: dict[int, list[_Head]] = {}
        wanted = set(keys)
        for row in first.select("key", "doc", "bytes").collect():
            if row["key"] in wanted:
                found.setdefault(row["key"], []).append(_Head(row["doc"], row["bytes"]))
        return {key: sorted(docs) for key, docs in found.items()}

    def _compare(self, members: DataFrame, first: dict[int, list[_Head]], states: DataFrame | None) -> None:
        """Compares heads with all later documents of their buckets, and adds the matches."""
        for part in _parts(first, self.documents.limits.head_bytes):
            later = self.documents.narrowed(self._session.checkpoint(self._later(members, part, states), "later"))
            number = later.count()
            if number:
                # Heads are not among the later documents, so their texts are collected before the others are left out.
                heads = self._head_table(part)
                self._compare_part(self._texts_of(later, number, len(part) == len(first)), heads)

    def _later(self, members: DataFrame, first: dict[int, list[_Head]], states: DataFrame | None) -> DataFrame:
        """Returns the documents that are compared with the heads of their buckets, each once: `doc`."""
        from pyspark.sql import functions as F

        heads = self._session.spark.createDataFrame([(key, docs[0].doc) for key, docs in first.items()], "key bigint, head bigint")
        rows = members.join(F.broadcast(heads), "key").filter("doc > head")
        if states is not None:
            # A member of a cluster whose center comes before all heads stays there.
            settled = states.filter("state = 2").select("doc", "center")
            rows = rows.join(settled, "doc", "left").filter("center is null or center > head")
        return rows.select("doc").distinct()

    def _texts_of(self, later: DataFrame, number: int, is_all: bool) -> DataFrame:
        """Returns texts that include those of some documents, and not more than twice as many. A round needs no document that
        the round before did not need, so its texts are read from those of that round, if they are fewer than half."""
        texts = self._texts_left
        assert texts is not None
        if 2 * number > self._number_left:
            return texts
        texts = _needed.matching(texts, later, ["doc"], number, self.documents.limits.broadcast_rows)
        if is_all:
            self._texts_left = texts = self._session.checkpoint(texts, "texts-left")
            self._number_left = number
        return texts

    def _compare_part(self, later: DataFrame, heads: pa.Table) -> None:
        columns = ["doc", "keys", "outline", "fingerprint", "too_short", "text"]
        found = arrow_map(later.select(columns), _work.compare_with_heads(self.documents.plan, heads), _work.MATCHES)
        self.matches.add(self._session.checkpoint(found, "large-matches"))

    def _head_table(self, first: dict[int, list[_Head]]) -> pa.Table:
        import pyarrow as pa
        from pyspark.sql import functions as F

        texts = self._texts_left
        assert texts is not None
        keys_of: dict[int, list[int]] = {}
        for key, docs in first.items():
            for head in docs:
                keys_of.setdefault(head.doc, []).append(key)
        heads = self._session.spark.createDataFrame(list(keys_of.items()), "doc bigint, head_keys array<bigint>")
        found = texts.drop("keys").join(F.broadcast(heads), "doc").withColumnRenamed("head_keys", "keys")
        rows: list[Any] = found.select("doc", "keys", "outline", "fingerprint", "too_short", "text").collect()
        schema = pa.schema(
            [("doc", pa.int64()), ("keys", pa.list_(pa.int64())), ("outline", pa.binary()), ("fingerprint", pa.int64()),
             ("too_short", pa.bool_()), ("text", pa.string() if texts.schema["text"].dataType.simpleString() == "string" else pa.binary())]
        )
        return pa.table({name: [_plain(row[name]) for row in rows] for name in schema.names}, schema=schema)

    def _decide(self, members: DataFrame) -> DataFrame:
        open_documents = self._after_heads(members, list(self.last_head)).select("doc").distinct() if self.last_head else None
        # A match that occurs twice does not change a decision.
        joined = self.matches.table().filter("joins")
        decided = decisions(self._session, joined, self.matches.number, self.documents.limits.task_pairs, open_documents)
        return self.documents.narrowed(decided)
