//! A form as a folder: `index.toml` says which form it is, of which type, and which parts it has;
//! the part of each role is in `ROLE.pb`.

use super::{Form, FormKind};
use crate::computation;
use crate::input::{Source, parse_toml};
use crate::output;
use anyhow::{Context, Result, bail};
use prost::Message;
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

/// Whether it is a folder, and so may hold a form, as no computation is one.
pub(crate) fn is_form(source: &Source) -> bool {
    matches!(source, Source::File(path) if path.is_dir())
}

/// Checks, before any work is done for it, that a form can be put where it shall go.
pub(crate) fn check_new(folder: &Path) -> Result<()> {
    output::check_folder(folder)?;
    let name = || folder.display().to_string();
    if folder.is_dir() && fs::read_dir(folder).with_context(name)?.next().is_none() {
        return Ok(());
    }
    if folder.symlink_metadata().is_ok() {
        bail!("{}: expected a folder that is new or empty", folder.display());
    }
    Ok(())
}

/// Writes a form of a computation of type `ty` to a folder that is new or empty.
pub(crate) fn write(form: &Form, ty: &Type, folder: &Path) -> Result<()> {
    let name = || folder.display().to_string();
    if !folder.is_dir() {
        fs::create_dir(folder).with_context(name)?;
    }
    let mut parts = Vec::new();
    for (role, part) in form.parts() {
        let bytes = part.to_proto().with_context(name)?.encode_to_vec();
        output::file(&folder.join(file_of(role)), &bytes)?;
        parts.push(Part { role: role.to_owned(), r#type: part.ty().to_string() });
    }
    // Last: a folder with an index has all of its parts.
    let index = Index { form: form.kind(), r#type: ty.to_string(), parts };
    output::file(&folder.join(INDEX), toml::to_string(&index).with_context(name)?.as_bytes())
}

/// Reads a form from a folder. Its parts are of the types that the index says, and fit together.
pub(crate) fn read(source: &Source) -> Result<Form> {
    let (folder, index_name, index) = read_index(source)?;
    let ty: Type = index.r#type.parse().with_context(|| format!("{index_name}: type"))?;

    let mut parts = read_parts(folder, &index, &index_name)?;
    let form = Form::from_parts(index.form, ty.clone(), |role| {
        parts.remove(role).with_context(|| format!("expected a part {role} of the form {}, found none", index.form))
    });
    let form = form.with_context(|| index_name.clone())?;
    if let Some(role) = parts.keys().next() {
        bail!("{index_name}: expected no part {role} of the form {}", index.form);
    }
    let whole = form.to_comp().with_context(|| source.name())?;
    ty.check_assignable_from(whole.ty()).with_context(|| format!("{index_name}: type"))?;
    Ok(form)
}

/// The files of the parts that the index names, as far as the form has such parts; by their roles.
pub(crate) fn parts(source: &Source) -> Result<Vec<(&'static str, Source)>> {
    let (folder, _, index) = read_index(source)?;
    let roles = index.form.roles().iter().filter(|role| index.parts.iter().any(|part| part.role == **role));
    Ok(roles.map(|&role| (role, Source::File(folder.join(file_of(role))))).collect())
}

/// The folder, and the index with its name.
fn read_index(source: &Source) -> Result<(&Path, String, Index)> {
    let Source::File(folder) = source else { bail!("{}: expected the folder of a form", source.name()) };
    let path = folder.join(INDEX);
    let name = path.display().to_string();
    let bytes = Source::File(path).read().with_context(|| name.clone())?;
    let text = str::from_utf8(&bytes).with_context(|| name.clone())?;
    let index = parse_toml(&name, text)?;
    Ok((folder, name, index))
}

/// Reads the parts that the index names, by their roles.
fn read_parts(folder: &Path, index: &Index, index_name: &str) -> Result<BTreeMap<String, Comp>> {
    let mut parts = BTreeMap::new();
    for Part { role, r#type } in &index.parts {
        // It must not lead out of the folder.
        if !role.chars().all(|char| char.is_ascii_alphabetic() || char == '_') {
            bail!("{index_name}: expected the role of a part, found {role:?}");
        }
        let expected: Type = r#type.parse().with_context(|| format!("{index_name}: the type of the part {role}"))?;
        let source = Source::File(folder.join(file_of(role)));
        let comp = computation::read_one(&source)?;
        if !comp.ty().is_identical_to(&expected) {
            bail!("{}: expected a computation of type {expected}, found {}", source.name(), comp.ty());
        }
        if parts.insert(role.clone(), comp).is_some() {
            bail!("{index_name}: expected one part {role}, found several");
        }
    }
    Ok(parts)
}

fn file_of(role: &str) -> String {
    format!("{role}.pb")
}
