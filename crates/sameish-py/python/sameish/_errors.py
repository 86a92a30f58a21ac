"""What can go wrong: one tree under `Error`, each also the built-in that Python users expect."""

__all__ = [
    "CorruptFile",
    "Error",
    "NumberError",
    "ParquetError",
    "SchemeMismatch",
    "SettingError",
    "TextError",
    "UnknownId",
    "VersionError",
    "WrongType",
]


class Error(Exception):
    """Everything that sameish refuses."""


class SettingError(Error, ValueError):
    """A setting or an argument is outside what makes sense."""


class SchemeMismatch(Error, ValueError):
    """Two sketches that do not measure the same thing were brought together."""


class NumberError(Error, OverflowError):
    """A number does not fit: fingerprints have 64 bits, documents of an index 32."""


class WrongType(Error, TypeError):
    """Something of another type was meant. The message says what, and where it stood."""


class TextError(Error, UnicodeError):
    """A text is not Unicode: it has half of a surrogate pair, or bytes that are not UTF-8."""


class UnknownId(Error, KeyError):
    """No document has that id."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class CorruptFile(Error, ValueError):
    """Stored bytes are not ours, or were damaged or cut off."""


class VersionError(CorruptFile):
    """Stored bytes come from a newer version of sameish."""


class ParquetError(Error, OSError):
    """A Parquet file can not be read."""
