//! Records of comma-separated values: where they end, and their cells.
//!
//! A text is read in blocks that end where a record ends, so that each can be read on a thread of its own.

use std::borrow::Cow;
use std::io::{self, Read};

/// How many bytes of text are read at a time, at least.
const BLOCK: usize = 4 << 20;
/// The most bytes of one record.
const MAX_RECORD: usize = 256 << 20;

/// What stands between cells, and around them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    /// None where quotes are part of the text.
    pub(super) quote: Option<u8>,
}

/// Whole records of a text.
#[derive(Debug)]
pub(super) struct Block {
    /// How many blocks are before it.
    pub(super) index: usize,
    /// The line at which it begins, counted from 1.
    first_line: usize,
    pub(super) text: Vec<u8>,
}

impl Block {
    /// At most so many records end in the block.
    pub(super) fn n_lines(&self) -> usize {
        // A line ends with either, or with both.
        count(b'\n', &self.text).max(count(b'\r', &self.text)).saturating_add(1)
    }

    /// The line of the byte at this position.
    pub(super) fn line(&self, at: usize) -> usize {
        self.first_line + count(b'\n', self.text.get(..at).unwrap_or(&self.text))
    }
}

fn count(byte: u8, text: &[u8]) -> usize {
    memchr::memchr_iter(byte, text).count()
}

/// Cuts a text into blocks.
pub(super) struct Blocks<R> {
    reader: R,
    dialect: Dialect,
    /// What was read and belongs to the next block.
    rest: Vec<u8>,
    line: usize,
    n_blocks: usize,
    is_at_end: bool,
    block_size: usize,
}

impl<R: Read> Blocks<R> {
    pub(super) const fn new(reader: R, dialect: Dialect) -> Self {
        Self::with_block_size(reader, dialect, BLOCK)
    }

    pub(super) const fn with_block_size(reader: R, dialect: Dialect, block_size: usize) -> Self {
        Self { reader, dialect, rest: Vec::new(), line: 1, n_blocks: 0, is_at_end: false, block_size }
    }

    /// The next block; `None` at the end of the text.
    ///
    /// # Errors
    /// Where the text cannot be read, or a record is too long.
    pub(super) fn next(&mut self) -> io::Result<Option<Block>> {
        let mut text = std::mem::take(&mut self.rest);
        let mut wanted = self.block_size;
        loop {
            if !self.is_at_end {
                text.reserve_exact(wanted);
                let n_read = (&mut self.reader).take(wanted as u64).read_to_end(&mut text)?;
                self.is_at_end = n_read < wanted;
            }
            if self.is_at_end {
                break;
            }
            let end = end_of_records(&text, self.dialect);
            if end > 0 {
                self.rest = text.get(end..).unwrap_or_default().to_vec();
                text.truncate(end);
                break;
            }
            if text.len() > MAX_RECORD {
                let problem = format!("line {}: a record of more than {MAX_RECORD} bytes", self.line);
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            // A record is longer: twice as much, so that the time grows with its length.
            wanted = text.len();
        }
        if text.is_empty() {
            return Ok(None);
        }
        let block = Block { index: self.n_blocks, first_line: self.line, text };
        self.n_blocks += 1;
        self.line = block.line(block.text.len());
        Ok(Some(block))
    }
}

/// Behind the last record that ends in a text, which begins with a record.
fn end_of_records(text: &[u8], dialect: Dialect) -> usize {
    let Some(quote) = dialect.quote.filter(|&quote| memchr::memchr(quote, text).is_some()) else {
        return memchr::memrchr2(b'\n', b'\r', text).map_or(0, |last| last + 1);
    };
    let (mut at, mut end) = (0, 0);
    loop {
        if text.get(at) == Some(&quote) {
            match end_of_quoted(text, at + 1, quote) {
                Some(closing) => at = closing + 1,
                None => return end,
            }
        }
        let Some(rest) = text.get(at..) else { return end };
        let Some(length) = memchr::memchr3(dialect.delimiter, b'\n', b'\r', rest) else { return end };
        if rest.get(length) != Some(&dialect.delimiter) {
            end = at + length + 1;
        }
        at += length + 1;
    }
}

/// Where the closing quote is of a cell whose text begins here.
fn end_of_quoted(text: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    loop {
        at += memchr::memchr(quote, text.get(at..)?)?;
        if text.get(at + 1) != Some(&quote) {
            return Some(at);
        }
        at += 2;
    }
}

/// The cells of one record.
#[derive(Debug)]
pub(super) struct Record<'b> {
    text: &'b [u8],
    dialect: Dialect,
    cells: Vec<Cell>,
    /// Where the record begins.
    pub(super) start: usize,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    start: usize,
    end: usize,
    /// Whether it has quotes, each written twice.
    has_quotes: bool,
}

/// A cell whose quotes do not fit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadQuote {
    pub(super) column: usize,
    pub(super) expected: &'static str,
    pub(super) found: &'static str,
}

impl<'b> Record<'b> {
    pub(super) const fn new(text: &'b [u8], dialect: Dialect) -> Self {
        Self { text, dialect, cells: Vec::new(), start: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.cells.len()
    }

    /// What a cell says; nothing where there is none.
    pub(super) fn cell(&self, column: usize) -> Cow<'b, [u8]> {
        let Some(&Cell { start, end, has_quotes }) = self.cells.get(column) else { return Cow::Borrowed(&[]) };
        let text = self.text.get(start..end).unwrap_or_default();
        match self.dialect.quote {
            Some(quote) if has_quotes => Cow::Owned(without_doubled(text, quote)),
            _ => Cow::Borrowed(text),
        }
    }

