//! Sources with names, which `data` in computations refers to: `NAME/CLIENT?split=SPLIT`.
//!
//! A uri never becomes a path: its name is one of those that were given, and its client one of those that the source has.
//! Nor does a link in a folder that was given lead out of it.

use super::{ClientId, DataConfig, DataError, Opened, Source};
use crate::files::{FileError, name_of, parse_toml, read_text};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tff_exec::{DataBackend, EvalError, ExecError, Value};
use tff_ir::DataContent;
use tff_types::Type;

/// The sources that computations may name. It is a [`DataBackend`]: give it to [`tff_exec::Options::data`].
#[derive(Debug, Default)]
pub struct NamedSources {
    sources: BTreeMap<String, DataConfig>,
    opened: Mutex<HashMap<Key, Arc<Clients>>>,
}

/// The name, the split and the type of elements for which a source was opened.
type Key = (String, Option<String>, Type);

#[derive(Debug)]
struct Clients {
    source: Box<dyn Source>,
    positions: HashMap<String, usize>,
}

impl Clients {
    fn new(opened: Opened) -> Self {
        let (source, _) = opened.into_sources();
        let name = |id: &ClientId| match id {
            ClientId::Name(name) => name.clone(),
            ClientId::Number(number) => number.to_string(),
        };
        let positions = source.clients().iter().map(name).zip(0..).collect();
        Self { source, positions }
    }
}

impl NamedSources {
    /// Adds a source; one of the same name is replaced.
    pub fn insert(&mut self, name: impl Into<String>, mut config: DataConfig) {
        config.stays_inside = true;
        self.sources.insert(name.into(), config);
    }

    /// Adds the sources of a file, TOML with a section for each: its name, and the keys of `[data]` in a simulation. Paths
    /// are relative to the file.
    ///
    /// # Errors
    /// Where the file cannot be read, or is no such configuration; with the line.
    pub fn read(&mut self, path: &Path) -> Result<(), FileError> {
        let sources: Result<BTreeMap<String, DataConfig>, _> = parse_toml(&read_text(path)?);
        let folder = path.parent().unwrap_or(Path::new(""));
        for (name, mut config) in sources.map_err(|problem| problem.of(name_of(path)))? {
            for path in config.paths_mut() {
                *path = folder.join(&*path);
            }
            self.insert(name, config);
        }
        Ok(())
    }

    /// The data of a client of a source.
    fn find(&self, uri: &str, ty: &Type) -> Result<Value, DataError> {
        let mismatch = |expected: String, found: &str| DataError::mismatch(format!("the uri {uri:?}"), expected, found);
        let (path, query) = uri.split_once('?').map_or((uri, None), |(path, query)| (path, Some(query)));
        let Some((name, client)) = path.split_once('/') else {
            return Err(mismatch("NAME/CLIENT or NAME/CLIENT?split=SPLIT".to_owned(), path));
        };
        let split = match query.map(|query| query.strip_prefix("split=")) {
            Some(None) => return Err(mismatch("?split=SPLIT".to_owned(), query.unwrap_or_default())),
            Some(Some(split)) => Some(split.to_owned()),
            None => None,
        };
        let Some(config) = self.sources.get(name) else {
            let names: Vec<&str> = self.sources.keys().map(String::as_str).collect();
            return Err(mismatch(format!("one of the sources {}", names.join(", ")), name));
        };
        let Some(sequence) = ty.as_sequence() else {
            return Err(mismatch("data of a type T*".to_owned(), &ty.to_string()));
        };
        let key = (name.to_owned(), split, sequence.element.clone());
        let opened = || self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let found = opened().get(&key).cloned();
        let clients = match found {
            Some(clients) => clients,
            None => {
                let mut config = config.clone();
                config.split = key.1.clone().or(config.split);
                let clients = Arc::new(Clients::new(config.open(&sequence.element)?));
                opened().entry(key).or_insert(clients).clone()
            }
        };
        let client_idx = clients.positions.get(client);
        let client_idx = client_idx.ok_or_else(|| mismatch(format!("a client of {name}"), client))?;
        clients.source.data(*client_idx)
    }
}

impl DataBackend for NamedSources {
    fn resolve(&self, data: &DataContent, ty: &Type) -> Result<Value, ExecError> {
        let names: Vec<&str> = self.sources.keys().map(String::as_str).collect();
        match data {
            DataContent::Uri(uri) => self.find(uri, ty).map_err(|error| EvalError::Data(error.to_string()).into()),
            DataContent::Any(content) => Err(EvalError::Data(format!(
                "expected a uri of one of the sources {}, found a message {} for {ty}",
                names.join(", "),
                content.type_url
            ))
            .into()),
        }
    }
}

