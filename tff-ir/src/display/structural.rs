//! The drawing of the tree: each node a label, edges below it, its parts below those.

use crate::visit::with_stack;
use crate::{Comp, CompKind};
use std::fmt::{self, Write};

/// Draws the tree, without white space at the ends of lines.
pub(super) fn draw(comp: &Comp, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, line) in drawing(comp).lines.iter().enumerate() {
        if index > 0 {
            f.write_char('\n')?;
        }
        f.write_str(line.iter().collect::<String>().trim_end())?;
    }
    Ok(())
}

/// How far what belongs to different parts is kept apart below their first lines.
const GAP: usize = 4;

/// Lines of the same width, at least one.
struct Drawing {
    lines: Vec<Vec<char>>,
}

impl Drawing {
    fn of(text: &str) -> Self {
        Self { lines: vec![text.chars().collect()] }
    }

    fn width(&self) -> usize {
        self.lines.first().map_or(0, Vec::len)
    }

    /// Where the first line begins.
    fn start(&self) -> usize {
        self.lines.first().map_or(0, |line| leading(line))
    }

    /// Where the first line ends.
    fn end(&self) -> usize {
        self.lines.first().map_or(0, |line| line.len() - trailing(line))
    }

    /// Brings all lines to the width of the widest.
    fn pad(&mut self, side: Side) {
        let width = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        for line in &mut self.lines {
            let missing = width - line.len();
            match side {
                Side::Left => drop(line.splice(0..0, std::iter::repeat_n(' ', missing))),
                Side::Right => line.extend(std::iter::repeat_n(' ', missing)),
            }
        }
    }

    /// This text, starting at this column, above the drawing.
    fn put_above(&mut self, text: &str, column: usize) {
        let line = std::iter::repeat_n(' ', column).chain(text.chars()).collect();
        self.lines.insert(0, line);
        self.pad(Side::Right);
    }

    /// A label and an edge, above the first thing that is drawn here.
    fn with_parent(mut self, label: &str) -> Self {
        let column = self.start();
        self.put_above("|", column);
        self.put_above(label, column);
        self
    }

    /// Both drawings side by side, their first lines `gap` apart unless that leaves too little
    /// between others.
    fn beside(mut self, right: Self, gap: usize) -> Self {
        let inset = self.inset(&right, gap);
        let heights = (self.lines.len(), right.lines.len());
        let mut rights = right.lines.into_iter();
        for (left, right) in self.lines.iter_mut().zip(rights.by_ref()) {
            let from_left = trailing(left).min(usize::try_from(inset).unwrap_or(0));
            left.truncate(left.len() - from_left);
            let from_right = leading(&right).min(usize::try_from(inset).unwrap_or(0) - from_left);
            left.extend(std::iter::repeat_n(' ', usize::try_from(-inset).unwrap_or(0)));
            left.extend(right.into_iter().skip(from_right));
        }
        self.lines.extend(rights);
        // What is below only one of the two stays on its side.
        self.pad(if heights.0 > heights.1 { Side::Right } else { Side::Left });
        self
    }

    /// By how many columns the drawings can be pushed into each other; negative where they must be
    /// kept further apart than they are.
    fn inset(&self, right: &Self, gap: usize) -> isize {
        let between = |(left, right): (&Vec<char>, &Vec<char>), gap: usize| {
            let blank = trailing(left) + leading(right);
            blank.cast_signed() - gap.cast_signed()
        };
        let mut pairs = self.lines.iter().zip(&right.lines);
        let first = pairs.next().map_or(0, |pair| between(pair, gap));
        pairs.map(|pair| between(pair, GAP)).fold(first, isize::min)
    }
}

fn leading(line: &[char]) -> usize {
    line.iter().take_while(|&&char| char == ' ').count()
}

fn trailing(line: &[char]) -> usize {
    line.iter().rev().take_while(|&&char| char == ' ').count()
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

fn drawing(comp: &Comp) -> Drawing {
    with_stack(|| match comp.kind() {
        CompKind::Reference(reference) => Drawing::of(&format!("Ref({})", reference.name)),
        CompKind::Intrinsic(intrinsic) => Drawing::of(intrinsic.uri()),
        CompKind::Data(_) => Drawing::of(&format!("Data({})", comp.checksum())),
        CompKind::Placement(_) => Drawing::of("Placement"),
        CompKind::Literal(literal) => {
            let mut label = String::from("Lit(");
            // Writing to a string cannot fail.
            let _ = crate::literal::formatted(&literal.array, &mut label);
            Drawing::of(&(label + ")"))
        }
        CompKind::CompiledComputation(_) => Drawing::of(&format!("Compiled({})", comp.checksum())),
        CompKind::Selection(selection) => drawing(&selection.source).with_parent(&format!("Sel({})", selection.index)),
        CompKind::Lambda(lambda) => {
            let name = lambda.parameter.as_ref().map_or("None", |parameter| &parameter.name);
            drawing(&lambda.result).with_parent(&format!("Lambda({name})"))
        }
        CompKind::Struct(structure) => {
            let elements = structure.elements.iter().map(|element| (element.name.as_deref(), &element.value));
            list(elements).with_parent("Struct")
        }
        CompKind::Call(call) => fork("Call", drawing(&call.function), call.argument.as_ref().map(drawing)),
        CompKind::Block(block) => {
            let locals = block.locals.iter().map(|local| (Some(&*local.name), &local.value));
            fork("Block", list(locals), Some(drawing(&block.result)))
        }
    })
}

/// Parts between brackets, side by side.
fn list<'c>(items: impl Iterator<Item = (Option<&'c str>, &'c Comp)>) -> Drawing {
    let mut list = Drawing::of("[");
    for (index, (name, comp)) in items.enumerate() {
        let mut item = drawing(comp);
        if let Some(name) = name {
            item = Drawing::of(&format!("{name}=")).beside(item, 0);
        }
        if index > 0 {
            list = list.beside(Drawing::of(","), 0);
        }
        list = list.beside(item, usize::from(index > 0));
    }
    list.beside(Drawing::of("]"), 0)
}

/// A label above one or two parts, with the edges between.
fn fork(label: &str, mut left: Drawing, right: Option<Drawing>) -> Drawing {
    let edge = left.end();
    left.put_above("/", edge);
    if let Some(mut right) = right {
        let edge = right.width() - right.start();
        right.lines.insert(0, std::iter::once('\\').chain(std::iter::repeat_n(' ', edge)).collect());
        right.pad(Side::Left);
        left = left.beside(right, label.chars().count());
    }
    let edge = left.start();
    left.put_above(label, edge + 1);
    left
}
