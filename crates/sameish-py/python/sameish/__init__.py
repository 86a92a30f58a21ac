"""Near-duplicate detection for texts, with verified matches and evidence.

`Engine` holds documents and searches them. `dedup`, `pairs` and `cluster` process a whole corpus;
`compare` compares two texts. `SimHasher`, `MinHasher` and `SdrEncoder` compute sketches; `Corpus`,
`HammingIndex` and `BandIndex` search them.

>>> import sameish
>>> engine = sameish.Engine("wire")
>>> engine.add(1, "storm hits the coast").status
'ok'
>>> [match.id for match in engine.search("STORM hits the coast!")]
[1]
"""

from ._batch import cluster, dedup, pairs
from ._dedup import Dedup
from ._errors import (
    CorruptFile,
    Error,
    InputError,
    LimitError,
    NumberError,
    RecordError,
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
    Engine,
    HammingIndex,
    Matches,
    MinHasher,
    Sdr,
    SdrEncoder,
    Signature,
    SimHasher,
    __version__,
    compare,
    hamming,
    simhash,
)
from ._types import Cluster, Comparison, Difference, Found, Hit, Inserted, Match, Near, Pair, Passage, Sketches

__all__ = [
    "BandIndex",
    "Cluster",
    "Comparison",
    "Difference",
    "Corpus",
    "CorruptFile",
    "Dedup",
    "Engine",
    "Error",
    "Found",
    "HammingIndex",
    "Hit",
    "InputError",
    "Inserted",
    "LimitError",
    "Match",
    "Matches",
    "MinHasher",
    "Near",
    "NumberError",
    "Pair",
    "RecordError",
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
