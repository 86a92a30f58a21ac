//! Arrow columns without a copy, through the PyCapsule form of Arrow's C data interface.
//!
//! Tables, data frames and chunked columns have `__arrow_c_stream__`; single arrays have `__arrow_c_array__`. The imported
//! arrays share the memory of the exporting library.

use crate::error::{excerpt, setting_error, type_error};
use crate::parallel::decode;
use crate::texts::utf8;
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{self as arrow_types, ArrowPrimitiveType};
use arrow_array::{
    Array, ArrayReader as _, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray, make_array,
    new_empty_array,
};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use sameish::{DocId, Timestamp};
use std::borrow::Cow;
use std::ffi::CStr;
use std::ptr::NonNull;

/// Imports the arrays of an object. Returns `None` if the object does not support Arrow.
pub(crate) fn chunks(value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ArrayRef>>> {
    if let Some(export) = value.getattr_opt("__arrow_c_stream__")? {
        return match export.call0() {
            // pandas has the method but cannot export without pyarrow. Its columns are then read by iteration.
            Err(error) if error.is_instance_of::<PyImportError>(value.py()) => Ok(None),
            exported => import_stream(&exported?).map(Some),
        };
    }
    match value.getattr_opt("__arrow_c_array__")? {
        Some(export) => import_array(&export.call0()?).map(|array| Some(vec![array])),
        None => Ok(None),
    }
}

fn import_stream(capsule: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let raw = pointer::<FFI_ArrowArrayStream>(capsule, c"arrow_array_stream")?;
    // SAFETY: a capsule of this name holds a stream (Arrow's PyCapsule interface). The stream is moved out and an empty one
    // is left in its place, so the capsule does not release it a second time. The GIL prevents concurrent access.
    let reader = unsafe { ArrayStreamReader::from_raw(raw.as_ptr()) };
    read_chunks(reader).map_err(|error| import_error(&error))
}

/// Reads all chunks. For a stream without chunks, returns an empty chunk, which has the type of the stream.
fn read_chunks(reader: Result<ArrayStreamReader, ArrowError>) -> Result<Vec<ArrayRef>, ArrowError> {
    let reader = reader?;
    let data_type = reader.field().data_type().clone();
    let chunks: Vec<ArrayRef> = reader.collect::<Result<_, _>>()?;
    Ok(if chunks.is_empty() { vec![new_empty_array(&data_type)] } else { chunks })
}

fn import_array(exported: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let pair = exported.cast::<PyTuple>()?;
    let schema = pointer::<FFI_ArrowSchema>(&pair.get_item(0)?, c"arrow_schema")?;
    let array = pointer::<FFI_ArrowArray>(&pair.get_item(1)?, c"arrow_array")?;
    // SAFETY: capsules of these names hold a schema and an array of that schema (Arrow's PyCapsule interface). The array is
    // moved out and an empty one is left in its place. The schema is only read, while the tuple keeps its capsule alive.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    data.map(make_array).map_err(|error| import_error(&error))
}

fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.cast())
}

fn import_error(error: &ArrowError) -> PyErr {
    setting_error(format!("cannot read Arrow data: {}", excerpt(&error.to_string())))
}

/// Returns `true` if the chunks are rows of a table.
pub(crate) fn is_table(chunks: &[ArrayRef]) -> bool {
    chunks.first().is_some_and(|chunk| matches!(chunk.data_type(), DataType::Struct(_)))
}

/// Returns a column of a table.
pub(crate) fn column(chunks: &[ArrayRef], name: &str) -> PyResult<Vec<ArrayRef>> {
    let column_of = |chunk: &ArrayRef| {
        let rows = chunk.as_struct();
        if rows.null_count() > 0 {
            return Err(type_error("the table has a null row: remove it"));
        }
        rows.column_by_name(name).cloned().ok_or_else(|| {
            let available: Vec<_> = rows.column_names().iter().map(|name| (*name).to_owned()).collect();
            unknown_column(name, &available)
        })
    };
    chunks.iter().map(column_of).collect()
}

pub(crate) fn unknown_column(name: &str, available: &[String]) -> PyErr {
    let name = excerpt(name);
    let available = excerpt(&available.join("`, `"));
    setting_error(format!("unknown column `{name}`: the columns are `{available}`"))
}

