//! How do columns of Arrow come in without a copy?
//!
//! By the PyCapsule form of Arrow's C interface: `__arrow_c_stream__` of tables, frames and chunked columns,
//! `__arrow_c_array__` of single arrays. The arrays that come out share the memory of their maker.

use crate::error::{setting, shown, wrong_type};
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayReader as _, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray, make_array,
    new_empty_array,
};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use sameish::{DocId, Timestamp};
use std::ffi::CStr;
use std::ptr::NonNull;

/// The arrays of an object that speaks Arrow, or nothing if it does not.
pub(crate) fn chunks(value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ArrayRef>>> {
    if let Some(export) = value.getattr_opt("__arrow_c_stream__")? {
        return match export.call0() {
            // What pandas speaks only where pyarrow is installed. Its columns can be iterated all the same.
            Err(error) if error.is_instance_of::<PyImportError>(value.py()) => Ok(None),
            exported => stream(&exported?).map(Some),
        };
    }
    match value.getattr_opt("__arrow_c_array__")? {
        Some(export) => single(&export.call0()?).map(|array| Some(vec![array])),
        None => Ok(None),
    }
}

fn stream(capsule: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let raw = pointer::<FFI_ArrowArrayStream>(capsule, c"arrow_array_stream")?;
    // SAFETY: a capsule of this name holds a stream (Arrow's PyCapsule interface). It is moved out, and an empty one left
    // in its place, so that the capsule does not release it again; we have the interpreter lock, so nobody else does.
    let reader = unsafe { ArrayStreamReader::from_raw(raw.as_ptr()) };
    chunks_of(reader).map_err(|error| foreign(&error))
}

/// All chunks; of a stream without any, an empty one that tells the type.
fn chunks_of(reader: Result<ArrayStreamReader, ArrowError>) -> Result<Vec<ArrayRef>, ArrowError> {
    let reader = reader?;
    let kind = reader.field().data_type().clone();
    let chunks: Vec<ArrayRef> = reader.collect::<Result<_, _>>()?;
    Ok(if chunks.is_empty() { vec![new_empty_array(&kind)] } else { chunks })
}

fn single(exported: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let pair = exported.cast::<PyTuple>()?;
    let schema = pointer::<FFI_ArrowSchema>(&pair.get_item(0)?, c"arrow_schema")?;
    let array = pointer::<FFI_ArrowArray>(&pair.get_item(1)?, c"arrow_array")?;
    // SAFETY: capsules of these names hold a schema and an array of it (Arrow's PyCapsule interface). The array is moved
    // out and an empty one left in its place; the schema is only read, while the tuple keeps its capsule alive.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    data.map(make_array).map_err(|error| foreign(&error))
}

fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.cast())
}

fn foreign(error: &ArrowError) -> PyErr {
    setting(format!("Arrow data can not be read: {}", shown(&error.to_string())))
}

/// Whether the arrays are rows of a table.
pub(crate) fn is_table(chunks: &[ArrayRef]) -> bool {
    chunks.first().is_some_and(|chunk| matches!(chunk.data_type(), DataType::Struct(_)))
}

/// A column of a table.
pub(crate) fn column(chunks: &[ArrayRef], name: &str) -> PyResult<Vec<ArrayRef>> {
    let of = |chunk: &ArrayRef| {
        let rows = chunk.as_struct();
        if rows.null_count() > 0 {
            return Err(wrong_type("a row of the table is null as a whole: leave it out"));
        }
        rows.column_by_name(name).cloned().ok_or_else(|| {
            no_column(name, &rows.column_names().iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        })
    };
    chunks.iter().map(of).collect()
}

pub(crate) fn no_column(name: &str, there: &[String]) -> PyErr {
    setting(format!("no column is named `{}`: there are `{}`", shown(name), shown(&there.join("`, `"))))
}

/// A column of texts, as bytes: whether they are UTF-8 is checked where they are read.
pub(crate) enum Column {
    Small(BinaryArray),
    Large(LargeBinaryArray),
    View(BinaryViewArray),
    /// Texts that are written once, and which of them each row has.
    Dictionary {
        values: Box<Column>,
        rows: Vec<Option<usize>>,
    },
    /// So many nulls.
    Nulls(usize),
}

impl Column {
    pub(crate) fn new(array: &ArrayRef) -> PyResult<Column> {
        match array.data_type() {
            DataType::Utf8 => Ok(Column::Small(BinaryArray::from(array.as_string::<i32>().clone()))),
            DataType::LargeUtf8 => {
                Ok(Column::Large(LargeBinaryArray::from(array.as_string::<i64>().clone())))
            }
            DataType::Utf8View => Ok(Column::View(array.as_string_view().clone().to_binary_view())),
            DataType::Binary => Ok(Column::Small(array.as_binary::<i32>().clone())),
            DataType::LargeBinary => Ok(Column::Large(array.as_binary::<i64>().clone())),
            DataType::BinaryView => Ok(Column::View(array.as_binary_view().clone())),
            DataType::Dictionary(_, _) => {
                let dictionary = array.as_any_dictionary();
                if dictionary.values().is_empty() {
                    return Ok(Column::Nulls(array.len()));
                }
                let rows = dictionary.normalized_keys().into_iter().enumerate();
                let rows = rows.map(|(i, key)| dictionary.is_valid(i).then_some(key)).collect();
                Ok(Column::Dictionary { values: Box::new(Column::new(dictionary.values())?), rows })
            }
            DataType::Null => Ok(Column::Nulls(array.len())),
            other => Err(wrong_type(format!(
                "texts are a column of {}: must be of strings or of bytes; cast it first",
                shown(&other.to_string())
            ))),
        }
    }

    pub(crate) fn push_into<'a>(&'a self, texts: &mut Vec<Option<&'a [u8]>>) {
        match self {
            Column::Small(array) => texts.extend(array.iter()),
            Column::Large(array) => texts.extend(array.iter()),
            Column::View(array) => texts.extend(array.iter()),
            Column::Dictionary { values, rows } => {
                let mut entries = Vec::new();
                values.push_into(&mut entries);
                texts.extend(rows.iter().map(|entry| entry.and_then(|entry| entries[entry])));
            }
            Column::Nulls(n) => texts.resize(texts.len() + n, None),
        }
    }
}

