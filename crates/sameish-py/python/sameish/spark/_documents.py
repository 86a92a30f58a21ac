"""Step **sign**: documents with numbers that define their order, and copies collapsed.

Tables of this step have no texts. Texts are read from the input a second time, only those of documents that are compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .._errors import RecordError, SchemeMismatch, SettingError
from .._steps import Plan
from . import _needed, _work
from ._session import Session, arrow_map, column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["INTEGERS", "Columns", "Documents", "Limits", "id_kind", "kind_of", "normalized", "read", "same_kind", "text_of"]

# Names of the types of integers.
INTEGERS = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True)
class Columns:
    """Names of the columns of the input."""

    id: str
    text: str
    title: str | None = None
    source: str | None = None
    date: str | None = None
    order: str | None = None


@dataclass(frozen=True)
class Limits:
    """Limits that bound the work of one task. Results are independent of those without the note "reached"."""

    # Rows of a table of documents that one task processes: Spark needs more time to distribute them.
    task_rows: int = 100_000
    # Pairs of documents that one task solves as a graph.
    task_pairs: int = 1_000_000
    # Pairs of one bin of texts, and bytes of its texts.
    bin_pairs: int = 20_000
    bin_bytes: int = 64_000_000
    # Size of a bucket from which its documents are compared with its first ones only, in rounds.
    large_bucket: int = 256
    # Documents of a corpus above which one in 16 is counted to find large buckets. In a smaller one, a task can hold all documents.
    counted: int = 1_000_000
    # Size of a bucket from which it is divided, where all pairs are wanted.
    bucket_pairs: int = 2_000
    # Rounds over large buckets, and first members of one bucket per round.
    rounds: int = 24
    heads: int = 16
    # Bytes of the texts of these members, which are sent to every executor.
    head_bytes: int = 64_000_000
    # Large buckets per round.
    round_buckets: int = 2_000
    # Documents of a block of a crowd; one task compares two blocks.
    block: int = 2_048
    # Documents of a crowd with which all others are compared; may be reached.
    crowd: int = 32_768
    # Rows that are sent to every executor, at most about 100 bytes each.
    broadcast_rows: int = 1_000_000


@dataclass
class Documents:
    """Signed documents.

    `table` has one row per document: `doc` (its number; smaller ones come first), `id`, `reference` (whether it belongs to the
    right side of a join), `source`, `order`, and the columns of `sameish.arrow.sign` but texts. `copies` maps the number of each
    copy to that of the first document with the same text. `leaders` are the other documents.
    """

    session: Session
    plan: Plan
    limits: Limits
    # Columns `id`, `text` and `reference` of the input.
    texts: DataFrame
    table: DataFrame
    copies: DataFrame
    leaders: DataFrame
    # Records that cannot be used: `id`, `order`, `reason`.
    rejects: DataFrame
    # Ids that occur more than once in one input.
    repeated_ids: DataFrame
    counts: dict[str, Any] = field(default_factory=dict)
    # Whether an id may occur in several records of one input, of which one is used.
    ambiguous: bool = False
    has_sources: bool = False

    def narrowed(self, rows: DataFrame) -> DataFrame:
        """Reads a table of documents or keys in one task if the corpus is small, so that joins and groups need no shuffle."""
        return rows.coalesce(1) if self.counts["documents"] <= self.limits.task_rows else rows

    def with_texts(self, needed: DataFrame, number: int | None = None) -> DataFrame:
        """Adds `text`, `too_short` and `fingerprint` to rows with a document number. Only texts that are needed are moved.

        `number` is the number of rows, if it is known. A row may occur several times if its record is repeated in the input.
        """
        from pyspark.sql import functions as F

        columns = ["doc", "id", "reference", "too_short", "fingerprint", "text_hash"]
        limit = self.limits.broadcast_rows
        if number is None or number > limit:
            rows = self.session.checkpoint(needed.join(self.table.select(columns), "doc"), "needed")
            number = rows.count() if number is None else number
        else:
            rows = self.table.select(columns).join(F.broadcast(needed), "doc")
        self.counts["texts_sent"] = self.counts.get("texts_sent", 0) + number
        keys = ["id", "reference"]
        texts = self.texts
        if self.ambiguous:
            texts = texts.withColumn("text_hash", F.xxhash64("text"))
            keys.append("text_hash")
        else:
            rows = rows.drop("text_hash")
        return _needed.matching(texts, rows, keys, number, limit)

    def with_moved_texts(self, needed: DataFrame, number: int, texts: DataFrame) -> DataFrame:
        """Like `with_texts`, for texts that were moved before: `texts` is a checkpoint of its result."""
        self.counts["texts_sent"] = self.counts.get("texts_sent", 0) + number
        columns = ["doc", "text", "too_short", "fingerprint"]
        return _needed.matching(texts.select(columns), needed, ["doc"], number, self.limits.broadcast_rows)


def read(
    session: Session,
    inputs: list[tuple[DataFrame, Columns]],
    plan: Plan,
    limits: Limits,
    keep: str = "first",
    on_bad: str = "fail",
    signed: DataFrame | None = None,
    max_document: int = 16 << 20,
) -> Documents:
    """Signs the documents of one input, or of two: then those of the second are the reference, and come first."""
    from functools import reduce

    from pyspark.sql import functions as F

    if on_bad not in ("fail", "skip"):
        raise SettingError(f"`on_bad` is `{on_bad}`: must be `fail` or `skip`")
    parts = [normalized(frame, columns, keep, reference=bool(at)) for at, (frame, columns) in enumerate(inputs)]
    same_kind([part.schema["id"].dataType.simpleString() for part in parts])
    if len({part.schema["text"].dataType for part in parts}) > 1:
        parts = [part.withColumn("text", F.col("text").cast("binary")) for part in parts]
    rows = reduce(lambda a, b: a.unionByName(b), parts)
    if signed is None:
        table = _sign(rows, plan, keep, max_document)
    else:
        table = _joined_with_signed(session, rows, signed, plan, keep, max_document, limits)
    table = session.checkpoint(table, "signed")
    facts = _facts(table)
    few = facts["documents"] <= limits.task_rows
    table, rejects, rejected = _usable(session, table, on_bad, facts["rejected"])
    sort = [F.desc("reference"), *_rank(keep), "order", "id", "text_hash"]
    table = (table.coalesce(1) if few else table).orderBy(*sort).withColumn("doc", F.monotonically_increasing_id())
    table = session.checkpoint(table.drop("rank", "rank_number", "rank_text"), "documents")
    table = table.coalesce(1) if few else table
    repeats = _repeats(session, table)
    duplicates = _without_duplicate_ids(session, table, repeats, on_bad)
    if duplicates.rejects is not None:
        rejects = session.checkpoint(rejects.unionByName(duplicates.rejects), "rejects")
    if duplicates.table is not table:
        table = duplicates.table
        repeats = _repeats(session, table)
    if rejected or duplicates.repeated or duplicates.conflicts:
        facts = _facts(table.withColumn("problem", F.lit(None).cast("string")))
    copies = _copies(session, table, repeats)
    leaders = table.join(copies.select("doc"), "doc", "left_anti") if repeats.copies else table
    counts = {
        "documents": facts["documents"],
        "too_short": facts["too_short"],
        "replaced": facts["replaced"],
        "bytes": facts["bytes"],
        "rejected": rejected + duplicates.conflicts,
        "repeated": duplicates.repeated,
        "copies": repeats.copies,
    }
    has_sources = any(columns.source is not None for _, columns in inputs)
    ambiguous = counts["rejected"] + counts["repeated"] > 0
    texts = rows.select("id", "text", "reference")
    return Documents(session, plan, limits, texts, table, copies, leaders, rejects, duplicates.ids, counts, ambiguous, has_sources)


def normalized(frame: DataFrame, columns: Columns, keep: str, reference: bool) -> DataFrame:
    """Returns the columns that are read, under fixed names."""
    from pyspark.sql import functions as F

    kind = id_kind(frame, columns.id)
    for name in (columns.source, columns.date, columns.order):
        _require(frame, name)
    for name in (columns.text, columns.title):
        text_kind = "string" if name is None else kind_of(frame, name)
        if text_kind not in ("string", "binary"):
            raise SettingError(f"texts in column `{name}` are of type {text_kind}: must be strings")
    if columns.title is not None and frame.schema[columns.title].dataType != frame.schema[columns.text].dataType:
        raise SettingError(f"columns `{columns.text}` and `{columns.title}` are of different types: cast one of them")
    ident = column(columns.id).cast(kind)
    text = text_of(columns)
    selected = {
        "id": ident,
        "text": text,
        "text_hash": F.xxhash64(text),
        "reference": F.lit(reference),
        "source": F.lit(None).cast("string") if columns.source is None else column(columns.source).cast("string"),
        "order": ident if columns.order is None else column(columns.order),
    }
    if keep == "newest":
        if columns.date is None:
            raise SettingError("`keep` is `newest`, which requires dates: pass `date`")
        date_kind = frame.schema[columns.date].dataType.simpleString()
        if date_kind not in ("string", "date", "timestamp", "timestamp_ntz"):
            raise SettingError(f"dates in column `{columns.date}` are of type {date_kind}: must be strings, dates or timestamps")
        selected["field"] = column(columns.date)
    if keep.startswith("field:"):
        _require(frame, keep.removeprefix("field:"))
        selected["field"] = column(keep.removeprefix("field:")).cast("string")
    return frame.select([value.alias(name) for name, value in selected.items()])


def text_of(columns: Columns) -> Column:
    """Returns the text of a record: its title, if it has no text."""
    from pyspark.sql import functions as F

    text = column(columns.text)
    return text if columns.title is None else F.coalesce(text, column(columns.title))


def id_kind(frame: DataFrame, name: str) -> str:
    """Returns the type to which ids are cast: `bigint` or `string`."""
    kind = kind_of(frame, name)
    if kind != "string" and kind not in INTEGERS:
        raise SettingError(f"ids in column `{name}` are of type {kind}: must be integers or strings")
    return "string" if kind == "string" else "bigint"


def same_kind(kinds: list[str]) -> str:
    """Returns the type of the ids of all inputs."""
    if len(set(kinds)) > 1:
        raise SettingError(f"the ids of both sides have different types, {' and '.join(sorted(kinds))}: cast one of the columns")
    return kinds[0]


def kind_of(frame: DataFrame, name: str) -> str:
    """Returns the type of a column, which must exist."""
    _require(frame, name)
    return frame.schema[name].dataType.simpleString()


def _require(frame: DataFrame, name: str | None) -> None:
    if name is not None and name not in frame.columns:
        raise SettingError(f"unknown column `{name}`: the columns are `{'`, `'.join(frame.columns)}`")


_RANKS = "rank bigint, rank_number double, rank_text string, bad_date boolean"


def _sign(rows: DataFrame, plan: Plan, keep: str, max_document: int) -> DataFrame:
    """Replaces texts by their sketches, and the field of `keep` by ranks."""
    others = [name for name in rows.columns if name not in ("text", "field")]
    schema = [f"`{name}` {rows.schema[name].dataType.simpleString()}" for name in others] + [_work.SIGNED]
    if "field" in rows.columns:
        schema.append(_RANKS)
    return arrow_map(rows, _work.sign(plan, others, _ranking(keep), max_document), ", ".join(schema))


def _ranking(keep: str) -> str | None:
    """Returns how the column `field` is read: as dates or as values."""
    return "dates" if keep == "newest" else "values" if keep.startswith("field:") else None


def _joined_with_signed(
    session: Session, rows: DataFrame, signed: DataFrame, plan: Plan, keep: str, max_document: int, limits: Limits
) -> DataFrame:
    """Takes sketches from an earlier run, and signs the documents that are new or whose texts have changed."""
    schemes = [row["scheme"] for row in signed.select("scheme").distinct().limit(2).collect()]
    expected = plan.facts["scheme"]
    if schemes and schemes != [expected]:
        other = next(scheme for scheme in schemes if scheme != expected)
        raise SchemeMismatch(f"documents were signed under scheme {other}, these settings are scheme {expected}: sign them again")
    names = [part.split()[0] for part in _work.SIGNED.split(", ")]
    stored = signed.select("id", "text_hash", *names).dropDuplicates(["id", "text_hash"])
    keys = ["id", "text_hash"]
    bare = rows.drop("text")
    if "field" in bare.columns:
        kinds = [f"`{name}` {bare.schema[name].dataType.simpleString()}" for name in bare.columns if name != "field"]
        work = _work.rank([name for name in bare.columns if name != "field"], _ranking(keep))
        bare = arrow_map(bare, work, ", ".join([*kinds, _RANKS]))
    known = session.checkpoint(bare.join(stored, keys, "left"), "known")
    missing = session.checkpoint(known.filter("bytes is null and id is not null").select(keys).distinct(), "unsigned")
    number = missing.count()
    if number == 0:
        return known
    texts = _needed.matching(rows.select("id", "text_hash", "text"), missing, keys, number, limits.broadcast_rows)
    new = _sign(texts, plan, "first", max_document).dropDuplicates(keys)
    added = known.drop(*names).join(new, keys)
    without_id = known.filter("bytes is not null or id is null")
    return without_id.unionByName(added.select(without_id.columns))


def _rank(keep: str) -> list[Column]:
    """Returns the sort order of the rule that decides which document of a cluster is kept."""
    from pyspark.sql import functions as F

    if keep == "first":
        return []
    if keep == "longest":
        return [F.desc("bytes")]
    if keep == "newest":
        return [F.desc_nulls_last("rank")]
    if keep.startswith("field:"):
        return [F.desc_nulls_last("rank_number"), F.desc_nulls_last("rank_text")]
    raise SettingError(f"`keep` is `{keep}`: must be `first`, `longest`, `newest` or `field:NAME`")


def _facts(table: DataFrame) -> dict[str, int]:
    """Counts documents: each task adds up its own, and the driver adds the sums, so that Spark shuffles nothing."""
    rows = table.select("too_short", "replaced", "bytes", _is_rejected(table).alias("rejected"))
    names = [field.split()[0] for field in _work.FACTS.split(", ")]
    parts = arrow_map(rows, _work.facts, _work.FACTS).collect()
    return {name: sum(part[name] for part in parts) for name in names}


def _is_rejected(table: DataFrame) -> Column:
    from pyspark.sql import functions as F

    rejected = F.col("id").isNull() | F.col("problem").isNotNull()
    return rejected | F.col("bad_date") if "bad_date" in table.columns else rejected


def _usable(session: Session, table: DataFrame, on_bad: str, count: int) -> tuple[DataFrame, DataFrame, int]:
    """Returns the records that can be used, the other `count` with the reason, and their number. Fails on these unless they are skipped."""
    from pyspark.sql import functions as F

    bad_date = F.col("bad_date") if "bad_date" in table.columns else F.lit(False)
    reason = F.when(F.col("id").isNull(), "id is null").when(F.col("problem").isNotNull(), F.col("problem"))
    table = table.withColumn("reason", reason.when(bad_date, "date cannot be read")).drop("bad_date", "problem")
    rejects = table.filter("reason is not null").select("id", "order", "reason")
    if not count:
        return table.drop("reason"), rejects, 0
    rejects = session.checkpoint(rejects, "rejects")
    if on_bad == "fail":
        row = rejects.orderBy("order", "id").limit(1).collect()[0]
        place = f"order {row['order']}" if row["id"] is None else f"id `{row['id']}`"
        raise RecordError(f"{row['reason']} in a record of {count} that cannot be used, the one with {place}: correct it, or pass `on_bad=\"skip\"`")
    return table.filter("reason is null").drop("reason"), rejects, count


class _Duplicates(NamedTuple):
    """What was found about ids that occur several times."""

    # The documents without records that repeat an id.
    table: DataFrame
    # The ids that occur several times.
    ids: DataFrame
    # Number of repeated records, and of those with a different text.
    repeated: int = 0
    conflicts: int = 0
    # The latter: `id`, `order`, `reason`.
    rejects: DataFrame | None = None


class _Repeats(NamedTuple):
    """Ids and texts that occur several times."""

    # Columns `is_text`, `key` (an id as bytes, or a copy key), `reference`, `leader` (the first document) and `number` (of documents).
    groups: DataFrame
    # Numbers of documents that are not the first one with their id, and with their text.
    ids: int
    copies: int


def _repeats(session: Session, table: DataFrame) -> _Repeats:
    """Finds ids and texts that occur several times, in one pass."""
    from pyspark.sql import functions as F

    ident = F.struct(F.lit(False).alias("is_text"), F.col("id").cast("string").cast("binary").alias("key"))
    text = F.struct(F.lit(True).alias("is_text"), F.col("copy_key").alias("key"))
    rows = table.select("doc", "reference", F.explode(F.array(ident, text)).alias("entry"))
    rows = rows.select("doc", "reference", "entry.is_text", "entry.key").filter("key is not null")
    groups = rows.groupBy("is_text", "key", "reference").agg(F.min("doc").alias("leader"), F.count("*").alias("number"))
    groups = session.checkpoint(groups.filter("number > 1"), "repeats")
    sums = groups.select("is_text", (F.col("number") - 1).alias("more")).groupBy("is_text").agg(F.sum("more").alias("more")).collect()
    found = {row["is_text"]: row["more"] for row in sums}
    return _Repeats(groups, found.get(False, 0), found.get(True, 0))


def _without_duplicate_ids(session: Session, table: DataFrame, repeats: _Repeats, on_bad: str) -> _Duplicates:
    """Keeps the first record with an id. Others with the same text, as on one machine, are repeated; the rest is rejected."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    keys = ["id", "reference"]
    if not repeats.ids:
        return _Duplicates(table, table.select(*keys).limit(0))
    repeated_ids = repeats.groups.filter("not is_text").select(F.col("leader").alias("doc")).join(table.select("doc", *keys), "doc")
    repeated_ids = session.checkpoint(repeated_ids.select(*keys), "repeated-ids")
    by_order = Window.partitionBy(*keys).orderBy("order", "text_hash", "doc")
    found = table.join(repeated_ids, keys, "left_semi").withColumn("place", F.row_number().over(by_order))
    same = F.first("identity").over(by_order) == F.col("identity")
    extra = found.withColumn("same", same).filter("place > 1").select("doc", "id", "order", "same")
    extra = session.checkpoint(extra, "duplicate-ids")
    counts = extra.agg(F.sum(F.col("same").cast("bigint")).alias("same"), F.count("*").alias("all")).first()
    conflicts = counts["all"] - counts["same"]
    if conflicts and on_bad == "fail":
        ident = extra.filter("not same").orderBy("doc").select("id").first()["id"]
        raise RecordError(f"duplicate id `{ident}` with a different text: make ids unique, or pass `on_bad=\"skip\"`")
    reason = F.concat(F.lit("duplicate id `"), F.col("id").cast("string"), F.lit("` with a different text"))
    rejects = extra.filter("not same").select("id", "order", reason.alias("reason"))
    rest = table.join(extra.select("doc"), "doc", "left_anti")
    return _Duplicates(rest, repeated_ids, counts["same"], conflicts, rejects if conflicts else None)


def _copies(session: Session, table: DataFrame, repeats: _Repeats) -> DataFrame:
    """Returns the first document with the text of each copy, so that a million equal documents cost as much as one."""
    from pyspark.sql import functions as F

    groups = repeats.groups.filter("is_text").select(F.col("key").alias("copy_key"), "reference", "leader")
    if not repeats.copies:
        return groups.select(F.col("leader").alias("doc"), "leader").limit(0)
    joined = table.select("doc", "copy_key", "reference").join(groups, ["copy_key", "reference"]).filter("doc <> leader")
    return session.checkpoint(joined.select("doc", "leader"), "copies")
