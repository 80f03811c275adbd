//! The rounds of a simulation, and what is recorded of them.

use super::config::Config;
use super::history::History;
use super::metrics::Metrics;
use super::process::{Prepared, PreparedEvaluation, Process, at_server};
use super::report::{self, RoundReport};
use super::{plot, sample};
use crate::data::{self, Client, ClientId};
use crate::output;
use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::time::Instant;
use tff_exec::{Executor, Value};

/// What a simulation shows and writes beside what it prints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outputs {
    /// The title of the picture.
    pub(crate) title: String,
    /// Whether a progress bar may be shown.
    pub(crate) progress: bool,
    /// The history, lines of JSON.
    pub(crate) history: Option<PathBuf>,
    /// The picture.
    pub(crate) plot: Option<PathBuf>,
}

/// Runs a simulation. What can be wrong with the configuration, the computations and the data is
/// found before the first round.
pub(crate) fn run(config: &Config, outputs: &Outputs, executor: &Executor) -> Result<()> {
    let simulation = Simulation::new(config)?;
    if let Some(path) = &outputs.plot {
        plot::check_path(path)?;
    }
    let mut history = outputs.history.as_deref().map(History::create).transpose()?;
    let prepared = simulation.process.prepare(executor)?;
    let (state, rounds) = simulation.train(&prepared, history.as_mut(), outputs.progress)?;
    report::print_table(&rounds)?;
    if let Some(path) = &outputs.plot {
        plot::write(path, &outputs.title, &rounds)?;
    }
    match (&prepared.evaluation, &simulation.evaluation_metrics) {
        (Some(evaluation), Some(metrics)) => simulation.evaluate(evaluation, metrics, state, history.as_mut()),
        _ => Ok(()),
    }
}

/// Everything that the rounds need but a runtime.
struct Simulation<'a> {
    config: &'a Config,
    process: Process,
    clients: Vec<Client>,
    /// How many clients take part in a round.
    n_chosen: usize,
    metrics: Metrics,
    evaluation_metrics: Option<Metrics>,
}

impl<'a> Simulation<'a> {
    fn new(config: &'a Config) -> Result<Self> {
        let process = Process::read(&config.process, config.evaluate.as_ref())?;
        let name = || config.name.clone();
        let metrics = Metrics::select(&process.round.metrics_ty, &config.metrics).with_context(name)?;
        let evaluation_metrics = match (process.evaluation_round(), &config.evaluate) {
            (Some(round), Some(evaluate)) => {
                let metrics = Metrics::select(&round.metrics_ty, &evaluate.metrics);
                Some(metrics.context("evaluate").with_context(name)?)
            }
            _ => None,
        };
        let clients = data::load(&config.data.csv, &config.data, &process.round.element).with_context(name)?;
        tracing::info!("{} clients from {}", clients.len(), config.data.csv.display());
        let n_chosen = config.clients_per_round.map_or(clients.len(), Into::into);
        if n_chosen > clients.len() {
            let n_clients = clients.len();
            bail!("{}: clients_per_round: expected at most {n_clients}, all clients, found {n_chosen}", config.name);
        }
        Ok(Self { config, process, clients, n_chosen, metrics, evaluation_metrics })
    }

    /// Runs all rounds; returns the last state.
    fn train(
        &self,
        prepared: &Prepared,
        mut history: Option<&mut History>,
        progress: bool,
    ) -> Result<(Value, Vec<RoundReport>)> {
        let mut state = prepared.initialize.call(None, self.n_chosen)?;
        let mut rounds = Vec::new();
        let progress = Progress::new(self.config.rounds, progress);
        for round in 1..=self.config.rounds {
            let chosen = sample::clients(self.config.seed, round, self.clients.len(), self.n_chosen);
            let chosen: Vec<&Client> = chosen.into_iter().filter_map(|index| self.clients.get(index)).collect();
            let start = Instant::now();
            let data = Value::at_clients(chosen.iter().map(|client| client.data.clone()));
            let result = prepared.next.call_round(&self.process.round, state, data, chosen.len());
            let result = result.with_context(|| format!("round {round}"))?;
            let seconds = start.elapsed().as_secs_f64();
            state = result.state;
            let report = RoundReport { round, metrics: self.metrics.read(&result.metrics)?, seconds };
            if let Some(history) = history.as_deref_mut() {
                let ids: Vec<&ClientId> = chosen.iter().map(|client| &client.id).collect();
                history.round(round, &ids, &report.metrics, seconds)?;
            }
            progress.advance(|| output::line(report.line()))?;
            rounds.push(report);
        }
        Ok((state, rounds))
    }

    /// Evaluates the weights of this training state on all clients.
    fn evaluate(
        &self,
        evaluation: &PreparedEvaluation,
        metrics: &Metrics,
        state: Value,
        history: Option<&mut History>,
    ) -> Result<()> {
        let n_clients = self.clients.len();
        let start = Instant::now();
        let weights = evaluation.get_model_weights.call(Some(at_server(state)), n_clients)?;
        let initial = at_server(evaluation.initialize.call(None, n_clients)?);
        let state = evaluation.set_model_weights.call(Some(Value::structure([initial, weights])), n_clients)?;
        let data = Value::at_clients(self.clients.iter().map(|client| client.data.clone()));
        let result = evaluation.next.call_round(&evaluation.round, Value::at_server(state), data, n_clients)?;
        let metrics = metrics.read(&result.metrics)?;
        if let Some(history) = history {
            history.evaluation(&metrics, start.elapsed().as_secs_f64())?;
        }
        output::line(report::evaluation_line(&metrics))
    }
}
