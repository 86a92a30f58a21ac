//! Rows of a Parquet file as batches of records.

use super::{MAX_ELEMENTS, Pages, Table, catch_panics, damaged};
use crate::escape::escaped;
use crate::input::ReadOptions;
use crate::input::batch::RecordBatch;
use crate::input::fields::{InputFields, choose};
use crate::input::format::{Consumed, Fault, FieldNames, MAX_RECORDS, ParsedRecord, RecordFormat, Span};
use crate::input::jsonl::{Jsonl, SKETCHES, TOKENS};
use crate::input::reject::{InputError, Problem, Reason};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of rows decoded at once; fewer if they contain lists.
const ROWS: usize = 1024;
const ROWS_WITH_LISTS: usize = 16;
/// Target size of a batch in bytes.
const BATCH: usize = 1 << 20;
/// Bytes kept of a record that is too long, for the excerpt.
const KEPT: usize = 256;

/// A row as a line of JSON.
struct Row(Jsonl);

impl RecordFormat for Row {
    fn split(&self, _: &[u8], _: bool, _: usize, _: &mut Vec<Span>) -> Consumed {
        Consumed::default()
    }

    fn parse(&self, record: &str) -> std::result::Result<ParsedRecord, Reason> {
        self.0.parse(record)
    }

    fn counts_rows(&self) -> bool {
        true
    }
}

/// Splits a Parquet file into batches.
pub(crate) struct Rows {
    table: Table,
    format: Arc<dyn RecordFormat>,
    max_line: usize,
    columns: Vec<Column>,
    step: usize,
    group: usize,
    /// Rows of the current row group that are not decoded yet.
    left: u64,
    /// Number of decoded rows.
    decoded: usize,
    /// Number of decoded rows that were returned.
    returned: usize,
    /// Number of rows of the file that were returned.
    row: u64,
    /// Remaining number of list elements in one step.
    elements: Arc<AtomicU64>,
    ended: bool,
    /// Error that ended the file early, until it is returned.
    error: Option<InputError>,
}

impl Rows {
    /// Looks up the columns of the fields.
    pub(crate) fn new(table: Table, options: &ReadOptions) -> std::result::Result<Rows, InputError> {
        let schema = table.metadata.file_metadata().schema_descr();
        let fields = choose(&table.input.name, &fields_of(schema), options)?;
        let columns = requested_columns(schema, &fields)
            .map_err(|why| InputError::unreadable(&table.input.name, why))?;
        let lists = columns.iter().any(|column| column.max_rep > 0);
        Ok(Rows {
            format: Arc::new(Row(Jsonl { fields })),
            max_line: options.rules.max_line,
            columns,
            step: if lists { ROWS_WITH_LISTS } else { ROWS },
            group: 0,
            left: 0,
            decoded: 0,
            returned: 0,
            row: 0,
            elements: Arc::new(AtomicU64::new(0)),
            ended: false,
            error: None,
            table,
        })
    }

    /// Returns the next records; `first` is the sequence number of the first of them.
    pub(crate) fn next(&mut self, first: u64) -> Option<std::result::Result<RecordBatch, InputError>> {
        if self.ended {
            return self.error.take().map(Err);
        }
        let (mut bytes, mut spans, line) = (Vec::new(), Vec::new(), self.row + 1);
        if let Err(error) = catch_panics(|| self.fill(&mut bytes, &mut spans)) {
            // The rows decoded before the error are returned first.
            self.error = Some(self.table.input_error(&error));
            self.ended = true;
        }
        if spans.is_empty() {
            self.ended = true;
            return self.error.take().map(Err);
        }
        let input = self.table.input.clone();
        let format = self.format.clone();
        let seekable = false;
        Some(Ok(RecordBatch {
            input,
            format,
            bytes,
            spans,
            offset: 0,
            line,
            first,
            seekable,
            input_number: 0,
        }))
    }

