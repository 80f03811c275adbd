//! Splits a function along intrinsics into three, without computing anything twice.

use super::dependencies::{Class, called, classify};
use super::normalized::Normalized;
use super::slice::{Shape, collect_names};
use super::subparameters::part;
use crate::error::{CompileError, PassError, Problem};
use crate::pass::{located, run_pass};
use crate::passes::UniquifyReferenceNames;
use crate::substitution::{Substitution, path_from_name};
use std::collections::HashSet;
use std::sync::Arc;
use tff_ir::{BuildError, Comp, Intrinsic, Parameter, UniqueNames, transform_preorder};
use tff_types::Type;

/// The three functions that a function is split into.
///
/// With the parameter `x`, whose parts at three sets of paths are given to the three functions:
/// `<intrinsic_args_from_before_comp=a,intermediate_state=t>` is what `before` returns for
/// `<x[…],…>`, `r` what `intrinsic` returns for `<x[…],…,intrinsic_args_from_before_comp=a>`, and
/// `after` returns the result for `<x[…],…,intrinsic_results=r,intermediate_state=t>`.
#[derive(Clone, Debug)]
pub struct DivisiveSplit {
    /// What is computed before the intrinsics are called.
    pub before: Comp,
    /// The calls of the intrinsics and nothing else.
    pub intrinsic: Comp,
    /// What is computed from their results.
    pub after: Comp,
}

/// Which parts of the parameter each of the three functions is given.
#[derive(Clone, Copy, Debug)]
pub struct AllowedPaths<'a> {
    /// Those of [`DivisiveSplit::before`].
    pub before: &'a [Vec<usize>],
    /// Those of [`DivisiveSplit::intrinsic`].
    pub intrinsic: &'a [Vec<usize>],
    /// Those of [`DivisiveSplit::after`].
    pub after: &'a [Vec<usize>],
}

/// Splits a function along the intrinsics for which `is_split` holds.
///
/// # Errors
/// [`Problem::Dependent`] where a call depends on another one, [`Problem::Unbound`] where a
/// function needs more of the parameter than it is given.
pub fn divisive_force_align_and_split_by_intrinsics(
    comp: &Comp,
    is_split: &dyn Fn(&Intrinsic) -> bool,
    paths: AllowedPaths<'_>,
) -> Result<DivisiveSplit, CompileError> {
    let normalized = Normalized::new(comp)?;
    let split = Splitter::new(&normalized, is_split).and_then(|mut splitter| splitter.split(paths));
    let unique = |half: Comp| run_pass(&UniquifyReferenceNames, &half).map(|unique| unique.comp);
    let [before, intrinsic, after] = split.map_err(|error| located(NAME, comp, error))?;
    Ok(DivisiveSplit { before: unique(before)?, intrinsic: unique(intrinsic)?, after: unique(after)? })
}

const NAME: &str = "divisive_force_align_and_split_by_intrinsics";

struct Splitter<'a> {
    comp: &'a Normalized,
    parameter: &'a Parameter,
    classes: Vec<Class>,
    /// The calls to split along, those of one intrinsic together.
    calls: Vec<&'a (Arc<str>, Comp)>,
    names: UniqueNames,
}

impl<'a> Splitter<'a> {
    fn new(comp: &'a Normalized, is_split: &dyn Fn(&Intrinsic) -> bool) -> Result<Self, PassError> {
        let classes = classify(comp, is_split)?;
        let split = || comp.locals.iter().zip(&classes).filter(|(_, class)| **class == Class::Split).map(|(it, _)| it);
        let mut intrinsics = Vec::new();
        for intrinsic in split().filter_map(|(_, value)| called(value)) {
            if !intrinsics.contains(&intrinsic) {
                intrinsics.push(intrinsic);
            }
        }
        let calls = intrinsics.iter().flat_map(|it| split().filter(move |(_, value)| called(value) == Some(it)));
        let calls = calls.collect();
        Ok(Self { parameter: comp.parameter()?, calls, names: comp.fresh_names()?, comp, classes })
    }

