//! The rounds of a simulation.

use super::checkpoint::{Checkpoints, Entry, Identity, Saved};
use super::metrics::{Metrics, Reading};
use super::not_finite::NotFiniteRound;
use super::process::{Prepared, Process, at_server};
use super::sample::{sample_clients, without_dropouts};
use super::{Config, SimulationError};
use crate::data::{ClientId, Source};
use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Instant;
use tff_exec::{Executor, NotFiniteClients, Value};
use tff_types::Type;

type Result<T> = std::result::Result<T, SimulationError>;

/// How a simulation goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The number of rounds.
    pub rounds: u64,
    /// How many clients take part in a round; all where it is not given.
    pub clients_per_round: Option<NonZeroUsize>,
    /// What decides which clients take part.
    pub seed: u64,
    /// How likely each chosen client is to vanish before the round; from 0 to below 1. One client stays in any case.
    pub dropout: f64,
    /// After how many rounds the state is evaluated, each time; only after the last one where it is not given.
    pub evaluate_every: Option<NonZeroU64>,
    /// Paths into the metrics of a round: numbers to report, or structs of them. All numbers where it is empty.
    pub metrics: Vec<String>,
    /// Paths into the metrics of the evaluation.
    pub evaluation_metrics: Vec<String>,
}

/// A process, the data of its clients and how it goes: all that the rounds need but a runtime.
#[derive(Debug)]
pub struct Simulation {
    process: Process,
    source: Box<dyn Source>,
    /// The data of the evaluation, where it is not that of the clients.
    test: Option<Box<dyn Source>>,
    settings: Settings,
    /// How many clients take part in a round.
    n_chosen: usize,
    metrics: Metrics,
    evaluation_metrics: Option<Metrics>,
    /// Whether numbers that are not finite are an error.
    trap_not_finite: bool,
}

impl Simulation {
    /// Checks that the parts fit together. The source was opened for elements of the type [`Process::element`].
    ///
    /// # Errors
    /// [`SimulationError::UnknownMetric`], [`SimulationError::TooFewClients`].
    pub fn new(process: Process, source: Box<dyn Source>, settings: Settings) -> Result<Self> {
        let metrics = Metrics::select(&process.round.metrics_ty, &settings.metrics)?;
        let evaluation = process.evaluation_round();
        let evaluation_metrics =
            evaluation.map(|round| Metrics::select(&round.metrics_ty, &settings.evaluation_metrics)).transpose();
        let evaluation_metrics = evaluation_metrics.map_err(|error| error.at("evaluate"))?;
        let n_clients = source.clients().len();
        let n_chosen = settings.clients_per_round.map_or(n_clients, Into::into);
        if n_chosen > n_clients {
            return Err(SimulationError::TooFewClients { n_clients, found: n_chosen });
        }
        if !(0.0..1.0).contains(&settings.dropout) {
            return Err(SimulationError::Dropout { found: settings.dropout });
        }
        Ok(Self {
            process,
            source,
            test: None,
            settings,
            n_chosen,
            metrics,
            evaluation_metrics,
            trap_not_finite: false,
        })
    }

    /// The simulation with this data for the evaluation, instead of that of the clients. It was opened for the same
    /// elements.
    #[must_use]
    pub fn with_test(self, test: Box<dyn Source>) -> Self {
        Self { test: Some(test), ..self }
    }

    /// The simulation, in which numbers that are not finite are an error, and not a warning.
    #[must_use]
    pub fn trapping_not_finite(self) -> Self {
        Self { trap_not_finite: true, ..self }
    }

    /// Reads the computations and opens the data. What can be wrong with the configuration, the computations and the
    /// data is found here.
    ///
    /// # Errors
    /// [`SimulationError`], with the file and the key.
    pub fn from_config(config: &Config) -> Result<Self> {
        let process = Process::from_config(config)?;
        let source = config.data.open(process.element());
        let source = source.map_err(|error| SimulationError::from(error).at(&config.name))?;
        let (source, held_out) = source.into_sources();
        tracing::info!("{} clients", source.clients().len());
        let settings = Settings {
            rounds: config.rounds,
            clients_per_round: config.clients_per_round,
            seed: config.seed,
            dropout: config.dropout,
            evaluate_every: config.evaluate.as_ref().and_then(|it| it.every),
            metrics: config.metrics.clone(),
            evaluation_metrics: config.evaluate.as_ref().map(|it| it.metrics.clone()).unwrap_or_default(),
        };
        let test = match config.evaluate.as_ref().and_then(|it| it.data.as_ref()) {
            Some(data) => {
                let opened = data.open(process.element());
                let opened = opened.map_err(|error| SimulationError::from(error).at("evaluate").at(&config.name))?;
                Some(opened.into_sources().0)
            }
            None => held_out,
        };
        let simulation = Self::new(process, source, settings).map_err(|error| error.at(&config.name))?;
        Ok(match test {
            Some(test) => simulation.with_test(test),
            None => simulation,
        })
    }

