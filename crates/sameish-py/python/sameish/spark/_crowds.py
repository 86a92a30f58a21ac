"""Step **pair** for crowds: documents that are connected by large buckets.

All documents of a crowd are paired, whatever their number: the crowd is divided into blocks, and each pair of blocks is one task,
so that no task has more than two blocks. If only matches that join two documents are needed, profiles of the texts reject all other
pairs: texts of one template differ in their rarest words or numbers. A crowd with too many documents is first divided by bucket. In
a bucket that is still too large, all documents are paired with the first ones only, and the limit is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import _work
from ._components import components
from ._session import salted, sorted_map

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ._documents import Documents

__all__ = ["CrowdPairs", "crowd_pairs", "in_cells"]

_SALTS = 32


class CrowdPairs(NamedTuple):
    """Candidates in crowds."""

    # Distinct pairs: `a`, `b`.
    pairs: DataFrame
    # Number of crowds in which some pairs were left out, and of these pairs.
    capped: int
    left: int


def crowd_pairs(
    documents: Documents, members: DataFrame, across: bool, profiles: DataFrame | None, groups: DataFrame | None = None
) -> CrowdPairs:
    """Finds the candidates in crowds.

    Args:
        documents: The corpus.
        members: Columns `key` and `doc`: the documents of large buckets.
        across: Whether only pairs with a reference document are wanted.
        profiles: Columns `doc` and `profile`; None if all matches are wanted.
        groups: Columns `doc` and `group`: pairs within a group are not wanted; default None.
    """
    from pyspark.sql import functions as F

    session, limits = documents.session, documents.limits
    crowds = session.checkpoint(_crowds(documents, members), "crowds")
    sizes = crowds.groupBy("crowd").agg(F.count("*").alias("size"))
    largest = sizes.filter(F.col("size") > limits.crowd)
    omitted = (F.col("size") - limits.crowd) * (F.col("size") - limits.crowd - 1) / 2
    counts = largest.agg(F.count("*").alias("capped"), F.sum(omitted).cast("bigint").alias("left")).first()
    rows = crowds.join(sizes, "crowd")
    rows = rows.join(documents.table.select("doc", "reference", "outline", "fingerprint"), "doc")
    cells = in_cells(_heads(rows, limits.crowd, counts["capped"]), limits.block, limits.crowd)
    if profiles is None:
        cells = cells.withColumn("profile", F.lit(None).cast("binary"))
    else:
        cells = cells.join(profiles, "doc", "left")
    if groups is None:
        cells = cells.withColumn("group", F.lit(None).cast("bigint"))
    else:
        cells = cells.join(groups, "doc", "left")
    work = _work.cell_pairs(documents.plan, across)
    found = sorted_map(session.keeps_order, cells.repartition("cell"), ["cell"], work, "a bigint, b bigint")
    return CrowdPairs(session.checkpoint(found.distinct(), "crowd-pairs"), counts["capped"], counts["left"] or 0)


def _crowds(documents: Documents, members: DataFrame) -> DataFrame:
    """Returns the crowds: `crowd`, `doc` and `keys`. A connected group with too many documents is divided by its buckets."""
    from pyspark.sql import functions as F

    session, limits = documents.session, documents.limits
    first = members.groupBy("key").agg(F.min("doc").alias("a"))
    edges = members.join(F.broadcast(first), "key").filter("a <> doc").select("a", F.col("doc").alias("b")).distinct()
    edges = session.checkpoint(edges, "crowd-edges")
    groups = components(session, edges, edges.count(), limits.task_pairs)
    docs = members.groupBy("doc").agg(F.collect_list("key").alias("keys")).join(groups, "doc")
    sizes = docs.groupBy("component").agg(F.count("*").alias("size"))
    docs = session.checkpoint(docs.join(sizes, "component"), "crowd-documents")
    small = docs.filter(F.col("size") <= limits.crowd).select(F.xxhash64(F.lit(0), "component").alias("crowd"), "doc", "keys")
    large = docs.filter(F.col("size") > limits.crowd).select("doc", F.explode("keys").alias("key"))
    large = large.select(F.xxhash64(F.lit(1), "key").alias("crowd"), "doc", F.array("key").alias("keys"))
    return small.unionByName(large)


def _heads(rows: DataFrame, limit: int, capped: int) -> DataFrame:
    """Adds `is_head`: whether a document is one of the first `limit` of its crowd. No task sorts a whole crowd."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    small = rows.filter(F.col("size") <= limit).withColumn("is_head", F.lit(True))
    if not capped:
        return small
    large = rows.filter(F.col("size") > limit)
    by_part = Window.partitionBy("crowd", "salt").orderBy("doc")
    first = large.select("crowd", "doc", salted(0, _SALTS).alias("salt")).withColumn("place", F.row_number().over(by_part))
    first = first.filter(F.col("place") <= limit).withColumn("place", F.row_number().over(Window.partitionBy("crowd").orderBy("doc")))
    last = first.filter(F.col("place") == limit).select("crowd", F.col("doc").alias("last"))
    return small.unionByName(large.join(last, "crowd").withColumn("is_head", F.col("doc") <= F.col("last")).drop("last"))


def in_cells(rows: DataFrame, block: int, limit: int) -> DataFrame:
    """Sends each document to the cells of its block: one for each other block that it is compared with.

    Args:
        rows: `crowd`, `size` (of the crowd), `is_head`, `doc`, `reference`, and other columns.
        block: Number of documents of a block, about.
        limit: Maximum number of heads of a crowd.
    """
    from pyspark.sql import functions as F

    blocks = F.ceil(F.col("size") / block).cast("bigint")
    heads = F.least(blocks, F.lit(max(1, -(-limit // block))).cast("bigint"))
    hashed = F.xxhash64(F.lit(2), "doc")
    others = F.greatest(F.col("blocks") - F.col("heads"), F.lit(1))
    own = F.when(F.col("is_head"), F.pmod(hashed, F.col("heads"))).otherwise(F.col("heads") + F.pmod(hashed, others))
    rows = rows.withColumn("blocks", blocks).withColumn("heads", heads).withColumn("block", own)
    # The last head block may be followed by documents that are not heads, so that there is one more block than `blocks` says.
    last = F.when(F.col("is_head"), F.greatest("blocks", F.when(F.col("size") > limit, F.col("heads") + 1).otherwise(0)) - 1)
    rows = rows.withColumn("other", F.explode(F.sequence(F.lit(0).cast("bigint"), last.otherwise(F.col("heads") - 1))))
    cell = F.xxhash64("crowd", F.least("block", "other"), F.greatest("block", "other"))
    return rows.withColumn("cell", cell).drop("crowd", "size", "is_head", "blocks", "heads", "other")
