"""How many cases are made up?"""

import os

from hypothesis import HealthCheck, settings

# So many times the cases: `CASES=10 tests/python`. Other ones each time, while a plain run has always the same.
TIMES = int(os.environ.get("CASES", "1"))

# No time limit for a single one: machines are slow when they like.
settings.register_profile(
    "sameish", deadline=None, derandomize=TIMES == 1, suppress_health_check=list(HealthCheck), print_blob=False
)
settings.load_profile("sameish")


def cases(count: int) -> settings:
    """How many cases a test has that are made up as it runs."""
    return settings(max_examples=count * TIMES)
