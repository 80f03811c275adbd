//! Functions of other packages' native code that modules of XLA call: jaxlib's linear algebra.
#![expect(unsafe_code, reason = "says of addresses that Python gives that they are handlers")]

use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::BTreeMap;
use std::ffi::CStr;
use tff_exec::leaf::xla::{Handler, add_handlers};

/// How jaxlib names the capsules that hold handlers.
const HANDLER: &CStr = c_str!("xla._CUSTOM_CALL_TARGET");

/// Gives handlers of custom calls, as jaxlib's capsules by their names, to the PJRT plugins of this process.
#[pyfunction]
pub(crate) fn add_xla_handlers(handlers: BTreeMap<String, Bound<'_, PyCapsule>>) -> PyResult<()> {
    let handlers: PyResult<Vec<Handler>> = handlers
        .into_iter()
        .map(|(name, capsule)| {
            let function = capsule.pointer_checked(Some(HANDLER))?;
            // SAFETY: a capsule of this name holds a handler in the code of an extension module, which Python never
            // unloads. The caller gives none that trusts the module which calls it.
            Ok(unsafe { Handler::new(name, function) })
        })
        .collect();
    add_handlers(handlers?);
    Ok(())
}
