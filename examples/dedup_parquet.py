# %% [markdown]
# # Near-duplicates in a Parquet file
#
# Runs as a notebook (cells marked by `# %%`) or as a script: `python dedup_parquet.py [CORPUS.parquet] [TEXT_COLUMN]`. Without a
# file it generates a small corpus. Needs `sameish` and `pyarrow`; plots a histogram if `matplotlib` is installed.

# %%
import random
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import sameish

# %% [markdown]
# ## Corpus
#
# 400 reports. A quarter of them are copies with some words changed.

# %%
WORDS = (
    "harbor council bridge market river station winter budget school election storm ferry museum court engineers repairs "
    "minister quarter workers festival airport mayor police library stadium railway hospital village forest company"
).split()


def generate(path: Path) -> Path:
    rng = random.Random(1)
    texts = [" ".join(rng.choices(WORDS, k=80)) for _ in range(300)]
    for _ in range(100):
        words = rng.choice(texts[:300]).split()
        for position in rng.sample(range(80), rng.randint(0, 12)):
            words[position] = rng.choice(WORDS)
        texts.append(" ".join(words))
    rng.shuffle(texts)
    pq.write_table(pa.table({"text": texts}), path)
    return path


arguments = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
directory = Path(tempfile.mkdtemp())
source = Path(arguments[0]) if arguments else generate(directory / "corpus.parquet")
column = arguments[1] if len(arguments) > 1 else "text"

# %% [markdown]
# ## Find near-duplicates
#
# Reads the file, which may be larger than memory, and writes the kept rows.

# %%
kept = directory / "kept.parquet"
result = sameish.dedup(source, text=column, threshold=0.7, output=kept)
print(result)
print(result.summary)

# %% [markdown]
# ## Show the evidence
#
# The largest cluster, and the passages that its first two documents share.

# %%
table = pq.read_table(source)
texts = table[column].to_pylist()
largest = max(result.clusters, key=lambda cluster: len(cluster.members), default=None)
if largest is not None:
    a, b = largest.members[:2]
    comparison = sameish.compare(texts[a], texts[b])
    print(f"rows {a} and {b}: {comparison.match_type}, similarity {comparison.similarity:.3f}")
    for passage in comparison.passages[:3]:
        print("  shared:", texts[a][passage.a_start : passage.a_end][:100])

# %% [markdown]
# ## Distribution of similarities
#
# A low threshold shows the gap between copies and unrelated documents.

# %%
pairs = sameish.pairs(source, text=column, threshold=0.3)
counts = [0] * 14
for pair in pairs:
    counts[min(13, int((pair.similarity - 0.3) / 0.05))] += 1
for i, count in enumerate(counts):
    print(f"{0.3 + i * 0.05:.2f} {'#' * (60 * count // max(1, max(counts)))} {count}")

# %%
try:
    import matplotlib

    if not hasattr(sys, "ps1") and "ipykernel" not in sys.modules:
        matplotlib.use("Agg")  # A script may run without a display.
    import matplotlib.pyplot as plt
except ImportError:
    print("matplotlib is not installed; skipping the plot")
else:
    figure, axes = plt.subplots()
    axes.hist([pair.similarity for pair in pairs], bins=28, range=(0.3, 1.0))
    axes.axvline(0.7, linestyle="--", color="black", label="threshold")
    axes.set_xlabel("similarity")
    axes.set_ylabel("pairs")
    axes.legend()
    figure.savefig(directory / "similarity.png")
    print("histogram:", directory / "similarity.png")

# %%
print(f"wrote {len(result.kept)} of {len(result)} rows into {kept}")
