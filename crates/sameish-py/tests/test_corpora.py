"""dedup, pairs and cluster over files and over the data of other libraries, as users call them."""

import gzip
import inspect
import json
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_tables import DATES, IDS, OPTIONS, TEXTS

import sameish

FUNCTIONS = (sameish.dedup, sameish.pairs, sameish.cluster)
RECORDS = [{"key": key, "body": text, "when": date} for key, text, date in zip(IDS, TEXTS, DATES)]
FIELDS = {"text": "body", "id": "key", "date": "when", **OPTIONS}


def write_jsonl(path, records=RECORDS):
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def files(directory):
    """Yields files of every format and compression with the same documents."""
    jsonl = write_jsonl(directory / "corpus.jsonl")
    yield jsonl
    table = pd.DataFrame(RECORDS)
    table.to_csv(directory / "corpus.csv", index=False)
    yield directory / "corpus.csv"
    table.to_csv(directory / "corpus.tsv", index=False, sep="\t")
    yield directory / "corpus.tsv"
    pq.write_table(pa.Table.from_pandas(table), directory / "corpus.parquet")
    yield directory / "corpus.parquet"
    (directory / "corpus.jsonl.gz").write_bytes(gzip.compress(jsonl.read_bytes()))
    yield directory / "corpus.jsonl.gz"
    with pa.CompressedOutputStream(str(directory / "corpus.csv.zst"), "zstd") as out:
        out.write((directory / "corpus.csv").read_bytes())
    yield directory / "corpus.csv.zst"


def test_files_of_every_format_give_the_result_of_lists(tmp_path):
    expected = sameish.dedup(TEXTS, id=IDS, date=DATES, keep="newest", **OPTIONS)
    assert expected.kept.tolist() == [1, 2, 3, 4]
    for path in files(tmp_path):
        found = sameish.dedup(path, keep="newest", **FIELDS)
        assert found.centers.tolist() == expected.centers.tolist(), path
        assert found.clusters == expected.clusters and found.summary == expected.summary, path
        assert sameish.pairs(path, **FIELDS) == sameish.pairs(TEXTS, id=IDS, date=DATES, **OPTIONS), path
        assert sameish.cluster(path, **FIELDS) == sameish.cluster(TEXTS, id=IDS, **OPTIONS), path


def test_text_files_have_one_document_per_line(tmp_path):
    path, texts = tmp_path / "corpus.txt", [text for text in TEXTS if text]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    assert sameish.dedup(path, **OPTIONS).kept.tolist() == sameish.dedup(texts, **OPTIONS).kept.tolist()
    path.rename(tmp_path / "corpus")
    assert len(sameish.dedup(tmp_path / "corpus", format="text")) == len(texts)


def test_lists_of_paths_patterns_and_directories_are_one_corpus(tmp_path, monkeypatch):
    first, second = write_jsonl(tmp_path / "1.jsonl", RECORDS[:2]), write_jsonl(tmp_path / "2.jsonl", RECORDS[2:])
    monkeypatch.chdir(tmp_path)
    every = [[first, second], (first, second), "*.jsonl", str(tmp_path / "?.jsonl"), tmp_path, str(tmp_path), Path("*.jsonl")]
    for paths in every:
        found = sameish.dedup(paths, **FIELDS)
        assert found.kept.tolist() == [0, 1, 3, 4] and found.kept_ids == ["a", "b", "d", "e"], paths
        assert found.removed_ids == ["c", "f"] and len(found) == 6


def test_texts_that_look_like_paths_open_no_file(tmp_path):
    path = write_jsonl(tmp_path / "1.jsonl", RECORDS)
    for names in ([str(path)], [str(path), "missing.jsonl"], ["missing.jsonl", "other.csv"]):
        for function in FUNCTIONS:
            with pytest.raises(sameish.WrongType, match="pathlib.Path"):
                function(names)
    assert len(sameish.dedup([str(path), "a text"])) == 2
    assert len(sameish.dedup(np.array([str(path), "other.csv"]))) == 2


