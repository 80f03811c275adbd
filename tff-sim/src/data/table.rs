//! Tables of comma-separated values: rows to clients, clients to batches.

use super::cells::{Cells, FrozenCells};
use super::columns::{Layout, Plan, TensorPlan, position};
use super::{ClientId, ClientsBy, DataConfig, DataError, InMemory, KeyProblem};
use crate::files::{FileProblem, name_of, quoted};
use csv::{ByteRecord, Position, ReaderBuilder};
use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use tff_exec::{Sequence, Value};
use tff_types::Type;

type Result<T> = std::result::Result<T, DataError>;

/// The most elements of the sequences of all clients together.
const MAX_ELEMENTS: usize = 1 << 26;

/// Loads the table at `path` and makes the sequence of each client, of elements of type `element`.
///
/// An element is a batch of rows where the tensors of the type begin with a dimension `?`, else a
/// row. Rows and clients keep the order of the file.
pub(super) fn load(path: &Path, config: &DataConfig, element: &Type) -> Result<InMemory> {
    let name = name_of(path);
    let table = fs::read(path).map_err(|error| FileProblem::Io(error).of(&name))?;
    read(&name, &table, config, element)
}

fn read(name: &str, table: &[u8], config: &DataConfig, element: &Type) -> Result<InMemory> {
    check_encoding(name, table)?;
    let csv = |source| DataError::Csv { name: name.to_owned(), source };
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(table);
    let header = reader.headers().map_err(csv)?.iter().map(str::to_owned).collect::<Vec<_>>();
    if let Some((column, expected, found)) = quote_problem(slice(table, 0..reader.position().byte())) {
        return Err(mismatch(format!("{name}:1: column {}", column + 1), expected, found));
    }
    let full_batch = config.batch_size.filter(|_| config.drop_remainder).map(|size| size.get() as u64);
    let plan = Plan::new(element, &config.columns, &header, full_batch).map_err(|error| error.in_file(name))?;
    let batches = Batches::new(config, &plan, element)?;
    let mut rows = Rows::new(name, table, &config.clients, &header, &plan)?;
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(csv)? {
        rows.check_quotes(&record, record.position().map_or(0, Position::byte)..reader.position().byte())?;
        rows.push(&record)?;
    }
    let clients = rows.finish(&config.clients)?;
    let counts = || clients.iter().map(|client| batches.of(client.n_rows).count());
    let (count, without) = (counts().sum::<usize>(), counts().filter(|&count| count == 0).count());
    if without > 0 {
        let (size, n_clients) = (batches.size, clients.len());
        tracing::warn!(
            "{name}: data.drop_remainder leaves {without} of {n_clients} clients without a batch: \
             they have fewer than {size} rows"
        );
    }
    let epochs = batches.epochs;
    if count.saturating_mul(epochs) > MAX_ELEMENTS {
        return Err(KeyProblem::TooManyElements { count, epochs, limit: MAX_ELEMENTS }.at("data.epochs"));
    }
    clients.into_iter().map(|client| client.into_client(&plan, element, &batches)).collect()
}

/// Which rows of a client make up the elements.
struct Batches {
    size: usize,
    /// Whether rows that fill no batch are left out.
    only_full: bool,
    epochs: usize,
}

impl Batches {
    fn new(config: &DataConfig, plan: &Plan, element: &Type) -> Result<Self> {
        let size = match (config.batch_size, plan.is_batched) {
            (Some(size), true) => Ok(size.get()),
            (None, false) if config.drop_remainder => {
                Err(KeyProblem::Missing { reason: "data.drop_remainder needs it".to_owned() })
            }
            (None, false) => Ok(1),
            (None, true) => Err(KeyProblem::Missing { reason: format!("{element} has a batch dimension") }),
            (Some(size), false) if config.drop_remainder => {
                let expected = format!("the first dimension of the tensors of {element}");
                Err(KeyProblem::expected(expected, size.to_string()))
            }
            (Some(size), false) => Err(KeyProblem::expected(
                format!("none, as {element} has no batch dimension `?`"),
                format!("{size} (a dimension {size} is one if data.drop_remainder is true)"),
            )),
        };
        let size = size.map_err(|problem| problem.at("data.batch_size"))?;
        Ok(Self { size, only_full: config.drop_remainder, epochs: config.epochs.get() as usize })
    }

    /// The rows of each batch in an epoch of a client that has so many.
    fn of(&self, n_rows: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let end = if self.only_full { n_rows - n_rows % self.size } else { n_rows };
        (0..end).step_by(self.size).map(move |start| start..end.min(start.saturating_add(self.size)))
    }
}

