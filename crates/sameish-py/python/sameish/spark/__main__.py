"""Command line: `python -m sameish.spark dedup IN OUT`, also as the program of `spark-submit`."""

from __future__ import annotations

import argparse
import glob
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._errors import Error, LimitError, RecordError

# Exit codes, as those of `sameish`.
_USAGE, _REJECTED, _UNREADABLE, _LIMIT, _OUTPUT = 2, 3, 4, 5, 6
# What a run writes besides the kept records, each to a directory of JSON lines: names of options, and of attributes of the result.
_LISTS = ["removed", "clusters", "rejects"]


class _Failure(Exception):
    """Ends the command with an exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def main(arguments: list[str] | None = None) -> int:
    """Runs a command. Returns the exit code: that of `sameish dedup` in the same case."""
    options = _parser().parse_args(arguments)
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession() or SparkSession.builder.appName("sameish dedup").getOrCreate()
    try:
        return _dedup(spark, options)
    except _Failure as failure:
        code, message = failure.code, str(failure)
    except RecordError as error:
        code, message = _REJECTED, str(error).replace('`on_bad="skip"`', "`--on-bad reject`")
    except LimitError as error:
        code, message = _LIMIT, f"{str(error).replace('`max_removed`', '`--max-removed`')} allows; nothing was written"
    except Error as error:
        code, message = _USAGE, str(error)
    print(f"error: {message}", file=sys.stderr)
    return code


def _dedup(spark: Any, options: argparse.Namespace) -> int:
    from . import dedup

    outputs = [] if options.dry_run else [options.output]
    outputs += [getattr(options, name) for name in _LISTS if getattr(options, name)]
    _refuse_overlaps(spark, options.input, outputs, options.report)
    if not options.overwrite:
        _refuse_existing(spark, outputs, options.report)
    columns = {name: getattr(options, name) for name in ("id", "text", "title", "source", "date", "order")}
    settings = {name: getattr(options, name) for name in ("threshold", "recall", "templates", "preset", "keep", "per_source")}
    settings["config"] = _config(options.config)
    settings |= {"on_bad": "fail" if options.on_bad == "fail" else "skip", "max_document": options.max_document}
    settings["max_removed"] = 1.0 if options.dry_run else options.max_removed
    with dedup(_read(spark, options), **columns, **settings, checkpoint_dir=options.checkpoint_dir) as result:
        # Lists and report first, so that a run whose outputs cannot be written does not leave the kept records alone.
        for name in _LISTS:
            if getattr(options, name):
                _write(getattr(result, name), "jsonl", getattr(options, name), options.overwrite)
        if options.report:
            _report(result, options.report)
        if not options.dry_run:
            _write(result.kept, options.format, options.output, options.overwrite)
        print(json.dumps(result.summary))
        return _REJECTED if result.summary["rejected"] and options.on_bad == "reject" else 0


def _config(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _Failure(_USAGE, f"cannot read `{path}`: {error}") from error


def _read(spark: Any, options: argparse.Namespace) -> Any:
    from pyspark.errors import PySparkException

    read: dict[str, Callable[[str], Any]] = {"parquet": spark.read.parquet, "jsonl": spark.read.json}
    try:
        frame = read[options.format](options.input)
        _ = frame.columns
    except PySparkException as error:
        raise _Failure(_UNREADABLE, f"cannot read `{options.input}`: {_first_line(error)}") from error
    return frame


def _refuse_overlaps(spark: Any, source: str, outputs: list[str], report: str | None) -> None:
    """Fails if an output is, contains, or is in the input or another output, so that none of them is replaced."""
    known = [(f"the input `{source}`", place) for place in _places_of_input(spark, source)]
    for path in [*outputs, *([report] if report else [])]:
        place = _local_place(path) if path == report else _place(spark, path)
        for name, other in known:
            if f"{place}/".startswith(f"{other}/") or f"{other}/".startswith(f"{place}/"):
                raise _Failure(_USAGE, f"output `{path}` overlaps with {name}: choose a path that is neither in it nor contains it")
        known.append((f"output `{path}`", place))


def _place(spark: Any, path: str) -> str:
    """Returns the absolute form of a path, without symbolic links if it is local."""
    try:
        place = spark._jvm.org.apache.hadoop.fs.Path(path)
        uri = place.getFileSystem(spark._jsc.hadoopConfiguration()).makeQualified(place).toUri()
        return _local_place(uri.getPath()) if uri.getScheme() == "file" else str(uri.toString()).rstrip("/")
    except Exception:  # Spark Connect has no JVM.
        local = path.removeprefix("file://")
        return path.rstrip("/") if "://" in local else _local_place(local)


def _local_place(path: str) -> str:
    return "file:" + os.path.realpath(path).rstrip("/")


def _places_of_input(spark: Any, path: str) -> list[str]:
    """Returns the places of the input, which may be a pattern such as `in/*.parquet`."""
    try:
        pattern = spark._jvm.org.apache.hadoop.fs.Path(path)
        found = pattern.getFileSystem(spark._jsc.hadoopConfiguration()).globStatus(pattern) or []
        paths = [status.getPath().toString() for status in found]
    except Exception:  # Spark Connect has no JVM.
        paths = [] if "://" in path else glob.glob(path)
    return [_place(spark, found) for found in paths or [path]]


def _refuse_existing(spark: Any, outputs: list[str], report: str | None) -> None:
    """Fails before any work if an output exists, as far as that can be found out. The report is a file of the driver."""
    exists = [path for path in outputs if _exists(spark, path)]
    if report and Path(report).exists():
        exists.append(report)
    if exists:
        raise _Failure(_OUTPUT, f"output `{exists[0]}` already exists; pass `--overwrite` to replace it")


def _exists(spark: Any, path: str) -> bool:
    try:
        place = spark._jvm.org.apache.hadoop.fs.Path(path)
        return bool(place.getFileSystem(spark._jsc.hadoopConfiguration()).exists(place))
    except Exception:  # Spark Connect has no JVM.
        return "://" not in path and Path(path).exists()


def _write(frame: Any, kind: str, path: str, overwrite: bool) -> None:
    from pyspark.errors import PySparkException

    writer = frame.write.mode("overwrite" if overwrite else "error")
    try:
        if kind == "parquet":
            writer.parquet(path)
        else:
            writer.option("ignoreNullFields", "false").json(path)
    except PySparkException as error:
        raise _Failure(_OUTPUT, f"cannot write `{path}`: {_first_line(error)}") from error


def _report(result: Any, path: str) -> None:
    page = result.report("python -m sameish.spark " + " ".join(sys.argv[1:]))
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise _Failure(_OUTPUT, f"cannot write `{path}`: {error.strerror}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sameish.spark", description="Near-duplicate detection on Apache Spark.")
    commands = parser.add_subparsers(dest="command", required=True)
    dedup = commands.add_parser("dedup", help="Keep one document per cluster of near-duplicates", description=(
        "Keep one document per cluster of near-duplicates. The summary is printed to standard output as JSON."), epilog=(
        "Exit codes: 0 success, 2 usage error, 3 some records rejected, 4 unreadable input, 5 limit reached (also --max-removed), "
        "6 output failed, 1 internal error."))
    dedup.add_argument("input", metavar="IN", help="Files or directory that Spark can read")
    dedup.add_argument("output", metavar="OUT", help="Directory for the kept records")
    dedup.add_argument("--format", choices=["parquet", "jsonl"], default="parquet", help="Format of input and output (default: parquet)")
    dedup.add_argument("--id", default="id", metavar="COLUMN", help="Column of ids (default: id)")
    dedup.add_argument("--text", default="text", metavar="COLUMN", help="Column of texts (default: text)")
    dedup.add_argument("--title", metavar="COLUMN", help="Column with the text of records whose text is null")
    dedup.add_argument("--source", metavar="COLUMN", help="Column of sources, for removals per source")
    dedup.add_argument("--date", metavar="COLUMN", help="Column of dates, for `--keep newest`")
    dedup.add_argument("--order", metavar="COLUMN", help="Column that defines the order of the documents (default: the ids)")
    dedup.add_argument("--keep", default="first", metavar="RULE", help="Document to keep: first, longest, newest or field:NAME")
    dedup.add_argument("--per-source", action="store_true", help="Keep one document per source in each cluster")
    dedup.add_argument("--threshold", type=float, help="Minimum similarity of a match (default: that of the preset)")
    dedup.add_argument("--recall", type=float, help="Minimum probability that a pair at the threshold is found")
    dedup.add_argument("--templates", choices=["keep", "merge"], help="Keep or merge texts with the same wording but other facts")
    dedup.add_argument("--preset", default="copies", choices=["copies", "articles", "headlines", "wire", "web"], help="Preset (default: copies)")
    dedup.add_argument("--config", metavar="FILE.toml", help="Read settings from FILE.toml")
    dedup.add_argument("--max-document", type=int, default=16 << 20, metavar="BYTES", help="Maximum length of a text (default: 16 MiB)")
    dedup.add_argument("--on-bad", default="reject", choices=["reject", "skip", "fail"], help=(
        "What happens to records that cannot be used: leave them out and exit with 3, leave them out, or stop (default: reject)"))
    dedup.add_argument("--max-removed", type=_fraction, default=0.9, metavar="FRACTION", help="Write nothing if more would be removed (default: 90%%)")
    dedup.add_argument("--dry-run", action="store_true", help="Do not write the kept records")
    dedup.add_argument("--removed", metavar="DIR", help="Write the removed documents to DIR as JSON")
    dedup.add_argument("--clusters", metavar="DIR", help="Write the clusters to DIR as JSON, one line per document")
    dedup.add_argument("--rejects", metavar="DIR", help="Write the records that cannot be used to DIR as JSON")
    dedup.add_argument("--report", metavar="FILE.html", help="Write an HTML report to a file of the driver")
    dedup.add_argument("--checkpoint-dir", metavar="DIR", help="Directory that all executors can read and write")
    dedup.add_argument("--overwrite", action="store_true", help="Replace existing outputs")
    return parser


def _fraction(text: str) -> float:
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a fraction: must be 0 to 1, or a percentage such as 90%")
    return value


if __name__ == "__main__":
    sys.exit(main())
