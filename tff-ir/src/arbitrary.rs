//! Random computations, for property tests and fuzzing.
//!
//! They are small and valid, of every kind, and prefer what is likely to go wrong: odd names,
//! names that hide others, constants at the limits of their type.

use crate::build::contains_untyped;
use crate::{
    Array, BuildError, Comp, CompiledComputation, DataContent, Element, Intrinsic, Opaque, Scalar, SequenceBinding,
    TensorFlow, TensorFlowBinding, Xla, XlaBinding, with_element_type,
};
use arbitrary::{Arbitrary, Error, Result, Unstructured};
use bytes::Bytes;
use std::sync::Arc;
use tff_types::{Bindings, DType, Label, Placement, Shape, Type, TypeKind};

/// How many levels a computation has at most.
const LEVELS: u32 = 5;

const NAMES: [&str; 15] = [
    "x",
    "x",
    "y",
    "_var1",
    "let",
    "lit",
    "data",
    "comp",
    "b",
    "nan",
    "True",
    "CLIENTS",
    "<lambda>_arg",
    "two words",
    "`\\\n\u{7f}é",
];

impl<'a> Arbitrary<'a> for Scalar {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let dtype = u.arbitrary()?;
        scalar(u, dtype)
    }
}

impl<'a> Arbitrary<'a> for Array {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let dtype = u.arbitrary()?;
        let dims = dims(u)?;
        array(u, dtype, dims)
    }
}

impl<'a> Arbitrary<'a> for Comp {
    /// A computation without free names.
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Generator { u, scope: Vec::new() }.comp(LEVELS)
    }
}

fn dims(u: &mut Unstructured<'_>) -> Result<Vec<u64>> {
    let rank = u.int_in_range(0..=3u32)?;
    (0..rank).map(|_| u.int_in_range(0..=3)).collect()
}

fn array(u: &mut Unstructured<'_>, dtype: DType, dims: Vec<u64>) -> Result<Array> {
    let count: u64 = dims.iter().product();
    let scalars = (0..count).map(|_| scalar(u, dtype)).collect::<Result<Vec<_>>>()?;
    Array::from_scalars(dtype, dims, &scalars).map_err(|_| Error::IncorrectFormat)
}

/// Of the floating-point numbers of 32 and 64 bits, also the special ones: random bits seldom are.
fn scalar(u: &mut Unstructured<'_>, dtype: DType) -> Result<Scalar> {
    match dtype {
        DType::Float32 => return Ok(float32(u)?.into()),
        DType::Float64 => return Ok(float64(u)?.into()),
        DType::Complex64 => return Ok((float32(u)?, float32(u)?).into()),
        DType::Complex128 => return Ok((float64(u)?, float64(u)?).into()),
        _ => {}
    }
    with_element_type!(
        dtype,
        T => {
            let mut bytes = [0; size_of::<T>()];
            u.fill_buffer(&mut bytes)?;
            T::read(&bytes).map(T::to_scalar).ok_or(Error::IncorrectFormat)
        },
        {
            let len = u.int_in_range(0..=6usize)?;
            Ok(Scalar::String(Bytes::copy_from_slice(u.bytes(len.min(u.len()))?)))
        },
    )
}

fn float64(u: &mut Unstructured<'_>) -> Result<f64> {
    const SPECIAL: [f64; 9] = [0.0, -0.0, 1.0, 0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324];
    if u.ratio(1, 2)? { u.choose(&SPECIAL).copied() } else { Ok(f64::from_bits(u.arbitrary()?)) }
}

fn float32(u: &mut Unstructured<'_>) -> Result<f32> {
    const SPECIAL: [f32; 9] = [0.0, -0.0, 1.0, 0.1, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e-45];
    if u.ratio(1, 2)? { u.choose(&SPECIAL).copied() } else { Ok(f32::from_bits(u.arbitrary()?)) }
}

struct Generator<'u, 'a> {
    u: &'u mut Unstructured<'a>,
    /// The names in scope, innermost last, with the types of what they are bound to.
    scope: Vec<(Arc<str>, Type)>,
}

