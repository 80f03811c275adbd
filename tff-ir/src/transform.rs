//! Rewriting computations: what to do with a node is given, the rest of the tree is rebuilt.

use crate::build::{BuildError, derive_type};
use crate::comp::{Block, Call, Lambda, Local, Selection, Struct};
use crate::visit::with_stack;
use crate::{Comp, CompKind, Scope, StructElement};
use tff_types::Type;

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

/// What a name is bound to.
#[derive(Clone, Debug)]
pub enum Binding {
    /// The parameter of a lambda, of this type.
    Parameter(Type),
    /// A local of a block, with its value after the rewrite.
    Local(Comp),
}

impl Comp {
    /// This node with other parts, in the order of [`Comp::children`]; of the type that follows
    /// from them. The node itself where the parts are the same as before.
    ///
    /// # Errors
    /// A [`BuildError`] where the parts do not fit together.
    pub fn with_children(&self, children: Vec<Self>) -> Result<Self, BuildError> {
        if self.children().count() == children.len() && self.children().zip(&children).all(|(old, new)| old.ptr_eq(new))
        {
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

/// A rewrite of a node, given what the names in scope there are bound to.
pub type RewriteWithBindings<'a, E> = &'a mut dyn FnMut(Comp, &Scope<Binding>) -> Result<Transformed, E>;

/// As [`transform_postorder`]; `rewrite` also sees what the names in scope are bound to. The scope
/// of a lambda or block itself is that around it, without the names it binds.
///
/// # Errors
/// Those of `rewrite`, and where rewritten parts do not fit together.
pub fn transform_postorder_with_bindings<E: From<BuildError>>(
    comp: &Comp,
    scope: &mut Scope<Binding>,
    rewrite: RewriteWithBindings<'_, E>,
) -> Result<Transformed, E> {
    with_stack(|| {
        let mut changed = false;
        let mut part = |part: &Comp, scope: &mut Scope<Binding>| -> Result<Comp, E> {
            let part = transform_postorder_with_bindings(part, scope, rewrite)?;
            changed |= part.changed;
            Ok(part.comp)
        };
        let children: Vec<Comp> = match comp.kind() {
            CompKind::Lambda(Lambda { parameter: Some(parameter), result }) => {
                scope.bind(parameter.name.clone(), Binding::Parameter(parameter.ty.clone()));
                let result = part(result, scope);
                scope.unbind(&parameter.name);
                vec![result?]
            }
            CompKind::Block(block) => {
                let mut children = Vec::with_capacity(block.locals.len() + 1);
                let parts = block.locals.iter().try_for_each(|local| {
                    let value = part(&local.value, scope)?;
                    scope.bind(local.name.clone(), Binding::Local(value.clone()));
                    children.push(value);
                    Ok(())
                });
                let result = parts.and_then(|()| part(&block.result, scope));
                for local in block.locals.iter().take(children.len()) {
                    scope.unbind(&local.name);
                }
                children.push(result?);
                children
            }
            _ => comp.children().map(|child| part(child, scope)).collect::<Result<_, E>>()?,
        };
        let rebuilt = if changed { comp.with_children(children)? } else { comp.clone() };
        let rewritten = rewrite(rebuilt, scope)?;
        Ok(Transformed { changed: changed || rewritten.changed, ..rewritten })
    })
}
