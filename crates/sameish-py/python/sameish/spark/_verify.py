"""Steps **pair** and **verify**: candidates, and comparison of their texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from . import _work
from ._components import components
from ._session import Session, arrow_map, gathered, partition_names, sorted_map

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ._documents import Documents

__all__ = ["Candidates", "Matches", "candidates", "distinct_candidates", "key_rows", "verified"]

# Keys of one partition: about 30 MB.
_KEYS = 500_000


@dataclass
class Matches:
    """Matching pairs of distinct texts, which are added in steps."""

    session: Session
    parts: list[DataFrame] = field(default_factory=list)
    # Number of comparisons.
    compared: int = 0
    # Number of matches.
    number: int = 0
    # Number of comparisons per hundredth of similarity.
    histogram: list[int] = field(default_factory=lambda: [0] * 101)

    def add(self, found: DataFrame) -> None:
        """Adds a checkpoint of matches, with the counts of each task in a separate row."""
        number = 0
        for row in found.filter("counts is not null").select("counts").collect():
            matches, compared, *histogram = row["counts"]
            number += matches
            self.compared += compared
            self.histogram = [a + b for a, b in zip(self.histogram, histogram)]
        if number:
            self.number += number
            self.parts.append(found.filter("a is not null").drop("counts"))

    def table(self) -> DataFrame:
        """Returns all matches; a pair may occur several times, with the same verdict."""
        if not self.parts:
            return self.session.spark.createDataFrame([], _work.MATCHES).drop("counts")
        return reduce(lambda a, b: a.unionByName(b), self.parts)

    def distinct(self) -> DataFrame:
        """Returns all matches, each pair once."""
        return self.table() if len(self.parts) < 2 else self.table().dropDuplicates(["a", "b"])


class Candidates(NamedTuple):
    """Pairs of documents that may match."""

    # Columns `a`, `b` and `count`. A pair may occur several times. A row without `b` has the length of the text of `a` as `count`.
    rows: DataFrame
    # Number of rows.
    number: int
    # Number of buckets in which a limit left out pairs, and of these pairs.
    capped: int = 0
    left: int = 0
    # Keys of the buckets that were not compared because of their size, with their sizes.
    large: dict[int, int] = {}  # noqa: RUF012


def key_rows(leaders: DataFrame) -> DataFrame:
    """Returns one row per key of each document."""
    from pyspark.sql import functions as F

    return leaders.select(F.explode("keys").alias("key"), "doc", "reference", "outline", "fingerprint")


def candidates(documents: Documents, limit: int, across: bool, excluded: list[int], divided: int | None) -> Candidates:
    """Returns pairs of documents that share a key and whose outlines are near.

    The keys are divided among partitions, and the keys of a batch for one partition are moved as one row of packed bytes: a row per
    key would cost Spark several times as much as finding the pairs.

    Args:
        documents: The corpus.
        limit: Number of first documents of a bucket with which the others are paired.
        across: Whether only pairs with a reference document are wanted.
        excluded: Keys of buckets that are left out.
        divided: Size from which a bucket is not compared, but returned in `large`; None for none.
    """
    session = documents.session
    names = partition_names(max(1, -(-documents.counts["documents"] * documents.plan.facts["keys"] // _KEYS)))
    members = documents.leaders.select("doc", "bytes", "reference", "outline", "fingerprint", "keys")
    packed = arrow_map(members, _work.pack_members(documents.plan, names, excluded), "part int, members binary")
    packed = packed.coalesce(1) if len(names) == 1 else packed.repartition(len(names), "part")
    work = _work.packed_pairs(documents.plan, limit, across, divided)
    found = session.checkpoint(arrow_map(packed, work, _work.CANDIDATES), "pairs")
    sums = [0, 0, 0]
    large: dict[int, int] = {}
    for row in found.filter("a is null").select("b", "count", "key").collect():
        if row["b"] == _work.LARGE:
            large[row["key"]] = row["count"]
        else:
            sums[row["b"]] += row["count"]
    capped, left, number = sums
    return Candidates(found.filter("a is not null").drop("key"), number, capped, left, large)


def verified(found: Candidates, documents: Documents, matches: Matches, texts: DataFrame | None = None) -> None:
    """Compares the texts of candidates, and adds the matches. Texts are read from the input, or from `texts`.

    The pairs of a component are compared in one bin, to which each text is sent once. A component with many pairs or long texts
    is divided into a grid of bins by both documents of a pair, so that the pairs of one document never meet in one bin, and a text
    is sent to at most twice as many bins as the grid has rows.
    """
    from pyspark.sql import functions as F

    session = documents.session
    if found.number == 0:
        return
    bins = _bins(found, documents)
    if texts is None:
        added = documents.with_texts(bins.needed, bins.texts)
    else:
        added = documents.with_moved_texts(bins.needed, bins.texts, texts)
    loaded = added.select("bin", F.col("doc").alias("a"), F.lit(None).cast("bigint").alias("b"), "text", "too_short", "fingerprint")
    nulls = [F.lit(None).cast(loaded.schema[name].dataType).alias(name) for name in ("text", "too_short", "fingerprint")]
    rows = loaded.unionByName(bins.pairs.select("bin", "a", "b", *nulls))
    compared = sorted_map(session.keeps_order, rows.repartition("bin"), ["bin", "b", "a"], _work.verify(documents.plan), _work.MATCHES)
    matches.add(session.checkpoint(compared, "matches"))


class _Bins(NamedTuple):
    """Pairs by the task that compares them."""

    # Columns `bin`, `a` and `b`.
    pairs: DataFrame
    # Columns `bin` and `doc`: the texts that each bin needs. Their number.
    needed: DataFrame
    texts: int


def _bins(found: Candidates, documents: Documents) -> _Bins:
    """Divides pairs into bins, in one task if there are few."""
    from pyspark.sql import functions as F

    session, limits = documents.session, documents.limits
    rows = found.rows
    if found.number > limits.task_pairs:
        pairs = session.checkpoint(rows.filter("b is not null").select("a", "b").distinct(), "distinct-pairs")
        count = pairs.count()
        if count > limits.task_pairs:
            return _divided(pairs, count, documents)
        rows = _with_lengths(pairs, documents)
    bins = session.checkpoint(gathered(rows, [], _work.bins(limits.bin_pairs, limits.bin_bytes), _work.BINS), "bins")
    counts = bins.filter("bin is null").select("b").first()
    pairs = bins.filter("bin is not null and b is not null")
    needed = bins.filter("bin is not null and b is null").select("bin", F.col("a").alias("doc"))
    return _Bins(pairs, needed, counts["b"])


def distinct_candidates(pairs: DataFrame, documents: Documents) -> Candidates:
    """Returns a checkpoint of distinct pairs as candidates."""
    return Candidates(_with_lengths(pairs, documents), pairs.count())


def _with_lengths(pairs: DataFrame, documents: Documents) -> DataFrame:
    """Adds the lengths of the texts of pairs, if they may decide about bins."""
    from pyspark.sql import functions as F

    nothing = F.lit(None).cast("bigint")
    rows = pairs.select("a", "b", nothing.alias("count"))
    if documents.counts["bytes"] <= documents.limits.bin_bytes:
        return rows
    docs = pairs.select(F.explode(F.array("a", "b")).alias("doc")).distinct()
    lengths = documents.table.select("doc", "bytes").join(docs, "doc")
    return rows.unionByName(lengths.select(F.col("doc").alias("a"), nothing.alias("b"), F.col("bytes").alias("count")))


def _divided(pairs: DataFrame, count: int, documents: Documents) -> _Bins:
    """Divides more pairs into bins than one task holds."""
    from pyspark.sql import functions as F

    session, limits = documents.session, documents.limits
    component = components(session, pairs, count, limits.task_pairs)
    pairs = pairs.join(component.withColumnRenamed("doc", "a"), "a")
    sizes = _sides(documents, pairs, component).filter("side > 1")
    side = F.coalesce("side", F.lit(1))
    slots = [F.pmod(F.xxhash64(name), side) for name in ("a", "b")]
    pairs = pairs.join(sizes, "component", "left").select(F.xxhash64("component", *slots).alias("bin"), "a", "b")
    pairs = session.checkpoint(pairs, "bin-pairs")
    needed = pairs.select("bin", F.explode(F.array("a", "b")).alias("doc")).distinct()
    needed = session.checkpoint(needed, "bin-texts")
    return _Bins(pairs, needed, needed.count())


def _sides(documents: Documents, pairs: DataFrame, component: DataFrame) -> DataFrame:
    """Returns for each component how many rows its grid of bins has: columns `component` and `side`."""
    from pyspark.sql import functions as F

    limits = documents.limits
    sides = pairs.groupBy("component").agg(F.ceil(F.sqrt(F.count("*") / limits.bin_pairs)).alias("side"))
    if documents.counts["bytes"] <= limits.bin_bytes:
        return sides
    # A bin has one of `side` parts of the documents for `a` and one for `b`.
    length = component.join(documents.table.select("doc", "bytes"), "doc").groupBy("component").agg(F.sum("bytes").alias("bytes"))
    needed = F.when(F.col("bytes") > limits.bin_bytes, F.ceil(2 * F.col("bytes") / limits.bin_bytes)).otherwise(1)
    return sides.join(length, "component").select("component", F.greatest("side", needed).alias("side"))