impl Generator<'_, '_> {
    fn comp(&mut self, levels: u32) -> Result<Comp> {
        let Some(below) = levels.checked_sub(1) else { return self.leaf() };
        match self.u.int_in_range(0..=9u32)? {
            0 | 1 => self.leaf(),
            2 | 3 => self.structure(below),
            4 => self.selection(below),
            5 => self.lambda(below),
            6 | 7 => self.block(below),
            _ => self.call(below),
        }
    }

    fn leaf(&mut self) -> Result<Comp> {
        match self.u.int_in_range(0..=9u32)? {
            0..=3 if !self.scope.is_empty() => self.reference(),
            4 => match (self.u.arbitrary()?, self.u.ratio(1, 4)?) {
                (placement, false) => Ok(Comp::placement(placement)),
                (placement, true) => Ok(Comp::labelled_placement(placement, *self.u.choose(&["p", "a/b", "server"])?)),
            },
            5 => self.data(),
            6 => self.tensorflow(),
            7 => self.xla(),
            8 => self.intrinsic(),
            _ => self.literal(),
        }
    }

    fn name(&mut self) -> Result<Arc<str>> {
        if self.u.ratio(1, 16)? {
            return Ok(Intrinsic::FederatedSum.uri().into());
        }
        Ok(Arc::from(*self.u.choose(&NAMES)?))
    }

    fn reference(&mut self) -> Result<Comp> {
        let name = self.u.choose(&self.scope)?.0.clone();
        // The innermost binding of the name counts.
        let bound = self.scope.iter().rev().find(|(bound, _)| *bound == name);
        let ty = bound.map(|(_, ty)| ty.clone()).ok_or(Error::IncorrectFormat)?;
        built(Comp::reference(name, ty))
    }

    fn literal(&mut self) -> Result<Comp> {
        let array: Array = self.u.arbitrary()?;
        let shape = match self.u.int_in_range(0..=5u32)? {
            0 => Shape::unknown_rank(),
            1 => Shape::new(array.dims().iter().map(|_| None)),
            _ => return Ok(Comp::literal(array)),
        };
        let ty = Type::tensor(array.dtype(), shape);
        built(Comp::literal_of_type(array, ty))
    }

    fn opaque(&mut self) -> Result<Opaque> {
        let len = self.u.int_in_range(0..=8usize)?.min(self.u.len());
        let value = Bytes::copy_from_slice(self.u.bytes(len)?);
        Ok(Opaque {
            type_url: self.u.choose(&["", "type.googleapis.com/tensorflow.GraphDef"])?.to_string().into(),
            value,
        })
    }

    fn data(&mut self) -> Result<Comp> {
        let ty = self.ty()?;
        self.data_of(ty)
    }

    /// Data may be of any type.
    fn data_of(&mut self, ty: Type) -> Result<Comp> {
        let content =
            if self.u.ratio(1, 3)? { DataContent::Uri(self.name()?) } else { DataContent::Any(self.opaque()?) };
        Ok(Comp::data(content, ty))
    }

    fn ty(&mut self) -> Result<Type> {
        let ty: Type = self.u.arbitrary()?;
        Ok(if contains_untyped(&ty) { Type::placement() } else { ty })
    }

    /// A type that a graph computes with, or a module.
    fn local_type(&mut self, levels: u32, sequences: bool) -> Result<Type> {
        let built = match self.u.int_in_range(0..=4u32)? {
            0 | 1 if levels > 0 => {
                let len = self.u.int_in_range(0..=3u32)?;
                let elements: Vec<Type> =
                    (0..len).map(|_| self.local_type(levels - 1, sequences)).collect::<Result<_>>()?;
                Type::tuple(elements)
            }
            2 if sequences => Type::sequence(self.local_type(levels.min(1), false)?),
            _ => Ok(Type::tensor(self.u.arbitrary()?, self.u.arbitrary()?)),
        };
        built.map_err(|_| Error::IncorrectFormat)
    }

