#!/usr/bin/env python3
"""Writes the pairs of a labeled corpus whose Jaccard similarity is at least 0.3 and below 1.

    python3 bench/facts/corpus_pairs.py [--chars N] [--pad] gesetze_rev.jsonl > gesetze.jsonl

Each line is an object with the fields set, kind, copy, a and b. A pair is a copy if both documents have the same `cluster`. Shingles
have 3 words or, with --chars, N characters; the field similarity contains the similarity of the latter. With --pad, both texts get the same 16 short words at the end, which
weigh nothing, so that `facts` are measured on texts that are too short for them.
"""
import argparse
import collections
import json
import os
import re
import sys

PADDING = " the of to in it is at by on as an or if so we he"


def shingles(text, chars):
    words = re.findall(r"\w+", text.lower())
    if chars:
        text = " ".join(words)
        return {hash(text[i:i + chars]) for i in range(len(text) - chars + 1)}
    return {hash(tuple(words[i:i + 3])) for i in range(len(words) - 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chars", type=int)
    parser.add_argument("--pad", action="store_true")
    parser.add_argument("path")
    args = parser.parse_args()
    with open(args.path, encoding="utf-8") as file:
        docs = [json.loads(line) for line in file]
    sets = [shingles(doc["text"], args.chars) for doc in docs]
    padding = PADDING if args.pad else ""
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
                name = os.path.basename(args.path).split(".")[0]
                texts = {"a": docs[j]["text"] + padding, "b": docs[i]["text"] + padding}
                pair = {"set": name, "kind": "revision" if copy else "sibling", "copy": copy, **texts}
                if args.chars:
                    pair["similarity"] = jaccard
                print(json.dumps(pair, ensure_ascii=False))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    main()
