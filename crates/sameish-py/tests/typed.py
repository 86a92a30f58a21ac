"""Typical uses, checked by `mypy --strict` and never executed."""

from pathlib import Path
from typing import Optional

import numpy as np
import numpy.typing as npt

import sameish


def uses(array: npt.NDArray[np.uint64]) -> None:
    engine = sameish.Engine("copies", threshold=0.7, minhash={"rows": 64})
    engine.add(1, "text").status
    short: int = engine.add_many(["a", 2], ["x", "y"], progress=lambda done, total: None)
    matches: list[sameish.Match] = engine.search("text", limit=3)
    similarity: float = matches[0].similarity
    pairs: list[sameish.Pair] = engine.pairs()
    corpus = sameish.Corpus(6, 3)
    first: Optional[int] = corpus.find_first(7)
    many: list[list[int]] = corpus.find_all_bulk([1, 2])
    values: npt.NDArray[np.uint64] = corpus.find_all_bulk(array).values
    signature: Optional[sameish.Signature] = sameish.MinHasher(64).sketch("text")
    rows: npt.NDArray[np.uint32] = sameish.MinHasher(64).sketch_many(["text"], threads=2)
    dense: npt.NDArray[np.bool_] = sameish.SdrEncoder(64, 5).encode(["a"]).dense
    kept: list[str] = sameish.dedup(["a", "b"], keep="longest").take(["a", "b"])
    passages: list[sameish.Passage] = sameish.compare("a", "b").passages
    clusters: list[sameish.Cluster] = sameish.cluster(["a"], id=[1])
    removed: npt.NDArray[np.int64] = sameish.dedup(Path("a.jsonl"), "body", id="key", against=[Path("b.jsonl")], output="c.jsonl").removed
    frame = sameish.pairs("*.csv.gz", threshold=0.7, stop_words=None, minhash={"rows": 64}, max_memory=1 << 30).to_frame("pandas")
    # A typo in the name of a setting, and values of other types. An error that is not reported makes the comment an error.
    sameish.dedup(["a"], treshold=0.7)  # type: ignore[call-arg]
    sameish.pairs(["a"], preset="copy")  # type: ignore[arg-type]
    sameish.cluster(["a"], threshold="0.7")  # type: ignore[arg-type]
    sameish.compare("a", "b", min_token=5)  # type: ignore[call-arg]
    sameish.dedup(5)  # type: ignore[arg-type]
    try:
        sameish.Engine.load("x")
    except sameish.CorruptFile as error:
        print(error, short, similarity, pairs, first, many, values, signature, rows, dense, kept, passages, clusters, removed, frame)
