//! Walks over computations of any depth.

use crate::Comp;

/// Runs one level of a recursion over computations, on a fresh piece of stack where little is left of the current
/// one. Every recursion over computations goes through here.
pub fn with_stack<R>(level: impl FnOnce() -> R) -> R {
    // One level of any recursion here takes far less than what must be left.
    const LEFT: usize = 128 << 10;
    const FRESH: usize = 2 << 20;
    stacker::maybe_grow(LEFT, FRESH, level)
}

impl Comp {
    /// All nodes from this one downwards, each before its parts, function before argument, locals
    /// before result. A node that occurs twice is visited twice.
    ///
    /// ```
    /// use tff_ir::{Array, Comp, Scalar};
    ///
    /// # fn main() -> Result<(), tff_ir::BuildError> {
    /// let one = Comp::literal(Array::from_scalar(Scalar::Int32(1)));
    /// let comp = Comp::tuple([one.clone(), Comp::tuple([one])?])?;
    /// let kinds: Vec<_> = comp.preorder().map(Comp::kind_name).collect();
    /// assert_eq!(kinds, ["struct", "literal", "struct", "literal"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn preorder(&self) -> impl Iterator<Item = &Self> {
        let mut pending = vec![self];
        std::iter::from_fn(move || {
            let comp = pending.pop()?;
            pending.extend(comp.children().rev());
            Some(comp)
        })
    }

    /// All nodes from this one downwards, each after its parts.
    pub fn postorder(&self) -> impl Iterator<Item = &Self> {
        // The flag says whether the parts of the node are on the stack above it.
        let mut pending = vec![(self, false)];
        std::iter::from_fn(move || {
            loop {
                let (comp, expanded) = pending.pop()?;
                if expanded {
                    return Some(comp);
                }
                pending.push((comp, true));
                pending.extend(comp.children().rev().map(|child| (child, false)));
            }
        })
    }
}
