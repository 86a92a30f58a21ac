"""Corpora that cost much in a naive near-duplicate search, and honest ones to compare them with.

`corpora.py KIND DOCUMENTS SEED BINARY FILE` writes a corpus as JSONL. The same arguments give the same bytes. `BINARY` is a
`sameish` program, which `forged` asks for signatures; it does not affect the other kinds. Seed 1 gives the numbers of words in the
descriptions below; with other seeds, these numbers and the places of changes vary, too.
"""
import json
import math
import random
import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data" / "hostile"
# Numbers of documents of the honest corpora between which figures are interpolated.
HONEST = [100, 300, 1_000, 2_000, 5_000, 10_000, 20_000]
ONSETS = "b c d f g h l m n p r s t v w y k j st tr pl gr".split()
VOWELS = "a e i o u ou ea".split()
CODAS = ["", "", "", "n", "r", "s", "t", "ng"]


class Seeded(random.Random):
    """Random numbers for a kind of corpus and a seed."""

    def __init__(self, kind, seed):
        super().__init__(f"{kind} {seed}")
        self.varies = seed != 1

    def about(self, number):
        """Returns the number, or with seeds other than 1 one that differs from it by up to a fifth."""
        return round(number * self.uniform(0.8, 1.2)) if self.varies else number


def word(rng, syllables=3):
    return "".join(rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS) for _ in range(syllables))


def words(rng, count, syllables=3):
    return [word(rng, syllables) for _ in range(count)]


