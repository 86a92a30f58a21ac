"""Tables of other libraries: selects the columns that are read and the rows that are kept.

No library is imported: tables are recognized by their methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import SettingError, WrongType

# Names of presets, for the error message if a preset is passed instead of a column.
_PRESETS = ("copies", "articles", "headlines", "wire", "web", "sdr")


def select(data: Any, columns: list[str]) -> Any:
    """Selects columns of a table, so that the others are not converted to Arrow. Returns other data unchanged."""
    names = _column_names(data)
    if names is None:
        return data
    for column in columns:
        if column not in names:
            raise SettingError(_unknown_column(column, names))
    if _is_dataset(data):
        return data.select_columns(columns).with_format("arrow")[:]
    if _is_relation(data):
        quoted = ('"' + column.replace('"', '""') + '"' for column in columns)
        return data.project(", ".join(quoted)).to_arrow_table()
    if _is_lazy(data):
        return data.select(columns).collect()
    if not hasattr(data, "select"):
        return data[columns] if _is_exportable(data) else data
    return data.select(columns)


def _unknown_column(column: str, names: list[str]) -> str:
    message = f"unknown column `{column}`: the columns are `{'`, `'.join(names)[:200]}`"
    if column in _PRESETS:
        return f'{message}; select a column with `text=`, or the preset with `preset="{column}"`'
    return f"{message}; select the text column with `text=`" if column == "text" else message


def _column_names(data: Any) -> list[str] | None:
    """Returns the names of the columns, or None if the data is not a table."""
    if _is_lazy(data):
        return list(data.collect_schema().names())
    if _is_dataset(data) or _is_relation(data):
        return list(getattr(data, "column_names", None) or data.columns)
    if not hasattr(data, "columns") or not (_is_exportable(data) or hasattr(data, "iloc")):
        return None
    names = getattr(data, "column_names", None)
    return [str(name) for name in (data.columns if names is None else names)]


def _is_exportable(data: Any) -> bool:
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def _is_lazy(data: Any) -> bool:
    """Returns True for a lazy data frame of Polars."""
    return hasattr(data, "collect_schema") and hasattr(data, "collect")


def _is_dataset(data: Any) -> bool:
    """Returns True for a `Dataset` of Hugging Face."""
    return hasattr(data, "select_columns") and hasattr(data, "with_format") and hasattr(data, "num_rows")


def _is_relation(data: Any) -> bool:
    """Returns True for a relation of DuckDB."""
    return hasattr(data, "project") and hasattr(data, "to_arrow_table") and hasattr(data, "columns")


def collect(data: Any) -> Any:
    """Computes lazy data. Returns other data unchanged."""
    if _is_lazy(data):
        return data.collect()
    return data.to_arrow_table() if _is_relation(data) else data


def take_rows(data: Any, rows: NDArray[np.int64]) -> Any:
    """Selects rows in ascending order, and returns them as the same type."""
    if _is_dataset(data):
        return data.select(rows)
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    if hasattr(data, "take") and any(hasattr(data, name) for name in ("schema", "chunks", "buffers")):
        try:
            return data.take(rows)
        except Exception:
            # Some versions of pyarrow cannot take rows of some types, but all can slice them.
            return _take_by_slices(data, rows)
    try:
        if _is_exportable(data) or hasattr(data, "__array__"):
            return data[rows]
        items = [data[row] for row in rows.tolist()]
    except Exception as error:
        raise WrongType(f"cannot take rows from {type(data).__name__}: {error}") from error
    return tuple(items) if isinstance(data, tuple) else items


def _take_by_slices(data: Any, rows: NDArray[np.int64]) -> Any:
    """Selects rows of a pyarrow table, record batch or array by slices of consecutive rows."""
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

    runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
    slices = [data.slice(int(run[0]), len(run)) for run in runs if len(run)] or [data.slice(0, 0)]
    if hasattr(data, "schema"):
        is_batch = type(data).__name__ == "RecordBatch"
        return pyarrow.concat_batches(slices) if is_batch else pyarrow.concat_tables(slices)
    if hasattr(data, "chunks"):
        return pyarrow.chunked_array([chunk for part in slices for chunk in part.chunks], data.type)
    return pyarrow.concat_arrays(slices)
