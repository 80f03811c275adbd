//! From characters to tokens.

use super::{Span, SyntaxError, SyntaxProblem};
use std::borrow::Cow;

/// A kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A name as it is: letters, digits and `_`, not first a digit.
    Ident,
    /// A name in backquotes.
    Quoted,
    /// Digits, which may go on with a fraction and an exponent, or with an `x` and hexadecimal
    /// digits: `12`, `1.5e-7`, `0x7fc0`. There is no sign.
    Number,
    /// Text in double quotes.
    Text,
    /// `->`.
    Arrow,
    /// Any other character.
    Symbol(char),
    /// The end of the text.
    End,
}

/// A token and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is.
    pub span: Span,
}

const QUOTED_ESCAPES: &str = r"\`, \\, \n, \u{…}";
const TEXT_ESCAPES: &str = r#"\", \\, \n, \r, \t, \xHH"#;

/// Reads a text token by token. A clone reads ahead without disturbing the original.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    source: &'a str,
    offset: usize,
    peeked: Option<Token>,
    last_end: usize,
}

impl<'a> Lexer<'a> {
    /// Starts at the beginning of a text.
    #[must_use]
    pub const fn new(source: &'a str) -> Self {
        Self { source, offset: 0, peeked: None, last_end: 0 }
    }

