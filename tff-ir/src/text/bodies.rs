//! Encoded graphs, modules and data, which the text form refers to by labels.

use super::error::{TextError, TextProblem};
use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, Engine};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::Arc;
use tff_types::syntax::{Lexer, Span, TokenKind};

/// Encoded messages by the labels that a text refers to them by: `comp#LABEL` to a `Computation`,
/// `data#LABEL` to an `Any`.
///
/// It prints as the definitions that the text form has at its beginning, and parses from them, so
/// that a file of it can lie beside one of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bodies {
    comps: BTreeMap<Arc<str>, Bytes>,
    data: BTreeMap<Arc<str>, Bytes>,
}

/// Which kind of message a label refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyKind {
    Comp,
    Data,
}

impl BodyKind {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Comp => "comp",
            Self::Data => "data",
        }
    }
}

/// How many hexadecimal digits of the hash make a label, where they tell all bodies apart.
const LABEL_DIGITS: usize = 16;
/// How many characters of base64 are printed on a line.
const LINE: usize = 100;

impl Bodies {
    /// No bodies.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.comps.is_empty() && self.data.is_empty()
    }

    /// The encoded computation of this label.
    #[must_use]
    pub fn comp(&self, label: &str) -> Option<&Bytes> {
        self.comps.get(label)
    }

    /// The encoded `Any` of this label.
    #[must_use]
    pub fn data(&self, label: &str) -> Option<&Bytes> {
        self.data.get(label)
    }

    /// Lets a label stand for an encoded computation, as for what the reference prints as
    /// `comp#LABEL`. Returns what it stood for.
    pub fn insert_comp(&mut self, label: impl Into<Arc<str>>, body: Bytes) -> Option<Bytes> {
        self.comps.insert(label.into(), body)
    }

    /// Lets a label stand for an encoded `Any`. Returns what it stood for.
    pub fn insert_data(&mut self, label: impl Into<Arc<str>>, body: Bytes) -> Option<Bytes> {
        self.data.insert(label.into(), body)
    }

    /// Reads definitions.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let mut lexer = Lexer::new(text);
        let mut bodies = Self::new();
        bodies.parse_definitions(&mut lexer)?;
        lexer.expect(TokenKind::End, "a definition: `comp#…` or `data#…`")?;
        Ok(bodies)
    }

    /// Reads the definitions that come next, up to the first token that does not begin one.
    pub(super) fn parse_definitions(&mut self, lexer: &mut Lexer<'_>) -> Result<(), TextError> {
        while let Some(kind) = starts_definition(lexer)? {
            let start = lexer.advance()?.span;
            lexer.advance()?;
            let label = lexer.label()?;
            let name: Arc<str> = lexer.text(label).into();
            let span = start.to(label.span);
            lexer.expect(TokenKind::Symbol('='), "`=`")?;
            let body = parse_body(lexer)?;
            lexer.expect(TokenKind::Symbol(';'), "`;`")?;
            check_label(lexer, span, &name, &body)?;
            let previous = match kind {
                BodyKind::Comp => self.insert_comp(name.clone(), body),
                BodyKind::Data => self.insert_data(name.clone(), body),
            };
            if previous.is_some() {
                return Err(TextError::new(lexer.source(), span, TextProblem::DefinedTwice(name.to_string())));
            }
        }
        Ok(())
    }

    /// Takes in bodies, each once, and returns their labels, which are the beginnings of their
    /// hashes.
    pub(super) fn label_all(&mut self, kind: BodyKind, bodies: &[Bytes]) -> Vec<Arc<str>> {
        let hashes: Vec<String> = bodies.iter().map(|body| blake3::hash(body).to_hex().to_string()).collect();
        let short = |hash: &str| hash.get(..LABEL_DIGITS).unwrap_or(hash).to_owned();
        let mut taken: BTreeMap<String, &str> = BTreeMap::new();
        let clash = hashes.iter().any(|hash| *taken.entry(short(hash)).or_insert(hash) != hash);
        let labels: Vec<Arc<str>> =
            hashes.iter().map(|hash| if clash { hash.as_str().into() } else { short(hash).into() }).collect();
        for (label, body) in labels.iter().zip(bodies) {
            match kind {
                BodyKind::Comp => self.insert_comp(label.clone(), body.clone()),
                BodyKind::Data => self.insert_data(label.clone(), body.clone()),
            };
        }
        labels
    }

    /// All bodies, computations first, by label.
    fn iter(&self) -> impl Iterator<Item = (BodyKind, &Arc<str>, &Bytes)> {
        let comps = self.comps.iter().map(|(label, body)| (BodyKind::Comp, label, body));
        comps.chain(self.data.iter().map(|(label, body)| (BodyKind::Data, label, body)))
    }

    /// Prints the definitions, on lines of their own or on one.
    pub(super) fn print(&self, lines: bool, f: &mut impl Write) -> fmt::Result {
        for (kind, label, body) in self.iter() {
            let text = STANDARD.encode(body);
            write!(f, "{}#{label}=base64\"", kind.word())?;
            if lines {
                let mut rest = text.as_str();
                while let Some((line, after)) = rest.split_at_checked(LINE) {
                    write!(f, "\n{line}")?;
                    rest = after;
                }
                write!(f, "\n{rest}\";\n")?;
            } else {
                write!(f, "{text}\";")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Bodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(true, f)
    }
}

/// Whether `comp#LABEL=` or `data#LABEL=` comes next.
fn starts_definition(lexer: &mut Lexer<'_>) -> Result<Option<BodyKind>, TextError> {
    let mut ahead = lexer.clone();
    let word = ahead.advance()?;
    let kind = match ahead.text(word) {
        "comp" => BodyKind::Comp,
        "data" => BodyKind::Data,
        _ => return Ok(None),
    };
    if !ahead.eat(TokenKind::Symbol('#'))? {
        return Ok(None);
    }
    ahead.label()?;
    Ok(ahead.eat(TokenKind::Symbol('='))?.then_some(kind))
}

fn parse_body(lexer: &mut Lexer<'_>) -> Result<Bytes, TextError> {
    lexer.expect_word("base64", "`base64\"…\"`")?;
    let token = lexer.expect(TokenKind::Text, "what is encoded, in double quotes")?;
    let mut text = lexer.bytes(token).unwrap_or_default().into_owned();
    text.retain(|byte| !byte.is_ascii_whitespace());
    STANDARD.decode(&text).map(Bytes::from).map_err(|error| {
        let found = match error {
            DecodeError::InvalidByte(offset, byte) | DecodeError::InvalidLastSymbol(offset, byte) => {
                format!("byte {byte:#04x} at offset {offset}")
            }
            DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => format!("{} characters", text.len()),
        };
        TextError::new(lexer.source(), token.span, TextProblem::Base64(found))
    })
}

/// A label that looks like a hash must be that of its body, so that a wrong file is noticed.
fn check_label(lexer: &Lexer<'_>, span: Span, label: &str, body: &Bytes) -> Result<(), TextError> {
    let is_hash = label.len() >= LABEL_DIGITS && label.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    if is_hash && !blake3::hash(body).to_hex().starts_with(label) {
        return Err(TextError::new(lexer.source(), span, TextProblem::OtherBody(label.to_owned())));
    }
    Ok(())
}
