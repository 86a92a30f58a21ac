//! Copies some rows of a Parquet file to another file.
//!
//! Values and levels of each column are passed from the reader to the writer without conversion, so schema, field ids, old
//! timestamp types and nested lists are preserved. Row groups and columns are copied one after the other, so memory does not
//! grow with the file.

use crate::input::parquet::{MAX_ELEMENTS, Pages, Table, catch_panics, damaged};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of rows copied at once; fewer if they contain lists.
const ROWS: usize = 1024;
const ROWS_WITH_LISTS: usize = 16;

/// Writes the rows that `keep` selects, with the same schema, metadata and compression. Returns their number.
///
/// `keep` is called with row numbers from 0, once per column, and must always return the same result for a row.
pub(crate) fn copy_rows(table: &Table, keep: &dyn Fn(u64) -> bool, output: impl Write + Send) -> Result<u64> {
    catch_panics(|| {
        let file = table.metadata.file_metadata();
        let properties = Arc::new(properties(&table.metadata)?);
        let mut writer =
            SerializedFileWriter::new(output, file.schema_descr().root_schema_ptr(), properties)?;
        let (mut first, mut kept) = (0, 0);
        for group in table.metadata.row_groups() {
            let rows = u64::try_from(group.num_rows()).map_err(|_| damaged("negative number of rows"))?;
            let keep = |row: u64| keep(first + row);
            let count = (0..rows).filter(|&row| keep(row)).count() as u64;
            if count > 0 {
                copy_group(table, group, rows, &keep, &mut writer)?;
            }
            first += rows;
            kept += count;
        }
        writer.close()?;
        Ok(kept)
    })
}

/// Returns the writer properties of the first row group.
fn properties(metadata: &ParquetMetaData) -> Result<WriterProperties> {
    let file = metadata.file_metadata();
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("sameish ", env!("CARGO_PKG_VERSION")).into())
        .set_key_value_metadata(file.key_value_metadata().cloned());
    if let Some(group) = metadata.row_groups().first() {
        builder = builder.set_sorting_columns(group.sorting_columns().cloned());
        for column in group.columns() {
            let path = column.column_path().clone();
            builder = builder.set_column_compression(path.clone(), column.compression());
            builder = builder.set_column_dictionary_enabled(path, column.dictionary_page_offset().is_some());
        }
    }
    Ok(builder.build())
}

fn copy_group<W: Write + Send>(
    table: &Table,
    group: &RowGroupMetaData,
    rows: u64,
    keep: &dyn Fn(u64) -> bool,
    writer: &mut SerializedFileWriter<W>,
) -> Result<()> {
    let mut group_writer = writer.next_row_group()?;
    let mut columns = group.columns().iter();
    while let Some(mut column_writer) = group_writer.next_column()? {
        let column = columns.next().ok_or_else(|| damaged("a column is missing"))?;
        copy_column(table, column, rows, keep, column_writer.untyped())?;
        column_writer.close()?;
    }
    group_writer.close().map(drop)
}

fn copy_column(
    table: &Table,
    column: &ColumnChunkMetaData,
    rows: u64,
    keep: &dyn Fn(u64) -> bool,
    writer: &mut ColumnWriter<'_>,
) -> Result<()> {
    let elements = Arc::new(AtomicU64::new(0));
    let descr = column.column_descr_ptr();
    let repeated = (descr.max_rep_level() > 0).then(|| elements.clone());
    let pages = Box::new(Pages::new(table.shared.clone(), column, repeated)?);
    let reader = get_column_reader(descr.clone(), pages);
    let copy = ColumnCopy { descr, rows, keep, elements: &elements };
    match (reader, writer) {
        (ColumnReader::BoolColumnReader(r), ColumnWriter::BoolColumnWriter(w)) => copy.run(r, w),
        (ColumnReader::Int32ColumnReader(r), ColumnWriter::Int32ColumnWriter(w)) => copy.run(r, w),
        (ColumnReader::Int64ColumnReader(r), ColumnWriter::Int64ColumnWriter(w)) => copy.run(r, w),
        (ColumnReader::Int96ColumnReader(r), ColumnWriter::Int96ColumnWriter(w)) => copy.run(r, w),
        (ColumnReader::FloatColumnReader(r), ColumnWriter::FloatColumnWriter(w)) => copy.run(r, w),
        (ColumnReader::DoubleColumnReader(r), ColumnWriter::DoubleColumnWriter(w)) => copy.run(r, w),
        (ColumnReader::ByteArrayColumnReader(r), ColumnWriter::ByteArrayColumnWriter(w)) => copy.run(r, w),
        (ColumnReader::FixedLenByteArrayColumnReader(r), ColumnWriter::FixedLenByteArrayColumnWriter(w)) => {
            copy.run(r, w)
        }
        _ => Err(damaged("column type differs from the schema")),
    }
}

/// Copies one column of one row group.
struct ColumnCopy<'a> {
    descr: ColumnDescPtr,
    rows: u64,
    keep: &'a dyn Fn(u64) -> bool,
    elements: &'a AtomicU64,
}

