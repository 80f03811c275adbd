//! `Form`: a computation as several parts with fixed roles.

use crate::computation::{Computation, compile_error, file_error, options};
use crate::error::{Class, plain};
use crate::types::Type;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use tff_ir::{BuildError, Comp, Intrinsic, UniqueNames};
use tff_sim::forms::{Form as Parts, FormKind, check_new_folder};
use tff_types::Type as Ty;

/// A computation as several parts with fixed roles, for systems that run each part where and how they like.
#[pyclass(frozen, module = "federated_runtime")]
pub(crate) struct Form {
    parts: Parts,
    ty: tff_types::Type,
}

impl Form {
    pub(crate) fn split(py: Python<'_>, comp: &Computation, kind: &str, insecure_aggregation: bool) -> PyResult<Self> {
        let kinds = [FormKind::MapReduce, FormKind::DistributeAggregate, FormKind::Mergeable, FormKind::Broadcast];
        let Some(kind) = kinds.into_iter().find(|it| it.to_string() == kind) else {
            let kinds = kinds.map(|kind| format!("'{kind}'")).join(", ");
            return Err(PyValueError::new_err(format!("expected one of the forms {kinds}, found {kind:?}")));
        };
        let parts = py.detach(|| Parts::from_comp(kind, &comp.0, &options(insecure_aggregation)));
        let parts = parts.map_err(|error| compile_error(py, &error))?;
        Ok(Self { parts, ty: comp.0.ty().clone() })
    }
}

#[pymethods]
impl Form {
    /// Reads the folder of a form.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let parts = py.detach(|| Parts::read(&path)).map_err(|error| file_error(py, error))?;
        let whole = parts.to_comp().map_err(|error| compile_error(py, &error))?;
        Ok(Self { parts, ty: whole.ty().clone() })
    }

    /// Writes the form to a folder, which must be new or empty.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let saved = py.detach(|| check_new_folder(&path).and_then(|()| self.parts.write(&self.ty, &path)));
        saved.map_err(|error| file_error(py, error))
    }

    /// The name of the form.
    #[getter]
    fn kind(&self) -> String {
        self.parts.kind().to_string()
    }

    /// The type of the whole computation.
    #[getter]
    fn r#type(&self) -> Type {
        Type(self.ty.clone())
    }

    /// The parts by their roles.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parts = PyDict::new(py);
        for (role, part) in self.parts.parts() {
            parts.set_item(role, Computation(part.clone()))?;
        }
        Ok(parts)
    }

    /// The parts put together again.
    fn to_computation(&self, py: Python<'_>) -> PyResult<Computation> {
        let whole = py.detach(|| self.parts.to_comp());
        whole.map(Computation).map_err(|error| compile_error(py, &error))
    }

    /// The first part of the form ``mergeable``, for clients that come one after another: ``zero``, ``( -> A)``, and
    /// ``accumulate``, ``(<A,T> -> A@SERVER)``, which goes on from what the clients before gave. For all clients from
    /// ``zero`` on, in whatever portions, it gives what ``up_to_merge`` does.
    ///
    /// Raises:
    ///     CompileError: The form is another one, or nothing is aggregated in it.
    fn to_fold(&self, py: Python<'_>) -> PyResult<(Computation, Computation)> {
        let refuse = |message: String| plain(py, Class::Compile, message);
        let Parts::Mergeable(form) = &self.parts else {
            return Err(refuse(format!("expected the form mergeable, found {}", self.parts.kind())));
        };
        match fold(form.up_to_merge()).map_err(|error| refuse(error.to_string()))? {
            Some((zero, accumulate)) => Ok((Computation(zero), Computation(accumulate))),
            None => Err(refuse("nothing that clients have is aggregated".to_owned())),
        }
    }

    fn __repr__(&self) -> String {
        format!("<Form {} {}>", self.parts.kind(), self.ty)
    }
}

/// `zero` and `accumulate` of a computation that ends in an aggregation; `None` for others.
fn fold(up_to_merge: &Comp) -> Result<Option<(Comp, Comp)>, BuildError> {
    let Some(lambda) = up_to_merge.as_lambda() else { return Ok(None) };
    let Some(parameter) = &lambda.parameter else { return Ok(None) };
    let block = lambda.result.as_block();
    let (locals, result) = block.map_or((&[][..], &lambda.result), |block| (&block.locals[..], &block.result));
    let Some(call) = result.as_call() else { return Ok(None) };
    let operands = call.argument.as_ref().and_then(Comp::as_struct).map(|operands| &operands.elements[..]);
    let (Some(Intrinsic::FederatedAggregate), Some([value, zero, functions @ ..])) =
        (call.function.as_intrinsic(), operands)
    else {
        return Ok(None);
    };
    let name = UniqueNames::new(up_to_merge).next_name();
    let ty = Ty::tuple([zero.value.ty().clone(), parameter.ty.clone()]).map_err(BuildError::from)?;
    let given = |index| Comp::selection(Comp::reference(name.clone(), ty.clone())?, index);
    let operands = [value.value.clone(), given(0)?].into_iter().chain(functions.iter().map(|it| it.value.clone()));
    let aggregated = Comp::call(call.function.clone(), Some(Comp::tuple(operands)?))?;
    let locals = locals.iter().map(|local| (local.name.clone(), local.value.clone()));
    let block = Comp::block(std::iter::once((parameter.name.clone(), given(1)?)).chain(locals), aggregated)?;
    let accumulate = Comp::lambda(Some((name.clone(), ty.clone())), block)?;
    Ok(Some((Comp::lambda(None::<(&str, Ty)>, zero.value.clone())?, accumulate)))
}
