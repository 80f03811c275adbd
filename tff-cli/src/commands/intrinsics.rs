//! `tff intrinsics`: the functions that computations know by their uri.

use crate::output;
use anyhow::Result;
use serde::Serialize;
use tff_compiler::is_reduced;
use tff_exec::is_native;
use tff_ir::{Communication, Intrinsic, Privacy};

const EXAMPLES: &str = "\
Examples:
  tff intrinsics
  tff intrinsics --json | jq -r '.[] | select(.run == \"native\") | .uri'";

const COLUMNS: &str = "\
The columns:

  uri            the name: `%federated_sum(x)` in a text
  communication  what goes between clients and server: `aggregation` brings values of the clients to
                 the server, `broadcast` sends values of the server to clients, `none` sends nothing;
                 `secure` if the server must not see a single client's value or request
  run            who runs it: `native` is run as it stands; `reduced` is replaced by the compiler, which
                 `tff run` calls where it is needed; `insecure` is refused, and replaced by the same
                 without security if --allow-insecure-secure-sum is given
  signature      its type; capital letters stand for any type

--json prints an array with an object for each, with these columns, `secure` as true or false, and
`doc`: what it does.";

/// Lists the intrinsics: the functions that computations know by their uri.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{COLUMNS}\n\n{EXAMPLES}"))]
pub(crate) struct Args {
    /// Print the table as JSON, on one line.
    #[arg(long)]
    json: bool,
}

/// A row of the table.
#[derive(Debug, Serialize)]
struct Row {
    uri: &'static str,
    signature: &'static str,
    communication: &'static str,
    secure: bool,
    run: Option<&'static str>,
    doc: &'static str,
}

impl Row {
    fn of(intrinsic: &Intrinsic) -> Option<Self> {
        let def = intrinsic.def()?;
        let (communication, privacy) = match def.communication {
            Communication::Local => ("none", Privacy::Default),
            Communication::Aggregation(privacy) => ("aggregation", privacy),
            Communication::Broadcast(privacy) => ("broadcast", privacy),
        };
        let run = if is_native(intrinsic) {
            Some("native")
        } else if is_reduced(intrinsic, false) {
            Some("reduced")
        } else {
            is_reduced(intrinsic, true).then_some("insecure")
        };
        let (uri, signature, doc) = (def.uri, def.signature, def.doc.trim());
        Some(Self { uri, signature, communication, secure: privacy == Privacy::Secure, run, doc })
    }

    fn cells(&self) -> [String; 4] {
        let secure = if self.secure { "secure " } else { "" };
        let communication = format!("{secure}{}", self.communication);
        [self.uri.to_owned(), communication, self.run.unwrap_or("-").to_owned(), self.signature.to_owned()]
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let rows: Vec<Row> = Intrinsic::ALL.iter().filter_map(Row::of).collect();
        if self.json {
            return output::line(serde_json::to_string(&rows)?);
        }
        let mut table = vec![["uri", "communication", "run", "signature"].map(str::to_owned)];
        table.extend(rows.iter().map(Row::cells));
        let width = |column: usize| table.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
        let [uri, communication, run] = [0, 1, 2].map(width);
        table
            .iter()
            .try_for_each(|[a, b, c, d]| output::line(format_args!("{a:uri$}  {b:communication$}  {c:run$}  {d}")))
    }
}
