"""Exceptions. All derive from `Error`, and each also from the matching built-in exception."""

__all__ = [
    "CorruptFile",
    "Error",
    "InputError",
    "LimitError",
    "NumberError",
    "RecordError",
    "SchemeMismatch",
    "SettingError",
    "TextError",
    "UnknownId",
    "VersionError",
    "WrongType",
]


class Error(Exception):
    """Base class of all exceptions of sameish."""


class SettingError(Error, ValueError):
    """A setting or an argument is out of range, or inconsistent with others."""


class SchemeMismatch(Error, ValueError):
    """Two sketches have different schemes or sizes and are not comparable."""


class NumberError(Error, OverflowError):
    """A number is out of range: fingerprints have 64 bits, document numbers of an index 32 bits."""


class WrongType(Error, TypeError):
    """An argument, or an item of a list, has the wrong type. The message names its position."""


class TextError(Error, UnicodeError):
    """A text is not valid Unicode: it contains an unpaired surrogate, or bytes that are not UTF-8."""


class UnknownId(Error, KeyError):
    """No document has the id."""

    def __str__(self) -> str:
        # KeyError would show the message in quotes.
        return str(self.args[0]) if self.args else ""


class CorruptFile(Error, ValueError):
    """A stored engine, index or sketch is damaged, truncated or in another format."""


class VersionError(CorruptFile):
    """Another version of sameish stored the engine or sketch."""


class InputError(Error, OSError):
    """A file cannot be read: it is damaged, of an unsupported format, or has no texts."""


class RecordError(Error, ValueError):
    """A record of a file is invalid. The message names the file and the line or row."""


class LimitError(Error, RuntimeError):
    """A limit was reached: memory, threads, decompressed size, or the fraction of removed documents."""
