//! The functions of a graph: who calls whom, and how the libraries of two graphs become one.

use super::def::{function_names, prefix_session_names, rename_functions, shared_name};
use super::error::GraphError;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use tff_proto::tensorflow as tf;

/// The functions that a graph may call, by name.
///
/// What serves to differentiate a graph further (`registered_gradients`) is not kept: a compiled
/// computation is only run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Library {
    functions: BTreeMap<String, Arc<Function>>,
}

/// A function with the name of its gradient, if it has one.
#[derive(Debug, PartialEq)]
struct Function {
    def: tf::FunctionDef,
    gradient: Option<String>,
}

/// New names of functions.
pub(crate) type Renames = HashMap<String, String>;

impl Function {
    /// Visits the names of all functions that this one may call.
    fn callees<'a>(&'a self, visit: &mut dyn FnMut(&'a str)) {
        self.def.node_def.iter().for_each(|node| function_names(node, visit));
        self.gradient.iter().for_each(|gradient| visit(gradient));
    }

    fn shares_resources(&self) -> bool {
        self.def.node_def.iter().any(|node| shared_name(node).is_some())
    }
}

impl Library {
    /// Reads the functions of a graph.
    ///
    /// # Errors
    /// [`GraphError::DuplicateFunction`].
    pub(crate) fn read(library: Option<tf::FunctionDefLibrary>) -> Result<Self, GraphError> {
        let tf::FunctionDefLibrary { function, gradient, .. } = library.unwrap_or_default();
        let mut gradients: HashMap<_, _> =
            gradient.into_iter().map(|gradient| (gradient.function_name, gradient.gradient_func)).collect();
        let mut functions = BTreeMap::new();
        for def in function {
            let name = def.signature.as_ref().map(|signature| signature.name.clone()).unwrap_or_default();
            let gradient = gradients.remove(&name);
            if functions.insert(name.clone(), Arc::new(Function { def, gradient })).is_some() {
                return Err(GraphError::DuplicateFunction { name });
            }
        }
        Ok(Self { functions })
    }

    /// The functions as a part of a graph; `None` where there are none.
    pub(crate) fn to_proto(&self) -> Option<tf::FunctionDefLibrary> {
        let gradient = |(name, function): (&String, &Arc<Function>)| {
            let gradient_func = function.gradient.clone()?;
            Some(tf::GradientDef { function_name: name.clone(), gradient_func })
        };
        (!self.functions.is_empty()).then(|| tf::FunctionDefLibrary {
            function: self.functions.values().map(|function| function.def.clone()).collect(),
            gradient: self.functions.iter().filter_map(gradient).collect(),
            registered_gradients: Vec::new(),
        })
    }

