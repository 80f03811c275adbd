//! Computations from outside: messages, and texts with what lies beside them.

use crate::forms;
use crate::input::{Source, looks_like_text};
use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use std::path::PathBuf;
use tff_ir::Comp;
use tff_ir::text::{self, Bodies, Environment, Parsed, TextError};
use tff_proto::{Limits, v0 as pb};
use tff_types::Type;
use tff_types::syntax::{Lexer, TokenKind};

/// What the name of a text of computations ends in.
const TEXT: &str = "tff";
/// What the name of the file beside it ends in that defines what the text leaves out.
const BODIES: &str = "bodies";

/// A computation that is not decoded yet.
#[derive(Debug)]
pub(crate) enum Encoded {
    /// A serialized message.
    Message(Bytes),
    /// The text form.
    Text(Text),
}

impl Encoded {
    /// Reads a file whose name says what it is, `.pb` or `.tff`, or its content where it does not.
    pub(crate) fn read(source: &Source, arguments: &TextArgs) -> Result<Self> {
        let bytes = source.read().with_context(|| source.name())?;
        let is_text = match source.extension() {
            Some("pb") => false,
            Some(TEXT) => true,
            _ => looks_like_text(&bytes),
        };
        if is_text { Text::new(source, &bytes, arguments).map(Self::Text) } else { Ok(Self::Message(bytes)) }
    }
}

/// A computation as text.
#[derive(Debug)]
pub(crate) struct Text {
    /// What it is called in messages.
    pub(crate) name: String,
    /// The text.
    pub(crate) content: String,
    /// What the text does not say itself.
    pub(crate) environment: Environment,
}

impl Text {
    /// Reads a file that is text, whatever its name.
    pub(crate) fn read(source: &Source, arguments: &TextArgs) -> Result<Self> {
        let bytes = source.read().with_context(|| source.name())?;
        Self::new(source, &bytes, arguments)
    }

    fn new(source: &Source, bytes: &[u8], arguments: &TextArgs) -> Result<Self> {
        let (name, content) = (source.name(), utf8(bytes).with_context(|| source.name())?);
        Ok(Self { name, content, environment: arguments.environment(source)? })
    }

    /// Parses it.
    pub(crate) fn parse(&self) -> Result<Parsed> {
        text::parse(&self.content, &self.environment).map_err(|error| at(&self.name, &error))
    }
}

/// The error with the name of the file before it, as `file:line:column: message`.
fn at(name: &str, error: &TextError) -> anyhow::Error {
    anyhow!("{name}:{error}")
}

fn utf8(bytes: &[u8]) -> Result<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => bail!("expected text in UTF-8, found something else at byte {}", error.valid_up_to()),
    }
}

/// Reads a computation, or that which the parts of a form make up.
pub(crate) fn read(source: &Source) -> Result<Comp> {
    if forms::is_form(source) {
        return forms::read(source)?.to_comp().with_context(|| source.name());
    }
    read_one(source)
}

/// Reads a computation that is in one file.
pub(crate) fn read_one(source: &Source) -> Result<Comp> {
    match Encoded::read(source, &TextArgs::default())? {
        Encoded::Message(bytes) => {
            decode(&bytes).and_then(|proto| Ok(Comp::from_proto(&proto)?)).with_context(|| source.name())
        }
        Encoded::Text(text) => Ok(text.parse()?.comp),
    }
}

/// Decodes a message.
pub(crate) fn decode(bytes: &Bytes) -> Result<pb::Computation> {
    if bytes.is_empty() {
        bail!("expected a computation, found nothing");
    }
    Ok(tff_proto::decode(bytes, &Limits::default())?)
}

/// What a text does not say itself.
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
    fn environment(&self, source: &Source) -> Result<Environment> {
        let bodies = match (&self.bodies, source) {
            (Some(path), _) => read_bodies(path.clone())?,
            (None, Source::File(path)) if source.extension() == Some(TEXT) => {
                let beside = path.with_extension(BODIES);
                if beside.is_file() { read_bodies(beside)? } else { Bodies::new() }
            }
            (None, _) => Bodies::new(),
        };
        let names = self.names.iter().map(|(name, ty)| (name.as_str().into(), ty.clone())).collect();
        Ok(Environment { names, parameter: self.parameter.clone(), bodies })
    }
}

fn read_bodies(path: PathBuf) -> Result<Bodies> {
    let source = Source::File(path);
    let text = source.read().and_then(|bytes| utf8(&bytes)).with_context(|| source.name())?;
    Bodies::parse(&text).map_err(|error| at(&source.name(), &error))
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
