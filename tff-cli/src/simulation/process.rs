//! The computations of an iterative process and of its evaluation, checked against each other.

use super::config::{EvaluateConfig, ProcessConfig};
use crate::computation;
use crate::input::Source;
use anyhow::{Context, Result, bail};
use std::path::Path;
use tff_exec::{Executor, Program, Value};
use tff_ir::Comp;
use tff_types::{FederatedType, FunctionType, Placement, PlacementSpec, StructType, Type};

/// A computation and the file it came from.
#[derive(Clone, Debug)]
struct Loaded {
    name: String,
    comp: Comp,
}

impl Loaded {
    fn read(path: &Path) -> Result<Self> {
        let source = Source::File(path.to_owned());
        Ok(Self { name: source.name(), comp: computation::read(&source)? })
    }

    fn function(&self) -> Result<&FunctionType> {
        self.comp.ty().as_function().with_context(|| self.expected("a function"))
    }

    fn expected(&self, what: &str) -> String {
        format!("{}: expected {what}, found {}", self.name, self.comp.ty())
    }

    fn prepare(&self, executor: &Executor) -> Result<Step> {
        let program = executor.prepare(&self.comp).with_context(|| self.name.clone())?;
        Ok(Step { name: self.name.clone(), program })
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
        self.program.call(argument, Some(n_clients)).with_context(|| self.name.clone())
    }

