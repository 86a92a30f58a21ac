"""Engine, Sdr, signatures and indexes: results, settings, files and pickles."""

import copy
import os
import pickle

import numpy as np
import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import sameish

TEXT = "The council voted on Monday to close the old bridge over the river for repairs until next spring, said the mayor."
ALIKE = TEXT.replace("Monday", "Tuesday")
OTHER = "Markets were calm on Friday while traders waited for figures about jobs in the north of the country."


@pytest.fixture
def engine():
    engine = sameish.Engine("copies", threshold=0.6)
    engine.add_many(["a", "b", 3], [TEXT, OTHER, ALIKE])
    return engine


def test_search_finds_by_text_and_by_id(engine):
    found = engine.search(TEXT)
    assert [match.id for match in found] == ["a", 3]
    assert found[0] == sameish.Match("a", 1.0, "exact", True, None, 1.0, False, "same")
    assert [match.id for match in engine.search_id("a")] == [3]
    assert engine.search(TEXT, limit=1) == found[:1]
    assert engine.search(TEXT, min_similarity=0.9) == found[:1]


def test_ids_keep_their_type(engine):
    assert len(engine) == 3 and "a" in engine and 3 in engine and "3" not in engine
    assert engine.remove(3) is True and engine.remove(3) is False
    assert engine.add("a", OTHER).replaced is True
    engine.add(2**64 - 1, TEXT)
    engine.add(-(2**63), TEXT)
    assert {match.id for match in engine.search(TEXT)} == {2**64 - 1, -(2**63)}


def test_pairs_and_clusters_of_templates(engine):
    assert [(p.a, p.b) for p in engine.pairs()] == [("a", 3)]
    assert engine.pairs(limit=0) == []
    # The texts differ in the weekday only, so they are templates, which the preset keeps in separate clusters.
    assert engine.pairs()[0].template is True
    assert [c.members for c in engine.clusters()] == [["a"], ["b"], [3]]
    merging = sameish.Engine("copies", threshold=0.6, templates="merge")
    merging.add_many(["a", "b", 3], [TEXT, OTHER, ALIKE])
    clusters = merging.clusters()
    assert [c.members for c in clusters] == [["a", 3], ["b"]]
    assert clusters[1].mean_similarity == 1.0


def test_fingerprints_alone_are_duplicates_only_if_unverified_matches_are_allowed():
    # Two short texts without a common word whose fingerprints differ in 5 bits.
    texts = ["New hospital backs joint strike east", "National river halts national water soon"]
    for unverified in [False, True]:
        settings = {"preset": "articles", "unverified": unverified}
        engine = sameish.Engine(**settings)
        engine.add_many([0, 1], texts)
        expected = [[0, 1]] if unverified else [[0], [1]]
        assert [c.members for c in engine.clusters()] == expected
        assert [c.members for c in sameish.cluster(texts, **settings)] == expected
        assert [pair.verified for pair in sameish.pairs(texts, **settings)] == ([False] if unverified else [])
        assert sameish.dedup(texts, **settings).removed.tolist() == ([1] if unverified else [])


def test_documents_can_be_lists_of_tokens(engine):
    engine.add("tokens", TEXT.lower().replace(",", "").replace(".", "").split())
    assert "tokens" in [match.id for match in engine.search(TEXT)]


