//! What intrinsics are made of: for each that no runtime computes by itself, a function that does
//! the same by those that runtimes compute and by graphs or modules.

mod federated;
mod generic;
mod leaf;
mod secure;
mod sequence;

use crate::error::Problem;
use tff_ir::{Comp, INTRINSICS, IntrinsicDef};
use tff_types::{FunctionType, Type};

pub(crate) use leaf::Leaf;

/// Makes the body of an intrinsic for the type that it has, of functions that this leaf runs.
pub(crate) type Reduction = fn(Leaf, &Type) -> Result<Comp, Problem>;

/// The reductions that change nothing about who sees what.
static REDUCTIONS: &[(&str, Reduction)] = &[
    ("federated_mean", federated::mean),
    ("federated_weighted_mean", federated::weighted_mean),
    ("federated_min", federated::min),
    ("federated_max", federated::max),
    ("federated_sum", federated::sum),
    ("generic_divide", generic::divide),
    ("generic_multiply", generic::multiply),
    ("generic_plus", generic::plus),
    ("generic_zero", generic::zero),
    ("sequence_sum", sequence::sum),
];

/// The reductions of secure aggregations to ones that are not secure, for tests and simulations.
static INSECURE: &[(&str, Reduction)] = &[
    ("federated_secure_sum_bitwidth", secure::sum_bitwidth),
    ("federated_secure_modular_sum", secure::modular_sum),
    ("federated_secure_sum", secure::sum),
    ("federated_secure_select", secure::select),
];

/// The reduction of an intrinsic, if it has one.
pub(crate) fn find(uri: &str, insecure: bool) -> Option<Reduction> {
    let insecure = if insecure { INSECURE } else { &[] };
    REDUCTIONS.iter().chain(insecure).find(|(name, _)| *name == uri).map(|(_, reduction)| *reduction)
}

/// The known uri that is most like another one, if any is much like it.
pub(crate) fn nearest(uri: &str) -> Option<&'static str> {
    let uri: String = uri.chars().take(MAX_COMPARED).collect();
    let known = INTRINSICS.iter().map(|intrinsic: &&IntrinsicDef| (distance(&uri, intrinsic.uri), intrinsic.uri));
    known.min().filter(|(distance, _)| *distance <= uri.len().div_ceil(3)).map(|(_, uri)| uri)
}

const MAX_COMPARED: usize = 64;

/// How many characters have to be inserted, dropped or replaced.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.chars().count()).collect();
    for (position, left) in left.chars().enumerate() {
        let mut diagonal = position;
        let mut last = position + 1;
        if let Some(first) = row.first_mut() {
            *first = last;
        }
        for (cell, right) in row.iter_mut().skip(1).zip(right.chars()) {
            let replaced = diagonal + usize::from(left != right);
            diagonal = *cell;
            last = replaced.min(diagonal + 1).min(last + 1);
            *cell = last;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// The parameter of an intrinsic that is a function.
fn parameter(ty: &Type) -> Result<(&FunctionType, &Type), Problem> {
    let function = ty.as_function();
    function
        .and_then(|function| Some((function, function.parameter.as_ref()?)))
        .ok_or_else(|| Problem::expected("an intrinsic that takes an argument", ty))
}

/// `(arg -> result)`, the result being made from the reference to the parameter.
fn lambda(parameter: &Type, result: impl FnOnce(Comp) -> Result<Comp, Problem>) -> Result<Comp, Problem> {
    let argument = Comp::reference("arg", parameter.clone())?;
    Ok(Comp::lambda(Some(("arg", parameter.clone())), result(argument)?)?)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn what_is_nearly_right_is_suggested() {
        assert_eq!(nearest("federated_sun"), Some("federated_sum"));
        assert_eq!(nearest("federated_collect"), Some("federated_select"));
        assert_eq!(nearest("something_else_entirely_different"), None);
        assert_eq!(nearest(&"x".repeat(1 << 20)), None);
    }
}
