import json
from pathlib import Path

import cases  # noqa: F401 -- loads the Hypothesis profile
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def vectors() -> Path:
    return ROOT / "testdata" / "sketches"


@pytest.fixture(scope="session")
def texts(vectors: Path) -> dict[str, str]:
    records = map(json.loads, (vectors / "texts.jsonl").read_text(encoding="utf-8").splitlines())
    return {record["id"]: record["text"] for record in records}
