//! The data of `dedup`, `pairs` and `cluster`.
//!
//! The data is a list of texts, a column, or a table with a column of texts. Ids and dates are columns of the table, or lists or
//! columns of their own. `sameish/_tables.py` converts the tables of other libraries.

use crate::arrow;
use crate::error::{engine_error, excerpt, setting_error, type_error};
use crate::ids;
use crate::numbers::same_length;
use crate::texts::Texts;
use arrow_array::ArrayRef;
use pyo3::prelude::*;
use pyo3::types::PyString;
use sameish::{DocId, Timestamp};

/// Where the texts, ids, dates and sources of a table are.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a, 'py> {
    /// Name of the text column; by default [`TEXT`].
    pub(crate) text: Option<&'a str>,
    /// Name of the id column, or a list or column of ids.
    pub(crate) id: Option<&'a Bound<'py, PyAny>>,
    /// Name of the date column, or a list or column of dates.
    pub(crate) date: Option<&'a Bound<'py, PyAny>>,
    /// Name of the column of sources, or a list or column of sources.
    pub(crate) source: Option<&'a Bound<'py, PyAny>>,
    /// Name of the column whose largest value decides which document is kept.
    pub(crate) keep_field: Option<&'a str>,
    /// Whether texts may contain invalid UTF-8.
    pub(crate) lossy: bool,
}

/// Default name of the text column.
const TEXT: &str = "text";

impl Columns<'_, '_> {
    fn text(&self) -> &str {
        self.text.unwrap_or(TEXT)
    }

    /// Returns the names of the columns to read from the table, without repetition.
    fn names(&self) -> Vec<String> {
        let others = [self.id, self.date, self.source].into_iter().flatten();
        let others = others.filter_map(|column| column.extract::<String>().ok());
        let named = std::iter::once(self.text()).chain(self.keep_field).map(str::to_owned);
        let mut names: Vec<String> = named.chain(others).collect();
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
    pub(crate) sources: Option<Vec<Option<String>>>,
    /// The values of the column that decides which document is kept.
    pub(crate) kept_by: Option<Vec<Option<String>>>,
}

impl<'py> Table<'py> {
    pub(crate) fn read(data: &Bound<'py, PyAny>, columns: &Columns<'_, 'py>) -> PyResult<Table<'py>> {
        let select = data.py().import("sameish._tables")?.getattr("select")?;
        let data = &select.call1((data, columns.names()))?;
        match arrow::chunks(data)? {
            Some(chunks) if arrow::is_table(&chunks) => Table::from_arrow(&chunks, columns),
            Some(chunks) => Table::from_texts(Texts::from_arrow(&chunks)?, columns),
            // A pandas data frame without pyarrow cannot be exported to Arrow; its columns are read by iteration.
            None if data.hasattr("columns")? && data.hasattr("iloc")? => Table::from_pandas(data, columns),
            None => Table::from_texts(Texts::read(data, "texts", columns.lossy)?, columns),
        }
    }

    fn from_arrow(chunks: &[ArrayRef], columns: &Columns<'_, 'py>) -> PyResult<Table<'py>> {
        let texts = Texts::from_arrow(&arrow::column(chunks, columns.text())?)?;
        let ids = columns.id.map(|id| match id.cast::<PyString>() {
            Ok(name) => arrow::ids(&arrow::column(chunks, name.to_str()?)?),
            Err(_) => ids::list_from_python(id),
        });
        let dates = columns.date.map(|date| match date.cast::<PyString>() {
            Ok(name) => arrow::dates(&arrow::column(chunks, name.to_str()?)?),
            Err(_) => ids::dates(date),
        });
        let sources = columns.source.map(|source| match source.cast::<PyString>() {
            Ok(name) => arrow::values_as_text(&arrow::column(chunks, name.to_str()?)?, "source"),
            Err(_) => ids::values_as_text(source, "source"),
        });
        let kept_by =
            columns.keep_field.map(|name| arrow::values_as_text(&arrow::column(chunks, name)?, "value"));
        Ok(Table {
            texts,
            ids: ids.transpose()?,
            dates: dates.transpose()?,
            sources: sources.transpose()?,
            kept_by: kept_by.transpose()?,
        })
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
        let text = PyString::new(data.py(), columns.text());
        let texts = Texts::read(&by_name(text.as_any())?, "texts", columns.lossy)?;
        let ids = columns.id.map(|id| ids::list_from_python(&column(id)?)).transpose()?;
        let dates = columns.date.map(|date| ids::dates(&column(date)?)).transpose()?;
        let sources =
            columns.source.map(|source| ids::values_as_text(&column(source)?, "source")).transpose()?;
        let kept_by = columns
            .keep_field
            .map(|name| ids::values_as_text(&by_name(PyString::new(data.py(), name).as_any())?, "value"));
        Ok(Table { texts, ids, dates, sources, kept_by: kept_by.transpose()? })
    }

    fn from_texts(texts: Texts<'py>, columns: &Columns<'_, 'py>) -> PyResult<Table<'py>> {
        if let Some(text) = columns.text {
            return Err(type_error(format!(
                "`text` is the column name `{}`, but the data is not a table: omit it; select a preset with `preset=`",
                excerpt(text)
            )));
        }
        if let Some(field) = columns.keep_field {
            return Err(type_error(format!(
                "`keep` is `field:{}`, but the data is not a table: pass a table with this column",
                excerpt(field)
            )));
        }
        for (name, column) in [("id", columns.id), ("date", columns.date), ("source", columns.source)] {
            if column.is_some_and(|column| column.is_instance_of::<PyString>()) {
                return Err(type_error(format!(
                    "`{name}` is a column name, but the data is not a table: pass a list or a column of {name}s"
                )));
            }
        }
        let ids = columns.id.map(ids::list_from_python).transpose()?;
        let dates = columns.date.map(ids::dates).transpose()?;
        let sources = columns.source.map(|source| ids::values_as_text(source, "source")).transpose()?;
        Ok(Table { texts, ids, dates, sources, kept_by: None })
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
        if let Some(sources) = &self.sources {
            same_length(("texts", texts), ("sources", sources.len()))?;
        }
        Ok(())
    }
}
