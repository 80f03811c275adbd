//! From text to a syntax tree.

use super::MAX_LEVELS;
use super::ast::{Id, Plain, Written, WrittenKind};
use super::bodies::Bodies;
use super::constant;
use super::error::{TextError, TextProblem};
use crate::visit::with_stack;
use std::sync::Arc;
use tff_types::syntax::{Lexer, Span, Token, TokenKind, is_keyword, parse_type};
use tff_types::{Placement, Type};

/// All that was written; the root is the last.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Written>,
    pub(super) root: Id,
}

impl Tree {
    pub(super) fn get(&self, id: Id) -> Option<&Written> {
        self.nodes.get(id.0)
    }
}

/// Reads definitions and the computation after them.
pub(super) fn parse(text: &str) -> Result<(Tree, Bodies), TextError> {
    let mut lexer = Lexer::new(text);
    let mut bodies = Bodies::new();
    bodies.parse_definitions(&mut lexer)?;
    let mut parser = Parser { lexer, nodes: Vec::new(), open: 0 };
    let root = parser.outermost()?;
    parser.lexer.expect(TokenKind::End, "the end of the computation")?;
    Ok((Tree { nodes: parser.nodes, root }, bodies))
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    nodes: Vec<Written>,
    /// How many computations are being read, each within the one before.
    open: usize,
}

const COLON: TokenKind = TokenKind::Symbol(':');
const COMMA: TokenKind = TokenKind::Symbol(',');
const EQUALS: TokenKind = TokenKind::Symbol('=');
const HASH: TokenKind = TokenKind::Symbol('#');
const MINUS: TokenKind = TokenKind::Symbol('-');

impl<'a> Parser<'a> {
    /// A computation that may leave out the brackets around it: `x -> y`, `let a=x in y`.
    fn outermost(&mut self) -> Result<Id, TextError> {
        let start = self.start()?;
        let token = self.lexer.peek()?;
        if self.is_word(token, "let") {
            return self.block(start);
        }
        if token.kind == TokenKind::Arrow {
            self.lexer.advance()?;
            let result = self.outermost_result()?;
            return self.add(start, WrittenKind::Lambda { parameter: None, result });
        }
        let id = self.comp()?;
        if self.lexer.peek()?.kind != TokenKind::Arrow {
            return Ok(id);
        }
        // What was read was a parameter.
        let parameter = match self.nodes.get(id.0) {
            Some(Written { kind: WrittenKind::Name { name, ty }, .. }) => Some((name.clone(), ty.clone())),
            _ => return Err(self.unexpected("the end of the computation")?),
        };
        self.lexer.advance()?;
        let result = self.outermost_result()?;
        self.add(start, WrittenKind::Lambda { parameter, result })
    }

    fn outermost_result(&mut self) -> Result<Id, TextError> {
        self.nest(Self::outermost)
    }

    fn comp(&mut self) -> Result<Id, TextError> {
        self.nest(|it| {
            let start = it.start()?;
            let first = it.prime()?;
            it.postfix(start, first)
        })
    }

    fn nest(&mut self, read: impl FnOnce(&mut Self) -> Result<Id, TextError>) -> Result<Id, TextError> {
        if self.open >= MAX_LEVELS {
            let span = self.lexer.peek()?.span;
            return Err(self.error(span, TextProblem::TooDeep));
        }
        self.open += 1;
        let id = with_stack(|| read(self))?;
        self.open -= 1;
        Ok(id)
    }

