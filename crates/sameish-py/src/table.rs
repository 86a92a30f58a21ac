//! What may a corpus be?
//!
//! A list of texts, a column, or a table with a column of texts and perhaps ids and dates: of Arrow, pandas, Polars or a
//! Parquet file.

use crate::arrow;
use crate::error::{setting, type_name, wrong_type};
use crate::ids;
use crate::numbers::same_length;
use crate::texts::Texts;
use arrow_array::ArrayRef;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use sameish::{DocId, Timestamp};

/// Which columns have what. Ids and dates may also come as lists or columns of their own.
pub(crate) struct Columns<'a, 'py> {
    pub(crate) text: &'a str,
    pub(crate) id: Option<&'a Bound<'py, PyAny>>,
    pub(crate) date: Option<&'a Bound<'py, PyAny>>,
    /// Whether texts may be any bytes.
    pub(crate) lossy: bool,
}

impl Columns<'_, '_> {
    /// Those that are known by name.
    fn names(&self) -> Vec<String> {
        let named = [self.id, self.date].into_iter().flatten();
        let named = named.filter_map(|column| column.extract::<String>().ok());
        let mut names: Vec<String> = std::iter::once(self.text.to_owned()).chain(named).collect();
        // One column may have two uses.
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// A corpus, kept alive.
pub(crate) struct Table<'py> {
    pub(crate) texts: Texts<'py>,
    /// Row numbers are the ids where there are none.
    pub(crate) ids: Option<Vec<DocId>>,
    pub(crate) dates: Option<Vec<Option<Timestamp>>>,
}

impl<'py> Table<'py> {
    pub(crate) fn read(data: &Bound<'py, PyAny>, columns: &Columns<'_, 'py>) -> PyResult<Table<'py>> {
        let data = &parquet(data, &columns.names())?.unwrap_or_else(|| data.clone());
        match arrow::chunks(&narrowed(data, columns)?)? {
            Some(chunks) if arrow::is_table(&chunks) => Table::of_rows(&chunks, columns),
            Some(chunks) => Table::of_column(Texts::columns(&chunks)?, columns),
            // A frame of pandas where pyarrow is not installed: its columns can be iterated all the same.
            None if data.hasattr("columns")? && data.hasattr("iloc")? => Table::of_frame(data, columns),
            None => Table::of_column(Texts::read(data, "texts", columns.lossy)?, columns),
        }
    }

    fn of_rows(chunks: &[ArrayRef], columns: &Columns<'_, 'py>) -> PyResult<Table<'py>> {
        let texts = Texts::columns(&arrow::column(chunks, columns.text)?)?;
        let ids = columns.id.map(|id| match id.cast::<PyString>() {
            Ok(name) => arrow::ids(&arrow::column(chunks, name.to_str()?)?),
            Err(_) => ids::many(id),
        });
        let dates = columns.date.map(|date| match date.cast::<PyString>() {
            Ok(name) => arrow::dates(&arrow::column(chunks, name.to_str()?)?),
            Err(_) => ids::dates(date),
        });
        Ok(Table { texts, ids: ids.transpose()?, dates: dates.transpose()? })
    }

    fn of_frame(data: &Bound<'py, PyAny>, columns: &Columns<'_, 'py>) -> PyResult<Table<'py>> {
        let named = |name: &Bound<'py, PyAny>| {
            let column = data.get_item(name)?;
            match column.hasattr("columns")? {
                true => Err(setting(format!("two columns are named `{name}`: give them names of their own"))),
                false => Ok(column),
            }
        };
        let column = |name: &Bound<'py, PyAny>| match name.is_instance_of::<PyString>() {
            true => named(name),
            false => Ok(name.clone()),
        };
        let text = PyString::new(data.py(), columns.text);
        let texts = Texts::read(&named(text.as_any())?, "texts", columns.lossy)?;
        let ids = columns.id.map(|id| ids::many(&column(id)?)).transpose()?;
        let dates = columns.date.map(|date| ids::dates(&column(date)?)).transpose()?;
        Ok(Table { texts, ids, dates })
    }

    fn of_column(texts: Texts<'py>, columns: &Columns<'_, 'py>) -> PyResult<Table<'py>> {
        for (what, given) in [("id", columns.id), ("date", columns.date)] {
            if given.is_some_and(|given| given.is_instance_of::<PyString>()) {
                return Err(wrong_type(format!(
                    "`{what}` names a column, but the texts are no table: give a list or a column of them"
                )));
            }
        }
        let ids = columns.id.map(ids::many).transpose()?;
        let dates = columns.date.map(ids::dates).transpose()?;
        Ok(Table { texts, ids, dates })
    }

    /// Refuses ids and dates that are not as many as texts, and ids that repeat.
    pub(crate) fn check(&self, texts: usize) -> PyResult<()> {
        if let Some(ids) = &self.ids {
            same_length(("texts", texts), ("ids", ids.len()))?;
            ids::distinct(ids)?;
        }
        self.dates.as_ref().map_or(Ok(()), |dates| same_length(("texts", texts), ("dates", dates.len())))
    }

    /// The id of a row, as the engine has it, in Python.
    pub(crate) fn named(&self, py: Python<'py>, id: &DocId) -> PyResult<Bound<'py, PyAny>> {
        match (id, &self.ids) {
            (DocId::Number(row), Some(ids)) => {
                let id = ids.get(*row as usize).ok_or_else(|| setting("a row that is not there"))?;
                ids::to_python(py, id)
            }
            _ => ids::to_python(py, id),
        }
    }
}

/// The table in a Parquet file or a folder of them, if the data is a path: a path object, or a str that ends as such paths
/// do or is there. No columns are all columns.
fn parquet<'py>(data: &Bound<'py, PyAny>, columns: &[String]) -> PyResult<Option<Bound<'py, PyAny>>> {
    let named = |path: &str| {
        let lower = path.to_ascii_lowercase();
        lower.ends_with(".parquet") || lower.ends_with(".pq") || std::path::Path::new(path).exists()
    };
    let is_path = match data.cast::<PyString>() {
        Ok(path) => path.to_str().is_ok_and(named),
        Err(_) => data.hasattr("__fspath__")?,
    };
    if !is_path {
        return Ok(None);
    }
    data.py().import("sameish._parquet")?.getattr("read")?.call1((data, columns.to_vec())).map(Some)
}

