//! Which columns of a table make up which members of an element.

use super::{DataError, KeyProblem};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use tff_types::{DType, Dim, Path, Step, StructType, TensorType, Type, TypeKind};

type Result<T, E = DataError> = std::result::Result<T, E>;

/// The columns of a type: of a tensor one or several patterns, of a struct those of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Columns {
    /// A column, a range `p0..p63` or a pattern with `*`.
    Pattern(String),
    /// The patterns of a tensor, one after the other, or the members of a struct by position.
    List(Vec<Columns>),
    /// The members of a struct by name.
    Named(BTreeMap<String, Columns>),
}

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ColumnsVisitor;

        impl<'de> Visitor<'de> for ColumnsVisitor {
            type Value = Columns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a column, a list of columns by position or a table of columns by member")
            }

            fn visit_str<E>(self, pattern: &str) -> Result<Columns, E> {
                Ok(Columns::Pattern(pattern.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Columns, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = access.next_element()? {
                    list.push(item);
                }
                Ok(Columns::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Columns, A::Error> {
                let mut named = BTreeMap::new();
                while let Some((name, columns)) = access.next_entry()? {
                    named.insert(name, columns);
                }
                Ok(Columns::Named(named))
            }
        }

        deserializer.deserialize_any(ColumnsVisitor)
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// How many elements a row has in it: 1 for a cell, more for a list or an array.
    pub(super) width: usize,
}

/// How an element is made of the columns of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The tensors of the element, in order.
    pub(super) tensors: Vec<TensorPlan>,
    /// How they make up the element.
    pub(super) layout: Layout,
    /// Whether every tensor begins with a dimension for the rows of a batch.
    pub(super) is_batched: bool,
}

/// A tensor of the element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TensorPlan {
    pub(super) dtype: DType,
    /// What one row gives, without the batch.
    pub(super) row_dims: Vec<u64>,
    /// The positions of the columns.
    pub(super) columns: Vec<usize>,
    /// How many elements a row has.
    pub(super) width: usize,
}

/// The structure of the element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// The tensor at this position.
    Tensor(usize),
    Struct(Vec<Layout>),
}

impl Plan {
    /// Maps the columns of this header to an element of type `ty`. Where all batches have `full_batch` rows, a dimension of
    /// that size may be the one for the batch, too.
    pub(super) fn new(ty: &Type, columns: &Columns, header: &[Column], full_batch: Option<u64>) -> Result<Self> {
        let batched: Vec<bool> = tensor_types(ty).map(|tensor| has_batch_dim(tensor, full_batch)).collect();
        let is_batched = batched.contains(&true);
        if is_batched && batched.contains(&false) {
            return Err(KeyProblem::MixedBatches { ty: ty.clone() }.at("data.columns"));
        }
        let mut planner = Planner { header, is_batched, tensors: Vec::new(), path: Path::root() };
        let layout = planner.layout(ty, columns)?;
        Ok(Self { tensors: planner.tensors, layout, is_batched })
    }

    /// How many bytes a row takes, as far as its type says.
    pub(super) fn bytes_of_row(&self) -> usize {
        // A string's size varies; this is a guess.
        const STRING: usize = 64;
        let bytes = self.tensors.iter().map(|it| it.width.saturating_mul(it.dtype.size().unwrap_or(STRING)));
        bytes.fold(0, usize::saturating_add)
    }

    /// The columns that are needed, in ascending order.
    #[cfg_attr(not(feature = "arrow"), allow(dead_code, reason = "only some formats read some columns alone"))]
    pub(super) fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = self.tensors.iter().flat_map(|it| &it.columns).copied().collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

/// The tensors in a type, in order.
fn tensor_types(ty: &Type) -> Box<dyn Iterator<Item = &TensorType> + '_> {
    match ty.as_tensor() {
        Some(tensor) => Box::new(std::iter::once(tensor)),
        None => Box::new(ty.children().flat_map(|(_, child)| tensor_types(child))),
    }
}

fn has_batch_dim(tensor: &TensorType, full_batch: Option<u64>) -> bool {
    match tensor.shape.dims() {
        Some([None, ..]) => true,
        Some([size, ..]) => full_batch.is_some() && *size == full_batch,
        _ => false,
    }
}

