"""What the HTML report of `dedup` shows: counts, and the texts of a few documents. The compiled code renders it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .._sameish import _length_classes, _report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ._documents import Documents
    from ._result import Counts

__all__ = ["render"]

# Number of clusters shown, and of pairs of each kind.
_LARGEST = 10
_PAIRS = 8


def render(
    documents: Documents, members: DataFrame, gone: DataFrame, counts: Counts, summary: dict[str, Any], command: str
) -> str:
    """Returns the page. `members` are the members of clusters but their centers, `gone` those that are removed."""
    from pyspark.sql import functions as F

    sizes = members.groupBy("center").agg(
        (F.count("*") + 1).alias("size"), F.min("similarity").alias("least"), F.min("doc").alias("first")
    )
    sizes = documents.session.checkpoint(sizes, "cluster-sizes")
    numbers = sizes.groupBy("size").agg(F.count("*").alias("clusters")).orderBy("size").collect()
    largest = sizes.orderBy(F.desc("size"), "first").limit(_LARGEST).collect()
    pairs = [(row["center"], row["doc"], True) for row in _least_similar(documents, gone)]
    if counts.template_pairs is not None:
        templates = counts.template_pairs.orderBy("a", "b").limit(_PAIRS).collect()
        pairs += [(row["a"], row["b"], False) for row in templates]
    shown = {row["center"] for row in largest} | {doc for a, b, _ in pairs for doc in (a, b)}
    texts = _texts(documents, shown)
    run = {
        "title": "dedup of a DataFrame",
        "command": command,
        "counts": {name: value for name, value in summary.items() if name in _COUNTS},
        # The chart shows the probability at the threshold.
        "expected_recall": documents.plan.facts["expected_recall"],
        "histogram": counts.histogram,
        "cluster_sizes": [[row["size"], row["clusters"]] for row in numbers],
        "sources": [{"name": row["source"], **{name: row[name] for name in _SUMS}} for row in summary["removed_by_source"]],
        "lengths": _lengths(documents, gone),
        "largest": [
            {"center": texts[row["center"]][0], "size": row["size"], "least_similar": row["least"], "text": texts[row["center"]][1]}
            for row in largest
        ],
        "pairs": [
            {"a": texts[a][0], "b": texts[b][0], "a_text": texts[a][1], "b_text": texts[b][1], "removed": removed}
            for a, b, removed in pairs
        ],
    }
    return _report(documents.plan.config, json.dumps(run))


_SUMS = ["documents", "removed", "bytes", "removed_bytes"]
_COUNTS = {
    "documents", "kept", "removed", "clusters", "largest_cluster", "too_short", "rejected", "templates", "chains_cut", "caps_hit",
}  # fmt: skip


def _least_similar(documents: Documents, gone: DataFrame) -> list[Any]:
    """Returns the removed documents that are least similar to the kept ones, without short ones."""
    long = documents.table.filter("not too_short").select("doc")
    return gone.join(long, "doc").orderBy("similarity", "doc").limit(_PAIRS).select("doc", "center").collect()


def _lengths(documents: Documents, gone: DataFrame) -> list[dict[str, Any]]:
    from pyspark.sql import functions as F

    limits = _length_classes()
    number = F.lit(len(limits) - 1)
    for place, limit in reversed(list(enumerate(limits[:-1]))):
        number = F.when(F.col("bytes") <= limit, place).otherwise(number)
    rows = documents.table.select("doc", "bytes", number.alias("name"))
    rows = rows.join(gone.select("doc", F.lit(1).alias("gone")), "doc", "left")
    sums = rows.groupBy("name").agg(
        F.count("*").alias("documents"),
        F.count("gone").alias("removed"),
        F.sum("bytes").alias("bytes"),
        F.coalesce(F.sum(F.when(F.col("gone") == 1, F.col("bytes"))), F.lit(0)).alias("removed_bytes"),
    )
    return [row.asDict() for row in sums.orderBy("name").collect()]


def _texts(documents: Documents, docs: set[int]) -> dict[int, tuple[str, str]]:
    """Returns the ids, as JSON, and the texts of a few documents."""
    if not docs:
        return {}
    wanted = documents.session.spark.createDataFrame([(doc,) for doc in sorted(docs)], "doc bigint")
    rows = documents.with_texts(wanted).select("doc", "id", "text").collect()

    def decoded(text: Any) -> str:
        return bytes(text).decode(errors="replace") if isinstance(text, (bytes, bytearray)) else text

    return {row["doc"]: (json.dumps(row["id"], ensure_ascii=False), decoded(row["text"])) for row in rows}
