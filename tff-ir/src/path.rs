//! Where in a computation something is.

use crate::diag::Name;
use crate::{Comp, CompKind, with_stack};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// One step from a computation to one directly below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CompStep {
    /// The source of a selection.
    Source,
    /// The element of a struct at this position, with its name if it has one.
    Element(usize, Option<Arc<str>>),
    /// The function of a call.
    Function,
    /// The argument of a call.
    Argument,
    /// The result of a lambda.
    LambdaResult,
    /// The local of a block at this position, with its name.
    Local(usize, Arc<str>),
    /// The result of a block.
    BlockResult,
    /// So many steps that are left out.
    Elided(usize),
}

/// A path from the root of a computation to a part of it.
///
/// It prints as the fields of the protocol's messages that lead there, from the kind of a computation
/// to the part of it: `.lambda.result`, `.block.local[3](name)`, `.block.result`,
/// `.call.function`, `.call.argument`, `.struct.element[0](name)`, `.selection.source`; the root
/// prints as `.`. The middle of a very long path is left out: `...(1200 steps)...`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CompPath(Arc<[CompStep]>);

/// The most steps that are kept at each end of a path.
const KEPT: usize = 100;

impl CompPath {
    /// The path of these steps from the root.
    #[must_use]
    pub fn new(steps: &[CompStep]) -> Self {
        let elided = steps.len().saturating_sub(2 * KEPT);
        match (steps.first_chunk::<KEPT>(), steps.last_chunk::<KEPT>()) {
            (Some(first), Some(last)) if elided > 0 => {
                Self(first.iter().cloned().chain([CompStep::Elided(elided)]).chain(last.iter().cloned()).collect())
            }
            _ => Self(steps.into()),
        }
    }

    /// The steps from the root.
    #[must_use]
    pub fn steps(&self) -> &[CompStep] {
        &self.0
    }
}

impl Comp {
    /// The step that leads to the part at this position among [`Comp::parts`].
    #[must_use]
    pub fn step_to(&self, index: usize) -> Option<CompStep> {
        match self.kind() {
            CompKind::Selection(_) if index == 0 => Some(CompStep::Source),
            CompKind::Struct(structure) => Some(CompStep::Element(index, structure.elements.get(index)?.name.clone())),
            CompKind::Call(_) if index == 0 => Some(CompStep::Function),
            CompKind::Call(call) if index == 1 && call.argument.is_some() => Some(CompStep::Argument),
            CompKind::Lambda(_) if index == 0 => Some(CompStep::LambdaResult),
            CompKind::Block(block) if index == block.locals.len() => Some(CompStep::BlockResult),
            CompKind::Block(block) => Some(CompStep::Local(index, block.locals.get(index)?.name.clone())),
            CompKind::Selection(_)
            | CompKind::Call(_)
            | CompKind::Lambda(_)
            | CompKind::Reference(_)
            | CompKind::Intrinsic(_)
            | CompKind::Data(_)
            | CompKind::Placement(_)
            | CompKind::Literal(_)
            | CompKind::CompiledComputation(_) => None,
        }
    }

    /// Sees each part, one before those within it, with the steps to it, until `see` breaks off.
    pub fn visit_parts(&self, see: &mut dyn FnMut(&Self, &[CompStep]) -> ControlFlow<()>) -> ControlFlow<()> {
        fn visit(
            comp: &Comp,
            steps: &mut Vec<CompStep>,
            see: &mut dyn FnMut(&Comp, &[CompStep]) -> ControlFlow<()>,
        ) -> ControlFlow<()> {
            with_stack(|| {
                see(comp, steps)?;
                for (index, child) in comp.children().enumerate() {
                    let len = steps.len();
                    steps.extend(comp.step_to(index));
                    visit(child, steps, see)?;
                    steps.truncate(len);
                }
                ControlFlow::Continue(())
            })
        }
        visit(self, &mut Vec::new(), see)
    }

    /// The part that a step leads to.
    pub(crate) fn part_at(&self, step: &CompStep) -> Option<&Self> {
        match (step, self.kind()) {
            (CompStep::Source, CompKind::Selection(selection)) => Some(&selection.source),
            (CompStep::Function, CompKind::Call(call)) => Some(&call.function),
            (CompStep::Argument, CompKind::Call(call)) => call.argument.as_ref(),
            (CompStep::LambdaResult, CompKind::Lambda(lambda)) => Some(&lambda.result),
            (CompStep::Element(index, _), CompKind::Struct(it)) => Some(&it.elements.get(*index)?.value),
            (CompStep::Local(index, _), CompKind::Block(block)) => Some(&block.locals.get(*index)?.value),
            (CompStep::BlockResult, CompKind::Block(block)) => Some(&block.result),
            _ => None,
        }
    }
}

impl fmt::Display for CompPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(".");
        }
        for step in self.steps() {
            match step {
                CompStep::Source => f.write_str(".selection.source")?,
                CompStep::Element(index, None) => write!(f, ".struct.element[{index}]")?,
                CompStep::Element(index, Some(name)) => write!(f, ".struct.element[{index}]({})", Name(name))?,
                CompStep::Function => f.write_str(".call.function")?,
                CompStep::Argument => f.write_str(".call.argument")?,
                CompStep::LambdaResult => f.write_str(".lambda.result")?,
                CompStep::Local(index, name) => write!(f, ".block.local[{index}]({})", Name(name))?,
                CompStep::BlockResult => f.write_str(".block.result")?,
                CompStep::Elided(count) => write!(f, "...({count} steps)...")?,
            }
        }
        Ok(())
    }
}
