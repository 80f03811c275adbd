//! What a run refuses, found without running anything.

use super::Executor;
use crate::ExecError;
use crate::eval::{DataBackend, is_native, resolve, unknown};
use std::collections::HashMap;
use std::ops::ControlFlow;
use tff_ir::{Comp, CompKind, CompPath, DataContent, Intrinsic};
use tff_types::Type;

/// A part of a computation that a run refuses when it is needed.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Where the part is; `None` where the error is about the computation as a whole, or says itself where.
    pub path: Option<CompPath>,
    /// The error that the run fails with.
    pub error: ExecError,
}

impl Executor {
    /// What a run of the computation refuses, whatever its argument is: intrinsics that are neither run nor
    /// compiled, `data` whose value is not found, and what the compile function refuses.
    ///
    /// The computation is compiled as for a run, and nothing is computed. `data` is asked for its values. The
    /// compile function stops at the first problem, so that there may be more than are returned. A part that turns
    /// out not to be needed does not make a run fail.
    #[must_use]
    pub fn refusals(&self, comp: &Comp) -> Vec<Refusal> {
        let native = match self.0.native(comp) {
            Ok((native, _)) => native,
            Err(error) => return vec![Refusal { path: None, error }],
        };
        let mut refused: HashMap<Key<'_>, Option<ExecError>> = HashMap::new();
        for part in native.preorder() {
            if let Some(key) = Key::of(part) {
                refused.entry(key).or_insert_with(|| key.error(self.0.options.data.as_deref()));
            }
        }
        // The compiler moves parts: they are reported where they stand in what it was given. It makes none of
        // these parts itself.
        let mut refusals = Vec::new();
        let _ = comp.visit_parts(&mut |part, steps| {
            if let Some(Some(error)) = Key::of(part).and_then(|key| refused.get(&key)) {
                refusals.push(Refusal { path: Some(CompPath::new(steps)), error: error.clone() });
            }
            ControlFlow::Continue(())
        });
        refusals
    }
}

/// A part that a run may refuse, wherever it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key<'c> {
    Intrinsic(&'c Intrinsic),
    Data(&'c DataContent, &'c Type),
}

impl<'c> Key<'c> {
    fn of(part: &'c Comp) -> Option<Self> {
        match part.kind() {
            CompKind::Intrinsic(intrinsic) => Some(Self::Intrinsic(intrinsic)),
            CompKind::Data(data) => Some(Self::Data(&data.content, part.ty())),
            _ => None,
        }
    }

    /// The error of a run that needs it.
    fn error(self, data: Option<&dyn DataBackend>) -> Option<ExecError> {
        match self {
            Self::Intrinsic(intrinsic) => (!is_native(intrinsic)).then(|| unknown(intrinsic).into()),
            Self::Data(content, ty) => resolve(content, ty, data).err(),
        }
    }
}
