"""dedup, pairs and cluster give the same result for lists, columns, tables and Parquet files of other libraries."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import sameish

TEXTS = [
    "The council voted on Monday to close the old bridge over the river for repairs until next spring.",
    "Markets were calm on Friday while traders waited for figures about jobs in the north.",
    "The council voted on Monday to close the old bridge over the river for repairs until next spring!",
    "Größe und 東京 sind Wörter, die nicht in ASCII stehen, und das ist gut so für alle.",
    "",
    "The council voted on Monday to close the old bridge over the river for repairs until next summer.",
]
IDS = ["a", "b", "c", "d", "e", "f"]
DATES = ["2024-01-01", "2024-01-02", "2024-03-01", None, "2024-01-05", "2024-02-01T12:00:00Z"]
OPTIONS = {"threshold": 0.7}


def tables():
    table = pa.table({"body": TEXTS, "key": IDS, "when": DATES, "other": [[i] for i in range(6)]})
    yield "pyarrow", table
    yield "large", table.set_column(0, "body", pa.array(TEXTS, pa.large_utf8()))
    yield "views", table.set_column(0, "body", pa.array(TEXTS, pa.string_view()))
    yield "chunks", pa.concat_tables([table.slice(0, 2), table.slice(2, 1), table.slice(3)])
    yield "batch", table.to_batches()[0]
    yield "reader", pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2))
    yield "dictionary", table.set_column(0, "body", pa.array(TEXTS).dictionary_encode()).set_column(1, "key", pa.array(IDS).dictionary_encode())
    yield "bytes", table.set_column(0, "body", pa.array([text.encode() for text in TEXTS]))
    yield "pandas categories", pd.DataFrame({"body": pd.Categorical(TEXTS), "key": pd.Categorical(IDS), "when": DATES})
    yield "polars categories", pl.DataFrame({"body": pl.Series(TEXTS, dtype=pl.Categorical), "key": pl.Series(IDS, dtype=pl.Enum(IDS)), "when": DATES})
    yield "lazy", pl.LazyFrame({"body": TEXTS, "key": IDS, "when": DATES})
    yield "pandas", pd.DataFrame({"body": TEXTS, "key": IDS, "when": DATES, "other": [object()] * 6})
    yield "polars", pl.DataFrame({"body": TEXTS, "key": IDS, "when": DATES, "other": [[1]] * 6})


@pytest.mark.parametrize("name", [name for name, _ in tables()])
def test_accepts_tables(name):
    def table():
        return dict(tables())[name]

    found = sameish.dedup(table(), text="body", id="key", **OPTIONS)
    assert found.kept.tolist() == [0, 1, 3, 4] and found.removed.tolist() == [2, 5]
    assert found.centers.tolist() == [0, 1, 0, 3, 4, 0]
    assert [cluster.members for cluster in found.clusters] == [["a", "c", "f"]]
    assert [(p.a, p.b) for p in sameish.pairs(table(), text="body", id="key", **OPTIONS)] == [
        ("a", "c"), ("a", "f"), ("c", "f"),
    ]
    newest = sameish.dedup(table(), text="body", id="key", date="when", keep="newest", **OPTIONS)
    assert newest.removed.tolist() == [0, 5]
    with pytest.raises(sameish.SettingError, match="unknown column `missing`: the columns are"):
        sameish.dedup(table(), text="missing")


@pytest.mark.parametrize(
    "column",
    [
        TEXTS,
        tuple(TEXTS),
        (text for text in TEXTS),
        pa.array(TEXTS),
        pa.array(TEXTS, pa.large_utf8()),
        pa.array(TEXTS, pa.string_view()),
        pa.chunked_array([TEXTS[:2], TEXTS[2:]]),
        pa.array(["x", *TEXTS, "y"]).slice(1, 6),
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype=object),
        pl.Series(TEXTS),
        np.array(TEXTS, dtype=object),
    ],
    ids=lambda column: type(column).__module__.split(".")[0] + "." + type(column).__name__,
)
def test_accepts_columns(column):
    found = sameish.dedup(column, **OPTIONS)
    assert found.kept.tolist() == [0, 1, 3, 4]
    # A generator is exhausted, and pyarrow cannot take rows of string views.
    if not hasattr(column, "__next__") and getattr(column, "type", None) != pa.string_view():
        assert list(found.take(column)) == [TEXTS[i] for i in (0, 1, 3, 4)] or [
            str(value) for value in found.take(column)
        ] == [TEXTS[i] for i in (0, 1, 3, 4)]
        assert (sameish.MinHasher().sketch_many(column) == sameish.MinHasher().sketch_many(TEXTS)).all()


def test_take_returns_the_type_of_the_data():
    for name, table in tables():
        if name in ("reader", "lazy"):
            continue
        found = sameish.dedup(table, text="body", **OPTIONS)
        taken = found.take(table)
        assert type(taken) is type(table) and len(taken) == 4
    with pytest.raises(sameish.SettingError, match="must have the 6"):
        found.take(["too", "few"])


def test_nulls_are_empty_texts():
    column = pa.array([TEXTS[0], None, TEXTS[2], None])
    assert sameish.dedup(column, **OPTIONS).kept.tolist() == [0, 1, 3]
    assert sameish.SimHasher().sketch_many(column)[1] == 0
    rows = sameish.MinHasher().sketch_many(column)
    assert (rows[1] == 2**32 - 1).all() and not (rows[0] == 2**32 - 1).all()
    assert sameish.dedup(pa.array([None, None], pa.null())).kept.tolist() == [0, 1]


def test_accepts_empty_data():
    empty = pa.table({"text": pa.array([], pa.utf8())})
    for data in ([], pa.array([], pa.utf8()), empty, pd.DataFrame({"text": []}, dtype=str), pl.DataFrame({"text": []}, schema={"text": pl.String})):
        found = sameish.dedup(data)
        assert len(found) == 0 and found.kept.tolist() == [] and found.summary["largest_cluster"] == 0
        assert sameish.pairs(data) == [] and sameish.cluster(data) == []
    assert sameish.MinHasher(16).sketch_many([]).shape == (0, 16)


def test_accepts_tables_without_rows():
    empty = pa.table({"text": pa.array([], pa.utf8()), "id": pa.array([], pa.int64())})
    for data in (empty, empty.to_pandas(), pl.from_arrow(empty), empty.to_reader()):
        assert sameish.dedup(data, id="id").kept.tolist() == []
    nothing = pa.array([None, None], pa.dictionary(pa.int32(), pa.utf8()))
    assert sameish.dedup(nothing).kept.tolist() == [0, 1]


def test_accepts_pandas_without_pyarrow():
    """Data frames of pandas have Arrow methods that fail without pyarrow."""
    code = """
        import sys
        sys.modules["pyarrow"] = None
        import pandas as pd, sameish
        texts = ["the old bridge over the river is closed", None, "the old bridge over the river is closed"]
        frame = pd.DataFrame({"text": texts, "id": [7, 8, 9], "when": pd.to_datetime(["2024-01-01", None, "2024-01-02"])})
        assert sameish.dedup(frame, id="id").kept.tolist() == [0, 1]
        assert sameish.dedup(frame["text"]).kept.tolist() == [0, 1]
        assert [(p.a, p.b) for p in sameish.pairs(frame, id="id")] == [(7, 9)]
        assert sameish.dedup(frame, date="when", keep="newest").kept.tolist() == [1, 2]
        assert sameish.dedup(frame).take(frame)["id"].tolist() == [7, 8]
        engine = sameish.Engine()
        engine.add_many(frame["id"], frame["text"], published_at=frame["when"])
        assert len(engine) == 3
        try:
            sameish.dedup(pd.concat([frame["text"], frame["text"]], axis=1))
            raise SystemExit("two columns of one name")
        except sameish.SettingError:
            pass
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_take_accepts_every_type():
    table = dict(tables())["pyarrow"].drop_columns(["other"])
    views = table.set_column(0, "body", pa.array(TEXTS, pa.string_view()))
    found = sameish.dedup(table, text="body", **OPTIONS)
    for data in (table, views, pl.from_arrow(table).lazy()):
        kept = sameish.dedup(data, text="body", **OPTIONS).take(data)
        assert list(kept["key"].to_pylist() if hasattr(kept["key"], "to_pylist") else kept["key"]) == ["a", "b", "d", "e"]
    for column in (pa.array(TEXTS, pa.string_view()), pa.chunked_array([TEXTS[:2], TEXTS[2:]], pa.string_view())):
        assert found.take(column).to_pylist() == [TEXTS[i] for i in (0, 1, 3, 4)]
    assert found.take(tuple(TEXTS)) == tuple(TEXTS[i] for i in (0, 1, 3, 4))


