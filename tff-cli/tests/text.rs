//! `tff print`, `parse`, `check` and `fmt` as a user meets them: the text form and everything that is wrong with it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A folder in which commands run.
struct Folder(TempDir);

/// How a command ended.
struct Ended {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
}

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With these files.
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        files.iter().for_each(|(name, content)| folder.write(name, content.as_bytes()));
        folder
    }

    fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.0.path().join(name), content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    fn end(&self, args: &[&str], stdin: &[u8]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tff"));
        command.args(args).current_dir(self.0.path()).envs(tff_testing::native_libraries()).env_remove("TFF_LOG");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let stdin = stdin.to_owned();
        // A command that fails early does not read all of it.
        let writer = std::thread::spawn(move || pipe.write_all(&stdin).is_ok());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        Ended { code: output.status.code().unwrap(), stdout: output.stdout, stderr }
    }

    /// What a command prints that succeeds.
    #[track_caller]
    fn bytes(&self, args: &[&str], stdin: &[u8]) -> Vec<u8> {
        let ended = self.end(args, stdin);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{args:?}");
        ended.stdout
    }

    /// What a command prints, and its exit code where it does not succeed.
    #[track_caller]
    fn run_with(&self, args: &[&str], stdin: &str) -> String {
        let ended = self.end(args, stdin.as_bytes());
        let stdout = String::from_utf8(ended.stdout).unwrap();
        let code = if ended.code == 0 { String::new() } else { format!("exit code {}", ended.code) };
        format!("{stdout}{}{code}", ended.stderr)
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> String {
        self.run_with(args, "")
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The files of the examples whose names end so.
fn examples(extension: &str) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(repository().join("examples")).unwrap();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == extension));
    paths.sort();
    paths
}

#[test]
fn messages_are_text_and_messages_again() {
    let folder = Folder::new();
    let paths = examples("pb");
    assert_eq!(paths.len(), 18);
    for path in paths {
        let (file, expected) = (path.to_str().unwrap(), std::fs::read(&path).unwrap());
        let text = folder.bytes(&["print", file, "--form", "text"], b"");
        assert!(folder.bytes(&["parse", "-"], &text) == expected, "{file}");
        // Its graphs in a file beside it.
        folder.write("a.tff", &folder.bytes(&["print", file, "--bodies", "a.bodies"], b""));
        assert!(folder.bytes(&["parse", "a.tff"], b"") == expected, "{file}");
        folder.write("text", &folder.bytes(&["print", "a.tff", "--bodies", "labels"], b""));
        assert_eq!(folder.run(&["parse", "text", "--bodies", "a.bodies", "-o", "b.pb"]), "");
        assert!(std::fs::read(folder.0.path().join("b.pb")).unwrap() == expected, "{file}");
        // What is printed is laid out well, and right.
        folder.write("inline.tff", &text);
        assert_eq!(folder.run(&["fmt", "--check", "a.tff", "inline.tff"]), "", "{file}");
        assert_eq!(folder.run(&["check", file]), "", "{file}");
        assert_eq!(folder.run(&["check", "a.tff"]), "", "{file}");
        for form in ["compact", "formatted", "structural"] {
            assert_eq!(folder.run(&["print", "--form", form, "a.tff"]), folder.run(&["print", "--form", form, file]));
        }
    }
}

#[test]
fn texts_of_the_examples_are_those_of_their_messages() {
    let folder = Folder::new();
    let paths = examples("tff");
    assert_eq!(paths.len(), 1);
    for path in paths {
        let file = path.to_str().unwrap();
        assert!(folder.bytes(&["parse", file], b"") == std::fs::read(path.with_extension("pb")).unwrap(), "{file}");
        assert_eq!(folder.run(&["fmt", "--check", file]), "");
        assert_eq!(folder.run(&["check", file]), "");
    }
}