def test_settings_are_equal_as_keywords_toml_and_mapping():
    by_keyword = sameish.Engine("copies", threshold=0.7, stop_words=None, minhash={"rows": 64})
    by_text = sameish.Engine(config='[matching]\nthreshold = 0.7\n[minhash]\nrows = 64')
    by_mapping = sameish.Engine(config={"matching": {"threshold": 0.7}, "minhash": {"rows": 64}})
    assert by_keyword.config == by_text.config == by_mapping.config
    assert "threshold = 0.7" in by_keyword.config and "rows = 64" in by_keyword.config
    assert sameish.Engine("wire").expected_recall is None
    assert by_keyword.expected_recall >= 0.99
    assert "bands" not in sameish.Engine("headlines", minhash={"bands": None}).config


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: sameish.Engine("nonsense"), "unknown preset `nonsense`: expected one of"),
        (lambda: sameish.Engine(threshold=float("nan")), "must be"),
        (lambda: sameish.Engine(threshold=1.1), "`matching.threshold` is 1.1"),
        (lambda: sameish.Engine(minhash={"rows": 0}), "`minhash.rows` is 0"),
        (lambda: sameish.Engine(minhash={"rows": 10**9}), "`minhash.rows` is 1000000000"),
        (lambda: sameish.Engine(minhash={"bands": {"count": 0, "rows": 5}}), "must be"),
        (lambda: sameish.Engine(config="threshold = "), "config: "),
        (lambda: sameish.Engine(matching={"treshold": 1}), "unknown field `treshold`"),
        (lambda: sameish.Corpus(3, 3), "must be less than the 3 blocks"),
        (lambda: sameish.Corpus(65, 3), "`num_blocks` is 65: must be 1 to 64"),
        (lambda: sameish.HammingIndex(65), "`radius` is 65: must be 0 to 64"),
        (lambda: sameish.MinHasher(0), "`minhash.rows` is 0"),
        (lambda: sameish.MinHasher(shingle="words:0"), "words:0"),
        (lambda: sameish.BandIndex(128, bands=(0, 4)), "must be"),
        (lambda: sameish.BandIndex(128, bands=(100, 4)), "must be"),
        (lambda: sameish.BandIndex(128, threshold=float("inf")), "must be"),
        (lambda: sameish.SdrEncoder(100, 5, 0.1), "must be"),
        (lambda: sameish.SdrEncoder(100, 101), "must be"),
        (lambda: sameish.SimHasher.sketch_features([1], [float("nan")]), "weight NaN"),
        (lambda: sameish.SimHasher.sketch_features([1], [-1.0]), "weight -1"),
        (lambda: sameish.SimHasher.sketch_features([1, 2], [1.0]), "lengths must be equal"),
        (lambda: sameish.Engine("copies").search(TEXT, limit=0), "`limit` is 0"),
        (lambda: sameish.Engine("copies").search(TEXT, min_similarity=2), "`min_similarity` is 2"),
        (lambda: sameish.compare(TEXT, OTHER, min_tokens=0), "`min_tokens` is 0"),
        (lambda: sameish.dedup([], keep="best"), "must be `first`, `longest`, `newest` or `field:NAME`"),
        (lambda: sameish.MinHasher().sketch_many([], threads=0), "`threads` is 0"),
    ],
)
def test_rejects_invalid_settings(make, message):
    with pytest.raises(sameish.SettingError) as caught:
        make()
    assert message in str(caught.value)
    assert isinstance(caught.value, sameish.Error) and isinstance(caught.value, ValueError)


def test_rejects_unknown_settings_and_ids(engine):
    with pytest.raises(TypeError, match="unknown setting `treshold`: must be `threshold`"):
        sameish.Engine(treshold=0.7)
    with pytest.raises(KeyError) as caught:
        engine.search_id("missing")
    assert isinstance(caught.value, sameish.UnknownId) and "missing" in str(caught.value)


def test_passages_are_slices_of_the_texts():
    a = "Große Brücke 東京: the council voted on Monday to close the bridge."
    b = "Ja — the council voted on Monday to close the bridge, 東京"
    comparison = sameish.compare(a, b)
    assert [a[p.a_start : p.a_end] for p in comparison.passages] == ["the council voted on Monday to close the bridge"]
    assert [b[p.b_start : p.b_end] for p in comparison.passages] == ["the council voted on Monday to close the bridge"]
    assert sameish.compare(TEXT, TEXT).match_type == "exact"
    assert sameish.compare(TEXT, "").too_short is True
    assert sameish.Engine("copies").compare(a, b) == comparison


@pytest.mark.parametrize("preset", ["wire", "articles", "sdr", "headlines", "web", "copies"])
def test_saved_engine_gives_equal_results(preset, tmp_path, texts):
    engine = sameish.Engine(preset)
    engine.add_many(list(texts), list(texts.values()))
    path = tmp_path / "engine.sameish"
    engine.save(path)
    again = sameish.Engine.load(str(path))
    assert again.config == engine.config and len(again) == len(texts)
    for other in (again, pickle.loads(pickle.dumps(engine)), sameish.Engine.from_bytes(engine.to_bytes())):
        assert other.pairs() == engine.pairs()
        assert other.clusters() == engine.clusters()
        for text in texts.values():
            assert other.search(text) == engine.search(text)
    assert [entry.name for entry in tmp_path.iterdir()] == ["engine.sameish"]