    /// Calls it with a state and the clients' data, and takes the result apart.
    pub(super) fn call_round(
        &self,
        signature: &Round,
        state: Value,
        clients: Value,
        n_clients: usize,
    ) -> Result<RoundResult> {
        let result = self.call(Some(Value::structure([state, clients])), n_clients)?;
        let Value::Struct(elements) = &result else {
            bail!("{}: expected a struct, found {}", self.name, result.describe())
        };
        let element =
            |index: usize| elements.get(index).cloned().with_context(|| format!("{}: no element {index}", self.name));
        Ok(RoundResult { state: element(signature.state)?, metrics: at_server(element(signature.metrics)?) })
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
    state_ty: Type,
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
    fn of(next: &Loaded) -> Result<Self> {
        const EXPECTED: &str = "(<S@SERVER,{D*}@CLIENTS> -> <state=S@SERVER,metrics=M@SERVER>)";
        let expected = || next.expected(EXPECTED);
        let function = next.function()?;
        let parameter = function.parameter.as_ref().and_then(Type::as_struct).with_context(expected)?;
        let [state_ty, clients_ty] = parameter.elements() else { bail!(expected()) };
        let (state_ty, clients_ty) = (state_ty.ty.clone(), clients_ty.ty.clone());
        let state_member = placed(&state_ty, Placement::Server).with_context(expected)?.member.clone();
        let clients = placed(&clients_ty, Placement::Clients).with_context(expected)?;
        let element = clients.member.as_sequence().with_context(expected)?.element.clone();
        let result = function.result.as_struct().with_context(expected)?;
        let (state, metrics) = result_positions(result).with_context(expected)?;
        let element_ty = |index: usize| result.elements().get(index).map(|it| &it.ty).with_context(expected);
        check(&state_ty, element_ty(state)?, || {
            format!("{}: the state that it returns, for the one that it takes", next.name)
        })?;
        let metrics_ty = placed(element_ty(metrics)?, Placement::Server).with_context(expected)?.member.clone();
        Ok(Self { state_ty, state_member, clients_ty, element, metrics_ty, state, metrics })
    }
}

/// The federated type, if it is one at this placement.
fn placed(ty: &Type, placement: Placement) -> Option<&FederatedType> {
    ty.as_federated().filter(|federated| federated.placement == PlacementSpec::Value(placement))
}

/// Where the state and the metrics are in a result: by name, else the first two.
fn result_positions(result: &StructType) -> Option<(usize, usize)> {
    let state = result.index_of("state").unwrap_or(0);
    let metrics = result.index_of("metrics").unwrap_or(1);
    (state != metrics && state < result.len() && metrics < result.len()).then_some((state, metrics))
}

/// Checks that a value of type `found` may be used as one of type `expected`.
fn check(expected: &Type, found: &Type, what: impl Fn() -> String) -> Result<()> {
    let Err(mismatch) = expected.check_assignable_from(found) else { return Ok(()) };
    // Further lines of the message repeat in part what follows here in full.
    let mismatch = mismatch.to_string();
    let mismatch = mismatch.lines().next().unwrap_or_default();
    bail!("{}: {mismatch}; as a whole, expected {expected}, found {found}", what())
}

/// The iterative process and its evaluation.
#[derive(Clone, Debug)]
pub(super) struct Process {
    initialize: Loaded,
    next: Loaded,
    pub(super) round: Round,
    evaluation: Option<Evaluation>,
}

#[derive(Clone, Debug)]
struct Evaluation {
    initialize: Loaded,
    next: Loaded,
    get_model_weights: Loaded,
    set_model_weights: Loaded,
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

impl Process {
    /// Reads the computations and checks that they fit together.
    pub(super) fn read(process: &ProcessConfig, evaluate: Option<&EvaluateConfig>) -> Result<Self> {
        let (initialize, next) = (Loaded::read(&process.initialize)?, Loaded::read(&process.next)?);
        let round = Round::of(&next)?;
        check_initialize(&initialize, &round, &next)?;
        let evaluation = evaluate.map(|config| Evaluation::read(config, &round, &next)).transpose()?;
        Ok(Self { initialize, next, round, evaluation })
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
    fn read(config: &EvaluateConfig, training: &Round, training_next: &Loaded) -> Result<Self> {
        let (initialize, next) = (Loaded::read(&config.initialize)?, Loaded::read(&config.next)?);
        let round = Round::of(&next)?;
        check_initialize(&initialize, &round, &next)?;
        let what = || format!("{}: the data of the clients, that of {}", next.name, training_next.name);
        check(&round.clients_ty, &training.clients_ty, what)?;
        let get_model_weights = Loaded::read(&config.get_model_weights)?;
        let set_model_weights = Loaded::read(&config.set_model_weights)?;
        let weights = check_get_weights(&get_model_weights, training, training_next)?;
        check_set_weights(&set_model_weights, &weights, &round, &get_model_weights)?;
        Ok(Self { initialize, next, get_model_weights, set_model_weights, round })
    }

    fn prepare(&self, executor: &Executor) -> Result<PreparedEvaluation> {
        Ok(PreparedEvaluation {
            initialize: self.initialize.prepare(executor)?,
            next: self.next.prepare(executor)?,
            get_model_weights: self.get_model_weights.prepare(executor)?,
            set_model_weights: self.set_model_weights.prepare(executor)?,
            round: self.round.clone(),
        })
    }
}

/// Checks `( -> S@SERVER)`.
fn check_initialize(initialize: &Loaded, round: &Round, next: &Loaded) -> Result<()> {
    let function = initialize.function()?;
    if function.parameter.is_some() {
        bail!(initialize.expected("a function without a parameter"));
    }
    let what = || format!("{}: the state that it returns, for {}", initialize.name, next.name);
    check(&round.state_ty, &function.result, what)
}

/// Checks `(S -> W)` and returns `W`.
fn check_get_weights(get: &Loaded, training: &Round, next: &Loaded) -> Result<Type> {
    let function = get.function()?;
    let parameter = function.parameter.as_ref().with_context(|| get.expected("a function of the training state"))?;
    check(parameter, &training.state_member, || format!("{}: its parameter, the state of {}", get.name, next.name))?;
    Ok(function.result.clone())
}

/// Checks `(<E,W> -> E)`.
fn check_set_weights(set: &Loaded, weights: &Type, round: &Round, get: &Loaded) -> Result<()> {
    let function = set.function()?;
    let expected = || set.expected("a function of the evaluation state and the weights, (<E,W> -> E)");
    let parameter = function.parameter.as_ref().and_then(Type::as_struct).with_context(expected)?;
    let [state_ty, weights_ty] = parameter.elements() else { bail!(expected()) };
    check(&state_ty.ty, &round.state_member, || {
        format!("{}: its first parameter, the state of the evaluation", set.name)
    })?;
    check(&weights_ty.ty, weights, || {
        format!("{}: its second parameter, the weights that {} returns", set.name, get.name)
    })?;
    check(&round.state_member, &function.result, || format!("{}: its result, the state of the evaluation", set.name))
}