    fn split(&mut self, paths: AllowedPaths<'_>) -> Result<[Comp; 3], PassError> {
        let (intrinsic, args) = self.intrinsic(paths.intrinsic)?;
        // What the arguments need is computed before; what else needs it is given it.
        let mut in_before = HashSet::new();
        let needed = self.comp.slice(&Comp::tuple(args.iter().cloned())?, &Substitution::default())?;
        in_before.extend(needed.locals.iter().map(|(name, _)| name.clone()));
        let (after, state) = self.after(paths.after, &in_before)?;
        let unnamed = |comps: Vec<Comp>| Comp::tuple(comps);
        let bundle =
            [(Some("intrinsic_args_from_before_comp"), unnamed(args)?), (Some("intermediate_state"), unnamed(state)?)];
        let independent = self.comp.locals.iter().zip(&self.classes).filter(|(_, class)| **class == Class::Independent);
        let independent = Normalized { locals: independent.map(|(it, _)| it.clone()).collect(), ..self.comp.clone() };
        let shape = Shape::Tuple(paths.before.iter().cloned().map(Shape::Part).collect());
        let before = independent.function_of(&Comp::structure(bundle)?, Some(&shape))?;
        Ok([before, intrinsic, after])
    }

    /// The function that calls the intrinsics, and what of their arguments is computed before.
    fn intrinsic(&mut self, paths: &[Vec<usize>]) -> Result<(Comp, Vec<Comp>), PassError> {
        let name = self.names.next_name();
        // The types of what is computed before are known only once it is found.
        let mut free = FreeParts { replaced: paths, parameter: &self.parameter.name, share: false, found: Vec::new() };
        for (_, call) in &self.calls {
            free.collect(call)?;
        }
        let found = free.found;
        let ty = self.parameter_ty(paths, &[("intrinsic_args_from_before_comp", types_of(&found)?)])?;
        let argument = Comp::reference(name.clone(), ty.clone())?;
        let args = Comp::selection(argument.clone(), paths.len())?;
        let mut rewrite = Rewrite { slots: &found, next: 0, args: &args };
        let substitution = self.parts_of_parameter(paths, &argument)?;
        let mut locals = Vec::with_capacity(self.calls.len());
        let mut results = Vec::with_capacity(self.calls.len());
        for (call, value) in &self.calls {
            results.push(Comp::reference(call.clone(), value.ty().clone())?);
            locals.push((call.clone(), rewrite.apply(&substitution.apply(value)?)?));
        }
        let body = Comp::block(locals, Comp::tuple(results)?)?;
        Ok((Comp::lambda(Some((name, ty)), body)?, found))
    }

    /// The function of the results, and what it is given that is computed before.
    fn after(&mut self, paths: &[Vec<usize>], in_before: &HashSet<Arc<str>>) -> Result<(Comp, Vec<Comp>), PassError> {
        let name = self.names.next_name();
        let kept = |(local, _): &(&(Arc<str>, Comp), &Class)| !in_before.contains(&local.0);
        let rest = self.comp.locals.iter().zip(&self.classes).filter(|(_, class)| **class != Class::Split);
        let rest = Normalized { locals: rest.filter(kept).map(|(it, _)| it.clone()).collect(), ..self.comp.clone() };
        let needed = rest.slice(&rest.result, &Substitution::default())?;

        let mut free = FreeParts { replaced: paths, parameter: &self.parameter.name, share: true, found: Vec::new() };
        let mut names = HashSet::new();
        for comp in needed.locals.iter().map(|(_, value)| value).chain([&needed.result]) {
            free.collect(comp)?;
            collect_names(comp, &mut names);
        }
        // First the parts of the parameter, then what is computed before.
        let mut state: Vec<_> =
            free.found.into_iter().filter(|comp| root(comp) == Some(&self.parameter.name)).collect();
        for (local, value) in
            self.comp.locals.iter().filter(|(local, _)| in_before.contains(local) && names.contains(local))
        {
            state.push(Comp::reference(local.clone(), value.ty().clone())?);
        }

        let results = self.calls.iter().map(|(_, value)| value.ty().clone());
        let fields = [("intrinsic_results", Type::tuple(results)?), ("intermediate_state", types_of(&state)?)];
        let ty = self.parameter_ty(paths, &fields)?;
        let argument = Comp::reference(name.clone(), ty.clone())?;
        let mut substitution = self.parts_of_parameter(paths, &argument)?;
        let results = Comp::selection(argument.clone(), paths.len())?;
        for (index, (call, _)) in self.calls.iter().enumerate() {
            substitution.replace(call.clone(), Comp::selection(results.clone(), index)?);
        }
        let slots = Comp::selection(argument, paths.len() + 1)?;
        for (index, given) in state.iter().enumerate() {
            if let Some((name, path)) = path_from_name(given) {
                substitution.replace_part(name.clone(), path, Comp::selection(slots.clone(), index)?);
            }
        }
        let needed = needed.slice(&needed.result, &substitution)?;
        let after = Normalized { parameter: Some(Parameter { name, ty }), ..needed }.to_comp()?;
        match after.free_names().first() {
            None => Ok((after, state)),
            Some(name) => Err(Problem::unbound(name).into()),
        }
    }

