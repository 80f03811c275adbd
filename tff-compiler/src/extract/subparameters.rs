//! Functions of some parts of their parameter.

use super::normalized::Normalized;
use crate::error::{CompileError, PassError, Problem};
use crate::pass::located;
use crate::substitution::Substitution;
use std::sync::Arc;
use tff_ir::{Comp, UniqueNames};
use tff_types::Type;

/// Makes a function of some parts of the parameter of another one: of an unnamed struct with the
/// part at each path. Where the result needs more of the old parameter, its name is left free.
///
/// `(x -> <x[0],x[1][1]>)` with the paths `[0]` and `[1,1]` becomes
/// `(y -> (let  in <y[0],y[1]>))`.
///
/// # Errors
/// [`Problem::Expected`] where a path leads to nothing, or there is no parameter.
pub fn as_function_of_some_subparameters(comp: &Comp, paths: &[Vec<usize>]) -> Result<Comp, CompileError> {
    const NAME: &str = "as_function_of_some_subparameters";
    let normalized = Normalized::new(comp)?;
    let rebind = || -> Result<Comp, PassError> {
        let parameter = normalized.parameter()?;
        let name = UniqueNames::new(&normalized.to_comp()?).next_name();
        let types = paths.iter().map(|path| part(&parameter.ty, path)).collect::<Result<Vec<_>, _>>()?;
        let ty = Type::tuple(types)?;
        let mut substitution = Substitution::default();
        let new = Comp::reference(name.clone(), ty.clone())?;
        for (index, path) in paths.iter().enumerate() {
            substitution.replace_part(parameter.name.clone(), path.clone(), Comp::selection(new.clone(), index)?);
        }
        let locals = normalized.locals.iter().map(|(name, value)| Ok((name.clone(), substitution.apply(value)?)));
        let locals = locals.collect::<Result<Vec<(Arc<str>, Comp)>, PassError>>()?;
        let result = Comp::block(locals, substitution.apply(&normalized.result)?)?;
        Ok(Comp::lambda(Some((name, ty)), result)?)
    };
    rebind().map_err(|error| located(NAME, comp, error))
}

/// The type of the part of a struct that a path leads to.
pub(crate) fn part(ty: &Type, path: &[usize]) -> Result<Type, Problem> {
    let bad =
        || Problem::Expected { expected: "a path to a part of the parameter", found: format!("{path:?} in {ty}") };
    path.iter().try_fold(ty.clone(), |ty, &index| {
        ty.as_struct().and_then(|it| it.elements().get(index)).map(|element| element.ty.clone()).ok_or_else(bad)
    })
}
