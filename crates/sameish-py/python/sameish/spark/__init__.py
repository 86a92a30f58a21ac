"""Near-duplicate detection on Apache Spark, with the results of a single machine.

`dedup` selects the documents to keep, `pairs` and `clusters` find matching pairs and groups, `similar_join` finds the documents of
one corpus in another, `sign` computes sketches for later runs, and `hamming_join` joins fingerprints. The command
`python -m sameish.spark dedup IN OUT` deduplicates files. To install it from a checkout, run
`pip install './crates/sameish-py[spark]'`.

The compiled engine works on Arrow batches inside `mapInArrow`; Spark shuffles rows and repeats failed tasks. For the same documents
and settings, results equal those of `sameish dedup`, `pairs` and `cluster` on one machine, for any number of partitions and
executors, as long as no limit is reached (`caps_hit` is 0 in both). See docs/scale.md.

Results read intermediate results. `close`, or the end of a `with` statement, deletes these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from .._errors import LimitError, SettingError
from .._steps import Plan, plan
from . import _needed, _work
from ._centers import decisions, online_parents
from ._components import components
from ._crowds import crowd_pairs, in_cells
from ._documents import INTEGERS, Columns, Documents, Limits, id_kind, kind_of, normalized, read, same_kind, text_of
from ._large import LargeBuckets, is_sampled, large_keys
from ._result import Counts, Dedup, Estimate, Found, removed_of_each_source, summarize
from ._session import Session, arrow_map, column, gathered, keeps_order, sorted_map
from ._verify import Candidates, Matches, candidates, distinct_candidates, key_rows, verified

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Dedup", "Found", "Limits", "clusters", "dedup", "hamming_join", "pairs", "sign", "similar_join"]

_Preset = Literal["copies", "articles", "headlines", "wire", "web"]
_Config = str | Mapping[str, Any] | None
# Number of documents that is no limit.
_MOST = 1 << 40
# Marks keys of fingerprints, as in `columns/rows.rs`.
_FINGERPRINT_KEY = 1 << 62


def dedup(
    df: DataFrame,
    id: str = "id",
    text: str = "text",
    *,
    title: str | None = None,
    source: str | None = None,
    date: str | None = None,
    order: str | None = None,
    keep: str = "first",
    per_source: bool = False,
    max_removed: float = 1.0,
    threshold: float | None = None,
    recall: float | None = None,
    templates: Literal["keep", "merge"] | None = None,
    preset: _Preset = "copies",
    config: _Config = None,
    signed: DataFrame | None = None,
    on_bad: Literal["fail", "skip"] = "fail",
    max_document: int = 16 << 20,
    checkpoint_dir: str | None = None,
    limits: Limits | None = None,
    **settings: Any,
) -> Dedup:
    """Selects one document to keep from each cluster of near-duplicates.

    Args:
        df: The documents, one per row. It is read several times, and must have the same rows each time.
        id: Name of the id column (integers or strings); default `"id"`.
        text: Name of the text column; default `"text"`.
        title: Name of the column whose value is the text of a record with a null text; default None.
        source: Name of the column of sources, for `removed_by_source` and `per_source`; default None.
        date: Name of the date column, for `keep="newest"`; default None.
        order: Name of the column that defines the order of the documents, such as a line number; default None, the id column.
            Rows of a DataFrame have no order.
        keep: Which document of a cluster is kept: `"first"` by `order` (the default), `"longest"`, `"newest"`, or `"field:NAME"`,
            the one with the largest value in a column. Of documents with equal values, the first by `order` is kept.
        per_source: Whether one document per source is kept in each cluster; default False.
        max_removed: Maximum fraction of documents to remove, 0 to 1; default 1. If more would be removed, `LimitError` is raised.
        threshold: Minimum similarity of a match; default None, 0.8 for `"copies"`.
        recall: Minimum probability that a pair exactly at the threshold is found; default None, that of the preset.
        templates: Whether documents with the same wording but other names or numbers are kept apart (`"keep"`) or clustered
            (`"merge"`); default None, `"keep"`.
        preset: `"copies"` (the default), `"articles"`, `"headlines"`, `"wire"` or `"web"`. Sparse codes are not supported.
        config: Configuration file in TOML, or a mapping; default None.
        signed: Result of `sign` for these settings and some of these documents, which are then not signed again; default None.
            Documents that are new or have another text are signed.
        on_bad: What happens to a record with a null id, a null or unusable text, a date that cannot be read, or the id of another
            record with a different text: `"fail"` (the default) raises `RecordError`; `"skip"` leaves it out and counts it.
        max_document: Maximum length of a text in bytes; default 16 MiB. A record with a longer text is invalid (see `on_bad`).
        checkpoint_dir: Directory that all executors can read and write, for intermediate results: several tables of at most 250 bytes
            per document, and the texts of large buckets. Default None: a temporary directory, if Spark runs on this machine only.
        limits: Limits of single tasks; default None.
        **settings: Other settings, as for `sameish.dedup`.

    Returns:
        A `Dedup`.
    """
    run = plan("dedup", preset, config, threshold=threshold, recall=recall, templates=templates, **settings)
    if per_source and source is None:
        raise SettingError("`per_source` requires sources: pass `source`")
    limits = limits or Limits()
    session = Session(df.sparkSession, checkpoint_dir)
    columns = Columns(id, text, title, source, date, order)
    with session.closed_on_error():
        documents = read(session, [(df, columns)], run, limits, keep, on_bad, signed, max_document)
        members, counts = _stars(documents)
        members = _with_copies(members, documents)
        gone = session.checkpoint(removed_of_each_source(documents, members), "gone") if per_source else members
        summary = summarize(documents, members, gone, counts)
        if summary["removed"] > max_removed * summary["documents"]:
            share = 100 * summary["removed"] / summary["documents"]
            raise LimitError(f"{share:.1f} % of the documents would be removed, more than `max_removed`")
        removed, grouped = _named(documents, members, counts.members, gone if per_source else None)
        kept = _kept(df, columns, removed, documents, summary["removed"])
        return Dedup(kept, removed, grouped, summary, documents, counts, members, gone)


def clusters(
    df: DataFrame,
    id: str = "id",
    text: str = "text",
    *,
    title: str | None = None,
    date: str | None = None,
    order: str | None = None,
    linkage: Literal["cohesive", "greedy", "components", "online"] | None = None,
    threshold: float | None = None,
    recall: float | None = None,
    templates: Literal["keep", "merge"] | None = None,
    preset: _Preset = "copies",
    config: _Config = None,
    signed: DataFrame | None = None,
    on_bad: Literal["fail", "skip"] = "fail",
    max_document: int = 16 << 20,
    checkpoint_dir: str | None = None,
    limits: Limits | None = None,
    **settings: Any,
) -> Found:
    """Clusters a corpus.

    Args:
        linkage: How matches are clustered; default None, that of the preset. `"greedy"` processes the newest documents first and
            requires `date` if documents have dates.

    The other parameters are those of `dedup`; `order` defines the order of the documents.

    Returns:
        A `Found` whose `table` has one row per document: `id` and `center`, the id of the center of its cluster.
    """
    run = plan("cluster", preset, config, threshold=threshold, recall=recall, templates=templates, linkage=linkage, **settings)
    linkage = run.facts["linkage"]
    session = Session(df.sparkSession, checkpoint_dir)
    keep = "newest" if linkage == "greedy" and date is not None else "first"
    columns = Columns(id, text, title, None, date, order)
    with session.closed_on_error():
        documents = read(session, [(df, columns)], run, limits or Limits(), keep, on_bad, signed, max_document)
        if linkage in ("cohesive", "greedy"):
            members, counts = _stars(documents)
            members = _with_copies(members, documents)
            estimate = Estimate.of_members(members, counts.members)
        else:
            members, counts, estimate = _connected(documents, linkage)
            copies = documents.copies
            if linkage == "online":
                short = documents.table.filter("too_short").select("doc")
                copies = copies.join(short, "doc", "left_anti")
            members = _centers_of_copies(members, copies)
        return Found(_centers_by_id(documents, members.select("doc", "center")), documents, counts, estimate)


def pairs(
    df: DataFrame,
    id: str = "id",
    text: str = "text",
    *,
    title: str | None = None,
    order: str | None = None,
    templates: Literal["include", "exclude", "only"] = "include",
    threshold: float | None = None,
    recall: float | None = None,
    preset: _Preset = "copies",
    config: _Config = None,
    signed: DataFrame | None = None,
    on_bad: Literal["fail", "skip"] = "fail",
    max_document: int = 16 << 20,
    checkpoint_dir: str | None = None,
    limits: Limits | None = None,
    **settings: Any,
) -> Found:
    """Finds all matching pairs.

    Args:
        templates: Whether pairs with the same wording but other names or numbers are listed (`"include"`, the default), left out
            (`"exclude"`), or listed alone (`"only"`).

    The other parameters are those of `dedup`.

    Returns:
        A `Found` whose `table` has one row per pair: `a` and `b` (ids, `a` first by `order`), `similarity`, `match_type`,
        `verified`, `simhash_distance`, `facts`, `template`. The pairs of copies are expanded when the table is read.
    """
    run = plan("pairs", preset, config, threshold=threshold, recall=recall, **settings)
    listed = _listed(templates)
    session = Session(df.sparkSession, checkpoint_dir)
    columns = Columns(id, text, title, None, None, order)
    with session.closed_on_error():
        documents = read(session, [(df, columns)], run, limits or Limits(), "first", on_bad, signed, max_document)
        matches, counts = _all_matches(documents, across=False)
        found = _pairs_by_id(documents, matches, across=False)
        return Found(found.filter(listed), documents, counts, Estimate.of_pairs(documents, matches, counts.verified, across=False))


def _listed(templates: str) -> str:
    """Returns the condition for the pairs that are listed."""
    conditions = {"include": "true", "exclude": "not template", "only": "template"}
    if templates not in conditions:
        raise SettingError(f"`templates` is `{templates}`: must be `include`, `exclude` or `only`")
    return conditions[templates]


def similar_join(
    left: DataFrame,
    right: DataFrame,
    id: str = "id",
    text: str = "text",
    *,
    title: str | None = None,
    order: str | None = None,
    templates: Literal["include", "exclude", "only"] = "include",
    threshold: float | None = None,
    recall: float | None = None,
    preset: _Preset = "copies",
    config: _Config = None,
    signed: DataFrame | None = None,
    on_bad: Literal["fail", "skip"] = "fail",
    max_document: int = 16 << 20,
    checkpoint_dir: str | None = None,
    limits: Limits | None = None,
    **settings: Any,
) -> Found:
    """Finds the documents of `left`, new ones, that match documents of `right`, an existing corpus.

    Both have the same columns; an id may occur in both. The parameters are those of `pairs`; pass the stored result of
    `sign(right, task="pairs")` as `signed`, so that the existing corpus is not signed again.

    Returns:
        A `Found` whose `table` has one row per matching pair, with the columns of `pairs`: `a` is the id in `right`, `b` the id
        in `left`.
    """
    run = plan("pairs", preset, config, threshold=threshold, recall=recall, **settings)
    listed = _listed(templates)
    session = Session(left.sparkSession, checkpoint_dir)
    columns = Columns(id, text, title, None, None, order)
    with session.closed_on_error():
        inputs = [(left, columns), (right, columns)]
        documents = read(session, inputs, run, limits or Limits(), "first", on_bad, signed, max_document)
        matches, counts = _all_matches(documents, across=True)
        found = _pairs_by_id(documents, matches, across=True)
        return Found(found.filter(listed), documents, counts, Estimate.of_pairs(documents, matches, counts.verified, across=True))


def sign(
    df: DataFrame,
    id: str = "id",
    text: str = "text",
    *,
    title: str | None = None,
    max_document: int = 16 << 20,
    task: Literal["dedup", "pairs", "cluster"] = "dedup",
    threshold: float | None = None,
    recall: float | None = None,
    preset: _Preset = "copies",
    config: _Config = None,
    **settings: Any,
) -> DataFrame:
    """Computes the sketches of documents, to store them and pass them to a later run as `signed`.

    Args:
        task: The function to which they will be passed; `"cluster"` stands for `clusters`, `"pairs"` also for `similar_join`.
            Default `"dedup"`.

    The other parameters are those of `dedup`.

    Returns:
        One row per document: `id`, `text_hash` (bigint; a changed text is not found), `scheme` (string: identifies the settings),
        the columns of `sameish.arrow.sign`, and `problem` (string: why the text cannot be used). About 250 bytes per document.
    """
    from pyspark.sql import functions as F

    run = plan(task, preset, config, threshold=threshold, recall=recall, **settings)
    rows = normalized(df, Columns(id, text, title), "first", reference=False).select("id", "text", "text_hash")
    kind = rows.schema["id"].dataType.simpleString()
    work = _work.sign(run, ["id", "text_hash"], None, max_document)
    signed = arrow_map(rows, work, f"id {kind}, text_hash bigint, {_work.SIGNED}")
    return signed.withColumn("scheme", F.lit(run.facts["scheme"]))


def hamming_join(
    left: DataFrame, right: DataFrame | None, radius: int, *, id: str = "id", fingerprint: str = "fingerprint", block: int = 8_192
) -> DataFrame:
    """Finds pairs of fingerprints that differ in at most `radius` bits. The search is exact.

    Fingerprints are divided into blocks of bits, and rows are distributed by the keys of the tables of Manku, Jain and Das Sarma
    (2007). Keys with many fingerprints are divided, so that every task has a bounded number of them. The cost grows quickly with the
    radius: with radius 15, fingerprints are compared with those that agree in 4 bits.

    Args:
        left: Rows with an id and a 64-bit fingerprint (bigint; its bits are those of the unsigned number).
        right: The other side; None finds pairs within `left`.
        radius: Maximum number of differing bits, 0 to 15.
        id: Name of the id column; default `"id"`. Ids are integers or strings, of the same type and unique in each side. A null raises an error when
            the result is read.
        fingerprint: Name of the fingerprint column; default `"fingerprint"`. Rows with a null have no fingerprint and no pairs.
        block: Number of fingerprints of one key that are compared in one task with as many others; default 8,192.

    Returns:
        One row per pair: `a` and `b` (ids; with `right`, `a` is an id of `right`) and `distance` (int).
    """
    from pyspark.sql import functions as F

    if not 0 <= radius <= 15:
        raise SettingError(f"`radius` is {radius}: must be 0 to 15")
    sides = [(left, False)] if right is None else [(left, False), (right, True)]
    across = right is not None
    kind = same_kind([_checked_fingerprints(frame, id, fingerprint) for frame, _ in sides])
    missing = F.raise_error(F.lit(f"column `{id}` has a null: ids must not be null"))
    parts = [
        frame.select(
            F.when(column(id).isNull(), missing.cast(kind)).otherwise(column(id).cast(kind)).alias("id"),
            column(fingerprint).cast("bigint").alias("fingerprint"),
            F.lit(side).alias("reference"),
        )
        for frame, side in sides
    ]
    rows = parts[0] if right is None else parts[0].unionByName(parts[1])
    rows = rows.filter("fingerprint is not null")
    # Equal fingerprints are collapsed, so that a bucket has each of them once per side.
    distinct = rows.select("fingerprint", "reference").distinct()
    schema = "fingerprint bigint, reference boolean, keys array<bigint>"
    keyed = arrow_map(distinct, _work.hamming_keys(radius), schema)
    keyed = keyed.select(F.explode("keys").alias("crowd"), F.col("fingerprint").alias("doc"), "reference")
    sizes = keyed.groupBy("crowd").agg(F.count("*").alias("size")).filter("size > 1")
    members = keyed.join(sizes, "crowd").withColumn("is_head", F.lit(True)).withColumn("keys", F.lit(None).cast("array<bigint>"))
    # The key of a cell is marked as one of fingerprints, so that their distance decides.
    key = F.col("cell").bitwiseAND(F.lit(_FINGERPRINT_KEY - 1)).bitwiseOR(F.lit(_FINGERPRINT_KEY))
    cells = in_cells(members, block, _MOST).select(
        key.alias("key"), "doc", "reference", F.lit(None).cast("binary").alias("outline"), F.col("doc").alias("fingerprint")
    )
    work = _work.hamming_pairs(radius, _MOST, across)
    found = sorted_map(keeps_order(left.sparkSession), cells.repartition("key"), ["key", "-reference", "doc"], work, _work.PAIRS)
    found = found.select("a", "b").distinct()
    same = distinct.filter("not reference").select(F.col("fingerprint").alias("a"), F.col("fingerprint").alias("b"))
    found = found.unionByName(same)
    first = rows.filter("reference") if across else rows
    joined = found.join(first.select(F.col("id").alias("id_a"), F.col("fingerprint").alias("a")), "a")
    joined = joined.join(rows.filter("not reference").select(F.col("id").alias("id_b"), F.col("fingerprint").alias("b")), "b")
    first_id, second_id = F.col("id_a"), F.col("id_b")
    if not across:
        joined = joined.filter("a <> b or id_a < id_b")
        first_id, second_id = F.least("id_a", "id_b"), F.greatest("id_a", "id_b")
    return joined.select(
        first_id.alias("a"), second_id.alias("b"), F.bit_count(F.col("a").bitwiseXOR(F.col("b"))).cast("int").alias("distance")
    )


def _checked_fingerprints(frame: DataFrame, id: str, fingerprint: str) -> str:
    """Checks the columns of fingerprints, and returns the type of the ids."""
    kind = id_kind(frame, id)
    fingerprint_kind = kind_of(frame, fingerprint)
    if fingerprint_kind not in INTEGERS:
        raise SettingError(f"fingerprints in column `{fingerprint}` are of type {fingerprint_kind}: must be 64-bit integers")
    return kind


def _stars(documents: Documents) -> tuple[DataFrame, Counts]:
    """Returns the members of cohesive clusters among the distinct texts, and counts."""
    session, limits = documents.session, documents.limits
    matches = Matches(session)
    large, found = _candidates(documents, limits.large_bucket, limits.bucket_pairs, across=False)
    verified(found, documents, matches)
    capped, left = found.capped, found.left
    if large:
        rounds = LargeBuckets(documents, matches, dict.fromkeys(large, -1))
        rounds.run()
        capped, left = capped + rounds.capped, left + rounds.left
    if matches.number <= limits.task_pairs:
        return _few_stars(documents, matches, capped, left)
    every = matches.distinct()
    every = session.checkpoint(every, "all-matches") if len(matches.parts) > 1 else every
    decided = decisions(session, every.filter("joins"), matches.number, limits.task_pairs).filter("state = 2").drop("state")
    return decided, Counts.of(documents, every, decided, matches, capped, left)


def _few_stars(documents: Documents, matches: Matches, capped: int, left: int) -> tuple[DataFrame, Counts]:
    """Clusters and counts in one task."""
    if not matches.number:
        members = documents.session.spark.createDataFrame([], _work.STARS).drop("counts")
        return members, Counts.of_stars(documents, None, members, [0, 0, 0, 0], matches, capped, left)
    found = documents.session.checkpoint(gathered(matches.table(), [], _work.stars, _work.STARS), "stars")
    numbers = found.filter("doc is null").select("counts").first()["counts"]
    members = found.filter("doc is not null").drop("counts")
    return members, Counts.of_stars(documents, matches.distinct(), members, numbers, matches, capped, left)


def _candidates(documents: Documents, size: int, limit: int, across: bool) -> tuple[list[int], Candidates]:
    """Returns the keys of buckets of more than `size` documents, the largest first, and the candidates of the other buckets."""
    if is_sampled(documents, size):
        large = large_keys(documents, size)
        return large, candidates(documents, limit, across, large, None)
    found = candidates(documents, limit, across, [], size)
    return sorted(found.large, key=lambda key: (-found.large[key], key)), found


def _key_frame(documents: Documents, keys: list[int]) -> DataFrame:
    return documents.session.spark.createDataFrame([(key,) for key in keys], "key bigint")


def _all_matches(documents: Documents, across: bool, only_linked: bool = False) -> tuple[DataFrame, Counts]:
    """Returns the matches among the distinct texts, and counts. With `only_linked`, matches of large buckets may be missing if other
    matches connect the same documents."""
    from pyspark.sql import functions as F

    session, limits = documents.session, documents.limits
    # Sampling may miss buckets that are a little larger.
    large, found = _candidates(documents, limits.bucket_pairs, 4 * limits.bucket_pairs, across)
    capped, left = found.capped, found.left
    pairs = found.rows.filter("b is not null").select("a", "b")
    matches = Matches(session)
    if large:
        groups = LargeBuckets(documents, matches, dict.fromkeys(large, -1)).linked() if only_linked else None
        rows = key_rows(documents.leaders).join(F.broadcast(_key_frame(documents, large)), "key", "left_semi")
        crowds = crowd_pairs(documents, session.checkpoint(rows.select("key", "doc"), "large-buckets"), across, None, groups)
        pairs = pairs.unionByName(crowds.pairs)
        capped, left = capped + crowds.capped, left + crowds.left
    if across:
        pairs = pairs.unionByName(_equal_texts(documents))
    if large or across:
        found = distinct_candidates(session.checkpoint(pairs.distinct(), "all-pairs"), documents)
    verified(found, documents, matches)
    return matches.table(), Counts.of_pairs(matches, capped, left)


def _equal_texts(documents: Documents) -> DataFrame:
    """Returns the pairs of equal texts of both sides that have keys."""
    from pyspark.sql import functions as F

    keyed = documents.leaders.filter("copy_key is not null and size(keys) > 0")
    first = keyed.filter("reference").select(F.col("doc").alias("a"), "copy_key")
    second = keyed.filter("not reference").select(F.col("doc").alias("b"), "copy_key")
    return first.join(second, "copy_key").select("a", "b")


def _connected(documents: Documents, linkage: str) -> tuple[DataFrame, Counts, Estimate]:
    from pyspark.sql import functions as F

    session = documents.session
    matches, counts = _all_matches(documents, across=False, only_linked=linkage == "components")
    edges = matches.filter("joins")
    edges = online_parents(edges) if linkage == "online" else edges.select("a", "b")
    edges = session.checkpoint(edges, "edges")
    found = components(session, edges, edges.count(), documents.limits.task_pairs)
    first = found.groupBy("component").agg(F.min("doc").alias("center"))
    return found.join(first, "component").filter("doc <> center").select("doc", "center"), counts, Estimate.of_edges(matches, counts.verified)


def _with_copies(members: DataFrame, documents: Documents) -> DataFrame:
    """Adds copies to the members of clusters: they belong to the center of their leader."""
    from pyspark.sql import functions as F

    if not documents.counts["copies"]:
        return members
    leaders = members.select(F.col("doc").alias("leader"), "center", "similarity", "facts", "verified")
    joined = documents.copies.join(leaders, "leader", "left")
    is_center = F.col("center").isNull()
    is_verified = documents.plan.facts["verify"]
    added = joined.select(
        "doc",
        F.coalesce("center", "leader").alias("center"),
        F.coalesce("similarity", F.lit(1.0)).alias("similarity"),
        F.when(is_center, F.lit(1.0 if is_verified else None).cast("double")).otherwise(F.col("facts")).alias("facts"),
        F.coalesce("verified", F.lit(is_verified)).alias("verified"),
    )
    return documents.session.checkpoint(members.select("doc", "center", "similarity", "facts", "verified").unionByName(added), "members")


def _centers_of_copies(members: DataFrame, copies: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    leaders = members.select(F.col("doc").alias("leader"), "center")
    added = copies.join(leaders, "leader", "left").select("doc", F.coalesce("center", "leader").alias("center"))
    return members.unionByName(added)


def _named(documents: Documents, members: DataFrame, number: int, gone: DataFrame | None) -> tuple[DataFrame, DataFrame]:
    """Returns the removed documents and the clusters, with ids. `number` is that of the members; `gone` are those of them that are
    removed, if not all are."""
    from pyspark.sql import functions as F

    ids = documents.table.select("doc", "id", "source")
    centers = ids.select(F.col("doc").alias("center"), F.col("id").alias("kept_id"))
    if number <= documents.limits.broadcast_rows:
        named = centers.join(F.broadcast(ids.join(F.broadcast(members), "doc")), "center")
    else:
        named = members.join(ids, "doc").join(centers, "center")
    columns = ["id", "kept_id", "similarity", "facts", "verified", "source"]
    if gone is None:
        rows = removed = documents.session.checkpoint(named.select(columns), "removed")
    else:
        named = documents.session.checkpoint(named.select("doc", *columns), "named")
        rows, removed = named, named.join(gone.select("doc"), "doc", "left_semi").select(columns)
    rows = rows.select(F.col("kept_id").alias("center"), "id", "similarity", "facts", "verified")
    null = F.lit(None)
    own = rows.select("center").distinct().select(
        "center", F.col("center").alias("id"), null.cast("double").alias("similarity"), null.cast("double").alias("facts"),
        null.cast("boolean").alias("verified"),
    )
    return removed, own.unionByName(rows)


def _kept(df: DataFrame, columns: Columns, removed: DataFrame, documents: Documents, number: int) -> DataFrame:
    """Returns the rows of the input that are kept."""
    from pyspark.sql import functions as F

    ident, text_hash = "__sameish_id", "__sameish_text_hash"
    counts, limit = documents.counts, documents.limits.broadcast_rows
    named = df.withColumn(ident, column(columns.id).cast(documents.table.schema["id"].dataType)).filter(F.col(ident).isNotNull())
    kept = _needed.without(named, removed.select(F.col("id").alias(ident)), [ident], number, limit)
    if not counts["rejected"] and not counts["repeated"]:
        return kept.drop(ident)
    # Rejected records are left out, and all but the first record of an id.
    bad = documents.rejects.select(F.col("id").alias(ident), F.lit(True).alias("__sameish_bad")).filter(F.col(ident).isNotNull())
    several = documents.repeated_ids.select(F.col("id").alias(ident))
    doubtful = several.unionByName(bad.select(ident)).distinct()
    clear = kept.join(doubtful, ident, "left_anti")
    used = documents.table.join(doubtful.select(F.col(ident).alias("id")), "id", "left_semi")
    used = used.select(F.col("id").alias(ident), F.col("text_hash").alias(text_hash), F.col("order").alias("__sameish_order"))
    order = column(columns.order or columns.id)
    rest = kept.join(doubtful, ident, "left_semi").withColumn(text_hash, F.xxhash64(text_of(columns)))
    rest = rest.withColumn("__sameish_place", order)
    same_place = F.col("__sameish_place").eqNullSafe(F.col("__sameish_order"))
    rest = rest.join(used, [ident, text_hash]).filter(same_place).drop("__sameish_order", "__sameish_place")
    return clear.unionByName(_first_of_each(rest, ident).drop(text_hash)).drop(ident)


def _first_of_each(rows: DataFrame, ident: str) -> DataFrame:
    """Keeps one row per id: rows that differ in other columns only are ordered by a hash of these."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    hashed = [column(field.name) for field in rows.schema.fields if not field.dataType.simpleString().startswith("map")]
    by_hash = Window.partitionBy(ident).orderBy(F.xxhash64(*hashed))
    return rows.withColumn("__sameish_rank", F.row_number().over(by_hash)).filter("__sameish_rank = 1").drop("__sameish_rank")


