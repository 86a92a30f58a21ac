"""The examples in docstrings, in docs/python.md and in README.md, and the one in examples/."""

import doctest
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

import sameish


def test_docstrings():
    attempted = 0
    for module in (sameish, sameish._sameish):
        failed, tried = doctest.testmod(module)
        assert failed == 0
        attempted += tried
    assert attempted > 30


@pytest.mark.parametrize("page", ["docs/python.md"])
def test_pages(page):
    failed, attempted = doctest.testfile(str(ROOT / page), module_relative=False, encoding="utf-8")
    assert failed == 0 and attempted > 20


def test_readme():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.S)
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})


def test_everything_public_is_described():
    for name in sameish.__all__:
        thing = getattr(sameish, name)
        assert name == "__version__" or thing.__doc__, name
        if isinstance(thing, type) and thing.__module__ == "sameish":
            for member, value in vars(thing).items():
                assert member.startswith("_") or value.__doc__, f"{name}.{member}"


@pytest.mark.parametrize("plot", [True, False])
def test_the_notebook(plot, tmp_path):
    script = ROOT / "examples" / "dedup_parquet.py"
    environment = {**os.environ, "TMPDIR": str(tmp_path), "MPLBACKEND": "Agg"}
    if not plot:
        # As if it were not installed.
        (tmp_path / "matplotlib.py").write_text("raise ImportError")
        environment["PYTHONPATH"] = str(tmp_path)
    out = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, timeout=120)
    assert out.returncode == 0, out.stderr
    assert ("histogram:" in out.stdout) == plot
    assert bool(list(tmp_path.glob("*/similarity.png"))) == plot and list(tmp_path.glob("*/kept.parquet"))
    kept, rows = map(int, re.search(r"(\d+) of (\d+) rows in", out.stdout).groups())
    assert rows == 400 and 290 <= kept < 400
