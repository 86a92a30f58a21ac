import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import job  # noqa: E402


@pytest.fixture(scope="session")
def spark():
    """A cluster of two worker processes, each with one executor process; `$ENGINE` selects another one, such as `sail`."""
    with job.session(os.environ.get("ENGINE", "local-cluster[2,1,1024]")) as session:
        yield session