impl ColumnCopy<'_> {
    fn run<T: DataType>(
        &self,
        mut reader: ColumnReaderImpl<T>,
        writer: &mut ColumnWriterImpl<'_, T>,
    ) -> Result<()> {
        let (max_def, max_rep) = (self.descr.max_def_level(), self.descr.max_rep_level());
        let step = if max_rep > 0 { ROWS_WITH_LISTS } else { ROWS };
        let (mut def, mut rep, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut first = 0;
        while first < self.rows {
            def.clear();
            rep.clear();
            values.clear();
            self.elements.store(MAX_ELEMENTS, Relaxed);
            let want = step.min(usize::try_from(self.rows - first).unwrap_or(step));
            let (rows, _, levels) = reader.read_records(want, Some(&mut def), Some(&mut rep), &mut values)?;
            if rows == 0 {
                return Err(damaged("a column has fewer rows than the file"));
            }
            let chosen = self.choose(first, levels, max_def, (&def, &rep), &values);
            let (def, rep) = (chosen.def, chosen.rep);
            writer.write_batch(
                &chosen.values,
                (max_def > 0).then_some(&def[..]),
                (max_rep > 0).then_some(&rep[..]),
            )?;
            first += rows as u64;
        }
        Ok(())
    }

    /// The levels and values of the rows that are kept. A row begins where the repetition level is 0.
    fn choose<V: Clone>(
        &self,
        first: u64,
        levels: usize,
        max_def: i16,
        (def, rep): (&[i16], &[i16]),
        values: &[V],
    ) -> Chosen<V> {
        let mut chosen = Chosen { def: Vec::new(), rep: Vec::new(), values: Vec::new() };
        let (mut row, mut begun, mut kept, mut value) = (first, false, false, 0);
        for level in 0..levels {
            if rep.get(level).is_none_or(|&rep| rep == 0) {
                row += u64::from(std::mem::replace(&mut begun, true));
                kept = (self.keep)(row);
            }
            let present = max_def == 0 || def.get(level) == Some(&max_def);
            if kept {
                chosen.def.extend(def.get(level));
                chosen.rep.extend(rep.get(level));
                chosen.values.extend(values.get(value).filter(|_| present).cloned());
            }
            value += usize::from(present);
        }
        chosen
    }
}

/// Levels and values of the kept rows.
struct Chosen<V> {
    def: Vec<i16>,
    rep: Vec<i16>,
    values: Vec<V>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Input, ReadOptions};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Row;
    use std::fs::File;
    use std::path::{Path, PathBuf};

    fn table(path: &Path) -> Table {
        let input = Input::file(path.to_owned());
        Table::open(&input, std::io::empty(), &ReadOptions::default())
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn rows(path: &Path) -> Vec<Row> {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect()
    }

    fn copied(from: &Path, to: &Path, keep: &dyn Fn(u64) -> bool) -> u64 {
        copy_rows(&table(from), keep, File::create(to).unwrap()).unwrap()
    }

    /// Returns files written by other programs; see testdata/parquet/README.md.
    fn samples() -> Vec<PathBuf> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/parquet");
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|suffix| suffix == "parquet"));
        files.sort();
        assert!(files.len() >= 5);
        files
    }

    #[test]
    fn copies_rows_of_every_type() {
        let dir = tempfile::tempdir().unwrap();
        for path in samples() {
            let all = rows(&path);
            let choices: [&dyn Fn(u64) -> bool; 5] =
                [&|_| true, &|_| false, &|row| row % 3 == 1, &|row| row == 0, &|row| row > 40];
            for (i, keep) in choices.into_iter().enumerate() {
                let to = dir.path().join(format!("{i}.parquet"));
                let expected: Vec<Row> =
                    all.iter().zip(0..).filter(|(_, row)| keep(*row)).map(|(row, _)| row.clone()).collect();
                assert_eq!(copied(&path, &to, keep), expected.len() as u64, "{}", path.display());
                assert!(rows(&to) == expected, "{} choice {i}", path.display());
            }
        }
    }

    #[test]
    fn preserves_schema_metadata_and_compression() {
        let dir = tempfile::tempdir().unwrap();
        for path in samples() {
            let to = dir.path().join("out.parquet");
            copied(&path, &to, &|row| row % 2 == 0);
            let (from, to) = (table(&path).metadata, table(&to).metadata);
            let (a, b) = (from.file_metadata(), to.file_metadata());
            assert_eq!(a.schema_descr().root_schema(), b.schema_descr().root_schema());
            assert_eq!(a.key_value_metadata(), b.key_value_metadata());
            assert!(a.key_value_metadata().is_some(), "the samples have some");
            for (a, b) in from.row_groups().iter().zip(to.row_groups()) {
                let packing = |group: &RowGroupMetaData| {
                    group.columns().iter().map(|column| column.compression_codec()).collect::<Vec<_>>()
                };
                assert_eq!(packing(a), packing(b));
                assert_eq!(a.sorting_columns(), b.sorting_columns());
            }
        }
    }
}
