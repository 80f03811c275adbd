//! From computations to text that is read as the same computation.

use super::bodies::{Bodies, BodyKind};
use super::{MAX_LEVELS, constant, infer};
use crate::build::is_same;
use crate::{Binder, Call, Comp, CompEncodeError, CompKind, DataContent, NodeMap, Scope, Walk};
use bytes::Bytes;
use prost::Message;
use std::fmt::{self, Write};
use std::sync::Arc;
use tff_proto::google::protobuf::Any;
use tff_types::syntax::Name;
use tff_types::{StructType, Type, TypeKind};

/// How the text is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Each local of a block, and each element of a struct that is long, on a line of its own.
    #[default]
    Lines,
    /// Everything on one line.
    OneLine,
}

/// What is printed how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PrintOptions {
    /// How the text is laid out.
    pub layout: Layout,
    /// Whether graphs, modules and data are left to [`Printed::bodies`] instead of being part of
    /// the text.
    pub bodies_aside: bool,
}

/// A printed computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// What its labels stand for, where it does not say so itself.
    pub bodies: Bodies,
}

/// Why a computation has no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrintError {
    /// It nests deeper than the parser reads.
    #[error("the computation nests {levels} levels, the text form has at most {MAX_LEVELS}")]
    TooDeep {
        /// How many levels it nests.
        levels: u32,
    },
    /// A graph or module cannot be encoded.
    #[error("a graph or module cannot be encoded: at {0}")]
    Encode(#[from] CompEncodeError),
}

/// The text form of a computation.
///
/// # Errors
/// [`PrintError`].
pub fn print(comp: &Comp, options: &PrintOptions) -> Result<Printed, PrintError> {
    let levels = comp.height();
    if usize::try_from(levels).map_or(true, |levels| levels > MAX_LEVELS) {
        return Err(PrintError::TooDeep { levels });
    }
    let mut bodies = Bodies::new();
    let labels = label_bodies(comp, &mut bodies)?;
    let lines = options.layout == Layout::Lines;
    let widths = if lines { widths(comp) } else { NodeMap::default() };
    let mut text = String::new();
    if !options.bodies_aside {
        // Writing to a string cannot fail.
        let _ = bodies.print(lines, &mut text);
        bodies = Bodies::new();
    }
    let mut printer =
        Printer { out: &mut text, labels: &labels, widths: &widths, scope: Scope::new(), lines, indent: 0 };
    let _ = printer.walk(comp);
    if lines {
        text.push('\n');
    }
    Ok(Printed { text, bodies })
}

/// The labels of graphs, modules and data.
fn label_bodies(comp: &Comp, bodies: &mut Bodies) -> Result<NodeMap<Arc<str>>, PrintError> {
    let (mut comps, mut data) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for node in comp.preorder() {
        match node.kind() {
            CompKind::CompiledComputation(_) => {
                comps.0.push(node);
                comps.1.push(Bytes::from(node.to_proto()?.encode_to_vec()));
            }
            CompKind::Data(it) => {
                if let DataContent::Any(any) = &it.content {
                    let any = Any { type_url: any.type_url.as_ref().to_owned(), value: any.value.clone() };
                    data.0.push(node);
                    data.1.push(Bytes::from(any.encode_to_vec()));
                }
            }
            _ => {}
        }
    }
    let comp_labels = bodies.label_all(BodyKind::Comp, &comps.1);
    let data_labels = bodies.label_all(BodyKind::Data, &data.1);
    let mut labels = NodeMap::default();
    let labelled = comps.0.into_iter().zip(comp_labels).chain(data.0.into_iter().zip(data_labels));
    labelled.for_each(|(node, label)| labels.insert(node, label));
    Ok(labels)
}

/// The width from which a struct is printed on several lines.
const WIDE: usize = 80;

/// About how wide each struct would be on one line; a block has no place on one.
fn widths(comp: &Comp) -> NodeMap<usize> {
    let mut widths = NodeMap::default();
    for node in comp.postorder() {
        let below = node.children().map(|child| widths.get(child).copied().unwrap_or(WIDE));
        let below = below.fold(0, usize::saturating_add);
        let own = match node.kind() {
            CompKind::Reference(reference) => reference.name.len(),
            CompKind::Struct(structure) => {
                structure.elements.iter().map(|it| 2 + it.name.as_ref().map_or(0, |name| name.len() + 1)).sum()
            }
            CompKind::Lambda(lambda) => {
                6 + lambda.parameter.as_ref().map_or(0, |it| it.name.len() + it.ty.quoted().to_string().len() + 1)
            }
            CompKind::Block(_) => WIDE,
            CompKind::Intrinsic(intrinsic) => intrinsic.uri().len() + 1,
            CompKind::Literal(literal) => 8 + 4 * literal.array.len(),
            CompKind::Data(_) | CompKind::CompiledComputation(_) => 21,
            CompKind::Selection(_) | CompKind::Call(_) | CompKind::Placement(_) => 4,
        };
        widths.insert(node, below.saturating_add(own));
    }
    widths
}

struct Printer<'a> {
    out: &'a mut String,
    labels: &'a NodeMap<Arc<str>>,
    widths: &'a NodeMap<usize>,
    /// The types of the names in scope.
    scope: Scope<Type>,
    lines: bool,
    indent: usize,
}

