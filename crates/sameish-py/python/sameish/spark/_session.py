"""What a run needs from Spark: checkpoints as Parquet files, and functions over Arrow batches.

Only plain DataFrame operations are used, so that engines with the same interface, such as Sail, can run them.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._errors import SettingError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["Session", "arrow_map", "column", "gathered", "keeps_order", "partition_names", "salted", "sorted_map"]

_Batches = Iterator["pa.RecordBatch"]


class Session:
    """A Spark session with a directory for the intermediate results of one run.

    Each step ends with a checkpoint: its result is written to Parquet files and read from them. The plan of later steps is
    therefore short, however many rounds a step takes, and a lost executor costs only the current step.
    """

    def __init__(self, spark: SparkSession, checkpoint_dir: str | None) -> None:
        self.spark = spark
        self._owned = checkpoint_dir is None
        directory = tempfile.mkdtemp(prefix="sameish-spark-") if checkpoint_dir is None else checkpoint_dir.rstrip("/")
        if checkpoint_dir is None and not _is_local(spark):
            shutil.rmtree(directory, ignore_errors=True)
            raise SettingError(
                "`checkpoint_dir` is missing: pass a directory that all executors can read and write, such as `hdfs:///tmp/sameish`"
            )
        self.directory = directory if self._owned else f"{directory}/sameish-{uuid.uuid4().hex}"
        self._number = 0
        self.keeps_order = keeps_order(spark)

    def checkpoint(self, frame: DataFrame, name: str) -> DataFrame:
        """Writes a result, and returns it as read from its files."""
        self._number += 1
        path = f"{self.directory}/{self._number:03}-{name}"
        frame.write.parquet(path)
        return self.spark.read.schema(frame.schema).parquet(path)

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Deletes the intermediate results if the block raises an exception."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Deletes the intermediate results: through Hadoop's file systems, or locally if Spark offers no access to these."""
        if not _delete_with_hadoop(self.spark, self.directory):
            shutil.rmtree(self.directory.removeprefix("file://"), ignore_errors=True)


def _delete_with_hadoop(spark: SparkSession, directory: str) -> bool:
    """Deletes a directory of any file system that Spark can use. Returns whether that was possible."""
    try:
        jvm: Any = spark._jvm
        path = jvm.org.apache.hadoop.fs.Path(directory)
        path.getFileSystem(spark._jsc.hadoopConfiguration()).delete(path, True)
    except Exception:  # Spark Connect has no JVM, and other engines have no Hadoop.
        return False
    return True


def _is_local(spark: SparkSession) -> bool:
    """Returns whether all executors are on this machine, as far as that is known."""
    try:
        master = spark.conf.get("spark.master", "") or ""
    except Exception:  # Engines other than Spark may not have this setting.
        return False
    return master.startswith("local")


def column(name: str) -> Column:
    """Returns a column by its name, which may contain dots."""
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


def arrow_map(frame: DataFrame, work: Callable[[_Batches], _Batches], schema: Any) -> DataFrame:
    """Applies a function to the Arrow batches of each partition."""
    return frame.mapInArrow(work, schema)


def sorted_map(
    is_kept: bool, frame: DataFrame, order: list[str], work: Callable[[_Batches], _Batches], schema: str
) -> DataFrame:
    """Applies a function to the Arrow batches of each partition, sorted by columns; `-` before a name stands for descending.

    Nulls are first. Spark sorts with limited memory. For an engine that does not pass sorted rows to functions, for which
    `is_kept` is false, each task sorts its partition in memory.
    """
    from pyspark.sql import functions as F

    columns = [F.desc(name[1:]) if name[0] == "-" else F.asc_nulls_first(name) for name in order]
    rows = frame.sortWithinPartitions(*columns)
    return arrow_map(rows, work if is_kept else _sorting(work, order), schema)


def gathered(frame: DataFrame, order: list[str], work: Callable[[_Batches], _Batches], schema: str) -> DataFrame:
    """Applies a function to all rows of a small table in one task, sorted as by `sorted_map`. Spark neither shuffles nor sorts them."""
    return arrow_map(frame.coalesce(1), _sorting(work, order) if order else work, schema)


def _sorting(work: Callable[[_Batches], _Batches], order: list[str]) -> Callable[[_Batches], _Batches]:
    keys = [(name.removeprefix("-"), "descending" if name[0] == "-" else "ascending") for name in order]

    def sort(batches: _Batches) -> _Batches:
        import pyarrow as pa
        import pyarrow.compute as pc

        rows = list(batches)
        if rows:
            table = pa.Table.from_batches(rows)
            places = pc.sort_indices(table, sort_keys=keys, null_placement="at_start")
            yield from work(iter(table.take(places).combine_chunks().to_batches(max_chunksize=1 << 16)))

    return sort


def partition_names(count: int) -> list[int]:
    """Returns the number that stands for each of `count` partitions: Spark's `repartition(count, column)` sends it there.

    Spark distributes rows by a hash (Murmur3), so that the numbers from 0 would share some partitions and leave others empty. Another
    engine may distribute them otherwise, but still sends equal numbers to one partition.
    """
    names: dict[int, int] = {}
    number = 0
    while len(names) < count:
        names.setdefault(_murmur3(number) % count, number)
        number += 1
    return [names[partition] for partition in range(count)]


def _murmur3(number: int) -> int:
    """Returns Spark's hash of an `int`, a signed number of 32 bits."""
    bits = 0xFFFF_FFFF
    mixed = number * 0xCC9E_2D51 & bits
    mixed = (mixed << 15 | mixed >> 17) * 0x1B87_3593 & bits
    found = 42 ^ mixed
    found = ((found << 13 | found >> 19) & bits) * 5 + 0xE654_6B64 & bits
    found ^= 4
    for shift, factor in ((16, 0x85EB_CA6B), (13, 0xC2B2_AE35), (16, 1)):
        found = (found ^ found >> shift) * factor & bits
    return found - (found >> 31 << 32)


# Rows and partitions of the question whether an engine keeps the order of rows.
_ORDER_ROWS = 50_000
_ORDER_PARTITIONS = 3


def keeps_order(spark: SparkSession) -> bool:
    """Returns whether functions receive sorted rows. Spark does; other engines behind Spark Connect are asked."""
    if "connect" not in type(spark).__module__:
        return True

    def is_sorted(batches: _Batches) -> _Batches:
        import pyarrow as pa
        import pyarrow.compute as pc

        last, ordered = -1, True
        for batch in batches:
            ids = batch.column("id")
            if len(ids):
                steps = pc.all(pc.greater(ids[1:], ids[:-1])).as_py()
                ordered = ordered and steps is not False and ids[0].as_py() > last
                last = ids[-1].as_py()
        yield pa.record_batch([pa.array([ordered])], names=["ordered"])

    backwards = spark.range(_ORDER_ROWS).selectExpr(f"{_ORDER_ROWS - 1} - id as id")
    rows = backwards.repartition(_ORDER_PARTITIONS, "id").sortWithinPartitions("id")
    return all(row["ordered"] for row in arrow_map(rows, is_sorted, "ordered boolean").collect())


def salted(number: int, salts: int) -> Any:
    """Returns an expression that spreads rows over `salts` values by their document number."""
    from pyspark.sql import functions as F

    return F.pmod(F.xxhash64(F.lit(number), F.col("doc")), F.lit(salts))