    /// Appends rows until the batch is full or the file ends.
    fn fill(&mut self, bytes: &mut Vec<u8>, spans: &mut Vec<Span>) -> Result<()> {
        while bytes.len() < BATCH && spans.len() < MAX_RECORDS {
            if self.returned == self.decoded && !self.decode()? {
                return Ok(());
            }
            let start = bytes.len();
            let fault = self.write(bytes);
            self.table.shared.expansion.add((bytes.len() - start) as u64, self.table.shared.len).map_err(
                |limit| {
                    bytes.truncate(start);
                    parquet::errors::ParquetError::External(Box::new(limit))
                },
            )?;
            spans.push(Span { start, end: bytes.len(), line: spans.len() as u64, fault });
            self.returned += 1;
            self.row += 1;
        }
        Ok(())
    }

    /// Appends the next row.
    fn write(&mut self, bytes: &mut Vec<u8>) -> Option<Fault> {
        let length: usize = self.columns.iter().map(Column::length).sum();
        let start = bytes.len();
        let too_long = length > self.max_line;
        bytes.push(b'{');
        for column in &mut self.columns {
            if bytes.len() > start + 1 && bytes.last() != Some(&b',') {
                bytes.push(b',');
            }
            column.write(bytes, if too_long { KEPT } else { usize::MAX });
        }
        if bytes.last() == Some(&b',') {
            bytes.pop();
        }
        bytes.push(b'}');
        if too_long {
            bytes.truncate(start + KEPT.min(bytes.len() - start));
        }
        too_long.then_some(Fault::TooLong)
    }

    /// Decodes the next rows. Returns `false` at the end of the file.
    fn decode(&mut self) -> Result<bool> {
        while self.left == 0 {
            let Some(group) = self.table.metadata.row_groups().get(self.group) else { return Ok(false) };
            self.left = u64::try_from(group.num_rows()).map_err(|_| damaged("negative number of rows"))?;
            for column in &mut self.columns {
                let chunk = group.columns().get(column.index).ok_or_else(|| damaged("column is missing"))?;
                let elements = (column.max_rep > 0).then(|| self.elements.clone());
                let pages = Pages::new(self.table.shared.clone(), chunk, elements)?;
                column.reader = Some(get_column_reader(chunk.column_descr_ptr(), Box::new(pages)));
            }
            self.group += 1;
        }
        self.elements.store(MAX_ELEMENTS, Relaxed);
        let step = self.step.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let mut rows = None;
        for column in &mut self.columns {
            let read = column.decode(step)?;
            if read == 0 || rows.is_some_and(|rows| rows != read) {
                return Err(damaged("column has fewer rows than the file"));
            }
            rows = Some(read);
        }
        self.decoded = rows.unwrap_or(0);
        self.returned = 0;
        self.left -= self.decoded as u64;
        Ok(true)
    }
}

/// How a number is converted to JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Signed,
    Unsigned,
    Days,
    /// Fractions of a second since 1970; the value is the number of fractions per second.
    Fractions(i64),
}

/// A requested column and its decoded values.
struct Column {
    index: usize,
    /// `"name":` in JSON.
    key: Vec<u8>,
    number: Number,
    max_def: i16,
    max_rep: i16,
    /// Definition level from which a list is present, possibly empty.
    list_def: i16,
    reader: Option<ColumnReader>,
    def: Vec<i16>,
    rep: Vec<i16>,
    texts: Vec<ByteArray>,
    small: Vec<i32>,
    large: Vec<i64>,
    /// Position of the next level.
    level: usize,
    /// Position of the next value.
    value: usize,
}

impl Column {
    fn new(index: usize, descr: &ColumnDescriptor, name: &str, number: Number) -> Column {
        let mut key = Vec::new();
        push_json(&mut key, name.as_bytes());
        key.push(b':');
        let (max_def, max_rep) = (descr.max_def_level(), descr.max_rep_level());
        // One level below that of a value is an empty entry, and one below that an empty list.
        let optional = i16::from(descr.self_type().is_optional());
        Column {
            index,
            key,
            number,
            max_def,
            max_rep,
            list_def: max_def - optional - 1,
            reader: None,
            def: Vec::new(),
            rep: Vec::new(),
            texts: Vec::new(),
            small: Vec::new(),
            large: Vec::new(),
            level: 0,
            value: 0,
        }
    }

