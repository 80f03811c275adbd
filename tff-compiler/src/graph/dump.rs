//! Graphs as text, for tests.

use super::prune::unpack;
use std::fmt::Write;
use tff_ir::{Comp, CompiledComputation, SequenceBinding, TensorFlow, TensorFlowBinding};
use tff_proto::tensorflow as tf;
use tff_proto::tensorflow::attr_value::Value;

/// The TensorFlow computation that a node is.
pub(crate) fn tensorflow(comp: &Comp) -> &std::sync::Arc<TensorFlow> {
    match comp.as_compiled() {
        Some(CompiledComputation::TensorFlow(tensorflow)) => tensorflow,
        _ => panic!("{comp} is no graph"),
    }
}

/// One line for each node, `name = Op(inputs) attr=value`, after a line for the bindings.
pub(crate) fn dump(comp: &Comp) -> String {
    let tensorflow = tensorflow(comp);
    let graph = unpack(&tensorflow.graph).unwrap();
    let mut text = format!("{}\n", comp.ty());
    let parameter = tensorflow.parameter.as_ref().map(binding).unwrap_or_default();
    write!(text, "{parameter} -> {}", binding(&tensorflow.result)).unwrap();
    for (what, name) in [("init", &tensorflow.initialize_op), ("token", &tensorflow.session_token)] {
        if !name.is_empty() {
            write!(text, " {what} {name}").unwrap();
        }
    }
    text.push('\n');
    nodes(&mut text, "", &graph.node);
    let library = graph.library.unwrap_or_default();
    for function in &library.function {
        writeln!(text, "{}:", function.signature.as_ref().unwrap().name).unwrap();
        nodes(&mut text, "  ", &function.node_def);
    }
    for gradient in &library.gradient {
        writeln!(text, "gradient of {}: {}", gradient.function_name, gradient.gradient_func).unwrap();
    }
    text
}

fn nodes(text: &mut String, indent: &str, nodes: &[tf::NodeDef]) {
    for node in nodes {
        write!(text, "{indent}{} = {}({})", node.name, node.op, node.input.join(", ")).unwrap();
        for (name, value) in &node.attr {
            write!(text, " {name}={}", attr(value)).unwrap();
        }
        text.push('\n');
    }
}

fn attr(attr: &tf::AttrValue) -> String {
    let shape = |shape: &tf::TensorShapeProto| match shape.unknown_rank {
        true => "?".to_owned(),
        false => format!("{:?}", shape.dim.iter().map(|dim| dim.size).collect::<Vec<_>>()),
    };
    let dtype = |number: &i32| tf::DataType::try_from(*number).unwrap().as_str_name()["DT_".len()..].to_lowercase();
    match attr.value.as_ref() {
        None => String::new(),
        Some(Value::S(bytes)) => format!("{:?}", String::from_utf8_lossy(bytes)),
        Some(Value::I(value)) => value.to_string(),
        Some(Value::F(value)) => value.to_string(),
        Some(Value::B(value)) => value.to_string(),
        Some(Value::Type(number)) => dtype(number),
        Some(Value::Shape(value)) => shape(value),
        Some(Value::Tensor(tensor)) => tensor_text(tensor, &shape(&tensor.tensor_shape.clone().unwrap_or_default())),
        Some(Value::Func(function)) => format!("@{}", function.name),
        Some(Value::Placeholder(name)) => format!("${name}"),
        Some(Value::List(list)) => {
            let strings = list.s.iter().map(|it| String::from_utf8_lossy(it).into_owned());
            let types = list.r#type.iter().map(dtype);
            let functions = list.func.iter().map(|it| format!("@{}", it.name));
            format!("[{}]", strings.chain(types).chain(functions).collect::<Vec<_>>().join(","))
        }
    }
}

fn tensor_text(tensor: &tf::TensorProto, shape: &str) -> String {
    let mut parts = Vec::new();
    if !tensor.tensor_content.is_empty() {
        parts.push(format!("{:?}", tensor.tensor_content.as_ref()));
    }
    parts.extend(tensor.int_val.iter().map(ToString::to_string));
    parts.extend(tensor.int64_val.iter().map(ToString::to_string));
    parts.extend(tensor.uint32_val.iter().map(ToString::to_string));
    parts.extend(tensor.uint64_val.iter().map(ToString::to_string));
    parts.extend(tensor.half_val.iter().map(|it| format!("{it:#x}")));
    parts.extend(tensor.float_val.iter().map(|it| format!("{it:?}")));
    parts.extend(tensor.double_val.iter().map(|it| format!("{it:?}")));
    parts.extend(tensor.scomplex_val.iter().map(|it| format!("{it:?}")));
    parts.extend(tensor.dcomplex_val.iter().map(|it| format!("{it:?}")));
    parts.extend(tensor.bool_val.iter().map(ToString::to_string));
    parts.extend(tensor.string_val.iter().map(|it| format!("{:?}", String::from_utf8_lossy(it))));
    format!("{{{shape} {}}}", parts.join(" "))
}

fn binding(binding_: &TensorFlowBinding) -> String {
    match binding_ {
        TensorFlowBinding::Struct(elements) => {
            format!("<{}>", elements.iter().map(binding).collect::<Vec<_>>().join(","))
        }
        TensorFlowBinding::Tensor(name) => name.to_string(),
        TensorFlowBinding::Sequence(SequenceBinding::Variant(name)) => format!("{name}*"),
        TensorFlowBinding::Sequence(SequenceBinding::GraphDef(name)) => format!("{name} graph"),
    }
}
