//! Tables of comma-separated values, which are in memory as a whole.

use super::cells::{Cells, FrozenCells, shown};
use super::columns::{Column, Plan};
use super::divide::Keys;
use super::table::{Chunks, Part, Request};
use super::{DataConfig, DataError};
use crate::files::{FileProblem, name_of};
use csv::{ByteRecord, Position, ReaderBuilder};
use std::borrow::Cow;
use std::fs;
use std::ops::Range;
use std::path::Path;

type Result<T> = std::result::Result<T, DataError>;

/// Loads the table at `path`. The rows keep the order of the file.
pub(super) fn open(path: &Path, request: &Request<'_>) -> Result<Part> {
    let name = name_of(path);
    let table = fs::read(path).map_err(|error| FileProblem::Io(error).of(&name))?;
    let table = decompress(&name, table)?;
    read(&name, &table, request)
}

/// What is compressed with gzip or zstd is decompressed.
fn decompress(name: &str, table: Vec<u8>) -> Result<Vec<u8>> {
    #[cfg(feature = "compression")]
    {
        use std::io::Read;
        let mut text = Vec::new();
        let read = match table.as_slice() {
            [0x1f, 0x8b, ..] => flate2::read::MultiGzDecoder::new(table.as_slice()).read_to_end(&mut text),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                zstd::Decoder::new(table.as_slice()).and_then(|mut decoder| decoder.read_to_end(&mut text))
            }
            _ => return Ok(table),
        };
        read.map_err(|error| FileProblem::Io(error).of(name))?;
        Ok(text)
    }
    #[cfg(not(feature = "compression"))]
    {
        let _ = name;
        Ok(table)
    }
}

fn read(name: &str, table: &[u8], request: &Request<'_>) -> Result<Part> {
    check_encoding(name, table)?;
    let csv = |source| DataError::Csv { name: name.to_owned(), source };
    let config = request.config;
    let delimiter = u8::try_from(config.delimiter).ok().filter(u8::is_ascii).ok_or_else(|| {
        super::KeyProblem::expected("an ASCII character", config.delimiter.to_string()).at("data.delimiter")
    })?;
    let mut reader = ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(table);
    let header = reader.headers().map_err(csv)?.iter();
    let header: Vec<Column> = header.map(|name| Column { name: name.to_owned(), width: 1 }).collect();
    if let Some((column, expected, found)) = quote_problem(slice(table, 0..reader.position().byte()), delimiter) {
        return Err(DataError::mismatch(format!("{name}:1: column {}", column + 1), expected, found));
    }
    let plan = request.plan(name, &header)?;
    let mut rows = Rows::new(name, table, delimiter, request, &header, &plan)?;
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(csv)? {
        rows.check_quotes(&record, record.position().map_or(0, Position::byte)..reader.position().byte())?;
        rows.push(&record)?;
    }
    if rows.n_rows == 0 {
        return Err(DataError::mismatch(name, "rows below the header", "none"));
    }
    let Rows { cells, keys, n_rows, .. } = rows;
    let cells = cells.into_iter().map(Cells::freeze).collect();
    Ok(Part { plan, keys, own: None, chunks: vec![n_rows], reader: Box::new(InMemory(cells)) })
}

/// The whole table.
#[derive(Debug)]
struct InMemory(Vec<FrozenCells>);

impl Chunks for InMemory {
    fn read(&self, _plan: &Plan, _chunk_idx: usize) -> Result<Vec<FrozenCells>> {
        Ok(self.0.clone())
    }
}

/// The rows that were read.
struct Rows<'a> {
    name: &'a str,
    table: &'a [u8],
    delimiter: u8,
    config: &'a DataConfig,
    header: &'a [Column],
    plan: &'a Plan,
    /// For each column its categories, if it has any.
    categories: Vec<Option<&'a [String]>>,
    /// The positions of the columns whose values are kept as text.
    key_columns: Vec<usize>,
    keys: Vec<Keys>,
    /// For each tensor of the plan.
    cells: Vec<Cells>,
    n_rows: usize,
}

