//! The configuration of a simulation: a TOML file whose paths are relative to itself.

use crate::data::DataConfig;
use crate::files::{FileError, FileProblem, name_of, parse_toml, read_bytes, utf8};
use serde::Deserialize;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

/// A simulation. Its keys are documented in `tff simulate --help`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The file, as it is called in messages.
    #[serde(skip)]
    pub name: String,
    /// The number of rounds.
    pub rounds: u64,
    /// How many clients take part in a round; all where it is not given.
    pub clients_per_round: Option<NonZeroUsize>,
    /// What decides which clients take part.
    #[serde(default)]
    pub seed: u64,
    /// How likely each chosen client is to vanish before the round.
    #[serde(default)]
    pub dropout: f64,
    /// Paths into the metrics of a round: scalars to show, or structs of them. All where empty.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Where the history goes: a JSON object a line, one a round.
    pub history: Option<PathBuf>,
    /// Where the picture of the metrics goes, an SVG.
    pub plot: Option<PathBuf>,
    /// The iterative process.
    pub process: ProcessConfig,
    /// The evaluation after the last round.
    pub evaluate: Option<EvaluateConfig>,
    /// The data of the clients.
    pub data: DataConfig,
}

/// The computations of the iterative process.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessConfig {
    /// `( -> S@SERVER)`.
    pub initialize: PathBuf,
    /// `(<S@SERVER,{D*}@CLIENTS> -> <state=S@SERVER,metrics=M@SERVER>)`.
    pub next: PathBuf,
}

/// The computations of the evaluation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluateConfig {
    /// `( -> E@SERVER)`.
    pub initialize: PathBuf,
    /// `(<E@SERVER,{D*}@CLIENTS> -> <state=E@SERVER,metrics=N@SERVER>)`.
    pub next: PathBuf,
    /// `(S -> W)`.
    pub get_model_weights: PathBuf,
    /// `(<E,W> -> E)`.
    pub set_model_weights: PathBuf,
    /// Paths into the metrics of the evaluation, as `metrics` above.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// After how many rounds the state is evaluated, each time; only after the last one where it is not given.
    pub every: Option<NonZeroU64>,
    /// The data of the evaluation; by default what [`DataConfig::held_out`] holds out, else that of the clients.
    pub data: Option<DataConfig>,
}

impl Config {
    /// Reads the file; the paths in it become relative to the current folder.
    ///
    /// # Errors
    /// Where it cannot be read, or is no such configuration; with the line.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let name = name_of(path);
        let config = utf8(&read_bytes(path)?)
            .map_err(|_| FileProblem::unexpected("a configuration in TOML", "binary data"))
            .and_then(|text| parse_toml::<Self>(&text))
            .map_err(|problem| problem.of(&name))?;
        let mut config = Self { name, ..config };
        let folder = path.parent().unwrap_or(Path::new(""));
        for path in config.paths_mut() {
            // An absolute path stays what it is.
            *path = folder.join(&*path);
        }
        Ok(config)
    }

    fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let evaluate = self.evaluate.as_mut().map(|it| {
            let EvaluateConfig { initialize, next, get_model_weights, set_model_weights, data, .. } = it;
            let data = data.iter_mut().flat_map(DataConfig::paths_mut);
            [initialize, next, get_model_weights, set_model_weights].into_iter().chain(data)
        });
        [&mut self.process.initialize, &mut self.process.next]
            .into_iter()
            .chain(self.data.paths_mut())
            .chain(evaluate.into_iter().flatten())
            .chain(&mut self.history)
            .chain(&mut self.plot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = r#"
rounds = 3
[process]
initialize = "i.pb"
next = "n.pb"
[data]
csv = "d.csv"
clients = { modulo = 2 }
columns = ["p0..p63", "label"]
"#;

    #[track_caller]
    fn check(from: &str, to: &str) -> String {
        assert!(MINIMAL.contains(from));
        match parse_toml::<Config>(&MINIMAL.replacen(from, to, 1)) {
            Ok(config) => format!("{config:?}"),
            Err(problem) => problem.of("c.toml").to_string(),
        }
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        std::fs::write(&path, MINIMAL.replace("\"d.csv\"", "\"/data/d.csv\"")).unwrap();
        let config = Config::read(&path).unwrap();
        assert_eq!(config.process.next, folder.path().join("n.pb"));
        assert_eq!(config.data.csv, [Path::new("/data/d.csv")]);
        assert_eq!((config.clients_per_round, config.seed, config.data.epochs.get()), (None, 0, 1));
    }

    #[test]
    fn problems_name_the_line() {
        insta::assert_snapshot!(check("rounds = 3", "rounds = -3"), @"c.toml:2: invalid value: integer `-3`, expected u64");
        insta::assert_snapshot!(check("rounds = 3", ""), @"c.toml:1: missing field `rounds`");
        insta::assert_snapshot!(check("rounds = 3", "rounds = 3\nclients_per_round = 0"), @"c.toml:3: invalid value: integer `0`, expected a nonzero usize");
        insta::assert_snapshot!(check("rounds", "round"), @"c.toml:2: unknown field `round`, expected one of `rounds`, `clients_per_round`, `seed`, `dropout`, `metrics`, `history`, `plot`, `process`, `evaluate`, `data`");
        insta::assert_snapshot!(check("modulo = 2", "modulo = 0"), @"c.toml:8: invalid value: integer `0`, expected a nonzero usize");
        insta::assert_snapshot!(check("modulo = 2", "hash = 2"), @"c.toml:8: unknown field `hash`, expected one of `column`, `modulo`, `iid`, `linear`, `square`, `exponential`, `dirichlet`, `shards`, `list`");
        insta::assert_snapshot!(check("modulo = 2", "modulo = 2, column = \"c\""), @"c.toml:8: expected one way to divide rows, found data.clients.column and data.clients.modulo");
        insta::assert_snapshot!(check("{ modulo = 2 }", "{}"), @"c.toml:8: expected a way to divide rows, such as { modulo = N }, found none");
        insta::assert_snapshot!(check("{ modulo = 2 }", "20"), @"c.toml:8: invalid type: integer `20`, expected a table with one way to divide rows, such as { modulo = N }");
        insta::assert_snapshot!(check("[\"p0..p63\", \"label\"]", "[1]"), @"c.toml:9: invalid type: integer `1`, expected a column, a list of columns by position or a table of columns by member");
        insta::assert_snapshot!(check("next = \"n.pb\"\n", ""), @"c.toml:3: missing field `next`");
        insta::assert_snapshot!(check("[data]", "[data"), @"c.toml:6: unclosed table, expected `]`");
    }
}