    /// Any number of `(x)`, `[0]` and `.a`.
    fn postfix(&mut self, start: usize, mut id: Id) -> Result<Id, TextError> {
        loop {
            id = match self.lexer.peek()?.kind {
                TokenKind::Symbol('(') => {
                    self.lexer.advance()?;
                    let argument = if self.lexer.eat(TokenKind::Symbol(')'))? {
                        None
                    } else {
                        let argument = self.comp()?;
                        self.lexer.expect(TokenKind::Symbol(')'), "`)`")?;
                        Some(argument)
                    };
                    self.add(start, WrittenKind::Call { function: id, argument })?
                }
                TokenKind::Symbol('[') => {
                    self.lexer.advance()?;
                    let token = self.lexer.expect(TokenKind::Number, "the index of an element")?;
                    let text = self.lexer.text(token);
                    let index =
                        text.parse().map_err(|_| self.error(token.span, TextProblem::Index(text.to_owned())))?;
                    self.lexer.expect(TokenKind::Symbol(']'), "`]`")?;
                    self.add(start, WrittenKind::Index { source: id, index })?
                }
                TokenKind::Symbol('.') => {
                    self.lexer.advance()?;
                    let name = self.name("the name of an element")?;
                    self.add(start, WrittenKind::Field { source: id, name })?
                }
                _ => return Ok(id),
            };
        }
    }

    fn prime(&mut self) -> Result<Id, TextError> {
        const A_COMPUTATION: &str = "a computation";
        let start = self.start()?;
        let token = self.lexer.peek()?;
        let kind = match token.kind {
            TokenKind::Symbol('(') => return self.parenthesized(),
            TokenKind::Symbol('<') if self.python_lambda()?.is_some() => return self.reference(),
            TokenKind::Symbol('<') => return self.structure(),
            TokenKind::Symbol('%') => {
                self.lexer.advance()?;
                let uri = self.name("the name of an intrinsic")?;
                WrittenKind::Intrinsic { uri, ty: self.optional_type()? }
            }
            TokenKind::Symbol('@') => {
                self.lexer.advance()?;
                let token = self.lexer.peek()?;
                let text = self.lexer.text(token);
                let found = Placement::ALL.into_iter().find(|it| it.name() == text);
                let placement = found.ok_or_else(|| self.lexer.unexpected(token, "CLIENTS or SERVER"))?;
                self.lexer.advance()?;
                let label = if self.lexer.eat(COLON)? { Some(self.name("the label of a placement")?) } else { None };
                WrittenKind::Placement { placement, label }
            }
            TokenKind::Number | MINUS => {
                let plain = self.number()?;
                WrittenKind::Plain(plain)
            }
            TokenKind::Ident => return self.word(token),
            TokenKind::Quoted => return self.reference(),
            _ => return Err(self.lexer.unexpected(token, A_COMPUTATION).into()),
        };
        self.add(start, kind)
    }

    /// What starts with an identifier: a name, or a word of the notation.
    fn word(&mut self, token: Token) -> Result<Id, TextError> {
        let start = token.span.start;
        let second = self.lexer.peek_second()?;
        let kind = match (self.lexer.text(token), second) {
            ("lit", _) => self.literal()?,
            ("comp", HASH) => {
                let label = self.label()?;
                WrittenKind::Compiled { label }
            }
            ("data", HASH) => {
                let label = self.label()?;
                self.lexer.expect(COLON, "`:` and the type of the data")?;
                WrittenKind::Data { label, ty: parse_type(&mut self.lexer)? }
            }
            ("data", TokenKind::Text) => {
                self.lexer.advance()?;
                let text = self.lexer.advance()?;
                let bytes = self.lexer.bytes(text).unwrap_or_default().into_owned();
                let uri = String::from_utf8(bytes).map_err(|_| self.error(text.span, TextProblem::NotUnicode))?;
                self.lexer.expect(COLON, "`:` and the type of the data")?;
                WrittenKind::DataUri { uri: uri.into(), ty: parse_type(&mut self.lexer)? }
            }
            ("b", TokenKind::Symbol('\'') | TokenKind::Text) => WrittenKind::Plain(Plain::Bytes(self.python_bytes()?)),
            _ => return self.reference(),
        };
        self.add(start, kind)
    }

    /// `comp#LABEL` or `data#LABEL`
    fn label(&mut self) -> Result<Arc<str>, TextError> {
        self.lexer.advance()?;
        self.lexer.advance()?;
        let label = self.lexer.label()?;
        Ok(self.lexer.text(label).into())
    }