def test_rejects_damaged_files(tmp_path, engine):
    whole = engine.to_bytes()
    path = tmp_path / "engine.sameish"
    for damaged in [b"", b"PAR1", whole[:-1], whole[: len(whole) // 2], whole[:9], whole + b"\0"]:
        path.write_bytes(damaged)
        with pytest.raises(sameish.CorruptFile, match="at byte"):
            sameish.Engine.load(path)
    for at in range(12, len(whole), max(1, len(whole) // 97)):
        with pytest.raises(sameish.CorruptFile):
            sameish.Engine.from_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(sameish.VersionError, match="format version 9"):
        sameish.Engine.from_bytes(whole[:8] + b"\x09" + whole[9:])
    with pytest.raises(FileNotFoundError):
        sameish.Engine.load(tmp_path / "missing")


def test_failed_save_keeps_the_old_file(tmp_path, engine):
    """A limit on the file size has the effect of a full disk, also for root."""
    import subprocess
    import sys

    path = tmp_path / "engine.sameish"
    engine.save(path)
    old = path.read_bytes()
    code = (
        "import resource, signal, sameish, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "engine = sameish.Engine.load(sys.argv[1]); engine.add('more', 'word ' * 50)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))\n"
        "try: engine.save(sys.argv[1])\n"
        "except OSError: sys.exit(7)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)]).returncode == 7
    assert path.read_bytes() == old and len(list(tmp_path.iterdir())) == 1


DOCS = st.lists(
    st.tuples(st.integers(0, 6), st.lists(st.sampled_from("storm hits coast bridge closed market 42".split()), max_size=9)),
    max_size=15,
)


@given(DOCS, st.sampled_from(["wire", "headlines", "copies", "articles"]))
@cases(150)
def test_add_many_equals_repeated_add(docs, preset):
    one, many = sameish.Engine(preset), sameish.Engine(preset)
    latest = {id_: " ".join(words) for id_, words in docs}
    for id_, text in latest.items():
        one.add(id_, text)
    short = many.add_many(list(latest), list(latest.values()), threads=2)
    assert short == sum(one.sketch(text).status == "too_short" for text in latest.values())
    assert one.pairs() == many.pairs() and one.clusters() == many.clusters()
    again = sameish.Engine.from_bytes(many.to_bytes())
    assert again.pairs() == one.pairs() and again.clusters() == one.clusters()


def test_sdr_encoder_codes_overlap_and_compare():
    encoder = sameish.SdrEncoder(400, active_bits=21)
    sky, sun = encoder.encode("The sky is beautiful today"), encoder.encode("The sun is beautiful today")
    assert sky.sparse.dtype == np.uint32 and len(sky.sparse) == 21 and sky.dense.dtype == np.bool_
    assert np.flatnonzero(sky.dense).tolist() == sky.sparse.tolist()
    assert sky.overlap(sun) == len(set(sky.sparse.tolist()) & set(sun.sparse.tolist())) > 5
    assert encoder.encode("the sky is beautiful today".split()) == sky != sun
    assert sameish.Sdr(400, sky.sparse) == sky and hash(sameish.Sdr(400, sky.sparse)) == hash(sky)
    with pytest.raises(sameish.SchemeMismatch):
        sky.overlap(sameish.Sdr(401, [1]))
    with pytest.raises(sameish.SettingError, match="must be 1 to"):
        sameish.Sdr(2**32 - 1, [])
    weighted = sameish.SdrEncoder(
        400, sparsity=0.05, case_sensitivity=True, token_similarity=True, vocabulary={"sky": 3}, encode_orphans=True,
        excludes=["is"], frequency_floor=0, frequency_ceiling=9,
    )
    assert weighted.active_bits == 20
    assert weighted.encode("Sky is sky") == weighted.encode("Sky sky") != weighted.encode("sky sky")


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: sameish.Corpus(-1, 3), "`num_blocks` is -1: must be 1 to 64"),
        (lambda: sameish.SdrEncoder(-1, 5), "`size` is -1: must be 1 to"),
        (lambda: sameish.SdrEncoder(400), "must be given"),
        (lambda: sameish.SdrEncoder(400, 5, frequency_floor=-1), "`frequency_floor` is -1: must be 0 to 2"),
        (lambda: sameish.HammingIndex(-1), "`radius` is -1"),
        (lambda: sameish.HammingIndex(3).find_all(1, radius=5), "`radius` is 5: must be 0 to 3"),
        (lambda: sameish.BandIndex(-1), "`rows` is -1"),
        (lambda: sameish.MinHasher(16).sketch_many([], threads=-1), "`threads` is -1: must be 1 to 1024"),
        (lambda: sameish.Engine().search("x", limit=-1), "`limit` is -1: must be at least 1"),
        (lambda: sameish.cluster([], min_size=-1), "`min_size` is -1"),
        (lambda: sameish.compare("a", "b", min_tokens=-1), "`min_tokens` is -1"),
        (lambda: sameish.Sdr(10, [5, 1]), "positions below 10 in ascending order"),
        (lambda: sameish.BandIndex(4).insert(1, [2**32 - 1] * 4), "too few words"),
        (lambda: sameish.Engine().add(1, "a b c", published_at="yesterday"), "published_at"),
    ],
)
def test_errors_name_arguments_out_of_range(call, message):
    with pytest.raises(sameish.SettingError, match=message):
        call()


