//! Rebuilds a computation whose types change, so that each reference has the type of its binding.

use crate::error::PassError;
use tff_ir::{Binder, Comp, CompKind, Scope, Transformed, Walk, transform_postorder};
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
    Rebuild { how, scope: Scope::new(), entered: None }.walk(comp)
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
        has_other_type |= ty != *rewritten.comp.ty();
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

struct Rebuild<'h> {
    how: &'h mut dyn Retype,
    /// The types that the names in scope have now.
    scope: Scope<Type>,
    /// That of the parameter of the lambda that is entered.
    entered: Option<Type>,
}

impl<'c> Walk<'c> for Rebuild<'_> {
    type Value = Comp;
    type Error = PassError;

    fn comp(&mut self, comp: &'c Comp) -> Result<Comp, PassError> {
        let mut parts = Vec::new();
        match comp.kind() {
            CompKind::Reference(reference) => {
                let ty = match self.scope.get(&reference.name) {
                    Some(ty) => ty.clone(),
                    None => self.how.ty(comp.ty())?,
                };
                if ty.ptr_eq(comp.ty()) { Ok(comp.clone()) } else { Ok(Comp::reference(reference.name.clone(), ty)?) }
            }
            CompKind::Lambda(lambda) => {
                let ty = lambda.parameter.as_ref().map(|parameter| self.how.ty(&parameter.ty)).transpose()?;
                self.entered.clone_from(&ty);
                let result = self.last(comp)?.unwrap_or_else(|| lambda.result.clone());
                let name = lambda.parameter.as_ref().map(|parameter| parameter.name.clone());
                Ok(Comp::lambda(name.zip(ty), result)?)
            }
            CompKind::Call(call) if call.function.as_intrinsic().is_some() => {
                let argument = call.argument.as_ref().map(|argument| self.walk(argument)).transpose()?;
                self.how.call(comp, &call.function, argument)
            }
            CompKind::Intrinsic(_) => self.how.intrinsic(comp),
            CompKind::Block(_) => {
                self.parts(comp, |part| parts.push(part))?;
                Ok(comp.with_children(parts)?)
            }
            CompKind::Selection(_)
            | CompKind::Struct(_)
            | CompKind::Call(_)
            | CompKind::Data(_)
            | CompKind::Placement(_)
            | CompKind::Literal(_)
            | CompKind::CompiledComputation(_) => {
                self.parts(comp, |part| parts.push(part)).map_err(|error| error.or_at(comp))?;
                comp.with_children(parts).map_err(|error| PassError::at(comp, error))
            }
        }
    }

    fn bind(&mut self, binder: Binder<'c>, value: Option<&Comp>) {
        let ty = value.map(|value| value.ty().clone()).or_else(|| self.entered.take());
        self.scope.bind(binder.name().clone(), ty.unwrap_or_else(|| binder.ty().clone()));
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.scope.unbind(binder.name());
    }
}
