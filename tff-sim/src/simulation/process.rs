//! The computations of an iterative process and of its evaluation, checked against each other.

use super::SimulationError;
use super::config::{Config, EvaluateConfig, ProcessConfig};
use crate::files::{FileError, name_of};
use std::path::Path;
use tff_exec::{CallOptions, Executor, NotFiniteClients, Program, Value};
use tff_ir::Comp;
use tff_types::{FederatedType, FunctionType, Placement, PlacementSpec, StructType, Type};

type Result<T> = std::result::Result<T, SimulationError>;

/// A computation and what it is called in messages.
#[derive(Clone, Debug)]
pub struct NamedComp {
    /// The name, such as that of its file.
    pub name: String,
    /// The computation.
    pub comp: Comp,
}

impl NamedComp {
    /// Reads a computation, as [`crate::read`] does; it is called as its file is.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(path: &Path) -> std::result::Result<Self, FileError> {
        Ok(Self { name: name_of(path), comp: crate::read(path)? })
    }

    fn function(&self) -> Result<&FunctionType> {
        self.comp.ty().as_function().ok_or_else(|| self.expected("a function"))
    }

    fn expected(&self, expected: &'static str) -> SimulationError {
        SimulationError::Signature { name: self.name.clone(), expected, found: self.comp.ty().clone() }
    }

    fn prepare(&self, executor: &Executor) -> Result<Step> {
        let name = self.name.clone();
        match executor.prepare(&self.comp) {
            Ok(program) => Ok(Step { name, program }),
            Err(source) => Err(SimulationError::Exec { name, source }),
        }
    }
}

/// A prepared computation.
#[derive(Clone, Debug)]
pub(super) struct Step {
    name: String,
    program: Program,
}

impl Step {
    pub(super) fn call(&self, argument: Option<Value>, n_clients: usize) -> Result<Value> {
        self.call_with(argument, n_clients, &CallOptions::default())
    }

    fn call_with(&self, argument: Option<Value>, n_clients: usize, options: &CallOptions) -> Result<Value> {
        let result = self.program.call_with(argument, Some(n_clients), options);
        result.map_err(|source| SimulationError::Exec { name: self.name.clone(), source })
    }

    /// Calls it with a state and the clients' data, and takes the result apart. Collects the clients for which
    /// something is computed that is not finite.
    pub(super) fn call_round(
        &self,
        signature: &Round,
        state: Value,
        clients: Value,
        n_clients: usize,
        not_finite: &NotFiniteClients,
    ) -> Result<RoundResult> {
        let mut options = CallOptions::default();
        options.not_finite = Some(not_finite.clone());
        let result = self.call_with(Some(Value::structure([state, clients])), n_clients, &options)?;
        let element = |index: usize| match &result {
            Value::Struct(elements) => elements.get(index).cloned(),
            _ => None,
        };
        match (element(signature.state), element(signature.metrics)) {
            (Some(state), Some(metrics)) => Ok(RoundResult { state, metrics: at_server(metrics) }),
            _ => {
                let (name, found) = (self.name.clone(), result.describe());
                Err(SimulationError::Result { name, expected: "a struct with state and metrics", found })
            }
        }
    }
}

/// What a round gives.
#[derive(Clone, Debug)]
pub(super) struct RoundResult {
    /// The next state, at the server.
    pub(super) state: Value,
    /// The metrics themselves.
    pub(super) metrics: Value,
}

/// The member of a value at the server.
pub(super) fn at_server(value: Value) -> Value {
    match value {
        Value::Server(member) => (*member).clone(),
        other => other,
    }
}

/// The signature of a round, `(<S@SERVER,{D*}@CLIENTS> -> <state=S@SERVER,metrics=M@SERVER>)`, and
/// where its parts are.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// `S@SERVER`.
    pub(super) state_ty: Type,
    /// The type `S` of the state itself.
    state_member: Type,
    /// `{D*}@CLIENTS`.
    clients_ty: Type,
    /// The type `D` of a client's elements.
    pub(super) element: Type,
    /// The type `M` of the metrics.
    pub(super) metrics_ty: Type,
    /// The position of the state in the result.
    state: usize,
    /// The position of the metrics in the result.
    metrics: usize,
}

