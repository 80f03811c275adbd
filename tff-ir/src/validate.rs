//! The rules for a computation as a whole, and a check that finds every violation.
//!
//! The constructors check each node against its parts. Here are the rules about names and
//! their scopes, about graphs and their bindings, and about intrinsics. A decoded computation may
//! break any of them. What concerns a single node is checked once, and the node remembers that.

use crate::build::{check_equivalent, contains_untyped, derive_type, is_untyped};
use crate::diag::{FirstLine, Name, OneLine, Shown};
use crate::operands::doubtful_operand;
use crate::proto::decode_reporting;
use crate::{
    Binder, Block, BuildError, Comp, CompKind, CompPath, CompStep, CompiledComputation, CompiledProblem, DecodeProblem,
    Intrinsic, Scope, Walk,
};
use foldhash::fast::RandomState;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use tff_proto::v0 as pb;
use tff_types::{DType, Label, Type, TypeKind};

/// Something wrong or doubtful in a computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether the computation is wrong.
    pub severity: Severity,
    /// Which rule is broken.
    pub code: Code,
    /// Where.
    pub path: CompPath,
    /// What was expected and what was found, in one line.
    pub message: String,
}

/// How bad a [`Diagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The computation means something, but not everyone accepts it.
    Warning,
    /// The computation is wrong.
    Error,
}

/// The rules, each with a stable name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// `unbound-reference`: nothing binds the name.
    UnboundReference,
    /// `reference-type`: the reference is of another type than what its name is bound to.
    ReferenceType,
    /// `ill-typed-call`: what is called is no function, or the argument does not suit it.
    IllTypedCall,
    /// `bad-selection`: what is selected from is no struct, or has no such element.
    BadSelection,
    /// `bad-literal`: the elements are not of the type of the literal.
    BadLiteral,
    /// `empty-name`: a parameter, local, reference or intrinsic without a name.
    EmptyName,
    /// `bad-type`: the type that follows from the parts cannot be.
    BadType,
    /// `other-type`: the node states another type than follows from its parts.
    OtherType,
    /// `missing-type`: nothing says of which type the node is.
    MissingType,
    /// `malformed`: the message is no computation.
    Malformed,
    /// `duplicate-local`: two locals of a block have the same name.
    DuplicateLocal,
    /// `empty-block`: a block without locals; a warning.
    EmptyBlock,
    /// `unknown-intrinsic`: an intrinsic that only a runtime may know; a warning.
    UnknownIntrinsic,
    /// `doubtful-operand`: an intrinsic of values that it cannot compute with, such as the sum of texts; a warning.
    DoubtfulOperand,
    /// `doubtful-data`: data of a type of which there are no values, such as a placement; a warning.
    DoubtfulData,
    /// `doubtful-label`: an abstract type whose name looks like that of a dtype; a warning.
    DoubtfulLabel,
    /// `unbound-label`: nothing says what an abstract type or placement of the type of the whole stands for; a warning.
    UnboundLabel,
    /// `intrinsic-type`: the type is no instance of the signature of the intrinsic.
    IntrinsicType,
    /// `local-computation-type`: a graph or module is no function, or of a type that it cannot
    /// compute with.
    LocalComputationType,
    /// `binding-mismatch`: the bindings of a graph or module do not parallel its type.
    BindingMismatch,
    /// `too-many-problems`: what else is wrong, or doubtful if it is a warning, is not reported.
    TooManyProblems,
}

