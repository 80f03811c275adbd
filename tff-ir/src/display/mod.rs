//! The forms in which the reference prints computations: compact, formatted and structural.
//!
//! They print no types and quote nothing, so in general they cannot be read back; `text` has the
//! lossless form. One thing differs from the reference, whose output for data is not reproducible:
//! data prints as `data#` and the checksum of the node.

mod structural;

use crate::visit::with_stack;
use crate::{Comp, CompKind};
use std::fmt::{self, Write};

/// Prints the compact form, on one line: `(x -> (let y=x[0] in <y,a=f(y)>))`.
///
/// Only literals of arrays of several rows and names with line breaks take more lines.
impl fmt::Display for Comp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { out: f, formatted: false, indent: 0, blanks: String::new() }.comp(self)
    }
}

impl Comp {
    /// The compact form on several lines: each element of a struct and each local of a block on
    /// its own, indented by two spaces.
    #[must_use]
    pub fn formatted(&self) -> Formatted<'_> {
        Formatted(self)
    }

    /// A drawing of the tree, as the reference draws it. Its size grows with the square of that of
    /// the computation, so it is for small ones.
    #[must_use]
    pub fn structural(&self) -> Structural<'_> {
        Structural(self)
    }
}

/// Displays a computation on several lines; see [`Comp::formatted`].
#[derive(Clone, Copy, Debug)]
pub struct Formatted<'a>(&'a Comp);

impl fmt::Display for Formatted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { out: f, formatted: true, indent: 0, blanks: String::new() }.comp(self.0)
    }
}

/// Displays a drawing of a computation; see [`Comp::structural`].
#[derive(Clone, Copy, Debug)]
pub struct Structural<'a>(&'a Comp);

impl fmt::Display for Structural<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        structural::draw(self.0, f)
    }
}

/// Writes the compact form or, with line breaks, the formatted one.
struct Printer<'a, W> {
    out: &'a mut W,
    formatted: bool,
    indent: usize,
    /// White space that is written once something follows on the same line.
    blanks: String,
}

impl<W: Write> Printer<'_, W> {
    fn comp(&mut self, comp: &Comp) -> fmt::Result {
        with_stack(|| match comp.kind() {
            CompKind::Reference(reference) => self.write_str(&reference.name),
            CompKind::Selection(selection) => {
                self.comp(&selection.source)?;
                write!(self, "[{}]", selection.index)
            }
            CompKind::Struct(structure) if structure.elements.is_empty() => self.write_str("<>"),
            CompKind::Struct(structure) => {
                self.write_str("<")?;
                self.list(structure.elements.iter().map(|element| (element.name.as_deref(), &element.value)))?;
                self.write_str(">")
            }
            CompKind::Call(call) => {
                self.comp(&call.function)?;
                self.write_str("(")?;
                call.argument.iter().try_for_each(|argument| self.comp(argument))?;
                self.write_str(")")
            }
            CompKind::Lambda(lambda) => {
                write!(self, "({} -> ", lambda.parameter.as_ref().map_or("", |parameter| &parameter.name))?;
                self.comp(&lambda.result)?;
                self.write_str(")")
            }
            CompKind::Block(block) => {
                self.write_str(if self.formatted { "(let" } else { "(let " })?;
                self.list(block.locals.iter().map(|local| (Some(&*local.name), &local.value)))?;
                self.write_str(" in ")?;
                self.comp(&block.result)?;
                self.write_str(")")
            }
            CompKind::Intrinsic(intrinsic) => self.write_str(intrinsic.uri()),
            CompKind::Data(_) => write!(self, "data#{}", comp.checksum()),
            CompKind::Placement(placement) => self.write_str(placement.name()),
            CompKind::Literal(literal) => crate::literal::numpy(&literal.array, self),
            CompKind::CompiledComputation(_) => write!(self, "comp#{}", comp.checksum()),
        })
    }

    /// Computations between commas; formatted, each on a line.
    fn list<'c>(&mut self, items: impl Iterator<Item = (Option<&'c str>, &'c Comp)>) -> fmt::Result {
        self.indent += 2;
        self.line_break()?;
        for (index, (name, comp)) in items.enumerate() {
            if index > 0 {
                self.write_str(",")?;
                self.line_break()?;
            }
            if let Some(name) = name {
                write!(self, "{name}=")?;
            }
            self.comp(comp)?;
        }
        self.indent -= 2;
        self.line_break()
    }

    fn line_break(&mut self) -> fmt::Result {
        if self.formatted {
            // No line ends in white space.
            self.blanks.clear();
            self.blanks.extend(std::iter::repeat_n(' ', self.indent));
            self.out.write_str("\n")?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Printer<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !self.formatted {
            return self.out.write_str(text);
        }
        let visible = text.trim_end();
        if !visible.is_empty() {
            self.out.write_str(&self.blanks)?;
            self.out.write_str(visible)?;
            self.blanks.clear();
        }
        self.blanks.push_str(text.get(visible.len()..).unwrap_or_default());
        Ok(())
    }
}