    /// The whole text.
    #[must_use]
    pub const fn source(&self) -> &'a str {
        self.source
    }

    /// Where the last token taken ends.
    #[must_use]
    pub const fn last_end(&self) -> usize {
        self.last_end
    }

    /// The next token, which stays the next one.
    ///
    /// # Errors
    /// A quoted name or a text does not end, or contains an invalid escape.
    pub fn peek(&mut self) -> Result<Token, SyntaxError> {
        if let Some(token) = self.peeked {
            return Ok(token);
        }
        let token = self.scan()?;
        self.peeked = Some(token);
        Ok(token)
    }

    /// Takes the next token.
    ///
    /// # Errors
    /// As [`Lexer::peek`].
    pub fn advance(&mut self) -> Result<Token, SyntaxError> {
        let token = self.peek()?;
        self.peeked = None;
        self.offset = token.span.end;
        self.last_end = token.span.end;
        Ok(token)
    }

    /// The kind of the token after the next one.
    ///
    /// # Errors
    /// As [`Lexer::peek`].
    pub fn peek_second(&mut self) -> Result<TokenKind, SyntaxError> {
        let mut ahead = self.clone();
        ahead.advance()?;
        Ok(ahead.peek()?.kind)
    }

    /// Takes the next token if it is of this kind.
    ///
    /// # Errors
    /// As [`Lexer::peek`].
    pub fn eat(&mut self, kind: TokenKind) -> Result<bool, SyntaxError> {
        let found = self.peek()?.kind == kind;
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Takes the next token, which has to be of this kind.
    ///
    /// # Errors
    /// It is not; the message names `expected`. And as [`Lexer::peek`].
    pub fn expect(&mut self, kind: TokenKind, expected: &'static str) -> Result<Token, SyntaxError> {
        let token = self.peek()?;
        if token.kind == kind { self.advance() } else { Err(self.unexpected(token, expected)) }
    }

    /// Takes the next token, which has to be this word.
    ///
    /// # Errors
    /// It is not; the message names `expected`. And as [`Lexer::peek`].
    pub fn expect_word(&mut self, word: &str, expected: &'static str) -> Result<Token, SyntaxError> {
        let token = self.peek()?;
        if token.kind == TokenKind::Ident && self.text(token) == word {
            self.advance()
        } else {
            Err(self.unexpected(token, expected))
        }
    }

    /// Takes the letters, digits, `-`, `.` and `_` that come next, without regard to what tokens
    /// they would be otherwise: the label of `comp#15543782`.
    ///
    /// # Errors
    /// There are none.
    pub fn label(&mut self) -> Result<Token, SyntaxError> {
        self.peeked = None;
        let rest = self.source.get(self.offset..).unwrap_or_default();
        let len = run(rest, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
        if len == 0 {
            let token = self.peek()?;
            return Err(self.unexpected(token, "a label"));
        }
        let span = Span { start: self.offset, end: self.offset + len };
        (self.offset, self.last_end) = (span.end, span.end);
        Ok(Token { kind: TokenKind::Ident, span })
    }

    /// Goes on at this offset, after the caller has read a part of the source in another way. An offset that is
    /// not between two characters is the end.
    pub fn seek(&mut self, offset: usize) {
        let offset = if self.source.is_char_boundary(offset) { offset } else { self.source.len() };
        (self.offset, self.last_end, self.peeked) = (offset, offset, None);
    }

    /// The characters of a token.
    #[must_use]
    pub fn text(&self, token: Token) -> &'a str {
        self.source.get(token.span.start..token.span.end).unwrap_or_default()
    }

    /// What a name token names; `None` for other tokens.
    #[must_use]
    pub fn name(&self, token: Token) -> Option<Cow<'a, str>> {
        let text = self.text(token);
        match token.kind {
            TokenKind::Ident => Some(Cow::Borrowed(text)),
            TokenKind::Quoted => {
                let inner = text.strip_prefix('`')?.strip_suffix('`')?;
                if inner.contains('\\') { unquote(inner).map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
            }
            _ => None,
        }
    }

    /// The bytes that a text token stands for; `None` for other tokens.
    #[must_use]
    pub fn bytes(&self, token: Token) -> Option<Cow<'a, [u8]>> {
        if token.kind != TokenKind::Text {
            return None;
        }
        let inner = self.text(token).strip_prefix('"')?.strip_suffix('"')?;
        if inner.contains('\\') { unescape(inner).map(Cow::Owned) } else { Some(Cow::Borrowed(inner.as_bytes())) }
    }

    /// The error that this token is not what belongs there.
    #[must_use]
    pub fn unexpected(&self, token: Token, expected: impl Into<Cow<'static, str>>) -> SyntaxError {
        let found = match token.kind {
            TokenKind::End => "the end".to_owned(),
            _ => format!("`{}`", crate::brief::Brief::start(&self.text(token), 40)),
        };
        SyntaxError::new(self.source, token.span, SyntaxProblem::Unexpected { expected: expected.into(), found })
    }

    /// Finds the next token, without taking it.
    fn scan(&self) -> Result<Token, SyntaxError> {
        let start = self.skip_blank();
        let rest = self.source.get(start..).unwrap_or_default();
        let token = |kind, len| Ok(Token { kind, span: Span { start, end: start + len } });
        let Some(first) = rest.chars().next() else { return token(TokenKind::End, 0) };
        match first {
            '_' | 'a'..='z' | 'A'..='Z' => {
                token(TokenKind::Ident, run(rest, |byte| byte == b'_' || byte.is_ascii_alphanumeric()))
            }
            '0'..='9' => token(TokenKind::Number, number_len(rest)),
            '`' => token(TokenKind::Quoted, self.quoted_len(start, rest)?),
            '"' => token(TokenKind::Text, self.text_len(start, rest)?),
            '-' if rest.starts_with("->") => token(TokenKind::Arrow, 2),
            other => token(TokenKind::Symbol(other), other.len_utf8()),
        }
    }

    /// The offset after white space and comments.
    fn skip_blank(&self) -> usize {
        let mut rest = self.source.get(self.offset..).unwrap_or_default();
        loop {
            rest = rest.trim_start();
            match rest.strip_prefix("//") {
                Some(comment) => rest = comment.find('\n').and_then(|end| comment.get(end..)).unwrap_or_default(),
                None => return self.source.len() - rest.len(),
            }
        }
    }

    fn quoted_len(&self, start: usize, rest: &str) -> Result<usize, SyntaxError> {
        self.delimited(start, rest, '`', "quoted name", QUOTED_ESCAPES, |escape| unquote(escape).is_some())
    }

    fn text_len(&self, start: usize, rest: &str) -> Result<usize, SyntaxError> {
        self.delimited(start, rest, '"', "text", TEXT_ESCAPES, |escape| unescape(escape).is_some())
    }

    /// The length of what starts with a delimiter and ends with the next one that is not escaped.
    fn delimited(
        &self,
        start: usize,
        rest: &str,
        delimiter: char,
        what: &'static str,
        escapes: &'static str,
        is_valid: impl Fn(&str) -> bool,
    ) -> Result<usize, SyntaxError> {
        let mut chars = rest.char_indices().skip(1);
        while let Some((at, char)) = chars.next() {
            if char == delimiter {
                return Ok(at + 1);
            }
            if char != '\\' {
                continue;
            }
            // The escaped character is not a delimiter; neither is the rest of a longer escape.
            let escape = escape_text(rest.get(at..).unwrap_or_default());
            if !is_valid(escape) {
                let span = Span { start: start + at, end: start + at + escape.len() };
                return Err(SyntaxError::new(self.source, span, SyntaxProblem::Escape(escapes)));
            }
            chars.next();
        }
        let span = Span { start, end: self.source.len() };
        Err(SyntaxError::new(self.source, span, SyntaxProblem::Unterminated(what)))
    }
}

