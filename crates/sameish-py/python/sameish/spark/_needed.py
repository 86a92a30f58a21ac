"""Which rows of the input are read again? A join that moves only the texts that are needed.

A small table of needed rows is sent to every executor. For a large one, a filter of at most 48 MB is sent instead: it rejects
rows that are certainly not needed before Spark moves them, so that at most about one percent of the other texts is moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .._sameish import _Needed
from .._steps import imported
from ._session import arrow_map

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["matching", "without"]

# Number of rows for which the filter has 12 bits each. For more rows, it rejects fewer.
_MOST_ROWS = 32_000_000
# Parts of the filter, each of which one task builds.
_PARTS = 16
_HASH = "__sameish_hash"

_Work = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def matching(rows: DataFrame, needed: DataFrame, keys: list[str], number: int, limit: int) -> DataFrame:
    """Joins rows with the `number` needed ones by keys, which are sent to every executor if there are at most `limit`."""
    from pyspark.sql import functions as F

    if number <= limit:
        return rows.join(F.broadcast(needed), keys)
    return _filtered(rows, keys, _filter(needed, keys, number), True).join(needed, keys)


def without(rows: DataFrame, removed: DataFrame, keys: list[str], number: int, limit: int) -> DataFrame:
    """Returns the rows whose keys are not among `removed`. Other rows are not moved."""
    from pyspark.sql import functions as F

    if number <= limit:
        return rows.join(F.broadcast(removed), keys, "left_anti")
    parts = _filter(removed, keys, number)
    doubtful = _filtered(rows, keys, parts, True).join(removed, keys, "left_anti")
    return _filtered(rows, keys, parts, False).unionByName(doubtful)


def _filter(needed: DataFrame, keys: list[str], number: int) -> list[bytes]:
    """Builds the filter of some rows."""
    from pyspark.sql import functions as F

    size = min(number, _MOST_ROWS)
    hashes = needed.select(F.xxhash64(*keys).alias("hash")).withColumn("part", F.pmod("hash", F.lit(_PARTS)).cast("int"))

    def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        filters = _Needed(size, _PARTS)
        found: set[int] = set()
        for batch in batches:
            filters.add(batch)
            found.update(batch.column("part").unique().to_pylist())
        parts = [filters.part(part) for part in sorted(found)]
        yield pa.record_batch([pa.array(sorted(found), pa.int32()), pa.array(parts, pa.binary())], names=["part", "bits"])

    built = arrow_map(hashes.repartition(_PARTS, "part"), build, "part int, bits binary").collect()
    empty = _Needed(size, _PARTS).part(0)
    bits = {row["part"]: bytes(row["bits"]) for row in built}
    return [bits.get(part, empty) for part in range(_PARTS)]


def _filtered(rows: DataFrame, keys: list[str], parts: list[bytes], wanted: bool) -> DataFrame:
    """Returns the rows that the filter passes, or those that it rejects."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import LongType, StructField, StructType

    hashed = rows.withColumn(_HASH, F.xxhash64(*keys))
    fields = [*rows.schema.fields, StructField(_HASH, LongType())]
    return arrow_map(hashed, _filtering(parts, wanted), StructType(fields)).drop(_HASH)


def _filtering(parts: list[bytes], wanted: bool) -> _Work:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        filters: Any = _Needed.from_parts(parts)
        for batch in batches:
            hashes = pa.record_batch([batch.column(_HASH)], names=["hash"])
            passed = imported(filters.contains(hashes)).column("needed")
            yield batch.filter(passed if wanted else pc.invert(passed))

    return work
