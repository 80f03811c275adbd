//! Which locals depend on which intrinsics.

use super::normalized::Normalized;
use crate::error::{PassError, Problem};
use std::collections::HashMap;
use std::sync::Arc;
use tff_ir::{Comp, Intrinsic};

/// How a local stands to the intrinsics along which a function is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It needs no result of any of them.
    Independent,
    /// It calls one of them.
    Split,
    /// It needs the result of one of them.
    Dependent,
}

/// The intrinsic that a local calls.
pub(crate) fn called(value: &Comp) -> Option<&Intrinsic> {
    value.as_call()?.function.as_intrinsic()
}

/// The locals that are, or depend on, a call for which `is_source` holds; each with the first such
/// call, as it is named in messages.
fn dependents<'c>(
    normalized: &'c Normalized,
    is_source: &dyn Fn(&Intrinsic) -> bool,
) -> HashMap<&'c Arc<str>, (&'c Arc<str>, &'c Intrinsic)> {
    let mut found = HashMap::new();
    for (name, value) in &normalized.locals {
        let source = match called(value).filter(|it| is_source(it)) {
            Some(intrinsic) => Some((name, intrinsic)),
            None => first_dependent(value, &found),
        };
        if let Some(source) = source {
            found.insert(name, source);
        }
    }
    found
}

/// The call on which the first name in a computation depends that depends on one.
fn first_dependent<V: Copy>(comp: &Comp, found: &HashMap<&Arc<str>, V>) -> Option<V> {
    comp.preorder().filter_map(Comp::as_reference).find_map(|reference| found.get(&reference.name).copied())
}

/// Checks that no call of a `later` intrinsic depends on one of an `earlier` one.
///
/// # Errors
/// [`Problem::Dependent`] with both kinds and both calls.
pub(crate) fn check_not_dependent(
    normalized: &Normalized,
    (later, is_later): (&'static str, &dyn Fn(&Intrinsic) -> bool),
    (earlier, is_earlier): (&'static str, &dyn Fn(&Intrinsic) -> bool),
) -> Result<(), PassError> {
    let after = dependents(normalized, is_earlier);
    for (name, value) in &normalized.locals {
        let Some(intrinsic) = called(value).filter(|it| is_later(it)) else { continue };
        let argument = value.as_call().and_then(|call| call.argument.as_ref());
        if let Some((source, needed)) = argument.and_then(|argument| first_dependent(argument, &after)) {
            let later_call = format!("{} (`{name}`)", intrinsic.uri());
            let earlier_call = format!("{} (`{source}`)", needed.uri());
            return Err(PassError::at(value, Problem::Dependent { later, earlier, later_call, earlier_call }));
        }
    }
    Ok(())
}

/// Tells for each local how it stands to the intrinsics along which a function is split.
///
/// # Errors
/// [`Problem::Dependent`] where one of them depends on one of them, [`Problem::Expected`] where
/// one is not called at the top.
pub(crate) fn classify(
    normalized: &Normalized,
    is_split: &dyn Fn(&Intrinsic) -> bool,
) -> Result<Vec<Class>, PassError> {
    check_not_dependent(normalized, ("an intrinsic to split along", is_split), ("another one", is_split))?;
    let dependent = dependents(normalized, is_split);
    let class = |(name, value): &(Arc<str>, Comp)| {
        let is_call = called(value).is_some_and(is_split);
        let mut intrinsics = value.preorder().filter(|part| part.as_intrinsic().is_some_and(is_split));
        if let Some(inner) = intrinsics.nth(usize::from(is_call)) {
            let expected = "calls of intrinsics to split along that are not inside of functions";
            return Err(PassError::at(inner, Problem::Expected { expected, found: value.to_string() }));
        }
        Ok(match (is_call, dependent.contains_key(name)) {
            (true, _) => Class::Split,
            (false, true) => Class::Dependent,
            (false, false) => Class::Independent,
        })
    };
    normalized.locals.iter().map(class).collect()
}
