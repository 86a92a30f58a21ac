//! Rows of Arrow tables, by the names of their columns.

use crate::arrow;
use crate::error::type_error;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, new_null_array};
use arrow_schema::DataType;
use pyo3::prelude::*;
use sameish::Fingerprint;
use sameish::sketch::Outline;

pub(super) fn print(bits: i64) -> Fingerprint {
    Fingerprint::from_u64(bits as u64)
}

/// Rows of a table, by the names of their columns.
pub(super) struct Rows {
    pub(super) batch: ArrayRef,
}

impl Rows {
    pub(super) fn read(table: &Bound<'_, PyAny>) -> PyResult<Vec<Rows>> {
        match arrow::chunks(table)? {
            Some(chunks) if arrow::is_table(&chunks) => {
                Ok(chunks.into_iter().map(|batch| Rows { batch }).collect())
            }
            _ => Err(type_error("must be an Arrow table or record batch")),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.batch.len()
    }

    pub(super) fn optional(&self, name: &str) -> Option<ArrayRef> {
        self.batch.as_struct().column_by_name(name).cloned()
    }

    pub(super) fn column(&self, name: &str, expected: &DataType) -> PyResult<ArrayRef> {
        let column = arrow::column(std::slice::from_ref(&self.batch), name)?.remove(0);
        if column.data_type() == expected {
            return Ok(column);
        }
        if *column.data_type() == DataType::Null {
            return Ok(new_null_array(expected, column.len()));
        }
        Err(type_error(format!("column `{name}` is of type {}: must be {expected}", column.data_type())))
    }

    pub(super) fn integers(&self, name: &str) -> PyResult<Int64Array> {
        Ok(self.column(name, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
    }

    /// Returns a column of integers without nulls.
    pub(super) fn numbers(&self, name: &str) -> PyResult<Int64Array> {
        let column = self.integers(name)?;
        if column.null_count() > 0 {
            return Err(type_error(format!("column `{name}` has a null: must have none")));
        }
        Ok(column)
    }

    /// Returns a column of booleans; `false` for nulls, or if there is no such column.
    pub(super) fn flags(&self, name: &str) -> PyResult<Vec<bool>> {
        if self.optional(name).is_none() {
            return Ok(vec![false; self.len()]);
        }
        let column = self.column(name, &DataType::Boolean)?;
        Ok(column.as_boolean().iter().map(|flag| flag.unwrap_or(false)).collect())
    }

    /// Returns a column of outlines.
    pub(super) fn outlines(&self) -> PyResult<Vec<Option<Outline>>> {
        let column = arrow::column(std::slice::from_ref(&self.batch), "outline")?.remove(0);
        let bytes = arrow::TextColumn::new(&column)?;
        let mut outlines = Vec::new();
        bytes.append_to(&mut outlines);
        outlines.into_iter().map(|bytes| bytes.map(outline).transpose()).collect()
    }

    /// Returns a column of lists of integers.
    pub(super) fn lists(&self, name: &str) -> PyResult<ArrayRef> {
        let lists = arrow::column(std::slice::from_ref(&self.batch), name)?.remove(0);
        match lists.data_type() {
            DataType::List(item) if *item.data_type() == DataType::Int64 => Ok(lists),
            _ => Err(type_error(format!("column `{name}` must be lists of 64-bit integers"))),
        }
    }

    pub(super) fn fingerprints(&self) -> PyResult<Vec<Option<Fingerprint>>> {
        if self.optional("fingerprint").is_none() {
            return Ok(vec![None; self.len()]);
        }
        Ok(self.integers("fingerprint")?.iter().map(|bits| bits.map(print)).collect())
    }
}

/// Returns a list of a column of [`Rows::lists`].
pub(super) fn list(lists: &ArrayRef, row: usize) -> Vec<i64> {
    lists.as_list::<i32>().value(row).as_primitive::<Int64Type>().values().to_vec()
}

fn outline(bytes: &[u8]) -> PyResult<Outline> {
    let words: Option<[u64; 4]> = <&[u8; 32]>::try_from(bytes).ok().map(|bytes| {
        let (words, _) = bytes.as_chunks::<8>();
        [0, 1, 2, 3].map(|at| u64::from_le_bytes(words[at]))
    });
    words.map(Outline::from_words).ok_or_else(|| type_error("column `outline` must have values of 32 bytes"))
}
