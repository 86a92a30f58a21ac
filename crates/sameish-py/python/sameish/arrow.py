"""The steps of a batch as functions over Arrow tables, for engines that move the data themselves: Ray, Dask, Daft.

    texts -> sign -> copies                        documents with equal texts
                  -> candidates -> verify -> cluster

Documents have 64-bit numbers in the column `doc`, which the caller assigns. Smaller numbers come first: of two duplicates, the
document with the smaller number is kept. `sign` and `verify` process any part of a corpus on its own. `candidates` needs all
rows with the same key in one call, and `cluster` all matches of a connected group of documents. All functions release the
interpreter lock, and need pyarrow.

Settings are the keywords of `sameish.dedup`: `preset`, `config`, `threshold`, `recall`, `templates` and so on. All steps of a run
need the same settings. `task` is `"dedup"` (copies are texts with equal bytes), `"pairs"` or `"cluster"` (copies are texts whose
normalized forms are equal).

>>> import pyarrow as pa
>>> from sameish import arrow
>>> bridge = "The council voted on Monday evening to close the old stone bridge for repairs until the end of spring"
>>> texts = pa.table({"doc": [0, 1, 2], "text": [bridge, "Rain until Friday", bridge + " now"]})
>>> signed = arrow.sign(texts)
>>> matches = arrow.verify(arrow.candidates(signed), texts, signed)
>>> matches.select(["a", "b", "similarity"]).to_pylist()
[{'a': 0, 'b': 2, 'similarity': 0.9444444444444444}]
>>> arrow.cluster(matches).select(["doc", "center"]).to_pylist()
[{'doc': 2, 'center': 0}]
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

from ._errors import SettingError, TextError
from ._sameish import _Centers
from ._steps import imported, plan, steps

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["bucket_rows", "candidates", "cluster", "copies", "sign", "verify"]

_Task = Literal["dedup", "pairs", "cluster"]
# Number of rows that are passed to the compiled code at once.
_ROWS = 1 << 16
# Maximum length of a text in bytes: unlimited.
_LONGEST = (1 << 63) - 1


def sign(table: Any, *, text: str = "text", task: _Task = "dedup", **settings: Any) -> pa.Table:
    """Computes the sketches of texts.

    Args:
        table: A table with the texts. A null counts as an empty text.
        text: Name of the text column; default `"text"`.
        task: What the documents are signed for; default `"dedup"`.
        **settings: See `sameish.dedup`.

    Returns:
        The other columns of the table, and: `too_short` (bool), `bytes` (int64, length of the text), `identity` (int64; equal for
        records of one document with the same text), `replaced` (bool: whether invalid UTF-8 was replaced), `copy_key` (binary;
        equal for copies, null for a text that matches nothing), `outline` (32 bytes, to reject candidates), `fingerprint` (int64,
        null without one), `keys` (list of int64: two documents that share a key are candidates). About 250 bytes per document.
    """
    native = steps(plan(task, **settings))
    table = _table(table)
    parts = [_signed(batch, text, native) for batch in table.to_batches(max_chunksize=_ROWS)]
    return _concat(parts, lambda: _signed(_empty(table), text, native))


def _signed(batch: pa.RecordBatch, text: str, native: Any) -> pa.RecordBatch:
    import pyarrow as pa

    if text not in batch.schema.names:
        raise SettingError(f"unknown column `{text}`: the columns are `{'`, `'.join(batch.schema.names)}`")
    others = [name for name in batch.schema.names if name != text]
    signed = imported(native.sign(batch.column(text), _LONGEST))
    for problem in signed.column("problem").drop_null().to_pylist():
        if problem != "text is null":
            raise TextError(f"{problem}: convert it, or pass `lossy=True`")
    signed = signed.drop_columns(["problem"])
    columns = [batch.column(name) for name in others] + signed.columns
    return pa.RecordBatch.from_arrays(columns, names=others + signed.schema.names)


def copies(signed: pa.Table) -> pa.Table:
    """Finds copies: documents with equal texts.

    Args:
        signed: The result of `sign`; all documents with the same `copy_key` must be in one call.

    Returns:
        Columns `doc` and `leader`, the first document with the same text, for each document that is not the first.
    """
    import pyarrow.compute as pc

    keyed = signed.select(["doc", "copy_key"]).filter(pc.is_valid(signed["copy_key"]))
    leaders = keyed.group_by("copy_key").aggregate([("doc", "min")]).rename_columns(["copy_key", "leader"])
    joined = keyed.join(leaders, "copy_key").select(["doc", "leader"]).sort_by("doc")
    return joined.filter(pc.not_equal(joined["doc"], joined["leader"]))


def bucket_rows(signed: pa.Table) -> pa.Table:
    """Expands the keys of signed documents to one row per key, to be partitioned by `key`.

    Args:
        signed: The result of `sign`.

    Returns:
        Columns `key`, `doc`, `outline` and `fingerprint`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = signed["keys"].combine_chunks()
    rows = pc.list_parent_indices(keys)
    others = signed.select(["doc", "outline", "fingerprint"]).take(rows)
    columns = [pc.list_flatten(keys), *others.columns]
    return pa.table(columns, names=["key", *others.column_names])


