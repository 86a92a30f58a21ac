"""Corpora of the Spark tests. All are the same for every version of Python."""
from __future__ import annotations


class Random:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    def below(self, limit):
        return self.next() % limit

    def choice(self, items):
        return items[self.below(len(items))]


def _words(random, count):
    syllables = ["ba", "co", "di", "fu", "ge", "ha", "ki", "lo", "mu", "ne", "pa", "ro", "si", "tu", "va", "ze"]
    return ["".join(random.choice(syllables) for _ in range(2 + random.below(3))) for _ in range(count)]


def _edited(random, words, base, most):
    copy = list(base)
    for _ in range(random.below(most + 1)):
        copy[random.below(len(copy))] = random.choice(words)
    return copy


def _documents(random, texts):
    """Returns documents in a random order."""
    for last in range(len(texts) - 1, 0, -1):
        other = random.below(last + 1)
        texts[last], texts[other] = texts[other], texts[last]
    sources = ["north", "south", "wire"]
    return [
        {"id": f"doc-{number}", "n": number, "text": text, "source": sources[number % 3], "date": f"2026-01-{1 + number % 28:02}"}
        for number, text in enumerate(texts)
    ]


# Letters of the syllables, as letters of two to four bytes in UTF-8. Each character of the last is a word.
_SCRIPTS = [
    str.maketrans("abcdefghiklmnoprstuvz", "абцдефгхиклмнопрстувз"),
    str.maketrans("abcdefghiklmnoprstuvz", "αβψδεφγηικλμνοπρστυωζ"),
    str.maketrans("abcdefghiklmnoprstuvz", "上下中大小人口日月山川水火木金土石王田力𠮷"),
]


def news(count=1200, seed=3):
    """Articles in families of edited copies, some of them equal, and single articles. Every fifth family is not in Latin script."""
    random = Random(seed)
    words = _words(random, 5000)
    texts = []
    while len(texts) < count:
        base = [random.choice(words) for _ in range(60 + random.below(80))]
        family = 1 if random.below(3) == 0 else 2 + random.below(6)
        script = random.choice(_SCRIPTS) if random.below(5) == 0 else {}
        texts += [" ".join(_edited(random, words, base, 6)).capitalize().translate(script) + "." for _ in range(family)]
        if random.below(8) == 0:
            texts += [texts[-1]] * 3 + [texts[-1].upper()]
    return _documents(random, texts[:count])


def headlines(count=800, seed=5):
    """Short headlines of 3 to 12 words, some of them too short for the preset."""
    random = Random(seed)
    words = _words(random, 3000)
    texts = []
    while len(texts) < count:
        base = [random.choice(words) for _ in range(3 + random.below(10))]
        texts += [" ".join(_edited(random, words, base, 1)) for _ in range(1 + random.below(4))]
    return _documents(random, texts[:count])


def templates_and_chains(seed=7, templates=60, chain=150):
    """Templates with other names and numbers, and chains in which only neighbors match."""
    random = Random(seed)
    words = _words(random, 4000)
    texts = []
    for _ in range(templates):
        base = [random.choice(words) for _ in range(80)]
        slots = sorted({random.below(80) for _ in range(3)})
        for _ in range(2 + random.below(4)):
            copy = list(base)
            for slot in slots:
                copy[slot] = str(random.below(100_000)) if random.below(3) else random.choice(words).capitalize()
            texts.append(" ".join(copy))
    for _ in range(2):
        texts += chain_texts(random, words, chain)
    return _documents(random, texts)


def chain_texts(random, words, length):
    """Returns texts that are windows of one long text: Jaccard 0.87 for neighbors, less than 0.8 for others."""
    long_text = [random.choice(words) for _ in range(4 * length + 60)]
    return [" ".join(long_text[4 * at:4 * at + 60]) for at in range(length)]


def one_bucket(count=1000, seed=11):
    """Nine of ten documents are near-copies of one text, and so share most of their buckets."""
    random = Random(seed)
    words = _words(random, 4000)
    base = [random.choice(words) for _ in range(120)]
    texts = [" ".join(_edited(random, words, base, 3)) for _ in range(count * 9 // 10)]
    texts += [" ".join(random.choice(words) for _ in range(80)) for _ in range(count - len(texts))]
    return _documents(random, texts)


def long_chain(count=3000, seed=13):
    """One chain, in the order of the documents."""
    random = Random(seed)
    texts = chain_texts(random, _words(random, 6000), count)
    return [{"id": f"doc-{number}", "n": number, "text": text, "source": None, "date": None} for number, text in enumerate(texts)]


def equal(count=5000, seed=17):
    """Nine of ten documents have the same text."""
    random = Random(seed)
    words = _words(random, 4000)
    text = " ".join(random.choice(words) for _ in range(60))
    texts = [text] * (count * 9 // 10)
    texts += [" ".join(random.choice(words) for _ in range(60)) for _ in range(count - len(texts))]
    return _documents(random, texts)


def notices(count=500, seed=19, edited=60):
    """Notices of one template, which share their buckets but differ in names and numbers; some are edited copies of another."""
    random = Random(seed)
    words = _words(random, 4000)
    body = [random.choice(words) for _ in range(90)]
    texts = []
    for number in range(count - edited):
        name = f"{random.choice(words).capitalize()} {random.choice(words).capitalize()}"
        texts.append(f"Notice {10_000 + 37 * number} of {name}: {' '.join(body)} until {1 + random.below(500_000)} {name}")
    for _ in range(edited):
        copy = random.choice(texts[:count - edited]).split(" ")
        copy[20 + random.below(60)] = random.choice(words)
        texts.append(" ".join(copy))
    return _documents(random, texts)