def test_rows_identify_records_without_ids(tmp_path):
    path = write_jsonl(tmp_path / "corpus.jsonl", [{"id": 7, **record} for record in RECORDS])
    assert [(p.a, p.b) for p in sameish.pairs(path, "body", **OPTIONS)] == [(0, 2), (0, 5), (2, 5)]
    assert sameish.dedup(path, "body", **OPTIONS).clusters[0].members == [0, 2, 5]
    assert sameish.dedup(path, "body", **OPTIONS).kept_ids == [0, 1, 3, 4]


def test_files_need_no_other_library(tmp_path):
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "corpus.parquet")
    code = """
        import sys
        for name in ("pyarrow", "polars", "pandas"):
            sys.modules[name] = None
        import sameish
        print(sameish.dedup(sys.argv[1], threshold=0.7, output=sys.argv[2]).kept.tolist())
    """
    run = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "corpus.parquet"), str(tmp_path / "kept.parquet")]
    out = subprocess.run(run, capture_output=True, text=True, check=True)
    assert out.stdout == "[0, 1, 3, 4]\n"
    assert pq.read_table(tmp_path / "kept.parquet")["text"].to_pylist() == [TEXTS[i] for i in (0, 1, 3, 4)]


def test_output_has_the_kept_records_byte_for_byte(tmp_path):
    for path in files(tmp_path):
        out = tmp_path / "out" / path.name
        out.parent.mkdir(exist_ok=True)
        found = sameish.dedup(path, output=out, **FIELDS)
        assert sameish.dedup(out, **FIELDS).kept_ids == found.kept_ids == ["a", "b", "d", "e"]
    lines = (tmp_path / "corpus.jsonl").read_bytes().splitlines(keepends=True)
    assert (tmp_path / "out" / "corpus.jsonl").read_bytes() == b"".join(lines[i] for i in (0, 1, 3, 4))
    with pytest.raises(FileExistsError, match="overwrite=True") as caught:
        sameish.dedup(path, output=out, **FIELDS)
    assert caught.value.filename == str(out)
    sameish.dedup(path, output=out, overwrite=True, **FIELDS)


def test_output_directory_gets_one_file_per_input(tmp_path):
    first, second = write_jsonl(tmp_path / "1.jsonl", RECORDS[:2]), write_jsonl(tmp_path / "2.jsonl", RECORDS[2:])
    sameish.dedup([first, second], output=f"{tmp_path}/kept/", **FIELDS)
    kept = [path.read_bytes().count(b"\n") for path in sorted((tmp_path / "kept").iterdir())]
    assert kept == [2, 2]
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "3.parquet")
    with pytest.raises(sameish.SettingError, match="pass a directory as `output`"):
        sameish.dedup([first, tmp_path / "3.parquet"], output=tmp_path / "one.jsonl")


def test_output_is_not_written_if_too_much_would_be_removed(tmp_path):
    path, out = write_jsonl(tmp_path / "same.jsonl", [RECORDS[0]] * 20), tmp_path / "kept.jsonl"
    with pytest.raises(sameish.LimitError, match="95.0 % of the documents .* `max_removed`"):
        sameish.dedup(path, "body", output=out)
    assert not out.exists()
    assert len(sameish.dedup(path, "body").removed) == 19
    sameish.dedup(path, "body", output=out, max_removed=1)
    assert out.read_bytes().count(b"\n") == 1
    for wrong in (-0.1, 1.5, float("nan")):
        with pytest.raises(sameish.SettingError, match="`max_removed`"):
            sameish.dedup(path, "body", output=out, max_removed=wrong)


def test_an_open_file_is_refused(tmp_path):
    path = write_jsonl(tmp_path / "corpus.jsonl")
    for call in FUNCTIONS:
        with path.open() as file, pytest.raises(sameish.WrongType, match="is an open file.*pass its path"):
            call(file)


def test_delimiter_sets_the_separator_of_tables(tmp_path):
    path = tmp_path / "corpus.csv"
    path.write_text("".join(f"{id};{text}\n" for id, text in [("id", "text"), *enumerate(TEXTS)]))
    expected = sameish.dedup(TEXTS, **OPTIONS)
    for call in (sameish.dedup, sameish.pairs, sameish.cluster):
        with pytest.raises(sameish.InputError, match='set the separator with `delimiter`, as in `delimiter=";"`'):
            call(path, **OPTIONS)
        with pytest.raises(sameish.SettingError, match="`delimiter` is `;;`: must be one ASCII character"):
            call(path, delimiter=";;", **OPTIONS)
        with pytest.raises(sameish.SettingError, match="`delimiter` is that of files"):
            call(TEXTS, delimiter=";", **OPTIONS)
    assert sameish.dedup(path, delimiter=";", **OPTIONS).kept.tolist() == expected.kept.tolist()
    assert len(sameish.pairs(path, delimiter=";", **OPTIONS)) == len(sameish.pairs(TEXTS, **OPTIONS))
    assert len(sameish.cluster(path, delimiter=";", **OPTIONS)) == len(sameish.cluster(TEXTS, **OPTIONS))