    fn parameter_ty(&self, paths: &[Vec<usize>], fields: &[(&'static str, Type)]) -> Result<Type, Problem> {
        let parts = paths.iter().map(|path| Ok((None, part(&self.parameter.ty, path)?)));
        let fields = fields.iter().map(|(name, ty)| Ok((Some(*name), ty.clone())));
        Ok(Type::structure(parts.chain(fields).collect::<Result<Vec<_>, Problem>>()?)?)
    }

    fn parts_of_parameter(&self, paths: &[Vec<usize>], argument: &Comp) -> Result<Substitution, BuildError> {
        let mut substitution = Substitution::default();
        for (index, path) in paths.iter().enumerate() {
            let part = Comp::selection(argument.clone(), index)?;
            substitution.replace_part(self.parameter.name.clone(), path.clone(), part);
        }
        Ok(substitution)
    }
}

fn types_of(comps: &[Comp]) -> Result<Type, Problem> {
    Ok(Type::tuple(comps.iter().map(|comp| comp.ty().clone()))?)
}

/// The name that a chain of selections starts from.
fn root(comp: &Comp) -> Option<&Arc<str>> {
    path_from_name(comp).map(|(name, _)| name)
}

/// Finds the parts of what free names stand for that a function has to be given.
struct FreeParts<'a> {
    /// The paths to the parts of the parameter that it is given in any case.
    replaced: &'a [Vec<usize>],
    parameter: &'a Arc<str>,
    /// Whether equal parts are given once.
    share: bool,
    found: Vec<Comp>,
}

impl FreeParts<'_> {
    fn collect(&mut self, comp: &Comp) -> Result<(), PassError> {
        let free = comp.free_names();
        let collected = transform_preorder(comp, &mut |comp| -> Result<Option<Comp>, BuildError> {
            let Some((name, path)) = path_from_name(comp) else { return Ok(None) };
            let is_given = name == self.parameter && self.replaced.iter().any(|start| path.starts_with(start));
            if free.contains(name) && !is_given && !(self.share && self.found.contains(comp)) {
                self.found.push(comp.clone());
            }
            // Nothing changes; it is just that selections are not looked into.
            Ok(Some(comp.clone()))
        });
        collected.map(drop).map_err(PassError::from)
    }
}

/// Puts the parts that a function is given in the place of what they are parts of, each occurrence
/// having its own.
struct Rewrite<'a> {
    slots: &'a [Comp],
    next: usize,
    args: &'a Comp,
}

impl Rewrite<'_> {
    fn apply(&mut self, comp: &Comp) -> Result<Comp, PassError> {
        let rewritten = transform_preorder(comp, &mut |comp| -> Result<Option<Comp>, BuildError> {
            if path_from_name(comp).is_none() {
                return Ok(None);
            }
            if self.slots.get(self.next) != Some(comp) {
                return Ok(Some(comp.clone()));
            }
            let slot = Comp::selection(self.args.clone(), self.next);
            self.next += 1;
            slot.map(Some)
        });
        Ok(rewritten?.comp)
    }
}
