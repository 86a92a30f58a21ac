"""Sketches and indexes agree with reference implementations."""

import numpy as np
from cases import cases
from definitions import majority, minhash, wire, within
from hypothesis import given
from hypothesis import strategies as st

import sameish

U64 = st.integers(0, 2**64 - 1)


# Without U+212A and U+0130, whose lower case contains ASCII letters: preset `wire` converts only ASCII letters to lower case, as
# the golden vectors require.
TEXT = st.text(alphabet=st.characters(exclude_characters="\u212a\u0130", exclude_categories=("Cs",)), max_size=200)
WORDS = st.lists(st.sampled_from("storm hits the coast a 42 x_y Große 東京 é".split()), max_size=30).map(" ".join)


@given(st.one_of(TEXT, WORDS))
@cases(1500)
def test_wire_simhash_agrees_with_reference(text):
    assert sameish.simhash(text) == wire(text)


@given(st.lists(U64, max_size=40))
@cases(1000)
def test_simhash_of_features_agrees_with_reference(features):
    assert sameish.SimHasher.sketch_features(features) == majority(features)
    assert sameish.SimHasher.sketch_features(np.array(features, dtype=np.uint64)) == majority(features)


@given(st.lists(st.tuples(U64, st.integers(0, 64)), max_size=20))
@cases(500)
def test_simhash_of_weighted_features_agrees_with_reference(votes):
    features, weights = [f for f, _ in votes], [w / 4 for _, w in votes]
    assert sameish.SimHasher.sketch_features(features, weights) == (majority(features, weights) if votes else 0)


@given(st.lists(U64, min_size=1, max_size=30), st.integers(1, 130))
@cases(500)
def test_minhash_of_features_agrees_with_reference(features, rows):
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
def test_corpus_agrees_with_linear_scan(changes, queries, blocks, arrays):
    corpus, model = sameish.Corpus(*blocks), set()
    bits = blocks[1]
    for change, codes in changes:
        present = {code for code in codes if code in model}
        changed = len(present) if change.startswith("remove") else len(set(codes) - present)
        if change.endswith("bulk"):
            argument = np.array(codes, dtype=np.uint64) if arrays else codes
            assert getattr(corpus, change)(argument) == changed
        else:
            assert sum(getattr(corpus, change)(code) for code in codes) == changed
        model = model - set(codes) if change.startswith("remove") else model | set(codes)
    assert len(corpus) == len(model)
    assert corpus.to_array().tolist() == sorted(model)
    expected = [within(model, query, bits) for query in queries]
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
def test_hamming_index_agrees_with_linear_scan(entries, queries, radius):
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
