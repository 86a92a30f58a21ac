"""Deduplicates a file with daft: MinHash-128 of 3-word shingles, 16 bands of 8 rows, union-find. Keeps the lowest id per cluster.

    python daft_dedup.py IN.jsonl OUT.jsonl"""
import sys
import daft, numpy as np
from daft.functions import minhash

src, dst = sys.argv[1:3]
K, P, B, R = 3, 128, 16, 8
lines = open(src, "rb").read().splitlines()
parent = list(range(len(lines)))

def find(x):
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x

frame = daft.read_json(src)
signed = frame.select(
    frame["id"], minhash(frame["text"].lower(), num_hashes=P, ngram_size=K, hash_function="xxhash3_64").alias("m")
).to_arrow()
ids = signed["id"].to_numpy()
rows = signed["m"].combine_chunks().flatten().to_numpy().reshape(-1, P)
for band in range(B):
    keys = np.ascontiguousarray(rows[:, band * R : (band + 1) * R]).view(np.dtype((np.void, 4 * R))).ravel()
    _, inverse = np.unique(keys, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    sorted_keys = inverse[order]
    for p in np.flatnonzero(sorted_keys[1:] == sorted_keys[:-1]):
        a, b = find(int(ids[order[p]])), find(int(ids[order[p + 1]]))
        if a != b:
            parent[max(a, b)] = min(a, b)
with open(dst, "wb") as out:
    out.writelines(line + b"\n" for i, line in enumerate(lines) if find(i) == i)
