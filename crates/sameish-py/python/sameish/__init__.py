"""Finds texts that are nearly the same, says how sure it is, and shows why.

>>> import sameish
>>> engine = sameish.Engine("wire")
>>> engine.add(1, "storm hits the coast").status
'ok'
>>> [match.id for match in engine.search("STORM hits the coast!")]
[1]

`Engine` holds documents; `dedup`, `pairs` and `cluster` take a whole corpus; `compare` two texts. `SimHasher`, `MinHasher`
and `SdrEncoder` make sketches; `Corpus`, `HammingIndex` and `BandIndex` find those that are near.
"""

from ._errors import (
    CorruptFile,
    Error,
    NumberError,
    ParquetError,
    SchemeMismatch,
    SettingError,
    TextError,
    UnknownId,
    VersionError,
    WrongType,
)
from ._sameish import (
    BandIndex,
    Corpus,
    Dedup,
    Engine,
    HammingIndex,
    Matches,
    MinHasher,
    Sdr,
    SdrEncoder,
    Signature,
    SimHasher,
    __version__,
    cluster,
    compare,
    dedup,
    hamming,
    pairs,
    simhash,
)
from ._types import Cluster, Comparison, Found, Hit, Inserted, Match, Near, Pair, Passage, Sketches

__all__ = [
    "BandIndex",
    "Cluster",
    "Comparison",
    "Corpus",
    "CorruptFile",
    "Dedup",
    "Engine",
    "Error",
    "Found",
    "HammingIndex",
    "Hit",
    "Inserted",
    "Match",
    "Matches",
    "MinHasher",
    "Near",
    "NumberError",
    "Pair",
    "ParquetError",
    "Passage",
    "SchemeMismatch",
    "Sdr",
    "SdrEncoder",
    "SettingError",
    "Signature",
    "SimHasher",
    "Sketches",
    "TextError",
    "UnknownId",
    "VersionError",
    "WrongType",
    "__version__",
    "cluster",
    "compare",
    "dedup",
    "hamming",
    "pairs",
    "simhash",
]
