//! What can go wrong while a computation is compiled.

use crate::graph::{GraphError, brief};
use tff_ir::{BuildError, Comp, CompPath, Diagnostic};
use tff_types::{Mismatch, Type, TypeError};
use thiserror::Error;

/// Why a computation cannot be compiled: which pass says so, where, and what is wrong.
///
/// Every message is one line of limited length, whatever the names in the computation are.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompileError {
    /// The computation breaks rules already before it is compiled.
    #[error("the computation is not valid: {}", all(.0))]
    Invalid(Vec<Diagnostic>),
    /// A pass cannot rewrite the computation.
    #[error("{pass} at {path}: {problem}")]
    Pass {
        /// The name of the pass.
        pass: &'static str,
        /// Where in the computation that the pass was given.
        path: CompPath,
        /// What is wrong there.
        #[source]
        problem: Problem,
    },
    /// What a pass made of the computation breaks rules: a defect of the pass.
    #[error("{pass} broke the computation: {}", all(diagnostics))]
    Broken {
        /// The name of the pass.
        pass: &'static str,
        /// The rules that are broken.
        diagnostics: Vec<Diagnostic>,
    },
    /// What a pass made of the computation may not be used in its place: a defect of the pass.
    #[error("{pass} changed the type of the computation: {mismatch}")]
    TypeChanged {
        /// The name of the pass.
        pass: &'static str,
        /// How the types differ.
        mismatch: Box<Mismatch>,
    },
}

impl CompileError {
    /// Where in the computation that the pass was given something is wrong; none where the error is about
    /// several places, or is a defect of a pass.
    #[must_use]
    pub const fn path(&self) -> Option<&CompPath> {
        if let Self::Pass { path, .. } = self { Some(path) } else { None }
    }
}

/// What keeps a computation, or a part of it, from being rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The parts of the rewritten computation do not fit together.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The type of the rewritten computation cannot be.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// A graph cannot be built or merged.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The rewritten computation has too many parts.
    #[error("the rewritten computation has more than {limit} parts")]
    TooLarge {
        /// How many it may have.
        limit: usize,
    },
    /// There is no intrinsic of this name.
    #[error("no intrinsic is named `{}`{}", brief(uri), nearest.map(|uri| format!("; did you mean `{uri}`?")).unwrap_or_default())]
    UnknownIntrinsic {
        /// What it is called.
        uri: String,
        /// The known intrinsic that is called most like it.
        nearest: Option<&'static str>,
    },
    /// The intrinsic has no meaning for this type.
    #[error("{uri} cannot be computed as {}: {reason}", brief(ty))]
    Intrinsic {
        /// What identifies the intrinsic.
        uri: String,
        /// The type of the intrinsic.
        ty: Type,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// What is to become a graph is not local.
    #[error("{} cannot be part of a graph", brief(what))]
    NotLocal {
        /// What it is.
        what: String,
    },
    /// The computation is of a type, or of a shape, that does not suit.
    #[error("expected {expected}, found {}", brief(found))]
    Expected {
        /// What would suit.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// An intrinsic needs the result of one that it must not depend on.
    #[error("{later} dependent on {earlier}: {} needs the result of {}", brief(later_call), brief(earlier_call))]
    Dependent {
        /// Which kind of intrinsic depends.
        later: &'static str,
        /// On which kind of intrinsic.
        earlier: &'static str,
        /// The call that depends: the intrinsic, and the local that it is in call-dominant form.
        later_call: String,
        /// The call on which it depends.
        earlier_call: String,
    },
    /// A part of the computation needs what it is not given.
    #[error("it contains the unbound reference `{}`: it needs what is not available to it", brief(name))]
    Unbound {
        /// The name that it refers to.
        name: String,
    },
    /// A part of a form cannot be made.
    #[error("in {part}: {problem}")]
    Part {
        /// The role of the part.
        part: &'static str,
        /// What is wrong.
        #[source]
        problem: Box<Problem>,
    },
    /// Types that belong together do not fit.
    #[error("{what}: {mismatch}")]
    Mismatch {
        /// What the types are those of.
        what: String,
        /// How they differ.
        mismatch: Box<Mismatch>,
    },
}

impl Problem {
    /// A type that does not suit.
    pub(crate) fn expected(expected: &'static str, found: &Type) -> Self {
        Self::Expected { expected, found: found.to_string() }
    }

    /// A name that nothing binds.
    pub(crate) fn unbound(name: &str) -> Self {
        Self::Unbound { name: name.to_owned() }
    }
}

/// A [`Problem`] and the node it is about, if it is about one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassError {
    /// What is wrong.
    pub problem: Problem,
    /// The node, one of the computation given to the pass.
    pub node: Option<Comp>,
}

impl PassError {
    /// A problem with one node.
    pub fn at(node: &Comp, problem: impl Into<Problem>) -> Self {
        Self { problem: problem.into(), node: Some(node.clone()) }
    }

    /// The same problem, with this node where it is about none yet.
    pub(crate) fn or_at(self, node: &Comp) -> Self {
        Self { node: self.node.or_else(|| Some(node.clone())), ..self }
    }

    /// The problem as one of a part of a form.
    pub(crate) fn in_part(self, part: &'static str) -> Self {
        Problem::Part { part, problem: Box::new(self.problem) }.into()
    }

    /// The problem alone: for nodes that are not in the computation that the user sees.
    pub(crate) fn without_place(self) -> Self {
        Self { node: None, ..self }
    }
}

impl<P: Into<Problem>> From<P> for PassError {
    fn from(problem: P) -> Self {
        Self { problem: problem.into(), node: None }
    }
}

/// The first few diagnostics on one line.
fn all(diagnostics: &[Diagnostic]) -> String {
    const SHOWN: usize = 5;
    let mut shown: Vec<_> = diagnostics.iter().take(SHOWN).map(ToString::to_string).collect();
    if let Some(more) = diagnostics.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        shown.push(format!("and {more} more"));
    }
    shown.join("; ")
}
