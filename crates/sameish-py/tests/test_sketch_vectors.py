"""Sketch vectors that every interface must reproduce: see `testdata/sketches/README.md`."""

import json

import numpy as np
import pytest

import sameish

PRESETS = ["wire", "articles", "sdr", "headlines", "web", "copies"]


@pytest.mark.parametrize("preset", PRESETS)
def test_engine_reproduces_the_sketch_vectors(preset, vectors, texts):
    engine = sameish.Engine(preset)
    expected = [json.loads(line) for line in (vectors / f"{preset}.jsonl").read_text().splitlines()]
    assert {record["id"] for record in expected} == set(texts)
    for record in expected:
        sketches = engine.sketch(texts[record["id"]])
        found = {"id": record["id"], "status": sketches.status}
        if sketches.simhash is not None:
            found["simhash"] = f"{sketches.simhash:016x}"
        if sketches.minhash is not None:
            found["minhash"] = sketches.minhash.to_hex()
        if sketches.sdr is not None:
            found["sdr"] = sketches.sdr.sparse.tolist()
        assert found == record


def test_hashers_match_the_engine(texts):
    engine = sameish.Engine("copies")
    hasher = sameish.MinHasher(128, shingle="words:3", min_words=3)
    rows = hasher.sketch_many(list(texts.values()))
    for text, row in zip(texts.values(), rows):
        signature = engine.sketch(text).minhash
        assert hasher.sketch(text) == signature
        assert (row == np.uint32(2**32 - 1)).all() if signature is None else (row == signature.rows).all()
    for text in texts.values():
        assert sameish.simhash(text) == sameish.Engine("wire").sketch(text).simhash
