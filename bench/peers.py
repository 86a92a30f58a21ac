"""Measures the peer libraries on the same texts: one thread, CPU time of the process, best and median of 5.

    python peers.py FILE.jsonl [DOCUMENTS]

Words are lower-case \\w+ (daft splits at spaces). Shingles are 3 consecutive words."""
import json
import re
import statistics
import sys
import time

import numpy as np

WORD = re.compile(r"\w+")
docs = [json.loads(line)["text"] for line in open(sys.argv[1], encoding="utf-8")]
docs = docs[: int(sys.argv[2]) if len(sys.argv) > 2 else 4000]
megabytes = sum(len(doc.encode()) for doc in docs) / 1e6


def timed(name, work, amount=megabytes, unit="MB/s"):
    seconds = []
    for _ in range(5):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    print(f"{name:<58} {amount / min(seconds):>8.1f} {unit} (median {amount / statistics.median(seconds):>8.1f})", flush=True)


def shingles(doc):
    words = WORD.findall(doc.lower())
    return [" ".join(words[i : i + 3]) for i in range(len(words) - 2)] or [" ".join(words)]


def daft_minhash():
    import daft
    from daft.functions import minhash

    table = daft.from_pydict({"t": docs}).collect()
    work = lambda: table.select(minhash(table["t"], num_hashes=128, ngram_size=3, hash_function="xxhash3_64")).collect()
    timed("daft MinHash-128, 3 words, xxhash3_64, from text", work)


def chdb_simhash():
    import chdb.session
    import pandas

    frame = pandas.DataFrame({"t": docs})  # The query below refers to this variable.
    session = chdb.session.Session()
    session.query("CREATE TABLE m (t String) ENGINE=Memory")
    session.query("INSERT INTO m SELECT t FROM Python(frame)")
    for words in (1, 3):
        query = f"SELECT sum(cityHash64(wordShingleSimHash(t,{words}))) FROM m SETTINGS max_threads=1"
        timed(f"chdb wordShingleSimHash, {words} words, from text", lambda: session.query(query))
    session.close()


def rensa_kernel():
    import rensa

    sets = rensa.RMinHash.hash_token_sets([shingles(doc) for doc in docs])
    flat = np.concatenate([np.asarray(s, dtype=np.uint64) for s in sets])
    ends = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.uint64)
    work = lambda: rensa.RMinHash.digest_matrix_from_flat_token_hashes(flat, ends, 128, 42)
    timed("rensa RMinHash-128 from precomputed hashes", work, len(flat) / 1e6, "M features/s")


daft_minhash()
chdb_simhash()
rensa_kernel()