impl<'c> Walk<'c> for Printer<'_> {
    type Value = ();
    type Error = fmt::Error;

    fn bind(&mut self, binder: Binder<'c>, _: Option<&()>) {
        self.scope.bind(binder.name().clone(), binder.ty().clone());
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.scope.unbind(binder.name());
    }

    fn comp(&mut self, comp: &'c Comp) -> fmt::Result {
        match comp.kind() {
            CompKind::Reference(reference) => {
                write!(self.out, "{}", Name(&reference.name))?;
                let follows = self.scope.get(&reference.name).is_some_and(|bound| is_same(bound, comp.ty()));
                if follows { Ok(()) } else { write!(self.out, ":{}", comp.ty().quoted()) }
            }
            CompKind::Selection(selection) => {
                self.walk(&selection.source)?;
                let elements = selection.source.ty().as_struct().map(StructType::elements);
                let element = elements.and_then(|elements| elements.get(selection.index));
                match element.and_then(|element| element.name.as_ref()) {
                    Some(name) => write!(self.out, ".{}", Name(name)),
                    None => write!(self.out, "[{}]", selection.index),
                }
            }
            CompKind::Struct(structure) => {
                let breaks = self.lines && self.widths.get(comp).is_some_and(|&width| width > WIDE);
                self.out.push('<');
                self.indent += 2;
                for (index, element) in structure.elements.iter().enumerate() {
                    self.item(index, element.name.as_ref(), breaks)?;
                    self.walk(&element.value)?;
                }
                self.indent -= 2;
                self.line_break(breaks);
                self.out.push('>');
                Ok(())
            }
            CompKind::Call(call) => {
                match call.function.as_intrinsic() {
                    Some(intrinsic) if type_follows(call) => write!(self.out, "%{}", Name(intrinsic.uri()))?,
                    _ => self.walk(&call.function)?,
                }
                self.out.push('(');
                call.argument.iter().try_for_each(|argument| self.walk(argument))?;
                self.out.push(')');
                Ok(())
            }
            CompKind::Lambda(lambda) => {
                self.out.push('(');
                if let Some(parameter) = &lambda.parameter {
                    write!(self.out, "{}:{}", Name(&parameter.name), parameter.ty.quoted())?;
                }
                self.out.push_str(" -> ");
                self.parts(comp, |()| ())?;
                self.out.push(')');
                Ok(())
            }
            CompKind::Block(block) => {
                let breaks = self.lines && !block.locals.is_empty();
                self.out.push_str(if breaks { "(let" } else { "(let " });
                self.indent += 2;
                for (index, part) in comp.parts().enumerate() {
                    part.binder.into_iter().for_each(|binder| self.bind(binder, None));
                    if let Some(local) = block.locals.get(index) {
                        self.item(index, Some(&local.name), breaks)?;
                    } else {
                        self.indent -= 2;
                        self.line_break(breaks);
                        self.out.push_str(" in ");
                    }
                    self.walk(part.comp)?;
                }
                comp.parts().filter_map(|part| part.binder).for_each(|binder| self.unbind(binder));
                self.out.push(')');
                Ok(())
            }
            CompKind::Intrinsic(intrinsic) => write!(self.out, "%{}:{}", Name(intrinsic.uri()), comp.ty().quoted()),
            CompKind::Data(data) => {
                if let DataContent::Uri(uri) = &data.content {
                    self.out.push_str("data ");
                    constant::print_text(uri.as_bytes(), self.out)?;
                } else {
                    write!(self.out, "data#{}", self.label(comp))?;
                }
                write!(self.out, ":{}", comp.ty().quoted())
            }
            CompKind::Placement(placement) => {
                write!(self.out, "@{placement}")?;
                let TypeKind::Placement(ty) = comp.ty().kind() else { return Ok(()) };
                ty.instance_label.as_ref().map_or(Ok(()), |label| write!(self.out, ":{}", Name(label)))
            }
            CompKind::Literal(literal) => {
                let ty = literal.array.ty();
                write!(self.out, "lit {ty} ")?;
                constant::print(&literal.array, self.out)?;
                if &ty == comp.ty() { Ok(()) } else { write!(self.out, " as {}", comp.ty().quoted()) }
            }
            CompKind::CompiledComputation(_) => write!(self.out, "comp#{}", self.label(comp)),
        }
    }
}

impl<'a> Printer<'a> {
    fn label(&self, comp: &Comp) -> &'a str {
        self.labels.get(comp).map_or("", |label| label)
    }

    /// What comes before a part in a list: perhaps a comma, a line break, and the name.
    fn item(&mut self, index: usize, name: Option<&Arc<str>>, breaks: bool) -> fmt::Result {
        self.out.push_str(if index == 0 { "" } else { "," });
        self.line_break(breaks);
        name.map_or(Ok(()), |name| write!(self.out, "{}=", Name(name)))
    }

    fn line_break(&mut self, breaks: bool) {
        if breaks {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', self.indent));
        }
    }
}

/// Whether the type of a called intrinsic is what the parser finds from the argument.
fn type_follows(call: &Call) -> bool {
    let intrinsic = call.function.as_intrinsic();
    let Some((intrinsic, argument)) = intrinsic.zip(call.argument.as_ref()) else { return false };
    infer::instance(intrinsic, argument.ty()).is_ok_and(|ty| is_same(&ty, call.function.ty()))
}
