//! Tables of comma-separated values, whose rows are in memory as tensors.
//!
//! The text is read in blocks, on all processors; it is never in memory as a whole.

use super::cells::{Cells, FrozenCells, shown};
use super::columns::{Column, Plan};
use super::divide::Keys;
use super::records::{Block, Blocks, Dialect, Record};
use super::table::{Chunks, Part, Request};
use super::{DataConfig, DataError, KeyProblem};
use crate::files::{FileProblem, name_of};
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

type Result<T> = std::result::Result<T, DataError>;

/// Loads the table at `path`. The rows keep the order of the file.
pub(super) fn open(path: &Path, request: &Request<'_>) -> Result<Part> {
    let name = name_of(path);
    let dialect = dialect(request.config, path)?;
    let reader = File::open(path).map(|file| BufReader::with_capacity(1 << 16, file));
    let reader = reader.and_then(decompress).map_err(|error| FileProblem::Io(error).of(&name))?;
    read(&name, Blocks::new(reader, dialect), dialect, request)
}

fn dialect(config: &DataConfig, path: &Path) -> Result<Dialect> {
    let ascii = |char: char, key: &'static str| {
        let byte = u8::try_from(char).ok().filter(|byte| byte.is_ascii() && !matches!(byte, b'\n' | b'\r'));
        byte.ok_or_else(|| KeyProblem::expected("an ASCII character", char.escape_default().to_string()).at(key))
    };
    let is_tsv = || path.file_name().is_some_and(|name| name.to_string_lossy().to_ascii_lowercase().contains(".tsv"));
    let delimiter = config.delimiter.unwrap_or_else(|| if is_tsv() { '\t' } else { ',' });
    let mut quote = config.quote.chars();
    let quote = match (quote.next(), quote.next()) {
        (None, _) => None,
        (Some(quote), None) if quote != delimiter => Some(ascii(quote, "data.quote")?),
        (Some(_), _) => {
            let expected = "one character that is not the delimiter, or none";
            return Err(KeyProblem::expected(expected, config.quote.clone()).at("data.quote"));
        }
    };
    Ok(Dialect { delimiter: ascii(delimiter, "data.delimiter")?, quote })
}

type Text = Box<dyn Read + Send>;

/// What is compressed with gzip or zstd is decompressed while it is read.
fn decompress(mut file: BufReader<File>) -> std::io::Result<Text> {
    let start = file.fill_buf()?;
    #[cfg(feature = "compression")]
    {
        if start.starts_with(GZIP) {
            return Ok(Box::new(flate2::read::MultiGzDecoder::new(file)));
        }
        if start.starts_with(ZSTD) {
            return Ok(Box::new(zstd::Decoder::with_buffer(file)?));
        }
    }
    #[cfg(not(feature = "compression"))]
    let _ = start;
    Ok(Box::new(file))
}

/// What a text in UTF-8 may begin with, and does not mean anything.
const BOM: &[u8] = b"\xef\xbb\xbf";
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The most threads that read a table: the text comes from one of them at a time.
const MAX_THREADS: usize = 16;

fn read(name: &str, mut blocks: Blocks<Text>, dialect: Dialect, request: &Request<'_>) -> Result<Part> {
    let io = |error| DataError::from(FileProblem::Io(error).of(name));
    let Some(first) = blocks.next().map_err(io)? else {
        return Err(DataError::mismatch(name, "comma-separated values", "nothing"));
    };
    check_encoding(name, &first.text)?;
    let start = usize::from(first.text.starts_with(BOM)) * BOM.len();
    let (header, start) = header(name, &first, start, dialect, request.config)?;
    let plan = request.plan(name, &header)?;
    let table = Table::new(name, dialect, request, &header, &plan)?;

    let mut results = vec![(first.index, table.read(&first, start))];
    drop(first);
    if results.iter().all(|(_, rows)| rows.is_ok()) {
        results.extend(table.read_all(blocks));
    }
    results.sort_by_key(|(index, _)| *index);
    let mut keys = vec![Keys::default(); table.key_columns.len()];
    let (mut chunks, mut n_rows) = (Vec::new(), Vec::new());
    for (_, rows) in results {
        let rows = rows?;
        if rows.n_rows > 0 {
            keys.iter_mut().zip(&rows.keys).for_each(|(all, keys)| all.extend(keys));
            n_rows.push(rows.n_rows);
            chunks.push(rows.cells.into_iter().map(Cells::freeze).collect());
        }
    }
    if n_rows.is_empty() {
        return Err(DataError::mismatch(name, "rows below the header", "none"));
    }
    Ok(Part { plan, keys, own: None, chunks: n_rows, reader: Box::new(InMemory(chunks)) })
}

