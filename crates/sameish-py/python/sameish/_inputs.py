"""Decides what the data of `dedup`, `pairs` and `cluster` is: documents in memory, or paths of files."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Set
from typing import Any

from ._errors import WrongType
from ._sameish import _known_suffix

# Longest str that may be a path.
_LONGEST_PATH = 4096


def source(data: Any, name: str) -> dict[str, Any]:
    """Returns the data and, if it consists of paths, the paths. `name` is the name of the parameter."""
    refuse_unordered(data, name)
    found = paths(data, name)
    if found is None and isinstance(data, str):
        raise WrongType(
            f"`{name}` is a single str, and no file has this name: "
            "must be a list or a column of texts, a table, or the path of a file"
        )
    return {"data": data, "paths": found}


def refuse_unordered(data: Any, name: str) -> None:
    """Raises `WrongType` for a mapping, a set or an open file, whose iteration gives no list of texts."""
    kind = type(data).__name__
    if isinstance(data, Mapping):
        if kind.endswith("DatasetDict"):
            raise WrongType(f'`{name}` is a {kind}: pass one of its splits, such as `{name}["train"]`')
        raise WrongType(
            f"`{name}` is a {kind}: pass its texts and keys as `list({name}.values()), id=list({name})`, "
            f"or a dict of columns as a table, such as `pandas.DataFrame({name})`"
        )
    if hasattr(data, "read") and hasattr(data, "readline"):
        raise WrongType(f"`{name}` is an open file, whose lines would be compared as texts: pass its path")
    if isinstance(data, Set) and not hasattr(data, "__array__"):
        raise WrongType(f"`{name}` is a {kind}, which has no order: pass a list")


def paths(data: Any, name: str) -> list[str] | None:
    """Returns the paths that the data stands for, or None if it consists of documents.

    A path is a path object, or a str with the suffix of a format or with the name of an existing file; it
    may contain the wildcards `*`, `?` and `[...]`. Several paths are a list of path objects. A list of str
    consists of texts, so that a text that looks like a path never opens a file.
    """
    if isinstance(data, os.PathLike):
        return [os.fsdecode(data)]
    if isinstance(data, str):
        return [data] if _is_path(data) else None
    if not isinstance(data, (list, tuple)) or not data:
        return None
    if all(isinstance(item, os.PathLike) for item in data):
        return [os.fsdecode(item) for item in data]
    if all(isinstance(item, str) and _has_suffix(item) for item in data):
        raise WrongType(
            f"`{name}` is a list of str that look like paths, such as `{data[0]}`: pass `pathlib.Path` objects "
            "or a pattern to read files, or a NumPy array to compare the strings themselves"
        )
    return None


def _is_path(text: str) -> bool:
    return _has_suffix(text) or _is_found(text)


def _has_suffix(text: str) -> bool:
    if not 0 < len(text) <= _LONGEST_PATH or not text.isprintable():
        return False
    return _known_suffix(text)


def _is_found(text: str) -> bool:
    if not 0 < len(text) <= _LONGEST_PATH or not text.isprintable():
        return False
    return os.path.exists(text) or glob.has_magic(text) and next(glob.iglob(text), None) is not None
