"""Steps **pair** and **verify**: candidates, and comparison of their texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from . import _work
from ._components import components
from ._session import Session, sorted_map

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ._documents import Documents

__all__ = ["Matches", "candidates", "key_rows", "verified"]


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
        """Adds a checkpoint of matches, with counts in separate rows."""
        from pyspark.sql import functions as F

        sums = found.filter("counts is not null").select(F.posexplode("counts").alias("place", "count")).groupBy("place")
        for row in sums.agg(F.sum("count").alias("count")).collect():
            if row["place"] == 0:
                self.compared += row["count"]
            else:
                self.histogram[row["place"] - 1] += row["count"]
        part = found.filter("a is not null").drop("counts")
        number = part.count()
        if number:
            self.number += number
            self.parts.append(part)

    def table(self) -> DataFrame:
        """Returns all matches; a pair may occur several times, with the same verdict."""
        if not self.parts:
            return self.session.spark.createDataFrame([], _work.MATCHES).drop("counts")
        return reduce(lambda a, b: a.unionByName(b), self.parts)

    def distinct(self) -> DataFrame:
        """Returns all matches, each pair once."""
        return self.table() if len(self.parts) < 2 else self.table().dropDuplicates(["a", "b"])


def key_rows(leaders: DataFrame) -> DataFrame:
    """Returns one row per key of each document."""
    from pyspark.sql import functions as F

    return leaders.select(F.explode("keys").alias("key"), "doc", "reference", "outline", "fingerprint")


def candidates(session: Session, rows: DataFrame, documents: Documents, limit: int, across: bool) -> tuple[DataFrame, int, int]:
    """Returns pairs of documents that share a key and whose outlines are near, the number of buckets in which a limit left out
    pairs, and the number of these pairs.

    Rows are sorted within the partitions of their keys. A task reads them as a stream and keeps the first `limit` documents of
    one bucket, so that neither its memory nor its time per row depends on the size of a bucket.
    """
    from pyspark.sql import functions as F

    work = _work.bucket_pairs(documents.plan, limit, across)
    found = sorted_map(session.keeps_order, rows.repartition("key"), ["key", "-reference", "doc"], work, _work.PAIRS)
    pairs = session.checkpoint(found.groupBy("a", "b").agg(F.sum("count").alias("count")), "pairs")
    counts = {row["b"]: row["count"] for row in pairs.filter("a is null").collect()}
    return pairs.filter("a is not null").select("a", "b"), counts.get(0, 0), counts.get(1, 0)


def verified(pairs: DataFrame, documents: Documents, matches: Matches, texts: DataFrame | None = None) -> None:
    """Compares the texts of pairs, which are distinct, and adds the matches. Texts are read from the input, or from `texts`.

    The pairs of a component are compared in one bin, to which each text is sent once. A component with many pairs or long texts
    is divided into a grid of bins by both documents of a pair, so that the pairs of one document never meet in one bin, and a text
    is sent to at most twice as many bins as the grid has rows.
    """
    from pyspark.sql import functions as F

    session, limits = documents.session, documents.limits
    count = pairs.count()
    if count == 0:
        return
    component = components(session, pairs, count, limits.task_pairs)
    pairs = pairs.join(component.withColumnRenamed("doc", "a"), "a")
    sizes = _sides(documents, pairs, component).filter("side > 1")
    side = F.coalesce("side", F.lit(1))
    slots = [F.pmod(F.xxhash64(name), side) for name in ("a", "b")]
    pairs = pairs.join(sizes, "component", "left").select("a", "b", F.xxhash64("component", *slots).alias("bin"))
    pairs = session.checkpoint(pairs, "bins")
    needed = pairs.select("bin", F.explode(F.array("a", "b")).alias("doc")).distinct()
    found = documents.with_texts(needed) if texts is None else documents.with_moved_texts(needed, texts)
    loaded = found.select("bin", F.col("doc").alias("a"), F.lit(None).cast("bigint").alias("b"), "text", "too_short", "fingerprint")
    nulls = [F.lit(None).cast(loaded.schema[name].dataType).alias(name) for name in ("text", "too_short", "fingerprint")]
    rows = loaded.unionByName(pairs.select("bin", "a", "b", *nulls))
    found = sorted_map(session.keeps_order, rows.repartition("bin"), ["bin", "b", "a"], _work.verify(documents.plan), _work.MATCHES)
    matches.add(session.checkpoint(found, "matches"))


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