def boilerplate(rng, documents, _, length=300):
    """Pages of 300 words, of which 90 % are shared and 10 % in one place are own: names, words and numbers."""
    length = rng.about(length)
    shared, numbers = words(rng, length * 9 // 10), length // 100
    place = rng.about(len(shared) * 4 // 9)
    for _ in range(documents):
        own = [w.capitalize() if rng.random() < 0.3 else w for w in words(rng, length // 10 - numbers)]
        own += [str(rng.randrange(10, 100_000)) for _ in range(numbers)]
        rng.shuffle(own)
        yield shared[:place] + own + shared[place:]


def boilerplate_long(rng, documents, binary):
    """Pages of 3,000 words like those of `boilerplate`."""
    return boilerplate(rng, documents, binary, 3_000)


def scattered(rng, documents, _, length=300):
    """Pages of 300 words with 12 own words in fixed places: the Jaccard similarity of two of them is 0.78."""
    shared = words(rng, rng.about(length))
    places = range(rng.about(10), len(shared), 25)
    for _ in range(documents):
        text = shared[:]
        for place in places:
            text[place] = word(rng)
        yield text


def scattered_long(rng, documents, binary):
    """Pages of 3,000 words like those of `scattered`."""
    return scattered(rng, documents, binary, 3_000)


def one_word(rng, documents, _):
    """Copies of a text of 100 words, each with one changed word."""
    shared = words(rng, rng.about(100))
    for _ in range(documents):
        text = shared[:]
        text[rng.randrange(len(text))] = word(rng, 4)
        yield text


def hub(rng, documents, _):
    """A text of 100 words in the middle, and copies with three changed words: these match the hub, but not each other."""
    center = words(rng, rng.about(100))
    middle = rng.about(documents // 2)
    for number in range(documents):
        text = center[:]
        for place in rng.sample(range(len(text)), 3) if number != middle else []:
            text[place] = word(rng, 4)
        yield text


def signatures(binary, texts):
    """Returns the MinHash rows of texts under preset `copies`."""
    lines = "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts))
    command = [binary, "fingerprint", "--preset", "copies", "--quiet", "-"]
    found = subprocess.run(command, input=lines, text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    for line in found:
        rows = bytes.fromhex(json.loads(line)["minhash"])
        yield [int.from_bytes(rows[i:i + 4], "little") for i in range(0, len(rows), 4)]


def forged(rng, documents, binary):
    """Texts with nearly equal signatures and a Jaccard similarity of about 0.2; of each hundredth, a copy with one changed word.

    Of 40,000 shingles, those with the smallest value of each row are in every text, in another order each.
    """
    shingles = [" ".join(words(rng, 3)) for _ in range(40_000)]
    best = [(2 ** 32, "")] * 128
    for shingle, rows in zip(shingles, signatures(binary, shingles)):
        best = [min(known, (row, shingle)) for known, row in zip(best, rows)]
    winners = sorted({shingle for _, shingle in best})
    earlier = []
    for number in range(documents):
        if number % 100 == 99:
            copy = rng.choice(earlier)[:]
            copy[rng.randrange(10)] = "copied"
            yield copy
            continue
        rng.shuffle(winners)
        text = words(rng, 10) + " ".join(winners).split()
        earlier.append(text)
        yield text


def headlines(rng, documents, _):
    """Headlines of 11 words, of which seven are shared."""
    shared = words(rng, rng.about(7), 2)
    for _ in range(documents):
        yield words(rng, 2, 2) + shared + words(rng, 2, 2)


def fnv1a(token):
    value = 0xCBF29CE484222325
    for byte in token.encode():
        value = (value ^ byte) * 0x100000001B3 & (2 ** 64 - 1)
    return value


def words_of_fingerprint(rng, free):
    """Returns 60 words whose fingerprint under preset `articles` has large sums in all but the `free` bits."""
    pool = [(token, [1 if fnv1a(token) >> bit & 1 else -1 for bit in range(64)]) for token in words(rng, 4_000)]
    free = set(rng.sample(range(64), free))
    goal = [0 if bit in free else rng.choice((-1, 1)) for bit in range(64)]
    sums, shared = [0] * 64, []
    for _ in range(60):
        def gain(entry):
            # Without free bits, the smallest sum counts most.
            return sum(g * v * (1 if free else math.exp(-g * s / 4)) if g else -0.3 * s * v
                       for g, v, s in zip(goal, entry[1], sums))
        token, votes = max(rng.sample(pool, 400), key=gain)
        shared.append(token)
        sums = [s + v for s, v in zip(sums, votes)]
    return shared


def prints(rng, documents, _):
    """Texts of 90 words in random order whose fingerprints under preset `articles` agree in 48 bits and differ in the others."""
    shared = words_of_fingerprint(rng, 16)
    for _ in range(documents):
        text = shared + words(rng, rng.about(30))
        rng.shuffle(text)
        yield text


def equal_prints(rng, documents, _):
    """Texts of 70 words in random order whose fingerprints under preset `articles` are equal; of each hundredth, a copy with one
    changed word."""
    shared = words_of_fingerprint(rng, 0)
    earlier = []
    for number in range(documents):
        if number % 100 == 99:
            text = rng.choice(earlier)[:]
            text[rng.randrange(len(text))] = "copied"
            yield text
            continue
        text = shared + words(rng, rng.about(10))
        rng.shuffle(text)
        earlier.append(text)
        yield text


# Characters that expand to 18, 8, 4 and up to 6 characters under compatibility decomposition.
EXPANDING = "\ufdfa\ufdfb\ufdf2\u3300\u3301\u3302\u3303\u3304\u3305\u3306\u3307\u3308\u3309\u3316\u3317\u332b\u3333\u3356"


def expanding(rng, documents, _):
    """Texts of 300 characters, most of them U+FDFA, which expand to many under compatibility folding."""
    length = rng.about(250)
    for _ in range(documents):
        text = ["\ufdfa" if rng.random() < 0.7 else rng.choice(EXPANDING) for _ in range(length)]
        for place in rng.sample(range(length), length // 5):
            text[place] += " "
        yield "".join(text).split(" ")


def letters(rng, documents, _):
    """Texts of 20 to 2,000 words, each of which is one of four letters."""
    shortest = rng.about(20)
    for _ in range(documents):
        yield rng.choices("abcd", k=int(shortest * 100 ** rng.random()))


KINDS = {
    "boilerplate": boilerplate,
    "boilerplate-long": boilerplate_long,
    "scattered": scattered,
    "scattered-long": scattered_long,
    "one-word": one_word,
    "hub": hub,
    "forged": forged,
    "headlines": headlines,
    "prints": prints,
    "equal-prints": equal_prints,
    "expanding": expanding,
    "letters": letters,
}
# Presets for which the corpora are made; `copies` for all other corpora.
PRESETS = {"headlines": "headlines", "prints": "articles", "equal-prints": "articles"}


def texts(kind, documents, seed, binary="sameish"):
    """Yields the texts of a corpus."""
    for tokens in KINDS[kind](Seeded(kind, seed), documents, binary):
        yield " ".join(tokens)


def write(kind, documents, seed, binary, out):
    """Writes a corpus as JSONL."""
    for number, text in enumerate(texts(kind, documents, seed, binary)):
        out.write(json.dumps({"id": f"{kind}-{number}", "text": text}, ensure_ascii=False) + "\n")


def hostile(kind, documents, seed, binary):
    """Returns the path of a corpus in `bench/data/hostile`, which it creates if necessary.

    A process of its own generates the corpus: the peak memory that the system reports for a process that is started later includes
    what its parent had in memory.
    """
    path = DATA / f"{kind}-{documents}-{seed}.jsonl"
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        subprocess.run([sys.executable, __file__, kind, str(documents), str(seed), binary, part], check=True)
        part.rename(path)
    return path


def honest(documents):
    """Returns the path of an honest corpus of `gen_text.rs`: news-like texts of 500 words, a quarter of them edited copies."""
    path = DATA / f"honest-{documents}.jsonl"
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        generator = DATA / "gen_text"
        subprocess.run(["rustc", "-O", DATA.parents[1] / "gen_text.rs", "-o", generator], check=True)
        subprocess.run([generator, str(documents), "1", path, f"{path}.truth"], check=True)
    return path


class Baseline:
    """Figures of honest corpora, interpolated linearly by bytes.

    `measure(path, key)` returns a dictionary of figures. Those in `constant` do not grow with the corpus.
    """

    def __init__(self, measure, constant=(), sizes=HONEST):
        self.measure, self.constant, self.sizes, self.points = measure, constant, sizes, {}

    def at(self, key, size):
        known = self.points.setdefault(key, [])
        for documents in self.sizes[len(known):]:
            if len(known) >= 2 and known[-1][0] >= size:
                break
            path = honest(documents)
            known.append((path.stat().st_size, self.measure(path, key)))
        upper = next((i for i in range(1, len(known)) if known[i][0] >= size), len(known) - 1)
        (x0, low), (x1, high) = known[upper - 1], known[upper]
        part = (size - x0) / (x1 - x0)
        lowest = {what: low[what] * size / x0 if part < 0 and what not in self.constant else 0 for what in low}
        return {what: max(low[what] + (high[what] - low[what]) * part, lowest[what]) for what in low}


if __name__ == "__main__":
    kind, documents, seed, binary, path = sys.argv[1:]
    with open(path, "w", encoding="utf-8") as out:
        write(kind, int(documents), int(seed), binary, out)