struct Planner<'a> {
    header: &'a [Column],
    is_batched: bool,
    tensors: Vec<TensorPlan>,
    path: Path,
}

impl Planner<'_> {
    /// The problem, of what is read here in the configuration.
    fn fail<T>(&self, problem: KeyProblem) -> Result<T> {
        Err(problem.at(format!("data.columns{}", self.path)))
    }

    fn layout(&mut self, ty: &Type, columns: &Columns) -> Result<Layout> {
        match ty.kind() {
            TypeKind::Tensor(tensor) => self.tensor(ty, tensor, columns),
            TypeKind::Struct(structure) => self.structure(ty, structure, columns),
            TypeKind::Sequence(_)
            | TypeKind::Function(_)
            | TypeKind::Abstract(_)
            | TypeKind::Placement(_)
            | TypeKind::Federated(_) => self.fail(KeyProblem::expected("tensors and structs of them", ty.to_string())),
        }
    }

    fn structure(&mut self, ty: &Type, structure: &StructType, columns: &Columns) -> Result<Layout> {
        let members: Vec<&Columns> = match columns {
            Columns::List(list) if list.len() == structure.len() => list.iter().collect(),
            Columns::List(list) => {
                let expected = format!("the columns of {} members, {ty}", structure.len());
                return self.fail(KeyProblem::expected(expected, list.len().to_string()));
            }
            Columns::Named(named) => self.members_by_name(ty, structure, named)?,
            Columns::Pattern(pattern) => {
                let expected = format!("the columns of each member of {ty}");
                return self.fail(KeyProblem::expected(expected, format!("only {pattern:?}")));
            }
        };
        let mut layouts = Vec::new();
        for (index, (element, columns)) in structure.elements().iter().zip(members).enumerate() {
            self.path.push(Step::Element(index, element.name.clone()));
            layouts.push(self.layout(&element.ty, columns)?);
            self.path.pop();
        }
        Ok(Layout::Struct(layouts))
    }

    fn members_by_name<'c>(
        &self,
        ty: &Type,
        structure: &StructType,
        named: &'c BTreeMap<String, Columns>,
    ) -> Result<Vec<&'c Columns>> {
        if let Some(unknown) = named.keys().find(|name| structure.index_of(name).is_none()) {
            return self.fail(KeyProblem::UnknownMember { member: unknown.clone(), ty: ty.clone() });
        }
        let mut members = Vec::new();
        for (index, element) in structure.elements().iter().enumerate() {
            let Some(name) = element.name.as_deref() else {
                return self.fail(KeyProblem::UnnamedMember { index, ty: ty.clone() });
            };
            match named.get(name) {
                Some(columns) => members.push(columns),
                None => return self.fail(KeyProblem::MissingMember { member: name.to_owned(), ty: ty.clone() }),
            }
        }
        Ok(members)
    }

    fn tensor(&mut self, ty: &Type, tensor: &TensorType, columns: &Columns) -> Result<Layout> {
        if tensor.dtype.is_complex() {
            return self.fail(KeyProblem::NotInTables { ty: ty.clone() });
        }
        let columns = self.positions(ty, columns)?;
        let Some(dims) = tensor.shape.dims() else {
            return self.fail(KeyProblem::UnknownRank { ty: ty.clone() });
        };
        let dims = if self.is_batched { dims.get(1..).unwrap_or_default() } else { dims };
        let widths = columns.iter().filter_map(|&column| Some(self.header.get(column)?.width));
        let width = widths.fold(0, usize::saturating_add);
        let row_dims = self.row_dims(ty, dims, width)?;
        self.tensors.push(TensorPlan { dtype: tensor.dtype, row_dims, columns, width });
        Ok(Layout::Tensor(self.tensors.len() - 1))
    }

    /// The dimensions of what a row of this many columns gives.
    fn row_dims(&self, ty: &Type, dims: &[Dim], n_columns: usize) -> Result<Vec<u64>> {
        let n_columns = n_columns as u64;
        let known = dims.iter().try_fold(1u64, |product, dim| product.checked_mul(dim.unwrap_or(1)));
        // One unknown dimension takes what the known ones leave.
        match (known, dims.iter().filter(|dim| dim.is_none()).count()) {
            (Some(known), 0) if known == n_columns => Ok(dims.iter().map(|dim| dim.unwrap_or(1)).collect()),
            (Some(known), 1) if known > 0 && n_columns.is_multiple_of(known) => {
                Ok(dims.iter().map(|dim| dim.unwrap_or(n_columns / known)).collect())
            }
            (Some(known), 0 | 1) => {
                let mut expected = format!("{known} columns for a row of {ty}");
                if let Some(Some(size)) = dims.first()
                    && size.checked_mul(n_columns) == Some(known)
                {
                    expected += &format!(
                        ", whose first dimension is the batch only if data.drop_remainder is true and data.batch_size {size}"
                    );
                }
                self.fail(KeyProblem::expected(expected, n_columns.to_string()))
            }
            _ => self.fail(KeyProblem::UnknownDimensions { ty: ty.clone() }),
        }
    }

    /// The positions of the columns of a tensor.
    fn positions(&self, ty: &Type, columns: &Columns) -> Result<Vec<usize>> {
        match columns {
            Columns::Pattern(pattern) => self.matching(pattern),
            Columns::List(list) => {
                let lists: Result<Vec<_>> = list.iter().map(|item| self.positions(ty, item)).collect();
                Ok(lists?.concat())
            }
            Columns::Named(_) => self.fail(KeyProblem::expected(format!("the columns of {ty}"), "a table of members")),
        }
    }

    /// The positions of the columns that a pattern names: a name, a range of columns as they stand
    /// in the header, or a pattern with `*`.
    fn matching(&self, pattern: &str) -> Result<Vec<usize>> {
        if self.header.iter().any(|column| column.name == pattern) {
            return Ok(vec![self.position(pattern)?]);
        }
        if let Some((first, last)) = pattern.split_once("..") {
            let (first_idx, last_idx) = (self.position(first)?, self.position(last)?);
            if first_idx > last_idx {
                return self.fail(KeyProblem::ReversedRange { first: first.to_owned(), last: last.to_owned() });
            }
            return Ok((first_idx..=last_idx).collect());
        }
        let found: Vec<usize> =
            (0..).zip(self.header).filter(|(_, column)| matches(pattern, &column.name)).map(|it| it.0).collect();
        if found.is_empty() {
            return self.fail(KeyProblem::NoColumn { column: pattern.to_owned(), found: brief(self.header) });
        }
        Ok(found)
    }

    fn position(&self, name: &str) -> Result<usize> {
        position(self.header, name).or_else(|problem| self.fail(problem))
    }
}

