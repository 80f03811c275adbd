//! The lossless text form of computations, `.tff`; `GRAMMAR.md` is its contract.
//!
//! [`parse()`] reads a text that [`print()`] wrote as the same computation. The parser also reads the
//! compact and formatted forms of the reference, if the types that they leave out follow from the
//! text and the [`Environment`].

mod ast;
mod bodies;
mod constant;
mod error;
mod infer;
mod parse;
mod print;
mod resolve;

pub use bodies::Bodies;
pub use error::{TextError, TextProblem};
pub use print::{Layout, PrintError, PrintOptions, Printed, print};

use crate::{Comp, CompPath, NodeMap};
use std::collections::BTreeMap;
use std::sync::Arc;
use tff_types::Type;
use tff_types::syntax::Span;

/// How many computations a text may nest within one another.
pub const MAX_LEVELS: usize = 10_000;

/// How many computations labels may stand for, each counted as often as its label is used.
pub const MAX_EXPANDED: usize = 1 << 18;

/// What a text may refer to without saying it itself.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The types of free names.
    pub names: BTreeMap<Arc<str>, Type>,
    /// The type of the parameter of the outermost function, where that does not write it.
    pub parameter: Option<Type>,
    /// What labels stand for that the text does not define.
    pub bodies: Bodies,
}

/// A computation that was read, and where in the text its parts are.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The computation.
    pub comp: Comp,
    /// The places of the nodes.
    spans: NodeMap<Span>,
}

impl Parsed {
    /// Where in the text the part at this path is written. `None` for what is not in the text, such
    /// as the parts of a computation that a label stands for.
    #[must_use]
    pub fn span_of(&self, path: &CompPath) -> Option<Span> {
        self.spans.get(self.comp.at(path)?).copied()
    }

    /// Where in the text every part is written, a node before its parts and those in their order.
    #[must_use]
    pub fn spans(&self) -> Vec<Option<Span>> {
        let mut spans = Vec::new();
        let mut stack = vec![&self.comp];
        while let Some(comp) = stack.pop() {
            spans.push(self.spans.get(comp).copied());
            let first = stack.len();
            stack.extend(comp.children());
            if let Some(children) = stack.get_mut(first..) {
                children.reverse();
            }
        }
        spans
    }
}

/// Reads a computation.
///
/// ```
/// use tff_ir::text::{Environment, parse};
///
/// # fn main() -> Result<(), tff_ir::text::TextError> {
/// let parsed = parse("(x:<a=int32> -> <x[0],lit float32 1.5>)", &Environment::default())?;
/// assert_eq!(parsed.comp.ty().to_string(), "(<a=int32> -> <int32,float32>)");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(text: &str, environment: &Environment) -> Result<Parsed, TextError> {
    let (written, bodies) = parse::parse(text)?;
    resolve::resolve(text, &written, &bodies, environment).map(|(comp, spans)| Parsed { comp, spans })
}
