//! Reads computations and values from files and from stdin.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tff_exec::{Executor, Value};
use tff_ir::Comp;
use tff_proto::{Limits, v0 as pb};
use tff_sim::computation::{Encoded, Text, TextOptions};
use tff_sim::files::{FileError, looks_like_text, read_bytes, read_limited};
use tff_sim::json;
use tff_types::Type;
use tff_types::syntax::{Lexer, TokenKind};

/// A file to read, or stdin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Written `-`.
    Stdin,
    File(PathBuf),
}

impl FromStr for Source {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "-" { Self::Stdin } else { Self::File(text.into()) })
    }
}

impl Source {
    /// Its name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdin => "stdin".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// The whole content.
    pub(crate) fn read_bytes(&self) -> Result<Bytes, FileError> {
        match self {
            Self::Stdin => read_limited(io::stdin().lock()).map_err(|problem| problem.of(self.name())),
            Self::File(path) => read_bytes(path),
        }
    }

    /// The computation in it, or the one that the parts of a form in a folder make up.
    pub(crate) fn read_comp(&self) -> Result<Comp, FileError> {
        match self {
            Self::Stdin => self.read_encoded(&TextOptions::default())?.decode(),
            Self::File(path) => tff_sim::read(path),
        }
    }

    /// The computation in it, not decoded yet.
    pub(crate) fn read_encoded(&self, options: &TextOptions) -> Result<Encoded, FileError> {
        match self {
            Self::Stdin => Encoded::from_bytes(self.name(), self.read_bytes()?, options),
            Self::File(path) => Encoded::read(path, options),
        }
    }

    /// The text of the computation in it.
    pub(crate) fn read_text(&self, options: &TextOptions) -> Result<Text, FileError> {
        match self {
            Self::Stdin => Text::from_bytes(self.name(), &self.read_bytes()?, options),
            Self::File(path) => Text::read(path, options),
        }
    }

    /// The folder that may hold a form, if it is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::File(path) if path.is_dir() => Some(path),
            _ => None,
        }
    }
}

/// What a text leaves out.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "What the text leaves out")]
pub(crate) struct TextArgs {
    /// A file that defines labels, as `tff print --bodies` writes it; by default NAME.bodies beside
    /// NAME.tff, if there is one.
    #[arg(long, value_name = "FILE")]
    bodies: Option<PathBuf>,
    /// The type of the parameter of the outermost function.
    #[arg(long, value_name = "TYPE")]
    parameter: Option<Type>,
    /// The type of a free name; may be given several times.
    #[arg(long = "name", value_name = "NAME=TYPE", value_parser = name_and_type)]
    names: Vec<(String, Type)>,
}

impl TextArgs {
    pub(crate) fn options(&self) -> TextOptions {
        let Self { bodies, parameter, names } = self.clone();
        TextOptions { bodies, parameter, names }
    }
}

/// Reads `NAME=TYPE`; the name may be in backquotes.
fn name_and_type(text: &str) -> Result<(String, Type)> {
    let mut lexer = Lexer::new(text);
    let token = lexer.advance()?;
    let name = lexer.name(token).ok_or_else(|| lexer.unexpected(token, "a name"))?.into_owned();
    lexer.expect(TokenKind::Symbol('='), "`=`")?;
    let ty = text.get(lexer.last_end()..).unwrap_or_default();
    Ok((name, ty.parse()?))
}

/// Where an argument comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentSource {
    /// A serialized executor `Value`.
    Value(PathBuf),
    /// A file with JSON.
    Json(PathBuf),
    /// Either of the two, from stdin.
    Stdin,
    /// JSON on the command line.
    Inline(String),
}

impl FromStr for ArgumentSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let extension = Path::new(text).extension().unwrap_or_default();
        Ok(if text == "-" {
            Self::Stdin
        } else if extension == "pb" {
            Self::Value(text.into())
        } else if extension == "json" {
            Self::Json(text.into())
        } else {
            Self::Inline(text.to_owned())
        })
    }
}

impl ArgumentSource {
    /// Its name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Value(path) | Self::Json(path) => path.display().to_string(),
            Self::Stdin => "stdin".to_owned(),
            Self::Inline(_) => "--arg".to_owned(),
        }
    }

    /// Reads a value of type `ty`.
    pub(crate) fn read(&self, ty: &Type, executor: &Executor, n_clients: Option<usize>) -> Result<Value> {
        let bytes = match self {
            Self::Value(path) | Self::Json(path) => read_bytes(path)?,
            Self::Stdin => Source::Stdin.read_bytes()?,
            Self::Inline(text) => Bytes::copy_from_slice(text.as_bytes()),
        };
        self.parse(&bytes, ty, executor, n_clients).with_context(|| self.name())
    }

    fn parse(&self, bytes: &Bytes, ty: &Type, executor: &Executor, n_clients: Option<usize>) -> Result<Value> {
        match self {
            Self::Value(_) => decode_value(bytes, ty, executor, n_clients),
            Self::Json(_) => parse_json(bytes, ty),
            Self::Inline(_) => {
                let json = json::parse(bytes).context("expected JSON, or a file whose name ends in .pb or .json")?;
                Ok(json::read(&json, ty)?)
            }
            Self::Stdin => match json::parse(bytes) {
                Ok(json) => Ok(json::read(&json, ty)?),
                Err(error) if looks_like_text(bytes) => Err(error.into()),
                Err(_) => decode_value(bytes, ty, executor, n_clients),
            },
        }
    }
}

fn parse_json(text: &[u8], ty: &Type) -> Result<Value> {
    Ok(json::read(&json::parse(text)?, ty)?)
}

fn decode_value(bytes: &Bytes, ty: &Type, executor: &Executor, n_clients: Option<usize>) -> Result<Value> {
    if bytes.is_empty() {
        bail!("expected a value of type {ty}, found nothing");
    }
    let proto: pb::Value = tff_proto::decode(bytes, &Limits::default())?;
    Ok(executor.read_value(&proto, ty, n_clients)?)
}