/// The position of the one column of this name.
pub(super) fn position(header: &[Column], name: &str) -> Result<usize, KeyProblem> {
    let mut found = (0..).zip(header).filter(|(_, column)| column.name == name).map(|it| it.0);
    match (found.next(), found.next()) {
        (Some(position), None) => Ok(position),
        (Some(_), Some(_)) => Err(KeyProblem::RepeatedColumn { column: name.to_owned() }),
        (None, _) => Err(KeyProblem::NoColumn { column: name.to_owned(), found: brief(header) }),
    }
}

fn brief(header: &[Column]) -> String {
    const SHOWN: usize = 8;
    let rest = if header.len() > SHOWN { format!(" and {} more", header.len() - SHOWN) } else { String::new() };
    format!("{}{rest}", header.iter().take(SHOWN).map(|it| it.name.as_str()).collect::<Vec<_>>().join(", "))
}

/// Whether a name matches a pattern, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|prefix| name.strip_prefix(prefix)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    // The leftmost place is right for every part but the last, which must end the name.
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ty: &Type, columns: &str, header: &str) -> String {
        #[derive(serde::Deserialize)]
        struct Config {
            columns: Columns,
        }
        let Config { columns } = toml::from_str(&format!("columns = {columns}")).unwrap();
        let header: Vec<Column> = header.split(',').map(|name| Column { name: name.to_owned(), width: 1 }).collect();
        match Plan::new(ty, &columns, &header, None) {
            Ok(plan) => plan
                .tensors
                .iter()
                .map(|it| format!("{}{:?} <- {:?}", it.dtype, it.row_dims, it.columns))
                .collect::<Vec<_>>()
                .join("; "),
            Err(error) => format!("{error:#}"),
        }
    }

    fn float(dims: impl IntoIterator<Item = Dim>) -> Type {
        Type::tensor(DType::Float32, tff_types::Shape::new(dims))
    }

    fn pair() -> Type {
        Type::tuple([float([None, Some(3)]), float([None])]).unwrap()
    }

    fn named() -> Type {
        Type::structure([(Some("x"), float([Some(2), None])), (Some("y"), float([]))]).unwrap()
    }

    #[test]
    fn members_by_position_and_by_name() {
        insta::assert_snapshot!(check(&pair(), r#"["a..c", "y"]"#, "a,b,c,y"), @"float32[3] <- [0, 1, 2]; float32[] <- [3]");
        insta::assert_snapshot!(check(&pair(), r#"[["c", "a", "b"], "y"]"#, "a,b,c,y"), @"float32[3] <- [2, 0, 1]; float32[] <- [3]");
        insta::assert_snapshot!(check(&named(), r#"{y = "y", x = "p*"}"#, "p1,y,p2,p3,p4"), @"float32[2, 2] <- [0, 2, 3, 4]; float32[] <- [1]");
        insta::assert_snapshot!(check(&float([None]), r#""y""#, "x,y"), @"float32[] <- [1]");
    }

    #[test]
    fn names_come_before_patterns() {
        insta::assert_snapshot!(check(&float([]), r#""a..b""#, "a,b,a..b"), @"float32[] <- [2]");
        insta::assert_snapshot!(check(&float([]), r#""*""#, "a,*"), @"float32[] <- [1]");
    }

    #[test]
    fn problems_say_where_they_are() {
        insta::assert_snapshot!(check(&pair(), r#"["a..b", "y"]"#, "a,b,y"), @"data.columns[0]: expected 3 columns for a row of float32[?,3], found 2");
        insta::assert_snapshot!(check(&pair(), r#"["a..c"]"#, "a,b,c"), @"data.columns: expected the columns of 2 members, <float32[?,3],float32[?]>, found 1");
        insta::assert_snapshot!(check(&pair(), r#"["a..c", "z"]"#, "a,b,c,y,1,2,3,4,5,6"), @"data.columns[1]: no column `z`, found a, b, c, y, 1, 2, 3, 4 and 2 more");
        insta::assert_snapshot!(check(&pair(), r#"["c..a", "y"]"#, "a,b,c,y"), @"data.columns[0]: column `c` stands behind `a`");
        insta::assert_snapshot!(check(&pair(), r#""a..c""#, "a,b,c"), @r#"data.columns: expected the columns of each member of <float32[?,3],float32[?]>, found only "a..c""#);
        insta::assert_snapshot!(check(&pair(), r#"{x = "a"}"#, "a"), @"data.columns: unknown member `x`, expected those of <float32[?,3],float32[?]>");
        insta::assert_snapshot!(check(&named(), r#"{x = "a"}"#, "a,b"), @"data.columns: missing member `y` of <x=float32[2,?],y=float32>");
        insta::assert_snapshot!(check(&named(), r#"{x = ["a", "a"], y = "a", z = "b"}"#, "a,b"), @"data.columns: unknown member `z`, expected those of <x=float32[2,?],y=float32>");
        insta::assert_snapshot!(check(&named(), r#"{x = ["a", "b", "b"], y = "a"}"#, "a,b"), @"data.columns.x: expected 2 columns for a row of float32[2,?], found 3");
        insta::assert_snapshot!(check(&named(), r#"{x = ["a", "b"], y = "a"}"#, "a,b,a"), @"data.columns.x: column `a` occurs more than once");
        let mixed = Type::tuple([float([None]), float([])]).unwrap();
        insta::assert_snapshot!(check(&mixed, r#"["a", "b"]"#, "a,b"), @"data.columns: some tensors of <float32[?],float32> begin with a dimension `?` for the batch and some do not");
    }

    #[test]
    fn stars_match_any_characters() {
        let cases = [
            ("p*", "p", true),
            ("p*", "xp", false),
            ("*p*q", "apbq", true),
            ("*p*q", "apbqc", false),
            ("a*b*b", "ab", false),
            ("a*b*b", "abb", true),
            ("abc", "abc", true),
            ("ab", "abc", false),
            ("**", "", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
