#!/usr/bin/env python3
"""Writes the pairs of a labeled corpus whose 3-word Jaccard similarity is at least 0.3 and below 1.

    python3 bench/facts/corpus_pairs.py gesetze_rev.jsonl > gesetze.jsonl

Each line is an object with the fields set, kind, copy, a and b. A pair is a copy if both documents have the same `cluster`.
"""
import collections
import json
import os
import re
import sys


def shingles(text):
    words = re.findall(r"\w+", text.lower())
    return {hash(tuple(words[i:i + 3])) for i in range(len(words) - 2)}


def main(path):
    with open(path, encoding="utf-8") as file:
        docs = [json.loads(line) for line in file]
    sets = [shingles(doc["text"]) for doc in docs]
    where = collections.defaultdict(list)
    for i, features in enumerate(sets):
        shared = collections.Counter()
        for feature in features:
            shared.update(where[feature])
            where[feature].append(i)
        for j, n in sorted(shared.items()):
            jaccard = n / (len(features) + len(sets[j]) - n)
            if .3 <= jaccard < 1:
                copy = docs[i]["cluster"] == docs[j]["cluster"]
                name = os.path.basename(path).split(".")[0]
                pair = {"set": name, "kind": "revision" if copy else "sibling", "copy": copy, "a": docs[j]["text"], "b": docs[i]["text"]}
                print(json.dumps(pair, ensure_ascii=False))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    main(sys.argv[1])
