//! Reading and writing the notation of types.

use crate::parse;
use std::fmt::Write;
use tff_types::syntax::{Lexer, SyntaxError, TokenKind, parse_type};
use tff_types::{DType, PlacementSpec, Type};

#[test]
fn the_looser_style_of_the_protocol_is_read() {
    let cases = [
        ("bool[10]", "bool[10]"),
        ("<bool, foo=string>", "<bool,foo=str>"),
        ("bool, foo=string", "<bool,foo=str>"),
        ("foo=string", "<foo=str>"),
        ("T*", "T*"),
        ("T@p", "T@p"),
        ("{T}@p", "{T}@p"),
        ("T -> T'", "(T -> T')"),
        ("T->T''", "(T -> T'')"),
        ("<(int->int), arg=int>", "<(int -> int),arg=int>"),
        ("(T, name=U -> V)", "(<T,name=U> -> V)"),
        ("{<foo=int, bar=string>}@clients", "{<foo=int,bar=str>}@CLIENTS"),
        ("federated_sum: {T}@clients -> T@server", "({T}@CLIENTS -> T@SERVER)"),
        ("federated_broadcast: T, p: placement -> T@p", "(<T,placement> -> T@p)"),
        ("p: placement", "placement"),
        ("p: placement -> T@p", "(placement -> T@p)"),
        ("-> int32", "( -> int32)"),
        ("(\n  ->\tint32 ) // a comment", "( -> int32)"),
        ("// nothing of note\n< >", "<>"),
        ("int32[ 2 , ? ]", "int32[2,?]"),
        ("int32[]", "int32"),
        ("int32*@CLIENTS", "int32*@CLIENTS"),
        ("<placement=placement,in=int32,int32=bool>", "<placement=placement,in=int32,int32=bool>"),
    ];
    for (text, compact) in cases {
        assert_eq!(parse(text).to_string(), compact, "{text}");
    }
}

#[test]
fn what_compact_text_loses_is_quoted() {
    let names =
        ["plain", "<lambda>_arg", "two words", "=", "`\\\n\t\u{1f}\u{2028}é", "let", "in", "1st", "a:b", "int32"];
    let labels = ["T", "T'", "'", "T'U", "int32", "string", "int32'", "placement", "let", "", "T ", "x:placement"];
    let placements = ["p", "_p", "P", "clients", "server", "CLIENTS", "SERVER", "as", "", "p q", "p'"];
    let mut types = Vec::new();
    for name in names {
        types.push(Type::structure([(Some(name), Type::scalar(DType::Bool)), (None, Type::placement())]).unwrap());
        types.push(Type::structure([(Some(name), Type::labelled_placement(name))]).unwrap());
    }
    for label in labels {
        let ty = Type::abstract_type(label);
        types.push(Type::function(Some(Type::sequence(ty.clone()).unwrap()), ty.clone()).unwrap());
        types.push(Type::at_clients(ty).unwrap());
    }
    for label in placements {
        let member = Type::tuple([Type::scalar(DType::Int8)]).unwrap();
        for all_equal in [true, false] {
            let result = Type::federated(member.clone(), PlacementSpec::Label(label.into()), all_equal).unwrap();
            types.push(Type::function(Some(Type::labelled_placement(label)), result).unwrap());
        }
    }
    for ty in types {
        let text = ty.quoted().to_string();
        let read = parse(&text);
        assert_eq!(read, ty, "{text}");
        // Labels of placement types do not count in equality, but they are kept.
        assert_eq!(read.quoted().to_string(), text);
        assert_eq!(read.to_proto().unwrap(), ty.to_proto().unwrap());
    }
}

/// The text, the place and the message of an error, the place as columns under the text.
fn show(text: &str, error: &SyntaxError) -> String {
    let mut shown = String::new();
    for (index, line) in text.lines().enumerate() {
        writeln!(shown, "{line}").unwrap();
        if index + 1 == error.position.line {
            let width = text[error.span.start..error.span.end].chars().count().max(1);
            writeln!(shown, "{}{}", " ".repeat(error.position.column - 1), "^".repeat(width)).unwrap();
        }
    }
    shown + &error.to_string()
}