    fn decode(&mut self, rows: usize) -> Result<usize> {
        let Column { def, rep, texts, small, large, .. } = self;
        def.clear();
        rep.clear();
        texts.clear();
        small.clear();
        large.clear();
        (self.level, self.value) = (0, 0);
        let (def, rep) = (Some(def), Some(rep));
        let (rows, ..) = match &mut self.reader {
            Some(ColumnReader::ByteArrayColumnReader(reader)) => {
                reader.read_records(rows, def, rep, texts)?
            }
            Some(ColumnReader::Int32ColumnReader(reader)) => reader.read_records(rows, def, rep, small)?,
            Some(ColumnReader::Int64ColumnReader(reader)) => reader.read_records(rows, def, rep, large)?,
            _ => return Err(damaged("column type differs from the schema")),
        };
        Ok(rows)
    }

    /// Returns the levels of the next row.
    fn levels(&self) -> std::ops::Range<usize> {
        let more = match self.max_rep {
            0 => 0,
            _ => self.rep.iter().skip(self.level + 1).take_while(|&&rep| rep > 0).count(),
        };
        self.level..self.level + 1 + more
    }

    fn is_present(&self, level: usize) -> bool {
        self.max_def == 0 || self.def.get(level) == Some(&self.max_def)
    }

    /// Returns the length of the next row's value in bytes.
    fn length(&self) -> usize {
        let values = self.levels().filter(|&level| self.is_present(level)).count();
        let texts = self.texts.iter().skip(self.value).take(values);
        self.key.len() + texts.map(|text| text.len() + 3).sum::<usize>()
    }

    /// Appends the next row's value with its key, unless it is null; at most `most` bytes of each string.
    fn write(&mut self, bytes: &mut Vec<u8>, most: usize) {
        let levels = self.levels();
        self.level = levels.end;
        let depth = self.def.get(levels.start).copied().unwrap_or(self.max_def);
        if self.max_rep == 0 {
            if self.is_present(levels.start) {
                bytes.extend_from_slice(&self.key);
                self.write_value(bytes, most);
            }
            return;
        }
        if depth < self.list_def {
            return;
        }
        bytes.extend_from_slice(&self.key);
        bytes.push(b'[');
        // Only levels above that of an empty list have elements.
        let slots = if depth > self.list_def { levels } else { 0..0 };
        for (i, level) in slots.enumerate() {
            if i > 0 {
                bytes.push(b',');
            }
            match self.is_present(level) {
                true => self.write_value(bytes, most),
                false => bytes.extend_from_slice(b"null"),
            }
        }
        bytes.push(b']');
    }

    fn write_value(&mut self, bytes: &mut Vec<u8>, most: usize) {
        let at = self.value;
        self.value += 1;
        if let Some(text) = self.texts.get(at) {
            let text = text.data();
            return push_json(bytes, &text[..text.len().min(most)]);
        }
        let number = self.large.get(at).copied().or_else(|| self.small.get(at).copied().map(i64::from));
        let number = number.unwrap_or_default();
        let written = match self.number {
            Number::Signed => number.to_string(),
            Number::Unsigned if self.large.is_empty() => (number as u32).to_string(),
            Number::Unsigned => (number as u64).to_string(),
            Number::Days => format!("\"{}\"", date(number)),
            Number::Fractions(second) => {
                let (seconds, rest) = (number.div_euclid(second), number.rem_euclid(second));
                format!("\"{}\"", timestamp(seconds, rest, second))
            }
        };
        bytes.extend_from_slice(written.as_bytes());
    }
}

