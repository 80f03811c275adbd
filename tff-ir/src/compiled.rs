//! Checks the type of a graph or module, and that its bindings match the type.

use crate::diag::Shown;
use crate::{CompiledComputation, TensorFlowBinding, XlaBinding};
use tff_types::{Path, Step, Type, TypeKind};

/// What is wrong with a graph or module and its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompiledProblem {
    /// The type is not that of a function.
    #[error("expected a function type for a graph or module, found {}", Shown(found))]
    NotAFunction {
        /// The type.
        found: Type,
    },
    /// The type contains what is computed with elsewhere, as a federated type is.
    #[error("a {system} computes with {allowed}, found {} at {path}", Shown(found))]
    NotLocal {
        /// `graph` or `module`.
        system: &'static str,
        /// What it computes with.
        allowed: &'static str,
        /// Where in the type it is.
        path: Path,
        /// What is found there.
        found: Type,
    },
    /// The function has a parameter without a binding.
    #[error("expected a binding for {} at {path}, found none", Shown(ty))]
    MissingBinding {
        /// Where in the type.
        path: Path,
        /// The type there.
        ty: Type,
    },
    /// There is a binding for a parameter that the function does not have.
    #[error("the function has no parameter, found a binding for it")]
    UnexpectedBinding,
    /// The binding of a struct has another number of elements.
    #[error("expected bindings for {expected} elements at {path}, found {found}")]
    BindingLength {
        /// Where in the type.
        path: Path,
        /// How many elements the struct has.
        expected: usize,
        /// How many bindings there are.
        found: usize,
    },
    /// The binding is that of another kind of type.
    #[error("expected a binding for {} at {path}, found one for a {found}", Shown(ty))]
    BindingKind {
        /// Where in the type.
        path: Path,
        /// The type there.
        ty: Type,
        /// The kind of type that the binding is for.
        found: &'static str,
    },
    /// The binding of a tensor to a module names a parameter or result that the module cannot have.
    #[error("expected the index of a {side} of the module at {path}, found {found}")]
    BindingIndex {
        /// Where in the type.
        path: Path,
        /// `parameter` or `result`.
        side: &'static str,
        /// The index.
        found: i32,
    },
    /// Another tensor is bound to the same parameter of the module.
    #[error("expected a parameter of the module for each tensor, found two at parameter {index}, the second at {path}")]
    SameIndex {
        /// Where in the type the second is.
        path: Path,
        /// The index.
        index: usize,
    },
}

/// The most problems that are found in one graph or module.
const MAX_PROBLEMS: usize = 100;

impl CompiledComputation {
    /// Everything that is wrong with it as a computation of this type.
    pub(crate) fn problems(&self, ty: &Type) -> Vec<CompiledProblem> {
        let Some(function) = ty.as_function() else {
            return vec![CompiledProblem::NotAFunction { found: ty.clone() }];
        };
        let mut checker = Checker {
            is_xla: matches!(self, Self::Xla(_)),
            path: Path::root(),
            problems: Vec::new(),
            indexes: Vec::new(),
        };
        let parameter = function.parameter.as_ref();
        if let Some(parameter) = parameter {
            checker.at(Step::Parameter, |it| it.check_local(parameter));
        }
        checker.at(Step::Result, |it| it.check_local(&function.result));
        if !checker.problems.is_empty() {
            return checker.problems;
        }
        let result = &function.result;
        match self {
            Self::TensorFlow(it) => checker.check_bindings(parameter, it.parameter.as_ref(), result, &it.result),
            Self::Xla(it) => checker.check_bindings(parameter, it.parameter.as_ref(), result, &it.result),
        }
        checker.problems
    }
}

struct Checker {
    is_xla: bool,
    path: Path,
    problems: Vec<CompiledProblem>,
    /// The tensors of the side that is checked, each with its index in a module.
    indexes: Vec<(Path, i32)>,
}

impl Checker {
    fn at(&mut self, step: Step, check: impl FnOnce(&mut Self)) {
        if self.problems.len() < MAX_PROBLEMS {
            self.path.push(step);
            check(self);
            self.path.pop();
        }
    }