/// Only the columns that are read, so that no other has to be made into Arrow's form.
fn narrowed<'py>(data: &Bound<'py, PyAny>, columns: &Columns<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let has = |name: &str| data.hasattr(name).unwrap_or(false);
    let plan = is_plan(data);
    if !plan && (!has("columns") || !(has("__arrow_c_stream__") || has("__arrow_c_array__"))) {
        return Ok(data.clone());
    }
    let names = columns.names();
    let there = match plan {
        true => data.call_method0("collect_schema")?.call_method0("names")?,
        false => data.getattr("column_names").or_else(|_| data.getattr("columns"))?,
    };
    let there = there.try_iter()?.map(|name| Ok(name?.str()?.to_string())).collect::<PyResult<Vec<_>>>()?;
    if let Some(missing) = names.iter().find(|name| !there.contains(name)) {
        return Err(arrow::no_column(missing, &there));
    }
    match has("select") {
        // Of a plan of Polars only this is made.
        true if plan => data.call_method1("select", (names,))?.call_method0("collect"),
        true => data.call_method1("select", (names,)),
        false => data.get_item(names),
    }
}

fn is_plan(data: &Bound<'_, PyAny>) -> bool {
    data.hasattr("collect_schema").unwrap_or(false) && data.hasattr("collect").unwrap_or(false)
}

/// The data whose rows are taken: what a path or a plan stands for, or itself.
pub(crate) fn there<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match parquet(data, &[])? {
        Some(table) => Ok(table),
        None if is_plan(data) => data.call_method0("collect"),
        None => Ok(data.clone()),
    }
}

/// The rows of some data, of the same kind.
pub(crate) fn take<'py>(data: &Bound<'py, PyAny>, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let has = |name: &str| data.hasattr(name).unwrap_or(false);
    if has("iloc") {
        return data.getattr("iloc")?.get_item(rows);
    }
    if has("take") && has("schema") || has("take") && has("chunks") || has("take") && has("buffers") {
        // Not every version of pyarrow takes from every type; all of them can slice.
        return data.call_method1("take", (rows,)).or_else(|_| sliced(data, rows));
    }
    if has("__arrow_c_stream__") || has("__array__") {
        return data.get_item(rows).map_err(|error| not_taken(data, &error));
    }
    let rows: Vec<usize> = rows.extract()?;
    let items = rows.into_iter().map(|row| data.get_item(row));
    let items = items.collect::<PyResult<Vec<_>>>().map_err(|error| not_taken(data, &error))?;
    match data.is_instance_of::<PyTuple>() {
        true => Ok(PyTuple::new(data.py(), items)?.into_any()),
        false => Ok(PyList::new(data.py(), items)?.into_any()),
    }
}

fn not_taken(data: &Bound<'_, PyAny>, error: &PyErr) -> PyErr {
    wrong_type(format!("rows can not be taken from {}: {error}", type_name(data)))
}

/// Rows in rising order of a table, a batch or an array of pyarrow, by runs.
fn sliced<'py>(data: &Bound<'py, PyAny>, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let rows: Vec<usize> = rows.extract()?;
    let pieces = rows.chunk_by(|a, b| a + 1 == *b).map(|run| data.call_method1("slice", (run[0], run.len())));
    let mut pieces = pieces.collect::<PyResult<Vec<_>>>()?;
    if pieces.is_empty() {
        pieces.push(data.call_method1("slice", (0, 0))?);
    }
    let concat = match data.hasattr("schema")? {
        true if type_name(data) == "RecordBatch" => "concat_batches",
        true => "concat_tables",
        false => "concat_arrays",
    };
    if data.hasattr("chunks")? && !data.hasattr("schema")? {
        let chunks = pieces.iter().map(|piece| piece.getattr("chunks")?.extract::<Vec<Bound<'py, PyAny>>>());
        let chunks: Vec<_> = chunks.collect::<PyResult<Vec<_>>>()?.into_iter().flatten().collect();
        return data.py().import("pyarrow")?.call_method1("chunked_array", (chunks, data.getattr("type")?));
    }
    data.py().import("pyarrow")?.call_method1(concat, (pieces,))
}