    fn local_function(&mut self, parameter: Option<Type>, sequences: bool) -> Result<(Option<Type>, Type)> {
        let parameter = match parameter {
            None if self.u.arbitrary()? => Some(self.local_type(2, sequences)?),
            parameter => parameter,
        };
        Ok((parameter, self.local_type(2, sequences)?))
    }

    fn tensorflow(&mut self) -> Result<Comp> {
        let (parameter, result) = self.local_function(None, true)?;
        let tensorflow = TensorFlow {
            graph: self.opaque()?,
            parameter: parameter.as_ref().map(|ty| self.tensorflow_binding(ty)).transpose()?,
            result: self.tensorflow_binding(&result)?,
            initialize_op: (*self.u.choose(&["", "init"])?).into(),
            session_token: (*self.u.choose(&["", "token:0"])?).into(),
            cache_key: match self.u.int_in_range(0..=3)? {
                0 => None,
                1 => Some(0),
                _ => Some(self.u.arbitrary()?),
            },
            layout_map: match self.u.int_in_range(0..=4)? {
                0 => Some(Vec::new()),
                1 => Some(vec![("b".into(), "X".into()), ("a".into(), "".into()), ("".into(), "Y".into())]),
                _ => None,
            },
        };
        let ty = Type::function(parameter, result).map_err(|_| Error::IncorrectFormat)?;
        built(Comp::compiled(CompiledComputation::TensorFlow(Arc::new(tensorflow)), ty))
    }

    fn tensorflow_binding(&mut self, ty: &Type) -> Result<TensorFlowBinding> {
        let name: Arc<str> = (*self.u.choose(&["arg:0", "Identity:1", ""])?).into();
        Ok(match ty.kind() {
            TypeKind::Struct(_) => {
                let elements = ty.children().map(|(_, element)| self.tensorflow_binding(element));
                TensorFlowBinding::Struct(elements.collect::<Result<_>>()?)
            }
            TypeKind::Sequence(_) if self.u.arbitrary()? => TensorFlowBinding::Sequence(SequenceBinding::Variant(name)),
            TypeKind::Sequence(_) => TensorFlowBinding::Sequence(SequenceBinding::GraphDef(name)),
            _ => TensorFlowBinding::Tensor(name),
        })
    }

    fn xla(&mut self) -> Result<Comp> {
        let (parameter, result) = self.local_function(None, false)?;
        let xla = Xla {
            hlo_module: self.opaque()?,
            parameter: parameter.as_ref().map(|ty| self.xla_binding(ty, &mut Some(0))).transpose()?,
            result: self.xla_binding(&result, &mut None)?,
        };
        let ty = Type::function(parameter, result).map_err(|_| Error::IncorrectFormat)?;
        built(Comp::compiled(CompiledComputation::Xla(Arc::new(xla)), ty))
    }

    /// A binding of each tensor; those of a parameter are numbered as they come, which `next` counts.
    fn xla_binding(&mut self, ty: &Type, next: &mut Option<i32>) -> Result<XlaBinding> {
        if ty.as_struct().is_none() {
            let index = match next {
                Some(next) => std::mem::replace(next, *next + 1),
                None => self.u.int_in_range(0..=9)?,
            };
            return Ok(XlaBinding::Tensor(index));
        }
        let elements = ty.children().map(|(_, element)| self.xla_binding(element, next));
        Ok(XlaBinding::Struct(elements.collect::<Result<_>>()?))
    }

    fn intrinsic(&mut self) -> Result<Comp> {
        let intrinsic = self.u.choose(Intrinsic::ALL)?;
        let is_other = self.u.ratio(1, 10)?;
        let Some(def) = intrinsic.def().filter(|_| !is_other) else {
            return built(Comp::intrinsic("of_a_runtime", self.ty()?));
        };
        let mut bindings = Bindings::new();
        let is_zip = intrinsic.is_zip();
        // What a zip returns is its parameter without placements.
        let zipped = self.local_type(1, false)?;
        for label in def.template().labels() {
            match label {
                Label::Type(label) if is_zip => drop(bindings.bind_type(label, zipped.clone())),
                Label::Type(label) => drop(bindings.bind_type(label, self.local_type(1, false)?)),
                Label::Placement(label) => drop(bindings.bind_placement(label, Placement::Server)),
            }
        }
        let ty = def.template().concretize(&bindings).map_err(|_| Error::IncorrectFormat)?;
        built(Comp::intrinsic(intrinsic.clone(), ty))
    }

