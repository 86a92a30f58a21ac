#!/usr/bin/env python3
"""Measures one engine on a JSONL corpus and prints a line of JSON; `bench/spark/run` calls it.

    measure.py corpus KIND N FILE    writes N documents: `honest` articles, or the skewed `bucket` (90 % near-copies of one text),
                                     `chain` (only neighbors match), `templates` (one wording with other names and numbers, which
                                     share their buckets but do not join) or `equal` (90 % have the same text)
    measure.py cli FILE              CPU and wall time of `sameish dedup` with one thread
    measure.py function FILE         CPU time of the function that a Python worker runs in the sign step, on Arrow batches in memory
    measure.py spark WORKERS FILE    start-up, sign step and `dedup` on `local-cluster[WORKERS,1,2048]`
    measure.py ratios FILE           the ratios of the goals, from the lines of the other commands

CPU time is that of all processes: the JVMs and the Python workers; `python` is the part of the Python processes. A step does not include the start of Spark. `load` is the load
average of the last minute at the end of a run: wall time is only meaningful if it is about the number of processes that were measured.
"""
from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def tree_cpu():
    """Returns the CPU seconds of this process, its descendants, and those that they have waited for: of all, and of the JVMs."""
    children, seconds, jvms = {}, {}, set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (process / "stat").read_text().rpartition(")")
        except OSError:
            continue
        fields, number = rest.split(), int(process.name)
        children.setdefault(int(fields[1]), []).append(number)
        if name.endswith("(java"):
            jvms.add(number)
            # Python workers that have ended are not part of the JVM.
            seconds[number] = sum(map(int, fields[11:13])) / TICKS
        else:
            seconds[number] = sum(map(int, fields[11:15])) / TICKS
    total, in_jvms, waiting = 0.0, 0.0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        total += seconds.get(process, 0.0)
        in_jvms += seconds.get(process, 0.0) if process in jvms else 0.0
        waiting += children.get(process, [])
    return total, in_jvms


def step(work):
    before, wall = tree_cpu(), time.time()
    result = work()
    cpu, jvms = (after - start for after, start in zip(tree_cpu(), before))
    return result, {"cpu": round(cpu, 2), "python": round(cpu - jvms, 2), "wall": round(time.time() - wall, 2)}


def function(path):
    """Signs the texts of a corpus with the function that Spark runs, without Spark."""
    from pyarrow import json as arrow_json

    from sameish._steps import plan
    from sameish.spark import _work

    batches = arrow_json.read_json(path).select(["id", "text"]).to_batches(max_chunksize=10_000)
    work = _work.sign(plan("dedup"), ["id"], None, 16 << 20)
    cpu = time.process_time()
    documents = sum(batch.num_rows for batch in work(iter(batches)))
    return {"file": Path(path).stem, "workers": -1, "documents": documents, "sign": {"cpu": round(time.process_time() - cpu, 2)}}


def cli(path):
    binary = os.environ["SAMEISH"]
    with tempfile.TemporaryDirectory() as directory:
        command = [binary, "dedup", path, "-o", f"{directory}/kept.jsonl", "--threads", "1", "--json"]
        output = Path(directory, "output")
        before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
        with output.open("w") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file)
        used = []
        while process.poll() is None:
            used.append((time.time() - wall, own_cpu(process.pid)))
            time.sleep(0.005)
        assert process.returncode == 0, output.read_text()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        summary = json.loads(output.read_text().strip().splitlines()[-1])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    counts = {name: summary[name] for name in ("documents", "kept", "caps_hit")}
    # The first step is the sign step, so its CPU time is what the process had used when it ended.
    stages = summary["stages"]
    sign = max(cpu for at, cpu in used if at <= stages["sign"] or at == used[0][0])
    times = {"cpu": round(cpu, 2), "wall": round(time.time() - wall, 2), "sign": {"cpu": round(sign, 2)}}
    return {"file": Path(path).stem, "workers": 0, **times, "stages": stages, "load": load(), **counts}


