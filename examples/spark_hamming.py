"""Pairs of near fingerprints of one corpus with Apache Spark: the pairs that stored Hamming tables find (docs/scale.md).

    python examples/spark_hamming.py pairs.jsonl texts.jsonl...

Input: JSON lines with `id` and `text`. Output: one line per pair with `a`, `b` and `distance`, the number of differing bits.
"""

import json
import sys

from pyspark.sql import functions as F

from sameish import spark as sameish_spark

RADIUS = 3


def pairs_of(spark, inputs):
    """Returns the pairs of documents whose fingerprints, those of preset `wire`, differ in at most RADIUS bits."""

    def fingerprint(text):
        import sameish

        value = sameish.simhash(text)
        # A bigint has a sign, and a text without words has no fingerprint.
        return (value - (1 << 64) if value >= 1 << 63 else value) or None

    texts = spark.read.json(inputs)
    codes = texts.select("id", F.udf(fingerprint, "bigint")("text").alias("fingerprint"))
    return sameish_spark.hamming_join(codes, None, RADIUS).orderBy("a", "b")


def main(output, *inputs):
    from pyspark.sql import SparkSession

    found = pairs_of(SparkSession.builder.getOrCreate(), list(inputs))
    with open(output, "w", encoding="utf-8") as file:
        for row in found.toLocalIterator():
            file.write(json.dumps(row.asDict()) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
