//! New types from old ones.

use crate::{Element, FederatedType, FunctionType, SequenceType, StructType, Type, TypeError, TypeKind};

impl Type {
    /// The type with every part replaced by what `f` makes of it, children before their parents.
    ///
    /// A part is rebuilt only where a child changed, and what did not change is shared: the result
    /// is [`ptr_eq`](Type::ptr_eq) to this type if and only if `f` returned every part as it came.
    ///
    /// ```
    /// use tff_types::{DType, Type, TypeError};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let ty: Type = "<a=int32,b=float32*>".parse()?;
    /// let wide = ty.transform_postorder(&mut |part| -> Result<Type, TypeError> {
    ///     Ok(if part == Type::scalar(DType::Int32) { Type::scalar(DType::Int64) } else { part })
    /// })?;
    /// assert_eq!(wide.to_string(), "<a=int64,b=float32*>");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What `f` returns; and what a constructor says of parts that do not go together any more.
    pub fn transform_postorder<E: From<TypeError>>(
        &self,
        f: &mut impl FnMut(Self) -> Result<Self, E>,
    ) -> Result<Self, E> {
        let rebuilt = match self.map_children(&mut |child| child.transform_postorder(f))? {
            Some(kind) => Self::checked(kind)?,
            None => self.clone(),
        };
        f(rebuilt)
    }

    /// The type with every federated type replaced by its member, those in the parameters and
    /// results of functions too: `({int32}@CLIENTS -> bool@SERVER)` becomes `(int32 -> bool)`.
    #[must_use]
    pub fn strip_placement(&self) -> Self {
        if !self.contains_federated() {
            return self.clone();
        }
        if let Some(federated) = self.as_federated() {
            return federated.member.clone();
        }
        self.map_children_always(&mut Self::strip_placement)
    }

    /// The federated type with this `all_equal` bit; any other type as it is.
    #[must_use]
    pub fn with_all_equal(&self, all_equal: bool) -> Self {
        match self.kind() {
            TypeKind::Federated(federated) if federated.all_equal != all_equal => {
                Self::above(TypeKind::Federated(FederatedType { all_equal, ..federated.clone() }))
            }
            _ => self.clone(),
        }
    }

    /// Maps the children where that can neither fail nor break the rules of their parent.
    pub(crate) fn map_children_always(&self, f: &mut dyn FnMut(&Self) -> Self) -> Self {
        let mapped: Result<_, std::convert::Infallible> = self.map_children(&mut |child| Ok(f(child)));
        match mapped {
            Ok(Some(kind)) => Self::above(kind),
            Ok(None) => self.clone(),
        }
    }

    /// The kind with other children; `None` where all of them stay the same.
    fn map_children<E>(&self, f: &mut dyn FnMut(&Self) -> Result<Self, E>) -> Result<Option<TypeKind>, E> {
        let mut changed = false;
        let mut map = |child: &Self| {
            let mapped = f(child)?;
            changed |= !mapped.ptr_eq(child);
            Ok(mapped)
        };
        let kind = match self.kind() {
            TypeKind::Tensor(_) | TypeKind::Abstract(_) | TypeKind::Placement(_) => return Ok(None),
            TypeKind::Struct(structure) => {
                let element = |element: &Element| Ok(Element { name: element.name.clone(), ty: map(&element.ty)? });
                TypeKind::Struct(StructType::from_elements(
                    structure.elements().iter().map(element).collect::<Result<_, E>>()?,
                ))
            }
            TypeKind::Sequence(sequence) => TypeKind::Sequence(SequenceType { element: map(&sequence.element)? }),
            TypeKind::Function(function) => TypeKind::Function(FunctionType {
                parameter: function.parameter.as_ref().map(&mut map).transpose()?,
                result: map(&function.result)?,
            }),
            TypeKind::Federated(federated) => {
                TypeKind::Federated(FederatedType { member: map(&federated.member)?, ..federated.clone() })
            }
        };
        Ok(changed.then_some(kind))
    }
}
