//! Which locals depend on which intrinsics.

use super::normalized::Normalized;
use crate::error::{PassError, Problem};
use std::collections::HashMap;
use std::sync::Arc;
use tff_ir::Comp;

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

/// The uri of the intrinsic that a local calls.
pub(crate) fn called_uri(value: &Comp) -> Option<&Arc<str>> {
    Some(&value.as_call()?.function.as_intrinsic()?.uri)
}

/// The locals that are, or depend on, a call for which `is_source` holds; each with the first such
/// call, as it is named in messages.
fn dependents<'c>(
    normalized: &'c Normalized,
    is_source: &dyn Fn(&str) -> bool,
) -> HashMap<&'c Arc<str>, (&'c Arc<str>, &'c Arc<str>)> {
    let mut found = HashMap::new();
    for (name, value) in &normalized.locals {
        let source = match called_uri(value).filter(|uri| is_source(uri)) {
            Some(uri) => Some((name, uri)),
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
    (later, is_later): (&'static str, &dyn Fn(&str) -> bool),
    (earlier, is_earlier): (&'static str, &dyn Fn(&str) -> bool),
) -> Result<(), PassError> {
    let after = dependents(normalized, is_earlier);
    for (name, value) in &normalized.locals {
        let Some(uri) = called_uri(value).filter(|uri| is_later(uri)) else { continue };
        let argument = value.as_call().and_then(|call| call.argument.as_ref());
        if let Some((source, source_uri)) = argument.and_then(|argument| first_dependent(argument, &after)) {
            let later_call = format!("{uri} (`{name}`)");
            let earlier_call = format!("{source_uri} (`{source}`)");
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
pub(crate) fn classify(normalized: &Normalized, is_split: &dyn Fn(&str) -> bool) -> Result<Vec<Class>, PassError> {
    check_not_dependent(normalized, ("an intrinsic to split along", is_split), ("another one", is_split))?;
    let dependent = dependents(normalized, is_split);
    let class = |(name, value): &(Arc<str>, Comp)| {
        let is_call = called_uri(value).is_some_and(|uri| is_split(uri));
        let mut intrinsics = value.preorder().filter(|part| part.as_intrinsic().is_some_and(|it| is_split(&it.uri)));
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