/// The columns, and where the rows begin. Without a header, columns are called `0`, `1` and so on.
fn header(
    name: &str,
    first: &Block,
    start: usize,
    dialect: Dialect,
    config: &DataConfig,
) -> Result<(Vec<Column>, usize)> {
    let mut record = Record::new(&first.text, dialect);
    let end = record.read(start).map_err(|bad| {
        let place = format!("{name}:{}: column {}", first.line(record.start), bad.column + 1);
        DataError::mismatch(place, bad.expected, bad.found)
    })?;
    let column = |column: usize| {
        if !config.header {
            return Ok(Column { name: column.to_string(), width: 1 });
        }
        let text = String::from_utf8(record.cell(column).into_owned());
        let place = || format!("{name}:{}: column {}", first.line(record.start), column + 1);
        let name = text.map_err(|_| DataError::mismatch(place(), "a name in UTF-8", "other bytes"))?;
        Ok(Column { name, width: 1 })
    };
    let header = (0..record.len()).map(column).collect::<Result<_>>()?;
    Ok((header, if config.header { end.unwrap_or(first.text.len()) } else { start }))
}

/// The whole table, in chunks.
#[derive(Debug)]
struct InMemory(Vec<Vec<FrozenCells>>);

impl Chunks for InMemory {
    fn read(&self, _plan: &Plan, chunk_idx: usize) -> Result<Vec<FrozenCells>> {
        Ok(self.0.get(chunk_idx).cloned().unwrap_or_default())
    }
}

/// How rows are read.
struct Table<'a> {
    name: &'a str,
    dialect: Dialect,
    config: &'a DataConfig,
    header: &'a [Column],
    plan: &'a Plan,
    /// For each column its categories, if it has any.
    categories: Vec<Option<&'a [String]>>,
    /// The positions of the columns whose values are kept as text.
    key_columns: Vec<usize>,
}

/// Rows that were read.
#[derive(Debug)]
struct Rows {
    keys: Vec<Keys>,
    /// For each tensor of the plan.
    cells: Vec<Cells>,
    n_rows: usize,
}

impl<'a> Table<'a> {
    fn new(
        name: &'a str,
        dialect: Dialect,
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
        Ok(Self { name, dialect, config, header, plan, categories, key_columns })
    }

