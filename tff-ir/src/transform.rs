//! Rewrites computations: the caller says what to do with a node, and the rest of the tree is rebuilt.

use crate::build::{BuildError, derive_type};
use crate::comp::{Block, Call, Lambda, Local, Selection, Struct};
use crate::visit::with_stack;
use crate::{Comp, CompKind, StructElement};

/// What a rewrite makes of a computation.
#[derive(Clone, Debug)]
pub struct Transformed {
    /// The computation after the rewrite.
    pub comp: Comp,
    /// Whether it is another one than before.
    pub changed: bool,
}

impl Transformed {
    /// A computation that took the place of another one.
    #[must_use]
    pub fn yes(comp: Comp) -> Self {
        Self { comp, changed: true }
    }

    /// A computation that was left alone.
    #[must_use]
    pub fn no(comp: Comp) -> Self {
        Self { comp, changed: false }
    }
}

impl Comp {
    /// This node with other parts, in the order of [`Comp::children`]; of the type that follows
    /// from them. The node itself where the parts are the same as before.
    ///
    /// # Errors
    /// [`BuildError::NumberOfParts`] where the node has not as many parts; those of the constructors where the parts do
    /// not fit together.
    pub fn with_children(&self, children: Vec<Self>) -> Result<Self, BuildError> {
        let (expected, found) = (self.children().count(), children.len());
        if expected != found {
            return Err(BuildError::NumberOfParts { kind: self.kind_name(), expected, found });
        }
        if self.children().zip(&children).all(|(old, new)| old.ptr_eq(new)) {
            return Ok(self.clone());
        }
        // What follows from parts of the same types is the same type.
        let same_types = self.children().zip(&children).all(|(old, new)| old.ty().ptr_eq(new.ty()));
        let mut children = children.into_iter();
        let mut next = |old: &Self| children.next().unwrap_or_else(|| old.clone());
        let kind = match self.kind() {
            CompKind::Selection(Selection { source, index }) => {
                CompKind::Selection(Selection { source: next(source), index: *index })
            }
            CompKind::Struct(Struct { elements }) => {
                let elements = elements.iter();
                let elements = elements.map(|it| StructElement { name: it.name.clone(), value: next(&it.value) });
                CompKind::Struct(Struct { elements: elements.collect() })
            }
            CompKind::Call(Call { function, argument }) => {
                CompKind::Call(Call { function: next(function), argument: argument.as_ref().map(next) })
            }
            CompKind::Lambda(Lambda { parameter, result }) => {
                CompKind::Lambda(Lambda { parameter: parameter.clone(), result: next(result) })
            }
            CompKind::Block(Block { locals, result }) => {
                let locals = locals.iter();
                let locals = locals.map(|it| Local { name: it.name.clone(), value: next(&it.value) }).collect();
                CompKind::Block(Block { locals, result: next(result) })
            }
            CompKind::Reference(_)
            | CompKind::Intrinsic(_)
            | CompKind::Data(_)
            | CompKind::Placement(_)
            | CompKind::Literal(_)
            | CompKind::CompiledComputation(_) => return Ok(self.clone()),
        };
        if self.is_checked() && same_types {
            return Ok(Self::checked(kind, self.ty().clone()));
        }
        let ty = derive_type(&kind, None)?;
        Ok(Self::checked(kind, ty))
    }

    /// This node with other parts: `rewrite` is given each, in the order of [`Comp::children`]. The
    /// node itself where the parts stay the same.
    ///
    /// # Errors
    /// Those of `rewrite`, and where the new parts do not fit together.
    pub fn map_children<E: From<BuildError>>(
        &self,
        mut rewrite: impl FnMut(&Self) -> Result<Self, E>,
    ) -> Result<Self, E> {
        let mut rewritten = Vec::new();
        for (index, child) in self.children().enumerate() {
            let new = rewrite(child)?;
            if rewritten.is_empty() {
                if new.ptr_eq(child) {
                    continue;
                }
                rewritten.extend(self.children().take(index).cloned());
            }
            rewritten.push(new);
        }
        if rewritten.is_empty() { Ok(self.clone()) } else { Ok(self.with_children(rewritten)?) }
    }
}

/// Rewrites a computation from the leaves up: `rewrite` sees each node once, with its parts
/// rewritten.
///
/// # Errors
/// Those of `rewrite`, and where rewritten parts do not fit together.
pub fn transform_postorder<E: From<BuildError>>(
    comp: &Comp,
    rewrite: &mut dyn FnMut(Comp) -> Result<Transformed, E>,
) -> Result<Transformed, E> {
    with_stack(|| {
        let mut changed = false;
        let rebuilt = comp.map_children(|child| {
            let child = transform_postorder(child, rewrite)?;
            changed |= child.changed;
            Ok::<_, E>(child.comp)
        })?;
        let rewritten = rewrite(rebuilt)?;
        Ok(Transformed { changed: changed || rewritten.changed, ..rewritten })
    })
}

/// Rewrites a computation from the root down: `rewrite` sees each node before its parts; what it
/// returns takes the place of the node and is not looked into.
///
/// # Errors
/// Those of `rewrite`, and where rewritten parts do not fit together.
pub fn transform_preorder<E: From<BuildError>>(
    comp: &Comp,
    rewrite: &mut dyn FnMut(&Comp) -> Result<Option<Comp>, E>,
) -> Result<Transformed, E> {
    with_stack(|| {
        if let Some(comp) = rewrite(comp)? {
            return Ok(Transformed::yes(comp));
        }
        let mut changed = false;
        let comp = comp.map_children(|child| {
            let child = transform_preorder(child, rewrite)?;
            changed |= child.changed;
            Ok::<_, E>(child.comp)
        })?;
        Ok(Transformed { comp, changed })
    })
}
