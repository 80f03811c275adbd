//! The scalars in the metrics of a round or an evaluation.

use super::SimulationError;
use tff_exec::Value;
use tff_ir::{Scalar, Wide};
use tff_types::{Path, Step, Type, TypeKind};

type Result<T> = std::result::Result<T, SimulationError>;

/// Which scalars of a metrics structure are shown, and what they are called.
#[derive(Clone, Debug)]
pub(super) struct Metrics(Vec<Metric>);

#[derive(Clone, Debug)]
struct Metric {
    /// The shortest end of the path that no other metric has.
    name: String,
    /// The positions from the root.
    positions: Vec<usize>,
}

/// A scalar and what it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The shortest end of its path that no other metric has.
    pub name: String,
    /// The number.
    pub scalar: Scalar,
}

impl Metrics {
    /// The numbers among the scalars of type `ty` that these paths name, a scalar or a struct of
    /// them each; all where there are no paths. In the order of the paths, then of the type.
    pub(super) fn select(ty: &Type, paths: &[String]) -> Result<Self> {
        let mut all = Vec::new();
        collect(ty, &mut Path::root(), &mut all);
        let chosen = if paths.is_empty() { all } else { choose(&all, paths, ty)? };
        let names = short_names(&chosen);
        let positions = chosen.iter().map(positions);
        Ok(Self(names.into_iter().zip(positions).map(|(name, positions)| Metric { name, positions }).collect()))
    }

    /// Reads the metrics from a structure.
    pub(super) fn read(&self, value: &Value) -> Result<Vec<Reading>> {
        self.0.iter().map(|metric| metric.read(value)).collect()
    }
}

impl Metric {
    fn read(&self, value: &Value) -> Result<Reading> {
        let mut part = value;
        for &position in &self.positions {
            let Value::Struct(elements) = part else { return self.fail("a struct", part) };
            let Some(element) = elements.get(position) else { return self.fail("one more element", part) };
            part = element;
        }
        let Value::Tensor(tensor) = part else { return self.fail("a tensor", part) };
        let Some(scalar) = tensor.array().get(0) else { return self.fail("a number", part) };
        Ok(Reading { name: self.name.clone(), scalar })
    }

    fn fail(&self, expected: &'static str, found: &Value) -> Result<Reading> {
        let name = format!("metric {}", self.name);
        Err(SimulationError::Result { name, expected, found: found.describe() })
    }
}

impl Reading {
    /// The number, for drawing and comparing; strings and complex numbers were not selected.
    #[expect(clippy::cast_precision_loss, reason = "a picture shows no 53 bits")]
    #[must_use]
    pub fn number(&self) -> f64 {
        match self.scalar.wide() {
            Wide::Bool(value) => f64::from(u8::from(value)),
            Wide::Integer(value) => value as f64,
            Wide::Float32(value) => value.into(),
            Wide::Float64(value) => value,
            Wide::Complex64(..) | Wide::Complex128(..) | Wide::String(_) => f64::NAN,
        }
    }
}

/// Finds the paths of all numbers.
fn collect(ty: &Type, path: &mut Path, found: &mut Vec<Path>) {
    match ty.kind() {
        TypeKind::Tensor(tensor) => {
            let is_number = !tensor.dtype.is_complex() && tensor.dtype != tff_types::DType::String;
            if tensor.shape.is_scalar() && is_number {
                found.push(path.clone());
            }
        }
        TypeKind::Struct(_) => {
            for (step, element) in ty.children() {
                path.push(step);
                collect(element, path, found);
                path.pop();
            }
        }
        TypeKind::Sequence(_)
        | TypeKind::Function(_)
        | TypeKind::Abstract(_)
        | TypeKind::Placement(_)
        | TypeKind::Federated(_) => {}
    }
}

fn choose(all: &[Path], paths: &[String], ty: &Type) -> Result<Vec<Path>> {
    let mut chosen: Vec<Path> = Vec::new();
    for wanted in paths {
        let before = chosen.len();
        for path in all.iter().filter(|path| starts_with(path, wanted)) {
            if !chosen.contains(path) {
                chosen.push(path.clone());
            }
        }
        if chosen.len() == before && !all.iter().any(|path| starts_with(path, wanted)) {
            return Err(SimulationError::UnknownMetric { ty: ty.clone(), path: wanted.clone() });
        }
    }
    Ok(chosen)
}

