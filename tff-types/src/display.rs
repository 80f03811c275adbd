//! The notation of types, written three ways.
//!
//! *Compact*, `Display`: one line, byte for byte the reference's. *Formatted*, [`Type::formatted`]:
//! the same with each element of a struct on its own line. Both write names as they are, so some
//! of their output cannot be read back. *Quoted*, [`Type::quoted`]: compact, and always
//! readable.

use crate::parse::is_plain_placement_label;
use crate::syntax::{Name, is_identifier, is_keyword, write_quoted};
use crate::{DType, PlacementSpec, StructType, Type, TypeKind};
use std::fmt::{self, Write};

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { out: f, style: Style::Compact, indent: 0 }.ty(self)
    }
}

impl Type {
    /// The type on several lines: each element of a struct on its own, indented by two spaces.
    ///
    /// ```
    /// use tff_types::Type;
    ///
    /// # fn main() -> Result<(), tff_types::syntax::SyntaxError> {
    /// let ty: Type = "(<a=int32,b=<>> -> bool)".parse()?;
    /// assert_eq!(ty.formatted().to_string(), "(<\n  a=int32,\n  b=<>\n> -> bool)");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn formatted(&self) -> Formatted<'_> {
        Formatted(self)
    }

    /// The type on one line, so that parsing it gives the type again: names and labels that could
    /// be taken for something else are in backquotes, and placement types have their label.
    ///
    /// ```
    /// use tff_types::{DType, Type};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let ty = Type::structure([(Some("learning rate"), Type::abstract_type("int32"))])?;
    /// assert_eq!(ty.to_string(), "<learning rate=int32>");
    /// assert_eq!(ty.quoted().to_string(), "<`learning rate`=`int32`>");
    /// assert_eq!(ty.quoted().to_string().parse::<Type>()?, ty);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn quoted(&self) -> Quoted<'_> {
        Quoted(self)
    }
}

/// Displays a type on several lines; see [`Type::formatted`].
#[derive(Clone, Copy, Debug)]
pub struct Formatted<'a>(&'a Type);

impl fmt::Display for Formatted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        Printer { out: &mut text, style: Style::Formatted, indent: 0 }.ty(self.0)?;
        // A label may end in a blank; no line does.
        for (index, line) in text.split('\n').enumerate() {
            f.write_str(if index == 0 { "" } else { "\n" })?;
            f.write_str(line.trim_end())?;
        }
        Ok(())
    }
}

/// Displays a type so that it can be read again; see [`Type::quoted`].
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(&'a Type);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { out: f, style: Style::Quoted, indent: 0 }.ty(self.0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Compact,
    Formatted,
    Quoted,
}

struct Printer<'a, W> {
    out: &'a mut W,
    style: Style,
    /// How many structs are open.
    indent: usize,
}

impl<W: Write> Printer<'_, W> {
    fn ty(&mut self, ty: &Type) -> fmt::Result {
        match ty.kind() {
            TypeKind::Tensor(tensor) if tensor.shape.rank().is_none() => {
                write!(self.out, "'{}'{}", tensor.dtype, tensor.shape)
            }
            TypeKind::Tensor(tensor) => write!(self.out, "{}{}", tensor.dtype, tensor.shape),
            TypeKind::Struct(structure) => self.structure(structure),
            TypeKind::Sequence(sequence) => {
                self.ty(&sequence.element)?;
                self.out.write_char('*')
            }
            TypeKind::Function(function) => {
                self.out.write_char('(')?;
                if let Some(parameter) = &function.parameter {
                    self.ty(parameter)?;
                }
                self.out.write_str(" -> ")?;
                self.ty(&function.result)?;
                self.out.write_char(')')
            }
            TypeKind::Abstract(it) => self.label(&it.label, is_plain_abstract_label),
            TypeKind::Placement(placement) => {
                if let (Style::Quoted, Some(label)) = (self.style, &placement.instance_label) {
                    write!(self.out, "{}:", Name(label))?;
                }
                self.out.write_str("placement")
            }
            TypeKind::Federated(federated) => {
                self.out.write_str(if federated.all_equal { "" } else { "{" })?;
                self.ty(&federated.member)?;
                self.out.write_str(if federated.all_equal { "@" } else { "}@" })?;
                match &federated.placement {
                    PlacementSpec::Value(placement) => write!(self.out, "{placement}"),
                    PlacementSpec::Label(label) => self.label(label, is_plain_placement_label),
                }
            }
        }
    }

    fn structure(&mut self, structure: &StructType) -> fmt::Result {
        self.out.write_char('<')?;
        self.indent += 1;
        for (index, element) in structure.elements().iter().enumerate() {
            self.out.write_str(if index == 0 { "" } else { "," })?;
            self.break_line()?;
            match &element.name {
                Some(name) if self.style == Style::Quoted => write!(self.out, "{}=", Name(name))?,
                Some(name) => write!(self.out, "{name}=")?,
                None => {}
            }
            self.ty(&element.ty)?;
        }
        self.indent -= 1;
        if !structure.is_empty() {
            self.break_line()?;
        }
        self.out.write_char('>')
    }

    fn label(&mut self, label: &str, is_plain: impl Fn(&str) -> bool) -> fmt::Result {
        if self.style == Style::Quoted && !is_plain(label) {
            write_quoted(label, self.out)
        } else {
            self.out.write_str(label)
        }
    }

    fn break_line(&mut self) -> fmt::Result {
        if self.style == Style::Formatted {
            write!(self.out, "\n{:width$}", "", width = 2 * self.indent)
        } else {
            Ok(())
        }
    }
}

/// Whether an abstract label can be told from everything else without quotes: an identifier and
/// primes, `T'`.
fn is_plain_abstract_label(label: &str) -> bool {
    let word = label.trim_end_matches('\'');
    is_identifier(word) && !is_keyword(word) && word != "placement" && word.parse::<DType>().is_err()
}