    fn structure(&mut self, below: u32) -> Result<Comp> {
        let len = self.u.int_in_range(0..=3u32)?;
        let mut elements: Vec<(Option<Arc<str>>, Comp)> = Vec::new();
        for _ in 0..len {
            let name = if self.u.arbitrary()? { Some(self.name()?) } else { None };
            let name = name.filter(|name| elements.iter().all(|(other, _)| other.as_ref() != Some(name)));
            elements.push((name, self.comp(below)?));
        }
        built(Comp::structure(elements))
    }

    fn selection(&mut self, below: u32) -> Result<Comp> {
        let source = self.comp(below)?;
        match source.ty().as_struct().map_or(0, |structure| structure.len()) {
            0 => Ok(source),
            len => built(Comp::selection(source, self.u.choose_index(len)?)),
        }
    }

    fn lambda(&mut self, below: u32) -> Result<Comp> {
        let parameter = if self.u.ratio(4, 5)? { Some((self.name()?, self.ty()?)) } else { None };
        self.lambda_of(parameter, below)
    }

    fn lambda_of(&mut self, parameter: Option<(Arc<str>, Type)>, below: u32) -> Result<Comp> {
        let outer = self.scope.len();
        self.scope.extend(parameter.clone());
        let result = self.comp(below)?;
        self.scope.truncate(outer);
        built(Comp::lambda(parameter, result))
    }

    fn block(&mut self, below: u32) -> Result<Comp> {
        let len = self.u.int_in_range(0..=3u32)?;
        let outer = self.scope.len();
        let mut locals: Vec<(Arc<str>, Comp)> = Vec::new();
        for _ in 0..len {
            let name = self.name()?;
            if locals.iter().any(|(other, _)| *other == name) {
                continue;
            }
            let value = self.comp(below)?;
            self.scope.push((name.clone(), value.ty().clone()));
            locals.push((name, value));
        }
        let result = self.comp(below)?;
        self.scope.truncate(outer);
        built(Comp::block(locals, result))
    }

    /// A call of a lambda that accepts the argument, or of some function with data of its type.
    fn call(&mut self, below: u32) -> Result<Comp> {
        if self.u.arbitrary()? {
            let argument = self.comp(below)?;
            let parameter = argument.ty().arbitrary_target(self.u)?;
            let parameter = if contains_untyped(&parameter) { argument.ty().clone() } else { parameter };
            let function = self.name().and_then(|name| self.lambda_of(Some((name, parameter)), below))?;
            return built(Comp::call(function, Some(argument)));
        }
        let function = match self.u.int_in_range(0..=3u32)? {
            0 => self.comp(below)?,
            1 => self.tensorflow()?,
            _ => self.intrinsic()?,
        };
        let Some(ty) = function.ty().as_function() else { return Ok(function) };
        let argument = match ty.parameter.clone() {
            Some(parameter) => Some(self.argument(parameter)?),
            None => None,
        };
        built(Comp::call(function, argument))
    }

    /// Something of this type.
    fn argument(&mut self, ty: Type) -> Result<Comp> {
        match ty.as_struct() {
            Some(structure) if self.u.ratio(3, 4)? => {
                let elements = structure.elements().iter();
                let elements = elements.map(|it| Ok((it.name.clone(), self.argument(it.ty.clone())?)));
                let elements: Vec<_> = elements.collect::<Result<_>>()?;
                built(Comp::structure(elements))
            }
            _ => self.data_of(ty),
        }
    }
}

/// What a constructor refuses is a mistake of the generator.
fn built(comp: std::result::Result<Comp, BuildError>) -> Result<Comp> {
    comp.map_err(|_| Error::IncorrectFormat)
}