def own_cpu(process):
    """Returns the CPU seconds of a process."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:13])) / TICKS


def load():
    return round(os.getloadavg()[0], 1)


def spark(workers, path):
    from pyspark.sql import SparkSession

    import sameish.spark

    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(f"{directory}/events")
        builder = SparkSession.builder.master(f"local-cluster[{workers},1,2048]")
        for name, value in {
            # What docs/scale.md recommends: the driver runs its code too rarely for optimized compilation, and executors with one core
            # have no threads to spare for collecting garbage.
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file://{directory}/events",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.rolling.enabled": "false",
            "spark.executor.memory": "1500m",
            "spark.sql.shuffle.partitions": "8",
            "spark.ui.enabled": "false",
        }.items():
            builder = builder.config(name, value)

        def start():
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("ERROR")
            session.range(1000).repartition(workers).count()
            return session

        session, started = step(start)
        parquet = f"{directory}/corpus"
        session.read.schema("id long, text string").json(path).repartition(8).write.parquet(parquet)
        frame = session.read.parquet(parquet)
        _, read = step(lambda: frame.selectExpr("sum(length(text))").collect())
        _, signed = step(lambda: sameish.spark.sign(frame).write.parquet(f"{directory}/signed"))
        result, deduplicated = step(lambda: sameish.spark.dedup(frame, checkpoint_dir=directory))
        counts = {name: result.summary[name] for name in ("documents", "kept", "caps_hit", "candidates", "texts_sent")}
        _, written = step(lambda: result.kept.write.parquet(f"{directory}/kept"))
        session.stop()
        shuffled, jobs = shuffle_bytes(Path(directory, "events"))
    return {"file": Path(path).stem, "workers": workers, "start": started, "read": read, "sign": signed, "dedup": deduplicated, "write": written,
            "shuffled_bytes_per_document": round(shuffled / counts["documents"]), "jobs": jobs, "load": load(), **counts}


def shuffle_bytes(directory):
    """Returns the bytes that tasks wrote for shuffles, without those of the preparation of the corpus and of broadcasts, and the
    number of jobs."""
    total = jobs = 0
    for file in directory.iterdir():
        prepared = False
        for line in file.open():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd" and prepared:
                metrics = (event.get("Task Metrics") or {}).get("Shuffle Write Metrics") or {}
                total += metrics.get("Shuffle Bytes Written", 0)
            jobs += prepared and event["Event"] == "SparkListenerJobStart"
            # The corpus is complete when it is first read.
            prepared = prepared or "sum(length(text" in line
    return total, jobs


def corpus(kind, count, path):
    """Writes a corpus; those with skew and the honest one have documents of about the same length."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests" / "spark"))
    import corpora

    make = {
        "honest": corpora.news, "bucket": corpora.one_bucket, "chain": corpora.long_chain, "equal": corpora.equal,
        "templates": lambda count: corpora.notices(count, edited=0),
    }
    with open(path, "w", encoding="utf-8") as file:
        for document in make[kind](count):
            file.write(json.dumps({"id": document["n"], "text": document["text"]}) + "\n")
    return {}


def ratios(path):
    """Compares the measurements with the goals: measured ratio, and its limit.

    Both sides of a ratio include reading the texts. `fixed` is a corpus of a few documents, whose time is subtracted where a goal
    is about the time after the start, and from both sides of a comparison of corpora.
    """
    runs = {}
    for line in map(json.loads, Path(path).read_text().splitlines()):
        runs.setdefault((line["file"], line["workers"]), []).append(line)

    def mean(name, workers, step, what):
        values = [(line[step] if step else line)[what] for line in runs.get((name, workers), [])]
        return sum(values) / len(values) if values else None

    found = {}
    for name, workers in sorted(run for run in runs if run[0] != "spark-fixed"):
        if workers == -1 and (name, 0) in runs:
            found[f"{name}: CPU of the function of sign, to the command line"] = [ratio(mean(name, -1, "sign", "cpu"), mean(name, 0, "sign", "cpu")), 1.3]
        if workers == 1 and (name, 0) in runs:
            found[f"{name}: CPU of sign, to the command line"] = [ratio(mean(name, 1, "sign", "cpu"), mean(name, 0, "sign", "cpu")), 1.3]
            total = mean(name, 1, "dedup", "cpu") + mean(name, 1, "write", "cpu")
            found[f"{name}: CPU of dedup and write, to the command line"] = [ratio(total, mean(name, 0, None, "cpu")), 2.5]
        if workers == 2 and (name, 1) in runs:
            fixed = [mean("spark-fixed", count, "dedup", "wall") or 0 for count in (1, 2)]
            one, two = [mean(name, count, "dedup", "wall") for count in (1, 2)]
            found[f"{name}: wall time of dedup, two workers to one"] = [ratio(two, one), 0.6]
            found[f"{name}: wall time of dedup without the fixed cost, two workers to one"] = [ratio(two - fixed[1], one - fixed[0]), 0.6]
        kind, _, size = name.removeprefix("spark-").rpartition("-")
        honest = f"spark-honest-{size}"
        if workers == 2 and kind not in ("", "honest") and (honest, 2) in runs:
            for what in ("wall", "cpu"):
                fixed = mean("spark-fixed", 2, "dedup", what) or 0
                skewed, plain = [mean(corpus, 2, "dedup", what) - fixed for corpus in (name, honest)]
                found[f"{name}: {what} of dedup, to the honest corpus"] = [ratio(skewed, plain), 3.0]
    return found


def ratio(a, b):
    return round(a / b, 2) if b else None


def main():
    command, *rest = sys.argv[1:]
    if command == "corpus":
        corpus(rest[0], int(rest[1]), rest[2])
        return
    if command == "cli":
        result = cli(rest[0])
    elif command == "function":
        result = function(rest[0])
    elif command == "ratios":
        result = ratios(rest[0])
    else:
        result = spark(int(rest[0]), rest[1])
    print(json.dumps(result, indent=1 if command == "ratios" else None))


if __name__ == "__main__":
    main()
