//! Functions in call-dominant form, taken apart: parameter, locals, result.

use super::normalize_types;
use crate::error::{CompileError, PassError, Problem};
use crate::pass::{Pass, Runner, located};
use crate::passes::{RemoveMappedOrAppliedIdentity, RemoveUnusedBlockLocals, ToCallDominant};
use std::sync::Arc;
use tff_ir::{BuildError, Comp, Parameter, UniqueNames};

/// A function in call-dominant form. Names are unique, every call is a local.
#[derive(Clone, Debug)]
pub(crate) struct Normalized {
    pub(crate) parameter: Option<Parameter>,
    pub(crate) locals: Vec<(Arc<str>, Comp)>,
    pub(crate) result: Comp,
}

impl Normalized {
    /// Brings a function into call-dominant form; what is no function is taken for the result of
    /// one without parameter.
    ///
    /// # Errors
    /// What the passes say.
    pub(crate) fn new(comp: &Comp) -> Result<Self, CompileError> {
        Self::by(&mut Runner::new(None), comp)
    }

    /// As [`Normalized::new`], by passes that this runner runs.
    pub(crate) fn by(runner: &mut Runner<'_>, comp: &Comp) -> Result<Self, CompileError> {
        // Maps of the identity first: a local that is left over by one calls nothing, and is gone in
        // call-dominant form. Unused calls last: they are known when every call is a local.
        let passes: [&dyn Pass; 3] = [&RemoveMappedOrAppliedIdentity, &ToCallDominant, &RemoveUnusedBlockLocals];
        let written = written_out(comp).map_err(|error| located(NAME, comp, error.into()))?;
        let comp = passes.into_iter().try_fold(written, |comp, pass| runner.run(pass, comp))?;
        // What the whole computes before it is a function belongs to the function.
        let (mut locals, mut result) = (Vec::new(), comp);
        take_locals(&mut locals, &mut result);
        let lambda = result.as_lambda().cloned();
        let parameter = lambda.as_ref().and_then(|lambda| lambda.parameter.clone());
        if let Some(lambda) = lambda {
            result = lambda.result;
            take_locals(&mut locals, &mut result);
        }
        Ok(Self { parameter, locals, result })
    }

    /// The function, its result always a block.
    pub(crate) fn to_comp(&self) -> Result<Comp, BuildError> {
        let parameter = self.parameter.as_ref().map(|it| (it.name.clone(), it.ty.clone()));
        Comp::lambda(parameter, Comp::block(self.locals.iter().cloned(), self.result.clone())?)
    }

    /// Names that do not occur in it.
    pub(crate) fn fresh_names(&self) -> Result<UniqueNames, BuildError> {
        Ok(UniqueNames::new(&self.to_comp()?))
    }

    /// The parameter of a function that must have one.
    pub(crate) fn parameter(&self) -> Result<&Parameter, PassError> {
        let none = || Problem::Expected { expected: "a function with a parameter", found: "none".to_owned() };
        self.parameter.as_ref().ok_or_else(|| none().into())
    }
}

const NAME: &str = "normalize_call_dominant_lambda";

/// `(x -> f(x))` in place of `f`, where that is a function that is not written out.
fn written_out(comp: &Comp) -> Result<Comp, BuildError> {
    let Some(function) = comp.ty().as_function().filter(|_| comp.as_lambda().is_none()) else {
        return Ok(comp.clone());
    };
    let name = UniqueNames::new(comp).next_name();
    let argument = function.parameter.clone().map(|ty| Comp::reference(name.clone(), ty)).transpose()?;
    let parameter = function.parameter.clone().map(|ty| (name, ty));
    Comp::lambda(parameter, Comp::call(comp.clone(), argument)?)
}

fn take_locals(locals: &mut Vec<(Arc<str>, Comp)>, result: &mut Comp) {
    let Some(block) = result.as_block() else { return };
    locals.extend(block.locals.iter().map(|local| (local.name.clone(), local.value.clone())));
    *result = block.result.clone();
}

/// A function in normalized call-dominant form: maps of the identity are gone, every call is a
/// local of the block that is its result, all names are unique, and, unless `keep_bits`, parameters
/// have the bits that are usual at their placement.
///
/// `(v -> v)` becomes `(v -> (let  in v))`.
///
/// # Errors
/// [`CompileError::Pass`] where it is no function or refers to names it does not bind.
pub fn normalize_call_dominant_lambda(comp: &Comp, keep_bits: bool) -> Result<Comp, CompileError> {
    let fail = |error| located(NAME, comp, error);
    if comp.ty().as_function().is_none() {
        return Err(fail(Problem::expected("a function", comp.ty()).into()));
    }
    if let Some(name) = comp.free_names().first() {
        return Err(fail(Problem::unbound(name).into()));
    }
    let normalized = Normalized::new(comp)?.to_comp().map_err(|error| fail(error.into()))?;
    if keep_bits { Ok(normalized) } else { normalize_types(&normalized).map_err(fail) }
}
