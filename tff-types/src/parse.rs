//! From text to types.
//!
//! Reads what the printers write, and the looser style of the protocol's comments: white space
//! anywhere, `string` for `str`, placements in lower case, and at the top level parameters and
//! functions without their brackets, `federated_broadcast: T, p: placement -> T@p`.

use crate::syntax::{Lexer, Span, SyntaxError, SyntaxProblem, Token, TokenKind, is_identifier, is_keyword};
use crate::{DType, Dim, Element, MAX_DEPTH, Placement, PlacementSpec, Shape, Type, TypeError};
use std::str::FromStr;
use std::sync::Arc;

impl FromStr for Type {
    type Err = SyntaxError;

    /// Reads a type.
    ///
    /// A leading name and colon, as in `federated_sum: {T}@clients -> T@server`, is what the
    /// protocol's comments declare; it is not part of the type.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut lexer = Lexer::new(text);
        let ty = Parser { lexer: &mut lexer }.declaration()?;
        lexer.expect(TokenKind::End, "the end of the type")?;
        Ok(ty)
    }
}

/// Reads the type that comes next, as it stands within a computation: with all its brackets.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse_type(lexer: &mut Lexer<'_>) -> Result<Type, SyntaxError> {
    Parser { lexer }.ty()
}

/// Reads with a stack of open brackets of its own: how deep a text is nested is no matter of the
/// thread's stack.
struct Parser<'l, 'a> {
    lexer: &'l mut Lexer<'a>,
}

/// A bracket that is open, and what has been read since.
struct Open {
    start: usize,
    bracket: Bracket,
    elements: Vec<Element>,
    /// The name of the element that comes next.
    name: Option<Arc<str>>,
}

enum Bracket {
    /// `<`
    Struct,
    /// `(`, before the arrow
    Parameter,
    /// `(`, after the arrow
    Result(Option<Type>),
    /// `{`
    Braces,
}

impl Parser<'_, '_> {
    /// `[name ":"] [list] ["->" type]`, without the brackets that would be around it elsewhere.
    fn declaration(&mut self) -> Result<Type, SyntaxError> {
        if self.at_name()? && self.lexer.peek_second()? == TokenKind::Symbol(':') && !self.at_labelled_placement()? {
            self.lexer.advance()?;
            self.lexer.advance()?;
        }
        let start = self.start()?;
        let parameter = if self.lexer.peek()?.kind == TokenKind::Arrow { None } else { Some(self.list()?) };
        if let Some(ty) = &parameter
            && self.lexer.peek()?.kind != TokenKind::Arrow
        {
            return Ok(ty.clone());
        }
        self.lexer.expect(TokenKind::Arrow, "`->`")?;
        let result = self.ty()?;
        self.build(start, Type::function(parameter, result))
    }

    /// A single type, or what would be a struct within brackets.
    fn list(&mut self) -> Result<Type, SyntaxError> {
        let start = self.start()?;
        let mut elements = Vec::new();
        loop {
            let name = self.element_name()?;
            elements.push(Element { name, ty: self.ty()? });
            if !self.lexer.eat(TokenKind::Symbol(','))? {
                return self.build(start, single_or_structure(elements));
            }
        }
    }