    /// Reads all blocks, each on the thread that took it. After an error no further block is taken: all before it were.
    fn read_all(&self, blocks: Blocks<Text>) -> Vec<(usize, Result<Rows>)> {
        let n_threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let (blocks, results) = (Mutex::new(blocks), Mutex::new(Vec::new()));
        let has_failed = AtomicBool::new(false);
        let work = || {
            while !has_failed.load(Ordering::Relaxed) {
                // The lock is free again before the block is read.
                let next = blocks.lock().unwrap_or_else(PoisonError::into_inner).next();
                let (index, rows) = match next {
                    Ok(None) => return,
                    Ok(Some(block)) => (block.index, self.read(&block, 0)),
                    Err(error) => (usize::MAX, Err(FileProblem::Io(error).of(self.name).into())),
                };
                if rows.is_err() {
                    has_failed.store(true, Ordering::Relaxed);
                }
                results.lock().unwrap_or_else(PoisonError::into_inner).push((index, rows));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..n_threads {
                scope.spawn(work);
            }
            work();
        });
        results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the rows of a block from this position.
    fn read(&self, block: &Block, start: usize) -> Result<Rows> {
        // What is not used of it takes no memory.
        let n_lines = block.n_lines();
        let cells = self.plan.tensors.iter().map(|tensor| {
            let mut cells = Cells::new(tensor.dtype);
            cells.reserve(tensor.dtype, n_lines.saturating_mul(tensor.width).min(block.text.len()));
            cells
        });
        let keys = vec![Keys::default(); self.key_columns.len()];
        let mut rows = Rows { cells: cells.collect(), keys, n_rows: 0 };
        let mut record = Record::new(&block.text, self.dialect);
        let mut at = start;
        loop {
            match record.read(at) {
                Ok(Some(end)) => at = end,
                Ok(None) => return Ok(rows),
                Err(bad) => {
                    let place = self.place(block, &record, Some(bad.column));
                    return Err(DataError::mismatch(place, bad.expected, bad.found));
                }
            }
            self.push(&mut rows, block, &record)?;
        }
    }

    fn push(&self, rows: &mut Rows, block: &Block, record: &Record<'_>) -> Result<()> {
        if record.len() != self.header.len() {
            let expected = format!("{} columns", self.header.len());
            return Err(DataError::mismatch(self.place(block, record, None), expected, record.len()));
        }
        let wrong = |column: usize, expected: String| {
            DataError::mismatch(self.place(block, record, Some(column)), expected, shown(&record.cell(column)))
        };
        for (&column, keys) in self.key_columns.iter().zip(&mut rows.keys) {
            let cell = record.cell(column);
            let text = std::str::from_utf8(&cell).map_err(|_| wrong(column, "text".to_owned()))?;
            if text.is_empty() {
                return Err(wrong(column, "a client".to_owned()));
            }
            keys.push(text);
        }
        for (tensor, cells) in self.plan.tensors.iter().zip(&mut rows.cells) {
            for &column in &tensor.columns {
                let categories = self.categories.get(column).copied().flatten();
                let read = read_cell(self.config, categories, record.cell(column));
                if read.and_then(|cell| cells.push(tensor.dtype, &cell)).is_none() {
                    let expected = categories.map_or_else(|| tensor.dtype.to_string(), |it| format!("one of {it:?}"));
                    return Err(wrong(column, expected));
                }
            }
        }
        rows.n_rows += 1;
        Ok(())
    }

    /// File and line of a record, and the name of a column.
    fn place(&self, block: &Block, record: &Record<'_>, column: Option<usize>) -> String {
        let line = format!("{}:{}", self.name, block.line(record.start));
        match column {
            Some(column) => format!("{line}: column {}", self.header.get(column).map_or("", |it| it.name.as_str())),
            None => line,
        }
    }
}

/// What a cell says, with a missing value filled in and a category as its number; `None` where it is no category.
fn read_cell<'c>(config: &'c DataConfig, categories: Option<&[String]>, cell: Cow<'c, [u8]>) -> Option<Cow<'c, [u8]>> {
    if !config.missing.is_empty() && config.missing.iter().any(|missing| missing.as_bytes() == cell.trim_ascii()) {
        return Some(config.fill.as_deref().unwrap_or("nan").as_bytes().into());
    }
    let Some(categories) = categories else { return Some(cell) };
    let position = categories.iter().position(|category| category.as_bytes() == &*cell)?;
    Some(position.to_string().into_bytes().into())
}

/// Refuses what is compressed or in another encoding, with a hint: the reader would find only that it is no text.
fn check_encoding(name: &str, text: &[u8]) -> Result<()> {
    let found = match text {
        _ if text.starts_with(GZIP) => "gzip: decompress it first",
        _ if text.starts_with(ZSTD) => "zstd: decompress it first",
        [b'P', b'K', 3, 4, ..] => "a zip archive: unpack it first",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16: convert it to UTF-8 first",
        _ => return Ok(()),
    };
    Err(DataError::mismatch(name, "comma-separated values", found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ClientId;
    use crate::json::{self, Members};
    use std::fs;
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

    /// Reads a table in blocks of so many bytes; the elements of its rows, or what is wrong.
    fn read_in_blocks(table: &str, block_size: usize) -> String {
        let config = "clients = {column = \"id\"}\ncolumns = {x = \"x\", s = \"id\"}";
        let config: DataConfig = toml::from_str(&format!("csv = \"d.csv\"\n{config}")).unwrap();
        let element: Type = "<x=int32,s=str>".parse().unwrap();
        let dialect = dialect(&config, Path::new("d.csv")).unwrap();
        let text: Text = Box::new(std::io::Cursor::new(table.to_owned()));
        let blocks = Blocks::with_block_size(text, dialect, block_size);
        match read("d.csv", blocks, dialect, &Request::new(&config, &element)) {
            Err(error) => error.to_string(),
            Ok(part) => {
                let chunks = (0..part.chunks.len()).map(|chunk| part.reader.read(&part.plan, chunk).unwrap());
                let chunks: Vec<Vec<FrozenCells>> = chunks.collect();
                let tensor = |tensor: usize| {
                    let dtype = part.plan.tensors[tensor].dtype;
                    let parts = chunks.iter().map(|chunk| chunk[tensor].clone()).collect();
                    let n_rows = part.chunks.iter().sum();
                    FrozenCells::concat(dtype, parts).array(dtype, vec![n_rows as u64], 0..n_rows).unwrap()
                };
                format!("{:?} {:?} {:?} {:?}", tensor(0), tensor(1), part.keys[0].names, part.keys[0].of_row)
            }
        }
    }

    #[test]
    fn what_is_read_does_not_depend_on_blocks_and_threads() {
        let mut table = "id,x\n".to_owned();
        (0..200).for_each(|row| table += &format!("\"u,\n{}\",{row}\n", row % 7));
        let wrong = table.replace(",150\n", ",x\n").replace(",170\n", ",y\n");
        let (right, error) = (read_in_blocks(&table, 1 << 20), read_in_blocks(&wrong, 1 << 20));
        assert_eq!(error, "d.csv:302: column x: expected int32, found \"x\"");
        for block_size in [1, 5, 11, 64, 500] {
            assert_eq!(read_in_blocks(&table, block_size), right, "{block_size}");
            assert_eq!(read_in_blocks(&wrong, block_size), error, "{block_size}");
        }
    }

    #[test]
    fn the_dialect_can_be_chosen() {
        let with =
            |config: &str, table: &str| check("<y=int32,s=str>", &format!("clients = {{modulo = 1}}\n{config}"), table);
        let named = "columns = {s = \"s\", y = \"y\"}";
        insta::assert_snapshot!(with(&format!("{named}\ndelimiter = \"\\t\"\nquote = \"'\""), "s\ty\n'a\tb'\t1\n"), @r#"0: [{"y":1,"s":"a\tb"}]"#);
        insta::assert_snapshot!(with(&format!("{named}\nquote = \"\""), "s,y\n\"a,1\n"), @r#"0: [{"y":1,"s":"\"a"}]"#);
        insta::assert_snapshot!(with("header = false\ncolumns = {s = \"0\", y = \"1\"}", "\u{feff}a,1\nb,2\n"), @r#"0: [{"y":1,"s":"a"},{"y":2,"s":"b"}]"#);
        insta::assert_snapshot!(with(&format!("{named}\nquote = \",\""), "s,y\n"), @"data.quote: expected one character that is not the delimiter, or none, found ,");
        insta::assert_snapshot!(with(&format!("{named}\ndelimiter = \"é\""), "s,y\n"), @r"data.delimiter: expected an ASCII character, found \u{e9}");
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