/// A text column as bytes. Whether they are valid UTF-8 is checked when they are read.
pub(crate) enum TextColumn {
    Small(BinaryArray),
    Large(LargeBinaryArray),
    View(BinaryViewArray),
    /// Distinct texts, and the number of the text of each row.
    Dictionary {
        values: Box<TextColumn>,
        rows: Vec<Option<usize>>,
    },
    /// The given number of nulls.
    Nulls(usize),
}

impl TextColumn {
    pub(crate) fn new(array: &ArrayRef) -> PyResult<TextColumn> {
        match array.data_type() {
            DataType::Utf8 => Ok(TextColumn::Small(BinaryArray::from(array.as_string::<i32>().clone()))),
            DataType::LargeUtf8 => {
                Ok(TextColumn::Large(LargeBinaryArray::from(array.as_string::<i64>().clone())))
            }
            DataType::Utf8View => Ok(TextColumn::View(array.as_string_view().clone().to_binary_view())),
            DataType::Binary => Ok(TextColumn::Small(array.as_binary::<i32>().clone())),
            DataType::LargeBinary => Ok(TextColumn::Large(array.as_binary::<i64>().clone())),
            DataType::BinaryView => Ok(TextColumn::View(array.as_binary_view().clone())),
            DataType::Dictionary(_, _) => TextColumn::from_dictionary(array),
            DataType::Null => Ok(TextColumn::Nulls(array.len())),
            other => Err(type_error(format!(
                "texts are a column of {}: must be strings or bytes; cast the column first",
                excerpt(&other.to_string())
            ))),
        }
    }

    fn from_dictionary(array: &ArrayRef) -> PyResult<TextColumn> {
        let dictionary = array.as_any_dictionary();
        if dictionary.values().is_empty() {
            return Ok(TextColumn::Nulls(array.len()));
        }
        let rows = dictionary.normalized_keys().into_iter().enumerate();
        let rows = rows.map(|(i, key)| dictionary.is_valid(i).then_some(key)).collect();
        Ok(TextColumn::Dictionary { values: Box::new(TextColumn::new(dictionary.values())?), rows })
    }

    /// Appends the texts of all rows.
    pub(crate) fn append_to<'a>(&'a self, texts: &mut Vec<Option<&'a [u8]>>) {
        match self {
            TextColumn::Small(array) => texts.extend(array.iter()),
            TextColumn::Large(array) => texts.extend(array.iter()),
            TextColumn::View(array) => texts.extend(array.iter()),
            TextColumn::Dictionary { values, rows } => {
                let mut entries = Vec::new();
                values.append_to(&mut entries);
                texts.extend(rows.iter().map(|entry| entry.and_then(|entry| entries[entry])));
            }
            TextColumn::Nulls(n) => texts.resize(texts.len() + n, None),
        }
    }
}

/// Returns the texts of a column. `lossy` replaces invalid UTF-8.
pub(crate) fn utf8_texts(column: &ArrayRef, lossy: bool) -> PyResult<Utf8Texts> {
    TextColumn::new(column).map(|column| Utf8Texts { column, lossy })?.check()
}

/// A column of texts that are valid UTF-8 after replacement.
pub(crate) struct Utf8Texts {
    column: TextColumn,
    lossy: bool,
}

impl Utf8Texts {
    fn check(self) -> PyResult<Utf8Texts> {
        let mut texts = Vec::new();
        self.column.append_to(&mut texts);
        for (position, text) in texts.into_iter().enumerate() {
            let valid = text.map(|bytes| decode(bytes, self.lossy)).transpose();
            valid.map_err(|error| error.to_py_err(&format!("text at position {position}")))?;
        }
        Ok(self)
    }

    /// Returns the text of each row; `None` for a null.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<Cow<'_, str>>> {
        let mut texts = Vec::new();
        self.column.append_to(&mut texts);
        texts.into_iter().map(|text| text.map(String::from_utf8_lossy))
    }
}

/// Passes the texts of a column of ids or dates to `read`, with their positions. `first` is the position of the first row.
fn for_each_text(
    chunk: &ArrayRef,
    name: &str,
    expected: &str,
    first: usize,
    mut read: impl FnMut(usize, Option<&str>) -> PyResult<()>,
) -> PyResult<()> {
    let column = TextColumn::new(chunk).map_err(|_| {
        let found = excerpt(&chunk.data_type().to_string());
        type_error(format!("{name}s are a column of {found}: must be {expected}"))
    })?;
    let mut texts = Vec::new();
    column.append_to(&mut texts);
    for (position, text) in (first..).zip(texts) {
        let text = text.map(utf8).transpose();
        let text = text.map_err(|error| error.to_py_err(&format!("{name} at position {position}")))?;
        read(position, text)?;
    }
    Ok(())
}

