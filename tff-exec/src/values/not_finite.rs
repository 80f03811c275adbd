//! Numbers that are not finite in results, and where they come from.

use super::{Clients, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tff_ir::Array;
use tff_types::DType;
use thiserror::Error;

/// How many clients a message names.
const MAX_NAMED: usize = 10;

/// That a result has numbers that are not finite, and where they come from.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the result has {number}, {cause}")]
#[non_exhaustive]
pub struct NotFinite {
    /// What was found.
    pub number: NotFiniteNumber,
    /// Where it comes from.
    pub cause: NotFiniteCause,
}

/// A kind of number that is not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotFiniteNumber {
    /// An infinity.
    Infinite,
    /// No number at all, perhaps beside infinities.
    Nan,
}

/// Where numbers that are not finite come from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotFiniteCause {
    /// The argument has such numbers: at these clients, or elsewhere if there are none.
    Argument(Vec<usize>),
    /// What was computed for these clients has such numbers, and the argument has none.
    Clients(Vec<usize>),
    /// The argument has none, and there is a mean, or there are no clients.
    NoWeight,
    /// The argument has none; more is not known.
    Unknown,
}

impl NotFinite {
    /// Looks for numbers that are not finite in the result of a computation. `has_mean` says that the
    /// computation contains a mean, or runs without clients. `None` where all numbers are finite. Sequences that
    /// are not in memory are not looked into.
    #[must_use]
    pub fn find(result: &Value, argument: Option<&Value>, computed: &NotFiniteClients, has_mean: bool) -> Option<Self> {
        let number = result.not_finite()?;
        let (at_clients, computed) = (argument.map(Value::not_finite_clients).unwrap_or_default(), computed.get());
        let cause = if argument.is_some_and(|argument| argument.not_finite().is_some()) {
            NotFiniteCause::Argument(at_clients)
        } else if !computed.is_empty() {
            NotFiniteCause::Clients(computed)
        } else if has_mean && number == NotFiniteNumber::Nan {
            NotFiniteCause::NoWeight
        } else {
            NotFiniteCause::Unknown
        };
        Some(Self { number, cause })
    }
}

impl fmt::Display for NotFiniteNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Infinite => "inf",
            Self::Nan => "nan",
        })
    }
}

impl fmt::Display for NotFiniteCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(clients) if clients.is_empty() => f.write_str("as the argument is not finite"),
            Self::Argument(clients) => write!(f, "as the argument is not finite at {}", Named(clients)),
            Self::Clients(clients) => write!(f, "as what was computed for {} is not finite", Named(clients)),
            Self::NoWeight => f.write_str("as a mean does over no clients or weights that add up to 0"),
            Self::Unknown => f.write_str("though the argument is finite: the cause is not known"),
        }
    }
}