def test_output_must_fit_the_data(tmp_path):
    path = write_jsonl(tmp_path / "corpus.jsonl")
    with pytest.raises(sameish.SettingError, match="use `take`"):
        sameish.dedup(TEXTS, output=tmp_path / "kept.jsonl")
    with pytest.raises(sameish.SettingError, match="`output` is `-`, but records are written to files only"):
        sameish.dedup(path, output="-", **FIELDS)
    with pytest.raises(sameish.SettingError, match="is also the input"):
        sameish.dedup(path, output=path, overwrite=True, **FIELDS)
    with pytest.raises(FileNotFoundError, match="directory does not exist"):
        sameish.dedup(path, output=tmp_path / "none" / "kept.jsonl", **FIELDS)
    with pytest.raises(sameish.SettingError, match="pass `output=` to `dedup`"):
        sameish.dedup(path, **FIELDS).take(path)


def test_invalid_records_fail_or_are_left_out(tmp_path):
    path = write_jsonl(tmp_path / "corpus.jsonl")
    path.write_text(path.read_text().replace("\n", '\n{"key": 1\n', 1))
    for function in FUNCTIONS:
        with pytest.raises(sameish.RecordError, match=r'corpus.jsonl, line 2, .*on_bad="skip"'):
            function(path, **FIELDS)
    found = sameish.dedup(path, on_bad="skip", **FIELDS)
    assert found.kept.tolist() == [0, 2, 4, 5] and found.removed.tolist() == [3, 6] and found.unused.tolist() == [1]
    assert found.summary["rejected"] == 1 and found.summary["documents"] == 6 and len(found) == 7
    assert found.kept_ids == ["a", "b", "d", "e"] and pickle.loads(pickle.dumps(found)).clusters == found.clusters
    write_jsonl(path, [*RECORDS[:2], {**RECORDS[1], "key": "a"}])
    with pytest.raises(sameish.RecordError, match="duplicate id `a`.*or omit `id`"):
        sameish.dedup(path, **FIELDS)
    write_jsonl(path, [*RECORDS[:2], RECORDS[1]])
    assert sameish.dedup(path, **FIELDS).unused.tolist() == [2]


def problems(directory):
    """Yields files that cannot be used, with the exception and a part of its message."""
    (directory / "array.json").write_text("[1, 2]")
    yield "array.json", sameish.InputError, 'format="text"'
    (directory / "table.csv").write_text("a,b\n1,2\n")
    yield "table.csv", sameish.InputError, "the columns are `a`, `b`; name the text field with `text`"
    pq.write_table(pa.table({"a": [1]}), directory / "table.parquet")
    yield "table.parquet", sameish.InputError, "with `text`"
    (directory / "short.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a"}\n' * 1000)[:-9])
    yield "short.jsonl.gz", sameish.InputError, "short.jsonl.gz"
    (directory / "latin.jsonl").write_bytes(b'{"text": "caf\xe9"}\n')
    yield "latin.jsonl", sameish.RecordError, "lossy=True"
    (directory / "other.jsonl").write_text('{"words": "a"}\n')
    yield "other.jsonl", sameish.InputError, "name the text field with `text`"
    (directory / "bomb.jsonl.gz").write_bytes(gzip.compress(b'{"text": "' + b"a" * (70 << 20) + b'"}\n'))
    yield "bomb.jsonl.gz", sameish.LimitError, "decompress the file"
    yield "missing.jsonl", FileNotFoundError, "missing.jsonl"
    yield "*.none.jsonl", FileNotFoundError, "matches no file"