/// How many bytes at the start of the text satisfy the predicate.
fn run(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|&byte| belongs(byte)).count()
}

fn number_len(text: &str) -> usize {
    let digits = |from: usize| run(text.get(from..).unwrap_or_default(), |byte| byte.is_ascii_digit());
    if text.starts_with("0x") {
        return 2 + run(text.get(2..).unwrap_or_default(), |byte| byte.is_ascii_hexdigit());
    }
    let mut len = digits(0);
    let at = |index: usize| text.as_bytes().get(index).copied();
    // A dot without digits after it is no fraction.
    if at(len) == Some(b'.') && digits(len + 1) > 0 {
        len += 1 + digits(len + 1);
    }
    if matches!(at(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(at(len + 1), Some(b'+' | b'-')));
        if digits(len + 1 + sign) > 0 {
            len += 1 + sign + digits(len + 1 + sign);
        }
    }
    len
}

/// The escape at the start of the text: up to `\u{10ffff}` or `\xff`, otherwise two characters.
fn escape_text(text: &str) -> &str {
    let end = match text.chars().nth(1) {
        Some('u') => text.find('}').filter(|&end| end <= 10).map_or(2, |end| end + 1),
        Some('x') => 2 + run(text.get(2..).unwrap_or_default(), |byte| byte.is_ascii_hexdigit()).min(2),
        Some(other) => 1 + other.len_utf8(),
        None => 1,
    };
    text.get(..end).unwrap_or(text)
}

/// Resolves the escapes of a quoted name; `None` if one of them is invalid.
fn unquote(text: &str) -> Option<String> {
    let mut name = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            name.push(char);
            continue;
        }
        match chars.next()? {
            'n' => name.push('\n'),
            plain @ ('`' | '\\') => name.push(plain),
            'u' => {
                let (digits, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
                let all_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                name.push(all_hex.then(|| u32::from_str_radix(digits, 16).ok())?.and_then(char::from_u32)?);
                chars = rest.chars();
            }
            _ => return None,
        }
    }
    Some(name)
}

/// Resolves the escapes of a text; `None` if one of them is invalid.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let kind = after.chars().next()?;
        let mut len = kind.len_utf8();
        match kind {
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            '"' => bytes.push(b'"'),
            '\\' => bytes.push(b'\\'),
            'x' => {
                let digits = after.get(1..3).filter(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                len = 3;
            }
            _ => return None,
        }
        rest = after.get(len..)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}
