"""Functions of JAX as leaves of federated-language: computed as XLA modules, in parallel and without Python.

    import federated_language as fl
    import federated_runtime.jax

    @federated_runtime.jax.computation(fl.TensorType(np.float32, [2]), np.float32)
    def scale(x, factor):
        return {"y": x * factor}

The result is a computation like others: it can be called, and mapped over clients. Shapes must be known: XLA compiles
for one size.
"""

import itertools

import federated_language as _fl
import jax as _jax
from federated_language.proto import computation_pb2 as _pb
from google.protobuf import any_pb2 as _any_pb2
from jaxlib import lapack as _lapack

from . import _native

# Linear algebra is calls of LAPACK, which jaxlib brings along and XLA's plugins do not. Handlers that call Python
# are not given: they trust the addresses that a module names.
_lapack._lapack.initialize()
_native.add_xla_handlers(_lapack._lapack.registrations())


def _specs(ty, flat):
    """What JAX is told of a value of type `ty`; its tensors are appended to `flat`, depth first."""
    if isinstance(ty, _fl.TensorType):
        if ty.shape is None or None in ty.shape:
            raise TypeError(f"expected a type with known shapes for a function of JAX, found {ty}")
        spec = _jax.ShapeDtypeStruct(ty.shape, ty.dtype.type)
        if _jax.dtypes.canonicalize_dtype(spec.dtype) != spec.dtype:
            raise TypeError(f"expected a type that JAX has, found {ty}: set jax_enable_x64 for 64 bits")
        flat.append(spec)
        return spec
    if isinstance(ty, _fl.StructType):
        elements = [(name, _specs(element, flat)) for name, element in ty.items()]
        names = [name for name, _ in elements]
        if isinstance(ty, _fl.StructWithPythonType) and hasattr(ty.python_container, "_fields"):
            return ty.python_container(**dict(elements))
        return dict(elements) if names and all(names) else tuple(spec for _, spec in elements)
    raise TypeError(f"expected tensors and structs of them for a function of JAX, found {ty}")


def _binding(ty, positions):
    """Which of the tensors of a module make up a value of type `ty`."""
    if isinstance(ty, _fl.TensorType):
        return _pb.Xla.Binding(tensor=_pb.Xla.TensorBinding(index=next(positions)))
    elements = [_binding(element, positions) for _, element in ty.items()]
    return _pb.Xla.Binding(struct=_pb.Xla.StructBinding(element=elements))


def _wrap(fn, parameter_type, unpack, name=None, **_):
    flat = []
    args, kwargs = [], {}
    if parameter_type is not None:
        specs = _specs(parameter_type, flat)
        args, kwargs = _fl.framework.unpack_arg(fn, parameter_type, specs, unpack)
    lowered = _jax.jit(fn, keep_unused=True).trace(*args, **kwargs).lower(lowering_platforms=("cpu",))
    # JAX has an order of its own for the arguments: that of names.
    order = {id(spec): position for position, spec in enumerate(_jax.tree_util.tree_leaves((args, kwargs)))}
    out = _jax.tree_util.tree_map(lambda leaf: _fl.TensorType(leaf.dtype.type, leaf.shape), lowered.out_info)
    ty = _fl.FunctionType(parameter_type, _fl.to_type(out))
    module = _any_pb2.Any(
        type_url="type.googleapis.com/xla.HloModuleProto",
        value=lowered.compiler_ir("hlo").as_serialized_hlo_module_proto(),
    )
    parameter = None
    if parameter_type is not None:
        parameter = _binding(parameter_type, iter([order[id(spec)] for spec in flat]))
    xla = _pb.Xla(hlo_module=module, parameter=parameter, result=_binding(ty.result, itertools.count()))
    return _fl.framework.ConcreteComputation(
        computation_proto=_pb.Computation(type=ty.to_proto(), xla=xla),
        context_stack=_fl.framework.get_context_stack(),
        annotated_type=ty,
    )


computation = _fl.framework.ComputationWrapper(_wrap)
computation.__doc__ = """Makes a computation of a function of JAX, as a decorator or called.

With types, of the function's parameters in order, it is a `federated_language.framework.ConcreteComputation`; without
them the types are those of the arguments of each call. Tensors are arrays to the function, structs dicts, named tuples
or tuples. It is traced once for each type.
"""
