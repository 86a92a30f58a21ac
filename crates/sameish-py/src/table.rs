//! The data of `dedup`, `pairs` and `cluster`.
//!
//! The data is a list of texts, a column, or a table with a column of texts: Arrow, pandas, Polars or a Parquet file. Ids and
//! dates are columns of the table, or lists or columns of their own.

use crate::arrow;
use crate::error::{engine_error, setting_error, type_error, type_name};
use crate::ids;
use crate::numbers::same_length;
use crate::texts::Texts;
use arrow_array::ArrayRef;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use sameish::{DocId, Timestamp};

/// Where the texts, ids and dates of a table are.
pub(crate) struct Columns<'a, 'py> {
    /// Name of the text column.
    pub(crate) text: &'a str,
    /// Name of the id column, or a list or column of ids.
    pub(crate) id: Option<&'a Bound<'py, PyAny>>,
    /// Name of the date column, or a list or column of dates.
    pub(crate) date: Option<&'a Bound<'py, PyAny>>,
    /// Whether texts may contain invalid UTF-8.
    pub(crate) lossy: bool,
}

impl Columns<'_, '_> {
    /// Returns the names of the columns to read from the table, without repetition.
    fn names(&self) -> Vec<String> {
        let others = [self.id, self.date].into_iter().flatten();
        let others = others.filter_map(|column| column.extract::<String>().ok());
        let mut names: Vec<String> = std::iter::once(self.text.to_owned()).chain(others).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The texts, ids and dates of a corpus.
pub(crate) struct Table<'py> {
    pub(crate) texts: Texts<'py>,
    /// Ids; `None` if documents are identified by row number.
    pub(crate) ids: Option<Vec<DocId>>,
    pub(crate) dates: Option<Vec<Option<Timestamp>>>,
}

impl<'py> Table<'py> {
    pub(crate) fn read(data: &Bound<'py, PyAny>, columns: &Columns<'_, 'py>) -> PyResult<Table<'py>> {
        let data = &read_parquet(data, &columns.names())?.unwrap_or_else(|| data.clone());
        match arrow::chunks(&select_columns(data, columns)?)? {
            Some(chunks) if arrow::is_table(&chunks) => Table::from_arrow(&chunks, columns),
            Some(chunks) => Table::from_texts(Texts::from_arrow(&chunks)?, columns),
            // A pandas data frame without pyarrow cannot be exported to Arrow; its columns are read by iteration.
            None if data.hasattr("columns")? && data.hasattr("iloc")? => Table::from_pandas(data, columns),
            None => Table::from_texts(Texts::read(data, "texts", columns.lossy)?, columns),
        }
    }

    fn from_arrow(chunks: &[ArrayRef], columns: &Columns<'_, 'py>) -> PyResult<Table<'py>> {
        let texts = Texts::from_arrow(&arrow::column(chunks, columns.text)?)?;
        let ids = columns.id.map(|id| match id.cast::<PyString>() {
            Ok(name) => arrow::ids(&arrow::column(chunks, name.to_str()?)?),
            Err(_) => ids::list_from_python(id),
        });
        let dates = columns.date.map(|date| match date.cast::<PyString>() {
            Ok(name) => arrow::dates(&arrow::column(chunks, name.to_str()?)?),
            Err(_) => ids::dates(date),
        });
        Ok(Table { texts, ids: ids.transpose()?, dates: dates.transpose()? })
    }

    fn from_pandas(data: &Bound<'py, PyAny>, columns: &Columns<'_, 'py>) -> PyResult<Table<'py>> {
        let by_name = |name: &Bound<'py, PyAny>| {
            let column = data.get_item(name)?;
            if column.hasattr("columns")? {
                return Err(setting_error(format!("two columns are named `{name}`: rename one of them")));
            }
            Ok(column)
        };
        let column = |column: &Bound<'py, PyAny>| {
            if column.is_instance_of::<PyString>() { by_name(column) } else { Ok(column.clone()) }
        };
        let text = PyString::new(data.py(), columns.text);
        let texts = Texts::read(&by_name(text.as_any())?, "texts", columns.lossy)?;
        let ids = columns.id.map(|id| ids::list_from_python(&column(id)?)).transpose()?;
        let dates = columns.date.map(|date| ids::dates(&column(date)?)).transpose()?;
        Ok(Table { texts, ids, dates })
    }

