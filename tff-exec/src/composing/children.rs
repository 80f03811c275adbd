//! The children of one run, the values they were sent, and the intrinsics they run.

use super::Child;
use super::held::{Held, HeldPart, read_placed};
use crate::eval::{CallOptions, Context, Elsewhere, arguments, is_placed, leaves};
use crate::values::ClientValues;
use crate::values::wire::Writer;
use crate::{Clients, ExecError, Function, Place, Value};
use std::any::Any;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use tff_ir::{Comp, Intrinsic};
use tff_proto::v0 as pb;
use tff_types::{Placement, Type};

/// The children of one run of a program.
pub(crate) struct Children {
    children: Vec<Arc<dyn Child>>,
    n_clients: usize,
    options: CallOptions,
    /// What was sent that more than one intrinsic may need, such as a broadcast model.
    sent: Mutex<HashMap<Same, Held>>,
}

/// A value as a key: equal to itself and its clones, and to no other. It keeps the value alive, so no
/// other value comes to be where this one is in memory.
struct Same(Value);

impl Same {
    fn of(value: &Value) -> Option<Self> {
        let key = Self(value.clone());
        key.identity().is_some().then_some(key)
    }

    /// The kind of value, and where in memory it is.
    fn identity(&self) -> Option<(u8, usize)> {
        match &self.0 {
            Value::Server(member) => Some((0, Arc::as_ptr(member).addr())),
            Value::Clients(Clients::AllEqual(member)) => Some((1, Arc::as_ptr(member).addr())),
            Value::Clients(Clients::Each(members)) => Some((2, members.as_ptr().addr())),
            Value::Function(function) => function.address().map(|address| (3, address)),
            _ => None,
        }
    }
}

impl PartialEq for Same {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Same {}

impl Hash for Same {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl Children {
    pub(crate) fn new(children: Vec<Arc<dyn Child>>, options: &CallOptions) -> Self {
        let n_clients = children.iter().map(|child| child.n_clients()).sum();
        Self { children, n_clients, options: options.clone(), sent: Mutex::default() }
    }

    /// Each child folds the values of its own clients, from zero. What they give is merged here from
    /// left to right, in the order of the children, and reported on.
    fn aggregate(&self, ctx: &Context<'_>, ty: &Type, argument: &Value) -> Result<Value, ExecError> {
        let [value, zero, accumulate, merge, report] = arguments(argument)?;
        let (ty, partial) = partial_aggregate(ty)?;
        let fold = [value, zero, accumulate, merge, &identity(&partial)?].map(Value::clone);
        let folded = self.call_there(&Intrinsic::FederatedAggregate, &ty, &Value::structure(fold))?;
        let placed = Type::at_server(partial)?;
        let mut merged = None;
        folded.compute(|child, part| {
            let part = match read_placed(child, &part, &placed)? {
                Value::Server(member) => Value::clone(&member),
                _ => return Err(ExecError::Internal("a value at the server that is of another kind")),
            };
            merged = Some(match merged.take() {
                None => part,
                Some(merged) => {
                    let pair = Value::structure([merged, part]);
                    ctx.apply(merge, Some(pair)).map_err(|error| error.at(Place::Operand("merge")))?
                }
            });
            Ok(())
        })?;
        let merged = merged.ok_or(ExecError::Internal("an aggregate without children"))?;
        let report = ctx.apply(report, Some(merged)).map_err(|error| error.at(Place::Operand("report")))?;
        Ok(Value::at_server(report))
    }

    /// Has every child call the intrinsic.
    fn call_there(&self, intrinsic: &Intrinsic, ty: &Type, argument: &Value) -> Result<Held, ExecError> {
        let function = self.send(&Value::Function(Function::intrinsic(intrinsic, ty)))?;
        let argument = self.hold(argument)?;
        let calls = function.parts().iter().zip(argument.parts());
        Ok(self.each(calls, |child, (function, argument)| child.create_call(function.id, Some(argument.id))))
    }

    /// The value as the children have it, sent to them if they do not have it yet.
    fn hold(&self, value: &Value) -> Result<Held, ExecError> {
        if let Value::Clients(Clients::Each(members)) = value
            && let Some(held) = held_by_children(members)
        {
            return Ok(held.clone());
        }
        let Some(key) = Same::of(value) else { return self.send(value) };
        let sent = || self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = sent().get(&key) {
            return Ok(held.clone());
        }
        let held = self.send(value)?;
        sent().insert(key, held.clone());
        Ok(held)
    }

    fn send(&self, value: &Value) -> Result<Held, ExecError> {
        match value {
            Value::Clients(Clients::Each(members)) => self.send_each(members.here()?),
            Value::Struct(elements) if elements.iter().any(|it| is_placed(it) || matches!(it, Value::Function(_))) => {
                let elements = elements.iter().map(|element| self.hold(element)).collect::<Result<Vec<_>, _>>()?;
                Ok(self.each(0.., |child, child_idx| {
                    let ids = elements.iter().filter_map(|held| held.parts().get(child_idx)).map(|part| part.id);
                    child.create_struct(&ids.collect::<Vec<_>>())
                }))
            }
            _ => {
                let message = Writer::for_worker().write(value, None)?;
                Ok(self.each(std::iter::repeat(&message), |child, message| child.create_value(message.clone())))
            }
        }
    }

