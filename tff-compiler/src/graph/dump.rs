//! Graphs as text, for tests: what [`dump`] prints, [`parse`] reads.

use super::read::{pack, unpack};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use tff_ir::{Comp, CompiledComputation, SequenceBinding, TensorFlow, TensorFlowBinding};
use tff_proto::tensorflow as tf;
use tff_proto::tensorflow::attr_value::{ListValue, Value};

/// The TensorFlow computation that a node is.
pub(crate) fn tensorflow(comp: &Comp) -> &Arc<TensorFlow> {
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
        TensorFlowBinding::Sequence(SequenceBinding::GraphDef(name)) => format!("{name}!"),
    }
}

/// Reads the function type, the bindings, nodes, and functions, each after a line `name:`.
#[track_caller]
pub(crate) fn parse(text: &str) -> Comp {
    let mut lines = text.trim().lines().map(str::trim);
    let ty = lines.next().unwrap().parse().unwrap();
    let (parameter, rest) = lines.next().unwrap().split_once("->").unwrap();
    let mut rest = rest.split_whitespace();
    let result = parse_binding(&mut rest.next().unwrap().chars().peekable());
    let named: BTreeMap<_, _> = std::iter::from_fn(|| Some((rest.next()?, rest.next()?))).collect();
    let name = |what| Arc::from(named.get(what).copied().unwrap_or_default());
    let mut graph = tf::GraphDef::default();
    let library = graph.library.get_or_insert_default();
    for line in lines {
        if let Some(gradient) = line.strip_prefix("gradient of ") {
            let (name, gradient) = gradient.split_once(": ").unwrap();
            library.gradient.push(tf::GradientDef { function_name: name.into(), gradient_func: gradient.into() });
        } else if let Some(name) = line.strip_suffix(':') {
            let signature = Some(tf::OpDef { name: name.to_owned(), ..tf::OpDef::default() });
            library.function.push(tf::FunctionDef { signature, ..tf::FunctionDef::default() });
        } else {
            let nodes = library.function.last_mut().map_or(&mut graph.node, |function| &mut function.node_def);
            nodes.push(parse_node(line));
        }
    }
    let parameter = parameter.trim();
    let tensorflow = TensorFlow {
        graph: pack(&graph).unwrap(),
        parameter: (!parameter.is_empty()).then(|| parse_binding(&mut parameter.chars().peekable())),
        result,
        initialize_op: name("init"),
        session_token: name("token"),
        cache_key: None,
        layout_map: None,
    };
    Comp::compiled(CompiledComputation::TensorFlow(Arc::new(tensorflow)), ty).unwrap()
}

fn parse_binding(text: &mut std::iter::Peekable<std::str::Chars<'_>>) -> TensorFlowBinding {
    let mut elements = Vec::new();
    if text.next_if_eq(&'<').is_none() {
        let mut name = String::new();
        while let Some(char) = text.next_if(|char| !",>*!".contains(*char)) {
            name.push(char);
        }
        return match text.next_if(|char| "*!".contains(*char)) {
            Some('*') => TensorFlowBinding::Sequence(SequenceBinding::Variant(name.into())),
            Some(_) => TensorFlowBinding::Sequence(SequenceBinding::GraphDef(name.into())),
            None => TensorFlowBinding::Tensor(name.into()),
        };
    }
    while text.next_if_eq(&'>').is_none() {
        elements.push(parse_binding(text));
        text.next_if_eq(&',');
    }
    TensorFlowBinding::Struct(elements)
}

fn parse_node(line: &str) -> tf::NodeDef {
    let (name, rest) = line.split_once(" = ").unwrap();
    let (op, rest) = rest.split_once('(').unwrap();
    let (inputs, attrs) = rest.split_once(')').unwrap();
    let attr = |text: &str| {
        let (name, value) = text.split_once('=').unwrap();
        (name.to_owned(), tf::AttrValue { value: Some(parse_attr(value)) })
    };
    tf::NodeDef {
        name: name.to_owned(),
        op: op.to_owned(),
        input: inputs.split(", ").filter(|input| !input.is_empty()).map(str::to_owned).collect(),
        attr: attrs.split_whitespace().map(attr).collect(),
        ..tf::NodeDef::default()
    }
}

fn parse_attr(text: &str) -> Value {
    let function = |name: &str| tf::NameAttrList { name: name.to_owned(), ..tf::NameAttrList::default() };
    if let Some(name) = text.strip_prefix('@') {
        Value::Func(function(name))
    } else if let Some(text) = text.strip_prefix('"') {
        Value::S(text.trim_end_matches('"').to_owned().into())
    } else if let Some(text) = text.strip_prefix('[') {
        let parts = text.trim_end_matches(']').split(',').filter(|part| !part.is_empty());
        let (functions, strings): (Vec<_>, Vec<_>) = parts.partition(|part| part.starts_with('@'));
        Value::List(Box::new(ListValue {
            s: strings.into_iter().map(|part| part.to_owned().into()).collect(),
            func: functions.into_iter().map(|part| function(&part[1..])).collect(),
            ..ListValue::default()
        }))
    } else if let Ok(number) = text.parse() {
        Value::I(number)
    } else {
        let name = format!("DT_{}", text.to_uppercase());
        Value::Type(tf::DataType::from_str_name(&name).unwrap().into())
    }
}