def test_unusual_columns():
    unique = [f"{i} {text}" for i, text in enumerate(TEXTS)]
    for frame in (pd.DataFrame({"text": unique}), pl.DataFrame({"text": unique}), pa.table({"text": unique})):
        assert len(sameish.dedup(frame, id="text")) == 6
    numbers = pa.array([7, 8, 9, 10, 11, 12]).dictionary_encode()
    assert sameish.pairs(TEXTS, id=numbers, **OPTIONS)[0].a == 7
    assert sameish.pairs(TEXTS, id=pd.Series([7, 8, 9, 10, 11, 12]).astype("category"), **OPTIONS)[0].a == 7
    for ids in (pa.nulls(6), pa.array(["a", None, "b", "c", "d", "e"]).dictionary_encode()):
        with pytest.raises(sameish.WrongType, match="id at position . is null"):
            sameish.pairs(TEXTS, id=ids)
    rows = pa.StructArray.from_arrays([pa.array(["a", "b"])], ["text"], mask=pa.array([False, True]))
    with pytest.raises(sameish.WrongType, match="has a null row"):
        sameish.dedup(rows)
    batch = pa.record_batch({"text": pa.array(TEXTS, pa.string_view()), "other": [[{"a": i}] for i in range(6)]})
    assert sameish.dedup(batch, **OPTIONS).take(batch)["other"].to_pylist() == [[{"a": i}] for i in (0, 1, 3, 4)]
    with pytest.raises(sameish.WrongType, match="cannot take rows from RecordBatchReader"):
        sameish.dedup(TEXTS).take(pa.table({"text": TEXTS}).to_reader())