impl Code {
    /// The name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnboundReference => "unbound-reference",
            Self::ReferenceType => "reference-type",
            Self::IllTypedCall => "ill-typed-call",
            Self::BadSelection => "bad-selection",
            Self::BadLiteral => "bad-literal",
            Self::EmptyName => "empty-name",
            Self::BadType => "bad-type",
            Self::OtherType => "other-type",
            Self::MissingType => "missing-type",
            Self::Malformed => "malformed",
            Self::DuplicateLocal => "duplicate-local",
            Self::EmptyBlock => "empty-block",
            Self::UnknownIntrinsic => "unknown-intrinsic",
            Self::DoubtfulOperand => "doubtful-operand",
            Self::DoubtfulData => "doubtful-data",
            Self::DoubtfulLabel => "doubtful-label",
            Self::UnboundLabel => "unbound-label",
            Self::IntrinsicType => "intrinsic-type",
            Self::LocalComputationType => "local-computation-type",
            Self::BindingMismatch => "binding-mismatch",
            Self::TooManyProblems => "too-many-problems",
        }
    }

    const fn severity(self) -> Severity {
        match self {
            Self::EmptyBlock
            | Self::UnknownIntrinsic
            | Self::DoubtfulOperand
            | Self::DoubtfulData
            | Self::DoubtfulLabel
            | Self::UnboundLabel => Severity::Warning,
            _ => Severity::Error,
        }
    }

    pub(crate) const fn of_decoding(problem: &DecodeProblem) -> Self {
        match problem {
            DecodeProblem::Build(error) => Self::of(error),
            DecodeProblem::MissingType => Self::MissingType,
            DecodeProblem::BadType { .. } | DecodeProblem::ReservedLabel => Self::BadType,
            DecodeProblem::OtherType { .. }
            | DecodeProblem::LambdaNotAFunction(_)
            | DecodeProblem::ParameterWithoutType { .. }
            | DecodeProblem::ParameterWithoutName(_) => Self::OtherType,
            DecodeProblem::NegativeIndex(_) => Self::BadSelection,
            DecodeProblem::Array(_) => Self::BadLiteral,
            DecodeProblem::NoKind | DecodeProblem::Missing(_) | DecodeProblem::UnknownPlacement(_) => Self::Malformed,
        }
    }

    pub(crate) const fn of(error: &BuildError) -> Self {
        match error {
            BuildError::NotAFunction { .. }
            | BuildError::MissingArgument { .. }
            | BuildError::UnexpectedArgument { .. }
            | BuildError::ArgumentNotAssignable(_) => Self::IllTypedCall,
            BuildError::NotAStruct { .. } | BuildError::IndexOutOfRange { .. } | BuildError::NoSuchElement { .. } => {
                Self::BadSelection
            }
            BuildError::LiteralNotATensor { .. } | BuildError::LiteralMismatch { .. } => Self::BadLiteral,
            BuildError::EmptyName(_) => Self::EmptyName,
            BuildError::NumberOfParts { .. } => Self::Malformed,
            BuildError::Type(_) => Self::BadType,
            BuildError::NotAnInstance(_) => Self::IntrinsicType,
            BuildError::Compiled(_) => Self::LocalComputationType,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Prints `error[unbound-reference] at .lambda.result: …`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity}[{}] at {}: {}", self.code, self.path, self.message)
    }
}

/// The most problems that are reported of one computation.
const MAX_PROBLEMS: usize = 1000;

/// Everything that is wrong or doubtful in a computation, in the order of a walk from the root:
/// each node before its parts, function before argument, locals before result.
///
/// A computation without a diagnostic of [`Severity::Error`] is valid.
#[must_use]
pub fn validate(comp: &Comp) -> Vec<Diagnostic> {
    Validator { check_nodes: true, ..Validator::default() }.diagnostics(comp)
}

/// Everything that is wrong or doubtful in an encoded computation: first what keeps it from being
/// decoded, then what the validator finds in the rest.
#[must_use]
pub fn validate_proto(proto: &pb::Computation) -> Vec<Diagnostic> {
    let (comp, errors) = decode_reporting(proto, MAX_PROBLEMS);
    // What the decoder finds wrong with single nodes need not be found again.
    let mut validator = Validator { check_nodes: errors.is_empty(), ..Validator::default() };
    for error in errors {
        validator.report_at(error.path, Code::of_decoding(&error.problem), error.problem);
    }
    validator.diagnostics(&comp)
}

#[derive(Default)]
struct Validator<'c> {
    /// Whether to check each node against its parts.
    check_nodes: bool,
    /// The nodes above the current one, each with the position of the part that leads there.
    above: Vec<(&'c Comp, usize)>,
    /// The types of the names in scope.
    scope: Scope<&'c Type, &'c str>,
    /// The labels that have been looked at.
    labels: BTreeSet<Label>,
    diagnostics: Vec<Diagnostic>,
    n_errors: usize,
    n_warnings: usize,
    /// Whether there are more errors than are reported.
    full: bool,
}

