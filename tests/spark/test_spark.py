"""`sameish.spark` gives the answers of the command line, whatever happens on the cluster."""
import bisect
import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import answers
import corpora
import job
import pytest
from answers import CommandLine, OnSpark
from pyspark.sql import functions

import sameish
from sameish import spark as sameish_spark
from sameish.spark._centers import _place
from sameish.spark._documents import Limits
from sameish.spark._large import _Head, _parts
from sameish.spark._session import partition_names

HERE = Path(__file__).resolve().parent
COUNTS = [
    "documents", "kept", "removed", "clusters", "largest_cluster", "too_short", "rejected", "repeated", "replaced", "caps_hit", "omitted",
]
# Limits so small that every step takes its distributed path.
SMALL = Limits(task_rows=0, task_pairs=150, bin_pairs=10, bin_bytes=4_000)


@pytest.fixture(scope="session")
def expected(tmp_path_factory):
    """The answers of the command line for the corpora of the job."""
    found = {}
    for name, preset in job.RUNS:
        command = CommandLine(getattr(corpora, name)(), tmp_path_factory.mktemp(name))
        options = ["--preset", preset]
        found[name] = {"dedup": command.dedup(*options), "pairs": command.pairs(*options), "clusters": command.clusters(*options)}
    return found


def check(found, expected):
    for name in ("removed", "kept", "clusters"):
        assert json.loads(json.dumps(found[name])) == json.loads(json.dumps(expected[name])), name
    counts = found["summary"]
    assert {name: counts[name] for name in COUNTS} == {name: expected["summary"][name] for name in COUNTS}
    check_recall(counts, expected["summary"])
    # In crowds, both reject most templates before their texts are compared, but not the same ones.
    assert counts["candidates"] >= counts["verified"]
    assert counts["verified"] - counts["templates"] == expected["summary"]["verified"] - expected["summary"]["templates"]
    sizes = Counter(center for center, _ in expected["clusters"])
    largest = sorted(sizes.values(), reverse=True)[:10]
    assert [cluster["size"] for cluster in counts["largest_clusters"]] == largest
    assert all(sizes[cluster["center"]] == cluster["size"] for cluster in counts["largest_clusters"])
    removed = Counter({source["source"]: source["removed"] for source in counts["removed_by_source"] if source["removed"]})
    assert not removed or sum(removed.values()) == counts["removed"]


def check_recall(found, expected):
    assert found["expected_recall"] == pytest.approx(expected["expected_recall"], abs=2e-6)
    interval = found["expected_recall_interval"]
    assert (interval is None) == ("expected_recall_interval" not in expected)
    assert interval is None or interval == pytest.approx(expected["expected_recall_interval"], abs=2e-6)


def check_all(found, expected):
    for name, answer in expected.items():
        check(found[name]["dedup"], answer["dedup"])
        assert found[name]["pairs"] == answer["pairs"], name
        assert found[name]["clusters"] == answer["clusters"], name


def test_answers_equal_those_of_the_command_line(spark, expected, tmp_path):
    check_all(job.answers(spark, tmp_path), expected)
    removed = expected["templates_and_chains"]["dedup"]["summary"]
    assert removed["templates"] > 0 and removed["largest_cluster"] > 2


