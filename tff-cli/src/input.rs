//! What is read: bytes of files and of stdin, and values.

use crate::json;
use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tff_exec::Value;
use tff_proto::{Limits, v0 as pb};
use tff_types::Type;

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
    /// What it is called in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdin => "stdin".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// What its name ends in, if it has a name and that has an end.
    pub(crate) fn extension(&self) -> Option<&str> {
        match self {
            Self::Stdin => None,
            Self::File(path) => path.extension()?.to_str(),
        }
    }

    /// Everything that is in it.
    pub(crate) fn read(&self) -> Result<Bytes> {
        match self {
            Self::Stdin => read_limited(io::stdin().lock()),
            Self::File(path) => File::open(path).map_err(Into::into).and_then(read_limited),
        }
    }
}

/// Reads to the end, but never more than a message may have.
fn read_limited(reader: impl Read) -> Result<Bytes> {
    let limit = Limits::default().max_bytes;
    let mut bytes = Vec::new();
    reader.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        bail!("more than {limit} bytes");
    }
    Ok(bytes.into())
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
    /// What it is called in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Value(path) | Self::Json(path) => path.display().to_string(),
            Self::Stdin => "stdin".to_owned(),
            Self::Inline(_) => "--arg".to_owned(),
        }
    }

    /// Reads a value of type `ty`.
    pub(crate) fn read(&self, ty: &Type) -> Result<Value> {
        self.read_unnamed(ty).with_context(|| self.name())
    }

    fn read_unnamed(&self, ty: &Type) -> Result<Value> {
        match self {
            Self::Value(path) => decode_value(&Source::File(path.clone()).read()?, ty),
            Self::Json(path) => parse_json(&Source::File(path.clone()).read()?, ty),
            Self::Inline(text) => {
                let json = json::parse(text.as_bytes());
                let json = json.context("expected JSON, or a file whose name ends in .pb or .json")?;
                Ok(json::read(&json, ty)?)
            }
            Self::Stdin => {
                let bytes = Source::Stdin.read()?;
                match json::parse(&bytes) {
                    Ok(json) => Ok(json::read(&json, ty)?),
                    Err(error) if looks_like_text(&bytes) => Err(error),
                    Err(_) => decode_value(&bytes, ty),
                }
            }
        }
    }
}

/// Parses TOML; an error is `name:line: message`.
pub(crate) fn parse_toml<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
        // The error's own display quotes the source in several lines.
        match line {
            Some(line) => anyhow!("{name}:{line}: {}", error.message()),
            None => anyhow!("{name}: {}", error.message()),
        }
    })
}

fn parse_json(text: &[u8], ty: &Type) -> Result<Value> {
    Ok(json::read(&json::parse(text)?, ty)?)
}

fn decode_value(bytes: &Bytes, ty: &Type) -> Result<Value> {
    if bytes.is_empty() {
        bail!("expected a value of type {ty}, found nothing");
    }
    let proto: pb::Value = tff_proto::decode(bytes, &Limits::default())?;
    Ok(tff_exec::value_from_proto(&proto, ty)?)
}

/// Whether bytes that may be a message are text instead. No message is: it starts with a tag and a
/// length and goes on with control characters, which text has only as white space.
pub(crate) fn looks_like_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.is_empty() && !text.chars().any(is_binary))
}

fn is_binary(char: char) -> bool {
    char.is_control() && !char.is_whitespace()
}
