"""What the sketches are, in plain Python."""

import re

MASK = 2**64 - 1


def fnv1a64(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def majority(features: list[int], weights: list[float] | None = None) -> int:
    """A bit is set where the features that have it outweigh those that have it not."""
    weights = weights or [1.0] * len(features)
    print_ = 0
    for bit in range(64):
        votes = sum(w if f >> bit & 1 else -w for f, w in zip(features, weights))
        if votes > 0:
            print_ |= 1 << bit
    return print_


def wire(text: str) -> int:
    """Seed 000: lower case, runs of two or more of a-z, 0-9 and _, FNV-1a, each occurrence votes once."""
    words = re.findall(r"[a-z0-9_]{2,}", text.lower())
    return majority([fnv1a64(word.encode()) for word in words])


def multipliers(count: int) -> list[int]:
    """The upper halves of SplitMix64's output from "Sameish", made odd."""
    state, found = 0x0053616D65697368, []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        found.append(((z ^ z >> 31) >> 32) | 1)
    return found


def minhash(features: list[int], rows: int) -> list[int]:
    """Row 32 g + l is the least a(16 g + l) * lo, row 32 g + 16 + l the least of the same plus hi, modulo 2**32."""
    constants = multipliers(512)
    signature = []
    for row in range(rows):
        a = constants[16 * (row // 32) + row % 16]
        plus = row % 32 >= 16
        signature.append(min((a * (f & 0xFFFFFFFF) + (f >> 32 if plus else 0)) & 0xFFFFFFFF for f in features))
    return signature


def near(codes: set[int], query: int, bits: int) -> list[int]:
    found = [code for code in codes if (code ^ query).bit_count() <= bits]
    return sorted(found, key=lambda code: ((code ^ query).bit_count(), code))
