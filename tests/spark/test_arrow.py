"""The steps over Arrow tables, and the example for Dask."""
import json
import runpy
import subprocess
import sys
import warnings

import corpora
import pyarrow as pa
import pytest
from answers import ROOT, CommandLine

import sameish
from sameish import arrow


@pytest.mark.parametrize("name", ["news", "templates_and_chains", "equal"])
def test_the_example_keeps_the_documents_of_the_command_line(tmp_path, name):
    documents = getattr(corpora, name)()
    expected = CommandLine(documents, tmp_path).dedup()
    paths = []
    for part in range(3):
        paths.append(tmp_path / f"part-{part}.jsonl")
        size = -(-len(documents) // 3)
        paths[-1].write_text("".join(json.dumps(document) + "\n" for document in documents[part * size:(part + 1) * size]))
    command = [sys.executable, ROOT / "examples" / "dask_dedup.py", tmp_path / "out.jsonl", *paths]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-2000:]
    kept = sorted(json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines())
    assert kept == expected["kept"] and len(kept) < len(documents)


def test_a_task_of_the_example_has_the_texts_of_its_candidates_only(tmp_path):
    example = runpy.run_path(str(ROOT / "examples" / "dask_dedup.py"))
    path = tmp_path / "part.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in corpora.news(50)))
    pairs = [pa.table({"a": [100, 102], "b": [101, 149]}), pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())})]
    found = example["select"](path, 100, pairs).compute()
    assert [part["doc"].to_pylist() for part in found] == [[100, 101, 102, 149], []]


def test_parts_are_signed_alike():
    texts = [document["text"] for document in corpora.news(100)]
    table = pa.table({"doc": range(100), "text": texts})
    parts = [arrow.sign(table.slice(start, 7)) for start in range(0, 100, 7)]
    assert pa.concat_tables(parts).equals(arrow.sign(table))


def test_wrong_tables_are_errors():
    table = pa.table({"doc": [1], "text": ["a b c"]})
    with pytest.raises(sameish.SettingError, match="unknown column `body`"):
        arrow.sign(table, text="body")
    with pytest.raises(sameish.SettingError):
        arrow.sign(table, preset="sdr")
    with pytest.raises(sameish.WrongType, match="column `key` is of type"):
        rows = arrow.bucket_rows(arrow.sign(table))
        arrow.candidates(rows.set_column(0, "key", pa.array(["7"] * rows.num_rows)))


def test_pairs_beyond_the_limit_are_reported():
    documents = corpora.one_bucket(60)
    signed = arrow.sign(pa.table({"doc": range(60), "text": [document["text"] for document in documents]}))
    rows = arrow.bucket_rows(signed)
    with pytest.warns(UserWarning, match="pairs in .* buckets of more than 2 documents were left out"):
        pairs = arrow.candidates(rows, limit=2)
    counts = {name.decode(): int(value) for name, value in pairs.schema.metadata.items()}
    sizes = rows.group_by("key").aggregate([("doc", "count")])["doc_count"].to_pylist()
    assert counts == {"capped": sum(size > 3 for size in sizes), "omitted": sum((size - 2) * (size - 3) // 2 for size in sizes if size > 2)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        every = arrow.candidates(rows)
    assert every.schema.metadata == {b"capped": b"0", b"omitted": b"0"} and every.num_rows > pairs.num_rows


def test_docstring_examples_run():
    import doctest

    failed, attempted = doctest.testmod(arrow)
    assert failed == 0 and attempted > 3