#[test]
fn every_command_reads_text() {
    let folder =
        Folder::with(&[("pair.tff", "(x:int32 -> <x,a=<x>>)"), ("other", "(x:int32 -> <x,a=<x>>) // text by content")]);
    insta::assert_snapshot!(folder.run(&["type", "pair.tff"]), @"(int32 -> <int32,a=<int32>>)");
    insta::assert_snapshot!(folder.run_with(&["type", "-"], "\n(x:<int32> -> x[0])"), @"(<int32> -> int32)");
    insta::assert_snapshot!(folder.run(&["run", "pair.tff", "--arg", "7"]), @"<7,a=<7>>");
    insta::assert_snapshot!(folder.run(&["run", "other", "--arg", "7", "--json"]), @"[7,[7]]");
    insta::assert_snapshot!(folder.run(&["print", "other"]), @"(x:int32 -> <x,a=<x>>)");
    insta::assert_snapshot!(folder.run(&["print", "other", "--form", "compact"]), @"(x -> <x,a=<x>>)");
    insta::assert_snapshot!(folder.run(&["print", "other", "--form", "formatted"]), @r"
    (x -> <
      x,
      a=<
        x
      >
    >)
    ");
    insta::assert_snapshot!(folder.run(&["print", "other", "--form", "structural"]), @r"
    Lambda(x)
    |
    Struct
    |
    [Ref(x), a=Struct]
               |
               [Ref(x)]
    ");
    let native = repository().join("examples/temperatures/above.native.pb");
    folder.write("above.tff", &folder.bytes(&["print", native.to_str().unwrap(), "--bodies", "above.bodies"], b""));
    insta::assert_snapshot!(folder.run(&["run", "above.tff", "--arg", r#"{"x": [68.5, 70, 71.25], "t": 69}"#]), @"0.6666667@SERVER");
}

#[test]
fn what_the_text_leaves_out_can_be_told() {
    let folder = Folder::with(&[("loose.tff", "x -> f(x[0])")]);
    insta::assert_snapshot!(folder.run(&["check", "loose.tff"]), @r"
    error[missing-type]: the type of the parameter `x` is not determined; write it: `(x:int32 -> x)`
     --> loose.tff:1:1
      |
    1 | x -> f(x[0])
      | ^^^^^^^^^^^^
    exit code 1
    ");
    let message = folder.bytes(
        &["parse", "loose.tff", "--parameter", "<int32,bool>", "--name", "f=int32 -> bool", "--name", "`=`=str"],
        b"",
    );
    folder.write("out.pb", &message);
    insta::assert_snapshot!(folder.run(&["print", "out.pb"]), @"(x:<int32,bool> -> f:(int32 -> bool)(x[0]))");
    insta::assert_snapshot!(folder.run(&["parse", "loose.tff", "--name", "f"]), @r"
    error: invalid value 'f' for '--name <NAME=TYPE>': 1:2: expected `=`, found the end

    For more information, try '--help'.
    exit code 2
    ");
    insta::assert_snapshot!(folder.run(&["parse", "loose.tff", "--parameter", "<int33*"]), @r"
    error: invalid value '<int33*' for '--parameter <TYPE>': 1:8: expected `,` or `>`, found the end

    For more information, try '--help'.
    exit code 2
    ");
}

/// Three things wrong, one of them doubtful.
const BAD: &str = "\
// What is wrong here is found.
(x:int32 ->
  <%nope:(int32 -> int32)(x),
   %federated_sum:(int32 -> int32)(x),
   n=(let a=x,a=x in a)>)
";

#[test]
fn check_finds_every_problem() {
    let folder = Folder::with(&[("bad.tff", BAD), ("doubtful.tff", "(let in <>)")]);
    insta::assert_snapshot!(folder.run(&["check", "bad.tff"]), @r"
    warning[unknown-intrinsic]: no known intrinsic is named `nope`
     --> bad.tff:3:4
      |
    3 |   <%nope:(int32 -> int32)(x),
      |    ^^^^^^^^^^^^^^^^^^^^^^
    error[intrinsic-type]: expected an instance of ({T}@CLIENTS -> T@SERVER) for federated_sum: not an instance: expected {T}@CLIENTS, found int32 (federated and tensor) at (parameter)
     --> bad.tff:4:4
      |
    4 |    %federated_sum:(int32 -> int32)(x),
      |    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    error[duplicate-local]: an earlier local of the block is named `a`, too
     --> bad.tff:5:17
      |
    5 |    n=(let a=x,a=x in a)>)
      |                 ^
    exit code 1
    ");
    insta::assert_snapshot!(folder.run(&["check", "bad.tff", "--json"]), @r#"
    [{"severity":"warning","code":"unknown-intrinsic","path":".lambda.result.struct.element[0].call.function","message":"no known intrinsic is named `nope`","line":3,"column":4},{"severity":"error","code":"intrinsic-type","path":".lambda.result.struct.element[1].call.function","message":"expected an instance of ({T}@CLIENTS -> T@SERVER) for federated_sum: not an instance: expected {T}@CLIENTS, found int32 (federated and tensor) at (parameter)","line":4,"column":4},{"severity":"error","code":"duplicate-local","path":".lambda.result.struct.element[2](n).block.local[1](a)","message":"an earlier local of the block is named `a`, too","line":5,"column":17}]
    exit code 1
    "#);
    folder.write("bad.pb", &folder.bytes(&["parse", "bad.tff"], b""));
    insta::assert_snapshot!(folder.run(&["check", "bad.pb"]), @r"
    bad.pb: warning[unknown-intrinsic] at .lambda.result.struct.element[0].call.function: no known intrinsic is named `nope`
    bad.pb: error[intrinsic-type] at .lambda.result.struct.element[1].call.function: expected an instance of ({T}@CLIENTS -> T@SERVER) for federated_sum: not an instance: expected {T}@CLIENTS, found int32 (federated and tensor) at (parameter)
    bad.pb: error[duplicate-local] at .lambda.result.struct.element[2](n).block.local[1](a): an earlier local of the block is named `a`, too
    exit code 1
    ");
    // Warnings alone are no failure.
    insta::assert_snapshot!(folder.run(&["check", "doubtful.tff"]), @r"
    warning[empty-block]: a block without locals
     --> doubtful.tff:1:1
      |
    1 | (let in <>)
      | ^^^^^^^^^^^
    ");
    assert_eq!(folder.run(&["check", "--json", "../missing"]).lines().count(), 2);
    assert_eq!(folder.run_with(&["check", "--json", "-"], "<>"), "[]\n");
}

#[test]
fn check_shows_what_cannot_be_read() {
    let folder = Folder::with(&[
        ("open.tff", "(x:int32 ->\n  <x,"),
        ("free.tff", "(x:int32 -> y)"),
        ("bad.pb", "no"),
        ("empty.pb", ""),
    ]);
    insta::assert_snapshot!(folder.run(&["check", "open.tff"]), @r"
    error[malformed]: expected a computation, found the end
     --> open.tff:2:6
      |
    2 |   <x,
      |      ^
    exit code 1
    ");
    insta::assert_snapshot!(folder.run(&["check", "free.tff", "--json"]), @r#"
    [{"severity":"error","code":"unbound-reference","path":null,"message":"unknown name `y`; a free name needs a type: `x:int32`","line":1,"column":13}]
    exit code 1
    "#);
    insta::assert_snapshot!(folder.run_with(&["check", "-"], "(x:int32 -> x(x))"), @r"
    error[ill-typed-call]: expected a function to call, found a value of type int32
     --> stdin:1:13
      |
    1 | (x:int32 -> x(x))
      |             ^^^^
    exit code 1
    ");
    insta::assert_snapshot!(folder.run(&["check", "bad.pb"]), @r"
    bad.pb: error[malformed] at .: not a valid tensorflow_federated.v0.Computation (2 bytes): failed to decode Protobuf message: invalid wire type value: 6
    exit code 1
    ");
    insta::assert_snapshot!(folder.run(&["check", "empty.pb", "--json"]), @r#"
    [{"severity":"error","code":"malformed","path":".","message":"expected a computation, found nothing","line":null,"column":null}]
    exit code 1
    "#);
}

#[test]
fn fmt_changes_the_layout_alone() {
    let text = "// A pair.\n\n  // Of the same.\n( x : int32->\n<x, x> )";
    let folder = Folder::with(&[("a.tff", text), ("b.tff", "( -> <>)\n"), ("c.tff", "<>")]);
    insta::assert_snapshot!(folder.run(&["fmt", "--check", "a.tff", "b.tff", "c.tff"]), @r"
    a.tff
    c.tff
    exit code 1
    ");
    assert_eq!(folder.read("a.tff"), text);
    assert_eq!(folder.run(&["fmt", "a.tff", "b.tff", "c.tff"]), "");
    insta::assert_snapshot!(folder.read("a.tff"), @r"
    // A pair.

    // Of the same.
    (x:int32 -> <x,x>)
    ");
    assert_eq!(folder.run(&["fmt", "--check", "a.tff", "b.tff", "c.tff"]), "");
    assert_eq!(folder.run_with(&["fmt", "-"], text), folder.read("a.tff"));
    insta::assert_snapshot!(folder.run_with(&["fmt", "--check", "-"], text), @r"
    stdin
    exit code 1
    ");
    // Labels are the hashes of what they stand for; both definitions are the same message.
    insta::assert_snapshot!(folder.run_with(&["fmt", "-"], "data#a=base64\"CgFhEgFi\"; data#b=base64\"CgFh EgFi\"; <data#a:int32,data#b:bool>"), @r#"
    data#a7c6a4874ddad0e5=base64"
    CgFhEgFi";
    <data#a7c6a4874ddad0e5:int32,data#a7c6a4874ddad0e5:bool>
    "#);
}

#[test]
fn fmt_keeps_comments_with_what_they_are_about() {
    let text = "// A file.\n\n( // of two\n  x:<int32,int32> -> (let\n    // The sum\n\n    // of both.\n\
                    a = %sum:(<int32,int32> -> int32)(x), b = a // again\n  // Both.\n  in <a, // one\n b>) // done\n)\n// The end.\n// Really.";
    let folder = Folder::with(&[("a.tff", text)]);
    assert_eq!(folder.run(&["fmt", "a.tff"]), "");
    insta::assert_snapshot!(folder.read("a.tff"), @r"
    // A file.
    // of two
    (x:<int32,int32> -> (let
      // The sum
      // of both.
      a=%sum:(<int32,int32> -> int32)(x),
      // again
      b=a
     // Both.
     // one
     // done
     in <a,b>))
    // The end.
    // Really.
    ");
    assert_eq!(folder.run(&["fmt", "--check", "a.tff"]), "");
}

#[test]
fn fmt_loses_nothing() {
    let cases = [("wrong.tff", "<"), ("constant.tff", "<b'\"'>"), ("named.tff", "data#name:int32")];
    let folder = Folder::with(&cases);
    folder.write("named.bodies", b"data#name=base64\"CgFhEgFi\";");
    let errors: Vec<_> = cases.iter().map(|(name, _)| folder.run(&["fmt", name])).collect();
    insta::assert_snapshot!(errors.join("\n"), @r#"
    error: wrong.tff:1:2: expected a computation, found the end
    exit code 1
    error: constant.tff: cannot be formatted: write its texts as `lit str "..."`
    exit code 1
    error: named.tff: cannot be formatted: nothing defines `data#a7c6a4874ddad0e5`
    exit code 1
    "#);
    for (name, text) in cases {
        assert_eq!(folder.read(name), text);
    }
}

#[test]
fn errors_say_where() {
    let folder = Folder::with(&[
        ("a.tff", "(x:int32 ->\n  z)"),
        ("b.tff", "comp#0123456789abcdef"),
        ("c.tff", "<>"),
        ("c.bodies", "comp#a=\n  base64\"?\";"),
        ("d.pb", "<>"),
    ]);
    folder.write("e.tff", b"<\xff>");
    let cases: [&[&str]; 8] = [
        &["type", "a.tff"],
        &["print", "b.tff"],
        &["run", "c.tff"],
        &["type", "d.pb"],
        &["parse", "e.tff"],
        &["parse", "c.tff", "-o", "missing/out.pb"],
        &["parse", "d.pb", "--bodies", "missing"],
        &["check", "missing.tff"],
    ];
    let errors: Vec<_> = cases.iter().map(|case| folder.run(case)).collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    error: a.tff:2:3: unknown name `z`; a free name needs a type: `x:int32`
    exit code 1
    error: b.tff:1:1: nothing defines `comp#0123456789abcdef`
    exit code 1
    error: c.bodies:2:9: expected base64, found byte 0x3f at offset 0
    exit code 1
    error: d.pb: not a valid tensorflow_federated.v0.Computation (2 bytes): failed to decode Protobuf message: Computation.computation: invalid wire type: EndGroup (expected LengthDelimited)
    exit code 1
    error: e.tff: expected text in UTF-8, found something else at byte 1
    exit code 1
    error: missing/out.pb: expected a folder missing, found none
    exit code 1
    error: missing: No such file or directory (os error 2)
    exit code 1
    error: missing.tff: No such file or directory (os error 2)
    exit code 1
    ");
    for case in [&["print", "c.tff", "--form", "compact", "--bodies", "labels"][..], &["fmt"], &["parse"], &["check"]] {
        assert_eq!(folder.end(case, b"").code, 2, "{case:?}");
    }
}

#[test]
fn deep_texts_are_refused_or_read() {
    let folder = Folder::new();
    let nested = |levels: usize| format!("{}<>{}", "<".repeat(levels), ">".repeat(levels));
    insta::assert_snapshot!(folder.run_with(&["type", "-"], &nested(100_000)), @r"
    error: stdin:1:10001: the text nests more than 10000 levels
    exit code 1
    ");
    insta::assert_snapshot!(folder.run_with(&["parse", "-"], &nested(150)), @r"
    error: stdin: .: the computation nests more than 100 messages, more than protobuf reads
    exit code 1
    ");
    let calls = |levels: usize| format!("{}lit int32 1{}", "f:(int32 -> int32)(".repeat(levels), ")".repeat(levels));
    assert_eq!(folder.run_with(&["print", "--form", "compact", "-"], &calls(5_000)).len(), 15_002);
    insta::assert_snapshot!(folder.run_with(&["print", "--form", "structural", "-"], &calls(5_000)), @r"
    error: stdin: too large to draw: 5001 levels, 15001 characters on one line
    exit code 1
    ");
}
