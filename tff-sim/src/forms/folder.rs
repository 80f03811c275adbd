//! A form as a folder: `index.toml` says which form it is, of which type, and which parts it has;
//! the part of each role is in `ROLE.pb`.

use super::{Form, FormKind};
use crate::computation::{self, Message};
use crate::files::{FileError, FileProblem, check_folder, name_of, parse_toml, read_text, write_bytes};
use prost::Message as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tff_ir::Comp;
use tff_types::Type;

const INDEX: &str = "index.toml";

/// What `index.toml` holds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    /// The form.
    form: FormKind,
    /// The type of the computation that the parts make up.
    r#type: String,
    /// The parts.
    parts: Vec<Part>,
}

/// A part, which is in `ROLE.pb`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    /// What it is for.
    role: String,
    /// The type of the computation in the file.
    r#type: String,
}

/// Checks, before any work is done for it, that a form can be put where it shall go: into a folder that is new or
/// empty.
///
/// # Errors
/// Where it cannot.
pub fn check_new_folder(folder: &Path) -> Result<(), FileError> {
    check_folder(folder)?;
    let fail = |problem: FileProblem| problem.of(name_of(folder));
    if folder.is_dir() && fs::read_dir(folder).map_err(|error| fail(error.into()))?.next().is_none() {
        return Ok(());
    }
    if folder.symlink_metadata().is_ok() {
        return Err(fail(FileProblem::NotEmpty));
    }
    Ok(())
}

impl Form {
    /// Writes the form of a computation of type `ty` to a folder that is new or empty.
    ///
    /// # Errors
    /// Where a part cannot be encoded, or a file cannot be written.
    pub fn write(&self, ty: &Type, folder: &Path) -> Result<(), FileError> {
        let fail = |problem: FileProblem| problem.of(name_of(folder));
        if !folder.is_dir() {
            fs::create_dir(folder).map_err(|error| fail(error.into()))?;
        }
        let mut parts = Vec::new();
        for (role, part) in self.parts() {
            let proto = part.to_proto().map_err(|error| fail(error.into()))?;
            write_bytes(&folder.join(file_of(role)), &proto.encode_to_vec())?;
            parts.push(Part { role: role.to_owned(), r#type: part.ty().quoted().to_string() });
        }
        // Last: a folder with an index has all of its parts.
        let index = Index { form: self.kind(), r#type: ty.quoted().to_string(), parts };
        let index = toml::to_string(&index)
            .map_err(|error| fail(FileProblem::Toml { line: None, message: error.to_string() }))?;
        write_bytes(&folder.join(INDEX), index.as_bytes())
    }

    /// Reads a form from a folder. Its parts are of the types that the index says, and fit together.
    ///
    /// # Errors
    /// Where a file cannot be read, is not what the index says, or the parts do not fit together.
    pub fn read(folder: &Path) -> Result<Self, FileError> {
        let (index_name, index) = read_index(folder)?;
        let ty: Type = parse_type(&index.r#type, "type").map_err(|problem| problem.of(&index_name))?;

        let mut parts = read_parts(folder, &index, &index_name)?;
        let form = Self::from_parts(index.form, ty.clone(), |role| {
            let expected = || format!("a part {role} of the form {}", index.form);
            parts.remove(role).ok_or_else(|| FileProblem::unexpected(expected(), "none"))
        });
        let form = form.map_err(|problem| problem.of(&index_name))?;
        if let Some(role) = parts.keys().next() {
            let problem = FileProblem::UnknownPart { role: role.clone(), form: index.form.name() };
            return Err(problem.of(index_name));
        }
        let whole = form.to_comp().map_err(|error| FileProblem::from(error).of(name_of(folder)))?;
        ty.check_assignable_from(whole.ty())
            .map_err(|mismatch| FileProblem::FormType(Box::new(mismatch)).of(index_name))?;
        Ok(form)
    }
}

/// Reads the parts that the index of a folder names, as far as the form has such parts, by their roles: messages that
/// are not decoded yet, so that each can be checked on its own.
///
/// # Errors
/// Where the index or the file of a part cannot be read.
pub fn read_encoded_parts(folder: &Path) -> Result<Vec<(&'static str, Message)>, FileError> {
    let (_, index) = read_index(folder)?;
    let roles = index.form.roles().iter().filter(|role| index.parts.iter().any(|part| part.role == **role));
    roles.map(|&role| Ok((role, Message::read(&folder.join(file_of(role)))?))).collect()
}

/// The index, with its name.
fn read_index(folder: &Path) -> Result<(String, Index), FileError> {
    let path = folder.join(INDEX);
    if !path.exists() {
        return Err(FileProblem::NoForm.of(name_of(folder)));
    }
    let name = name_of(&path);
    let index = parse_toml(&read_text(&path)?).map_err(|problem| problem.of(&name))?;
    Ok((name, index))
}

/// Reads the parts that the index names, by their roles.
fn read_parts(folder: &Path, index: &Index, index_name: &str) -> Result<BTreeMap<String, Comp>, FileError> {
    let mut parts = BTreeMap::new();
    for Part { role, r#type } in &index.parts {
        // It must not lead out of the folder.
        if !role.chars().all(|char| char.is_ascii_alphabetic() || char == '_') {
            return Err(FileProblem::unexpected("the role of a part", format!("{role:?}")).of(index_name));
        }
        let expected = parse_type(r#type, format!("the type of the part {role}")).map_err(|it| it.of(index_name))?;
        let path = folder.join(file_of(role));
        let comp = computation::read_file(&path)?;
        if *comp.ty() != expected {
            let found = comp.ty().clone();
            return Err(FileProblem::PartType { expected, found }.of(name_of(&path)));
        }
        if parts.insert(role.clone(), comp).is_some() {
            return Err(FileProblem::unexpected(format!("one part {role}"), "several").of(index_name));
        }
    }
    Ok(parts)
}

fn parse_type(text: &str, what: impl Into<String>) -> Result<Type, FileProblem> {
    text.parse().map_err(|source| FileProblem::Type { what: what.into(), source })
}

fn file_of(role: &str) -> String {
    format!("{role}.pb")
}
