//! Passes, and the runner that checks their results.

use crate::error::{CompileError, PassError};
use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tff_ir::{Code, Comp, CompPath, Diagnostic, Severity, Transformed, validate};

/// One rewrite of a computation into an equivalent one.
///
/// A pass takes a valid computation and returns a valid one, of a type that is assignable to the
/// old one. A pass never runs another pass: pipelines order them.
pub trait Pass: fmt::Debug + Sync {
    /// The name, equal to the file stem: `remove_unused_block_locals`.
    fn name(&self) -> &'static str;

    /// What it does, in one line.
    fn description(&self) -> &'static str;

    /// Returns the rewritten computation and whether anything changed.
    ///
    /// # Errors
    /// What keeps the computation from being rewritten.
    fn run(&self, comp: &Comp) -> Result<Transformed, PassError>;
}

/// What one run of a pass cost and did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassStats {
    /// The name of the pass.
    pub pass: &'static str,
    /// The role of the part of a form that it ran on; none where it ran on the whole.
    pub part: Option<&'static str>,
    /// How long it took, its checks included.
    pub duration: Duration,
    /// Whether it changed anything.
    pub changed: bool,
    /// How many nodes the computation has afterwards.
    pub nodes: usize,
}

/// Sees what each pass did, and the computation after it.
pub type Observer<'a> = &'a dyn Fn(&PassStats, &Comp);

/// Runs passes one after another, and checks each.
pub(crate) struct Runner<'a> {
    observer: Option<Observer<'a>>,
    part: Option<&'static str>,
    stats: Vec<PassStats>,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(observer: Option<Observer<'a>>) -> Self {
        Self { observer, part: None, stats: Vec::new() }
    }

    /// Runs passes on the part of a form.
    pub(crate) fn of_part(part: &'static str, observer: Option<Observer<'a>>) -> Self {
        Self { part: Some(part), ..Self::new(observer) }
    }

    /// Runs a pass: the result is valid, and of a type that is assignable to the old one.
    ///
    /// # Errors
    /// [`CompileError`] with the name of the pass.
    pub(crate) fn run(&mut self, pass: &dyn Pass, comp: Comp) -> Result<Comp, CompileError> {
        let start = Instant::now();
        let Transformed { comp, changed } = run_pass(pass, &comp)?;
        let nodes = comp.size() as usize;
        let stats = PassStats { pass: pass.name(), part: self.part, duration: start.elapsed(), changed, nodes };
        self.stats.push(stats);
        if let Some(observer) = self.observer {
            observer(&stats, &comp);
        }
        Ok(comp)
    }

    pub(crate) fn into_stats(self) -> Vec<PassStats> {
        self.stats
    }
}

/// Runs one pass on a computation, which may refer to names that it does not bind, and checks what
/// it returns.
///
/// # Errors
/// [`CompileError::Pass`] where the pass fails, [`CompileError::Broken`] and
/// [`CompileError::TypeChanged`] where it returns what it must not.
pub fn run_pass(pass: &dyn Pass, comp: &Comp) -> Result<Transformed, CompileError> {
    let name = pass.name();
    let transformed = pass.run(comp).map_err(|error| located(name, comp, error))?;
    if transformed.changed {
        let mut diagnostics = errors(&transformed.comp);
        if diagnostics.iter().any(|diagnostic| diagnostic.code == Code::UnboundReference) {
            // What was free before may still be.
            let free = comp.free_names();
            let is_free = |diagnostic: &Diagnostic| {
                let part = transformed.comp.at(&diagnostic.path);
                part.and_then(Comp::as_reference).is_some_and(|reference| free.contains(&reference.name))
            };
            diagnostics.retain(|diagnostic| diagnostic.code != Code::UnboundReference || !is_free(diagnostic));
        }
        if !diagnostics.is_empty() {
            return Err(CompileError::Broken { pass: name, diagnostics });
        }
        let checked = comp.ty().check_assignable_from(transformed.comp.ty());
        checked.map_err(|mismatch| CompileError::TypeChanged { pass: name, mismatch: Box::new(mismatch) })?;
    }
    Ok(transformed)
}

/// Checks that a computation is valid and refers to nothing it does not bind.
///
/// # Errors
/// [`CompileError::Invalid`] with everything that is wrong.
pub(crate) fn check_valid(comp: &Comp) -> Result<(), CompileError> {
    let diagnostics = errors(comp);
    if diagnostics.is_empty() { Ok(()) } else { Err(CompileError::Invalid(diagnostics)) }
}

/// The errors that the validator finds.
fn errors(comp: &Comp) -> Vec<Diagnostic> {
    validate(comp).into_iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect()
}

/// The error of a pass with the path to the node it is about.
pub(crate) fn located(pass: &'static str, comp: &Comp, error: PassError) -> CompileError {
    let mut path = CompPath::new(&[]);
    if let Some(node) = &error.node {
        let _ = comp.visit_parts(&mut |part, steps| {
            if !part.ptr_eq(node) {
                return ControlFlow::Continue(());
            }
            path = CompPath::new(steps);
            ControlFlow::Break(())
        });
    }
    CompileError::Pass { pass, path, problem: error.problem }
}
