"""Connected components by contraction.

In each round, every document chooses the neighbor, or itself, with the smallest hash as its representative, and the pairs of
documents become pairs of representatives. Hashes differ from round to round, so the expected number of documents falls by a
constant factor per round, also on a long chain (Bögeholz, Brand and Todor 2020, https://doi.org/10.1109/ICDE48307.2020.00083).
A chain of n documents takes about log3 n rounds. When few pairs are left, one task solves the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _work
from ._session import Session, gathered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["components"]

# Number of rounds after which the contraction is considered broken: far more than any graph needs.
_MAX_ROUNDS = 200


def components(session: Session, pairs: DataFrame, count: int, limit: int) -> DataFrame:
    """Returns the component of each document of some pairs: columns `doc` and `component`.

    Args:
        session: The run.
        pairs: Columns `a` and `b`.
        count: Number of pairs.
        limit: Maximum number of pairs that one task solves.
    """
    from pyspark.sql import functions as F

    edges = pairs.select("a", "b")
    rounds: list[DataFrame] = []
    while count > limit and len(rounds) < _MAX_ROUNDS:
        seed = len(rounds)
        both = edges.unionByName(edges.select(F.col("b").alias("a"), F.col("a").alias("b")))
        chosen = both.groupBy("a").agg(F.min(F.struct(F.xxhash64(F.lit(seed), "b").alias("hash"), "b")).alias("best"))
        own = F.struct(F.xxhash64(F.lit(seed), "a").alias("hash"), F.col("a").alias("b"))
        chosen = chosen.select(F.col("a").alias("doc"), F.least("best", own)["b"].alias("representative"))
        chosen = session.checkpoint(chosen, "representatives")
        rounds.append(chosen)
        edges = _replaced(_replaced(edges, chosen, "a"), chosen, "b").filter("a <> b")
        edges = edges.select(F.least("a", "b").alias("a"), F.greatest("a", "b").alias("b")).distinct()
        edges = session.checkpoint(edges, "contracted")
        count = edges.count()
    solved = gathered(edges, [], _work.components, "doc bigint, component bigint")
    return session.checkpoint(_expanded(solved, rounds), "components")


def _replaced(edges: DataFrame, chosen: DataFrame, column: str) -> DataFrame:
    """Replaces the documents of a column by their representatives."""
    from pyspark.sql import functions as F

    other = "b" if column == "a" else "a"
    names = chosen.select(F.col("doc").alias(column), "representative")
    return edges.join(names, column).select(F.col("representative").alias(column), other).select("a", "b")


def _expanded(solved: DataFrame, rounds: list[DataFrame]) -> DataFrame:
    """Returns the components of the documents of the first round, from those of the representatives of the last."""
    from pyspark.sql import functions as F

    for chosen in reversed(rounds):
        below = solved.withColumnRenamed("doc", "representative")
        joined = chosen.join(below, "representative", "left")
        solved = joined.select("doc", F.coalesce("component", "representative").alias("component"))
    return solved