    /// Prepares the computations and makes the state before the first round.
    ///
    /// # Errors
    /// Where a computation cannot be prepared, or the first one fails.
    pub fn start(&self, executor: &Executor) -> Result<Run<'_>> {
        let prepared = self.process.prepare(executor)?;
        let state = prepared.initialize.call(None, self.n_chosen)?;
        Ok(Run { simulation: self, prepared, state, rounds_done: 0, history: Vec::new(), warned: None })
    }

    /// Goes on from the latest checkpoint in a folder, or starts where there is none yet. What was reported before is
    /// [`Run::history`].
    ///
    /// # Errors
    /// As for [`Simulation::start`], and where the checkpoint cannot be read or is that of another simulation.
    pub fn resume(&self, executor: &Executor, checkpoints: &Checkpoints) -> Result<Run<'_>> {
        let Some(saved) = checkpoints.read(&self.identity(), &self.process.round.state_ty)? else {
            return self.start(executor);
        };
        let prepared = self.process.prepare(executor)?;
        let Saved { round, history, state, .. } = saved;
        Ok(Run { simulation: self, prepared, state, rounds_done: round, history, warned: None })
    }

    fn identity(&self) -> Identity {
        Identity {
            seed: self.settings.seed,
            n_chosen: self.n_chosen,
            n_clients: self.source.clients().len(),
            dropout: self.settings.dropout,
            state: self.process.round.state_ty.to_string(),
        }
    }
}

/// The data of these clients, as a value at clients.
fn data(source: &dyn Source, clients: impl IntoIterator<Item = usize>) -> Result<Value> {
    let data: std::result::Result<Vec<_>, _> = clients.into_iter().map(|client| source.data(client)).collect();
    Ok(Value::at_clients(data?))
}

/// What was measured in a round.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundReport {
    /// The number of the round, from 1.
    pub round: u64,
    /// The clients that took part.
    pub clients: Vec<ClientId>,
    /// The clients that were chosen and vanished.
    pub dropped: Vec<ClientId>,
    /// The metrics of the round.
    pub metrics: Vec<Reading>,
    /// How long it took.
    pub seconds: f64,
}

/// What was measured in an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationReport {
    /// After how many rounds it was.
    pub round: u64,
    /// The metrics.
    pub metrics: Vec<Reading>,
    /// How long it took.
    pub seconds: f64,
}

/// A simulation under way: an iterator over its rounds, each of which is computed when it is asked for. Where a round
/// fails the state is that before it, and the round is what comes next.
#[derive(Debug)]
pub struct Run<'a> {
    simulation: &'a Simulation,
    prepared: Prepared,
    /// The state at the server.
    state: Value,
    rounds_done: u64,
    history: Vec<Entry>,
    /// What was found not to be finite, and told of, last.
    warned: Option<NotFiniteRound>,
}

