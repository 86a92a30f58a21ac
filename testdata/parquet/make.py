"""Writes the sample Parquet files into this directory. Needs pyarrow. Run by hand: `python testdata/parquet/make.py`."""

import datetime
import decimal
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
N = 60


def every(n, value, i):
    """Returns `value`, or None for every n-th row."""
    return None if i % n == n - 1 else value


def table():
    rows = range(N)
    texts = [f"the text of row {i} says \"{i * i}\"\nand no more" for i in rows]
    words = pa.array([every(7, [every(5, f"w{j}", i + j) for j in range(i % 5)], i) for i in rows], pa.list_(pa.string()))
    columns = {
        "id": pa.array([2**63 + i for i in rows], pa.uint64()),
        "text": pa.array(texts, pa.large_string()),
        "title": pa.array([every(3, f"title {i % 4}", i) for i in rows], pa.string()).dictionary_encode(),
        "view": pa.array(texts, pa.string_view()),
        "tokens": pa.array([[f"t{j}" for j in range(i % 4)] for i in rows], pa.list_(pa.string())),
        "words": words,
        "meta": pa.array(
            [every(4, {"host": f"h{i % 3}", "deep": {"lists": [[i], [], [i, i + 1]]}}, i) for i in rows],
            pa.struct([("host", pa.string()), ("deep", pa.struct([("lists", pa.list_(pa.list_(pa.int32())))]))]),
        ),
        "map": pa.array([[("a", i), ("b", None)][: i % 3] for i in rows], pa.map_(pa.string(), pa.int64())),
        "small": pa.array([every(6, i - 30, i) for i in rows], pa.int8()),
        "price": pa.array([decimal.Decimal(i * 37) / 100 for i in rows], pa.decimal128(20, 2)),
        "published_at": pa.array(
            [datetime.datetime(2026, 11, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(hours=i) for i in rows],
            pa.timestamp("us", tz="UTC"),
        ),
        "day": pa.array([datetime.date(2024, 2, 1) + datetime.timedelta(days=i) for i in rows]),
        "yes": pa.array([every(5, i % 2 == 0, i) for i in rows], pa.bool_()),
        "ratio": pa.array([i / 7 for i in rows], pa.float64()),
        "half": pa.array([i / 8 for i in rows], pa.float32()),
        "bytes": pa.array([bytes([i, 255, 0]) for i in rows], pa.binary()),
        "fixed": pa.array([bytes([i] * 4) for i in rows], pa.binary(4)),
        "none": pa.nulls(N),
    }
    return pa.table(columns).replace_schema_metadata({"origin": "testdata/parquet/make.py"})


for compression in ["none", "snappy", "gzip", "zstd", "lz4"]:
    pq.write_table(table(), HERE / f"{compression}.parquet", compression=compression, row_group_size=25)
pq.write_table(
    table(),
    HERE / "v2.parquet",
    compression="zstd",
    version="2.6",
    data_page_version="2.0",
    use_dictionary=False,
    column_encoding={"text": "DELTA_BYTE_ARRAY", "view": "DELTA_LENGTH_BYTE_ARRAY", "id": "DELTA_BINARY_PACKED"},
    data_page_size=512,
    write_batch_size=8,
)
pq.write_table(table().drop_columns(["day"]), HERE / "int96.parquet", use_deprecated_int96_timestamps=True)