impl Round {
    fn of(next: &NamedComp) -> Result<Self> {
        const EXPECTED: &str = "(<S@SERVER,{D*}@CLIENTS> -> <state=S@SERVER,metrics=M@SERVER>)";
        let expected = || next.expected(EXPECTED);
        let function = next.function()?;
        let parameter = function.parameter.as_ref().and_then(Type::as_struct).ok_or_else(expected)?;
        let [state_ty, clients_ty] = parameter.elements() else { return Err(expected()) };
        let (state_ty, clients_ty) = (state_ty.ty.clone(), clients_ty.ty.clone());
        let state_member = placed(&state_ty, Placement::Server).ok_or_else(expected)?.member.clone();
        let clients = placed(&clients_ty, Placement::Clients).ok_or_else(expected)?;
        let element = clients.member.as_sequence().ok_or_else(expected)?.element.clone();
        let result = function.result.as_struct().ok_or_else(expected)?;
        let (state, metrics) = result_positions(result).ok_or_else(expected)?;
        let element_ty = |index: usize| result.elements().get(index).map(|it| &it.ty).ok_or_else(expected);
        check(&state_ty, element_ty(state)?, || {
            format!("{}: the state that it returns, for the one that it takes", next.name)
        })?;
        let metrics_ty = placed(element_ty(metrics)?, Placement::Server).ok_or_else(expected)?.member.clone();
        Ok(Self { state_ty, state_member, clients_ty, element, metrics_ty, state, metrics })
    }
}

/// The federated type, if it is one at this placement.
fn placed(ty: &Type, placement: Placement) -> Option<&FederatedType> {
    ty.as_federated().filter(|federated| federated.placement == PlacementSpec::Value(placement))
}

/// Where the state and the metrics are in a result: by name, or else the first two elements.
fn result_positions(result: &StructType) -> Option<(usize, usize)> {
    let state = result.index_of("state").unwrap_or(0);
    let metrics = result.index_of("metrics").unwrap_or(1);
    (state != metrics && state < result.len() && metrics < result.len()).then_some((state, metrics))
}

/// Checks that a value of type `found` may be used as one of type `expected`.
fn check(expected: &Type, found: &Type, what: impl Fn() -> String) -> Result<()> {
    expected.check_assignable_from(found).map_err(|mismatch| SimulationError::NotAssignable {
        what: what(),
        mismatch: Box::new(mismatch),
        expected: expected.clone(),
        found: found.clone(),
    })
}

/// An iterative process and its evaluation, whose computations fit together.
#[derive(Clone, Debug)]
pub struct Process {
    initialize: NamedComp,
    next: NamedComp,
    pub(super) round: Round,
    evaluation: Option<Evaluation>,
}

/// The computations of an evaluation.
#[derive(Clone, Debug)]
pub struct EvaluationComps {
    /// `( -> E@SERVER)`.
    pub initialize: NamedComp,
    /// `(<E@SERVER,{D*}@CLIENTS> -> <state=E@SERVER,metrics=N@SERVER>)`.
    pub next: NamedComp,
    /// `(S -> W)`, from the state of the process.
    pub get_model_weights: NamedComp,
    /// `(<E,W> -> E)`.
    pub set_model_weights: NamedComp,
}

#[derive(Clone, Debug)]
struct Evaluation {
    comps: EvaluationComps,
    round: Round,
}

/// The process, ready to run.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) initialize: Step,
    pub(super) next: Step,
    pub(super) evaluation: Option<PreparedEvaluation>,
}

/// The evaluation, ready to run.
#[derive(Clone, Debug)]
pub(super) struct PreparedEvaluation {
    pub(super) initialize: Step,
    pub(super) next: Step,
    pub(super) get_model_weights: Step,
    pub(super) set_model_weights: Step,
    pub(super) round: Round,
}

impl ProcessConfig {
    /// Reads the computations and checks that they fit together.
    pub(super) fn read(&self, evaluate: Option<&EvaluateConfig>) -> Result<Process> {
        let process = Process::new(NamedComp::read(&self.initialize)?, NamedComp::read(&self.next)?)?;
        let Some(config) = evaluate else { return Ok(process) };
        process.with_evaluation(EvaluationComps {
            initialize: NamedComp::read(&config.initialize)?,
            next: NamedComp::read(&config.next)?,
            get_model_weights: NamedComp::read(&config.get_model_weights)?,
            set_model_weights: NamedComp::read(&config.set_model_weights)?,
        })
    }
}

impl Process {
    /// Reads the computations and checks that they fit together.
    ///
    /// # Errors
    /// Where one cannot be read, or they do not fit together.
    pub fn from_config(config: &Config) -> Result<Self> {
        config.process.read(config.evaluate.as_ref())
    }

