"""Python functions as leaves of federated-language: NumPy, PyTorch, scikit-learn, whatever Python calls.

    import federated_language as fl
    import federated_runtime.python

    @federated_runtime.python.computation(fl.TensorType(np.float32, [2]), returns=np.float32)
    def norm(x):
        return np.linalg.norm(x)

The function is called in this process, on the threads that compute for clients, one at a time unless it releases the
GIL. What it takes and gives is converted and checked by its types at each call, as the arguments of
`federated_runtime.run` are. A file or a peer that names it finds it in this process alone: nothing is unpickled.
"""

import inspect

import federated_language as _fl
from federated_language.proto import computation_pb2 as _pb
from google.protobuf import any_pb2 as _any_pb2

from . import _functions

_TYPE_URL = "type.googleapis.com/federated_runtime.PythonFunction"


def _as_one_argument(fn, parameter_type):
    """The function as one of the argument that computations have, which for several parameters is their struct."""
    if parameter_type is None or len(inspect.signature(fn).parameters) == 1:
        return fn
    if not isinstance(parameter_type, _fl.StructType):
        raise TypeError(f"expected a struct for the parameters of {fn}, found {parameter_type}")

    def call(argument):
        if isinstance(argument, dict):
            positional = [value for key, value in argument.items() if isinstance(key, int)]
            return fn(*positional, **{key: value for key, value in argument.items() if isinstance(key, str)})
        return fn(*argument)

    return call


def _wrapper(result_type):
    def wrap(fn, parameter_type, unpack, name=None, **_):
        del unpack
        ty = _fl.FunctionType(parameter_type, result_type)
        registered = _functions.register(_as_one_argument(fn, parameter_type), name or "function")
        data = _pb.Data(content=_any_pb2.Any(type_url=_TYPE_URL, value=registered.encode()))
        return _fl.framework.ConcreteComputation(
            computation_proto=_pb.Computation(type=ty.to_proto(), data=data),
            context_stack=_fl.framework.get_context_stack(),
            annotated_type=ty,
        )

    return wrap


def computation(*types, returns):
    """Makes a computation of a Python function, as a decorator.

    Args:
        *types: The types of the function's parameters, in order.
        returns: The type of its result.

    Returns:
        A decorator, which gives a `federated_language.framework.ConcreteComputation`. To the function, tensors are
        read-only NumPy arrays, structs dicts or tuples, sequences lists.
    """
    wrapper = _fl.framework.ComputationWrapper(_wrapper(_fl.to_type(returns)))
    return wrapper(*types) if types else wrapper()
