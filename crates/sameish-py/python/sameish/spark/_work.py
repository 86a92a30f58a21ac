"""Functions that run on executors: each processes the Arrow batches of a partition with the compiled steps.

No Python code runs per row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .._sameish import _bins, _Centers, _components, _hamming_buckets, _hamming_keys, _ranks, _star_counts, _stars
from .._steps import Plan, imported, steps

if TYPE_CHECKING:
    import pyarrow as pa

_Work = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

SIGNED = (
    "too_short boolean, bytes bigint, identity bigint, replaced boolean, copy_key binary, outline binary, fingerprint bigint, "
    "keys array<bigint>, problem string"
)
# Pairs. A row without `a` has a count: of buckets in which a limit left out pairs if `b` is 0, of these pairs if `b` is 1.
PAIRS = "a bigint, b bigint, count bigint"
# Candidates. A row without `b` has the length of the text of `a` as `count`. A row without `a` has a count of a task, by `b`: the
# number of buckets in which a limit left out pairs (`CAPPED`), of these pairs (`LEFT`), and of the rows with candidates (`FOUND`), or
# the size of the bucket `key`, which was not compared (`LARGE`).
CANDIDATES = "a bigint, b bigint, count bigint, key bigint"
CAPPED, LEFT, FOUND, LARGE = range(4)
# Bins. A row without `b` says that the text of `a` is needed; a row without `bin` has the numbers of pairs and texts.
BINS = "bin bigint, a bigint, b bigint"
MATCHES = (
    "a bigint, b bigint, similarity double, match_type string, verified boolean, simhash_distance int, facts double, "
    "template boolean, joins boolean, counts array<bigint>"
)
# Sums of a task, and its numbers of groups; its largest groups, with their numbers of rows.
SUMS = "pairs double, missed double, variance double, groups bigint, largest array<bigint>, sizes array<bigint>"
# The documents of a task: number, number that are too short or have replaced bytes, bytes of texts, and number of records that cannot
# be used.
FACTS = "documents bigint, too_short bigint, replaced bigint, bytes bigint, rejected bigint"
# Members of clusters. A row without `doc` has counts: of the members, and those of `star_counts`.
STARS = "doc bigint, center bigint, similarity double, facts double, verified boolean, counts array<bigint>"
DECISIONS = "doc bigint, state tinyint, center bigint, similarity double, facts double, verified boolean"


def sign(plan: Plan, others: list[str], ranking: str | None, max_document: int) -> _Work:
    """Signs the column `text`; with `ranking`, reads the column `field` as dates or values."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        native = steps(plan)
        for batch in batches:
            yield _extended(batch, others, imported(native.sign(batch.column("text"), max_document)), ranking)

    return work


def rank(others: list[str], ranking: str | None) -> _Work:
    """Reads the column `field` as dates or values."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield _extended(batch, others, None, ranking)

    return work


def _extended(batch: pa.RecordBatch, others: list[str], signed: pa.RecordBatch | None, ranking: str | None) -> pa.RecordBatch:
    import pyarrow as pa

    names, columns = list(others), [batch.column(name) for name in others]
    added = [] if signed is None else [signed]
    if ranking is not None:
        added.append(imported(_ranks(batch.column("field"), ranking == "dates")))
    for part in added:
        names, columns = names + part.schema.names, columns + part.columns
    return pa.RecordBatch.from_arrays(columns, names=names)


def profiles(plan: Plan) -> _Work:
    """Replaces the column `text` by the profile by which pairs of a crowd are rejected."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            found = imported(steps(plan).profiles(batch.column("text")))
            yield pa.RecordBatch.from_arrays([batch.column("doc"), found.column("profile")], names=["doc", "profile"])

    return work


def cell_pairs(plan: Plan, across: bool) -> _Work:
    """Finds candidates in rows that are sorted by cell."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cells = steps(plan).cells(across)
        for batch in batches:
            yield imported(cells.push(batch))
        yield imported(cells.finish())

    return work


def bucket_pairs(plan: Plan, limit: int, across: bool) -> _Work:
    """Finds candidates in rows that are sorted by key and document. The last rows count what a limit left out."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _pairs(steps(plan).buckets(limit, across), batches)

    return work


def pack_members(plan: Plan, parts: list[int], excluded: list[int]) -> _Work:
    """Packs the members of buckets by the parts to which their keys belong, which have these names. Some keys are left out."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        packer = steps(plan).packer(len(parts), excluded)
        names = pa.array(parts, pa.int32())
        for batch in batches:
            packed = imported(packer.pack(batch))
            part = names.take(packed.column("part"))
            yield pa.RecordBatch.from_arrays([part, packed.column("members")], names=["part", "members"])

    return work


def packed_pairs(plan: Plan, limit: int, across: bool, divided: int | None) -> _Work:
    """Finds candidates among packed members. The last rows are counts."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        buckets = steps(plan).packed(limit, across, divided)
        for batch in batches:
            buckets.push(batch)
        found = 0
        while (columns := buckets.next()) is not None:
            pairs = imported(columns)
            found += pairs.num_rows
            yield pairs
        capped, left = buckets.omitted()
        rows = [(CAPPED, capped, None), (LEFT, left, None), (FOUND, found, None)]
        rows += [(LARGE, size, key) for key, size in buckets.large()]
        kinds, counts, keys = (pa.array(values, pa.int64()) for values in zip(*rows))
        yield pa.RecordBatch.from_arrays([pa.nulls(len(rows), pa.int64()), kinds, counts, keys], names=["a", "b", "count", "key"])

    return work


