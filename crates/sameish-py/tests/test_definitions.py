"""Sketches and the corpus against their definitions."""

import numpy as np
from cases import cases
from definitions import majority, minhash, near, wire
from hypothesis import given
from hypothesis import strategies as st

import sameish

U64 = st.integers(0, 2**64 - 1)


# `lower` of some characters makes letters that the seed's words have, such as the Kelvin sign; the engine folds ASCII alone
# there, which golden vectors hold. So: text without those few.
TEXT = st.text(alphabet=st.characters(exclude_characters="\u212a\u0130", exclude_categories=("Cs",)), max_size=200)
WORDS = st.lists(st.sampled_from("storm hits the coast a 42 x_y Große 東京 é".split()), max_size=30).map(" ".join)


@given(st.one_of(TEXT, WORDS))
@cases(1500)
def test_simhash_of_wire(text):
    assert sameish.simhash(text) == wire(text)


@given(st.lists(U64, max_size=40))
@cases(1000)
def test_simhash_of_features(features):
    assert sameish.SimHasher.sketch_features(features) == majority(features)
    assert sameish.SimHasher.sketch_features(np.array(features, dtype=np.uint64)) == majority(features)


@given(st.lists(st.tuples(U64, st.integers(0, 64)), max_size=20))
@cases(500)
def test_simhash_of_weighted_features(votes):
    features, weights = [f for f, _ in votes], [w / 4 for _, w in votes]
    assert sameish.SimHasher.sketch_features(features, weights) == (majority(features, weights) if votes else 0)


@given(st.lists(U64, min_size=1, max_size=30), st.integers(1, 130))
@cases(500)
def test_minhash_of_features(features, rows):
    signature = sameish.MinHasher(rows).sketch_features(features)
    assert signature is not None
    assert signature.rows.tolist() == minhash(features, rows)


CODE = st.one_of(U64, st.integers(0, 255), st.builds(lambda a, b: 1 << a | 1 << b, *[st.integers(0, 63)] * 2))


@given(
    st.lists(st.tuples(st.sampled_from(["insert", "remove", "insert_bulk", "remove_bulk"]), st.lists(CODE, max_size=12)), max_size=12),
    st.lists(CODE, max_size=12),
    st.sampled_from([(6, 3), (5, 3), (4, 0), (2, 1), (12, 6)]),
    st.booleans(),
)
@cases(600)
def test_corpus_is_a_scan(changes, queries, cut, arrays):
    corpus, model = sameish.Corpus(*cut), set()
    bits = cut[1]
    for change, codes in changes:
        known = {code for code in codes if code in model}
        changed = len(known) if change.startswith("remove") else len(set(codes) - known)
        if change.endswith("bulk"):
            given_ = np.array(codes, dtype=np.uint64) if arrays else codes
            assert getattr(corpus, change)(given_) == changed
        else:
            assert sum(getattr(corpus, change)(code) for code in codes) == changed
        model = model - set(codes) if change.startswith("remove") else model | set(codes)
    assert len(corpus) == len(model)
    assert corpus.to_array().tolist() == sorted(model)
    expected = [near(model, query, bits) for query in queries]
    assert [corpus.find_all(query) for query in queries] == expected
    assert corpus.find_all_bulk(queries) == expected
    array = np.array(queries, dtype=np.uint64)
    matches = corpus.find_all_bulk(array)
    assert [found.tolist() for found in matches] == expected
    assert len(matches) == len(queries) and matches.values.dtype == np.uint64
    firsts = corpus.find_first_bulk(queries)
    masked = corpus.find_first_bulk(array)
    assert masked.tolist() == firsts
    for query, first, all_ in zip(queries, firsts, expected):
        assert (first in all_) if all_ else first is None
        assert (corpus.find_first(query) is None) == (not all_)
        assert (query in corpus) == (query in model)


@given(st.lists(st.tuples(CODE, st.integers(0, 50)), max_size=30), st.lists(CODE, max_size=8), st.integers(0, 8))
@cases(300)
def test_hamming_index_is_a_scan(entries, queries, radius):
    index = sameish.HammingIndex(radius)
    assert index.insert_bulk([code for code, _ in entries], [doc for _, doc in entries]) == len(set(entries))
    docs, distances, offsets = index.find_all_bulk(queries)
    for i, query in enumerate(queries):
        expected = sorted((sameish.hamming(code, query), doc) for code, doc in set(entries))
        expected = [(distance, doc) for distance, doc in expected if distance <= radius]
        assert [(hit.distance, hit.doc) for hit in index.find_all(query)] == expected
        bulk = slice(offsets[i], offsets[i + 1])
        assert list(zip(distances[bulk].tolist(), docs[bulk].tolist())) == expected
    assert len(sameish.HammingIndex.from_bytes(index.to_bytes())) == len(index)