/// Appends a JSON string. Bytes that are not UTF-8 are kept, so that the record is handled like any other.
fn push_json(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            byte => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Formats days since 1970 as `2026-11-16`. The result for a day outside of the calendar is not a valid date.
fn date(days: i64) -> String {
    let span = jiff::Span::new().try_days(days);
    let date = span.and_then(|span| jiff::civil::Date::constant(1970, 1, 1).checked_add(span));
    date.map_or_else(|_| format!("{days} days since 1970"), |date| date.to_string())
}

/// Formats a point in time as `2026-11-16T12:00:00.5Z`; `rest` counts fractions, of which a second has `second`.
fn timestamp(seconds: i64, rest: i64, second: i64) -> String {
    let nanoseconds = i32::try_from(rest * (1_000_000_000 / second)).unwrap_or(0);
    match jiff::Timestamp::new(seconds, nanoseconds) {
        Ok(timestamp) if rest == 0 => timestamp.to_string(),
        Ok(timestamp) => format!("{timestamp:.*}", second.ilog10() as usize),
        Err(_) => format!("{seconds} seconds since 1970"),
    }
}

/// Returns the columns of the fields.
fn requested_columns(
    schema: &SchemaDescriptor,
    fields: &FieldNames,
) -> std::result::Result<Vec<Column>, Problem> {
    let mut selection = ColumnSelection { schema, columns: Vec::new() };
    for name in fields.text.iter().chain(&fields.title).filter(|name| *name != TOKENS) {
        selection.add_text(name)?;
    }
    if let Some(id) = &fields.id {
        selection.add_id(id)?;
    }
    let source = fields.source.iter().find(|name| selection.leaf(name).is_some());
    for name in source.into_iter().chain(&fields.date) {
        selection.add_scalar(name);
    }
    // Sketches may replace an absent text.
    for name in SKETCHES {
        selection.add_sketch(name);
    }
    selection.add_tokens();
    Ok(selection.columns)
}

/// The columns that are read, each of them once.
struct ColumnSelection<'s> {
    schema: &'s SchemaDescriptor,
    columns: Vec<Column>,
}

impl<'s> ColumnSelection<'s> {
    /// Returns a column of single values.
    fn leaf(&self, name: &str) -> Option<(usize, &'s ColumnDescriptor)> {
        let mut leaves = self.schema.columns().iter().enumerate();
        let (index, column) =
            leaves.find(|(_, column)| column.path().string() == name && column.max_rep_level() == 0)?;
        Some((index, column.as_ref()))
    }

    /// Returns `true` if a list or a group has this name.
    fn has_group(&self, name: &str) -> bool {
        self.schema.columns().iter().any(|column| column.path().parts()[0] == name)
    }

    fn add(&mut self, index: usize, column: &ColumnDescriptor, name: &str, number: Number) {
        if !self.columns.iter().any(|known| known.index == index) {
            self.columns.push(Column::new(index, column, name, number));
        }
    }

    /// Adds a column of texts, if there is one with this name.
    fn add_text(&mut self, name: &str) -> std::result::Result<(), Problem> {
        const EXPECTED: &str = "must contain strings";
        match self.leaf(name) {
            Some((index, column)) if is_text(column) => self.add(index, column, name, Number::Signed),
            Some((_, column)) => return Err(wrong_type(name, &described(column), EXPECTED)),
            None if self.has_group(name) => return Err(wrong_type(name, "a list or a group", EXPECTED)),
            None => {}
        }
        Ok(())
    }

    /// Adds the column of ids, if there is one with this name.
    fn add_id(&mut self, name: &str) -> std::result::Result<(), Problem> {
        const EXPECTED: &str = "must contain strings or integers";
        let Some((index, column)) = self.leaf(name) else {
            return match self.has_group(name) {
                true => Err(wrong_type(name, "a list or a group", EXPECTED)),
                false => Ok(()),
            };
        };
        let number = if is_text(column) { Some(Number::Signed) } else { integer(column) };
        let number = number.ok_or_else(|| wrong_type(name, &described(column), EXPECTED))?;
        self.add(index, column, name, number);
        Ok(())
    }

    /// Adds a column of sources or dates. One of another type counts as missing.
    fn add_scalar(&mut self, name: &str) {
        let Some((index, column)) = self.leaf(name) else { return };
        let text = is_text(column).then_some(Number::Signed);
        if let Some(number) = text.or_else(|| integer(column)).or_else(|| time(column)) {
            self.add(index, column, name, number);
        }
    }

    /// Adds a column of sketches as hex digits.
    fn add_sketch(&mut self, name: &str) {
        if let Some((index, column)) = self.leaf(name).filter(|(_, column)| is_text(column)) {
            self.add(index, column, name, Number::Signed);
        }
    }

