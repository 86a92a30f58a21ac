"""Invalid inputs raise documented exceptions that name their position."""

import numpy as np
import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import sameish

UNPAIRED = "an unpaired \ud800 surrogate"


@pytest.mark.parametrize(
    "call",
    [
        lambda t: sameish.simhash(t),
        lambda t: sameish.MinHasher().sketch(t),
        lambda t: sameish.SimHasher().sketch(t),
        lambda t: sameish.SdrEncoder(64, 5).encode(t),
        lambda t: sameish.Engine().add(1, t),
        lambda t: sameish.Engine().add(t, "text"),
        lambda t: sameish.Engine().search(t),
        lambda t: sameish.compare("a", t),
    ],
)
def test_rejects_invalid_text(call):
    with pytest.raises(sameish.TextError, match="unpaired surrogate") as caught:
        call(UNPAIRED)
    assert isinstance(caught.value, UnicodeError)
    for wrong in (b"bytes", 3.5, None):
        with pytest.raises(sameish.WrongType):
            call(wrong)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: sameish.MinHasher().sketch_many(t),
        lambda t: sameish.SimHasher().sketch_many(t),
        lambda t: sameish.Engine().add_many(range(len(t)), t),
        lambda t: sameish.dedup(t),
        lambda t: sameish.pairs(t),
        lambda t: sameish.cluster(t),
    ],
)
def test_rejects_invalid_item_of_texts(call):
    with pytest.raises(sameish.TextError, match="position 2 contains an unpaired surrogate"):
        call(["a", "b", UNPAIRED])
    for wrong in (None, b"bytes", 7, bytearray(b"x"), ["nested"]):
        with pytest.raises(sameish.WrongType, match="position 1 is of type"):
            call(["a", wrong])
    for wrong in ("a single text", b"bytes"):
        with pytest.raises(sameish.WrongType, match="must be a list or a column"):
            call(wrong)


def test_accepts_subclasses_of_str():
    class Text(str):
        pass

    assert sameish.simhash(Text("storm hits")) == sameish.simhash("storm hits")
    assert sameish.dedup([Text("a b c d"), "a b c d"]).removed.tolist() == [1]


def test_failed_bulk_call_changes_nothing():
    def broken():
        yield "one two three"
        raise RuntimeError("broken")

    engine = sameish.Engine()
    with pytest.raises(RuntimeError, match="broken"):
        engine.add_many([1, 2], broken())
    with pytest.raises(sameish.SettingError, match="lengths must be equal"):
        engine.add_many([1, 2], ["one"])
    with pytest.raises(sameish.SettingError, match="at positions 0 and 1"):
        engine.add_many([1, 1], ["one", "two"])
    with pytest.raises(sameish.TextError):
        engine.add_many([1, 2], ["one", UNPAIRED])
    assert len(engine) == 0
    corpus = sameish.Corpus(6, 3)
    with pytest.raises(RuntimeError):
        corpus.insert_bulk(1 if i < 3 else (_ for _ in ()).throw(RuntimeError) for i in range(5))
    with pytest.raises(sameish.WrongType):
        corpus.insert_bulk([1, 2, "3"])
    assert len(corpus) == 0


@pytest.mark.parametrize("value", [-1, 2**64, 2**200, -(2**70)])
def test_rejects_numbers_out_of_range(value):
    corpus = sameish.Corpus(6, 3)
    for call in (corpus.insert, corpus.remove, corpus.find_first, corpus.find_all, lambda v: sameish.hamming(v, 0)):
        with pytest.raises(sameish.NumberError, match=r"must be 0 to 2\*\*64 - 1") as caught:
            call(value)
        assert isinstance(caught.value, OverflowError)
    with pytest.raises(OverflowError, match="position 1"):
        corpus.insert_bulk([1, value])


def test_rejects_wrong_types_of_numbers():
    corpus = sameish.Corpus(6, 3)
    for wrong in (1.5, None, True, b"1", [1]):
        with pytest.raises(sameish.WrongType):
            corpus.insert(wrong)
    for dtype in ("int64", "uint32", "float64", "object", "bool"):
        with pytest.raises(sameish.WrongType, match=dtype):
            corpus.insert_bulk(np.array([1, 2]).astype(dtype))
    with pytest.raises(sameish.WrongType, match="2 dimensions"):
        corpus.insert_bulk(np.zeros((2, 2), dtype=np.uint64))
    with pytest.raises(sameish.WrongType):
        corpus.find_all_bulk(7)
    assert corpus.insert(np.uint64(2**64 - 1)) and corpus.find_first(2**64 - 1) == 2**64 - 1