def test_errors_show_the_given_value():
    with pytest.raises(sameish.UnknownId, match='no document has the id "zzz"$'):
        sameish.Engine().search_id("zzz")
    with pytest.raises(sameish.UnknownId, match="no document has the id 7$"):
        sameish.Engine().search_id(7)
    with pytest.raises(sameish.WrongType, match="`minhash` must be a mapping"):
        sameish.Engine(minhash=5)
    with pytest.raises(sameish.WrongType, match="reshape it"):
        sameish.Corpus(6, 3).insert_bulk(np.zeros((2, 2), dtype=np.uint64))
    assert "threshold = 0.5" in sameish.Engine(threshold=np.float32(0.5), limit=np.int64(5)).config


def test_rejects_masked_fingerprints():
    corpus = sameish.Corpus(6, 3)
    corpus.insert_bulk([0, 2**63 + 12345])
    found = corpus.find_first_bulk(np.array([0xFFFFFFFF, 2**63 + 12345], np.uint64))
    with pytest.raises(sameish.WrongType, match=r"hashes at position 0 is masked: .*compressed"):
        corpus.remove_bulk(found)
    assert corpus.remove_bulk(found.compressed()) == 1 and len(corpus) == 1
    assert corpus.remove_bulk(np.ma.MaskedArray([0], dtype=np.uint64)) == 1


def test_dates_can_have_every_type():
    from datetime import date, datetime, timezone

    import pandas as pd

    texts = ["storm hits the coast"] * 3
    days = ["2024-01-01", "2024-01-03", "2024-01-02"]
    types = [
        days,
        [datetime.fromisoformat(day) for day in days],
        [datetime.fromisoformat(day).replace(tzinfo=timezone.utc) for day in days],
        [date.fromisoformat(day) for day in days],
        np.array(days, dtype="datetime64[D]"),
        np.array(days, dtype="datetime64[ns]"),
        list(pa.array(days).cast(pa.date32())),
        [pd.Timestamp(day) for day in days],
        pd.Series(pd.to_datetime(days)),
        pa.array(days).cast(pa.date32()),
        pa.array(days).cast(pa.date64()),
        pa.array(days).cast(pa.timestamp("ns")),
    ]
    for dates in types:
        assert sameish.dedup(texts, date=dates, keep="newest").kept.tolist() == [1], dates
        engine = sameish.Engine("wire")
        engine.add_many(range(3), texts, published_at=dates)
        assert engine.clusters()[0].center == 1
    engine = sameish.Engine("wire")
    for i, day in enumerate(types[1]):
        engine.add(i, texts[0], published_at=day)
    assert engine.clusters()[0].center == 1
    for missing in (None, np.datetime64("NaT"), pd.NaT, pd.NA, float("nan"), pa.scalar(None, pa.date32())):
        assert sameish.dedup(texts, date=[None, missing, "2024-01-01"], keep="newest").kept.tolist() == [2]
    assert sameish.dedup(texts, date=np.array(["2024-01", "2024-03", "2024-02"], "datetime64[M]"), keep="newest").kept.tolist() == [1]
    with pytest.raises(sameish.SettingError, match="date at position 1 is out of range"):
        sameish.dedup(texts[:2], date=pa.array([1, 2**62], pa.timestamp("s")), keep="newest")
    with pytest.raises(sameish.WrongType, match="date at position 0 is of type int"):
        sameish.dedup(texts[:1], date=[5])


