//! A computation that is ready to be called: its graph imported, its bindings checked.

use super::binding::{Endpoint, Fed, Parameter, Slot};
use super::ffi::{Api, Graph, Native, NativeSession, Operation, Port};
use super::graph::{self, TensorName};
use super::pool::Sessions;
use super::reduce::reductions_to_loops;
use super::session;
use super::state::State;
use super::status::LEAF;
use super::watch::Watch;
use crate::leaf::Until;
use crate::{ExecError, LeafError, Place, Tensor, Value};
use bytes::Bytes;
use prost::Message;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use tff_types::{DType, FunctionType, Path};

/// A TensorFlow computation that is ready to be called.
pub(super) struct Callable {
    library: &'static Api,
    parameter: Parameter,
    result: Slot,
    /// Where the endpoints of the parameter are fed, in their order.
    feeds: Vec<Port>,
    /// The tensors that are fetched, each once.
    fetches: Vec<Port>,
    /// Where each endpoint of the result comes from.
    sources: Vec<Source>,
    initialize: Option<Operation>,
    token: Option<(Port, Native)>,
    sessions: Sessions,
    watch: Arc<Watch>,
}

/// Where a tensor of the result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// It is this one of the fetched tensors.
    Fetched(usize),
    /// It is this endpoint of the argument: TensorFlow refuses to fetch what is fed.
    Argument(usize),
}

impl Callable {
    /// Checks the bindings against the type, completes the graph and imports it.
    ///
    /// # Errors
    /// [`ExecError::Prepare`] for everything that is wrong with the graph, the bindings or both.
    pub(super) fn new(
        library: &'static Api,
        comp: &tff_ir::TensorFlow,
        ty: &FunctionType,
        watch: Arc<Watch>,
    ) -> Result<Self, ExecError> {
        let mut fed = Vec::new();
        let parameter = Parameter::bind(comp.parameter.as_ref(), ty.parameter.as_ref(), &mut fed)?;
        let mut fetched = Vec::new();
        let result = Slot::bind(&comp.result, &ty.result, &Place::Binding("result", Path::root()), &mut fetched)?;

        let mut def = graph::decode(&comp.graph)?;
        let mut changed = graph::serialize_datasets(&mut def, &fed, &mut fetched)?;
        changed |= reductions_to_loops(&mut def);
        let state = State::of(library, &def).map_err(|failure| LEAF.refuses(failure.into()))?;
        let mut destroyers = Vec::new();
        if let State::Variables(variables) = &state {
            destroyers = graph::destroy(&mut def, variables);
            changed = true;
        }
        let bytes = if changed { Bytes::from(def.encode_to_vec()) } else { comp.graph.value.clone() };
        let graph = import(library, &bytes)?;

        let mut indices = BTreeMap::new();
        let mut feeds = Vec::with_capacity(fed.len());
        for (index, endpoint) in fed.iter().enumerate() {
            if indices.insert(endpoint.name.clone(), Source::Argument(index)).is_some() {
                let reason = format!("two parts of the parameter are bound to `{}`", endpoint.name);
                return Err(LEAF.misbound(reason).at(endpoint.place.clone()));
            }
            feeds.push(port(&graph, endpoint)?);
        }
        let mut fetches = Vec::new();
        let mut sources = Vec::with_capacity(fetched.len());
        for endpoint in &fetched {
            let port = port(&graph, endpoint)?;
            let source = *indices.entry(endpoint.name.clone()).or_insert_with(|| {
                fetches.push(port);
                Source::Fetched(fetches.len() - 1)
            });
            sources.push(source);
        }
        let initialize = match &*comp.initialize_op {
            "" => None,
            name => {
                Some(operation(&graph, name).map_err(|error| error.at(Place::Binding("initialize_op", Path::root())))?)
            }
        };
        let token = token(library, &graph, &comp.session_token)?;
        let sessions = match state {
            State::None => {
                let session = session::open(&graph).map_err(|failure| LEAF.refuses(failure.into()))?;
                Sessions::Shared { graph, session: Mutex::new(Arc::new(session)) }
            }
            State::Variables(_) => {
                let destroyers = destroyers.iter().map(|name| operation(&graph, name)).collect::<Result<_, _>>()?;
                Sessions::Reset { graph, free: Mutex::default(), destroyers }
            }
            State::Other => Sessions::New(graph),
        };
        Ok(Self { library, parameter, result, feeds, fetches, sources, initialize, token, sessions, watch })
    }

    /// Calls it with an argument that was checked and taken apart.
    pub(super) fn call_with_tensors(&self, argument: &[Tensor], until: &Until) -> Result<Value, ExecError> {
        let natives = argument.iter().map(|tensor| native(self.library, tensor));
        self.finish(&natives.collect::<Result<Vec<_>, _>>()?, until)
    }

