//! The commands `tff` and `tff-worker`, for the scripts of the package.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs `tff` with these arguments, the name of the program first, and returns its exit code. Arguments that cannot be
/// read end the process.
#[pyfunction]
pub(crate) fn tff(py: Python<'_>, args: Vec<OsString>) -> i32 {
    match py.detach(|| tff_cli::tff(args)) {
        ExitCode::SUCCESS => 0,
        ExitCode::FAILURE => 1,
        // Wrong usage.
        _ => 2,
    }
}

/// Runs `tff-worker` with these arguments, the name of the program first; ends the process.
#[pyfunction]
pub(crate) fn worker(py: Python<'_>, args: Vec<String>) {
    py.detach(|| tff_cli::worker(args));
}