/// Reads a column of ids: integers or strings without nulls.
pub(crate) fn ids(chunks: &[ArrayRef]) -> PyResult<Vec<DocId>> {
    let mut ids = Vec::new();
    for chunk in chunks {
        push_ids(chunk, &mut ids)?;
    }
    Ok(ids)
}

fn push_ids(chunk: &ArrayRef, ids: &mut Vec<DocId>) -> PyResult<()> {
    let nulls = chunk.logical_nulls();
    if let Some(null) = nulls.and_then(|nulls| (0..nulls.len()).find(|&i| nulls.is_null(i))) {
        let at = ids.len() + null;
        return Err(type_error(format!("id at position {at} is null: must be an integer or a string")));
    }
    match chunk.data_type() {
        DataType::Int8 => push_integers::<arrow_types::Int8Type>(chunk, ids),
        DataType::Int16 => push_integers::<arrow_types::Int16Type>(chunk, ids),
        DataType::Int32 => push_integers::<arrow_types::Int32Type>(chunk, ids),
        DataType::Int64 => push_integers::<arrow_types::Int64Type>(chunk, ids),
        DataType::UInt8 => push_integers::<arrow_types::UInt8Type>(chunk, ids),
        DataType::UInt16 => push_integers::<arrow_types::UInt16Type>(chunk, ids),
        DataType::UInt32 => push_integers::<arrow_types::UInt32Type>(chunk, ids),
        DataType::UInt64 => push_integers::<arrow_types::UInt64Type>(chunk, ids),
        DataType::Dictionary(_, values) if values.is_integer() => return push_dictionary(chunk, ids),
        _ => {
            return for_each_text(chunk, "id", "integers or strings", ids.len(), |_, text| {
                ids.extend(text.map(|text| DocId::Text(text.to_owned())));
                Ok(())
            });
        }
    }
    Ok(())
}

fn push_integers<T: ArrowPrimitiveType<Native: Into<i128>>>(chunk: &ArrayRef, ids: &mut Vec<DocId>) {
    ids.extend(chunk.as_primitive::<T>().values().iter().map(|&id| integer_id(id.into())));
}

fn push_dictionary(chunk: &ArrayRef, ids: &mut Vec<DocId>) -> PyResult<()> {
    let dictionary = chunk.as_any_dictionary();
    let mut entries = Vec::new();
    for i in 0..dictionary.values().len() {
        let entry = dictionary.values().slice(i, 1);
        // A dictionary may contain a null that no row uses.
        if entry.is_null(0) {
            entries.push(DocId::Number(0));
        } else {
            push_ids(&entry, &mut entries)?;
        }
    }
    if !entries.is_empty() {
        ids.extend(dictionary.normalized_keys().into_iter().map(|key| entries[key].clone()));
    }
    Ok(())
}

fn integer_id(number: i128) -> DocId {
    match u64::try_from(number) {
        Ok(id) => DocId::Number(id),
        Err(_) => DocId::Negative(number as i64),
    }
}

/// Reads a column of dates: timestamps, days or strings.
pub(crate) fn dates(chunks: &[ArrayRef]) -> PyResult<Vec<Option<Timestamp>>> {
    let mut dates = Vec::new();
    for chunk in chunks {
        push_dates(chunk, &mut dates)?;
    }
    Ok(dates)
}

fn push_dates(chunk: &ArrayRef, dates: &mut Vec<Option<Timestamp>>) -> PyResult<()> {
    let Some(column) = DateColumn::new(chunk) else {
        return for_each_text(chunk, "date", "timestamps or strings", dates.len(), |position, text| {
            let date = text.map(Timestamp::parse).transpose();
            dates.push(date.map_err(|error| setting_error(format!("date at position {position}: {error}")))?);
            Ok(())
        });
    };
    for (position, value) in (dates.len()..).zip(&column.values) {
        let date = value.map(|value| {
            column.timestamp(value).ok_or_else(|| {
                setting_error(format!(
                    "date at position {position} is out of range: must be before 9999-12-31"
                ))
            })
        });
        dates.push(date.transpose()?);
    }
    Ok(())
}

/// Reads a column as text: strings as they are, numbers and dates as they are written.
pub(crate) fn values_as_text(chunks: &[ArrayRef], name: &str) -> PyResult<Vec<Option<String>>> {
    let mut found = Vec::new();
    for chunk in chunks {
        push_values(chunk, name, &mut found)?;
    }
    Ok(found)
}

