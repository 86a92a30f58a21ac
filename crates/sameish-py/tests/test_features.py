"""Lists of stop words, words and shingles, pairs and groups of fingerprints, parts of an index, wider searches."""

import json
import pathlib
import pickle

import numpy as np
import pytest

import sameish

TEXT = "The council voted on Monday to close the old bridge over the river for repairs until next spring"


def distance(a, b):
    return bin(int(a) ^ int(b)).count("1")


def fingerprints(count):
    random = np.random.default_rng(20)
    centers = random.integers(0, 2**64, size=count // 4, dtype=np.uint64)
    flips = np.uint64(1) << random.integers(0, 64, size=count, dtype=np.uint64)
    return np.concatenate([centers, centers[random.integers(0, len(centers), size=count - len(centers))]]) ^ flips


def test_stop_words_can_be_a_list_and_are_part_of_the_scheme():
    assert sameish.tokenize(TEXT, stop_words=["The", "council"])[:3] == ["voted", "on", "monday"]
    assert sameish.tokenize(TEXT, stop_words={"the"})[0] == "council"
    sketch = sameish.MinHasher(stop_words=["the", "on"]).sketch(TEXT)
    same = sameish.MinHasher(stop_words=["ON", "the", "the"]).sketch(TEXT)
    assert sketch.estimate(same) == 1
    with pytest.raises(sameish.SchemeMismatch):
        sketch.estimate(sameish.MinHasher(stop_words=["the"]).sketch(TEXT))
    with pytest.raises(sameish.SettingError, match="must be one word"):
        sameish.Engine(stop_words=["new york"])
    texts = [TEXT, TEXT.replace("The council", "council of")]
    assert sameish.dedup(texts, stop_words=["the", "of"]).kept.tolist() == [0]


def test_words_shingles_and_normalized_text():
    assert sameish.tokenize("Don\u2019t PANIC") == ["don't", "panic"]
    assert sameish.tokenize(["Given", "Tokens"]) == ["Given", "Tokens"]
    assert sameish.shingle("one two") == ["one two"]
    assert sameish.shingle("a bc", minhash={"shingle": "letters"}) == ["a", "a", "bc", "b", "c"]
    assert sameish.normalize("<p>Caf\u00e9", html=True, fold_accents=True) == "cafe"
    a, b = "one two three four five", "one two three four six"
    x, y = set(sameish.shingle(a)), set(sameish.shingle(b))
    assert sameish.compare(a, b).similarity == len(x & y) / len(x | y)


def test_band_keys_are_equal_where_bands_are():
    index = sameish.BandIndex(6, bands=(3, 2))
    a, b = index.keys([1, 2, 3, 4, 5, 6]), index.keys([1, 2, 9, 4, 5, 6])
    assert a.dtype == np.uint32 and (a == b).tolist() == [True, False, True]
    with pytest.raises(sameish.SchemeMismatch):
        index.keys([1, 2])


def test_pairs_of_fingerprints_equal_brute_force():
    hashes = fingerprints(400)
    for radius in (0, 3, 8):
        a, b, found = sameish.fingerprint_pairs(hashes, radius)
        expected = [
            (i, j, distance(hashes[i], hashes[j]))
            for j in range(len(hashes))
            for i in range(j)
            if distance(hashes[i], hashes[j]) <= radius
        ]
        assert list(zip(a.tolist(), b.tolist(), found.tolist())) == expected
        for limit in (0, 1, len(expected) // 2, len(expected)):
            limited = sameish.fingerprint_pairs(hashes, radius, limit_pairs=limit)
            assert list(zip(*(column.tolist() for column in limited))) == expected[:limit]
    assert [column.tolist() for column in sameish.fingerprint_pairs([])] == [[], [], []]
    with pytest.raises(sameish.SettingError, match="limit_pairs"):
        sameish.fingerprint_pairs(hashes, limit_pairs=-1)


def test_groups_of_fingerprints_equal_brute_force():
    hashes = fingerprints(400)
    centers = np.full(len(hashes), -1)
    for i in range(len(hashes)):
        if centers[i] < 0:
            for j in range(i, len(hashes)):
                if centers[j] < 0 and distance(hashes[i], hashes[j]) <= 3:
                    centers[j] = i
    assert sameish.fingerprint_groups(hashes).tolist() == centers.tolist()


def test_parts_find_together_what_the_index_finds():
    hashes = fingerprints(2000)
    index = sameish.HammingIndex(3)
    index.insert_bulk(hashes, range(len(hashes)))
    parts = index.parts(5)
    assert [part.part for part in parts] == [(i, 5) for i in range(5)] and index.part == (0, 1)
    parts = [sameish.HammingIndex.from_bytes(part.to_bytes()) for part in parts]
    for query in hashes[:200]:
        expected = sorted(index.find_all(int(query)))
        assert sorted(hit for part in parts for hit in part.find_all(int(query))) == expected
        asked = parts[0].parts_for(int(query))
        assert sorted(hit for i in asked for hit in parts[i].find_all(int(query))) == expected
    with pytest.raises(sameish.SettingError):
        parts[0].parts(2)


def test_corpus_accepts_every_division_into_blocks():
    hashes = [int(code) for code in fingerprints(300)]
    for blocks, bits in [(20, 16), (16, 8), (64, 3), (64, 63), (1, 0)]:
        corpus = sameish.Corpus(blocks, bits)
        corpus.insert_bulk(hashes)
        for query in hashes[:20]:
            expected = {code for code in hashes if distance(code, query) <= bits}
            assert set(corpus.find_all(query)) == expected, (blocks, bits)
    for blocks, bits in [(3, 3), (65, 3), (0, 0)]:
        with pytest.raises(sameish.Error):
            sameish.Corpus(blocks, bits)


def test_a_minimum_similarity_below_the_threshold_searches_more_widely():
    other = "The council voted on Monday to build a new tunnel under the river for traffic before next winter"
    for preset in ("wire", "web", "sdr", "copies"):
        engine = sameish.Engine(preset)
        engine.add(1, TEXT)
        assert engine.search(other) == []
        assert [match.id for match in engine.search(other, min_similarity=0.05)] == [1]


def test_differences_are_those_of_all_interfaces_in_code_points():
    path = pathlib.Path(__file__).parents[3] / "testdata" / "differences.json"
    for case in json.loads(path.read_text("utf-8")):
        a, b = case["a"], case["b"]
        found = sameish.compare(a, b).differences
        shown = [{"kind": d.kind, "a": a[d.a_start : d.a_end], "b": b[d.b_start : d.b_end]} for d in found]
        assert shown == case["differences"]


def test_pairs_list_templates_as_requested():
    words = [f"word{i}" for i in range(60)]
    base = " ".join(words)
    copy = " ".join([*words[:30], "other", *words[31:]])
    text = "Northern Steel Corp sets its regular quarterly dividend of {} cents a share, payable on April {} to holders of record on April {}"
    texts = [base, copy, text.format(10, 15, 2), text.format(35, 28, 9)]
    listed = {name: {(p.a, p.b) for p in sameish.pairs(texts, templates=name, threshold=0.3)} for name in ("include", "exclude", "only")}
    assert listed == {"include": {(0, 1), (2, 3)}, "exclude": {(0, 1)}, "only": {(2, 3)}}
    assert listed["include"] == {(p.a, p.b) for p in sameish.pairs(texts, threshold=0.3)}
    with pytest.raises(sameish.SettingError, match="`include`, `exclude` or `only`"):
        sameish.pairs(texts, templates="keep")


def test_results_estimate_their_recall():
    texts = [f"{TEXT} in the town number {i}" for i in range(40)]
    for found in (sameish.pairs(texts), sameish.cluster(texts, templates="merge"), sameish.dedup(texts, templates="merge").clusters):
        low, high = found.expected_recall_interval
        assert 0.9 < low <= found.expected_recall <= high <= 1
        assert (found.omitted, found.capped) == (0, 0)
        again = pickle.loads(pickle.dumps(found))
        assert (again.expected_recall, again.expected_recall_interval) == (found.expected_recall, (low, high))
    none = sameish.pairs(["one text of some words", "quite another text than that"])
    assert none.expected_recall == sameish.Engine().expected_recall and none.expected_recall_interval is None
    assert sameish.pairs(texts, preset="wire").expected_recall is None


def test_distances_have_a_similarity_and_a_match_type():
    assert [sameish.distance_to_similarity(distance) for distance in (0, 3, 32, 64)] == [1.0, 0.953125, 0.5, 0.0]
    kinds = [sameish.match_type(distance) for distance in (0, 1, 3, 4, 10, 11, 64)]
    assert kinds == ["exact", "near", "near", "similar", "similar", "different", "different"]
    assert sameish.match_type(2.5) == "near" and sameish.match_type(np.float64(3.5)) == "similar"
    for function in (sameish.distance_to_similarity, sameish.match_type):
        for distance in (-1, 65, float("nan")):
            with pytest.raises(sameish.SettingError, match="must be 0 to 64"):
                function(distance)


def test_sketches_can_be_stored_and_passed_to_other_interfaces(tmp_path):
    engine = sameish.Engine("articles")
    text = " ".join(f"word{i}" for i in range(80))
    sketches, schemes = engine.sketch(text), engine.schemes
    assert schemes.sdr is None and schemes.minhash == sketches.minhash.scheme
    for sketch, scheme in [(sketches.simhash, schemes.simhash), (sketches.minhash, schemes.minhash)]:
        stored = sameish.encode_sketch(sketch, scheme)
        assert sameish.decode_sketch(bytearray(stored), scheme) == sketch
        with pytest.raises(sameish.SchemeMismatch):
            sameish.decode_sketch(stored, "0123456789abcdef")
        with pytest.raises(sameish.CorruptFile):
            sameish.decode_sketch(stored[:-1], scheme)
    assert sameish.encode_sketch(f"{sketches.simhash:016x}", schemes.simhash) == sameish.encode_sketch(sketches.simhash, schemes.simhash)
    with pytest.raises(sameish.SchemeMismatch):
        sameish.encode_sketch(sketches.minhash, schemes.simhash)
    codes = sameish.Engine("sdr")
    code = codes.sketch(text).sdr
    assert sameish.decode_sketch(sameish.encode_sketch(code, codes.schemes.sdr), codes.schemes.sdr) == code
    # A record with the sketches in place of the text, as the other interfaces accept it.
    record = {
        "id": "sketch",
        "simhash": f"{sketches.simhash:016x}",
        "simhash_scheme": schemes.simhash,
        "minhash": sketches.minhash.to_hex(),
        "minhash_scheme": schemes.minhash,
    }
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps({"id": "text", "text": text}) + "\n" + json.dumps(record) + "\n")
    [pair] = sameish.pairs(path, id="id", preset="articles")
    assert (pair.a, pair.b, pair.similarity, pair.verified, pair.relation) == ("text", "sketch", 1.0, False, None)


def test_relations_of_pairs_and_comparisons(tmp_path):
    excerpt = " ".join(TEXT.split()[:9])
    update = TEXT + " after a long debate with the mayor"
    compared = sameish.compare(excerpt, TEXT, threshold=0.3)
    assert compared.relation == "contained_in"
    assert sameish.compare(TEXT, excerpt, threshold=0.3).relation == "contains"
    assert sameish.compare(TEXT, "markets were calm").relation is None
    dates = {"published_at_a": "2026-11-19", "published_at_b": "2026-11-18"}
    assert sameish.compare(update, TEXT, **dates).relation == "update_of"
    assert sameish.Engine().compare(TEXT, update, published_at_a="2026-11-18", published_at_b="2026-11-19").relation == "updated_by"
    assert sameish.compare(update, TEXT, published_at_a="2026-11-19").relation == "contains"
    with pytest.raises(sameish.SettingError, match="published_at_b"):
        sameish.compare(update, TEXT, published_at_b="soon")
    texts, days = [TEXT, excerpt, update, TEXT.upper()], ["2026-11-18", None, "2026-11-19", "2026-11-20"]
    expected = {(0, 1): "contains", (0, 2): "updated_by", (0, 3): "same", (1, 2): "contained_in", (1, 3): "contained_in", (2, 3): "contains"}
    engine = sameish.Engine(threshold=0.3)
    engine.add_many(range(4), texts, published_at=days)
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": t, "day": d}) + "\n" for t, d in zip(texts, days)))
    for pairs in (engine.pairs(), sameish.pairs(texts, date=days, threshold=0.3), sameish.pairs(path, date="day", threshold=0.3)):
        assert {(pair.a, pair.b): pair.relation for pair in pairs} == expected
    reverse = {"contains": "contained_in", "contained_in": "contains", "updated_by": "update_of", "same": "same"}
    for id in range(4):
        found = {match.id: match.relation for match in engine.search_id(id)}
        assert found == {b: relation for (a, b), relation in expected.items() if a == id} | {a: reverse[relation] for (a, b), relation in expected.items() if b == id}
    assert {match.id: match.relation for match in engine.search(TEXT)} == {0: "same", 1: "contains", 2: "contained_in", 3: "same"}
    assert {p.relation for p in sameish.pairs([TEXT, TEXT], preset="wire")} == {None}
    unverified = sameish.Engine("wire")
    unverified.add("a", TEXT)
    assert [match.relation for match in unverified.search(TEXT)] == [None]


TABLE = {
    "text": [TEXT, TEXT.upper(), TEXT + "!", "markets were calm on friday while traders waited for figures"],
    "host": ["a", "b", "a", None],
    "score": [1, None, 20, 3],
    "name": ["x", "z", None, "y"],
    "day": np.array(["2026-01-02", "2026-01-09", "2026-01-03", "NaT"], dtype="datetime64[s]"),
}


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars", "jsonl", "parquet"])
def test_dedup_keeps_by_field_and_per_source(library, tmp_path):
    table = pytest.importorskip("pyarrow").table(TABLE)
    if library in ("pandas", "polars"):
        pytest.importorskip(library)
        data = table.to_pandas() if library == "pandas" else __import__("polars").from_arrow(table)
    elif library == "parquet":
        import pyarrow.parquet

        data = tmp_path / "data.parquet"
        pyarrow.parquet.write_table(table, data)
    elif library == "jsonl":
        data = tmp_path / "data.jsonl"
        rows = table.drop_columns(["day"]).to_pylist()
        data.write_text("".join(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n" for row in rows))
    else:
        data = table
    kept = lambda **options: sameish.dedup(data, "text", **options).kept.tolist()  # noqa: E731
    assert kept() == [0, 3]
    assert kept(keep="field:score") == [2, 3]
    assert kept(keep="field:name") == [1, 3]
    if library not in ("jsonl", "parquet"):
        assert kept(keep="field:day") == [1, 3]
    assert kept(source="host", per_source=True) == [0, 1, 3]
    assert kept(source="host", per_source=True, keep="field:score") == [1, 2, 3]
    assert kept(source="host") == [0, 3]
    with pytest.raises(sameish.SettingError, match="none"):
        kept(keep="field:none")


def test_sources_of_lists():
    texts, hosts = TABLE["text"], TABLE["host"]
    assert sameish.dedup(texts, source=hosts, per_source=True).kept.tolist() == [0, 1, 3]
    with pytest.raises(sameish.SettingError, match="`per_source` requires sources"):
        sameish.dedup(texts, per_source=True)
    with pytest.raises(sameish.SettingError, match="lengths must be equal"):
        sameish.dedup(texts, source=hosts[:2], per_source=True)
    with pytest.raises(sameish.WrongType, match="not a table"):
        sameish.dedup(texts, keep="field:score")
    with pytest.raises(sameish.WrongType, match="source at position 0"):
        sameish.dedup(texts[:1], source=[object()], per_source=True)