def test_lossy_settings_accept_invalid_utf8():
    page = "caf\u00e9 opens at the harbor today".encode("latin-1")
    for engine in (sameish.Engine("web"), sameish.Engine("copies", lossy=True)):
        engine.add(1, page)
        engine.add_many([2], pa.array([page], pa.binary()))
        engine.add_many([3], [page])
        engine.add(4, "caf\udce9 opens at the harbor today")
        assert {match.id for match in engine.search(page)} >= {1, 2, 3, 4}
    assert sameish.dedup([page, page], preset="web").kept.tolist() == [0]
    assert sameish.simhash(page, "web") == sameish.simhash(page.decode("utf-8", "replace"), "web")
    with pytest.raises(sameish.WrongType, match="is of type bytes"):
        sameish.Engine("copies").add(1, page)
    with pytest.raises(sameish.TextError, match="position 0 is not valid UTF-8 at byte 3: .*lossy"):
        sameish.Engine("copies").add_many([1], pa.array([page], pa.binary()))


def test_passages_of_tokens_are_slices_of_lists():
    a, b = "aa bb cc dd ee ff".split(), "x aa bb cc dd ee".split()
    (passage,) = sameish.compare(a, b, min_tokens=3).passages
    assert a[passage.a_start : passage.a_end] == b[passage.b_start : passage.b_end] == "aa bb cc dd ee".split()
    a, b = "\ud800\ud801 \ud83d\ude00 x the old bridge is closed", "zz the old bridge is closed"
    (passage,) = sameish.compare(a, b, lossy=True).passages
    assert a[passage.a_start : passage.a_end] == b[passage.b_start : passage.b_end] == "the old bridge is closed"


def test_rejects_signatures_of_another_scheme():
    text = "one two three four five six"
    words, chars = sameish.MinHasher(64), sameish.MinHasher(64, shingle="chars:5")
    for other in (chars.sketch(text), sameish.MinHasher(65).sketch(text), words.sketch_features([1, 2, 3])):
        with pytest.raises(sameish.SchemeMismatch):
            words.sketch(text).estimate(other)
    index = sameish.BandIndex(64)
    index.insert(0, words.sketch(text))
    with pytest.raises(sameish.SchemeMismatch):
        index.insert(1, chars.sketch(text))
    with pytest.raises(sameish.Error):
        index.search(np.full(64, 2**32 - 1, dtype=np.uint32))
    with pytest.raises(sameish.Error):
        index.search(np.array([], dtype=np.uint32))
    assert words.sketch("") is None


def test_band_index_inserts_searches_and_removes():
    hasher = sameish.MinHasher(128)
    texts = [TEXT, OTHER, "", ALIKE]
    index = sameish.BandIndex(128, threshold=0.5, recall=0.999)
    assert index.insert_bulk(hasher.sketch_many(texts)) == 3
    assert len(index) == 3 and 2 not in index and 3 in index
    assert [near.doc for near in index.search(hasher.sketch(TEXT), 0.4)] == [0, 3]
    assert index.search(hasher.sketch(TEXT), 0.99) == [sameish.Near(0, 1.0)]
    assert index.remove(0) and not index.remove(0)
    assert index.probability(0.5) >= 0.999
    # Memory is reserved for all smaller numbers, so a number far above the number of documents is rejected.
    for large in (2**32 - 1, 2**28):
        with pytest.raises(sameish.NumberError, match="consecutively"):
            index.insert(large, hasher.sketch(TEXT))
        with pytest.raises(sameish.NumberError, match="consecutively"):
            index.insert_bulk(hasher.sketch_many([TEXT]), first=large)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sameish.SdrEncoder(400, 21).encode("The sky is beautiful"),
        lambda: sameish.MinHasher(16).sketch("one two three four"),
        lambda: sameish.compare(TEXT, ALIKE),
        lambda: sameish.Engine("copies").add("a", TEXT),
    ],
)
def test_pickled_results_are_equal(make):
    thing = make()
    assert pickle.loads(pickle.dumps(thing)) == thing


