//! Dependencies point one way: which crate of the workspace may depend on which, and which external crates it may use.
//!
//! ```text
//! tff-proto ◄── tff-types ◄── tff-ir ◄─┬─ tff-compiler ◄─┐
//!                                      └─ tff-exec ◄─────┴─ tff-sim ◄── tff-cli
//! ```
//!
//! A crate may use all layers below it. Benches and fuzz targets may use everything but the CLI; the Python package may use everything.
//! `tff-testing` is for tests alone: any crate may have it as a dev-dependency, and none as another one.
//! The same rule holds for normal, dev and build dependencies.

use serde_json::Value;
use std::collections::BTreeSet;
use std::error::Error;
use std::process::Command;

/// The layers a crate may use, for every crate of ours.
const LAYERS: &[(&str, &[&str])] = &[
    ("tff-proto", &[]),
    ("tff-types", &["tff-proto"]),
    ("tff-ir", &["tff-proto", "tff-types"]),
    ("tff-compiler", &["tff-proto", "tff-types", "tff-ir"]),
    ("tff-exec", &["tff-proto", "tff-types", "tff-ir"]),
    ("tff-sim", &["tff-proto", "tff-types", "tff-ir", "tff-compiler", "tff-exec"]),
    ("tff-cli", &["tff-proto", "tff-types", "tff-ir", "tff-compiler", "tff-exec", "tff-sim"]),
    ("tff-benches", &["tff-proto", "tff-types", "tff-ir", "tff-compiler", "tff-exec", "tff-sim"]),
    ("tff-fuzz", &["tff-proto", "tff-types", "tff-ir", "tff-compiler", "tff-exec", "tff-sim"]),
    ("tff-testing", &["tff-proto", "tff-types", "tff-ir"]),
    ("tff-python", &["tff-proto", "tff-types", "tff-ir", "tff-compiler", "tff-exec", "tff-sim", "tff-cli"]),
];

/// What only the CLI may name: prose errors, arguments, terminals, pictures, sinks of logs.
const CLI_ONLY: &[&str] = &["anyhow", "clap", "indicatif", "plotters", "tracing-subscriber"];

/// What must not be anywhere below the crates that only look at computations, and the features each is looked at with.
const FREE_OF_RUNTIMES: &[(&str, &[&str])] = &[
    // The feature `service` is the gRPC client and server, and does bring tonic.
    ("tff-proto", &[]),
    ("tff-types", &["--all-features"]),
    ("tff-ir", &["--all-features"]),
    ("tff-compiler", &["--all-features"]),
];
const RUNTIMES: &[&str] = &["tokio", "tonic", "tensorflow", "tensorflow-sys-runtime", "xla", "libloading"];

/// What only tests may use.
const TESTS_ONLY: &str = "tff-testing";

/// One dependency as a manifest states it.
#[derive(Debug)]
struct Dependency {
    from: String,
    to: String,
    /// Whether `to` is a crate of this repository.
    is_ours: bool,
    /// Whether only tests, examples and benches have it.
    is_dev: bool,
}

/// Says what is wrong with a dependency, if anything is.
fn fault(dependency: &Dependency) -> Option<String> {
    let Dependency { from, to, is_ours, is_dev } = dependency;
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| name == from) else {
        return Some(format!("{from} has no place in the table of layers"));
    };
    if to == TESTS_ONLY {
        return (!is_dev).then(|| format!("{from} must not depend on {to}: only tests do"));
    }
    if *is_ours && !allowed.contains(&to.as_str()) {
        return Some(format!("{from} must not depend on {to}"));
    }
    if CLI_ONLY.contains(&to.as_str()) && from != "tff-cli" {
        return Some(format!("{from} must not depend on {to}: only tff-cli does"));
    }
    None
}

/// The first runtime among the lines of `cargo tree --prefix none`, each `name vX.Y.Z …`.
fn find_runtime(tree: &str) -> Option<&str> {
    tree.lines().filter_map(|line| line.split_whitespace().next()).find(|name| RUNTIMES.contains(name))
}

