//! Small TensorFlow graphs, run without TensorFlow.
//!
//! Most of what an aggregation calls adds, multiplies or divides a few tensors, as does much of
//! what users write: graphs of a few nodes, for which a run of TensorFlow costs more than the
//! arithmetic. If every node of a graph is known here, the graph becomes a program that computes the same bits. Otherwise
//! there is no program, and TensorFlow runs the graph.
//!
//! TensorFlow also runs graphs with shapes that need more broadcasting than a scalar against a tensor,
//! even if only a run shows the shapes.

mod arithmetic;
mod convert;
mod program;
mod translate;

use super::binding::{Fed, Parameter, Slot};
use super::graph::decode;
use crate::values::nodes::check_dims;
use crate::{ExecError, Place, Tensor, Value};
use program::Program;
use tff_types::{FunctionType, Path};

/// A TensorFlow computation as a program.
#[derive(Debug)]
pub(super) struct Kernels {
    parameter: Parameter,
    result: Slot,
    program: Program,
}

impl Kernels {
    /// The program of a computation of this type; `None` where TensorFlow has to run it, or say
    /// what is wrong with it.
    pub(super) fn new(comp: &tff_ir::TensorFlow, ty: &FunctionType) -> Option<Self> {
        let (mut fed, mut fetched) = (Vec::new(), Vec::new());
        let parameter = Parameter::bind(comp.parameter.as_ref(), ty.parameter.as_ref(), &mut fed).ok()?;
        let result =
            Slot::bind(&comp.result, &ty.result, &Place::Binding("result", Path::root()), &mut fetched).ok()?;
        if !comp.initialize_op.is_empty() {
            return None;
        }
        let parameters: Vec<_> = fed.iter().zip(parameter.tensors()?).collect();
        result.tensors()?;
        let program = translate::translate(decode(&comp.graph).ok()?, &parameters, &fetched, &comp.session_token)?;
        Some(Self { parameter, result, program })
    }

    /// The tensors of an argument, checked.
    ///
    /// # Errors
    /// Those that the TensorFlow leaf gives for the same argument.
    pub(super) fn collect(&self, argument: Option<Value>) -> Result<Vec<Tensor>, ExecError> {
        let mut tensors = Vec::new();
        self.parameter.collect(argument, &mut |fed| match fed {
            Fed::Tensor(tensor) => {
                check_dims(tensor.array().dims())?;
                tensors.push(tensor);
                Ok(())
            }
            Fed::Sequence(_) => Err(ExecError::Internal("a program takes no sequences")),
        })?;
        Ok(tensors)
    }

    /// The result of a call, or the tensors again where the program does not know their shapes.
    ///
    /// # Errors
    /// [`ExecError::Run`] if memory runs out, or the result is not of the type.
    pub(super) fn run(&self, arguments: Vec<Tensor>) -> Result<Result<Value, Vec<Tensor>>, ExecError> {
        if !self.program.fits(&arguments) {
            return Ok(Err(arguments));
        }
        let mut results = self.program.run(arguments)?;
        let value = self.result.build(&mut |endpoint| {
            let result = results.get_mut(endpoint).and_then(Option::take);
            result.ok_or(ExecError::Internal("a result is missing"))
        })?;
        Ok(Ok(value))
    }
}
