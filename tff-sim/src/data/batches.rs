//! Rows of a client as the elements of its sequence.

use super::cells::FrozenCells;
use super::columns::{Layout, Plan, TensorPlan};
use super::{DataConfig, DataError, KeyProblem};
use std::ops::Range;
use tff_exec::{Sequence, Value};
use tff_types::Type;

type Result<T> = std::result::Result<T, DataError>;

/// Which rows of a client make up the elements.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    pub(super) size: usize,
    /// Whether rows that fill no batch are left out.
    only_full: bool,
    pub(super) epochs: usize,
}

impl Batches {
    pub(super) fn new(config: &DataConfig, plan: &Plan, element: &Type) -> Result<Self> {
        let size = match (config.batch_size, plan.is_batched) {
            (Some(size), true) => Ok(size.get()),
            (None, false) if config.drop_remainder => {
                Err(KeyProblem::Missing { reason: "data.drop_remainder needs it".to_owned() })
            }
            (None, false) => Ok(1),
            (None, true) => Err(KeyProblem::Missing { reason: format!("{element} has a batch dimension") }),
            (Some(size), false) if config.drop_remainder => {
                let expected = format!("the first dimension of the tensors of {element}");
                Err(KeyProblem::expected(expected, size.to_string()))
            }
            (Some(size), false) => Err(KeyProblem::expected(
                format!("none, as {element} has no batch dimension `?`"),
                format!("{size} (a dimension {size} is one if data.drop_remainder is true)"),
            )),
        };
        let size = size.map_err(|problem| problem.at("data.batch_size"))?;
        Ok(Self { size, only_full: config.drop_remainder, epochs: config.epochs.get() as usize })
    }

    /// The rows of each batch in an epoch of a client that has so many.
    pub(super) fn of(&self, n_rows: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let end = if self.only_full { n_rows - n_rows % self.size } else { n_rows };
        (0..end).step_by(self.size).map(move |start| start..end.min(start.saturating_add(self.size)))
    }

    /// The sequence of a client whose rows these are: `cells` has those of each tensor of the plan.
    pub(super) fn sequence(&self, plan: &Plan, element: &Type, cells: &[FrozenCells], n_rows: usize) -> Result<Value> {
        let mut elements = Vec::new();
        for rows in self.of(n_rows) {
            let tensors = plan.tensors.iter().zip(cells);
            let tensors: Result<Vec<Value>> =
                tensors.map(|(tensor, cells)| batch(tensor, cells, plan.is_batched, rows.clone())).collect();
            elements.push(assemble(&plan.layout, &tensors?));
        }
        let n_elements = elements.len();
        let elements: Vec<Value> = elements.into_iter().cycle().take(n_elements * self.epochs).collect();
        Ok(Value::Sequence(Sequence::from_elements(element.clone(), elements)))
    }
}

/// The tensor of these rows.
fn batch(tensor: &TensorPlan, cells: &FrozenCells, is_batched: bool, rows: Range<usize>) -> Result<Value> {
    let n_rows = rows.len() as u64;
    let dims = is_batched.then_some(n_rows).into_iter().chain(tensor.row_dims.iter().copied()).collect();
    Ok(Value::array(cells.array(tensor.dtype, dims, rows.start * tensor.width..rows.end * tensor.width)?))
}

fn assemble(layout: &Layout, tensors: &[Value]) -> Value {
    match layout {
        // The layout names the tensors of its own plan.
        Layout::Tensor(index) => tensors.get(*index).cloned().unwrap_or_else(|| Value::structure([])),
        Layout::Struct(layouts) => Value::structure(layouts.iter().map(|layout| assemble(layout, tensors))),
    }
}