impl<'a> Rows<'a> {
    fn new(
        name: &'a str,
        table: &'a [u8],
        delimiter: u8,
        request: &Request<'a>,
        header: &'a [Column],
        plan: &'a Plan,
    ) -> Result<Self> {
        let key_columns = request.key_positions(name, header)?;
        let config = request.config;
        for column in config.categories.keys() {
            let key = format!("data.categories.{column}");
            super::columns::position(header, column).map_err(|problem| problem.at(key).in_file(name))?;
        }
        let categories = header.iter().map(|it| config.categories.get(&it.name).map(Vec::as_slice)).collect();
        // Not more than the lines. What is not used of it takes no memory.
        let n_lines = table.iter().filter(|byte| **byte == b'\n').count();
        let cells = plan.tensors.iter().map(|tensor| {
            let mut cells = Cells::new(tensor.dtype);
            cells.reserve(tensor.dtype, n_lines.saturating_mul(tensor.width));
            cells
        });
        let (cells, keys) = (cells.collect(), vec![Keys::default(); key_columns.len()]);
        Ok(Self { name, table, delimiter, config, header, plan, categories, key_columns, keys, cells, n_rows: 0 })
    }

    fn push(&mut self, record: &ByteRecord) -> Result<()> {
        if record.len() != self.header.len() {
            let expected = format!("{} columns", self.header.len());
            return Err(DataError::mismatch(place(self.name, self.table, record), expected, record.len()));
        }
        let (name, table, header) = (self.name, self.table, self.header);
        let wrong = |column: usize, expected: String| {
            let cell = record.get(column).unwrap_or_default();
            DataError::mismatch(cell_place(name, table, header, record, column), expected, shown(cell))
        };
        for (&column, keys) in self.key_columns.iter().zip(&mut self.keys) {
            let cell = record.get(column).unwrap_or_default();
            let text = std::str::from_utf8(cell).map_err(|_| wrong(column, "text".to_owned()))?;
            if text.is_empty() {
                return Err(wrong(column, "a client".to_owned()));
            }
            keys.push(text);
        }
        for (tensor, cells) in self.plan.tensors.iter().zip(&mut self.cells) {
            for &column in &tensor.columns {
                let cell = record.get(column).unwrap_or_default();
                let categories = self.categories.get(column).copied().flatten();
                let read = read_cell(self.config, categories, cell);
                if read.and_then(|cell| cells.push(tensor.dtype, &cell)).is_none() {
                    let expected = categories.map_or_else(|| tensor.dtype.to_string(), |it| format!("one of {it:?}"));
                    return Err(wrong(column, expected));
                }
            }
        }
        self.n_rows += 1;
        Ok(())
    }

    /// Checks that each cell that begins with a quote ends with one. The reader takes what follows an open quote into one
    /// cell, across lines, and rows would be lost without a word.
    fn check_quotes(&self, record: &ByteRecord, range: Range<u64>) -> Result<()> {
        let row = slice(self.table, range);
        let Some((column, expected, found)) = quote_problem(row, self.delimiter) else { return Ok(()) };
        let place = cell_place(self.name, self.table, self.header, record, column);
        Err(DataError::mismatch(place, expected, found))
    }
}

/// What a cell says, with a missing value filled in and a category as its number; `None` where it is no category.
fn read_cell<'c>(config: &'c DataConfig, categories: Option<&[String]>, cell: &'c [u8]) -> Option<Cow<'c, [u8]>> {
    if !config.missing.is_empty() && config.missing.iter().any(|missing| missing.as_bytes() == cell.trim_ascii()) {
        return Some(config.fill.as_deref().unwrap_or("nan").as_bytes().into());
    }
    let Some(categories) = categories else { return Some(cell.into()) };
    let position = categories.iter().position(|category| category.as_bytes() == cell)?;
    Some(position.to_string().into_bytes().into())
}

