//! Types and computations in text, with graphs and modules under short labels.

use prost::Message;
use std::sync::Arc;
use tff_ir::text::{Environment, parse};
use tff_ir::{Comp, CompiledComputation, Opaque, TensorFlow, Xla, XlaBinding};
use tff_types::Type;

/// The type that a text says.
#[must_use]
#[track_caller]
pub fn ty(text: &str) -> Type {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The computation that a text says.
#[must_use]
#[track_caller]
pub fn comp(text: &str) -> Comp {
    comp_with(text, &[])
}

/// The computation that a text says, in which `comp#LABEL` stands for one of these.
#[must_use]
#[track_caller]
pub fn comp_with(text: &str, bodies: &[(&str, Comp)]) -> Comp {
    parse(text, &environment(bodies)).unwrap_or_else(|error| panic!("{text}: {error}")).comp
}

/// What labels in a text stand for: `comp#LABEL` for each of these.
#[must_use]
#[track_caller]
pub fn environment(bodies: &[(&str, Comp)]) -> Environment {
    let mut environment = Environment::default();
    for (label, comp) in bodies {
        environment.bodies.insert_comp(*label, comp.to_proto().unwrap().encode_to_vec().into());
    }
    environment
}

/// A module of type `(int32 -> int32)`, for tests that do not look into it.
#[must_use]
#[track_caller]
pub fn module() -> Comp {
    let hlo_module = Opaque { type_url: "type.googleapis.com/xla.HloModuleProto".into(), value: vec![1, 2, 3].into() };
    let xla = Xla { hlo_module, parameter: Some(XlaBinding::Tensor(0)), result: XlaBinding::Tensor(0) };
    Comp::compiled(CompiledComputation::Xla(Arc::new(xla)), ty("(int32 -> int32)")).unwrap()
}

/// The graph that a computation is.
#[must_use]
#[track_caller]
pub fn graph(comp: &Comp) -> &Arc<TensorFlow> {
    let Some(CompiledComputation::TensorFlow(graph)) = comp.as_compiled() else { panic!("{comp} is not a graph") };
    graph
}

/// A graph of the same type with something else in it.
#[must_use]
#[track_caller]
pub fn with_graph(comp: &Comp, change: impl FnOnce(&mut TensorFlow)) -> Comp {
    let mut changed = graph(comp).as_ref().clone();
    change(&mut changed);
    Comp::compiled(CompiledComputation::TensorFlow(Arc::new(changed)), comp.ty().clone()).unwrap()
}
