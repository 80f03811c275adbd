//! `tff simulate`: an iterative process over the data of many clients.

mod plot;
mod report;

use super::ExecutorArgs;
use crate::log::LogArgs;
use crate::output;
use crate::progress::Progress;
use crate::usage::UsageError;
use crate::workers::WorkersArgs;
use anyhow::Result;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tff_sim::simulation::{Config, History, RoundReport, Simulation};

const EXAMPLES: &str = "\
Examples:
  tff simulate examples/digits/digits.toml
  tff simulate digits.toml --rounds 100 --clients-per-round 5 --seed 1
  tff simulate digits.toml --history rounds.jsonl --plot rounds.svg
  tff simulate digits.toml --workers a:8000,b:8000    the clients on two machines";

const KEYS: &str = "\
Keys of the configuration, a TOML file; paths are relative to it:

  rounds                      the number of rounds
  clients_per_round           how many clients take part in a round; all by default
  seed                        the random seed that decides which clients take part; 0 by default
  metrics                     paths into the metrics of a round, such as [\"client_work.train\"]:
                              numbers to show, or structs of them; by default all numbers
  history, plot               files as written by --history and --plot
  process.initialize          ( -> S@SERVER)
  process.next                (<S@SERVER,{D*}@CLIENTS> -> <state=S@SERVER,metrics=M@SERVER>)
  evaluate.initialize         ( -> E@SERVER)
  evaluate.next               (<E@SERVER,{D*}@CLIENTS> -> <state=E@SERVER,metrics=N@SERVER>)
  evaluate.get_model_weights  (S -> W)
  evaluate.set_model_weights  (<E,W> -> E)
  evaluate.metrics            paths into the metrics of the evaluation
  data.csv                    comma-separated values with a header
  data.clients                which rows belong to which client: { column = \"name\" } if rows with
                              the same value in the column belong together, or { modulo = N } if
                              row r, from 0, belongs to client r mod N
  data.batch_size             rows in a batch, if the tensors of D begin with a dimension `?`;
                              the last batch of a client may be smaller
  data.drop_remainder         true leaves out rows that do not fill a batch; then the dimension may
                              also be the batch size, as XLA modules need it
  data.epochs                 how often a client goes through its rows in a round, 1 by default
  data.columns                the columns of D: for a struct, a list by position or a table by
                              name; for a tensor, a column, a range \"p0..p63\" in the order of
                              the header, a pattern \"p*\", or a list of these

The section [evaluate] may be left out. The seed and the number of a round decide which clients take
part in it, by SplitMix64 and a partial Fisher-Yates shuffle. The clients keep their order.

The output is one line for each round, a table of the rounds, and one line for the evaluation on all
clients. Except for the seconds, two runs print the same.";

/// Runs an iterative process, such as federated averaging, over data from a table.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{KEYS}\n\n{EXAMPLES}"))]
pub(crate) struct Args {
    /// The configuration; see --help for its keys.
    config: PathBuf,
    /// The number of rounds; this and the options below replace the keys of the configuration.
    #[arg(long, value_name = "N")]
    rounds: Option<u64>,
    /// How many clients take part in a round.
    #[arg(long, value_name = "N")]
    clients_per_round: Option<NonZeroUsize>,
    /// The number of rows in a batch.
    #[arg(long, value_name = "N")]
    batch_size: Option<NonZeroUsize>,
    /// The random seed that decides which clients take part.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write the history: on each line a JSON object with round, clients, metrics and seconds.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Draw the metrics over the rounds to an SVG file.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Show no progress bar; without a terminal there is none anyway.
    #[arg(long)]
    no_progress: bool,
    #[command(flatten)]
    executor: ExecutorArgs,
    #[command(flatten)]
    workers: WorkersArgs,
}

impl Args {
    pub(crate) fn run(self, log: &LogArgs) -> Result<()> {
        if self.history.as_deref() == Some(Path::new("-")) {
            return Err(UsageError::value("--history must be a file: the rounds are printed to stdout anyway").into());
        }
        let mut config = Config::read(&self.config)?;
        config.rounds = self.rounds.unwrap_or(config.rounds);
        config.clients_per_round = self.clients_per_round.or(config.clients_per_round);
        config.data.batch_size = self.batch_size.or(config.data.batch_size);
        config.seed = self.seed.unwrap_or(config.seed);
        let (history, plot) = (self.history.or(config.history.take()), self.plot.or(config.plot.take()));
        let executor = self.executor.executor_on(&self.workers)?;

        let simulation = Simulation::from_config(&config)?;
        if let Some(path) = &plot {
            plot::check_path(path)?;
        }
        let mut history = history.as_deref().map(History::create).transpose()?;
        let mut run = simulation.start(&executor)?;
        let mut rounds: Vec<RoundReport> = Vec::new();
        let progress = Progress::new(config.rounds, !self.no_progress && !log.quiet);
        for report in run.by_ref() {
            let report = report?;
            if let Some(history) = &mut history {
                history.round(&report)?;
            }
            progress.advance(|| output::line(report::round_line(&report)))?;
            rounds.push(report);
        }
        drop(progress);
        report::table(&rounds).iter().try_for_each(output::line)?;
        if let Some(path) = &plot {
            let title = self.config.file_stem().unwrap_or_default().to_string_lossy();
            plot::write(path, &title, &rounds)?;
        }
        let Some(report) = run.evaluate()? else { return Ok(()) };
        if let Some(history) = &mut history {
            history.evaluation(&report)?;
        }
        output::line(report::evaluation_line(&report.metrics))
    }
}