impl Run<'_> {
    /// The state after the rounds that are done, `S@SERVER`.
    #[must_use]
    pub const fn state(&self) -> &Value {
        &self.state
    }

    /// How many rounds are done.
    #[must_use]
    pub const fn rounds_done(&self) -> u64 {
        self.rounds_done
    }

    /// Whether all rounds are done.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.rounds_done >= self.simulation.settings.rounds
    }

    /// What was reported so far, also before the checkpoint from which the run goes on.
    #[must_use]
    pub fn history(&self) -> &[Entry] {
        &self.history
    }

    /// Whether an evaluation is due, between two rounds.
    #[must_use]
    pub fn is_evaluation_due(&self) -> bool {
        let every = self.simulation.settings.evaluate_every;
        every.is_some_and(|every| self.rounds_done.is_multiple_of(every.get())) && !self.is_done()
    }

    /// Writes the state and the history to the folder, in the place of the checkpoint that is there.
    ///
    /// # Errors
    /// Where it cannot be written; then the old one is still there.
    pub fn checkpoint(&self, checkpoints: &Checkpoints) -> Result<()> {
        let simulation = self.simulation;
        let (history, state) = (self.history.clone(), self.state.clone());
        let saved = Saved { round: self.rounds_done, identity: simulation.identity(), history, state };
        checkpoints.write(&saved, &simulation.process.round.state_ty)
    }

    /// The type of the state, `S@SERVER`.
    #[must_use]
    pub const fn state_type(&self) -> &Type {
        &self.simulation.process.round.state_ty
    }

    /// Evaluates the state on all clients, or on the data of [`Simulation::with_test`]; `None` where the process has no evaluation.
    ///
    /// # Errors
    /// Where a computation fails, or the data cannot be read.
    pub fn evaluate(&mut self) -> Result<Option<EvaluationReport>> {
        let simulation = self.simulation;
        let (Some(evaluation), Some(metrics)) = (&self.prepared.evaluation, &simulation.evaluation_metrics) else {
            return Ok(None);
        };
        let source = simulation.test.as_ref().unwrap_or(&simulation.source);
        let n_clients = source.clients().len();
        let start = Instant::now();
        let weights = evaluation.get_model_weights.call(Some(at_server(self.state.clone())), n_clients)?;
        let initial = at_server(evaluation.initialize.call(None, n_clients)?);
        let state = evaluation.set_model_weights.call(Some(Value::structure([initial, weights])), n_clients)?;
        let data = data(&**source, 0..n_clients)?;
        let (state, computed) = (Value::at_server(state), NotFiniteClients::default());
        let result = evaluation.next.call_round(&evaluation.round, state, data.clone(), n_clients, &computed)?;
        let not_finite = NotFiniteRound::find(source.clients(), &data, &computed, None, &result.metrics);
        self.tell("evaluation", not_finite).map_err(|error| error.at("evaluation"))?;
        let metrics = metrics.read(&result.metrics)?;
        let report = EvaluationReport { round: self.rounds_done, metrics, seconds: start.elapsed().as_secs_f64() };
        self.history.push(Entry::Evaluation(report.clone()));
        Ok(Some(report))
    }

    /// Tells of what is not finite, unless the round before had the same.
    fn tell(&mut self, place: &str, found: Option<NotFiniteRound>) -> Result<()> {
        match found {
            Some(found) if self.simulation.trap_not_finite => return Err(found.into()),
            Some(found) if self.warned.as_ref() != Some(&found) => {
                tracing::warn!("{place}: {found}");
                self.warned = Some(found);
            }
            _ => {}
        }
        Ok(())
    }

    fn round(&mut self, round: u64) -> Result<RoundReport> {
        let simulation = self.simulation;
        let ids = simulation.source.clients();
        let chosen = sample_clients(simulation.settings.seed, round, ids.len(), simulation.n_chosen);
        let (chosen, dropped) = without_dropouts(simulation.settings.dropout, simulation.settings.seed, round, chosen);
        let start = Instant::now();
        let data = data(&*simulation.source, chosen.iter().copied())?;
        let signature = &simulation.process.round;
        let computed = NotFiniteClients::default();
        let result =
            self.prepared.next.call_round(signature, self.state.clone(), data.clone(), chosen.len(), &computed)?;
        let seconds = start.elapsed().as_secs_f64();
        let metrics = simulation.metrics.read(&result.metrics)?;
        let ids = |clients: Vec<usize>| clients.into_iter().filter_map(|client| ids.get(client).cloned()).collect();
        let clients: Vec<ClientId> = ids(chosen);
        let not_finite = NotFiniteRound::find(&clients, &data, &computed, Some(&result.state), &result.metrics);
        self.tell(&format!("round {round}"), not_finite)?;
        self.state = result.state;
        self.rounds_done = round;
        let report = RoundReport { round, clients, dropped: ids(dropped), metrics, seconds };
        self.history.push(Entry::Round(report.clone()));
        Ok(report)
    }
}

impl Iterator for Run<'_> {
    type Item = Result<RoundReport>;

    fn next(&mut self) -> Option<Self::Item> {
        let round = self.rounds_done + 1;
        (round <= self.simulation.settings.rounds)
            .then(|| self.round(round).map_err(|error| error.at(format!("round {round}"))))
    }
}