/// A column of ids: integers or strings, none of them null.
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
        return Err(wrong_type(format!("id at position {at} is null: must be an integer or a string")));
    }
    macro_rules! numbers {
        ($type:ty) => {
            ids.extend(chunk.as_primitive::<$type>().values().iter().map(|&id| id_of(id.into())))
        };
    }
    match chunk.data_type() {
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::Dictionary(_, values) if values.is_integer() => {
            let dictionary = chunk.as_any_dictionary();
            let mut entries = Vec::new();
            // A dictionary may have a null that no row has.
            for i in 0..dictionary.values().len() {
                let entry = dictionary.values().slice(i, 1);
                match entry.is_null(0) {
                    true => entries.push(DocId::Number(0)),
                    false => push_ids(&entry, &mut entries)?,
                }
            }
            if !entries.is_empty() {
                ids.extend(dictionary.normalized_keys().into_iter().map(|key| entries[key].clone()));
            }
        }
        _ => {
            let column = Column::new(chunk).map_err(|_| {
                let found = shown(&chunk.data_type().to_string());
                wrong_type(format!("ids are a column of {found}: must be of integers or strings"))
            })?;
            let mut texts = Vec::new();
            column.push_into(&mut texts);
            for text in texts.into_iter().flatten() {
                let place = || format!("id at position {}", ids.len());
                let id = crate::texts::utf8(text).map_err(|why| why.raised(&place()))?.to_owned();
                ids.push(DocId::Text(id));
            }
        }
    }
    Ok(())
}

fn id_of(number: i128) -> DocId {
    match u64::try_from(number) {
        Ok(id) => DocId::Number(id),
        Err(_) => DocId::Negative(number as i64),
    }
}

/// A column of dates: strings, timestamps or days.
pub(crate) fn dates(chunks: &[ArrayRef]) -> PyResult<Vec<Option<Timestamp>>> {
    let mut dates = Vec::new();
    for chunk in chunks {
        push_dates(chunk, &mut dates)?;
    }
    Ok(dates)
}

fn push_dates(chunk: &ArrayRef, dates: &mut Vec<Option<Timestamp>>) -> PyResult<()> {
    use arrow_array::types as t;
    let mut push = |values: Vec<Option<i64>>, times: i64, over: i64| {
        let moment = |value: i64| Timestamp::from_milliseconds(value.checked_mul(times)?.div_euclid(over));
        for value in values {
            let at = dates.len();
            let out = || setting(format!("date at position {at} is out of range: must be before 9999-12-31"));
            dates.push(value.map(|value| moment(value).ok_or_else(out)).transpose()?);
        }
        Ok::<(), PyErr>(())
    };
    match chunk.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            push(chunk.as_primitive::<t::TimestampSecondType>().iter().collect(), 1000, 1)?;
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            push(chunk.as_primitive::<t::TimestampMillisecondType>().iter().collect(), 1, 1)?;
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            push(chunk.as_primitive::<t::TimestampMicrosecondType>().iter().collect(), 1, 1000)?;
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            push(chunk.as_primitive::<t::TimestampNanosecondType>().iter().collect(), 1, 1_000_000)?;
        }
        DataType::Date32 => {
            let days = chunk.as_primitive::<t::Date32Type>().iter().map(|day| day.map(i64::from));
            push(days.collect(), 86_400_000, 1)?;
        }
        DataType::Date64 => push(chunk.as_primitive::<t::Date64Type>().iter().collect(), 1, 1)?,
        _ => {
            let column = Column::new(chunk).map_err(|_| {
                let found = shown(&chunk.data_type().to_string());
                wrong_type(format!("dates are a column of {found}: must be of timestamps or strings"))
            })?;
            let mut texts = Vec::new();
            column.push_into(&mut texts);
            for text in texts {
                let place = || format!("date at position {}", dates.len());
                let text = text.map(|text| crate::texts::utf8(text).map_err(|why| why.raised(&place())));
                dates.push(
                    text.transpose()?
                        .map(Timestamp::parse)
                        .transpose()
                        .map_err(|error| setting(format!("{}: {error}", place())))?,
                );
            }
        }
    }
    Ok(())
}