fn error(text: &str) -> String {
    show(text, &text.parse::<Type>().unwrap_err())
}

#[test]
fn errors_have_a_place() {
    let texts = [
        "",
        "<a=int32",
        "<a=int32,>",
        "<\n  a=int32,\n  é=int32\n>",
        "int32[3,-1]",
        "int32[1.5]",
        "int32[99999999999999999999]",
        "'T'(shape=None)",
        "'int32'(shape=1)",
        "(int32)",
        "(int32 -> int32",
        "( -> )",
        "{int32}",
        "{int32}@",
        "int32@CLIENT",
        "int32**",
        "<a={int32*}@CLIENTS*>",
        "<a=int32,bool,a=int8,b=int8,b=int8>",
        "<``=int32>",
        "int32 int32",
        "T -> U -> V",
        "x: y: T",
        "<p:int32>",
        "`ab",
        r"`a\qb`",
        r"`a\u{110000}b`",
    ];
    let shown: Vec<String> = texts.iter().map(|text| error(text)).collect();
    insta::assert_snapshot!(shown.join("\n\n"), @r#"
    1:1: expected a type, found the end

    <a=int32
            ^
    1:9: expected `,` or `>`, found the end

    <a=int32,>
             ^
    1:10: expected a type, found `>`

    <
      a=int32,
      é=int32
      ^
    >
    3:3: expected a type, found `é`

    int32[3,-1]
            ^
    1:9: expected a dimension: a number or `?`, found `-`

    int32[1.5]
          ^^^
    1:7: expected a dimension: a number or `?`, found `1.5`

    int32[99999999999999999999]
          ^^^^^^^^^^^^^^^^^^^^
    1:7: the dimension exceeds 9223372036854775807

    'T'(shape=None)
     ^
    1:2: expected the name of a dtype, found `T`

    'int32'(shape=1)
                  ^
    1:15: expected `None`, found `1`

    (int32)
          ^
    1:7: expected `,` or `->`, found `)`

    (int32 -> int32
                   ^
    1:16: expected `)`, found the end

    ( -> )
         ^
    1:6: expected a type, found `)`

    {int32}
           ^
    1:8: expected `@` and a placement, found the end

    {int32}@
            ^
    1:9: expected a placement, found the end

    int32@CLIENT
          ^^^^^^
    1:7: unknown placement `CLIENT`, expected CLIENTS, SERVER or a placement label: lower case or in backquotes

    int32**
    ^^^^^^^
    1:1: a sequence type cannot contain the sequence type int32*

    <a={int32*}@CLIENTS*>
       ^^^^^^^^^^^^^^^^^
    1:4: a sequence type cannot contain the federated type {int32*}@CLIENTS

    <a=int32,bool,a=int8,b=int8,b=int8>
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    1:1: duplicate struct element name `a` at positions 0 and 2, duplicate struct element name `b` at positions 3 and 4

    <``=int32>
    ^^^^^^^^^^
    1:1: struct element 0 has an empty name

    int32 int32
          ^^^^^
    1:7: expected the end of the type, found `int32`

    T -> U -> V
           ^^
    1:8: expected the end of the type, found `->`

    x: y: T
          ^
    1:7: expected `placement`, which alone can have a label, found `T`

    <p:int32>
       ^^^^^
    1:4: expected `placement`, which alone can have a label, found `int32`

    `ab
    ^^^
    1:1: the quoted name does not end

    `a\qb`
      ^^
    1:3: unknown escape, expected one of \`, \\, \n, \u{…}

    `a\u{110000}b`
      ^^^^^^^^^^
    1:3: unknown escape, expected one of \`, \\, \n, \u{…}
    "#);
}

#[test]
fn depth_is_limited() {
    let nested = |levels: usize| format!("{}int32{}", "<".repeat(levels), ">".repeat(levels));
    assert_eq!(parse(&nested(199)).depth(), 200);
    assert_eq!(parse(&"<>".chars().flat_map(|bracket| [bracket; 200]).collect::<String>()).depth(), 200);
    assert!(error_text(&nested(200)).ends_with("the type is nested deeper than 200 levels"));
    assert!(error_text(&nested(100_000)).ends_with("the type is nested deeper than 200 levels"));
    assert!(error_text(&"(".repeat(100_000)).ends_with("the type is nested deeper than 200 levels"));
    let braces = format!("{}int32{}", "{".repeat(100_000), "}@CLIENTS".repeat(100_000));
    assert!(error_text(&braces).ends_with("the type is nested deeper than 200 levels"));
}

fn error_text(text: &str) -> String {
    text.parse::<Type>().unwrap_err().to_string()
}

#[test]
fn a_type_is_read_from_the_middle_of_a_text() {
    let mut lexer = Lexer::new("(x:<a=int32,T> -> x)");
    assert!(lexer.eat(TokenKind::Symbol('(')).unwrap());
    let name = lexer.advance().unwrap();
    assert_eq!(lexer.name(name).unwrap(), "x");
    assert!(lexer.eat(TokenKind::Symbol(':')).unwrap());
    assert_eq!(parse_type(&mut lexer).unwrap().to_string(), "<a=int32,T>");
    assert_eq!(lexer.last_end(), "(x:<a=int32,T>".len());
    assert!(lexer.eat(TokenKind::Arrow).unwrap());
}

#[test]
fn tokens() {
    let kinds = |text: &str| {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.advance().unwrap();
            if token.kind == TokenKind::End {
                return tokens.join(" ");
            }
            let kind = format!("{:?}", token.kind);
            tokens.push(format!("{}:{}", kind.split('(').next().unwrap(), lexer.text(token)));
        }
    };
    assert_eq!(kinds("x.1[1.5e-7]"), "Ident:x Symbol:. Number:1 Symbol:[ Number:1.5e-7 Symbol:]");
    assert_eq!(
        kinds("1.x 0x7fC0 -1e 1e+5"),
        "Number:1 Symbol:. Ident:x Number:0x7fC0 Symbol:- Number:1 Ident:e Number:1e+5"
    );
    assert_eq!(kinds("->-> - >"), "Arrow:-> Arrow:-> Symbol:- Symbol:>");
    assert_eq!(kinds(r#"b"a\"\x00" // end"#), r#"Ident:b Text:"a\"\x00""#);

    let mut lexer = Lexer::new(r#" "a\"\\\n\r\t\x00\xffé" "#);
    let token = lexer.advance().unwrap();
    assert_eq!(lexer.bytes(token).unwrap().as_ref(), b"a\"\\\n\r\t\x00\xff\xc3\xa9");
    for bad in
        [r#""\x0""#, r#""\x0g""#, r#""\q""#, r#""\"#, r#"""#, r"`\`", r"`\u`", r"`\u{}`", r"`\u{d800}`", r"`\u{+41}`"]
    {
        assert!(Lexer::new(bad).peek().is_err(), "{bad}");
    }

    let mut lexer = Lexer::new("comp#15543782.a-b:int32");
    lexer.advance().unwrap();
    assert!(lexer.eat(TokenKind::Symbol('#')).unwrap());
    lexer.peek().unwrap();
    let label = lexer.label().unwrap();
    assert_eq!(lexer.text(label), "15543782.a-b");
    assert!(lexer.eat(TokenKind::Symbol(':')).unwrap());
}

/// The block marked `types` in the contract.
#[test]
fn examples_of_the_grammar() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../GRAMMAR.md");
    let grammar = std::fs::read_to_string(path).unwrap();
    let (_, block) = grammar.split_once("```types\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    assert!(block.lines().count() >= 15);
    for line in block.lines() {
        let (written, quoted) = line.split_once("=>").unwrap();
        assert_eq!(parse(written).quoted().to_string(), quoted.trim(), "{written}");
    }
}