    /// All nodes of all functions.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &tf::NodeDef> {
        self.functions.values().flat_map(|function| &function.def.node_def)
    }

    /// Whether there is a function of this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// The bytes of all functions, encoded.
    pub(crate) fn encoded_len(&self) -> usize {
        self.functions.values().map(|function| function.def.encoded_len()).sum()
    }

    /// Drops the functions that none of these nodes calls, directly or through others.
    pub(crate) fn retain_called_by<'a>(&mut self, nodes: impl IntoIterator<Item = &'a tf::NodeDef>) {
        let mut called = BTreeSet::new();
        let mut pending = Vec::new();
        let reach = |name: &str, called: &mut BTreeSet<String>, pending: &mut Vec<Arc<Function>>| {
            if let Some(function) = self.functions.get(name)
                && called.insert(name.to_owned())
            {
                pending.push(function.clone());
            }
        };
        for node in nodes {
            function_names(node, &mut |name| reach(name, &mut called, &mut pending));
        }
        while let Some(function) = pending.pop() {
            function.callees(&mut |name| reach(name, &mut called, &mut pending));
        }
        self.functions.retain(|name, _| called.contains(name));
    }

    /// The functions that own shared resources, and all that call them: each copy of a graph needs
    /// its own.
    pub(crate) fn resource_owners(&self) -> BTreeSet<String> {
        let owners = self.functions.iter().filter(|(_, function)| function.shares_resources());
        self.with_callers(owners.map(|(name, _)| name.clone()).collect())
    }

    /// The functions that cannot enter the other library under their name, because it has another
    /// function of that name, and all that call them.
    pub(crate) fn conflicts_with(&self, other: &Self) -> BTreeSet<String> {
        let differs = |(name, function): &(&String, &Arc<Function>)| {
            other.functions.get(*name).is_some_and(|existing| existing != *function)
        };
        self.with_callers(self.functions.iter().filter(differs).map(|(name, _)| name.clone()).collect())
    }

    /// These functions and all that call them, directly or through others.
    fn with_callers(&self, mut found: BTreeSet<String>) -> BTreeSet<String> {
        if found.is_empty() {
            return found;
        }
        let mut callers: HashMap<&str, Vec<&str>> = HashMap::new();
        for (name, function) in &self.functions {
            function.callees(&mut |callee| callers.entry(callee).or_default().push(name));
        }
        let mut pending: Vec<String> = found.iter().cloned().collect();
        while let Some(name) = pending.pop() {
            for caller in callers.get(name.as_str()).into_iter().flatten() {
                if found.insert((*caller).to_owned()) {
                    pending.push((*caller).to_owned());
                }
            }
        }
        found
    }

    /// New names for these functions of `source`, which neither library uses.
    pub(crate) fn fresh_names(&self, source: &Self, names: &BTreeSet<String>, from: usize) -> Renames {
        // Counting up from where the caller is finds a free name at once, except where someone
        // took it on purpose; each library has finitely many names.
        let fresh = |name: &String| {
            (from..)
                .map(|number| format!("{name}_{number}"))
                .find(|candidate| !self.contains(candidate) && !source.contains(candidate))
        };
        names.iter().filter_map(|name| Some((name.clone(), fresh(name)?))).collect()
    }

    /// Adds the functions of another library under new names; names without a new one stay, and
    /// the function is then the same as one already there under that name, if there is one.
    ///
    /// Functions that `owners` names are copies for one use, whose resources get a prefix; the
    /// others are added where it is the first use of the library.
    pub(crate) fn add(
        &mut self,
        source: &Self,
        renames: &Renames,
        owners: &BTreeSet<String>,
        prefix: &str,
        first_use: bool,
    ) {
        let rename = |name: &str| renames.get(name).cloned();
        for (name, function) in &source.functions {
            if !first_use && !owners.contains(name) {
                continue;
            }
            let Some(new_name) = rename(name) else {
                self.functions.entry(name.clone()).or_insert_with(|| function.clone());
                continue;
            };
            let mut def = function.def.clone();
            if let Some(signature) = &mut def.signature {
                signature.name.clone_from(&new_name);
            }
            for node in &mut def.node_def {
                rename_functions(node, &rename);
                if owners.contains(name) {
                    prefix_session_names(node, prefix);
                }
            }
            let gradient = function.gradient.as_ref().map(|name| rename(name).unwrap_or_else(|| name.clone()));
            self.functions.insert(new_name, Arc::new(Function { def, gradient }));
        }
    }

    /// Rewrites every node of every function for which the rewriting returns whether it did.
    pub(crate) fn rewrite_nodes<E>(
        &mut self,
        rewrite: &mut dyn FnMut(&mut tf::NodeDef) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let mut changed = false;
        for function in self.functions.values_mut() {
            let mut def = function.def.clone();
            let mut changed_here = false;
            for node in &mut def.node_def {
                changed_here |= rewrite(node)?;
            }
            if changed_here {
                *function = Arc::new(Function { def, gradient: function.gradient.clone() });
                changed = true;
            }
        }
        Ok(changed)
    }
}