@pytest.mark.parametrize("copied", [lambda thing: pickle.loads(pickle.dumps(thing)), copy.copy, copy.deepcopy])
def test_hashers_and_results_pickle_and_copy(copied):
    text = "the council voted on monday to close the old bridge"
    for hasher in (sameish.MinHasher(48, shingle="chars:4", min_words=2), sameish.SimHasher(hash="fnv1a", weighting="uniform")):
        assert copied(hasher).sketch(text) == hasher.sketch(text)
    encoder = sameish.SdrEncoder(
        400, sparsity=0.05, case_sensitivity=True, vocabulary={"council": 3, "bridge": 1}, encode_orphans=True, excludes=["the"]
    )
    assert copied(encoder).encode(text) == encoder.encode(text)
    found = sameish.dedup([text, text + "!", "markets were calm"])
    again = copied(found)
    assert again.centers.tolist() == found.centers.tolist() and again.summary == found.summary and again.clusters == found.clusters
    corpus = sameish.Corpus(6, 3)
    corpus.insert_bulk([1, 2])
    matches = corpus.find_all_bulk(np.array([1, 2**64 - 1, 2], np.uint64))
    assert [found.tolist() for found in copied(matches)] == [found.tolist() for found in matches] == [[1, 2], [], [2, 1]]


def test_restores_stored_signatures():
    hasher, text = sameish.MinHasher(32), "the council voted on monday to close the old bridge"
    signature = hasher.sketch(text)
    assert hasher.signature(signature.to_bytes()) == hasher.signature(hasher.sketch_many([text])[0]) == signature
    with pytest.raises(sameish.SchemeMismatch):
        hasher.signature(signature.to_bytes()[:64])