    fn ty(&mut self) -> Result<Type, SyntaxError> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let mut start = self.start()?;
            let Some(mut ty) = self.begin(&mut open)? else { continue };
            // A type is complete: apply what follows it, and close brackets until one goes on.
            loop {
                ty = self.postfix(start, ty)?;
                let Some(innermost) = open.pop() else { return Ok(ty) };
                start = innermost.start;
                match self.end(innermost, ty)? {
                    Ended::Closed(closed) => ty = closed,
                    Ended::GoesOn(innermost) => {
                        open.push(innermost);
                        break;
                    }
                }
            }
        }
    }

    /// Reads a type without brackets, or opens a bracket.
    fn begin(&mut self, open: &mut Vec<Open>) -> Result<Option<Type>, SyntaxError> {
        let token = self.lexer.peek()?;
        let bracket = match token.kind {
            TokenKind::Symbol('<') => Bracket::Struct,
            TokenKind::Symbol('(') => Bracket::Parameter,
            TokenKind::Symbol('{') => Bracket::Braces,
            _ => return self.leaf(token).map(Some),
        };
        self.lexer.advance()?;
        // Not the only check: the constructors count the levels of what is within too.
        if u32::try_from(open.len()).is_ok_and(|levels| levels >= MAX_DEPTH) {
            return Err(self.error(token.span, TypeError::TooDeep));
        }
        let mut innermost = Open { start: token.span.start, bracket, elements: Vec::new(), name: None };
        match innermost.bracket {
            Bracket::Struct if self.lexer.eat(TokenKind::Symbol('>'))? => {
                return self.build(innermost.start, Type::tuple([])).map(Some);
            }
            Bracket::Parameter if self.lexer.eat(TokenKind::Arrow)? => innermost.bracket = Bracket::Result(None),
            Bracket::Struct | Bracket::Parameter => innermost.name = self.element_name()?,
            Bracket::Result(_) | Bracket::Braces => {}
        }
        open.push(innermost);
        Ok(None)
    }

    /// Takes in a type that is complete within this bracket.
    fn end(&mut self, mut open: Open, ty: Type) -> Result<Ended, SyntaxError> {
        let start = open.start;
        match open.bracket {
            Bracket::Struct | Bracket::Parameter => {
                open.elements.push(Element { name: open.name.take(), ty });
                if self.lexer.eat(TokenKind::Symbol(','))? {
                    open.name = self.element_name()?;
                } else if matches!(open.bracket, Bracket::Struct) {
                    self.lexer.expect(TokenKind::Symbol('>'), "`,` or `>`")?;
                    return self.build(start, structure(open.elements)).map(Ended::Closed);
                } else {
                    let parameter = self.build(start, single_or_structure(open.elements))?;
                    self.lexer.expect(TokenKind::Arrow, "`,` or `->`")?;
                    open.elements = Vec::new();
                    open.bracket = Bracket::Result(Some(parameter));
                }
                Ok(Ended::GoesOn(open))
            }
            Bracket::Result(parameter) => {
                self.lexer.expect(TokenKind::Symbol(')'), "`)`")?;
                self.build(start, Type::function(parameter, ty)).map(Ended::Closed)
            }
            Bracket::Braces => {
                self.lexer.expect(TokenKind::Symbol('}'), "`}`")?;
                let placement = self.at_placement()?;
                self.build(start, Type::federated(ty, placement, false)).map(Ended::Closed)
            }
        }
    }

    /// Any number of `*` and `@SERVER`.
    fn postfix(&mut self, start: usize, mut ty: Type) -> Result<Type, SyntaxError> {
        loop {
            match self.lexer.peek()?.kind {
                TokenKind::Symbol('*') => {
                    self.lexer.advance()?;
                    ty = self.build(start, Type::sequence(ty))?;
                }
                TokenKind::Symbol('@') => {
                    let placement = self.at_placement()?;
                    ty = self.build(start, Type::federated(ty, placement, true))?;
                }
                _ => return Ok(ty),
            }
        }
    }

    /// A type without brackets around it.
    fn leaf(&mut self, token: Token) -> Result<Type, SyntaxError> {
        match token.kind {
            TokenKind::Symbol('\'') => self.unknown_rank(),
            TokenKind::Ident | TokenKind::Quoted if self.lexer.peek_second()? == TokenKind::Symbol(':') => {
                let label = self.name()?;
                self.lexer.advance()?;
                self.lexer.expect_word("placement", "`placement`, which alone can have a label")?;
                Ok(Type::labelled_placement(label))
            }
            TokenKind::Ident => self.word(),
            TokenKind::Quoted => Ok(Type::abstract_type(self.name()?)),
            _ => Err(self.lexer.unexpected(token, "a type")),
        }
    }

    /// A dtype with its shape, `placement`, or an abstract type with its primes: `T'`.
    fn word(&mut self) -> Result<Type, SyntaxError> {
        let token = self.lexer.advance()?;
        let text = self.lexer.text(token);
        if let Ok(dtype) = text.parse() {
            return Ok(Type::tensor(dtype, self.shape()?));
        }
        if text == "placement" {
            return Ok(Type::placement());
        }
        let mut span = token.span;
        loop {
            let next = self.lexer.peek()?;
            if next.kind != TokenKind::Symbol('\'') || next.span.start != span.end {
                break;
            }
            span = span.to(self.lexer.advance()?.span);
        }
        Ok(Type::abstract_type(self.lexer.text(Token { kind: TokenKind::Ident, span })))
    }

    /// `[2,?]`, or nothing.
    fn shape(&mut self) -> Result<Shape, SyntaxError> {
        let mut dims = Vec::new();
        if self.lexer.eat(TokenKind::Symbol('['))? && !self.lexer.eat(TokenKind::Symbol(']'))? {
            loop {
                dims.push(self.dim()?);
                if !self.lexer.eat(TokenKind::Symbol(','))? {
                    break;
                }
            }
            self.lexer.expect(TokenKind::Symbol(']'), "`,` or `]`")?;
        }
        Ok(Shape::new(dims))
    }

    fn dim(&mut self) -> Result<Dim, SyntaxError> {
        if self.lexer.eat(TokenKind::Symbol('?'))? {
            return Ok(None);
        }
        let token = self.lexer.peek()?;
        let text = self.lexer.text(token);
        if token.kind != TokenKind::Number || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.lexer.unexpected(token, "a dimension: a number or `?`"));
        }
        self.lexer.advance()?;
        let size = text.parse::<i64>().ok().and_then(|size| u64::try_from(size).ok());
        size.map(Some).ok_or_else(|| self.error(token.span, SyntaxProblem::Dimension))
    }

    /// `'float32'(shape=None)`.
    fn unknown_rank(&mut self) -> Result<Type, SyntaxError> {
        const QUOTE: TokenKind = TokenKind::Symbol('\'');
        self.lexer.expect(QUOTE, "`'`")?;
        let token = self.lexer.peek()?;
        let dtype: DType =
            self.lexer.text(token).parse().map_err(|_| self.lexer.unexpected(token, "the name of a dtype"))?;
        self.lexer.advance()?;
        self.lexer.expect(QUOTE, "`'`")?;
        self.lexer.expect(TokenKind::Symbol('('), "`(shape=None)`")?;
        self.lexer.expect_word("shape", "`shape=None`")?;
        self.lexer.expect(TokenKind::Symbol('='), "`=None`")?;
        self.lexer.expect_word("None", "`None`")?;
        self.lexer.expect(TokenKind::Symbol(')'), "`)`")?;
        Ok(Type::tensor(dtype, Shape::unknown_rank()))
    }

    fn at_placement(&mut self) -> Result<PlacementSpec, SyntaxError> {
        self.lexer.expect(TokenKind::Symbol('@'), "`@` and a placement")?;
        let token = self.lexer.peek()?;
        let Some(name) = self.lexer.name(token) else {
            return Err(self.lexer.unexpected(token, "a placement"));
        };
        self.lexer.advance()?;
        if token.kind == TokenKind::Quoted {
            return Ok(PlacementSpec::Label(name.into()));
        }
        match name.as_ref() {
            "CLIENTS" | "clients" => Ok(Placement::Clients.into()),
            "SERVER" | "server" => Ok(Placement::Server.into()),
            label if is_plain_placement_label(label) => Ok(PlacementSpec::Label(label.into())),
            other => Err(self.error(token.span, SyntaxProblem::UnknownPlacement(other.to_owned()))),
        }
    }

    /// The name of a struct element and `=`, if they come next.
    fn element_name(&mut self) -> Result<Option<Arc<str>>, SyntaxError> {
        if !self.at_name()? || self.lexer.peek_second()? != TokenKind::Symbol('=') {
            return Ok(None);
        }
        let name = self.name()?;
        self.lexer.advance()?;
        Ok(Some(name))
    }

    fn name(&mut self) -> Result<Arc<str>, SyntaxError> {
        let token = self.lexer.advance()?;
        match self.lexer.name(token) {
            Some(name) => Ok(name.into()),
            None => Err(self.lexer.unexpected(token, "a name")),
        }
    }

    fn at_name(&mut self) -> Result<bool, SyntaxError> {
        Ok(matches!(self.lexer.peek()?.kind, TokenKind::Ident | TokenKind::Quoted))
    }

    fn at_labelled_placement(&mut self) -> Result<bool, SyntaxError> {
        let mut ahead = self.lexer.clone();
        ahead.advance()?;
        ahead.advance()?;
        let third = ahead.advance()?;
        Ok(third.kind == TokenKind::Ident && ahead.text(third) == "placement")
    }

    fn start(&mut self) -> Result<usize, SyntaxError> {
        Ok(self.lexer.peek()?.span.start)
    }

    /// What the constructor says is wrong is wrong with the text from `start` to here.
    fn build(&self, start: usize, built: Result<Type, TypeError>) -> Result<Type, SyntaxError> {
        built.map_err(|error| self.error(Span { start, end: self.lexer.last_end() }, error))
    }

    fn error(&self, span: Span, problem: impl Into<SyntaxProblem>) -> SyntaxError {
        SyntaxError::new(self.lexer.source(), span, problem)
    }
}

/// What an innermost bracket does when a type within it is complete.
enum Ended {
    Closed(Type),
    GoesOn(Open),
}

/// A single element without a name is its own type.
fn single_or_structure(mut elements: Vec<Element>) -> Result<Type, TypeError> {
    match (elements.len(), elements.pop()) {
        (1, Some(Element { name: None, ty })) => Ok(ty),
        (_, last) => structure(elements.into_iter().chain(last).collect()),
    }
}

fn structure(elements: Vec<Element>) -> Result<Type, TypeError> {
    Type::structure(elements.into_iter().map(|element| (element.name, element.ty)))
}

/// Whether a placement label can be told from a placement without quotes.
pub(crate) fn is_plain_placement_label(label: &str) -> bool {
    label.starts_with(|first: char| first == '_' || first.is_ascii_lowercase())
        && is_identifier(label)
        && !is_keyword(label)
        && !matches!(label, "clients" | "server")
}
