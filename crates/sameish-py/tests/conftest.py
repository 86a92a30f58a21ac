import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[3]

# The same cases in every run, and no time limit for a single one: machines are slow when they like.
settings.register_profile(
    "sameish", deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), print_blob=False
)
settings.load_profile("sameish")


@pytest.fixture(scope="session")
def doors() -> Path:
    return ROOT / "testdata" / "doors"


@pytest.fixture(scope="session")
def texts(doors: Path) -> dict[str, str]:
    records = map(json.loads, (doors / "texts.jsonl").read_text(encoding="utf-8").splitlines())
    return {record["id"]: record["text"] for record in records}
