"""Copies the docstrings of the compiled module into its type stub, because editors show those of the stub.

After changing a docstring in Rust, install the package and run `python crates/sameish-py/tests/stub_docs.py`.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Union

import sameish

STUB = Path(__file__).resolve().parents[1] / "python" / "sameish" / "_sameish.pyi"


class Item(NamedTuple):
    """A class, function, method or property of the stub, and its docstring in the compiled module."""

    name: str
    node: Union[ast.ClassDef, ast.FunctionDef]
    docstring: str


def items(tree: ast.Module) -> Iterator[Item]:
    """Yields the public classes, functions, methods and properties of the stub. Of overloads, yields the first."""
    for node in tree.body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or node.name.startswith("_"):
            continue
        thing = getattr(sameish._sameish, node.name)
        yield Item(node.name, node, inspect.getdoc(thing))
        seen = set()
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_") and member.name not in seen:
                seen.add(member.name)
                yield Item(f"{node.name}.{member.name}", member, inspect.getdoc(getattr(thing, member.name)))


def updated(stub: str) -> str:
    """Returns the stub with the docstrings of the compiled module."""
    lines = stub.splitlines()
    for item in sorted(items(ast.parse(stub)), key=lambda item: -item.node.lineno):
        first = item.node.body[0]
        indent = " " * (item.node.col_offset + 4)
        docstring = [f'"""{item.docstring}"""'] if "\n" not in item.docstring else [*f'"""{item.docstring}'.split("\n"), '"""']
        docstring = [indent + line if line else "" for line in docstring]
        if ast.get_docstring(item.node) is not None:
            lines[first.lineno - 1 : first.end_lineno] = docstring
        elif isinstance(item.node, ast.ClassDef):
            start = min([first.lineno, *(decorator.lineno for decorator in first.decorator_list)])
            lines[start - 1 : start - 1] = docstring
        else:
            lines[first.lineno - 1] = lines[first.lineno - 1].removesuffix(" ...")
            lines[first.lineno : first.lineno] = docstring
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    STUB.write_text(updated(STUB.read_text(encoding="utf-8")), encoding="utf-8")
