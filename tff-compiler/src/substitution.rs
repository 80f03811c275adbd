//! Replaces parts of a parameter by other computations.

use crate::create::create_selection;
use std::collections::HashMap;
use std::sync::Arc;
use tff_ir::{BuildError, Comp, CompKind, with_stack};

/// Replaces parts of what a free name stands for: of every chain of selections from the name the
/// shortest start that is one of the paths. A path with no positions is the whole.
///
/// What has another type than its replacement stays, and so does what no path leads to.
///
/// # Errors
/// Where the parts do not fit together any more.
pub fn replace_selections(comp: &Comp, name: &str, replacements: &[(Vec<usize>, Comp)]) -> Result<Comp, BuildError> {
    let parts = [(name.into(), replacements.to_vec())].into_iter().collect();
    Substitution { parts }.apply(comp)
}

/// What takes the place of parts of what free names stand for.
///
/// A name that is bound further inside is another one. What takes its place must not refer to names that are bound there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Substitution {
    /// For each name the paths, with what takes the place of the part there.
    parts: HashMap<Arc<str>, Vec<(Vec<usize>, Comp)>>,
}

impl Substitution {
    /// Replaces all of what a name stands for.
    pub(crate) fn replace(&mut self, name: Arc<str>, comp: Comp) {
        self.replace_part(name, Vec::new(), comp);
    }

    /// Replaces the part at a path of what a name stands for.
    pub(crate) fn replace_part(&mut self, name: Arc<str>, path: Vec<usize>, comp: Comp) {
        self.parts.entry(name).or_default().push((path, comp));
    }

    pub(crate) fn apply(&self, comp: &Comp) -> Result<Comp, BuildError> {
        with_stack(|| match comp.kind() {
            CompKind::Reference(_) | CompKind::Selection(_) => match self.chain(comp)? {
                Some(replaced) => Ok(replaced),
                None => self.children(comp),
            },
            _ => self.children(comp),
        })
    }

    fn children(&self, comp: &Comp) -> Result<Comp, BuildError> {
        let mut parts = comp.parts();
        // What is left where a part binds one of the names anew.
        let mut left: Option<Self> = None;
        comp.map_children(|child| {
            let binder = parts.next().and_then(|part| part.binder);
            if let Some(binder) = binder.filter(|binder| self.parts.contains_key(binder.name())) {
                left.get_or_insert_with(|| self.clone()).parts.remove(binder.name());
            }
            left.as_ref().unwrap_or(self).apply(child)
        })
    }

    /// What a chain of selections from a name becomes, if a start of it is replaced.
    fn chain(&self, comp: &Comp) -> Result<Option<Comp>, BuildError> {
        let Some((name, path)) = path_from_name(comp) else { return Ok(None) };
        let Some(parts) = self.parts.get(name) else { return Ok(None) };
        for len in 0..=path.len() {
            let (Some(start), Some(rest)) = (path.get(..len), path.get(len..)) else { break };
            let Some((_, replacement)) = parts.iter().find(|(path, _)| path == start) else { continue };
            // The node of the chain where the start ends.
            let replaced = (0..rest.len()).try_fold(comp, |comp, _| comp.as_selection().map(|it| &it.source));
            if replaced.is_some_and(|replaced| replaced.ty() == replacement.ty()) {
                return rest
                    .iter()
                    .try_fold(replacement.clone(), |comp, &index| create_selection(&comp, index))
                    .map(Some);
            }
        }
        Ok(None)
    }
}

/// The name that a chain of selections starts from, and the positions from there.
pub(crate) fn path_from_name(comp: &Comp) -> Option<(&Arc<str>, Vec<usize>)> {
    let (mut comp, mut path) = (comp, Vec::new());
    while let Some(selection) = comp.as_selection() {
        path.push(selection.index);
        comp = &selection.source;
    }
    path.reverse();
    Some((&comp.as_reference()?.name, path))
}
