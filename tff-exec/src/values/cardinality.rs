//! How many members a placement has.

use super::{Clients, Value};
use crate::ExecError;
use tff_types::{Path, Placement, Step};

/// The number of clients that the values placed at clients in `value` imply: that of every value
/// that is not all-equal. `None` if it has no such value.
///
/// # Errors
/// [`ExecError::Cardinality`], with the path, where two values disagree.
pub fn infer_cardinality(value: &Value) -> Result<Option<usize>, ExecError> {
    let mut known = None;
    walk(value, &mut Path::root(), &mut known)?;
    Ok(known)
}

fn walk(value: &Value, path: &mut Path, known: &mut Option<usize>) -> Result<(), ExecError> {
    match value {
        Value::Clients(Clients::Each(members)) => {
            check(members.n_clients(), known).map_err(|error| error.at(path.clone()))
        }
        Value::Struct(elements) => elements.iter().enumerate().try_for_each(|(index, element)| {
            path.push(Step::Element(index, None));
            walk(element, path, known)?;
            path.pop();
            Ok(())
        }),
        Value::Tensor(_)
        | Value::Sequence(_)
        | Value::Server(_)
        | Value::Clients(Clients::AllEqual(_))
        | Value::Function(_)
        | Value::Placement(_) => Ok(()),
    }
}

fn check(found: usize, known: &mut Option<usize>) -> Result<(), ExecError> {
    let expected = *known.get_or_insert(found);
    if expected == found {
        Ok(())
    } else {
        Err(ExecError::Cardinality { placement: Placement::Clients, expected, found })
    }
}