/// Whether the path goes through, or ends at, the one that is written so.
fn starts_with(path: &Path, wanted: &str) -> bool {
    let steps = path.steps();
    (0..=steps.len()).any(|length| dotted(steps.get(..length).unwrap_or_default()) == wanted)
}

/// Steps as written in a configuration: `client_work.train`.
fn dotted(steps: &[Step]) -> String {
    let path: Path = steps.iter().cloned().collect();
    let text = path.to_string();
    text.strip_prefix('.').map(str::to_owned).unwrap_or(text)
}

fn positions(path: &Path) -> Vec<usize> {
    let position = |step: &Step| if let Step::Element(position, _) = step { Some(*position) } else { None };
    path.steps().iter().filter_map(position).collect()
}

/// For each path its shortest end that begins with a name and is the end of no other.
fn short_names(paths: &[Path]) -> Vec<String> {
    let ends = |path: &Path| -> Vec<String> {
        let steps = path.steps();
        let is_name = |start: &usize| *start == 0 || matches!(steps.get(*start), Some(Step::Element(_, Some(_))));
        (0..steps.len()).rev().filter(is_name).map(|start| dotted(steps.get(start..).unwrap_or_default())).collect()
    };
    let all: Vec<Vec<String>> = paths.iter().map(ends).collect();
    let is_unique = |name: &String| all.iter().filter(|ends| ends.contains(name)).count() == 1;
    let name = |ends: &Vec<String>| {
        let fallback = || ends.last().cloned().unwrap_or_else(|| "metrics".to_owned());
        ends.iter().find(|name| is_unique(name)).cloned().unwrap_or_else(fallback)
    };
    all.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tff_types::{DType, Shape};

    fn metrics() -> Type {
        let leaf = |dtype| Type::scalar(dtype);
        let of = |elements: Vec<(&str, Type)>| {
            Type::structure(elements.into_iter().map(|(name, ty)| (Some(name), ty))).unwrap()
        };
        let train = of(vec![("accuracy", leaf(DType::Float32)), ("loss", leaf(DType::Float64))]);
        let client_work = of(vec![("train", train.clone()), ("name", leaf(DType::String))]);
        let vector = Type::tensor(DType::Float32, Shape::fixed([2]));
        let unnamed = Type::tuple([leaf(DType::Int32), vector]).unwrap();
        of(vec![("client_work", client_work), ("total", of(vec![("loss", leaf(DType::Int64))])), ("other", unnamed)])
    }

    #[track_caller]
    fn check(paths: &[&str]) -> String {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        match Metrics::select(&metrics(), &paths) {
            Ok(Metrics(all)) => {
                all.iter().map(|it| format!("{} {:?}", it.name, it.positions)).collect::<Vec<_>>().join("; ")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn all_numbers_by_default() {
        insta::assert_snapshot!(check(&[]), @"accuracy [0, 0, 0]; train.loss [0, 0, 1]; total.loss [1, 0]; other[0] [2, 0]");
    }

    #[test]
    fn paths_choose_and_order() {
        insta::assert_snapshot!(check(&["client_work.train"]), @"accuracy [0, 0, 0]; loss [0, 0, 1]");
        insta::assert_snapshot!(check(&["other[0]", "client_work.train.loss", "client_work"]), @"other[0] [2, 0]; loss [0, 0, 1]; accuracy [0, 0, 0]");
        insta::assert_snapshot!(check(&["client_work.tra"]), @"metrics: expected the path of a number in <client_work=<train=<accuracy=float32,loss=float64>,name=str>,total=<loss=int64>,other=<int32,float32[2]>>, found `client_work.tra`");
        insta::assert_snapshot!(check(&["client_work.name"]), @"metrics: expected the path of a number in <client_work=<train=<accuracy=float32,loss=float64>,name=str>,total=<loss=int64>,other=<int32,float32[2]>>, found `client_work.name`");
    }
}
