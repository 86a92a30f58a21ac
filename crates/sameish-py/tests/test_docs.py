"""Examples in docstrings, docs/python.md, README.md and examples/ run; docstrings are complete."""

import ast
import doctest
import os
import re
import subprocess
import sys

import pytest
import stub_docs
from conftest import ROOT

import sameish


def test_docstring_examples_run():
    attempted = 0
    for module in (sameish, sameish._batch, sameish._sameish):
        failed, tried = doctest.testmod(module)
        assert failed == 0
        attempted += tried
    assert attempted > 30


@pytest.mark.parametrize("page", ["docs/python.md"])
def test_page_examples_run(page):
    failed, attempted = doctest.testfile(str(ROOT / page), module_relative=False, encoding="utf-8")
    assert failed == 0 and attempted > 20


def test_readme_examples_run():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.S)
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})


@pytest.mark.parametrize("page", ["docs/presets.md"])
def test_programs_of_a_page_print_what_their_comments_say(page, capsys):
    programs = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
    assert programs
    for program in programs:
        exec(compile(program, page, "exec"), {})
        expected = re.findall(r"^print\(.*\)  # (.*)$", program, re.M)
        assert expected and capsys.readouterr().out.splitlines() == expected, program


def test_public_names_have_docstrings():
    for name in sameish.__all__:
        thing = getattr(sameish, name)
        assert name == "__version__" or thing.__doc__, name
        if isinstance(thing, type) and thing.__module__ == "sameish":
            for member in vars(thing):
                assert member.startswith("_") or getattr(thing, member).__doc__, f"{name}.{member}"


def test_docstrings_describe_every_parameter():
    tree = ast.parse(stub_docs.STUB.read_text(encoding="utf-8"))
    described = 0
    for item in stub_docs.items(tree):
        functions = [item.node]
        if isinstance(item.node, ast.ClassDef):
            functions = [member for member in item.node.body if getattr(member, "name", "") == "__new__"]
        for function in functions:
            arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            for argument in arguments:
                if argument.arg not in ("self", "cls"):
                    assert re.search(rf"^ +{argument.arg}: ", item.docstring, re.M), f"{item.name}: {argument.arg}"
                    described += 1
    assert described > 100


def test_docstrings_describe_every_result_field():
    for name in sameish._types.__all__:
        thing = getattr(sameish, name)
        for field in getattr(thing, "_fields", thing.__slots__):
            assert field.startswith("_") or re.search(rf"^ +{field}: ", thing.__doc__, re.M), f"{name}.{field}"


def test_stub_has_the_docstrings_of_the_module():
    stub = stub_docs.STUB.read_text(encoding="utf-8")
    assert stub_docs.updated(stub) == stub, "run `python crates/sameish-py/tests/stub_docs.py`"


@pytest.mark.parametrize("has_matplotlib", [True, False])
def test_example_notebook_runs(has_matplotlib, tmp_path):
    script = ROOT / "examples" / "dedup_parquet.py"
    environment = {**os.environ, "TMPDIR": str(tmp_path), "MPLBACKEND": "Agg"}
    if not has_matplotlib:
        (tmp_path / "matplotlib.py").write_text("raise ImportError")
        environment["PYTHONPATH"] = str(tmp_path)
    out = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, timeout=120)
    assert out.returncode == 0, out.stderr
    assert ("histogram:" in out.stdout) == has_matplotlib
    assert bool(list(tmp_path.glob("*/similarity.png"))) == has_matplotlib and list(tmp_path.glob("*/kept.parquet"))
    kept, rows = map(int, re.search(r"(\d+) of (\d+) rows in", out.stdout).groups())
    assert rows == 400 and 290 <= kept < 400