/// The bytes of the table that a row takes.
fn slice(table: &[u8], range: Range<u64>) -> &[u8] {
    let position = |byte| usize::try_from(byte).map_or(table.len(), |byte| byte.min(table.len()));
    table.get(position(range.start)..position(range.end)).unwrap_or_default()
}

/// The first cell of a row whose quotes do not fit, with what was expected and found.
fn quote_problem(row: &[u8], delimiter: u8) -> Option<(usize, &'static str, &'static str)> {
    if !row.contains(&b'"') {
        return None;
    }
    let mut rest = row.trim_ascii_start();
    for column in 0.. {
        if let Some(mut quoted) = rest.strip_prefix(b"\"") {
            rest = loop {
                let Some(end) = quoted.iter().position(|&byte| byte == b'"') else {
                    return Some((column, "a closing quote", "the end of the file"));
                };
                let after = quoted.get(end + 1..).unwrap_or_default();
                match after.strip_prefix(b"\"") {
                    Some(more) => quoted = more,
                    None => break after,
                }
            };
            if rest.first().is_some_and(|&byte| byte != delimiter && !matches!(byte, b'\r' | b'\n')) {
                return Some((column, "a comma or the end of the row behind the closing quote", "more text"));
            }
        }
        let end = rest.iter().position(|&byte| byte == delimiter)?;
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    None
}

/// Refuses what is compressed or in another encoding, with a hint: the reader would find only that it is no text.
fn check_encoding(name: &str, table: &[u8]) -> Result<()> {
    let found = match table {
        [0x1f, 0x8b, ..] => "gzip: decompress it first",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd: decompress it first",
        [b'P', b'K', 3, 4, ..] => "a zip archive: unpack it first",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16: convert it to UTF-8 first",
        _ => return Ok(()),
    };
    Err(DataError::mismatch(name, "comma-separated values", found))
}

/// File, line and column of a cell.
fn cell_place(name: &str, table: &[u8], header: &[Column], record: &ByteRecord, column: usize) -> String {
    let column = header.get(column).map_or("", |it| it.name.as_str());
    format!("{}: column {column}", place(name, table, record))
}

/// File and line of a record.
fn place(name: &str, table: &[u8], record: &ByteRecord) -> String {
    let Some(position) = record.position() else { return name.to_owned() };
    // The position is where the record before ended: empty lines may follow.
    let start = usize::try_from(position.byte()).ok().and_then(|start| table.get(start..)).unwrap_or_default();
    let empty = start.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|&&byte| byte == b'\n').count();
    format!("{name}:{}", position.line() + empty as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ClientId;
    use crate::json::{self, Members};
    use std::sync::Arc;
    use tff_types::Type;

    /// Loads a table and shows the data of each client as JSON.
    #[track_caller]
    fn check(ty: &str, config: &str, table: impl AsRef<[u8]>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.csv");
        fs::write(&path, table).unwrap();
        let ty: Type = ty.parse().unwrap();
        let mut config: DataConfig = toml::from_str(&format!("csv = \"d.csv\"\n{config}")).unwrap();
        config.csv = vec![path.clone()];
        let sequence = Type::sequence(ty.clone()).unwrap();
        let members = Members::new(|it| Ok(Arc::clone(it.known_elements().unwrap())), None);
        match config.open(&ty) {
            Ok(opened) => {
                let (source, _) = opened.into_sources();
                let line = |(client_idx, id): (usize, &ClientId)| {
                    let id = serde_json::to_string(id).unwrap();
                    let data = source.data(client_idx).unwrap();
                    format!("{id}: {}", json::write(&data, &sequence, &members).unwrap())
                };
                source.clients().iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
            }
            Err(error) => error.to_string().replace(&name_of(&path), "d.csv"),
        }
    }

    const PAIR: &str = "<float32[?,2],int32[?]>";
    const COLUMNS: &str = "columns = [\"a..b\", \"y\"]\n";
    const TABLE: &str = "id,a,b,y\nu,1,2,3\nv,4,5,6\nu,7,8,9\nu,10,11,12\n";

    #[track_caller]
    fn check_pair(config: &str, table: &str) -> String {
        check(PAIR, &format!("{COLUMNS}{config}"), table)
    }

    #[test]
    fn rows_go_to_clients_and_into_batches() {
        insta::assert_snapshot!(check_pair("clients = {column = \"id\"}\nbatch_size = 2", TABLE), @r#"
    "u": [[[[1.0,2.0],[7.0,8.0]],[3,9]],[[[10.0,11.0]],[12]]]
    "v": [[[[4.0,5.0]],[6]]]
    "#);
        insta::assert_snapshot!(check_pair("clients = {modulo = 3}\nbatch_size = 2\nepochs = 2", TABLE), @r"
    0: [[[[1.0,2.0],[10.0,11.0]],[3,12]],[[[1.0,2.0],[10.0,11.0]],[3,12]]]
    1: [[[[4.0,5.0]],[6]],[[[4.0,5.0]],[6]]]
    2: [[[[7.0,8.0]],[9]],[[[7.0,8.0]],[9]]]
    ");
        insta::assert_snapshot!(check("<y=int8,s=str>", "clients = {modulo = 1}\ncolumns = {s = \"id\", y = \"y\"}", TABLE), @r#"0: [{"y":3,"s":"u"},{"y":6,"s":"v"},{"y":9,"s":"u"},{"y":12,"s":"u"}]"#);
        insta::assert_snapshot!(check("float32[?,2,2]", "clients = {modulo = 1}\nbatch_size = 9\ncolumns = [\"a\", \"b\", \"y\", \"a\"]", TABLE), @"0: [[[[1.0,2.0],[3.0,1.0]],[[4.0,5.0],[6.0,4.0]],[[7.0,8.0],[9.0,7.0]],[[10.0,11.0],[12.0,10.0]]]]");
    }

    #[test]
    fn rows_that_fill_no_batch_can_be_left_out() {
        let config = "clients = {column = \"id\"}\nbatch_size = 2\ndrop_remainder = true\nepochs = 2";
        insta::assert_snapshot!(check_pair(config, TABLE), @r#"
        "u": [[[[1.0,2.0],[7.0,8.0]],[3,9]],[[[1.0,2.0],[7.0,8.0]],[3,9]]]
        "v": []
        "#);
        let fixed = format!("{COLUMNS}{config}");
        insta::assert_snapshot!(check("<float32[2,2],int32[2]>", &fixed, TABLE), @r#"
        "u": [[[[1.0,2.0],[7.0,8.0]],[3,9]],[[[1.0,2.0],[7.0,8.0]],[3,9]]]
        "v": []
        "#);
        insta::assert_snapshot!(check("<float32[3,2],int32[3]>", &fixed, TABLE), @"d.csv: data.columns[0]: expected 6 columns for a row of float32[3,2], whose first dimension is the batch only if data.drop_remainder is true and data.batch_size 3, found 2");
        insta::assert_snapshot!(check("<float32[2,2],int32[3]>", &fixed, TABLE), @"d.csv: data.columns: some tensors of <float32[2,2],int32[3]> begin with a dimension `?` for the batch and some do not");
        insta::assert_snapshot!(check_pair("clients = {modulo = 1}\ndrop_remainder = true", TABLE), @"data.batch_size: missing, and <float32[?,2],int32[?]> has a batch dimension");
    }

    #[test]
    fn quotes_that_do_not_fit_are_refused() {
        let config = "clients = {modulo = 1}\ncolumns = {s = \"s\", y = \"y\"}";
        let check = |table: &str| check("<y=int32,s=str>", config, table);
        insta::assert_snapshot!(check("s,y\n\"a,\"\"b\"\"\n\",1\nc\"d,2\n"), @r#"0: [{"y":1,"s":"a,\"b\"\n"},{"y":2,"s":"c\"d"}]"#);
        insta::assert_snapshot!(check("s,y\na,1\n\n\"oops,2\nb,3\n"), @"d.csv:4: column s: expected a closing quote, found the end of the file");
        insta::assert_snapshot!(check("s,y\na,1\n\"oops,2\n\"b\",3\n"), @"d.csv:3: column s: expected a comma or the end of the row behind the closing quote, found more text");
        insta::assert_snapshot!(check("s,y\na,\"1\n"), @"d.csv:2: column y: expected a closing quote, found the end of the file");
        insta::assert_snapshot!(check("s,\"y\na,1\n"), @"d.csv:1: column 2: expected a closing quote, found the end of the file");
    }

    #[test]
    fn what_is_no_text_is_refused_with_a_hint() {
        let check = |table: &[u8]| check("int32", "clients = {modulo = 1}\ncolumns = \"y\"", table);
        insta::assert_snapshot!(check(b"PK\x03\x04"), @"d.csv: expected comma-separated values, found a zip archive: unpack it first");
        insta::assert_snapshot!(check(&[0xff, 0xfe, b'y', 0]), @"d.csv: expected comma-separated values, found UTF-16: convert it to UTF-8 first");
    }

    #[test]
    fn problems_say_where_they_are() {
        let two = "clients = {modulo = 2}\nbatch_size = 2";
        insta::assert_snapshot!(check_pair(two, "a,b,y\n1,2,3\n1,x,3\n"), @r#"d.csv:3: column b: expected float32, found "x""#);
        insta::assert_snapshot!(check_pair(two, "a,b,y\n1,2,3\n1,2,\n"), @"d.csv:3: column y: expected int32, found an empty cell");
        insta::assert_snapshot!(check_pair(two, "a,b,y\n1,2,3\n\n1,2\n"), @"d.csv:4: expected 3 columns, found 2");
        insta::assert_snapshot!(check("<y=int64,s=str>", "clients = {column = \"id\"}\ncolumns = {s = \"id\", y = \"y\"}", "id,y\nu,1.0\n,2.0\n"), @"d.csv:3: column id: expected a client, found an empty cell");
        insta::assert_snapshot!(check_pair(two, "a,b,y\n"), @"d.csv: expected rows below the header, found none");
        insta::assert_snapshot!(check_pair(two, "a,b,y\n1,2,3\n"), @"data.clients.modulo: expected at most 1, the rows of d.csv, found 2");
        insta::assert_snapshot!(check_pair(two, "a,b\n1,2\n"), @"d.csv: data.columns[1]: no column `y`, found a, b");
        insta::assert_snapshot!(check_pair("clients = {modulo = 1}", TABLE), @"data.batch_size: missing, and <float32[?,2],int32[?]> has a batch dimension");
        insta::assert_snapshot!(check_pair("clients = {column = \"user\"}\nbatch_size = 1", TABLE), @"d.csv: data.clients.column: no column `user`, found id, a, b, y");
        insta::assert_snapshot!(check_pair("clients = {modulo = 1}\nbatch_size = 1\nepochs = 4294967295", TABLE), @"data.epochs: 4 batches, 4294967295 times, exceed the limit of 67108864");
        insta::assert_snapshot!(check("int32", "clients = {modulo = 1}\nbatch_size = 2\ncolumns = \"y\"", TABLE), @"data.batch_size: expected none, as int32 has no batch dimension `?`, found 2 (a dimension 2 is one if data.drop_remainder is true)");
        insta::assert_snapshot!(check("<int32>", "clients = {modulo = 1}\ncolumns = \"y\"", TABLE), @r#"d.csv: data.columns: expected the columns of each member of <int32>, found only "y""#);
    }
}
