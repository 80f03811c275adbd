//! How nodes refer to other nodes and to functions: inputs, colocations, attributes.

use std::sync::Arc;
use tff_proto::tensorflow as tf;
use tff_proto::tensorflow::attr_value::Value;

/// One input of a node of a graph (not of a function: there an input has three parts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input<'a> {
    /// `^node`: the node runs before.
    Control(&'a str),
    /// `node` or `node:index`: an output of the node.
    Data(&'a str, u32),
}

impl<'a> Input<'a> {
    /// Reads an input; `None` where the name is empty or the index is no number.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let input = if let Some(node) = text.strip_prefix('^') {
            Self::Control(node)
        } else if let Some((node, index)) = text.rsplit_once(':') {
            Self::Data(node, index.parse().ok()?)
        } else {
            Self::Data(text, 0)
        };
        (!input.node().is_empty()).then_some(input)
    }

    /// The node referred to.
    pub(crate) const fn node(self) -> &'a str {
        match self {
            Self::Control(node) | Self::Data(node, _) => node,
        }
    }
}

/// The name of a tensor in a binding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TensorName {
    pub(crate) node: Arc<str>,
    pub(crate) index: u32,
}

impl TensorName {
    /// Reads `node:index` or `node`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match Input::parse(text)? {
            Input::Data(node, index) => Some(Self { node: node.into(), index }),
            Input::Control(_) => None,
        }
    }
}

const COLOCATION: &str = "_class";
const COLOCATION_PREFIX: &[u8] = b"loc:@";

/// Rewrites the nodes that a node is to be placed with: those for which `rename` has no name are
/// dropped.
pub(crate) fn rewrite_colocations(node: &mut tf::NodeDef, rename: &dyn Fn(&str) -> Option<String>) {
    let Some(tf::AttrValue { value: Some(Value::List(list)) }) = node.attr.get_mut(COLOCATION) else { return };
    let renamed = list.s.iter().filter_map(|entry| {
        let Some(name) = entry.strip_prefix(COLOCATION_PREFIX) else { return Some(entry.clone()) };
        let name = rename(std::str::from_utf8(name).ok()?)?;
        Some([COLOCATION_PREFIX, name.as_bytes()].concat().into())
    });
    list.s = renamed.collect();
    if list.s.is_empty() {
        node.attr.remove(COLOCATION);
    }
}

/// The name that makes resources shared; not one of resources that never are.
pub(crate) fn shared_name(node: &tf::NodeDef) -> Option<&str> {
    /// What TensorFlow 2 calls resources that are new each time.
    const ANONYMOUS: &[u8] = b"cd2c89b7-88b7-44c8-ad83-06c2a9158347";
    match node.attr.get("shared_name")?.value.as_ref()? {
        Value::S(name) if !name.is_empty() && name != ANONYMOUS => std::str::from_utf8(name).ok(),
        _ => None,
    }
}

/// Puts a prefix before what names something within the whole session: shared resources and the
/// frames of loops. Two copies of a graph must not meet there.
pub(crate) fn prefix_session_names(node: &mut tf::NodeDef, prefix: &str) {
    if shared_name(node).is_some() {
        prefix_string(node, "shared_name", prefix);
    }
    if matches!(node.op.as_str(), "Enter" | "RefEnter") {
        prefix_string(node, "frame_name", prefix);
    }
}

fn prefix_string(node: &mut tf::NodeDef, attr: &str, prefix: &str) {
    if let Some(tf::AttrValue { value: Some(Value::S(text)) }) = node.attr.get_mut(attr) {
        *text = [prefix.as_bytes(), text].concat().into();
    }
}

/// Visits every name that may be that of a function: the op, and functions in attributes.
pub(crate) fn function_names<'a>(node: &'a tf::NodeDef, visit: &mut dyn FnMut(&'a str)) {
    visit(&node.op);
    node.attr.values().for_each(|attr| function_names_of(attr, visit));
}

// Attributes nest as deep as the decoder of messages lets them.
fn function_names_of<'a>(attr: &'a tf::AttrValue, visit: &mut dyn FnMut(&'a str)) {
    let functions: &[tf::NameAttrList] = match &attr.value {
        Some(Value::Func(function)) => std::slice::from_ref(function),
        Some(Value::List(list)) => &list.func,
        _ => &[],
    };
    for function in functions {
        visit(&function.name);
        function.attr.values().for_each(|attr| function_names_of(attr, visit));
    }
}

/// Gives functions new names, wherever the node refers to them.
pub(crate) fn rename_functions(node: &mut tf::NodeDef, rename: &dyn Fn(&str) -> Option<String>) {
    if let Some(name) = rename(&node.op) {
        node.op = name;
    }
    node.attr.values_mut().for_each(|attr| rename_functions_of(attr, rename));
}

fn rename_functions_of(attr: &mut tf::AttrValue, rename: &dyn Fn(&str) -> Option<String>) {
    let functions: &mut [tf::NameAttrList] = match &mut attr.value {
        Some(Value::Func(function)) => std::slice::from_mut(function),
        Some(Value::List(list)) => &mut list.func,
        _ => &mut [],
    };
    for function in functions {
        if let Some(name) = rename(&function.name) {
            function.name = name;
        }
        function.attr.values_mut().for_each(|attr| rename_functions_of(attr, rename));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_a_node_and_an_index() {
        assert_eq!(Input::parse("a/b"), Some(Input::Data("a/b", 0)));
        assert_eq!(Input::parse("a:12"), Some(Input::Data("a", 12)));
        assert_eq!(Input::parse("^a"), Some(Input::Control("a")));
        for bad in ["", "^", ":0", "a:", "a:b", "a:-1", "a:4294967296"] {
            assert_eq!(Input::parse(bad), None, "{bad}");
        }
        assert_eq!(TensorName::parse("^a"), None);
    }
}
