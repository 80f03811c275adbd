//! Splits a function along intrinsics, by merging all calls of the same intrinsic into one.

use super::dependencies::{Class, called, classify};
use super::normalized::Normalized;
use crate::create::{create_map_or_apply, create_selection, create_zip, placed};
use crate::error::{CompileError, PassError, Problem};
use crate::pass::{located, run_pass};
use crate::passes::UniquifyReferenceNames;
use crate::substitution::Substitution;
use std::sync::Arc;
use tff_ir::{Comp, Intrinsic, Parameter, UniqueNames};
use tff_types::{Type, TypeKind};

/// Splits a function into what is computed before some intrinsics and what is computed after them.
///
/// All calls of an intrinsic become one, of the arguments zipped; where there is none, the default
/// is called. `defaults` are calls, one for each intrinsic to split along. With the parameter `T`,
/// the first result is a function `(T -> <federated_sum_param=P,…>)`, the second one
/// `(<original_arg=T,intrinsic_results=<federated_sum_result=R,…>> -> …)`; what does not depend on
/// the intrinsics may be computed by both.
///
/// # Errors
/// [`Problem::Dependent`] where a call depends on another one.
pub fn force_align_and_split_by_intrinsics(comp: &Comp, defaults: &[Comp]) -> Result<(Comp, Comp), CompileError> {
    let (before, after) = split(&Normalized::new(comp)?, defaults).map_err(|error| located(NAME, comp, error))?;
    let unique = |half: Normalized| {
        let half = half.to_comp().map_err(|error| located(NAME, comp, error.into()))?;
        run_pass(&UniquifyReferenceNames, &half).map(|unique| unique.comp)
    };
    Ok((unique(before)?, unique(after)?))
}

pub(crate) const NAME: &str = "force_align_and_split_by_intrinsics";

/// One intrinsic to split along.
struct Aligned {
    intrinsic: Intrinsic,
    /// The one argument of all calls.
    argument: Comp,
    /// The type of the one result.
    result: Type,
    /// The calls: name and type of each.
    calls: Vec<(Arc<str>, Type)>,
}

pub(crate) fn split(comp: &Normalized, defaults: &[Comp]) -> Result<(Normalized, Normalized), PassError> {
    let intrinsics: Vec<_> = defaults.iter().filter_map(called).collect();
    let classes = classify(comp, &|intrinsic| intrinsics.contains(&intrinsic))?;
    let mut names = comp.fresh_names()?;
    let mut before = Normalized { locals: Vec::new(), ..comp.clone() };
    for ((name, value), class) in comp.locals.iter().zip(&classes) {
        if *class == Class::Independent {
            before.locals.push((name.clone(), value.clone()));
        }
    }
    let mut aligned = Vec::with_capacity(defaults.len());
    for default in defaults {
        aligned.push(align(comp, default, &mut before.locals, &mut names)?);
    }
    let parameters = aligned.iter().map(|it| (Some(format!("{}_param", it.intrinsic.uri())), it.argument.clone()));
    before.result = Comp::structure(parameters)?;
    let before = before.slice(&before.result, &Substitution::default())?;
    Ok((before, after(comp, &classes, &aligned, &mut names)?))
}

/// Makes one call of all calls of an intrinsic.
fn align(
    comp: &Normalized,
    default: &Comp,
    locals: &mut Vec<(Arc<str>, Comp)>,
    names: &mut UniqueNames,
) -> Result<Aligned, PassError> {
    let not_a_call = || Problem::expected("a call of an intrinsic with an argument", default.ty());
    let intrinsic = called(default).ok_or_else(not_a_call)?.clone();
    let argument = |call: &Comp| call.as_call().and_then(|call| call.argument.clone());
    let calls: Vec<_> = comp.locals.iter().filter(|(_, value)| called(value) == Some(&intrinsic)).collect();
    let arguments: Vec<_> = calls.iter().filter_map(|(_, value)| argument(value)).collect();
    let Some((_, first)) = calls.first() else {
        let argument = argument(default).ok_or_else(not_a_call)?;
        return Ok(Aligned { intrinsic, argument, result: default.ty().clone(), calls: Vec::new() });
    };
    let template = intrinsic.def().and_then(|it| it.template().as_function()?.parameter.as_ref());
    let template = template.ok_or_else(not_a_call)?;
    let mut merging = Merging { locals, names };
    let argument = merging.merge(template, &arguments).map_err(|error| error.or_at(first))?;
    let (federated, placement) = placed(first.ty())?;
    let members = calls.iter().map(|(_, call)| {
        let (other, _) = placed(call.ty())?;
        if other.all_equal == federated.all_equal {
            Ok(other.member.clone())
        } else {
            Err(Problem::expected("calls of one intrinsic that are all-equal alike", call.ty()))
        }
    });
    let member = Type::tuple(members.collect::<Result<Vec<_>, Problem>>()?)?;
    let result = Type::federated(member, placement, federated.all_equal)?;
    Ok(Aligned {
        intrinsic,
        argument,
        result,
        calls: calls.iter().map(|(name, call)| (name.clone(), call.ty().clone())).collect(),
    })
}

