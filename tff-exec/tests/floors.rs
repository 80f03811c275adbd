//! The floors of this crate point one way: which folder of `src/` may use which.
//!
//! The test reads the `use` lines of the sources, and every other path that begins with `crate::` or `super::`. A folder may
//! use those before it in [`FLOORS`], however far, and itself. Folders within a floor are in no circle. What `lib.rs`
//! exports counts as the folder that it comes from.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read the sources must stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The folders of `src/`, from the lowest floor to the highest. Those on one floor do not use each other.
const FLOORS: &[&[&str]] =
    &[&["values"], &["leaf"], &["eval"], &["composing"], &["executor"], &["session"], &["service", "remote"]];

/// A source file: its modules from the crate's root, and its text.
struct Source {
    module: Vec<String>,
    text: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        let path = path.strip_suffix(".rs").unwrap_or(path);
        let path = path.strip_suffix("/mod").unwrap_or(path);
        let module = path.split('/').filter(|&name| name != "lib").map(str::to_owned).collect();
        Self { module, text: without_comments(text) }
    }

    /// The paths that it uses, each from the crate's root.
    fn uses(&self) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        let mut rest = self.text.as_str();
        while let Some((start, word)) = ["use ", "crate::", "super::"]
            .into_iter()
            .filter_map(|word| Some((find_word(rest, word)?, word)))
            .min_by_key(|(start, _)| *start)
        {
            let from = &rest[start..];
            let tree = if word == "use " {
                let end = from.find(';').unwrap_or(from.len());
                rest = &from[end..];
                from[word.len()..end].to_owned()
            } else {
                let end = from.find(|char: char| !char.is_alphanumeric() && char != '_' && char != ':');
                let end = end.unwrap_or(from.len());
                rest = &from[end..];
                from[..end].to_owned()
            };
            found.extend(expand(&tree).into_iter().filter_map(|path| self.absolute(&path)));
        }
        found
    }

    fn absolute(&self, path: &str) -> Option<Vec<String>> {
        let mut module = self.module.clone();
        let mut steps = path.split("::").map(str::trim).peekable();
        match *steps.peek()? {
            "crate" => module.clear(),
            "super" => {
                module.push(String::new());
            }
            "self" => {}
            // Of this module, or of another crate.
            _ => return None,
        }
        if matches!(*steps.peek()?, "crate" | "self") {
            steps.next();
        } else {
            module.pop();
        }
        while steps.next_if_eq(&"super").is_some() {
            module.pop();
        }
        module.extend(steps.map(str::to_owned));
        Some(module)
    }
}

/// Where a word begins that is no part of another.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let mut starts = text.match_indices(word).map(|(start, _)| start);
    starts.find(|&start| !text[..start].ends_with(|char: char| char.is_alphanumeric() || char == '_' || char == ':'))
}