def bins(pairs: int, size: int) -> _Work:
    """Divides candidates into bins of about this many pairs and bytes of texts."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        rows = list(batches)
        if rows:
            yield imported(_bins(pa.Table.from_batches(rows), pairs, size))

    return work


def stars(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Clusters the documents of a partition, which has all matches."""
    import pyarrow as pa

    rows = list(batches)
    if rows:
        yield imported(_stars(pa.Table.from_batches(rows)))


def star_counts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Counts matches with the centers of their documents: verified matches and templates of centers, and chains that were cut."""
    import pyarrow as pa

    for batch in batches:
        yield pa.record_batch([pa.array([_star_counts(batch)], pa.list_(pa.int64()))], names=["counts"])


def facts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Adds up the documents of a partition."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = [field.split()[0] for field in FACTS.split(", ")]
    sums = [0] * len(names)
    for batch in batches:
        added = [batch.num_rows, *[pc.sum(pc.cast(batch.column(name), pa.int64())).as_py() or 0 for name in names[1:]]]
        sums = [a + b for a, b in zip(sums, added)]
    yield pa.record_batch([pa.array([value], pa.int64()) for value in sums], names=names)


def hamming_pairs(radius: int, limit: int, across: bool) -> _Work:
    """Finds fingerprints within a radius in rows that are sorted by key and document."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _pairs(_hamming_buckets(radius, limit, across), batches)

    return work


def _pairs(buckets: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield _with_count(imported(buckets.push(batch)))
    if buckets.capped():
        yield _only_counts([buckets.capped(), buckets.omitted()])


def hamming_keys(radius: int) -> _Work:
    """Adds the bucket keys of the column `fingerprint`."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            keys = imported(_hamming_keys(batch, radius)).column("keys")
            yield pa.RecordBatch.from_arrays([*batch.columns, keys], names=[*batch.schema.names, "keys"])

    return work


def verify(plan: Plan) -> _Work:
    """Compares pairs; rows are sorted by bin, texts before pairs. The last row counts the matches, and the
    comparisons, in all and by similarity."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _matches(steps(plan).verifier(), batches)

    return work


def compare_with_heads(plan: Plan, heads: Any) -> _Work:
    """Compares documents with the first members of large buckets, which are the table `heads`."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _matches(steps(plan).heads(heads), batches)

    return work


def _matches(verifier: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    kind = pa.list_(pa.int64())
    number = 0
    for batch in batches:
        found = imported(verifier.push(batch))
        number += found.num_rows
        columns = [*found.columns, pa.nulls(found.num_rows, kind)]
        yield pa.RecordBatch.from_arrays(columns, names=[*found.schema.names, "counts"])
    if verifier.counts()[0]:
        names = [field.split()[0] for field in MATCHES.split(", ")]
        types = ["int64", "int64", "float64", "string", "bool", "int32", "float64", "bool", "bool"]
        columns = [pa.nulls(1, pa.type_for_alias(alias)) for alias in types]
        yield pa.RecordBatch.from_arrays([*columns, pa.array([[number, *verifier.counts()]], kind)], names=names)


def _with_count(batch: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa

    counts = pa.nulls(batch.num_rows, pa.int64())
    return pa.RecordBatch.from_arrays([*batch.columns, counts], names=[*batch.schema.names, "count"])


def _only_counts(counts: list[int]) -> pa.RecordBatch:
    import pyarrow as pa

    kinds = pa.array(range(len(counts)), pa.int64())
    columns = [pa.nulls(len(counts), pa.int64()), kinds, pa.array(counts, pa.int64())]
    return pa.RecordBatch.from_arrays(columns, names=["a", "b", "count"])


def found_sums(plan: Plan, number: int) -> _Work:
    """Adds up found pairs, sorted by group, for the estimated recall. Counts the groups, and lists up to `number` of the largest ones."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        found = steps(plan).found()
        groups = []
        for batch in batches:
            found.push(batch)
            groups.append(batch.column("group"))
        sums = imported(found.finish())
        counts = pa.chunked_array(groups, pa.int64()).value_counts()
        rows = pa.table({"group": counts.field("values"), "size": counts.field("counts")})
        rows = rows.sort_by([("size", "descending"), ("group", "ascending")])[:number]
        kind = pa.list_(pa.int64())
        lists = [pa.array([rows.column(name).to_pylist()], kind) for name in ("group", "size")]
        columns = [*sums.columns, pa.array([len(counts)], pa.int64()), *lists]
        yield pa.RecordBatch.from_arrays(columns, names=[*sums.schema.names, "groups", "largest", "sizes"])

    return work


def copies(plan: Plan) -> _Work:
    """Adds the verdict for copies to pairs of them, in place of the column `fingerprint`."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in batches:
            fingerprints = batch.column("fingerprint")
            pairs = pa.Table.from_batches([batch]).drop_columns(["fingerprint"])
            for mask, fingerprint in ((pc.is_valid(fingerprints), 1), (pc.is_null(fingerprints), None)):
                verdict = pa.Table.from_batches([imported(steps(plan).copies(fingerprint))]).drop_columns(["a", "b", "joins"])
                part = pairs.filter(mask)
                if verdict.num_rows and part.num_rows:
                    rows = verdict.take(pa.array([0] * part.num_rows))
                    both = pa.table([*part.columns, *rows.columns], names=[*part.column_names, *rows.column_names])
                    yield from both.combine_chunks().to_batches()

    return work


def decide(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Decides which documents are centers; rows are sorted by part and later document."""
    centers = _Centers()
    for batch in batches:
        yield imported(centers.push(batch))
    yield imported(centers.finish())


def components(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Returns the components of the pairs of a partition, which has a bounded number of them."""
    import pyarrow as pa

    rows = list(batches)
    if rows:
        yield imported(_components(pa.Table.from_batches(rows)))
