"""Number of generated cases.

`CASES=10 tests/python` generates ten times as many cases, with a new random seed; without it, cases are the same in every run.
"""

import os

from hypothesis import HealthCheck, settings

FACTOR = int(os.environ.get("CASES", "1"))

# No deadline per case, because test machines may be busy.
settings.register_profile(
    "sameish", deadline=None, derandomize=FACTOR == 1, suppress_health_check=list(HealthCheck), print_blob=False
)
settings.load_profile("sameish")


def cases(count: int) -> settings:
    """Returns the settings of a test with `count` generated cases."""
    return settings(max_examples=count * FACTOR)