/// The rows that were read, by client.
struct Rows<'a> {
    name: &'a str,
    table: &'a [u8],
    header: &'a [String],
    plan: &'a Plan,
    /// The position of the column that identifies the client, if one does.
    id_column: Option<usize>,
    modulo: usize,
    clients: Vec<ClientRows>,
    by_name: HashMap<String, usize>,
    n_rows: usize,
}

struct ClientRows {
    id: ClientId,
    n_rows: usize,
    /// For each tensor of the plan.
    cells: Vec<Cells>,
}

impl ClientRows {
    fn new(id: ClientId, plan: &Plan) -> Self {
        Self { id, n_rows: 0, cells: plan.tensors.iter().map(|tensor| Cells::new(tensor.dtype)).collect() }
    }
}

impl<'a> Rows<'a> {
    fn new(name: &'a str, table: &'a [u8], clients: &ClientsBy, header: &'a [String], plan: &'a Plan) -> Result<Self> {
        let (id_column, modulo) = match clients {
            ClientsBy::Column(column) => {
                let position = position(header, column);
                (Some(position.map_err(|problem| problem.at("data.clients.column").in_file(name))?), 0)
            }
            ClientsBy::Modulo(modulo) => (None, modulo.get()),
        };
        Ok(Self {
            name,
            table,
            header,
            plan,
            id_column,
            modulo,
            clients: Vec::new(),
            by_name: HashMap::new(),
            n_rows: 0,
        })
    }

    fn push(&mut self, record: &ByteRecord) -> Result<()> {
        if record.len() != self.header.len() {
            let expected = format!("{} columns", self.header.len());
            return Err(mismatch(self.place(record), expected, record.len()));
        }
        let client_idx = self.client_idx(record)?;
        self.n_rows += 1;
        let Some(client) = self.clients.get_mut(client_idx) else { return Ok(()) };
        for (tensor, cells) in self.plan.tensors.iter().zip(&mut client.cells) {
            for &column in &tensor.columns {
                let cell = record.get(column).unwrap_or_default();
                if cells.push(tensor.dtype, cell).is_none() {
                    let place = cell_place(self.name, self.table, self.header, record, column);
                    return Err(mismatch(place, tensor.dtype, shown(cell)));
                }
            }
        }
        client.n_rows += 1;
        Ok(())
    }

    /// The client of a row; a new one where it is the first of its client.
    fn client_idx(&mut self, record: &ByteRecord) -> Result<usize> {
        let Some(column) = self.id_column else {
            let client_idx = self.n_rows % self.modulo.max(1);
            if client_idx == self.clients.len() {
                self.clients.push(ClientRows::new(ClientId::Number(client_idx), self.plan));
            }
            return Ok(client_idx);
        };
        let cell = record.get(column).unwrap_or_default();
        let id = std::str::from_utf8(cell).map_err(|_| {
            let place = cell_place(self.name, self.table, self.header, record, column);
            mismatch(place, "text", shown(cell))
        })?;
        if id.is_empty() {
            let place = cell_place(self.name, self.table, self.header, record, column);
            return Err(mismatch(place, "a client", shown(cell)));
        }
        if let Some(&client_idx) = self.by_name.get(id) {
            return Ok(client_idx);
        }
        self.by_name.insert(id.to_owned(), self.clients.len());
        self.clients.push(ClientRows::new(ClientId::Name(id.to_owned()), self.plan));
        Ok(self.clients.len() - 1)
    }

    /// Checks that each cell that begins with a quote ends with one. The reader takes what follows an open quote into one
    /// cell, across lines, and rows would be lost without a word.
    fn check_quotes(&self, record: &ByteRecord, range: Range<u64>) -> Result<()> {
        let Some((column, expected, found)) = quote_problem(slice(self.table, range)) else { return Ok(()) };
        Err(mismatch(cell_place(self.name, self.table, self.header, record, column), expected, found))
    }

    fn place(&self, record: &ByteRecord) -> String {
        place(self.name, self.table, record)
    }

    fn finish(self, by: &ClientsBy) -> Result<Vec<ClientRows>> {
        if self.n_rows == 0 {
            return Err(mismatch(self.name, "rows below the header", "none"));
        }
        if let ClientsBy::Modulo(modulo) = by
            && modulo.get() > self.n_rows
        {
            let Self { name, n_rows, .. } = self;
            let expected = format!("at most {n_rows}, the rows of {name}");
            return Err(KeyProblem::expected(expected, modulo.to_string()).at("data.clients.modulo"));
        }
        Ok(self.clients)
    }
}