    /// Reads the record that begins here or behind empty lines, and returns where it ends; `None` where there is none.
    ///
    /// # Errors
    /// Where a cell begins with a quote and does not end with one.
    pub(super) fn read(&mut self, mut at: usize) -> Result<Option<usize>, BadQuote> {
        let Dialect { delimiter, quote } = self.dialect;
        let text = self.text;
        let is_end = |byte: u8| matches!(byte, b'\n' | b'\r');
        self.cells.clear();
        while text.get(at).is_some_and(|&byte| is_end(byte)) {
            at += 1;
        }
        self.start = at;
        if at >= text.len() {
            return Ok(None);
        }
        loop {
            let first = text.get(at).copied();
            if let (Some(quote), true) = (quote, first.is_some() && first == quote) {
                let bad = |expected, found| BadQuote { column: self.cells.len(), expected, found };
                let start = at + 1;
                let Some(end) = end_of_quoted(text, start, quote) else {
                    return Err(bad("a closing quote", "the end of the file"));
                };
                at = end + 1;
                if text.get(at).is_some_and(|&byte| byte != delimiter && !is_end(byte)) {
                    return Err(bad("a comma or the end of the row behind the closing quote", "more text"));
                }
                let has_quotes = text.get(start..end).is_some_and(|text| memchr::memchr(quote, text).is_some());
                self.cells.push(Cell { start, end, has_quotes });
            } else {
                let rest = text.get(at..).unwrap_or_default();
                // Cells are short: a search for several bytes at once takes longer.
                let length = rest.iter().position(|&byte| byte == delimiter || is_end(byte)).unwrap_or(rest.len());
                self.cells.push(Cell { start: at, end: at + length, has_quotes: false });
                at += length;
            }
            if text.get(at) != Some(&delimiter) {
                return Ok(Some(at));
            }
            at += 1;
        }
    }
}

/// A text in which each quote stands twice, with one of each two.
fn without_doubled(text: &[u8], quote: u8) -> Vec<u8> {
    let mut single = Vec::with_capacity(text.len());
    let mut is_second = false;
    for &byte in text {
        is_second = byte == quote && !is_second;
        if byte != quote || is_second {
            single.push(byte);
        }
    }
    single
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAS: Dialect = Dialect { delimiter: b',', quote: Some(b'"') };

    /// Reads a text in blocks of this size; for each record its line and cells.
    fn read(text: &str, dialect: Dialect, block_size: usize) -> Vec<String> {
        let mut blocks = Blocks::with_block_size(text.as_bytes(), dialect, block_size);
        let mut records = Vec::new();
        while let Some(block) = blocks.next().unwrap() {
            let mut record = Record::new(&block.text, dialect);
            let mut at = 0;
            let mut n_records = 0;
            loop {
                match record.read(at) {
                    Ok(Some(end)) => at = end,
                    Ok(None) => break,
                    Err(bad) => {
                        records.push(format!("{}: column {}: {}", block.line(record.start), bad.column, bad.found));
                        break;
                    }
                }
                n_records += 1;
                let cells: Vec<_> = (0..record.len())
                    .map(|column| String::from_utf8(record.cell(column).into_owned()).unwrap())
                    .collect();
                records.push(format!("{}: {cells:?}", block.line(record.start)));
            }
            assert!(n_records <= block.n_lines());
        }
        records
    }

    #[test]
    fn records_do_not_depend_on_where_blocks_end() {
        let texts = [
            "a,b\n1,2\n3,4",
            "a,b\r\n\r\n1,2\r\n",
            "a\rb\r\rc",
            "a,\"b\nc\"\n\"d,\"\"e\"\"\n\",f\n\"\",\n",
            "c\"d,1\n \"x\",2\n\"\"\"\",3\n",
            "ü,é\n\"ß\n\",ö\n",
        ];
        for text in texts {
            let whole = read(text, COMMAS, 1 << 10);
            for block_size in 1..text.len() + 2 {
                assert_eq!(read(text, COMMAS, block_size), whole, "{text:?} in blocks of {block_size}");
            }
        }
        insta::assert_snapshot!(read(texts[3], COMMAS, 3).join("\n"), @r#"
        1: ["a", "b\nc"]
        3: ["d,\"e\"\n", "f"]
        5: ["", ""]
        "#);
        insta::assert_snapshot!(read(texts[4], COMMAS, 3).join("\n"), @r#"
        1: ["c\"d", "1"]
        2: [" \"x\"", "2"]
        3: ["\"", "3"]
        "#);
    }

    #[test]
    fn the_dialect_is_kept() {
        let pipes = Dialect { delimiter: b'|', quote: Some(b'\'') };
        insta::assert_snapshot!(read("'a|b'|\"c\n", pipes, 2).join("\n"), @r#"1: ["a|b", "\"c"]"#);
        let without = Dialect { delimiter: b'\t', quote: None };
        insta::assert_snapshot!(read("\"a\tb\"\n", without, 2).join("\n"), @r#"1: ["\"a", "b\""]"#);
    }

    #[test]
    fn quotes_that_do_not_fit_are_found_at_any_block_size() {
        for block_size in 1..20 {
            assert_eq!(read("a\n\"b\nc\n", COMMAS, block_size), ["1: [\"a\"]", "2: column 0: the end of the file"]);
        }
    }
}
