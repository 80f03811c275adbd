//! Bytes and texts of files, and what can be wrong with them.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use tff_compiler::CompileError;
use tff_ir::text::TextError;
use tff_ir::{CompDecodeError, CompEncodeError};
use tff_proto::{DecodeError, Limits};
use tff_types::syntax::SyntaxError;
use tff_types::{Brief, Mismatch, Type};
use thiserror::Error;

/// Why something could not be read from a file, or written to one.
#[derive(Debug, Error)]
#[error("{}{}{problem}", line(name), problem.separator())]
pub struct FileError {
    /// The file, as it is called in messages.
    pub name: String,
    /// What is wrong with it.
    #[source]
    pub problem: Box<FileProblem>,
}

/// What can be wrong with a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileProblem {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is larger than a message may be.
    #[error("more than {limit} bytes")]
    TooLarge {
        /// How large it may be.
        limit: usize,
    },
    /// The file should be text.
    #[error("expected text in UTF-8, found something else at byte {at}")]
    NotText {
        /// The position of the first byte that is not text.
        at: usize,
    },
    /// The file has no bytes.
    #[error("expected a computation, found nothing")]
    Empty,
    /// The file holds no message.
    #[error(transparent)]
    Message(#[from] DecodeError),
    /// The message is no computation.
    #[error(transparent)]
    Computation(#[from] CompDecodeError),
    /// The text is no computation, or defines no bodies.
    #[error(transparent)]
    Text(#[from] Box<TextError>),
    /// The file is no TOML, or has keys or values that are not expected.
    #[error("{}{}", line.map(|line| format!("{line}: ")).unwrap_or_default(), self::line(message))]
    Toml {
        /// The line, counted from 1.
        line: Option<usize>,
        /// What is wrong there.
        message: String,
    },
    /// A computation cannot be written.
    #[error(transparent)]
    Encode(#[from] CompEncodeError),
    /// The text of a type cannot be read.
    #[error("{what}: {source}")]
    Type {
        /// What the type is of.
        what: String,
        /// What is wrong with the text.
        source: SyntaxError,
    },
    /// The parts of a form make up a computation of another type.
    #[error("type: {0}")]
    FormType(Box<Mismatch>),
    /// A computation in a file is of another type than the index says.
    #[error("expected a computation of type {expected}, found {found}")]
    PartType {
        /// What the index says.
        expected: Type,
        /// The type of the computation.
        found: Type,
    },
    /// The parts of a form do not fit together.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A part of a form is not what the form needs in its role.
    #[error(transparent)]
    Part(#[from] tff_compiler::Problem),
    /// A folder should hold a form.
    #[error("expected the folder of a form, found no index.toml in it")]
    NoForm,
    /// A form is written to a folder of its own.
    #[error("expected a folder that is new or empty")]
    NotEmpty,
    /// A form has no part of this role.
    #[error("expected no part {role} of the form {form}")]
    UnknownPart {
        /// The role.
        role: String,
        /// The form.
        form: &'static str,
    },
    /// The index of a form names the wrong parts, or a path is not of the right kind.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What is needed.
        expected: String,
        /// What is there.
        found: String,
    },
}

impl FileProblem {
    /// What stands between the name of the file and the problem. Where the problem begins with a line, that is
    /// `file:line: …`, which editors follow.
    const fn separator(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::Toml { line: Some(_), .. } => ":",
            _ => ": ",
        }
    }

    /// The problem, of this file.
    #[must_use]
    pub fn of(self, name: impl Into<String>) -> FileError {
        FileError { name: name.into(), problem: Box::new(self) }
    }

    pub(crate) fn unexpected(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Unexpected { expected: expected.into(), found: found.into() }
    }
}

/// Something that a file or a configuration chose, for a message: on one line, shortened where it is long.
pub(crate) fn line(text: &dyn fmt::Display) -> Brief {
    const LONG: usize = 1000;
    Brief::start(text, LONG)
}

/// A text in quotes, as it appears in messages.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

/// What a path is called in messages.
pub(crate) fn name_of(path: &Path) -> String {
    path.display().to_string()
}

/// Reads a file as a whole, but never more than a message may have.
///
/// # Errors
/// [`FileProblem::Io`] and [`FileProblem::TooLarge`].
pub fn read_bytes(path: &Path) -> Result<Bytes, FileError> {
    File::open(path).map_err(FileProblem::from).and_then(read_limited).map_err(|it| it.of(name_of(path)))
}

/// Reads to the end, but never more than a message may have.
///
/// # Errors
/// [`FileProblem::Io`] and [`FileProblem::TooLarge`].
pub fn read_limited(reader: impl Read) -> Result<Bytes, FileProblem> {
    let limit = Limits::default().max_bytes;
    let mut bytes = Vec::new();
    reader.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(FileProblem::TooLarge { limit });
    }
    Ok(bytes.into())
}

/// Reads a file of text.
pub(crate) fn read_text(path: &Path) -> Result<String, FileError> {
    let bytes = read_bytes(path)?;
    utf8(&bytes).map_err(|it| it.of(name_of(path)))
}

pub(crate) fn utf8(bytes: &[u8]) -> Result<String, FileProblem> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(FileProblem::NotText { at: error.valid_up_to() }),
    }
}

/// Writes a file as a whole.
///
/// # Errors
/// [`FileProblem::Io`].
pub fn write_bytes(path: &Path, content: &[u8]) -> Result<(), FileError> {
    fs::write(path, content).map_err(|error| FileProblem::Io(error).of(name_of(path)))
}

/// Checks, before any work is done for it, that the folder exists into which a file shall go.
///
/// # Errors
/// [`FileProblem::Unexpected`].
pub fn check_folder(path: &Path) -> Result<(), FileError> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(FileProblem::unexpected(format!("a folder {}", folder.display()), "none").of(name_of(path)))
        }
        _ => Ok(()),
    }
}

/// Parses TOML; an error names the line.
pub(crate) fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, FileProblem> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
        // The error's own display quotes the source in several lines.
        FileProblem::Toml { line, message: error.message().to_owned() }
    })
}

/// Whether bytes that may be a message are text instead. No message is: it starts with a tag and a
/// length and goes on with control characters, which text has only as white space.
#[must_use]
pub fn looks_like_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.is_empty() && !text.chars().any(is_binary))
}

fn is_binary(char: char) -> bool {
    char.is_control() && !char.is_whitespace()
}