    fn finish(&self, natives: &[Arc<Native>], until: &Until) -> Result<Value, ExecError> {
        // A result without tensors, or of the argument's own, needs no run.
        let fetched = if self.fetches.is_empty() { Vec::new() } else { self.run(natives, until)? };
        let fetched: Vec<Arc<Native>> = fetched.into_iter().map(Arc::new).collect();
        self.result.build(&mut |endpoint| {
            let native = self.sources.get(endpoint).and_then(|source| match *source {
                Source::Fetched(index) => fetched.get(index),
                Source::Argument(index) => natives.get(index),
            });
            let native = native.ok_or_else(|| LEAF.gave("a result is missing"))?;
            Ok(Tensor::with_native(native.to_array()?, native.clone()))
        })
    }

    fn run(&self, argument: &[Arc<Native>], until: &Until) -> Result<Vec<Native>, ExecError> {
        let token = self.token.iter().map(|(port, native)| (port, native));
        let feeds = self.feeds.iter().zip(argument.iter().map(|native| &**native)).chain(token);
        let run = |session: &NativeSession| {
            if let Some(initialize) = &self.initialize {
                session::run(session, feeds.clone(), &[initialize], &[])?;
            }
            session::run(session, feeds.clone(), &[], &self.fetches)
        };
        self.sessions.with(&self.watch, until, run).map_err(|failure| match until.check() {
            Ok(()) => LEAF.failed(failure.into()),
            Err(ended) => ended,
        })
    }
}

impl Callable {
    /// Calls it, until it is no longer needed.
    pub(super) fn call(&self, argument: Option<Value>, until: &Until) -> Result<Value, ExecError> {
        let mut natives = Vec::with_capacity(self.feeds.len());
        self.parameter.collect(argument, &mut |fed| {
            natives.push(match fed {
                Fed::Tensor(tensor) => native(self.library, &tensor)?,
                Fed::Sequence(sequence) => Arc::new(Native::from_string(self.library, sequence.dataset()?)?),
            });
            Ok(())
        })?;
        self.finish(&natives, until)
    }
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callable")
            .field("leaf", &LEAF.0)
            .field("feeds", &self.feeds.len())
            .field("fetches", &self.fetches.len())
            .field("keeps_state", &!matches!(self.sessions, Sessions::Shared { .. }))
            .finish_non_exhaustive()
    }
}

/// Imports a graph.
pub(super) fn import(library: &'static Api, bytes: &[u8]) -> Result<Graph, ExecError> {
    Graph::import(library, bytes).map_err(|failure| LEAF.refuses(failure.into()))
}

/// The op of this name.
pub(super) fn operation(graph: &Graph, name: &str) -> Result<Operation, ExecError> {
    graph.operation(name).ok_or_else(|| LEAF.refuses(LeafError::UnknownOp(name.to_owned())))
}

/// The tensor that an endpoint is bound to, checked to be of its element type.
fn port(graph: &Graph, endpoint: &Endpoint) -> Result<Port, ExecError> {
    let find = || {
        let TensorName { op, index } = &endpoint.name;
        let found = operation(graph, op)?.output(*index);
        let (port, number) = found.ok_or_else(|| LEAF.misbound(format!("the op `{op}` has no output {index}")))?;
        if number == endpoint.dtype.number() || number == endpoint.dtype.number() + REFERENCE {
            return Ok(port);
        }
        let found = DType::from_number(number).map_or_else(|| format!("type {number}"), |dtype| dtype.to_string());
        Err(LEAF.misbound(format!("the tensor `{}` is of {found}, not of {}", endpoint.name, endpoint.dtype)))
    };
    find().map_err(|error: ExecError| error.at(endpoint.place.clone()))
}

/// What TensorFlow adds to the number of an element type for a variable of it, in graphs of
/// TensorFlow 1: fetched, it is a tensor.
const REFERENCE: i32 = 100;

/// The tensor in TensorFlow's memory.
fn native(library: &'static Api, tensor: &Tensor) -> Result<Arc<Native>, ExecError> {
    Ok(tensor.native(|_| true, |array| Native::from_array(library, array))?)
}

/// What is fed as the token of the session. Custom ops look up what the runner of the session
/// keeps under it: here nothing, and the empty token says so. It is the same in every run.
fn token(library: &'static Api, graph: &Graph, name: &str) -> Result<Option<(Port, Native)>, ExecError> {
    if name.is_empty() {
        return Ok(None);
    }
    let name = TensorName::parse(name).ok_or_else(|| LEAF.misbound(format!("`{name}` names no tensor")))?;
    let endpoint =
        Endpoint { name, dtype: DType::String, dataset: None, place: Place::Binding("session_token", Path::root()) };
    Ok(Some((port(graph, &endpoint)?, Native::from_string(library, Bytes::new())?)))
}