/// Runs cargo at the root of the repository and returns what it prints.
fn cargo(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root).output()?;
    if !output.status.success() {
        return Err(format!("cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Every dependency that the manifests of one workspace state.
fn stated_dependencies(manifest: &str) -> Result<Vec<Dependency>, Box<dyn Error>> {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version=1", "--locked", "--manifest-path", manifest])?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or("a name is not a string");
    let mut dependencies = Vec::new();
    for package in metadata["packages"].as_array().ok_or("no packages")? {
        for dependency in package["dependencies"].as_array().ok_or("no dependencies")? {
            dependencies.push(Dependency {
                from: text(&package["name"])?,
                to: text(&dependency["name"])?,
                is_ours: dependency["path"].is_string(),
                is_dev: dependency["kind"] == "dev",
            });
        }
    }
    Ok(dependencies)
}

#[test]
fn no_crate_states_a_forbidden_dependency() -> Result<(), Box<dyn Error>> {
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml", "tff-python/Cargo.toml"] {
        let dependencies = stated_dependencies(manifest)?;
        // An empty list would prove nothing.
        assert!(dependencies.iter().any(|dependency| dependency.is_ours), "{manifest}: no dependency among our crates");
        let faults: Vec<_> = dependencies.iter().filter_map(fault).collect();
        assert!(faults.is_empty(), "{manifest}: {faults:#?}");
    }
    Ok(())
}

#[test]
fn who_only_looks_at_computations_has_no_runtime() -> Result<(), Box<dyn Error>> {
    for (name, features) in FREE_OF_RUNTIMES {
        let arguments =
            [&["tree", "--locked", "--edges=normal,build", "--prefix=none", "-p", name], *features].concat();
        let tree = cargo(&arguments)?;
        assert!(tree.starts_with(name), "not the tree of {name}: {tree}");
        assert_eq!(find_runtime(&tree), None, "below {name}");
    }
    Ok(())
}

#[test]
fn every_dependency_is_used_and_has_its_reason() -> Result<(), Box<dyn Error>> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let manifest: toml::Table = std::fs::read_to_string(format!("{root}/Cargo.toml"))?.parse()?;
    let versions = manifest["workspace"]["dependencies"].as_table().ok_or("no version table")?;
    let versions: BTreeSet<_> = versions.keys().map(String::as_str).filter(|name| !name.starts_with("tff-")).collect();

    let used = stated_dependencies("Cargo.toml")?;
    let used: BTreeSet<_> = used.iter().filter(|it| !it.is_ours).map(|it| it.to.as_str()).collect();
    assert_eq!(versions, used, "the version table, and what the crates depend on");

    let text = std::fs::read_to_string(format!("{root}/ARCHITECTURE.md"))?;
    let (_, table) = text.split_once("\n## Dependencies\n").ok_or("ARCHITECTURE.md has no section of dependencies")?;
    let explained: BTreeSet<_> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name).collect();
    assert_eq!(versions, explained, "the version table, and the reasons in ARCHITECTURE.md");
    Ok(())
}

#[test]
fn readmes_say_how_many_crates_are_compiled() -> Result<(), Box<dyn Error>> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    for name in ["tff-types", "tff-ir"] {
        let target = "--target=x86_64-unknown-linux-gnu";
        let tree = cargo(&["tree", "--locked", "--edges=normal,build", "--prefix=none", target, "-p", name])?;
        // A line ends in `(*)`, `(proc-macro)` or a path; the name and the version say which crate it is.
        let crates = tree.lines().filter_map(|line| line.split_once(" v"));
        let crates: BTreeSet<_> = crates
            .filter(|(name, _)| !name.starts_with("tff-"))
            .map(|(name, rest)| (name, rest.split(' ').next()))
            .collect();
        let stated = format!("{} crates are compiled", crates.len());
        let readme = std::fs::read_to_string(format!("{root}/{name}/README.md"))?;
        assert!(readme.contains(&stated), "{name}/README.md: {stated}");
    }
    Ok(())
}

#[test]
fn forbidden_dependencies_are_found() {
    let cases = [
        ("tff-types", "tff-testing", true, Some("tff-types must not depend on tff-testing: only tests do")),
        ("tff-types", "tff-ir", true, Some("tff-types must not depend on tff-ir")),
        ("tff-exec", "tff-compiler", true, Some("tff-exec must not depend on tff-compiler")),
        ("tff-compiler", "tff-exec", true, Some("tff-compiler must not depend on tff-exec")),
        ("tff-sim", "tff-cli", true, Some("tff-sim must not depend on tff-cli")),
        ("tff-exec", "tff-sim", true, Some("tff-exec must not depend on tff-sim")),
        ("tff-sim", "clap", false, Some("tff-sim must not depend on clap: only tff-cli does")),
        ("tff-fuzz", "tff-cli", true, Some("tff-fuzz must not depend on tff-cli")),
        ("tff-new", "prost", false, Some("tff-new has no place in the table of layers")),
        ("tff-exec", "anyhow", false, Some("tff-exec must not depend on anyhow: only tff-cli does")),
        ("tff-exec", "tff-proto", true, None),
        ("tff-cli", "anyhow", false, None),
        ("tff-exec", "tensorflow", false, None),
    ];
    for (from, to, is_ours, expected) in cases {
        let dependency = Dependency { from: from.to_owned(), to: to.to_owned(), is_ours, is_dev: false };
        assert_eq!(fault(&dependency).as_deref(), expected, "{dependency:?}");
    }
    let of_tests = Dependency { from: "tff-types".to_owned(), to: TESTS_ONLY.to_owned(), is_ours: true, is_dev: true };
    assert_eq!(fault(&of_tests), None);
}

#[test]
fn runtimes_are_found_in_a_tree() -> Result<(), Box<dyn Error>> {
    assert_eq!(find_runtime("tff-ir v0.1.0 (/x)\nbytes v1.12.2\n"), None);
    assert_eq!(find_runtime("tff-ir v0.1.0 (/x)\ntokio v1.54.0 (*)\n"), Some("tokio"));
    // The names are those that cargo uses: the crate that has a runtime shows it.
    let tree = cargo(&["tree", "--locked", "--edges=normal,build", "--prefix=none", "-p", "tff-exec"])?;
    assert!(find_runtime(&tree).is_some(), "{tree}");
    Ok(())
}
