"""The answers of the command line and of Spark for a corpus, in the same form."""
from __future__ import annotations

import json
import math
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SAMEISH = os.environ.get("SAMEISH") or ROOT / "target" / "debug" / "sameish"
SCHEMA = "id string, n bigint, text string, source string, date string"


def micros(number):
    """Rounds half up to 6 decimal places, as the command line does."""
    return None if number is None else math.floor(number * 1e6 + 0.5)


def run(*arguments):
    result = subprocess.run([str(SAMEISH), *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-2000:]
    summary = json.loads(result.stderr.splitlines()[-1]) if result.stderr.strip() else {}
    return [json.loads(line) for line in result.stdout.splitlines()], summary


class CommandLine:
    """The command line on a JSONL file."""

    def __init__(self, documents, directory):
        self.path = Path(directory) / "corpus.jsonl"
        self.path.write_text("".join(json.dumps(document) + "\n" for document in documents))
        self.directory = Path(directory)
        # Summary of the last `pairs` or `clusters`.
        self.summary = None

    def dedup(self, *options):
        removed, kept, clusters, report = (
            self.directory / name for name in ("removed.jsonl", "kept.jsonl", "clusters.jsonl", "report.html")
        )
        lists = ["--removed", removed, "--clusters", clusters, "--report", report]
        fields = ["--date-field", "date"]
        arguments = [self.path, "-o", kept, *lists, "--force", "--json", "--max-removed", "100%", *fields, *options]
        result = subprocess.run([str(SAMEISH), "dedup", *map(str, arguments)], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr[-2000:]
        summary = json.loads((result.stdout.strip() or result.stderr.strip()).splitlines()[-1])
        lines = [json.loads(line) for line in removed.read_text().splitlines()]
        kept_ids = [json.loads(line)["id"] for line in kept.read_text().splitlines()]
        return {
            "removed": sorted(
                (line["id"], line["kept"], micros(line["similarity"]), line.get("verified", True)) for line in lines
            ),
            "kept": sorted(kept_ids),
            "clusters": sorted(
                (line["members"][0], member) for line in map(json.loads, clusters.read_text().splitlines()) for member in line["members"]
            ),
            "summary": summary,
            "report": sections(report.read_text()),
        }

    def pairs(self, *options):
        lines, self.summary = run("pairs", self.path, "--json", *options)
        assert self.summary["caps_hit"] == 0, self.summary
        return sorted(pair_of(line["a"], line["b"], line) for line in lines)

    def clusters(self, *options):
        lines, self.summary = run("cluster", self.path, "--json", *options)
        assert self.summary["caps_hit"] == 0, self.summary
        return sorted((member, line["center"]) for line in lines for member in line["members"])


def sections(page):
    """Returns the page of a report from its results on, without the notes, which name parameters of the interface, and without the
    histogram of the compared pairs: the command line does not compare documents that an earlier center has taken."""
    page = page[page.index('<section id="results">'):page.index("<footer")]
    page = re.sub(r"<p>\S+ candidate pairs? verified", "<p>", page)
    return re.sub(r"<figure.*?</figure>", "", page, count=1, flags=re.DOTALL).splitlines()


def pair_of(a, b, row):
    facts = row["facts"] if "facts" in row else None
    template = row["template"] if "template" in row else False
    return [a, b, micros(row["similarity"]), row["match_type"], row["verified"], -1 if facts is None else micros(facts), template]


class OnSpark:
    """`sameish.spark` on a DataFrame."""

    def __init__(self, spark, documents, checkpoints, partitions=4, limits=None):
        import sameish.spark

        rows = [tuple(document[name] for name in ("id", "n", "text", "source", "date")) for document in documents]
        self.frame = spark.createDataFrame(rows, SCHEMA).repartition(partitions)
        self.module = sameish.spark
        self.options = {"order": "n", "checkpoint_dir": str(checkpoints), "limits": limits}
        # Summary of the last `pairs` or `clusters`.
        self.summary = None

    def dedup(self, report=False, **settings):
        with self.module.dedup(self.frame, source="source", **{**self.options, **settings}) as result:
            rows = [row.asDict() for row in result.removed.collect()]
            return {
                "removed": sorted((row["id"], row["kept_id"], micros(row["similarity"]), row["verified"]) for row in rows),
                "kept": sorted(row["id"] for row in result.kept.select("id").collect()),
                "clusters": sorted((row["center"], row["id"]) for row in result.clusters.collect()),
                "summary": result.summary,
                "report": sections(result.report()) if report else None,
            }

    def pairs(self, **settings):
        with self.module.pairs(self.frame, **{**self.options, **settings}) as found:
            rows = found.table.collect()
            self.summary = found.summary
            assert found.summary["caps_hit"] == 0, found.summary
        return sorted(pair_of(row["a"], row["b"], row.asDict()) for row in rows)

    def clusters(self, **settings):
        with self.module.clusters(self.frame, **{**self.options, **settings}) as found:
            self.summary = found.summary
            return sorted((row["id"], row["center"]) for row in found.table.collect())
