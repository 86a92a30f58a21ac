"""Benchmark of the Python package: bulk operations of Corpus, MinHash of a column, threads, and response to signals.

    bench.py T20k.jsonl DOCUMENTS

Prints best and median of 5; compare figures only within one run. The environment variable SAMEISH is the path of the command;
its `bench hamming` measures the same operations in Rust."""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa

import sameish

# Published figures of the original block-permuted index, in seconds: 1 million fingerprints, 5 blocks, 3 bits.
PUBLISHED = {"insert_bulk": 2.534197, "find_first_bulk": 4.795310, "find_all_bulk": 7.415205, "remove_bulk": 3.346022}
RUST = {"insert_bulk": "Bulk Insertion", "find_first_bulk": "Bulk Find First", "find_all_bulk": "Bulk Find All", "remove_bulk": "Bulk Removal"}
N = 1_000_000
RUNS = 5


def spread(times):
    return f"{min(times):8.3f} best {statistics.median(times):8.3f} median"


def queries_of(codes, rng):
    """Returns random queries; every second one is a code with up to 3 bits flipped, as in `sameish bench hamming`."""
    queries = rng.integers(0, 2**64, N, dtype=np.uint64)
    planted = codes[1::2].copy()
    flips = rng.integers(0, 4, len(planted))
    for flip in range(3):
        bits = np.uint64(1) << rng.integers(0, 64, len(planted), dtype=np.uint64)
        planted[flips > flip] ^= bits[flips > flip]
    queries[1::2] = planted
    return queries


def corpus_times(codes, queries):
    times = {name: [] for name in PUBLISHED}
    for _ in range(RUNS):
        corpus = sameish.Corpus(5, 3)
        for name in PUBLISHED:
            argument = queries if name.startswith("find") else codes
            start = time.perf_counter()
            found = getattr(corpus, name)(argument)
            times[name].append(time.perf_counter() - start)
            if name == "find_all_bulk":
                last = found
    return times, last


def corpus():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2**64, N, dtype=np.uint64)
    queries = queries_of(codes, rng)
    rust = {name: [] for name in RUST}
    for _ in range(RUNS):
        report = json.loads(subprocess.check_output([os.environ["SAMEISH"], "bench", "hamming", "--json"]))
        for name, step in RUST.items():
            rust[name] += [entry["seconds"] for entry in report["steps"] if entry["name"] == step]
    arrays, found = corpus_times(codes, queries)
    lists, _ = corpus_times(codes.tolist(), queries.tolist())
    recall = np.mean([codes[i] in found[i] for i in range(1, 20001, 2)])
    print(f"Corpus, {N} fingerprints and queries, 3 bits, seconds; recall of 10,000 planted matches {recall:.4f}")
    for name in PUBLISHED:
        rest = f"{min(arrays[name]) / min(rust[name]):5.2f} x Rust   {PUBLISHED[name] / min(lists[name]):5.1f} x faster than published"
        print(f"  {name:16} Rust {spread(rust[name])} | NumPy {spread(arrays[name])} | lists {spread(lists[name])} | {rest}")


def timed(name, work, size, base=None, clock=time.process_time):
    """Measures the CPU time of all threads, which excludes other work on the machine. Pass a wall clock to measure threads."""
    times = []
    for _ in range(RUNS):
        start = clock()
        work()
        times.append(clock() - start)
    best = size / min(times) / 1e6
    against = f"  sameish is {base / best:.1f} x as fast" if base else ""
    print(f"  {name:46} {best:8.1f} MB/s best {size / statistics.median(times) / 1e6:8.1f} median{against}")
    return best


def shingles(text):
    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[i : i + 3]) for i in range(max(1, len(words) - 2))]


def minhash(path, documents):
    texts = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            texts.append(json.loads(line)["text"])
            if len(texts) == documents:
                break
    size = sum(len(text.encode()) for text in texts)
    column = pa.array(texts)
    print(f"MinHash-128 of 3-word shingles from text, {documents} documents, {size / 1e6:.1f} MB")
    hasher = sameish.MinHasher(128)
    one = timed("sameish, Arrow column, one thread", lambda: hasher.sketch_many(column, threads=1), size)
    wall = time.perf_counter
    walls = [
        timed(f"sameish, Arrow column, {n} threads, wall time", lambda: hasher.sketch_many(column, threads=n), size, clock=wall)
        for n in (1, 2)
    ]
    print(f"  speedup of two threads: {walls[1] / walls[0]:.2f} x")
    timed("sameish, list of str, one thread", lambda: hasher.sketch_many(texts, threads=1), size)
    import daft
    import rensa
    from daft.functions import minhash

    daft.set_runner_native()
    table = daft.from_arrow(pa.table({"t": column})).collect()
    command = lambda: table.select(minhash(daft.col("t"), num_hashes=128, ngram_size=3, hash_function="xxhash3_64")).collect()
    timed("daft minhash, xxhash3_64", command, size, one)

    def rensa_minhash():
        for text in texts:
            sketch = rensa.RMinHash(num_perm=128, seed=42)
            sketch.update(shingles(text))
            sketch.digest()

    timed("rensa RMinHash, shingles computed in Python", rensa_minhash, size, one)
    agreement(texts, hasher)


def agreement(texts, hasher):
    """Prints the error of the estimate for pairs of neighboring documents that share shingles."""
    sets = [set(shingles(text)) for text in texts[:1500]]
    rows = hasher.sketch_many(texts[:1500])
    errors = []
    for i in range(len(sets)):
        for j in range(i + 1, min(i + 40, len(sets))):
            exact = len(sets[i] & sets[j]) / len(sets[i] | sets[j])
            if exact >= 0.1:
                errors.append((rows[i] == rows[j]).mean() - exact)
    if errors:
        print(f"  estimate compared with exact Jaccard, {len(errors)} pairs of at least 0.1: bias {np.mean(errors):+.4f}, rmse {np.std(errors):.4f}")


def signals():
    """Measures the delay from SIGINT to KeyboardInterrupt."""
    texts = ["word %d here and there and everywhere " % i * 40 for i in range(20000)]
    codes = np.random.default_rng(1).integers(0, 2**64, 4 * N, dtype=np.uint64)
    calls = {
        "MinHasher.sketch_many": lambda: sameish.MinHasher(1024).sketch_many(texts * 4, threads=1),
        "Engine.add_many": lambda: sameish.Engine().add_many(range(20000), texts, threads=1),
        "Corpus.insert_bulk": lambda: sameish.Corpus(6, 3).insert_bulk(codes),
    }
    print("delay from SIGINT to KeyboardInterrupt")
    for name, call in calls.items():
        delays = []
        for _ in range(RUNS):
            sent = []

            def send():
                time.sleep(0.3)
                sent.append(time.perf_counter())
                os.kill(os.getpid(), signal.SIGINT)

            threading.Thread(target=send).start()
            try:
                while True:
                    call()
            except KeyboardInterrupt:
                delays.append((time.perf_counter() - sent[0]) * 1000)
            time.sleep(0.5)
        print(f"  {name:24} {max(delays):6.0f} ms worst, {statistics.median(delays):6.0f} median")


if __name__ == "__main__":
    print("load average", *os.getloadavg(), "on", os.cpu_count(), "cores; sameish", sameish.__version__)
    corpus()
    minhash(sys.argv[1], int(sys.argv[2]))
    signals()
    print("load average", *os.getloadavg())
