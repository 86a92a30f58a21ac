"""Results: DataFrames, and the counts of the command line's summary."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, final

from .._steps import steps
from . import _work
from ._documents import Documents
from ._session import arrow_map, gathered, sorted_map
from ._verify import Matches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

__all__ = ["Counts", "Dedup", "Estimate", "Found", "removed_of_each_source", "summarize"]

# Number of clusters in `largest_clusters`.
_LARGEST = 10
# Number of sources in `removed_by_source`; those with fewer removals are added up.
_SOURCES = 10_000


@dataclass
class Counts:
    """What was done to find matches."""

    candidates: int
    verified: int
    templates: int
    chains_cut: int
    caps_hit: int
    # Number of pairs that limits left out.
    left: int
    histogram: list[int]
    # Pairs of texts that are templates and are kept apart: `a`, `b`.
    template_pairs: DataFrame | None = None
    # Number of matches, if limits left out pairs.
    matched: int = 0
    # Number of members of clusters but their centers, with copies.
    members: int = 0

    @staticmethod
    def of(documents: Documents, matches: DataFrame, members: DataFrame, done: Matches, capped: int, left: int) -> Counts:
        """Counts the matches of centers: with documents that no earlier center has taken, and with members of other clusters."""
        rows = _with_centers(matches, members).select("a", "b", "center_a", "center_b", "verified", "template", "joins")
        parts = arrow_map(rows, _work.star_counts, "counts array<bigint>").collect()
        sums = [sum(part["counts"][place] for part in parts) for place in range(3)]
        return Counts.of_stars(documents, matches, members, [members.count(), *sums], done, capped, left)

    @staticmethod
    def of_stars(
        documents: Documents, matches: DataFrame | None, members: DataFrame, numbers: list[int], done: Matches, capped: int, left: int
    ) -> Counts:
        """Takes counts as in `_work.STARS`."""
        number, verified, templates, cut = numbers
        pairs = None
        if matches is not None:
            is_free = "template and not joins and center_a is null and coalesce(center_b, b) >= a"
            pairs = _with_centers(matches, members).filter(is_free).select("a", "b")
        matched = number if left else 0
        members_in_all = number + documents.counts["copies"]
        return Counts(done.compared, verified, templates, cut, capped, left, done.histogram, pairs, matched, members_in_all)

    @staticmethod
    def of_pairs(done: Matches, capped: int, left: int) -> Counts:
        """Counts all matches."""
        return Counts(done.compared, done.number, 0, 0, capped, left, done.histogram, matched=done.number)


def _with_centers(matches: DataFrame, members: DataFrame) -> DataFrame:
    """Adds the centers of both documents of matches, if they are members of clusters: `center_a` and `center_b`."""
    from pyspark.sql import functions as F

    for side in ("a", "b"):
        centers = members.select(F.col("doc").alias(side), F.col("center").alias(f"center_{side}"))
        matches = matches.join(centers, side, "left")
    return matches


class Estimate(NamedTuple):
    """The pairs from which the recall is estimated."""

    # Number of pairs of documents by similarity: `group` (bigint: pairs of one group have a document in common), `similarity`, and
    # `pairs` (bigint).
    found: DataFrame
    # Maximum number of rows.
    number: int
    # Number of other pairs, which cannot be missed.
    certain: int = 0

    @staticmethod
    def of_members(members: DataFrame, number: int) -> Estimate:
        """Counts the pairs of the centers of clusters with their members."""
        from pyspark.sql import functions as F

        return Estimate(members.select(F.col("center").alias("group"), "similarity", F.lit(1).cast("bigint").alias("pairs")), number)

    @staticmethod
    def of_edges(matches: DataFrame, number: int) -> Estimate:
        """Counts the matches of distinct texts that join two documents."""
        from pyspark.sql import functions as F

        joined = matches.filter("joins")
        return Estimate(joined.select(F.col("b").alias("group"), "similarity", F.lit(1).cast("bigint").alias("pairs")), number)

    @staticmethod
    def of_pairs(documents: Documents, matches: DataFrame, number: int, across: bool) -> Estimate:
        """Counts all pairs of documents without expanding copies: a match of two texts stands for the pairs of their copies."""
        from pyspark.sql import functions as F

        rows = matches.select("a", "b", "similarity")
        one = F.lit(1).cast("bigint")
        if not documents.counts["copies"]:
            certain = _equal_across(documents) if across else 0
            return Estimate(rows.select(F.col("b").alias("group"), "similarity", one.alias("pairs")), number, certain)
        sizes = documents.copies.groupBy("leader").agg((F.count("*") + 1).alias("size"))
        for side in ("a", "b"):
            rows = rows.join(sizes.select(F.col("leader").alias(side), F.col("size").alias(f"size_{side}")), side, "left")
        copies = F.coalesce("size_a", one) * F.coalesce("size_b", one)
        if across:
            certain = _equal_across(documents)
        else:
            equal = sizes.agg(F.sum((F.col("size") * (F.col("size") - 1) / 2).cast("bigint")).alias("pairs")).first()
            certain = equal["pairs"] or 0
        return Estimate(rows.select(F.col("b").alias("group"), "similarity", copies.alias("pairs")), number, certain)


def _equal_across(documents: Documents) -> int:
    """Returns the number of pairs of equal texts of both sides that have no keys, and are therefore not among the matches."""
    from pyspark.sql import functions as F

    rows = documents.table.filter("copy_key is not null and size(keys) = 0")
    sides = rows.groupBy("copy_key").agg(F.count(F.when(F.col("reference"), 1)).alias("a"), F.count(F.when(~F.col("reference"), 1)).alias("b"))
    return sides.agg(F.sum(F.col("a") * F.col("b")).alias("pairs")).first()["pairs"] or 0


def _sums(documents: Documents, estimate: Estimate) -> list[Row]:
    """Adds up the found pairs of each task, and counts their groups: see `_work.SUMS`."""
    if not estimate.number:
        return []
    session, work = documents.session, _work.found_sums(documents.plan, _LARGEST)
    order = ["group", "similarity"]
    if estimate.number <= documents.limits.task_pairs:
        return gathered(estimate.found, order, work, _work.SUMS).collect()
    return sorted_map(session.keeps_order, estimate.found.repartition("group"), order, work, _work.SUMS).collect()


def _recall(documents: Documents, counts: Counts, parts: list[Row], certain: int) -> dict[str, Any]:
    """Returns the estimated share of the matching pairs that were found, and its 99 % interval, as on one machine."""
    run = documents.plan
    found = None
    if run.facts["bands"] is not None and documents.counts["documents"]:
        sums = [sum(sorted(row[name] for row in parts)) for name in ("pairs", "missed", "variance")]
        found = steps(run).recall((sums[0] + certain, sums[1], sums[2]), (counts.candidates, counts.matched, counts.left))
    value, interval = (None, None) if found is None else found
    # Six places, so that the order in which tasks add up pairs does not matter.
    return {
        "omitted": counts.left,
        "expected_recall": None if value is None else round(value, 6),
        "expected_recall_interval": None if interval is None else [round(end, 6) for end in interval],
    }


@dataclass
class _Closing:
    """Intermediate results, which are deleted at the end of a `with` statement."""

    _documents: Documents

    def close(self) -> None:
        """Deletes the intermediate results. The DataFrames cannot be read any more."""
        self._documents.session.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


@final
class Found(_Closing):
    """A DataFrame with counts: the result of `pairs`, `clusters` and `similar_join`.

    It can be used in a `with` statement; `close` deletes the intermediate results, which `table` reads.

    Attributes:
        table: The rows.
        rejects: The records that could not be used: `id`, `order`, `reason`.
        summary: Counts: `documents` (of both sides), `too_short`, `rejected`, `repeated`, `replaced` (texts in which invalid UTF-8 was
            replaced), `candidates` (compared pairs), `verified` (matches of distinct texts), `caps_hit` (limits reached, so that
            matches may be missing), `omitted` (pairs that limits left out), `expected_recall` (the estimated share of the pairs at
            or above the threshold that were found, or, without any match, the recall at the threshold; None if only fingerprints are
            compared) and `expected_recall_interval` (its 99 % interval as a list of two numbers, or None).
    """

    table: DataFrame
    rejects: DataFrame
    summary: dict[str, Any]

    def __init__(self, table: DataFrame, documents: Documents, counts: Counts, estimate: Estimate) -> None:
        super().__init__(documents)
        self.table = table
        self.rejects = documents.rejects
        self.summary = {
            **{name: documents.counts[name] for name in ("documents", "too_short", "rejected", "repeated", "replaced")},
            "candidates": counts.candidates,
            "verified": counts.verified,
            "caps_hit": counts.caps_hit,
            **_recall(documents, counts, _sums(documents, estimate), estimate.certain),
        }

    def __enter__(self) -> Found:
        return self

    def __repr__(self) -> str:
        return f"<Found in {self.summary['documents']} documents>"


@final
class Dedup(_Closing):
    """The result of `dedup` on Spark.

    It can be used in a `with` statement; `close` deletes the intermediate results, which the DataFrames read.

    Attributes:
        kept: The rows of the input that are kept, with all their columns.
        removed: The documents that are removed: `id`, `kept_id` (the center of the cluster, which is kept), `similarity` (double;
            1.0 for equal texts), `facts` (double or null: how far names and numbers agree), `verified` (boolean), `source`.
        clusters: The clusters of at least two documents, one row per document: `center` (id of the kept document), `id`,
            `similarity` (to the center; null for the center itself), `facts`, `verified`.
        rejects: The records that could not be used: `id`, `order`, `reason`.
        summary: Counts: `documents`, `kept`, `removed`, `clusters`, `largest_cluster`, `too_short`, `rejected`, `repeated`,
            `replaced`, `candidates` (compared pairs), `verified` (matches of centers), `templates`, `chains_cut`, `caps_hit`,
            `omitted`, `expected_recall`, `expected_recall_interval`, `bytes` (of all texts), as in the summary of the command line; also `texts_sent` (texts that were
            moved to be compared), `removed_by_source` (a list of dicts: source, documents, removed, bytes, removed_bytes; None
            stands for documents without source; of more than 10,000 sources, the remaining ones are added up as `other sources`) and
            `largest_clusters` (a list of dicts: center, size).
    """

    kept: DataFrame
    removed: DataFrame
    clusters: DataFrame
    rejects: DataFrame
    summary: dict[str, Any]

    def __init__(
        self,
        kept: DataFrame,
        removed: DataFrame,
        clusters: DataFrame,
        summary: dict[str, Any],
        documents: Documents,
        counts: Counts,
        members: DataFrame,
        gone: DataFrame,
    ) -> None:
        super().__init__(documents)
        self.kept = kept
        self.removed = removed
        self.clusters = clusters
        self.rejects = documents.rejects
        self.summary = summary
        self._counts = counts
        self._members = members
        self._gone = gone

    def report(self, command: str = "sameish.spark.dedup") -> str:
        """Returns the HTML page of `sameish dedup --report`: plots, removals by source and length, the largest clusters, and
        example pairs. `command` is shown on it."""
        from ._report import render

        return render(self._documents, self._members, self._gone, self._counts, self.summary, command)

    def __enter__(self) -> Dedup:
        return self

    def __repr__(self) -> str:
        counts = self.summary
        return f"<Dedup of {counts['documents']} documents: {counts['kept']} kept, {counts['removed']} removed>"


def removed_of_each_source(documents: Documents, members: DataFrame) -> DataFrame:
    """Returns the members of clusters that are not the first of their source in their cluster."""
    from pyspark.sql import functions as F

    centers = members.select(F.col("center").alias("doc"), "center").distinct()
    everyone = members.select("doc", "center").unionByName(centers)
    everyone = everyone.join(documents.table.select("doc", F.coalesce("source", F.lit("")).alias("source")), "doc")
    first = everyone.groupBy("center", "source").agg(F.min("doc").alias("doc")).select("doc")
    return members.join(first, "doc", "left_anti")


def summarize(documents: Documents, members: DataFrame, gone: DataFrame, counts: Counts) -> dict[str, Any]:
    """Returns the summary. `members` are the members of clusters but their centers, `gone` those that are removed."""
    from pyspark.sql import functions as F

    estimate = Estimate.of_members(members, counts.members)
    parts = _sums(documents, estimate)
    clusters = sum(part["groups"] for part in parts)
    removed = counts.members if gone is members else gone.count()
    # A center is in its cluster.
    sizes = {group: size + 1 for part in parts for group, size in zip(part["largest"], part["sizes"])}
    largest = sorted(sizes, key=lambda center: (-sizes[center], center))[:_LARGEST]
    ids = documents.table.filter(F.col("doc").isin(largest)).select("doc", "id").collect() if largest else []
    names = {row["doc"]: row["id"] for row in ids}
    total = documents.counts["documents"]
    return {
        "documents": total,
        "kept": total - removed,
        "removed": removed,
        "clusters": clusters,
        "largest_cluster": sizes[largest[0]] if largest else min(total, 1),
        "too_short": documents.counts["too_short"],
        "rejected": documents.counts["rejected"],
        "repeated": documents.counts["repeated"],
        "replaced": documents.counts["replaced"],
        "candidates": counts.candidates,
        "verified": counts.verified,
        "templates": counts.templates,
        "chains_cut": counts.chains_cut,
        "caps_hit": counts.caps_hit,
        **_recall(documents, counts, parts, estimate.certain),
        "bytes": documents.counts["bytes"],
        "texts_sent": documents.counts.get("texts_sent", 0),
        "removed_by_source": _by_source(documents, gone),
        "largest_clusters": [{"center": names[center], "size": sizes[center]} for center in largest],
    }


def _by_source(documents: Documents, gone: DataFrame) -> list[dict[str, Any]]:
    from pyspark.sql import functions as F

    if not documents.has_sources:
        return []
    rows = documents.table.select("doc", "bytes", F.nullif("source", F.lit("")).alias("source"))
    rows = rows.join(gone.select("doc", F.lit(1).alias("gone")), "doc", "left")
    sums = rows.groupBy("source").agg(
        F.count("*").alias("documents"),
        F.count("gone").alias("removed"),
        F.sum("bytes").alias("bytes"),
        F.coalesce(F.sum(F.when(F.col("gone") == 1, F.col("bytes"))), F.lit(0)).alias("removed_bytes"),
    )
    sums = documents.session.checkpoint(sums, "sources")
    shown = [row.asDict() for row in sums.orderBy(F.desc("removed"), F.asc_nulls_first("source")).limit(_SOURCES).collect()]
    if all(row["source"] is None for row in shown):
        return []
    names = ["documents", "removed", "bytes", "removed_bytes"]
    if len(shown) == _SOURCES:
        totals = sums.agg(*[F.sum(name).alias(name) for name in names]).first()
        others = {name: totals[name] - sum(row[name] for row in shown) for name in names}
        if others["documents"]:
            shown.append({"source": "other sources", **others})
    return shown