def test_errors_name_the_position_in_the_data():
    column = pa.array([b"long enough to come first when sorted", b"\xff", b"short"])
    for keep in ("first", "longest"):
        with pytest.raises(sameish.TextError, match="item at position 1 is not valid UTF-8"):
            sameish.dedup(column, keep=keep)


def test_rejects_columns_of_other_types():
    for column in (pa.array([1, 2]), pa.chunked_array([], pa.int64()), pa.array([1, 1]).dictionary_encode()):
        with pytest.raises(sameish.WrongType, match="must be strings or bytes"):
            sameish.MinHasher().sketch_many(column)
    with pytest.raises(sameish.WrongType, match="is a table"):
        sameish.MinHasher().sketch_many(pa.table({"text": TEXTS}))
    with pytest.raises(sameish.WrongType, match="is a column name, but"):
        sameish.dedup(TEXTS, id="key")
    with pytest.raises(sameish.SettingError, match="lengths must be equal"):
        sameish.dedup(TEXTS, id=[1, 2])
    with pytest.raises(sameish.SettingError, match="at positions 0 and 1"):
        sameish.dedup(["a", "b"], id=[1, 1])


def test_accepts_ids_and_dates_of_every_type():
    for ids in ([1, -5, "x"], pa.array([3, 4, 5], pa.int8()), pa.array([2**64 - 1, 0, 1], pa.uint64()), pl.Series(["p", "q", "r"])):
        clusters = sameish.cluster(["one two three four"] * 3, id=ids)
        expected = ids if isinstance(ids, list) else ids.to_pylist() if hasattr(ids, "to_pylist") else ids.to_list()
        assert clusters[0].members == expected
    moments = [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-03"), pd.Timestamp("2024-01-02")]
    for dates in (
        ["2024-01-01", "2024-01-03", "2024-01-02"],
        pa.array(moments, pa.timestamp("s")), pa.array(moments, pa.timestamp("ms")), pa.array(moments, pa.timestamp("us")),
        pa.array(moments, pa.timestamp("ns", "UTC")), pa.array(moments, pa.date32()), pl.Series(moments),
    ):
        found = sameish.dedup(["one two three four"] * 3, date=dates, keep="newest")
        assert found.kept.tolist() == [1]
        assert sameish.cluster(["one two three four"] * 3, preset="wire", date=dates)[0].members == [1, 2, 0]
    with pytest.raises(sameish.SettingError, match="date at position 0"):
        sameish.dedup(["a"], date=["yesterday"])
    with pytest.raises(sameish.SettingError, match="pass `date`"):
        sameish.dedup(["a"], keep="newest")


def test_keeps_the_longest():
    texts = [TEXTS[0], TEXTS[0] + " More was said later that day.", TEXTS[1]]
    assert sameish.dedup(texts, keep="longest", **OPTIONS).kept.tolist() == [1, 2]


WORD = st.sampled_from("storm hits the coast bridge closed market opened 42 now".split())


@given(st.lists(st.lists(WORD, max_size=10).map(" ".join), max_size=20), st.sampled_from(["wire", "headlines", "copies", "articles", "web"]))
@cases(200)
def test_results_equal_those_of_an_engine_for_any_number_of_threads(texts, preset):
    engine = sameish.Engine(preset)
    engine.add_many(range(len(texts)), texts)
    for threads in (1, 3):
        assert sameish.pairs(texts, preset=preset, threads=threads) == engine.pairs()
        assert sameish.cluster(texts, preset=preset, threads=threads) == engine.clusters()
        found = sameish.dedup(texts, preset=preset, threads=threads)
        rows = set(range(len(texts)))
        assert set(found.kept.tolist()) | set(found.removed.tolist()) == rows and found.mask.sum() == len(found.kept)
        # Every removed document matches the kept one of its cluster.
        matched = {(p.a, p.b) for p in engine.pairs()}
        for row in found.removed.tolist():
            center = int(found.centers[row])
            assert center in found.kept.tolist() and (center, row) in matched


def test_arrow_columns_are_not_copied():
    """Sketching a column of 64 MB takes less than 32 MB more. A new process is used, because the peak never decreases."""
    code = """
        import pyarrow as pa, resource, sameish
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        hasher = sameish.MinHasher(16)
        column = pa.concat_arrays([pa.array(["word " * 200_000])] * 64)
        before = peak()
        hasher.sketch_many(column, threads=1)
        print(column.nbytes, peak() - before)
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    size, growth = map(int, out.stdout.split())
    assert size >= 64_000_000 and growth < 32_000_000


def test_reads_parquet_files_and_directories(tmp_path):
    import pyarrow.parquet as pq

    table = dict(tables())["pyarrow"]
    one, directory = tmp_path / "one.parquet", tmp_path / "many"
    pq.write_table(table, one)
    directory.mkdir()
    pq.write_table(table.slice(0, 4), directory / "0.parquet")
    pq.write_table(table.slice(4), directory / "1.parquet")
    for path in (one, str(one), directory):
        found = sameish.dedup(path, text="body", id="key", date="when", **OPTIONS)
        assert found.kept.tolist() == [0, 1, 3, 4] and found.clusters[0].members == ["a", "c", "f"]
    with pytest.warns(UserWarning, match="no `text` field; using `body`"):
        sameish.dedup(one)
    with pytest.raises(FileNotFoundError):
        sameish.dedup(tmp_path / "missing.parquet")
    one.write_bytes(one.read_bytes()[:-20])
    with pytest.raises(sameish.InputError, match="unreadable Parquet file"):
        sameish.dedup(one)
    with pytest.raises(sameish.WrongType, match="single str"):
        sameish.dedup("just a text")
