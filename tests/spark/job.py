#!/usr/bin/env python3
"""The job that both engines run: answers for three corpora, as JSON.

    tests/spark/job.py ENGINE DIRECTORY [CORPUS...]     ENGINE is the master of a Spark cluster, or `sail`
"""
from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path

import corpora
from answers import OnSpark

# Corpus and preset of each run. Numbers are small, so that the JVM and not the work takes most of the time.
RUNS = [("news", "copies"), ("headlines", "headlines"), ("templates_and_chains", "copies")]
# Corpora whose tables are distributed, as those of a large corpus.
DISTRIBUTED = ("headlines", "templates_and_chains")


@contextmanager
def session(engine):
    if engine == "sail":
        from pysail.spark import SparkConnectServer
        from pyspark.sql import SparkSession

        server = SparkConnectServer(ip="127.0.0.1", port=0)
        server.start(background=True)
        _, port = server.listening_address
        spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
            server.stop()
        return
    with spark_session(engine) as spark:
        yield spark


@contextmanager
def spark_session(master):
    from pyspark.sql import SparkSession

    # The first two options save seconds of start-up time of each JVM.
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": java,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.extraJavaOptions": java,
        "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "3",
        "spark.ui.enabled": "false",
        # Compiling the plans would take longer than running them on so few rows.
        "spark.sql.codegen.wholeStage": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(master).appName("sameish tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def answers(spark, directory, names=()):
    """Returns the answers for all corpora, or for some of them."""
    from sameish.spark import Limits

    found = {}
    for name, preset in RUNS:
        if names and name not in names:
            continue
        limits = Limits(task_rows=0) if name in DISTRIBUTED else None
        runner = OnSpark(spark, getattr(corpora, name)(), directory, limits=limits)
        found[name] = {
            "dedup": runner.dedup(preset=preset),
            "pairs": runner.pairs(preset=preset),
            "clusters": runner.clusters(preset=preset),
        }
    return found


def main():
    engine, directory, *names = sys.argv[1:]
    with session(engine) as spark:
        found = answers(spark, directory, names)
    (Path(directory) / "answers.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