    /// A process of `( -> S@SERVER)` and `(<S@SERVER,{D*}@CLIENTS> -> <state=S@SERVER,metrics=M@SERVER>)`.
    ///
    /// # Errors
    /// Where a computation is of another signature, or the two do not fit together.
    pub fn new(initialize: NamedComp, next: NamedComp) -> Result<Self> {
        let round = Round::of(&next)?;
        check_initialize(&initialize, &round, &next)?;
        Ok(Self { initialize, next, round, evaluation: None })
    }

    /// The process with this evaluation.
    ///
    /// # Errors
    /// Where a computation is of another signature, or they do not fit together or to the process.
    pub fn with_evaluation(self, comps: EvaluationComps) -> Result<Self> {
        let evaluation = Evaluation::new(comps, &self.round, &self.next)?;
        Ok(Self { evaluation: Some(evaluation), ..self })
    }

    /// The type `D` of the elements of a client's data.
    #[must_use]
    pub const fn element(&self) -> &Type {
        &self.round.element
    }

    /// The signature of the evaluation, if there is one.
    pub(super) fn evaluation_round(&self) -> Option<&Round> {
        self.evaluation.as_ref().map(|evaluation| &evaluation.round)
    }

    pub(super) fn prepare(&self, executor: &Executor) -> Result<Prepared> {
        let evaluation = self.evaluation.as_ref().map(|it| it.prepare(executor)).transpose()?;
        Ok(Prepared { initialize: self.initialize.prepare(executor)?, next: self.next.prepare(executor)?, evaluation })
    }
}

impl Evaluation {
    fn new(comps: EvaluationComps, training: &Round, training_next: &NamedComp) -> Result<Self> {
        let EvaluationComps { initialize, next, get_model_weights, set_model_weights } = &comps;
        let round = Round::of(next)?;
        check_initialize(initialize, &round, next)?;
        let what = || format!("{}: the data of the clients, that of {}", next.name, training_next.name);
        check(&round.clients_ty, &training.clients_ty, what)?;
        let weights = check_get_weights(get_model_weights, training, training_next)?;
        check_set_weights(set_model_weights, &weights, &round, get_model_weights)?;
        Ok(Self { comps, round })
    }

    fn prepare(&self, executor: &Executor) -> Result<PreparedEvaluation> {
        let EvaluationComps { initialize, next, get_model_weights, set_model_weights } = &self.comps;
        Ok(PreparedEvaluation {
            initialize: initialize.prepare(executor)?,
            next: next.prepare(executor)?,
            get_model_weights: get_model_weights.prepare(executor)?,
            set_model_weights: set_model_weights.prepare(executor)?,
            round: self.round.clone(),
        })
    }
}

/// Checks `( -> S@SERVER)`.
fn check_initialize(initialize: &NamedComp, round: &Round, next: &NamedComp) -> Result<()> {
    let function = initialize.function()?;
    if function.parameter.is_some() {
        return Err(initialize.expected("a function without a parameter"));
    }
    let what = || format!("{}: the state that it returns, for {}", initialize.name, next.name);
    check(&round.state_ty, &function.result, what)
}

/// Checks `(S -> W)` and returns `W`.
fn check_get_weights(get: &NamedComp, training: &Round, next: &NamedComp) -> Result<Type> {
    let function = get.function()?;
    let parameter = function.parameter.as_ref().ok_or_else(|| get.expected("a function of the training state"))?;
    check(parameter, &training.state_member, || format!("{}: its parameter, the state of {}", get.name, next.name))?;
    Ok(function.result.clone())
}

/// Checks `(<E,W> -> E)`.
fn check_set_weights(set: &NamedComp, weights: &Type, round: &Round, get: &NamedComp) -> Result<()> {
    let function = set.function()?;
    let expected = || set.expected("a function of the evaluation state and the weights, (<E,W> -> E)");
    let parameter = function.parameter.as_ref().and_then(Type::as_struct).ok_or_else(expected)?;
    let [state_ty, weights_ty] = parameter.elements() else { return Err(expected()) };
    check(&state_ty.ty, &round.state_member, || {
        format!("{}: its first parameter, the state of the evaluation", set.name)
    })?;
    check(&weights_ty.ty, weights, || {
        format!("{}: its second parameter, the weights that {} returns", set.name, get.name)
    })?;
    check(&round.state_member, &function.result, || format!("{}: its result, the state of the evaluation", set.name))
}
