"""Step **cluster**: the rule of cohesive clusters, for graphs that no machine holds.

A document is a center unless it matches an earlier center. One task decides all documents if there are few matches. Otherwise the
documents are divided into ranges, and each round decides in parallel the ranges of which something is newly known about an earlier
document of another range. The first undecided range is always decided completely, so there are at most as many rounds as ranges,
also on a chain of matches through all of them; without long chains there are only a few.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import _work
from ._session import Session, gathered, sorted_map

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["decisions", "online_parents"]

_COLUMNS = ["part", "a", "b", "state", "open", "similarity", "facts", "verified"]
_ORDER = ["part", "b", "a"]


def decisions(session: Session, matches: DataFrame, count: int, limit: int, open_documents: DataFrame | None = None) -> DataFrame:
    """Returns for each document with an earlier match: `state` (1 center, 2 member, 0 unknown), and for a member its center.

    Args:
        session: The run.
        matches: Columns `a`, `b`, `similarity`, `facts` and `verified`, with `a` before `b`.
        count: Number of matches.
        limit: Maximum number of matches of a range.
        open_documents: Documents that may have matches that are not known yet, so that they cannot become centers.
    """
    from pyspark.sql import functions as F

    parts = max(1, -(-count // limit))
    rows = matches.select("a", "b", "similarity", "facts", "verified")
    if open_documents is None:
        rows = rows.withColumn("open", F.lit(False)).withColumn("root", F.lit(1))
    else:
        rows = rows.join(open_documents.select(F.col("doc").alias("b"), F.lit(True).alias("open")), "b", "left")
        rows = rows.join(open_documents.select(F.col("doc").alias("a"), F.lit(0).alias("root")), "a", "left")
        rows = rows.withColumn("open", F.coalesce("open", F.lit(False))).withColumn("root", F.coalesce("root", F.lit(1)))
    if parts == 1:
        one = rows.withColumn("part", F.lit(0).cast("bigint")).withColumn("state", F.col("root").cast("tinyint"))
        return session.checkpoint(gathered(one.select(_COLUMNS), _ORDER, _work.decide, _work.DECISIONS), "decisions")
    # Ranges need equal numbers of matches only roughly: a hash chooses about 100 documents per range.
    sample = matches.filter(F.pmod(F.xxhash64("b"), F.lit(max(1, count // (100 * parts)))) == 0).select("b")
    sampled = sorted(row["b"] for row in sample.collect())
    bounds = [sampled[len(sampled) * at // parts] for at in range(1, parts)] if sampled else []
    bounds = sorted(set(bounds))

    def part_of(name: str) -> Column:
        return _place(F.col(name), bounds, 0, len(bounds))

    # A document without an earlier match is a center, unless it is open.
    later = rows.select(F.col("b").alias("a"), F.lit(True).alias("is_later")).distinct()
    rows = rows.withColumn("part", part_of("b")).join(later, "a", "left")
    rows = rows.withColumn("known", F.when(F.col("is_later").isNull(), F.col("root")).otherwise(0).cast("tinyint"))
    rows = session.checkpoint(rows.drop("root", "is_later"), "ranges")
    return _rounds(session, rows, parts, part_of)


def _place(value: Column, bounds: list[int], low: int, high: int) -> Column:
    """Returns how many of `bounds` are less than a value, if at least `low` and at most `high` are. A binary search, so that the
    depth of the expression is the logarithm of their number."""
    from pyspark.sql import functions as F

    if low == high:
        return F.lit(low).cast("bigint")
    middle = (low + high) // 2
    above, below = _place(value, bounds, middle + 1, high), _place(value, bounds, low, middle)
    return F.when(value > F.lit(int(bounds[middle])), above).otherwise(below)


def _rounds(session: Session, rows: DataFrame, parts: int, part_of: Callable[[str], Column]) -> DataFrame:
    from pyspark.sql import functions as F

    first = _decided(session, rows.withColumn("state", F.col("known")).repartition("part"))
    known = changed = session.checkpoint(first, "decisions")
    # One more round than ranges, because the center of a member is final only after all its earlier matches are decided.
    for _ in range(parts):
        news = changed.filter("state <> 0").select(F.col("doc").alias("a"))
        affected = rows.join(news, "a", "left_semi").filter(F.col("part") != part_of("a")).select("part").distinct()
        active = [row["part"] for row in affected.collect()]
        if not active:
            break
        states = known.select(F.col("doc").alias("a"), F.col("state").alias("decided"))
        current = rows.filter(F.col("part").isin(active)).join(states, "a", "left")
        current = current.withColumn("state", F.coalesce("decided", "known"))
        decided = session.checkpoint(_decided(session, current.repartition("part")), "decided-ranges")
        changed = decided.join(known.filter("state = 0").select("doc"), "doc", "left_semi")
        rest = known.filter(~part_of("doc").isin(active))
        known = session.checkpoint(rest.unionByName(decided), "decisions")
    return known


def _decided(session: Session, rows: DataFrame) -> DataFrame:
    return sorted_map(session.keeps_order, rows.select(_COLUMNS), _ORDER, _work.decide, _work.DECISIONS)


def online_parents(matches: DataFrame) -> DataFrame:
    """Returns the best earlier match of each document: verified ones first, then by similarity, then the earliest."""
    from pyspark.sql import functions as F

    rank = F.struct(F.col("verified").alias("v"), F.col("similarity").alias("s"), (-F.col("a")).alias("a"))
    best = matches.groupBy("b").agg(F.max(rank).alias("best"))
    return best.select((-F.col("best.a")).alias("a"), "b")
