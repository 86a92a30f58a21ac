"""Near-duplicate detection for texts, with verified matches and evidence.

`Engine` holds documents and searches them. `dedup`, `pairs` and `cluster` process a whole corpus;
`compare` compares two texts. `SimHasher`, `MinHasher` and `SdrEncoder` compute sketches; `Corpus`,
`HammingIndex` and `BandIndex` search them, and `fingerprint_pairs` and `fingerprint_groups` process
a whole list of fingerprints. `tokenize`, `shingle` and `normalize` show what is compared.

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
    decode_sketch,
    distance_to_similarity,
    encode_sketch,
    fingerprint_groups,
    fingerprint_pairs,
    hamming,
    match_type,
    normalize,
    shingle,
    simhash,
    tokenize,
)
from ._types import (
    Cluster,
    Comparison,
    Difference,
    Found,
    Hit,
    Inserted,
    Match,
    Near,
    Pair,
    Passage,
    Schemes,
    Sketches,
)

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
    "Schemes",
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
    "decode_sketch",
    "dedup",
    "distance_to_similarity",
    "encode_sketch",
    "fingerprint_groups",
    "fingerprint_pairs",
    "hamming",
    "match_type",
    "normalize",
    "pairs",
    "shingle",
    "simhash",
    "tokenize",
]