/// The text without comments, strings, and the tests at its end.
fn without_comments(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = text.lines().map(|line| {
        let code = line.split("//").next().unwrap_or_default();
        code.split('"').step_by(2).collect::<String>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths of a `use` tree: `a::{b, c::d as e}` is `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<String> {
    let Some((head, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        return if path.is_empty() { Vec::new() } else { vec![path.to_owned()] };
    };
    let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
    let (mut depth, mut start, mut branches) = (0, 0, Vec::new());
    for (at, char) in inner.char_indices() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                branches.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    branches.push(&inner[start..]);
    branches.into_iter().flat_map(expand).map(|path| format!("{}{path}", head.trim())).collect()
}

/// The floor of a folder.
fn floor(folder: &str) -> Option<usize> {
    FLOORS.iter().position(|folders| folders.contains(&folder))
}

/// What points upwards or to a neighbour, of the sources under these paths.
fn faults(sources: &[(&str, &str)]) -> Vec<String> {
    let exports: BTreeMap<String, String> = sources
        .iter()
        .filter(|(path, _)| *path == "lib.rs")
        .flat_map(|(_, text)| without_comments(text).split(';').map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|line| line.split_once("pub use ").map(|(_, tree)| tree.to_owned()))
        .flat_map(|tree| expand(&tree))
        .filter_map(|path| Some((path.rsplit("::").next()?.to_owned(), path.split("::").next()?.to_owned())))
        .collect();
    let mut faults = Vec::new();
    for (path, text) in sources {
        let source = Source::new(path, text);
        let Some(own) = source.module.first() else { continue };
        let Some(from) = floor(own) else {
            faults.push(format!("{path}: the folder {own} has no place in the table of floors"));
            continue;
        };
        for used in source.uses() {
            let Some(first) = used.first() else { continue };
            let folder = exports.get(first).unwrap_or(first);
            match floor(folder) {
                None => faults.push(format!("{path}: {} is in no folder that is known", used.join("::"))),
                Some(to) if folder != own && to >= from => {
                    faults.push(format!("{path}: {own} must not use {}", used.join("::")));
                }
                Some(_) => {}
            }
        }
    }
    faults
}

/// The folders that use each other in a circle, of those that lie side by side in the same folder; with them, those that use
/// one in a circle.
fn circles(sources: &[(&str, &str)]) -> BTreeMap<String, BTreeSet<String>> {
    let is_folder = |module: &[String]| {
        let folder = module.join("/") + "/";
        sources.iter().any(|(path, _)| path.starts_with(&folder))
    };
    let mut arrows = BTreeMap::<String, BTreeSet<String>>::new();
    for (path, text) in sources {
        let source = Source::new(path, text);
        for used in source.uses() {
            let common = source.module.iter().zip(&used).take_while(|(own, used)| own == used).count();
            if let (Some(own), Some(used)) = (source.module.get(..=common), used.get(..=common))
                && is_folder(own)
                && is_folder(used)
            {
                arrows.entry(own.join("/")).or_default().insert(used.join("/"));
            }
        }
    }
    // Who uses nobody that is left is in no circle.
    while let Some(done) = arrows.keys().find(|&own| !arrows[own].iter().any(|used| arrows.contains_key(used))).cloned()
    {
        arrows.remove(&done);
    }
    arrows
}

/// The sources in a folder, each with its path from `src/`.
fn read(folder: &Path, path: &str, sources: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if path.is_empty() { name } else { format!("{path}/{name}") };
        if entry.file_type().unwrap().is_dir() {
            read(&entry.path(), &path, sources);
        } else if path.ends_with(".rs") {
            sources.push((path, fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

#[test]
fn no_folder_uses_one_above_it() {
    let mut sources = Vec::new();
    read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), "", &mut sources);
    let sources: Vec<(&str, &str)> = sources.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    // An empty list would prove nothing.
    let eval = sources.iter().find(|(path, _)| *path == "eval/host.rs").unwrap();
    assert!(Source::new(eval.0, eval.1).uses().iter().any(|path| path.join("::") == "crate::leaf::Prepared"[7..]));
    let faults = faults(&sources);
    assert!(faults.is_empty(), "{faults:#?}");
    let circles = circles(&sources);
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn forbidden_arrows_are_found() {
    let lib = ("lib.rs", "mod eval;\nmod leaf;\npub use values::{Value, inner::Tensor};\npub use executor::Executor;");
    let check = |path: &str, text: &str| faults(&[lib, (path, text)]).join("\n");
    assert_eq!(check("eval/run.rs", "use crate::{Value, leaf::{Prepared, xla::Xla as X}};\nuse super::code;"), "");
    assert_eq!(check("eval/run.rs", "// crate::session\nconst A: &str = \"crate::session\";\nuse std::fmt;"), "");
    assert_eq!(check("eval/a/b.rs", "pub use super::super::c::D;\nfn f() { super::super::super::leaf::g() }"), "");
    assert_eq!(check("values/value.rs", "use crate::eval::Code;"), "values/value.rs: values must not use eval::Code");
    assert_eq!(
        check("leaf/mod.rs", "use crate::{\n    Value, Executor,\n};"),
        "leaf/mod.rs: leaf must not use Executor"
    );
    assert_eq!(check("leaf/a.rs", "fn f() { crate::session::g(); }"), "leaf/a.rs: leaf must not use session::g");
    assert_eq!(check("leaf/a.rs", "use super::super::eval::g;"), "leaf/a.rs: leaf must not use eval::g");
    assert_eq!(
        check("service/mod.rs", "use crate::remote::RemoteExecutor;"),
        "service/mod.rs: service must not use remote::RemoteExecutor"
    );
    assert_eq!(check("new.rs", ""), "new.rs: the folder new has no place in the table of floors");
    assert_eq!(check("eval/run.rs", "use crate::Nobody;"), "eval/run.rs: Nobody is in no folder that is known");
}

#[test]
fn circles_within_a_floor_are_found() {
    let check = |sources: &[(&str, &str)]| circles(sources).into_keys().collect::<Vec<_>>();
    let (a, b) = (("leaf/a/x.rs", "use crate::leaf::b::Y;"), ("leaf/b/mod.rs", "pub struct Y;"));
    assert!(check(&[a, b]).is_empty());
    assert_eq!(
        check(&[a, ("leaf/b/mod.rs", "use super::a::X;"), ("leaf/c/z.rs", "use std::fmt;")]),
        ["leaf/a", "leaf/b"]
    );
    // A folder and the one that it lies in belong together.
    assert!(
        check(&[("leaf/a/mod.rs", "mod b;\nuse self::b::Y;"), ("leaf/a/b/y.rs", "use super::super::X;")]).is_empty()
    );
}
