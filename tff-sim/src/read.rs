//! Reads a computation from a message, a text or a folder.

use crate::computation::read_file;
use crate::files::{FileError, FileProblem, name_of};
use crate::forms::Form;
use std::path::Path;
use tff_ir::Comp;

/// Reads a computation: a message `.pb`, a text `.tff` with what lies beside it, or the folder of a form, which gives
/// the computation that its parts make up. Where the name does not say what a file is, its content does.
///
/// # Errors
/// [`FileError`], with the file and what is wrong with it.
pub fn read(path: &Path) -> Result<Comp, FileError> {
    if path.is_dir() {
        return Form::read(path)?.to_comp().map_err(|error| FileProblem::from(error).of(name_of(path)));
    }
    read_file(path)
}
