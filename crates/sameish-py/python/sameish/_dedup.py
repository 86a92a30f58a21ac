"""The result of `dedup`."""

from __future__ import annotations

import json
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from . import _inputs, _tables
from ._errors import SettingError
from ._types import Cluster, Found, Id

__all__ = ["Dedup"]

_T = TypeVar("_T")
# Center of a row that matches a document of `against`.
_KNOWN = -1


@final
class Dedup:
    """The result of `dedup`: which rows are kept, and which kept row each removed row matches.

    A row is the position of a document in the data: of a text in a list or table, or of a record in
    all files, counted from 0. The result takes 8 bytes per document, 8 more for each document of a
    cluster, and the size of the ids.

    Attributes:
        centers: The kept row of each row's cluster, as an array of int64: for a kept row, the row
            itself; -1 for a row that matches a document of `against`; -2 for a row that was not
            used, because its record was rejected or repeats an earlier record with the same id.
    """

    centers: NDArray[np.int64]

    def __init__(
        self,
        *,
        centers: NDArray[np.int64],
        members: NDArray[np.int64],
        ends: NDArray[np.int64],
        spreads: NDArray[np.float64],
        by_distance: bool,
        ids: tuple[bytes, NDArray[np.int64]] | None,
        counts: dict[str, Any],
    ) -> None:
        self.centers = centers
        self._members = members
        self._ends = ends
        self._spreads = spreads
        self._by_distance = by_distance
        # The ids of all rows as JSON, one after the other, and the end of each.
        self._ids = ids
        self._counts = counts

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Whether each row is kept, as an array of bool."""
        return np.equal(self.centers, np.arange(len(self.centers)))

    @property
    def kept(self) -> NDArray[np.int64]:
        """Kept rows in ascending order, as an array of int64."""
        return np.flatnonzero(self.mask).astype(np.int64)

    @property
    def removed(self) -> NDArray[np.int64]:
        """Removed rows in ascending order, as an array of int64."""
        return np.flatnonzero(~self.mask & (self.centers >= _KNOWN)).astype(np.int64)

    @property
    def known(self) -> NDArray[np.int64]:
        """Removed rows that match a document of `against`, in ascending order, as an array of int64."""
        return np.flatnonzero(self.centers == _KNOWN).astype(np.int64)

    @property
    def unused(self) -> NDArray[np.int64]:
        """Rows that are neither kept nor removed, in ascending order, as an array of int64.

        Their records were rejected, or repeat an earlier record with the same id and text. Only data in
        files can have such rows.
        """
        return np.flatnonzero(self.centers < _KNOWN).astype(np.int64)

    @property
    def kept_ids(self) -> list[Id]:
        """Ids of the kept documents, in the order of `kept`; their rows if `id` was not given."""
        return [self._id(row) for row in self.kept.tolist()]

    @property
    def removed_ids(self) -> list[Id]:
        """Ids of the removed documents, in the order of `removed`; their rows if `id` was not given."""
        return [self._id(row) for row in self.removed.tolist()]

    @property
    def clusters(self) -> Found[Cluster]:
        """Clusters of at least two documents, as a list (`Found`) of `Cluster`. The center is the kept document.

        Documents that match a document of `against` are not in this list.
        """
        starts = [0, *self._ends.tolist()]
        clusters = []
        for start, end, spread in zip(starts, self._ends.tolist(), self._spreads.tolist()):
            members = [self._id(row) for row in self._members[start:end].tolist()]
            similarity, distance = (None, spread) if self._by_distance else (spread, None)
            clusters.append(Cluster(members[0], members, similarity, distance))
        counts = self._counts
        found = Found(clusters, counts["candidates"], counts["caps_hit"], Cluster)
        for name in ("omitted", "expected_recall", "expected_recall_interval"):
            setattr(found, name, counts[name])
        return found

    @property
    def summary(self) -> dict[str, Any]:
        """Counts of the run, as a dict.

        `documents`, `kept`, `removed`: numbers of documents. `known`: removed documents that match a
        document of `against`. `clusters`: number of clusters of at least two documents.
        `largest_cluster`: number of documents of the largest cluster. `too_short`: number of documents
        that are too short for the settings. `rejected`: number of records that could not be used.
        `repeated`: number of records that repeat an earlier record with the same id and text.
        `candidates`: number of candidates compared. `verified`: number of verified matches. `templates`:
        number of verified matches that were kept apart as templates. `expected_recall`: estimated share of the pairs at or
        above the threshold that were found or, if no match was found, the recall at the threshold (the probability that the
        index finds a pair exactly at the threshold); None if only fingerprints are compared. `expected_recall_interval`: its 99 % interval, or None. `caps_hit`: number
        of limits reached; if it is not 0, matches may be missing. `omitted`: number of candidates that were not compared because
        of limits.
        """
        kept, removed = len(self.kept), len(self.removed)
        sizes = np.diff(self._ends, prepend=0)
        counts = {
            "documents": kept + removed,
            "kept": kept,
            "removed": removed,
            "known": len(self.known),
            "clusters": len(sizes),
            "largest_cluster": int(sizes.max()) if len(sizes) else min(kept, 1),
        }
        return {**counts, **self._counts}

    def take(self, data: _T) -> _T:
        """Selects the kept rows of data.

        Args:
            data: The deduplicated data, or other data with the same rows: a list, tuple, NumPy array,
                column, table or Hugging Face `Dataset`. A Polars LazyFrame is collected, and a DuckDB
                relation becomes a pyarrow table.

        Returns:
            The kept rows, as the same type.

        Raises:
            SettingError: The data has another number of rows, or is a path: `dedup` writes the kept
                records of files to `output`.
        """
        if _inputs.paths(data, "data") is not None:
            raise SettingError("`data` is a path: pass `output=` to `dedup` to write the kept records")
        collected = _tables.collect(data)
        rows = len(collected) if hasattr(collected, "__len__") else len(self)
        if rows != len(self):
            raise SettingError(f"the data has {rows} rows: must have the {len(self)} rows that were deduplicated")
        taken: _T = _tables.take_rows(collected, self.kept)
        return taken

    def _id(self, row: int) -> Id:
        if self._ids is None:
            return row
        buffer, ends = self._ids
        start = int(ends[row - 1]) if row else 0
        id: Id = json.loads(buffer[start : int(ends[row])])
        return id

    def __len__(self) -> int:
        return len(self.centers)

    def __repr__(self) -> str:
        kept, removed = len(self.kept), len(self.removed)
        return f"<Dedup of {kept + removed} documents: {kept} kept, {removed} removed>"
