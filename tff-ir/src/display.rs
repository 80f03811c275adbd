//! The compact form of computations, as the reference prints it.
//!
//! It names types nowhere, so it cannot be read back in general; the lossless form is in
//! [`crate::text`]. Two things differ from the reference, whose output is not reproducible there:
//! data prints as `data#` and a checksum of its content.

use crate::visit::with_stack;
use crate::{Comp, CompKind};
use std::fmt;

/// Prints the compact form: `(x -> (let y=x[0] in <y,a=f(y)>))`.
impl fmt::Display for Comp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_stack(|| compact(self, f))
    }
}

fn compact(comp: &Comp, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match comp.kind() {
        CompKind::Reference(reference) => f.write_str(&reference.name),
        CompKind::Selection(selection) => write!(f, "{}[{}]", selection.source, selection.index),
        CompKind::Struct(structure) => {
            f.write_str("<")?;
            for (index, element) in structure.elements.iter().enumerate() {
                if index > 0 {
                    f.write_str(",")?;
                }
                if let Some(name) = &element.name {
                    write!(f, "{name}=")?;
                }
                write!(f, "{}", element.value)?;
            }
            f.write_str(">")
        }
        CompKind::Call(call) => match &call.argument {
            Some(argument) => write!(f, "{}({argument})", call.function),
            None => write!(f, "{}()", call.function),
        },
        CompKind::Lambda(lambda) => match &lambda.parameter {
            Some(parameter) => write!(f, "({} -> {})", parameter.name, lambda.result),
            None => write!(f, "( -> {})", lambda.result),
        },
        CompKind::Block(block) => {
            f.write_str("(let ")?;
            for (index, local) in block.locals.iter().enumerate() {
                if index > 0 {
                    f.write_str(",")?;
                }
                write!(f, "{}={}", local.name, local.value)?;
            }
            write!(f, " in {})", block.result)
        }
        CompKind::Intrinsic(intrinsic) => f.write_str(&intrinsic.uri),
        CompKind::Data(_) => write!(f, "data#{}", comp.checksum()),
        CompKind::Placement(placement) => f.write_str(placement.name()),
        CompKind::Literal(literal) => crate::literal::numpy(&literal.array, f),
        CompKind::CompiledComputation(_) => write!(f, "comp#{}", comp.checksum()),
    }
}