def candidates(signed: pa.Table, *, limit: int = 2000, task: _Task = "dedup", **settings: Any) -> pa.Table:
    """Finds pairs of documents that may match. Pairs whose outlines are far apart are left out.

    Args:
        signed: The result of `sign`, or a part of the result of `bucket_rows` that has all rows of its keys. Remove the documents
            that `copies` lists, so that many equal documents do not cost more than one.
        limit: Number of documents of a bucket with which every later document of it is paired; default 2000. Other pairs are left
            out, so that a bucket of any size takes linear time: then matches may be missing, and a `UserWarning` says so.
        task: As for `sign`.
        **settings: As for `sign`.

    Returns:
        Columns `a` and `b`, with `a` before `b`, in ascending order without repetition. The metadata of the schema count what the
        limit left out: `capped` (buckets) and `omitted` (pairs of their documents), as decimal numbers.
    """
    import pyarrow as pa

    native = steps(plan(task, **settings)).buckets(limit, False)
    rows = bucket_rows(signed) if "keys" in signed.column_names else signed
    rows = rows.sort_by([("key", "ascending"), ("doc", "ascending")])
    found = [imported(native.push(batch)) for batch in rows.to_batches(max_chunksize=_ROWS)]
    pairs = pa.Table.from_batches(found, pa.schema([("a", pa.int64()), ("b", pa.int64())]))
    pairs = pairs.group_by(["a", "b"]).aggregate([]).sort_by([("a", "ascending"), ("b", "ascending")])
    capped, omitted = native.capped(), native.omitted()
    if capped:
        warnings.warn(
            f"{omitted} pairs in {capped} buckets of more than {limit} documents were left out, so that matches may be missing: "
            "increase `limit`, or remove copies first",
            stacklevel=2,
        )
    return pairs.replace_schema_metadata({"capped": str(capped), "omitted": str(omitted)})


def verify(
    pairs: pa.Table, texts: Any, signed: pa.Table, *, text: str = "text", task: _Task = "dedup", **settings: Any
) -> pa.Table:
    """Compares the texts of candidates.

    Args:
        pairs: Columns `a` and `b`.
        texts: A table with the columns `doc` and `text`, with all documents of the pairs.
        signed: The rows of these documents from `sign`.
        text: Name of the text column; default `"text"`.
        task: As for `sign`.
        **settings: As for `sign`.

    Returns:
        One row for each pair that matches: `a`, `b`, `similarity` (float64), `match_type` (`"exact"`, `"near"` or `"similar"`),
        `verified` (bool), `simhash_distance` (int32, null without fingerprints), `facts` (float64 or null), `template` (bool),
        `joins` (bool: whether the match makes two documents duplicates).
    """
    import pyarrow as pa

    native = steps(plan(task, **settings)).verifier()
    needed = pa.table({"doc": pa.concat_arrays([*pairs["a"].chunks, *pairs["b"].chunks])}).group_by("doc").aggregate([])
    rows = _table(texts).select(["doc", text]).rename_columns(["doc", "text"]).join(needed, "doc", join_type="inner")
    rows = rows.join(signed.select(["doc", "too_short", "fingerprint"]), "doc", join_type="inner")
    schema = pa.schema(
        [("bin", pa.int64()), ("a", pa.int64()), ("b", pa.int64()), ("text", rows.schema.field("text").type),
         ("too_short", pa.bool_()), ("fingerprint", pa.int64())]
    )
    loaded = _rows(schema, rows.num_rows, a=rows["doc"], text=rows["text"], too_short=rows["too_short"], fingerprint=rows["fingerprint"])
    compared = _rows(schema, pairs.num_rows, a=pairs["a"], b=pairs["b"])
    batches = pa.concat_tables([loaded, compared]).to_batches(max_chunksize=_ROWS)
    return pa.Table.from_batches([imported(native.push(batch)) for batch in batches or [_empty(loaded)]])


def _rows(schema: pa.Schema, length: int, **columns: Any) -> pa.Table:
    import pyarrow as pa

    nulls = {field.name: pa.nulls(length, field.type) for field in schema}
    nulls["bin"] = pa.array([0] * length, pa.int64())
    return pa.table({**nulls, **columns}, schema=schema)


def cluster(matches: pa.Table) -> pa.Table:
    """Forms cohesive clusters: a document is a center unless it matches an earlier center; a member belongs to the first center
    that it matches.

    Args:
        matches: The result of `verify`; matches that do not join documents are ignored. All matches of documents that are
            connected by matches must be in one call.

    Returns:
        One row for each document that is not a center: `doc`, `center`, `similarity`, `facts`, `verified`. Copies belong to the
        center of their leader.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    joined = matches.filter(matches["joins"]).sort_by([("b", "ascending"), ("a", "ascending")])
    length = joined.num_rows
    rows = joined.select(["a", "b", "similarity", "facts", "verified"])
    rows = rows.append_column("part", pa.array([0] * length, pa.int64()))
    rows = rows.append_column("state", pa.array([1] * length, pa.int8()))
    native = _Centers()
    parts = [imported(native.push(batch)) for batch in rows.to_batches(max_chunksize=_ROWS)]
    decided = pa.Table.from_batches([*parts, imported(native.finish())])
    members = decided.filter(pc.equal(decided["state"], 2))
    return members.select(["doc", "center", "similarity", "facts", "verified"]).sort_by("doc")


def _table(data: Any) -> pa.Table:
    import pyarrow as pa

    return data if isinstance(data, pa.Table) else pa.table(data)


def _empty(table: pa.Table) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([], schema=table.schema)


def _concat(parts: list[pa.RecordBatch], empty: Any) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_batches(parts or [empty()])


