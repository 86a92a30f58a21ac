//! What decides which of several documents is kept.

use crate::arrow::{self, utf8_texts};
use crate::error::type_error;
use crate::export::Columns;
use arrow_array::builder::Int64Builder;
use arrow_array::{BooleanArray, Float64Array, StringArray};
use pyo3::prelude::*;
use std::sync::Arc;

/// Returns what decides which of several documents is kept: microseconds of a date, or a number, else a text. The last column
/// marks dates that cannot be read.
#[pyfunction]
pub(crate) fn _ranks(column: &Bound<'_, PyAny>, dates: bool) -> PyResult<Columns> {
    let Some(chunks) = arrow::chunks(column)? else { return Err(type_error("must be an Arrow column")) };
    let mut micros = Int64Builder::new();
    let mut numbers = Vec::new();
    let mut texts: Vec<Option<String>> = Vec::new();
    let mut invalid = Vec::new();
    for chunk in &chunks {
        if dates {
            for date in arrow::microseconds(chunk)? {
                micros.append_option(date.unwrap_or(None));
                numbers.push(None);
                texts.push(None);
                invalid.push(date.is_err());
            }
            continue;
        }
        for text in utf8_texts(chunk, true)?.iter() {
            // As in `sameish dedup --keep field:NAME`.
            let number = text.as_ref().and_then(|text| text.trim().parse::<f64>().ok());
            let number = number.filter(|number| !number.is_nan());
            micros.append_null();
            texts.push(text.filter(|_| number.is_none()).map(|text| text.into_owned()));
            numbers.push(number);
            invalid.push(false);
        }
    }
    Columns::new(vec![
        ("rank", Arc::new(micros.finish())),
        ("rank_number", Arc::new(Float64Array::from(numbers))),
        ("rank_text", Arc::new(StringArray::from(texts))),
        ("bad_date", Arc::new(BooleanArray::from(invalid))),
    ])
}