/// Reads `NAME=PATH`.
///
/// # Errors
/// Where it is not that, or the name has a `/` or `?`.
pub fn parse_named(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !name.contains(['/', '?']) && !path.is_empty() => {
            Ok((name.to_owned(), path.into()))
        }
        _ => Err("expected NAME=PATH, the name without `/` and `?`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_a_source_and_a_client_and_no_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("d.csv"), "id,x\nann,1\nbob,2\nann,3\n").unwrap();
        std::fs::write(folder.path().join("secret.csv"), "id,x\nann,9\n").unwrap();
        std::fs::write(
            folder.path().join("data.toml"),
            "[people]\ncsv = \"d.csv\"\nclients = {column = \"id\"}\ncolumns = \"x\"\n",
        )
        .unwrap();
        let mut sources = NamedSources::default();
        sources.read(&folder.path().join("data.toml")).unwrap();
        let resolve = |uri: &str, ty: &str| match sources.resolve(&DataContent::Uri(uri.into()), &ty.parse().unwrap()) {
            Ok(Value::Sequence(sequence)) => format!("{} rows", sequence.known_elements().unwrap().len()),
            Ok(other) => format!("{other:?}"),
            Err(error) => error.to_string().replace(&folder.path().display().to_string(), ""),
        };
        assert_eq!(
            (resolve("people/ann", "int32*"), resolve("people/bob", "int32*")),
            ("2 rows".into(), "1 rows".into())
        );
        let cases = [
            resolve("people/eve", "int32*"),
            resolve("people/../secret.csv", "int32*"),
            resolve("people//etc/passwd", "int32*"),
            resolve("/etc/passwd", "int32*"),
            resolve("file:///etc/passwd", "int32*"),
            resolve("../people/ann", "int32*"),
            resolve("secret.csv", "int32*"),
            resolve("people/ann?path=secret.csv", "int32*"),
            resolve("people/ann", "int32"),
            resolve("people/ann", "bool*"),
        ];
        insta::assert_snapshot!(cases.join("\n"), @r#"data: the uri "people/eve": expected a client of people, found eve
data: the uri "people/../secret.csv": expected a client of people, found ../secret.csv
data: the uri "people//etc/passwd": expected a client of people, found /etc/passwd
data: the uri "/etc/passwd": expected one of the sources people, found 
data: the uri "file:///etc/passwd": expected one of the sources people, found file:
data: the uri "../people/ann": expected one of the sources people, found ..
data: the uri "secret.csv": expected NAME/CLIENT or NAME/CLIENT?split=SPLIT, found secret.csv
data: the uri "people/ann?path=secret.csv": expected ?split=SPLIT, found path=secret.csv
data: the uri "people/ann": expected data of a type T*, found int32
data: /d.csv:3: column x: expected bool, found "2""#);
    }

    #[test]
    #[cfg(unix)]
    fn links_lead_to_files_of_the_same_folder_only() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("root/deep")).unwrap();
        std::fs::write(path("root/ann.csv"), "x\n1\n").unwrap();
        std::fs::write(path("secret.csv"), "x\n9\n").unwrap();
        // Its name begins as the folder's does.
        std::fs::write(path("root2.csv"), "x\n9\n").unwrap();
        symlink("ann.csv", path("root/bob.csv")).unwrap();
        // The folder that a user names may itself be a link.
        symlink("root", path("named")).unwrap();
        let resolve = |uri: &str| {
            let mut sources = NamedSources::default();
            sources.insert("people", DataConfig::of_file(path("named")));
            let value = sources.resolve(&DataContent::Uri(uri.into()), &"<x=int32>*".parse().unwrap());
            value.map(drop).map_err(|error| error.to_string().replace(&folder.path().display().to_string(), ""))
        };
        assert_eq!((resolve("people/ann"), resolve("people/bob")), (Ok(()), Ok(())));
        for target in ["../secret.csv", "../root2.csv", "deep/../../secret.csv", path("secret.csv").to_str().unwrap()] {
            symlink(target, path("root/eve.csv")).unwrap();
            for uri in ["people/eve", "people/ann"] {
                let error =
                    "data: /named/eve.csv: expected a file in the folder /named, found a link that leads out of it";
                assert_eq!(resolve(uri), Err(error.to_owned()), "{target}");
            }
            std::fs::remove_file(path("root/eve.csv")).unwrap();
        }
        // By a folder that is a link.
        symlink("..", path("root/up")).unwrap();
        symlink("up/secret.csv", path("root/eve.csv")).unwrap();
        assert!(resolve("people/eve").unwrap_err().contains("leads out"));
    }

    #[test]
    fn uris_of_any_length_and_bytes_are_refused_in_one_short_line() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ann.csv"), "x\n1\n").unwrap();
        let mut sources = NamedSources::default();
        sources.insert("people", DataConfig::of_file(folder.path().to_path_buf()));
        let long = "a/".repeat(1 << 20);
        let uris = [
            "people/%2e%2e/ann",
            "people/%2e/ann",
            "people/./ann",
            "people/ann\0",
            "people\0/ann",
            "people/ann.csv",
            "people/ann\n?split=x",
            "people/../people/ann",
            "//people/ann",
            "people\\ann",
            "",
            "/",
            "?",
            "people/?split=",
            &long,
            &format!("people/{long}"),
            &format!("people?{long}"),
            &format!("people/ann?{long}"),
        ];
        for uri in uris {
            let error = sources.resolve(&DataContent::Uri(uri.into()), &"<x=int32>*".parse().unwrap());
            let error = error.unwrap_err().to_string();
            assert!(error.len() < 4000 && !error.contains(['\n', '\0']), "{}: {}", error.len(), &error[..200]);
        }
    }

    #[test]
    fn sources_are_named_by_flags() {
        assert_eq!(parse_named("a=b=c").unwrap(), ("a".to_owned(), PathBuf::from("b=c")));
        assert!(["a", "=b", "a=", "a/b=c", "a?=c"].iter().all(|text| parse_named(text).is_err()));
    }
}