fn push_values(chunk: &ArrayRef, name: &str, found: &mut Vec<Option<String>>) -> PyResult<()> {
    match chunk.data_type() {
        DataType::Int8 => push_numbers::<arrow_types::Int8Type>(chunk, found),
        DataType::Int16 => push_numbers::<arrow_types::Int16Type>(chunk, found),
        DataType::Int32 => push_numbers::<arrow_types::Int32Type>(chunk, found),
        DataType::Int64 => push_numbers::<arrow_types::Int64Type>(chunk, found),
        DataType::UInt8 => push_numbers::<arrow_types::UInt8Type>(chunk, found),
        DataType::UInt16 => push_numbers::<arrow_types::UInt16Type>(chunk, found),
        DataType::UInt32 => push_numbers::<arrow_types::UInt32Type>(chunk, found),
        DataType::UInt64 => push_numbers::<arrow_types::UInt64Type>(chunk, found),
        DataType::Float32 => push_numbers::<arrow_types::Float32Type>(chunk, found),
        DataType::Float64 => push_numbers::<arrow_types::Float64Type>(chunk, found),
        _ => match DateColumn::new(chunk) {
            Some(column) => {
                let date = |value: i64| column.timestamp(value).map(|date| date.to_string());
                found.extend(column.values.iter().map(|value| value.and_then(date)));
            }
            None => {
                return for_each_text(chunk, name, "strings, numbers or dates", found.len(), |_, text| {
                    found.push(text.map(str::to_owned));
                    Ok(())
                });
            }
        },
    }
    Ok(())
}

fn push_numbers<T: ArrowPrimitiveType<Native: ToString>>(chunk: &ArrayRef, found: &mut Vec<Option<String>>) {
    found.extend(chunk.as_primitive::<T>().iter().map(|number| number.map(|number| number.to_string())));
}

/// Reads a column of dates as microseconds: null for a missing date, `Err` for one that cannot be read.
pub(crate) fn microseconds(chunk: &ArrayRef) -> PyResult<Vec<Result<Option<i64>, ()>>> {
    if let Some(column) = DateColumn::new(chunk) {
        let micros = |value: i64| {
            let micros =
                i128::from(value) * i128::from(column.multiplier) * 1000 / i128::from(column.divisor);
            column.timestamp(value).and_then(|_| i64::try_from(micros).ok()).ok_or(())
        };
        return Ok(column.values.iter().map(|value| value.map(micros).transpose()).collect());
    }
    let mut found = Vec::new();
    for_each_text(chunk, "date", "timestamps or strings", 0, |_, text| {
        let date = text.map(Timestamp::parse).transpose();
        found.push(date.map(|date| date.map(Timestamp::as_microseconds)).map_err(|_| ()));
        Ok(())
    })?;
    Ok(found)
}

/// A column of timestamps or days.
struct DateColumn {
    values: Vec<Option<i64>>,
    /// Length of the unit: `multiplier / divisor` milliseconds.
    multiplier: i64,
    divisor: i64,
}

impl DateColumn {
    /// Reads a column. Returns `None` if it does not contain timestamps or days.
    fn new(chunk: &ArrayRef) -> Option<DateColumn> {
        let (values, multiplier, divisor) = match chunk.data_type() {
            DataType::Timestamp(TimeUnit::Second, _) => {
                (values::<arrow_types::TimestampSecondType>(chunk), 1000, 1)
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                (values::<arrow_types::TimestampMillisecondType>(chunk), 1, 1)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                (values::<arrow_types::TimestampMicrosecondType>(chunk), 1, 1000)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                (values::<arrow_types::TimestampNanosecondType>(chunk), 1, 1_000_000)
            }
            DataType::Date32 => (values::<arrow_types::Date32Type>(chunk), 86_400_000, 1),
            DataType::Date64 => (values::<arrow_types::Date64Type>(chunk), 1, 1),
            _ => return None,
        };
        Some(DateColumn { values, multiplier, divisor })
    }

    fn timestamp(&self, value: i64) -> Option<Timestamp> {
        Timestamp::from_milliseconds(value.checked_mul(self.multiplier)?.div_euclid(self.divisor))
    }
}

fn values<T: ArrowPrimitiveType<Native: Into<i64>>>(chunk: &ArrayRef) -> Vec<Option<i64>> {
    chunk.as_primitive::<T>().iter().map(|value| value.map(Into::into)).collect()
}