impl<'c> Walk<'c> for Validator<'c> {
    type Value = ();
    type Error = Full;

    fn comp(&mut self, comp: &'c Comp) -> Result<(), Full> {
        self.check_node(comp);
        if self.full {
            return Err(Full);
        }
        self.above.push((comp, 0));
        self.parts(comp, |()| ())?;
        self.above.pop();
        if let Some((_, position)) = self.above.last_mut() {
            *position += 1;
        }
        Ok(())
    }

    fn bind(&mut self, binder: Binder<'c>, _: Option<&()>) {
        self.scope.bind(&**binder.name(), binder.ty());
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.scope.unbind(binder.name());
    }
}

/// No more errors are reported.
struct Full;

impl<'c> Validator<'c> {
    /// Everything that is wrong in a whole computation, after what was found before.
    fn diagnostics(mut self, comp: &'c Comp) -> Vec<Diagnostic> {
        if !contains_untyped(comp.ty())
            && let Err(unbound) = comp.ty().check_labels_bound()
        {
            self.report(Code::UnboundLabel, OneLine(&unbound));
        }
        let (Ok(()) | Err(Full)) = self.walk(comp);
        self.diagnostics
    }

    fn report(&mut self, code: Code, message: impl fmt::Display) {
        self.report_at(CompPath::new(&self.path()), code, message);
    }

    /// The steps to the current node.
    fn path(&self) -> Vec<CompStep> {
        self.above.iter().filter_map(|(comp, index)| comp.step_to(*index)).collect()
    }

    fn report_at(&mut self, path: CompPath, code: Code, message: impl fmt::Display) {
        let severity = code.severity();
        let n_reported = match severity {
            Severity::Error => &mut self.n_errors,
            Severity::Warning => &mut self.n_warnings,
        };
        *n_reported += 1;
        let (code, message) = match (*n_reported).cmp(&MAX_PROBLEMS) {
            Ordering::Less => (code, message.to_string()),
            // Many warnings do not hide an error that comes later.
            Ordering::Equal => (Code::TooManyProblems, "more problems than are reported".to_owned()),
            Ordering::Greater => return,
        };
        self.full = self.n_errors >= MAX_PROBLEMS;
        self.diagnostics.push(Diagnostic { severity, code, path, message });
    }

    fn check_node(&mut self, comp: &'c Comp) {
        if !comp.is_checked() {
            self.check_against_parts(comp);
        }
        match comp.kind() {
            CompKind::Reference(reference) => self.check_reference(&reference.name, comp.ty()),
            CompKind::Block(block) => self.check_locals(comp, block),
            CompKind::Intrinsic(Intrinsic::Other(uri)) => {
                let nearest = Intrinsic::nearest(uri).map(|uri| format!("; did you mean `{uri}`?")).unwrap_or_default();
                let name = Name(uri);
                self.report(Code::UnknownIntrinsic, format_args!("no known intrinsic is named `{name}`{nearest}"));
            }
            // What is no instance has been reported.
            CompKind::Intrinsic(intrinsic) if comp.is_checked() => {
                if let Some(problem) = doubtful_operand(intrinsic, comp.ty()) {
                    self.report(Code::DoubtfulOperand, problem);
                }
            }
            CompKind::Data(_) => self.check_data(comp.ty()),
            _ => {}
        }
        if matches!(comp.kind(), CompKind::Lambda(_) | CompKind::Intrinsic(_) | CompKind::Data(_)) {
            self.check_labels(comp.ty());
        }
    }

    fn check_data(&mut self, ty: &Type) {
        let part = ty.preorder().find_map(|part| match part.kind() {
            TypeKind::Function(_) => Some("a function"),
            TypeKind::Placement(_) => Some("a placement"),
            TypeKind::Abstract(_) if !is_untyped(part) => Some("an abstract type"),
            _ => None,
        });
        if let Some(part) = part {
            self.report(
                Code::DoubtfulData,
                format_args!("no runtime has data of a type that contains {part}: {}", Shown(ty)),
            );
        }
    }