/// Makes one argument of several ones.
struct Merging<'a> {
    /// Where calls go that this takes.
    locals: &'a mut Vec<(Arc<str>, Comp)>,
    names: &'a mut UniqueNames,
}

impl Merging<'_> {
    /// Merges arguments of an intrinsic that has a parameter of this type.
    fn merge(&mut self, template: &Type, arguments: &[Comp]) -> Result<Comp, PassError> {
        match template.kind() {
            TypeKind::Federated(_) => {
                let zipped = create_zip(Comp::tuple(arguments.iter().cloned())?)?;
                let reference = Comp::reference(self.names.next_name(), zipped.ty().clone())?;
                if let Some(name) = reference.as_reference() {
                    self.locals.push((name.name.clone(), zipped));
                }
                Ok(reference)
            }
            TypeKind::Struct(structure) => {
                let elements = structure.elements().iter().enumerate().map(|(index, element)| {
                    let parts = arguments.iter().map(|argument| create_selection(argument, index));
                    self.merge(&element.ty, &parts.collect::<Result<Vec<_>, _>>()?)
                });
                Ok(Comp::tuple(elements.collect::<Result<Vec<_>, PassError>>()?)?)
            }
            TypeKind::Function(function) => {
                let parameters = function.parameter.as_ref().and_then(Type::as_struct).map(|it| it.len());
                self.merge_functions(parameters, arguments)
            }
            _ => Ok(Comp::tuple(arguments.iter().cloned())?),
        }
    }

    /// One function that calls each with its part of the argument: of the one parameter, or of each
    /// of so many.
    fn merge_functions(&mut self, parameters: Option<usize>, functions: &[Comp]) -> Result<Comp, PassError> {
        let types = functions.iter().map(|function| {
            let parameter = function.ty().as_function().and_then(|ty| ty.parameter.clone());
            parameter.ok_or_else(|| Problem::expected("functions with a parameter", function.ty()))
        });
        let types = types.collect::<Result<Vec<_>, _>>()?;
        let ty = match parameters {
            None => Type::tuple(types)?,
            Some(count) => {
                let part = |index| {
                    let parts = types.iter().map(|ty| super::subparameters::part(ty, &[index]));
                    Ok(Type::tuple(parts.collect::<Result<Vec<_>, _>>()?)?)
                };
                Type::tuple((0..count).map(part).collect::<Result<Vec<_>, Problem>>()?)?
            }
        };
        let name = self.names.next_name();
        let argument = Comp::reference(name.clone(), ty.clone())?;
        let calls = functions.iter().enumerate().map(|(position, function)| {
            let argument = match parameters {
                None => Comp::selection(argument.clone(), position)?,
                Some(count) => {
                    let part = |index| Comp::selection(Comp::selection(argument.clone(), index)?, position);
                    Comp::tuple((0..count).map(part).collect::<Result<Vec<_>, _>>()?)?
                }
            };
            Comp::call(function.clone(), Some(argument))
        });
        let calls = calls.collect::<Result<Vec<_>, _>>()?;
        Ok(Comp::lambda(Some((name, ty)), Comp::tuple(calls)?)?)
    }
}

/// What is computed from the results of the intrinsics.
fn after(
    comp: &Normalized,
    classes: &[Class],
    aligned: &[Aligned],
    names: &mut UniqueNames,
) -> Result<Normalized, PassError> {
    let results = aligned.iter().map(|it| (Some(format!("{}_result", it.intrinsic.uri())), it.result.clone()));
    let results = (Some("intrinsic_results"), Type::structure(results)?);
    let original = comp.parameter.as_ref().map(|it| (Some("original_arg"), it.ty.clone()));
    let position = usize::from(original.is_some());
    let ty = Type::structure(original.into_iter().chain([results]))?;
    let name = names.next_name();
    let argument = Comp::reference(name.clone(), ty.clone())?;
    let results = Comp::selection(argument.clone(), position)?;
    let mut locals = Vec::new();
    for (index, it) in aligned.iter().enumerate() {
        let result = Comp::selection(results.clone(), index)?;
        for (position, (call, _)) in it.calls.iter().enumerate() {
            locals.push((call.clone(), element_of_members(&result, position, names)?));
        }
    }
    let rest = comp.locals.iter().zip(classes).filter(|(_, class)| **class != Class::Split);
    locals.extend(rest.map(|(local, _)| local.clone()));
    let mut substitution = Substitution::default();
    if let Some(parameter) = &comp.parameter {
        substitution.replace(parameter.name.clone(), Comp::selection(argument, 0)?);
    }
    let all = Normalized { parameter: Some(Parameter { name, ty }), locals, result: comp.result.clone() };
    Ok(all.slice(&all.result, &substitution)?)
}

/// The element at this position of every member of a federated struct.
pub(crate) fn element_of_members(value: &Comp, position: usize, names: &mut UniqueNames) -> Result<Comp, Problem> {
    let member = &placed(value.ty())?.0.member;
    let name = names.next_name();
    let element = Comp::selection(Comp::reference(name.clone(), member.clone())?, position)?;
    create_map_or_apply(Comp::lambda(Some((name, member.clone())), element)?, value.clone())
}
