//! Makes functions of parts of a function: the locals that some results need, as a function of some
//! parts of the parameter.

use super::normalized::Normalized;
use super::subparameters::part;
use crate::error::{PassError, Problem};
use crate::substitution::Substitution;
use std::collections::HashSet;
use std::sync::Arc;
use tff_ir::{BuildError, Comp, Parameter};
use tff_types::Type;

/// What the parameter of the new function is made of, in terms of the old one.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// The part at a path.
    Part(Vec<usize>),
    /// An unnamed struct.
    Tuple(Vec<Shape>),
}

impl Shape {
    pub(crate) fn parts(paths: &[&[usize]]) -> Self {
        Self::Tuple(paths.iter().map(|path| Self::Part(path.to_vec())).collect())
    }

    fn ty(&self, old: &Type) -> Result<Type, Problem> {
        match self {
            Self::Part(path) => part(old, path),
            Self::Tuple(shapes) => Ok(Type::tuple(shapes.iter().map(|it| it.ty(old)).collect::<Result<Vec<_>, _>>()?)?),
        }
    }

    /// Lets references to the parts be references to what the new parameter holds of them.
    fn substitute(&self, old: &Arc<str>, new: &Comp, substitution: &mut Substitution) -> Result<(), BuildError> {
        match self {
            Self::Part(path) => substitution.replace_part(old.clone(), path.clone(), new.clone()),
            Self::Tuple(shapes) => {
                for (index, shape) in shapes.iter().enumerate() {
                    shape.substitute(old, &Comp::selection(new.clone(), index)?, substitution)?;
                }
            }
        }
        Ok(())
    }
}

impl Normalized {
    /// The locals that some results need, and these results, with a substitution applied to all.
    pub(crate) fn slice(&self, result: &Comp, substitution: &Substitution) -> Result<Self, BuildError> {
        let result = substitution.apply(result)?;
        let mut needed = HashSet::new();
        collect_names(&result, &mut needed);
        let mut locals = Vec::new();
        for (name, value) in self.locals.iter().rev() {
            if needed.contains(name) {
                let value = substitution.apply(value)?;
                collect_names(&value, &mut needed);
                locals.push((name.clone(), value));
            }
        }
        locals.reverse();
        Ok(Self { parameter: self.parameter.clone(), locals, result })
    }

    /// A result as a function of a parameter of this shape, or of no parameter where there is no shape.
    ///
    /// # Errors
    /// Where the result needs more than that.
    pub(crate) fn function_of(&self, result: &Comp, shape: Option<&Shape>) -> Result<Comp, PassError> {
        let mut substitution = Substitution::default();
        let mut parameter = None;
        if let Some(shape) = shape {
            let name = self.fresh_names()?.next_name();
            let old = self.parameter()?;
            let ty = shape.ty(&old.ty)?;
            shape.substitute(&old.name, &Comp::reference(name.clone(), ty.clone())?, &mut substitution)?;
            parameter = Some(Parameter { name, ty });
        }
        let function = Self { parameter, ..self.slice(result, &substitution)? }.to_comp()?;
        match function.free_names().first() {
            None => Ok(function),
            Some(name) => Err(Problem::unbound(name).into()),
        }
    }

    /// A local function that is an element of the result.
    ///
    /// # Errors
    /// Where it needs more than its argument.
    pub(crate) fn function_at(&self, function: &Comp) -> Result<Comp, PassError> {
        let whole = self.function_of(function, None)?;
        Ok(Comp::call(whole, None)?)
    }
}

/// Adds all names that are referred to. As names are unique, those bound inside are no others.
pub(crate) fn collect_names(comp: &Comp, names: &mut HashSet<Arc<str>>) {
    for part in comp.preorder() {
        if let Some(reference) = part.as_reference() {
            names.insert(reference.name.clone());
        }
    }
}
