"""`dedup`, `pairs` and `cluster`: a whole corpus at once.

The signatures and docstrings are here, so that `help` and type checkers show every parameter; the compiled module
does the work. The docstring of `dedup` describes the parameters that all functions share.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date as Day
from types import EllipsisType
from typing import Any, Literal, Protocol, TypeVar, Union

import numpy as np

from . import _inputs
from ._dedup import Dedup
from ._sameish import _cluster, _dedup, _pairs
from ._types import Cluster, Found, Id, Pair

__all__ = ["cluster", "dedup", "pairs"]


class ArrowStream(Protocol):
    """A table or column that can be exported to Arrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class ArrowArray(Protocol):
    """An Arrow array."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...


class Dataset(Protocol):
    """A `Dataset` of Hugging Face."""

    def select_columns(self, column_names: Any) -> Any: ...


Arrow = Union[ArrowStream, ArrowArray]
Path = Union[str, "os.PathLike[str]"]
Data = Union[Iterable[str], Iterable[bytes], Iterable["os.PathLike[str]"], Arrow, Dataset, Path]
Ids = Union[Iterable[Id], Arrow]
Sources = Union[Iterable[Union[str, None]], Arrow]
Dates = Union[Iterable[Union[str, Day, np.datetime64, None]], Arrow]
Config = Union[str, Mapping[str, Any]]
# The default, `...`, stands for the settings of the preset, because None removes a section.
Settings = Union[Mapping[str, Any], None, EllipsisType]
Progress = Callable[[int, int], object]


_F = TypeVar("_F", bound=Callable[..., Any])
# An entry of a docstring: a name, its description, and the continuation lines of the description.
_ENTRY = re.compile(r"^( +)(\w+): .*\n(?:\1 +\S.*\n)*", re.MULTILINE)
# Names of entries that are described in the docstring of `dedup`.
_REFERENCE = re.compile(r"^ +((?:\w+,\s+)*\w+): See `dedup`\.\n", re.MULTILINE)


def _with_entries_of_dedup(function: _F) -> _F:
    """Replaces references to `dedup` in a docstring by its entries, so that `help` describes every parameter."""
    # Python removes docstrings with the option -OO.
    if dedup.__doc__ and function.__doc__:
        entries = {entry[2]: entry[0] for entry in _ENTRY.finditer(dedup.__doc__)}

        def expand(reference: re.Match[str]) -> str:
            return "".join(entries[name] for name in re.split(r",\s+", reference[1]))

        function.__doc__ = _REFERENCE.sub(expand, function.__doc__)
    return function


def dedup(
    data: Data,
    text: str | None = None,
    *,
    id: str | Ids | None = None,
    date: str | Dates | None = None,
    source: str | Sources | None = None,
    keep: str = "first",
    per_source: bool = False,
    against: Data | None = None,
    output: Path | None = None,
    overwrite: bool = False,
    max_removed: float = 0.9,
    preset: Literal["copies", "articles", "headlines", "wire", "web", "sdr"] = "copies",
    config: Config | None = None,
    threshold: float | None = None,
    recall: float | None = None,
    verify: bool | None = None,
    templates: Literal["keep", "merge"] | None = None,
    unverified: bool | None = None,
    tokenizer: Literal["unicode", "ascii-words", "whitespace"] | None = None,
    stop_words: str | Iterable[str] | None | EllipsisType = ...,
    min_words: int | None = None,
    lossy: bool | None = None,
    fold_accents: bool | None = None,
    html: bool | None = None,
    simhash: Settings = ...,
    minhash: Settings = ...,
    sdr: Settings = ...,
    matching: Mapping[str, Any] | None = None,
    format: Literal["jsonl", "csv", "tsv", "parquet", "text"] | None = None,
    delimiter: str | None = None,
    on_bad: Literal["fail", "skip"] = "fail",
    max_memory: int | None = None,
    temp_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Dedup:
    """Selects one document to keep from each cluster of near-duplicates.

    Every removed document matches the kept document of its cluster. The data is not changed: call
    `Dedup.take` on the result to get the kept rows, or pass `output` to write the kept records of files.

    Args:
        data: The documents:
            a list or another iterable of str;
            a NumPy array of str;
            an Arrow, pandas or Polars column of strings or bytes;
            an Arrow, pandas or Polars table, a Polars LazyFrame, a Hugging Face `Dataset`, or a DuckDB
            relation, with a column of texts;
            the path of a file or directory, a pattern such as `"data/*.jsonl.zst"`, or a list of path
            objects: JSONL, CSV, TSV, Parquet or text with one document per line, each plain, .gz or .zst. Files
            may be larger than memory.
            A null counts as an empty text. A dict is refused: pass its values.
        text: Name of the column or field that contains the texts; default `"text"`. The default for files is the
            first of `"text"`, `"body"`, `"content"`, `"article"` and `"title"` that a file has; if that is not
            `"text"`, a warning names it.
        id: Name of the column or field that contains the ids, or, for data in memory, a list or column of
            distinct ids (integers or strings). Default None: documents are identified by their row number.
        date: Name of the column or field that contains the dates, or, for data in memory, a list or column of
            dates; default None.
        source: Name of the column or field that contains the sources, such as host names, or, for data in
            memory, a list or column of sources; default None. The default for files is `"source"`, else
            `"host"`.
        keep: Which document of a cluster is kept: the `"first"` (the default), the `"longest"`, the
            `"newest"`, which requires `date`, or, with `"field:NAME"`, the one with the largest value of a
            column or field; a number is preferred to a string, and any value to none.
        per_source: Whether one document per source is kept in each cluster, and not one per cluster; default
            False. Requires `source`, except for files with its default.
        against: An existing corpus: documents that match one of its documents are also removed. Must be paths
            if `data` consists of paths, otherwise any other data, with the same text column or field;
            default None.
        output: File or directory for the kept records of files, which are copied byte for byte; a directory
            ends with `/` and gets one file per input. Its suffix may add .gz or .zst. Default None: nothing
            is written.
        overwrite: Whether `output` may replace existing files; default False.
        max_removed: Maximum fraction of documents to remove, 0 to 1, if `output` is given; default 0.9. If
            more would be removed, nothing is written and `LimitError` is raised.
        preset: Name of the preset: `"copies"` (the default), `"articles"`, `"headlines"`, `"wire"`, `"web"`
            or `"sdr"`; see `Engine`.
        config: Configuration file in TOML, or a mapping with its contents; default None.
        threshold: Minimum similarity of a match, inclusive; greater than 0 and at most 1. Default None:
            that of the preset, 0.8 for `"copies"`.
        recall: Minimum probability that the index finds a pair exactly at the threshold; greater than 0 and less than 1.
            Default None: that of the preset.
        verify: Whether candidates are verified by comparing the features of the documents. Default None:
            as in the preset.
        templates: Whether documents with the same wording but different names or numbers are kept in
            separate clusters (`"keep"`) or clustered like other matches (`"merge"`). Default None: as in
            the preset, `"keep"`.
        unverified: Whether matches that cannot be verified count as duplicates: those of documents with sketches
            and no text and, with the preset `"articles"`, of short texts with near fingerprints. Default
            None: as in the preset, False.
        tokenizer: `"unicode"`, `"ascii-words"` or `"whitespace"`. Default None: that of the preset.
        stop_words: Words that are removed: those of a language, as a two-letter code such as `"en"`, or a list
            of words; None removes no words. Default: that of the preset.
        min_words: Minimum number of words, without stop words; a document with fewer words is too short.
            Default None: that of the preset.
        lossy: Whether texts may be bytes, with invalid UTF-8 replaced by U+FFFD. Default None: as in the
            preset.
        fold_accents: Whether accents, Arabic vowel signs and Hebrew points are removed before texts are
            compared. Default None: as in the preset, False.
        html: Whether texts are HTML, whose markup is removed before texts are compared. Default None: as in the preset,
            False.
        simhash: Settings of SimHash fingerprints, as a mapping; None computes no fingerprints. Default:
            those of the preset.
        minhash: Settings of MinHash signatures, as a mapping such as `{"rows": 256}`; None computes no
            signatures. Default: those of the preset.
        sdr: Settings of sparse codes, as a mapping; None computes no codes. Default: those of the preset.
        matching: Other settings of the section `matching` of a configuration file, as a mapping; default
            None.
        format: Format of all files: `"jsonl"`, `"csv"`, `"tsv"`, `"parquet"` or `"text"`. Default None:
            detected from the suffix or the first bytes of each file.
        delimiter: Separator of the values of CSV files: one ASCII character such as `";"`, or `"tab"`. Default
            None: a comma, or in TSV files a tab.
        on_bad: What happens to a record of a file that is invalid, or has the id of an earlier record and
            a different text: `"fail"` (the default) raises `RecordError`; `"skip"` leaves the record out
            and counts it.
        max_memory: Memory limit in bytes, at least 64 MiB; default None, no limit. A run needs about
            300 bytes per document (450 with fingerprints, as in `"articles"`; up to 2 kB more for each
            document of a large group of similar ones), in addition to data in memory. The result does
            not depend on the limit.
        temp_dir: Directory for temporary files; default None, that of the system.
        threads: Number of threads, 1 to 1024; default None, one per processor. The result does not depend
            on it.
        progress: Function that is called as `progress(done, total)` about 20 times per second; both count
            documents, or for files bytes. Default None. An exception that it raises ends the call.

    Returns:
        A `Dedup`.

    Raises:
        SettingError: A setting is out of range, or a column does not exist.
        WrongType: The data or an item has the wrong type.
        TextError: A text is not valid Unicode.
        RecordError: A record of a file is invalid.
        InputError: A file is damaged or unsupported; a missing file raises `FileNotFoundError`.
        LimitError: A limit was reached.

    Examples:
        >>> import sameish
        >>> texts = ["the old bridge over the river is closed", "markets were calm", "The old bridge over the river is closed"]
        >>> result = sameish.dedup(texts)
        >>> result.kept.tolist(), result.removed.tolist()
        ([0, 1], [2])
        >>> result.take(texts)
        ['the old bridge over the river is closed', 'markets were calm']
    """
    settings = _settings(
        threshold=threshold, recall=recall, verify=verify, templates=templates, unverified=unverified,
        tokenizer=tokenizer, stop_words=stop_words, min_words=min_words, lossy=lossy,
        fold_accents=fold_accents, html=html, simhash=simhash, minhash=minhash, sdr=sdr, matching=matching,
    )
    fields = {
        **_fields(text, id, date, format, delimiter),
        "source": source,
        "with_sources": per_source,
        "keep_field": keep[len("field:") :] if isinstance(keep, str) and keep.startswith("field:") else None,
    }
    run = _run(preset, config, settings, on_bad, max_memory, temp_dir, threads, progress)
    dedup = {
        "keep": keep,
        "against": None if against is None else _inputs.source(against, "against"),
        "output": output,
        "overwrite": overwrite,
        "max_removed": max_removed,
    }
    return Dedup(**_dedup(_inputs.source(data, "data"), fields, run, dedup))


@_with_entries_of_dedup
def pairs(
    data: Data,
    text: str | None = None,
    *,
    id: str | Ids | None = None,
    date: str | Dates | None = None,
    limit_pairs: int | None = None,
    preset: Literal["copies", "articles", "headlines", "wire", "web", "sdr"] = "copies",
    config: Config | None = None,
    threshold: float | None = None,
    recall: float | None = None,
    verify: bool | None = None,
    templates: Literal["include", "exclude", "only"] = "include",
    unverified: bool | None = None,
    tokenizer: Literal["unicode", "ascii-words", "whitespace"] | None = None,
    stop_words: str | Iterable[str] | None | EllipsisType = ...,
    min_words: int | None = None,
    lossy: bool | None = None,
    fold_accents: bool | None = None,
    html: bool | None = None,
    simhash: Settings = ...,
    minhash: Settings = ...,
    sdr: Settings = ...,
    matching: Mapping[str, Any] | None = None,
    format: Literal["jsonl", "csv", "tsv", "parquet", "text"] | None = None,
    delimiter: str | None = None,
    on_bad: Literal["fail", "skip"] = "fail",
    max_memory: int | None = None,
    temp_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Found[Pair]:
    """Finds all matching pairs of a corpus.

    Args:
        data, text, id, date: See `dedup`.
        limit_pairs: Maximum number of pairs, at least 0; default None, no limit.
        templates: Whether templates (the same wording with different names or numbers) are listed: `"include"` (the
            default), `"exclude"`, or `"only"`.
        preset, config, threshold, recall, verify, unverified, tokenizer, stop_words, min_words, lossy,
            fold_accents, html, simhash, minhash, sdr, matching, format, delimiter, on_bad, max_memory, temp_dir, threads,
            progress: See `dedup`.

    Returns:
        A list (`Found`) of `Pair`, ordered by the later document, then by the earlier one. Documents with
        equal texts are ordered as if all were at the position of the first of them. `to_frame` converts
        the list to a data frame.

    Raises:
        SettingError, WrongType, TextError, RecordError, InputError, LimitError: See `dedup`.

    Examples:
        >>> import sameish
        >>> texts = ["the old bridge over the river is closed", "markets were calm", "The old bridge over the river is closed"]
        >>> [(p.a, p.b, p.match_type) for p in sameish.pairs(texts)]
        [(0, 2, 'exact')]
    """
    settings = _settings(
        threshold=threshold, recall=recall, verify=verify, unverified=unverified, tokenizer=tokenizer,
        stop_words=stop_words, min_words=min_words, lossy=lossy, fold_accents=fold_accents, html=html,
        simhash=simhash, minhash=minhash, sdr=sdr, matching=matching,
    )
    fields = _fields(text, id, date, format, delimiter)
    run = _run(preset, config, settings, on_bad, max_memory, temp_dir, threads, progress)
    found: Found[Pair] = _pairs(_inputs.source(data, "data"), fields, run, templates, limit_pairs)
    return found


@_with_entries_of_dedup
def cluster(
    data: Data,
    text: str | None = None,
    *,
    id: str | Ids | None = None,
    date: str | Dates | None = None,
    min_size: int = 1,
    preset: Literal["copies", "articles", "headlines", "wire", "web", "sdr"] = "copies",
    config: Config | None = None,
    threshold: float | None = None,
    recall: float | None = None,
    verify: bool | None = None,
    linkage: Literal["greedy", "components", "cohesive", "online"] | None = None,
    templates: Literal["keep", "merge"] | None = None,
    unverified: bool | None = None,
    tokenizer: Literal["unicode", "ascii-words", "whitespace"] | None = None,
    stop_words: str | Iterable[str] | None | EllipsisType = ...,
    min_words: int | None = None,
    lossy: bool | None = None,
    fold_accents: bool | None = None,
    html: bool | None = None,
    simhash: Settings = ...,
    minhash: Settings = ...,
    sdr: Settings = ...,
    matching: Mapping[str, Any] | None = None,
    format: Literal["jsonl", "csv", "tsv", "parquet", "text"] | None = None,
    delimiter: str | None = None,
    on_bad: Literal["fail", "skip"] = "fail",
    max_memory: int | None = None,
    temp_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Found[Cluster]:
    """Clusters a corpus with the linkage of the settings.

    Args:
        data, text, id, date: See `dedup`.
        min_size: Minimum number of documents of a cluster, at least 0; default 1.
        preset, config, threshold, recall, verify: See `dedup`.
        linkage: How matches are clustered: `"cohesive"`, `"greedy"`, `"components"` or `"online"`. Default
            None: that of the preset, `"cohesive"` for `"copies"`.
        templates, unverified, tokenizer, stop_words, min_words, lossy, fold_accents, html, simhash,
            minhash, sdr, matching, format, delimiter, on_bad, max_memory, temp_dir, threads, progress: See `dedup`.

    Returns:
        A list (`Found`) of `Cluster`. `to_frame` converts it to a data frame.

    Raises:
        SettingError, WrongType, TextError, RecordError, InputError, LimitError: See `dedup`.

    Examples:
        >>> import sameish
        >>> texts = ["the old bridge over the river is closed", "markets were calm", "The old bridge over the river is closed"]
        >>> sameish.cluster(texts, min_size=2)
        [Cluster(center=0, members=[0, 2], mean_similarity=1.0, average_distance=None)]
    """
    settings = _settings(
        threshold=threshold, recall=recall, verify=verify, linkage=linkage, templates=templates,
        unverified=unverified, tokenizer=tokenizer, stop_words=stop_words, min_words=min_words, lossy=lossy,
        fold_accents=fold_accents, html=html, simhash=simhash, minhash=minhash, sdr=sdr, matching=matching,
    )
    fields = _fields(text, id, date, format, delimiter)
    run = _run(preset, config, settings, on_bad, max_memory, temp_dir, threads, progress)
    found: Found[Cluster] = _cluster(_inputs.source(data, "data"), fields, run, min_size)
    return found


def _fields(
    text: str | None, id: str | Ids | None, date: str | Dates | None, format: str | None, delimiter: str | None
) -> dict[str, Any]:
    """Returns the parameters that say where the data of documents is."""
    others = {"source": None, "with_sources": False, "keep_field": None}
    return {"text": text, "id": id, "date": date, "format": format, "delimiter": delimiter, **others}


# Settings that None removes. For the others, None stands for the value of the preset.
_REMOVABLE = ("stop_words", "simhash", "minhash", "sdr")


def _settings(**settings: Any) -> dict[str, Any]:
    """Returns the settings that differ from the preset."""
    given = {name: value for name, value in settings.items() if value is not ...}
    return {name: value for name, value in given.items() if value is not None or name in _REMOVABLE}


def _run(
    preset: str,
    config: Config | None,
    settings: dict[str, Any],
    on_bad: str,
    max_memory: int | None,
    temp_dir: Path | None,
    threads: int | None,
    progress: Progress | None,
) -> dict[str, Any]:
    """Returns the parameters that all functions share."""
    return {
        "preset": preset,
        "config": config,
        "settings": settings,
        "on_bad": on_bad,
        "max_memory": max_memory,
        "temp_dir": temp_dir,
        "threads": threads,
        "progress": progress,
    }
