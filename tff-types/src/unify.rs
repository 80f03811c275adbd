//! Templates: types with labels, and the concrete types they stand for.
//!
//! A template matches a concrete type of the same structure, each label standing for one type or
//! placement throughout. What a label stands for is said where a caller provides it: in the
//! parameter of the function, outside of the parameters of functions that are passed there. These
//! are its *defining uses*, which have to agree. Everywhere else, the type in that place has to accept
//! what was provided: `(<(T -> U),{T}@CLIENTS> -> {U}@CLIENTS)` defines `T` by the clients' values
//! and `U` by the result of the mapped function.

use crate::brief::Brief;
use crate::syntax::Name;
use crate::{
    Label, MAX_PROBLEMS, Mismatch, Path, Placement, PlacementSpec, Reason, Relation, Step, StructType, Type, TypeError,
    TypeKind, UnboundLabels,
};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What labels stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    types: BTreeMap<Arc<str>, Type>,
    placements: BTreeMap<Arc<str>, Placement>,
}

impl Bindings {
    /// No bindings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets an abstract type stand for a type, and returns what it stood for.
    pub fn bind_type(&mut self, label: impl Into<Arc<str>>, ty: Type) -> Option<Type> {
        self.types.insert(label.into(), ty)
    }

    /// Lets a placement label stand for a placement, and returns what it stood for.
    pub fn bind_placement(&mut self, label: impl Into<Arc<str>>, placement: Placement) -> Option<Placement> {
        self.placements.insert(label.into(), placement)
    }

    /// What the abstract type of this label stands for.
    #[must_use]
    pub fn ty(&self, label: &str) -> Option<&Type> {
        self.types.get(label)
    }

    /// What the placement label stands for.
    #[must_use]
    pub fn placement(&self, label: &str) -> Option<Placement> {
        self.placements.get(label).copied()
    }

    /// All abstract types that stand for something, by label.
    pub fn types(&self) -> impl Iterator<Item = (&str, &Type)> {
        self.types.iter().map(|(label, ty)| (label.as_ref(), ty))
    }

    /// All placement labels that stand for something, by label.
    pub fn placements(&self) -> impl Iterator<Item = (&str, Placement)> {
        self.placements.iter().map(|(label, placement)| (label.as_ref(), *placement))
    }
}

/// What stands at one of the places of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use<T> {
    /// Where the label is in the template.
    pub path: Path,
    /// What stands there in the concrete type.
    pub found: T,
}

impl<T: fmt::Display> fmt::Display for Use<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Brief::start(&self.found, 200))?;
        if self.path.steps().is_empty() { Ok(()) } else { write!(f, " at {}", self.path) }
    }
}