def test_the_second_engine_gives_the_same_answers(expected, tmp_path):
    """The job runs unchanged on Sail, through Spark Connect."""
    result = subprocess.run([sys.executable, HERE / "job.py", "sail", tmp_path], capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr[-4000:]
    plain = json.loads(json.dumps(expected))
    check_all(json.loads((tmp_path / "answers.json").read_text()), plain)


def test_the_summaries_are_those_of_the_command_line(spark, tmp_path):
    documents = corpora.news(300) + [
        {**document, "id": f"t-{document['id']}", "n": 1000 + document["n"]} for document in corpora.templates_and_chains(templates=20, chain=40)
    ]
    command = CommandLine(documents, tmp_path)
    runner = OnSpark(spark, documents, tmp_path, 2)
    settings = {"threshold": 0.7, "recall": 0.6}
    options = ["--threshold", "0.7", "--recall", "0.6"]
    shared = ["documents", "too_short", "rejected", "replaced", "candidates", "caps_hit", "omitted"]
    assert runner.pairs(**settings) == command.pairs(*options)
    assert {name: runner.summary[name] for name in shared} == {name: command.summary[name] for name in shared}
    check_recall(runner.summary, command.summary)
    assert runner.summary["expected_recall_interval"][0] < runner.summary["expected_recall"] < 0.99
    assert runner.clusters(**settings) == command.clusters(*options)
    check_recall(runner.summary, command.summary)
    found, expected = runner.dedup(**settings), command.dedup(*options)
    check(found, expected)
    assert found["summary"]["templates"] == expected["summary"]["templates"] > 0
    # To count chains, the command line compares a center with at most 8 documents that others have taken.
    assert found["summary"]["chains_cut"] >= expected["summary"]["chains_cut"] > 0
    source = {document["id"]: document["source"] for document in documents}
    removed = Counter(source[ident] for ident, *_ in expected["removed"])
    totals = Counter(source.values())
    rows = {row["source"]: (row["documents"], row["removed"]) for row in found["summary"]["removed_by_source"]}
    assert rows == {name: (totals[name], removed[name]) for name in totals}


def test_what_a_limit_omits_is_counted(spark, tmp_path):
    runner = OnSpark(spark, corpora.one_bucket(100), tmp_path, 2, Limits(large_bucket=1000, bucket_pairs=3))
    summary = runner.dedup()["summary"]
    assert summary["caps_hit"] > 0 and summary["omitted"] > summary["candidates"] and summary["expected_recall"] < 0.9


def test_three_executors_give_the_same_answers(expected, tmp_path):
    command = [sys.executable, HERE / "job.py", "local-cluster[3,1,1024]", tmp_path, "templates_and_chains"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr[-4000:]
    found = json.loads((tmp_path / "answers.json").read_text())
    check_all(found, json.loads(json.dumps({"templates_and_chains": expected["templates_and_chains"]})))


@pytest.mark.parametrize("partitions", [1, 13])
def test_the_number_of_partitions_does_not_matter(spark, expected, tmp_path, partitions):
    runner = OnSpark(spark, corpora.templates_and_chains(), tmp_path, partitions, Limits(task_rows=0))
    check(runner.dedup(), expected["templates_and_chains"]["dedup"])


def test_a_small_corpus_needs_few_jobs(spark, tmp_path):
    """Every job costs planning and compilation, also for few rows."""
    if os.environ.get("ENGINE") == "sail":
        pytest.skip("counts the jobs of Spark")
    frame = OnSpark(spark, corpora.news(120), tmp_path).frame
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    with sameish_spark.dedup(frame, order="n", checkpoint_dir=str(tmp_path)) as result:
        assert result.summary["removed"]
        assert scheduler.numTotalJobs() - before <= 30


def test_partitions_are_named_by_the_hash_of_spark(spark):
    if os.environ.get("ENGINE") == "sail":
        pytest.skip("tests the hash of Spark")
    for count in (1, 3, 16):
        names = partition_names(count)
        rows = spark.createDataFrame([(name,) for name in names], "name int").repartition(count, "name")
        parts = rows.select("name", functions.spark_partition_id().alias("part")).collect()
        assert {row["name"]: row["part"] for row in parts} == {name: part for part, name in enumerate(names)}


def test_distributed_paths_give_the_same_answers(spark, expected, tmp_path):
    """Contraction of components in rounds, components divided into bins, and ranges of documents."""
    runner = OnSpark(spark, corpora.templates_and_chains(), tmp_path, limits=SMALL)
    check(runner.dedup(), expected["templates_and_chains"]["dedup"])
    assert runner.clusters(linkage="components") == components_of(expected["templates_and_chains"]["pairs"], corpora.templates_and_chains())


@pytest.mark.parametrize("name", ["news", "templates_and_chains"])
def test_large_buckets_give_the_same_answers(spark, expected, tmp_path, name):
    """Every bucket of more than two documents is processed in rounds, and has several centers."""
    limits = Limits(task_rows=0, large_bucket=2, round_buckets=1500)
    check(OnSpark(spark, getattr(corpora, name)(), tmp_path, limits=limits).dedup(), expected[name]["dedup"])


def test_repeated_records_of_large_buckets_are_counted_once(spark, tmp_path):
    documents = corpora.one_bucket(120)
    # The texts of the heads of a round are sent in several parts.
    limits = Limits(large_bucket=8, block=16, head_bytes=4_000)
    once = OnSpark(spark, documents, tmp_path, 2, limits).dedup()
    check(once, CommandLine(documents, tmp_path).dedup())
    twice = OnSpark(spark, [*documents, *documents], tmp_path, 2, limits).dedup()
    assert twice["removed"] == once["removed"] and twice["summary"]["repeated"] == len(documents)
    for name in ("candidates", "verified", "chains_cut"):
        assert twice["summary"][name] == once["summary"][name]


def test_heads_and_bins_are_limited_by_bytes(spark, tmp_path):
    """The first heads of a bucket may be longer than the others, and a bin may have few pairs of long texts."""
    first = {1: [_Head(3, 40), _Head(5, 70)], 2: [_Head(3, 40), _Head(9, 20)], 3: [_Head(11, 500)]}
    parts = list(_parts(first, 100))
    assert parts == [{1: [_Head(3, 40)]}, {1: [_Head(5, 70)]}, {2: [_Head(3, 40), _Head(9, 20)]}, {3: [_Head(11, 500)]}]
    documents = corpora.news(120)
    plain, divided = (
        OnSpark(spark, documents, tmp_path, 2, limits).dedup()["summary"] for limits in (Limits(), Limits(bin_bytes=2_000))
    )
    assert divided["texts_sent"] > plain["texts_sent"] and divided["removed"] == plain["removed"]


def components_of(pairs, documents):
    """Returns the components of pairs that are not templates, by a union of sets. The first document is the center."""
    place = {document["id"]: document["n"] for document in documents}
    group = {document["id"]: {document["id"]} for document in documents}
    for a, b, *_, template in pairs:
        if not template and group[a] is not group[b]:
            group[a] |= group[b]
            for member in group[b]:
                group[member] = group[a]
    return sorted((member, min(members, key=place.get)) for member, members in group.items())


@pytest.mark.parametrize(
    ("count", "limits"),
    [(500, Limits()), (300, Limits(large_bucket=32)), (80, Limits(large_bucket=20, bucket_pairs=20, crowd=90, block=16))],
    ids=["large-buckets", "crowds-only", "many-cells"],
)
def test_a_crowd_of_templates_loses_no_pair(spark, tmp_path, count, limits):
    """All notices share most of their buckets, and heads decide few of them."""
    documents = corpora.notices(count, edited=count // 5)
    command = CommandLine(documents, tmp_path)
    expected = command.dedup()
    runner = OnSpark(spark, documents, tmp_path, 2, limits)
    found = runner.dedup()
    check(found, expected)
    assert found["summary"]["removed"] >= len(documents) // 10
    if limits.block == 16:
        assert runner.pairs() == command.pairs()
    if limits.large_bucket == 32:
        # Rare shingles, names and numbers reject most of the 64,620 pairs before their texts are compared. On one machine, profiles of
        # all numbers of a text reject more.
        assert found["summary"]["candidates"] <= 8 * len(documents)


def test_the_report_is_that_of_the_command_line(spark, tmp_path):
    documents = corpora.news(400) + [
        {**document, "id": f"t-{document['id']}", "n": 1000 + document["n"]} for document in corpora.templates_and_chains(templates=20, chain=20)
    ]
    expected = CommandLine(documents, tmp_path).dedup()
    found = OnSpark(spark, documents, tmp_path, 2).dedup(report=True)
    check(found, expected)
    assert found["report"] == expected["report"]


@pytest.mark.parametrize("corpus", [corpora.one_bucket, corpora.equal])
def test_skewed_corpora(spark, tmp_path, corpus):
    documents = corpus()
    expected = CommandLine(documents, tmp_path).dedup()
    assert expected["summary"]["caps_hit"] == 0
    found = OnSpark(spark, documents, tmp_path, 2).dedup()
    check(found, expected)
    # Not a multiple of the square of the number of documents.
    assert found["summary"]["candidates"] <= 40 * len(documents)


def test_large_buckets_are_found_in_a_sample(spark, tmp_path):
    documents = corpora.one_bucket(1500)
    expected = CommandLine(documents, tmp_path).dedup()
    found = OnSpark(spark, documents, tmp_path, 2, Limits(counted=0)).dedup()
    check(found, expected)
    assert found["summary"]["candidates"] <= 40 * len(documents)


def test_components_of_a_large_bucket_need_few_comparisons(spark, tmp_path):
    documents = corpora.one_bucket(600)
    command = CommandLine(documents, tmp_path)
    expected = command.clusters("--linkage", "components")
    runner = OnSpark(spark, documents, tmp_path, 2, Limits(bucket_pairs=100, block=64))
    assert runner.clusters(linkage="components") == expected


def test_a_long_chain_in_order(spark, tmp_path):
    documents = corpora.long_chain(2000)
    expected = CommandLine(documents, tmp_path).dedup()
    check(OnSpark(spark, documents, tmp_path, 2, Limits(task_pairs=700)).dedup(), expected)


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--preset", "articles"], {"preset": "articles"}),
        (["--preset", "wire"], {"preset": "wire"}),
        (["--preset", "web"], {"preset": "web"}),
        (["--templates", "merge"], {"templates": "merge"}),
        (["--threshold", "0.6", "--recall", "0.9"], {"threshold": 0.6, "recall": 0.9}),
        (["--per-source"], {"per_source": True}),
    ],
    ids=["articles", "wire", "web", "merge", "threshold", "per-source"],
)
def test_other_settings_give_the_same_answers(spark, tmp_path, options, settings):
    documents = corpora.news(250)
    last = len(documents)
    for more in corpora.templates_and_chains(templates=20, chain=20):
        documents.append({**more, "id": f"other-{more['id']}", "n": last + more["n"]})
    expected = CommandLine(documents, tmp_path).dedup(*options)
    found = OnSpark(spark, documents, tmp_path, 2).dedup(**settings)
    check(found, expected)
    assert found["removed"]


def test_greedy_clusters_start_with_the_newest(spark, tmp_path):
    documents = corpora.news(300)
    expected = CommandLine(documents, tmp_path).clusters("--linkage", "greedy", "--date-field", "date")
    assert OnSpark(spark, documents, tmp_path, 2).clusters(linkage="greedy", date="date") == expected


def test_filters_of_needed_texts_give_the_same_answers(spark, tmp_path):
    """As in a corpus whose needed documents are too many to be sent to every executor."""
    documents = corpora.news(400)
    command = CommandLine(documents, tmp_path)
    runner = OnSpark(spark, documents, tmp_path, 3, Limits(broadcast_rows=0, large_bucket=3))
    check(runner.dedup(), command.dedup())
    assert runner.pairs() == command.pairs()


def test_integer_ids_and_empty_frames(spark, tmp_path):
    documents = [{**document, "id": document["n"]} for document in corpora.news(120)]
    expected = CommandLine(documents, tmp_path).dedup()
    rows = [(document["n"], document["text"]) for document in documents]
    frame = spark.createDataFrame(rows, "id int, text string")
    options = {"checkpoint_dir": str(tmp_path)}
    with sameish_spark.dedup(frame, **options) as result:
        assert sorted(row["id"] for row in result.kept.collect()) == expected["kept"]
        assert sorted((row["id"], row["kept_id"]) for row in result.removed.collect()) == [row[:2] for row in expected["removed"]]
    empty = frame.filter("id < 0")
    with sameish_spark.dedup(empty, **options) as result:
        assert result.kept.collect() == [] and result.summary["documents"] == 0 and "Results" in result.report()
    assert sameish_spark.pairs(empty, **options).table.collect() == []
    assert sameish_spark.clusters(empty, **options).table.collect() == []


@pytest.mark.parametrize("keep", ["longest", "newest", "field:n"])
def test_keep_is_decided_by_columns(spark, tmp_path, keep):
    documents = corpora.news(300)
    expected = CommandLine(documents, tmp_path).dedup("--keep", keep)
    check(OnSpark(spark, documents, tmp_path, 3).dedup(keep=keep, date="date"), expected)


def test_a_killed_worker_does_not_change_the_answers(spark, expected, tmp_path):
    """Kills an executor process with SIGKILL after the first step."""
    killed = []

    def kill():
        deadline = time.time() + 60
        while time.time() < deadline:
            started = list(tmp_path.glob("sameish-*/*-documents"))
            executors = executor_processes()
            if started and executors:
                os.kill(executors[0], signal.SIGKILL)
                killed.append(executors[0])
                return
            time.sleep(0.02)

    thread = threading.Thread(target=kill)
    thread.start()
    found = OnSpark(spark, corpora.news(), tmp_path).dedup()
    thread.join()
    assert killed, "no executor was killed during the job"
    check(found, expected["news"]["dedup"])


def executor_processes():
    """Returns the executors of this test's cluster, and of no other."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command and descends_from(int(process.name), os.getpid()):
            found.append(int(process.name))
    return sorted(found)


def descends_from(process, ancestor):
    while process > 1:
        if process == ancestor:
            return True
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def test_the_cluster_has_two_executors(spark, expected):
    spark.range(100).repartition(4).count()
    assert len(executor_processes()) == 2


BRIDGE = "The council voted on Monday evening to close the old stone bridge for repairs until the end of spring"


def frame_of(spark, rows):
    return spark.createDataFrame(rows, "id string, n bigint, text string")


def test_null_ids_and_duplicate_ids_are_errors_or_counted(spark, tmp_path):
    rows = [("a", 1, BRIDGE), (None, 2, "Rain until Friday"), ("b", 3, "Snow"), ("b", 4, "Snow"), ("a", 5, "Other text"), ("c", 6, None)]
    frame = frame_of(spark, rows)
    options = {"order": "n", "checkpoint_dir": str(tmp_path)}
    with pytest.raises(sameish.RecordError, match="id is null in a record of 2 that cannot be used, the one with order 2"):
        sameish_spark.dedup(frame, **options)
    with pytest.raises(sameish.RecordError, match="duplicate id `a` with a different text"):
        sameish_spark.dedup(frame.filter("id is not null and text is not null"), **options)
    with pytest.raises(sameish.RecordError, match="text is null in a record of 1 that cannot be used, the one with id `c`"):
        sameish_spark.dedup(frame.filter("id = 'c'"), **options)
    assert not list(tmp_path.glob("sameish-*")), "intermediate results are deleted after an error"
    result = sameish_spark.dedup(frame, on_bad="skip", **options)
    assert {name: result.summary[name] for name in ("documents", "kept", "rejected", "repeated")} == {
        "documents": 2, "kept": 2, "rejected": 3, "repeated": 1,
    }
    assert sorted((row["id"], row["n"], row["text"]) for row in result.kept.collect()) == [("a", 1, BRIDGE), ("b", 3, "Snow")]
    assert sorted((row["id"] or "", row["reason"]) for row in result.rejects.collect()) == [
        ("", "id is null"), ("a", "duplicate id `a` with a different text"), ("c", "text is null"),
    ]
    with sameish_spark.pairs(frame, on_bad="skip", **options) as found:
        assert found.summary["rejected"] == 3 and found.summary["documents"] == 2
    with sameish_spark.dedup(frame.filter("id = 'c'").withColumn("head.line", functions.lit(BRIDGE)), title="head.line", **options) as found:
        assert found.summary["documents"] == 1 and found.summary["rejected"] == 0


def test_a_rejected_record_is_never_compared(spark, tmp_path):
    """Each id has a record with a null text and, with another text, one with a date that cannot be read."""
    documents = corpora.news(200)
    rows = [(document["id"], document["n"], document["text"], "2026-01-01") for document in documents]
    bad = [(ident, n, None, date) for ident, n, _, date in rows] + [(ident, n, f"{ident} is another text", "soon") for ident, n, *_ in rows]
    schema = "id string, n bigint, text string, date string"
    # Records with the same id are in different partitions, in an order that differs from id to id.
    mixed = spark.createDataFrame(sorted(rows + bad, key=repr), schema).repartition(24)
    options = {"order": "n", "date": "date", "keep": "newest", "checkpoint_dir": str(tmp_path)}
    removed = []
    for frame in (spark.createDataFrame(rows, schema), mixed):
        for limits in (Limits(), Limits(large_bucket=3, block=16)):
            with sameish_spark.dedup(frame, on_bad="skip", limits=limits, **options) as result:
                removed.append(sorted((row["id"], row["kept_id"], row["similarity"]) for row in result.removed.collect()))
                assert sorted(row["id"] for row in result.kept.select("id").collect()) == sorted({row[0] for row in rows} - {row[0] for row in removed[-1]})
    assert removed[1:] == removed[:1] * 3 and len(removed[0]) > 50


def test_pairs_of_many_equal_documents_are_not_expanded_before_they_are_read(spark, tmp_path):
    """60,000 equal documents have 1.8 billion pairs."""
    frame = spark.range(60_000).withColumn("text", functions.lit(BRIDGE))
    with sameish_spark.pairs(frame, checkpoint_dir=str(tmp_path)) as found:
        assert found.summary["documents"] == 60_000 and found.summary["expected_recall"] == 1.0
    documents = corpora.equal(150)
    expected = CommandLine(documents, tmp_path).pairs()
    assert OnSpark(spark, documents, tmp_path, 2, Limits(block=16)).pairs() == expected and len(expected) > 8000


def test_repeated_and_conflicting_records_are_those_of_the_command_line(spark, tmp_path):
    texts = [("a", "Snow"), ("a", "SNOW"), ("a", "Rain"), ("b", BRIDGE), ("b", BRIDGE.upper()), ("b", BRIDGE)]
    documents = [{"id": ident, "n": n, "text": text, "source": "wire", "date": None} for n, (ident, text) in enumerate(texts)]
    command = CommandLine(documents, tmp_path)
    options = ["--on-bad", "skip", "--rejects", tmp_path / "rejects.jsonl"]
    frame = OnSpark(spark, documents, tmp_path, 3).frame
    for preset in ("copies", "headlines", "wire"):
        expected = command.dedup("--preset", preset, *options)["summary"]
        reasons = [json.loads(line)["reason"] for line in (tmp_path / "rejects.jsonl").read_text().splitlines()]
        with sameish_spark.dedup(frame, preset=preset, on_bad="skip", order="n", checkpoint_dir=str(tmp_path)) as result:
            found = result.summary
            assert {name: found[name] for name in ("documents", "rejected", "repeated")} == {
                name: expected[name] for name in ("documents", "rejected", "repeated")
            }, preset
            rows = sorted((row["order"], row["reason"]) for row in result.rejects.collect())
            assert [row[1] for row in rows] == [reason.split(";")[0] for reason in reasons] and rows, (rows, reasons)


def test_bytes_that_are_not_utf8_are_replaced(spark, tmp_path):
    documents = corpora.news(150)
    texts = [document["text"].encode() + (b" \xff" if document["n"] % 3 == 0 else b"") for document in documents]
    expected = [documents[row]["id"] for row in sameish.dedup(texts, lossy=True).kept]
    rows = [(document["id"], document["n"], bytearray(text)) for document, text in zip(documents, texts)]
    frame = spark.createDataFrame(rows, "id string, n bigint, text binary").repartition(3)
    for limits in (Limits(), Limits(large_bucket=3, block=16)):
        with sameish_spark.dedup(frame, order="n", lossy=True, checkpoint_dir=str(tmp_path), limits=limits) as result:
            assert sorted(row["id"] for row in result.kept.collect()) == sorted(expected)
            assert result.summary["replaced"] == 50 and "Results" in result.report()
    with pytest.raises(sameish.RecordError, match="not valid UTF-8"):
        sameish_spark.dedup(frame, order="n", checkpoint_dir=str(tmp_path))


def test_columns_are_checked(spark):
    frame = spark.createDataFrame([("a", 1.5, 7)], "id string, price double, code bigint")
    with pytest.raises(sameish.SettingError, match="unknown column `text`: the columns are `id`, `price`, `code`"):
        sameish_spark.sign(frame)
    with pytest.raises(sameish.SettingError, match="ids in column `price` are of type double"):
        sameish_spark.sign(frame, id="price", text="id")
    with pytest.raises(sameish.SettingError, match="unknown column `fingerprint`"):
        sameish_spark.hamming_join(frame, None, 3)
    with pytest.raises(sameish.SettingError, match="fingerprints in column `price` are of type double"):
        sameish_spark.hamming_join(frame, None, 3, fingerprint="price")
    with pytest.raises(sameish.SettingError, match="different types, bigint and string"):
        sameish_spark.hamming_join(frame, frame.selectExpr("code as id", "code"), 3, fingerprint="code")


def test_ranges_of_many_bounds_are_found(spark):
    bounds = list(range(5, 60_000, 29))
    place = _place(functions.col("id"), bounds, 0, len(bounds))
    rows = spark.range(0, 60_100, 13).select("id", place.alias("place")).collect()
    assert all(row["place"] == bisect.bisect_left(bounds, row["id"]) for row in rows)


def test_signatures_are_reused_and_checked(spark, tmp_path, expected):
    """Of the documents, some were not signed before, and some had another text."""
    runner = OnSpark(spark, corpora.templates_and_chains(), tmp_path)
    path = str(tmp_path / "signed")
    text = functions.when(functions.col("n") % 5 == 0, "another text").otherwise(functions.col("text"))
    sameish_spark.sign(runner.frame.filter("n % 7 <> 0").withColumn("text", text)).write.parquet(path)
    signed = spark.read.parquet(path)
    for stored in (signed, signed.unionByName(signed)):
        check(runner.dedup(signed=stored), expected["templates_and_chains"]["dedup"])
    with pytest.raises(sameish.SchemeMismatch, match="sign them again"):
        runner.dedup(signed=spark.read.parquet(path), threshold=0.9)


def test_similar_join_finds_the_pairs_across(spark, tmp_path, expected):
    documents = corpora.news()
    old, new = [d for d in documents if d["n"] % 4], [d for d in documents if d["n"] % 4 == 0]
    old_ids = {document["id"] for document in old}
    left, right = OnSpark(spark, new, tmp_path).frame, OnSpark(spark, old, tmp_path).frame
    signed = sameish_spark.sign(right, task="pairs")
    for more in ({}, {"signed": signed}, {"limits": Limits(bucket_pairs=2, block=4)}):
        with sameish_spark.similar_join(left, right, order="n", checkpoint_dir=str(tmp_path), **more) as joined:
            rows = joined.table.collect()
        found = sorted(answers.pair_of(row["a"], row["b"], row.asDict()) for row in rows)
        assert without_facts(found) == without_facts(across(expected["news"]["pairs"], old_ids)) and found


def without_facts(pairs):
    """Facts are those of the first of several copies, which may be another one in a part of the corpus."""
    return [[*pair[:5], pair[6]] for pair in pairs]


def across(pairs, old_ids):
    """Returns the pairs of an old and a new document."""
    wanted = []
    for a, b, *verdict in pairs:
        if (a in old_ids) != (b in old_ids):
            wanted.append([a, b, *verdict] if a in old_ids else [b, a, *verdict])
    return sorted(wanted)


@pytest.mark.parametrize("radius", [0, 3])
def test_hamming_join_finds_exactly_the_pairs_within_the_radius(spark, radius):
    random = corpora.Random(1)
    prints = [random.next() for _ in range(400)]
    for at in range(300):
        prints.append(prints[at] ^ sum(1 << random.below(64) for _ in range(at % 5)))
    wanted = []
    for b, second in enumerate(prints):
        distances = ((a, b, (first ^ second).bit_count()) for a, first in enumerate(prints[:b]))
        wanted += [pair for pair in distances if pair[2] <= radius]
    wanted.sort()
    signed = [one - (1 << 64) if one >> 63 else one for one in prints]
    frame = spark.createDataFrame(list(enumerate(signed)), "id bigint, fingerprint bigint")
    found = sorted((row["a"], row["b"], row["distance"]) for row in sameish_spark.hamming_join(frame, None, radius).collect())
    assert found == wanted and found
    left, right = frame.filter("id >= 400"), frame.filter("id < 400")
    across = sorted((row["a"], row["b"], row["distance"]) for row in sameish_spark.hamming_join(left, right, radius).collect())
    assert across == [pair for pair in wanted if pair[0] < 400 <= pair[1]] and across


def test_the_example_of_hamming_join_finds_the_pairs_of_four_stored_parts(spark, tmp_path):
    example = runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples" / "spark_hamming.py"))
    words = [f"w{at * 7919 % 1009}" for at in range(900)]
    texts = []
    for document in range(240):
        text = words[document // 4 * 13 :][:60]
        text[document % 60] = f"edited{document % 3}"
        texts.append({"id": document, "text": " ".join(text)})
    corpus = tmp_path / "texts.jsonl"
    corpus.write_text("".join(json.dumps(text) + "\n" for text in texts))

    def sameish_command(*words):
        subprocess.run([os.environ["SAMEISH"], "hamming", *map(str, words)], check=True)

    sameish_command("build", tmp_path / "tables", corpus, "--preset", "wire", "--parts", 4, "--quiet")
    answers = [tmp_path / f"answers-{part}.jsonl" for part in range(1, 5)]
    for part, answer in enumerate(answers, 1):
        sameish_command("query", tmp_path / "tables", corpus, "--part", f"{part}/4", "--quiet", "-o", answer)
    sameish_command("merge", *answers, "-o", tmp_path / "merged.jsonl")
    wanted = []
    for line in map(json.loads, (tmp_path / "merged.jsonl").read_text().splitlines()):
        wanted += [(line["id"], near["id"], near["simhash_distance"]) for near in line["matches"] if line["id"] < near["id"]]
    found = [(row["a"], row["b"], row["distance"]) for row in example["pairs_of"](spark, [str(corpus)]).collect()]
    assert found == sorted(wanted) and len(found) > 100


def test_the_command_writes_the_kept_rows(spark, tmp_path, expected):
    from sameish.spark.__main__ import main

    OnSpark(spark, corpora.headlines(), tmp_path).frame.write.parquet(str(tmp_path / "in"))
    arguments = ["dedup", str(tmp_path / "in"), str(tmp_path / "out"), "--format", "parquet", "--order", "n", "--preset", "headlines"]
    assert main([*arguments, "--checkpoint-dir", str(tmp_path), "--max-removed", "1%"]) == 5
    assert not (tmp_path / "out").exists()
    assert main([*arguments, "--checkpoint-dir", str(tmp_path)]) == 0
    kept = spark.read.parquet(str(tmp_path / "out"))
    assert sorted(row["id"] for row in kept.collect()) == expected["headlines"]["dedup"]["kept"]
    assert not list(tmp_path.glob("sameish-*")), "intermediate results are deleted"


def test_the_command_keeps_null_fields_and_refuses_outputs_that_overlap(spark, tmp_path):
    from sameish.spark.__main__ import main

    source = tmp_path / "in.jsonl"
    lines = [{"id": n, "text": f"{BRIDGE} {n}" if n else BRIDGE, "note": "x" if n == 1 else None} for n in range(3)]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "other").mkdir()

    def run(output, *options):
        return main(["dedup", str(source), str(output), "--format", "jsonl", "--checkpoint-dir", str(tmp_path / "other"), *map(str, options)])

    (tmp_path / "link").symlink_to(source)
    before = source.read_bytes()
    for refused in (
        [source], [tmp_path], [source / "out"], [tmp_path / "link"], [tmp_path / "other" / ".." / "in.jsonl"],
        [tmp_path / "out", "--removed", tmp_path / "out"], [tmp_path / "out", "--removed", tmp_path / "out" / "removed"],
        [tmp_path / "out", "--report", source], [tmp_path / "out", "--clusters", tmp_path / "c", "--rejects", tmp_path / "c"],
    ):
        assert run(*refused, "--overwrite") == 2, refused
    assert source.read_bytes() == before and not (tmp_path / "out").exists()
    (tmp_path / "report.html").write_text("")
    assert run(tmp_path / "out", "--report", tmp_path / "report.html") == 6 and not (tmp_path / "out").exists()
    assert run(tmp_path / "out", "--report", tmp_path / "report.html", "--overwrite", "--clusters", tmp_path / "clusters") == 0
    center = {"center": 0, "id": 0, "similarity": None, "facts": None, "verified": None}
    if os.environ.get("ENGINE") == "sail":
        # Sail 0.7 ignores the option of its JSON writer.
        lines, center = [[{name: value for name, value in line.items() if value is not None} for line in rows] for rows in (lines, [center])]
        center = center[0]
    assert written(tmp_path / "out") == [lines[0]] and center in written(tmp_path / "clusters")


def written(directory):
    """Returns the rows of a directory of JSON lines."""
    parts = [path for path in sorted(directory.rglob("*.json*")) if path.name[0] not in "._"]
    return [json.loads(line) for part in parts for line in part.read_text().splitlines()]