def _centers_by_id(documents: Documents, members: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    ids = documents.table.select("doc", "id")
    centers = ids.select(F.col("doc").alias("center_doc"), F.col("id").alias("center"))
    all_centers = ids.join(members, "doc", "left").select("id", F.coalesce("center", "doc").alias("center_doc"))
    return documents.session.checkpoint(all_centers.join(centers, "center_doc").select("id", "center"), "clusters")


def _pairs_by_id(documents: Documents, matches: DataFrame, across: bool) -> DataFrame:
    """Expands pairs of distinct texts to pairs of documents, and names these by their ids."""
    from pyspark.sql import functions as F

    ids = documents.table.select("doc", "id")
    with_copies = documents.copies.select(F.col("leader").alias("doc"), "leader").distinct()
    group = documents.copies.select("doc", "leader").unionByName(with_copies)
    kinds = documents.table.select("doc", "id", "reference", "fingerprint", "copy_key", (F.size("keys") == 0).alias("keyless"))
    keyless = kinds.filter("keyless and copy_key is not null") if across else None
    group = documents.session.checkpoint(group.join(kinds, "doc"), "groups")
    members = group.select("leader", F.col("doc").alias("member"))
    verdict = ["similarity", "match_type", "verified", "simhash_distance", "facts", "template"]
    found = matches.select("a", "b", *verdict)
    for side in ("a", "b"):
        copies = members.withColumnRenamed("leader", side)
        found = found.join(copies, side, "left").withColumn(f"doc_{side}", F.coalesce("member", side)).drop("member")
    for side in ("a", "b"):
        found = found.join(ids.select(F.col("doc").alias(f"doc_{side}"), F.col("id").alias(f"id_{side}")), f"doc_{side}")
    found = found.select("doc_a", "doc_b", "id_a", "id_b", *verdict)
    found = found.unionByName(_copy_pairs(documents, group if keyless is None else keyless, across).select(found.columns))
    forward = F.lit(True) if across else F.col("doc_a") < F.col("doc_b")
    a, b = F.when(forward, F.col("id_a")).otherwise(F.col("id_b")), F.when(forward, F.col("id_b")).otherwise(F.col("id_a"))
    return found.select(a.alias("a"), b.alias("b"), *verdict)


def _copy_pairs(documents: Documents, group: DataFrame, across: bool) -> DataFrame:
    """Returns the pairs of copies."""
    from pyspark.sql import functions as F

    run: Plan = documents.plan
    # Copies are divided into blocks, so that no task has the pairs of more than two blocks. Each pair is in one cell.
    sizes = group.groupBy("copy_key").agg(F.ceil(F.count("*") / documents.limits.block).cast("bigint").alias("blocks"))
    rows = group.join(sizes, "copy_key").withColumn("own", F.pmod(F.xxhash64(F.lit(3), "doc"), F.col("blocks")))
    rows = rows.withColumn("other", F.explode(F.sequence(F.lit(0).cast("bigint"), F.col("blocks") - 1)))
    first = rows.select(
        "copy_key", F.col("own").alias("x"), F.col("other").alias("y"), "reference", F.col("doc").alias("doc_a"), F.col("id").alias("id_a"),
        "fingerprint", "keyless",
    )
    second = rows.select(
        "copy_key", F.col("other").alias("x"), F.col("own").alias("y"), "reference", F.col("doc").alias("doc_b"), F.col("id").alias("id_b")
    )
    cell = ["copy_key", "x", "y"]
    if across:
        # Copies that have keys were found as candidates.
        first, second = first.filter("reference and keyless"), second.filter("not reference")
        both = first.drop("reference").join(second.drop("reference"), cell)
    else:
        both = first.drop("reference").join(second.drop("reference"), cell).filter("doc_a < doc_b")
    return arrow_map(
        both.select("doc_a", "doc_b", "id_a", "id_b", "fingerprint"),
        _work.copies(run),
        f"doc_a bigint, doc_b bigint, id_a {group.schema['id'].dataType.simpleString()}, "
        f"id_b {group.schema['id'].dataType.simpleString()}, similarity double, match_type string, verified boolean, "
        "simhash_distance int, facts double, template boolean",
    )