    fn from_texts(texts: Texts<'py>, columns: &Columns<'_, 'py>) -> PyResult<Table<'py>> {
        for (name, column) in [("id", columns.id), ("date", columns.date)] {
            if column.is_some_and(|column| column.is_instance_of::<PyString>()) {
                return Err(type_error(format!(
                    "`{name}` is a column name, but the data is not a table: pass a list or a column of {name}s"
                )));
            }
        }
        let ids = columns.id.map(ids::list_from_python).transpose()?;
        let dates = columns.date.map(ids::dates).transpose()?;
        Ok(Table { texts, ids, dates })
    }

    /// Returns an error if there are not as many ids and dates as texts, or if an id occurs twice.
    pub(crate) fn check(&self, texts: usize) -> PyResult<()> {
        if let Some(ids) = &self.ids {
            same_length(("texts", texts), ("ids", ids.len()))?;
            DocId::check_unique(ids).map_err(engine_error)?;
        }
        if let Some(dates) = &self.dates {
            same_length(("texts", texts), ("dates", dates.len()))?;
        }
        Ok(())
    }

    /// Returns the Python id of a row. `row` is the id that the engine has for the row: its number.
    pub(crate) fn id_of(&self, py: Python<'py>, row: &DocId) -> PyResult<Bound<'py, PyAny>> {
        let id = match (row, &self.ids) {
            (DocId::Number(row), Some(ids)) => &ids[*row as usize],
            _ => row,
        };
        ids::to_python(py, id)
    }
}

/// Reads columns of a Parquet file or of a directory of such files. Returns `None` if the data is not a path. Without
/// column names, reads all columns.
///
/// A path is a path object, or a str that ends with `.parquet` or `.pq` or is the path of an existing file.
fn read_parquet<'py>(data: &Bound<'py, PyAny>, columns: &[String]) -> PyResult<Option<Bound<'py, PyAny>>> {
    let is_parquet = |path: &str| {
        let lower = path.to_ascii_lowercase();
        lower.ends_with(".parquet") || lower.ends_with(".pq") || std::path::Path::new(path).exists()
    };
    let is_path = match data.cast::<PyString>() {
        Ok(path) => path.to_str().is_ok_and(is_parquet),
        Err(_) => data.hasattr("__fspath__")?,
    };
    if !is_path {
        return Ok(None);
    }
    data.py().import("sameish._parquet")?.getattr("read")?.call1((data, columns.to_vec())).map(Some)
}

/// Selects the columns that are read, so that the other columns are not converted to Arrow.
fn select_columns<'py>(data: &Bound<'py, PyAny>, columns: &Columns<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let has = |name: &str| data.hasattr(name).unwrap_or(false);
    let is_lazy = is_lazy_frame(data);
    if !is_lazy && (!has("columns") || !(has("__arrow_c_stream__") || has("__arrow_c_array__"))) {
        return Ok(data.clone());
    }
    let names = columns.names();
    let available = if is_lazy {
        data.call_method0("collect_schema")?.call_method0("names")?
    } else {
        data.getattr("column_names").or_else(|_| data.getattr("columns"))?
    };
    let available = available.try_iter()?.map(|name| Ok(name?.str()?.to_string()));
    let available = available.collect::<PyResult<Vec<_>>>()?;
    if let Some(unknown) = names.iter().find(|name| !available.contains(name)) {
        return Err(arrow::unknown_column(unknown, &available));
    }
    if !has("select") {
        return data.get_item(names);
    }
    let selected = data.call_method1("select", (names,))?;
    if is_lazy { selected.call_method0("collect") } else { Ok(selected) }
}

/// Returns `true` for a lazy data frame of Polars.
fn is_lazy_frame(data: &Bound<'_, PyAny>) -> bool {
    data.hasattr("collect_schema").unwrap_or(false) && data.hasattr("collect").unwrap_or(false)
}

/// Reads a path or collects a lazy data frame. Returns other data unchanged.
pub(crate) fn collect<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match read_parquet(data, &[])? {
        Some(table) => Ok(table),
        None if is_lazy_frame(data) => data.call_method0("collect"),
        None => Ok(data.clone()),
    }
}

/// Selects rows and returns them as the same type.
pub(crate) fn take_rows<'py>(
    data: &Bound<'py, PyAny>,
    rows: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let has = |name: &str| data.hasattr(name).unwrap_or(false);
    let failed = |error: PyErr| type_error(format!("cannot take rows from {}: {error}", type_name(data)));
    if has("iloc") {
        return data.getattr("iloc")?.get_item(rows);
    }
    let is_pyarrow = has("take") && (has("schema") || has("chunks") || has("buffers"));
    if is_pyarrow {
        // Some versions of pyarrow cannot take rows of some types, but all can slice them.
        return data.call_method1("take", (rows,)).or_else(|_| take_by_slices(data, rows));
    }
    if has("__arrow_c_stream__") || has("__array__") {
        return data.get_item(rows).map_err(failed);
    }
    let rows: Vec<usize> = rows.extract()?;
    let items = rows.into_iter().map(|row| data.get_item(row)).collect::<PyResult<Vec<_>>>();
    let items = items.map_err(failed)?;
    if data.is_instance_of::<PyTuple>() {
        return Ok(PyTuple::new(data.py(), items)?.into_any());
    }
    Ok(PyList::new(data.py(), items)?.into_any())
}

/// Selects rows of a pyarrow table, record batch or array by slices of consecutive rows. `rows` must be ascending.
fn take_by_slices<'py>(data: &Bound<'py, PyAny>, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let rows: Vec<usize> = rows.extract()?;
    let slices = rows.chunk_by(|a, b| a + 1 == *b).map(|run| data.call_method1("slice", (run[0], run.len())));
    let mut slices = slices.collect::<PyResult<Vec<_>>>()?;
    if slices.is_empty() {
        slices.push(data.call_method1("slice", (0, 0))?);
    }
    let pyarrow = data.py().import("pyarrow")?;
    if data.hasattr("schema")? {
        let is_batch = type_name(data) == "RecordBatch";
        let concat = if is_batch { "concat_batches" } else { "concat_tables" };
        return pyarrow.call_method1(concat, (slices,));
    }
    if data.hasattr("chunks")? {
        let chunks = slices.iter().map(|slice| slice.getattr("chunks")?.extract::<Vec<Bound<'py, PyAny>>>());
        let chunks: Vec<_> = chunks.collect::<PyResult<Vec<_>>>()?.into_iter().flatten().collect();
        return pyarrow.call_method1("chunked_array", (chunks, data.getattr("type")?));
    }
    pyarrow.call_method1("concat_arrays", (slices,))
}
