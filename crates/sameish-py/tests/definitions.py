"""Reference implementations of the sketches and of the Hamming search."""

import re

MASK = 2**64 - 1


def fnv1a64(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def majority(features: list[int], weights: list[float] | None = None) -> int:
    """Returns the SimHash: a bit is 1 if the weight of the features with a 1 there exceeds that of the features with a 0."""
    weights = weights or [1.0] * len(features)
    fingerprint = 0
    for bit in range(64):
        votes = sum(w if f >> bit & 1 else -w for f, w in zip(features, weights))
        if votes > 0:
            fingerprint |= 1 << bit
    return fingerprint


def wire(text: str) -> int:
    """Returns the SimHash of preset `wire`: lower case, words of two or more of `a-z 0-9 _`, FNV-1a, weighted by frequency."""
    words = re.findall(r"[a-z0-9_]{2,}", text.lower())
    return majority([fnv1a64(word.encode()) for word in words])


def multipliers(count: int) -> list[int]:
    """Returns the upper halves of the output of SplitMix64 with seed "Sameish", made odd."""
    state = 0x0053616D65697368
    odd = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        odd.append(((z ^ z >> 31) >> 32) | 1)
    return odd


def minhash(features: list[int], rows: int) -> list[int]:
    """Returns a MinHash signature.

    With the constants a and the halves lo and hi of a feature, row 32 g + l is the minimum of a[16 g + l] * lo, and row
    32 g + 16 + l the minimum of a[16 g + l] * lo + hi, modulo 2**32.
    """
    constants = multipliers(512)
    signature = []
    for row in range(rows):
        a = constants[16 * (row // 32) + row % 16]
        plus = row % 32 >= 16
        signature.append(min((a * (f & 0xFFFFFFFF) + (f >> 32 if plus else 0)) & 0xFFFFFFFF for f in features))
    return signature


def within(codes: set[int], query: int, bits: int) -> list[int]:
    """Returns the codes within a Hamming distance, by distance, then by value."""
    found = [code for code in codes if (code ^ query).bit_count() <= bits]
    return sorted(found, key=lambda code: ((code ^ query).bit_count(), code))