    /// Checks that the type is made of what graphs (or modules) compute with.
    fn check_local(&mut self, ty: &Type) {
        let is_wrong = match ty.kind() {
            TypeKind::Tensor(_) | TypeKind::Struct(_) => false,
            TypeKind::Sequence(_) => self.is_xla,
            TypeKind::Function(_) | TypeKind::Abstract(_) | TypeKind::Placement(_) | TypeKind::Federated(_) => true,
        };
        if is_wrong {
            let (system, allowed) = if self.is_xla {
                ("module", "tensors and structs")
            } else {
                ("graph", "tensors, structs and sequences")
            };
            let path = self.path.clone();
            return self.problems.push(CompiledProblem::NotLocal { system, allowed, path, found: ty.clone() });
        }
        for (step, child) in ty.children() {
            self.at(step, |it| it.check_local(child));
        }
    }

    fn check_bindings<B: Binding>(
        &mut self,
        parameter: Option<&Type>,
        parameter_binding: Option<&B>,
        result: &Type,
        result_binding: &B,
    ) {
        self.at(Step::Parameter, |it| match (parameter, parameter_binding) {
            (None, None) => {}
            (Some(ty), Some(binding)) => it.check_parallel(ty, binding),
            (Some(ty), None) => {
                it.problems.push(CompiledProblem::MissingBinding { path: it.path.clone(), ty: ty.clone() });
            }
            (None, Some(_)) => it.problems.push(CompiledProblem::UnexpectedBinding),
        });
        self.check_parameters();
        self.at(Step::Result, |it| it.check_parallel(result, result_binding));
        // How many results a module has, and which of them are used, is its own affair.
        for (path, found) in self.indexes.drain(..).filter(|(_, index)| *index < 0) {
            self.problems.push(CompiledProblem::BindingIndex { path, side: "result", found });
        }
    }

    /// Checks that each tensor is bound to a parameter of its own: a module has as many as there are tensors.
    fn check_parameters(&mut self) {
        let mut is_bound = vec![false; self.indexes.len()];
        for (path, found) in self.indexes.drain(..) {
            let index = usize::try_from(found).unwrap_or(usize::MAX);
            self.problems.extend(match is_bound.get_mut(index) {
                None => Some(CompiledProblem::BindingIndex { path, side: "parameter", found }),
                Some(is_bound) => {
                    std::mem::replace(is_bound, true).then_some(CompiledProblem::SameIndex { path, index })
                }
            });
        }
    }

    /// Checks that the tree of bindings is that of the type. It recurses no deeper than the type.
    fn check_parallel<B: Binding>(&mut self, ty: &Type, binding: &B) {
        match (ty.as_struct(), binding.elements()) {
            (Some(structure), Some(elements)) if structure.len() == elements.len() => {
                // The sequences below are bound as a whole.
                for ((step, element), binding) in ty.children().zip(elements) {
                    self.at(step, |it| it.check_parallel(element, binding));
                }
            }
            (Some(structure), Some(elements)) => self.problems.push(CompiledProblem::BindingLength {
                path: self.path.clone(),
                expected: structure.len(),
                found: elements.len(),
            }),
            _ if binding.kind() != ty.kind_name() => self.problems.push(CompiledProblem::BindingKind {
                path: self.path.clone(),
                ty: ty.clone(),
                found: binding.kind(),
            }),
            _ => self.indexes.extend(binding.index().map(|index| (self.path.clone(), index))),
        }
    }
}

/// What the bindings of graphs and modules have in common.
trait Binding: Sized {
    /// The bindings of the elements, if it is that of a struct.
    fn elements(&self) -> Option<&[Self]>;
    /// The kind of type that it is for.
    fn kind(&self) -> &'static str;
    /// The position that a tensor has among the parameters or results of a module.
    fn index(&self) -> Option<i32> {
        None
    }
}

impl Binding for TensorFlowBinding {
    fn elements(&self) -> Option<&[Self]> {
        if let Self::Struct(elements) = self { Some(elements) } else { None }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Struct(_) => "struct",
            Self::Tensor(_) => "tensor",
            Self::Sequence(_) => "sequence",
        }
    }
}

impl Binding for XlaBinding {
    fn elements(&self) -> Option<&[Self]> {
        if let Self::Struct(elements) = self { Some(elements) } else { None }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Struct(_) => "struct",
            Self::Tensor(_) => "tensor",
        }
    }

    fn index(&self) -> Option<i32> {
        if let Self::Tensor(index) = self { Some(*index) } else { None }
    }
}