    /// Looks at each label once.
    fn check_labels(&mut self, ty: &Type) {
        if !ty.contains_abstract() {
            return;
        }
        for label in ty.labels() {
            if self.labels.insert(label.clone())
                && let Label::Type(name) = &label
                && let Some(dtype) = DType::nearest(name)
            {
                let name = Name(name);
                self.report(
                    Code::DoubtfulLabel,
                    format_args!("`{name}` is not a dtype, so it stands for any type; did you mean `{dtype}`?"),
                );
            }
        }
    }

    /// Checks what concerns the node and its parts alone, which is the same wherever the node is.
    fn check_against_parts(&mut self, comp: &Comp) {
        let before = self.diagnostics.len();
        if self.check_nodes {
            self.check_type(comp);
        }
        match comp.kind() {
            CompKind::Intrinsic(intrinsic) => self.check_instance(intrinsic, comp.ty()),
            CompKind::CompiledComputation(compiled) => self.check_compiled(compiled, comp.ty()),
            _ => {}
        }
        if self.check_nodes && !self.full && self.diagnostics.len() == before {
            comp.set_checked();
        }
    }

    fn check_type(&mut self, comp: &Comp) {
        let ty = comp.ty();
        match derive_type(comp.kind(), Some(ty)) {
            Err(error) => self.report(Code::of(&error), error),
            Ok(derived) => {
                if let Err(mismatch) = check_equivalent(ty, &derived) {
                    let kind = comp.kind_name();
                    self.report(
                        Code::OtherType,
                        format_args!("the {kind} states another type than its parts have: {}", FirstLine(&mismatch)),
                    );
                }
            }
        }
        if is_untyped(ty) {
            self.report(Code::MissingType, format_args!("nothing says of which type the {} is", comp.kind_name()));
        }
    }

    fn check_reference(&mut self, name: &str, ty: &Type) {
        match self.scope.get(name) {
            None => self.report(
                Code::UnboundReference,
                format_args!("the name `{}` is used here and defined nowhere around it", Name(name)),
            ),
            Some(bound) => {
                if let Err(mismatch) = check_equivalent(bound, ty) {
                    let name = Name(name);
                    self.report(
                        Code::ReferenceType,
                        format_args!(
                            "the reference is of another type than `{name}` is bound to: {}",
                            FirstLine(&mismatch)
                        ),
                    );
                }
            }
        }
    }

    fn check_locals(&mut self, comp: &'c Comp, block: &'c Block) {
        if block.locals.is_empty() {
            self.report(Code::EmptyBlock, "a block without locals");
        }
        let mut names = HashSet::with_capacity_and_hasher(block.locals.len(), RandomState::default());
        for (index, local) in block.locals.iter().enumerate() {
            if !names.insert(&local.name) {
                self.above.push((comp, index));
                let name = Name(&local.name);
                self.report(Code::DuplicateLocal, format_args!("an earlier local of the block is named `{name}`, too"));
                self.above.pop();
            }
        }
    }

    fn check_instance(&mut self, intrinsic: &Intrinsic, ty: &Type) {
        if is_untyped(ty) {
            return;
        }
        if let Err(error) = intrinsic.check_instance(ty) {
            self.report(Code::IntrinsicType, error);
        }
    }

    fn check_compiled(&mut self, compiled: &CompiledComputation, ty: &Type) {
        if is_untyped(ty) {
            return;
        }
        for problem in compiled.problems(ty) {
            let code = match problem {
                CompiledProblem::NotAFunction { .. } | CompiledProblem::NotLocal { .. } => Code::LocalComputationType,
                CompiledProblem::MissingBinding { .. }
                | CompiledProblem::UnexpectedBinding
                | CompiledProblem::BindingLength { .. }
                | CompiledProblem::BindingKind { .. }
                | CompiledProblem::BindingIndex { .. }
                | CompiledProblem::SameIndex { .. } => Code::BindingMismatch,
            };
            self.report(code, problem);
        }
    }
}