def test_the_text_of_files_is_in_the_first_known_field(tmp_path):
    texts = ["the old stone bridge is closed", "the new bridge over the river is open"]
    records = [{"title": "same title", "body": text} for text in (texts[0], texts[1], texts[0])]
    path = write_jsonl(tmp_path / "body.jsonl", records)
    with pytest.warns(UserWarning, match="^no `text` field; using `body`$"):
        assert sameish.dedup(path).kept.tolist() == [0, 1]
    output = tmp_path / "kept.csv"
    with pytest.raises(sameish.SettingError, match="has the suffix of CSV, but .* copied as JSONL"):
        sameish.dedup(path, "body", output=output)
    bad = write_jsonl(tmp_path / "bad.jsonl", [{"body": 7}, {"body": None}])
    with pytest.raises(sameish.InputError, match="all 2 records were rejected"):
        sameish.dedup(bad, "body", output=tmp_path / "none.jsonl", on_bad="skip")
    assert not output.exists() and not (tmp_path / "none.jsonl").exists()


def test_messages_about_files_name_parameters_and_not_flags(tmp_path):
    for name, exception, part in problems(tmp_path):
        with pytest.raises(exception) as caught:
            sameish.dedup(tmp_path / name)
        assert part in str(caught.value) and "--" not in str(caught.value), caught.value
    path = write_jsonl(tmp_path / "corpus.jsonl")
    with pytest.raises(sameish.SettingError, match="no field `none`; the records have .*; change `id`"):
        sameish.dedup(path, "body", id="none")
    with pytest.raises(sameish.SettingError, match="no field `title`; the records have `text`; change `text`"):
        sameish.dedup(write_jsonl(tmp_path / "named.jsonl", [{"text": "a"}]), "title")
    with pytest.raises(sameish.SettingError, match="no field `none`; the records have .*; change `date`"):
        sameish.dedup(path, "body", date="none", keep="newest")
    with pytest.raises(sameish.WrongType, match="`id` must be the name of a field"):
        sameish.dedup(path, "body", id=IDS)
    for wrong in ({"format": "xml"}, {"on_bad": "ignore"}, {"max_memory": 1000}):
        with pytest.raises(sameish.SettingError, match=next(iter(wrong))):
            sameish.dedup(path, "body", **wrong)
    with pytest.raises(sameish.SettingError, match="`format`"):
        sameish.dedup(TEXTS, format="csv")
    with pytest.raises(OSError, match="temp_dir"):
        sameish.dedup(tmp_path / "many.jsonl.gz" if many(tmp_path) else path, temp_dir=tmp_path / "none")


