import json
from pathlib import Path

import cases  # noqa: F401 -- the profile, also for tests that ask for nothing else
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def vectors() -> Path:
    return ROOT / "testdata" / "sketches"


@pytest.fixture(scope="session")
def texts(vectors: Path) -> dict[str, str]:
    records = map(json.loads, (vectors / "texts.jsonl").read_text(encoding="utf-8").splitlines())
    return {record["id"]: record["text"] for record in records}