/// Why a type is not what a template stands for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The type itself contains an abstract type or a placement label.
    #[error("the type is not concrete: {label}{}{path}", if path.steps().is_empty() { "" } else { " at " })]
    NotConcrete {
        /// The label.
        label: Label,
        /// Where it is.
        path: Path,
    },
    /// The type has another structure.
    #[error(transparent)]
    Structure(Box<Mismatch>),
    /// Defining uses of one abstract type disagree.
    #[error("{} cannot be both {first} and {second}", Name(label))]
    Conflict {
        /// The label.
        label: Arc<str>,
        /// The first defining use.
        first: Box<Use<Type>>,
        /// The one that is not equivalent.
        second: Box<Use<Type>>,
    },
    /// Uses of one placement label disagree.
    #[error("the placement {} cannot be both {first} and {second}", Name(label))]
    PlacementConflict {
        /// The label.
        label: Arc<str>,
        /// The first use.
        first: Box<Use<Placement>>,
        /// The one that differs.
        second: Box<Use<Placement>>,
    },
    /// What defines an abstract type is not accepted where it is used.
    #[error("{} is {defined}, which is not assignable to {used}", Name(label))]
    NotAssignable {
        /// The label.
        label: Arc<str>,
        /// The defining use.
        defined: Box<Use<Type>>,
        /// The use that does not accept it.
        used: Box<Use<Type>>,
    },
    /// Several uses of an abstract type are to be related, and none defines it.
    #[error("nothing defines {}, which is used as {first} and as {second}", Name(label))]
    MissingDefiningUse {
        /// The label.
        label: Arc<str>,
        /// The first use.
        first: Box<Use<Type>>,
        /// The second.
        second: Box<Use<Type>>,
    },
    /// A label stands for nothing.
    #[error(transparent)]
    Unbound(#[from] UnboundLabels),
    /// The template would stand for something that is not a type.
    #[error(transparent)]
    Invalid(#[from] TypeError),
}

impl Type {
    /// Checks that this concrete type is one of those that a template stands for, and returns what
    /// its labels stand for.
    ///
    /// Struct elements have exactly the names, tensors the shape, and federated types the
    /// `all_equal` bit of the template. A label that nothing defines may occur once.
    ///
    /// ```
    /// use tff_types::Type;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let template: Type = "({T}@CLIENTS -> T@p)".parse()?;
    /// let ty: Type = "({int32}@CLIENTS -> int32@SERVER)".parse()?;
    /// assert_eq!(ty.check_instance_of(&template)?.ty("T"), Some(&"int32".parse()?));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`TemplateError`]; the first that is found.
    pub fn check_instance_of(&self, template: &Self) -> Result<Bindings, TemplateError> {
        match_types(template, self, false)
    }

    /// The type that this template stands for, with all its labels replaced.
    ///
    /// # Errors
    /// [`TemplateError::Unbound`] with the places whose label stands for nothing, or
    /// [`TemplateError::Invalid`] where what it stands for cannot be there.
    pub fn concretize(&self, bindings: &Bindings) -> Result<Self, TemplateError> {
        let mut unbound = Vec::new();
        find_labels(self, &mut Path::root(), &mut |label, path| {
            let is_bound = match label {
                Label::Type(label) => bindings.types.contains_key(label),
                Label::Placement(label) => bindings.placements.contains_key(label),
            };
            if !is_bound && unbound.len() < MAX_PROBLEMS {
                unbound.push((label.clone(), path.clone()));
            }
        });
        if !unbound.is_empty() {
            return Err(UnboundLabels(unbound).into());
        }
        let concrete: Result<Self, TypeError> = self.transform_postorder(&mut |part| match part.kind() {
            TypeKind::Abstract(it) => Ok(bindings.ty(&it.label).cloned().unwrap_or(part)),
            TypeKind::Federated(federated) => match &federated.placement {
                PlacementSpec::Label(label) => match bindings.placement(label) {
                    Some(placement) => Self::federated(federated.member.clone(), placement, federated.all_equal),
                    None => Ok(part),
                },
                PlacementSpec::Value(_) => Ok(part),
            },
            _ => Ok(part),
        });
        Ok(concrete?)
    }

    /// The concrete function type that this template, a function type, stands for where it is
    /// called with an argument of this type. The argument is assignable to its parameter.
    ///
    /// ```
    /// use tff_types::Type;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let map: Type = "(<(T -> U),{T}@CLIENTS> -> {U}@CLIENTS)".parse()?;
    /// let ty = map.instantiate(&"<(int32 -> bool),{int32}@CLIENTS>".parse()?)?;
    /// assert_eq!(ty.to_string(), "(<(int32 -> bool),{int32}@CLIENTS> -> {bool}@CLIENTS)");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`TemplateError`], with paths within the argument; [`TemplateError::Structure`] also
    /// where this is no function with a parameter.
    pub fn instantiate(&self, argument: &Self) -> Result<Self, TemplateError> {
        let Some(parameter) = self.as_function().and_then(|function| function.parameter.as_ref()) else {
            let called = Self::function(Some(argument.clone()), self.clone())?;
            return Err(structure_error(Path::root(), Reason::ParameterPresence, self, &called));
        };
        let bindings = match_types(parameter, argument, true)?;
        let concrete = self.concretize(&bindings)?;
        // What the argument does not define, but uses once, may be used in the result again.
        concrete.check_instance_of(self)?;
        Ok(concrete)
    }
}

fn match_types(template: &Type, concrete: &Type, defining: bool) -> Result<Bindings, TemplateError> {
    let mut not_concrete = None;
    find_labels(concrete, &mut Path::root(), &mut |label, path| {
        not_concrete.get_or_insert_with(|| (label.clone(), path.clone()));
    });
    if let Some((label, path)) = not_concrete {
        return Err(TemplateError::NotConcrete { label, path });
    }
    let mut matching = Matching::default();
    matching.walk(template, concrete, defining)?;
    matching.finish()
}

/// Calls back for every abstract type and every federated type with a placement label.
fn find_labels(ty: &Type, path: &mut Path, found: &mut dyn FnMut(&Label, &Path)) {
    if !ty.contains_abstract() {
        return;
    }
    match ty.kind() {
        TypeKind::Abstract(it) => found(&Label::Type(it.label.clone()), path),
        TypeKind::Federated(federated) => {
            if let PlacementSpec::Label(label) = &federated.placement {
                found(&Label::Placement(label.clone()), path);
            }
        }
        _ => {}
    }
    for (step, child) in ty.children() {
        path.push(step);
        find_labels(child, path, found);
        path.pop();
    }
}

fn structure_error(path: Path, reason: Reason, expected: &Type, found: &Type) -> TemplateError {
    let (expected, found) = (expected.clone(), found.clone());
    TemplateError::Structure(Box::new(Mismatch { relation: Relation::Instance, path, reason, expected, found }))
}

/// What has been seen of the labels so far.
#[derive(Default)]
struct Matching {
    path: Path,
    defined: BTreeMap<Arc<str>, Use<Type>>,
    used: BTreeMap<Arc<str>, Vec<Use<Type>>>,
    placements: BTreeMap<Arc<str>, Use<Placement>>,
}

impl Matching {
    fn walk(&mut self, template: &Type, concrete: &Type, defining: bool) -> Result<(), TemplateError> {
        if !template.contains_abstract() {
            return template.check_equivalent_to(concrete).map_err(|mismatch| {
                let steps = self.path.steps().iter().chain(mismatch.path.steps()).cloned();
                structure_error(steps.collect(), mismatch.reason, &mismatch.expected, &mismatch.found)
            });
        }
        let fail = |this: &Self, reason| Err(structure_error(this.path.clone(), reason, template, concrete));
        match (template.kind(), concrete.kind()) {
            (TypeKind::Abstract(it), _) => self.occurrence(&it.label, concrete, defining),
            (TypeKind::Struct(ours), TypeKind::Struct(theirs)) if ours.len() != theirs.len() => {
                fail(self, Reason::Length { expected: ours.len(), found: theirs.len() })
            }
            (TypeKind::Struct(ours), TypeKind::Struct(theirs)) => self.walk_elements(ours, theirs, defining),
            (TypeKind::Sequence(ours), TypeKind::Sequence(theirs)) => {
                self.below(Step::SequenceElement, &ours.element, &theirs.element, defining)
            }
            (TypeKind::Function(ours), TypeKind::Function(theirs)) => {
                match (&ours.parameter, &theirs.parameter) {
                    (None, None) => {}
                    (Some(ours), Some(theirs)) => self.below(Step::Parameter, ours, theirs, !defining)?,
                    _ => return fail(self, Reason::ParameterPresence),
                }
                self.below(Step::Result, &ours.result, &theirs.result, defining)
            }
            (TypeKind::Federated(ours), TypeKind::Federated(theirs)) => {
                match (&ours.placement, &theirs.placement) {
                    (PlacementSpec::Label(label), PlacementSpec::Value(placement)) => self.placed(label, *placement)?,
                    (ours, theirs) if ours != theirs => return fail(self, Reason::Placement),
                    _ => {}
                }
                if ours.all_equal != theirs.all_equal {
                    return fail(self, Reason::AllEqual);
                }
                self.below(Step::Member, &ours.member, &theirs.member, defining)
            }
            _ => fail(self, Reason::Kind),
        }
    }

    fn walk_elements(&mut self, ours: &StructType, theirs: &StructType, defining: bool) -> Result<(), TemplateError> {
        for (index, (ours, theirs)) in ours.elements().iter().zip(theirs.elements()).enumerate() {
            let step = Step::Element(index, ours.name.clone().or_else(|| theirs.name.clone()));
            if ours.name != theirs.name {
                let reason = Reason::Name { expected: ours.name.clone(), found: theirs.name.clone() };
                return Err(structure_error(self.path.join(step), reason, &ours.ty, &theirs.ty));
            }
            self.below(step, &ours.ty, &theirs.ty, defining)?;
        }
        Ok(())
    }

    fn below(&mut self, step: Step, template: &Type, concrete: &Type, defining: bool) -> Result<(), TemplateError> {
        self.path.push(step);
        self.walk(template, concrete, defining)?;
        self.path.pop();
        Ok(())
    }

    fn occurrence(&mut self, label: &Arc<str>, concrete: &Type, defining: bool) -> Result<(), TemplateError> {
        let this = Use { path: self.path.clone(), found: concrete.clone() };
        if !defining {
            self.used.entry(label.clone()).or_default().push(this);
            return Ok(());
        }
        match self.defined.get(label) {
            None => {
                self.defined.insert(label.clone(), this);
                Ok(())
            }
            Some(first) if first.found == *concrete => Ok(()),
            Some(first) => {
                let (first, second) = (Box::new(first.clone()), Box::new(this));
                Err(TemplateError::Conflict { label: label.clone(), first, second })
            }
        }
    }

    fn placed(&mut self, label: &Arc<str>, placement: Placement) -> Result<(), TemplateError> {
        let this = Use { path: self.path.clone(), found: placement };
        let first = self.placements.entry(label.clone()).or_insert_with(|| this.clone());
        if first.found == placement {
            return Ok(());
        }
        let (first, second) = (Box::new(first.clone()), Box::new(this));
        Err(TemplateError::PlacementConflict { label: label.clone(), first, second })
    }

    /// Compares the uses with what defines them.
    fn finish(self) -> Result<Bindings, TemplateError> {
        let mut bindings = Bindings::new();
        for (label, uses) in self.used {
            if let Some(defined) = self.defined.get(&label) {
                let refuses = |it: &&Use<Type>| !it.found.is_assignable_from(&defined.found);
                if let Some(used) = uses.iter().find(refuses) {
                    let (defined, used) = (Box::new(defined.clone()), Box::new(used.clone()));
                    return Err(TemplateError::NotAssignable { label, defined, used });
                }
            } else if let [first, second, ..] = uses.as_slice() {
                let (first, second) = (Box::new(first.clone()), Box::new(second.clone()));
                return Err(TemplateError::MissingDefiningUse { label, first, second });
            } else if let Some(only) = uses.into_iter().next() {
                bindings.bind_type(label, only.found);
            }
        }
        bindings.types.extend(self.defined.into_iter().map(|(label, it)| (label, it.found)));
        bindings.placements.extend(self.placements.into_iter().map(|(label, it)| (label, it.found)));
        Ok(bindings)
    }
}