    /// Sends each child the members of its own clients.
    fn send_each(&self, members: &[Value]) -> Result<Held, ExecError> {
        if members.len() != self.n_clients {
            let (placement, expected, found) = (Placement::Clients, self.n_clients, members.len());
            return Err(ExecError::Cardinality { placement, expected, found });
        }
        let mut rest = members;
        let messages = self.children.iter().map(|child| {
            let (own, others) = rest.split_at(child.n_clients().min(rest.len()));
            rest = others;
            let message = Writer::for_worker().members(Placement::Clients, false, own, None)?;
            Ok(pb::Value { tensor: None, value: Some(pb::value::Value::Federated(message)) })
        });
        let messages = messages.collect::<Result<Vec<_>, ExecError>>()?;
        Ok(self.each(messages, |child, message| child.create_value(message)))
    }

    /// A value that each child makes of one of these.
    fn each<T>(&self, items: impl IntoIterator<Item = T>, create: impl Fn(&dyn Child, T) -> u64) -> Held {
        let parts = self.children.iter().zip(items);
        let parts = parts.map(|(child, item)| HeldPart { id: create(&**child, item), child: child.clone() });
        Held::new(parts, &self.options)
    }
}

impl Elsewhere for Children {
    /// Does an intrinsic, unless it is the server's or needs no client. A value that is the same for all clients is
    /// computed once, here, and sent when a child needs it.
    fn call(
        &self,
        ctx: &Context<'_>,
        intrinsic: &Intrinsic,
        ty: &Type,
        argument: &Value,
    ) -> Result<Option<Value>, ExecError> {
        let done_here = match intrinsic {
            Intrinsic::FederatedAggregate => return self.aggregate(ctx, ty, argument).map(Some),
            Intrinsic::FederatedEvalAtClients | Intrinsic::FederatedSelect => false,
            Intrinsic::FederatedMap | Intrinsic::FederatedApply => {
                let [_, value] = arguments(argument)?;
                !matches!(value, Value::Clients(_))
            }
            Intrinsic::FederatedMapAllEqual => {
                let [_, value] = arguments(argument)?;
                !matches!(value, Value::Clients(Clients::Each(_)))
            }
            Intrinsic::FederatedZipAtClients => {
                let mut done_here = true;
                leaves(argument, &mut |leaf| {
                    done_here &= !matches!(leaf, Value::Clients(Clients::Each(_)));
                    Ok(())
                })?;
                done_here
            }
            Intrinsic::FederatedBroadcast
            | Intrinsic::FederatedEvalAtServer
            | Intrinsic::FederatedValueAtClients
            | Intrinsic::FederatedValueAtServer
            | Intrinsic::FederatedZipAtServer
            | Intrinsic::SequenceMap
            | Intrinsic::SequenceReduce => true,
            // The evaluator runs none of these.
            Intrinsic::FederatedMean
            | Intrinsic::FederatedMin
            | Intrinsic::FederatedMax
            | Intrinsic::FederatedSecureSum
            | Intrinsic::FederatedSecureSumBitwidth
            | Intrinsic::FederatedSecureSelect
            | Intrinsic::FederatedSum
            | Intrinsic::FederatedWeightedMean
            | Intrinsic::GenericPlus
            | Intrinsic::GenericMultiply
            | Intrinsic::GenericDivide
            | Intrinsic::GenericZero
            | Intrinsic::SequenceSum
            | Intrinsic::FederatedSecureModularSum
            | Intrinsic::Other(_) => true,
        };
        if done_here {
            return Ok(None);
        }
        let held = Arc::new(self.call_there(intrinsic, ty, argument)?);
        Ok(Some(Value::Clients(Clients::Each(ClientValues::held_elsewhere(held)))))
    }
}

/// The type of an aggregation that ends before the report, and the type of its result.
fn partial_aggregate(ty: &Type) -> Result<(Type, Type), ExecError> {
    let known = || {
        let function = ty.as_function()?;
        let [value, zero, accumulate, merge, report] = function.parameter.as_ref()?.as_struct()?.elements() else {
            return None;
        };
        let partial = report.ty.as_function()?.parameter.clone()?;
        Some(([value, zero, accumulate, merge].map(|element| element.ty.clone()), partial))
    };
    let (elements, partial) = known().ok_or_else(|| ExecError::mismatch("the type of an aggregation", ty))?;
    let report = Type::function(Some(partial.clone()), partial.clone())?;
    let parameter = Type::tuple(elements.into_iter().chain([report]))?;
    let result = Type::at_server(partial.clone())?;
    Ok((Type::function(Some(parameter), result)?, partial))
}

/// Values at clients, if children hold them.
fn held_by_children(members: &ClientValues) -> Option<&Held> {
    let held: &dyn Any = members.elsewhere()?;
    held.downcast_ref()
}

/// The function that gives what it takes.
fn identity(ty: &Type) -> Result<Value, ExecError> {
    let result = Comp::reference("x", ty.clone())?;
    let comp = Comp::lambda(Some(("x", ty.clone())), result)?;
    Ok(Value::Function(Function::from_comp(&comp)?))
}
