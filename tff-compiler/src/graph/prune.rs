//! Dropping what a graph does not need to compute its result.

use super::binding::leaves;
use super::def::Input;
use super::error::GraphError;
use super::library::Library;
use super::read::{Index, init_root, pack, retain, unpack};
use tff_ir::TensorFlow;
use tff_types::Type;

/// The same computation without the nodes and functions that its result and its initialization do
/// not need. The nodes that the argument is fed to stay. `ty` is the function type.
///
/// # Errors
/// A [`GraphError`] where the graph is none, or a binding does not fit.
pub fn prune(comp: &TensorFlow, ty: &Type) -> Result<TensorFlow, GraphError> {
    let function = ty.as_function().ok_or_else(|| GraphError::NotAFunction { ty: ty.clone() })?;
    let mut graph = unpack(&comp.graph)?;
    let mut bound = leaves("result", &function.result, &comp.result)?;
    match (&function.parameter, &comp.parameter) {
        (Some(ty), Some(binding)) => bound.extend(leaves("parameter", ty, binding)?),
        (None, None) => {}
        _ => return Err(GraphError::Binding { side: "parameter", ty: ty.clone() }),
    }
    let mut roots: Vec<_> = bound.iter().map(|leaf| ("a binding", leaf.tensor.node.as_ref())).collect();
    roots.extend(init_root(comp));
    let index = Index::new(&graph.node)?;
    let token = Input::parse(&comp.session_token).map(Input::node);
    roots.extend(token.filter(|token| index.get(token).is_some()).map(|token| ("the session token", token)));
    let needed = index.needed(roots, &mut |_| false)?;
    graph.node = retain(graph.node, &needed);
    let mut library = Library::read(graph.library.take())?;
    library.retain_called_by(&graph.node);
    graph.library = library.to_proto();
    graph.debug_info = None;
    Ok(TensorFlow { graph: pack(&graph)?, cache_key: 0, ..comp.clone() })
}

#[cfg(test)]
mod tests {
    use super::prune;
    use crate::graph::dump::{dump, parse, tensorflow};
    use std::sync::Arc;
    use tff_ir::{Comp, CompiledComputation};

    #[test]
    fn what_the_result_and_the_initialization_need_stays() {
        let comp = parse(
            "(<int32,int32> -> int32)
            <a:0,b:0> -> x:0 init start token token:0
            a = Placeholder() dtype=int32
            b = Placeholder() dtype=int32
            token = Placeholder() dtype=string
            waits = NoOp()
            x = AddV2(a, one:1, ^waits) _class=[loc:@one,loc:@dead]
            one = Call() f=@used
            dead = Call(x) f=@dead
            start = NoOp(^v)
            v = Op()
            used:
            y = deeper(x)
            deeper:
            y = Neg(x)
            dead:
            y = deeper(x)",
        );
        let pruned = prune(tensorflow(&comp), comp.ty()).unwrap();
        let comp = Comp::compiled(CompiledComputation::TensorFlow(Arc::new(pruned)), comp.ty().clone()).unwrap();
        insta::assert_snapshot!(dump(&comp), @"
        (<int32,int32> -> int32)
        <a:0,b:0> -> x:0 init start token token:0
        a = Placeholder() dtype=int32
        b = Placeholder() dtype=int32
        token = Placeholder() dtype=string
        waits = NoOp()
        x = AddV2(a, one:1, ^waits) _class=[loc:@one]
        one = Call() f=@used
        start = NoOp(^v)
        v = Op()
        deeper:
          y = Neg(x)
        used:
          y = deeper(x)
        ");
    }

    #[test]
    fn a_graph_that_is_none() {
        let comp = parse("( -> <>)\n -> <>");
        let mut broken = tensorflow(&comp).as_ref().clone();
        broken.graph.value = bytes::Bytes::from_static(b"\x0a\xff");
        let error = prune(&broken, comp.ty()).unwrap_err();
        insta::assert_snapshot!(format!("{error}: {}", std::error::Error::source(&error).unwrap()), @"the computation holds no graph: tensorflow.GraphDef is cut off at byte 2, inside a field");
        broken.graph.type_url = "type.googleapis.com/xla.HloModuleProto".into();
        let error = prune(&broken, comp.ty()).unwrap_err();
        insta::assert_snapshot!(format!("{error}: {}", std::error::Error::source(&error).unwrap()), @r#"the computation holds no graph: expected a message of type tensorflow.GraphDef, found "type.googleapis.com/xla.HloModuleProto""#);
    }
}
