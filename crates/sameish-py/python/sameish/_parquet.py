"""Reads columns of Parquet files with pyarrow or, if it is not installed, Polars."""

import errno
import os
from collections.abc import Callable
from typing import Any

from ._errors import ParquetError, SettingError

# Reads the named columns.
_Reader = Callable[[list[str]], Any]


def read(path: "str | os.PathLike[str]", columns: list[str]) -> Any:
    """Reads a Parquet file, or a directory of Parquet files.

    Args:
        path: Path of the file or directory.
        columns: Names of the columns to read; all columns if empty.

    Returns:
        A pyarrow table or a Polars data frame.
    """
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    try:
        names, read_columns = _open(path)
        unknown = [column for column in columns if column not in names]
        if unknown:
            raise SettingError(f"unknown column `{unknown[0]}`: the columns are `{'`, `'.join(names)[:200]}`")
        return read_columns(columns or names)
    except (SettingError, ParquetError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise ParquetError(f"cannot read Parquet file {path!r}: {str(error)[:200]}") from error


def _open(path: str) -> tuple[list[str], _Reader]:
    try:
        import pyarrow.dataset  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return _open_with_polars(path)
    dataset = pyarrow.dataset.dataset(path, format="parquet")
    return list(dataset.schema.names), lambda columns: dataset.to_table(columns=columns)


def _open_with_polars(path: str) -> tuple[list[str], _Reader]:
    try:
        import polars  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise ImportError("reading Parquet files requires pyarrow or polars: run `pip install pyarrow`") from None
    frame = polars.scan_parquet(path)
    return frame.collect_schema().names(), lambda columns: frame.select(columns).collect()