    /// Adds the column of tokens, if it is a list of strings.
    fn add_tokens(&mut self) {
        let columns = self.schema.columns().iter().enumerate();
        let mut tokens = columns.filter(|(_, column)| column.path().parts()[0] == TOKENS);
        let (Some((index, column)), None) = (tokens.next(), tokens.next()) else { return };
        if column.max_rep_level() == 1 && column.physical_type() == Type::BYTE_ARRAY {
            self.add(index, column, TOKENS, Number::Signed);
        }
    }
}

/// Returns the columns of a file: the paths of single values, and the names of lists.
fn fields_of(schema: &SchemaDescriptor) -> InputFields {
    let mut names: Vec<String> = Vec::new();
    for column in schema.columns() {
        let name = match column.max_rep_level() {
            0 => column.path().string(),
            _ => column.path().parts()[0].clone(),
        };
        if names.last() != Some(&name) {
            names.push(name);
        }
    }
    let is_string = |name: &str| {
        schema
            .columns()
            .iter()
            .any(|column| column.path().string() == name && column.max_rep_level() == 0 && is_text(column))
    };
    InputFields::of_table(&names, is_string)
}

fn wrong_type(name: &str, found: &str, remedy: &str) -> Problem {
    format!("column `{}` is {found}; it {remedy}", escaped(name)).into()
}

/// Returns `true` for strings, and bytes that may be strings.
fn is_text(column: &ColumnDescriptor) -> bool {
    let decimal = column.converted_type() == ConvertedType::DECIMAL;
    column.physical_type() == Type::BYTE_ARRAY && !decimal
}

fn integer(column: &ColumnDescriptor) -> Option<Number> {
    if !matches!(column.physical_type(), Type::INT32 | Type::INT64) {
        return None;
    }
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Integer(kind)), _) if kind.is_signed => Some(Number::Signed),
        (Some(LogicalType::Integer(_)), _) => Some(Number::Unsigned),
        (Some(_), _) => None,
        (
            None,
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64,
        ) => Some(Number::Unsigned),
        (None, ConvertedType::NONE | ConvertedType::INT_8 | ConvertedType::INT_16) => Some(Number::Signed),
        (None, ConvertedType::INT_32 | ConvertedType::INT_64) => Some(Number::Signed),
        _ => None,
    }
}

fn time(column: &ColumnDescriptor) -> Option<Number> {
    match (column.logical_type_ref(), column.converted_type(), column.physical_type()) {
        (Some(LogicalType::Date), _, Type::INT32) | (None, ConvertedType::DATE, Type::INT32) => {
            Some(Number::Days)
        }
        (Some(LogicalType::Timestamp(kind)), _, Type::INT64) => Some(Number::Fractions(match kind.unit {
            TimeUnit::MILLIS => 1_000,
            TimeUnit::MICROS => 1_000_000,
            TimeUnit::NANOS => 1_000_000_000,
        })),
        (None, ConvertedType::TIMESTAMP_MILLIS, Type::INT64) => Some(Number::Fractions(1_000)),
        (None, ConvertedType::TIMESTAMP_MICROS, Type::INT64) => Some(Number::Fractions(1_000_000)),
        _ => None,
    }
}

fn described(column: &ColumnDescriptor) -> String {
    match column.logical_type_ref() {
        Some(logical) => {
            let name = format!("{logical:?}");
            format!("of type {}", name.split('(').next().unwrap_or_default().to_uppercase())
        }
        None => format!("of type {}", column.physical_type()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_dates_and_timestamps() {
        assert_eq!(
            [0, -1, 19_782, 20_773, -719_528].map(date),
            ["1970-01-01", "1969-12-31", "2024-02-29", "2026-11-16", "0000-01-01"]
        );
        assert_eq!(timestamp(1_700_000_000, 0, 1000), "2023-11-14T22:13:20Z");
        assert_eq!(timestamp(-1, 5, 1_000_000), "1969-12-31T23:59:59.000005Z");
        let _ = (date(i64::MAX), date(i64::MIN), timestamp(i64::MIN, 1, 1));
    }

    #[test]
    fn escapes_strings_for_json() {
        let mut out = Vec::new();
        push_json(&mut out, "a\"b\\c\nd\u{1}é\u{7f}".as_bytes());
        assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), "a\"b\\c\nd\u{1}é\u{7f}");
    }
}
