//! Computations from outside: messages, and texts with the `.bodies` beside them.

use crate::files::{FileError, FileProblem, looks_like_text, name_of, read_bytes, read_text, utf8};
use bytes::Bytes;
use std::path::{Path, PathBuf};
use tff_ir::Comp;
use tff_ir::text::{self, Bodies, Environment, Parsed};
use tff_proto::{Limits, v0 as pb};
use tff_types::Type;

/// What the name of a message ends in.
const MESSAGE: &str = "pb";
/// What the name of a text of computations ends in.
const TEXT: &str = "tff";
/// What the name of the file beside it ends in that defines what the text leaves out.
const BODIES: &str = "bodies";

/// A computation that is not decoded yet.
#[derive(Clone, Debug)]
pub enum Encoded {
    /// A serialized message, `tensorflow_federated.v0.Computation`.
    Message(Message),
    /// The text form.
    Text(Text),
}

impl Encoded {
    /// Reads a file whose name says what it is, `.pb` or `.tff`, or its content where it does not.
    ///
    /// # Errors
    /// Where the file, or one beside it, cannot be read, or is no text though its name says so.
    pub fn read(path: &Path, options: &TextOptions) -> Result<Self, FileError> {
        let bytes = read_bytes(path)?;
        let is_text = match path.extension().and_then(|extension| extension.to_str()) {
            Some(MESSAGE) => false,
            Some(TEXT) => true,
            _ => looks_like_text(&bytes),
        };
        Self::new(name_of(path), bytes, is_text, options, Some(path))
    }

    /// Takes bytes that have no file; their content says what they are.
    ///
    /// # Errors
    /// Where the file of [`TextOptions::bodies`] cannot be read.
    pub fn from_bytes(name: impl Into<String>, bytes: Bytes, options: &TextOptions) -> Result<Self, FileError> {
        let is_text = looks_like_text(&bytes);
        Self::new(name.into(), bytes, is_text, options, None)
    }

    fn new(
        name: String,
        bytes: Bytes,
        is_text: bool,
        options: &TextOptions,
        path: Option<&Path>,
    ) -> Result<Self, FileError> {
        if is_text {
            Text::new(name, &bytes, options, path).map(Self::Text)
        } else {
            Ok(Self::Message(Message { name, bytes }))
        }
    }

    /// Decodes or parses the computation.
    ///
    /// # Errors
    /// If it is not a computation, or not well-typed.
    pub fn decode(&self) -> Result<Comp, FileError> {
        match self {
            Self::Message(message) => message.decode(),
            Self::Text(text) => Ok(text.parse()?.comp),
        }
    }
}

/// A computation as a message.
#[derive(Clone, Debug)]
pub struct Message {
    /// What it is called in messages.
    pub name: String,
    /// The serialized message.
    pub bytes: Bytes,
}

impl Message {
    /// Reads a file that is a message, whatever its name.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        Ok(Self { name: name_of(path), bytes: read_bytes(path)? })
    }

    /// Decodes the message alone, without building the computation.
    ///
    /// # Errors
    /// Where the bytes are no message.
    pub fn to_proto(&self) -> Result<pb::Computation, FileProblem> {
        if self.bytes.is_empty() {
            return Err(FileProblem::Empty);
        }
        Ok(tff_proto::decode(&self.bytes, &Limits::default())?)
    }

    fn decode(&self) -> Result<Comp, FileError> {
        let comp = self.to_proto().and_then(|proto| Ok(Comp::from_proto(&proto)?));
        comp.map_err(|problem| problem.of(&self.name))
    }
}

/// A computation as text.
#[derive(Clone, Debug)]
pub struct Text {
    /// What it is called in messages.
    pub name: String,
    /// The text.
    pub content: String,
    /// What the text does not say itself.
    pub environment: Environment,
}

impl Text {
    /// Reads a file that is text, whatever its name.
    ///
    /// # Errors
    /// Where the file, or one beside it, cannot be read or is no text.
    pub fn read(path: &Path, options: &TextOptions) -> Result<Self, FileError> {
        Self::new(name_of(path), &read_bytes(path)?, options, Some(path))
    }

    /// Takes bytes that have no file.
    ///
    /// # Errors
    /// Where they are no text, or the file of [`TextOptions::bodies`] cannot be read.
    pub fn from_bytes(name: impl Into<String>, bytes: &[u8], options: &TextOptions) -> Result<Self, FileError> {
        Self::new(name.into(), bytes, options, None)
    }

    fn new(name: String, bytes: &[u8], options: &TextOptions, path: Option<&Path>) -> Result<Self, FileError> {
        let content = utf8(bytes).map_err(|problem| problem.of(&name))?;
        Ok(Self { name, content, environment: options.environment(path)? })
    }

    /// Parses it.
    ///
    /// # Errors
    /// Where it is no computation; with the place in the text.
    pub fn parse(&self) -> Result<Parsed, FileError> {
        text::parse(&self.content, &self.environment).map_err(|error| FileProblem::Text(Box::new(error)).of(&self.name))
    }
}

/// What a text does not say itself.
#[derive(Clone, Debug, Default)]
pub struct TextOptions {
    /// A file that defines labels; by default `NAME.bodies` beside `NAME.tff`, if there is one.
    pub bodies: Option<PathBuf>,
    /// The type of the parameter of the outermost function.
    pub parameter: Option<Type>,
    /// The types of free names.
    pub names: Vec<(String, Type)>,
}

impl TextOptions {
    fn environment(&self, path: Option<&Path>) -> Result<Environment, FileError> {
        let beside = || {
            let path = path.filter(|path| path.extension().is_some_and(|extension| extension == TEXT))?;
            Some(path.with_extension(BODIES)).filter(|path| path.is_file())
        };
        let bodies = match self.bodies.clone().or_else(beside) {
            Some(path) => read_bodies(&path)?,
            None => Bodies::new(),
        };
        let names = self.names.iter().map(|(name, ty)| (name.as_str().into(), ty.clone())).collect();
        Ok(Environment { names, parameter: self.parameter.clone(), bodies })
    }
}

fn read_bodies(path: &Path) -> Result<Bodies, FileError> {
    let text = read_text(path)?;
    Bodies::parse(&text).map_err(|error| FileProblem::Text(Box::new(error)).of(name_of(path)))
}

/// Reads a computation that is in one file, a message or a text.
pub(crate) fn read_file(path: &Path) -> Result<Comp, FileError> {
    Encoded::read(path, &TextOptions::default())?.decode()
}
