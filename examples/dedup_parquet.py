# %% [markdown]
# # Near copies in a Parquet file
#
# Runs as a notebook (cells by `# %%`) or as a script: `python dedup_parquet.py [CORPUS.parquet] [TEXT_COLUMN]`. Without a file it
# makes a small corpus of its own. Needs `sameish` and `pyarrow`; draws the histogram where `matplotlib` is installed.

# %%
import random
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import sameish

# %% [markdown]
# ## A corpus
#
# 400 reports, of which a quarter are copies of another with some of its words changed.

# %%
WORDS = (
    "harbor council bridge market river station winter budget school election storm ferry museum court engineers repairs "
    "minister quarter workers festival airport mayor police library stadium railway hospital village forest company"
).split()


def made_up(path: Path) -> Path:
    draw = random.Random(1)
    texts = [" ".join(draw.choices(WORDS, k=80)) for _ in range(300)]
    for _ in range(100):
        words = draw.choice(texts[:300]).split()
        for place in draw.sample(range(80), draw.randint(0, 12)):
            words[place] = draw.choice(WORDS)
        texts.append(" ".join(words))
    draw.shuffle(texts)
    pq.write_table(pa.table({"text": texts}), path)
    return path


arguments = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
folder = Path(tempfile.mkdtemp())
source = Path(arguments[0]) if arguments else made_up(folder / "corpus.parquet")
column = arguments[1] if len(arguments) > 1 else "text"

# %% [markdown]
# ## What would go
#
# Nothing is written yet: look first.

# %%
found = sameish.dedup(source, text=column, threshold=0.7)
print(found)
print(found.summary)

# %% [markdown]
# ## Why
#
# The largest cluster, and what its first two documents share.

# %%
table = pq.read_table(source)
texts = table[column].to_pylist()
largest = max(found.clusters, key=lambda cluster: len(cluster.members), default=None)
if largest is not None:
    a, b = largest.members[:2]
    comparison = sameish.compare(texts[a], texts[b])
    print(f"rows {a} and {b}: {comparison.match_type}, similarity {comparison.similarity:.3f}")
    for passage in comparison.passages[:3]:
        print("  both have:", texts[a][passage.a_start : passage.a_end][:100])

# %% [markdown]
# ## How alike are the pairs?
#
# A low threshold shows where copies end and strangers begin.

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
        matplotlib.use("Agg")  # a script has no screen to draw on
    import matplotlib.pyplot as plt
except ImportError:
    print("no matplotlib: the histogram above will do")
else:
    figure, axes = plt.subplots()
    axes.hist([pair.similarity for pair in pairs], bins=28, range=(0.3, 1.0))
    axes.axvline(0.7, linestyle="--", color="black", label="threshold")
    axes.set_xlabel("similarity")
    axes.set_ylabel("pairs")
    axes.legend()
    figure.savefig(folder / "similarity.png")
    print("histogram:", folder / "similarity.png")

# %% [markdown]
# ## Keep one of each

# %%
kept = folder / "kept.parquet"
pq.write_table(found.take(table), kept)
print(f"{len(found.kept)} of {len(found)} rows in {kept}")
