//! Switching off the rewriting of functions at run time.
//!
//! TensorFlow optimizes the body of a function when a call op first runs it, in every session anew.
//! A compiled graph gains nothing from that, and pays for it at each start.

use super::error::GraphError;
use super::library::Library;
use super::read::{pack, unpack};
use prost::Message;
use tff_ir::TensorFlow;
use tff_proto::tensorflow as tf;
use tff_proto::tensorflow::attr_value::Value;
use tff_proto::{Limits, decode};

const ATTR: &str = "config_proto";

/// The same computation with rewriting switched off in every `PartitionedCall` and
/// `StatefulPartitionedCall`, those in functions included; `None` where that is so already.
///
/// # Errors
/// [`GraphError::NotAGraph`], [`GraphError::Config`], [`GraphError::DuplicateFunction`].
pub fn disable_call_rewriting(comp: &TensorFlow) -> Result<Option<TensorFlow>, GraphError> {
    let mut graph = unpack(&comp.graph)?;
    let mut changed = false;
    for node in &mut graph.node {
        changed |= disable(node)?;
    }
    let registered = graph.library.as_mut().map(|library| std::mem::take(&mut library.registered_gradients));
    let mut library = Library::read(graph.library.take())?;
    changed |= library.rewrite_nodes(&mut disable)?;
    if !changed {
        return Ok(None);
    }
    graph.library = library.to_proto();
    if let (Some(library), Some(registered)) = (&mut graph.library, registered) {
        library.registered_gradients = registered;
    }
    Ok(Some(TensorFlow { graph: pack(&graph)?, cache_key: None, ..comp.clone() }))
}

/// Returns whether the node changed.
fn disable(node: &mut tf::NodeDef) -> Result<bool, GraphError> {
    if !matches!(node.op.as_str(), "PartitionedCall" | "StatefulPartitionedCall") {
        return Ok(false);
    }
    let attr = node.attr.entry(ATTR.to_owned()).or_default();
    let config = match &attr.value {
        Some(Value::S(bytes)) => bytes.clone(),
        _ => bytes::Bytes::new(),
    };
    let decoded: tf::ConfigProto =
        decode(&config, &Limits::default()).map_err(|source| GraphError::Config { node: node.name.clone(), source })?;
    let options = decoded.graph_options.and_then(|options| options.rewrite_options);
    if options.is_some_and(|options| options.disable_meta_optimizer) {
        return Ok(false);
    }
    // Messages merge where their bytes are joined. What our messages do not know stays as it is.
    let addition = tf::ConfigProto {
        graph_options: Some(tf::GraphOptions {
            rewrite_options: Some(tf::RewriterConfig { disable_meta_optimizer: true, ..Default::default() }),
            ..Default::default()
        }),
        ..Default::default()
    };
    attr.value = Some(Value::S([config.as_ref(), &addition.encode_to_vec()].concat().into()));
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::disable_call_rewriting;
    use crate::graph::dump::{dump, parse, tensorflow};
    use std::sync::Arc;
    use tff_ir::{Comp, CompiledComputation};

    #[test]
    fn every_call_op_gets_the_option() {
        let comp = parse(
            "( -> int32)
             -> a:0
            a = PartitionedCall() f=@f
            b = StatefulPartitionedCall() config_proto=\"\u{10}\u{5}\" f=@f
            c = Neg(a)
            f:
            d = PartitionedCall(x) config_proto=\"\"",
        );
        let changed = disable_call_rewriting(tensorflow(&comp)).unwrap().unwrap();
        assert_eq!(disable_call_rewriting(&changed).unwrap(), None);
        let comp = Comp::compiled(CompiledComputation::TensorFlow(Arc::new(changed)), comp.ty().clone()).unwrap();
        insta::assert_snapshot!(dump(&comp), @r#"
        ( -> int32)
         -> a:0
        a = PartitionedCall() config_proto="R\u{5}R\u{3}�\u{1}\u{1}" f=@f
        b = StatefulPartitionedCall() config_proto="\u{10}\u{5}R\u{5}R\u{3}�\u{1}\u{1}" f=@f
        c = Neg(a)
        f:
          d = PartitionedCall(x) config_proto="R\u{5}R\u{3}�\u{1}\u{1}"
        "#);
    }

    #[test]
    fn a_config_that_is_none() {
        let comp = parse("( -> int32)\n -> a:0\na = PartitionedCall() config_proto=\"zz\"");
        insta::assert_snapshot!(disable_call_rewriting(tensorflow(&comp)).unwrap_err(), @"the config of the node `a` is not a ConfigProto");
    }
}
