//! Rebuilding a computation whose types change: references are of the type of what they refer to.

use crate::error::PassError;
use std::sync::Arc;
use tff_ir::{Comp, CompKind, Scope, Transformed, transform_postorder, with_stack};
use tff_types::{Type, TypeError};

/// What becomes of the parts of a computation whose types change.
pub(crate) trait Retype {
    /// The new type of a parameter or a free reference.
    fn ty(&self, ty: &Type) -> Result<Type, TypeError>;

    /// The new form of a call of an intrinsic; the argument is rebuilt already.
    fn call(&mut self, call: &Comp, function: &Comp, argument: Option<Comp>) -> Result<Comp, PassError>;

    /// The new form of an intrinsic that is not called.
    fn intrinsic(&mut self, intrinsic: &Comp) -> Result<Comp, PassError>;
}

/// Rebuilds a computation.
pub(crate) fn retype(comp: &Comp, how: &mut dyn Retype) -> Result<Comp, PassError> {
    rebuild(comp, &mut Scope::new(), how)
}

/// Rewrites every part, from the innermost out, into one of a type that is assignable to its own.
///
/// Where that is another type, such as `int32@CLIENTS` in place of `{int32}@CLIENTS`, references to locals
/// get the types that the locals have then.
pub(crate) fn rewrite_values(
    comp: &Comp,
    rewrite: &mut dyn FnMut(Comp) -> Result<Transformed, PassError>,
) -> Result<Transformed, PassError> {
    let mut has_other_type = false;
    let transformed = transform_postorder(comp, &mut |part| {
        let ty = part.ty().clone();
        let rewritten = rewrite(part)?;
        has_other_type |= !ty.is_equivalent_to(rewritten.comp.ty());
        Ok::<_, PassError>(rewritten)
    })?;
    if has_other_type { retype_references(&transformed.comp).map(Transformed::yes) } else { Ok(transformed) }
}

/// Gives references to locals the types that the locals have.
pub(crate) fn retype_references(comp: &Comp) -> Result<Comp, PassError> {
    retype(comp, &mut Keep)
}

/// Parameters, free names and intrinsics keep their types.
struct Keep;

impl Retype for Keep {
    fn ty(&self, ty: &Type) -> Result<Type, TypeError> {
        Ok(ty.clone())
    }

    fn call(&mut self, call: &Comp, function: &Comp, argument: Option<Comp>) -> Result<Comp, PassError> {
        Comp::call(function.clone(), argument).map_err(|error| PassError::at(call, error))
    }

    fn intrinsic(&mut self, intrinsic: &Comp) -> Result<Comp, PassError> {
        Ok(intrinsic.clone())
    }
}

fn rebuild(comp: &Comp, scope: &mut Scope<Type>, how: &mut dyn Retype) -> Result<Comp, PassError> {
    with_stack(|| match comp.kind() {
        CompKind::Reference(reference) => {
            let ty = match scope.get(&reference.name) {
                Some(ty) => ty.clone(),
                None => how.ty(comp.ty())?,
            };
            if ty.ptr_eq(comp.ty()) { Ok(comp.clone()) } else { Ok(Comp::reference(reference.name.clone(), ty)?) }
        }
        CompKind::Lambda(lambda) => {
            let Some(parameter) = &lambda.parameter else {
                return Ok(comp.with_children(vec![rebuild(&lambda.result, scope, how)?])?);
            };
            let ty = how.ty(&parameter.ty)?;
            scope.bind(parameter.name.clone(), ty.clone());
            let result = rebuild(&lambda.result, scope, how);
            scope.unbind(&parameter.name);
            Ok(Comp::lambda(Some((parameter.name.clone(), ty)), result?)?)
        }
        CompKind::Block(block) => {
            let mut locals: Vec<(Arc<str>, Comp)> = Vec::with_capacity(block.locals.len());
            let rebuilt = block.locals.iter().try_for_each(|local| {
                let value = rebuild(&local.value, scope, how)?;
                scope.bind(local.name.clone(), value.ty().clone());
                locals.push((local.name.clone(), value));
                Ok(())
            });
            let result = rebuilt.and_then(|()| rebuild(&block.result, scope, how));
            locals.iter().for_each(|(name, _)| drop(scope.unbind(name)));
            Ok(Comp::block(locals, result?)?)
        }
        CompKind::Call(call) if call.function.as_intrinsic().is_some() => {
            let argument = call.argument.as_ref().map(|argument| rebuild(argument, scope, how)).transpose()?;
            how.call(comp, &call.function, argument)
        }
        CompKind::Intrinsic(_) => how.intrinsic(comp),
        _ => comp.map_children(|child| rebuild(child, scope, how)).map_err(|error| error.or_at(comp)),
    })
}
