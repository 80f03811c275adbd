//! Sets the all-equal bits to the usual ones: values at clients may differ, a value at the server is all-equal.

use crate::create::with_default_bits;
use crate::error::PassError;
use crate::retype::{Retype, retype};
use tff_ir::{Comp, Intrinsic};
use tff_types::{Type, TypeError};

/// Gives parameters and free references the bit that is usual at their placement, and makes each
/// `federated_map_all_equal` a `federated_map`. What is inside of functions, of sequences and of
/// other intrinsics stays, so `federated_broadcast` still returns one value for all clients.
///
/// `(x:int32@CLIENTS -> x)` becomes `(x:{int32}@CLIENTS -> x)`.
///
/// # Errors
/// Where the parts do not fit together any more.
pub fn normalize_types(comp: &Comp) -> Result<Comp, PassError> {
    retype(comp, &mut Normalize)
}

struct Normalize;

impl Retype for Normalize {
    fn ty(&self, ty: &Type) -> Result<Type, TypeError> {
        with_default_bits(ty)
    }

    fn call(&mut self, call: &Comp, function: &Comp, argument: Option<Comp>) -> Result<Comp, PassError> {
        let function = self.intrinsic(function)?;
        Comp::call(function, argument).map_err(|error| PassError::at(call, error))
    }

    fn intrinsic(&mut self, intrinsic: &Comp) -> Result<Comp, PassError> {
        let is_all_equal = intrinsic.as_intrinsic() == Some(&Intrinsic::FederatedMapAllEqual);
        let Some(function) = intrinsic.ty().as_function().filter(|_| is_all_equal) else {
            return Ok(intrinsic.clone());
        };
        let parameter = function.parameter.as_ref().map(with_default_bits).transpose()?;
        Ok(Comp::intrinsic(Intrinsic::FederatedMap, Type::function(parameter, with_default_bits(&function.result)?)?)?)
    }
}
