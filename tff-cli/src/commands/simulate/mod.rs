//! `tff simulate`: an iterative process over the data of many clients.

mod report;

use super::{ExecutorArgs, plot};
use crate::log::LogArgs;
use crate::output;
use crate::progress::Progress;
use crate::usage::UsageError;
use crate::workers::WorkersArgs;
use anyhow::{Result, bail};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use tff_sim::files::check_folder;
use tff_sim::simulation::{Checkpoints, Config, Entry, History, RoundReport, Run, Simulation};
use tff_sim::tensors;

const EXAMPLES: &str = "\
Examples:
  tff simulate examples/digits/digits.toml
  tff simulate digits.toml --rounds 100 --clients-per-round 5 --seed 1
  tff simulate digits.toml --history rounds.jsonl --plot rounds.svg
  tff simulate digits.toml --checkpoint state --every 10 --resume
  tff simulate digits.toml --save model.safetensors --save-part global_model_weights
  tff simulate digits.toml --workers a:8000,b:8000    the clients on two machines";

const KEYS: &str = "\
Keys of the configuration, a TOML file; paths are relative to it:

  rounds                      the number of rounds
  clients_per_round           how many clients take part in a round; all by default
  seed                        the random seed that decides which clients take part; 0 by default
  dropout                     how likely each chosen client is to vanish before the round, 0 by default; at
                              least one stays. The history names those that did
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
  evaluate.every              after how many rounds the state is evaluated, each time; by default only after
                              the last one
  evaluate.data               the data of the evaluation, with the keys of [data]; by default what is held
                              out of each client, else the data of the clients
  data.csv                    comma-separated values with a header: a path, or a list of paths
  data.file                   the same for any format, which the name says: .csv, .tsv (also .gz, .zst),
                              .parquet, .arrow, .feather, .npz (an array a column), .npy (a column of
                              the file's name), .sqlite and .sqlite.lzma (TFF's client data), .tfrecord
                              (records of tf.train.Example); a folder is a file for each client
  data.format                 csv, parquet, arrow, npz, npy, sqlite or tfrecord, where the name does not
                              say it
  data.split                  a split of TFF's client data, such as \"train\"; all by default
  data.delimiter              what stands between two cells of a table: by default a tab in .tsv, else \",\"
  data.quote                  what stands around a cell that has delimiters or lines in it: \"'\", or \"\" for
                              nothing; a double quote by default
  data.header                 whether the first row of a table names its columns, true by default; if not,
                              they are called \"0\", \"1\" and so on
  data.missing, data.fill     cells of a table that stand for a missing value, such as [\"\", \"NA\"], and
                              what is read for them, \"nan\" by default
  data.categories             columns of a table whose cells are read as their position in a list:
                              { kind = [\"cat\", \"dog\"] }
  data.clients                which rows belong to which client, one of
                                { column = \"name\" }   those with the same value in a column
                                { modulo = N }        row r (from 0) to client r mod N
                                { iid = N }           N clients of the same size, rows at random
                                { linear = N }, { square = N }, { exponential = N }
                                                      client k (from 1) has rows as k, k² or exp(k)
                                { dirichlet = { clients = N, alpha = A, label = \"name\" } }
                                                      each class by shares drawn from a Dirichlet
                                                      distribution; `balance = false` also gives rows
                                                      to clients that have their part of all
                                { shards = { clients = N, shards = K, label = \"name\" } }
                                                      K shards of the rows sorted by label
                                { list = [[0, 1], [2]] }  these rows
                              It may be left out for TFF's client data and for folders
  data.seed                   decides where chance does which rows a client gets, 0 by default
  data.min_rows               clients with fewer rows are left out, a Dirichlet division is drawn again
  data.held_out               the share of each client's rows that only the evaluation sees, 0 by default
  data.label                  the column with the classes that `tff data` counts
  data.batch_size             rows in a batch, if the tensors of D begin with a dimension `?`;
                              the last batch of a client may be smaller
  data.drop_remainder         true leaves out rows that do not fill a batch; then the dimension may
                              also be the batch size, as XLA modules need it
  data.epochs                 how often a client goes through its rows in a round, 1 by default
  data.columns                the columns of D, those of the same names by default: for a struct, a list by position or a table by
                              member; for a tensor, a column, a range \"p0..p63\" in the order of
                              the header, a pattern \"p*\", or a list of these

The section [evaluate] may be left out. The seed and the number of a round decide which clients take
part in it, by SplitMix64 and a partial Fisher-Yates shuffle. The clients keep their order.

The output is one line for each round, a table of the rounds, and one line for the evaluation on all
clients. Except for the seconds, two runs print the same.";

/// Runs an iterative process, such as federated averaging, over the data of many clients.
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
    /// Keep the state in this folder, so that --resume goes on from there. It is written as a whole or not at all.
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
    /// After how many rounds it is written, each time; also after the last one, and where a round fails.
    #[arg(long, value_name = "N", default_value = "1", requires = "checkpoint")]
    every: NonZeroU64,
    /// Go on from the folder of --checkpoint; start where there is nothing in it yet.
    #[arg(long, requires = "checkpoint")]
    resume: bool,
    /// Write the state after the last round, as .safetensors or .npz.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// The part of the state that --save writes, such as `global_model_weights.trainable`; all by default.
    #[arg(long, value_name = "PATH", requires = "save", default_value = "")]
    save_part: String,
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
        let (history, plot) =
            (self.history.clone().or(config.history.take()), self.plot.clone().or(config.plot.take()));
        let executor = self.executor.executor_on(&self.workers)?;

        let simulation = Simulation::from_config(&config)?;
        if let Some(path) = &plot {
            plot::check_path(path)?;
        }
        self.save.as_deref().map_or(Ok(()), check_tensors)?;
        let checkpoints = self.checkpoint.as_deref().map(Checkpoints::new).transpose()?;
        let mut run = match &checkpoints {
            Some(checkpoints) if self.resume => simulation.resume(&executor, checkpoints)?,
            _ => simulation.start(&executor)?,
        };
        let mut history = history.as_deref().map(History::create).transpose()?;
        let mut rounds: Vec<RoundReport> = Vec::new();
        for entry in run.history() {
            if let Some(history) = &mut history {
                history.entry(entry)?;
            }
            if let Entry::Round(report) = entry {
                rounds.push(report.clone());
            }
        }
        if !rounds.is_empty() {
            tracing::info!("goes on after round {}", run.rounds_done());
        }
        let progress = Progress::new(config.rounds, !self.no_progress && !log.quiet);
        progress.skip(run.rounds_done());
        let finished = self.finish(&mut run, &mut rounds, history.as_mut(), checkpoints.as_ref(), &progress);
        if let (Err(_), Some(checkpoints)) = (&finished, &checkpoints) {
            // The state is that before the round that failed.
            run.checkpoint(checkpoints)?;
        }
        finished?;
        drop(progress);
        report::table(&rounds).iter().try_for_each(output::line)?;
        if let Some(path) = &plot {
            let title = self.config.file_stem().unwrap_or_default().to_string_lossy();
            plot::write(path, &title, &rounds)?;
        }
        if let Some(path) = &self.save {
            let (value, ty) = tensors::part(run.state(), run.state_type(), &self.save_part)?;
            tensors::write(path, &value, &ty)?;
        }
        let Some(report) = run.evaluate()? else { return Ok(()) };
        if let Some(history) = &mut history {
            history.evaluation(&report)?;
        }
        output::line(report::evaluation_line(&report.metrics))
    }
}

impl Args {
    /// Runs the rounds that are left.
    fn finish(
        &self,
        run: &mut Run<'_>,
        rounds: &mut Vec<RoundReport>,
        mut history: Option<&mut History>,
        checkpoints: Option<&Checkpoints>,
        progress: &Progress,
    ) -> Result<()> {
        while let Some(report) = run.next() {
            let report = report?;
            if let Some(history) = &mut history {
                history.round(&report)?;
            }
            progress.advance(|| output::line(report::round_line(&report)))?;
            rounds.push(report);
            if run.is_evaluation_due()
                && let Some(report) = run.evaluate()?
            {
                if let Some(history) = &mut history {
                    history.evaluation(&report)?;
                }
                progress.show(|| output::line(report::evaluation_line(&report.metrics)))?;
            }
            if let Some(checkpoints) = checkpoints
                && (run.rounds_done().is_multiple_of(self.every.get()) || run.is_done())
            {
                run.checkpoint(checkpoints)?;
            }
        }
        Ok(())
    }
}

/// Checks early that tensors can be written to this path.
fn check_tensors(path: &Path) -> Result<()> {
    if !tensors::is_tensors(path) {
        bail!("{}: expected a name that ends in .safetensors or .npz", path.display());
    }
    Ok(check_folder(path)?)
}
