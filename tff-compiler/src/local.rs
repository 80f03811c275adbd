//! Local computations as TensorFlow graphs.

use crate::error::{PassError, Problem};
use crate::free_names::FreeNames;
use crate::graph::{GraphBuilder, Wire};
use std::rc::Rc;
use std::sync::Arc;
use tff_ir::{Binder, Call, Comp, CompKind, CompiledComputation, NodeMap, Scope, Walk, with_stack};
use tff_types::Type;

/// The lambdas that call graphs and can become one graph: they refer to no name they do
/// not bind, and consist of graphs, constants, structs and names only.
pub(crate) fn local_lambdas(comp: &Comp) -> NodeMap<()> {
    let mut found = NodeMap::default();
    collect(comp, &FreeNames::new(comp).of_lambdas, &mut found);
    found
}

/// What a computation consists of.
#[derive(Clone, Copy)]
struct Contents {
    has_graph: bool,
    is_local: bool,
}

fn collect(comp: &Comp, free: &NodeMap<Rc<[Arc<str>]>>, found: &mut NodeMap<()>) -> Contents {
    with_stack(|| {
        let is_graph = matches!(comp.as_compiled(), Some(CompiledComputation::TensorFlow(_)));
        let mut contents = Contents { has_graph: is_graph, is_local: is_local_node(comp) };
        for child in comp.children() {
            let child = collect(child, free, found);
            contents.has_graph |= child.has_graph;
            contents.is_local &= child.is_local;
        }
        let is_closed = || free.get(comp).is_some_and(|names| names.is_empty());
        if contents.has_graph && contents.is_local && comp.as_lambda().is_some() && is_closed() && is_of_tensors(comp) {
            found.insert(comp, ());
        }
        contents
    })
}

fn is_of_tensors(function: &Comp) -> bool {
    function.ty().as_function().is_some_and(|ty| {
        ty.result.is_tensorflow_compatible() && ty.parameter.as_ref().is_none_or(Type::is_tensorflow_compatible)
    })
}

fn is_local_node(comp: &Comp) -> bool {
    match comp.kind() {
        CompKind::Intrinsic(_) | CompKind::Data(_) | CompKind::Placement(_) => false,
        CompKind::CompiledComputation(compiled) => matches!(compiled, CompiledComputation::TensorFlow(_)),
        CompKind::Reference(_) | CompKind::Lambda(_) => true,
        _ => !comp.ty().contains_function() && !comp.ty().contains_federated() && !comp.ty().contains_abstract(),
    }
}

/// A function as one graph; a graph stays as it is. A computation that is no function becomes the
/// result of a graph without parameter: `( -> T)` in place of `T`.
///
/// Each call becomes a copy of the graph that is called.
///
/// # Errors
/// [`Problem::NotLocal`] with the part that cannot be in a graph, and what building graphs says.
pub(crate) fn compile_to_graph(comp: &Comp) -> Result<Comp, PassError> {
    let mut graph = Graph { builder: GraphBuilder::new(), scope: Scope::default() };
    let result = match comp.kind() {
        CompKind::CompiledComputation(CompiledComputation::TensorFlow(_)) => return Ok(comp.clone()),
        CompKind::Lambda(lambda) => {
            if let Some(parameter) = &lambda.parameter {
                let wire = graph.builder.parameter(&parameter.ty).map_err(|error| PassError::at(comp, error))?;
                graph.scope.bind(&*parameter.name, wire);
            }
            &lambda.result
        }
        _ => comp,
    };
    let wire = graph.walk(result)?;
    graph.builder.finish(&wire).map_err(|error| PassError::at(comp, error))
}

/// A graph in the making.
struct Graph<'c> {
    builder: GraphBuilder,
    scope: Scope<Wire, &'c str>,
}

impl<'c> Walk<'c> for Graph<'c> {
    type Value = Wire;
    type Error = PassError;

    fn bind(&mut self, binder: Binder<'c>, value: Option<&Wire>) {
        // Only blocks are walked, and each of their locals has a value.
        value.into_iter().for_each(|wire| self.scope.bind(&**binder.name(), wire.clone()));
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.scope.unbind(binder.name());
    }

    fn comp(&mut self, comp: &'c Comp) -> Result<Wire, PassError> {
        let not_local = |what: String| PassError::at(comp, Problem::NotLocal { what });
        match comp.kind() {
            CompKind::Reference(reference) => {
                let wire = self.scope.get(&reference.name).cloned();
                wire.ok_or_else(|| not_local(format!("the name `{}`, which is bound outside,", reference.name)))
            }
            CompKind::Selection(selection) => {
                let source = self.walk(&selection.source)?;
                source.element(selection.index).map_err(|error| PassError::at(comp, error))
            }
            CompKind::Struct(structure) => {
                let elements = structure.elements.iter();
                let elements = elements.map(|it| Ok((it.name.clone(), self.walk(&it.value)?)));
                let elements = elements.collect::<Result<Vec<(Option<Arc<str>>, Wire)>, PassError>>()?;
                Wire::structure(elements).map_err(|error| PassError::at(comp, error))
            }
            CompKind::Block(_) => self.last(comp)?.ok_or_else(|| not_local("a block without a result".to_owned())),
            CompKind::Literal(literal) => {
                self.builder.constant(&literal.array).map_err(|error| PassError::at(comp, error))
            }
            CompKind::Call(call) => self.call(comp, call),
            CompKind::Intrinsic(intrinsic) => Err(not_local(format!("the intrinsic {}", intrinsic.uri()))),
            CompKind::Lambda(_) => Err(not_local("a function that is not called".to_owned())),
            CompKind::CompiledComputation(_) => {
                Err(not_local(format!("the uncalled {} computation", comp.kind_name())))
            }
            CompKind::Data(_) | CompKind::Placement(_) => Err(not_local(comp.kind_name().to_owned())),
        }
    }
}

impl<'c> Graph<'c> {
    fn call(&mut self, comp: &'c Comp, call: &'c Call) -> Result<Wire, PassError> {
        let argument = call.argument.as_ref().map(|argument| self.walk(argument)).transpose()?;
        let function = &call.function;
        match (function.kind(), function.ty().as_function()) {
            (CompKind::CompiledComputation(CompiledComputation::TensorFlow(body)), Some(ty)) => {
                self.builder.call(body, ty, argument.as_ref()).map_err(|error| PassError::at(comp, error))
            }
            _ => {
                let what = match function.as_intrinsic() {
                    Some(intrinsic) => format!("the intrinsic {}", intrinsic.uri()),
                    None if function.as_compiled().is_some() => {
                        format!("a call of a computation in {}", function.kind_name())
                    }
                    None => format!("a call of a {}", function.kind_name()),
                };
                Err(PassError::at(function, Problem::NotLocal { what }))
            }
        }
    }
}