/// The positions of clients in a message.
struct Named<'a>(&'a [usize]);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 { "client " } else { "clients " })?;
        for (index, client_idx) in self.0.iter().take(MAX_NAMED).enumerate() {
            write!(f, "{}{client_idx}", if index == 0 { "" } else { ", " })?;
        }
        match self.0.len().saturating_sub(MAX_NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Collects the positions of the clients for which something was computed that is not finite. Clones collect
/// together.
#[derive(Clone, Debug, Default)]
pub struct NotFiniteClients(Arc<Mutex<BTreeMap<usize, NotFiniteNumber>>>);

impl NotFiniteClients {
    /// The positions so far, in order.
    #[must_use]
    pub fn get(&self) -> Vec<usize> {
        self.found().keys().copied().collect()
    }

    /// Looks at what was computed for a client.
    pub(crate) fn look_at(&self, client_idx: usize, value: &Value) {
        if let Some(number) = value.not_finite() {
            self.found().insert(client_idx, number);
        }
    }

    /// The error of what gave these values, where there are any.
    pub(crate) fn to_error(&self) -> Option<NotFinite> {
        let number = self.found().values().max().copied()?;
        Some(NotFinite { number, cause: NotFiniteCause::Clients(self.get()) })
    }

    fn found(&self) -> MutexGuard<'_, BTreeMap<usize, NotFiniteNumber>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Value {
    /// The worst number in it that is not finite, if there is one. Sequences that are not in memory and what
    /// workers hold are not looked into.
    #[must_use]
    pub fn not_finite(&self) -> Option<NotFiniteNumber> {
        let worst = |values: &[Self]| values.iter().filter_map(Self::not_finite).max();
        match self {
            Self::Tensor(tensor) => of_array(tensor.array()),
            Self::Struct(elements) => worst(elements),
            Self::Sequence(sequence) => sequence.known_elements().and_then(|elements| worst(elements)),
            Self::Server(member) | Self::Clients(Clients::AllEqual(member)) => member.not_finite(),
            Self::Clients(Clients::Each(members)) => members.here().ok().and_then(worst),
            Self::Function(_) | Self::Placement(_) => None,
        }
    }

    /// The positions of the clients whose members are not finite, in a value at clients or in a struct of such.
    #[must_use]
    pub fn not_finite_clients(&self) -> Vec<usize> {
        let mut found = BTreeSet::new();
        self.collect_clients(&mut found);
        found.into_iter().collect()
    }

    fn collect_clients(&self, found: &mut BTreeSet<usize>) {
        match self {
            Self::Struct(elements) => elements.iter().for_each(|element| element.collect_clients(found)),
            Self::Clients(Clients::Each(members)) => {
                let members = members.here().unwrap_or_default().iter().enumerate();
                found.extend(members.filter(|(_, member)| member.not_finite().is_some()).map(|(index, _)| index));
            }
            _ => {}
        }
    }
}

fn of_array(array: &Array) -> Option<NotFiniteNumber> {
    let bytes = array.as_dense()?;
    // A number is not finite if all bits of its exponent are set. Compared as words, that is quick.
    let is_finite = match array.dtype() {
        DType::Float16 => !bytes.as_chunks().0.iter().any(|word| u16::from_le_bytes(*word) & 0x7c00 == 0x7c00),
        DType::BFloat16 => !bytes.as_chunks().0.iter().any(|word| u16::from_le_bytes(*word) & 0x7f80 == 0x7f80),
        DType::Float32 | DType::Complex64 => {
            !bytes.as_chunks().0.iter().any(|word| u32::from_le_bytes(*word) & 0x7f80_0000 == 0x7f80_0000)
        }
        DType::Float64 | DType::Complex128 => {
            let exponent = 0x7ff0_0000_0000_0000;
            !bytes.as_chunks().0.iter().any(|word| u64::from_le_bytes(*word) & exponent == exponent)
        }
        _ => true,
    };
    if is_finite {
        return None;
    }
    let has_nan = array.scalars().any(|scalar| scalar.wide().is_nan());
    Some(if has_nan { NotFiniteNumber::Nan } else { NotFiniteNumber::Infinite })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sequence;
    use half::{bf16, f16};
    use tff_ir::Scalar;
    use tff_types::Type;

    fn float(number: f32) -> Value {
        Value::scalar(Scalar::Float32(number))
    }

    #[test]
    fn every_dtype_is_looked_at() {
        type Make = fn(f64) -> Scalar;
        let makes: [Make; 7] = [
            |it| Scalar::Float16(f16::from_f64(it)),
            |it| Scalar::BFloat16(bf16::from_f64(it)),
            |it| Scalar::Float32(it as f32),
            |it| Scalar::Float64(it),
            |it| Scalar::Complex64(1.0, it as f32),
            |it| Scalar::Complex64(it as f32, 1.0),
            |it| Scalar::Complex128(1.0, it),
        ];
        for make in makes {
            let found = [1e4, -1e-30, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]
                .map(|it| Value::scalar(make(it)).not_finite());
            let infinite = Some(NotFiniteNumber::Infinite);
            assert_eq!(found, [None, None, Some(NotFiniteNumber::Nan), infinite, infinite], "{:?}", make(1.0));
        }
        // Integers whose bits are those of an infinity are numbers as others are.
        assert_eq!(Value::scalar(Scalar::Int32(0x7f80_0000)).not_finite(), None);
    }

    fn find(argument: Option<&Value>, result: &Value, computed: &[usize], has_mean: bool) -> String {
        let clients = NotFiniteClients::default();
        computed.iter().for_each(|&client_idx| clients.look_at(client_idx, &float(f32::NAN)));
        NotFinite::find(result, argument, &clients, has_mean).map_or_else(String::new, |it| it.to_string())
    }

    #[test]
    fn the_cause_is_named() {
        let nan = Value::at_server(float(f32::NAN));
        let clients = |numbers: &[f32]| Value::at_clients(numbers.iter().map(|&it| float(it)));
        let sequence = Value::Sequence(Sequence::from_elements(Type::scalar(DType::Float32), [float(f32::NAN)]));
        let bad = Value::structure([clients(&[1.0, f32::NAN, f32::INFINITY]), float(1.0)]);
        let good = clients(&[1.0, 2.0]);
        let many = clients(&[f32::NAN; 12]);
        insta::assert_snapshot!(find(Some(&bad), &nan, &[0], true), @"the result has nan, as the argument is not finite at clients 1, 2");
        insta::assert_snapshot!(find(Some(&Value::at_clients([sequence])), &nan, &[], true), @"the result has nan, as the argument is not finite at client 0");
        insta::assert_snapshot!(find(Some(&many), &nan, &[], true), @"the result has nan, as the argument is not finite at clients 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more");
        insta::assert_snapshot!(find(Some(&nan), &nan, &[], true), @"the result has nan, as the argument is not finite");
        insta::assert_snapshot!(find(Some(&good), &nan, &[1], true), @"the result has nan, as what was computed for client 1 is not finite");
        insta::assert_snapshot!(find(Some(&good), &nan, &[], true), @"the result has nan, as a mean does over no clients or weights that add up to 0");
        insta::assert_snapshot!(find(None, &float(f32::INFINITY), &[], true), @"the result has inf, though the argument is finite: the cause is not known");
        assert_eq!(find(Some(&bad), &good, &[1], true), "");
    }
}