def many(directory):
    """Writes a compressed file, whose texts are copied to the temporary directory."""
    lines = "".join(json.dumps({"text": f"{text} {i}"}) + "\n" for i in range(3) for text in TEXTS)
    (directory / "many.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    return True


def test_settings_that_cannot_deduplicate_are_refused():
    for settings in ({"preset": "sdr"}, {"verify": False}):
        with pytest.raises(sameish.SettingError, match="does not support this configuration"):
            sameish.dedup(TEXTS, **settings)


def test_clusters_are_cohesive_whatever_the_linkage_of_the_settings():
    expected = sameish.dedup(TEXTS, **OPTIONS).kept.tolist()
    assert sameish.dedup(TEXTS, matching={"linkage": "online"}, **OPTIONS).kept.tolist() == expected
    assert len(sameish.dedup(TEXTS, config='preset = "headlines"')) == len(TEXTS)


def test_dicts_and_sets_are_refused():
    split = datasets.Dataset.from_dict({"text": TEXTS})
    refused = [
        ({"a": TEXTS[0]}, r"list\(data.values\(\)\), id=list\(data\)"),
        (datasets.DatasetDict({"train": split, "test": split}), r'one of its splits, such as `data\["train"\]`'),
        (set(TEXTS), "no order: pass a list"),
    ]
    for data, message in refused:
        for function in FUNCTIONS:
            with pytest.raises(sameish.WrongType, match=message):
                function(data)
        with pytest.raises(sameish.WrongType, match="`against`"):
            sameish.dedup(TEXTS, against=data)
    with pytest.raises(sameish.WrongType, match="ids are of type set"):
        sameish.dedup(TEXTS, id=set(range(len(TEXTS))))
    with pytest.raises(sameish.WrongType, match="of type dict"):
        sameish.SimHasher().sketch_many({"a": "b"})
    with pytest.raises(sameish.WrongType, match=r'record\["text"\]'):
        sameish.dedup([{"text": "a"}])


def test_hugging_face_datasets(tmp_path):
    data = datasets.Dataset.from_dict({"body": TEXTS, "key": IDS, "when": DATES, "other": [[i] for i in range(6)]})
    for dataset in (data, data.select([5, 4, 3, 2, 1, 0]), data.with_format("numpy")):
        expected = sameish.dedup(list(dataset["body"]), **OPTIONS)
        found = sameish.dedup(dataset, "body", id="key", date="when", **OPTIONS)
        kept = found.take(dataset)
        assert found.kept.tolist() == expected.kept.tolist() and isinstance(kept, datasets.Dataset)
        assert list(kept["key"]) == found.kept_ids and kept.column_names == data.column_names
        assert len(dataset.select(found.kept)) == 4
    assert sameish.pairs(data, "body", id="key", **OPTIONS) == sameish.pairs(TEXTS, id=IDS, **OPTIONS)
    with pytest.raises(sameish.SettingError, match="unknown column `text`: the columns are `body`, `key`"):
        sameish.dedup(data)


def test_duckdb_relations(tmp_path):
    path = write_jsonl(tmp_path / "corpus.jsonl")
    relation = duckdb.connect().read_json(str(path), format="newline_delimited")
    found = sameish.dedup(relation, "body", id="key", **OPTIONS)
    assert found.kept_ids == ["a", "b", "d", "e"]
    assert found.take(relation)["key"].to_pylist() == ["a", "b", "d", "e"]
    assert sameish.cluster(relation, "body", id="key", **OPTIONS) == sameish.cluster(TEXTS, id=IDS, **OPTIONS)


def test_removes_what_an_existing_corpus_contains(tmp_path):
    known, new = [TEXTS[0], TEXTS[1]], [*TEXTS[2:], TEXTS[3]]
    for against in (known, np.array(known), pa.array(known), pd.Series(known)):
        found = sameish.dedup(new, against=against, **OPTIONS)
        assert found.kept.tolist() == [1, 2] and found.removed.tolist() == [0, 3, 4]
        assert found.known.tolist() == [0, 3] and found.centers.tolist() == [-1, 1, 2, -1, 1]
        assert found.summary["known"] == 2 and found.clusters == [sameish.Cluster(1, [1, 4], 1.0, None)]
    old, fresh = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    write_jsonl(old, [{"text": text} for text in known])
    write_jsonl(fresh, [{"text": text} for text in new])
    from_files = sameish.dedup(fresh, against=[old], output=tmp_path / "kept.jsonl", **OPTIONS)
    assert from_files.centers.tolist() == found.centers.tolist() and from_files.clusters == found.clusters
    kept = [json.loads(line)["text"] for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert kept == from_files.take(new)
    table = pd.DataFrame({"body": known})
    assert sameish.dedup(pl.DataFrame({"body": new}), "body", against=table, **OPTIONS).known.tolist() == [0, 3]
    with pytest.raises(FileNotFoundError):
        sameish.dedup(fresh, against=tmp_path / "none.jsonl")
    with pytest.raises(sameish.WrongType, match="same kind"):
        sameish.dedup(new, against=old)
    with pytest.raises(sameish.TextError, match="`against`: item at position 1"):
        sameish.dedup(new, against=pa.array([b"a", b"\xff"]))


def test_results_become_data_frames():
    pairs, clusters = sameish.pairs(TEXTS, id=IDS, **OPTIONS), sameish.cluster(TEXTS, id=IDS, **OPTIONS)
    frame = pairs.to_frame()
    assert isinstance(frame, pd.DataFrame) and list(frame.columns) == list(sameish.Pair._fields)
    assert frame["a"].tolist() == ["a", "a", "c"] and frame["similarity"].tolist() == [p.similarity for p in pairs]
    assert pairs.to_frame("polars")["b"].to_list() == ["c", "f", "f"]
    assert clusters.to_frame("pyarrow")["members"].to_pylist() == [cluster.members for cluster in clusters]
    assert list(sameish.pairs([]).to_frame().columns) == list(sameish.Pair._fields)
    assert list(pickle.loads(pickle.dumps(sameish.pairs([]))).to_frame().columns) == list(sameish.Pair._fields)
    assert list(sameish.Engine().search("nothing").to_frame().columns) == list(sameish.Match._fields)
    with pytest.raises(ModuleNotFoundError):
        pairs.to_frame("no_such_library")


def test_a_preset_in_the_place_of_a_column_is_explained():
    for table in (pd.DataFrame({"body": TEXTS}), pl.DataFrame({"body": TEXTS}), pa.table({"body": TEXTS})):
        with pytest.raises(sameish.SettingError, match='the columns are `body`; .*`text=`.*`preset="articles"`'):
            sameish.dedup(table, "articles")
        assert len(sameish.dedup(table, "body", preset="articles")) == 6
    with pytest.raises(sameish.WrongType, match="select a preset with `preset=`"):
        sameish.dedup(TEXTS, "articles")


def test_signatures_list_every_setting_with_its_default():
    for function in FUNCTIONS:
        parameters = inspect.signature(function).parameters
        assert not any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values())
        assert parameters["preset"].default == "copies" and parameters["threshold"].default is None
        assert all(p.annotation is not p.empty for p in parameters.values())
        with pytest.raises(TypeError, match="treshold"):
            function(TEXTS, treshold=0.5)
        for name in parameters:
            assert f"\n        {name}: " in function.__doc__, name


def test_none_removes_optional_settings():
    with pytest.raises(sameish.SettingError):
        sameish.pairs(TEXTS, simhash=None, minhash=None, sdr=None)
    assert sameish.pairs(TEXTS, preset="articles", simhash=None) == sameish.pairs(TEXTS, preset="articles", simhash=None, stop_words=...)


def test_small_memory_limit_gives_the_same_result(tmp_path):
    texts = [f"{text} {i % 7}" for i in range(500) for text in TEXTS]
    path = write_jsonl(tmp_path / "corpus.jsonl", [{"text": text} for text in texts])
    expected = sameish.dedup(texts, **OPTIONS)
    for threads in (1, 2):
        limits = {"max_memory": 64 << 20, "temp_dir": tmp_path, "threads": threads}
        assert sameish.dedup(path, **limits, **OPTIONS).centers.tolist() == expected.centers.tolist()
        assert sameish.dedup(texts, **limits, **OPTIONS).clusters == expected.clusters
        assert sameish.pairs(path, **limits, **OPTIONS) == sameish.pairs(texts, **OPTIONS)
    with pytest.raises(sameish.LimitError, match="raise `max_memory`"):
        sameish.dedup(["a"] * 300_000, max_memory=64 << 20)


def test_progress_over_files_counts_bytes(tmp_path):
    texts = [f"{text} {i}" for i in range(500) for text in TEXTS]
    path = write_jsonl(tmp_path / "corpus.jsonl", [{"text": text} for text in texts])
    for function in FUNCTIONS:
        reported = []
        function(path, threads=1, progress=lambda done, total: reported.append((done, total)))
        assert reported == sorted(reported) and reported[-1] == (path.stat().st_size,) * 2

    def broken(done, total):
        raise LookupError("broken")

    with pytest.raises(LookupError):
        sameish.dedup(path, output=tmp_path / "kept.jsonl", progress=broken)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("kind", ["file", "column"])
def test_memory_does_not_grow_with_the_size_of_texts(kind, tmp_path):
    """Deduplicating 300 MB of texts takes less than 200 MB more: at most 128 MiB of a file are in flight."""
    code = """
        import resource, sys, numpy, pyarrow as pa, sameish
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        words = numpy.random.default_rng(1).integers(0, 1 << 40, 300 * 200)
        texts = (" ".join(f"{word:x}" for word in words[i * 200 : i * 200 + 200]) * 500 for i in range(300))
        if sys.argv[1] == "file":
            data = sys.argv[2]
            with open(data, "w") as out:
                for text in texts:
                    out.write('{"text": "%s"}\\n' % text)
        else:
            data = pa.chunked_array([pa.array([text]) for text in texts])
        before = peak()
        found = sameish.dedup(data, threads=1)
        print(len(found.kept), peak() - before)
    """
    run = [sys.executable, "-c", textwrap.dedent(code), kind, str(tmp_path / "corpus.jsonl")]
    kept, growth = map(int, subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())
    assert kept == 300 and growth < 200_000_000