def test_accepts_strided_and_read_only_arrays():
    base = np.arange(20, dtype=np.uint64) << np.uint64(40)
    read_only = base.copy()
    read_only.flags.writeable = False
    with pytest.raises(sameish.WrongType, match=">u8"):
        sameish.Corpus(6, 3).insert_bulk(base.astype(">u8"))
    for array in (base[::3], base[::-1], read_only, base.reshape(4, 5)[:, 1]):
        corpus = sameish.Corpus(6, 3)
        corpus.insert_bulk(array)
        assert corpus.to_array().tolist() == sorted(array.tolist())


@pytest.mark.parametrize(
    "hex, message",
    [
        ("short", "5 hex digits: must be 16"),
        ("0x23456789abcdef", "`x` at position 1"),
        ("0123456789abcdef0", "17 hex digits"),
        ("０23456789abcdef0", "position 0"),
        ("", "0 hex digits"),
    ],
)
def test_rejects_invalid_hex(hex, message):
    with pytest.raises(sameish.SettingError, match=message):
        sameish.hamming(hex, 0)
    assert sameish.hamming("0123456789ABCDEF", 0x0123456789ABCDEF) == 0


def test_rejects_invalid_ids():
    engine = sameish.Engine()
    for wrong in (1.5, None, True, b"id", (1,)):
        with pytest.raises(sameish.WrongType, match="must be an int or a str"):
            engine.add(wrong, "text")
    with pytest.raises(sameish.NumberError):
        engine.add(2**64, "text")
    with pytest.raises(sameish.WrongType, match="id at position 1 is null"):
        engine.add_many(pa.array([1, None]), ["a", "b"])


def test_rejects_invalid_utf8_in_arrow_columns():
    broken = pa.Array.from_buffers(
        pa.utf8(), 2, [None, pa.py_buffer(np.array([0, 2, 4], dtype=np.int32)), pa.py_buffer(b"ok\xff\xfe")]
    )
    for threads in (1, 2):
        with pytest.raises(sameish.TextError, match="position 1 is not valid UTF-8 at byte 0"):
            sameish.MinHasher().sketch_many(broken, threads=threads)
    with pytest.raises(sameish.TextError, match="position 1"):
        sameish.dedup(broken)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(alphabet=st.characters(), max_size=20)
    | st.binary(max_size=8) | st.just(UNPAIRED) | st.builds(lambda v: np.array(v), st.lists(st.integers(0, 9), max_size=3)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=6,
)
ENGINE = sameish.Engine("wire")
CORPUS = sameish.Corpus(6, 3)
CALLS = [
    lambda a, b: sameish.simhash(a),
    lambda a, b: sameish.hamming(a, b),
    lambda a, b: ENGINE.add(a, b),
    lambda a, b: ENGINE.add_many(a, b),
    lambda a, b: ENGINE.remove(a),
    lambda a, b: ENGINE.search(a, min_similarity=b),
    lambda a, b: ENGINE.search_id(a, limit=b),
    lambda a, b: a in ENGINE,
    lambda a, b: ENGINE.compare(a, b),
    lambda a, b: sameish.Engine(a, config=b),
    lambda a, b: sameish.Engine(threshold=a, minhash=b),
    lambda a, b: CORPUS.insert_bulk(a),
    lambda a, b: CORPUS.find_all_bulk(a),
    lambda a, b: CORPUS.find_first(b),
    lambda a, b: sameish.Corpus(a, b),
    lambda a, b: sameish.dedup(a, keep=b, threads=1),
    lambda a, b: sameish.pairs(a, id=b, threads=1),
    lambda a, b: sameish.cluster(a, date=b, threads=1),
    lambda a, b: sameish.SdrEncoder(64, 5, vocabulary=a, excludes=b),
    lambda a, b: sameish.Sdr(64, a),
    lambda a, b: sameish.MinHasher(8).sketch_features(a),
    lambda a, b: sameish.SimHasher.sketch_features(a, b),
    lambda a, b: sameish.BandIndex(8).insert(a, b),
    lambda a, b: sameish.HammingIndex(3).insert_bulk(a, b),
]
# The conversion of arguments raises TypeError, ValueError and OverflowError, too.
DOCUMENTED = (sameish.Error, TypeError, ValueError, OverflowError, OSError)


@given(ANYTHING, ANYTHING, st.integers(0, len(CALLS) - 1))
@cases(6000)
def test_raises_only_documented_exceptions(a, b, call):
    try:
        CALLS[call](a, b)
    except DOCUMENTED:
        pass