/// The bytes of the table that a row takes.
fn slice(table: &[u8], range: Range<u64>) -> &[u8] {
    let position = |byte| usize::try_from(byte).map_or(table.len(), |byte| byte.min(table.len()));
    table.get(position(range.start)..position(range.end)).unwrap_or_default()
}

/// The first cell of a row whose quotes do not fit, with what was expected and found.
fn quote_problem(row: &[u8]) -> Option<(usize, &'static str, &'static str)> {
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
            if !matches!(rest.first(), None | Some(b',' | b'\r' | b'\n')) {
                return Some((column, "a comma or the end of the row behind the closing quote", "more text"));
            }
        }
        let end = rest.iter().position(|&byte| byte == b',')?;
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
    Err(mismatch(name, "comma-separated values", found))
}

fn mismatch(place: impl Into<String>, expected: impl ToString, found: impl ToString) -> DataError {
    DataError::Mismatch { place: place.into(), expected: expected.to_string(), found: found.to_string() }
}

/// File, line and column of a cell.
fn cell_place(name: &str, table: &[u8], header: &[String], record: &ByteRecord, column: usize) -> String {
    let column = header.get(column).map_or("", String::as_str);
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

impl ClientRows {
    fn into_client(self, plan: &Plan, element: &Type, batches: &Batches) -> Result<(ClientId, Value)> {
        let cells: Vec<FrozenCells> = self.cells.into_iter().map(Cells::freeze).collect();
        let mut elements = Vec::new();
        for rows in batches.of(self.n_rows) {
            let tensors = plan.tensors.iter().zip(&cells);
            let tensors: Result<Vec<Value>> =
                tensors.map(|(tensor, cells)| batch(tensor, cells, plan.is_batched, rows.clone())).collect();
            elements.push(assemble(&plan.layout, &tensors?));
        }
        let n_elements = elements.len();
        let elements: Vec<Value> = elements.into_iter().cycle().take(n_elements * batches.epochs).collect();
        Ok((self.id, Value::Sequence(Sequence::from_elements(element.clone(), elements))))
    }
}

/// The tensor of these rows.
fn batch(tensor: &TensorPlan, cells: &FrozenCells, is_batched: bool, rows: Range<usize>) -> Result<Value> {
    let n_rows = rows.len() as u64;
    let dims = is_batched.then_some(n_rows).into_iter().chain(tensor.row_dims.iter().copied()).collect();
    let width = tensor.columns.len();
    Ok(Value::array(cells.array(tensor.dtype, dims, rows.start * width..rows.end * width)?))
}

fn assemble(layout: &Layout, tensors: &[Value]) -> Value {
    match layout {
        // The layout names the tensors of its own plan.
        Layout::Tensor(index) => tensors.get(*index).cloned().unwrap_or_else(|| Value::structure([])),
        Layout::Struct(layouts) => Value::structure(layouts.iter().map(|layout| assemble(layout, tensors))),
    }
}

/// A cell as it appears in messages.
fn shown(cell: &[u8]) -> String {
    if cell.is_empty() { "an empty cell".to_owned() } else { quoted(&String::from_utf8_lossy(cell)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Source;
    use crate::json::{self, Members};
    use std::sync::Arc;

    /// Loads a table and shows the data of each client as JSON.
    #[track_caller]
    fn check(ty: &str, config: &str, table: &str) -> String {
        let ty: Type = ty.parse().unwrap();
        let config: DataConfig = toml::from_str(&format!("csv = \"d.csv\"\n{config}")).unwrap();
        let sequence = Type::sequence(ty.clone()).unwrap();
        let members = Members::new(|it| Ok(Arc::clone(it.known_elements().unwrap())), None);
        match read("d.csv", table.as_bytes(), &config, &ty) {
            Ok(source) => {
                let line = |(client_idx, id): (usize, &ClientId)| {
                    let id = serde_json::to_string(id).unwrap();
                    let data = source.data(client_idx).unwrap();
                    format!("{id}: {}", json::write(&data, &sequence, &members).unwrap())
                };
                source.clients().iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
            }
            Err(error) => error.to_string(),
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
        let ty: Type = "int32".parse().unwrap();
        let config: DataConfig = toml::from_str("csv = \"d.csv\"\nclients = {modulo = 1}\ncolumns = \"y\"").unwrap();
        let check = |table: &[u8]| read("d.csv", table, &config, &ty).unwrap_err().to_string();
        insta::assert_snapshot!(check(&[0x1f, 0x8b, 8]), @"d.csv: expected comma-separated values, found gzip: decompress it first");
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
