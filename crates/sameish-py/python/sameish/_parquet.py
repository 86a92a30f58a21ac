"""Columns of a Parquet file or of a folder of them, by pyarrow or else Polars, whichever is installed."""

import os
from typing import Any

from ._errors import ParquetError, SettingError


def read(path: "str | os.PathLike[str]", columns: list[str]) -> Any:
    """The named columns, or all if none is named, as something that speaks Arrow."""
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(2, "no such file or folder", path)
    try:
        names, load = _opened(path)
        missing = [column for column in columns if column not in names]
        if missing:
            raise SettingError(f"no column is named `{missing[0]}`: there are `{'`, `'.join(names)[:200]}`")
        return load(columns or names)
    except (SettingError, ParquetError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise ParquetError(f"{path!r} is not a Parquet file that can be read: {str(error)[:200]}; write it again") from error


def _opened(path: str) -> tuple[list[str], Any]:
    try:
        import pyarrow.dataset  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return _opened_by_polars(path)
    dataset = pyarrow.dataset.dataset(path, format="parquet")
    return list(dataset.schema.names), lambda columns: dataset.to_table(columns=columns)


def _opened_by_polars(path: str) -> tuple[list[str], Any]:
    try:
        import polars  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise ImportError("Parquet is read by pyarrow or polars: `pip install pyarrow`") from None
    frame = polars.scan_parquet(path)
    return frame.collect_schema().names(), lambda columns: frame.select(columns).collect()