    fn reference(&mut self) -> Result<Id, TextError> {
        let start = self.start()?;
        let name = self.name("a computation")?;
        let ty = self.optional_type()?;
        self.add(start, WrittenKind::Name { name, ty })
    }

    fn optional_type(&mut self) -> Result<Option<Type>, TextError> {
        if self.lexer.eat(COLON)? { Ok(Some(parse_type(&mut self.lexer)?)) } else { Ok(None) }
    }

    /// A name, which is no word of the notation.
    fn name(&mut self, expected: &'static str) -> Result<Arc<str>, TextError> {
        if let Some(name) = self.python_lambda()? {
            let start = self.start()?;
            self.lexer.seek(start + name.len());
            return Ok(name.into());
        }
        let token = self.lexer.peek()?;
        let is_word = token.kind == TokenKind::Ident && is_keyword(self.lexer.text(token));
        match self.lexer.name(token) {
            Some(name) if !is_word => {
                self.lexer.advance()?;
                Ok(name.into())
            }
            Some(word) => Err(self
                .lexer
                .unexpected(token, format!("{expected} (as a name, write `{word}` in backquotes)"))
                .into()),
            None => Err(self.lexer.unexpected(token, expected).into()),
        }
    }

    /// A name that the reference makes of that of Python's anonymous functions and prints as it is:
    /// `<lambda>_arg`, `fc_<lambda>_symbol_0`. Nothing else looks like it: no name is followed by `<`,
    /// and no struct by a name.
    fn python_lambda(&mut self) -> Result<Option<&'a str>, TextError> {
        const LAMBDA: &str = "<lambda>";
        let rest = self.lexer.source().get(self.start()?..).unwrap_or_default();
        let word = |text: &str| text.bytes().take_while(|byte| *byte == b'_' || byte.is_ascii_alphanumeric()).count();
        let before = word(rest);
        let Some(after) = rest.get(before..).and_then(|rest| rest.strip_prefix(LAMBDA)) else { return Ok(None) };
        let after = word(after);
        let name = rest.get(..before + LAMBDA.len() + after);
        Ok(name.filter(|_| before + after > 0))
    }

    /// A lambda, a block or a complex number.
    fn parenthesized(&mut self) -> Result<Id, TextError> {
        let start = self.start()?;
        self.lexer.advance()?;
        let token = self.lexer.peek()?;
        if self.is_word(token, "let") {
            let block = self.block(start)?;
            self.lexer.expect(TokenKind::Symbol(')'), "`)`")?;
            self.extend(block);
            return Ok(block);
        }
        // `nan` and `inf` are names too.
        let is_special = self.is_word(token, "nan") || self.is_word(token, "inf");
        if matches!(token.kind, TokenKind::Number | MINUS)
            || (is_special && matches!(self.lexer.peek_second()?, TokenKind::Symbol('+' | '-')))
        {
            return self.complex(start);
        }
        let is_lambda = self.python_lambda()?.is_some();
        let parameter = match token.kind {
            TokenKind::Arrow => None,
            TokenKind::Ident | TokenKind::Quoted | TokenKind::Symbol('<')
                if is_lambda || token.kind != TokenKind::Symbol('<') =>
            {
                let name = self.name("the name of a parameter")?;
                Some((name, self.optional_type()?))
            }
            _ => {
                return Err(self
                    .lexer
                    .unexpected(token, "a function, `(x:type -> …)`, or a block, `(let x=… in …)`")
                    .into());
            }
        };
        self.lexer.expect(TokenKind::Arrow, "`->`")?;
        let result = self.comp()?;
        self.lexer.expect(TokenKind::Symbol(')'), "`)`")?;
        self.add(start, WrittenKind::Lambda { parameter, result })
    }

    /// A block without the brackets around it.
    fn block(&mut self, start: usize) -> Result<Id, TextError> {
        self.lexer.advance()?;
        let mut locals = Vec::new();
        let token = self.lexer.peek()?;
        if !self.is_word(token, "in") {
            loop {
                let name = self.name("the name of a local")?;
                self.lexer.expect(EQUALS, "`=`")?;
                locals.push((name, self.comp()?));
                if !self.lexer.eat(COMMA)? {
                    break;
                }
            }
        }
        self.lexer.expect_word("in", "`,` or `in`")?;
        let result = self.comp()?;
        self.add(start, WrittenKind::Block { locals, result })
    }

    fn structure(&mut self) -> Result<Id, TextError> {
        let start = self.start()?;
        self.lexer.advance()?;
        let mut elements = Vec::new();
        if self.lexer.eat(TokenKind::Symbol('>'))? {
            return self.add(start, WrittenKind::Struct { elements });
        }
        loop {
            let is_name = matches!(self.lexer.peek()?.kind, TokenKind::Ident | TokenKind::Quoted);
            let name = if is_name && self.lexer.peek_second()? == EQUALS {
                let name = self.name("the name of an element")?;
                self.lexer.advance()?;
                Some(name)
            } else {
                None
            };
            elements.push((name, self.comp()?));
            if !self.lexer.eat(COMMA)? {
                break;
            }
        }
        self.lexer.expect(TokenKind::Symbol('>'), "`,` or `>`")?;
        self.add(start, WrittenKind::Struct { elements })
    }

    /// `lit int32[2] [1,2] as int32[?]`
    fn literal(&mut self) -> Result<WrittenKind, TextError> {
        self.lexer.advance()?;
        let start = self.start()?;
        let ty = parse_type(&mut self.lexer)?;
        let span = Span { start, end: self.lexer.last_end() };
        let array = constant::parse(&mut self.lexer, &ty, span)?;
        let next = self.lexer.peek()?;
        let ty = if self.is_word(next, "as") {
            self.lexer.advance()?;
            parse_type(&mut self.lexer)?
        } else {
            ty
        };
        Ok(WrittenKind::Literal { array, ty })
    }

    /// `1`, `-1.5`, `-inf`, `2j`
    fn number(&mut self) -> Result<Plain, TextError> {
        let (text, is_imaginary) = self.real()?;
        if is_imaginary {
            return Ok(Plain::Complex(0.0, self.float(&text)?));
        }
        if text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) {
            return Ok(Plain::Integer(text));
        }
        self.float(&text).map(Plain::Float)
    }

    /// `(1+2j)`, after the bracket.
    fn complex(&mut self, start: usize) -> Result<Id, TextError> {
        let (re, _) = self.real()?;
        let token = self.lexer.peek()?;
        let sign = match token.kind {
            TokenKind::Symbol('+') => {
                self.lexer.advance()?;
                ""
            }
            MINUS => "",
            _ => return Err(self.lexer.unexpected(token, "a sign and the imaginary part").into()),
        };
        let (im, is_imaginary) = self.real()?;
        if !is_imaginary {
            return Err(self.unexpected("`j`")?);
        }
        let plain = Plain::Complex(self.float(&re)?, self.float(&format!("{sign}{im}"))?);
        self.lexer.expect(TokenKind::Symbol(')'), "`)`")?;
        self.add(start, WrittenKind::Plain(plain))
    }

    /// A number with its sign, and whether `j` follows it.
    fn real(&mut self) -> Result<(String, bool), TextError> {
        let sign = if self.lexer.eat(MINUS)? { "-" } else { "" };
        let token = self.lexer.peek()?;
        let text = self.lexer.text(token);
        // `infj` and `nanj` are one word.
        if let Some(text) = text.strip_suffix('j').filter(|text| matches!(*text, "inf" | "nan")) {
            self.lexer.advance()?;
            return Ok((format!("{sign}{text}"), true));
        }
        if token.kind != TokenKind::Number && !matches!(text, "inf" | "nan") {
            return Err(self.lexer.unexpected(token, "a number").into());
        }
        self.lexer.advance()?;
        let next = self.lexer.peek()?;
        let is_imaginary = next.span.start == token.span.end && self.is_word(next, "j");
        if is_imaginary {
            self.lexer.advance()?;
        }
        Ok((format!("{sign}{text}"), is_imaginary))
    }

    fn float(&self, text: &str) -> Result<f64, TextError> {
        let span = Span { start: self.lexer.last_end(), end: self.lexer.last_end() };
        let dtype = tff_types::DType::Float64;
        text.parse().map_err(|_| self.error(span, TextProblem::Constant { dtype, found: text.to_owned() }))
    }

    /// `b'…'` or `b"…"`, as Python writes bytes.
    fn python_bytes(&mut self) -> Result<Vec<u8>, TextError> {
        self.lexer.advance()?;
        let token = self.lexer.peek()?;
        if token.kind == TokenKind::Text {
            self.lexer.advance()?;
            return Ok(self.lexer.bytes(token).unwrap_or_default().into_owned());
        }
        let source = self.lexer.source();
        let start = token.span.start;
        let text = source.get(start + 1..).unwrap_or_default();
        let mut escaped = false;
        let end = text.char_indices().find(|&(_, char)| {
            let is_end = char == '\'' && !escaped;
            escaped = char == '\\' && !escaped;
            is_end
        });
        let Some((len, _)) = end else {
            let span = Span { start, end: source.len() };
            return Err(self.error(span, tff_types::syntax::SyntaxProblem::Unterminated("text")));
        };
        // What is between the quotes, as the notation has it between its own.
        let quoted = format!("\"{}\"", text.get(..len).unwrap_or_default().replace("\\'", "'").replace('"', "\\\""));
        let mut inner = Lexer::new(&quoted);
        let inner_token = inner.advance().map_err(|error| self.error(token.span, error.problem))?;
        let bytes = inner.bytes(inner_token).unwrap_or_default().into_owned();
        self.lexer.seek(start + 1 + len + 1);
        Ok(bytes)
    }

    fn is_word(&self, token: Token, word: &str) -> bool {
        token.kind == TokenKind::Ident && self.lexer.text(token) == word
    }

    fn start(&mut self) -> Result<usize, TextError> {
        Ok(self.lexer.peek()?.span.start)
    }

    fn unexpected(&mut self, expected: &'static str) -> Result<TextError, TextError> {
        let token = self.lexer.peek()?;
        Ok(self.lexer.unexpected(token, expected).into())
    }

    fn error(&self, span: Span, problem: impl Into<TextProblem>) -> TextError {
        TextError::new(self.lexer.source(), span, problem)
    }

    /// Adds what was written from `start` to here.
    fn add(&mut self, start: usize, kind: WrittenKind) -> Result<Id, TextError> {
        let below = |id: &Id| self.nodes.get(id.0).map_or(0, |it| it.levels);
        let levels = match &kind {
            WrittenKind::Index { source, .. } | WrittenKind::Field { source, .. } => below(source),
            WrittenKind::Struct { elements } => elements.iter().map(|(_, id)| below(id)).max().unwrap_or(0),
            WrittenKind::Call { function, argument } => below(function).max(argument.as_ref().map_or(0, below)),
            WrittenKind::Lambda { result, .. } => below(result),
            WrittenKind::Block { locals, result } => {
                locals.iter().map(|(_, id)| below(id)).max().unwrap_or(0).max(below(result))
            }
            _ => 0,
        };
        let (levels, span) = (levels + 1, Span { start, end: self.lexer.last_end() });
        if levels > MAX_LEVELS {
            return Err(self.error(span, TextProblem::TooDeep));
        }
        self.nodes.push(Written { kind, span, levels });
        Ok(Id(self.nodes.len() - 1))
    }

    /// Counts the text up to here to a node.
    fn extend(&mut self, id: Id) {
        let end = self.lexer.last_end();
        if let Some(written) = self.nodes.get_mut(id.0) {
            written.span.end = end;
        }
    }
}
