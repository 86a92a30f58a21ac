"""Deduplicates JSONL files with Dask and `sameish.arrow`: every step works on a part of the data.

    pip install sameish pyarrow pandas dask
    python examples/dask_dedup.py OUT.jsonl IN.jsonl...

Each input is one part, and is read three times: to sign its texts, to select those of candidates, and to write the kept records. Rows
of buckets are divided by their keys, so that a task has the texts of one input or those of its own candidates, never those of all
documents. The signatures of all documents, about 250 bytes each, are in the memory of one task, and the matches, but no texts, are
collected for clustering; use `sameish.spark` for corpora for which that is too much.
"""
import json
import sys

import dask
import pyarrow as pa
import pyarrow.compute as pc

from sameish import arrow

# Number of parts of the buckets.
PARTS = 8


def read(path, first):
    with open(path, encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    return pa.table({"doc": pa.array(range(first, first + len(texts)), pa.int64()), "text": texts})


@dask.delayed
def sign(path, first):
    return arrow.sign(read(path, first))


@dask.delayed
def bucket_part(signed, copies, part):
    """Returns the rows of the buckets of one part, without copies of other documents."""
    leaders = signed.filter(pc.invert(pc.is_in(signed["doc"], copies["doc"])))
    rows = arrow.bucket_rows(leaders)
    number = pc.bit_wise_and(pc.cast(rows["key"], pa.int64()), PARTS - 1)
    return rows.filter(pc.equal(number, part))


def of_pairs(table, pairs):
    """Returns the rows of the documents of pairs."""
    docs = pa.chunked_array([*pairs["a"].chunks, *pairs["b"].chunks], pa.int64()).combine_chunks()
    return table.filter(pc.is_in(table["doc"], docs))


@dask.delayed(nout=PARTS)
def select(path, first, pairs):
    """Returns the texts of an input that each part of the pairs needs."""
    texts = read(path, first)
    return [of_pairs(texts, part) for part in pairs]


@dask.delayed
def verify(pairs, texts, signed):
    """Compares the pairs of a part. `texts` has the texts that it needs, of each input."""
    return arrow.verify(pairs, pa.concat_tables(texts), of_pairs(signed, pairs))


def main(output, *inputs):
    counts = [sum(1 for _ in open(path, encoding="utf-8")) for path in inputs]
    files = [(path, sum(counts[:at])) for at, path in enumerate(inputs)]
    signed = dask.delayed(lambda parts: pa.concat_tables(parts))([sign(path, first) for path, first in files])
    copies = dask.delayed(arrow.copies)(signed)
    buckets = [bucket_part(signed, copies, part) for part in range(PARTS)]
    pairs = [dask.delayed(arrow.candidates)(rows) for rows in buckets]
    texts = [select(path, first, pairs) for path, first in files]
    matches = [verify(part, [of_file[at] for of_file in texts], signed) for at, part in enumerate(pairs)]
    matches, copies = dask.compute(matches, copies)
    # Two texts may share buckets of several parts.
    joined = pa.concat_tables(matches).group_by(["a", "b", "similarity", "facts", "verified", "joins"]).aggregate([])
    removed = set(arrow.cluster(joined)["doc"].to_pylist()) | set(copies["doc"].to_pylist())
    with open(output, "w", encoding="utf-8") as file:
        number = 0
        for path in inputs:
            for line in open(path, encoding="utf-8"):
                if number not in removed:
                    file.write(line)
                number += 1
    print(f"{number} documents: {number - len(removed)} kept, {len(removed)} removed")


if __name__ == "__main__":
    main(*sys.argv[1:])