def test_save_keeps_mode_and_links_and_rejects_special_files(tmp_path):
    path, engine = tmp_path / "engine", sameish.Engine()
    os.umask(mask := os.umask(0o022))
    engine.save(path)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    engine.save(link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileNotFoundError) as caught:
        sameish.Engine.load(tmp_path / "missing" / "x")
    assert caught.value.errno == 2 and str(caught.value.filename).endswith("x")
    with pytest.raises(FileNotFoundError):
        engine.save(tmp_path / "missing" / "x")
    with pytest.raises(IsADirectoryError):
        engine.save(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a device or a pipe"):
        engine.save(tmp_path / "pipe")
    assert not (tmp_path / "pipe").is_file()
    path.write_bytes(b"junk")
    with pytest.raises(sameish.CorruptFile, match="engine: "):
        sameish.Engine.load(path)
    for kind in (bytes, bytearray, memoryview):
        assert len(sameish.Engine.from_bytes(kind(engine.to_bytes()))) == 0


def test_pickled_indexes_give_equal_results():
    corpus = sameish.Corpus(6, 3)
    corpus.insert_bulk([1, 2, 2**64 - 1])
    again = pickle.loads(pickle.dumps(corpus))
    assert again.to_array().tolist() == corpus.to_array().tolist() and again.diff_bits == 3
    index = sameish.HammingIndex(2)
    index.insert(5, 1)
    assert pickle.loads(pickle.dumps(index)).find_all(4) == index.find_all(4)
    hasher, bands = sameish.MinHasher(16), sameish.BandIndex(16, bands=(8, 2))
    assert len(pickle.loads(pickle.dumps(bands))) == 0
    signatures = [hasher.sketch(f"storm hits the coast of {place} on monday") for place in ("here", "there", "elsewhere")]
    for doc, signature in zip((7, 2, 3), signatures):
        bands.insert(doc, signature)
    bands.remove(3)
    again = pickle.loads(pickle.dumps(bands))
    assert (len(again), again.bands, again.rows, 3 in again) == (2, (8, 2), 16, False)
    for signature in signatures:
        assert again.search(signature, 0.1) == bands.search(signature, 0.1) != []
    with pytest.raises(sameish.SchemeMismatch):
        again.insert(1, sameish.MinHasher(16, shingle="words:2").sketch("storm hits the coast"))
    # A modified pickle must not allocate too much memory, nor drop documents silently.
    rows, one = np.zeros((1, 16), np.uint32), np.zeros(1, np.uint32)
    with pytest.raises(sameish.NumberError, match="number documents consecutively"):
        sameish.BandIndex._restore(16, (8, 2), one + np.uint32(2**32 - 1), rows, None)
    with pytest.raises(sameish.SettingError, match="lengths must be equal"):
        sameish.BandIndex._restore(16, (8, 2), np.zeros(2, np.uint32), rows, None)


def is_ascending(numbers):
    return all(a < b for a, b in zip(numbers, numbers[1:]))


@given(st.one_of(st.binary(max_size=60), st.lists(st.integers(0, 127), max_size=15).map(lambda bits: np.array(bits, "<u4").tobytes())))
@cases(300)
def test_rejects_invalid_pickles(data):
    """A pickle is restored if and only if its bytes are valid; nothing but a documented exception is raised."""
    numbers = np.frombuffer(data[: len(data) // 4 * 4], "<u4").tolist()
    whole = len(data) % 4 == 0
    restores = [
        (lambda: sameish.Sdr._restore(100, data), whole and is_ascending(numbers) and max(numbers, default=0) < 100),
        (lambda: sameish.Signature._restore(data, 0), whole and any(row != 2**32 - 1 for row in numbers)),
        (lambda: sameish.Corpus._restore(6, 3, data), len(data) % 8 == 0),
        (lambda: sameish.HammingIndex.from_bytes(data), False),
        (lambda: sameish.Engine.from_bytes(data), False),
    ]
    for restore, valid in restores:
        if valid:
            restore()
        else:
            with pytest.raises(sameish.Error):
                restore()


def test_results_report_candidates_and_limits():
    engine = sameish.Engine("copies")
    text = "the council voted on monday to close the old bridge over the river"
    engine.add_many(range(3), [text, text + " today", "markets were calm on friday, traders said"])
    found = engine.search(text)
    assert isinstance(found, list) and isinstance(found, sameish.Found)
    assert (len(found), found.candidates, found.capped) == (2, 2, 0)
    for other in (engine.search_id(0), engine.pairs(), engine.clusters(), sameish.pairs([text, text + " today"])):
        assert isinstance(other, sameish.Found) and other.candidates >= 1 and other.capped == 0
    again = pickle.loads(pickle.dumps(found))
    assert again == found == list(found) and (type(again), again.candidates) == (sameish.Found, 2)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(found, protocol)).candidates == 2
        assert pickle.loads(pickle.dumps(sameish.dedup([text, text]), protocol)).kept.tolist() == [0]
    # A search reads only a part of a very large bucket, and reports it.
    index, row = sameish.BandIndex(2, bands=(2, 1)), np.zeros((70_000, 2), dtype=np.uint32)
    row[:, 1] = np.arange(70_000)
    index.insert_bulk(row)
    assert index.search([0, 1], 0.5).capped > 0


def test_html_and_accents_can_be_removed():
    html, plain = "<p>Le caf&eacute; du <b>port</b> est ouvert ce soir", "Le cafe du port est ouvert ce soir"
    comparison = sameish.compare(html, plain, html=True, fold_accents=True)
    passage = comparison.passages[0]
    assert (comparison.match_type, html[passage.a_start : passage.a_end]) == ("exact", html[3:])
    assert sameish.dedup([html, plain], html=True, fold_accents=True).removed.tolist() == [1]
    assert [p.match_type for p in sameish.pairs([html, plain], html=True, fold_accents=True)] == ["exact"]
    assert len(sameish.cluster([html, plain], html=True, fold_accents=True)) == 1
    assert sameish.dedup([html, plain]).removed.tolist() == []
    engine = sameish.Engine("copies", html=True, fold_accents=True)
    engine.add("a", html)
    assert [match.id for match in engine.search(plain)] == ["a"]
    assert "html" not in sameish.Engine("copies").config
