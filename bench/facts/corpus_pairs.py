#!/usr/bin/env python3
"""Writes the pairs of a labelled corpus whose Jaccard similarity of 3 words lies between 0.3 and 1.

    python3 bench/facts/corpus_pairs.py gesetze_rev.jsonl > gesetze.jsonl

A line is {"set", "kind", "copy", "a", "b"}; a pair is a copy where both documents have the same `cluster`.
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
